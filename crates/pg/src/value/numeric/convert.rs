//! How do numerics become integers and floats, and the other way round?

use super::{Class, Numeric};
use crate::value::float;
use crate::{Error, Result};

impl From<i64> for Numeric {
    fn from(value: i64) -> Numeric {
        let mut left = value.unsigned_abs();
        let mut digits = Vec::with_capacity(5);
        while left > 0 {
            digits.push((left % 10_000) as u16);
            left /= 10_000;
        }
        digits.reverse();
        Numeric::raw(value < 0, digits.len() as i32 - 1, digits, 0)
    }
}

impl Numeric {
    /// float8_numeric: fifteen significant digits.
    pub fn from_float8(value: f64) -> Numeric {
        Numeric::from_text(&float::print8(value, 0))
    }

    /// float4_numeric: six significant digits.
    pub fn from_float4(value: f32) -> Numeric {
        Numeric::from_text(&float::print4(value, 0))
    }

    /// From a text that this crate wrote.
    fn from_text(text: &str) -> Numeric {
        Numeric::parse(text).expect("what a float is written as is a numeric")
    }

    /// numeric_int2.
    pub fn to_int2(&self) -> Result<i16> {
        let value = self.to_int("smallint")?;
        i16::try_from(value).map_err(|_| no_fit("smallint"))
    }

    /// numeric_int4.
    pub fn to_int4(&self) -> Result<i32> {
        let value = self.to_int("integer")?;
        i32::try_from(value).map_err(|_| no_fit("integer"))
    }

    /// numeric_int8.
    pub fn to_int8(&self) -> Result<i64> {
        self.to_int("bigint")
    }

    /// Rounded half away from zero.
    fn to_int(&self, type_name: &str) -> Result<i64> {
        let refused =
            |what: &str| Error::new("0A000", format!("cannot convert {what} to {type_name}"));
        match self.class {
            Class::NaN => return Err(refused("NaN")),
            Class::Infinity | Class::NegativeInfinity => return Err(refused("infinity")),
            _ => {}
        }
        let whole = self.rounded(0);
        let mut value = 0_i64;
        for weight in (0..=whole.weight).rev() {
            let digit = i64::from(whole.digit(weight));
            value = value
                .checked_mul(10_000)
                .and_then(|v| v.checked_sub(digit))
                .ok_or_else(|| no_fit(type_name))?;
        }
        if self.is_negative() {
            Ok(value)
        } else {
            value.checked_neg().ok_or_else(|| no_fit(type_name))
        }
    }

    /// numeric_float8.
    pub fn to_float8(&self) -> Result<f64> {
        float::parse8(&self.to_string())
    }

    /// numeric_float4.
    pub fn to_float4(&self) -> Result<f32> {
        float::parse4(&self.to_string())
    }

    /// The nearest float, whatever its size: infinite where none is near, as numericvar_to_double_no_overflow.
    pub(super) fn approximate(&self) -> f64 {
        self.to_string().parse().unwrap_or(0.0)
    }
}

fn no_fit(type_name: &str) -> Error {
    Error::new("22003", format!("{type_name} out of range"))
}
