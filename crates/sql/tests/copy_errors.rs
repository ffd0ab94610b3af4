//! Do errors of COPY FROM tell the line, the column and the value as PostgreSQL's do?
//!
//! Compared with a private PostgreSQL 15 (a Debian package): SQLSTATE, message, detail, hint and context.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/script.rs"]
mod script;
mod support;

use onlap_testkit::postgres::Postgres;
use onlap_testkit::simple::SimpleClient;
use support::Fixture;

const TABLES: &str = "\
create table t (id int primary key, a text not null, n int check (n < 10), u int unique)
create domain small as int not null check (value < 5)
create table d (id int default 7, s small)
create table p (id int, a text, primary key (id)) partition by range (id)
create table p1 partition of p for values from (0) to (10)
create table p2 partition of p for values from (10) to (20)
alter table p2 add check (a <> 'no')
create table f (id int references t)
create table g (id int, twice int generated always as (id * 2) stored check (twice < 10))
create table b (id int primary key, a text check (a <> 'no'))
create function judge() returns trigger language plpgsql as $$ begin if new.a = 'bad' then raise exception 'it is bad'; end if; return new; end $$
create trigger judge before insert on b for each row execute function judge()
create table w (id int primary key, a text)
create table e (id int check (id < 10), r int4range, exclude using gist (r with &&))
insert into e values (0, '[0,1)')
insert into t values (100, 'there', 1, 100)
";

/// Statements, each with its data.
fn cases() -> Vec<(&'static str, String)> {
    let long = "x".repeat(150);
    let wide = "\u{e4}".repeat(80);
    // Behind a thousand rows, and behind a batch.
    let many = |last: &str| {
        let rows = (1000..11_000).map(|n| format!("{n}\ta\t1\t{n}\n")).collect::<String>();
        format!("{rows}{last}")
    };
    let t = "copy t from stdin";
    let csv = "copy t from stdin csv";
    let header = "copy t from stdin csv header";
    let matched = "copy t from stdin csv header match";
    vec![
        (t, "1\ta\t1\t1\nx\tb\t2\t2\n".into()),
        ("copy e from stdin", "1\t[1,5)\n2\t[7,9)\n3\t[4,6)\n4\t[20,30)\n".into()),
        ("copy e from stdin", "1\t[1,5)\n2\t[0,1)\n3\t[4,6)\n".into()),
        ("copy e from stdin", "1\t[1,5)\n2\t[4,6)\n30\t[7,8)\n".into()),
        (t, format!("1\ta\t1\t1\n{long}\tb\t2\t2\n")),
        (t, format!("1\ta\t1\t1\n{wide}\tb\t2\t2\n")),
        (t, "1\ta\n".into()),
        (t, "1\ta\t1\t1\t5\n".into()),
        (t, "\n".into()),
        (t, format!("1\t{long}\n")),
        (t, format!("1\t{wide}\n")),
        (t, "1\ta\t1\t1\n2\t\\N\t2\t2\n".into()),
        (t, "1\ta\t1\t1\n2\tb\t20\t2\n3\tc\t3\t3\n".into()),
        (t, "1\ta\t1\t1\n2\tb\t2\t2\n1\tc\t3\t3\n".into()),
        (t, "1\ta\t1\t1\n100\tb\t2\t2\n1\tc\t3\t3\n".into()),
        (t, "1\ta\t1\t1\n2\tb\t2\t100\n".into()),
        (t, "9\ta\t1\t1\n2\tb\t2\t2\n8\tc\t3\t3\n9\td\t4\t4\n2\te\t5\t5\n".into()),
        // What is wrong with a row itself comes before keys, and by row.
        (t, "1\ta\t1\t1\n1\tb\t2\t2\n3\tc\t30\t3\n".into()),
        (t, "1\ta\t1\t1\n2\tb\t20\t2\n3\t\\N\t3\t3\n".into()),
        (t, "1\ta\t1\t1\n2\t\\N\t2\t2\n3\tc\t30\t3\n".into()),
        (t, "1\ta\t1\t1\n1\tb\t2\t2\nx\tc\t3\t3\n".into()),
        (t, many("1\ta\t10\t1\n")),
        (t, many("1000\ta\t1\t1\n")),
        (t, many("1\ta\t1\t5000\n2\tb\t10\t2\n")),
        (t, "1\ta\\tb\t10\t1\n".into()),
        (t, "1\ta\t10\t1\r\n".into()),
        (t, "1\ta\t1\t1\n\\.\nx\n".into()),
        ("copy t (id, a) from stdin (delimiter ',', null '-')", "1,a\n2,-\n".into()),
        ("copy t (id, n) from stdin", "1\t2\n".into()),
        ("copy t (a, n) from stdin", "b\t2\n".into()),
        (csv, "1,a,1,1\n2,\"b\nc\",x,2\n".into()),
        (csv, "1,\"b\nc\",20,2\n".into()),
        (csv, "1,\"b\nc\",2,2\n3,\"d\ne\",3\n".into()),
        (csv, "1,\"b\nc\",2,2\n3,\"d\ne\",3,3\n1,f,4,4\n".into()),
        (csv, "1,\"b\nc\",2,2\r\n3,\"d\r\ne\",3,3\r\n1,f,4,4\r\n".into()),
        (csv, "1,\"b,2,2\n".into()),
        (csv, "1,b,2,2,9\n".into()),
        (csv, "1,,2,2\n".into()),
        (header, "id,a,n,u\n1,a,1,1\n1,b,2,2\n".into()),
        (header, "id,a,n,u\n1,a,10,1\n".into()),
        (matched, "id,a,n,x\n1,a,1,1\n".into()),
        (matched, "id,a,n\n1,a,1,1\n".into()),
        (matched, "id,a,n,u\n1,a,10,1\n".into()),
        ("copy d from stdin", "1\t2\n3\t7\n".into()),
        ("copy d from stdin", "1\t2\n3\t\\N\n".into()),
        ("copy d (id) from stdin", "1\n".into()),
        ("copy p from stdin", "1\ta\n30\tb\n".into()),
        ("copy p from stdin", "1\ta\n11\tno\n".into()),
        ("copy p from stdin", "1\ta\n11\tb\n2\tc\n11\td\n".into()),
        ("copy p1 from stdin", "1\ta\n11\tb\n".into()),
        ("copy f from stdin", "100\n101\n".into()),
        ("copy g from stdin", "1\n2\n7\n3\n".into()),
        ("copy b from stdin", "1\ta\n2\tbad\n".into()),
        ("copy b from stdin", "1\ta\n2\tno\n".into()),
        ("copy b from stdin", "1\ta\n1\tb\n".into()),
        ("copy w from stdin where id < 10", "1\ta\n20\tb\n1\tc\n".into()),
        ("copy w from stdin where 1 / (id - 2) < 10", "1\ta\n2\tb\n3\tc\n".into()),
        ("copy w from stdin where id < random() + 5", "1\ta\n9\tb\n1\tc\n".into()),
        ("copy w (id) from stdin binary", "PGCOPY".into()),
        ("copy t (id) from stdin", String::new()),
    ]
    .into_iter()
    .chain(ends())
    .collect()
}

