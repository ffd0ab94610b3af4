//! With which settings do rigs open databases? Small ones, which take every path with few rows.

use std::sync::Arc;
use std::time::Duration;

use onlap::{Options, SyncMode};
use onlap_base::rng::Rng;
use onlap_base::tasks::SimTasks;
use onlap_vfs::Fs;

/// Draws sizes and a sync mode; most are `fsync`.
pub fn drawn(rng: &mut Rng) -> Options {
    let mode = match rng.below(10) {
        0 => SyncMode::Os,
        1 => SyncMode::Interval(Duration::from_millis(1 + rng.below(20))),
        _ => SyncMode::Fsync,
    };
    let mut options = Options::default().sync(mode).memory_limit(32 << 20);
    options.background_jobs = 1 + rng.index(2);
    options.tuning.log_file_bytes = *rng.pick(&[8 << 10, 16 << 10]);
    options.log_limit = 4 * options.tuning.log_file_bytes;
    options.tuning.memtable_bytes = Some(*rng.pick(&[4_000, 12_000, 40_000]));
    options.tuning.spill_bytes = Some(*rng.pick(&[3_000, 8_000]));
    options.tuning.block_bytes = *rng.pick(&[300, 1000]);
    options.tuning.block_rows = 64;
    options.tuning.run_file_bytes = *rng.pick(&[1000, 8000]);
    options.tuning.merge_fan_in = *rng.pick(&[2, 4]);
    options.tuning.compact_dead_percent = *rng.pick(&[5, 20]);
    options
}

/// The same settings on another file system and in a simulation of its own.
pub fn simulated(options: &Options, fs: Arc<dyn Fs>, tasks: &SimTasks) -> Options {
    let mut options = options.clone();
    options.fs = fs;
    options.clock = Arc::new(tasks.clone());
    options.tasks = Arc::new(tasks.clone());
    options
}
