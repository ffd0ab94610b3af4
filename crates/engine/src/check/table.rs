//! What is looked at in the files of one table?
//!
//! The work is cut into pieces ([`Piece`]), a file or an index each, largest first; tasks take them one after
//! another, and each keeps what it saw for itself until all are done.
//!
//! Thread safety: as above; pieces share nothing that changes but the number of the next one.

use std::cmp::{Ordering, Reverse};
use std::sync::Arc;
use std::sync::atomic::{self, AtomicUsize};

use onlap_base::tasks::Tasks;
use onlap_base::{Csn, Result, RowId};
use onlap_format::changes::{ChangeOp, Scalar};
use onlap_format::{
    Batch, BytesVec, Column, ColumnSchema, DataType, IndexSchema, TableSchema, Vector, convert,
    entries,
};
use onlap_storage::marks::ChangeScratch;
use onlap_storage::segment::{Segment, SegmentScan};
use onlap_storage::version::{MarksEntry, RunEntry, TableVersion};
use onlap_storage::{Direction, EntryBatch, EntryCursor, EntryWants, KeyBounds};
use parking_lot::Mutex;

use super::short::CutRows;
use super::sums::{Indexed, STRETCH_ROWS, Sums};
use super::{CheckReport, FINDINGS_MAX, Finding};
use crate::database::Shared;
use crate::derive::{self, Calculator};
use crate::read::merge_cursors;
use crate::table::TableView;
use onlap_memtable::{Shape, compare_rows};

/// Entries read in a step.
const STEP: usize = 4096;

/// A part of the work, by places in the table's version.
#[derive(Clone, Copy)]
enum Piece {
    Marks(usize),
    Segment(usize),
    /// A run, of an index.
    Run(usize, usize),
    /// That no key of an index stands twice in several runs.
    Unique(usize),
}

/// The check of a table.
pub(super) struct TableCheck {
    name: String,
    view: Arc<TableView>,
    shared: Arc<Shared>,
    csn: Csn,
    pieces: Vec<Piece>,
    next: AtomicUsize,
    done: Mutex<Vec<Seen>>,
}

/// What a task saw.
struct Seen {
    report: CheckReport,
    /// Findings with the number of the piece: their order does not depend on who was first.
    findings: Vec<(usize, String)>,
    /// Per index: what its entries should add up to, and what they do.
    rows: Vec<Sums>,
    entries: Vec<Sums>,
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

impl TableCheck {
    pub(super) fn new(name: &str, view: &Arc<TableView>, shared: &Arc<Shared>) -> Arc<TableCheck> {
        let csn = shared.snapshots.published();
        let version = &view.version;
        let mut pieces = Vec::new();
        pieces.extend(
            (0..version.marks.len()).map(|i| (version.marks[i].meta.bytes, Piece::Marks(i))),
        );
        let segment = |i: usize| (version.segments[i].meta.bytes, Piece::Segment(i));
        pieces.extend((0..version.segments.len()).map(segment));
        for (at, index) in view.schema.indexes.iter().enumerate() {
            let Some(known) = version.index(index.id) else { continue };
            let bytes = |i: usize| known.runs[i].meta.bytes();
            pieces.extend((0..known.runs.len()).map(|i| (bytes(i), Piece::Run(at, i))));
            if index.unique && known.runs.len() > 1 {
                pieces.push(((0..known.runs.len()).map(bytes).sum(), Piece::Unique(at)));
            }
        }
        pieces.sort_by_key(|(bytes, _)| Reverse(*bytes));
        Arc::new(TableCheck {
            name: name.to_owned(),
            view: Arc::clone(view),
            shared: Arc::clone(shared),
            csn,
            pieces: pieces.into_iter().map(|(_, piece)| piece).collect(),
            next: AtomicUsize::new(0),
            done: Mutex::default(),
        })
    }

