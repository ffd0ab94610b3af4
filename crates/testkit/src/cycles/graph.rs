//! Who comes before whom, and is there a circle?
//!
//! A walk through the graph remembers how it came to a transaction, as *rw* may not leave every one by
//! every way: each transaction is two places, entered by an edge that says "committed before your
//! snapshot" or by one that only says "committed before you". Moments of the clock are places too, so
//! that *time* takes an edge per transaction and not one per pair.

use std::collections::VecDeque;
use std::fmt::Write as _;

use super::{Key, Level, Noted, Outcome};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EdgeKind {
    /// Overwrote.
    Ww,
    /// Was read by.
    Wr,
    /// Read what was overwritten by.
    Rw,
    /// Ended before the beginning of.
    Time,
    /// Has the commit number before.
    Order,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub to: usize,
    pub kind: EdgeKind,
    pub key: Key,
    /// By a condition.
    pub of_set: bool,
}

pub(super) struct Graph<'a> {
    history: &'a [Noted],
    /// Of transactions, then of moments.
    edges: Vec<Vec<Edge>>,
}

/// A node, and whether it was entered by an edge that does not go before its snapshot.
type Place = (usize, bool);

impl<'a> Graph<'a> {
    pub(super) fn new(history: &'a [Noted], found: Vec<(usize, Edge)>) -> Graph<'a> {
        let mut graph = Graph { history, edges: vec![Vec::new(); history.len()] };
        for (from, edge) in found {
            graph.edges[from].push(edge);
        }
        graph.add_order();
        graph.add_time();
        graph
    }

    fn plain(to: usize, kind: EdgeKind) -> Edge {
        Edge { to, kind, key: 0, of_set: false }
    }

    fn add_order(&mut self) {
        let number = |tx: &usize| match self.history[*tx].outcome {
            Outcome::Committed(number) => number,
            Outcome::Aborted => None,
        };
        let mut all: Vec<usize> =
            (0..self.history.len()).filter(|tx| number(tx).is_some()).collect();
        all.sort_by_key(number);
        // A transaction whose changes undid each other wrote nothing, and was told the number of the last commit
        // before its end. Which of two with one number is the commit, the history does not say.
        let all: Vec<usize> = all
            .chunk_by(|a, b| number(a) == number(b))
            .filter(|same| same.len() == 1)
            .flatten()
            .copied()
            .collect();
        for pair in all.windows(2) {
            self.edges[pair[0]].push(Self::plain(pair[1], EdgeKind::Order));
        }
    }

    /// A moment for each end: the transaction comes before it, the next moment after it, and so do all
    /// that begin between the two.
    fn add_time(&mut self) {
        let n = self.history.len();
        let committed = |tx: &usize| matches!(self.history[*tx].outcome, Outcome::Committed(_));
        let mut ends: Vec<usize> = (0..n).filter(committed).collect();
        ends.sort_by_key(|&tx| self.history[tx].time.1);
        self.edges.resize(n + ends.len(), Vec::new());
        for (i, &tx) in ends.iter().enumerate() {
            self.edges[tx].push(Self::plain(n + i, EdgeKind::Time));
            if i + 1 < ends.len() {
                self.edges[n + i].push(Self::plain(n + i + 1, EdgeKind::Time));
            }
            let began = self.history[tx].time.0;
            let before = ends.partition_point(|&e| self.history[e].time.1 < began);
            if before > 0 {
                self.edges[n + before - 1].push(Self::plain(tx, EdgeKind::Time));
            }
        }
    }

    /// Where an edge leads from a place, if its level forbids what it takes part in.
    fn step(&self, (from, unordered): Place, edge: &Edge) -> Option<Place> {
        if edge.kind == EdgeKind::Rw {
            match self.history[from].level {
                Level::ReadCommitted => return None,
                Level::RepeatableRead if unordered => return None,
                _ => {}
            }
        }
        Some((edge.to, matches!(edge.kind, EdgeKind::Rw | EdgeKind::Order)))
    }

    /// A short forbidden cycle of these edges.
    pub(super) fn cycle(&self, allowed: &dyn Fn(&Edge) -> bool) -> Option<Vec<(usize, Edge)>> {
        let all = (0..self.edges.len()).flat_map(|node| [(node, false), (node, true)]);
        let mut entries = vec![0_usize; 2 * self.edges.len()];
        let at = |place: Place| 2 * place.0 + usize::from(place.1);
        let next = |place: Place| {
            let edges = self.edges[place.0].iter().filter(|e| allowed(e));
            edges.filter_map(move |e| self.step(place, e))
        };
        for place in all.clone() {
            next(place).for_each(|to| entries[at(to)] += 1);
        }
        // What nothing leads to is in no cycle.
        let mut free: Vec<Place> = all.clone().filter(|p| entries[at(*p)] == 0).collect();
        let mut left = entries.len() - free.len();
        while let Some(place) = free.pop() {
            for to in next(place) {
                entries[at(to)] -= 1;
                if entries[at(to)] == 0 {
                    left -= 1;
                    free.push(to);
                }
            }
        }
        if left == 0 {
            return None;
        }
        let left = all.filter(|p| entries[at(*p)] > 0 && p.0 < self.history.len());
        left.filter_map(|place| self.path(place, place, allowed)).min_by_key(|cycle| cycle.len())
    }

    /// A cycle with one *rw* and otherwise these edges.
    pub(super) fn single_rw(&self, allowed: &dyn Fn(&Edge) -> bool) -> Option<Vec<(usize, Edge)>> {
        let mut shortest: Option<Vec<(usize, Edge)>> = None;
        self.cycle(&|edge| allowed(edge) || edge.kind == EdgeKind::Rw)?;
        for from in 0..self.history.len() {
            for edge in self.edges[from].iter().filter(|e| e.kind == EdgeKind::Rw) {
                let Some(place) = self.step((from, false), edge) else { continue };
                if let Some(way) = self.path(place, (from, false), allowed)
                    && shortest.as_ref().is_none_or(|s| way.len() + 1 < s.len())
                {
                    shortest = Some([vec![(from, *edge)], way].concat());
                }
            }
        }
        shortest
    }

    /// Whether any way leads from a transaction back to it, whatever the levels, but not by the clock
    /// or the commit numbers.
    pub(super) fn reaches_itself(&self, tx: usize) -> bool {
        let mut seen = vec![false; self.edges.len()];
        let mut next = vec![tx];
        while let Some(at) = next.pop() {
            let edges = self.edges[at].iter();
            for e in edges.filter(|e| !matches!(e.kind, EdgeKind::Time | EdgeKind::Order)) {
                if e.to == tx {
                    return true;
                }
                if !std::mem::replace(&mut seen[e.to], true) {
                    next.push(e.to);
                }
            }
        }
        false
    }

    /// The shortest way between two places, at least one edge long.
    fn path(
        &self,
        from: Place,
        to: Place,
        allowed: &dyn Fn(&Edge) -> bool,
    ) -> Option<Vec<(usize, Edge)>> {
        let at = |place: Place| 2 * place.0 + usize::from(place.1);
        let mut came: Vec<Option<(Place, Edge)>> = vec![None; 2 * self.edges.len()];
        let mut queue = VecDeque::from([from]);
        while let Some(place) = queue.pop_front() {
            for edge in self.edges[place.0].iter().filter(|e| allowed(e)) {
                let Some(next) = self.step(place, edge) else { continue };
                if came[at(next)].is_some() {
                    continue;
                }
                came[at(next)] = Some((place, *edge));
                if next == to {
                    let mut way = Vec::new();
                    let mut back = to;
                    loop {
                        let (before, edge) = came[at(back)].expect("on the way");
                        way.push((before.0, edge));
                        back = before;
                        if back == from {
                            way.reverse();
                            return Some(way);
                        }
                    }
                }
                queue.push_back(next);
            }
        }
        None
    }

    /// A cycle in words.
    pub(super) fn tell(&self, cycle: &[(usize, Edge)]) -> String {
        let n = self.history.len();
        let mut out = String::new();
        let name = |tx: usize| {
            let Noted { session, level, outcome, .. } = &self.history[tx];
            let mut name = format!("T{tx} (session {session}, {level:?}");
            if let Outcome::Committed(Some(number)) = outcome {
                let _ = write!(name, ", commit {number}");
            }
            name + ")"
        };
        // Moments are left out: who ended before the first of them ended before the next transaction.
        let start = cycle.iter().position(|(from, _)| *from < n).expect("a transaction");
        let order = cycle[start..].iter().chain(&cycle[..start]);
        for (from, edge) in order.filter(|(from, _)| *from < n) {
            let key = edge.key;
            let what = match edge.kind {
                EdgeKind::Ww => format!("wrote key {key}, overwritten by"),
                EdgeKind::Wr => format!("wrote key {key}, read by"),
                EdgeKind::Rw => format!("read key {key} before the change by"),
                EdgeKind::Time => "had ended before the beginning of".to_owned(),
                EdgeKind::Order => "has a lower commit number than".to_owned(),
            };
            let _ = write!(out, "{} {what} ", name(*from));
        }
        out + &name(cycle[start].0)
    }
}
