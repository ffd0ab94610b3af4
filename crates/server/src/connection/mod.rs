//! What happens on one connection, from its first byte to its last?
//!
//! ```text
//!  first message ──► TLS ──► who is it ──► a place ──► session ──► messages ──► end
//!       └ cancel: done          (begin)                              (talk)
//! ```
//!
//! Everything up to the session has one deadline. Answers are collected and sent on Sync, on Flush, after
//! an error, at the end of a simple query, before a wait for COPY data, or when they are many. After an error of the
//! extended protocol messages are skipped up to Sync. A panic of the session becomes its last error.
//!
//! Runs on the connection's own thread; others reach it through its [`Entry`] alone.

use std::any::Any;
use std::io;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use onlap_base::Defect;
use onlap_sql::{Client, CopyData, Reply, Session, SqlError, state};

use crate::bell::{Bell, is_ring};
use crate::connections::{Entry, Guard, Place};
use crate::frontend::{self, Message, violation};
use crate::input::{Frame, Input, Next};
use crate::server::{Shared, newcomers};
use crate::stream::{Raw, Stream, Wait};

mod begin;
mod talk;

pub(crate) use begin::{crowded_out, nonce, too_slow};

/// Bytes of COPY data that are handed on at once, at least while they are at hand.
const COPY_BYTES: usize = 64 << 10;

/// Where a connection comes from.
#[derive(Clone, Copy, Debug)]
pub enum Peer {
    /// A network address.
    Ip(IpAddr, u16),
    /// This process.
    Inside,
}

impl Peer {
    /// Whether it is this machine.
    pub fn is_local(self) -> bool {
        match self {
            Peer::Ip(address, _) => address.to_canonical().is_loopback(),
            Peer::Inside => true,
        }
    }
}

impl std::fmt::Display for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Peer::Ip(address, port) => {
                write!(f, "{}", std::net::SocketAddr::new(*address, *port))
            }
            Peer::Inside => f.write_str("local"),
        }
    }
}

/// One client.
pub(crate) struct Connection {
    server: Arc<Shared>,
    guard: Guard,
    entry: Arc<Entry>,
    peer: Peer,
    /// When the client has to have proved who it is, on the monotonic clock.
    until_ns: u64,
    stream: Stream,
    /// Rings where there is something to tell the client.
    bell: Arc<Bell>,
    input: Input,
    reply: Reply,
    /// Whether the client is gone, so that nothing more can be said.
    broken: bool,
}

/// Why a connection ends.
enum End {
    /// The client left, or is gone.
    Gone,
    /// We end it, and say why.
    Fatal(SqlError),
    /// Not at all: the session waits, and there is something to tell the client.
    Rang,
}

impl From<SqlError> for End {
    fn from(e: SqlError) -> End {
        End::Fatal(e)
    }
}

/// Serves a client up to its end; returns when it is gone. `input` is what it has said, `until_ns` when it has to have
/// proved who it is, on the monotonic clock.
pub(crate) fn serve(server: &Arc<Shared>, socket: Raw, peer: Peer, input: Input, until_ns: u64) {
    let handle = match socket.try_clone() {
        Ok(handle) => handle,
        Err(e) => return server.log.warn(format_args!("connection from {peer} dropped: {e}")),
    };
    let guard = server.connections.enter(handle, peer.into(), newcomers(server));
    let mut connection = Connection {
        server: Arc::clone(server),
        entry: Arc::clone(&guard.entry),
        guard,
        peer,
        until_ns,
        stream: Stream::new(socket),
        bell: Arc::default(),
        input,
        reply: Reply::new(),
        broken: false,
    };
    connection.input.share(&server.buffers);
    server.log.debug(format_args!("connection from {peer}"));
    connection.run();
    connection.stream.close();
    server.log.debug(format_args!("connection from {peer} ended"));
}

