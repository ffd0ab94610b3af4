//! What do the statements of Linkbench cost without a network, one client?
//!
//! `cargo run --release -p onlap-sql --example graph [rounds [operation [bare]]]`
//!
//! `bare` asks for no processor times, which valgrind cannot give.

#![allow(clippy::disallowed_methods, reason = "a measurement stands outside the simulation")]

mod silent;

use std::time::Instant;

use onlap::{Database, Options, SyncMode};
use onlap_base::rng::Rng;
use onlap_sql::{Instance, Session, SessionInfo};
use silent::Silent;

const IDS: u64 = 100_000;
const TYPES: [i64; 2] = [123_456_789, 123_456_790];
const TABLES: [&str; 4] = [
    "CREATE TABLE linktable (id1 bigint NOT NULL, id2 bigint NOT NULL, link_type bigint NOT NULL, \
     visibility smallint NOT NULL, data varchar(255) NOT NULL, time bigint NOT NULL, \
     version bigint NOT NULL, PRIMARY KEY (link_type, id1, id2))",
    "CREATE INDEX id1_type ON linktable (id1, link_type, visibility, time, id2, version, data)",
    "CREATE TABLE counttable (id bigint NOT NULL, link_type bigint NOT NULL, count int NOT NULL, \
     time bigint NOT NULL, version bigint NOT NULL, PRIMARY KEY (id, link_type))",
    "CREATE TABLE nodetable (id bigserial PRIMARY KEY, type int NOT NULL, version bigint NOT NULL, \
     time int NOT NULL, data text NOT NULL)",
];
const PREPARED: [(&str, &str); 8] = [
    (
        "lock",
        "SELECT visibility FROM linktable WHERE link_type = $1 AND id1 = $2 AND id2 = $3 FOR UPDATE",
    ),
    (
        "insert",
        "INSERT INTO linktable (id1, id2, link_type, visibility, data, time, version) \
         VALUES ($1, $2, $3, 1, $4, $5, 0)",
    ),
    (
        "update",
        "UPDATE linktable SET visibility = 1, data = $1, time = $2, version = version + 1 \
         WHERE link_type = $3 AND id1 = $4 AND id2 = $5",
    ),
    (
        "list",
        "SELECT id1, id2, link_type, visibility, data, time, version FROM linktable WHERE id1 = $1 \
         AND link_type = $2 AND time >= $3 AND time <= $4 AND visibility = 1 ORDER BY time DESC \
         LIMIT $5 OFFSET $6",
    ),
    (
        "count",
        "INSERT INTO counttable (id, link_type, count, time, version) VALUES ($1, $2, $3, $4, 0) \
         ON CONFLICT (id, link_type) DO UPDATE SET count = counttable.count + excluded.count, \
         version = counttable.version + 1, time = excluded.time",
    ),
    ("counted", "SELECT count FROM counttable WHERE id = $1 AND link_type = $2"),
    ("node", "SELECT id, type, version, time, data FROM nodetable WHERE id = $1 AND type = $2"),
    (
        "change",
        "UPDATE nodetable SET version = version + 1, time = $1, data = $2 WHERE id = $3 AND type = $4",
    ),
];

