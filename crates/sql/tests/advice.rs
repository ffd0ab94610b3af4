//! Which indexes are advised, and are they as large as was said? Invisible and hypothetical ones.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use onlap::{Database, Options, SyncMode};
use onlap_sql::Instance;
use support::{Fixture, Talk, texts};

const ROWS: i64 = 20_000;
/// What predictions may err by.
const ERROR: f64 = 0.2;

fn filled(fixture: &Fixture) -> Talk {
    let mut talk = fixture.session();
    talk.rows("set onlap.advice_time = '10min'");
    talk.rows("create table t (id bigint primary key, a bigint, b bigint, c text)");
    talk.rows("create index t_a on t (a)");
    let insert = format!(
        "insert into t select i, i * 7919 % {ROWS}, i % 100, md5(i::text) \
         from generate_series(1, {ROWS}) i"
    );
    talk.rows(&insert);
    fixture.instance.database().flush().unwrap();
    talk
}

fn number(talk: &mut Talk, sql: &str) -> f64 {
    let rows = talk.rows(sql);
    rows[0][0].as_deref().unwrap_or_else(|| panic!("NULL: {sql}")).parse().unwrap()
}

/// The plan of a statement.
fn plan(talk: &mut Talk, sql: &str) -> String {
    texts(&talk.rows(&format!("explain {sql}"))).join("\n")
}

#[test]
fn invisible_indexes_are_kept_and_not_read() {
    let fixture = Fixture::new(false);
    let mut talk = filled(&fixture);
    let (select, sorted) = ("select * from t where a = 7", "select a from t order by a limit 3");
    let scans = "select scans from onlap_stat.indexes where index_name = 't_a'";
    for fast in ["on", "off"] {
        talk.rows(&format!("set fast_path = {fast}"));
        talk.rows("alter index t_a invisible");
        let before = number(&mut talk, scans);
        assert!(!plan(&mut talk, select).contains("t_a"));
        assert_eq!(talk.rows(select).len(), 1);
        assert_eq!(texts(&talk.rows(sorted)), ["0", "1", "2"]);
        assert_eq!(number(&mut talk, scans), before);
        talk.rows("alter index if exists t_a visible");
        assert!(plan(&mut talk, select).contains("t_a"), "{}", plan(&mut talk, select));
        assert_eq!(talk.rows(select).len(), 1);
        assert_eq!(texts(&talk.rows(sorted)), ["0", "1", "2"]);
        assert_eq!(number(&mut talk, scans), before + 2.0, "{fast}");
    }
    // Sessions that have planned before go by what is so now.
    talk.rows("prepare p as select count(*) from t where a = $1");
    talk.rows("execute p (7)");
    let mut other = fixture.session();
    let before = number(&mut other, scans);
    other.rows("alter index t_a invisible");
    assert_eq!(texts(&talk.rows("execute p (7)")), ["1"]);
    assert_eq!(number(&mut other, scans), before);
    // It is written to all the same.
    talk.rows("insert into t values (-1, -1, -1, 'x')");
    talk.rows("alter index t_a visible");
    assert_eq!(texts(&talk.rows("select id from t where a = -1")), ["-1"]);
    assert_eq!(number(&mut other, scans), before + 1.0);

    let visible = "select index_name, visible from onlap_stat.indexes order by 1";
    talk.rows("create index hidden on t (b) invisible");
    assert_eq!(texts(&talk.rows(visible)), ["hidden|f", "t_a|t", "t_pkey|t"]);
    // Dumps are for PostgreSQL as well.
    let definition = "select indexdef from pg_indexes where indexname = 'hidden'";
    let wanted = "CREATE INDEX hidden ON public.t USING btree (b)";
    assert_eq!(texts(&talk.rows(definition)), [wanted]);
    let by_oid = "select pg_get_indexdef('hidden'::regclass)";
    assert_eq!(texts(&talk.rows(by_oid)), [wanted]);
    talk.rows("alter index hidden set (fillfactor = 70)");
    assert_eq!(texts(&talk.rows(visible))[0], "hidden|f");
    for sql in ["begin", "create index inner_one on t (c) invisible", "rollback"] {
        talk.rows(sql);
    }
    assert_eq!(talk.rows(visible).len(), 3);
}

