//! Does the demo find the same by index as by scan, and do `stats` and `check` agree with it?

#![allow(clippy::disallowed_methods, reason = "a test of a program has the program's own seams")]

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn onlap() -> Command {
    Command::new(env!("CARGO_BIN_EXE_onlap"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn json(bytes: &[u8]) -> serde_json::Value {
    serde_json::from_slice(bytes).expect("the program writes JSON")
}

fn on_directory(command: &str, dir: &Path) -> Output {
    onlap().arg(command).arg(dir).arg("--json").output().expect("the binary was built")
}

#[test]
fn a_short_demo_agrees_with_its_own_data() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let (dir, file) = (temporary.path().join("db"), temporary.path().join("demo.json"));
    let out = onlap()
        .args(["demo", "--seconds", "2", "--dir"])
        .arg(&dir)
        .arg("--json")
        .arg(&file)
        .output()
        .expect("the binary was built");
    let (shown, told) = (text(&out.stdout), text(&out.stderr));
    assert_eq!(out.status.code(), Some(0), "{shown}\n{told}");
    assert!(shown.contains("flights of United") && !shown.contains("DIFFERS"), "{shown}");
    assert!(told.contains("first answer after") && told.contains("rows/s"), "{told}");

    let report = json(&std::fs::read(&file).expect("the report was written"));
    let answers = report["answers"].as_array().expect("a list of answers");
    assert!(answers.len() >= 4 && answers.iter().all(|a| a["index"] == a["scan"]), "{answers:?}");
    assert!(report["rows"].as_u64() > Some(0) && report["queries"].as_u64() > Some(0));
    let written = report["written_bytes_per_row"].as_object().expect("bytes by purpose");
    for name in ["log", "segments", "index by_route", "index flights_pkey", "in all"] {
        assert!(written[name].as_f64() >= Some(0.0), "{name}: {written:?}");
    }
    assert_eq!(report["tables"].as_array().map(Vec::len), Some(5));

    let again = onlap().args(["demo", "--dir"]).arg(&dir).output().expect("the binary was built");
    assert_eq!(again.status.code(), Some(2), "{}", text(&again.stderr));

    let stats = on_directory("stats", &dir);
    assert_eq!(stats.status.code(), Some(0), "{}", text(&stats.stderr));
    let stats = json(&stats.stdout);
    let flights =
        stats["tables"].as_array().and_then(|t| t.iter().find(|t| t["name"] == "flights"));
    let indexes = flights.expect("the table is there")["indexes"].as_array().expect("indexes");
    assert_eq!(indexes.len(), 7);
    assert_eq!(indexes[0]["pattern"], "(nAsc:1, nRHS:1)");
    assert!(indexes.iter().all(|i| i["written_bytes"]["flushed"].as_u64() > Some(0)), "{stats}");

    let check = on_directory("check", &dir);
    assert_eq!(check.status.code(), Some(0), "{} {}", text(&check.stdout), text(&check.stderr));
    assert_eq!(json(&check.stdout)["tables"], 5);
}

#[test]
fn an_interrupted_demo_shows_its_table_and_lets_nobody_in_meanwhile() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let dir = temporary.path().join("db");
    let demo = onlap()
        .args(["demo", "--seconds", "100", "--dir"])
        .arg(&dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built");
    let began = Instant::now();
    while !dir.join("CURRENT").exists() && began.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let refused = on_directory("stats", &dir);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stdout));
    let why = text(&refused.stderr);
    assert!(why.contains(&demo.id().to_string()), "{} is not named: {why}", demo.id());

    let pid = libc::pid_t::try_from(demo.id()).expect("process ids fit");
    // SAFETY: the process is our child and was not waited for, so the id is still its own.
    unsafe { libc::kill(pid, libc::SIGINT) };
    let out = demo.wait_with_output().expect("it ends");
    assert_eq!(out.status.code(), Some(130), "{}", text(&out.stderr));
    assert!(text(&out.stdout).contains("checked against a scan"), "{}", text(&out.stdout));
}

#[test]
fn a_directory_without_a_database_is_refused_with_2() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for command in ["stats", "check"] {
        let out = on_directory(command, dir.path());
        assert_eq!(out.status.code(), Some(2), "{command}");
        assert!(text(&out.stderr).contains("there is no database"), "{}", text(&out.stderr));
    }
}
