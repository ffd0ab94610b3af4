//! How does a process live with little memory?
//!
//! A memory cgroup of version 1 or 2, removed at the end. It takes root on Linux: where this process may not make one,
//! a test says so and does nothing, unless the environment variable `ONLAP_PROGRAMS` is `all`
//! ([`crate::programs`]): then that is a failure.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long the kernel may take to let go of processes that have ended.
const LEAVE: (u32, Duration) = (100, Duration::from_millis(20));

/// A cgroup.
#[derive(Debug)]
pub struct Cgroup {
    dir: PathBuf,
    limit_file: &'static str,
}

impl Cgroup {
    /// One of this number of bytes.
    ///
    /// # Errors
    /// This process may not make one: that takes root on Linux, with the memory controller.
    pub fn new(bytes: u64) -> Result<Cgroup, String> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("onlap-proof-{}-{number}", std::process::id());
        let (v1, v2) = (Path::new("/sys/fs/cgroup/memory"), Path::new("/sys/fs/cgroup"));
        let (root, limit_file) = match v1.join("memory.limit_in_bytes").exists() {
            true => (v1, "memory.limit_in_bytes"),
            false => (v2, "memory.max"),
        };
        let dir = root.join(name);
        let failed = |e| format!("a memory cgroup takes root on Linux: {}: {e}", dir.display());
        fs::create_dir(&dir).map_err(failed)?;
        let group = Cgroup { dir, limit_file };
        group.limit(bytes)?;
        Ok(group)
    }

    /// Whether this process may make one; says so where it may not.
    ///
    /// # Panics
    /// It may not, and everything is to be there (`ONLAP_PROGRAMS=all`).
    pub fn can_be() -> bool {
        match Cgroup::new(1 << 30) {
            Ok(_) => true,
            Err(text) => {
                assert!(std::env::var("ONLAP_PROGRAMS").as_deref() != Ok("all"), "{text}");
                eprintln!("a test was not run, {text}");
                false
            }
        }
    }

    /// Gives its processes this number of bytes from now on.
    ///
    /// # Errors
    /// They have more that cannot be taken from them.
    pub fn limit(&self, bytes: u64) -> Result<(), String> {
        let path = self.dir.join(self.limit_file);
        fs::write(&path, bytes.to_string()).map_err(|e| format!("{}: {e}", path.display()))
    }

    /// The file that takes in the process whose number is written to it.
    pub fn procs(&self) -> PathBuf {
        self.dir.join("cgroup.procs")
    }

    /// Most bytes that its processes had, the page cache included.
    pub fn peak(&self) -> u64 {
        let files = ["memory.max_usage_in_bytes", "memory.peak"];
        let text = files.iter().find_map(|file| fs::read_to_string(self.dir.join(file)).ok());
        text.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    }

    /// How many processes the kernel has killed in it.
    pub fn kills(&self) -> u64 {
        let files = ["memory.oom_control", "memory.events"];
        let text = files.iter().find_map(|file| fs::read_to_string(self.dir.join(file)).ok());
        let text = text.unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        line.and_then(|n| n.trim().parse().ok()).unwrap_or(0)
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        for _ in 0..LEAVE.0 {
            if fs::remove_dir(&self.dir).is_ok() {
                return;
            }
            std::thread::sleep(LEAVE.1);
        }
    }
}
