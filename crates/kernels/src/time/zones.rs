//! What does a clock elsewhere show? AT TIME ZONE.

use onlap_pg::value::Settings;
use onlap_pg::value::datetime::{DAY_US, Place, find_place};
use onlap_pg::value::interval::Interval as Span;
use onlap_pg::{Error, Result};

use super::by_row::prepared;
use super::parts::{SECOND_US, in_range, is_finite};
use crate::{Entry, Interval, TimeTz, Timestamp, two};

/// What a text names, if it does.
type Zone = Result<Place>;

/// The offset that an interval is.
fn offset(zone: Span, settings: &Settings) -> Result<Place> {
    if zone.months != 0 || zone.days != 0 {
        let zone = zone.print(settings);
        let text = format!("interval time zone \"{zone}\" must not include months or days");
        return Err(Error::new("22023", text));
    }
    Ok(Place::Fixed((zone.time / SECOND_US) as i32))
}

/// What a clock there shows.
fn shown(value: i64, place: impl FnOnce() -> Result<Place>) -> Result<i64> {
    if !is_finite(value) {
        return Ok(value);
    }
    in_range(value.checked_add(i64::from(place()?.offset_at(value)) * SECOND_US))
}

/// The moment when a clock there shows this.
fn moment(local: i64, place: impl FnOnce() -> Result<Place>) -> Result<i64> {
    if !is_finite(local) {
        return Ok(local);
    }
    in_range(local.checked_sub(i64::from(place()?.local_offset(local)) * SECOND_US))
}

/// The same time of day with another offset: of a zone, the one that holds now.
fn moved((time, west): (i64, i32), place: Place, settings: &Settings) -> (i64, i32) {
    let east = place.offset_at(settings.now);
    let time = time + (i64::from(west) + i64::from(east)) * SECOND_US;
    (time.rem_euclid(DAY_US), east.wrapping_neg())
}

/// Functions.
pub const ENTRIES: &[Entry] = &[
    ("timezone(text,timestamptz)", |_| {
        prepared::<Zone, Timestamp, Timestamp>(
            0,
            |name, _| Ok(find_place(name)),
            |a, b, _| shown(b, || a.clone()),
        )
    }),
    ("timezone(text,timestamp)", |_| {
        prepared::<Zone, Timestamp, Timestamp>(
            0,
            |name, _| Ok(find_place(name)),
            |a, b, _| moment(b, || a.clone()),
        )
    }),
    ("timezone(text,timetz)", |_| {
        prepared::<Zone, TimeTz, TimeTz>(
            0,
            |name, _| Ok(find_place(name)),
            |a, b, cx| Ok(moved(b, a.clone()?, cx.settings)),
        )
    }),
    ("timezone(interval,timestamptz)", |_| {
        two::<Interval, Timestamp, Timestamp>(|a, b, cx| shown(b, || offset(a, cx.settings)))
    }),
    ("timezone(interval,timestamp)", |_| {
        two::<Interval, Timestamp, Timestamp>(|a, b, cx| moment(b, || offset(a, cx.settings)))
    }),
    ("timezone(interval,timetz)", |_| {
        two::<Interval, TimeTz, TimeTz>(|a, b, cx| {
            Ok(moved(b, offset(a, cx.settings)?, cx.settings))
        })
    }),
];
