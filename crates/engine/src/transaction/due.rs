//! Which rules has a transaction still to judge, and when does it?
//!
//! Foreign keys, and unique indexes that are judged by a look at the rows ([`super::twice`]), may be broken
//! for a while: to the end of a statement of several calls ([`Transaction::hold_rules`]), or, where they can be
//! put off, to the end of the transaction. Until then a rule remembers which own rows it has to judge, as
//! ranges of ordinals, and which keys parents have lost. What it finds then decides: a row that died meanwhile
//! is not judged, nor is a key that another row has got.
//!
//! Locks make this sound whenever it happens: a key that a parent loses is locked at once, and the key that a
//! child wants when it is judged, both up to the end of the transaction ([`super::parents`]). So of two
//! transactions the one that is judged later sees what the other has committed.
//!
//! Ranges take a few bytes a statement. Lost keys are kept up to 1 MiB; beyond that all children of the
//! foreign key are judged instead of them.
//!
//! What was judged stays known as long as a savepoint may bring it back: ROLLBACK TO undoes SET CONSTRAINTS, and
//! what that has judged is to be judged again.

use std::ops::Range;
use std::sync::Arc;

use onlap_base::{Error, ErrorKind, Result, TableId, stop};
use onlap_format::{ForeignKeySchema, IndexSchema, TableSchema, Time};

use super::Transaction;
use super::children::Lost;
use crate::database::Table;
use crate::rules::Reference;

mod queue;

pub use queue::DuePlace;
pub(super) use queue::{Due, DueMark, Left, Loss, RuleId, Suspended};
use queue::{DueRule, Found, Held, LOST_BYTES, Modes, RulePlace, lost_bytes};

/// Own rows that are judged at once.
const ROWS_AT_ONCE: usize = 1 << 12;

impl Transaction {
    /// Judges foreign keys, and unique indexes that are judged by a look at the rows, when the statement of
    /// several calls ends that begins now ([`Transaction::judge_held`]), and lets children follow their parents
    /// then. `several`: it changes more tables than one.
    ///
    /// Of a statement within another, all is judged when that one ends.
    pub fn hold_rules(&mut self, several: bool) {
        self.due.depth += 1;
        self.due.held = match several || self.due.depth > 1 {
            true => Held::Several,
            false => Held::One,
        };
    }

    /// A statement of several calls is found to change more tables than one.
    pub(super) fn hold_several(&mut self) {
        if self.due.held == Held::One {
            self.due.held = Held::Several;
        }
    }

    /// The statement of several calls has failed: the caller goes back to a savepoint, or ends the
    /// transaction.
    pub fn forget_held(&mut self) {
        if self.ends_held() {
            self.due.take_losses();
        }
    }

    /// A statement of several calls ends; whether it is within no other.
    fn ends_held(&mut self) -> bool {
        self.due.depth = self.due.depth.saturating_sub(1);
        if self.due.depth == 0 {
            self.due.held = Held::No;
        }
        self.due.depth == 0
    }

    /// Judges what was held since [`Transaction::hold_rules`], except for what is put off.
    ///
    /// # Errors
    /// [`ErrorKind::ForeignKeyViolation`], [`ErrorKind::DuplicateKey`], [`ErrorKind::Excluded`]; those of waits for locks. The caller goes
    /// back to a savepoint, or ends the transaction.
    pub fn judge_held(&mut self) -> Result<()> {
        if !self.ends_held() {
            return Ok(());
        }
        let losses = self.due.take_losses();
        self.follow_all(losses)?;
        for at in 0..self.due.rules.len() {
            if !self.is_put_off(at)? {
                self.judge_due(at, false)?;
            }
        }
        self.charge();
        Ok(())
    }

    /// Does a part of a statement, or a whole one, and judges it then, unless a statement of several calls is under
    /// way already.
    pub(super) fn judged_at_end<T>(
        &mut self,
        f: impl FnOnce(&mut Transaction) -> Result<T>,
    ) -> Result<T> {
        if self.due.held != Held::No {
            return f(self);
        }
        self.hold_rules(false);
        let done = f(self);
        match done {
            Ok(done) => self.judge_held().map(|()| done),
            Err(e) => {
                self.forget_held();
                Err(e)
            }
        }
    }

