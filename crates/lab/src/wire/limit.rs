//! How is a server kept within an amount of memory, its share of the page cache included?
//!
//! A memory cgroup of its own, of either version. Without one a server that reads through the page cache has
//! all of the machine's memory as a second cache, whatever its settings say.

use std::fs::{self, File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use onlap_base::{Error, ErrorKind, Result};

/// A memory cgroup, removed when this is dropped; its processes must have ended.
pub(crate) struct Limit {
    dir: PathBuf,
    processes: File,
}

/// Cgroups made by this process.
static MADE: AtomicU64 = AtomicU64::new(0);

impl Limit {
    /// A cgroup of `bytes`. Fails where this process may not make one.
    pub(crate) fn new(bytes: u64) -> Result<Limit> {
        let (root, file) = hierarchy()?;
        let made = MADE.fetch_add(1, Ordering::Relaxed);
        let dir = root.join(format!("onlap-bench-{}-{made}", std::process::id()));
        let refused = |e: std::io::Error| {
            let text = format!(
                "cannot make a memory cgroup in {}: {e}; run as root on Linux, or without \
                 --cgroup-memory",
                root.display()
            );
            Error::new(ErrorKind::Unsupported, text)
        };
        fs::create_dir(&dir).map_err(refused)?;
        let opened = fs::write(dir.join(file), bytes.to_string())
            .and_then(|()| OpenOptions::new().write(true).open(dir.join("cgroup.procs")));
        match opened {
            Ok(processes) => Ok(Limit { dir, processes }),
            Err(e) => {
                let _ = fs::remove_dir(&dir);
                Err(refused(e))
            }
        }
    }

    /// Lets a command start inside.
    pub(crate) fn hold(&self, command: &mut Command) {
        let fd = self.processes.as_raw_fd();
        let enter = move || {
            // SAFETY: one write of a constant to an open file, allowed between fork and exec.
            match unsafe { libc::write(fd, b"0".as_ptr().cast(), 1) } {
                1 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        };
        // SAFETY: the closure makes one system call and takes no lock; the file is open until the server
        // that holds this limit is dropped.
        unsafe { command.pre_exec(enter) };
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        // Processes that were waited for leave a moment later.
        for _ in 0..100 {
            if fs::remove_dir(&self.dir).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Where memory cgroups are made, and the file of their limit.
fn hierarchy() -> Result<(PathBuf, &'static str)> {
    let first = Path::new("/sys/fs/cgroup/memory");
    if first.join("memory.limit_in_bytes").exists() {
        return Ok((first.to_owned(), "memory.limit_in_bytes"));
    }
    let second = Path::new("/sys/fs/cgroup");
    let controllers = fs::read_to_string(second.join("cgroup.subtree_control")).unwrap_or_default();
    match controllers.split_whitespace().any(|name| name == "memory") {
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
            limit.hold(&mut command);
            String::from_utf8(command.output().unwrap().stdout).unwrap()
        };
        assert_eq!(fill("1").trim(), "1000000");
        assert_eq!(fill("200").trim(), "");
        let dir = limit.dir.clone();
        drop(limit);
        assert!(!dir.exists());
    }
}
