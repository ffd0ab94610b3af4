//! COPY FROM … WHERE.

use std::net::TcpStream;

use crate::common::compared::{bind, each, execute, is_as_postgresql, parse, told};
use crate::common::{Wire, framed};

/// Sends data for a COPY, unless it is refused before.
fn copy(wire: &mut Wire<TcpStream>, sql: &str, data: &str) -> String {
    wire.raw(&framed(b'Q', format!("{sql}\0").as_bytes()));
    let mut answers = vec![wire.next().expect("an answer")];
    if answers[0].kind == b'G' {
        wire.raw(&[framed(b'd', data.as_bytes()), framed(b'c', b"")].concat());
    }
    if answers[0].kind != b'Z' {
        answers.extend(wire.until(b'Z'));
    }
    format!("{sql}: {}", told(&answers))
}

#[test]
fn a_condition_takes_the_rows_that_postgresql_takes() {
    is_as_postgresql(|wire, said| {
        for sql in [
            "create schema s",
            "create table s.t (a int, b text default 'x', g int generated always as (a * 2) stored)",
            "create domain d as int check (value > 0)",
            "create table u (a d, \"Odd\" numeric, c int[], e char(3), at timestamptz)",
            "create function f(x int) returns bool language plpgsql as \
             $$ begin raise notice 'asked %', x; return x > 1; end $$",
        ] {
            wire.query(sql);
        }
        for (sql, data) in [
            ("copy s.t (a) from stdin where a > 1", "1\n2\n3\n"),
            ("copy s.t (a) from stdin where t.a = 1", "1\n2\n"),
            ("copy s.t (a) from stdin where s.t.a = 1", "1\n2\n"),
            ("copy s.t (a) from stdin where g is null", "4\n"),
            ("copy s.t (a) from stdin where g > 0", "5\n"),
            ("copy s.t (a) from stdin where t is not null and a = 6", ""),
            ("copy s.t (a) from stdin where (t.a) = 7 and b in ('x', 'y')", "7\n8\n"),
            ("copy s.t from stdin where b = E'it''s'", "8\tit's\n9\tno\n"),
            ("copy s.t (a) from stdin where f(a)", "1\n2\n"),
            ("copy s.t (a) from stdin where a > (select 1)", ""),
            ("copy s.t (a) from stdin where exists (select 1)", ""),
            ("copy s.t (a) from stdin where a = any (select 1)", ""),
            ("copy s.t (a) from stdin where a in (1, 2) and a not in (2)", "1\n2\n3\n"),
            ("copy s.t (a) from stdin where sum(a) over () > 1", ""),
            ("copy s.t (a) from stdin where grouping(a) = 1", ""),
            ("copy s.t (a) from stdin where count(*) filter (where true) > 1", ""),
            ("copy s.t (a) from stdin where a", ""),
            ("copy s.t (a) from stdin where u.a > 1", ""),
            ("copy s.t (a) from stdin where x.t.a > 1", ""),
            ("copy s.t (a) from stdin where a > $1", ""),
            ("copy s.t (nope) from stdin where nope = 1", ""),
            ("copy s.t (nope) from stdin where a = 1", ""),
            ("copy nothing from stdin where a = 1", ""),
            ("copy s.t to stdout where a = 1", ""),
            ("copy s.t (a) from stdin where null", "1\n"),
            ("copy s.t (a) from stdin where 'true'", "77\n"),
            ("copy s.t (a) from stdin where 1 / (a - 3) = 1", "4\n3\n5\n"),
            (
                "copy u from stdin where a > 1",
                "1\t1.5\t{1}\tab\t2020-01-01\n2\t2.5\t{2}\tcd\t2021-01-01\n",
            ),
            (
                "copy u from stdin where \"Odd\" = 3.50 and e = 'ab'",
                "3\t3.5\t{1}\tab\t2020-01-01\n",
            ),
            ("copy u from stdin where c[1] = 4 and at > now()", "4\t4\t{4}\tab\tinfinity\n"),
            (
                "copy u from stdin where e like 'a%'",
                "5\t4\t{4}\tab\t-infinity\n6\t\\N\t\\N\tb\t\\N\n",
            ),
            ("copy u from stdin where (u).a = 7 and u is not null", "7\t4\t{4}\tab\ttoday\n"),
            ("copy u from stdin where u = row(8, 4, '{4}', 'ab', null)::u", "8\t4\t{4}\tab\t\\N\n"),
            ("copy u from stdin where a is null", "-5\t4\t{4}\tab\t\\N\n"),
        ] {
            said.push(copy(wire, sql, data));
        }
        each(wire, said, &["select * from s.t order by a, b", "select * from u order by a"]);
    });
}

