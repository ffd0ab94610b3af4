//! What does a column change do to a value?
//!
//! An update that need not read its row appends a [`Change`]: of the rows of a stretch of ids, one
//! column is set to a value, or a number is added to it. A reader of a row applies the changes of its
//! columns in the order of their commits, from the first that is not folded into the segment up to its
//! snapshot ([`apply`]). Two changes of a row that no snapshot lies between become one
//! ([`ChangeOp::then`]).
//!
//! Numbers are added in physical form, integers modulo 2^64: the code that appends a change has ruled out
//! that the outcome leaves its type, so that the order in which changes are joined does not matter.
//! Pure; knows nothing of snapshots.

use std::ops::Range;
use std::sync::Arc;

use onlap_base::{Csn, RowId};

use crate::batch::{Column, Vector};
use crate::convert::WIDE_NAN as NAN;
use crate::types::Physical;

mod block;
mod bounds;
mod codec;
mod sweep;

#[cfg(test)]
mod tests;

pub use block::{CHANGES_PER_BLOCK, ChangeBlock, ChangeBlockEntry, Unpacked, encode_change_block};
pub use bounds::ChangeBounds;
pub(crate) use bounds::{put_all as put_bounds, read_all as read_bounds};
pub use codec::LoggedChange;
pub(crate) use codec::{put_changes, read_change_list, read_changes};
pub use sweep::Sweep;

/// One value in physical form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// NULL
    Null,
    /// Of an integer column.
    Int(i64),
    /// Of a 128-bit column.
    Wide(Box<i128>),
    /// Mantissa and scale.
    Numeric(Box<(i128, u8)>),
    /// Of a byte column.
    Bytes(Arc<Vec<u8>>),
}

impl Scalar {
    /// Row `i` of a column.
    pub fn of(column: &Column, i: usize) -> Scalar {
        if column.is_null(i) {
            return Scalar::Null;
        }
        match &column.data {
            Vector::Int(v) => Scalar::Int(v[i]),
            Vector::Wide(v) => Scalar::Wide(Box::new(v[i])),
            Vector::Numeric(m, s) => Scalar::Numeric(Box::new((m[i], s[i]))),
            Vector::Bytes(v) => Scalar::Bytes(Arc::new(v.get(i).to_vec())),
        }
    }

    /// Appends the value to a column of its form.
    pub fn push_to(&self, column: &mut Column) {
        match (self, &mut column.data) {
            (Scalar::Null, _) => return column.push_null(),
            (Scalar::Int(v), Vector::Int(to)) => to.push(*v),
            (Scalar::Wide(v), Vector::Wide(to)) => to.push(**v),
            (Scalar::Numeric(v), Vector::Numeric(m, s)) => {
                m.push(v.0);
                s.push(v.1);
            }
            (Scalar::Bytes(v), Vector::Bytes(to)) => to.push(v),
            _ => panic!("a change has the form of its column"),
        }
        column.pushed();
    }

    /// Heap bytes in use.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Scalar::Null | Scalar::Int(_) => 0,
            Scalar::Wide(_) | Scalar::Numeric(_) => 32,
            Scalar::Bytes(v) => 40 + v.capacity(),
        }
    }

    fn plus(&self, delta: &Scalar) -> Option<Scalar> {
        match (self, delta) {
            (Scalar::Null, _) => Some(Scalar::Null),
            (Scalar::Int(a), Scalar::Int(b)) => Some(Scalar::Int(a.wrapping_add(*b))),
            (Scalar::Wide(a), Scalar::Wide(b)) => {
                add_wide(**a, **b).map(|v| Scalar::Wide(Box::new(v)))
            }
            _ => None,
        }
    }
}

/// NaN stays NaN. `None`: the sum leaves 128 bits.
fn add_wide(a: i128, b: i128) -> Option<i128> {
    if a == NAN || b == NAN { Some(NAN) } else { a.checked_add(b).filter(|sum| *sum != NAN) }
}

/// What is done to a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeOp {
    /// It becomes this one.
    Set(Scalar),
    /// This is added to it: to integers, and to numeric with a declared scale, in that scale. NULL stays
    /// NULL.
    Add(Scalar),
}

impl ChangeOp {
    /// This, and `later` after it, in one. `None`: they cannot be joined.
    pub fn then(&self, later: &ChangeOp) -> Option<ChangeOp> {
        match (self, later) {
            (_, ChangeOp::Set(_)) => Some(later.clone()),
            (ChangeOp::Set(value), ChangeOp::Add(delta)) => value.plus(delta).map(ChangeOp::Set),
            (ChangeOp::Add(value), ChangeOp::Add(delta)) => value.plus(delta).map(ChangeOp::Add),
        }
    }

