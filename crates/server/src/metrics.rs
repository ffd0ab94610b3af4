//! Which numbers does a monitor get?
//!
//! Prometheus' text format, version 0.0.4: names begin with `onlap_`, units come last, counters end in
//! `_total`. Pure.

use std::fmt::Write as _;

use onlap::Stats;

use crate::connections::Counts;

#[cfg(test)]
mod tests;

/// The page of `/metrics`.
pub fn page(stats: &Stats, counts: Counts, started_us: i64) -> String {
    let mut page = Page::default();
    connections(&mut page, counts, started_us);
    database(&mut page, stats);
    tables(&mut page, stats);
    page.0
}

/// What is wrong with the database, where anything is: first of all that it takes no writes.
pub(crate) fn failure(stats: &Stats) -> Option<String> {
    let writes = stats.write_error.as_ref().map(|e| format!("writes are refused: {e}"));
    let work = || stats.background_error.as_ref().map(|e| format!("background work failed: {e}"));
    writes.or_else(work)
}

fn connections(page: &mut Page, c: Counts, started_us: i64) {
    page.gauge("start_time_seconds", "When the server started.", started_us / 1_000_000);
    page.gauge("connections", "Open connections, with or without a session.", c.connections);
    page.gauge("sessions", "Open sessions.", c.sessions);
    page.counter("connections_accepted_total", "Connections accepted.", c.accepted);
    page.counter("connections_refused_total", "Connections turned away.", c.refused);
    let text = "Connections dropped because too many had not proved who they are.";
    page.counter("connections_dropped_total", text, c.dropped);
    page.counter("cancel_requests_total", "Requests to cancel a statement.", c.cancels);
    page.counter("messages_total", "Messages of clients that were answered.", c.messages);
    page.counter("sends_total", "Times that answers were sent.", c.sends);
    page.counter("session_panics_total", "Sessions that ended by a defect.", c.panics);
}

fn database(page: &mut Page, s: &Stats) {
    page.gauge("commit_number", "Number of the newest visible commit.", s.csn);
    page.gauge("log_bytes", "Log that is kept.", s.log_bytes);
    page.gauge("merge_debt_bytes", "What merges still have to read.", s.merge_debt_bytes);
    let text = "Debt above which writers are held back.";
    page.gauge("merge_debt_limit_bytes", text, s.merge_debt_limit);
    let text = "How long writers were held back.";
    page.counter("writers_delayed_seconds_total", text, s.delayed_us as f64 / 1e6);
    page.counter("lock_waits_total", "Waits for a lock.", s.transactions.lock_waits);
    page.counter("deadlocks_total", "Deadlocks.", s.transactions.deadlocks);
    let text = "Commits refused because of what they had read.";
    page.counter("serialization_failures_total", text, s.transactions.failed_reads);
    page.gauge("snapshots", "Open snapshots.", s.snapshots);
    let text = "Kept only because snapshots are open.";
    page.gauge("snapshot_debt_bytes", text, s.snapshot_debt_bytes);
    page.counter("snapshots_revoked_total", "Snapshots revoked.", s.snapshots_revoked);
    page.gauge("history_debt_bytes", "Kept only for histories.", s.history_debt_bytes);
    let refused = u8::from(s.write_error.is_some());
    let text = "1 where the database takes no more writes until it is opened again.";
    page.gauge("writes_refused", text, refused);
    let failed = u8::from(s.background_error.is_some());
    page.gauge("background_failed", "1 where background work failed last.", failed);
    page.head("memory_used_bytes", "gauge", "Memory in use, by part of the budget.");
    for part in &s.memory {
        page.value("memory_used_bytes", &[("part", part.part.name())], part.used);
    }
    page.head("memory_limit_bytes", "gauge", "Parts of the memory budget.");
    for part in &s.memory {
        page.value("memory_limit_bytes", &[("part", part.part.name())], part.limit);
    }
    page.head("written_bytes_total", "counter", "Bytes written since creation, by purpose.");
    let w = &s.written;
    let purposes = [
        ("log", w.log),
        ("segments", w.segments),
        ("compaction", w.compaction),
        ("marks", w.marks),
        ("manifest", w.manifest),
        ("samples", w.samples),
        ("all", w.total()),
    ];
    for (purpose, bytes) in purposes {
        page.value("written_bytes_total", &[("purpose", purpose)], bytes);
    }
}

fn tables(page: &mut Page, s: &Stats) {
    let measures: [(&str, &str, fn(&onlap::TableStats) -> u64); 6] = [
        ("table_row_ids", "Row ids given; dead rows count.", |t| t.row_ids),
        ("table_unflushed_rows", "Rows in memory.", |t| t.unflushed_rows),
        ("table_segment_bytes", "Size of segments.", |t| t.segment_bytes),
        ("table_index_bytes", "Size of indexes.", |t| t.indexes.iter().map(|i| i.bytes).sum()),
        ("table_dead_rows", "Dead rows in files.", |t| t.debts.dead_rows),
        ("table_pending_changes", "Column changes not folded.", |t| t.debts.pending_changes),
    ];
    for (name, text, measure) in measures {
        page.head(name, "gauge", text);
        for table in &s.tables {
            page.value(name, &[("table", &table.name)], measure(table));
        }
    }
    let measures: [(&str, &str, &str, fn(&onlap::IndexStats) -> u64); 2] = [
        ("index_bytes", "gauge", "Size of an index.", |i| i.bytes),
        ("index_written_bytes_total", "counter", "Bytes written for an index.", |i| {
            i.written.flushed + i.written.merged
        }),
    ];
    for (name, kind, text, measure) in measures {
        page.head(name, kind, text);
        for table in &s.tables {
            for index in &table.indexes {
                let labels = [("table", table.name.as_str()), ("index", &index.name)];
                page.value(name, &labels, measure(index));
            }
        }
    }
}

#[derive(Default)]
struct Page(String);

impl Page {
    fn head(&mut self, name: &str, kind: &str, text: &str) {
        let _ = writeln!(self.0, "# HELP onlap_{name} {text}\n# TYPE onlap_{name} {kind}");
    }
    fn value(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        let labels: Vec<String> =
            (labels.iter()).map(|(label, text)| format!("{label}=\"{}\"", escaped(text))).collect();
        let labels = match labels.is_empty() {
            true => String::new(),
            false => format!("{{{}}}", labels.join(",")),
        };
        let _ = writeln!(self.0, "onlap_{name}{labels} {value}");
    }
    fn gauge(&mut self, name: &str, text: &str, value: impl std::fmt::Display) {
        self.head(name, "gauge", text);
        self.value(name, &[], value);
    }
    fn counter(&mut self, name: &str, text: &str, value: impl std::fmt::Display) {
        self.head(name, "counter", text);
        self.value(name, &[], value);
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
