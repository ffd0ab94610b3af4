//! How do deletes and drops go on when the disk is full?
//!
//! They would give room back, and yet each needs a little first: a record in the log or the manifest, and in
//! time the files that flushes, merges and compactions write before they remove others. So some of the disk
//! is taken while there is room, in three parts:
//!
//! * **A log file**, prepared and empty (`margin.log`), which commits that only delete may take when the log
//!   finds no room for another. It is renamed into place like any spare, so nobody else can come first.
//! * **Room for jobs** (`margin-room.log`), a file of an eighth of the database, bounded both ways
//!   ([`room_target`]). A flush, a compaction or a merge of marks that finds the disk full has it removed and
//!   is tried once more.
//! * **Room in the manifest** for records that give files up (`onlap_storage::manifest`).
//!
//! Once the log file or the room has been used the margin is *lent*: commits that add rows, new tables,
//! indexes and spills get `DiskFull` before anything of them has landed (I6), else they would take what
//! deletes make free and the disk would be full again with no margin left. It ends when all parts could be
//! taken again: background tasks try several times a second, and so does whoever would be refused, if there
//! is room in plenty.
//!
//! Where it cannot be taken when a database is opened, nothing is refused for it; deletes then go as far as
//! they get, and it is taken as soon as there is room. What an open finds of the room goes, as opening needs some
//! too, and where no log file can be made it begins with the one that was kept; the margin is lent then. A clean
//! close gives everything free: a closed database takes no more than it needs.
//!
//! Lending at the first sign of a full disk was tried for merges of any kind and lost: they make no room by
//! themselves, and inserts were refused where the log still had room for them.
//!
//! Thread safety: any thread; no lock is held while files are made or a lock is waited for.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use onlap_base::names::FileKind;
use onlap_base::{Error, ErrorKind, Result};
use onlap_storage::StorageContext;
use onlap_vfs::Access;

use crate::database::Shared;
use crate::log::LogWriter;
use crate::options::Rule;

/// How often background tasks look whether the margin is whole.
const LOOK_EVERY_NS: u64 = 250_000_000;
/// How long what was lent is left to whom it was lent to.
const KEEP_NS: u64 = 1_000_000_000;
/// How long nothing is lent to jobs when it was not enough for one.
const REST_NS: u64 = 30_000_000_000;

/// The margin of an open database, except for the parts that the log and the manifest have.
#[derive(Debug, Default)]
pub(crate) struct Margin {
    /// Bytes of the room for jobs.
    room: AtomicU64,
    lent: AtomicBool,
    /// Somebody takes it; one at a time.
    taking: AtomicBool,
    /// Times on the monotonic clock: until when what was lent is not taken back unless there is plenty, from
    /// when on jobs may have it again, and when to look.
    kept_until: AtomicU64,
    next_lend: AtomicU64,
    next_look: AtomicU64,
}

impl Margin {
    /// Whether a part is used up.
    pub(crate) fn is_lent(&self) -> bool {
        self.lent.load(Ordering::Acquire)
    }

    /// The log has begun the file that was kept for deletes.
    pub(crate) fn note_lent(&self, now_ns: u64) {
        self.kept_until.store(now_ns + KEEP_NS, Ordering::Relaxed);
        self.lent.store(true, Ordering::Release);
    }

    /// Bytes of the room for jobs.
    pub(crate) fn room_bytes(&self) -> u64 {
        self.room.load(Ordering::Relaxed)
    }

    /// Gives the room for jobs free; false when there is none.
    fn lend(&self, shared: &Shared) -> bool {
        let now = shared.clock.monotonic_ns();
        if now < self.next_lend.load(Ordering::Relaxed) || self.taking.swap(true, Ordering::AcqRel)
        {
            return false;
        }
        let there = self.room_bytes() > 0;
        let given = there && remove(&shared.storage, FileKind::MarginRoom).is_ok();
        if given {
            self.room.store(0, Ordering::Relaxed);
            self.note_lent(now);
        }
        self.taking.store(false, Ordering::Release);
        given
    }
}

/// Does a job that gives room back in the end. When the disk is full for it, it is done once more with the
/// room that is kept for such jobs.
pub(crate) fn lending<T>(shared: &Shared, mut job: impl FnMut() -> Result<T>) -> Result<T> {
    match job() {
        Err(e) if e.kind() == ErrorKind::DiskFull && shared.margin.lend(shared) => {}
        done => return done,
    }
    let done = job();
    if done.as_ref().is_err_and(|e| e.kind() == ErrorKind::DiskFull) {
        let rest = shared.clock.monotonic_ns() + REST_NS;
        shared.margin.next_lend.store(rest, Ordering::Relaxed);
    }
    done
}

/// Refuses what takes room, unless the margin is whole or can be taken again at once.
pub(crate) fn check_room(shared: &Shared) -> Result<()> {
    if !shared.margin.is_lent()
        || !shared.has_commits()
        || shared.commits().exclusively(|leader| take_back(shared, &mut leader.log))
    {
        return Ok(());
    }
    Err(refusal())
}

/// Makes room in the log for records that only delete.
pub(crate) fn reserve(shared: &Shared, log: &mut LogWriter, bytes: usize) -> Result<()> {
    if log.reserve_for_deletes(bytes)? {
        shared.margin.note_lent(shared.clock.monotonic_ns());
    }
    Ok(())
}

/// What those get who have to wait for room.
pub(crate) fn refusal() -> Error {
    let text =
        "the disk is full: what is left is kept for deletes and drops until there is room again";
    Error::new(ErrorKind::DiskFull, text)
}