    /// Looks at everything, with the help of tasks so that there are `jobs`, and adds what it saw to a report.
    pub(super) fn run(self: &Arc<Self>, tasks: &dyn Tasks, jobs: usize, report: &mut CheckReport) {
        let helpers = jobs.min(self.pieces.len()).saturating_sub(1);
        let helper = |i: usize| {
            let check = Arc::clone(self);
            tasks.try_spawn(&format!("onlap-check-{i}"), Box::new(move || check.work()))
        };
        let helpers: Vec<_> = (0..helpers).filter_map(helper).collect();
        self.work();
        let mut findings = Vec::new();
        for panic in helpers.into_iter().filter_map(|h| h.join().err()) {
            findings.push((self.pieces.len(), format!("the check itself failed: {panic}")));
        }
        let indexes = &self.view.schema.indexes;
        let mut rows = vec![Sums::default(); indexes.len()];
        let mut entries = rows.clone();
        for seen in self.done.lock().drain(..) {
            report.rows += seen.report.rows;
            report.entries += seen.report.entries;
            report.marks += seen.report.marks;
            report.changes += seen.report.changes;
            report.bytes += seen.report.bytes;
            findings.extend(seen.findings);
            rows.iter_mut().zip(&seen.rows).for_each(|(all, part)| all.absorb(part));
            entries.iter_mut().zip(&seen.entries).for_each(|(all, part)| all.absorb(part));
        }
        findings.sort_by_key(|f| f.0);
        let mut texts: Vec<String> = findings.into_iter().map(|f| f.1).collect();
        let own = self.view.schema.columns.len();
        let derived: Vec<bool> = Shape::new(Arc::clone(&self.view.schema))
            .indexes
            .iter()
            .map(|index| Indexed::of_rows(index, own).derived)
            .collect();
        let sums = rows.iter().zip(&entries);
        for ((index, derived), (rows, entries)) in indexes.iter().zip(derived).zip(sums) {
            if derived && !self.shared.calculator.is_set() {
                report.unchecked += 1;
                continue;
            }
            if self.view.version.index(index.id).is_none() {
                texts.push(format!("index {} has no place in the manifest", index.name));
                continue;
            }
            texts.extend(rows.differences(entries).into_iter().map(|(first, rows, entries)| {
                format!(
                    "index {}: {entries} live entries for {rows} live rows with ids {first} to {}, or \
                     other keys than the rows'",
                    index.name,
                    first + STRETCH_ROWS - 1
                )
            }));
        }
        for text in texts {
            if report.findings.len() < FINDINGS_MAX {
                report.findings.push(Finding { table: Some(self.name.clone()), text });
            }
        }
    }

    /// Takes pieces until there are none.
    fn work(&self) {
        let schema = &*self.view.schema;
        let shape = Shape::new(Arc::clone(&self.view.schema));
        let sums = vec![Sums::default(); schema.indexes.len()];
        let mut look = Look {
            schema,
            of_rows: shape
                .indexes
                .iter()
                .map(|i| Indexed::of_rows(i, schema.columns.len()))
                .collect(),
            of_entries: shape.indexes.iter().map(Indexed::of_entries).collect(),
            cut: schema
                .indexes
                .iter()
                .map(|index| CutRows::of(self.view.version.index(index.id)?))
                .collect(),
            version: &self.view.version,
            calculator: &self.shared.calculator,
            csn: self.csn,
            piece: 0,
            seen: Seen {
                report: CheckReport::default(),
                findings: Vec::new(),
                rows: sums.clone(),
                entries: sums,
            },
        };
        loop {
            look.piece = self.next.fetch_add(1, atomic::Ordering::Relaxed);
            let Some(piece) = self.pieces.get(look.piece) else { break };
            if let Err(e) = look.at(*piece) {
                // Damage found by a reader is a finding, and the next file is looked at.
                look.find(e.to_string());
            }
        }
        self.done.lock().push(look.seen);
    }
}

/// A task at work.
struct Look<'a> {
    schema: &'a TableSchema,
    of_rows: Vec<Indexed>,
    of_entries: Vec<Indexed>,
    /// Of each index: which of its entries have the first part of their keys alone.
    cut: Vec<Option<CutRows>>,
    version: &'a TableVersion,
    calculator: &'a Calculator,
    csn: Csn,
    /// Number of the piece.
    piece: usize,
    seen: Seen,
}

