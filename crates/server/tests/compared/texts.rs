//! What clients send as texts: literals, and values of parameters.

use crate::common::compared::{ask, describe, each, execute, is_as_postgresql, parse};
use crate::common::framed;

#[test]
fn literals_end_where_postgresql_ends_them() {
    is_as_postgresql(|wire, said| {
        each(wire, said, &["set standard_conforming_strings = off"]);
        for sql in [
            r"select '\'' as a, ' or 1=1 --'",
            r"select 'x\' -- ' as a, 'y'",
            r"select n'a\'b', N'\\', 'c'",
            r"select E'\'' 'x'",
            "select 'a' -- it's\n'\\'b'",
            "select 'a' /* it's */ '\\'b'",
            "select 'a'\r'\\'b'",
            r"select u&'x'",
            r#"select 1 as u&"\0041""#,
            r#"select 1 as u&"!0041" uescape '!'"#,
            r#"select 1 as u&"\\" uescape '\\'"#,
            r"select é'\''",
            r"select '\",
            r"select '\'",
            r"select 'a\'; select 2",
            r"select 1; select '\'; select 2'",
            r"select 'a\u0041\x42\103\b'",
            r"select '\ud83d\ude00', '\ud83d'",
            r"select '\0'",
            r"select '\xff'",
            r"select nope, '\''",
            r"select '\'' nope nope",
            r"declare c cursor with hold for select '\'' || '--'",
            r"fetch c",
            r"prepare s as select '\'--' as a",
            r"execute s",
            r"create view v as select '\'--'::text as a",
            r"select a, pg_get_viewdef('v') from v",
            r"create table t (a text default '\'--' check (a <> '\''))",
            r"insert into t values (default), ('\\'), ('\'\'')",
            r"select * from t order by a",
            r"do 'begin raise notice ''%'', E''\\''''; end'",
            r"set escape_string_warning = off",
            r"select '\'', '\\'",
            r"select $a'\'$a$, 1",
            "select 'a'\u{b}\n'\\'b'",
            r"set standard_conforming_strings = on",
            r"select '\', ' or 1=1 --'",
            r"execute s",
            r"select * from t, v order by 1",
        ] {
            each(wire, said, &[sql]);
            said.push(format!("prepared {sql}: {}", ask(wire, &[parse("", sql)])));
        }
    });
}

/// Binds the only parameter of a statement to a value, in a form.
fn bound(form: u8, value: &[u8]) -> Vec<u8> {
    let length = (value.len() as u32).to_be_bytes();
    framed(b'B', &[b"\0\0\0\x01\0", &[form][..], b"\0\x01", &length, value, b"\0\0"].concat())
}

#[test]
fn a_zero_byte_is_refused_in_every_text() {
    is_as_postgresql(|wire, said| {
        for sql in [
            "create domain dt as text",
            "create domain dd as dt check (value <> 'no')",
            "create type e as enum ('a', 'b')",
            "create type pair as (a int, b text)",
        ] {
            wire.query(sql);
        }
        let element = |oid: u32, value: &[u8]| {
            let one = (value.len() as u32).to_be_bytes();
            let numbers = [1u32, 0, oid, 1, 1].map(u32::to_be_bytes).concat();
            [&numbers[..], &one, value].concat()
        };
        let jsonb = b"\x01\"a\0\"";
        let values: Vec<(&str, Vec<u8>)> = vec![
            ("text", b"a\0b".to_vec()),
            ("varchar", b"\0".to_vec()),
            ("varchar(2)", b"a\0".to_vec()),
            ("char(3)", b"a\0".to_vec()),
            ("name", b"a\0b".to_vec()),
            ("dt", b"a\0b".to_vec()),
            ("dd", b"a\0b".to_vec()),
            ("dd", b"ab".to_vec()),
            ("e", b"a\0".to_vec()),
            ("json", b"\"a\0\"".to_vec()),
            ("jsonb", jsonb.to_vec()),
            ("text[]", element(25, b"a\0b")),
            ("varchar[]", element(1043, b"a\0b")),
            ("name[]", element(19, b"a\0b")),
            ("text", b"a\xffb".to_vec()),
            ("text", b"a\xe4\xb8".to_vec()),
            ("text[]", element(25, b"\xc3(")),
        ];
        for (ty, value) in values {
            for form in [1, 0] {
                let sql = format!("select $1::{ty} is null");
                let asked = [parse("", &sql), bound(form, &value), execute("", 0)];
                said.push(format!("{ty} {value:?} {form}: {}", ask(wire, &asked)));
            }
        }
    });
}

#[test]
fn statements_that_make_tables_take_values_and_definitions_take_none() {
    is_as_postgresql(|wire, said| {
        each(
            wire,
            said,
            &["create table n (id int)", "insert into n select generate_series(1, 9)"],
        );
        for (sql, value) in [
            ("create table a as select $1::int as z", "5"),
            ("create table b as select id from n where id < $1", "4"),
            ("create table c as select $1 as z", "word"),
            ("select id, $1 as w into d from n where id = 2", "two"),
            ("select id into unlogged e from n where id > $1", "7"),
            ("create table f as select id from n where id < $1", "none"),
            ("create table g as select id from n where id < $1 with no data", "3"),
        ] {
            let messages = [parse("", sql), describe("S", ""), bound(0, value.as_bytes())];
            said.push(format!(
                "{sql}: {}",
                ask(wire, &[&messages[..], &[execute("", 0)]].concat())
            ));
        }
        for table in ["a", "b", "c", "d", "e", "g"] {
            each(wire, said, &[&format!("select * from {table}")]);
        }
        for sql in [
            "create table h (x int default $1)",
            "create table h (x int check (x > $1))",
            "alter table n alter id set default $1",
            "create domain dm as int default $1",
            "create view v as select $1 as x",
            "create index i on n ((id + $1))",
            "create policy p on n using (id > $1)",
        ] {
            let messages = [parse("", sql), bound(0, b"1"), execute("", 0)];
            said.push(format!("{sql}: {}", ask(wire, &messages)));
        }
        each(wire, said, &["create table h as select $1::int as z", "select $1::int as z into h"]);
        each(wire, said, &["select count(*) from pg_class where relname in ('h', 'i', 'v')"]);
    });
}
