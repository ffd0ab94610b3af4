//! Which packing holds the keys of several others?
//!
//! A merge brings the keys of its inputs to one packing. What values a field can hold is read off
//! the field, not off the values: a little wider than need be, but known without looking at one.

use super::{Field, Kind, Packing, SHORT_TEXT, SIGN, mask, raw_wide};
use crate::key::stats::Seen;
use crate::key::uuid_text;
use crate::key::{ColumnStats, KeyForm};

impl Packing {
    /// A packing that holds every key of these, which are of the same key. Where a text field had
    /// seen NULLs or empty strings alone the result may not hold those; repacking says so. With cut keys
    /// among them the result is of cut keys, and holds the others as soon as they are cut.
    ///
    /// # Panics
    /// Without packings.
    pub fn union(packings: &[&Packing]) -> Packing {
        let first = packings[0];
        if packings.iter().all(|p| *p == first) {
            return first.clone();
        }
        if packings.iter().any(|p| p.is_cut()) {
            let dense = packings.iter().all(|p| p.cuts_to_dense());
            return Packing::cut(&first.def, dense).expect("keys that were cut once can be cut");
        }
        if packings.iter().any(|p| p.form == KeyForm::Bytes) {
            return Packing::bytes(&first.def);
        }
        let column = |i: usize| {
            let mut stats = first.fields[i].stats();
            packings[1..].iter().for_each(|p| stats.merge(&p.fields[i].stats()));
            stats
        };
        let stats: Vec<ColumnStats> = (0..first.fields.len()).map(column).collect();
        Packing::fit(&first.def, &stats)
    }
}

impl Field {
    /// Stats of a column that had every value which the field can hold.
    fn stats(&self) -> ColumnStats {
        let top = self.base.saturating_add(mask(self.bits).saturating_mul(self.stride.into()));
        let nothing = self.nullable && self.bits == 0 && self.kind == (Kind::Text { len: 0 });
        let values = match self.kind {
            Kind::Int => {
                let value = |raw: u128| (u64::try_from(raw).unwrap_or(u64::MAX) ^ SIGN) as i64;
                let stride = if self.bits == 0 { 0 } else { self.stride };
                Seen::Int { min: value(self.base), max: value(top), stride }
            }
            Kind::Wide => Seen::Wide { min: wide(self.base), max: wide(top) },
            Kind::Numeric { scale } => {
                Seen::Numeric { scale, range: Some((wide(self.base), wide(top))) }
            }
            Kind::UuidText => {
                Seen::Bytes { len_max: uuid_text::LEN, min: u128::MAX, max: 0, uuids: true }
            }
            Kind::Text { len } => {
                let unused = 8 * (SHORT_TEXT as u32 - u32::from(len));
                let whole = |raw: u128| (raw >> 4 << unused) << 4 | raw & 15;
                let (min, max) = (whole(self.base), whole(top));
                Seen::Bytes { len_max: len.into(), min, max, uuids: nothing }
            }
        };
        let nulls = u64::from(self.nullable);
        ColumnStats::assumed(self.ty, nulls + u64::from(!nothing), nulls, values)
    }
}

fn wide(raw: u128) -> i128 {
    raw_wide(raw as i128) as i128
}

#[cfg(test)]
mod tests {
    use crate::batch::{Column, Vector};
    use crate::key::{ColumnStats, KeyColumn, KeyDef, Packing};
    use crate::types::{DataType, Physical};

    fn text(values: &[&str]) -> Column {
        let mut column = Column::new(Physical::Bytes);
        if let Vector::Bytes(v) = &mut column.data {
            values.iter().for_each(|s| v.push(s.as_bytes()));
        }
        column
    }

    fn ints(values: &[i64]) -> Column {
        Column { data: Vector::Int(values.to_vec()), nulls: None }
    }

    fn with_null(mut column: Column) -> Column {
        column.push_null();
        column
    }

    fn numeric(values: &[(i128, u8)]) -> Column {
        let (m, s) = values.iter().copied().unzip();
        Column { data: Vector::Numeric(m, s), nulls: None }
    }

    fn wide(values: &[i128]) -> Column {
        Column { data: Vector::Wide(values.to_vec()), nulls: None }
    }

    fn check(ty: DataType, parts: &[Column]) {
        for descending in [false, true] {
            let def = KeyDef::new(vec![
                KeyColumn { ty, descending },
                KeyColumn { ty: DataType::Int4, descending: false },
            ]);
            let packed: Vec<_> = parts
                .iter()
                .map(|column| {
                    let numbers = ints(&vec![7; column.len()]);
                    let mut stats = [ColumnStats::new(ty), ColumnStats::new(DataType::Int4)];
                    stats[0].observe(column, 0..column.len());
                    stats[1].observe(&numbers, 0..column.len());
                    let packing = Packing::fit(&def, &stats);
                    let mut keys = packing.new_keys();
                    assert!(packing.pack(&[column, &numbers], 0..column.len(), &mut keys));
                    (packing, keys)
                })
                .collect();
            let all: Vec<&Packing> = packed.iter().map(|p| &p.0).collect();
            let union = Packing::union(&all);
            for (packing, keys) in &packed {
                let mut out = union.new_keys();
                let fits = union.repack(packing, keys, 0..keys.len(), &mut out).unwrap();
                assert!(fits, "{ty} {parts:?}");
                for i in 0..keys.len() {
                    let (mut a, mut b) = (vec![], vec![]);
                    packing.key_bytes(keys, i, &mut a).unwrap();
                    union.key_bytes(&out, i, &mut b).unwrap();
                    assert_eq!(a, b, "{ty}");
                }
            }
        }
    }

    #[test]
    fn holds_what_each_holds() {
        check(DataType::Int8, &[ints(&[5, 9, 100]), ints(&[i64::MIN, 3]), ints(&[i64::MAX])]);
        check(DataType::Int4, &[ints(&[10, 20, 30]), with_null(ints(&[50, 100]))]);
        check(DataType::Timestamp, &[ints(&[7]), ints(&[7, 1007, 5007])]);
        check(DataType::Text, &[text(&["ab", "abc"]), text(&["b", "", "fifteen letters"])]);
        check(DataType::Text, &[text(&["x"]), with_null(text(&["y"])), with_null(text(&[]))]);
        check(DataType::Text, &[text(&["short"]), text(&["a text of many more letters"])]);
        let uuid = "0a1b2c3d-1111-4222-8333-444455556666";
        check(DataType::Text, &[text(&[uuid]), with_null(text(&[])), text(&[uuid])]);
        check(DataType::Text, &[text(&[uuid]), text(&["no"])]);
        check(DataType::Uuid, &[wide(&[1, i128::MIN]), wide(&[i128::MAX])]);
        check(DataType::Numeric(Some((20, 2))), &[wide(&[-5, 5]), wide(&[1 << 100])]);
        check(DataType::Numeric(None), &[numeric(&[(15, 1), (2, 0)]), numeric(&[(-12345, 3)])]);
    }
}
