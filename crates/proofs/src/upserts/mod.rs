//! Is every acknowledged upsert there, once, in the order of commits?
//!
//! Eight clients of a served database raise counters and append to lists by UPDATE, ON CONFLICT DO UPDATE, delete
//! with insert and blind upserts, by key and through secondary indexes ([`objects`]), in transactions of several
//! steps ([`clients`]), at each level, while the server is killed and started again. `onlap_testkit::cycles`
//! judges what they noted, and [`judge`] whether all that was acknowledged is there once. Then the same clients
//! raise counters by single statements alone, which must neither be lost nor refused.
//!
//! PostgreSQL 15 does the same next to it: what the rig takes for granted, PostgreSQL has to do as well.
//!
//! The controls: a client that claims an append which it rolled back, one that raises a counter by what it read
//! before, and one that sends an acknowledged append again.
//!
//! Threads: one per client, each with a connection of its own.

mod clients;
mod counters;
mod judge;
mod objects;

use std::sync::atomic::{AtomicI64, AtomicU64};
use std::thread;
use std::time::Duration;

use onlap_base::rng::Rng;
use onlap_testkit::cycles::Level;
use postgres::Client;

use crate::served::{Postgres, Served, connect};
use crate::{Counts, Verdict};
use clients::Person;

/// The levels.
pub const LEVELS: [Level; 3] = [Level::ReadCommitted, Level::RepeatableRead, Level::Serializable];

/// Clients at once.
const CLIENTS: usize = 8;
/// Longest time between two kills.
const LIFE: Duration = Duration::from_millis(1500);

/// How much one seed does.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Transactions of several steps at each level.
    pub transactions: i64,
    /// Upserts of counters by single statements.
    pub counters: i64,
    /// Kills at each level, and among the counters.
    pub kills: u64,
    /// PostgreSQL does one part in this number; 0: none.
    pub control: i64,
    /// What a client does wrong.
    pub fault: Option<UpsertFault>,
}

impl Plan {
    /// What the command does per seed.
    pub const LONG: Plan =
        Plan { transactions: 4000, counters: 20_000, kills: 2, control: 8, fault: None };
    /// What a test does.
    pub const SHORT: Plan =
        Plan { transactions: 400, counters: 1200, kills: 1, control: 2, fault: None };
    /// What a control does: the first level alone, and nothing is killed.
    pub const FAULTY: Plan =
        Plan { transactions: 300, counters: 0, kills: 0, control: 0, fault: None };
}

/// A fault of one client, planted on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpsertFault {
    /// Once in a while it rolls an append back and says that it was acknowledged.
    DropsAppend,
    /// It appends once more what was acknowledged.
    AppendsTwice,
    /// It raises counters by what it read before, at READ COMMITTED.
    RaisesWhatItRead,
}

/// Attacks with a seed.
///
/// # Errors
/// What was found.
pub fn run(seed: u64) -> Verdict {
    run_with(seed, Plan::LONG)
}

/// The same, of another extent.
///
/// # Errors
/// What was found.
pub fn run_with(seed: u64, plan: Plan) -> Verdict {
    let mut rng = Rng::new(seed);
    let mut counts = Counts::default();
    let sync = *rng.pick(&["os", "fsync"]);
    let served = Served::start(&["--sync", sync, "--memory-limit", "64MiB"])?;
    attack(&mut Side::Onlap(served), plan, &mut rng, &mut counts)
        .map_err(|e| format!("onlap, sync {sync}: {e}"))?;
    if plan.control > 0 {
        let less = Plan {
            transactions: plan.transactions / plan.control,
            counters: plan.counters / plan.control,
            ..plan
        };
        attack(&mut Side::Postgres(Postgres::start()), less, &mut rng, &mut counts)
            .map_err(|e| format!("PostgreSQL: {e}"))?;
    }
    Ok(counts)
}

/// A database that is attacked.
enum Side {
    Onlap(Served),
    Postgres(Postgres),
}

