//! Do checks that are formulas refuse the rows that conditions would?
//!
//! The double's formula is true of even numbers, false of odd ones, and cannot be calculated for 13. A table with that check and
//! one with the same condition get the same random statements, by one row and by many, with savepoints, flushes and reopens: both
//! refuse the same ones and have the same rows.

use std::sync::Arc;

use onlap::{
    Batch, Change, Column, DataType, Database, Error, ErrorKind, Expr, Formula, Formulas, Options,
    Result, Scan, SyncMode, Table, TableSchema, TableSpec, Value, Vector, convert,
};
use onlap_base::rng::Rng;
use onlap_vfs::MemFs;
use support::{calculated, small_options};

#[allow(dead_code, reason = "these tests need a part of it")]
mod support;

const UNLUCKY: i64 = 13;

struct Double;

impl Formulas for Double {
    fn calculate(
        &self,
        _: &TableSchema,
        of: Formula<'_>,
        inputs: &[Column],
        rows: usize,
    ) -> Result<Column> {
        assert_eq!(of.program, "even");
        calculated(of, &inputs[0], rows, |from, row, to| {
            match (from, to) {
                (Vector::Int(from), _) if from[row] == UNLUCKY => {
                    return Err(Error::new(ErrorKind::OutOfRange, "unlucky"));
                }
                (Vector::Int(from), Vector::Int(to)) => to.push(i64::from(from[row] % 2 == 0)),
                other => panic!("{other:?}"),
            }
            Ok(())
        })
    }
}

fn open(disk: &MemFs) -> Database {
    let options = Options { fs: Arc::new(disk.clone()), ..small_options(SyncMode::Fsync) };
    let db = Database::open("/db", options).unwrap();
    db.set_formulas(Arc::new(Double));
    db
}

fn same() -> Expr<String> {
    Expr::column("n").remainder(Value::Int(2)).equal(Value::Int(0))
}

fn create(db: &Database, name: &str, check: Expr<String>) {
    let spec = TableSpec::new(name)
        .column("id", DataType::Int8)
        .nullable_column("n", DataType::Int8)
        .nullable_column("other", DataType::Int8)
        .primary_key(["id"]);
    db.create_table(spec.check("even", check)).unwrap();
}

fn rows(db: &Database, name: &str) -> Vec<Vec<Value>> {
    let table = db.table(name).unwrap();
    let mut rows = db.snapshot().unwrap().scan(&table, Scan::all()).unwrap().rows().unwrap();
    rows.sort_by_key(|row| format!("{row:?}"));
    rows
}

fn batch(table: &Table, rows: &[Vec<Value>]) -> Batch {
    let schema = table.schema();
    let mut batch = Batch::new(schema.columns.iter().map(|column| column.ty.physical()));
    for (at, (described, column)) in schema.columns.iter().zip(&mut batch.columns).enumerate() {
        for row in rows {
            match &row[at] {
                Value::Null => column.push_null(),
                value => convert::push_value(described.ty, value, column, "").unwrap(),
            }
        }
    }
    batch.rows = rows.len();
    batch
}

/// One random statement.
fn act(db: &Database, name: &str, rng: &mut Rng, next: i64) -> Result<()> {
    let table: Table = db.table(name)?;
    let number = |rng: &mut Rng| match rng.below(12) {
        0 => Value::Null,
        1 => Value::Int(UNLUCKY),
        n => Value::Int(2 * n as i64 + i64::from(rng.chance(0.1))),
    };
    let key = [Value::Int(rng.below(next as u64) as i64)];
    let mut tx = db.begin()?;
    let done = match rng.below(5) {
        0 => {
            let row = |i: i64| vec![Value::Int(next + i), number(rng), Value::Null];
            let many: Vec<Vec<Value>> = (0..7).map(row).collect();
            many.iter().try_for_each(|row| tx.insert(&table, row))
        }
        1 => {
            let row = |i: i64| vec![Value::Int(next + i), number(rng), Value::Null];
            let many: Vec<Vec<Value>> = (0..7).map(row).collect();
            tx.insert_batch(&table, batch(&table, &many))
        }
        2 => tx.update(&table, &key, &[("n", number(rng))]).map(drop),
        3 => tx.change(&table, &key, &[("n", Change::Add(Value::Int(1)))]).map(drop),
        _ => tx.change(&table, &key, &[("other", Change::Set(Value::Int(1)))]).map(drop),
    };
    done.and_then(|()| tx.commit().map(drop))
}

