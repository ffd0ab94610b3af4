//! Do the parts hold on their own, with sizes and values that the model does not reach?

use std::collections::HashMap;
use std::sync::Arc;

use onlap_base::rng::Rng;
use onlap_base::{Csn, IndexId, RowId};
use onlap_format::key::{ColumnStats, KeyDef, Packing};
use onlap_format::{Batch, Column, DataType, TableSchema, Value, Vector};
use onlap_storage::entry::{Direction, EntryBatch, EntryWants, KeyBounds};

use super::fixture::{push_random, schema, tiny};
use crate::commits::Commits;
use crate::marks::{Mark, Marks, OPEN_MARKS};
use crate::order::Order;
use crate::prefix::PlanBook;
use crate::rank::compare_rows;
use crate::shape::Shape;
use crate::work::{Choice, Size, choose};
use crate::{DeadRows, Memtable, Tuning};

/// A column of a type with a given spread: values that differ in many bits, in few, or hardly.
fn column(ty: DataType, spread: usize, n: usize, rng: &mut Rng) -> Column {
    let mut column = Column::new(ty.physical());
    for i in 0..n {
        let any = rng.next_u64();
        let bits = [63, 40, 17, 3, 0][spread % 5];
        let value = (any & ((1 << bits) - 1)) as i64;
        match &mut column.data {
            Vector::Int(v) => v.push(if spread == 5 { i as i64 } else { value }),
            Vector::Wide(v) => v.push(i128::from(value) << (spread * 12)),
            Vector::Bytes(v) => {
                v.push(format!("shared/{value:0width$x}", width = spread).as_bytes())
            }
            Vector::Numeric(..) => {
                push_random(ty, rng, &mut column);
                continue;
            }
        }
        column.pushed();
    }
    column
}

#[test]
fn chunks_of_every_size_and_spread_sort_as_rows_compare() {
    let mut rng = Rng::new(7);
    let types = [DataType::Int8, DataType::Uuid, DataType::Text, DataType::Numeric(None)];
    let schema =
        schema(&types, &[(&[0], &[], false), (&[1, -1], &[], false), (&[-3, 3], &[], false)]);
    let shape = Shape::new(schema);
    for n in [1, 2, 255, 256, 1024, 2048, 2049, 16384] {
        for spread in 0..6 {
            let columns = types.iter().map(|&ty| column(ty, spread, n, &mut rng)).collect();
            let rows = Batch { columns, rows: n };
            for index in &shape.indexes {
                let Order::Sorted { plan, prefixes, picks } =
                    Order::of_rows(index, &PlanBook::default(), &shape.forms, &rows)
                else {
                    let le = |i| compare_rows(&index.fields, &rows, i - 1, &rows, i).is_le();
                    assert!((1..n).all(le));
                    continue;
                };
                let mut expected: Vec<usize> = (0..n).collect();
                expected.sort_by(|&a, &b| compare_rows(&index.fields, &rows, a, &rows, b));
                assert!(
                    picks.iter().map(|&p| p as usize).eq(expected),
                    "{n} rows, spread {spread}"
                );
                assert!(prefixes.is_sorted());
                let own = |(&p, &row): (&u64, &u32)| plan.prefix(&rows, row as usize) == p;
                assert!(prefixes.iter().zip(&picks).all(own));
            }
        }
    }
}

#[test]
fn a_plan_locates_values_inside_and_outside_its_range() {
    let mut rng = Rng::new(11);
    let types = [
        DataType::Int4,
        DataType::Text,
        DataType::Float8,
        DataType::Bytea,
        DataType::Numeric(None),
    ];
    for _ in 0..300 {
        let field = rng.index(types.len()) as i32;
        let key = [if rng.chance(0.5) { -field - 1 } else { field }, 0];
        let shape = Shape::new(schema(&types, &[(&key, &[], false)]));
        let index = &shape.indexes[0];
        let random = |n: usize, rng: &mut Rng| {
            let mut rows = Batch::new(shape.forms.iter().copied());
            for (&ty, column) in types.iter().zip(&mut rows.columns) {
                (0..n).for_each(|_| push_random(ty, rng, column));
            }
            rows.rows = n;
            rows
        };
        let count = rng.index(5) + 1;
        let rows = random(count, &mut rng);
        let plan = PlanBook::default().covering(&index.fields, &[&rows]);
        let other = random(1, &mut rng);
        let taken = rng.index(2) + 1;
        let values: Vec<Column> =
            index.fields[..taken].iter().map(|f| other.columns[f.column].clone()).collect();
        let range = plan.range_of(&values);
        for i in 0..count {
            let prefix = u128::from(plan.prefix(&rows, i));
            let order = compare_rows(&index.fields[..taken], &rows, i, &other, 0);
            let place = if prefix < range.low {
                assert!(order.is_lt(), "{plan:?} {values:?} {range:?}");
                continue;
            } else if prefix >= range.high {
                order.is_gt()
            } else {
                order.is_eq() || !range.certain
            };
            assert!(place, "{plan:?} {values:?} {range:?}");
        }
    }
}

