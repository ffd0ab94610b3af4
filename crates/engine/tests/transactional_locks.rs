//! For whom does a transaction wait that changes the catalog?
//!
//! For those who want the same name or the same table, and for no others; a deadlock is told to one of
//! those who are in it. Waits here have no bound: a test that hangs has found one that should not be.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use onlap::{
    DataType, Database, ErrorKind, IndexSpec, Isolation, Options, Result, SequenceSpec, SyncMode,
    TableChanges, TableSpec, Transaction, TransactionOptions,
};
use onlap_vfs::MemFs;
use support::{agreed_rows, small_options};

fn spec(name: &str) -> TableSpec {
    TableSpec::new(name)
        .column("id", DataType::Int8)
        .column("n", DataType::Int4)
        .primary_key(["id"])
}

fn begin(db: &Database) -> Transaction {
    db.begin_with(TransactionOptions::at(Isolation::ReadCommitted)).unwrap()
}

/// What a statement of another transaction says, and whether it had to wait until `first` was ended.
fn beside(
    db: &Database,
    first: Transaction,
    end: fn(Transaction) -> Result<()>,
    statement: impl FnOnce(&mut Transaction) -> Result<()> + Send,
) -> (Result<()>, bool) {
    thread::scope(|scope| {
        let (told, waits) = mpsc::channel();
        let mut second = begin(db);
        scope.spawn(move || {
            let result = statement(&mut second).and_then(|()| second.commit().map(|_| ()));
            told.send(result).unwrap();
        });
        if let Ok(result) = waits.recv_timeout(Duration::from_millis(300)) {
            end(first).unwrap();
            return (result, false);
        }
        end(first).unwrap();
        (waits.recv().unwrap(), true)
    })
}

fn commit(tx: Transaction) -> Result<()> {
    tx.commit().map(|_| ())
}

fn roll_back(tx: Transaction) -> Result<()> {
    tx.rollback();
    Ok(())
}

fn filled() -> Database {
    let options = Options { fs: Arc::new(MemFs::new()), ..small_options(SyncMode::Fsync) };
    let db = Database::open("/db", options).unwrap();
    db.create_table(spec("t")).unwrap();
    db.create_table(spec("u")).unwrap();
    db.create_sequence(SequenceSpec::new("s")).unwrap();
    db
}

/// A transaction that has done a little of everything.
fn busy(db: &Database) -> Transaction {
    let mut tx = begin(db);
    tx.create_table(spec("new")).unwrap();
    tx.create_sequence(&SequenceSpec::new("numbers")).unwrap();
    tx.create_index(&db.table("t").unwrap(), IndexSpec::new("by_n", ["n"])).unwrap();
    let renamed = TableChanges::new().rename("v").set_default_sequence("n", "s");
    tx.alter_table(&db.table("u").unwrap(), &renamed).unwrap();
    tx
}

#[test]
fn unrelated_changes_of_the_catalog_go_on_beside_each_other() {
    let db = filled();
    let mut first = busy(&db);
    db.create_table(spec("at_once")).unwrap();
    db.create_index("at_once", IndexSpec::new("by_n", ["n"])).unwrap();
    db.alter_table("at_once", &TableChanges::new().rename("once")).unwrap();
    db.drop_table("once").unwrap();
    let mut second = begin(&db);
    let other = second.create_table(spec("other")).unwrap();
    second.create_index(&other, IndexSpec::new("by_n", ["n"])).unwrap();
    // Both rely on one sequence.
    let shared = TableChanges::new().set_default_sequence("n", "s");
    second.alter_table(&other, &shared).unwrap();
    second.create_sequence(&SequenceSpec::new("more")).unwrap();
    second.commit().unwrap();
    first.create_table(spec("last")).unwrap();
    first.commit().unwrap();
    let names: Vec<String> = db.tables().iter().map(|t| t.name()).collect();
    assert_eq!(names, ["last", "new", "other", "t", "v"]);
    names.iter().for_each(|name| assert!(agreed_rows(&db, name).unwrap().is_empty()));
    let ids: std::collections::BTreeSet<u32> = db
        .tables()
        .iter()
        .flat_map(|t| t.schema().indexes.iter().map(|i| i.id.0).collect::<Vec<_>>())
        .collect();
    assert_eq!(ids.len(), 7, "no id was given twice");
    db.close().unwrap();
}

