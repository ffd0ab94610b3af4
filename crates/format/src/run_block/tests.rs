//! Blocks of entries against the plain list of them.

use std::sync::Arc;

use onlap_base::rng::Rng;

use super::{RunBlock, encode_run_block};
use crate::batch::{Batch, BytesVec, Column, Vector};
use crate::key::{ColumnStats, Entries, KeyColumn, KeyDef, Packing};
use crate::types::DataType;

/// A key definition and its columns.
struct Case {
    name: &'static str,
    def: KeyDef,
    columns: Vec<Column>,
    row_ids: Vec<u64>,
}

fn ints(f: impl FnMut(usize) -> i64, n: usize) -> Column {
    Column { data: Vector::Int((0..n).map(f).collect()), nulls: None }
}

fn texts(mut f: impl FnMut(usize) -> String, n: usize) -> Column {
    let mut v = BytesVec::default();
    (0..n).for_each(|i| v.push(f(i).as_bytes()));
    Column { data: Vector::Bytes(v), nulls: None }
}

fn uuid(rng: &mut Rng) -> String {
    let (a, b) = (rng.next_u64(), rng.next_u64());
    let hex = format!("{a:016x}{b:016x}");
    format!("{}-{}-4{}-a{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..])
}

fn with_nulls(mut column: Column, every: usize) -> Column {
    let mut out = Column::new(column.data.physical());
    for i in 0..column.len() {
        if i % every == 0 {
            out.push_null();
        } else {
            out.extend_range(&column, i..i + 1);
        }
    }
    column = out;
    column
}

fn cases(rng: &mut Rng, n: usize) -> Vec<Case> {
    let def = |types: &[(DataType, bool)]| {
        let column = |&(ty, descending)| KeyColumn { ty, descending };
        KeyDef::new(types.iter().map(column).collect())
    };
    let dense: Vec<u64> = (1000..1000 + n as u64).collect();
    let case = |name, types: &[(DataType, bool)], columns: Vec<Column>| Case {
        name,
        def: def(types),
        columns,
        row_ids: dense.clone(),
    };
    use DataType::{Bytea, Int4, Int8, Text, Timestamp};
    let r = |rng: &mut Rng, m: u64| (rng.next_u64() % m) as i64;
    let mut list = vec![
        case("serial", &[(Int8, false)], vec![ints(|i| i as i64 * 3, n)]),
        case("one value", &[(Int4, true)], vec![ints(|_| 7, n)]),
        case("few values", &[(Int8, false)], vec![ints(|_| r(rng, 9) << 58, n)]),
        case(
            "three ints",
            &[(Int4, false), (Int4, true), (Int4, false)],
            vec![
                ints(|_| r(rng, 10000), n),
                ints(|_| r(rng, 100_000), n),
                ints(|_| r(rng, 500), n),
            ],
        ),
        case(
            "nulls",
            &[(Int4, true), (Timestamp, false)],
            vec![
                with_nulls(ints(|_| r(rng, 50), n), 7),
                with_nulls(ints(|i| i as i64 / 10 * 1_000_000, n), 11),
            ],
        ),
        case(
            "wide ints",
            &[(Int8, false), (Int8, true)],
            vec![ints(|_| rng.next_u64() as i64, n), ints(|_| rng.next_u64() as i64, n)],
        ),
        case(
            "long text",
            &[(Text, false)],
            vec![texts(|i| format!("a rather long text {}", i * 7919 % 1013), n)],
        ),
        case(
            "short text",
            &[(Text, true), (Int4, false)],
            vec![texts(|i| format!("N{}", i * 7919 % 4013), n), ints(|i| i as i64, n)],
        ),
        case("bytes", &[(Bytea, true)], vec![texts(|i| "\0".repeat(i % 40), n)]),
        case(
            "two uuids",
            &[(Text, false), (Text, true)],
            vec![texts(|_| uuid(rng), n), texts(|_| uuid(rng), n)],
        ),
        case(
            "three uuids",
            &[(Text, false), (Text, true), (Text, false)],
            vec![
                texts(
                    |i| {
                        if i % 2 == 0 {
                            uuid(rng)
                        } else {
                            "00000000-0000-4000-8000-00000000000a".into()
                        }
                    },
                    n,
                ),
                texts(|_| uuid(rng), n),
                texts(|_| uuid(rng), n),
            ],
        ),
    ];
    let mut sparse = 0;
    for case in list.iter_mut().step_by(2) {
        case.row_ids.iter_mut().for_each(|id| {
            sparse += 1 + rng.next_u64() % 1000;
            *id = sparse;
        });
    }
    list
}

fn build(case: &Case) -> (Arc<Packing>, Entries) {
    let n = case.row_ids.len();
    let stats: Vec<ColumnStats> = case
        .def
        .columns
        .iter()
        .zip(&case.columns)
        .map(|(k, c)| {
            let mut s = ColumnStats::new(k.ty);
            s.observe(c, 0..n);
            s
        })
        .collect();
    let packing = Arc::new(Packing::fit(&case.def, &stats));
    let include = Batch { rows: n, ..Batch::default() };
    let mut entries = Entries { keys: packing.new_keys(), row_ids: case.row_ids.clone(), include };
    let refs: Vec<&Column> = case.columns.iter().collect();
    assert!(packing.pack(&refs, 0..n, &mut entries.keys));
    let entries = entries.sorted();
    assert!(entries.is_sorted(), "{}", case.name);
    (packing, entries)
}

#[test]
fn blocks_give_back_their_entries_and_find_keys() {
    for seed in 0..3 {
        let mut rng = Rng::new(seed);
        for n in [1, 2, 63, 64, 65, 1000, 5000] {
            for case in cases(&mut rng, n) {
                let (packing, entries) = build(&case);
                let mut start = 0;
                while start < n {
                    let mut bytes = Vec::new();
                    let taken = encode_run_block(&packing, &entries, start..n, 4096, &mut bytes);
                    assert!(bytes.len() < 4600, "{}: {} bytes", case.name, bytes.len());
                    let block = RunBlock::parse(bytes.into(), &packing).unwrap();
                    check_block(&case, &packing, &entries, start..start + taken, &block, &mut rng);
                    start += taken;
                }
            }
        }
    }
}

fn check_block(
    case: &Case,
    packing: &Packing,
    entries: &Entries,
    range: std::ops::Range<usize>,
    block: &RunBlock,
    rng: &mut Rng,
) {
    let n = range.len();
    assert_eq!(block.len(), n);
    let mut want = Entries::new(packing.new_keys(), Batch::default());
    want.extend_range(entries, range);
    let mut got = Entries::new(packing.new_keys(), Batch::default());
    block.entries(0..n, &mut got).unwrap();
    assert_eq!(got, want, "{}", case.name);
    let mut keys = BytesVec::default();
    packing.all_key_bytes(&want.keys, 0..n, &mut keys).unwrap();
    for _ in 0..20 {
        let (a, b) = (rng.next_u64() as usize % (n + 1), rng.next_u64() as usize % (n + 1));
        let part = a.min(b)..a.max(b);
        let mut some = Entries::new(packing.new_keys(), Batch::default());
        block.entries(part.clone(), &mut some).unwrap();
        let mut expected = Entries::new(packing.new_keys(), Batch::default());
        expected.extend_range(&want, part);
        assert_eq!(some, expected, "{}", case.name);
        // A prefix of some key, somewhat changed.
        let mut prefix = keys.get(rng.next_u64() as usize % n).to_vec();
        prefix.truncate(rng.next_u64() as usize % (prefix.len() + 1));
        if rng.next_u64().is_multiple_of(2) && !prefix.is_empty() {
            let at = rng.next_u64() as usize % prefix.len();
            prefix[at] = prefix[at].wrapping_add(rng.next_u64() as u8 % 3);
        }
        check_bound(case, packing, block, &want, &keys, &prefix);
    }
    for _ in 0..20 {
        // Whole columns, one value moved.
        let row = rng.next_u64() as usize % n;
        let mut values = case.def.decode(keys.get(row)).unwrap();
        values.truncate(1 + rng.next_u64() as usize % values.len());
        if let Some(crate::Value::Int(v)) = values.last_mut() {
            *v += (rng.next_u64() % 5) as i64 - 2;
        }
        if let Ok(prefix) = case.def.encode_values(&values) {
            check_bound(case, packing, block, &want, &keys, &prefix);
        }
    }
}

fn check_bound(
    case: &Case,
    packing: &Packing,
    block: &RunBlock,
    want: &Entries,
    keys: &BytesVec,
    prefix: &[u8],
) {
    for after in [false, true] {
        let bound = packing.bound(prefix, after);
        let expected = keys
            .iter()
            .position(|k| k >= prefix && !(after && k.starts_with(prefix)))
            .unwrap_or(keys.len());
        let name = case.name;
        assert_eq!(block.lower_bound(&bound).unwrap(), expected, "{name}: {bound:?} {prefix:x?}");
        let plain = packing.lower_bound(&want.keys, 0..want.len(), &bound).unwrap();
        assert_eq!(plain, expected, "{name}: {bound:?} {prefix:x?}");
    }
}

/// Entries of a case with two INCLUDE columns.
fn with_includes(case: &Case, rng: &mut Rng) -> (Arc<Packing>, Entries) {
    let (packing, mut entries) = build(case);
    let n = entries.len();
    entries.include = Batch {
        columns: vec![
            with_nulls(ints(|_| rng.range(0..1000), n), 3),
            texts(|i| "x".repeat(i % 50), n),
        ],
        rows: n,
    };
    (packing, entries)
}

#[test]
fn include_columns_come_back_and_blocks_keep_their_size() {
    let mut rng = Rng::new(11);
    for case in cases(&mut rng, 3000) {
        let (packing, entries) = with_includes(&case, &mut rng);
        let mut start = 0;
        while start < entries.len() {
            let mut bytes = Vec::new();
            let range = start..entries.len();
            let taken = encode_run_block(&packing, &entries, range, 8192, &mut bytes);
            assert!(bytes.len() < 9600, "{}: {} bytes", case.name, bytes.len());
            let block = RunBlock::parse(bytes.into(), &packing).unwrap();
            assert_eq!(block.include_columns(), 2);
            let forms = entries.include.columns.iter().map(|c| c.data.physical());
            let mut got = Entries::new(packing.new_keys(), Batch::new(forms));
            block.entries(0..taken, &mut got).unwrap();
            assert_eq!(got.row_ids, entries.row_ids[start..start + taken]);
            for (column, whole) in got.include.columns.iter().zip(&entries.include.columns) {
                let mut want = Column::new(whole.data.physical());
                want.extend_range(whole, start..start + taken);
                assert_eq!(column.data, want.data);
                assert!((0..taken).all(|i| column.is_null(i) == want.is_null(i)));
            }
            // One of them, of some entries.
            let mut one = [Column::new(crate::Physical::Bytes)];
            let part = taken / 2..taken;
            block.include(part.clone(), &[1], &mut one).unwrap();
            let mut want = Column::new(crate::Physical::Bytes);
            want.extend_range(&got.include.columns[1], part);
            assert_eq!(one[0].data, want.data);
            start += taken;
        }
    }
}

#[test]
fn key_columns_and_key_bytes_agree_with_the_keys() {
    let mut rng = Rng::new(12);
    for case in cases(&mut rng, 500) {
        let (packing, entries) = build(&case);
        let mut bytes = Vec::new();
        let taken = encode_run_block(&packing, &entries, 0..500, 1 << 16, &mut bytes);
        let block = RunBlock::parse(bytes.into(), &packing).unwrap();
        let part = taken / 3..taken - taken / 5;
        let last = case.def.columns.len() - 1;
        let mut some = [packing.new_columns().swap_remove(last)];
        block.key_columns(part.clone(), &[last], &mut some).unwrap();
        let mut all = packing.new_columns();
        packing.unpack(&entries.keys, part.clone(), &mut all).unwrap();
        assert_eq!(some[0].data, all[last].data, "{}", case.name);
        let (mut keys, mut rows) = (BytesVec::default(), Vec::new());
        block.key_bytes_and_row_ids(part.clone(), &mut keys, &mut rows).unwrap();
        let mut want = BytesVec::default();
        packing.all_key_bytes(&entries.keys, part.clone(), &mut want).unwrap();
        assert_eq!((keys, &rows[..]), (want.clone(), &entries.row_ids[part.clone()]));
        let mut again = BytesVec::default();
        block.key_bytes(part, &mut again).unwrap();
        assert_eq!(again, want);
    }
}

#[test]
fn row_ids_of_any_size_are_kept() {
    let def = KeyDef::new(vec![KeyColumn { ty: DataType::Int8, descending: false }]);
    let mut stats = ColumnStats::new(DataType::Int8);
    let column = ints(|i| if i % 2 == 0 { i64::MIN } else { i64::MAX }, 200);
    stats.observe(&column, 0..200);
    for packing in [Packing::fit(&def, &[stats]), Packing::bytes(&def)] {
        let packing = Arc::new(packing);
        let mut entries = Entries::new(packing.new_keys(), Batch::default());
        assert!(packing.pack(&[&column], 0..200, &mut entries.keys));
        entries.row_ids = (0..200).map(|i| i * 92_233_720_368_547_758).collect();
        entries.row_ids[199] = u64::MAX;
        entries.include.rows = 200;
        let entries = entries.sorted();
        let mut start = 0;
        while start < 200 {
            let mut bytes = Vec::new();
            let taken = encode_run_block(&packing, &entries, start..200, 16_384, &mut bytes);
            let block = RunBlock::parse(bytes.into(), &packing).unwrap();
            let mut rows = Vec::new();
            block.row_ids(0..taken, &mut rows).unwrap();
            assert_eq!(rows, entries.row_ids[start..start + taken]);
            start += taken;
        }
    }
}

/// Asks everything of a block; only panics matter.
fn exercise(block: &RunBlock, packing: &Packing, rng: &mut Rng) {
    let n = block.len();
    let a = rng.index(n);
    for range in [0..n, a..n, a..a + 1] {
        let (mut keys, mut rows) = (packing.new_keys(), Vec::new());
        let _ = block.keys(range.clone(), &mut keys);
        let _ = block.row_ids(range.clone(), &mut rows);
        let _ = block.key_bytes(range.clone(), &mut BytesVec::default());
        let mut column = [packing.new_columns().swap_remove(0)];
        let _ = block.key_columns(range.clone(), &[0], &mut column);
        let _ = block.include(range, &[0], &mut [Column::new(crate::Physical::Int)]);
    }
    let prefix: Vec<u8> = (0..rng.index(20)).map(|_| *rng.pick(&[0, 1, 2, 128, 255])).collect();
    let _ = block.lower_bound(&packing.bound(&prefix, rng.chance(0.5)));
}

#[test]
fn damage_is_found_by_the_checksum_and_never_panics_behind_it() {
    let mut rng = Rng::new(13);
    for n in [3, 300] {
        for case in cases(&mut rng, n) {
            let (packing, entries) = with_includes(&case, &mut rng);
            let mut bytes = Vec::new();
            encode_run_block(&packing, &entries, 0..n, 2000, &mut bytes);
            for _ in 0..300 {
                let mut bad = bytes.clone();
                for _ in 0..1 + rng.index(3) {
                    // The header and the ends of sections are worth most of the tries.
                    let at = if rng.chance(0.5) { rng.index(64) } else { rng.index(bad.len()) };
                    let at = at.min(bad.len() - 1);
                    bad[at] = if rng.chance(0.5) {
                        rng.next_u64() as u8
                    } else {
                        bad[at] ^ 1 << rng.index(8)
                    };
                }
                if rng.chance(0.2) {
                    bad.truncate(rng.index(bad.len()));
                }
                if bad != bytes {
                    assert!(RunBlock::parse(bad.clone().into(), &packing).is_err());
                }
                // As if the writer had been wrong: the checksum fits.
                if let Some(end) = bad.len().checked_sub(4) {
                    let sum = crc32c::crc32c(&bad[..end]);
                    bad[end..].copy_from_slice(&sum.to_le_bytes());
                    if let Ok(block) = RunBlock::parse(bad.into(), &packing) {
                        exercise(&block, &packing, &mut rng);
                    }
                }
            }
        }
    }
}

/// Rising sequences of every density: bitmaps, low bits, and both side by side.
#[test]
fn sequences_come_back_and_are_searched_whatever_their_density() {
    use super::rising::{Rising, SLACK, encode, encoded_len};
    let mut rng = Rng::new(17);
    let mut bitmaps = 0;
    for round in 0..300 {
        let n = 1 + rng.index(300);
        let most = [1, 2, 3, 4, 8, 300][round % 6];
        let least = u64::from(round % 4 != 0);
        let mut value = rng.below(1 << 40);
        let mut values = Vec::with_capacity(n);
        for i in 0..n {
            values.push(value);
            // Dense and sparse stretches meet.
            let most = if i % 200 < 130 { most } else { 1 << 20 };
            value += least + rng.below(most);
        }
        let mut bytes = vec![0xaa; 3];
        encode(&values, &mut bytes);
        assert_eq!(bytes.len() - 3, encoded_len(n, |i| values[i]));
        let end = bytes.len();
        bytes.extend_from_slice(&[0xff; SLACK]);
        let sequence = Rising::parse(&bytes, 3, n).unwrap();
        assert_eq!((sequence.len(), sequence.end()), (n, end));
        let minis = n.div_ceil(super::rising::MINI);
        bitmaps += bytes[12..12 + minis].iter().filter(|form| **form > 64).count();
        for _ in 0..20 {
            let from = rng.index(n);
            let to = from + rng.index(n - from + 1);
            let mut found = Vec::new();
            sequence.decode(&bytes, from..to, &mut found);
            assert_eq!(found, values[from..to]);
            let near = values[rng.index(n)].wrapping_add(rng.below(9)).saturating_sub(4);
            let expected = values.partition_point(|v| *v < near);
            assert_eq!(sequence.lower_bound(&bytes, near), expected);
        }
        assert!(Rising::parse(&bytes[..end - 1], 3, n).is_err(), "too short");
        bytes[12] = 64 + 32;
        assert!(Rising::parse(&bytes, 3, n).is_err(), "no bitmap is that long");
    }
    assert!(bitmaps > 100, "{bitmaps} bitmaps");
}
