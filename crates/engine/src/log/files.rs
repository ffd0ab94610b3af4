//! How are log files made, before anything is in them?
//!
//! Pure work on files; must not know of records. Thread safety: callers see to it that no two make the
//! same file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use onlap_base::names::FileKind;
use onlap_base::{Error, ErrorKind, Result};
use onlap_storage::StorageContext;
use onlap_storage::written::Purpose;
use onlap_vfs::{Access, File};

use crate::options::SyncMode;

/// Size of the file that an open begins where the disk is full: some hundred deletes.
const SMALL_FILE_BYTES: u64 = 64 << 10;
/// Bytes of zeros written per call when a spare file is prepared.
const FILL_BYTES: usize = 1 << 20;

/// A new file with room for this number of bytes. Nothing is left of it when the disk is full.
pub(super) fn allocated(
    storage: &StorageContext,
    path: &Path,
    bytes: u64,
) -> Result<Arc<dyn File>> {
    let file = storage.fs.create(path, Access::ReadWrite)?;
    if let Err(e) = file.allocate(bytes) {
        storage.fs.remove(path)?;
        return Err(e);
    }
    Ok(file)
}

/// The file for deletes that another life has left.
pub(super) fn kept_file(storage: &StorageContext, bytes: u64) -> Result<Option<PathBuf>> {
    let path = storage.dir.join(FileKind::MarginLog.name());
    if !storage.fs.exists(&path)? {
        return Ok(None);
    }
    if storage.fs.open(&path, Access::Read)?.len()? == bytes {
        return Ok(Some(path));
    }
    storage.fs.remove(&path)?;
    Ok(None)
}

/// A file, its size, and what is kept for deletes now.
pub(super) type First = (Arc<dyn File>, u64, Option<PathBuf>);

/// The file that an open begins: where the disk is full the one that is kept for deletes, or a small one, so
/// that what is there can be read, and deleted.
pub(super) fn first_file(
    storage: &StorageContext,
    path: &Path,
    mode: SyncMode,
    bytes: u64,
    kept: Option<PathBuf>,
) -> Result<First> {
    let file = storage.fs.create(path, Access::ReadWrite)?;
    let made = match mode {
        SyncMode::Fsync => fill(&*file, bytes),
        _ => file.allocate(bytes),
    };
    match made {
        Ok(()) => {
            let written = if mode == SyncMode::Fsync { bytes } else { 0 };
            storage.written.add(Purpose::Log, written);
            Ok((file, bytes, kept))
        }
        Err(e) if e.kind() == ErrorKind::DiskFull => {
            storage.fs.remove(path)?;
            if let Some(kept) = kept {
                storage.fs.rename(&kept, path)?;
                return Ok((storage.fs.open(path, Access::ReadWrite)?, bytes, None));
            }
            let small = SMALL_FILE_BYTES.min(bytes / 4);
            Ok((allocated(storage, path, small)?, small, None))
        }
        Err(e) => Err(e),
    }
}

/// A full disk met after bytes may have landed is a failure like any other (I6).
pub(super) fn beyond_space(e: Error) -> Error {
    match e.kind() {
        ErrorKind::DiskFull => Error::new(ErrorKind::Io, e.message()),
        _ => e,
    }
}

pub(super) fn fill(file: &dyn File, bytes: u64) -> Result<()> {
    let zeros = vec![0; FILL_BYTES.min(bytes as usize)];
    let mut at = 0;
    while at < bytes {
        let n = zeros.len().min((bytes - at) as usize);
        file.write_at(&zeros[..n], at)?;
        at += n as u64;
    }
    Ok(())
}
