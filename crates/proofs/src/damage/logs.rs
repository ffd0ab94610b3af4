//! What becomes of a database whose log files are missing, or others?
//!
//! Three databases: one, a copy of it that goes its own way later, and a foreign one. Of the first each log
//! file that is needed is removed, emptied, cut, exchanged with each other, and replaced by what stands under its
//! number in the two others, or under any number in the foreign one. Opening it must be an error that names the
//! file, and so must a check be; only a cut that takes nothing of a file may leave every answer as it was.

use std::path::Path;
use std::sync::Arc;

use onlap::{CheckOptions, ErrorKind, Rule, check};
use onlap_base::names::FileKind;
use onlap_base::rng::Rng;
use onlap_base::tasks::SimTasks;
use onlap_format::manifest::load;
use onlap_vfs::{Fs, MemFs};

use super::build::{self, Built};
use super::{Answers, DIR, copy_of, files, read, read_everything, write};
use crate::options::simulated;
use crate::{Counts, Verdict};

/// Bytes that a file begins with and that tell it from others: number, where it goes on, stamps.
const HEADER_BYTES: usize = onlap_format::log::HEADER_BYTES;

/// A database, what it answers, and how it is opened.
struct Victim {
    built: Built,
    answers: Answers,
    without: Option<Rule>,
}

pub(super) fn run(seed: u64, without: Option<Rule>) -> Verdict {
    let mut rng = Rng::new(seed ^ 0x6C6F_6773);
    let built = build::database(&mut rng, 0);
    let foreign = build::database(&mut rng, 1);
    build::go_on(&mut rng, &foreign, 4).map_err(|e| e.to_string())?;
    let (disk, options) = (copy_of(&built.disk), built.options.clone());
    let sibling = Built { disk, options, states: Vec::new() };
    build::go_on(&mut rng, &sibling, 2).map_err(|e| e.to_string())?;
    let answers = build::go_on(&mut rng, &built, 3).map_err(|e| e.to_string())?;
    let victim = Victim { built, answers, without };
    let needed = needed(&victim.built.disk)?;
    let mut counts = Counts::default();
    for name in &needed {
        for (what, harmed, names) in harms(&victim, &needed, name, &foreign, &sibling, &mut rng) {
            counts.add("corruptions", 1);
            counts.add("of logs", 1);
            counts.add("log files missing or others", 1);
            let outcome = victim.judge(&harmed, &names, what == "cut", &mut rng);
            counts.add(outcome.map_err(|e| format!("{name} {what}: {e}"))?, 1);
        }
    }
    Ok(counts)
}

/// Names of the log files that the manifest needs, rising.
fn needed(disk: &MemFs) -> Result<Vec<String>, String> {
    let current = String::from_utf8(read(disk, "CURRENT")).map_err(|e| e.to_string())?;
    let name = current.trim_end();
    let Some(FileKind::Manifest(number)) = FileKind::parse(name) else {
        return Err(format!("CURRENT names {name}"));
    };
    let state = load(name, number, &read(disk, name)).map_err(|e| e.to_string())?.state;
    let newest = state.log_begun.ok_or("the manifest knows no log file")?.file;
    let mut names: Vec<String> = files(disk)
        .into_iter()
        .filter(
            |(_, kind)| matches!(kind, FileKind::Log(n) if (state.log_oldest..=newest).contains(n)),
        )
        .map(|(name, _)| name)
        .collect();
    names.sort();
    Ok(names)
}

/// What was done, the disk after it, and the files of which one is to be named.
type Harm = (&'static str, MemFs, Vec<String>);

fn harms(
    victim: &Victim,
    needed: &[String],
    name: &str,
    foreign: &Built,
    sibling: &Built,
    rng: &mut Rng,
) -> Vec<Harm> {
    let disk = &victim.built.disk;
    let intact = read(disk, name);
    let mut out: Vec<Harm> = Vec::new();
    let mut with = |what, bytes: Option<&[u8]>| {
        let copy = copy_of(disk);
        match bytes {
            Some(bytes) => write(&copy, name, bytes),
            None => copy.remove(&Path::new(DIR).join(name)).expect("a disk without faults"),
        }
        out.push((what, copy, vec![name.to_owned()]));
    };
    with("removed", None);
    with("emptied", Some(&[]));
    with("filled with zeros", Some(&vec![0; intact.len()]));
    with("cut", Some(&intact[..rng.index(intact.len())]));
    let others: Vec<String> = files(&foreign.disk)
        .into_iter()
        .filter(|(_, kind)| matches!(kind, FileKind::Log(_)))
        .map(|(name, _)| name)
        .collect();
    let any: &String = rng.pick(&others);
    with("replaced by any foreign one", Some(&read(&foreign.disk, any)));
    for (what, other) in [("foreign", &foreign.disk), ("of another time", &sibling.disk)] {
        let there = files(other).iter().any(|(n, _)| n == name);
        // A file from before the copies parted is the same.
        let bytes = if there { read(other, name) } else { continue };
        if bytes.get(..HEADER_BYTES) != intact.get(..HEADER_BYTES) {
            with(what, Some(&bytes));
        }
    }
    for other in needed.iter().filter(|other| *other > &name.to_owned()) {
        let copy = copy_of(disk);
        write(&copy, name, &read(disk, other));
        write(&copy, other, &intact);
        out.push(("exchanged", copy, vec![name.to_owned(), other.clone()]));
    }
    out
}

impl Victim {
    fn judge(
        &self,
        harmed: &MemFs,
        names: &[String],
        may_be_harmless: bool,
        rng: &mut Rng,
    ) -> Result<&'static str, String> {
        let tasks = SimTasks::new(rng.next_u64());
        let mut options = simulated(&self.built.options, Arc::new(harmed.clone()), &tasks);
        options.tuning.without = self.without;
        let copy = copy_of(harmed);
        match read_everything(&options) {
            Ok(answers) if may_be_harmless && answers == self.answers => return Ok("harmless"),
            Ok(answers) if answers == self.answers => return Err("it was not missed".into()),
            Ok(_) => return Err("commits are silently gone".into()),
            Err(e) => {
                let named = e.place().is_some_and(|place| names.contains(&place.file));
                if e.kind() != ErrorKind::Corruption || !named {
                    return Err(format!("an error that does not name it: {e}"));
                }
            }
        }
        options.fs = Arc::new(copy);
        let report = check(DIR, &CheckOptions { options }).map_err(|e| e.to_string())?;
        let told = |text: &str| names.iter().any(|name| text.contains(name.as_str()));
        match report.findings.iter().any(|finding| told(&finding.text)) {
            true => Ok("detected"),
            false => Err(format!("a check does not name it: {:?}", report.findings)),
        }
    }
}
