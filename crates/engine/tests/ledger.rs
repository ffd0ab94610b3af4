//! What indexes cost and what they are good for: the accounts add up to the totals.

use onlap::{
    DataType, Database, IndexSpec, KeyRange, Options, Predicate, Scan, Stats, SyncMode, Table,
    TableSpec, Value,
};

const ROWS: i64 = 60_000;

fn row(i: i64) -> [Value; 3] {
    [Value::Int(i), Value::Int(i * 7919 % ROWS), Value::Int(i % 100)]
}

/// A table with three indexes, in several runs, and another one next to it.
fn open(dir: &tempfile::TempDir) -> (Database, Table) {
    let db = Database::open(dir.path(), Options::default().sync(SyncMode::Os)).unwrap();
    let spec = |name: &str| {
        TableSpec::new(name)
            .column("id", DataType::Int8)
            .column("a", DataType::Int8)
            .column("b", DataType::Int8)
            .primary_key(["id"])
            .index(IndexSpec::new(format!("{name}_a"), ["a"]))
            .index(IndexSpec::new(format!("{name}_b"), ["b"]))
    };
    let table = db.create_table(spec("t")).unwrap();
    db.create_table(spec("other")).unwrap().insert_many((0..1000).map(row)).unwrap();
    for part in 0..12 {
        table.insert_many((part * ROWS / 12..(part + 1) * ROWS / 12).map(row)).unwrap();
        db.flush().unwrap();
    }
    db.settle().unwrap();
    (db, table)
}

fn entries_read(stats: &Stats) -> u64 {
    let indexes = stats.tables.iter().flat_map(|t| &t.indexes);
    indexes.map(|i| i.used.entries_read).sum::<u64>() + stats.spent.gone_entries_read
}

#[test]
fn what_indexes_cost_adds_up_to_what_jobs_took() {
    let dir = tempfile::tempdir().unwrap();
    let (db, _) = open(&dir);
    let stats = db.stats_without_keys().unwrap();
    let table = stats.tables.iter().find(|t| t.name == "t").unwrap();
    for index in &table.indexes {
        let spent = index.spent;
        assert_eq!(spent.rows, ROWS as u64, "{}", index.name);
        assert!(spent.flushed_ns > 0, "{}: {spent:?}", index.name);
        assert_eq!(spent.built_ns, 0);
        assert!(index.written.flushed > index.written_before.flushed);
    }
    // Keys in no order are sorted and merged; the work costs more than that for keys that rise.
    let [primary, a, _] = &table.indexes[..] else { panic!("three indexes") };
    assert!(a.spent.sorted_ns > 0 && a.spent.merged_ns > 0, "{:?}", a.spent);
    assert!(a.spent.cpu_ns() > primary.spent.cpu_ns(), "{:?} {:?}", a.spent, primary.spent);

    let spent = stats.spent;
    let indexes = stats.tables.iter().flat_map(|t| &t.indexes);
    let of_indexes: u64 = indexes.map(|i| i.spent.cpu_ns() - i.spent.sorted_ns).sum();
    let parts = of_indexes + spent.segments_ns + spent.compaction_ns + spent.marks_ns;
    assert!(spent.segments_ns > 0);
    assert!(parts <= spent.jobs_ns, "parts {parts} of {}", spent.jobs_ns);
    assert!(parts * 2 > spent.jobs_ns, "parts {parts} of {}", spent.jobs_ns);

    let written = &stats.written;
    let ids = stats.tables.iter().flat_map(|t| &t.indexes);
    let bytes: u64 = ids.map(|i| i.written.flushed + i.written.merged).sum();
    let base = written.log + written.segments + written.compaction + written.marks;
    assert_eq!(bytes + base + written.manifest, written.total(), "no byte is left out");
}

