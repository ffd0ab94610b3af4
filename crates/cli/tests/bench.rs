//! Does `onlap bench` answer wrong usage with the nearest name, and right usage with figures?

#![allow(clippy::disallowed_methods, reason = "a test of a program has the program's own seams")]

use std::process::{Command, Output};

fn onlap(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_onlap")).args(args).output().expect("the binary was built")
}

fn stderr(out: &Output) -> String {
    String::from_utf8_lossy(&out.stderr).into_owned()
}

#[test]
fn wrong_usage_names_the_nearest_and_exits_with_2() {
    let cases: [(&[&str], &str); 20] = [
        (&["bench", "ibensch"], "did you mean 'ibench'"),
        (&["bench", "ibench", "--engine", "rocksd"], "did you mean 'rocksdb'"),
        (&["bench", "ibench", "--vs", "rocksd"], "did you mean 'rocksdb'"),
        (&["bench", "ibench", "--rows", "5Q"], "unit of a count"),
        (&["bench", "ibench", "--memory", "256MIB"], "did you mean 'MiB'"),
        (&["bench", "ibench", "--sync", "fsink"], "did you mean 'fsync'"),
        (&["bench", "ibench", "--steps", "l.i1,setle"], "did you mean 'settle'"),
        (&["bench", "ibench", "--api", "rows"], "did you mean 'row'"),
        (&["bench", "six", "--secondary", "7"], "this workload has 6"),
        (&["bench", "six", "--engine", "onlap,myrock"], "did you mean 'myrocks'"),
        (&["bench", "six", "--io-limit", "1000x16Kib"], "did you mean 'KiB'"),
        (&["bench", "linkbench", "--engine", "onlap"], "onlap-"),
        (&["bench", "ibench", "--memory", "4000G"], "the machine has"),
        (&["bench", "ibench", "--memory", "10"], "too little"),
        (&["bench", "ibench", "--cgroup-memory", "10M"], "too little"),
        (&["bench", "ibench", "--rows", "100B"], "may be needed"),
        (&["bench", "ibench", "--json", "/no/such/report.json"], "no such folder"),
        (&["bench", "ibench", "--resume"], "needs the --json"),
        (&["bench", "compare", "one.json"], "takes two reports"),
        (&["wear", "/dev/null"], "smartctl"),
    ];
    for (args, hint) in cases {
        let out = onlap(args);
        assert_eq!(out.status.code(), Some(2), "{args:?}");
        assert!(stderr(&out).contains(hint), "{args:?}: {}", stderr(&out));
        assert!(out.stdout.is_empty());
    }
    assert_eq!(onlap(&["bench", "ibench", "--rowss", "1"]).status.code(), Some(2));
    assert_eq!(onlap(&["bensh"]).status.code(), Some(2));
}

#[test]
fn version_names_commit_and_formats() {
    let out = onlap(&["--version"]);
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(text.contains(env!("CARGO_PKG_VERSION")) && text.contains("formats:"), "{text}");
    assert_eq!(out.status.code(), Some(0));
}

#[test]
fn sync_prints_a_row_per_call() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let json = dir.path().join("sync.json");
    let json = json.to_str().expect("temporary paths are UTF-8");
    let dir = dir.path().to_str().expect("temporary paths are UTF-8");
    let out = onlap(&["bench", "sync", "--seconds", "0.05", "--dir", dir, "--json", json]);
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    let text = String::from_utf8_lossy(&out.stdout);
    for call in ["fsync", "fdatasync", "O_DSYNC"] {
        assert_eq!(text.lines().filter(|l| l.starts_with(call)).count(), 2, "{text}");
    }
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(json).expect("written")).expect("JSON");
    assert_eq!(report["steps"].as_array().map(Vec::len), Some(6));
    assert!(report["environment"]["cores"].as_u64() > Some(0));
}

#[test]
fn engines_are_compared_and_reports_are_made() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| dir.path().join(name).to_str().expect("UTF-8").to_owned();
    let (json, html, markdown) = (path("a.json"), path("a.html"), path("a.md"));
    let common = ["bench", "ibench", "--rows", "2k,3k", "--steps", "l.i0,l.x,l.i1,settle"];
    let files = ["--json", &json, "--report", &html, "--markdown", &markdown];
    let out = onlap(&[&common[..], &files[..]].concat());
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    let read = |path: &str| std::fs::read_to_string(path).expect("was written");
    assert!(read(&html).starts_with("<!DOCTYPE html>"));
    assert!(read(&markdown).contains("| l.i1 / l.i0 | index tax |"), "{}", read(&markdown));
    let report: serde_json::Value = serde_json::from_str(&read(&json)).expect("JSON");
    assert_eq!(report["runs"].as_array().map(Vec::len), Some(2));
    assert_eq!(report["runs"][0]["patterns"]["pk"], "(nAsc:1, nRHS:1)");
    // The same again runs nothing.
    let resumed = onlap(&[&common[..], &["--json", &json, "--resume"]].concat());
    assert_eq!(resumed.status.code(), Some(0), "{}", stderr(&resumed));
    assert_eq!(stderr(&resumed), "");
    let same = onlap(&["bench", "compare", &json, &json]);
    let text = String::from_utf8_lossy(&same.stdout).into_owned();
    assert!(text.contains("no change") && !text.contains("worse"), "{text}");
    assert_eq!(same.status.code(), Some(0));
    // Another engine as the one that others are compared with.
    let renamed = read(&json).replacen("\"engine\": \"onlap\"", "\"engine\": \"other\"", 1);
    std::fs::write(&json, renamed).expect("written");
    let report = |first: &str| onlap(&["bench", "report", &json, "--first", first]);
    let text = String::from_utf8_lossy(&report("onlap").stdout).into_owned();
    assert!(text.find("onlap |") < text.find("other |"), "{text}");
    assert!(stderr(&report("onlop")).contains("onlap"));
}
