//! Is a query true of the words of a document?
//!
//! Above every PHRASE it is a matter of yes and no. Below one it is a matter of places: what a side is found at, as the end of
//! what was found, or where it is not found. A word without places is perhaps there; a phrase of it is not found.
//! Thread safety: pure functions.

use onlap_pg::Result;

use super::query::{Join, Node, Query, Word};
use super::vector::{Entry, position, weight};
use crate::Cx;
use crate::text::regex::deeper;

/// Whether something is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Is {
    No,
    Perhaps,
    Yes,
}

/// Where something is found: at these positions, which rise, or at all others.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub(super) positions: Vec<u32>,
    elsewhere: bool,
    /// How far before the position it begins.
    width: u32,
}

/// What knows where words are.
pub(super) trait Document {
    /// Whether the word of a node is there, and where if that is asked.
    fn find(&self, at: usize, word: &Word<'_>, places: Option<&mut Found>) -> Is;
}

/// The words of a value.
pub(super) struct Vector<'a>(pub(super) &'a [Entry<'a>]);

/// The words that a word means: itself, or all that begin with it.
pub(super) fn meant<'a>(entries: &'a [Entry<'a>], word: &Word<'_>) -> &'a [Entry<'a>] {
    let at = entries.partition_point(|entry| entry.word < &*word.text);
    let behind = &entries[at..];
    let count = match word.prefix {
        true => behind.partition_point(|entry| entry.word.starts_with(&*word.text)),
        false => usize::from(behind.first().is_some_and(|entry| entry.word == &*word.text)),
    };
    &behind[..count]
}

impl Document for Vector<'_> {
    fn find(&self, _: usize, word: &Word<'_>, places: Option<&mut Found>) -> Is {
        let entries = meant(self.0, word);
        let of_weight = |place: &u16| word.weights == 0 || word.weights & 1 << weight(*place) != 0;
        let Some(found) = places else {
            let is = |entry: &Entry<'_>| {
                !entry.has_places() || entry.places().any(|place| of_weight(&place))
            };
            return if entries.iter().any(is) { Is::Yes } else { Is::No };
        };
        for entry in entries {
            if !entry.has_places() {
                found.positions.clear();
                return Is::Perhaps;
            }
            let all = entry.places().filter(of_weight);
            found.positions.extend(all.map(|place| u32::from(position(place))));
        }
        if entries.len() > 1 {
            found.positions.sort_unstable();
            found.positions.dedup();
        }
        if found.positions.is_empty() { Is::No } else { Is::Yes }
    }
}

/// Whether a query is true; the empty one is not.
///
/// # Errors
/// `57014`
pub(super) fn holds(query: &Query<'_>, document: &impl Document, cx: &Cx<'_>) -> Result<bool> {
    let Some(top) = query.top() else { return Ok(false) };
    Ok(is(query, top, document, cx)? != Is::No)
}

fn is(query: &Query<'_>, at: usize, document: &impl Document, cx: &Cx<'_>) -> Result<Is> {
    cx.worked(1)?;
    let (left, right) = match &query.nodes[at] {
        Node::Word(word) => return Ok(document.find(at, word, None)),
        Node::Stop => unreachable!("a value has no such node"),
        Node::Not => {
            return Ok(match deeper(|| is(query, at - 1, document, cx))? {
                Is::No => Is::Yes,
                Is::Yes => Is::No,
                Is::Perhaps => Is::Perhaps,
            });
        }
        Node::Two(_) => query.sides(at),
    };
    let side = |at: usize| deeper(|| is(query, at, document, cx));
    match &query.nodes[at] {
        Node::Two(Join::And) => match side(left)? {
            Is::No => Ok(Is::No),
            left => Ok(match side(right)? {
                Is::Yes => left,
                right => right,
            }),
        },
        Node::Two(Join::Or) => match side(left)? {
            Is::Yes => Ok(Is::Yes),
            left => Ok(match side(right)? {
                Is::No => left,
                right => right,
            }),
        },
        // What is perhaps a phrase is none.
        _ => match places(query, at, document, cx)?.0 {
            Is::Perhaps => Ok(Is::No),
            is => Ok(is),
        },
    }
}

