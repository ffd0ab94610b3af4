//! Do the views of onlap_stat, and PostgreSQL's views of use, say what the engine counted?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use support::{Fixture, Talk, texts};

fn filled() -> (Fixture, Talk) {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("create table t (id bigint primary key, a bigint, b bigint)");
    talk.rows("create index t_a on t (a)");
    talk.rows("create index t_b on t (b)");
    let insert =
        "insert into t select i, i * 7919 % 20000, i % 100 from generate_series(1, 20000) i";
    talk.rows(insert);
    fixture.instance.database().flush().unwrap();
    (fixture, talk)
}

fn number(talk: &mut Talk, sql: &str) -> i64 {
    let rows = talk.rows(sql);
    rows[0][0].as_deref().unwrap_or_else(|| panic!("NULL: {sql}")).parse().unwrap()
}

#[test]
fn indexes_have_costs_and_uses() {
    let (_fixture, mut talk) = filled();
    for _ in 0..3 {
        talk.rows("select a from t where id = 7");
    }
    assert_eq!(number(&mut talk, "select count(*) from t where b = 8"), 200);
    let of = |name: &str, what: &str| {
        format!("select {what} from onlap_stat.indexes where index_name = '{name}'")
    };
    assert_eq!(number(&mut talk, &of("t_pkey", "scans")), 3);
    assert_eq!(number(&mut talk, &of("t_b", "entries_read")), 200);
    assert_eq!(number(&mut talk, &of("t_b", "rows_not_read")), 20_000 - 200);
    for name in ["t_pkey", "t_a", "t_b"] {
        assert_eq!(number(&mut talk, &of(name, "rows")), 20_000, "{name}");
        let adds_up = "(cpu_sort_ns + cpu_flush_ns + cpu_merge_ns + cpu_build_ns = cpu_ns \
                       and bytes_flushed + bytes_merged = bytes_written \
                       and bytes_on_disk > 0 and cpu_ns > 0)::int";
        assert_eq!(number(&mut talk, &of(name, adds_up)), 1, "{name}");
    }
    let advice = talk.rows("select index_name, advice from onlap_stat.indexes order by 1");
    assert_eq!(texts(&advice), ["t_a|never used", "t_b|used", "t_pkey|used"]);
    let last = "(last_use > now() - interval '1 hour' and last_use <= clock_timestamp())::int";
    assert_eq!(number(&mut talk, &of("t_b", last)), 1);
}

#[test]
fn sums_are_those_of_the_engine() {
    let (fixture, mut talk) = filled();
    assert_eq!(number(&mut talk, "select count(*) from t where b between 8 and 10"), 600);
    talk.rows("drop index t_a");
    let stats = fixture.instance.database().stats_without_keys().unwrap();
    let sum = number(&mut talk, "select sum(bytes_ever) from onlap_stat.writes");
    // Reading the views writes nothing.
    assert_eq!(sum as u64, stats.written.total());
    let read = number(&mut talk, "select sum(entries_read) from onlap_stat.indexes");
    assert_eq!(read as u64 + stats.spent.gone_entries_read, stats.reads.index_entries_read);
    let cpu = "select (w.cpu_ns = (select sum(cpu_ns) from onlap_stat.indexes))::int \
               from onlap_stat.writes w where purpose = 'indexes'";
    assert_eq!(number(&mut talk, cpu), 1);
    let runs = "select (sum(bytes) = (select sum(bytes_on_disk) from onlap_stat.indexes))::int \
                from onlap_stat.runs";
    assert_eq!(number(&mut talk, runs), 1);
    let memory = stats.memory.iter().map(|part| part.limit).sum::<u64>();
    let limits = number(&mut talk, "select sum(limit_bytes) from onlap_stat.memory");
    assert_eq!(limits as u64, memory);
    assert_eq!(number(&mut talk, "select row_ids from onlap_stat.tables"), 20_000);
    for view in ["merges", "waits", "settings"] {
        assert!(
            number(&mut talk, &format!("select count(*) from onlap_stat.{view}")) > 0,
            "{view}"
        );
    }
}

