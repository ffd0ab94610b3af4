//! What readers see: through every kind of source, at every snapshot, in both directions.

use onlap::{
    DataType, Database, ErrorKind, IndexSpec, KeyRange, Options, Row, RowId, Scan, Snapshot,
    SyncMode, Table, TableSpec, Value,
};
use onlap_base::rng::Rng;
use onlap_base::tasks::{Tasks, ThreadTasks};

const INDEX: &str = "by_kind_score";

fn spec() -> TableSpec {
    TableSpec::new("t")
        .column("id", DataType::Int8)
        .nullable_column("kind", DataType::Text)
        .column("score", DataType::Int4)
        .column("weight", DataType::Float8)
        .column("note", DataType::Text)
        .primary_key(["id"])
        .index(IndexSpec::new(INDEX, ["kind", "score"]).descending("score").include(["weight"]))
}

fn open(dir: &tempfile::TempDir) -> (Database, Table) {
    let mut options = Options::default().sync(SyncMode::Os).memory_limit(64 << 20);
    options.tuning.block_bytes = 512;
    options.tuning.run_file_bytes = 4096;
    let db = Database::open(dir.path(), options).unwrap();
    let table = db.create_table(spec()).unwrap();
    (db, table)
}

fn text(s: &str) -> Value {
    Value::Text(s.into())
}

fn row(rng: &mut Rng, id: i64) -> Row {
    let kind = match rng.below(5) {
        0 => Value::Null,
        n => text(["", "a", "ab", "b"][n as usize - 1]),
    };
    vec![
        Value::Int(id),
        kind,
        Value::Int(rng.below(30) as i64),
        Value::Float(id as f64 / 4.0),
        text(&format!("note {id}")),
    ]
}

/// Order of the index: kind ascending with NULL last, score descending, then by age.
fn index_order(rows: &mut [Row]) {
    rows.sort_by_key(|r| {
        let kind = match &r[1] {
            Value::Text(s) => (false, s.clone()),
            _ => (true, String::new()),
        };
        let Value::Int(score) = r[2] else { unreachable!() };
        let Value::Float(age) = r[3] else { unreachable!() };
        (kind, -score, (age * 4.0) as i64)
    });
}

fn check(snapshot: &Snapshot, table: &Table, live: &[Row], what: &str) {
    assert_eq!(snapshot.count(table).unwrap(), live.len() as u64, "{what}: count");
    let all = snapshot.scan(table, Scan::all()).unwrap().rows().unwrap();
    assert_eq!(all, live, "{what}: scan");
    let mut back = snapshot.scan(table, Scan::all().reverse()).unwrap().rows().unwrap();
    back.reverse();
    assert_eq!(back, live, "{what}: scan back");

    let mut sorted = live.to_vec();
    index_order(&mut sorted);
    let scan = |range: KeyRange, scan: Scan| {
        snapshot.index_scan(table, INDEX, range, scan).unwrap().rows().unwrap()
    };
    assert_eq!(scan(KeyRange::all(), Scan::all()), sorted, "{what}: index");
    let mut back = scan(KeyRange::all(), Scan::all().reverse());
    back.reverse();
    assert_eq!(back, sorted, "{what}: index back");
    let covered = scan(KeyRange::all(), Scan::all().columns(["weight", "kind"]));
    let expected: Vec<Row> = sorted.iter().map(|r| vec![r[3].clone(), r[1].clone()]).collect();
    assert_eq!(covered, expected, "{what}: covered");
    for limit in [0, 1, 10, 17, 40] {
        let some = scan(KeyRange::all(), Scan::all().columns(["score"]).limit(limit));
        let expected: Vec<Row> = sorted.iter().take(limit).map(|r| vec![r[2].clone()]).collect();
        assert_eq!(some, expected, "{what}: limit {limit}");
        let some = scan(KeyRange::all(), Scan::all().reverse().limit(limit));
        let expected: Vec<Row> = sorted.iter().rev().take(limit).cloned().collect();
        assert_eq!(some, expected, "{what}: limit {limit} back");
    }
    let of_kind =
        |kind: &Value| sorted.iter().filter(|r| r[1] == *kind).cloned().collect::<Vec<_>>();
    for kind in [Value::Null, text(""), text("ab"), text("none")] {
        let expected = of_kind(&kind);
        let range = KeyRange::eq([kind.clone()]);
        assert_eq!(scan(range.clone(), Scan::all()), expected, "{what}: {kind:?}");
        assert_eq!(
            snapshot.index_count(table, INDEX, range.clone()).unwrap(),
            expected.len() as u64
        );
        let ids = snapshot.index_row_ids(table, INDEX, range).unwrap();
        assert!(ids.is_sorted_by(|a, b| a < b));
        let fetched = snapshot.fetch(table, &ids, None).unwrap();
        assert_eq!(fetched.row_ids, ids);
        let mut rows: Vec<Row> = (0..fetched.len()).map(|i| fetched.row(i)).collect();
        index_order(&mut rows);
        assert_eq!(rows, expected, "{what}: fetched {kind:?}");
        let first = snapshot.get_by(table, INDEX, &[kind], None).unwrap();
        assert_eq!(first.as_ref(), expected.first(), "{what}: first");
    }
    let middle = KeyRange::after([text("a"), Value::Int(20)])
        .and(KeyRange::before([text("b"), Value::Int(10)]));
    let inside = |r: &&Row| {
        let Value::Int(score) = r[2] else { unreachable!() };
        match &r[1] {
            Value::Text(s) if s == "a" => score < 20,
            Value::Text(s) if s == "b" => score > 10,
            kind => *kind == text("ab"),
        }
    };
    let expected: Vec<Row> = sorted.iter().filter(inside).cloned().collect();
    assert_eq!(scan(middle, Scan::all()), expected, "{what}: middle");
}

