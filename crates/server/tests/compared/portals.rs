//! Do portals begin, go on and end as PostgreSQL's do?

use crate::common::compared::{ask, bind, describe, each, execute, is_as_postgresql, parse, told};
use crate::common::{config, framed, start};

#[test]
fn a_portal_within_itself_is_refused() {
    is_as_postgresql(|wire, said| {
        for (name, sql) in [
            ("self", "fetch 1 from p"),
            ("move", "move 1 from p"),
            ("close", "close p"),
            ("declare", "declare p cursor for select 1"),
            ("all", "close all"),
        ] {
            said.push(ask(wire, &[parse(name, sql)]));
        }
        for name in ["self", "move", "close", "declare"] {
            said.push(format!("{name}: {}", ask(wire, &[bind("p", name), execute("p", 0)])));
        }
        // The one that runs stays, the others are gone.
        wire.query("begin");
        wire.query("declare c cursor for select 1");
        said.push(ask(wire, &[bind("p", "all"), bind("q", "self"), execute("p", 0)]));
        each(wire, said, &["select name from pg_cursors where name <> ''", "rollback"]);
        each(wire, said, &["select 1"]);
    });
}

#[test]
fn portals_one_within_the_other_have_an_end() {
    let running = start(config());
    let mut wire = running.session();
    ask(&mut wire, &[parse("last", "select generate_series(1, 3)")]);
    wire.query("begin");
    ask(&mut wire, &[bind("p0", "last")]);
    for n in 1..60 {
        let sql = format!("fetch 1 from p{}", n - 1);
        ask(&mut wire, &[parse(&format!("s{n}"), &sql), bind(&format!("p{n}"), &format!("s{n}"))]);
    }
    assert_eq!(ask(&mut wire, &[execute("p20", 0)]), "D [\"1\"], C FETCH 1\0, Z");
    // Each is what the other fetches from.
    ask(&mut wire, &[parse("p", "fetch 1 from q"), parse("q", "fetch 1 from p")]);
    let within = ask(&mut wire, &[bind("p", "p"), bind("q", "q"), execute("p", 0)]);
    assert_eq!(within, "2, 2, E 55000 portal \"q\" cannot be run, Z");
    wire.query("rollback");
    wire.query("begin");
    ask(&mut wire, &[bind("p0", "last")]);
    for n in 1..60 {
        ask(&mut wire, &[bind(&format!("p{n}"), &format!("s{n}"))]);
    }
    let deep = ask(&mut wire, &[execute("p59", 0)]);
    assert!(deep.starts_with("E 54001 "), "{deep}");
    assert!(told(&wire.query("rollback")).starts_with("C ROLLBACK"));
}

#[test]
fn portals_go_with_the_savepoint_that_they_came_after() {
    is_as_postgresql(|wire, said| {
        let listed = "select name from pg_cursors where name <> '' order by name";
        ask(wire, &[parse("s", "select generate_series(1, 5) x")]);
        each(wire, said, &["begin", "declare a cursor for select generate_series(1, 3)"]);
        said.push(ask(wire, &[bind("pa", "s"), execute("pa", 1)]));
        each(wire, said, &["savepoint one", "declare b cursor for select 1"]);
        said.push(ask(wire, &[bind("pb", "s"), execute("pb", 1)]));
        each(wire, said, &["savepoint two", "declare h cursor with hold for select 1", listed]);
        each(wire, said, &["release two", listed, "fetch a", "rollback to one", listed]);
        for portal in ["pa", "pb"] {
            said.push(ask(wire, &[execute(portal, 1)]));
            wire.query("rollback to one");
        }
        each(wire, said, &["fetch a", "fetch b", "rollback to one", "fetch a"]);
        // A name is free again.
        each(wire, said, &["declare b cursor for select 7", "fetch b", "select 1/0"]);
        each(wire, said, &["rollback to one", listed, "fetch b", "rollback", listed]);
        // In routines what fails takes its cursors along.
        each(
            wire,
            said,
            &[
                "begin",
                "declare a cursor for select 1",
                "do $$ begin begin perform 1/0; exception when others then null; end; end $$",
                listed,
                "fetch a",
                "commit",
                listed,
            ],
        );
    });
}

