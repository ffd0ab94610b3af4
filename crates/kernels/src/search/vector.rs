//! How does a tsvector lie in a column?
//!
//! As it travels: the number of words, then of each its text, a zero, the number of its places and these; numbers are
//! big-endian. Words rise by their bytes, each once; places rise, too.
//!
//! | bytes | what |
//! |---|---|
//! | 4 | number of words |
//! | n, 1 | a word, a zero |
//! | 2 | number of its places, up to 256; 0: none are known |
//! | 2 each | a place: the weight in the two highest bits (3 is A, 0 is D), the position in the others, from 1 to 16383 |
//!
//! ```text
//! 'ox':2A   00 00 00 01  6f 78 00  00 01  c0 02
//! ```
//!
//! Thread safety: pure functions.

use onlap_base::limits;
use onlap_pg::{Error, Result};

/// Bytes of a word in PostgreSQL end below this.
pub(crate) const WORD_BYTES: usize = limits::LEXEME_BYTES + 1;
/// The most bytes of all words and places together.
pub(crate) const ALL_BYTES: usize = limits::LEXEMES_BYTES - 1;
/// The last position: all that come later have it, too.
pub(crate) const LAST: u16 = (1 << 14) - 1;
/// The most places of a word.
pub(crate) const PLACES: usize = limits::LEXEME_PLACES;

/// The position of a place.
pub(crate) fn position(place: u16) -> u16 {
    place & LAST
}

/// The weight of a place: 3 for A, 0 for D.
pub(crate) fn weight(place: u16) -> u8 {
    (place >> 14) as u8
}

/// A position with a weight.
pub(crate) fn place(position: u16, weight: u8) -> u16 {
    position & LAST | u16::from(weight) << 14
}

/// The weight that a letter means.
pub(crate) fn weight_of(letter: u8) -> Option<u8> {
    Some(match letter.to_ascii_uppercase() {
        b'A' => 3,
        b'B' => 2,
        b'C' => 1,
        b'D' => 0,
        _ => return None,
    })
}

/// A word of a value, with its places.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) word: &'a str,
    places: &'a [u8],
}

impl<'a> Entry<'a> {
    /// How many places are known.
    pub(crate) fn len(&self) -> usize {
        self.places.len() / 2
    }

    pub(crate) fn has_places(&self) -> bool {
        !self.places.is_empty()
    }

    pub(crate) fn places(&self) -> impl ExactSizeIterator<Item = u16> + Clone + use<'a> {
        self.places.as_chunks::<2>().0.iter().map(|bytes| u16::from_be_bytes(*bytes))
    }
}

/// The words of a value.
///
/// # Panics
/// The bytes are no value.
pub(crate) fn entries(bytes: &[u8]) -> Vec<Entry<'_>> {
    let mut rest = Rest(bytes);
    let count = rest.u32().expect("a value has a count");
    (0..count).map(|_| rest.entry().expect("a word is there").expect("it is UTF-8")).collect()
}

/// How many words a value has.
///
/// # Panics
/// The bytes are no value.
pub(crate) fn count(bytes: &[u8]) -> u32 {
    Rest(bytes).u32().expect("a value has a count")
}

/// What is left of bytes that travelled.
pub(super) struct Rest<'a>(pub(super) &'a [u8]);

impl<'a> Rest<'a> {
    pub(super) fn u8(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        let (bytes, rest) = self.0.split_first_chunk::<2>()?;
        self.0 = rest;
        Some(u16::from_be_bytes(*bytes))
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        let (bytes, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*bytes))
    }

    /// A text up to a zero.
    pub(super) fn text(&mut self) -> Option<Result<&'a str>> {
        let end = memchr::memchr(0, self.0)?;
        let (text, rest) = self.0.split_at(end);
        self.0 = &rest[1..];
        Some(onlap_pg::value::utf8::text(text))
    }

    fn entry(&mut self) -> Option<Result<Entry<'a>>> {
        let word = match self.text()? {
            Ok(word) => word,
            Err(e) => return Some(Err(e)),
        };
        let length = usize::from(self.u16()?) * 2;
        let (places, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(Ok(Entry { word, places }))
    }
}

/// A value in the making: words come in their order.
#[derive(Debug)]
pub(crate) struct Builder {
    bytes: Vec<u8>,
    count: u32,
    /// Bytes that PostgreSQL counts.
    size: usize,
}

