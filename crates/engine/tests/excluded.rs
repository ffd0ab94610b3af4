//! Does no interleaving leave rows that conflict by an exclusion constraint?
//!
//! Clients write spans at random, interleaved by a seed, with a control that shows conflicts where no index judges them, and that
//! the check finds; rules that are put off, spilled rows, many rows at once and a reopen.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use onlap::{
    CheckOptions, Column, DataType, Database, DerivedSpec, ErrorKind, Excludes, Formula, Formulas,
    IndexPart, IndexSpec, Isolation, Judged, Options, Result, Row, Rule, Scan, SyncMode, Table,
    TableSchema, TableSpec, Time, Transaction, TransactionOptions, Value, check_with, convert,
    span,
};
use onlap_base::rng::Rng;
use onlap_base::tasks::{SimTasks, Tasks};
use onlap_testkit::for_seeds;
use onlap_vfs::MemFs;

/// Spans of whole numbers from the column `lower` to the column `upper`; none where the second is not above the first.
struct Spans;

impl Formulas for Spans {
    fn calculate(
        &self,
        _: &TableSchema,
        of: Formula<'_>,
        inputs: &[Column],
        rows: usize,
    ) -> Result<Column> {
        let mut out = Column::new(of.column.ty.physical());
        for row in 0..rows {
            let end = |at: usize| convert::read_value(DataType::Int8, &inputs[at], row);
            match (end(0), end(1)) {
                (Value::Int(lower), Value::Int(upper)) if lower < upper => {
                    let bytes = |end: i64| (end as u64 ^ 1 << 63).to_be_bytes();
                    let packed = Value::Bytes(span::pack(&bytes(lower), &bytes(upper)));
                    convert::push_value(of.column.ty, &packed, &mut out, "span")?;
                }
                _ => out.push_null(),
            }
        }
        Ok(out)
    }
}

fn options(without: Option<Rule>, disk: &MemFs) -> Options {
    let mut options = Options::default().sync(SyncMode::Os).memory_limit(32 << 20);
    options.tuning.log_file_bytes = 64 << 10;
    options.tuning.without = without;
    options.fs = Arc::new(disk.clone());
    options
}

fn open(options: Options) -> Database {
    let db = Database::open("/db", options).unwrap();
    db.set_formulas(Arc::new(Spans));
    db
}

fn int(v: i64) -> Value {
    Value::Int(v)
}

fn excluding(time: Time) -> IndexSpec {
    let span = DerivedSpec {
        name: "span".into(),
        ty: DataType::Bytea,
        reads: vec!["lower".into(), "upper".into()],
        program: "span".into(),
    };
    let excludes = Some(Excludes::Overlapping);
    IndexSpec::new("no_overlap", ["room"]).part(IndexPart::Derived(span), false).judged(Judged {
        excludes,
        time,
        ..Judged::default()
    })
}

fn spec() -> TableSpec {
    TableSpec::new("t")
        .column("id", DataType::Int8)
        .nullable_column("room", DataType::Int8)
        .column("lower", DataType::Int8)
        .column("upper", DataType::Int8)
        .primary_key(["id"])
}

fn table(db: &Database, time: Time) -> Table {
    let table = db.create_table(spec()).unwrap();
    let mut tx = db.begin().unwrap();
    tx.create_index(&table, excluding(time)).unwrap();
    tx.commit().unwrap();
    table
}

/// How many rows there are, and how many pairs of them conflict.
fn conflicts(db: &Database, table: &Table) -> (usize, usize) {
    let rows = db.snapshot().unwrap().scan(table, Scan::all()).unwrap().rows().unwrap();
    let number = |row: &Row, at: usize| match row[at] {
        Value::Int(n) => n,
        _ => panic!("a number"),
    };
    let overlap = |a: &Row, b: &Row| {
        a[1] != Value::Null
            && a[1] == b[1]
            && number(a, 2).max(number(b, 2)) < number(a, 3).min(number(b, 3))
    };
    let pairs = |at: usize| rows[..at].iter().filter(|other| overlap(other, &rows[at])).count();
    (rows.len(), (0..rows.len()).map(pairs).sum())
}

