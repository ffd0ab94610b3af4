//! Who is it, and may they come in?

use std::io;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use onlap_base::clock::{Clock as _, SystemClock};
use onlap_sql::scram::{Verifier, mock_verifier};
use onlap_sql::{Client as _, Secret, Session, SessionKey, SqlError, Waker};
use ring::rand::{SecureRandom as _, SystemRandom};

use super::{Connection, End, is_timeout};
use crate::auth::{Exchange, PLAIN, PLUS, Verdict};
use crate::connections::Place;
use crate::frontend::{self, Message, Reader, violation};
use crate::input::Next;
use crate::origin::Origin;
use crate::startup::{self, First, STARTUP_BYTES, Start};
use crate::stream::{Stream, Wait};

/// Bytes of the client's nonce of ours, as PostgreSQL's.
const NONCE_BYTES: usize = 18;

impl Connection {
    /// Everything up to the session; nothing where the client wanted something else and has it.
    pub(super) fn begin(&mut self) -> Result<Option<(Session, Place)>, End> {
        self.stream.set_wait(Wait::Until(self.until_ns));
        let start = match self.first()? {
            First::Start(start) => start,
            First::Cancel(key) => {
                self.cancel(key);
                return Ok(None);
            }
            First::Tls | First::Gss => return Err(violation("a second request to encrypt").into()),
        };
        self.check_way()?;
        startup::answer_version(&start, &mut self.reply);
        self.authenticate(&start.info.user)?;
        let place = self.place(&start.info.user)?;
        self.guard.settle();
        let session = self.session(start)?;
        self.stream.set_wait(Wait::Forever);
        Ok(Some((session, place)))
    }

    /// The first message that is not about encryption.
    fn first(&mut self) -> Result<First, End> {
        let (mut tls_asked, mut gss_asked) = (false, false);
        loop {
            let next = self.input.first(&mut self.stream, STARTUP_BYTES);
            let frame = match next {
                Ok(Next::Frame(frame)) => frame,
                Ok(Next::BadLength) => {
                    return Err(violation("invalid length of startup packet").into());
                }
                Err(e) if is_timeout(&e) => return Err(too_slow().into()),
                // Somebody looks whether the port is open.
                Ok(Next::End) | Err(_) => return Err(End::Gone),
            };
            match startup::first(self.input.body(&frame))? {
                First::Tls if !tls_asked => {
                    tls_asked = true;
                    self.answer_tls()?;
                }
                First::Gss if !gss_asked => {
                    gss_asked = true;
                    self.say(b"N")?;
                }
                other => return Ok(other),
            }
        }
    }
    fn answer_tls(&mut self) -> Result<(), End> {
        let Some(tls) = self.server.tls.as_ref().map(|tls| Arc::clone(&tls.config)) else {
            return self.say(b"N");
        };
        // Somebody who can put bytes in front of the handshake could put words into the client's mouth.
        if !self.input.is_empty() {
            let error = violation("received unencrypted data after SSL request");
            return Err(error
                .detail("This could be an attack from between client and server.")
                .into());
        }
        if let Stream::Tls(_) = self.stream {
            return Err(violation("the connection is encrypted already").into());
        }
        self.say(b"S")?;
        self.handshake(&tls)
    }
    fn handshake(&mut self, config: &Arc<rustls::ServerConfig>) -> Result<(), End> {
        // The stream is moved through the handshake; a handle of the same socket stands in.
        let stand_in = self.entry.handle().map_err(|_| End::Gone)?;
        let plain = std::mem::replace(&mut self.stream, Stream::new(stand_in));
        self.stream = plain.encrypted(config, b"").map_err(|e| {
            self.server.log.info(format_args!("TLS handshake with {} failed: {e}", self.peer));
            End::Gone
        })?;
        Ok(())
    }
    fn cancel(&self, key: SessionKey) {
        self.server.connections.cancels.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.server.instance.cancel(key);
    }
    /// Other machines need TLS, unless the operator said otherwise.
    fn check_way(&self) -> Result<(), SqlError> {
        if self.peer.is_local() || self.stream.is_encrypted() || self.server.config.insecure {
            return Ok(());
        }
        let error = SqlError::new("28000", "connections from other machines need TLS");
        Err(error.hint("Connect with sslmode=require."))
    }

