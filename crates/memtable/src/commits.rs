//! Which commit brought which rows?
//!
//! The list (end row id, CSN), one entry per commit that appended, in 8 bytes each: segments take
//! their commit maps from it. Grows at the end only. Owned by the memtable, under its lock.

use onlap_base::{Csn, RowId};

/// Entries of a piece; a full one is never copied again.
const PIECE: usize = 4096;

/// Row counts per commit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Commits {
    pieces: Vec<Piece>,
}

/// Commits by distance from the first of them.
#[derive(Clone, Debug)]
struct Piece {
    row: RowId,
    csn: Csn,
    list: Vec<(u32, u32)>,
}

impl Piece {
    fn at(&self, i: usize) -> (RowId, Csn) {
        let (row, csn) = self.list[i];
        (self.row + u64::from(row), self.csn + u64::from(csn))
    }

    fn last(&self) -> (RowId, Csn) {
        self.at(self.list.len() - 1)
    }
}

impl Commits {
    /// Notes that rows below `end` came by `csn` or earlier. Commits arrive in order (I2).
    pub(crate) fn push(&mut self, end: RowId, csn: Csn) {
        if let Some(piece) = self.pieces.last_mut() {
            let (last_end, last_csn) = piece.last();
            assert!(end >= last_end && csn >= last_csn, "commits are applied in order (I2)");
            let near = |a: u64, b: u64| u32::try_from(a - b).ok();
            if let (Some(row), Some(csn_offset)) = (near(end, piece.row), near(csn, piece.csn)) {
                if last_csn == csn {
                    let last = piece.list.last_mut().expect("pieces are never empty");
                    *last = (row, csn_offset);
                    return;
                }
                if piece.list.len() < PIECE {
                    piece.list.push((row, csn_offset));
                    return;
                }
            }
        }
        debug_assert!(self.pieces.iter().all(|p| !p.list.is_empty()), "pieces are never empty");
        self.pieces.push(Piece { row: end, csn, list: vec![(0, 0)] });
    }

    /// The commit of a row below the newest end.
    pub(crate) fn csn_of(&self, row: RowId) -> Option<Csn> {
        let piece = &self.pieces[self.pieces.partition_point(|p| p.last().0 <= row)..].first()?;
        let at = piece.list.partition_point(|&(end, _)| piece.row + u64::from(end) <= row);
        Some(piece.at(at).1)
    }

    /// End of the rows that commits up to `csn` brought; `None` where there are none.
    pub(crate) fn end_at(&self, csn: Csn) -> Option<RowId> {
        let after = self.pieces.partition_point(|p| p.csn <= csn);
        let piece = &self.pieces[after.checked_sub(1)?];
        let at = piece.list.partition_point(|&(_, c)| piece.csn + u64::from(c) <= csn);
        Some(piece.at(at - 1).0)
    }

    /// Forgets rows from `end` on.
    pub(crate) fn truncate(&mut self, end: RowId) {
        let list: Vec<(RowId, Csn)> = self.iter().collect();
        self.pieces.clear();
        let kept = list.partition_point(|&(e, _)| e <= end);
        list[..kept].iter().for_each(|&(e, csn)| self.push(e, csn));
        // The commit that is cut in the middle keeps its first rows.
        if let Some(&(_, csn)) = list.get(kept)
            && list[..kept].last().is_none_or(|&(e, _)| e < end)
        {
            self.push(end, csn);
        }
    }

    /// (end row id, CSN) in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (RowId, Csn)> {
        self.pieces.iter().flat_map(|p| (0..p.list.len()).map(|i| p.at(i)))
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.pieces.iter().map(|p| p.list.capacity() * 8 + size_of::<Piece>()).sum()
    }
}
