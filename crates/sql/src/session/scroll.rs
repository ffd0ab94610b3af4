//! Which rows does FETCH give, forwards and backwards?
//!
//! A cursor that may go back keeps the rows that it has read: all of them if it was declared SCROLL or WITH HOLD, which count among
//! the memory of statements, else the last ones, as far as they are few. A cursor stands before the first row, on one, or behind the last.
//!
//! Thread safety: belongs to its session.

use arrow_array::Array;
use onlap_pg::ast::Way;

use super::answer::{Chunk, RowsAnswer};
use crate::error::{Result, SqlError};

/// Bytes that a cursor keeps of its rows which was not declared to go back.
const FEW_BYTES: usize = 1 << 20;

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
    /// Rows that are kept, and the number of the first of each, from 1.
    kept: Vec<(usize, Chunk)>,
    /// How many rows were read.
    read: usize,
    /// Whether there are no more to read.
    ended: bool,
    /// 0 before the first row; one more than there are rows behind the last.
    at: usize,
    bytes: usize,
}

/// Rows that FETCH gives, in their order, or how many MOVE goes past.
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

    /// Bytes of the rows that are kept.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether all rows are kept.
    pub(super) fn keeps_all(&self) -> bool {
        self.keeps == Keeps::All
    }

    /// FETCH or MOVE.
    ///
    /// # Errors
    /// `55000`: back to rows that are not kept; those of the query.
    pub(super) fn fetch(&mut self, rows: &mut RowsAnswer, way: Way) -> Result<Fetched> {
        match way {
            Way::Forward(0) | Way::Backward(0) | Way::Relative(0) => self.again(),
            Way::Forward(n) if n > 0 => self.forward(rows, Some(of(n))),
            Way::Forward(n) => self.backward(Some(of(n))),
            Way::ForwardAll => self.forward(rows, None),
            Way::Backward(n) if n > 0 => self.backward(Some(of(n))),
            Way::Backward(n) => self.forward(rows, Some(of(n))),
            Way::BackwardAll => self.backward(None),
            Way::Absolute(n) if n >= 0 => self.absolute(rows, of(n)),
            Way::Absolute(n) => {
                self.forward(rows, None)?;
                self.skip_back(of(n) - 1)?;
                self.backward(Some(1))
            }
            Way::Relative(n) if n > 0 => {
                self.forward(rows, Some(of(n) - 1))?;
                self.forward(rows, Some(1))
            }
            Way::Relative(n) => {
                self.skip_back(of(n) - 1)?;
                self.backward(Some(1))
            }
        }
    }

    /// The row that it stands on.
    fn again(&mut self) -> Result<Fetched> {
        match self.at > 0 && self.at <= self.read {
            true => self.rows(self.at, self.at + 1),
            false => Ok(Fetched { chunks: Vec::new(), count: 0 }),
        }
    }

    fn forward(&mut self, rows: &mut RowsAnswer, count: Option<usize>) -> Result<Fetched> {
        if count == Some(0) || self.ended && self.at > self.read {
            return Ok(Fetched { chunks: Vec::new(), count: 0 });
        }
        let from = self.at + 1;
        let wanted = count.map_or(usize::MAX, |count| self.at.saturating_add(count));
        let mut chunks = self.rows(from, self.read.min(wanted).max(self.at) + 1)?.chunks;
        while self.read < wanted && !self.ended {
            self.read_on(rows, wanted - self.read, &mut chunks)?;
        }
        let got = self.read.min(wanted) - self.at;
        self.at = if self.read < wanted { self.read + 1 } else { wanted };
        self.forget();
        Ok(Fetched { chunks, count: got })
    }

    /// Takes so many of the next rows of the query.
    fn read_on(
        &mut self,
        rows: &mut RowsAnswer,
        count: usize,
        chunks: &mut Vec<Chunk>,
    ) -> Result<()> {
        let taken = rows.take(count)?;
        let got: usize = taken.iter().map(Chunk::len).sum();
        self.ended = got < count;
        for chunk in taken.into_iter().filter(|chunk| chunk.len() > 0) {
            if self.keeps != Keeps::None {
                self.bytes += size(&chunk);
                self.kept.push((self.read + 1, chunk.slice(0, chunk.len())));
            }
            self.read += chunk.len();
            chunks.push(chunk);
        }
        Ok(())
    }

    fn backward(&mut self, count: Option<usize>) -> Result<Fetched> {
        if self.keeps == Keeps::None {
            return Err(forward_only());
        }
        if self.at == 0 || count == Some(0) {
            return Ok(Fetched { chunks: Vec::new(), count: 0 });
        }
        let before = self.at - 1;
        let got = count.map_or(before, |count| count.min(before));
        let mut found = self.rows(self.at - got, self.at)?;
        let single = |chunk: &Chunk| (0..chunk.len()).map(|n| chunk.slice(n, n + 1)).collect();
        let singles: Vec<Vec<Chunk>> = found.chunks.iter().map(single).collect();
        found.chunks = singles.into_iter().flatten().rev().collect();
        self.at = if count.is_none_or(|count| got < count) { 0 } else { self.at - got };
        Ok(found)
    }

    fn skip_back(&mut self, count: usize) -> Result<()> {
        self.backward(Some(count)).map(|_| ())
    }

    fn absolute(&mut self, rows: &mut RowsAnswer, number: usize) -> Result<Fetched> {
        if number <= self.at {
            if self.keeps == Keeps::None {
                return Err(forward_only());
            }
            self.at = number.saturating_sub(1);
        }
        match number {
            0 => Ok(Fetched { chunks: Vec::new(), count: 0 }),
            number => {
                self.forward(rows, Some(number - 1 - self.at))?;
                self.forward(rows, Some(1))
            }
        }
    }

    /// Rows by their numbers, of those that were read.
    fn rows(&self, from: usize, to: usize) -> Result<Fetched> {
        let mut found = Fetched { chunks: Vec::new(), count: to.saturating_sub(from) };
        if found.count == 0 {
            return Ok(found);
        }
        if self.kept.first().is_none_or(|(first, _)| *first > from) {
            return Err(forward_only());
        }
        for (first, chunk) in &self.kept {
            let (begin, end) = (from.max(*first), to.min(first + chunk.len()));
            if begin < end {
                found.chunks.push(chunk.slice(begin - first, end - first));
            }
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
        let mut gone = 0;
        while self.bytes > most
            && let Some((first, chunk)) = self.kept.get(gone)
            && first + chunk.len() <= self.at
        {
            self.bytes -= size(chunk);
            gone += 1;
        }
        self.kept.drain(..gone);
    }
}

/// Bytes that rows take, without those of the batch that they are a part of.
fn size(chunk: &Chunk) -> usize {
    let Chunk::Bound(batch, _) = chunk else { return 0 };
    let of = |array: &arrow_array::ArrayRef| {
        array.to_data().get_slice_memory_size().unwrap_or(array.get_array_memory_size())
    };
    batch.columns().iter().map(of).sum()
}

/// A number of rows, whatever its sign.
fn of(n: i64) -> usize {
    usize::try_from(n.unsigned_abs()).unwrap_or(usize::MAX)
}

fn forward_only() -> SqlError {
    SqlError::new("55000", "cursor can only scan forward")
        .hint("Declare it with SCROLL option to enable backward scan.")
}
