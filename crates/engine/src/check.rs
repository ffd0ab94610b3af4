//! Is everything on disk what it says it is?
//!
//! Opens the database (which replays the log) and reads every file: checksums and footers by
//! reading, the order of rows and entries, counts against the manifest, marks in range, keys of
//! unique indexes once among live rows, that every index holds exactly the keys of the live rows
//! (I4), both ways, and that every row obeys the checks and has the parents of its table.
//!
//! The comparison of an index with its table needs no sorting: both sides add up a hash of (row id,
//! key, INCLUDE values) over live rows, per stretch of row ids. Equal sums mean equal sets but for a
//! chance of 2^-64; unequal ones name the stretch.
//!
//! Thread safety: runs on one thread; the database is open nowhere else.

use std::path::Path;

use onlap_base::{Csn, ErrorKind, Result, RowId};
use onlap_format::changes::{ChangeOp, Scalar};
use onlap_format::key::KeyDef;
use onlap_format::{
    Batch, Column, ColumnSchema, DataType, IndexSchema, TableSchema, Vector, convert,
};
use onlap_storage::marks::ChangeScratch;
use onlap_storage::segment::{Segment, SegmentScan};
use onlap_storage::version::{MarksEntry, RunEntry, TableVersion};
use onlap_storage::{Direction, EntryBatch, EntryCursor, EntryWants, KeyBounds};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::blind;
use crate::database::Database;
use crate::options::Options;
use crate::read::merge_cursors;
use crate::rules::alter;
use crate::table::{index_positions, key_def};

#[cfg(test)]
mod tests;

/// How a check is run.
#[derive(Clone, Default)]
pub struct CheckOptions {
    /// With which settings the database is opened; it is never created.
    pub options: Options,
}

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The table, where it concerns one.
    pub table: Option<String>,
    /// What is wrong, with file and offset where known.
    pub text: String,
}

/// What a check saw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// What is wrong; empty when all is well.
    pub findings: Vec<Finding>,
    /// Tables read.
    pub tables: u64,
    /// Live rows read.
    pub rows: u64,
    /// Index entries read.
    pub entries: u64,
    /// Marks read.
    pub marks: u64,
    /// Column changes read.
    pub changes: u64,
    /// Bytes of the files read.
    pub bytes: u64,
}

/// Row ids per sum: what a finding narrows the difference down to.
const STRETCH_ROWS: u64 = 1 << 16;
/// Entries read in a step.
const STEP: usize = 4096;
/// Findings after which a check gives up: the rest would repeat them.
const FINDINGS_MAX: usize = 100;

/// Checks the database in a directory.
///
/// # Errors
/// There is none, another process has it open, or a newer release wrote it. Damage is a finding.
pub fn check(dir: impl AsRef<Path>, options: &CheckOptions) -> Result<CheckReport> {
    let mut report = CheckReport::default();
    let opened = Database::open(dir, options.options.clone().create(false));
    let db = match opened {
        Ok(db) => db,
        Err(e) if e.kind() == ErrorKind::Corruption => {
            report.findings.push(Finding { table: None, text: e.to_string() });
            return Ok(report);
        }
        Err(e) => return Err(e),
    };
    if let Err(e) = db.flush() {
        report.findings.push(Finding { table: None, text: e.to_string() });
    }
    for (name, state) in db.shared().catalog.named() {
        let view = state.view();
        let mut check = TableCheck {
            name: &name,
            schema: &view.schema,
            version: &view.version,
            csn: db.shared().snapshots.published(),
            report: &mut report,
        };
        check.run();
        match blind::unmarked(&view, FINDINGS_MAX) {
            Ok(found) => report
                .findings
                .extend(found.into_iter().map(|text| Finding { table: Some(name.clone()), text })),
            Err(e) => {
                report.findings.push(Finding { table: Some(name.clone()), text: e.to_string() });
            }
        }
        for broken in alter::broken(db.shared(), &state) {
            report.findings.push(Finding { table: Some(name.clone()), text: broken.to_string() });
        }
        report.tables += 1;
    }
    db.close()?;
    Ok(report)
}

/// Whether a column may be changed so.
fn takes(column: &ColumnSchema, op: &ChangeOp) -> bool {
    match op {
        ChangeOp::Set(Scalar::Null) => column.nullable,
        ChangeOp::Set(_) => true,
        ChangeOp::Add(_) => matches!(
            column.ty,
            DataType::Int2 | DataType::Int4 | DataType::Int8 | DataType::Numeric(Some(_))
        ),
    }
}

