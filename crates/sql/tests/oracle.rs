//! Do the scripts say what PostgreSQL answers?
//!
//! Each script of `testdata` runs against a private PostgreSQL 15 (a Debian package), through psql, so that
//! what they expect cannot drift from it.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use onlap_testkit::postgres::{self, Postgres};
use onlap_testkit::programs;
use sqllogictest::{DBOutput, DefaultColumnType, Runner};

/// One session of psql.
struct Psql {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

const END: &str = "<<end of a statement>>";

impl Psql {
    fn connect(postgres: &Postgres) -> Psql {
        let mut child = postgres
            .psql()
            .args(["-q", "-A", "-F", "\u{1}", "-P", "null=NULL", "-P", "footer=off"])
            .args(["-v", "VERBOSITY=sqlstate"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("psql is installed");
        let input = child.stdin.take().expect("piped");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Psql { child, input, output }
    }
}

impl Drop for Psql {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[derive(Debug)]
struct Failed(String);

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failed {}

impl sqllogictest::DB for Psql {
    type Error = Failed;
    type ColumnType = DefaultColumnType;

    fn engine_name(&self) -> &str {
        "postgresql"
    }

    fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, Failed> {
        let gone = |e: std::io::Error| Failed(e.to_string());
        write!(self.input, "{sql};\n\\echo :ERROR :SQLSTATE {END}\n").map_err(gone)?;
        let mut lines = Vec::new();
        let state = loop {
            let mut line = String::new();
            if self.output.read_line(&mut line).map_err(gone)? == 0 {
                return Err(Failed("psql is gone".into()));
            }
            let line = line.trim_end_matches('\n').to_string();
            match line.strip_suffix(END) {
                Some(state) => break state.trim().to_string(),
                None => lines.push(line),
            }
        };
        if let Some(state) = state.strip_prefix("true ") {
            return Err(Failed(state.to_string()));
        }
        if lines.is_empty() {
            return Ok(DBOutput::StatementComplete(0));
        }
        let width = lines[0].split('\u{1}').count();
        let value = |v: &str| if v.is_empty() { "(empty)".to_string() } else { v.to_string() };
        let row = |line: &String| line.split('\u{1}').map(value).collect();
        let rows = lines[1..].iter().map(row).collect();
        Ok(DBOutput::Rows { types: vec![DefaultColumnType::Text; width], rows })
    }
}

#[test]
fn postgresql_gives_what_the_scripts_say() {
    if !programs::are_there(&postgres::NEEDED) {
        return;
    }
    let postgres = Postgres::start();
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata");
    let mut failed = Vec::new();
    for entry in std::fs::read_dir(dir).expect("the folder of scripts") {
        let file = entry.expect("a readable folder").path();
        if file.extension().is_none_or(|e| e != "slt") {
            continue;
        }
        let clean = "drop schema public cascade; create schema public";
        let open = || {
            let mut psql = Psql::connect(&postgres);
            sqllogictest::DB::run(&mut psql, clean).expect("an empty schema");
            async move { Ok(psql) }
        };
        if let Err(e) = Runner::new(open).run_file(&file) {
            failed.push(format!("{e}"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}
