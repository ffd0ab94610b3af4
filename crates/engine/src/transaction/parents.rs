//! Does every child row have its parent?
//!
//! A statement that brings child rows locks, for each parent key that they name, (unique index, key)
//! in mode `KeyShare`, and then looks for the parent in the newest committed state, not in its
//! snapshot. A transaction that deletes the parent or changes its key locks the same in mode `Update`
//! ([`super::children`]), and so does one that locks the parent's row in that mode
//! ([`Transaction::lock_rows`]); so either the child is there when the parent looks for it, or the parent's
//! end is known when the child looks for its parent. The lock is on the key and not on the row: a
//! parent row that is updated otherwise moves on to a successor, whose deleter would not meet a lock
//! on the version before. A child that meets a locked row waits for it without the key, which the row's
//! holder asks for next.
//!
//! Locks on keys take memory, so a transaction that has many locks the whole index instead: everybody
//! announces on a key that no row has (the empty one) what he does to single keys. The four modes are
//! just enough:
//!
//! | | announces | instead of keys |
//! |---|---|---|
//! | child | `KeyShare` | `NoKeyUpdate`: no parent goes, other children go on |
//! | end of a parent | `Share` | `Update`: alone |
//!
//! A row whose deleter began before the foreign key was there holds no lock on the key; that one is
//! met at the row itself.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use onlap_base::{ColumnId, Error, ErrorKind, OtherEnd, Result, RowId, Subject, stop};
use onlap_format::key::KeyDef;
use onlap_format::{Batch, ForeignKeySchema, IndexSchema, Row, TableSchema, Time, Value, convert};

use super::buffer::Buffer;
use super::by_key::changed_since;
use super::due::RuleId;
use super::{Isolation, STEPS, Transaction, may_wait, wait_context};
use crate::database::Table;
use crate::index_build::NOT_YET;
use crate::locks::{LockWait, Locked, RowLock, Target};
use crate::options::Rule;
use crate::read::ReadCounters;
use crate::table::key_def;
use crate::unique::{self, key_texts};

/// Locks in a parent table above which a transaction locks all its keys at once: at some 200 bytes each
/// these take the better part of a MiB.
const KEYS_LOCKED_MAX: usize = 4096;
/// The same of keys of rows that are locked themselves, some 13 MiB: other transactions lock their own rows meanwhile.
const KEYS_OF_ROWS_MAX: usize = 65_536;
/// What stands for all keys of an index; the bytes of a key are never empty.
const NO_KEY: &[u8] = b"";

/// How a key is locked.
#[derive(Clone, Copy, Debug)]
struct Ask {
    mode: RowLock,
    wait: LockWait,
    /// Locks in the table from which on all keys are locked at once.
    most: usize,
}

/// The parent of a foreign key, and its key.
pub(crate) struct Parent {
    pub table: Table,
    pub index: IndexSchema,
    pub def: KeyDef,
}

impl Parent {
    /// # Errors
    /// The parent or its index is gone, which schema changes refuse: the transaction met one.
    pub(crate) fn of(tx: &Transaction, key: &ForeignKeySchema) -> Result<Parent> {
        let gone = || {
            let text =
                format!("foreign key {} changed meanwhile; run the transaction again", key.name);
            Error::new(ErrorKind::Conflict, text)
        };
        let table = tx.table_by_id(key.parent).ok_or_else(gone)?;
        let schema = table.schema();
        let index = schema.index(key.parent_index).ok_or_else(gone)?.clone();
        let def = key_def(&schema, &index);
        Ok(Parent { table, index, def })
    }

