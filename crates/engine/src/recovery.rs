//! How does a database come back?
//!
//! 1. Lock the directory; a second opener is refused with the owner's pid.
//! 2. Read the manifest: tables, their files, how far each table is flushed. Remove files that it
//!    does not name (leftovers of a crash).
//! 3. See that the log files are there which the manifest and their headers call for, and replay the log from the
//!    oldest file that may hold something unflushed: rows with ids below a
//!    table's flushed rows and marks up to its flushed CSN are skipped, the rest goes through the
//!    same memtables as ever. One that fills up meanwhile is frozen, for background tasks to flush once
//!    the database is open; it is flushed at once only where memory is short, which it was not before
//!    unless the limit was lowered.
//! 4. Make durable what was replayed, then begin a new log file behind it. Before a flush of step 3
//!    the same happens to the log so far: files must not hold a part of a commit whose rest may go.
//!
//! What was read may be in the page cache alone. A sync is not enough to change that: when a sync of
//! the process before has failed, the kernel takes those bytes for written. So the part of the log
//! that no record says is durable is written again, to the byte, and then synced. Re-syncing alone
//! was tried and loses commits that were visible ([`Rewritten`]).
//!
//! Invariants: CSNs of commits are contiguous, row ids of a table too (I2), so a gap is damage and
//! not a torn tail; unless relogged rows close it: the files that held these rows may be gone while
//! the one with the rows between them and the relogging is still there. Records of tables that the
//! manifest no longer knows belong to dropped tables.
//!
//! Thread safety: runs before the database has any other thread.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use onlap_base::memory::{Memory, Part};
use onlap_base::names::{self, FileKind};
use onlap_base::{Csn, Error, ErrorKind, Result, TableId};
use onlap_format::log as format;
use onlap_format::log::{LogFile, LogPosition, RecordBody, Replayed};
use onlap_format::manifest::Edit;
use onlap_storage::StorageContext;
use onlap_storage::manifest::Manifest;
use onlap_storage::version::{TableVersion, Versions};
use onlap_storage::written::Purpose;
use onlap_vfs::{Access, Fs};

use crate::database::Shared;
use crate::flush;
use crate::log::{LogChain, LogTail, LogWriter};
use crate::options::{Options, Rule};
use crate::sequences;
use crate::table::{Highs, TableState};

mod landing;

use landing::Landing;

/// Bytes of log read or written at once.
const STEP_BYTES: u64 = 1 << 20;
/// Full memtables that a table may have at the end of recovery, as at any other time.
const FROZEN_MAX: usize = 1;

/// Steps 1 to 4.
pub(crate) fn open(dir: &Path, options: Options) -> Result<Shared> {
    options.check()?;
    let limit = options.resolved_memory_limit()?;
    let fs = Arc::clone(&options.fs);
    if !fs.exists(&dir.join(names::CURRENT))? {
        if !options.create {
            let text = format!("there is no database in {}", dir.display());
            return Err(Error::new(ErrorKind::NotFound, text));
        }
        fs.create_dir_all(dir)?;
    }
    let lock = fs.lock(&dir.join(names::LOCK))?;
    if !fs.exists(&dir.join(names::CURRENT))? {
        refuse_remains(&*fs, dir)?;
    }
    let memory = Arc::new(Memory::new(limit));
    let storage = StorageContext::new(fs, dir.to_owned(), memory, Arc::clone(&options.tasks));
    let versions = Arc::new(match Manifest::exists(&storage)? {
        true => Versions::open(&storage)?,
        false => Versions::create(&storage)?,
    });
    let files = log_files(&storage)?;
    let oldest = versions.state(|s| s.log_oldest).max(1);
    let flushed_csn = versions.state(|s| s.csn);
    // The log ends where replay ends; until then commits cannot happen and the writer's place is
    // taken by the tail that replay returns.
    let shared = Shared::new(options, storage, versions, lock, flushed_csn);
    shared.versions.state(|s| shared.timeline.load(&s.timeline));
    drop_unready(&shared)?;
    sequences::load(&shared);
    for (id, version) in shared.versions.tables() {
        let state = table_state(&shared, id, version, flushed_csn);
        shared.catalog.insert(state.schema().name.clone(), state);
    }
    shared.references.rebuild(&shared.catalog);
    let tail = replay(&shared, &files, oldest, flushed_csn)?;
    shared.snapshots.publish(tail.csn);
    let csn = tail.csn;
    let mut log = LogWriter::start(
        Arc::clone(&shared.storage),
        LogChain::new(&shared.versions, &shared.clock, dir),
        shared.options.sync,
        shared.options.tuning.log_file_bytes,
        tail,
    )?;
    if !shared.obeys(Rule::Margin) {
        log.keep_no_margin();
    } else if log.began_full() {
        shared.margin.note_lent(shared.clock.monotonic_ns());
    }
    shared.start_commits(csn + 1, log);
    Ok(shared)
}

