//! How are arrays, rows, json, addresses and names of objects read and written?
//!
//! What [`crate::input`] and its like have no arm for comes here; `None` says that there is none here either.
//! Thread safety: pure functions.

use std::cmp::Ordering;

use onlap_pg::catalog::{Kind, oids};
use onlap_pg::value::{left_over, utf8, xml as value_xml};
use onlap_pg::{Error, Oid, Result, TypeRef};

use super::net::Address;
use super::{enums, geometric, lsn, mac, named, versions};
use crate::array::{row_text, text as array_text};
use crate::extension::hstore;
use crate::json::{path, read, write};
use crate::range::text as range_text;
use crate::{Cx, Datum, search, xml};

/// Whether values of a type are records.
fn is_row(cx: &Cx<'_>, oid: Oid) -> bool {
    oid == oids::RECORD || cx.catalog.get_type(oid).is_some_and(|t| t.kind == Kind::Composite)
}

/// Reads a text.
pub(crate) fn input(
    cx: &mut Cx<'_>,
    (oid, modifier): (Oid, i32),
    text: &str,
) -> Result<Option<Datum<'static>>> {
    Ok(Some(match oid {
        114 => {
            read::check(text)?;
            Datum::text(text)
        }
        142 => {
            xml::check(text, cx.settings.xml.shape, cx)?;
            Datum::text(text)
        }
        3802 => Datum::bytes(write::parse(text, cx)?),
        4072 => Datum::text(path::canonical(text)?),
        869 | 650 => Datum::bytes(Address::parse(text, oid == 650)?.store()),
        829 => Datum::bytes(mac::parse6(text)?),
        774 => Datum::bytes(mac::parse8(text)?),
        27 => Datum::bytes(versions::tid_input(text)?),
        3220 => Datum::bytes(lsn::parse(text)?),
        // txid_snapshot is an older name.
        2970 | 5038 => Datum::bytes(versions::snapshot_input(text)?),
        oid if geometric::is_served(oid) => Datum::bytes(geometric::input(oid, text, cx)?),
        oids::HSTORE => Datum::bytes(hstore::parse(text, cx)?),
        3614 => Datum::bytes(search::words::parse(text, cx)?),
        3615 => Datum::bytes(search::parse_query(text, cx)?),
        22 => Datum::bytes(array_text::vector_input(21, text)?),
        30 => Datum::bytes(array_text::vector_input(26, text)?),
        // Which roles there are, the session knows.
        1033 => named::ask(cx, oid, "in", Datum::text(text))?,
        oids::RECORD => {
            let message = "input of anonymous composite types is not implemented";
            return Err(Error::new("0A000", message));
        }
        oid if named::is_served(oid) => named::input(cx, oid, text)?,
        oid => match cx.catalog.element(oid) {
            Some(element) => {
                Datum::bytes(array_text::input(cx, TypeRef { oid: element, modifier }, text)?)
            }
            None if is_row(cx, oid) => match row_text::input(cx, oid, text)? {
                Some(bytes) => Datum::bytes(bytes),
                None => return Ok(None),
            },
            None => match range_text::input(cx, oid, text)? {
                Some(value) => value,
                None => return enums::read(cx.catalog, oid, text),
            },
        },
    }))
}

/// Writes a value that is not NULL; whether that is done here.
pub(crate) fn output(
    cx: &mut Cx<'_>,
    oid: Oid,
    value: &Datum<'_>,
    out: &mut String,
) -> Result<bool> {
    let bytes = match value {
        Datum::Bytes(bytes) => bytes,
        Datum::Oid(value) if named::is_served(oid) => {
            named::output(cx, oid, *value, out)?;
            return Ok(true);
        }
        Datum::Float8(order) => match enums::label(cx.catalog, oid, *order)? {
            Some(label) => {
                out.push_str(label);
                return Ok(true);
            }
            None => return Ok(false),
        },
        _ => return Ok(false),
    };
    match oid {
        3802 => write::print(bytes, out)?,
        869 => out.push_str(&Address::load(bytes).print(false)),
        650 => out.push_str(&Address::load(bytes).print(true)),
        829 | 774 => out.push_str(&mac::print(bytes)),
        27 => versions::tid_output(bytes, out),
        3220 => out.push_str(&lsn::print(bytes)),
        2970 | 5038 => versions::snapshot_output(bytes, out),
        oid if geometric::is_served(oid) => geometric::output(oid, bytes, cx, out)?,
        oids::HSTORE => hstore::print(bytes, cx, out)?,
        3614 => search::words::print(bytes, cx, out)?,
        3615 => search::print_query(bytes, out),
        22 => array_text::vector_output(21, bytes, out)?,
        30 => array_text::vector_output(26, bytes, out)?,
        oid if is_row(cx, oid) => row_text::output(cx, bytes, out)?,
        oid => match cx.catalog.element(oid) {
            Some(element) => array_text::output(cx, element, bytes, out)?,
            None => return range_text::output(cx, oid, bytes, out),
        },
    }
    Ok(true)
}

