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
//! Ranges take a few bytes a statement. Lost keys are kept up to [`LOST_BYTES`]; beyond that all children of the
//! foreign key are judged instead of them.
//!
//! What was judged stays known as long as a savepoint may bring it back: ROLLBACK TO undoes SET CONSTRAINTS, and
//! what that has judged is to be judged again.

use std::ops::Range;
use std::sync::Arc;

use onlap_base::{Error, ErrorKind, Result, TableId, stop};
use onlap_format::{ForeignKeySchema, IndexSchema, Row, TableSchema, Time, Value};

use super::Transaction;
use super::children::Lost;
use crate::database::Table;
use crate::rules::Reference;

/// Bytes of lost keys that a rule keeps: some ten thousand keys.
const LOST_BYTES: usize = 1 << 20;
/// Own rows that are judged at once.
const ROWS_AT_ONCE: usize = 1 << 12;

/// What a transaction has still to judge.
#[derive(Default)]
pub(super) struct Due {
    modes: Option<Arc<Modes>>,
    held: Held,
    /// Parent rows that it has deleted or replaced.
    losses: Vec<(Table, Row, Option<Row>)>,
    rules: Vec<DueRule>,
}

/// Whether a statement of several calls is under way, which is judged at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Held {
    #[default]
    No,
    /// Of one table: foreign keys that refer to others are judged with each call, while rows are in memory.
    One,
    /// Of several tables.
    Several,
}

/// What SET CONSTRAINTS said: whether rules are put off.
#[derive(Clone, Debug, Default)]
struct Modes {
    all: Option<bool>,
    named: Vec<(TableId, String, bool)>,
}

/// What one rule has still to judge.
struct DueRule {
    /// The table that has the rule.
    table: Table,
    name: String,
    /// Own rows, as ordinals: ascending ranges, of which those below `judged` were judged.
    rows: Vec<Range<usize>>,
    judged: usize,
    /// Keys that rows of the parent had, of which the first were judged.
    lost: Vec<(Vec<u8>, Vec<Value>)>,
    lost_judged: usize,
    lost_bytes: usize,
    /// There were more: all children are to be judged, or were.
    whole: bool,
    whole_judged: bool,
}

/// What was due at a savepoint.
#[derive(Clone, Debug, Default)]
pub(super) struct DueMark {
    modes: Option<Arc<Modes>>,
    losses: usize,
    rules: Vec<RuleMark>,
}

/// What was due of a rule: own rows and lost keys that were judged, lost keys, and whether all were.
#[derive(Clone, Copy, Debug)]
struct RuleMark {
    judged: usize,
    lost_judged: usize,
    lost: usize,
    whole_judged: bool,
}

impl Due {
    pub(super) fn mark(&self) -> DueMark {
        let rules = self.rules.iter().map(|rule| RuleMark {
            judged: rule.judged,
            lost_judged: rule.lost_judged,
            lost: rule.lost.len(),
            whole_judged: rule.whole_judged,
        });
        DueMark { modes: self.modes.clone(), losses: self.losses.len(), rules: rules.collect() }
    }

    /// Goes back; `end_of` says how many own rows a table has now.
    pub(super) fn undo(&mut self, to: &DueMark, end_of: &dyn Fn(TableId) -> usize) {
        self.modes.clone_from(&to.modes);
        self.losses.truncate(to.losses);
        self.rules.truncate(to.rules.len());
        for (rule, mark) in self.rules.iter_mut().zip(&to.rules) {
            rule.cut_rows(end_of(rule.table.state.id));
            (rule.judged, rule.lost_judged) = (mark.judged, mark.lost_judged);
            rule.whole_judged = mark.whole_judged;
            rule.cut_lost(mark.lost);
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let bytes = |rule: &DueRule| {
            size_of::<DueRule>() + rule.rows.capacity() * size_of::<Range<usize>>() + rule.lost_bytes
        };
        self.rules.iter().map(bytes).sum()
    }

    /// Whether a rule is judged later than with the call that brings rows.
    fn is_later(&self, table: TableId, name: &str, time: Time, parent: TableId) -> bool {
        match self.held {
            Held::Several => return true,
            Held::One if parent == table => return true,
            Held::One | Held::No => {}
        }
        self.is_put_off(table, name, time)
    }

    /// Whether a rule is judged when the transaction ends.
    fn is_put_off(&self, table: TableId, name: &str, time: Time) -> bool {
        if time == Time::Statement {
            return false;
        }
        let modes = self.modes.as_ref();
        let said = modes.and_then(|modes| {
            let named = modes.named.iter().find(|(of, n, _)| *of == table && n == name);
            named.map(|named| named.2).or(modes.all)
        });
        said.unwrap_or(time == Time::Deferred)
    }

    fn rule(&mut self, table: &Table, name: &str) -> &mut DueRule {
        let known = |r: &DueRule| r.table.state.id == table.state.id && r.name == name;
        let at = self.rules.iter().position(known).unwrap_or_else(|| {
            self.rules.push(DueRule {
                table: table.clone(),
                name: name.to_owned(),
                rows: Vec::new(),
                judged: 0,
                lost: Vec::new(),
                lost_judged: 0,
                lost_bytes: 0,
                whole: false,
                whole_judged: false,
            });
            self.rules.len() - 1
        });
        &mut self.rules[at]
    }
}

impl DueRule {
    fn add_rows(&mut self, rows: Range<usize>) {
        match self.rows.last_mut() {
            Some(last) if last.end >= rows.start => last.end = last.end.max(rows.end),
            _ => self.rows.push(rows),
        }
    }

