//! Which fields has the text of a date or time? (ParseDateTime.)

/// More fields than any date has.
const MOST_FIELDS: usize = 25;
/// More bytes than any date has: MAXDATELEN with room for fields.
const MOST_BYTES: usize = 153;

/// What a field looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// Digits, perhaps with a point.
    Number,
    /// Letters.
    Word,
    /// Parts with `-`, `/` or `.` between, or the name of a zone.
    Date,
    /// Digits with colons.
    Time,
    /// A sign and digits.
    Zone,
    /// A sign and letters.
    Special,
}

/// A field, in lower case.
pub(super) type Field = (Look, String);

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    taken: String,
}

impl Reader<'_> {
    fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    fn take(&mut self) {
        self.taken.push(char::from(self.peek().to_ascii_lowercase()));
        self.at += 1;
    }

    fn take_while(&mut self, wanted: impl Fn(u8) -> bool) {
        while wanted(self.peek()) {
            self.take();
        }
    }
}

/// The fields; `None` where the text cannot be a date or time. `known` says whether a word has a meaning.
pub(super) fn split(text: &str, known: impl Fn(&str) -> bool) -> Option<Vec<Field>> {
    if text.len() > MOST_BYTES || !text.is_ascii() {
        return None;
    }
    let mut reader = Reader { bytes: text.as_bytes(), at: 0, taken: String::new() };
    let mut fields = Vec::new();
    while reader.at < reader.bytes.len() {
        let look = match reader.peek() {
            b if crate::value::scan::is_space(b) => {
                reader.at += 1;
                continue;
            }
            b if b.is_ascii_digit() => digits(&mut reader),
            b'.' => {
                reader.take();
                reader.take_while(|b| b.is_ascii_digit());
                Look::Number
            }
            b if b.is_ascii_alphabetic() => word(&mut reader, &known),
            b'+' | b'-' => signed(&mut reader)?,
            b if b.is_ascii_punctuation() => {
                reader.at += 1;
                continue;
            }
            _ => return None,
        };
        if fields.len() == MOST_FIELDS {
            return None;
        }
        fields.push((look, std::mem::take(&mut reader.taken)));
    }
    Some(fields)
}

fn digits(reader: &mut Reader<'_>) -> Look {
    let digit = |b: u8| b.is_ascii_digit();
    reader.take();
    reader.take_while(digit);
    match reader.peek() {
        b':' => {
            reader.take();
            reader.take_while(|b| digit(b) || b == b':' || b == b'.');
            Look::Time
        }
        between @ (b'-' | b'/' | b'.') => {
            reader.take();
            if !digit(reader.peek()) {
                reader.take_while(|b| b.is_ascii_alphanumeric() || b == between);
                return Look::Date;
            }
            reader.take_while(digit);
            if reader.peek() != between {
                return if between == b'.' { Look::Number } else { Look::Date };
            }
            reader.take();
            reader.take_while(|b| digit(b) || b == between);
            Look::Date
        }
        _ => Look::Number,
    }
}

fn word(reader: &mut Reader<'_>, known: &impl Fn(&str) -> bool) -> Look {
    reader.take_while(|b| b.is_ascii_alphabetic());
    let next = reader.peek();
    let joined = match next {
        b'-' | b'/' | b'.' => true,
        b'+' | b'0'..=b'9' => !known(&reader.taken),
        _ => false,
    };
    if !joined {
        return Look::Word;
    }
    reader.take_while(|b| {
        b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'/' | b'_' | b'.' | b':')
    });
    Look::Date
}

fn signed(reader: &mut Reader<'_>) -> Option<Look> {
    reader.take();
    while crate::value::scan::is_space(reader.peek()) {
        reader.at += 1;
    }
    match reader.peek() {
        b if b.is_ascii_digit() => {
            reader.take_while(|b| b.is_ascii_digit() || matches!(b, b':' | b'.' | b'-'));
            Some(Look::Zone)
        }
        b if b.is_ascii_alphabetic() => {
            reader.take_while(|b| b.is_ascii_alphabetic());
            Some(Look::Special)
        }
        _ => None,
    }
}
