//! How does a value of SQL look as JSON?

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, Field};

use super::text;
use crate::types::{Cell, PgType, Style, oid};

/// Appends a value of a column; null for NULL.
pub fn push(field: &Field, column: &ArrayRef, row: usize, out: &mut String) {
    let ty = PgType::of_field(field);
    if column.is_null(row) {
        return out.push_str("null");
    }
    if let DataType::Struct(fields) = column.data_type() {
        let columns = column.as_struct().columns();
        out.push('{');
        for (i, (field, column)) in fields.iter().zip(columns).enumerate() {
            out.push_str(if i > 0 { "," } else { "" });
            text::push_string(field.name(), out);
            out.push(':');
            push(field, column, row, out);
        }
        return out.push('}');
    }
    match Cell::of_array(column, row) {
        Cell::Null => out.push_str("null"),
        Cell::Bool(b) => out.push_str(if b { "true" } else { "false" }),
        Cell::List(items) => {
            let item = match field.data_type() {
                DataType::List(item) => item.as_ref().clone(),
                _ => Field::new("item", items.data_type().clone(), true),
            };
            out.push('[');
            for at in 0..items.len() {
                out.push_str(if at > 0 { "," } else { "" });
                push(&item, &items, at, out);
            }
            out.push(']');
        }
        cell => {
            let mut bytes = Vec::new();
            cell.write_text(ty, Style::default(), &mut bytes);
            let shown = String::from_utf8_lossy(&bytes);
            match (&cell, ty.oid) {
                (Cell::Text(json), oid::JSON | oid::JSONB) => out.push_str(json),
                (Cell::Int(_) | Cell::Float(_) | Cell::Numeric(_), _)
                    if !shown.ends_with(|c: char| c.is_alphabetic()) =>
                {
                    out.push_str(&shown);
                }
                (Cell::Timestamp(_), oid::TIMESTAMPTZ) => {
                    let shown = shown.replacen(' ', "T", 1);
                    let minutes = if shown.ends_with("+00") { ":00" } else { "" };
                    text::push_string(&format!("{shown}{minutes}"), out);
                }
                (Cell::Timestamp(_), _) => text::push_string(&shown.replacen(' ', "T", 1), out),
                _ => text::push_string(&shown, out),
            }
        }
    }
}

/// Whether PostgreSQL puts such values into json_agg on lines of their own.
pub fn is_long(ty: &DataType) -> bool {
    matches!(ty, DataType::List(_) | DataType::Struct(_))
}
