//! A fences-only index finds what an ordinary one on the same column finds.

use onlap::{
    CheckOptions, DataType, Database, ErrorKind, IndexSpec, KeyRange, Options, Scan, Snapshot,
    SyncMode, Table, TableSpec, Value, check,
};
use onlap_base::rng::Rng;

const FENCED: &str = "fenced";
const PLAIN: &str = "plain";

fn index(name: &str) -> IndexSpec {
    IndexSpec::new(name, ["at", "kind"]).include(["weight"])
}

fn options(seed: u64) -> Options {
    let mut options = Options::default().sync(SyncMode::Os).memory_limit(64 << 20);
    options.tuning.block_bytes = 512;
    options.tuning.run_file_bytes = 4096;
    options.tuning.block_rows = [64, 300, 4096][seed as usize % 3];
    options
}

fn create(db: &Database) -> Table {
    let spec = TableSpec::new("events")
        .column("id", DataType::Int8)
        .nullable_column("at", DataType::Int8)
        .column("kind", DataType::Text)
        .column("weight", DataType::Float8)
        .primary_key(["id"])
        .index(index(PLAIN))
        .index(index(FENCED).fences_only());
    db.create_table(spec).unwrap()
}

fn ranges(rng: &mut Rng, top: i64) -> Vec<KeyRange> {
    let mut at = || Value::Int(rng.below(top as u64 + 20) as i64 - 10);
    let (a, b) = (at(), at());
    vec![
        KeyRange::all(),
        KeyRange::from([at()]),
        KeyRange::after([at()]),
        KeyRange::to([at()]),
        KeyRange::before([at()]),
        KeyRange::eq([at()]),
        KeyRange::eq([at(), Value::Text("b".into())]),
        KeyRange::eq([Value::Null]),
        KeyRange::between([a], [b]),
    ]
}

fn compare(snapshot: &Snapshot, table: &Table, rng: &mut Rng, top: i64) {
    for range in ranges(rng, top) {
        let rows = |name: &str, scan: Scan| {
            let rows = snapshot.index_scan(table, name, range.clone(), scan).unwrap();
            rows.rows().unwrap()
        };
        let limit = 1 + rng.below(40) as usize;
        for scan in [
            Scan::all(),
            Scan::all().reverse(),
            Scan::all().limit(limit),
            Scan::all().reverse().limit(limit),
            Scan::all().columns(["weight", "at"]),
            Scan::all().columns(["kind"]).reverse(),
        ] {
            assert_eq!(rows(FENCED, scan.clone()), rows(PLAIN, scan), "{range:?}");
        }
        let ids = |name| snapshot.index_row_ids(table, name, range.clone()).unwrap();
        assert_eq!(ids(FENCED), ids(PLAIN));
        let count = |name| snapshot.index_count(table, name, range.clone()).unwrap();
        assert_eq!(count(FENCED), count(PLAIN));
    }
    let key = [Value::Int(rng.below(top as u64 + 1) as i64)];
    let first = |name| snapshot.get_by(table, name, &key, None).unwrap();
    assert_eq!(first(FENCED), first(PLAIN));
}

fn forms(db: &Database) -> Vec<&'static str> {
    let stats = db.stats().unwrap();
    let index = stats.tables[0].indexes.iter().find(|i| i.name == FENCED).unwrap();
    index.runs.iter().map(|r| r.form).collect()
}

/// Rows in the order of their keys, or not quite.
fn insert(table: &Table, rng: &mut Rng, n: u64, next: &mut i64, top: &mut i64, jitter: u64) {
    let mut row = || {
        *next += 1;
        *top += i64::from(rng.below(3) == 0);
        let at = match jitter {
            0 => Value::Int(*top),
            _ if rng.below(50) == 0 => Value::Null,
            _ => Value::Int(*top - rng.below(jitter) as i64),
        };
        // Equal times, equal kinds: the second key column must not fall either.
        let kind = if jitter == 0 { "b" } else { ["a", "b", "c"][rng.below(3) as usize] };
        vec![Value::Int(*next), at, Value::Text(kind.into()), Value::Float(*next as f64 / 8.0)]
    };
    let rows: Vec<_> = (0..n).map(|_| row()).collect();
    table.insert_many(rows).unwrap();
}

