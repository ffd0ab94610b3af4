//! Columns of every form go in and come out, and damaged bytes never panic.

use std::ops::Range;

use onlap_base::rng::Rng;
use proptest::prelude::*;

use super::column::append_selected;
use super::{ColumnEncoder, ColumnView, Effort, encode_column};
use crate::batch::{BytesVec, Column, NullMask, Vector};
use crate::convert::order_f64;
use crate::types::Physical;

/// Shapes that the encodings were made for, and their neighbours.
fn int_column(shape: u8, rows: usize, rng: &mut Rng) -> Vec<i64> {
    let scale = 1i64 << rng.below(62);
    let (base, slope) = (rng.next_u64() as i64, rng.below(1000) as i64 - 500);
    let factor = 1 + rng.below(2_000_000) as i64;
    (0..rows as i64)
        .map(|i| match shape % 11 {
            0 => base,
            1 => base.wrapping_add(slope.wrapping_mul(i)),
            2 => base.wrapping_add(slope.wrapping_mul(i)).wrapping_add(rng.below(9) as i64),
            3 => rng.next_u64() as i64,
            4 => (rng.next_u64() as i64) % scale,
            5 => base.wrapping_add(factor.wrapping_mul(rng.below(7000) as i64)),
            6 => [base, i64::MIN, i64::MAX, 0, scale][rng.below(5) as usize],
            7 => order_f64(rng.below(100_000) as f64 / 100.0 - 300.0),
            8 => order_f64(f64::from(rng.below(1000) as f32 / 10.0)),
            9 => order_f64([0.0, -0.0, f64::NAN, 1e300, 0.1][rng.index(5)]),
            _ => 1_700_000_000_000_000 + i * 1000 + rng.below(300) as i64,
        })
        .collect()
}

fn wide_column(shape: u8, rows: usize, rng: &mut Rng) -> Vec<i128> {
    let random = |rng: &mut Rng| u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64());
    let base = random(rng) as i128;
    (0..rows)
        .map(|i| match shape % 7 {
            0 => base,
            1 => random(rng) as i128,
            2 => (random(rng) & !(0xF << 76) & !(3 << 62) | 4 << 76 | 2 << 62) as i128,
            3 => base.wrapping_add(i128::from(rng.next_u64())),
            4 => i128::from(rng.next_u64() as i32),
            5 => [base, i128::MAX, i128::MIN, -1][rng.below(4) as usize],
            _ => ((i as i128) << 80) | (random(rng) & 0xAAAA_5555_1111) as i128,
        })
        .collect()
}

fn string(shape: u8, rng: &mut Rng) -> Vec<u8> {
    let n = rng.below(40) as usize;
    match shape % 9 {
        0 => b"the same".to_vec(),
        1 => (0..n).map(|_| rng.next_u64() as u8).collect(),
        2 => (0..n).map(|_| b"0123456789abcdef"[rng.below(16) as usize]).collect(),
        3 => {
            let mut s: Vec<u8> = (0..n / 3).map(|_| b'A' + rng.below(26) as u8).collect();
            s.extend(vec![b'a' + rng.below(26) as u8; rng.below(400) as usize]);
            s
        }
        4 => {
            let mut s = vec![b'0'; rng.below(300) as usize];
            s.extend(rng.below(100_000).to_string().bytes());
            s
        }
        5 => format!("key {}", rng.below(20)).into_bytes(),
        6 => {
            let id = u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64());
            crate::key::uuid_text::format(id).to_vec()
        }
        7 => {
            let words = ["storage ", "segment, ", "lies ", "upon ", "another ", "ünï "];
            (0..n).flat_map(|_| words[rng.below(6) as usize].bytes()).collect()
        }
        _ => vec![b'x'; n % 2],
    }
}

