//! Clients that write blindly and otherwise, and what they saw, judged by a replay in commit order.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use onlap::{
    Csn, Database, ErrorKind, Isolation, KeyRange, Row, Scan, Snapshot, Table, Transaction,
    TransactionOptions, Value,
};
use onlap_base::rng::Rng;
use onlap_base::tasks::Tasks;

use crate::support::{integer, rows_of};

pub const KEYS: u64 = 60;

/// What a transaction did to a key.
#[derive(Clone, Debug)]
enum Step {
    Upserted(i64, Row),
    DeletedBlindly(i64),
    /// The key was free.
    Inserted(i64, Row),
    /// The row was there.
    Deleted(i64),
    /// What it was, and what it became.
    Updated(Row, Row),
}

#[derive(Default)]
pub struct Noted {
    commits: Vec<(Csn, Vec<Step>)>,
    scans: Vec<(Csn, Vec<Row>)>,
    pub conflicts: usize,
}

pub struct World {
    pub db: Database,
    pub table: Table,
    pub tasks: Arc<dyn Tasks>,
    pub noted: Mutex<Noted>,
}

fn random_row(rng: &mut Rng, id: i64) -> Row {
    let text = Value::Text("some text to fill blocks with".repeat(rng.index(3)));
    vec![Value::Int(id), Value::Int(rng.below(12) as i64), text]
}

pub fn write(world: &World, mut rng: Rng, transactions: usize) {
    for _ in 0..transactions {
        let level = *rng.pick(&[
            Isolation::ReadCommitted,
            Isolation::ReadCommitted,
            Isolation::ReadCommitted,
            Isolation::RepeatableRead,
            Isolation::Serializable,
        ]);
        let mut tx = world.db.begin_with(TransactionOptions::at(level)).unwrap();
        let mut steps = Vec::new();
        let ended = (0..1 + rng.below(4)).try_for_each(|_| {
            if rng.chance(0.3) {
                world.tasks.yield_now();
            }
            step(world, &mut rng, &mut tx, level, &mut steps)
        });
        world.tasks.yield_now();
        match ended.and_then(|()| tx.commit()) {
            Ok(csn) => world.noted.lock().unwrap().commits.push((csn, steps)),
            Err(e) => {
                let known = [ErrorKind::Conflict, ErrorKind::DuplicateKey, ErrorKind::Deadlock];
                assert!(known.contains(&e.kind()), "{e}");
                world.noted.lock().unwrap().conflicts += 1;
            }
        }
        if rng.chance(0.1) {
            world.tasks.sleep(Duration::from_micros(rng.below(50)));
        }
    }
}

fn step(
    world: &World,
    rng: &mut Rng,
    tx: &mut Transaction,
    level: Isolation,
    steps: &mut Vec<Step>,
) -> onlap::Result<()> {
    let table = &world.table;
    let id = rng.below(KEYS) as i64;
    let key = [Value::Int(id)];
    // A transaction that looks at its own work is the model's business.
    if steps.iter().any(|step| step.id() == id) {
        return Ok(());
    }
    let row = random_row(rng, id);
    match rng.below(10) {
        0..3 if level == Isolation::ReadCommitted => {
            tx.upsert(table, &row)?;
            steps.push(Step::Upserted(id, row));
        }
        3 if level == Isolation::ReadCommitted => {
            tx.delete_blind(table, &key)?;
            steps.push(Step::DeletedBlindly(id));
        }
        4 => {
            tx.insert(table, &row)?;
            steps.push(Step::Inserted(id, row));
        }
        5 => {
            if tx.delete(table, &key)? {
                steps.push(Step::Deleted(id));
            }
        }
        6 => {
            let found = tx.index_row_ids(table, "by_a", KeyRange::eq([row[1].clone()]))?;
            let fetched = tx.fetch(table, &found[..found.len().min(1)], Some(&["id"]))?;
            if fetched.is_empty() {
                return Ok(());
            }
            let id = integer(&fetched.row(0)[0]);
            if steps.iter().all(|s| s.id() != id) && tx.delete_rows(table, &fetched.row_ids)? > 0 {
                steps.push(Step::Deleted(id));
            }
        }
        _ => {
            let mut seen = None;
            let found = tx.update_with(table, &key, &["a"], |row| {
                let before = row.clone();
                row[1] = Value::Int((integer(&row[1]) + 1) % 12);
                seen = Some((before, row.clone()));
                Ok(())
            })?;
            if let Some((before, after)) = seen.filter(|_| found) {
                steps.push(Step::Updated(before, after));
            }
        }
    }
    Ok(())
}