/// Whether a node is found, and where.
fn places(
    query: &Query<'_>,
    at: usize,
    document: &impl Document,
    cx: &Cx<'_>,
) -> Result<(Is, Found)> {
    cx.worked(1)?;
    let join = match &query.nodes[at] {
        Node::Word(word) => {
            let mut found = Found::default();
            let is = document.find(at, word, Some(&mut found));
            cx.worked(found.positions.len())?;
            return Ok((is, found));
        }
        Node::Stop => unreachable!("a value has no such node"),
        Node::Not => {
            let (is, mut found) = deeper(|| places(query, at - 1, document, cx))?;
            return Ok(match is {
                Is::No => (Is::Yes, Found { positions: Vec::new(), elsewhere: true, ..found }),
                Is::Perhaps => (Is::Perhaps, Found::default()),
                Is::Yes if found.positions.is_empty() && found.elsewhere => {
                    (Is::No, Found::default())
                }
                Is::Yes => {
                    found.elsewhere = !found.elsewhere;
                    (Is::Yes, found)
                }
            });
        }
        Node::Two(join) => *join,
    };
    let (left, right) = query.sides(at);
    let (is_left, mut left) = deeper(|| places(query, left, document, cx))?;
    if join != Join::Or && is_left == Is::No {
        return Ok((Is::No, Found::default()));
    }
    let (is_right, mut right) = deeper(|| places(query, right, document, cx))?;
    match (join, is_left, is_right) {
        (Join::Or, Is::No, Is::No) => return Ok((Is::No, Found::default())),
        (Join::And | Join::Phrase(_), _, Is::No) => return Ok((Is::No, Found::default())),
        (_, Is::Perhaps, _) | (_, _, Is::Perhaps) => return Ok((Is::Perhaps, Found::default())),
        _ => {}
    }
    cx.worked(left.positions.len() + right.positions.len())?;
    left.width = if is_left == Is::No { 0 } else { left.width };
    right.width = if is_right == Is::No { 0 } else { right.width };
    let widest = left.width.max(right.width);
    let (offsets, width) = match join {
        Join::Phrase(distance) => {
            let distance = u32::from(distance);
            ((distance + right.width, 0), distance + left.width + right.width)
        }
        _ => ((widest - left.width, widest - right.width), widest),
    };
    // What is looked for of the one, of the other, and of both; elsewhere: that is where it is not found.
    let (kept, elsewhere) = match (join == Join::Or, left.elsewhere, right.elsewhere) {
        (false, true, true) => (Kept { left: true, right: true, both: true }, true),
        (false, true, false) => (Kept { left: false, right: true, both: false }, false),
        (false, false, true) => (Kept { left: true, right: false, both: false }, false),
        (false, false, false) => (Kept { left: false, right: false, both: true }, false),
        (true, true, true) => (Kept { left: false, right: false, both: true }, true),
        (true, true, false) => (Kept { left: true, right: false, both: false }, true),
        (true, false, true) => (Kept { left: false, right: true, both: false }, true),
        (true, false, false) => (Kept { left: true, right: true, both: true }, false),
    };
    let positions = kept.of((&left.positions, offsets.0), (&right.positions, offsets.1));
    let is = if elsewhere || !positions.is_empty() { Is::Yes } else { Is::No };
    Ok((is, Found { positions, elsewhere, width }))
}

/// Which positions of two lists are kept.
#[derive(Clone, Copy)]
struct Kept {
    left: bool,
    right: bool,
    both: bool,
}

impl Kept {
    /// Of positions with what is added to them.
    fn of(self, left: (&[u32], u32), right: (&[u32], u32)) -> Vec<u32> {
        let mut out = Vec::new();
        let mut a = left.0.iter().map(|position| position + left.1).peekable();
        let mut b = right.0.iter().map(|position| position + right.1).peekable();
        loop {
            let (next, is_kept) = match (a.peek().copied(), b.peek().copied()) {
                (None, None) => break,
                (Some(x), Some(y)) if x == y => (x, self.both),
                (Some(x), None) => (x, self.left),
                (None, Some(y)) => (y, self.right),
                (Some(x), Some(y)) if x < y => (x, self.left),
                (Some(_), Some(y)) => (y, self.right),
            };
            a.next_if_eq(&next);
            b.next_if_eq(&next);
            if is_kept && next > 0 {
                out.push(next);
            }
        }
        out
    }
}
