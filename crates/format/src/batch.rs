//! How do many rows lie in memory?
//!
//! A [`Batch`] is a list of columns of equal length in physical form ([`crate::types`]). NULL slots
//! hold zero or the empty string, so that encodings need not skip them.

use crate::types::Physical;

mod remove;

pub use remove::remove_values;

/// Byte strings back to back. `offsets` has one element more than there are strings, begins with 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BytesVec {
    /// Start of each string in `data`, then the end of the last.
    pub offsets: Vec<u32>,
    /// The strings.
    pub data: Vec<u8>,
}

impl Default for BytesVec {
    fn default() -> Self {
        BytesVec { offsets: vec![0], data: Vec::new() }
    }
}

impl BytesVec {
    /// Number of strings.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The i-th string.
    #[inline]
    pub fn get(&self, i: usize) -> &[u8] {
        &self.data[self.offsets[i] as usize..self.offsets[i + 1] as usize]
    }
    /// Appends a string. The total stays below 4 GiB: buffers are limited far below that.
    #[inline]
    pub fn push(&mut self, s: &[u8]) {
        self.data.extend_from_slice(s);
        self.offsets.push(u32::try_from(self.data.len()).expect("byte vectors stay below 4 GiB"));
    }
    /// Appends strings, with room for all of them made at once.
    pub fn extend<'a>(&mut self, strings: impl Iterator<Item = &'a [u8]> + Clone) {
        let (count, bytes) = strings.clone().fold((0, 0), |(n, bytes), s| (n + 1, bytes + s.len()));
        self.offsets.reserve(count);
        self.data.reserve(bytes);
        strings.for_each(|s| self.push(s));
    }
    /// Appends strings `range` of another vector.
    pub fn extend_range(&mut self, other: &BytesVec, range: std::ops::Range<usize>) {
        let (from, to) = (other.offsets[range.start], other.offsets[range.end]);
        let shift = u32::try_from(self.data.len() + (to - from) as usize)
            .expect("byte vectors stay below 4 GiB")
            - (to - from);
        self.data.extend_from_slice(&other.data[from as usize..to as usize]);
        self.offsets
            .extend(other.offsets[range.start + 1..=range.end].iter().map(|o| o - from + shift));
    }
    /// Removes all strings and keeps the memory.
    pub fn clear(&mut self) {
        self.offsets.truncate(1);
        self.data.clear();
    }
    /// Keeps the first `n` strings.
    pub fn truncate(&mut self, n: usize) {
        self.offsets.truncate(n + 1);
        self.data.truncate(self.offsets[n] as usize);
    }
    /// Strings in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|i| self.get(i))
    }
}

/// Values of one column in physical form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Vector {
    /// [`Physical::Int`]
    Int(Vec<i64>),
    /// [`Physical::Wide`]
    Wide(Vec<i128>),
    /// [`Physical::Numeric`]: mantissas and scales of equal length
    Numeric(Vec<i128>, Vec<u8>),
    /// [`Physical::Bytes`]
    Bytes(BytesVec),
}

impl Vector {
    /// An empty vector of a physical form.
    pub fn new(p: Physical) -> Vector {
        match p {
            Physical::Int => Vector::Int(Vec::new()),
            Physical::Wide => Vector::Wide(Vec::new()),
            Physical::Numeric => Vector::Numeric(Vec::new(), Vec::new()),
            Physical::Bytes => Vector::Bytes(BytesVec::default()),
        }
    }
    /// The form.
    pub fn physical(&self) -> Physical {
        match self {
            Vector::Int(_) => Physical::Int,
            Vector::Wide(_) => Physical::Wide,
            Vector::Numeric(..) => Physical::Numeric,
            Vector::Bytes(_) => Physical::Bytes,
        }
    }
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Vector::Int(v) => v.len(),
            Vector::Wide(v) => v.len(),
            Vector::Numeric(v, _) => v.len(),
            Vector::Bytes(v) => v.len(),
        }
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// One bit per row, set where the value is NULL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NullMask {
    /// 64 rows per word, lowest bit first; bits past the length are 0.
    pub words: Vec<u64>,
    /// Rows covered.
    pub len: usize,
}

