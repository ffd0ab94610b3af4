//! Which trigrams has a text, and which do conditions on texts need?
//!
//! As pg_trgm has them in collation C: a word is letters and digits of ASCII, all else is between words; letters are made
//! small. A word has two blanks before it and one behind it, and of that every three characters that follow each other are a
//! trigram.

use onlap_pg::{Result, worked};

use super::{Keys, Tree};

/// Three characters.
pub(crate) type Trigram = [u8; 3];

/// Characters of trigrams: the blank, digits, small letters, in the order of their bytes.
const LETTERS: &[u8; 37] = b" 0123456789abcdefghijklmnopqrstuvwxyz";
/// Trigrams that there are.
const ALL: usize = LETTERS.len().pow(3);

/// The places of bytes among [`LETTERS`], letters made small; 0 for what is of no word.
const PLACES: [u8; 256] = {
    let mut places = [0; 256];
    let mut at = 1;
    while at < LETTERS.len() {
        places[LETTERS[at] as usize] = at as u8;
        places[LETTERS[at].to_ascii_uppercase() as usize] = at as u8;
        at += 1;
    }
    places
};

fn is_of_word(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric()
}

/// Bytes of a text between two questions whether the statement goes on.
const STRETCH: usize = 4096;

/// Gives the number of each trigram of a text, in the order of their places, and whether a word begins with it. Numbers are
/// in the order of trigrams.
///
/// # Errors
/// `57014`
#[inline]
fn each(text: &[u8], mut see: impl FnMut(usize, bool)) -> Result<()> {
    const N: usize = LETTERS.len();
    // The last two characters; blanks before a word.
    let (mut first, mut second) = (0, 0);
    for stretch in text.chunks(STRETCH).chain([&b" "[..]]) {
        worked(stretch.len())?;
        for byte in stretch {
            let place = usize::from(PLACES[usize::from(*byte)]);
            if place > 0 || second > 0 {
                see((first * N + second) * N + place, second == 0);
            }
            (first, second) = if place > 0 { (second, place) } else { (0, 0) };
        }
    }
    Ok(())
}

fn trigram(number: usize) -> Trigram {
    const N: usize = LETTERS.len();
    [LETTERS[number / (N * N)], LETTERS[number / N % N], LETTERS[number % N]]
}

/// The trigrams of a text, in the order of their places, and per word where its first one is.
///
/// # Errors
/// `57014`
pub(crate) fn in_order(text: &str) -> Result<(Vec<Trigram>, Vec<usize>)> {
    let (mut trigrams, mut begins) = (Vec::new(), Vec::new());
    each(text.as_bytes(), |number, is_begin| {
        if is_begin {
            begins.push(trigrams.len());
        }
        trigrams.push(trigram(number));
    })?;
    Ok((trigrams, begins))
}

/// The trigrams of a text, ascending, each once.
///
/// # Errors
/// `57014`
pub(crate) fn of(text: &str) -> Result<Vec<Trigram>> {
    let mut seen = Seen::new();
    each(text.as_bytes(), |number, _| seen.add(number))?;
    Ok(seen.ascending())
}

/// Trigrams ascending, each once.
pub(crate) fn ascending<'a>(trigrams: impl Iterator<Item = &'a Trigram>) -> Vec<Trigram> {
    const N: usize = LETTERS.len();
    let mut seen = Seen::new();
    for three in trigrams {
        let [a, b, c] = three.map(|byte| usize::from(PLACES[usize::from(byte)]));
        seen.add((a * N + b) * N + c);
    }
    seen.ascending()
}

/// A bit for each trigram, which takes less time than sorting those of a text.
struct Seen {
    words: [u64; ALL.div_ceil(WORD)],
    count: usize,
}

const WORD: usize = u64::BITS as usize;

impl Seen {
    fn new() -> Seen {
        Seen { words: [0; ALL.div_ceil(WORD)], count: 0 }
    }

    #[inline]
    fn add(&mut self, number: usize) {
        let (word, bit) = (&mut self.words[number / WORD], 1 << (number % WORD));
        self.count += usize::from(*word & bit == 0);
        *word |= bit;
    }

    fn ascending(&self) -> Vec<Trigram> {
        let mut all = Vec::with_capacity(self.count);
        for (at, word) in self.words.iter().enumerate() {
            let mut left = *word;
            while left != 0 {
                all.push(trigram(at * WORD + left.trailing_zeros() as usize));
                left &= left - 1;
            }
        }
        all
    }
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
