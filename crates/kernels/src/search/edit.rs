//! What is made of a tsvector: with other weights, fewer words, joined with another, as an array or as rows?
//!
//! Thread safety: pure functions.

use onlap_pg::{Error, Result};

use super::vector::{
    Builder, Entry, LAST, PLACES, WORD_BYTES, entries, place, position, weight, weight_of,
};
use crate::array::{Array, Builder as ArrayBuilder};
use crate::series::Rows;
use crate::{Cx, Datum, Repr};

/// Without places.
///
/// # Errors
/// `54000`
pub(super) fn strip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut out = Builder::new();
    entries(bytes).iter().for_each(|entry| out.push(entry.word, std::iter::empty()));
    out.finish()
}

/// With another weight, of all words or of some.
///
/// # Errors
/// `XX000`
pub(super) fn set_weight(bytes: &[u8], letter: u8, words: Option<&[u8]>) -> Result<Vec<u8>> {
    let new = weight_of(letter).ok_or_else(|| {
        let shown = match words {
            None => letter.to_string(),
            Some(_) => char::from(letter).to_string(),
        };
        Error::internal(format!("unrecognized weight: {shown}"))
    })?;
    let words = words.map(lexemes);
    let mut out = Builder::new();
    for entry in entries(bytes) {
        match words.as_ref().is_none_or(|words| is_among(words, entry.word)) {
            true => out.push(entry.word, entry.places().map(|old| place(position(old), new))),
            false => out.copy(&entry),
        }
    }
    out.finish()
}

/// The texts of an array, in their order and each once; NULL is none.
fn lexemes(array: &[u8]) -> Vec<String> {
    let text = |value: Datum<'_>| match value {
        Datum::Text(text) => Some(text.into_owned()),
        _ => None,
    };
    let mut all: Vec<String> = Array::load(array, Repr::Text).iter().filter_map(text).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn is_among(words: &[String], word: &str) -> bool {
    words.binary_search_by(|known| known.as_str().cmp(word)).is_ok()
}

/// Without a word.
///
/// # Errors
/// `54000`
pub(super) fn without(bytes: &[u8], word: &str) -> Result<Vec<u8>> {
    let mut out = Builder::new();
    entries(bytes).iter().filter(|entry| entry.word != word).for_each(|entry| out.copy(entry));
    out.finish()
}

/// Without the words of an array.
///
/// # Errors
/// `54000`
pub(super) fn without_all(bytes: &[u8], words: &[u8]) -> Result<Vec<u8>> {
    let words = lexemes(words);
    let mut out = Builder::new();
    let kept = |entry: &&Entry<'_>| !is_among(&words, entry.word);
    entries(bytes).iter().filter(kept).for_each(|entry| out.copy(entry));
    out.finish()
}

/// Only places of some weights, and words that have such.
///
/// # Errors
/// `22004`, `22023`
pub(super) fn filter(bytes: &[u8], weights: &[u8]) -> Result<Vec<u8>> {
    let mut wanted = 0;
    for value in Array::load(weights, Repr::Char).iter() {
        let Datum::Char(letter) = value else {
            return Err(Error::new("22004", "weight array may not contain nulls"));
        };
        let weight = weight_of(letter).ok_or_else(|| {
            let text = format!("unrecognized weight: \"{}\"", char::from(letter));
            Error::new("22023", text)
        })?;
        wanted |= 1 << weight;
    }
    let mut out = Builder::new();
    for entry in entries(bytes) {
        let places = entry.places().filter(|place| wanted & 1 << weight(*place) != 0);
        let places: Vec<u16> = places.collect();
        if !places.is_empty() {
            out.push(entry.word, places.into_iter());
        }
    }
    out.finish()
}

/// The words of two values; those of the second are behind all of the first.
///
/// # Errors
/// `54000`
pub(super) fn concat(left: &[u8], right: &[u8]) -> Result<Vec<u8>> {
    let (left, right) = (entries(left), entries(right));
    let last = left.iter().flat_map(|entry| entry.places().map(position)).max().unwrap_or(0);
    let moved = |old: u16| place((position(old) + last).min(LAST), weight(old));
    let (mut a, mut b) = (left.iter().peekable(), right.iter().peekable());
    let mut out = Builder::new();
    loop {
        let word = match (a.peek(), b.peek()) {
            (None, None) => return out.finish(),
            (Some(a), Some(b)) => a.word.min(b.word),
            (Some(one), None) | (None, Some(one)) => one.word,
        };
        let mut places: Vec<u16> = Vec::new();
        if let Some(entry) = a.next_if(|entry| entry.word == word) {
            places.extend(entry.places());
        }
        if let Some(entry) = b.next_if(|entry| entry.word == word) {
            for old in entry.places() {
                // What is at the last position is there once.
                let is_full = places.last().is_some_and(|place| position(*place) == LAST);
                if is_full || places.len() >= PLACES {
                    break;
                }
                places.push(moved(old));
            }
        }
        out.push(word, places.into_iter());
    }
}

/// The words as an array.
///
/// # Errors
/// `54000`
pub(super) fn to_array(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut out = ArrayBuilder::new(Repr::Text);
    for entry in entries(bytes) {
        out.push(&Datum::Text(entry.word.into()))?;
    }
    Ok(out.finish())
}

/// A value of the words of an array.
///
/// # Errors
/// `22004`, `2200F`, `54000`
pub(super) fn of_array(array: &[u8]) -> Result<Vec<u8>> {
    if Array::load(array, Repr::Text).has_nulls() {
        return Err(Error::new("22004", "lexeme array may not contain nulls"));
    }
    let words = lexemes(array);
    let mut out = Builder::new();
    for word in &words {
        if word.is_empty() {
            return Err(Error::new("2200F", "lexeme array may not contain empty strings"));
        }
        if word.len() >= WORD_BYTES {
            let text =
                format!("word is too long ({} bytes, max {} bytes)", word.len(), WORD_BYTES - 1);
            return Err(Error::new("54000", text));
        }
        out.push(word, std::iter::empty());
    }
    out.finish()
}

/// The words as rows, with their positions and weights.
///
/// # Errors
/// `54000`
pub(super) fn rows(args: &[Datum<'_>], _: &mut Cx<'_>) -> Result<Rows> {
    let Datum::Bytes(bytes) = &args[0] else { return Ok(Box::new(std::iter::empty())) };
    let mut all: Vec<Vec<Datum<'static>>> = Vec::new();
    for entry in entries(bytes) {
        let (mut positions, mut weights) = (Datum::Null, Datum::Null);
        if entry.has_places() {
            let (mut numbers, mut letters) =
                (ArrayBuilder::new(Repr::Int2), ArrayBuilder::new(Repr::Text));
            for place in entry.places() {
                numbers.push(&Datum::Int2(position(place) as i16))?;
                letters.push(&Datum::Text(LETTERS[usize::from(weight(place))].into()))?;
            }
            positions = Datum::bytes(numbers.finish());
            weights = Datum::bytes(letters.finish());
        }
        all.push(vec![Datum::text(entry.word), positions, weights]);
    }
    Ok(Box::new(all.into_iter().map(Ok)))
}

const LETTERS: [&str; 4] = ["D", "C", "B", "A"];
