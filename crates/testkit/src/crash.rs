//! What is left when the power goes at this very operation?
//!
//! [`at_every_operation`] runs a scenario once to count its file operations, then again for each of
//! them with the power going there: everything from that operation on fails, and what the disk then
//! holds is drawn by [`MemFs::crash`]. The scenario notes each commit in a [`Ledger`] before it asks
//! for it and when it is acknowledged; the check opens what was left and compares. Which operations
//! are tried follows from a seed. One thread.

use std::sync::{Arc, Mutex, PoisonError};

use onlap_base::{Result, Rng};
use onlap_vfs::{Fault, FaultFs, Fs, MemFs};

/// What a scenario asked for and what it was promised.
#[derive(Debug)]
pub struct Ledger<T> {
    lines: Mutex<Lines<T>>,
}

#[derive(Debug)]
struct Lines<T> {
    asked: Vec<T>,
    promised: usize,
}

impl<T: Clone> Ledger<T> {
    fn new() -> Ledger<T> {
        Ledger { lines: Mutex::new(Lines { asked: Vec::new(), promised: 0 }) }
    }

    /// A commit is about to be asked for. One is under way at a time.
    pub fn ask(&self, commit: T) {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).asked.push(commit);
    }

    /// Everything asked for so far is acknowledged: it must survive.
    pub fn promise(&self) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.promised = lines.asked.len();
    }

    /// All that was asked for, in order, and how many of them were promised. A survivor must be a
    /// prefix of the former that is at least as long as the latter.
    pub fn read(&self) -> (Vec<T>, usize) {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        (lines.asked.clone(), lines.promised)
    }
}

/// How to cut the power.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Decides which operations are tried and what survives.
    pub seed: u64,
    /// Most operations to try; all of them when there are fewer.
    pub cuts: u64,
    /// Share of the unsynced that survives.
    pub keep_share: f64,
}

/// Runs `scenario` with the power going at many of its operations, and `check` on what is left each
/// time. The scenario must be deterministic, and return the error when an operation fails. `check`
/// gets the surviving file system, what was asked for, and how many of that were promised.
///
/// # Panics
/// When the scenario fails without a cut, and when `check` finds something, naming seed and operation.
pub fn at_every_operation<T: Clone>(
    plan: Plan,
    scenario: impl Fn(Arc<dyn Fs>, &Ledger<T>) -> Result<()>,
    check: impl Fn(Arc<dyn Fs>, &[T], usize) -> std::result::Result<(), String>,
) {
    let mut rng = Rng::new(plan.seed);
    let whole = FaultFs::new(Arc::new(MemFs::new()));
    scenario(Arc::new(whole.clone()), &Ledger::new()).expect("the scenario works without a cut");
    let operations = whole.operations();
    for cut in chosen(operations, plan.cuts, &mut rng) {
        let disk = MemFs::new();
        let fs = FaultFs::new(Arc::new(disk.clone()));
        let fault = Fault::any().after(cut).for_ever();
        fs.fail(if rng.chance(0.5) { fault.torn() } else { fault });
        let ledger = Ledger::new();
        // Whether the scenario notices is its own affair: what counts is what it was promised.
        let _ = scenario(Arc::new(fs), &ledger);
        let left = disk.crash(rng.next_u64(), plan.keep_share);
        let (asked, promised) = ledger.read();
        if let Err(finding) = check(Arc::new(left), &asked, promised) {
            panic!("seed {}, power gone at operation {cut} of {operations}: {finding}", plan.seed);
        }
    }
}

/// All numbers below `count`, or `most` of them.
fn chosen(count: u64, most: u64, rng: &mut Rng) -> Vec<u64> {
    let mut all: Vec<u64> = (0..count).collect();
    rng.shuffle(&mut all);
    all.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    all.sort_unstable();
    all
}

#[cfg(test)]
mod tests;
