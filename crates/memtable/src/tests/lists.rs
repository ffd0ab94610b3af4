//! Does an index of lists give what a plain list of (key, row id) does?
//!
//! Random appends, joins, cuts, adoptions and flushes next to a model. `ONLAP_SEED` replays one run.

use std::collections::BTreeMap;
use std::sync::Arc;

use onlap_base::rng::Rng;
use onlap_base::{ColumnId, IndexId, RowId};
use onlap_format::key::{ColumnStats, KeyDef, Packing};
use onlap_format::{
    Batch, Column, ColumnSchema, DERIVED_FIRST, DataType, DerivedSchema, IndexSchema, KeyPart,
    Physical, TableSchema, Vector, entries,
};
use onlap_storage::entry::{Direction, EntryBatch, EntryWants, KeyBounds};

use super::fixture::{schema, tiny};
use crate::{DeadRows, ListRows, Memtable, Tuning};

const LISTS: IndexId = IndexId(50);

/// Keys of each row that is there.
type Model = BTreeMap<RowId, Vec<Vec<u8>>>;

/// A table with an ordinary index and one of lists.
fn listed() -> Arc<TableSchema> {
    let mut table = (*schema(&[DataType::Int8], &[(&[0], &[], true)])).clone();
    let id = ColumnId(DERIVED_FIRST);
    table.derived.push(DerivedSchema {
        column: ColumnSchema::new(id, "lists", DataType::Bytea, true),
        reads: vec![ColumnId(0)],
        program: String::new(),
        only_if: None,
        lists: true,
    });
    table.next_derived = 1;
    table.indexes.push(IndexSchema {
        id: LISTS,
        name: "lists".into(),
        key: vec![KeyPart { column: id, descending: false }],
        multi_entry: true,
        unique: false,
        ..table.indexes[0].clone()
    });
    Arc::new(table)
}

fn key(rng: &mut Rng) -> Vec<u8> {
    let common = b"a key with much in common ";
    let mut key = match rng.below(5) {
        0 => common.to_vec(),
        1 => vec![0; rng.index(3)],
        2 => vec![b'x'; entries::KEY_BYTES - 1],
        _ => Vec::new(),
    };
    key.push(*rng.pick(&[0, 1, 7, b'a', 255]));
    key
}

/// Rows whose first column counts on.
fn rows(rng: &mut Rng, count: usize, next: &mut i64) -> (Batch, Vec<Vec<Vec<u8>>>) {
    let (mut ids, mut lists) = (Vec::new(), Column::new(Physical::Bytes));
    let mut all = Vec::new();
    for _ in 0..count {
        *next += 1;
        ids.push(*next);
        if rng.chance(0.1) {
            lists.push_null();
            all.push(Vec::new());
            continue;
        }
        let mut keys: Vec<Vec<u8>> = (0..rng.index(6)).map(|_| key(rng)).collect();
        let list = entries::pack(&mut keys).unwrap();
        if let Vector::Bytes(v) = &mut lists.data {
            v.push(&list);
        }
        lists.pushed();
        all.push(keys);
    }
    let ids = Column { data: Vector::Int(ids), nulls: None };
    (Batch { rows: count, columns: vec![ids, lists] }, all)
}

fn key_bytes(keys: &[u8]) -> Vec<u8> {
    let def =
        KeyDef::new(vec![onlap_format::key::KeyColumn { ty: DataType::Bytea, descending: false }]);
    def.encode_values(&[onlap_format::Value::Bytes(keys.to_vec())]).unwrap()
}

fn wanted(
    model: &Model,
    bounds: &KeyBounds,
    rows: std::ops::Range<RowId>,
) -> Vec<(Vec<u8>, RowId)> {
    let all = model.range(rows).flat_map(|(row, keys)| keys.iter().map(|k| (key_bytes(k), *row)));
    let mut all: Vec<_> = all.filter(|(key, _)| bounds.contains(key)).collect();
    all.sort();
    all
}

