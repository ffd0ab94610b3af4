//! How are arrays written, as text and in binary?
//!
//! A text is gone over twice: first its braces, quotes and commas, which say what the dimensions are, then the elements, each
//! with the input function of their type. So a text with wrong braces says so whatever its elements are.
//! Thread safety: pure functions.

use std::borrow::Cow;
use std::fmt::Write as _;

use onlap_pg::value::left_over;
use onlap_pg::{Error, Oid, Result, TypeRef};

use super::form::{Array, Builder, Dim, MAX_DIMENSIONS, MAX_ITEMS, count};
use super::item::{self, Item};
use crate::misc::geometric;
use crate::misc::growth::Growth;
use crate::{Cx, Datum, Repr, repr};

/// White space between the parts of an array.
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

/// "malformed array literal".
pub(crate) fn malformed(text: &str, detail: &str) -> Error {
    Error::new("22P02", format!("malformed array literal: \"{text}\"")).detail(detail)
}

/// What is between the elements of an array: of boxes, whose texts have commas, a semicolon.
fn delimiter(element: Oid) -> u8 {
    if element == geometric::BOX { b';' } else { b',' }
}

/// How the elements of an array type are represented.
pub(crate) fn element_repr(cx: &Cx<'_>, element: Oid) -> Result<Repr> {
    repr(cx.catalog, element).ok_or_else(|| {
        let shown = cx.catalog.shown(element);
        Error::unserved(format!("values of type {shown} are not supported"))
    })
}

