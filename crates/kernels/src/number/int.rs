//! What do operators and functions of integers give?

use onlap_pg::{Error, Result};

use crate::{Entry, Int2, Int4, Int8, check1, check2, map1, map2, two};

/// Operations whose second result says that the first does not fit.
trait Int: Copy + PartialEq {
    const ZERO: Self;
    const NAME: &'static str;
    fn plus(self, other: Self) -> (Self, bool);
    fn minus(self, other: Self) -> (Self, bool);
    fn times(self, other: Self) -> (Self, bool);
    /// Zero as divisor is a failure, too.
    fn by(self, other: Self) -> (Self, bool);
    fn rest(self, other: Self) -> (Self, bool);
    fn negated(self) -> (Self, bool);
    fn size(self) -> (Self, bool);
}

macro_rules! ints {
    ($($int:ident $wide:ident $name:literal;)*) => { $(impl Int for $int {
        const ZERO: $int = 0;
        const NAME: &'static str = $name;
        #[inline(always)]
        fn plus(self, other: $int) -> ($int, bool) {
            let sum = self.wrapping_add(other);
            (sum, (self ^ sum) & (other ^ sum) < 0)
        }
        #[inline(always)]
        fn minus(self, other: $int) -> ($int, bool) {
            let difference = self.wrapping_sub(other);
            (difference, (self ^ other) & (self ^ difference) < 0)
        }
        #[inline(always)]
        fn times(self, other: $int) -> ($int, bool) {
            let product = $wide::from(self) * $wide::from(other);
            (product as $int, product != $wide::from(product as $int))
        }
        #[inline(always)]
        fn by(self, other: $int) -> ($int, bool) {
            match other {
                0 => (0, true),
                -1 => self.negated(),
                _ => (self / other, false),
            }
        }
        #[inline(always)]
        fn rest(self, other: $int) -> ($int, bool) {
            match other {
                0 => (0, true),
                -1 => (0, false),
                _ => (self % other, false),
            }
        }
        #[inline(always)]
        fn negated(self) -> ($int, bool) {
            (self.wrapping_neg(), self == $int::MIN)
        }
        #[inline(always)]
        fn size(self) -> ($int, bool) {
            (self.wrapping_abs(), self == $int::MIN)
        }
    })* };
}

ints! {
    i16 i32 "smallint";
    i32 i64 "integer";
    i64 i128 "bigint";
}

fn out_of_range<T: Int>() -> Error {
    Error::new("22003", format!("{} out of range", T::NAME))
}

/// Why a quotient or remainder is none.
fn no_quotient<T: Int>(divisor: T) -> Error {
    if divisor == T::ZERO { Error::new("22012", "division by zero") } else { out_of_range::<T>() }
}

/// + - * / of two types in the type of the result.
macro_rules! arithmetic {
    ($($prefix:literal $args:literal $a:ident $b:ident $r:ident $int:ident;)*) => { &[$(
        (concat!($prefix, "pl", $args), |_| check2::<$a, $b, $r, _>(
            |a, b| $int::from(a).plus($int::from(b)), |_, _| out_of_range::<$int>())),
        (concat!($prefix, "mi", $args), |_| check2::<$a, $b, $r, _>(
            |a, b| $int::from(a).minus($int::from(b)), |_, _| out_of_range::<$int>())),
        (concat!($prefix, "mul", $args), |_| check2::<$a, $b, $r, _>(
            |a, b| $int::from(a).times($int::from(b)), |_, _| out_of_range::<$int>())),
        (concat!($prefix, "div", $args), |_| check2::<$a, $b, $r, _>(
            |a, b| $int::from(a).by($int::from(b)), |_, b| no_quotient($int::from(b)))),
    )*] };
}

/// Sums, differences, products, quotients.
pub const ARITHMETIC: &[Entry] = arithmetic! {
    "int2" "(int2,int2)" Int2 Int2 Int2 i16;
    "int4" "(int4,int4)" Int4 Int4 Int4 i32;
    "int8" "(int8,int8)" Int8 Int8 Int8 i64;
    "int24" "(int2,int4)" Int2 Int4 Int4 i32;
    "int42" "(int4,int2)" Int4 Int2 Int4 i32;
    "int28" "(int2,int8)" Int2 Int8 Int8 i64;
    "int82" "(int8,int2)" Int8 Int2 Int8 i64;
    "int48" "(int4,int8)" Int4 Int8 Int8 i64;
    "int84" "(int8,int4)" Int8 Int4 Int8 i64;
};

