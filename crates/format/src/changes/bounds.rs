//! How far may pending changes move the values of a column?
//!
//! A number is added without a look at the row only where no value that the row may have leaves its
//! type by it. What the row may have lies between the least and the greatest of its block and of every
//! value that is set, moved by what is added on top. Both may be wider than the truth, never narrower.

use onlap_base::Result;

use super::{ChangeOp, Scalar};
use crate::wire::{self, Reader};

/// What the changes of one column may do to any one row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeBounds {
    /// Most that is added to a row, or taken from it.
    pub added: u128,
    /// Least and greatest number that is set, NaN left aside.
    pub set: Option<(i128, i128)>,
}

impl ChangeBounds {
    /// What one operation may do; strings have no bounds.
    pub fn of(op: &ChangeOp) -> ChangeBounds {
        let number = |scalar: &Scalar| match scalar {
            Scalar::Int(v) => Some(i128::from(*v)),
            Scalar::Wide(v) => Some(**v),
            _ => None,
        };
        match op {
            ChangeOp::Set(v) => ChangeBounds { added: 0, set: number(v).map(|v| (v, v)) },
            ChangeOp::Add(v) => {
                ChangeBounds { added: number(v).map_or(0, i128::unsigned_abs), set: None }
            }
        }
    }

    /// What both may do to a row, one after the other.
    #[must_use]
    pub fn and(self, other: ChangeBounds) -> ChangeBounds {
        let added = self.added.saturating_add(other.added);
        ChangeBounds { added, set: union(self.set, other.set) }
    }

    /// What either may do to a row.
    #[must_use]
    pub fn or(self, other: ChangeBounds) -> ChangeBounds {
        ChangeBounds { added: self.added.max(other.added), set: union(self.set, other.set) }
    }

    /// Between what a value lies that was between `min` and `max`.
    pub fn range(&self, min: i128, max: i128) -> (i128, i128) {
        let (low, high) = self.set.map_or((min, max), |(a, b)| (min.min(a), max.max(b)));
        let added = i128::try_from(self.added).unwrap_or(i128::MAX);
        (low.saturating_sub(added), high.saturating_add(added))
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.added.to_le_bytes());
        out.push(u8::from(self.set.is_some()));
        if let Some((min, max)) = self.set {
            out.extend_from_slice(&min.to_le_bytes());
            out.extend_from_slice(&max.to_le_bytes());
        }
    }

    pub(crate) fn parse(r: &mut Reader<'_>) -> Result<ChangeBounds> {
        let added = u128::from_le_bytes(r.array()?);
        let set = match r.flag()? {
            false => None,
            true => Some((i128::from_le_bytes(r.array()?), i128::from_le_bytes(r.array()?))),
        };
        Ok(ChangeBounds { added, set })
    }
}

fn union(a: Option<(i128, i128)>, b: Option<(i128, i128)>) -> Option<(i128, i128)> {
    match (a, b) {
        (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
        (a, b) => a.or(b),
    }
}

/// Appends (column, bounds) pairs.
pub(crate) fn put_all(all: &[(onlap_base::ColumnId, ChangeBounds)], out: &mut Vec<u8>) {
    wire::put_varint(out, all.len() as u64);
    for (column, bounds) in all {
        wire::put_varint(out, u64::from(column.0));
        bounds.encode(out);
    }
}

/// Reads what [`put_all`] wrote.
pub(crate) fn read_all(r: &mut Reader<'_>) -> Result<Vec<(onlap_base::ColumnId, ChangeBounds)>> {
    let n = r.count(18)?;
    (0..n).map(|_| Ok((onlap_base::ColumnId(r.varint32()?), ChangeBounds::parse(r)?))).collect()
}
