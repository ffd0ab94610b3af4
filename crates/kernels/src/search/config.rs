//! Which configurations are there, and what do they make of a text?
//!
//! A configuration says for each kind of token which words it stands for. Served are `simple` and `english`; PostgreSQL's others
//! are known by name alone. Thread safety: pure functions.

use onlap_pg::{Error, Oid, Result};

use super::english;
use super::tokens::{Kind, Tokens};
use super::vector::{LAST, WORD_BYTES};
use crate::Cx;

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
}

impl Text {
    /// Adds those of a text, behind what is there. Words that are too long are left out.
    ///
    /// # Errors
    /// `53200`, `57014`
    pub(super) fn add(&mut self, config: Config, text: &str, cx: &Cx<'_>) -> Result<()> {
        // Words, and what the automaton notes.
        cx.room(text.len().saturating_mul(4))?;
        let mut tokens = Tokens::new(text);
        while let Some((kind, begin, end)) = tokens.next()? {
            if end - begin >= WORD_BYTES {
                continue;
            }
            let Some(word) = config.lexeme(kind, &text[begin..end]) else { continue };
            self.last += 1;
            if let Some(word) = word {
                self.words.push((word, self.last.min(u32::from(LAST)) as u16));
            }
        }
        Ok(())
    }
}
