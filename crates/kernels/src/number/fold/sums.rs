//! What are sums and averages?
//!
//! Integers are summed in 128 bits, numerics as [`Total`] has it, floats in the order of their rows, float4 in its own
//! precision, as PostgreSQL does. Averages of floats come from [`super::moments`].

use onlap_pg::value::numeric::{Numeric, Small};
use onlap_pg::{Error, Result};

use super::{One, Step, folded};
use crate::aggregate::{AggregateEntry, State};
use crate::number::decimal::{Dec, Decimal, Made};
use crate::number::float::{Float, overflow};
use crate::{Float4, Float8, Int2, Int4, Int8};

/// sum and avg.
pub const ENTRIES: &[AggregateEntry] = &[
    ("sum(int2)", |_| folded::<Ints, One<Int2>, Int8>(Ints::short)),
    ("sum(int4)", |_| folded::<Ints, One<Int4>, Int8>(Ints::short)),
    ("sum(int8)", |_| folded::<Ints, One<Int8>, Dec>(Ints::long)),
    ("sum(money)", |_| folded::<Amounts, One<Int8>, Int8>(|state| Ok(state.sum))),
    ("sum(float4)", |_| folded::<Floats<f32>, One<Float4>, Float4>(|state| Ok(state.sum))),
    ("sum(float8)", |_| folded::<Floats<f64>, One<Float8>, Float8>(|state| Ok(state.sum))),
    ("sum(numeric)", |_| folded::<Numerics, One<Dec>, Dec>(Numerics::sum)),
    ("avg(int2)", |_| folded::<Ints, One<Int2>, Dec>(Ints::average)),
    ("avg(int4)", |_| folded::<Ints, One<Int4>, Dec>(Ints::average)),
    ("avg(int8)", |_| folded::<Ints, One<Int8>, Dec>(Ints::average)),
    ("avg(numeric)", |_| folded::<Numerics, One<Dec>, Dec>(Numerics::average)),
];

/// Integers: their number is less than 2^63, so that the sum fits.
#[derive(Default)]
struct Ints {
    count: i64,
    sum: i128,
}

macro_rules! steps {
    ($($ty:ident)*) => { $(impl Step<One<$ty>> for Ints {
        #[inline(always)]
        fn step(&mut self, value: <$ty as crate::Ty>::Value<'_>) -> Result<()> {
            self.count += 1;
            self.sum += i128::from(value);
            Ok(())
        }
    })* };
}

steps!(Int2 Int4 Int8);

impl Ints {
    /// In 64 bits, without a check.
    fn short(&self) -> Result<Option<i64>> {
        Ok((self.count > 0).then_some(self.sum as i64))
    }

    fn long(&self) -> Result<Option<Made>> {
        Ok((self.count > 0).then(|| Made::of(self.sum, 0)))
    }

    fn average(&self) -> Result<Option<Made>> {
        if self.count == 0 {
            return Ok(None);
        }
        average(Made::of(self.sum, 0), self.count).map(Some)
    }
}

impl State for Ints {
    fn save(&self, out: &mut Vec<u8>) {
        out.extend(self.count.to_le_bytes());
        out.extend(self.sum.to_le_bytes());
    }

    fn load(bytes: &[u8]) -> Ints {
        let [count, low, high] = super::words(bytes);
        let sum = i128::from(i64::from_le_bytes(high)) << 64 | i128::from(u64::from_le_bytes(low));
        Ints { count: i64::from_le_bytes(count), sum }
    }

    fn merge(&mut self, other: Ints) -> Result<()> {
        self.count += other.count;
        self.sum += other.sum;
        Ok(())
    }
}

/// Money: no sum under way may leave the range either.
#[derive(Default)]
struct Amounts {
    sum: Option<i64>,
}

impl Step<One<Int8>> for Amounts {
    #[inline(always)]
    fn step(&mut self, value: i64) -> Result<()> {
        let sum = self.sum.unwrap_or(0).checked_add(value);
        self.sum = Some(sum.ok_or_else(|| Error::new("22003", "money out of range"))?);
        Ok(())
    }
}

impl State for Amounts {
    fn save(&self, out: &mut Vec<u8>) {
        out.extend(self.sum.iter().flat_map(|sum| sum.to_le_bytes()));
    }

    fn load(bytes: &[u8]) -> Amounts {
        Amounts { sum: bytes.try_into().ok().map(i64::from_le_bytes) }
    }

    fn merge(&mut self, other: Amounts) -> Result<()> {
        other.sum.map_or(Ok(()), |sum| self.step(sum))
    }
}

/// The quotient of a sum and a number of rows.
fn average(sum: Made, count: i64) -> Result<Made> {
    if let Made::Small(small) = &sum
        && let Some(result) = small.checked_div(Small::from(count))
    {
        return Ok(Made::Small(result));
    }
    sum.numeric().div(&count.into()).map(Made::Large)
}

/// Floats of one precision.
#[derive(Default)]
struct Floats<F> {
    sum: Option<F>,
}

macro_rules! floats {
    ($($float:ident $ty:ident;)*) => { $(
        impl Step<One<$ty>> for Floats<$float> {
            #[inline(always)]
            fn step(&mut self, value: $float) -> Result<()> {
                let (sum, failed) = match self.sum {
                    Some(sum) => sum.plus(value),
                    None => (value, false),
                };
                self.sum = Some(sum);
                if failed { Err(overflow()) } else { Ok(()) }
            }
        }

        impl State for Floats<$float> {
            fn save(&self, out: &mut Vec<u8>) {
                out.extend(self.sum.iter().flat_map(|sum| sum.to_le_bytes()));
            }

            fn load(bytes: &[u8]) -> Floats<$float> {
                Floats { sum: bytes.try_into().ok().map($float::from_le_bytes) }
            }

            fn merge(&mut self, other: Floats<$float>) -> Result<()> {
                match other.sum {
                    Some(sum) => self.step(sum),
                    None => Ok(()),
                }
            }
        }
    )* };
}