impl NullMask {
    /// `len` rows without NULL.
    pub fn none(len: usize) -> NullMask {
        NullMask { words: vec![0; len.div_ceil(64)], len }
    }
    /// Whether row i is NULL.
    #[inline]
    pub fn get(&self, i: usize) -> bool {
        self.words[i / 64] >> (i % 64) & 1 == 1
    }
    /// Appends one row.
    #[inline]
    pub fn push(&mut self, null: bool) {
        if self.len.is_multiple_of(64) {
            self.words.push(0);
        }
        self.words[self.len / 64] |= u64::from(null) << (self.len % 64);
        self.len += 1;
    }
    /// Says of row i whether it is NULL.
    #[inline]
    pub fn set(&mut self, i: usize, null: bool) {
        let bit = 1 << (i % 64);
        match null {
            true => self.words[i / 64] |= bit,
            false => self.words[i / 64] &= !bit,
        }
    }
    /// Number of NULLs.
    pub fn count(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }
    /// Keeps the first `n` rows.
    pub fn truncate(&mut self, n: usize) {
        self.words.truncate(n.div_ceil(64));
        if !n.is_multiple_of(64) {
            let last = self.words.len() - 1;
            self.words[last] &= (1 << (n % 64)) - 1;
        }
        self.len = n;
    }
}

/// A column of a batch. `nulls` is `None` where no row is NULL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Values; zero or empty where NULL.
    pub data: Vector,
    /// Which rows are NULL; `None` means none is.
    pub nulls: Option<NullMask>,
}

impl Column {
    /// An empty column.
    pub fn new(p: Physical) -> Column {
        Column { data: Vector::new(p), nulls: None }
    }
    /// Makes room for `rows` rows, with `bytes` bytes of strings, in an empty column.
    pub fn reserve(&mut self, rows: usize, bytes: usize) {
        match &mut self.data {
            Vector::Int(v) => v.reserve_exact(rows),
            Vector::Wide(v) => v.reserve_exact(rows),
            Vector::Numeric(m, s) => {
                m.reserve_exact(rows);
                s.reserve_exact(rows);
            }
            Vector::Bytes(v) => {
                v.offsets.reserve_exact(rows);
                v.data.reserve_exact(bytes);
            }
        }
    }
    /// Bytes of all strings.
    pub fn string_bytes(&self) -> usize {
        match &self.data {
            Vector::Bytes(v) => v.data.len(),
            _ => 0,
        }
    }
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.data.len()
    }
    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }
    /// Whether row i is NULL.
    #[inline]
    pub fn is_null(&self, i: usize) -> bool {
        self.nulls.as_ref().is_some_and(|n| n.get(i))
    }
    /// Appends NULL.
    pub fn push_null(&mut self) {
        let n = self.len();
        match &mut self.data {
            Vector::Int(v) => v.push(0),
            Vector::Wide(v) => v.push(0),
            Vector::Numeric(m, s) => {
                m.push(0);
                s.push(0);
            }
            Vector::Bytes(v) => v.push(b""),
        }
        self.nulls.get_or_insert_with(|| NullMask::none(n)).push(true);
    }
    /// Keeps a null mask, where there is one, as long as the data after a value was pushed to
    /// `data`.
    #[inline]
    pub fn pushed(&mut self) {
        if let Some(n) = &mut self.nulls {
            n.push(false);
        }
    }
    /// Appends rows `range` of a column of the same form.
    pub fn extend_range(&mut self, other: &Column, range: std::ops::Range<usize>) {
        let before = self.len();
        match (&mut self.data, &other.data) {
            // Most commits have a single row: no call for eight bytes.
            (Vector::Int(a), Vector::Int(b)) if range.len() == 1 => a.push(b[range.start]),
            (Vector::Int(a), Vector::Int(b)) => a.extend_from_slice(&b[range.clone()]),
            (Vector::Wide(a), Vector::Wide(b)) => a.extend_from_slice(&b[range.clone()]),
            (Vector::Numeric(a, s), Vector::Numeric(b, t)) => {
                a.extend_from_slice(&b[range.clone()]);
                s.extend_from_slice(&t[range.clone()]);
            }
            (Vector::Bytes(a), Vector::Bytes(b)) => a.extend_range(b, range.clone()),
            _ => panic!("columns of different physical form are never joined"),
        }
        match (&mut self.nulls, &other.nulls) {
            (None, None) => {}
            (mine, theirs) => {
                let mask = mine.get_or_insert_with(|| NullMask::none(before));
                for i in range {
                    mask.push(theirs.as_ref().is_some_and(|n| n.get(i)));
                }
            }
        }
    }
    /// Appends the rows at these positions of a column of the same form.
    pub fn extend_selected(&mut self, other: &Column, positions: &[u32]) {
        let before = self.len();
        let at = positions.iter().map(|&i| i as usize);
        match (&mut self.data, &other.data) {
            (Vector::Int(a), Vector::Int(b)) => a.extend(at.map(|i| b[i])),
            (Vector::Wide(a), Vector::Wide(b)) => a.extend(at.map(|i| b[i])),
            (Vector::Numeric(a, s), Vector::Numeric(b, t)) => {
                a.extend(at.clone().map(|i| b[i]));
                s.extend(at.map(|i| t[i]));
            }
            (Vector::Bytes(a), Vector::Bytes(b)) => at.for_each(|i| a.push(b.get(i))),
            _ => panic!("columns of different physical form are never joined"),
        }
        if self.nulls.is_some() || other.nulls.is_some() {
            let mask = self.nulls.get_or_insert_with(|| NullMask::none(before));
            positions.iter().for_each(|&i| mask.push(other.is_null(i as usize)));
        }
    }
    /// Keeps the first `n` rows.
    pub fn truncate(&mut self, n: usize) {
        match &mut self.data {
            Vector::Int(v) => v.truncate(n),
            Vector::Wide(v) => v.truncate(n),
            Vector::Numeric(m, s) => {
                m.truncate(n);
                s.truncate(n);
            }
            Vector::Bytes(v) => v.truncate(n),
        }
        if let Some(mask) = &mut self.nulls {
            mask.truncate(n);
        }
    }
    /// Heap bytes in use, by capacity.
    pub fn heap_bytes(&self) -> usize {
        let data = match &self.data {
            Vector::Int(v) => v.capacity() * 8,
            Vector::Wide(v) => v.capacity() * 16,
            Vector::Numeric(m, s) => m.capacity() * 16 + s.capacity(),
            Vector::Bytes(v) => v.offsets.capacity() * 4 + v.data.capacity(),
        };
        data + self.nulls.as_ref().map_or(0, |n| n.words.capacity() * 8)
    }
}

