//! In what do statements of a routine run?
//!
//! In the session that runs it: its transaction, its settings, its client.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::{Arc, OnceLock};

use onlap_pg::ast::{CopyWith, SetStatement, Statement, Utility, Way};
use onlap_pg::catalog::Catalog;

use super::body::Level;
use super::machine::ForCursor;
use crate::commands;
use crate::error::{Result, SqlError, state};
use crate::parse::Parsed;
use crate::query::routine_catalog;
use crate::session::answer::{Answer, AnswerColumn, Chunk};
use crate::session::{Opened, Parameter, Place, Session, Stamp};
use crate::settings::Id;
use crate::view::View;
use crate::wire::{Client, send_if_large};

/// What runs statements.
pub struct Host<'h> {
    session: &'h mut Session,
    client: &'h mut dyn Client,
    /// What statements see.
    pub view: View,
    /// The types that values of its variables have, once they were asked for.
    catalog: OnceLock<Arc<Catalog>>,
    /// How often the catalog may have changed.
    changes: u64,
    /// The version of the catalog that `view` has, at least.
    version: u64,
    /// Whether its statements see what the one that calls it sees, and change nothing.
    calm: bool,
}

/// What a statement is bound with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seal {
    stamp: Stamp,
    changes: u64,
    /// A hash of the names of tables of changed rows.
    transitions: u64,
}

impl<'h> Host<'h> {
    /// Of a session.
    pub fn new(session: &'h mut Session, client: &'h mut dyn Client, view: View) -> Host<'h> {
        // A change between the view and this is looked for again at the first statement.
        let catalog = OnceLock::new();
        Host { session, client, view, catalog, changes: 0, version: 0, calm: false }
    }

    /// Of a function that is not volatile.
    #[must_use]
    pub fn calm(mut self, calm: bool) -> Host<'h> {
        self.calm = calm;
        self
    }

    /// Of a routine that sees this version of what its session has lent.
    #[must_use]
    pub fn seen_at(mut self, version: u64) -> Host<'h> {
        self.changes = version << 32;
        self.version = self.session.catalog_version();
        self
    }

    /// Fails where the function may change nothing.
    ///
    /// # Errors
    /// `0A000`
    pub fn must_change(&self, parsed: &Parsed) -> Result<()> {
        if !self.calm {
            return Ok(());
        }
        let words = parsed.words();
        let word = words.split(' ').next().unwrap_or_default();
        let text = format!("{word} is not allowed in a non-volatile function");
        Err(SqlError::new(state::UNSUPPORTED, text))
    }

    /// The whole of an error that may be one of a routine.
    pub fn whole(&self, error: SqlError) -> SqlError {
        self.view.scope.lent().whole(error)
    }

    /// A statement begins.
    ///
    /// # Errors
    /// `57014`; the transaction has ended.
    pub fn begin(&mut self) -> Result<()> {
        self.view.scope.go_on()?;
        // What others have changed of the catalog counts for the next statement: rights above all.
        let outdated = self.session.catalog_version() != self.version;
        if outdated || !self.view.asked.lock().is_empty() {
            self.renew()?;
        }
        self.hand_on()?;
        match self.calm {
            true => {
                self.session.limit_locks();
                Ok(())
            }
            false => self.session.begin_within(),
        }
    }

    /// The types that values of its variables have.
    pub fn catalog(&self) -> &Arc<Catalog> {
        self.catalog.get_or_init(|| routine_catalog(&self.view))
    }

    /// What a statement that is bound now is bound with.
    pub fn seal(&self) -> Seal {
        let names: Vec<_> = self.view.transitions.iter().map(|of| (&of.name, of.oid)).collect();
        let transitions = match names.is_empty() {
            true => 0,
            false => BuildHasherDefault::<DefaultHasher>::default().hash_one(names),
        };
        Seal { stamp: self.session.stamp(), changes: self.changes, transitions }
    }

    /// Notes that a statement writes.
    ///
    /// # Errors
    /// The transaction has ended.
    pub fn writes(&mut self) -> Result<()> {
        self.session.writes()
    }

    /// Whether a statement failed because a table changed while it waited for it; then one that begins anew sees that.
    pub fn must_run_again(&mut self) -> Result<bool> {
        let again = self.session.must_run_again();
        if again {
            self.renew()?;
        }
        Ok(again)
    }

    /// An error without the values that the role may not read.
    pub fn with_values_to_see(&self, error: SqlError) -> SqlError {
        self.session.with_values_to_see(error)
    }

    fn renew(&mut self) -> Result<()> {
        self.changes += 1;
        self.version = self.session.catalog_version();
        self.view = self.session.view()?;
        self.catalog = OnceLock::new();
        Ok(())
    }

    /// Carries out what is neither a query nor a change of rows.
    ///
    /// # Errors
    /// Those of the statement; `0A000` for what ends the transaction or talks with the client.
    pub fn utility(&mut self, parsed: &Parsed, values: &[Parameter]) -> Result<u64> {
        may_stand_here(parsed.statement())?;
        let text = parsed.bindable();
        let mut view = self.view.clone();
        // What is defined lasts longer than tables of changed rows.
        let hidden = match parsed.statement() {
            Statement::CreateTableAs(of) if !of.materialized => None,
            Statement::Utility(utility) if matches!(**utility, Utility::Copy(_)) => None,
            _ => Some(std::mem::replace(&mut self.session.transitions, Arc::from([]))),
        };
        if hidden.is_some() {
            view.transitions = Arc::from([]);
        }
        let done = commands::run(self.session, &view, parsed.source(&text), values, self.client);
        if let Some(hidden) = hidden {
            self.session.transitions = hidden;
        }
        self.renew()?;
        self.told()?;
        let rows = match done? {
            Answer::Done(tag) => tag.rsplit(' ').next().and_then(|n| n.parse().ok()),
            Answer::Rows(_) => None,
        };
        Ok(rows.unwrap_or(0))
    }

    /// Opens a cursor; its name, which it is given where it has none.
    ///
    /// # Errors
    /// There is no room for it.
    pub fn open_cursor(
        &mut self,
        name: Option<String>,
        scroll: Option<bool>,
        (parsed, rows, tables): ForCursor,
    ) -> Result<String> {
        let name = match name {
            Some(name) => name,
            None => loop {
                let name = self.session.unnamed_cursor();
                if !self.session.has_cursor(&name) {
                    break name;
                }
            },
        };
        let own = name.clone();
        self.session.open_cursor(Opened { name: own, parsed: &parsed, scroll, rows, tables })?;
        Ok(name)
    }

    /// Whether there is a cursor of this name.
    pub fn has_cursor(&mut self, name: &str) -> bool {
        self.session.has_cursor(name)
    }

    /// Goes some way in a cursor: rows, how many, and their columns; none are given where it only moves.
    ///
    /// # Errors
    /// A way that the cursor does not go.
    pub fn go_in_cursor(
        &mut self,
        name: &str,
        way: (Way, bool),
    ) -> Result<(Vec<Chunk>, usize, Arc<[AnswerColumn]>)> {
        self.session.go_in_cursor(name, way)
    }

    /// Closes a cursor.
    ///
    /// # Errors
    /// It is under way.
    pub fn close_cursor(&mut self, name: &str) -> Result<()> {
        self.session.close_within(name)
    }

    /// The place that the transaction has come to.
    ///
    /// # Errors
    /// The transaction has ended.
    pub fn mark(&mut self) -> Result<Place> {
        let asked = !self.view.asked.lock().is_empty();
        let place = self.session.mark()?;
        if asked {
            self.renew()?;
        }
        Ok(place)
    }

    /// Undoes what was done since.
    ///
    /// # Errors
    /// The transaction has ended.
    pub fn back_to(&mut self, place: &Place) -> Result<()> {
        self.session.back_to(place)?;
        self.renew()
    }

    /// Tells the client something, if it wants to know.
    ///
    /// # Errors
    /// The client is gone.
    pub fn notice(&mut self, level: Level, error: &SqlError) -> Result<()> {
        let wanted = match self.session.settings.text(Id::ClientMinMessages) {
            "debug5" | "debug4" | "debug3" | "debug2" | "debug1" | "debug" => Level::Debug,
            "log" => Level::Log,
            "notice" => Level::Notice,
            "warning" => Level::Warning,
            "error" => Level::Exception,
            _ => Level::Notice,
        };
        // LOG is above DEBUG for clients, and INFO is always told.
        if level < wanted && level != Level::Info {
            return Ok(());
        }
        let severity = match level {
            Level::Debug => "DEBUG",
            Level::Log => "LOG",
            Level::Info => "INFO",
            Level::Notice => "NOTICE",
            Level::Warning | Level::Exception => "WARNING",
        };
        self.hand_on()?;
        self.client.reply().notice(severity, error);
        self.told()
    }

    /// The log is to have an error that a handler takes, where it is a mistake of ours.
    pub fn note(&mut self, error: &SqlError) {
        if error.as_defect().is_some() {
            self.client.note(error);
        }
    }

    /// Hands on what routines that were called have told: to the client alone, since within a routine it waits with theirs.
    fn hand_on(&mut self) -> Result<()> {
        match self.session.is_within() {
            true => Ok(()),
            false => self.view.scope.lent().hand_on(self.client),
        }
    }

    /// The client was told something.
    fn told(&mut self) -> Result<()> {
        match self.session.is_within() {
            true => self.client.send(),
            false => send_if_large(self.client),
        }
    }

    /// Memory of queries.
    pub fn memory(&self) -> Arc<dyn datafusion_execution::memory_pool::MemoryPool> {
        self.view.instance.runner.memory()
    }
}

