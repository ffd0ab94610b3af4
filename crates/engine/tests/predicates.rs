//! Sets of rows that trees of index ranges name: held against a look at every row.

mod support;

use std::cmp::Ordering;

use onlap::{
    DataType, Database, ErrorKind, IndexSpec, Isolation, KeyRange, Predicate, Row, RowBatch, RowId,
    RowSet, Scan, Snapshot, SyncMode, Table, TableSpec, Transaction, TransactionOptions, Value,
};
use onlap_base::rng::Rng;
use support::{agreed_rows, small_options};

const INDEXES: [&str; 4] = ["t_pkey", "by_a", "by_b_a", "by_code"];

fn spec() -> TableSpec {
    TableSpec::new("t")
        .column("id", DataType::Int8)
        .nullable_column("a", DataType::Int4)
        .nullable_column("b", DataType::Text)
        .nullable_column("code", DataType::Int8)
        .column("note", DataType::Text)
        .primary_key(["id"])
        .index(IndexSpec::new("by_a", ["a"]))
        .index(IndexSpec::new("by_b_a", ["b", "a"]).descending("b"))
        .index(IndexSpec::new("by_code", ["code"]).unique())
}

fn open(dir: &tempfile::TempDir) -> (Database, Table) {
    let mut options = small_options(SyncMode::Os);
    options.tuning.compact_dead_percent = 10;
    let db = Database::open(dir.path(), options).unwrap();
    let table = db.create_table(spec()).unwrap();
    (db, table)
}

fn a(rng: &mut Rng) -> Value {
    if rng.chance(0.1) { Value::Null } else { Value::Int(rng.below(12) as i64) }
}

fn b(rng: &mut Rng) -> Value {
    match rng.below(5) {
        0 => Value::Null,
        n => Value::Text(["", "a", "ab", "b"][n as usize - 1].into()),
    }
}

fn code(rng: &mut Rng, id: i64) -> Value {
    if rng.chance(0.2) { Value::Null } else { Value::Int((id * 7919) % 100_003) }
}

fn row(rng: &mut Rng, id: i64) -> Row {
    let (a, b, code) = (a(rng), b(rng), code(rng, id));
    vec![Value::Int(id), a, b, code, Value::Text(format!("note {id}"))]
}

/// A key, or its beginning, of an index; `ids` is about where the table's ids end.
fn key(rng: &mut Rng, index: &str, ids: i64) -> Vec<Value> {
    let id = rng.below(ids as u64 + 2) as i64;
    match index {
        "t_pkey" => vec![Value::Int(id)],
        "by_a" => vec![a(rng)],
        "by_code" => vec![code(rng, id)],
        _ => {
            let mut key = vec![b(rng), a(rng)];
            key.truncate(rng.index(3));
            key
        }
    }
}

/// An end of an interval: leading values of a key, and whether keys that begin with them belong to it.
type End = Option<(Vec<Value>, bool)>;

/// A predicate, and next to it what it says, judged by values.
#[derive(Clone)]
enum Model {
    All,
    In(&'static str, Vec<(End, End)>),
    And(Vec<Model>),
    Or(Vec<Model>),
    Not(Box<Model>),
}

/// Order of a key's leading values and some given ones: NULL last, or first where descending.
fn order(index: &str, row: &Row, key: &[Value]) -> Ordering {
    let columns: &[(usize, bool)] = match index {
        "t_pkey" => &[(0, false)],
        "by_a" => &[(1, false)],
        "by_code" => &[(3, false)],
        _ => &[(2, true), (1, false)],
    };
    let rank = |value: &Value| match value {
        Value::Int(i) => (0, *i, String::new()),
        Value::Text(s) => (0, 0, s.clone()),
        _ => (1, 0, String::new()),
    };
    let of_column = |(&(at, descending), given): (&(usize, bool), &Value)| {
        let order = rank(&row[at]).cmp(&rank(given));
        if descending { order.reverse() } else { order }
    };
    columns.iter().zip(key).map(of_column).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
}

impl Model {
    fn holds(&self, row: &Row) -> bool {
        match self {
            Model::All => true,
            Model::In(index, ranges) => ranges.iter().any(|(lower, upper)| {
                let side = |end: &End, outside: Ordering| {
                    end.as_ref().is_none_or(|(key, inclusive)| match order(index, row, key) {
                        Ordering::Equal => *inclusive,
                        o => o != outside,
                    })
                };
                side(lower, Ordering::Less) && side(upper, Ordering::Greater)
            }),
            Model::And(parts) => parts.iter().all(|part| part.holds(row)),
            Model::Or(parts) => parts.iter().any(|part| part.holds(row)),
            Model::Not(of) => !of.holds(row),
        }
    }

