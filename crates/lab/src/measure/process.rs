//! What has this process used so far?

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

mod tree;

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

    /// Of a process and all that it started: those that live, and those that ended and were waited for.
    pub fn of_tree(id: u32) -> Usage {
        let mut sum = Usage {
            stolen_ms: stolen_ms(&fs::read_to_string("/proc/stat").unwrap_or_default()),
            ..Usage::default()
        };
        for id in tree::processes(id) {
            let stat = tree::stat(id);
            let io = fs::read_to_string(format!("/proc/{id}/io")).unwrap_or_default();
            sum.cpu_us += stat.map_or(0, |s| s.user_us + s.system_us + s.ended_us);
            sum.context_switches += tree::context_switches(id);
            sum.written_to_calls += field(&io, "wchar:");
            sum.written_to_device += field(&io, "write_bytes:");
            sum.read_from_device += field(&io, "read_bytes:");
            sum.read_calls += field(&io, "syscr:");
        }
        sum
    }

    /// What was used since an earlier reading.
    #[must_use]
    pub fn since(&self, earlier: &Usage) -> Usage {
        Usage {
            // Processes of a tree may have ended since, and threads with them.
            cpu_us: self.cpu_us.saturating_sub(earlier.cpu_us),
            context_switches: self.context_switches.saturating_sub(earlier.context_switches),
            written_to_calls: self.written_to_calls.saturating_sub(earlier.written_to_calls),
            written_to_device: self.written_to_device.saturating_sub(earlier.written_to_device),
            read_from_device: self.read_from_device.saturating_sub(earlier.read_from_device),
            read_calls: self
                .read_calls
                .saturating_sub(earlier.read_calls)
                .saturating_sub(reads_of_a_look()),
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

impl Resident {
    /// Of a process and all that it started; pages that several share count once. The peak is the sum
    /// of the single ones', each since its begin, shared pages counted in each: an upper bound.
    pub fn of_tree(id: u32) -> Resident {
        let mut sum = Resident::default();
        for id in tree::processes(id) {
            let shares = fs::read_to_string(format!("/proc/{id}/smaps_rollup")).unwrap_or_default();
            let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
            sum.now += field(&shares, "Pss:") << 10;
            sum.peak += field(&status, "VmHWM:") << 10;
        }
        sum
    }
}

/// Seconds of CPU of one process: its own, and the kernel's for it.
pub fn cpu_of(id: u32) -> Option<(f64, f64)> {
    tree::stat(id).map(|s| (s.user_us as f64 / 1e6, s.system_us as f64 / 1e6))
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskBytes {
    /// Write-ahead logs, preallocated or not.
    pub log: u64,
    /// All other files.
    pub data: u64,
    /// All files by kind: what their names end in.
    pub kinds: BTreeMap<String, u64>,
}

/// Sums file sizes below a directory. Files that vanish meanwhile count nothing.
pub fn disk_bytes(dir: &Path) -> DiskBytes {
    let mut sum = DiskBytes::default();
    add_files(dir, false, &mut sum);
    sum
}

fn add_files(dir: &Path, in_log: bool, sum: &mut DiskBytes) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        let Ok(meta) = entry.metadata() else { continue };
        if meta.is_dir() {
            add_files(&path, in_log || name == "pg_wal", sum);
            continue;
        }
        let extension = path.extension().map(|e| e.to_string_lossy().into_owned());
        let logs = ["ib_logfile", "aria_log"];
        let is_log = in_log
            || matches!(extension.as_deref(), Some("log" | "db-wal"))
            || logs.iter().any(|prefix| name.starts_with(prefix));
        let kind = match extension {
            _ if is_log => "log".to_owned(),
            // PostgreSQL's tables and indexes have numbers for names, and segments after a dot.
            Some(extension) if !extension.bytes().all(|c| c.is_ascii_digit()) => extension,
            _ => "other".to_owned(),
        };
        *(if is_log { &mut sum.log } else { &mut sum.data }) += meta.len();
        *sum.kinds.entry(kind).or_default() += meta.len();
    }
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