#[test]
fn invisible_indexes_keep_their_rules() {
    let fixture = Fixture::new(false);
    let mut talk = filled(&fixture);
    talk.rows("create unique index t_c on t (c) invisible");
    for fast in ["on", "off"] {
        talk.rows(&format!("set fast_path = {fast}"));
        let twice = talk.run("insert into t values (-5, 1, 1, md5('7'))");
        assert_eq!(twice.error.map(|e| e.0), Some("23505".to_string()));
        let tag = talk.run("insert into t values (-5, 1, 1, md5('7')) on conflict (c) do nothing");
        assert_eq!((tag.error, &tag.tags[..]), (None, &["INSERT 0 0".to_string()][..]));
        let update =
            "insert into t values (-5, 1, 1, md5('7')) on conflict (c) do update set b = -3";
        talk.rows(update);
        assert_eq!(texts(&talk.rows("select b from t where id = 7")), ["-3"]);
        assert!(!plan(&mut talk, "select * from t where c = 'x'").contains("t_c"));
    }
    // One that no statement reads by is no primary key, and one of an expression stays so with another type below it.
    talk.rows("create table k (id int not null, a int)");
    talk.rows("create unique index k_id on k (id) invisible");
    let key = "alter table k add constraint k_id primary key using index k_id";
    assert_eq!(talk.run(key).error.map(|e| e.0), Some("0A000".to_string()));
    talk.rows("alter index k_id visible");
    talk.rows(key);
    talk.rows("create index k_a on k ((a + 1)) invisible");
    talk.rows("alter table k alter a type bigint");
    // With an index that is supposed next to one that is hidden.
    talk.rows("set onlap.hypothetical = 'create index on k (a)'");
    let planned = plan(&mut talk, "select * from k where a + 1 = 3 or a = 5");
    assert!(!planned.contains("k_a "), "{planned}");
    talk.rows("reset onlap.hypothetical");
    let refused = talk.run("alter index t_pkey invisible");
    assert_eq!(refused.error.map(|e| e.0), Some("0A000".to_string()));
    talk.rows("create table parts (a int, b int) partition by range (a)");
    for sql in ["create index on parts (b) invisible", "alter table t invisible"] {
        assert!(talk.run(sql).error.is_some(), "{sql}");
    }
}

#[test]
fn what_is_invisible_stays_so() {
    let dir = tempfile::tempdir().unwrap();
    let open = || {
        let db = Database::open(dir.path(), Options::default().sync(SyncMode::Os)).unwrap();
        Fixture::of(Instance::open(db).unwrap())
    };
    let fixture = open();
    let mut talk = filled(&fixture);
    talk.rows("alter index t_a invisible");
    drop(talk);
    fixture.instance.database().clone().close().unwrap();
    drop(fixture);
    let fixture = open();
    let mut talk = fixture.session();
    assert!(!plan(&mut talk, "select * from t where a = 7").contains("t_a"));
    talk.rows("drop index t_a");
    talk.rows("create index t_a on t (a)");
    assert!(plan(&mut talk, "select * from t where a = 7").contains("t_a"));
}