    fn predicate(&self) -> Predicate {
        match self {
            Model::All => Predicate::All,
            Model::In(index, ranges) => Predicate::any_of(
                *index,
                ranges.iter().map(|(lower, upper)| key_range(lower, upper)),
            ),
            Model::And(parts) => Predicate::And(parts.iter().map(Model::predicate).collect()),
            Model::Or(parts) => Predicate::Or(parts.iter().map(Model::predicate).collect()),
            Model::Not(of) => !of.predicate(),
        }
    }
}

fn key_range(lower: &End, upper: &End) -> KeyRange {
    if lower.is_some() && lower == upper && lower.as_ref().is_some_and(|l| l.1) {
        return KeyRange::eq(lower.clone().unwrap().0);
    }
    let lower = match lower.clone() {
        Some((key, true)) => KeyRange::from(key),
        Some((key, false)) => KeyRange::after(key),
        None => KeyRange::all(),
    };
    lower.and(match upper.clone() {
        Some((key, true)) => KeyRange::to(key),
        Some((key, false)) => KeyRange::before(key),
        None => KeyRange::all(),
    })
}

fn range(rng: &mut Rng, index: &str, ids: i64) -> (End, End) {
    let mut end = |chance| {
        let key = key(rng, index, ids);
        let inclusive = rng.chance(0.5);
        rng.chance(chance).then_some((key, inclusive))
    };
    let (lower, upper) = (end(0.8), end(0.8));
    if rng.chance(0.4) {
        let end = Some((key(rng, index, ids), true));
        return (end.clone(), end);
    }
    (lower, upper)
}

fn tree(rng: &mut Rng, depth: usize, ids: i64) -> Model {
    let parts = |rng: &mut Rng| {
        let n = rng.index(4);
        (0..n).map(|_| tree(rng, depth - 1, ids)).collect::<Vec<_>>()
    };
    match if depth == 0 { 0 } else { rng.below(7) } {
        0 | 1 => {
            let index = INDEXES[rng.index(INDEXES.len())];
            let n = if rng.chance(0.5) { 1 } else { rng.index(5) };
            Model::In(index, (0..n).map(|_| range(rng, index, ids)).collect())
        }
        2 | 3 => Model::And(parts(rng)),
        4 => Model::Or(parts(rng)),
        5 => Model::Not(Box::new(tree(rng, depth - 1, ids))),
        _ => Model::All,
    }
}

fn ids_and_rows(batch: &RowBatch) -> Vec<(RowId, Row)> {
    (0..batch.len()).map(|i| (batch.row_ids[i], batch.row(i))).collect()
}

fn scanned(rows: onlap::Rows) -> Vec<(RowId, Row)> {
    rows.flat_map(|batch| ids_and_rows(&batch.unwrap())).collect()
}

/// Rows of which it is true, as the model and the predicate agree.
fn matching(table: &Table, all: &[(RowId, Row)], model: &Model) -> Vec<(RowId, Row)> {
    let (schema, p) = (table.schema(), model.predicate());
    let is_true = |row: &Row| {
        let holds = model.holds(row);
        assert_eq!(p.matches(&schema, row).unwrap(), holds, "{p:?} of {row:?}");
        holds
    };
    all.iter().filter(|(_, row)| is_true(row)).cloned().collect()
}

fn check_set(set: &RowSet, expected: &[(RowId, Row)], what: &str) {
    let ids: Vec<RowId> = expected.iter().map(|(id, _)| *id).collect();
    assert_eq!(set.rows(), ids, "{what}");
    assert_eq!(set.iter().collect::<Vec<_>>(), ids);
    assert_eq!(set.len(), ids.len() as u64);
    assert_eq!(set.is_empty(), ids.is_empty());
    assert!(ids.iter().all(|&id| set.contains(id)));
    assert_eq!(*set, ids.into_iter().rev().collect::<RowSet>());
}

fn check(db: &Database, snapshot: &Snapshot, table: &Table, model: &Model) {
    let all = scanned(snapshot.scan(table, Scan::all()).unwrap());
    let (p, expected) = (&model.predicate(), matching(table, &all, model));
    let before = db.stats().unwrap().reads;
    let set = snapshot.row_set(table, p).unwrap();
    let after = db.stats().unwrap().reads;
    check_set(&set, &expected, &format!("{p:?}"));
    assert_eq!(after.rows_read, before.rows_read, "no row is read");
    assert_eq!(after.blocks_read, before.blocks_read, "no block of rows is read");
    let fetched = snapshot.fetch_set(table, &set, None).unwrap();
    assert_eq!(ids_and_rows(&fetched), expected);
}

fn check_own(tx: &mut Transaction, table: &Table, model: &Model) {
    let all = scanned(tx.scan(table, Scan::all()).unwrap());
    let (p, expected) = (&model.predicate(), matching(table, &all, model));
    let set = tx.row_set(table, p).unwrap();
    check_set(&set, &expected, &format!("in a transaction: {p:?}"));
    let fetched = tx.fetch_set(table, &set, None).unwrap();
    assert_eq!(ids_and_rows(&fetched), expected);
}

/// Changes some rows of a table at random; `live` are ids of rows that are there.
fn change(rng: &mut Rng, tx: &mut Transaction, table: &Table, live: &mut Vec<i64>, next: &mut i64) {
    for _ in 0..rng.below(120) {
        tx.insert(table, &row(rng, *next)).unwrap();
        live.push(*next);
        *next += 1;
    }
    for _ in 0..rng.below(80).min(live.len() as u64) {
        let at = rng.index(live.len());
        let id = [Value::Int(live[at])];
        if rng.chance(0.6) {
            assert!(tx.delete(table, &id).unwrap());
            live.swap_remove(at);
        } else {
            assert!(tx.update(table, &id, &[("a", a(rng)), ("b", b(rng))]).unwrap());
        }
    }
}

#[test]
fn sets_have_the_rows_that_a_look_at_every_row_finds() {
    for seed in 0..4 {
        let dir = tempfile::tempdir().unwrap();
        let (db, table) = open(&dir);
        let mut rng = Rng::new(seed);
        let (mut live, mut next) = (Vec::new(), 0);
        let mut snapshots = Vec::new();
        let mut gaps = false;
        for round in 0..8 {
            for _ in 0..6 {
                let mut tx = db.begin().unwrap();
                let (mut now, mut then) = (live.clone(), next);
                change(&mut rng, &mut tx, &table, &mut now, &mut then);
                for _ in 0..3 {
                    let p = tree(&mut rng, 3, then);
                    check_own(&mut tx, &table, &p);
                }
                if rng.chance(0.8) {
                    tx.commit().unwrap();
                    (live, next) = (now, then);
                }
            }
            if round == 2 || round == 5 {
                snapshots.push(db.snapshot().unwrap());
            }
            match round {
                1 | 4 => db.flush().unwrap(),
                3 | 6 => db.settle().unwrap(),
                5 => snapshots.clear(),
                _ => {}
            }
            let now = db.snapshot().unwrap();
            for _ in 0..20 {
                let p = tree(&mut rng, 4, next);
                check(&db, &now, &table, &p);
                snapshots.iter().for_each(|snapshot| check(&db, snapshot, &table, &p));
            }
            check(&db, &now, &table, &Model::All);
            let stats = db.stats().unwrap().tables.remove(0);
            gaps |= stats.segment_rows + stats.unflushed_rows < stats.row_ids;
        }
        assert_eq!(agreed_rows(&db, "t").unwrap().len(), live.len());
        assert!(gaps, "some rows are forgotten, so that not every id is a row's");
        db.close().unwrap();
    }
}

#[test]
fn a_table_without_index_has_all_rows_and_none() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = small_options(SyncMode::Os);
    options.tuning.compact_dead_percent = 10;
    let db = Database::open(dir.path(), options).unwrap();
    let table = db.create_table(TableSpec::new("bare").column("x", DataType::Int8)).unwrap();
    table.insert_many((0..5000).map(|x| [Value::Int(x)])).unwrap();
    db.flush().unwrap();
    let snapshot = db.snapshot().unwrap();
    let all = snapshot.row_set(&table, &Predicate::All).unwrap();
    assert_eq!(all.len(), 5000);
    assert!(snapshot.row_set(&table, &!Predicate::All).unwrap().is_empty());
    drop(snapshot);
    let mut tx = db.begin().unwrap();
    let dead: Vec<RowId> = all.iter().filter(|id| id % 3 == 0).collect();
    tx.delete_rows(&table, &dead).unwrap();
    tx.commit().unwrap();
    db.flush().unwrap();
    db.settle().unwrap();
    assert!(db.stats().unwrap().tables[0].segment_rows < 4000, "the dead rows are forgotten");
    let all = db.snapshot().unwrap().row_set(&table, &Predicate::All).unwrap();
    assert_eq!(all.rows(), (0..5000).filter(|id| id % 3 != 0).collect::<Vec<RowId>>());
}

