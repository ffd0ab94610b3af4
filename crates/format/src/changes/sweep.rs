//! How do changes from several sources become one list?
//!
//! Of a window of row ids everything is gathered ([`Sweep::push`]) and cut into pieces, so that each row
//! of a piece has the same changes ([`Sweep::finish`]). Of each piece, what is in the segments already is
//! left out, and neighbours that no snapshot can tell apart are joined. Those at or below the horizon
//! all count as made by one commit, which lies above what the segments have: who looks for
//! them has to look for one number only.

use std::ops::Range;

use onlap_base::{Csn, RowId};

use super::Change;

/// Changes of one column in one window of row ids.
#[derive(Debug, Default)]
pub struct Sweep {
    /// With the place in the order of their coming.
    items: Vec<(Change, usize)>,
}

impl Sweep {
    /// Adds a change, clipped to the window. Changes of one commit come in their order.
    pub fn push(&mut self, mut change: Change, window: &Range<RowId>) {
        let end = change.end().min(window.end);
        change.first = change.first.max(window.start);
        if change.first < end {
            change.len = end - change.first;
            let place = self.items.len();
            self.items.push((change, place));
        }
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Hands out the pieces by row id, and of each piece its changes by commit; the sweep is empty then.
    /// `horizon`: no snapshot tells apart what came at or below it. `folded` says up to which commit
    /// the rows of a range that begins with the one given have their changes already, and where that
    /// range ends; `None` for both: none are needed.
    pub fn finish(
        &mut self,
        horizon: Csn,
        folded: &mut dyn FnMut(RowId) -> (Option<Csn>, RowId),
        out: &mut Vec<Change>,
    ) {
        let mut items = std::mem::take(&mut self.items);
        items.sort_unstable_by_key(|(c, place)| (c.first, *place));
        let mut active: Vec<(Change, usize)> = Vec::new();
        let mut items = items.into_iter().peekable();
        let mut at = 0;
        loop {
            if active.is_empty() {
                match items.peek() {
                    Some((c, _)) => at = c.first,
                    None => return,
                }
            }
            while let Some(item) = items.next_if(|(c, _)| c.first == at) {
                active.push(item);
            }
            active.sort_unstable_by_key(|(c, place)| (c.csn, *place));
            let mut end = active.iter().map(|(c, _)| c.end()).min().expect("something is active");
            if let Some((c, _)) = items.peek() {
                end = end.min(c.first);
            }
            let (known, until) = folded(at);
            end = end.min(until.max(at + 1));
            if let Some(known) = known {
                put_piece(at..end, &active, known, horizon, out);
            }
            active.retain(|(c, _)| c.end() > end);
            at = end;
        }
    }
}

/// Appends the changes of one piece.
fn put_piece(
    rows: Range<RowId>,
    active: &[(Change, usize)],
    folded: Csn,
    horizon: Csn,
    out: &mut Vec<Change>,
) {
    let start = out.len();
    for (change, _) in active.iter().filter(|(c, _)| c.csn > folded) {
        let csn = if change.csn <= horizon { horizon } else { change.csn };
        if let Some(last) = out[start..].last_mut()
            && last.csn == csn
            && let Some(both) = last.op.then(&change.op)
        {
            last.op = both;
            continue;
        }
        out.push(Change {
            first: rows.start,
            len: rows.end - rows.start,
            csn,
            op: change.op.clone(),
        });
    }
    join_last(start, out);
}

/// Joins the last piece, which begins at `start`, with the one before where both are alike.
fn join_last(start: usize, out: &mut Vec<Change>) {
    let n = out.len() - start;
    let Some(before) = start.checked_sub(n).filter(|_| n > 0) else { return };
    let whole = before == 0 || out[before - 1].first != out[before].first;
    let same = |(a, b): (&Change, &Change)| a.end() == b.first && a.csn == b.csn && a.op == b.op;
    if whole && out[before..start].iter().zip(&out[start..]).all(same) {
        let len = out[start].len;
        out.truncate(start);
        out[before..].iter_mut().for_each(|c| c.len += len);
    }
}
