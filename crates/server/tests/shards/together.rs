//! What clients do at the same time, what is copied, and what is ended.

use std::time::{Duration, Instant};

use onlap_testkit::simple::SimpleClient;

use crate::worlds::{WORLDS, Worlds, all, told};

const OPTIONS: &str = "async_capable 'true', fetch_size '100', batch_size '50'";

/// Fails unless two answers are the same.
fn same(what: &str, ours: &str, theirs: &str) {
    assert!(ours == theirs, "{what}\n  ours   {ours}\n  theirs {theirs}");
}

#[test]
fn rows_are_copied_and_imported_as_with_shards_of_postgresql() {
    let Some(worlds) = Worlds::start(OPTIONS) else { return };
    let mut clients = worlds.clients("");
    let rows: String = (0..500).map(|i| format!("{i}\tname {i}\t{}\n", i * 2)).collect();
    let wrong = "5000\ta\t1\n5001\tb\t-1\n5002\tc\t1\n";
    let twice = "6000\ta\t1\n7\tb\t1\n";
    for (statement, data) in [
        ("copy ev (id, name, n) from stdin", rows.as_str()),
        ("copy ev (id, name, n) from stdin", twice),
        ("copy ev (id, name, n) from stdin", "8000\ta\tx\n"),
        ("copy (select * from ev where id < 20 order by id) to stdout", ""),
        ("copy (select count(*), sum(n), max(name) from ev) to stdout csv", ""),
        ("copy kinds from stdin csv", "1,a,1\n2,b,2\n3,zz,3\n"),
        ("copy kinds from stdin csv", "1,a,1\n2,b,2\n3,c,3\n"),
        ("copy ev (id, name, n) from stdin where id % 2 = 0", "9000\ta\t1\n9001\tb\t1\n"),
        ("select * from kinds order by id", ""),
        ("select id, n from ev where id > 3000 order by id", ""),
        ("copy ev (id, name, n) from stdin", wrong),
        ("select count(*) from ev", ""),
    ] {
        let [ours, theirs, plain] = clients.each_mut().map(|client| {
            client.input = data.as_bytes().to_vec();
            client.run(statement).expect("PostgreSQL answers")
        });
        same(statement, &told(&ours), &told(&theirs));
        let short = |outcome: &onlap_testkit::simple::Outcome| {
            format!(
                "{:?} {:?} {:?} {}",
                outcome.tags,
                outcome.rows,
                outcome.copied,
                outcome.state()
            )
        };
        same(statement, &short(&theirs), &short(&plain));
    }
    let columns = "select attrelid::regclass::text, attname, format_type(atttypid, atttypmod), attnotnull, \
                   attcollation, attgenerated, pg_get_expr(adbin, adrelid) from pg_attribute left join pg_attrdef \
                   on adrelid = attrelid and adnum = attnum where attnum > 0 and attrelid in \
                   (select oid from pg_class where relnamespace = 'imported'::regnamespace) order by 1, attnum";
    let [ours, theirs, _] = &mut clients;
    same(columns, &told(&all(ours, columns)), &told(&all(theirs, columns)));
    for statement in IMPORTED {
        let [ours, theirs] = [&mut *ours, &mut *theirs]
            .map(|client| told(&client.run(statement).expect("PostgreSQL answers")));
        same(statement, &ours, &theirs);
    }
}

/// What is done with tables that were imported from a shard.
const IMPORTED: [&str; 14] = [
    "insert into imported.kept (id) values (1), (2), (3) returning *",
    "insert into imported.kept (id, v) values (4, 'too long')",
    "insert into imported.kept (id, twice) values (5, 7)",
    "update imported.kept set id = id + 10 where v = 'a''b' returning id, twice",
    "select * from imported.over_kept order by id desc limit 2",
    "select count(*), max(v) from imported.kept where twice > 22",
    "update imported.over_kept set id = 99 where id = 12",
    "delete from imported.kept where twice = 198 returning *",
    "insert into imported.parts values (1, 'a'), (9, 'b') returning id",
    "insert into imported.parts values (11, 'none')",
    "update imported.parts set id = 3 where v = 'b' and random() < 2 returning *",
    "select k.id, p.id from imported.kept k join imported.parts p on k.id = p.id + 10 order by 1",
    "truncate imported.kept, imported.parts",
    "select (select count(*) from imported.kept), (select count(*) from imported.parts)",
];

