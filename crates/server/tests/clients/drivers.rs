//! Drivers of Python, Java, JavaScript and Rust: each runs one program here and at PostgreSQL.

use std::path::PathBuf;

use crate::support::postgres;
use crate::support::server::Onlap;
use crate::support::{Address, are_there, assert_same, run, script};

/// Runs a program against both, in a database of its own, and compares what it prints.
fn same(database: &str, program: impl Fn(Address) -> String) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (onlap, postgres) = (Onlap::start(dir.path()), postgres::shared());
    for address in [onlap.address, postgres.address] {
        address.sql("postgres", &format!("create database {database}"));
    }
    let theirs = program(postgres.address);
    assert!(theirs.lines().count() > 10, "the program says little: {theirs}");
    assert_same(database, &program(onlap.address), &theirs);
}

/// Runs a script of Python that needs a module of the system's Python.
fn same_python(module: &str, package: &str, database: &str, file: &str) {
    let module = format!("/usr/lib/python3/dist-packages/{module}");
    let install = format!("apt-get install {package}");
    if are_there(&[("python3", "apt-get install python3"), (&module, &install)]) {
        same(database, |address| run(address.command("python3", database).arg(script(file))));
    }
}

#[test]
fn psycopg2() {
    same_python("psycopg2", "python3-psycopg2", "psycopg2", "python/psycopg2_client.py");
}

#[test]
fn psycopg3() {
    same_python("psycopg", "python3-psycopg", "psycopg3", "python/psycopg3_client.py");
}

#[test]
fn pgjdbc() {
    let jar = "/usr/share/java/postgresql.jar";
    let needed = [
        ("java", "apt-get install openjdk-17-jdk-headless"),
        (jar, "apt-get install libpostgresql-jdbc-java"),
    ];
    if !are_there(&needed) {
        return;
    }
    same("pgjdbc", |address| {
        let mut java = address.command("java", "pgjdbc");
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
    let pg = modules.join("pg").display().to_string();
    if !are_there(&[("node", "apt-get install nodejs"), (&pg, "run .ci/clients")]) {
        return;
    }
    same("node", |address| {
        let mut node = address.command("node", "node");
        run(node.env("NODE_PATH", &modules).arg(script("node/client.js")))
    });
}

#[test]
fn duckdb() {
    let python = cache().join("duckdb/bin/python").display().to_string();
    if are_there(&[(&python, "run .ci/clients")]) {
        same("duckdb", |address| {
            run(address.command(&python, "duckdb").arg(script("python/duckdb_client.py")))
        });
    }
}

#[test]
fn tokio_postgres() {
    if !are_there(&[]) {
        return;
    }
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