/// array_in for elements of a type.
pub(crate) fn input(cx: &mut Cx<'_>, element: TypeRef, text: &str) -> Result<Vec<u8>> {
    let own = element_repr(cx, element.oid)?;
    let (declared, start) = bounds(text)?;
    let commas = text.bytes().filter(|byte| *byte == b',').count();
    Growth::new().memory(cx, text.len().saturating_add(commas * size_of::<Item<'_>>()))?;
    let (lengths, items) = item::split(text, start, delimiter(element.oid))?;
    let dims = match declared {
        None => lengths.iter().map(|length| Dim::new(*length)).collect(),
        Some(dims) => {
            let declared = dims.iter().map(|dim| i64::from(dim.length));
            let same = declared.eq(lengths.iter().map(|length| *length as i64));
            if !same {
                let detail = "Specified array dimensions do not match array contents.";
                return Err(malformed(text, detail));
            }
            dims
        }
    };
    count(&dims)?;
    let mut builder = Builder::new(own);
    for (at, item) in items.iter().enumerate() {
        if at % 1024 == 0 {
            cx.go_on()?;
        }
        let value = match item {
            Item::Null => {
                cx.keep_to(element.oid, &Datum::Null)?;
                Datum::Null
            }
            Item::Text(text) => crate::input(cx, element, text)?,
        };
        builder.push(&value)?;
    }
    Ok(builder.finish_as(&dims))
}

/// The dimensions before an equals sign, if there are some, and where the brace is.
fn bounds(text: &str) -> Result<(Option<Vec<Dim>>, usize)> {
    let bytes = text.as_bytes();
    let skip = |mut at: usize| {
        while bytes.get(at).is_some_and(|byte| is_space(*byte)) {
            at += 1;
        }
        at
    };
    let mut dims = Vec::new();
    let mut at = skip(0);
    while bytes.get(at) == Some(&b'[') {
        if dims.len() >= MAX_DIMENSIONS {
            return Err(too_many(dims.len() + 1));
        }
        let (first, end) = bound(text, at + 1);
        if end == at + 1 {
            let detail = "\"[\" must introduce explicitly-specified array dimensions.";
            return Err(malformed(text, detail));
        }
        let (lower, upper, end) = match bytes.get(end) {
            Some(b':') => {
                let (second, stop) = bound(text, end + 1);
                if stop == end + 1 {
                    return Err(malformed(text, "Missing array dimension value."));
                }
                (first, second, stop)
            }
            _ => (1, first, end),
        };
        if bytes.get(end) != Some(&b']') {
            return Err(malformed(text, "Missing \"]\" after array dimensions."));
        }
        dims.push(dimension(lower, upper)?);
        at = skip(end + 1);
    }
    if dims.is_empty() {
        if bytes.get(at) != Some(&b'{') {
            let detail = "Array value must start with \"{\" or dimension information.";
            return Err(malformed(text, detail));
        }
        return Ok((None, at));
    }
    if bytes.get(at) != Some(&b'=') {
        return Err(malformed(text, "Missing \"=\" after array dimensions."));
    }
    let at = skip(at + 1);
    if bytes.get(at) != Some(&b'{') {
        return Err(malformed(text, "Array contents must start with \"{\"."));
    }
    Ok((Some(dims), at))
}

fn dimension(lower: i32, upper: i32) -> Result<Dim> {
    if upper < lower {
        return Err(Error::new("2202E", "upper bound cannot be less than lower bound"));
    }
    // What overflows is the length of no array.
    Ok(Dim { length: upper.wrapping_sub(lower).wrapping_add(1), lower })
}

/// "number of array dimensions … exceeds the maximum allowed".
pub(crate) fn too_many(dims: usize) -> Error {
    let message = format!(
        "number of array dimensions ({dims}) exceeds the maximum allowed ({MAX_DIMENSIONS})"
    );
    Error::new("54000", message)
}

/// Digits and signs, and what C's atoi makes of them: the first number, cut to 32 bits.
fn bound(text: &str, start: usize) -> (i32, usize) {
    let bytes = text.as_bytes();
    let wanted = |byte: &&u8| byte.is_ascii_digit() || matches!(**byte, b'-' | b'+');
    let end = start + bytes[start..].iter().take_while(wanted).count();
    let digits = &text[start..end];
    let negative = digits.starts_with('-');
    let mut value = 0_i64;
    for byte in digits.trim_start_matches(['-', '+']).bytes().take_while(u8::is_ascii_digit) {
        value = value.saturating_mul(10).saturating_add(i64::from(byte - b'0'));
    }
    (if negative { value.wrapping_neg() } else { value } as i32, end)
}

/// array_out.
pub(crate) fn output(cx: &mut Cx<'_>, element: Oid, bytes: &[u8], out: &mut String) -> Result<()> {
    let array = Array::load(bytes, element_repr(cx, element)?);
    if array.is_empty() {
        out.push_str("{}");
        return Ok(());
    }
    let dims = array.dims();
    if dims.iter().any(|dim| dim.lower != 1) {
        for dim in &dims {
            write!(out, "[{}:{}]", dim.lower, dim.upper()).expect("a String takes all");
        }
        out.push('=');
    }
    let mut held = String::new();
    let mut growth = Growth::new();
    let mut write = |at: usize, out: &mut String| -> Result<()> {
        if at.is_multiple_of(1024) {
            cx.go_on()?;
            growth.value(cx, out.len())?;
        }
        match array.get(at) {
            Datum::Null => out.push_str("NULL"),
            value => {
                held.clear();
                crate::output(cx, element, &value, &mut held)?;
                item::quote(&held, delimiter(element), out);
            }
        }
        Ok(())
    };
    nested(&dims, &mut 0, ['{', char::from(delimiter(element)), '}'], out, &mut write)
}

/// Writes elements with brackets around each dimension's, and a mark between.
pub(crate) fn nested(
    dims: &[Dim],
    at: &mut usize,
    marks @ [open, between, close]: [char; 3],
    out: &mut String,
    write: &mut dyn FnMut(usize, &mut String) -> Result<()>,
) -> Result<()> {
    let Some((dim, inner)) = dims.split_first() else {
        *at += 1;
        return write(*at - 1, out);
    };
    out.push(open);
    for n in 0..dim.length {
        if n > 0 {
            out.push(between);
        }
        nested(inner, at, marks, out, write)?;
    }
    out.push(close);
    Ok(())
}

/// array_send.
pub(crate) fn send(cx: &mut Cx<'_>, element: Oid, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let array = Array::load(bytes, element_repr(cx, element)?);
    out.extend_from_slice(&(array.ndims() as i32).to_be_bytes());
    out.extend_from_slice(&i32::from(array.has_nulls()).to_be_bytes());
    out.extend_from_slice(&element.to_be_bytes());
    for dim in array.dims() {
        out.extend_from_slice(&dim.length.to_be_bytes());
        out.extend_from_slice(&dim.lower.to_be_bytes());
    }
    for (at, value) in array.iter().enumerate() {
        if at % 1024 == 0 {
            cx.go_on()?;
        }
        send_field(cx, element, &value, out)?;
    }
    Ok(())
}

/// A value with its length before it; -1 for NULL.
pub(crate) fn send_field(
    cx: &mut Cx<'_>,
    oid: Oid,
    value: &Datum<'_>,
    out: &mut Vec<u8>,
) -> Result<()> {
    if value.is_null() {
        out.extend_from_slice(&(-1_i32).to_be_bytes());
        return Ok(());
    }
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    crate::send(cx, oid, value, out)?;
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

/// What is left of a message.
pub(crate) struct Message<'a>(pub(crate) &'a [u8]);

impl<'a> Message<'a> {
    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let Some((head, rest)) = self.0.split_at_checked(length) else {
            return Err(Error::new("08P01", "insufficient data left in message"));
        };
        self.0 = rest;
        Ok(head)
    }

    pub(crate) fn int4(&mut self) -> Result<i32> {
        let bytes = self.take(4)?;
        Ok(i32::from_be_bytes(bytes.try_into().expect("four bytes were taken")))
    }

    /// Fails where something is left.
    pub(crate) fn ended(&self) -> Result<()> {
        if self.0.is_empty() { Ok(()) } else { Err(left_over()) }
    }

    /// A value with its length before it; `None` for NULL.
    pub(crate) fn field(&mut self) -> Result<Option<&'a [u8]>> {
        match self.int4()? {
            -1 => Ok(None),
            length => {
                let length = usize::try_from(length).ok().filter(|length| *length <= self.0.len());
                let none = || Error::new("22P03", "insufficient data left in message");
                self.take(length.ok_or_else(none)?).map(Some)
            }
        }
    }
}

