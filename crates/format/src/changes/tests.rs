use std::ops::Range;
use std::sync::Arc;

use onlap_base::{Csn, Rng, RowId};

use super::*;
use crate::batch::{Column, Vector};
use crate::types::Physical;

/// Values of a few rows, changed one by one.
type Model = Vec<Option<i64>>;

fn op(rng: &mut Rng) -> ChangeOp {
    match rng.below(5) {
        0 => ChangeOp::Set(Scalar::Null),
        1 | 2 => ChangeOp::Set(Scalar::Int(rng.below(100) as i64)),
        _ => ChangeOp::Add(Scalar::Int(rng.below(9) as i64 - 4)),
    }
}

fn apply_to(model: &mut Model, rows: Range<RowId>, op: &ChangeOp) {
    for value in &mut model[rows.start as usize..rows.end as usize] {
        *value = match op {
            ChangeOp::Set(Scalar::Int(v)) => Some(*v),
            ChangeOp::Add(Scalar::Int(d)) => value.map(|v| v + d),
            _ => None,
        };
    }
}

fn column(model: &Model) -> Column {
    let mut column = Column::new(Physical::Int);
    for value in model {
        value.map_or(Scalar::Null, Scalar::Int).push_to(&mut column);
    }
    column
}

fn values(column: &Column) -> Model {
    let Vector::Int(v) = &column.data else { panic!("integers") };
    (0..v.len()).map(|i| (!column.is_null(i)).then_some(v[i])).collect()
}

#[test]
fn a_sweep_keeps_what_every_snapshot_above_the_horizon_sees() {
    for seed in 0..400 {
        let mut rng = Rng::new(seed);
        let base: Model = (0..40).map(|i| (i % 7 > 0).then_some(i)).collect();
        let mut changes = Vec::new();
        for csn in 1..=rng.below(30) {
            for _ in 0..1 + rng.below(3) {
                let first = rng.below(40);
                let len = if rng.chance(0.5) { 1 } else { 1 + rng.below(40 - first) };
                changes.push(Change { first, len, csn, op: op(&mut rng) });
            }
        }
        let newest = changes.last().map_or(0, |c| c.csn);
        let horizon = rng.below(newest + 2).min(newest);
        let folded = |row: RowId| if row < 20 { 3.min(horizon) } else { 0 };
        let at = |csn: Csn| {
            let mut model = base.clone();
            for c in changes.iter().filter(|c| c.csn <= csn) {
                apply_to(&mut model, c.first..c.end(), &c.op);
            }
            model
        };
        let mut sweep = Sweep::default();
        changes.iter().for_each(|c| sweep.push(c.clone(), &(0..40)));
        let mut out = Vec::new();
        let end = |row| if row < 20 { 20 } else { RowId::MAX };
        sweep.finish(horizon, &mut |row| (Some(folded(row)), end(row)), &mut out);
        assert!(out.is_sorted_by_key(|c| c.first), "seed {seed}");
        for csn in horizon..=newest {
            // What the segments have, and the rest on top.
            let rows = (0..40).map(|row| at(folded(row))[row as usize]).collect();
            let mut column = column(&rows);
            for c in out.iter().filter(|c| c.csn <= csn) {
                let places = c.first as usize..c.end() as usize;
                apply(&mut column, 0..40, &[(places, &c.op)]);
            }
            assert_eq!(values(&column), at(csn), "seed {seed}, commit {csn}");
        }
        if !out.is_empty() {
            let mut bytes = Vec::new();
            encode_change_block(Physical::Int, &out, &mut bytes);
            let block = ChangeBlock::parse(&bytes, Physical::Int).unwrap();
            let (after, upto) = (rng.below(newest + 1), rng.below(newest + 2));
            for row in 0..42 {
                let of_row = |c: &&Change| c.first <= row && row < c.end();
                for between in [None, Some((after, upto))] {
                    let within = |c: &&Change| between.is_none_or(|(a, b)| c.csn > a && c.csn <= b);
                    let wanted: Vec<ChangeOp> =
                        out.iter().filter(of_row).filter(within).map(|c| c.op.clone()).collect();
                    let mut found = Vec::new();
                    block.of_row(row, between, &mut found).unwrap();
                    assert_eq!(found, wanted, "seed {seed}, row {row}");
                }
            }
        }
        if horizon == newest && !out.is_empty() {
            assert!(out.windows(2).all(|w| w[0].end() <= w[1].first), "one change per row");
            let mut bytes = Vec::new();
            encode_change_block(Physical::Int, &out, &mut bytes);
            let block = ChangeBlock::parse(&bytes, Physical::Int).unwrap();
            let (from, mut found) = (rng.below(40), Vec::new());
            let to = from + 1 + rng.below(40);
            block.read(from..to, &mut found).unwrap();
            let wanted = out.iter().filter(|c| c.end() > from && c.first < to);
            assert_eq!(found, wanted.cloned().collect::<Vec<_>>(), "seed {seed}");
        }
    }
}

#[test]
fn two_operations_in_one_do_what_they_do_one_after_the_other() {
    let mut rng = Rng::new(7);
    for _ in 0..2000 {
        let (a, b) = (op(&mut rng), op(&mut rng));
        let mut model: Model = vec![Some(5), None];
        let mut joined = column(&model);
        apply_to(&mut model, 0..2, &a);
        apply_to(&mut model, 0..2, &b);
        let both = a.then(&b).unwrap();
        apply(&mut joined, 0..2, &[(0..2, &both)]);
        assert_eq!(values(&joined), model, "{a:?} then {b:?}");
    }
}

#[test]
fn strings_are_laid_over_in_order() {
    let text = |s: &str| Scalar::Bytes(Arc::new(s.as_bytes().to_vec()));
    let mut column = Column::new(Physical::Bytes);
    ["a", "b", "c", "d"].iter().for_each(|s| text(s).push_to(&mut column));
    let (long, none) = (ChangeOp::Set(text("longer")), ChangeOp::Set(Scalar::Null));
    apply(&mut column, 1..4, &[(1..3, &long), (2..3, &none)]);
    let all: Vec<Scalar> = (0..4).map(|i| Scalar::of(&column, i)).collect();
    assert_eq!(all, [text("a"), text("longer"), Scalar::Null, text("d")]);
}

#[test]
fn bounds_hold_every_value() {
    let mut rng = Rng::new(3);
    for _ in 0..500 {
        let mut value = rng.below(100) as i64;
        let mut bounds = ChangeBounds::default();
        for _ in 0..rng.below(6) {
            let op = op(&mut rng);
            bounds = bounds.and(ChangeBounds::of(&op));
            match op {
                ChangeOp::Set(Scalar::Int(v)) => value = v,
                ChangeOp::Add(Scalar::Int(d)) => value += d,
                _ => {}
            }
        }
        let (low, high) = bounds.range(0, 99);
        assert!((low..=high).contains(&i128::from(value)));
    }
}

#[test]
fn damaged_blocks_are_errors() {
    let changes: Vec<Change> = (0..500)
        .map(|i| Change { first: i * 3, len: 2, csn: i, op: ChangeOp::Add(Scalar::Int(1)) })
        .collect();
    let mut bytes = Vec::new();
    encode_change_block(Physical::Int, &changes, &mut bytes);
    assert!(ChangeBlock::parse(&bytes, Physical::Bytes).is_err(), "of another column");
    let mut rng = Rng::new(1);
    for _ in 0..2000 {
        let mut bad = bytes.clone();
        bad[rng.index(bytes.len())] ^= 1 << rng.below(8);
        assert!(ChangeBlock::parse(&bad, Physical::Int).is_err());
    }
}