fn main() {
    if std::env::args().nth(3).is_some_and(|arg| arg == "bare") {
        onlap_base::clock::keep_accounts(false);
    }
    let rounds: i64 = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(50_000);
    let dir = tempfile::tempdir().expect("a temporary directory");
    let options = Options::default().sync(SyncMode::Os).memory_limit(1 << 30);
    let db = Database::open(dir.path(), options).expect("an empty database opens");
    let instance = Instance::open(db.clone()).expect("an empty catalog");
    let info = SessionInfo { user: "postgres".into(), ..SessionInfo::default() };
    let mut session = Session::new(&instance, info).expect("postgres may connect");
    let mut client = Silent::default();
    for sql in TABLES {
        simple(&mut session, &mut client, sql);
    }
    load(&mut session, &mut client);
    for (name, sql) in PREPARED {
        session.parse(name, sql, &[]).expect(sql);
    }
    let mut rng = Rng::new(7);
    let key = |rng: &mut Rng| {
        let id1 = rng.below(IDS) + 1;
        (id1, rng.below(degree(id1).max(1)))
    };
    let mut run = |session: &mut Session, name: &str, values: &[Value<'_>]| {
        extended(session, &mut client, name, values);
    };
    let only = std::env::args().nth(2);
    let time = |what: &str, each: &mut dyn FnMut()| {
        if only.as_ref().is_some_and(|only| only != what) {
            return;
        }
        let began = Instant::now();
        for _ in 0..rounds {
            each();
        }
        println!("{what}: {:.2} us", began.elapsed().as_secs_f64() * 1e6 / rounds as f64);
    };
    time("getlinklist", &mut || {
        let (id1, nth) = key(&mut rng);
        let values = [id1 as i64, link(id1, nth).0, 0, 2_000_000_000, 10_000, 0].map(Value::Int);
        run(&mut session, "list", &values);
        session.sync(&mut Silent::default()).expect("it commits");
    });
    time("getnode", &mut || {
        run(&mut session, "node", &[Value::Int(key(&mut rng).0 as i64), Value::Int4(2048)]);
        session.sync(&mut Silent::default()).expect("it commits");
    });
    time("countlink", &mut || {
        let (id1, nth) = key(&mut rng);
        run(&mut session, "counted", &[Value::Int(id1 as i64), Value::Int(link(id1, nth).0)]);
        session.sync(&mut Silent::default()).expect("it commits");
    });
    time("updatenode", &mut || {
        let id = Value::Int(key(&mut rng).0 as i64);
        let values = [Value::Int4(7), Value::Text(&"n".repeat(128)), id, Value::Int4(2048)];
        run(&mut session, "change", &values);
        session.sync(&mut Silent::default()).expect("it commits");
    });
    let mut put = |session: &mut Session, name: &str, link: (i64, u64), id1: u64, counted: bool| {
        let (kind, from, to) =
            (Value::Int(link.0), Value::Int(id1 as i64), Value::Int(link.1 as i64));
        simple(session, &mut Silent::default(), "BEGIN");
        run(session, "lock", &[kind, from, to]);
        session.sync(&mut Silent::default()).expect("it goes on");
        match name {
            "insert" => {
                run(session, name, &[from, to, kind, Value::Text("12345678"), Value::Int(9)])
            }
            _ => run(session, name, &[Value::Text("12345678"), Value::Int(9), kind, from, to]),
        }
        session.sync(&mut Silent::default()).expect("it goes on");
        if counted {
            run(session, "count", &[from, kind, Value::Int4(1), Value::Int(9)]);
            session.sync(&mut Silent::default()).expect("it goes on");
        }
        simple(session, &mut Silent::default(), "COMMIT");
    };
    let mut rng = Rng::new(8);
    let mut new = IDS;
    time("addlink", &mut || {
        let id1 = rng.below(IDS) + 1;
        new += 1;
        put(&mut session, "insert", (TYPES[rng.below(2) as usize], new), id1, true);
    });
    time("updatelink", &mut || {
        let id1 = loop {
            let id1 = rng.below(IDS) + 1;
            if degree(id1) > 0 {
                break id1;
            }
        };
        let link = link(id1, rng.below(degree(id1)));
        put(&mut session, "update", link, id1, false);
    });
}

/// Links of a node: half have none, some have hundreds.
fn degree(id: u64) -> u64 {
    let share = ((mixed(id) >> 11) + 1) as f64 / (1u64 << 53) as f64;
    (0.5 / share).min(2000.0) as u64
}

fn mixed(id: u64) -> u64 {
    onlap_base::rng::splitmix(&mut id.wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

fn link(id1: u64, nth: u64) -> (i64, u64) {
    (TYPES[(nth % 2) as usize], (mixed(id1 ^ 0x5EED) % IDS + nth) % IDS + 1)
}

fn load(session: &mut Session, client: &mut Silent) {
    for from in (1..=IDS).step_by(100) {
        let (mut nodes, mut links, mut counts) = (Vec::new(), Vec::new(), Vec::new());
        for id in from..from + 100 {
            nodes.push(format!("(2048, 0, 1, '{}')", "d".repeat(128)));
            for nth in 0..degree(id) {
                let (kind, id2) = link(id, nth);
                links.push(format!("({id}, {id2}, {kind}, 1, '12345678', {nth}, 0)"));
            }
            for (kind, count) in [(TYPES[0], degree(id).div_ceil(2)), (TYPES[1], degree(id) / 2)] {
                if count > 0 {
                    counts.push(format!("({id}, {kind}, {count}, 1, 0)"));
                }
            }
        }
        let into = "INSERT INTO nodetable (type, version, time, data) VALUES ";
        simple(session, client, &format!("{into}{}", nodes.join(",")));
        for part in links.chunks(100) {
            simple(session, client, &format!("INSERT INTO linktable VALUES {}", part.join(",")));
        }
        simple(session, client, &format!("INSERT INTO counttable VALUES {}", counts.join(",")));
    }
}

/// A parameter in its binary form.
#[derive(Clone, Copy)]
enum Value<'a> {
    Int(i64),
    Int4(i32),
    Text(&'a str),
}

fn extended(session: &mut Session, client: &mut Silent, name: &str, values: &[Value<'_>]) {
    let bytes: Vec<Vec<u8>> = values
        .iter()
        .map(|value| match value {
            Value::Int(n) => n.to_be_bytes().to_vec(),
            Value::Int4(n) => n.to_be_bytes().to_vec(),
            Value::Text(text) => text.as_bytes().to_vec(),
        })
        .collect();
    let values: Vec<Option<&[u8]>> = bytes.iter().map(|bytes| Some(&bytes[..])).collect();
    session.bind("", name, &[1], &values, &[1]).expect("values of their types");
    session.execute("", 0, client).expect("it runs");
    check(client, name);
}

fn simple(session: &mut Session, client: &mut Silent, sql: &str) {
    session.query(sql, client).expect("the client is here");
    check(client, sql);
}

fn check(client: &mut Silent, what: &str) {
    let bytes = client.0.bytes();
    assert!(bytes.first() != Some(&b'E'), "{what}: {}", String::from_utf8_lossy(bytes));
    bytes.clear();
}