fn look(memtable: &Memtable, model: &Model, rng: &mut Rng) {
    let bound = |rng: &mut Rng| {
        rng.chance(0.7).then(|| {
            let mut bytes = key_bytes(&key(rng));
            if rng.chance(0.1) {
                bytes.truncate(rng.index(bytes.len() + 1));
            }
            (bytes, rng.chance(0.5))
        })
    };
    let mut bounds = KeyBounds { lower: bound(rng), upper: bound(rng) };
    if rng.chance(0.3) {
        bounds = KeyBounds::prefix(&key_bytes(&key(rng)));
    }
    let end = memtable.end_row() + 3;
    let from = memtable.first_row() + rng.below(end - memtable.first_row());
    let range = match rng.below(3) {
        0 => 0..RowId::MAX,
        1 => 0..from,
        _ => from..RowId::MAX,
    };
    let wants = EntryWants {
        keys: rng.chance(0.7),
        key_columns: if rng.chance(0.5) { vec![0] } else { Vec::new() },
        include: Vec::new(),
        ..EntryWants::default()
    };
    let backward = rng.chance(0.5);
    let direction = if backward { Direction::Backward } else { Direction::Forward };
    let mut cursor = memtable.cursor(LISTS, &bounds, direction, &wants, range.clone());
    let (mut batch, mut found) = (EntryBatch::default(), Vec::new());
    while cursor.next(1 + rng.index(9), &mut batch).unwrap() {
        assert!(!batch.is_empty());
        for (i, row) in batch.row_ids.iter().enumerate() {
            let key = match (wants.keys, batch.columns.columns.first()) {
                (true, _) => batch.keys.get(i).to_vec(),
                (false, Some(Column { data: Vector::Bytes(v), .. })) => key_bytes(v.get(i)),
                _ => Vec::new(),
            };
            // Rows before the range may be among them.
            if *row >= range.start {
                found.push((key, *row));
            }
        }
    }
    assert!(!cursor.next(1, &mut batch).unwrap());
    let mut wanted = wanted(model, &bounds, range);
    if backward {
        wanted.reverse();
    }
    if !wants.keys && wants.key_columns.is_empty() {
        wanted.iter_mut().for_each(|(key, _)| key.clear());
    }
    assert_eq!(found, wanted);
}

fn flush(memtable: &Memtable, model: &Model, rng: &mut Rng, step: usize) {
    let before = memtable.heap_bytes();
    let dead: Vec<RowId> = model.keys().copied().filter(|_| rng.chance(0.2)).collect();
    let gone = |row: &RowId| dead.contains(row);
    let left: Model = model.iter().filter(|e| !gone(e.0)).map(|(r, k)| (*r, k.clone())).collect();
    let def = KeyDef::of_index(memtable.schema(), &memtable.schema().indexes[1]).unwrap();
    let mut stats = ColumnStats::new(DataType::Bytea);
    memtable.observe_lists(LISTS, &mut stats);
    assert_eq!(stats.rows() as usize, model.values().map(Vec::len).sum::<usize>());
    assert_eq!(memtable.list_entries(), stats.rows() as usize);
    let mut found = Vec::new();
    for packing in [Packing::fit(&def, &[stats]), Packing::bytes(&def)] {
        found.clear();
        for part in memtable.entries(LISTS, &packing, DeadRows::new(dead.clone())) {
            assert!(part.is_sorted() && !part.is_empty() && part.len() <= step);
            for (i, row) in part.row_ids.iter().enumerate() {
                let mut key = Vec::new();
                packing.key_bytes(&part.keys, i, &mut key).unwrap();
                found.push((key, *row));
            }
        }
        assert_eq!(found, wanted(&left, &KeyBounds::all(), 0..RowId::MAX));
    }
    assert_eq!(memtable.heap_bytes(), before, "postings were charged before they were made");
}