#[test]
fn the_whole_is_told_as_well() {
    let (fixture, mut talk) = filled();
    talk.rows("insert into t values (30001, 1, 1)");
    let stats = fixture.instance.database().stats_without_keys().unwrap();
    let commits = "select commits from onlap_stat.commits";
    assert_eq!(number(&mut talk, commits) as u64, stats.commits.commits());
    assert!(stats.commits.commits() > 0);
    for is_so in [
        "select (p50_us > 0 and p50_us <= p99_us and p99_us <= longest_us and longest_us <= total_us)::int from onlap_stat.commits",
        "select (sum(t.commits) = max(c.commits) and max(t.below_us) > 0.8 * max(c.longest_us))::int from onlap_stat.commit_times t, onlap_stat.commits c",
        "select (count(*) = 5 and min(longest_us) >= 0)::int from onlap_stat.stalls",
        "select (count(*) = 3 and min(limit_bytes) > 0)::int from onlap_stat.debts",
        "select (sum(bytes) <= sum(bytes_ever) and sum(bytes) > 0)::int from onlap_stat.writes",
        "select (count(*) = 0)::int from onlap_stat.runs where merging",
    ] {
        assert_eq!(number(&mut talk, is_so), 1, "{is_so}");
    }
    let held = number(&mut talk, "select sum(total_us) from onlap_stat.stalls");
    assert_eq!(held as u64, stats.delayed_us);
    let disk = |what: &str| format!("select bytes from onlap_stat.disk where part = '{what}'");
    let in_tables = |what: &str| format!("select sum({what}) from onlap_stat.tables");
    for (part, column) in
        [("rows", "segment_bytes"), ("indexes", "index_bytes"), ("marks", "mark_bytes")]
    {
        let bytes = number(&mut talk, &disk(part));
        // Tables of the catalog are none of a database's.
        assert!(bytes >= number(&mut talk, &in_tables(column)), "{part}");
    }
    assert!(number(&mut talk, &disk("log")) > 0);
}

#[test]
fn the_schema_is_not_listed_and_anyone_may_look() {
    let (fixture, mut talk) = filled();
    // pg_dump would dump it, and other tools take it for a schema of the user's.
    for listed in [
        "select count(*) from pg_namespace where nspname = 'onlap_stat'",
        "select count(*) from pg_class where relname = 'waits'",
        "select count(*) from information_schema.columns where table_schema = 'onlap_stat'",
    ] {
        assert_eq!(number(&mut talk, listed), 0, "{listed}");
    }
    talk.rows("create role anyone login");
    let mut other = fixture.session_of("anyone");
    assert_eq!(number(&mut other, "select count(*) from onlap_stat.indexes"), 3);
    other.rows("set search_path = onlap_stat");
    assert_eq!(number(&mut other, "select count(*) from runs"), 3);
    for sql in
        ["create table onlap_stat.x (a int)", "drop schema onlap_stat", "create schema onlap_stat"]
    {
        assert!(other.run(sql).error.is_some(), "{sql}");
    }
    assert!(other.run("drop view onlap_stat.runs").error.is_some());
}

#[test]
fn views_of_postgresql_have_the_same_counts() {
    let (_fixture, mut talk) = filled();
    assert_eq!(number(&mut talk, "select count(*) from t where b = 8"), 200);
    let indexes =
        "select indexrelname, idx_scan, idx_tup_read from pg_stat_user_indexes order by 1";
    assert_eq!(texts(&talk.rows(indexes)), ["t_a|0|0", "t_b|1|200", "t_pkey|0|0"]);
    let tables = "select relname, idx_scan, idx_tup_fetch, n_live_tup from pg_stat_user_tables";
    assert_eq!(texts(&talk.rows(tables)), ["t|1|200|20000"]);
}

