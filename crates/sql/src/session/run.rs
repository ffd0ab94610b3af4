//! Which part carries a statement out?
//!
//! Transaction control and settings here; queries, changes of rows and of the catalog in their modules.
//! [`Session::run`] is the one way in, for simple and prepared statements alike.

use std::sync::Arc;

use onlap::TableId;
use onlap_base::stop;
use onlap_pg::ast::{self, Mode, Transaction, Utility};

use super::Session;
use super::answer::{Answer, AnswerColumn, RowsAnswer};
use super::block::{Block, Place, Remembered};
use super::modes::Modes;
use super::prepare::{Meaning, Prepared, Stamp};
use super::values::Parameter;
use crate::deep;
use crate::error::{Result, SqlError, state};
use crate::fast::Fast;
use crate::fast::literals::Literals;
use crate::parse::{Body, Moment, Parsed};
use crate::query::{Bound, Reader};
use crate::scope::too_late;
use crate::settings::Id;
use crate::view::View;
use crate::wire::Client;
use crate::{commands, ddl, parse};

/// How often a statement begins anew: each time another transaction has changed the form of a table.
const ROUNDS: usize = 100;

/// The statement of a tree, if it is one about a transaction.
fn transaction_of(tree: &ast::Tree) -> Option<&Transaction> {
    match &tree.statements.first()?.statement {
        ast::Statement::Utility(utility) => match &**utility {
            Utility::Transaction(transaction) => Some(transaction),
            _ => None,
        },
        _ => None,
    }
}

fn is_copy(tree: &ast::Tree) -> bool {
    let statement = tree.statements.first().map(|first| &first.statement);
    matches!(statement, Some(ast::Statement::Utility(of)) if matches!(**of, Utility::Copy(_)))
}

/// Whether a statement may come in a failed transaction.
pub(super) fn ends_transaction(tree: &ast::Tree) -> bool {
    matches!(
        transaction_of(tree),
        Some(
            Transaction::Commit(_)
                | Transaction::Rollback(_)
                | Transaction::RollbackTo(_)
                | Transaction::Prepare(_)
        )
    )
}

/// `25P02`.
pub(super) fn in_failed_transaction() -> SqlError {
    SqlError::new(
        state::FAILED_TRANSACTION,
        "current transaction is aborted, commands ignored until end of transaction block",
    )
}

/// Columns of statements that are neither queries nor change rows.
///
/// # Errors
/// `25P02`: the transaction has failed, and the statement does not end it.
pub(super) fn columns_of_other(
    session: &Session,
    parsed: &Parsed,
) -> Result<Option<Arc<[AnswerColumn]>>> {
    if parsed.body == Body::Other {
        return Ok(None);
    }
    if session.block.as_ref().is_some_and(|block| block.failed) && !ends_transaction(&parsed.tree) {
        return Err(in_failed_transaction());
    }
    let text = parsed.bindable();
    Ok(commands::columns_of(session, parsed.source(&text)))
}

/// Columns of what a statement gives that is bound now: those of FETCH and EXECUTE are of what has the name by now.
pub(super) fn columns_when_bound(
    session: &Session,
    prepared: &Prepared,
) -> Option<Arc<[AnswerColumn]>> {
    if let Some(parsed) = &prepared.parsed
        && let ast::Statement::Utility(utility) = parsed.statement()
        && let Utility::Fetch(_) | Utility::Execute(_) = **utility
    {
        return commands::columns_of(session, parsed.source(&parsed.bindable()));
    }
    prepared.columns.clone()
}

/// Whether a statement changes rows.
fn changes_rows(body: Body) -> bool {
    matches!(body, Body::Change | Body::Upsert)
}

/// What stands where a query has to be is none.
fn no_query() -> SqlError {
    SqlError::new(state::SYNTAX, "a query was expected")
}

/// Whether a statement is about the session alone.
fn sees_nothing(parsed: &Parsed) -> bool {
    match parsed.statement() {
        ast::Statement::Utility(utility) => {
            matches!(
                **utility,
                Utility::Set(_)
                    | Utility::Lock(_)
                    | Utility::Listen(_)
                    | Utility::Unlisten(_)
                    | Utility::Notify(..)
            )
        }
        _ => false,
    }
}

