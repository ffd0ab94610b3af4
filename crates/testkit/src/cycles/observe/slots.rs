//! In which order did slots take their values, and who saw which of them?
//!
//! A value is put without a look at the one before, so only commit numbers tell the order. Who empties a slot
//! that is empty does nothing. Who read an empty slot may have read any of its empty times; where the clock
//! leaves one of them, that is the one, where it leaves none the read is stale, and otherwise
//! nothing follows from it.

use std::collections::BTreeMap;

use super::super::graph::EdgeKind;
use super::{Element, Key, Kind, Observer, Op, Outcome};

/// What a transaction left in a slot.
struct Put {
    number: u64,
    by: usize,
    element: Element,
    /// What it was put in the place of, where its transaction looked.
    over: Option<Element>,
}

impl Observer<'_> {
    pub(super) fn slots(&mut self, reads: &BTreeMap<Key, Vec<(usize, Element)>>) {
        let mut chains = self.puts();
        for (key, chain) in &mut chains {
            chain.sort_by_key(|put| put.number);
            self.put_over(*key, chain);
            let mut before = 0;
            chain
                .retain(|put| (std::mem::replace(&mut before, put.element), put.element) != (0, 0));
            for pair in chain.windows(2) {
                self.edge(pair[0].by, pair[1].by, EdgeKind::Ww, *key, false);
            }
        }
        for (key, reads) in reads {
            let chain = chains.get(key).map_or(&[][..], |chain| chain);
            for &(reader, element) in reads {
                self.read_slot(*key, chain, reader, element);
            }
        }
    }

    /// The last value that each committed transaction put into each slot.
    fn puts(&self) -> BTreeMap<Key, Vec<Put>> {
        let mut chains: BTreeMap<Key, Vec<Put>> = BTreeMap::new();
        for (by, noted) in self.history.iter().enumerate() {
            let Outcome::Committed(Some(number)) = noted.outcome else { continue };
            for op in &noted.ops {
                let Op::Put(key, element, over) = *op else { continue };
                let chain = chains.entry(key).or_default();
                match chain.last_mut() {
                    // The first tells what it put in the place of others; one that did not look makes up for all.
                    Some(own) if own.by == by => {
                        own.element = element;
                        own.over = own.over.filter(|_| over.is_some());
                    }
                    _ => chain.push(Put { number, by, element, over }),
                }
            }
        }
        chains
    }

    /// Whoever looked put its value in the place of what it saw.
    fn put_over(&mut self, key: Key, chain: &[Put]) {
        let mut before = 0;
        for put in chain {
            if let Some(over) = put.over.filter(|over| *over != before) {
                let text = format!(
                    "T{} put {} into key {key} over {over}, where {before} was",
                    put.by, put.element
                );
                self.found(Kind::LostUpdate, text);
            }
            before = put.element;
        }
    }

    fn read_slot(&mut self, key: Key, chain: &[Put], reader: usize, element: Element) {
        let at = if element == 0 {
            let (began, ended) = self.history[reader].time;
            // Before the first, or at the place of one that emptied it.
            let empty = (0..=chain.len()).filter(|&at| at == 0 || chain[at - 1].element == 0);
            let mut possible = empty.filter(|&at| {
                let came = at == 0 || self.history[chain[at - 1].by].time.0 < ended;
                let stayed = chain.get(at).is_none_or(|n| self.history[n.by].time.1 > began);
                came && stayed
            });
            match (possible.next(), possible.next()) {
                (Some(at), None) => at,
                (Some(_), Some(_)) => return,
                (None, _) => {
                    let text = format!("T{reader} read nothing in key {key}, which was not empty");
                    return self.found(Kind::Stale, text);
                }
            }
        } else {
            if self.writer(element, reader, key).is_none() {
                return;
            }
            match chain.iter().position(|put| put.element == element) {
                Some(at) => at + 1,
                // Somebody's own value between two: found by its writer.
                None => return,
            }
        };
        if at > 0 {
            self.edge(chain[at - 1].by, reader, EdgeKind::Wr, key, false);
        }
        if let Some(next) = chain.get(at) {
            self.edge(reader, next.by, EdgeKind::Rw, key, false);
        }
    }
}
