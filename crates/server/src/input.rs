//! Which bytes make up the next message?
//!
//! Collects what a client sends until a message is complete. Memory grows with what has arrived, never
//! with what a length announces (I7): a buffer doubles only when it is full. Beyond a small size all buffers share
//! [`Buffers`]; a message for which there is no room is read and thrown away. Knows no messages.

use std::io::{self, ErrorKind, Read};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[cfg(test)]
mod tests;

/// Bytes that are read at once, unless a message is longer.
const READ_BYTES: usize = 16 << 10;
/// Bytes of buffer that a connection keeps while nothing large comes.
const KEPT_BYTES: usize = 256 << 10;

/// What the buffers of all connections may hold beside what each keeps.
#[derive(Debug)]
pub struct Buffers {
    limit: usize,
    used: AtomicUsize,
}

impl Buffers {
    /// Of this number of bytes.
    pub fn new(limit: usize) -> Arc<Buffers> {
        Arc::new(Buffers { limit, used: AtomicUsize::new(0) })
    }
    fn take(&self, bytes: usize) -> bool {
        let fits = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= self.limit);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()
    }
}

/// A buffer of received bytes.
#[derive(Debug, Default)]
pub struct Input {
    bytes: Vec<u8>,
    /// What has arrived and was not taken.
    full: Range<usize>,
    /// What it shares with others, and how much of that it has; nothing while it needs no more than it keeps.
    shared: Option<Arc<Buffers>>,
    taken: usize,
}

/// Where a message's body lies.
#[derive(Debug)]
pub struct Frame {
    /// Its type, 0 for a first message.
    pub kind: u8,
    /// There was no room for it, and its body is empty.
    pub is_lost: bool,
    body: Range<usize>,
}

/// How a wait for a message ended.
#[derive(Debug)]
pub enum Next {
    /// A message is there.
    Frame(Frame),
    /// The client is gone, after a whole message.
    End,
    /// The declared length is not possible.
    BadLength,
}

impl Input {
    /// Shares memory with the buffers of others from now on.
    pub fn share(&mut self, all: &Arc<Buffers>) {
        self.shared = Some(Arc::clone(all));
    }
    /// Waits for a message with a type and at most `limit` bytes after its length.
    ///
    /// # Errors
    /// The connection broke; the time to wait is over.
    pub fn next(&mut self, from: &mut impl Read, limit: usize) -> io::Result<Next> {
        self.frame(from, 1, limit)
    }
    /// Waits for a first message, which has no type.
    ///
    /// # Errors
    /// As [`Input::next`].
    pub fn first(&mut self, from: &mut impl Read, limit: usize) -> io::Result<Next> {
        self.frame(from, 0, limit)
    }
    /// Whether a first message has arrived, or bytes that cannot be one.
    pub fn has_first(&self, limit: usize) -> bool {
        !matches!(self.cut(0, limit), Cut::Incomplete)
    }
    /// What has arrived and was not taken.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.full.clone()]
    }
    /// A message's body; valid until the next one is asked for.
    pub fn body(&self, frame: &Frame) -> &[u8] {
        &self.bytes[frame.body.clone()]
    }
    /// Whether bytes are left that were not asked for.
    pub fn is_empty(&self) -> bool {
        self.full.is_empty()
    }
    /// A message that has arrived as a whole and is of this type.
    pub fn at_hand(&mut self, kind: u8, limit: usize) -> Option<Frame> {
        match self.cut(1, limit) {
            Cut::Frame(frame) if frame.kind == kind => {
                self.full.start = frame.body.end;
                Some(frame)
            }
            _ => None,
        }
    }

    fn frame(&mut self, from: &mut impl Read, head: usize, limit: usize) -> io::Result<Next> {
        if self.full.is_empty() {
            self.full = 0..0;
            self.bytes.truncate(KEPT_BYTES);
            self.bytes.shrink_to(KEPT_BYTES);
            self.give_back();
        }
        loop {
            match self.cut(head, limit) {
                Cut::Frame(frame) => {
                    self.full.start = frame.body.end;
                    return Ok(Next::Frame(frame));
                }
                Cut::BadLength => return Ok(Next::BadLength),
                Cut::Incomplete => {}
            }
            let received = match self.receive(from) {
                Err(e) if e.kind() == ErrorKind::OutOfMemory => return self.lose(from, head),
                received => received?,
            };
            if received == 0 {
                return match self.full.is_empty() {
                    true => Ok(Next::End),
                    false => Err(ErrorKind::UnexpectedEof.into()),
                };
            }
        }
    }

    fn cut(&self, head: usize, limit: usize) -> Cut {
        let bytes = &self.bytes[self.full.clone()];
        let Some(length) = bytes.get(head..head + 4) else { return Cut::Incomplete };
        let length = u32::from_be_bytes(length.try_into().expect("four bytes")) as usize;
        if length < 4 || length - 4 > limit {
            return Cut::BadLength;
        }
        if bytes.len() < head + length {
            return Cut::Incomplete;
        }
        let at = self.full.start;
        let kind = if head == 0 { 0 } else { bytes[0] };
        Cut::Frame(Frame { kind, is_lost: false, body: at + head + 4..at + head + length })
    }

    /// Reads the rest of a message for which there is no room.
    fn lose(&mut self, from: &mut impl Read, head: usize) -> io::Result<Next> {
        let bytes = &self.bytes[self.full.clone()];
        let kind = bytes.first().copied().unwrap_or(0);
        let length: [u8; 4] = bytes[head..head + 4].try_into().expect("a full buffer has a head");
        let mut left = (head + u32::from_be_bytes(length) as usize).saturating_sub(bytes.len());
        self.full = 0..0;
        while left > 0 {
            let most = left.min(self.bytes.len());
            match from.read(&mut self.bytes[..most]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(n) => left -= n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(Next::Frame(Frame { kind, is_lost: true, body: 0..0 }))
    }

    /// Gives back what it shares with others; the buffer is as small as it gets.
    fn give_back(&mut self) {
        if let Some(shared) = &self.shared {
            shared.used.fetch_sub(std::mem::take(&mut self.taken), Ordering::Relaxed);
        }
    }

    /// Makes the buffer longer.
    fn grow(&mut self) -> io::Result<()> {
        let length = (2 * self.bytes.len()).max(READ_BYTES);
        let more = length.saturating_sub(KEPT_BYTES) - self.taken;
        if let Some(shared) = self.shared.as_ref().filter(|_| more > 0) {
            if !shared.take(more) {
                return Err(ErrorKind::OutOfMemory.into());
            }
            self.taken += more;
        }
        self.bytes.resize(length, 0);
        Ok(())
    }

    /// Takes what has arrived; 0 where the client has said its last word.
    ///
    /// # Errors
    /// The connection broke; nothing has arrived, where the source does not wait; `OutOfMemory`: the buffer is full,
    /// and others have what it would need.
    pub fn receive(&mut self, from: &mut impl Read) -> io::Result<usize> {
        if self.full.end == self.bytes.len() {
            if self.full.start > 0 {
                self.bytes.copy_within(self.full.clone(), 0);
                self.full = 0..self.full.len();
            }
            if self.bytes.len() - self.full.end < READ_BYTES / 2 {
                self.grow()?;
            }
        }
        loop {
            match from.read(&mut self.bytes[self.full.end..]) {
                Ok(n) => {
                    self.full.end += n;
                    return Ok(n);
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        self.give_back();
    }
}

enum Cut {
    Frame(Frame),
    Incomplete,
    BadLength,
}
