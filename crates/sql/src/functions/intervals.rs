//! How are intervals read, made, multiplied and compared?
//!
//! An interval is months, days and microseconds apart. For comparisons a month has 30 days and a day 24
//! hours, as in PostgreSQL.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Decimal128Array, IntervalMonthDayNanoArray};
use datafusion::arrow::datatypes::{DataType, IntervalMonthDayNano, IntervalUnit};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::interval_text;
use crate::error::{Result as SqlResult, SqlError};
use crate::plan::guard;
use crate::plan::scan::external;
use crate::types::Cell;

/// Months, days, microseconds.
pub type Parts = (i32, i32, i64);

const DAY_US: i64 = 86_400_000_000;

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Reads a text.
    Read,
    /// `interval * number`
    Times,
    /// `interval / number`
    Over,
    /// A number by which intervals are compared: microseconds.
    Span,
    /// `age(timestamp, timestamp)`
    Age,
    /// `make_interval(years, months, weeks, days, hours, mins, secs)`
    Make,
    /// `date_trunc(unit, interval)`
    Trunc,
}

const NAMES: &[(Kind, &str)] = &[
    (Kind::Read, "onlap_interval"),
    (Kind::Times, "onlap_interval_times"),
    (Kind::Over, "onlap_interval_over"),
    (Kind::Span, "onlap_interval_span"),
    (Kind::Age, "onlap_age"),
    (Kind::Make, "onlap_make_interval"),
    (Kind::Trunc, "onlap_trunc_interval"),
];

/// All of them.
pub fn all() -> Vec<Arc<ScalarUDF>> {
    NAMES.iter().map(|(kind, _)| function(*kind)).collect()
}

/// A call of one of them.
pub fn call(kind: Kind, arguments: Vec<Expr>) -> Expr {
    function(kind).call(arguments)
}

