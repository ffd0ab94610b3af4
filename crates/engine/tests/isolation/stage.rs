//! How do sessions take turns?
//!
//! Each is a task of the simulation that waits for steps at its desk. Exactly one task runs at a time,
//! and virtual time passes only while all of them wait: what has not ended after [`PATIENCE`] waits
//! for a lock.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use onlap::{
    Action, DataType, Database, ForeignKeySpec, IndexSpec, Isolation, Options, Rule, Scan,
    SyncMode, TableSpec, Value,
};
use onlap_base::tasks::{Event, SimTasks, TaskHandle, Tasks};
use onlap_vfs::MemFs;

use crate::session::{Session, show};

/// Longer than anything takes that does not wait, and less than the shortest wait of a story.
const PATIENCE: Duration = Duration::from_millis(8);

/// The tables and rows of a story.
#[derive(Clone, Debug, Default)]
pub struct Given(pub Vec<String>);

/// What happens after each step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upkeep {
    None,
    Flush,
    Settle,
    /// Nothing, but the rows of transactions leave memory as they come.
    Spill,
}

/// How a schedule is played.
#[derive(Clone, Copy, Debug)]
pub struct Play {
    pub level: Isolation,
    pub without: Option<Rule>,
    pub upkeep: Upkeep,
    pub seed: u64,
}

/// A session's steps, and what came of them.
pub struct Desk {
    state: Mutex<DeskState>,
    event: Arc<Event>,
}

#[derive(Default)]
struct DeskState {
    steps: VecDeque<String>,
    done: Vec<(String, String)>,
    closed: bool,
}

impl Desk {
    fn new(tasks: &SimTasks) -> Arc<Desk> {
        Arc::new(Desk { state: Mutex::default(), event: tasks.event() })
    }

    /// The body of a session.
    fn serve(&self, mut session: Session) {
        loop {
            let seen = self.event.epoch();
            let next = self.state.lock().unwrap().steps.pop_front();
            match next {
                Some(step) => {
                    let out = session.run(&step);
                    self.state.lock().unwrap().done.push((step, out));
                }
                None if self.state.lock().unwrap().closed => return,
                None => drop(self.event.wait(seen, None)),
            }
        }
    }
}

struct Stage {
    tasks: SimTasks,
    db: Database,
    level: Isolation,
    desks: BTreeMap<String, Arc<Desk>>,
    handles: Vec<TaskHandle>,
}

impl Stage {
    fn desk(&mut self, name: &str) -> Arc<Desk> {
        if let Some(desk) = self.desks.get(name) {
            return Arc::clone(desk);
        }
        let desk = Desk::new(&self.tasks);
        let (own, session) = (Arc::clone(&desk), Session::new(self.db.clone(), self.level));
        self.handles.push(self.tasks.spawn(name, Box::new(move || own.serve(session))));
        self.desks.insert(name.to_owned(), Arc::clone(&desk));
        desk
    }

    fn upkeep(&self, step: &str) {
        match step.split_once(' ') {
            None if step == "flush" => self.db.flush().unwrap(),
            None if step == "settle" => self.db.settle().unwrap(),
            Some(("pass", ms)) => {
                self.tasks.sleep(Duration::from_millis(ms.parse().expect("milliseconds")));
            }
            _ => panic!("unknown step {step}"),
        }
    }

    /// Tells what ended; `step` is the one that was just begun, if it is still to be told.
    fn tell(&self, mut step: Option<(&str, &str)>, out: &mut String) {
        for (name, desk) in &self.desks {
            for (done, result) in desk.state.lock().unwrap().done.drain(..) {
                let now = step == Some((name, &done));
                let (indent, text) = if now { ("", done.as_str()) } else { ("    ", "") };
                let text = if now { format!(" {text}") } else { String::new() };
                let result = if result.is_empty() { result } else { format!(" -> {result}") };
                if now {
                    // It comes first, whatever it set free.
                    let mut told = format!("{name}:{text}{result}\n");
                    told.push_str(out);
                    *out = told;
                    step = None;
                } else {
                    writeln!(out, "{indent}{name}: {done}{result}").unwrap();
                }
            }
        }
        if let Some((name, text)) = step {
            *out = format!("{name}: {text} -> waits\n{out}");
        }
    }

