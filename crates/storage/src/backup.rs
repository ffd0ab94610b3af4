//! How do the files of a database get into another directory?
//!
//! A [`Transfer`] fills an empty directory with the files of one manifest state. Steps: (1) make the
//! directory and lock it; (2) bring the finished files, which never change (I5), by a second name or
//! by a copy, and whatever else the caller has; (3) sync the directory; (4) write a manifest with a
//! snapshot of the state and, last of all, `CURRENT`. So a directory without `CURRENT` is one that
//! was not finished, whatever interrupted it. A transfer that is dropped before its end removes what
//! it made.
//!
//! Must not know what a file holds, or who may be changing the source: the caller pins its files.
//! Thread safety: one owner.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use onlap_base::names::{CURRENT, FileKind, LOCK, temporary};
use onlap_base::{Error, ErrorKind, Result};
use onlap_format::manifest::ManifestState;
use onlap_vfs::{Access, File, Fs, LockGuard};

use crate::manifest::begin_file;

/// Bytes copied at once.
const COPY_BYTES: u64 = 1 << 20;

/// Called with the bytes that were just brought; its error ends the transfer.
pub type Moved<'a> = &'a mut dyn FnMut(u64) -> Result<()>;

/// Files on their way into a new database directory.
pub struct Transfer {
    fs: Arc<dyn Fs>,
    dir: PathBuf,
    /// Directories that did not exist before, the innermost first.
    made: Vec<PathBuf>,
    /// Files that did not exist before.
    files: Vec<String>,
    lock: Option<LockGuard>,
    finished: bool,
}

impl Transfer {
    /// Step 1.
    ///
    /// # Errors
    /// `AlreadyExists` for a directory that holds anything; `InvalidInput` for one inside a database's
    /// directory.
    pub fn begin(fs: &Arc<dyn Fs>, dir: &Path) -> Result<Transfer> {
        refuse_inside(&**fs, dir)?;
        refuse_filled(&**fs, dir)?;
        let mut made = Vec::new();
        for above in dir.ancestors().filter(|above| !above.as_os_str().is_empty()) {
            if fs.exists(above)? {
                break;
            }
            made.push(above.to_owned());
        }
        let mut transfer = Transfer {
            fs: Arc::clone(fs),
            dir: dir.to_owned(),
            made,
            files: Vec::new(),
            lock: None,
            finished: false,
        };
        fs.create_dir_all(dir)?;
        let lock_is_new = !fs.exists(&dir.join(LOCK))?;
        transfer.lock = Some(fs.lock(&dir.join(LOCK))?);
        if lock_is_new {
            transfer.files.push(LOCK.to_owned());
        }
        // Another may have filled it before the lock was taken.
        refuse_filled(&**fs, dir)?;
        Ok(transfer)
    }

    /// Gives a finished file of another directory a second name here.
    ///
    /// # Errors
    /// `Unsupported` where the file has to be copied.
    pub fn link(&mut self, from: &Path, kind: FileKind) -> Result<()> {
        let name = kind.name();
        let (source, target) = (from.join(&name), self.dir.join(&name));
        self.files.push(name);
        self.fs.hard_link(&source, &target)
    }

    /// Copies the first `len` bytes of a file of another directory and whatever `behind` is to follow.
    ///
    /// # Errors
    /// `Corruption` for a source that is shorter.
    pub fn copy(
        &mut self,
        from: &Path,
        kind: FileKind,
        len: u64,
        behind: &[u8],
        moved: Moved<'_>,
    ) -> Result<()> {
        // The log is in the page cache already, finished files need not be.
        let access = if kind.file_id().is_some() { Access::ReadDirect } else { Access::Read };
        let name = kind.name();
        let source = self.fs.open(&from.join(&name), access)?;
        let target = self.create(name)?;
        target.allocate(len + behind.len() as u64)?;
        let mut at = 0;
        while at < len {
            let bytes = source.read_at(at, (len - at).min(COPY_BYTES) as usize)?;
            target.write_at(&bytes, at)?;
            at += bytes.len() as u64;
            moved(bytes.len() as u64)?;
        }
        if !behind.is_empty() {
            target.write_at(behind, len)?;
        }
        target.sync_all()?;
        target.drop_cache();
        Ok(())
    }

    fn create(&mut self, name: String) -> Result<Arc<dyn File>> {
        let path = self.dir.join(&name);
        self.files.push(name);
        self.fs.create(&path, Access::ReadWrite)
    }

    /// Steps 3 and 4: from now on the directory is a database.
    pub fn finish(mut self, state: &ManifestState) -> Result<()> {
        self.fs.sync_dir(&self.dir)?;
        // CURRENT goes first should one of them have to go.
        let names = [FileKind::Manifest(1).name(), temporary(CURRENT), CURRENT.to_owned()];
        self.files.extend(names);
        begin_file(&*self.fs, &self.dir, 1, state)?;
        self.finished = true;
        Ok(())
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        self.lock = None;
        // Whatever cannot be removed now has no CURRENT, which tells what it is.
        for name in self.files.iter().rev() {
            let _ = self.fs.remove(&self.dir.join(name));
        }
        for dir in &self.made {
            let _ = self.fs.remove_dir(dir);
        }
    }
}

/// A directory inside a database's would go with it, and its owner does not expect it there.
fn refuse_inside(fs: &dyn Fs, dir: &Path) -> Result<()> {
    let whole = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    for above in whole.ancestors().skip(1) {
        if fs.exists(&above.join(CURRENT))? {
            let text = format!(
                "{} lies inside the database in {}; name a directory outside of it",
                dir.display(),
                above.display()
            );
            return Err(Error::new(ErrorKind::InvalidInput, text));
        }
    }
    Ok(())
}

fn refuse_filled(fs: &dyn Fs, dir: &Path) -> Result<()> {
    if fs.exists(dir)? && fs.list(dir)?.iter().any(|name| name != LOCK) {
        let text = format!("{} is not empty; name a new or an empty directory", dir.display());
        return Err(Error::new(ErrorKind::AlreadyExists, text));
    }
    Ok(())
}

/// Finished files of a state and their lengths.
pub fn finished_files(state: &ManifestState) -> Vec<(FileKind, u64)> {
    let mut files = Vec::new();
    for table in state.tables.values() {
        let runs = table.indexes.values().flat_map(|i| &i.runs).flat_map(|r| &r.files);
        files.extend(table.segments.iter().map(|s| (FileKind::Segment(s.file), s.bytes)));
        files.extend(runs.map(|f| (FileKind::Run(f.file), f.bytes)));
        files.extend(table.marks.iter().map(|m| (FileKind::Marks(m.file), m.bytes)));
    }
    // A file may belong to two runs while a merge is under way.
    files.sort_unstable();
    files.dedup();
    files
}
