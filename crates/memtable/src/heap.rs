//! How does a merge keep its sources in order?
//!
//! As a binary heap with the next entry on top, whose order only the merge knows. Pure functions.

/// Lets an item sink to its place, when all others are at theirs.
#[inline]
pub(crate) fn sift<T>(heap: &mut [T], mut at: usize, before: impl Fn(&T, &T) -> bool) {
    loop {
        let mut least = 2 * at + 1;
        if least >= heap.len() {
            return;
        }
        if least + 1 < heap.len() && before(&heap[least + 1], &heap[least]) {
            least += 1;
        }
        if !before(&heap[least], &heap[at]) {
            return;
        }
        heap.swap(at, least);
        at = least;
    }
}
