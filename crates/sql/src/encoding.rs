//! How do texts travel to clients that want another encoding than UTF-8?
//!
//! Everything inside is UTF-8. A client says by `client_encoding` how it writes and reads: what it sends is turned into
//! UTF-8 where a message comes in, what it gets where a row is written. SQL_ASCII converts nothing, as in PostgreSQL. The
//! tables are those of the crate `encoding_rs`; LATIN1, which that takes for another one, is its own.

use std::borrow::Cow;

use encoding_rs as tables;

use crate::error::{Result, SqlError};

/// An encoding that clients may ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// UTF8, and SQL_ASCII.
    #[default]
    Plain,
    /// LATIN1: each byte is the character of its number.
    Latin1,
    /// Another one, by its place in the list.
    Other(usize),
}

/// PostgreSQL's names, the names as they may be written besides, and the tables.
const OTHERS: &[(&str, &[&str], &tables::Encoding)] = &[
    ("LATIN2", &["ISO88592"], tables::ISO_8859_2),
    ("LATIN3", &["ISO88593"], tables::ISO_8859_3),
    ("LATIN4", &["ISO88594"], tables::ISO_8859_4),
    ("LATIN6", &["ISO885910"], tables::ISO_8859_10),
    ("LATIN7", &["ISO885913"], tables::ISO_8859_13),
    ("LATIN8", &["ISO885914"], tables::ISO_8859_14),
    ("LATIN9", &["ISO885915"], tables::ISO_8859_15),
    ("LATIN10", &["ISO885916"], tables::ISO_8859_16),
    ("ISO_8859_5", &["ISO88595"], tables::ISO_8859_5),
    ("ISO_8859_6", &["ISO88596"], tables::ISO_8859_6),
    ("ISO_8859_7", &["ISO88597"], tables::ISO_8859_7),
    ("ISO_8859_8", &["ISO88598"], tables::ISO_8859_8),
    ("KOI8R", &["KOI8"], tables::KOI8_R),
    ("KOI8U", &[], tables::KOI8_U),
    ("WIN866", &["ALT", "WINDOWS866"], tables::IBM866),
    ("WIN874", &["WINDOWS874"], tables::WINDOWS_874),
    ("WIN1250", &["WINDOWS1250"], tables::WINDOWS_1250),
    ("WIN1251", &["WIN", "WINDOWS1251"], tables::WINDOWS_1251),
    ("WIN1252", &["WINDOWS1252"], tables::WINDOWS_1252),
    ("WIN1253", &["WINDOWS1253"], tables::WINDOWS_1253),
    ("WIN1254", &["WINDOWS1254"], tables::WINDOWS_1254),
    ("WIN1255", &["WINDOWS1255"], tables::WINDOWS_1255),
    ("WIN1256", &["WINDOWS1256"], tables::WINDOWS_1256),
    ("WIN1257", &["WINDOWS1257"], tables::WINDOWS_1257),
    ("WIN1258", &["ABC", "TCVN", "TCVN5712", "VSCII", "WINDOWS1258"], tables::WINDOWS_1258),
    ("EUC_JP", &["EUCJP"], tables::EUC_JP),
    ("EUC_KR", &["EUCKR"], tables::EUC_KR),
    ("SJIS", &["SHIFTJIS", "MSKANJI", "WIN932", "WINDOWS932"], tables::SHIFT_JIS),
    ("BIG5", &["WIN950", "WINDOWS950"], tables::BIG5),
    ("GBK", &["WIN936", "WINDOWS936"], tables::GBK),
    ("GB18030", &[], tables::GB18030),
];

/// PostgreSQL's name of an encoding, however it is written; `None` where Onlap converts to none such.
pub fn name_of(text: &str) -> Option<&'static str> {
    let plain: String = text.chars().filter(char::is_ascii_alphanumeric).collect();
    let plain = plain.to_ascii_uppercase();
    match &*plain {
        "UTF8" | "UNICODE" => return Some("UTF8"),
        "SQLASCII" => return Some("SQL_ASCII"),
        "LATIN1" | "ISO88591" => return Some("LATIN1"),
        _ => {}
    }
    let is_it = |entry: &&(&'static str, &[&str], _)| {
        entry.0.replace('_', "") == plain || entry.1.contains(&&*plain)
    };
    OTHERS.iter().find(is_it).map(|entry| entry.0)
}

impl Encoding {
    /// By PostgreSQL's name.
    pub fn named(name: &str) -> Encoding {
        match name {
            "UTF8" | "SQL_ASCII" => Encoding::Plain,
            "LATIN1" => Encoding::Latin1,
            _ => OTHERS
                .iter()
                .position(|entry| entry.0 == name)
                .map_or(Encoding::Plain, Encoding::Other),
        }
    }

    /// Whether a backslash may be the second byte of a character, as in none that a database may have.
    pub fn has_backslashes_within(self) -> bool {
        let Encoding::Other(at) = self else { return false };
        OTHERS.get(at).is_some_and(|of| matches!(of.0, "SJIS" | "BIG5" | "GBK" | "GB18030"))
    }