impl Side {
    fn port(&self) -> u16 {
        match self {
            Side::Onlap(served) => served.port(),
            Side::Postgres(postgres) => postgres.port(),
        }
    }

    fn is_onlap(&self) -> bool {
        matches!(self, Side::Onlap(_))
    }

    fn client(&self) -> Result<Client, String> {
        connect(self.port(), "postgres")
    }

    /// How a number of something is told of this side.
    fn what(&self, ours: &'static str, theirs: &'static str) -> &'static str {
        if self.is_onlap() { ours } else { theirs }
    }
}

fn attack(side: &mut Side, plan: Plan, rng: &mut Rng, counts: &mut Counts) -> Result<(), String> {
    for level in LEVELS {
        transact(side, level, plan, rng, counts).map_err(|e| format!("{level:?}: {e}"))?;
        if plan.fault.is_some() {
            return Ok(());
        }
    }
    counters::raise(side, plan, rng, counts).map_err(|e| format!("counters: {e}"))
}

/// Transactions of several steps at one level, and what is judged of them.
fn transact(
    side: &mut Side,
    level: Level,
    plan: Plan,
    rng: &mut Rng,
    counts: &mut Counts,
) -> Result<(), String> {
    let mut client = side.client()?;
    objects::create(&mut client, side.is_onlap()).map_err(|e| format!("{e:?}"))?;
    let (time, budget) = (AtomicU64::new(0), AtomicI64::new(plan.transactions));
    let mut people: Vec<Person> = (0..CLIENTS)
        .map(|number| {
            let fault = plan.fault.filter(|_| number == 0);
            Person::new(number, level, side.is_onlap(), fault, rng.fork())
        })
        .collect();
    lives(side, plan.kills, rng, counts, |port, last| {
        let (time, budget) = (&time, &budget);
        work(&mut people, |person| person.work(port, time, budget, last))
    })?;
    let found = judge::judge(side, &people, &time)?;
    let what = match level {
        Level::ReadCommitted => "transactions with upserts at READ COMMITTED",
        Level::RepeatableRead => "transactions with upserts at REPEATABLE READ",
        Level::Serializable => "transactions with upserts at SERIALIZABLE",
    };
    counts.add(side.what(what, "transactions with upserts of PostgreSQL"), found.transactions);
    counts.add(side.what("committed", "committed by PostgreSQL"), found.committed);
    counts.add(side.what("appends", "appends to PostgreSQL"), found.appends);
    counts.add(side.what("deadlocks", "deadlocks of PostgreSQL"), found.deadlocks);
    Ok(())
}

/// Runs clients; all of them get so far as they get, and the first who found something tells.
fn work<T: Send>(
    people: &mut [T],
    run: impl Fn(&mut T) -> Result<(), String> + Send + Sync,
) -> Result<(), String> {
    thread::scope(|scope| {
        let run = &run;
        let all: Vec<_> = people.iter_mut().map(|p| scope.spawn(move || run(p))).collect();
        let ended = all.into_iter().map(|one| one.join().unwrap_or_else(|_| Err("panic".into())));
        ended.collect::<Vec<_>>().into_iter().collect()
    })
}

/// Runs clients for as many lives of the server as it is killed, and then to their end. They are given its port, and
/// whether this life is its last.
fn lives(
    side: &mut Side,
    kills: u64,
    rng: &mut Rng,
    counts: &mut Counts,
    mut run: impl FnMut(u16, bool) -> Result<(), String> + Send,
) -> Result<(), String> {
    let port = side.port();
    let Side::Onlap(served) = side else { return run(port, true) };
    for _ in 0..kills {
        let port = served.port();
        let life = Duration::from_micros(rng.below(LIFE.as_micros() as u64));
        thread::scope(|scope| {
            let running = scope.spawn(|| run(port, false));
            thread::sleep(life);
            served.kill();
            running.join().unwrap_or_else(|_| Err("panic".into()))
        })?;
        served.kill_and_restart()?;
        counts.add("kills", 1);
    }
    run(served.port(), true)?;
    served.lives()
}
