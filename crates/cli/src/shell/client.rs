//! How does the shell talk to a server?
//!
//! A small client of the PostgreSQL protocol: start-up, SCRAM-SHA-256, TLS, simple queries, COPY, and
//! requests to cancel. Reads return now and then, so that Ctrl-C is noticed.

use std::io::{self, ErrorKind, Read, Write};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use onlap_sql::scram;
use ring::rand::{SecureRandom as _, SystemRandom};

use super::progress::Waiting;
use super::target::{Stream, Target};
use onlap_process::interrupt;

/// How often a wait for the server looks for Ctrl-C.
pub const LOOK: Duration = Duration::from_millis(100);
/// Bytes of a message at most; a longer one is a mistake of the other side.
const MESSAGE_BYTES: usize = 1 << 30;

/// What failed.
#[derive(Debug)]
pub enum Failure {
    /// The server refused something, and goes on.
    Refused(Fields),
    /// The connection is of no more use.
    Broken(String),
}

/// Fields of an error or notice, by type.
#[derive(Clone, Debug, Default)]
pub struct Fields(Vec<(u8, String)>);

impl Fields {
    fn read(body: &[u8]) -> Fields {
        let parts = body.split(|b| *b == 0).filter(|part| !part.is_empty());
        let field = |part: &[u8]| (part[0], String::from_utf8_lossy(&part[1..]).into_owned());
        Fields(parts.map(field).collect())
    }
    /// A field's text.
    pub fn get(&self, kind: u8) -> Option<&str> {
        self.0.iter().find(|(k, _)| *k == kind).map(|(_, text)| text.as_str())
    }
}

impl From<io::Error> for Failure {
    fn from(e: io::Error) -> Failure {
        Failure::Broken(match e.kind() {
            ErrorKind::UnexpectedEof => "the server closed the connection".to_string(),
            _ => e.to_string(),
        })
    }
}

/// Result of talking.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// A message of the server.
#[derive(Debug)]
pub struct Message {
    /// Its type.
    pub kind: u8,
    /// Its bytes after the length.
    pub body: Vec<u8>,
}

/// A connection with a session.
pub struct Client {
    stream: Stream,
    target: Target,
    received: Vec<u8>,
    key: [u8; 8],
    /// What the server said of its settings.
    pub parameters: Vec<(String, String)>,
    /// `I`, `T` or `E`.
    pub status: u8,
    /// Tells a person that a statement takes long, while one does.
    pub waiting: Option<Waiting>,
}

impl Client {
    /// Connects and begins a session.
    ///
    /// # Errors
    /// No server is there, or it refuses us.
    pub fn connect(target: Target, password: &mut dyn FnMut() -> Option<String>) -> Result<Client> {
        let stream = target.connect()?;
        let mut client = Client {
            stream,
            target,
            received: Vec::new(),
            key: [0; 8],
            parameters: Vec::new(),
            status: b'I',
            waiting: None,
        };
        client.start()?;
        client.prove(password)?;
        loop {
            let message = client.next()?;
            match message.kind {
                b'K' => client.key = message.body.try_into().unwrap_or_default(),
                b'Z' => return Ok(client),
                b'E' => return Err(Failure::Refused(Fields::read(&message.body))),
                _ => {}
            }
        }
    }
    fn start(&mut self) -> Result<()> {
        let mut body = (3u32 << 16).to_be_bytes().to_vec();
        let pairs = [
            ("user", self.target.user.as_str()),
            ("database", self.target.database.as_str()),
            ("application_name", "onlap shell"),
            ("client_encoding", "UTF8"),
        ];
        for text in pairs.iter().flat_map(|(name, value)| [name, value]) {
            body.extend_from_slice(text.as_bytes());
            body.push(0);
        }
        body.push(0);
        let bytes = [&(body.len() as u32 + 4).to_be_bytes()[..], &body].concat();
        Ok(self.stream.write_all(&bytes).and_then(|()| self.stream.flush())?)
    }
    fn prove(&mut self, password: &mut dyn FnMut() -> Option<String>) -> Result<()> {
        loop {
            let message = self.next()?;
            if message.kind == b'E' {
                return Err(Failure::Refused(Fields::read(&message.body)));
            }
            let code = message.body.first_chunk().map(|c| u32::from_be_bytes(*c));
            match (message.kind, code) {
                (b'R', Some(0)) => return Ok(()),
                (b'R', Some(10)) => {
                    let password = password().ok_or_else(|| {
                        broken("the server wants a password; set PGPASSWORD or put it into the URL")
                    })?;
                    self.scram(&password)?;
                }
                (b'v', _) => {}
                _ => return Err(broken("the server wants a proof that is not known here")),
            }
        }
    }
    fn scram(&mut self, password: &str) -> Result<()> {
        let mut nonce = [0; 18];
        SystemRandom::new().fill(&mut nonce).expect("the operating system has random numbers");
        let bare = format!("n=,r={}", STANDARD.encode(nonce));
        let first = format!("n,,{bare}");
        let mut body = b"SCRAM-SHA-256\0".to_vec();
        body.extend_from_slice(&(first.len() as u32).to_be_bytes());
        body.extend_from_slice(first.as_bytes());
        self.send(b'p', &body)?;
        let answer = self.sasl(11)?;
        let attribute = |name: &str| {
            let mut parts = answer.split(',').filter_map(|p| p.split_once('='));
            parts.find_map(|(n, value)| (n == name).then_some(value))
        };
        let odd = || broken("the server's answer to the password is not understood");
        let (nonce, salt) = (attribute("r").ok_or_else(odd)?, attribute("s").ok_or_else(odd)?);
        let rounds: u32 = attribute("i").and_then(|i| i.parse().ok()).ok_or_else(odd)?;
        let salt = STANDARD.decode(salt).map_err(|_| odd())?;
        if !(1..=scram::ITERATIONS_MAX).contains(&rounds)
            || !nonce.starts_with(&bare["n=,r=".len()..])
        {
            return Err(odd());
        }
        let unproved = format!("c=biws,r={nonce}");
        let message = format!("{bare},{answer},{unproved}");
        let (proof, signature) = scram::client_proof(password, &salt, rounds, message.as_bytes());
        let last = format!("{unproved},p={}", STANDARD.encode(proof));
        self.send(b'p', last.as_bytes())?;
        match self.sasl(12)? == format!("v={}", STANDARD.encode(signature)) {
            true => Ok(()),
            false => Err(broken("the server does not know the password itself")),
        }
    }
    fn sasl(&mut self, code: u32) -> Result<String> {
        let message = self.next()?;
        match (message.kind, message.body.split_first_chunk::<4>()) {
            (b'R', Some((found, text))) if u32::from_be_bytes(*found) == code => {
                Ok(String::from_utf8_lossy(text).into_owned())
            }
            (b'E', _) => Err(Failure::Refused(Fields::read(&message.body))),
            _ => Err(broken("the server breaks off the exchange of the password")),
        }
    }

