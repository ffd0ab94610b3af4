//! What does RETURNING give?

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};
use onlap::{Row, TableSchema};
use onlap_pg::bound::{Check, CheckKind, Modify};
use onlap_query::{Change, Checks, RowExprs, Source};

use super::insert::batch_of;
use super::{Statement, array_of, column_of};
use crate::error::{Result, SqlError, state};
use crate::plan::{Held, TableHandle};
use crate::query::{sql_error, versions};

/// The rows that a statement returns, as they come; they count among the memory of queries until they are sent.
#[derive(Default)]
pub struct Returned(Option<Held>);

impl Returned {
    /// None yet, charged to this.
    pub fn charged(held: Held) -> Returned {
        Returned(Some(held))
    }

    /// Adds what is returned of some rows, whose columns `source` gives.
    ///
    /// # Errors
    /// Those of the expressions; `53200`.
    pub fn add(
        &mut self,
        exprs: Option<&RowExprs>,
        rows: usize,
        source: impl Fn(Source) -> Result<ArrayRef>,
    ) -> Result<()> {
        let (Some(exprs), Some(held)) = (exprs.filter(|_| rows > 0), &mut self.0) else {
            return Ok(());
        };
        held.add(values(exprs, rows, source)?)
    }

    /// The rows.
    pub fn into_held(self) -> Option<Held> {
        self.0
    }
}

/// Whether RETURNING, WITH CHECK OPTION or a policy asks for generated columns of rows that are written. The engine calculates them as rows
/// come in; only where they are asked for before are they calculated here, too.
pub fn asks_generated(schema: &TableSchema, change: &Change) -> bool {
    let exprs = change.returning.iter().chain(change.checks.iter().map(|checks| &checks.exprs));
    let is_it = |of: &Source| match of {
        Source::Row(number) => schema.is_generated(number - 1),
        // A version is made of all columns.
        of => *of == Source::Version,
    };
    !schema.generated.is_empty() && exprs.flat_map(RowExprs::sources).any(is_it)
}

/// Whether the same ask for the versions of rows that are written.
pub fn asks_version(change: &Change) -> bool {
    let exprs = change.returning.iter().chain(change.checks.iter().map(|checks| &checks.exprs));
    exprs.flat_map(RowExprs::sources).any(|of| *of == Source::Version)
}

/// The values of expressions, of rows whose columns `source` gives.
///
/// # Errors
/// Those of the expressions.
pub fn values(
    exprs: &RowExprs,
    rows: usize,
    source: impl Fn(Source) -> Result<ArrayRef>,
) -> Result<RecordBatch> {
    let columns: Vec<ArrayRef> =
        exprs.sources().iter().map(|of| source(*of)).collect::<Result<_>>()?;
    exprs.of(&columns, rows).map_err(|e| sql_error(&e, ""))
}

/// What is asked of some rows of a statement.
#[derive(Clone, Copy)]
pub struct Asks<'a> {
    statement: &'a Statement<'a>,
    checks: &'a [Checks],
}

