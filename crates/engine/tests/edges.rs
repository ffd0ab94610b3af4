//! What happens at the edges: equal keys in one commit group, the end of a counter, transactions
//! that outgrow their memory, tables dropped under a flush, handles that outlive their database.

#![allow(clippy::disallowed_methods, reason = "these tests are about real threads")]

mod support;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};

use onlap::{DataType, Database, ErrorKind, IndexSpec, Options, SyncMode, Table, TableSpec, Value};
use onlap_base::memory::Part;
use onlap_vfs::{Fs, MemFs};
use support::{agreed_rows, integer, small_options};

fn open_with(mut options: Options) -> Database {
    options.fs = Arc::new(MemFs::new());
    Database::open("/db", options).unwrap()
}

fn keyed(db: &Database, name: &str) -> Table {
    let spec = TableSpec::new(name)
        .column("id", DataType::Int8)
        .column("what", DataType::Text)
        .primary_key(["id"]);
    db.create_table(spec).unwrap()
}

fn row(id: i64, what: &str) -> [Value; 2] {
    [Value::Int(id), Value::Text(what.into())]
}

#[test]
fn rising_keys_of_one_group_have_one_winner() {
    const THREADS: i64 = 8;
    const ROUNDS: i64 = 400;
    let db = open_with(small_options(SyncMode::Fsync));
    let table = keyed(&db, "t");
    let start = Barrier::new(THREADS as usize);
    // All clients commit the same new largest keys at once, so that no lookup in files finds them.
    let won: i64 = std::thread::scope(|scope| {
        let client = |thread: i64| {
            let (table, start) = (&table, &start);
            move || {
                let mut won = 0;
                for round in 0..ROUNDS {
                    let rows = [row(round * 10, "a"), row(round * 10 + 1 + thread % 3, "b")];
                    start.wait();
                    match table.insert_many(rows) {
                        Ok(_) => won += 1,
                        Err(e) => assert_eq!(e.kind(), ErrorKind::DuplicateKey, "{e}"),
                    }
                }
                won
            }
        };
        let threads: Vec<_> = (0..THREADS).map(|t| scope.spawn(client(t))).collect();
        threads.into_iter().map(|t| t.join().unwrap()).sum()
    });
    assert_eq!(won, ROUNDS, "one winner in each round");
    assert_eq!(agreed_rows(&db, "t").unwrap().len() as i64, 2 * ROUNDS);
}

#[test]
fn counter_values_and_chosen_values_of_one_group_do_not_meet() {
    const ROUNDS: i64 = 2000;
    let db = open_with(small_options(SyncMode::Fsync));
    let spec = TableSpec::new("t").serial("id").column("n", DataType::Int8).primary_key(["id"]);
    let table = db.create_table(spec).unwrap();
    let accepted: i64 = std::thread::scope(|scope| {
        let counted = |thread: i64| {
            let table = &table;
            move || {
                let insert = |n| table.insert(&[Value::Null, Value::Int(thread * ROUNDS + n)]);
                (0..ROUNDS).filter(|&n| insert(n).is_ok()).count() as i64
            }
        };
        let chosen = || {
            let ahead = |n: i64| table.insert(&[Value::Int(1 + n * 3), Value::Int(-n)]);
            (0..ROUNDS).filter(|&n| ahead(n).is_ok()).count() as i64
        };
        let threads = [scope.spawn(counted(0)), scope.spawn(counted(1))]
            .into_iter()
            .chain([scope.spawn(chosen)]);
        let threads: Vec<_> = threads.collect();
        threads.into_iter().map(|t| t.join().unwrap()).sum()
    });
    let rows = agreed_rows(&db, "t").unwrap();
    let mut ids: Vec<i64> = rows.iter().map(|r| integer(&r[0])).collect();
    ids.dedup();
    assert_eq!(ids.len(), rows.len(), "no id twice");
    assert_eq!(rows.len() as i64, accepted);
}

