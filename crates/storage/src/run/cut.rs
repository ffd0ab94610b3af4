//! How do whole keys become cut ones, and which of these may belong to an interval of whole keys?
//!
//! [`Shortener`] takes sorted entries with whole keys, some at a time, and gives them with cut keys, again
//! sorted by (key, row id): what the cut made equal has to be put into the order of row ids. The last of
//! such a *tie* are held back until an entry of another key comes. How long ties get is counted, as a
//! reader of one has to hold all of it; a writer that finds them too long writes whole keys after all.
//!
//! Thread safety: belongs to one thread.

use std::ops::Range;
use std::sync::Arc;

use onlap_base::Result;
use onlap_format::Batch;
use onlap_format::key::{Entries, Keys, Packing, cut_key};

use crate::entry::KeyBounds;

/// Most entries of a run with the same cut key: with their whole keys some 300 KiB, as much as a reader
/// completes at once. A run that would have more is written with whole keys.
pub const TIES_MAX: usize = 4096;

/// Counts the entries of equal keys that come one after the other.
#[derive(Default)]
pub struct Ties {
    last: Option<Keys>,
    length: usize,
}

impl Ties {
    /// Looks at keys behind all before; whether no more than [`TIES_MAX`] entries have the same.
    pub fn look(&mut self, keys: &Keys) -> bool {
        let Some(end) = keys.len().checked_sub(1) else { return true };
        for i in 0..=end {
            let same = match i.checked_sub(1) {
                Some(before) => keys.compare(before, keys, i).is_eq(),
                None => self.last.as_ref().is_some_and(|last| last.compare(0, keys, 0).is_eq()),
            };
            self.length = if same { self.length + 1 } else { 1 };
            if self.length > TIES_MAX {
                return false;
            }
        }
        let mut last = Keys::new(keys.form());
        last.push_from(keys, end);
        self.last = Some(last);
        true
    }
}

/// Gives entries cut keys.
pub struct Shortener {
    to: Arc<Packing>,
    /// Entries of the last cut key that was seen.
    held: Entries,
    joined: Entries,
    entries: u64,
    tied: u64,
    longest: usize,
}

impl Shortener {
    /// For keys that become those of a packing of cut keys; `include` gives the shape of INCLUDE columns.
    pub fn new(to: &Arc<Packing>, include: &Batch) -> Shortener {
        assert!(to.is_cut(), "keys are cut");
        let empty = || {
            let forms = include.columns.iter().map(|c| c.data.physical());
            Entries::new(to.new_keys(), Batch::new(forms))
        };
        let (held, joined) = (empty(), empty());
        Shortener { to: Arc::clone(to), held, joined, entries: 0, tied: 0, longest: 0 }
    }

    /// Appends entries to `out`, all but those with the last key. `entries` are sorted and behind all before;
    /// `from` is the packing of their whole keys. `false`: a key does not fit the packing.
    pub fn push(&mut self, from: &Packing, entries: &Entries, out: &mut Entries) -> Result<bool> {
        let n = entries.len();
        if n == 0 {
            return Ok(true);
        }
        let held = self.held.len();
        self.joined.clear();
        self.joined.extend_range(&self.held, 0..held);
        if !self.to.repack(from, &entries.keys, 0..n, &mut self.joined.keys)? {
            return Ok(false);
        }
        self.joined.row_ids.extend_from_slice(&entries.row_ids);
        self.joined.include.extend_range(&entries.include, 0..n);
        assert_eq!(self.joined.keys.len(), held + n, "an entry has a key");
        assert_eq!(self.joined.row_ids.len(), held + n, "an entry has a row");
        self.entries += n as u64;
        let last = self.tie_before(self.joined.len());
        assert!(!last.is_empty(), "entries are held back until another key comes");
        let mut from = 0;
        self.held.clear();
        while from < last.start {
            from = self.move_ties(from, last.start, out);
        }
        self.held.extend_range(&self.joined, last.clone());
        self.longest = self.longest.max(last.len());
        Ok(true)
    }

    /// Appends what was held back.
    pub fn finish(&mut self, out: &mut Entries) {
        std::mem::swap(&mut self.held, &mut self.joined);
        self.held.clear();
        let end = self.joined.len();
        let at = self.move_ties(0, end, out);
        assert_eq!(at, end, "what is held back has one key");
        self.joined.clear();
    }

    /// Entries so far.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Entries whose key another one has, too, as far as they were given.
    pub fn tied(&self) -> u64 {
        self.tied
    }

    /// The most entries of one key.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// Heap bytes in use.
    pub fn heap_bytes(&self) -> usize {
        self.held.heap_bytes() + self.joined.heap_bytes()
    }

    fn is_equal(&self, a: usize, b: usize) -> bool {
        self.joined.keys.compare(a, &self.joined.keys, b).is_eq()
    }

    /// The entries with the key of the one before `end`.
    fn tie_before(&self, end: usize) -> Range<usize> {
        let mut start = end - 1;
        while start > 0 && self.is_equal(start - 1, end - 1) {
            start -= 1;
        }
        start..end
    }

    /// Moves entries from `from` on: those before the next tie as they are, or a tie, by row ids.
    fn move_ties(&mut self, from: usize, end: usize, out: &mut Entries) -> usize {
        let mut at = from;
        while at < end && (at + 1 == end || !self.is_equal(at, at + 1)) {
            at += 1;
        }
        if at > from {
            out.extend_range(&self.joined, from..at);
            self.longest = self.longest.max(1);
            return at;
        }
        while at < end && self.is_equal(from, at) {
            at += 1;
        }
        let mut order: Vec<u32> = (from as u32..at as u32).collect();
        order.sort_unstable_by_key(|&i| self.joined.row_ids[i as usize]);
        out.extend_selected(&self.joined, &order);
        self.tied += order.len() as u64;
        self.longest = self.longest.max(order.len());
        at
    }
}

/// Bounds of kept parts, of `len` bytes, that take in those of all keys within `bounds`. An end that names no
/// more than is kept stays as it is; a longer one takes in all that it cannot be told from.
pub(super) fn widened(bounds: KeyBounds, len: usize) -> KeyBounds {
    let end = |prefix: &[u8], before_equal: bool| match before_equal {
        // Fences are cut, too, and end in no zero: one that is equal has to look so.
        true => cut_key(prefix, len).to_vec(),
        false => prefix[..prefix.len().min(len)].to_vec(),
    };
    let lower = bounds.lower.map(|(prefix, inclusive)| {
        let inclusive = inclusive || prefix.len() > len;
        (end(&prefix, inclusive), inclusive)
    });
    let upper = bounds.upper.map(|(prefix, inclusive)| {
        let inclusive = inclusive || prefix.len() > len;
        (end(&prefix, !inclusive), inclusive)
    });
    KeyBounds { lower, upper }
}

/// The same without the keys that cannot be told from an end: all of the others belong to `bounds`.
pub(crate) fn narrowed(bounds: &KeyBounds, len: usize) -> KeyBounds {
    let end = |end: &Option<(Vec<u8>, bool)>| {
        end.as_ref().map(|(prefix, inclusive)| match prefix.len() > len {
            true => (prefix[..len].to_vec(), false),
            false => (prefix.clone(), *inclusive),
        })
    };
    KeyBounds { lower: end(&bounds.lower), upper: end(&bounds.upper) }
}

#[cfg(test)]
mod tests;