impl<'a> Asks<'a> {
    /// What a statement asks of rows that are written.
    pub fn of(statement: &'a Statement<'a>, change: &'a Change) -> Asks<'a> {
        Asks { statement, checks: &change.checks }
    }

    /// Whether anything is asked of these rows.
    pub fn any(&self, kind: CheckKind) -> bool {
        self.checks.iter().any(|checks| checks.kind == kind)
    }

    /// Fails where one of some rows, whose columns `source` gives, is not as a view or a policy wants it; `whole` gives one as it
    /// is written, if it is to be told.
    ///
    /// # Errors
    /// `44000`, `42501`; those of the expressions.
    pub fn check(
        &self,
        kind: CheckKind,
        rows: usize,
        source: impl Fn(Source) -> Result<ArrayRef>,
        whole: impl Fn(usize) -> Result<Option<Row>>,
    ) -> Result<()> {
        let found = self.checks.iter().find(|checks| checks.kind == kind);
        let Some(checks) = found.filter(|_| rows > 0) else { return Ok(()) };
        let made = values(&checks.exprs, rows, source)?;
        for row in 0..rows {
            for (at, which) in checks.which.iter().enumerate() {
                let holds = made.column(at).as_boolean();
                if holds.is_null(row) || !holds.value(row) {
                    let unmet = unmet(&self.statement.modify.checks[*which]);
                    let told = if kind == CheckKind::View { whole(row)? } else { None };
                    return Err(match told {
                        Some(told) => unmet.of_row(&self.statement.target.schema, &told),
                        None => unmet,
                    });
                }
            }
        }
        Ok(())
    }

    /// The same of whole rows in the columns of the statement's table.
    ///
    /// # Errors
    /// As of [`Asks::check`].
    pub fn check_rows(&self, kind: CheckKind, rows: &[Row]) -> Result<()> {
        let source = |source| self.statement.of_written(source, rows, &[]);
        self.check(kind, rows.len(), source, |at| Ok(Some(rows[at].clone())))
    }
}

/// Fails where one of some rows that triggers of a view gave back is not as a view over that wants it.
///
/// # Errors
/// `44000`; those of the expressions.
pub fn check_given_back(
    modify: &Modify,
    change: &Change,
    rows: usize,
    source: impl Fn(Source) -> Result<ArrayRef>,
) -> Result<()> {
    let found = change.checks.iter().find(|checks| checks.kind == CheckKind::View);
    let Some(checks) = found.filter(|_| rows > 0) else { return Ok(()) };
    let made = values(&checks.exprs, rows, source)?;
    for (at, which) in checks.which.iter().enumerate() {
        let holds = made.column(at).as_boolean();
        if (0..rows).any(|row| holds.is_null(row) || !holds.value(row)) {
            return Err(unmet(&modify.checks[*which]));
        }
    }
    Ok(())
}

impl Statement<'_> {
    /// What expressions are calculated of, of rows that are written, in the columns of the statement's table. `changed` says which of
    /// them were there before, if any was.
    ///
    /// # Errors
    /// Values that their columns cannot have; `23514`.
    pub fn of_written(&self, source: Source, rows: &[Row], changed: &[bool]) -> Result<ArrayRef> {
        match source {
            Source::Row(number) => array_of(self.target, number, column_of(rows, number)),
            Source::Relation(_) => self.relations_of(rows),
            Source::Version => Ok(Arc::new(UInt32Array::from(versions_of(self.target, rows)?))),
            Source::Ended => {
                let locked = (0..rows.len()).map(|row| changed.get(row) == Some(&true));
                Ok(self.ended(locked))
            }
            Source::Command => Ok(Arc::new(UInt32Array::from_value(0, rows.len()))),
            Source::Found(_) | Source::Excluded(_) => {
                Err(SqlError::defect("rows are asked for that are written"))
            }
        }
    }

    /// Of rows, whether the transaction has ended or locked each, its number as an xid.
    pub fn ended(&self, by_it: impl Iterator<Item = bool>) -> ArrayRef {
        let number = self.view.scope.number(&self.view.instance) as u32;
        Arc::new(UInt32Array::from_iter_values(by_it.map(|is| if is { number } else { 0 })))
    }
}

/// The versions of rows of a table.
///
/// # Errors
/// Values that their columns cannot have.
pub fn versions_of(table: &TableHandle, rows: &[Row]) -> Result<Vec<u32>> {
    let batch = batch_of(table, rows)?;
    Ok(versions::of_rows(&table.schema, batch.columns.iter().enumerate(), rows.len()))
}

/// A row is not as it has to be.
fn unmet(check: &Check) -> SqlError {
    let table = &check.relation;
    let policy = check.policy.as_ref().map_or(String::new(), |name| format!(" \"{name}\""));
    let (row, using) = match check.kind {
        CheckKind::View => {
            let text = format!("new row violates check option for view \"{table}\"");
            return SqlError::new("44000", text);
        }
        CheckKind::Insert | CheckKind::Update => ("new", ""),
        CheckKind::Conflict => ("new", " (USING expression)"),
        CheckKind::MergeUpdate | CheckKind::MergeDelete => ("target", " (USING expression)"),
    };
    let text = format!(
        "{row} row violates row-level security policy{policy}{using} for table \"{table}\""
    );
    SqlError::new(state::NO_PRIVILEGE, text)
}