impl Session {
    /// Carries a statement out.
    pub(crate) fn run(
        &mut self,
        prepared: &Arc<Prepared>,
        values: &[Parameter],
        client: &mut dyn Client,
    ) -> Result<Answer> {
        let parsed = prepared.parsed.as_ref().expect("an empty statement does not run");
        if let Some(transaction) = transaction_of(&parsed.tree)
            && let Some(tag) = self.control(transaction, client)?
        {
            return Ok(Answer::Done(tag.to_string()));
        }
        if parsed.as_of.is_some() && (changes_rows(parsed.body) || parsed.is_locking()) {
            return Err(SqlError::unsupported(
                "a change of rows, or a lock on them, AS OF the past",
            ));
        }
        let answer =
            deep::run(parsed.depth, || self.run_statement(prepared, parsed, values, client));
        answer.map_err(|e| e.in_read_only(|| parsed.command()).after(parsed.before))
    }

    fn run_statement(
        &mut self,
        prepared: &Arc<Prepared>,
        parsed: &Parsed,
        values: &[Parameter],
        client: &mut dyn Client,
    ) -> Result<Answer> {
        self.begin_statement(!sees_nothing(parsed))?;
        let past = parsed.as_of.as_ref().map(|moment| self.past(moment)).transpose()?;
        self.block()?.scope.look_at(past);
        let stop = Arc::clone(self.block()?.scope.stop());
        let _stop = stop::within(&stop);
        let mut answer = self.run_to_rows(prepared, parsed, values, client);
        for _ in 0..ROUNDS {
            if answer.is_ok() || !self.is_outdated() || self.may_have_sent(parsed) {
                break;
            }
            // Nothing was written or sent yet, though locks stay: the table that it is about changed while it waited for
            // it, or before it was read. What the catalog says of it is there when the commit has ended that changed it.
            drop(self.instance.newest_objects());
            self.between.undo_statement();
            self.begin_anew(!sees_nothing(parsed))?;
            answer = self.run_to_rows(prepared, parsed, values, client);
        }
        self.ended(answer)
    }

    /// Runs a statement up to its first rows: with the first of them each table is looked at whose rows come to them.
    fn run_to_rows(
        &mut self,
        prepared: &Arc<Prepared>,
        parsed: &Parsed,
        values: &[Parameter],
        client: &mut dyn Client,
    ) -> Result<Answer> {
        self.native = false;
        let mut answer = self.run_in_transaction(prepared, parsed, values, client)?;
        if let (Answer::Rows(rows), Body::Query, false) = (&mut answer, parsed.body, self.native) {
            rows.begin(|| self.is_outdated())?;
        }
        Ok(answer)
    }

    /// Whether a statement that another transaction took an index from may have sent rows already, as COPY does once it has the
    /// first of them.
    fn may_have_sent(&self, parsed: &Parsed) -> bool {
        let block = self.block.as_ref();
        let is_without_index =
            block.and_then(|block| block.scope.tx().ok()).is_some_and(|tx| tx.is_without_index());
        let sends = block.is_some_and(|block| block.scope.lent().sends());
        is_without_index
            && match is_copy(&parsed.tree) {
                true => sends,
                false => matches!(parsed.body, Body::Defined | Body::Other),
            }
    }

    fn is_outdated(&self) -> bool {
        if self.block.as_ref().is_some_and(|block| block.scope.lent().has_run()) {
            return false;
        }
        let tx = self.block.as_ref().and_then(|block| block.scope.tx().ok());
        tx.is_some_and(|tx| tx.is_outdated())
    }

    /// Begins a statement in the transaction, which is begun if there is none; `looks`: it may see rows.
    fn begin_statement(&mut self, looks: bool) -> Result<()> {
        if self.block()?.failed {
            return Err(in_failed_transaction());
        }
        self.limit_time();
        self.begin_anew(looks)
    }

    /// The same of a statement that is begun once more, which has the time that is left.
    fn begin_anew(&mut self, looks: bool) -> Result<()> {
        if looks {
            self.block()?.look()?;
        }
        self.temporary.is_private = false;
        self.allow_temporary()?;
        let text = self.room.clone();
        let block = self.block()?;
        if let Some(text) = text {
            block.scope.adopt(&text);
        }
        block.used = true;
        block.scope.between().begin_statement();
        block.scope.lent().begin();
        block.scope.begin_measuring();
        let mut tx = block.scope.tx()?;
        tx.look_back_to(None);
        tx.begin_statement()?;
        drop(tx);
        self.measured = true;
        Ok(())
    }