    /// Own rows that are to be judged.
    fn open_rows(&self) -> Vec<Range<usize>> {
        let open = |rows: &Range<usize>| rows.start.max(self.judged)..rows.end;
        self.rows.iter().map(open).filter(|rows| !rows.is_empty()).collect()
    }

    fn is_open(&self) -> bool {
        self.rows.last().is_some_and(|rows| rows.end > self.judged) || self.has_lost()
    }

    fn has_lost(&self) -> bool {
        self.whole && !self.whole_judged || self.lost.len() > self.lost_judged
    }

    fn cut_rows(&mut self, end: usize) {
        while let Some(last) = self.rows.last_mut() {
            if last.start < end {
                last.end = last.end.min(end);
                return;
            }
            self.rows.pop();
        }
    }

    fn cut_lost(&mut self, to: usize) {
        let cut = self.lost.drain(to.min(self.lost.len())..);
        let bytes: usize = cut.map(|(key, values)| lost_bytes(&key, &values)).sum();
        self.lost_bytes = self.lost_bytes.saturating_sub(bytes);
    }
}

/// Memory that a lost key takes.
fn lost_bytes(key: &[u8], values: &[Value]) -> usize {
    // Values of text and numbers take as much again as their bytes in the key.
    2 * key.len() + (values.len() + 2) * size_of::<Value>()
}

impl Transaction {
    /// Judges foreign keys, and unique indexes that are judged by a look at the rows, when the statement of
    /// several calls ends that begins now ([`Transaction::judge_held`]), and lets children follow their parents
    /// then. `several`: it changes more tables than one.
    pub fn hold_rules(&mut self, several: bool) {
        self.due.held = if several { Held::Several } else { Held::One };
        self.due.losses.clear();
    }

    /// The statement of several calls has failed: whoever says so goes back to a savepoint, or ends the
    /// transaction.
    pub fn forget_held(&mut self) {
        self.due.held = Held::No;
        self.due.losses.clear();
    }

