//! How many tests of a driver's or an ORM's own suite pass, of those that pass at PostgreSQL?
//!
//! The suites are not part of this repository: the command is given the folder of a suite's sources and a Python with pytest,
//! pytest-timeout and what the suite imports. Each runs at a private PostgreSQL 15 and at Onlap, from the same beginning.
//! What counts is a test that passes at PostgreSQL; a test that passes here alone counts for nothing.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use onlap_testkit::postgres::Postgres;

use crate::served::{self, Served};

/// A suite: its name, how pytest is called, and where.
pub struct Suite {
    /// As the command names it.
    pub name: &'static str,
    /// What pytest is told besides; `{port}` is the server's.
    arguments: &'static [&'static str],
}

/// All suites.
pub const SUITES: [Suite; 3] = [
    Suite {
        name: "sqlalchemy",
        arguments: &[
            "test/dialect/test_suite.py",
            "--maxfail=100000",
            "--dburi=postgresql+psycopg2://postgres@127.0.0.1:{port}/test",
        ],
    },
    Suite {
        name: "asyncpg",
        // What checks the sources, and what starts servers of its own, says nothing of a server.
        arguments: &[
            "tests",
            "--ignore=tests/test__sourcecode.py",
            "--ignore=tests/test__environment.py",
            "--ignore=tests/test_connect.py",
            "-p",
            "no:asyncio",
        ],
    },
    Suite {
        name: "psycopg",
        arguments: &[
            "tests",
            "--ignore=tests/pool",
            "--ignore=tests/test_typing.py",
            "--ignore=tests/test_dns.py",
            "--ignore=tests/test_dns_srv.py",
            "-m",
            "not slow and not timing and not mypy and not flakey and not subprocess and not dns",
            "-p",
            "no:asyncio",
            "--test-dsn=host=127.0.0.1 port={port} user=postgres dbname=test",
        ],
    },
];

/// What came of a suite.
pub struct Passed {
    /// Tests that pass at PostgreSQL.
    pub theirs: BTreeSet<String>,
    /// Of those, the ones that do not pass here.
    pub missing: Vec<String>,
}

impl Passed {
    /// One line.
    pub fn summary(&self) -> String {
        let (all, missing) = (self.theirs.len(), self.missing.len());
        let share = (all - missing) as f64 * 100.0 / all.max(1) as f64;
        format!("{} of {all} pass, {share:.1} %", all - missing)
    }
}

/// Runs a suite at both.
///
/// # Errors
/// A server or pytest cannot be run; no test passes at PostgreSQL.
pub fn run(suite: &Suite, files: &Path, python: &Path) -> Result<Passed, String> {
    let postgres = Postgres::start();
    let theirs = passed(suite, files, python, postgres.port())?;
    if theirs.is_empty() {
        return Err("no test passes at PostgreSQL: are the folder and the Python right?".into());
    }
    let served = Served::start(&[])?;
    let ours = passed(suite, files, python, served.port())?;
    let missing = theirs.difference(&ours).cloned().collect();
    Ok(Passed { theirs, missing })
}

/// The tests that pass at a server.
fn passed(
    suite: &Suite,
    files: &Path,
    python: &Path,
    port: u16,
) -> Result<BTreeSet<String>, String> {
    let mut client = served::connect(port, "postgres")?;
    client.batch_execute("CREATE DATABASE test").map_err(|e| e.to_string())?;
    let mut config = postgres::Config::new();
    config.host("127.0.0.1").port(port).user("postgres").dbname("test");
    let mut client = config.connect(postgres::NoTls).map_err(|e| e.to_string())?;
    // Onlap trusts a role until it has a password, which tests give it: from the start, they all know it.
    let begin = "CREATE SCHEMA test_schema; CREATE SCHEMA test_schema_2; \
                 ALTER ROLE postgres PASSWORD 'postgres'";
    client.batch_execute(begin).map_err(|e| e.to_string())?;
    let port = port.to_string();
    let arguments = suite.arguments.iter().map(|argument| argument.replace("{port}", &port));
    let output = Command::new(python)
        .args(["-m", "pytest", "-q", "-rA", "--tb=no", "--timeout=30", "-o", "addopts="])
        .args(arguments)
        .current_dir(files)
        .envs([("PGHOST", "127.0.0.1"), ("PGUSER", "postgres"), ("PGDATABASE", "postgres")])
        .envs([("PGPORT", &*port), ("PGPASSWORD", "postgres")])
        .output()
        .map_err(|e| format!("{}: {e}", python.display()))?;
    let told = String::from_utf8_lossy(&output.stdout);
    Ok(told.lines().filter_map(|line| line.strip_prefix("PASSED ")).map(unversioned).collect())
}

/// A test's name without the server's version, which SQLAlchemy puts behind the driver's name: two servers never have the same.
fn unversioned(name: &str) -> String {
    let Some((head, tail)) = name.split_once("+psycopg2_") else { return name.to_owned() };
    let rest = tail.trim_start_matches(|c: char| c.is_ascii_digit() || c == '_');
    format!("{head}+psycopg2{rest}")
}

#[cfg(test)]
mod tests {
    use super::unversioned;

    #[test]
    fn versions_of_servers_are_no_part_of_names() {
        let name = "test_suite.py::ArrayTest_postgresql+psycopg2_15_18::test_2[(3)-a]";
        let known = "test_suite.py::ArrayTest_postgresql+psycopg2::test_2[(3)-a]";
        assert_eq!(unversioned(name), known);
        assert_eq!(unversioned("tests/test_pool.py::test_1_5"), "tests/test_pool.py::test_1_5");
    }
}