    /// Gives the statement under way the time that settings give it, from now on.
    pub(super) fn limit_time(&self) {
        let statement = self.settings.time(Id::StatementTimeout);
        let lock = self.settings.time(Id::LockTimeout);
        let wait = lock.into_iter().chain(statement).min();
        let memory = self.settings.int(Id::QueryMemoryLimit).saturating_mul(1024);
        let memory = usize::try_from(memory).unwrap_or(usize::MAX);
        let utc = self.settings.text(Id::TimeZone) == "UTC";
        if let Some(block) = &self.block {
            block.scope.set_utc(utc);
            block.scope.confine(memory);
            block.scope.limit(statement);
            if let Ok(mut tx) = block.scope.tx() {
                tx.set_lock_timeout(wait);
            }
        }
    }

    /// Lets what is done now end when a statement would that began now; part of one that runs ends with that.
    pub(super) fn limited(&self, view: &View) -> Option<stop::Before> {
        if stop::known().is_some() {
            return None;
        }
        self.limit_time();
        Some(stop::within(view.scope.stop()))
    }

    /// Lets the waits for locks of a statement within another take as long as settings say now; the time of the whole is
    /// that of the statement around it.
    pub(crate) fn limit_locks(&self) {
        let wait = self.settings.time(Id::LockTimeout);
        if let Some(Ok(mut tx)) = self.block.as_ref().map(|block| block.scope.tx()) {
            tx.set_lock_timeout(wait);
        }
    }

    /// A statement's end: an error makes the transaction fail, and one of a wait that was too long for the
    /// statement says so.
    fn ended<T>(&mut self, result: Result<T>) -> Result<T> {
        result.map_err(|e| {
            let e = self.with_values_to_see(e);
            self.failed();
            let late = self.block.as_ref().is_some_and(|block| block.scope.is_late());
            if late && e.state() == "55P03" { too_late() } else { e }
        })
    }

    /// Inserts literals; the tag, or `None` where the parser has to look at the text.
    pub(super) fn run_literals(
        &mut self,
        sql: &str,
        literals: &Literals<'_>,
    ) -> Result<Option<String>> {
        self.note_statement(&parse::shown(sql));
        self.begin_statement(true)?;
        let block = self.block()?;
        block.changed = true;
        block.scope.look_at(None);
        let stop = Arc::clone(block.scope.stop());
        let view = self.view()?;
        let _stop = stop::within(&stop);
        let inserted = literals.run(&view);
        let inserted = inserted.map_err(|e| e.in_read_only(|| "INSERT".to_owned()));
        Ok(self.ended(inserted)?.map(|rows| format!("INSERT 0 {rows}")))
    }

    fn past(&mut self, moment: &Moment) -> Result<onlap::Snapshot> {
        let moment = match moment {
            Moment::Commit(csn) => onlap::AsOf::Csn(*csn),
            Moment::Time(text) => {
                let ty = crate::types::PgType::new(crate::types::oid::TIMESTAMPTZ);
                let read = |_: &mut Session, view: &View| Reader::new(view).read(ty, text);
                match self.in_view(read)? {
                    onlap::Value::Timestamp(us) => onlap::AsOf::Time(us),
                    _ => return Err(SqlError::new(state::BAD_TEXT, "AS OF needs a time")),
                }
            }
        };
        Ok(self.instance.db.snapshot_as_of(moment)?)
    }

    fn run_in_transaction(
        &mut self,
        prepared: &Arc<Prepared>,
        parsed: &Parsed,
        values: &[Parameter],
        client: &mut dyn Client,
    ) -> Result<Answer> {
        if changes_rows(parsed.body) {
            self.block()?.changed = true;
        }
        let stamp = self.stamp();
        let native = self.uses_fast_path();
        let block = self.current()?;
        // What was bound is of the catalog as others see it.
        let own = block.changed_catalog || !block.pending.is_empty();
        let known = if own { None } else { prepared.known_at(stamp) };
        let is_native = native && matches!(parsed.body, Body::Query | Body::Change);
        if is_native && let Some(fast) = known.as_ref().and_then(|meaning| meaning.native()) {
            let scope = Arc::clone(&self.current()?.scope);
            fast.await_table(&scope)?;
            let needs = known.as_ref().map_or(&[][..], |known| known.bound.needs());
            let answer = fast.run(&scope, values).map_err(|e| e.of_statement(needs))?;
            if let Some(answer) = answer {
                self.native = true;
                return Ok(answer);
            }
        }
        // Before the view: what is bound by a newer catalog is bound again, and what is bound by an older one never kept.
        let stamp = self.stamp();
        let view = self.view()?;
        match parsed.body {
            Body::Query | Body::Change | Body::Upsert => {
                let meaning = self.meaning((&view, stamp), prepared, own)?;
                let is_new = known.is_none_or(|known| known.native().is_none());
                if is_native
                    && is_new
                    && let Some(fast) = meaning.find_native(&view)?
                {
                    fast.await_table(&view.scope)?;
                    let needs = meaning.bound.needs();
                    let answer = fast.run(&view.scope, values);
                    if let Some(answer) = answer.map_err(|e| e.of_statement(needs))? {
                        self.native = true;
                        return Ok(answer);
                    }
                }
                self.run_bound(&view, &meaning.bound, values, parsed)
            }
            Body::Defined => {
                let text = parsed.bindable();
                commands::run(self, &view, parsed.source(&text), values, client)
            }
            Body::Other => Err(ddl::other(&parsed.words())),
        }
    }

