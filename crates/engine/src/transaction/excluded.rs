//! Does a row conflict with another by an exclusion constraint?
//!
//! The index of one is an ordinary index to files, memtables and readers, as that of every rule which is judged by a look at
//! the rows ([`super::twice`]). Its keys conflict where they are equal, or where their last parts are spans
//! ([`onlap_format::span`]) that share a point and the parts before are equal. NULL conflicts with nothing.
//!
//! 1. A transaction locks what its rows bring, to its end: a key, or a span with the group that it is in. It waits for others
//!    whose locks conflict with that as the rows would ([`crate::locks`]), so that no two transactions have rows that
//!    conflict and do not see each other's.
//! 2. Then it looks at the newest committed state and its own rows. A row that is in the way and that another transaction
//!    is about to change is waited for, and looked for again.
//!
//! Of rows that do not conflict, one that begins below another's lower end also ends there or before. So of all rows of a group
//! that begin below the upper end of a new one, the last alone can be in its way: one step back in the index tells.
//! The same holds while own rows wait for their judgement. Where rows of a set conflict at all, two neighbours in the order of their
//! lower ends do; one of these is not judged yet, and its own step back finds the other one or another conflict. Only then are all
//! rows in the way looked for, so that the error names the one that came first.
//!
//! Thread safety: a transaction belongs to one thread at a time.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use onlap_base::{Error, ErrorKind, PROVISIONAL_BASE, Result, RowId, Subject, stop};
use onlap_format::key::KeyDef;
use onlap_format::{
    ColumnSchema, Excludes, IndexSchema, KeyPart, Row, TableSchema, Value, convert, span,
};
use onlap_storage::{Direction, EntryBatch, EntryWants, KeyBounds};

use super::{STEPS, Transaction, may_wait, wait_context};
use crate::database::Table;
use crate::derive;
use crate::locks::{RowLock, Span};
use crate::options::Rule;
use crate::read::{KeyRange, ReadView, merge_cursors};
use crate::table::{index_positions, key_def};

/// Entries that are looked at for the row that came first, at most.
const LOOKED: usize = 1 << 16;
/// Entries of a walk at once: the first, and at most, where many are dead.
const STEPS_OF_WALK: (usize, usize) = (2, 4096);

/// What a row brings to the index of an exclusion constraint.
pub(crate) struct Brought {
    /// The row, if it is there already.
    pub(crate) row: Option<RowId>,
    values: Vec<Value>,
    /// Bytes of the parts that have to be equal.
    group: Vec<u8>,
    /// Both ends, where the last part is a span.
    ends: Option<(Vec<u8>, Vec<u8>)>,
}

/// What is in the way of a row.
enum Met {
    Nothing,
    Living(RowId),
    /// Another transaction may be about to change it.
    Going(RowId),
    /// It was changed since it was found.
    Gone,
}

/// An index and the way in which its keys conflict.
type Of<'a> = (&'a IndexSchema, Excludes);

impl Brought {
    /// Of a key; `None` where it conflicts with nothing.
    pub(crate) fn of(
        row: Option<RowId>,
        values: Vec<Value>,
        def: &KeyDef,
        which: Excludes,
    ) -> Result<Option<Brought>> {
        if values.contains(&Value::Null) {
            return Ok(None);
        }
        let (equal, ends) = match (which, values.split_last()) {
            (Excludes::Overlapping, Some((last, equal))) => (equal, Some(ends_of(last)?)),
            _ => (&values[..], None),
        };
        let group = def.encode_values(equal)?;
        Ok(Some(Brought { row, values, group, ends }))
    }

    /// Whether it conflicts with one that it does not come behind in the index. What is equal is told by the bytes of keys, by which
    /// NaN equals NaN.
    pub(crate) fn conflicts(&self, next: &Brought) -> bool {
        let meets = match (&self.ends, &next.ends) {
            (Some((_, upper)), Some((lower, _))) => upper > lower,
            _ => true,
        };
        meets && self.group == next.group
    }

