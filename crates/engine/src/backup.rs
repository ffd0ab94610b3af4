//! How is a database copied while it is written to, and how does it come back?
//!
//! A backup is a database directory of its own that holds exactly what was committed up to one
//! commit, its *point*. Steps:
//!
//! 1. **Point**, under the commit lock: the last commit's CSN, the manifest's state, the versions it
//!    describes (which pin its files), and the log files with their lengths. What is not in files at
//!    that moment is in this log, so the two together are the database at the point. From here on
//!    writers go on; the log files are held, so that none is used again before it is copied.
//! 2. **Log** first, since holding it lets the log grow: it is copied up to the point, and a note
//!    that all of it is durable is put behind it, so that damage to its last commit is told from a
//!    torn tail. Then it is let go.
//! 3. **Finished files**, which never change (I5): by hard links where both directories are on one
//!    file system and nobody asked for copies, else copied.
//! 4. **Manifest and CURRENT**, last ([`onlap_storage::backup`]): a directory without CURRENT is an
//!    interrupted backup, and opening or restoring it is refused.
//!
//! Flushing first instead of copying the log was rejected: writers go on, so tables would be flushed
//! up to different commits, and a thousand small tables would leave a thousand small files each time.
//!
//! A restore copies everything, so that the backup stays independent of what becomes of the restored
//! database's disk, and checks what it made.
//!
//! Thread safety: any number of backups at once, to different directories.

use std::path::Path;
use std::sync::Arc;

use onlap_base::names::{self, FileKind};
use onlap_base::{Csn, Error, ErrorKind, Result};
use onlap_format::log::{self as format, GroupPart, LogBegun, LogPosition};
use onlap_format::manifest::ManifestState;
use onlap_storage::backup::{Transfer, finished_files};
use onlap_storage::manifest::load_state;
use onlap_storage::version::TableVersion;
use onlap_vfs::{Access, Fs};

use crate::check::{CheckOptions, CheckReport, check};
use crate::database::{Database, Shared};
use crate::options::Options;

/// How far a backup or a restore has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackupProgress {
    /// Files that are there.
    pub files_done: u64,
    /// Files in all.
    pub files: u64,
    /// Bytes that are there, linked or copied.
    pub bytes_done: u64,
    /// Bytes in all.
    pub bytes: u64,
}

/// Called between files and between parts of files. Its error ends the work, and what was made so
/// far is removed; [`ErrorKind::Cancelled`] is the one to choose.
pub type OnProgress<'a> = &'a mut dyn FnMut(&BackupProgress) -> Result<()>;

/// How a backup is made.
#[derive(Default)]
pub struct BackupOptions<'a> {
    /// Copy finished files also where hard links would do.
    pub copy: bool,
    /// Is told how far it has come.
    pub progress: Option<OnProgress<'a>>,
}

/// What a backup holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupReport {
    /// It holds every commit up to this one and nothing of any later.
    pub csn: Csn,
    /// When that was, in microseconds since 1970.
    pub unix_us: i64,
    /// Tables.
    pub tables: u64,
    /// Files, the manifest not counted.
    pub files: u64,
    /// Bytes that share their place on the disk with the source.
    pub linked_bytes: u64,
    /// Bytes that were copied.
    pub copied_bytes: u64,
}

/// How a backup is restored.
pub struct RestoreOptions<'a> {
    /// With which settings the restored database is checked, and the file system of both.
    pub options: Options,
    /// Check the restored database.
    pub verify: bool,
    /// Is told how far it has come.
    pub progress: Option<OnProgress<'a>>,
}

impl Default for RestoreOptions<'_> {
    fn default() -> Self {
        RestoreOptions { options: Options::default(), verify: true, progress: None }
    }
}

/// What a restore did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreReport {
    /// Files, the manifest not counted.
    pub files: u64,
    /// Bytes copied.
    pub bytes: u64,
    /// What the check found, where there was one.
    pub check: Option<CheckReport>,
}

impl Database {
    /// Copies everything committed so far into a new or empty directory while writers go on, by hard
    /// links where possible. The copy is a database directory of its own.
    ///
    /// # Errors
    /// [`ErrorKind::AlreadyExists`] for a directory that is not empty, [`ErrorKind::InvalidInput`] for
    /// one inside a database, [`ErrorKind::DiskFull`], and others of the file system. Nothing is left
    /// of a backup that failed, or nothing that could be taken for one.
    pub fn backup(&self, dest: impl AsRef<Path>) -> Result<BackupReport> {
        self.backup_with(dest, BackupOptions::default())
    }

