//! What can the disk itself do?
//!
//! The limits that an engine's figures stand next to, measured in the same run: how long a synced
//! write takes, and how fast sequential direct reads are.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use onlap_base::rng::Rng;
use onlap_base::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

use super::rates::Recorder;

/// Size of a write of the sync benchmark.
pub const WRITE_BYTES: usize = 8 << 10;

/// Direct I/O wants buffers, offsets and lengths in multiples of this.
const ALIGNMENT: usize = 4096;

/// Size of a sequential read.
const READ_BYTES: usize = 1 << 20;

/// What a device has done since the machine began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceIo {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes of the reads.
    pub read_bytes: u64,
    /// Bytes of the writes.
    pub write_bytes: u64,
}

impl DeviceIo {
    /// Of the device whose file system holds a path; `None` where that is no block device.
    pub fn of(path: &Path) -> Option<DeviceIo> {
        let device = std::fs::metadata(path).ok()?.dev();
        let number = format!("{}:{}", libc::major(device), libc::minor(device));
        let stat = std::fs::read_to_string(format!("/sys/dev/block/{number}/stat")).ok()?;
        const SECTOR: u64 = 512;
        let field = |place: usize| stat.split_whitespace().nth(place)?.parse::<u64>().ok();
        Some(DeviceIo {
            reads: field(0)?,
            read_bytes: field(2)? * SECTOR,
            writes: field(4)?,
            write_bytes: field(6)? * SECTOR,
        })
    }

    /// What came since an earlier reading.
    #[must_use]
    pub fn since(&self, earlier: &DeviceIo) -> DeviceIo {
        DeviceIo {
            reads: self.reads.saturating_sub(earlier.reads),
            writes: self.writes.saturating_sub(earlier.writes),
            read_bytes: self.read_bytes.saturating_sub(earlier.read_bytes),
            write_bytes: self.write_bytes.saturating_sub(earlier.write_bytes),
        }
    }
}

/// Lets the kernel write what it holds back of a path's file system, so that the device's counters have it.
pub fn write_back(path: &Path) -> Result<()> {
    use std::os::fd::AsRawFd;
    let dir = File::open(path)?;
    // SAFETY: plain system call on an open file.
    match unsafe { libc::syncfs(dir.as_raw_fd()) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error().into()),
    }
}

/// How a write is made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncCall {
    /// `fsync`: data and all metadata.
    Fsync,
    /// `fdatasync`: data, and metadata that reading it back needs.
    Fdatasync,
    /// A file opened with `O_DSYNC`: every write returns synced.
    Dsync,
}

impl SyncCall {
    /// All of them.
    pub const ALL: [SyncCall; 3] = [SyncCall::Fsync, SyncCall::Fdatasync, SyncCall::Dsync];

    /// Name for reports.
    pub fn name(self) -> &'static str {
        match self {
            SyncCall::Fsync => "fsync",
            SyncCall::Fdatasync => "fdatasync",
            SyncCall::Dsync => "O_DSYNC",
        }
    }
}

/// Repeats "write `writes` blocks of [`WRITE_BYTES`] into a preallocated file, then sync" for
/// `duration` or until cancelled. The file is overwritten in a circle, as a recycled log is.
pub fn sync_latency(
    dir: &Path,
    call: SyncCall,
    writes: usize,
    duration: Duration,
    cancel: &AtomicBool,
) -> Result<Recorder> {
    const BLOCKS: usize = 1024;
    let path = Scratch(dir.join(format!("onlap-sync-{}.tmp", std::process::id())));
    let block = vec![0xA5u8; WRITE_BYTES];
    let plain = OpenOptions::new().create(true).truncate(true).write(true).open(&path.0)?;
    for i in 0..BLOCKS {
        plain.write_all_at(&block, (i * WRITE_BYTES) as u64)?;
    }
    plain.sync_all()?;
    let flags = if call == SyncCall::Dsync { libc::O_DSYNC } else { 0 };
    let file = OpenOptions::new().write(true).custom_flags(flags).open(&path.0)?;
    let start = Instant::now();
    let mut recorder = Recorder::new(start)?;
    let mut next = 0;
    while start.elapsed() < duration && !cancel.load(Ordering::Relaxed) {
        let began = Instant::now();
        for _ in 0..writes {
            file.write_all_at(&block, ((next % BLOCKS) * WRITE_BYTES) as u64)?;
            next += 1;
        }
        match call {
            SyncCall::Fsync => file.sync_all()?,
            SyncCall::Fdatasync => file.sync_data()?,
            SyncCall::Dsync => {}
        }
        recorder.record(began, 1);
    }
    Ok(recorder)
}

/// Bytes per second of sequential direct reads of 1 MiB from the given files, by one thread that
/// waits for each read.
pub fn sequential_read_rate(files: &[PathBuf], limit_bytes: u64) -> Result<f64> {
    let mut buffer = AlignedBuffer::new(READ_BYTES);
    let start = Instant::now();
    let mut total = 0u64;
    for path in files {
        let file = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path)?;
        let mut offset = 0;
        while total < limit_bytes {
            let n = read_retrying(&file, buffer.as_mut(), offset)?;
            offset += n as u64;
            total += n as u64;
            // A short read ends the file: only its last block is not full.
            if n < READ_BYTES {
                break;
            }
        }
    }
    if total == 0 {
        return Err(Error::new(ErrorKind::NotFound, "no file to measure sequential reads on"));
    }
    Ok(total as f64 / start.elapsed().as_secs_f64())
}

/// Writes `bytes` of incompressible data to a new file and syncs it, so that
/// [`sequential_read_rate`] has something to read. The file is removed when dropped.
pub fn scratch_file(dir: &Path, bytes: u64) -> Result<Scratch> {
    let scratch = Scratch(dir.join(format!("onlap-read-{}.tmp", std::process::id())));
    let file = File::create(&scratch.0)?;
    let mut rng = Rng::new(bytes);
    let mut block = vec![0u8; READ_BYTES];
    for i in 0..bytes.div_ceil(READ_BYTES as u64) {
        block.chunks_exact_mut(8).for_each(|c| c.copy_from_slice(&rng.next_u64().to_le_bytes()));
        file.write_all_at(&block, i * READ_BYTES as u64)?;
    }
    file.sync_all()?;
    Ok(scratch)
}

/// A file that is removed when dropped.
pub struct Scratch(pub PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn read_retrying(file: &File, buffer: &mut [u8], offset: u64) -> Result<usize> {
    loop {
        match file.read_at(buffer, offset) {
            Ok(n) => return Ok(n),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e.into()),
        }
    }
}

/// A buffer whose first byte lies at a multiple of [`ALIGNMENT`].
struct AlignedBuffer {
    memory: Vec<u8>,
    start: usize,
    len: usize,
}

impl AlignedBuffer {
    fn new(len: usize) -> AlignedBuffer {
        let memory = vec![0; len + ALIGNMENT];
        let start = memory.as_ptr().align_offset(ALIGNMENT);
        AlignedBuffer { memory, start, len }
    }

    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.len]
    }
}
