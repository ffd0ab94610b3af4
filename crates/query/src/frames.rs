//! Which rows does the frame of each row of a partition hold?
//!
//! A frame is a stretch of the partition, less what EXCLUDE leaves out of it. ROWS counts rows and GROUPS groups of peers;
//! RANGE asks a function of the order's type which values are within a distance. Values come in order, so that the ends of
//! all frames of a partition are searched at once, halving what is left of each in every step.
//!
//! It must not know what is calculated over frames ([`crate::over`]). Thread safety: plain data.

use arrow_array::{Array, ArrayRef, BooleanArray, UInt32Array};
use onlap_kernels::{Col, Datum, Kernel, Repr};
use onlap_pg::ast::{Exclude, FrameUnit};
use onlap_pg::{Error, Result};

use crate::env::Env;
use crate::node::{Node, Rows, arrow};

/// A stretch of rows: the first, and the one behind the last.
pub type Stretch = (usize, usize);

/// An end of a frame with its distance.
pub enum Edge<D> {
    /// UNBOUNDED PRECEDING
    First,
    /// n PRECEDING
    Before(D),
    /// CURRENT ROW
    Current,
    /// n FOLLOWING
    After(D),
    /// UNBOUNDED FOLLOWING
    Last,
}

/// A frame as it is planned.
pub struct Frame {
    /// What it counts.
    pub unit: FrameUnit,
    /// From here.
    pub from: Edge<Distance>,
    /// To here.
    pub to: Edge<Distance>,
    /// What it leaves out.
    pub exclude: Option<Exclude>,
    /// Of RANGE with a distance: the value that the order is of.
    pub value: Option<Node>,
    /// Whether the order goes up.
    pub ascending: bool,
}

/// The distance of an end.
pub struct Distance {
    /// How far.
    pub node: Node,
    /// Of RANGE: what says which values are within it.
    pub within: Option<Box<dyn Kernel>>,
}

/// A distance that is known: rows or groups, or a value of RANGE.
pub enum Known {
    /// So many.
    Count(usize),
    /// As far as this.
    Value(ArrayRef),
}

/// The known distances of both ends.
pub type Distances = [Option<Known>; 2];

/// A partition of rows that lie one behind the other.
pub struct Partition {
    /// The first row.
    pub start: usize,
    /// The row behind the last.
    pub end: usize,
    /// The first row of each group of peers.
    pub groups: Vec<usize>,
    /// The group of each row.
    pub group_of: Vec<u32>,
}

impl Partition {
    /// The number of a row's group, from 0.
    pub fn group(&self, row: usize) -> usize {
        self.group_of[row - self.start] as usize
    }

    /// The rows of a group.
    pub fn peers(&self, group: usize) -> Stretch {
        let end = self.groups.get(group + 1).copied().unwrap_or(self.end);
        (self.groups[group], end)
    }
}

impl Frame {
    /// What the distances are in this run.
    ///
    /// # Errors
    /// `22004`: one is NULL; `22013`: one is negative.
    pub fn distances(&self, env: &Env) -> Result<Distances> {
        let known = |edge: &Edge<Distance>, end: &str| -> Result<Option<Known>> {
            let (Edge::Before(distance) | Edge::After(distance)) = edge else { return Ok(None) };
            let value = distance.node.eval(&Rows { columns: &[], count: 1 }, env)?;
            if value.is_null(0) {
                let text = format!("frame {end} offset must not be null");
                return Err(Error::new("22004", text));
            }
            if self.unit == FrameUnit::Range {
                return Ok(Some(Known::Value(value.array)));
            }
            let Datum::Int8(count) = Datum::at(&value.array, Repr::Int8, 0) else {
                unreachable!("the binder has made an int8 of it")
            };
            let negative =
                || Error::new("22013", format!("frame {end} offset must not be negative"));
            Ok(Some(Known::Count(usize::try_from(count).map_err(|_| negative())?)))
        };
        Ok([known(&self.from, "starting")?, known(&self.to, "ending")?])
    }

    /// Whether all frames begin where their partitions do, and nothing is left out.
    pub fn only_grows(&self) -> bool {
        matches!(self.from, Edge::First) && self.exclude.is_none()
    }

    /// The frames of a partition's rows, whose order is of these values.
    ///
    /// # Errors
    /// Those of the functions of RANGE.
    pub fn bounds(
        &self,
        of: &Partition,
        distances: &Distances,
        values: Option<&ArrayRef>,
        env: &Env,
        out: &mut Vec<Stretch>,
    ) -> Result<()> {
        let ranges = [(&self.from, false), (&self.to, true)].map(|(edge, is_end)| {
            self.searched(of, edge, is_end, &distances[usize::from(is_end)], values, env)
        });
        let [starts, ends] = ranges;
        let (starts, ends) = (starts?, ends?);
        for row in of.start..of.end {
            let from = match &starts {
                Some(starts) => starts[row - of.start],
                None => self.first(of, row, &distances[0]),
            };
            let to = match &ends {
                Some(ends) => ends[row - of.start],
                None => self.behind(of, row, &distances[1]),
            };
            out.push((from, to.max(from)));
        }
        Ok(())
    }

    /// The first row of a row's frame, where no value is searched for.
    fn first(&self, of: &Partition, row: usize, distance: &Option<Known>) -> usize {
        let count = match distance {
            Some(Known::Count(count)) => *count,
            _ => 0,
        };
        let is_rows = self.unit == FrameUnit::Rows;
        match self.from {
            Edge::First => of.start,
            Edge::Last => of.end,
            Edge::Current if is_rows => row,
            Edge::Current => of.peers(of.group(row)).0,
            Edge::Before(_) if is_rows => row.saturating_sub(count).max(of.start),
            Edge::Before(_) => of.peers(of.group(row).saturating_sub(count)).0,
            Edge::After(_) if is_rows => row.saturating_add(count).min(of.end),
            Edge::After(_) => {
                let group = of.group(row).saturating_add(count);
                of.groups.get(group).copied().unwrap_or(of.end)
            }
        }
    }

