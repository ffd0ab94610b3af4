//! Random operations next to a model: a list of rows, a map of marks, sorting by key bytes.
//!
//! Every run prints its seed. `ONLAP_SEED` replays one run, `ONLAP_RUNS` asks for more.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use onlap_base::rng::Rng;
use onlap_base::tasks::{SimTasks, Tasks};
use onlap_base::{Csn, RowId};
use onlap_format::key::{ColumnStats, KeyDef, Packing};
use onlap_format::{Batch, BytesVec, Column, DataType, TableSchema, Vector};
use onlap_storage::entry::{Direction, EntryBatch, EntryWants, KeyBounds};
use parking_lot::Mutex;

use super::fixture::{push_random, random_rows, schema, tiny};
use crate::{DeadRows, Memtable, Work};

/// Rows, marks and commits as plainly as can be.
struct Model {
    schema: Arc<TableSchema>,
    rows: Batch,
    ids: Vec<RowId>,
    csns: Vec<Csn>,
    marks: BTreeMap<RowId, (Csn, Option<RowId>)>,
    csn: Csn,
}

impl Model {
    fn new(schema: &Arc<TableSchema>) -> Model {
        Model {
            schema: Arc::clone(schema),
            rows: Batch::new(schema.columns.iter().map(|c| c.ty.physical())),
            ids: Vec::new(),
            csns: Vec::new(),
            marks: BTreeMap::new(),
            csn: 0,
        }
    }

    fn append(&mut self, batch: &Batch, first: RowId) {
        self.rows.extend_range(batch, 0..batch.rows);
        self.ids.extend(first..first + batch.rows as RowId);
        self.csns.resize(self.ids.len(), self.csn);
    }

    fn def(&self, index: usize) -> KeyDef {
        KeyDef::of_index(&self.schema, &self.schema.indexes[index]).unwrap()
    }

    fn key_columns<'a>(&self, index: usize, rows: &'a Batch) -> Vec<&'a Column> {
        let key = &self.schema.indexes[index].key;
        key.iter().map(|p| &rows.columns[self.schema.position(p.column).unwrap()]).collect()
    }

    fn key(&self, index: usize, row: usize) -> Vec<u8> {
        let mut key = Vec::new();
        self.def(index).encode_row(&self.key_columns(index, &self.rows), row, &mut key);
        key
    }

    /// (key, place) of every row, sorted by (key, row id).
    fn entries(&self, index: usize) -> Vec<(Vec<u8>, usize)> {
        let mut all: Vec<_> = (0..self.rows.rows).map(|i| (self.key(index, i), i)).collect();
        all.sort();
        all
    }

    /// A bound out of the values that occur: all or the leading columns of a random row's key,
    /// sometimes cut in the middle of a value.
    fn bound(&self, index: usize, rng: &mut Rng) -> Vec<u8> {
        let mut one = Batch::new(self.schema.columns.iter().map(|c| c.ty.physical()));
        for (c, column) in self.schema.columns.iter().zip(&mut one.columns) {
            push_random(c.ty, rng, column);
        }
        one.rows = 1;
        let columns = self.key_columns(index, &one);
        let count = rng.index(columns.len()) + 1;
        let def = KeyDef { columns: self.def(index).columns[..count].to_vec() };
        let mut key = Vec::new();
        def.encode_row(&columns[..count], 0, &mut key);
        if rng.chance(0.1) {
            key.truncate(rng.index(key.len()) + 1);
        }
        key
    }
}

fn random_schema(rng: &mut Rng) -> Arc<TableSchema> {
    use DataType::*;
    let types = [
        Int8,
        Int4,
        Text,
        Float8,
        Numeric(None),
        Uuid,
        Bytea,
        Bool,
        Numeric(Some((20, 4))),
        Char(30),
        Int2,
        Timestamp,
    ];
    let mut indexes: Vec<(Vec<i32>, Vec<usize>, bool)> = vec![(vec![0], vec![], true)];
    for _ in 0..rng.index(4) + 1 {
        let mut columns: Vec<usize> = (0..types.len()).collect();
        rng.shuffle(&mut columns);
        let key = rng.index(4) + 1;
        let direction = |&c: &usize, rng: &mut Rng| {
            if rng.chance(0.4) { -(c as i32) - 1 } else { c as i32 }
        };
        let parts = columns[..key].iter().map(|c| direction(c, rng)).collect();
        let include = columns[key..key + rng.index(3)].to_vec();
        indexes.push((parts, include, rng.chance(0.3)));
    }
    let indexes: Vec<(&[i32], &[usize], bool)> =
        indexes.iter().map(|(k, i, u)| (k.as_slice(), i.as_slice(), *u)).collect();
    schema(&types, &indexes)
}