fn check_keys(snapshot: &Snapshot, table: &Table, live: &[Row], ids: i64) {
    let mut live = live.iter().map(|r| (r[0].clone(), r)).collect::<Vec<_>>();
    live.sort_by_key(|(id, _)| format!("{id:?}"));
    for id in 0..ids {
        let key = Value::Int(id);
        let at = live.binary_search_by_key(&format!("{key:?}"), |(id, _)| format!("{id:?}"));
        let expected = at.ok().map(|i| live[i].1.clone());
        let key = [key];
        assert_eq!(snapshot.get(table, &key, None).unwrap(), expected, "key {id}");
        let note = snapshot.get(table, &key, Some(&["note", "id"])).unwrap();
        assert_eq!(note, expected.as_ref().map(|r| vec![r[4].clone(), r[0].clone()]));
        let only_key = snapshot.get(table, &key, Some(&["id"])).unwrap();
        assert_eq!(only_key, expected.map(|r| vec![r[0].clone()]));
    }
}

/// Rows live at each of several snapshots that stay open while rows die, are replaced, flushed and
/// merged.
#[test]
fn every_snapshot_goes_on_seeing_its_moment() {
    let dir = tempfile::tempdir().unwrap();
    let (db, table) = open(&dir);
    let mut rng = Rng::new(7);
    let mut live: Vec<Row> = Vec::new();
    let mut moments: Vec<(Snapshot, Vec<Row>)> = Vec::new();
    let mut next_id = 0;
    for round in 0..6 {
        for _ in 0..8 {
            let mut tx = db.begin().unwrap();
            for _ in 0..rng.below(60) {
                let row = row(&mut rng, next_id);
                next_id += 1;
                tx.insert(&table, &row).unwrap();
                live.push(row);
            }
            tx.commit().unwrap();
        }
        for _ in 0..rng.below(100).min(live.len() as u64) {
            let at = rng.index(live.len());
            if rng.chance(0.5) {
                let dead = live.remove(at);
                assert!(table.delete(&dead[..1]).unwrap());
            } else {
                // A new version is a new row, behind all others.
                let mut changed = live.remove(at);
                changed[2] = Value::Int(rng.below(30) as i64);
                changed[3] = Value::Float(next_id as f64 / 4.0);
                next_id += 1;
                let set = [("score", changed[2].clone()), ("weight", changed[3].clone())];
                assert!(table.update(&changed[..1], &set).unwrap());
                live.push(changed);
            }
        }
        moments.push((db.snapshot().unwrap(), live.clone()));
        match round {
            1 | 3 => db.flush().unwrap(),
            4 => db.settle().unwrap(),
            _ => {}
        }
        for (i, (snapshot, live)) in moments.iter().enumerate() {
            check(snapshot, &table, live, &format!("round {round}, moment {i}"));
        }
        let (snapshot, live) = moments.last().unwrap();
        check_keys(snapshot, &table, live, next_id);
    }
    for (snapshot, live) in &moments {
        check_keys(snapshot, &table, live, next_id);
    }
}

