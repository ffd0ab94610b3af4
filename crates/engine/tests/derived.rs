//! Do partial indexes and indexes on expressions have exactly the entries of their rows?
//!
//! The double calculates by two programs: `lower` of a text, `high` of a number. Every way of rows into and
//! out of a table is taken: inserts of one and of many, updates of every kind, deletes, savepoints, spilled
//! transactions, flushes, merges, replay, builds on tables with rows. After each, an index answers as the
//! rows do, and a check finds nothing.

use std::sync::Arc;

use onlap::{
    Change, CheckOptions, Column, DataType, Database, DerivedSpec, Error, ErrorKind, Formula,
    Formulas, IndexPart, IndexSpec, KeyRange, Options, Result, Row, Scan, SyncMode, Table,
    TableSchema, TableSpec, Value, Vector, check_with,
};
use onlap_base::rng::Rng;
use onlap_vfs::MemFs;
use support::{calculated, small_options};

#[allow(dead_code, reason = "these tests need a part of it")]
mod support;

const DIR: &str = "/db";

struct Double;

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
                ("lower", Vector::Bytes(from), Vector::Bytes(to)) => {
                    to.push(&from.get(row).to_ascii_lowercase());
                }
                ("high", Vector::Int(from), Vector::Int(to)) => {
                    to.push(i64::from(from[row] >= 900));
                }
                ("inverse", Vector::Int(from), Vector::Int(to)) => {
                    if from[row] == 0 {
                        return Err(Error::new(ErrorKind::DivisionByZero, "division by zero"));
                    }
                    to.push(1000 / from[row]);
                }
                other => panic!("{other:?}"),
            }
            Ok(())
        })
    }
}

fn lower() -> DerivedSpec {
    let (name, program) = ("lower(name)".to_owned(), "lower".to_owned());
    DerivedSpec { name, ty: DataType::Text, reads: vec!["name".into()], program }
}

fn high() -> DerivedSpec {
    let (name, program) = ("n >= 900".to_owned(), "high".to_owned());
    DerivedSpec { name, ty: DataType::Bool, reads: vec!["n".into()], program }
}

fn inverse() -> DerivedSpec {
    let (name, program) = ("1000 / n".to_owned(), "inverse".to_owned());
    DerivedSpec { name, ty: DataType::Int8, reads: vec!["n".into()], program }
}

fn no_columns() -> Vec<String> {
    Vec::new()
}

/// By an expression, by one with a column behind it, partial, partial and unique, partial by an expression.
fn indexes() -> Vec<IndexSpec> {
    let new = |name: &str| IndexSpec::new(name, no_columns());
    let id = || IndexPart::Column("id".into());
    vec![
        new("by_lower").part(IndexPart::Derived(lower()), false),
        new("by_lower_id").part(IndexPart::Derived(lower()), true).part(id(), false).unique(),
        IndexSpec::new("high_by_id", ["id"]).only_where(high()),
        IndexSpec::new("high_by_code", ["code"]).unique().only_where(high()),
        new("high_by_inverse").part(IndexPart::Derived(inverse()), false).only_where(high()),
    ]
}

fn spec() -> TableSpec {
    TableSpec::new("t")
        .column("id", DataType::Int8)
        .nullable_column("name", DataType::Text)
        .nullable_column("n", DataType::Int8)
        .column("code", DataType::Int8)
        .nullable_column("free", DataType::Int4)
        .primary_key(["id"])
}

fn row(id: i64) -> Row {
    let name = match id % 7 {
        0 => Value::Null,
        _ => Value::Text(format!("Name {}", id * 7919 % 97)),
    };
    let n = if id % 13 == 0 { Value::Null } else { Value::Int(id * 7919 % 1000) };
    let free = Value::Int(id % 5);
    vec![Value::Int(id), name, n, Value::Int(id * 31 % 100_003), free]
}

fn options(disk: &MemFs) -> Options {
    Options { fs: Arc::new(disk.clone()), ..small_options(SyncMode::Fsync) }
}

fn open(disk: &MemFs) -> Database {
    let db = Database::open(DIR, options(disk)).unwrap();
    db.set_formulas(Arc::new(Double));
    db
}

