//! Are keys unique that are judged by a look at the rows?
//!
//! Clients write keys at random, interleaved by a seed, with a control that shows duplicates where no index judges
//! them; and rules that are put off over savepoints, spilled rows and a reopen.

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use onlap::{
    DataType, Database, ErrorKind, ForeignKeySpec, IndexSpec, Isolation, Judged, Options, Result,
    Rule, Scan, SyncMode, Table, TableSpec, Time, Transaction, TransactionOptions, Value,
};
use onlap_base::rng::Rng;
use onlap_base::tasks::{SimTasks, Tasks};
use onlap_testkit::for_seeds;
use onlap_vfs::MemFs;

fn options(without: Option<Rule>) -> Options {
    let mut options = Options::default().sync(SyncMode::Os).memory_limit(32 << 20);
    options.tuning.log_file_bytes = 64 << 10;
    options.tuning.without = without;
    options.fs = Arc::new(MemFs::new());
    options
}

fn int(v: i64) -> Value {
    Value::Int(v)
}

fn table(db: &Database, judged: Judged) -> Table {
    let spec = TableSpec::new("t")
        .column("id", DataType::Int8)
        .nullable_column("key", DataType::Int8)
        .primary_key(["id"])
        .index(IndexSpec::new("by_key", ["key"]).judged(judged));
    db.create_table(spec).unwrap()
}

/// How many rows there are, and how many have the key of another one.
fn twice(db: &Database, table: &Table, nulls_equal: bool) -> (usize, usize) {
    let rows = db.snapshot().unwrap().scan(table, Scan::all().columns(["key"])).unwrap();
    let mut rows = rows.rows().unwrap();
    rows.retain(|row| nulls_equal || row[0] != Value::Null);
    let keys: HashSet<String> = rows.iter().map(|row| format!("{row:?}")).collect();
    (rows.len(), rows.len() - keys.len())
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
            let usual = [ErrorKind::DuplicateKey, ErrorKind::Conflict, ErrorKind::Deadlock];
            assert!(usual.contains(&e.kind()), "{e:?}");
        }
    }
}

fn step(tx: &mut Transaction, table: &Table, rng: &mut Rng, id: i64) -> Result<()> {
    let key = match rng.below(7) {
        6 => Value::Null,
        n => int(n as i64),
    };
    let other = [int(rng.below(400) as i64)];
    match rng.below(4) {
        0 | 1 => tx.insert(table, &[int(id), key]),
        2 => tx.delete(table, &other).map(|_| ()),
        _ => tx.update(table, &other, &[("key", key)]).map(|_| ()),
    }
}

fn simulate(mut rng: Rng, without: Option<Rule>) -> (usize, usize) {
    let tasks = SimTasks::new(rng.next_u64());
    let mut options = options(without);
    options.clock = Arc::new(tasks.clone());
    options.tasks = Arc::new(tasks.clone());
    let db = Database::open("/db", options).unwrap();
    let times = [Time::Statement, Time::Deferrable, Time::Deferred];
    let nulls_equal = rng.below(2) == 0;
    let table = table(&db, Judged { nulls_equal, time: times[rng.index(3)], ..Judged::default() });
    let clients: Vec<_> = (0..4)
        .map(|n| {
            let (on, db, table, rng) = (tasks.clone(), db.clone(), table.clone(), rng.fork());
            tasks.spawn("client", Box::new(move || work(&on, &db, &table, rng, n * 100)))
        })
        .collect();
    clients.into_iter().for_each(|client| client.join().unwrap());
    twice(&db, &table, nulls_equal)
}

#[test]
fn no_interleaving_leaves_equal_keys() {
    let all = Cell::new((0, 0));
    for_seeds("no_interleaving_leaves_equal_keys", 200, |rng| {
        let (rows, twice) = simulate(rng.clone(), None);
        assert_eq!(twice, 0);
        // The control: without a judged index keys are there twice.
        let (_, control) = simulate(rng, Some(Rule::UniqueKeys));
        all.set((all.get().0 + rows, all.get().1 + control));
    });
    let (rows, control) = all.get();
    assert!(rows > 0 && control > 0, "{rows} rows, {control} equal keys in the control");
}

/// A small memory for transactions, so that rows leave it before they are judged.
fn small() -> Options {
    let mut options = options(None);
    options.tuning.spill_bytes = Some(16 << 10);
    options
}

#[test]
fn spilled_rows_are_judged_too() {
    const ROWS: i64 = 20_000;
    let db = Database::open("/db", small()).unwrap();
    let put_off = Judged { time: Time::Deferred, ..Judged::default() };
    let t = table(&db, put_off);
    let mut tx = db.begin().unwrap();
    for id in 0..ROWS {
        tx.insert(&t, &[int(id), int(id % (ROWS / 2))]).unwrap();
    }
    let before = tx.savepoint();
    for id in ROWS / 2..ROWS {
        assert!(tx.delete(&t, &[int(id)]).unwrap());
    }
    tx.set_all_constraints(false).unwrap();
    tx.rollback_to(&before).unwrap();
    // What was judged since is to be judged again.
    assert_eq!(tx.commit().unwrap_err().kind(), ErrorKind::DuplicateKey);
    assert_eq!(twice(&db, &t, false), (0, 0));
}

#[test]
fn parents_may_come_after_spilled_children_and_go_before_them() {
    const ROWS: i64 = 20_000;
    let options = small();
    let db = Database::open("/db", options.clone()).unwrap();
    let parents = TableSpec::new("parents").column("id", DataType::Int8).primary_key(["id"]);
    let parents = db.create_table(parents).unwrap();
    let key = ForeignKeySpec::new("of", ["parent"], "parents").time(Time::Deferred);
    let children = TableSpec::new("children")
        .column("id", DataType::Int8)
        .column("parent", DataType::Int8)
        .primary_key(["id"])
        .foreign_key(key);
    let children = db.create_table(children).unwrap();
    let fill = |missing: i64| {
        let mut tx = db.begin().unwrap();
        for id in 0..ROWS {
            tx.insert(&children, &[int(id), int(id)]).unwrap();
        }
        for id in (0..ROWS).filter(|id| *id != missing) {
            tx.insert(&parents, &[int(id)]).unwrap();
        }
        tx.commit().map_err(|e| e.kind())
    };
    assert_eq!(fill(0), Err(ErrorKind::ForeignKeyViolation));
    assert_eq!(fill(ROWS - 1), Err(ErrorKind::ForeignKeyViolation));
    fill(-1).unwrap();
    drop((parents, children));
    db.close().unwrap();
    // More parents than a transaction remembers one by one.
    let db = Database::open("/db", options).unwrap();
    let (parents, children) = (db.table("parents").unwrap(), db.table("children").unwrap());
    let empty = |left: i64| {
        let mut tx = db.begin().unwrap();
        for id in 0..ROWS {
            assert!(tx.delete(&parents, &[int(id)]).unwrap());
        }
        let rows = (0..ROWS).filter(|id| *id != left);
        rows.for_each(|id| assert!(tx.delete(&children, &[int(id)]).unwrap()));
        tx.commit().map_err(|e| e.kind())
    };
    assert_eq!(empty(5), Err(ErrorKind::ForeignKeyViolation));
    empty(-1).unwrap();
    assert_eq!(
        db.snapshot().unwrap().scan(&children, Scan::all()).unwrap().rows().unwrap().len(),
        0
    );
}
