//! Which words do rows have?

use std::collections::BTreeSet;
use std::sync::Arc;

use onlap::{
    CheckOptions, Column, DataType, Database, DerivedSpec, Formula, Formulas, IndexSpec, KeyRange,
    Options, Predicate, Result, Row, Scan, Snapshot, SyncMode, Table, TableSchema, TableSpec,
    Value, Vector, check_with, entries,
};
use onlap_base::rng::Rng;
use onlap_vfs::MemFs;

use super::support::{calculated, integer, small_options};

pub const DIR: &str = "/db";

/// Calculates: the words of a text as a list, whether a number is high; and lists that are none.
pub struct Double;

impl Formulas for Double {
    fn calculate(
        &self,
        _: &TableSchema,
        of: Formula<'_>,
        inputs: &[Column],
        rows: usize,
    ) -> Result<Column> {
        calculated(of, &inputs[0], rows, |from, row, to| {
            match (of.program, from, to) {
                ("words", Vector::Bytes(from), Vector::Bytes(to)) => {
                    let mut words = words_of(from.get(row));
                    to.push(&entries::pack(&mut words)?);
                }
                ("itself", Vector::Bytes(from), Vector::Bytes(to)) => to.push(from.get(row)),
                ("high", Vector::Int(from), Vector::Int(to)) => {
                    to.push(i64::from(from[row] >= HIGH));
                }
                other => panic!("{other:?}"),
            }
            Ok(())
        })
    }
}

pub const HIGH: i64 = 700;

/// What stands between spaces.
pub fn words_of(text: &[u8]) -> Vec<Vec<u8>> {
    text.split(|b| *b == b' ').filter(|word| !word.is_empty()).map(<[u8]>::to_vec).collect()
}

pub fn words() -> DerivedSpec {
    let (name, program) = ("words of text".to_owned(), "words".to_owned());
    DerivedSpec { name, ty: DataType::Bytea, reads: vec!["text".into()], program }
}

pub fn high() -> DerivedSpec {
    let (name, program) = ("n >= 700".to_owned(), "high".to_owned());
    DerivedSpec { name, ty: DataType::Bool, reads: vec!["n".into()], program }
}

/// By words, by words of rows with a high number, and one by the number.
pub fn indexes() -> Vec<IndexSpec> {
    vec![by_words(), by_high_words(), IndexSpec::new("by_n", ["n"])]
}

pub fn by_words() -> IndexSpec {
    IndexSpec::new("by_word", [] as [&str; 0]).entries(words())
}

pub fn by_high_words() -> IndexSpec {
    IndexSpec::new("by_high_word", [] as [&str; 0]).entries(words()).only_where(high())
}

pub fn spec() -> TableSpec {
    TableSpec::new("t")
        .column("id", DataType::Int8)
        .nullable_column("text", DataType::Text)
        .nullable_column("n", DataType::Int8)
        .nullable_column("free", DataType::Int4)
        .primary_key(["id"])
}

/// Words that rows have, from frequent to rare; one is the beginning of another, one is as long as may be.
pub fn vocabulary() -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = (0..60).map(|i| format!("w{i}").into_bytes()).collect();
    all.push(vec![b'x'; entries::KEY_BYTES]);
    all.push(vec![b'x'; entries::KEY_BYTES - 1]);
    all
}

/// A text with some words, none, or NULL.
pub fn text(rng: &mut Rng) -> Value {
    let all = vocabulary();
    if rng.chance(0.08) {
        return Value::Null;
    }
    let count = rng.below(12);
    let word = |rng: &mut Rng| {
        // The first words are in most texts.
        let at = rng.below(all.len() as u64).min(rng.below(all.len() as u64 * 2));
        String::from_utf8(all[at as usize].clone()).unwrap()
    };
    Value::Text((0..count).map(|_| word(rng)).collect::<Vec<_>>().join(" "))
}

pub fn row(id: i64, rng: &mut Rng) -> Row {
    let n = if rng.chance(0.1) { Value::Null } else { Value::Int(rng.below(1000) as i64) };
    vec![Value::Int(id), text(rng), n, Value::Int(id % 5)]
}

pub fn options(disk: &MemFs) -> Options {
    Options { fs: Arc::new(disk.clone()), ..small_options(SyncMode::Fsync) }
}

pub fn open(disk: &MemFs) -> Database {
    let db = Database::open(DIR, options(disk)).unwrap();
    db.set_formulas(Arc::new(Double));
    db
}

/// The keys of a row.
pub fn keys_of(row: &Row) -> BTreeSet<Vec<u8>> {
    match &row[1] {
        Value::Text(text) => words_of(text.as_bytes()).into_iter().collect(),
        _ => BTreeSet::new(),
    }
}

pub fn is_high(row: &Row) -> bool {
    matches!(row[2], Value::Int(n) if n >= HIGH)
}

pub fn key(word: &[u8]) -> KeyRange {
    KeyRange::eq([Value::Bytes(word.to_vec())])
}

/// Who shows rows: a snapshot or a transaction.
pub trait Shows {
    fn rows(&mut self, table: &Table) -> Vec<Row>;
    fn named(&mut self, table: &Table, predicate: &Predicate) -> Vec<i64>;
    fn counted(&mut self, table: &Table, index: &str, range: KeyRange) -> u64;
}

