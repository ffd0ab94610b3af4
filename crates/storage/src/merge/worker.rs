//! How is a merge of runs carried out?
//!
//! The inputs are runs of one index over neighbouring row-id ranges; the output is one run over all of
//! them. Key ranges that do not overlap and files that are large already need no rewriting: the
//! output takes the files over. Otherwise:
//!
//! 1. Entries are read from all inputs in key order, those of rows that are dead at the horizon are
//!    left out, the rest goes into files of the output.
//! 2. When a file is finished and the next entry has a higher key, the slice is *finished*: one edit
//!    adds the file to the output and moves the trim of all inputs to that higher key, which releases
//!    the input files wholly below it. So every entry counts in exactly one run at any time (I4), and
//!    the space needed besides is a few files. Entries of one key are never split between two slices,
//!    because a trim names a key; a key with more entries than a file takes makes a slice longer.
//! 3. The last edit removes the inputs.
//!
//! Runs of cut keys are merged as they are, and whole keys that meet them are cut: no row is read. Only
//! where too many keys would become equal, all become whole ones again, those that were cut with the help
//! of their rows.
//!
//! A crash loses the current slice: its files are in no edit and go at the next open; the trims say
//! where to go on. The same holds when the worker is asked to stop, or leaves for a more pressing
//! merge. The simpler way, one edit at the end, needs the inputs' space twice and starts from the
//! beginning after each crash.
//!
//! Must not know why a merge is due. Thread safety: one worker per index at a time.

use std::ops::Range;
use std::sync::Arc;

use onlap_base::limits::{BLOCK_BYTES, RUN_FILE_BYTES};
use onlap_base::names::FileKind;
use onlap_base::{Error, ErrorKind, IndexId, Part, Result, RowId, TableId};
use onlap_format::Batch;
use onlap_format::key::{Entries, Packing, cut_key, cut_len};
use onlap_format::manifest::{Edit, RunFileMeta, RunMeta};

use super::dead::DeadRows;
use super::policy::{Choice, Reason};
use super::source::{Merger, Round};
use crate::context::StorageContext;
use crate::editor::Editor;
use crate::run::{Run, RunSpec, RunWriter, Ties};
use crate::version::{IndexVersion, RunEntry, TableVersion};
use crate::written::Purpose;

#[cfg(test)]
mod tests;

/// A run whose files have this many entries on average is not rewritten just to join another. Below,
/// a file costs more (a descriptor, a footer in memory) than rewriting its entries once.
const LARGE_ENTRIES: u64 = 8 << 20;
/// The same in shares of a full file's bytes.
const LARGE_SHARE: u64 = 8;

/// How a merge is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergeOptions {
    /// Slices after which the worker returns, however much is left; at least 1.
    pub slices: usize,
    /// Length of an output file; [`RUN_FILE_BYTES`] but in tests.
    pub file_bytes: u64,
    /// Length of a block; [`BLOCK_BYTES`] but in tests.
    pub block_bytes: usize,
}

impl Default for MergeOptions {
    fn default() -> MergeOptions {
        MergeOptions { slices: 1, file_bytes: RUN_FILE_BYTES, block_bytes: BLOCK_BYTES }
    }
}

/// What became of a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The inputs are one run now.
    Finished,
    /// There is more to do, now or later.
    Paused,
    /// The runs are no longer what the choice was made from; nothing is to be done.
    Outdated,
}

/// Carries out some slices of a merge.
pub fn merge(
    editor: &dyn Editor,
    table: TableId,
    index: IndexId,
    choice: &Choice,
    options: &MergeOptions,
) -> Result<Outcome> {
    let Some(version) = editor.version(table) else { return Ok(Outcome::Outdated) };
    let Some(index) = version.index(index) else { return Ok(Outcome::Outdated) };
    let Some(job) = Job::new(editor, &version, index, choice, options) else {
        return Ok(Outcome::Outdated);
    };
    let done = match job.plan(choice.reason) {
        Plan::TakeOver => job.take_over(),
        Plan::Rewrite => job.rewrite(),
    };
    match done {
        // A dropped table or index; whatever was not taken up by an edit has been removed.
        Err(e) if e.kind() == ErrorKind::Conflict => Ok(Outcome::Outdated),
        other => other,
    }
}

enum Plan {
    TakeOver,
    Rewrite,
}

struct Job<'a> {
    editor: &'a dyn Editor,
    version: &'a TableVersion,
    index: &'a IndexVersion,
    options: &'a MergeOptions,
    /// In row-id order.
    inputs: Vec<&'a Arc<RunEntry>>,
    /// The output of a merge that has begun.
    output: Option<&'a Arc<RunEntry>>,
}

