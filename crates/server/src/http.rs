//! How does a monitor ask?
//!
//! `GET /healthz` and `GET /metrics` over HTTP/1.1, one request per connection. The pages are for
//! operators: listen on loopback or behind a proxy, there are no passwords here.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use crate::metrics;
use crate::server::Shared;

/// Bytes of a request's head at most.
const HEAD_BYTES: u64 = 8 << 10;
/// How long a client may take for its request, and to read the answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Answers a connection on a task of its own.
pub(crate) fn accepted(shared: &Arc<Shared>, socket: TcpStream, peer: SocketAddr) {
    let asked = Arc::clone(shared);
    let body = move || {
        if let Err(e) = answer(&asked, socket) {
            asked.log.debug(format_args!("HTTP request from {peer} failed: {e}"));
        }
    };
    // Without a thread the client finds the connection closed.
    drop(shared.tasks.try_spawn("http request", Box::new(body)));
}

fn answer(shared: &Shared, mut socket: TcpStream) -> io::Result<()> {
    socket.set_nonblocking(false)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    let head = read_head(&mut socket)?;
    let (status, kind, body) = page(shared, &head);
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    );
    socket.write_all(head.as_bytes())?;
    socket.write_all(body.as_bytes())
}

fn read_head(socket: &mut TcpStream) -> io::Result<String> {
    let (mut head, mut piece) = (Vec::new(), [0; 1024]);
    while !head.windows(4).any(|w| w == b"\r\n\r\n") {
        let n = socket.read(&mut piece)?;
        if n == 0 || head.len() as u64 + n as u64 > HEAD_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        head.extend_from_slice(&piece[..n]);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
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