    /// Keys that rows of a child table want to find, in the order of their bytes.
    ///
    /// # Errors
    /// A value that the parent's column cannot have.
    pub(crate) fn wanted_by(
        &self,
        schema: &TableSchema,
        key: &ForeignKeySchema,
        rows: &Batch,
    ) -> Result<BTreeMap<Vec<u8>, Vec<Value>>> {
        let places: Option<Vec<usize>> =
            key.columns.iter().map(|id| schema.position(*id)).collect();
        let places = places.expect("the columns were asked for");
        let mut wanted = BTreeMap::new();
        for row in 0..rows.rows {
            if row % STEPS == 0 {
                stop::check()?;
            }
            let value =
                |&at: &usize| convert::read_value(schema.columns[at].ty, &rows.columns[at], row);
            let values: Vec<Value> = places.iter().map(value).collect();
            if is_whole(schema, key, &values)? {
                let bytes = self.def.encode_values(&values);
                wanted.insert(bytes.map_err(|_| no_parent(self, schema, key, &values))?, values);
            }
        }
        Ok(wanted)
    }
}

impl Transaction {
    /// Judges own rows in memory from the `from`-th on by foreign keys, and by indexes that are judged by a look at
    /// the rows, or puts that off. Rules of which no column was set are left out, where the columns are known.
    pub(super) fn check_rules(
        &mut self,
        table: &Table,
        from: usize,
        set: Option<&[impl AsRef<str>]>,
    ) -> Result<()> {
        self.check_at_once(table, from, set)?;
        self.check_at_end(table, from, set)
    }

    /// The same by what is judged with each row: indexes whose judgement cannot be put off.
    pub(super) fn check_at_once(
        &mut self,
        table: &Table,
        from: usize,
        set: Option<&[impl AsRef<str>]>,
    ) -> Result<()> {
        self.check_indexes(table, from, set, true)
    }

    /// The same by what is judged when all rows of a statement are there.
    pub(super) fn check_at_end(
        &mut self,
        table: &Table,
        from: usize,
        set: Option<&[impl AsRef<str>]>,
    ) -> Result<()> {
        let schema = Arc::clone(&self.buffer(table)?.schema);
        for key in &schema.foreign_keys {
            let set = key.columns.iter().any(|id| is_set(&schema, *id, set));
            if set || self.due.is_open(table.state.id, RuleId::Key(key.id)) {
                let rule = (RuleId::Key(key.id), key.time, key.parent);
                if !self.is_judged_later(table, rule, from)? {
                    let rows = self.ordinals_from(table, from)?;
                    self.judge_children(table, &schema, key, rows)?;
                }
                continue;
            }
            if key.unproven {
                self.check_heirs(table, &schema, key, from)?;
            }
            if key.full && key.unproven {
                // A key that is NULL in a part is refused whatever was set.
                let rows = self.ordinals_from(table, from)?;
                for values in self.buffer(table)?.living_values(rows, &key.columns)? {
                    is_whole(&schema, key, &values)?;
                }
            }
        }
        self.check_indexes(table, from, set, false)
    }

    fn check_indexes(
        &mut self,
        table: &Table,
        from: usize,
        set: Option<&[impl AsRef<str>]>,
        at_once: bool,
    ) -> Result<()> {
        let schema = Arc::clone(&self.buffer(table)?.schema);
        let judged = |index: &&IndexSchema| {
            index.judged.is_some() && (index.time() == Time::Statement) == at_once
        };
        for index in schema.indexes.iter().filter(judged) {
            let set = schema.columns_of(index).into_iter().any(|id| is_set(&schema, id, set));
            // What takes the place of a row that is still to be judged is to be judged as well.
            if set || self.due.is_open(table.state.id, RuleId::Index(index.id)) {
                self.check_judged(table, index, from)?;
            }
        }
        Ok(())
    }

    /// The same of rows that stand in the place of own ones, which a foreign key has judged neither when they came, before it,
    /// nor when it came.
    fn check_heirs(
        &mut self,
        table: &Table,
        schema: &TableSchema,
        key: &ForeignKeySchema,
        from: usize,
    ) -> Result<()> {
        let rows = self.ordinals_from(table, from)?;
        for row in self.buffer(table)?.heirs(rows) {
            let rule = RuleId::Key(key.id);
            match self.due.is_later(table.state.id, (rule, key.time, key.parent)) {
                true => self.due.rule(table, rule).add_rows(row..row + 1),
                false => self.judge_children(table, schema, key, row..row + 1)?,
            }
        }
        Ok(())
    }

