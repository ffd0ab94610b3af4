//! In which order do rows come that an order does not tell apart?
//!
//! SQL leaves it open; programs and their tests see what PostgreSQL does. Few rows are therefore sorted as it sorts them in
//! memory: by a quicksort with a median of three or nine and three partitions (Bentley and McIlroy, "Engineering a sort
//! function", Software: Practice and Experience 23, 1993), insertion for fewer than seven, and nothing for what is in order
//! already. The result is a function of the order in which rows come, and so are rows of equal keys.

use std::cmp::Ordering;

/// Fewer are sorted by insertion.
const INSERTED: usize = 7;
/// From more on the median is one of nine.
const NINE: usize = 40;

/// Sorts rows by a comparison.
pub fn sort(rows: &mut [u32], compare: &impl Fn(u32, u32) -> Ordering) {
    let mut rest = rows;
    while rest.len() >= INSERTED {
        if rest.is_sorted_by(|a, b| compare(*a, *b).is_le()) {
            return;
        }
        let (smaller, larger) = partition(rest, compare);
        let length = rest.len();
        let (before, behind) = rest.split_at_mut(length - larger);
        let before = &mut before[..smaller];
        // The shorter side recurses, so that the depth is logarithmic.
        let (short, long) = if smaller <= larger { (before, behind) } else { (behind, before) };
        sort(short, compare);
        rest = long;
    }
    for end in 1..rest.len() {
        let mut at = end;
        while at > 0 && compare(rest[at - 1], rest[at]).is_gt() {
            rest.swap(at - 1, at);
            at -= 1;
        }
    }
}

/// Puts rows below the pivot first and rows above it last; their numbers.
fn partition(rows: &mut [u32], compare: &impl Fn(u32, u32) -> Ordering) -> (usize, usize) {
    let length = rows.len();
    rows.swap(0, pivot(rows, compare));
    // Rows equal to the pivot gather at both ends: below `low_equal`, from `high_equal` on.
    let (mut low_equal, mut low) = (1, 1);
    let (mut high, mut high_equal) = (length, length);
    loop {
        while low < high {
            match compare(rows[low], rows[0]) {
                Ordering::Greater => break,
                Ordering::Equal => {
                    rows.swap(low_equal, low);
                    low_equal += 1;
                }
                Ordering::Less => {}
            }
            low += 1;
        }
        while low < high {
            match compare(rows[high - 1], rows[0]) {
                Ordering::Less => break,
                Ordering::Equal => {
                    high_equal -= 1;
                    rows.swap(high - 1, high_equal);
                }
                Ordering::Greater => {}
            }
            high -= 1;
        }
        if low >= high {
            break;
        }
        rows.swap(low, high - 1);
        low += 1;
        high -= 1;
    }
    // The equal rows go to the middle.
    let moved = low_equal.min(low - low_equal);
    swap_ranges(rows, 0, low - moved, moved);
    let moved = (high_equal - high).min(length - high_equal);
    swap_ranges(rows, low, length - moved, moved);
    (low - low_equal, high_equal - high)
}

fn pivot(rows: &[u32], compare: &impl Fn(u32, u32) -> Ordering) -> usize {
    let (length, middle) = (rows.len(), rows.len() / 2);
    let median = |a: usize, b: usize, c: usize| {
        let less = |x: usize, y: usize| compare(rows[x], rows[y]).is_lt();
        let more = |x: usize, y: usize| compare(rows[x], rows[y]).is_gt();
        match less(a, b) {
            true if less(b, c) => b,
            true if less(a, c) => c,
            true => a,
            false if more(b, c) => b,
            false if less(a, c) => a,
            false => c,
        }
    };
    if length == INSERTED {
        return middle;
    }
    let (mut first, mut centre, mut last) = (0, middle, length - 1);
    if length > NINE {
        let step = length / 8;
        first = median(first, first + step, first + 2 * step);
        centre = median(centre - step, centre, centre + step);
        last = median(last - 2 * step, last - step, last);
    }
    median(first, centre, last)
}

fn swap_ranges(rows: &mut [u32], a: usize, b: usize, length: usize) {
    for n in 0..length {
        rows.swap(a + n, b + n);
    }
}

