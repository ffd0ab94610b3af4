//! How are aggregates over frames calculated?
//!
//! Where all frames are their partitions, once per partition; where frames only grow, each row is taken once; else each frame
//! is a group of its own, many at a time.
//!
//! It must not know how frames are made ([`crate::frames`]). Thread safety: states belong to one run.

use arrow_array::{Array, ArrayRef, UInt32Array, new_null_array};
use onlap_kernels::{Asking, Col};
use onlap_pg::Result;

use crate::aggregates::MakeStates;
use crate::env::{Env, bytes_of};
use crate::frames::Partition;
use crate::node::{Rows, Spread, truth};
use crate::over::{Chunk, Over};
use crate::picked::{concat, take};

impl Over {
    /// An aggregate's value per row.
    ///
    /// # Errors
    /// Those of the function and of its arguments.
    pub fn total(&self, states: &MakeStates, chunk: &Chunk<'_>, env: &Env) -> Result<ArrayRef> {
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
        if results.is_empty() {
            return Ok(new_null_array(&self.ty, 0));
        }
        take(&concat(&results, env)?, &UInt32Array::from(which), env)
    }

    /// The rows that FILTER leaves.
    ///
    /// # Errors
    /// Those of the condition.
    pub fn kept(&self, rows: &Rows<'_>, env: &Env) -> Result<Vec<u32>> {
        let all = 0..rows.count as u32;
        let Some(filter) = &self.filter else { return Ok(all.collect()) };
        let holds = filter.node.eval(rows, env)?;
        Ok(all.filter(|row| truth(&holds, *row as usize) == Some(true)).collect())
    }

    /// The rows that FILTER leaves, and the arguments for these.
    fn taken(&self, chunk: &Chunk<'_>, env: &Env) -> Result<Taken> {
        let count = chunk.rows.count;
        let kept = self.kept(&chunk.rows, env)?;
        let mut args = Vec::with_capacity(self.args.len());
        for arg in &self.args {
            args.push(arg.eval_at(&kept, &chunk.rows, env)?.spread(kept.len(), env)?);
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
    /// What a row's arguments take, on average.
    fn row_bytes(&self) -> usize {
        let bytes = self.args.iter().map(bytes_of).fold(0, usize::saturating_add);
        let rows = self.before.last().copied().unwrap_or(0).max(1);
        (bytes / rows).max(1)
    }

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
    let mut memory = Asking::new(&env.cx());
    states.update(&taken.slice(0, groups.len()), &groups, &mut env.cx())?;
    memory.hold(states.size(), &env.cx())?;
    Ok((vec![states.finish(chunk.partitions.len(), &mut env.cx())?], which))
}

/// The number of single results that become one array: an array takes more than what is in it.
const JOINED: usize = 1024;

/// Frames begin with their partitions: each row is taken once.
fn growing(states: &MakeStates, taken: &Taken, chunk: &Chunk<'_>, env: &Env) -> Result<Results> {
    let (mut results, mut single) = (Vec::new(), Vec::new());
    let (mut which, mut count) = (Vec::with_capacity(chunk.rows.count), 0);
    let (mut memory, mut bytes) = (Asking::new(&env.cx()), 0);
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
                let result = states.finish(1, &mut env.cx())?;
                bytes += bytes_of(&result);
                memory.hold(states.size().saturating_add(bytes), &env.cx())?;
                single.push(result);
                count += 1;
                if single.len() == JOINED {
                    env.cx().go_on()?;
                    results.push(concat(&std::mem::take(&mut single), env)?);
                }
            }
            done = Some(to);
            which.push(count - 1);
        }
    }
    if !single.is_empty() {
        results.push(concat(&single, env)?);
    }
    Ok((results, which))
}

/// The number of rows of frames that are taken at once, and what their arguments take.
const FRAME_ROWS: usize = 64 << 10;
const FRAME_BYTES: usize = 1 << 20;

/// Each frame is a group of its own.
fn per_frame(states: &MakeStates, taken: &Taken, chunk: &Chunk<'_>, env: &Env) -> Result<Results> {
    let (mut results, mut which) = (Vec::new(), Vec::with_capacity(chunk.rows.count));
    let (mut rows, mut groups): (Vec<u32>, Vec<usize>) = (Vec::new(), Vec::new());
    let (mut open, mut finished) = (0, 0);
    let rows_at_once = (FRAME_BYTES / taken.row_bytes()).clamp(1, FRAME_ROWS);
    let (mut memory, mut bytes) = (Asking::new(&env.cx()), 0);
    let mut finish = |rows: &mut Vec<u32>, groups: &mut Vec<usize>, open: usize| {
        let mut states = states();
        states.grow(open);
        let at = UInt32Array::from(std::mem::take(rows));
        let args = taken.args.iter().map(|arg| take(arg, &at, env).map(Col::new));
        states.update(&args.collect::<Result<Vec<Col>>>()?, groups, &mut env.cx())?;
        memory.hold(states.size().saturating_add(bytes), &env.cx())?;
        groups.clear();
        let result = states.finish(open, &mut env.cx())?;
        bytes += bytes_of(&result);
        memory.hold(bytes, &env.cx())?;
        results.push(result);
        Ok(())
    };
    let mut last = None;
    for of in &chunk.partitions {
        for row in of.start..of.end {
            let stretches =
                chunk.counted(of, row).map(|(from, to)| (taken.before[from], taken.before[to]));
            if last != Some(stretches) {
                if rows.len() >= rows_at_once || open >= FRAME_ROWS {
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
