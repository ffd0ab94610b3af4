//! How are texts made of arrays, and arrays of texts?
//!
//! Thread safety: pure functions.

use onlap_pg::Result;

use super::form::{Array, Builder, ELEMENT};
use super::{Element, of_element, shape};
use crate::misc::growth::{Growth, fits};
use crate::misc::rows::{called, text};
use crate::{Cx, Datum, Entry, Kernel, Repr, Types};

/// Functions.
pub(super) const ENTRIES: &[Entry] = &[
    ("array_to_string(anyarray,text)", joined),
    ("array_to_string(anyarray,text,text)", joined),
    ("string_to_array(text,text)", split),
    ("string_to_array(text,text,text)", split),
];

fn joined(types: &Types) -> Box<dyn Kernel> {
    let element = of_element(types, 0);
    called(types, move |args, cx| {
        let element = element.as_ref().map_err(Clone::clone)?;
        if args[0].is_null() || args[1].is_null() {
            return Ok(Datum::Null);
        }
        let null = args.get(2).filter(|null| !null.is_null()).map(text);
        join(element, args, null, cx).map(Datum::text)
    })
}

fn join(
    element: &Element,
    args: &[Datum<'_>],
    null: Option<&str>,
    cx: &mut Cx<'_>,
) -> Result<String> {
    let Datum::Bytes(bytes) = &args[0] else { unreachable!("it is an array") };
    let mark = text(&args[1]);
    let mut out = String::new();
    let mut begun = false;
    let mut growth = Growth::new();
    let array = Array::load(bytes, element.repr);
    // Where NULLs are left out, so are the marks before them.
    if null.is_some() || !array.has_nulls() {
        fits(array.len().saturating_sub(1).saturating_mul(mark.len()))?;
    }
    for value in array.iter() {
        cx.worked(ELEMENT + mark.len())?;
        let more = mark.len() + value.size().max(null.map_or(0, str::len));
        growth.value(cx, out.len().saturating_add(more))?;
        match (value, null) {
            (Datum::Null, None) => continue,
            (value, null) => {
                if begun {
                    out.push_str(mark);
                }
                match (value, null) {
                    (Datum::Null, Some(null)) => out.push_str(null),
                    (value, _) => crate::output(cx, element.oid, &value, &mut out)?,
                }
                begun = true;
            }
        }
    }
    Ok(out)
}

fn split(types: &Types) -> Box<dyn Kernel> {
    called(types, |args, cx| {
        if args[0].is_null() {
            return Ok(Datum::Null);
        }
        let mut builder = Builder::new(Repr::Text);
        let mut growth = Growth::new();
        for (at, part) in parts(args).enumerate() {
            if at % 1024 == 0 {
                cx.go_on()?;
                growth.memory(cx, builder.size())?;
            }
            builder.push(&part)?;
        }
        Ok(Datum::bytes(if builder.is_empty() { shape::empty() } else { builder.finish() }))
    })
}

/// The parts of the text that the first argument is, between marks that the second is. No mark: its characters. What is
/// the third argument is NULL.
pub(super) fn parts<'a>(args: &'a [Datum<'_>]) -> impl Iterator<Item = Datum<'a>> {
    let whole = text(&args[0]);
    let null = args.get(2).filter(|null| !null.is_null()).map(text);
    let found: Box<dyn Iterator<Item = &'a str>> = match &args[1] {
        _ if whole.is_empty() => Box::new(std::iter::empty()),
        Datum::Null => Box::new(whole.char_indices().map(|(at, c)| &whole[at..at + c.len_utf8()])),
        mark if text(mark).is_empty() => Box::new(std::iter::once(whole)),
        mark => Box::new(whole.split(text(mark))),
    };
    found.map(move |part| match null {
        Some(null) if null == part => Datum::Null,
        _ => Datum::Text(part.into()),
    })
}
