//! How are bytes written with other characters, and which digest have they?

use md5::{Digest, Md5};
use onlap_pg::value::bytea;
use onlap_pg::{Error, Result};
use sha2::{Sha224, Sha256, Sha384, Sha512};

use crate::{Bytes, Cx, Entry, Text, one, two};

/// Functions.
pub const ENTRIES: &[Entry] = &[
    ("encode(bytea,text)", |_| two::<Bytes, Text, Text>(encode)),
    ("decode(text,text)", |_| two::<Text, Text, Bytes>(decode)),
    ("md5(text)", |_| one::<Text, Text>(|a, cx| hex(&digest::<Md5>(a.as_bytes(), cx)?, cx))),
    ("md5(bytea)", |_| one::<Bytes, Text>(|a, cx| hex(&digest::<Md5>(a, cx)?, cx))),
    ("sha224(bytea)", |_| one::<Bytes, Bytes>(|a, cx| digest::<Sha224>(a, cx))),
    ("sha256(bytea)", |_| one::<Bytes, Bytes>(|a, cx| digest::<Sha256>(a, cx))),
    ("sha384(bytea)", |_| one::<Bytes, Bytes>(|a, cx| digest::<Sha384>(a, cx))),
    ("sha512(bytea)", |_| one::<Bytes, Bytes>(|a, cx| digest::<Sha512>(a, cx))),
];

enum Form {
    Hex,
    Base64,
    Escape,
}

fn form(name: &str) -> Result<Form> {
    [("hex", Form::Hex), ("base64", Form::Base64), ("escape", Form::Escape)]
        .into_iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name))
        .map(|(_, form)| form)
        .ok_or_else(|| Error::new("22023", format!("unrecognized encoding: \"{name}\"")))
}

/// The digest of bytes.
pub(crate) fn digest<D: Digest>(bytes: &[u8], cx: &Cx<'_>) -> Result<Vec<u8>> {
    let mut digest = D::new();
    cx.pieces(bytes, |piece| digest.update(piece))?;
    Ok(digest.finalize().to_vec())
}

fn hex(bytes: &[u8], cx: &Cx<'_>) -> Result<String> {
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        cx.worked(1)?;
        out.extend([byte >> 4, byte & 15].map(|d| char::from(b"0123456789abcdef"[usize::from(d)])));
    }
    Ok(out)
}

fn encode(bytes: &[u8], name: &str, cx: &mut Cx<'_>) -> Result<String> {
    let form = form(name)?;
    cx.room(bytes.len().saturating_mul(if matches!(form, Form::Escape) { 4 } else { 2 }))?;
    match form {
        Form::Hex => hex(bytes, cx),
        Form::Base64 => base64(bytes, cx),
        Form::Escape => escape(bytes, cx),
    }
}

fn decode(text: &str, name: &str, cx: &mut Cx<'_>) -> Result<Vec<u8>> {
    let form = form(name)?;
    cx.room(text.len())?;
    match form {
        Form::Hex => bytea::parse_hex(text),
        Form::Base64 => from_base64(text, cx),
        Form::Escape => bytea::parse_escape(text),
    }
}

/// Bytes above 127 and NUL as octal numbers, backslashes doubled; all else as it is.
fn escape(bytes: &[u8], cx: &Cx<'_>) -> Result<String> {
    let mut out = String::with_capacity(bytes.len());
    for byte in bytes {
        cx.worked(1)?;
        match byte {
            0 | 0x80.. => out.push_str(&format!("\\{byte:03o}")),
            b'\\' => out.push_str("\\\\"),
            _ => out.push(char::from(*byte)),
        }
    }
    Ok(out)
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Characters of a line.
const LINE: usize = 76;

/// Lines of 76 characters, the last one without an end.
pub(crate) fn base64(bytes: &[u8], cx: &Cx<'_>) -> Result<String> {
    let mut out = String::with_capacity(bytes.len() / 3 * 4 + bytes.len() / 57 + 4);
    for (at, group) in bytes.chunks(3).enumerate() {
        cx.worked(group.len())?;
        if at > 0 && at % (LINE / 4) == 0 {
            out.push('\n');
        }
        let byte = |i: usize| group.get(i).map_or(0, |byte| u32::from(*byte));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * i) & 63) as usize];
            out.push(if i <= group.len() { char::from(digit) } else { '=' });
        }
    }
    Ok(out)
}

fn from_base64(text: &str, cx: &Cx<'_>) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    // Bits of a group, its digits, and how many of them are `=`.
    let (mut bits, mut digits, mut ends) = (0_u32, 0, 0);
    for c in text.chars() {
        cx.worked(1)?;
        let value = match c {
            ' ' | '\t' | '\n' | '\r' => continue,
            '=' if ends == 0 && digits < 2 => {
                return Err(Error::new("22023", "unexpected \"=\" while decoding base64 sequence"));
            }
            '=' => {
                ends = if ends == 0 { 4 - digits } else { ends };
                0
            }
            _ => match DIGITS.iter().position(|digit| char::from(*digit) == c) {
                Some(value) => value as u32,
                None => {
                    let message =
                        format!("invalid symbol \"{c}\" found while decoding base64 sequence");
                    return Err(Error::new("22023", message));
                }
            },
        };
        bits = bits << 6 | value;
        digits += 1;
        if digits == 4 {
            let bytes = [(bits >> 16) as u8, (bits >> 8) as u8, bits as u8];
            out.extend_from_slice(&bytes[..3 - ends.min(2)]);
            (bits, digits) = (0, 0);
        }
    }
    if digits != 0 {
        let hint = "Input data is missing padding, is truncated, or is otherwise corrupted.";
        return Err(Error::new("22023", "invalid base64 end sequence").hint(hint));
    }
    Ok(out)
}