#[test]
fn statements_are_counted_without_their_literals() {
    let (fixture, mut talk) = filled();
    for id in [3, 7, 9] {
        talk.rows(&format!("select a from t where id = {id}"));
    }
    assert!(talk.run("select a from t where id = 1 / (id - id)").error.is_some());
    for first in [30_000, 40_000] {
        let values: Vec<_> = (first..first + 40).map(|i| format!("({i}, {i}, -1)")).collect();
        talk.rows(&format!("insert into t values {}", values.join(", ")));
    }
    let of = |what: &str, like: &str| {
        format!("select {what} from onlap_stat.statements where query like '{like}'")
    };
    let select = of("query, calls, rows, native_calls", "select a from t%");
    assert_eq!(texts(&talk.rows(&select)), ["select a from t where id = $1|3|3|3"]);
    let insert = of("query, calls, rows, native_calls", "insert into t values%");
    assert_eq!(texts(&talk.rows(&insert)), ["insert into t values (...)|2|80|2"]);
    let times = of(
        "(min_ms <= p50_ms and p50_ms <= p99_ms and p99_ms <= max_ms and total_ms > 0)::int",
        "select a from t%",
    );
    assert_eq!(number(&mut talk, &times), 1);

    talk.rows("create role watcher login");
    talk.rows("create role other login");
    let seen = |talk: &mut Talk| {
        let sql = "select count(*) filter (where query_id is null and query = '<insufficient privilege>'), \
                   count(*) filter (where query like 'select a from t%') from onlap_stat.statements \
                   where role_name = 'postgres'";
        let rows = talk.rows(sql);
        let number = |at: usize| rows[0][at].as_ref().unwrap().parse::<i64>().unwrap();
        (number(0) > 0, number(1))
    };
    assert_eq!(seen(&mut fixture.session_of("other")), (true, 0));
    talk.rows("grant pg_read_all_stats to watcher");
    assert_eq!(seen(&mut fixture.session_of("watcher")), (false, 1));
    assert_eq!(seen(&mut talk), (false, 1));
}

#[test]
fn the_cache_is_held_by_rows_indexes_and_marks() {
    let (fixture, mut talk) = filled();
    talk.rows("delete from t where id <= 50");
    fixture.instance.database().flush().unwrap();
    for read in ["sum(b)", "min(a)"] {
        talk.rows(&format!("select {read} from t where b between 8 and 60"));
        talk.rows(&format!("select {read} from t where id between 70 and 9000"));
    }
    let stats = fixture.instance.database().stats_without_keys().unwrap();
    let used = stats.memory.iter().find(|part| part.part.name() == "cache").unwrap().used;
    let of_engine: u64 = stats
        .tables
        .iter()
        .map(|t| {
            let indexes: u64 = t.indexes.iter().map(|index| index.cached_bytes).sum();
            indexes + t.segment_cached_bytes + t.mark_cached_bytes
        })
        .sum();
    assert_eq!(of_engine, used);
    // The catalog's own table has no row in the view.
    let own = stats.tables.iter().find(|t| t.indexes.len() == 3).expect("the table");
    let sum = "select (select sum(cached_bytes) from onlap_stat.indexes) \
               + (select sum(cached_bytes) from onlap_stat.tables)";
    let indexes: u64 = own.indexes.iter().map(|index| index.cached_bytes).sum();
    let wanted = indexes + own.segment_cached_bytes + own.mark_cached_bytes;
    assert_eq!(number(&mut talk, sum) as u64, wanted);
    let each = "select count(*) from onlap_stat.indexes where cached_bytes > 0";
    assert!(number(&mut talk, each) >= 1 && own.segment_cached_bytes > 0);
}

#[test]
fn an_index_has_the_median_of_its_statements() {
    let (_fixture, mut talk) = filled();
    let p50 = |talk: &mut Talk, name: &str| {
        let sql = format!(
            "select p50_ms, (select p50_ms from onlap_stat.statements where query like '%b = $1%' \
             and query not like '%onlap_stat%') from onlap_stat.indexes where index_name = '{name}'"
        );
        let row = talk.rows(&sql).remove(0);
        row.into_iter()
            .map(|value| value.map(|text| text.parse::<f64>().unwrap()))
            .collect::<Vec<_>>()
    };
    assert_eq!(p50(&mut talk, "t_b"), [None, None]);
    for b in 0..9 {
        talk.rows(&format!("select sum(a) from t where b = {b}"));
    }
    let [by_index, of_statement] = p50(&mut talk, "t_b")[..] else { panic!("two columns") };
    let (by_index, of_statement) = (by_index.unwrap(), of_statement.unwrap());
    assert!((by_index / of_statement - 1.0).abs() < 0.25, "{by_index} ms, {of_statement} ms");
    assert_eq!(p50(&mut talk, "t_a")[0], None);
}

