//! Does the lab run real servers, and leave nothing behind?
//!
//! Small runs of every workload on every engine that is installed; a bench that is killed; a server that
//! dies. Where programs are missing, or rights, the tests say so and do nothing.

#![allow(clippy::disallowed_methods, reason = "a test of a program has the program's own seams")]

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use onlap_testkit::programs;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const POSTGRES: (&str, &str) = ("/usr/lib/postgresql/15/bin/initdb", "apt-get install postgresql");
const MARIADB: (&str, &str) = ("/usr/sbin/mariadbd", "apt-get install mariadb-server");
const ROCKSDB: (&str, &str) =
    ("/usr/lib/mysql/plugin/ha_rocksdb.so", "apt-get install mariadb-plugin-rocksdb");

const ALL: &str =
    "onlap-wire,postgres,innodb,innodb-change-buffer,innodb-compressed,myrocks,myrocks-zstd";
const FOUR: &str = "onlap-wire,postgres,innodb,myrocks";

fn installed() -> bool {
    has_onlap() && programs::are_there(&[POSTGRES, MARIADB, ROCKSDB])
}

/// Whether the server is built, which lies next to this program.
fn has_onlap() -> bool {
    let onlap = Path::new(env!("CARGO_BIN_EXE_onlap-lab")).with_file_name("onlap");
    let onlap = onlap.to_str().expect("target directories are UTF-8");
    programs::are_there(&[(onlap, "cargo build -p onlap-cli")])
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn bench(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_onlap-lab"));
    command.arg("bench").args(args);
    command
}

fn text(out: &Output) -> String {
    let bytes = [&out.stdout[..], &out.stderr[..]].concat();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Runs a bench and gives its report.
fn report_of(args: &[&str]) -> Value {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let json = dir.path().join("report.json");
    let data = dir.path().to_str().expect("temporary paths are UTF-8");
    let file = json.to_str().expect("temporary paths are UTF-8");
    let out = bench(&[args, &["--dir", data, "--json", file]].concat()).output().expect("it runs");
    assert_eq!(out.status.code(), Some(0), "{}", text(&out));
    serde_json::from_slice(&std::fs::read(json).expect("it was written")).expect("JSON")
}

fn runs(report: &Value) -> &Vec<Value> {
    report["runs"].as_array().expect("a report has runs")
}

#[test]
fn the_insert_benchmark_runs_on_every_engine() {
    if !installed() {
        return;
    }
    let steps = "l.i0,l.x,l.i1,settle,c.1,q100.1";
    let common = ["--rows", "2k", "--seconds", "1", "--steps", steps, "--memory", "64MiB"];
    let report = report_of(&[&["ibench", "--engine", ALL], &common[..]].concat());
    assert_eq!(runs(&report).len(), ALL.split(',').count());
    for run in runs(&report) {
        assert_eq!(run["failure"], Value::Null, "{run}");
        assert_eq!(run["steps"].as_array().map(Vec::len), Some(6));
        assert!(run["config"].as_array().is_some_and(|c| !c.is_empty()), "{}", run["engine"]);
        assert!(run["answers"]["rows"].as_i64() >= Some(4000), "{run}");
        // The kernel counts in ticks of 10 ms: a single short step may have none.
        let steps = run["steps"].as_array().expect("steps");
        let cpu_us: u64 = steps.iter().filter_map(|s| s["cpu_us"].as_u64()).sum();
        assert!(cpu_us > 0, "{run}");
        let load = &run["steps"][2];
        assert!(load["client_cpu_us_per_insert"].as_f64() > Some(0.0), "{load}");
    }
}

#[test]
fn six_indexes_run_on_four_engines() {
    if !installed() {
        return;
    }
    let common = ["--rows", "2k", "--commit-rows", "100", "--memory", "64MiB"];
    let steps = ["--steps", "l.i1,settle,c.1,c.2"];
    let report = report_of(&[&["six", "--engine", FOUR], &common[..], &steps[..]].concat());
    assert!(runs(&report).iter().all(|run| run["answers"]["rows"] == 2000), "{report}");
}

#[test]
fn workloads_of_several_tables_run_on_four_engines() {
    if !installed() {
        return;
    }
    let common = ["--rows", "1k", "--seconds", "0.5", "--clients", "2", "--memory", "256MiB"];
    for (workload, operation) in [("linkbench", "getlinklist"), ("tsbs", "last")] {
        let report = report_of(&[&[workload, "--engine", FOUR], &common[..]].concat());
        for run in runs(&report) {
            let steps = run["steps"].as_array().expect("steps");
            let timed = steps.iter().find(|s| s["operations"][operation]["count"].is_u64());
            assert!(timed.is_some_and(|s| s["tps"].as_f64() > Some(0.0)), "{workload}: {run}");
        }
    }
    let report = report_of(&[&["sysbench", "--engine", FOUR], &common[..]].concat());
    for run in runs(&report) {
        assert_eq!(run["answers"]["rows"], 1000, "{run}");
        assert_eq!(run["steps"].as_array().map(Vec::len), Some(19));
    }
}

/// Whether the file system of a mount, a cgroup or a process has this in its name.
fn is_left(mark: &str) -> bool {
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let commands = entries.filter_map(|e| std::fs::read(e.path().join("cmdline")).ok());
    let cleaner = |line: &[u8]| line.starts_with(b"sh\0");
    mounts.contains(mark)
        || commands
            .filter(|line| !cleaner(line))
            .any(|line| String::from_utf8_lossy(&line).contains(mark))
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_fixed_budget_is_counted_and_taken_down() {
    if !is_root() || !installed() {
        return;
    }
    let surroundings = ["--io-limit", "2000x16KiB", "--cgroup-memory", "400MiB"];
    let common = ["--rows", "2k", "--steps", "l.i1,settle"];
    let engines = ["six", "--engine", "onlap-wire,postgres"];
    let report = report_of(&[&engines[..], &common[..], &surroundings[..]].concat());
    for run in runs(&report) {
        assert_eq!(run["settings"]["io_limit"], "2000x16KiB");
        assert_eq!(run["settings"]["memory_bytes"], 240 << 20);
        let device = &run["steps"][1]["device"];
        assert!(device["write_bytes"].as_u64() > Some(0), "{run}");
    }
}

/// A bench that is killed in the middle of a long load leaves no server, volume or cgroup.
#[test]
fn a_bench_that_is_killed_leaves_nothing() {
    if !is_root() || !programs::are_there(&[POSTGRES]) {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mark = dir.path().to_str().expect("temporary paths are UTF-8").to_owned();
    let around = ["--io-limit", "2000x16KiB", "--cgroup-memory", "400MiB", "--dir", &mark];
    let args = [&["six", "--engine", "postgres", "--rows", "1M"], &around[..]].concat();
    let mut child: Child =
        bench(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let running = || is_left(&format!("{mark}/onlap-volume")) && is_left("onlap-bench-postgres");
    wait_until("the server starts", || running() && has_server(dir.path()));
    child.kill().expect("it runs");
    child.wait().expect("it was killed");
    wait_until("everything is taken down", || !is_left(&mark));
    let empty = || std::fs::read_dir(dir.path()).expect("it exists").count() == 0;
    wait_until("the volume's file goes", empty);
}

/// Whether a server has begun to write below a directory of volumes.
fn has_server(dir: &Path) -> bool {
    let volumes = std::fs::read_dir(dir).into_iter().flatten().flatten();
    volumes.into_iter().any(|v| v.path().join("onlap-bench-postgres/postmaster.pid").exists())
}

#[test]
fn a_server_that_dies_is_reported_and_the_others_stand() {
    if !has_onlap() || !programs::are_there(&[POSTGRES]) {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let data = dir.path().to_str().expect("temporary paths are UTF-8");
    let json = dir.path().join("report.json");
    let file = json.to_str().expect("temporary paths are UTF-8");
    let common = ["--rows", "1M", "--seconds", "6", "--steps", "l.i1", "--dir", data];
    let engines = ["six", "--engine", "postgres,onlap-wire", "--json", file];
    let child = bench(&[&engines[..], &common[..]].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let pid_file = dir.path().join("onlap-bench-postgres/postmaster.pid");
    let server = || -> Option<Pid> {
        let pid = std::fs::read_to_string(&pid_file).ok()?;
        // The last line says so when it takes connections.
        pid.contains("ready").then(|| Pid::from_raw(pid.lines().next()?.trim().parse().ok()?))?
    };
    wait_until("the server starts", || server().is_some());
    std::thread::sleep(Duration::from_secs(1));
    kill_process(server().expect("it runs"), Signal::QUIT).expect("this test started it");
    let out = child.wait_with_output().expect("it ends");
    assert_eq!(out.status.code(), Some(1), "{}", text(&out));
    let report: Value =
        serde_json::from_slice(&std::fs::read(json).expect("it was written")).expect("JSON");
    let failed = &runs(&report)[0];
    assert!(failed["failure"].is_string(), "{failed}");
    assert!(failed["log_tail"].as_str().is_some_and(|t| t.contains("shutdown")), "{failed}");
    assert_eq!(runs(&report)[1]["failure"], Value::Null);
    assert!(text(&out).contains("ended early"), "{}", text(&out));
}
