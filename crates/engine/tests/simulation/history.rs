//! What the clients of a simulation did and saw, and whether it is possible.
//!
//! Commits are replayed into a model table in the order of their numbers once all clients have ended.
//! Row ids follow from that order (I1, I2), so scans are compared with their ids. A commit that ends
//! a row must have seen the version that is alive at its turn: above READ COMMITTED the first one
//! wins. A key is alive once.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use onlap::{Csn, ErrorKind, Isolation, Row, RowId, Value};
use onlap_testkit::ModelTable;

/// Rows with their ids, in the order of the ids.
pub type Rows = Vec<(RowId, Row)>;

/// What one transaction did.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    pub level: Isolation,
    /// The commit that it read at.
    pub began: Csn,
    /// Ids of the rows of others that it deleted or replaced.
    pub ended: Vec<i64>,
    /// Its rows in order; `None` where it took one away again.
    pub inserted: Vec<Option<Row>>,
}

#[derive(Debug, Default)]
struct Noted {
    commits: BTreeMap<Csn, Changes>,
    refused: Vec<(Changes, ErrorKind)>,
    /// Snapshot, id, and whether there was such a row.
    looks: Vec<(Csn, i64, bool)>,
    scans: Vec<(Csn, Rows)>,
}

/// Notes of all clients.
#[derive(Debug, Default)]
pub struct History(Mutex<Noted>);

/// The integer in column `at`.
pub fn int(row: &Row, at: usize) -> i64 {
    match row[at] {
        Value::Int(value) => value,
        ref other => panic!("{other:?} is no integer"),
    }
}

impl History {
    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn committed(&self, csn: Csn, changes: Changes) {
        let before = self.noted().commits.insert(csn, changes);
        assert!(before.is_none(), "two commits have the number {csn}");
    }

    pub fn refused(&self, changes: Changes, why: ErrorKind) {
        self.noted().refused.push((changes, why));
    }

    pub fn looked(&self, csn: Csn, id: i64, found: bool) {
        self.noted().looks.push((csn, id, found));
    }

    pub fn scanned(&self, csn: Csn, rows: Rows) {
        self.noted().scans.push((csn, rows));
    }

    /// Transactions that were refused for a reason.
    pub fn count_refused(&self, kind: ErrorKind) -> usize {
        self.noted().refused.iter().filter(|(_, why)| *why == kind).count()
    }

    /// Everything noted, as text: equal for equal runs.
    pub fn text(&self) -> String {
        format!("{:?}", self.noted())
    }

    /// Checks everything noted; no client may be at work.
    pub fn check(&self) {
        let noted = self.noted();
        let mut model = ModelTable::new();
        let mut versions: HashMap<i64, Vec<RowId>> = HashMap::new();
        let (mut alive, mut values) = (HashMap::new(), HashSet::new());
        for (&csn, changes) in &noted.commits {
            for id in &changes.ended {
                let row = alive.remove(id).unwrap_or_else(|| panic!("{csn} ends {id}, not there"));
                // READ COMMITTED has seen the newest version, the other levels their snapshot.
                let saw = match changes.level {
                    Isolation::ReadCommitted => csn - 1,
                    _ => changes.began,
                };
                let seen = model.row(saw, row).unwrap_or_else(|| {
                    panic!("{csn} began at {} and ends row {row}, which is newer", changes.began)
                });
                values.remove(&int(seen, 3));
                model.delete(csn, row);
            }
            for row in changes.inserted.iter().flatten() {
                let id = int(row, 0);
                assert!(values.insert(int(row, 3)), "{csn}: a second {:?}", row[3]);
                let at = model.insert(csn, row.clone());
                assert!(alive.insert(id, at).is_none(), "{csn}: a second {id}");
                versions.entry(id).or_default().push(at);
            }
        }
        for (csn, rows) in &noted.scans {
            model.compare(*csn, rows).unwrap_or_else(|e| panic!("{e}"));
        }
        for &(csn, id, found) in &noted.looks {
            let rows = versions.get(&id).map_or(&[][..], |v| v);
            let there = rows.iter().any(|row| model.row(csn, *row).is_some());
            assert_eq!(found, there, "id {id} at {csn}");
        }
        for (changes, why) in &noted.refused {
            let ends = |c: &Changes| changes.ended.iter().any(|id| c.ended.contains(id));
            let mut later = noted.commits.range(changes.began + 1..);
            // At SERIALIZABLE what was read may be the reason.
            let told = *why == ErrorKind::Conflict && changes.level != Isolation::Serializable;
            let justified = !told || later.any(|(_, c)| ends(c));
            assert!(justified, "nobody was in the way of {changes:?}");
        }
    }
}
