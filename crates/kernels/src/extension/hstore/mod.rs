//! What do functions of hstore give?
//!
//! A set of keys with values, all of them texts. How it lies in a column: [`form`]. Thread safety: pure functions.

mod form;
mod make;
mod text;

use crate::array::{Array, Builder, Dim, empty};
use crate::json::form::Encoder;
use crate::json::write;
use crate::misc::rows::{bytes, strict, text as text_of};
use crate::series::{Rows, SeriesEntry};
use crate::text::compare::{bools, six};
use crate::{Bool, Bytes, Cx, Datum, Entry, Int4, Kernel, Null, Repr, Text, one, two};
use onlap_pg::Result;
use onlap_pg::value::numeric::Numeric;

use form::{Pair, find, pairs, store, stored};
pub(crate) use form::{key, print, recv};
pub(crate) use text::parse;

/// Functions.
pub const ENTRIES: &[Entry] = &[
    ("fetchval(hstore,text)", |_| {
        two::<Bytes, Text, Null<Text>>(|hs, key, _| {
            Ok(find(&pairs(hs), key).and_then(|pair| pair.1.map(String::from)))
        })
    }),
    ("isexists(hstore,text)", |_| exists()),
    ("exist(hstore,text)", |_| exists()),
    ("isdefined(hstore,text)", |_| defined()),
    ("defined(hstore,text)", |_| defined()),
    ("exists_any(hstore,_text)", |_| has::<false>()),
    ("exists_all(hstore,_text)", |_| has::<true>()),
    ("slice_array(hstore,_text)", |types| strict(types, |args, _| slice_array(args))),
    ("slice(hstore,_text)", |_| two::<Bytes, Bytes, Bytes>(|hs, keys, _| Ok(slice(hs, keys)))),
    ("delete(hstore,text)", |_| {
        two::<Bytes, Text, Bytes>(|hs, key, _| Ok(kept(hs, |pair| pair.0 != key)))
    }),
    ("delete(hstore,_text)", |_| two::<Bytes, Bytes, Bytes>(|hs, keys, _| Ok(without(hs, keys)))),
    ("delete(hstore,hstore)", |_| {
        two::<Bytes, Bytes, Bytes>(|hs, other, _| {
            let other = pairs(other);
            Ok(kept(hs, |pair| find(&other, pair.0) != Some(*pair)))
        })
    }),
    ("hs_concat(hstore,hstore)", |_| {
        two::<Bytes, Bytes, Bytes>(|a, b, cx| {
            cx.room(a.len() + b.len())?;
            // Of two with one key that of the right side counts.
            Ok(store(pairs(b).into_iter().chain(pairs(a)).collect()))
        })
    }),
    ("hs_contains(hstore,hstore)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(contains(a, b)))),
    ("hs_contained(hstore,hstore)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(contains(b, a)))),
    ("hstore_cmp(hstore,hstore)", |_| {
        two::<Bytes, Bytes, Int4>(|a, b, _| Ok(ordered(a).cmp(&ordered(b)) as i32))
    }),
    ("tconvert(text,text)", make::of_two),
    ("hstore(text,text)", make::of_two),
    ("hstore(_text,_text)", make::of_arrays),
    ("hstore(_text)", make::of_array),
    ("hstore(record)", make::of_record),
    ("akeys(hstore)", |_| {
        one::<Bytes, Bytes>(|hs, _| texts(pairs(hs).into_iter().map(|pair| Some(pair.0))))
    }),
    ("avals(hstore)", |_| {
        one::<Bytes, Bytes>(|hs, _| texts(pairs(hs).into_iter().map(|pair| pair.1)))
    }),
    ("hstore_to_array(hstore)", |_| one::<Bytes, Bytes>(|hs, _| texts(both(hs).into_iter()))),
    ("hstore_to_matrix(hstore)", |_| one::<Bytes, Bytes>(|hs, _| matrix(hs))),
    ("hstore_to_json(hstore)", |_| one::<Bytes, Text>(|hs, cx| json(hs, false, cx))),
    ("hstore_to_json_loose(hstore)", |_| one::<Bytes, Text>(|hs, cx| json(hs, true, cx))),
    ("hstore_to_jsonb(hstore)", |_| one::<Bytes, Bytes>(|hs, _| jsonb(hs, false))),
    ("hstore_to_jsonb_loose(hstore)", |_| one::<Bytes, Bytes>(|hs, _| jsonb(hs, true))),
];

/// Comparisons; those that order have operators of their own.
pub const COMPARISONS: &[Entry] = six!(Bytes, Bytes, ordered; "hstore_eq(hstore,hstore)" "hstore_ne(hstore,hstore)"
        "hstore_lt(hstore,hstore)" "hstore_le(hstore,hstore)" "hstore_gt(hstore,hstore)"
        "hstore_ge(hstore,hstore)");

/// Functions that give sets.
pub const SERIES: &[SeriesEntry] = &[
    ("skeys(hstore)", |_| {
        Box::new(|args: &[Datum<'_>], _: &mut Cx<'_>| rows(args, |(key, _)| vec![key]))
    }),
    ("svals(hstore)", |_| {
        Box::new(|args: &[Datum<'_>], _: &mut Cx<'_>| rows(args, |(_, value)| vec![value]))
    }),
    ("each(hstore)", |_| {
        Box::new(|args: &[Datum<'_>], _: &mut Cx<'_>| rows(args, |(key, value)| vec![key, value]))
    }),
];

/// Bytes that sort as values do.
fn ordered(hs: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    key(hs, &mut out);
    out
}

fn exists() -> Box<dyn Kernel> {
    two::<Bytes, Text, Bool>(|hs, key, _| Ok(find(&pairs(hs), key).is_some()))
}

fn defined() -> Box<dyn Kernel> {
    two::<Bytes, Text, Bool>(|hs, key, _| {
        Ok(find(&pairs(hs), key).is_some_and(|pair| pair.1.is_some()))
    })
}

/// The keys of an array; NULL is none.
fn keys(array: &[u8]) -> Vec<String> {
    let all = Array::load(array, Repr::Text);
    let key = |value: Datum<'_>| match value {
        Datum::Text(key) => Some(key.into_owned()),
        _ => None,
    };
    all.iter().filter_map(key).collect()
}

fn has<const ALL: bool>() -> Box<dyn Kernel> {
    two::<Bytes, Bytes, Bool>(|hs, array, _| {
        let pairs = pairs(hs);
        let mut found = keys(array).into_iter().map(|key| find(&pairs, &key).is_some());
        Ok(if ALL { found.all(|is| is) } else { found.any(|is| is) })
    })
}

/// What is kept of a value.
fn kept(hs: &[u8], keep: impl Fn(&Pair<'_>) -> bool) -> Vec<u8> {
    stored(&pairs(hs).into_iter().filter(keep).collect::<Vec<Pair<'_>>>())
}

fn without(hs: &[u8], array: &[u8]) -> Vec<u8> {
    let keys: std::collections::HashSet<String> = keys(array).into_iter().collect();
    kept(hs, |pair| !keys.contains(pair.0))
}

fn slice(hs: &[u8], array: &[u8]) -> Vec<u8> {
    let pairs = pairs(hs);
    store(keys(array).iter().filter_map(|key| find(&pairs, key)).collect())
}

/// The values of keys, in an array of the same shape.
fn slice_array(args: &[Datum<'_>]) -> Result<Datum<'static>> {
    let pairs = pairs(bytes(&args[0]));
    let keys = Array::load(bytes(&args[1]), Repr::Text);
    if keys.is_empty() {
        return Ok(Datum::bytes(empty()));
    }
    let mut out = Builder::new(Repr::Text);
    for key in keys.iter() {
        let value = if key.is_null() { None } else { find(&pairs, text_of(&key)) };
        out.push(&value.and_then(|pair| pair.1).map_or(Datum::Null, Datum::text))?;
    }
    Ok(Datum::bytes(out.finish_as(&keys.dims())))
}

fn contains(whole: &[u8], part: &[u8]) -> bool {
    let whole = pairs(whole);
    pairs(part).iter().all(|pair| find(&whole, pair.0) == Some(*pair))
}

fn texts<'a>(all: impl Iterator<Item = Option<&'a str>>) -> Result<Vec<u8>> {
    let mut out = Builder::new(Repr::Text);
    for text in all {
        out.push(&text.map_or(Datum::Null, |text| Datum::Text(text.into())))?;
    }
    Ok(out.finish())
}

/// Keys and values in turn.
fn both(hs: &[u8]) -> Vec<Option<&str>> {
    pairs(hs).into_iter().flat_map(|(key, value)| [Some(key), value]).collect()
}

fn matrix(hs: &[u8]) -> Result<Vec<u8>> {
    let all = both(hs);
    if all.is_empty() {
        return Ok(empty());
    }
    let mut out = Builder::new(Repr::Text);
    for text in &all {
        out.push(&text.map_or(Datum::Null, |text| Datum::Text(text.into())))?;
    }
    Ok(out.finish_as(&[Dim::new(all.len() / 2), Dim::new(2)]))
}

/// Whether a text is a number as JSON has it.
fn is_number(text: &str) -> bool {
    let begins = text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    begins && crate::json::read::check(text).is_ok() && !text.ends_with(char::is_whitespace)
}

/// As json; numbers and truth values as such where that is asked for.
pub(crate) fn json(hs: &[u8], loose: bool, cx: &mut Cx<'_>) -> Result<String> {
    cx.room(hs.len())?;
    let mut out = String::from("{");
    for (at, (key, value)) in pairs(hs).into_iter().enumerate() {
        out.push_str(if at > 0 { ", " } else { "" });
        write::quote(key, &mut out)?;
        out.push_str(": ");
        match value {
            None => out.push_str("null"),
            Some("t") if loose => out.push_str("true"),
            Some("f") if loose => out.push_str("false"),
            Some(number) if loose && is_number(number) => out.push_str(number),
            Some(text) => write::quote(text, &mut out)?,
        }
    }
    out.push('}');
    Ok(out)
}

/// As jsonb, likewise.
pub(crate) fn jsonb(hs: &[u8], loose: bool) -> Result<Vec<u8>> {
    let mut out = Encoder::new();
    out.begin_object();
    for (key, value) in pairs(hs) {
        out.key(key)?;
        match value {
            None => out.null()?,
            Some("t") if loose => out.bool(true)?,
            Some("f") if loose => out.bool(false)?,
            Some(number) if loose && is_number(number) => out.number(&Numeric::parse(number)?)?,
            Some(text) => out.text(text)?,
        }
    }
    out.end()?;
    Ok(out.finish())
}

/// The rows of a value's pairs.
fn rows(
    args: &[Datum<'_>],
    row: fn((Datum<'static>, Datum<'static>)) -> Vec<Datum<'static>>,
) -> Result<Rows> {
    let Datum::Bytes(hs) = &args[0] else { return Ok(Box::new(std::iter::empty())) };
    let owned = |(key, value): Pair<'_>| (Datum::text(key), value.map_or(Datum::Null, Datum::text));
    let all: Vec<_> = pairs(hs).into_iter().map(owned).collect();
    Ok(Box::new(all.into_iter().map(move |pair| Ok(row(pair)))))
}