fn column(form: Physical, shape: u8, rows: usize, null_in: u8, seed: u64) -> Column {
    let rng = &mut Rng::new(seed);
    let mut nulls = NullMask::none(0);
    for _ in 0..rows {
        nulls.push(match null_in {
            0 => false,
            1 => true,
            n => rng.below(u64::from(n)) == 0,
        });
    }
    let mut data = match form {
        Physical::Int => Vector::Int(int_column(shape, rows, rng)),
        Physical::Wide => Vector::Wide(wide_column(shape, rows, rng)),
        Physical::Numeric => {
            let scales = (0..rows).map(|_| if shape < 4 { 2 } else { rng.below(39) as u8 });
            let scales = scales.collect();
            Vector::Numeric(wide_column(shape, rows, rng), scales)
        }
        Physical::Bytes => {
            let mut v = BytesVec::default();
            for i in 0..rows {
                v.push(if nulls.get(i) { b"" } else { &[][..] });
            }
            v.clear();
            (0..rows).for_each(|i| {
                let s = string(shape, rng);
                v.push(if nulls.get(i) { b"" } else { &s });
            });
            Vector::Bytes(v)
        }
    };
    for i in (0..rows).filter(|i| nulls.get(*i)) {
        match &mut data {
            Vector::Int(v) => v[i] = 0,
            Vector::Wide(v) => v[i] = 0,
            Vector::Numeric(m, s) => (m[i], s[i]) = (0, 0),
            Vector::Bytes(_) => {}
        }
    }
    Column { data, nulls: (nulls.count() > 0).then_some(nulls) }
}

/// The same rows copied without encoding, in the form that decoding gives.
fn slice(column: &Column, range: Range<usize>) -> Column {
    let mut copy = Column::new(column.data.physical());
    copy.extend_range(column, range);
    if copy.nulls.as_ref().is_some_and(|n| n.count() == 0) {
        copy.nulls = None;
    }
    copy
}

fn check(column: &Column, range: Range<usize>, bytes: &[u8], seed: u64) {
    let rows = range.len();
    let view = ColumnView::parse(bytes, rows).expect("what was encoded parses");
    let mut all = Column::new(column.data.physical());
    view.append_to(0..rows, &mut all).expect("what was encoded decodes");
    assert_eq!(all, slice(column, range.clone()));
    let rng = &mut Rng::new(seed);
    let (a, b) = (rng.below(rows as u64 + 1) as usize, rng.below(rows as u64 + 1) as usize);
    let part = a.min(b)..a.max(b);
    let mut some = slice(column, 0..1.min(column.len()));
    let before = some.len();
    view.append_to(part.clone(), &mut some).expect("what was encoded decodes");
    for (k, i) in part.enumerate() {
        assert_eq!(slice(&some, before + k..before + k + 1), slice(&all, i..i + 1), "row {i}");
    }
    let selected: Vec<u32> = (0..rows.min(20)).map(|_| rng.below(rows as u64) as u32).collect();
    let mut chosen = Column::new(column.data.physical());
    view.append_selected(&selected, &mut chosen).expect("what was encoded decodes");
    let mut expected = Column::new(column.data.physical());
    expected.extend_selected(&all, &selected);
    let mut direct = Column::new(column.data.physical());
    append_selected(bytes, rows, &selected, &mut direct).expect("what was encoded decodes");
    assert_eq!(direct, chosen);
    assert_eq!(slice(&chosen, 0..selected.len()), slice(&expected, 0..selected.len()));
}

