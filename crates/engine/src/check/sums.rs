//! How are an index and its table compared without sorting either?
//!
//! Both sides add up a hash of (row id, key, INCLUDE values) over live rows, per stretch of row ids. Equal sums
//! mean equal sets except for a chance of 2^-64; unequal ones name the stretch. Hashes are made a column at a time, of
//! values as keys see them: an index cannot tell 1.0 from 1.00.
//!
//! Pure data.

use onlap_base::RowId;
use onlap_format::{Batch, Column, DataType, Vector};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use onlap_memtable::{Field, IndexShape, is_float, key_bytes, key_int, rank_numeric};

/// Row ids per sum: what a finding narrows the difference down to.
pub(super) const STRETCH_ROWS: u64 = 1 << 16;
/// Takes the place of a value that is NULL.
const NULL: u64 = 0x6e75_6c6c;

/// Number and sum per stretch of row ids.
#[derive(Clone, Default)]
pub(super) struct Sums(Vec<(u64, u64)>);

impl Sums {
    #[inline]
    pub(super) fn add(&mut self, row: RowId, hash: u64) {
        let at = (row / STRETCH_ROWS) as usize;
        if at >= self.0.len() {
            self.0.resize(at + 1, (0, 0));
        }
        let sum = &mut self.0[at];
        *sum = (sum.0 + 1, sum.1.wrapping_add(hash));
    }

    /// Adds rows that rise.
    pub(super) fn add_rising(&mut self, rows: &[RowId], hashes: &[u64]) {
        let mut from = 0;
        while let Some(first) = rows.get(from) {
            let end = (first / STRETCH_ROWS + 1) * STRETCH_ROWS;
            let to = from + rows[from..].partition_point(|row| *row < end);
            let sum = hashes[from..to].iter().fold(0, |sum: u64, hash| sum.wrapping_add(*hash));
            // The first one counts the others in.
            self.add(*first, sum);
            self.0[(first / STRETCH_ROWS) as usize].0 += (to - from - 1) as u64;
            from = to;
        }
    }

    /// Adds what others have summed up.
    pub(super) fn absorb(&mut self, other: &Sums) {
        self.0.resize(self.0.len().max(other.0.len()), (0, 0));
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            *own = (own.0 + other.0, own.1.wrapping_add(other.1));
        }
    }

    /// The stretches in which two differ: first row id and the number on either side.
    pub(super) fn differences(&self, other: &Sums) -> Vec<(RowId, u64, u64)> {
        let at = |sums: &Sums, i: usize| sums.0.get(i).copied().unwrap_or_default();
        let pairs = (0..self.0.len().max(other.0.len())).map(|i| (i, at(self, i), at(other, i)));
        let unequal = pairs.filter(|(_, a, b)| a != b);
        unequal.map(|(i, a, b)| (i as u64 * STRETCH_ROWS, a.0, b.0)).collect()
    }
}

/// Which columns of a batch are those of an index.
pub(super) struct Indexed {
    pub key: Vec<Field>,
    include: Vec<usize>,
    /// Of batches of rows: the column that is true in rows that have entries.
    pub filter: Option<usize>,
    /// Whether anything of it is calculated.
    pub derived: bool,
    /// Of batches of rows: the column with the keys of which a row has an entry each.
    pub lists: Option<usize>,
}

impl Indexed {
    /// In batches of whole rows of a table with this number of columns of its own.
    pub(super) fn of_rows(index: &IndexShape, own: usize) -> Indexed {
        let derived = index.filter.is_some() || index.fields.iter().any(|f| f.column >= own);
        let (key, include) = (index.fields.clone(), index.include.clone());
        let lists = index.multi_entry.then(|| index.fields[0].column);
        Indexed { key, include, filter: index.filter, derived, lists }
    }

    /// In batches of whole entries.
    pub(super) fn of_entries(index: &IndexShape) -> Indexed {
        let key = index.fields.iter().enumerate().map(|(column, f)| Field { column, ..*f });
        let key: Vec<Field> = key.collect();
        let include = (key.len()..key.len() + index.include.len()).collect();
        Indexed { key, include, filter: None, derived: false, lists: None }
    }

    /// The key columns, and whether they descend, where all are numbers that are their own order.
    pub(super) fn ints<'a>(&self, batch: &'a Batch) -> Option<Vec<(&'a [i64], bool)>> {
        let int = |f: &Field| match &batch.columns[f.column] {
            Column { data: Vector::Int(v), nulls: None } if !is_float(f.ty) => {
                Some((&v[..], f.descending))
            }
            _ => None,
        };
        self.key.iter().map(int).collect()
    }

    /// A hash of every row of a batch with its row id.
    pub(super) fn hashes(&self, rows: &[RowId], batch: &Batch, out: &mut Vec<u64>) {
        out.clear();
        out.extend(rows.iter().map(|&row| mix(0, row)));
        self.key.iter().for_each(|f| add_column(&batch.columns[f.column], Some(f.ty), out));
        self.include.iter().for_each(|&i| add_column(&batch.columns[i], None, out));
    }
}

/// Adds a column to hashes of its rows: as keys of a type see it, or as it is.
fn add_column(column: &Column, ty: Option<DataType>, hashes: &mut [u64]) {
    let float = ty.is_some_and(is_float);
    if let (Vector::Int(v), None) = (&column.data, &column.nulls) {
        hashes.iter_mut().zip(v).for_each(|(h, &v)| *h = mix(*h, key_int(v, float) as u64));
        return;
    }
    for (i, h) in hashes.iter_mut().enumerate() {
        *h = match &column.data {
            _ if column.is_null(i) => mix(!*h, NULL),
            Vector::Int(v) => mix(*h, key_int(v[i], float) as u64),
            Vector::Wide(v) => wide(*h, v[i] as u128),
            Vector::Numeric(m, s) if ty.is_some() => {
                let (place, digits) = rank_numeric(m[i], s[i]);
                wide(wide(*h, place), digits)
            }
            Vector::Numeric(m, s) => mix(wide(*h, m[i] as u128), u64::from(s[i])),
            Vector::Bytes(v) => {
                let value = v.get(i);
                match ty {
                    Some(ty) => xxh3_64_with_seed(&key_bytes(ty, value), *h),
                    None => xxh3_64_with_seed(value, *h),
                }
            }
        };
    }
}

fn wide(h: u64, value: u128) -> u64 {
    mix(mix(h, value as u64), (value >> 64) as u64)
}

/// The finalizer of SplitMix64 (Steele, Lea and Flood, 2014) over a hash and a value.
#[inline]
fn mix(h: u64, value: u64) -> u64 {
    let mut x = (h ^ value).wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}
