//! Who cleans up when the bench cannot?
//!
//! Mounts, loop devices and cgroups outlive a process that is killed. A [`Cleaner`] is a shell of its own
//! process group that waits for the end of its input, which is the end of the bench however it comes, and
//! then runs its script. The orderly end goes the same way, so that there is one way to clean up.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use onlap_base::Result;

/// A shell that waits. Dropping this lets it work and waits for it.
pub struct Cleaner {
    shell: Child,
}

/// Before the script: wait, whatever signals come.
const WAIT: &str = "trap '' INT TERM HUP; read -r _; ";

impl Cleaner {
    /// Starts one. The script finds its arguments in `$1`, `$2` and so on.
    pub fn start<S: AsRef<OsStr>>(script: &str, arguments: &[S]) -> Result<Cleaner> {
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("{WAIT}{script}")).arg("onlap-cleaner").args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).process_group(0).current_dir("/");
        Ok(Cleaner { shell: command.spawn()? })
    }
}

impl Drop for Cleaner {
    fn drop(&mut self) {
        if let Some(mut input) = self.shell.stdin.take() {
            let _ = input.write_all(b"\n");
        }
        let _ = self.shell.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    const SCRIPT: &str = "rm -f \"$1\"";

    #[test]
    fn it_works_when_dropped() {
        let dir = crate::workload::RunDir::create(None, "cleaner").unwrap();
        let file = dir.path().join("x y");
        std::fs::write(&file, "").unwrap();
        let cleaner = Cleaner::start(SCRIPT, &[&file]).unwrap();
        assert!(file.exists());
        drop(cleaner);
        assert!(!file.exists());
    }

    #[test]
    fn it_works_when_its_owner_is_killed() {
        let dir = crate::workload::RunDir::create(None, "killed").unwrap();
        let file = dir.path().join("x");
        std::fs::write(&file, "").unwrap();
        // An owner of the pipe's other end that dies without a word.
        let script = format!("sleep 100 | ({WAIT}{SCRIPT}) & echo; wait");
        let mut owner = Command::new("bash");
        owner.args(["-c", &script, "owner"]).arg(&file).process_group(0);
        let mut owner = owner.stdout(Stdio::piped()).spawn().unwrap();
        let group = owner.id() as libc::pid_t;
        std::thread::sleep(Duration::from_millis(100));
        // Not SIGINT, which whoever was started in the background may be deaf to.
        // SAFETY: plain system call on a process group of our own; SIGTERM leaves the cleaner alone.
        unsafe { libc::kill(-group, libc::SIGTERM) };
        let began = Instant::now();
        while file.exists() && began.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(!file.exists());
        // SAFETY: as above.
        unsafe { libc::kill(-group, libc::SIGKILL) };
        owner.wait().unwrap();
    }
}