/// What ends the transaction, or talks with the client, does not run in a routine.
fn may_stand_here(statement: &Statement) -> Result<()> {
    let Statement::Utility(utility) = statement else { return Ok(()) };
    match &**utility {
        Utility::Transaction(_) => {
            let text = "unsupported transaction command in PL/pgSQL";
            Err(SqlError::new(state::UNSUPPORTED, text))
        }
        Utility::Copy(copy) if copy.with == CopyWith::Client => {
            let text = "cannot COPY to/from client in PL/pgSQL";
            Err(SqlError::new(state::UNSUPPORTED, text))
        }
        Utility::Set(SetStatement::Transaction(_) | SetStatement::Snapshot(_)) => {
            Err(SqlError::unsupported("SET TRANSACTION in a routine"))
        }
        Utility::Declare(_) | Utility::Fetch(_) | Utility::Close(_) => {
            Err(SqlError::unsupported("a cursor in a routine"))
        }
        Utility::Prepare(_) | Utility::Execute(_) | Utility::Deallocate(_) => {
            Err(SqlError::unsupported("PREPARE or EXECUTE of a prepared statement in a routine"))
        }
        Utility::Explain(_) => Err(SqlError::unsupported("EXPLAIN in a routine")),
        Utility::Vacuum(_)
        | Utility::Reindex(_)
        | Utility::Cluster
        | Utility::Discard(_)
        | Utility::Checkpoint
        | Utility::CheckTable(_)
        | Utility::Backup(_) => Err(SqlError::unsupported("this statement in a routine")),
        _ => Ok(()),
    }
}