fn check_cursor(memtable: &Memtable, model: &Model, rng: &mut Rng) {
    let index = rng.index(model.schema.indexes.len());
    let shape = &model.schema.indexes[index];
    let bound = |rng: &mut Rng| rng.chance(0.7).then(|| (model.bound(index, rng), rng.chance(0.5)));
    let bounds = KeyBounds { lower: bound(rng), upper: bound(rng) };
    let direction = if rng.chance(0.5) { Direction::Forward } else { Direction::Backward };
    let some = |n: usize, rng: &mut Rng| (0..n).filter(|_| rng.chance(0.5)).collect::<Vec<_>>();
    let wants = EntryWants {
        keys: rng.chance(0.8),
        key_columns: some(shape.key.len(), rng),
        include: some(shape.include.len(), rng),
        ..EntryWants::default()
    };
    let upto = match rng.index(3) {
        0 => RowId::MAX,
        _ => memtable.first_row() + rng.below(model.ids.len() as u64 + 20),
    };
    let mut expected: Vec<(Vec<u8>, usize)> = model
        .entries(index)
        .into_iter()
        .filter(|(key, i)| bounds.contains(key) && model.ids[*i] < upto)
        .collect();
    if direction == Direction::Backward {
        expected.reverse();
    }
    let mut cursor = memtable.cursor(shape.id, &bounds, direction, &wants, 0..upto);
    let mut out = EntryBatch::default();
    let (mut keys, mut ids) = (BytesVec::default(), Vec::new());
    let mut columns: Option<Batch> = None;
    while cursor.next(rng.index(40) + 1, &mut out).unwrap() {
        assert!(!out.is_empty());
        keys.extend_range(&out.keys, 0..out.keys.len());
        ids.extend_from_slice(&out.row_ids);
        match &mut columns {
            None => columns = Some(out.columns.clone()),
            Some(all) => all.extend_range(&out.columns, 0..out.columns.rows),
        }
    }
    assert!(out.is_empty() && !cursor.next(5, &mut out).unwrap());
    let expected_ids: Vec<RowId> = expected.iter().map(|(_, i)| model.ids[*i]).collect();
    assert_eq!(ids, expected_ids, "entries of {shape:?} in {bounds:?} {direction:?} upto {upto}");
    if wants.keys {
        assert!(keys.iter().eq(expected.iter().map(|(k, _)| k.as_slice())));
    }
    let wanted = wants.key_columns.iter().map(|&k| shape.key[k].column);
    let wanted = wanted.chain(wants.include.iter().map(|&c| shape.include[c]));
    let columns = columns.unwrap_or_default();
    for (column, id) in columns.columns.iter().zip(wanted) {
        let rows = &model.rows.columns[model.schema.position(id).unwrap()];
        for (at, (_, i)) in expected.iter().enumerate() {
            assert!(same_value(column, at, rows, *i));
        }
    }
}

fn same_value(a: &Column, i: usize, b: &Column, j: usize) -> bool {
    let one = |c: &Column, at: usize| {
        let mut out = Column::new(c.data.physical());
        out.extend_range(c, at..at + 1);
        (out.data, c.is_null(at))
    };
    one(a, i) == one(b, j)
}

fn check_rows(memtable: &Memtable, model: &Model, rng: &mut Rng) {
    let end = memtable.end_row();
    let projection: Vec<usize> =
        (0..model.schema.columns.len()).filter(|_| rng.chance(0.4)).collect();
    let near = |rng: &mut Rng| memtable.first_row() + rng.below(end - memtable.first_row() + 5);
    let (a, b) = (near(rng), near(rng));
    let range = a.min(b)..a.max(b);
    let pieces = memtable.pieces(range.clone(), &projection);
    let mut ids = Vec::new();
    for piece in &pieces {
        for i in piece.range() {
            let place = model.ids.binary_search(&piece.row_id(i)).expect("rows are appended once");
            for &c in &projection {
                let (mine, theirs) = (&piece.batch().columns[c], &model.rows.columns[c]);
                assert!(same_value(mine, i, theirs, place));
            }
        }
        piece.extend_ids(&mut ids);
    }
    let expected: Vec<RowId> = model.ids.iter().copied().filter(|r| range.contains(r)).collect();
    assert_eq!(ids, expected);

    let mut wanted: Vec<RowId> = (0..rng.index(30)).map(|_| near(rng)).collect();
    wanted.sort_unstable();
    let mut out = Batch::new(projection.iter().map(|&c| model.schema.columns[c].ty.physical()));
    let mut found = Vec::new();
    memtable.read_rows(&wanted, &projection, &mut out, &mut found);
    let there: Vec<usize> =
        (0..wanted.len()).filter(|&i| model.ids.binary_search(&wanted[i]).is_ok()).collect();
    assert_eq!(found, there);
    assert_eq!(out.rows, found.len());
    for (at, &i) in found.iter().enumerate() {
        let place = model.ids.binary_search(&wanted[i]).unwrap();
        for (&c, column) in projection.iter().zip(&out.columns) {
            assert!(same_value(column, at, &model.rows.columns[c], place));
        }
    }
}

