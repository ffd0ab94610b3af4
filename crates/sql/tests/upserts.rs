//! Does an upsert that had to wait do what it says? Is an acknowledged change ever lost?
//!
//! Schedules of two sessions run here and at PostgreSQL 15: each step has to end with the same rows, the same
//! count or the same SQLSTATE, and the same rows have to be there at the end, at each level. Then many sessions
//! upsert the same keys at once, and the sums have to be those that were acknowledged.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use onlap_testkit::postgres::{NEEDED, Postgres};
use onlap_testkit::programs;
use onlap_testkit::simple::Outcome;
use support::{Fixture, Talk};

const LEVELS: [&str; 3] = ["read committed", "repeatable read", "serializable"];

/// A counter in place, one under an index, one with a second unique key, rows that follow others, and a view.
const TABLES: &str = "create table plain (k int primary key, n int);
    create table u (k int primary key, n int);
    create index u_n on u (n);
    create table w (id int primary key, c int unique, n int);
    create table tree (id int primary key, n int,
        parent int references tree on update cascade on delete cascade);
    create view low as select k, n from u where n < 50 with check option";

/// What each schedule begins with.
const ROWS: &str = "delete from plain; delete from u; delete from w; delete from tree;
    insert into plain values (1, 0), (2, 0);
    insert into u values (1, 0), (2, 0);
    insert into w values (1, 10, 0), (2, 20, 0);
    insert into tree (id, parent, n) values (1, null, 0), (2, 1, 0), (3, 2, 0)";

/// What is compared at the end.
const ALL: [&str; 4] = [
    "select k, n from plain order by k",
    "select k, n from u order by k",
    "select id, c, n from w order by id",
    "select id, parent, n from tree order by id",
];

/// The upserts that meet another session's change; `{t}` is the table.
const UPSERTS: [&str; 7] = [
    "insert into {t} values (1, 100) on conflict (k) do update set n = {t}.n + 1",
    "insert into {t} values (1, 100) on conflict (k) do update set n = {t}.n + excluded.n, k = 1",
    "insert into {t} values (1, 100) on conflict (k) do update set n = {t}.n + 1 returning k, n",
    "insert into {t} values (1, 100) on conflict (k) do update set n = {t}.n + excluded.n where {t}.n < 50 returning n",
    "insert into {t} values (1, 100) on conflict do nothing",
    "insert into {t} values (2, 200), (1, 100), (3, 300) on conflict (k) do update set n = {t}.n + 1 returning k, n",
    "insert into {t} select k, 7 from {t} on conflict (k) do update set n = {t}.n + excluded.n",
];

/// What the other session has done to the row when the upsert comes.
const CHANGES: [&str; 7] = [
    "update {t} set n = n + 10 where k = 1",
    "update {t} set n = n * 2 + 60 where k = 1",
    "update {t} set k = 5 where k = 1",
    "delete from {t} where k = 1",
    "delete from {t} where k = 1; insert into {t} values (1, 40)",
    "select n from {t} where k = 1 for update",
    "insert into {t} values (3, 30)",
];

