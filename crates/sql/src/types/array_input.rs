//! Which array does a client's parameter in binary form mean?
//!
//! Arrays travel through statements as their text, so the binary form becomes that. Nothing here trusts
//! the lengths that it reads (I8).

use onlap::{DataType, Value, convert};

use super::{PgType, input, names};
use crate::error::{Result, SqlError, state};

/// The text of an array of one dimension: `{1,NULL,"a b"}`.
///
/// # Errors
/// The bytes are no such array, or its elements are none of their type.
pub fn array_text(element: u32, bytes: &[u8]) -> Result<String> {
    let wrong = || SqlError::new("22P03", "incorrect binary data format of an array");
    let mut rest = bytes;
    let word = |rest: &mut &[u8]| -> Result<i32> {
        let (head, tail) = rest.split_first_chunk::<4>().ok_or_else(wrong)?;
        *rest = tail;
        Ok(i32::from_be_bytes(*head))
    };
    let dimensions = word(&mut rest)?;
    let _has_nulls = word(&mut rest)?;
    let given = word(&mut rest)? as u32;
    if given != element {
        let text = format!(
            "binary data has array element type {given} instead of expected {element} ({})",
            names::format_type(PgType::new(element))
        );
        return Err(SqlError::new(state::MISMATCH, text));
    }
    match dimensions {
        0 => return Ok("{}".into()),
        1 => {}
        _ => return Err(SqlError::unsupported("an array of several dimensions as a parameter")),
    }
    let count = word(&mut rest)?;
    let _lower_bound = word(&mut rest)?;
    let mut out = String::from("{");
    for i in 0..count {
        if i > 0 {
            out.push(',');
        }
        match usize::try_from(word(&mut rest)?) {
            Err(_) => out.push_str("NULL"),
            Ok(length) => {
                let (value, tail) = rest.split_at_checked(length).ok_or_else(wrong)?;
                rest = tail;
                let ty = PgType::new(element);
                push_element(ty, &input::binary_value(ty, value)?, &mut out);
            }
        }
    }
    out.push('}');
    if rest.is_empty() { Ok(out) } else { Err(wrong()) }
}

fn push_element(ty: PgType, value: &Value, out: &mut String) {
    let mut text = String::new();
    convert::format_text(ty.engine().unwrap_or(DataType::Text), value, &mut text);
    let special = |c: char| c.is_whitespace() || matches!(c, '{' | '}' | ',' | '"' | '\\');
    if !text.is_empty() && !text.eq_ignore_ascii_case("null") && !text.contains(special) {
        out.push_str(&text);
        return;
    }
    out.push('"');
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
}