#[test]
fn covering_reads_touch_no_row_and_others_read_each_block_once() {
    let dir = tempfile::tempdir().unwrap();
    let (db, table) = open(&dir);
    let mut rng = Rng::new(3);
    let rows: Vec<Row> = (0..6000).map(|id| row(&mut rng, id)).collect();
    table.insert_many(&rows).unwrap();
    db.settle().unwrap();
    let snapshot = db.snapshot().unwrap();

    let scan = Scan::all().columns(["score", "weight", "kind", "score"]);
    let mut covered = snapshot.index_scan(&table, INDEX, KeyRange::all(), scan).unwrap();
    assert_eq!(covered.by_ref().map(|b| b.unwrap().len()).sum::<usize>(), 6000);
    let cost = covered.counters();
    assert_eq!((cost.index_entries_read, cost.rows_read, cost.blocks_read), (6000, 0, 0));

    let mut all = snapshot.scan(&table, Scan::all()).unwrap();
    all.by_ref().for_each(|b| assert!(!b.unwrap().is_empty()));
    let blocks = all.counters().blocks_read;
    assert_eq!(all.counters().rows_read, 6000);
    assert!(blocks >= 2, "{blocks} blocks");

    let range = KeyRange::eq([text("ab")]);
    let mut uncovered = snapshot.index_scan(&table, INDEX, range, Scan::all()).unwrap();
    let sizes: Vec<usize> = uncovered.by_ref().map(|b| b.unwrap().len()).collect();
    assert!(sizes[0] <= 16 && sizes.len() < 10, "small first, then larger: {sizes:?}");
    let cost = uncovered.counters();
    assert_eq!(cost.rows_read, cost.index_entries_read);
    assert!(cost.blocks_read <= blocks * sizes.len() as u64);

    let mut few = snapshot
        .index_scan(&table, INDEX, KeyRange::all(), Scan::all().columns(["kind"]).limit(10))
        .unwrap();
    assert_eq!(few.next().unwrap().unwrap().len(), 10);
    assert!(few.next().is_none());
    assert!(few.counters().index_entries_read <= 16);
    drop((covered, all, uncovered, few));
    let reads = db.stats().unwrap().reads;
    assert!(reads.rows_read >= 6000 && reads.index_entries_read >= 6000);
}

#[test]
fn batches_carry_row_ids_and_fetch_leaves_out_what_is_not_visible() {
    let dir = tempfile::tempdir().unwrap();
    let (db, table) = open(&dir);
    let mut rng = Rng::new(5);
    for id in 0..100 {
        table.insert(&row(&mut rng, id)).unwrap();
        if id == 60 {
            db.flush().unwrap();
        }
    }
    let before = db.snapshot().unwrap();
    for id in [3, 50, 99] {
        assert!(table.delete(&[Value::Int(id)]).unwrap());
    }
    table.insert(&row(&mut rng, 100)).unwrap();
    let after = db.snapshot().unwrap();
    let ids = |snapshot: &Snapshot| -> Vec<RowId> {
        let rows = snapshot.scan(&table, Scan::all().columns(["id"])).unwrap();
        rows.flat_map(|b| b.unwrap().row_ids).collect()
    };
    assert_eq!(ids(&before), (0..100).collect::<Vec<_>>());
    assert_eq!(ids(&after).len(), 98);
    // In any order, twice, not there yet, not there at all.
    let asked = [99, 70, 3, 3, 100, 4, 5_000_000];
    let got = before.fetch(&table, &asked, Some(&["id"])).unwrap();
    assert_eq!(got.row_ids, [3, 4, 70, 99]);
    assert_eq!(got.row(2), [Value::Int(70)]);
    let got = after.fetch(&table, &asked, Some(&[])).unwrap();
    assert_eq!((got.row_ids.as_slice(), got.columns.rows), (&[4, 70, 100][..], 3));
}

