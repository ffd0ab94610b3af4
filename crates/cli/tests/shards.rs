//! Does what `onlap shards plan` writes divide a table, and does it refuse what it cannot divide?

#![cfg(feature = "server")]
#![allow(clippy::disallowed_methods, reason = "a test of a program has the program's own seams")]

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Output, Stdio};

use onlap_testkit::postgres::{NEEDED, Postgres};
use onlap_testkit::programs;
use onlap_testkit::simple::SimpleClient;

/// A server of its own, that ends with its test.
struct Server {
    child: Child,
    port: u16,
    _dir: tempfile::TempDir,
}

impl Server {
    fn start() -> Server {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut command = Command::new(env!("CARGO_BIN_EXE_onlap"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--memory-limit", "64MiB", "--dir"]);
        command.arg(dir.path().join("db")).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the binary was built");
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let port = lines.by_ref().map_while(Result::ok).find_map(|line| {
            line.trim().strip_prefix("address")?.rsplit(':').next()?.parse::<u16>().ok()
        });
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Server { child, port: port.expect("it says where it listens"), _dir: dir }
    }

    fn client(&self) -> SimpleClient {
        SimpleClient::connect(self.port, "postgres", "postgres").expect("it listens")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn shards(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_onlap"));
    command.args(["shards", "plan"]).args(args).output().expect("the binary was built")
}

/// Runs statements that must all be carried out, and gives the first column of the last one's rows.
fn all(client: &mut SimpleClient, sql: &str) -> Vec<String> {
    let outcome = client.run(sql).expect("it answers");
    assert_eq!(outcome.error, None, "{sql}");
    outcome.rows.into_iter().map(|row| row[0].clone().unwrap_or_default()).collect()
}

/// The parts of a plan as text, each with the comment above it.
fn parts(text: &str) -> Vec<&str> {
    text.split("\n\n").filter(|part| part.contains(';')).collect()
}

const TABLE: &str = r#"sales."Order lines" (id bigint NOT NULL, line int, name varchar(20) DEFAULT 'no'')name', price numeric(9,2) CHECK (price > 0), "at" timestamptz)"#;

#[test]
fn what_it_writes_divides_a_table() {
    if !programs::are_there(&NEEDED) {
        return;
    }
    let servers = [Server::start(), Server::start()];
    let nodes = servers.iter().map(|server| format!("127.0.0.1:{}", server.port));
    let nodes = nodes.collect::<Vec<_>>().join(",");
    let args = ["--nodes", &nodes, "--table", TABLE, "--key", "id,line"];
    let out = shards(&args);
    assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8(out.stdout).expect("texts are UTF-8");
    let postgres = Postgres::start();
    let coordinator = SimpleClient::connect(postgres.port(), "postgres", "postgres");
    let mut coordinator = coordinator.expect("it listens");
    let written = parts(&text);
    let [first, second, last] = written[..] else { panic!("{text}") };
    for (server, part) in servers.iter().zip([first, second]) {
        assert!(part.contains(&format!("127.0.0.1:{}", server.port)), "{part}");
        all(&mut server.client(), part);
    }
    all(&mut coordinator, last);
    let table = "sales.\"Order lines\"";
    all(
        &mut coordinator,
        &format!(
            "insert into {table} (id, line, price) select i, i % 3, i from generate_series(1, 1000) i"
        ),
    );
    let counted = format!("select count(*) || ' ' || sum(price) || ' ' || min(name) from {table}");
    assert_eq!(all(&mut coordinator, &counted), ["1000 500500.00 no')name"]);
    let each = servers.iter().map(|server| {
        let rows = all(&mut server.client(), &format!("select count(*) from {table}"));
        rows[0].parse::<u32>().expect("a number")
    });
    let each: Vec<u32> = each.collect();
    assert!(each.iter().all(|rows| *rows > 300) && each.iter().sum::<u32>() == 1000, "{each:?}");
    let twice = coordinator.run(&format!("insert into {table} (id, line) values (7, 1)"));
    assert_eq!(twice.expect("it answers").state(), "23505");
    let bad = coordinator.run(&format!("insert into {table} (id, line, price) values (0, 1, -7)"));
    assert_eq!(bad.expect("it answers").state(), "23514");
    // Another table, on the same servers, whose keys repeat.
    let more = [
        "--nodes",
        &nodes,
        "--table",
        "notes (id int, note text)",
        "--key",
        "id",
        "--not-unique",
        "--json",
    ];
    let out = shards(&more);
    let plan: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    let texts = |sql: &serde_json::Value| -> Vec<String> {
        let all = sql.as_array().expect("statements").iter();
        all.map(|one| one.as_str().expect("a text").to_string()).collect()
    };
    for (server, shard) in servers.iter().zip(plan["shards"].as_array().expect("shards")) {
        assert_eq!(shard["node"], format!("127.0.0.1:{}", server.port));
        texts(&shard["sql"]).iter().for_each(|sql| drop(all(&mut server.client(), sql)));
    }
    texts(&plan["coordinator"]).iter().for_each(|sql| drop(all(&mut coordinator, sql)));
    all(&mut coordinator, "insert into notes values (1, 'a'), (1, 'a'), (2, 'b'), (3, 'c')");
    assert_eq!(all(&mut coordinator, "select count(*) from notes"), ["4"]);
}

#[test]
fn what_cannot_be_divided_is_refused() {
    let two = "a:1,b:2";
    for (nodes, table, key, why) in [
        ("a:1", "t (id int)", "id", "2 to 1000 shards"),
        ("a:1,a:1", "t (id int)", "id", "named twice"),
        ("a:1,b", "t (id int)", "id", "host:port"),
        ("a:1,b:0", "t (id int)", "id", "host:port"),
        ("a:1,b:70000", "t (id int)", "id", "host:port"),
        ("a:1,::1:5", "t (id int)", "id", "host:port"),
        ("a:1,", "t (id int)", "id", "host:port"),
        (two, "t (id int", "id", "syntax error"),
        (two, "t", "id", "syntax error"),
        (two, "t (id int); drop table u", "id", "one table"),
        (two, "t as select 1", "id", "name and columns"),
        (two, "t (id int) partition by hash (id)", "id", "name and columns"),
        (two, "t (id int) with (fillfactor = 70)", "id", "name and columns"),
        (two, "t (like u)", "id", "LIKE"),
        (two, "t (id int primary key)", "id", "cannot be kept over shards"),
        (two, "t (id int, unique (id))", "id", "cannot be kept over shards"),
        (two, "t (id int references u)", "id", "cannot be kept over shards"),
        (two, "t (id bigserial)", "id", "count by itself"),
        (two, "t (id int generated always as identity)", "id", "count by itself"),
        (two, "t (id int)", "no", "column \"no\""),
        (two, "t (id int)", "id,id", "named twice"),
        (two, "t (id int -- the key\n)", "id", "comment"),
        (two, "t (id int) -- (why)", "id", "comment"),
        (two, "a.b.c.d (id int)", "id", "name"),
        (two, "t ()", "id", ""),
    ] {
        let out = shards(&["--nodes", nodes, "--table", table, "--key", key]);
        let said = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{nodes} {table} {key}: {said}");
        assert!(said.contains(why) && out.stdout.is_empty(), "{nodes} {table} {key}: {said}");
    }
    assert_eq!(shards(&["--nodes", two, "--table", "t (id int)"]).status.code(), Some(2));
    let long = format!("{} (id int)", "t".repeat(62));
    assert_eq!(shards(&["--nodes", two, "--table", &long, "--key", "id"]).status.code(), Some(2));
    let hidden = ["--nodes", two, "--table", "t (id int) -- (why)", "--key", "id", "--not-unique"];
    assert_eq!(shards(&hidden).status.code(), Some(2));
    let line = ["--nodes", two, "--table", "t (id int)", "--key", "id", "--database", "a\nb"];
    let text = String::from_utf8(shards(&line).stdout).expect("texts are UTF-8");
    assert!(text.contains(r#"-- On shard a:1, database "a\nb":"#), "{text}");
    let six = shards(&["--nodes", "[::1]:5,h:6", "--table", "t (id int)", "--key", "id"]);
    let text = String::from_utf8_lossy(&six.stdout);
    assert!(
        text.contains("SERVER IF NOT EXISTS \"[::1]:5\"") && text.contains("host '::1'"),
        "{text}"
    );
}