fn work(tasks: &SimTasks, db: &Database, table: &Table, mut rng: Rng, ids: i64) {
    let levels = [Isolation::ReadCommitted, Isolation::RepeatableRead];
    for n in 0..20 {
        let options = TransactionOptions::at(levels[rng.index(2)]);
        let mut tx = db.begin_with(options.lock_timeout(Duration::from_secs(5))).unwrap();
        let mut done = Ok(());
        let mut place = None;
        for part in 0..1 + rng.below(4) as i64 {
            let id = ids + n * 10 + part;
            done = done.and_then(|()| match rng.below(10) {
                0 => tx.set_all_constraints(rng.below(2) == 0),
                1 => {
                    place = Some(tx.savepoint());
                    Ok(())
                }
                2 if place.is_some() => tx.rollback_to(place.as_ref().expect("just asked")),
                _ => step(&mut tx, table, &mut rng, id),
            });
            tasks.yield_now();
        }
        let ended = match done {
            Ok(()) => tx.commit().map(|_| ()),
            Err(e) => Err(e),
        };
        if let Err(e) = ended {
            let usual = [
                ErrorKind::DuplicateKey,
                ErrorKind::Excluded,
                ErrorKind::Conflict,
                ErrorKind::Deadlock,
            ];
            assert!(usual.contains(&e.kind()), "{e:?}");
        }
    }
}

fn step(tx: &mut Transaction, table: &Table, rng: &mut Rng, id: i64) -> Result<()> {
    let room = match rng.below(5) {
        4 => Value::Null,
        n => int(n as i64 / 2),
    };
    let lower = rng.below(40) as i64;
    let upper = lower + rng.below(8) as i64;
    let other = [int(rng.below(400) as i64)];
    match rng.below(5) {
        0 | 1 => tx.insert(table, &[int(id), room, int(lower), int(upper)]),
        2 => tx.delete(table, &other).map(|_| ()),
        3 => {
            let new = [int(id), room, int(lower), int(upper)];
            match tx.is_excluded(table, "no_overlap", &new)? {
                true => Ok(()),
                false => tx.insert(table, &new),
            }
        }
        _ => {
            let set = [("lower", int(lower)), ("upper", int(upper))];
            tx.update(table, &other, &set).map(|_| ())
        }
    }
}

fn simulate(mut rng: Rng, without: Option<Rule>) -> (usize, usize) {
    let tasks = SimTasks::new(rng.next_u64());
    let disk = MemFs::new();
    let mut of_tasks = options(without, &disk);
    of_tasks.clock = Arc::new(tasks.clone());
    of_tasks.tasks = Arc::new(tasks.clone());
    let db = open(of_tasks);
    let times = [Time::Statement, Time::Deferrable, Time::Deferred];
    let table = table(&db, times[rng.index(3)]);
    let clients: Vec<_> = (0..4)
        .map(|n| {
            let (on, db, table, rng) = (tasks.clone(), db.clone(), table.clone(), rng.fork());
            tasks.spawn("client", Box::new(move || work(&on, &db, &table, rng, n * 100)))
        })
        .collect();
    clients.into_iter().for_each(|client| client.join().unwrap());
    let found = conflicts(&db, &table);
    drop(table);
    db.close().unwrap();
    let told = CheckOptions { options: options(None, &disk) };
    let report = check_with("/db", &told, &|db| db.set_formulas(Arc::new(Spans))).unwrap();
    assert_eq!(report.findings.is_empty(), found.1 == 0, "{:?}", report.findings);
    found
}

#[test]
fn no_interleaving_leaves_conflicts() {
    let all = Cell::new((0, 0));
    for_seeds("no_interleaving_leaves_conflicts", 150, |rng| {
        let (rows, pairs) = simulate(rng.clone(), None);
        assert_eq!(pairs, 0);
        // The control: without a rule that is kept there are conflicts, and the check finds them.
        let (_, control) = simulate(rng, Some(Rule::UniqueKeys));
        all.set((all.get().0 + rows, all.get().1 + control));
    });
    let (rows, control) = all.get();
    assert!(rows > 0 && control > 0, "{rows} rows, {control} conflicts in the control");
}

