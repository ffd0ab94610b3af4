//! Is a query true of the words of a document?
//!
//! Above every PHRASE it is a matter of yes and no. Below one it is a matter of places: what a side is found at, as the end of
//! what was found, or where it is not found. A word without places is perhaps there; a phrase of it is not found.
//! Thread safety: pure functions.

use onlap_pg::Result;

use super::query::{Join, Node, Query, Word};
use super::vector::{Entry, position, weight};
use crate::Cx;
use crate::misc::growth::Growth;
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

impl Found {
    fn bytes(&self) -> usize {
        self.positions.capacity() * size_of::<u32>()
    }
}

/// What knows where words are.
pub(super) trait Document {
    /// Whether the word of a node is there, and where if that is asked.
    ///
    /// # Errors
    /// `57014`
    fn find(
        &self,
        at: usize,
        word: &Word<'_>,
        places: Option<&mut Found>,
        cx: &Cx<'_>,
    ) -> Result<Is>;
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
    fn find(
        &self,
        _: usize,
        word: &Word<'_>,
        places: Option<&mut Found>,
        cx: &Cx<'_>,
    ) -> Result<Is> {
        cx.worked(word.text.len())?;
        let entries = meant(self.0, word);
        let of_weight = |place: &u16| word.weights == 0 || word.weights & 1 << weight(*place) != 0;
        let Some(found) = places else {
            for entry in entries {
                cx.worked(entry.len().max(1))?;
                if !entry.has_places() || entry.places().any(|place| of_weight(&place)) {
                    return Ok(Is::Yes);
                }
            }
            return Ok(Is::No);
        };
        for entry in entries {
            cx.worked(entry.len().max(1))?;
            if !entry.has_places() {
                found.positions = Vec::new();
                return Ok(Is::Perhaps);
            }
            let all = entry.places().filter(of_weight);
            found.positions.extend(all.map(|place| u32::from(position(place))));
        }
        if entries.len() > 1 {
            found.positions.sort_unstable();
            found.positions.dedup();
            // It is kept while the other side of a phrase is looked for.
            found.positions.shrink_to_fit();
        }
        Ok(if found.positions.is_empty() { Is::No } else { Is::Yes })
    }
}

/// Whether a query is true; the empty one is not. What positions take is asked for where it was not yet.
///
/// # Errors
/// `53200`, `57014`
pub(super) fn holds(
    query: &Query<'_>,
    document: &impl Document,
    growth: &mut Growth,
    cx: &Cx<'_>,
) -> Result<bool> {
    let Some(top) = query.top() else { return Ok(false) };
    Ok(is(query, top, document, growth, cx)? != Is::No)
}

fn is(
    query: &Query<'_>,
    at: usize,
    document: &impl Document,
    growth: &mut Growth,
    cx: &Cx<'_>,
) -> Result<Is> {
    cx.worked(1)?;
    let (left, right) = match &query.nodes[at] {
        Node::Word(word) => return document.find(at, word, None, cx),
        Node::Stop => unreachable!("a value has no such node"),
        Node::Not => {
            return Ok(match deeper(|| is(query, at - 1, document, growth, cx))? {
                Is::No => Is::Yes,
                Is::Yes => Is::No,
                Is::Perhaps => Is::Perhaps,
            });
        }
        Node::Two(_) => query.sides(at),
    };
    let mut side = |at: usize| deeper(|| is(query, at, document, growth, cx));
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
        _ => match places(query, at, document, 0, growth, cx)?.0 {
            Is::Perhaps => Ok(Is::No),
            is => Ok(is),
        },
    }
}

