//! Which rows have a key?
//!
//! Rows come in batches, each with its key; when all are there, those of a key are brought together, so that what they have is
//! a stretch of each column.
//!
//! Thread safety: plain data.

use std::collections::HashMap;
use std::ops::Range;

use arrow_array::{Array, ArrayRef, UInt32Array};
use onlap_pg::Result;

use crate::keys::{int, key_bytes};
use crate::node::arrow;

/// Rows as they come.
#[derive(Default)]
pub struct Matches {
    groups: Groups,
    /// The group of each row; `None` where its key has a NULL.
    of_rows: Vec<Option<u32>>,
    batches: Vec<Vec<ArrayRef>>,
    bytes: usize,
}

/// Rows by their keys.
pub struct Matched {
    groups: Groups,
    /// Where the rows of each group begin, and those of the last end.
    starts: Vec<usize>,
    columns: Vec<ArrayRef>,
}

/// Keys by number.
#[derive(Default)]
struct Groups {
    ints: HashMap<i64, u32>,
    others: HashMap<Box<[u8]>, u32>,
}

/// What a key takes, with its own bytes, and the group of a row.
const KEY_BYTES: usize = 40;
const ROW_BYTES: usize = 16;

impl Groups {
    fn len(&self) -> usize {
        self.ints.len() + self.others.len()
    }

    /// The number of a key without NULL.
    fn get(&self, keys: &[ArrayRef], row: usize, bytes: &mut Vec<u8>) -> Option<u32> {
        if let Some(value) = int(keys, row) {
            return self.ints.get(&value).copied();
        }
        bytes.clear();
        keys.iter().for_each(|column| key_bytes(column, row, bytes));
        self.others.get(&bytes[..]).copied()
    }

    /// The same, which may be a new one.
    fn put(&mut self, keys: &[ArrayRef], row: usize, bytes: &mut Vec<u8>) -> u32 {
        if let Some(known) = self.get(keys, row, bytes) {
            return known;
        }
        let number = u32::try_from(self.len()).expect("memory is bounded below that");
        match int(keys, row) {
            Some(value) => self.ints.insert(value, number),
            None => self.others.insert(bytes.as_slice().into(), number),
        };
        number
    }
}

impl Matches {
    /// Adds rows: columns that together are a key, and what else the rows have.
    pub fn add(&mut self, keys: &[ArrayRef], columns: &[ArrayRef]) {
        let mut bytes = Vec::new();
        for row in 0..keys.first().map_or(0, |column| column.len()) {
            if keys.iter().any(|column| column.is_null(row)) {
                self.of_rows.push(None);
                continue;
            }
            let before = self.groups.len();
            self.of_rows.push(Some(self.groups.put(keys, row, &mut bytes)));
            if self.groups.len() > before {
                self.bytes += KEY_BYTES + bytes.len();
            }
        }
        let held: usize = columns.iter().map(|column| column.get_array_memory_size()).sum();
        // They are copied when they are sorted.
        self.bytes += 2 * held + ROW_BYTES * keys.first().map_or(0, |column| column.len());
        self.batches.push(columns.to_vec());
    }

    /// Bytes that they take, about.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// All rows, those of a key together.
    ///
    /// # Errors
    /// A column would be too large.
    pub fn sorted(self) -> Result<Matched> {
        let mut starts = vec![0; self.groups.len() + 1];
        for group in self.of_rows.iter().flatten() {
            starts[*group as usize + 1] += 1;
        }
        (1..starts.len()).for_each(|at| starts[at] += starts[at - 1]);
        let (mut next, mut order) = (starts.clone(), vec![0; starts[starts.len() - 1]]);
        for (row, group) in self.of_rows.iter().enumerate() {
            let Some(group) = group else { continue };
            let at = &mut next[*group as usize];
            order[*at] = u32::try_from(row).expect("memory is bounded below that");
            *at += 1;
        }
        let order = UInt32Array::from(order);
        let width = self.batches.first().map_or(0, Vec::len);
        let mut columns = Vec::with_capacity(width);
        for at in 0..width {
            let parts: Vec<&dyn Array> = self.batches.iter().map(|batch| &*batch[at]).collect();
            let whole = arrow_select::concat::concat(&parts).map_err(arrow)?;
            columns.push(arrow_select::take::take(&whole, &order, None).map_err(arrow)?);
        }
        Ok(Matched { groups: self.groups, starts, columns })
    }
}

impl Matched {
    /// The rows with a key, which has no NULL; the bytes are room to work in.
    pub fn rows(&self, keys: &[ArrayRef], row: usize, bytes: &mut Vec<u8>) -> Option<Range<usize>> {
        let group = self.groups.get(keys, row, bytes)? as usize;
        Some(self.starts[group]..self.starts[group + 1])
    }

    /// What some rows have.
    pub fn columns(&self, from: usize, count: usize) -> Vec<ArrayRef> {
        self.columns.iter().map(|column| column.slice(from, count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::types::Int32Type;
    use arrow_array::{Int32Array, StringArray};

    use super::*;

    #[test]
    fn rows_of_a_key_are_together() {
        let mut matches = Matches::default();
        let of = |values: Vec<Option<&str>>| Arc::new(StringArray::from(values)) as ArrayRef;
        let n = |values: Vec<i32>| Arc::new(Int32Array::from(values)) as ArrayRef;
        matches.add(&[of(vec![Some("a"), None, Some("b")])], &[n(vec![1, 2, 3])]);
        matches.add(&[of(vec![Some("b"), Some("a")])], &[n(vec![4, 5])]);
        let matched = matches.sorted().unwrap();
        let asked = [of(vec![Some("b"), Some("a"), Some("c")])];
        let mut bytes = Vec::new();
        let mut found = |row: usize| {
            let rows = matched.rows(&asked, row, &mut bytes)?;
            let column = matched.columns(rows.start, rows.len()).remove(0);
            Some(column.as_primitive::<Int32Type>().values().to_vec())
        };
        assert_eq!(found(0), Some(vec![3, 4]));
        assert_eq!(found(1), Some(vec![1, 5]));
        assert_eq!(found(2), None);
    }
}
