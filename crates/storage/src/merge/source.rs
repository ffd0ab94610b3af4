//! How are the entries of several runs brought into one order?
//!
//! Every input is read block by block, keys repacked to the packing of the output. In each round the
//! entries that no unread block can precede are taken from all inputs, joined and sorted by packed
//! key; the sort finds the sorted pieces and merges them, a few nanoseconds per entry. Inputs stand
//! for neighbouring row-id ranges, so entries of equal keys come out in row-id order when the inputs
//! are taken in theirs and the sort is stable.

use std::cmp::Ordering;
use std::sync::Arc;

use onlap_base::Result;
use onlap_format::key::{Entries, Keys, Packing, sort_permutation};

use crate::entry::{Direction, EntryBatch, EntryCursor, EntryWants, KeyBounds};
use crate::run::{IndexShape, Run, RunScan, Shortener, TIES_MAX};
use crate::version::TableVersion;

/// Entries taken at a time from the rows of a fences-only run.
const ROW_ENTRIES: usize = 4096;

/// How a run is read.
enum Input {
    /// By its blocks.
    Scan(RunScan),
    /// A fences-only one, or one of cut keys that become whole again, by its rows; keys come as key bytes.
    Rows { cursor: Box<dyn EntryCursor>, batch: EntryBatch, packing: Arc<Packing> },
}

impl Input {
    fn new(version: Option<&TableVersion>, run: &Arc<Run>, packing: &Packing) -> Input {
        let whole_again = run.cut().is_some() && !packing.is_cut();
        let of_rows = whole_again || run.files().iter().any(|f| !f.has_entries());
        let Some(version) = version.filter(|_| of_rows) else {
            assert!(!of_rows, "rows are read in a version");
            return Input::Scan(RunScan::new(run, KeyBounds::all()));
        };
        let shape = run.shape();
        let include = (0..shape.include.len()).collect();
        let wants = EntryWants { keys: true, include, ..EntryWants::default() };
        let cursor = version.run_cursor(run, KeyBounds::all(), Direction::Forward, wants);
        let packing = Arc::new(Packing::bytes(&shape.key));
        Input::Rows { cursor, batch: EntryBatch::default(), packing }
    }

    /// Empties `out` and fills it; gives the packing of the keys, and `None` at the end.
    fn next(&mut self, out: &mut Entries) -> Result<Option<Arc<Packing>>> {
        match self {
            Input::Scan(scan) => scan.next(out),
            Input::Rows { cursor, batch, packing } => {
                out.clear();
                if !cursor.next(ROW_ENTRIES, batch)? {
                    return Ok(None);
                }
                out.keys = Keys::Bytes(std::mem::take(&mut batch.keys));
                out.row_ids.append(&mut batch.row_ids);
                out.include = std::mem::take(&mut batch.columns);
                Ok(Some(Arc::clone(packing)))
            }
        }
    }
}

/// A run that is being read, a block at a time.
struct Source {
    input: Input,
    /// A block as it was read.
    raw: Entries,
    /// The same with keys of the output's packing, of which the first `taken` were taken.
    block: Entries,
    taken: usize,
    ended: bool,
    /// Cuts keys that are whole, where those of the output are not.
    shortener: Option<Shortener>,
}

/// What the next round gave.
pub(super) enum Round {
    /// Entries, in order, behind all those before.
    Entries,
    /// All were given.
    End,
    /// A key does not fit the packing, which has to be the one that fits all; or too many are equal when
    /// they are cut.
    Misfit,
}

/// Merges the entries of neighbouring runs.
pub(super) struct Merger {
    packing: Arc<Packing>,
    sources: Vec<Source>,
    joined: Entries,
}

fn empty(shape: &IndexShape, packing: &Packing) -> Entries {
    let include = onlap_format::Batch::new(shape.include_forms());
    Entries::new(packing.new_keys(), include)
}

impl Merger {
    /// Merges these runs, which are in row-id order, each from its trim on. Where one is of the fences-only form, its
    /// rows are read in a version.
    pub(super) fn new(
        version: Option<&TableVersion>,
        shape: &IndexShape,
        runs: &[Arc<Run>],
        packing: &Arc<Packing>,
    ) -> Merger {
        assert!(!runs.is_empty(), "a merge has inputs");
        let include = onlap_format::Batch::new(shape.include_forms());
        let must_cut = |run: &Run| packing.is_cut() && !run.is_all_cut();
        let source = |run: &Arc<Run>| Source {
            input: Input::new(version, run, packing),
            raw: empty(shape, packing),
            block: empty(shape, packing),
            taken: 0,
            ended: false,
            shortener: must_cut(run).then(|| Shortener::new(packing, &include)),
        };
        Merger {
            packing: Arc::clone(packing),
            sources: runs.iter().map(source).collect(),
            joined: empty(shape, packing),
        }
    }

