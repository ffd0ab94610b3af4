//! Is a counter as high as the upserts of single rows that were acknowledged?
//!
//! Each statement is a transaction of its own at READ COMMITTED, which waits for others and never has to be run again: a
//! refusal is a finding, as is every upsert too many or too few. Some keys are raised by all clients all the time, others
//! are fresh and come from several clients at once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};

use onlap_base::rng::Rng;
use postgres::{Client, Statement};

use super::{CLIENTS, Plan, Side, lives, work};
use crate::Counts;
use crate::served::{connect, state};

/// Keys that are raised all the time.
const HOT: i64 = 3;
/// Upserts of all clients that have the same fresh keys, and how many these are.
const STRIDE: i64 = 24;
const FRESH: i64 = 4;

const TABLES: [&str; 4] = ["c_plain", "c_indexed", "c_unique", "c_blind"];

fn create(client: &mut Client, onlap: bool) -> Result<(), String> {
    let blind = if onlap { "with (blind_writes = true)" } else { "" };
    let sql = format!(
        "drop table if exists c_plain, c_indexed, c_unique, c_blind;
         create table c_plain (k int primary key, n int);
         create table c_indexed (k int primary key, n int);
         create index c_by_n on c_indexed (n);
         create table c_unique (id text primary key, k int unique, n int);
         create table c_blind (k int primary key, n int) {blind}"
    );
    client.batch_execute(&sql).map_err(|e| format!("{e:?}"))
}

/// What a client was told, per table and key: acknowledged, and perhaps one more of each life.
#[derive(Default)]
struct Raised {
    number: usize,
    count: u64,
    acknowledged: HashMap<(usize, i32), u64>,
    unknown: HashMap<(usize, i32), u64>,
}

/// Raises counters until the plan is fulfilled, and judges them.
///
/// # Errors
/// What was found.
pub fn raise(
    side: &mut Side,
    plan: Plan,
    rng: &mut Rng,
    counts: &mut Counts,
) -> Result<(), String> {
    create(&mut side.client()?, side.is_onlap())?;
    let budget = AtomicI64::new(plan.counters);
    let mut all: Vec<Raised> =
        (0..CLIENTS).map(|number| Raised { number, ..Raised::default() }).collect();
    lives(side, plan.kills, rng, counts, |port, last| {
        work(&mut all, |raised| raised.work(port, &budget, last))
    })?;
    let done = judge(&mut side.client()?, &all)?;
    counts.add(side.what("counter upserts", "counter upserts of PostgreSQL"), done);
    Ok(())
}

impl Raised {
    fn work(&mut self, port: u16, budget: &AtomicI64, last: bool) -> Result<(), String> {
        let gone = |e: String| if last { Err(e) } else { Ok(()) };
        let mut client = match connect(port, "postgres") {
            Ok(client) => client,
            Err(e) => return gone(e),
        };
        let statements = match prepare(&mut client) {
            Ok(statements) => statements,
            Err(e) => return gone(format!("{e:?}")),
        };
        loop {
            let left = budget.fetch_sub(1, Ordering::Relaxed);
            if left <= 0 {
                return Ok(());
            }
            self.count += 1;
            let table = self.count as usize % TABLES.len();
            let key = match self.count % 3 {
                0 => left % HOT,
                _ => HOT + left / STRIDE * FRESH + left % FRESH,
            } as i32;
            let id = format!("{}-{}", self.number, self.count);
            let done = match TABLES[table] {
                "c_unique" => client.execute(&statements[table], &[&id, &key]),
                _ => client.execute(&statements[table], &[&key]),
            };
            match done {
                Ok(1) => *self.acknowledged.entry((table, key)).or_default() += 1,
                Ok(n) => return Err(format!("an upsert of one row of {} says {n}", TABLES[table])),
                Err(e) => {
                    if let Some(state) = state(&e).filter(|state| !state.starts_with("57P")) {
                        return Err(format!("an upsert into {} got {state}", TABLES[table]));
                    }
                    *self.unknown.entry((table, key)).or_default() += 1;
                    return gone(format!("{e:?}"));
                }
            }
        }
    }
}

fn prepare(client: &mut Client) -> Result<Vec<Statement>, postgres::Error> {
    let each = TABLES.iter().map(|table| {
        let (columns, values) = match *table {
            "c_unique" => ("id, k, n", "$1, $2, 1"),
            _ => ("k, n", "$1, 1"),
        };
        client.prepare(&format!(
            "insert into {table} ({columns}) values ({values}) on conflict (k) \
             do update set n = {table}.n + 1"
        ))
    });
    each.collect()
}

fn judge(client: &mut Client, all: &[Raised]) -> Result<u64, String> {
    let mut done = 0;
    for (table, name) in TABLES.iter().enumerate() {
        let rows = client.query(&format!("select k, n from {name}"), &[]);
        let mut found: HashMap<i32, u64> = HashMap::new();
        for row in rows.map_err(|e| format!("{e:?}"))? {
            let (key, n): (i32, i32) = (row.get(0), row.get(1));
            if found.insert(key, n as u64).is_some() {
                return Err(format!("{name} has key {key} twice"));
            }
        }
        let mut bounds: HashMap<i32, (u64, u64)> = HashMap::new();
        for raised in all {
            for (&(of, key), n) in raised.acknowledged.iter().filter(|((of, _), _)| *of == table) {
                debug_assert_eq!(of, table);
                let bound = bounds.entry(key).or_default();
                *bound = (bound.0 + n, bound.1 + n);
                done += n;
            }
            for (&(_, key), n) in raised.unknown.iter().filter(|((of, _), _)| *of == table) {
                bounds.entry(key).or_default().1 += n;
            }
        }
        for (key, (least, most)) in bounds {
            let n = found.remove(&key).unwrap_or(0);
            if !(least..=most).contains(&n) {
                return Err(format!(
                    "{name}, key {key}: {least} upserts were acknowledged, {most} asked for, and it is {n}"
                ));
            }
        }
        if let Some(key) = found.keys().next() {
            return Err(format!("{name} has key {key}, which no client brought"));
        }
    }
    Ok(done)
}
