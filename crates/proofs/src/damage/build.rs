//! A database with files of every kind, and what it answers after each of its last commits.

use std::sync::Arc;

use onlap::{
    Change, DataType, Database, IndexSpec, Options, Result, Row, SyncMode, TableSpec, Value,
};
use onlap_base::clock::Clock;
use onlap_base::rng::Rng;
use onlap_base::tasks::SimTasks;
use onlap_vfs::MemFs;

use super::{Answers, DIR, answers};
use crate::options::{drawn, simulated};

/// Commits at the end, which only the log has.
const LAST: i64 = 6;

pub(super) struct Built {
    pub(super) disk: MemFs,
    pub(super) options: Options,
    /// Answers before the last commits and after each.
    pub(super) states: Vec<Answers>,
}

fn spec() -> TableSpec {
    TableSpec::new("t")
        .column("id", DataType::Int8)
        .nullable_column("a", DataType::Int4)
        .column("b", DataType::Text)
        .column("at", DataType::Timestamp)
        .nullable_column("d", DataType::Numeric(None))
        .nullable_column("long", DataType::Text)
        .column("n", DataType::Int8)
        .primary_key(["id"])
        .index(IndexSpec::new("by_a", ["a"]))
        .index(IndexSpec::new("by_b_a", ["b", "a"]).descending("a").include(["d"]))
        .index(IndexSpec::new("by_d", ["d"]))
        .index(IndexSpec::new("by_at", ["at"]).fences_only())
}

fn row(rng: &mut Rng, id: i64) -> Row {
    let a = if rng.chance(0.1) { Value::Null } else { Value::Int(rng.range(-20..20)) };
    let d = onlap::Numeric { mantissa: i128::from(rng.range(-5000..5000)), scale: 2 };
    let long = match rng.below(60) {
        0 => Value::Text(format!("{id} leaves its block ").repeat(200)),
        1..30 => Value::Null,
        _ => Value::Text(format!("text {}", rng.below(50))),
    };
    let b = Value::Text(format!("{:06}", (id * 7919) % 100_000));
    vec![Value::Int(id), a, b, Value::Timestamp(id * 1000), Value::Numeric(d), long, Value::Int(0)]
}

/// Makes one, with nothing that decides but the lots; this number of minutes after the beginning of all simulations,
/// as databases of one moment are the same.
pub(super) fn database(rng: &mut Rng, minutes: i64) -> Built {
    let disk = MemFs::new();
    let mut options = drawn(rng);
    options.sync = SyncMode::Fsync;
    let tasks = SimTasks::new(rng.next_u64());
    let mut simulated = simulated(&options, Arc::new(disk.clone()), &tasks);
    simulated.clock = Arc::new(Later { tasks, us: minutes * 60_000_000 });
    let states = fill(rng, &simulated);
    Built { disk, options, states: states.expect("a disk without faults") }
}

/// Opens a database again, as many minutes later, and commits rows which its log alone has; what it answers
/// then.
pub(super) fn go_on(rng: &mut Rng, built: &Built, minutes: i64) -> Result<Answers> {
    let tasks = SimTasks::new(rng.next_u64());
    let mut options = simulated(&built.options, Arc::new(built.disk.clone()), &tasks);
    options.clock = Arc::new(Later { tasks, us: minutes * 60_000_000 });
    let db = Database::open(DIR, options)?;
    let table = db.table("t")?;
    for _ in 0..2 + rng.below(30) {
        let id = 1_000_000 + rng.range(0..1_000_000_000);
        table.insert(&row(rng, id))?;
    }
    answers(&db)
}

/// The clock of a simulation that began later than others.
struct Later {
    tasks: SimTasks,
    us: i64,
}

impl Clock for Later {
    fn unix_us(&self) -> i64 {
        self.tasks.unix_us() + self.us
    }
    fn monotonic_ns(&self) -> u64 {
        self.tasks.monotonic_ns()
    }
}

fn fill(rng: &mut Rng, options: &Options) -> Result<Vec<Answers>> {
    let db = Database::open(DIR, options.clone())?;
    let table = db.create_table(spec())?;
    let blind = TableSpec::new("blind").column("key", DataType::Text).column("a", DataType::Int4);
    let blind = blind.primary_key(["key"]).index(IndexSpec::new("by_a", ["a"])).blind_writes();
    let blind = db.create_table(blind)?;
    let mut next = 0;
    for _ in 0..3 + rng.below(3) {
        let rows: Vec<Row> = (next..next + 60 + rng.range(0..120)).map(|id| row(rng, id)).collect();
        next += rows.len() as i64;
        table.insert_many(&rows)?;
        for _ in 0..20 {
            let key = Value::Text(format!("key {}", rng.below(60)));
            blind.upsert(&[key, Value::Int(rng.range(0..9))])?;
        }
        for _ in 0..10 {
            table.delete(&[Value::Int(rng.range(0..next))])?;
        }
        let mut tx = db.begin()?;
        for _ in 0..10 {
            let add = [("n", Change::Add(Value::Int(rng.range(1..9))))];
            tx.change(&table, &[Value::Int(rng.range(0..next))], &add)?;
        }
        tx.commit()?;
        if rng.chance(0.3) { db.settle()? } else { db.flush()? }
    }
    let mut states = vec![answers(&db)?];
    for id in next..next + LAST {
        table.insert(&row(rng, id))?;
        states.push(answers(&db)?);
    }
    drop((table, blind));
    if rng.chance(0.3) {
        db.close()?
    } else {
        drop(db)
    }
    Ok(states)
}
