//! Which of two numbers is larger, and which are equal?
//!
//! Floats: -0 is 0, NaN is equal to itself and larger than everything else.

use crate::{Bool, Entry, Float4, Float8, Int2, Int4, Int8, OidTy, one, test2, two};

/// The six comparisons of two types by functions of the values.
macro_rules! six {
    ($($prefix:literal $args:literal $a:ident $b:ident $wide:ident;)*) => { &[$(
        (concat!($prefix, "eq", $args), |_| test2::<$a, $b, _>(|a, b| $wide::same($wide::from(a), $wide::from(b)))),
        (concat!($prefix, "ne", $args), |_| test2::<$a, $b, _>(|a, b| !$wide::same($wide::from(a), $wide::from(b)))),
        (concat!($prefix, "lt", $args), |_| test2::<$a, $b, _>(|a, b| $wide::below($wide::from(a), $wide::from(b)))),
        (concat!($prefix, "le", $args), |_| test2::<$a, $b, _>(|a, b| !$wide::below($wide::from(b), $wide::from(a)))),
        (concat!($prefix, "gt", $args), |_| test2::<$a, $b, _>(|a, b| $wide::below($wide::from(b), $wide::from(a)))),
        (concat!($prefix, "ge", $args), |_| test2::<$a, $b, _>(|a, b| !$wide::below($wide::from(a), $wide::from(b)))),
    )*] };
}

/// PostgreSQL's equality and order.
pub(super) trait Order: Copy {
    fn same(a: Self, b: Self) -> bool;
    fn below(a: Self, b: Self) -> bool;
}

macro_rules! ints {
    ($($int:ident)*) => { $(impl Order for $int {
        #[inline(always)]
        fn same(a: $int, b: $int) -> bool {
            a == b
        }
        #[inline(always)]
        fn below(a: $int, b: $int) -> bool {
            a < b
        }
    })* };
}

macro_rules! floats {
    ($($float:ident)*) => { $(impl Order for $float {
        #[inline(always)]
        fn same(a: $float, b: $float) -> bool {
            (a == b) | (a.is_nan() & b.is_nan())
        }
        #[inline(always)]
        fn below(a: $float, b: $float) -> bool {
            (a < b) | (!a.is_nan() & b.is_nan())
        }
    })* };
}

ints!(i16 i32 i64 u32);
floats!(f32 f64);

/// Numbers that lie in columns as they are.
pub const NUMBERS: &[Entry] = six! {
    "int2" "(int2,int2)" Int2 Int2 i16;
    "int4" "(int4,int4)" Int4 Int4 i32;
    "int8" "(int8,int8)" Int8 Int8 i64;
    "int24" "(int2,int4)" Int2 Int4 i32;
    "int42" "(int4,int2)" Int4 Int2 i32;
    "int28" "(int2,int8)" Int2 Int8 i64;
    "int82" "(int8,int2)" Int8 Int2 i64;
    "int48" "(int4,int8)" Int4 Int8 i64;
    "int84" "(int8,int4)" Int8 Int4 i64;
    "oid" "(oid,oid)" OidTy OidTy u32;
    "cash_" "(money,money)" Int8 Int8 i64;
    "float4" "(float4,float4)" Float4 Float4 f32;
    "float8" "(float8,float8)" Float8 Float8 f64;
    "float48" "(float4,float8)" Float4 Float8 f64;
    "float84" "(float8,float4)" Float8 Float4 f64;
};

/// Numbers of transactions and commands, which have no order.
pub const UNORDERED: &[Entry] = &[
    ("xideq(xid,xid)", |_| test2::<OidTy, OidTy, _>(|a, b| a == b)),
    ("xidneq(xid,xid)", |_| test2::<OidTy, OidTy, _>(|a, b| a != b)),
    ("xideqint4(xid,int4)", |_| test2::<OidTy, Int4, _>(|a, b| a == b as u32)),
    ("xidneqint4(xid,int4)", |_| test2::<OidTy, Int4, _>(|a, b| a != b as u32)),
    ("cideq(cid,cid)", |_| test2::<OidTy, OidTy, _>(|a, b| a == b)),
    ("xid(xid8)", |_| one::<Int8, OidTy>(|a, _| Ok(a as u32))),
];

/// Booleans: false is below true.
pub const BOOLEANS: &[Entry] = &[
    ("booleq(bool,bool)", |_| two::<Bool, Bool, Bool>(|a, b, _| Ok(a == b))),
    ("boolne(bool,bool)", |_| two::<Bool, Bool, Bool>(|a, b, _| Ok(a != b))),
    ("boollt(bool,bool)", |_| two::<Bool, Bool, Bool>(|a, b, _| Ok(!a & b))),
    ("boolle(bool,bool)", |_| two::<Bool, Bool, Bool>(|a, b, _| Ok(a <= b))),
    ("boolgt(bool,bool)", |_| two::<Bool, Bool, Bool>(|a, b, _| Ok(a & !b))),
    ("boolge(bool,bool)", |_| two::<Bool, Bool, Bool>(|a, b, _| Ok(a >= b))),
    ("booland_statefunc(bool,bool)", |_| two::<Bool, Bool, Bool>(|a, b, _| Ok(a & b))),
    ("boolor_statefunc(bool,bool)", |_| two::<Bool, Bool, Bool>(|a, b, _| Ok(a | b))),
];