/// Files without `CURRENT` are an interrupted backup or a damaged database. A new one in their place
/// would take them for leftovers and remove them.
fn refuse_remains(fs: &dyn Fs, dir: &Path) -> Result<()> {
    for name in fs.list(dir)? {
        let kind = FileKind::parse(&name);
        if kind.is_some_and(|k| k.file_id().is_some() || matches!(k, FileKind::Log(_))) {
            let text = format!(
                "{} holds {name} but no {}: an interrupted backup or restore, or a damaged database",
                dir.display(),
                names::CURRENT
            );
            return Err(Error::corruption(names::CURRENT, 0, text));
        }
    }
    Ok(())
}

/// The log files that are there, rising.
fn log_files(storage: &StorageContext) -> Result<Vec<LogFile>> {
    let mut files = Vec::new();
    for name in storage.fs.list(&storage.dir)? {
        if let Some(FileKind::Log(number)) = FileKind::parse(&name) {
            let bytes = storage.fs.open(&storage.dir.join(&name), Access::Read)?.len()?;
            files.push(LogFile { number, name, bytes });
        }
    }
    files.sort_by_key(|f| f.number);
    Ok(files)
}

/// Takes indexes away whose build did not come to its end.
fn drop_unready(shared: &Shared) -> Result<()> {
    for (_, version) in shared.versions.tables() {
        if version.schema.indexes.iter().any(|i| !i.ready) {
            let mut schema = (*version.schema).clone();
            schema.indexes.retain(|i| i.ready);
            schema.version += 1;
            shared.commit_edits(&[Edit::ChangeTable(schema)], |_| ())?;
        }
    }
    Ok(())
}

/// A table as its files show it.
fn table_state(
    shared: &Shared,
    id: TableId,
    version: Arc<TableVersion>,
    csn: Csn,
) -> Arc<TableState> {
    let serial = shared
        .versions
        .state(|s| s.tables.get(&id).and_then(|t| t.serials.values().next().copied()).unwrap_or(1));
    let highs = unique_highs(&version);
    let table = shared.new_table(version, csn, serial, highs);
    let history_us = table.schema().history_us;
    if history_us > 0 {
        shared.timeline.keep(history_us);
        let floor = shared.versions.state(|s| s.tables.get(&id).map_or(csn, |t| t.history_floor));
        table.history_floor.store(floor, Ordering::Release);
    }
    table
}

/// The largest key of every unique index in files.
fn unique_highs(version: &TableVersion) -> Highs {
    let unique = version.schema.indexes.iter().filter(|i| i.unique);
    unique
        .map(|i| {
            let runs = version.index(i.id).map_or(&[][..], |v| &v.runs);
            let files = runs.iter().flat_map(|r| &r.meta.files);
            (i.id, files.map(|f| f.last_key.clone()).max())
        })
        .collect()
}