    /// Puts off all rules that can be put off to the end of the transaction, or judges them at once and with each
    /// statement.
    ///
    /// ```
    /// use onlap::{Database, DataType, ForeignKeySpec, Options, TableSpec, Time, Value};
    /// let dir = tempfile::tempdir().unwrap();
    /// let db = Database::open(dir.path(), Options::default())?;
    /// let parents = TableSpec::new("parents").column("id", DataType::Int8).primary_key(["id"]);
    /// let parents = db.create_table(parents)?;
    /// let key = ForeignKeySpec::new("of", ["parent"], "parents").time(Time::Deferrable);
    /// let children = TableSpec::new("children").column("parent", DataType::Int8).foreign_key(key);
    /// let children = db.create_table(children)?;
    /// let mut tx = db.begin()?;
    /// assert!(tx.insert(&children, &[Value::Int(1)]).is_err());
    /// tx.set_all_constraints(true)?;
    /// tx.insert(&children, &[Value::Int(1)])?;
    /// tx.insert(&parents, &[Value::Int(1)])?;
    /// tx.commit()?;
    /// # Ok::<(), onlap::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Transaction::commit`] of what is judged.
    pub fn set_all_constraints(&mut self, put_off: bool) -> Result<()> {
        self.due.modes = Some(Arc::new(Modes { all: Some(put_off), named: Vec::new() }));
        self.judge_undeferred()
    }

    /// The same for rules of these tables and names, which can be put off. They are what was said, whatever names they
    /// get later.
    ///
    /// # Errors
    /// As [`Transaction::set_all_constraints`].
    pub fn set_constraints(&mut self, rules: &[(TableId, String)], put_off: bool) -> Result<()> {
        let mut modes = self.due.modes.as_deref().cloned().unwrap_or_default();
        for (table, name) in rules {
            let known = self.table_by_id(*table);
            let schema = known.map(|known| self.schema_now(&known));
            let rule = schema.and_then(|schema| RuleId::named(&schema, name));
            let Some(rule) = rule else { continue };
            modes.named.retain(|(of, id, _)| of != table || *id != rule);
            modes.named.push((*table, rule, put_off));
        }
        self.due.modes = Some(Arc::new(modes));
        self.judge_undeferred()
    }

    /// Judges rules of these tables that are put off, too: of tables that were emptied together nothing is left that could
    /// break one, and what follows in the transaction may change them.
    ///
    /// # Errors
    /// As [`Transaction::commit`] of what is judged.
    pub fn judge_put_off(&mut self, tables: &[Table]) -> Result<()> {
        for at in 0..self.due.rules.len() {
            let id = self.due.rules[at].table.state.id;
            if tables.iter().any(|table| table.state.id == id) {
                self.judge_due(at, true)?;
            }
        }
        self.charge();
        Ok(())
    }

    /// Whether a rule is still to be judged for rows of a table: own ones that it brought, or keys that it lost.
    pub fn has_due(&self, table: &Table) -> bool {
        let id = table.state.id;
        let refers = |rule: &DueRule| {
            let schema = self.schema_now(&rule.table);
            matches!(rule.id.of(&schema), Some(Found::Key(key)) if key.parent == id)
        };
        self.due.rules.iter().any(|rule| {
            rule.has_rows() && rule.table.state.id == id || rule.has_lost() && refers(rule)
        })
    }

    /// A table's form as the transaction sees it.
    fn schema_now(&self, table: &Table) -> Arc<TableSchema> {
        let schema = self.schema.schema_of(&table.state).cloned();
        schema.unwrap_or_else(|| table.state.schema())
    }

    /// Judges everything that is due.
    pub(super) fn judge_all(&mut self) -> Result<()> {
        (self.due.held, self.due.depth) = (Held::No, 0);
        for at in 0..self.due.rules.len() {
            self.judge_due(at, true)?;
        }
        Ok(())
    }

