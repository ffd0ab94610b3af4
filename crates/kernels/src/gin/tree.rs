//! What does a condition need of the keys of a row?
//!
//! Thread safety: plain data.

use super::Keys;

/// A condition on the keys of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tree {
    /// Rows need have no key: keys say nothing.
    All,
    /// No row is wanted.
    None,
    /// A row has this key.
    Key(Vec<u8>),
    /// A row has a key that begins so: with at least one byte, the first of which is not the last that there is.
    Begins(Vec<u8>),
    /// A row meets all of these: at least two, none of them [`Tree::All`], [`Tree::None`] or [`Tree::And`].
    And(Vec<Tree>),
    /// A row meets any of these: at least two, none of them [`Tree::All`], [`Tree::None`] or [`Tree::Or`].
    Or(Vec<Tree>),
}

/// Parts of an AND that are looked at: each is a list of rows to read, and a few leave few rows. More than four are asked for
/// because some are as good as none.
const PARTS_OF_AND: usize = 12;
/// Keys of a whole tree: to look up a thousand takes less time than to read the rows of a larger table.
const KEYS: usize = 1024;
/// Levels of a tree. The engine takes deeper ones, with the conditions of a query around them.
const LEVELS: usize = 16;

impl Tree {
    /// One key, hashed if it is too long.
    pub(crate) fn key(make: impl FnOnce(&mut Vec<u8>)) -> Tree {
        let mut keys = Keys::new();
        keys.make(make);
        Tree::all_of(&keys)
    }

    /// All of some keys.
    pub(crate) fn all_of(keys: &Keys) -> Tree {
        let mut all: Vec<&[u8]> = keys.iter().collect();
        all.sort_unstable();
        all.dedup();
        Tree::and(all.into_iter().map(|key| Tree::Key(key.to_vec())))
    }

    /// Any of some keys.
    pub(crate) fn any_of(keys: &Keys) -> Tree {
        let mut all: Vec<&[u8]> = keys.iter().collect();
        all.sort_unstable();
        all.dedup();
        Tree::or(all.into_iter().map(|key| Tree::Key(key.to_vec())))
    }

    /// All of these; [`Tree::All`] of nothing.
    pub fn and(parts: impl IntoIterator<Item = Tree>) -> Tree {
        let mut all: Vec<Tree> = Vec::new();
        for part in parts {
            match part {
                Tree::All => {}
                Tree::None => return Tree::None,
                Tree::And(more) => all.extend(more),
                other => all.push(other),
            }
        }
        all = unlike(all);
        match all.len() {
            0 => Tree::All,
            1 => all.remove(0),
            _ => Tree::And(all),
        }
    }

    /// Any of these; [`Tree::None`] of nothing.
    pub fn or(parts: impl IntoIterator<Item = Tree>) -> Tree {
        let mut all: Vec<Tree> = Vec::new();
        for part in parts {
            match part {
                Tree::All => return Tree::All,
                Tree::None => {}
                Tree::Or(more) => all.extend(more),
                other => all.push(other),
            }
        }
        all = unlike(all);
        match all.len() {
            0 => Tree::None,
            1 => all.remove(0),
            _ => Tree::Or(all),
        }
    }

    /// Whether it is met by a row that has some keys.
    pub fn is_met(&self, keys: &std::collections::BTreeSet<Vec<u8>>) -> bool {
        match self {
            Tree::All => true,
            Tree::None => false,
            Tree::Key(key) => keys.contains(key),
            Tree::Begins(begin) => {
                let next = keys.range::<Vec<u8>, _>(begin..).next();
                next.is_some_and(|key| key.starts_with(begin))
            }
            Tree::And(parts) => parts.iter().all(|part| part.is_met(keys)),
            Tree::Or(parts) => parts.iter().any(|part| part.is_met(keys)),
        }
    }

    /// A tree that asks for no more, and is not too large to be worth it.
    pub(crate) fn within_limits(self) -> Tree {
        let tree = self.cut(LEVELS);
        if tree.count() > KEYS { Tree::All } else { tree }
    }

    fn cut(self, levels: usize) -> Tree {
        match self {
            Tree::And(_) | Tree::Or(_) if levels == 0 => Tree::All,
            // Short keys are in more rows than long ones, where anything is known of them.
            Tree::And(mut parts) if parts.len() > PARTS_OF_AND => {
                parts.sort_by_key(|part| match part {
                    Tree::Key(key) => usize::MAX - key.iter().filter(|byte| **byte > b' ').count(),
                    _ => usize::MAX,
                });
                parts.truncate(PARTS_OF_AND);
                Tree::And(parts).cut(levels)
            }
            Tree::And(parts) => Tree::and(parts.into_iter().map(|part| part.cut(levels - 1))),
            Tree::Or(parts) => Tree::or(parts.into_iter().map(|part| part.cut(levels - 1))),
            other => other,
        }
    }

    /// Keys in it.
    pub fn count(&self) -> usize {
        match self {
            Tree::All | Tree::None => 0,
            Tree::Key(_) | Tree::Begins(_) => 1,
            Tree::And(parts) | Tree::Or(parts) => parts.iter().map(Tree::count).sum(),
        }
    }
}

/// Keys that are there twice are left out.
fn unlike(parts: Vec<Tree>) -> Vec<Tree> {
    let mut seen = std::collections::HashSet::new();
    let mut out = Vec::with_capacity(parts.len());
    for part in parts {
        let is_new = match &part {
            Tree::Key(key) => seen.insert(key.clone()),
            _ => true,
        };
        if is_new {
            out.push(part);
        }
    }
    out
}
