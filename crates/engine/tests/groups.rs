//! Loose scans: prefixes of keys, and the first row of each, for a few entries per group.

mod support;

use std::collections::BTreeMap;

use onlap::{
    DataType, Database, ErrorKind, IndexSpec, KeyRange, Options, ReadCounters, Row, Scan, SyncMode,
    Table, TableSpec, Value,
};
use onlap_base::rng::Rng;
use support::{agreed_rows, integer, small_options};

fn spec() -> TableSpec {
    TableSpec::new("t")
        .column("id", DataType::Int8)
        .nullable_column("j", DataType::Int4)
        .nullable_column("s", DataType::Text)
        .column("x", DataType::Int8)
        .primary_key(["id"])
        .index(IndexSpec::new("newest", ["j", "id"]).descending("id"))
        .index(IndexSpec::new("by_s_j", ["s", "j"]).descending("s").include(["x"]))
}

fn row(rng: &mut Rng, id: i64, groups: u64) -> Row {
    let j = if rng.chance(0.05) { Value::Null } else { Value::Int(rng.below(groups) as i64) };
    let s = match rng.below(6) {
        0 => Value::Null,
        n => Value::Text("abcde"[..n as usize].into()),
    };
    vec![Value::Int(id), j, s, Value::Int(id * 3)]
}

/// NULL last, as in an ascending index.
fn rank(value: &Value) -> (bool, i64, String) {
    match value {
        Value::Int(i) => (false, *i, String::new()),
        Value::Text(s) => (false, 0, s.clone()),
        _ => (true, 0, String::new()),
    }
}

/// Reads of everything that a database did so far.
fn reads(db: &Database) -> ReadCounters {
    db.stats().unwrap().reads
}

#[test]
fn the_newest_row_of_each_group_costs_at_most_three_entries() {
    const ROWS: i64 = 82_170;
    const GROUPS: i64 = 10;
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path(), Options::default().sync(SyncMode::Os)).unwrap();
    let table = db.create_table(spec()).unwrap();
    let row = |id| [Value::Int(id), Value::Int(id % GROUPS), Value::Null, Value::Int(id)];
    table.insert_many((0..ROWS).map(row)).unwrap();
    let newest = |what: &str| {
        let snapshot = db.snapshot().unwrap();
        let before = reads(&db);
        let scan = Scan::all().columns(["j", "id"]);
        let found = snapshot.first_per_group(&table, "newest", 1, KeyRange::all(), scan).unwrap();
        let expected: Vec<Row> =
            (0..GROUPS).map(|j| vec![Value::Int(j), Value::Int(ROWS - GROUPS + j)]).collect();
        assert_eq!((0..found.len()).map(|i| found.row(i)).collect::<Vec<_>>(), expected, "{what}");
        let groups = snapshot.distinct(&table, "newest", 1, KeyRange::all()).unwrap();
        assert_eq!(groups, (0..GROUPS).map(|j| vec![Value::Int(j)]).collect::<Vec<_>>());
        let after = reads(&db);
        let entries = after.index_entries_read - before.index_entries_read;
        assert!(entries <= 2 * 3 * GROUPS as u64, "{what}: {entries} entries");
        assert_eq!(after.rows_read, before.rows_read, "the index has all that is wanted");
    };
    newest("in memory");
    db.flush().unwrap();
    newest("in a run");
}

