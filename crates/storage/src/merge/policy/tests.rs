//! Stories in `testdata/merge_policy`. Commands:
//!
//! * `options width=N floor=N ratio=F dead=F quiet settle`: a new policy.
//! * `runs`: one run per line, `id rows=A..B entries=N [dead=N] [group=N]`; a byte per entry.
//! * `choose`: the choice.
//! * `debt`: the debt in bytes.
//! * `flush count=N entries=M`: N times, a run of M entries (and rows) arrives and every merge that
//!   is due is carried out; prints the runs and how often an entry was rewritten on average.

use std::fmt::Write;

use datadriven::{TestCase, walk};

use super::*;

fn number<T: std::str::FromStr + Default>(case: &TestCase, name: &str, default: T) -> T {
    let given = case.args.get(name).and_then(|v| v.first()).map(|v| v.parse().ok());
    given.map_or(default, |v| v.expect("a number"))
}

fn parse_run(line: &str) -> RunShape {
    let mut words = line.split_whitespace();
    let id = words.next().and_then(|w| w.parse().ok()).expect("an id");
    let mut run = RunShape { id, rows: 0..0, entries: 0, dead: 0, bytes: 0, group: None };
    for word in words {
        let (name, value) = word.split_once('=').expect("name=value");
        let value_number = || value.parse().expect("a number");
        match name {
            "rows" => {
                let (a, b) = value.split_once("..").expect("A..B");
                run.rows = a.parse().expect("a row id")..b.parse().expect("a row id");
            }
            "entries" => (run.entries, run.bytes) = (value_number(), value_number()),
            "dead" => run.dead = value_number(),
            "group" => run.group = Some(value_number()),
            _ => panic!("unknown field {name}"),
        }
    }
    run
}

fn show(choice: Option<Choice>) -> String {
    match choice {
        None => "nothing\n".to_owned(),
        Some(c) => {
            let output = c.output.map(|o| format!(" into {o}")).unwrap_or_default();
            format!("{:?}: {:?}{output}, {} bytes\n", c.reason, c.inputs, c.bytes)
        }
    }
}

/// Carries out every merge that is due, at once.
fn settle(runs: &mut Vec<RunShape>, options: &PolicyOptions, written: &mut u64) {
    while let Some(choice) = choose(runs, options) {
        let first = runs.iter().position(|r| r.id == choice.inputs[0]).expect("an input");
        let inputs: Vec<RunShape> = runs.drain(first..first + choice.inputs.len()).collect();
        assert_eq!(inputs.iter().map(|r| r.id).collect::<Vec<_>>(), choice.inputs);
        let sum = |f: fn(&RunShape) -> u64| inputs.iter().map(f).sum::<u64>();
        let last = inputs.last().expect("an input");
        let merged = RunShape {
            id: last.id,
            rows: inputs[0].rows.start..last.rows.end,
            entries: sum(|r| r.entries - r.dead),
            dead: 0,
            bytes: sum(|r| r.bytes),
            group: None,
        };
        *written += merged.entries;
        runs.insert(first, merged);
    }
}

fn flush(case: &TestCase, runs: &mut Vec<RunShape>, options: &PolicyOptions) -> String {
    let (count, entries) = (number(case, "count", 1), number(case, "entries", 1u64));
    let (mut written, mut most) = (0, 0);
    for _ in 0..count {
        let start = runs.last().map_or(0, |r| r.rows.end);
        let id = runs.iter().map(|r| r.id).max().unwrap_or(0) + 1;
        let rows = start..start + entries;
        runs.push(RunShape { id, rows, entries, dead: 0, bytes: entries, group: None });
        settle(runs, options, &mut written);
        most = most.max(runs.len());
    }
    let sizes: Vec<u64> = runs.iter().map(|r| r.entries).collect();
    let rewrites = written as f64 / sizes.iter().sum::<u64>() as f64;
    let mut out = String::new();
    writeln!(out, "runs {sizes:?}, at most {most}, rewritten {rewrites:.2} times").expect("memory");
    out
}

#[test]
fn stories() {
    walk("testdata/merge_policy", |file| {
        let mut options = PolicyOptions::default();
        let mut runs: Vec<RunShape> = vec![];
        file.run(|case| match case.directive.as_str() {
            "options" => {
                options = PolicyOptions {
                    width: number(case, "width", 4),
                    floor_entries: number(case, "floor", 10),
                    bottom_ratio: number(case, "ratio", 2.0),
                    dead_share: number(case, "dead", 0.2),
                    calm: match (case.args.contains_key("settle"), case.args.contains_key("quiet"))
                    {
                        (true, _) => Calm::Settle,
                        (_, true) => Calm::Quiet,
                        _ => Calm::Busy,
                    },
                };
                runs.clear();
                String::new()
            }
            "runs" => {
                runs = case.input.lines().map(parse_run).collect();
                String::new()
            }
            "choose" => show(choose(&runs, &options)),
            "debt" => format!("{}\n", debt_bytes(&runs, &options)),
            "flush" => flush(case, &mut runs, &options),
            other => panic!("unknown command {other}"),
        });
    });
}
