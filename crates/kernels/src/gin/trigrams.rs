//! Which trigrams has a text, and which do conditions on texts need?
//!
//! As pg_trgm has them in collation C: a word is letters and digits of ASCII, all else is between words; letters are made
//! small. A word has two blanks before it and one behind it, and of that every three characters that follow each other are a
//! trigram.

use onlap_pg::{Result, worked};

use super::{Keys, Tree};

/// Three characters.
pub(crate) type Trigram = [u8; 3];

fn is_of_word(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric()
}

/// The words of a text in small letters.
fn words(text: &[u8]) -> impl Iterator<Item = Vec<u8>> + use<'_> {
    let words = text.split(|byte| !is_of_word(byte)).filter(|word| !word.is_empty());
    words.map(<[u8]>::to_ascii_lowercase)
}

/// The trigrams of a text, in the order of their places, and per word where its first one is.
///
/// # Errors
/// `57014`
pub(crate) fn in_order(text: &str) -> Result<(Vec<Trigram>, Vec<usize>)> {
    let (mut trigrams, mut begins) = (Vec::new(), Vec::new());
    for word in words(text.as_bytes()) {
        begins.push(trigrams.len());
        let padded = [b"  ", &*word, b" "].concat();
        for three in padded.windows(3) {
            worked(1)?;
            trigrams.push([three[0], three[1], three[2]]);
        }
    }
    Ok((trigrams, begins))
}

/// The trigrams of a text, ascending, each once.
///
/// # Errors
/// `57014`
pub(crate) fn of(text: &str) -> Result<Vec<Trigram>> {
    ascending(in_order(text)?.0)
}

/// So many trigrams are sorted; of more it is noted which there are.
const FEW: usize = 1 << 12;

/// Trigrams ascending, each once.
///
/// # Errors
/// `57014`
pub(crate) fn ascending(mut trigrams: Vec<Trigram>) -> Result<Vec<Trigram>> {
    if trigrams.len() <= FEW {
        trigrams.sort_unstable();
        trigrams.dedup();
        return Ok(trigrams);
    }
    // A bit for each that there can be.
    let mut there = vec![0u64; 1 << 18];
    for [a, b, c] in trigrams.drain(..) {
        worked(1)?;
        let number = u32::from_be_bytes([0, a, b, c]) as usize;
        there[number / 64] |= 1 << (number % 64);
    }
    for (at, mut word) in there.into_iter().enumerate() {
        worked(1)?;
        while word != 0 {
            let number = (at * 64) as u32 + word.trailing_zeros();
            let [_, a, b, c] = number.to_be_bytes();
            trigrams.push([a, b, c]);
            word &= word - 1;
        }
    }
    trigrams.shrink_to_fit();
    Ok(trigrams)
}

/// The trigrams that are in every text with this in it: where it is known that the text begins or ends there, what is there
/// is the begin or end of a word.
pub(super) fn literal(bytes: &[u8], begins: bool, ends: bool) -> Keys {
    let mut keys = Keys::new();
    let mut at = 0;
    while at < bytes.len() {
        if !is_of_word(&bytes[at]) {
            at += 1;
            continue;
        }
        let end = bytes[at..].iter().position(|byte| !is_of_word(byte));
        let end = end.map_or(bytes.len(), |length| at + length);
        let mut part: Vec<u8> = Vec::with_capacity(end - at + 3);
        if at > 0 || begins {
            part.extend_from_slice(b"  ");
        }
        part.extend(bytes[at..end].iter().map(u8::to_ascii_lowercase));
        if end < bytes.len() || ends {
            part.push(b' ');
        }
        part.windows(3).for_each(|three| keys.push(three));
        at = end;
    }
    keys
}

/// What LIKE needs, and ILIKE.
pub(super) fn like(pattern: &str) -> Tree {
    let mut parts = Vec::new();
    let (mut run, mut begins) = (Vec::new(), true);
    let mut bytes = pattern.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' | b'_' => {
                parts.push(Tree::all_of(&literal(&run, begins, false)));
                run.clear();
                begins = false;
            }
            b'\\' => match bytes.next() {
                Some(byte) => run.push(byte),
                // It is an error of the rows that it is held against.
                None => return Tree::All,
            },
            byte => run.push(byte),
        }
    }
    parts.push(Tree::all_of(&literal(&run, begins, true)));
    Tree::and(parts)
}

/// The similarity of two lists of trigrams: those that both have of those that either has.
pub(crate) fn share(common: usize, left: usize, right: usize) -> f32 {
    common as f32 / (left + right - common) as f32
}

/// What a similarity to a text needs that is at least a threshold.
///
/// Each kind of similarity is at most the share of the text's own trigrams that are found in the other one. So at least a number of
/// them is found, and of all but one less any.
///
/// # Errors
/// `57014`
pub(super) fn similar(text: &str, threshold: f64) -> Result<Tree> {
    if threshold <= 0.0 {
        return Ok(Tree::All);
    }
    let mut own = of(text)?;
    let count = own.len();
    let reaches = |common: &usize| f64::from(share(*common, count, *common)) >= threshold;
    let Some(least) = (1..=count).find(reaches) else { return Ok(Tree::None) };
    // Begins of words with one letter are in many texts: they are left out first.
    own.sort_by_key(|trigram| trigram.iter().filter(|byte| **byte == b' ').count());
    let mut keys = Keys::new();
    own[..count + 1 - least].iter().for_each(|trigram| keys.push(trigram));
    Ok(Tree::any_of(&keys))
}
