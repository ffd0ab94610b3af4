//! How are the demo's results shown?

use std::path::Path;
use std::time::Duration;

use onlap::{Result, Stats};
use onlap_lab::units;
use serde_json::json;

use super::Grown;

/// What an index entry costs beyond its row.
pub struct EntryCost {
    /// Rows per second without secondary indexes.
    pub plain_rate: f64,
    /// Rows per second with all of them.
    pub indexed_rate: f64,
    /// CPU of the whole process per entry, in microseconds.
    pub cpu_us: f64,
    /// Bytes written per entry.
    pub bytes: f64,
}

/// An answer by index beside the one by scan.
pub struct Answer {
    /// In words.
    pub question: &'static str,
    /// Found through an index.
    pub by_index: String,
    /// Found by reading every row.
    pub by_scan: String,
}

/// Everything the demo found.
pub struct Report {
    /// From the start to the first answer.
    pub first_answer: Duration,
    /// From the start to the last loaded row.
    pub loaded: Duration,
    /// Cost of index entries.
    pub cost: EntryCost,
    /// The growing phase.
    pub grown: Grown,
    /// Final flush and the check of answers.
    pub flush: Duration,
    /// The database at the end.
    pub stats: Stats,
    /// Checked answers.
    pub answers: Vec<Answer>,
    /// Peak resident memory in bytes.
    pub peak_memory: u64,
    /// All of it.
    pub wall: Duration,
}

impl Report {
    fn per_row(&self) -> Vec<(String, f64)> {
        let rows = self.grown.rows.max(1) as f64;
        let (now, before) = (&self.stats.written, &self.grown.written_before);
        let mut parts = vec![
            ("log".to_owned(), (now.log - before.log) as f64 / rows),
            ("segments".to_owned(), (now.segments - before.segments) as f64 / rows),
        ];
        let flights = self.stats.tables.iter().find(|t| t.name == "flights");
        for index in flights.iter().flat_map(|t| &t.indexes) {
            let old = before.indexes.get(&index.id).copied().unwrap_or_default();
            let bytes = index.written.flushed + index.written.merged - old.flushed - old.merged;
            parts.push((format!("index {}", index.name), bytes as f64 / rows));
        }
        parts
    }

    /// The table at the end.
    pub fn print(&self) {
        let line = |name: &str, value: String| println!("  {name:<38} {value}");
        println!("\nflights, six secondary indexes, {} rows per commit", super::COMMIT_ROWS);
        line("first answer", format!("{:.2} s", self.first_answer.as_secs_f64()));
        line("rows inserted while querying", units::count(self.grown.rows));
        let rate = self.grown.rows as f64 / self.grown.seconds;
        line("rate", format!("{} rows/s", units::count(rate as u64)));
        line("queries by index meanwhile", units::count(self.grown.queries));
        let longest = self.grown.longest_commit.as_secs_f64() * 1e3;
        line("longest commit", format!("{longest:.1} ms"));
        line(
            "rate without / with the indexes",
            format!(
                "{} / {} rows/s",
                units::count(self.cost.plain_rate as u64),
                units::count(self.cost.indexed_rate as u64)
            ),
        );
        line(
            "an index entry costs",
            format!("{:.3} us CPU, {:.1} bytes written", self.cost.cpu_us, self.cost.bytes),
        );
        println!("bytes written per inserted row");
        for (name, bytes) in self.per_row() {
            line(&name, format!("{bytes:.1}"));
        }
        println!("space on disk");
        for t in &self.stats.tables {
            let indexes: u64 = t.indexes.iter().map(|i| i.bytes).sum();
            line(
                &t.name,
                format!(
                    "{} rows, {} in segments, {} in {} indexes",
                    units::count(t.segment_rows),
                    units::bytes(t.segment_bytes),
                    units::bytes(indexes),
                    t.indexes.len()
                ),
            );
        }
        line("peak memory", units::bytes(self.peak_memory));
        println!("answers through indexes, checked against a scan");
        for a in &self.answers {
            let verdict = if a.by_index == a.by_scan { "agrees" } else { "DIFFERS" };
            line(a.question, format!("{} ({verdict}: {})", a.by_index, a.by_scan));
        }
        println!("{:.1} s in all", self.wall.as_secs_f64());
    }

    /// The same for machines.
    pub fn write_json(&self, path: &Path) -> Result<()> {
        let per_row: serde_json::Map<String, serde_json::Value> =
            self.per_row().into_iter().map(|(name, bytes)| (name, json!(bytes))).collect();
        let answers: Vec<_> = (self.answers.iter())
            .map(|a| json!({"question": a.question, "index": a.by_index, "scan": a.by_scan}))
            .collect();
        let tables: Vec<_> = (self.stats.tables.iter())
            .map(|t| {
                let indexes: u64 = t.indexes.iter().map(|i| i.bytes).sum();
                json!({
                    "name": t.name,
                    "rows": t.segment_rows,
                    "segment_bytes": t.segment_bytes,
                    "index_bytes": indexes,
                })
            })
            .collect();
        let value = json!({
            "first_answer_s": self.first_answer.as_secs_f64(),
            "loaded_s": self.loaded.as_secs_f64(),
            "rows": self.grown.rows,
            "rows_per_s": self.grown.rows as f64 / self.grown.seconds,
            "queries": self.grown.queries,
            "longest_commit_ms": self.grown.longest_commit.as_secs_f64() * 1e3,
            "index_entry_cpu_us": self.cost.cpu_us,
            "index_entry_bytes": self.cost.bytes,
            "written_bytes_per_row": per_row,
            "tables": tables,
            "peak_memory_bytes": self.peak_memory,
            "answers": answers,
        });
        let text = serde_json::to_string_pretty(&value).expect("numbers and texts are JSON");
        #[expect(clippy::disallowed_methods, reason = "the user's file, not the database's")]
        std::fs::write(path, text + "\n")?;
        Ok(())
    }
}