#[test]
fn hypothetical_indexes_are_explained_and_not_read() {
    let fixture = Fixture::new(false);
    let mut talk = filled(&fixture);
    let select = "select count(*) from t where b = 7 and c > 'f'";
    for fast in ["on", "off"] {
        talk.rows(&format!("set fast_path = {fast}"));
        assert!(!plan(&mut talk, select).contains('<'));
        talk.rows(
            "set onlap.hypothetical = 'create index on t (b, c); create index of_c on t (c)'",
        );
        assert!(plan(&mut talk, select).contains("<1>t_b_c_idx"), "{}", plan(&mut talk, select));
        let by_c = plan(&mut talk, "select id from t where c = 'x'");
        assert!(by_c.contains("<2>of_c"), "{by_c}");
        let json = texts(&talk.rows(&format!("explain (format json) {select}"))).join("");
        assert!(json.contains("<1>t_b_c_idx"), "{json}");
        // What runs has what there is.
        assert_eq!(number(&mut talk, select) as i64 % 2, number(&mut talk, select) as i64 % 2);
        let analyzed = plan(&mut talk, "select 1").len();
        assert!(analyzed > 0);
        let analyzed = texts(&talk.rows(&format!("explain analyze {select}"))).join("\n");
        assert!(!analyzed.contains('<') && analyzed.contains("Actual Rows: 1"), "{analyzed}");
        assert_eq!(talk.rows("select 1 from pg_indexes where tablename = 't'").len(), 2);
        talk.rows("set onlap.hypothetical = 'create index on t ((b + 1)) where a > 5'");
        let derived = plan(&mut talk, "select id from t where b + 1 = 8 and a > 5");
        assert!(derived.contains("<1>"), "{derived}");
        for wrong in ["drop table t", "create", "create index on t (a) where 1"] {
            talk.rows(&format!("set onlap.hypothetical = '{wrong}'"));
            assert!(talk.run(&format!("explain {select}")).error.is_some(), "{wrong}");
            talk.rows(select);
        }
        // What it names may have gone: the others are supposed all the same.
        for stale in ["missing (a)", "t (z)", "nowhere.t (b)", "t (lowest(c))"] {
            talk.rows(&format!(
                "set onlap.hypothetical = 'create index on {stale}; create index on t (b, c)'"
            ));
            let explained = talk.run(&format!("explain {select}"));
            assert!(explained.error.is_none(), "{stale}: {:?}", explained.error);
            let told = explained.notices.iter().any(|(_, text)| {
                text.starts_with("statement 1 of onlap.hypothetical is left out: ")
            });
            assert!(told, "{stale}: {:?}", explained.notices);
            assert!(plan(&mut talk, select).contains("<2>t_b_c_idx"), "{stale}");
        }
        talk.rows("reset onlap.hypothetical");
    }
}

fn advice(talk: &mut Talk) -> Vec<String> {
    texts(&talk.rows("select kind, table_name, index_name, sql from onlap.advise() order by 1, 3"))
}

#[test]
fn what_is_not_needed_is_advised_against() {
    let fixture = Fixture::new(false);
    let mut talk = filled(&fixture);
    talk.rows("create index t_b on t (b)");
    talk.rows("create index t_a_again on t (a)");
    talk.rows("create index t_b_c on t (b, c)");
    talk.rows("create unique index t_c on t (c)");
    talk.rows("create index t_c_plain on t (c)");
    talk.rows("create index t_some on t (a) where b > 5");
    talk.rows("create index t_falling on t (a desc)");
    talk.rows("create index \"Odd 'one\" on t (c, b)");
    talk.rows("create table child (id bigint, parent bigint references t)");
    talk.rows("create index child_parent on child (parent)");
    talk.rows("insert into child select i, i from generate_series(1, 20000) i");
    fixture.instance.database().flush().unwrap();
    for sql in ["select id from t where a = 4", "select id from t where a > 19990 order by a desc"]
    {
        talk.rows(sql);
    }
    let found = advice(&mut talk);
    for wanted in [
        "duplicate|public.t|t_a_again|DROP INDEX public.t_a_again",
        "duplicate|public.t|t_c_plain|DROP INDEX public.t_c_plain",
        "redundant|public.t|t_b|DROP INDEX public.t_b",
        "unused|public.t|t_some|DROP INDEX public.t_some",
        "unused|public.t|Odd 'one|DROP INDEX public.\"Odd 'one\"",
    ] {
        assert!(found.iter().any(|row| row == wanted), "{wanted}\n{found:#?}");
    }
    // Keys of rules, children of foreign keys, and what stands in for others stay.
    for kept in ["t_pkey", "t_c|", "t_b_c", "child_parent"] {
        assert!(!found.iter().any(|row| row.contains(kept)), "{kept}\n{found:#?}");
    }
    let figures = "select count(*) from onlap.advise() where bytes_on_disk > 0 and saved_bytes > 0 \
                   and cpu_ns_per_insert > 0 and saved_ms > 0 and reason <> ''";
    assert_eq!(number(&mut talk, figures) as usize, found.len());
    // The advice can be followed, until there is none. What stood in for another may be unused then.
    let mut found = found;
    for _ in 0..3 {
        for row in &found {
            talk.rows(row.rsplit('|').next().unwrap());
        }
        found = advice(&mut talk);
        assert!(found.iter().all(|row| row.starts_with("unused")), "{found:#?}");
    }
    assert!(found.is_empty(), "{found:#?}");
    let left = "select indexname from pg_indexes where schemaname = 'public' order by 1";
    assert_eq!(texts(&talk.rows(left)), ["child_parent", "t_c", "t_falling", "t_pkey"]);
}

