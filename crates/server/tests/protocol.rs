//! Does a connection begin, answer and end as the protocol has it?

#![allow(clippy::disallowed_methods, reason = "a client has the world's clocks and sockets")]

mod common;

use std::io::Write as _;
use std::time::Duration;

use common::compared::{bind, describe, execute, is_as_postgresql, parse, shown};
use common::{Answer, Wire, config, framed, kinds, start};
use onlap_base::rng::Rng;
use onlap_server::Config;

#[test]
fn a_session_begins_answers_and_ends() {
    let running = start(config());
    let mut wire = running.connect();
    wire.startup(&[("user", "postgres"), ("application_name", "test")]);
    let begun = wire.until(b'Z');
    assert_eq!(begun[0].body, [0, 0, 0, 0], "trusted");
    let kinds = kinds(&begun);
    assert!(kinds.starts_with("RS") && kinds.ends_with("KZ"), "{kinds}");
    let answer = wire.query("select 1");
    assert_eq!(common::kinds(&answer), "TDCZ");
    assert_eq!(running.server.counts().sessions, 1);
    wire.send(b'X', b"");
    assert!(wire.is_ended());
    running.server.stop().expect("a clean end");
}

#[test]
fn encryption_is_refused_where_there_is_no_certificate() {
    let running = start(config());
    let mut wire = running.connect();
    for code in [80_877_104u32, 80_877_103] {
        wire.raw(&8u32.to_be_bytes());
        wire.raw(&code.to_be_bytes());
        let mut answer = [0];
        std::io::Read::read_exact(&mut wire.socket, &mut answer).expect("an answer");
        assert_eq!(&answer, b"N");
    }
    wire.first(3 << 16 | 9, &[("user", "postgres"), ("_pq_.x", "1")]);
    let begun = wire.until(b'Z');
    assert_eq!(begun[0].kind, b'v', "a newer version is negotiated down");
    assert_eq!(begun[0].body, b"\0\x03\0\x02\0\0\0\x01_pq_.x\0");
}

#[test]
fn what_cannot_be_a_session_is_told_why() {
    let running = start(config());
    let mut wire = running.connect();
    wire.startup(&[("database", "x")]);
    wire.expect_error("FATAL", "28000");
    let mut wire = running.connect();
    wire.first(2 << 16, &[]);
    wire.expect_error("FATAL", "0A000");
    let mut wire = running.connect();
    wire.raw(&[0xff; 8]);
    wire.expect_error("FATAL", "08P01");
    let mut wire = running.connect();
    wire.startup(&[("user", "postgres"), ("replication", "true")]);
    wire.expect_error("FATAL", "0A000");
    assert!(running.server.counts().refused >= 4);
}

#[test]
fn messages_may_come_in_any_pieces_and_all_at_once() {
    let running = start(config());
    let mut wire = running.session();
    for byte in framed(b'Q', b"select 1\0") {
        wire.raw(&[byte]);
        wire.socket.flush().expect("sent");
    }
    assert_eq!(kinds(&wire.until(b'Z')), "TDCZ");
    let many: Vec<u8> = (0..100).flat_map(|_| framed(b'Q', b"select 1\0")).collect();
    wire.raw(&many);
    for _ in 0..100 {
        assert_eq!(kinds(&wire.until(b'Z')), "TDCZ");
    }
}