fn sizes(weights: &[usize]) -> Vec<Size> {
    weights.iter().map(|&weight| Size { weight, busy: false, single: weight <= 32 }).collect()
}

#[test]
fn small_groups_are_joined_before_large_ones_are_merged() {
    let t = Tuning { fan_in: 4, ..tiny() };
    // Nothing to gain yet.
    assert_eq!(choose(&sizes(&[8, 8, 8]), &t), None);
    assert_eq!(choose(&sizes(&[8, 8, 8, 8]), &t), Some(Choice::Join(0..4)));
    // Pieces that can no longer grow, as a large batch follows.
    assert_eq!(choose(&sizes(&[8, 8, 32, 8]), &t), Some(Choice::Join(0..2)));
    assert_eq!(choose(&sizes(&[32, 32, 32, 32]), &t), Some(Choice::Merge(0..4)));
    assert_eq!(choose(&sizes(&[128, 32, 32, 32, 32, 8]), &t), Some(Choice::Merge(1..5)));
    // The newest small pieces are left out of merges.
    assert_eq!(choose(&sizes(&[32, 32, 32, 8, 8, 8]), &t), None);
    // Groups in work are passed by.
    let mut busy = sizes(&[8, 8, 8, 8, 8, 8, 8, 8]);
    busy[..4].iter_mut().for_each(|s| s.busy = true);
    assert_eq!(choose(&busy, &t), Some(Choice::Join(4..8)));
}

#[test]
fn the_policy_keeps_the_number_of_sources_low() {
    let t = Tuning::default();
    let mut groups: Vec<usize> = Vec::new();
    let mut most = 0;
    for _ in 0..3_000 {
        groups.push(t.piece_rows);
        loop {
            let sizes: Vec<Size> = groups
                .iter()
                .map(|&weight| Size { weight, busy: false, single: weight <= t.chunk_rows })
                .collect();
            let Some(Choice::Join(range) | Choice::Merge(range)) = choose(&sizes, &t) else {
                break;
            };
            let sum = groups[range.clone()].iter().sum();
            groups.splice(range, [sum]);
        }
        most = most.max(groups.len());
    }
    assert!(most <= 15 + 7 + 7 + 2, "{most} sources");
}

#[test]
fn commit_maps_answer_both_ways_over_many_pieces() {
    let mut commits = Commits::default();
    let mut rng = Rng::new(3);
    let (mut end, mut csn) = (0, 0);
    let mut all: Vec<(RowId, u64)> = Vec::new();
    for i in 0..10_000 {
        end += rng.below(3) + 1;
        csn += if i == 5_000 { 1 << 40 } else { rng.below(3) + 1 };
        commits.push(end, csn);
        all.push((end, csn));
    }
    assert!(commits.iter().eq(all.iter().copied()));
    for _ in 0..1_000 {
        let i = rng.index(all.len());
        assert_eq!(commits.csn_of(all[i].0 - 1), Some(all[i].1));
        assert_eq!(commits.end_at(all[i].1), Some(all[i].0));
        let before = all[..i].iter().rev().find(|e| e.1 < all[i].1).map(|e| e.0);
        assert_eq!(commits.end_at(all[i].1 - 1), before);
    }
    assert_eq!(commits.csn_of(end), None);
    assert!(commits.heap_bytes() < 10_000 * 10);
}