/// array_recv.
pub(crate) fn recv(cx: &mut Cx<'_>, element: TypeRef, bytes: &[u8]) -> Result<Vec<u8>> {
    let own = element_repr(cx, element.oid)?;
    let mut message = Message(bytes);
    let ndims = message.int4()?;
    let Ok(ndims) = usize::try_from(ndims) else {
        return Err(Error::new("22P03", format!("invalid number of dimensions: {ndims}")));
    };
    if ndims > MAX_DIMENSIONS {
        return Err(too_many(ndims));
    }
    if !matches!(message.int4()?, 0 | 1) {
        return Err(Error::new("22P03", "invalid array flags"));
    }
    let sent = message.int4()? as u32;
    if sent != element.oid {
        let (sent_name, own_name) = (cx.catalog.shown(sent), cx.catalog.shown(element.oid));
        return Err(Error::new(
            "42804",
            format!(
                "binary data has array element type {sent} ({sent_name}) instead of expected {} ({own_name})",
                element.oid
            ),
        ));
    }
    let mut dims = Vec::new();
    for _ in 0..ndims {
        dims.push(Dim { length: message.int4()?, lower: message.int4()? });
    }
    let items = count(&dims)?;
    // Each element has at least four bytes in the message.
    if items > MAX_ITEMS || items > message.0.len() / 4 {
        return Err(Error::new("08P01", "insufficient data left in message"));
    }
    let mut builder = Builder::new(own);
    for at in 0..items {
        let value = match message.field()? {
            Some(bytes) => {
                crate::recv(cx, element, bytes).map_err(|e| part_of(e, "array element", at))?
            }
            None => {
                cx.keep_to(element.oid, &Datum::Null)?;
                Datum::Null
            }
        };
        builder.push(&value)?;
    }
    message.ended()?;
    Ok(builder.finish_as(&dims))
}

/// The error of a part of what was sent, which is the `at`-th, from 0: one that goes on behind its value is said in other words.
pub(crate) fn part_of(error: Error, what: &str, at: usize) -> Error {
    match error == left_over() {
        true => Error::new("22P03", format!("improper binary format in {what} {}", at + 1)),
        false => error,
    }
}

/// int2vectorin and oidvectorin: numbers with blanks between, counted from 0.
pub(crate) fn vector_input(element: Oid, text: &str) -> Result<Vec<u8>> {
    let mut builder = Builder::new(if element == 21 { Repr::Int2 } else { Repr::Oid });
    let mut rest = text.trim_start_matches(|c: char| c.is_ascii() && is_space(c as u8));
    while !rest.is_empty() {
        let end = rest.find(' ').unwrap_or(rest.len());
        let word: Cow<'_, str> = Cow::Borrowed(&rest[..end]);
        let value = match element {
            21 => Datum::Int2(onlap_pg::value::int::parse_int2(&word)?),
            _ => Datum::Oid(onlap_pg::value::int::parse_oid(&word)?),
        };
        builder.push(&value)?;
        rest = rest[end..].trim_start_matches(|c: char| c.is_ascii() && is_space(c as u8));
    }
    Ok(builder.finish_vector())
}

/// int2vectorrecv and oidvectorrecv.
pub(crate) fn vector_recv(cx: &mut Cx<'_>, element: Oid, bytes: &[u8]) -> Result<Vec<u8>> {
    let read = recv(cx, TypeRef::new(element), bytes)?;
    let array = Array::load(&read, element_repr(cx, element)?);
    let good = array.is_empty() || array.ndims() == 1 && array.dim(0).lower == 0;
    if !good || array.has_nulls() {
        let name = if element == 21 { "int2vector" } else { "oidvector" };
        return Err(Error::new("22P03", format!("invalid {name} data")));
    }
    let mut builder = Builder::new(array.repr());
    builder.extend(&array)?;
    Ok(builder.finish_vector())
}

/// int2vectorout and oidvectorout.
///
/// # Errors
/// `42804`: ARRAY[…] made something that is none, of other dimensions or with NULL.
pub(crate) fn vector_output(element: Oid, bytes: &[u8], out: &mut String) -> Result<()> {
    let array = Array::load(bytes, if element == 21 { Repr::Int2 } else { Repr::Oid });
    if array.ndims() != 1 || array.has_nulls() {
        let name = if element == 21 { "int2vector" } else { "oidvector" };
        return Err(Error::new("42804", format!("array is not a valid {name}")));
    }
    for (at, value) in array.iter().enumerate() {
        if at > 0 {
            out.push(' ');
        }
        match value {
            Datum::Int2(value) => write!(out, "{value}"),
            Datum::Oid(value) => write!(out, "{value}"),
            other => unreachable!("{other:?} in a vector"),
        }
        .expect("a String takes all");
    }
    Ok(())
}
