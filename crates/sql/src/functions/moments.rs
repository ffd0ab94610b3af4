//! Which functions make moments, and which of PostgreSQL's are not there?

use chrono::NaiveDate;

use super::rowwise::Rowwise;
use crate::error::{Result, SqlError};
use crate::system::rows::Datum;
use crate::types::{names, oid};

/// All of them.
pub fn all() -> Vec<Rowwise> {
    let several = |_: &[Datum]| {
        Err(SqlError::unsupported("regexp_matches with flags, or outside of SELECT's list")
            .hint("Use regexp_match, or regexp_matches(text, pattern) as a column."))
    };
    let no_number = |_: &[Datum]| {
        Err(SqlError::unsupported("to_number()")
            .hint("Take away what is no digit, and cast: replace(x, ',', '')::numeric."))
    };
    vec![
        Rowwise::strict("make_date", oid::DATE, |a| Ok(days(a)?.into())),
        Rowwise::strict("make_timestamp", oid::TIMESTAMP, make_timestamp),
        Rowwise::strict("regexp_matches", names::array_of(oid::TEXT), several),
        Rowwise::strict("to_number", oid::NUMERIC, no_number),
    ]
}

fn field(arguments: &[Datum], at: usize) -> Option<i64> {
    arguments.get(at).and_then(Datum::int)
}

/// Days since 1970 of a year, a month and a day; years before Christ are negative.
fn days(a: &[Datum]) -> Result<i64> {
    let fields = (field(a, 0), field(a, 1), field(a, 2));
    let (Some(year), Some(month), Some(day)) = fields else {
        return Err(SqlError::new("42883", "there is no such function for these types"));
    };
    let date = || {
        let year = if year < 0 { year + 1 } else { year };
        let (year, month) = (i32::try_from(year).ok()?, u32::try_from(month).ok()?);
        NaiveDate::from_ymd_opt(year, month, u32::try_from(day).ok()?)
    };
    let date = date().filter(|_| year != 0).ok_or_else(|| {
        let text = format!("date field value out of range: {year}-{month:02}-{day:02}");
        SqlError::new("22008", text)
    })?;
    Ok(date.signed_duration_since(NaiveDate::default()).num_days())
}

fn make_timestamp(a: &[Datum]) -> Result<Datum> {
    let seconds = match a.get(5) {
        Some(Datum::Float(f)) => Some(*f),
        Some(other) => other.text().parse().ok(),
        None => None,
    };
    let (Some(hour), Some(minute), Some(seconds)) = (field(a, 3), field(a, 4), seconds) else {
        return Err(SqlError::new("42883", "there is no such function for these types"));
    };
    let fits =
        (0..24).contains(&hour) && (0..60).contains(&minute) && (0.0..=60.0).contains(&seconds);
    if !fits {
        let text = format!("time field value out of range: {hour}:{minute:02}:{seconds}");
        return Err(SqlError::new("22008", text));
    }
    let time = (hour * 3600 + minute * 60) * 1_000_000 + (seconds * 1e6).round() as i64;
    Ok((days(a)? * 86_400_000_000 + time).into())
}