impl<'a> Job<'a> {
    fn new(
        editor: &'a dyn Editor,
        version: &'a TableVersion,
        index: &'a IndexVersion,
        choice: &Choice,
        options: &'a MergeOptions,
    ) -> Option<Job<'a>> {
        let find = |id: &u64| index.runs.iter().find(|r| r.meta.id == *id);
        let mut inputs = choice.inputs.iter().map(find).collect::<Option<Vec<_>>>()?;
        let output = match &choice.output {
            Some(id) => Some(find(id)?),
            None => None,
        };
        if inputs.iter().any(|r| r.meta.group != choice.output) {
            return None;
        }
        if output.is_none() && choice.reason != Reason::Dead {
            inputs.drain(..leave_out(&inputs, options));
        }
        assert!(!inputs.is_empty() && options.slices > 0, "a merge has something to do");
        let neighbours = |pair: &[&Arc<RunEntry>]| pair[0].meta.rows.end <= pair[1].meta.rows.start;
        assert!(inputs.windows(2).all(neighbours), "inputs come in row-id order and share no row");
        Some(Job { editor, version, index, options, inputs, output })
    }

    fn plan(&self, reason: Reason) -> Plan {
        let fences_only = |r: &&Arc<RunEntry>| r.run.files().iter().any(|f| !f.has_entries());
        // A run is fences-only in all of its files or in none.
        let alike = self.inputs.iter().all(fences_only) || !self.inputs.iter().any(fences_only);
        // Where cut keys and whole ones stand next to each other, what is kept of them differs.
        let short = |r: &&Arc<RunEntry>| r.run.is_all_cut();
        let of_one_kind = self.inputs.iter().all(short) || !self.has_cut_keys();
        let joinable = self.output.is_none()
            && reason != Reason::Dead
            && alike
            && of_one_kind
            && are_apart(&self.inputs);
        let large = self.inputs.iter().filter(|r| is_large(r, self.options)).count();
        // One small run behind large ones is not worth rewriting them.
        let enough = large + 1 >= self.inputs.len() || self.inputs.iter().any(fences_only);
        if joinable && self.inputs.len() > 1 && enough { Plan::TakeOver } else { Plan::Rewrite }
    }

    fn has_cut_keys(&self) -> bool {
        self.inputs.iter().any(|r| r.run.cut().is_some())
    }

    fn table(&self) -> TableId {
        self.version.schema.id
    }

    fn rows(&self) -> Range<RowId> {
        if let Some(output) = self.output {
            return output.meta.rows.clone();
        }
        let last = self.inputs.last().expect("a merge has inputs");
        self.inputs[0].meta.rows.start..last.meta.rows.end
    }

    /// The output's description with these files.
    fn output_meta(&self, files: Vec<RunFileMeta>, group: bool) -> RunMeta {
        assert!(!files.is_empty(), "a run has files");
        assert!(
            files.iter().all(|f| f.entries > 0 && f.first_key <= f.last_key),
            "files have keys"
        );
        let id = self.editor.context().new_file_id().0;
        let level = self.inputs.iter().map(|r| r.meta.level).max().unwrap_or(0) + 1;
        let group = group.then_some(id);
        RunMeta { id, level, rows: self.rows(), files, trim: None, group }
    }

    fn remove_inputs(&self) -> impl Iterator<Item = Edit> {
        let (table, index) = (self.table(), self.index.id);
        self.inputs.iter().map(move |r| Edit::RemoveRun(table, index, r.meta.id))
    }

    /// Makes one run of the inputs' files.
    fn take_over(&self) -> Result<Outcome> {
        let files = self.inputs.iter().flat_map(|r| r.meta.files.iter().cloned()).collect();
        let output = self.output_meta(files, false);
        let mut edits: Vec<Edit> = self.remove_inputs().collect();
        edits.push(Edit::AddRun(self.table(), self.index.id, output));
        self.editor.commit(&edits)?;
        Ok(Outcome::Finished)
    }

    /// Merges entry by entry.
    fn rewrite(&self) -> Result<Outcome> {
        let packings: Vec<&Arc<Packing>> = self
            .inputs
            .iter()
            .flat_map(|r| r.run.files())
            .filter(|f| f.has_entries())
            .map(|f| f.packing())
            .collect::<Result<_>>()?;
        let bytes = Packing::bytes(&self.index.shape.key);
        let all_have = packings.len() == self.inputs.iter().map(|r| r.run.files().len()).sum();
        let union = match packings.is_empty() || !all_have || self.must_be_whole() {
            true => bytes.clone(),
            false => Packing::union(&packings.iter().map(|p| &***p).collect::<Vec<_>>()),
        };
        let done = Rewrite::new(self).run(Arc::new(union))?;
        match done {
            Some(outcome) => Ok(outcome),
            None => Ok(Rewrite::new(self)
                .run(Arc::new(bytes))?
                .expect("every key fits the packing of key bytes")),
        }
    }

    /// Whether keys have to be whole: of an index over columns that had been changed in place, as older rows in
    /// segments do not have their keys.
    fn must_be_whole(&self) -> bool {
        self.version.schema.index(self.index.id).is_some_and(|index| index.only_since)
    }

    fn writer(&self, packing: &Arc<Packing>) -> RunWriter {
        let entries = self.inputs.iter().map(|r| r.meta.entries()).sum();
        let purpose = Purpose::Merge(self.index.id);
        let shape = Arc::clone(&self.index.shape);
        let version = self.version.schema.version;
        let spec = RunSpec::new(shape, version, self.rows(), Arc::clone(packing), entries, purpose);
        let MergeOptions { file_bytes, block_bytes, .. } = *self.options;
        RunWriter::new(self.editor.context(), RunSpec { file_bytes, block_bytes, ..spec })
    }
}