/// Step 3; returns what the log writer needs.
fn replay(shared: &Shared, files: &[LogFile], oldest: u64, flushed: Csn) -> Result<LogTail> {
    let storage = &shared.storage;
    let mut last_csns: Vec<(u64, Csn)> = Vec::new();
    let mut rewritten = Rewritten::new(storage, oldest);
    let mut csn = flushed;
    let mut previous: Option<Csn> = None;
    let mut unix_us = 0;
    let mut load = |number: u64, most: usize, bytes: &mut Vec<u8>| {
        let name = FileKind::Log(number).name();
        let file = storage.fs.open(&storage.dir.join(&name), Access::Read)?;
        let len = file.len()?.min(most as u64);
        bytes.clear();
        // In pieces: fresh memory for whole files costs more than to copy them into what is there.
        while (bytes.len() as u64) < len {
            let at = bytes.len() as u64;
            bytes.extend_from_slice(&file.read_at(at, (len - at).min(STEP_BYTES) as usize)?);
        }
        Ok(())
    };
    let mut landing = Landing::new(shared);
    let mut visit = |replayed: &mut Replayed| {
        let Replayed { record, end } = replayed;
        if let Some(group) = record.group {
            rewritten.note_durable(group.durable);
            unix_us = group.unix_us;
        }
        match &mut record.body {
            RecordBody::Commit(commit) => {
                // In mode `os` a power cut may take commits from the log that are in files.
                if let Some(before) = previous.replace(record.csn)
                    && record.csn > before.max(flushed) + 1
                {
                    let missing = before.max(flushed) + 1;
                    let text = format!("commit {missing} is missing from the log");
                    return Err(at_record(Error::damaged(text), record.position));
                }
                csn = csn.max(record.csn);
                shared.timeline.push(record.csn, unix_us);
                let bytes = end.offset() - record.position.offset();
                landing.commit(commit, record.csn, record.position, bytes)?;
                for state in landing.take_full() {
                    flush::freeze(shared, &state, landing.landed());
                    if !is_short_of_memory(shared, &state) {
                        continue;
                    }
                    rewritten.rewrite(*end)?;
                    let landed = landing.landed().max(shared.snapshots.published());
                    shared.snapshots.publish(landed);
                    match flush::flush_oldest(shared, state.id) {
                        // It was in memory before as well, and can be read and deleted from there.
                        Err(e) if e.kind() == ErrorKind::DiskFull => {}
                        flushed => flushed?,
                    }
                }
            }
            RecordBody::Relog(rows) => {
                let rows = std::mem::take(rows);
                landing.relog(rows).map_err(|e| at_record(e, record.position))?;
            }
            // That of a commit that is not in the log, or of the last one that is.
            RecordBody::Note => shared.timeline.push(record.csn, unix_us),
        }
        let number = end.file();
        match last_csns.last_mut() {
            Some((n, last)) if *n == number => *last = csn,
            _ => last_csns.push((number, csn)),
        }
        Ok(())
    };
    let begun = shared.versions.state(|s| s.log_begun).filter(|_| shared.obeys(Rule::LogChain));
    let end = format::replay(files, oldest, begun, &mut load, &mut visit)?;
    landing.finish()?;
    if !end.live.is_empty() {
        rewritten.rewrite(end.end)?;
    }
    storage.sync_dir()?;
    for number in &end.void {
        storage.fs.remove(&storage.dir.join(FileKind::Log(*number).name()))?;
    }
    let next_file = files.last().map_or(1, |f| f.number + 1).max(oldest);
    let mut tail = LogTail { next_file, end: end.end, csn, files: Vec::new(), stamp: end.stamp };
    let mut before = flushed;
    for number in end.live {
        let path = storage.dir.join(FileKind::Log(number).name());
        let bytes = storage.fs.open(&path, Access::Read)?.len()?;
        let last = last_csns.iter().find(|l| l.0 == number).map_or(before, |l| l.1);
        before = last;
        tail.files.push((number, last, bytes));
    }
    Ok(tail)
}

/// Step 4: how far the log is on the disk for certain.
struct Rewritten<'a> {
    storage: &'a StorageContext,
    oldest: u64,
    durable: LogPosition,
}

impl Rewritten<'_> {
    fn new(storage: &StorageContext, oldest: u64) -> Rewritten<'_> {
        Rewritten { storage, oldest, durable: LogPosition::START }
    }

    /// A sync of an earlier life has succeeded for everything up to here.
    fn note_durable(&mut self, position: LogPosition) {
        self.durable = self.durable.max(position);
    }

    /// Writes what may not be durable yet once more, up to `end`, and syncs it.
    fn rewrite(&mut self, end: LogPosition) -> Result<()> {
        for number in self.oldest.max(self.durable.file())..=end.file() {
            let path = self.storage.dir.join(FileKind::Log(number).name());
            // A recovery that cut the log off leaves numbers out.
            if !self.storage.fs.exists(&path)? {
                continue;
            }
            let file = self.storage.fs.open(&path, Access::ReadWrite)?;
            let to = if number == end.file() { end.offset() } else { file.len()? };
            let mut at = if number == self.durable.file() { self.durable.offset() } else { 0 };
            while at < to {
                let len = (to - at).min(STEP_BYTES);
                let bytes = file.read_at(at, len as usize)?;
                file.write_at(&bytes, at)?;
                self.storage.written.add(Purpose::Log, len);
                at += len;
            }
            file.sync_all()?;
        }
        self.durable = self.durable.max(end);
        Ok(())
    }
}

/// Whether the oldest of the memtables that a table has full has to go to files before more of the log can be
/// replayed. All that was in memory before has room there again, and background tasks flush it later.
fn is_short_of_memory(shared: &Shared, table: &TableState) -> bool {
    let memory = &shared.storage.memory;
    let next = shared.memtable_bytes as u64;
    table.view().frozen.len() > FROZEN_MAX || memory.free(Part::Memtables) < next
}

/// Names the place of a record in an error of its contents.
fn at_record(e: Error, at: LogPosition) -> Error {
    e.at(&FileKind::Log(at.file()).name(), at.offset())
}