    /// Where entries can be that conflict.
    fn bounds(&self, schema: &TableSchema, index: &IndexSchema, def: &KeyDef) -> Result<KeyBounds> {
        let Some((_, upper)) = &self.ends else {
            return KeyRange::eq(self.values.clone()).bounds(schema, index, def);
        };
        let group = &self.values[..self.values.len() - 1];
        let end = Value::Bytes(span::beginning(upper));
        let below = KeyRange::before(group.iter().cloned().chain([end]));
        let range = match group {
            [] => below,
            group => KeyRange::from(group.to_vec()).and(below),
        };
        range.bounds(schema, index, def)
    }

    /// Whether an entry within the bounds conflicts.
    fn meets(&self, key: &[Value]) -> Result<bool> {
        match (&self.ends, key.last()) {
            (Some((lower, _)), Some(last)) => Ok(ends_of(last)?.1 > *lower),
            _ => Ok(true),
        }
    }
}

/// Both ends of a span of a key.
fn ends_of(value: &Value) -> Result<(Vec<u8>, Vec<u8>)> {
    let ends = match value {
        Value::Bytes(packed) => span::ends(packed),
        _ => None,
    };
    let no_span = || Error::damaged("a key of an exclusion constraint is no span");
    let (lower, upper) = ends.ok_or_else(no_span)?;
    Ok((lower, upper.to_vec()))
}

impl Transaction {
    /// Refuses own rows of a range of ordinals that conflict with others.
    pub(super) fn judge_excluded(
        &mut self,
        table: &Table,
        of: Of<'_>,
        rows: Range<usize>,
    ) -> Result<()> {
        if !self.shared.obeys(Rule::UniqueKeys) {
            return Ok(());
        }
        // Rows that come together conflict in the order in which they came.
        let brought = self.brought(table, of, rows.clone())?;
        self.lock_brought(table, of.0, &brought)?;
        let (mut view, mut _pin) = self.newest_covered(table)?;
        for (at, one) in brought.iter().enumerate() {
            if at % STEPS == 0 {
                stop::check()?;
            }
            while is_met(&view, of.0, one)? {
                match self.meeting(table, (&view, of.0), one, rows.end)? {
                    Met::Nothing => break,
                    Met::Living(other) => return Err(excluded_of(&view, of.0, one.row, other)?),
                    Met::Going(row) => self.wait_for_lock(table, row, RowLock::Share)?,
                    Met::Gone => {}
                }
                (view, _pin) = self.newest_covered(table)?;
            }
        }
        Ok(())
    }

    /// Whether a row that is not there yet would conflict with another by the index of an exclusion constraint, once no other
    /// transaction is about to change that one. Keeps no lock. At READ COMMITTED the statement sees from then on what it waited
    /// for.
    ///
    /// # Errors
    /// Those of [`Transaction::key_of`] and of [`Transaction::lock_rows`].
    pub fn is_excluded(&mut self, table: &Table, index: &str, row: &[Value]) -> Result<bool> {
        let Some(values) = self.key_of(table, index, row)? else { return Ok(false) };
        self.share(table)?;
        self.statement()?;
        let schema = Arc::clone(&self.buffer(table)?.schema);
        let found = schema.index_by_name(index).filter(|index| index.ready);
        let Some((index, which)) = found.and_then(|of| Some((of, of.excludes()?))) else {
            return Ok(false);
        };
        let def = key_def(&schema, index);
        let Some(one) = Brought::of(None, values, &def, which)? else { return Ok(false) };
        loop {
            let (view, _pin) = self.newest_covered(table)?;
            if !is_met(&view, index, &one)? {
                return Ok(false);
            }
            match self.meeting(table, (&view, index), &one, usize::MAX)? {
                Met::Nothing => return Ok(false),
                Met::Living(other) => {
                    if other < PROVISIONAL_BASE && other >= self.view_of_keys(table)?.count {
                        self.see_newest(table, other)?;
                    }
                    return Ok(true);
                }
                Met::Going(row) => self.wait_for_lock(table, row, RowLock::Share)?,
                Met::Gone => {}
            }
        }
    }