/// Leaves the first `bound` rows of an order, in order: by a heap that holds no more, where there are more than twice as
/// many rows, else by [`sort`].
///
/// # Panics
/// `bound` is 0.
pub fn first(rows: &mut Vec<u32>, bound: usize, compare: &impl Fn(u32, u32) -> Ordering) {
    if rows.len().div_ceil(2) <= bound {
        sort(rows, compare);
        rows.truncate(bound);
        return;
    }
    // The last row of those that are kept is at the root.
    let reversed = |a: u32, b: u32| compare(b, a);
    let (heap, rest) = rows.split_at_mut(bound);
    for end in 1..bound {
        rise(&mut heap[..=end], &reversed);
    }
    for row in rest {
        if reversed(*row, heap[0]).is_gt() {
            sink(heap, *row, &reversed);
        }
    }
    for end in (1..bound).rev() {
        let (last, moved) = (heap[0], heap[end]);
        sink(&mut heap[..end], moved, &reversed);
        heap[end] = last;
    }
    rows.truncate(bound);
}

/// Moves the last row of a heap up to its place.
fn rise(heap: &mut [u32], compare: &impl Fn(u32, u32) -> Ordering) {
    let mut at = heap.len() - 1;
    let row = heap[at];
    while at > 0 {
        let above = (at - 1) / 2;
        if compare(row, heap[above]).is_ge() {
            break;
        }
        heap[at] = heap[above];
        at = above;
    }
    heap[at] = row;
}

/// Puts a row into the place of the root and moves it down to its own.
fn sink(heap: &mut [u32], row: u32, compare: &impl Fn(u32, u32) -> Ordering) {
    let mut at = 0;
    loop {
        let mut below = 2 * at + 1;
        if below >= heap.len() {
            break;
        }
        if below + 1 < heap.len() && compare(heap[below], heap[below + 1]).is_gt() {
            below += 1;
        }
        if compare(row, heap[below]).is_le() {
            break;
        }
        heap[at] = heap[below];
        at = below;
    }
    heap[at] = row;
}

#[cfg(test)]
mod tests {
    use onlap_base::Rng;

    use super::*;

    #[test]
    fn rows_are_in_order_and_all_there() {
        let mut rng = Rng::new(7);
        for _ in 0..3000 {
            let length = rng.index(120);
            let keys: Vec<usize> = (0..length).map(|_| rng.index(1 + length / 3)).collect();
            let compare = |a: u32, b: u32| keys[a as usize].cmp(&keys[b as usize]);
            let all: Vec<u32> = (0..length as u32).collect();
            let mut rows = all.clone();
            sort(&mut rows, &compare);
            assert!(rows.is_sorted_by_key(|row| keys[*row as usize]), "{keys:?} {rows:?}");
            let mut back = rows.clone();
            back.sort_unstable();
            assert_eq!(back, all);
            let bound = 1 + rng.index(length + 2);
            let mut some = all.clone();
            first(&mut some, bound, &compare);
            let of = |rows: &[u32]| rows.iter().map(|row| keys[*row as usize]).collect::<Vec<_>>();
            assert_eq!(of(&some), of(&rows[..bound.min(length)]));
        }
    }

    /// `SELECT n … ORDER BY n * 7919 % modulus` of PostgreSQL 15 over a rising n.
    const TEN: [u32; 10] = [0, 3, 6, 9, 5, 8, 2, 4, 1, 7];
    const FIFTY: [u32; 50] = [
        35, 42, 28, 14, 49, 21, 0, 7, 11, 25, 46, 4, 39, 32, 18, 15, 8, 29, 1, 43, 36, 22, 19, 5,
        12, 26, 33, 40, 47, 23, 37, 9, 44, 2, 30, 16, 20, 34, 13, 48, 41, 6, 27, 31, 17, 45, 10,
        24, 3, 38,
    ];
    const TWELVE: [u32; 12] = [35, 28, 21, 49, 42, 14, 7, 0, 11, 32, 18, 4];

    #[test]
    fn equal_rows_come_as_in_postgresql() {
        let order = |rows: u32, modulus: u32, bound: Option<usize>| {
            let key = |row: u32| row * 7919 % modulus;
            let mut all: Vec<u32> = (0..rows).collect();
            let compare = |a: u32, b: u32| key(a).cmp(&key(b));
            match bound {
                None => sort(&mut all, &compare),
                Some(bound) => first(&mut all, bound, &compare),
            }
            all
        };
        assert_eq!(order(10, 3, None), TEN);
        assert_eq!(order(50, 7, None), FIFTY);
        assert_eq!(order(50, 7, Some(12)), TWELVE);
    }
}
