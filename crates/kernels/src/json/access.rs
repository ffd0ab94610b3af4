//! What is in a json or jsonb value?
//!
//! The operators `->`, `->>`, `#>`, `#>>`, `?` and their functions. Thread safety: pure functions.

use onlap_pg::{Error, Result, worked};

use super::form::{Node, node};
use super::read::{Event, Reader};
use super::walk::{self, Step};
use super::write;
use crate::array::Array;
use crate::misc::rows::{bytes, int4, strict, text};
use crate::{Cx, Datum, Entry, Repr};

/// Functions.
pub(super) const ENTRIES: &[Entry] = &[
    ("jsonb_object_field(jsonb,text)", |types| {
        strict(types, |args, _| Ok(part(field(bytes(&args[0]), text(&args[1])))))
    }),
    ("jsonb_object_field_text(jsonb,text)", |types| {
        strict(types, |args, _| part_text(field(bytes(&args[0]), text(&args[1]))))
    }),
    ("jsonb_array_element(jsonb,int4)", |types| {
        strict(types, |args, _| Ok(part(element(bytes(&args[0]), int4(&args[1]).into()))))
    }),
    ("jsonb_array_element_text(jsonb,int4)", |types| {
        strict(types, |args, _| part_text(element(bytes(&args[0]), int4(&args[1]).into())))
    }),
    ("jsonb_extract_path(jsonb,_text)", |types| {
        strict(types, |args, _| Ok(part(at_path(bytes(&args[0]), &args[1]))))
    }),
    ("jsonb_extract_path_text(jsonb,_text)", |types| {
        strict(types, |args, _| part_text(at_path(bytes(&args[0]), &args[1])))
    }),
    ("jsonb_array_length(jsonb)", |types| {
        strict(types, |args, _| match node(bytes(&args[0])) {
            Node::Array(items) => Ok(Datum::Int4(items.len() as i32)),
            Node::Object(_) => Err(no_array("a non-array")),
            _ => Err(no_array("a scalar")),
        })
    }),
    ("jsonb_typeof(jsonb)", |types| {
        strict(types, |args, _| {
            Ok(Datum::text(match node(bytes(&args[0])) {
                Node::Null => "null",
                Node::Bool(_) => "boolean",
                Node::Number(_) => "number",
                Node::Text(_) => "string",
                Node::Array(_) => "array",
                Node::Object(_) => "object",
            }))
        })
    }),
    ("jsonb_exists(jsonb,text)", |types| {
        strict(types, |args, _| exists(bytes(&args[0]), text(&args[1])).map(Datum::Bool))
    }),
    ("jsonb_exists_any(jsonb,_text)", |types| {
        strict(types, |args, _| {
            for key in keys(&args[1]) {
                if exists(bytes(&args[0]), text(&key))? {
                    return Ok(Datum::Bool(true));
                }
            }
            Ok(Datum::Bool(false))
        })
    }),
    ("jsonb_exists_all(jsonb,_text)", |types| {
        strict(types, |args, _| {
            for key in keys(&args[1]) {
                if !exists(bytes(&args[0]), text(&key))? {
                    return Ok(Datum::Bool(false));
                }
            }
            Ok(Datum::Bool(true))
        })
    }),
    ("json_object_field(json,text)", |types| strict(types, |args, cx| by_key(args, false, cx))),
    ("json_object_field_text(json,text)", |types| strict(types, |args, cx| by_key(args, true, cx))),
    ("json_array_element(json,int4)", |types| strict(types, |args, cx| by_index(args, false, cx))),
    ("json_array_element_text(json,int4)", |types| {
        strict(types, |args, cx| by_index(args, true, cx))
    }),
    ("json_extract_path(json,_text)", |types| strict(types, |args, cx| by_path(args, false, cx))),
    ("json_extract_path_text(json,_text)", |types| {
        strict(types, |args, cx| by_path(args, true, cx))
    }),
    ("json_array_length(json)", |types| {
        strict(types, |args, _| {
            let whole = text(&args[0]);
            match walk::kind(whole) {
                b'[' => Ok(Datum::Int4(walk::count(whole)? as i32)),
                b'{' => Err(no_array("a non-array")),
                _ => Err(no_array("a scalar")),
            }
        })
    }),
    ("json_typeof(json)", |types| {
        strict(types, |args, _| {
            let first = Reader::new(text(&args[0]), false).next()?;
            Ok(Datum::text(match first {
                None | Some(Event::Null) => "null",
                Some(Event::Bool(_)) => "boolean",
                Some(Event::Number(_)) => "number",
                Some(Event::BeginArray | Event::EndArray) => "array",
                Some(Event::BeginObject | Event::EndObject) => "object",
                Some(Event::Text(_) | Event::Key(_)) => "string",
            }))
        })
    }),
];