    /// Lets a rule about a table (`parent`) judge own rows in memory from the `from`-th on when its time comes;
    /// false where that is now.
    pub(super) fn is_judged_later(
        &mut self,
        table: &Table,
        rule: (RuleId, Time, TableId),
        from: usize,
    ) -> Result<bool> {
        if !self.due.is_later(table.state.id, rule) {
            return Ok(false);
        }
        let buffer = self.buffer(table)?;
        let (rows, table) = (buffer.first + from..buffer.end(), buffer.table.clone());
        if !rows.is_empty() {
            self.due.rule(&table, rule.0).add_rows(rows);
        }
        Ok(true)
    }

    /// Keeps lost parent rows for the end of the statement; gives them back where that is now.
    pub(super) fn hold_losses(&mut self, losses: Vec<Loss>) -> Result<Option<Vec<Loss>>> {
        if self.due.held == Held::No || losses.is_empty() {
            return Ok(Some(losses));
        }
        self.due.add_losses(losses);
        self.charge();
        self.check_room(0)?;
        Ok(None)
    }

    /// Keeps a lost key for the end of the transaction; gives it back where it is judged now.
    pub(super) fn put_off_lost(&mut self, lost: Lost) -> Result<Option<Lost>> {
        let (child, key) = (lost.reference.child, &lost.reference.key);
        if lost.strict || !self.due.is_put_off(child, RuleId::Key(key.id), key.time) {
            return Ok(Some(lost));
        }
        debug_assert_eq!(key.columns.len(), lost.values.len());
        let unproven = key.unproven;
        let table = self.child_table(&lost.reference)?;
        let rule = self.due.rule(&table, RuleId::Key(lost.reference.key.id));
        if rule.whole {
            rule.whole_judged = false;
            return Ok(None);
        }
        rule.lost_bytes += lost_bytes(&lost.key, &lost.values);
        rule.lost.push((lost.key, lost.values));
        if rule.lost_bytes > LOST_BYTES && !unproven {
            rule.whole = true;
            (rule.lost, rule.lost_judged, rule.lost_bytes) = (Vec::new(), 0, 0);
        }
        self.check_room(0)?;
        Ok(None)
    }

    fn judge_undeferred(&mut self) -> Result<()> {
        for at in 0..self.due.rules.len() {
            if !self.is_put_off(at)? {
                self.judge_due(at, true)?;
            }
        }
        self.charge();
        Ok(())
    }

    fn is_put_off(&mut self, at: usize) -> Result<bool> {
        let rule = &self.due.rules[at];
        if !rule.is_open() {
            return Ok(true);
        }
        let (table, id) = (rule.table.clone(), rule.id);
        if self.schema.has_dropped(&table.state) {
            return Ok(true);
        }
        let time = match id.of(&self.buffer(&table)?.schema) {
            Some(Found::Key(key)) => key.time,
            Some(Found::Index(index)) => index.time(),
            None => return Ok(true),
        };
        Ok(self.due.is_put_off(table.state.id, id, time))
    }

    /// Where the transaction is with what is still to be judged.
    pub fn due_place(&self) -> DuePlace {
        DuePlace(self.due.rules.iter().map(DueRule::place).collect())
    }

    /// Judges by foreign keys what is still to be judged of what was there at a place, which was not undone since.
    ///
    /// # Errors
    /// As [`Transaction::commit`] of what is judged.
    pub fn judge_due_to(&mut self, place: &DuePlace) -> Result<()> {
        debug_assert!(place.0.len() <= self.due.rules.len(), "what was undone has no place");
        for (at, to) in place.0.iter().enumerate().take(self.due.rules.len()) {
            // Which of two equal keys is one too many, does not show before all are there.
            if matches!(self.due.rules[at].id, RuleId::Key(_)) {
                self.judge_due_of(at, true, *to)?;
            }
        }
        self.charge();
        Ok(())
    }

    /// Judges what is due for a rule; `remember` it as judged, for those who go back to before.
    fn judge_due(&mut self, at: usize, remember: bool) -> Result<()> {
        self.judge_due_of(at, remember, self.due.rules[at].place())
    }

