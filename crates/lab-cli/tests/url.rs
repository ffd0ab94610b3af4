//! Does `--url` work with servers that another user runs, and leave them as they were?
//!
//! A PostgreSQL and a MariaDB of the test's own, on loopback. Where the programs are missing, the tests
//! say so and do nothing.

#![allow(clippy::disallowed_methods, reason = "a test of a program has the program's own seams")]

use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use onlap_testkit::postgres::{self, Postgres};
use onlap_testkit::programs;
use serde_json::Value;
use tempfile::TempDir;

const MARIADB: [(&str, &str); 2] = [
    ("/usr/sbin/mariadbd", "apt-get install mariadb-server"),
    ("/usr/bin/mariadb-install-db", "apt-get install mariadb-server"),
];

fn text(out: &Output) -> String {
    let bytes = [&out.stdout[..], &out.stderr[..]].concat();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Runs a small bench against a server.
fn bench(workload: &str, url: &str, more: &[&str]) -> (Output, Value) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let json = dir.path().join("report.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_onlap-lab"));
    command.args(["bench", workload, "--url", url, "--rows", "2k", "--seconds", "0.5"]);
    command.args(more).arg("--dir").arg(dir.path()).arg("--json").arg(&json);
    let out = command.output().expect("it runs");
    let report = std::fs::read(json).unwrap_or_else(|_| b"null".to_vec());
    (out, serde_json::from_slice(&report).expect("JSON"))
}

/// Every workload runs, twice, so that nothing of the first time is in the way of the second.
fn all_workloads_run(url: &str) {
    let steps = "l.i0,l.x,l.i1,settle,c.1,q100.1";
    for _ in 0..2 {
        let (out, report) = bench("ibench", url, &["--steps", steps]);
        assert_eq!(out.status.code(), Some(0), "{}", text(&out));
        let run = &report["runs"][0];
        assert_eq!((&run["engine"], &run["failure"]), (&Value::from("url"), &Value::Null));
        assert!(run["answers"]["rows"].as_i64() >= Some(100), "{run}");
        assert!(run["steps"][2]["client_cpu_us_per_insert"].as_f64() > Some(0.0), "{run}");
        assert!(run["config"][0].as_str().is_some_and(|c| c.contains("somebody else")), "{run}");
        for workload in ["six", "linkbench", "sysbench", "tsbs"] {
            let (out, report) = bench(workload, url, &["--commit-rows", "100"]);
            assert_eq!(out.status.code(), Some(0), "{workload}: {}", text(&out));
            assert_eq!(report["runs"][0]["failure"], Value::Null, "{workload}");
        }
    }
}

#[test]
fn somebody_elses_postgresql_is_measured() {
    if !programs::are_there(&postgres::NEEDED) {
        return;
    }
    let server = Postgres::start();
    let url = format!("postgres://postgres@127.0.0.1:{}/postgres", server.port());
    all_workloads_run(&url);
    let tables = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace";
    let left = server.psql().args(["-At", "-c", tables]).output().expect("psql is installed");
    assert_eq!(text(&left).trim(), "0");
    // A table that is there already is the user's.
    let made = server.psql().args(["-c", "CREATE TABLE purchases (a int)"]).output();
    assert!(made.is_ok_and(|out| out.status.success()));
    let (out, _) = bench("ibench", &url, &["--steps", "l.i0"]);
    assert_ne!(out.status.code(), Some(0));
    assert!(text(&out).contains("purchases"), "{}", text(&out));
    let kept = server.psql().args(["-At", "-c", "SELECT count(*) FROM purchases"]).output();
    assert_eq!(text(&kept.expect("psql is installed")).trim(), "0");
}

#[test]
fn somebody_elses_mariadb_is_measured() {
    if !programs::are_there(&MARIADB) {
        return;
    }
    let server = MariaDb::start();
    let url = format!("mysql://lab:secret@127.0.0.1:{}/lab", server.port);
    all_workloads_run(&url);
    let tables = std::fs::read_dir(server.dir.path().join("data/lab")).expect("its database");
    let names = tables.flatten().map(|e| e.file_name().to_string_lossy().into_owned());
    assert_eq!(names.filter(|n| n != "db.opt").collect::<Vec<_>>(), Vec::<String>::new());
    let (out, _) = bench("ibench", &url.replace("secret", "wrong"), &["--steps", "l.i0"]);
    assert!(text(&out).contains("Access denied"), "{}", text(&out));
}

#[test]
fn a_url_that_leads_nowhere_is_an_error_before_the_run() {
    for (url, hint) in [
        ("postgres://postgres@127.0.0.1:1/postgres", "refused"),
        ("mysql://root@127.0.0.1:1/test", "refused"),
        ("http://127.0.0.1/", "postgres:// or mysql://"),
    ] {
        let (out, _) = bench("ibench", url, &[]);
        assert_ne!(out.status.code(), Some(0), "{url}");
        assert!(text(&out).contains(hint), "{url}: {}", text(&out));
    }
}

/// With a database and a user `lab`; killed when dropped.
struct MariaDb {
    dir: TempDir,
    port: u16,
    child: Child,
}

impl MariaDb {
    fn start() -> MariaDb {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let everyone = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(dir.path(), everyone).expect("it is ours");
        let is_root = std::fs::metadata("/proc/self").is_ok_and(|of| of.uid() == 0);
        let user = is_root.then_some("--user=mysql");
        let data = format!("--datadir={}", dir.path().join("data").display());
        let mut install = Command::new(MARIADB[1].0);
        install.args(["--no-defaults", "--skip-name-resolve", "--innodb-log-file-size=10M"]);
        install.args(["--auth-root-authentication-method=normal", &data]).args(user);
        // Servers remove the temporary tables that they find when they start, also those of others.
        let out =
            install.current_dir("/").env("TMPDIR", dir.path()).output().expect("it is installed");
        assert!(out.status.success(), "{}", text(&out));
        let begin = dir.path().join("begin.sql");
        let statements = "CREATE DATABASE lab;\n\
                          CREATE USER lab@'127.0.0.1' IDENTIFIED BY 'secret';\n\
                          GRANT ALL ON lab.* TO lab@'127.0.0.1';\n";
        std::fs::write(&begin, statements).expect("it is ours");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let mut command = Command::new(MARIADB[0].0);
        command.args(["--no-defaults", "--skip-name-resolve", &data]).args(user);
        command.args(["--bind-address=127.0.0.1", &format!("--port={port}")]);
        command.arg(format!("--init-file={}", begin.display()));
        command.arg(format!("--socket={}", dir.path().join("s").display()));
        command.arg(format!("--pid-file={}", dir.path().join("pid").display()));
        command.args(["--innodb-buffer-pool-size=32M", "--innodb-log-file-size=10M"]);
        command
            .current_dir("/")
            .env("TMPDIR", dir.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = command.spawn().expect("it is installed");
        let server = MariaDb { dir, port, child };
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(began.elapsed() < Duration::from_secs(60), "it does not listen");
            std::thread::sleep(Duration::from_millis(50));
        }
        server
    }
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