#[test]
fn a_counter_ends_with_an_error_and_never_starts_again() {
    let db = open_with(small_options(SyncMode::Os));
    let spec = TableSpec::new("t").serial("id").column("n", DataType::Int8).primary_key(["id"]);
    let table = db.create_table(spec).unwrap();
    table.insert(&[Value::Int(i64::MAX - 2), Value::Int(0)]).unwrap();
    table.insert(&[Value::Null, Value::Int(1)]).unwrap();
    for _ in 0..3 {
        let e = table.insert(&[Value::Null, Value::Int(2)]).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::OutOfRange, "{e}");
    }
    table.insert(&[Value::Int(i64::MAX), Value::Int(3)]).unwrap();
    table.insert(&[Value::Int(-7), Value::Int(4)]).unwrap();
    let e = table.insert(&[Value::Int(i64::MAX), Value::Int(5)]).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::DuplicateKey, "{e}");
    let ids: Vec<i64> = agreed_rows(&db, "t").unwrap().iter().map(|r| integer(&r[0])).collect();
    assert_eq!(ids, [-7, i64::MAX - 2, i64::MAX - 1, i64::MAX]);
}

#[test]
fn a_change_that_does_not_fit_leaves_the_transaction_as_it_was() {
    let db = open_with(small_options(SyncMode::Os));
    let table = keyed(&db, "t");
    let limit = db.memory().iter().find(|p| p.part == Part::Transactions).unwrap().limit as usize;
    let long = "x".repeat(1 << 20);
    let mut tx = db.begin().unwrap();
    tx.insert(&table, &row(0, &long)).unwrap();
    let refused = tx.insert(&table, &row(1, &"x".repeat(limit))).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::LimitExceeded, "{refused}");
    // Changes that fit one by one make room for each other.
    (2..20).for_each(|id| tx.insert(&table, &row(id, &long)).unwrap());
    let mut other = db.begin().unwrap();
    other.insert(&table, &row(1000, &long)).unwrap();
    other.insert(&table, &row(1001, "small")).unwrap();
    other.commit().unwrap();
    assert!(tx.insert(&table, &row(1, &"x".repeat(limit))).is_err());
    tx.commit().unwrap();
    let ids: Vec<i64> = agreed_rows(&db, "t").unwrap().iter().map(|r| integer(&r[0])).collect();
    assert!(ids.into_iter().eq([0].into_iter().chain(2..20).chain([1000, 1001])));
}

#[test]
fn a_table_dropped_while_it_is_flushed_holds_nobody_up() {
    let db = open_with(small_options(SyncMode::Os));
    for round in 0..40 {
        let table = keyed(&db, "t");
        table.insert_many((0..800).map(|i| row(i, "some text to fill the memtable"))).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let flusher = || {
                while !done.load(Ordering::Acquire) {
                    db.flush().unwrap_or_else(|e| panic!("round {round}: {e}"));
                }
            };
            scope.spawn(flusher);
            let writer = || (0..).find_map(|i| table.insert(&row(1000 + i, "late")).err()).unwrap();
            let writer = scope.spawn(writer);
            std::thread::sleep(std::time::Duration::from_millis(2));
            db.drop_table("t").unwrap();
            assert_eq!(writer.join().unwrap().kind(), ErrorKind::UnknownTable);
            done.store(true, Ordering::Release);
        });
    }
}

#[test]
fn handles_that_outlive_their_database_are_closed() {
    let db = open_with(small_options(SyncMode::Os));
    let table = keyed(&db, "t");
    table.insert(&row(1, "a")).unwrap();
    let tx = db.begin().unwrap();
    drop(db);
    assert_eq!(table.insert(&row(2, "b")).unwrap_err().kind(), ErrorKind::Closed);
    drop(tx);
}

#[test]
fn row_ids_of_rows_long_gone_are_not_deleted_again() {
    let db = open_with(small_options(SyncMode::Os));
    let table = keyed(&db, "t");
    table.insert_many((0..3000).map(|i| row(i, "text"))).unwrap();
    db.flush().unwrap();
    for id in 0..2900 {
        assert!(table.delete(&[Value::Int(id)]).unwrap());
    }
    db.settle().unwrap();
    let mut tx = db.begin().unwrap();
    let deleted = tx.delete_rows(&table, &(0..5000).collect::<Vec<_>>()).unwrap();
    assert_eq!(deleted, 100);
    tx.commit().unwrap();
    assert_eq!(db.snapshot().unwrap().count(&table).unwrap(), 0);
}

