//! Values of parameters in binary form: what is taken, and what is said of what goes on behind a value or ends within it.

use super::common::compared::{ask, is_as_postgresql};
use super::common::framed;

/// Bytes behind a value.
const BEHIND: [&[u8]; 3] = [b"", b"\0", b"abcde"];

/// Types whose values all have the same number of bytes.
const FIXED: [(&str, usize); 24] = [
    ("int2", 2),
    ("int4", 4),
    ("int8", 8),
    ("float4", 4),
    ("float8", 8),
    ("date", 4),
    ("time", 8),
    ("timetz", 12),
    ("timestamp", 8),
    ("timestamptz", 8),
    ("interval", 16),
    ("uuid", 16),
    ("money", 8),
    ("macaddr", 6),
    ("macaddr8", 8),
    ("pg_lsn", 8),
    ("bool", 1),
    ("\"char\"", 1),
    ("point", 16),
    ("lseg", 32),
    ("box", 32),
    ("circle", 24),
    ("oid", 4),
    ("xid8", 8),
];

fn int(n: i32) -> Vec<u8> {
    n.to_be_bytes().to_vec()
}

/// A value with its length before it.
fn counted(value: &[u8]) -> Vec<u8> {
    [&int(value.len() as i32)[..], value].concat()
}

/// Parse, Bind and Execute of a statement with one value, in text or binary form.
fn run(sql: &str, format: u16, value: &[u8]) -> Vec<Vec<u8>> {
    let parse = framed(b'P', &[b"\0", sql.as_bytes(), b"\0\0\0"].concat());
    let head = [&b"\0\0\0\x01"[..], &format.to_be_bytes(), b"\0\x01"].concat();
    let bind = framed(b'B', &[&head[..], &counted(value), b"\0\0"].concat());
    vec![parse, bind, framed(b'E', b"\0\0\0\0\0")]
}

fn array(element: i32, items: &[&[u8]]) -> Vec<u8> {
    let head = [1, 0, element, items.len() as i32, 1].map(int).concat();
    [head, items.iter().flat_map(|item| counted(item)).collect()].concat()
}

fn record(fields: &[(i32, &[u8])]) -> Vec<u8> {
    let field = |(ty, value): &(i32, &[u8])| [int(*ty), counted(value)].concat();
    [int(fields.len() as i32), fields.iter().flat_map(field).collect()].concat()
}

#[test]
fn what_goes_on_behind_a_value_is_refused() {
    is_as_postgresql(|wire, said| {
        let mut both = |ty: &str, value: Vec<u8>| {
            let answer = ask(wire, &run(&format!("select $1::{ty}"), 1, &value));
            said.push(format!("{ty} {value:?}: {answer}"));
        };
        for behind in BEHIND {
            let with = |value: &[u8]| [value, behind].concat();
            for (ty, bytes) in FIXED {
                both(ty, with(&vec![0; bytes]));
                both(ty, vec![0; bytes - 1]);
            }
            both("int4[]", with(&[0, 0, 23].map(int).concat()));
            both("int4[]", with(&array(23, &[&int(1), &int(2)])));
            both("int4[]", array(23, &[&int(1), &with(&int(2))]));
            both("text[]", with(&array(25, &[b"a", b"bc"])));
            both(
                "int2vector",
                with(&[[1, 0, 21, 1, 0].map(int).concat(), counted(b"\0\x01")].concat()),
            );
            both("inet", with(b"\x02\x20\0\x04\x0a\0\0\x01"));
            both("cidr", with(b"\x02\x20\x01\x04\x0a\0\0\x01"));
            both("int4range", with(&[&b"\x02"[..], &counted(&int(1)), &counted(&int(5))].concat()));
            both("numeric", with(&[0, 1, 0, 0, 0, 0, 0, 0, 0, 7]));
            both("numeric", with(&[0, 0, 0, 0, 0xc0, 0, 0, 0]));
            both("numeric", with(&[0, 0, 0, 0, 8, 0, 0, 0]));
            both("bit(3)", with(&[&int(3)[..], b"\xa0"].concat()));
        }
        both("int4[]", array(23, &[b"abc"]));
        both("numeric", vec![0, 2, 0, 0, 0, 0, 0, 0, 0, 7]);
        both("timestamp", i64::MAX.wrapping_sub(1).to_be_bytes().to_vec());
        // In the year 294270, behind what columns hold.
        both("timestamp", 9_223_176_345_600_000_000_i64.to_be_bytes().to_vec());
        for text in ["294270-01-01 00:00", "294277-01-01 00:00"] {
            let answer =
                ask(wire, &run("select $1::timestamp, extract(year from $1)", 0, text.as_bytes()));
            said.push(format!("{text}: {answer}"));
        }
    });
}

#[test]
fn objects_are_known_by_their_numbers() {
    is_as_postgresql(|wire, said| {
        for (ty, number) in [
            ("regproc", 1299),
            ("regprocedure", 870),
            ("regclass", 1259),
            ("regtype", 23),
            ("regnamespace", 11),
            ("regrole", 10),
        ] {
            for value in [int(number), int(999_999), int(0), b"abc".to_vec(), b"abcde".to_vec()] {
                let answer = ask(wire, &run(&format!("select $1::{ty}"), 1, &value));
                said.push(format!("{ty} {value:?}: {answer}"));
            }
        }
    });
}

#[test]
fn rows_of_tables_are_records() {
    is_as_postgresql(|wire, said| {
        wire.query("create table rt (a int, b text)");
        wire.query("create type made as (a int, b text)");
        wire.query("create table kept (r made)");
        let whole = record(&[(23, &int(5)), (25, b"x y")]);
        for ty in ["rt", "made"] {
            for value in [
                whole.clone(),
                [&whole[..], b"z"].concat(),
                record(&[(23, b"\0\0\0\x05z"), (25, b"x")]),
                record(&[(23, b"\0"), (25, b"x")]),
                record(&[(23, &int(5))]),
                record(&[(20, &int(5)), (25, b"x")]),
            ] {
                let answer = ask(wire, &run(&format!("select ($1::{ty}).*"), 1, &value));
                said.push(format!("{ty} {value:?}: {answer}"));
            }
        }
        said.push(ask(wire, &run("insert into kept values ($1) returning r, (r).b", 1, &whole)));
    });
}

#[test]
fn statements_are_judged_before_their_names() {
    is_as_postgresql(|wire, said| {
        let named = |sql: &str| framed(b'P', &[b"s\0", sql.as_bytes(), b"\0\0\0"].concat());
        for sql in ["select 1", "select nope", "selec", "select 2"] {
            said.push(format!("{sql}: {}", ask(wire, &[named(sql)])));
        }
        let empty = framed(b'P', b"e\0\0\0\x01\0\0\0\x17");
        said.push(ask(wire, &[empty, framed(b'B', b"\0e\0\0\0\0\0\0\0")]));
    });
}