    /// Like [`Database::backup`], with options.
    pub fn backup_with(
        &self,
        dest: impl AsRef<Path>,
        mut options: BackupOptions<'_>,
    ) -> Result<BackupReport> {
        let shared = self.shared();
        shared.check_writable()?;
        let mut transfer = Transfer::begin(&shared.storage.fs, dest.as_ref())?;
        let point = Point::take(shared)?;
        let finished = finished_files(&point.state);
        let log_bytes = point.log.iter().map(|(_, bytes)| bytes).sum();
        let mut moved = Moved::new(&mut options.progress, finished.iter().copied(), log_bytes);
        moved.at.files += point.log.len() as u64;
        let begun = copy_log(shared, &point, &mut transfer, &mut moved)?;
        let Point { csn, unix_us, mut state, pins, log, held, .. } = point;
        drop(held);
        let mut report = BackupReport {
            csn,
            unix_us,
            tables: state.tables.len() as u64,
            files: moved.at.files,
            linked_bytes: 0,
            copied_bytes: log_bytes,
        };
        let mut may_link = !options.copy;
        for (kind, bytes) in finished {
            let linked = may_link && link(&mut transfer, &shared.storage.dir, kind)?;
            if linked {
                report.linked_bytes += bytes;
                moved.bytes(bytes)?;
            } else {
                may_link = false;
                report.copied_bytes += bytes;
                transfer.copy(&shared.storage.dir, kind, bytes, &[], &mut |n| moved.bytes(n))?;
            }
            moved.file()?;
        }
        drop(pins);
        state.log_oldest = log[0].0;
        state.log_begun = Some(begun);
        transfer.finish(&state)?;
        Ok(report)
    }
}

/// Step 3 for one file; false: it must be copied, and so must all others.
fn link(transfer: &mut Transfer, from: &Path, kind: FileKind) -> Result<bool> {
    match transfer.link(from, kind) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == ErrorKind::Unsupported => Ok(false),
        Err(e) => Err(e),
    }
}

/// The database at one commit, and what keeps it.
struct Point<'a> {
    csn: Csn,
    unix_us: i64,
    state: ManifestState,
    /// Pin the files of the state.
    pins: Vec<Arc<TableVersion>>,
    /// Log files, oldest first, and their bytes up to the point.
    log: Vec<(u64, u64)>,
    /// The stamp of the newest of them.
    stamp: u64,
    held: HeldLog<'a>,
}

/// Log files are not used again while this lives.
struct HeldLog<'a> {
    shared: &'a Shared,
    oldest: u64,
}

impl Drop for HeldLog<'_> {
    fn drop(&mut self) {
        self.shared.commits().exclusively(|leader| leader.log.release(self.oldest));
    }
}

impl<'a> Point<'a> {
    /// Step 1.
    fn take(shared: &'a Shared) -> Result<Point<'a>> {
        shared.commits().exclusively(|leader| {
            // After a failed write the log may hold commits that nobody was told of.
            shared.check_writable()?;
            let (mut state, pins) = shared.versions.pinned();
            // The log may have been cut in memory and not yet in the manifest.
            state.timeline = Arc::new(shared.timeline.points());
            let log = leader.log.hold();
            let stamp = leader.log.stamp();
            let held = HeldLog { shared, oldest: log[0].0 };
            let (csn, unix_us) = (leader.next_csn - 1, shared.clock.unix_us());
            Ok(Point { csn, unix_us, state, pins, log, stamp, held })
        })
    }
}

/// Step 2. Returns what the manifest is to say of the newest file: the copy of it ends at the point.
fn copy_log(
    shared: &Shared,
    point: &Point<'_>,
    transfer: &mut Transfer,
    moved: &mut Moved<'_, '_>,
) -> Result<LogBegun> {
    let (&(newest, bytes), older) = point.log.split_last().expect("there is a log file");
    for &(number, bytes) in older {
        let kind = FileKind::Log(number);
        transfer.copy(&shared.storage.dir, kind, bytes, &[], &mut |n| moved.bytes(n))?;
        moved.file()?;
    }
    let mut note = Vec::new();
    let end = LogPosition::new(newest, bytes);
    let group = GroupPart { durable: end, unix_us: point.unix_us };
    format::put_note(&mut note, end, point.csn, group);
    let kind = FileKind::Log(newest);
    transfer.copy(&shared.storage.dir, kind, bytes, &note, &mut |n| moved.bytes(n))?;
    moved.file()?;
    Ok(LogBegun { file: newest, stamp: point.stamp, bytes: bytes + note.len() as u64 })
}

/// Counts what was moved and tells it.
struct Moved<'a, 'b> {
    at: BackupProgress,
    tell: &'a mut Option<OnProgress<'b>>,
}

impl<'a, 'b> Moved<'a, 'b> {
    fn new(
        tell: &'a mut Option<OnProgress<'b>>,
        files: impl Iterator<Item = (FileKind, u64)>,
        more_bytes: u64,
    ) -> Self {
        let mut at = BackupProgress { bytes: more_bytes, ..BackupProgress::default() };
        for (_, bytes) in files {
            at.files += 1;
            at.bytes += bytes;
        }
        Moved { at, tell }
    }

