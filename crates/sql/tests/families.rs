//! Do tables with others below them do what PostgreSQL's do?
//!
//! Scripts run statement by statement here and in a private PostgreSQL 15 (a Debian package): inheritance, partitions, what the
//! catalogs say of them. The tag, the rows, their columns' names, SQLSTATE, message and detail must be the same; rows are in
//! any order, unless the statement gives them one.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

use onlap_testkit::postgres::Postgres;
use onlap_testkit::simple::SimpleClient;
use support::{Fixture, Talk, texts};

const INHERITS: &str = include_str!("../testdata/families/inherits.sql");
const PARTITIONS: &str = include_str!("../testdata/families/partitions.sql");
/// Constraints that are put off, indexes that calculate, rules and blocks, of tables with others below them.
const TOGETHER: &str = include_str!("../testdata/families/together.sql");

#[test]
fn inheritance_is_as_in_postgresql() {
    compared::compare(INHERITS);
}

#[test]
fn partitions_are_as_in_postgresql() {
    compared::compare(PARTITIONS);
}

#[test]
fn what_stands_on_families_is_as_in_postgresql() {
    compared::compare(TOGETHER);
}

const RIGHTS: &str = include_str!("../testdata/families/rights.sql");

#[test]
fn rights_on_families_are_as_in_postgresql() {
    let postgres = Postgres::start();
    let fixture = Fixture::new(false);
    let mut differ = Vec::new();
    for line in RIGHTS.lines().filter(|line| !line.is_empty()) {
        let (role, statement) = line.split_once(": ").expect("a role and a statement");
        let client = SimpleClient::connect(postgres.port(), role, "postgres");
        let mut theirs = client.expect("it is there").run(statement).expect("PostgreSQL answers");
        let mut ours = fixture.session_of(role).run(statement);
        ours.rows.sort();
        theirs.rows.sort();
        let (mine, other) = (compared::answer(&ours), compared::answer(&theirs));
        if mine != other {
            differ.push(format!("{line}\n  ours   {mine}\n  theirs {other}"));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn families_survive_a_restart() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let open = || Fixture::at(dir.path());
    let ask = |talk: &mut Talk| {
        talk.lines(&[
            "select tableoid::regclass, * from r order by a, b",
            "select tableoid::regclass, * from p order by 2",
            "select relname, pg_get_expr(relpartbound, oid) from pg_class where relispartition order by 1",
            "select attrelid::regclass, attname, attinhcount, attislocal from pg_attribute where attinhcount > 0 order by 1, 2",
            "select inhrelid::regclass, inhparent::regclass from pg_inherits order by 1",
            "select conname, coninhcount, connoinherit from pg_constraint where contype = 'c' order by 1",
        ])
    };
    let before = {
        let mut talk = open().session();
        for sql in [
            "create table r (a int, b text, primary key (a, b)) partition by range (a)",
            "create table r1 partition of r for values from (minvalue) to (10) partition by hash (b)",
            "create table r1a partition of r1 for values with (modulus 2, remainder 0)",
            "create table r1b partition of r1 for values with (modulus 2, remainder 1)",
            "create table rd partition of r default",
            "insert into r select g, 't' || g from generate_series(1, 30) g",
            "create table p (n int, constraint own check (n > 0) no inherit, constraint all_of check (n < 99))",
            "create table k (x int) inherits (p)",
            "insert into k values (1, 2), (-5, 3)",
            "update r set a = a + 100 where a = 3",
        ] {
            talk.rows(sql);
        }
        ask(&mut talk)
    };
    let fixture = open();
    let mut talk = fixture.session();
    assert_eq!(ask(&mut talk), before);
    talk.rows("insert into r values (4, 'new'), (400, 'new')");
    assert_eq!(texts(&talk.rows("select count(*) from r where b = 'new'")), ["2"]);
    let refused = talk.run("insert into r1a values (400, 'no')");
    assert_eq!(refused.error.map(|e| e.0).as_deref(), Some("23514"));
}

#[test]
fn who_waits_for_a_change_of_partitions_finds_them_as_they_are() {
    let fixture = Fixture::new(false);
    let mut first = fixture.session();
    for sql in [
        "create table r (a int, b int) partition by list (a)",
        "create table r1 partition of r for values in (1)",
        "create table r2 partition of r for values in (2)",
        "insert into r values (1, 1), (2, 2)",
        "begin",
        "create table r3 partition of r for values in (3)",
        "alter table r detach partition r2",
    ] {
        first.rows(sql);
    }
    let instance = fixture.instance.clone();
    let waiter = std::thread::spawn(move || {
        let mut talk = Fixture::of(instance).session();
        let added = talk.run("insert into r values (3, 3)");
        let refused = talk.run("insert into r values (2, 9)");
        (added.error, refused.error.map(|e| e.0), texts(&talk.rows("select a from r order by a")))
    });
    let mut reader = fixture.session();
    assert_eq!(texts(&reader.rows("select a from r order by a")), ["1", "2"]);
    std::thread::sleep(std::time::Duration::from_millis(300));
    first.rows("commit");
    let (added, refused, rows) = waiter.join().expect("it ends");
    assert_eq!((added, refused.as_deref()), (None, Some("23514")));
    assert_eq!(rows, ["1", "3"]);
}

#[test]
fn a_row_that_moves_meanwhile_is_told() {
    let fixture = Fixture::new(false);
    let mut first = fixture.session();
    for sql in [
        "create table r (a int, b int) partition by list (a)",
        "create table r1 partition of r for values in (1)",
        "create table r2 partition of r for values in (2)",
        "insert into r values (1, 1)",
        "begin",
        "update r set a = 2",
    ] {
        first.rows(sql);
    }
    let instance = fixture.instance.clone();
    let waiter = std::thread::spawn(move || {
        let mut talk = Fixture::of(instance).session();
        let told = talk.run("update r set b = b + 1").error;
        (told, talk.rows("update r set b = b + 10 returning tableoid::regclass, a, b"))
    });
    std::thread::sleep(std::time::Duration::from_millis(300));
    first.rows("commit");
    let (told, after) = waiter.join().expect("it ends");
    let words =
        "tuple to be locked was already moved to another partition due to concurrent update";
    assert_eq!(told, Some(("40001".into(), words.into())));
    assert_eq!(texts(&after), ["r2|2|11"]);
}

#[test]
fn plans_read_the_partitions_that_are_left() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("create table r (a int, b int) partition by range (a)");
    for n in 0..100 {
        let (from, to) = (n * 10, n * 10 + 10);
        talk.rows(&format!("create table r{n} partition of r for values from ({from}) to ({to})"));
    }
    talk.rows("insert into r select g, g from generate_series(0, 999) g");
    let mut scans = |sql: &str| {
        let plan = texts(&talk.rows(&format!("explain {sql}")));
        plan.iter().filter(|line| line.contains("Seq Scan")).count()
    };
    assert_eq!(scans("select * from r"), 100);
    assert_eq!(scans("select * from r where a = 55"), 1);
    assert_eq!(scans("select * from r where a in (55, 56, 155)"), 2);
    assert_eq!(scans("select * from r where a < 20"), 2);
    assert_eq!(scans("select * from r where a >= 20 and a < 41 and b = 7"), 3);
    assert_eq!(scans("select * from r where a = 5000"), 0);
    assert_eq!(scans("delete from r where a = 11"), 1);
    let rows = texts(&talk.rows("select sum(b) from r where a between 100 and 199"));
    assert_eq!(rows, ["14950"]);
}

#[test]
fn copied_rows_find_their_partitions() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    for sql in [
        "create table r (a int, b text default 'b', c serial) partition by range (a)",
        "create table r2 (b text, c int not null, a int)",
        "alter table r attach partition r2 for values from (10) to (20)",
        "create table r1 partition of r for values from (0) to (10)",
    ] {
        talk.rows(sql);
    }
    talk.client.input = vec![b"1\n11\n2\n".to_vec(), b"12\n".to_vec()];
    assert_eq!(talk.run("copy r (a) from stdin").tags, ["COPY 4"]);
    let rows = texts(&talk.rows("select tableoid::regclass, a, b, c from r order by a"));
    assert_eq!(rows, ["r1|1|b|1", "r1|2|b|3", "r2|11|b|2", "r2|12|b|4"]);
    talk.client.input = vec![b"3\n30\n4\n".to_vec()];
    let outcome = talk.run("copy r (a) from stdin");
    assert_eq!(outcome.error.map(|e| e.0).as_deref(), Some("23514"));
    talk.client.input = vec![b"3\t9\n".to_vec()];
    let outcome = talk.run("copy r2 (a, c) from stdin");
    let words = "new row for relation \"r2\" violates partition constraint";
    assert_eq!(outcome.error, Some(("23514".into(), words.into())));
    let many: String = (0..20_000).map(|n| format!("{}\tx\t{n}\n", n % 20)).collect();
    talk.client.input = vec![many.into_bytes()];
    assert_eq!(talk.run("copy r from stdin").tags, ["COPY 20000"]);
    let rows =
        texts(&talk.rows("select tableoid::regclass, count(*) from r group by 1 order by 1"));
    assert_eq!(rows, ["r2|10002", "r1|10002"]);
}

#[test]
fn temporary_tables_below_are_their_sessions_alone() {
    let fixture = Fixture::new(false);
    let (mut first, mut second) = (fixture.session(), fixture.session());
    first.rows("create table p (a int)");
    second.rows("prepare all_of as select a from p order by a");
    first.rows("insert into p values (1)");
    first.rows("create temporary table k () inherits (p)");
    first.rows("insert into k values (2)");
    assert_eq!(texts(&first.rows("select a from p order by a")), ["1", "2"]);
    assert_eq!(texts(&second.rows("execute all_of")), ["1"]);
    second.rows("update p set a = a + 10");
    second.rows("delete from p where a = 2");
    assert_eq!(texts(&first.rows("select a from p order by a")), ["2", "11"]);
    second.rows("truncate p");
    assert_eq!(texts(&first.rows("select a from p order by a")), ["2"]);
}