#[test]
fn after_an_error_messages_are_skipped_up_to_sync() {
    let running = start(config());
    let mut wire = running.session();
    let portal = b"none\0none\0\0\0\0\0\0\0";
    let all = [
        framed(b'B', portal),
        framed(b'E', b"none\0\0\0\0\0"),
        framed(b'H', b""),
        framed(b'C', b"Snone\0"),
        framed(b'S', b""),
    ];
    wire.raw(&all.concat());
    assert_eq!(kinds(&wire.until(b'Z')), "EZ");
    // Flush sends what was collected, without Sync.
    wire.raw(&[framed(b'C', b"Snone\0"), framed(b'H', b"")].concat());
    assert_eq!(wire.next().map(|a| a.kind), Some(b'3'));
    wire.send(b'S', b"");
    assert_eq!(kinds(&wire.until(b'Z')), "Z");
    wire.send(b'F', b"\0\0\0\x01");
    let refused = wire.until(b'Z');
    assert_eq!((kinds(&refused).as_str(), refused[0].field(b'C').as_str()), ("EZ", "0A000"));
    wire.send(b'Q', b"\xff\0");
    let refused = wire.until(b'Z');
    assert_eq!((kinds(&refused).as_str(), refused[0].field(b'C').as_str()), ("EZ", "22021"));
    // Data of a COPY that nobody asked for is what a client sends that has not seen an error yet.
    wire.raw(&[framed(b'd', b"1\n"), framed(b'c', b"")].concat());
    assert_eq!(kinds(&wire.query("select 1")), "TDCZ");
}

/// Parse, Bind, Describe and Execute of the unnamed statement.
fn extended(sql: &str) -> Vec<u8> {
    let parse = [b"\0", sql.as_bytes(), b"\0\0\0"].concat();
    let all = [
        framed(b'P', &parse),
        framed(b'B', b"\0\0\0\0\0\0\0\0"),
        framed(b'D', b"P\0"),
        framed(b'E', b"\0\0\0\0\0"),
    ];
    all.concat()
}

#[test]
fn a_text_of_simple_queries_is_described_when_it_is_prepared() {
    let running = start(config());
    let mut wire = running.session();
    // What comes for the second time is kept.
    for sql in ["select 1", "values (null), (0)"] {
        for _ in 0..3 {
            wire.query(sql);
        }
        wire.raw(&extended(sql));
        wire.send(b'S', b"");
        let answer = kinds(&wire.until(b'Z')).replace("DD", "D");
        assert_eq!(answer, "12TDCZ", "{sql}");
        assert!(kinds(&wire.query(sql)).starts_with("TD"), "{sql}");
    }
}

/// The first value of the first row that is a text.
fn first_value(answers: &[Answer]) -> Vec<u8> {
    let row = answers.iter().find(|answer| answer.kind == b'D').expect("a row");
    row.body[6..].to_vec()
}

#[test]
fn texts_travel_in_the_clients_encoding() {
    let running = start(config());
    let mut wire = running.connect();
    wire.startup(&[("user", "postgres"), ("client_encoding", "latin1")]);
    wire.until(b'Z');
    assert_eq!(first_value(&wire.query("show client_encoding")), b"LATIN1");
    // Where it is a Rust string it is sent as UTF-8; these bytes are LATIN1.
    let mut query = |bytes: &[u8]| {
        wire.send(b'Q', &[bytes, b"\0"].concat());
        wire.until(b'Z')
    };
    query(b"create table \"t\xe9\" (\"\xe9\" text)");
    query(b"insert into \"t\xe9\" values ('\xe9\xa4')");
    let answer = query(b"select * from \"t\xe9\"");
    assert_eq!(first_value(&answer), b"\xe9\xa4");
    assert_eq!(answer[0].body[2..4], *b"\xe9\0");
    let answer = query(b"select length(\"\xe9\"), octet_length(\"\xe9\") from \"t\xe9\"");
    assert_eq!(answer[1].body[6..], *b"2\0\0\0\x014");
    let refused = query(b"select chr(8364)");
    assert_eq!(kinds(&refused), "TEZ");
    let text = String::from_utf8_lossy(&refused[1].body).into_owned();
    assert!(text.contains("22P05") && text.contains("0xe2 0x82 0xac"), "{text}");
    let told = query(b"select 1 from \"\xe9\xe9\"");
    assert!(told[0].body.windows(2).any(|two| two == b"\xe9\xe9"), "{:?}", told[0].body);
    query(b"set client_encoding to win1252");
    assert_eq!(first_value(&query(b"select chr(8364)")), b"\x80");
    assert_eq!(first_value(&query(b"select octet_length('\x80')")), b"3");
    query(b"reset client_encoding");
    assert_eq!(first_value(&query("select 'é'".as_bytes())), "é".as_bytes());
}

