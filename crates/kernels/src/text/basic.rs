//! Lengths, joins and casts of texts.

use onlap_pg::value::chars::{self, Cast};
use onlap_pg::{Error, Result};

use crate::{Bool, Char, Cx, Entry, Int4, Int8, Text, one, three, two};

/// Functions.
pub const ENTRIES: &[Entry] = &[
    ("textcat(text,text)", |_| two::<Text, Text, Text>(join)),
    ("length(text)", |_| one::<Text, Int4>(|a, _| Ok(count(a)))),
    ("textlen(text)", |_| one::<Text, Int4>(|a, _| Ok(count(a)))),
    ("char_length(text)", |_| one::<Text, Int4>(|a, _| Ok(count(a)))),
    ("character_length(text)", |_| one::<Text, Int4>(|a, _| Ok(count(a)))),
    ("length(bpchar)", |_| one::<Text, Int4>(|a, _| Ok(count(chars::key(a))))),
    ("char_length(bpchar)", |_| one::<Text, Int4>(|a, _| Ok(count(chars::key(a))))),
    ("character_length(bpchar)", |_| one::<Text, Int4>(|a, _| Ok(count(chars::key(a))))),
    ("octet_length(text)", |_| one::<Text, Int4>(|a, _| Ok(a.len() as i32))),
    ("octet_length(bpchar)", |_| one::<Text, Int4>(|a, _| Ok(a.len() as i32))),
    ("bit_length(text)", |_| one::<Text, Int4>(|a, _| bits(a.len()))),
    ("text(bpchar)", |_| one::<Text, Text>(|a, _| Ok(chars::key(a).into()))),
    ("text(name)", |_| one::<Text, Text>(|a, _| Ok(a.into()))),
    ("text(bool)", |_| one::<Bool, Text>(|a, _| Ok(if a { "true" } else { "false" }.into()))),
    ("text(char)", |_| one::<Char, Text>(|a, _| Ok(chars::print_char(a)))),
    ("varchar(name)", |_| one::<Text, Text>(|a, _| Ok(a.into()))),
    ("bpchar(name)", |_| one::<Text, Text>(|a, _| Ok(a.into()))),
    ("bpchar(char)", |_| one::<Char, Text>(|a, _| Ok(chars::print_char(a)))),
    ("name(text)", |_| one::<Text, Text>(|a, _| Ok(chars::to_name(a).into()))),
    ("name(varchar)", |_| one::<Text, Text>(|a, _| Ok(chars::to_name(a).into()))),
    ("name(bpchar)", |_| one::<Text, Text>(|a, _| Ok(chars::key(chars::to_name(a)).into()))),
    ("char(text)", |_| one::<Text, Char>(|a, _| Ok(chars::parse_char(a)))),
    ("char(int4)", |_| one::<Int4, Char>(|a, _| char_of(a))),
    ("int4(char)", |_| one::<Char, Int4>(|a, _| Ok(i32::from(a as i8)))),
    ("varchar(varchar,int4,bool)", |_| {
        three::<Text, Int4, Bool, Text>(|a, modifier, explicit, _| {
            Ok(chars::to_varchar(a, modifier, cast(explicit))?.into())
        })
    }),
    ("bpchar(bpchar,int4,bool)", |_| {
        three::<Text, Int4, Bool, Text>(|a, modifier, explicit, _| {
            chars::to_bpchar(a, modifier, cast(explicit))
        })
    }),
    ("nameconcatoid(name,oid)", |_| {
        two::<Text, crate::OidTy, Text>(|name, oid, _| {
            let suffix = format!("_{oid}");
            let mut end = name.len().min(chars::NAME_BYTES - suffix.len());
            while !name.is_char_boundary(end) {
                end -= 1;
            }
            Ok([&name[..end], &suffix].concat())
        })
    }),
    ("to_hex(int4)", |_| one::<Int4, Text>(|a, _| Ok(format!("{a:x}")))),
    ("to_hex(int8)", |_| one::<Int8, Text>(|a, _| Ok(format!("{a:x}")))),
    ("ascii(text)", |_| {
        one::<Text, Int4>(|a, _| Ok(a.chars().next().map_or(0, |c| u32::from(c) as i32)))
    }),
    ("chr(int4)", |_| one::<Int4, Text>(|a, _| chr(a))),
    ("to_ascii(text)", |_| one::<Text, Text>(|_, _| Err(no_ascii()))),
];

fn count(text: &str) -> i32 {
    // A value has less than 2^30 bytes.
    text.chars().count() as i32
}

/// Bits of so many bytes.
pub(super) fn bits(bytes: usize) -> Result<i32> {
    i32::try_from(bytes * 8).map_err(|_| Error::new("22003", "integer out of range"))
}

fn cast(explicit: bool) -> Cast {
    if explicit { Cast::Explicit } else { Cast::Assignment }
}

fn join(a: &str, b: &str, cx: &mut Cx<'_>) -> Result<String> {
    cx.room(a.len().saturating_add(b.len()))?;
    Ok([a, b].concat())
}

fn char_of(value: i32) -> Result<u8> {
    match i8::try_from(value) {
        Ok(byte) => Ok(byte as u8),
        Err(_) => Err(Error::new("22003", "\"char\" out of range")),
    }
}

fn chr(value: i32) -> Result<String> {
    let refused = |text: String| Err(Error::new("54000", text));
    match value {
        ..0 => Err(Error::new("22023", "character number must be positive")),
        0 => refused("null character not permitted".into()),
        0x11_0000.. => refused(format!("requested character too large for encoding: {value}")),
        _ => match char::from_u32(value as u32) {
            Some(c) => Ok(c.into()),
            None => refused(format!("requested character not valid for encoding: {value}")),
        },
    }
}

fn no_ascii() -> Error {
    Error::new("0A000", "encoding conversion from UTF8 to ASCII not supported")
}