    /// Sends statements.
    ///
    /// # Errors
    /// The connection broke.
    pub fn query(&mut self, sql: &str) -> Result<()> {
        self.send(b'Q', &[sql.as_bytes(), b"\0"].concat())
    }
    /// Sends a message.
    ///
    /// # Errors
    /// The connection broke.
    pub fn send(&mut self, kind: u8, body: &[u8]) -> Result<()> {
        let head = [&[kind][..], &(body.len() as u32 + 4).to_be_bytes()].concat();
        self.stream.write_all(&head)?;
        self.stream.write_all(body)?;
        Ok(self.stream.flush()?)
    }
    /// The server's next message; notices are printed, Ctrl-C asks for the statement's end.
    ///
    /// # Errors
    /// The connection broke.
    pub fn next(&mut self) -> Result<Message> {
        loop {
            let message = self.receive()?;
            match (&mut self.waiting, message.kind) {
                (Some(waiting), b'D' | b'd') => {
                    waiting.row(message.body.len());
                    waiting.tick();
                }
                (Some(waiting), _) => waiting.clear(),
                (None, _) => {}
            }
            match message.kind {
                b'N' => super::print_notice(&Fields::read(&message.body)),
                b'S' => self.note(&message.body),
                b'Z' => {
                    self.status = message.body.first().copied().unwrap_or(b'I');
                    return Ok(message);
                }
                _ => return Ok(message),
            }
        }
    }
    fn note(&mut self, body: &[u8]) {
        let mut parts = body.split(|b| *b == 0).map(|p| String::from_utf8_lossy(p).into_owned());
        let (Some(name), Some(value)) = (parts.next(), parts.next()) else { return };
        self.parameters.retain(|(n, _)| *n != name);
        self.parameters.push((name, value));
    }
    fn receive(&mut self) -> Result<Message> {
        let head = self.exactly(5)?;
        let length = u32::from_be_bytes(head[1..].try_into().expect("four bytes")) as usize;
        if !(4..MESSAGE_BYTES).contains(&length) {
            return Err(broken("the server sent something that is no message"));
        }
        Ok(Message { kind: head[0], body: self.exactly(length - 4)? })
    }
    fn exactly(&mut self, bytes: usize) -> Result<Vec<u8>> {
        let mut piece = [0; 16 << 10];
        while self.received.len() < bytes {
            match self.stream.read(&mut piece) {
                Ok(0) => return Err(io::Error::from(ErrorKind::UnexpectedEof).into()),
                Ok(n) => self.received.extend_from_slice(&piece[..n]),
                Err(e) if is_pause(&e) => {
                    if let Some(waiting) = &mut self.waiting {
                        waiting.tick();
                    }
                    if interrupt::take() {
                        self.cancel();
                    }
                }
                Err(e) => return Err(e.into()),
            }
        }
        let rest = self.received.split_off(bytes);
        Ok(std::mem::replace(&mut self.received, rest))
    }
    /// Asks the server to end the statement under way.
    pub fn cancel(&self) {
        let body = [&80_877_102u32.to_be_bytes()[..], &self.key].concat();
        let bytes = [&(body.len() as u32 + 4).to_be_bytes()[..], &body].concat();
        let asked = self.target.connect().and_then(|mut s| {
            s.write_all(&bytes)?;
            s.flush()?;
            // The server closes the connection once it has done it.
            while s.read(&mut [0]).is_err_and(|e| is_pause(&e)) {}
            Ok(())
        });
        if let Err(e) = asked {
            eprintln!("the statement cannot be cancelled: {e}");
        }
    }
}

/// Of an error message of the server.
pub fn refusal(message: &Message) -> Failure {
    Failure::Refused(Fields::read(&message.body))
}

fn broken(text: &str) -> Failure {
    Failure::Broken(text.to_string())
}

fn is_pause(e: &io::Error) -> bool {
    matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