/// How many of the first inputs are better left alone now: where keys rise from run to run, the small
/// runs at the end become one before it joins the large ones.
fn leave_out(inputs: &[&Arc<RunEntry>], options: &MergeOptions) -> usize {
    let large = inputs.iter().take_while(|r| is_large(r, options)).count();
    if are_apart(inputs) && inputs.len() >= large + 2 { large } else { 0 }
}

fn is_large(run: &RunEntry, options: &MergeOptions) -> bool {
    let files = run.meta.files.len().max(1) as u64;
    run.meta.entries() / files >= LARGE_ENTRIES
        || run.meta.bytes() / files >= options.file_bytes / LARGE_SHARE
}

/// Whether each run's keys lie at or above those of the run before.
fn are_apart(inputs: &[&Arc<RunEntry>]) -> bool {
    let files = || inputs.iter().flat_map(|r| &r.meta.files);
    inputs.iter().all(|r| r.meta.trim.is_none())
        && files().zip(files().skip(1)).all(|(a, b)| a.last_key <= b.first_key)
}

/// A merge entry by entry, as far as this call takes it.
struct Rewrite<'a> {
    job: &'a Job<'a>,
    /// Files that are in no edit yet.
    finished: Unclaimed<'a>,
    /// The output, once an edit has added it.
    output: Option<u64>,
    /// Below this key, entries count in the output; rises with each slice.
    trim: Option<Vec<u8>>,
    slices: usize,
}

