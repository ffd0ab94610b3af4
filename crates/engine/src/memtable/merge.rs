//! How do sorted permutations become one?
//!
//! Rounds of two-way merges on prefixes, neighbours first, so that every pass reads and writes
//! memory in sequence; a tie goes to the left side, whose rows are older, unless the plan is not exact
//! and the rows decide. Merges are stable in row order for that reason alone: sources must be given
//! in row order.
//!
//! Pure functions.

use std::cmp::Ordering;

use super::chunk::Pick;

/// Sorted entries: prefixes of one plan and the rows they stand for.
#[derive(Debug, Default)]
pub(crate) struct Sorted {
    pub prefixes: Vec<u64>,
    pub picks: Vec<Pick>,
}

impl Sorted {
    fn len(&self) -> usize {
        self.picks.len()
    }
}

/// Merges sources that lie in row order. `compare` orders two rows with equal prefixes; `None` where
/// equal prefixes mean equal keys.
pub(crate) fn merge(
    mut sources: Vec<Sorted>,
    compare: Option<&dyn Fn(Pick, Pick) -> Ordering>,
) -> Sorted {
    while sources.len() > 1 {
        let mut merged = Vec::with_capacity(sources.len().div_ceil(2));
        let mut rest = sources.into_iter();
        while let Some(left) = rest.next() {
            merged.push(match rest.next() {
                Some(right) => merge_two(left, right, compare),
                None => left,
            });
        }
        sources = merged;
    }
    sources.pop().unwrap_or_default()
}

fn merge_two(
    mut left: Sorted,
    mut right: Sorted,
    compare: Option<&dyn Fn(Pick, Pick) -> Ordering>,
) -> Sorted {
    let (Some(last), Some(first)) = (left.prefixes.last(), right.prefixes.first()) else {
        return if left.len() == 0 { right } else { left };
    };
    if last < first || last == first && compare.is_none() {
        left.prefixes.append(&mut right.prefixes);
        left.picks.append(&mut right.picks);
        return left;
    }
    match compare {
        None => merge_exact(&left, &right),
        Some(compare) => merge_comparing(&left, &right, compare),
    }
}

fn merge_exact(left: &Sorted, right: &Sorted) -> Sorted {
    let n = left.len() + right.len();
    let mut out = Sorted { prefixes: vec![0; n], picks: vec![0; n] };
    let (a, b) = (left.prefixes.as_slice(), right.prefixes.as_slice());
    let (p, q) = (&left.picks[..a.len()], &right.picks[..b.len()]);
    let (mut i, mut j) = (0, 0);
    let mut at = 0;
    // No branch depends on the data: random keys would mispredict every other one.
    for (prefix, pick) in out.prefixes.iter_mut().zip(&mut out.picks) {
        if i == a.len() || j == b.len() {
            break;
        }
        let (x, y) = (a[i], b[j]);
        let from_right = y < x;
        *prefix = if from_right { y } else { x };
        *pick = if from_right { q[j] } else { p[i] };
        i += usize::from(!from_right);
        j += usize::from(from_right);
        at += 1;
    }
    copy_rest(&mut out, at, left, i);
    copy_rest(&mut out, at + (a.len() - i), right, j);
    out
}

fn copy_rest(out: &mut Sorted, at: usize, from: &Sorted, first: usize) {
    let n = from.len() - first;
    out.prefixes[at..at + n].copy_from_slice(&from.prefixes[first..]);
    out.picks[at..at + n].copy_from_slice(&from.picks[first..]);
}

fn merge_comparing(
    left: &Sorted,
    right: &Sorted,
    compare: &dyn Fn(Pick, Pick) -> Ordering,
) -> Sorted {
    let n = left.len() + right.len();
    let mut out = Sorted { prefixes: Vec::with_capacity(n), picks: Vec::with_capacity(n) };
    let (mut i, mut j) = (0, 0);
    while i < left.len() && j < right.len() {
        let order = left.prefixes[i]
            .cmp(&right.prefixes[j])
            .then_with(|| compare(left.picks[i], right.picks[j]));
        let (from, at) = if order.is_le() { (left, &mut i) } else { (right, &mut j) };
        out.prefixes.push(from.prefixes[*at]);
        out.picks.push(from.picks[*at]);
        *at += 1;
    }
    for (from, at) in [(left, i), (right, j)] {
        out.prefixes.extend_from_slice(&from.prefixes[at..]);
        out.picks.extend_from_slice(&from.picks[at..]);
    }
    out
}
