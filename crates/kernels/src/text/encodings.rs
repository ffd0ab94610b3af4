//! How do texts become bytes of another encoding, and bytes texts?
//!
//! UTF-8 is the server's; LATIN1 and SQL_ASCII are served beside it.

use onlap_pg::{Error, Result};

use crate::{Bytes, Cx, Entry, Int4, Text, one, three, two};

/// Functions.
pub const ENTRIES: &[Entry] = &[
    ("convert_from(bytea,name)", |_| {
        two::<Bytes, Text, Text>(|bytes, name, cx| {
            let encoding = named(name, "source")?;
            cx.room(bytes.len().saturating_mul(2))?;
            from(bytes, encoding, cx)
        })
    }),
    ("convert_to(text,name)", |_| {
        two::<Text, Text, Bytes>(|text, name, cx| {
            let encoding = named(name, "destination")?;
            cx.room(text.len())?;
            to(text, encoding, cx)
        })
    }),
    ("convert(bytea,name,name)", |_| three::<Bytes, Text, Text, Bytes>(convert)),
    ("pg_encoding_to_char(int4)", |_| {
        one::<Int4, Text>(|number, _| {
            let at = usize::try_from(number).ok();
            Ok(at.and_then(|at| NUMBERED.get(at)).copied().unwrap_or_default().into())
        })
    }),
    ("pg_char_to_encoding(name)", |_| {
        one::<Text, Int4>(|name, _| {
            let number = match find(name) {
                Some(Encoding::Utf8) => Some(6),
                Some(Encoding::Latin1) => Some(8),
                Some(Encoding::Ascii) => Some(0),
                Some(Encoding::Other(name)) => NUMBERED.iter().position(|known| *known == name),
                None => None,
            };
            Ok(number.map_or(-1, |number| number as i32))
        })
    }),
    ("length(bytea,name)", |_| {
        two::<Bytes, Text, Int4>(|bytes, name, cx| {
            let Some(encoding) = find(name) else {
                return Err(Error::new("22023", format!("invalid encoding name \"{name}\"")));
            };
            if encoding == Encoding::Ascii {
                return without_zero(bytes, "SQL_ASCII").map(|()| bytes.len() as i32);
            }
            Ok(from(bytes, encoding, cx)?.chars().count() as i32)
        })
    }),
];

/// Names of encodings by their numbers.
const NUMBERED: [&str; 42] = [
    "SQL_ASCII",
    "EUC_JP",
    "EUC_CN",
    "EUC_KR",
    "EUC_TW",
    "EUC_JIS_2004",
    "UTF8",
    "MULE_INTERNAL",
    "LATIN1",
    "LATIN2",
    "LATIN3",
    "LATIN4",
    "LATIN5",
    "LATIN6",
    "LATIN7",
    "LATIN8",
    "LATIN9",
    "LATIN10",
    "WIN1256",
    "WIN1258",
    "WIN866",
    "WIN874",
    "KOI8R",
    "WIN1251",
    "WIN1252",
    "ISO_8859_5",
    "ISO_8859_6",
    "ISO_8859_7",
    "ISO_8859_8",
    "WIN1250",
    "WIN1253",
    "WIN1254",
    "WIN1255",
    "WIN1257",
    "KOI8U",
    "SJIS",
    "BIG5",
    "GBK",
    "UHC",
    "GB18030",
    "JOHAB",
    "SHIFT_JIS_2004",
];

#[derive(Clone, Copy, PartialEq)]
enum Encoding {
    Utf8,
    Latin1,
    Ascii,
    /// One that PostgreSQL converts and this does not.
    Other(&'static str),
}

/// Names are compared without case and without what is neither a letter nor a digit.
fn find(name: &str) -> Option<Encoding> {
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    Some(match plain.as_str() {
        "utf8" | "unicode" => Encoding::Utf8,
        "latin1" | "iso88591" => Encoding::Latin1,
        "sqlascii" => Encoding::Ascii,
        _ => {
            const OTHERS: &[(&str, &str)] = &[
                ("abc", "WIN1258"),
                ("alt", "WIN866"),
                ("big5", "BIG5"),
                ("euccn", "EUC_CN"),
                ("eucjis2004", "EUC_JIS_2004"),
                ("eucjp", "EUC_JP"),
                ("euckr", "EUC_KR"),
                ("euctw", "EUC_TW"),
                ("gb18030", "GB18030"),
                ("gbk", "GBK"),
                ("iso885910", "LATIN6"),
                ("iso885913", "LATIN7"),
                ("iso885914", "LATIN8"),
                ("iso885915", "LATIN9"),
                ("iso885916", "LATIN10"),
                ("iso88592", "LATIN2"),
                ("iso88593", "LATIN3"),
                ("iso88594", "LATIN4"),
                ("iso88595", "ISO_8859_5"),
                ("iso88596", "ISO_8859_6"),
                ("iso88597", "ISO_8859_7"),
                ("iso88598", "ISO_8859_8"),
                ("iso88599", "LATIN5"),
                ("johab", "JOHAB"),
                ("koi8", "KOI8R"),
                ("koi8r", "KOI8R"),
                ("koi8u", "KOI8U"),
                ("latin10", "LATIN10"),
                ("latin2", "LATIN2"),
                ("latin3", "LATIN3"),
                ("latin4", "LATIN4"),
                ("latin5", "LATIN5"),
                ("latin6", "LATIN6"),
                ("latin7", "LATIN7"),
                ("latin8", "LATIN8"),
                ("latin9", "LATIN9"),
                ("muleinternal", "MULE_INTERNAL"),
                ("mskanji", "SJIS"),
                ("shiftjis", "SJIS"),
                ("shiftjis2004", "SHIFT_JIS_2004"),
                ("sjis", "SJIS"),
                ("tcvn", "WIN1258"),
                ("tcvn5712", "WIN1258"),
                ("uhc", "UHC"),
                ("vscii", "WIN1258"),
                ("win", "WIN1251"),
                ("win1250", "WIN1250"),
                ("win1251", "WIN1251"),
                ("win1252", "WIN1252"),
                ("win1253", "WIN1253"),
                ("win1254", "WIN1254"),
                ("win1255", "WIN1255"),
                ("win1256", "WIN1256"),
                ("win1257", "WIN1257"),
                ("win1258", "WIN1258"),
                ("win866", "WIN866"),
                ("win874", "WIN874"),
                ("win932", "SJIS"),
                ("win936", "GBK"),
                ("win949", "UHC"),
                ("win950", "BIG5"),
            ];
            let at = OTHERS.binary_search_by_key(&plain.as_str(), |(known, _)| *known).ok()?;
            Encoding::Other(OTHERS[at].1)
        }
    })
}

fn named(name: &str, which: &str) -> Result<Encoding> {
    find(name)
        .ok_or_else(|| Error::new("22023", format!("invalid {which} encoding name \"{name}\"")))
}

/// The text that bytes of an encoding are.
///
/// # Errors
/// `22023`: there is no such encoding; `22021`, `22P05`; `0A000`.
pub(crate) fn decoded(bytes: &[u8], name: &str, cx: &Cx<'_>) -> Result<String> {
    let unknown = || Error::new("22023", format!("invalid encoding name \"{name}\""));
    cx.room(bytes.len().saturating_mul(2))?;
    from(bytes, find(name).ok_or_else(unknown)?, cx)
}

fn unserved(name: &str) -> Error {
    Error::unserved(format!("encoding \"{name}\" is not supported"))
}

/// `0xe4 0xf6`, of a character that is cut off or wrong.
fn shown(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("0x{byte:02x}")).collect::<Vec<_>>().join(" ")
}

