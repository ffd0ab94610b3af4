//! Which rows does FETCH give, forwards and backwards?
//!
//! A cursor that may go back keeps the rows that it has read: all of them if it was declared SCROLL or WITH HOLD, which count among
//! the memory of statements, else the last ones, as far as they are few. A cursor stands before the first row, on one, or behind the last.
//!
//! Thread safety: belongs to its session.

use std::collections::VecDeque;

use arrow_array::Array;
use onlap_pg::ast::Way;

use super::answer::{Chunk, RowsAnswer};
use crate::error::{Result, SqlError};

/// Bytes that a cursor keeps of its rows which was not declared to go back.
const FEW_BYTES: usize = 1 << 20;
/// Rows that are read at a time: as many as a batch of a plan has.
pub(super) const STEP_ROWS: usize = 8192;
/// What a piece of rows takes without its values: a batch with its count of references, and a number.
const PIECE_BYTES: usize = 256;
/// What a column of a piece takes without its values: the array, its type and its buffers' places.
const COLUMN_BYTES: usize = 100;

/// Which rows are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Keeps {
    /// None: NO SCROLL.
    None,
    /// The last, as far as they are few.
    #[default]
    Few,
    /// All.
    All,
}

/// Where a cursor stands, and the rows that it has read.
#[derive(Default)]
pub(super) struct Scroll {
    keeps: Keeps,
    /// Pieces of rows that are kept, with the number of the first row of each, from 1; none is between them.
    kept: VecDeque<(usize, Chunk)>,
    /// How many rows were read.
    read: usize,
    /// Whether there are no more to read.
    ended: bool,
    /// 0 before the first row; one more than there are rows behind the last.
    at: usize,
    bytes: usize,
}

/// What becomes of rows on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// They are given.
    Give,
    /// They are passed over.
    Pass,
}

/// Rows that FETCH gives, in their order, or how many MOVE goes past.
#[derive(Default)]
pub(super) struct Fetched {
    /// The rows.
    pub chunks: Vec<Chunk>,
    /// How many.
    pub count: usize,
}

impl Scroll {
    pub(super) fn new(keeps: Keeps) -> Scroll {
        Scroll { keeps, ..Scroll::default() }
    }

    /// Of a portal that gave its first rows without it: stands on the last of them.
    pub(super) fn is_behind(&mut self, rows: usize) {
        if self.read < rows {
            (self.read, self.at) = (rows, rows);
        }
    }

    /// Bytes of the rows that are kept.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether all rows are kept.
    pub(super) fn keeps_all(&self) -> bool {
        self.keeps == Keeps::All
    }

    /// FETCH, or MOVE, which passes over its rows.
    ///
    /// # Errors
    /// `55000`: back to rows that are not kept; those of the query.
    pub(super) fn fetch(&mut self, rows: &mut RowsAnswer, way: Way, act: Act) -> Result<Fetched> {
        match way {
            Way::Forward(0) | Way::Backward(0) | Way::Relative(0) => self.again(act),
            Way::Forward(n) if n > 0 => self.forward(rows, Some(of(n)), act),
            Way::Forward(n) => self.backward(Some(of(n)), act),
            Way::ForwardAll => self.forward(rows, None, act),
            Way::Backward(n) if n > 0 => self.backward(Some(of(n)), act),
            Way::Backward(n) => self.forward(rows, Some(of(n)), act),
            Way::BackwardAll => self.backward(None, act),
            Way::Absolute(n) if n >= 0 => self.absolute(rows, of(n), act),
            Way::Absolute(_) if self.keeps == Keeps::None => Err(forward_only()),
            Way::Absolute(n) => {
                self.forward(rows, None, Act::Pass)?;
                self.backward(Some(of(n) - 1), Act::Pass)?;
                self.backward(Some(1), act)
            }
            Way::Relative(n) if n > 0 => {
                self.forward(rows, Some(of(n) - 1), Act::Pass)?;
                self.forward(rows, Some(1), act)
            }
            Way::Relative(n) => {
                self.backward(Some(of(n) - 1), Act::Pass)?;
                self.backward(Some(1), act)
            }
        }
    }

    /// The row that it stands on.
    fn again(&mut self, act: Act) -> Result<Fetched> {
        match self.at > 0 && self.at <= self.read {
            true => self.rows(self.at, self.at + 1, act),
            false => Ok(Fetched::default()),
        }
    }

