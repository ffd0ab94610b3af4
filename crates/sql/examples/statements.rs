//! What does a statement cost above the engine, without a network?
//!
//! `cargo run --release -p onlap-sql --example statements [times] [bare]`
//!
//! `bare` asks for no processor times, which valgrind cannot give.

#![allow(clippy::disallowed_methods, reason = "a measurement stands outside the simulation")]

mod silent;

use std::time::Instant;

use onlap::{Database, Options, SyncMode, TransactionOptions, Value};
use onlap_sql::{Instance, Session, SessionInfo};
use silent::Silent;

const ROWS: i64 = 100_000;
/// Of each kind, unless an argument says otherwise.
const TIMES: i64 = 200_000;

fn main() {
    if std::env::args().nth(2).is_some_and(|arg| arg == "bare") {
        onlap_base::clock::keep_accounts(false);
    }
    let times = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(TIMES);
    let dir = tempfile::tempdir().expect("a temporary directory");
    let options = Options::default().sync(SyncMode::Os).memory_limit(1 << 30);
    let db = Database::open(dir.path(), options).expect("an empty database opens");
    let instance = Instance::open(db.clone()).expect("an empty catalog");
    let info = SessionInfo { user: "postgres".into(), ..SessionInfo::default() };
    let mut session = Session::new(&instance, info).expect("postgres may connect");
    let mut client = Silent::default();
    let mut run = |session: &mut Session, sql: &str| {
        session.query(sql, &mut client).expect("the client is here");
        let bytes = client.0.bytes();
        assert!(bytes.first() != Some(&b'E'), "{sql}: {}", String::from_utf8_lossy(bytes));
        bytes.clear();
    };
    run(&mut session, "create table t (id int primary key, k int, c char(120), pad char(60))");
    run(&mut session, "create index k_1 on t (k)");
    let mut literals = String::new();
    let began = Instant::now();
    for from in (0..ROWS).step_by(100) {
        literals.clear();
        literals += "insert into t values ";
        for id in from..from + 100 {
            let comma = if id > from { ", " } else { "" };
            literals += &format!("{comma}({id}, {}, 'c-{id}', 'pad-{id}')", id * 7919 % ROWS);
        }
        run(&mut session, &literals);
    }
    report("row of an INSERT of 100 literals", began, ROWS);
    db.settle().expect("nothing keeps it from settling");
    let table = db.table("t").expect("it was created");
    let began = Instant::now();
    for i in 0..times {
        let key = [Value::Int(i * 31 % ROWS)];
        let mut tx = db.begin_with(TransactionOptions::default()).expect("it is open");
        let row = tx.get_by(&table, "t_pkey", &key, Some(&["c"])).expect("it can be read");
        assert!(row.is_some());
        tx.commit().expect("nothing was changed");
    }
    report("point read by the engine", began, times);
    let mut client = Silent::default();
    session.parse("p", "select c from t where id = $1", &[]).expect("it is right");
    let began = Instant::now();
    for i in 0..times {
        let id = (i * 31 % ROWS) as i32;
        session.bind("", "p", &[1], &[Some(&id.to_be_bytes())], &[1]).expect("an int4");
        session.describe_portal("", &mut client).expect("it is there");
        session.execute("", 0, &mut client).expect("it runs");
        session.sync(&mut client).expect("it commits");
        client.0.bytes().clear();
    }
    report("prepared point select", began, times);
    let began = Instant::now();
    for i in 0..times / 4 {
        let sql = format!("select c from t where id = {}", i * 31 % ROWS);
        session.query(&sql, &mut client).expect("it runs");
        client.0.bytes().clear();
    }
    report("simple point select", began, times / 4);
    session.parse("u", "update t set k = k + 1 where id = $1", &[]).expect("it is right");
    let began = Instant::now();
    for i in 0..times / 4 {
        let id = (i * 31 % ROWS) as i32;
        session.bind("", "u", &[1], &[Some(&id.to_be_bytes())], &[1]).expect("an int4");
        session.execute("", 0, &mut client).expect("it runs");
        session.sync(&mut client).expect("it commits");
        client.0.bytes().clear();
    }
    report("prepared update of an indexed column", began, times / 4);
    session.parse("i", "insert into t values ($1, $2, $3, $4)", &[]).expect("it is right");
    let began = Instant::now();
    for i in 0..times / 4 {
        let id = (ROWS + i) as i32;
        let id = id.to_be_bytes();
        let values: [Option<&[u8]>; 4] = [Some(&id), Some(&id), Some(b"c"), Some(b"pad")];
        session.bind("", "i", &[1, 1, 0, 0], &values, &[1]).expect("values of their types");
        session.execute("", 0, &mut client).expect("it runs");
        session.sync(&mut client).expect("it commits");
        client.0.bytes().clear();
    }
    report("prepared insert of one row", began, times / 4);
    session.parse("g", "select k, count(*) from t where id < $1 group by k", &[]).expect("right");
    let began = Instant::now();
    for _ in 0..200 {
        let id = 10i32.to_be_bytes();
        session.bind("", "g", &[1], &[Some(&id)], &[1]).expect("an int4");
        session.execute("", 0, &mut client).expect("it runs");
        session.sync(&mut client).expect("it commits");
        client.0.bytes().clear();
    }
    report("prepared query that is planned", began, 200);
}

fn report(what: &str, began: Instant, times: i64) {
    println!("{what}: {:.2} us", began.elapsed().as_secs_f64() * 1e6 / times as f64);
}