fn is_high(row: &Row) -> bool {
    matches!(row[2], Value::Int(n) if n >= 900)
}

/// Every index shows the rows that it has, in its order.
fn agree(db: &Database) {
    let table = db.table("t").unwrap();
    let snapshot = db.snapshot().unwrap();
    let rows = snapshot.scan(&table, Scan::all()).unwrap().rows().unwrap();
    let sorted = |mut rows: Vec<Row>| {
        rows.sort_by_key(|row| support::integer(&row[0]));
        rows
    };
    for index in &table.schema().indexes {
        let scan = snapshot.index_scan(&table, &index.name, KeyRange::all(), Scan::all());
        let found = scan.unwrap().rows().unwrap();
        let partial = index.filter.is_some();
        let wanted = rows.iter().filter(|row| !partial || is_high(row)).cloned().collect();
        assert_eq!(sorted(found), sorted(wanted), "{}", index.name);
    }
    for row in rows.iter().step_by(17) {
        if table.schema().index_by_name("by_lower").is_some() {
            let name = match &row[1] {
                Value::Text(name) => Value::Text(name.to_lowercase()),
                _ => Value::Null,
            };
            let scan = snapshot.index_scan(&table, "by_lower", KeyRange::eq([name]), Scan::all());
            assert!(scan.unwrap().rows().unwrap().contains(row));
        }
        if table.schema().index_by_name("high_by_code").is_some() {
            let key = [row[3].clone()];
            let found = snapshot.get_by(&table, "high_by_code", &key, None).unwrap();
            // Rows that it leaves out may share their code.
            assert!(found.as_ref() == Some(row) || !is_high(row));
        }
    }
}

fn check(disk: &MemFs) {
    let options = CheckOptions { options: options(disk) };
    let report = check_with(DIR, &options, &|db| db.set_formulas(Arc::new(Double))).unwrap();
    assert_eq!(report.findings, []);
    assert_eq!(report.unchecked, 0);
}

/// Changes rows in all ways.
fn scribble(db: &Database, table: &Table, rng: &mut Rng, next: &mut i64) {
    let mut tx = db.begin().unwrap();
    for _ in 0..1 + rng.below(40) {
        let key = [Value::Int(1 + rng.below((*next).max(1) as u64) as i64)];
        let before = tx.savepoint();
        let done = match rng.below(8) {
            0 => tx.delete(table, &key).map(drop),
            1 => tx.update(table, &key, &[("n", Value::Int(rng.below(1000) as i64))]).map(drop),
            2 => {
                let name = Value::Text(format!("Other {}", rng.below(50)));
                tx.change(table, &key, &[("name", Change::Set(name))]).map(drop)
            }
            3 => tx.change(table, &key, &[("free", Change::Add(Value::Int(1)))]).map(drop),
            4 => {
                let from = *next + 1;
                *next += 60;
                (from..=*next).try_for_each(|id| tx.insert(table, &row(id)))
            }
            _ => {
                *next += 1;
                tx.insert(table, &row(*next))
            }
        };
        if done.is_err() || rng.chance(0.1) {
            tx.rollback_to(&before).unwrap();
        }
    }
    if rng.chance(0.9) {
        tx.commit().unwrap();
    }
}

#[test]
fn indexes_follow_every_change_of_their_rows() {
    for seed in 0..6 {
        let disk = MemFs::new();
        let mut db = open(&disk);
        let mut table = db.create_table(spec()).unwrap();
        let (mut rng, mut next) = (Rng::new(seed), 0);
        for _ in 0..10 {
            scribble(&db, &table, &mut rng, &mut next);
        }
        db.create_indexes("t", indexes()).unwrap();
        agree(&db);
        for round in 0..30 {
            scribble(&db, &table, &mut rng, &mut next);
            match round % 10 {
                3 => db.flush().unwrap(),
                6 => agree(&db),
                8 => {
                    drop(table);
                    drop(db);
                    db = open(&disk);
                    table = db.table("t").unwrap();
                    agree(&db);
                }
                _ => {}
            }
        }
        agree(&db);
        drop(table);
        db.close().unwrap();
        check(&disk);
    }
}