/// Reads the binary form.
pub(crate) fn recv(
    cx: &mut Cx<'_>,
    (oid, modifier): (Oid, i32),
    bytes: &[u8],
) -> Result<Option<Datum<'static>>> {
    let versioned = |name: &str| match bytes.split_first() {
        Some((1, rest)) => utf8::text(rest),
        Some((version, _)) => {
            Err(Error::internal(format!("unsupported {name} version number {version}")))
        }
        None => Err(Error::new("08P01", "no data left in message")),
    };
    Ok(Some(match oid {
        142 => xml::recv(bytes, cx)?,
        3802 => Datum::bytes(write::parse(versioned("jsonb")?, cx)?),
        4072 => Datum::text(path::canonical(versioned("jsonpath")?)?),
        869 | 650 => Datum::bytes(Address::recv(bytes, oid == 650)?.store()),
        829 | 774 => match bytes.len() {
            6 if oid == 774 => Datum::bytes([&bytes[..3], &[0xff, 0xfe], &bytes[3..]].concat()),
            // PostgreSQL reads single bytes in another way.
            length if length < if oid == 829 { 6 } else { 8 } => {
                return Err(Error::new("08P01", "no data left in message"));
            }
            _ => Datum::bytes(sized(bytes, if oid == 829 { 6 } else { 8 })?),
        },
        27 => Datum::bytes(sized(bytes, 6)?),
        3220 => Datum::bytes(sized(bytes, 8)?),
        2970 | 5038 => Datum::bytes(versions::snapshot_recv(bytes)?),
        oid if geometric::is_served(oid) => Datum::bytes(geometric::recv(oid, bytes)?),
        oids::HSTORE => Datum::bytes(hstore::recv(bytes, cx)?),
        3614 => Datum::bytes(search::words::recv(bytes, cx)?),
        3615 => Datum::bytes(search::recv_query(bytes, cx)?),
        22 => Datum::bytes(array_text::vector_recv(cx, 21, bytes)?),
        30 => Datum::bytes(array_text::vector_recv(cx, 26, bytes)?),
        oids::RECORD => {
            let message = "input of anonymous composite types is not implemented";
            return Err(Error::new("0A000", message));
        }
        oid => match cx.catalog.element(oid) {
            Some(element) => {
                Datum::bytes(array_text::recv(cx, TypeRef { oid: element, modifier }, bytes)?)
            }
            None if is_row(cx, oid) => match row_text::recv(cx, oid, bytes)? {
                Some(bytes) => Datum::bytes(bytes),
                None => return Ok(None),
            },
            None => {
                if let Some(value) = range_text::recv(cx, oid, bytes)? {
                    return Ok(Some(value));
                }
                return enums::read(cx.catalog, oid, utf8::text(bytes)?);
            }
        },
    }))
}

/// As many bytes as a type has.
fn sized(bytes: &[u8], length: usize) -> Result<&[u8]> {
    match bytes.len().cmp(&length) {
        Ordering::Less => Err(Error::new("08P01", "insufficient data left in message")),
        Ordering::Equal => Ok(bytes),
        Ordering::Greater => Err(left_over()),
    }
}

/// Writes the binary form of a value that is not NULL; whether that is done here.
pub(crate) fn send(
    cx: &mut Cx<'_>,
    oid: Oid,
    value: &Datum<'_>,
    out: &mut Vec<u8>,
) -> Result<bool> {
    let bytes = match value {
        Datum::Bytes(bytes) => bytes,
        Datum::Text(text) if oid == 142 => {
            let mut printed = String::new();
            value_xml::print(text, &mut printed);
            out.extend_from_slice(printed.as_bytes());
            return Ok(true);
        }
        Datum::Text(text) if oid == 4072 => {
            out.push(1);
            out.extend_from_slice(text.as_bytes());
            return Ok(true);
        }
        Datum::Float8(order) => match enums::label(cx.catalog, oid, *order)? {
            Some(label) => {
                out.extend_from_slice(label.as_bytes());
                return Ok(true);
            }
            None => return Ok(false),
        },
        _ => return Ok(false),
    };
    match oid {
        3802 => {
            let mut text = String::new();
            write::print(bytes, &mut text)?;
            out.push(1);
            out.extend_from_slice(text.as_bytes());
        }
        869 | 650 => Address::load(bytes).send(oid == 650, out),
        829 | 774 | oids::HSTORE | 27 | 2970 | 5038 | 3220 | 3614 | 3615 => {
            out.extend_from_slice(bytes)
        }
        oid if geometric::is_served(oid) => out.extend_from_slice(bytes),
        oid if is_row(cx, oid) => row_text::send(cx, bytes, out)?,
        oid => match cx.catalog.element(oid) {
            Some(element) => array_text::send(cx, element, bytes, out)?,
            None => return range_text::send(cx, oid, bytes, out),
        },
    }
    Ok(true)
}
