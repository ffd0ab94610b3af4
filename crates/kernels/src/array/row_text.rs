//! How are row values written, as text and in binary?
//!
//! Texts and messages are read only for types with names, whose fields are known; there are none of these here yet.
//! Thread safety: pure functions.

use onlap_pg::Result;

use super::record::Record;
use super::text::{is_space, send_field};
use crate::{Cx, Datum};

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
        quote(&held, out);
    }
    out.push(')');
    Ok(())
}

fn quote(text: &str, out: &mut String) {
    let special = |byte: u8| matches!(byte, b'"' | b'\\' | b'(' | b')' | b',') || is_space(byte);
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

/// Whether every field is NULL, as `IS NULL` of a row asks; and whether none is, as `IS NOT NULL` asks.
pub fn null_test(bytes: &[u8], catalog: &onlap_pg::catalog::Catalog) -> (bool, bool) {
    let fields = Record::load(bytes).fields(catalog);
    let is_null = |(_, value): &(u32, Datum<'_>)| value.is_null();
    (fields.iter().all(is_null), !fields.iter().any(is_null))
}
