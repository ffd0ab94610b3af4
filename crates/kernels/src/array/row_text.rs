//! How are row values written, as text and in binary?
//!
//! Texts are read for types with names, whose fields the session knows; messages are not.
//! Thread safety: pure functions.

use onlap_pg::{Error, Oid, Result};

use super::record::{self, Record};
use super::text::{Message, is_space, part_of, send_field};
use crate::{Cx, Datum};

/// record_in of a type with a name; `None` of a type whose fields nothing tells.
pub(crate) fn input(cx: &mut Cx<'_>, row: Oid, text: &str) -> Result<Option<Vec<u8>>> {
    let Some(fields) = cx.session.fields(row) else { return Ok(None) };
    let bad = |detail: &str| {
        Error::new("22P02", format!("malformed record literal: \"{text}\"")).detail(detail)
    };
    let mut rest = text.trim_start_matches(is_blank);
    rest = rest.strip_prefix('(').ok_or_else(|| bad("Missing left parenthesis."))?;
    let mut values = Vec::with_capacity(fields.len());
    for (at, (_, ty)) in fields.iter().enumerate() {
        if at > 0 {
            rest = rest.strip_prefix(',').ok_or_else(|| bad("Too few columns."))?;
        }
        let value = match rest.starts_with([',', ')']) {
            true => {
                cx.keep_to(ty.oid, &Datum::Null)?;
                Datum::Null
            }
            false => {
                let (held, after) =
                    unquoted(rest, &ENDS).ok_or_else(|| bad("Unexpected end of input."))?;
                rest = after;
                crate::input(cx, *ty, &held)?
            }
        };
        values.push((ty.oid, value));
    }
    rest = rest.strip_prefix(')').ok_or_else(|| bad("Too many columns."))?;
    if !rest.trim_start_matches(is_blank).is_empty() {
        return Err(bad("Junk after right parenthesis."));
    }
    let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
    record::build_named(&names, &values).map(Some)
}

/// What ends a field.
const ENDS: [char; 2] = [',', ')'];

/// Whether a character is passed over around a value of parts.
pub(crate) fn is_blank(c: char) -> bool {
    u8::try_from(c).is_ok_and(is_space)
}

/// A part of a value without its quotes and what follows it, which begins with one of `ends`; `None` where the text ends in it.
pub(crate) fn unquoted<'t>(text: &'t str, ends: &[char]) -> Option<(String, &'t str)> {
    let (mut held, mut in_quotes) = (String::new(), false);
    let mut all = text.char_indices().peekable();
    while let Some((at, c)) = all.next() {
        match c {
            c if !in_quotes && ends.contains(&c) => return Some((held, &text[at..])),
            '\\' => held.push(all.next()?.1),
            '"' if in_quotes && all.peek().is_some_and(|(_, next)| *next == '"') => {
                all.next();
                held.push('"');
            }
            '"' => in_quotes = !in_quotes,
            c => held.push(c),
        }
    }
    None
}

/// record_out.
pub(crate) fn output(cx: &mut Cx<'_>, bytes: &[u8], out: &mut String) -> Result<()> {
    let mut held = String::new();
    out.push('(');
    for (at, (oid, value)) in Record::load(bytes).fields(cx.catalog).into_iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        if value.is_null() {
            continue;
        }
        held.clear();
        crate::output(cx, oid, &value, &mut held)?;
        // Each row within a row doubles the signs of the inner one.
        cx.room(out.len().saturating_add(held.len().saturating_mul(2)))?;
        quote(&held, b"(),", out);
    }
    out.push(')');
    Ok(())
}

/// Writes a part of a value: in quotes if it is empty or has blanks, quotes, backslashes or one of `signs`.
pub(crate) fn quote(text: &str, signs: &[u8], out: &mut String) {
    let is_sign = |byte: u8| matches!(byte, b'"' | b'\\') || signs.contains(&byte);
    let special = |byte: u8| is_sign(byte) || is_space(byte);
    if !text.is_empty() && !text.bytes().any(special) {
        out.push_str(text);
        return;
    }
    out.push('"');
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            out.push(c);
        }
        out.push(c);
    }
    out.push('"');
}

/// record_send.
pub(crate) fn send(cx: &mut Cx<'_>, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let fields = Record::load(bytes).fields(cx.catalog);
    out.extend_from_slice(&(fields.len() as i32).to_be_bytes());
    for (oid, value) in &fields {
        out.extend_from_slice(&oid.to_be_bytes());
        send_field(cx, *oid, value, out)?;
    }
    Ok(())
}

/// record_recv of a type with a name; `None` of a type whose fields nothing tells.
pub(crate) fn recv(cx: &mut Cx<'_>, row: Oid, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
    let Some(fields) = cx.session.fields(row) else { return Ok(None) };
    let mut message = Message(bytes);
    let sent = message.int4()?;
    if usize::try_from(sent) != Ok(fields.len()) {
        let text = format!("wrong number of columns: {sent}, expected {}", fields.len());
        return Err(Error::new("42804", text));
    }
    let mut values = Vec::with_capacity(fields.len());
    for (at, (_, ty)) in fields.iter().enumerate() {
        let oid = message.int4()? as u32;
        if oid != ty.oid {
            let (sent, own) = (cx.catalog.shown(oid), cx.catalog.shown(ty.oid));
            let text = format!(
                "binary data has type {oid} ({sent}) instead of expected {} ({own}) in record \
                 column {}",
                ty.oid,
                at + 1
            );
            return Err(Error::new("42804", text));
        }
        let value = match message.field()? {
            Some(bytes) => {
                crate::recv(cx, *ty, bytes).map_err(|e| part_of(e, "record column", at))?
            }
            None => {
                cx.keep_to(ty.oid, &Datum::Null)?;
                Datum::Null
            }
        };
        values.push((ty.oid, value));
    }
    message.ended()?;
    let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
    record::build_named(&names, &values).map(Some)
}

/// Whether every field is NULL, as `IS NULL` of a row asks; and whether none is, as `IS NOT NULL` asks.
pub fn null_test(bytes: &[u8], catalog: &onlap_pg::catalog::Catalog) -> (bool, bool) {
    let fields = Record::load(bytes).fields(catalog);
    let is_null = |(_, value): &(u32, Datum<'_>)| value.is_null();
    (fields.iter().all(is_null), !fields.iter().any(is_null))
}
