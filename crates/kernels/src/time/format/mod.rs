//! What do the templates of to_char, to_date and to_timestamp mean?
//!
//! [`template`] reads them, [`write`] writes moments and intervals by them, [`read`] reads texts by them and [`settle`] makes
//! moments of what was read. Month names are English: messages in other languages are not served.

mod names;
mod read;
mod scan;
mod settle;
mod template;
mod week;
mod write;

use onlap_pg::value::datetime::offset_and_name;
use onlap_pg::{Error, Result};

use super::parts::{from_local, in_range, is_finite};
use super::with_precision;
use crate::{Cx, Date, Entry, Interval, Null, Text, Timestamp, two};

use template::parse;
use write::Shown;

/// A text that is to be written takes at most so many bytes for a byte of its template.
const MOST_PER_BYTE: usize = 24;

fn written(shown: &Shown, template: &str, cx: &Cx<'_>) -> Result<Option<String>> {
    if template.is_empty() {
        return Ok(None);
    }
    cx.room(template.len().saturating_mul(MOST_PER_BYTE))?;
    write::write(shown, &parse(template)).map(Some)
}

fn of_timestamp(value: i64, template: &str, cx: &Cx<'_>) -> Result<Option<String>> {
    match is_finite(value) {
        true => written(&Shown::moment(value, 0, None), template, cx),
        false => Ok(None),
    }
}

fn of_timestamptz(value: i64, template: &str, cx: &Cx<'_>) -> Result<Option<String>> {
    if !is_finite(value) {
        return Ok(None);
    }
    let (east, name) = offset_and_name(cx.settings.zone, value);
    let local = value + i64::from(east) * 1_000_000;
    written(&Shown::moment(local, east, Some(name)), template, cx)
}

fn read(text: &str, template: &str) -> Result<settle::Read> {
    settle::settle(read::read(text, &parse(template))?, text)
}

fn to_date(text: &str, template: &str) -> Result<i32> {
    read(text, template)?
        .date()
        .ok_or_else(|| Error::new("22008", format!("date out of range: \"{text}\"")))
}

fn to_timestamp(text: &str, template: &str, cx: &Cx<'_>) -> Result<i64> {
    let read = read(text, template)?;
    let value = match read.east {
        Some(east) => {
            in_range(read.local().and_then(|l| l.checked_sub(i64::from(east) * 1_000_000)))?
        }
        None => from_local(read.local(), cx.settings)?,
    };
    Ok(with_precision(value, read.precision.unwrap_or(-1)))
}

/// Functions.
pub const ENTRIES: &[Entry] = &[
    ("to_char(timestamp,text)", |_| {
        two::<Timestamp, Text, Null<Text>>(|a, b, cx| of_timestamp(a, b, cx))
    }),
    ("to_char(timestamptz,text)", |_| {
        two::<Timestamp, Text, Null<Text>>(|a, b, cx| of_timestamptz(a, b, cx))
    }),
    ("to_char(interval,text)", |_| {
        two::<Interval, Text, Null<Text>>(|a, b, cx| written(&Shown::interval(a), b, cx))
    }),
    ("to_date(text,text)", |_| two::<Text, Text, Date>(|a, b, _| to_date(a, b))),
    ("to_timestamp(text,text)", |_| {
        two::<Text, Text, Timestamp>(|a, b, cx| to_timestamp(a, b, cx))
    }),
];
