//! Which groups are worth joining, and who does it?
//!
//! [`choose`] is the policy, a pure function of sizes; [`Work`] executes it outside every lock and
//! puts the result in place under a short one. Small chunks are joined, columns and all, until they
//! reach [`Tuning::chunk_rows`]; from there neighbours are merged [`Tuning::fan_in`] at a time,
//! permutations only, up to [`Tuning::span_rows`]. Sizes are weighed in rows and in bytes, so that a
//! table with large rows gets chunks of like bytes.
//!
//! A task that asks for work owns it until it ran or was dropped; no other gets the same groups.

use std::ops::Range;
use std::sync::Arc;

use super::group::{Group, join, merge_groups};
use super::marks::{MarkList, join_lists};
use super::{Shared, Tuning};

/// Size of a group as the policy sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// Rows, or what the bytes amount to in rows.
    pub weight: usize,
    /// In work already.
    pub busy: bool,
    pub single: bool,
}

/// What to do with a stretch of groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Copy columns into one chunk.
    Join(Range<usize>),
    /// Merge permutations.
    Merge(Range<usize>),
}

/// The next thing to do, smallest groups first: they cost readers most.
pub fn choose(sizes: &[Size], tuning: &Tuning) -> Option<Choice> {
    let join = |s: &Size| !s.busy && s.single && s.weight < tuning.chunk_rows;
    for stretch in stretches(sizes, join) {
        let enough = fill(sizes, stretch.clone(), tuning.chunk_rows);
        // What cannot grow any more, because larger groups follow, is joined as it is.
        let closed = stretch.end < sizes.len() && stretch.len() > 1;
        if let Some(range) = enough.or(closed.then_some(stretch))
            && range.len() > 1
        {
            return Some(Choice::Join(range));
        }
    }
    let mut limit = tuning.chunk_rows * tuning.fan_in;
    while limit <= tuning.span_rows {
        let merge = |s: &Size| !s.busy && s.weight < limit;
        for mut stretch in stretches(sizes, merge) {
            if stretch.end == sizes.len() {
                // The newest small groups are still growing.
                while !stretch.is_empty() && sizes[stretch.end - 1].weight < limit / tuning.fan_in {
                    stretch.end -= 1;
                }
            }
            if let Some(range) = fill(sizes, stretch, limit)
                && range.len() > 1
            {
                return Some(Choice::Merge(range));
            }
        }
        limit *= tuning.fan_in;
    }
    None
}

/// Maximal stretches of groups for which `fits` holds.
fn stretches<'a>(
    sizes: &'a [Size],
    fits: impl Fn(&Size) -> bool + 'a,
) -> impl Iterator<Item = Range<usize>> + 'a {
    let mut at = 0;
    std::iter::from_fn(move || {
        at += sizes[at..].iter().position(&fits)?;
        let len = sizes[at..].iter().position(|s| !fits(s)).unwrap_or(sizes.len() - at);
        at += len;
        Some(at - len..at)
    })
}

/// The first groups of a stretch that weigh `limit` together.
fn fill(sizes: &[Size], stretch: Range<usize>, limit: usize) -> Option<Range<usize>> {
    let mut sum = 0;
    for i in stretch.clone() {
        sum += sizes[i].weight;
        if sum >= limit {
            return Some(stretch.start..i + 1);
        }
    }
    None
}

/// A piece of background work on one memtable.
#[derive(Debug)]
pub struct Work {
    shared: Arc<Shared>,
    job: Job,
    done: bool,
}

#[derive(Debug)]
pub(super) enum Job {
    Join(Vec<Arc<Group>>),
    Merge(Vec<Arc<Group>>),
    Marks(Vec<Arc<MarkList>>),
}

impl Work {
    pub(super) fn new(shared: &Arc<Shared>, job: Job) -> Work {
        Work { shared: Arc::clone(shared), job, done: false }
    }

    /// Bytes read and written, roughly; for those who schedule.
    pub fn bytes(&self) -> usize {
        match &self.job {
            Job::Join(groups) => groups.iter().map(|g| g.data_bytes).sum(),
            Job::Merge(groups) => groups.iter().map(|g| g.heap_bytes() - g.data_bytes).sum(),
            Job::Marks(pieces) => pieces.iter().map(|p| p.len() * 24).sum(),
        }
    }

    /// Does the work and puts the result in place. Takes no lock while it computes.
    pub fn run(mut self) {
        let shared = Arc::clone(&self.shared);
        match &self.job {
            Job::Join(groups) => {
                let joined = join(groups, &shared.shape, &shared.plans);
                shared.replace(groups, Some(joined));
            }
            Job::Merge(groups) => {
                let merged = merge_groups(groups, &shared.shape, &shared.plans);
                shared.replace(groups, Some(merged));
            }
            Job::Marks(pieces) => shared.replace_marks(pieces, Some(join_lists(pieces))),
        }
        self.done = true;
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        match &self.job {
            Job::Join(groups) | Job::Merge(groups) => self.shared.replace(groups, None),
            Job::Marks(pieces) => self.shared.replace_marks(pieces, None),
        }
    }
}
