//! What does a server of PostgreSQL's protocol answer to a text?
//!
//! A client of the simple query protocol alone, without passwords, TLS or types: it sends a text and keeps
//! everything that comes back as an [`Outcome`], so that answers of two servers can be compared as they are.
//! It knows nothing of Onlap: sessions without a network are decoded by the same [`Outcome::decode`].
//!
//! Thread safety: a client belongs to one thread.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Version 3.0 of the protocol.
const PROTOCOL: u32 = 196_608;
/// A server that says nothing for so long is taken for dead.
const PATIENCE: Duration = Duration::from_secs(120);

/// Fields of an error that both kinds of servers can have.
const SAID: &str = "MDHPstcdn";

/// What a text gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Names and OIDs of columns of the last rows.
    pub columns: Vec<(String, u32)>,
    /// Modifiers of the columns' types.
    pub modifiers: Vec<i32>,
    /// Values as text of the last rows.
    pub rows: Vec<Vec<Option<String>>>,
    /// Tags of what was carried out.
    pub tags: Vec<String>,
    /// SQLSTATE and message.
    pub error: Option<(String, String)>,
    /// More about the error; may be empty.
    pub detail: String,
    /// All that is said of the error for people and programs, by the field's letter: `M`, `D`, `H`, `P`, `s`, `t`, `c`, `d`, `n`.
    pub said: Vec<(char, String)>,
    /// What may help; may be empty.
    pub hint: String,
    /// What was under way at the error; may be empty.
    pub context: String,
    /// Notices: SQLSTATE and message.
    pub notices: Vec<(String, String)>,
    /// What COPY TO STDOUT sent.
    pub copied: Vec<u8>,
}

impl Outcome {
    /// Reads whole messages of a server.
    ///
    /// # Panics
    /// They are not whole: a length points behind the end.
    pub fn decode(mut bytes: &[u8]) -> Outcome {
        let mut outcome = Outcome::default();
        while let [kind, a, b, c, d, rest @ ..] = bytes {
            let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize - 4;
            let (body, rest) = rest.split_at(length);
            outcome.note(*kind, body);
            bytes = rest;
        }
        outcome
    }

    /// The SQLSTATE of its error; empty where it succeeded.
    pub fn state(&self) -> &str {
        self.error.as_ref().map_or("", |(state, _)| state)
    }

