//! Who has how many links, to whom, and what is in them?

use onlap_base::rng::{Rng, splitmix};

/// Links that one node has at most.
const DEGREE_MAX: u64 = 20_000;
/// Share of nodes without a link.
const LONELY: f64 = 0.4;
/// Shape of the tail: the share of nodes with more than n links falls as n to the power of minus this.
const TAIL: f64 = 1.4;
/// Fewest links of a node that has some, before rounding down; with the tail a mean of about 3.5.
const LEAST: f64 = 1.8;

/// The two types of links.
const TYPES: [i64; 2] = [123_456_789, 123_456_790];

/// Places of the nodes with most links that are looked at.
const TOP: usize = 1000;

/// A graph of so many nodes.
pub(super) struct Graph {
    pub ids: u64,
    /// The nodes with most links, most first.
    top: Vec<u64>,
}

fn mixed(n: u64) -> u64 {
    splitmix(&mut n.wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

impl Graph {
    pub(super) fn new(ids: u64) -> Graph {
        let mut graph = Graph { ids, top: Vec::new() };
        let mut all: Vec<(u64, u64)> = (1..=ids).map(|id| (graph.degree(id), id)).collect();
        all.sort_unstable_by(|a, b| b.cmp(a));
        graph.top = all.into_iter().take(TOP).map(|(_, id)| id).collect();
        graph
    }

    /// How many links a node has after the load: a share of nodes has none, the rest a heavy tail.
    pub(super) fn degree(&self, id: u64) -> u64 {
        let unit = (mixed(id) >> 11) as f64 / (1u64 << 53) as f64;
        if unit < LONELY {
            return 0;
        }
        let rest = (unit - LONELY) / (1.0 - LONELY);
        let degree = LEAST * (1.0 - rest).powf(-1.0 / TAIL);
        (degree as u64).min(DEGREE_MAX).min(self.ids / 2)
    }

    /// Type and end of a node's n-th link; the ends of one type differ.
    pub(super) fn link(&self, id1: u64, nth: u64) -> (i64, u64) {
        let place = mixed(id1 ^ 0x5EED) % self.ids + nth;
        (TYPES[(nth % 2) as usize], place % self.ids + 1)
    }

    /// The end of a link that the load did not make.
    pub(super) fn new_link(&self, rng: &mut Rng) -> (i64, u64) {
        (TYPES[rng.below(2) as usize], self.ids + 1 + rng.below(self.ids))
    }

    /// How many links of each type a node has after the load.
    pub(super) fn counts(&self, id: u64) -> impl Iterator<Item = (i64, u64)> {
        let degree = self.degree(id);
        [(TYPES[0], degree.div_ceil(2)), (TYPES[1], degree / 2)].into_iter().filter(|c| c.1 > 0)
    }

    /// A node, popular ones more often: rank r comes in proportion to r to the power of `-skew`. Who is
    /// popular has nothing to do with who has many links, but for the rest of `uncorrelated`.
    pub(super) fn pick(&self, rng: &mut Rng, skew: f64, uncorrelated: f64) -> u64 {
        let rank = (self.ids as f64 * rng.unit().powf(1.0 / (1.0 - skew))) as u64 % self.ids;
        match rng.chance(uncorrelated) {
            true => mixed(rank ^ 0xABCD) % self.ids + 1,
            false => self.top[rank as usize % self.top.len()],
        }
    }

    /// A node of which all come as often.
    pub(super) fn any(&self, rng: &mut Rng) -> u64 {
        rng.below(self.ids) + 1
    }
}

/// Text of about a median length, of which a share is one repeated letter.
pub(super) fn data(rng: &mut Rng, median: usize, compressible: f64) -> String {
    // Between half and twice the median, half of them on each side.
    let length = (median as f64 * 2f64.powf(rng.unit() * 2.0 - 1.0)) as usize;
    let random = length - (length as f64 * compressible) as usize;
    let mut text = String::with_capacity(length);
    let mut bits = 0;
    for n in 0..random {
        if n % 10 == 0 {
            bits = rng.next_u64();
        }
        text.push(char::from(
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
                [(bits & 63) as usize],
        ));
        bits >>= 6;
    }
    text.extend(std::iter::repeat_n('a', length - random));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn degrees_have_a_heavy_tail() {
        let graph = Graph::new(100_000);
        let degrees: Vec<u64> = (1..=graph.ids).map(|id| graph.degree(id)).collect();
        let sum: u64 = degrees.iter().sum();
        let mean = sum as f64 / graph.ids as f64;
        assert!((2.0..6.0).contains(&mean), "{mean}");
        assert!(degrees.iter().filter(|d| **d == 0).count() > 30_000);
        assert!(*degrees.iter().max().unwrap() > 500);
        assert_eq!(graph.degree(graph.top[0]), *degrees.iter().max().unwrap());
    }

    #[test]
    fn links_of_a_node_differ_and_are_counted() {
        let graph = Graph::new(1000);
        for id in 1..=graph.ids {
            let links: HashSet<_> = (0..graph.degree(id)).map(|n| graph.link(id, n)).collect();
            assert_eq!(links.len() as u64, graph.degree(id));
            let counted: u64 = graph.counts(id).map(|c| c.1).sum();
            assert_eq!(counted, graph.degree(id));
        }
    }

    #[test]
    fn some_nodes_are_popular() {
        let graph = Graph::new(10_000);
        let mut rng = Rng::new(1);
        let mut seen = vec![0u32; 10_001];
        (0..100_000).for_each(|_| seen[graph.pick(&mut rng, 0.8, 0.995) as usize] += 1);
        seen.sort_unstable();
        let top: u32 = seen.iter().rev().take(100).sum();
        assert!(top > 20_000, "one percent of the nodes has {top} of 100000");
    }
}