struct TableCheck<'a> {
    name: &'a str,
    schema: &'a TableSchema,
    version: &'a TableVersion,
    csn: Csn,
    report: &'a mut CheckReport,
}

/// Sums per stretch of row ids.
#[derive(Default)]
struct Sums(Vec<(u64, u64)>);

impl Sums {
    fn add(&mut self, row: RowId, hash: u64) {
        let at = (row / STRETCH_ROWS) as usize;
        if at >= self.0.len() {
            self.0.resize(at + 1, (0, 0));
        }
        self.0[at].0 += 1;
        self.0[at].1 = self.0[at].1.wrapping_add(hash);
    }
}

impl TableCheck<'_> {
    fn run(&mut self) {
        let schema = self.schema;
        let mut sums: Vec<Sums> = schema.indexes.iter().map(|_| Sums::default()).collect();
        for entry in &self.version.marks {
            let result = self.marks(entry);
            self.note(result);
        }
        for entry in &self.version.segments {
            self.report.bytes += entry.meta.bytes;
            let result = self.segment(&entry.segment, entry.meta.count, &mut sums);
            self.note(result);
        }
        for (index, of_rows) in schema.indexes.iter().zip(sums) {
            let result = self.index(index, &of_rows);
            self.note(result);
        }
    }

    /// Damage found by a reader is a finding, and the next file is looked at.
    fn note(&mut self, result: Result<()>) {
        if let Err(e) = result {
            self.find(e.to_string());
        }
    }

    fn find(&mut self, text: String) {
        if self.report.findings.len() < FINDINGS_MAX {
            self.report.findings.push(Finding { table: Some(self.name.to_owned()), text });
        }
    }

    fn marks(&mut self, entry: &MarksEntry) -> Result<()> {
        self.report.bytes += entry.meta.bytes;
        let mut marks = Vec::new();
        let mut n = 0;
        for block in 0..entry.run.mark_blocks() {
            marks.clear();
            entry.run.read_marks(block, &mut marks)?;
            n += marks.len() as u64;
            for mark in &marks {
                let known = mark.row < self.version.flushed_rows && mark.csn <= self.csn;
                let replaced = mark.successor.is_none_or(|s| s > mark.row);
                if !known || !replaced || !entry.meta.rows.contains(&mark.row) {
                    self.find(format!("{}: mark out of range: {mark:?}", entry.file.name()));
                }
            }
        }
        for block in 0..entry.run.dead_blocks() {
            n += entry.run.read_dead(block)?.1.len();
        }
        self.changes(entry)?;
        if n != entry.meta.marks {
            let text = format!("{} marks, the manifest says {}", n, entry.meta.marks);
            self.find(format!("{}: {text}", entry.file.name()));
        }
        self.report.marks += n;
        Ok(())
    }

    /// Changes name rows and commits that are there, and do to a column what it takes.
    fn changes(&mut self, entry: &MarksEntry) -> Result<()> {
        let footer = entry.run.footer();
        let mut changes = Vec::new();
        for block in 0..entry.run.change_blocks() {
            let id = footer.changes[block].column;
            let at = self.schema.position(id);
            // Those of a column that was dropped go with the next merge.
            let Some(column) = at.map(|at| &self.schema.columns[at]) else { continue };
            changes.clear();
            entry.run.read_change_block(block, column.ty.physical(), &mut changes)?;
            for change in &changes {
                let known = change.end() <= self.version.flushed_rows
                    && footer.change_csns.contains(&change.csn)
                    && change.csn <= self.csn;
                if !known || !entry.meta.rows.contains(&change.first) {
                    self.find(format!("{}: change out of range: {change:?}", entry.file.name()));
                }
                if !takes(column, &change.op) {
                    let text = format!("column {} does not take {:?}", column.name, change.op);
                    self.find(format!("{}: {text}", entry.file.name()));
                }
            }
            self.report.changes += changes.len() as u64;
        }
        Ok(())
    }

    /// Reads a segment and adds its live rows to the sums of every index.
    fn segment(
        &mut self,
        segment: &std::sync::Arc<Segment>,
        count: u64,
        sums: &mut [Sums],
    ) -> Result<()> {
        let ids: Vec<_> = self.schema.columns.iter().map(|c| c.id).collect();
        let mut batch = Batch::new(self.schema.columns.iter().map(|c| c.ty.physical()));
        let mut rows = Vec::new();
        let mut scan = SegmentScan::new(segment, segment.row_ids(), Direction::Forward);
        let folded = segment.footer().folded_csn;
        if folded > self.version.flushed_csn {
            let text = format!("has changes up to commit {folded}, which was not flushed");
            self.find(format!("segment {}: {text}", segment.id()));
        }
        let mut scratch = ChangeScratch::default();
        let (mut seen, mut next) = (0, segment.row_ids().start);
        while scan.next(&ids, &mut batch, &mut rows)? {
            seen += rows.len() as u64;
            if rows.first().is_some_and(|&r| r < next) || !rows.is_sorted_by(|a, b| a < b) {
                self.find(format!("segment {}: row ids do not rise", segment.id()));
            }
            next = rows.last().map_or(next, |r| r + 1);
            for (id, column) in ids.iter().zip(&mut batch.columns) {
                let version = self.version;
                version.lay_changes(*id, self.csn, &rows, column, 0, false, &mut scratch)?;
            }
            let keep = self.live(&rows)?;
            self.values(segment, &batch, &keep);
            self.report.rows += keep.iter().filter(|k| **k).count() as u64;
            for (index, sums) in self.schema.indexes.iter().zip(sums.iter_mut()) {
                add_rows(self.schema, index, &batch, &rows, &keep, sums);
            }
        }
        if seen != count {
            let text = format!("{seen} rows, the manifest says {count}");
            self.find(format!("segment {}: {text}", segment.id()));
        }
        Ok(())
    }

    /// After all changes, live rows have what their columns take.
    fn values(&mut self, segment: &Segment, batch: &Batch, keep: &[bool]) {
        for (column, values) in self.schema.columns.iter().zip(&batch.columns) {
            let null = |i: &usize| keep[*i] && values.is_null(*i);
            if !column.nullable && (0..batch.rows).any(|i| null(&i)) {
                self.find(format!("segment {}: NULL in column {}", segment.id(), column.name));
            }
            let (min, max) = convert::int_range(column.ty);
            if let Vector::Int(v) = &values.data
                && (0..batch.rows)
                    .any(|i| keep[i] && !values.is_null(i) && !(min..=max).contains(&v[i]))
            {
                let text = format!("column {} leaves its type", column.name);
                self.find(format!("segment {}: {text}", segment.id()));
            }
        }
    }

    fn live(&self, rows: &[RowId]) -> Result<Vec<bool>> {
        let mut keep = vec![true; rows.len()];
        self.version.drop_dead(rows, self.csn, &mut keep)?;
        Ok(keep)
    }

    fn index(&mut self, index: &IndexSchema, of_rows: &Sums) -> Result<()> {
        let Some(version) = self.version.index(index.id) else {
            self.find(format!("index {} has no place in the manifest", index.name));
            return Ok(());
        };
        let mut sums = Sums::default();
        for run in &version.runs {
            let result = self.run_file(index, run, &mut sums);
            self.note(result);
        }
        let stretches = of_rows.0.len().max(sums.0.len());
        let (rows, entries) = (&of_rows.0, &sums.0);
        for at in 0..stretches {
            let rows = rows.get(at).copied().unwrap_or_default();
            let entries = entries.get(at).copied().unwrap_or_default();
            if rows != entries {
                let first = at as u64 * STRETCH_ROWS;
                self.find(format!(
                    "index {}: {} live entries for {} live rows with ids {first} to {}, or \
                     other keys than the rows'",
                    index.name,
                    entries.0,
                    rows.0,
                    first + STRETCH_ROWS - 1
                ));
            }
        }
        if index.unique { self.unique(index) } else { Ok(()) }
    }

    /// Reads a run in order and adds the entries of live rows to the sums.
    fn run_file(&mut self, index: &IndexSchema, run: &RunEntry, sums: &mut Sums) -> Result<()> {
        self.report.bytes += run.meta.bytes();
        let wants = EntryWants {
            keys: true,
            key_columns: Vec::new(),
            include: (0..index.include.len()).collect(),
        };
        let forward = Direction::Forward;
        let mut cursor = self.version.run_cursor(&run.run, KeyBounds::all(), forward, wants);
        let mut batch = EntryBatch::default();
        let mut last: Option<(Vec<u8>, RowId)> = None;
        let mut n = 0;
        while cursor.next(STEP, &mut batch)? {
            n += batch.len() as u64;
            let ordered = (1..batch.len()).all(|i| entry(&batch, i - 1) < entry(&batch, i));
            let follows = last.as_ref().is_none_or(|(k, r)| (&k[..], *r) < entry(&batch, 0));
            let inside = batch.row_ids.iter().all(|r| run.meta.rows.contains(r));
            if !ordered || !follows || !inside {
                self.find(format!(
                    "index {}, run {}: entries out of order",
                    index.name, run.meta.id
                ));
            }
            let end = batch.len() - 1;
            last = Some((batch.keys.get(end).to_vec(), batch.row_ids[end]));
            self.add_entries(&batch, sums)?;
        }
        self.report.entries += n;
        // A compaction takes rows from under a fences-only run; which, the sums tell.
        let known = run.meta.entries();
        let fewer = run.run.files().iter().any(|f| !f.has_entries()) && n < known;
        if run.meta.trim.is_none() && n != known && !fewer {
            let text = format!("{n} entries, the manifest says {}", run.meta.entries());
            self.find(format!("index {}, run {}: {text}", index.name, run.meta.id));
        }
        Ok(())
    }

    fn add_entries(&self, batch: &EntryBatch, sums: &mut Sums) -> Result<()> {
        let mut order: Vec<u32> = (0..batch.len() as u32).collect();
        order.sort_unstable_by_key(|&i| batch.row_ids[i as usize]);
        let rows: Vec<RowId> = order.iter().map(|&i| batch.row_ids[i as usize]).collect();
        let include: Vec<&Column> = batch.columns.columns.iter().collect();
        for ((&i, &row), live) in order.iter().zip(&rows).zip(self.live(&rows)?) {
            if live {
                sums.add(row, hash(row, batch.keys.get(i as usize), &include, i as usize));
            }
        }
        Ok(())
    }

    /// No key of a unique index stands twice among live rows, but for keys with a NULL.
    fn unique(&mut self, index: &IndexSchema) -> Result<()> {
        let wants = EntryWants {
            keys: true,
            key_columns: (0..index.key.len()).collect(),
            include: Vec::new(),
        };
        let mut cursors: Vec<Box<dyn EntryCursor>> = Vec::new();
        let (all, end) = (KeyBounds::all(), self.version.flushed_rows);
        let forward = Direction::Forward;
        self.version.cursors(index.id, &all, forward, &wants, end, &mut cursors)?;
        let mut merged = merge_cursors(cursors, forward);
        let mut batch = EntryBatch::default();
        let mut last: Option<(Vec<u8>, RowId)> = None;
        while merged.next(STEP, &mut batch)? {
            for i in 0..batch.len() {
                let key = batch.keys.get(i);
                let null = batch.columns.columns.iter().any(|c| c.is_null(i));
                let row = batch.row_ids[i];
                match &last {
                    Some((k, before)) if k == key && !null => {
                        let before = *before;
                        let met = row < self.version.resolved;
                        if met && self.live(&[before])?[0] && self.live(&[row])?[0] {
                            self.find(format!(
                                "unique index {}: rows {before} and {row} have the same key",
                                index.name
                            ));
                        }
                        if self.live(&[row])?[0] {
                            last = Some((key.to_vec(), row));
                        }
                    }
                    _ => last = Some((key.to_vec(), row)),
                }
            }
        }
        Ok(())
    }
}