/// Changes and locks that wait, and what they wait for.
const OTHERS: [(&str, &str); 28] = [
    ("update u set n = n + 1 where k = 1", "update u set n = n * 3 + 1 where n = 0 returning k, n"),
    ("update u set n = n + 1 where k = 1", "update u set n = n + 5 where n < 3 and k = 1"),
    ("update u set k = 9 where k = 1", "update u set n = n + 5 where n = 0"),
    ("update u set n = n + 1 where k = 1", "delete from u where n <= 1 returning k, n"),
    ("update u set n = n + 1 where k = 1", "select k, n from u where k = 1 for update"),
    (
        "update u set n = n + 1",
        "update u set n = n * 2 where k in (select k from u order by k for update)",
    ),
    (
        "update w set c = 11 where id = 1",
        "insert into w values (7, 10, 1) on conflict (c) do update set n = w.n + 1",
    ),
    (
        "update w set n = 5 where id = 1",
        "insert into w values (7, 10, 1) on conflict (c) do update set n = w.n + 1 returning id, n",
    ),
    ("delete from w where id = 1", "insert into w values (1, 10, 1) on conflict do nothing"),
    ("update tree set n = 1 where id = 2", "update tree set id = id * 10, n = n + 1"),
    // Statements that change rows in their WITH.
    (
        "update u set n = n + 1 where k = 1",
        "with t as (update u set n = n + 5 where k = 1 returning k, n) select * from t",
    ),
    (
        "update u set n = n + 1 where k = 1",
        "with t as (delete from u where n = 0 returning k, n), s as (insert into plain select k + 10, n from t returning k) select * from s",
    ),
    (
        "delete from u where k = 1",
        "with t as (update u set n = n + 5 returning k) update plain set n = 9 from t where plain.k = t.k returning plain.k",
    ),
    (
        "update plain set n = n + 1 where k = 1",
        "with t as (update u set n = n + 5 where k = 1 returning k) update plain set n = plain.n + 9 from t where plain.k = t.k returning plain.k, n",
    ),
    (
        "insert into u values (3, 30)",
        "with t as (insert into u values (3, 1) on conflict (k) do update set n = u.n + 1 returning k, n) update plain set n = t.n from t where plain.k = 1 returning plain.n",
    ),
    (
        "insert into u values (3, 30)",
        "with t as (insert into u values (3, 1) returning k) select * from t",
    ),
    (
        "update u set n = n + 1 where k = 1",
        "with t as (insert into plain values (7, 7) returning k), l as (select n from u where k = 1 for update) select * from t, l",
    ),
    // MERGE.
    ("update u set n = n + 1 where k = 1", MERGE),
    ("update u set n = n + 60 where k = 1", MERGE),
    ("update u set k = 9 where k = 1", MERGE),
    ("delete from u where k = 1", MERGE),
    ("select n from u where k = 1 for update", MERGE),
    ("update plain set n = n + 1 where k = 1", PLAIN_MERGE),
    ("delete from plain where k = 1", PLAIN_MERGE),
    (
        "insert into u values (3, 30)",
        "merge into u using (values (3)) s(k) on u.k = s.k when matched then update set n = u.n + 1 when not matched then insert values (s.k, 77)",
    ),
    // Views.
    ("update u set n = n + 60 where k = 1", "update low set n = n + 1 where k = 1 returning k, n"),
    ("update u set n = n + 1 where k = 1", "update low set n = n + 1 where k = 1 returning k, n"),
    ("update u set n = 49 where k = 1", "update low set n = n + 1 where k = 1 returning k, n"),
];

/// Changes, deletes or inserts a row, by what it is then.
const MERGE: &str = "merge into u using (values (1), (2)) s(k) on u.k = s.k
    when matched and u.n > 50 then delete
    when matched then update set n = u.n + 10
    when not matched then insert values (s.k + 100, 77)";

/// The same of a table without an index on what it changes.
const PLAIN_MERGE: &str = "merge into plain p using (values (1), (2)) s(k) on p.k = s.k
    when matched then update set n = p.n + 10 when not matched then insert values (s.k, 77)";

/// The first session's change, the statement that meets it, and how the first ends.
fn schedules() -> Vec<[String; 3]> {
    let mut all = Vec::new();
    for table in ["plain", "u"] {
        for change in CHANGES {
            for upsert in UPSERTS {
                all.push([change, upsert, "commit"].map(|sql| sql.replace("{t}", table)));
            }
            all.push([change, UPSERTS[0], "rollback"].map(|sql| sql.replace("{t}", table)));
        }
    }
    for (change, other) in OTHERS {
        all.extend(["commit", "rollback"].map(|end| [change, other, end].map(str::to_string)));
    }
    all
}

/// A session of either side.
trait Talks: Send {
    /// The rows, sorted, and the count, or the SQLSTATE.
    fn say(&mut self, sql: &str) -> String;
}

/// A database that schedules run in.
trait Side {
    fn name(&self) -> &'static str;
    fn session(&self) -> Box<dyn Talks>;
    /// Waits for locks that have begun, or that there are.
    fn waits(&self) -> u64;
}

struct Ours(Fixture);

impl Side for Ours {
    fn name(&self) -> &'static str {
        "onlap"
    }
    fn session(&self) -> Box<dyn Talks> {
        Box::new(self.0.session())
    }
    fn waits(&self) -> u64 {
        self.0.instance.database().stats().expect("statistics").transactions.lock_waits
    }
}

impl Talks for Talk {
    fn say(&mut self, sql: &str) -> String {
        let Outcome { rows, tags, error, .. } = self.run(sql);
        if let Some((state, _)) = error {
            return state;
        }
        let value = |value: &Option<String>| value.clone().unwrap_or_default();
        let mut rows: Vec<String> =
            rows.iter().map(|row| row.iter().map(value).collect::<Vec<_>>().join(" ")).collect();
        rows.sort();
        let count = tags.last().and_then(|tag| tag.rsplit(' ').next()?.parse::<u64>().ok());
        format!("{}; {}", rows.join(", "), count.unwrap_or(0))
    }
}

