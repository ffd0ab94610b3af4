//! Which version of a row is this, to clients?
//!
//! `xmin` is a print of what the row has: of the names of its columns and their values, as the engine keeps them. So it is known
//! before the transaction commits, is the same after, and is another one when the row has become another, whether a new row took
//! its place or a column was changed where it lies. A row that is changed back has its old print. Two rows have the same print by
//! chance, once in 2³²: what compares it compares that of one row, which it names by its key. NULL adds nothing, so that a new
//! column without a default leaves prints as they are; the order of columns does not count, which partitions have each of
//! their own.
//!
//! It says nothing of when a row was written, and has no order.
//!
//! Pure.

use onlap::{Column, TableSchema, Vector};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// The first number that an ordinary transaction has in PostgreSQL: those below mean something else.
const FIRST_VERSION: u32 = 3;

/// The versions of rows, of which all columns of the table are given, each with its place in the schema.
pub fn of_rows<'c>(
    schema: &TableSchema,
    columns: impl Iterator<Item = (usize, &'c Column)>,
    rows: usize,
) -> Vec<u32> {
    let mut prints = vec![0_u64; rows];
    for (at, column) in columns {
        let seed = xxh3_64(schema.columns[at].name.as_bytes());
        for (row, print) in prints.iter_mut().enumerate().filter(|(row, _)| !column.is_null(*row)) {
            *print = print.wrapping_add(print_of(&column.data, row, seed));
        }
    }
    prints.into_iter().map(folded).collect()
}

fn print_of(values: &Vector, row: usize, seed: u64) -> u64 {
    match values {
        Vector::Int(values) => xxh3_64_with_seed(&values[row].to_le_bytes(), seed),
        Vector::Wide(values) => xxh3_64_with_seed(&values[row].to_le_bytes(), seed),
        Vector::Numeric(mantissas, scales) => {
            let number = onlap::Numeric { mantissa: mantissas[row], scale: scales[row] };
            let number = number.canonical_nan();
            let mut bytes = [0; 17];
            bytes[..16].copy_from_slice(&number.mantissa.to_le_bytes());
            bytes[16] = number.scale;
            xxh3_64_with_seed(&bytes, seed)
        }
        Vector::Bytes(values) => xxh3_64_with_seed(values.get(row), seed),
    }
}

/// A print as an xid that a transaction may have.
fn folded(print: u64) -> u32 {
    let short = (print ^ (print >> 32)) as u32;
    if short < FIRST_VERSION { short + FIRST_VERSION } else { short }
}

#[cfg(test)]
mod tests {
    use onlap::{DataType, TableSpec, Value, convert};

    use super::*;

    fn version(names: &[&str], values: &[Value]) -> u32 {
        let types = values.iter().map(|value| match value {
            Value::Text(_) => DataType::Text,
            Value::Numeric(_) => DataType::Numeric(None),
            Value::Bytes(_) => DataType::Bytea,
            _ => DataType::Int8,
        });
        let mut spec = TableSpec::new("t");
        let mut columns = Vec::new();
        for ((name, ty), value) in names.iter().zip(types).zip(values) {
            spec = spec.column(*name, ty);
            let mut column = Column::new(ty.physical());
            convert::push_value(ty, value, &mut column, name).expect("it fits");
            columns.push(column);
        }
        let dir = tempfile::tempdir().expect("a folder");
        let db = onlap::Database::open(dir.path(), onlap::Options::default()).expect("it opens");
        let table = db.create_table(spec).expect("it is made");
        of_rows(&table.schema(), columns.iter().enumerate(), 1)[0]
    }

    #[test]
    fn a_version_is_what_the_row_has() {
        let text = |text: &str| Value::Text(text.into());
        let one = version(&["a", "b"], &[Value::Int(1), text("x")]);
        assert!(one >= FIRST_VERSION);
        assert_eq!(one, version(&["b", "a"], &[text("x"), Value::Int(1)]), "in any order");
        let wider = version(&["a", "b", "c"], &[Value::Int(1), text("x"), Value::Null]);
        assert_eq!(one, wider, "NULL adds nothing");
        for other in [
            version(&["a", "b"], &[Value::Int(2), text("x")]),
            version(&["a", "b"], &[Value::Int(1), text("y")]),
            version(&["a", "b"], &[Value::Int(1), Value::Null]),
            version(&["a", "c"], &[Value::Int(1), text("x")]),
            version(&["a", "b"], &[Value::Int(1), Value::Bytes(b"y".to_vec())]),
        ] {
            assert_ne!(one, other);
        }
        let number = |mantissa, scale| Value::Numeric(onlap::Numeric { mantissa, scale });
        assert_ne!(version(&["n"], &[number(10, 1)]), version(&["n"], &[number(100, 2)]));
        assert_eq!([0, 2, 3].map(folded), [3, 5, 3]);
    }
}
