//! Whole keys become cut ones in the order of (key, row id), however they are handed over.

use std::sync::Arc;

use onlap_base::RowId;
use onlap_base::rng::Rng;
use onlap_format::key::{Entries, KeyColumn, KeyDef, Keys, Packing, cut_key};
use onlap_format::{Batch, DataType, Value};

use super::{Shortener, TIES_MAX, Ties};

fn def() -> KeyDef {
    KeyDef::new(vec![KeyColumn { ty: DataType::Bytea, descending: false }])
}

fn entries(keys: &[(Vec<u8>, RowId)]) -> Entries {
    let mut out = Entries::new(Packing::bytes(&def()).new_keys(), Batch::default());
    let Keys::Bytes(bytes) = &mut out.keys else { unreachable!() };
    keys.iter().for_each(|(key, _)| bytes.push(key));
    out.row_ids.extend(keys.iter().map(|(_, row)| *row));
    out.include.rows = keys.len();
    out
}

#[test]
fn ties_come_by_row_ids() {
    let mut rng = Rng::new(3);
    for _ in 0..200 {
        let n = 1 + rng.below(300);
        let mut whole: Vec<(Vec<u8>, RowId)> = (0..n)
            .map(|row| {
                let head = [5, 5, 5, 5, rng.below(4) as u8];
                let tail = rng.next_u64().to_be_bytes();
                let value = [&head[..], &tail[..rng.below(4) as usize]].concat();
                (def().encode_values(&[Value::Bytes(value)]).unwrap(), row)
            })
            .collect();
        whole.sort();
        let mut expected: Vec<(Vec<u8>, RowId)> =
            whole.iter().map(|(key, row)| (cut_key(key, 6).to_vec(), *row)).collect();
        expected.sort();
        let from = Packing::bytes(&def());
        let to = Arc::new(from.to_cut().unwrap());
        let mut shortener = Shortener::new(&to, &Batch::default());
        let mut out = Entries::new(to.new_keys(), Batch::default());
        let mut rest = &whole[..];
        while !rest.is_empty() {
            let (some, later) = rest.split_at(rest.len().min(1 + rng.below(90) as usize));
            assert!(shortener.push(&from, &entries(some), &mut out).unwrap());
            rest = later;
        }
        shortener.finish(&mut out);
        let key = |i: usize| {
            let mut key = Vec::new();
            to.key_bytes(&out.keys, i, &mut key).unwrap();
            (key, out.row_ids[i])
        };
        assert_eq!((0..out.len()).map(key).collect::<Vec<_>>(), expected);
        assert!(out.is_sorted() && out.include.rows == out.len());
        let ties = expected.chunk_by(|a, b| a.0 == b.0).map(<[_]>::len);
        assert_eq!(shortener.longest(), ties.clone().max().unwrap());
        assert_eq!(shortener.tied(), ties.filter(|n| *n > 1).sum::<usize>() as u64);
    }
}

#[test]
fn long_ties_are_seen_across_batches() {
    let keys = |n: usize| Keys::Word(vec![7; n]);
    let mut ties = Ties::default();
    assert!(ties.look(&keys(TIES_MAX - 1)) && ties.look(&keys(1)));
    assert!(!ties.look(&keys(1)));
    let mut ties = Ties::default();
    assert!(ties.look(&keys(TIES_MAX)) && ties.look(&Keys::Word(vec![8])) && ties.look(&keys(1)));
}
