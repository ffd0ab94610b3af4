//! Does COPY take and give rows in all its formats?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use onlap_testkit::postgres::Postgres;
use onlap_testkit::simple::{Outcome, SimpleClient};
use support::{Fixture, Talk};

fn talk(fixture: &Fixture) -> Talk {
    let mut talk = fixture.session();
    talk.rows("create table t (id int primary key, a text, b float8, c varchar(3), d timestamp)");
    talk
}

fn feed(talk: &mut Talk, sql: &str, data: &[u8], piece: usize) -> Outcome {
    talk.client.input = data.chunks(piece).map(<[u8]>::to_vec).collect();
    let outcome = talk.run(sql);
    talk.client.input.clear();
    outcome
}

fn out(talk: &mut Talk, sql: &str) -> String {
    let outcome = talk.run(sql);
    assert_eq!(outcome.error, None, "{sql}");
    String::from_utf8(outcome.copied).expect("text")
}

const TEXT: &str = "1\tone\t1.5\tabc\t2024-02-29 12:00:00\n\
    2\t\\N\t\\N\t\\N\t\\N\n\
    3\ttab\\tnew\\nline \\\\ \\x41\\101\t-0\t\t1999-01-01 00:00:00.25\n";

#[test]
fn text_comes_and_goes_in_pieces_of_any_length() {
    for piece in [1, 2, 3, 7, 1000] {
        let fixture = Fixture::new(false);
        let mut talk = talk(&fixture);
        let outcome = feed(&mut talk, "copy t from stdin", TEXT.as_bytes(), piece);
        assert_eq!((outcome.error, &outcome.tags[..]), (None, &["COPY 3".to_string()][..]));
        let a = talk.rows("select a from t order by id");
        assert_eq!(a[2][0].as_deref(), Some("tab\tnew\nline \\ AA"));
        let expected = TEXT.replace("\\x41\\101", "AA");
        assert_eq!(out(&mut talk, "copy t to stdout"), expected);
        assert_eq!(out(&mut talk, "copy t (c, id) to stdout"), "abc\t1\n\\N\t2\n\t3\n");
    }
}

#[test]
fn csv_comes_and_goes() {
    let data = "id,a,b,c,d\r\n1,\"say \"\"hi\"\", you\",1,,\r\n2,\"\",,\"x\n\",2024-01-01\r\n";
    for piece in [1, 5, 1000] {
        let fixture = Fixture::new(false);
        let mut talk = talk(&fixture);
        let sql = "copy t from stdin with (format csv, header match)";
        let outcome = feed(&mut talk, sql, data.as_bytes(), piece);
        assert_eq!(outcome.error, None);
        assert_eq!(
            out(&mut talk, "copy t to stdout csv header"),
            "id,a,b,c,d\n1,\"say \"\"hi\"\", you\",1,,\n2,\"\",,\"x\n\",2024-01-01 00:00:00\n"
        );
        assert_eq!(
            out(
                &mut talk,
                "copy t (id, b) to stdout with csv delimiter ';' null '-' force quote id"
            ),
            "\"1\";1\n\"2\";-\n"
        );
    }
    let fixture = Fixture::new(false);
    let mut talk = talk(&fixture);
    let sql = "copy t (id, a, c) from stdin with (format csv, force_null (a), force_not_null (c), \
               quote '''', escape '\\')";
    assert_eq!(feed(&mut talk, sql, b"7,'','\n1,'\\''',\n", 4).error.unwrap().0, "22P04");
    assert_eq!(feed(&mut talk, sql, b"7,'',\n8,'it\\'s',\n", 4).error, None);
    assert_eq!(
        out(&mut talk, "copy (select id, a, c from t order by id) to stdout"),
        "7\t\\N\t\n8\tit's\t\n"
    );
}

