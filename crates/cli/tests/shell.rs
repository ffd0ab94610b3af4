//! Does the shell have psql's commands, and does what is in a database never act on a terminal or on who reads the output?

#![allow(clippy::disallowed_methods, reason = "a test of a program has the program's own seams")]

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use onlap_testkit::programs;
use serde_json::Value;

const ONLAP: &str = env!("CARGO_BIN_EXE_onlap");

/// What the shell prints, and what on standard error; whether it ended well.
fn run(dir: &Path, flags: &[&str], text: &str) -> (String, String, bool) {
    let mut child = Command::new(ONLAP)
        .arg("shell")
        .args(flags)
        .arg(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built");
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
    let out = child.wait_with_output().expect("it ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("texts are UTF-8");
    (text(out.stdout), text(out.stderr), out.status.success())
}

fn shell(dir: &Path, flags: &[&str], text: &str) -> String {
    let (out, told, good) = run(dir, flags, text);
    assert!(good, "{text}\n{told}");
    out
}

/// The commands that psql lists about what is in a database, each with its letters.
fn commands_of_psql() -> Vec<String> {
    let out = Command::new("psql").arg("--help=commands").output().expect("psql is there");
    let text = String::from_utf8(out.stdout).expect("it speaks UTF-8");
    let first = text.lines().skip_while(|line| !line.starts_with("Informational"));
    let lines = first.skip(1).take_while(|line| !line.is_empty());
    let mut all = Vec::new();
    for word in lines.filter_map(|line| line.trim_start().strip_prefix('\\')) {
        let command = word.split_whitespace().next().expect("a word");
        let (base, letters) = match command.split_once('[') {
            Some((base, letters)) => (base, letters.replace(['[', ']'], "")),
            None => (command, String::new()),
        };
        all.push(base.to_string());
        all.extend(letters.chars().map(|letter| format!("{base}{letter}")));
    }
    all
}

const OBJECTS: &str = "
    create table customer (id int primary key, name text not null check (name <> ''), up int references customer);
    create index by_name on customer (name);
    create view debtor as select id from customer where id < 0;
    create materialized view kept as select 1 as a;
    create sequence ticket;
    create type mood as enum ('sad', 'glad');
    create domain positive as int check (value > 0);
    create function twice(a int) returns int language sql as 'select a * 2';
    create function noted() returns trigger language plpgsql as 'begin return new; end';
    create trigger noting before insert on customer for each row execute function noted();
    create table days (day date) partition by range (day);
    create table days_2024 partition of days for values from ('2024-01-01') to ('2025-01-01');
    create policy mine on customer for select using (id > 0);
    create rule quiet as on delete to days do instead nothing;
    create extension pg_trgm;
    comment on table customer is 'who buys';
";

#[test]
fn every_list_of_psql_is_one_here() {
    if !programs::are_there(&[("psql", "postgresql-client")]) {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    shell(dir.path(), &[], OBJECTS);
    let commands = commands_of_psql();
    assert!(commands.len() > 80, "{commands:?}");
    let mut script = String::new();
    for command in &commands {
        let name = match command.trim_end_matches('+') {
            "sf" => " twice",
            "sv" => " debtor",
            _ => "",
        };
        script += &format!(
            "\\{command}{name}\n\\{command} {}\n",
            if name.is_empty() { "c*" } else { name }
        );
    }
    shell(dir.path(), &[], &script);
}

#[test]
fn lists_have_what_there_is() {
    let dir = tempfile::tempdir().expect("a directory");
    shell(dir.path(), &[], OBJECTS);
    let has = |command: &str, wanted: &[&str], not: &[&str]| {
        let out = shell(dir.path(), &[], command);
        for text in wanted {
            assert!(out.contains(text), "{command} lacks {text}:\n{out}");
        }
        for text in not {
            assert!(!out.contains(text), "{command} has {text}:\n{out}");
        }
    };
    has(
        "\\d",
        &["customer\ttable", "debtor\tview", "ticket\tsequence", "days\tpartitioned"],
        &["by_name"],
    );
    has("\\dt", &["customer", "days_2024"], &["debtor", "pg_class"]);
    has("\\dtS pg_cl*", &["pg_class"], &["customer"]);
    has("\\dt+ customer", &["who buys"], &["days"]);
    has("\\dt CUST*", &["customer"], &["days"]);
    has("\\dt public.*", &["customer"], &["pg_class"]);
    has("\\di", &["by_name", "customer_pkey"], &[]);
    has("\\dm", &["kept"], &["debtor"]);
    has("\\dT mood", &["mood", "{sad,glad}"], &[]);
    has("\\dD", &["positive", "CHECK ((VALUE > 0))"], &[]);
    has("\\df", &["twice", "noted", "trigger"], &["abs"]);
    has("\\dfn", &["twice"], &["noted"]);
    has("\\dft", &["noted"], &["twice"]);
    has("\\df+ twice", &["volatile", "sql"], &[]);
    has("\\do <->", &["<->"], &[]);
    has("\\dx", &["pg_trgm", "plpgsql"], &[]);
    has("\\dp customer", &["mine"], &[]);
    has("\\dPt", &["days"], &["customer"]);
    has("\\dconfig max_conn*", &["max_connections\t"], &["work_mem"]);
    has("\\sf twice", &["CREATE OR REPLACE FUNCTION public.twice"], &[]);
    has("\\sv debtor", &["SELECT customer.id"], &[]);
    has(
        "\\d customer",
        &[
            "name\ttext\t",
            "not null",
            "customer_up_fkey",
            "by_name",
            "CHECK",
            "noting",
            "mine\tSELECT",
        ],
        &["Child"],
    );
    has("\\d days", &["RANGE (day)", "days_2024\tFOR VALUES FROM", "quiet"], &[]);
    has("\\d days_2024", &["days\tFOR VALUES"], &[]);
    has("\\d ticket", &["bigint"], &[]);
    has("\\d by_name", &["customer\tCREATE INDEX by_name"], &[]);
    let (_, told, good) = run(dir.path(), &[], "\\d absent\n");
    assert!(!good && told.contains("42P01"), "{told}");
}

/// Names and values that would be markup, ends of data, or commands of a terminal.
const HOSTILE: &str = "<script>\"x\"'; --\u{1b}[2J\t,\\.";

#[test]
fn hostile_names_and_values_come_as_they_are() {
    let dir = tempfile::tempdir().expect("a directory");
    let quoted = format!("\"{}\"", HOSTILE.replace('"', "\"\""));
    let value = format!("'{}'", HOSTILE.replace('\'', "''"));
    let rows =
        format!("({value}, 1), ('\\.', 2), ('', 3), (null, 4), (e'two\\nlines', 5), (' \" , ', 6)");
    shell(
        dir.path(),
        &[],
        &format!(
            "create table {quoted} ({quoted} text, n int); insert into {quoted} values {rows};"
        ),
    );
    let select = format!("select * from {quoted} order by n;");
    let json = shell(dir.path(), &["--json"], &select);
    let parsed: Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!(parsed[0][HOSTILE], HOSTILE);
    assert_eq!((&parsed[2][HOSTILE], &parsed[3][HOSTILE]), (&Value::from(""), &Value::Null));
    // CSV is what COPY reads.
    let csv = shell(dir.path(), &["--csv"], &select);
    let file = dir.path().with_extension("it's, 100 %.csv");
    std::fs::write(&file, &csv).expect("it is written");
    let path = file.display().to_string().replace('\'', "''");
    let back = format!(
        "create table again ({quoted} text, n int);\n\\copy again from '{path}' csv header\n"
    );
    shell(dir.path(), &[], &back);
    let differ = format!(
        "select count(*) from ((select * from again except select * from {quoted}) union all (select * from {quoted} except select * from again)) d; select count(*) from again;"
    );
    assert_eq!(shell(dir.path(), &[], &differ), "0\n6\n");
    // Out and in by `\copy` as well.
    shell(
        dir.path(),
        &[],
        &format!("\\copy {quoted} to '{path}'\ndelete from again;\n\\copy again from '{path}'\n"),
    );
    assert_eq!(shell(dir.path(), &[], &differ), "0\n6\n");
    std::fs::remove_file(&file).expect("it was there");
    // A name that is none is told without its control characters.
    let (_, told, good) = run(dir.path(), &[], &format!("select {quoted} from pg_class;"));
    assert!(!good && told.contains("<script>") && !told.contains('\u{1b}'), "{told}");
    for command in [
        "\\d",
        "\\dt",
        "\\ledger",
        "\\advise",
        &format!("\\d {quoted}"),
        &format!("\\ledger --json {HOSTILE}"),
    ] {
        shell(dir.path(), &[], &format!("{command}\n"));
    }
    let (_, told, good) = run(dir.path(), &[], "\\copy again from '/no/such/file'\n");
    assert!(!good && told.contains("/no/such/file"), "{told}");
}

#[test]
fn a_busy_directory_names_its_owner() {
    let dir = tempfile::tempdir().expect("a directory");
    shell(dir.path(), &[], "create table t (a int);");
    let mut first = Command::new(ONLAP)
        .args(["shell", "-c", "select 1; select pg_sleep(60)"])
        .arg(dir.path())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary was built");
    let mut begun = [0; 2];
    first.stdout.as_mut().expect("a pipe").read_exact(&mut begun).expect("it answers");
    let (_, told, good) = run(dir.path(), &[], "select 1;");
    let pid = first.id().to_string();
    first.kill().expect("it runs");
    first.wait().expect("it ends");
    assert!(!good && told.contains(&pid), "{told}");
}

/// The shell at a terminal that `script` makes, with what it has shown.
struct Terminal {
    child: Child,
    pieces: mpsc::Receiver<Vec<u8>>,
    shown: String,
}

impl Terminal {
    fn start(dir: &Path) -> Terminal {
        let command = format!("{ONLAP} shell {}", dir.display());
        let mut child = Command::new("script")
            .args(["-qfec", &command, "/dev/null"])
            .env("HOME", dir)
            .env("TERM", "xterm")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("script is there");
        let mut out = child.stdout.take().expect("a pipe");
        let (send, pieces) = mpsc::channel();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(n @ 1..) = out.read(&mut piece) {
                if send.send(piece[..n].to_vec()).is_err() {
                    break;
                }
            }
        });
        Terminal { child, pieces, shown: String::new() }
    }

    /// Waits until something is shown that was not before the last keys.
    fn sees(&mut self, text: &str) {
        let end = Instant::now() + Duration::from_secs(60);
        while !self.shown.contains(text) {
            let left = end.saturating_duration_since(Instant::now());
            match self.pieces.recv_timeout(left) {
                Ok(piece) => self.shown.push_str(&String::from_utf8_lossy(&piece)),
                Err(_) => panic!("no {text:?} in {:?}", self.shown),
            }
        }
    }

    fn types(&mut self, keys: &str) {
        self.shown.clear();
        self.child.stdin.as_mut().expect("a pipe").write_all(keys.as_bytes()).expect("it reads");
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn at_a_terminal_names_are_completed_and_long_work_is_told() {
    if !programs::are_there(&[("script", "bsdutils")]) {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let mut terminal = Terminal::start(dir.path());
    terminal.sees("onlap> ");
    terminal.types("create table flights_of_2019 (tail_number text);\n");
    terminal.sees("CREATE TABLE");
    terminal.sees("onlap> ");
    // The Tab key knows what has just come.
    terminal.types("insert into flights_o\t values ('N14228'), (e'\\x1b[2J');\n");
    terminal.sees("INSERT 0 2");
    terminal.sees("onlap> ");
    terminal.types("select tail_n\t from flights_o\t order by 1 desc;\n");
    terminal.sees("N14228");
    terminal.sees("(2 rows)");
    assert!(!terminal.shown.contains("\u{1b}[2J"), "{:?}", terminal.shown);
    terminal.sees("onlap> ");
    terminal.types("\\d flights_o\t\n");
    terminal.sees("tail_number");
    terminal.sees("(1 row)");
    terminal.sees("onlap> ");
    assert!(!terminal.shown.contains("(0 rows)"), "{:?}", terminal.shown);
    // A statement that takes long says so, and its line goes.
    terminal.types("select pg_sleep(2.5);\n");
    terminal.sees("2 s; Ctrl-C cancels");
    terminal.sees("(1 row)");
    terminal.sees("onlap> ");
    terminal.types("\\q\n");
    let end = Instant::now() + Duration::from_secs(60);
    while terminal.child.try_wait().expect("it is ours").is_none() {
        assert!(Instant::now() < end, "it does not end: {:?}", terminal.shown);
        std::thread::sleep(Duration::from_millis(20));
    }
    let history = std::fs::read_to_string(dir.path().join(".onlap_history"));
    assert!(history.expect("it is kept").contains("pg_sleep(2.5)"));
}