    fn authenticate(&mut self, role: &str) -> Result<(), End> {
        let verifier = match self.server.instance.secret(role) {
            Secret::Trusted if self.peer.is_local() || self.server.config.insecure => {
                self.request(0, b"");
                return Ok(());
            }
            Secret::Verifier(text) => Verifier::parse(&text),
            Secret::Trusted | Secret::Unknown => None,
        };
        let known = verifier.is_some();
        let mock = || mock_verifier(&self.server.instance.mock_key(), role);
        let verifier = verifier.unwrap_or_else(mock);
        let verdict = self.exchange(verifier)?;
        let (logins, from) = (&self.server.logins, Origin::from(self.peer));
        let wait = logins.wait(role, from, SystemClock.monotonic_ns());
        if !wait.is_zero() {
            self.entry.linger(wait);
        }
        match verdict {
            Verdict::Accepted(proof) if known => {
                logins.succeeded(role, from);
                self.request(12, proof.as_bytes());
                self.request(0, b"");
                Ok(())
            }
            _ => {
                logins.failed(role, from, SystemClock.monotonic_ns());
                let text = format!("password authentication failed for user \"{role}\"");
                Err(SqlError::new("28P01", text).into())
            }
        }
    }
    fn exchange(&mut self, verifier: Verifier) -> Result<Verdict, End> {
        let binding = match (&self.stream, &self.server.tls) {
            (Stream::Tls(_), Some(tls)) => tls.binding.clone(),
            _ => None,
        };
        let offers: &[&str] = if binding.is_some() { &[PLUS, PLAIN] } else { &[PLAIN] };
        let mut list =
            offers.iter().flat_map(|o| [o.as_bytes(), b"\0"].concat()).collect::<Vec<_>>();
        list.push(0);
        self.request(10, &list);
        self.flush()?;
        let first = self.password()?;
        let mut r = Reader { rest: &first };
        let (mechanism, length) = (r.string()?, r.u32()? as usize);
        if length != r.rest.len() {
            return Err(violation("malformed SASL message").into());
        }
        let exchange = Exchange::begin(mechanism, r.rest, verifier, binding.as_deref(), &nonce())?;
        self.request(11, exchange.answer().as_bytes());
        self.flush()?;
        let last = self.password()?;
        Ok(exchange.end(&last)?)
    }
    /// A message of kind `R`.
    fn request(&mut self, code: u32, data: &[u8]) {
        self.reply.message(b'R', |out| {
            out.extend_from_slice(&code.to_be_bytes());
            out.extend_from_slice(data);
        });
    }
    fn password(&mut self) -> Result<Vec<u8>, End> {
        let frame = match self.input.next(&mut self.stream, STARTUP_BYTES) {
            Err(e) if is_timeout(&e) => return Err(too_slow().into()),
            next => self.taken(next)?,
        };
        match frontend::message(frame.kind, self.input.body(&frame))? {
            Message::Password(data) => Ok(data.to_vec()),
            // Clients without a password leave here and come again with one.
            Message::Terminate => Err(End::Gone),
            _ => {
                let kind = frame.kind;
                Err(violation(format!("expected SASL response, got message type {kind}")).into())
            }
        }
    }

    fn place(&mut self, role: &str) -> Result<Place, SqlError> {
        self.server.place(role)
    }
    fn session(&mut self, start: Start) -> Result<Session, End> {
        let mut info = start.info;
        info.peer = self.peer.to_string();
        let entry = Arc::clone(&self.entry);
        info.waker = Some(Waker(Arc::new(move || entry.wake())));
        let bell = Arc::clone(&self.bell);
        info.bell = Some(Waker(Arc::new(move || bell.ring())));
        let session = Session::new(&self.server.instance, info)?;
        let key = session.key();
        self.entry.set_session(key);
        session.reported().iter().for_each(|(name, value)| self.reply.parameter(name, value));
        self.reply.message(b'K', |out| {
            out.extend_from_slice(&key.pid.to_be_bytes());
            out.extend_from_slice(&key.secret.to_be_bytes());
        });
        self.reply.ready(session.status());
        self.flush()?;
        Ok(session)
    }

    fn say(&mut self, bytes: &[u8]) -> Result<(), End> {
        self.stream.send(bytes).map_err(|_: io::Error| End::Gone)
    }
    pub(super) fn flush(&mut self) -> Result<(), End> {
        self.send().map_err(|_| End::Gone)
    }
}

/// What a client learns that took too long to prove who it is.
pub(crate) fn too_slow() -> SqlError {
    SqlError::new("57014", "canceling authentication due to timeout")
}

/// What a client learns that had to go before it had proved who it is.
pub(crate) fn crowded_out() -> SqlError {
    let text = "too many connections have not proved who they are, and this was the oldest";
    SqlError::new("53300", text)
}

/// What the server adds to a client's nonce.
pub(crate) fn nonce() -> String {
    let mut nonce = [0; NONCE_BYTES];
    SystemRandom::new().fill(&mut nonce).expect("the operating system has random numbers");
    STANDARD.encode(nonce)
}
