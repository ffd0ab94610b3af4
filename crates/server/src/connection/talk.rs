//! What does a session answer to its client's messages?

use std::sync::Arc;
use std::time::Duration;

use onlap_base::clock::{Clock as _, SystemClock};
use onlap_sql::{Client as _, Session, SqlError};

use super::{Connection, End, no_room, stopping};
use crate::frontend::{self, Message, Target};
use crate::stream::Wait;

/// Characters of a slow statement that are logged.
const LOGGED_CHARACTERS: usize = 2000;

/// What a message asks for, apart from the buffer it came in.
enum Step {
    /// Answered, but for sending.
    Done,
    /// An error of the extended protocol: skip to Sync.
    Failed(SqlError),
    Query(String),
    Describe(Target, String),
    Execute(String, usize),
    Flush,
    Sync,
    FunctionCall,
    Terminate,
}

impl Connection {
    /// Answers messages until the client leaves or the session ends.
    pub(super) fn talk(&mut self, session: &mut Session) -> End {
        loop {
            if let Err(end) = self.talk_to_sync(session) {
                return end;
            }
        }
    }

    /// Answers messages up to the end of a simple query or a Sync.
    fn talk_to_sync(&mut self, session: &mut Session) -> Result<(), End> {
        let mut skipping = false;
        loop {
            let step = self.step(session, skipping)?;
            let failure = match step {
                Step::Done => None,
                Step::Failed(error) => Some(error),
                Step::Query(sql) => {
                    let panic_at = self.server.config.panic_at.as_deref();
                    assert!(panic_at != Some(&sql), "a test asked for it");
                    let begun = SystemClock.monotonic_ns();
                    let answered = session.query(&sql, self);
                    self.log_slow(begun, &sql);
                    // The session has reported the statements' errors; this is the client's end.
                    answered.map_err(|_| match session.is_terminated() && !self.broken {
                        true => stopping().into(),
                        false => End::Gone,
                    })?;
                    return self.ready(session);
                }
                Step::Describe(Target::Statement, name) => {
                    session.describe_statement(&name, self).err()
                }
                Step::Describe(Target::Portal, name) => session.describe_portal(&name, self).err(),
                Step::Execute(portal, rows) => self.execute(session, &portal, rows).err(),
                Step::Flush => {
                    self.flush()?;
                    None
                }
                Step::Sync => {
                    if let Err(error) = session.sync(self) {
                        self.error("ERROR", &error);
                    }
                    return self.ready(session);
                }
                Step::FunctionCall => {
                    let error = SqlError::unsupported("a call of a function by its number");
                    self.error("ERROR", &error);
                    return self.ready(session);
                }
                Step::Terminate => return Err(End::Gone),
            };
            if self.broken {
                return Err(End::Gone);
            }
            if failure.is_some() && session.is_terminated() {
                return Err(stopping().into());
            }
            if let Some(error) = failure {
                self.error("ERROR", &error);
                session.failed();
                skipping = true;
                // Clients that pipeline wait for the error before they send Sync, as PostgreSQL lets them.
                self.flush()?;
            }
        }
    }

