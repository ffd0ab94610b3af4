//! Which letters do texts have?
//!
//! What rigs calculate for indexes with several entries of a row: the bytes of a text, each once.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use onlap::{
    BytesVec, CheckOptions, CheckReport, Column, DataType, Database, DerivedSpec, Formula,
    Formulas, IndexSpec, KeyRange, Options, Predicate, Result, Snapshot, Table, TableSchema, Value,
    Vector, check_with, entries,
};

use crate::rows::Rows;

struct Letters;

impl Formulas for Letters {
    fn calculate(
        &self,
        _: &TableSchema,
        _: Formula<'_>,
        inputs: &[Column],
        rows: usize,
    ) -> Result<Column> {
        let Vector::Bytes(texts) = &inputs[0].data else { panic!("texts are bytes") };
        let mut lists = BytesVec::default();
        for row in 0..rows {
            let mut keys: Vec<[u8; 1]> = texts.get(row).iter().map(|b| [*b]).collect();
            lists.push(&entries::pack(&mut keys)?);
        }
        Ok(Column { data: Vector::Bytes(lists), nulls: None })
    }
}

/// An index by the letters of a column.
pub fn index(name: &str, column: &str) -> IndexSpec {
    let letters = DerivedSpec {
        name: format!("letters of {column}"),
        ty: DataType::Bytea,
        reads: vec![column.into()],
        program: format!("letters of {column}"),
    };
    IndexSpec::new(name, [] as [&str; 0]).entries(letters)
}

/// Opens a database with such indexes.
///
/// # Errors
/// As [`Database::open`].
pub fn open(dir: impl AsRef<Path>, options: Options) -> Result<Database> {
    let db = Database::open(dir, options)?;
    db.set_formulas(Arc::new(Letters));
    Ok(db)
}

/// Checks one.
///
/// # Errors
/// As [`onlap::check`].
pub fn check(dir: impl AsRef<Path>, options: Options) -> Result<CheckReport> {
    check_with(dir, &CheckOptions { options }, &|db| db.set_formulas(Arc::new(Letters)))
}

/// What an index by letters says that is not so of these rows, which are those that the snapshot shows.
pub(crate) fn differs(
    snapshot: &Snapshot,
    table: &Table,
    index: &str,
    rows: &Rows,
) -> Result<Option<String>> {
    let schema = table.schema();
    let known = schema.index_by_name(index).and_then(|i| schema.derived(i.key[0].column));
    let Some(at) = known.and_then(|of| schema.position(of.reads[0])) else { return Ok(None) };
    let letters = |row: &onlap::Row| -> BTreeSet<u8> {
        match &row[at] {
            Value::Text(text) => text.bytes().collect(),
            _ => BTreeSet::new(),
        }
    };
    let rows: Vec<_> = rows.iter().map(|(id, row)| (*id, letters(row))).collect();
    let all: BTreeSet<u8> = rows.iter().flat_map(|row| row.1.iter().copied()).collect();
    for letter in all.into_iter().chain([0]) {
        let key = KeyRange::eq([Value::Bytes(vec![letter])]);
        let found = snapshot.row_set(table, &Predicate::index(index, key))?.rows();
        let wanted: Vec<_> =
            rows.iter().filter(|row| row.1.contains(&letter)).map(|row| row.0).collect();
        if found != wanted {
            let text =
                format!("{} rows have {letter}, index {index} names {}", wanted.len(), found.len());
            return Ok(Some(text));
        }
    }
    let found = snapshot.index_row_ids(table, index, KeyRange::all())?;
    let wanted = rows.iter().filter(|row| !row.1.is_empty()).map(|row| row.0);
    let text = format!("index {index} has entries of {} rows", found.len());
    Ok((!found.into_iter().eq(wanted)).then_some(text))
}
