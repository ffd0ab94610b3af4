//! What do statements cost that are bound by PostgreSQL's rules, the first time and when their text comes again, and what of
//! that is planning?
//!
//! `cargo run --release -p onlap-sql --example planning [part of a name] [times]`

#![allow(clippy::disallowed_methods, reason = "a measurement stands outside the simulation")]

mod silent;

/// The server's: what planning costs depends on it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

use std::time::Instant;

use onlap::{Database, Options, SyncMode};
use onlap_sql::{Instance, Session, SessionInfo};
use silent::Silent;

const ROWS: usize = 100_000;

/// A statement by the number of its run.
type Make = fn(usize) -> String;

fn long_where(n: usize) -> String {
    let terms: Vec<String> = (0..40)
        .map(|i| {
            format!("(t.k > {} and u.c like 'x{i}%' or t.id between {i} and {})", i * n, i + 7)
        })
        .collect();
    format!(
        "select t.id from t join u on u.id = t.id where t.id = {n} and ({})",
        terms.join(" or ")
    )
}

fn list(n: usize) -> String {
    let values: Vec<String> = (0..10_000).map(|i| (i * 3 + n).to_string()).collect();
    format!("select count(*) from t where k in ({})", values.join(","))
}

const STATEMENTS: [(&str, Make, usize); 6] = [
    (
        "two tables",
        |n| format!("select t.c, u.c from t join u on u.id = t.id where t.id = {n} and u.k < 9"),
        1000,
    ),
    ("where of 2 KB", long_where, 200),
    (
        "first 50 again",
        |n| {
            format!(
                "select * from t where id in (select id from t order by id limit {})",
                50 + n % 2
            )
        },
        500,
    ),
    (
        "order by, limit",
        |n| format!("select * from t where k > {n} order by id desc limit 10"),
        500,
    ),
    ("list of 10,000", list, 5),
    ("expression", |n| format!("select 1 + {n}, upper('x') where {n} >= 0"), 1000),
];

fn main() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let options = Options::default().sync(SyncMode::Os).memory_limit(1 << 30);
    let db = Database::open(dir.path(), options).expect("an empty database opens");
    let instance = Instance::open(db).expect("an empty catalog");
    let info = SessionInfo { user: "postgres".into(), ..SessionInfo::default() };
    let mut session = Session::new(&instance, info).expect("postgres may connect");
    let mut client = Silent::default();
    let mut run = |session: &mut Session, sql: &str| {
        session.query(sql, &mut client).expect("the client is here");
        let bytes = client.0.bytes();
        assert!(bytes.first() != Some(&b'E'), "{sql}: {}", String::from_utf8_lossy(bytes));
        bytes.clear();
    };
    for table in ["t", "u"] {
        run(&mut session, &format!("create table {table} (id int primary key, k int, c text)"));
        let insert = format!(
            "insert into {table} select i, i % 1000, 'c' || i from generate_series(1, {ROWS}) i"
        );
        run(&mut session, &insert);
    }
    run(&mut session, "set fast_path = off");
    let mut args = std::env::args().skip(1);
    let only = args.next().unwrap_or_default();
    let share: f64 = args.next().and_then(|text| text.parse().ok()).unwrap_or(1.0);
    for (name, make, times) in STATEMENTS.iter().filter(|(name, ..)| name.contains(&only)) {
        let times = ((*times as f64 * share) as usize).max(3);
        let texts: Vec<String> = (0..times).map(make).collect();
        let began = Instant::now();
        texts.iter().for_each(|text| run(&mut session, text));
        let first = began.elapsed().as_micros() as f64 / times as f64;
        // The second time it is kept, then it is known.
        run(&mut session, &texts[0]);
        let began = Instant::now();
        (0..times).for_each(|_| run(&mut session, &texts[0]));
        let again = began.elapsed().as_micros() as f64 / times as f64;
        run(&mut session, "begin");
        let began = Instant::now();
        // Of other texts than before.
        (times..2 * times).for_each(|n| session.plan(&make(n)).expect("it ran before"));
        let plan = began.elapsed().as_micros() as f64 / times as f64;
        let began = Instant::now();
        (0..times).for_each(|_| session.plan(&texts[0]).expect("it ran before"));
        let known = began.elapsed().as_micros() as f64 / times as f64;
        run(&mut session, "rollback");
        println!(
            "{name:<20} {first:>10.1} us, again {again:>10.1} us; of these planning {plan:>10.1} us and {known:>10.1} us"
        );
    }
}
