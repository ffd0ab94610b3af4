//! What are averages of floats, variances and standard deviations?
//!
//! Floats: the sum of squared distances from the mean is updated row by row (Youngs and Cramer, 1971), in PostgreSQL's order
//! of operations, so that the digits are the same. Integers and numerics: exact sums of values and squares.

use onlap_pg::Result;
use onlap_pg::value::numeric::{Numeric, Small};

use super::sums::{Specials, Total};
use super::{One, Step, folded};
use crate::aggregate::{AggregateEntry, State};
use crate::number::decimal::{Dec, Decimal, Made};
use crate::number::float::overflow;
use crate::{Float4, Float8, Int2, Int4, Int8};

macro_rules! spreads {
    ($($name:literal $state:ident $ty:ident $result:ident;)*) => { &[$(
        (concat!("var_pop(", $name, ")"), |_| folded::<$state, One<$ty>, $result>(|s| s.spread(false, false))),
        (concat!("var_samp(", $name, ")"), |_| folded::<$state, One<$ty>, $result>(|s| s.spread(true, false))),
        (concat!("variance(", $name, ")"), |_| folded::<$state, One<$ty>, $result>(|s| s.spread(true, false))),
        (concat!("stddev_pop(", $name, ")"), |_| folded::<$state, One<$ty>, $result>(|s| s.spread(false, true))),
        (concat!("stddev_samp(", $name, ")"), |_| folded::<$state, One<$ty>, $result>(|s| s.spread(true, true))),
        (concat!("stddev(", $name, ")"), |_| folded::<$state, One<$ty>, $result>(|s| s.spread(true, true))),
    )*] };
}

/// Variances and standard deviations.
pub const ENTRIES: &[AggregateEntry] = spreads! {
    "int2" Exact Int2 Dec;
    "int4" Exact Int4 Dec;
    "int8" Exact Int8 Dec;
    "numeric" Exact Dec Dec;
    "float4" Moments Float4 Float8;
    "float8" Moments Float8 Float8;
};

/// Averages of floats.
pub const AVERAGES: &[AggregateEntry] = &[
    ("avg(float4)", |_| folded::<Moments, One<Float4>, Float8>(Moments::average)),
    ("avg(float8)", |_| folded::<Moments, One<Float8>, Float8>(Moments::average)),
];

/// Number, sum, and sum of squared distances from the mean.
#[derive(Default)]
struct Moments {
    n: f64,
    sum: f64,
    squares: f64,
}

impl Moments {
    #[inline(always)]
    fn take(&mut self, value: f64) -> Result<()> {
        let before = (self.n, self.sum);
        self.n += 1.0;
        self.sum += value;
        if before.0 > 0.0 {
            let distance = value * self.n - self.sum;
            self.squares += distance * distance / (self.n * before.0);
            if self.sum.is_infinite() || self.squares.is_infinite() {
                if !before.1.is_infinite() && !value.is_infinite() {
                    return Err(overflow());
                }
                self.squares = f64::NAN;
            }
        } else if !value.is_finite() {
            self.squares = f64::NAN;
        }
        Ok(())
    }

    fn average(&self) -> Result<Option<f64>> {
        Ok((self.n > 0.0).then(|| self.sum / self.n))
    }

    fn spread(&self, sample: bool, root: bool) -> Result<Option<f64>> {
        let divisor = if sample { self.n - 1.0 } else { self.n };
        let variance = self.squares / divisor;
        Ok((divisor > 0.0).then(|| if root { variance.sqrt() } else { variance }))
    }
}

impl Step<One<Float4>> for Moments {
    #[inline(always)]
    fn step(&mut self, value: f32) -> Result<()> {
        self.take(f64::from(value))
    }
}

impl Step<One<Float8>> for Moments {
    #[inline(always)]
    fn step(&mut self, value: f64) -> Result<()> {
        self.take(value)
    }
}

