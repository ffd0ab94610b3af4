//! A socket that speaks the PostgreSQL protocol, one request after the other.
//!
//! It reads and writes in the calling thread, as JDBC and libpq do: two system calls per request, so that
//! the figures of a server are its own and not those of a client that shares its cores.

use std::io::{Read, Write};
use std::net::TcpStream;

use onlap_base::{Error, ErrorKind, Result};
use postgres::config::Host;
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::private::BytesMut;
use postgres_protocol::authentication::{md5_hash, sasl};
use postgres_protocol::message::backend::{ErrorResponseBody, Message};
use postgres_protocol::message::frontend;

use super::super::kind_of;

pub(super) const PORT: u16 = 5432;
/// What one read takes at most.
const CHUNK: usize = 64 << 10;

trait Socket: Read + Write + Send {}
impl<T: Read + Write + Send> Socket for T {}

/// A connection after the login.
pub(super) struct Line {
    socket: Box<dyn Socket>,
    /// What is to be sent.
    pub out: BytesMut,
    input: BytesMut,
    chunk: Box<[u8]>,
}

impl Line {
    /// Connects to the first host of `url`, in either form that libpq takes, without TLS.
    pub(super) fn open(url: &str) -> Result<Line> {
        let config: postgres::Config = url.parse().map_err(|e| super::of_client(&e))?;
        let port = config.get_ports().first().copied().unwrap_or(PORT);
        let socket: Box<dyn Socket> = match config.get_hosts().first() {
            #[cfg(unix)]
            Some(Host::Unix(dir)) => {
                let path = dir.join(format!(".s.PGSQL.{port}"));
                Box::new(std::os::unix::net::UnixStream::connect(path).map_err(io)?)
            }
            host => {
                let host = match host {
                    Some(Host::Tcp(name)) => name.as_str(),
                    _ => "localhost",
                };
                let socket = TcpStream::connect((host, port)).map_err(io)?;
                socket.set_nodelay(true).map_err(io)?;
                Box::new(socket)
            }
        };
        let (out, input) = (BytesMut::new(), BytesMut::new());
        let mut line = Line { socket, out, input, chunk: vec![0; CHUNK].into_boxed_slice() };
        line.log_in(&config)?;
        Ok(line)
    }

    fn log_in(&mut self, config: &postgres::Config) -> Result<()> {
        let user = config.get_user().unwrap_or("postgres");
        let password = config.get_password().unwrap_or_default();
        let database = config.get_dbname().unwrap_or(user);
        let parameters = [("client_encoding", "UTF8"), ("user", user), ("database", database)];
        frontend::startup_message(parameters, &mut self.out).map_err(io)?;
        self.send()?;
        let mut exchange = None;
        loop {
            match self.receive()? {
                Message::AuthenticationCleartextPassword => {
                    frontend::password_message(password, &mut self.out).map_err(io)?;
                    self.send()?;
                }
                Message::AuthenticationMd5Password(body) => {
                    let hash = md5_hash(user.as_bytes(), password, body.salt());
                    frontend::password_message(hash.as_bytes(), &mut self.out).map_err(io)?;
                    self.send()?;
                }
                Message::AuthenticationSasl(_) => {
                    let binding = sasl::ChannelBinding::unsupported();
                    let scram = sasl::ScramSha256::new(password, binding);
                    let first = scram.message();
                    frontend::sasl_initial_response(sasl::SCRAM_SHA_256, first, &mut self.out)
                        .map_err(io)?;
                    exchange = Some(scram);
                    self.send()?;
                }
                Message::AuthenticationSaslContinue(body) => {
                    let scram = exchange.as_mut().ok_or_else(unexpected)?;
                    scram.update(body.data()).map_err(io)?;
                    frontend::sasl_response(scram.message(), &mut self.out).map_err(io)?;
                    self.send()?;
                }
                Message::AuthenticationSaslFinal(body) => {
                    exchange.as_mut().ok_or_else(unexpected)?.finish(body.data()).map_err(io)?;
                }
                Message::ErrorResponse(body) => return Err(of_server(&body)),
                Message::ReadyForQuery(_) => return Ok(()),
                Message::AuthenticationOk
                | Message::BackendKeyData(_)
                | Message::ParameterStatus(_)
                | Message::NoticeResponse(_) => {}
                _ => return Err(unexpected()),
            }
        }
    }

    /// Sends what was written.
    pub(super) fn send(&mut self) -> Result<()> {
        self.socket.write_all(&self.out).map_err(io)?;
        self.out.clear();
        Ok(())
    }

    fn receive(&mut self) -> Result<Message> {
        loop {
            if let Some(message) = Message::parse(&mut self.input).map_err(io)? {
                return Ok(message);
            }
            let read = self.socket.read(&mut self.chunk).map_err(io)?;
            if read == 0 {
                return Err(Error::new(ErrorKind::Io, "the server closed the connection"));
            }
            self.input.extend_from_slice(&self.chunk[..read]);
        }
    }

    /// Sends what was written and shows all that is answered until the server is ready `times` times;
    /// the first error, of the server or of `each`, after that.
    pub(super) fn ask(
        &mut self,
        times: usize,
        each: &mut dyn FnMut(Message) -> Result<()>,
    ) -> Result<()> {
        self.send()?;
        let mut outcome = Ok(());
        let mut ready = 0;
        while ready < times {
            let one = match self.receive()? {
                Message::ReadyForQuery(_) => {
                    ready += 1;
                    Ok(())
                }
                Message::ErrorResponse(body) => Err(of_server(&body)),
                Message::NoticeResponse(_) | Message::ParameterStatus(_) => Ok(()),
                message if outcome.is_ok() => each(message),
                _ => Ok(()),
            };
            outcome = outcome.and(one);
        }
        outcome
    }
}

fn of_server(body: &ErrorResponseBody) -> Error {
    let (mut state, mut message) = (String::new(), String::new());
    let mut fields = body.fields();
    while let Ok(Some(field)) = fields.next() {
        match field.type_() {
            b'C' => state = String::from_utf8_lossy(field.value_bytes()).into_owned(),
            b'M' => message = String::from_utf8_lossy(field.value_bytes()).into_owned(),
            _ => {}
        }
    }
    Error::new(kind_of(&state), format!("{message} ({state})"))
}

pub(super) fn unexpected() -> Error {
    Error::new(ErrorKind::Io, "the server sent a message that the protocol has no place for")
}

pub(super) fn io(e: std::io::Error) -> Error {
    Error::new(ErrorKind::Io, e.to_string())
}
