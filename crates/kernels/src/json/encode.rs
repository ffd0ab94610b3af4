//! How do values of any type become json and jsonb?
//!
//! Thread safety: pure functions.

use std::borrow::Cow;

use onlap_pg::catalog::{Catalog, Kind as TypeKind, oids};
use onlap_pg::value::numeric::Numeric;
use onlap_pg::value::{DateStyle, Settings, datetime};
use onlap_pg::{Error, Oid, Result};

use super::form::Encoder;
use super::{read, write};
use crate::array::text::{element_repr, nested};
use crate::array::{Array, Record};
use crate::extension::hstore;
use crate::misc::growth::fits;
use crate::misc::rows::{bytes, text};
use crate::{Cx, Datum};

/// What a type is to JSON.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bool,
    Number,
    Date,
    Timestamp,
    TimestampTz,
    Json,
    Jsonb,
    /// What is cast to json.
    Pairs,
    Array(Oid),
    Row,
    Other,
}

fn kind(catalog: &Catalog, oid: Oid) -> Kind {
    let base = catalog.base_type(oid);
    match base {
        16 => Kind::Bool,
        20 | 21 | 23 | 700 | 701 | 1700 => Kind::Number,
        1082 => Kind::Date,
        1114 => Kind::Timestamp,
        1184 => Kind::TimestampTz,
        114 => Kind::Json,
        3802 => Kind::Jsonb,
        2249 => Kind::Row,
        oids::HSTORE => Kind::Pairs,
        _ => match catalog.element(base) {
            Some(element) => Kind::Array(element),
            None if catalog.get_type(base).is_some_and(|t| t.kind == TypeKind::Composite) => {
                Kind::Row
            }
            None => Kind::Other,
        },
    }
}

/// A scalar as the text that stands between quotes: dates and timestamps as XML has them.
pub(crate) fn shown(cx: &mut Cx<'_>, oid: Oid, value: &Datum<'_>) -> Result<String> {
    let iso = |settings: &Settings| Settings { date_style: DateStyle::Iso, ..settings.clone() };
    Ok(match (kind(cx.catalog, oid), value) {
        (Kind::Bool, Datum::Bool(value)) => if *value { "true" } else { "false" }.into(),
        (Kind::Date, Datum::Int4(value)) => datetime::print_date(*value, &iso(cx.settings)),
        (Kind::Timestamp, Datum::Int8(value)) => {
            datetime::print_timestamp(*value, &iso(cx.settings)).replacen(' ', "T", 1)
        }
        (Kind::TimestampTz, Datum::Int8(value)) => {
            let text = datetime::print_timestamptz(*value, &iso(cx.settings));
            with_minutes(&text.replacen(' ', "T", 1))
        }
        (_, value) => {
            let mut out = String::new();
            crate::output(cx, oid, value, &mut out)?;
            out
        }
    })
}

/// A zone of hours alone gets its minutes.
fn with_minutes(text: &str) -> String {
    let (moment, era) = match text.strip_suffix(" BC") {
        Some(moment) => (moment, " BC"),
        None => (text, ""),
    };
    let zone = moment.rfind(['+', '-']).filter(|at| moment[..*at].contains('T'));
    match zone {
        Some(at) if moment.len() - at == 3 => format!("{moment}:00{era}"),
        _ => text.to_owned(),
    }
}

/// Whether a text is a number of JSON.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.starts_with(|c: char| c.is_ascii_digit()) && read::check(text).is_ok()
}

/// The text of a key.
///
/// # Errors
/// `22023`: it is no scalar.
pub(crate) fn key_text(cx: &mut Cx<'_>, oid: Oid, value: &Datum<'_>) -> Result<String> {
    match kind(cx.catalog, oid) {
        Kind::Json | Kind::Jsonb | Kind::Array(_) | Kind::Row => {
            let message = "key value must be scalar, not array, composite, or json";
            Err(Error::new("22023", message))
        }
        _ => shown(cx, oid, value),
    }
}

