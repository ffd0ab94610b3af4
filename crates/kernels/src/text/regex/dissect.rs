//! What do the groups of an expression have of a text that it describes?
//!
//! Part by part: the left one gets as much as it prefers among what leaves the rest something that it describes. Parts
//! without back references never have to be tried twice, for what their programs say is all that counts.

use std::collections::HashSet;

use onlap_pg::Result;

use super::tree::{Kind, Tree};
use super::{Span, run};
use crate::Cx;

/// A text that is shared out.
pub struct Dissect<'a, 'c> {
    text: &'a str,
    any_case: bool,
    cx: &'a Cx<'c>,
}

/// What groups have; the whole is the first.
type Found = [Option<Span>];

impl<'a, 'c> Dissect<'a, 'c> {
    /// `any_case`: whether a back reference takes letters of either case.
    pub fn new(text: &'a str, any_case: bool, cx: &'a Cx<'c>) -> Self {
        Dissect { text, any_case, cx }
    }

    /// Fills in what groups have of a place that a tree without back references describes.
    pub fn fill(&self, tree: &Tree, span: Span, found: &mut Found) -> Result<()> {
        let described = self.try_fill(tree, span, found)?;
        debug_assert!(described, "the program has found it");
        Ok(())
    }

    /// Fills in what groups have of a place that a tree's program describes; false if back references say otherwise.
    pub fn try_fill(&self, tree: &Tree, span: Span, found: &mut Found) -> Result<bool> {
        forget(tree, found);
        let mut tree = tree;
        let mut span = span;
        // The last part of a row of parts is gone on with here, not deeper.
        while let (Kind::Concat(a, b), None, false) =
            (&tree.kind, tree.group, tree.has_back_references())
        {
            let Some(middle) = self.middles(a, b, span)?.next(self)? else { return Ok(false) };
            if !self.try_fill(a, (span.0, middle), found)? {
                return Ok(false);
            }
            (tree, span) = (b, (middle, span.1));
        }
        let described = match &tree.kind {
            Kind::Plain(_) => true,
            Kind::Wrap(what) => self.try_fill(what, span, found)?,
            Kind::Concat(a, b) => self.concat(a, b, span, found)?,
            Kind::Either(parts) => self.either(parts, span, found)?,
            Kind::Iterate { what, least, most } => {
                self.iterate(what, *least, *most, span, found)?
            }
            Kind::Reference { group, least, most, .. } => {
                self.refers(found[*group], *least, *most, span)
            }
        };
        if let (true, Some(group)) = (described, tree.group) {
            found[group] = Some(span);
        }
        Ok(described)
    }

    fn is_exact(&self, tree: &Tree, span: Span) -> Result<bool> {
        run::is_exact(tree.program(), self.text, span, self.cx)
    }

    /// Where a part may end, the preferred place first.
    fn ends(&self, tree: &Tree, begin: usize, limit: usize) -> Result<Vec<usize>> {
        let mut ends = run::ends(tree.program(), self.text, begin, limit, self.cx)?;
        if !tree.is_short() {
            ends.reverse();
        }
        Ok(ends)
    }

