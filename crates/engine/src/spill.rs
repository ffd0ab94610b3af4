//! Where do the rows of a transaction go that has no memory left for them?
//!
//! Into ordinary files: one segment, and one run per index, for each part that is spilled. Nobody
//! knows row ids or CSN yet, so row ids count from the transaction's first row in the table
//! ([`PrivateFiles`]). The transaction reads its spilled rows from these files under provisional ids
//! ([`Spill::version`]); its commit adopts them as they are ([`crate::adopt`]); without a commit they
//! are removed, by the drop of the [`Spill`], or by the next open after a crash: no manifest names
//! them (I5).
//!
//! A part is written by a task of its own while the transaction goes on; one at a time, so that memory
//! holds the part being filled and the part being written, the latter twice for a moment (I7).
//! Where the transaction creates an index, parts that were written before get entries in it afterwards
//! ([`Spill::reform`]).
//! Rows that died before their part was spilled are left out; their ids stay unused for ever.
//!
//! A part that could not be written is lost: whatever is asked of the transaction afterwards fails
//! with the same error, until it goes back to a savepoint before that part.
//!
//! Thread safety: belongs to its transaction.

use std::ops::Range;
use std::sync::Arc;

use onlap_base::memory::{Charge, Part};
use onlap_base::names::FileKind;
use onlap_base::tasks::TaskHandle;
use onlap_base::{ColumnId, Csn, Error, ErrorKind, Result, RowId};
use onlap_format::changes::{Change, LoggedChange};
use onlap_format::manifest::MarkRunMeta;
use onlap_format::marks::Mark;
use onlap_format::{Batch, Column, DerivedSchema, IndexSchema, TableSchema, entries};
use onlap_storage::marks::{MarkRun, MarkRunSpec, MarkRunWriter};
use onlap_storage::segment::Segment;
use onlap_storage::version::{PrivateFiles, PrivateMarks, TableVersion};
use parking_lot::Mutex;

use crate::database::Shared;
use crate::derive::Calculator;
use crate::ledger::Work;
use crate::{flush, index_build};
use onlap_memtable::{DeadRows, Memtable};

/// The spilled rows of a transaction in one table.
pub(crate) struct Spill {
    shared: Arc<Shared>,
    schema: Arc<TableSchema>,
    files: PrivateFiles,
    /// Files may have entries in other indexes than the schema's.
    reformed: bool,
    /// One behind the last ordinal that was spilled.
    end: RowId,
    seen: Option<Arc<TableVersion>>,
    /// Of `files.before`, as far as somebody asked.
    open: Vec<MarkRun>,
    writing: Option<(TaskHandle, Arc<Mutex<Job>>)>,
    /// Rows from here on were lost, and why.
    failed: Option<(RowId, Error)>,
}

/// A part on its way into files.
enum Job {
    Rows {
        rows: Batch,
        first: RowId,
        dead: DeadRows,
        _charge: Charge,
    },
    Files(Result<PrivateFiles>),
    /// A task is at it, or has died.
    Taken,
}

impl Spill {
    pub(crate) fn new(shared: Arc<Shared>, schema: Arc<TableSchema>) -> Spill {
        let files = PrivateFiles::default();
        Spill {
            shared,
            schema,
            files,
            reformed: false,
            end: 0,
            seen: None,
            open: Vec::new(),
            writing: None,
            failed: None,
        }
    }

    /// Ordinal of the first row of the last file.
    pub(crate) fn begin_of_last(&self) -> Option<RowId> {
        self.files.segments.last().map(|s| s.rows.start)
    }

    /// Who calculates derived columns.
    pub(crate) fn calculator(&self) -> &Calculator {
        &self.shared.calculator
    }

    /// Keeps an error for whoever asks next.
    pub(crate) fn fail(&mut self, e: Error) {
        self.failed = Some((0, e));
    }

    /// One behind the last ordinal that was spilled.
    pub(crate) fn end(&self) -> RowId {
        self.end
    }

