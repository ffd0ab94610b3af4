//! Do texts of parameters and of COPY mean what they mean in PostgreSQL, whatever the session has set?
//!
//! Compared with a private PostgreSQL 15 (a Debian package): values, and SQLSTATE, message, detail, hint and context of errors.

#![allow(clippy::disallowed_methods, reason = "a client has the world's clocks and sockets")]

mod common;

use std::net::TcpStream;

use common::compared::{execute, is_as_postgresql, parse, told};
use common::{Answer, Wire, framed};

/// Types, each with texts.
const TEXTS: &[(&str, &[&str])] = &[
    ("bool", &["t", "true", "f", "FALSE", " yes ", "on", "of", "0", "1", "x", "", "tru"]),
    (
        "int2",
        &[
            "1",
            "-1",
            " 7 ",
            "+7",
            "32767",
            "32768",
            "-32769",
            "1.5",
            "x",
            "",
            "0x10",
            "99999999999999999999",
        ],
    ),
    (
        "int4",
        &["1", "007", "2147483647", "2147483648", "-2147483649", "1e3", "1 2", "--1", "\u{a0}1"],
    ),
    (
        "int8",
        &[
            "9223372036854775807",
            "9223372036854775808",
            "-9223372036854775808",
            "12345678901234567890",
            "x",
        ],
    ),
    ("oid", &["1", "4294967295", "4294967296", "-1", "-2147483649", "x", " 5 "]),
    (
        "float4",
        &[
            "1",
            "1.5",
            "-0",
            "1e38",
            "1e39",
            "1e-50",
            "nan",
            "inf",
            "-Infinity",
            "x",
            "",
            " 1.5 ",
            "0.1",
            "16777217",
        ],
    ),
    (
        "float8",
        &[
            "1",
            "0.1",
            "1e308",
            "1e309",
            "-1e-400",
            "NaN",
            "infinity",
            "0x10",
            "1e",
            ".5",
            "5.",
            "x",
            "123456789012345678901234567890",
        ],
    ),
    (
        "numeric",
        &[
            "1",
            "1.50",
            "-0.0",
            "1e5",
            "1e-5",
            "NaN",
            "Infinity",
            "x",
            "",
            " 12 ",
            "1.2.3",
            "123456789012345678901234567890123456789012345",
            ".5",
            "5.",
        ],
    ),
    (
        "date",
        &[
            "2024-01-01",
            "2024-02-30",
            "2024-13-01",
            "2024-01-01 12:00",
            "2024-01-01T10:00:00Z",
            "January 8, 1999",
            "01/02/2024",
            "13/02/2024",
            "240108",
            "20240108",
            "99-1-8",
            "infinity",
            "-infinity",
            "epoch",
            "x",
            "",
            "0000-01-01",
            "5874898-01-01",
            "2024-01-01 BC",
            "J2451187",
            "today",
        ],
    ),
    (
        "time",
        &[
            "10:11:12",
            "10:11",
            "040506",
            "04:05:06.789",
            "allballs",
            "10:00+02",
            "2024-01-01 10:00",
            "24:00:00",
            "25:00:00",
            "10:60:00",
            "10:00:60",
            "04:05 PM",
            "x",
            "",
            "10:11:12.1234567",
        ],
    ),
    ("timetz", &["10:11:12", "10:11:12+02", "10:11 PST", "x", "25:00"]),
    (
        "timestamp",
        &[
            "2024-01-01 10:11:12",
            "2024-01-01T10:11:12",
            "2024-01-01",
            "2024-01-01 10:11:12.1234567",
            "2024-01-01 12:00 Europe/Berlin",
            "2024-01-01 12:00 CET",
            "01/02/2024 10:00",
            "Jan 8 1999 4:05 PM",
            "20240108T101112",
            "2024-01-01 24:00:00",
            "2024-01-01 10:11:60",
            "infinity",
            "x",
            "",
            "2024-02-30 10:00:00",
            "294277-01-01 00:00:00",
            "2024-01-01 10:11:12+05",
            "2024-01-01 10:11:12 BC",
            "2024-01-01 25:00:00",
        ],
    ),
    (
        "timestamptz",
        &[
            "2024-01-01 10:11:12",
            "2024-07-01T10:11:12Z",
            "2024-07-01 10:11:12+05:30",
            "2024-07-01 10:11:12-08",
            "2024-07-01 10:11:12+00:00",
            "2024-07-01 10:11:12 zulu",
            "2024-07-01 10:11:12 America/New_York",
            "2024-07-01",
            "2024-07-01 10:11:12.5+16",
            "2024-07-01 10:11:12+15:59",
            "2024-07-01 10:11:12 Nowhere/No",
            "x",
            "tomorrow x",
        ],
    ),
    ("interval", &["1 day", "1:02:03", "P1D", "x", ""]),
    (
        "uuid",
        &[
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
            "A0EEBC999C0B4EF8BB6D6BB9BD380A11",
            "{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}",
            " a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1g",
            "x",
            "",
        ],
    ),
    (
        "bytea",
        &[
            "\\x01ff", "\\x", "\\x1", "\\x0g", "\\x01 ff", "abc", "a\\\\b", "a\\001", "a\\9",
            "\\x 0 1",
        ],
    ),
    ("json", &["1", "{\"a\": 1}", "nul", "{\"a\": ", "", "[1, 2", "{\"a\": 1} x", "\"\\u00zz\""]),
    ("jsonb", &["1", "{\"b\": 1, \"a\": 2}", "nul", "{\"a\": ", ""]),
    ("text", &["", "a\u{e4}", " x "]),
    ("varchar(3)", &["abc", "ab   ", "abcd", "\u{e4}\u{e4}\u{e4}"]),
    ("char(3)", &["abc", "ab   ", "abcd", "a"]),
    ("name", &["x", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    ("\"char\"", &["x", "xy", ""]),
    ("numeric(3,1)", &["12.3", "12.34", "12.35", "99.95", "100", "x", "NaN", "Infinity", "-99.94"]),
    ("int4[]", &["{1,2}", "{1,x}", "{1", "{2147483648}"]),
    ("regclass", &["pg_class", "nope"]),
];

/// With the context of errors.
fn all(answers: &[Answer]) -> String {
    let context = answers.iter().find(|answer| answer.kind == b'E').map(|e| e.field(b'W'));
    format!("{} {:?}", told(answers), context)
}

/// Without it, and whether Bind or Execute fails.
fn late(answers: &[Answer]) -> String {
    told(answers).trim_start_matches("2, ").to_string()
}

/// Bind of the unnamed statement with a text.
fn bind_text(text: &str) -> Vec<u8> {
    let mut body = b"\0\0\0\0\0\x01".to_vec();
    body.extend((text.len() as u32).to_be_bytes());
    body.extend(text.as_bytes());
    body.extend(b"\0\0");
    framed(b'B', &body)
}

/// What all texts are with some settings, by statements that are made of a type.
fn bound(wire: &mut Wire<TcpStream>, said: &mut Vec<String>, settings: &[&str]) {
    for set in settings {
        wire.query(set);
    }
    for (ty, texts) in TEXTS {
        let base = ty.split('(').next().unwrap_or(ty);
        wire.raw(&[parse("", &format!("select $1::{base}")), framed(b'S', b"")].concat());
        wire.until(b'Z');
        // What the engine does not have is read when it is used: without the context.
        let is_read_late = ["timetz", "interval", "int4[]"].contains(ty);
        for text in *texts {
            wire.raw(&[bind_text(text), execute("", 0), framed(b'S', b"")].concat());
            let answer = wire.until(b'Z');
            let answer = if is_read_late { late(&answer) } else { all(&answer) };
            said.push(format!("{settings:?} {ty} {text:?}: {answer}"));
        }
    }
}

fn copied(wire: &mut Wire<TcpStream>, said: &mut Vec<String>, settings: &[&str]) {
    for set in settings {
        wire.query(set);
    }
    for (ty, texts) in TEXTS {
        wire.query(&format!("create table c (v {ty})"));
        // Columns of numeric keep 38 digits.
        for text in texts.iter().filter(|text| text.len() < 45 || *ty != "numeric") {
            wire.raw(&framed(b'Q', b"copy c from stdin\0"));
            let line = format!("{}\n", text.replace('\\', "\\\\"));
            wire.raw(&[framed(b'd', line.as_bytes()), framed(b'c', b"")].concat());
            said.push(format!("copy {settings:?} {ty} {text:?}: {}", all(&wire.until(b'Z'))));
        }
        said.push(format!("{settings:?} {ty}: {}", told(&wire.query("select v from c"))));
        wire.query("drop table c");
    }
}

const BERLIN: &[&str] = &["set timezone = 'Europe/Berlin'", "set datestyle = 'SQL, DMY'"];

#[test]
fn texts_of_parameters_mean_what_they_mean_in_postgresql() {
    is_as_postgresql(|wire, said| {
        bound(wire, said, &["set timezone = 'UTC'"]);
        bound(wire, said, BERLIN);
    });
}

#[test]
fn texts_of_copy_mean_what_they_mean_in_postgresql() {
    is_as_postgresql(|wire, said| {
        copied(wire, said, &["set timezone = 'UTC'"]);
        copied(wire, said, BERLIN);
    });
}

#[test]
fn texts_of_defaults_and_execute_mean_what_the_session_means() {
    is_as_postgresql(|wire, said| {
        for sql in [
            "set timezone = 'Europe/Berlin'",
            "set datestyle = 'German, DMY'",
            "create table d (id int, a date default '01.02.2024', b timestamptz default '2024-07-01 10:00', c time default 'allballs', \
             d uuid default 'A0EEBC999C0B4EF8BB6D6BB9BD380A11', e int2 default ' 7 ', f timestamp default '1.2.2024 10:00')",
            "insert into d values (1)",
            "select * from d",
            "create table e (a int default 'x')",
            "create table e (a date default '30.02.2024')",
            "create table e (a varchar(2) default 'abc', b int)",
            "insert into e (b) values (1)",
            "insert into e values ('x', 1)",
            "prepare p (date, timestamptz, time, bytea, float8, numeric(4,1)) as select $1, $2, $3, $4, $5, $6",
            "execute p ('01.02.2024', '1.2.2024 10:00', 'allballs', '\\x01', '0.1', 1.25)",
            "execute p (date '2024-02-01' + 1, now() - now() + timestamptz '2024-07-01 10:00', '10:00+02', 'a\\001', 1e300, 1e30)",
        ] {
            said.push(format!("{sql}: {}", all(&wire.query(sql))));
        }
    });
}
