//! What indexes cost and what they are good for: the accounts add up to the totals.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

use onlap::{
    BlocksAsked, DataType, Database, IndexSpec, KeyRange, Options, Predicate, Scan, Stats,
    SyncMode, Table, TableActivity, TableSpec, Upkeep, Value,
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

fn activity(db: &Database) -> TableActivity {
    let stats = db.stats_without_keys().unwrap();
    stats.tables.iter().find(|t| t.name == "t").unwrap().activity
}

#[test]
fn what_is_done_to_a_table_is_counted_whatever_becomes_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let open = || Database::open(dir.path(), Options::default().sync(SyncMode::Os)).unwrap();
    let db = open();
    let spec = TableSpec::new("t").column("id", DataType::Int8).column("a", DataType::Int8);
    let spec = spec.column("b", DataType::Int8).primary_key(["id"]);
    let table = db.create_table(spec.index(IndexSpec::new("by_b", ["b"]))).unwrap();
    table.insert_many((0..10).map(row)).unwrap();
    let mut tx = db.begin().unwrap();
    tx.insert(&table, &row(10)).unwrap();
    // In a column that stands in no index, in one that does, and of an own row.
    assert!(tx.update(&table, &[Value::Int(1)], &[("a", Value::Int(5))]).unwrap());
    assert!(tx.update(&table, &[Value::Int(2)], &[("b", Value::Int(5))]).unwrap());
    let before = tx.savepoint();
    assert!(tx.update(&table, &[Value::Int(10)], &[("a", Value::Int(5))]).unwrap());
    assert!(tx.delete(&table, &[Value::Int(3)]).unwrap());
    tx.rollback_to(&before).unwrap();
    let done: Vec<_> = tx.activity().collect();
    let expected = TableActivity {
        inserted: 1,
        updated: 3,
        updated_in_place: 1,
        deleted: 1,
        ..TableActivity::default()
    };
    assert_eq!(done, [(table.schema().id, expected)]);
    assert_eq!(activity(&db).inserted, 10, "a transaction is counted when it ends");
    tx.commit().unwrap();
    let now = activity(&db);
    assert_eq!((now.inserted, now.updated, now.updated_in_place, now.deleted), (11, 3, 1, 1));
    // What a savepoint took back was done, and changed nothing.
    assert_eq!(now.changed_since_analysis, 10 + 3);

    let mut tx = db.begin().unwrap();
    assert!(tx.delete(&table, &[Value::Int(4)]).unwrap());
    tx.insert(&table, &row(4)).unwrap();
    tx.rollback();
    let now = activity(&db);
    assert_eq!((now.inserted, now.deleted, now.changed_since_analysis), (12, 2, 13));

    table.note_upkeep(Upkeep::Analysis);
    table.note_upkeep(Upkeep::Cleaning);
    table.insert_many((20..25).map(row)).unwrap();
    let snapshot = db.snapshot().unwrap();
    assert_eq!(snapshot.scan(&table, Scan::all()).unwrap().rows().unwrap().len(), 16);
    assert!(snapshot.get(&table, &[Value::Int(7)], None).unwrap().is_some());
    let now = activity(&db);
    assert_eq!((now.changed_since_analysis, now.inserted_since_cleaning), (5, 5));
    assert_eq!((now.scans, now.scanned_rows, now.cleanings, now.analyses), (1, 16, 1, 1));
    assert!(now.last_cleaning_us >= now.last_analysis_us && now.last_analysis_us > 0);
    drop((snapshot, table));
    db.close().unwrap();

    // A clean close keeps them, and the check says whether they can be read.
    let file = dir.path().join("activity");
    let bytes = std::fs::read(&file).unwrap();
    assert_eq!(onlap::check(dir.path(), &onlap::CheckOptions::default()).unwrap().findings, []);
    assert!(file.exists(), "to look at a database takes nothing from it");
    let db = open();
    let again = activity(&db);
    assert_eq!(again, now);
    let stats = db.stats_without_keys().unwrap();
    let primary = &stats.tables[0].indexes[0];
    assert_eq!(primary.used.scans, 0);
    assert!(primary.reads.scans > 0, "{:?}", primary.reads);
    let table = db.table("t").unwrap();
    table.reset_activity();
    table.reset_index_activity(primary.id);
    assert!(!file.exists(), "the file is of closed databases");
    assert_eq!(activity(&db), TableActivity::default());
    assert_eq!(db.stats_without_keys().unwrap().tables[0].indexes[0].reads.scans, 0);
    table.insert(&row(40)).unwrap();
    drop((table, db));

    // Without a close they begin anew, and so they do where the file is damaged.
    let db = open();
    assert_eq!(activity(&db), TableActivity::default());
    db.close().unwrap();
    let mut damaged = bytes.clone();
    damaged[20] ^= 1;
    std::fs::write(&file, &damaged).unwrap();
    let found = onlap::check(dir.path(), &onlap::CheckOptions::default()).unwrap().findings;
    assert!(found.len() == 1 && found[0].text.contains("activity"), "{found:?}");
    let db = open();
    assert_eq!(activity(&db), TableActivity::default());
}