fn check_marks(memtable: &Memtable, model: &Model, rng: &mut Rng) {
    let row = memtable.first_row().saturating_sub(50) + rng.below(model.ids.len() as u64 + 60);
    assert_eq!(memtable.mark_of(row), model.marks.get(&row).copied());
    let csn = rng.below(model.csn + 2);
    let dead = |r: &RowId| model.marks.get(r).is_some_and(|m| m.0 <= csn);
    let rows: Vec<RowId> = (row..row + rng.below(100)).filter(|_| rng.chance(0.5)).collect();
    let mut keep = vec![true; rows.len()];
    memtable.drop_dead(&rows, csn, &mut keep);
    assert_eq!(keep, rows.iter().map(|r| !dead(r)).collect::<Vec<_>>());
    let expected: Vec<RowId> = (row..row + 70).filter(dead).collect();
    assert_eq!(memtable.dead_rows(row..row + 70, csn), expected);
    assert_eq!(memtable.marks(), model.marks.len());
}

fn check_keys(memtable: &Memtable, model: &Model, rng: &mut Rng) {
    if model.ids.is_empty() {
        return;
    }
    for (index, shape) in model.schema.indexes.iter().enumerate().filter(|(_, i)| i.unique) {
        let place = rng.index(model.ids.len());
        let mut key = model.key(index, place);
        if rng.chance(0.1) {
            key = model.key(index, 0);
            *key.last_mut().unwrap() ^= 1;
        }
        let mut below = if rng.chance(0.5) { RowId::MAX } else { model.ids[place] + 1 };
        loop {
            let expected = (0..model.ids.len())
                .rev()
                .find(|&i| model.ids[i] < below && model.key(index, i) == key)
                .map(|i| model.ids[i]);
            assert_eq!(memtable.newest_with_key(shape.id, &key, below), expected, "{shape:?}");
            match expected {
                Some(row) => below = row,
                None => break,
            }
        }
    }
}

fn check_commits(memtable: &Memtable, model: &Model) {
    for (i, &row) in model.ids.iter().enumerate() {
        assert_eq!(memtable.csn_of(row), Some(model.csns[i]));
    }
    for csn in 0..=model.csn {
        let seen = model.csns.partition_point(|&c| c <= csn);
        let end = memtable.end_at(csn);
        assert_eq!(model.ids.partition_point(|&r| r < end), seen);
    }
    assert_eq!(memtable.rows(), model.ids.len());
}

fn check_flush(memtable: &Memtable, model: &Model, rng: &mut Rng) {
    let horizon = rng.below(model.csn + 1);
    let dead = if rng.chance(0.3) {
        DeadRows::none()
    } else {
        DeadRows::new(memtable.dead_rows(0..RowId::MAX, horizon))
    };
    let mut live = (0..model.ids.len()).filter(|&i| !dead.contains(model.ids[i]));
    for (batch, ids) in memtable.batches(dead.clone()) {
        assert!(batch.rows == ids.len() && batch.rows <= tiny().flush_rows);
        for (at, &id) in ids.iter().enumerate() {
            let place = live.next().unwrap();
            assert_eq!(id, model.ids[place]);
            for (mine, theirs) in batch.columns.iter().zip(&model.rows.columns) {
                assert!(same_value(mine, at, theirs, place));
            }
        }
    }
    assert_eq!(live.next(), None);
    for (index, shape) in model.schema.indexes.iter().enumerate() {
        let columns = model.key_columns(index, &model.rows);
        let def = model.def(index);
        let stats = def.columns.iter().zip(&columns).map(|(d, c)| {
            let mut stats = ColumnStats::new(d.ty);
            stats.observe(c, 0..c.len());
            stats
        });
        let packing = Packing::fit(&def, &stats.collect::<Vec<_>>());
        let mut expected = model.entries(index).into_iter();
        for entries in memtable.entries(shape.id, &packing, dead.clone()) {
            assert!(!entries.is_empty() && entries.len() <= tiny().flush_rows);
            for i in 0..entries.len() {
                let next = expected.find(|(_, place)| !dead.contains(model.ids[*place]));
                let (key, place) = next.unwrap();
                let mut mine = Vec::new();
                packing.key_bytes(&entries.keys, i, &mut mine).unwrap();
                assert_eq!((mine, entries.row_ids[i]), (key, model.ids[place]));
                for (column, id) in entries.include.columns.iter().zip(&shape.include) {
                    let theirs = &model.rows.columns[model.schema.position(*id).unwrap()];
                    assert!(same_value(column, i, theirs, place));
                }
            }
        }
        assert!(expected.all(|(_, place)| dead.contains(model.ids[place])));
    }
}