    /// What a statement that is bound now is bound with.
    pub(crate) fn stamp(&self) -> Stamp {
        let temporary = &self.temporary;
        Stamp {
            version: self.instance.catalog_version(),
            role: self.roles.current,
            path: self.settings.path(),
            temporary: temporary.is_made.then_some(temporary.version),
            hides: self.settings.flag(Id::RowSecurity),
        }
    }

    /// Whether statements may go the short way.
    pub(crate) fn uses_fast_path(&self) -> bool {
        self.settings.flag(Id::FastPath) && self.writes_plainly()
    }

    /// Whether values are read and written as they are without settings, which is what the native tier knows.
    pub(crate) fn writes_plainly(&self) -> bool {
        self.settings.text(Id::DateStyle) == "ISO, MDY"
            && self.settings.text(Id::ByteaOutput) == "hex"
            && self.settings.int(Id::ExtraFloatDigits) >= 1
    }

    /// Plans a text as [`Session::query`] does before it runs one, and leaves the plan: what that costs is measured so. A
    /// transaction is under way.
    ///
    /// # Errors
    /// Those of the text; it is no query.
    pub fn plan(&mut self, sql: &str) -> Result<()> {
        let key = self.text_key(sql, None);
        let known = self.known_text(key.as_ref());
        let prepared = match &known {
            Some(known) => Arc::clone(known),
            None => {
                let parsed = crate::parse::statements(sql)?.pop();
                let parsed = parsed.ok_or_else(|| SqlError::new(state::SYNTAX, "no statement"))?;
                Arc::new(Prepared::simple(parsed))
            }
        };
        let parsed = prepared.parsed.as_ref().expect("it was parsed");
        self.begin_statement(true)?;
        let stamp = self.stamp();
        let view = self.view()?;
        let meaning = self.meaning((&view, stamp), &prepared, false)?;
        let bound = &meaning.bound;
        view.must(bound.needs())?;
        bound.plan(&view, &parsed.bindable())?;
        if known.is_none() {
            self.keep_text(key, &prepared);
        }
        Ok(())
    }

    /// What a query or a change of rows means, bound again where the catalog has changed since.
    fn meaning(
        &self,
        (view, stamp): (&View, Stamp),
        prepared: &Prepared,
        own: bool,
    ) -> Result<Arc<Meaning>> {
        let parsed = prepared.parsed.as_ref().expect("an empty statement does not run");
        if !own && let Some(known) = prepared.planned_at(stamp) {
            return Ok(known);
        }
        let types: Vec<_> = prepared.parameters.iter().map(|ty| Some(*ty)).collect();
        let made = Meaning::of(Bound::parsed(view, parsed, &types)?);
        prepared.must_still_give(made.bound.returns().as_deref())?;
        if !own {
            *prepared.late.lock() = Some((stamp, Arc::clone(&made)));
        }
        Ok(made)
    }

    fn run_bound(
        &mut self,
        view: &View,
        bound: &Bound,
        values: &[Parameter],
        parsed: &Parsed,
    ) -> Result<Answer> {
        let text = parsed.bindable();
        if !bound.changes_rows() {
            return bound.run(view, values, &text);
        }
        bound.await_tables(view)?;
        self.block()?.changed = true;
        let blind = parsed.body == Body::Upsert;
        crate::change::run(view, bound, values, &text, blind)
    }