impl State for Moments {
    fn save(&self, out: &mut Vec<u8>) {
        out.extend([self.n, self.sum, self.squares].iter().flat_map(|v| v.to_le_bytes()));
    }

    fn load(bytes: &[u8]) -> Moments {
        let [n, sum, squares] = super::words(bytes).map(f64::from_le_bytes);
        Moments { n, sum, squares }
    }

    fn merge(&mut self, other: Moments) -> Result<()> {
        if self.n == 0.0 || other.n == 0.0 {
            if self.n == 0.0 {
                *self = other;
            }
            return Ok(());
        }
        let n = self.n + other.n;
        let sum = self.sum + other.sum;
        let distance = self.sum / self.n - other.sum / other.n;
        let squares = self.squares + other.squares + self.n * other.n * distance * distance / n;
        let finite = |a: f64, b: f64| !a.is_infinite() && !b.is_infinite();
        if sum.is_infinite() && finite(self.sum, other.sum)
            || squares.is_infinite() && finite(self.squares, other.squares)
        {
            return Err(overflow());
        }
        *self = Moments { n, sum, squares };
        Ok(())
    }
}

/// Number, sum and sum of squares.
#[derive(Default)]
struct Exact {
    count: i64,
    sum: Total,
    squares: Total,
    specials: Specials,
}

impl Exact {
    #[inline(always)]
    fn take(&mut self, value: Small) -> Result<()> {
        self.count += 1;
        self.sum.add(value);
        match value.checked_mul(value) {
            Some(square) => self.squares.add(square),
            None => {
                let value = Numeric::from(value);
                self.squares.add_large(&value.times_unchecked(&value)?);
            }
        }
        Ok(())
    }

    fn spread(&self, sample: bool, root: bool) -> Result<Option<Made>> {
        if self.count <= i64::from(sample) {
            return Ok(None);
        }
        if self.specials.any() {
            return Ok(Some(Made::Large(Numeric::nan())));
        }
        let (sum, squares) = (self.sum.numeric(), self.squares.numeric());
        Numeric::spread(self.count, &sum, &squares, sample, root).map(|v| Some(Made::Large(v)))
    }
}

macro_rules! ints {
    ($($ty:ident)*) => { $(impl Step<One<$ty>> for Exact {
        #[inline(always)]
        fn step(&mut self, value: <$ty as crate::Ty>::Value<'_>) -> Result<()> {
            self.take(Small::from(i64::from(value)))
        }
    })* };
}

ints!(Int2 Int4 Int8);

impl Step<One<Dec>> for Exact {
    #[inline(always)]
    fn step(&mut self, value: Decimal<'_>) -> Result<()> {
        match value {
            Decimal::Small(small) => self.take(small),
            Decimal::Large(bytes) => {
                self.count += 1;
                let value = Numeric::load(bytes);
                if !self.specials.take(&value) {
                    self.sum.add_large(&value);
                    self.squares.add_large(&value.times_unchecked(&value)?);
                }
                Ok(())
            }
        }
    }
}

impl State for Exact {
    fn save(&self, out: &mut Vec<u8>) {
        out.extend(self.count.to_le_bytes());
        out.push(self.specials.bits());
        self.sum.save(out);
        self.squares.save(out);
    }

    fn load(bytes: &[u8]) -> Exact {
        let [count] = super::words(bytes);
        let (sum, rest) = Total::load(&bytes[9..]);
        let (squares, _) = Total::load(rest);
        let specials = Specials::of_bits(bytes[8]);
        Exact { count: i64::from_le_bytes(count), sum, squares, specials }
    }

    fn merge(&mut self, other: Exact) -> Result<()> {
        self.count += other.count;
        self.sum.merge(other.sum);
        self.squares.merge(other.squares);
        self.specials.merge(other.specials);
        Ok(())
    }

    fn size(&self) -> usize {
        self.sum.size() + self.squares.size()
    }
}