#[test]
fn what_indexes_served_adds_up_to_all_reads() {
    let dir = tempfile::tempdir().unwrap();
    let (db, table) = open(&dir);
    let snapshot = db.snapshot().unwrap();
    assert!(snapshot.get(&table, &[Value::Int(7)], None).unwrap().is_some());
    let range = || KeyRange::eq([Value::Int(8)]);
    assert_eq!(snapshot.index_count(&table, "t_b", range()).unwrap(), 600);
    let rows = snapshot.index_scan(&table, "t_a", KeyRange::all(), Scan::all().limit(50)).unwrap();
    assert_eq!(rows.rows().unwrap().len(), 50);
    let both = Predicate::index("t_b", range()).and(Predicate::index("t_a", KeyRange::all()));
    assert_eq!(snapshot.row_set(&table, &both).unwrap().len(), 600);
    let mut tx = db.begin().unwrap();
    assert!(tx.delete(&table, &[Value::Int(5)]).unwrap());
    tx.commit().unwrap();

    let stats = db.stats_without_keys().unwrap();
    assert_eq!(entries_read(&stats), stats.reads.index_entries_read);
    let of = |name: &str| {
        let indexes = &stats.tables.iter().find(|t| t.name == "t").unwrap().indexes;
        indexes.iter().find(|i| i.name == name).unwrap().used
    };
    let b = of("t_b");
    assert_eq!((b.scans, b.entries_read), (2, 1200));
    assert_eq!(b.rows_not_read, 2 * ROWS as u64 - 1200);
    assert_eq!(of("t_a").scans, 2);
    assert!(b.last_us > 0);
    let other = &stats.tables.iter().find(|t| t.name == "other").unwrap().indexes[1];
    assert_eq!((other.used.scans, other.used.last_us), (0, 0), "it was never read");
}

#[test]
fn accounts_of_indexes_that_are_gone_are_folded() {
    let dir = tempfile::tempdir().unwrap();
    let (db, table) = open(&dir);
    let snapshot = db.snapshot().unwrap();
    assert_eq!(snapshot.index_count(&table, "t_b", KeyRange::all()).unwrap(), ROWS as u64);
    drop(snapshot);
    db.drop_index(&table, "t_b").unwrap();
    db.drop_table("other").unwrap();
    let stats = db.stats_without_keys().unwrap();
    assert_eq!(entries_read(&stats), stats.reads.index_entries_read);
    assert_eq!(stats.spent.gone_entries_read, ROWS as u64);
    assert_eq!(stats.spent.gone.rows, ROWS as u64 + 3 * 1000);
    assert!(stats.spent.gone.flushed_ns > 0);
}

#[test]
fn a_build_is_at_the_expense_of_its_index() {
    let dir = tempfile::tempdir().unwrap();
    let (db, table) = open(&dir);
    db.create_index(&table, IndexSpec::new("t_ba", ["b", "a"])).unwrap();
    let stats = db.stats_without_keys().unwrap();
    let built = stats.tables.iter().flat_map(|t| &t.indexes).find(|i| i.name == "t_ba").unwrap();
    assert!(built.spent.built_ns > 0);
    assert_eq!(built.spent.rows, ROWS as u64);
    drop((table, db));

    let db = Database::open(dir.path(), Options::default()).unwrap();
    let stats = db.stats_without_keys().unwrap();
    let built = stats.tables.iter().flat_map(|t| &t.indexes).find(|i| i.name == "t_ba").unwrap();
    assert_eq!((built.spent.built_ns, built.used.scans), (0, 0), "accounts begin at the open");
    assert_eq!(built.written, built.written_before);
}

#[test]
fn merges_under_way_are_seen_and_waits_of_commits_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = Options::default().sync(SyncMode::Os);
    // Many slices, so that a look in between finds one.
    options.tuning.run_file_bytes = 4096;
    let db = Database::open(dir.path(), options).unwrap();
    let spec = TableSpec::new("t").column("id", DataType::Int8).column("a", DataType::Int8);
    let spec = spec.primary_key(["id"]).index(IndexSpec::new("t_a", ["a"]));
    let table = db.create_table(spec).unwrap();
    let pair = |i: i64| [Value::Int(i), Value::Int(i * 7919 % ROWS)];
    let mut seen = false;
    for part in 0..200 {
        table.insert_many((part * 5000..(part + 1) * 5000).map(pair)).unwrap();
        db.flush().unwrap();
        let stats = db.stats_without_keys().unwrap();
        seen |= stats.tables[0].indexes.iter().flat_map(|i| &i.runs).any(|run| run.is_merging);
        if seen && part > 20 {
            break;
        }
    }
    assert!(seen, "no merge was seen under way");
    db.settle().unwrap();
    let stats = db.stats_without_keys().unwrap();
    assert!(stats.tables[0].indexes.iter().flat_map(|i| &i.runs).all(|run| !run.is_merging));
    let commits = &stats.commits;
    assert!(commits.commits() >= 20);
    let quantiles = [0.5, 0.99].map(|share| commits.quantile_ns(share).unwrap());
    assert!(quantiles[0] <= quantiles[1] && quantiles[1] <= commits.longest_ns);
    assert!(commits.longest_ns <= commits.total_ns);
    assert_eq!(commits.counts().map(|(_, n)| n).sum::<u64>(), commits.commits());
    assert_eq!(stats.stalls.iter().map(|s| s.total_us).sum::<u64>(), stats.delayed_us);
}