fn no_array(what: &str) -> Error {
    Error::new("22023", format!("cannot get array length of {what}"))
}

fn part(found: Option<&[u8]>) -> Datum<'static> {
    found.map_or(Datum::Null, Datum::bytes)
}

fn part_text(found: Option<&[u8]>) -> Result<Datum<'static>> {
    let shown = found.map(write::as_text).transpose()?.flatten();
    Ok(shown.map_or(Datum::Null, Datum::text))
}

/// The value of a key.
fn field<'a>(value: &'a [u8], key: &str) -> Option<&'a [u8]> {
    match node(value) {
        Node::Object(pairs) => pairs.raw(key),
        _ => None,
    }
}

/// The element of an array, from the end if negative. A scalar on its own is an array of one.
fn element(value: &[u8], index: i64) -> Option<&[u8]> {
    let turned = |length: usize| {
        let at = if index < 0 { index + length as i64 } else { index };
        usize::try_from(at).ok()
    };
    match node(value) {
        Node::Array(items) => items.raw(turned(items.len())?),
        Node::Object(_) => None,
        _ => (turned(1)? == 0).then_some(value),
    }
}

/// The value at a path; a path with NULL leads nowhere.
fn at_path<'a>(value: &'a [u8], path: &Datum<'_>) -> Option<&'a [u8]> {
    let path = Array::load(bytes(path), Repr::Text);
    if path.has_nulls() {
        return None;
    }
    let mut value = value;
    for step in path.iter() {
        let step = text(&step).to_owned();
        value = match node(value) {
            Node::Object(pairs) => pairs.raw(&step)?,
            Node::Array(_) => element(value, index(&step)?)?,
            _ => return None,
        };
    }
    Some(value)
}

/// C's strtol of a whole text, in 32 bits.
pub(crate) fn index(text: &str) -> Option<i64> {
    let trimmed = text.trim_start_matches([' ', '\t', '\n', '\r', '\u{b}', '\u{c}']);
    let digits = trimmed.strip_prefix(['-', '+']).unwrap_or(trimmed);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    trimmed.parse::<i32>().ok().map(i64::from)
}

/// Whether a string is a key of an object, or an element of an array.
fn exists(value: &[u8], key: &str) -> Result<bool> {
    let is = |value: &[u8]| matches!(node(value), Node::Text(text) if text == key);
    match node(value) {
        Node::Object(pairs) => {
            worked(key.len() + 8)?;
            Ok(pairs.raw(key).is_some())
        }
        Node::Array(items) => {
            for item in items.iter() {
                worked(8)?;
                if is(item) {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        _ => Ok(is(value)),
    }
}

/// The texts of an array that are not NULL.
pub(crate) fn keys<'a>(array: &'a Datum<'_>) -> impl Iterator<Item = Datum<'a>> {
    Array::load(bytes(array), Repr::Text).iter().filter(|key| !key.is_null())
}

fn given(whole: &str, path: &[Step<'_>], as_text: bool, cx: &Cx<'_>) -> Result<Datum<'static>> {
    Ok(match walk::find(whole, path, cx)? {
        None => Datum::Null,
        Some(part) if !as_text => Datum::text(part.text),
        Some(part) => part.meaning.map_or(Datum::Null, |meaning| Datum::text(meaning.into_owned())),
    })
}

fn by_key(args: &[Datum<'_>], as_text: bool, cx: &mut Cx<'_>) -> Result<Datum<'static>> {
    let step = Step { key: Some(text(&args[1])), index: None };
    given(text(&args[0]), &[step], as_text, cx)
}

fn by_index(args: &[Datum<'_>], as_text: bool, cx: &mut Cx<'_>) -> Result<Datum<'static>> {
    let step = Step { key: None, index: Some(int4(&args[1]).into()) };
    given(text(&args[0]), &[step], as_text, cx)
}

fn by_path(args: &[Datum<'_>], as_text: bool, cx: &mut Cx<'_>) -> Result<Datum<'static>> {
    let path = Array::load(bytes(&args[1]), Repr::Text);
    if path.has_nulls() {
        return Ok(Datum::Null);
    }
    let keys: Vec<Datum<'_>> = path.iter().collect();
    let steps: Vec<Step<'_>> =
        keys.iter().map(|key| Step { key: Some(text(key)), index: index(text(key)) }).collect();
    given(text(&args[0]), &steps, as_text, cx)
}