struct Theirs {
    postgres: Postgres,
    watcher: std::cell::RefCell<Psql>,
}

impl Side for Theirs {
    fn name(&self) -> &'static str {
        "postgresql"
    }
    fn session(&self) -> Box<dyn Talks> {
        Box::new(Psql::connect(&self.postgres))
    }
    fn waits(&self) -> u64 {
        let waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'";
        let said = self.watcher.borrow_mut().say(waiting);
        said.split(';').next().and_then(|n| n.parse().ok()).expect("a count")
    }
}

/// A session of psql.
struct Psql {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

const END: &str = "<<end of a statement>>";

impl Psql {
    fn connect(postgres: &Postgres) -> Psql {
        let mut child = postgres
            .psql()
            .args(["-q", "-A", "-t", "-F", " "])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("psql is installed");
        let input = child.stdin.take().expect("piped");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Psql { child, input, output }
    }
}

impl Talks for Psql {
    fn say(&mut self, sql: &str) -> String {
        write!(self.input, "{sql};\n\\echo :ERROR :SQLSTATE :ROW_COUNT {END}\n").expect("it lives");
        let mut rows = Vec::new();
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line).expect("it lives");
            assert!(read > 0, "psql has ended");
            let line = line.trim_end_matches('\n');
            let Some(end) = line.strip_suffix(END) else {
                rows.push(line.to_string());
                continue;
            };
            let mut words = end.split(' ');
            let (error, state, count) = (words.next(), words.next(), words.next());
            return match error {
                Some("true") => state.expect("a state").to_string(),
                _ => {
                    rows.sort();
                    format!("{}; {}", rows.join(", "), count.expect("a count"))
                }
            };
        }
    }
}

impl Drop for Psql {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A session that works on one statement while another goes on.
struct Apart {
    asks: Sender<String>,
    answers: Receiver<String>,
}

impl Apart {
    fn of(mut talks: Box<dyn Talks>) -> Apart {
        let (asks, asked) = channel::<String>();
        let (tell, answers) = channel();
        thread::spawn(move || asked.iter().all(|sql| tell.send(talks.say(&sql)).is_ok()));
        Apart { asks, answers }
    }

    /// The answer, or `None` once the statement waits for a lock.
    fn begin(&self, side: &dyn Side, sql: &str) -> Option<String> {
        let before = side.waits();
        self.asks.send(sql.to_string()).expect("the session lives");
        loop {
            match self.answers.recv_timeout(Duration::from_millis(2)) {
                Ok(answer) => return Some(answer),
                Err(RecvTimeoutError::Timeout) if side.waits() > before => return None,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => panic!("{sql}: the session has ended"),
            }
        }
    }

