//! Do two periods have a moment in common? Is a row in the frame of another? (OVERLAPS, RANGE of windows.)

use std::cmp::Ordering;

use onlap_pg::value::interval::Interval as Span;
use onlap_pg::{Error, Result};

use super::by_row::by_row;
use super::casts::date_to_timestamp;
use super::shift::{plus, turned};
use super::spans;
use super::timetz::{Pair, order};
use crate::{Bool, Cx, Date, Entry, Interval, Kernel, Null, Time, TimeTz, Timestamp, Ty, four};

/// A period: its earlier end, and the later one if it is known. `None`: neither is.
fn period<T: Copy>(
    a: Option<T>,
    b: Option<T>,
    order: fn(T, T) -> Ordering,
) -> Option<(T, Option<T>)> {
    match (a, b) {
        (None, None) => None,
        (Some(one), None) | (None, Some(one)) => Some((one, None)),
        (Some(a), Some(b)) if order(a, b).is_gt() => Some((b, Some(a))),
        (Some(a), Some(b)) => Some((a, Some(b))),
    }
}

/// OVERLAPS with what NULLs leave open.
fn overlap<T: Copy>(
    a: (Option<T>, Option<T>),
    b: (Option<T>, Option<T>),
    order: fn(T, T) -> Ordering,
) -> Option<bool> {
    let ((a, a_end), (b, b_end)) = (period(a.0, a.1, order)?, period(b.0, b.1, order)?);
    // The later begin must be before the end of the other period.
    let later = |begin: T, own_end: Option<T>, other_end: Option<T>| match other_end {
        None => None,
        Some(end) if order(begin, end).is_lt() => Some(true),
        Some(_) => own_end.map(|_| false),
    };
    match order(a, b) {
        Ordering::Greater => later(a, a_end, b_end),
        Ordering::Less => later(b, b_end, a_end),
        Ordering::Equal => (a_end.is_some() && b_end.is_some()).then_some(true),
    }
}

fn end(
    from: Option<i64>,
    span: Option<Span>,
    add: impl Fn(i64, Span) -> Result<i64>,
) -> Result<Option<i64>> {
    match (from, span) {
        (Some(from), Some(span)) => add(from, span).map(Some),
        _ => Ok(None),
    }
}

type N<T> = Null<T>;

/// OVERLAPS of periods that have a length on either side, by how a length is added.
macro_rules! overlaps {
    ($name:literal, $ty:ty, $add:expr) => {
        &[
            (concat!("overlaps(", $name, ",", $name, ",", $name, ",", $name, ")"), |_| {
                four::<N<$ty>, N<$ty>, N<$ty>, N<$ty>, N<Bool>>(|a, b, c, d, _| {
                    Ok(overlap((a, b), (c, d), |a, b| a.cmp(&b)))
                })
            }),
            (concat!("overlaps(", $name, ",interval,", $name, ",interval)"), |_| {
                four::<N<$ty>, N<Interval>, N<$ty>, N<Interval>, N<Bool>>(|a, b, c, d, cx| {
                    let add = |value, span| $add(value, span, &*cx);
                    let (b, d) = (end(a, b, add)?, end(c, d, add)?);
                    Ok(overlap((a, b), (c, d), |a, b| a.cmp(&b)))
                })
            }),
            (concat!("overlaps(", $name, ",", $name, ",", $name, ",interval)"), |_| {
                four::<N<$ty>, N<$ty>, N<$ty>, N<Interval>, N<Bool>>(|a, b, c, d, cx| {
                    let d = end(c, d, |value, span| $add(value, span, &*cx))?;
                    Ok(overlap((a, b), (c, d), |a, b| a.cmp(&b)))
                })
            }),
            (concat!("overlaps(", $name, ",interval,", $name, ",", $name, ")"), |_| {
                four::<N<$ty>, N<Interval>, N<$ty>, N<$ty>, N<Bool>>(|a, b, c, d, cx| {
                    let b = end(a, b, |value, span| $add(value, span, &*cx))?;
                    Ok(overlap((a, b), (c, d), |a, b| a.cmp(&b)))
                })
            }),
        ]
    };
}

/// Times of day.
pub const TIMES: &[Entry] = overlaps!("time", Time, |value: i64, span: Span, _: &Cx<'_>| {
    Ok(value.wrapping_add(span.time).rem_euclid(onlap_pg::value::datetime::DAY_US))
});
/// Timestamps.
pub const TIMESTAMPS: &[Entry] =
    overlaps!("timestamp", Timestamp, |value: i64, span: Span, _: &Cx<'_>| plus(value, span, None));
/// timestamptz.
pub const TIMESTAMPTZS: &[Entry] =
    overlaps!("timestamptz", Timestamp, |value: i64, span: Span, cx: &Cx<'_>| {
        plus(value, span, Some(cx.settings))
    });

