//! What is there after `kill -9` of a server that eight clients write to?
//!
//! Each client numbers its commits and knows which were acknowledged. What commit n does follows from n
//! alone, so that after a restart everything that has to be there can be compared, row by row.

use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use onlap_base::rng::Rng;
use onlap_testkit::record::{self, Counts};

use crate::common::{Answer, Wire};
use crate::number;
use crate::support::server::Onlap;

const CLIENTS: usize = 8;
/// Kills of a test run, in each of two modes.
const KILLS: u64 = 10;
/// Longest time between two kills.
const LIFE: Duration = Duration::from_millis(900);

const TABLES: [&str; 5] = [
    "create table progress (client int primary key, n bigint not null)",
    "create table rows (id bigint primary key, client int, a int, b text)",
    "create index by_a on rows (a)",
    "create index by_client on rows (client, id)",
    "create table last (client int primary key, n bigint) with (blind_writes = true)",
];

/// What a client has asked for and what it was told.
#[derive(Default)]
struct Promise {
    asked: AtomicU64,
    acknowledged: AtomicU64,
}

/// Runs statements, which must not fail while the server lives; `None` when it has gone.
fn run(wire: &mut Wire<TcpStream>, sql: &str) -> Option<Vec<Vec<String>>> {
    let answers = wire.try_query(sql)?;
    let failed = answers.iter().find(|a| a.kind == b'E');
    assert!(failed.is_none(), "{sql}: {}", failed.expect("found").field(b'M'));
    Some(answers.iter().filter(|a| a.kind == b'D').map(Answer::values).collect())
}

fn id(client: usize, n: u64, ordinal: u64) -> i64 {
    ((client as u64) << 40 | n << 8 | ordinal) as i64
}

fn inserted(n: u64) -> u64 {
    2 + n % 4
}

fn text(n: u64) -> String {
    "text of a row ".repeat(1 + n as usize % 5)
}

/// What commit `n` of a client does, as statements.
fn statements(client: usize, n: u64) -> Vec<String> {
    let a = |ordinal| (n * 31 + ordinal) % 1000;
    let row =
        |ordinal| format!("({}, {client}, {}, '{}')", id(client, n, ordinal), a(ordinal), text(n));
    let rows: Vec<String> = (0..inserted(n)).map(row).collect();
    let mut all = vec![
        match n {
            1 => format!("insert into progress values ({client}, 1)"),
            _ => format!("update progress set n = {n} where client = {client}"),
        },
        format!("insert into rows values {}", rows.join(", ")),
        format!("upsert into last values ({client}, {n})"),
    ];
    if n > 2 && n.is_multiple_of(3) {
        all.push(format!("delete from rows where id = {}", id(client, n - 2, 0)));
    }
    if n > 5 && n % 4 == 1 {
        // Through an index, of the row whose neighbours stay.
        let of = id(client, n - 4, 1);
        all.push(format!("update rows set a = a + 1000 where client = {client} and id = {of}"));
    }
    all
}

/// The rows of a client after so many commits.
fn expected(client: usize, commits: u64) -> Vec<Vec<String>> {
    let mut rows = std::collections::BTreeMap::new();
    for n in 1..=commits {
        for ordinal in 0..inserted(n) {
            rows.insert(id(client, n, ordinal), ((n * 31 + ordinal) % 1000, text(n)));
        }
        if n > 2 && n.is_multiple_of(3) {
            assert!(rows.remove(&id(client, n - 2, 0)).is_some());
        }
        if n > 5 && n % 4 == 1 {
            rows.get_mut(&id(client, n - 4, 1)).expect("nobody deletes it").0 += 1000;
        }
    }
    let texts = |(id, (a, b)): (i64, (u64, String))| vec![id.to_string(), a.to_string(), b];
    rows.into_iter().map(texts).collect()
}

/// Commits until the server goes.
fn write_until_killed(port: u16, client: usize, promise: &Promise) {
    let Some(mut wire) = Wire::try_session(port) else { return };
    let progress = format!("select n from progress where client = {client}");
    let Some(found) = run(&mut wire, &progress) else { return };
    let mut n = found.first().map_or(0, |row| row[0].parse().expect("a number"));
    let began = Instant::now();
    while began.elapsed() < 60 * LIFE {
        n += 1;
        promise.asked.store(n, Ordering::SeqCst);
        let all = statements(client, n);
        let done = match n % 3 {
            // A string is one transaction.
            0 => run(&mut wire, &all.join("; ")),
            1 => run(&mut wire, &format!("begin; {}; commit", all.join("; "))),
            _ => {
                let mut each = std::iter::once("begin").chain(all.iter().map(String::as_str));
                each.try_for_each(|sql| run(&mut wire, sql).map(drop))
                    .and_then(|()| run(&mut wire, "commit"))
            }
        };
        if done.is_none() {
            return;
        }
        promise.acknowledged.store(n, Ordering::SeqCst);
    }
}

