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
        let child = command.spawn().expect("the binary was built");
        // From here on it ends with this, whatever fails.
        let mut server = Server { child, port: 0, _dir: dir };
        let out = server.child.stdout.take().expect("it is piped");
        let mut lines = BufReader::new(out).lines();
        let port = lines.by_ref().map_while(Result::ok).find_map(|line| {
            line.trim().strip_prefix("address")?.rsplit(':').next()?.parse::<u16>().ok()
        });
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        server.port = port.expect("it says where it listens");
        server
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
        ("DB1:5652,db1:5652", "t (id int)", "id", "named twice"),
        ("a:1/x,a:1/x", "t (id int)", "id", "named twice"),
        ("a:1/,a:2/x", "t (id int)", "id", "not the name of a database"),
        ("a:1/x\ny,a:2/x", "t (id int)", "id", "not the name of a database"),
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
        (two, "t (id int) -- (why)", "id", "comments behind"),
        (two, "t (id int) /* (why) */", "id", "comments behind"),
        (two, "t (id int);", "id", "nothing behind"),
        (two, "t (id int, b int generated always as (id + 1) stored)", "b", "generated column"),
        (two, "pg_temp.t (id int)", "id", "is the system's"),
        (two, "information_schema.t (id int)", "id", "is the system's"),
        (two, "a.b.c.d (id int)", "id", "name"),
        (two, "t ()", "id", ""),
    ] {
        let out = shards(&["--nodes", nodes, "--table", table, "--key", key]);
        let said = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{nodes} {table} {key}: {said}");
        assert!(said.contains(why) && out.stdout.is_empty(), "{nodes} {table} {key}: {said}");
        assert!(!said.contains("is not supported"), "{said}");
    }
    assert_eq!(shards(&["--nodes", two, "--table", "t (id int)"]).status.code(), Some(2));
    let long = format!("{} (id int)", "t".repeat(62));
    assert_eq!(shards(&["--nodes", two, "--table", &long, "--key", "id"]).status.code(), Some(2));
    let hidden = ["--nodes", two, "--table", "t (id int) -- (why)", "--key", "id", "--not-unique"];
    assert_eq!(shards(&hidden).status.code(), Some(2));
    for (option, bad) in ["--database", "--user"].into_iter().zip(["a\nb", "\u{7}"]) {
        let long = "a".repeat(64);
        for bad in [bad, "", &long] {
            let args = ["--nodes", two, "--table", "t (id int)", "--key", "id", option, bad];
            let out = shards(&args);
            let said = String::from_utf8_lossy(&out.stderr);
            assert_eq!((out.status.code(), out.stdout.len()), (Some(2), 0), "{option} {bad:?}");
            assert!(said.contains("is not the name of"), "{said}");
        }
    }
}

#[test]
fn what_it_writes_names_servers_by_all_that_they_are_made_of() {
    let plan = |nodes: &str, more: &[&str]| {
        let args = ["--nodes", nodes, "--table", "t (id int)", "--key", "id"];
        let out = shards(&args.into_iter().chain(more.iter().copied()).collect::<Vec<_>>());
        assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).expect("texts are UTF-8")
    };
    let six = plan("[::1]:5,h:6", &[]);
    assert!(six.contains("SERVER IF NOT EXISTS \"postgres@[::1]:5/postgres\""), "{six}");
    assert!(six.contains("host '::1'"), "{six}");
    let folder = plan("/Run/a:5,/run/a:5", &["--user", "o'b"]);
    assert!(folder.contains("host '/Run/a'") && folder.contains("host '/run/a'"), "{folder}");
    assert!(folder.contains("\"o'b@/Run/a:5/postgres\"") && folder.contains("(user 'o''b')"));
    // Names of machines may be longer than those of servers.
    let long = format!("{}.svc.cluster.local", "onlap-".repeat(9));
    let named = |text: &str| {
        let names = text.split("SERVER IF NOT EXISTS \"").skip(1);
        names.map(|rest| rest.split('"').next().expect("a name").to_string()).collect::<Vec<_>>()
    };
    let one = plan(&format!("{long}:1,{long}:2"), &[]);
    let other = plan(&format!("{long}:1/other,{long}:2"), &[]);
    let mut names = named(&one);
    names.extend(named(&other));
    assert!(names.iter().all(|name| name.len() <= 63), "{names:?}");
    assert_eq!(names[1], names[3], "the same shard has the same name");
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 3, "{names:?}");
    for node in ["database \"other\"", "database \"postgres\""] {
        assert!(other.contains(&format!("-- On shard {long}:{}", 1)) && other.contains(node));
    }
}