    /// The ordinals of own rows in memory from the `from`-th on.
    fn ordinals_from(&mut self, table: &Table, from: usize) -> Result<Range<usize>> {
        let buffer = self.buffer(table)?;
        Ok(buffer.first + from..buffer.end())
    }

    fn check_judged(&mut self, table: &Table, index: &IndexSchema, from: usize) -> Result<()> {
        // One that cannot be put off is judged with each call, as other unique indexes are.
        if index.time() != Time::Statement
            && self.is_judged_later(
                table,
                (RuleId::Index(index.id), index.time(), table.state.id),
                from,
            )?
        {
            return Ok(());
        }
        let rows = self.ordinals_from(table, from)?;
        self.judge_keys(table, index, rows)
    }

    /// Refuses rows of a child with these values in the columns of a foreign key whose parents are missing.
    pub(super) fn look_for_parents(
        &mut self,
        parent: &Parent,
        schema: &TableSchema,
        key: &ForeignKeySchema,
        rows: Vec<Vec<Value>>,
    ) -> Result<()> {
        let mut wanted: BTreeMap<Vec<u8>, Vec<Value>> = BTreeMap::new();
        for values in rows {
            if !is_whole(schema, key, &values)? {
                continue;
            }
            let bytes = parent.def.encode_values(&values);
            wanted.insert(bytes.map_err(|_| no_parent(parent, schema, key, &values))?, values);
        }
        // Whoever looks for many does so in the same order.
        for (bytes, values) in &wanted {
            if !self.has_parent(parent, bytes)? {
                return Err(no_parent(parent, schema, key, values));
            }
        }
        Ok(())
    }

    /// The parent of a foreign key, which keeps its form from now on.
    pub(super) fn shared_parent(&mut self, key: &ForeignKeySchema) -> Result<Parent> {
        let parent = Parent::of(self, key)?;
        if self.locks.has_table(&parent.table.state, RowLock::KeyShare) {
            return Ok(parent);
        }
        self.share(&parent.table)?;
        // It may have had another one until now.
        Parent::of(self, key)
    }

    /// Whether there is a parent with this key, which from now on stays.
    fn has_parent(&mut self, parent: &Parent, key: &[u8]) -> Result<bool> {
        let mut waited = false;
        loop {
            let held = self.locks.count_in(parent.table.state.id);
            let ask = Ask { mode: RowLock::KeyShare, wait: LockWait::Block, most: KEYS_LOCKED_MAX };
            let locked = self.ask_parent_key(parent, key, ask)?;
            waited |= locked == Locked::Waited;
            let had = locked == Locked::Free && self.locks.count_in(parent.table.state.id) == held;
            if self.own_row_with_key(parent, key)? {
                return Ok(true);
            }
            let Some(row) = self.committed_row_with_key(parent, key)? else {
                // The snapshot has a parent that another transaction has ended since.
                return match waited && self.options.isolation != Isolation::ReadCommitted {
                    true => Err(changed_since(&parent.table)),
                    false => Ok(false),
                };
            };
            // Where the transaction had the key before, no other one ends the parent before it ends itself.
            if had || !self.is_going(parent, row) || !self.shared.obeys(Rule::ForeignKeys) {
                return Ok(true);
            }
            // Who has the row to end it asks for its key next, and would wait for this one.
            self.locks.give_back(&parent.table.state, held, &self.shared.locks);
            self.wait_for_parent(parent, row)?;
            waited = true;
        }
    }

    pub(super) fn lock_parent_key(
        &mut self,
        parent: &Parent,
        key: &[u8],
        mode: RowLock,
    ) -> Result<()> {
        let ask = Ask { mode, wait: LockWait::Block, most: KEYS_LOCKED_MAX };
        self.ask_parent_key(parent, key, ask).map(drop)
    }

