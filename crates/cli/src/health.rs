//! `onlap health`: is a server well?
//!
//! Asks `/healthz` as a load balancer would, for places that have no other client: containers, and units that wait for
//! the server. Opens no database.

use std::io::{Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use onlap_base::{Error, ErrorKind, Result};
use onlap_process::exit::Outcome;

/// Of connecting, and of each wait for bytes.
const PATIENCE: Duration = Duration::from_secs(3);
/// A page of `/healthz` is a line or two.
const ANSWER_BYTES_MAX: u64 = 64 << 10;

/// Flags of `onlap health`.
#[derive(clap::Args)]
pub struct Args {
    /// Where the server's --http listens
    #[arg(default_value = "127.0.0.1:9187")]
    address: String,
}

/// Runs `onlap health`: a server that is not well, or not there, is a finding.
pub fn run(args: &Args) -> Result<Outcome> {
    let answer = match ask(&args.address) {
        Ok(answer) => answer,
        Err(e) => {
            eprintln!("onlap: {}: {e}", args.address);
            return Ok(Outcome::Finding);
        }
    };
    let (head, text) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    println!("{}", text.trim_end());
    match head.split_ascii_whitespace().nth(1) {
        Some("200") => Ok(Outcome::Good),
        Some("503") => Ok(Outcome::Finding),
        _ => {
            let text = format!("{} does not answer as /healthz does", args.address);
            Err(Error::new(ErrorKind::InvalidInput, text))
        }
    }
}

fn ask(address: &str) -> std::io::Result<String> {
    let unknown = || std::io::Error::other("no such address");
    let socket = address.to_socket_addrs()?.next().ok_or_else(unknown)?;
    let mut stream = TcpStream::connect_timeout(&socket, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    write!(stream, "GET /healthz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