#[test]
fn large_sets_meet_as_small_ones_do() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path(), onlap::Options::default().sync(SyncMode::Os)).unwrap();
    let table = db.create_table(spec()).unwrap();
    const N: i64 = 300_000;
    let row = |id: i64| -> Row {
        let a = Value::Int(id * 7919 % 1000);
        vec![Value::Int(id), a, Value::Null, Value::Null, Value::Text(String::new())]
    };
    table.insert_many((0..N).map(row)).unwrap();
    db.flush().unwrap();
    for id in (0..N).step_by(1000) {
        assert!(table.delete(&[Value::Int(id)]).unwrap());
    }
    let low = || Predicate::index("by_a", KeyRange::before([Value::Int(600)]));
    let high = || Predicate::index("by_a", KeyRange::from([Value::Int(400)]));
    let few = || Predicate::index("t_pkey", KeyRange::before([Value::Int(5000)]));
    let a = |id: i64| id * 7919 % 1000;
    let snapshot = db.snapshot().unwrap();
    let check = |p: Predicate, holds: &dyn Fn(i64) -> bool| {
        let set = snapshot.row_set(&table, &p).unwrap();
        let expected: Vec<RowId> =
            (0..N).filter(|id| id % 1000 != 0 && holds(*id)).map(|id| id as RowId).collect();
        assert!(set.rows() == expected, "{p:?}: {} rows of {}", set.len(), expected.len());
    };
    check(low(), &|id| a(id) < 600);
    check(low().and(high()), &|id| (400..600).contains(&a(id)));
    check(low().or(high()), &|_| true);
    check(!low(), &|id| a(id) >= 600);
    check((!low()).and(!high()), &|_| false);
    check(low().and(few()), &|id| a(id) < 600 && id < 5000);
    check(low().or(few()), &|id| a(id) < 600 || id < 5000);
    check(low().and(!few()), &|id| a(id) < 600 && id >= 5000);
    check(few().and(!low()), &|id| a(id) >= 600 && id < 5000);
    check(!few(), &|id| id >= 5000);
}