fn invalid(encoding: &str, bytes: &[u8]) -> Error {
    let message = format!("invalid byte sequence for encoding \"{encoding}\": {}", shown(bytes));
    Error::new("22021", message)
}

fn without_zero(bytes: &[u8], encoding: &str) -> Result<()> {
    if bytes.contains(&0) { Err(invalid(encoding, &[0])) } else { Ok(()) }
}

/// Bytes that are a text of an encoding.
fn from(bytes: &[u8], encoding: Encoding, cx: &Cx<'_>) -> Result<String> {
    if encoding == Encoding::Ascii {
        without_zero(bytes, "SQL_ASCII")?;
    }
    match encoding {
        Encoding::Latin1 => {
            without_zero(bytes, "LATIN1")?;
            let mut out = String::with_capacity(bytes.len());
            cx.pieces(bytes, |piece| out.extend(piece.iter().map(|byte| char::from(*byte))))?;
            Ok(out)
        }
        // What is not ASCII is taken for what the server writes.
        Encoding::Utf8 | Encoding::Ascii => match std::str::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Ok(text.into()),
            Ok(_) => Err(invalid("UTF8", &[0])),
            Err(e) => {
                let good = &bytes[..e.valid_up_to()];
                if good.contains(&0) {
                    return Err(invalid("UTF8", &[0]));
                }
                let bad = &bytes[e.valid_up_to()..];
                let length = match bad[0] {
                    0xc0..0xe0 => 2,
                    0xe0..0xf0 => 3,
                    0xf0..0xf8 => 4,
                    _ => 1,
                };
                Err(invalid("UTF8", &bad[..bad.len().min(length)]))
            }
        },
        Encoding::Other(name) => Err(unserved(name)),
    }
}

fn to(text: &str, encoding: Encoding, cx: &Cx<'_>) -> Result<Vec<u8>> {
    match encoding {
        Encoding::Utf8 | Encoding::Ascii => Ok(text.as_bytes().into()),
        Encoding::Latin1 => text
            .chars()
            .map(|c| {
                cx.worked(1)?;
                u8::try_from(u32::from(c)).map_err(|_| {
                    let mut bytes = [0; 4];
                    let message = format!(
                        "character with byte sequence {} in encoding \"UTF8\" has no equivalent in \
                         encoding \"LATIN1\"",
                        shown(c.encode_utf8(&mut bytes).as_bytes())
                    );
                    Error::new("22P05", message)
                })
            })
            .collect(),
        Encoding::Other(name) => Err(unserved(name)),
    }
}

fn convert(bytes: &[u8], source: &str, target: &str, cx: &mut Cx<'_>) -> Result<Vec<u8>> {
    let (source, target) = (named(source, "source")?, named(target, "destination")?);
    cx.room(bytes.len().saturating_mul(2))?;
    for encoding in [source, target] {
        if let Encoding::Other(name) = encoding {
            return Err(unserved(name));
        }
    }
    let plain = source == target || source == Encoding::Ascii || target == Encoding::Ascii;
    match (plain, source) {
        (false, _) => to(&from(bytes, source, cx)?, target, cx),
        // What has no encoding is taken for what it becomes.
        (true, Encoding::Ascii) => {
            without_zero(bytes, "SQL_ASCII")?;
            if target == Encoding::Utf8 {
                from(bytes, target, cx)?;
            }
            Ok(bytes.into())
        }
        (true, _) => from(bytes, source, cx).map(|_| bytes.into()),
    }
}
