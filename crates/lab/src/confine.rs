//! How is a process kept within an amount of memory, its share of the page cache included?
//!
//! A memory cgroup of its own, of either version. Without one a server that reads through the page cache has
//! all of the machine's memory as a second cache, whatever its settings say. The second version also limits
//! a device's I/Os there; the first does that for the whole machine (see [`crate::volume`]).

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use onlap_base::{Error, ErrorKind, Result};

/// A cgroup, removed when this is dropped; its processes must have ended.
pub struct Limit {
    dir: PathBuf,
}

/// Cgroups made by this process.
static MADE: AtomicU64 = AtomicU64::new(0);

/// Where cgroups of memory are made.
const FIRST: &str = "/sys/fs/cgroup/memory";
const SECOND: &str = "/sys/fs/cgroup";
/// Where the first version limits CPU time.
const FIRST_CPU: &str = "/sys/fs/cgroup/cpu";
/// Within which a share of CPU time is counted; short, so that a server that has used its share waits a moment only.
const PERIOD_US: u64 = 10_000;

impl Limit {
    /// A cgroup of so many bytes. Fails where this process may not make one.
    pub fn new(bytes: u64) -> Result<Limit> {
        Limit::with(Some(bytes), None)
    }

    /// A cgroup of so many bytes and, where I/Os are limited per group, so many of a device with this
    /// number (`7:0`) each second in each direction.
    pub fn with(bytes: Option<u64>, device: Option<(&str, u64)>) -> Result<Limit> {
        let (root, file) = hierarchy(device.is_some())?;
        let made = MADE.fetch_add(1, Ordering::Relaxed);
        let dir = root.join(format!("onlap-bench-{}-{made}", std::process::id()));
        let refused = |e: std::io::Error| {
            let text = format!(
                "cannot make a cgroup in {}: {e}; run as root on Linux, or without \
                 --cgroup-memory",
                root.display()
            );
            Error::new(ErrorKind::Unsupported, text)
        };
        fs::create_dir(&dir).map_err(refused)?;
        let limit = Limit { dir };
        if let Some(bytes) = bytes {
            fs::write(limit.dir.join(file), bytes.to_string()).map_err(refused)?;
        }
        if let Some((number, per_second)) = device
            && limits_devices()
        {
            let line = format!("{number} riops={per_second} wiops={per_second}");
            fs::write(limit.dir.join("io.max"), line).map_err(refused)?;
        }
        Ok(limit)
    }

    /// A cgroup whose processes get this share of one core together, such as 0.4.
    ///
    /// # Errors
    /// This process may not make one, or the machine has no controller of CPU time.
    pub fn of_core(share: f64) -> Result<Limit> {
        let refused = |e: std::io::Error| {
            let text = format!("cannot limit CPU time by a cgroup: {e}; run as root on Linux");
            Error::new(ErrorKind::Unsupported, text)
        };
        let first = Path::new(FIRST_CPU).join("cpu.cfs_quota_us").exists();
        let root = Path::new(if first { FIRST_CPU } else { SECOND });
        if !first {
            // The root group hands a controller down only when asked to.
            fs::write(root.join("cgroup.subtree_control"), "+cpu").map_err(refused)?;
        }
        let made = MADE.fetch_add(1, Ordering::Relaxed);
        let dir = root.join(format!("onlap-bench-{}-{made}", std::process::id()));
        fs::create_dir(&dir).map_err(refused)?;
        let limit = Limit { dir };
        let quota = (share * PERIOD_US as f64) as u64;
        let lines = match first {
            true => vec![
                ("cpu.cfs_period_us", PERIOD_US.to_string()),
                ("cpu.cfs_quota_us", quota.to_string()),
            ],
            false => vec![("cpu.max", format!("{quota} {PERIOD_US}"))],
        };
        for (file, line) in lines {
            fs::write(limit.dir.join(file), line).map_err(refused)?;
        }
        Ok(limit)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.dir
    }

