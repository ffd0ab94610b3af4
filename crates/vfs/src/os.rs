//! How does the operating system keep the promises of [`Fs`] and [`File`]?
//!
//! Positioned reads and writes, `fdatasync`, `fsync` on directories, `flock`, `fallocate`, direct
//! reads and writes. Interrupted calls are made again, short ones continued. Safe to share: no file has a
//! position, and the only state is counters and one flag.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use onlap_base::{Error, ErrorKind, Result};
use rustix::fs::{Advice, FallocateFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use crate::{ALIGN, Access, File, Fs, IoCounters, LockGuard, ReadBuf, parent_of};

/// Zeros written per call where a file system cannot reserve space.
const ZERO_BYTES: usize = 1 << 20;

/// The operating system's file system.
#[derive(Clone, Debug, Default)]
pub struct OsFs {
    counters: Arc<IoCounters>,
}

impl OsFs {
    /// The file system with counters of its own, at zero.
    pub fn new() -> OsFs {
        OsFs::default()
    }

    fn file(&self, path: &Path, flags: OFlags, access: Access) -> Result<Arc<dyn File>> {
        let (fd, direct) = match access {
            Access::ReadWrite => (open(path, flags | OFlags::RDWR)?, false),
            Access::WriteDirect => match try_open(path, flags | OFlags::RDWR | OFlags::DIRECT) {
                Ok(fd) => (fd, true),
                Err(Errno::INVAL) => (open(path, flags | OFlags::RDWR)?, false),
                Err(e) => return Err(failed("open", path, e)),
            },
            // A file just made is written by the task that made it, whatever way it will be read.
            _ if flags.contains(OFlags::CREATE) => (open(path, flags | OFlags::RDWR)?, false),
            Access::Read => (open(path, flags | OFlags::RDONLY)?, false),
            Access::ReadDirect => match try_open(path, flags | OFlags::RDONLY | OFlags::DIRECT) {
                Ok(fd) => (fd, true),
                Err(Errno::INVAL) => (open(path, flags | OFlags::RDONLY)?, false),
                Err(e) => return Err(failed("open", path, e)),
            },
        };
        Ok(Arc::new(OsFile {
            fd,
            path: path.to_owned(),
            direct: AtomicBool::new(direct),
            counters: Arc::clone(&self.counters),
        }))
    }
}

impl Fs for OsFs {
    fn create(&self, path: &Path, access: Access) -> Result<Arc<dyn File>> {
        self.file(path, OFlags::CREATE | OFlags::TRUNC, access)
    }

    fn open(&self, path: &Path, access: Access) -> Result<Arc<dyn File>> {
        self.file(path, OFlags::empty(), access)
    }

    fn remove(&self, path: &Path) -> Result<()> {
        again(|| rustix::fs::unlink(path)).map_err(|e| failed("remove", path, e))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        again(|| rustix::fs::rename(from, to)).map_err(|e| failed("rename", from, e))
    }

    fn list(&self, dir: &Path) -> Result<Vec<String>> {
        let fd = open(dir, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let entries = rustix::fs::Dir::new(fd).map_err(|e| failed("list", dir, e))?;
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|e| failed("list", dir, e))?;
            // No file of ours has such a name, so one that is not UTF-8 is not listed.
            match entry.file_name().to_str() {
                Ok("." | "..") | Err(_) => {}
                Ok(name) => names.push(name.to_owned()),
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn create_dir_all(&self, dir: &Path) -> Result<()> {
        if dir.as_os_str().is_empty() {
            return Ok(());
        }
        match again(|| rustix::fs::mkdir(dir, Mode::from_raw_mode(0o777))) {
            Ok(()) => {}
            Err(Errno::EXIST) => {
                // The name must lead to a directory; opening it as one tells.
                return open(dir, OFlags::RDONLY | OFlags::DIRECTORY).map(drop);
            }
            Err(Errno::NOENT) => {
                let above = parent_of(dir);
                if above == dir {
                    return Err(failed("create directory", dir, Errno::NOENT));
                }
                self.create_dir_all(above)?;
                return self.create_dir_all(dir);
            }
            Err(e) => return Err(failed("create directory", dir, e)),
        }
        self.sync_dir(parent_of(dir))
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        self.counters.synced();
        let fd = open(dir, OFlags::RDONLY | OFlags::DIRECTORY)?;
        match again(|| rustix::fs::fsync(&fd)) {
            // A file system that cannot sync directories has nothing to wait for.
            Ok(()) | Err(Errno::INVAL) => Ok(()),
            Err(e) => Err(failed("sync directory", dir, e)),
        }
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        match again(|| rustix::fs::stat(path)) {
            Ok(_) => Ok(true),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(false),
            Err(e) => Err(failed("look for", path, e)),
        }
    }

    fn hard_link(&self, from: &Path, to: &Path) -> Result<()> {
        again(|| rustix::fs::link(from, to)).map_err(|e| match e {
            // Another file system; one without links; too many links; files of another user.
            Errno::XDEV | Errno::OPNOTSUPP | Errno::MLINK | Errno::PERM => {
                Error::new(ErrorKind::Unsupported, failed("link", to, e).message())
            }
            e => failed("link", to, e),
        })
    }

    fn remove_dir(&self, dir: &Path) -> Result<()> {
        again(|| rustix::fs::rmdir(dir)).map_err(|e| failed("remove directory", dir, e))
    }

    fn lock(&self, path: &Path) -> Result<LockGuard> {
        let fd = open(path, OFlags::RDWR | OFlags::CREATE)?;
        match again(|| rustix::fs::flock(&fd, FlockOperation::NonBlockingLockExclusive)) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(held(path, &fd)),
            Err(e) => return Err(failed("lock", path, e)),
        }
        let pid = format!("{}\n", std::process::id());
        again(|| rustix::fs::ftruncate(&fd, 0)).map_err(|e| failed("lock", path, e))?;
        write_all(&fd, pid.as_bytes(), 0).map_err(|e| failed("write", path, e))?;
        Ok(Box::new(fd))
    }

    fn free_bytes(&self, dir: &Path) -> Result<u64> {
        let stat = again(|| rustix::fs::statvfs(dir)).map_err(|e| failed("measure", dir, e))?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }

    fn counters(&self) -> &IoCounters {
        &self.counters
    }
}

#[derive(Debug)]
struct OsFile {
    fd: OwnedFd,
    path: PathBuf,
    /// Cleared for good when the file system refuses a direct read after all.
    direct: AtomicBool,
    counters: Arc<IoCounters>,
}

impl OsFile {
    /// Reads until `buf` is full or the file ends; returns the bytes read.
    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        let mut done = 0;
        while done < buf.len() {
            match again(|| rustix::io::pread(&self.fd, &mut buf[done..], offset + done as u64)) {
                Ok(0) => break,
                Ok(n) => {
                    self.counters.read(n);
                    let all = done + n;
                    if all == buf.len() || !self.is_direct() {
                        done = all;
                    } else if self.len()? <= offset + all as u64 {
                        return Ok(all);
                    } else {
                        // A direct read may only go on at an aligned place.
                        done = all - all % ALIGN;
                    }
                }
                Err(Errno::INVAL) if self.is_direct() => self.leave_direct()?,
                Err(e) => return Err(failed("read", &self.path, e)),
            }
        }
        Ok(done)
    }

    fn is_direct(&self) -> bool {
        self.direct.load(Ordering::Relaxed)
    }

    /// Writes the part of `bytes` that is aligned past the page cache; returns its length. From a rest on the file is
    /// written through the cache.
    fn write_direct(&self, bytes: &[u8], offset: u64) -> Result<usize> {
        let is_aligned =
            offset.is_multiple_of(ALIGN as u64) && bytes.as_ptr().align_offset(ALIGN) == 0;
        let whole = if is_aligned { bytes.len() - bytes.len() % ALIGN } else { 0 };
        let done = match write_all(&self.fd, &bytes[..whole], offset) {
            Ok(()) => whole,
            // Another alignment is wanted. What was taken is written again.
            Err(Errno::INVAL) => 0,
            Err(e) => return Err(failed("write", &self.path, e)),
        };
        if done < bytes.len() {
            self.leave_direct()?;
        }
        Ok(done)
    }

    /// The file system opens files for direct use but wants another alignment: use its cache.
    fn leave_direct(&self) -> Result<()> {
        let flags = rustix::fs::fcntl_getfl(&self.fd).map_err(|e| failed("read", &self.path, e))?;
        rustix::fs::fcntl_setfl(&self.fd, flags - OFlags::DIRECT)
            .map_err(|e| failed("read", &self.path, e))?;
        self.direct.store(false, Ordering::Relaxed);
        Ok(())
    }

    fn ended_early(&self, offset: u64, len: usize, got: usize) -> Error {
        let message = format!("the file ends {} bytes before what should be there", len - got);
        Error::corruption(file_name(&self.path), offset, message)
    }
}

impl File for OsFile {
    fn read_at(&self, offset: u64, len: usize) -> Result<ReadBuf> {
        if !self.is_direct() {
            let mut bytes = vec![0; len];
            let got = self.fill(&mut bytes, offset)?;
            return match got == len {
                true => Ok(bytes.into()),
                false => Err(self.ended_early(offset, len, got)),
            };
        }
        let before = (offset % ALIGN as u64) as usize;
        let span = (before + len).next_multiple_of(ALIGN);
        let mut bytes = vec![0; span + ALIGN];
        let start = bytes.as_ptr().align_offset(ALIGN);
        assert!(start <= ALIGN, "an address is at most one page from an aligned one");
        let got = self.fill(&mut bytes[start..start + span], offset - before as u64)?;
        if got < before + len {
            return Err(self.ended_early(offset, len, got.saturating_sub(before)));
        }
        Ok(ReadBuf::part(bytes, start + before, len))
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        self.counters.wrote(bytes.len());
        let done = if self.is_direct() { self.write_direct(bytes, offset)? } else { 0 };
        write_all(&self.fd, &bytes[done..], offset + done as u64)
            .map_err(|e| failed("write", &self.path, e))
    }

    fn sync_data(&self) -> Result<()> {
        self.counters.synced();
        again(|| rustix::fs::fdatasync(&self.fd)).map_err(|e| failed("sync", &self.path, e))
    }

    fn sync_all(&self) -> Result<()> {
        self.counters.synced();
        again(|| rustix::fs::fsync(&self.fd)).map_err(|e| failed("sync", &self.path, e))
    }

    fn len(&self) -> Result<u64> {
        let stat = again(|| rustix::fs::fstat(&self.fd));
        let stat = stat.map_err(|e| failed("measure", &self.path, e))?;
        Ok(stat.st_size as u64)
    }

    fn set_len(&self, len: u64) -> Result<()> {
        again(|| rustix::fs::ftruncate(&self.fd, len)).map_err(|e| failed("resize", &self.path, e))
    }

    fn allocate(&self, len: u64) -> Result<()> {
        match again(|| rustix::fs::fallocate(&self.fd, FallocateFlags::empty(), 0, len)) {
            Ok(()) => Ok(()),
            Err(Errno::OPNOTSUPP) => {
                let zeros = vec![0; ZERO_BYTES];
                let mut at = self.len()?;
                while at < len {
                    let n = (len - at).min(ZERO_BYTES as u64);
                    self.write_at(&zeros[..n as usize], at)?;
                    at += n;
                }
                Ok(())
            }
            Err(e) => Err(failed("reserve space for", &self.path, e)),
        }
    }

    fn prefetch(&self, offset: u64, len: u64) {
        if let (false, Some(len)) = (self.is_direct(), std::num::NonZeroU64::new(len)) {
            // A hint: a file system that refuses it loses nothing but time.
            let _ = rustix::fs::fadvise(&self.fd, offset, Some(len), Advice::WillNeed);
        }
    }

    fn write_back(&self, offset: u64, len: u64) {
        if let (false, Some(len)) = (self.is_direct(), std::num::NonZeroU64::new(len)) {
            // Linux begins to write what is dirty in the range, waits for nothing, and lets go of the rest.
            let _ = rustix::fs::fadvise(&self.fd, offset, Some(len), Advice::DontNeed);
        }
    }

    fn drop_cache(&self) {
        // A hint, as above.
        let _ = rustix::fs::fadvise(&self.fd, 0, None, Advice::DontNeed);
    }
}

/// Repeats a call as long as signals interrupt it.
fn again<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> rustix::io::Result<T> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            result => return result,
        }
    }
}

