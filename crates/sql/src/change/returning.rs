//! What does RETURNING give?

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use onlap::TableSchema;
use onlap_query::{Change, RowExprs, Source};

use super::Statement;
use crate::error::{Result, SqlError};
use crate::plan::Held;
use crate::query::sql_error;

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

/// Whether RETURNING or WITH CHECK OPTION asks for generated columns of rows that are written. The engine calculates them as rows
/// come in; only where they are asked for before are they calculated here, too.
pub fn asks_generated(schema: &TableSchema, change: &Change) -> bool {
    let exprs = change.returning.iter().chain(&change.checks);
    let is_it = |of: &Source| matches!(of, Source::Row(number) if schema.is_generated(number - 1));
    !schema.generated.is_empty() && exprs.flat_map(RowExprs::sources).any(is_it)
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

/// Fails where a row was written that a view does not show that the statement goes through.
///
/// # Errors
/// `44000`; those of the expressions.
pub fn check(
    statement: &Statement<'_>,
    checks: Option<&RowExprs>,
    rows: usize,
    source: impl Fn(Source) -> Result<ArrayRef>,
) -> Result<()> {
    let Some(checks) = checks.filter(|_| rows > 0) else { return Ok(()) };
    let made = values(checks, rows, source)?;
    for row in 0..rows {
        for (at, check) in statement.modify.checks.iter().enumerate() {
            let holds = made.column(at).as_boolean();
            if holds.is_null(row) || !holds.value(row) {
                let text = format!("new row violates check option for view \"{}\"", check.view);
                return Err(SqlError::new("44000", text));
            }
        }
    }
    Ok(())
}
