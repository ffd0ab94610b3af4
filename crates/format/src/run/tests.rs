//! Footers of run files, and the numbers in them.

use std::sync::Arc;

use onlap_base::rng::Rng;
use onlap_base::{IndexId, TableId};

use super::{FenceEntry, Fences, KeyStats, RunFooter, RunForm, separator};
use crate::affine::AffineBuilder;
use crate::batch::{BytesVec, Column, Vector};
use crate::key::{ColumnStats, KeyColumn, KeyDef, Keys, Packing, sort_permutation};
use crate::types::DataType;

fn def() -> KeyDef {
    KeyDef::new(vec![
        KeyColumn { ty: DataType::Int4, descending: false },
        KeyColumn { ty: DataType::Int8, descending: true },
    ])
}

/// Sorted keys with NULLs in the second column.
fn keys(rng: &mut Rng, n: usize, packed: bool) -> (Packing, Keys) {
    let first = Vector::Int((0..n).map(|_| rng.range(0..50)).collect());
    let mut second = Column { data: Vector::Int(Vec::new()), nulls: None };
    for i in 0..n {
        if i % 5 == 0 {
            second.push_null();
        } else if let Vector::Int(v) = &mut second.data {
            v.push(rng.range(0..20));
            second.pushed();
        }
    }
    let columns = [Column { data: first, nulls: None }, second];
    let stats: Vec<ColumnStats> = def()
        .columns
        .iter()
        .zip(&columns)
        .map(|(k, c)| {
            let mut s = ColumnStats::new(k.ty);
            s.observe(c, 0..n);
            s
        })
        .collect();
    let packing = if packed { Packing::fit(&def(), &stats) } else { Packing::bytes(&def()) };
    let mut keys = packing.new_keys();
    assert!(packing.pack(&[&columns[0], &columns[1]], 0..n, &mut keys));
    let mut sorted = packing.new_keys();
    sorted.extend_selected(&keys, &sort_permutation(&keys));
    (packing, sorted)
}

fn key_bytes(packing: &Packing, keys: &Keys) -> BytesVec {
    let mut out = BytesVec::default();
    packing.all_key_bytes(keys, 0..keys.len(), &mut out).unwrap();
    out
}

#[test]
fn stats_count_prefixes_and_nulls() {
    let mut rng = Rng::new(4);
    for packed in [true, false] {
        let n = 3000;
        let (packing, keys) = keys(&mut rng, n, packed);
        let mut stats = KeyStats::new(&def());
        let mut at = 0;
        while at < n {
            let end = n.min(at + 1 + rng.index(400));
            stats.observe(&packing, &keys, at..end).unwrap();
            at = end;
        }
        let bytes = key_bytes(&packing, &keys);
        let distinct = |len: usize| {
            let mut all: Vec<&[u8]> = bytes.iter().map(|k| &k[..len.min(k.len())]).collect();
            all.dedup();
            all.len() as u64
        };
        assert_eq!(stats.entries, n as u64);
        assert_eq!(stats.prefixes[0].distinct, distinct(5));
        assert_eq!(stats.prefixes[1].distinct, distinct(99));
        assert_eq!((stats.prefixes[0].nulls, stats.prefixes[1].nulls), (0, n as u64 / 5));
        assert_eq!((&stats.min[..], &stats.max[..]), (bytes.get(0), bytes.get(n - 1)));
        let estimate = stats.prefixes[1].sketch.as_ref().unwrap().estimate();
        assert!((estimate / stats.prefixes[1].distinct as f64 - 1.0).abs() < 0.15);
        let mut twice = stats.clone();
        twice.merge(&stats);
        assert!(twice.prefixes[1].distinct < stats.prefixes[1].distinct * 6 / 5);
    }
}

#[test]
fn fences_lead_to_the_block() {
    let mut rng = Rng::new(8);
    let (packing, keys) = keys(&mut rng, 2000, true);
    let bytes = key_bytes(&packing, &keys);
    let mut fences = Fences::default();
    let starts: Vec<usize> = (0..2000).step_by(37).collect();
    for &start in &starts {
        let last = (start > 0).then(|| bytes.get(start - 1));
        let entry = FenceEntry { first_row: start as u64, offset: 0, len: 1, entries: 37 };
        fences.push(last, bytes.get(start), entry);
    }
    for _ in 0..2000 {
        let mut prefix = bytes.get(rng.index(2000)).to_vec();
        prefix.truncate(rng.index(prefix.len() + 1));
        for after in [false, true] {
            let first = bytes
                .iter()
                .position(|k| !crate::key::bound_is_before(k, &prefix, after))
                .unwrap_or(2000);
            let block = fences.block_of(&prefix, after);
            assert!(starts[block] <= first && first <= starts.get(block + 1).map_or(2000, |s| *s));
        }
    }
    assert_eq!(separator(Some(b"abcd"), b"abxyz"), b"abx");
    assert_eq!(separator(Some(b"ab"), b"ab"), b"ab");
    assert_eq!(separator(None, b"ab"), b"ab");
}

fn footers() -> Vec<RunFooter> {
    let mut rng = Rng::new(2);
    let (packing, keys) = keys(&mut rng, 500, true);
    let bytes = key_bytes(&packing, &keys);
    let mut stats = KeyStats::new(&def());
    stats.observe(&packing, &keys, 0..500).unwrap();
    let mut fences = Fences::default();
    for i in 0..10 {
        let at = i * 50;
        let last = (at > 0).then(|| bytes.get(at - 1));
        let entry = FenceEntry { first_row: i as u64, offset: 16 + i as u64, len: 9, entries: 50 };
        fences.push(last, bytes.get(at), entry);
    }
    let mut affine = AffineBuilder::new(9);
    (0..500).for_each(|i| assert!(affine.push(i, i as u64)));
    let footer = |form, filter| RunFooter {
        table: TableId(1),
        index: IndexId(2),
        schema_version: 3,
        rows: 7..507,
        filter,
        form,
        stats: stats.clone(),
    };
    vec![
        footer(
            RunForm::Explicit { packing: Arc::new(packing), fences: fences.clone() },
            Some((1000, 50)),
        ),
        footer(RunForm::Affine(affine.finish()), None),
        footer(RunForm::FencesOnly(fences), None),
    ]
}

#[test]
fn footers_round_trip_and_survive_damage() {
    let mut rng = Rng::new(9);
    for footer in footers() {
        assert_eq!(footer.entries(), 500);
        let mut bytes = Vec::new();
        footer.encode(&mut bytes);
        assert_eq!(RunFooter::parse(&def(), &bytes).unwrap(), footer);
        for _ in 0..5000 {
            let mut bad = bytes.clone();
            bad[rng.index(bytes.len())] ^= 1 << rng.below(8);
            bad.truncate(rng.index(bytes.len() * 4));
            let _ = RunFooter::parse(&def(), &bad);
        }
    }
}