impl<'a> Rewrite<'a> {
    fn new(job: &'a Job<'a>) -> Rewrite<'a> {
        let finished = Unclaimed { context: job.editor.context(), files: Vec::new() };
        let output = job.output.map(|r| r.meta.id);
        let trim = job.inputs.iter().filter_map(|r| r.meta.trim.clone()).max();
        Rewrite { finished, output, trim, slices: 0, job }
    }

    /// `None`: some key does not fit the packing, and nothing was done.
    fn run(mut self, packing: Arc<Packing>) -> Result<Option<Outcome>> {
        let job = self.job;
        let editor = job.editor;
        let runs: Vec<Arc<Run>> = job.inputs.iter().map(|r| Arc::clone(&r.run)).collect();
        let mut merger = Merger::new(Some(job.version), &job.index.shape, &runs, &packing);
        let mut writer = job.writer(&packing);
        let mut dead = DeadRows::new(job.version, job.rows(), editor.horizon(job.table()));
        let include = Batch::new(job.index.shape.include_forms());
        let mut entries = Entries::new(packing.new_keys(), include.clone());
        let mut live = Entries::new(packing.new_keys(), include);
        let mut charge = editor.context().memory.charge(Part::Background, 0);
        let mut ties = packing.is_cut().then(Ties::default);
        loop {
            if editor.is_stopping() {
                return Ok(Some(Outcome::Paused));
            }
            let mut round = merger.next(&mut entries)?;
            if ties.as_mut().is_some_and(|ties| !ties.look(&entries.keys)) {
                round = Round::Misfit;
            }
            match round {
                Round::Entries => {}
                Round::End => break,
                Round::Misfit if self.slices > 0 => return Ok(Some(Outcome::Paused)),
                Round::Misfit => return Ok(None),
            }
            let heap = merger.heap_bytes() + entries.heap_bytes() + live.heap_bytes();
            charge.resize(heap as u64);
            if dead.is_clear() {
                writer.push(&entries)?;
            } else {
                keep_live(&entries, &mut dead, &mut live)?;
                writer.push(&live)?;
            }
            self.finished.files.extend(writer.take_finished());
            if !self.finished.files.is_empty() && self.finish_slice(writer.next_key()?)? {
                return Ok(Some(Outcome::Paused));
            }
        }
        self.finished.files.extend(writer.finish()?);
        self.finish()?;
        Ok(Some(Outcome::Finished))
    }

    /// Makes the finished files count, if a trim can tell them from the key that follows. Whether it
    /// is time to return.
    fn finish_slice(&mut self, next: Option<Vec<u8>>) -> Result<bool> {
        let last = self.finished.files.last().expect("a slice has files");
        let Some(next) = next.and_then(|next| self.trim_at(&last.last_key, next)) else {
            return Ok(false);
        };
        assert!(self.trim.as_ref().is_none_or(|trim| *trim < next), "trims rise");
        self.trim = Some(next.clone());
        let job = self.job;
        let (table, index) = (job.table(), job.index.id);
        let mut edits = Vec::new();
        let output = self.add_files(&mut edits, true);
        for run in &job.inputs {
            if self.output.is_none() {
                edits.push(Edit::JoinMerge(table, index, run.meta.id, output));
            }
            edits.push(Edit::TrimRun(table, index, run.meta.id, next.clone()));
        }
        self.commit(&edits)?;
        self.output = Some(output);
        self.slices += 1;
        Ok(self.slices >= job.options.slices)
    }

    /// The trim that tells the entries up to key `last` from those from `next` on, if there is one. Where some
    /// inputs have cut keys it is a cut key, whatever the output has: their entries do not know more.
    fn trim_at(&self, last: &[u8], next: Vec<u8>) -> Option<Vec<u8>> {
        let len = cut_len(&self.job.index.shape.key).filter(|_| self.job.has_cut_keys());
        let Some(len) = len else { return (*last < *next).then_some(next) };
        let kept = cut_key(&next, len);
        (cut_key(last, len) < kept).then(|| kept.to_vec())
    }

    /// Adds the last files and removes the inputs.
    fn finish(&mut self) -> Result<()> {
        let job = self.job;
        let mut edits: Vec<Edit> = job.remove_inputs().collect();
        let begun = self.output.is_some();
        if begun || !self.finished.files.is_empty() {
            let output = self.add_files(&mut edits, false);
            if begun {
                edits.push(Edit::FinishRun(job.table(), job.index.id, output));
            }
        }
        self.commit(&edits)
    }

    /// The edit that adds the finished files to the output, whose id it returns.
    fn add_files(&mut self, edits: &mut Vec<Edit>, group: bool) -> u64 {
        let (table, index) = (self.job.table(), self.job.index.id);
        let files = self.finished.files.clone();
        let in_order = |pair: &[RunFileMeta]| pair[0].last_key <= pair[1].first_key;
        assert!(files.windows(2).all(in_order), "files come in key order");
        match self.output {
            Some(output) => {
                edits.push(Edit::ExtendRun(table, index, output, files));
                output
            }
            None => {
                let output = self.job.output_meta(files, group);
                let id = output.id;
                edits.push(Edit::AddRun(table, index, output));
                id
            }
        }
    }

    fn commit(&mut self, edits: &[Edit]) -> Result<()> {
        if !self.finished.files.is_empty() {
            self.job.editor.context().sync_dir()?;
        }
        let done = self.job.editor.commit(edits);
        // After any other failure the edit may have landed, and with it the need for the files.
        let refused = |e: &Error| matches!(e.kind(), ErrorKind::Conflict | ErrorKind::DiskFull);
        if !done.as_ref().is_err_and(refused) {
            self.finished.files.clear();
        }
        done
    }
}

/// Copies the entries of rows that live to `live`.
fn keep_live(entries: &Entries, dead: &mut DeadRows<'_>, live: &mut Entries) -> Result<()> {
    live.clear();
    let mut positions = Vec::with_capacity(entries.len());
    for (i, row) in entries.row_ids.iter().enumerate() {
        if !dead.contains(*row)? {
            positions.push(i as u32);
        }
    }
    live.extend_selected(entries, &positions);
    Ok(())
}

/// Finished files that no edit has named; removed when they are dropped.
struct Unclaimed<'a> {
    context: &'a StorageContext,
    files: Vec<RunFileMeta>,
}

impl Drop for Unclaimed<'_> {
    fn drop(&mut self) {
        for file in &self.files {
            let path = self.context.dir.join(FileKind::Run(file.file).name());
            // The file is in no edit; if it cannot be removed now, the next open does it.
            let _ = self.context.fs.remove(&path);
        }
    }
}
