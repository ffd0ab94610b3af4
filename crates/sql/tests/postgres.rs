//! Do statements give PostgreSQL's names, types and rows?
//!
//! Starts a private PostgreSQL 15, makes the same schema there and here, and compares statement by
//! statement. Needs the Debian package postgresql.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use support::Fixture;

/// A PostgreSQL of its own, gone at the end.
struct Postgres {
    dir: tempfile::TempDir,
    bin: PathBuf,
    as_root: bool,
}

impl Postgres {
    fn start() -> Postgres {
        let bin = PathBuf::from("/usr/lib/postgresql/15/bin");
        assert!(
            bin.join("initdb").exists(),
            "this test needs PostgreSQL 15: apt install postgresql"
        );
        let dir =
            tempfile::Builder::new().prefix("onlap-pg").tempdir_in("/tmp").expect("a directory");
        let id = Command::new("id").arg("-u").output().expect("id runs").stdout;
        let server = Postgres { dir, bin, as_root: id.trim_ascii() == b"0" };
        if server.as_root {
            let owned = Command::new("chown").arg("postgres").arg(server.dir.path()).status();
            assert!(owned.expect("chown runs").success(), "the user postgres is missing");
        }
        let data = server.data();
        let made =
            server.run("initdb", &["-D", &data, "--locale=C", "--encoding=UTF8", "-U", "postgres"]);
        assert!(made.status.success(), "{made:?}");
        let options =
            format!("-k {} -c listen_addresses= -c timezone=UTC -c fsync=off", server.path());
        let log = format!("{}/log", server.path());
        // The server keeps the pipes of whoever starts it, so its output goes to a file.
        let arguments = ["-D", &data, "-o", &options, "-l", &log, "-w", "start"];
        assert!(server.command("pg_ctl", &arguments).status().expect("pg_ctl runs").success());
        server
    }

    fn path(&self) -> String {
        self.dir.path().display().to_string()
    }

    fn data(&self) -> String {
        format!("{}/data", self.path())
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let program = self.bin.join(program);
        let mut command = match self.as_root {
            true => {
                let mut command = Command::new("runuser");
                command.args(["-u", "postgres", "--"]).arg(program);
                command
            }
            false => Command::new(program),
        };
        command.args(arguments).current_dir(self.dir.path());
        command
    }

    fn run(&self, program: &str, arguments: &[&str]) -> Output {
        self.command(program, arguments).output().expect("the program runs")
    }

    /// Lines of columns with a tab between them.
    fn lines(&self, statement: &str) -> Vec<Vec<String>> {
        let host = self.path();
        let arguments = [
            "-X",
            "-A",
            "-t",
            "-F",
            "\t",
            "-P",
            "null=NULL",
            "-h",
            &host,
            "-U",
            "postgres",
            "-f",
            "-",
        ];
        let script = self.dir.path().join("script");
        std::fs::write(&script, statement).expect("a script is written");
        let script = Path::new(&script).display().to_string();
        let mut arguments = arguments.to_vec();
        *arguments.last_mut().expect("an argument") = &script;
        let output = self.run("psql", &arguments);
        assert!(
            output.stderr.is_empty(),
            "{statement}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().map(|line| line.split('\t').map(str::to_string).collect()).collect()
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let data = self.data();
        let _ = self.run("pg_ctl", &["-D", &data, "-m", "immediate", "stop"]);
    }
}

#[test]
fn statements_give_what_postgresql_gives() {
    let postgres = Postgres::start();
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    let schema = include_str!("../testdata/catalogs/schema.sql");
    postgres.lines(&format!("SET client_min_messages = warning;\n\\set QUIET on\n{schema}"));
    schema.split_inclusive(';').for_each(|statement| drop(talk.rows(statement)));
    let mut different = Vec::new();
    for statement in include_str!("../testdata/catalogs/same.sql").lines() {
        let columns = postgres.lines(&format!("{statement} \\gdesc"));
        let rows = postgres.lines(&format!("{statement};"));
        let outcome = talk.run(statement);
        if let Some(error) = outcome.error {
            different.push(format!("{statement}\n  {error:?}"));
            continue;
        }
        let mut ours = Vec::new();
        for (column, oid) in outcome.columns {
            let name = talk.rows(&format!("SELECT format_type({oid}, NULL)"));
            ours.push(vec![column, name[0][0].clone().unwrap_or_default()]);
        }
        // Lengths are no part of what is compared.
        let plain = |ty: &str| ty.split('(').next().unwrap_or(ty).to_string();
        let theirs: Vec<Vec<String>> =
            columns.iter().map(|c| vec![c[0].clone(), plain(&c[1])]).collect();
        if ours != theirs {
            different.push(format!("{statement}\n  ours {ours:?}\n  PostgreSQL's {theirs:?}"));
        }
        let value = |v: &Option<String>| v.clone().unwrap_or_else(|| "NULL".into());
        let found: Vec<Vec<String>> =
            outcome.rows.iter().map(|row| row.iter().map(value).collect()).collect();
        if found != rows {
            different.push(format!("{statement}\n  ours {found:?}\n  PostgreSQL's {rows:?}"));
        }
    }
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
}
