//! How are the demo's results shown?
//!
//! As a table for people on stdout, and as JSON for programs. Bytes per inserted row are of the
//! growing phase with its last flush; merges that are still owed stand next to them as debt.

use std::path::Path;
use std::time::Duration;

use onlap::{Result, Stats};
use onlap_lab::units;
use serde_json::json;

use super::answers::Answer;
use super::phases::{EntryCost, Grown};

/// Everything the demo found.
pub struct Report {
    /// From the start to the first answer.
    pub first_answer: Duration,
    /// From the start to the last loaded row.
    pub loaded: Duration,
    /// Cost of index entries; none when interrupted before it was known.
    pub cost: Option<EntryCost>,
    /// The growing phase.
    pub grown: Grown,
    /// The database at the end.
    pub stats: Stats,
    /// Checked answers.
    pub answers: Vec<Answer>,
    /// Peak resident memory in bytes.
    pub peak_memory: u64,
    /// All of it.
    pub wall: Duration,
}

fn line(name: &str, value: impl std::fmt::Display) {
    println!("  {name:<34} {value}");
}

impl Report {
    /// Bytes written per inserted row, by purpose; the last is the sum.
    fn per_row(&self) -> Vec<(String, f64)> {
        let rows = self.grown.rows.max(1) as f64;
        let (now, before) = (&self.stats.written, &self.grown.written_before);
        let mut parts = vec![
            ("log".to_owned(), now.log - before.log),
            ("segments".to_owned(), now.segments - before.segments),
        ];
        let flights = self.stats.tables.iter().find(|t| t.name == "flights");
        for index in flights.iter().flat_map(|t| &t.indexes) {
            let old = before.indexes.get(&index.id).copied().unwrap_or_default();
            let bytes = index.written.flushed + index.written.merged - old.flushed - old.merged;
            parts.push((format!("index {}", index.name), bytes));
        }
        let total = now.total() - before.total();
        let named: u64 = parts.iter().map(|(_, bytes)| bytes).sum();
        parts.push(("manifest and other tables".to_owned(), total.saturating_sub(named)));
        parts.push(("in all".to_owned(), total));
        parts.into_iter().map(|(name, bytes)| (name, bytes as f64 / rows)).collect()
    }

    fn rate(&self) -> f64 {
        self.grown.rows as f64 / self.grown.seconds.max(1e-9)
    }

    /// The table at the end.
    pub fn print(&self) {
        println!(
            "\nflights: {} secondary indexes, {} rows per commit, queries by index meanwhile",
            super::INDEXES.len(),
            super::COMMIT_ROWS
        );
        line("first answer", format!("{:.2} s", self.first_answer.as_secs_f64()));
        line("the data were loaded after", format!("{:.1} s", self.loaded.as_secs_f64()));
        line("rows inserted while asking", units::grouped(self.grown.rows));
        line("rate", format!("{} rows/s", units::grouped(self.rate() as u64)));
        line("queries by index meanwhile", units::grouped(self.grown.queries));
        let longest = self.grown.longest_commit.as_secs_f64() * 1e3;
        line("longest commit", format!("{longest:.1} ms"));
        if let Some(cost) = &self.cost {
            let rate = |r: f64| units::grouped(r as u64);
            let rates = format!("{} / {} rows/s", rate(cost.plain_rate), rate(cost.indexed_rate));
            line("load with key only / six indexes", rates);
            let entry = format!("{:.3} us CPU, {:.1} bytes written", cost.cpu_us, cost.bytes);
            line("an index entry costs", entry);
        }
        line("peak memory", units::size(self.peak_memory));
        println!("bytes written per inserted row");
        for (name, bytes) in self.per_row() {
            line(&name, format!("{bytes:>6.1}"));
        }
        line("merges still owed", units::size(self.stats.merge_debt_bytes));
        self.print_space();
        println!("answers through indexes, checked against a scan");
        for a in &self.answers {
            match a.agrees() {
                true => line(a.question, format!("{} (agrees)", a.by_index)),
                false => line(a.question, format!("{} DIFFERS from {}", a.by_index, a.by_scan)),
            }
        }
        println!("{:.1} s in all", self.wall.as_secs_f64());
    }

    fn print_space(&self) {
        println!("space on disk");
        for t in &self.stats.tables {
            let indexes: u64 = t.indexes.iter().map(|i| i.bytes).sum();
            let plural = if t.indexes.len() == 1 { "" } else { "es" };
            let text = format!(
                "{:>10} rows, {:>9} in segments, {:>9} in {} index{plural}",
                units::grouped(t.row_ids),
                units::size(t.segment_bytes),
                units::size(indexes),
                t.indexes.len()
            );
            line(&t.name, text);
        }
        line("log", units::size(self.stats.log_bytes));
    }

    /// The same for programs.
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
                    "rows": t.row_ids,
                    "segment_bytes": t.segment_bytes,
                    "index_bytes": indexes,
                })
            })
            .collect();
        let value = json!({
            "first_answer_s": self.first_answer.as_secs_f64(),
            "loaded_s": self.loaded.as_secs_f64(),
            "rows": self.grown.rows,
            "rows_per_s": self.rate(),
            "queries": self.grown.queries,
            "cpu_us_per_row": self.grown.cpu_us as f64 / self.grown.rows.max(1) as f64,
            "longest_commit_ms": self.grown.longest_commit.as_secs_f64() * 1e3,
            "index_entry_cpu_us": self.cost.as_ref().map(|c| c.cpu_us),
            "index_entry_bytes": self.cost.as_ref().map(|c| c.bytes),
            "written_bytes_per_row": per_row,
            "merge_debt_bytes": self.stats.merge_debt_bytes,
            "log_bytes": self.stats.log_bytes,
            "tables": tables,
            "peak_memory_bytes": self.peak_memory,
            "answers": answers,
            "wall_s": self.wall.as_secs_f64(),
        });
        crate::write_json(path, &value)
    }
}