    /// Locks a key by which children name a parent.
    fn ask_parent_key(&mut self, parent: &Parent, key: &[u8], ask: Ask) -> Result<Locked> {
        let Ask { mode, wait, most } = ask;
        let shared = &self.shared;
        if !shared.obeys(Rule::ForeignKeys) {
            return Ok(Locked::Free);
        }
        let go_on = may_wait(shared, &self.cancel);
        let context = wait_context(shared, &self.options, &go_on);
        let (state, index) = (&parent.table.state, parent.index.id);
        let many = self.locks.count_in(state.id) >= most;
        let whole = match (mode, many) {
            (RowLock::KeyShare, false) => RowLock::KeyShare,
            (RowLock::KeyShare, true) => RowLock::NoKeyUpdate,
            (_, false) => RowLock::Share,
            (_, true) => RowLock::Update,
        };
        assert!(!key.is_empty(), "the bytes of a key stand for no whole index");
        let all = Target::Key(index, NO_KEY.into());
        let locked = self.locks.lock(state, all, whole, wait, context)?;
        if many || locked == Locked::Skipped {
            return Ok(locked);
        }
        self.locks.lock_key(state, index, key, (mode, wait), context)
    }

    /// What foreign keys refer to of a table: its unique indexes, each once.
    pub(super) fn parents_in(&mut self, table: &Table) -> Result<Vec<Parent>> {
        let references = self.references_to(table.state.id);
        let mut all: Vec<Parent> = Vec::new();
        for reference in references.iter().flat_map(|references| references.iter()) {
            let parent = Parent::of(self, &reference.key)?;
            if !all.iter().any(|known| known.index.id == parent.index.id) {
                all.push(parent);
            }
        }
        Ok(all)
    }

    /// Locks one key of a row that is to be locked. Others who lock rows of their own are not in the way of it, and it is in theirs as
    /// late as memory allows: all keys are taken together only where no other transaction has any.
    fn ask_key_of_row(&mut self, parent: &Parent, key: &[u8], wait: LockWait) -> Result<Locked> {
        if self.locks.count_in(parent.table.state.id) >= KEYS_OF_ROWS_MAX {
            let all = Ask { mode: RowLock::Update, wait: LockWait::SkipLocked, most: 0 };
            let locked = self.ask_parent_key(parent, key, all)?;
            if locked != Locked::Skipped {
                return Ok(locked);
            }
        }
        self.ask_parent_key(parent, key, Ask { mode: RowLock::Update, wait, most: usize::MAX })
    }

