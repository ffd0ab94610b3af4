//! Which digits does a numeric of a query's answer show?
//!
//! A column of a plan has one number of digits behind the point, a numeric of PostgreSQL has its own. What a
//! query gives is therefore computed a second time, by the functions here, over numbers as text
//! (`LargeUtf8` stands for that, see [`crate::types`]). Their scales are those of [`onlap::Numeric`].

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, LargeStringBuilder};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    Volatility,
};
use onlap::{DataType as Engine, Numeric, Value, convert};

use crate::error::SqlError;
use crate::plan::guard;
use crate::plan::scan::external;
use crate::types::{Cell, PgType, oid, text_value};

/// What is calculated with numbers that bring their digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exact {
    /// The number itself.
    Number,
    /// `a + b`
    Add,
    /// `a - b`
    Subtract,
    /// `a * b`
    Multiply,
    /// `a / b`
    Divide,
    /// `a % b`
    Remainder,
    /// `round(a, n)`
    Round,
    /// `trunc(a, n)`
    Truncate,
    /// `ceil(a)`
    Ceil,
    /// `floor(a)`
    Floor,
    /// `abs(a)`
    Abs,
    /// `sqrt(a)`
    Sqrt,
}

const NAMES: [&str; 12] = [
    "number",
    "add",
    "subtract",
    "multiply",
    "divide",
    "remainder",
    "round",
    "truncate",
    "ceil",
    "floor",
    "abs",
    "sqrt",
];

impl Exact {
    /// As the planner has it.
    pub fn udf(self) -> Arc<ScalarUDF> {
        let kinds = vec![TypeSignature::Any(1), TypeSignature::Any(2)];
        let signature = Signature::one_of(kinds, Volatility::Immutable);
        let name = format!("onlap_numeric_{}", NAMES[self as usize]);
        Arc::new(ScalarUDF::new_from_impl(Calculated { exact: self, name, signature }))
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Calculated {
    exact: Exact,
    name: String,
    signature: Signature,
}

impl ScalarUDFImpl for Calculated {
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        Ok(crate::functions::names::short(self.name(), args))
    }
    fn name(&self) -> &str {
        &self.name
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        guard::go_on()?;
        Ok(DataType::LargeUtf8)
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let constant = args.args.iter().all(|a| matches!(a, ColumnarValue::Scalar(_)));
        let n = if constant { 1 } else { args.number_rows };
        let columns: Vec<ArrayRef> =
            args.args.iter().map(|a| a.to_array(n)).collect::<Result<_>>()?;
        let mut out = LargeStringBuilder::new();
        let mut text = String::new();
        for row in 0..n {
            let number = |column: &ArrayRef| numeric(&Cell::of_array(column, row));
            let values = columns.iter().map(number).collect::<Result<Option<Vec<_>>, _>>();
            match values.map_err(external)? {
                Some(values) => {
                    text.clear();
                    let result = calculate(self.exact, &values).map_err(external)?;
                    let result = Value::Numeric(result);
                    convert::format_text(Engine::Numeric(None), &result, &mut text);
                    out.append_value(&text);
                }
                None => out.append_null(),
            }
        }
        let array: ArrayRef = Arc::new(out.finish());
        if constant {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?));
        }
        Ok(ColumnarValue::Array(array))
    }
}

/// A number of any type; `None` for NULL.
fn numeric(cell: &Cell<'_>) -> crate::error::Result<Option<Numeric>> {
    let by_text = |text: &str| match text_value(PgType::new(oid::NUMERIC), text.trim())? {
        Value::Numeric(n) => Ok(Some(n)),
        _ => Ok(None),
    };
    match cell {
        Cell::Int(v) => Ok(Some(Numeric::from(*v))),
        Cell::Numeric(n) => Ok(Some(*n)),
        Cell::Float(f) => by_text(&f.to_string()),
        Cell::Text(s) => by_text(s),
        _ => Ok(None),
    }
}

fn calculate(exact: Exact, values: &[Numeric]) -> crate::error::Result<Numeric> {
    let overflow = || SqlError::new("22003", "value overflows numeric format");
    let a = values[0];
    let b = values.get(1).copied().unwrap_or(Numeric { mantissa: 0, scale: 0 });
    let digits = i32::try_from(b.mantissa.clamp(-100, 100)).unwrap_or(0);
    let divides = matches!(exact, Exact::Divide | Exact::Remainder);
    if divides && b.mantissa == 0 && !b.is_nan() && !a.is_nan() {
        return Err(SqlError::new("22012", "division by zero"));
    }
    if exact == Exact::Sqrt && a.mantissa < 0 {
        let text = "cannot take square root of a negative number";
        return Err(SqlError::new("2201F", text));
    }
    let result = match exact {
        Exact::Number => Some(a),
        Exact::Add => a.checked_add(b),
        Exact::Subtract => a.checked_sub(b),
        Exact::Multiply => a.checked_mul(b),
        Exact::Divide => a.checked_div(b),
        Exact::Remainder => a.checked_rem(b),
        Exact::Round => round(a, digits),
        Exact::Truncate => truncate(a, digits),
        Exact::Floor => truncate(a, 0).and_then(|whole| match whole.compare(&a).is_gt() {
            true => whole.checked_sub(Numeric::from(1)),
            false => Some(whole),
        }),
        Exact::Ceil => truncate(a, 0).and_then(|whole| match whole.compare(&a).is_lt() {
            true => whole.checked_add(Numeric::from(1)),
            false => Some(whole),
        }),
        Exact::Abs => Some(Numeric { mantissa: a.mantissa.abs(), ..a }),
        Exact::Sqrt => sqrt(a),
    };
    result.ok_or_else(overflow)
}