    /// Judges what was held since [`Transaction::hold_rules`], except for what is put off.
    ///
    /// # Errors
    /// [`ErrorKind::ForeignKeyViolation`], [`ErrorKind::DuplicateKey`]; those of waits for locks. The caller goes
    /// back to a savepoint, or ends the transaction.
    pub fn judge_held(&mut self) -> Result<()> {
        self.due.held = Held::No;
        let losses = std::mem::take(&mut self.due.losses);
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

    /// The same for rules of these tables and names, which can be put off.
    ///
    /// # Errors
    /// As [`Transaction::set_all_constraints`].
    pub fn set_constraints(&mut self, rules: &[(TableId, String)], put_off: bool) -> Result<()> {
        let mut modes = self.due.modes.as_deref().cloned().unwrap_or_default();
        for (table, name) in rules {
            modes.named.retain(|(of, n, _)| of != table || n != name);
            modes.named.push((*table, name.clone(), put_off));
        }
        self.due.modes = Some(Arc::new(modes));
        self.judge_undeferred()
    }

    /// Whether a rule of a table, or one that refers to it, is still to be judged.
    pub fn has_due(&self, table: &Table) -> bool {
        let id = table.state.id;
        let refers = |rule: &DueRule| {
            let schema = self.schema.schema_of(&rule.table.state).cloned();
            let schema = schema.unwrap_or_else(|| rule.table.state.schema());
            schema.foreign_keys.iter().any(|key| key.name == rule.name && key.parent == id)
        };
        self.due.rules.iter().any(|rule| {
            rule.is_open() && (rule.table.state.id == id || rule.has_lost() && refers(rule))
        })
    }

    /// Judges everything that is due.
    pub(super) fn judge_all(&mut self) -> Result<()> {
        self.due.held = Held::No;
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
        (name, time, parent): (&str, Time, TableId),
        from: usize,
    ) -> Result<bool> {
        if !self.due.is_later(table.state.id, name, time, parent) {
            return Ok(false);
        }
        let buffer = self.buffer(table)?;
        let (rows, table) = (buffer.first + from..buffer.end(), buffer.table.clone());
        if !rows.is_empty() {
            self.due.rule(&table, name).add_rows(rows);
        }
        Ok(true)
    }

    /// Keeps lost parent rows for the end of the statement; gives them back where that is now.
    pub(super) fn hold_losses(
        &mut self,
        mut losses: Vec<(Table, Row, Option<Row>)>,
    ) -> Option<Vec<(Table, Row, Option<Row>)>> {
        if self.due.held == Held::No {
            return Some(losses);
        }
        self.due.losses.append(&mut losses);
        None
    }

    /// Keeps a lost key for the end of the transaction; gives it back where it is judged now.
    pub(super) fn put_off_lost(&mut self, lost: Lost) -> Result<Option<Lost>> {
        let (child, key) = (lost.reference.child, &lost.reference.key);
        if lost.strict || !self.due.is_put_off(child, &key.name, key.time) {
            return Ok(Some(lost));
        }
        let unproven = key.unproven;
        let table = self.child_table(&lost.reference)?;
        let rule = self.due.rule(&table, &lost.reference.key.name);
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
        let (table, name) = (rule.table.clone(), rule.name.clone());
        if self.schema.has_dropped(&table.state) {
            return Ok(true);
        }
        let time = match Found::of(&self.buffer(&table)?.schema, &name) {
            Some(Found::Key(key)) => key.time,
            Some(Found::Index(index)) => index.time(),
            None => return Ok(true),
        };
        Ok(self.due.is_put_off(table.state.id, &name, time))
    }

    /// Judges what is due for a rule; `remember` it as judged, for those who go back to before.
    fn judge_due(&mut self, at: usize, remember: bool) -> Result<()> {
        let rule = &self.due.rules[at];
        if !rule.is_open() {
            return Ok(());
        }
        let (table, name, open) = (rule.table.clone(), rule.name.clone(), rule.open_rows());
        if self.schema.has_dropped(&table.state) {
            return Ok(());
        }
        let (lost_from, lost_to, whole) = (rule.lost_judged, rule.lost.len(), rule.whole && !rule.whole_judged);
        let schema = Arc::clone(&self.buffer(&table)?.schema);
        match Found::of(&schema, &name) {
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
        rule.whole_judged = rule.whole;
        match remember {
            true => {
                rule.judged = rule.rows.last().map_or(rule.judged, |rows| rows.end);
                rule.lost_judged = rule.lost.len();
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
            self.judge_twice(table, index, from..rows.end.min(from + ROWS_AT_ONCE))?;
        }
        Ok(())
    }
}

/// A rule of a table by its name.
enum Found<'a> {
    Key(&'a ForeignKeySchema),
    Index(&'a IndexSchema),
}

impl<'a> Found<'a> {
    fn of(schema: &'a TableSchema, name: &str) -> Option<Found<'a>> {
        let key = schema.foreign_keys.iter().find(|key| key.name == name).map(Found::Key);
        let index = || schema.index_by_name(name).filter(|index| index.judged.is_some());
        key.or_else(|| index().map(Found::Index))
    }
}

/// A table cannot be changed while rules about it are to be judged.
///
/// # Errors
/// [`ErrorKind::InUse`].
pub(super) fn check_nothing_due(tx: &Transaction, table: &Table) -> Result<()> {
    match tx.has_due(table) {
        true => {
            let text = format!("rules of table {} are still to be judged", table.name());
            Err(Error::new(ErrorKind::InUse, text))
        }
        false => Ok(()),
    }
}
