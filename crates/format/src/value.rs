//! What is one value of a row?
//!
//! [`Value`] is the row-at-a-time form that users see; vectors ([`crate::batch`]) are the form that
//! the engine works on.

mod codec;

pub(crate) use codec::{put_value, read_value};

/// A row: one value per column of the table, in the order of the schema.
pub type Row = Vec<Value>;

/// One value. Which variants a column takes is decided by its type: `Int` for bool's integers is
/// refused, `Int` for int2, int4 and int8 is checked against the type's range.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// SQL NULL
    Null,
    /// bool
    Bool(bool),
    /// int2, int4, int8
    Int(i64),
    /// float4, float8
    Float(f64),
    /// numeric
    Numeric(Numeric),
    /// text, varchar, char, json
    Text(String),
    /// bytea
    Bytes(Vec<u8>),
    /// uuid, most significant byte first
    Uuid([u8; 16]),
    /// date: days since 1970-01-01
    Date(i32),
    /// time: microseconds since midnight, 0 ..= 86,400,000,000
    Time(i64),
    /// timestamp and timestamptz: microseconds since 1970-01-01 (UTC)
    Timestamp(i64),
}

/// A decimal number of up to 38 digits: `mantissa / 10^scale`, scale 0 ..= 38, an infinity, or NaN.
/// Equality of the struct is identity (1.0 differs from 1.00); the order of values ignores scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Numeric {
    /// Signed digits; 1 or -1 for an infinity, ignored for NaN.
    pub mantissa: i128,
    /// Digits after the point; [`Numeric::NAN_SCALE`] marks NaN, [`Numeric::INFINITE_SCALE`] an infinity.
    pub scale: u8,
}

impl Numeric {
    /// Scale that marks NaN, which sorts above every number.
    pub const NAN_SCALE: u8 = u8::MAX;
    /// Not a number.
    pub const NAN: Numeric = Numeric { mantissa: 0, scale: Self::NAN_SCALE };
    /// Scale that marks an infinity, which sorts beyond every number; its sign is that of the mantissa.
    pub const INFINITE_SCALE: u8 = u8::MAX - 1;
    /// Above every number.
    pub const INFINITY: Numeric = Numeric { mantissa: 1, scale: Self::INFINITE_SCALE };
    /// Below every number.
    pub const NEGATIVE_INFINITY: Numeric = Numeric { mantissa: -1, scale: Self::INFINITE_SCALE };
}
