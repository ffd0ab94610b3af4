//! What must be there after `kill -9`?
//!
//! A child process writes into a database and keeps an [`Expected`] file next to it: a line before each
//! commit, one after. The parent kills it at a random moment ([`run_and_kill`]), reads the file, opens
//! the database and compares. The kernel survives, so the file needs no sync; its last line may be cut.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use onlap_base::Rng;

/// The expected-state file, written by the child.
#[derive(Debug)]
pub struct Expected {
    file: File,
}

/// What the file says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Promise {
    /// Highest number acknowledged: all up to it must be there.
    pub acknowledged: u64,
    /// Highest number asked for: nothing above it may be there.
    pub asked: u64,
}

impl Expected {
    /// Opens the file, or makes it, to add lines.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn open(path: &Path) -> io::Result<Expected> {
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        // A line that the last kill cut short must not run into the next one.
        file.write_all(b"\n")?;
        Ok(Expected { file })
    }

    /// Commit `number` is about to be asked for.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn ask(&mut self, number: u64) -> io::Result<()> {
        self.file.write_all(format!("ask {number};\n").as_bytes())
    }

    /// Commit `number` was acknowledged.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn acknowledge(&mut self, number: u64) -> io::Result<()> {
        self.file.write_all(format!("ack {number};\n").as_bytes())
    }
}

impl Promise {
    /// Reads the file; a missing one promises nothing, and cut lines count as not written.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn read(path: &Path) -> io::Result<Promise> {
        match std::fs::read_to_string(path) {
            Ok(text) => Ok(Promise::parse(&text)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Promise::default()),
            Err(e) => Err(e),
        }
    }

    fn parse(text: &str) -> Promise {
        let mut promise = Promise::default();
        for line in text.lines().filter_map(|line| line.strip_suffix(';')) {
            match line.split_once(' ').map(|(word, number)| (word, number.parse::<u64>())) {
                Some(("ask", Ok(number))) => promise.asked = promise.asked.max(number),
                Some(("ack", Ok(number))) => {
                    promise.acknowledged = promise.acknowledged.max(number);
                }
                _ => {}
            }
        }
        promise
    }

    /// Whether a database that holds exactly the commits `1..=highest` keeps the promise.
    pub fn allows(self, highest: u64) -> bool {
        (self.acknowledged..=self.asked.max(self.acknowledged)).contains(&highest)
    }
}

/// Starts the command, lets it run for a random time below `most`, and kills it with SIGKILL.
///
/// # Errors
/// When the process cannot be started or waited for.
pub fn run_and_kill(
    command: &mut Command,
    rng: &mut Rng,
    most: Duration,
) -> io::Result<ExitStatus> {
    let mut child = command.stdin(Stdio::null()).spawn()?;
    let most_us = u64::try_from(most.as_micros()).unwrap_or(u64::MAX).max(1);
    std::thread::sleep(Duration::from_micros(rng.below(most_us)));
    child.kill()?;
    child.wait()
}

#[cfg(test)]
mod tests;