#[test]
fn formulas_refuse_what_conditions_refuse() {
    for seed in 0..8 {
        let disk = MemFs::new();
        let mut db = open(&disk);
        create(&db, "f", Expr::Formula("even".into(), vec!["n".into()]));
        create(&db, "c", same());
        let (mut refused, mut taken) = (0, 0);
        for step in 0..200 {
            let mut rngs = [Rng::new(seed << 32 | step), Rng::new(seed << 32 | step)];
            let next = 10 * step as i64 + 10;
            let by_formula = act(&db, "f", &mut rngs[0], next);
            let by_condition = act(&db, "c", &mut rngs[1], next);
            assert_eq!(by_formula.is_ok(), by_condition.is_ok(), "seed {seed}, step {step}");
            match by_formula {
                Ok(()) => taken += 1,
                Err(e) => {
                    refused += 1;
                    let kinds = [ErrorKind::CheckViolation, ErrorKind::OutOfRange];
                    assert!(kinds.contains(&e.kind()), "seed {seed}, step {step}: {e}");
                }
            }
            match step % 37 {
                5 => db.flush().unwrap(),
                11 => {
                    drop(db);
                    db = open(&disk);
                }
                _ => {}
            }
        }
        assert!(refused > 20 && taken > 20, "seed {seed}: {refused} refused, {taken} taken");
        assert_eq!(rows(&db, "f"), rows(&db, "c"), "seed {seed}");
    }
}

#[test]
fn the_first_wrong_row_is_told() {
    let db = open(&MemFs::new());
    create(&db, "t", Expr::Formula("even".into(), vec!["n".into()]));
    let table = db.table("t").unwrap();
    let positive = Expr::column("other").greater(Value::Int(0));
    db.add_check("t", "zero", &positive).unwrap();
    let insert = |rows: &[[i64; 3]]| {
        let rows = rows.iter().map(|row| row.iter().map(|n| Value::Int(*n)).collect());
        let rows: Vec<Vec<Value>> = rows.collect();
        let mut tx = db.begin().unwrap();
        let e = tx.insert_batch(&table, batch(&table, &rows)).unwrap_err();
        (e.kind(), e.subject().and_then(|of| of.constraint.clone()).unwrap_or_default())
    };
    // The second row breaks the check whose name comes first.
    let violated = |name: &str| (ErrorKind::CheckViolation, name.to_owned());
    assert_eq!(insert(&[[1, 2, 0], [2, 1, 1]]), violated("zero"));
    assert_eq!(insert(&[[1, 1, 1], [2, 2, 0]]), violated("even"));
    assert_eq!(insert(&[[1, 1, 0], [2, 2, 0]]), violated("even"));
    assert_eq!(insert(&[[1, 2, 1], [2, 4, 1], [3, 3, 1], [4, UNLUCKY, 1]]), violated("even"));
    let unlucky = (ErrorKind::OutOfRange, String::new());
    assert_eq!(insert(&[[1, 2, 1], [2, UNLUCKY, 1], [3, 3, 1]]), unlucky);
    assert_eq!(insert(&[[1, 2, 0], [2, UNLUCKY, 1]]), violated("zero"));
}

#[test]
fn without_who_calculates_rows_are_refused() {
    let disk = MemFs::new();
    create(&open(&disk), "t", Expr::Formula("even".into(), vec!["n".into()]));
    let options = Options { fs: Arc::new(disk), ..small_options(SyncMode::Fsync) };
    let db = Database::open("/db", options).unwrap();
    let row = [Value::Int(1), Value::Int(2), Value::Null];
    let e = db.begin().unwrap().insert(&db.table("t").unwrap(), &row).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Unsupported);
    assert!(rows(&db, "t").is_empty());
}