/// With so many digits behind the point, or zeros before it.
fn round(a: Numeric, digits: i32) -> Option<Numeric> {
    if a.is_nan() {
        return Some(a);
    }
    match u8::try_from(digits) {
        Ok(scale) => a.rescale(scale),
        Err(_) => {
            let zeros = digits.unsigned_abs();
            let shifted = u8::try_from(u32::from(a.scale) + zeros).ok()?;
            let whole = Numeric { mantissa: a.mantissa, scale: shifted }.rescale(0)?;
            let power = 10i128.checked_pow(zeros);
            let mantissa = match (whole.mantissa, power) {
                (0, _) => 0,
                (whole, power) => whole.checked_mul(power?)?,
            };
            Some(Numeric { mantissa, scale: 0 }).filter(Numeric::is_valid)
        }
    }
}

/// As [`round`], towards zero.
fn truncate(a: Numeric, digits: i32) -> Option<Numeric> {
    let drop = i32::from(a.scale) - digits;
    if a.is_nan() || drop <= 0 {
        return round(a, digits);
    }
    let left = match 10i128.checked_pow(drop.unsigned_abs()) {
        Some(power) => a.mantissa / power,
        None => 0,
    };
    match u8::try_from(digits) {
        Ok(scale) => Some(Numeric { mantissa: left, scale }),
        Err(_) => {
            let power = 10i128.checked_pow(digits.unsigned_abs());
            let mantissa = if left == 0 { 0 } else { left.checked_mul(power?)? };
            Some(Numeric { mantissa, scale: 0 })
        }
    }
}

/// PostgreSQL's sqrt_var: 16 significant digits, and no fewer than the argument has; fewer where they
/// would not fit.
fn sqrt(a: Numeric) -> Option<Numeric> {
    if a.is_nan() {
        return Some(a);
    }
    // Digits of the root before the point, by the first group of four digits of the argument.
    let exponent = if a.mantissa == 0 { 0 } else { a.digits() as i32 - 1 - i32::from(a.scale) };
    let weight = exponent.div_euclid(4) * 2 + 1;
    let mut scale = (16 - weight).max(i32::from(a.scale)).clamp(0, 38);
    loop {
        let lifted = 2 * (scale + 1) - i32::from(a.scale);
        let power = u32::try_from(lifted).ok().and_then(|lifted| 10u128.checked_pow(lifted));
        let square = power.and_then(|power| a.mantissa.unsigned_abs().checked_mul(power));
        if let Some(square) = square {
            // One digit more than is kept, for rounding.
            let root = i128::try_from(square.isqrt()).ok()?;
            return Numeric { mantissa: root, scale: u8::try_from(scale + 1).ok()? }
                .rescale(u8::try_from(scale).ok()?);
        }
        scale = scale.checked_sub(1).filter(|s| *s >= 0)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(exact: Exact, values: &[&str]) -> String {
        let numbers: Vec<Numeric> = values
            .iter()
            .map(|v| numeric(&Cell::Text(v)).expect("a number").expect("not NULL"))
            .collect();
        let result = calculate(exact, &numbers).expect("it fits");
        let mut text = String::new();
        convert::format_text(Engine::Numeric(None), &Value::Numeric(result), &mut text);
        text
    }

    #[test]
    fn digits_are_those_of_postgresql() {
        assert_eq!(of(Exact::Divide, &["3", "2"]), "1.5000000000000000");
        assert_eq!(of(Exact::Divide, &["1", "1"]), "1.00000000000000000000");
        assert_eq!(of(Exact::Divide, &["24691", "2"]), "12345.5000000000000000");
        assert_eq!(of(Exact::Multiply, &["1.50", "2.0"]), "3.000");
        assert_eq!(of(Exact::Round, &["2.567", "2"]), "2.57");
        assert_eq!(of(Exact::Round, &["1250", "-2"]), "1300");
        assert_eq!(of(Exact::Truncate, &["-2.567", "1"]), "-2.5");
        assert_eq!(of(Exact::Truncate, &["1299", "-2"]), "1200");
        assert_eq!(of(Exact::Floor, &["-2.1"]), "-3");
        assert_eq!(of(Exact::Ceil, &["2.1"]), "3");
        assert_eq!(of(Exact::Sqrt, &["2"]), "1.414213562373095");
    }

    #[test]
    fn a_division_by_zero_is_an_error() {
        let zero = Numeric { mantissa: 0, scale: 2 };
        let failed = calculate(Exact::Divide, &[Numeric::from(1), zero]);
        assert_eq!(failed.expect_err("no such number").state(), "22012");
    }
}