const FORMS: [Physical; 4] = [Physical::Int, Physical::Wide, Physical::Numeric, Physical::Bytes];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn every_column_comes_back(
        form in 0usize..4, shape in 0u8..11, rows in 0usize..700, nulls in 0u8..6, seed: u64,
        small: bool, cut in 0usize..100,
    ) {
        let column = column(FORMS[form], shape, rows, nulls, seed);
        let effort = if small { Effort::Small } else { Effort::Fast };
        let range = cut.min(rows)..rows - (cut / 3).min(rows - cut.min(rows));
        let mut bytes = Vec::new();
        encode_column(&column, range.clone(), effort, &mut bytes);
        check(&column, range, &bytes, seed);
    }

    #[test]
    fn an_encoder_with_memory_gives_the_same_values(shape in 0u8..9, seed: u64) {
        let mut encoder = ColumnEncoder::default();
        for block in 0..4 {
            let column = column(Physical::Bytes, shape, 500, block, seed ^ u64::from(block));
            let mut bytes = Vec::new();
            encoder.encode(&column, 0..500, &mut bytes);
            check(&column, 0..500, &bytes, seed);
        }
    }

    #[test]
    fn damage_never_panics(
        form in 0usize..4, shape in 0u8..11, rows in 1usize..300, nulls in 0u8..6, seed: u64,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<Option<prop::sample::Index>>(),
    ) {
        let column = column(FORMS[form], shape, rows, nulls, seed);
        let mut bytes = Vec::new();
        if form == 3 {
            ColumnEncoder::default().encode(&column, 0..rows, &mut bytes);
        } else {
            encode_column(&column, 0..rows, Effort::Small, &mut bytes);
        }
        for (k, (at, value)) in changes.iter().enumerate() {
            // The first bytes decide most; aim at them every other time.
            let reach = if k % 2 == 0 { bytes.len().min(64) } else { bytes.len() };
            let at = at.index(reach);
            bytes[at] = *value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        touch(&bytes, rows);
    }

    #[test]
    fn noise_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200), rows in 0usize..500) {
        touch(&bytes, rows);
    }
}

/// Reads whatever the bytes claim to be.
fn touch(bytes: &[u8], rows: usize) {
    let all: Vec<u32> = (0..rows as u32).collect();
    for form in FORMS {
        let _ = append_selected(bytes, rows, &all, &mut Column::new(form));
    }
    let Ok(view) = ColumnView::parse(bytes, rows) else { return };
    let mut out = Column::new(view.physical());
    let _ = view.append_to(0..rows, &mut out);
    let mut buffer = Vec::new();
    for i in 0..rows {
        view.is_null(i);
        view.int(i);
        view.wide(i);
        view.bytes_into(i, &mut buffer);
        buffer.clear();
    }
    let mut out = Column::new(view.physical());
    let _ = view.append_selected(&all, &mut out);
}

#[test]
fn sizes_are_what_the_forms_promise() {
    let rng = &mut Rng::new(7);
    let size = |column: &Column| {
        let mut bytes = Vec::new();
        encode_column(column, 0..column.len(), Effort::Small, &mut bytes);
        bytes.len()
    };
    let ints = |v: Vec<i64>| Column { data: Vector::Int(v), nulls: None };
    assert!(size(&ints((0..1000).collect())) <= 6, "a serial column costs nothing per row");
    assert!(size(&ints(vec![1 << 40; 1000])) <= 9, "a constant costs nothing per row");
    let seconds = (0..1000).map(|i| 1_700_000_000_000_000 + i / 500 * 1_000_000).collect();
    assert!(size(&ints(seconds)) <= 140, "whole seconds cost their count, not their microseconds");
    let dictionary = (0..1000).map(|i| [1i64 << 60, 5, -(1 << 50)][i % 3]).collect();
    assert!(size(&ints(dictionary)) <= 290, "three distinct values take two bits");
    let degrees = (0..1000).map(|i| order_f64(f64::from(i * 77 % 9000 - 2000) / 100.0)).collect();
    assert!(size(&ints(degrees)) <= 1800, "hundredths of degrees take their digits, not 64 bits");
    let single = (0..1000).map(|i| order_f64(f64::from((i * 77 % 9000) as f32 / 10.0))).collect();
    assert!(size(&ints(single)) <= 1800, "single precision too");
    let uuids = Column { data: Vector::Wide(wide_column(2, 1000, rng)), nulls: None };
    assert!(size(&uuids) <= 1000 * 122 / 8 + 50, "a version-4 UUID has 122 random bits");
    let mut texts = BytesVec::default();
    (0..1000).for_each(|_| texts.push(&string(6, rng)));
    let texts = Column { data: Vector::Bytes(texts), nulls: None };
    assert!(size(&texts) <= 16_050, "UUID text takes 16 bytes");
}
