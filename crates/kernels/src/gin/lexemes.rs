//! Which keys has a tsvector, and which does a query need?
//!
//! | key | of |
//! |---|---|
//! | 1, word | a word, whatever its places and their weights |
//!
//! A query for all words with a beginning needs a key that begins so; as long keys are hashed, it may be any of these, too.
//! Distances and weights are judged on the rows.

use super::{HASHED, Keys, Tree};
use crate::search::query::{Join, Node, Query, Word};
use crate::search::vector::entries;

const WORD: u8 = 1;

/// The keys of a value.
pub(super) fn keys(bytes: &[u8], keys: &mut Keys) {
    for entry in entries(bytes) {
        keys.make(|out| put(entry.word, out));
    }
}

fn put(word: &str, out: &mut Vec<u8>) {
    out.push(WORD);
    out.extend_from_slice(word.as_bytes());
}

/// What a query needs.
pub(super) fn asked(query: &[u8]) -> Tree {
    let mut sides: Vec<Tree> = Vec::new();
    for node in Query::load(query).nodes {
        let made = match node {
            Node::Word(word) => of_word(&word),
            Node::Stop => Tree::None,
            Node::Not => {
                sides.pop();
                Tree::All
            }
            Node::Two(join) => {
                let sides = [sides.pop(), sides.pop()].into_iter().flatten();
                if join == Join::Or { Tree::or(sides) } else { Tree::and(sides) }
            }
        };
        sides.push(made);
    }
    // The empty query is true of nothing.
    sides.pop().unwrap_or(Tree::None)
}

fn of_word(word: &Word<'_>) -> Tree {
    if !word.prefix {
        return Tree::key(|out| put(&word.text, out));
    }
    let mut begin = Vec::with_capacity(1 + word.text.len());
    put(&word.text, &mut begin);
    let hashed = Tree::Begins(vec![WORD | HASHED]);
    match begin.len() <= super::KEPT_BYTES {
        true => Tree::or([Tree::Begins(begin), hashed]),
        false => hashed,
    }
}