    /// What own rows of a range of ordinals that are alive bring, in their order.
    fn brought(
        &mut self,
        table: &Table,
        (index, which): Of<'_>,
        rows: Range<usize>,
    ) -> Result<Vec<Brought>> {
        let shared = Arc::clone(&self.shared);
        let buffer = self.buffer(table)?;
        let schema = Arc::clone(&buffer.schema);
        let def = key_def(&schema, index);
        let (places, _) = index_positions(&schema, index);
        let filter = schema.filter_position(index);
        let mut all = Vec::new();
        for ordinal in rows.start..rows.end.min(buffer.end()) {
            if !buffer.is_alive(ordinal) {
                continue;
            }
            // Rows in files have no calculated columns.
            let spilled = match ordinal >= buffer.first {
                true => None,
                false => {
                    let row = buffer.read_spilled(ordinal)?;
                    Some(derive::whole_row(&shared.calculator, &schema, &row)?)
                }
            };
            let value = |place: &usize| match &spilled {
                Some(whole) => whole[*place].clone(),
                None => {
                    let ty = schema.column_at(*place).ty;
                    convert::read_value(ty, &buffer.rows.columns[*place], ordinal - buffer.first)
                }
            };
            if filter.is_some_and(|place| value(&place) != Value::Bool(true)) {
                continue;
            }
            let key = places.iter().map(value).collect();
            let row = PROVISIONAL_BASE + ordinal as RowId;
            all.extend(Brought::of(Some(row), key, &def, which)?);
        }
        Ok(all)
    }

    /// Locks what rows bring. Transactions lock many in one order, so that two do not wait for each other.
    fn lock_brought(
        &mut self,
        table: &Table,
        index: &IndexSchema,
        brought: &[Brought],
    ) -> Result<()> {
        let mut order: Vec<&Brought> = brought.iter().collect();
        order.sort_by(|a, b| (&a.group, &a.ends).cmp(&(&b.group, &b.ends)));
        let many = order.len();
        for (at, one) in order.into_iter().enumerate() {
            let Some((lower, upper)) = &one.ends else {
                self.lock_key(table, index, &one.group)?;
                continue;
            };
            let shared = &self.shared;
            let go_on = may_wait(shared, &self.cancel);
            let context = wait_context(shared, &self.options, &go_on);
            let span = Span { group: &one.group, lower, upper };
            self.locks.reserve_span(&table.state, index.id, (&span, many - at), context)?;
        }
        Ok(())
    }