    fn middles<'t>(&self, a: &Tree, b: &'t Tree, span: Span) -> Result<Middles<'t>> {
        let ends = self.ends(a, span.0, span.1)?;
        Ok(Middles { ends: ends.into_iter(), right: b, end: span.1 })
    }

    fn concat(&self, a: &Tree, b: &Tree, span: Span, found: &mut Found) -> Result<bool> {
        let mut middles = self.middles(a, b, span)?;
        while let Some(middle) = middles.next(self)? {
            if self.try_fill(a, (span.0, middle), found)?
                && self.try_fill(b, (middle, span.1), found)?
            {
                return Ok(true);
            }
            forget(a, found);
            forget(b, found);
        }
        Ok(false)
    }

    fn either(&self, parts: &[Tree], span: Span, found: &mut Found) -> Result<bool> {
        for part in parts {
            if self.is_exact(part, span)? && self.try_fill(part, span, found)? {
                return Ok(true);
            }
            forget(part, found);
        }
        Ok(false)
    }

    /// What a group has, so many times.
    fn refers(&self, what: Option<Span>, least: u32, most: Option<u32>, span: Span) -> bool {
        let Some(what) = what else { return false };
        let (what, text) = (&self.text[what.0..what.1], &self.text[span.0..span.1]);
        if what.is_empty() {
            return text.is_empty() && most.is_none_or(|most| least <= most);
        }
        if text.is_empty() {
            return least == 0;
        }
        if text.len() % what.len() != 0 {
            return false;
        }
        let times = text.len() / what.len();
        let same = |at: usize| {
            let part = &text.as_bytes()[at * what.len()..(at + 1) * what.len()];
            match self.any_case {
                true => part.eq_ignore_ascii_case(what.as_bytes()),
                false => part == what.as_bytes(),
            }
        };
        times >= least as usize
            && most.is_none_or(|most| times <= most as usize)
            && (0..times).all(same)
    }

    /// A part that comes several times: each time takes what the part prefers, and the last one ends at the end.
    fn iterate(
        &self,
        what: &Tree,
        least: u32,
        most: Option<u32>,
        span: Span,
        found: &mut Found,
    ) -> Result<bool> {
        // Once is tried before not at all, even for a text without characters, unless shorter texts are preferred.
        let none = least == 0 && span.0 == span.1;
        if none && what.is_short() {
            return Ok(true);
        }
        // A time of no characters is of use only where so many times are asked for.
        let least = (least as usize).max(1);
        let limited = most.is_some();
        let characters = self.text[span.0..span.1].chars().count();
        let most = most.map_or(characters, |most| characters.min(most as usize)).max(least);
        // Without a most, all numbers of times from the least on are the same.
        let same_from = if limited { usize::MAX } else { least };
        let (dead, places) = (HashSet::new(), vec![span.0]);
        let mut way = Way { least, most, same_from, end: span.1, dead, places };
        let mut choices = vec![self.choices(what, &way)?];
        while let Some(left) = choices.last_mut() {
            let Some(end) = left.next() else {
                let key = way.key();
                way.dead.insert(key);
                choices.pop();
                way.places.pop();
                continue;
            };
            // What a time takes is the same whatever the times before it have taken, so that a place from which there is no
            // way is one for good.
            let begin = *way.places.last().expect("there is a first place");
            if what.has_back_references() && !self.try_fill(what, (begin, end), found)? {
                continue;
            }
            way.places.push(end);
            if way.is_there() {
                if self.walk(what, &way.places, found)? {
                    return Ok(true);
                }
                way.places.pop();
            } else if way.may_go_on() {
                choices.push(self.choices(what, &way)?);
            } else {
                way.places.pop();
            }
        }
        Ok(none)
    }

    /// Where the next time may end.
    fn choices(&self, what: &Tree, way: &Way) -> Result<std::vec::IntoIter<usize>> {
        let at = *way.places.last().expect("there is a first place");
        let mut ends = self.ends(what, at, way.end)?;
        let left = self.text[at..way.end].chars().count();
        let missing = way.least.saturating_sub(way.times() + 1);
        // Times without characters come only where there are not enough of these.
        ends.retain(|end| *end > at || at == way.end || missing > 0 && missing >= left);
        Ok(ends.into_iter())
    }

    /// Fills in groups time by time: they have what the last one gives.
    fn walk(&self, what: &Tree, places: &[usize], found: &mut Found) -> Result<bool> {
        for pair in places.windows(2) {
            if !self.try_fill(what, (pair[0], pair[1]), found)? {
                forget(what, found);
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Places between the times of an iteration.
struct Way {
    least: usize,
    most: usize,
    same_from: usize,
    end: usize,
    /// Times done and a place from which there is no way to the end.
    dead: HashSet<(usize, usize)>,
    places: Vec<usize>,
}

impl Way {
    fn times(&self) -> usize {
        self.places.len() - 1
    }

    fn is_there(&self) -> bool {
        self.places.last() == Some(&self.end) && self.times() >= self.least
    }

    fn key(&self) -> (usize, usize) {
        (self.times().min(self.same_from), *self.places.last().expect("there is a first place"))
    }

    fn may_go_on(&self) -> bool {
        self.places.last() != Some(&self.end)
            && self.times() < self.most
            && !self.dead.contains(&self.key())
    }
}

/// Where a part may end so that the next one describes the rest.
struct Middles<'t> {
    ends: std::vec::IntoIter<usize>,
    right: &'t Tree,
    end: usize,
}

impl Middles<'_> {
    fn next(&mut self, dissect: &Dissect<'_, '_>) -> Result<Option<usize>> {
        for middle in self.ends.by_ref() {
            if dissect.is_exact(self.right, (middle, self.end))? {
                return Ok(Some(middle));
            }
        }
        Ok(None)
    }
}

/// Groups within a part have nothing again.
fn forget(tree: &Tree, found: &mut Found) {
    if let Some(group) = tree.group {
        found[group] = None;
    }
    match &tree.kind {
        Kind::Plain(_) | Kind::Reference { .. } => {}
        Kind::Wrap(what) | Kind::Iterate { what, .. } => forget(what, found),
        Kind::Concat(a, b) => {
            forget(a, found);
            forget(b, found);
        }
        Kind::Either(parts) => parts.iter().for_each(|part| forget(part, found)),
    }
}
