//! Where does a row lie, to clients?
//!
//! `ctid`, a block and a place in it, is the row's id: 256 rows make a block. Ids rise in commit order and never change, so that a
//! range of `ctid`s is a range of rows, which is read without looking at others. A transaction's own rows have ids of their
//! own until it commits: they lie in blocks of the last sixteenth.
//!
//! Pure.

use std::ops::Range;

use onlap::RowId;
use onlap_base::PROVISIONAL_BASE;
use onlap_kernels::Datum;
use onlap_pg::Result;
use onlap_query::{Restriction, RestrictionKind};

use crate::error::SqlError;

/// Rows of a block.
pub const BLOCK_ROWS: u64 = 256;
/// The first block of a transaction's own rows.
const OWN_BLOCKS: u64 = 0xf000_0000;
/// Their first place, counted from the first of all.
const OWN: u64 = OWN_BLOCKS * BLOCK_ROWS;
/// Places that there are.
const PLACES: u64 = (1 << 32) * BLOCK_ROWS;

/// A row's `ctid` in PostgreSQL's binary form.
///
/// # Errors
/// `54000`: the row is behind all places that there are.
pub fn of_row(id: RowId) -> crate::error::Result<[u8; 6]> {
    let (at, end) = match id.checked_sub(PROVISIONAL_BASE) {
        Some(own) => (own.saturating_add(OWN), PLACES),
        None => (id, OWN),
    };
    if at >= end {
        return Err(SqlError::new("54000", "the table has more rows than ctid can count"));
    }
    let mut out = [0; 6];
    out[..4].copy_from_slice(&((at / BLOCK_ROWS) as u32).to_be_bytes());
    out[4..].copy_from_slice(&((at % BLOCK_ROWS) as u16 + 1).to_be_bytes());
    Ok(out)
}

/// The ids of the rows that all of some restrictions on `ctid` leave, in ranges.
///
/// # Errors
/// Those of the queries that give values.
pub fn ranges(restrictions: &[Restriction]) -> Result<Vec<Range<RowId>>> {
    let mut left = vec![0..PLACES];
    for restriction in restrictions {
        let values = (restriction.values)()?;
        let mut some: Vec<Range<u64>> =
            values.iter().filter_map(|value| places(restriction.kind, value)).collect();
        some.sort_by_key(|range| range.start);
        some.dedup();
        left = both(&left, &some);
    }
    Ok(left.into_iter().flat_map(ids).collect())
}

/// The places that a comparison with a value leaves; none with NULL.
fn places(kind: RestrictionKind, value: &Datum<'_>) -> Option<Range<u64>> {
    let Datum::Bytes(bytes) = value else { return None };
    let [a, b, c, d, e, f] = **bytes else { return None };
    let (block, place) = (u64::from(u32::from_be_bytes([a, b, c, d])), u16::from_be_bytes([e, f]));
    // Blocks have no place 0, and none behind their last.
    let from = block * BLOCK_ROWS + u64::from(place).saturating_sub(1).min(BLOCK_ROWS);
    let is_place = (1..=BLOCK_ROWS).contains(&u64::from(place));
    let behind = from + u64::from(is_place);
    Some(match kind {
        RestrictionKind::Equal | RestrictionKind::OneOf => from..behind,
        RestrictionKind::Less => 0..from,
        RestrictionKind::LessOrEqual => 0..behind,
        RestrictionKind::Greater => behind..PLACES,
        RestrictionKind::GreaterOrEqual => from..PLACES,
    })
}

/// What lies in ranges of both lists, each of which is in order and has no place twice.
fn both(one: &[Range<u64>], other: &[Range<u64>]) -> Vec<Range<u64>> {
    let (mut made, mut a, mut b) = (Vec::new(), 0, 0);
    while let (Some(x), Some(y)) = (one.get(a), other.get(b)) {
        let range = x.start.max(y.start)..x.end.min(y.end);
        if !range.is_empty() {
            made.push(range);
        }
        if x.end <= y.end { a += 1 } else { b += 1 }
    }
    made
}

/// The ids of places: of rows that were committed, and of own ones.
fn ids(places: Range<u64>) -> impl Iterator<Item = Range<RowId>> {
    let own = |place: u64| PROVISIONAL_BASE + place.saturating_sub(OWN);
    let landed = places.start.min(OWN)..places.end.min(OWN);
    let own = own(places.start)..own(places.end);
    [landed, own].into_iter().filter(|range| !range.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tid(block: u32, place: u16) -> Datum<'static> {
        Datum::bytes([&block.to_be_bytes()[..], &place.to_be_bytes()].concat())
    }

    fn row(id: RowId) -> Datum<'static> {
        Datum::bytes(of_row(id).expect("it has a place").to_vec())
    }

    #[test]
    fn rows_and_places_are_one_to_one_and_in_order() {
        let all = [0, 1, 255, 256, 257, OWN - 1, PROVISIONAL_BASE, PROVISIONAL_BASE + 300];
        for id in all {
            let found = places(RestrictionKind::Equal, &row(id)).expect("no NULL");
            assert_eq!(ids(found).collect::<Vec<_>>(), [id..id + 1]);
        }
        let places: Vec<[u8; 6]> = all.iter().map(|id| of_row(*id).expect("a place")).collect();
        assert!(places.is_sorted(), "bytes in the order of rows");
        assert_eq!(places[3], [0, 0, 0, 1, 0, 1]);
        assert!(of_row(OWN).is_err() && of_row(RowId::MAX).is_err());
    }

    #[test]
    fn comparisons_leave_what_tids_of_rows_compare_so() {
        use RestrictionKind::*;
        for (block, place) in
            [(0, 0), (0, 1), (1, 0), (1, 1), (1, 256), (1, 257), (1, 65535), (2, 7)]
        {
            let value = tid(block, place);
            for id in 0..1024 {
                let order = match (&row(id), &value) {
                    (Datum::Bytes(a), Datum::Bytes(b)) => a.cmp(b),
                    _ => unreachable!("both are bytes"),
                };
                for (kind, holds) in [
                    (Equal, order.is_eq()),
                    (OneOf, order.is_eq()),
                    (Less, order.is_lt()),
                    (LessOrEqual, order.is_le()),
                    (Greater, order.is_gt()),
                    (GreaterOrEqual, order.is_ge()),
                ] {
                    let left = places(kind, &value).expect("no NULL");
                    let inside = ids(left).any(|range| range.contains(&id));
                    assert_eq!(inside, holds, "{id} {kind:?} ({block},{place})");
                }
            }
        }
    }

    #[test]
    fn ranges_of_both_lists() {
        assert_eq!(both(&[0..5, 7..9], &[3..8]), [3..5, 7..8]);
        assert_eq!(both(&[0..9], &[1..2, 2..2, 4..5]), [1..2, 4..5]);
        assert!(both(&[0..3], &[3..4]).is_empty());
    }
}