    fn note(&mut self, kind: u8, body: &[u8]) {
        match kind {
            b'T' => {
                self.columns.clear();
                self.modifiers.clear();
                self.rows.clear();
                let mut at = &body[2..];
                while let Some(end) = at.iter().position(|b| *b == 0) {
                    let name = text(&at[..end]);
                    let fixed = &at[end + 1..end + 19];
                    let oid = u32::from_be_bytes(fixed[6..10].try_into().expect("four bytes"));
                    let modifier = fixed[12..16].try_into().expect("four bytes");
                    self.columns.push((name, oid));
                    self.modifiers.push(i32::from_be_bytes(modifier));
                    at = &at[end + 19..];
                }
            }
            b'D' => self.rows.push(values(&body[2..])),
            b'C' => self.tags.push(text(&body[..body.len() - 1])),
            b'E' => {
                self.error = Some(fields(body));
                self.detail = field(body, b'D');
                self.said = SAID.chars().map(|kind| (kind, field(body, kind as u8))).collect();
                self.hint = field(body, b'H');
                self.context = field(body, b'W');
            }
            b'N' => self.notices.push(fields(body)),
            b'd' => self.copied.extend_from_slice(body),
            _ => {}
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn values(mut body: &[u8]) -> Vec<Option<String>> {
    let mut values = Vec::new();
    while let [a, b, c, d, rest @ ..] = body {
        let length = i32::from_be_bytes([*a, *b, *c, *d]);
        let taken = usize::try_from(length).unwrap_or(0);
        values.push((length >= 0).then(|| text(&rest[..taken])));
        body = &rest[taken..];
    }
    values
}

fn field(body: &[u8], kind: u8) -> String {
    let found = body.split(|b| *b == 0).find(|f| f.first() == Some(&kind));
    found.map_or(String::new(), |f| text(&f[1..]))
}

fn fields(body: &[u8]) -> (String, String) {
    (field(body, b'C'), field(body, b'M'))
}

/// A connection to a server that trusts its client.
#[derive(Debug)]
pub struct SimpleClient {
    stream: TcpStream,
    /// What COPY FROM STDIN reads.
    pub input: Vec<u8>,
}

impl SimpleClient {
    /// Connects to a port of loopback.
    ///
    /// # Errors
    /// There is no server; it refuses the role or the database, or wants a password.
    pub fn connect(port: u16, user: &str, database: &str) -> io::Result<SimpleClient> {
        SimpleClient::connect_with(port, user, database, &[])
    }

    /// Connects with settings, which are the session's defaults.
    ///
    /// # Errors
    /// As [`SimpleClient::connect`].
    pub fn connect_with(
        port: u16,
        user: &str,
        database: &str,
        settings: &[(&str, &str)],
    ) -> io::Result<SimpleClient> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut client = SimpleClient { stream, input: Vec::new() };
        let mut body = PROTOCOL.to_be_bytes().to_vec();
        let settings = settings.iter().flat_map(|(name, value)| [*name, *value]);
        for word in ["user", user, "database", database].into_iter().chain(settings).chain([""]) {
            body.extend_from_slice(word.as_bytes());
            body.push(0);
        }
        let mut message = (body.len() as u32 + 4).to_be_bytes().to_vec();
        message.extend(body);
        client.stream.write_all(&message)?;
        let outcome = client.answer()?;
        match outcome.error {
            None => Ok(client),
            Some((state, text)) => Err(io::Error::other(format!("{state}: {text}"))),
        }
    }

    /// Runs a text.
    ///
    /// # Errors
    /// The connection has ended; what the server said last is in the text.
    pub fn run(&mut self, sql: &str) -> io::Result<Outcome> {
        self.ask(sql)?;
        self.answer()
    }

    /// Sends a text; [`SimpleClient::answer`] has what it gave. Several may be under way: the server answers them in their
    /// order. Together they must fit the buffers of the connection, a few dozen KiB, or both sides wait for each other.
    ///
    /// # Errors
    /// The connection has ended.
    pub fn ask(&mut self, sql: &str) -> io::Result<()> {
        self.send(b'Q', &[sql.as_bytes(), &[0]].concat())
    }

    fn send(&mut self, kind: u8, body: &[u8]) -> io::Result<()> {
        let mut message = vec![kind];
        message.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
        message.extend_from_slice(body);
        self.stream.write_all(&message)
    }

    /// Everything up to ReadyForQuery.
    ///
    /// # Errors
    /// The connection has ended; what the server said last is in the text.
    pub fn answer(&mut self) -> io::Result<Outcome> {
        let mut outcome = Outcome::default();
        loop {
            let (kind, body) = self.message().map_err(|e| match &outcome.error {
                Some((state, text)) => io::Error::other(format!("{state}: {text}, then {e}")),
                None => e,
            })?;
            match kind {
                b'Z' => return Ok(outcome),
                b'R' if body.get(..4) != Some(&[0; 4]) => {
                    return Err(io::Error::other("the server wants a password"));
                }
                b'G' => {
                    let input = std::mem::take(&mut self.input);
                    self.send(b'd', &input)?;
                    self.send(b'c', &[])?;
                }
                kind => outcome.note(kind, &body),
            }
            // A refused start ends with its error.
            if kind == b'E' && body.starts_with(b"SFATAL") {
                return Ok(outcome);
            }
        }
    }

    fn message(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let mut head = [0; 5];
        self.stream.read_exact(&mut head)?;
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let mut body = vec![0; length.saturating_sub(4)];
        self.stream.read_exact(&mut body)?;
        Ok((head[0], body))
    }
}