    /// What is in the way of a row, the first that came; own rows below an ordinal that came behind it are judged after it.
    fn meeting(
        &mut self,
        table: &Table,
        (view, index): (&ReadView, &IndexSchema),
        one: &Brought,
        later: usize,
    ) -> Result<Met> {
        let mut rows = Vec::new();
        let mut left = LOOKED;
        walk(view, index, one, &mut |row, key| {
            if Some(row) != one.row && one.meets(key)? {
                rows.push(row);
            }
            left -= 1;
            Ok(if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        rows.sort_unstable();
        let is_later = |row: RowId| {
            let below = PROVISIONAL_BASE.saturating_add(later as RowId);
            one.row.is_some_and(|own| own < row && row < below)
        };
        let first = rows.into_iter().find(|row| !is_later(*row));
        let Some(row) = first else { return Ok(Met::Nothing) };
        if row >= PROVISIONAL_BASE {
            return Ok(Met::Living(row));
        }
        if table.state.locks.is_taken(row, self.locks.id(), RowLock::Share) {
            return Ok(Met::Going(row));
        }
        // Its end may have come between the two looks.
        Ok(match table.state.view_now().mark_of(row)? {
            Some(_) => Met::Gone,
            None => Met::Living(row),
        })
    }
}

/// Whether any row of a view can be in the way: the last other one that begins below the end.
fn is_met(view: &ReadView, index: &IndexSchema, one: &Brought) -> Result<bool> {
    let mut is_met = false;
    walk(view, index, one, &mut |row, key| {
        if Some(row) == one.row {
            return Ok(ControlFlow::Continue(()));
        }
        is_met = one.meets(key)?;
        Ok(ControlFlow::Break(()))
    })?;
    Ok(is_met)
}

/// Goes back over the entries of visible rows within a row's bounds, from the last one on.
fn walk(
    view: &ReadView,
    index: &IndexSchema,
    one: &Brought,
    look: &mut dyn FnMut(RowId, &[Value]) -> Result<ControlFlow<()>>,
) -> Result<()> {
    let schema = &view.view.schema;
    let def = key_def(schema, index);
    let bounds = one.bounds(schema, index, &def)?;
    let wants = EntryWants { keys: true, ..EntryWants::default() };
    let back = Direction::Backward;
    let mut merged = merge_cursors(view.sources(index.id, &bounds, back, &wants, true)?, back);
    let (mut most, highest) = STEPS_OF_WALK;
    let (mut batch, mut picks) = (EntryBatch::default(), Vec::new());
    while merged.next(most, &mut batch)? {
        stop::check()?;
        if !view.pick_visible(&batch.row_ids, &mut picks)? {
            picks.clear();
            picks.extend(0..batch.row_ids.len() as u32);
        }
        for at in picks.iter().map(|at| *at as usize) {
            if look(batch.row_ids[at], &def.decode(batch.keys.get(at))?)?.is_break() {
                return Ok(());
            }
        }
        most = (4 * most).min(highest);
    }
    Ok(())
}

/// The error of two rows of a view that conflict, of which the second was there before.
pub(crate) fn excluded_of(
    view: &ReadView,
    index: &IndexSchema,
    row: Option<RowId>,
    other: RowId,
) -> Result<Error> {
    let schema = &view.view.schema;
    let mut wanted: Vec<RowId> = row.into_iter().chain([other]).collect();
    wanted.sort_unstable();
    let (found, rows) = view.fetch_rows(&wanted)?;
    let of = |row| found.iter().position(|known| *known == row).map(|at| &rows[at]);
    Ok(excluded(schema, index, row.and_then(of), of(other)))
}

/// The same of rows that are known as far as is said.
pub(crate) fn excluded(
    schema: &TableSchema,
    index: &IndexSchema,
    row: Option<&Row>,
    other: Option<&Row>,
) -> Error {
    let text = format!(
        "a row of table {} conflicts with another by exclusion constraint {}",
        schema.name, index.name
    );
    let columns = schema.columns_of(index);
    let texts = |row: &Row| {
        let read = schema.columns.iter().zip(row).filter(|(of, _)| columns.contains(&of.id));
        read.map(|(of, value)| (of.name.clone(), text_of(of, value))).collect()
    };
    let part = |part: &KeyPart| match schema.derived(part.column) {
        Some(of) => (of.column.name.clone(), of.program.clone()),
        None => {
            let at = schema.position(part.column).expect("an index names columns of its table");
            (schema.columns[at].name.clone(), String::new())
        }
    };
    Error::new(ErrorKind::Excluded, text).about(Subject {
        table: schema.name.clone(),
        constraint: Some(index.name.clone()),
        key: index.key.iter().map(part).collect(),
        row: row.map(texts).unwrap_or_default(),
        other_row: other.map(texts).unwrap_or_default(),
        ..Subject::default()
    })
}

fn text_of(column: &ColumnSchema, value: &Value) -> Option<String> {
    let mut text = String::new();
    match value {
        Value::Null => return None,
        value => convert::format_text(column.ty, value, &mut text),
    }
    Some(text)
}
