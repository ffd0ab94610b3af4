//! How do monitors and browsers ask?
//!
//! HTTP/1.1, one request per connection: `GET /healthz` and `GET /metrics` for monitors, which have no password, and
//! everything else for the [`crate::console`]. Where the server has a certificate a client that begins with a TLS
//! handshake gets one, at the same port.
//!
//! Limits (I7): a request's head and body have a size ([`request`]), and both have to arrive in some seconds; until
//! then a client has no thread, under TLS from the end of its first record on. Monitors have threads of their own, so
//! that a busy console keeps no alarm silent. An answer has to be taken in some seconds, too. Nothing panics on bytes
//! from outside (I8).

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use onlap_base::clock::{Clock as _, SystemClock};

use crate::console;
use crate::door::Visitor;
use crate::input::Input;
use crate::metrics;
use crate::origin::Origin;
use crate::server::Shared;
use crate::stream::{Raw, Stream, Wait};
use crate::turns::Turns;

pub(crate) mod answer;
pub(crate) mod request;

use answer::{Answer, Kind};
use request::{Progress, Request};

/// How long a client may take for its request, under TLS from the handshake on once more.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);
/// How long it may take for the answer: 2 MiB over a slow line.
const TAKING: Duration = Duration::from_secs(20);
/// Requests of monitors that are answered at a time: there are few.
const MONITORS: usize = 16;
/// Requests of browsers, of all and of one address: a browser opens six connections at once.
const BROWSERS: usize = 24;
const BROWSERS_EACH: usize = 16;
/// What a TLS handshake begins with.
const HANDSHAKE: u8 = 0x16;

/// Who is asking, as far as it is known without a look at the whole request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    /// A monitor.
    Monitor,
    /// A browser, or any client under TLS.
    Browser,
}

impl Who {
    /// By what it has said.
    fn of(input: &Input) -> Who {
        let is = |path: &str| input.bytes().starts_with(path.as_bytes());
        match is("GET /metrics") || is("GET /healthz") {
            true => Who::Monitor,
            false => Who::Browser,
        }
    }
}

/// Requests that are being answered.
#[derive(Debug)]
pub(crate) struct Requests {
    monitors: Turns<Origin>,
    browsers: Turns<Origin>,
}

impl Default for Requests {
    fn default() -> Requests {
        Requests {
            monitors: Turns::new(MONITORS, MONITORS),
            browsers: Turns::new(BROWSERS, BROWSERS_EACH),
        }
    }
}

impl Requests {
    fn of(&self, who: Who) -> &Turns<Origin> {
        match who {
            Who::Monitor => &self.monitors,
            Who::Browser => &self.browsers,
        }
    }
    /// Whether one more may be answered.
    pub(crate) fn have_room(&self, visitor: &Visitor) -> bool {
        self.of(Who::of(&visitor.input)).have_room(&visitor.origin)
    }
}

/// Whether a request has arrived, or more bytes than it may have; of TLS, the first record.
pub(crate) fn is_whole(input: &Input) -> bool {
    match input.bytes() {
        [HANDSHAKE, _, _, high, low, rest @ ..] => {
            rest.len() >= usize::from(u16::from_be_bytes([*high, *low]))
                || rest.len() > request::HEAD_BYTES
        }
        [HANDSHAKE, ..] => false,
        bytes => !matches!(request::progress(bytes), Progress::Incomplete),
    }
}

/// Answers a request on a task of its own.
pub(crate) fn serve(shared: &Arc<Shared>, visitor: Visitor) {
    let asked = Arc::clone(shared);
    let (who, origin) = (Who::of(&visitor.input), visitor.origin);
    asked.requests.of(who).enter(&origin);
    let body = move || {
        let peer = visitor.peer;
        if let Err(e) = converse(&asked, visitor.socket, peer, visitor.input) {
            asked.log.debug(format_args!("HTTP request from {peer} failed: {e}"));
        }
        asked.requests.of(who).leave(&origin);
    };
    if shared.tasks.try_spawn("http request", Box::new(body)).is_none() {
        // Without a thread the client finds the connection closed.
        shared.requests.of(who).leave(&origin);
    }
}

fn converse(
    shared: &Arc<Shared>,
    socket: std::net::TcpStream,
    peer: SocketAddr,
    mut input: Input,
) -> io::Result<()> {
    socket.set_nonblocking(false)?;
    socket.set_write_timeout(Some(PATIENCE))?;
    let handle = Raw::Tcp(socket.try_clone()?);
    let mut stream = Stream::new(Raw::Tcp(socket));
    let after = |time: Duration| SystemClock.monotonic_ns() + time.as_nanos() as u64;
    stream.set_wait(Wait::Until(after(PATIENCE)));
    if input.bytes().first() == Some(&HANDSHAKE) {
        let Some(tls) = &shared.tls else { return Err(io::ErrorKind::InvalidData.into()) };
        stream = stream.encrypted(&tls.config, input.bytes())?;
        input = receive(&mut stream)?;
    }
    let answer = match Request::read(input.bytes()) {
        Ok(request) => {
            let caller = console::Caller { peer, is_encrypted: stream.is_encrypted(), handle };
            route(shared, &request, &caller)
        }
        Err(refused) => refused,
    };
    stream.set_taking(after(TAKING));
    stream.send(&answer.head())?;
    stream.send(&answer.body)?;
    stream.close();
    Ok(())
}

/// A request under TLS.
fn receive(stream: &mut Stream) -> io::Result<Input> {
    let mut input = Input::default();
    while matches!(request::progress(input.bytes()), Progress::Incomplete) {
        if input.receive(stream)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(input)
}

fn route(shared: &Arc<Shared>, request: &Request<'_>, caller: &console::Caller) -> Answer {
    match request.path {
        "/healthz" | "/metrics" if request.method != "GET" => {
            Answer::text("405 Method Not Allowed", "only GET is answered\n")
        }
        "/healthz" => match shared.instance.database().stats_without_keys() {
            Ok(stats) => match metrics::failure(&stats) {
                Some(text) => Answer::text("503 Service Unavailable", text + "\n"),
                None => Answer::text("200 OK", "ok\n"),
            },
            Err(e) => Answer::text("503 Service Unavailable", format!("{e}\n")),
        },
        "/metrics" => match shared.instance.database().stats_without_keys() {
            Ok(stats) => {
                let text = metrics::page(&stats, shared.connections.counts(), shared.started_us);
                Answer::new("200 OK", Kind::Metrics, text)
            }
            Err(e) => Answer::text("503 Service Unavailable", format!("{e}\n")),
        },
        _ => console::answer(shared, request, caller),
    }
}
