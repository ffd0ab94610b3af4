//! What has this process used so far?

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

/// Counters since the process began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time of all threads, user and system, in microseconds.
    pub cpu_us: u64,
    /// Context switches of all threads.
    pub context_switches: u64,
    /// Bytes passed to write calls, whatever they wrote to.
    pub written_to_calls: u64,
    /// Bytes that the kernel sent or will send to a storage device (`write_bytes`).
    pub written_to_device: u64,
    /// Bytes that the kernel fetched from a storage device (`read_bytes`).
    pub read_from_device: u64,
    /// Read calls, whatever they read from (`syscr`).
    pub read_calls: u64,
    /// CPU time that a hypervisor took from this machine, in milliseconds of all its cores.
    pub stolen_ms: u64,
}

impl Usage {
    /// The counters now.
    pub fn now() -> Usage {
        let (cpu_us, context_switches) = rusage();
        let io = fs::read_to_string("/proc/self/io").unwrap_or_default();
        Usage {
            cpu_us,
            context_switches,
            written_to_calls: field(&io, "wchar:"),
            written_to_device: field(&io, "write_bytes:"),
            read_from_device: field(&io, "read_bytes:"),
            read_calls: field(&io, "syscr:"),
            stolen_ms: stolen_ms(&fs::read_to_string("/proc/stat").unwrap_or_default()),
        }
    }

    /// What was used since an earlier reading.
    #[must_use]
    pub fn since(&self, earlier: &Usage) -> Usage {
        Usage {
            cpu_us: self.cpu_us - earlier.cpu_us,
            context_switches: self.context_switches - earlier.context_switches,
            written_to_calls: self.written_to_calls - earlier.written_to_calls,
            written_to_device: self.written_to_device - earlier.written_to_device,
            read_from_device: self.read_from_device - earlier.read_from_device,
            read_calls: (self.read_calls - earlier.read_calls).saturating_sub(reads_of_a_look()),
            stolen_ms: self.stolen_ms.saturating_sub(earlier.stolen_ms),
        }
    }
}

/// The eighth number of the first line of `/proc/stat`, which counts hundredths of a second.
fn stolen_ms(stat: &str) -> u64 {
    const PLACE: usize = 8;
    let ticks = stat.lines().next().and_then(|cpu| cpu.split_whitespace().nth(PLACE));
    ticks.and_then(|n| n.parse::<u64>().ok()).unwrap_or(0) * 10
}

/// Read calls that a look at the counters makes, which the next look finds counted.
fn reads_of_a_look() -> u64 {
    static READS: OnceLock<u64> = OnceLock::new();
    *READS.get_or_init(|| {
        let reads = || {
            let before = Usage::now().read_calls;
            Usage::now().read_calls - before
        };
        // Other threads may read as well; the fewest are the look's own.
        (0..5).map(|_| reads()).min().unwrap_or(0)
    })
}

/// Memory of the process in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resident {
    /// Resident now.
    pub now: u64,
    /// Most that was resident since the last [`reset_peak`].
    pub peak: u64,
}

impl Resident {
    /// The counters now.
    pub fn now() -> Resident {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        Resident { now: field(&status, "VmRSS:") << 10, peak: field(&status, "VmHWM:") << 10 }
    }
}

/// Lowers the peak to what is resident now. Where the kernel refuses, the peak stays that of the
/// process's whole life.
pub fn reset_peak() {
    const LOWER_PEAK: &str = "5";
    let _ = fs::write("/proc/self/clear_refs", LOWER_PEAK);
}

/// Takes so much memory from the machine and gives it back. A virtual machine's host has to find
/// memory that its guest has not touched for a while, which costs more than all else that an engine
/// does with a page for the first time; a run should not begin with that.
pub fn warm_memory(bytes: u64) {
    let bytes = bytes.min(onlap_base::memory::machine_bytes() / 4);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
    let (read_write, bytes) = (libc::PROT_READ | libc::PROT_WRITE, bytes as usize);
    // SAFETY: a new anonymous mapping touches no other memory; it is unmapped whole and nothing keeps
    // its address. Failing costs nothing but the warmth.
    unsafe {
        let at = libc::mmap(std::ptr::null_mut(), bytes, read_write, flags, -1, 0);
        if at != libc::MAP_FAILED {
            libc::munmap(at, bytes);
        }
    }
}

/// Bytes of a database directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskBytes {
    /// Files that end in `.log`: write-ahead logs, preallocated or not.
    pub log: u64,
    /// All other files.
    pub data: u64,
}

/// Sums file sizes below a directory. Files that vanish meanwhile count nothing.
pub fn disk_bytes(dir: &Path) -> DiskBytes {
    let mut sum = DiskBytes::default();
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    for entry in entries {
        let Ok(meta) = entry.metadata() else { continue };
        if meta.is_dir() {
            let below = disk_bytes(&entry.path());
            sum.log += below.log;
            sum.data += below.data;
        } else if entry.path().extension().is_some_and(|e| e == "log") {
            sum.log += meta.len();
        } else {
            sum.data += meta.len();
        }
    }
    sum
}

fn rusage() -> (u64, u64) {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for one rusage, which the call fills; all-zero is a valid value
    // of it, so that it may be read even if the call failed.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let us = |t: libc::timeval| t.tv_sec as u64 * 1_000_000 + t.tv_usec as u64;
    (us(usage.ru_utime) + us(usage.ru_stime), (usage.ru_nvcsw + usage.ru_nivcsw) as u64)
}

/// The number behind a name in a text of lines; 0 where there is none.
fn field(text: &str, name: &str) -> u64 {
    text.lines()
        .find_map(|line| line.strip_prefix(name))
        .and_then(|rest| rest.split_whitespace().next())
        .and_then(|number| number.parse().ok())
        .unwrap_or(0)
}