    /// The same of what was there at a place.
    fn judge_due_of(&mut self, at: usize, remember: bool, to: RulePlace) -> Result<()> {
        let rule = &self.due.rules[at];
        if !rule.is_open() {
            return Ok(());
        }
        let (table, id, open) = (rule.table.clone(), rule.id, rule.open_rows(to.rows));
        if self.schema.has_dropped(&table.state) {
            return Ok(());
        }
        let (lost_from, lost_to) = (rule.lost_judged, to.lost.min(rule.lost.len()));
        let whole = to.whole && rule.whole && !rule.whole_judged;
        let schema = Arc::clone(&self.buffer(&table)?.schema);
        match id.of(&schema) {
            Some(Found::Index(index)) => {
                open.into_iter().try_for_each(|rows| self.judge_keys(&table, index, rows))?;
            }
            Some(Found::Key(key)) => {
                for rows in open {
                    self.judge_children(&table, &schema, key, rows)?;
                }
                for n in lost_from..lost_to {
                    let (key_bytes, values) = self.due.rules[at].lost[n].clone();
                    let reference = Reference { child: schema.id, key: key.clone() };
                    self.restrict(&Lost::to_judge(reference, key_bytes, values))?;
                }
                if whole {
                    self.judge_all_children(&table, key)?;
                }
            }
            // It was dropped.
            None => {}
        }
        let rule = &mut self.due.rules[at];
        rule.whole_judged |= whole;
        match remember {
            true => {
                rule.judged = rule.judged.max(to.rows.min(rule.place().rows));
                rule.lost_judged = rule.lost_judged.max(lost_to);
            }
            false => {
                rule.cut_rows(rule.judged);
                rule.cut_lost(rule.lost_judged);
            }
        }
        Ok(())
    }

    /// Refuses own rows of a range of ordinals whose parents are missing.
    pub(super) fn judge_children(
        &mut self,
        table: &Table,
        schema: &TableSchema,
        key: &ForeignKeySchema,
        rows: Range<usize>,
    ) -> Result<()> {
        let parent = self.shared_parent(key)?;
        for from in rows.clone().step_by(ROWS_AT_ONCE) {
            stop::check()?;
            let part = from..rows.end.min(from + ROWS_AT_ONCE);
            let values = self.buffer(table)?.living_values(part, &key.columns)?;
            self.look_for_parents(&parent, schema, key, values)?;
        }
        Ok(())
    }

    /// Refuses that any row that is there refers to a parent that is not.
    fn judge_all_children(&mut self, table: &Table, key: &ForeignKeySchema) -> Result<()> {
        let parent = self.shared_parent(key)?;
        self.each_batch(table, &key.columns, &mut |tx, schema, batch| {
            for (bytes, values) in parent.wanted_by(schema, key, batch)? {
                let reference = Reference { child: schema.id, key: key.clone() };
                tx.restrict(&Lost::to_judge(reference, bytes, values))?;
            }
            Ok(())
        })
    }

    /// Judges keys of own rows of a range of ordinals in an index that is judged by a look at the rows.
    pub(super) fn judge_keys(
        &mut self,
        table: &Table,
        index: &IndexSchema,
        rows: Range<usize>,
    ) -> Result<()> {
        for from in rows.clone().step_by(ROWS_AT_ONCE) {
            stop::check()?;
            let part = from..rows.end.min(from + ROWS_AT_ONCE);
            match index.excludes() {
                None => self.judge_twice(table, index, part)?,
                Some(which) => self.judge_excluded(table, (index, which), part)?,
            }
        }
        Ok(())
    }
}

/// A table cannot be changed while rules about it are to be judged.
///
/// # Errors
/// [`ErrorKind::InUse`].
pub(super) fn check_nothing_due(tx: &Transaction, table: &Table) -> Result<()> {
    if tx.has_due(table) { Err(in_use(table)) } else { Ok(()) }
}

fn in_use(table: &Table) -> Error {
    let text = format!("rules of table {} are still to be judged", table.name());
    Error::new(ErrorKind::InUse, text)
}