/// Whether a node is found, and where. `held` bytes of positions are kept until that is known.
fn places(
    query: &Query<'_>,
    at: usize,
    document: &impl Document,
    held: usize,
    growth: &mut Growth,
    cx: &Cx<'_>,
) -> Result<(Is, Found)> {
    cx.worked(1)?;
    let join = match &query.nodes[at] {
        Node::Word(word) => {
            let mut found = Found::default();
            let is = document.find(at, word, Some(&mut found), cx)?;
            growth.memory(cx, held + found.bytes())?;
            return Ok((is, found));
        }
        Node::Stop => unreachable!("a value has no such node"),
        Node::Not => {
            let (is, mut found) = deeper(|| places(query, at - 1, document, held, growth, cx))?;
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
    let (is_left, mut left) = deeper(|| places(query, left, document, held, growth, cx))?;
    if join != Join::Or && is_left == Is::No {
        return Ok((Is::No, Found::default()));
    }
    let held = held + left.bytes();
    let (is_right, mut right) = deeper(|| places(query, right, document, held, growth, cx))?;
    match (join, is_left, is_right) {
        (Join::Or, Is::No, Is::No) => return Ok((Is::No, Found::default())),
        (Join::And | Join::Phrase(_), _, Is::No) => return Ok((Is::No, Found::default())),
        (_, Is::Perhaps, _) | (_, _, Is::Perhaps) => return Ok((Is::Perhaps, Found::default())),
        _ => {}
    }
    let most = left.positions.len() + right.positions.len();
    cx.worked(most)?;
    // A list that grows has up to twice what is in it.
    growth.memory(cx, held + right.bytes() + 2 * most * size_of::<u32>())?;
    left.width = if is_left == Is::No { 0 } else { left.width };
    right.width = if is_right == Is::No { 0 } else { right.width };
    let widest = left.width.max(right.width);
    let (offsets, width) = match join {
        Join::Phrase(distance) => {
            // These may be 65,535 each in a value that a client sends; sums wrap, as PostgreSQL's of 32 bits do.
            let reach = u32::from(distance).wrapping_add(right.width);
            ((reach, 0), reach.wrapping_add(left.width))
        }
        _ => ((widest - left.width, widest - right.width), widest),
    };
    let (kept, elsewhere) = Kept::by(join, left.elsewhere, right.elsewhere);
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
    /// What is looked for of the one, of the other, and of both, and whether that is where it is not found.
    fn by(join: Join, left: bool, right: bool) -> (Kept, bool) {
        match (join == Join::Or, left, right) {
            (false, true, true) => (Kept { left: true, right: true, both: true }, true),
            (false, true, false) => (Kept { left: false, right: true, both: false }, false),
            (false, false, true) => (Kept { left: true, right: false, both: false }, false),
            (false, false, false) => (Kept { left: false, right: false, both: true }, false),
            (true, true, true) => (Kept { left: false, right: false, both: true }, true),
            (true, true, false) => (Kept { left: true, right: false, both: false }, true),
            (true, false, true) => (Kept { left: false, right: true, both: false }, true),
            (true, false, false) => (Kept { left: true, right: true, both: true }, false),
        }
    }

    /// Of positions with what is added to them.
    fn of(self, left: (&[u32], u32), right: (&[u32], u32)) -> Vec<u32> {
        let mut out = Vec::new();
        let mut a = left.0.iter().map(|position| position.wrapping_add(left.1)).peekable();
        let mut b = right.0.iter().map(|position| position.wrapping_add(right.1)).peekable();
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

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use onlap_pg::catalog::Catalog;
    use onlap_pg::value::Settings;

    use super::*;
    use crate::search::tests::Room;

    #[test]
    fn the_widest_phrases_within_each_other_wrap() {
        let (room, catalog, settings) = (Room::of(usize::MAX), Catalog::new(), Settings::default());
        let cx = Cx { catalog: &catalog, settings: &settings, session: &room };
        let word = || Node::Word(Word { text: Cow::Borrowed("a"), weights: 0, prefix: false });
        // !a is everywhere, so the sides are looked at to the end.
        let mut nodes = vec![word(), Node::Not];
        for _ in 0..65_540 {
            nodes.extend([word(), Node::Not, Node::Two(Join::Phrase(u16::MAX))]);
        }
        let query = Query::new(nodes).expect("a query");
        let stored = crate::search::words::parse("b:1", &cx).expect("a document");
        let entries = crate::search::vector::entries(&stored);
        let is = holds(&query, &Vector(&entries), &mut Growth::new(), &cx);
        assert!(is.expect("it ends"));
    }
}