#[test]
fn who_wants_the_same_name_waits_for_what_becomes_of_it() {
    let create =
        |name: &'static str| move |tx: &mut Transaction| tx.create_table(spec(name)).map(|_| ());
    for name in ["new", "v"] {
        let db = filled();
        let (result, waited) = beside(&db, busy(&db), commit, create(name));
        assert_eq!((result.unwrap_err().kind(), waited), (ErrorKind::AlreadyExists, true));
        let db = filled();
        let (result, waited) = beside(&db, busy(&db), roll_back, create(name));
        assert_eq!((result.map_err(|e| e.kind()), waited), (Ok(()), true));
    }
    let db = filled();
    let again = |tx: &mut Transaction| tx.create_sequence(&SequenceSpec::new("numbers")).map(drop);
    let (result, waited) = beside(&db, busy(&db), commit, again);
    assert_eq!((result.unwrap_err().kind(), waited), (ErrorKind::AlreadyExists, true));

    // A name that is given up is free when that is committed.
    let db = filled();
    let mut first = begin(&db);
    first.drop_table("t").unwrap();
    let (result, waited) = beside(&db, first, commit, create("t"));
    assert_eq!((result.map_err(|e| e.kind()), waited), (Ok(()), true));

    // What the engine does not know.
    let db = filled();
    let mut first = begin(&db);
    first.hold_name("view").unwrap();
    let (result, waited) = beside(&db, first, commit, |tx| tx.hold_name("view"));
    assert_eq!((result.map_err(|e| e.kind()), waited), (Ok(()), true));
}

#[test]
fn what_others_rely_on_is_not_dropped_under_them() {
    let db = filled();
    let (result, waited) = beside(&db, busy(&db), commit, |tx| tx.drop_sequence("s"));
    assert_eq!((result.unwrap_err().kind(), waited), (ErrorKind::InUse, true));
    let db = filled();
    let (result, waited) = beside(&db, busy(&db), roll_back, |tx| tx.drop_sequence("s"));
    assert_eq!((result.map_err(|e| e.kind()), waited), (Ok(()), true));
    let db = filled();
    let mut first = begin(&db);
    first.drop_sequence("s").unwrap();
    let with_default = spec("x").default_sequence("n", "s");
    let (result, waited) =
        beside(&db, first, commit, |tx| tx.create_table(with_default).map(|_| ()));
    assert_eq!((result.unwrap_err().kind(), waited), (ErrorKind::UnknownSequence, true));
}

#[test]
fn savepoints_give_names_back() {
    let db = filled();
    let mut first = begin(&db);
    let savepoint = first.savepoint();
    first.create_table(spec("new")).unwrap();
    first.rollback_to(&savepoint).unwrap();
    let (result, waited) =
        beside(&db, first, commit, |tx| tx.create_table(spec("new")).map(|_| ()));
    assert_eq!((result.map_err(|e| e.kind()), waited), (Ok(()), false));
}

#[test]
fn a_deadlock_of_changes_is_told() {
    type Statement = fn(&mut Transaction) -> Result<()>;
    let x: Statement = |tx| tx.create_table(spec("x")).map(|_| ());
    let y: Statement = |tx| tx.create_sequence(&SequenceSpec::new("y")).map(|_| ());
    let t: Statement = |tx| {
        let table = tx.table("t")?;
        tx.create_index(&table, IndexSpec::new("by_n", ["n"]))
    };
    for [a, b] in [[x, y], [x, t], [t, y]] {
        let db = filled();
        let (mut first, mut second) = (begin(&db), begin(&db));
        a(&mut first).unwrap();
        b(&mut second).unwrap();
        let results = thread::scope(|scope| {
            let run = |mut tx: Transaction, statement: Statement| {
                move || statement(&mut tx).and_then(|()| commit(tx)).map_err(|e| e.kind())
            };
            let one = scope.spawn(run(first, b));
            let two = scope.spawn(run(second, a));
            [one.join().unwrap(), two.join().unwrap()]
        });
        let deadlocks = results.iter().filter(|r| **r == Err(ErrorKind::Deadlock)).count();
        let done = results.iter().filter(|r| r.is_ok()).count();
        assert_eq!((deadlocks, done), (1, 1), "{results:?}");
    }
}
