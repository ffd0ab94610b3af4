//! Does a generated column follow from its row, whatever way the row takes?
//!
//! The double calculates twice a number. Rows are inserted one by one and in batches, updated with and without being read,
//! undone, spilled, flushed and replayed; a generated column comes to a table with rows. Each row has its value, and the index over it
//! finds the row.

use std::sync::Arc;

use onlap::{
    Change, Column, DataType, Database, ErrorKind, Formula, Formulas, GeneratedSpec, IndexSpec,
    KeyRange, Options, Result, Scan, SyncMode, Table, TableChanges, TableSchema, TableSpec, Value,
    Vector,
};
use onlap_base::rng::Rng;
use onlap_vfs::MemFs;
use support::{calculated, small_options};

#[allow(dead_code, reason = "these tests need a part of it")]
mod support;

struct Double;

impl Formulas for Double {
    fn calculate(
        &self,
        _: &TableSchema,
        of: Formula<'_>,
        inputs: &[Column],
        rows: usize,
    ) -> Result<Column> {
        assert_eq!(of.program, "twice");
        calculated(of, &inputs[0], rows, |from, row, to| {
            match (from, to) {
                (Vector::Int(from), Vector::Int(to)) => to.push(2 * from[row]),
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

fn twice(column: &str) -> GeneratedSpec {
    let (column, program) = (column.to_owned(), "twice".to_owned());
    GeneratedSpec { column, reads: vec!["n".into()], program }
}

fn create(db: &Database) -> Table {
    let spec = TableSpec::new("t")
        .column("id", DataType::Int8)
        .nullable_column("g", DataType::Int8)
        .nullable_column("n", DataType::Int4)
        .primary_key(["id"])
        .generated(twice("g"))
        .index(IndexSpec::new("by_g", ["g"]));
    db.create_table(spec).unwrap()
}

/// Every row's generated columns are what they should be, and an index over one agrees.
fn agree(db: &Database) {
    let table = db.table("t").unwrap();
    let snapshot = db.snapshot().unwrap();
    let rows = snapshot.scan(&table, Scan::all()).unwrap().rows().unwrap();
    for row in &rows {
        let wanted = match row[2] {
            Value::Int(n) => Value::Int(2 * n),
            _ => Value::Null,
        };
        assert!(row[3..].iter().chain([&row[1]]).all(|value| *value == wanted), "{row:?}");
        let found = snapshot.index_scan(&table, "by_g", KeyRange::eq([wanted]), Scan::all());
        assert!(found.unwrap().rows().unwrap().contains(row), "{row:?}");
    }
}

fn scribble(db: &Database, rng: &mut Rng, next: &mut i64) {
    let table = db.table("t").unwrap();
    let width = table.schema().columns.len();
    let mut tx = db.begin().unwrap();
    for _ in 0..1 + rng.below(30) {
        let key = [Value::Int(1 + rng.below((*next).max(1) as u64) as i64)];
        let n = if rng.chance(0.1) { Value::Null } else { Value::Int(rng.below(1000) as i64) };
        let before = tx.savepoint();
        let done = match rng.below(5) {
            0 => tx.update(&table, &key, &[("n", n)]).map(drop),
            1 => tx.change(&table, &key, &[("n", Change::Add(Value::Int(1)))]).map(drop),
            2 => tx.change(&table, &key, &[("g", Change::Set(Value::Int(-1)))]).map(drop),
            _ => {
                *next += 1;
                // What a row brings for it is replaced.
                let mut row = vec![Value::Int(77); width];
                (row[0], row[2]) = (Value::Int(*next), n);
                tx.insert(&table, &row)
            }
        };
        if done.is_err() || rng.chance(0.1) {
            tx.rollback_to(&before).unwrap();
        }
    }
    tx.commit().unwrap();
}

#[test]
fn generated_columns_follow_every_change_of_their_rows() {
    for seed in 0..4 {
        let disk = MemFs::new();
        let mut db = open(&disk);
        create(&db);
        let (mut rng, mut next) = (Rng::new(seed), 0);
        for round in 0..24 {
            scribble(&db, &mut rng, &mut next);
            match round % 8 {
                2 => db.flush().unwrap(),
                5 => {
                    drop(db);
                    db = open(&disk);
                }
                _ => {}
            }
            agree(&db);
            if round == 11 {
                let changes =
                    TableChanges::new().add_column("h", DataType::Int8, None).generate(twice("h"));
                let refused = db.alter_table("t", &changes).unwrap_err();
                assert_eq!(refused.kind(), ErrorKind::Unsupported);
                let mut tx = db.begin().unwrap();
                tx.alter_table(&db.table("t").unwrap(), &changes).unwrap();
                tx.commit().unwrap();
                agree(&db);
            }
        }
    }
}

#[test]
fn what_cannot_be_generated_is_refused() {
    let db = open(&MemFs::new());
    let spec = || TableSpec::new("u").column("n", DataType::Int4).column("g", DataType::Int8);
    let refused = |spec: TableSpec| db.create_table(spec).map(drop).unwrap_err().kind();
    assert_eq!(refused(spec().generated(twice("n"))), ErrorKind::Unsupported);
    assert_eq!(refused(spec().generated(twice("nope"))), ErrorKind::UnknownColumn);
    let both = spec().generated(twice("g")).generated(twice("g"));
    assert_eq!(refused(both), ErrorKind::Unsupported);
    let blind = spec().primary_key(["n"]).blind_writes().generated(twice("g"));
    assert_eq!(refused(blind), ErrorKind::Unsupported);
    create(&db);
    let drops = |name: &str| TableChanges::new().drop_column(name);
    assert_eq!(db.alter_table("t", &drops("n")).unwrap_err().kind(), ErrorKind::InUse);
    let types = TableChanges::new().set_type("n", DataType::Int8);
    assert_eq!(db.alter_table("t", &types).unwrap_err().kind(), ErrorKind::InUse);
}