#[test]
fn as_many_parameters_as_a_message_has_are_taken() {
    let Some(worlds) = Worlds::start("batch_size '20000', fetch_size '50000'") else { return };
    let [mut ours, ..] = worlds.clients("");
    let rows =
        "insert into ev (id, name, n) select i, 'row ' || i, i from generate_series(1, 12000) i";
    all(&mut ours, rows);
    let sums = all(&mut ours, "select count(*), sum(id), sum(n), max(name) from ev");
    let expected = ["12000", "72006000", "72006000", "row 9999"];
    assert_eq!(sums.rows, [expected.map(|text| Some(text.to_string()))]);
    // Nothing of a statement stays when a row in its last batch is wrong.
    let wrong = "insert into ev (id, name, n) select i, 'row', case when i = 61999 then -1 else i end \
                 from generate_series(50000, 62000) i";
    assert_eq!(ours.run(wrong).expect("PostgreSQL answers").state(), "23514");
    assert_eq!(all(&mut ours, "select count(*) from ev").rows, [[Some("12000".to_string())]]);
}

#[test]
fn a_shard_that_is_away_is_told_of_and_others_go_on() {
    let Some(mut worlds) = Worlds::start(OPTIONS) else { return };
    let mut client = worlds.coordinator(WORLDS[0]);
    all(&mut client, "insert into ev (id, name) select i, 'x' from generate_series(1, 100) i");
    let away = worlds.servers.pop().expect("there are two");
    away.server.stop().expect("it ends in order");
    let began = Instant::now();
    let all_rows = client.run("select count(*) from ev").expect("PostgreSQL answers");
    assert!(matches!(all_rows.state(), "08006" | "08001" | "57P01"), "{all_rows:?}");
    let again = client.run("select count(*) from ev").expect("PostgreSQL answers");
    assert_eq!(again.state(), "08001", "{again:?}");
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    let first = all(&mut client, "select count(*) from ev0");
    assert_ne!(first.rows, [[Some("0".to_string())]]);
    // Both shards have begun by the time that the second is missed: nothing stays.
    let both =
        client.run("insert into ev (id, name) select i, 'y' from generate_series(101, 200) i");
    assert_eq!(both.expect("PostgreSQL answers").state(), "08001");
    assert_eq!(all(&mut client, "select count(*) from ev0").rows, first.rows);
}

/// Steps of two sessions, by their numbers. postgres_fdw hands no NOWAIT on.
const STORIES: [&[(usize, &str)]; 4] = [
    &[
        (0, "begin"),
        (0, "insert into ev (id, name) values (100, 'a'), (101, 'b')"),
        (1, "select count(*) from ev where id >= 100"),
        (0, "commit"),
        (1, "select count(*) from ev where id >= 100"),
    ],
    &[
        (0, "begin isolation level repeatable read"),
        (0, "select sum(n), count(*) from ev"),
        (1, "update ev set n = n + 10 where id < 5"),
        (0, "select sum(n), count(*) from ev"),
        (0, "update ev set n = 0 where id = 1"),
        (0, "rollback"),
        (0, "select sum(n), count(*) from ev"),
    ],
    &[
        (0, "begin"),
        (0, "update ev set n = 50 where id = 2"),
        (1, "set statement_timeout = '300ms'"),
        (1, "select id from ev where id = 2 for update"),
        (0, "rollback"),
        (1, "set statement_timeout = 0"),
        (1, "update ev set n = 51 where id = 2 returning n"),
    ],
    &[
        (0, "begin isolation level serializable"),
        (1, "begin isolation level serializable"),
        (0, "select count(*) from ev0"),
        (1, "update ev0 set n = 9 where id in (1, 2)"),
        (1, "commit"),
        (0, "update ev0 set n = 8 where id in (1, 2)"),
        (0, "rollback"),
    ],
];