    /// Spills the transaction's next rows, without those whose ordinals are `dead` (rising). Waits
    /// for the part before to be written.
    ///
    /// # Errors
    /// Those of writing the part before.
    pub(crate) fn push(&mut self, rows: Batch, dead: Vec<RowId>) -> Result<()> {
        self.wait()?;
        if rows.rows == 0 {
            return Ok(());
        }
        let first = self.end;
        self.end += rows.rows as RowId;
        // The rows, and their copy in chunks with orders.
        let bytes = (2 * rows.heap_bytes() + posting_bytes(&self.schema, &rows)) as u64;
        let charge = self.shared.storage.memory.charge(Part::Memtables, bytes);
        self.shared.storage.cache.make_way();
        let job = Job::Rows { rows, first, dead: DeadRows::new(dead), _charge: charge };
        let job = Arc::new(Mutex::new(job));
        let (shared, schema) = (Arc::clone(&self.shared), Arc::clone(&self.schema));
        let of = Arc::clone(&job);
        let body = Box::new(move || run(&shared, &schema, &of));
        match self.shared.tasks.try_spawn("spill", body) {
            Some(task) => self.writing = Some((task, job)),
            None => {
                run(&self.shared, &self.schema, &job);
                self.take(&job)?;
            }
        }
        Ok(())
    }

    /// Writes marks, whose CSNs are the transaction's count of them, to files: those on rows of the
    /// table, and those on rows of the transaction, by ordinal. `before`: the rows that own rows
    /// replaced, for [`Spill::row_before`].
    pub(crate) fn push_marks(
        &mut self,
        committed: Vec<Mark>,
        own: Vec<Mark>,
        before: Vec<(RowId, RowId)>,
    ) -> Result<()> {
        let mut written = PrivateFiles::default();
        let newest = committed.iter().chain(&own).map(|m| m.csn).max().unwrap_or(0);
        let turned = |(row, before)| Mark { row, csn: newest, successor: Some(before) };
        written.before.extend(self.write_marks(before.into_iter().map(turned).collect())?);
        for (marks, own) in [(committed, false), (own, true)] {
            match self.write_marks(marks) {
                Ok(meta) => {
                    written.marks.extend(meta.map(|meta| PrivateMarks { own, meta }));
                }
                Err(e) => {
                    remove(&self.shared, &written);
                    return Err(e);
                }
            }
        }
        self.files.marks.extend(written.marks);
        self.files.before.extend(written.before);
        self.seen = None;
        Ok(())
    }

    /// Writes column changes of rows of the table, which lie in one commit.
    pub(crate) fn push_changes(&mut self, changes: &[LoggedChange]) -> Result<()> {
        let rows = || changes.iter().flat_map(|c| &c.rows);
        let first = rows().map(|r| r.start).min();
        let (Some(first), Some(end)) = (first, rows().map(|r| r.end).max()) else { return Ok(()) };
        let spec = MarkRunSpec { table: self.schema.id, rows: first..end, csns: 1..2 };
        let mut writer = MarkRunWriter::create(&self.shared.storage, spec)?;
        let mut columns: Vec<ColumnId> = changes.iter().map(|c| c.column).collect();
        columns.sort_unstable();
        columns.dedup();
        for column in columns {
            let at = self.schema.position(column).expect("changes of columns that are there");
            writer.begin_column(column, self.schema.columns[at].ty.physical())?;
            let mut all: Vec<Change> = Vec::new();
            for change in changes.iter().filter(|c| c.column == column) {
                all.extend(change.rows.iter().map(|rows| Change {
                    first: rows.start,
                    len: rows.end - rows.start,
                    csn: 1,
                    op: change.op.clone(),
                }));
            }
            // Stable: those of one row stay in their order.
            all.sort_by_key(|change| change.first);
            writer.push_changes(&all)?;
        }
        let meta = writer.finish()?;
        self.files.marks.push(PrivateMarks { own: false, meta });
        self.seen = None;
        Ok(())
    }

    fn write_marks(&self, mut marks: Vec<Mark>) -> Result<Option<MarkRunMeta>> {
        marks.sort_unstable();
        let (Some(first), Some(last)) = (marks.first(), marks.last()) else { return Ok(None) };
        let rows = first.row..last.row + 1;
        let oldest = marks.iter().map(|m| m.csn).min().expect("there is a mark");
        let newest = marks.iter().map(|m| m.csn).max().expect("there is a mark");
        let spec = MarkRunSpec { table: self.schema.id, rows, csns: oldest..newest + 1 };
        let mut writer = MarkRunWriter::create(&self.shared.storage, spec)?;
        writer.push(&marks)?;
        writer.finish().map(Some)
    }

