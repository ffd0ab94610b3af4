//! How does a monitor ask?
//!
//! `GET /healthz` and `GET /metrics` over HTTP/1.1, one request per connection. The pages are for
//! operators: listen on loopback or behind a proxy, there are no passwords here.

use std::io::{self, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::door::Visitor;
use crate::input::Input;
use crate::metrics;
use crate::server::Shared;

/// Bytes of a request's head at most.
const HEAD_BYTES: usize = 8 << 10;
/// How long a client may take for its request, and to read the answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);
/// Requests that are answered at a time: there are few monitors.
const AT_ONCE: usize = 16;

/// Requests that are being answered.
#[derive(Debug, Default)]
pub(crate) struct Requests(AtomicUsize);

impl Requests {
    /// Whether one more may be answered.
    pub(crate) fn have_room(&self) -> bool {
        self.0.load(Ordering::SeqCst) < AT_ONCE
    }
}

/// Whether a request's head has arrived, or more bytes than it may have.
pub(crate) fn is_whole(input: &Input) -> bool {
    let bytes = input.bytes();
    bytes.len() > HEAD_BYTES || bytes.windows(4).any(|w| w == b"\r\n\r\n")
}

/// Answers a request on a task of its own.
pub(crate) fn serve(shared: &Arc<Shared>, visitor: Visitor) {
    let asked = Arc::clone(shared);
    asked.requests.0.fetch_add(1, Ordering::SeqCst);
    let body = move || {
        let peer = visitor.peer;
        if let Err(e) = answer(&asked, visitor.socket, &visitor.input) {
            asked.log.debug(format_args!("HTTP request from {peer} failed: {e}"));
        }
        asked.requests.0.fetch_sub(1, Ordering::SeqCst);
    };
    if shared.tasks.try_spawn("http request", Box::new(body)).is_none() {
        // Without a thread the client finds the connection closed.
        shared.requests.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn answer(shared: &Shared, mut socket: TcpStream, input: &Input) -> io::Result<()> {
    if input.bytes().len() > HEAD_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    socket.set_nonblocking(false)?;
    socket.set_write_timeout(Some(PATIENCE))?;
    let head = String::from_utf8_lossy(input.bytes());
    let (status, kind, body) = page(shared, &head);
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    );
    socket.write_all(head.as_bytes())?;
    socket.write_all(body.as_bytes())
}

fn page(shared: &Shared, head: &str) -> (&'static str, &'static str, String) {
    const TEXT: &str = "text/plain; charset=utf-8";
    let mut words = head.split_ascii_whitespace();
    let (method, path) = (words.next(), words.next().unwrap_or_default());
    if method != Some("GET") {
        return ("405 Method Not Allowed", TEXT, "only GET is answered\n".to_string());
    }
    match path.split('?').next() {
        Some("/healthz") => match shared.instance.database().stats_without_keys() {
            Ok(stats) => match metrics::failure(&stats) {
                Some(text) => ("503 Service Unavailable", TEXT, text + "\n"),
                None => ("200 OK", TEXT, "ok\n".to_string()),
            },
            Err(e) => ("503 Service Unavailable", TEXT, format!("{e}\n")),
        },
        Some("/metrics") => match shared.instance.database().stats_without_keys() {
            Ok(stats) => {
                let text = metrics::page(&stats, shared.connections.counts(), shared.started_us);
                ("200 OK", "text/plain; version=0.0.4; charset=utf-8", text)
            }
            Err(e) => ("503 Service Unavailable", TEXT, format!("{e}\n")),
        },
        _ => ("404 Not Found", TEXT, "there are /healthz and /metrics\n".to_string()),
    }
}