    /// Lets a command start inside.
    pub fn hold(&self, command: &mut Command) -> Result<()> {
        join(&self.dir, command)
    }
}

/// Lets a command start in a cgroup.
pub fn join(group: &Path, command: &mut Command) -> Result<()> {
    let mut processes = OpenOptions::new().write(true).open(group.join("cgroup.procs"))?;
    // SAFETY: the closure writes a constant to a file that is open already, and takes no lock.
    unsafe { command.pre_exec(move || processes.write_all(b"0")) };
    Ok(())
}

impl Drop for Limit {
    fn drop(&mut self) {
        // Processes that were waited for leave a moment later.
        for _ in 0..100 {
            if fs::remove_dir(&self.dir).is_ok() || !self.dir.exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Whether groups limit the I/Os of devices.
pub fn limits_devices() -> bool {
    let controllers = Path::new(SECOND).join("cgroup.controllers");
    fs::read_to_string(controllers).is_ok_and(|c| c.split_whitespace().any(|name| name == "io"))
}

/// Where memory cgroups are made, and the file of their limit.
fn hierarchy(device: bool) -> Result<(PathBuf, &'static str)> {
    let first = Path::new(FIRST);
    if first.join("memory.limit_in_bytes").exists() {
        return Ok((first.to_owned(), "memory.limit_in_bytes"));
    }
    let second = Path::new(SECOND);
    let control = second.join("cgroup.subtree_control");
    let has = |what: &str| {
        let controllers = fs::read_to_string(&control).unwrap_or_default();
        controllers.split_whitespace().any(|name| name == what)
    };
    for (name, wanted) in [("memory", true), ("io", device)] {
        if wanted && !has(name) {
            // The root group hands a controller down only when asked to.
            let _ = fs::write(&control, format!("+{name}"));
        }
    }
    match has("memory") {
        true => Ok((second.to_owned(), "memory.max")),
        false => {
            let text = "there is no memory cgroup controller here; run without --cgroup-memory";
            Err(Error::new(ErrorKind::Unsupported, text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_gets_its_share_of_a_core() {
        let limit = match Limit::of_core(0.2) {
            Ok(limit) => limit,
            // Not root, or a machine without the controller: then the error says so.
            Err(e) => return assert!(e.to_string().contains("cgroup"), "{e}"),
        };
        let mut command = Command::new("sh");
        command.args(["-c", "timeout 1 sh -c 'while :; do :; done'; times"]);
        limit.hold(&mut command).unwrap();
        let said = String::from_utf8(command.output().unwrap().stdout).unwrap();
        // The second line is of children, as in 0m0.200000s 0m0.010000s.
        let children = said.lines().nth(1).unwrap();
        let user = children.split('m').nth(1).and_then(|rest| rest.split('s').next());
        let user: f64 = user.and_then(|text| text.trim().parse().ok()).unwrap();
        assert!(user > 0.05, "{said} is not what it has used");
        assert!(user < 0.5, "a second of a fifth of a core is not {user} s");
    }

    #[test]
    fn a_process_in_a_limit_is_killed_above_it() {
        let limit = match Limit::new(32 << 20) {
            Ok(limit) => limit,
            // Not root, or a machine without the controller: then the error says so.
            Err(e) => return assert!(e.to_string().contains("--cgroup-memory"), "{e}"),
        };
        let fill = |blocks: &str| {
            let mut command = Command::new("sh");
            // A shell variable of that many megabytes.
            command.args(["-c", "x=$(head -c ${0}000000 /dev/zero | tr '\\0' x); echo ${#x}"]);
            command.arg(blocks);
            command.stderr(std::process::Stdio::null());
            limit.hold(&mut command).unwrap();
            String::from_utf8(command.output().unwrap().stdout).unwrap()
        };
        assert_eq!(fill("1").trim(), "1000000");
        assert_eq!(fill("200").trim(), "");
        let dir = limit.dir.clone();
        drop(limit);
        assert!(!dir.exists());
    }
}
