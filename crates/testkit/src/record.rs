//! What was tried, so that figures add up over many runs?
//!
//! The log is a file of lines of JSON, committed with the repository; `cargo run -p xtask -- guarantees` makes the
//! table of `docs/proofs.md` from it. A line:
//!
//! | field | what |
//! |---|---|
//! | `time` | end of the run, UTC |
//! | `commit` | the newest when the program was built; with a `+` where files were changed since |
//! | `build` | `debug` (with assertions, optimized as `Cargo.toml` says) or `release` |
//! | `rig`, `from`, `to` | the rig, its seeds from one to below another |
//! | `result` | `ok`, or the seed that found something and what |
//! | `counts` | what was tried |
//! | `seconds` | how long it took |

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

/// Where the log is, from the root of the repository.
pub const PATH: &str = "benchmarks/proofs.jsonl";

/// What a rig tried, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts(BTreeMap<&'static str, u64>);

impl Counts {
    /// Counts `n` more of something.
    pub fn add(&mut self, what: &'static str, n: u64) {
        *self.0.entry(what).or_default() += n;
    }

    /// How many of something there were.
    pub fn of(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or(0)
    }

    /// Adds what another run counted.
    pub fn extend(&mut self, other: &Counts) {
        for (what, n) in &other.0 {
            self.add(what, *n);
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.0.iter().map(|(what, n)| (*what, *n))
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts: Vec<String> = self.iter().map(|(what, n)| format!("{n} {what}")).collect();
        f.write_str(&parts.join(", "))
    }
}

/// A run that has ended.
#[derive(Debug)]
pub struct Run<'a> {
    /// Name of the rig.
    pub rig: &'a str,
    /// Seeds that were tried.
    pub seeds: Range<u64>,
    /// What was counted.
    pub counts: &'a Counts,
    /// What was found, if anything.
    pub finding: Option<&'a str>,
    /// How long it took.
    pub took: Duration,
}

/// The repository: where the command runs, if that is one, else where it was built.
pub fn root() -> PathBuf {
    match std::env::current_dir() {
        Ok(here) if here.join(PATH).exists() => here,
        _ => Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."),
    }
}

/// Appends a line.
///
/// # Errors
/// What the operating system says.
pub fn append(run: &Run<'_>) -> std::io::Result<PathBuf> {
    let root = root();
    let path = root.join(PATH);
    let counts: Map<String, Value> =
        run.counts.iter().map(|(what, n)| (what.to_owned(), json!(n))).collect();
    let line = json!({
        "time": utc(SystemTime::now()),
        "commit": commit(&root),
        "build": if cfg!(debug_assertions) { "debug" } else { "release" },
        "rig": run.rig,
        "from": run.seeds.start,
        "to": run.seeds.end,
        "result": run.finding.unwrap_or("ok"),
        "counts": counts,
        "seconds": run.took.as_secs(),
    });
    let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
    file.write_all(format!("{line}\n").as_bytes())?;
    Ok(path)
}

/// Notes what a test tried that is a rig of its own, where `ONLAP_LOG` is set.
///
/// # Panics
/// When the log cannot be written.
pub fn note(rig: &str, seed: u64, counts: &Counts, took: Duration) {
    println!("{rig}: seed {seed}: {counts}");
    if std::env::var_os("ONLAP_LOG").is_some() {
        let run = Run { rig, seeds: seed..seed + 1, counts, finding: None, took };
        append(&run).expect("the log can be written");
    }
}

/// The newest commit at the time when this program was built; with a `+` where the files of today differ from
/// it, as some of them may have been there already.
fn commit(root: &Path) -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").current_dir(root).args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let built = std::env::current_exe().and_then(|exe| exe.metadata()?.modified());
    let built = built.ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let before = format!("--before=@{}", built.map_or(0, |time| time.as_secs()));
    let commit = git(&["rev-list", "-1", "--abbrev-commit", "--abbrev=12", &before, "HEAD"]);
    let Some(commit) = commit.filter(|name| !name.is_empty()) else { return "unknown".into() };
    let same = git(&["diff", "--quiet", &commit, "--", "crates", "Cargo.lock"]).is_some();
    if same { commit } else { commit + "+" }
}

/// `2026-11-21T22:30:00Z`.
fn utc(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Years from March on, in eras of 400: the leap day comes last.
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let date = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_as_people_write_them() {
        let at = |seconds| utc(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(at(951_868_800), "2000-03-01T00:00:00Z");
        assert_eq!(at(1_798_761_599), "2026-12-31T23:59:59Z");
    }
}
