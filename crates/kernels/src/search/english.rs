//! What is the stem of an English word?
//!
//! The Porter2 algorithm of Martin Porter (Snowball's "english", as PostgreSQL 15 has it), and the words that are not looked
//! for. Words are in small letters. Letters beyond ASCII are no vowels and are never taken off, so that one byte stands for
//! each. Thread safety: pure functions.

/// Words that are too frequent to be looked for.
pub(super) fn is_stop(word: &str) -> bool {
    use std::sync::OnceLock;
    static WORDS: OnceLock<std::collections::HashSet<&'static str>> = OnceLock::new();
    WORDS.get_or_init(|| include_str!("english.stop").lines().collect()).contains(word)
}

/// Stands for a letter beyond ASCII.
const OTHER: u8 = 0x80;

/// The stem of a word.
pub(super) fn stem(word: &str) -> String {
    if word.is_ascii() {
        let mut of = Stem { word: word.as_bytes().to_vec(), p1: 0, p2: 0 };
        of.reduce();
        return String::from_utf8(of.word).expect("it is ASCII");
    }
    let bytes = word.chars().map(|c| if c.is_ascii() { c as u8 } else { OTHER }).collect();
    let mut of = Stem { word: bytes, p1: 0, p2: 0 };
    of.reduce();
    let mut others = word.chars().filter(|c| !c.is_ascii());
    let letter = |byte: &u8| match byte {
        &OTHER => others.next().expect("none was taken off"),
        byte => char::from(*byte),
    };
    of.word.iter().map(letter).collect()
}

/// Words with stems of their own.
const OWN: [(&str, &str); 18] = [
    ("skis", "ski"),
    ("skies", "sky"),
    ("dying", "die"),
    ("lying", "lie"),
    ("tying", "tie"),
    ("idly", "idl"),
    ("gently", "gentl"),
    ("ugly", "ugli"),
    ("early", "earli"),
    ("only", "onli"),
    ("singly", "singl"),
    ("sky", "sky"),
    ("news", "news"),
    ("howe", "howe"),
    ("atlas", "atlas"),
    ("cosmos", "cosmos"),
    ("bias", "bias"),
    ("andes", "andes"),
];

/// Words that are stems once a plural is taken off.
const STEMS: [&str; 8] =
    ["inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed"];

