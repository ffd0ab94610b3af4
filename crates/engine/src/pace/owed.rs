//! What will merges have to write for the runs that are there?
//!
//! What is *due* jumps when a tier becomes full. What is *owed* does not: the bytes of each run times the number of
//! tiers that lie between it and the whole. Runs in good order owe about [`AVERAGE`] times their bytes.
//!
//! Pure functions of shapes. Thread safety: plain data.

use onlap_storage::merge::RunShape;

/// Between none, right after everything was merged, and 1.3 with all tiers full.
const AVERAGE: f64 = 0.65;

/// What the runs of an index, or of many, owe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Owed {
    /// Bytes to be written by merges.
    pub bytes: u64,
    /// Bytes of the runs.
    pub all: u64,
}

impl Owed {
    /// Of the runs of one index with `width` runs per tier.
    pub(crate) fn of(runs: &[RunShape], width: usize) -> Owed {
        let entries: u64 = runs.iter().map(|r| r.entries).sum();
        let bytes = |r: &RunShape| (r.bytes as f64 * tiers(entries, r.entries, width)) as u64;
        Owed { bytes: runs.iter().map(bytes).sum(), all: runs.iter().map(|r| r.bytes).sum() }
    }

    /// Both together.
    #[must_use]
    pub(crate) fn and(self, other: Owed) -> Owed {
        Owed { bytes: self.bytes + other.bytes, all: self.all + other.all }
    }

    /// In what is owed on average.
    pub(crate) fn share(&self) -> f64 {
        self.bytes as f64 / (self.all as f64 * AVERAGE).max(1.0)
    }
}

/// Tiers between a run with these entries and the whole of an index.
pub(crate) fn tiers(all: u64, entries: u64, width: usize) -> f64 {
    let times = all.max(1) as f64 / entries.max(1) as f64;
    (times.ln() / (width.max(2) as f64).ln()).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(id: u64, entries: u64) -> RunShape {
        RunShape { id, rows: id..id + 1, entries, dead: 0, bytes: entries * 10, group: None }
    }

    #[test]
    fn small_runs_owe_more_than_large_ones() {
        assert_eq!(Owed::of(&[], 4), Owed::default());
        assert_eq!(Owed::of(&[run(1, 100)], 4), Owed { bytes: 0, all: 1000 });
        let owed = Owed::of(&[run(1, 64), run(2, 64), run(3, 64), run(4, 64)], 4);
        assert_eq!(owed, Owed { bytes: 4 * 640, all: 4 * 640 });
        let owed = Owed::of(&[run(1, 192), run(2, 64)], 4);
        assert!(owed.bytes > 640 && owed.bytes < 640 + 500, "{owed:?}");
        assert_eq!(owed.and(owed).all, 2 * 2560);
    }
}