impl Shows for Snapshot {
    fn rows(&mut self, table: &Table) -> Vec<Row> {
        self.scan(table, Scan::all()).unwrap().rows().unwrap()
    }
    fn named(&mut self, table: &Table, predicate: &Predicate) -> Vec<i64> {
        let rows = self.row_set(table, predicate).unwrap();
        assert!(rows.iter().is_sorted_by(|a, b| a < b), "each row once");
        let near = self.rows_near(table, predicate).unwrap();
        assert!(rows.iter().all(|row| near.contains(row)), "{predicate:?}: a row is not near");
        let found = self.fetch_set(table, &rows, Some(&["id"])).unwrap();
        (0..found.len()).map(|i| integer(&found.value(i, 0))).collect()
    }
    fn counted(&mut self, table: &Table, index: &str, range: KeyRange) -> u64 {
        let n = self.index_count(table, index, range.clone()).unwrap();
        assert_eq!(n, self.index_row_ids(table, index, range).unwrap().len() as u64);
        n
    }
}

impl Shows for onlap::Transaction {
    fn rows(&mut self, table: &Table) -> Vec<Row> {
        self.scan(table, Scan::all()).unwrap().rows().unwrap()
    }
    fn named(&mut self, table: &Table, predicate: &Predicate) -> Vec<i64> {
        let rows = self.row_set(table, predicate).unwrap();
        assert!(rows.iter().is_sorted_by(|a, b| a < b), "each row once");
        let near = self.rows_near(table, predicate).unwrap();
        assert!(rows.iter().all(|row| near.contains(row)), "{predicate:?}: a row is not near");
        let found = self.fetch_set(table, &rows, Some(&["id"])).unwrap();
        (0..found.len()).map(|i| integer(&found.value(i, 0))).collect()
    }
    fn counted(&mut self, table: &Table, index: &str, range: KeyRange) -> u64 {
        self.index_count(table, index, range).unwrap()
    }
}

/// What the indexes of a table name is what a scan finds.
pub fn agree(shows: &mut impl Shows, table: &Table) {
    let rows = shows.rows(table);
    let known: Vec<(Row, BTreeSet<Vec<u8>>)> =
        rows.into_iter().map(|row| (row.clone(), keys_of(&row))).collect();
    for index in table.schema().indexes.iter().filter(|i| i.multi_entry) {
        agree_by(shows, table, &index.name, index.filter.is_some(), &known);
    }
}

fn agree_by(
    shows: &mut impl Shows,
    table: &Table,
    index: &str,
    partial: bool,
    known: &[(Row, BTreeSet<Vec<u8>>)],
) {
    let find = |wanted: &dyn Fn(&Row, &BTreeSet<Vec<u8>>) -> bool| {
        let all = known.iter().filter(|(row, keys)| wanted(row, keys));
        let mut ids: Vec<i64> = all.map(|(row, _)| integer(&row[0])).collect();
        ids.sort_unstable();
        ids
    };
    let mut named = |predicate: Predicate| {
        let mut ids = shows.named(table, &predicate);
        ids.sort_unstable();
        ids
    };
    let is_in = |row: &Row| !partial || is_high(row);
    let words = vocabulary();
    for word in &words {
        let has = |row: &Row, keys: &BTreeSet<Vec<u8>>| is_in(row) && keys.contains(word);
        let found = named(Predicate::index(index, key(word)));
        assert_eq!(found, find(&has), "{index}: {}", String::from_utf8_lossy(word));
        let others = named(!Predicate::index(index, key(word)));
        assert_eq!(others, find(&|row, keys| !has(row, keys)), "{index}: not");
    }
    let bytes = |word: &[u8]| Value::Bytes(word.to_vec());
    for pair in words.windows(2).step_by(5) {
        let (low, high) =
            (&pair[0].clone().min(pair[1].clone()), &pair[0].clone().max(pair[1].clone()));
        let range = KeyRange::between([bytes(low)], [bytes(high)]);
        let inside = |k: &Vec<u8>| low <= k && k <= high;
        let found = named(Predicate::index(index, range));
        assert_eq!(
            found,
            find(&|row, keys| is_in(row) && keys.iter().any(inside)),
            "{index}: range"
        );
        let found = named(Predicate::index(index, KeyRange::after([bytes(high)])));
        let behind = |k: &Vec<u8>| k > high;
        assert_eq!(
            found,
            find(&|row, keys| is_in(row) && keys.iter().any(behind)),
            "{index}: after"
        );
        let found = named(Predicate::any_of(index, [KeyRange::before([bytes(low)]), key(high)]));
        let either = |k: &Vec<u8>| k < low || k == high;
        assert_eq!(
            found,
            find(&|row, keys| is_in(row) && keys.iter().any(either)),
            "{index}: any of"
        );
        let both = Predicate::index(index, key(low)).and(Predicate::index(index, key(high)));
        let has_both = |row: &Row, keys: &BTreeSet<Vec<u8>>| {
            is_in(row) && keys.contains(low) && keys.contains(high)
        };
        assert_eq!(named(both), find(&has_both), "{index}: both");
        let one = Predicate::index(index, key(low)).and(!Predicate::index(index, key(high)));
        let one = one.or(Predicate::index("t_pkey", KeyRange::to([Value::Int(20)])));
        let has_one = |row: &Row, keys: &BTreeSet<Vec<u8>>| {
            is_in(row) && keys.contains(low) && !(is_in(row) && keys.contains(high))
                || integer(&row[0]) <= 20
        };
        assert_eq!(named(one), find(&has_one), "{index}: one or a key");
    }
    let some = find(&|row, keys| is_in(row) && !keys.is_empty());
    assert_eq!(named(Predicate::index(index, KeyRange::all())), some, "{index}: any key");
    assert_eq!(named(Predicate::index(index, KeyRange::eq([Value::Null]))), [] as [i64; 0]);
    assert_eq!(shows.counted(table, index, KeyRange::all()), some.len() as u64);
}

pub fn check(disk: &MemFs) {
    let options = CheckOptions { options: options(disk) };
    let report = check_with(DIR, &options, &|db| db.set_formulas(Arc::new(Double))).unwrap();
    assert_eq!(report.findings, []);
    assert_eq!(report.unchecked, 0);
}
