//! The schedules of the engine's hermitage file, over SQL, here and at PostgreSQL 15: each step has to end
//! with the same rows or the same SQLSTATE, at each level. At SERIALIZABLE the same transactions have to be
//! refused; PostgreSQL may say so at an UPDATE, and here it is said at the COMMIT.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use onlap_testkit::{postgres, programs};

use crate::common::{Answer, Wire, config, start};

const LEVELS: [&str; 3] = ["read committed", "repeatable read", "serializable"];
/// A step that has not ended by then waits for another session. Nothing depends on it but which of two
/// steps of different sessions comes first, where a machine is slower than that.
const GRACE: Duration = Duration::from_secs(1);

/// A name and steps, each of a session.
struct Schedule {
    name: String,
    steps: Vec<(char, String)>,
}

fn schedules() -> Vec<Schedule> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../engine/testdata/isolation/hermitage");
    let text = std::fs::read_to_string(path).expect("the engine's schedules");
    let mut all = Vec::new();
    let (mut name, mut steps, mut inside) = (String::new(), Vec::new(), false);
    for line in text.lines() {
        match line {
            "schedule" => inside = true,
            "----" if inside => {
                all.push(Schedule { name: name.clone(), steps: std::mem::take(&mut steps) });
                inside = false;
            }
            _ if inside => {
                let (session, words) = line.split_once(": ").expect("session: words");
                steps.push((session.chars().next().expect("a letter"), words.to_string()));
            }
            _ if line.starts_with("# ") => name = line.to_string(),
            _ => {}
        }
    }
    all
}

/// A step as SQL.
fn sql(words: &str, table: &str, level: &str) -> String {
    let (verb, rest) = words.split_once(' ').unwrap_or((words, ""));
    match verb {
        "begin" => format!("begin isolation level {level}"),
        "commit" | "rollback" => verb.to_string(),
        "select" => format!("select id, value from {table} {rest}"),
        "update" => format!("update {table} {rest}"),
        "delete" => format!("delete from {table} {rest}"),
        "insert" => format!("insert into {table} values ({})", rest.replace(' ', ", ")),
        _ => panic!("no SQL for '{words}'"),
    }
}

/// What a statement came to: its rows in order, or its SQLSTATE.
fn outcome(answers: &[Answer]) -> String {
    let mut rows: Vec<String> = Vec::new();
    for answer in answers {
        match answer.kind {
            b'D' => rows.push(answer.values().join(" ")),
            b'E' => return answer.field(b'C'),
            b'C' => {
                rows.sort();
                let tag = String::from_utf8_lossy(&answer.body);
                let tag = tag.trim_end_matches('\0');
                return if rows.is_empty() { tag.to_string() } else { rows.join(", ") };
            }
            _ => {}
        }
    }
    panic!("no end of a statement in {answers:?}")
}

/// A session that works on one statement while others go on.
struct Session {
    asks: Sender<String>,
    answers: Receiver<String>,
    /// The step whose outcome is not known yet.
    open: Option<usize>,
}

impl Session {
    fn begin(port: u16) -> Session {
        let (asks, asked) = channel::<String>();
        let (tell, answers) = channel();
        thread::spawn(move || {
            let mut wire = Wire::try_session(port).expect("the server listens");
            for sql in asked {
                if tell.send(outcome(&wire.query(&sql))).is_err() {
                    return;
                }
            }
        });
        Session { asks, answers, open: None }
    }

    fn wait(&mut self, outcomes: &mut [String]) {
        if let Some(step) = self.open.take() {
            let long = Duration::from_secs(60);
            outcomes[step] = self.answers.recv_timeout(long).expect("no wait is for ever");
        }
    }
}

/// Of transactions that were refused, says just that, wherever they were told.
fn say_refused(schedule: &Schedule, outcomes: &mut [String]) {
    let steps = || schedule.steps.iter().zip(0..);
    let refused: Vec<char> =
        steps().filter(|(_, i)| outcomes[*i] == "40001").map(|((name, _), _)| *name).collect();
    for ((name, words), i) in steps() {
        if refused.contains(name) && !words.starts_with("select") && words != "begin" {
            outcomes[i] = "refused".to_string();
        }
    }
}

/// All schedules at a level, as text.
fn played(port: u16, level: &str) -> String {
    let table = format!("test_{}", level.replace(' ', "_"));
    let mut wire = Wire::try_session(port).expect("the server listens");
    let mut text = String::new();
    for schedule in schedules() {
        for sql in [
            format!("drop table if exists {table}"),
            format!("create table {table} (id int primary key, value int)"),
            format!("insert into {table} values (1, 10), (2, 20)"),
        ] {
            outcome(&wire.query(&sql));
        }
        let _ = writeln!(text, "{}, {level}", schedule.name);
        let mut sessions: BTreeMap<char, Session> = BTreeMap::new();
        let mut outcomes = vec![String::new(); schedule.steps.len()];
        for (i, (name, words)) in schedule.steps.iter().enumerate() {
            let session = sessions.entry(*name).or_insert_with(|| Session::begin(port));
            session.wait(&mut outcomes);
            session.asks.send(sql(words, &table, level)).expect("the session lives");
            match session.answers.recv_timeout(GRACE) {
                Ok(found) => outcomes[i] = found,
                Err(_) => session.open = Some(i),
            }
        }
        sessions.values_mut().for_each(|session| session.wait(&mut outcomes));
        if level == LEVELS[2] {
            say_refused(&schedule, &mut outcomes);
        }
        for ((name, words), outcome) in schedule.steps.iter().zip(outcomes) {
            let _ = writeln!(text, "{name}: {words} -> {outcome}");
        }
        let all = outcome(&wire.query(&format!("select id, value from {table}")));
        let _ = writeln!(text, "at the end: {all}\n");
    }
    text
}

/// What both servers make of the schedules at a level.
fn compare(level: &'static str) {
    if !programs::are_there(&postgres::NEEDED) {
        return;
    }
    let running = start(config());
    let postgres = crate::support::postgres::shared();
    let (ours, theirs) = (running.address().port(), postgres.address.port);
    let playing = thread::spawn(move || played(theirs, level));
    let found = played(ours, level);
    let theirs = playing.join().expect("PostgreSQL plays them all");
    assert!(theirs.matches("at the end").count() >= 14, "{theirs}");
    crate::support::assert_same(level, &found, &theirs);
}

#[test]
fn read_committed() {
    compare(LEVELS[0]);
}

#[test]
fn repeatable_read() {
    compare(LEVELS[1]);
}

#[test]
fn serializable() {
    compare(LEVELS[2]);
}

/// The comparison tells levels apart: at the lowest PostgreSQL does what it does not at the highest.
#[test]
fn control_levels_differ() {
    if !programs::are_there(&postgres::NEEDED) {
        return;
    }
    let running = start(config());
    let port = running.address().port();
    let low = played(port, LEVELS[0]).replace(LEVELS[0], "");
    let high = played(port, LEVELS[2]).replace(LEVELS[2], "");
    assert!(!low.contains("40001") && high.contains("refused"));
    assert_ne!(low, high);
}
