//! Which entries of a query does something name?
//!
//! Entries are numbers from 1. Most queries have a few: bits of one word say which, and only those of long FROM lists take
//! memory of their own.
//!
//! Thread safety: a plain value.

/// Bits of a word.
const BITS: usize = u64::BITS as usize;

/// Entries of a query.
#[derive(Clone, Debug, Default)]
pub struct Members {
    /// The entries 0 to 63.
    first: u64,
    /// Those behind them, 64 to a word.
    more: Vec<u64>,
}

impl Members {
    /// Adds one.
    pub fn insert(&mut self, entry: usize) {
        let bit = 1 << (entry % BITS);
        match entry / BITS {
            0 => self.first |= bit,
            word => {
                if self.more.len() < word {
                    self.more.resize(word, 0);
                }
                self.more[word - 1] |= bit;
            }
        }
    }

    /// Adds all of another's.
    pub fn add(&mut self, other: &Members) {
        self.first |= other.first;
        if self.more.len() < other.more.len() {
            self.more.resize(other.more.len(), 0);
        }
        self.more.iter_mut().zip(&other.more).for_each(|(own, added)| *own |= added);
    }

    /// Those of two.
    pub fn with(&self, other: &Members) -> Members {
        let mut both = self.clone();
        both.add(other);
        both
    }

    /// Takes out those that another has.
    pub fn remove(&mut self, other: &Members) {
        self.first &= !other.first;
        self.more.iter_mut().zip(&other.more).for_each(|(own, gone)| *own &= !gone);
    }

    /// Leaves only those that another has.
    pub fn keep(&mut self, other: &Members) {
        self.first &= other.first;
        for (at, word) in self.more.iter_mut().enumerate() {
            *word &= other.word(at + 1);
        }
    }

    /// Whether one is there.
    pub fn contains(&self, entry: usize) -> bool {
        self.word(entry / BITS) & 1 << (entry % BITS) != 0
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.first == 0 && self.more.iter().all(|word| *word == 0)
    }

    /// Whether another has all of them.
    pub fn is_subset(&self, other: &Members) -> bool {
        (0..=self.more.len()).all(|at| self.word(at) & !other.word(at) == 0)
    }

    /// Whether another has none of them.
    pub fn is_disjoint(&self, other: &Members) -> bool {
        (0..=self.more.len()).all(|at| self.word(at) & other.word(at) == 0)
    }

    /// Them, in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..=self.more.len()).flat_map(move |at| {
            let mut left = self.word(at);
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(at * BITS + bit)
            })
        })
    }

    fn word(&self, at: usize) -> u64 {
        match at {
            0 => self.first,
            at => self.more.get(at - 1).copied().unwrap_or(0),
        }
    }
}

impl PartialEq for Members {
    fn eq(&self, other: &Members) -> bool {
        self.is_subset(other) && other.is_subset(self)
    }
}

impl Eq for Members {}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use onlap_base::rng::Rng;

    use super::*;

    fn of(entries: &BTreeSet<usize>) -> Members {
        let mut made = Members::default();
        entries.iter().for_each(|entry| made.insert(*entry));
        made
    }

    #[test]
    fn it_says_what_a_set_of_numbers_says() {
        let mut rng = Rng::new(5);
        for round in 0..2000_u64 {
            // Within one word, at its edge, and far behind it.
            let most = [8, 63, 66, 300][round as usize % 4];
            let mut draw = || -> BTreeSet<usize> {
                (0..rng.below(6)).map(|_| 1 + rng.below(most) as usize).collect()
            };
            let (a, b) = (draw(), draw());
            let (left, right) = (of(&a), of(&b));
            assert_eq!(left.iter().collect::<Vec<_>>(), a.iter().copied().collect::<Vec<_>>());
            assert_eq!(left.is_empty(), a.is_empty());
            assert_eq!(left.is_subset(&right), a.is_subset(&b), "{a:?} {b:?}");
            assert_eq!(left.is_disjoint(&right), a.is_disjoint(&b), "{a:?} {b:?}");
            assert_eq!(left == right, a == b);
            assert_eq!(left.with(&right), of(&a.union(&b).copied().collect()));
            let mut less = left.clone();
            less.remove(&right);
            assert_eq!(less, of(&a.difference(&b).copied().collect()));
            let mut both = left.clone();
            both.keep(&right);
            assert_eq!(both, of(&a.intersection(&b).copied().collect()));
            assert!((0..400).all(|entry| left.contains(entry) == a.contains(&entry)));
        }
    }
}
