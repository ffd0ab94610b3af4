//! What becomes of a number in another type?
//!
//! Floats are rounded to integers with halves to even, numerics with halves away from zero.

use onlap_pg::Error;
use onlap_pg::value::float;

use super::float::{Float, overflow};
use crate::{Bool, Char, Entry, Float4, Float8, Int2, Int4, Int8, OidTy, Text, check1, map1, one};

/// "… out of range" of a type.
fn out_of_range(name: &str) -> Error {
    Error::new("22003", format!("{name} out of range"))
}

/// To a type that has a place for every value.
macro_rules! wider {
    ($($signature:literal $from:ident $to:ident $number:ident;)*) => { &[$(
        ($signature, |_| map1::<$from, $to, _>(|a| a as $number)),
    )*] };
}

/// Casts that always do.
pub const WIDER: &[Entry] = wider! {
    "int4(int2)" Int2 Int4 i32;
    "int8(int2)" Int2 Int8 i64;
    "int8(int4)" Int4 Int8 i64;
    "int8(oid)" OidTy Int8 i64;
    "float4(int2)" Int2 Float4 f32;
    "float4(int4)" Int4 Float4 f32;
    "float4(int8)" Int8 Float4 f32;
    "float8(int2)" Int2 Float8 f64;
    "float8(int4)" Int4 Float8 f64;
    "float8(int8)" Int8 Float8 f64;
    "float8(float4)" Float4 Float8 f64;
};

macro_rules! narrower {
    ($($signature:literal $from:ident $to:ident $number:ident $name:literal;)*) => { &[$(
        ($signature, |_| check1::<$from, $to, _>(
            |a| {
                let cut = a as $number;
                (cut, i64::from(cut) != i64::from(a))
            },
            |_| out_of_range($name),
        )),
    )*] };
}

/// Integers to narrower ones.
pub const NARROWER: &[Entry] = narrower! {
    "int2(int4)" Int4 Int2 i16 "smallint";
    "int2(int8)" Int8 Int2 i16 "smallint";
    "int4(int8)" Int8 Int4 i32 "integer";
    "oid(int8)" Int8 OidTy u32 "OID";
};

macro_rules! rounded {
    ($($signature:literal $from:ident $to:ident $number:ident $name:literal;)*) => { &[$(
        ($signature, |_| check1::<$from, $to, _>(
            |a| {
                let least = i64::from($number::MIN);
                let rounded = float::to_int(f64::from(a), least, i64::from($number::MAX));
                (rounded.unwrap_or(0) as $number, rounded.is_none())
            },
            |_| out_of_range($name),
        )),
    )*] };
}

/// Floats to integers.
pub const ROUNDED: &[Entry] = rounded! {
    "int2(float4)" Float4 Int2 i16 "smallint";
    "int2(float8)" Float8 Int2 i16 "smallint";
    "int4(float4)" Float4 Int4 i32 "integer";
    "int4(float8)" Float8 Int4 i32 "integer";
    "int8(float4)" Float4 Int8 i64 "bigint";
    "int8(float8)" Float8 Int8 i64 "bigint";
};

/// The rest.
pub const OTHERS: &[Entry] = &[
    ("float4(float8)", |_| {
        check1::<Float8, Float4, _>(
            |a| {
                let cut = a as f32;
                let over = cut.is_infinite() & !a.is_infinite();
                (cut, over | ((cut == 0.0) & (a != 0.0)))
            },
            |a| if (a as f32).is_infinite() { overflow() } else { f64::why(0.0) },
        )
    }),
    ("int4(char)", |_| map1::<Char, Int4, _>(|a| i32::from(a as i8))),
    ("bool(int4)", |_| one::<Int4, Bool>(|a, _| Ok(a != 0))),
    ("int4(bool)", |_| one::<Bool, Int4>(|a, _| Ok(i32::from(a)))),
    ("text(bool)", |_| one::<Bool, Text>(|a, _| Ok(if a { "true" } else { "false" }.to_owned()))),
    ("boolsend(bool)", |_| one::<Bool, crate::Bytes>(|a, _| Ok(vec![u8::from(a)]))),
    ("char(int4)", |_| {
        check1::<Int4, Char, _>(
            |a| (a as u8, i32::from(a as i8) != a),
            |_| Error::new("22003", "\"char\" out of range"),
        )
    }),
    ("int2send(int2)", |_| one::<Int2, crate::Bytes>(|a, _| Ok(a.to_be_bytes().to_vec()))),
    ("int4send(int4)", |_| one::<Int4, crate::Bytes>(|a, _| Ok(a.to_be_bytes().to_vec()))),
    ("int8send(int8)", |_| one::<Int8, crate::Bytes>(|a, _| Ok(a.to_be_bytes().to_vec()))),
    ("oidsend(oid)", |_| one::<OidTy, crate::Bytes>(|a, _| Ok(a.to_be_bytes().to_vec()))),
    ("cash_send(money)", |_| one::<Int8, crate::Bytes>(|a, _| Ok(a.to_be_bytes().to_vec()))),
    ("float4send(float4)", |_| one::<Float4, crate::Bytes>(|a, _| Ok(a.to_be_bytes().to_vec()))),
    ("float8send(float8)", |_| one::<Float8, crate::Bytes>(|a, _| Ok(a.to_be_bytes().to_vec()))),
];
