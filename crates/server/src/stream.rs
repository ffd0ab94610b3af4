//! How do bytes reach a client?
//!
//! A TCP or Unix socket, with TLS or without, and a deadline or a limit for silence. Blocking: each
//! connection has a thread of its own.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use onlap_base::clock::{Clock, SystemClock};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::bell::Bell;

/// A socket of either kind.
#[derive(Debug)]
pub enum Raw {
    /// Over a network.
    Tcp(TcpStream),
    /// Inside the machine, or the process.
    Unix(UnixStream),
}

macro_rules! either {
    ($self:expr, $socket:ident => $what:expr) => {
        match $self {
            Raw::Tcp($socket) => $what,
            Raw::Unix($socket) => $what,
        }
    };
}

impl AsFd for Raw {
    fn as_fd(&self) -> BorrowedFd<'_> {
        either!(self, s => s.as_fd())
    }
}

impl Raw {
    /// Ends reading or writing, for all who hold the socket.
    pub fn shutdown(&self, how: Shutdown) {
        // A client that is gone already is what we want.
        let _ = either!(self, s => s.shutdown(how));
    }
    /// A second handle.
    ///
    /// # Errors
    /// The process has no file descriptor left.
    pub fn try_clone(&self) -> io::Result<Raw> {
        Ok(match self {
            Raw::Tcp(s) => Raw::Tcp(s.try_clone()?),
            Raw::Unix(s) => Raw::Unix(s.try_clone()?),
        })
    }
    fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        either!(self, s => s.set_read_timeout(timeout))
    }
    /// How long a write may wait for the client.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        either!(self, s => s.set_write_timeout(timeout))
    }
}

/// A socket that waits no longer than it should.
#[derive(Debug)]
pub struct Socket {
    raw: Raw,
    wait: Wait,
    /// What the operating system was last told.
    timeout: Option<Duration>,
    /// Until when what is sent has to be taken, on the monotonic clock; 0 for no end.
    taken_until_ns: u64,
    /// What ends a wait, in addition to the client.
    bell: Option<Arc<Bell>>,
}

/// How long a read may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// For ever.
    Forever,
    /// For so long without a byte.
    Silence(Duration),
    /// Until the monotonic clock shows so many nanoseconds.
    Until(u64),
}

impl Socket {
    fn new(raw: Raw) -> Socket {
        Socket { raw, wait: Wait::Forever, timeout: None, taken_until_ns: 0, bell: None }
    }
    fn prepare(&mut self) -> io::Result<()> {
        let timeout = match self.wait {
            Wait::Forever => None,
            Wait::Silence(time) => Some(time),
            Wait::Until(end) => match end.saturating_sub(SystemClock.monotonic_ns()) {
                0 => return Err(io::ErrorKind::TimedOut.into()),
                left => Some(Duration::from_nanos(left)),
            },
        };
        if let Some(bell) = &self.bell {
            return bell.wait(&self.raw, timeout);
        }
        // The operating system counts in microseconds, and takes 0 for no limit.
        let timeout = timeout.map(|t| t.max(Duration::from_micros(1)));
        if timeout != self.timeout {
            self.raw.set_read_timeout(timeout)?;
            self.timeout = timeout;
        }
        Ok(())
    }
}

impl Read for Socket {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.prepare()?;
        either!(&mut self.raw, s => s.read(out))
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let until = self.taken_until_ns;
        if until > 0 && SystemClock.monotonic_ns() >= until {
            return Err(io::ErrorKind::TimedOut.into());
        }
        either!(&mut self.raw, s => s.write(bytes))
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A connection's bytes, in both directions.
#[derive(Debug)]
pub enum Stream {
    /// As they are.
    Plain(Socket),
    /// Encrypted.
    Tls(Box<StreamOwned<ServerConnection, Socket>>),
}

impl Stream {
    /// Of a socket, without TLS.
    pub fn new(raw: Raw) -> Stream {
        Stream::Plain(Socket::new(raw))
    }
    /// Carries out the server's side of a TLS handshake, of which these bytes have been received already.
    ///
    /// # Errors
    /// The client does something else; the time to wait is over.
    pub fn encrypted(self, config: &Arc<ServerConfig>, received: &[u8]) -> io::Result<Stream> {
        let Stream::Plain(mut socket) = self else { unreachable!("one handshake per connection") };
        let mut tls = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
        let mut received = received;
        while !received.is_empty() {
            tls.read_tls(&mut received)?;
            tls.process_new_packets().map_err(io::Error::other)?;
        }
        while tls.is_handshaking() {
            tls.complete_io(&mut socket)?;
        }
        Ok(Stream::Tls(Box::new(StreamOwned::new(tls, socket))))
    }
    /// How long reads wait from now on.
    pub fn set_wait(&mut self, wait: Wait) {
        match self {
            Stream::Plain(socket) => socket.wait = wait,
            Stream::Tls(tls) => tls.sock.wait = wait,
        }
    }
    /// Until when the client has to have taken what is sent, on the monotonic clock.
    pub fn set_taking(&mut self, until_ns: u64) {
        match self {
            Stream::Plain(socket) => socket.taken_until_ns = until_ns,
            Stream::Tls(tls) => tls.sock.taken_until_ns = until_ns,
        }
    }
    /// Lets a bell end waits from now on, or none.
    pub fn set_bell(&mut self, bell: Option<Arc<Bell>>) {
        match self {
            Stream::Plain(socket) => socket.bell = bell,
            Stream::Tls(tls) => tls.sock.bell = bell,
        }
    }
    /// Whether bytes are encrypted.
    pub fn is_encrypted(&self) -> bool {
        matches!(self, Stream::Tls(_))
    }
    /// Sends bytes, all of them.
    ///
    /// # Errors
    /// The client is gone.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Stream::Plain(socket) => socket.write_all(bytes),
            Stream::Tls(tls) => tls.write_all(bytes).and_then(|()| tls.flush()),
        }
    }
    /// Says good-bye where TLS wants it.
    pub fn close(&mut self) {
        if let Stream::Tls(tls) = self {
            tls.conn.send_close_notify();
            // The client may be gone, which is as good.
            let _ = tls.flush();
        }
    }
}

impl Read for Stream {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.read(out),
            Stream::Tls(tls) => tls.read(out),
        }
    }
}
