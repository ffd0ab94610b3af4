//! May each role do with each object what it may in PostgreSQL 15, and nothing else?
//!
//! Makes the same roles and objects here and in a private PostgreSQL ([`fixture.sql`]), lets every actor try
//! every action in both, each in a transaction that is rolled back, and compares what comes of it: rows and
//! tags, or SQLSTATE and message. *Stories* are sequences of statements of several roles that are not undone.
//! What is tried stands in `testdata/matrix`; needs the Debian package postgresql.
//!
//! [`fixture.sql`]: ../testdata/matrix/fixture.sql

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use std::collections::BTreeMap;

use onlap_testkit::postgres::{self, Postgres};
use onlap_testkit::programs;
use onlap_testkit::simple::{Outcome, SimpleClient};
use support::{Fixture, Talk};

const FIXTURE: &str = include_str!("../testdata/matrix/fixture.sql");
const ACTORS: &str = include_str!("../testdata/matrix/actors.txt");
const ACTIONS: &str = include_str!("../testdata/matrix/actions.sql");
const EVERYONE: &str = include_str!("../testdata/matrix/everyone.sql");
/// Differences that are known: they are not to grow, and a line goes when it is mended.
const KNOWN: &str = include_str!("../testdata/matrix/known.txt");
const STORIES: &str = include_str!("../testdata/matrix/stories.sql");

/// The database of all of it.
const DATABASE: &str = "rights";
/// A row of s.t, for COPY.
const COPIED: &[u8] = b"7\t70\tseven\n";

/// One of the two systems, with a connection per role.
trait System {
    fn connect(&mut self, role: &str);
    fn run(&mut self, role: &str, sql: &str) -> Outcome;
    fn disconnect_all(&mut self);
}

struct Onlap {
    fixture: Fixture,
    sessions: BTreeMap<String, Talk>,
}

impl System for Onlap {
    fn connect(&mut self, role: &str) {
        if !self.sessions.contains_key(role) {
            let talk = self.fixture.session_in(role, DATABASE);
            self.sessions.insert(role.to_string(), talk);
        }
    }

    fn run(&mut self, role: &str, sql: &str) -> Outcome {
        self.connect(role);
        let talk = self.sessions.get_mut(role).expect("was just made");
        talk.client.input = vec![COPIED.to_vec()];
        talk.run(sql)
    }

    fn disconnect_all(&mut self) {
        self.sessions.clear();
    }
}

struct Judge {
    postgres: Postgres,
    clients: BTreeMap<String, SimpleClient>,
}

impl System for Judge {
    fn connect(&mut self, role: &str) {
        if !self.clients.contains_key(role) {
            let client = SimpleClient::connect(self.postgres.port(), role, DATABASE);
            self.clients.insert(role.to_string(), client.expect("the role may connect"));
        }
    }

    fn run(&mut self, role: &str, sql: &str) -> Outcome {
        self.connect(role);
        let client = self.clients.get_mut(role).expect("was just made");
        client.input = COPIED.to_vec();
        client.run(sql).unwrap_or_else(|e| panic!("{role}: {sql}: {e}"))
    }

    fn disconnect_all(&mut self) {
        self.clients.clear();
    }
}

/// Who acts: a role, and what it says first.
struct Actor {
    name: &'static str,
    first: &'static str,
}

/// What is done, and how it is compared.
struct Action {
    sql: &'static str,
    rows: bool,
    tiers: bool,
    outside: bool,
    served: bool,
}

fn lines(text: &'static str, comment: &str) -> impl Iterator<Item = &'static str> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.filter(move |line| !line.starts_with(comment)).collect::<Vec<_>>().into_iter()
}

fn actors() -> Vec<Actor> {
    let of = |line: &'static str| {
        let (name, first) = line.split_once(' ').unwrap_or((line, ""));
        Actor { name, first }
    };
    lines(ACTORS, "#").map(of).collect()
}

fn actions() -> Vec<Action> {
    let mut heading = "";
    let mut all = Vec::new();
    for line in lines(ACTIONS, "--") {
        if let Some(begins) = line.strip_prefix('[') {
            heading = begins.split(']').next().unwrap_or_default();
            continue;
        }
        let has = |word: &str| heading.split(' ').any(|found| found == word);
        all.push(Action {
            sql: line,
            rows: has("rows"),
            tiers: has("tiers"),
            outside: has("outside"),
            served: !has("not"),
        });
    }
    all
}

