//! How do texts become tsvector and tsquery by a configuration?
//!
//! Thread safety: pure functions.

use onlap_pg::{Oid, Result};

use super::config::{Config, Text};
use super::query::{Join, Node};
use super::read::{self, Nodes};
use super::vector::{Builder, LAST, PLACES};
use crate::Cx;
use crate::json::form::{Node as Json, node};

/// The words of a text and where they are.
///
/// # Errors
/// `0A000`, `54000`, `53200`, `57014`
pub(super) fn vector(config: Oid, text: &str, cx: &Cx<'_>) -> Result<Vec<u8>> {
    let mut made = Text::default();
    made.add(Config::of(config)?, text, cx)?;
    of_words(made)
}

/// The same of all strings in a document that are values. Between two of them is a place without a word.
///
/// # Errors
/// As [`vector`].
pub(super) fn vector_of_json(config: Oid, document: &[u8], cx: &Cx<'_>) -> Result<Vec<u8>> {
    let mut made = Text::default();
    strings(Config::of(config)?, document, cx, &mut made)?;
    of_words(made)
}

fn strings(config: Config, document: &[u8], cx: &Cx<'_>, made: &mut Text) -> Result<()> {
    match node(document) {
        Json::Text(text) => {
            let before = made.words.len();
            made.add(config, text, cx)?;
            made.last += u32::from(made.words.len() > before);
        }
        Json::Array(items) => {
            for item in items.iter() {
                strings(config, item, cx, made)?;
            }
        }
        Json::Object(pairs) => {
            for (_, value) in pairs.iter() {
                strings(config, value, cx, made)?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn of_words(made: Text) -> Result<Vec<u8>> {
    let mut words = made.words;
    words.sort_unstable();
    words.dedup();
    let mut out = Builder::new();
    for of_one in words.chunk_by(|a, b| a.0 == b.0) {
        // As PostgreSQL: one less than there may be.
        let places = &of_one[..of_one.len().min(PLACES - 1)];
        debug_assert!(places.iter().all(|(_, place)| (1..=LAST).contains(place)), "positions");
        out.push(&of_one[0].0, places.iter().map(|(_, place)| *place));
    }
    out.finish()
}

/// How words of one operand are joined.
fn words(
    config: Config,
    join: Join,
) -> impl FnMut(&mut Nodes<'_>, &str, u8, bool, &Cx<'_>) -> Result<()> {
    move |nodes, text, weights, prefix, cx| {
        let mut made = Text::default();
        made.add(config, text, cx)?;
        let mut last: Option<u16> = None;
        for of_one in made.words.chunk_by(|a, b| a.1 == b.1) {
            let position = of_one[0].1;
            // Words that were left out have places, too.
            let missing = last.map_or(0, |last| position - last - 1);
            for _ in 0..missing {
                nodes.push(Node::Stop, cx)?;
                nodes.push(Node::Two(join), cx)?;
            }
            for (at, (word, _)) in of_one.iter().enumerate() {
                nodes.word(word, weights, prefix, cx)?;
                if at > 0 {
                    nodes.push(Node::Two(Join::And), cx)?;
                }
            }
            if last.is_some() {
                nodes.push(Node::Two(join), cx)?;
            }
            last = Some(position);
        }
        if made.words.is_empty() {
            nodes.push(Node::Stop, cx)?;
        }
        Ok(())
    }
}

/// The ways in which a text is read as a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// With operators.
    Standard,
    /// All of its words.
    All,
    /// Its words one behind the other.
    Phrase,
    /// As people type it.
    Typed,
}

/// A query of words of a configuration.
///
/// # Errors
/// `0A000`, `42601`, `22023`, `54000`, `54001`, `53200`, `57014`
pub(super) fn query(config: Oid, text: &str, way: Way, cx: &Cx<'_>) -> Result<Vec<u8>> {
    cx.worked(text.len())?;
    let config = Config::of(config)?;
    let join = if way == Way::All { Join::And } else { Join::Phrase(1) };
    let mut add = words(config, join);
    match way {
        Way::Standard => read::standard(text, &mut add, cx),
        Way::All | Way::Phrase => read::plain(text, &mut add, cx),
        Way::Typed => read::typed(text, &mut add, cx),
    }
}