fn try_open(path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    again(|| rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::from_raw_mode(0o666)))
}

fn open(path: &Path, flags: OFlags) -> Result<OwnedFd> {
    try_open(path, flags).map_err(|e| failed("open", path, e))
}

fn write_all(fd: &OwnedFd, bytes: &[u8], offset: u64) -> rustix::io::Result<()> {
    write_by(bytes, offset, |part, at| rustix::io::pwrite(fd, part, at))
}

/// Writes all bytes by a call that may be interrupted, and may take a part of what it is given.
fn write_by(
    bytes: &[u8],
    offset: u64,
    mut write: impl FnMut(&[u8], u64) -> rustix::io::Result<usize>,
) -> rustix::io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        match again(|| write(&bytes[done..], offset + done as u64))? {
            // No error and no progress: only a device without room answers so.
            0 => return Err(Errno::NOSPC),
            n => done += n,
        }
    }
    Ok(())
}

/// The error of a second opener. The owner's id is what it wrote into the file when it took the lock.
fn held(path: &Path, fd: &OwnedFd) -> Error {
    let mut text = [0u8; 32];
    let len = again(|| rustix::io::pread(fd, &mut text[..], 0)).unwrap_or(0);
    let pid = std::str::from_utf8(&text[..len]).ok().and_then(|t| t.trim().parse::<u32>().ok());
    locked(path, pid)
}

/// What a refused lock says.
pub(crate) fn locked(path: &Path, pid: Option<u32>) -> Error {
    let dir = parent_of(path).display();
    let owner = match pid {
        Some(pid) if pid == std::process::id() => format!("this process ({pid})"),
        Some(pid) => format!("process {pid}"),
        None => "another process".to_owned(),
    };
    Error::new(ErrorKind::Locked, format!("{dir} is open in {owner}; close it there first"))
}

fn failed(operation: &str, path: &Path, e: Errno) -> Error {
    let cause = Error::from(std::io::Error::from(e));
    let kind = match e {
        Errno::NOENT => ErrorKind::NotFound,
        _ => cause.kind(),
    };
    Error::new(kind, format!("cannot {operation} {}: {}", path.display(), cause.message()))
}

/// The name errors give a file: relative to the data directory.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests;
