//! A workload's table and rows as SQL.

use std::fmt::Write;

use onlap::{Batch, DataType, convert};

use crate::generate::{IndexShape, TableShape};

/// CREATE TABLE, with its first `indexes` secondary indexes.
pub(crate) fn create_table(shape: &TableShape, indexes: usize) -> Vec<String> {
    let (key, _) = shape.columns[0];
    let columns: Vec<String> =
        shape.columns[1..].iter().map(|(name, ty)| format!("{name} {ty} NOT NULL")).collect();
    let mut statements = vec![format!(
        "CREATE TABLE {} ({key} bigserial PRIMARY KEY, {})",
        shape.name,
        columns.join(", ")
    )];
    statements.extend(shape.indexes[..indexes].iter().map(|index| create_index(shape, index)));
    statements
}

/// CREATE INDEX.
pub(crate) fn create_index(shape: &TableShape, index: &IndexShape) -> String {
    let columns: Vec<&str> = index.columns.iter().map(|c| shape.columns[*c].0).collect();
    format!("CREATE INDEX {} ON {} ({})", index.name, shape.name, columns.join(", "))
}

/// INSERT of all rows of a batch; the key is left to its counter.
pub(crate) fn insert_text(shape: &TableShape, batch: &Batch, out: &mut String) {
    let names: Vec<&str> = shape.columns[1..].iter().map(|(name, _)| *name).collect();
    out.clear();
    write!(out, "INSERT INTO {} ({}) VALUES ", shape.name, names.join(", "))
        .expect("strings take any text");
    for row in 0..batch.rows {
        out.push_str(if row == 0 { "(" } else { ", (" });
        for (i, (_, ty)) in shape.columns.iter().enumerate().skip(1) {
            if i > 1 {
                out.push_str(", ");
            }
            let quoted = !matches!(ty, DataType::Int2 | DataType::Int4 | DataType::Int8);
            if quoted {
                out.push('\'');
            }
            convert::format_text(*ty, &convert::read_value(*ty, &batch.columns[i], row), out);
            if quoted {
                out.push('\'');
            }
        }
        out.push(')');
    }
}

/// A row of COPY's text form, without the key.
pub(crate) fn row_text(shape: &TableShape, batch: &Batch, row: usize, out: &mut String) {
    for (i, (_, ty)) in shape.columns.iter().enumerate().skip(1) {
        if i > 1 {
            out.push('\t');
        }
        convert::format_text(*ty, &convert::read_value(*ty, &batch.columns[i], row), out);
    }
    out.push('\n');
}