const STEP_2: [(&str, &str); 24] = [
    ("ational", "ate"),
    ("ization", "ize"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("iveness", "ive"),
    ("tional", "tion"),
    ("biliti", "ble"),
    ("lessli", "less"),
    ("entli", "ent"),
    ("ation", "ate"),
    ("alism", "al"),
    ("aliti", "al"),
    ("ousli", "ous"),
    ("iviti", "ive"),
    ("fulli", "ful"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("abli", "able"),
    ("izer", "ize"),
    ("ator", "ate"),
    ("alli", "al"),
    ("bli", "ble"),
    ("ogi", "og"),
    ("li", ""),
];

const STEP_3: [(&str, &str); 9] = [
    ("ational", "ate"),
    ("tional", "tion"),
    ("alize", "al"),
    ("icate", "ic"),
    ("iciti", "ic"),
    ("ative", ""),
    ("ical", "ic"),
    ("ness", ""),
    ("ful", ""),
];

const STEP_4: [&str; 18] = [
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous",
    "ive", "ize", "ion", "al", "er", "ic",
];

struct Stem {
    word: Vec<u8>,
    /// Where the regions R1 and R2 begin.
    p1: usize,
    p2: usize,
}

fn is_vowel(byte: u8) -> bool {
    matches!(byte, b'a' | b'e' | b'i' | b'o' | b'u' | b'y')
}

/// The longest of some suffixes that a word has, and its place among them.
fn suffix<'s>(word: &[u8], of: impl Iterator<Item = &'s str>) -> Option<(usize, &'s str)> {
    let mut found: Option<(usize, &str)> = None;
    for (at, suffix) in of.enumerate() {
        let is_longer = found.is_none_or(|(_, known)| known.len() < suffix.len());
        if is_longer && word.ends_with(suffix.as_bytes()) {
            found = Some((at, suffix));
        }
    }
    found
}

impl Stem {
    fn reduce(&mut self) {
        let own = OWN.iter().find(|(word, _)| word.as_bytes() == self.word);
        if let Some((_, stem)) = own {
            self.word = stem.as_bytes().to_vec();
            return;
        }
        if self.word.len() < 3 {
            return;
        }
        self.mark_consonants();
        self.mark_regions();
        self.plural();
        if !STEMS.iter().any(|stem| stem.as_bytes() == self.word) {
            self.past();
            self.last_y();
            self.second();
            self.third();
            self.fourth();
            self.fifth();
        }
        self.word.iter_mut().filter(|byte| **byte == b'Y').for_each(|byte| *byte = b'y');
    }

    /// An apostrophe before the word goes; a y that is no vowel becomes Y.
    fn mark_consonants(&mut self) {
        if self.word.first() == Some(&b'\'') {
            self.word.remove(0);
        }
        for at in 0..self.word.len() {
            if self.word[at] == b'y' && (at == 0 || is_vowel(self.word[at - 1])) {
                self.word[at] = b'Y';
            }
        }
    }

    /// R1 is what is behind the first consonant behind a vowel, R2 the same of R1.
    fn mark_regions(&mut self) {
        let word = &self.word;
        let region = |from: usize| {
            let vowel = (from..word.len()).find(|at| is_vowel(word[*at]))?;
            (vowel + 1..word.len()).find(|at| !is_vowel(word[*at])).map(|at| at + 1)
        };
        let begins = |with: &&str| word.starts_with(with.as_bytes());
        let own = ["gener", "commun", "arsen"].iter().find(|with| begins(with));
        self.p1 = own.map(|with| with.len()).or_else(|| region(0)).unwrap_or(word.len());
        self.p2 = region(self.p1).unwrap_or(word.len());
    }

    /// The word without a suffix.
    fn before(&self, suffix: &str) -> &[u8] {
        &self.word[..self.word.len() - suffix.len()]
    }

    fn replace(&mut self, suffix: &str, by: &str) {
        self.word.truncate(self.word.len() - suffix.len());
        self.word.extend_from_slice(by.as_bytes());
    }

    fn is_in_r1(&self, suffix: &str) -> bool {
        self.word.len() - suffix.len() >= self.p1
    }

    fn is_in_r2(&self, suffix: &str) -> bool {
        self.word.len() - suffix.len() >= self.p2
    }

    /// Whether letters end with a short syllable.
    fn is_short(letters: &[u8]) -> bool {
        match letters {
            [.., a, b, c] if !is_vowel(*a) && is_vowel(*b) => {
                !is_vowel(*c) && !matches!(c, b'w' | b'x' | b'Y')
            }
            [a, b] => is_vowel(*a) && !is_vowel(*b),
            _ => false,
        }
    }

    /// Step 1a.
    fn plural(&mut self) {
        if let Some((_, own)) = suffix(&self.word, ["'s'", "'s", "'"].into_iter()) {
            self.replace(own, "");
        }
        let all = ["sses", "ied", "ies", "us", "ss", "s"];
        match suffix(&self.word, all.into_iter()) {
            Some((_, "sses")) => self.replace("sses", "ss"),
            Some((_, of @ ("ied" | "ies"))) => {
                let by = if self.before(of).len() > 1 { "i" } else { "ie" };
                self.replace(of, by);
            }
            Some((_, "s")) => {
                let before = self.before("s");
                let until = before.len().saturating_sub(1);
                if before[..until].iter().any(|byte| is_vowel(*byte)) {
                    self.replace("s", "");
                }
            }
            _ => {}
        }
    }

    /// Step 1b.
    fn past(&mut self) {
        let all = ["eedly", "ingly", "edly", "eed", "ing", "ed"];
        let Some((_, found)) = suffix(&self.word, all.into_iter()) else { return };
        if found.starts_with("eed") {
            if self.is_in_r1(found) {
                self.replace(found, "ee");
            }
            return;
        }
        if !self.before(found).iter().any(|byte| is_vowel(*byte)) {
            return;
        }
        self.replace(found, "");
        let word = &self.word;
        if ["at", "bl", "iz"].iter().any(|end| word.ends_with(end.as_bytes())) {
            self.word.push(b'e');
        } else if let [.., a, b] = word[..]
            && a == b
            && b"bdfgmnprt".contains(&a)
        {
            self.word.pop();
        } else if word.len() == self.p1 && Stem::is_short(word) {
            self.word.push(b'e');
        }
    }

    /// Step 1c.
    fn last_y(&mut self) {
        if let [_, .., before, b'y' | b'Y'] = self.word[..]
            && !is_vowel(before)
        {
            *self.word.last_mut().expect("it has letters") = b'i';
        }
    }

    fn second(&mut self) {
        let all = STEP_2.iter().map(|(suffix, _)| *suffix);
        let Some((at, found)) = suffix(&self.word, all) else { return };
        if !self.is_in_r1(found) {
            return;
        }
        let last = self.before(found).last();
        let is_wanted = match found {
            "ogi" => last == Some(&b'l'),
            "li" => last.is_some_and(|byte| b"cdeghkmnrt".contains(byte)),
            _ => true,
        };
        if is_wanted {
            self.replace(found, STEP_2[at].1);
        }
    }

    fn third(&mut self) {
        let all = STEP_3.iter().map(|(suffix, _)| *suffix);
        let Some((at, found)) = suffix(&self.word, all) else { return };
        if self.is_in_r1(found) && (found != "ative" || self.is_in_r2(found)) {
            self.replace(found, STEP_3[at].1);
        }
    }

    fn fourth(&mut self) {
        let Some((_, found)) = suffix(&self.word, STEP_4.into_iter()) else { return };
        let is_wanted = found != "ion" || matches!(self.before(found).last(), Some(b's' | b't'));
        if self.is_in_r2(found) && is_wanted {
            self.replace(found, "");
        }
    }

    fn fifth(&mut self) {
        match self.word.last().copied() {
            Some(b'e') => {
                let short = Stem::is_short(self.before("e"));
                if self.is_in_r2("e") || self.is_in_r1("e") && !short {
                    self.replace("e", "");
                }
            }
            Some(b'l') if self.is_in_r2("l") && self.before("l").ends_with(b"l") => {
                self.replace("l", "");
            }
            _ => {}
        }
    }
}