/// The relation and the number of each column that a query's answer describes.
fn origins(wire: &mut Wire<std::net::TcpStream>, sql: &str) -> Vec<(u32, i16)> {
    let answer = wire.query(sql);
    assert_eq!(answer[0].kind, b'T', "{sql}");
    let (mut rest, mut found) = (&answer[0].body[2..], Vec::new());
    while let Some(end) = rest.iter().position(|byte| *byte == 0) {
        let oid = rest[end + 1..end + 5].try_into().expect("four bytes");
        let number = rest[end + 5..end + 7].try_into().expect("two bytes");
        found.push((u32::from_be_bytes(oid), i16::from_be_bytes(number)));
        rest = &rest[end + 19..];
    }
    found
}

#[test]
fn columns_say_which_relation_they_are_of() {
    let running = start(config());
    let mut wire = running.session();
    wire.query("create table t1 (f1 int, gone int, f2 int); create table t2 (f1 int, f3 int)");
    wire.query("alter table t1 drop column gone; create view v as select f2 as x, 1 as y from t1");
    let mut oid = |name: &str| {
        let answer = wire.query(&format!("select '{name}'::regclass::oid"));
        let text = String::from_utf8_lossy(&answer[1].body[6..]).into_owned();
        text.parse::<u32>().expect("an OID")
    };
    let (t1, t2, v) = (oid("t1"), oid("t2"), oid("v"));
    let class = 1259;
    for (sql, expected) in [
        ("select f2, f3, f2 + 1 from t1, t2", vec![(t1, 3), (t2, 2), (0, 0)]),
        ("select * from t1 join t2 on true order by f3", vec![(t1, 1), (t1, 3), (t2, 1), (t2, 2)]),
        ("select a, b from (select f2 as a, f3 as b from t1, t2) q", vec![(t1, 3), (t2, 2)]),
        (
            "with q as (select f2, count(*) from t1 group by f2) select * from q",
            vec![(t1, 3), (0, 0)],
        ),
        ("select x, y from v", vec![(v, 1), (v, 2)]),
        ("select f1 from t1 union all select f1 from t2", vec![(0, 0)]),
        ("insert into t1 values (1, 2) returning f2, f1 * 2", vec![(t1, 3), (0, 0)]),
        ("select relname from pg_class, t1", vec![(class, 2)]),
        ("select f1 from t1 join t2 using (f1)", vec![(t1, 1)]),
        ("select f1 from t1 full join t2 using (f1)", vec![(0, 0)]),
        ("select distinct f1 from t1", vec![(t1, 1)]),
    ] {
        assert_eq!(origins(&mut wire, sql), expected, "{sql}");
    }
}

#[test]
fn errors_go_out_at_once_and_results_on_flush() {
    let running = start(config());
    let mut wire = running.session();
    wire.raw(&[extended("select 7"), framed(b'H', b"")].concat());
    assert_eq!(kinds(&wire.until(b'C')), "12TDC", "without Sync");
    // A mistake at each step: in the text, at run time, and behind results that were not asked for yet.
    for (sql, state) in
        [("select 1 1", "42601"), ("select nothing", "42703"), ("select 1/0", "22012")]
    {
        wire.raw(&[extended("select 7"), extended(sql)].concat());
        let answers = wire.until(b'E');
        assert!(kinds(&answers).starts_with("12TDC"), "{sql}: {}", kinds(&answers));
        assert_eq!(answers.last().map(|a| a.field(b'C')).as_deref(), Some(state), "{sql}");
        wire.send(b'S', b"");
        assert_eq!(kinds(&wire.until(b'Z')), "Z");
    }
}

#[test]
fn impossible_messages_end_the_session_and_only_that() {
    let running = start(Config { message_bytes: 1000, ..config() });
    let mut other = running.session();
    for bytes in [&[b'Q', 0, 0, 0, 3][..], b"Q\x7f\xff\xff\xff", b"Q\0\0\x10\0", b"!\0\0\0\x04"] {
        let mut wire = running.session();
        wire.raw(bytes);
        wire.expect_error("FATAL", "08P01");
    }
    assert_eq!(kinds(&other.query("select 1")), "TDCZ");
}