fn entry(batch: &EntryBatch, i: usize) -> (&[u8], RowId) {
    (batch.keys.get(i), batch.row_ids[i])
}

fn add_rows(
    schema: &TableSchema,
    index: &IndexSchema,
    batch: &Batch,
    rows: &[RowId],
    keep: &[bool],
    sums: &mut Sums,
) {
    let (positions, include) = index_positions(schema, index);
    let def: KeyDef = key_def(schema, index);
    let columns: Vec<&Column> = positions.iter().map(|&p| &batch.columns[p]).collect();
    let include: Vec<&Column> = include.iter().map(|&p| &batch.columns[p]).collect();
    let mut key = Vec::new();
    for (i, &row) in rows.iter().enumerate().filter(|(i, _)| keep[*i]) {
        key.clear();
        def.encode_row(&columns, i, &mut key);
        sums.add(row, hash(row, &key, &include, i));
    }
}

/// A hash of a row id, its key and INCLUDE values.
fn hash(row: RowId, key: &[u8], include: &[&Column], i: usize) -> u64 {
    let mut h = xxh3_64_with_seed(key, row);
    for column in include {
        h = match &column.data {
            _ if column.is_null(i) => xxh3_64_with_seed(b"null", h),
            Vector::Int(v) => xxh3_64_with_seed(&v[i].to_le_bytes(), h),
            Vector::Wide(v) => xxh3_64_with_seed(&v[i].to_le_bytes(), h),
            Vector::Numeric(m, s) => {
                xxh3_64_with_seed(&m[i].to_le_bytes(), h).wrapping_add(u64::from(s[i]))
            }
            Vector::Bytes(v) => xxh3_64_with_seed(v.get(i), h),
        };
    }
    h
}
