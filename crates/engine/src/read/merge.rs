//! How do sorted sources become one?
//!
//! [`Merge`] joins cursors over disjoint sets of entries by (key bytes, row id), forward or backward.
//! It does not know where entries lie or whether their rows are visible.
//!
//! The sources stand in a list sorted by their next entry. The first is copied from as long as it
//! stays before the second, found by galloping, then takes its new place by binary search. With the
//! few dozen sources that an index ever has this does no more comparisons than a tree of losers, and
//! one source that holds most entries costs a comparison per run of entries instead of one each.
//!
//! Thread safety: belongs to one thread at a time.

use std::cmp::Ordering;

use onlap_base::{Result, RowId};
use onlap_storage::{Direction, EntryBatch, EntryCursor};

#[cfg(test)]
mod tests;

/// Entries asked of a source at once in the long run: enough to forget the cost of asking, little
/// enough that the batches of dozens of sources stay in the second-level cache.
const BATCH_MAX: usize = 1024;

/// Leading key bytes that a head keeps as a number: three int4 columns with their markers.
const PREFIX_BYTES: usize = 16;

/// A source and its entries that were read ahead.
struct Head {
    cursor: Box<dyn EntryCursor>,
    batch: EntryBatch,
    /// The next entry in `batch`.
    at: usize,
    /// First bytes of the next key, big-endian; keys that differ here need no comparison of bytes.
    prefix: u128,
    /// Entries to ask for next time.
    ask: usize,
}

impl Head {
    fn key(&self, i: usize) -> &[u8] {
        self.batch.keys.get(i)
    }

    fn row(&self, i: usize) -> RowId {
        self.batch.row_ids[i]
    }

    /// Whether the entries that were read ahead are used up.
    fn is_dry(&self) -> bool {
        self.at == self.batch.len()
    }

    /// Fetches the next entries; false at the end.
    fn refill(&mut self) -> Result<bool> {
        let more = self.cursor.next(self.ask, &mut self.batch)?;
        debug_assert!(more != self.batch.is_empty());
        debug_assert_eq!(self.batch.keys.len(), self.batch.len(), "merging needs key bytes");
        self.ask = (self.ask * 2).min(BATCH_MAX);
        self.at = 0;
        Ok(more)
    }

    fn note_prefix(&mut self) {
        self.prefix = prefix_of(self.batch.keys.get(self.at));
    }
}

fn prefix_of(key: &[u8]) -> u128 {
    match key.first_chunk::<PREFIX_BYTES>() {
        Some(bytes) => u128::from_be_bytes(*bytes),
        None => {
            let mut bytes = [0; PREFIX_BYTES];
            bytes[..key.len()].copy_from_slice(key);
            u128::from_be_bytes(bytes)
        }
    }
}

/// All entries of the cursors, whose batches have key bytes and the same columns, in order.
pub(crate) fn merge_cursors(
    cursors: Vec<Box<dyn EntryCursor>>,
    direction: Direction,
) -> Box<dyn EntryCursor> {
    Box::new(Merge::new(cursors, direction, true, BATCH_MAX))
}

/// A cursor over the entries of several cursors, whose batches carry key bytes.
pub(crate) struct Merge {
    heads: Vec<Head>,
    /// Sources that are not at their end, by their next entry.
    order: Vec<u32>,
    direction: Direction,
    /// Whether key bytes are handed on.
    keys: bool,
    started: bool,
}

impl Merge {
    /// Merges cursors whose batches have the same columns. `wanted` is how many entries the reader
    /// is likely to take: no source is asked for many more at first.
    pub(crate) fn new(
        cursors: Vec<Box<dyn EntryCursor>>,
        direction: Direction,
        keys: bool,
        wanted: usize,
    ) -> Merge {
        // Entries spread evenly: twice a source's share rarely falls short.
        let ask = (2 * wanted / cursors.len().max(1)).clamp(2, BATCH_MAX);
        let head = |cursor| Head { cursor, batch: EntryBatch::default(), at: 0, prefix: 0, ask };
        let heads = cursors.into_iter().map(head).collect();
        Merge { heads, order: Vec::new(), direction, keys, started: false }
    }

