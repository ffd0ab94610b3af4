//! Which keys has a jsonb document, and which do conditions on documents need?
//!
//! jsonb_ops: what stands in a document, wherever it is. A string that is an element of an array has the key that it would have
//! as the name of a pair, as `?` asks for both; so has a document that is nothing but a string.
//!
//! | key | of |
//! |---|---|
//! | 1, text | the name of a pair, or a string in an array |
//! | 2, text | a string that is a pair's value |
//! | 3, number | a number, as [`Numeric::key`] has it |
//! | 4, 0 or 1 | a boolean |
//! | 5 | null |
//!
//! jsonb_path_ops: of each scalar a hash of 8 bytes of itself and of the names of the pairs that lead to it, from the top. Arrays
//! are no part of the way.

use onlap_pg::value::numeric::Numeric;

use super::{Keys, Tree};
use crate::Repr;
use crate::array::Array;
use crate::json::{Node, node};
use crate::misc::rows::text;

const NAME: u8 = 1;
const TEXT: u8 = 2;
const NUMBER: u8 = 3;
const BOOL: u8 = 4;
const NULL: u8 = 5;

/// The keys of jsonb_ops.
pub(super) fn keys(bytes: &[u8], keys: &mut Keys) {
    match node(bytes) {
        Node::Object(pairs) => {
            for (name, value) in pairs.iter() {
                keys.make(|out| put_text(NAME, name, out));
                match node(value) {
                    Node::Text(text) => keys.make(|out| put_text(TEXT, text, out)),
                    _ => self::keys(value, keys),
                }
            }
        }
        Node::Array(items) => items.iter().for_each(|item| self::keys(item, keys)),
        Node::Text(text) => keys.make(|out| put_text(NAME, text, out)),
        scalar => keys.make(|out| put_scalar(&scalar, out)),
    }
}

fn put_text(kind: u8, text: &str, out: &mut Vec<u8>) {
    out.push(kind);
    out.extend_from_slice(text.as_bytes());
}

/// A scalar that is a pair's value.
fn put_scalar(scalar: &Node<'_>, out: &mut Vec<u8>) {
    match scalar {
        Node::Null => out.push(NULL),
        Node::Bool(value) => out.extend_from_slice(&[BOOL, u8::from(*value)]),
        Node::Number(number) => {
            out.push(NUMBER);
            Numeric::load(number).key(out);
        }
        Node::Text(text) => put_text(TEXT, text, out),
        Node::Array(_) | Node::Object(_) => unreachable!("it is a scalar"),
    }
}

/// The key of a pair's name, or of a string in an array.
pub(crate) fn key(name: &str) -> Tree {
    Tree::key(|out| put_text(NAME, name, out))
}

/// Names of a list, of which NULL is none.
pub(super) fn listed(list: &[u8]) -> Vec<Tree> {
    let names = Array::load(list, Repr::Text);
    let present = names.iter().filter(|name| !name.is_null());
    present.map(|name| key(text(&name))).collect()
}

/// A scalar, wherever it is.
pub(crate) fn scalar(value: &Node<'_>) -> Tree {
    let own = Tree::key(|out| put_scalar(value, out));
    match value {
        Node::Text(text) => Tree::or([key(text), own]),
        _ => own,
    }
}

/// The names that lead to a value, hashed: FNV-1a of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Path(u64);

impl Path {
    /// The whole document.
    pub(crate) const TOP: Path = Path(0xcbf2_9ce4_8422_2325);

    fn with(self, bytes: &[u8]) -> Path {
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        Path(bytes.iter().fold(self.0, step))
    }

    /// The value of a pair.
    pub(crate) fn step(self, name: &str) -> Path {
        // No name has the byte that ends it.
        self.with(&[NAME]).with(name.as_bytes()).with(&[0xff])
    }

    /// The key of a scalar.
    fn scalar(self, value: &Node<'_>) -> [u8; 8] {
        let mut own = Vec::with_capacity(32);
        put_scalar(value, &mut own);
        // The last bits of FNV depend on few bits of what was hashed.
        let mixed = self.with(&own).0;
        let mixed = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        (mixed ^ mixed >> 32).to_be_bytes()
    }

    /// What a condition needs that finds a scalar here.
    pub(crate) fn key(self, value: &Node<'_>) -> Tree {
        Tree::Key(self.scalar(value).to_vec())
    }
}

/// The keys of jsonb_path_ops.
pub(super) fn paths(bytes: &[u8], path: Path, keys: &mut Keys) {
    match node(bytes) {
        Node::Object(pairs) => {
            pairs.iter().for_each(|(name, value)| paths(value, path.step(name), keys));
        }
        Node::Array(items) => items.iter().for_each(|item| paths(item, path, keys)),
        scalar => keys.push(&path.scalar(&scalar)),
    }
}
