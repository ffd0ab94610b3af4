//! psql 15: describe commands, scripts with errors, `\copy`, Ctrl-C.

use std::io::Write as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::postgres;
use crate::support::server::Onlap;
use crate::support::{Address, are_there, assert_same, both, script};

/// What a script prints, errors among the answers.
fn printed(address: Address, file: &str, database: &str) -> String {
    address.sql("postgres", &format!("create database {database}"));
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = script(&format!("psql/{file}"));
    // One pipe for both, so that errors stand where they happened.
    let mut psql = address.command("bash", database);
    psql.args(["-c", "exec psql -X -a -f \"$0\" 2>&1", &path]).current_dir(folder.path());
    let output = psql.output().expect("psql starts");
    plain(&both(&output).replace(&path, "script"))
}

/// Without what is allowed to differ: places in the server's source, hints, details of syntax errors, and
/// the line of a statement that an error points at.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut marked = false;
    for line in text.lines() {
        let allowed = [
            "LOCATION:",
            "HINT:",
            "LINE ",
            "CONTEXT:",
            "DETAIL:  Expected:",
            "DETAIL:  Failing row",
        ];
        let allowed = allowed.iter().any(|begin| line.starts_with(begin));
        // The second line of a mark is blanks and a caret.
        let caret = marked && line.trim() == "^";
        marked = line.starts_with("LINE ");
        if !allowed && !caret {
            out.push_str(line.trim_end());
            out.push('\n');
        }
    }
    out
}

fn same(file: &str, database: &str) {
    if !are_there(&[]) {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (onlap, postgres) = (Onlap::start(dir.path()), postgres::shared());
    let theirs = printed(postgres.address, file, database);
    assert_same(file, &printed(onlap.address, file, database), &theirs);
}

#[test]
fn describe_commands_print_what_postgresql_prints() {
    same("describe.sql", "described");
}

#[test]
fn scripts_and_copies_print_what_postgresql_prints() {
    same("talk.sql", "talked");
}

#[test]
fn an_interrupt_cancels_the_statement_alone() {
    if !are_there(&[]) {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let onlap = Onlap::start(dir.path());
    let mut psql = onlap
        .address
        .command("psql", "postgres")
        .args(["-X", "-A", "-t", "-v", "VERBOSITY=sqlstate", "-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("psql starts");
    let mut input = psql.stdin.take().expect("piped");
    let long = "create table n as select g as a from generate_series(1, 1000) g;\n\
        select count(*) from n a, n b, n c, n d where a.a + b.a + c.a <> d.a;\n\
        select 'still here';\n";
    input.write_all(long.as_bytes()).expect("psql reads");
    drop(input);
    let running = "select count(*) from pg_stat_activity where state = 'active' \
        and query like 'select count(*) from n a%'";
    let begun = Instant::now();
    while onlap.address.sql("postgres", running) != "1" {
        assert!(begun.elapsed() < Duration::from_secs(120), "the statement does not begin");
        std::thread::sleep(Duration::from_millis(50));
    }
    let id = rustix::process::Pid::from_child(&psql);
    rustix::process::kill_process(id, rustix::process::Signal::INT).expect("psql runs");
    let output = psql.wait_with_output().expect("psql ends");
    let said = both(&output);
    assert!(said.contains("57014"), "{said}");
    // psql gives up a script that is interrupted; the server goes on.
    assert_eq!(onlap.address.sql("postgres", "select count(*) from n"), "1000");
}