    /// The rows that COPY writes: those of a query, or what a change of rows returns.
    ///
    /// # Errors
    /// Those of the statement; `0A000`: it returns nothing.
    pub(crate) fn copied(&mut self, view: &View, text: &str) -> Result<RowsAnswer> {
        let mut all = crate::parse::statements(text)?;
        let (Some(parsed), true) = (all.pop(), all.is_empty()) else { return Err(no_query()) };
        let bound = Bound::parsed(view, &parsed, &[])?;
        if !bound.changes_rows() {
            return self.rows_of(view, &parsed, &bound, &[]);
        }
        bound.must_be_served(view, &parsed.bindable())?;
        let nothing = || {
            let text = "COPY query must have a RETURNING clause";
            SqlError::new(state::UNSUPPORTED, text)
        };
        if bound.returns().is_none() {
            return Err(nothing());
        }
        match self.run_bound(view, &bound, &[], &parsed)? {
            Answer::Rows(rows) => Ok(rows),
            Answer::Done(_) => Err(nothing()),
        }
    }

    /// The rows of a query that is part of another statement, and the tables that it reads.
    ///
    /// # Errors
    /// Those of the query; `42601`: it is none.
    pub(crate) fn bound_text(
        &self,
        view: &View,
        text: &str,
        values: &[Parameter],
    ) -> Result<(RowsAnswer, Arc<[TableId]>)> {
        let mut all = crate::parse::statements(text)?;
        let (Some(parsed), true) = (all.pop(), all.is_empty()) else { return Err(no_query()) };
        let types: Vec<_> = values.iter().map(|value| Some(value.ty)).collect();
        let bound = Bound::parsed(view, &parsed, &types)?;
        let rows = self.rows_of(view, &parsed, &bound, values)?;
        Ok((rows, bound.table_ids()))
    }

    /// The rows of a query that is bound and part of another statement.
    fn rows_of(
        &self,
        view: &View,
        parsed: &Parsed,
        bound: &Bound,
        values: &[Parameter],
    ) -> Result<RowsAnswer> {
        if self.uses_fast_path()
            && parsed.is_locking()
            && let Some(fast) = Fast::of(view, bound)
        {
            view.must(bound.needs())?;
            if let Some(Answer::Rows(rows)) = fast.run(&view.scope, values)? {
                return Ok(rows);
            }
        }
        bound.must_be_served(view, &parsed.bindable())?;
        if bound.changes_rows() && bound.modify().is_none() {
            return Err(SqlError::unsupported("a query here that changes rows"));
        }
        if bound.changes_rows() {
            return Err(no_query());
        }
        match bound.run(view, values, &parsed.bindable())? {
            Answer::Rows(rows) => Ok(rows),
            Answer::Done(_) => Err(no_query()),
        }
    }

    /// Carries out what begins, ends or marks a transaction; the tag. `None` for one in two phases.
    fn control(
        &mut self,
        transaction: &Transaction,
        client: &mut dyn Client,
    ) -> Result<Option<&'static str>> {
        Ok(Some(match transaction {
            Transaction::Begin(start, modes) => {
                self.begin(modes, client)?;
                if *start { "START TRANSACTION" } else { "BEGIN" }
            }
            Transaction::Commit(chain) => {
                if *chain {
                    self.in_block("COMMIT AND CHAIN")?;
                }
                let modes = self.block.as_ref().map(|b| b.modes);
                let tag = self.commit(client)?;
                self.chain(*chain, modes)?;
                tag
            }
            Transaction::Rollback(chain) => {
                if *chain {
                    self.in_block("ROLLBACK AND CHAIN")?;
                }
                let modes = self.block.as_ref().map(|b| b.modes);
                self.rollback(client);
                self.chain(*chain, modes)?;
                "ROLLBACK"
            }
            Transaction::RollbackTo(name) => {
                self.take_asked();
                let block = self.in_block("ROLLBACK TO SAVEPOINT")?;
                let (session, modes) = (block.rollback_to(name)?, block.modes);
                self.be_as(&session, modes);
                "ROLLBACK"
            }
            Transaction::Savepoint(name) => {
                let session = self.remembered();
                let block = self.in_block("SAVEPOINT")?;
                if block.failed {
                    return Err(in_failed_transaction());
                }
                block.savepoint(name.to_string(), session)?;
                "SAVEPOINT"
            }
            Transaction::Release(name) => {
                let block = self.in_block("RELEASE SAVEPOINT")?;
                if block.failed {
                    return Err(in_failed_transaction());
                }
                block.release(name)?;
                let modes = block.modes;
                self.show_modes(modes);
                "RELEASE"
            }
            Transaction::Prepare(_)
            | Transaction::CommitPrepared(_)
            | Transaction::RollbackPrepared(_) => return Ok(None),
        }))
    }

    fn chain(&mut self, chain: bool, modes: Option<Modes>) -> Result<()> {
        if let (true, Some(modes)) = (chain, modes) {
            self.begin_block(modes, true)?;
        }
        Ok(())
    }

    fn begin(&mut self, modes: &[Mode], client: &mut dyn Client) -> Result<()> {
        if self.block.as_ref().is_some_and(|b| b.explicit) {
            if self.block.as_ref().is_some_and(|b| b.failed) {
                return Err(in_failed_transaction());
            }
            let text = "there is already a transaction in progress";
            self.tell_warning(&SqlError::new(state::ACTIVE_TRANSACTION, text), client);
            return Ok(());
        }
        let modes = self.default_modes().with(modes);
        // Statements before BEGIN in the same string belong to the transaction.
        match &mut self.block {
            Some(block) if block.used => block.explicit = true,
            _ => {
                self.begin_block(modes, true)?;
            }
        }
        Ok(())
    }

    fn in_block(&mut self, what: &str) -> Result<&mut Block> {
        match &mut self.block {
            Some(block) if block.explicit => Ok(block),
            _ => {
                let text = format!("{what} can only be used in transaction blocks");
                Err(SqlError::new(state::NO_TRANSACTION, text))
            }
        }
    }

    /// Whether the statement shares its transaction with others.
    pub(crate) fn is_in_block(&self) -> bool {
        self.several || self.block.as_ref().is_some_and(|b| b.explicit)
    }

    /// The transaction under way.
    pub(crate) fn current(&mut self) -> Result<&mut Block> {
        self.block()
    }
}