#[test]
fn goals_are_those_that_were_set() {
    let (fixture, mut talk) = filled();
    let stats = fixture.instance.database().stats_without_keys().unwrap();
    let of = |name: &str| {
        format!("select asked from onlap_stat.goals where name = '{name}' and unit = 'bytes'")
    };
    let limit = stats.memory.iter().map(|part| part.limit).sum::<u64>();
    for (name, asked) in [
        ("memory", limit),
        ("log", stats.log_limit),
        ("debt of merges", stats.merge_debt_limit),
        ("debt of snapshots", stats.snapshot_debt_limit),
        ("debt of histories", stats.history_debt_limit),
    ] {
        assert_eq!(number(&mut talk, &of(name)) as u64, asked, "{name}");
    }
    let met =
        "select count(*) from onlap_stat.goals where met and limiting <> '' and measured <= asked";
    assert_eq!(number(&mut talk, met), 6);
    let named = "select count(*) from onlap_stat.goals g join pg_settings s on g.setting = s.name";
    assert_eq!(number(&mut talk, named), 4);
}

#[test]
fn backups_are_copies_and_directories_are_not_for_all() {
    let (fixture, mut talk) = filled();
    assert!(talk.rows("select * from onlap_stat.replication").is_empty());
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("one");
    talk.rows(&format!("backup to '{}'", place.display()));
    assert!(talk.run(&format!("backup to '{}'", place.display())).error.is_some());
    talk.rows("insert into t values (30001, 1, 1)");
    let state = "select kind, state, behind >= 1, bytes > 0, name is not null, error is null, \
                 at <= clock_timestamp() from onlap_stat.replication order by state";
    let copies = texts(&talk.rows(state));
    assert_eq!(copies[0], "backup|complete|t|t|t|t|t");
    assert!(copies[1].starts_with("backup|failed|") && copies[1].ends_with("|t|f|t"), "{copies:?}");
    talk.rows("create role anyone login");
    let mut other = fixture.session_of("anyone");
    let seen = "select count(*) from onlap_stat.replication where name is null and error is null";
    assert_eq!(number(&mut other, seen), 2);
}

#[test]
fn history_is_of_the_samples_that_were_kept() {
    let (fixture, mut talk) = filled();
    assert_eq!(number(&mut talk, "select count(*) from onlap_stat.history"), 0);
    let begun = std::time::Instant::now();
    while fixture.instance.database().samples().unwrap().is_empty() {
        assert!(begun.elapsed() < std::time::Duration::from_secs(30), "no sample came");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let samples = fixture.instance.database().samples().unwrap();
    assert!(samples[0].rows >= 20_000 && samples[0].statements >= 4, "{samples:?}");
    for is_so in [
        "(rows >= 20000 and commits > 0 and statements >= 4 and bytes_written > 0)",
        "(seconds between 9 and 20 and at between now() - interval '1 minute' and clock_timestamp())",
        "(p50_us <= p99_us and p99_us <= longest_us)",
        "(disk_bytes = disk_rows_bytes + disk_indexes_bytes + disk_marks_bytes + disk_log_bytes + disk_kept_bytes)",
        "(memory_bytes = memory_memtables_bytes + memory_transactions_bytes + memory_cache_bytes \
           + memory_resident_bytes + memory_background_bytes + memory_log_bytes and memory_bytes <= memory_limit_bytes)",
        "(stalled_us = stalled_device_us + stalled_flushes_us + stalled_merge_debt_us + stalled_memory_us + stalled_table_debt_us)",
        "(merge_debt_bytes <= merge_debt_limit_bytes and bytes_written_ever >= bytes_written)",
    ] {
        let sql = format!("select {is_so}::int from onlap_stat.history order by at limit 1");
        assert_eq!(number(&mut talk, &sql), 1, "{is_so}");
    }
}