/// How two outcomes differ; the kind comes first.
fn difference(ours: &Outcome, theirs: &Outcome, rows: bool) -> Option<(&'static str, String)> {
    let said = |o: &Outcome| match &o.error {
        Some((state, text)) => format!("{state} {text}"),
        None => o.tags.join(", "),
    };
    let told = || format!("ours {}, PostgreSQL's {}", said(ours), said(theirs));
    match (&ours.error, &theirs.error) {
        (None, Some(_)) => Some(("escape", told())),
        (Some(_), None) => Some(("refusal", told())),
        (Some(a), Some(b)) if a.0 != b.0 => Some(("state", told())),
        (Some(a), Some(b)) if a != b => Some(("words", told())),
        (Some(_), Some(_)) => None,
        (None, None) if ours.tags != theirs.tags => Some(("tags", told())),
        (None, None) if rows => {
            let of = |o: &Outcome| (sorted(&o.rows), o.copied.clone());
            (of(ours) != of(theirs)).then(|| ("rows", differing_rows(ours, theirs)))
        }
        (None, None) => None,
    }
}

fn sorted(rows: &[Vec<Option<String>>]) -> Vec<Vec<Option<String>>> {
    let mut rows = rows.to_vec();
    rows.sort();
    rows
}

fn differing_rows(ours: &Outcome, theirs: &Outcome) -> String {
    let row = |r: &Vec<Option<String>>| {
        let value = |v: &Option<String>| v.clone().unwrap_or_else(|| "NULL".into());
        format!("({})", r.iter().map(value).collect::<Vec<_>>().join(", "))
    };
    let only = |a: &Outcome, b: &Outcome| {
        let extra = a.rows.iter().filter(|r| !b.rows.contains(r)).map(row);
        extra.take(6).collect::<Vec<_>>().join(" ")
    };
    format!("only ours {}; only PostgreSQL's {}", only(ours, theirs), only(theirs, ours))
}

/// What differed: by kind and statement, who found which difference.
#[derive(Default)]
struct Differences {
    found: BTreeMap<(&'static str, String), BTreeMap<String, Vec<String>>>,
}

impl Differences {
    fn note(&mut self, kind: &'static str, what: &str, how: String, actor: &str) {
        let of = self.found.entry((kind, what.to_string())).or_default();
        of.entry(how).or_default().push(actor.to_string());
    }

    fn count(&self) -> usize {
        self.found.values().flat_map(|of| of.values()).map(Vec::len).sum()
    }

    fn of(&self, kind: &str) -> usize {
        let of_kind = self.found.iter().filter(|((k, _), _)| *k == kind);
        of_kind.flat_map(|(_, of)| of.values()).map(Vec::len).sum()
    }

    /// Fails for what differs and is not known to, and for what is known to and does not.
    fn assert_known(&self, cells: usize, section: &str) {
        let known: Vec<&str> = lines(KNOWN, "--")
            .skip_while(|line| *line != section)
            .skip(1)
            .take_while(|line| !line.starts_with('['))
            .collect();
        let line = |(kind, what): &(&str, String)| format!("{kind}: {what}");
        let found: Vec<String> = self.found.keys().map(line).collect();
        let gone: Vec<&&str> = known.iter().filter(|k| !found.iter().any(|f| f == *k)).collect();
        let fresh: Vec<_> =
            self.found.iter().filter(|(key, _)| !known.iter().any(|k| *k == line(key))).collect();
        let mut text = String::new();
        for ((kind, what), of) in &fresh {
            text.push_str(&format!("\n{kind}: {what}"));
            for (how, actors) in *of {
                text.push_str(&format!("\n    {how}\n        {}", actors.join(" ")));
            }
        }
        println!(
            "{} of {cells} cells differ, {} of them escapes, {} refusals",
            self.count(),
            self.of("escape"),
            self.of("refusal")
        );
        assert!(fresh.is_empty(), "{} lines differ:{text}", fresh.len());
        assert!(gone.is_empty(), "these differ no longer: {gone:#?}");
    }
}

/// Both systems side by side, and what differed so far.
struct Walk {
    ours: Onlap,
    theirs: Judge,
    cells: usize,
    differences: Differences,
}

impl Walk {
    fn new() -> Walk {
        let ours = Onlap { fixture: Fixture::new(false), sessions: BTreeMap::new() };
        let theirs = Judge { postgres: Postgres::start(), clients: BTreeMap::new() };
        let mut walk = Walk { ours, theirs, cells: 0, differences: Differences::default() };
        let mut first = walk.ours.fixture.session();
        let port = walk.theirs.postgres.port();
        let mut judge = SimpleClient::connect(port, "postgres", "postgres").expect("it listens");
        first.rows("CREATE DATABASE rights");
        assert_eq!(judge.run("CREATE DATABASE rights").expect("it answers").error, None);
        for line in lines(FIXTURE, "--") {
            let (role, sql) = told(line).unwrap_or(("postgres", line));
            let answer = walk.theirs.run(role, sql);
            assert_eq!(answer.error, None, "{line}");
            if let Some(error) = walk.ours.run(role, sql).error {
                walk.differences.note("refusal", line, format!("{error:?}"), "the fixture");
            }
        }
        for system in walk.both() {
            system.run("victim", "SELECT 'of the victim'");
        }
        walk
    }

    fn both(&mut self) -> [&mut dyn System; 2] {
        [&mut self.ours, &mut self.theirs]
    }