fn function(kind: Kind) -> Arc<ScalarUDF> {
    let name = NAMES.iter().find(|(k, _)| *k == kind).expect("all have a name").1;
    let signature = Signature::variadic_any(Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(Intervals { name, kind, signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Intervals {
    name: &'static str,
    kind: Kind,
    signature: Signature,
}

impl ScalarUDFImpl for Intervals {
    fn name(&self) -> &str {
        self.name
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        guard::go_on()?;
        let wanted = match self.kind {
            Kind::Read | Kind::Span => 1,
            Kind::Make => 7,
            Kind::Times | Kind::Over | Kind::Age | Kind::Trunc => 2,
        };
        match self.kind {
            _ if types.len() != wanted => plan_err!("Invalid function: {} of {types:?}", self.name),
            Kind::Span => Ok(DataType::Decimal128(38, 0)),
            _ => Ok(DataType::Interval(IntervalUnit::MonthDayNano)),
        }
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let constant = args.args.iter().all(|a| matches!(a, ColumnarValue::Scalar(_)));
        let n = if constant { 1 } else { args.number_rows };
        let columns = args.args.iter().map(|a| a.to_array(n)).collect::<Result<Vec<ArrayRef>>>()?;
        let cells = |row| columns.iter().map(|c| Cell::of_array(c, row)).collect::<Vec<_>>();
        let made: ArrayRef = match self.kind {
            Kind::Span => {
                let spans = (0..n).map(|row| match cells(row).as_slice() {
                    [Cell::Interval(m, d, us)] => Some(span((*m, *d, *us))),
                    _ => None,
                });
                let spans = spans.collect::<Decimal128Array>();
                Arc::new(spans.with_precision_and_scale(38, 0)?)
            }
            kind => {
                let mut made = Vec::with_capacity(n);
                for row in 0..n {
                    let parts = one(kind, &cells(row)).map_err(external)?;
                    made.push(match parts {
                        Some((m, d, us)) => {
                            let ns = us.checked_mul(1000).ok_or_else(|| external(too_large()))?;
                            Some(IntervalMonthDayNano::new(m, d, ns))
                        }
                        None => None,
                    });
                }
                Arc::new(IntervalMonthDayNanoArray::from(made))
            }
        };
        Ok(match constant {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&made, 0)?),
            false => ColumnarValue::Array(made),
        })
    }
}

fn too_large() -> SqlError {
    SqlError::new("22008", "interval out of range")
}

fn number(cell: &Cell<'_>) -> Option<f64> {
    match cell {
        Cell::Int(v) => Some(*v as f64),
        Cell::Float(f) => Some(*f),
        Cell::Numeric(n) => Some(n.mantissa as f64 / 10f64.powi(n.scale.into())),
        _ => None,
    }
}

/// The interval of a row; `None` for NULL.
fn one(kind: Kind, cells: &[Cell<'_>]) -> SqlResult<Option<Parts>> {
    Ok(match (kind, cells) {
        (Kind::Read, [Cell::Text(text)]) => Some(interval_text::read(text)?),
        (Kind::Times | Kind::Over, [Cell::Interval(m, d, us), by]) => match number(by) {
            Some(0.0) if kind == Kind::Over => {
                return Err(SqlError::new("22012", "division by zero"));
            }
            Some(by) => {
                let by = if kind == Kind::Over { 1.0 / by } else { by };
                Some(times((*m, *d, *us), by)?)
            }
            None => None,
        },
        (Kind::Age, [Cell::Timestamp(a), Cell::Timestamp(b)]) => age(*a, *b),
        (Kind::Make, cells) => {
            let mut n = [0.0f64; 7];
            for (n, cell) in n.iter_mut().zip(cells) {
                let Some(v) = number(cell) else { return Ok(None) };
                *n = v;
            }
            let us = n[4] * 3.6e9 + n[5] * 6e7 + n[6] * 1e6;
            Some((whole(n[0] * 12.0 + n[1])?, whole(n[2] * 7.0 + n[3])?, long(us)?))
        }
        (Kind::Trunc, [Cell::Text(unit), Cell::Interval(m, d, us)]) => {
            Some(truncated(unit, (*m, *d, *us))?)
        }
        _ => None,
    })
}

fn whole(v: f64) -> SqlResult<i32> {
    let v = v.trunc();
    let fits = v.is_finite() && v >= f64::from(i32::MIN) && v <= f64::from(i32::MAX);
    if fits { Ok(v as i32) } else { Err(too_large()) }
}

fn long(v: f64) -> SqlResult<i64> {
    let v = v.round();
    if v.is_finite() && v.abs() < 9.2e18 { Ok(v as i64) } else { Err(too_large()) }
}

/// What is left of a month goes to days, and what is left of a day to the time; rounded to microseconds.
pub fn times((months, days, us): Parts, by: f64) -> SqlResult<Parts> {
    let round = |v: f64| (v * 1e6).round() / 1e6;
    let (m, d) = (f64::from(months) * by, f64::from(days) * by);
    let rest_days = round((m - m.trunc()) * 30.0);
    let rest_seconds = round((d - d.trunc() + rest_days - rest_days.trunc()) * 86_400.0);
    let days = whole(d)?.checked_add(whole(rest_days)?).ok_or_else(too_large)?;
    Ok((whole(m)?, days, long(us as f64 * by + rest_seconds * 1e6)?))
}

/// The same the other way; `None` where that is out of range.
pub fn negative((months, days, us): Parts) -> Option<Parts> {
    Some((months.checked_neg()?, days.checked_neg()?, us.checked_neg()?))
}

fn span((months, days, us): Parts) -> i128 {
    (i128::from(months) * 30 + i128::from(days)) * i128::from(DAY_US) + i128::from(us)
}

/// Years, months and days between two moments, as a calendar counts them.
fn age(a: i64, b: i64) -> Option<Parts> {
    use chrono::{DateTime, Datelike, Days, Months};
    if a < b {
        return age_up(b, a).and_then(negative);
    }
    fn age_up(a: i64, b: i64) -> Option<Parts> {
        let (later, earlier) =
            (DateTime::from_timestamp_micros(a)?, DateTime::from_timestamp_micros(b)?);
        let mut months =
            (later.year() - earlier.year()) * 12 + later.month() as i32 - earlier.month() as i32;
        let mut days = later.day() as i32 - earlier.day() as i32;
        let mut us = a.rem_euclid(DAY_US) - b.rem_euclid(DAY_US);
        if us < 0 {
            us += DAY_US;
            days -= 1;
        }
        if days < 0 {
            // The days of the month in which the earlier moment lies.
            let first = earlier.date_naive().with_day(1)?;
            let last = first.checked_add_months(Months::new(1))?.checked_sub_days(Days::new(1))?;
            days += last.day() as i32;
            months -= 1;
        }
        Some((months, days, us))
    }
    age_up(a, b)
}

fn truncated(unit: &str, (months, days, us): Parts) -> SqlResult<Parts> {
    let down = |us: i64, unit: i64| us / unit * unit;
    Ok(match &*unit.to_lowercase() {
        "microsecond" | "microseconds" => (months, days, us),
        "millisecond" | "milliseconds" => (months, days, down(us, 1000)),
        "second" => (months, days, down(us, 1_000_000)),
        "minute" => (months, days, down(us, 60_000_000)),
        "hour" => (months, days, down(us, 3_600_000_000)),
        "day" => (months, days, 0),
        "month" => (months, 0, 0),
        "quarter" => (months / 3 * 3, 0, 0),
        "year" => (months / 12 * 12, 0, 0),
        "decade" => (months / 120 * 120, 0, 0),
        "century" => (months / 1200 * 1200, 0, 0),
        "millennium" => (months / 12_000 * 12_000, 0, 0),
        "week" => return Err(SqlError::unsupported("date_trunc of an interval to weeks")),
        _ => {
            let text = format!("unit \"{unit}\" not recognized for type interval");
            return Err(SqlError::new("22023", text));
        }
    })
}
