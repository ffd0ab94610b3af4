use super::counter::{BLOCK_MIN, Block, block_size, next, plan};
use super::*;

fn schema(increment: i64, min: i64, max: i64, cycle: bool) -> SequenceSchema {
    let start = if increment > 0 { min } else { max };
    let (id, name) = (SequenceId(1), "s".to_owned());
    SequenceSchema { id, name, start, increment, min, max, cycle, cache: 1 }
}

#[test]
fn blocks_end_where_the_sequence_does() {
    let rising = schema(3, 1, 10, false);
    assert_eq!(plan(&rising, 1, 2), Block { first: 1, count: 2, last: 4 });
    assert_eq!(plan(&rising, 7, 9), Block { first: 7, count: 2, last: 10 });
    let falling = schema(-4, -10, -1, true);
    assert_eq!(plan(&falling, -1, 9), Block { first: -1, count: 3, last: -9 });
    let whole = schema(i64::MAX, i64::MIN, i64::MAX, false);
    let all = plan(&whole, i64::MIN, 9);
    assert_eq!((all.count, all.last), (3, i64::MAX - 1));
    let last = schema(1, 1, i64::MAX, false);
    assert_eq!(plan(&last, i64::MAX, 5), Block { first: i64::MAX, count: 1, last: i64::MAX });
    assert_eq!(plan(&schema(100, 1, 10, true), 1, 5), Block { first: 1, count: 1, last: 1 });
    // After the last value of a sequence that turned round, its values may be fewer than one step.
    assert_eq!(plan(&falling, -10, 5), Block { first: -10, count: 1, last: -10 });
}

#[test]
fn values_follow_the_last_one_until_the_end() {
    let rising = schema(3, 1, 10, false);
    assert_eq!(next(&rising, SequencePoint::Next(9)), Some(9));
    assert_eq!(next(&rising, SequencePoint::After(7)), Some(10));
    assert_eq!(next(&rising, SequencePoint::After(8)), None);
    let falling = schema(-4, -10, -1, true);
    assert_eq!(next(&falling, SequencePoint::After(-9)), Some(-1));
    assert_eq!(next(&falling, SequencePoint::After(-5)), Some(-9));
    let last = schema(1, 1, i64::MAX, false);
    assert_eq!(next(&last, SequencePoint::After(i64::MAX)), None);
    assert_eq!(next(&schema(100, 1, 10, true), SequencePoint::After(1)), Some(1));
}

#[test]
fn blocks_grow_while_they_are_used_up_fast() {
    let s = schema(1, 1, i64::MAX, false);
    let second = 1_000_000_000;
    let mut size = block_size(&s, 0, 0, 0);
    assert_eq!(size, BLOCK_MIN);
    for _ in 0..30 {
        size = block_size(&s, size, 0, second / 100);
    }
    assert_eq!(size, limits::SEQUENCE_CACHE);
    assert_eq!(block_size(&s, size, 0, 10 * second), size);
    for _ in 0..30 {
        size = block_size(&s, size, 0, 100 * second);
    }
    assert_eq!(size, BLOCK_MIN);
    let wide = SequenceSchema { cache: 5000, ..s };
    assert_eq!(block_size(&wide, 0, 0, 0), 5000);
}
