//! Scans of tables of many mebibytes, which read and decode ahead where memory allows it.

#![allow(clippy::disallowed_methods, reason = "this test is about real files and threads")]

use onlap::{DataType, Database, Options, Row, Scan, SyncMode, Table, TableSpec, Value};
use onlap_base::limits::MEMORY_LIMIT_MIN;
use onlap_base::memory::PartReport;
use onlap_base::rng::Rng;

const SEGMENTS: i64 = 3;
const SEGMENT_ROWS: i64 = 100_000;
const ROWS: i64 = SEGMENTS * SEGMENT_ROWS;

fn options(memory: u64) -> Options {
    let mut options = Options::default().sync(SyncMode::Os).memory_limit(memory);
    options.tuning.memtable_bytes = Some(64 << 20);
    options
}

fn row(id: i64) -> Row {
    let rng = &mut Rng::new(id as u64);
    let note = match rng.below(9) {
        0 => Value::Null,
        n => {
            let letters = (0..8 * n).map(|_| char::from(b'a' + rng.below(26) as u8));
            Value::Text(letters.collect::<String>())
        }
    };
    vec![
        Value::Int(id),
        note,
        Value::Int(rng.next_u64() as i64),
        Value::Int(rng.next_u64() as i64),
        Value::Float(id as f64 / 8.0),
    ]
}

/// Three segments of several mebibytes, then some rows in the memtable.
fn written(dir: &tempfile::TempDir) {
    let db = Database::open(dir.path(), options(512 << 20)).unwrap();
    let spec = TableSpec::new("t")
        .column("id", DataType::Int8)
        .nullable_column("note", DataType::Text)
        .column("a", DataType::Int8)
        .column("b", DataType::Int8)
        .column("eighth", DataType::Float8)
        .primary_key(["id"]);
    let table = db.create_table(spec).unwrap();
    for segment in 0..SEGMENTS {
        let from = segment * SEGMENT_ROWS;
        table.insert_many((from..from + SEGMENT_ROWS).map(row)).unwrap();
        db.flush().unwrap();
    }
    let mut segments: Vec<u64> = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().extension().is_some_and(|e| e == "seg"))
        .map(|entry| entry.metadata().unwrap().len())
        .collect();
    segments.sort_unstable();
    assert!(segments.len() == SEGMENTS as usize && segments[0] > 2 << 20, "{segments:?}");
    db.close().unwrap();
}

/// The part of the budget that pays for reading ahead.
fn part(db: &Database) -> PartReport {
    db.memory().into_iter().find(|part| part.part.name() == "background").unwrap()
}

/// Scans as a model of the living rows says.
fn check(db: &Database, table: &Table, alive: impl Fn(i64) -> bool) {
    let snapshot = db.snapshot().unwrap();
    for (backward, columns) in
        [(false, &["id", "note", "a", "b", "eighth"][..]), (true, &["b", "note", "id"][..])]
    {
        let mut wanted: Vec<i64> = (0..ROWS).filter(|&id| alive(id)).collect();
        let mut scan = Scan::all().columns(columns.iter().copied());
        if backward {
            wanted.reverse();
            scan = scan.reverse();
        }
        for limit in [usize::MAX, wanted.len() * 3 / 5] {
            let scan = if limit == usize::MAX { scan.clone() } else { scan.clone().limit(limit) };
            let mut ids = wanted.iter().take(limit);
            for batch in snapshot.scan(table, scan).unwrap() {
                let batch = batch.unwrap();
                for i in 0..batch.len() {
                    let expected = row(*ids.next().expect("no more rows than there are"));
                    let column =
                        |name| ["id", "note", "a", "b", "eighth"].iter().position(|c| c == name);
                    let expected =
                        columns.iter().map(|name| expected[column(name).unwrap()].clone());
                    assert!(batch.row(i).into_iter().eq(expected));
                }
            }
            assert_eq!(ids.next(), None);
        }
    }
}

#[test]
fn scans_agree_with_and_without_room_to_read_ahead() {
    let dir = tempfile::tempdir().unwrap();
    written(&dir);
    for memory in [MEMORY_LIMIT_MIN, 64 << 20, 512 << 20] {
        // From the device, then from the cache, as far as it holds the table.
        let db = Database::open(dir.path(), options(memory)).unwrap();
        let table = db.table("t").unwrap();
        // At the least memory other scans have what there is for reading ahead.
        let scan = || db.snapshot().unwrap().scan(&table, Scan::all()).unwrap();
        let mut others = [scan(), scan()];
        if memory == MEMORY_LIMIT_MIN {
            for other in &mut others {
                let read = |_| drop(other.next().unwrap().unwrap());
                (0..SEGMENT_ROWS / 2).step_by(4096).for_each(read);
            }
            let part = part(&db);
            assert!(part.used + (5 << 18) > part.limit, "{part:?}");
        }
        for _ in 0..2 {
            check(&db, &table, |_| true);
        }
        drop(others);
        db.close().unwrap();
    }
    let db = Database::open(dir.path(), options(512 << 20)).unwrap();
    let table = db.table("t").unwrap();
    let mut tx = db.begin().unwrap();
    for id in (0..ROWS).filter(|id| id % 1000 < 3 || (50_000..60_000).contains(id)) {
        assert!(tx.delete(&table, &[Value::Int(id)]).unwrap());
    }
    tx.commit().unwrap();
    check(&db, &table, |id| id % 1000 >= 3 && !(50_000..60_000).contains(&id));
}

#[test]
fn scans_dropped_early_give_all_memory_back() {
    let dir = tempfile::tempdir().unwrap();
    written(&dir);
    let db = Database::open(dir.path(), options(512 << 20)).unwrap();
    let table = db.table("t").unwrap();
    let snapshot = db.snapshot().unwrap();
    for _ in 0..6 {
        let mut rows = snapshot.scan(&table, Scan::all()).unwrap();
        let mut found = 0;
        while found < ROWS as usize / 2 {
            found += rows.next().expect("half of the rows are left").unwrap().len();
        }
        drop(rows);
        while part(&db).used > 0 {
            std::thread::yield_now();
        }
    }
}