    /// Whether nothing is converted.
    pub fn is_plain(self) -> bool {
        self == Encoding::Plain
    }

    /// Whether a character is always one byte.
    pub fn is_single(self) -> bool {
        match self {
            Encoding::Other(at) => OTHERS[at].2.is_single_byte(),
            _ => true,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Encoding::Plain => "UTF8",
            Encoding::Latin1 => "LATIN1",
            Encoding::Other(at) => OTHERS[at].0,
        }
    }

    /// What a client sent, in UTF-8.
    ///
    /// # Errors
    /// `22021`: it has bytes that are no characters.
    pub fn decoded(self, bytes: &[u8]) -> Result<Cow<'_, [u8]>> {
        if bytes.is_ascii() {
            return Ok(Cow::Borrowed(bytes));
        }
        match self {
            Encoding::Plain => Ok(Cow::Borrowed(bytes)),
            Encoding::Latin1 => {
                let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
                Ok(Cow::Owned(text.into_bytes()))
            }
            Encoding::Other(at) => {
                let made = OTHERS[at].2.decode_without_bom_handling_and_without_replacement(bytes);
                match made {
                    Some(text) => Ok(Cow::Owned(text.into_owned().into_bytes())),
                    None => {
                        let name = self.name();
                        let text = format!("invalid byte sequence for encoding \"{name}\"");
                        Err(SqlError::new("22021", text))
                    }
                }
            }
        }
    }

    /// A text as a client reads it. Bytes that are no UTF-8 stay as they are.
    ///
    /// # Errors
    /// `22P05`: it has a character that the encoding has not.
    pub fn encoded(self, bytes: &[u8]) -> Result<Cow<'_, [u8]>> {
        if self.is_plain() || bytes.is_ascii() {
            return Ok(Cow::Borrowed(bytes));
        }
        let Ok(text) = std::str::from_utf8(bytes) else { return Ok(Cow::Borrowed(bytes)) };
        let mut out = Vec::with_capacity(text.len());
        let mut buffer = [0; 4];
        for character in text.chars() {
            self.push(character, &mut out).ok_or_else(|| {
                let bytes = character.encode_utf8(&mut buffer).bytes();
                let bytes: Vec<String> = bytes.map(|byte| format!("0x{byte:02x}")).collect();
                let (bytes, name) = (bytes.join(" "), self.name());
                let text = format!(
                    "character with byte sequence {bytes} in encoding \"UTF8\" has no equivalent in \
                     encoding \"{name}\""
                );
                SqlError::new("22P05", text)
            })?;
        }
        Ok(Cow::Owned(out))
    }

    /// The same with a question mark for what the encoding has not: of messages and names.
    pub fn shown(self, text: &str) -> Cow<'_, [u8]> {
        if self.is_plain() || text.is_ascii() {
            return Cow::Borrowed(text.as_bytes());
        }
        let mut out = Vec::with_capacity(text.len());
        for character in text.chars() {
            if self.push(character, &mut out).is_none() {
                out.push(b'?');
            }
        }
        Cow::Owned(out)
    }

    fn push(self, character: char, out: &mut Vec<u8>) -> Option<()> {
        let Encoding::Other(at) = self else {
            out.push(u8::try_from(u32::from(character)).ok()?);
            return Some(());
        };
        if character.is_ascii() {
            out.push(character as u8);
            return Some(());
        }
        let mut buffer = [0; 4];
        let text = character.encode_utf8(&mut buffer);
        let (bytes, _, failed) = OTHERS[at].2.encode(text);
        if failed {
            return None;
        }
        out.extend_from_slice(&bytes);
        Some(())
    }

    /// A message's body with its texts in UTF-8: those that it begins with, by its kind. Values of a Bind are left as they
    /// are: what they are, the statement's parameters say.
    ///
    /// # Errors
    /// As of [`Encoding::decoded`].
    pub fn message(self, kind: u8, body: &[u8]) -> Result<Cow<'_, [u8]>> {
        let (skipped, strings) = match kind {
            b'Q' | b'E' | b'f' => (0, 1),
            b'P' | b'B' => (0, 2),
            b'D' | b'C' => (1, 1),
            _ => return Ok(Cow::Borrowed(body)),
        };
        if self.is_plain() {
            return Ok(Cow::Borrowed(body));
        }
        let mut end = skipped;
        for _ in 0..strings {
            let rest = body.get(end..).unwrap_or_default();
            // A message without its zero byte is refused where it is read.
            let Some(zero) = rest.iter().position(|byte| *byte == 0) else {
                return Ok(Cow::Borrowed(body));
            };
            end += zero + 1;
        }
        let texts = self.decoded(&body[..end])?;
        match texts {
            Cow::Borrowed(_) => Ok(Cow::Borrowed(body)),
            Cow::Owned(mut texts) => {
                texts.extend_from_slice(&body[end..]);
                Ok(Cow::Owned(texts))
            }
        }
    }
}