    /// The row that an own row replaced, by its provisional id where it is an own one; as far as that
    /// is in files.
    pub(crate) fn row_before(&mut self, ordinal: RowId) -> Result<Option<RowId>> {
        for meta in self.files.before.iter().filter(|m| m.rows.contains(&ordinal)) {
            let run = match self.open.iter().find(|run| run.id() == meta.file) {
                Some(run) => run,
                None => {
                    self.open.push(MarkRun::open(&self.shared.storage, meta.file, None)?);
                    self.open.last().expect("just opened")
                }
            };
            if let Some((_, Some(row))) = run.deleted(ordinal)? {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    /// Takes back all marks after the `from`-th that are in files, and those before them that are in
    /// the same files; in order, each with whether it is on an own row.
    pub(crate) fn recall_marks(&mut self, from: Csn) -> Vec<(bool, Mark)> {
        let mut gone = PrivateFiles::default();
        let mut least = from + 1;
        loop {
            let before = gone.marks.len();
            // Files written together share a stretch of numbers.
            gone.marks.extend(self.files.marks.extract_if(.., |m| m.meta.csns.end > least));
            if gone.marks.len() == before {
                break;
            }
            least = gone.marks.iter().map(|m| m.meta.csns.start).fold(least, Csn::min);
        }
        // Each was written with some of those, under the newest of their numbers.
        gone.before.extend(self.files.before.extract_if(.., |m| m.csns.end > least));
        let mut recalled = Vec::new();
        for marks in &gone.marks {
            if let Err(e) = read_marks(&self.shared, marks, &mut recalled) {
                self.failed = Some((0, e));
            }
        }
        recalled.sort_unstable_by_key(|(_, mark)| mark.csn);
        self.seen = None;
        remove(&self.shared, &gone);
        recalled
    }

    /// Gives up rows from ordinal `from` on, as far as whole files hold no others: [`Spill::end`] then
    /// says which are left.
    pub(crate) fn cut(&mut self, from: RowId) {
        // An error is kept for whoever asks next.
        let _ = self.wait();
        let mut gone = PrivateFiles::default();
        while self.files.segments.last().is_some_and(|s| s.rows.start >= from) {
            gone.segments.extend(self.files.segments.pop());
        }
        self.end = self.files.end();
        let end = self.end;
        gone.runs.extend(self.files.runs.extract_if(.., |(_, run)| run.rows.start >= end));
        if self.failed.as_ref().is_some_and(|(lost, _)| *lost >= from) {
            self.failed = None;
        }
        // Readers who have them open go on reading them.
        self.seen = None;
        remove(&self.shared, &gone);
    }

    /// Waits until everything spilled is in files.
    pub(crate) fn wait(&mut self) -> Result<()> {
        if let Some((task, job)) = self.writing.take() {
            // Whatever the outcome, the job tells.
            let _ = task.join();
            self.take(&job)?;
        }
        self.failed.as_ref().map_or(Ok(()), |(_, e)| Err(e.clone()))
    }

    fn take(&mut self, job: &Mutex<Job>) -> Result<()> {
        let written = match std::mem::replace(&mut *job.lock(), Job::Taken) {
            Job::Files(written) => written,
            _ => Err(Error::new(ErrorKind::Io, "writing rows of a transaction panicked")),
        };
        match written {
            Ok(files) => {
                self.files.segments.extend(files.segments);
                self.files.runs.extend(files.runs);
                Ok(())
            }
            Err(e) => {
                self.failed = Some((self.files.end(), e.clone()));
                Err(e)
            }
        }
    }

    /// Takes another schema. Rows that are in files get entries when these are asked for.
    pub(crate) fn reform(&mut self, schema: Arc<TableSchema>) {
        self.schema = schema;
        self.reformed = true;
        self.seen = None;
    }

    /// Waits until everything spilled is in files, with entries in the schema's indexes and no others.
    fn complete(&mut self) -> Result<()> {
        self.wait()?;
        if !self.reformed {
            return Ok(());
        }
        let schema = Arc::clone(&self.schema);
        let mut gone = PrivateFiles::default();
        gone.runs.extend(self.files.runs.extract_if(.., |(id, _)| schema.index(*id).is_none()));
        remove(&self.shared, &gone);
        for meta in &self.files.segments {
            let has = |index: &IndexSchema| {
                let inside = |rows: &Range<RowId>| {
                    meta.rows.start <= rows.start && rows.end <= meta.rows.end
                };
                self.files.runs.iter().any(|(id, run)| *id == index.id && inside(&run.rows))
            };
            let lacking = schema.indexes.iter().filter(|index| !has(index));
            let lacking: Vec<IndexSchema> = lacking.cloned().collect();
            if !lacking.is_empty() {
                let segment = Segment::open(&self.shared.storage, meta.file, None)?;
                segment.read_as(&schema)?;
                let (segments, rows) = ([Arc::new(segment)], meta.rows.clone());
                let runs =
                    index_build::fill(&self.shared, &schema, None, &segments, &lacking, rows)?;
                self.files.runs.extend(runs);
            }
        }
        self.seen = None;
        self.reformed = false;
        Ok(())
    }

    /// The spilled rows as their transaction sees them: under provisional ids.
    pub(crate) fn version(&mut self) -> Result<Arc<TableVersion>> {
        self.complete()?;
        let seen = self.seen.as_ref();
        let same = |v: &&Arc<TableVersion>| {
            v.segments.len() == self.files.segments.len() && v.marks.len() == self.files.marks.len()
        };
        if let Some(seen) = seen.filter(same) {
            return Ok(Arc::clone(seen));
        }
        let files = self.shared.versions.files();
        let old = seen.map(|v| &**v);
        let seen = Arc::new(TableVersion::private(files, &self.schema, &self.files, old)?);
        Ok(Arc::clone(self.seen.insert(seen)))
    }

    /// The files, which are complete and synced except for their names.
    pub(crate) fn files(&mut self) -> Result<&PrivateFiles> {
        self.complete()?;
        Ok(&self.files)
    }

    /// The files are the table's now, or nobody knows whether they are.
    pub(crate) fn keep(&mut self) {
        let before = std::mem::take(&mut self.files.before);
        discard(&self.shared, before.iter().map(|meta| FileKind::Marks(meta.file)));
        self.files = PrivateFiles::default();
    }
}

impl Drop for Spill {
    fn drop(&mut self) {
        // An error was reported already, or nobody asked.
        let _ = self.wait();
        self.seen = None;
        remove(&self.shared, &self.files);
    }
}

/// Bytes that sorted entries of lists of keys take.
fn posting_bytes(schema: &TableSchema, rows: &Batch) -> usize {
    let derived = rows.columns.get(schema.columns.len()..).unwrap_or_default();
    let lists = schema.derived.iter().zip(derived);
    let count = |(of, column): (&DerivedSchema, &Column)| match of.lists {
        true => entries::count(column, 0..rows.rows) as usize,
        false => 0,
    };
    lists.map(count).sum::<usize>() * size_of::<u32>()
}

fn read_marks(shared: &Shared, marks: &PrivateMarks, out: &mut Vec<(bool, Mark)>) -> Result<()> {
    let run = MarkRun::open(&shared.storage, marks.meta.file, None)?;
    let mut read = Vec::new();
    (0..run.mark_blocks()).try_for_each(|i| run.read_marks(i, &mut read))?;
    out.extend(read.into_iter().map(|mark| (marks.own, mark)));
    Ok(())
}

/// Removes files that no manifest names. What cannot be removed now goes with the next open.
fn remove(shared: &Shared, files: &PrivateFiles) {
    discard(shared, files.files());
}

/// As [`remove`], by name.
pub(crate) fn discard(shared: &Shared, files: impl Iterator<Item = FileKind>) {
    for kind in files {
        if let Err(e) = shared.storage.fs.remove(&shared.storage.dir.join(kind.name())) {
            shared.background.note_error(e);
        }
    }
}

/// The work of a task.
fn run(shared: &Shared, schema: &Arc<TableSchema>, job: &Mutex<Job>) {
    let taken = std::mem::replace(&mut *job.lock(), Job::Taken);
    let Job::Rows { rows, first, dead, _charge } = taken else { return };
    let written = write(shared, schema, rows, first, &dead);
    *job.lock() = Job::Files(written);
}

fn write(
    shared: &Shared,
    schema: &Arc<TableSchema>,
    rows: Batch,
    first: RowId,
    dead: &DeadRows,
) -> Result<PrivateFiles> {
    let mut files = PrivateFiles::default();
    if rows.rows == dead.len() {
        return Ok(files);
    }
    let memtable = Memtable::new(Arc::clone(schema), first, shared.options.tuning.memtable);
    memtable.append(&rows, 0);
    drop(rows);
    memtable.freeze();
    let written = write_files(shared, schema, &memtable, dead, &mut files);
    if let Err(e) = written {
        remove(shared, &files);
        return Err(e);
    }
    Ok(files)
}

/// `files` name what is written, also when not all of it could be.
fn write_files(
    shared: &Shared,
    schema: &TableSchema,
    memtable: &Memtable,
    dead: &DeadRows,
    files: &mut PrivateFiles,
) -> Result<()> {
    let write = || flush::write_rows(shared, schema, memtable, dead, None, &|_| ());
    files.segments.push(shared.ledger.writing_rows(write)?);
    for index in &schema.indexes {
        let run = flush::write_index(shared, schema, index, memtable, dead, false, &|_| ())?;
        files.runs.push((index.id, run));
        let sorted = memtable.sorted_ns(index.id);
        shared.ledger.account(schema.id, index.id).spend(Work::Sort, sorted);
    }
    Ok(())
}