fn delete(table: &Table, rng: &mut Rng, next: i64, share: u64) {
    for id in 1..=next {
        if rng.below(100) < share {
            table.delete(&[Value::Int(id)]).unwrap();
        }
    }
}

#[test]
fn a_fences_only_index_finds_what_an_ordinary_one_finds() {
    let (mut rows_read, mut explicit) = (false, false);
    for seed in 0..6 {
        println!("seed {seed}");
        let rng = &mut Rng::new(seed);
        let dir = tempfile::tempdir().unwrap();
        let mut db = Database::open(dir.path(), options(seed)).unwrap();
        let mut table = create(&db);
        let (mut next, mut top) = (0, 0);
        let mut held = Vec::new();
        for step in 0..12 {
            // Half of the seeds stay in order.
            let jitter = if seed % 2 == 0 || rng.below(3) > 0 { 0 } else { 1 + rng.below(2000) };
            let n = 1 + rng.below(1500);
            insert(&table, rng, n, &mut next, &mut top, jitter);
            match rng.below(7) {
                0 => delete(&table, rng, next, 3),
                1 => delete(&table, rng, next, 40),
                2 => held.push((db.snapshot().unwrap(), top)),
                3 => held.clear(),
                4 if step > 5 => db.settle().unwrap(),
                _ => db.flush().unwrap(),
            }
            rows_read |= forms(&db).contains(&"fences-only");
            explicit |= forms(&db).contains(&"explicit");
            compare(&db.snapshot().unwrap(), &table, rng, top);
            held.iter().for_each(|(snapshot, top)| compare(snapshot, &table, rng, *top));
            if rng.below(5) == 0 {
                held.clear();
                drop(table);
                db.close().unwrap();
                db = Database::open(dir.path(), options(seed)).unwrap();
                table = db.table("events").unwrap();
            }
        }
        held.clear();
        db.flush().unwrap();
        db.settle().unwrap();
        compare(&db.snapshot().unwrap(), &table, rng, top);
        let stats = db.stats().unwrap();
        assert!(stats.background_error.is_none(), "{:?}", stats.background_error);
        drop(table);
        db.close().unwrap();
        let report = check(dir.path(), &CheckOptions::default()).unwrap();
        assert!(report.findings.is_empty(), "{:?}", report.findings);
    }
    assert!(rows_read && explicit, "both forms were seen");
}

#[test]
fn keys_in_order_cost_next_to_nothing_through_flushes_and_merges() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path(), Options::default().sync(SyncMode::Os)).unwrap();
    let table = create(&db);
    let (mut next, mut top) = (0, 0);
    for _ in 0..6 {
        insert(&table, &mut Rng::new(1), 3000, &mut next, &mut top, 0);
        db.flush().unwrap();
    }
    db.settle().unwrap();
    assert!(forms(&db).iter().all(|f| *f == "fences-only"), "{:?}", forms(&db));
    let stats = db.stats().unwrap();
    let bytes = |name: &str| stats.tables[0].indexes.iter().find(|i| i.name == name).unwrap().bytes;
    assert!(bytes(FENCED) < bytes(PLAIN) / 4, "{} and {}", bytes(FENCED), bytes(PLAIN));
    // One falling key spoils the run of its flush, not those before.
    insert(&table, &mut Rng::new(2), 3000, &mut next, &mut top, 50);
    db.flush().unwrap();
    assert!(forms(&db).contains(&"explicit") && forms(&db).contains(&"fences-only"));
    compare(&db.snapshot().unwrap(), &table, &mut Rng::new(3), top);
    // Merged together they are explicit: their keys overlap.
    db.settle().unwrap();
    assert!(!forms(&db).contains(&"fences-only"), "{:?}", forms(&db));
    compare(&db.snapshot().unwrap(), &table, &mut Rng::new(4), top);
    drop(table);
    db.close().unwrap();
    let report = check(dir.path(), &CheckOptions::default()).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}

#[test]
fn unique_indexes_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path(), Options::default()).unwrap();
    create(&db);
    let spec = IndexSpec::new("u", ["at"]).unique().fences_only();
    assert_eq!(db.create_index("events", spec).unwrap_err().kind(), ErrorKind::InvalidInput);
}
