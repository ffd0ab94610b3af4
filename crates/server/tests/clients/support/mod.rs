//! What tests with real programs share: programs, servers, comparisons.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use onlap_testkit::programs;

pub mod postgres;
pub mod server;

/// Where a server listens.
#[derive(Clone, Copy, Debug)]
pub struct Address {
    pub port: u16,
}

impl Address {
    /// A program that finds the server as libpq and its like do, in an environment of its own.
    pub fn command(self, program: &str, database: &str) -> Command {
        let mut command = Command::new(programs::find(program).expect("it is installed"));
        let variables = [
            ("PGHOST", "127.0.0.1".to_string()),
            ("PGPORT", self.port.to_string()),
            ("PGUSER", "postgres".to_string()),
            ("PGDATABASE", database.to_string()),
            ("PGTZ", "UTC".to_string()),
            ("PSQLRC", "/dev/null".to_string()),
            ("LC_ALL", "C.UTF-8".to_string()),
        ];
        command.envs(variables).stdin(Stdio::null());
        command
    }
    /// Runs a statement with psql.
    pub fn sql(self, database: &str, statement: &str) -> String {
        let mut psql = self.command("psql", database);
        let output =
            run(psql.args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", statement]));
        output.trim_end().to_string()
    }
}

/// Whether PostgreSQL and all of these programs or files are there.
pub fn are_there(needed: &[(&str, &str)]) -> bool {
    programs::are_there(&onlap_testkit::postgres::NEEDED) && programs::are_there(needed)
}

/// A file of this folder.
pub fn script(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(name);
    path.to_str().expect("the path is UTF-8").to_string()
}

/// Runs a program that has to succeed, and returns what it printed.
pub fn run(command: &mut Command) -> String {
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{command:?}\n{}", both(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Standard output and error.
pub fn both(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

/// Compares what a script printed here and at PostgreSQL, line by line.
pub fn assert_same(what: &str, ours: &str, theirs: &str) {
    if ours == theirs {
        return;
    }
    let (a, b): (Vec<_>, Vec<_>) = (ours.lines().collect(), theirs.lines().collect());
    let begin = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let rest = a.len().min(b.len()) - begin;
    let end = a.iter().rev().zip(b.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    panic!(
        "{what} differs from line {} on\n--- ours\n{}\n--- PostgreSQL's\n{}",
        begin + 1,
        a[begin.saturating_sub(3)..a.len() - end].join("\n"),
        b[begin.saturating_sub(3)..b.len() - end].join("\n"),
    );
}
