//! Which moments are there from one to another, and which zones have names? (generate_series, pg_timezone_names.)

use onlap_pg::value::Settings;
use onlap_pg::value::datetime::zones;
use onlap_pg::value::interval::Interval as Span;
use onlap_pg::{Error, Result};

use super::shift::plus;
use crate::series::{Rows, SeriesEntry};
use crate::{Cx, Datum};

/// The moments of a series, as they are asked for.
struct Moments {
    next: Option<i64>,
    end: i64,
    step: Span,
    /// For steps on the clock of the session's zone.
    zone: Option<Settings>,
}

impl Iterator for Moments {
    type Item = Result<Vec<Datum<'static>>>;

    fn next(&mut self) -> Option<Self::Item> {
        let value = self.next.take()?;
        let rises = self.step.key() > 0;
        if if rises { value > self.end } else { value < self.end } {
            return None;
        }
        // A step beyond the last timestamp is an error before the row.
        match plus(value, self.step, self.zone.as_ref()) {
            Ok(next) => self.next = Some(next),
            Err(e) => return Some(Err(e)),
        }
        Some(Ok(vec![Datum::Int8(value)]))
    }
}

fn series(args: &[Datum<'_>], zone: Option<&Settings>) -> Result<Rows> {
    let [Datum::Int8(from), Datum::Int8(end), Datum::Bytes(step)] = args else {
        // A NULL among them: no rows.
        return Ok(Box::new(std::iter::empty()));
    };
    let step = Span::recv(step).expect("an interval has 16 bytes");
    if step.key() == 0 {
        return Err(Error::new("22023", "step size cannot equal zero"));
    }
    Ok(Box::new(Moments { next: Some(*from), end: *end, step, zone: zone.cloned() }))
}

/// An offset as an interval.
fn offset(east: i32) -> Datum<'static> {
    Datum::bytes(Span { months: 0, days: 0, time: i64::from(east) * 1_000_000 }.send())
}

/// Name, abbreviation, offset now and whether it is that of summer.
fn names(cx: &Cx<'_>) -> Rows {
    let now = cx.settings.now;
    let rows = zones(now).map(|zone| {
        let columns = [Datum::text(zone.name), Datum::text(zone.letters)];
        let [name, letters] = columns;
        Ok(vec![name, letters, offset(zone.east), Datum::Bool(zone.is_summer)])
    });
    Box::new(rows)
}

/// Functions that give sets.
pub const SERIES: &[SeriesEntry] = &[
    ("generate_series(timestamp,timestamp,interval)", |_| {
        Box::new(|args: &[Datum<'_>], _: &mut Cx<'_>| series(args, None))
    }),
    ("generate_series(timestamptz,timestamptz,interval)", |_| {
        Box::new(|args: &[Datum<'_>], cx: &mut Cx<'_>| series(args, Some(cx.settings)))
    }),
    ("pg_timezone_names()", |_| Box::new(|_: &[Datum<'_>], cx: &mut Cx<'_>| Ok(names(cx)))),
];
