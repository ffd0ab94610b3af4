//! Which bits of a key does a block keep?
//!
//! Only those that vary inside the block: sorted keys share their leading bits, and fields have bits
//! that never change (a UUID's version). The varying bits, highest first, followed in flat blocks by
//! the row id's bits, form one number per entry. Its first 64 bits are the *head*, kept as a rising
//! sequence; what is left is the *tail*, kept as it is. Pure.

use super::rising::{BitWriter, read_bits};
use crate::key::keys::PackedKey;

/// A stretch of varying bits, at most 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Of the row id; else of the key.
    pub row: bool,
    /// Its lowest bit.
    pub offset: u32,
    pub width: u32,
}

/// The pieces of a block's entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pieces {
    pub head: Vec<Piece>,
    pub tail: Vec<Piece>,
    pub head_bits: u32,
    pub tail_bits: u32,
}

fn mask(width: u32) -> u64 {
    if width >= 64 { u64::MAX } else { (1 << width) - 1 }
}

impl Pieces {
    /// Of keys that differ in the bits `vary` only, and row ids of `row_bits` bits.
    pub fn new<K: PackedKey>(vary: &K, row_bits: u32) -> Pieces {
        let mut pieces = Pieces::default();
        for word in (0..K::BITS / 64).rev() {
            let mut rest = vary.get64(word * 64);
            while rest != 0 {
                let above = rest.leading_zeros();
                let width = (rest << above).leading_ones();
                let low = 64 - above - width;
                pieces.push(Piece { row: false, offset: word * 64 + low, width });
                rest &= mask(low);
            }
        }
        if row_bits > 0 {
            pieces.push(Piece { row: true, offset: 0, width: row_bits });
        }
        pieces
    }

    fn push(&mut self, piece: Piece) {
        let room = 64 - self.head_bits;
        let Piece { row, offset, width } = piece;
        let first = width.min(room);
        if first > 0 {
            self.head.push(Piece { row, offset: offset + width - first, width: first });
            self.head_bits += first;
        }
        if width > first {
            self.tail.push(Piece { row, offset, width: width - first });
            self.tail_bits += width - first;
        }
    }

    /// Heads of entries; `rows` are distances from the smallest row id.
    pub fn heads<K: PackedKey>(&self, keys: &[K], rows: &[u64], heads: &mut Vec<u64>) {
        heads.clear();
        heads.resize(keys.len(), 0);
        for piece in &self.head {
            let (width, mask) = (piece.width, mask(piece.width));
            let shift = |h: u64| if width == 64 { 0 } else { h << width };
            if piece.row {
                for (h, r) in heads.iter_mut().zip(rows) {
                    *h = shift(*h) | (r >> piece.offset) & mask;
                }
            } else {
                for (h, k) in heads.iter_mut().zip(keys) {
                    *h = shift(*h) | k.get64(piece.offset) & mask;
                }
            }
        }
    }

    /// Head of one key with a given row id.
    pub fn head_of<K: PackedKey>(&self, key: &K, row: u64) -> u64 {
        self.head.iter().fold(0, |h, p| {
            let source = if p.row { row >> p.offset } else { key.get64(p.offset) };
            (if p.width == 64 { 0 } else { h << p.width }) | source & mask(p.width)
        })
    }

    /// Appends the tails of entries side by side.
    pub fn encode_tails<K: PackedKey>(&self, keys: &[K], rows: &[u64], out: &mut Vec<u8>) {
        if self.tail.is_empty() {
            return;
        }
        let mut bits = BitWriter::new(out);
        for (i, key) in keys.iter().enumerate() {
            for piece in &self.tail {
                let source =
                    if piece.row { rows[i] >> piece.offset } else { key.get64(piece.offset) };
                bits.put(source & mask(piece.width), piece.width);
            }
        }
        bits.finish();
    }

    pub fn tail_bytes(&self, n: usize) -> usize {
        (n * self.tail_bits as usize).div_ceil(8)
    }

    /// Ors the varying bits into keys that hold the bits all share. `heads` are those of entries
    /// `first..`; `tails_at` is the place of the tails in `bytes`.
    pub fn restore<K: PackedKey>(
        &self,
        bytes: &[u8],
        tails_at: usize,
        first: usize,
        heads: &[u64],
        keys: &mut [K],
    ) {
        let mut shift = self.head_bits;
        for piece in &self.head {
            shift -= piece.width;
            if !piece.row {
                let mask = mask(piece.width);
                for (k, h) in keys.iter_mut().zip(heads) {
                    k.put64(piece.offset, (h >> shift) & mask);
                }
            }
        }
        let mut at = 0;
        for piece in &self.tail {
            if !piece.row {
                for (i, k) in (first..).zip(keys.iter_mut()) {
                    let bit = tails_at * 8 + i * self.tail_bits as usize + at;
                    k.put64(piece.offset, read_bits(bytes, bit, piece.width));
                }
            }
            at += piece.width as usize;
        }
    }

    /// Appends row ids (distances from the smallest) of entries `first..`.
    pub fn restore_rows(
        &self,
        bytes: &[u8],
        tails_at: usize,
        first: usize,
        heads: &[u64],
        base: u64,
        out: &mut Vec<u64>,
    ) {
        let start = out.len();
        out.resize(start + heads.len(), base);
        let rows = &mut out[start..];
        // The row id is the lowest part of the number: what the head holds of it, it holds lowest.
        if let Some(piece) = self.head.iter().find(|p| p.row) {
            let mask = mask(piece.width);
            for (r, h) in rows.iter_mut().zip(heads) {
                *r = r.wrapping_add((h & mask) << piece.offset);
            }
        }
        if let Some(piece) = self.tail.iter().find(|p| p.row) {
            let at = (self.tail_bits - piece.width) as usize;
            for (i, r) in (first..).zip(rows) {
                let bit = tails_at * 8 + i * self.tail_bits as usize + at;
                *r = r.wrapping_add(read_bits(bytes, bit, piece.width) << piece.offset);
            }
        }
    }
}
