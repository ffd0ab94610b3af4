//! Long values that come back, stay out of their blocks, and are told from damaged ones.

use onlap_base::rng::Rng;
use proptest::prelude::*;

use super::*;
use crate::batch::{Column, NullMask};
use crate::block::{BlockEncoder, RowIds};

const EDGE: usize = INLINE_VALUE_BYTES;

fn value(rng: &mut Rng, len: usize, random: bool) -> Vec<u8> {
    let letter = |rng: &mut Rng| if random { rng.next_u64() as u8 } else { b'a' };
    (0..len).map(|_| letter(rng)).collect()
}

/// An integer column between two of strings, of which some are NULL; the lengths in turn.
fn batch(lens: &[usize], rows: usize, seed: u64) -> Batch {
    let rng = &mut Rng::new(seed);
    let text = |rng: &mut Rng| {
        let (mut v, mut nulls) = (BytesVec::default(), NullMask::none(0));
        for _ in 0..rows {
            let null = rng.below(6) == 0;
            let random = rng.below(2) == 0;
            let len = if null { 0 } else { lens[rng.below(lens.len() as u64) as usize] };
            v.push(&value(rng, len, random));
            nulls.push(null);
        }
        Column { data: Vector::Bytes(v), nulls: Some(nulls) }
    };
    let ints = Column { data: Vector::Int((0..rows as i64).collect()), nulls: None };
    Batch { columns: vec![text(rng), ints, text(rng)], rows }
}

fn encode(batch: &Batch, ids: RowIds<'_>, compress: bool, at: u64) -> (Vec<u8>, FrameWriter) {
    let (mut frames, mut out) = (FrameWriter::new(), Vec::new());
    frames.start(at);
    let mut encoder = BlockEncoder::new(batch.columns.len(), compress);
    encoder.encode_apart(batch, 0..batch.rows, ids, &mut frames, &mut out);
    (out, frames)
}

/// A string of a block, wherever it lies; `None` where it is NULL.
fn read(block: &crate::block::Block, k: usize, row: usize, frames: &[u8], at: u64) -> Vec<u8> {
    let Some((blobs, blob)) = block.blobs(k).and_then(|b| b.find(row).map(|blob| (b, blob))) else {
        let mut out = Vec::new();
        block.column(k).unwrap().bytes_into(row, &mut out);
        return out;
    };
    let frame = blobs.frame(blob.frame);
    let bytes = &frames[(frame.offset - at) as usize..][..frame.len as usize];
    frame.open(bytes).unwrap()[blob.at..][..blob.len].to_vec()
}

fn check(batch: &Batch, ids: RowIds<'_>, compress: bool) {
    let at = 1 << 40;
    let (out, frames) = encode(batch, ids, compress, at);
    let block = crate::block::Block::parse(&out).unwrap();
    for k in [0, 2] {
        let Vector::Bytes(v) = &batch.columns[k].data else { unreachable!() };
        for row in 0..batch.rows {
            assert_eq!(read(&block, k, row, frames.bytes(), at), v.get(row), "row {row}");
            assert_eq!(block.column(k).unwrap().is_null(row), batch.columns[k].is_null(row));
            let apart = block.blobs(k).is_some_and(|b| b.find(row).is_some());
            assert_eq!(apart, v.get(row).len() > EDGE);
        }
    }
    assert!(block.blobs(1).is_none());
    assert_eq!(block.column(1).unwrap().int(batch.rows - 1), batch.rows as i64 - 1);
}

#[test]
fn the_longest_inline_value_stays() {
    let (out, frames) = encode(&batch(&[0, 1, EDGE], 40, 1), RowIds::Dense(0), false, 0);
    assert!(frames.bytes().is_empty());
    assert_eq!((out[4], out[5]), (1, 0), "a block without blobs is as it ever was");
    let (out, frames) = encode(&batch(&[EDGE + 1], 40, 1), RowIds::Dense(0), false, 0);
    assert!(!frames.bytes().is_empty());
    assert_eq!((out[4], out[5]), (2, 2));
}

#[test]
fn the_longest_value_comes_back() {
    check(&batch(&[VALUE_BYTES], 1, 4), RowIds::Dense(7), false);
    let mut v = BytesVec::default();
    [10, VALUE_BYTES, 0].iter().for_each(|len| v.push(&value(&mut Rng::new(1), *len, true)));
    let text = Column { data: Vector::Bytes(v), nulls: None };
    let ints = Column { data: Vector::Int(vec![0, 1, 2]), nulls: None };
    check(&Batch { columns: vec![text.clone(), ints, text], rows: 3 }, RowIds::Dense(7), false);
}

#[test]
fn many_long_values_make_frames_of_a_block_and_lists_of_few_bytes() {
    let rows = 400;
    let lens: Vec<usize> = (0..50).map(|i| EDGE + 1 + i * 10).collect();
    let mut batch = batch(&lens, rows, 9);
    batch.columns.truncate(1);
    batch.columns[0].nulls = None;
    let (out, _) = encode(&batch, RowIds::Dense(0), false, 16);
    assert!(out.len() < rows * REFERENCE_BYTES, "{} bytes for {rows} references", out.len());
    let block = crate::block::Block::parse(&out).unwrap();
    let blobs = block.blobs(0).unwrap();
    let mut next = 16;
    for i in 0..blobs.frames() {
        let frame = blobs.frame(i);
        assert_eq!(frame.offset, next, "frames lie side by side");
        assert!(
            frame.values_len <= BLOCK_BYTES && frame.values_len > BLOCK_BYTES - 3000
                || i + 1 == blobs.frames()
        );
        next += u64::from(frame.len);
    }
}