fn put(tx: &mut Transaction, table: &Table, id: i64, at: i64) -> Result<()> {
    tx.insert(table, &[int(id), int(1), int(at * 10), int(at * 10 + 10)])
}

#[test]
fn many_rows_are_judged_whether_they_are_spilled_or_not() {
    const ROWS: i64 = 20_000;
    for time in [Time::Statement, Time::Deferred] {
        let disk = MemFs::new();
        let mut small = options(None, &disk);
        small.tuning.spill_bytes = Some(16 << 10);
        let db = open(small);
        let t = table(&db, time);
        let mut tx = db.begin().unwrap();
        // From the end on, so that each row has all others behind it.
        (0..ROWS).for_each(|at| put(&mut tx, &t, at, ROWS - at).unwrap());
        tx.commit().unwrap();
        let mut tx = db.begin().unwrap();
        (0..ROWS).for_each(|at| put(&mut tx, &t, ROWS + at, -1 - at).unwrap());
        let last = put(&mut tx, &t, 3 * ROWS, ROWS / 2);
        let ended = last.and_then(|()| tx.commit().map(|_| ()));
        assert_eq!(ended.unwrap_err().kind(), ErrorKind::Excluded, "{time:?}");
        assert_eq!(db.snapshot().unwrap().count(&t).unwrap(), ROWS as u64);
    }
}

#[test]
fn what_is_kept_is_judged_after_a_reopen() {
    let disk = MemFs::new();
    let db = open(options(None, &disk));
    let t = table(&db, Time::Statement);
    let mut tx = db.begin().unwrap();
    put(&mut tx, &t, 1, 1).unwrap();
    tx.commit().unwrap();
    let before = t.schema();
    drop(t);
    db.close().unwrap();
    let db = open(options(None, &disk));
    let t = db.table("t").unwrap();
    assert_eq!(t.schema().indexes, before.indexes);
    let mut tx = db.begin().unwrap();
    put(&mut tx, &t, 2, 2).unwrap();
    let error = tx.insert(&t, &[int(3), int(1), int(19), int(21)]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Excluded);
    let subject = error.subject().unwrap();
    assert_eq!(subject.constraint.as_deref(), Some("no_overlap"));
    let of = |at: usize| subject.other_row[at].1.as_deref();
    assert_eq!((of(0), of(1), of(2)), (Some("1"), Some("10"), Some("20")), "the older one");
}

#[test]
fn an_index_that_rows_break_is_not_made() {
    let disk = MemFs::new();
    let db = open(options(None, &disk));
    let t = db.create_table(spec()).unwrap();
    let mut tx = db.begin().unwrap();
    for (id, lower, upper) in [(1, 0, 5), (2, 20, 30), (3, 4, 6), (4, 29, 31), (5, 7, 7)] {
        tx.insert(&t, &[int(id), int(1), int(lower), int(upper)]).unwrap();
    }
    tx.commit().unwrap();
    let mut tx = db.begin().unwrap();
    let error = tx.create_index(&t, excluding(Time::Statement)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Excluded);
    let first = |row: &[(String, Option<String>)]| row[1].1.clone();
    let subject = error.subject().unwrap();
    assert_eq!(first(&subject.row).as_deref(), Some("0"), "the oldest row that conflicts");
    assert_eq!(first(&subject.other_row).as_deref(), Some("4"));
    tx.delete(&t, &[int(3)]).unwrap();
    tx.delete(&t, &[int(4)]).unwrap();
    tx.create_index(&t, excluding(Time::Statement)).unwrap();
    tx.commit().unwrap();
}

#[test]
fn spans_are_the_last_part_and_calculated() {
    let disk = MemFs::new();
    let db = open(options(None, &disk));
    let t = db.create_table(spec()).unwrap();
    let excludes = Some(Excludes::Overlapping);
    let wrong = IndexSpec::new("wrong", ["room", "lower"]);
    let mut tx = db.begin().unwrap();
    let made = tx.create_index(&t, wrong.judged(Judged { excludes, ..Judged::default() }));
    assert_eq!(made.unwrap_err().kind(), ErrorKind::InvalidInput);
}
