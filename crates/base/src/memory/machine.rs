//! How much memory does this process have?
//!
//! The machine's memory from `/proc/meminfo`, or less where a control group of version 1 or 2 (the
//! process's own or one above it) says so. Read once at open; anything unreadable counts as no limit.

use std::fs;
use std::path::Path;

/// Used when even `/proc/meminfo` cannot be read: small enough for any machine.
const UNKNOWN_BYTES: u64 = 1 << 30;

/// What `statm` counts in, on the machines that Onlap runs on.
const PAGE_BYTES: u64 = 4096;

/// Bytes of memory of this machine or, when lower, of the process's control group.
pub fn machine_bytes() -> u64 {
    let read = |path: &str| read_text(Path::new(path));
    bytes_from(&read)
}

/// Bytes of memory that are this process's own, those of files left out; `None` where the system does not say.
pub fn resident_bytes() -> Option<u64> {
    resident_from(&read_text(Path::new("/proc/self/statm"))?)
}

/// From the pages `size resident shared …` of `statm`.
pub(super) fn resident_from(statm: &str) -> Option<u64> {
    let mut pages = statm.split_whitespace().skip(1).map(|field| field.parse::<u64>().ok());
    let (resident, shared) = (pages.next()??, pages.next()??);
    resident.saturating_sub(shared).checked_mul(PAGE_BYTES)
}

#[expect(clippy::disallowed_methods, reason = "reads the kernel's files, not the database's")]
fn read_text(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// `machine_bytes` over any reader of files, so that tests can stand in for the kernel.
pub(super) fn bytes_from(read: &dyn Fn(&str) -> Option<String>) -> u64 {
    let machine = read("/proc/meminfo").and_then(|text| meminfo_bytes(&text));
    let groups = read("/proc/self/cgroup").unwrap_or_default();
    let group = groups.lines().filter_map(|line| group_bytes(line, read)).min();
    match (machine, group) {
        (Some(machine), Some(group)) => machine.min(group),
        (Some(bytes), None) | (None, Some(bytes)) => bytes,
        (None, None) => UNKNOWN_BYTES,
    }
}

fn meminfo_bytes(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// The lowest limit on the way from the group that a line of `/proc/self/cgroup`
/// (`hierarchy:controllers:path`) names up to the root.
fn group_bytes(line: &str, read: &dyn Fn(&str) -> Option<String>) -> Option<u64> {
    let mut fields = line.splitn(3, ':');
    let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
    let (root, file) = if controllers.is_empty() {
        ("/sys/fs/cgroup", "memory.max")
    } else if controllers.split(',').any(|name| name == "memory") {
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
    } else {
        return None;
    };
    let mut lowest: Option<u64> = None;
    let mut path = path.trim_end_matches('/');
    loop {
        // "max" (version 2) does not parse; version 1's "no limit" is above any machine's memory.
        let limit = read(&format!("{root}{path}/{file}")).and_then(|text| text.trim().parse().ok());
        lowest = match (lowest, limit) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        match path.rfind('/') {
            Some(slash) => path = &path[..slash],
            None => return lowest,
        }
    }
}