#[test]
fn a_condition_needs_rights_on_what_it_reads() {
    is_as_postgresql(|wire, said| {
        for sql in [
            "create table t (a int, b int default 2, c int default 3)",
            "create function f(x int) returns bool language sql as 'select x > 1'",
            "revoke execute on function f(int) from public",
            "create role some_writer",
            "grant insert on t to some_writer",
            "grant select (a) on t to some_writer",
            "set role some_writer",
        ] {
            wire.query(sql);
        }
        for sql in [
            "copy t (a) from stdin",
            "copy t (a) from stdin where a > 1",
            "copy t (a) from stdin where b > 1",
            "copy t (a) from stdin where t is null",
            "copy t (a) from stdin where true",
            "copy t (a) from stdin where f(a)",
        ] {
            said.push(copy(wire, sql, "1\n2\n"));
        }
        each(wire, said, &["reset role", "select * from t order by a"]);
    });
}

#[test]
fn triggers_and_defaults_come_as_in_postgresql() {
    is_as_postgresql(|wire, said| {
        for sql in [
            "create sequence s",
            "create table t (a int, n int default nextval('s'))",
            "create function g() returns trigger language plpgsql as \
             $$ begin raise notice 'row %', new; return new; end $$",
            "create table p (a int, n int default nextval('s')) partition by list (a)",
            "create table p1 partition of p for values in (1)",
            "create table p2 (n int default -1, a int)",
            "alter table p attach partition p2 for values in (2)",
        ] {
            wire.query(sql);
        }
        said.push(copy(wire, "copy t (a) from stdin where n > 2", "1\n2\n3\n4\n"));
        said.push(copy(wire, "copy p (a) from stdin where p.n > 5 and a < 3", "1\n2\n1\n9\n2\n"));
        wire.query("create trigger g before insert on t for each row execute function g()");
        said.push(copy(wire, "copy t (a) from stdin where a <> 6", "5\n6\n7\n"));
        said.push(copy(wire, "copy t (a) from stdin where 8 / a > 0", "2\n0\n1\n"));
        each(
            wire,
            said,
            &["select * from t order by n", "select tableoid::regclass, a, n from p order by n"],
        );
    });
}

#[test]
fn a_prepared_copy_has_no_parameters() {
    is_as_postgresql(|wire, said| {
        wire.query("create table t (a int)");
        for sql in ["copy t from stdin where a > $1", "copy t to stdout"] {
            let asked = [parse("", sql), bind("", ""), execute("", 0), framed(b'S', b"")];
            wire.raw(&asked.concat());
            said.push(format!("{sql}: {}", told(&wire.until(b'Z'))));
        }
    });
}

#[test]
fn many_rows_are_judged_in_time() {
    let running = crate::common::start(crate::common::config());
    let mut wire = running.session();
    wire.query("create table t (a int, b text)");
    let data: String = (0..50_000).map(|n| format!("{n}\tsome text {n}\n")).collect();
    let began = std::time::Instant::now();
    let said = copy(&mut wire, "copy t from stdin where a % 2 = 0 and b like '%4'", &data);
    assert!(said.ends_with("C COPY 5000\0, Z"), "{said}");
    let took = began.elapsed();
    assert!(took < std::time::Duration::from_secs(10), "{took:?}");
}
