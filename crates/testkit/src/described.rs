//! What does a PostgreSQL make of a statement without carrying it out?
//!
//! A client of the extended protocol that parses and describes texts, many in one go, and keeps the types of
//! columns and parameters, the error, and the tree that PostgreSQL made of the text (it is asked to log it to its
//! client). Nothing is planned or executed, so a hundred thousand texts take some seconds, and functions that would
//! stop a server can be looked at.
//!
//! Thread safety: a client belongs to one thread.

use std::io::{self, BufReader, Read, Write};
use std::net::TcpStream;

/// Version 3.0 of the protocol.
const PROTOCOL: u32 = 196_608;
/// As many texts are sent before answers are read: they fit into the buffers of a socket.
const TOGETHER: usize = 100;

/// What PostgreSQL says of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// OID and modifier of each column's type.
    pub columns: Vec<(u32, i32)>,
    /// OIDs of the parameters' types.
    pub parameters: Vec<u32>,
    /// What it refused.
    pub error: Option<Refusal>,
    /// The statement after analysis, as PostgreSQL prints nodes.
    pub tree: String,
}

/// An error's fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// SQLSTATE.
    pub state: String,
    /// The message.
    pub message: String,
    /// More about it; may be empty.
    pub detail: String,
    /// What may help; may be empty.
    pub hint: String,
    /// The character of the text that it is about, from 1; may be empty.
    pub position: String,
}

/// A connection as superuser `postgres` to a server that trusts it.
#[derive(Debug)]
pub struct Describer {
    stream: BufReader<TcpStream>,
}

impl Describer {
    /// Connects to a port of loopback.
    ///
    /// # Errors
    /// There is no server, or it refuses.
    pub fn connect(port: u16) -> io::Result<Describer> {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        let mut body = PROTOCOL.to_be_bytes().to_vec();
        let options =
            "-c client_min_messages=log -c debug_print_parse=on -c debug_pretty_print=off";
        for word in ["user", "postgres", "database", "postgres", "options", options, ""] {
            body.extend_from_slice(word.as_bytes());
            body.push(0);
        }
        stream.write_all(&(body.len() as u32 + 4).to_be_bytes())?;
        stream.write_all(&body)?;
        let mut describer = Describer { stream: BufReader::with_capacity(1 << 16, stream) };
        match describer.answer()?.error {
            None => Ok(describer),
            Some(refusal) => Err(io::Error::other(refusal.message)),
        }
    }

    /// Describes each text.
    ///
    /// # Errors
    /// The connection has ended.
    pub fn describe(&mut self, texts: &[String]) -> io::Result<Vec<Description>> {
        let mut found = Vec::with_capacity(texts.len());
        for some in texts.chunks(TOGETHER) {
            let mut out = Vec::new();
            for text in some {
                push(&mut out, b'P', &[b"\0", text.as_bytes(), b"\0\0\0"].concat());
                push(&mut out, b'D', b"S\0");
                push(&mut out, b'S', b"");
            }
            self.stream.get_mut().write_all(&out)?;
            for _ in some {
                found.push(self.answer()?);
            }
        }
        Ok(found)
    }

    fn answer(&mut self) -> io::Result<Description> {
        let mut description = Description::default();
        loop {
            let mut head = [0; 5];
            self.stream.read_exact(&mut head)?;
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
            let mut body = vec![0; length.saturating_sub(4)];
            self.stream.read_exact(&mut body)?;
            match head[0] {
                b'Z' => return Ok(description),
                b'T' => description.columns = columns(&body[2..]),
                b't' => description.parameters = body[2..].chunks_exact(4).map(number).collect(),
                b'N' if field(&body, b'M') == "parse tree:" => {
                    description.tree = field(&body, b'D');
                }
                b'E' => {
                    description.error = Some(Refusal {
                        state: field(&body, b'C'),
                        message: field(&body, b'M'),
                        detail: field(&body, b'D'),
                        hint: field(&body, b'H'),
                        position: field(&body, b'P'),
                    });
                }
                _ => {}
            }
        }
    }
}

fn push(out: &mut Vec<u8>, kind: u8, body: &[u8]) {
    out.push(kind);
    out.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    out.extend_from_slice(body);
}

fn number(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(bytes.try_into().expect("four bytes"))
}

fn columns(mut at: &[u8]) -> Vec<(u32, i32)> {
    let mut found = Vec::new();
    while let Some(end) = at.iter().position(|b| *b == 0) {
        let fixed = &at[end + 1..end + 19];
        found.push((number(&fixed[6..10]), number(&fixed[12..16]).cast_signed()));
        at = &at[end + 19..];
    }
    found
}

fn field(body: &[u8], kind: u8) -> String {
    let found = body.split(|b| *b == 0).find(|f| f.first() == Some(&kind));
    found.map_or(String::new(), |f| String::from_utf8_lossy(&f[1..]).into_owned())
}
