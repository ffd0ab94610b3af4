//! Does a history contain what its levels of isolation forbid?
//!
//! Clients note what each transaction did to registers, lists, sets and slots ([`Op`]), whose values tell
//! their versions, except for slots, whose versions follow in the order of commits. [`check`] finds reads of what was never committed, and then draws the graph of who
//! depends on whom: *ww* where one overwrote what the other wrote, *wr* where it read it, *rw* where it
//! overwrote what the other had read; *time* where one had ended before the other began, and *order*
//! where one has the lower commit number. A cycle is an anomaly, which one follows from its edges.
//! After Adya, "Weak Consistency: A Generalized Theory" (1999), and the checker Elle by Kingsbury and
//! Alvaro (2020).
//!
//! | level of a transaction | forbids |
//! |---|---|
//! | READ COMMITTED | G0, G1a, G1b, G1c: cycles of *ww*, *wr* and *time* |
//! | REPEATABLE READ | also cycles in which *rw* leaves it, unless another *rw* or *order* comes right before: G-single, lost updates |
//! | SERIALIZABLE | every cycle in which *rw* leaves it: G2-item, G2 |
//!
//! So a cycle counts if each of its *rw* edges leaves a transaction whose level forbids that, which
//! holds for mixed levels too: what an update transaction at SERIALIZABLE read is as it was when it
//! commits, so its *rw* edges go along the order of commits; at REPEATABLE READ the transaction read a
//! snapshot, and whoever is before it by *ww*, *wr* or *time* committed before that snapshot.
//!
//! A pure function of the history; nothing to synchronise.

mod graph;
mod observe;
#[cfg(test)]
mod tests;

use std::fmt;

use graph::{Edge, EdgeKind, Graph};

/// What a transaction was promised, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Each statement reads what is committed.
    ReadCommitted,
    /// All statements read one snapshot, and the first updater wins.
    RepeatableRead,
    /// As if one ran after the other.
    Serializable,
}

/// A version of a register. The initial one, or its absence, is number 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// One more than that of the version it was put in the place of.
    pub number: u64,
    /// Tells writes apart; no two are equal, and 0 is the initial one.
    pub tag: u64,
}

/// What is read and written.
pub type Key = i64;

/// What is appended or added; no two are equal.
pub type Element = u64;

/// One step of a transaction, in its order. What a rollback to a savepoint undid is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Reads a register.
    Read(Key, Version),
    /// Puts a version in the place of the newest.
    Write(Key, Version),
    /// Reads a list.
    ReadList(Key, Vec<Element>),
    /// Appends to a list by replacing it.
    Append(Key, Element),
    /// Reads a set, by a condition.
    ReadSet(Key, Vec<Element>),
    /// Adds to a set without looking at it.
    Add(Key, Element),
    /// Removes from a set, for good.
    Remove(Key, Element),
    /// Reads a slot; 0 where it is empty.
    ReadSlot(Key, Element),
    /// Puts a value in a slot, or 0 to empty it, in the place of what is there when the transaction commits;
    /// of the value given, where the transaction looked.
    Put(Key, Element, Option<Element>),
}

/// What became of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// With its commit number, where it has one and changed something.
    Committed(Option<u64>),
    /// Rolled back or refused.
    Aborted,
}

/// What a client noted of a transaction.
#[derive(Clone, Debug)]
pub struct Noted {
    /// Who ran it.
    pub session: usize,
    /// What it was promised.
    pub level: Level,
    /// Times of one logical clock: before it was begun, after its end was known.
    pub time: (u64, u64),
    /// How it ended.
    pub outcome: Outcome,
    /// What it did.
    pub ops: Vec<Op>,
}

impl Noted {
    fn is_committed(&self) -> bool {
        matches!(self.outcome, Outcome::Committed(_))
    }
}

/// What a history must not contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A transaction did not see what it did itself.
    Internal,
    /// A value that nobody wrote, or versions that contradict each other.
    Impossible,
    /// G1a: somebody saw what was rolled back.
    AbortedRead,
    /// G1b: somebody saw what its writer overwrote itself.
    IntermediateRead,
    /// G0: two overwrote each other.
    WriteCycle,
    /// G1c: two read from each other.
    CircularInformation,
    /// A value overwritten by somebody who had not seen it.
    LostUpdate,
    /// G-single: somebody saw one thing before a transaction and another one after it.
    ReadSkew,
    /// G2-item: each overwrote what the other had read.
    WriteSkew,
    /// G2: the same with sets that were read by a condition.
    Phantom,
    /// Somebody did not see what had ended before it began.
    Stale,
    /// Dependencies go against the commit numbers.
    CommitOrder,
}

/// Something forbidden, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anomaly {
    /// What it is.
    pub kind: Kind,
    /// Which transactions took part, and how.
    pub text: String,
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.text)
    }
}

/// Finds what the levels of the transactions forbid, one of each kind.
pub fn check(history: &[Noted]) -> Vec<Anomaly> {
    let seen = observe::observe(history, None);
    let mut found = seen.anomalies;
    let graph = Graph::new(history, seen.edges);
    let before_snapshot = |edge: &Edge| !matches!(edge.kind, EdgeKind::Rw | EdgeKind::Order);
    let passes: [&dyn Fn(&Edge) -> bool; 5] = [
        &|edge| edge.kind == EdgeKind::Ww,
        &|edge| matches!(edge.kind, EdgeKind::Ww | EdgeKind::Wr),
        &before_snapshot,
        &|edge| edge.kind != EdgeKind::Order,
        &|_| true,
    ];
    for (pass, allowed) in passes.into_iter().enumerate() {
        let cycle = match pass {
            3 => graph.single_rw(&before_snapshot).or_else(|| graph.cycle(allowed)),
            _ => graph.cycle(allowed),
        };
        if let Some(cycle) = cycle {
            found.push(Anomaly { kind: kind_of(&cycle), text: graph.tell(&cycle) });
            break;
        }
    }
    found
}

/// Whether a transaction that was refused would have closed a cycle of any kind, had it committed when
/// it was refused: if not, it was refused without need. For histories at SERIALIZABLE alone.
pub fn would_close_a_cycle(history: &[Noted], refused: usize) -> bool {
    let seen = observe::observe(history, Some(refused));
    Graph::new(history, seen.edges).reaches_itself(refused)
}

fn kind_of(cycle: &[(usize, Edge)]) -> Kind {
    let count = |kind| cycle.iter().filter(|(_, e)| e.kind == kind).count();
    if count(EdgeKind::Order) > 0 {
        return Kind::CommitOrder;
    }
    if count(EdgeKind::Rw) == 0 {
        return match (count(EdgeKind::Time), count(EdgeKind::Wr)) {
            (0, 0) => Kind::WriteCycle,
            (0, _) => Kind::CircularInformation,
            _ => Kind::Stale,
        };
    }
    let phantom = cycle.iter().any(|(_, e)| e.kind == EdgeKind::Rw && e.of_set);
    match (count(EdgeKind::Rw), cycle) {
        (1, [(_, a), (_, b)]) if a.key == b.key && count(EdgeKind::Ww) == 1 => Kind::LostUpdate,
        (1, _) if count(EdgeKind::Time) > 0 => Kind::Stale,
        (1, _) => Kind::ReadSkew,
        _ if phantom => Kind::Phantom,
        _ => Kind::WriteSkew,
    }
}
