//! Where in a document are words of a query, and which stretches of it is the query true of?
//!
//! Beginnings mean many words, and many of them may mean the same: what each means is kept as ranges that are within each other,
//! not as pairs, so memory grows with document and query, never with their product. A stretch has positions of those words
//! alone that are in a phrase, and asks for them as they grow. Thread safety: pure functions.

use std::cmp::Reverse;

use onlap_pg::value::MAX_BYTES;
use onlap_pg::{Error, Result};

use super::matches::{Document, Found, Is, holds, meant};
use super::query::{Join, Node, Query, Word};
use super::vector::{Entry, position, weight};
use crate::Cx;
use crate::misc::growth::Growth;

/// Pairs of a node and a place that it means, as in PostgreSQL: it has 24 bytes for each, and no more than 1 GiB in one piece.
const PAIRS: usize = MAX_BYTES / 24;

/// A word of a query that means words of a document.
#[derive(Clone, Copy, Debug)]
struct Meant {
    node: usize,
    /// Behind the last entry that it means.
    end: usize,
    weights: u8,
    /// How many there are up to the widest, with itself.
    levels: usize,
    /// The next wider one that means all of this one's entries.
    wider: Option<usize>,
}

/// What words of a query mean in a document.
#[derive(Debug)]
pub(super) struct Meaning {
    /// A wider one comes before those within it.
    words: Vec<Meant>,
    /// Of each entry the narrowest one that means it.
    narrowest: Vec<Option<usize>>,
}

impl Meaning {
    /// # Errors
    /// `53200`, `57014`
    pub(super) fn new(entries: &[Entry<'_>], query: &Query<'_>, cx: &Cx<'_>) -> Result<Meaning> {
        type Range = (usize, Reverse<usize>, usize, u8);
        // Lists that grow have up to twice what is in them.
        let of_word = 2 * (size_of::<Range>() + size_of::<Meant>());
        let of_entry = size_of::<Option<usize>>();
        Growth::new().memory(cx, query.nodes.len() * of_word + entries.len() * of_entry)?;
        let mut ranges: Vec<Range> = Vec::new();
        for (node, word) in query.words() {
            cx.worked(word.text.len())?;
            let count = meant(entries, word).len();
            if count > 0 {
                let first = entries.partition_point(|entry| entry.word < &*word.text);
                ranges.push((first, Reverse(first + count), node, word.weights));
            }
        }
        // Two beginnings mean the same, or one what the other means and more, or they have nothing in common.
        ranges.sort_unstable();
        let mut next = ranges.into_iter().peekable();
        let mut words: Vec<Meant> = Vec::new();
        let mut narrowest = Vec::with_capacity(entries.len());
        let mut open: Option<usize> = None;
        for at in 0..entries.len() {
            cx.worked(1)?;
            while let Some(last) = open.filter(|last| words[*last].end <= at) {
                open = words[last].wider;
            }
            while let Some((_, Reverse(end), node, weights)) = next.next_if(|range| range.0 == at) {
                let levels = 1 + open.map_or(0, |wider| words[wider].levels);
                words.push(Meant { node, end, weights, levels, wider: open });
                open = Some(words.len() - 1);
            }
            narrowest.push(open);
        }
        Ok(Meaning { words, narrowest })
    }

    /// How many words mean an entry, whatever their weights.
    fn levels(&self, entry: usize) -> usize {
        self.narrowest[entry].map_or(0, |at| self.words[at].levels)
    }

    /// The nodes that mean a place of an entry.
    fn nodes(&self, entry: usize, place: u16) -> impl Iterator<Item = usize> {
        let words = &self.words;
        let narrowest = self.narrowest[entry].map(|at| &words[at]);
        let all = std::iter::successors(narrowest, move |meant| Some(&words[meant.wider?]));
        all.filter(move |word| word.weights == 0 || word.weights & 1 << weight(place) != 0)
            .map(|word| word.node)
    }
}

/// A place of a document where words of the query are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    pub(super) place: u16,
    entry: usize,
}

/// The places of a document where words of the query are, in their order.
///
/// # Errors
/// `54000`, `53200`, `57014`
pub(super) fn spots(entries: &[Entry<'_>], meaning: &Meaning, cx: &Cx<'_>) -> Result<Vec<Spot>> {
    let (mut all, mut growth, mut pairs) = (Vec::new(), Growth::new(), 0);
    for (at, entry) in entries.iter().enumerate() {
        let levels = meaning.levels(at);
        if levels == 0 {
            continue;
        }
        growth.memory(cx, (all.len() + entry.len()) * 2 * size_of::<Spot>())?;
        for place in entry.places() {
            cx.worked(levels)?;
            let nodes = meaning.nodes(at, place).count();
            pairs += nodes;
            if nodes > 0 {
                all.push(Spot { place, entry: at });
            }
        }
        if pairs > PAIRS {
            return Err(Error::new("54000", "invalid memory alloc request size"));
        }
    }
    all.sort_unstable_by_key(|spot| (position(spot.place), weight(spot.place), spot.entry));
    Ok(all)
}

/// Where a node is in a stretch.
#[derive(Clone, Debug, Default)]
struct There {
    is_there: bool,
    /// Whether its positions are asked for: it is in a phrase.
    is_placed: bool,
    /// In the order in which they were added.
    positions: Vec<u16>,
}

/// Spots of a stretch, as a document.
#[derive(Debug)]
pub(super) struct Stretch<'m> {
    meaning: &'m Meaning,
    nodes: Vec<There>,
    /// Whether spots are added from the end.
    backwards: bool,
    /// Bytes of all that nodes have.
    bytes: usize,
    growth: Growth,
}