/// Counters of clients that commit in turns: their keys interleave.
struct Counters(Vec<i64>);

impl Counters {
    fn rows(&mut self, schema: &TableSchema, rng: &mut Rng, count: usize) -> Batch {
        let (clients, client) = (self.0.len() as i64, rng.index(self.0.len()));
        let mut batch = random_rows(schema, rng, count, Some(&mut self.0[client]));
        let Vector::Int(keys) = &mut batch.columns[0].data else { panic!("column 0 counts") };
        keys.iter_mut().for_each(|k| *k = *k * clients + client as i64);
        batch
    }
}

fn step(memtable: &Memtable, model: &mut Model, counters: &mut Counters, rng: &mut Rng) {
    match rng.index(10) {
        0..=4 => {
            let count = match rng.index(6) {
                0 => rng.index(150),
                1 => 0,
                _ => rng.index(12) + 1,
            };
            model.csn += 1 + rng.below(3);
            let batch = if rng.chance(0.97) {
                counters.rows(&model.schema, rng, count)
            } else {
                random_rows(&model.schema, rng, count, None)
            };
            let first = memtable.append(&batch, model.csn);
            model.append(&batch, first);
        }
        5 => {
            model.csn += 1;
            for _ in 0..rng.index(20) {
                let row = memtable.first_row().saturating_sub(50)
                    + rng.below(model.ids.len() as u64 + 50);
                let successor = rng.chance(0.5).then_some(row + 1000);
                memtable.mark(row, model.csn, successor);
                model.marks.entry(row).or_insert((model.csn, successor));
            }
        }
        6 if rng.chance(0.1) => memtable.skip_to(memtable.end_row() + rng.below(40)),
        7 if !model.ids.is_empty() => {
            // Adoption of what a transaction inserted, without the rows it deleted itself.
            model.csn += 1;
            let buffer = Memtable::new(model.schema.clone(), onlap_base::PROVISIONAL_BASE, tiny());
            let count = rng.index(80);
            let batch = counters.rows(&model.schema, rng, count);
            buffer.append(&batch, 0);
            let dead: Vec<usize> = (0..count).filter(|_| rng.chance(0.1)).collect();
            dead.iter().for_each(|&i| {
                buffer.mark(onlap_base::PROVISIONAL_BASE + i as RowId, 0, None);
            });
            let (rows, numbers) = buffer.without_dead();
            let first = memtable.adopt(&rows, model.csn);
            let mut next = first;
            for i in 0..count {
                let provisional = onlap_base::PROVISIONAL_BASE + i as RowId;
                let id = numbers.map(provisional, first);
                assert_eq!(id.is_none(), dead.contains(&i));
                if let Some(id) = id {
                    assert_eq!(id, next);
                    let mut row = Batch::new(model.schema.columns.iter().map(|c| c.ty.physical()));
                    row.extend_range(&batch, i..i + 1);
                    model.append(&row, id);
                    next += 1;
                }
            }
        }
        _ => {
            check_cursor(memtable, model, rng);
            check_rows(memtable, model, rng);
            check_marks(memtable, model, rng);
            check_keys(memtable, model, rng);
        }
    }
}

