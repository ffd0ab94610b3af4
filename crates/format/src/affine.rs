//! How does an index on keys that arrive in consecutive stretches cost nearly nothing?
//!
//! A serial key rises by one with the row id, whichever client inserts: the whole run is a list of pieces (first
//! key, first row id, length), exact and small enough to stay in memory. Entries are in (key, row id)
//! order like in every other form; where stretches overlap, pieces end early. One integer key column,
//! ascending, without NULL and without INCLUDE columns. Plain data, safe to share; knows nothing of
//! files.
//!
//! | bytes | meaning |
//! |---|---|
//! | varint | number of pieces |
//! | integer streams ([`crate::encode::int`]) | per piece: first key, first row id, length |
//!
//! ```
//! use onlap_format::affine::{Affine, AffineBuilder};
//! let mut builder = AffineBuilder::new(10);
//! for (key, row) in [(5, 0), (6, 1), (7, 2), (7, 9), (8, 10)] {
//!     assert!(builder.push(key, row));
//! }
//! let affine = builder.finish();
//! assert_eq!((affine.pieces(), affine.len()), (2, 5));
//! assert_eq!(affine.lower_bound(7), 2);
//! assert_eq!(affine.entry(3), (7, 9));
//! let mut bytes = Vec::new();
//! affine.encode(&mut bytes);
//! assert_eq!(Affine::parse(&bytes).unwrap(), affine);
//! ```

use std::ops::Range;

use onlap_base::{Error, Result, RowId};

use crate::encode::Effort;
use crate::encode::int::{self, IntView};
use crate::wire::{self, Reader};

#[cfg(test)]
mod tests;

/// Most pieces of a run file: at 24 bytes each in memory, 1.5 MiB next to a file of 32 MiB.
pub const PIECES_MAX: usize = 1 << 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    first_key: i64,
    first_row: RowId,
    /// Position of its first entry in the run.
    start: u64,
}

/// Entries of consecutive keys in consecutive rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Affine {
    pieces: Vec<Piece>,
    len: u64,
}

/// Takes sorted entries while they form few pieces.
#[derive(Clone, Debug)]
pub struct AffineBuilder {
    affine: Affine,
    pieces_max: usize,
    /// The entry that would continue the last piece.
    next: Option<(i64, RowId)>,
}

impl AffineBuilder {
    /// For at most `pieces_max` pieces, and never more than [`PIECES_MAX`].
    pub fn new(pieces_max: usize) -> AffineBuilder {
        let pieces_max = pieces_max.min(PIECES_MAX);
        AffineBuilder { affine: Affine::default(), pieces_max, next: None }
    }

    /// Takes the next entry in (key, row id) order. `false`: one piece too many, and the entry was not
    /// taken.
    #[inline]
    pub fn push(&mut self, key: i64, row: RowId) -> bool {
        if self.next != Some((key, row)) {
            if self.affine.pieces.len() == self.pieces_max {
                return false;
            }
            let start = self.affine.len;
            self.affine.pieces.push(Piece { first_key: key, first_row: row, start });
        }
        self.affine.len += 1;
        self.next = key.checked_add(1).map(|k| (k, row.wrapping_add(1)));
        true
    }

    /// Entries taken.
    pub fn len(&self) -> u64 {
        self.affine.len
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.affine.len == 0
    }
    /// Pieces so far.
    pub fn pieces(&self) -> usize {
        self.affine.pieces.len()
    }
    /// What was taken.
    pub fn finish(self) -> Affine {
        self.affine
    }
}

