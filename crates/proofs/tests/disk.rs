//! Do databases survive disks without room, and without speed?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

use std::path::PathBuf;
use std::process::{Command, Stdio};

use onlap::{
    CheckOptions, DataType, Database, ErrorKind, IndexSpec, Options, TableSpec, Value, check,
};
use onlap_proofs::disk::{Plant, run_full_with, run_slow_with};
use onlap_proofs::{FULL, SLOW, control, prove};

#[test]
fn a_hundred_fill_cycles() {
    prove(FULL, "fill cycles", 100);
}

#[test]
fn minutes_on_a_slow_disk() {
    prove(SLOW, "seconds on a slow disk", 240);
}

#[test]
fn deletes_that_nothing_is_kept_for_are_noticed() {
    let finding = control("no margin", 5, |seed| run_full_with(seed, Some(Plant::NoMargin)));
    assert!(finding.contains("on a full disk: DiskFull"), "{finding}");
}

#[test]
fn rows_that_found_no_room_are_noticed() {
    let finding = control("lost writes", 5, |seed| run_full_with(seed, Some(Plant::LostWrites)));
    assert!(finding.contains("power cut"), "{finding}");
}

#[test]
fn writers_that_nobody_holds_back_are_noticed() {
    let finding = control("no pressure", 2, |seed| run_slow_with(seed, Some(Plant::NoPressure)));
    assert!(finding.contains("never held back"), "{finding}");
}

#[test]
fn reads_that_wait_for_the_disk_are_noticed() {
    let finding = control("waiting reads", 2, |seed| run_slow_with(seed, Some(Plant::ReadsWait)));
    assert!(finding.contains("reads beside a slow disk"), "{finding}");
}

/// Needs the right to mount; without it, it says so and does nothing.
#[test]
fn some_fill_cycles_on_a_real_small_file_system() {
    let Some(small) = Mounted::new() else { return };
    let mut options = Options::default().memory_limit(64 << 20);
    options.tuning.memtable_bytes = Some(1 << 20);
    options.tuning.log_file_bytes = 256 << 10;
    // Merges in large slices would need more room than there is on so small a disk.
    options.tuning.run_file_bytes = 128 << 10;
    options.log_limit = 1 << 20;
    let dir = small.0.join("db");
    let db = Database::open(&dir, options.clone()).expect("open");
    let spec = |name: &str| {
        let spec = TableSpec::new(name).column("id", DataType::Int8).column("b", DataType::Text);
        spec.primary_key(["id"]).index(IndexSpec::new("by_b", ["b"]))
    };
    let row = |id: i64| [Value::Int(id), Value::Text(format!("{:040}", id * 7919 % 1_000_003))];
    let table = db.create_table(spec("t")).expect("create");
    let (mut first, mut next) = (0, 0);
    for _ in 0..3 {
        let side = db.create_table(spec("side")).expect("create");
        side.insert_many((0..100).map(row)).expect("insert");
        let ballast = small.0.join("ballast");
        std::fs::write(&ballast, vec![1; 8 << 20]).expect("room for ballast");
        until("a whole margin", || {
            let stats = db.stats().expect("stats");
            !stats.margin_lent && stats.margin_bytes > 256 << 10
        });
        loop {
            match table.insert_many((next..next + 200).map(row)) {
                Ok(_) => next += 200,
                Err(e) if e.kind() == ErrorKind::DiskFull => break,
                Err(e) => panic!("a full disk says {e:?}"),
            }
        }
        for id in first..first + 20 {
            assert!(table.delete(&[Value::Int(id)]).expect("a delete on a full disk"));
        }
        let count = db.snapshot().expect("snapshot").count(&table).expect("count");
        assert_eq!(count as i64, next - first - 20);
        db.drop_table("side").expect("a drop on a full disk");
        std::fs::remove_file(&ballast).expect("room again");
        until("an insert", || table.insert(&row(next)).is_ok());
        next += 1;
        first = next - 100;
        table.retain("id", &Value::Int(first)).expect("a delete");
        until("room", || db.settle().is_ok());
    }
    drop(table);
    db.close().expect("close");
    let report = check(&dir, &CheckOptions { options }).expect("check");
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    assert_eq!(report.rows as i64, next - first);
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..2000 {
        if is_so() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("{what}: not in twenty seconds");
}

/// A file system of 24 MiB in memory.
struct Mounted(PathBuf, #[expect(dead_code, reason = "goes with it")] tempfile::TempDir);

impl Mounted {
    fn new() -> Option<Mounted> {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().to_owned();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=24m", "onlap-small"]).arg(&path);
        let mounted = mount.stderr(Stdio::null()).status().is_ok_and(|status| status.success());
        if !mounted {
            println!("nobody may mount here: nothing was tried");
        }
        mounted.then_some(Mounted(path, dir))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // The process may have files of it open still.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
