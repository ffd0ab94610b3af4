//! What do calls over windows give for the rows of whole partitions?
//!
//! Each call becomes a column, all rows at once; aggregates are calculated in [`crate::totals`].
//!
//! Thread safety: a call belongs to one plan; its states belong to one run.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, Float64Array, Int32Array, Int64Array, UInt32Array, new_null_array,
};
use arrow_schema::DataType;
use onlap_pg::{Error, Result};

use crate::aggregates::MakeStates;
use crate::env::Env;
use crate::frames::{Frame, Partition, Stretch};
use crate::node::{Arm, Rows, Spread};
use crate::picked::{interleave, take};

/// What is called.
#[derive(Clone)]
pub enum What {
    /// row_number()
    RowNumber,
    /// rank()
    Rank,
    /// dense_rank()
    DenseRank,
    /// percent_rank()
    PercentRank,
    /// cume_dist()
    CumeDist,
    /// ntile(n)
    Ntile,
    /// lag(value, n, otherwise)
    Lag,
    /// lead(value, n, otherwise)
    Lead,
    /// first_value(value)
    First,
    /// last_value(value)
    Last,
    /// nth_value(value, n)
    Nth,
    /// An aggregate.
    Aggregate(MakeStates),
}

impl What {
    /// The window function of this name.
    pub fn named(name: &str) -> Option<What> {
        Some(match name {
            "row_number" => What::RowNumber,
            "rank" => What::Rank,
            "dense_rank" => What::DenseRank,
            "percent_rank" => What::PercentRank,
            "cume_dist" => What::CumeDist,
            "ntile" => What::Ntile,
            "lag" => What::Lag,
            "lead" => What::Lead,
            "first_value" => What::First,
            "last_value" => What::Last,
            "nth_value" => What::Nth,
            _ => return None,
        })
    }

    /// Whether it looks at frames.
    pub fn has_frame(&self) -> bool {
        matches!(self, What::First | What::Last | What::Nth | What::Aggregate(_))
    }
}

/// A call over a window.
pub struct Over {
    /// Of what.
    pub what: What,
    /// Its arguments.
    pub args: Vec<Arm>,
    /// FILTER.
    pub filter: Option<Arm>,
    /// The Arrow type of its result.
    pub ty: DataType,
}

/// Whole partitions.
pub struct Chunk<'a> {
    /// Their rows.
    pub rows: Rows<'a>,
    /// Where each lies.
    pub partitions: Vec<Partition>,
    /// The frame of each row; empty where no call has one.
    pub bounds: Vec<Stretch>,
    /// How frames are made.
    pub frame: &'a Frame,
}

impl Chunk<'_> {
    fn each(&self, mut see: impl FnMut(&Partition, usize) -> Result<()>) -> Result<()> {
        for partition in &self.partitions {
            for row in partition.start..partition.end {
                see(partition, row)?;
            }
        }
        Ok(())
    }

    fn counts(&self, count: impl Fn(&Partition, usize) -> usize) -> Result<ArrayRef> {
        let mut out = Vec::with_capacity(self.rows.count);
        self.each(|partition, row| {
            out.push(count(partition, row) as i64);
            Ok(())
        })?;
        Ok(Arc::new(Int64Array::from(out)))
    }

    fn shares(&self, share: impl Fn(&Partition, usize) -> f64) -> Result<ArrayRef> {
        let mut out = Vec::with_capacity(self.rows.count);
        self.each(|partition, row| {
            out.push(share(partition, row));
            Ok(())
        })?;
        Ok(Arc::new(Float64Array::from(out)))
    }

    /// The rows that count for a row, in up to three stretches.
    pub fn counted(&self, of: &Partition, row: usize) -> [Stretch; 3] {
        self.frame.counted(of, row, self.bounds[row])
    }
}

impl Over {
    /// A value per row.
    ///
    /// # Errors
    /// Those of the function and of its arguments.
    pub fn eval(&self, chunk: &Chunk<'_>, env: &Env) -> Result<ArrayRef> {
        match &self.what {
            What::RowNumber => chunk.counts(|of, row| row - of.start + 1),
            What::Rank => chunk.counts(|of, row| of.peers(of.group(row)).0 - of.start + 1),
            What::DenseRank => chunk.counts(|of, row| of.group(row) + 1),
            What::PercentRank => chunk.shares(|of, row| {
                let before = (of.peers(of.group(row)).0 - of.start) as f64;
                if before == 0.0 { 0.0 } else { before / (of.end - of.start - 1) as f64 }
            }),
            What::CumeDist => chunk.shares(|of, row| {
                (of.peers(of.group(row)).1 - of.start) as f64 / (of.end - of.start) as f64
            }),
            What::Ntile => self.ntile(chunk, env),
            What::Lag | What::Lead => self.shifted(chunk, env),
            What::First | What::Last | What::Nth => self.of_frame(chunk, env),
            What::Aggregate(states) => self.total(states, chunk, env),
        }
    }

