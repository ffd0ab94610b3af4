//! Are the keys of a value what every condition that is true of it asks for?
//!
//! Values and conditions come by chance from a seed (`ONLAP_SEED`, `ONLAP_CASES`), which are so alike that conditions are often true.
//! Whether one is true says the operator's own kernel. Where it is, the tree of the condition has to be met by the keys of the
//! value; how often it is met for nothing is bounded too, so that a tree that asks for nothing fails. Keys lie in files: some
//! are held against bytes that never change.

mod arrays;
mod documents;
mod kept;
mod ours;
#[path = "../common/session.rs"]
mod session;
mod texts;
mod words;

use std::collections::BTreeSet;

use onlap_kernels::Datum;
use onlap_kernels::gin::{Class, Tree};
use onlap_pg::Oid;
use ours::Ours;

/// A number for a test from the environment.
fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Numbers by chance, from a seed (splitmix64).
struct Draw(u64);

impl Draw {
    fn of_test() -> Draw {
        Draw(number("ONLAP_SEED", 7))
    }

    /// A number below a bound.
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }

    /// One of some.
    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    /// A text of some parts.
    fn text(&mut self, of: &[&str], most: usize) -> String {
        (0..self.below(most + 1)).map(|_| self.one(of)).collect()
    }
}

/// How often conditions were true, and how often keys said that they may be.
#[derive(Default)]
struct Tally {
    asked: u64,
    held: u64,
    met: u64,
    open: u64,
}

/// A condition: an operator, its left and right types, and the class that is asked.
struct Condition {
    class: Class,
    operator: Oid,
    types: (Oid, Oid),
}

impl Condition {
    /// Holds the keys of a value against the tree of the condition.
    fn ask(&self, ours: &Ours, value: &str, with: &str, tally: &mut Tally) {
        let (left, right) = (ours.read(self.types.0, value), ours.read(self.types.1, with));
        let said = ours.holds(self.operator, self.types, &left, &right);
        let (keys, tree) = (ours.keys(self.class, self.types.0, &left), self.tree(ours, &right));
        let is_met = tree.is_met(&keys);
        tally.asked += 1;
        tally.held += u64::from(said);
        tally.met += u64::from(is_met);
        tally.open += u64::from(tree == Tree::All);
        assert!(
            is_met || !said,
            "{value} {} {with} is true, and asks {:?} for {tree:?}",
            self.operator,
            self.class
        );
    }

    fn tree(&self, ours: &Ours, with: &Datum<'_>) -> Tree {
        let question = self.class.question(self.operator).expect("the class answers it");
        self.class.asked(question, self.types.1, with, &ours.cx()).expect("it is a tree")
    }
}

/// Keys as a set.
type Set = BTreeSet<Vec<u8>>;