impl Step {
    fn id(&self) -> i64 {
        match self {
            Step::Upserted(id, _) | Step::DeletedBlindly(id) => *id,
            Step::Inserted(id, _) | Step::Deleted(id) => *id,
            Step::Updated(row, _) => integer(&row[0]),
        }
    }

    fn apply(&self, model: &mut BTreeMap<i64, Row>) {
        let id = self.id();
        match self {
            Step::Upserted(_, row) => drop(model.insert(id, row.clone())),
            Step::DeletedBlindly(_) => drop(model.remove(&id)),
            Step::Inserted(_, row) => {
                let before = model.insert(id, row.clone());
                assert!(before.is_none(), "{id} was inserted beside {before:?}");
            }
            Step::Deleted(_) => assert!(model.remove(&id).is_some(), "{id} was deleted twice"),
            Step::Updated(before, after) => {
                let found = model.insert(id, after.clone());
                assert_eq!(found.as_ref(), Some(before), "an update lost another one's work");
            }
        }
    }
}

pub fn read(world: &World, mut rng: Rng, looks: usize) {
    let mut held: Vec<(Snapshot, Vec<Row>)> = Vec::new();
    for _ in 0..looks {
        let snapshot = world.db.snapshot().unwrap();
        if rng.chance(0.5) {
            // A short range next to the whole.
            let a = Value::Int(rng.below(12) as i64);
            let range = KeyRange::eq([a.clone()]);
            let scan = Scan::all().columns(["a", "id"]);
            let found = snapshot.index_scan(&world.table, "by_a", range, scan).unwrap();
            let ids: Vec<i64> = found.rows().unwrap().iter().map(|r| integer(&r[1])).collect();
            let all = rows_of(&snapshot, &world.table).unwrap();
            let mut ids_now: Vec<i64> = ids.clone();
            ids_now.sort_unstable();
            let expected: Vec<i64> =
                all.iter().filter(|r| r[1] == a).map(|r| integer(&r[0])).collect();
            assert_eq!(ids_now, expected, "by_a = {a:?}");
        }
        let rows = rows_of(&snapshot, &world.table).unwrap();
        world.noted.lock().unwrap().scans.push((snapshot.csn(), rows.clone()));
        if held.len() < 3 {
            held.push((snapshot, rows));
        } else {
            let (snapshot, before) = held.swap_remove(rng.index(3));
            assert!(rows_of(&snapshot, &world.table).unwrap() == before, "a snapshot changed");
        }
        world.tasks.yield_now();
        world.tasks.sleep(Duration::from_micros(rng.below(80)));
    }
}

pub fn look_after(world: &World, mut rng: Rng, times: usize) {
    for _ in 0..times {
        match rng.below(8) {
            0..4 => world.db.flush().unwrap(),
            4 => world.db.settle().unwrap(),
            5 if world.table.schema().index_by_name("extra").is_none() => {
                let spec = onlap::IndexSpec::new("extra", ["t"]);
                world.db.create_index("t", spec).unwrap();
            }
            _ => {}
        }
        world.tasks.sleep(Duration::from_micros(rng.below(200)));
    }
}

/// Everything that was seen is what the commits lead to in their order; what is left at the end.
pub fn judge(noted: &mut Noted) -> Vec<Row> {
    noted.commits.sort_by_key(|(csn, _)| *csn);
    noted.scans.sort_by_key(|(csn, _)| *csn);
    let mut model = BTreeMap::new();
    let mut commits = noted.commits.iter().peekable();
    for (csn, rows) in &noted.scans {
        while let Some((_, steps)) = commits.next_if(|(at, _)| at <= csn) {
            steps.iter().for_each(|step| step.apply(&mut model));
        }
        let expected: Vec<Row> = model.values().cloned().collect();
        assert!(*rows == expected, "at commit {csn}:\n{rows:?}\nexpected\n{expected:?}");
    }
    commits.for_each(|(_, steps)| steps.iter().for_each(|step| step.apply(&mut model)));
    model.into_values().collect()
}