/// A value, the frame's row, and the offset: whether the value is before or after the frame's end.
struct Frame<T> {
    value: T,
    base: T,
    offset: Span,
    back: bool,
    less: bool,
}

impl<T> Frame<T> {
    /// Whether the value is on the wanted side of the end.
    fn within(&self, order: Ordering) -> bool {
        if self.less { order.is_le() } else { order.is_ge() }
    }
}

fn size_error() -> Error {
    Error::new("22013", "invalid preceding or following size in window function")
}

/// A kernel of in_range.
fn in_range<T: Ty>(
    test: for<'x> fn(Frame<T::Value<'x>>, &Cx<'_>) -> Result<bool>,
) -> Box<dyn Kernel> {
    by_row::<Bool>(move |args, row, cx| {
        let frame = Frame {
            value: T::get(&T::column(&args[0].array), args[0].at(row)),
            base: T::get(&T::column(&args[1].array), args[1].at(row)),
            offset: Interval::get(&Interval::column(&args[2].array), args[2].at(row)),
            back: Bool::get(&Bool::column(&args[3].array), args[3].at(row)),
            less: Bool::get(&Bool::column(&args[4].array), args[4].at(row)),
        };
        test(frame, cx)
    })
}

fn of_timestamps(frame: Frame<i64>, zone: Option<&onlap_pg::value::Settings>) -> Result<bool> {
    if frame.offset.key() < 0 {
        return Err(size_error());
    }
    let offset = if frame.back { turned(frame.offset) } else { frame.offset };
    Ok(frame.within(frame.value.cmp(&plus(frame.base, offset, zone)?)))
}

/// The end of a frame of times of day, which does not go around the clock.
fn clock_end(base: i64, offset: Span, back: bool) -> Result<i64> {
    match offset.time {
        time if time < 0 => Err(size_error()),
        time if back => Ok(base - time),
        // A sum that the number does not hold wraps, as in PostgreSQL 15.
        time => Ok(base.wrapping_add(time)),
    }
}

fn of_times(frame: Frame<i64>) -> Result<bool> {
    let end = clock_end(frame.base, frame.offset, frame.back)?;
    Ok(frame.within(frame.value.cmp(&end)))
}

fn of_timetz(frame: Frame<Pair>) -> Result<bool> {
    let end = clock_end(frame.base.0, frame.offset, frame.back)?;
    Ok(frame.within(order(frame.value, (end, frame.base.1))))
}

fn of_intervals(frame: Frame<Span>) -> Result<bool> {
    if frame.offset.key() < 0 {
        return Err(size_error());
    }
    let end = match frame.back {
        true => spans::minus(frame.base, frame.offset)?,
        false => spans::sum(frame.base, frame.offset)?,
    };
    Ok(frame.within(frame.value.key().cmp(&end.key())))
}

fn of_dates(frame: Frame<i32>) -> Result<bool> {
    let Frame { value, base, offset, back, less } = frame;
    let (value, base) = (date_to_timestamp(value)?, date_to_timestamp(base)?);
    of_timestamps(Frame { value, base, offset, back, less }, None)
}

fn overlaps_timetz() -> Box<dyn Kernel> {
    four::<N<TimeTz>, N<TimeTz>, N<TimeTz>, N<TimeTz>, N<Bool>>(|a, b, c, d, _| {
        Ok(overlap((a, b), (c, d), order))
    })
}

/// timetz, and frames.
pub const OTHERS: &[Entry] = &[
    ("overlaps(timetz,timetz,timetz,timetz)", |_| overlaps_timetz()),
    ("in_range(date,date,interval,bool,bool)", |_| in_range::<Date>(|f, _| of_dates(f))),
    ("in_range(timestamp,timestamp,interval,bool,bool)", |_| {
        in_range::<Timestamp>(|f, _| of_timestamps(f, None))
    }),
    ("in_range(timestamptz,timestamptz,interval,bool,bool)", |_| {
        in_range::<Timestamp>(|f, cx| of_timestamps(f, Some(cx.settings)))
    }),
    ("in_range(interval,interval,interval,bool,bool)", |_| {
        in_range::<Interval>(|f, _| of_intervals(f))
    }),
    ("in_range(time,time,interval,bool,bool)", |_| in_range::<Time>(|f, _| of_times(f))),
    ("in_range(timetz,timetz,interval,bool,bool)", |_| in_range::<TimeTz>(|f, _| of_timetz(f))),
];
