//! When may an update leave the row alone?
//!
//! An update of columns that stand in nothing but the row appends a *column change*: the row keeps its id,
//! no index gets an entry, and the row is not read. That is right only where nothing else depends on the
//! column ([`is_free`]): no index key, expression or predicate of an index, no INCLUDE, no CHECK, no foreign key, no serial counter, no generated column. Numbers are
//! added blindly only where no value that the row may have leaves its type by it ([`may_add`]).
//!
//! Whoever begins to depend on a column (an index that is built, a rule that is added) ends the changes
//! of it first: an index by the schema of new memtables, which has it from the beginning, a rule by
//! [`FixedColumns`]. A transaction that had changed the column before and commits later has its rows
//! replaced ([`replace`]).
//!
//! Thread safety: pure, except for the guard.

use std::ops::Range;
use std::sync::Arc;

use onlap_base::{ColumnId, Csn, Error, ErrorKind, Result, RowId};
use onlap_format::changes::{ChangeBounds, ChangeOp, LoggedChange, Scalar};
use onlap_format::convert::{self, WIDE_NAN, int_range};
use onlap_format::zone::{Bounds, Zone};
use onlap_format::{Column, ColumnSchema, DataType, Numeric, TableSchema, Value};

use crate::commit::TableWrite;
use crate::database::Shared;
use crate::table::{TableState, TableView};

pub(crate) mod replace;

/// What an update does to a column of a row, whatever the row has.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// It becomes this value.
    Set(Value),
    /// This number is added: to int2, int4, int8 and numeric. NULL stays NULL.
    Add(Value),
}

/// Whether nothing but the row depends on a column. Rules that rows may break which were there before them are asked of
/// each new version of a row, whatever was set.
pub(crate) fn is_free(schema: &TableSchema, column: ColumnId) -> bool {
    let asks = schema.checks.iter().any(|check| check.unproven)
        || schema.foreign_keys.iter().any(|key| key.unproven && key.full);
    let indexed = schema
        .indexes
        .iter()
        .any(|index| schema.columns_of(index).contains(&column) || index.include.contains(&column));
    let checked = schema.checks.iter().any(|check| check.expr.columns().contains(&column));
    let refers = schema.foreign_keys.iter().any(|key| key.columns.contains(&column));
    let serial = schema.columns.iter().any(|c| c.id == column && c.is_serial());
    let generates =
        schema.generated(column).is_some() || schema.generated_from(column).next().is_some();
    !(asks || indexed || checked || refers || serial || generates)
}

/// A change in physical form; what the column refuses is refused here. `None`: the row has to be read.
pub(crate) fn op_of(
    schema: &TableSchema,
    column: &ColumnSchema,
    change: &Change,
) -> Result<Option<ChangeOp>> {
    match change {
        Change::Set(value) => {
            let is_generated = schema.generated(column.id).is_some();
            if *value == Value::Null && !column.nullable && !is_generated {
                // The refusal tells the row.
                return Ok(None);
            }
            let mut one = Column::new(column.ty.physical());
            convert::push_value(column.ty, value, &mut one, &column.name)?;
            Ok(Some(ChangeOp::Set(Scalar::of(&one, 0))))
        }
        Change::Add(delta) => {
            check_number(column, delta)?;
            Ok(delta_of(column.ty, delta).map(ChangeOp::Add))
        }
    }
}

fn check_number(column: &ColumnSchema, delta: &Value) -> Result<()> {
    let takes = match column.ty {
        DataType::Int2 | DataType::Int4 | DataType::Int8 => {
            matches!(delta, Value::Int(_) | Value::Null)
        }
        DataType::Numeric(_) => matches!(delta, Value::Int(_) | Value::Numeric(_) | Value::Null),
        _ => false,
    };
    if takes {
        return Ok(());
    }
    let text = format!("{delta:?} cannot be added to column {} of type {}", column.name, column.ty);
    Err(Error::new(ErrorKind::WrongType, text))
}

