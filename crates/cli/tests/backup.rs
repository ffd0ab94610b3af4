//! Do `onlap backup` and `onlap restore` end as promised?

#![allow(clippy::disallowed_methods, reason = "a test of a program has the program's own seams")]

use std::path::Path;
use std::process::{Command, Output};

use onlap::{DataType, Database, Options, TableSpec, Value};

fn onlap(command: &str, from: &Path, to: &Path, flags: &[&str]) -> Output {
    let mut run = Command::new(env!("CARGO_BIN_EXE_onlap"));
    run.arg(command).arg(from).arg(to).args(flags).output().expect("the binary was built")
}

fn json(out: &Output) -> serde_json::Value {
    serde_json::from_slice(&out.stdout).expect("the program writes JSON")
}

#[test]
fn a_backup_is_made_restored_and_refused_with_the_right_exit_codes() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let at = |name: &str| temporary.path().join(name);
    let db = Database::open(at("db"), Options::default()).expect("a new database");
    let spec = TableSpec::new("t").column("id", DataType::Int8).primary_key(["id"]);
    let table = db.create_table(spec).expect("a table");
    table.insert_many((0..1000).map(|i| [Value::Int(i)])).expect("rows");
    let busy = onlap("backup", &at("db"), &at("backup"), &[]);
    assert_eq!(busy.status.code(), Some(2), "the database is open");
    db.flush().expect("a flush");
    table.insert(&[Value::Int(1000)]).expect("a row in the log alone");
    drop((table, db));

    let made = onlap("backup", &at("db"), &at("backup"), &["--json"]);
    assert_eq!(made.status.code(), Some(0), "{}", String::from_utf8_lossy(&made.stderr));
    let report = json(&made);
    assert!(report["linked_bytes"].as_u64() > Some(0) && report["csn"].as_u64() >= Some(2));
    assert!(made.stderr.is_empty(), "progress is for terminals");
    assert_eq!(onlap("backup", &at("db"), &at("backup"), &[]).status.code(), Some(2), "not empty");
    assert_eq!(onlap("backup", &at("none"), &at("new"), &[]).status.code(), Some(2), "no database");
    assert_eq!(onlap("backup", &at("db"), &at("db/in"), &[]).status.code(), Some(2), "inside");

    let back = onlap("restore", &at("backup"), &at("new"), &["--json"]);
    assert_eq!(back.status.code(), Some(0), "{}", String::from_utf8_lossy(&back.stderr));
    assert_eq!(json(&back)["check"]["rows"], 1001);
    assert_eq!(
        onlap("restore", &at("backup"), &at("new"), &[]).status.code(),
        Some(2),
        "not empty"
    );
    let unchecked = onlap("restore", &at("backup"), &at("quick"), &["--no-verify", "--json"]);
    assert!(unchecked.status.success() && json(&unchecked)["check"].is_null());

    let damaged = at("backup/000000000001.seg");
    let mut bytes = std::fs::read(&damaged).expect("a segment");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    // A new file: the old one is the source's too.
    std::fs::remove_file(&damaged).and_then(|()| std::fs::write(&damaged, bytes)).expect("damage");
    assert_eq!(onlap("restore", &at("backup"), &at("bad"), &[]).status.code(), Some(1));
    std::fs::remove_file(at("backup/CURRENT")).expect("CURRENT is there");
    let incomplete = onlap("restore", &at("backup"), &at("worse"), &[]);
    assert_eq!(incomplete.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&incomplete.stderr).contains("incomplete"));
    assert!(!at("worse").exists());
}