#[test]
fn what_is_missing_is_advised_and_as_large_as_predicted() {
    let fixture = Fixture::new(false);
    let mut talk = filled(&fixture);
    for b in 0..5 {
        talk.rows(&format!("select count(*) from t where b = {b}"));
        talk.rows(&format!("select id from t where b = {b} and c between 'a' and 'b'"));
        talk.rows(&format!("select id from t where c in ('x{b}', 'y', 'z')"));
        talk.rows(&format!("select id from t where a = {b}"));
        talk.rows("select count(*), sum(b) from t");
    }
    let kept = "select key_part from (select sql as key_part from onlap.advise() where kind = 'missing') s order by 1";
    let found = texts(&talk.rows(kept));
    assert_eq!(
        found,
        ["CREATE INDEX t_b_c_idx ON public.t (b, c)", "CREATE INDEX t_c_idx ON public.t (c)",]
    );
    let reasons = texts(&talk.rows("select reason from onlap.advise() where kind = 'missing'"));
    assert!(
        reasons.iter().all(|reason| reason.contains("5 calls read 100000 rows")),
        "{reasons:?}"
    );
    // One who may not see the statements is not told of them.
    talk.rows("create role watcher login");
    let mut watcher = fixture.session_of("watcher");
    assert_eq!(
        number(&mut watcher, "select count(*) from onlap.advise() where kind = 'missing'"),
        0.0
    );
    let predicted =
        "select index_name, bytes_on_disk from onlap.advise() where kind = 'missing' order by 1";
    let predicted = talk.rows(predicted);
    for sql in &found {
        talk.rows(sql);
    }
    for row in predicted {
        let (name, bytes) = (row[0].clone().unwrap(), row[1].clone().unwrap());
        let measured =
            format!("select bytes_on_disk from onlap_stat.indexes where index_name = '{name}'");
        let error = bytes.parse::<f64>().unwrap() / number(&mut talk, &measured) - 1.0;
        assert!(error.abs() < ERROR, "{name}: {error:+.3}");
    }
    let missing = "select count(*) from onlap.advise() where kind = 'missing'";
    assert_eq!(number(&mut talk, missing), 0.0);
}

#[test]
fn advice_ends_in_time_and_says_so() {
    let fixture = Fixture::new(false);
    let mut talk = filled(&fixture);
    for b in 0..5 {
        talk.rows(&format!("select count(*) from t where b = {b}"));
    }
    let kinds = "select kind from onlap.advise() where kind in ('missing', 'unfinished')";
    assert_eq!(texts(&talk.rows(kinds)), ["missing"]);
    talk.rows("set onlap.advice_time = 0");
    assert_eq!(texts(&talk.rows(kinds)), ["unfinished"]);
    let reason = texts(&talk.rows("select reason from onlap.advise() where kind = 'unfinished'"));
    assert!(reason[0].contains("1 statements were not planned again"), "{reason:?}");
    assert_eq!(texts(&talk.rows("show onlap.advice_time")), ["0"]);
    assert!(talk.run("set onlap.advice_time = -1").error.is_some());
    talk.rows("reset onlap.advice_time");
    assert_eq!(texts(&talk.rows("show onlap.advice_time")), ["4s"]);
}

