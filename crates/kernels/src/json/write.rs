//! How are jsonb values read from texts and written as them?
//!
//! Thread safety: pure functions.

use std::fmt::Write as _;

use onlap_pg::value::MAX_BYTES;
use onlap_pg::value::numeric::Numeric;
use onlap_pg::{Error, Result, worked};

use super::form::{Encoder, Node, node};
use super::read::{Event, Reader};
use crate::Cx;
use crate::misc::growth::Growth;

/// jsonb_in.
pub(crate) fn parse(text: &str, cx: &Cx<'_>) -> Result<Vec<u8>> {
    let mut out = Encoder::new();
    put_text(text, &mut out, cx)?;
    Ok(out.finish())
}

/// Appends what a text of JSON is.
pub(crate) fn put_text(text: &str, out: &mut Encoder, cx: &Cx<'_>) -> Result<()> {
    let mut reader = Reader::new(text, true);
    let mut looked = 0;
    let mut growth = Growth::new();
    while let Some(event) = reader.next()? {
        looked += 1;
        if looked % 1024 == 0 {
            cx.go_on()?;
            growth.memory(cx, out.size())?;
        }
        match event {
            Event::Null => out.null()?,
            Event::Bool(value) => out.bool(value)?,
            Event::Number(digits) => out.number(&Numeric::parse(digits)?)?,
            Event::Text(value) => out.text(&value)?,
            Event::Key(key) => out.key(&key)?,
            Event::BeginArray => out.begin_array(),
            Event::BeginObject => out.begin_object(),
            Event::EndArray | Event::EndObject => out.end()?,
        }
    }
    Ok(())
}

/// What is too long for a text.
fn fits(out: &str) -> Result<()> {
    if out.len() <= MAX_BYTES {
        return Ok(());
    }
    Err(Error::new("54000", "invalid memory alloc request size"))
}

/// jsonb_out.
pub(crate) fn print(bytes: &[u8], out: &mut String) -> Result<()> {
    worked(1)?;
    match node(bytes) {
        Node::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                print(item, out)?;
            }
            out.push(']');
        }
        Node::Object(pairs) => {
            out.push('{');
            for (at, (key, value)) in pairs.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                quote(key, out)?;
                out.push_str(": ");
                print(value, out)?;
            }
            out.push('}');
        }
        scalar => print_scalar(scalar, out)?,
    }
    fits(out)
}

/// jsonb_pretty.
pub(crate) fn pretty(value: &[u8], cx: &Cx<'_>) -> Result<String> {
    let mut out = String::new();
    put_pretty(value, 0, &mut out, &mut Growth::new(), cx)?;
    Ok(out)
}

/// Blanks before deep values may be most of the text: room is taken as it grows.
fn put_pretty(
    bytes: &[u8],
    level: usize,
    out: &mut String,
    growth: &mut Growth,
    cx: &Cx<'_>,
) -> Result<()> {
    growth.value(cx, out.len())?;
    let new_line = |level: usize, out: &mut String| {
        out.push('\n');
        (0..level).for_each(|_| out.push_str("    "));
    };
    match node(bytes) {
        Node::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                new_line(level + 1, out);
                put_pretty(item, level + 1, out, growth, cx)?;
            }
            new_line(level, out);
            out.push(']');
        }
        Node::Object(pairs) => {
            out.push('{');
            for (at, (key, value)) in pairs.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                new_line(level + 1, out);
                quote(key, out)?;
                out.push_str(": ");
                put_pretty(value, level + 1, out, growth, cx)?;
            }
            new_line(level, out);
            out.push('}');
        }
        scalar => print_scalar(scalar, out)?,
    }
    fits(out)
}

fn print_scalar(value: Node<'_>, out: &mut String) -> Result<()> {
    worked(8)?;
    match value {
        Node::Null => out.push_str("null"),
        Node::Bool(value) => out.push_str(if value { "true" } else { "false" }),
        Node::Number(number) => {
            write!(out, "{}", Numeric::load(number)).expect("a String takes all");
        }
        Node::Text(text) => quote(text, out)?,
        Node::Array(_) | Node::Object(_) => unreachable!("containers were written before"),
    }
    Ok(())
}

/// The text of a value as `->>` gives it: a string without quotes; `None` for null.
pub(crate) fn as_text(bytes: &[u8]) -> Result<Option<String>> {
    match node(bytes) {
        Node::Null => Ok(None),
        Node::Text(text) => Ok(Some(text.to_owned())),
        _ => {
            let mut out = String::new();
            print(bytes, &mut out)?;
            Ok(Some(out))
        }
    }
}

/// A text as a string of JSON.
///
/// # Errors
/// `57014`.
pub(crate) fn quote(text: &str, out: &mut String) -> Result<()> {
    out.reserve(text.len() + 2);
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| byte < b' ' || byte == b'"' || byte == b'\\')
    {
        worked(at + 8)?;
        out.push_str(&rest[..at]);
        match rest.as_bytes()[at] {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            8 => out.push_str("\\b"),
            12 => out.push_str("\\f"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            byte => write!(out, "\\u{byte:04x}").expect("a String takes all"),
        }
        rest = &rest[at + 1..];
    }
    worked(rest.len())?;
    out.push_str(rest);
    out.push('"');
    Ok(())
}
