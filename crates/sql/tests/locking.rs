//! Which rows do queries with FOR UPDATE lock, in which order do they come, and when are they read?

mod support;

use support::{Fixture, Talk};

fn filled() -> Fixture {
    let fixture = Fixture::with(false, 64 << 20);
    let mut talk = fixture.session();
    talk.rows("create table t (id int primary key, a int, b text)");
    talk.rows(
        "insert into t select g, (g * 7919) % 100003, repeat('x', 60) || g from generate_series(1, 60000) g",
    );
    fixture
}

fn state(talk: &mut Talk, sql: &str) -> Option<String> {
    talk.run(sql).error.map(|error| error.0)
}

#[test]
fn a_cursor_locks_its_rows() {
    let fixture = filled();
    let (mut a, mut b) = (fixture.session(), fixture.session());
    a.rows("begin");
    a.rows("declare c cursor for select id, b from t where id between 10 and 300 order by id for update");
    assert_eq!(a.rows("fetch 2 from c").len(), 2);
    let wanted = "select id from t where id = 10 for update nowait";
    assert_eq!(state(&mut b, wanted).as_deref(), Some("55P03"));
    // What the transaction itself has deleted since does not come.
    a.rows("delete from t where id = 200");
    let rest = a.rows("fetch 1000 from c");
    assert_eq!(rest.len(), 288);
    assert!(rest.iter().all(|row| row[0].as_deref() != Some("200")));
    a.rows("commit");
    assert_eq!(b.rows(wanted).len(), 1);
    let held = "declare h cursor with hold for select id from t for update";
    assert_eq!(state(&mut a, held).as_deref(), Some("0A000"));
}

#[test]
fn rows_come_in_their_order_however_many_they_are() {
    let fixture = filled();
    let mut talk = fixture.session();
    for tail in [
        "order by b desc",
        "order by a, id",
        "where a > 50000 order by b desc, a limit 100 offset 40000",
        "where a > 50000 order by b, a limit 100 offset 7",
        "where id > 100 order by id desc limit 10 offset 3",
        "order by id limit 5",
        "",
    ] {
        let plain = talk.rows(&format!("select b, id, b from t {tail}"));
        let locked = talk.rows(&format!("select b, id, b from t {tail} for update"));
        assert!(plain == locked, "{tail}");
    }
}

#[test]
fn only_as_many_rows_are_locked_as_are_answered() {
    let fixture = filled();
    let (mut a, mut b) = (fixture.session(), fixture.session());
    a.rows("begin");
    assert_eq!(a.rows("select id from t order by id limit 3 for update").len(), 3);
    let skipped = "select id from t order by id limit 2 for update skip locked";
    assert_eq!(b.rows(skipped), [[Some("4".to_string())], [Some("5".to_string())]]);
}

#[test]
fn a_subquery_that_locks_gives_a_bounded_number_of_rows() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("create table t (id int primary key, b text)");
    talk.rows("insert into t select g, repeat('x', 60) || g from generate_series(1, 20000) g");
    let sql = "delete from t where b in (select b from t for update)";
    assert_eq!(state(&mut talk, sql).as_deref(), Some("54000"));
    assert_eq!(talk.rows("select count(*) from t")[0], [Some("20000".to_string())]);
}
