//! Who still needs a file?
//!
//! A [`FileRef`] pins a segment, run or mark file. When an edit that drops the file is durable, the
//! file is *doomed*; when the last reference to a doomed file goes, its name is queued, and
//! [`Files::sweep`] removes it: no manifest version and no open snapshot refers to it any more (I5).
//! Removing is apart from dropping, since the last reference often goes on a reader's thread, and
//! removing tens of megabytes takes a while. A crash before the sweep leaves an orphan, which
//! [`Files::remove_orphans`] finds at the next open.
//!
//! Must not know what the files hold. Thread safety: shared freely.

use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use onlap_base::Result;
use onlap_base::names::FileKind;
use parking_lot::Mutex;

use crate::context::StorageContext;

#[cfg(test)]
mod tests;

/// The files of a data directory.
pub struct Files {
    context: Arc<StorageContext>,
    doomed: Mutex<Vec<FileKind>>,
    /// Held while files are removed, so that a sweep that found none returns after the one that did.
    sweeping: Mutex<()>,
    /// Bytes of doomed files that someone still refers to.
    kept_bytes: AtomicU64,
}

impl Files {
    /// The files of the context's directory.
    pub fn new(context: &Arc<StorageContext>) -> Arc<Files> {
        Arc::new(Files {
            context: Arc::clone(context),
            doomed: Mutex::default(),
            sweeping: Mutex::default(),
            kept_bytes: AtomicU64::new(0),
        })
    }
    /// What the files' readers and writers share.
    pub fn context(&self) -> &Arc<StorageContext> {
        &self.context
    }
    /// A file's path.
    pub fn path(&self, kind: FileKind) -> PathBuf {
        self.context.dir.join(kind.name())
    }
    /// Pins a file of this length. There is one reference per file, which its users clone.
    pub fn pin(self: &Arc<Files>, kind: FileKind, bytes: u64) -> FileRef {
        let files = Arc::clone(self);
        FileRef(Arc::new(Pinned { files, kind, bytes, doomed: AtomicBool::new(false) }))
    }
    /// Bytes of files that no version has any more and that readers keep.
    pub fn kept_bytes(&self) -> u64 {
        self.kept_bytes.load(Ordering::Relaxed)
    }
    /// Removes the files that no version and no reader refers to any more, and returns how many those were.
    pub fn sweep(&self) -> Result<usize> {
        let _sweeping = self.sweeping.lock();
        let doomed = std::mem::take(&mut *self.doomed.lock());
        for (i, kind) in doomed.iter().enumerate() {
            if let Err(e) = self.context.fs.remove(&self.path(*kind)) {
                self.doomed.lock().extend_from_slice(&doomed[i..]);
                return Err(e);
            }
        }
        Ok(doomed.len())
    }
    /// Removes segment, run and mark files outside `live`, temporary files, and room that was kept
    /// for jobs on a full disk: leftovers of a crash. Only for the time before anyone writes.
    pub fn remove_orphans(&self, live: &HashSet<FileKind>) -> Result<usize> {
        let mut removed = 0;
        for name in self.context.fs.list(&self.context.dir)? {
            let orphan = match FileKind::parse(&name) {
                Some(FileKind::Temporary | FileKind::MarginRoom) => true,
                Some(kind) => kind.file_id().is_some() && !live.contains(&kind),
                None => false,
            };
            if orphan {
                self.context.fs.remove(&self.context.dir.join(&name))?;
                removed += 1;
            }
        }
        Ok(removed)
    }
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Files({})", self.context.dir.display())
    }
}

struct Pinned {
    files: Arc<Files>,
    kind: FileKind,
    bytes: u64,
    doomed: AtomicBool,
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if *self.doomed.get_mut() {
            let kept = self.files.kept_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
            debug_assert!(kept >= self.bytes, "a doomed file was counted");
            self.files.doomed.lock().push(self.kind);
        }
    }
}

/// Keeps a file from being removed.
#[derive(Clone)]
pub struct FileRef(Arc<Pinned>);

impl FileRef {
    /// What it is, and its id.
    pub fn kind(&self) -> FileKind {
        self.0.kind
    }
    /// Its name in the data directory.
    pub fn name(&self) -> String {
        self.0.kind.name()
    }
    /// Its path.
    pub fn path(&self) -> PathBuf {
        self.0.files.path(self.0.kind)
    }
    /// The file goes with its last reference. Called once the edit that drops it is durable.
    pub(crate) fn doom(&self) {
        if !self.0.doomed.swap(true, Ordering::AcqRel) {
            self.0.files.kept_bytes.fetch_add(self.0.bytes, Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for FileRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}