impl Connection {
    fn run(&mut self) {
        let Some((mut session, _place)) = self.begun() else { return };
        let ended = catch_unwind(AssertUnwindSafe(|| self.talk(&mut session)));
        let end = ended.unwrap_or_else(|panic| self.panicked(panic));
        // The end of a session rolls back, which may meet what made it panic.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(session))) {
            self.panicked(panic);
        }
        if let End::Fatal(error) = end {
            self.server.log.info(format_args!("session of {} ended: {error}", self.peer));
            self.say_fatal(&error);
        }
    }
    fn begun(&mut self) -> Option<(Session, Place)> {
        let begun = catch_unwind(AssertUnwindSafe(|| self.begin()));
        match begun.unwrap_or_else(|panic| Err(self.panicked(panic))) {
            Ok(begun) => begun,
            Err(end) => {
                self.server.connections.refused.fetch_add(1, Ordering::Relaxed);
                let peer = self.peer;
                if self.entry.is_crowded_out() {
                    // Its socket is closed: the client cannot be told.
                    let why = crowded_out();
                    self.server.log.debug(format_args!("connection from {peer} refused: {why}"));
                } else if let End::Fatal(error) = end {
                    self.server.log.info(format_args!("connection from {peer} refused: {error}"));
                    self.say_fatal(&error);
                }
                None
            }
        }
    }
    fn panicked(&mut self, panic: Box<dyn Any + Send>) -> End {
        self.server.connections.panics.fetch_add(1, Ordering::Relaxed);
        self.server.log.error(format_args!("the session of {} panicked, and ends", self.peer));
        // What was collected may end in the middle of a message.
        self.reply.bytes().clear();
        let error = SqlError::of_defect(Defect::of_panic(panic));
        End::Fatal(error.hint("The session ends; others go on."))
    }
    fn say_fatal(&mut self, error: &SqlError) {
        self.error("FATAL", error);
        // Whoever is gone does not want to know.
        let _ = self.send();
    }

    /// Waits for a message.
    fn receive(&mut self, limit: usize) -> Result<Frame, End> {
        self.entry.set_waits(true);
        let next = match self.server.connections.is_stopping() {
            true => Ok(Next::End),
            false => self.input.next(&mut self.stream, limit),
        };
        self.entry.set_waits(false);
        self.taken(next)
    }
    fn taken(&mut self, next: io::Result<Next>) -> Result<Frame, End> {
        match next {
            Ok(Next::Frame(frame)) => {
                self.server.connections.messages.fetch_add(1, Ordering::Relaxed);
                Ok(frame)
            }
            Ok(Next::BadLength) => Err(violation("invalid message length").into()),
            _ if self.server.connections.is_stopping() => Err(stopping().into()),
            Err(e) if is_ring(&e) => Err(End::Rang),
            Err(e) if is_timeout(&e) => {
                let text = "the client was silent for too long";
                Err(SqlError::new("57P05", text).into())
            }
            Ok(Next::End) | Err(_) => {
                self.broken = true;
                Err(End::Gone)
            }
        }
    }
    fn copy_frame(&mut self) -> onlap_sql::Result<Frame> {
        self.stream.set_wait(Wait::Forever);
        self.stream.set_bell(None);
        self.receive(self.server.config.message_bytes).map_err(|end| match end {
            End::Fatal(error) => error,
            End::Gone | End::Rang => gone(),
        })
    }
    /// Appends what is at hand of further COPY data.
    fn gather(&mut self, piece: &mut Vec<u8>) {
        let limit = self.server.config.message_bytes;
        while piece.len() < COPY_BYTES {
            let Some(frame) = self.input.at_hand(b'd', limit) else { return };
            piece.extend_from_slice(self.input.body(&frame));
        }
    }
}

impl Client for Connection {
    fn reply(&mut self) -> &mut Reply {
        &mut self.reply
    }
    fn send(&mut self) -> onlap_sql::Result<()> {
        let bytes = self.reply.bytes();
        let sent = match bytes.is_empty() {
            true => Ok(()),
            false => {
                self.server.connections.sends.fetch_add(1, Ordering::Relaxed);
                self.stream.send(bytes)
            }
        };
        bytes.clear();
        bytes.shrink_to(2 * COPY_BYTES);
        sent.map_err(|_| {
            self.broken = true;
            gone()
        })
    }
    fn note(&mut self, error: &SqlError) {
        self.server.log.severe(error);
    }
    fn copy_data(&mut self) -> onlap_sql::Result<CopyData> {
        self.send()?;
        loop {
            let frame = self.copy_frame()?;
            let kind = frame.kind;
            if frame.is_lost {
                return Err(no_room());
            }
            match frontend::message(kind, self.input.body(&frame))? {
                Message::CopyData(data) => {
                    let mut piece = data.to_vec();
                    self.gather(&mut piece);
                    return Ok(CopyData::Piece(piece));
                }
                Message::CopyDone => return Ok(CopyData::Done),
                Message::CopyFail(why) => return Ok(CopyData::Failed(why.to_string())),
                // Sent by clients that do not know yet whether they may copy.
                Message::Flush | Message::Sync => {}
                Message::Terminate => {
                    self.broken = true;
                    return Err(gone());
                }
                _ => {
                    let text =
                        format!("unexpected message type 0x{kind:02X} during COPY from stdin");
                    return Err(violation(text));
                }
            }
        }
    }
}

/// What a client learns whose message was thrown away.
fn no_room() -> SqlError {
    let error =
        SqlError::new(state::OUT_OF_MEMORY, "the server has no memory for this message now");
    error.hint("Send less at a time, or give the server more memory.")
}

fn gone() -> SqlError {
    SqlError::new("08006", "the client is gone")
}

/// What clients learn when the server stops.
fn stopping() -> SqlError {
    SqlError::new("57P01", "terminating connection due to administrator command")
}

fn is_timeout(e: &io::Error) -> bool {
    matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
