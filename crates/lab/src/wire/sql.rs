//! A workload's table and rows as SQL.

use std::fmt::Write;

use onlap::{Batch, DataType, Vector, convert};

use super::server::Kind;
use super::session::Dialect;
use crate::generate::{IndexShape, TableShape};

/// CREATE TABLE, with its first `indexes` secondary indexes.
pub(crate) fn create_table(shape: &TableShape, indexes: usize, kind: Kind) -> Vec<String> {
    let (key, _) = shape.columns[0];
    let dialect = kind.dialect();
    let columns: Vec<String> = shape.columns[1..]
        .iter()
        .map(|(name, ty)| format!("{name} {} NOT NULL", column_type(*ty, dialect)))
        .collect();
    // SQLite's own row numbers are the key only of a column of exactly this type.
    let given = if dialect == Dialect::Sqlite { "integer" } else { "bigint" };
    let serial = if shape.gives_keys { given } else { dialect.serial() };
    let mut statements = vec![format!(
        "CREATE TABLE {} ({key} {serial} PRIMARY KEY, {}){}",
        shape.name,
        columns.join(", "),
        table_options(kind)
    )];
    statements.extend(shape.indexes[..indexes].iter().map(|index| create_index(shape, index)));
    statements
}

/// What stands behind the columns of a table: strings in the order of their bytes, as on the other side.
pub(crate) fn table_options(kind: Kind) -> &'static str {
    match kind {
        Kind::InnodbCompressed => {
            " DEFAULT CHARSET=latin1 COLLATE=latin1_bin ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8"
        }
        kind if kind.dialect() == Dialect::Mysql => " DEFAULT CHARSET=latin1 COLLATE=latin1_bin",
        _ => "",
    }
}

/// A column's type.
fn column_type(ty: DataType, dialect: Dialect) -> String {
    match (dialect, ty) {
        (Dialect::Mysql, DataType::Timestamp) => "datetime".to_owned(),
        (Dialect::Mysql, DataType::Int4) => "int".to_owned(),
        (Dialect::Mysql, DataType::Int8) => "bigint".to_owned(),
        (Dialect::Mysql, DataType::Float8) => "double".to_owned(),
        // It has no times; seconds since 1970 are the smallest that sort.
        (Dialect::Sqlite, DataType::Timestamp) => "integer".to_owned(),
        _ => ty.to_string(),
    }
}

/// CREATE INDEX.
pub(crate) fn create_index(shape: &TableShape, index: &IndexShape) -> String {
    let columns: Vec<&str> = index.columns.iter().map(|c| shape.columns[*c].0).collect();
    format!("CREATE INDEX {} ON {} ({})", index.name, shape.name, columns.join(", "))
}

/// INSERT of all rows of a batch; the key is left to its counter where the table has one.
pub(crate) fn insert_text(shape: &TableShape, batch: &Batch, out: &mut String) {
    let first = usize::from(!shape.gives_keys);
    let names: Vec<&str> = shape.columns[first..].iter().map(|(name, _)| *name).collect();
    out.clear();
    write!(out, "INSERT INTO {} ({}) VALUES ", shape.name, names.join(","))
        .expect("strings take any text");
    for row in 0..batch.rows {
        out.push_str(if row == 0 { "(" } else { ",(" });
        for (i, (_, ty)) in shape.columns.iter().enumerate().skip(first) {
            if i > first {
                out.push(',');
            }
            push_literal(*ty, batch, i, row, out);
        }
        out.push(')');
    }
}

fn push_literal(ty: DataType, batch: &Batch, column: usize, row: usize, out: &mut String) {
    match &batch.columns[column].data {
        Vector::Int(values) if matches!(ty, DataType::Int2 | DataType::Int4 | DataType::Int8) => {
            out.push_str(itoa::Buffer::new().format(values[row]));
        }
        // Generators make text without quotes and backslashes.
        Vector::Bytes(bytes) => {
            out.push('\'');
            let text = std::str::from_utf8(bytes.get(row)).expect("generators make text");
            out.push_str(text);
            out.push('\'');
        }
        _ => {
            out.push('\'');
            convert::format_text(ty, &convert::read_value(ty, &batch.columns[column], row), out);
            out.push('\'');
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::Workload;

    #[test]
    fn tables_are_made_in_both_dialects() {
        let shape = Workload::Ibench.shape();
        let mine = create_table(shape, 1, Kind::Onlap);
        assert!(mine[0].contains("transactionid bigserial PRIMARY KEY"), "{}", mine[0]);
        assert!(mine[0].contains("dateandtime timestamp NOT NULL"), "{}", mine[0]);
        let theirs = create_table(shape, 3, Kind::InnodbCompressed);
        assert!(theirs[0].contains("AUTO_INCREMENT") && theirs[0].contains("COMPRESSED"));
        assert!(theirs[0].contains("dateandtime datetime"), "{}", theirs[0]);
        assert_eq!(theirs.len(), 4);
    }
}
