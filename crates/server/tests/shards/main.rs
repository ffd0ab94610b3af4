//! Do two servers do as shards of a PostgreSQL 15 that divides tables over them by postgres_fdw?
//!
//! The same statements run on a PostgreSQL (a Debian package) whose partitions lie on two Onlap servers, on one whose partitions
//! lie on two databases of PostgreSQL, and on one with plain partitions. The first two must answer alike in all that they
//! say; where the third answers otherwise, it is postgres_fdw that does, and `LIMITS` has the statement.

#![allow(clippy::disallowed_methods, reason = "a client has the world's clocks and sockets")]

#[path = "../common/mod.rs"]
mod common;
mod together;
mod worlds;

use worlds::{Worlds, all, told};

const SCRIPT: &str = include_str!("script.sql");

/// What postgres_fdw does in another way than plain partitions do, whatever the shards are.
const LIMITS: [&str; 5] = [
    // It has no MERGE.
    "merge into ev",
    // What it pushes down moves no row to another partition.
    "update kinds set kind = 'a'",
    "select * from kinds order",
    "delete from kinds where kind",
    "select tableoid::regclass::text, * from kinds",
];

fn compare(options: &str, settings: &str) {
    let Some(worlds) = Worlds::start(options) else { return };
    let [mut onlap, mut shards, mut plain] = worlds.clients(settings);
    let (mut differ, mut met) = (Vec::new(), [false; LIMITS.len()]);
    for statement in SCRIPT.lines().filter(|line| !line.is_empty()) {
        let sorted = !statement.contains("order by") || statement.starts_with("update");
        let answers = [&mut onlap, &mut shards, &mut plain].map(|client| {
            let mut outcome = client.run(statement).expect("PostgreSQL answers");
            if sorted {
                outcome.rows.sort();
            }
            outcome
        });
        let [onlap, shards, plain] = &answers;
        if told(onlap) != told(shards) {
            differ.push(format!(
                "{statement}\n  ours   {}\n  theirs {}",
                told(onlap),
                told(shards)
            ));
        }
        let alike = (&shards.tags, &shards.rows, shards.state())
            == (&plain.tags, &plain.rows, plain.state());
        match LIMITS.iter().position(|limit| statement.starts_with(limit)) {
            Some(at) => met[at] |= !alike,
            None if alike => {}
            None => {
                let (theirs, plain) = (told(shards), told(plain));
                differ.push(format!("{statement}\n  shards {theirs}\n  plain  {plain}"));
            }
        }
    }
    assert!(differ.is_empty(), "{options}\n{}", differ.join("\n"));
    assert!(met.iter().all(|met| *met), "{met:?} of {LIMITS:?}");
}

#[test]
fn shards_answer_as_partitions_do() {
    compare("async_capable 'true', fetch_size '100', batch_size '50'", "");
}

#[test]
fn shards_answer_alike_where_postgresql_asks_them_for_estimates() {
    compare(
        "use_remote_estimate 'true', fetch_size '50', batch_size '1000', parallel_commit 'true'",
        "set enable_partitionwise_join = on; set enable_partitionwise_aggregate = on",
    );
}

#[test]
fn limits_reach_shards_that_are_asked_for_estimates() {
    let Some(worlds) = Worlds::start("use_remote_estimate 'true'") else { return };
    let [mut client, ..] = worlds.clients("");
    all(
        &mut client,
        "insert into ev (id, name) select i, 'n' || i from generate_series(1, 6000) i",
    );
    for query in ["where name > 'a' order by id limit 3", "where name > 'a' limit 3", "limit 3"] {
        let plan = format!("explain (verbose, costs off) select id from ev0 {query}");
        let lines = all(&mut client, &plan).rows.into_iter().filter_map(|mut row| row.remove(0));
        let remote: Vec<String> = lines.filter(|line| line.contains("Remote SQL")).collect();
        assert!(remote[0].ends_with(" LIMIT 3::bigint"), "{query}: {remote:?}");
    }
}