floats! {
    f32 Float4;
    f64 Float8;
}

/// A sum of finite numerics: in 128 bits while it has few digits.
#[derive(Default)]
pub(super) struct Total {
    small: Option<Small>,
    large: Option<Box<Numeric>>,
}

impl Total {
    #[inline(always)]
    pub(super) fn add(&mut self, value: Small) {
        match self.small {
            Some(sum) => match sum.checked_add(value) {
                Some(sum) => self.small = Some(sum),
                None => {
                    self.add_large(&sum.into());
                    self.small = Some(value);
                }
            },
            None => self.small = Some(value),
        }
    }

    pub(super) fn add_large(&mut self, value: &Numeric) {
        self.large = Some(Box::new(match &self.large {
            Some(sum) => sum.plus_unchecked(value),
            None => value.clone(),
        }));
    }

    pub(super) fn numeric(&self) -> Numeric {
        let small = self.small.map_or_else(Numeric::zero, Numeric::from);
        match &self.large {
            Some(large) => large.plus_unchecked(&small),
            None => small,
        }
    }

    fn made(&self) -> Made {
        match (self.small, &self.large) {
            (Some(small), None) => Made::Small(small),
            _ => Made::Large(self.numeric()),
        }
    }

    /// Bytes of its digits.
    pub(super) fn size(&self) -> usize {
        self.large.as_ref().map_or(0, |large| large.size())
    }

    pub(super) fn save(&self, out: &mut Vec<u8>) {
        self.numeric().save(out);
    }

    pub(super) fn load(bytes: &[u8]) -> (Total, &[u8]) {
        let (sum, rest) = Numeric::restore(bytes);
        let total = match sum.to_small() {
            Some(small) => Total { small: Some(small), large: None },
            None => Total { small: None, large: Some(Box::new(sum)) },
        };
        (total, rest)
    }

    pub(super) fn merge(&mut self, other: Total) {
        if let Some(small) = other.small {
            self.add(small);
        }
        if let Some(large) = other.large {
            self.add_large(&large);
        }
    }
}

/// What is no number among the values of a group.
#[derive(Clone, Copy, Default)]
pub(super) struct Specials {
    nan: bool,
    infinite: bool,
    negative: bool,
}

impl Specials {
    /// Whether a value was one.
    pub(super) fn take(&mut self, value: &Numeric) -> bool {
        use onlap_pg::value::numeric::Class;
        match value.class() {
            Class::NaN => self.nan = true,
            Class::Infinity => self.infinite = true,
            Class::NegativeInfinity => self.negative = true,
            Class::Negative | Class::Positive => return false,
        }
        true
    }

    /// The sum, if there are any.
    fn sum(self) -> Option<Numeric> {
        match (self.nan, self.infinite, self.negative) {
            (false, false, false) => None,
            (true, _, _) | (_, true, true) => Some(Numeric::nan()),
            (_, _, negative) => Some(Numeric::infinity(negative)),
        }
    }

    pub(super) fn any(self) -> bool {
        self.nan || self.infinite || self.negative
    }

    pub(super) fn merge(&mut self, other: Specials) {
        self.nan |= other.nan;
        self.infinite |= other.infinite;
        self.negative |= other.negative;
    }

    pub(super) fn bits(self) -> u8 {
        u8::from(self.nan) | u8::from(self.infinite) << 1 | u8::from(self.negative) << 2
    }

    pub(super) fn of_bits(bits: u8) -> Specials {
        Specials { nan: bits & 1 > 0, infinite: bits & 2 > 0, negative: bits & 4 > 0 }
    }
}

#[derive(Default)]
struct Numerics {
    count: i64,
    total: Total,
    specials: Specials,
}

impl Step<One<Dec>> for Numerics {
    #[inline(always)]
    fn step(&mut self, value: Decimal<'_>) -> Result<()> {
        self.count += 1;
        match value {
            Decimal::Small(small) => self.total.add(small),
            Decimal::Large(bytes) => {
                let value = Numeric::load(bytes);
                if !self.specials.take(&value) {
                    self.total.add_large(&value);
                }
            }
        }
        Ok(())
    }
}

impl Numerics {
    fn sum(&self) -> Result<Option<Made>> {
        if self.count == 0 {
            return Ok(None);
        }
        match (self.specials.sum(), self.total.made()) {
            (Some(special), _) => Ok(Some(Made::Large(special))),
            (None, Made::Large(sum)) => sum.checked().map(|sum| Some(Made::Large(sum))),
            (None, small) => Ok(Some(small)),
        }
    }

    fn average(&self) -> Result<Option<Made>> {
        match (self.count, self.specials.sum()) {
            (0, _) => Ok(None),
            (_, Some(special)) => Ok(Some(Made::Large(special))),
            (count, None) => average(self.total.made(), count).map(Some),
        }
    }
}

impl State for Numerics {
    fn save(&self, out: &mut Vec<u8>) {
        out.extend(self.count.to_le_bytes());
        out.push(self.specials.bits());
        self.total.save(out);
    }

    fn load(bytes: &[u8]) -> Numerics {
        let [count] = super::words(bytes);
        let (total, _) = Total::load(&bytes[9..]);
        let specials = Specials::of_bits(bytes[8]);
        Numerics { count: i64::from_le_bytes(count), total, specials }
    }

    fn merge(&mut self, other: Numerics) -> Result<()> {
        self.count += other.count;
        self.total.merge(other.total);
        self.specials.merge(other.specials);
        Ok(())
    }

    fn size(&self) -> usize {
        self.total.size()
    }
}
