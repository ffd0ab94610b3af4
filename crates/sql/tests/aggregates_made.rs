//! Do aggregates that a database makes do what PostgreSQL's do?
//!
//! Scripts are compared with a private PostgreSQL 15 (a Debian package).

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

use support::{Fixture, texts};

const PLAIN: &str = include_str!("../testdata/aggregates/plain.sql");

#[test]
fn aggregates_are_as_in_postgresql() {
    compared::compare(PLAIN);
}

/// More rows and groups than memory has room for.
const MANY: &[&str] = &[
    "create table t (g int, a int)",
    "insert into t select n % 200000, n from generate_series(1, 600000) n",
    "create aggregate whole (int) (sfunc = int4pl, stype = int)",
    "create aggregate joined (int) (sfunc = int4pl, stype = int, combinefunc = int4pl)",
];

#[test]
fn groups_that_go_to_disk_come_back() {
    let fixture = Fixture::with(false, 48 << 20);
    let mut talk = fixture.session();
    MANY.iter().for_each(|sql| drop(talk.rows(sql)));
    // States go to disk; rows take more room, so that there are fewer of them.
    for (name, rows, answer) in
        [("joined", 600_000, "200000|180000300000"), ("whole", 60_000, "60000|1800030000")]
    {
        let sql = format!(
            "select count(*), sum(s) from (select g, {name}(a) as s, sum(a) as x from t where a <= {rows} \
             group by g) v where s = x"
        );
        assert_eq!(texts(&talk.rows(&sql)), [answer], "{name}");
    }
}

#[test]
fn aggregates_survive_a_restart() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    {
        let fixture = Fixture::at(dir.path());
        let mut talk = fixture.session();
        talk.rows(
            "create function step(s text, a int) returns text language sql as 'select s || a'",
        );
        talk.rows("create aggregate told (int) (sfunc = step, stype = text, initcond = 'so: ')");
        talk.rows("alter function step (text, int) rename to another");
    }
    let fixture = Fixture::at(dir.path());
    let mut talk = fixture.session();
    let told = "select told(n order by n desc) from generate_series(1, 3) n";
    assert_eq!(texts(&talk.rows(told)), ["so: 321"]);
}

#[test]
fn functions_are_called_by_who_may() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    for sql in [
        "create role joe login",
        "create function step(s int, a int) returns int language sql as 'select s + a'",
        "create aggregate summed (int) (sfunc = step, stype = int, initcond = '0')",
        "revoke execute on function summed(int) from public",
    ] {
        talk.rows(sql);
    }
    let mut joe = fixture.session_of("joe");
    let refused = |joe: &mut support::Talk| joe.run("select summed(1)").error.map(|e| e.1);
    let denied = |name: &str| Some(format!("permission denied for function {name}"));
    assert_eq!(refused(&mut joe), denied("summed"));
    talk.rows("grant execute on function summed(int) to joe");
    // The owner of the aggregate calls what it is made of.
    talk.rows("revoke execute on function step(int, int) from public");
    assert_eq!(refused(&mut joe), None);
    talk.rows("create role jim");
    talk.rows("alter aggregate summed (int) owner to jim");
    assert_eq!(refused(&mut joe), denied("step"));
    let mine = "create aggregate mine (int) (sfunc = step, stype = int)";
    talk.rows("grant create on schema public to joe");
    assert_eq!(joe.run(mine).error.map(|e| e.1), denied("step"));
    assert_eq!(
        joe.run("drop aggregate summed (int)").error.map(|e| e.1),
        Some("must be owner of aggregate summed".to_string())
    );
}
