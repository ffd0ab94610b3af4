//! How are dates and times read and written?
//!
//! A date is days from 2000-01-01, a timestamp microseconds from its midnight (UTC where it has a zone), both with
//! -infinity and infinity at the ends of their integers; a time is microseconds from midnight. Keys are the
//! values. `split` makes fields of a text, `decode` gives them meaning, `zone` knows offsets, `print` writes.

mod alone;
pub mod calendar;
mod decode;
mod iso;
mod numbers;
mod place;
mod print;
mod session;
pub(crate) mod span;
mod split;
mod words;
mod zone;

pub use place::{Place, displacement, find_place};
pub use session::{Zone, find_zone, local_offset, offset_and_name, offset_at};
pub use zone::{ZoneNow, zones};

use super::{Settings, fixed};
use crate::{Error, Result};
use decode::{Decoded, Moment};

/// Microseconds of a day.
pub const DAY_US: i64 = 86_400_000_000;
/// The first timestamp: 4714-11-24 BC.
pub const MIN_TIMESTAMP: i64 = -211_813_488_000_000_000;
/// After the last timestamp: 294277-01-01.
pub const END_TIMESTAMP: i64 = 9_223_371_331_200_000_000;
/// The first date: 4714-11-24 BC.
pub const MIN_DATE: i32 = -2_451_545;
/// After the last date: 5874898-01-01.
pub const END_DATE: i32 = 2_145_031_949;

fn overflow(type_name: &str, text: &str) -> Error {
    Error::new("22008", format!("{type_name} out of range: \"{text}\""))
}

/// date_in.
pub fn parse_date(text: &str, settings: &Settings) -> Result<i32> {
    let days = match decode::decode(text, "date", settings)? {
        Decoded::Infinity(negative) => return Ok(if negative { i32::MIN } else { i32::MAX }),
        Decoded::Epoch => calendar::days(1970, 1, 1),
        Decoded::Moment(moment) => moment.days,
    };
    if !(i64::from(MIN_DATE)..i64::from(END_DATE)).contains(&days) {
        return Err(overflow("date", text));
    }
    Ok(days as i32)
}

/// timestamp_in, without a modifier. A zone in the text is read and has no effect.
pub fn parse_timestamp(text: &str, settings: &Settings) -> Result<i64> {
    let value = match decode::decode(text, "timestamp", settings)? {
        Decoded::Infinity(negative) => return Ok(if negative { i64::MIN } else { i64::MAX }),
        Decoded::Epoch => Some(calendar::days(1970, 1, 1) * DAY_US),
        Decoded::Moment(moment) => local(&moment),
    };
    in_range(value).ok_or_else(|| overflow("timestamp", text))
}

/// timestamptz_in, without a modifier.
pub fn parse_timestamptz(text: &str, settings: &Settings) -> Result<i64> {
    let value = match decode::decode(text, "timestamp with time zone", settings)? {
        Decoded::Infinity(negative) => return Ok(if negative { i64::MIN } else { i64::MAX }),
        Decoded::Epoch => Some(calendar::days(1970, 1, 1) * DAY_US),
        Decoded::Moment(moment) => local(&moment).and_then(|local| {
            let east = match (moment.offset, moment.zone) {
                (Some(east), _) => east,
                (None, zone) => local_offset(zone.unwrap_or(settings.zone), local),
            };
            local.checked_sub(i64::from(east) * 1_000_000)
        }),
    };
    in_range(value).ok_or_else(|| overflow("timestamp", text))
}

/// time_in, without a modifier.
pub fn parse_time(text: &str, settings: &Settings) -> Result<i64> {
    Ok(decode::decode_time(text, "time", settings)?.0)
}

/// timetz_in, without a modifier: the time, and its offset in seconds east of UTC.
pub(super) fn parse_timetz(text: &str, settings: &Settings) -> Result<(i64, i32)> {
    decode::decode_time(text, "time with time zone", settings)
}

/// Today's date in the session's zone.
pub fn today(settings: &Settings) -> i64 {
    let east = i64::from(offset_at(settings.zone, settings.now)) * 1_000_000;
    (settings.now + east).div_euclid(DAY_US)
}

fn local(moment: &Moment) -> Option<i64> {
    moment.days.checked_mul(DAY_US)?.checked_add(moment.time)
}

fn in_range(value: Option<i64>) -> Option<i64> {
    value.filter(|value| (MIN_TIMESTAMP..END_TIMESTAMP).contains(value))
}

/// date_out.
pub fn print_date(value: i32, settings: &Settings) -> String {
    match value {
        i32::MIN => "-infinity".to_owned(),
        i32::MAX => "infinity".to_owned(),
        days => print::date(i64::from(days), settings),
    }
}

/// timestamp_out.
pub fn print_timestamp(value: i64, settings: &Settings) -> String {
    match value {
        i64::MIN => "-infinity".to_owned(),
        i64::MAX => "infinity".to_owned(),
        value => print::timestamp(value, None, settings),
    }
}

/// timestamptz_out.
pub fn print_timestamptz(value: i64, settings: &Settings) -> String {
    match value {
        i64::MIN => "-infinity".to_owned(),
        i64::MAX => "infinity".to_owned(),
        value => {
            let (east, name) = offset_and_name(settings.zone, value);
            print::timestamp(value + i64::from(east) * 1_000_000, Some((east, name)), settings)
        }
    }
}

/// time_out.
pub fn print_time(value: i64) -> String {
    let mut out = String::new();
    print::clock(value, &mut out);
    out
}

/// timetz_out; the offset is in seconds east of UTC.
pub(super) fn print_timetz(time: i64, east: i32) -> String {
    let mut out = print_time(time);
    print::offset(east, &mut out);
    out
}

/// date_recv.
pub fn recv_date(bytes: &[u8]) -> Result<i32> {
    let days = i32::from_be_bytes(fixed(bytes)?);
    if matches!(days, i32::MIN | i32::MAX) || (MIN_DATE..END_DATE).contains(&days) {
        return Ok(days);
    }
    Err(Error::new("22008", "date out of range"))
}

/// timestamp_recv and timestamptz_recv.
pub fn recv_timestamp(bytes: &[u8]) -> Result<i64> {
    let value = i64::from_be_bytes(fixed(bytes)?);
    if matches!(value, i64::MIN | i64::MAX) || in_range(Some(value)).is_some() {
        return Ok(value);
    }
    Err(Error::new("22008", "timestamp out of range"))
}

/// time_recv.
pub fn recv_time(bytes: &[u8]) -> Result<i64> {
    let value = i64::from_be_bytes(fixed(bytes)?);
    if (0..=DAY_US).contains(&value) {
        return Ok(value);
    }
    Err(Error::new("22008", "time out of range"))
}
