//! What do calls over windows give for the rows of whole partitions?
//!
//! Aggregates whose frames are all the same are calculated once per partition; those whose frames only grow take each row
//! once; for others each frame is a group of its own.
//!
//! Thread safety: a call belongs to one plan; its states belong to one run.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, Float64Array, Int32Array, Int64Array, UInt32Array, new_null_array,
};
use arrow_schema::DataType;
use onlap_kernels::Col;
use onlap_pg::{Error, Result};

use crate::aggregates::MakeStates;
use crate::env::Env;
use crate::frames::{Frame, Partition, Stretch};
use crate::node::{Arm, Rows, Spread, arrow, truth};

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

    fn counted(&self, of: &Partition, row: usize) -> [Stretch; 3] {
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
            What::Aggregate(states) => self.aggregate(states, chunk, env),
        }
    }

    fn arg(&self, at: usize, chunk: &Chunk<'_>, env: &Env) -> Result<ArrayRef> {
        self.args[at].node.eval(&chunk.rows, env)?.spread(chunk.rows.count)
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
        arrow_select::interleave::interleave(&arrays, &at).map_err(arrow)
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
        arrow_select::take::take(&value, &UInt32Array::from(at), None).map_err(arrow)
    }

    fn aggregate(&self, states: &MakeStates, chunk: &Chunk<'_>, env: &Env) -> Result<ArrayRef> {
        let taken = self.taken(chunk, env)?;
        let is_whole = |of: &Partition| {
            let whole = (of.start, of.end);
            chunk.bounds[of.start..of.end].iter().all(|bounds| *bounds == whole)
        };
        let (results, which) = match () {
            () if chunk.frame.exclude.is_none() && chunk.partitions.iter().all(is_whole) => {
                per_partition(states, &taken, chunk, env)?
            }
            () if chunk.frame.only_grows() => growing(states, &taken, chunk, env)?,
            () => per_frame(states, &taken, chunk, env)?,
        };
        let parts: Vec<&dyn Array> = results.iter().map(|part| &**part).collect();
        if parts.is_empty() {
            return Ok(new_null_array(&self.ty, 0));
        }
        let results = arrow_select::concat::concat(&parts).map_err(arrow)?;
        arrow_select::take::take(&results, &UInt32Array::from(which), None).map_err(arrow)
    }

    /// The rows that FILTER leaves, and the arguments for these.
    fn taken(&self, chunk: &Chunk<'_>, env: &Env) -> Result<Taken> {
        let count = chunk.rows.count;
        let kept: Vec<u32> = match &self.filter {
            None => (0..count as u32).collect(),
            Some(filter) => {
                let holds = filter.node.eval(&chunk.rows, env)?;
                (0..count as u32).filter(|row| truth(&holds, *row as usize) == Some(true)).collect()
            }
        };
        let mut args = Vec::with_capacity(self.args.len());
        for arg in &self.args {
            args.push(arg.eval_at(&kept, &chunk.rows, env)?.spread(kept.len())?);
        }
        let mut before = Vec::with_capacity(count + 1);
        let mut rows = kept.iter().peekable();
        let mut passed = 0;
        for row in 0..=count as u32 {
            before.push(passed);
            if rows.next_if(|kept| **kept == row).is_some() {
                passed += 1;
            }
        }
        Ok(Taken { args, before })
    }
}

/// The arguments of an aggregate for the rows that count.
struct Taken {
    args: Vec<ArrayRef>,
    /// How many of these rows lie before each row, and before the end.
    before: Vec<usize>,
}

impl Taken {
    fn slice(&self, from: usize, to: usize) -> Vec<Col> {
        self.args.iter().map(|arg| Col::new(arg.slice(from, to - from))).collect()
    }
}

/// Results, and of each row which.
type Results = (Vec<ArrayRef>, Vec<u32>);

/// All frames are their partitions.
fn per_partition(
    states: &MakeStates,
    taken: &Taken,
    chunk: &Chunk<'_>,
    env: &Env,
) -> Result<Results> {
    let mut states = states();
    states.grow(chunk.partitions.len());
    let (mut groups, mut which) = (Vec::new(), Vec::with_capacity(chunk.rows.count));
    for (n, of) in chunk.partitions.iter().enumerate() {
        groups.resize(taken.before[of.end], n);
        which.resize(of.end, n as u32);
    }
    states.update(&taken.slice(0, groups.len()), &groups, &mut env.cx())?;
    Ok((vec![states.finish(chunk.partitions.len(), &mut env.cx())?], which))
}

/// Frames begin with their partitions: each row is taken once.
fn growing(states: &MakeStates, taken: &Taken, chunk: &Chunk<'_>, env: &Env) -> Result<Results> {
    let (mut results, mut which) = (Vec::new(), Vec::with_capacity(chunk.rows.count));
    for of in &chunk.partitions {
        let mut states = states();
        states.grow(1);
        let mut done = None;
        for row in of.start..of.end {
            let to = chunk.bounds[row].1;
            if done != Some(to) {
                let (from, to) = (taken.before[done.unwrap_or(of.start)], taken.before[to]);
                if from < to {
                    states.update(&taken.slice(from, to), &vec![0; to - from], &mut env.cx())?;
                }
                results.push(states.finish(1, &mut env.cx())?);
                if results.len() % 1024 == 0 {
                    env.cx().go_on()?;
                }
            }
            done = Some(to);
            which.push(results.len() as u32 - 1);
        }
    }
    Ok((results, which))
}

/// So many rows of frames are taken at once.
const FRAME_ROWS: usize = 64 << 10;

/// Each frame is a group of its own.
fn per_frame(states: &MakeStates, taken: &Taken, chunk: &Chunk<'_>, env: &Env) -> Result<Results> {
    let (mut results, mut which) = (Vec::new(), Vec::with_capacity(chunk.rows.count));
    let (mut rows, mut groups): (Vec<u32>, Vec<usize>) = (Vec::new(), Vec::new());
    let (mut open, mut finished) = (0, 0);
    let mut finish = |rows: &mut Vec<u32>, groups: &mut Vec<usize>, open: usize| {
        let mut states = states();
        states.grow(open);
        let at = UInt32Array::from(std::mem::take(rows));
        let take = |arg: &ArrayRef| arrow_select::take::take(arg, &at, None).map(Col::new);
        let args: std::result::Result<Vec<Col>, _> = taken.args.iter().map(take).collect();
        states.update(&args.map_err(arrow)?, groups, &mut env.cx())?;
        groups.clear();
        results.push(states.finish(open, &mut env.cx())?);
        Ok(())
    };
    let mut last = None;
    for of in &chunk.partitions {
        for row in of.start..of.end {
            let stretches =
                chunk.counted(of, row).map(|(from, to)| (taken.before[from], taken.before[to]));
            if last != Some(stretches) {
                if rows.len() >= FRAME_ROWS || open >= FRAME_ROWS {
                    env.cx().go_on()?;
                    finish(&mut rows, &mut groups, open)?;
                    (finished, open) = (finished + open, 0);
                }
                for (from, to) in stretches {
                    rows.extend(from as u32..to as u32);
                }
                groups.resize(rows.len(), open);
                open += 1;
                last = Some(stretches);
            }
            which.push((finished + open - 1) as u32);
        }
    }
    if open > 0 {
        finish(&mut rows, &mut groups, open)?;
    }
    Ok((results, which))
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