    /// One actor tries one action.
    fn cell(&mut self, actor: &Actor, action: &Action) {
        let tiers: &[&str] = if action.tiers { &["on", "off"] } else { &["on"] };
        let theirs = attempt(&mut self.theirs, actor, action);
        for tier in tiers {
            let set = self.ours.run(actor.name, &format!("SET fast_path = {tier}"));
            assert_eq!(set.error, None);
            let ours = attempt(&mut self.ours, actor, action);
            self.cells += 1;
            if !action.served {
                if ours.error.is_none() {
                    self.differences.note("served", action.sql, "now".into(), actor.name);
                }
                continue;
            }
            if let Some((kind, how)) = difference(&ours, &theirs, action.rows) {
                let tier = if *tier == "off" { " (planned)" } else { "" };
                self.differences.note(kind, &format!("{}{tier}", action.sql), how, actor.name);
            }
        }
    }

    /// A statement whose outcome stays.
    fn step(&mut self, story: &str, role: &str, sql: &str) {
        let theirs = self.theirs.run(role, sql);
        let ours = self.ours.run(role, sql);
        self.cells += 1;
        if let Some((kind, how)) = difference(&ours, &theirs, true) {
            self.differences.note(kind, &format!("{role}: {sql}"), how, story);
        }
    }
}

/// `role: statement`.
fn told(line: &'static str) -> Option<(&'static str, &'static str)> {
    line.split_once(": ").filter(|(role, _)| !role.contains(' '))
}

/// Tries an action and undoes it.
fn attempt(system: &mut dyn System, actor: &Actor, action: &Action) -> Outcome {
    if action.outside {
        let first = (!actor.first.is_empty()).then(|| system.run(actor.name, actor.first));
        let outcome = system.run(actor.name, action.sql);
        if first.is_some() {
            system.run(actor.name, "RESET ROLE");
        }
        return outcome;
    }
    system.run(actor.name, "BEGIN");
    if !actor.first.is_empty() {
        let first = system.run(actor.name, actor.first);
        if first.error.is_some() {
            system.run(actor.name, "ROLLBACK");
            return first;
        }
    }
    let outcome = system.run(actor.name, action.sql);
    system.run(actor.name, "ROLLBACK");
    system.run(actor.name, "DEALLOCATE ALL");
    outcome
}

#[test]
fn every_role_may_what_it_may_in_postgresql() {
    if !programs::are_there(&postgres::NEEDED) {
        return;
    }
    let mut walk = Walk::new();
    let (actors, actions) = (actors(), actions());
    for actor in &actors {
        for action in &actions {
            walk.cell(actor, action);
        }
    }
    let of_postgres = Actor { name: "postgres", first: "" };
    for sql in lines(EVERYONE, "--") {
        let action = Action { sql, rows: true, tiers: false, outside: false, served: true };
        walk.cell(&of_postgres, &action);
    }
    println!(
        "{} cells of {} actors and {} actions, {} of which are not served",
        walk.cells,
        actors.len(),
        actions.len(),
        actions.iter().filter(|a| !a.served).count()
    );
    walk.differences.assert_known(walk.cells, "[matrix]");
}

#[test]
fn stories_of_roles_go_as_in_postgresql() {
    if !programs::are_there(&postgres::NEEDED) {
        return;
    }
    let mut walk = Walk::new();
    let mut story = "";
    for line in lines(STORIES, "--") {
        if let Some(name) = line.strip_prefix('[') {
            story = name.trim_end_matches(']');
            walk.both().into_iter().for_each(|system| system.disconnect_all());
            continue;
        }
        let (role, sql) = told(line).expect("a role and its statement");
        walk.step(story, role, sql);
    }
    println!("{} statements of stories", walk.cells);
    walk.differences.assert_known(walk.cells, "[stories]");
}

/// Control: a grant more in one of the two systems is seen, in either direction.
#[test]
fn a_grant_more_is_seen() {
    if !programs::are_there(&postgres::NEEDED) {
        return;
    }
    let mut walk = Walk::new();
    let before = walk.differences.count();
    let stranger = Actor { name: "stranger", first: "" };
    let action = |sql| Action { sql, rows: true, tiers: true, outside: false, served: true };
    let reads = action("SELECT n FROM s.t WHERE id = 1");
    walk.cell(&stranger, &reads);
    assert_eq!(walk.differences.count(), before);
    walk.theirs.run("owner", "GRANT SELECT (n, id) ON s.t TO stranger");
    walk.cell(&stranger, &reads);
    assert_eq!(walk.differences.of("refusal"), before + 2);
    walk.theirs.run("owner", "REVOKE SELECT (n, id) ON s.t FROM stranger");
    walk.ours.run("owner", "GRANT SELECT ON s.t TO stranger");
    walk.cell(&stranger, &reads);
    assert_eq!(walk.differences.of("escape"), 2);
}