    fn end(&self) -> String {
        self.answers.recv_timeout(Duration::from_secs(60)).expect("no wait is for ever")
    }
}

/// What a schedule comes to, step by step and at the end.
fn play(side: &dyn Side, level: &str, [change, other, end]: &[String; 3]) -> Vec<String> {
    let mut first = side.session();
    first.say(ROWS);
    let second = Apart::of(side.session());
    let begin = format!("begin isolation level {level}");
    let mut told = vec![first.say(&begin)];
    told.extend(change.split("; ").map(|sql| first.say(sql)));
    told.extend(second.begin(side, &begin));
    let answer = second.begin(side, other);
    told.push(first.say(end));
    let answer = answer.unwrap_or_else(|| second.end());
    let failed = answer.len() == 5 && !answer.contains(';');
    told.push(answer);
    let ended = second.begin(side, if failed { "rollback" } else { "commit" });
    told.push(ended.unwrap_or_else(|| second.end()));
    told.extend(ALL.iter().map(|sql| first.say(sql)));
    told
}

fn compare(level: &str) {
    if !programs::are_there(&NEEDED) {
        return;
    }
    let ours = Ours(Fixture::new(false));
    let postgres = Postgres::start();
    let watcher = std::cell::RefCell::new(Psql::connect(&postgres));
    let theirs = Theirs { postgres, watcher };
    let mut differ = Vec::new();
    let sides: [&dyn Side; 2] = [&ours, &theirs];
    for side in sides {
        side.session().say(TABLES);
    }
    for schedule in schedules() {
        let [found, expected] = sides.map(|side| play(side, level, &schedule));
        // What was read whole has changed: here that is refused without a closer look, and at the COMMIT.
        let refused = level == LEVELS[2] && found.contains(&"40001".to_string());
        if found != expected && !refused {
            let names = sides.map(Side::name);
            differ
                .push(format!("{schedule:?}\n{}: {found:?}\n{}: {expected:?}", names[0], names[1]));
        }
    }
    assert!(differ.is_empty(), "{level}: {} differ\n{}", differ.len(), differ.join("\n"));
}

#[test]
fn at_read_committed_as_in_postgresql() {
    compare(LEVELS[0]);
}

#[test]
fn at_repeatable_read_as_in_postgresql() {
    compare(LEVELS[1]);
}

#[test]
fn at_serializable_as_in_postgresql() {
    compare(LEVELS[2]);
}

const SESSIONS: usize = 8;

/// Runs sessions at once; each is given its number. All of their statements have to succeed.
fn at_once(fixture: &Fixture, work: impl Fn(usize, &mut Talk) + Send + Sync + 'static) {
    let (work, start) = (Arc::new(work), Arc::new(Barrier::new(SESSIONS)));
    let sessions: Vec<_> = (0..SESSIONS)
        .map(|number| {
            let (mut talk, work, start) =
                (fixture.session(), Arc::clone(&work), Arc::clone(&start));
            thread::spawn(move || {
                start.wait();
                work(number, &mut talk);
            })
        })
        .collect();
    sessions.into_iter().for_each(|session| session.join().expect("every statement succeeds"));
}

fn number(rows: &[Vec<Option<String>>]) -> u64 {
    rows[0][0].as_deref().and_then(|text| text.parse().ok()).expect("a number")
}

/// A statement of one row that raises a counter.
fn raise(table: &str, key: u64) -> String {
    format!("insert into {table} values ({key}, 1) on conflict (k) do update set n = {table}.n + 1")
}

#[test]
fn counters_have_every_upsert_that_was_acknowledged() {
    const EACH: u64 = 150;
    let fixture = Fixture::new(true);
    let mut talk = fixture.session();
    for table in ["plain", "indexed"] {
        talk.rows(&format!("create table {table} (k int primary key, n int)"));
    }
    talk.rows("create index on indexed (n)");
    at_once(&fixture, |number, talk| {
        for i in 0..EACH {
            for table in ["plain", "indexed"] {
                talk.rows(&raise(table, (i + number as u64) % 3));
            }
        }
    });
    for table in ["plain", "indexed"] {
        let sum = number(&talk.rows(&format!("select sum(n) from {table}")));
        assert_eq!(sum, EACH * SESSIONS as u64, "{table}");
    }
    assert_eq!(number(&talk.rows("select count(*) from indexed where n >= 0")), 3);
}

/// Every session brings every key, in the same order: single rows lock nothing that could close a circle.
#[test]
fn upserts_of_fresh_keys_wait_and_do_not_fail() {
    const KEYS: u64 = 180;
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    for table in ["plain", "indexed"] {
        talk.rows(&format!("create table {table} (k int primary key, n int)"));
    }
    talk.rows("create index on indexed (n)");
    at_once(&fixture, |_, talk| {
        for i in 0..KEYS {
            // Rising ones, and others.
            talk.rows(&raise("plain", i));
            talk.rows(&raise("indexed", i * 7919 % KEYS));
        }
    });
    for table in ["plain", "indexed"] {
        let sql = format!("select count(*) from {table} where n = {SESSIONS}");
        assert_eq!(number(&talk.rows(&sql)), KEYS, "{table}");
    }
}

#[test]
fn an_upsert_that_waited_takes_one_number_of_a_sequence() {
    let fixture = Fixture::new(false);
    let mut first = fixture.session();
    first.rows("create sequence q");
    first.rows("create table s (k int primary key, n int default nextval('q'), c int)");
    first.rows("begin");
    first.rows("insert into s (k, c) values (1, 1)");
    let mut second = fixture.session();
    let upsert = "insert into s (k, c) values (1, 7) on conflict (k) do update set c = s.c + 1";
    let waits = thread::spawn(move || second.run(upsert).tags);
    thread::sleep(Duration::from_millis(300));
    first.rows("commit");
    assert_eq!(waits.join().expect("it ends"), ["INSERT 0 1"]);
    assert_eq!(support::texts(&first.rows("select k, n, c from s")), ["1|1|2"]);
    assert_eq!(support::texts(&first.rows("select nextval('q')")), ["3"]);
}
