//! What was tried, so that figures add up over many runs?
//!
//! The log is a file of lines of JSON, committed with the repository; `cargo run -p xtask -- guarantees` makes the
//! table of `docs/guarantees.md` from it. A line:
//!
//! | field | what |
//! |---|---|
//! | `time` | end of the run, UTC |
//! | `commit` | what was tried; with a `+` where files were changed since |
//! | `build` | `debug` (with assertions, optimized as `Cargo.toml` says) or `release` |
//! | `rig`, `from`, `to` | the rig, its seeds from one to below another |
//! | `result` | `ok`, or the seed that found something and what |
//! | `counts` | what was tried |
//! | `seconds` | how long it took |

use std::fs::OpenOptions;
use std::io::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use crate::Counts;

/// Where the log is, from the root of the repository.
pub const PATH: &str = "benchmarks/proofs.jsonl";

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

/// Appends a line.
///
/// # Errors
/// What the operating system says.
pub fn append(run: &Run<'_>) -> std::io::Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
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

/// The commit that is checked out; a build outlives commits, so this is asked when a run ends.
fn commit(root: &Path) -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").current_dir(root).args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else { return "unknown".into() };
    let changed =
        git(&["status", "--porcelain", "--untracked-files=no", "--", "crates", "Cargo.lock"]);
    let clean = changed.is_some_and(|files| files.is_empty());
    if clean { commit } else { commit + "+" }
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