#[test]
fn portals_end_at_sync_outside_of_a_block() {
    is_as_postgresql(|wire, said| {
        wire.query("create table t (a int)");
        for sql in [
            "alter table t add column b int",
            "insert into t values (1)",
            "select 1",
            "create table u (a int)",
            "set timezone = 'Asia/Tokyo'",
            "begin",
            "",
        ] {
            said.push(ask(wire, &[parse("s", sql), bind("p", "s"), bind("", "s")]));
            for portal in ["p", ""] {
                said.push(format!("{sql}: {}", ask(wire, &[execute(portal, 0)])));
            }
            said.push(ask(wire, &[bind("p", "s")]));
            said.push(ask(wire, &[bind("p", "s"), bind("q", "nothing")]));
            said.push(format!("{sql}: {}", ask(wire, &[execute("p", 0)])));
            ask(wire, &[closed("s")]);
        }
        each(wire, said, &["select * from t", "show timezone", "select to_regclass('u')"]);
        // A cursor that is held stays.
        each(wire, said, &["begin", "declare h cursor with hold for select 5", "commit"]);
        said.push(ask(wire, &[parse("s", "checkpoint"), bind("p", "s")]));
        each(wire, said, &["fetch h", "close h"]);
        // Those of a block stay until its end.
        wire.query("begin");
        said.push(ask(wire, &[parse("v", "select 7"), bind("p", "v")]));
        said.push(ask(wire, &[execute("p", 0)]));
        each(wire, said, &["commit"]);
        said.push(ask(wire, &[execute("p", 0)]));
    });
}

#[test]
fn the_unnamed_statement_goes_with_the_next_text() {
    is_as_postgresql(|wire, said| {
        let run = [bind("", ""), execute("", 0)];
        said.push(ask(wire, &[parse("", "select 1"), run.concat()]));
        said.push(ask(wire, &run));
        said.push(ask(wire, &[parse("", "select from where")]));
        said.push(ask(wire, &run));
        said.push(ask(wire, &[parse("", "select 2")]));
        each(wire, said, &["select 3"]);
        said.push(ask(wire, &run));
        said.push(ask(wire, &[parse("", "select 4"), parse("s", "select 5")]));
        said.push(ask(wire, &run));
        each(wire, said, &[""]);
        said.push(ask(wire, &run));
    });
}

#[test]
fn close_all_closes_what_bind_made_too() {
    is_as_postgresql(|wire, said| {
        ask(wire, &[parse("s", "select generate_series(1, 5) x")]);
        wire.query("begin");
        wire.query("declare c cursor for select 1");
        said.push(ask(wire, &[bind("p", "s"), execute("p", 1)]));
        each(wire, said, &["close all", "select name from pg_cursors where name <> ''"]);
        said.push(ask(wire, &[describe("P", "p")]));
        wire.query("rollback");
    });
}

#[test]
fn notices_come_before_the_tag() {
    is_as_postgresql(|wire, said| {
        for sql in [
            "create table t (a int)",
            "create function f(x int) returns int language plpgsql as \
             $$ begin raise notice 'with %', x; return x; end $$",
            "create function g() returns trigger language plpgsql as \
             $$ begin raise notice 'row %', new.a; return new; end $$",
            "create trigger g before insert on t for each row execute function g()",
        ] {
            wire.query(sql);
        }
        wire.query("begin");
        wire.query("declare c cursor for select pg_advisory_unlock(7), f(2)");
        said.push(ask(wire, &[execute("c", 0)]).matches("N ").count().to_string());
        wire.query("commit");
        for sql in [
            "do $$ begin raise notice 'done'; end $$",
            "insert into t values (1), (2)",
            "insert into t values (1), (2) returning a",
            "drop table if exists nothing",
            "select f(1)",
        ] {
            said.push(format!(
                "{sql}: {}",
                ask(wire, &[parse("", sql), bind("", ""), execute("", 0)])
            ));
            each(wire, said, &[sql]);
        }
    });
}

#[test]
fn a_tag_counts_the_rows_that_its_execute_sent() {
    is_as_postgresql(|wire, said| {
        wire.query("create table t (a int)");
        for sql in [
            "insert into t values (1), (2), (3), (4), (5) returning a",
            "update t set a = a returning a",
            "delete from t returning a",
            "select generate_series(1, 5)",
            "values (1), (2), (3), (4), (5)",
        ] {
            said.push(ask(wire, &[parse("s", sql)]));
            wire.query("begin");
            said.push(ask(wire, &[bind("p", "s")]));
            for rows in [2, 1, 2, 1, 0] {
                said.push(format!("{sql} {rows}: {}", ask(wire, &[execute("p", rows)])));
            }
            wire.query("commit");
            wire.query("deallocate s");
        }
    });
}

