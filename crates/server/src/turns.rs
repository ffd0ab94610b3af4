//! How many do something at a time, and how many of them from one place?
//!
//! A count for all and one for each key: an address, a role. Who finds no turn is told at once, and nothing queues.
//! There are no more keys than turns (I7). Safe to share.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;

use parking_lot::Mutex;

/// Turns that are taken.
#[derive(Debug)]
pub(crate) struct Turns<K> {
    all: usize,
    each: usize,
    taken: Mutex<HashMap<K, usize>>,
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn<'a, K: Hash + Eq + Clone>(&'a Turns<K>, K);

impl<K: Hash + Eq + Clone> Turns<K> {
    /// A number for all, and one for each key.
    pub(crate) fn new(all: usize, each: usize) -> Turns<K> {
        Turns { all, each, taken: Mutex::default() }
    }

    /// Whether there is one more.
    pub(crate) fn have_room(&self, key: &K) -> bool {
        let taken = self.taken.lock();
        self.fit(&taken, key)
    }

    fn fit(&self, taken: &HashMap<K, usize>, key: &K) -> bool {
        let own = taken.get(key).copied().unwrap_or(0);
        own < self.each && taken.values().sum::<usize>() < self.all
    }

    /// Takes one.
    pub(crate) fn take(&self, key: K) -> Option<Turn<'_, K>> {
        let mut taken = self.taken.lock();
        if !self.fit(&taken, &key) {
            return None;
        }
        *taken.entry(key.clone()).or_default() += 1;
        drop(taken);
        Some(Turn(self, key))
    }

    /// Takes one whether there is room or not, for who has asked before; [`Turns::leave`] gives it back.
    pub(crate) fn enter(&self, key: &K) {
        *self.taken.lock().entry(key.clone()).or_default() += 1;
    }

    /// Gives one back.
    pub(crate) fn leave(&self, key: &K) {
        if let Entry::Occupied(mut count) = self.taken.lock().entry(key.clone()) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

impl<K: Hash + Eq + Clone> Drop for Turn<'_, K> {
    fn drop(&mut self) {
        self.0.leave(&self.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_some_for_all_and_for_each() {
        let turns = Turns::new(3, 2);
        let first = turns.take("a");
        let _second = turns.take("a");
        assert!(first.is_some() && turns.take("a").is_none() && !turns.have_room(&"a"));
        let third = turns.take("b");
        assert!(third.is_some() && turns.take("c").is_none());
        drop(first);
        assert!(turns.have_room(&"a") && turns.have_room(&"c"));
        drop(third);
        turns.leave(&"never came");
        assert_eq!(turns.taken.lock().len(), 1);
    }
}