/// What is added in physical form, where the sum needs no rounding.
fn delta_of(ty: DataType, delta: &Value) -> Option<Scalar> {
    match (ty, delta) {
        (DataType::Int2 | DataType::Int4 | DataType::Int8, Value::Int(v)) => Some(Scalar::Int(*v)),
        (DataType::Numeric(Some((_, scale))), _) => {
            let number = match delta {
                Value::Int(v) => Numeric::from(*v),
                Value::Numeric(n) => *n,
                _ => return None,
            };
            if !number.is_finite() || number.scale > scale {
                return None;
            }
            Some(Scalar::Wide(Box::new(number.rescale(scale)?.mantissa)))
        }
        _ => None,
    }
}

/// The sum that a reading update stores.
pub(crate) fn sum(column: &ColumnSchema, value: &Value, delta: &Value) -> Result<Value> {
    check_number(column, delta)?;
    let overflow = || {
        let text = format!(
            "{delta:?} added to {value:?} leaves the range of column {} of type {}",
            column.name, column.ty
        );
        Error::new(ErrorKind::OutOfRange, text)
    };
    let number = |v: &Value| match v {
        Value::Int(v) => Some(Numeric::from(*v)),
        Value::Numeric(n) => Some(*n),
        _ => None,
    };
    match (value, delta) {
        (Value::Null, _) | (_, Value::Null) => Ok(Value::Null),
        (Value::Int(a), Value::Int(b)) => a.checked_add(*b).map(Value::Int).ok_or_else(overflow),
        _ => match (number(value), number(delta)) {
            (Some(a), Some(b)) => a.checked_add(b).map(Value::Numeric).ok_or_else(overflow),
            _ => Err(overflow()),
        },
    }
}

/// Whether no row of `zone`, after what `pending` may do to it, leaves its type when `op` comes on top.
pub(crate) fn may_add(ty: DataType, zone: &Bounds, pending: ChangeBounds, op: &ChangeOp) -> bool {
    let (min, max) = match zone {
        Bounds::Empty if pending.set.is_none() => return true,
        Bounds::Empty => pending.set.expect("looked at above"),
        Bounds::Int(min, max) => (i128::from(*min), i128::from(*max)),
        // NaN stays what it is, and hides how large the others are.
        Bounds::Wide(_, WIDE_NAN) => return false,
        Bounds::Wide(min, max) => (*min, *max),
        Bounds::Bytes(..) => return false,
    };
    let (low, high) = pending.and(ChangeBounds::of(op)).range(min, max);
    let (least, most) = match ty {
        DataType::Numeric(Some((precision, _))) => {
            let most = 10i128.checked_pow(u32::from(precision)).unwrap_or(i128::MAX) - 1;
            (-most, most)
        }
        _ => {
            let (min, max) = int_range(ty);
            (i128::from(min), i128::from(max))
        }
    };
    low >= least && high <= most
}

impl TableView {
    /// What pending changes of a column may do to a row.
    pub(crate) fn change_bounds(&self, column: ColumnId) -> ChangeBounds {
        let memory = self.memtables_newest_first().map(|m| m.change_bounds(column));
        memory.fold(self.version.change_bounds(column), ChangeBounds::and)
    }

    /// Whether rows of a column may have changes that no segment has.
    pub(crate) fn changes_column(&self, column: ColumnId) -> bool {
        self.version.changes_column(column)
            || self.memtables_newest_first().any(|m| m.changes_column(column))
    }

    /// The newest commit after `since` that changed a column of any of the rows `ids` (rising).
    pub(crate) fn newest_change(&self, ids: &[RowId], since: Csn) -> Result<Option<Csn>> {
        let memory =
            self.memtables_newest_first().filter_map(|m| m.newest_change(ids, since)).max();
        match memory {
            Some(csn) => Ok(Some(csn)),
            None => self.version.newest_change(ids, since),
        }
    }

