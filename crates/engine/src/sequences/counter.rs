//! Which values come next, and how many are set aside at a time?
//!
//! Pure: a block is planned here, recorded by others, and only then handed out.

use onlap_base::limits::SEQUENCE_CACHE;
use onlap_format::SequenceSchema;
use onlap_format::manifest::SequencePoint;

/// Values set aside when a sequence was quiet, unless its description asks for more: PostgreSQL's 32
/// would mean a sync for every 32 values, of which a disk does some thousand a second.
pub(super) const BLOCK_MIN: u32 = 256;
/// A block that lasted less than this is followed by one twice as large, one that lasted longer than
/// [`LONG_NS`] by one half as large: a sync of a few milliseconds then takes a small part of the time.
const SHORT_NS: u64 = 500_000_000;
const LONG_NS: u64 = 60_000_000_000;

/// Values from `first` to `last`, `count` of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub first: i64,
    pub count: u32,
    pub last: i64,
}

impl Block {
    /// No values.
    pub const NONE: Block = Block { first: 0, count: 0, last: 0 };
}

/// What comes next; `None` at the end of the sequence.
pub(super) fn next(schema: &SequenceSchema, at: SequencePoint) -> Option<i64> {
    let last = match at {
        SequencePoint::Next(next) => return Some(next),
        SequencePoint::After(last) => last,
    };
    let again = if schema.increment > 0 { schema.min } else { schema.max };
    match last.checked_add(schema.increment) {
        Some(next) if (schema.min..=schema.max).contains(&next) => Some(next),
        _ => schema.cycle.then_some(again),
    }
}

/// Up to `wanted` values from `next` on.
pub(super) fn plan(schema: &SequenceSchema, next: i64, wanted: u32) -> Block {
    let step = i128::from(schema.increment);
    assert!(step != 0 && schema.min <= schema.max, "the description was checked");
    let end = if step > 0 { schema.max } else { schema.min };
    let left = (i128::from(end) - i128::from(next)) / step + 1;
    let count = left.clamp(1, i128::from(wanted.max(1))) as u32;
    let last = i128::from(next) + step * i128::from(count - 1);
    let last = i64::try_from(last).expect("it is no further than the end");
    assert!(count > 0 && count <= wanted.max(1), "a block has values, and no more than wanted");
    Block { first: next, count, last }
}

/// How many values to set aside now, after a block of `last` values that was made at `began`.
pub(super) fn block_size(schema: &SequenceSchema, last: u32, began: u64, now: u64) -> u32 {
    let least = schema.cache.max(BLOCK_MIN);
    let lasted = now.saturating_sub(began);
    let size = match last {
        0 => least,
        n if lasted < SHORT_NS => n.saturating_mul(2),
        n if lasted > LONG_NS => n / 2,
        n => n,
    };
    size.clamp(least, SEQUENCE_CACHE)
}
