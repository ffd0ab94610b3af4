//! What do the templates of to_char, to_date and to_timestamp mean?
//!
//! `template` reads them, `write` writes moments and intervals by them, `read` reads texts by them and `settle` makes
//! moments of what was read. Month names are English: messages in other languages are not served.

mod names;
mod read;
mod scan;
mod settle;
pub(crate) mod standard;
mod template;
mod week;
mod write;

use onlap_pg::value::datetime::offset_and_name;
use onlap_pg::{Error, Result};

use super::by_row::prepared;
use super::parts::{from_local, in_range, is_finite};
use super::with_precision;
use crate::{Cx, Date, Entry, Interval, Null, Text, Timestamp};

use template::{Part, parse};
use write::Shown;

/// A part of a template is written in at most so many bytes.
const MOST_PER_PART: usize = 24;

/// What a template has.
struct Template {
    parts: Vec<Part>,
    /// An empty text; others may have no parts, too.
    is_empty: bool,
}

impl Template {
    fn new(text: &str, cx: &Cx<'_>) -> Result<Template> {
        cx.room(text.len().saturating_mul(2 * size_of::<Part>()))?;
        Ok(Template { parts: parse(text)?, is_empty: text.is_empty() })
    }
}

fn written(shown: &Shown, template: &Template, cx: &Cx<'_>) -> Result<Option<String>> {
    if template.is_empty {
        return Ok(None);
    }
    cx.room(template.parts.len().saturating_mul(MOST_PER_PART))?;
    write::write(shown, &template.parts).map(Some)
}

fn of_timestamp(value: i64, template: &Template, cx: &Cx<'_>) -> Result<Option<String>> {
    match is_finite(value) {
        true => written(&Shown::moment(value, 0, None), template, cx),
        false => Ok(None),
    }
}

fn of_timestamptz(value: i64, template: &Template, cx: &Cx<'_>) -> Result<Option<String>> {
    if !is_finite(value) {
        return Ok(None);
    }
    let (east, name) = offset_and_name(cx.settings.zone, value);
    let local = value + i64::from(east) * 1_000_000;
    written(&Shown::moment(local, east, Some(name)), template, cx)
}

fn read(text: &str, template: &Template) -> Result<settle::Read> {
    settle::settle(read::read(text, &template.parts)?, text)
}

fn to_date(text: &str, template: &Template) -> Result<i32> {
    read(text, template)?
        .date()
        .ok_or_else(|| Error::new("22008", format!("date out of range: \"{text}\"")))
}

fn to_timestamp(text: &str, template: &Template, cx: &Cx<'_>) -> Result<i64> {
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
        prepared::<Template, Timestamp, Null<Text>>(1, Template::new, |t, a, cx| {
            of_timestamp(a, t, cx)
        })
    }),
    ("to_char(timestamptz,text)", |_| {
        prepared::<Template, Timestamp, Null<Text>>(1, Template::new, |t, a, cx| {
            of_timestamptz(a, t, cx)
        })
    }),
    ("to_char(interval,text)", |_| {
        prepared::<Template, Interval, Null<Text>>(1, Template::new, |t, a, cx| {
            written(&Shown::interval(a), t, cx)
        })
    }),
    ("to_date(text,text)", |_| {
        prepared::<Template, Text, Date>(1, Template::new, |t, a, _| to_date(a, t))
    }),
    ("to_timestamp(text,text)", |_| {
        prepared::<Template, Text, Timestamp>(1, Template::new, |t, a, cx| to_timestamp(a, t, cx))
    }),
];