/// Whether the margin is whole, perhaps because there is room in plenty now. The caller has the commit lock.
pub(crate) fn take_back(shared: &Shared, log: &mut LogWriter) -> bool {
    if !shared.margin.is_lent() {
        return true;
    }
    let wants_log = log.wants_margin();
    let bytes = missing_bytes(shared, wants_log, log.bytes());
    let plenty = 2 * bytes + shared.options.tuning.log_file_bytes;
    let least = match shared.clock.monotonic_ns() < shared.margin.kept_until.load(Ordering::Relaxed)
    {
        true => plenty,
        false => bytes,
    };
    let free = shared.storage.fs.free_bytes(&shared.storage.dir).unwrap_or(0);
    if free >= least
        && let Ok(taken) = take(shared, wants_log, log.bytes())
    {
        taken.into_iter().for_each(|path| log.add_margin(path));
    }
    settle(shared, log);
    !shared.margin.is_lent()
}

/// Takes what is missing; for background tasks. Failures are no news: a full disk is known by other signs.
pub(crate) fn look(shared: &Shared) {
    let margin = &shared.margin;
    let now = shared.clock.monotonic_ns();
    if now < margin.next_look.load(Ordering::Relaxed)
        || !shared.obeys(Rule::Margin)
        || shared.check_writable().is_err()
    {
        return;
    }
    margin.next_look.store(now + LOOK_EVERY_NS, Ordering::Relaxed);
    if margin.is_lent() && now < margin.kept_until.load(Ordering::Relaxed) {
        return;
    }
    let seen = shared.commits().if_free(|leader| (leader.log.wants_margin(), leader.log.bytes()));
    let Some((wants_log, log_bytes)) = seen else { return };
    let missing = missing_bytes(shared, wants_log, log_bytes);
    if missing == 0 && !margin.is_lent() {
        return;
    }
    let free = shared.storage.fs.free_bytes(&shared.storage.dir).unwrap_or(0);
    let taken = if free >= missing { take(shared, wants_log, log_bytes) } else { Ok(None) };
    if !margin.is_lent() && !matches!(taken, Ok(Some(_))) {
        return;
    }
    shared.commits().exclusively(|leader| {
        taken.into_iter().flatten().for_each(|path| leader.log.add_margin(path));
        settle(shared, &leader.log);
    });
}

/// Gives everything free at a clean close, where nobody needed it.
pub(crate) fn give_up(shared: &Shared, log: &mut LogWriter) {
    if shared.margin.is_lent() {
        return;
    }
    log.drop_margin();
    if shared.margin.room.swap(0, Ordering::Relaxed) > 0 {
        // What stays behind goes with the next open.
        let _ = remove(&shared.storage, FileKind::MarginRoom);
    }
}

/// Lending ends when all parts are there.
fn settle(shared: &Shared, log: &LogWriter) {
    if !log.wants_margin() && shared.margin.room_bytes() > 0 {
        shared.margin.lent.store(false, Ordering::Release);
    }
}

/// How large the room for jobs is to be: an eighth of the database, so that it is never much of what the
/// database takes anyway; at least a sixteenth of a log file, a few runs and segments of small memtables;
/// at most two log files, the largest segment at the default sizes (`limits::MARGIN_BYTES`).
fn room_target(shared: &Shared, log_bytes: u64) -> u64 {
    let log_file = shared.options.tuning.log_file_bytes;
    let files = shared.versions.tables().iter().map(|(_, v)| v.file_bytes()).sum::<u64>();
    ((files + log_bytes) / 8).clamp(log_file / 16, 2 * log_file)
}

fn missing_bytes(shared: &Shared, wants_log: bool, log_bytes: u64) -> u64 {
    let log = if wants_log { shared.options.tuning.log_file_bytes } else { 0 };
    log + room_target(shared, log_bytes).saturating_sub(shared.margin.room_bytes())
}

/// Takes the parts that are missing, the log file first; what could not be taken as a whole is let go.
/// Returns the log file if it was missing.
fn take(shared: &Shared, wants_log: bool, log_bytes: u64) -> Result<Option<PathBuf>> {
    let margin = &shared.margin;
    if margin.taking.swap(true, Ordering::AcqRel) {
        return Ok(None);
    }
    let taken = (|| {
        let log = match wants_log {
            true => Some(LogWriter::prepare_margin(
                &shared.storage,
                shared.options.tuning.log_file_bytes,
            )?),
            false => None,
        };
        let target = room_target(shared, log_bytes);
        let before = margin.room_bytes();
        if before < target && grow_room(&shared.storage, before, target) {
            margin.room.store(target, Ordering::Relaxed);
        }
        Ok(log)
    })();
    margin.taking.store(false, Ordering::Release);
    taken
}

/// Makes the room for jobs larger; false, with nothing changed, when there is no place for it.
fn grow_room(storage: &StorageContext, before: u64, target: u64) -> bool {
    let path = storage.dir.join(FileKind::MarginRoom.name());
    let opened = match before {
        0 => storage.fs.create(&path, Access::ReadWrite),
        _ => storage.fs.open(&path, Access::ReadWrite),
    };
    let Ok(file) = opened else { return false };
    let grown = file.allocate(target).is_ok();
    if !grown {
        // What cannot be undone goes with the next open.
        let _ = if before == 0 { storage.fs.remove(&path) } else { file.set_len(before) };
    }
    grown
}

fn remove(storage: &StorageContext, kind: FileKind) -> Result<()> {
    storage.fs.remove(&storage.dir.join(kind.name()))
}