/// Appends a value as json; lines of the outermost array or row are broken if `pretty`.
pub(crate) fn put_json(
    cx: &mut Cx<'_>,
    oid: Oid,
    value: &Datum<'_>,
    pretty: bool,
    out: &mut String,
) -> Result<()> {
    fits(out.len().saturating_add(value.size()))?;
    if value.is_null() {
        out.push_str("null");
        return Ok(());
    }
    match kind(cx.catalog, oid) {
        Kind::Json => out.push_str(text(value)),
        Kind::Jsonb => write::print(bytes(value), out)?,
        Kind::Pairs => out.push_str(&hstore::json(bytes(value), false, cx)?),
        Kind::Array(element) => array_json(cx, element, bytes(value), pretty, out)?,
        Kind::Row => row_json(cx, bytes(value), pretty, out)?,
        Kind::Bool => out.push_str(&shown(cx, oid, value)?),
        Kind::Number => match shown(cx, oid, value)? {
            number if is_number(&number) => out.push_str(&number),
            other => write::quote(&other, out)?,
        },
        _ => write::quote(&shown(cx, oid, value)?, out)?,
    }
    Ok(())
}

fn separator(pretty: bool) -> &'static str {
    if pretty { ",\n " } else { "," }
}

fn array_json(
    cx: &mut Cx<'_>,
    element: Oid,
    bytes: &[u8],
    pretty: bool,
    out: &mut String,
) -> Result<()> {
    let array = Array::load(bytes, element_repr(cx, element)?);
    if array.is_empty() {
        out.push_str("[]");
        return Ok(());
    }
    let dims = array.dims();
    let mut write = |at: usize, out: &mut String| -> Result<()> {
        if at.is_multiple_of(1024) {
            cx.go_on()?;
        }
        put_json(cx, element, &array.get(at), false, out)
    };
    if !pretty {
        return nested(&dims, &mut 0, ['[', ',', ']'], out, &mut write);
    }
    let mut at = 0;
    out.push('[');
    for n in 0..dims[0].length {
        out.push_str(if n > 0 { separator(true) } else { "" });
        nested(&dims[1..], &mut at, ['[', ',', ']'], out, &mut write)?;
    }
    out.push(']');
    Ok(())
}

fn row_json(cx: &mut Cx<'_>, bytes: &[u8], pretty: bool, out: &mut String) -> Result<()> {
    let record = Record::load(bytes);
    out.push('{');
    for (at, (name, (oid, value))) in fields(cx, &record).into_iter().enumerate() {
        out.push_str(if at > 0 { separator(pretty) } else { "" });
        write::quote(&name, out)?;
        out.push(':');
        put_json(cx, oid, &value, false, out)?;
    }
    out.push('}');
    Ok(())
}

fn fields<'a>(cx: &Cx<'_>, record: &Record<'a>) -> Vec<(Cow<'a, str>, (Oid, Datum<'a>))> {
    record.names().into_iter().zip(record.fields(cx.catalog)).collect()
}

/// Appends a value as jsonb.
pub(crate) fn put_jsonb(
    cx: &mut Cx<'_>,
    oid: Oid,
    value: &Datum<'_>,
    out: &mut Encoder,
) -> Result<()> {
    if value.is_null() {
        return out.null();
    }
    match kind(cx.catalog, oid) {
        Kind::Json => write::put_text(text(value), out, cx),
        Kind::Jsonb => out.raw(bytes(value)),
        Kind::Pairs => out.raw(&hstore::jsonb(bytes(value), false)?),
        Kind::Array(element) => {
            let array = Array::load(bytes(value), element_repr(cx, element)?);
            let dims: Vec<usize> = array.dims().iter().map(|dim| dim.length as usize).collect();
            if dims.is_empty() {
                out.begin_array();
                return out.end();
            }
            array_jsonb(cx, element, &array, &dims, &mut 0, out)
        }
        Kind::Row => {
            out.begin_object();
            for (name, (oid, value)) in fields(cx, &Record::load(bytes(value))) {
                out.key(&name)?;
                put_jsonb(cx, oid, &value, out)?;
            }
            out.end()
        }
        Kind::Bool => out.bool(matches!(value, Datum::Bool(true))),
        Kind::Number => match shown(cx, oid, value)? {
            number if is_number(&number) => out.number(&Numeric::parse(&number)?),
            other => out.text(&other),
        },
        _ => out.text(&shown(cx, oid, value)?),
    }
}

fn array_jsonb(
    cx: &mut Cx<'_>,
    element: Oid,
    array: &Array<'_>,
    dims: &[usize],
    at: &mut usize,
    out: &mut Encoder,
) -> Result<()> {
    let Some((length, inner)) = dims.split_first() else {
        *at += 1;
        return put_jsonb(cx, element, &array.get(*at - 1), out);
    };
    out.begin_array();
    for n in 0..*length {
        if n % 1024 == 0 {
            cx.go_on()?;
        }
        array_jsonb(cx, element, array, inner, at, out)?;
    }
    out.end()
}