impl Affine {
    /// Number of entries.
    pub fn len(&self) -> u64 {
        self.len
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Number of pieces.
    pub fn pieces(&self) -> usize {
        self.pieces.len()
    }
    /// Heap bytes in use.
    pub fn heap_bytes(&self) -> usize {
        self.pieces.capacity() * size_of::<Piece>()
    }

    /// Counts every row id from `base` on.
    ///
    /// # Errors
    /// `Corruption` where row ids leave 64 bits.
    pub fn shift(&mut self, base: RowId) -> Result<()> {
        for p in 0..self.pieces.len() {
            let len = self.piece_len(p);
            let piece = &mut self.pieces[p];
            let first = piece.first_row.checked_add(base);
            let first = first.filter(|row| row.checked_add(len).is_some());
            piece.first_row =
                first.ok_or_else(|| Error::damaged("a piece leaves the range of row ids"))?;
        }
        Ok(())
    }

    fn piece_len(&self, p: usize) -> u64 {
        self.pieces.get(p + 1).map_or(self.len, |next| next.start) - self.pieces[p].start
    }

    /// Position of the first entry with a key `>= key`.
    pub fn lower_bound(&self, key: i64) -> u64 {
        // The last piece that begins below the key holds the position, or ends before it.
        let Some(p) = self.pieces.partition_point(|p| p.first_key < key).checked_sub(1) else {
            return 0;
        };
        self.pieces[p].start + self.piece_len(p).min(key.abs_diff(self.pieces[p].first_key))
    }

    /// Key and row id of the entry at a position below [`Affine::len`].
    pub fn entry(&self, position: u64) -> (i64, RowId) {
        assert!(position < self.len, "entry {position} of {}", self.len);
        let piece = self.pieces[self.pieces.partition_point(|p| p.start <= position) - 1];
        let by = position - piece.start;
        (piece.first_key.wrapping_add(by as i64), piece.first_row.wrapping_add(by))
    }

    /// Appends keys and row ids of the entries at positions `range`.
    pub fn entries(&self, range: Range<u64>, keys: &mut Vec<i64>, row_ids: &mut Vec<RowId>) {
        assert!(range.start <= range.end && range.end <= self.len, "entries of the run");
        let first = self.pieces.partition_point(|p| p.start <= range.start).saturating_sub(1);
        let mut at = range.start;
        for p in first..self.pieces.len() {
            if at >= range.end {
                break;
            }
            let piece = self.pieces[p];
            let end = range.end.min(piece.start + self.piece_len(p));
            let steps = at - piece.start..end - piece.start;
            keys.extend(steps.clone().map(|by| piece.first_key.wrapping_add(by as i64)));
            row_ids.extend(steps.map(|by| piece.first_row.wrapping_add(by)));
            at = end;
        }
    }

    /// Appends the bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        wire::put_varint(out, self.pieces.len() as u64);
        let stream = |of: &dyn Fn(usize) -> i64| (0..self.pieces.len()).map(of).collect::<Vec<_>>();
        int::encode(&stream(&|p| self.pieces[p].first_key), Effort::Small, out);
        int::encode(&stream(&|p| self.pieces[p].first_row as i64), Effort::Small, out);
        int::encode(&stream(&|p| self.piece_len(p) as i64), Effort::Small, out);
    }

    /// Reads the form off a reader.
    pub fn read(r: &mut Reader<'_>) -> Result<Affine> {
        let count = r.varint_max(PIECES_MAX, "a number of pieces")?;
        let keys = IntView::parse(r, count)?;
        let rows = IntView::parse(r, count)?;
        let lens = IntView::parse(r, count)?;
        let mut affine = Affine { pieces: Vec::with_capacity(count), len: 0 };
        let mut last = None;
        for p in 0..count {
            let (first_key, first_row) = (keys.get(p), rows.get(p) as RowId);
            let len = u64::try_from(lens.get(p)).ok().filter(|l| *l > 0 && *l < 1 << 48);
            let len = len.ok_or_else(|| r.damaged("an impossible length of a piece"))?;
            let end = i64::try_from(len - 1).ok().and_then(|l| first_key.checked_add(l));
            let end = end.ok_or_else(|| r.damaged("a piece leaves the range of keys"))?;
            if first_row.checked_add(len).is_none() {
                return Err(r.damaged("a piece leaves the range of row ids"));
            }
            if last.is_some_and(|l| l >= (first_key, first_row)) {
                return Err(r.damaged("pieces are out of order"));
            }
            last = Some((end, first_row + (len - 1)));
            affine.pieces.push(Piece { first_key, first_row, start: affine.len });
            affine.len += len;
        }
        Ok(affine)
    }

    /// Reads a form that fills all of `bytes`.
    pub fn parse(bytes: &[u8]) -> Result<Affine> {
        let mut r = Reader::new(bytes);
        let affine = Affine::read(&mut r)?;
        if r.is_empty() { Ok(affine) } else { Err(Error::damaged("bytes after the last piece")) }
    }
}