    /// The row behind a row's frame, where no value is searched for.
    fn behind(&self, of: &Partition, row: usize, distance: &Option<Known>) -> usize {
        let count = match distance {
            Some(Known::Count(count)) => *count,
            _ => 0,
        };
        let is_rows = self.unit == FrameUnit::Rows;
        match self.to {
            Edge::First => of.start,
            Edge::Last => of.end,
            Edge::Current if is_rows => row + 1,
            Edge::Current => of.peers(of.group(row)).1,
            Edge::Before(_) if is_rows => (row + 1).saturating_sub(count).max(of.start),
            Edge::Before(_) => match of.group(row).checked_sub(count) {
                Some(group) => of.peers(group).1,
                None => of.start,
            },
            Edge::After(_) if is_rows => (row + 1).saturating_add(count).min(of.end),
            Edge::After(_) => {
                let group = of.group(row).saturating_add(count);
                if group < of.groups.len() { of.peers(group).1 } else { of.end }
            }
        }
    }

    /// An end of RANGE with a distance, for each row; `None` if it is none.
    fn searched(
        &self,
        of: &Partition,
        edge: &Edge<Distance>,
        is_end: bool,
        distance: &Option<Known>,
        values: Option<&ArrayRef>,
        env: &Env,
    ) -> Result<Option<Vec<usize>>> {
        let (before, planned) = match edge {
            Edge::Before(planned) => (true, planned),
            Edge::After(planned) => (false, planned),
            _ => return Ok(None),
        };
        let (Some(within), Some(Known::Value(distance)), Some(values)) =
            (&planned.within, distance, values)
        else {
            return Ok(None);
        };
        let is_null = |row: &usize| values.is_null(*row);
        // NULLs are together at one end.
        let nulls = (of.start..of.end).filter(is_null).count();
        let (first, last) = match nulls > 0 && values.is_null(of.start) {
            true => (of.start + nulls, of.end),
            false => (of.start, of.end - nulls),
        };
        let less = is_end == self.ascending;
        let sub = before == self.ascending;
        let search = Search { within: &**within, distance, values, sub, less, is_end };
        let mut found = search.run(first, last, env)?.into_iter();
        let of_null = match (is_end, first > of.start) {
            (false, true) => of.start,
            (false, false) => last,
            (true, true) => first,
            (true, false) => of.end,
        };
        let at = |row: usize| match first <= row && row < last {
            true => found.next().expect("there is one per value"),
            false => of_null,
        };
        Ok(Some((of.start..of.end).map(at).collect()))
    }

    /// The rows of a frame that count, in up to three stretches.
    pub fn counted(&self, of: &Partition, row: usize, frame: Stretch) -> [Stretch; 3] {
        let (from, to) = frame;
        let (first, behind) = match self.exclude {
            None => return [frame, (to, to), (to, to)],
            Some(Exclude::Current) => (row, row + 1),
            Some(Exclude::Group | Exclude::Ties) => of.peers(of.group(row)),
        };
        let own = match self.exclude {
            Some(Exclude::Ties) if from <= row && row < to => (row, row + 1),
            _ => (to, to),
        };
        let cut = |from: usize, to: usize| (from, to.max(from));
        [cut(from, to.min(first)), own, cut(from.max(behind), to)]
    }
}

/// A search for the ends of frames.
struct Search<'a> {
    within: &'a dyn Kernel,
    distance: &'a ArrayRef,
    values: &'a ArrayRef,
    sub: bool,
    less: bool,
    is_end: bool,
}

impl Search<'_> {
    /// For each of some rows, none of them NULL, the first that is within the distance; for ends the first that is not.
    fn run(&self, first: usize, last: usize, env: &Env) -> Result<Vec<usize>> {
        let mut open: Vec<Stretch> = vec![(first, last); last - first];
        loop {
            let left: Vec<usize> = (0..open.len()).filter(|n| open[*n].0 < open[*n].1).collect();
            if left.is_empty() {
                return Ok(open.into_iter().map(|stretch| stretch.0).collect());
            }
            env.cx().go_on()?;
            let middle = |n: &usize| (open[*n].0 + open[*n].1) / 2;
            let middles: Vec<usize> = left.iter().map(middle).collect();
            let take = |rows: &mut dyn Iterator<Item = usize>| {
                let rows = UInt32Array::from_iter_values(rows.map(|row| row as u32));
                arrow_select::take::take(self.values, &rows, None).map(Col::new).map_err(arrow)
            };
            let flag =
                |flag: bool| Col::constant(std::sync::Arc::new(BooleanArray::from(vec![flag])));
            let args = [
                take(&mut middles.iter().copied())?,
                take(&mut left.iter().map(|n| first + n))?,
                Col::constant(std::sync::Arc::clone(self.distance)),
                flag(self.sub),
                flag(self.less),
            ];
            let within = Col::new(self.within.eval(&args, left.len(), &mut env.cx())?);
            for (n, (at, middle)) in left.iter().zip(middles).enumerate() {
                let is_within = crate::node::truth(&within, n) == Some(true);
                match is_within == self.is_end {
                    true => open[*at].0 = middle + 1,
                    false => open[*at].1 = middle,
                }
            }
        }
    }
}