#[test]
fn a_mark_costs_at_most_32_bytes_and_pieces_stay_few() {
    let mut marks = Marks::default();
    let mut rng = Rng::new(5);
    let mut rows: Vec<RowId> = (0..100_000).map(|i| i * 37).collect();
    rng.shuffle(&mut rows);
    for (csn, &row) in rows.iter().enumerate() {
        let successor = row.is_multiple_of(2).then_some(row + 1);
        marks.insert(Mark { row, csn: csn as u64, successor });
        while let Some(pieces) = marks.take_join(8) {
            let joined = crate::marks::join_lists(&pieces);
            marks.finish_join(&pieces, Some(joined));
        }
    }
    assert_eq!(marks.len(), rows.len());
    assert!(marks.heap_bytes() <= 32 * rows.len() + OPEN_MARKS * 40);
    for _ in 0..1_000 {
        let at = rng.index(rows.len());
        let mark = marks.find(rows[at]).expect("every row is marked");
        assert_eq!(mark.csn, at as u64);
        assert_eq!(mark.successor, rows[at].is_multiple_of(2).then_some(rows[at] + 1));
        assert_eq!(marks.find(rows[at] + 5), None);
    }
}

#[test]
fn rows_die_alike_whether_few_or_many_are_asked_for() {
    let mut rng = Rng::new(6);
    let mut marks = Marks::default();
    for csn in 1..=5_000 {
        marks.insert(Mark { row: rng.below(1 << 18), csn, successor: None });
    }
    let rows: Vec<RowId> = (0..1 << 18).collect();
    for csn in [0, 1, 2_500, 5_000, Csn::MAX] {
        let mut together = vec![true; rows.len()];
        marks.drop_dead(&rows, csn, &mut together);
        let mut apart = vec![true; rows.len()];
        for (rows, keep) in rows.chunks(100).zip(apart.chunks_mut(100)) {
            marks.drop_dead(rows, csn, keep);
        }
        assert!(together == apart, "rows that died up to {csn}");
        let living = |row: &RowId| marks.find(*row).is_none_or(|mark| mark.csn > csn);
        assert!(rows.iter().zip(&together).all(|(row, keep)| living(row) == *keep));
    }
}

/// Rows with a serial key and two numbers.
fn counted(n: usize, first: i64, rng: &mut Rng) -> Batch {
    let ids = (0..n as i64).map(|i| first + i).collect();
    let small = (0..n).map(|_| rng.below(500) as i64).collect();
    let time = (0..n as i64).map(|i| (first + i) / 1_000 * 1_000_000).collect();
    let columns = [ids, small, time].map(|v| Column { data: Vector::Int(v), nulls: None });
    Batch { columns: columns.into(), rows: n }
}

fn counted_schema() -> Arc<TableSchema> {
    let types = [DataType::Int8, DataType::Int4, DataType::Timestamp];
    schema(&types, &[(&[0], &[], true), (&[1, 2], &[0], false)])
}

#[test]
fn a_hundred_thousand_rows_of_production_sizes() {
    let mut rng = Rng::new(9);
    let schema = counted_schema();
    let memtable = Memtable::new(schema.clone(), 0, Tuning::default());
    let mut all = Batch::new(schema.columns.iter().map(|c| c.ty.physical()));
    for csn in 1..=1_000 {
        let batch = counted(if csn == 500 { 20_000 } else { 80 }, all.rows as i64, &mut rng);
        assert_eq!(memtable.append(&batch, csn), all.rows as RowId);
        all.extend_range(&batch, 0..batch.rows);
        while let Some(work) = memtable.pending_work() {
            work.run();
        }
    }
    assert!(memtable.sources() < 24, "{} sources", memtable.sources());
    assert!(memtable.heap_bytes() < all.rows * (24 + 12 + 8));
    let def = KeyDef::of_index(&schema, &schema.indexes[0]).unwrap();
    for id in [0, 1, 39_999, 40_000, 60_000, 99_919] {
        let key = def.encode_values(&[Value::Int(id)]).unwrap();
        assert_eq!(memtable.newest_with_key(IndexId(10), &key, RowId::MAX), Some(id as RowId));
    }
    let wants = EntryWants { keys: true, ..EntryWants::default() };
    let mut cursor =
        memtable.cursor(IndexId(11), &KeyBounds::all(), Direction::Forward, &wants, 0..RowId::MAX);
    let (mut out, mut last, mut count) = (EntryBatch::default(), Vec::new(), 0);
    while cursor.next(10_000, &mut out).unwrap() {
        for key in out.keys.iter() {
            assert!(last.as_slice() <= key);
            last = key.to_vec();
        }
        count += out.len();
    }
    assert_eq!(count, all.rows);
    memtable.freeze();
    let def = KeyDef::of_index(&schema, &schema.indexes[1]).unwrap();
    let stats = [(1, DataType::Int4), (2, DataType::Timestamp)].map(|(c, ty)| {
        let mut stats = ColumnStats::new(ty);
        stats.observe(&all.columns[c], 0..all.rows);
        stats
    });
    let packing = Packing::fit(&def, &stats);
    let mut flushed = 0;
    for entries in memtable.entries(IndexId(11), &packing, DeadRows::none()) {
        assert!(entries.is_sorted() && entries.len() <= Tuning::default().flush_rows);
        for (i, &row) in entries.row_ids.iter().enumerate() {
            let Vector::Int(ids) = &entries.include.columns[0].data else { panic!() };
            assert_eq!(ids[i] as RowId, row);
        }
        flushed += entries.len();
    }
    assert_eq!(flushed, all.rows);
}