/// What the binary form of a type's values has of texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Nothing that is converted: rows and ranges with texts in them travel in UTF-8.
    #[default]
    Bytes,
    /// It is one.
    Text,
    /// It is an array of them.
    Texts,
}

impl Form {
    /// Of a type of PostgreSQL's: "char", name, text, json, xml, unknown, bpchar, varchar and jsonb, and arrays of them.
    pub fn of(oid: u32) -> Form {
        match oid {
            18 | 19 | 25 | 114 | 142 | 705 | 1042 | 1043 | 3802 => Form::Text,
            1002 | 1003 | 1009 | 199 | 143 | 1014 | 1015 | 3807 => Form::Texts,
            _ => Form::Bytes,
        }
    }

    /// A value with its texts turned by `turn`.
    ///
    /// # Errors
    /// Those of `turn`.
    pub fn turned<'v>(
        self,
        value: &'v [u8],
        turn: impl Fn(&[u8]) -> Result<Cow<'_, [u8]>>,
    ) -> Result<Cow<'v, [u8]>> {
        if value.is_ascii() {
            return Ok(Cow::Borrowed(value));
        }
        Ok(match self {
            Form::Bytes => Cow::Borrowed(value),
            Form::Text => Cow::Owned(turn(value)?.into_owned()),
            Form::Texts => in_array(value, turn)?.map_or(Cow::Borrowed(value), Cow::Owned),
        })
    }
}

/// The binary form of an array of texts, with each element turned by `turn`; `None` where it is no array.
fn in_array(
    bytes: &[u8],
    turn: impl Fn(&[u8]) -> Result<Cow<'_, [u8]>>,
) -> Result<Option<Vec<u8>>> {
    let number = |at: usize| {
        let found = bytes.get(at..at + 4)?;
        Some(i32::from_be_bytes(found.try_into().ok()?))
    };
    let Some(dimensions @ 0..=6) = number(0) else { return Ok(None) };
    let mut at = 12 + 8 * dimensions as usize;
    let Some(head) = bytes.get(..at) else { return Ok(None) };
    let mut out = head.to_vec();
    while let Some(length) = number(at) {
        at += 4;
        let Ok(length) = usize::try_from(length) else {
            out.extend_from_slice(&length.to_be_bytes());
            continue;
        };
        let Some(value) = bytes.get(at..at + length) else { return Ok(None) };
        let value = turn(value)?;
        out.extend_from_slice(&(value.len() as u32).to_be_bytes());
        out.extend_from_slice(&value);
        at += length;
    }
    Ok((at == bytes.len()).then_some(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_go_there_and_back() {
        for (name, text) in [
            ("LATIN1", "é\u{a4}"),
            ("LATIN9", "é€"),
            ("WIN1252", "é€„"),
            ("WIN1251", "Привет"),
            ("KOI8R", "Привет"),
            ("EUC_JP", "日本"),
            ("SJIS", "日本"),
            ("GB18030", "汉€"),
        ] {
            let encoding = Encoding::named(name_of(name).expect(name));
            let sent = encoding.encoded(text.as_bytes()).expect(name);
            assert_ne!(&*sent, text.as_bytes(), "{name}");
            assert_eq!(&*encoding.decoded(&sent).expect(name), text.as_bytes(), "{name}");
        }
        assert_eq!(&*Encoding::named("LATIN9").encoded("€".as_bytes()).expect("it has it"), [0xA4]);
    }

    #[test]
    fn what_an_encoding_has_not_is_an_error_or_a_mark() {
        let latin1 = Encoding::named("LATIN1");
        let refused = latin1.encoded("a€".as_bytes()).expect_err("it has no euro");
        assert_eq!(refused.state(), "22P05");
        assert!(refused.message().contains("0xe2 0x82 0xac"), "{}", refused.message());
        assert_eq!(&*latin1.shown("a€é"), b"a?\xe9");
        assert_eq!(Encoding::named("EUC_JP").decoded(&[0xff]).expect_err("none").state(), "22021");
    }

    #[test]
    fn names_are_postgresqls() {
        assert_eq!(name_of("iso-8859-15"), Some("LATIN9"));
        assert_eq!(name_of("Windows-1252"), Some("WIN1252"));
        assert_eq!(name_of("euc_jp"), Some("EUC_JP"));
        assert_eq!(name_of("MULE_INTERNAL"), None);
    }

    #[test]
    fn texts_of_messages_are_turned_and_the_rest_is_kept() {
        let latin1 = Encoding::named("LATIN1");
        let body =
            latin1.message(b'P', b"\xe9\0select '\xe9'\0\0\x01\0\0\0\xe9").expect("it is one");
        let expected = [&b"\xc3\xa9\0select '\xc3\xa9'\0"[..], b"\0\x01\0\0\0\xe9"].concat();
        assert_eq!(&*body, expected);
    }
}
