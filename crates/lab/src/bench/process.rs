//! A run in a process of its own: this binary with the flags of one run, so that one run's memory, caches
//! and threads do not weigh on the next.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use onlap_base::{Error, ErrorKind, Result};

/// Flags and their values.
pub(super) type Flags = Vec<(&'static str, OsString)>;

/// Runs made by this process.
static MADE: AtomicUsize = AtomicUsize::new(0);

/// What a process of its own reports of a workload. One that missed a figure or ended early has a report,
/// too. It starts in a cgroup where one is given, and ends when this process does.
pub(super) fn child(workload: &str, flags: Flags, group: Option<&Path>) -> Result<String> {
    let io = |what: &str, e: std::io::Error| Error::new(ErrorKind::Io, format!("{what}: {e}"));
    let nth = MADE.fetch_add(1, Ordering::Relaxed);
    let json = std::env::temp_dir().join(format!("onlap-run-{}-{nth}.json", std::process::id()));
    let program = std::env::current_exe().map_err(|e| io("cannot find this program", e))?;
    let mut command = Command::new(program);
    command.arg("bench").arg(workload).arg("--json").arg(&json);
    for (flag, value) in flags {
        command.arg(flag);
        if !value.is_empty() {
            command.arg(value);
        }
    }
    command.stdout(Stdio::null());
    if let Some(group) = group {
        crate::confine::join(group, &mut command)?;
    }
    // SAFETY: one system call, allowed between fork and exec.
    unsafe {
        command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
    let status = command.status().map_err(|e| io("cannot start a run", e))?;
    let text = std::fs::read_to_string(&json);
    let _ = std::fs::remove_file(&json);
    match status.code() {
        Some(0) => {}
        Some(1 | 130) if text.is_ok() => {}
        Some(130) => return Err(Error::new(ErrorKind::Cancelled, "the bench was interrupted")),
        // The run has said why.
        Some(2) => return Err(Error::new(ErrorKind::InvalidInput, "the run was refused")),
        _ => {
            let text = format!("a run of {workload} failed: {status}");
            return Err(Error::new(ErrorKind::Io, text));
        }
    }
    text.map_err(|e| io("a run left no report", e))
}