    /// Locks the keys by which children would name a row; whether it has all of them, which it has not where others are skipped.
    pub(super) fn lock_keys_of(
        &mut self,
        parents: &[Parent],
        row: &Row,
        wait: LockWait,
    ) -> Result<bool> {
        for parent in parents {
            let schema = parent.table.schema();
            let at = |column| schema.position(column).expect("an index names columns of its table");
            let values: Vec<Value> =
                parent.index.key.iter().map(|part| row[at(part.column)].clone()).collect();
            if values.contains(&Value::Null) {
                continue;
            }
            let key = parent.def.encode_values(&values)?;
            if self.ask_key_of_row(parent, &key, wait)? == Locked::Skipped {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether another transaction may be about to delete a parent row.
    pub(crate) fn is_going(&self, parent: &Parent, row: RowId) -> bool {
        parent.table.state.locks.is_taken(row, self.locks.id(), RowLock::KeyShare)
    }

    /// Waits until nobody is about to delete a parent row.
    pub(crate) fn wait_for_parent(&mut self, parent: &Parent, row: RowId) -> Result<Locked> {
        let shared = &self.shared;
        let go_on = may_wait(shared, &self.cancel);
        let context = wait_context(shared, &self.options, &go_on);
        let (target, mode) = (Target::Row(row), RowLock::KeyShare);
        self.locks.lock(&parent.table.state, target, mode, LockWait::Block, context)
    }

    /// Whether one of the transaction's own rows has the key.
    pub(super) fn own_row_with_key(&mut self, parent: &Parent, key: &[u8]) -> Result<bool> {
        let Some(buffer) = self.existing_buffer(&parent.table) else { return Ok(false) };
        Ok(buffer.own_row(&parent.index, key)?.is_some())
    }

    /// The committed row that has the key, unless this transaction deletes it.
    pub(crate) fn committed_row_with_key(
        &mut self,
        parent: &Parent,
        key: &[u8],
    ) -> Result<Option<RowId>> {
        if parent.index.since == NOT_YET {
            return self.row_in_new_index(&parent.table, parent.index.id, key);
        }
        let view = parent.table.state.view();
        let mut cost = ReadCounters::default();
        let probes = &mut cost.filter_probes;
        let row = unique::live_row_now(&view, parent.index.id, key, probes);
        self.tally.add(&cost);
        let row = row?;
        let buffer = self.existing_buffer(&parent.table);
        Ok(row.filter(|row| !buffer.is_some_and(|b| b.has_marked(*row))))
    }

    fn existing_buffer(&mut self, table: &Table) -> Option<&mut Buffer> {
        self.tables.iter_mut().find(|b| b.table.state.id == table.state.id)
    }
}

/// Whether a column is among those that were set, or is generated of one; all are where they are not known.
fn is_set(schema: &TableSchema, id: ColumnId, set: Option<&[impl AsRef<str>]>) -> bool {
    let Some(set) = set else { return true };
    let name = |id| schema.position(id).map(|at| schema.columns[at].name.as_str());
    let reads = schema.generated(id).into_iter().flat_map(|of| &of.reads);
    let mut names = std::iter::once(&id).chain(reads).map(|id| name(*id));
    names.any(|name| set.iter().any(|set| Some(set.as_ref()) == name))
}

/// Whether a key refers to a parent: no part of it is NULL.
///
/// # Errors
/// A part is NULL and another is not, where the key has to be whole.
fn is_whole(schema: &TableSchema, key: &ForeignKeySchema, values: &[Value]) -> Result<bool> {
    let nulls = values.iter().filter(|value| **value == Value::Null).count();
    if nulls > 0 && nulls < values.len() && key.full {
        let text = format!(
            "a row of table {} violates foreign key {}: NULL in a part of {}",
            schema.name,
            key.name,
            named_values(schema, &key.columns, values)
        );
        return Err(Error::new(ErrorKind::ForeignKeyViolation, text).about(Subject {
            table: schema.name.clone(),
            constraint: Some(key.name.clone()),
            other: Some(OtherEnd::Part),
            ..Subject::default()
        }));
    }
    Ok(nulls == 0)
}

pub(crate) fn no_parent(
    parent: &Parent,
    schema: &TableSchema,
    key: &ForeignKeySchema,
    values: &[Value],
) -> Error {
    let text = format!(
        "a row of table {} violates foreign key {}: there is no parent with {}",
        schema.name,
        key.name,
        named_values(schema, &key.columns, values)
    );
    Error::new(ErrorKind::ForeignKeyViolation, text).about(Subject {
        table: schema.name.clone(),
        constraint: Some(key.name.clone()),
        key: key_texts(schema, &key.columns, values),
        other: Some(OtherEnd::Parent(parent.table.name())),
        ..Subject::default()
    })
}

/// Columns with their values, for messages.
pub(super) fn named_values(schema: &TableSchema, columns: &[ColumnId], values: &[Value]) -> String {
    let texts = key_texts(schema, columns, values);
    let shown = texts.iter().map(|(name, text)| format!("{name} = {}", text.trim_end()));
    shown.collect::<Vec<_>>().join(", ")
}