    /// Whether `fits` says yes to the bounds of every block that has rows of a range, of the column at this
    /// position: as the rows were written. Rows in memory are looked at.
    pub(crate) fn each_zone(
        &self,
        rows: &Range<RowId>,
        position: usize,
        fits: &mut dyn FnMut(&Bounds) -> bool,
    ) -> Result<bool> {
        let (version, column) = (&self.version, self.schema.columns[position].id);
        let first = version.segments.partition_point(|s| s.meta.rows.end <= rows.start);
        for entry in &version.segments[first..] {
            if entry.meta.rows.start >= rows.end {
                break;
            }
            let Some(zones) = entry.segment.zones(column)? else { return Ok(false) };
            let blocks = &entry.segment.footer().blocks;
            let from = entry.segment.footer().block_of(rows.start).unwrap_or(0);
            let to = blocks.partition_point(|b| b.first_row_id < rows.end).max(from);
            if !zones[from..to].iter().all(|zone| fits(&zone.bounds)) {
                return Ok(false);
            }
        }
        let rest = rows.start.max(version.flushed_rows)..rows.end;
        if rest.is_empty() {
            return Ok(true);
        }
        for memtable in self.memtables_newest_first() {
            for piece in memtable.pieces(rest.clone(), &[position]) {
                let zone = Zone::of(&piece.batch().columns[position], piece.range());
                if !fits(&zone.bounds) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

/// Whether a snapshot may lie between two commits of a table, the second of which is being applied.
pub(crate) fn apart<'a>(
    shared: &'a Shared,
    schema: &TableSchema,
) -> impl Fn(Csn, Csn) -> bool + use<'a> {
    let history = schema.history_us > 0;
    move |from, to| history || shared.snapshots.may_lie_between(from, to)
}

/// Last validation of the column changes of one table's part, under the commit lock.
pub(crate) fn validate(view: &TableView, w: &TableWrite) -> Result<()> {
    let mut judged = None;
    for change in &w.changes {
        // Changes of a column stand together.
        if judged.replace(change.column) != Some(change.column)
            && (!is_free(&view.landing, change.column) || w.state.fixed.has(change.column))
        {
            return Err(no_longer_free(&view.schema));
        }
    }
    // Rows are locked, so that nobody but a blind write can have ended them since.
    if !w.schema.blind {
        return Ok(());
    }
    for change in &w.changes {
        let rows: Vec<RowId> = change.rows.iter().flat_map(Clone::clone).collect();
        let mut keep = vec![true; rows.len()];
        view.drop_dead(&rows, Csn::MAX, &mut keep)?;
        if keep.contains(&false) {
            let text = format!(
                "a row of table {} was replaced by another transaction; run the transaction again",
                view.schema.name
            );
            return Err(Error::new(ErrorKind::Conflict, text));
        }
    }
    Ok(())
}

/// Changes of a log record as far as their columns are there still.
///
/// # Errors
/// `Corruption`: values of another form than their column's.
pub(crate) fn of_log(
    schema: &TableSchema,
    mut changes: Vec<LoggedChange>,
) -> Result<Vec<LoggedChange>> {
    changes.retain(|change| schema.position(change.column).is_some());
    let fits = |change: &LoggedChange| {
        let at = schema.position(change.column).expect("others were left out");
        change.op.fits(schema.columns[at].ty.physical())
    };
    match changes.iter().all(fits) {
        true => Ok(changes),
        false => Err(Error::damaged("a change has another form than its column")),
    }
}

pub(crate) fn no_longer_free(schema: &TableSchema) -> Error {
    let text = format!(
        "an index or a rule came to a column of table {} that this transaction has changed; run it again",
        schema.name
    );
    Error::new(ErrorKind::Conflict, text)
}

/// Columns of a table that are not changed in place for now.
#[derive(Debug, Default)]
pub(crate) struct FixedColumns(parking_lot::Mutex<Vec<ColumnId>>);

impl FixedColumns {
    pub(crate) fn has(&self, column: ColumnId) -> bool {
        self.0.lock().contains(&column)
    }
}

/// Ends changes of columns as long as it lives.
pub(crate) struct Fixed {
    state: Arc<TableState>,
    columns: Vec<ColumnId>,
}

impl Fixed {
    /// Returns when no commit that had been let in before is under way.
    pub(crate) fn new(
        shared: &Arc<Shared>,
        state: &Arc<TableState>,
        columns: impl IntoIterator<Item = ColumnId>,
    ) -> Fixed {
        let columns: Vec<ColumnId> = columns.into_iter().collect();
        shared.commits().exclusively(|_| state.fixed.0.lock().extend(&columns));
        Fixed { state: Arc::clone(state), columns }
    }
}

impl Drop for Fixed {
    fn drop(&mut self) {
        let mut fixed = self.state.fixed.0.lock();
        for column in &self.columns {
            if let Some(at) = fixed.iter().position(|c| c == column) {
                fixed.remove(at);
            }
        }
    }
}