#[test]
fn savepoints_roll_back_rows_and_marks() {
    let schema = counted_schema();
    let mut rng = Rng::new(1);
    for (kept, more) in [(0, 5), (3, 2), (5, 20), (40, 7), (11, 100)] {
        let buffer = Memtable::new(schema.clone(), onlap_base::PROVISIONAL_BASE, tiny());
        buffer.append(&counted(kept, 100, &mut rng), 1);
        buffer.mark(5, 1, None);
        let savepoint = (buffer.end_row(), 1);
        buffer.append(&counted(more, 90, &mut rng), 2);
        buffer.mark(6, 2, None);
        buffer.truncate(savepoint.0, savepoint.1);
        assert_eq!((buffer.end_row(), buffer.rows(), buffer.marks()), (savepoint.0, kept, 1));
        let def = KeyDef::of_index(&schema, &schema.indexes[0]).unwrap();
        let find = |id: i64| {
            let key = def.encode_values(&[Value::Int(id)]).unwrap();
            buffer.newest_with_key(IndexId(10), &key, RowId::MAX)
        };
        assert_eq!(find(90), None);
        assert_eq!(find(100).is_some(), kept > 0);
        // The buffer goes on from there.
        let first = buffer.append(&counted(3, 500, &mut rng), 3);
        assert_eq!((first, find(502)), (savepoint.0, Some(first + 2)));
    }
}

/// Appends commits of `rows` keys each and looks every version of every key up.
fn find_all(commits: &[Vec<i64>]) {
    let memtable = Memtable::new(schema(&[DataType::Int8], &[(&[0], &[], true)]), 7, tiny());
    let def = KeyDef::of_index(memtable.schema(), &memtable.schema().indexes[0]).unwrap();
    let key = |value: i64| def.encode_values(&[Value::Int(value)]).unwrap();
    let mut versions: HashMap<i64, Vec<RowId>> = HashMap::new();
    for (csn, keys) in commits.iter().enumerate() {
        let column = Column { data: Vector::Int(keys.clone()), nulls: None };
        let first = memtable.append(&Batch { rows: keys.len(), columns: vec![column] }, csn as u64);
        for (&value, row) in keys.iter().zip(first..) {
            versions.entry(value).or_default().push(row);
        }
        if csn % 3 == 0 {
            while let Some(work) = memtable.pending_work() {
                work.run();
            }
        }
    }
    for (&value, rows) in &versions {
        let mut below = RowId::MAX;
        for &row in rows.iter().rev() {
            let found = memtable.newest_with_key(IndexId(10), &key(value), below);
            assert_eq!(found, Some(row), "key {value} below {below}");
            below = row;
        }
        assert_eq!(memtable.newest_with_key(IndexId(10), &key(value), below), None);
    }
    assert_eq!(memtable.newest_with_key(IndexId(10), &key(-1), RowId::MAX), None);
}