#[test]
fn counters_of_blind_writes_truncation_and_compaction() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path(), Options::default().sync(SyncMode::Os)).unwrap();
    let spec = TableSpec::new("t").column("id", DataType::Int8).column("a", DataType::Int8);
    let spec = spec.column("b", DataType::Int8).primary_key(["id"]).blind_writes();
    let table = db.create_table(spec).unwrap();
    let options = onlap::TransactionOptions::at(onlap::Isolation::ReadCommitted);
    let mut tx = db.begin_with(options).unwrap();
    for i in [1, 2, 1] {
        tx.upsert(&table, &row(i)).unwrap();
    }
    tx.delete_blind(&table, &[Value::Int(9)]).unwrap();
    tx.commit().unwrap();
    let now = activity(&db);
    assert_eq!((now.inserted, now.updated, now.deleted), (3, 0, 1));
    db.truncate_table("t").unwrap();
    let now = activity(&db);
    assert_eq!((now.inserted, now.inserted_since_cleaning), (3, 0));
    table.insert_many((0..50_000).map(row)).unwrap();
    db.flush().unwrap();
    let mut tx = db.begin_with(options).unwrap();
    let rows: Vec<u64> =
        tx.scan(&table, Scan::all()).unwrap().flat_map(|b| b.unwrap().row_ids).collect();
    assert_eq!(tx.delete_rows(&table, &rows[..45_000]).unwrap(), 45_000);
    tx.commit().unwrap();
    let table_stats = || db.stats_without_keys().unwrap().tables.remove(0);
    assert_eq!((table_stats().live_rows, table_stats().dead_rows), (5_000, 45_000));
    db.flush().unwrap();
    db.settle().unwrap();
    let after = table_stats();
    assert_eq!((after.live_rows, after.dead_rows), (5_000, 0));
    // Few dead rows, in files that are not rewritten for them.
    let mut tx = db.begin_with(options).unwrap();
    let rows: Vec<u64> =
        tx.scan(&table, Scan::all()).unwrap().flat_map(|b| b.unwrap().row_ids).collect();
    tx.delete_rows(&table, &rows[..10]).unwrap();
    tx.commit().unwrap();
    db.flush().unwrap();
    db.settle().unwrap();
    assert_eq!((table_stats().live_rows, table_stats().dead_rows), (4_990, 10));
    assert!(after.activity.compactions > 0 && after.activity.last_compaction_us > 0);
}

#[test]
fn blocks_that_are_asked_for_are_of_tables_and_indexes() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(&dir));
    let db = Database::open(dir.path(), Options::default().sync(SyncMode::Os)).unwrap();
    let asked = |db: &Database| {
        let stats = db.stats_without_keys().unwrap();
        let indexes = stats.tables.iter().flat_map(|t| &t.indexes).map(|index| index.blocks);
        let all = stats.tables.iter().map(|t| t.blocks).chain(indexes);
        (all.fold(stats.blocks_gone, BlocksAsked::and), stats.cache_misses)
    };
    let table = db.table("t").unwrap();
    let read = || {
        let snapshot = db.snapshot().unwrap();
        assert_eq!(
            snapshot.scan(&table, Scan::all()).unwrap().rows().unwrap().len(),
            ROWS as usize
        );
        let range = KeyRange::eq([Value::Int(8)]);
        assert_eq!(
            snapshot.index_scan(&table, "t_b", range, Scan::all()).unwrap().rows().unwrap().len(),
            ROWS as usize / 100
        );
        assert!(snapshot.get(&table, &[Value::Int(7)], None).unwrap().is_some());
    };
    let (before, missed) = asked(&db);
    read();
    let (first, missed_first) = asked(&db);
    // What is read from the disk is read for a table or an index, and nothing else is.
    assert!(first.reads > before.reads);
    assert_eq!(first.reads - before.reads, missed_first - missed);
    read();
    let (second, missed_second) = asked(&db);
    assert_eq!((second.reads, missed_second), (first.reads, missed_first), "all is in memory");
    assert!(second.hits > first.hits);
    let of = |name: &str| {
        let stats = db.stats_without_keys().unwrap();
        let t = stats.tables.iter().find(|t| t.name == "t").unwrap();
        t.indexes.iter().find(|i| i.name == name).map_or(t.blocks, |index| index.blocks)
    };
    assert!(of("t_b").reads > 0 && of("").reads > 0, "{:?} {:?}", of("t_b"), of(""));
    assert_eq!(of("t_a"), BlocksAsked::default());
    // What goes leaves its counts.
    db.drop_index("t", "t_b").unwrap();
    let (gone, _) = asked(&db);
    assert_eq!((gone.hits, gone.reads), (second.hits, second.reads));
    assert!(db.stats_without_keys().unwrap().blocks_gone.reads > 0);
}