#[test]
fn mistakes_are_errors_whatever_the_rows_are() {
    let dir = tempfile::tempdir().unwrap();
    let (db, table) = open(&dir);
    let snapshot = db.snapshot().unwrap();
    let schema = table.schema();
    let nobody = Predicate::index("t_pkey", KeyRange::eq([Value::Int(-1)]));
    let mut deep = Predicate::All;
    for _ in 0..200 {
        deep = !deep;
    }
    let wrong = [
        (Predicate::index("nope", KeyRange::all()), ErrorKind::UnknownIndex),
        (Predicate::index("by_a", KeyRange::eq([Value::Text("x".into())])), ErrorKind::WrongType),
        (Predicate::index("by_a", KeyRange::eq([Value::Int(1 << 40)])), ErrorKind::OutOfRange),
        (deep, ErrorKind::LimitExceeded),
    ];
    let row = row(&mut Rng::new(1), 1);
    for (p, kind) in wrong {
        let p = nobody.clone().and(p);
        assert_eq!(snapshot.row_set(&table, &p).unwrap_err().kind(), kind);
        assert_eq!(p.matches(&schema, &row).unwrap_err().kind(), kind);
    }
    let e = Predicate::All.matches(&schema, &row[1..]).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidInput);
}

/// What a predicate found, and what it did not find, still holds when the transaction commits.
#[test]
fn predicates_are_validated_at_serializable() {
    let dir = tempfile::tempdir().unwrap();
    let (db, table) = open(&dir);
    let mut rng = Rng::new(5);
    for id in 0..50 {
        let mut row = row(&mut rng, id);
        row[1] = Value::Int(id % 10);
        table.insert(&row).unwrap();
    }
    let conflicts = |p: &Predicate, other: &dyn Fn(&Table)| {
        let mut tx = db.begin_with(TransactionOptions::at(Isolation::Serializable)).unwrap();
        tx.row_set(&table, p).unwrap();
        other(&table);
        let id = 1_000_000 + table.schema().version as i64 + rand_id(&db);
        tx.insert(&table, &row_with(id, 77)).unwrap();
        let result = tx.commit();
        result.is_err_and(|e| e.kind() == ErrorKind::Conflict)
    };
    let three = Predicate::index("by_a", KeyRange::eq([Value::Int(3)]));
    let four = || Predicate::index("by_a", KeyRange::eq([Value::Int(4)]));
    assert!(conflicts(&three, &|t| t.insert(&row_with(100, 3)).map(drop).unwrap()));
    assert!(!conflicts(&three, &|t| t.insert(&row_with(101, 5)).map(drop).unwrap()));
    assert!(conflicts(&three, &|t| assert!(t.delete(&[Value::Int(3)]).unwrap())));
    let both = three.clone().and(!four());
    assert!(!conflicts(&both, &|t| t.insert(&row_with(102, 5)).map(drop).unwrap()));
    assert!(conflicts(&(!four()), &|t| t.insert(&row_with(103, 5)).map(drop).unwrap()));
}

fn rand_id(db: &Database) -> i64 {
    db.stats().unwrap().csn as i64
}

fn row_with(id: i64, a: i64) -> Row {
    vec![Value::Int(id), Value::Int(a), Value::Null, Value::Null, Value::Text(String::new())]
}
