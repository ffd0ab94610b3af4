//! What does the database as a whole say of itself: bytes, memory, commits, waits, debts?
//!
//! As the module above: made from [`onlap::Stats`], which counts for all databases together.

use onlap::{IndexStats, Stats, WrittenReport};

use super::int;
use crate::error::Result;
use crate::row;
use crate::system::rows::{Datum, Rows};
use crate::view::View;

/// The rows of a view of the schema.
///
/// # Errors
/// The database is closed.
pub fn rows(view: &View, name: &str) -> Result<Option<Rows>> {
    let make = match name {
        "writes" => writes,
        "memory" => memory,
        "disk" => disk,
        "waits" => waits,
        "stalls" => stalls,
        "commits" => commits,
        "commit_times" => commit_times,
        "debts" => debts,
        "goals" => super::goals::goals,
        _ => return Ok(None),
    };
    Ok(Some(make(&view.instance.db.stats_without_keys()?)))
}

/// Every byte and the work for it, by purpose: the bytes are all that were written, of all databases.
fn writes(stats: &Stats) -> Rows {
    let mut rows = Rows::of("purpose bytes_ever bytes cpu_ns");
    let (written, before, spent) = (&stats.written, &stats.written_before, &stats.spent);
    let here: Vec<&IndexStats> = stats.tables.iter().flat_map(|t| &t.indexes).collect();
    let of_all = |of: &WrittenReport| of.indexes.values().map(|i| i.flushed + i.merged).sum();
    let (all, all_before): (u64, u64) = (of_all(written), of_all(before));
    let of_here: u64 = here.iter().map(|i| i.written.flushed + i.written.merged).sum();
    let here_before: u64 =
        here.iter().map(|i| i.written_before.flushed + i.written_before.merged).sum();
    let cpu: u64 = here.iter().map(|i| i.spent.cpu_ns()).sum();
    // The client's thread writes the log and the manifest, on the way of something else.
    let all = [
        ("log", written.log, before.log, None),
        ("segments", written.segments, before.segments, Some(spent.segments_ns)),
        ("compaction", written.compaction, before.compaction, Some(spent.compaction_ns)),
        ("marks", written.marks, before.marks, Some(spent.marks_ns)),
        ("manifest", written.manifest, before.manifest, None),
        ("samples", written.samples, before.samples, None),
        ("indexes", of_here, here_before, Some(cpu)),
        (
            "dropped indexes",
            all - of_here,
            all_before.saturating_sub(here_before),
            Some(spent.gone.cpu_ns()),
        ),
    ];
    for (purpose, ever, before, cpu) in all {
        rows.push(row![purpose, int(ever), int(ever.saturating_sub(before)), cpu.map(int)]);
    }
    rows
}

fn memory(stats: &Stats) -> Rows {
    let mut rows = Rows::of("part used_bytes limit_bytes");
    for part in &stats.memory {
        rows.push(row![part.part.name(), int(part.used), int(part.limit)]);
    }
    rows
}

fn waits(stats: &Stats) -> Rows {
    let mut rows = Rows::of("name count total_us");
    let (of, none) = (&stats.transactions, || Datum::Null);
    rows.push(row!["waits for locks", int(of.lock_waits), none()]);
    rows.push(row!["deadlocks", int(of.deadlocks), none()]);
    rows.push(row!["refused for what was read", int(of.failed_reads), none()]);
    rows.push(row!["writers paced", none(), int(stats.delayed_us)]);
    rows.push(row!["snapshots revoked", int(stats.snapshots_revoked), none()]);
    rows.push(row!["histories shortened", int(stats.histories_shortened), none()]);
    rows
}

/// What lies in files.
fn disk(stats: &Stats) -> Rows {
    let mut rows = Rows::of("part bytes");
    let sum = |of: fn(&onlap::TableStats) -> u64| stats.tables.iter().map(of).sum();
    let indexes = |t: &onlap::TableStats| t.indexes.iter().map(|index| index.bytes).sum();
    let all: [(&str, u64); 6] = [
        ("rows", sum(|t| t.segment_bytes)),
        ("indexes", sum(indexes)),
        ("marks", sum(|t| t.mark_bytes)),
        ("log", stats.log_bytes),
        ("kept for deletes", stats.margin_bytes),
        ("samples", stats.samples_bytes),
    ];
    all.into_iter().for_each(|(part, bytes)| rows.push(row![part, int(bytes)]));
    rows
}

fn stalls(stats: &Stats) -> Rows {
    let mut rows = Rows::of("reason count total_us longest_us");
    for stall in &stats.stalls {
        let [count, total, longest] = [stall.count, stall.total_us, stall.longest_us].map(int);
        rows.push(row![stall.why, count, total, longest]);
    }
    rows
}

fn commits(stats: &Stats) -> Rows {
    let mut rows = Rows::of("commit_number commits total_us p50_us p99_us longest_us");
    let us = |ns: u64| ns as f64 / 1e3;
    let times = &stats.commits;
    let count = times.commits();
    rows.push(row![
        int(stats.csn),
        int(count),
        us(times.total_ns),
        times.quantile_ns(0.5).map(us),
        times.quantile_ns(0.99).map(us),
        (count > 0).then(|| us(times.longest_ns)),
    ]);
    rows
}

fn commit_times(stats: &Stats) -> Rows {
    let mut rows = Rows::of("below_us commits");
    for (below_ns, commits) in stats.commits.counts() {
        rows.push(row![below_ns as f64 / 1e3, int(commits)]);
    }
    rows
}

/// Work that was put off, and what snapshots and histories keep.
fn debts(stats: &Stats) -> Rows {
    let mut rows = Rows::of("name bytes limit_bytes");
    let all = [
        ("merges", stats.merge_debt_bytes, stats.merge_debt_limit),
        ("snapshots", stats.snapshot_debt_bytes, stats.snapshot_debt_limit),
        ("histories", stats.history_debt_bytes, stats.history_debt_limit),
    ];
    all.into_iter().for_each(|(name, now, limit)| rows.push(row![name, int(now), int(limit)]));
    rows
}