    /// Empties `out` and fills it with the next entries.
    pub(super) fn next(&mut self, out: &mut Entries) -> Result<Round> {
        out.clear();
        for source in &mut self.sources {
            if !source.fill(&self.packing)? {
                return Ok(Round::Misfit);
            }
        }
        // The first source, by smallest last key and then by row ids, whose block ends first: nothing
        // unread precedes that end.
        let last = |s: &Source| s.block.len() - 1;
        let live = self.sources.iter().enumerate().filter(|(_, s)| !s.ended);
        let least =
            live.min_by(|(_, a), (_, b)| a.block.keys.compare(last(a), &b.block.keys, last(b)));
        let Some((least, end)) = least else { return Ok(Round::End) };
        let bound = last(end);
        let cuts: Vec<usize> = self
            .sources
            .iter()
            .enumerate()
            .map(|(i, s)| if s.ended { 0 } else { s.cut(i, least, &end.block, bound) })
            .collect();
        self.joined.clear();
        let mut parts = 0;
        for (source, cut) in self.sources.iter_mut().zip(cuts) {
            debug_assert!(source.ended || cut >= source.taken && cut <= source.block.len());
            if cut > source.taken {
                self.joined.extend_range(&source.block, source.taken..cut);
                source.taken = cut;
                parts += 1;
            }
        }
        assert!(parts > 0, "a round takes the block that ends first, so that rounds end");
        if parts == 1 {
            std::mem::swap(out, &mut self.joined);
        } else {
            out.extend_selected(&self.joined, &sort_permutation(&self.joined.keys));
            debug_assert_eq!(out.len(), self.joined.len(), "a sort loses no entry");
        }
        debug_assert!(out.is_sorted(), "entries come in order");
        Ok(Round::Entries)
    }

    /// Heap bytes in use.
    pub(super) fn heap_bytes(&self) -> usize {
        let of_shortener = |s: &Source| s.shortener.as_ref().map_or(0, Shortener::heap_bytes);
        let of_source = |s: &Source| s.raw.heap_bytes() + s.block.heap_bytes() + of_shortener(s);
        let sources = self.sources.iter().map(of_source);
        sources.sum::<usize>() + self.joined.heap_bytes()
    }
}

impl Source {
    /// Reads the next block when this one is used up. `false`: a key does not fit.
    fn fill(&mut self, packing: &Packing) -> Result<bool> {
        if self.ended || self.taken < self.block.len() {
            return Ok(true);
        }
        self.block.clear();
        self.taken = 0;
        // A block of whole keys may leave nothing behind when the last of them are held back.
        loop {
            let Some(from) = self.input.next(&mut self.raw)? else {
                self.shortener.iter_mut().for_each(|s| s.finish(&mut self.block));
                self.ended = self.block.is_empty();
                return Ok(true);
            };
            if !self.take(packing, &from)? {
                return Ok(false);
            }
            if !self.block.is_empty() {
                return Ok(true);
            }
        }
    }

    /// Brings the block that was read to the packing of the output. `false`: a key does not fit.
    fn take(&mut self, packing: &Packing, from: &Arc<Packing>) -> Result<bool> {
        if let Some(shortener) = &mut self.shortener {
            let fits = shortener.push(from, &self.raw, &mut self.block)?;
            return Ok(fits && shortener.longest() <= TIES_MAX);
        }
        if **from == *packing {
            std::mem::swap(&mut self.raw, &mut self.block);
            return Ok(true);
        }
        let rows = self.raw.len();
        if !packing.repack(from, &self.raw.keys, 0..rows, &mut self.block.keys)? {
            return Ok(false);
        }
        self.block.row_ids.extend_from_slice(&self.raw.row_ids);
        self.block.include.extend_range(&self.raw.include, 0..rows);
        assert_eq!(self.block.len(), rows, "repacking loses no entry");
        debug_assert_eq!(self.block.include.rows, rows, "included columns for every entry");
        Ok(true)
    }

    /// The end of the entries that come before everything unread, when the block of source `least`
    /// ends first, with entry `bound` of `end`. Sources before it have lower row ids.
    fn cut(&self, me: usize, least: usize, end: &Entries, bound: usize) -> usize {
        if me == least {
            return self.block.len();
        }
        let (mut low, mut high) = (self.taken, self.block.len());
        while low < high {
            let middle = low.midpoint(high);
            let order = self.block.keys.compare(middle, &end.keys, bound);
            let before = order == Ordering::Less || order == Ordering::Equal && me < least;
            if before { low = middle + 1 } else { high = middle }
        }
        low
    }
}
