//! How do sorted index entries lie in a block?
//!
//! A block holds entries (key, row id, INCLUDE columns) in (key, row id) order. It gives any entry by
//! position, the position of a key, and stretches of entries in bulk. It knows nothing of files,
//! caches or visibility. Blocks are immutable and safe to share. Damaged bytes give errors (I8);
//! the checksum finds them when the block is read.
//!
//! # Layout
//!
//! | offset | bytes | meaning |
//! |---|---|---|
//! | 0 | 1 | form: 0 flat, 1 grouped, 2 bytes |
//! | 1 | 1 | width: 8-byte words of a packed key (0 in form bytes) |
//! | 2 | 1 | r: bits of a row id less the smallest |
//! | 3 | 1 | 0 |
//! | 4 | 4 | n: entries |
//! | 8 | 4 | d: distinct keys (forms grouped and bytes; else 0) |
//! | 12 | 4 | place of the INCLUDE columns; 0 without |
//! | 16 | 8 | smallest row id |
//! | 24 | 16 x width | the first key and the mask of bits that vary, each least significant word first |
//! | then | | sections by form |
//! | then | | per INCLUDE column: 4 bytes of length, then the column as [`crate::encode`] writes it |
//! | end - 20 | 16 | zeros, so that reads of 16 bytes stay inside |
//! | end - 4 | 4 | CRC-32C of everything before |
//!
//! * **flat**: entry = varying key bits, then r row id bits, as one number: heads (its first 64 bits) as
//!   a rising sequence of n, then the tails of n entries side by side, lowest bit first. Equal keys
//!   need no list of their own: a number that rises with (key, row id) costs what the row ids cost.
//! * **grouped**: for keys with many entries each: heads and tails of the d distinct keys, then a rising
//!   sequence of n numbers `group << r | row id`.
//! * **bytes**: the d distinct keys front-coded, then the same sequence as in grouped.
//!
//! Rising sequences are described in `rising`, which bits are head and tail in `pieces`, front coding
//! in `front`. All entries of a flat block share the row id bits' width, so the number of bits per
//! entry is the logarithm of the distances plus about 2.5 (entropy: plus 1.44).
//!
//! Two entries (7, row 5) and (9, row 5) of a one-column key packed as 64-bit words:
//!
//! ```
//! use std::sync::Arc;
//! use onlap_format::{Batch, Column, DataType, Vector};
//! use onlap_format::key::{ColumnStats, Entries, KeyColumn, KeyDef, Packing};
//! use onlap_format::run_block::{RunBlock, encode_run_block};
//! let def = KeyDef::new(vec![KeyColumn { ty: DataType::Int8, descending: false }]);
//! let column = Column { data: Vector::Int(vec![7, 8, 10]), nulls: None };
//! let mut stats = ColumnStats::new(DataType::Int8);
//! stats.observe(&column, 0..3);
//! let packing = Arc::new(Packing::fit(&def, &[stats]));
//! let mut entries = Entries::new(packing.new_keys(), Batch::default());
//! assert!(packing.pack(&[&column], 0..2, &mut entries.keys));
//! entries.row_ids.extend([5, 5]);
//! entries.include.rows = 2;
//! let mut bytes = Vec::new();
//! assert_eq!(encode_run_block(&packing, &entries, 0..2, 1000, &mut bytes), 2);
//! assert_eq!(bytes[..8], [0, 1, 0, 0, 2, 0, 0, 0], "flat, one word, no row id bits, two entries");
//! assert_eq!(bytes[16..24], 5u64.to_le_bytes(), "row ids from 5");
//! assert_eq!(bytes[24..32], 0u64.to_le_bytes(), "7 packs to 0");
//! assert_eq!(bytes[32..40], 1u64.to_le_bytes(), "one bit varies");
//! assert_eq!(bytes[40..48], 0u64.to_le_bytes(), "heads from 0");
//! assert_eq!(bytes[48..51], [0, 65, 0b11], "no anchors, a bitmap of one byte, bits 0 and 1");
//! let block = RunBlock::parse(bytes.into(), &packing).unwrap();
//! let bound = packing.bound(&def.encode_values(&[onlap_format::Value::Int(8)]).unwrap(), false);
//! assert_eq!(block.lower_bound(&bound).unwrap(), 1);
//! ```

use std::ops::Range;

use crate::key::keys::{Keys, each_form};
use crate::key::{Entries, Packing};

mod front;
mod include;
mod pieces;
mod plan;
mod read;
mod rising;

#[cfg(test)]
mod tests;

pub use read::RunBlock;

use plan::{BytesPlan, PackedPlan, Plan};
use rising::SLACK;

const FLAT: u8 = 0;
const GROUPED: u8 = 1;
const BYTES: u8 = 2;
const HEADER: usize = 24;
const TRAILER: usize = SLACK + 4;

/// Most entries of a block: bounds what decoding a block allocates (8 bytes of row id each: 512 KiB).
pub const ENTRIES_MAX: usize = 1 << 16;

/// Appends one block with the first entries of `range`, as many as fit into about `limit` bytes, at
/// least one; gives their number. A block may pass `limit` by a few percent, or where a single entry
/// does.
///
/// The entries are sorted by (key, row id) and not empty; `packing` is theirs.
pub fn encode_run_block(
    packing: &Packing,
    entries: &Entries,
    range: Range<usize>,
    limit: usize,
    out: &mut Vec<u8>,
) -> usize {
    assert!(!range.is_empty(), "a block has entries");
    debug_assert_eq!(packing.form(), entries.keys.form());
    let budget = limit.saturating_sub(HEADER + TRAILER).max(64);
    let extra = include::bits_per_entry(&entries.include, range.clone());
    let rows = &entries.row_ids[range.clone()];
    let (start, end) = (range.start, range.end);
    let start_at = out.len();
    let n = each_form!(&entries.keys, keys => {
        let keys = &keys[start..end];
        let fit = plan::fit(rows.len(), budget, extra, |n| PackedPlan::new(&keys[..n], &rows[..n]));
        write_block(&fit, out)
    }, keys => {
        let make = |n: usize| BytesPlan::new(keys, start..start + n, &rows[..n]);
        write_block(&plan::fit(rows.len(), budget, extra, make), out)
    });
    finish(entries, start..start + n, start_at, out);
    n
}

/// Header and sections; the INCLUDE place is filled in later.
fn write_block(plan: &impl Plan, out: &mut Vec<u8>) -> usize {
    let head = plan.head();
    out.extend_from_slice(&[head.form, head.words, head.row_bits as u8, 0]);
    out.extend_from_slice(&(head.entries as u32).to_le_bytes());
    out.extend_from_slice(&(head.distinct as u32).to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&head.row_base.to_le_bytes());
    plan.write(out);
    head.entries
}

/// INCLUDE columns, slack and checksum of the block that begins at `start`.
fn finish(entries: &Entries, range: Range<usize>, start: usize, out: &mut Vec<u8>) {
    if !entries.include.columns.is_empty() {
        let place = (out.len() - start) as u32;
        out[start + 12..start + 16].copy_from_slice(&place.to_le_bytes());
        include::encode(&entries.include, range, out);
    }
    out.extend_from_slice(&[0; SLACK]);
    let sum = crc32c::crc32c(&out[start..]);
    out.extend_from_slice(&sum.to_le_bytes());
}

/// What the header says.
struct Head {
    form: u8,
    words: u8,
    row_bits: u32,
    entries: usize,
    distinct: usize,
    row_base: u64,
}
