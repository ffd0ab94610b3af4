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
    let cases: [(&[&str], &str); 9] = [
        (&["bench", "ibensch"], "did you mean 'ibench'"),
        (&["bench", "ibench", "--engine", "rocks"], "did you mean 'rocksdb'"),
        (&["bench", "ibench", "--vs", "rocks"], "did you mean 'rocksdb'"),
        (&["bench", "ibench", "--rows", "5Q"], "unit of a count"),
        (&["bench", "ibench", "--memory", "256MIB"], "did you mean 'MiB'"),
        (&["bench", "ibench", "--sync", "fsink"], "did you mean 'fsync'"),
        (&["bench", "ibench", "--steps", "l.i1,setle"], "did you mean 'settle'"),
        (&["bench", "ibench", "--api", "rows"], "did you mean 'row'"),
        (&["bench", "six", "--secondary", "7"], "this workload has 6"),
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
