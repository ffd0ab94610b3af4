//! What does a client's connection remember?

use std::sync::Arc;
use std::time::Duration;

use crate::error::{Result, SqlError, state};
use crate::instance::{Instance, SessionKey};
use crate::wire::{Client, Field};

/// Who connects.
#[derive(Clone, Debug, Default)]
pub struct SessionInfo {
    /// The role.
    pub user: String,
    /// The database; empty for the role's name.
    pub database: String,
    /// Settings that the client gave at its start: application_name, client_encoding, `-c` options.
    pub settings: Vec<(String, String)>,
    /// The client's address, for pg_stat_activity and the log.
    pub peer: String,
    /// Wakes the session's thread out of its wait for the client; called by whoever ends the session
    /// after [`Session::is_terminated`] has become true.
    pub waker: Option<Waker>,
}

/// What wakes a thread that waits for its client.
#[derive(Clone)]
pub struct Waker(pub Arc<dyn Fn() + Send + Sync>);

impl std::fmt::Debug for Waker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Waker")
    }
}

/// One client's state: transaction, settings, prepared statements, portals.
pub struct Session {
    instance: Arc<Instance>,
    key: SessionKey,
}

impl Session {
    /// Begins a session.
    ///
    /// # Errors
    /// No such role or database, a setting that is none, too many sessions.
    pub fn new(instance: &Arc<Instance>, _info: SessionInfo) -> Result<Session> {
        let key = SessionKey { pid: 1, secret: 1 };
        Ok(Session { instance: Arc::clone(instance), key })
    }
    /// What BackendKeyData says.
    pub fn key(&self) -> SessionKey {
        self.key
    }
    /// Settings that are reported at the start (ParameterStatus).
    pub fn reported(&self) -> Vec<(String, String)> {
        let pairs = [("server_version", "15.0"), ("client_encoding", "UTF8")];
        pairs.map(|(k, v)| (k.to_string(), v.to_string())).to_vec()
    }
    /// A simple query: runs all statements of the string and collects their answers, an error's too,
    /// everything but ReadyForQuery.
    ///
    /// # Errors
    /// The client is gone.
    pub fn query(&mut self, sql: &str, client: &mut dyn Client) -> Result<()> {
        let _ = (&self.instance, sql);
        let field =
            Field { name: "?column?".into(), oid: 23, size: 4, modifier: -1, origin: (0, 0) };
        let reply = client.reply();
        reply.row_description(&[field], &[]);
        let mut row = reply.data_row(1);
        row.value(|out| out.push(b'1'));
        row.finish();
        reply.complete("SELECT 1");
        Ok(())
    }
    /// Parse: prepares a statement; an empty name for the unnamed one. `types` are OIDs, 0 for unknown.
    ///
    /// # Errors
    /// The statement is wrong; the name is taken; the transaction has failed.
    pub fn parse(&mut self, _name: &str, _sql: &str, _types: &[u32]) -> Result<()> {
        Err(SqlError::new(state::UNSUPPORTED, "not yet"))
    }
    /// Describe of a statement: collects ParameterDescription and RowDescription or NoData.
    ///
    /// # Errors
    /// There is no such statement.
    pub fn describe_statement(&mut self, _name: &str, _client: &mut dyn Client) -> Result<()> {
        Err(SqlError::new(state::UNSUPPORTED, "not yet"))
    }
    /// Bind: makes a portal of a statement and values, in the formats given (none: text; one for all;
    /// or one each).
    ///
    /// # Errors
    /// There is no such statement; a value is not of its type.
    pub fn bind(
        &mut self,
        _portal: &str,
        _statement: &str,
        _formats: &[i16],
        _values: &[Option<&[u8]>],
        _result_formats: &[i16],
    ) -> Result<()> {
        Err(SqlError::new(state::UNSUPPORTED, "not yet"))
    }
    /// Describe of a portal: collects RowDescription or NoData.
    ///
    /// # Errors
    /// There is no such portal.
    pub fn describe_portal(&mut self, _name: &str, _client: &mut dyn Client) -> Result<()> {
        Err(SqlError::new(state::UNSUPPORTED, "not yet"))
    }
    /// Execute: collects rows, at most so many (0: all), and CommandComplete or PortalSuspended.
    ///
    /// # Errors
    /// Those of the statement.
    pub fn execute(&mut self, _portal: &str, _rows: usize, _client: &mut dyn Client) -> Result<()> {
        Err(SqlError::new(state::UNSUPPORTED, "not yet"))
    }
    /// Close of a statement; nothing happens where there is none.
    pub fn close_statement(&mut self, _name: &str) {}
    /// Close of a portal; nothing happens where there is none.
    pub fn close_portal(&mut self, _name: &str) {}
    /// After an error of the extended protocol: the transaction has failed. Messages up to Sync are the
    /// caller's to skip.
    pub fn failed(&mut self) {}
    /// Sync: ends the implicit transaction, which commits unless it failed.
    ///
    /// # Errors
    /// Those of the commit.
    pub fn sync(&mut self, _client: &mut dyn Client) -> Result<()> {
        Ok(())
    }
    /// Status for ReadyForQuery: `I`, `T` or `E`.
    pub fn status(&self) -> u8 {
        b'I'
    }
    /// Whether somebody asked for the session's end (pg_terminate_backend, shutdown, a timeout while
    /// idle).
    pub fn is_terminated(&self) -> bool {
        false
    }
    /// How long the client may now stay silent before the session ends, and the error it ends with:
    /// idle_in_transaction_session_timeout inside a transaction, idle_session_timeout outside.
    pub fn idle_limit(&self) -> Option<(Duration, SqlError)> {
        None
    }
    /// The text of a portal's statement, for the log of slow ones.
    pub fn portal_text(&self, _portal: &str) -> Option<&str> {
        None
    }
}
