//! What if this very operation of the disk fails?
//!
//! A standard history is lived in a simulation once for every file operation that it has and every way in which
//! that one can fail: with an I/O error, once or for ever; with a full disk, once or until somebody makes room;
//! with a write that landed by half; with a file that ends too early. (Too many open files are an I/O error of
//! open; interrupted calls never leave the vfs.) Its client goes on whatever happens, as clients do, and knows
//! which commits were acknowledged and which were refused.
//!
//! Then the disk is well again, and: the handle shows what was acknowledged and nothing that was refused; a full
//! disk that was met before anything landed has left nothing behind; what was refused because nobody knows
//! (I6) stays refused. The database is opened again, as it was left or after a crash: all that was acknowledged
//! is there, a commit whose fate nobody knew as a whole or not at all, and `check` is content.

mod history;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use onlap::{CheckOptions, Database, ErrorKind, Options, SyncMode, check};
use onlap_base::rng::Rng;
use onlap_base::tasks::SimTasks;
use onlap_vfs::{Fault, FaultFs, MemFs, Operation};

use crate::options::{drawn, simulated};
use crate::{Counts, Verdict};
use history::Client;

const DIR: &str = "/db";

/// A way to fail.
struct Way {
    name: &'static str,
    applies: fn(Operation) -> bool,
    fault: fn(Operation) -> Fault,
}

fn any(_: Operation) -> bool {
    true
}

fn takes_space(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::Create
            | Operation::Write
            | Operation::Resize
            | Operation::Link
            | Operation::Rename
    )
}

const WAYS: [Way; 7] = [
    Way { name: "EIO once", applies: any, fault: |_| Fault::any() },
    Way { name: "EIO for ever", applies: any, fault: |o| Fault::on(o).for_ever() },
    Way {
        name: "ENOSPC once",
        applies: takes_space,
        fault: |_| Fault::any().with(ErrorKind::DiskFull),
    },
    Way {
        name: "ENOSPC for ever",
        applies: takes_space,
        fault: |o| Fault::on(o).with(ErrorKind::DiskFull).for_ever(),
    },
    Way { name: "torn", applies: |o| o == Operation::Write, fault: |_| Fault::any().torn() },
    Way {
        name: "torn by ENOSPC",
        applies: |o| o == Operation::Write,
        fault: |_| Fault::any().torn().with(ErrorKind::DiskFull),
    },
    Way { name: "short", applies: |o| o == Operation::Read, fault: |_| Fault::any().short() },
];

/// Every operation of one history in every way. Seed 0 is the standard history; others have other sizes.
///
/// # Errors
/// What the database did that it must not.
pub fn run(seed: u64) -> Verdict {
    run_with(seed, None)
}

/// The same on a disk that lies as well, for controls.
///
/// # Errors
/// As [`run`].
pub fn run_with(seed: u64, lie: Option<&Fault>) -> Verdict {
    let mut rng = Rng::new(seed);
    let mut options = drawn(&mut rng);
    options.sync = SyncMode::Fsync;
    let lots = rng.next_u64();
    let mut counts = Counts::default();
    counts.add("histories", 1);
    let operations = operations(&options, lots);
    counts.add("operations", operations.len() as u64);
    for (n, operation) in operations.iter().enumerate() {
        // How many operations of its kind came before: faults that last fail one kind.
        let before = operations[..n].iter().filter(|o| *o == operation).count() as u64;
        for way in WAYS.iter().filter(|way| (way.applies)(*operation)) {
            let fault = (way.fault)(*operation);
            let after = if way.name.ends_with("for ever") { before } else { n as u64 };
            let seed = lots ^ n as u64;
            let faults = [Some(fault.after(after)), lie.cloned()];
            attempt(&options, lots, faults, *operation, way, seed).map_err(|finding| {
                format!("{} at operation {n}, {operation:?}: {finding}", way.name)
            })?;
            counts.add("faults", 1);
            counts.add(way.name, 1);
        }
    }
    Ok(counts)
}

/// The operations of a history in which none fails.
fn operations(options: &Options, lots: u64) -> Vec<Operation> {
    let fs = FaultFs::new(Arc::new(MemFs::new()));
    let seen: Arc<Mutex<Vec<Operation>>> = Arc::default();
    let notes = Arc::clone(&seen);
    fs.watch(Arc::new(move |operation, _: &Path| {
        notes.lock().unwrap_or_else(PoisonError::into_inner).push(operation);
    }));
    let tasks = SimTasks::new(lots);
    let options = simulated(options, Arc::new(fs.clone()), &tasks);
    let mut client = Client::new(lots);
    let db = client.live(&options, &|| false);
    drop(db);
    assert!(
        client.refused.is_empty(),
        "a disk without faults refuses nothing: {:?}",
        client.refused
    );
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    seen.clone()
}

fn attempt(
    options: &Options,
    lots: u64,
    faults: [Option<Fault>; 2],
    operation: Operation,
    way: &Way,
    seed: u64,
) -> Result<(), String> {
    let mut rng = Rng::new(seed);
    let disk = MemFs::new();
    let fs = FaultFs::new(Arc::new(disk.clone()));
    faults.into_iter().flatten().for_each(|fault| fs.fail(fault));
    let tasks = SimTasks::new(lots);
    let faulty = simulated(options, Arc::new(fs.clone()), &tasks);
    let mut client = Client::new(lots);
    let struck = fs.clone();
    let db = client.live(&faulty, &move || struck.struck() > 0);
    fs.heal();
    if let Some(db) = db {
        client.judge_open(&db, way.name.starts_with("ENOSPC") && no_bytes(operation))?;
        if rng.chance(0.5) {
            // Whether it can be closed in order is its own affair.
            let _ = db.close();
        } else {
            drop(db);
        }
    }
    let left = if rng.chance(0.5) { disk } else { disk.crash(rng.next_u64(), 0.5) };
    let tasks = SimTasks::new(seed);
    let options = simulated(options, Arc::new(left), &tasks);
    let db = Database::open(DIR, options.clone()).map_err(|e| format!("reopen: {e:?}"))?;
    client.judge_reopened(&db)?;
    drop(db);
    let report = check(DIR, &CheckOptions { options }).map_err(|e| format!("check: {e:?}"))?;
    report.findings.first().map_or(Ok(()), |finding| Err(format!("check: {finding:?}")))
}

/// Operations whose failure for want of space leaves nothing behind.
fn no_bytes(operation: Operation) -> bool {
    matches!(operation, Operation::Create | Operation::Resize)
}