impl<'m> Stretch<'m> {
    /// One without spots.
    ///
    /// # Errors
    /// `53200`, `57014`
    pub(super) fn new(meaning: &'m Meaning, query: &Query<'_>, cx: &Cx<'_>) -> Result<Stretch<'m>> {
        let bytes = query.nodes.len() * size_of::<There>();
        let mut growth = Growth::new();
        growth.memory(cx, bytes)?;
        cx.worked(query.nodes.len())?;
        let mut nodes = vec![There::default(); query.nodes.len()];
        // A node is behind those that it joins.
        for (at, node) in query.nodes.iter().enumerate().rev() {
            let is_placed = nodes[at].is_placed || matches!(node, Node::Two(Join::Phrase(_)));
            match node {
                Node::Word(_) | Node::Stop => {}
                Node::Not => nodes[at - 1].is_placed = is_placed,
                Node::Two(_) => {
                    let (left, right) = query.sides(at);
                    nodes[left].is_placed = is_placed;
                    nodes[right].is_placed = is_placed;
                }
            }
        }
        Ok(Stretch { meaning, nodes, backwards: false, bytes, growth })
    }

    /// Takes all spots away.
    fn clear(&mut self, backwards: bool, cx: &Cx<'_>) -> Result<()> {
        cx.worked(self.nodes.len())?;
        self.backwards = backwards;
        for node in &mut self.nodes {
            node.is_there = false;
            node.positions.clear();
        }
        Ok(())
    }

    fn add(&mut self, spot: &Spot, cx: &Cx<'_>) -> Result<()> {
        let at = position(spot.place);
        let meaning = self.meaning;
        cx.worked(meaning.levels(spot.entry))?;
        for node in meaning.nodes(spot.entry, spot.place) {
            let own = &mut self.nodes[node];
            own.is_there = true;
            if !own.is_placed || own.positions.last() == Some(&at) {
                continue;
            }
            if own.positions.len() == own.positions.capacity() {
                let more = own.positions.capacity().max(4);
                self.bytes += more * size_of::<u16>();
                self.growth.memory(cx, self.bytes)?;
                own.positions.reserve_exact(more);
            }
            own.positions.push(at);
        }
        Ok(())
    }
}

impl Document for Stretch<'_> {
    fn find(&self, at: usize, _: &Word<'_>, places: Option<&mut Found>, cx: &Cx<'_>) -> Result<Is> {
        let own = &self.nodes[at];
        if !own.is_there {
            return Ok(Is::No);
        }
        if let Some(found) = places {
            debug_assert!(own.is_placed, "it is in a phrase");
            cx.worked(own.positions.len())?;
            let positions = own.positions.iter().map(|position| u32::from(*position));
            match self.backwards {
                true => found.positions.extend(positions.rev()),
                false => found.positions.extend(positions),
            }
        }
        Ok(Is::Yes)
    }
}

/// The next stretch of spots that the query is true of: its first and its last one.
///
/// # Errors
/// `53200`, `57014`
pub(super) fn cover(
    spots: &[Spot],
    from: &mut usize,
    query: &Query<'_>,
    stretch: &mut Stretch<'_>,
    growth: &mut Growth,
    cx: &Cx<'_>,
) -> Result<Option<(usize, usize)>> {
    while *from < spots.len() {
        stretch.clear(false, cx)?;
        let mut last = None;
        for (at, spot) in spots.iter().enumerate().skip(*from) {
            stretch.add(spot, cx)?;
            if holds(query, &*stretch, growth, cx)? {
                last = (position(spot.place) > 0).then_some(at);
                break;
            }
        }
        let Some(last) = last else { return Ok(None) };
        stretch.clear(true, cx)?;
        let mut first = None;
        for at in (*from..=last).rev() {
            stretch.add(&spots[at], cx)?;
            if holds(query, &*stretch, growth, cx)? {
                first = Some(at);
                break;
            }
        }
        if let Some(first) = first {
            *from = first + 1;
            return Ok(Some((first, last)));
        }
        *from += 1;
    }
    Ok(None)
}