    fn forward(
        &mut self,
        rows: &mut RowsAnswer,
        count: Option<usize>,
        act: Act,
    ) -> Result<Fetched> {
        if count == Some(0) || self.ended && self.at > self.read {
            return Ok(Fetched::default());
        }
        let before = self.at;
        let wanted = count.map_or(usize::MAX, |count| before.saturating_add(count));
        // Those that it has read already come first.
        let known = self.read.min(wanted);
        let mut found = self.rows(before + 1, known + 1, act)?;
        self.at = known;
        while self.read < wanted && !self.ended {
            let chunks = self.read_on(rows, STEP_ROWS.min(wanted - self.read))?;
            if act == Act::Give {
                found.chunks.extend(chunks);
            }
            self.at = self.read;
            self.forget();
        }
        found.count = self.at - before;
        if self.read < wanted {
            self.at = self.read + 1;
        }
        self.forget();
        Ok(found)
    }

    /// Takes `count` of the next rows of the query, fewer at the end.
    fn read_on(&mut self, rows: &mut RowsAnswer, count: usize) -> Result<Vec<Chunk>> {
        let mut taken = rows.take(count)?;
        let got: usize = taken.iter().map(Chunk::len).sum();
        self.ended = got < count;
        taken.retain(|chunk| chunk.len() > 0);
        for chunk in &taken {
            if self.keeps != Keeps::None {
                self.bytes += size(chunk);
                self.kept.push_back((self.read + 1, chunk.slice(0, chunk.len())));
            }
            self.read += chunk.len();
        }
        Ok(taken)
    }

    fn backward(&mut self, count: Option<usize>, act: Act) -> Result<Fetched> {
        if self.keeps == Keeps::None {
            return Err(forward_only());
        }
        if self.at == 0 || count == Some(0) {
            return Ok(Fetched::default());
        }
        let before = self.at - 1;
        let got = count.map_or(before, |count| count.min(before));
        let mut found = self.rows(self.at - got, self.at, act)?;
        let chunks = found.chunks.into_iter().rev().map(Chunk::reversed);
        found.chunks = chunks.collect::<Result<_>>()?;
        self.at = if count.is_none_or(|count| got < count) { 0 } else { self.at - got };
        Ok(found)
    }

    fn absolute(&mut self, rows: &mut RowsAnswer, number: usize, act: Act) -> Result<Fetched> {
        if number <= self.at {
            if self.keeps == Keeps::None {
                return Err(forward_only());
            }
            self.at = number.saturating_sub(1);
        }
        match number {
            0 => Ok(Fetched::default()),
            number => {
                self.forward(rows, Some(number - 1 - self.at), Act::Pass)?;
                self.forward(rows, Some(1), act)
            }
        }
    }

    /// Rows by their numbers, of those that were read.
    fn rows(&self, from: usize, to: usize, act: Act) -> Result<Fetched> {
        let mut found = Fetched { chunks: Vec::new(), count: to.saturating_sub(from) };
        if found.count == 0 {
            return Ok(found);
        }
        let later = self.kept.partition_point(|(first, _)| *first <= from);
        if later == 0 {
            return Err(forward_only());
        }
        if act == Act::Pass {
            return Ok(found);
        }
        for (first, chunk) in self.kept.range(later - 1..).take_while(|(first, _)| *first < to) {
            let (begin, end) = (from.max(*first), to.min(first + chunk.len()));
            found.chunks.push(chunk.slice(begin - first, end - first));
        }
        Ok(found)
    }

    /// Lets go of rows that it does not come back to.
    fn forget(&mut self) {
        let most = match self.keeps {
            Keeps::All => return,
            Keeps::Few => FEW_BYTES,
            Keeps::None => 0,
        };
        while self.bytes > most
            && let Some((first, chunk)) = self.kept.front()
            && first + chunk.len() <= self.at
        {
            self.bytes -= size(chunk);
            self.kept.pop_front();
        }
    }
}

/// Bytes that kept rows take, without those of the batch that they are a part of.
fn size(chunk: &Chunk) -> usize {
    let Chunk::Bound(batch, _) = chunk else { return PIECE_BYTES };
    let of = |array: &arrow_array::ArrayRef| {
        array.to_data().get_slice_memory_size().unwrap_or(array.get_array_memory_size())
    };
    let values: usize = batch.columns().iter().map(of).sum();
    PIECE_BYTES + COLUMN_BYTES * batch.num_columns() + values
}

/// A number of rows, whatever its sign.
fn of(n: i64) -> usize {
    usize::try_from(n.unsigned_abs()).unwrap_or(usize::MAX)
}

fn forward_only() -> SqlError {
    SqlError::new("55000", "cursor can only scan forward")
        .hint("Declare it with SCROLL option to enable backward scan.")
}
