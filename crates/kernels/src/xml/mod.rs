//! What do functions and expressions of xml give?
//!
//! A value is its text; [`onlap_pg::value::xml`] knows which texts are well formed. Here texts are put together of values of any
//! type. Thread safety: pure functions.

mod encode;
mod express;
mod gather;

pub use express::kernel;

use onlap_pg::value::xml::{self, Shape};
use onlap_pg::{Error, Result};

use crate::aggregate::AggregateEntry;
use crate::misc::rows::{called, strict, text};
use crate::text::encodings::decoded;
use crate::{Cx, Datum, Entry, Kernel, Types};

/// Functions.
pub const ENTRIES: &[Entry] = &[
    ("xml(text)", |types| {
        strict(types, |args, cx| {
            check(text(&args[0]), cx.settings.xml.shape, cx)?;
            Ok(Datum::text(text(&args[0])))
        })
    }),
    ("text(xml)", |types| strict(types, |args, _| Ok(Datum::text(text(&args[0]))))),
    ("xmlcomment(text)", |types| {
        strict(types, |args, cx| {
            let inside = text(&args[0]);
            cx.text_pieces(inside, |_| {})?;
            if inside.contains("--") || inside.ends_with('-') {
                return Err(Error::new("2200S", "invalid XML comment"));
            }
            Ok(Datum::text(format!("<!--{inside}-->")))
        })
    }),
    ("xmlconcat2(xml,xml)", |types| {
        called(types, |args, cx| {
            Ok(match (&args[0], &args[1]) {
                (Datum::Null, one) | (one, Datum::Null) => one.clone().into_owned(),
                (one, other) => Datum::text(express::joined([text(one), text(other)], cx)?),
            })
        })
    }),
    ("xmlvalidate(xml,text)", |types| {
        strict(types, |_, _| Err(Error::new("0A000", "xmlvalidate is not implemented")))
    }),
    ("xml_is_well_formed(text)", |types| is_well_formed(types, None)),
    ("xml_is_well_formed_document(text)", |types| is_well_formed(types, Some(Shape::Document))),
    ("xml_is_well_formed_content(text)", |types| is_well_formed(types, Some(Shape::Content))),
];

/// Aggregates.
pub const AGGREGATES: &[AggregateEntry] = gather::AGGREGATES;

/// Of a shape, or of what the setting says.
fn is_well_formed(types: &Types, shape: Option<Shape>) -> Box<dyn Kernel> {
    strict(types, move |args, cx| {
        let shape = shape.unwrap_or(cx.settings.xml.shape);
        Ok(Datum::Bool(xml::is_well_formed(text(&args[0]), shape, &mut |n| cx.worked(n))?))
    })
}

/// Checks that a text is well formed.
///
/// # Errors
/// `2200M`, `2200N`, `0A000`, `57014`.
pub(crate) fn check(text: &str, shape: Shape, cx: &Cx<'_>) -> Result<()> {
    xml::check(text, shape, &mut |n| cx.worked(n)).map_err(xml::Stop::into_error)
}

/// Reads a text that a client sent in binary: in the encoding that its declaration names.
///
/// # Errors
/// `22021`: it is none of that encoding; `22023`: there is no such encoding; `0A000`: it is not served; as [`check`].
pub(crate) fn recv(bytes: &[u8], cx: &Cx<'_>) -> Result<Datum<'static>> {
    let ascii = bytes.iter().position(|b| !b.is_ascii()).unwrap_or(bytes.len());
    let begin = onlap_pg::value::utf8::text(&bytes[..ascii])?;
    let text = match xml::declaration(begin).ok().and_then(|read| read.encoding) {
        Some(encoding) => decoded(bytes, encoding, cx)?,
        None => onlap_pg::value::utf8::text(bytes)?.to_owned(),
    };
    check(&text, cx.settings.xml.shape, cx)?;
    Ok(Datum::text(text))
}