    /// Waits for a message, and answers it where that needs no more than its bytes.
    fn step(&mut self, session: &mut Session, skipping: bool) -> Result<Step, End> {
        let frame = self.next_of(session)?;
        let body = self.input.body(&frame);
        if skipping && !matches!(frame.kind, b'S' | b'X') {
            return Ok(Step::Done);
        }
        let decoded;
        let read = match frame.is_lost {
            true => Err(no_room()),
            false => match self.reply.encoding().message(frame.kind, body) {
                Ok(texts) => {
                    decoded = texts;
                    frontend::message(frame.kind, &decoded)
                }
                Err(error) => Err(error),
            },
        };
        let message = match read {
            Ok(message) => message,
            // A type that is none: the two sides have lost each other.
            Err(error) if !b"QPBDECHSdcfpFX".contains(&frame.kind) => return Err(error.into()),
            // PostgreSQL ends a simple query here, and skips to Sync in the extended protocol.
            Err(error) if frame.kind == b'Q' => {
                session.failed();
                self.error("ERROR", &error);
                return Ok(Step::Sync);
            }
            Err(error) => return Ok(Step::Failed(error)),
        };
        let (complete, answered) = match message {
            Message::Query(sql) => return Ok(Step::Query(sql.to_string())),
            Message::Parse { name, sql, types } => (b'1', session.parse(name, sql, &types)),
            Message::Bind(b) => {
                let made =
                    session.bind(b.portal, b.statement, &b.formats, &b.values, &b.result_formats);
                (b'2', made)
            }
            Message::Describe(target, name) => {
                return Ok(Step::Describe(target, name.to_string()));
            }
            Message::Execute(portal, rows) => return Ok(Step::Execute(portal.to_string(), rows)),
            Message::Close(target, name) => {
                match target {
                    Target::Statement => session.close_statement(name),
                    Target::Portal => session.close_portal(name),
                }
                (b'3', Ok(()))
            }
            Message::Flush => return Ok(Step::Flush),
            Message::Sync => return Ok(Step::Sync),
            Message::FunctionCall => return Ok(Step::FunctionCall),
            Message::Terminate => return Ok(Step::Terminate),
            // Data of a COPY that has failed already.
            Message::CopyData(_) | Message::CopyDone | Message::CopyFail(_) => {
                return Ok(Step::Done);
            }
            Message::Password(_) => {
                return Err(frontend::violation("unexpected password message").into());
            }
        };
        session.warn(self);
        Ok(match answered {
            Ok(()) => {
                self.reply.message(complete, |_| ());
                Step::Done
            }
            Err(error) => Step::Failed(error),
        })
    }

    /// The next message, unless the client is silent for too long or somebody ends the session.
    fn next_of(&mut self, session: &mut Session) -> Result<crate::input::Frame, End> {
        loop {
            let bell = session.may_deliver().then(|| Arc::clone(&self.bell));
            self.stream.set_bell(bell);
            match self.next_while_silent(session) {
                Err(End::Rang) => {
                    session.deliver(self).map_err(|_| End::Gone)?;
                    self.flush()?;
                }
                next => return next,
            }
        }
    }

    fn next_while_silent(&mut self, session: &Session) -> Result<crate::input::Frame, End> {
        let limit = session.idle_limit();
        self.stream.set_wait(match &limit {
            Some((time, _)) => Wait::Silence(*time),
            None => Wait::Forever,
        });
        if session.is_terminated() {
            return Err(stopping().into());
        }
        let received = self.receive(self.server.config.message_bytes);
        // What the client asked after it was told to go is not carried out.
        if received.is_ok() && session.is_terminated() {
            return Err(stopping().into());
        }
        received.map_err(|end| match (end, limit) {
            (End::Gone, _) if session.is_terminated() => stopping().into(),
            (End::Fatal(error), Some((_, why))) if error.state() == "57P05" => why.into(),
            (end, _) => end,
        })
    }

    fn execute(
        &mut self,
        session: &mut Session,
        portal: &str,
        rows: usize,
    ) -> onlap_sql::Result<()> {
        if self.server.config.log_min_duration.is_none() {
            return session.execute(portal, rows, self);
        }
        let begun = SystemClock.monotonic_ns();
        let text = session.portal_text(portal).map(str::to_owned);
        let executed = session.execute(portal, rows, self);
        self.log_slow(begun, text.as_deref().unwrap_or_default());
        executed
    }

    fn ready(&mut self, session: &Session) -> Result<(), End> {
        if self.broken {
            return Err(End::Gone);
        }
        self.reply.ready(session.status());
        self.flush()
    }

    fn log_slow(&self, begun: u64, sql: &str) {
        let Some(limit) = self.server.config.log_min_duration else { return };
        let took = Duration::from_nanos(SystemClock.monotonic_ns().saturating_sub(begun));
        if took >= limit {
            let text: String =
                onlap_sql::without_passwords(sql).chars().take(LOGGED_CHARACTERS).collect();
            let ms = took.as_secs_f64() * 1000.0;
            self.server.log.info(format_args!("duration: {ms:.3} ms  statement: {text}"));
        }
    }
}