#[test]
fn rows_share_a_block_while_their_values_are_few() {
    let mut batch = batch(&[100_000], 64, 3);
    assert!(has_long(&batch));
    let within = rows_within(&batch, 0, 64, 1 << 16);
    assert!((5..=20).contains(&within), "{within} rows");
    let Vector::Bytes(v) = &mut batch.columns[0].data else { unreachable!() };
    *v = BytesVec::default();
    (0..64).for_each(|_| v.push(&vec![b'x'; 2 * BLOCK_BLOB_BYTES]));
    assert_eq!(rows_within(&batch, 5, 10, 1 << 16), 1, "a row has a block, whatever its size");
    let Vector::Bytes(v) = &mut batch.columns[0].data else { unreachable!() };
    *v = BytesVec::default();
    (0..64).for_each(|_| v.push(&[b'x'; EDGE]));
    batch.columns.truncate(1);
    assert_eq!(rows_within(&batch, 0, 64, 1 << 16), 32);
    assert!(!has_long(&batch));
}

#[test]
fn a_frame_of_another_row_is_refused() {
    let (out, frames) = encode(&batch(&[3000], 30, 2), RowIds::Dense(50), false, 0);
    let block = crate::block::Block::parse(&out).unwrap();
    let blobs = block.blobs(0).unwrap();
    let (a, b) = (blobs.frame(0), blobs.frame(1));
    let bytes = |f: &FrameRef| &frames.bytes()[f.offset as usize..][..f.len as usize];
    assert!(a.open(bytes(&a)).is_ok());
    let error = a.open(bytes(&b)).expect_err("another frame");
    assert_eq!(error.kind(), ErrorKind::Corruption);
    let other = block.blobs(2).unwrap().frame(0);
    assert!(FrameRef { column: 0, ..other }.open(bytes(&other)).is_err());
    let mut newer = bytes(&a).to_vec();
    newer[4] = BLOB_VERSION + 1;
    let sum = crc32c::crc32c(&newer[4..]);
    newer[..4].copy_from_slice(&sum.to_le_bytes());
    assert_eq!(a.open(&newer).expect_err("newer").kind(), ErrorKind::NewerFormat);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn values_come_back(rows in 1usize..120, seed: u64, compress: bool, listed: bool) {
        let batch = batch(&[0, 3, 50, EDGE - 1, EDGE, EDGE + 1, 9000, 40_000], rows, seed);
        let ids: Vec<RowId> = (0..rows as u64).map(|i| 9 + i * i).collect();
        check(&batch, if listed { RowIds::List(&ids) } else { RowIds::Dense(8) }, compress);
    }

    #[test]
    fn a_changed_byte_of_a_frame_is_noticed(
        rows in 1usize..9, seed: u64, at: prop::sample::Index, flip in 1u8..,
    ) {
        let (out, frames) = encode(&batch(&[3000, 9000], rows, seed), RowIds::Dense(1), false, 0);
        let block = crate::block::Block::parse(&out).unwrap();
        for blobs in [0, 2].into_iter().filter_map(|k| block.blobs(k)) {
            for frame in (0..blobs.frames()).map(|i| blobs.frame(i)) {
                let start = frame.offset as usize;
                let mut bytes = frames.bytes()[start..start + frame.len as usize].to_vec();
                let at = at.index(bytes.len());
                bytes[at] ^= flip;
                prop_assert!(frame.open(&bytes).is_err());
                bytes[at] ^= flip;
                bytes.pop();
                prop_assert!(frame.open(&bytes).is_err());
            }
        }
    }

    /// Checksums are made to fit, as if the writer itself had been wrong.
    #[test]
    fn damage_behind_a_valid_checksum_never_panics(
        rows in 1usize..60, seed: u64,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let batch = batch(&[5, 3000, 9000], rows, seed);
        let (mut out, frames) = encode(&batch, RowIds::Dense(1), false, 0);
        // The lists are at the end.
        let tail = out.len().min(80);
        for (at, value) in changes {
            let at = out.len() - 1 - at.index(tail.min(out.len() - 4));
            out[at] = value;
        }
        let sum = crc32c::crc32c(&out[4..]);
        out[..4].copy_from_slice(&sum.to_le_bytes());
        let Ok(block) = crate::block::Block::parse(&out) else { return Ok(()) };
        for blobs in (0..3).filter_map(|k| block.blobs(k)) {
            let mut sum = 0;
            for blob in (0..block.rows()).filter_map(|row| blobs.find(row)) {
                let frame = blobs.frame(blob.frame);
                prop_assert!(blob.at + blob.len <= frame.values_len);
                sum += blob.len;
                let start = (frame.offset as usize).min(frames.bytes().len());
                let _ = frame.open(&frames.bytes()[start..]);
            }
            prop_assert!(sum <= BLOBS_BYTES_MAX);
        }
    }
}
