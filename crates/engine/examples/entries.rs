//! What do rows with a hundred entries each in one index cost, and how long does it take to find those with a key?
//!
//! `cargo run --release -p onlap --example entries -- DIR [ROWS] [ENTRIES] [MEMORY_MIB]`
//!
//! Keys are numbers of 8 bytes, frequent and rare ones: the n-th is about as frequent as 1/n.

#![allow(clippy::disallowed_methods, reason = "a program that uses the library")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use onlap::{
    Batch, BytesVec, Column, DataType, Database, DerivedSpec, Formula, Formulas, IndexSpec,
    KeyRange, Options, Predicate, Result, Table, TableSchema, TableSpec, Value, Vector, entries,
};
use onlap_base::rng::splitmix;

const COMMIT_ROWS: u64 = 100;
/// Different keys.
const WORDS: f64 = 1e6;

struct Words(u64);

fn word(state: &mut u64) -> [u8; 8] {
    let unit = (splitmix(state) >> 11) as f64 / (1u64 << 53) as f64;
    (WORDS.powf(unit) as u64).to_be_bytes()
}

impl Formulas for Words {
    fn calculate(
        &self,
        _: &TableSchema,
        _: Formula<'_>,
        inputs: &[Column],
        rows: usize,
    ) -> Result<Column> {
        let Vector::Int(seeds) = &inputs[0].data else { panic!("seeds are numbers") };
        let (mut lists, mut keys) = (BytesVec::default(), Vec::new());
        for seed in &seeds[..rows] {
            keys.clear();
            let mut state = *seed as u64;
            keys.extend((0..self.0).map(|_| word(&mut state)));
            lists.push(&entries::pack(&mut keys)?);
        }
        Ok(Column { data: Vector::Bytes(lists), nulls: None })
    }
}

fn spec(name: &str) -> TableSpec {
    TableSpec::new(name).column("id", DataType::Int8).primary_key(["id"])
}

fn by_word() -> IndexSpec {
    let words = DerivedSpec {
        name: "words".into(),
        ty: DataType::Bytea,
        reads: vec!["id".into()],
        program: "words".into(),
    };
    IndexSpec::new("by_word", [] as [&str; 0]).entries(words)
}

fn insert(table: &Table, rows: u64) -> Result<f64> {
    let began = Instant::now();
    for from in (0..rows).step_by(COMMIT_ROWS as usize) {
        let ids = (from..from + COMMIT_ROWS).map(|id| id as i64).collect();
        let column = Column { data: Vector::Int(ids), nulls: None };
        table.insert_batch(Batch { columns: vec![column], rows: COMMIT_ROWS as usize })?;
    }
    Ok(began.elapsed().as_secs_f64() * 1e6 / rows as f64)
}

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let dir = PathBuf::from(args.next().expect("the directory of the database comes first"));
    let mut number = |or: u64| args.next().map_or(or, |n| n.parse().expect("a number"));
    let (rows, count, memory) = (number(1_000_000), number(100), number(1024));
    let words = Arc::new(Words(count));
    let began = Instant::now();
    let ids = Column { data: Vector::Int((0..100_000).collect()), nulls: None };
    let schema = TableSchema::default();
    let column = onlap::ColumnSchema::new(onlap::ColumnId(0), "words", DataType::Bytea, true);
    let formula = Formula { column: &column, program: "words" };
    words.calculate(&schema, formula, &[ids], 100_000)?;
    println!("{:.2} us a row to make the lists", began.elapsed().as_secs_f64() * 10.0);
    let options = Options::default().memory_limit(memory << 20).sync(onlap::SyncMode::Os);
    let db = Database::open(&dir, options)?;
    db.set_formulas(words);
    let plain = db.create_table(spec("plain"))?;
    println!("{:.2} us a row without the index", insert(&plain, rows)?);
    let table = db.create_table(spec("words").index(by_word()))?;
    println!("{:.2} us a row with it", insert(&table, rows)?);
    let began = Instant::now();
    db.flush()?;
    println!("{:.1} s to flush the rest", began.elapsed().as_secs_f64());
    let began = Instant::now();
    db.settle()?;
    println!("{:.1} s to settle", began.elapsed().as_secs_f64());
    for stats in &db.stats_without_keys()?.tables {
        for index in &stats.indexes {
            let (n, bytes) = (index.entries, index.bytes);
            println!(
                "{}, {}: {n} entries, {:.2} bytes each, {} runs",
                stats.name,
                index.name,
                bytes as f64 / n.max(1) as f64,
                index.runs.len()
            );
        }
    }
    let snapshot = db.snapshot()?;
    for (name, low, high) in
        [("rare", 500_000, 1_000_000), ("middling", 1000, 10_000), ("frequent", 1, 10)]
    {
        let (mut times, mut found, mut state) = (Vec::new(), 0, 7);
        for _ in 0..1000 {
            let word = low + splitmix(&mut state) % (high - low);
            let key = KeyRange::eq([Value::Bytes(word.to_be_bytes().to_vec())]);
            let began = Instant::now();
            found += snapshot.row_set(&table, &Predicate::index("by_word", key))?.len();
            times.push(began.elapsed().as_secs_f64() * 1e6);
        }
        times.sort_by(f64::total_cmp);
        println!(
            "{name} keys: {:.1} us at the median, {:.1} at 99 %, {} rows each",
            times[times.len() / 2],
            times[times.len() * 99 / 100],
            found / times.len() as u64
        );
    }
    Ok(())
}
