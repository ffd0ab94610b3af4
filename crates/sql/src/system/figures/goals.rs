//! Which goals were set, and are they met? Where else is the database?
//!
//! `onlap_stat.goals` has the limits that settings and options ask for, next to what is measured and to what would give first:
//! nothing that was not asked for. `onlap_stat.replication` has the places outside of the directory that commits were brought to:
//! backups that sessions of this process made.

use onlap::{Stats, TableDebts};

use super::int;
use crate::catalog::oids;
use crate::row;
use crate::system::rows::{Datum, Rows};
use crate::view::View;

/// `onlap_stat.goals`.
pub fn goals(stats: &Stats) -> Rows {
    let mut rows = Rows::of("name setting asked measured unit met limiting");
    let files = if stats.pace.is_device_slow { "device" } else { "cores" };
    let mut add =
        |name, setting: Option<&str>, (asked, measured): (f64, f64), unit, limiting: &str| {
            rows.push(row![name, setting, asked, measured, unit, measured <= asked, limiting]);
        };
    let bytes = |asked: u64, measured: u64| (asked as f64, measured as f64);
    let memory = Some("memory_limit");
    let (limit, used) =
        stats.memory.iter().fold((0, 0), |sum, part| (sum.0 + part.limit, sum.1 + part.used));
    let share = |part: &&onlap::memory::PartReport| part.used as f64 / part.limit.max(1) as f64;
    let fullest = stats.memory.iter().max_by(|a, b| share(a).total_cmp(&share(b)));
    add("memory", memory, bytes(limit, used), "bytes", fullest.map_or("", |part| part.part.name()));
    add("log", None, bytes(stats.log_limit, stats.log_bytes), "bytes", files);
    let merges = bytes(stats.merge_debt_limit, stats.merge_debt_bytes);
    add("debt of merges", memory, merges, "bytes", files);
    let snapshots = bytes(stats.snapshot_debt_limit, stats.snapshot_debt_bytes);
    add("debt of snapshots", memory, snapshots, "bytes", "oldest snapshot");
    if let Some(limit) = stats.snapshot_age_limit {
        let ages = (limit.as_secs_f64(), stats.snapshot_age.as_secs_f64());
        add("age of snapshots", None, ages, "seconds", "oldest snapshot");
    }
    let histories = bytes(stats.history_debt_limit, stats.history_debt_bytes);
    add("debt of histories", memory, histories, "bytes", "histories of tables");
    let tables =
        stats.tables.iter().map(|t| most_owed(&t.debts, (t.pending_rows, t.pending_rows_limit)));
    let most = tables.max_by(|a, b| a.0.total_cmp(&b.0));
    let (share, what) = most.unwrap_or((0.0, "dead rows"));
    add("debt of each table", None, (1.0, share), "share", what);
    rows
}

/// The debt of a table that is nearest to its limit, as a share of that.
fn most_owed(debts: &TableDebts, pending: (u64, u64)) -> (f64, &'static str) {
    let all = [
        (debts.dead_rows, debts.dead_rows_limit, "dead rows"),
        (debts.dead_entries, debts.dead_entries_limit, "dead entries"),
        (debts.pending_changes, debts.pending_changes_limit, "column changes"),
        (pending.0, pending.1, "unresolved rows"),
    ];
    let shares = all.map(|(now, limit, what)| (now as f64 / limit.max(1) as f64, what));
    shares.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)).expect("there are four")
}

/// `onlap_stat.replication`. Where the server's directories are is told to those who see all statistics.
pub fn replication(view: &View) -> Rows {
    let mut rows = Rows::of("kind name state commit_number behind at bytes error");
    let sees = view.judge.has_rights_of(oids::PG_READ_ALL_STATS);
    let newest = view.instance.db.snapshot().map(|snapshot| snapshot.csn()).ok();
    for made in view.instance.backups() {
        let behind = newest.zip(made.csn).map(|(now, then)| int(now.saturating_sub(then)));
        rows.push(row![
            "backup",
            sees.then_some(&made.place),
            if made.error.is_none() { "complete" } else { "failed" },
            made.csn.map(int),
            behind,
            made.at_us,
            made.bytes.map(int),
            made.error.as_ref().filter(|_| sees).map_or(Datum::Null, Datum::from),
        ]);
    }
    rows
}