#[test]
fn indexes_come_and_go_in_transactions() {
    let disk = MemFs::new();
    let db = open(&disk);
    let table = db.create_table(spec()).unwrap();
    table.insert_many((1..=500).map(row)).unwrap();
    let mut tx = db.begin().unwrap();
    tx.insert(&table, &row(501)).unwrap();
    let before = tx.savepoint();
    for index in indexes() {
        tx.create_index(&table, index).unwrap();
    }
    for id in 502..1500 {
        tx.insert(&table, &row(id)).unwrap();
    }
    let high = tx.index_scan(&table, "high_by_id", KeyRange::all(), Scan::all()).unwrap();
    let wanted = (1..1500).map(row).filter(is_high).count();
    assert_eq!(high.rows().unwrap().len(), wanted);
    tx.rollback_to(&before).unwrap();
    tx.create_index(&table, indexes().remove(3)).unwrap();
    tx.insert(&table, &row(502)).unwrap();
    tx.commit().unwrap();
    agree(&db);
    assert_eq!(db.table("t").unwrap().schema().derived.len(), 1);
    drop(table);
    let mut tx = db.begin().unwrap();
    let table = db.table("t").unwrap();
    tx.drop_index(&table, "high_by_code").unwrap();
    tx.insert(&table, &row(503)).unwrap();
    tx.commit().unwrap();
    assert_eq!(db.table("t").unwrap().schema().derived, []);
    db.create_index("t", indexes().remove(0)).unwrap();
    db.drop_index("t", "by_lower").unwrap();
    assert_eq!(db.table("t").unwrap().schema().derived, []);
    agree(&db);
    drop(table);
    db.close().unwrap();
    check(&disk);
}

#[test]
fn a_partial_unique_index_judges_its_rows_alone() {
    let disk = MemFs::new();
    let db = open(&disk);
    let table = db.create_table(spec()).unwrap();
    let of = |id: i64, n: i64, code: i64| {
        vec![Value::Int(id), Value::Null, Value::Int(n), Value::Int(code), Value::Null]
    };
    db.create_index("t", indexes().remove(3)).unwrap();
    table.insert(&of(1, 1, 7)).unwrap();
    table.insert(&of(2, 2, 7)).unwrap();
    table.insert(&of(3, 950, 7)).unwrap();
    fn twice<T: std::fmt::Debug>(done: Result<T>) {
        assert_eq!(done.unwrap_err().kind(), ErrorKind::DuplicateKey);
    }
    twice(table.insert(&of(4, 999, 7)));
    twice(table.insert_many([of(5, 1, 8), of(6, 901, 8), of(7, 902, 8)]));
    twice(table.update(&[Value::Int(1)], &[("n", Value::Int(900))]));
    let mut tx = db.begin().unwrap();
    tx.update(&table, &[Value::Int(3)], &[("n", Value::Int(3))]).unwrap();
    tx.update(&table, &[Value::Int(1)], &[("n", Value::Int(900))]).unwrap();
    tx.commit().unwrap();
    table.update(&[Value::Int(1)], &[("n", Value::Int(901))]).unwrap();
    agree(&db);
    db.drop_index("t", "high_by_code").unwrap();
    table.update(&[Value::Int(2)], &[("n", Value::Int(901))]).unwrap();
    let built = db.create_index("t", indexes().remove(3));
    twice(built);
    assert_eq!(db.table("t").unwrap().schema().derived, []);
    agree(&db);
}