impl Look<'_> {
    fn at(&mut self, piece: Piece) -> Result<()> {
        let version = self.version;
        match piece {
            Piece::Marks(i) => self.marks(&version.marks[i]),
            Piece::Segment(i) => {
                let entry = &version.segments[i];
                self.seen.report.bytes += entry.meta.bytes;
                self.segment(&entry.segment, entry.meta.count)
            }
            Piece::Run(at, i) => self.run_file(at, i),
            Piece::Unique(at) => self.unique(at),
        }
    }

    fn find(&mut self, text: String) {
        if self.seen.findings.len() < FINDINGS_MAX {
            self.seen.findings.push((self.piece, text));
        }
    }

    fn marks(&mut self, entry: &MarksEntry) -> Result<()> {
        self.seen.report.bytes += entry.meta.bytes;
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
        self.seen.report.marks += n;
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
            self.seen.report.changes += changes.len() as u64;
        }
        Ok(())
    }

    /// Reads a segment and adds its live rows to the sums of every index.
    fn segment(&mut self, segment: &Arc<Segment>, count: u64) -> Result<()> {
        let ids: Vec<_> = self.schema.columns.iter().map(|c| c.id).collect();
        let mut batch = Batch::new(self.schema.columns.iter().map(|c| c.ty.physical()));
        let mut rows = Vec::new();
        let mut scan = SegmentScan::new(segment, segment.row_ids(), Direction::Forward);
        let folded = segment.footer().folded_csn;
        if folded > self.version.flushed_csn {
            let text = format!("has changes up to commit {folded}, which was not flushed");
            self.find(format!("segment {}: {text}", segment.id()));
        }
        let (mut scratch, mut hashes) = (ChangeScratch::default(), Vec::new());
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
            let keep = live(self.version, self.csn, &rows)?;
            self.values(segment, &batch, &keep);
            let count = keep.iter().filter(|k| **k).count();
            self.seen.report.rows += count as u64;
            let all = count == rows.len();
            self.calculated(&rows, &batch, &keep)?;
            let indexes = self.of_rows.iter().zip(&self.cut).zip(&mut self.seen.rows);
            for ((columns, cut), sums) in indexes.filter(|((c, _), _)| !c.derived) {
                columns.hashes(&rows, &batch, &mut hashes);
                if let Some(cut) = cut {
                    let key: Vec<&Column> =
                        columns.key.iter().map(|f| &batch.columns[f.column]).collect();
                    cut.rehash(&rows, &key, &mut hashes);
                }
                if all {
                    sums.add_rising(&rows, &hashes);
                    continue;
                }
                for i in (0..rows.len()).filter(|&i| keep[i]) {
                    sums.add(rows[i], hashes[i]);
                }
            }
        }
        if seen != count {
            let text = format!("{seen} rows, the manifest says {count}");
            self.find(format!("segment {}: {text}", segment.id()));
        }
        Ok(())
    }

    /// Adds live rows to the sums of indexes for which something is calculated.
    fn calculated(&mut self, rows: &[RowId], batch: &Batch, keep: &[bool]) -> Result<()> {
        if self.schema.derived.is_empty() || !self.calculator.is_set() {
            return Ok(());
        }
        let places: Vec<u32> =
            keep.iter().zip(0..).filter(|(keep, _)| **keep).map(|(_, at)| at).collect();
        let rows: Vec<RowId> = places.iter().map(|&at| rows[at as usize]).collect();
        let mut live = Batch::new(batch.columns.iter().map(|c| c.data.physical()));
        live.extend_selected(batch, &places);
        derive::fill(self.calculator, self.schema, &mut live)?;
        let mut hashes = Vec::new();
        for (at, columns) in self.of_rows.iter().enumerate() {
            let sums = &mut self.seen.rows[at];
            if let Some(lists) = columns.lists {
                add_lists(&self.of_entries[at], &rows, &live.columns[lists], sums);
            } else if columns.derived {
                columns.hashes(&rows, &live, &mut hashes);
                let filter = columns.filter.map(|at| &live.columns[at]);
                for i in (0..rows.len()).filter(|&i| derive::has_entry(filter, i)) {
                    sums.add(rows[i], hashes[i]);
                }
            }
        }
        Ok(())
    }

    /// After all changes, live rows have what their columns take.
    fn values(&mut self, segment: &Segment, batch: &Batch, keep: &[bool]) {
        for (column, values) in self.schema.columns.iter().zip(&batch.columns) {
            let null = |i: &usize| keep[*i] && values.is_null(*i);
            if !column.nullable && values.nulls.is_some() && (0..batch.rows).any(|i| null(&i)) {
                self.find(format!("segment {}: NULL in column {}", segment.id(), column.name));
            }
            let (min, max) = convert::int_range(column.ty);
            // Mostly none is outside; which of those are live and not NULL is the rarer question.
            if let Vector::Int(v) = &values.data
                && v.iter().fold(false, |any, v| any | (*v < min) | (*v > max))
                && (0..batch.rows)
                    .any(|i| keep[i] && !values.is_null(i) && !(min..=max).contains(&v[i]))
            {
                let text = format!("column {} leaves its type", column.name);
                self.find(format!("segment {}: {text}", segment.id()));
            }
        }
    }

    fn is_live(&self, row: RowId) -> Result<bool> {
        Ok(live(self.version, self.csn, &[row])?[0])
    }

    /// Reads a run in order and adds the entries of live rows to the sums.
    fn run_file(&mut self, at: usize, i: usize) -> Result<()> {
        let index = &self.schema.indexes[at];
        let Some(known) = self.version.index(index.id) else { return Ok(()) };
        let (run, alone) = (&known.runs[i], known.runs.len() == 1);
        self.seen.report.bytes += run.meta.bytes();
        if self.cut[at].as_ref().is_some_and(|cut| cut.contains(run.meta.rows.start)) {
            return self.cut_run(at, run);
        }
        let wants = EntryWants {
            keys: false,
            key_columns: (0..index.key.len()).collect(),
            include: (0..index.include.len()).collect(),
            ..EntryWants::default()
        };
        let forward = Direction::Forward;
        let mut cursor = self.version.run_cursor(&run.run, KeyBounds::all(), forward, wants);
        let mut batch = EntryBatch::default();
        let (mut neighbours, mut holder) = (Neighbours::default(), None);
        let (mut hashes, mut n) = (Vec::new(), 0);
        while cursor.next(STEP, &mut batch)? {
            n += batch.len() as u64;
            let ordered = neighbours.look(&self.of_entries[at], &batch);
            let inside = batch.row_ids.iter().all(|r| run.meta.rows.contains(r));
            if !ordered || !inside {
                self.find(format!(
                    "index {}, run {}: entries out of order",
                    index.name, run.meta.id
                ));
            }
            if !inside {
                // Sums have a place per stretch of row ids: one out of nowhere would need all of memory.
                continue;
            }
            if index.unique && alone {
                self.twice(index, &neighbours.equal, &mut holder)?;
            }
            self.of_entries[at].hashes(&batch.row_ids, &batch.columns, &mut hashes);
            self.add_entries(&batch.row_ids, &hashes, at)?;
        }
        self.seen.report.entries += n;
        // A compaction takes rows from under a fences-only run; which, the sums tell.
        let known = run.meta.entries();
        let fewer = run.run.files().iter().any(|f| !f.has_entries()) && n < known;
        if run.meta.trim.is_none() && n != known && !fewer {
            let text = format!("{n} entries, the manifest says {}", run.meta.entries());
            self.find(format!("index {}, run {}: {text}", index.name, run.meta.id));
        }
        Ok(())
    }

    /// Reads a run whose entries count by the first part of their keys, as they lie in it.
    fn cut_run(&mut self, at: usize, run: &RunEntry) -> Result<()> {
        let schema = self.schema;
        let name = &schema.indexes[at].name;
        let mut batch = EntryBatch::default();
        let mut last: Option<(Vec<u8>, RowId)> = None;
        let (mut hashes, mut n) = (Vec::new(), 0);
        let (all, forward) = (KeyBounds::all(), Direction::Forward);
        let wants = EntryWants { keys: true, ..EntryWants::default() };
        for part in run.run.parts() {
            let mut cursor = part.cursor(all.clone(), forward, wants.clone());
            while cursor.next(STEP, &mut batch)? {
                n += batch.len() as u64;
                let mut ordered = batch.row_ids.iter().all(|r| run.meta.rows.contains(r));
                let inside = ordered;
                for (key, row) in batch.keys.iter().zip(&batch.row_ids) {
                    ordered &= last.as_ref().is_none_or(|(k, r)| (&k[..], *r) < (key, *row));
                    last = Some((key.to_vec(), *row));
                }
                if !ordered {
                    self.find(format!("index {name}, run {}: entries out of order", run.meta.id));
                }
                if !inside {
                    continue;
                }
                let Some(cut) = &self.cut[at] else { continue };
                hashes.clear();
                let entries = batch.keys.iter().zip(&batch.row_ids);
                hashes.extend(entries.map(|(key, row)| cut.hash(*row, key)));
                self.add_entries(&batch.row_ids, &hashes, at)?;
            }
        }
        self.seen.report.entries += n;
        if run.meta.trim.is_none() && n != run.meta.entries() {
            let text = format!("{n} entries, the manifest says {}", run.meta.entries());
            self.find(format!("index {name}, run {}: {text}", run.meta.id));
        }
        Ok(())
    }

    fn add_entries(&mut self, rows: &[RowId], hashes: &[u64], at: usize) -> Result<()> {
        let sums = &mut self.seen.entries[at];
        if self.version.marks.is_empty() {
            rows.iter().zip(hashes).for_each(|(&row, &hash)| sums.add(row, hash));
            return Ok(());
        }
        let mut order: Vec<(RowId, u64)> =
            rows.iter().copied().zip(hashes.iter().copied()).collect();
        order.sort_unstable();
        let rows: Vec<RowId> = order.iter().map(|o| o.0).collect();
        let keep = live(self.version, self.csn, &rows)?;
        for (&(row, hash), _) in order.iter().zip(keep).filter(|(_, live)| *live) {
            sums.add(row, hash);
        }
        Ok(())
    }

    /// No key of a unique index stands twice among live rows, except for keys with a NULL.
    fn unique(&mut self, at: usize) -> Result<()> {
        let index = &self.schema.indexes[at];
        let wants = EntryWants {
            keys: true,
            key_columns: (0..index.key.len()).collect(),
            include: Vec::new(),
            ..EntryWants::default()
        };
        let mut cursors: Vec<Box<dyn EntryCursor>> = Vec::new();
        let (all, end) = (KeyBounds::all(), self.version.flushed_rows);
        let forward = Direction::Forward;
        self.version.cursors(index.id, &all, forward, &wants, end, &mut cursors)?;
        let mut merged = merge_cursors(cursors, forward);
        let mut batch = EntryBatch::default();
        let (mut neighbours, mut holder) = (Neighbours::default(), None);
        while merged.next(STEP, &mut batch)? {
            neighbours.look(&self.of_entries[at], &batch);
            self.twice(index, &neighbours.equal, &mut holder)?;
        }
        Ok(())
    }

    /// Looks at neighbours with equal keys: are both alive? `holder`: the last row of such a pair, and the row
    /// that has its key.
    fn twice(
        &mut self,
        index: &IndexSchema,
        pairs: &[(RowId, RowId)],
        holder: &mut Option<(RowId, RowId)>,
    ) -> Result<()> {
        for &(previous, row) in pairs {
            let before = holder.filter(|h| h.0 == previous).map_or(previous, |h| h.1);
            let lives = self.is_live(row)?;
            if lives && row < self.version.resolved && self.is_live(before)? {
                self.find(format!(
                    "unique index {}: rows {before} and {row} have the same key",
                    index.name
                ));
            }
            *holder = Some((row, if lives { row } else { before }));
        }
        Ok(())
    }
}