    fn step(&mut self, line: &str, upkeep: Upkeep) -> String {
        let (name, step) = line.split_once(": ").unwrap_or_else(|| panic!("{line}: whose step?"));
        let mut out = String::new();
        if name == "db" {
            self.upkeep(step);
            self.tasks.sleep(PATIENCE);
            self.tell(None, &mut out);
            return format!("{line}\n{out}");
        }
        let desk = self.desk(name);
        desk.state.lock().unwrap().steps.push_back(step.to_owned());
        desk.event.notify();
        self.tasks.sleep(PATIENCE);
        self.tell(Some((name, step)), &mut out);
        match upkeep {
            Upkeep::None | Upkeep::Spill => {}
            Upkeep::Flush => self.db.flush().unwrap(),
            Upkeep::Settle => {
                self.db.flush().unwrap();
                self.db.settle().unwrap();
            }
        }
        out
    }
}

fn options(tasks: &SimTasks, play: Play) -> Options {
    let mut options = Options::default().sync(SyncMode::Os).memory_limit(32 << 20);
    options.background_jobs = 1;
    options.tuning.merge_fan_in = 2;
    options.tuning.log_file_bytes = 64 << 10;
    options.log_limit = 256 << 10;
    options.tuning.without = play.without;
    options.tuning.spill_bytes = (play.upkeep == Upkeep::Spill).then_some(1);
    options.fs = Arc::new(MemFs::new());
    options.clock = Arc::new(tasks.clone());
    options.tasks = Arc::new(tasks.clone());
    options
}

impl Given {
    fn create(&self, db: &Database) {
        let mut specs: Vec<TableSpec> = Vec::new();
        let mut rows: Vec<(&str, Vec<Value>)> = Vec::new();
        for line in &self.0 {
            let mut words = line.split_whitespace();
            let (what, name) = (words.next().expect("a word"), words.next().expect("a name"));
            match what {
                "table" => {
                    let key = words.next().expect("a key");
                    let spec = TableSpec::new(name).column(key, DataType::Int8).primary_key([key]);
                    specs.push(words.fold(spec, |s, c| s.nullable_column(c, DataType::Int8)));
                }
                "index" | "unique" => {
                    let index = IndexSpec::new(name, words);
                    let index = if what == "unique" { index.unique() } else { index };
                    let spec = specs.pop().expect("an index follows a table");
                    specs.push(spec.index(index));
                }
                "foreign" => {
                    let (column, parent) = (words.next(), words.next());
                    let names = [column.expect("a column")];
                    let key = ForeignKeySpec::new(name, names, parent.expect("a table"));
                    let key = match words.next() {
                        None => key,
                        Some("cascade") => key.on_delete(Action::Cascade),
                        Some(other) => panic!("what is {other}?"),
                    };
                    let spec = specs.pop().expect("a foreign key follows a table");
                    specs.push(spec.foreign_key(key));
                }
                "row" => rows.push((name, words.map(number).collect())),
                other => panic!("what is {other}?"),
            }
        }
        for spec in specs {
            db.create_table(spec).unwrap();
        }
        for (table, row) in rows {
            db.table(table).unwrap().insert(&row).unwrap();
        }
    }

    fn tables(&self) -> impl Iterator<Item = &str> {
        let named = |line: &'_ String| line.strip_prefix("table ").is_some();
        self.0
            .iter()
            .filter(move |line| named(line))
            .map(|line| line.split_whitespace().nth(1).expect("a name"))
    }
}

fn number(word: &str) -> Value {
    if word == "null" { Value::Null } else { Value::Int(word.parse().expect("a number")) }
}

/// Plays a schedule; what happened, and what is in the tables then.
pub fn play(given: &Given, schedule: &[String], play: Play) -> String {
    let tasks = SimTasks::new(play.seed);
    let db = Database::open("/db", options(&tasks, play)).unwrap();
    given.create(&db);
    let mut stage =
        Stage { tasks, db, level: play.level, desks: BTreeMap::new(), handles: Vec::new() };
    let mut out = String::new();
    for line in schedule {
        out += &stage.step(line, play.upkeep);
    }
    let Stage { db, desks, handles, .. } = stage;
    for desk in desks.values() {
        desk.state.lock().unwrap().closed = true;
        desk.event.notify();
    }
    handles.into_iter().for_each(|handle| handle.join().unwrap());
    let open = desks.values().any(|desk| !desk.state.lock().unwrap().done.is_empty());
    assert!(!open, "a step still waits at the end of the schedule:\n{out}");
    let snapshot = db.snapshot().unwrap();
    for name in given.tables() {
        let rows = snapshot.scan(&db.table(name).unwrap(), Scan::all()).unwrap().rows().unwrap();
        writeln!(out, "{name}: {}", show(rows)).unwrap();
    }
    drop(snapshot);
    db.close().unwrap();
    out
}