/// How lines end, and where the data does.
fn ends() -> Vec<(&'static str, String)> {
    let text = [
        "1\ta\r2\tb\r",
        "1\ta\r2\tb",
        "1\ta\r\n2\tb\r\n",
        "1\ta\r\n2\tb",
        "1\ta\r\n2\tb\n",
        "1\ta\r\n2\tb\r3\tc\r\n",
        "1\ta\n2\tb\r\n3\tc\n",
        "1\ta\n2\tb\r",
        "1\ta\r2\tb\n3\tc\r",
        "1\ta\n2\tb\\\n3\n",
        "1\ta\\\r\n2\tb\n",
        "1\ta\n2\tb\\r\n3\tc\\\\\n",
        "1\ta\n2\tb\\\\.\n3\tc\n",
        "1\ta\n\\.\n2\tb\n",
        "1\ta\n\\.\n",
        "1\ta\r\n\\.\r\n2\tb\r\n",
        "1\ta\r\n\\.\n",
        "1\ta\r\n\\.x\n",
        "1\ta\r\\.\r2\tb\r",
        "1\ta\r\\.\n",
        "1\ta\n\\.\r\n",
        "1\ta\n\\.x\n2\tb\n",
        "1\ta\n2\tb\\.\n3\tc\n",
        "1\ta\n2\tb\\.c\n",
        "\\.\n1\ta\n",
        "\\.\r\n1\ta\r\n",
        "1\ta\n\n",
        "1\ta\n\t\n",
        "\r\n",
    ];
    let csv = [
        "1,a\r2,b\r",
        "1,a\r\n2,b\r\n",
        "1,a\r\n2,b\n",
        "1,a\n2,b\r\n",
        "1,a\n2,\"b\rc\nd\r\n\"\n3,c\n",
        "1,a\r2,\"b\rc\nd\r\n\"\r3,c\rx,d\r",
        "1,a\r\n2,\"b\rc\nd\r\n\"\r\n3,c\r\nx,d\r\n",
        "1,\"a\nb\rc\"\n2,b\nx,c\n",
        "1,a\n2,b\rc\n",
        "1,a\r2,b\nc\r",
        "1,a\n\\.\n2,b\n",
        "1,a\n2,\\.\n3,b\\.\n",
    ];
    let own = |all: &[&str], statement| {
        all.iter().map(|data| (statement, data.to_string())).collect::<Vec<_>>()
    };
    [own(&text, "copy w from stdin"), own(&csv, "copy w from stdin csv")].concat()
}

