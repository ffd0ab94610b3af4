//! Which programs of others does a test need?
//!
//! A test of real clients or of a comparison runs where its programs are installed. Where one is missing, it
//! says so and does nothing, unless the environment variable `ONLAP_PROGRAMS` is `all`, as in `.ci/run`:
//! then that is a failure.

use std::io::Write;
use std::path::PathBuf;

/// Folders that are looked through before those of `PATH`: a Python of one's own does not know the system's
/// modules, and Debian keeps some programs of PostgreSQL in a folder of their own.
const USUAL: [&str; 2] = ["/usr/bin", "/usr/lib/postgresql/15/bin"];

/// Where a program is, by its name or its whole path; also another file.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = USUAL.into_iter().map(PathBuf::from).chain(std::env::split_paths(&path));
    folders.map(|folder| folder.join(program)).find(|file| file.exists())
}

/// Whether all programs, or files by their whole path, are there; each comes with what installs it.
///
/// # Panics
/// One is missing and all are to be there.
pub fn are_there(needed: &[(&str, &str)]) -> bool {
    let missing = needed.iter().find(|(program, _)| find(program).is_none());
    let Some((program, from)) = missing else { return true };
    let text = format!("{program} is missing: {from}");
    assert!(std::env::var("ONLAP_PROGRAMS").as_deref() != Ok("all"), "{text}");
    // Past the test runner, which keeps what tests that pass print.
    let _ = writeln!(std::io::stderr().lock(), "a test was not run, {text}");
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_not_there() {
        assert!(find("sh").is_some() && find("/bin/sh").is_some());
        assert!(are_there(&[("sh", "apt-get install dash"), ("/dev/null", "a kernel")]));
        let known = std::env::var("ONLAP_PROGRAMS").as_deref() == Ok("all");
        let there =
            std::panic::catch_unwind(|| are_there(&[("no-such-program", "nothing has it")]));
        assert_eq!(there.ok(), (!known).then_some(false));
    }
}