    fn arg(&self, at: usize, chunk: &Chunk<'_>, env: &Env) -> Result<ArrayRef> {
        self.args[at].node.eval(&chunk.rows, env)?.spread(chunk.rows.count, env)
    }

    fn ntile(&self, chunk: &Chunk<'_>, env: &Env) -> Result<ArrayRef> {
        let wanted = self.arg(0, chunk, env)?;
        let wanted = wanted.as_primitive::<Int32Type>();
        let mut out: Vec<Option<i32>> = Vec::with_capacity(chunk.rows.count);
        for of in &chunk.partitions {
            let mut tiles: Option<Tiles> = None;
            for row in of.start..of.end {
                if tiles.is_none() && wanted.is_valid(row) {
                    tiles = Some(Tiles::new(of.end - of.start, wanted.value(row))?);
                }
                out.push(tiles.as_mut().map(Tiles::next));
            }
        }
        Ok(Arc::new(Int32Array::from(out)))
    }

    /// lag and lead.
    fn shifted(&self, chunk: &Chunk<'_>, env: &Env) -> Result<ArrayRef> {
        let value = self.arg(0, chunk, env)?;
        let distance = match self.args.len() {
            1 => None,
            _ => Some(self.arg(1, chunk, env)?),
        };
        let otherwise = match self.args.len() {
            3 => Some(self.arg(2, chunk, env)?),
            _ => None,
        };
        let distance = distance.as_ref().map(|column| column.as_primitive::<Int32Type>());
        let none = new_null_array(&self.ty, 1);
        let (has_other, sign) =
            (otherwise.is_some(), if let What::Lag = self.what { -1 } else { 1 });
        let mut at: Vec<(usize, usize)> = Vec::with_capacity(chunk.rows.count);
        chunk.each(|of, row| {
            let by = match distance {
                None => Some(1),
                Some(column) => column.is_valid(row).then(|| i64::from(column.value(row))),
            };
            at.push(match by.map(|by| row as i64 + sign * by) {
                None => (0, 0),
                Some(found) if found >= of.start as i64 && found < of.end as i64 => {
                    (1, found as usize)
                }
                Some(_) if has_other => (2, row),
                Some(_) => (0, 0),
            });
            Ok(())
        })?;
        let mut arrays: Vec<&dyn Array> = vec![&*none, &*value];
        arrays.extend(otherwise.as_deref());
        interleave(&arrays, &at, env)
    }

    /// The value of a row of the frame.
    fn of_frame(&self, chunk: &Chunk<'_>, env: &Env) -> Result<ArrayRef> {
        let value = self.arg(0, chunk, env)?;
        let number = match self.what {
            What::Nth => Some(self.arg(1, chunk, env)?),
            _ => None,
        };
        let number = number.as_ref().map(|column| column.as_primitive::<Int32Type>());
        let mut at: Vec<Option<u32>> = Vec::with_capacity(chunk.rows.count);
        chunk.each(|of, row| {
            let stretches = chunk.counted(of, row);
            let filled = || stretches.iter().filter(|stretch| stretch.0 < stretch.1);
            let found = match (&self.what, number) {
                (What::First, _) => filled().next().map(|stretch| stretch.0),
                (What::Last, _) => filled().next_back().map(|stretch| stretch.1 - 1),
                (_, Some(number)) if number.is_valid(row) => nth(&stretches, number.value(row))?,
                _ => None,
            };
            at.push(found.map(|row| row as u32));
            Ok(())
        })?;
        take(&value, &UInt32Array::from(at), env)
    }
}

/// The row that is the nth of some stretches, from 1.
fn nth(stretches: &[Stretch; 3], number: i32) -> Result<Option<usize>> {
    if number <= 0 {
        return Err(Error::new("22016", "argument of nth_value must be greater than zero"));
    }
    let mut left = number as usize - 1;
    for (from, to) in stretches {
        if left < to - from {
            return Ok(Some(from + left));
        }
        left -= to - from;
    }
    Ok(None)
}

/// Rows dealt out to tiles: those of the first tiles have one row more where the division leaves a rest.
struct Tiles {
    tile: i32,
    /// Rows of the tile that were given.
    given: usize,
    /// Rows of each tile.
    size: usize,
    /// How many of the first tiles have one more.
    larger: usize,
}

impl Tiles {
    fn new(rows: usize, tiles: i32) -> Result<Tiles> {
        if tiles <= 0 {
            return Err(Error::new("22014", "argument of ntile must be greater than zero"));
        }
        let (size, larger) = (rows / tiles as usize, rows % tiles as usize);
        Ok(Tiles { tile: 1, given: 0, size, larger })
    }

    fn next(&mut self) -> i32 {
        let room = self.size + usize::from((self.tile as usize) <= self.larger);
        if self.given == room {
            self.tile += 1;
            self.given = 0;
        }
        self.given += 1;
        self.tile
    }
}
