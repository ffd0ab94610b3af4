//! sysbench 1.0: every script of its kind oltp, and bulk inserts.

use crate::support::server::Onlap;
use crate::support::{Address, are_there, run};

/// Every script, and how many rows of `sbtest1` its events leave of a hundred.
const SCRIPTS: &[(&str, Option<u32>)] = &[
    ("oltp_point_select", Some(100)),
    ("oltp_read_only", Some(100)),
    ("oltp_read_write", Some(100)),
    ("oltp_write_only", Some(100)),
    ("oltp_update_index", Some(100)),
    ("oltp_update_non_index", Some(100)),
    ("oltp_insert", Some(110)),
    ("oltp_delete", None),
    ("select_random_points", Some(100)),
    ("select_random_ranges", Some(100)),
    ("bulk_insert", None),
];

fn sysbench(address: Address, mode: &str, script: &str, step: &str) -> String {
    let mut command = address.command("sysbench", "postgres");
    command.args([
        "--db-driver=pgsql",
        "--pgsql-host=127.0.0.1",
        &format!("--pgsql-port={}", address.port),
        "--pgsql-user=postgres",
        "--pgsql-db=postgres",
        &format!("--db-ps-mode={mode}"),
        "--threads=1",
        // The events end a run; the time is for machines that are busy.
        "--events=10",
        "--time=100",
    ]);
    if script != "bulk_insert" {
        command.args(["--tables=1", "--table-size=100"]);
    }
    let said = run(command.args([script, step]));
    assert!(!said.contains("FATAL") && !said.contains("ALERT"), "{script} {step}: {said}");
    said
}

fn all(mode: &str) {
    if !are_there(&[("sysbench", "apt-get install sysbench")]) {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let onlap = Onlap::start(dir.path());
    for (script, rows) in SCRIPTS {
        sysbench(onlap.address, mode, script, "prepare");
        let said = sysbench(onlap.address, mode, script, "run");
        let events = said.lines().find(|l| l.contains("total number of events:"));
        let events = events.and_then(|l| l.split_whitespace().last());
        assert_eq!(events, Some("10"), "{script}: {said}");
        let errors = said.lines().find(|l| l.contains("ignored errors:"));
        let errors = errors.and_then(|l| l.split_whitespace().nth(2));
        assert_eq!(errors, Some("0"), "{script}: {said}");
        if let Some(rows) = rows {
            let count = onlap.address.sql("postgres", "select count(*) from sbtest1");
            assert_eq!(count, rows.to_string(), "{script}");
        }
        sysbench(onlap.address, mode, script, "cleanup");
    }
}

#[test]
fn every_script_runs_with_prepared_statements() {
    all("auto");
}

#[test]
fn every_script_runs_without_prepared_statements() {
    all("disable");
}
