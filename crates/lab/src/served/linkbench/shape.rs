//! Who has how many links, to whom, and what is in them?

use onlap_base::rng::{Rng, splitmix};

/// How many nodes have more than so many links: the cumulative distribution that the original benchmark
/// publishes as measured on its social graph (`nlinks` of its newest `Distribution.dat`, 19,951 points),
/// thinned to the points between which a straight line in logarithms is within four percent of all others,
/// and with three digits. Its mean is 4.1; the cut at half of all nodes makes it 4.0 of a million.
const MORE: [(u64, f64); 20] = [
    (0, 0.547),
    (1, 0.225),
    (2, 0.13),
    (3, 0.0801),
    (4, 0.0555),
    (5, 0.0417),
    (6, 0.0328),
    (23, 0.00578),
    (69, 0.00216),
    (279, 0.000_973),
    (1_394, 0.000_399),
    (3_390, 0.000_19),
    (7_536, 7.5e-5),
    (14_610, 2.63e-5),
    (27_190, 7.71e-6),
    (61_595, 1.17e-6),
    (100_977, 3.69e-7),
    (315_801, 1.98e-8),
    (906_857, 3.3e-9),
    (961_963, 1.65e-9),
];

/// The number of links that a share of all nodes exceeds.
fn degree_at(share: f64) -> u64 {
    let Some(next) = MORE.iter().position(|(_, more)| *more <= share) else {
        return MORE[MORE.len() - 1].0;
    };
    let (links, more) = MORE[next];
    let Some((fewer, most)) = next.checked_sub(1).map(|before| MORE[before]) else { return 0 };
    if links <= fewer + 1 {
        return links;
    }
    let part = (most.ln() - share.ln()) / (most.ln() - more.ln());
    let between = fewer as f64 * (links as f64 / fewer as f64).powf(part);
    (between.ceil() as u64).clamp(fewer + 1, links)
}

/// The two types of links.
const TYPES: [i64; 2] = [123_456_789, 123_456_790];

/// Places of the nodes with most links that are looked at.
const TOP: usize = 1000;

/// A graph of so many nodes.
pub(super) struct Graph {
    pub ids: u64,
    /// Links of all of them.
    pub links: u64,
    /// The nodes with most links, most first.
    top: Vec<u64>,
}

fn mixed(n: u64) -> u64 {
    splitmix(&mut n.wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

impl Graph {
    pub(super) fn new(ids: u64) -> Graph {
        let mut graph = Graph { ids, links: 0, top: Vec::new() };
        let mut all: Vec<(u64, u64)> = (1..=ids).map(|id| (graph.degree(id), id)).collect();
        graph.links = all.iter().map(|(degree, _)| degree).sum();
        all.sort_unstable_by(|a, b| b.cmp(a));
        graph.top = all.into_iter().take(TOP).map(|(_, id)| id).collect();
        graph
    }

    /// How many links a node has after the load.
    pub(super) fn degree(&self, id: u64) -> u64 {
        let share = ((mixed(id) >> 11) + 1) as f64 / (1u64 << 53) as f64;
        degree_at(share).min(self.ids / 2)
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

    /// Rows of counts after the load.
    pub(super) fn counts_in_all(&self) -> u64 {
        (1..=self.ids).map(|id| self.counts(id).count() as u64).sum()
    }

    /// A node, popular ones more often: rank r comes in proportion to r to the power of `-skew`. Who is
    /// popular has nothing to do with who has many links, except for the rest of `uncorrelated`.
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

    /// The published points, some of which are between those that were kept.
    #[test]
    fn degrees_are_as_measured() {
        let graph = Graph::new(1_000_000);
        let mut degrees: Vec<u64> = (1..=graph.ids).map(|id| graph.degree(id)).collect();
        assert_eq!(graph.links, degrees.iter().sum::<u64>());
        let mean = graph.links as f64 / graph.ids as f64;
        assert!((3.7..4.4).contains(&mean), "{mean}");
        degrees.sort_unstable();
        assert_eq!(graph.degree(graph.top[0]), *degrees.last().unwrap());
        assert!(*degrees.last().unwrap() > 10_000);
        let published = [
            (0, 0.547),
            (10, 0.0167),
            (40, 0.00339),
            (100, 0.00169),
            (200, 0.00115),
            (500, 0.000725),
        ];
        for (links, more) in published {
            let found = degrees.iter().filter(|d| **d > links).count() as f64 / 1e6;
            assert!((found / more - 1.0).abs() < 0.1, "{links}: {found}, not {more}");
        }
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