/// Compares what is there with what was promised.
fn verify(port: u16, promises: &[Promise]) -> u64 {
    let mut wire = Wire::try_session(port).expect("the server was started again");
    let mut run = |sql: &str| run(&mut wire, sql).expect("nobody kills it now");
    let mut all = 0;
    for (client, promise) in promises.iter().enumerate() {
        let one = |rows: Vec<Vec<String>>| rows.first().map_or(0, |row| row[0].parse().unwrap());
        let n: u64 = one(run(&format!("select n from progress where client = {client}")));
        let (from, to) =
            (promise.acknowledged.load(Ordering::SeqCst), promise.asked.load(Ordering::SeqCst));
        assert!((from..=to).contains(&n), "client {client}: {n} commits of {from} to {to}");
        let last: u64 = one(run(&format!("select n from last where client = {client}")));
        assert_eq!(last, n, "client {client}: the blind row");
        let sql = format!("select id, a, b from rows where client = {client} order by id");
        let (found, expected) = (run(&sql), expected(client, n));
        assert_eq!(found.len(), expected.len(), "client {client}: rows after {n} commits");
        assert!(found == expected, "client {client}: other rows after {n} commits");
        all += n;
    }
    let whole = run("select count(*), coalesce(sum(a), 0) from rows");
    let by_index = run("select count(*), coalesce(sum(a), 0) from rows where a >= 0");
    assert_eq!(whole, by_index, "the index and the table");
    for table in ["progress", "rows", "last"] {
        run(&format!("check table {table}"));
    }
    all
}

fn kill_loop(sync: &str) {
    let seed = number("ONLAP_SEED", 1);
    println!("sync {sync}, seed {seed}");
    let (mut rng, began) = (Rng::new(seed), Instant::now());
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut server = start(dir.path(), sync);
    let mut wire = Wire::try_session(server.address.port).expect("the server listens");
    TABLES.iter().for_each(|sql| drop(run(&mut wire, sql).expect("the server lives")));
    let promises: Vec<Promise> = (0..CLIENTS).map(|_| Promise::default()).collect();
    let (mut commits, kills) = (0, number("ONLAP_KILLS", KILLS));
    for _ in 0..kills {
        let port = server.address.port;
        let promises = &promises;
        thread::scope(|scope| {
            for (client, promise) in promises.iter().enumerate() {
                scope.spawn(move || write_until_killed(port, client, promise));
            }
            let life = rng.below(LIFE.as_micros() as u64);
            thread::sleep(Duration::from_micros(life));
            server.kill();
        });
        server = start(dir.path(), sync);
        commits = verify(server.address.port, promises);
    }
    assert!(commits > 0, "nobody committed anything");
    let mut counts = Counts::default();
    counts.add("kills", kills);
    counts.add("commits that were found again", commits);
    record::note("server kill", seed, &counts, began.elapsed());
}

fn start(dir: &Path, sync: &str) -> Onlap {
    Onlap::start_with(dir, sync)
}

#[test]
fn killed_in_mode_os() {
    kill_loop("os");
}

#[test]
fn killed_in_mode_fsync() {
    kill_loop("fsync");
}

/// A server that acknowledged what it does not have would be found.
#[test]
fn control_a_commit_that_is_gone_is_found() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let server = start(dir.path(), "os");
    let port = server.address.port;
    let mut wire = Wire::try_session(port).expect("the server listens");
    TABLES.iter().for_each(|sql| drop(run(&mut wire, sql).expect("the server lives")));
    let promises = [Promise::default()];
    for n in 1..=9 {
        run(&mut wire, &statements(0, n).join("; ")).expect("the server lives");
        promises[0].asked.store(n, Ordering::SeqCst);
        promises[0].acknowledged.store(n, Ordering::SeqCst);
    }
    assert_eq!(verify(port, &promises), 9);
    let found = |promises: &[Promise]| {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| verify(port, promises))).is_err()
    };
    promises[0].asked.store(10, Ordering::SeqCst);
    promises[0].acknowledged.store(10, Ordering::SeqCst);
    assert!(found(&promises), "a commit is missing");
    promises[0].acknowledged.store(9, Ordering::SeqCst);
    assert!(!found(&promises));
    run(&mut wire, &format!("update rows set a = 5 where id = {}", id(0, 7, 1))).expect("it lives");
    assert!(found(&promises), "a row is another");
}
