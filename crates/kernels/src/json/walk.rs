//! What stands at a path of a text of JSON?
//!
//! json keeps its text as it was, so that a part of it is a part of the text. The whole text is read: what cannot be turned
//! into text anywhere in it is an error, and of equal keys the last counts. Thread safety: pure functions.

use std::borrow::Cow;

use onlap_pg::Result;

use super::read::{Event, Reader};
use crate::Cx;
use crate::misc::growth::Growth;

/// What a step of a path asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step<'a> {
    /// The key, if there is an object; `None` matches none.
    pub(crate) key: Option<&'a str>,
    /// The element, from 0, from the end if negative, if there is an array; `None` matches none.
    pub(crate) index: Option<i64>,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part<'a> {
    /// It as it stands in the text.
    pub(crate) text: &'a str,
    /// What it means as text; `None` for null.
    pub(crate) meaning: Option<Cow<'a, str>>,
}

/// An open container.
struct Level {
    /// Whether it is on the path.
    on_path: bool,
    /// The element that is wanted of it.
    wanted: Option<i64>,
    /// The element that comes next.
    next: i64,
    /// Whether what comes next is on the path.
    matched: bool,
}

/// The part of a text at a path.
pub(crate) fn find<'a>(text: &'a str, path: &[Step<'_>], cx: &Cx<'_>) -> Result<Option<Part<'a>>> {
    let mut reader = Reader::new(text, true);
    let mut levels: Vec<Level> = Vec::new();
    let mut found = None;
    // Where a container that was found begins.
    let mut begun = None;
    let mut looked = 0_u32;
    while let Some(event) = reader.next()? {
        looked = looked.wrapping_add(1);
        if looked.is_multiple_of(1024) {
            cx.go_on()?;
        }
        match &event {
            Event::Key(key) => {
                let depth = levels.len();
                let level = levels.last_mut().expect("a key is in an object");
                level.matched = level.on_path
                    && path.get(depth - 1).is_some_and(|step| step.key == Some(key.as_ref()));
                continue;
            }
            Event::EndArray | Event::EndObject => {
                levels.pop();
                if levels.len() == path.len()
                    && let Some(start) = begun.take()
                {
                    let text = &text[start..reader.end()];
                    found = Some(Part { text, meaning: Some(Cow::Borrowed(text)) });
                }
                continue;
            }
            _ => {}
        }
        let on_path = arrive(&mut levels);
        let here = on_path && levels.len() == path.len();
        match event {
            Event::BeginArray | Event::BeginObject => {
                if here {
                    begun = Some(reader.start());
                }
                let step = path.get(levels.len()).filter(|_| on_path);
                let wanted = match (&event, step.and_then(|step| step.index)) {
                    (Event::BeginArray, Some(index @ ..0)) => {
                        Some(length(&reader)? + index).filter(|at| *at >= 0)
                    }
                    (Event::BeginArray, index) => index,
                    _ => None,
                };
                let on_path = on_path && step.is_some();
                levels.push(Level { on_path, wanted, next: 0, matched: false });
            }
            scalar if here => {
                let text = &text[reader.start()..reader.end()];
                let meaning = match scalar {
                    Event::Null => None,
                    Event::Text(value) => Some(value),
                    _ => Some(Cow::Borrowed(text)),
                };
                found = Some(Part { text, meaning });
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Takes note of a value; whether it is on the path.
fn arrive(levels: &mut [Level]) -> bool {
    let Some(level) = levels.last_mut() else { return true };
    let element = level.on_path && level.wanted == Some(level.next);
    level.next += 1;
    std::mem::take(&mut level.matched) || element
}

/// How many elements the array has that was just begun.
fn length(reader: &Reader<'_>) -> Result<i64> {
    let mut reader = reader.clone();
    let depth = reader.depth();
    let mut count = 0;
    while let Some(event) = reader.next()? {
        match event {
            Event::EndArray | Event::EndObject if reader.depth() < depth => break,
            Event::BeginArray | Event::BeginObject => {
                count += i64::from(reader.depth() == depth + 1);
            }
            Event::EndArray | Event::EndObject | Event::Key(_) => {}
            _ => count += i64::from(reader.depth() == depth),
        }
    }
    Ok(count)
}

/// The parts of the container that a text is, each with its key if it is an object's.
pub(crate) fn parts<'a>(
    text: &'a str,
    unescape: bool,
    cx: &Cx<'_>,
) -> Result<Vec<(Option<Cow<'a, str>>, Part<'a>)>> {
    let mut reader = Reader::new(text, unescape);
    let mut out: Vec<(Option<Cow<'a, str>>, Part<'a>)> = Vec::new();
    let mut growth = Growth::new();
    let mut key = None;
    let mut begun = 0;
    let mut looked = 0_u32;
    while let Some(event) = reader.next()? {
        looked = looked.wrapping_add(1);
        if looked.is_multiple_of(1024) {
            cx.go_on()?;
            growth.memory(cx, out.len() * size_of::<(Option<Cow<'_, str>>, Part<'_>)>())?;
        }
        let depth = reader.depth();
        match event {
            Event::Key(name) if depth == 1 => key = Some(name),
            Event::BeginArray | Event::BeginObject if depth == 2 => begun = reader.start(),
            Event::EndArray | Event::EndObject if depth == 1 => {
                let text = &text[begun..reader.end()];
                out.push((key.take(), Part { text, meaning: Some(Cow::Borrowed(text)) }));
            }
            Event::Null | Event::Bool(_) | Event::Number(_) | Event::Text(_) if depth == 1 => {
                let text = &text[reader.start()..reader.end()];
                let meaning = match event {
                    Event::Null => None,
                    Event::Text(value) => Some(value),
                    _ => Some(Cow::Borrowed(text)),
                };
                out.push((key.take(), Part { text, meaning }));
            }
            _ => {}
        }
    }
    Ok(out)
}

/// How many elements the array has that a text is.
pub(crate) fn count(text: &str) -> Result<i64> {
    let mut reader = Reader::new(text, false);
    reader.next()?;
    let count = length(&reader)?;
    while reader.next()?.is_some() {}
    Ok(count)
}

/// Whether a text is an object, an array, or neither: by its first character.
pub(crate) fn kind(text: &str) -> u8 {
    let first = text.bytes().find(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
    first.unwrap_or(0)
}
