//! What are the least, the greatest, the sum and the average of times?

use std::cmp::Ordering;

use onlap_pg::Result;
use onlap_pg::value::interval::Interval as Span;

use super::spans::{divided, sum};
use super::timetz::{Pair, order};
use crate::aggregate::{Aggregate, AggregateEntry, State, fold};
use crate::{Date, Interval, Time, TimeTz, Timestamp, Ty};

/// A value that aggregates keep.
trait Kept: Copy + Send + 'static {
    /// Its order.
    fn order(self, other: Self) -> Ordering;
    /// Writes it.
    fn save(self, out: &mut Vec<u8>);
    /// Reads what was written.
    fn load(bytes: &[u8]) -> Self;
}

macro_rules! numbers {
    ($($ty:ty),*) => { $(impl Kept for $ty {
        fn order(self, other: Self) -> Ordering {
            self.cmp(&other)
        }
        fn save(self, out: &mut Vec<u8>) {
            out.extend(self.to_be_bytes());
        }
        fn load(bytes: &[u8]) -> Self {
            <$ty>::from_be_bytes(bytes.try_into().expect("a state was saved by itself"))
        }
    })* };
}

numbers!(i32, i64);

impl Kept for Pair {
    fn order(self, other: Pair) -> Ordering {
        order(self, other)
    }
    fn save(self, out: &mut Vec<u8>) {
        self.0.save(out);
        self.1.save(out);
    }
    fn load(bytes: &[u8]) -> Pair {
        (i64::load(&bytes[..8]), i32::load(&bytes[8..]))
    }
}

impl Kept for Span {
    fn order(self, other: Span) -> Ordering {
        self.key().cmp(&other.key())
    }
    fn save(self, out: &mut Vec<u8>) {
        out.extend(self.send());
    }
    fn load(bytes: &[u8]) -> Span {
        Span::recv(bytes).expect("a state was saved by itself")
    }
}

/// The least or greatest so far. Of equal values the last is kept, as in PostgreSQL.
struct Best<T, const GREATEST: bool>(Option<T>);

impl<T, const GREATEST: bool> Default for Best<T, GREATEST> {
    fn default() -> Self {
        Best(None)
    }
}

impl<T: Kept, const GREATEST: bool> Best<T, GREATEST> {
    fn take(&mut self, value: T) {
        let keeps = |held: T| match held.order(value) {
            Ordering::Less => !GREATEST,
            Ordering::Equal => false,
            Ordering::Greater => GREATEST,
        };
        if !self.0.is_some_and(keeps) {
            self.0 = Some(value);
        }
    }
}

impl<T: Kept, const GREATEST: bool> State for Best<T, GREATEST> {
    fn save(&self, out: &mut Vec<u8>) {
        if let Some(value) = self.0 {
            value.save(out);
        }
    }
    fn load(bytes: &[u8]) -> Self {
        Best((!bytes.is_empty()).then(|| T::load(bytes)))
    }
    fn merge(&mut self, other: Self) -> Result<()> {
        if let Some(value) = other.0 {
            self.take(value);
        }
        Ok(())
    }
}

fn best<T: Kept, A, const GREATEST: bool>() -> Box<dyn Aggregate>
where
    A: for<'x> Ty<Value<'x> = T, Owned = T>,
{
    fold::<Best<T, GREATEST>, A, A>(
        |state, value, _| {
            state.take(value);
            Ok(())
        },
        |state, _| Ok(state.0),
    )
}

/// A sum and how many it is of.
#[derive(Default)]
struct Total {
    sum: Option<Span>,
    count: i64,
}

impl Total {
    fn add(&mut self, value: Span, count: i64) -> Result<()> {
        self.sum = Some(match self.sum {
            Some(held) => sum(held, value)?,
            None => value,
        });
        self.count += count;
        Ok(())
    }
}

impl State for Total {
    fn save(&self, out: &mut Vec<u8>) {
        if let Some(sum) = self.sum {
            self.count.save(out);
            sum.save(out);
        }
    }
    fn load(bytes: &[u8]) -> Total {
        match bytes.is_empty() {
            true => Total::default(),
            false => Total { count: i64::load(&bytes[..8]), sum: Some(Span::load(&bytes[8..])) },
        }
    }
    fn merge(&mut self, other: Total) -> Result<()> {
        other.sum.map_or(Ok(()), |sum| self.add(sum, other.count))
    }
}

/// Aggregates.
pub const AGGREGATES: &[AggregateEntry] = &[
    ("min(date)", |_| best::<i32, Date, false>()),
    ("max(date)", |_| best::<i32, Date, true>()),
    ("min(time)", |_| best::<i64, Time, false>()),
    ("max(time)", |_| best::<i64, Time, true>()),
    ("min(timetz)", |_| best::<Pair, TimeTz, false>()),
    ("max(timetz)", |_| best::<Pair, TimeTz, true>()),
    ("min(timestamp)", |_| best::<i64, Timestamp, false>()),
    ("max(timestamp)", |_| best::<i64, Timestamp, true>()),
    ("min(timestamptz)", |_| best::<i64, Timestamp, false>()),
    ("max(timestamptz)", |_| best::<i64, Timestamp, true>()),
    ("min(interval)", |_| best::<Span, Interval, false>()),
    ("max(interval)", |_| best::<Span, Interval, true>()),
    ("sum(interval)", |_| {
        fold::<Total, Interval, Interval>(|s, value, _| s.add(value, 1), |s, _| Ok(s.sum))
    }),
    ("avg(interval)", |_| {
        fold::<Total, Interval, Interval>(
            |state, value, _| state.add(value, 1),
            |state, _| state.sum.map(|sum| divided(sum, state.count as f64)).transpose(),
        )
    }),
];
