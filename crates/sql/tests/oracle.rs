//! Do the scripts say what PostgreSQL answers?
//!
//! Each script of `testdata` runs against a private PostgreSQL 15 (a Debian package), through psql, so that
//! what they expect cannot drift from it.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use sqllogictest::{DBOutput, DefaultColumnType, Runner};

const BIN: &str = "/usr/lib/postgresql/15/bin";
/// PostgreSQL does not run as root; this is nobody.
const NOBODY: u32 = 65_534;

/// A private server, stopped when dropped.
struct Postgres {
    dir: PathBuf,
    _temporary: tempfile::TempDir,
}

impl Postgres {
    fn start() -> Postgres {
        let installed = Path::new(BIN).join("initdb").exists();
        assert!(installed, "PostgreSQL 15 is missing: apt-get install postgresql-15");
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let dir = temporary.path().to_path_buf();
        if is_root() {
            std::os::unix::fs::chown(&dir, Some(NOBODY), Some(NOBODY)).expect("root may");
        }
        let postgres = Postgres { dir, _temporary: temporary };
        let data = postgres.dir.join("data").display().to_string();
        postgres.program("initdb", &["-D", &data, "--locale=C", "-E", "UTF8", "-U", "postgres"]);
        let options = format!("-k {} -c listen_addresses= -c timezone=UTC", postgres.dir.display());
        let log = postgres.dir.join("log").display().to_string();
        postgres.program("pg_ctl", &["-D", &data, "-o", &options, "-l", &log, "-w", "start"]);
        postgres
    }

    fn program(&self, name: &str, arguments: &[&str]) {
        let mut command = Command::new(Path::new(BIN).join(name));
        command.args(arguments).current_dir(&self.dir).stdout(Stdio::null());
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        assert!(command.status().expect("PostgreSQL is installed").success(), "{name}");
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let data = self.dir.join("data").display().to_string();
        self.program("pg_ctl", &["-D", &data, "-m", "immediate", "stop"]);
    }
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|of| of.uid() == 0)
}

/// One session of psql.
struct Psql {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

const END: &str = "<<end of a statement>>";

impl Psql {
    fn connect(postgres: &Postgres) -> Psql {
        let mut child = Command::new(Path::new(BIN).join("psql"))
            .args(["-X", "-q", "-A", "-F", "\u{1}", "-P", "null=NULL", "-P", "footer=off"])
            .args(["-v", "VERBOSITY=sqlstate", "-h"])
            .arg(&postgres.dir)
            .args(["-U", "postgres", "postgres"])
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