#[test]
fn a_scan_outlives_its_snapshot_and_the_rows_that_were_there() {
    let dir = tempfile::tempdir().unwrap();
    let (db, table) = open(&dir);
    let mut rng = Rng::new(9);
    let rows: Vec<Row> = (0..3000).map(|id| row(&mut rng, id)).collect();
    table.insert_many(&rows).unwrap();
    db.flush().unwrap();
    let mut scan = db.snapshot().unwrap().scan(&table, Scan::all()).unwrap();
    let first = scan.next().unwrap().unwrap();
    for id in 0..3000 {
        table.delete(&[Value::Int(id)]).unwrap();
    }
    db.settle().unwrap();
    let rest: usize = scan.map(|b| b.unwrap().len()).sum();
    assert_eq!(first.len() + rest, 3000);
    assert_eq!(db.snapshot().unwrap().count(&table).unwrap(), 0);
    assert!(db.snapshot().unwrap().scan(&table, Scan::all()).unwrap().next().is_none());
}

/// Readers next to a writer, flushes and merges: every snapshot holds whole transactions, and all ways
/// of reading agree on it.
#[test]
fn readers_beside_a_writer_see_whole_transactions() {
    const ADDED: i64 = 50;
    const REMOVED: i64 = 10;
    let dir = tempfile::tempdir().unwrap();
    let mut options = Options::default().sync(SyncMode::Os).memory_limit(64 << 20);
    options.tuning.memtable_bytes = Some(64 << 10);
    options.tuning.run_file_bytes = 16 << 10;
    options.tuning.merge_fan_in = 3;
    let db = Database::open(dir.path(), options).unwrap();
    let table = db.create_table(spec()).unwrap();
    let tasks = ThreadTasks::new();
    let (writer_db, writer_table) = (db.clone(), table.clone());
    let write = move || {
        let mut rng = Rng::new(11);
        for round in 0..150 {
            let mut tx = writer_db.begin().unwrap();
            for id in round * ADDED..(round + 1) * ADDED {
                tx.insert(&writer_table, &row(&mut rng, id)).unwrap();
            }
            for id in round * ADDED..round * ADDED + REMOVED {
                // Rows of the transaction before, or, at first, of this one.
                let id = if round == 0 { id } else { id - REMOVED };
                assert!(tx.delete(&writer_table, &[Value::Int(id)]).unwrap());
            }
            tx.commit().unwrap();
        }
    };
    let writer = tasks.spawn("writer", Box::new(write));
    let (mut last, mut stalled) = (0, 0);
    while last < 150 * (ADDED - REMOVED) as u64 {
        let snapshot = db.snapshot().unwrap();
        let count = snapshot.count(&table).unwrap();
        assert!(count >= last && count.is_multiple_of((ADDED - REMOVED) as u64), "{count} rows");
        stalled = if count == last { stalled + 1 } else { 0 };
        assert!(stalled < 20_000, "the writer stopped at {count} rows");
        last = count;
        let scanned = snapshot.scan(&table, Scan::all().columns(["id"])).unwrap();
        let scanned: Vec<RowId> = scanned.flat_map(|b| b.unwrap().row_ids).collect();
        let back = snapshot.scan(&table, Scan::all().columns(["id"]).reverse()).unwrap();
        let mut back: Vec<RowId> = back.flat_map(|b| b.unwrap().row_ids).collect();
        back.reverse();
        assert_eq!((scanned.len() as u64, &back), (count, &scanned));
        for index in ["t_pkey", INDEX] {
            assert_eq!(snapshot.index_count(&table, index, KeyRange::all()).unwrap(), count);
            let ids = snapshot.index_row_ids(&table, index, KeyRange::all()).unwrap();
            assert_eq!(ids, scanned);
            let scan = Scan::all().columns(["id"]);
            let ordered = snapshot.index_scan(&table, index, KeyRange::all(), scan).unwrap();
            let mut ids: Vec<RowId> = ordered.flat_map(|b| b.unwrap().row_ids).collect();
            ids.sort_unstable();
            assert_eq!(ids, scanned);
        }
    }
    writer.join().unwrap();
    db.close().unwrap();
}