#[test]
fn what_would_answer_alone_is_advised_and_as_large_as_predicted() {
    let fixture = Fixture::new(false);
    let mut talk = filled(&fixture);
    talk.rows("create index t_b on t (b desc)");
    for b in 0..5 {
        // 200 rows each, of which one column is wanted, or two.
        talk.rows(&format!("select sum(a) from t where b = {b}"));
        talk.rows(&format!("select id, a from t where b = {b} order by a"));
        // The index has all that these want; these want whole rows, or few of them.
        talk.rows(&format!("select count(*) from t where b = {b}"));
        talk.rows(&format!("select b from t where b = {b}"));
        talk.rows(&format!("select ctid, a from t where b = {b}"));
        talk.rows(&format!("select c from t where a = {b}"));
        talk.rows(&format!("select b from t where id = {b}"));
    }
    let advised = "select sql from onlap.advise() where kind = 'covering'";
    let found = texts(&talk.rows(advised));
    assert_eq!(found.len(), 1, "{found:#?}");
    let wanted = ["(b DESC) INCLUDE (a, id)", "(b DESC) INCLUDE (id, a)"];
    assert!(wanted.iter().any(|end| found[0].ends_with(end)), "{found:#?}");
    let reason = texts(&talk.rows("select reason from onlap.advise() where kind = 'covering'"));
    assert!(reason[0].starts_with("10 calls read by t_b and fetched 2000 rows for "), "{reason:?}");
    let figures = "select index_name, bytes_on_disk, cpu_ns_per_insert > 0 and saved_ms > 0 \
                   from onlap.advise() where kind = 'covering'";
    let row = talk.rows(figures).remove(0);
    let (name, bytes) = (row[0].clone().unwrap(), row[1].clone().unwrap());
    assert_eq!(row[2].as_deref(), Some("t"));
    // One who may not see the statements is not told of them.
    talk.rows("create role watcher login");
    let mut watcher = fixture.session_of("watcher");
    assert!(watcher.rows(advised).is_empty());
    // Followed, it is as large as was said, answers alone, and the other may go.
    talk.rows(&found[0]);
    let size = format!("select bytes_on_disk from onlap_stat.indexes where index_name = '{name}'");
    let error = bytes.parse::<f64>().unwrap() / number(&mut talk, &size) - 1.0;
    assert!(error.abs() < ERROR, "{name}: {error:+.3}");
    let read = "select rows_read from onlap_stat.statements where query like 'select sum(a) from t where b%'";
    let before = number(&mut talk, read);
    assert_eq!(texts(&talk.rows("select sum(a) from t where b = 3")).len(), 1);
    assert_eq!(number(&mut talk, read), before, "rows were fetched");
    assert!(texts(&talk.rows(advised)).is_empty());
    let against =
        texts(&talk.rows("select kind, sql from onlap.advise() where index_name = 't_b'"));
    assert_eq!(against, ["duplicate|DROP INDEX public.t_b"]);
}

#[test]
fn the_schema_is_ours_and_not_listed() {
    let fixture = Fixture::new(false);
    let mut talk = filled(&fixture);
    for listed in [
        "select count(*) from pg_namespace where nspname = 'onlap'",
        "select count(*) from pg_proc where proname = 'advise'",
        "select count(*) from pg_extension where extname = 'onlap'",
        "select count(*) from pg_available_extensions where name = 'onlap'",
    ] {
        assert_eq!(number(&mut talk, listed), 0.0, "{listed}");
    }
    assert!(talk.run("select * from advise()").error.is_some());
    talk.rows("set search_path = onlap, public");
    talk.rows("select * from advise()");
    for sql in ["create table onlap.x (a int)", "create schema onlap", "drop schema onlap"] {
        assert!(talk.run(sql).error.is_some(), "{sql}");
    }
    talk.rows("create role anyone login");
    let mut other = fixture.session_of("anyone");
    other.rows("select * from onlap.advise()");
}