#[test]
fn no_bytes_stop_the_server() {
    let running = start(config());
    let mut rng = Rng::new(11);
    for round in 0..200 {
        let mut wire = if round % 2 == 0 { running.connect() } else { running.session() };
        let mut bytes = Vec::new();
        for _ in 0..1 + rng.below(8) {
            let body: Vec<u8> = (0..rng.below(20)).map(|_| rng.below(256) as u8).collect();
            match rng.chance(0.7) {
                true => bytes.extend(framed(*rng.pick(b"QPBDECHSdcfpX"), &body)),
                false => bytes.extend(body),
            }
        }
        // The server may have ended the connection before it read all of it.
        let _ = wire.socket.write_all(&bytes);
        let _ = wire.socket.shutdown(std::net::Shutdown::Write);
        let _ = std::io::copy(&mut wire.socket, &mut std::io::sink());
    }
    assert_eq!(running.server.counts().panics, 0);
    assert_eq!(kinds(&running.session().query("select 1")), "TDCZ");
    running.server.stop().expect("nothing hangs");
}

#[test]
fn who_says_nothing_is_sent_away() {
    let config = Config { authentication_timeout: Duration::from_millis(300), ..config() };
    let running = start(config);
    running.connect().expect_error("FATAL", "57014");
    // A byte now and then does not help.
    let mut wire = running.connect();
    for byte in [0, 0, 0] {
        let _ = wire.socket.write_all(&[byte]);
        std::thread::sleep(Duration::from_millis(130));
    }
    wire.expect_error("FATAL", "57014");
}

