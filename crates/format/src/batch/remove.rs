//! How do single rows leave a batch?
//!
//! In place: what stays between two of them moves down as a whole. Where few rows go, decoding a block
//! as a whole and closing the gaps is several times as fast as decoding single rows.

use std::ops::Range;

use super::{Batch, BytesVec, Column, NullMask, Vector};

impl Batch {
    /// Removes the rows at these places, which rise.
    pub fn remove(&mut self, gone: &[u32]) {
        debug_assert!(gone.is_sorted_by(|a, b| a < b));
        self.columns.iter_mut().for_each(|c| c.remove(gone));
        self.rows -= gone.len();
    }
}

impl Column {
    fn remove(&mut self, gone: &[u32]) {
        match &mut self.data {
            Vector::Int(v) => remove_values(v, gone),
            Vector::Wide(v) => remove_values(v, gone),
            Vector::Numeric(m, s) => {
                remove_values(m, gone);
                remove_values(s, gone);
            }
            Vector::Bytes(v) => v.remove(gone),
        }
        if let Some(mask) = &mut self.nulls {
            let mut kept = NullMask::default();
            for part in stretches(gone, mask.len) {
                part.for_each(|i| kept.push(mask.get(i)));
            }
            *mask = kept;
        }
    }
}

impl BytesVec {
    fn remove(&mut self, gone: &[u32]) {
        let (mut rows, mut bytes) = (0, 0);
        for part in stretches(gone, self.len()) {
            let data = self.offsets[part.start] as usize..self.offsets[part.end] as usize;
            let len = data.len();
            let shift = data.start - bytes;
            self.data.copy_within(data, bytes);
            for i in part {
                self.offsets[rows + 1] = self.offsets[i + 1] - shift as u32;
                rows += 1;
            }
            bytes += len;
        }
        self.truncate(rows);
    }
}

/// Removes the values at these places, which rise.
pub fn remove_values<T: Copy>(values: &mut Vec<T>, gone: &[u32]) {
    let mut to = 0;
    for part in stretches(gone, values.len()) {
        let len = part.len();
        if to != part.start {
            values.copy_within(part, to);
        }
        to += len;
    }
    values.truncate(to);
}

/// What lies between the places.
fn stretches(gone: &[u32], len: usize) -> impl Iterator<Item = Range<usize>> {
    let starts = std::iter::once(0).chain(gone.iter().map(|&g| g as usize + 1));
    let ends = gone.iter().map(|&g| g as usize).chain([len]);
    starts.zip(ends).map(|(start, end)| start..end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Physical;

    #[test]
    fn what_stays_is_what_was_not_removed() {
        let forms = [Physical::Int, Physical::Wide, Physical::Numeric, Physical::Bytes];
        for gone in [&[][..], &[0], &[6], &[0, 1, 2, 3, 4, 5, 6], &[1, 2, 5], &[0, 3, 6]] {
            let (mut all, mut left) = (Batch::new(forms), Batch::new(forms));
            for i in 0..7u32 {
                push(&mut all, i);
                if !gone.contains(&i) {
                    push(&mut left, i);
                }
            }
            all.remove(gone);
            assert_eq!(all.rows, left.rows, "without {gone:?}");
            for (a, b) in all.columns.iter().zip(&left.columns) {
                assert_eq!(a.data, b.data, "without {gone:?}");
                assert!((0..all.rows).all(|i| a.is_null(i) == b.is_null(i)), "without {gone:?}");
            }
        }
    }

    fn push(batch: &mut Batch, i: u32) {
        for column in &mut batch.columns {
            if i % 3 == 1 {
                column.push_null();
                continue;
            }
            match &mut column.data {
                Vector::Int(v) => v.push(i64::from(i)),
                Vector::Wide(v) => v.push(i128::from(i)),
                Vector::Numeric(m, s) => {
                    m.push(i128::from(i));
                    s.push(i as u8);
                }
                Vector::Bytes(v) => v.push(&vec![b'x'; i as usize]),
            }
            column.pushed();
        }
        batch.rows += 1;
    }
}