    fn start(&mut self) -> Result<()> {
        self.started = true;
        for i in 0..self.heads.len() {
            if self.heads[i].refill()? {
                self.heads[i].note_prefix();
                self.order.push(i as u32);
            }
        }
        let mut order = std::mem::take(&mut self.order);
        order.sort_unstable_by(|&a, &b| self.compare(a, b));
        self.order = order;
        Ok(())
    }

    /// Order of the next entries of two sources.
    fn compare(&self, a: u32, b: u32) -> Ordering {
        let (a, b) = (&self.heads[a as usize], &self.heads[b as usize]);
        let forward = a
            .prefix
            .cmp(&b.prefix)
            .then_with(|| a.key(a.at).cmp(b.key(b.at)))
            .then_with(|| a.row(a.at).cmp(&b.row(b.at)));
        self.directed(forward)
    }

    fn directed(&self, forward: Ordering) -> Ordering {
        match self.direction {
            Direction::Forward => forward,
            Direction::Backward => forward.reverse(),
        }
    }

    /// How many of the first source's entries, at most `room`, come before the second's next one.
    fn run_length(&self, room: usize) -> usize {
        let first = &self.heads[self.order[0] as usize];
        let most = room.min(first.batch.len() - first.at);
        let Some(&second) = self.order.get(1) else { return most };
        let second = &self.heads[second as usize];
        let (key, row) = (second.key(second.at), second.row(second.at));
        let before = |n: usize| {
            let i = first.at + n;
            let forward = first.key(i).cmp(key).then_with(|| first.row(i).cmp(&row));
            self.directed(forward).is_lt()
        };
        // Entry 0 is before by the order of the sources.
        let mut low = 1;
        let mut step = 1;
        while low < most && before((low + step - 1).min(most - 1)) {
            low = (low + step).min(most);
            step *= 2;
        }
        let mut high = (low + step - 1).min(most);
        while low < high {
            let middle = low + (high - low) / 2;
            if before(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Moves entries of the first source to `out` and gives the source its new place. A source whose
    /// entries are used up is asked for more only when its turn comes: the reader may have enough.
    fn take_run(&mut self, room: usize, out: &mut EntryBatch) -> Result<()> {
        let at = self.order[0] as usize;
        if self.heads[at].is_dry() {
            if self.heads[at].refill()? {
                self.replace_first();
            } else {
                self.order.remove(0);
            }
            return Ok(());
        }
        let n = self.run_length(room);
        let head = &mut self.heads[at];
        let range = head.at..head.at + n;
        if self.keys {
            out.keys.extend_range(&head.batch.keys, range.clone());
        }
        out.row_ids.extend_from_slice(&head.batch.row_ids[range.clone()]);
        out.columns.extend_range(&head.batch.columns, range);
        out.completed += std::mem::take(&mut head.batch.completed);
        head.at += n;
        if !head.is_dry() {
            self.replace_first();
        }
        Ok(())
    }

    /// Gives the first source, which has moved on to another entry, its new place.
    fn replace_first(&mut self) {
        let moved = self.order[0];
        self.heads[moved as usize].note_prefix();
        let behind = &self.order[1..];
        let stays = behind.first().is_none_or(|&second| self.compare(moved, second).is_lt());
        if !stays {
            let place = behind.partition_point(|&other| self.compare(other, moved).is_lt());
            self.order[..=place].rotate_left(1);
        }
    }
}

impl EntryCursor for Merge {
    fn next(&mut self, max: usize, out: &mut EntryBatch) -> Result<bool> {
        if !self.started {
            self.start()?;
        }
        match self.heads.first() {
            Some(head) => out.reset_like(&head.batch),
            None => out.reset(&[]),
        }
        while out.len() < max && !self.order.is_empty() {
            self.take_run(max - out.len(), out)?;
        }
        Ok(!out.is_empty())
    }
}