#[test]
fn binary_comes_back_as_it_went() {
    let fixture = Fixture::new(false);
    let mut talk = talk(&fixture);
    feed(&mut talk, "copy t from stdin", TEXT.as_bytes(), 100);
    let data = talk.run("copy t to stdout (format binary)").copied;
    let text = out(&mut talk, "copy t to stdout");
    for piece in [1, 11, 1 << 20] {
        talk.rows("truncate t");
        let outcome = feed(&mut talk, "copy t from stdin binary", &data, piece);
        assert_eq!(outcome.error, None);
        assert_eq!(out(&mut talk, "copy t to stdout"), text);
    }
    let cut = feed(&mut talk, "copy t from stdin binary", &data[..data.len() - 9], 50);
    assert_eq!(cut.error.unwrap().0, "22P04");
}

#[test]
fn what_does_not_fit_is_refused_as_a_whole() {
    let fixture = Fixture::new(false);
    let mut talk = talk(&fixture);
    let mut refused = |sql: &str, data: &str| {
        let outcome = feed(&mut talk, sql, data.as_bytes(), 9);
        let error = outcome.error.expect(sql);
        assert_eq!(talk.rows("select count(*) from t"), [[Some("0".to_string())]]);
        error
    };
    let pair = |state: &str, text: &str| (state.to_string(), text.to_string());
    let sql = "copy t (id, a) from stdin";
    assert_eq!(
        refused(sql, "1\tx\nfour\ty\n"),
        pair("22P02", "invalid input syntax for type integer: \"four\"")
    );
    assert_eq!(refused(sql, "1\n"), pair("22P04", "missing data for column \"a\""));
    assert_eq!(refused(sql, "1\ta\tb\n"), pair("22P04", "extra data after last expected column"));
    assert_eq!(refused(sql, "1\tx\n1\ty\n").0, "23505");
    assert_eq!(refused(sql, "3000000000\tx\n").0, "22003");
    assert_eq!(refused("copy t (id, c) from stdin", "1\tabcd\n").0, "22001");
    assert_eq!(refused("copy t (a) from stdin", "x\n").0, "23502");
    assert_eq!(refused("copy t (id, nope) from stdin", "").0, "42703");
    assert_eq!(refused("copy nowhere from stdin", "").0, "42P01");
    assert_eq!(refused("copy t from '/etc/passwd'", "").0, "0A000");
    assert_eq!(refused("copy t from stdin (format csv, delimiter 'ab')", "").0, "0A000");
    assert_eq!(refused("copy t from stdin (quote 'a')", "").0, "0A000");
    assert_eq!(refused("copy t from stdin (shape round)", "").0, "42601");
}

#[test]
fn many_rows_come_in_one_transaction() {
    let fixture = Fixture::new(true);
    let mut talk = talk(&fixture);
    let mut data = String::new();
    for i in 0..30_000 {
        data += &format!("{i}\trow {i}\n");
    }
    let sql = "copy t (id, a) from stdin with (freeze on)";
    assert_eq!(feed(&mut talk, sql, data.as_bytes(), 8192).error, None);
    let counted = talk.rows("select count(*), count(distinct a) from t");
    assert_eq!(counted, [[Some("30000".to_string()), Some("30000".to_string())]]);
}

#[test]
fn times_come_and_go_as_settings_say() {
    let postgres = Postgres::start();
    let mut client =
        SimpleClient::connect(postgres.port(), "postgres", "postgres").expect("it is there");
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    let mut both = |talk: &mut Talk, sql: &str| {
        assert_eq!(client.run(sql).expect("it answers").error, None, "{sql}");
        talk.rows(sql);
    };
    both(&mut talk, "create table z (id int primary key, w timestamptz, d date)");
    both(&mut talk, "set timezone = 'Europe/Berlin'");
    both(&mut talk, "set datestyle = 'German'");
    let outcome = feed(&mut talk, "copy z from stdin", b"1\t01.07.2024 12:00\t02.07.2024\n", 9);
    assert_eq!(outcome.error, None);
    let session = &mut talk.session;
    session.parse("", "insert into z values (2, $1, $2)", &[1184, 1082]).expect("it is read");
    let values: [Option<&[u8]>; 2] = [Some(b"02.01.2024 01:00"), Some(b"03.07.2024")];
    session.bind("", "", &[], &values, &[]).expect("they are of their types");
    session.execute("", 0, &mut talk.client).expect("it runs");
    talk.session.sync(&mut talk.client).expect("it commits");
    assert_eq!(talk.outcome().error, None);
    let theirs = "insert into z values (1, '01.07.2024 12:00', '02.07.2024'), (2, '02.01.2024 01:00', '03.07.2024')";
    assert_eq!(client.run(theirs).expect("it answers").error, None);
    for setting in
        ["reset datestyle", "set datestyle = 'SQL, DMY'", "set timezone = 'UTC'", "reset datestyle"]
    {
        assert_eq!(client.run(setting).expect("it answers").error, None);
        talk.rows(setting);
        let wanted = client.run("copy z to stdout").expect("it answers").copied;
        assert!(!wanted.is_empty());
        let wanted = String::from_utf8(wanted).expect("text");
        assert_eq!(out(&mut talk, "copy z to stdout"), wanted, "{setting}");
    }
}

