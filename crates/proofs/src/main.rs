//! `onlap-proofs RIG --seeds A..B`: tries seeds of a rig, and notes in the log what was tried.
//!
//! With `--no-log` nothing is noted: to replay a seed. Stops at the first finding, which is noted as well, with
//! the line that replays it; with `--go-on` it does not. The rig `sql` leaves changes of rows out with
//! `--queries-only`, and counts errors that differ with `--answers-only`. Without arguments it names the rigs;
//! `onlap-proofs corpus` writes the corpus of decoders anew, `onlap-proofs figures` prints figures of the server.
//!
//! `onlap-proofs regression --files DIR` says how many statements of PostgreSQL's own regression scripts come out as in
//! PostgreSQL: of those that count, with `--more` of others too, of one with `--only NAME`; `onlap-proofs suite NAME --files DIR
//! --python PYTHON` says how many tests of a driver's own suite pass. `--report FILE` has what differs. `onlap-proofs dump` says
//! whether a database of 62 tables goes to PostgreSQL and back by pg_dump.

#![allow(clippy::disallowed_methods, reason = "rigs stand outside the simulation")]

use std::ops::Range;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use onlap_proofs::record::{self, Run};
use onlap_proofs::{Counts, RIGS, Rig, attempt, dumps, regression, replay, sql, suites};

/// A run of many seeds says how far it is after so many seconds.
const TELL_SECONDS: u64 = 60;
/// Tables of a schema that is dumped, besides twelve others.
const TABLES: usize = 50;

struct Arguments {
    rig: Rig,
    seeds: Range<u64>,
    log: bool,
    goes_on: bool,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let Some(code) = onlap_proofs::child(&words) {
        return code;
    }
    if words == ["corpus"] {
        return corpus();
    }
    if words == ["figures"] {
        return told(onlap_proofs::figures::print());
    }
    if let ["regression", rest @ ..] = &words[..] {
        return regression(rest);
    }
    if let ["suite", rest @ ..] = &words[..] {
        return suite(rest);
    }
    if words == ["dump"] {
        return dump();
    }
    match parse(&words) {
        Some(arguments) => run(&arguments),
        None => {
            let names: Vec<&str> = RIGS.iter().map(|rig| rig.name).collect();
            eprintln!(
                "usage: onlap-proofs RIG --seeds A..B [--no-log] [--go-on] [--queries-only]\nrigs: {}",
                names.join(", ")
            );
            ExitCode::from(2)
        }
    }
}

fn regression(words: &[&str]) -> ExitCode {
    let (mut folder, mut only, mut report) = (None, Vec::new(), None);
    let mut names = regression::FILES.to_vec();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match (*word, words.as_slice().first()) {
            ("--more", _) => names.extend(regression::MORE),
            ("--files", Some(value)) => folder = Some(Path::new(value)),
            ("--only", Some(value)) => only.push(*value),
            ("--report", Some(value)) => report = Some(Path::new(value)),
            _ => folder = None,
        }
        if *word != "--more" {
            words.next();
        }
    }
    let Some(folder) = folder else {
        eprintln!(
            "usage: onlap-proofs regression --files DIR [--more] [--only NAME]... [--report FILE]\n\
             DIR is src/test/regress/sql of PostgreSQL 15's sources"
        );
        return ExitCode::from(2);
    };
    let names = if only.is_empty() { names } else { only };
    told(regression::run_files(folder, &names).and_then(|found| {
        println!("{}", found.summary());
        match report {
            Some(path) => std::fs::write(path, found.text()).map_err(|e| e.to_string()),
            None => Ok(()),
        }
    }))
}

fn dump() -> ExitCode {
    told(dumps::there_and_back(&dumps::schema(TABLES)).map(|way| {
        let (ours, theirs) = way.seconds;
        println!(
            "{} tables, {} lines of pg_dump 15: equal at PostgreSQL 15 and back; {ours:.1} s at Onlap, {theirs:.1} s there",
            way.tables, way.lines
        );
    }))
}

fn suite(words: &[&str]) -> ExitCode {
    let [name, "--files", files, "--python", python, rest @ ..] = words else {
        return suite_usage();
    };
    let (Some(suite), [] | ["--report", _]) =
        (suites::SUITES.iter().find(|suite| suite.name == *name), rest)
    else {
        return suite_usage();
    };
    told(suites::run(suite, Path::new(files), Path::new(python)).and_then(|found| {
        println!("{name}: {}", found.summary());
        match rest {
            [_, path] => std::fs::write(path, found.missing.join("\n")).map_err(|e| e.to_string()),
            _ => Ok(()),
        }
    }))
}

fn suite_usage() -> ExitCode {
    let names: Vec<&str> = suites::SUITES.iter().map(|suite| suite.name).collect();
    eprintln!(
        "usage: onlap-proofs suite NAME --files DIR --python PYTHON [--report FILE]\n\
         NAME is one of {}; DIR has its sources, PYTHON has pytest, pytest-timeout and what they import",
        names.join(", ")
    );
    ExitCode::from(2)
}

fn corpus() -> ExitCode {
    told(onlap_proofs::decoders::corpus::write(&record::root()).map(|(files, bytes)| {
        println!("{files} files, {bytes} bytes");
    }))
}

fn told<E: std::fmt::Display>(done: Result<(), E>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}

fn parse(words: &[&str]) -> Option<Arguments> {
    let [rig, "--seeds", seeds, flags @ ..] = words else { return None };
    let has = |flag: &str| flags.contains(&flag);
    let known = ["--no-log", "--go-on", "--queries-only", "--answers-only"];
    if flags.iter().any(|flag| !known.contains(flag)) {
        return None;
    }
    let mut rig = *RIGS.iter().find(|known| known.name == *rig)?;
    let kinds = [("--queries-only", sql::QUERIES), ("--answers-only", sql::ANSWERS)];
    let mut kinds = kinds.into_iter().filter(|(flag, _)| has(flag));
    if let Some((_, kind)) = kinds.next() {
        if rig.name != kind.name || kinds.next().is_some() {
            return None;
        }
        rig = kind;
    }
    let (from, to) = seeds.split_once("..")?;
    let seeds = from.parse().ok()?..to.parse().ok()?;
    Some(Arguments { rig, seeds, log: !has("--no-log"), goes_on: has("--go-on") })
}

fn run(arguments: &Arguments) -> ExitCode {
    let Arguments { rig, seeds, log, goes_on } = arguments;
    let (started, mut told) = (Instant::now(), 0);
    let (mut counts, mut finding, mut tried) = (Counts::default(), None, seeds.start);
    for seed in seeds.clone() {
        match attempt(*rig, seed) {
            Ok(more) => counts.extend(&more),
            Err(text) => {
                eprintln!("seed {seed}: {text}\nreplay: {}", replay(rig.name, seed));
                finding = Some(format!("seed {seed}: {text}"));
            }
        }
        tried = seed + 1;
        if finding.is_some() && !goes_on {
            break;
        }
        let seconds = started.elapsed().as_secs();
        if seconds / TELL_SECONDS > told {
            told = seconds / TELL_SECONDS;
            println!("{}: up to seed {seed} in {seconds} s: {}", rig.name, counts);
        }
    }
    println!("{}: seeds {}..{tried}: {}", rig.name, seeds.start, counts);
    if *log {
        let seeds = seeds.start..tried;
        let (finding, took) = (finding.as_deref(), started.elapsed());
        match record::append(&Run { rig: rig.name, seeds, counts: &counts, finding, took }) {
            Ok(path) => println!("noted in {}", path.display()),
            Err(e) => eprintln!("cannot note the run: {e}"),
        }
    }
    if finding.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