/// Adds the entries that rows should have in an index of lists.
fn add_lists(index: &Indexed, rows: &[RowId], lists: &Column, sums: &mut Sums) {
    let Vector::Bytes(lists) = &lists.data else { return };
    let (mut ids, mut keys, mut hashes) = (Vec::new(), BytesVec::default(), Vec::new());
    let mut add = |ids: &mut Vec<RowId>, keys: &mut BytesVec| {
        let column = Column { data: Vector::Bytes(std::mem::take(keys)), nulls: None };
        let entries = Batch { rows: ids.len(), columns: vec![column] };
        index.hashes(ids, &entries, &mut hashes);
        ids.drain(..).zip(&hashes).for_each(|(row, hash)| sums.add(row, *hash));
    };
    for (at, row) in rows.iter().enumerate() {
        for key in entries::walk(lists.get(at)) {
            ids.push(*row);
            keys.push(key);
            if ids.len() == STEP {
                add(&mut ids, &mut keys);
            }
        }
    }
    add(&mut ids, &mut keys);
}

/// Entries next to those before them, over all batches of a cursor.
#[derive(Default)]
struct Neighbours {
    last: Option<(Batch, RowId)>,
    /// Row ids of neighbours with the same key, without a NULL, in the last batch.
    equal: Vec<(RowId, RowId)>,
}

