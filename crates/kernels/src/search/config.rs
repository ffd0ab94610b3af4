//! Which configurations are there, and what do they make of a text?
//!
//! A configuration says for each kind of token which words it stands for. Served are `simple` and `english`; PostgreSQL's others
//! are known by name alone. Thread safety: pure functions.

use onlap_pg::{Error, Oid, Result};

use super::english;
use super::tokens::{Kind, Tokens};
use super::vector::{LAST, WORD_BYTES};
use crate::Cx;
use crate::misc::growth::Growth;

/// All of PostgreSQL 15, by OID and name.
const ALL: [(Oid, &str); 29] = [
    (3748, "simple"),
    (13152, "arabic"),
    (13154, "armenian"),
    (13156, "basque"),
    (13158, "catalan"),
    (13160, "danish"),
    (13162, "dutch"),
    (13164, "english"),
    (13166, "finnish"),
    (13168, "french"),
    (13170, "german"),
    (13172, "greek"),
    (13174, "hindi"),
    (13176, "hungarian"),
    (13178, "indonesian"),
    (13180, "irish"),
    (13182, "italian"),
    (13184, "lithuanian"),
    (13186, "nepali"),
    (13188, "norwegian"),
    (13190, "portuguese"),
    (13192, "romanian"),
    (13194, "russian"),
    (13196, "serbian"),
    (13198, "spanish"),
    (13200, "swedish"),
    (13202, "tamil"),
    (13204, "turkish"),
    (13206, "yiddish"),
];

/// The OID of the configuration that a text names, with PostgreSQL's schema or without.
pub fn configuration(text: &str) -> Option<Oid> {
    let plain = text.trim();
    let plain = plain.strip_prefix("pg_catalog.").unwrap_or(plain);
    let name = match plain.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
        Some(quoted) => quoted.to_string(),
        None => plain.to_ascii_lowercase(),
    };
    ALL.iter().find(|(_, known)| *known == name).map(|(oid, _)| *oid)
}

/// The name of a configuration.
pub fn configuration_name(oid: Oid) -> Option<&'static str> {
    ALL.iter().find(|(known, _)| *known == oid).map(|(_, name)| *name)
}

/// A configuration that is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Config {
    Simple,
    English,
}

impl Config {
    /// That of an OID.
    ///
    /// # Errors
    /// `0A000`, `XX000`
    pub(super) fn of(oid: Oid) -> Result<Config> {
        match (oid, configuration_name(oid)) {
            (3748, _) => Ok(Config::Simple),
            (13164, _) => Ok(Config::English),
            (_, Some(name)) => {
                let text = format!("text search configuration \"{name}\" is not supported");
                Err(Error::unserved(text))
            }
            (oid, None) => {
                let text = format!("cache lookup failed for text search configuration {oid}");
                Err(Error::internal(text))
            }
        }
    }

    /// What a token stands for: nothing that counts, a place without a word, or a word.
    fn lexeme(self, kind: Kind, token: &str) -> Option<Option<String>> {
        let stems = match kind {
            Kind::Blank | Kind::Tag | Kind::Protocol | Kind::Entity => return None,
            Kind::AsciiWord
            | Kind::Word
            | Kind::Part
            | Kind::AsciiPart
            | Kind::AsciiHyphenated
            | Kind::Hyphenated => self == Config::English,
            _ => false,
        };
        let word = token.to_ascii_lowercase();
        if !stems {
            return Some(Some(word));
        }
        if english::is_stop(&word) {
            return Some(None);
        }
        Some(Some(if word.len() > STEMMED_BYTES { word } else { english::stem(&word) }))
    }
}

/// Longer words are no language.
const STEMMED_BYTES: usize = 1000;

/// The words of a text, with their positions.
#[derive(Debug, Default)]
pub(super) struct Text {
    pub(super) words: Vec<(String, u16)>,
    /// The position of the last token that counts.
    pub(super) last: u32,
    /// Bytes of the texts of words.
    bytes: usize,
    growth: Growth,
}

/// What a text takes in addition to its own bytes that the list has of it.
const WORD_MEMORY: usize = 16;
/// What the automaton notes in one place, in a list that has up to twice what is in it.
const NOTED_BYTES: usize = 2 * size_of::<[usize; 4]>();

impl Text {
    /// Adds those of a text, behind what is there. Words that are too long are left out.
    ///
    /// # Errors
    /// `53200`, `57014`
    pub(super) fn add(&mut self, config: Config, text: &str, cx: &Cx<'_>) -> Result<()> {
        let noted = most_noted(text) * NOTED_BYTES;
        let mut tokens = Tokens::new(text);
        self.ask(noted, cx)?;
        while let Some((kind, begin, end)) = tokens.next()? {
            if end - begin >= WORD_BYTES {
                continue;
            }
            let Some(word) = config.lexeme(kind, &text[begin..end]) else { continue };
            self.last += 1;
            if let Some(word) = word {
                self.bytes += word.len() + WORD_MEMORY;
                self.ask(noted, cx)?;
                self.words.push((word, self.last.min(u32::from(LAST)) as u16));
            }
        }
        Ok(())
    }

    /// Asks for what the words take with one more, in addition to `more` bytes.
    fn ask(&mut self, more: usize, cx: &Cx<'_>) -> Result<()> {
        // A list that grows has up to twice what is in it.
        let words = (self.words.len() + 1) * 2 * size_of::<(String, u16)>();
        self.growth.memory(cx, words + self.bytes + more)
    }
}

/// In how many places the automaton may note where it is at a time. It does so at signs, and perhaps once more behind one. A
/// space ends what it looks at, other than a tag, and there it comes back at once.
fn most_noted(text: &str) -> usize {
    let of_one = |run: &[u8]| run.iter().filter(|byte| byte.is_ascii_punctuation()).count();
    let runs = text.as_bytes().split(|byte| super::words::is_space(*byte));
    1 + 2 * runs.map(of_one).max().unwrap_or(0)
}
