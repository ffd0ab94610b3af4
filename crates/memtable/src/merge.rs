//! How do sorted permutations become one?
//!
//! Rounds of two-way merges on prefixes, neighbours first, between two buffers, so that every pass
//! reads and writes memory in sequence and nothing is allocated but the buffers; a tie goes to the
//! left side, whose rows are older, unless the plan is not exact and the rows decide. Merges are
//! stable in row order for that reason alone: runs must be added in row order. A heap of all runs
//! would compare as often, but with a branch that no processor can predict at each step.
//!
//! Pure functions.

use std::cmp::Ordering;

use super::chunk::Pick;

/// Orders two rows with equal prefixes.
pub(crate) type Compare<'a> = &'a dyn Fn(Pick, Pick) -> Ordering;

/// Sorted entries: prefixes of one plan and the rows they stand for.
#[derive(Debug, Default)]
pub(crate) struct Sorted {
    pub prefixes: Vec<u64>,
    pub picks: Vec<Pick>,
}

/// Sorted runs, one behind the other, that will be one.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    all: Sorted,
    ends: Vec<usize>,
}

/// Part of sorted entries.
#[derive(Clone, Copy)]
struct Side<'a> {
    prefixes: &'a [u64],
    picks: &'a [Pick],
}

impl Runs {
    /// Room for `entries` entries.
    pub(crate) fn with_capacity(entries: usize) -> Runs {
        let (prefixes, picks) = (Vec::with_capacity(entries), Vec::with_capacity(entries));
        Runs { all: Sorted { prefixes, picks }, ends: Vec::new() }
    }

    /// Adds a run whose rows are newer than those of all runs before; `shift` is added to its picks.
    pub(crate) fn push(&mut self, prefixes: &[u64], picks: &[Pick], shift: Pick) {
        debug_assert_eq!(prefixes.len(), picks.len());
        self.all.prefixes.extend_from_slice(prefixes);
        self.all.picks.extend(picks.iter().map(|p| p + shift));
        self.ends.push(self.all.picks.len());
    }

    /// Merges all runs. `compare` orders rows with equal prefixes; `None` where those mean equal keys.
    pub(crate) fn merge(mut self, compare: Option<Compare<'_>>) -> Sorted {
        if self.ends.len() < 2 {
            return self.all;
        }
        let n = self.all.picks.len();
        let mut other = Sorted { prefixes: vec![0; n], picks: vec![0; n] };
        while self.ends.len() > 1 {
            let mut from = 0;
            let mut ends = Vec::with_capacity(self.ends.len().div_ceil(2));
            for pair in self.ends.chunks(2) {
                let (middle, to) = (pair[0], pair[pair.len() - 1]);
                let (left, right) = (self.all.side(from, middle), self.all.side(middle, to));
                let prefixes = &mut other.prefixes[from..to];
                merge_two(left, right, compare, prefixes, &mut other.picks[from..to]);
                ends.push(to);
                from = to;
            }
            self.ends = ends;
            std::mem::swap(&mut self.all, &mut other);
        }
        self.all
    }
}

impl Sorted {
    fn side(&self, from: usize, to: usize) -> Side<'_> {
        Side { prefixes: &self.prefixes[from..to], picks: &self.picks[from..to] }
    }
}

fn merge_two(
    left: Side<'_>,
    right: Side<'_>,
    compare: Option<Compare<'_>>,
    prefixes: &mut [u64],
    picks: &mut [Pick],
) {
    let (mut i, mut j, mut at) = (0, 0, 0);
    let in_order = match (left.prefixes.last(), right.prefixes.first()) {
        (Some(last), Some(first)) => last < first || last == first && compare.is_none(),
        _ => true,
    };
    if !in_order {
        (i, j) = match compare {
            None => merge_exact(left, right, prefixes, picks),
            Some(compare) => merge_comparing(left, right, compare, prefixes, picks),
        };
        at = i + j;
    }
    for (side, from) in [(left, i), (right, j)] {
        let n = side.picks.len() - from;
        prefixes[at..at + n].copy_from_slice(&side.prefixes[from..]);
        picks[at..at + n].copy_from_slice(&side.picks[from..]);
        at += n;
    }
}

/// Merges until one side is used up; returns how much was taken of each.
fn merge_exact(
    left: Side<'_>,
    right: Side<'_>,
    prefixes: &mut [u64],
    picks: &mut [Pick],
) -> (usize, usize) {
    let (a, b) = (left.prefixes, right.prefixes);
    let (p, q) = (&left.picks[..a.len()], &right.picks[..b.len()]);
    let (mut i, mut j) = (0, 0);
    // No branch depends on the data: random keys would mispredict every other one.
    for (prefix, pick) in prefixes.iter_mut().zip(picks) {
        if i == a.len() || j == b.len() {
            break;
        }
        let (x, y) = (a[i], b[j]);
        let from_right = y < x;
        *prefix = if from_right { y } else { x };
        *pick = if from_right { q[j] } else { p[i] };
        i += usize::from(!from_right);
        j += usize::from(from_right);
    }
    (i, j)
}

fn merge_comparing(
    left: Side<'_>,
    right: Side<'_>,
    compare: Compare<'_>,
    prefixes: &mut [u64],
    picks: &mut [Pick],
) -> (usize, usize) {
    let (mut i, mut j) = (0, 0);
    for (prefix, pick) in prefixes.iter_mut().zip(picks) {
        if i == left.picks.len() || j == right.picks.len() {
            break;
        }
        let order = left.prefixes[i]
            .cmp(&right.prefixes[j])
            .then_with(|| compare(left.picks[i], right.picks[j]));
        let (from, at) = if order.is_le() { (left, &mut i) } else { (right, &mut j) };
        *prefix = from.prefixes[*at];
        *pick = from.picks[*at];
        *at += 1;
    }
    (i, j)
}
