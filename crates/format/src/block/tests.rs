//! Blocks that come back, find their rows, and are told from damaged ones.

use onlap_base::rng::Rng;
use proptest::prelude::*;

use onlap_base::limits::{BLOCK_BYTES, BLOCK_ROWS_MIN};

use super::*;
use crate::batch::{Batch, BytesVec, Vector};

fn batch(rows: usize, text_max: u64, seed: u64) -> Batch {
    let rng = &mut Rng::new(seed);
    let mut texts = BytesVec::default();
    for _ in 0..rows {
        let len = rng.below(text_max + 1);
        texts.push(&(0..len).map(|_| rng.next_u64() as u8).collect::<Vec<_>>());
    }
    let ints = (0..rows as i64).map(|i| i * 5 + rng.below(100) as i64).collect();
    let columns = vec![
        Column { data: Vector::Int(ints), nulls: None },
        Column { data: Vector::Bytes(texts), nulls: None },
    ];
    Batch { columns, rows }
}

#[test]
fn blocks_are_closed_by_size() {
    for text_max in [0, 20, 300, 5000] {
        let batch = batch(20_000.min(4_000_000 / (text_max as usize + 1)), text_max, 1);
        let mut encoder = BlockEncoder::new(2, false);
        let (mut start, mut sizes) = (0, Vec::new());
        while start < batch.rows {
            let rows = encoder.rows_that_fit(&batch, start, false);
            let mut out = Vec::new();
            encoder.encode(&batch, start..start + rows, RowIds::Dense(start as u64), &mut out);
            start += rows;
            sizes.push((rows, out.len()));
        }
        sizes.pop();
        for (rows, bytes) in sizes.into_iter().skip(2) {
            let near = bytes > BLOCK_BYTES / 5 * 4 && bytes < BLOCK_BYTES / 5 * 6;
            let bounded = rows == BLOCK_ROWS_MAX || rows == BLOCK_ROWS_MIN;
            assert!(near || bounded, "{rows} rows took {bytes} bytes");
        }
    }
}

#[test]
fn row_ids_are_found() {
    let batch = batch(100, 5, 3);
    let sparse: Vec<RowId> = (0..100).map(|i| 50 + i * i).collect();
    for (ids, list) in [
        (RowIds::Dense(50), (50..150).collect::<Vec<_>>()),
        (RowIds::List(&sparse), sparse.clone()),
    ] {
        let mut out = Vec::new();
        BlockEncoder::new(2, false).encode(&batch, 0..100, ids, &mut out);
        let block = Block::parse(&out).unwrap();
        let mut found = Vec::new();
        block.row_ids(0..100, &mut found);
        assert_eq!(found, list);
        for id in 0..11_000 {
            assert_eq!(block.position(id), list.binary_search(&id).ok());
            assert_eq!(block.lower_bound(id), list.partition_point(|r| *r < id));
        }
        assert_eq!(block.lower_bound(RowId::MAX), 100);
    }
}

#[test]
fn newer_blocks_are_refused_by_name() {
    let mut out = Vec::new();
    BlockEncoder::new(2, false).encode(&batch(3, 5, 3), 0..3, RowIds::Dense(0), &mut out);
    out[4] = BLOCK_VERSION + 1;
    let sum = crc32c::crc32c(&out[4..]);
    out[..4].copy_from_slice(&sum.to_le_bytes());
    let error = Block::parse(&out).expect_err("a newer version");
    assert_eq!(error.kind(), ErrorKind::NewerFormat);
    assert!(error.message().contains("version 3"), "{error}");
}

proptest! {
    #[test]
    fn a_changed_byte_is_noticed(
        rows in 1usize..200, seed: u64, compress: bool, at: prop::sample::Index, flip in 1u8..,
    ) {
        let mut out = Vec::new();
        let batch = batch(rows, 30, seed);
        BlockEncoder::new(2, compress).encode(&batch, 0..rows, RowIds::Dense(seed / 2), &mut out);
        prop_assert!(Block::parse(&out).is_ok());
        let at = at.index(out.len());
        out[at] ^= flip;
        prop_assert!(Block::parse(&out).is_err());
        out[at] ^= flip;
        out.pop();
        prop_assert!(Block::parse(&out).is_err());
    }

    /// The checksum is made to fit, as if the writer itself had been wrong.
    #[test]
    fn damage_behind_a_valid_checksum_never_panics(
        rows in 1usize..200, seed: u64, compress: bool,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
    ) {
        let mut out = Vec::new();
        let batch = batch(rows, 30, seed);
        let ids: Vec<RowId> = (0..rows as u64).map(|i| i * 3).collect();
        BlockEncoder::new(2, compress).encode(&batch, 0..rows, RowIds::List(&ids), &mut out);
        for (at, value) in changes {
            let at = 4 + at.index((out.len() - 4).min(100));
            out[at] = value;
        }
        let sum = crc32c::crc32c(&out[4..]);
        out[..4].copy_from_slice(&sum.to_le_bytes());
        let Ok(block) = Block::parse(&out) else { return Ok(()) };
        let mut ids = Vec::new();
        block.row_ids(0..block.rows(), &mut ids);
        block.position(ids[0]);
        for k in 0..block.columns() {
            if let Ok(view) = block.column(k) {
                let mut column = Column::new(view.physical());
                let _ = view.append_to(0..block.rows(), &mut column);
            }
        }
    }
}
