//! How do values of any type stand in a text of XML?
//!
//! Thread safety: pure functions.

use onlap_base::stop::STRIDE;
use onlap_pg::{Error, Oid, Result};

use crate::array::Array;
use crate::array::text::element_repr;
use crate::json::shown;
use crate::misc::growth::{Growth, fits};
use crate::misc::rows::bytes;
use crate::text::codes::base64;
use crate::{Cx, Datum};

/// Bytes of a line of base64: it has 72 characters.
const LINE: usize = 54;

/// A value as XML has it; what XML gives a meaning to is escaped where `escape`.
///
/// # Errors
/// `22008`: it is infinite; `54000`; those of its output.
pub(super) fn encoded(
    cx: &mut Cx<'_>,
    oid: Oid,
    value: &Datum<'_>,
    escape: bool,
) -> Result<String> {
    let base = cx.catalog.base_type(oid);
    if let Some(element) = cx.catalog.element(base) {
        let array = Array::load(bytes(value), element_repr(cx, element)?);
        let mut out = String::new();
        for item in array.iter().filter(|item| !item.is_null()) {
            cx.worked(1)?;
            let item = encoded(cx, element, &item, true)?;
            fits(out.len().saturating_add(item.len()))?;
            for part in ["<element>", &item, "</element>"] {
                out.push_str(part);
            }
        }
        return Ok(out);
    }
    match (base, value) {
        (1082, Datum::Int4(i32::MIN | i32::MAX)) => return Err(infinite("date")),
        (1114 | 1184, Datum::Int8(i64::MIN | i64::MAX)) => return Err(infinite("timestamp")),
        (16 | 1082 | 1114 | 1184, _) => return shown(cx, oid, value),
        (17, Datum::Bytes(bytes)) => return binary(bytes, cx),
        _ => {}
    }
    let mut out = String::new();
    crate::output(cx, oid, value, &mut out)?;
    match base {
        142 => Ok(out),
        _ if escape => escaped(&out, cx),
        _ => Ok(out),
    }
}

fn infinite(what: &str) -> Error {
    let detail = format!("XML does not support infinite {what} values.");
    Error::new("22008", format!("{what} out of range")).detail(detail)
}

fn binary(bytes: &[u8], cx: &Cx<'_>) -> Result<String> {
    fits(bytes.len().saturating_mul(2))?;
    cx.room(bytes.len() * 2)?;
    if cx.settings.xml.hex {
        return Ok(bytes.iter().map(|b| format!("{b:02X}")).collect());
    }
    let lines: Result<Vec<String>> = bytes.chunks(LINE).map(|line| base64(line, cx)).collect();
    Ok(lines?.join("\r\n"))
}

/// A text between tags.
///
/// # Errors
/// `54000`: it would be too long; `57014`.
fn escaped(text: &str, cx: &Cx<'_>) -> Result<String> {
    written(text, cx, |c, out| {
        out.push_str(match c {
            '&' => "&amp;",
            '<' => "&lt;",
            '>' => "&gt;",
            '\r' => "&#x0d;",
            c => return out.push(c),
        });
    })
}

/// A text in the quotes of an attribute.
///
/// # Errors
/// As of texts between tags.
pub(super) fn attribute(text: &str, cx: &Cx<'_>) -> Result<String> {
    written(text, cx, |c, out| {
        out.push_str(match c {
            '"' => "&quot;",
            '&' => "&amp;",
            '<' => "&lt;",
            '>' => "&gt;",
            '\n' => "&#10;",
            '\r' => "&#13;",
            '\t' => "&#9;",
            c if c.is_ascii() => return out.push(c),
            c => return out.push_str(&format!("&#x{:X};", u32::from(c))),
        });
    })
}

fn written(text: &str, cx: &Cx<'_>, put: impl Fn(char, &mut String)) -> Result<String> {
    let (mut out, mut growth) = (String::with_capacity(text.len()), Growth::new());
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(rest.floor_char_boundary(STRIDE));
        cx.worked(piece.len())?;
        piece.chars().for_each(|c| put(c, &mut out));
        growth.value(cx, out.len())?;
        rest = behind;
    }
    Ok(out)
}