/// Runs a plan's text on the servers and on the coordinator.
fn carry_out(text: &str, servers: &mut [SimpleClient], coordinator: &mut SimpleClient) {
    let written = parts(text);
    let (last, on_shards) = written.split_last().expect("a plan has a coordinator");
    assert_eq!(on_shards.len(), servers.len(), "{text}");
    servers.iter_mut().zip(on_shards).for_each(|(client, part)| drop(all(client, part)));
    all(coordinator, last);
}

#[test]
fn plans_of_several_databases_and_roles_do_not_meet() {
    if !programs::are_there(&NEEDED) {
        return;
    }
    let server = Server::start();
    let mut own = server.client();
    ["one", "two"].iter().for_each(|name| drop(all(&mut own, &format!("create database {name}"))));
    all(&mut own, "create role other_role login; grant create on schema public to other_role");
    let on = |database: &str| SimpleClient::connect(server.port, "postgres", database);
    let mut shards_of = ["one", "two"].map(|name| on(name).expect("it listens"));
    for client in &mut shards_of {
        all(client, "grant create on schema public to other_role");
    }
    let postgres = Postgres::start();
    let connect = |database: &str| SimpleClient::connect(postgres.port(), "postgres", database);
    let mut coordinator = connect("postgres").expect("it listens");
    let nodes = ["one", "two"].map(|name| format!("127.0.0.1:{}/{name}", server.port)).join(",");
    let plan = |nodes: &str, table: &str, more: &[&str]| {
        let args = ["--nodes", nodes, "--table", table, "--key", "id"];
        let out = shards(&args.into_iter().chain(more.iter().copied()).collect::<Vec<_>>());
        assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).expect("texts are UTF-8")
    };
    // Comments at the end of columns hide nothing.
    let words = "words (\n id bigint NOT NULL, -- the key\n note text -- words (of all)\n)";
    carry_out(&plan(&nodes, words, &[]), &mut shards_of, &mut coordinator);
    all(&mut coordinator, "insert into words select i, 'w' from generate_series(1, 100) i");
    let counted = "select count(*) from words";
    let each = shards_of.each_mut().map(|client| all(client, counted)[0].clone());
    let each = each.map(|rows| rows.parse::<u32>().expect("a number"));
    assert!(each.iter().all(|rows| *rows > 20) && each.iter().sum::<u32>() == 100, "{each:?}");
    let keys = "select count(*) from pg_index where indrelid = 'words'::regclass and indisprimary";
    shards_of.iter_mut().for_each(|client| assert_eq!(all(client, keys), ["1"]));
    // The same nodes, other databases and another role: the plan before keeps its own, and this one gets its own.
    let turned = ["two", "one"].map(|name| format!("127.0.0.1:{}/{name}", server.port)).join(",");
    let more = plan(&turned, "more (id int)", &["--user", "other_role"]);
    shards_of.reverse();
    carry_out(&more, &mut shards_of, &mut coordinator);
    for client in &mut shards_of {
        all(client, "grant all on more to other_role");
    }
    all(&mut coordinator, "insert into more select i from generate_series(1, 100) i");
    let split = "select count(*) from more_0";
    let first = all(&mut coordinator, split);
    assert_eq!(all(&mut shards_of[0], "select count(*) from more"), first);
    assert_eq!(all(&mut coordinator, counted), ["100"]);
    let mapped = "select string_agg(distinct option, ',' order by option) from \
                  (select unnest(umoptions) option from pg_user_mappings) o";
    assert_eq!(all(&mut coordinator, mapped), ["user=other_role,user=postgres"]);
    // A coordinator that sorts and compares in another way than the shards do would answer wrongly.
    all(
        &mut coordinator,
        "create database icu template template0 locale_provider icu icu_locale 'en-US' locale 'C'",
    );
    all(&mut coordinator, "create database utf template template0 locale 'C.UTF-8'");
    for database in ["icu", "utf"] {
        let mut client = connect(database).expect("it listens");
        // psql goes on past what fails.
        let states = parts(&more)[2]
            .split(";\n")
            .map(|statement| client.run(statement).expect("it answers").state().to_string());
        let states: Vec<String> = states.collect();
        assert_eq!(states[1], "0A000", "{database}");
        let left = "select (select count(*) from pg_foreign_server) + (select count(*) from pg_class where relname like 'more%')";
        assert_eq!(all(&mut client, left), ["0"], "{database}");
    }
}
