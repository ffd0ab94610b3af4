//! Does the server live in a memory cgroup, with more data than memory, whatever 64 clients ask?
//!
//! They sort, join, group and write at the same time. What does not fit is refused; the kernel never has to kill
//! the server. A longer run than that of the tests, noted in `benchmarks/proofs.jsonl`:
//!
//! ```text
//! ONLAP_LOG=1 ONLAP_CGROUP_MIB=512 ONLAP_DATA_MIB=5120 ONLAP_SECONDS=120 \
//!     cargo test --release -p onlap-cli --test memory
//! ```

#![cfg(feature = "server")]
#![allow(clippy::disallowed_methods, reason = "a test of a program has the program's own seams")]

use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use onlap_base::rng::Rng;
use onlap_testkit::cgroup::Cgroup;
use onlap_testkit::record::{self, Counts};

#[path = "../../server/tests/common/wire.rs"]
mod wire;

use wire::{Answer, Wire};

const CLIENTS: u64 = 64;
/// A test run's cgroup, the bytes of its table, and how long clients go on.
const CGROUP_MIB: u64 = 512;
const DATA_MIB: u64 = 128;
const SECONDS: u64 = 8;
/// Characters of a row's text, six bits of chance each.
const TEXT: usize = 700;
/// SQLSTATEs that a client has to expect: memory, open files, changes of all transactions together, conflicts,
/// waits, cancelled.
const EXPECTED: [&str; 7] = ["53200", "53000", "54000", "40001", "40P01", "55P03", "57014"];

/// 64 sorts of a whole table take their time where there is memory for few at once.
const PATIENCE: Duration = Duration::from_secs(300);

type Client = Wire<TcpStream>;

/// A number from the environment.
fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().expect("a number"))
}

/// `onlap serve`, with what it takes by itself in its cgroup.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(group: &Cgroup, dir: &Path) -> Server {
        let mut child = Command::new("/bin/sh")
            .args(["-c", "echo $$ > \"$0\" && exec \"$@\""])
            .arg(group.procs())
            .arg(env!("CARGO_BIN_EXE_onlap"))
            .args(["serve", "--listen", "127.0.0.1:0", "--sync", "os", "--dir"])
            .arg(dir)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary was built");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let port = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.trim().strip_prefix("address")?.rsplit(':').next()?.parse().ok())
            .expect("it says where it listens");
        thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Server { child, port }
    }

    fn lives(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|ended| ended.is_none())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a statement came to: its rows or its SQLSTATE and message.
fn ask(client: &mut Client, sql: &str) -> Result<Vec<Answer>, String> {
    let answers = client.try_query(sql).expect("the server lives");
    match answers.iter().find(|a| a.kind == b'E') {
        Some(error) => Err(format!("{} {}", error.field(b'C'), error.field(b'M'))),
        None => Ok(answers),
    }
}

fn text(rng: &mut Rng) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    (0..TEXT).map(|_| char::from(LETTERS[rng.index(64)])).collect()
}

/// Fills the table, and gives its number of rows.
fn load(client: &mut Client, mib: u64) -> u64 {
    for sql in [
        "create table big (id bigint primary key, a int, b text)",
        "create index by_a on big (a)",
        "create table log (id bigserial primary key, of bigint, n int, b text)",
    ] {
        ask(client, sql).expect("a new table");
    }
    let (mut rng, rows) = (Rng::new(7), (mib << 20) / (TEXT as u64 * 3 / 4));
    for first in (0..rows).step_by(1000) {
        let row = |id| format!("({id}, {}, '{}')", (id * 7919) % 100_003, text(&mut rng));
        let values: Vec<String> = (first..rows.min(first + 1000)).map(row).collect();
        ask(client, &format!("insert into big values {}", values.join(",")))
            .expect("there is room");
    }
    rows
}

fn statement(rng: &mut Rng, rows: u64) -> Vec<String> {
    let id = rng.below(rows);
    let one = |sql: String| vec![sql];
    match rng.below(10) {
        0 => one("select b, id from big order by b limit 3 offset 100000".into()),
        1 => {
            one("select count(*), max(x.b) from big x join big y on x.a = y.a and x.id < y.id"
                .into())
        }
        2 => one("select count(*) from (select b, count(*) from big group by b) g".into()),
        3 => one("select count(distinct b) from big".into()),
        4 => one(format!("update big set a = a + 1 where id between {id} and {}", id + 2000)),
        5 => {
            let insert = format!(
                "insert into log (of, n, b) select id, a, b from big where id between {id} and {}",
                id + 5000
            );
            vec!["begin".into(), insert, "delete from log where n % 7 = 0".into(), "commit".into()]
        }
        6 => one("select * from big where a > 50000 order by a limit 2000".into()),
        _ => one(format!("select * from big where id = {id}")),
    }
}

/// Asks one thing after the other; what was done and what was refused.
fn work(port: u16, seed: u64, rows: u64, until: Instant) -> (u64, u64) {
    let mut rng = Rng::new(seed);
    let mut client = Wire::try_session(port).expect("there is room for 64");
    client.socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let (mut done, mut refused) = (0, 0);
    while Instant::now() < until {
        let mut statements = statement(&mut rng, rows).into_iter();
        match statements.try_for_each(|sql| ask(&mut client, &sql).map(drop)) {
            Ok(()) => done += 1,
            Err(e) => {
                assert!(EXPECTED.iter().any(|state| e.starts_with(state)), "{e}");
                ask(&mut client, "rollback").expect("that is always possible");
                refused += 1;
            }
        }
    }
    (done, refused)
}

#[test]
fn a_server_in_a_cgroup_is_never_killed() {
    let began = Instant::now();
    let seed = number("ONLAP_SEED", 1);
    let mib = number("ONLAP_CGROUP_MIB", CGROUP_MIB);
    if !Cgroup::can_be() {
        return;
    }
    let group = Cgroup::new(mib << 20).expect("one was made just now");
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut server = Server::start(&group, &dir.path().join("db"));
    let port = server.port;
    let mut first = Wire::try_session(port).expect("the server listens");
    let rows = load(&mut first, number("ONLAP_DATA_MIB", DATA_MIB));
    let size = ask(&mut first, "select pg_total_relation_size('big')").expect("it is there");
    let size = size.iter().find(|a| a.kind == b'D').expect("a row").values().remove(0);
    let seconds = number("ONLAP_SECONDS", SECONDS);
    let until = Instant::now() + Duration::from_secs(seconds);
    let (done, refused) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for n in 0..CLIENTS {
            let (done, refused) = (&done, &refused);
            scope.spawn(move || {
                let all = work(port, seed * CLIENTS + n, rows, until);
                done.fetch_add(all.0, Ordering::Relaxed);
                refused.fetch_add(all.1, Ordering::Relaxed);
            });
        }
    });
    let (done, refused) = (done.into_inner(), refused.into_inner());
    println!(
        "seed {seed}, {mib} MiB, {rows} rows in {size} bytes: {done} done, {refused} refused, at most {} MiB",
        group.peak() >> 20
    );
    assert!(server.lives(), "the server is gone");
    assert_eq!(group.kills(), 0, "the kernel killed it");
    // With much more data than memory most sorts and joins wait for their turn until they are refused.
    assert!(done * 3 > refused, "{done} done, {refused} refused");
    ask(&mut first, "check table big").expect("the table is right");
    let mut counts = Counts::default();
    counts.add("seconds in a cgroup", seconds);
    counts.add("statements done", done);
    counts.add("statements refused", refused);
    record::note("memory", seed, &counts, began.elapsed());
}