fn run(seed: u64) {
    let rng = &mut Rng::new(seed);
    let schema = random_schema(rng);
    let first = if rng.chance(0.5) { 0 } else { 1000 };
    let memtable = Memtable::new(schema.clone(), first, tiny());
    let mut model = Model::new(&schema);
    let mut counters = Counters(vec![0; rng.index(3) + 1]);
    let mut works: Vec<Work> = Vec::new();
    for _ in 0..rng.index(120) {
        step(&memtable, &mut model, &mut counters, rng);
        if rng.chance(0.6) {
            works.extend(memtable.pending_work());
        }
        if rng.chance(0.5) && !works.is_empty() {
            let work = works.swap_remove(rng.index(works.len()));
            if rng.chance(0.9) {
                work.run();
            }
        }
    }
    check_commits(&memtable, &model);
    memtable.freeze();
    check_cursor(&memtable, &model, rng);
    check_flush(&memtable, &model, rng);
}

fn seeds(runs: u64) -> std::ops::Range<u64> {
    let number = |name| std::env::var(name).ok().and_then(|s| s.parse::<u64>().ok());
    match number("ONLAP_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("ONLAP_RUNS").unwrap_or(runs),
    }
}

fn with_seed(runs: u64, test: fn(u64)) {
    for seed in seeds(runs) {
        let outcome = std::panic::catch_unwind(|| test(seed));
        if let Err(panic) = outcome {
            eprintln!("failed with ONLAP_SEED={seed}");
            std::panic::resume_unwind(panic);
        }
    }
}

#[test]
fn random_operations_match_the_model() {
    with_seed(150, run);
}

/// A writer, readers and background workers as tasks, in an order that follows from the seed.
fn run_with_tasks(seed: u64) {
    let mut rng = Rng::new(seed);
    let tasks = Arc::new(SimTasks::new(seed));
    let schema = random_schema(&mut rng);
    let memtable = Arc::new(Memtable::new(schema.clone(), 0, tiny()));
    let model = Arc::new(Mutex::new(Model::new(&schema)));
    let mut handles = Vec::new();
    let writer = {
        let (memtable, model, mut rng) = (memtable.clone(), model.clone(), rng.fork());
        let tasks = tasks.clone();
        move || {
            let mut counters = Counters(vec![0; rng.index(3) + 1]);
            for _ in 0..60 {
                step(&memtable, &mut model.lock(), &mut counters, &mut rng);
                tasks.yield_now();
            }
        }
    };
    handles.push(tasks.spawn("writer", Box::new(writer)));
    for number in 0..2 {
        let (memtable, scheduler) = (memtable.clone(), tasks.clone());
        let worker = move || {
            for _ in 0..40 {
                let work = memtable.pending_work();
                // Others run while the work is taken and not done.
                scheduler.yield_now();
                if let Some(work) = work {
                    work.run();
                }
                scheduler.yield_now();
            }
        };
        handles.push(tasks.spawn(&format!("worker {number}"), Box::new(worker)));
    }
    let reader = {
        let (memtable, model, mut rng) = (memtable.clone(), model.clone(), rng.fork());
        let tasks = tasks.clone();
        move || {
            for _ in 0..30 {
                check_cursor(&memtable, &model.lock(), &mut rng);
                tasks.yield_now();
                check_long_cursor(&memtable, &model, &*tasks, &mut rng);
            }
        }
    };
    handles.push(tasks.spawn("reader", Box::new(reader)));
    for handle in handles {
        handle.join().unwrap_or_else(|message| panic!("{message}"));
    }
    memtable.freeze();
    check_flush(&memtable, &model.lock(), &mut rng);
}

/// A cursor gives what was there when it was opened, whatever happens between its steps.
fn check_long_cursor(memtable: &Memtable, model: &Mutex<Model>, tasks: &dyn Tasks, rng: &mut Rng) {
    let (mut cursor, expected) = {
        let model = model.lock();
        let index = rng.index(model.schema.indexes.len());
        let wants = EntryWants { keys: true, ..EntryWants::default() };
        let id = model.schema.indexes[index].id;
        let cursor =
            memtable.cursor(id, &KeyBounds::all(), Direction::Forward, &wants, 0..RowId::MAX);
        let expected: HashMap<RowId, Vec<u8>> =
            model.entries(index).into_iter().map(|(k, i)| (model.ids[i], k)).collect();
        (cursor, expected)
    };
    let mut out = EntryBatch::default();
    let mut count = 0;
    while cursor.next(7, &mut out).unwrap() {
        for (key, row) in out.keys.iter().zip(&out.row_ids) {
            assert_eq!(expected[row], key);
        }
        count += out.len();
        tasks.yield_now();
    }
    assert_eq!(count, expected.len());
}

#[test]
fn tasks_in_any_order_match_the_model() {
    with_seed(25, run_with_tasks);
}
