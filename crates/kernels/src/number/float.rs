//! What do operators of floats give, and when is a result out of range?

use onlap_pg::Error;

use super::compare::Order;
use crate::{Entry, Float4, Float8, check2, map1, map2};

/// An operation and whether it left the range: an infinity out of finite numbers, or zero out of others.
pub(super) trait Float: Copy {
    fn plus(self, other: Self) -> (Self, bool);
    fn minus(self, other: Self) -> (Self, bool);
    fn times(self, other: Self) -> (Self, bool);
    fn by(self, other: Self) -> (Self, bool);
    /// Why a product or quotient failed.
    fn why(result: Self) -> Error;
}

/// "value out of range: overflow".
pub(super) fn overflow() -> Error {
    Error::new("22003", "value out of range: overflow")
}

/// "value out of range: underflow".
pub(super) fn underflow() -> Error {
    Error::new("22003", "value out of range: underflow")
}

pub(super) fn by_zero() -> Error {
    Error::new("22012", "division by zero")
}

macro_rules! floats {
    ($($float:ident)*) => { $(impl Float for $float {
        #[inline(always)]
        fn plus(self, other: $float) -> ($float, bool) {
            let sum = self + other;
            (sum, sum.is_infinite() & !self.is_infinite() & !other.is_infinite())
        }
        #[inline(always)]
        fn minus(self, other: $float) -> ($float, bool) {
            self.plus(-other)
        }
        #[inline(always)]
        fn times(self, other: $float) -> ($float, bool) {
            let product = self * other;
            let over = product.is_infinite() & !self.is_infinite() & !other.is_infinite();
            let under = (product == 0.0) & (self != 0.0) & (other != 0.0);
            (product, over | under)
        }
        #[inline(always)]
        fn by(self, other: $float) -> ($float, bool) {
            let quotient = self / other;
            let none = (other == 0.0) & !self.is_nan();
            let over = quotient.is_infinite() & !self.is_infinite();
            let under = (quotient == 0.0) & (self != 0.0) & !other.is_infinite();
            (quotient, none | over | under)
        }
        fn why(result: $float) -> Error {
            if result.is_infinite() { overflow() } else { underflow() }
        }
    })* };
}

floats!(f32 f64);

macro_rules! arithmetic {
    ($($prefix:literal $args:literal $a:ident $b:ident $r:ident $float:ident;)*) => { &[$(
        (concat!($prefix, "pl", $args), |_| check2::<$a, $b, $r, _>(
            |a, b| $float::from(a).plus($float::from(b)), |_, _| overflow())),
        (concat!($prefix, "mi", $args), |_| check2::<$a, $b, $r, _>(
            |a, b| $float::from(a).minus($float::from(b)), |_, _| overflow())),
        (concat!($prefix, "mul", $args), |_| check2::<$a, $b, $r, _>(
            |a, b| $float::from(a).times($float::from(b)),
            |a, b| $float::why($float::from(a) * $float::from(b)))),
        (concat!($prefix, "div", $args), |_| check2::<$a, $b, $r, _>(
            |a, b| $float::from(a).by($float::from(b)),
            |a, b| if b == 0.0 { by_zero() } else { $float::why($float::from(a) / $float::from(b)) })),
    )*] };
}

/// Sums, differences, products, quotients.
pub const ARITHMETIC: &[Entry] = arithmetic! {
    "float4" "(float4,float4)" Float4 Float4 Float4 f32;
    "float8" "(float8,float8)" Float8 Float8 Float8 f64;
    "float48" "(float4,float8)" Float4 Float8 Float8 f64;
    "float84" "(float8,float4)" Float8 Float4 Float8 f64;
};

macro_rules! signs {
    ($($name:literal $ty:ident $float:ident;)*) => { &[$(
        (concat!($name, "um(", $name, ")"), |_| map1::<$ty, $ty, _>(|a| -a)),
        (concat!($name, "up(", $name, ")"), |_| map1::<$ty, $ty, _>(|a| a)),
        (concat!($name, "abs(", $name, ")"), |_| map1::<$ty, $ty, _>($float::abs)),
        (concat!("abs(", $name, ")"), |_| map1::<$ty, $ty, _>($float::abs)),
        (concat!($name, "larger(", $name, ",", $name, ")"), |_| map2::<$ty, $ty, $ty, _>(
            |a, b| if $float::below(b, a) { a } else { b })),
        (concat!($name, "smaller(", $name, ",", $name, ")"), |_| map2::<$ty, $ty, $ty, _>(
            |a, b| if $float::below(a, b) { a } else { b })),
    )*] };
}

/// Signs and sizes.
pub const SIGNS: &[Entry] = signs! {
    "float4" Float4 f32;
    "float8" Float8 f64;
};