/// What a role writes that may not call what is calculated of rows.
const WRITER: &str = "\
create role writer
create function positive(int) returns boolean language sql immutable as 'select $1 > 0'
create function more(int) returns int language sql immutable as 'select $1 + 1'
create function judge() returns trigger language plpgsql as $$ begin return new; end $$
create table t (id int primary key check (positive(id)))
create table g (id int, more int generated always as (more(id)) stored)
create table f (id int)
create index on f (more(id))
create table b (id int check (positive(id)))
create trigger judge before insert on b for each row execute function judge()
create table p (id int check (positive(id))) partition by range (id)
create table p1 partition of p for values from (0) to (10)
create table d (id int)
create table w (id int check (positive(id)), a text)
grant all on t, g, f, b, p, d, w to writer
revoke execute on function positive(int), more(int) from public
set role writer
";

#[test]
fn errors_tell_their_lines_as_in_postgresql() {
    compare(TABLES, cases());
}

#[test]
fn who_copies_must_be_let_call_what_is_calculated_of_rows() {
    let mut cases = vec![
        ("copy w from stdin", "1\ta\n2\tb\n".to_string()),
        ("copy w from stdin where id < 5", "7\ta\n2\tb\n".into()),
        ("copy w from stdin where id > 5", "1\ta\n2\tb\n".into()),
        ("copy w (a) from stdin", "b\n".into()),
        ("copy w from stdin", String::new()),
    ];
    let of_one = ["t", "g", "f", "b", "p", "d"];
    let texts: Vec<String> = of_one.iter().map(|t| format!("copy {t} (id) from stdin")).collect();
    cases.extend(texts.iter().map(|text| (text.as_str(), "1\n2\n".to_string())));
    compare(WRITER, cases);
}

/// Fails where data that some tables are given is answered in another way, or leaves other rows.
fn compare(tables: &str, cases: Vec<(&str, String)>) {
    let postgres = Postgres::start();
    let mut client = SimpleClient::connect(postgres.port(), "postgres", "postgres").unwrap();
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    for statement in tables.lines() {
        talk.rows(statement);
        assert_eq!(client.run(statement).unwrap().error, None, "{statement}");
    }
    let mut differ = Vec::new();
    for (statement, data) in cases {
        for piece in [data.len().max(1), 3] {
            if data.len() > 10_000 && piece == 3 {
                continue;
            }
            client.input = data.clone().into_bytes();
            talk.client.input = data.as_bytes().chunks(piece).map(<[u8]>::to_vec).collect();
            let (ours, theirs) = (talk.run(statement), client.run(statement).unwrap());
            let rows = "select * from w order by id";
            let (kept, there) = (talk.run(rows).rows, client.run(rows).unwrap().rows);
            let mine = format!("{} {kept:?}", script::all_but_columns(&ours));
            let other = format!("{} {there:?}", script::all_but_columns(&theirs));
            if mine != other {
                let data: String = data.chars().take(60).collect();
                differ.push(format!("{statement} {data:?}\n  ours   {mine}\n  theirs {other}"));
            }
            for table in ["f", "t", "d", "p", "g", "b", "w"] {
                let rest = if table == "t" { " where id <> 100" } else { "" };
                talk.rows(&format!("delete from {table}{rest}"));
                client.run(&format!("delete from {table}{rest}")).unwrap();
            }
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
