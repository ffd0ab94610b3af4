//! sysbench and pgbench against both servers.

use std::process::{Command, Stdio};

use onlap::SyncMode;
use onlap_base::{Error, ErrorKind, Result};

use super::{BOTH, Memory, start};
use crate::figures::{Better, Figure};
use crate::report::median;
use crate::trials::{Stage, figure};
use crate::wire::Server;

/// Rows of sysbench's table where everything is to be cached.
const CACHED_ROWS: u64 = 1_000_000;
/// Bytes of a row of sysbench with its entries, about, in PostgreSQL.
const ROW_BYTES: u64 = 250;
/// Threads of sysbench and clients of pgbench.
const THREADS: &str = "4";

/// Tests of sysbench: its script, floor and target, and whether data is a multiple of memory.
const TESTS: [(&str, f64, f64, bool); 7] = [
    ("oltp_point_select", 0.8, 1.3, false),
    ("oltp_read_only", 0.8, 1.3, false),
    ("oltp_read_write", 1.0, 3.0, true),
    ("oltp_write_only", 1.0, 3.0, true),
    ("oltp_update_index", 1.0, 3.0, true),
    ("oltp_update_non_index", 1.0, 3.0, true),
    ("oltp_delete", 1.0, 3.0, true),
];

fn run(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(|e| {
        let text = format!("cannot run {name}: {e}; it is a Debian package");
        Error::new(ErrorKind::Unsupported, text)
    })?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.status.success() {
        true => Ok(text),
        false => {
            let end: String = text + &String::from_utf8_lossy(&output.stderr);
            let end: Vec<&str> = end.lines().rev().take(8).collect();
            let end: Vec<&str> = end.into_iter().rev().collect();
            Err(Error::new(ErrorKind::Io, format!("{name} failed: {}", end.join("; "))))
        }
    }
}

fn sysbench_of(server: &Server, script: &str, rows: u64, rest: &[&str]) -> Result<String> {
    let mut command = Command::new("sysbench");
    command
        .args([script, "--db-driver=pgsql", "--pgsql-host=127.0.0.1"])
        .args(["--pgsql-user=postgres", "--pgsql-db=postgres", "--pgsql-password="])
        .arg(format!("--pgsql-port={}", server.port()))
        .args([format!("--table-size={rows}"), "--tables=1".into()])
        .args(rest);
    run(&mut command)
}

/// Transactions per second, as the program prints them.
fn rate_of(text: &str, mark: &str) -> Result<f64> {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(mark));
    let number = line.and_then(|after| {
        // sysbench gives a number of transactions first, and the rate in brackets.
        let rate = match after.split_once('(') {
            Some((_, rate)) if rate.contains("per sec") => rate,
            _ => after,
        };
        rate.trim().split(' ').next()?.parse().ok()
    });
    number.ok_or_else(|| Error::new(ErrorKind::Io, format!("no line '{mark}' in its answer")))
}

/// sysbench's tests on both servers.
pub(in super::super) fn sysbench(stage: &Stage<'_>) -> Result<Vec<Figure>> {
    let seconds = (stage.plan.seconds / 6.0).max(5.0);
    let mut figures = Vec::new();
    for scarce in [false, true] {
        let rows = if scarce { stage.plan.rows } else { CACHED_ROWS.min(stage.plan.rows) };
        let memory = match scarce {
            true => Memory::scarce(stage, ROW_BYTES),
            false => Memory::roomy(2 << 30),
        };
        let tests: Vec<_> = TESTS.iter().filter(|t| t.3 == scarce).collect();
        let mut rates = vec![[Vec::new(), Vec::new()]; tests.len()];
        for run in 0..stage.plan.repeat {
            for (i, kind) in BOTH.into_iter().enumerate() {
                let name = format!("sysbench-{scarce}-{run}");
                let server = start(stage, kind, &name, memory, SyncMode::Os)?;
                sysbench_of(&server, "oltp_read_write", rows, &["prepare"])?;
                for (t, (script, ..)) in tests.iter().enumerate() {
                    stage.check()?;
                    let time = format!("--time={seconds:.0}");
                    let threads = format!("--threads={THREADS}");
                    let text = sysbench_of(&server, script, rows, &[&time, &threads, "run"])?;
                    rates[t][i].push(rate_of(&text, "transactions:")?);
                }
                server.stop()?;
            }
        }
        for ((script, floor, target, _), rates) in tests.into_iter().zip(rates) {
            let [ours, theirs] = rates.map(|mut r| median(&mut r));
            let cached = if scarce { "data 3 x memory" } else { "cached" };
            let work = format!("sysbench {script}, {cached}, {THREADS} threads / PostgreSQL");
            let note = format!(
                "{ours:.0} against {theirs:.0} transactions/s, {seconds:.0} s each; {rows} rows, {}",
                memory.text()
            );
            let bounds = (*floor, *target);
            figures.push(figure(&work, ours / theirs, bounds, Better::Higher, "x").noting(note));
        }
    }
    Ok(figures)
}

/// pgbench's own transactions, prepared, every commit synced.
pub(in super::super) fn pgbench(stage: &Stage<'_>) -> Result<Vec<Figure>> {
    let seconds = (stage.plan.seconds / 4.0).max(5.0);
    let mut rates = [Vec::new(), Vec::new()];
    for run in 0..stage.plan.repeat {
        for (i, kind) in BOTH.into_iter().enumerate() {
            stage.check()?;
            let name = format!("pgbench-{run}");
            let server = start(stage, kind, &name, Memory::roomy(512 << 20), SyncMode::Fsync)?;
            pgbench_of(&server, &["-i", "-q", "-s", "20"])?;
            let time = format!("{seconds:.0}");
            let rest = ["-M", "prepared", "-c", THREADS, "-j", "2", "-T", &time];
            let text = pgbench_of(&server, &rest)?;
            rates[i].push(rate_of(&text, "tps =")?);
            server.stop()?;
        }
    }
    let [ours, theirs] = rates.map(|mut r| median(&mut r));
    let work = "pgbench -M prepared, scale 20, fsync, 4 clients / PostgreSQL";
    let note = format!("{ours:.0} against {theirs:.0} transactions/s");
    Ok(vec![figure(work, ours / theirs, (0.9, 1.3), Better::Higher, "x").noting(note)])
}

fn pgbench_of(server: &Server, rest: &[&str]) -> Result<String> {
    let mut command = Command::new("pgbench");
    command
        .args(["-h", "127.0.0.1", "-U", "postgres", "-p", &server.port().to_string()])
        .args(rest)
        .arg("postgres");
    run(&mut command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_from_what_the_programs_print() {
        let sysbench = "    transactions:                        41234  (4123.33 per sec.)\n";
        assert_eq!(rate_of(sysbench, "transactions:").unwrap(), 4123.33);
        let pgbench = "initial connection time = 6.5 ms\ntps = 812.113 (without initial connection \
                       time)\n";
        assert_eq!(rate_of(pgbench, "tps =").unwrap(), 812.113);
        assert!(rate_of("", "tps =").is_err());
    }
}
