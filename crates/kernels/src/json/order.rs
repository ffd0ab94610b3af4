//! Which bytes sort as jsonb values do?
//!
//! PostgreSQL compares as it walks: first the kind of a value, then how many elements or pairs a container has, then these
//! in turn. A scalar on its own is walked as an array of one, before a real array of one: so `[]` comes before `null`. Kinds
//! sort as null, string, number, boolean, array, object. Keys of pairs are compared as strings, in their stored order.
//! Thread safety: pure functions.

use onlap_pg::value::numeric::Numeric;
use onlap_pg::{Result, worked};

use super::form::{Node, node};

const NULL: u8 = 1;
const TEXT: u8 = 2;
const NUMBER: u8 = 3;
const BOOL: u8 = 4;
const ARRAY: u8 = 5;
const OBJECT: u8 = 6;

/// Appends the key of a value; none is the beginning of another.
pub(crate) fn key(bytes: &[u8], out: &mut Vec<u8>) {
    put(bytes, out, &mut |_| Ok(())).expect("nothing is asked");
}

/// The same, which asks whether the statement is still wanted.
///
/// # Errors
/// `57014`.
pub(super) fn key_asking(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    put(bytes, out, &mut worked)
}

/// Notes work.
type Ask<'a> = &'a mut dyn FnMut(usize) -> Result<()>;

fn put(bytes: &[u8], out: &mut Vec<u8>, ask: Ask<'_>) -> Result<()> {
    match node(bytes) {
        Node::Object(_) => inner(bytes, out, ask),
        Node::Array(items) => {
            out.push(ARRAY);
            out.extend_from_slice(&(items.len() as u32).to_be_bytes());
            out.push(1);
            items.iter().try_for_each(|item| inner(item, out, ask))
        }
        _ => {
            out.push(ARRAY);
            out.extend_from_slice(&1_u32.to_be_bytes());
            out.push(0);
            inner(bytes, out, ask)
        }
    }
}

fn inner(bytes: &[u8], out: &mut Vec<u8>, ask: Ask<'_>) -> Result<()> {
    ask(8)?;
    match node(bytes) {
        Node::Null => out.push(NULL),
        Node::Text(text) => {
            ask(text.len())?;
            out.push(TEXT);
            put_text(text, out);
        }
        Node::Number(number) => {
            out.push(NUMBER);
            Numeric::load(number).key(out);
        }
        Node::Bool(value) => out.extend_from_slice(&[BOOL, u8::from(value)]),
        Node::Array(items) => {
            out.push(ARRAY);
            out.extend_from_slice(&(items.len() as u32).to_be_bytes());
            items.iter().try_for_each(|item| inner(item, out, ask))?;
        }
        Node::Object(pairs) => {
            out.push(OBJECT);
            out.extend_from_slice(&(pairs.len() as u32).to_be_bytes());
            for (key, value) in pairs.iter() {
                put_text(key, out);
                inner(value, out, ask)?;
            }
        }
    }
    Ok(())
}

/// No string of jsonb has a zero byte, so one ends it.
fn put_text(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}
