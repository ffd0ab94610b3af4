//! What is said of transactions that are not there, and of values that are cut off.

use std::net::TcpStream;

use crate::common::compared::{ask, describe, execute, is_as_postgresql, parse};
use crate::common::{Answer, Wire, framed};

/// Kinds of answers; errors and notices with severity, SQLSTATE and words.
fn told(answers: &[Answer]) -> String {
    let one = |answer: &Answer| match answer.kind {
        b'E' | b'N' => {
            [b'S', b'V', b'C', b'M', b'D', b'H'].map(|field| answer.field(field)).join(" ")
        }
        b'C' => format!("C {}", String::from_utf8_lossy(&answer.body)),
        kind => char::from(kind).to_string(),
    };
    answers.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn each(wire: &mut Wire<TcpStream>, said: &mut Vec<String>, queries: &[&str]) {
    for sql in queries {
        said.push(format!("{sql}: {}", told(&wire.query(sql))));
        wire.raw(&[parse("", sql), framed(b'B', &[0; 8]), execute("", 0)].concat());
        wire.send(b'S', b"");
        said.push(format!("prepared {sql}: {}", told(&wire.until(b'Z'))));
    }
}

#[test]
fn statements_outside_of_transactions_warn() {
    is_as_postgresql(|wire, said| {
        let outside = [
            "commit",
            "rollback",
            "end",
            "abort",
            "commit and no chain",
            "set local work_mem = '8MB'",
            "set local work_mem to default",
            "set local role none",
            "set local session authorization default",
            "set local time zone 'UTC'",
            "set local nope.nope = 'a'",
            "set transaction read only",
            "set transaction isolation level serializable",
            "set transaction snapshot '00000003-0000001B-1'",
            "set session characteristics as transaction read write",
            "set constraints all deferred",
            "set transaction_isolation = 'serializable'",
            "savepoint a",
            "release a",
            "rollback to a",
            "commit and chain",
            "rollback and chain",
            "lock table pg_class",
            "show transaction_read_only",
            "do $$ begin set local work_mem = '8MB'; end $$",
        ];
        each(wire, said, &outside);
        each(wire, said, &["begin", "begin", "start transaction"]);
        each(wire, said, &outside[5..10]);
        each(wire, said, &["set transaction read only", "set constraints all deferred", "commit"]);
        each(
            wire,
            said,
            &["begin", "select 1 / 0", "begin", "set local work_mem = '8MB'", "commit"],
        );
        for sql in [
            "set local work_mem = '8MB'; show work_mem",
            "select 1; set local work_mem = '8MB'",
            "select 1; commit; commit",
            "select 1; begin; begin; commit; commit",
            "set client_min_messages = error; commit",
            "commit; set client_min_messages = notice",
        ] {
            said.push(format!("{sql}: {}", told(&wire.query(sql))));
        }
    });
}

/// Prepares a statement with a parameter of a type, and binds it to a value in binary form.
fn bound(ty: u32, value: &[u8]) -> [Vec<u8>; 4] {
    let statement = [&b"\0select $1 is null\0\0\x01"[..], &ty.to_be_bytes()].concat();
    let length = (value.len() as u32).to_be_bytes();
    let values = [&b"\0\0\0\x01\0\x01\0\x01"[..], &length, value, b"\0\0"].concat();
    [framed(b'P', &statement), framed(b'B', &values), describe("P", ""), execute("", 0)]
}

#[test]
fn values_that_are_cut_off_or_too_long_are_refused() {
    is_as_postgresql(|wire, said| {
        // bool, int2, int4, int8, oid, float4, float8, date, time, timestamp, timestamptz, uuid, regclass.
        for ty in [16, 21, 23, 20, 26, 700, 701, 1082, 1083, 1114, 1184, 2950, 2205] {
            for length in [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17] {
                let value = vec![0; length];
                said.push(format!("{ty} {length}: {}", ask(wire, &bound(ty, &value))));
            }
        }
        for value in [&b""[..], b"\x01{}", b"\x02{}", b"{}"] {
            said.push(format!("jsonb {value:?}: {}", ask(wire, &bound(3802, value))));
        }
        for days in [i32::MAX - 1, i32::MIN + 1, i32::MAX, 0] {
            said.push(format!("date {days}: {}", ask(wire, &bound(1082, &days.to_be_bytes()))));
        }
        for us in [i64::MAX - 1, i64::MIN + 1, i64::MIN, 0] {
            said.push(format!("time {us}: {}", ask(wire, &bound(1114, &us.to_be_bytes()))));
        }
    });
}