impl Session {
    /// Begins a statement within the one that runs.
    ///
    /// # Errors
    /// The transaction has ended.
    pub(crate) fn begin_within(&mut self) -> Result<()> {
        self.temporary.is_private = false;
        self.allow_temporary()?;
        self.between.begin_statement();
        self.limit_locks();
        let block = self.block()?;
        let mut tx = block.scope.tx()?;
        tx.look_back_to(None);
        Ok(tx.begin_statement()?)
    }

    /// Runs what is several statements as one: what each of them does is part of the transaction.
    pub(crate) fn together<T>(&mut self, run: impl FnOnce(&mut Session) -> T) -> T {
        let before = std::mem::replace(&mut self.several, true);
        self.depth += 1;
        let made = run(self);
        self.depth -= 1;
        self.several = before;
        made
    }

    /// How many of them run, one within the other.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Notes that the statement under way writes.
    ///
    /// # Errors
    /// The transaction has ended.
    pub(crate) fn writes(&mut self) -> Result<()> {
        self.block()?.changed = true;
        Ok(())
    }

    /// The version of the catalog that others see.
    pub(crate) fn catalog_version(&self) -> u64 {
        self.instance.catalog_version()
    }

    /// The place that the transaction has come to.
    ///
    /// # Errors
    /// The transaction has ended.
    pub(crate) fn mark(&mut self) -> Result<Place> {
        let session = self.remembered();
        self.block()?.place(String::new(), session)
    }

    /// Undoes what was done since.
    ///
    /// # Errors
    /// The transaction has ended.
    pub(crate) fn back_to(&mut self, place: &Place) -> Result<()> {
        self.take_asked();
        let block = self.block()?;
        let (session, modes) = (block.back_to(place)?, block.modes);
        self.be_as(&session, modes);
        Ok(())
    }

    fn remembered(&mut self) -> Remembered {
        self.take_asked();
        Remembered {
            settings: self.settings.mark(),
            roles: (self.roles, self.roles_after),
            portals: self.numbers.last(),
            put_off: self
                .block
                .as_ref()
                .map_or_else(Default::default, |block| block.scope.deferred().mark()),
        }
    }

    /// Is again what it was at a place that its transaction went back to.
    fn be_as(&mut self, session: &Remembered, modes: Modes) {
        self.forget_portals(session.portals);
        if let Some(block) = &self.block {
            block.scope.deferred().back_to(&session.put_off);
        }
        self.settings.back_to(&session.settings);
        self.show_modes(modes);
        self.roles_after = session.roles.1;
        self.be(session.roles.0);
    }

    /// The same of a statement that changes the catalog, to which at any level what is newest counts.
    pub(crate) fn wants_anew(&self) -> bool {
        let tx = self.block.as_ref().and_then(|block| block.scope.tx().ok());
        tx.is_some_and(|tx| tx.wants_anew())
    }

    /// Whether a statement failed because a table changed while it waited for it.
    pub(crate) fn must_run_again(&self) -> bool {
        self.is_outdated()
    }
}