    /// Whether it can be done to a column of this form.
    pub fn fits(&self, form: Physical) -> bool {
        match (self.scalar(), form) {
            (Scalar::Null, _) => matches!(self, ChangeOp::Set(_)),
            (Scalar::Int(_), Physical::Int) | (Scalar::Wide(_), Physical::Wide) => true,
            (Scalar::Numeric(_), Physical::Numeric) | (Scalar::Bytes(_), Physical::Bytes) => {
                matches!(self, ChangeOp::Set(_))
            }
            _ => false,
        }
    }

    /// The value that is set or added.
    pub fn scalar(&self) -> &Scalar {
        match self {
            ChangeOp::Set(value) | ChangeOp::Add(value) => value,
        }
    }
}

/// One column of some rows was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The first row.
    pub first: RowId,
    /// Number of row ids, at least 1; those without a row do not matter.
    pub len: u64,
    /// The commit.
    pub csn: Csn,
    /// What is done.
    pub op: ChangeOp,
}

impl Change {
    /// One behind the last row.
    pub fn end(&self) -> RowId {
        self.first + self.len
    }
}

/// Applies changes, in order, to rows of a column: each with the places of its rows, which lie in
/// `within`.
pub fn apply(column: &mut Column, within: Range<usize>, steps: &[(Range<usize>, &ChangeOp)]) {
    if steps.is_empty() {
        return;
    }
    if matches!(column.data, Vector::Bytes(_)) {
        return apply_bytes(column, within, steps);
    }
    for (places, op) in steps {
        debug_assert!(places.start >= within.start && places.end <= within.end);
        match op {
            ChangeOp::Set(Scalar::Null) => set_nulls(column, places.clone(), true),
            ChangeOp::Set(value) => {
                set_nulls(column, places.clone(), false);
                match (&mut column.data, value) {
                    (Vector::Int(v), Scalar::Int(value)) => v[places.clone()].fill(*value),
                    (Vector::Wide(v), Scalar::Wide(value)) => v[places.clone()].fill(**value),
                    (Vector::Numeric(m, s), Scalar::Numeric(value)) => {
                        m[places.clone()].fill(value.0);
                        s[places.clone()].fill(value.1);
                    }
                    _ => panic!("a change has the form of its column"),
                }
            }
            ChangeOp::Add(delta) => add(column, places.clone(), delta),
        }
    }
}

fn add(column: &mut Column, places: Range<usize>, delta: &Scalar) {
    let Column { data, nulls } = column;
    let null = |i: usize| nulls.as_ref().is_some_and(|n| n.get(i));
    match (data, delta) {
        (Vector::Int(v), Scalar::Int(delta)) => {
            for i in places.filter(|i| !null(*i)) {
                v[i] = v[i].wrapping_add(*delta);
            }
        }
        (Vector::Wide(v), Scalar::Wide(delta)) => {
            for i in places.filter(|i| !null(*i)) {
                v[i] = add_wide(v[i], **delta).unwrap_or(NAN);
            }
        }
        _ => panic!("numbers are added to numbers of their form"),
    }
}

fn set_nulls(column: &mut Column, places: Range<usize>, null: bool) {
    let len = column.len();
    match &mut column.nulls {
        Some(mask) => places.clone().for_each(|i| mask.set(i, null)),
        None if null => {
            let mask = column.nulls.insert(crate::batch::NullMask::none(len));
            places.clone().for_each(|i| mask.set(i, true));
        }
        None => return,
    }
    if null {
        match &mut column.data {
            Vector::Int(v) => v[places].fill(0),
            Vector::Wide(v) => v[places].fill(0),
            Vector::Numeric(m, s) => {
                m[places.clone()].fill(0);
                s[places].fill(0);
            }
            Vector::Bytes(_) => unreachable!("byte columns are built anew"),
        }
    }
}

/// Strings lie back to back, so that a column with other ones is built anew.
fn apply_bytes(column: &mut Column, within: Range<usize>, steps: &[(Range<usize>, &ChangeOp)]) {
    let mut last: Vec<Option<&Scalar>> = vec![None; within.len()];
    for (places, op) in steps {
        let at = places.start - within.start..places.end - within.start;
        last[at].fill(Some(op.scalar()));
    }
    let n = column.len();
    let Vector::Bytes(old) = &column.data else { unreachable!("a byte column") };
    let mut new = Column::new(column.data.physical());
    let keep = |new: &mut Column, range: Range<usize>| {
        if !range.is_empty() {
            new.extend_range(column, range);
        }
    };
    keep(&mut new, 0..within.start);
    let mut from = within.start;
    for (i, value) in last.iter().enumerate() {
        if let Some(value) = value {
            keep(&mut new, from..within.start + i);
            value.push_to(&mut new);
            from = within.start + i + 1;
        }
    }
    keep(&mut new, from..n);
    debug_assert_eq!((new.len(), old.len()), (n, n));
    *column = new;
}