#[test]
fn many_tables_share_the_memory_of_memtables() {
    let mut options = small_options(SyncMode::Os);
    options.tuning.memtable_bytes = None;
    let db = open_with(options);
    let part = || *db.memory().iter().find(|p| p.part == Part::Memtables).unwrap();
    let tables: Vec<Table> = (0..40).map(|i| keyed(&db, &format!("t{i}"))).collect();
    let text = "y".repeat(2000);
    let mut most = 0;
    for round in 0..15_000 {
        tables[round % 40].insert(&row(round as i64, &text)).unwrap();
        most = most.max(part().used);
    }
    assert!(most <= part().limit, "{most} bytes in memtables; the limit is {}", part().limit);
    let rows: u64 = tables.iter().map(|t| db.snapshot().unwrap().count(t).unwrap()).sum();
    assert_eq!(rows, 15_000);
}

#[test]
fn options_beyond_their_limits_are_refused() {
    let refused = |change: fn(&mut Options)| {
        let mut options = Options { fs: Arc::new(MemFs::new()), ..Options::default() };
        change(&mut options);
        let e = Database::open("/db", options).map(drop).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::InvalidInput, "{e}");
    };
    refused(|o| o.log_limit = 1 << 20);
    refused(|o| o.background_jobs = 65);
    refused(|o| o.memory_limit = Some(1 << 20));
}

#[test]
fn a_unique_index_that_cannot_be_leaves_no_files() {
    let mut options = small_options(SyncMode::Os);
    let fs = MemFs::new();
    options.fs = Arc::new(fs.clone());
    let db = Database::open("/db", options).unwrap();
    let table = keyed(&db, "t");
    table.insert_many((0..500).map(|i| row(i, "same"))).unwrap();
    db.settle().unwrap();
    // Log files and manifests come and go by themselves.
    let files = || {
        db.settle().unwrap();
        let names = fs.list(Path::new("/db")).unwrap();
        names.iter().filter(|name| name.ends_with(".run")).count()
    };
    let before = files();
    for _ in 0..3 {
        let spec = IndexSpec::new("by_what", ["what"]).unique();
        let e = db.create_index("t", spec).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::DuplicateKey, "{e}");
        assert_eq!(files(), before);
    }
}

#[test]
fn keys_that_fill_their_packing_to_the_last_bit_behind_a_constant_column() {
    for uuids in [2, 4] {
        let db = open_with(small_options(SyncMode::Os));
        let names: Vec<String> = (0..uuids).map(|i| format!("u{i}")).collect();
        let key = std::iter::once("tenant").chain(names.iter().map(String::as_str));
        let mut spec =
            TableSpec::new("t").column("id", DataType::Int8).column("tenant", DataType::Int8);
        for name in &names {
            spec = spec.column(name, DataType::Uuid);
        }
        let spec = spec.primary_key(["id"]).index(IndexSpec::new("by_key", key));
        let table = db.create_table(spec).unwrap();
        let mut rng = onlap_base::rng::Rng::new(7);
        for id in 0..600 {
            let mut row = vec![Value::Int(id), Value::Int(5)];
            let mut uuid = || u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64());
            row.extend(names.iter().map(|_| Value::Uuid(uuid().to_be_bytes())));
            table.insert(&row).unwrap();
        }
        assert_eq!(agreed_rows(&db, "t").unwrap().len(), 600);
        db.settle().unwrap();
        assert_eq!(agreed_rows(&db, "t").unwrap().len(), 600);
    }
}

#[test]
fn schema_changes_get_their_turn_beside_a_busy_writer() {
    let db = open_with(small_options(SyncMode::Os));
    let busy = keyed(&db, "busy");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = || {
            (0..).take_while(|_| !done.load(Ordering::Acquire)).for_each(|i| {
                busy.insert(&row(i, "text")).unwrap();
            });
        };
        scope.spawn(writer);
        for i in 0..20 {
            keyed(&db, &format!("t{i}"));
            db.flush().unwrap();
        }
        done.store(true, Ordering::Release);
    });
    assert_eq!(db.tables().len(), 21);
}