#[test]
fn mistakes_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let (db, table) = open(&dir);
    let bare = db.create_table(TableSpec::new("bare").column("x", DataType::Int4)).unwrap();
    let old = db.snapshot().unwrap();
    bare.insert(&[Value::Int(1)]).unwrap();
    let late = db.create_table(TableSpec::new("late").column("x", DataType::Int4)).unwrap();
    late.insert(&[Value::Int(1)]).unwrap();
    let s = db.snapshot().unwrap();
    let fails = |result: Result<(), onlap::Error>, kind: ErrorKind, words: &str| {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().contains(words), "'{error}' does not say '{words}'");
    };
    let one = [Value::Int(1)];
    fails(s.get(&bare, &one, None).map(drop), ErrorKind::UnknownIndex, "no primary key");
    fails(s.get(&table, &[], None).map(drop), ErrorKind::InvalidInput, "1 column");
    fails(s.get(&table, &[text("1")], None).map(drop), ErrorKind::WrongType, "id");
    fails(s.get(&table, &one, Some(&["nope"])).map(drop), ErrorKind::UnknownColumn, "nope");
    fails(s.get_by(&table, "nope", &one, None).map(drop), ErrorKind::UnknownIndex, "nope");
    let scan = Scan::all().columns(["nope"]);
    fails(s.scan(&table, scan).map(drop), ErrorKind::UnknownColumn, "nope");
    let range = || KeyRange::eq(vec![Value::Null; 3]);
    let result = s.index_scan(&table, INDEX, range(), Scan::all());
    fails(result.map(drop), ErrorKind::InvalidInput, "2 key columns");
    let result = s.index_row_ids(&table, INDEX, KeyRange::from([Value::Bool(true)]));
    fails(result.map(drop), ErrorKind::WrongType, "kind");
    fails(old.count(&late).map(drop), ErrorKind::UnknownTable, "after this snapshot");

    assert_eq!(s.count(&bare).unwrap(), 1);
    db.close().unwrap();
    fails(s.count(&bare).map(drop), ErrorKind::Closed, "closed");
}

#[test]
fn a_count_asks_about_marks_in_parts() {
    const ROWS: i64 = 600_000;
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path(), Options::default().sync(SyncMode::Os)).unwrap();
    let spec = TableSpec::new("t").column("id", DataType::Int8).column("part", DataType::Int8);
    let table =
        db.create_table(spec.primary_key(["id"]).index(IndexSpec::new("by_part", ["part"])));
    let table = table.unwrap();
    let row = |id| [Value::Int(id), Value::Int(id * 7919 % 1009)];
    table.insert_many((0..ROWS).map(row)).unwrap();
    for id in (0..ROWS).step_by(1000) {
        assert!(table.delete(&[Value::Int(id)]).unwrap());
    }
    let count = |range| db.snapshot().unwrap().index_count(&table, "by_part", range).unwrap();
    assert_eq!(count(KeyRange::all()), ROWS as u64 / 1000 * 999);
    db.flush().unwrap();
    assert_eq!(count(KeyRange::all()), ROWS as u64 / 1000 * 999);
    let (low, high) = ([Value::Int(0)], [Value::Int(499)]);
    let some = count(KeyRange::between(low, high)) + count(KeyRange::from([Value::Int(500)]));
    assert_eq!(some, ROWS as u64 / 1000 * 999);
}