/// Columns of equal length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// One column per schema column, in schema order (or in the order of a projection).
    pub columns: Vec<Column>,
    /// Number of rows; kept apart because a projection may have no columns.
    pub rows: usize,
}

impl Batch {
    /// An empty batch with columns of the given forms.
    pub fn new(forms: impl IntoIterator<Item = Physical>) -> Batch {
        Batch { columns: forms.into_iter().map(Column::new).collect(), rows: 0 }
    }
    /// Appends rows `range` of a batch of the same shape.
    pub fn extend_range(&mut self, other: &Batch, range: std::ops::Range<usize>) {
        debug_assert_eq!(self.columns.len(), other.columns.len());
        for (a, b) in self.columns.iter_mut().zip(&other.columns) {
            a.extend_range(b, range.clone());
        }
        self.rows += range.len();
    }
    /// Appends the rows at these positions of a batch of the same shape.
    pub fn extend_selected(&mut self, other: &Batch, positions: &[u32]) {
        debug_assert_eq!(self.columns.len(), other.columns.len());
        for (a, b) in self.columns.iter_mut().zip(&other.columns) {
            a.extend_selected(b, positions);
        }
        self.rows += positions.len();
    }
    /// Keeps the first `n` rows.
    pub fn truncate(&mut self, n: usize) {
        self.columns.iter_mut().for_each(|c| c.truncate(n));
        self.rows = self.rows.min(n);
    }
    /// Heap bytes in use, by capacity. A row without columns counts as a byte, so that what holds such rows fills up, too.
    pub fn heap_bytes(&self) -> usize {
        match self.columns.is_empty() {
            true => self.rows,
            false => self.columns.iter().map(Column::heap_bytes).sum(),
        }
    }
}