impl Builder {
    pub(crate) fn new() -> Builder {
        Builder { bytes: vec![0; 4], count: 0, size: 0 }
    }

    /// Adds a word.
    pub(crate) fn push(&mut self, word: &str, places: impl ExactSizeIterator<Item = u16>) {
        self.size = size_with(self.size, word, places.len());
        self.bytes.extend_from_slice(word.as_bytes());
        self.bytes.push(0);
        let count = u16::try_from(places.len()).expect("a word has 256 places at most");
        self.bytes.extend(count.to_be_bytes());
        self.bytes.extend(places.flat_map(u16::to_be_bytes));
        self.count += 1;
    }

    /// Adds a word of another value as it is.
    pub(crate) fn copy(&mut self, entry: &Entry<'_>) {
        self.push(entry.word, entry.places());
    }

    /// The value.
    ///
    /// # Errors
    /// `54000`
    pub(crate) fn finish(mut self) -> Result<Vec<u8>> {
        if self.size > ALL_BYTES {
            return Err(too_long(self.size));
        }
        self.bytes[..4].copy_from_slice(&self.count.to_be_bytes());
        Ok(self.bytes)
    }
}

pub(super) fn too_long(bytes: usize) -> Error {
    let text = format!("string is too long for tsvector ({bytes} bytes, max {ALL_BYTES} bytes)");
    Error::new("54000", text)
}

/// The bytes that PostgreSQL counts when a word is added: places have an even place.
fn size_with(size: usize, word: &str, places: usize) -> usize {
    let size = size + word.len();
    if places == 0 { size } else { size.next_multiple_of(2) + 2 + 2 * places }
}

/// Appends bytes that sort as values do: by their size in PostgreSQL, then by the number of words; a word with places comes
/// before one without, and of places of one word more come first, later ones, and higher weights.
pub(crate) fn key(bytes: &[u8], out: &mut Vec<u8>) {
    let entries = entries(bytes);
    let size = entries.iter().fold(0, |size, entry| size_with(size, entry.word, entry.len()));
    // What is kept of a word before its bytes takes four bytes.
    let whole = size + 4 * entries.len();
    out.extend((whole as u32).to_be_bytes());
    out.extend((entries.len() as u32).to_be_bytes());
    for entry in &entries {
        out.push(u8::from(!entry.has_places()));
        out.extend_from_slice(entry.word.as_bytes());
        out.push(0);
        if entry.has_places() {
            out.extend((!(entry.len() as u16)).to_be_bytes());
            for place in entry.places() {
                out.extend((!position(place)).to_be_bytes());
                out.push(!weight(place));
            }
        }
    }
}

/// The order of two values as tsvector_cmp has it: where words differ, by how much the first bytes do that differ.
pub(super) fn compare(a: &[u8], b: &[u8]) -> i32 {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    key(a, &mut left);
    key(b, &mut right);
    let order = left.cmp(&right);
    let mut sides = entries(a).into_iter().zip(entries(b));
    let differ = sides.find(|(a, b)| a.word != b.word || a.places != b.places);
    let words = differ.filter(|(a, b)| a.has_places() == b.has_places());
    let bytes = words.and_then(|(a, b)| {
        let mut bytes = a.word.bytes().zip(b.word.bytes());
        bytes.find(|(a, b)| a != b).map(|(a, b)| i32::from(a) - i32::from(b))
    });
    match left[..8] == right[..8] {
        true => bytes.unwrap_or(order as i32),
        false => order as i32,
    }
}

/// Places in their order, each position once with its highest weight, as many as there may be.
pub(super) fn settled(places: &mut Vec<u16>) {
    places.sort_by_key(|place| (position(*place), std::cmp::Reverse(weight(*place))));
    places.dedup_by_key(|place| position(*place));
    places.truncate(PLACES);
}

/// A value of words in any order, each perhaps several times.
///
/// # Errors
/// `54000`
pub(super) fn made(mut words: Vec<(&str, Vec<u16>)>) -> Result<Vec<u8>> {
    words.sort_by(|a, b| a.0.cmp(b.0));
    words.dedup_by(|later, first| {
        let is_same = later.0 == first.0;
        if is_same {
            first.1.append(&mut later.1);
        }
        is_same
    });
    let mut out = Builder::new();
    for (word, mut places) in words {
        settled(&mut places);
        out.push(word, places.into_iter());
    }
    out.finish()
}