/// Of one type: remainders, signs, bits. Shifts take the low bits of the distance, as processors do.
macro_rules! of_one_type {
    ($($name:literal $ty:ident $int:ident $work:ident;)*) => { &[$(
        (concat!($name, "mod(", $name, ",", $name, ")"), |_| check2::<$ty, $ty, $ty, _>(
            $int::rest, |_, b| no_quotient(b))),
        (concat!("mod(", $name, ",", $name, ")"), |_| check2::<$ty, $ty, $ty, _>(
            $int::rest, |_, b| no_quotient(b))),
        (concat!($name, "um(", $name, ")"), |_| check1::<$ty, $ty, _>(
            $int::negated, |_| out_of_range::<$int>())),
        (concat!($name, "up(", $name, ")"), |_| map1::<$ty, $ty, _>(|a| a)),
        (concat!($name, "abs(", $name, ")"), |_| check1::<$ty, $ty, _>(
            $int::size, |_| out_of_range::<$int>())),
        (concat!("abs(", $name, ")"), |_| check1::<$ty, $ty, _>(
            $int::size, |_| out_of_range::<$int>())),
        (concat!($name, "and(", $name, ",", $name, ")"), |_| map2::<$ty, $ty, $ty, _>(|a, b| a & b)),
        (concat!($name, "or(", $name, ",", $name, ")"), |_| map2::<$ty, $ty, $ty, _>(|a, b| a | b)),
        (concat!($name, "xor(", $name, ",", $name, ")"), |_| map2::<$ty, $ty, $ty, _>(|a, b| a ^ b)),
        (concat!($name, "not(", $name, ")"), |_| map1::<$ty, $ty, _>(|a| !a)),
        (concat!($name, "shl(", $name, ",int4)"), |_| map2::<$ty, Int4, $ty, _>(
            |a, b| $work::from(a).wrapping_shl(b as u32) as $int)),
        (concat!($name, "shr(", $name, ",int4)"), |_| map2::<$ty, Int4, $ty, _>(
            |a, b| $work::from(a).wrapping_shr(b as u32) as $int)),
        (concat!($name, "larger(", $name, ",", $name, ")"), |_| map2::<$ty, $ty, $ty, _>($int::max)),
        (concat!($name, "smaller(", $name, ",", $name, ")"), |_| map2::<$ty, $ty, $ty, _>($int::min)),
    )*] };
}

/// Of one type.
pub const ONE_TYPE: &[Entry] = of_one_type! {
    "int2" Int2 i16 i32;
    "int4" Int4 i32 i32;
    "int8" Int8 i64 i64;
};

/// The rest.
pub const OTHERS: &[Entry] = &[
    ("gcd(int4,int4)", |_| {
        two::<Int4, Int4, Int4>(|a, b, _| narrow(divisor(i64::from(a), i64::from(b))))
    }),
    ("gcd(int8,int8)", |_| two::<Int8, Int8, Int8>(|a, b, _| fit(divisor(a, b)))),
    ("lcm(int4,int4)", |_| {
        two::<Int4, Int4, Int4>(|a, b, _| narrow(multiple(i64::from(a), i64::from(b))))
    }),
    ("lcm(int8,int8)", |_| two::<Int8, Int8, Int8>(|a, b, _| fit(multiple(a, b)))),
    ("int4inc(int4)", |_| check1::<Int4, Int4, _>(|a| a.plus(1), |_| out_of_range::<i32>())),
    ("int8inc(int8)", |_| check1::<Int8, Int8, _>(|a| a.plus(1), |_| out_of_range::<i64>())),
    ("int8dec(int8)", |_| check1::<Int8, Int8, _>(|a| a.minus(1), |_| out_of_range::<i64>())),
];

/// Euclid's algorithm.
fn divisor(a: i64, b: i64) -> u128 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    u128::from(a)
}

fn multiple(a: i64, b: i64) -> u128 {
    if a == 0 || b == 0 {
        return 0;
    }
    u128::from(a.unsigned_abs()) / divisor(a, b) * u128::from(b.unsigned_abs())
}

fn narrow(value: u128) -> Result<i32> {
    i32::try_from(value).map_err(|_| out_of_range::<i32>())
}

fn fit(value: u128) -> Result<i64> {
    i64::try_from(value).map_err(|_| out_of_range::<i64>())
}
