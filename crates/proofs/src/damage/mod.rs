//! What becomes of a database whose files were damaged?
//!
//! A database with every kind of file is made, closed or left, and one of its files is damaged: a bit, a byte,
//! zeros over a sector or a page, a cut, two blocks exchanged, two files exchanged. Then everything is read in
//! every way. Either an error names file and offset, or every answer is that of the intact database: never
//! another row, a panic or a wait without end (the simulation tells when all tasks wait).
//!
//! Log files are besides taken away, emptied, exchanged with one another and with those of other databases
//! ([`logs`]): each is an error that names the file.
//!
//! One thing is neither: damage of the log that takes its end looks like a commit that was under way when the
//! power went. Commits from there on may be gone, whole and in order; a flipped bit can do that to the last one
//! alone, since each commit says how far the log was durable before it. They are counted apart.

mod build;
mod inflict;
mod logs;

use std::path::Path;
use std::sync::Arc;

use onlap::{
    CheckOptions, Database, Error, ErrorKind, KeyRange, Options, Result, Row, Rule, Scan, check,
};
use onlap_base::names::FileKind;
use onlap_base::rng::Rng;
use onlap_base::tasks::SimTasks;
use onlap_vfs::{Access, Fs, MemFs};

use crate::options::simulated;
use crate::{Counts, Verdict};
use build::Built;
use inflict::{Damage, inflict};

pub(crate) const DIR: &str = "/db";
/// Damages per database.
const PER_DATABASE: u64 = 50;

/// The disk with a database that has files of every kind.
pub(crate) fn example(rng: &mut Rng) -> MemFs {
    build::database(rng, 0).disk
}

/// One database, damaged many times.
///
/// # Errors
/// A wrong answer, or an error that names nothing.
pub fn run(seed: u64) -> Verdict {
    let mut counts = run_with(seed, |_, _, _| {})?;
    counts.extend(&logs::run(seed, None)?);
    Ok(counts)
}

/// What becomes of a database whose log files are missing or others, where a rule does not hold: a control.
///
/// # Errors
/// As [`run`].
pub fn run_without(seed: u64, rule: Rule) -> Verdict {
    logs::run(seed, Some(rule))
}

/// The same with something done to each file after it was damaged, for controls: the name, what it was and
/// what it is.
///
/// # Errors
/// As [`run`].
pub fn run_with(seed: u64, conceal: impl Fn(&str, &[u8], &mut Vec<u8>)) -> Verdict {
    let mut rng = Rng::new(seed);
    let built = build::database(&mut rng, 0);
    let mut counts = Counts::default();
    counts.add("databases", 1);
    for _ in 0..PER_DATABASE {
        let copy = copy_of(&built.disk);
        let Some(damage) = inflict(&copy, &mut rng, &conceal) else { continue };
        counts.add("corruptions", 1);
        counts.add(damage.file_kind(), 1);
        let outcome = judge(&built, &copy, &damage, &mut rng)
            .map_err(|finding| format!("{}: {finding}", damage.what))?;
        counts.add(outcome, 1);
    }
    Ok(counts)
}

fn copy_of(disk: &MemFs) -> MemFs {
    disk.crash(1, 1.0)
}

/// Everything that a database answers.
type Answers = Vec<Vec<Row>>;

fn judge(
    built: &Built,
    copy: &MemFs,
    damage: &Damage,
    rng: &mut Rng,
) -> std::result::Result<&'static str, String> {
    let tasks = SimTasks::new(rng.next_u64());
    let options = simulated(&built.options, Arc::new(copy.clone()), &tasks);
    let outcome = match read_everything(&options) {
        Ok(answers) if answers == built.states[built.states.len() - 1] => "harmless",
        Ok(answers) if damage.of_log() => {
            // What a flip takes is one record.
            let from = if damage.small { built.states.len() - 2 } else { 0 };
            if !built.states[from..].contains(&answers) {
                return Err("a wrong answer after damage of the log".into());
            }
            "taken for a torn end of the log"
        }
        Ok(answers) => return Err(difference(&answers, &built.states[built.states.len() - 1])),
        Err(e) => {
            names_the_place(&e)?;
            "detected"
        }
    };
    match check(DIR, &CheckOptions { options }) {
        Ok(report) if outcome == "harmless" && !report.findings.is_empty() => Ok("detected"),
        Ok(_) => Ok(outcome),
        Err(e) => names_the_place(&e).map(|()| outcome),
    }
}

fn names_the_place(e: &Error) -> std::result::Result<(), String> {
    match e.kind() {
        // Of a version number one bit may be enough.
        ErrorKind::NewerFormat => Ok(()),
        ErrorKind::Corruption if e.place().is_some_and(|place| !place.file.is_empty()) => Ok(()),
        kind => Err(format!("an error that names no place: {kind:?}: {e}")),
    }
}

fn difference(found: &Answers, expected: &Answers) -> String {
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        if found != expected {
            let more = found.iter().find(|row| !expected.contains(row));
            let less = expected.iter().find(|row| !found.contains(row));
            let (n, wanted) = (found.len(), expected.len());
            return format!("answer {at} has {n} rows, not {wanted}: {more:?}, not {less:?}");
        }
    }
    format!("{} answers, not {}", found.len(), expected.len())
}

/// Opens the database and reads it in every way.
fn read_everything(options: &Options) -> Result<Answers> {
    let db = Database::open(DIR, options.clone().create(false))?;
    let answers = answers(&db);
    drop(db);
    answers
}

fn answers(db: &Database) -> Result<Answers> {
    let snapshot = db.snapshot()?;
    let mut all = Vec::new();
    for table in db.tables() {
        let rows = snapshot.scan(&table, Scan::all())?.rows()?;
        let first = table.schema().columns[0].name.clone();
        all.push(snapshot.scan(&table, Scan::all().columns([first]).reverse())?.rows()?);
        for index in &table.schema().indexes {
            let name = &index.name;
            all.push(snapshot.index_scan(&table, name, KeyRange::all(), Scan::all())?.rows()?);
            let ids = snapshot.index_row_ids(&table, name, KeyRange::all())?;
            all.push(vec![vec![onlap::Value::Int(ids.len() as i64)]]);
        }
        for row in rows.iter().step_by(9) {
            all.push(snapshot.get(&table, &row[..1], None)?.into_iter().collect());
        }
        all.push(vec![vec![onlap::Value::Int(snapshot.count(&table)? as i64)]]);
        all.push(rows);
    }
    Ok(all)
}

fn read(fs: &dyn Fs, name: &str) -> Vec<u8> {
    let file = fs.open(&Path::new(DIR).join(name), Access::Read).expect("a file that is listed");
    let len = file.len().expect("a disk without faults") as usize;
    file.read_at(0, len).expect("a disk without faults").into_vec()
}

fn write(fs: &dyn Fs, name: &str, bytes: &[u8]) {
    let path = Path::new(DIR).join(name);
    let file = fs.create(&path, Access::ReadWrite).expect("a disk without faults");
    file.write_at(bytes, 0).expect("a disk without faults");
    file.sync_all().expect("a disk without faults");
}

/// Files that hold something.
fn files(fs: &dyn Fs) -> Vec<(String, FileKind)> {
    let names = fs.list(Path::new(DIR)).expect("a disk without faults");
    let known = names.into_iter().filter_map(|name| Some((FileKind::parse(&name)?, name)));
    known.filter(|(kind, _)| *kind != FileKind::Lock).map(|(kind, name)| (name, kind)).collect()
}