#[test]
fn keys_are_found_in_whatever_order_commits_bring_them() {
    let mut rng = Rng::new(11);
    // Clients that took stretches of a counter and commit them late.
    let mut late: Vec<Vec<i64>> = (0..300).map(|c| (c * 10..c * 10 + 10).collect()).collect();
    (0..290).for_each(|c| late.swap(c, c + rng.index(10)));
    find_all(&late);
    // Clients that took single values in turns.
    let turns: Vec<Vec<i64>> =
        (0..300).map(|c| (0..10).map(|i| c / 4 * 40 + i * 4 + c % 4).collect()).collect();
    find_all(&turns);
    // Keys that come again: the rows before are stretches still, or few enough to be hashed as well.
    for count in [50, 300] {
        let again = late[..10].iter().chain(&late[count - 5..count]).cloned();
        find_all(&late[..count].iter().cloned().chain(again).collect::<Vec<_>>());
    }
    // Single rows in random order.
    let mut random: Vec<Vec<i64>> = (0..2000).map(|value| vec![value]).collect();
    rng.shuffle(&mut random);
    find_all(&random);
}

#[test]
fn a_counter_that_several_clients_use_costs_little_memory() {
    let memtable = |late: bool| {
        let schema = schema(&[DataType::Int8], &[(&[0], &[], true)]);
        let memtable = Memtable::new(schema, 0, Tuning::default());
        for commit in 0..1000_i64 {
            let from = if late { commit ^ 3 } else { commit } * 100;
            let keys = Column { data: Vector::Int((from..from + 100).collect()), nulls: None };
            memtable.append(&Batch { rows: 100, columns: vec![keys] }, commit as u64);
        }
        memtable.heap_bytes()
    };
    let (ordered, late) = (memtable(false), memtable(true));
    assert!(late < ordered + ordered / 20, "{ordered} and {late} bytes");
}

/// A queue's readers begin at its living rows, each at those of its own commit; what they skip is dead
/// to them and nothing else.
#[test]
fn readers_begin_behind_the_dead_prefix_of_their_commit() {
    let schema =
        schema(&[DataType::Int8, DataType::Int8], &[(&[0], &[], true), (&[1], &[], false)]);
    let memtable = Memtable::new(schema, 100, tiny());
    let mut rng = Rng::new(3);
    let rows = |range: std::ops::Range<i64>, rng: &mut Rng| Batch {
        rows: range.clone().count(),
        columns: vec![
            Column { data: Vector::Int(range.clone().collect()), nulls: None },
            Column { data: Vector::Int(range.map(|_| rng.range(0..50)).collect()), nulls: None },
        ],
    };
    for commit in 0..40 {
        memtable.append(&rows(commit * 5..commit * 5 + 5, &mut rng), commit as u64 + 1);
        while let Some(work) = memtable.pending_work() {
            work.run();
        }
    }
    // Rows go in order, all but one, by later and later commits.
    for i in (0..150).filter(|&i| i != 120) {
        memtable.mark(100 + i, 50 + i, None);
    }
    assert_eq!(memtable.dead_prefix(80), 100 + 31);
    assert_eq!(memtable.dead_prefix(400), 100 + 120);
    assert_eq!(memtable.dead_prefix(400), 100 + 120);
    // One who sees less is not misled by what others have passed.
    assert_eq!(memtable.dead_prefix(60), 100);
    let from = memtable.dead_prefix(500);
    for index in [IndexId(10), IndexId(11)] {
        for direction in [Direction::Forward, Direction::Backward] {
            let ids = |from: RowId| {
                let (wants, all) = (EntryWants::default(), KeyBounds::all());
                let mut cursor = memtable.cursor(index, &all, direction, &wants, from..RowId::MAX);
                let (mut out, mut ids) = (EntryBatch::default(), Vec::new());
                while cursor.next(7, &mut out).unwrap() {
                    ids.extend_from_slice(&out.row_ids);
                }
                ids
            };
            let expected: Vec<RowId> = ids(0).into_iter().filter(|&id| id >= from).collect();
            let found: Vec<RowId> = ids(from).into_iter().filter(|&id| id >= from).collect();
            assert_eq!(found, expected);
            assert_eq!(expected.len(), 200 - 120);
        }
    }
    let rising = memtable.cursor(
        IndexId(10),
        &KeyBounds::all(),
        Direction::Forward,
        &EntryWants::default(),
        from..RowId::MAX,
    );
    let (mut rising, mut first) = (rising, EntryBatch::default());
    assert!(rising.next(1, &mut first).unwrap());
    assert!(first.row_ids[0] + 32 >= from, "a queue's reader meets dead rows of one group at most");
}
