//! What do functions of Unicode's own give: normal forms, characters by their numbers?

use onlap_pg::{Error, Result};
use unicode_normalization::UnicodeNormalization;

use crate::{Bool, Cx, Entry, Text, one, two};

/// Functions.
pub const ENTRIES: &[Entry] = &[
    ("normalize(text,text)", |_| two::<Text, Text, Text>(normalize)),
    ("is_normalized(text,text)", |_| {
        two::<Text, Text, Bool>(|text, form, cx| Ok(normalize(text, form, cx)? == text))
    }),
    ("unistr(text)", |_| one::<Text, Text>(unistr)),
];

fn normalize(text: &str, form: &str, cx: &mut Cx<'_>) -> Result<String> {
    const FORMS: [&str; 4] = ["NFC", "NFD", "NFKC", "NFKD"];
    let Some(at) = FORMS.iter().position(|known| known.eq_ignore_ascii_case(form)) else {
        return Err(Error::new("22023", format!("invalid normalization form: {form}")));
    };
    if text.is_ascii() {
        return Ok(text.into());
    }
    // One character becomes 18 at most.
    cx.room(text.len().saturating_mul(18).min(onlap_pg::value::MAX_BYTES))?;
    match at {
        0 => collected(text.nfc(), cx),
        1 => collected(text.nfd(), cx),
        2 => collected(text.nfkc(), cx),
        _ => collected(text.nfkd(), cx),
    }
}

fn collected(chars: impl Iterator<Item = char>, cx: &Cx<'_>) -> Result<String> {
    let mut out = String::new();
    for c in chars {
        cx.worked(1)?;
        out.push(c);
    }
    Ok(out)
}

fn unistr(text: &str, cx: &mut Cx<'_>) -> Result<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    // The first half of a pair of surrogates.
    let mut high: Option<u32> = None;
    while let Some(c) = rest.chars().next() {
        cx.worked(1)?;
        if c != '\\' || rest.starts_with("\\\\") {
            if high.is_some() {
                return Err(bad_pair());
            }
            out.push(c);
            rest = &rest[if c == '\\' { 2 } else { c.len_utf8() }..];
            continue;
        }
        let (number, length) = number(rest).ok_or_else(|| {
            Error::new("42601", "invalid Unicode escape")
                .hint("Unicode escapes must be \\XXXX, \\+XXXXXX, \\uXXXX, or \\UXXXXXXXX.")
        })?;
        rest = &rest[length..];
        if number == 0 || number > 0x10_ffff {
            let message = format!("invalid Unicode code point: {number:04X}");
            return Err(Error::new("22023", message));
        }
        match (high.take(), number) {
            (Some(first), 0xdc00..0xe000) => {
                let c = 0x1_0000 + ((first & 0x3ff) << 10) + (number & 0x3ff);
                out.push(char::from_u32(c).expect("a pair is a character"));
            }
            (None, 0xd800..0xdc00) => high = Some(number),
            (Some(_), _) | (None, 0xdc00..0xe000) => return Err(bad_pair()),
            (None, number) => out.push(char::from_u32(number).expect("no surrogate, in range")),
        }
    }
    if high.is_some() { Err(bad_pair()) } else { Ok(out) }
}

fn bad_pair() -> Error {
    Error::new("42601", "invalid Unicode surrogate pair")
}

/// The number that stands behind a backslash, and the bytes of both.
fn number(text: &str) -> Option<(u32, usize)> {
    let (skipped, digits) = match text.as_bytes().get(1)? {
        b'u' => (2, 4),
        b'U' => (2, 8),
        b'+' => (2, 6),
        _ => (1, 4),
    };
    let hex = text.get(skipped..skipped + digits)?;
    if !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    Some((u32::from_str_radix(hex, 16).ok()?, skipped + digits))
}
