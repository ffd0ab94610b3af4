//! Does a server outlive what any role may say to it?
//!
//! A real server with little memory and a short statement_timeout is sent statements that mean to hurt it
//! ([`grammar`]): too deep, too wide, too large, too slow, at the edges of their types. It must answer each, with rows or with an error, soon
//! after the timeout; its peak of resident memory must stay near its limit; and a neighbour, who reads rows by key
//! all the while, must be served. A seed is one server and a number of statements; it repeats them.
//!
//! The controls: a server that is killed in between, and one that may take less than it must, are findings.
//!
//! Threads: the neighbour has its own.

mod calls;
pub mod grammar;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use onlap_base::rng::Rng;
use postgres::Client;
use postgres::fallible_iterator::FallibleIterator as _;
use postgres::types::{ToSql, Type};

use crate::served::{Served, state};
use crate::{Counts, Verdict};
use grammar::Hostile;

/// What a server has to endure.
#[derive(Clone, Copy, Debug)]
pub struct Attack {
    /// Statements.
    pub statements: u64,
    /// Bytes of its memory_limit.
    pub memory: u64,
    /// Bytes that its process may take at most.
    pub most: u64,
    /// Its statement_timeout.
    pub timeout: Duration,
    /// How much later an answer may come: the machine has other work.
    pub patience: Duration,
    /// The statement before which a fault is planted: the server is killed.
    pub killed_at: Option<u64>,
}

/// MiB above its memory_limit that a server may take. Without optimization the frames of the planner, and so the stacks
/// of deep statements, are several times as large.
const ABOVE_MIB: u64 = if cfg!(debug_assertions) { 448 } else { 96 };

/// What the command runs.
pub const ATTACK: Attack = Attack {
    statements: 200,
    memory: 64 << 20,
    most: (64 + ABOVE_MIB) << 20,
    timeout: Duration::from_millis(500),
    patience: Duration::from_secs(30),
    killed_at: None,
};

/// A statement of the neighbour that takes longer is counted as slow.
const SLOW: Duration = Duration::from_millis(100);

/// Runs a seed of the command.
pub fn run(seed: u64) -> Verdict {
    attack(seed, &ATTACK)
}

/// Sends statements to a server of its own.
///
/// # Errors
/// What the server did not endure.
pub fn attack(seed: u64, attack: &Attack) -> Verdict {
    let memory = format!("{}MiB", attack.memory >> 20);
    let mut served = Served::start(&["--memory-limit", &memory])?;
    let mut client = served.client()?;
    prepare(&mut client, attack.timeout)?;
    let ends = Arc::new(AtomicBool::new(false));
    let neighbour = {
        let (client, ends) = (served.client()?, Arc::clone(&ends));
        std::thread::spawn(move || neighbour(client, &ends))
    };
    let mut counts = Counts::default();
    let attacked = assault(&mut Rng::new(seed), &mut served, &mut client, attack, &mut counts);
    ends.store(true, Ordering::Relaxed);
    let times = neighbour.join().map_err(|_| "the neighbour panicked".to_string())?;
    attacked?;
    let mut times = times.map_err(|e| format!("the neighbour: {e}"))?;
    times.sort();
    counts.add("neighbour's statements", times.len() as u64);
    counts.add("slow ones of them", times.iter().filter(|time| **time > SLOW).count() as u64);
    let peak = served.peak_bytes()?;
    let p99 = times.get(times.len() * 99 / 100).copied().unwrap_or_default();
    println!("statements: seed {seed}: neighbour's p99 {p99:?}, peak {} MiB", peak >> 20);
    Ok(counts)
}

fn prepare(client: &mut Client, timeout: Duration) -> Result<(), String> {
    let text = format!(
        "create table t (id int primary key, a int, b text); create index on t (a); \
         insert into t select g, g % 10, 'row ' || g from generate_series(1, 1000) g; \
         set statement_timeout = {}",
        timeout.as_millis()
    );
    client.batch_execute(&text).map_err(|e| format!("preparing: {e:?}"))
}

fn assault(
    rng: &mut Rng,
    served: &mut Served,
    client: &mut Client,
    attack: &Attack,
    counts: &mut Counts,
) -> Result<(), String> {
    for n in 0..attack.statements {
        if attack.killed_at == Some(n) {
            served.kill();
        }
        let hostile = grammar::draw(rng);
        let began = Instant::now();
        let outcome = send(client, &hostile);
        let took = began.elapsed();
        let found = |what: String| Err(format!("statement {n}: {what}: {}", hostile.shown()));
        match &outcome {
            Ok(()) => counts.add("answered", 1),
            Err(e) if state(e).is_some() => counts.add("refused", 1),
            Err(e) => {
                let lives = served.lives().err().unwrap_or_else(|| "the server lives".into());
                return found(format!("the connection was lost, {lives}: {e:?}"));
            }
        }
        counts.add("hostile statements", 1);
        if took > attack.timeout + attack.patience {
            return found(format!("an answer came after {took:?}"));
        }
        let peak = served.peak_bytes()?;
        if peak > attack.most {
            return found(format!("the server took {} MiB", peak >> 20));
        }
    }
    Ok(())
}

/// Sends a statement, and lets go of its rows as they come.
fn send(client: &mut Client, hostile: &Hostile) -> Result<(), postgres::Error> {
    match hostile {
        Hostile::Simple(text) => {
            let outcome = client.batch_execute(text);
            if outcome.is_err() && text.starts_with("begin") {
                // The next statement is to be asked, not refused in a failed transaction.
                let _ = client.batch_execute("rollback");
            }
            outcome
        }
        Hostile::Extended(text, values) => {
            let types = vec![Type::TEXT; values.len()];
            let statement = client.prepare_typed(text, &types)?;
            let values: Vec<&(dyn ToSql + Sync)> =
                values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
            let mut rows = client.query_raw(&statement, values)?;
            while rows.next()?.is_some() {}
            Ok(())
        }
        Hostile::Portals(n, bytes) => {
            let mut transaction = client.transaction()?;
            let statement = transaction.prepare_typed("select length($1)", &[Type::TEXT])?;
            let value = "x".repeat(*bytes);
            let bind = |_| transaction.bind(&statement, &[&value]);
            let portals = (0..*n).map(bind).collect::<Result<Vec<_>, _>>()?;
            drop(portals);
            transaction.rollback()
        }
        Hostile::Prepared(n, bytes) => {
            let value = "x".repeat(*bytes);
            let prepare =
                |i| client.prepare(&format!("select id + {i} from t where b = '{value}'"));
            (0..*n).map(prepare).collect::<Result<Vec<_>, _>>().map(drop)
        }
    }
}

/// Reads rows by key until it is told to end; how long each took.
fn neighbour(mut client: Client, ends: &AtomicBool) -> Result<Vec<Duration>, postgres::Error> {
    let statement = client.prepare("select b from t where id = $1")?;
    let mut times = Vec::new();
    let mut id = 0;
    while !ends.load(Ordering::Relaxed) {
        id = id % 1000 + 1;
        let began = Instant::now();
        let rows = client.query(&statement, &[&id])?;
        assert_eq!(rows.len(), 1, "the row of id {id}");
        times.push(began.elapsed());
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(times)
}
