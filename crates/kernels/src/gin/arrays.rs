//! Which keys has an array, and which does a condition on arrays need?
//!
//! | key | of |
//! |---|---|
//! | 0 | an array without elements |
//! | 2 | NULL among the elements |
//! | 1, … | an element, as [`key_bytes`] has it, whatever its place and the array's dimensions |

use onlap_pg::Oid;
use onlap_pg::catalog::Catalog;

use super::{Keys, Question, Tree, element};
use crate::array::Array;
use crate::{Datum, key_bytes};

const EMPTY: u8 = 0;

/// The keys of an array.
pub(super) fn keys(catalog: &Catalog, ty: Oid, bytes: &[u8], keys: &mut Keys) {
    let (oid, repr) = element(catalog, ty).expect("the class is one of arrays");
    let array = Array::load(bytes, repr);
    if array.is_empty() {
        keys.push(&[EMPTY]);
    }
    for value in array.iter() {
        keys.make(|out| key_bytes(catalog, oid, &value, out));
    }
}

/// What a question with an array needs.
pub(super) fn asked(catalog: &Catalog, question: Question, ty: Oid, bytes: &[u8]) -> Tree {
    let Some((oid, repr)) = element(catalog, ty) else { return Tree::All };
    let array = Array::load(bytes, repr);
    let key = |value: Datum<'_>| Tree::key(|out| key_bytes(catalog, oid, &value, out));
    let empty = || Tree::Key(vec![EMPTY]);
    // No element equals NULL.
    let present = || array.iter().filter(|value| !value.is_null()).map(key);
    match question {
        Question::Contains if array.has_nulls() => Tree::None,
        Question::Contains => Tree::and(present()),
        Question::Overlaps => Tree::or(present()),
        Question::IsContained => Tree::or(present().chain([empty()])),
        Question::Equals if array.is_empty() => empty(),
        Question::Equals => Tree::and(array.iter().map(key)),
        _ => Tree::All,
    }
}