    fn bytes(&mut self, bytes: u64) -> Result<()> {
        self.at.bytes_done += bytes;
        self.tell()
    }

    fn file(&mut self) -> Result<()> {
        self.at.files_done += 1;
        self.tell()
    }

    fn tell(&mut self) -> Result<()> {
        self.tell.as_mut().map_or(Ok(()), |tell| tell(&self.at))
    }
}

/// Copies a backup into a new or empty directory and checks the database there. Any directory of a
/// database that no process has open will do as a backup.
///
/// # Errors
/// [`ErrorKind::NotFound`] for a directory without a backup or with an incomplete one,
/// [`ErrorKind::Locked`] for one that is open, and those of [`Database::backup`]. What the check finds
/// is no error; the restored directory stays.
pub fn restore(
    backup: impl AsRef<Path>,
    dir: impl AsRef<Path>,
    mut options: RestoreOptions<'_>,
) -> Result<RestoreReport> {
    let (backup, dir) = (backup.as_ref(), dir.as_ref());
    let fs = Arc::clone(&options.options.fs);
    refuse_incomplete(&*fs, backup)?;
    // Where the lock file cannot be written nobody can open the database either.
    let _open = match fs.lock(&backup.join(names::LOCK)) {
        Err(e) if e.kind() == ErrorKind::Locked => return Err(e),
        lock => lock.ok(),
    };
    let state = load_state(&*fs, backup)?;
    let mut files = finished_files(&state);
    files.extend(log_files(&*fs, backup, state.log_oldest)?);
    let mut transfer = Transfer::begin(&fs, dir)?;
    let mut moved = Moved::new(&mut options.progress, files.iter().copied(), 0);
    for (kind, bytes) in files {
        transfer.copy(backup, kind, bytes, &[], &mut |n| moved.bytes(n))?;
        moved.file()?;
    }
    transfer.finish(&state)?;
    let BackupProgress { files, bytes, .. } = moved.at;
    let checked = match options.verify {
        true => Some(check(dir, &CheckOptions { options: options.options })?),
        false => None,
    };
    Ok(RestoreReport { files, bytes, check: checked })
}

fn refuse_incomplete(fs: &dyn Fs, backup: &Path) -> Result<()> {
    if fs.exists(&backup.join(names::CURRENT))? {
        return Ok(());
    }
    let ours = |name: &String| FileKind::parse(name).is_some();
    let text = match fs.exists(backup)? && fs.list(backup)?.iter().any(ours) {
        true => format!(
            "the backup in {} is incomplete: it was interrupted before {} was written; make \
             another one",
            backup.display(),
            names::CURRENT
        ),
        false => format!("there is no backup in {}", backup.display()),
    };
    Err(Error::new(ErrorKind::NotFound, text))
}

/// Log files from `oldest` on, with their lengths.
fn log_files(fs: &dyn Fs, dir: &Path, oldest: u64) -> Result<Vec<(FileKind, u64)>> {
    let mut files = Vec::new();
    for name in fs.list(dir)? {
        if let Some(kind @ FileKind::Log(number)) = FileKind::parse(&name)
            && number >= oldest
        {
            files.push((kind, fs.open(&dir.join(name), Access::Read)?.len()?));
        }
    }
    Ok(files)
}
