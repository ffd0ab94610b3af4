//! Where was this measured?

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The machine and the build.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// Model of the first processor.
    pub cpu: String,
    /// Processors this process may use.
    pub cores: usize,
    /// Kernel release.
    pub kernel: String,
    /// Type of the file system that holds the data directory, and its device.
    pub filesystem: String,
    /// Memory of the machine in bytes.
    pub memory_bytes: u64,
    /// Commit the binary was built from.
    pub commit: String,
    /// Release.
    pub version: String,
}

impl Environment {
    /// Describes this machine, with the file system of `dir`.
    pub fn of(dir: &Path, commit: &str) -> Environment {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let memory_kib = value(&meminfo, "MemTotal")
            .and_then(|v| v.trim_end_matches("kB").trim().parse::<u64>().ok());
        Environment {
            // arm64 kernels name no model.
            cpu: value(&cpuinfo, "model name").unwrap_or(std::env::consts::ARCH).to_owned(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: kernel.trim().to_owned(),
            filesystem: filesystem(dir),
            memory_bytes: memory_kib.unwrap_or(0) << 10,
            commit: commit.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// One line for people.
    pub fn line(&self) -> String {
        format!(
            "{} x {}, {} of memory, Linux {}, {}; onlap {} ({})",
            self.cores,
            self.cpu,
            crate::units::size(self.memory_bytes),
            self.kernel,
            self.filesystem,
            self.version,
            self.commit
        )
    }
}

/// The value of the first line `name : value`.
fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then_some(value.trim())
    })
}

/// Type and device of the mount with the longest path that `dir` lies below.
fn filesystem(dir: &Path) -> String {
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mut best: Option<(usize, String)> = None;
    for line in mounts.lines() {
        let mut words = line.split_whitespace();
        let (Some(device), Some(mount), Some(kind)) = (words.next(), words.next(), words.next())
        else {
            continue;
        };
        let longer = best.as_ref().is_none_or(|(length, _)| mount.len() >= *length);
        if dir.starts_with(mount) && longer {
            best = Some((mount.len(), format!("{kind} on {device}")));
        }
    }
    best.map_or_else(|| "unknown".to_owned(), |(_, text)| text)
}