#[test]
fn what_has_run_does_not_run_again() {
    is_as_postgresql(|wire, said| {
        wire.query("create table t (a int)");
        for sql in [
            "insert into t values (1)",
            "set a.b = 'x'",
            "show application_name",
            "select 1",
            "insert into t values (1) returning a",
            "create table u (a int)",
            "",
        ] {
            said.push(ask(wire, &[parse("s", sql)]));
            wire.query("begin");
            let twice = [bind("p", "s"), execute("p", 0), execute("p", 0)];
            said.push(format!("{sql}: {}", ask(wire, &twice)));
            wire.query("rollback");
            wire.query("deallocate s");
        }
        wire.query("select * from t");
    });
}

#[test]
fn prepared_statements_know_the_catalog_of_their_transaction() {
    is_as_postgresql(|wire, said| {
        wire.query("create table t (a int primary key, b int)");
        for (name, sql) in [
            ("all", "select * from t order by a"),
            ("one", "select a from t where a = 1"),
            ("new", "insert into t (a) select coalesce(max(a), 0) + 1 from t"),
            ("put", "update t set b = 1 where a = 1"),
        ] {
            said.push(ask(wire, &[parse(name, sql)]));
        }
        for ddl in [
            "select 1",
            "create table u (a int)",
            "create temp table t (a int, b text, c int)",
            "alter table t add column c int",
            "alter table t alter column b type text",
            "alter table t rename column b to z",
            "alter table t alter column a type text",
            "drop table t",
        ] {
            wire.query("begin");
            wire.query("savepoint one");
            each(wire, said, &[ddl, "savepoint two"]);
            // Once, again, and when it was undone.
            for step in ["", "", "rollback to one", ""] {
                if !step.is_empty() {
                    wire.query(step);
                }
                for name in ["all", "one", "new", "put"] {
                    let asked = ask(wire, &[describe("S", name), bind("", name), execute("", 0)]);
                    said.push(format!("{ddl}, {step}, {name}: {asked}"));
                    if asked.contains("E ") {
                        wire.query(if step.is_empty() { "rollback to two" } else { "rollback" });
                    }
                }
            }
            wire.query("rollback");
        }
        wire.query("alter table t add column c int");
        for name in ["all", "one", "new", "new", "put", "put", "one"] {
            said.push(format!("{name}: {}", ask(wire, &[bind("", name), execute("", 0)])));
        }
    });
}

/// Close of a statement.
fn closed(name: &str) -> Vec<u8> {
    framed(b'C', &[b"S", name.as_bytes(), b"\0"].concat())
}

#[test]
fn portals_of_fetch_and_execute_have_the_columns_of_what_has_the_name_by_now() {
    is_as_postgresql(|wire, said| {
        said.push(ask(wire, &[parse("f", "fetch 2 in c"), describe("S", "f")]));
        said.push(ask(wire, &[parse("m", "move 1 in c"), parse("e", "execute q")]));
        each(wire, said, &["begin", "declare c cursor for select n from generate_series(1, 3) n"]);
        let of_fetch = [bind("", "f"), describe("P", ""), execute("", 0)];
        said.push(ask(wire, &of_fetch));
        said.push(ask(wire, &[bind("", "m"), describe("P", ""), execute("", 0)]));
        each(wire, said, &["close c", "declare c cursor for select 'x'::text b, 2 d"]);
        said.push(ask(wire, &of_fetch));
        // One that fetches from one that is bound.
        said.push(ask(wire, &[bind("c2", "f"), parse("", "fetch all in c2"), bind("", "")]));
        each(wire, said, &["rollback"]);
        said.push(ask(wire, &[bind("", "f"), describe("P", ""), execute("", 0)]));
        let of_execute = [bind("", "e"), describe("P", ""), execute("", 0)];
        said.push(ask(wire, &of_execute));
        each(wire, said, &["prepare q as select 7 x"]);
        said.push(ask(wire, &of_execute));
        each(wire, said, &["deallocate q", "prepare q as select 'a'::text y, 1.5 z"]);
        said.push(ask(wire, &of_execute));
    });
}
