//! Which trigrams has every text in which a regular expression is found?
//!
//! Of each part of the expression it is known what it describes, as long as these are few short texts; else how they begin and
//! how they end. Where parts follow each other, what one may end with and the next may begin with give trigrams of both. This
//! is the way of Russ Cox's "Regular Expression Matching with a Trigram Index" (2012), with pg_trgm's trigrams: blanks stand for what
//! is around words. Letters are small throughout, as they are in trigrams, so that case does not matter.

use std::collections::BTreeSet;

use super::Tree;
use super::trigrams::literal;
use crate::text::regex::{Ast, Flags, Regex, Set, deeper};

/// Texts that are told apart.
const TEXTS: usize = 16;
/// Bytes of a text that is known whole.
const BYTES: usize = 24;
/// Bytes that are kept of how texts begin and end: trigrams with what is beyond need no more.
const ENDS: usize = 3;
/// Characters of a set that stand for themselves.
const CHARACTERS: u32 = 64;

type Texts = BTreeSet<Vec<u8>>;

/// What is known of the texts that a part describes.
#[derive(Clone, Debug)]
struct Known {
    /// All of them, if they are few.
    whole: Option<Texts>,
    /// Each begins with one of these.
    first: Texts,
    /// Each ends with one of these.
    last: Texts,
    /// What is needed besides.
    tree: Tree,
}

/// What a regular expression needs.
pub(super) fn needs(pattern: &str, any_case: bool) -> Tree {
    // It is an error of the rows that it is held against.
    let Ok(regex) = Regex::new(pattern, Flags { any_case, ..Flags::PLAIN }) else {
        return Tree::All;
    };
    of(&regex.ast()).all().tree
}

fn one(text: &[u8]) -> Texts {
    BTreeSet::from([text.to_vec()])
}

/// What texts need of which each has one of these in it.
fn any(texts: &Texts) -> Tree {
    Tree::or(texts.iter().map(|text| Tree::all_of(&literal(text, false, false))))
}

/// Each of the one with each of the other behind it, if they are not too many.
fn joined(a: &Texts, b: &Texts) -> Option<Texts> {
    if a.len() * b.len() > TEXTS * TEXTS {
        return None;
    }
    Some(a.iter().flat_map(|a| b.iter().map(move |b| [&**a, b].concat())).collect())
}

/// The same texts where they are few, else those that begin so or end so.
fn few(texts: Texts) -> Texts {
    if texts.len() > TEXTS { one(b"") } else { texts }
}

impl Known {
    /// Nothing.
    fn anything() -> Known {
        Known { whole: None, first: one(b""), last: one(b""), tree: Tree::All }
    }

    /// These texts.
    fn these(texts: Texts) -> Known {
        let is_short = texts.iter().all(|text| text.len() <= BYTES);
        let known = Known {
            first: texts.clone(),
            last: texts.clone(),
            whole: Some(texts),
            tree: Tree::All,
        };
        match &known.whole {
            Some(texts) if texts.len() > TEXTS || !is_short => known.all(),
            _ => known,
        }
    }

    /// The same, with all that it says in the tree, and no more kept than how texts begin and end.
    fn all(self) -> Known {
        let Known { whole, first, last, tree } = self;
        let tree = match &whole {
            Some(texts) => Tree::and([tree, any(texts)]),
            None => Tree::and([tree, any(&first), any(&last)]),
        };
        let first = first.into_iter().map(|text| text[..text.len().min(ENDS)].to_vec());
        let last = last.into_iter().map(|text| text[text.len().saturating_sub(ENDS)..].to_vec());
        Known { whole: None, first: few(first.collect()), last: few(last.collect()), tree }
    }

    /// One behind the other.
    fn then(self, next: Known) -> Known {
        if let (Some(a), Some(b)) = (&self.whole, &next.whole)
            && let Some(texts) = joined(a, b)
        {
            let tree = Tree::and([self.tree, next.tree]);
            let made = Known::these(texts);
            return Known { tree: Tree::and([tree, made.tree]), ..made };
        }
        let between = joined(&self.last, &next.first).map_or(Tree::All, |texts| any(&texts));
        let first = match &self.whole {
            Some(texts) => joined(texts, &next.first).unwrap_or_else(|| self.first.clone()),
            None => self.first.clone(),
        };
        let last = match &next.whole {
            Some(texts) => joined(&self.last, texts).unwrap_or_else(|| next.last.clone()),
            None => next.last.clone(),
        };
        let tree = Tree::and([self.all().tree, next.all().tree, between]);
        Known { whole: None, first: few(first), last: few(last), tree }
    }

    /// Either.
    fn or(self, other: Known) -> Known {
        if let (Some(a), Some(b), Tree::All, Tree::All) =
            (&self.whole, &other.whole, &self.tree, &other.tree)
        {
            return Known::these(a.union(b).cloned().collect());
        }
        let (a, b) = (self.all(), other.all());
        let first = few(a.first.union(&b.first).cloned().collect());
        let last = few(a.last.union(&b.last).cloned().collect());
        Known { whole: None, first, last, tree: Tree::or([a.tree, b.tree]) }
    }
}

fn of(ast: &Ast) -> Known {
    deeper(|| match ast {
        // A place is between characters. What is looked for ahead or behind needs no part of what is found here.
        Ast::Empty | Ast::Place(_) | Ast::Look { .. } => Known::these(one(b"")),
        Ast::Set(set) => characters(set).map_or_else(Known::anything, Known::these),
        Ast::Cat(parts) => {
            parts.iter().map(of).fold(Known::these(one(b"")), |before, part| before.then(part))
        }
        Ast::Alt(parts) => {
            let mut parts = parts.iter().map(of);
            let first = parts.next().unwrap_or_else(Known::anything);
            parts.fold(first, Known::or)
        }
        Ast::Repeat(what, least, most) => {
            let once = of(what);
            if (*least, *most) == (0, Some(1)) {
                return once.or(Known::these(one(b"")));
            }
            // What is repeated more often is that often, and then anything.
            let times = (*least).min(3);
            let mut known = Known::these(one(b""));
            for _ in 0..times {
                known = known.then(once.clone());
            }
            if *most == Some(times) { known } else { known.then(Known::anything()) }
        }
    })
}

/// The characters of a set in small letters, if they are few.
fn characters(set: &Set) -> Option<Texts> {
    let count = set.ranges().iter().map(|(from, to)| to - from + 1).fold(0, u32::saturating_add);
    if count > CHARACTERS {
        return None;
    }
    let all = set.ranges().iter().flat_map(|(from, to)| *from..=*to);
    let text = |c: char| c.to_ascii_lowercase().to_string().into_bytes();
    let texts: Texts = all.filter_map(char::from_u32).map(text).collect();
    (texts.len() <= TEXTS).then_some(texts)
}