#[test]
fn entries_are_the_keys_of_the_rows() {
    let seeds = match std::env::var("ONLAP_SEED") {
        Ok(seed) => vec![seed.parse().unwrap()],
        Err(_) => (0..60).collect::<Vec<u64>>(),
    };
    for seed in seeds {
        println!("ONLAP_SEED={seed}");
        let mut rng = Rng::new(seed);
        let table = listed();
        let memtable = Memtable::new(Arc::clone(&table), 100, tiny());
        let (mut model, mut next) = (Model::new(), 0);
        let mut csn = 0;
        for _ in 0..rng.index(60) {
            csn += 1;
            let count = *rng.pick(&[1, 2, 5, 20, 90]);
            match rng.below(10) {
                0..5 => {
                    let (batch, keys) = rows(&mut rng, count, &mut next);
                    let first = memtable.append(&batch, csn);
                    model.extend((first..).zip(keys));
                }
                5 | 6 => {
                    let buffer = Memtable::new(Arc::clone(&table), 1 << 63, tiny());
                    let (batch, keys) = rows(&mut rng, count, &mut next);
                    buffer.append(&batch, 0);
                    let gone = (1 << 63) + rng.below(count as u64);
                    buffer.mark(gone, 1, None);
                    let (kept, _) = buffer.without_dead();
                    let first = memtable.adopt(&kept, csn);
                    let keys = keys.into_iter().enumerate();
                    let keys = keys.filter(|(i, _)| (1 << 63) + *i as u64 != gone).map(|k| k.1);
                    model.extend((first..).zip(keys));
                }
                7 => {
                    if let Some(work) = memtable.pending_work() {
                        work.run();
                    }
                }
                8 => {
                    let next = memtable.end_row() + rng.below(3);
                    memtable.skip_to(next);
                }
                _ => look(&memtable, &model, &mut rng),
            }
        }
        look(&memtable, &model, &mut rng);
        memtable.freeze();
        (0..3).for_each(|_| look(&memtable, &model, &mut rng));
        flush(&memtable, &model, &mut rng, tiny().flush_rows);
        while let Some(work) = memtable.pending_work() {
            work.run();
        }
        flush(&memtable, &model, &mut rng, tiny().flush_rows);
    }
}

#[test]
fn rows_are_cut_off_with_their_entries() {
    let mut rng = Rng::new(5);
    let buffer = Memtable::new(listed(), 1 << 63, tiny());
    let (mut model, mut next) = (Model::new(), 0);
    for round in 0..40 {
        let (batch, keys) = rows(&mut rng, 1 + round % 30, &mut next);
        let first = buffer.append(&batch, round as u64);
        model.extend((first..).zip(keys));
        look(&buffer, &model, &mut rng);
        if rng.chance(0.3) {
            let end = buffer.end_row() - rng.below(buffer.rows() as u64 + 1);
            buffer.truncate(end, round as u64);
            model.retain(|row, _| *row < end);
        }
        look(&buffer, &model, &mut rng);
    }
}

/// As many entries as are sorted at once, and more, in one chunk.
#[test]
fn many_entries_are_sorted_in_stretches() {
    let mut rng = Rng::new(6);
    let memtable = Memtable::new(listed(), 0, Tuning::default());
    let (mut lists, mut model) = (Column::new(Physical::Bytes), Model::new());
    for row in 0..900 {
        let mut keys: Vec<Vec<u8>> =
            (0..200).map(|_| (rng.below(50_000) as u32).to_be_bytes()[1..].to_vec()).collect();
        if let Vector::Bytes(v) = &mut lists.data {
            v.push(&entries::pack(&mut keys).unwrap());
        }
        model.insert(row, keys);
    }
    let ids = Column { data: Vector::Int((0..900).collect()), nulls: None };
    memtable.append(&Batch { rows: 900, columns: vec![ids, lists.clone()] }, 1);
    memtable.freeze();
    flush(&memtable, &model, &mut rng, Tuning::default().flush_rows);
    (0..20).for_each(|_| look(&memtable, &model, &mut rng));

    let alone = ListRows::new(lists, (0..900).collect());
    let def = KeyDef::of_index(memtable.schema(), &memtable.schema().indexes[1]).unwrap();
    let mut stats = ColumnStats::new(DataType::Bytea);
    alone.observe(&mut stats);
    let packing = Packing::fit(&def, &[stats]);
    let found: Vec<RowId> = alone.entries(&packing, 1000).flat_map(|e| e.row_ids).collect();
    let wanted = wanted(&model, &KeyBounds::all(), 0..RowId::MAX);
    assert_eq!(found, wanted.into_iter().map(|e| e.1).collect::<Vec<_>>());
}