#[test]
fn there_is_room_for_so_many() {
    let running = start(Config { max_connections: 2, ..config() });
    let first = running.session();
    let _second = running.session();
    let mut third = running.connect();
    third.startup(&[("user", "postgres")]);
    assert_eq!(third.next().map(|a| a.kind), Some(b'R'));
    third.expect_error("FATAL", "53300");
    drop(first);
    for _ in 0..100 {
        if running.server.counts().sessions == 1 {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    running.session();
}

#[test]
fn the_end_ends_sessions_that_wait_for_their_clients() {
    let running = start(config());
    let mut wires: Vec<_> = (0..5).map(|_| running.session()).collect();
    let address = running.address();
    let begun = std::time::Instant::now();
    running.server.stop().expect("a clean end");
    assert!(begun.elapsed() < Duration::from_secs(5));
    wires.iter_mut().for_each(|wire| wire.expect_error("FATAL", "57P01"));
    assert!(std::net::TcpStream::connect(address).is_err(), "nobody listens");
}

#[test]
fn temporary_tables_go_with_their_session_however_it_ends() {
    let running = start(config());
    let mut other = running.session();
    let count = "select count(*) from pg_class where relpersistence = 't'";
    let left =
        |wire: &mut common::Wire<std::net::TcpStream>| wire.query(count)[1].values()[0].clone();
    let made = |wire: &mut common::Wire<std::net::TcpStream>| {
        wire.query("create temp table t (id serial primary key)");
        wire.query("begin");
        wire.query("create temp table of_block (id int)");
        wire.query("insert into t default values");
        let pid = wire.query("select pg_backend_pid()")[1].values()[0].clone();
        assert_eq!(kinds(&wire.query("select * from t")), "TDCZ");
        pid
    };
    for end in ["says so", "breaks", "is ended"] {
        let mut wire = running.session();
        let pid = made(&mut wire);
        assert_eq!(left(&mut other), "3", "a table, its sequence and its index");
        match end {
            "says so" => wire.send(b'X', b""),
            "breaks" => drop(wire),
            _ => drop(other.query(&format!("select pg_terminate_backend({pid})"))),
        }
        let patience = std::time::Instant::now() + Duration::from_secs(30);
        while left(&mut other) != "0" && std::time::Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(left(&mut other), "0", "the session {end}");
    }
    let mut wire = running.session();
    made(&mut wire);
    let instance = std::sync::Arc::clone(&running.instance);
    running.server.stop().expect("a clean end");
    assert_eq!(instance.database().tables().len(), 1, "the catalog's own table");
}

#[test]
fn execute_of_a_declared_cursor_sends_what_postgresql_does() {
    is_as_postgresql(|wire, said| {
        for scroll in ["scroll", "no scroll"] {
            wire.query("begin");
            wire.query(&format!("declare c {scroll} cursor for select generate_series(1, 7) x"));
            for rows in [2, 1, 0, 1, 0] {
                let asked = [describe("P", "c"), execute("c", rows), framed(b'S', b"")];
                wire.raw(&asked.concat());
                said.push(format!("{scroll}, {rows}: {}", shown(&wire.until(b'Z'))));
            }
            for sql in ["fetch backward 3 from c", "move first from c", "fetch 0 from c"] {
                said.push(format!("{scroll}, {sql}: {}", shown(&wire.query(sql))));
            }
            // As many as are left, and then none.
            for rows in [6, 6] {
                wire.raw(&[execute("c", rows), framed(b'S', b"")].concat());
                said.push(format!("{scroll}, {rows}: {}", shown(&wire.until(b'Z'))));
            }
            wire.query("rollback");
        }
    });
}

#[test]
fn in_a_failed_transaction_messages_answer_as_postgresql_does() {
    is_as_postgresql(|wire, said| {
        let statements = [
            ("rows", "select generate_series(1, 5)"),
            ("none", ""),
            ("end", "rollback"),
            ("set", "set a.b = 1"),
        ];
        for (name, sql) in statements {
            let body = [name.as_bytes(), b"\0", sql.as_bytes(), b"\0\0\0"].concat();
            wire.raw(&[framed(b'P', &body), framed(b'S', b"")].concat());
            said.push(shown(&wire.until(b'Z')));
        }
        wire.query("begin");
        for (name, _) in statements {
            wire.raw(&[bind(name, name), framed(b'S', b"")].concat());
            said.push(shown(&wire.until(b'Z')));
        }
        wire.raw(&[execute("rows", 2), framed(b'S', b"")].concat());
        said.push(shown(&wire.until(b'Z')));
        wire.query("select 1/0");
        for (name, _) in statements {
            let asked =
                [describe("S", name), describe("P", name), execute(name, 0), bind("", name)];
            for message in asked {
                if name == "end" && message[0] == b'E' {
                    continue;
                }
                let kind = char::from(message[0]);
                wire.raw(&[message, framed(b'S', b"")].concat());
                said.push(format!("{name}, {kind}: {}", shown(&wire.until(b'Z'))));
            }
        }
        wire.raw(&[bind("", "end"), execute("", 0), framed(b'S', b"")].concat());
        said.push(shown(&wire.until(b'Z')));
    });
}

#[test]
fn fetch_and_move_go_on_in_a_portal_as_in_postgresql() {
    is_as_postgresql(|wire, said| {
        let ask = |wire: &mut Wire<std::net::TcpStream>, messages: &[Vec<u8>]| {
            wire.raw(&[&messages.concat()[..], &framed(b'S', b"")].concat());
            shown(&wire.until(b'Z'))
        };
        said.push(ask(wire, &[parse("s", "select generate_series(1, 12) x")]));
        wire.query("begin");
        said.push(ask(wire, &[bind("p", "s")]));
        for sql in [
            "select name, statement, is_holdable, is_binary, is_scrollable from pg_cursors",
            "move forward 2 in p",
            "fetch 2 from p",
        ] {
            said.push(format!("{sql}: {}", shown(&wire.query(sql))));
        }
        said.push(ask(wire, &[execute("p", 2)]));
        said.push(format!("fetch p: {}", shown(&wire.query("fetch p"))));
        said.push(ask(wire, &[execute("p", 5)]));
        said.push(ask(wire, &[execute("p", 5)]));
        said.push(format!("fetch p: {}", shown(&wire.query("fetch p"))));
        said.push(ask(wire, &[bind("q", "s"), execute("q", 3)]));
        said.push(format!("close q: {}", shown(&wire.query("close q"))));
        said.push(ask(wire, &[execute("q", 3)]));
        wire.query("rollback");
        wire.query("begin");
        said.push(ask(wire, &[bind("p", "s"), execute("p", 3)]));
        said.push(format!("back: {}", shown(&wire.query("fetch backward 1 from p"))));
        wire.query("rollback");
        said.push(format!("gone: {}", shown(&wire.query("fetch p"))));
    });
}

#[test]
fn a_binary_cursors_rows_come_as_in_postgresql() {
    is_as_postgresql(|wire, said| {
        wire.query("begin");
        wire.query("declare c binary scroll cursor for select 258 a, 'x'::text b, null::int8 c");
        for sql in [
            "select name, statement, is_holdable, is_binary from pg_cursors",
            "fetch c",
            "fetch absolute 1 from c",
        ] {
            said.push(format!("{sql}: {}", shown(&wire.query(sql))));
        }
        wire.query("rollback");
        wire.query("declare d binary cursor with hold for select 1.5::float8");
        said.push(format!("hold: {}", shown(&wire.query("fetch d"))));
    });
}

#[test]
fn a_prepared_statement_whose_columns_changed_is_refused_as_by_postgresql() {
    is_as_postgresql(|wire, said| {
        wire.query("create table t (a int, b int)");
        wire.query("insert into t values (1, 2)");
        let statements = [
            ("all", "select * from t"),
            ("one", "select a from t"),
            ("sum", "select sum(a) from t"),
            ("new", "insert into t (a) values (3) returning *"),
            ("none", "delete from t where a = 7"),
        ];
        for (name, sql) in statements {
            wire.raw(&[parse(name, sql), framed(b'S', b"")].concat());
            said.push(shown(&wire.until(b'Z')));
        }
        for ddl in [
            "alter table t alter column b type text",
            "alter table t add column c int",
            "alter table t rename column a to d",
            "alter table t rename column d to a",
            "drop table t",
        ] {
            wire.query(ddl);
            for (name, _) in statements {
                for asked in [vec![describe("S", name)], vec![bind("", name), execute("", 0)]] {
                    wire.raw(&[&asked.concat()[..], &framed(b'S', b"")].concat());
                    said.push(format!("{ddl}, {name}: {}", shown(&wire.until(b'Z'))));
                }
            }
        }
    });
}

#[test]
fn an_error_names_the_place_in_the_sources() {
    let running = start(config());
    let mut wire = running.session();
    let answers = wire.query("select no_such_function()");
    let error = answers.iter().find(|answer| answer.kind == b'E').expect("there is none such");
    assert!(error.field(b'F').ends_with(".rs"), "{}", error.field(b'F'));
    assert!(error.field(b'L').parse::<u32>().is_ok_and(|line| line > 0));
    assert!(!error.field(b'R').is_empty());
}

#[test]
fn who_ends_a_session_ends_its_statement_as_in_postgresql() {
    is_as_postgresql(|wire, said| {
        // PostgreSQL may have sent the row already.
        let ended = shown(&wire.query("select pg_cancel_backend(pg_backend_pid())"));
        said.push(ended.replace("D [\"t\"], ", ""));
        wire.raw(&framed(b'Q', b"select pg_terminate_backend(pg_backend_pid())\0"));
        let error = wire.until(b'E').pop().expect("it is told");
        said.push(format!("{} {}", error.field(b'S'), error.field(b'C')));
        assert!(wire.is_ended());
    });
}

#[test]
fn copy_takes_the_rows_that_where_says_as_postgresql_does() {
    is_as_postgresql(|wire, said| {
        for sql in [
            "create table t (a int primary key, b text default 'x', c timestamp, d int[], e point)",
            "create table p (a int, b text) partition by list (a)",
            "create table p1 partition of p for values in (1)",
        ] {
            wire.query(sql);
        }
        let copies = [
            ("t (a, d) from stdin where a > 1 and d is not null", "1\t{1}\n2\t{2}\n3\t\\N\n"),
            ("t (a) from stdin where b = 'x' and a % 2 = 0 -- even", "5\n6\n"),
            ("t (a, c) from stdin where c < '2020-01-01'", "7\t2019-05-05\n8\t2021-01-01\n"),
            ("t (a, e) from stdin with (format csv) where e is null", "9,\"(1,2)\"\n10,\n"),
            ("p from stdin where b <> 'no'", "1\tyes\n3\tno\n"),
            ("t (a) from stdin where false", "77\n"),
        ];
        for (copy, data) in copies {
            wire.raw(&framed(b'Q', format!("copy {copy}\0").as_bytes()));
            wire.until(b'G');
            wire.raw(&[framed(b'd', data.as_bytes()), framed(b'c', b"")].concat());
            said.push(format!("{copy}: {}", shown(&wire.until(b'Z'))));
        }
        for sql in ["select * from t order by a", "select * from p"] {
            said.push(format!("{sql}: {}", shown(&wire.query(sql))));
        }
        for condition in
            ["(select true)", "count(*) > 1", "generate_series(1, 2) > 1", "nope > 1", "a", "f(1)"]
        {
            let answer = wire.query(&format!("copy t (a) from stdin where {condition}"));
            let error = answer.iter().find(|answer| answer.kind == b'E').expect("it is refused");
            let [state, text, place] = [b'C', b'M', b'P'].map(|kind| error.field(kind));
            said.push(format!("{condition}: {state} {text} {place}"));
        }
    });
}

#[test]
fn copy_travels_in_the_clients_encoding_as_in_postgresql() {
    is_as_postgresql(|wire, said| {
        wire.query("create table t (a text, b text[], c int)");
        for encoding in ["latin9", "sjis", "utf8"] {
            wire.query(&format!("set client_encoding = '{encoding}'"));
            // The last character's bytes come apart.
            let (text, cut): (&[u8], usize) = match encoding {
                "latin9" => (b"\xe4\xa4\t{\xe4}\t1\n", 1),
                "sjis" => (b"\x93\xfa\x96\x7b\t{\x93\xfa}\t2\n", 3),
                _ => ("日本\t{ä}\t3\n".as_bytes(), 2),
            };
            wire.raw(&framed(b'Q', b"copy t from stdin\0"));
            wire.until(b'G');
            let pieces =
                [framed(b'd', &text[..cut]), framed(b'd', &text[cut..]), framed(b'c', b"")];
            wire.raw(&pieces.concat());
            said.push(format!("{encoding}: {}", shown(&wire.until(b'Z'))));
            for copy in ["t", "t (a) "] {
                for format in ["text", "binary"] {
                    let filtered = format!("(select * from {copy} where c is not null)");
                    let of = if copy == "t" { filtered } else { copy.to_string() };
                    let answer = wire.query(&format!("copy {of} to stdout (format {format})"));
                    let bodies: Vec<String> = answer
                        .iter()
                        .filter(|answer| matches!(answer.kind, b'd' | b'E'))
                        .map(|answer| match answer.kind {
                            b'E' => answer.field(b'C'),
                            _ => format!("{:?}", answer.body),
                        })
                        .collect();
                    said.push(format!("{encoding} {of} {format}: {}", bodies.join(" ")));
                }
            }
            wire.query("delete from t");
        }
        // What went out comes in.
        wire.query("set client_encoding = 'latin1'");
        let mut data = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0\0\x02".to_vec();
        data.extend(b"\0\0\0\x01\xe4\0\0\0\x04\0\0\0\x07\xff\xff");
        wire.raw(&framed(b'Q', b"copy t (a, c) from stdin (format binary)\0"));
        wire.until(b'G');
        wire.raw(&[framed(b'd', &data), framed(b'c', b"")].concat());
        said.push(shown(&wire.until(b'Z')));
        wire.query("set client_encoding = 'utf8'");
        said.push(shown(&wire.query("select * from t")));
    });
}