impl Neighbours {
    /// Whether the entries rise.
    fn look(&mut self, columns: &Indexed, batch: &EntryBatch) -> bool {
        self.equal.clear();
        let (fields, entries) = (&columns.key[..], &batch.columns);
        let is_null = |i: usize| fields.iter().any(|f| entries.columns[f.column].is_null(i));
        let mut rising = true;
        let mut look = |i: usize, before: RowId, order: Ordering| {
            rising &= order.then(before.cmp(&batch.row_ids[i])).is_lt();
            if order.is_eq() && !is_null(i) {
                self.equal.push((before, batch.row_ids[i]));
            }
        };
        if let (Some((last, row)), false) = (&self.last, batch.is_empty()) {
            look(0, *row, compare_rows(fields, last, 0, entries, 0));
        }
        match columns.ints(entries) {
            Some(ints) => {
                for i in 1..batch.len() {
                    let unequal = ints.iter().find(|(v, _)| v[i - 1] != v[i]);
                    let order = unequal.map_or(Ordering::Equal, |(v, descending)| {
                        if (v[i - 1] < v[i]) != *descending {
                            Ordering::Less
                        } else {
                            Ordering::Greater
                        }
                    });
                    look(i, batch.row_ids[i - 1], order);
                }
            }
            None => {
                for i in 1..batch.len() {
                    look(i, batch.row_ids[i - 1], compare_rows(fields, entries, i - 1, entries, i));
                }
            }
        }
        if let Some(&row) = batch.row_ids.last() {
            let forms = entries.columns.iter().map(|c| c.data.physical());
            let mut last = Batch::new(forms);
            last.extend_range(entries, batch.len() - 1..batch.len());
            self.last = Some((last, row));
        }
        rising
    }
}

/// Which of these rows (rising) are not deleted.
fn live(version: &TableVersion, csn: Csn, rows: &[RowId]) -> Result<Vec<bool>> {
    let mut keep = vec![true; rows.len()];
    version.drop_dead(rows, csn, &mut keep)?;
    Ok(keep)
}