#[test]
fn infinite_numbers_come_and_go_as_postgresqls() {
    const NUMBERS: &str = "Infinity\n-Infinity\nNaN\n1.50\n";
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("create table n (v numeric)");
    let outcome = feed(&mut talk, "copy n from stdin", NUMBERS.as_bytes(), 100);
    assert_eq!(outcome.error, None);
    let sent = talk.run("copy n to stdout (format binary)").copied;
    let postgres = Postgres::start();
    let mut client =
        SimpleClient::connect(postgres.port(), "postgres", "postgres").expect("it is there");
    let copy = format!("copy (select v from (values {}) x (v)) to stdout (format binary)", {
        let values = NUMBERS.lines().map(|number| format!("('{number}'::numeric)"));
        values.collect::<Vec<_>>().join(", ")
    });
    assert_eq!(client.run(&copy).expect("it answers").copied, sent);
    talk.rows("truncate n");
    assert_eq!(feed(&mut talk, "copy n from stdin binary", &sent, 100).error, None);
    assert_eq!(out(&mut talk, "copy n to stdout"), NUMBERS);
}

#[test]
fn texts_come_and_go_in_the_encoding_that_is_said() {
    let postgres = Postgres::start();
    let mut theirs =
        SimpleClient::connect(postgres.port(), "postgres", "postgres").expect("it is there");
    let fixture = Fixture::new(false);
    let mut ours = fixture.session();
    let told =
        |of: Outcome| format!("{:?} {:?} {:?} {:?}", of.tags, of.error, of.detail, of.copied);
    let (mut mine, mut others) = (Vec::new(), Vec::new());
    let mut both = |sql: &str, data: &[u8]| {
        mine.push(format!("{sql}: {}", told(feed(&mut ours, sql, data, 3))));
        theirs.input = data.to_vec();
        others.push(format!("{sql}: {}", told(theirs.run(sql).expect("it answers"))));
        theirs.input.clear();
    };
    both("create table t (n int, a text)", b"");
    for client in ["utf8", "latin1", "sjis"] {
        both(&format!("set client_encoding = {client}"), b"");
        both("copy t from stdin (encoding 'LATIN1')", b"1\t\xe4\xe9\n2\tplain\n");
        both("copy t from stdin with csv encoding 'latin-9'", b"3,\"\xa4\"\n");
        both("copy t from stdin (encoding 'sjis')", b"4\t\x93\xfa\x96\x7b\n");
        both("copy t from stdin (encoding utf8)", "5\tä€\n".as_bytes());
        both("copy (select * from t where n <> 3 and n < 4) to stdout (encoding latin1)", b"");
        both("copy (select * from t where n = 4) to stdout (encoding 'LATIN1')", b"");
        both("copy (select * from t order by n) to stdout (encoding 'utf-8', format csv)", b"");
        both(
            "copy (select chr(8364) || chr(228) as a) to stdout (encoding 'win1252', format csv, header)",
            b"",
        );
        both("copy (select 1) to stdout (encoding 'nosuch')", b"");
        both("copy (select 1) to stdout (encoding '')", b"");
        both("truncate t", b"");
    }
    assert_eq!(mine, others);
}
