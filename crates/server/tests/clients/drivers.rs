//! Drivers of Python, Java, JavaScript and Rust: each runs one program here and at PostgreSQL.

use std::path::PathBuf;

use crate::support::postgres::Postgres;
use crate::support::server::Onlap;
use crate::support::{Address, assert_same, run, script};

/// Runs a program against both, in a database of its own, and compares what it prints.
fn same(database: &str, program: impl Fn(Address) -> String) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (onlap, postgres) = (Onlap::start(dir.path()), Postgres::shared());
    for address in [onlap.address, postgres.address] {
        address.sql("postgres", &format!("create database {database}"));
    }
    let theirs = program(postgres.address);
    assert!(theirs.lines().count() > 10, "the program says little: {theirs}");
    assert_same(database, &program(onlap.address), &theirs);
}

/// Whether a module of the system's Python is there.
fn must_have_module(name: &str, package: &str) {
    let python = crate::support::installed("python3", "python3");
    let mut command = std::process::Command::new(python);
    let output = command.args(["-c", &format!("import {name}")]).output().expect("python3 starts");
    assert!(output.status.success(), "{name} is missing: apt-get install {package}");
}

#[test]
fn psycopg2() {
    must_have_module("psycopg2", "python3-psycopg2");
    same("psycopg2", |address| {
        let mut python = address.command("python3", "python3", "psycopg2");
        run(python.arg(script("python/psycopg2_client.py")))
    });
}

#[test]
fn psycopg3() {
    must_have_module("psycopg", "python3-psycopg");
    same("psycopg3", |address| {
        let mut python = address.command("python3", "python3", "psycopg3");
        run(python.arg(script("python/psycopg3_client.py")))
    });
}

#[test]
fn pgjdbc() {
    let jar = "/usr/share/java/postgresql.jar";
    let there = std::path::Path::new(jar).exists();
    assert!(there, "pgjdbc is missing: apt-get install libpostgresql-jdbc-java");
    same("pgjdbc", |address| {
        let mut java = address.command("java", "openjdk-17-jdk-headless", "pgjdbc");
        let url = format!("jdbc:postgresql://127.0.0.1:{}/pgjdbc", address.port);
        // Short programs gain nothing from the second compiler.
        java.args(["-XX:TieredStopAtLevel=1", "-Duser.timezone=UTC", "-cp", jar]);
        run(java.args([script("java/Client.java"), url]))
    });
}

/// Where `.ci/run` installs what Debian has no package of, or one that not every Node.js can use.
fn cache() -> PathBuf {
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let target = target.parent().expect("a folder of the target directory");
    target.join("clients")
}

#[test]
fn node_postgres() {
    let modules = cache().join("node/node_modules");
    let there = modules.join("pg").exists();
    assert!(there, "node-postgres is missing in {}: run .ci/clients", modules.display());
    same("node", |address| {
        let mut node = address.command("node", "nodejs", "node");
        run(node.env("NODE_PATH", &modules).arg(script("node/client.js")))
    });
}

#[test]
fn tokio_postgres() {
    // A workspace of its own, so that its features do not become those of the planner.
    let mut cargo = std::process::Command::new(env!("CARGO"));
    let manifest = script("tokio/Cargo.toml");
    cargo.args(["build", "-q", "--locked", "--manifest-path", &manifest]);
    run(cargo.env("CARGO_TARGET_DIR", cache().join("tokio")));
    let program = cache().join("tokio/debug/tokio-client");
    same("tokio", |address| {
        let url = format!("host=127.0.0.1 port={} user=postgres dbname=tokio", address.port);
        run(std::process::Command::new(&program).arg(url))
    });
}
