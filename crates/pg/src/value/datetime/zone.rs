//! What is the offset of a zone at a moment, and which zones have a name?

use std::sync::LazyLock;

use chrono::offset::{LocalResult, Offset};
use chrono::{DateTime, NaiveDateTime, TimeZone};
use chrono_tz::{OffsetComponents, OffsetName, TZ_VARIANTS, Tz};

use super::{DAY_US, calendar};

/// Seconds from 1970 to 2000.
const EPOCH_S: i64 = 946_684_800;

/// PostgreSQL's default abbreviations, in order, their seconds east of UTC, and whether they mean summer time.
static ABBREVIATIONS: LazyLock<Vec<(&str, i32, bool)>> = LazyLock::new(|| {
    let lines = include_str!("abbreviations.tsv").lines();
    let fields = lines.filter_map(|line| line.split_once('\t'));
    let read = |(name, rest): (&'static str, &'static str)| {
        let (east, summer) = rest.split_once('\t').expect("three fields");
        (name, east.parse().expect("seconds"), summer == "t")
    };
    fields.map(read).collect()
});

/// The seconds east of UTC of an abbreviation in lower case, and whether it means summer time.
pub(super) fn abbreviation(word: &str) -> Option<(i32, bool)> {
    let at = ABBREVIATIONS.binary_search_by_key(&word, |(name, ..)| name).ok()?;
    let (_, east, summer) = ABBREVIATIONS[at];
    Some((east, summer))
}

/// A zone by its full name, whatever its case.
pub fn find_zone(name: &str) -> Option<Tz> {
    // As it is mostly written; a statement's settings are looked at each time.
    if let Ok(zone) = name.parse() {
        return Some(zone);
    }
    TZ_VARIANTS.iter().find(|zone| zone.name().eq_ignore_ascii_case(name)).copied()
}

/// Rules go on for ever, the tables until 2100: a later year is one between 2060 and 2087 that begins on the same
/// day of the week and is as long. The difference in days.
fn shift(days: i64) -> i64 {
    let (year, ..) = calendar::date(days);
    if year < 2090 {
        // Nothing is known before 1800; local mean time holds.
        return if year < 1000 { calendar::days(1000, 1, 1) - days } else { 0 };
    }
    let first = calendar::days(year, 1, 1);
    let kind = |year: i64| (calendar::weekday(calendar::days(year, 1, 1)), calendar::is_leap(year));
    let like = (2060..2088).find(|y| kind(*y) == kind(year)).unwrap_or(2060);
    calendar::days(like, 1, 1) - first
}

fn seconds(value: i64) -> i64 {
    let shifted = shift(value.div_euclid(DAY_US)) * 86_400;
    value.div_euclid(1_000_000) + shifted + EPOCH_S
}

type ZoneOffset = <Tz as TimeZone>::Offset;

/// Zones that are rules without a place never had local mean time: their standard time holds from the beginning.
fn ruled(zone: Tz) -> Option<(i32, &'static str)> {
    const HOUR: i32 = 3600;
    Some(match zone {
        Tz::PST8PDT => (-8 * HOUR, "PST"),
        Tz::MST7MDT => (-7 * HOUR, "MST"),
        Tz::CST6CDT => (-6 * HOUR, "CST"),
        Tz::EST5EDT => (-5 * HOUR, "EST"),
        Tz::WET => (0, "WET"),
        Tz::CET => (HOUR, "CET"),
        Tz::MET => (HOUR, "MET"),
        Tz::EET => (2 * HOUR, "EET"),
        _ => return None,
    })
}

/// Seconds east of UTC, and the letters.
fn known(zone: Tz, offset: &ZoneOffset) -> (i32, Option<String>) {
    let letters = offset.abbreviation();
    match ruled(zone).filter(|_| letters == Some("LMT")) {
        Some((east, letters)) => (east, Some(letters.to_owned())),
        None => (offset.fix().local_minus_utc(), letters.map(str::to_owned)),
    }
}

fn east(zone: Tz, offset: &ZoneOffset) -> i32 {
    let ruled = ruled(zone).filter(|_| offset.abbreviation() == Some("LMT"));
    ruled.map_or_else(|| offset.fix().local_minus_utc(), |(east, _)| east)
}

/// The offset, in seconds east of UTC, that holds at a moment.
pub fn offset_at(zone: Tz, utc: i64) -> i32 {
    let moment = DateTime::from_timestamp(seconds(utc), 0);
    moment.map_or(0, |m| east(zone, &zone.offset_from_utc_datetime(&m.naive_utc())))
}

/// A zone, as it is at a moment.
pub struct ZoneNow {
    /// Its full name.
    pub name: &'static str,
    /// The letters of its offset.
    pub letters: String,
    /// Seconds east of UTC.
    pub east: i32,
    /// Whether it is summer time.
    pub is_summer: bool,
}

/// All zones, as they are at a moment.
pub fn zones(utc: i64) -> impl Iterator<Item = ZoneNow> + Send + 'static {
    TZ_VARIANTS.iter().map(move |zone| {
        let (east, letters) = at(*zone, utc);
        let moment = DateTime::from_timestamp(seconds(utc), 0);
        let offset = moment.map(|m| zone.offset_from_utc_datetime(&m.naive_utc()));
        let is_summer = offset.is_some_and(|offset| !offset.dst_offset().is_zero());
        ZoneNow { name: zone.name(), letters, east, is_summer }
    })
}

/// Whether a zone has had one offset at all times.
pub(super) fn is_fixed(zone: Tz) -> bool {
    // Before there was standard time, in winter and in summer: only zones without history agree.
    let days =
        [(1500, 1), (2020, 1), (2020, 7)].map(|(year, month)| calendar::days(year, month, 1));
    let offsets = days.map(|day| offset_at(zone, day * DAY_US));
    offsets.iter().all(|offset| *offset == offsets[0])
}

/// The offset, in seconds east of UTC, and its name at a moment.
pub fn at(zone: Tz, utc: i64) -> (i32, String) {
    let Some(moment) = DateTime::from_timestamp(seconds(utc), 0) else { return (0, "UTC".into()) };
    let (east, letters) = known(zone, &zone.offset_from_utc_datetime(&moment.naive_utc()));
    (east, letters.unwrap_or_else(|| numeric_name(east)))
}

/// How the tz database names an offset that has no letters.
fn numeric_name(east: i32) -> String {
    let (hours, minutes) = (east.abs() / 3600, east.abs() / 60 % 60);
    let sign = if east < 0 { '-' } else { '+' };
    if minutes == 0 { format!("{sign}{hours:02}") } else { format!("{sign}{hours:02}{minutes:02}") }
}

/// The offset that holds at a local time: before a gap its first one, after an overlap its second.
pub fn local_offset(zone: Tz, local: i64) -> i32 {
    let naive = |seconds: i64| DateTime::from_timestamp(seconds, 0).map(|m| m.naive_utc());
    let Some(moment): Option<NaiveDateTime> = naive(seconds(local)) else { return 0 };
    match zone.offset_from_local_datetime(&moment) {
        LocalResult::Single(offset) | LocalResult::Ambiguous(_, offset) => east(zone, &offset),
        LocalResult::None => {
            let before = moment - chrono::TimeDelta::days(1);
            east(zone, &zone.offset_from_utc_datetime(&before))
        }
    }
}
