//! Who flushes, merges and changes schemas in a history? One task: a schema change keeps its lock while it
//! waits, so that a second one would wait outside the scheduler.

use std::sync::atomic::Ordering;
use std::time::Duration;

use onlap::{DataType, ErrorKind, IndexSpec, Result, Row, Table, TableChanges, TableSpec, Value};
use onlap_base::rng::Rng;
use onlap_base::tasks::Tasks;

use super::clients::{FIRST, World};
use super::model::Side;
use crate::letters;

pub const SIDE: &str = "side";

pub fn keep(world: &World, mut rng: Rng) {
    while world.writers.load(Ordering::Relaxed) > 0 {
        world.tasks.sleep(Duration::from_micros(rng.below(2500)));
        step(world, &mut rng).expect("a disk without faults");
    }
}

fn step(world: &World, rng: &mut Rng) -> Result<()> {
    match rng.below(16) {
        0..4 => world.db.flush(),
        4 => world.db.settle(),
        5 | 6 => toggle_index(world, rng),
        _ => change_side(world, rng),
    }
}

/// Builds an index of the first table next to its writers, or in a transaction, or drops it.
fn toggle_index(world: &World, rng: &mut Rng) -> Result<()> {
    let spec = match rng.chance(0.5) {
        true => IndexSpec::new("extra", ["a", "u"]),
        false => letters::index("extra", "b"),
    };
    if world.first.schema().indexes.iter().any(|i| i.name == "extra") {
        return world.db.drop_index(FIRST, "extra");
    }
    if rng.chance(0.5) {
        return world.db.create_index(FIRST, spec);
    }
    let mut tx = world.db.begin()?;
    tx.create_index(&world.first, spec)?;
    // Others commit meanwhile, and their rows belong into the index.
    world.tasks.sleep(Duration::from_micros(rng.below(2000)));
    match tx.commit() {
        Err(e) if e.kind() == ErrorKind::Conflict => Ok(()),
        done => done.map(drop),
    }
}

/// One change of the side table, noted before and after.
fn change_side(world: &World, rng: &mut Rng) -> Result<()> {
    let now = world.noted().sides.last().cloned().unwrap_or_default();
    if now.columns.is_empty() {
        let columns = vec!["id".to_owned(), "ts".to_owned()];
        return ask(world, Side { columns, ..Side::default() }, || {
            let spec = TableSpec::new(SIDE).column("id", DataType::Int8);
            let spec = spec.column("ts", DataType::Int8).primary_key(["id"]);
            world.db.create_table(spec).map(drop)
        });
    }
    let table = world.db.table(SIDE)?;
    let mut next = now.clone();
    match rng.below(14) {
        0..6 => insert(world, rng, &table, next),
        6..8 => {
            let bound = next.rows.keys().last().copied().unwrap_or(0) - rng.range(0..60);
            next.rows.retain(|id, _| *id >= bound);
            ask(world, next, || table.retain("ts", &Value::Int(bound)).map(drop))
        }
        8 => {
            next.rows.clear();
            ask(world, next, || world.db.truncate_table(SIDE))
        }
        9 if rng.chance(0.4) => ask(world, Side::default(), || world.db.drop_table(SIDE)),
        9 | 10 if next.columns.len() < 5 => add_column(world, rng, next),
        11 if next.columns.len() > 2 => {
            let at = 2 + rng.index(next.columns.len() - 2);
            let name = next.columns.remove(at);
            next.indexes.retain(|index| *index != format!("by_{name}"));
            next.rows.values_mut().for_each(|row| drop(row.remove(at)));
            let changes = TableChanges::new().drop_column_cascade(name);
            ask(world, next, || world.db.alter_table(SIDE, &changes))
        }
        _ => change_side_indexes(world, rng, next),
    }
}

fn insert(world: &World, rng: &mut Rng, table: &Table, mut next: Side) -> Result<()> {
    let from = next.rows.keys().last().map_or(0, |id| id + 1);
    let many = if rng.below(6) == 0 { 150 } else { 12 };
    let rows: Vec<Row> = (from..from + 1 + rng.range(0..many))
        .map(|id| {
            let more = (2..next.columns.len()).map(|at| Value::Int(id % (7 + at as i64)));
            [Value::Int(id), Value::Int(id)].into_iter().chain(more).collect()
        })
        .collect();
    next.rows.extend((from..).zip(rows.iter().cloned()));
    ask(world, next, || table.insert_many(&rows).map(drop))
}

fn add_column(world: &World, rng: &mut Rng, mut next: Side) -> Result<()> {
    let name = format!("c{}", world.noted().sides.len());
    let default = rng.range(0..9);
    next.columns.push(name.clone());
    next.rows.values_mut().for_each(|row| row.push(Value::Int(default)));
    let changes = TableChanges::new().add_column(name, DataType::Int4, Some(Value::Int(default)));
    ask(world, next, || world.db.alter_table(SIDE, &changes))
}

fn change_side_indexes(world: &World, rng: &mut Rng, mut next: Side) -> Result<()> {
    let column = rng.pick(&next.columns[1..]).clone();
    let name = format!("by_{column}");
    if let Some(at) = next.indexes.iter().position(|index| *index == name) {
        next.indexes.remove(at);
        return ask(world, next, || world.db.drop_index(SIDE, &name));
    }
    next.indexes.push(name.clone());
    ask(world, next, || world.db.create_index(SIDE, IndexSpec::new(name.clone(), [column])))
}

fn ask(world: &World, next: Side, change: impl FnOnce() -> Result<()>) -> Result<()> {
    world.noted().sides.push(next);
    change()?;
    let mut noted = world.noted();
    noted.sides_promised = noted.sides.len();
    Ok(())
}
