//! `onlap stats`: what is in a database's directory?
//!
//! Opens the database as any program would, so that the log is read too, but neither merges nor
//! flushes when it leaves: asking changes nothing of what is asked about.

use std::path::PathBuf;

use onlap::{Database, IndexStats, Options, Result, Stats, TableStats};
use onlap_lab::units;
use serde_json::{Value, json};

use onlap_process::exit::Outcome;

/// Flags of `onlap stats`.
#[derive(clap::Args)]
pub struct Args {
    /// The database's directory
    dir: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs `onlap stats`.
pub fn run(args: &Args) -> Result<Outcome> {
    let options = Options { background_jobs: 0, ..Options::default() }.create(false);
    let db = match Database::open(&args.dir, options) {
        Ok(db) => db,
        Err(error) => return Ok(Outcome::NotOpened(error)),
    };
    let stats = db.stats()?;
    match args.json {
        true => println!("{:#}", to_json(&stats)),
        false => print(&stats),
    }
    Ok(Outcome::Good)
}

fn print(stats: &Stats) {
    println!("commit {}, log {}", stats.csn, units::size(stats.log_bytes));
    println!(
        "debts: merges {} of {}, snapshots {} of {} ({} open over {} commits), history {}",
        units::size(stats.merge_debt_bytes),
        units::size(stats.merge_debt_limit),
        units::size(stats.snapshot_debt_bytes),
        units::size(stats.snapshot_debt_limit),
        stats.snapshots,
        units::grouped(stats.snapshot_debt_commits),
        units::size(stats.history_debt_bytes)
    );
    let w = &stats.written;
    println!("written since creation: {}", units::size(w.total()));
    for (name, bytes) in [
        ("log", w.log),
        ("segments", w.segments),
        ("compaction", w.compaction),
        ("marks", w.marks),
        ("manifest", w.manifest),
    ] {
        println!("  {name:<14} {:>10}", units::size(bytes));
    }
    println!("memory         used        limit");
    for part in &stats.memory {
        let (used, limit) = (units::size(part.used), units::size(part.limit));
        println!("  {:<12} {used:>10} {limit:>10}", part.part.name());
    }
    stats.tables.iter().for_each(print_table);
}

fn print_table(t: &TableStats) {
    println!(
        "\ntable {}: {} row ids, {} segments of {}, {} mark runs of {} ({} marks), {} rows in memory ({})",
        t.name,
        units::grouped(t.row_ids),
        t.segments,
        units::size(t.segment_bytes),
        t.mark_runs,
        units::size(t.mark_bytes),
        units::grouped(t.marks),
        units::grouped(t.unflushed_rows),
        units::size(t.memtable_bytes)
    );
    if t.pending_rows > 0 {
        println!(
            "  {} rows written blindly and not resolved, at most {}",
            units::grouped(t.pending_rows),
            units::grouped(t.pending_rows_limit)
        );
    }
    let d = &t.debts;
    let owed = [
        ("column changes to fold", d.pending_changes, d.pending_changes_limit),
        ("dead rows", d.dead_rows, d.dead_rows_limit),
        ("entries of dead rows", d.dead_entries, d.dead_entries_limit),
    ];
    for (what, now, limit) in owed.into_iter().filter(|(_, now, _)| *now > 0) {
        println!("  {} {what}, at most {}", units::grouped(now), units::grouped(limit));
    }
    t.indexes.iter().for_each(print_index);
}

fn print_index(index: &IndexStats) {
    println!(
        "  index {} {}: {} entries, {}; written {} flushed, {} merged",
        index.name,
        index.pattern,
        units::grouped(index.entries),
        units::size(index.bytes),
        units::size(index.written.flushed),
        units::size(index.written.merged)
    );
    for run in &index.runs {
        println!(
            "    level {} {:<8} rows {}..{}  {} entries in {} files, {}",
            run.level,
            run.form,
            run.rows.start,
            run.rows.end,
            units::grouped(run.entries),
            run.files,
            units::size(run.bytes)
        );
    }
}

fn to_json(stats: &Stats) -> Value {
    let memory: serde_json::Map<String, Value> = (stats.memory.iter())
        .map(|m| (m.part.name().to_owned(), json!({"used": m.used, "limit": m.limit})))
        .collect();
    let w = &stats.written;
    json!({
        "csn": stats.csn,
        "log_bytes": stats.log_bytes,
        "margin_bytes": stats.margin_bytes,
        "margin_lent": stats.margin_lent,
        "merge_debt_bytes": stats.merge_debt_bytes,
        "merge_debt_limit": stats.merge_debt_limit,
        "snapshots": stats.snapshots,
        "snapshot_debt_bytes": stats.snapshot_debt_bytes,
        "snapshot_debt_limit": stats.snapshot_debt_limit,
        "snapshots_revoked": stats.snapshots_revoked,
        "history_debt_bytes": stats.history_debt_bytes,
        "snapshot_debt_commits": stats.snapshot_debt_commits,
        "written_bytes": {
            "log": w.log,
            "segments": w.segments,
            "compaction": w.compaction,
            "marks": w.marks,
            "manifest": w.manifest,
            "samples": w.samples,
            "total": w.total(),
        },
        "memory": memory,
        "tables": stats.tables.iter().map(table_json).collect::<Vec<_>>(),
    })
}

fn table_json(t: &TableStats) -> Value {
    json!({
        "name": t.name,
        "row_ids": t.row_ids,
        "unflushed_rows": t.unflushed_rows,
        "pending_rows": t.pending_rows,
        "pending_rows_limit": t.pending_rows_limit,
        "memtable_bytes": t.memtable_bytes,
        "segments": t.segments,
        "segment_rows": t.segment_rows,
        "segment_bytes": t.segment_bytes,
        "mark_runs": t.mark_runs,
        "marks": t.marks,
        "mark_bytes": t.mark_bytes,
        "history_debt_bytes": t.history_debt_bytes,
        "unflushed_changes": t.unflushed_changes,
        "pending_changes": t.debts.pending_changes,
        "pending_changes_limit": t.debts.pending_changes_limit,
        "dead_rows": t.debts.dead_rows,
        "dead_rows_limit": t.debts.dead_rows_limit,
        "dead_entries": t.debts.dead_entries,
        "dead_entries_limit": t.debts.dead_entries_limit,
        "indexes": t.indexes.iter().map(index_json).collect::<Vec<_>>(),
    })
}

fn index_json(index: &IndexStats) -> Value {
    let runs = index.runs.iter().map(|r| {
        json!({
            "level": r.level,
            "form": r.form,
            "first_row": r.rows.start,
            "end_row": r.rows.end,
            "files": r.files,
            "entries": r.entries,
            "bytes": r.bytes,
        })
    });
    json!({
        "name": index.name,
        "pattern": index.pattern.to_string(),
        "entries": index.entries,
        "bytes": index.bytes,
        "written_bytes": {"flushed": index.written.flushed, "merged": index.written.merged},
        "runs": runs.collect::<Vec<_>>(),
    })
}
