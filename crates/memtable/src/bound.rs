//! Where does a bound of a range lie among rows?
//!
//! A bound comes as key bytes of all or of the leading key columns. It is decoded once into typed
//! values, so that the many comparisons of a search or of a scan of the open piece are comparisons of
//! numbers. Bytes that end inside a column are compared as bytes: slower, equally right.
//!
//! Plain data.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::sync::Arc;

use onlap_format::key::KeyDef;
use onlap_format::{Batch, Column, Vector};
use onlap_storage::entry::compare_prefix;

use super::prefix::{Plan, PrefixRange};
use super::rank::compare_field;
use super::shape::IndexShape;

/// A decoded bound; it stands for every key that begins with it.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    bytes: Vec<u8>,
    /// One column with one row for each leading key column; `None` where the bytes end inside one.
    pub values: Option<Vec<Column>>,
    /// The plan that was asked last, and the prefixes by it: most groups share one.
    last: RefCell<Option<(Arc<Plan>, PrefixRange)>>,
}

impl Bound {
    pub(crate) fn new(index: &IndexShape, bytes: &[u8]) -> Bound {
        Bound { bytes: bytes.to_vec(), values: decode(&index.def, bytes), last: RefCell::default() }
    }

    /// The prefixes of keys that begin with it; `None` where it has no values.
    pub(crate) fn range(&self, plan: &Arc<Plan>) -> Option<PrefixRange> {
        let values = self.values.as_ref()?;
        let mut last = self.last.borrow_mut();
        if let Some((of, range)) = &*last
            && Arc::ptr_eq(of, plan)
        {
            return Some(*range);
        }
        let range = plan.range_of(values);
        *last = Some((Arc::clone(plan), range));
        Some(range)
    }

    /// How far a key of one whole number lies above that of a row.
    pub(crate) fn distance(&self, index: &IndexShape, rows: &Batch, i: usize) -> Option<u64> {
        let ([field], Some([value])) = (index.fields.as_slice(), self.values.as_deref()) else {
            return None;
        };
        let column = &rows.columns[field.column];
        let (Vector::Int(key), Vector::Int(first)) = (&value.data, &column.data) else {
            return None;
        };
        if field.descending || value.is_null(0) || column.is_null(i) || key[0] < first[i] {
            return None;
        }
        Some(key[0].abs_diff(first[i]))
    }

    /// Compares the key of a row with the bound; equal where the key begins with it.
    pub(crate) fn compare_row(&self, index: &IndexShape, rows: &Batch, i: usize) -> Ordering {
        let Some(values) = &self.values else {
            let mut key = Vec::with_capacity(64);
            row_key(index, rows, i, &mut key);
            return compare_prefix(&key, &self.bytes);
        };
        for (field, value) in index.fields.iter().zip(values) {
            let order = compare_field(field, &rows.columns[field.column], i, value, 0);
            if order.is_ne() {
                return order;
            }
        }
        Ordering::Equal
    }
}

fn decode(def: &KeyDef, bytes: &[u8]) -> Option<Vec<Column>> {
    let count = def.decode(bytes).ok()?.len();
    let prefix = KeyDef { columns: def.columns[..count].to_vec() };
    let mut values: Vec<Column> =
        prefix.columns.iter().map(|c| Column::new(c.ty.physical())).collect();
    prefix.decode_into(bytes, &mut values).ok()?;
    Some(values)
}

/// Appends the key bytes of a row.
pub(crate) fn row_key(index: &IndexShape, rows: &Batch, i: usize, out: &mut Vec<u8>) {
    if let [field] = &index.fields[..] {
        return index.def.encode_row(&[&rows.columns[field.column]], i, out);
    }
    let columns: Vec<&Column> = index.fields.iter().map(|f| &rows.columns[f.column]).collect();
    index.def.encode_row(&columns, i, out);
}