#[test]
fn sessions_see_each_other_as_with_shards_of_postgresql() {
    let Some(worlds) = Worlds::start(OPTIONS) else { return };
    let told_of = |world: &str| {
        let mut sessions = [worlds.coordinator(world), worlds.coordinator(world)];
        all(
            &mut sessions[0],
            "insert into ev (id, name, n) select i, 'x', i from generate_series(1, 20) i",
        );
        let mut answers = Vec::new();
        for (who, step) in STORIES.iter().flat_map(|story| story.iter()) {
            let outcome = sessions[*who].run(step).expect("PostgreSQL answers");
            answers.push(format!("{who} {step}: {}", told(&outcome)));
        }
        answers
    };
    let [ours, theirs] = [WORLDS[0], WORLDS[1]].map(told_of);
    for (ours, theirs) in ours.iter().zip(&theirs) {
        same("a step", ours, theirs);
    }
}

/// A query of the coordinator during which a shard sleeps for ten minutes.
const ENDLESS: &str = "select * from slow";

/// What of a shard's sessions is at work, except the one that asks.
const AT_WORK: &str = "from pg_stat_activity where state = 'active' and pid <> pg_backend_pid() \
                       and datname = current_database()";

fn slow(worlds: &Worlds, at: usize) -> SimpleClient {
    all(
        &mut worlds.first_shard(at),
        "create view slow as select 1 as id, pg_sleep(600)::text as slept",
    );
    let mut client = worlds.coordinator(WORLDS[at]);
    all(&mut client, "create foreign table slow (id int, slept text) server s0");
    all(
        &mut client,
        "insert into ev (id, name, n) select i, 'x', i from generate_series(1, 6000) i",
    );
    client
}

/// Waits until as many of a shard's sessions are at work.
fn until_at_work(worlds: &Worlds, at: usize, wanted: &str) {
    let mut server = worlds.first_shard(at);
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        let count = all(&mut server, &format!("select count(*) {AT_WORK}"));
        if count.rows[0][0].as_deref() == Some(wanted) {
            return;
        }
        assert!(Instant::now() < until, "not {wanted} at work, but {:?}", count.rows);
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn statements_end_when_they_are_told_to() {
    let Some(worlds) = Worlds::start(OPTIONS) else { return };
    let mut client = slow(&worlds, 0);
    all(&mut client, "begin");
    all(&mut client, "insert into ev (id, name) values (9000, 'kept')");
    all(&mut client, "savepoint s");
    all(&mut client, "set local statement_timeout = '500ms'");
    assert_eq!(client.run(ENDLESS).expect("it answers").state(), "57014");
    until_at_work(&worlds, 0, "0");
    all(&mut client, "rollback to s");
    // The shard's session is the same, and goes on.
    let kept = all(&mut client, "select count(*) from ev where id = 9000");
    assert_eq!(kept.rows, [[Some("1".to_string())]]);
    all(&mut client, "commit");
    // A cancel of the coordinator's statement reaches the shard.
    let pid = all(&mut client, "select pg_backend_pid()").rows[0][0].clone().expect("a number");
    client.ask(ENDLESS).expect("it is sent");
    until_at_work(&worlds, 0, "1");
    all(&mut worlds.coordinator("postgres"), &format!("select pg_cancel_backend({pid})"));
    assert_eq!(client.answer().expect("it answers").state(), "57014");
    until_at_work(&worlds, 0, "0");
    let count = all(&mut client, "select count(*) from ev");
    assert_eq!(count.rows, [[Some("6001".to_string())]]);
}

#[test]
fn a_session_of_a_shard_that_ends_is_told_of_and_made_anew() {
    let Some(worlds) = Worlds::start(OPTIONS) else { return };
    let told_of = |at: usize| {
        let mut client = slow(&worlds, at);
        client.ask(ENDLESS).expect("it is sent");
        until_at_work(&worlds, at, "1");
        let ends = format!("select pg_terminate_backend(pid) {AT_WORK}");
        all(&mut worlds.first_shard(at), &ends);
        let outcome = client.answer().expect("it answers");
        // A new statement has a new connection.
        let count = all(&mut client, "select count(*) from ev");
        assert_eq!(count.rows, [[Some("6000".to_string())]]);
        told(&outcome)
    };
    let [ours, theirs] = [0, 1].map(told_of);
    same("a session that ended", &ours, &theirs);
    assert!(ours.contains("terminating connection"), "{ours}");
}
