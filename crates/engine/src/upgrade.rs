//! How does a transaction commit that was filled under an older schema?
//!
//! A schema change holds nobody up, so a transaction may come to its commit with rows in the form of
//! a schema that is gone. They are put into the new form on the client's thread ([`upgrade`]): a
//! column that was added gets the value that rows from before read, one that was dropped is left out,
//! keys of unique indexes are claimed anew. The leader looks again; where the schema changed once more
//! in between, the transaction comes back ([`is_outdated`]) and the same happens again.
//!
//! What cannot be put into the new form is refused: a column whose type was changed by a rewrite, NULL
//! where it is not allowed any more, a table that was truncated or dropped.
//!
//! Thread safety: belongs to the transaction's thread.

use std::sync::Arc;

use onlap_base::{Error, ErrorKind, Result};
use onlap_format::{Batch, TableSchema};

use crate::commit::TableWrite;
use crate::unique;

/// Puts what a transaction does to a table into the form of the schema of the moment.
pub(crate) fn upgrade(write: &mut TableWrite) -> Result<()> {
    let schema = write.state.schema();
    if schema.version == write.schema.version {
        return Ok(());
    }
    if !same_columns(&schema, &write.schema) {
        write.rows = convert(&write.schema, &schema, &mut write.rows)?;
    }
    unique::check_key_lengths(&schema, &write.rows)?;
    write.unique = unique::claims(&schema, &write.rows, None)?;
    write.schema = schema;
    Ok(())
}

/// Whether a commit was refused because the schema changed after [`upgrade`].
pub(crate) fn is_outdated(e: &Error, writes: &[TableWrite]) -> bool {
    e.kind() == ErrorKind::Conflict
        && writes.iter().any(|w| w.state.schema().version != w.schema.version)
}

fn same_columns(a: &TableSchema, b: &TableSchema) -> bool {
    a.columns.len() == b.columns.len() && a.columns == b.columns
}

/// The rows with the columns of another schema; columns move.
fn convert(from: &TableSchema, to: &Arc<TableSchema>, rows: &mut Batch) -> Result<Batch> {
    let mut out = Batch { columns: Vec::with_capacity(to.columns.len()), rows: rows.rows };
    for column in &to.columns {
        let Some(at) = from.position(column.id) else {
            let text = format!("column {} of table {} was added meanwhile", column.name, to.name);
            return Err(Error::new(ErrorKind::Conflict, text));
        };
        out.columns.push(rows.columns[at].clone());
    }
    Ok(out)
}
