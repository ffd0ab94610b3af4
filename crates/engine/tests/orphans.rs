//! Does a child ever lose its parent?
//!
//! Schedules by hand, each with a control that shows that it makes an orphan when parent keys are not
//! locked; and clients that write parents and children at random, interleaved by a seed.

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use onlap::{
    Action, CheckOptions, DataType, Database, ErrorKind, ForeignKeySpec, IndexSpec, Isolation,
    Options, Result, Rule, Scan, SyncMode, Table, TableSpec, Time, Transaction, TransactionOptions,
    Value, check,
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

fn key(action: Action) -> ForeignKeySpec {
    let key = ForeignKeySpec::new("parent", ["parent"], "parents");
    key.on_delete(action).on_update(action)
}

/// Parents 1 and 2, and their children, with a foreign key or without.
fn tables(db: &Database, key: Option<ForeignKeySpec>) -> (Table, Table) {
    let parents = TableSpec::new("parents")
        .column("id", DataType::Int8)
        .nullable_column("note", DataType::Int8)
        .primary_key(["id"]);
    let parents = db.create_table(parents).unwrap();
    let mut children = TableSpec::new("children")
        .serial("id")
        .nullable_column("parent", DataType::Int8)
        .primary_key(["id"])
        .index(IndexSpec::new("by_parent", ["parent"]));
    if let Some(key) = key {
        children = children.foreign_key(key);
    }
    let children = db.create_table(children).unwrap();
    parents.insert_many([[int(1), Value::Null], [int(2), Value::Null]]).unwrap();
    (parents, children)
}

fn int(v: i64) -> Value {
    Value::Int(v)
}

fn column(db: &Database, table: &Table, name: &str) -> Vec<i64> {
    let rows = db.snapshot().unwrap().scan(table, Scan::all().columns([name])).unwrap();
    let values = rows.rows().unwrap().into_iter().flatten();
    values.filter_map(|v| if let Value::Int(v) = v { Some(v) } else { None }).collect()
}

/// Children whose parents are not there.
fn orphans(db: &Database, parents: &Table, children: &Table) -> usize {
    let there: HashSet<i64> = column(db, parents, "id").into_iter().collect();
    column(db, children, "parent").iter().filter(|p| !there.contains(p)).count()
}

fn impatient(db: &Database, level: Isolation) -> Transaction {
    let options = TransactionOptions::at(level).lock_timeout(Duration::ZERO);
    db.begin_with(options).unwrap()
}

/// What a transaction does to parents and children.
type Step = fn(&mut Transaction, &Table, &Table) -> Result<()>;

/// Runs two transactions that each do one thing before either commits; the second may be refused.
fn both(
    without: Option<Rule>,
    level: Isolation,
    first: Step,
    second: Step,
) -> (usize, Option<ErrorKind>) {
    let options = options(without);
    let db = Database::open("/db", options.clone()).unwrap();
    let (parents, children) = tables(&db, Some(key(Action::NoAction)));
    let (mut a, mut b) = (impatient(&db, level), impatient(&db, level));
    first(&mut a, &parents, &children).unwrap();
    let refused = second(&mut b, &parents, &children).err().map(|e| e.kind());
    a.commit().unwrap();
    match refused {
        None => _ = b.commit().unwrap(),
        Some(_) => b.rollback(),
    }
    let orphans = orphans(&db, &parents, &children);
    drop((parents, children));
    db.close().unwrap();
    let report = check("/db", &CheckOptions { options }).unwrap();
    assert_eq!(report.findings.len(), orphans, "{:?}", report.findings);
    (orphans, refused)
}

fn child(tx: &mut Transaction, _: &Table, children: &Table) -> Result<()> {
    tx.insert(children, &[Value::Null, int(1)])
}

fn parent_goes(tx: &mut Transaction, parents: &Table, _: &Table) -> Result<()> {
    tx.delete(parents, &[int(1)]).map(|_| ())
}

fn key_changes(tx: &mut Transaction, parents: &Table, _: &Table) -> Result<()> {
    tx.update(parents, &[int(1)], &[("id", int(9))]).map(|_| ())
}

fn goes_after_an_update(tx: &mut Transaction, parents: &Table, _: &Table) -> Result<()> {
    // Rows have successors, keys do not.
    tx.update(parents, &[int(1)], &[("note", int(1))])?;
    tx.delete(parents, &[int(1)]).map(|_| ())
}

#[test]
fn a_child_and_the_end_of_its_parent_do_not_pass_each_other() {
    for level in [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable] {
        for end in [parent_goes as Step, key_changes, goes_after_an_update] {
            for (first, second) in [(child as Step, end), (end, child)] {
                let (orphans, refused) = both(None, level, first, second);
                assert_eq!((orphans, refused), (0, Some(ErrorKind::LockNotAvailable)));
                // The control: without the rule the schedule makes an orphan.
                let (orphans, refused) = both(Some(Rule::ForeignKeys), level, first, second);
                assert_eq!((orphans, refused), (1, None), "{level:?}");
            }
        }
    }
}

/// A transaction with many children holds all parents; one that ends many parents is alone.
#[test]
fn many_keys_are_locked_together() {
    const MANY: i64 = 5000;
    let db = Database::open("/db", options(None)).unwrap();
    let (parents, children) = tables(&db, Some(key(Action::NoAction)));
    parents.insert_many((100..100 + 2 * MANY).map(|i| [int(i), Value::Null])).unwrap();
    let level = Isolation::ReadCommitted;
    let refused = |done: Result<bool>| done.unwrap_err().kind();

    let mut many = impatient(&db, level);
    for i in 100..100 + MANY {
        many.insert(&children, &[Value::Null, int(i)]).unwrap();
    }
    let mut other = impatient(&db, level);
    assert_eq!(refused(other.delete(&parents, &[int(1)])), ErrorKind::LockNotAvailable);
    other.insert(&children, &[Value::Null, int(2)]).unwrap();
    other.update(&parents, &[int(1)], &[("note", int(3))]).unwrap();
    other.rollback();
    many.commit().unwrap();
    assert_eq!(refused(parents.delete(&[int(100)])), ErrorKind::ForeignKeyViolation);

    let mut many = impatient(&db, level);
    for i in 100 + MANY..100 + 2 * MANY {
        many.delete(&parents, &[int(i)]).unwrap();
    }
    let mut other = impatient(&db, level);
    let child = other.insert(&children, &[Value::Null, int(2)]).map(|()| true);
    assert_eq!(refused(child), ErrorKind::LockNotAvailable);
    many.rollback();
    other.insert(&children, &[Value::Null, int(2)]).unwrap();
    other.commit().unwrap();
    assert_eq!(orphans(&db, &parents, &children), 0);
}

/// Parents come and go, change their keys and their other columns; children come, go and change
/// their parents, one statement or several at a time, and others go on between the statements.
fn work(tasks: &SimTasks, db: &Database, tables: &(Table, Table), mut rng: Rng) {
    let levels = [Isolation::ReadCommitted, Isolation::RepeatableRead];
    for _ in 0..25 {
        let options = TransactionOptions::at(levels[rng.index(2)]);
        let mut tx = db.begin_with(options.lock_timeout(Duration::from_secs(5))).unwrap();
        let mut done = Ok(());
        let mut place = None;
        for _ in 0..1 + rng.below(5) {
            done = done.and_then(|()| match rng.below(10) {
                0 => tx.set_all_constraints(rng.below(2) == 0),
                1 => {
                    place = Some(tx.savepoint());
                    Ok(())
                }
                2 if place.is_some() => tx.rollback_to(place.as_ref().expect("just asked")),
                _ => step(&mut tx, tables, &mut rng),
            });
            tasks.yield_now();
        }
        let ended = match done {
            Ok(()) => tx.commit().map(|_| ()),
            Err(e) => Err(e),
        };
        if let Err(e) = ended {
            let usual = [
                ErrorKind::ForeignKeyViolation,
                ErrorKind::DuplicateKey,
                ErrorKind::Conflict,
                ErrorKind::Deadlock,
            ];
            assert!(usual.contains(&e.kind()), "{e:?}");
        }
    }
}

fn step(tx: &mut Transaction, (parents, children): &(Table, Table), rng: &mut Rng) -> Result<()> {
    let parent = int(rng.below(6) as i64);
    let some_child = [int(1 + rng.below(30) as i64)];
    match rng.below(8) {
        0 => tx.insert(parents, &[parent, Value::Null]),
        1 => tx.delete(parents, &[parent]).map(|_| ()),
        2 => tx.update(parents, &[parent], &[("id", int(rng.below(6) as i64))]).map(|_| ()),
        3 => tx.update(parents, &[parent], &[("note", int(7))]).map(|_| ()),
        4 | 5 => tx.insert(children, &[Value::Null, parent]),
        6 => tx.delete(children, &some_child).map(|_| ()),
        _ => tx.update(children, &some_child, &[("parent", parent)]).map(|_| ()),
    }
}

/// One simulation of four clients: children and orphans at its end. The foreign key is there from the
/// beginning, or comes while they work.
fn simulate(mut rng: Rng, without: Option<Rule>, late: bool) -> (usize, usize) {
    let tasks = SimTasks::new(rng.next_u64());
    let mut options = options(without);
    options.clock = Arc::new(tasks.clone());
    options.tasks = Arc::new(tasks.clone());
    let db = Database::open("/db", options).unwrap();
    let actions = [Action::NoAction, Action::Cascade, Action::SetNull];
    let times = [Time::Statement, Time::Deferrable, Time::Deferred];
    let key = key(actions[rng.index(3)]).time(times[rng.index(3)]);
    let both = tables(&db, (!late).then(|| key.clone()));
    let clients: Vec<_> = (0..4)
        .map(|_| {
            let (on, db, both, rng) = (tasks.clone(), db.clone(), both.clone(), rng.fork());
            tasks.spawn("client", Box::new(move || work(&on, &db, &both, rng)))
        })
        .collect();
    while late && clients.iter().any(|client| !client.is_finished()) {
        match db.add_foreign_key("children", &key) {
            Ok(()) => break,
            Err(e) => assert_eq!(e.kind(), ErrorKind::ForeignKeyViolation),
        }
        tasks.yield_now();
        // Not by those who are there already.
        let there = column(&db, &both.0, "id");
        for row in db.snapshot().unwrap().scan(&both.1, Scan::all()).unwrap().rows().unwrap() {
            if matches!(row[1], Value::Int(v) if !there.contains(&v)) {
                let _ = both.1.delete(&row[..1]);
            }
        }
    }
    clients.into_iter().for_each(|client| client.join().unwrap());
    if late && both.1.schema().foreign_keys.is_empty() {
        return (0, 0);
    }
    let (parents, children) = &both;
    (column(&db, children, "parent").len(), orphans(&db, parents, children))
}

#[test]
fn no_interleaving_leaves_orphans() {
    let all = Cell::new((0, 0));
    for_seeds("no_interleaving_leaves_orphans", 300, |rng| {
        let (children, orphans) = simulate(rng.clone(), None, false);
        assert_eq!(orphans, 0);
        let (_, control) = simulate(rng, Some(Rule::ForeignKeys), false);
        all.set((all.get().0 + children, all.get().1 + control));
    });
    let (children, control) = all.get();
    assert!(children > 0 && control > 0, "{children} children, {control} orphans in the control");
}

#[test]
fn a_foreign_key_that_comes_later_finds_no_orphans() {
    let all = Cell::new((0, 0));
    for_seeds("a_foreign_key_that_comes_later_finds_no_orphans", 300, |rng| {
        let (children, orphans) = simulate(rng.clone(), None, true);
        assert_eq!(orphans, 0);
        let (_, control) = simulate(rng, Some(Rule::ForeignKeys), true);
        all.set((all.get().0 + children, all.get().1 + control));
    });
    let (children, control) = all.get();
    assert!(children > 0 && control > 0, "{children} children, {control} orphans in the control");
}
