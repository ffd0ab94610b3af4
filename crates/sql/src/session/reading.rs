//! How does a client run a statement that cannot change anything?
//!
//! [`Session::read`] is Parse, Bind, Describe, Execute and Sync of one statement, in a transaction that only reads. Only
//! statements that look are taken: SELECT, VALUES, TABLE, SHOW, and EXPLAIN of them and of changes, which the
//! transaction refuses to carry out. So neither SET nor COMMIT can lift the transaction's mode, and COPY and BACKUP,
//! which PostgreSQL's read-only transactions would let write files, do not come in.

use onlap_pg::ast::{SetStatement, Statement, Utility};

use super::Session;
use crate::error::{Result, SqlError};
use crate::settings::{Id, Value};
use crate::wire::Client;

impl Session {
    /// Runs one statement with values for its parameters, as text, and collects its description and at most `rows` of its rows
    /// (0: all); then its transaction has ended.
    ///
    /// # Errors
    /// `25006`: it is none that looks; those of the statement; the client is gone.
    pub fn read(
        &mut self,
        sql: &str,
        values: &[Option<&[u8]>],
        rows: usize,
        client: &mut dyn Client,
    ) -> Result<()> {
        let text = || super::defects::shown(sql);
        let read =
            self.watched(text, |session| session.read_in_transaction(sql, values, rows, client));
        if read.is_err() {
            self.failed();
        }
        let ended = self.sync(client);
        self.close_portal("");
        read.and(ended)
    }

    fn read_in_transaction(
        &mut self,
        sql: &str,
        values: &[Option<&[u8]>],
        rows: usize,
        client: &mut dyn Client,
    ) -> Result<()> {
        self.settings.put(Id::DefaultTransactionReadOnly, Value::Flag(true));
        let all = crate::parse::statements(sql)?;
        if let Some(other) = all.iter().find(|parsed| !looks(parsed.statement())) {
            let text = format!("cannot execute {} here", other.command());
            let hint = "SELECT, VALUES, TABLE, SHOW and EXPLAIN are run, and change nothing.";
            return Err(SqlError::new("25006", text).hint(hint));
        }
        self.parse("", sql, &[])?;
        self.bind("", "", &[], values, &[])?;
        self.describe_portal("", client)?;
        self.execute("", rows, client)
    }
}

/// Whether a statement looks, and leaves the session as it is.
fn looks(statement: &Statement) -> bool {
    use Statement::{Delete, Insert, Merge, Query, Update};
    match statement {
        Query(_) => true,
        Statement::Utility(utility) => match &**utility {
            Utility::Set(SetStatement::Show(_)) => true,
            Utility::Explain(explain) => {
                let change =
                    matches!(explain.statement, Insert(_) | Update(_) | Delete(_) | Merge(_));
                change || matches!(explain.statement, Query(_))
            }
            _ => false,
        },
        _ => false,
    }
}