#[test]
fn rows_that_an_index_leaves_out_are_not_calculated() {
    let disk = MemFs::new();
    let db = open(&disk);
    let table = db.create_table(spec()).unwrap();
    let of = |id: i64, n: i64| {
        vec![Value::Int(id), Value::Null, Value::Int(n), Value::Int(id), Value::Null]
    };
    table.insert_many([of(1, 0), of(2, 950)]).unwrap();
    db.create_index("t", indexes().remove(4)).unwrap();
    table.insert_many([of(3, 0), of(4, 960)]).unwrap();
    agree(&db);
    let plain = IndexSpec::new("by_inverse", no_columns());
    let plain = plain.part(IndexPart::Derived(inverse()), false);
    let failed = db.create_index("t", plain.clone()).unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::DivisionByZero);
    table.update(&[Value::Int(1)], &[("n", Value::Int(5))]).unwrap();
    table.delete(&[Value::Int(3)]).unwrap();
    db.create_index("t", plain).unwrap();
    let failed = table.insert(&of(5, 0)).unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::DivisionByZero);
    agree(&db);
}

#[test]
fn changes_in_place_end_where_an_expression_reads_the_column() {
    let disk = MemFs::new();
    let db = open(&disk);
    let table = db.create_table(spec()).unwrap();
    table.insert_many((1..=100).map(row)).unwrap();
    let change = |column: &'static str| {
        let mut tx = db.begin().unwrap();
        let before = db.stats().unwrap().reads.rows_read;
        tx.change(&table, &[Value::Int(3)], &[(column, Change::Set(Value::Int(950)))]).unwrap();
        tx.commit().unwrap();
        db.stats().unwrap().reads.rows_read - before
    };
    assert_eq!(change("n"), 0);
    db.create_index("t", indexes().remove(2)).unwrap();
    assert_eq!(change("free"), 0);
    assert!(change("n") > 0);
    agree(&db);
}

#[test]
fn an_index_over_columns_that_were_changed_in_place_keeps_from_older_snapshots() {
    for unique in [false, true] {
        let disk = MemFs::new();
        let db = open(&disk);
        let table = db.create_table(spec()).unwrap();
        table.insert_many((1..=100).map(row)).unwrap();
        db.flush().unwrap();
        let older = db.snapshot().unwrap();
        let mut tx = db.begin().unwrap();
        tx.change(&table, &[Value::Int(3)], &[("free", Change::Set(Value::Int(77)))]).unwrap();
        tx.commit().unwrap();
        let newer = db.snapshot().unwrap();
        let spec = match unique {
            true => IndexSpec::new("by_free", ["free", "id"]).unique(),
            false => IndexSpec::new("by_free", ["free"]),
        };
        db.create_index("t", spec).unwrap();
        let by = |snapshot: &onlap::Snapshot, value: i64| {
            let key = KeyRange::eq([Value::Int(value)]);
            let rows = snapshot.index_scan(&table, "by_free", key, Scan::all())?.rows()?;
            Ok::<_, Error>(rows.iter().filter(|row| row[0] == Value::Int(3)).count())
        };
        let now = db.snapshot().unwrap();
        assert_eq!(by(&now, 77).unwrap(), 1);
        assert_eq!(by(&now, 3).unwrap(), 0);
        // The values of then, or none at all.
        for (snapshot, then) in [(&older, 3), (&newer, 77)] {
            for value in [3, 77] {
                let wanted = usize::from(value == then);
                match by(snapshot, value) {
                    Ok(found) => assert_eq!(found, wanted),
                    Err(e) => assert_eq!(e.kind(), ErrorKind::SnapshotTooOld),
                }
            }
        }
        let mut tx = db.begin().unwrap();
        let plain = tx.scan(&table, Scan::all()).unwrap().rows().unwrap();
        assert_eq!(plain.len(), 100);
    }
}

#[test]
fn without_who_calculates_rows_are_read_and_not_changed() {
    let disk = MemFs::new();
    let db = open(&disk);
    let table = db.create_table(spec()).unwrap();
    table.insert_many((1..=50).map(row)).unwrap();
    for index in indexes() {
        db.create_index("t", index).unwrap();
    }
    table.insert_many((51..=60).map(row)).unwrap();
    drop(table);
    db.close().unwrap();
    let db = Database::open(DIR, options(&disk)).unwrap();
    agree(&db);
    let table = db.table("t").unwrap();
    let failed = table.insert(&row(61)).unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::Unsupported);
    assert!(table.delete(&[Value::Int(7)]).unwrap());
    agree(&db);
    drop(table);
    db.close().unwrap();
    check(&disk);
}
