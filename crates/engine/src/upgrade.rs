//! How does a transaction commit that was filled under an older schema?
//!
//! A schema change holds nobody up, so a transaction may come to its next statement, or to its commit,
//! with rows in the form of a schema that is gone. They are put into the new form on the client's
//! thread ([`rows`]): a column that was added gets the value that rows from before read, one that was
//! dropped is left out, and derived columns are calculated. At the commit keys of unique indexes are claimed anew ([`upgrade`]). The leader
//! looks again; where the schema changed once more in between, the transaction comes back
//! ([`is_outdated`]) and the same happens again.
//!
//! What cannot be put into the new form is refused: a column whose type was changed by a rewrite, NULL
//! where it is not allowed any more, a table that was truncated or dropped.
//!
//! Thread safety: belongs to the transaction's thread.

use onlap_base::{Error, ErrorKind, Result};
use onlap_format::changes::{LoggedChange, Scalar};
use onlap_format::{Batch, Column, ColumnSchema, TableSchema, convert};

use crate::changes;
use crate::commit::TableWrite;
use crate::derive::{self, Calculator};
use crate::rules::alter::judge_again;
use crate::rules::not_null;
use crate::unique;

/// Puts what a transaction does to a table into the form of the schema of the moment.
pub(crate) fn upgrade(calculator: &Calculator, write: &mut TableWrite) -> Result<()> {
    let schema = write.state.schema();
    if schema.version == write.schema.version {
        return Ok(());
    }
    let rows = rows(calculator, &write.schema, &schema, &write.rows)?;
    let counts = |row: usize| write.gone.binary_search(&(row as u32)).is_err();
    judge_again(calculator, &write.schema, &schema, &rows, &counts)?;
    write.changes.retain(|c| schema.position(c.column).is_some());
    let takes_null = |c: &LoggedChange| {
        let column = schema.position(c.column).map(|p| &schema.columns[p]);
        column.is_none_or(|column| column.nullable) || *c.op.scalar() != Scalar::Null
    };
    if !write.changes.iter().all(takes_null) {
        return Err(changes::no_longer_free(&schema));
    }
    write.rows = rows;
    unique::check_key_lengths(&schema, &write.rows)?;
    write.unique = match write.blind.is_empty() {
        true => unique::claims(&schema, &write.rows, None)?,
        false => unique::blind_claims(&schema, &write.rows, &write.blind)?,
    };
    write.schema = schema;
    Ok(())
}

/// Whether a commit was refused because the schema changed after [`upgrade`].
pub(crate) fn is_outdated(e: &Error, writes: &[TableWrite]) -> bool {
    e.kind() == ErrorKind::Conflict
        && writes.iter().any(|w| w.state.schema().version != w.schema.version)
}

/// Rows of one schema in the form of another.
pub(crate) fn rows(
    calculator: &Calculator,
    from: &TableSchema,
    to: &TableSchema,
    rows: &Batch,
) -> Result<Batch> {
    let mut out = Batch { columns: Vec::with_capacity(to.columns.len()), rows: rows.rows };
    for column in &to.columns {
        let old = from.position(column.id);
        let values = match old {
            Some(at) => rows.columns[at].clone(),
            None if from.position_by_name(&column.name).is_some() => {
                let text = format!(
                    "column {} of table {} was replaced meanwhile; run the transaction again",
                    column.name, to.name
                );
                return Err(Error::new(ErrorKind::Conflict, text));
            }
            None => missing(column, rows.rows)?,
        };
        out.columns.push(values);
    }
    derive::generate(calculator, to, &mut out)?;
    for (column, values) in to.columns.iter().zip(&out.columns) {
        if let Some(row) = (0..rows.rows).find(|i| !column.nullable && values.is_null(*i)) {
            return Err(not_null(to, &column.name, |at| {
                convert::read_value(to.columns[at].ty, &out.columns[at], row)
            }));
        }
    }
    if !to.derived.is_empty() {
        derive::fill(calculator, to, &mut out)?;
    }
    assert_eq!(out.columns.len(), to.width(), "rows have the columns of their schema");
    Ok(out)
}

/// What rows from before a column was added read in it.
pub(crate) fn missing(column: &ColumnSchema, rows: usize) -> Result<Column> {
    let mut one = Column::new(column.ty.physical());
    match &column.missing {
        Some(value) => convert::push_value(column.ty, value, &mut one, &column.name)?,
        None => one.push_null(),
    }
    let mut all = Column::new(column.ty.physical());
    all.extend_selected(&one, &vec![0; rows]);
    Ok(all)
}