fn check(db: &Database, table: &Table, live: &BTreeMap<i64, Row>) {
    let snapshot = db.snapshot().unwrap();
    let mut by_j: BTreeMap<_, Vec<&Row>> = BTreeMap::new();
    let mut by_s: BTreeMap<_, Vec<&Row>> = BTreeMap::new();
    for row in live.values() {
        by_j.entry(rank(&row[1])).or_default().push(row);
        by_s.entry(rank(&row[2])).or_default().push(row);
    }
    let js: Vec<Row> = by_j.values().map(|rows| vec![rows[0][1].clone()]).collect();
    assert_eq!(snapshot.distinct(table, "newest", 1, KeyRange::all()).unwrap(), js);
    let rows = |range: KeyRange, scan: Scan| -> Vec<Row> {
        let found = snapshot.first_per_group(table, "newest", 1, range, scan).unwrap();
        (0..found.len()).map(|i| found.row(i)).collect()
    };
    let newest: Vec<Row> = by_j
        .values()
        .map(|rows| rows.iter().max_by_key(|r| integer(&r[0])).copied().unwrap().clone())
        .collect();
    assert_eq!(rows(KeyRange::all(), Scan::all()), newest);
    assert_eq!(rows(KeyRange::all(), Scan::all().limit(2)), newest[..newest.len().min(2)]);
    let mut oldest: Vec<Row> = by_j
        .values()
        .map(|rows| rows.iter().min_by_key(|r| integer(&r[0])).copied().unwrap().clone())
        .collect();
    oldest.reverse();
    assert_eq!(rows(KeyRange::all(), Scan::all().reverse()), oldest);
    let some = KeyRange::from([Value::Int(3)]).and(KeyRange::before([Value::Int(6)]));
    let within: Vec<Row> =
        newest.iter().filter(|r| matches!(r[1], Value::Int(3..=5))).cloned().collect();
    assert_eq!(rows(some, Scan::all()), within);

    // Descending, NULL first; pairs; a covering read in reverse.
    let mut pairs = BTreeMap::new();
    for row in live.values() {
        let (s, j) = (rank(&row[2]), rank(&row[1]));
        pairs.entry((std::cmp::Reverse(s), j)).or_insert_with(Vec::new).push(row);
    }
    let both: Vec<Row> = pairs.values().map(|r| vec![r[0][2].clone(), r[0][1].clone()]).collect();
    assert_eq!(snapshot.distinct(table, "by_s_j", 2, KeyRange::all()).unwrap(), both);
    let scan = Scan::all().columns(["x", "s"]).reverse();
    let found = snapshot.first_per_group(table, "by_s_j", 1, KeyRange::all(), scan).unwrap();
    let groups: Vec<Value> = (0..found.len()).map(|i| found.value(i, 1)).collect();
    let expected: Vec<Value> = by_s.values().map(|rows| rows[0][2].clone()).collect();
    assert_eq!(groups, expected, "reversed, a descending column ascends");
    for i in 0..found.len() {
        let of_group = &by_s[&rank(&found.value(i, 1))];
        let last_j = of_group.iter().map(|r| rank(&r[1])).max().unwrap();
        let xs = of_group.iter().filter(|r| rank(&r[1]) == last_j).map(|r| &r[3]);
        assert!(xs.clone().any(|x| *x == found.value(i, 0)));
    }
    // One group of everything: the first row.
    let first = snapshot.first_per_group(table, "newest", 0, KeyRange::all(), Scan::all()).unwrap();
    assert_eq!(
        (0..first.len()).map(|i| first.row(i)).collect::<Vec<_>>(),
        newest[..newest.len().min(1)]
    );
}

#[test]
fn groups_are_those_of_the_visible_rows() {
    for seed in 0..3 {
        let dir = tempfile::tempdir().unwrap();
        let db = Database::open(dir.path(), small_options(SyncMode::Os)).unwrap();
        let table = db.create_table(spec()).unwrap();
        let mut rng = Rng::new(seed);
        let mut live: BTreeMap<i64, Row> = BTreeMap::new();
        let mut next = 0;
        check(&db, &table, &live);
        for round in 0..8 {
            let groups = if round < 4 { 9 } else { 200 };
            for _ in 0..rng.below(800) {
                let row = row(&mut rng, next, groups);
                table.insert(&row).unwrap();
                live.insert(next, row);
                next += 1;
            }
            // Whole groups die, and rows here and there.
            let dead_group = Value::Int(rng.below(groups) as i64);
            let dead: Vec<i64> = live
                .iter()
                .filter(|(_, r)| r[1] == dead_group || rng.chance(0.1))
                .map(|(id, _)| *id)
                .collect();
            for id in dead {
                assert!(table.delete(&[Value::Int(id)]).unwrap());
                live.remove(&id);
            }
            match round {
                2 | 4 => db.flush().unwrap(),
                6 => db.settle().unwrap(),
                _ => {}
            }
            check(&db, &table, &live);
        }
        // Own rows and marks count in a transaction, in no other.
        let mut tx = db.begin().unwrap();
        tx.insert(&table, &row(&mut rng, next, 1)).unwrap();
        let own = vec![Value::Int(next + 1), Value::Int(-5), Value::Null, Value::Int(0)];
        tx.insert(&table, &own).unwrap();
        let groups = tx.distinct(&table, "newest", 1, KeyRange::all()).unwrap();
        assert_eq!(groups[0], [Value::Int(-5)]);
        let first = tx.first_per_group(&table, "newest", 1, KeyRange::all(), Scan::all()).unwrap();
        assert_eq!(first.row(0), own);
        assert!(tx.delete(&table, &own[..1]).unwrap());
        let again = tx.distinct(&table, "newest", 1, KeyRange::all()).unwrap();
        assert_eq!(again[..], groups[1..]);
        drop(tx);
        check(&db, &table, &live);
        assert_eq!(agreed_rows(&db, "t").unwrap().len(), live.len());
    }
}

#[test]
fn groups_of_more_columns_than_the_key_has_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path(), small_options(SyncMode::Os)).unwrap();
    let table = db.create_table(spec()).unwrap();
    let error = db.snapshot().unwrap().distinct(&table, "newest", 3, KeyRange::all()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.message().contains("newest has 2 key columns"), "{}", error.message());
}
