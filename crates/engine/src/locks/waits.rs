//! Does everybody wait for everybody?
//!
//! Who waits for whom. Edges are written down when a transaction begins to wait, and when somebody
//! gets ahead of those who wait already. A deadlock is found by the last one to arrive, whose search
//! sees all edges of the cycle. Edges to a transaction that has ended lead nowhere, as it does not
//! wait.
//!
//! Who has locks beyond its transactions waits through each of them: they stand for it ([`Waits::serve`]).
//!
//! Thread safety: one lock, held for a walk over transactions that wait. Who holds the lock of a
//! table's locks may take it; never the other way round.

use std::collections::{HashMap, HashSet};

use parking_lot::Mutex;

use super::TxId;

#[derive(Debug, Default)]
pub(super) struct Waits {
    edges: Mutex<HashMap<TxId, Vec<TxId>>>,
    owners: Mutex<Owners>,
}

/// Owners of locks by the transactions that serve them, and the other way round.
#[derive(Debug, Default)]
struct Owners {
    by_tx: HashMap<TxId, TxId>,
    servants: HashMap<TxId, TxId>,
}

impl Waits {
    /// What a transaction waits for its owner waits for, and the other way round. `before` is the one that did so before.
    pub(super) fn serve(&self, tx: Option<TxId>, owner: TxId, before: Option<TxId>) {
        let mut owners = self.owners.lock();
        if let Some(before) = before {
            owners.by_tx.remove(&before);
        }
        match tx {
            Some(tx) => {
                owners.by_tx.insert(tx, owner);
                owners.servants.insert(owner, tx);
            }
            None => {
                owners.servants.remove(&owner);
            }
        }
    }

    /// A transaction waits for these.
    pub(super) fn insert(&self, tx: TxId, blockers: Vec<TxId>) {
        self.edges.lock().insert(tx, blockers);
    }

    /// A transaction that waits already waits for one more.
    pub(super) fn add(&self, tx: TxId, blocker: TxId) {
        if let Some(blockers) = self.edges.lock().get_mut(&tx) {
            blockers.push(blocker);
        }
    }

    /// One of those that a transaction waits for has left the queue before it.
    pub(super) fn leave(&self, tx: TxId, blocker: TxId) {
        if let Some(blockers) = self.edges.lock().get_mut(&tx) {
            blockers.retain(|&b| b != blocker);
        }
    }

    /// Transactions that wait, each with those that it waits for.
    pub(super) fn all(&self) -> Vec<(TxId, Vec<TxId>)> {
        self.edges.lock().iter().map(|(tx, blockers)| (*tx, blockers.clone())).collect()
    }

    /// A transaction waits no more.
    pub(super) fn remove(&self, tx: TxId) {
        self.edges.lock().remove(&tx);
    }

    /// Whether a transaction, or an owner of locks, waits for itself, over others.
    pub(super) fn closes_cycle(&self, tx: TxId) -> bool {
        let owners = self.owners.lock();
        let served = |tx: TxId| owners.by_tx.get(&tx).copied().unwrap_or(tx);
        let edges = self.edges.lock();
        // One of both waits, never both.
        let of = |at: TxId| {
            let servant = || owners.servants.get(&at);
            edges.get(&at).or_else(|| servant().and_then(|tx| edges.get(tx)))
        };
        let start = served(tx);
        let mut seen = HashSet::new();
        let mut next: Vec<TxId> = of(start).cloned().unwrap_or_default();
        while let Some(at) = next.pop().map(served) {
            if at == start {
                return true;
            }
            if seen.insert(at)
                && let Some(further) = of(at)
            {
                next.extend(further);
            }
        }
        false
    }
}
