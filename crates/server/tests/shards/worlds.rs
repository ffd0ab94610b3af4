//! A table over shards of Onlap, over shards of PostgreSQL, and over plain partitions.

use onlap_testkit::postgres::{NEEDED, Postgres};
use onlap_testkit::programs;
use onlap_testkit::simple::{Outcome, SimpleClient};

use crate::common::{self, Running};

const FDW: &str = "/usr/share/postgresql/15/extension/postgres_fdw.control";

/// The databases of the coordinator.
pub const WORLDS: [&str; 3] = ["over_onlap", "over_postgres", "plain"];

const EV: &str = "id int not null, name varchar(40) not null, amount numeric(12,2), at timestamptz, \
                  on_ boolean, doc jsonb, n int default 0, constraint ev_n_check check (n >= 0)";
const TYPES: &str = "id int, i2 smallint, i8 bigint, r4 real, r8 double precision, c char(3), d date, \
                     ts timestamp, t time, iv interval, b bytea, u uuid, ia int[], ta text[], ip inet, \
                     num numeric, dd date, rng int4range";

/// A PostgreSQL that coordinates, and two servers of ours.
pub struct Worlds {
    pub postgres: Postgres,
    pub servers: Vec<Running>,
}

/// All that an outcome says, except OIDs of columns.
pub fn told(outcome: &Outcome) -> String {
    let Outcome { columns, rows, tags, error, detail, hint, context, notices, copied, .. } =
        outcome;
    let names: Vec<&String> = columns.iter().map(|column| &column.0).collect();
    let copied = String::from_utf8_lossy(copied);
    format!(
        "{tags:?} {names:?} {rows:?} {error:?} {detail:?} {hint:?} {context:?} {notices:?} {copied:?}"
    )
}

/// Runs statements that must all be carried out.
pub fn all(client: &mut SimpleClient, sql: &str) -> Outcome {
    let outcome = client.run(sql).expect("it answers");
    assert_eq!(outcome.error, None, "{sql}");
    outcome
}

impl Worlds {
    /// All of it, with options of the shards' servers; nothing where a program is missing.
    pub fn start(options: &str) -> Option<Worlds> {
        let needed: Vec<_> =
            NEEDED.into_iter().chain([(FDW, "apt-get install postgresql-15")]).collect();
        if !programs::are_there(&needed) {
            return None;
        }
        let postgres = Postgres::start();
        let servers = (0..2).map(|_| common::start(common::config())).collect();
        let worlds = Worlds { postgres, servers };
        let mut own = worlds.coordinator("postgres");
        for name in WORLDS.into_iter().chain(["shard0", "shard1"]) {
            all(&mut own, &format!("create database {name}"));
        }
        for at in 0..2 {
            make_shard(&mut worlds.server(at), at);
            make_shard(&mut worlds.coordinator(&format!("shard{at}")), at);
        }
        for (world, at) in WORLDS.into_iter().zip(0..) {
            let mut client = worlds.coordinator(world);
            match at {
                2 => make_plain(&mut client),
                _ => worlds.divide(&mut client, at == 0, options),
            }
            all(
                &mut client,
                "create table lines (event int, note text); insert into lines values (1, 'a'), (1, 'b'), \
                 (3, 'c'), (4000000, 'd'), (12, 'gone'), (13, 'gone too'), (14, 'gone'); analyze lines",
            );
        }
        Some(worlds)
    }

    /// A session with a database of the coordinator.
    pub fn coordinator(&self, database: &str) -> SimpleClient {
        let client = SimpleClient::connect(self.postgres.port(), "postgres", database);
        client.expect("PostgreSQL listens")
    }

    /// A session with one of our servers.
    pub fn server(&self, at: usize) -> SimpleClient {
        let port = self.servers[at].address().port();
        SimpleClient::connect(port, "postgres", "postgres").expect("it listens")
    }

    /// A session with the first shard of a world.
    pub fn first_shard(&self, world: usize) -> SimpleClient {
        if world == 0 { self.server(0) } else { self.coordinator("shard0") }
    }

    /// A session with each world, after some settings.
    pub fn clients(&self, settings: &str) -> [SimpleClient; 3] {
        WORLDS.map(|world| {
            let mut client = self.coordinator(world);
            all(&mut client, settings);
            client
        })
    }

    fn divide(&self, client: &mut SimpleClient, is_ours: bool, options: &str) {
        all(client, "create extension postgres_fdw");
        for (at, server) in self.servers.iter().enumerate() {
            let (port, database) = match is_ours {
                true => (server.address().port(), "postgres".to_string()),
                false => (self.postgres.port(), format!("shard{at}")),
            };
            all(
                client,
                &format!(
                    "create server s{at} foreign data wrapper postgres_fdw options (host '127.0.0.1', \
                     port '{port}', dbname '{database}', {options}); \
                     create user mapping for postgres server s{at} options (user 'postgres')"
                ),
            );
        }
        all(client, &format!("create table ev ({EV}) partition by hash (id)"));
        all(client, "create table kinds (id int, kind text, v int) partition by list (kind)");
        for (at, kinds) in [(0, "'a'"), (1, "'b', 'c'")] {
            all(
                client,
                &format!(
                    "create foreign table ev{at} partition of ev for values with (modulus 2, remainder {at}) \
                     server s{at}; \
                     create foreign table kinds{at} partition of kinds for values in ({kinds}) server s{at}"
                ),
            );
        }
        all(
            client,
            "import foreign schema public limit to (types) from server s0 into public; \
             create schema imported; \
             import foreign schema public from server s1 into imported options (import_default 'true')",
        );
    }
}

/// The tables of a shard.
fn make_shard(client: &mut SimpleClient, at: usize) {
    all(client, &format!("create table ev{at} ({EV}, primary key (id))"));
    all(client, &format!("create table kinds{at} (id int, kind text, v int)"));
    all(client, &format!("create table types ({TYPES})"));
    all(
        client,
        "create table kept (id int generated by default as identity primary key, \
         twice int generated always as (id * 2) stored, v varchar(5) default 'a''b' collate \"C\"); \
         create view over_kept as select id, twice from kept where id > 1; \
         create table parts (id int, v text) partition by range (id); \
         create table parts1 partition of parts for values from (0) to (10)",
    );
}

fn make_plain(client: &mut SimpleClient) {
    all(client, &format!("create table ev ({EV}) partition by hash (id)"));
    all(client, "create table kinds (id int, kind text, v int) partition by list (kind)");
    for (at, kinds) in [(0, "'a'"), (1, "'b', 'c'")] {
        all(
            client,
            &format!(
                "create table ev{at} partition of ev (primary key (id)) for values with (modulus 2, remainder {at}); \
                 create table kinds{at} partition of kinds for values in ({kinds})"
            ),
        );
    }
    all(client, &format!("create table types ({TYPES})"));
}
