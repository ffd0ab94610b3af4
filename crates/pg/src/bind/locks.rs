//! FOR UPDATE and its like: which entries do they lock?

use super::Binder;
use crate::ast::{self, LockStrength};
use crate::bound::{Entry, EntryKind, Lock, Query, QueryId};
use crate::{Error, Result};

/// How messages call a lock.
pub fn name(strength: LockStrength) -> &'static str {
    match strength {
        LockStrength::KeyShare => "FOR KEY SHARE",
        LockStrength::Share => "FOR SHARE",
        LockStrength::NoKeyUpdate => "FOR NO KEY UPDATE",
        LockStrength::Update => "FOR UPDATE",
    }
}

impl Binder<'_> {
    /// The locks of a query whose other clauses are bound.
    pub(super) fn locks(&mut self, locks: &[ast::Lock], made: &mut Query) -> Result<()> {
        for lock in locks {
            let how =
                Lock { entry: 0, strength: lock.strength, wait: lock.wait, pushed_down: false };
            check(made, lock.strength)?;
            if lock.of.is_empty() {
                self.lock_all(how, made)?;
            }
            for relation in &lock.of {
                self.lock_named(how, relation, made)?;
            }
        }
        Ok(())
    }

    fn lock_all(&mut self, how: Lock, made: &mut Query) -> Result<()> {
        for at in 0..made.entries.len() {
            if made.entries[at].in_from {
                self.lock_entry(how, at + 1, made)?;
            }
        }
        Ok(())
    }

    fn lock_entry(&mut self, how: Lock, number: usize, made: &mut Query) -> Result<()> {
        let how = Lock { entry: number, ..how };
        match made.entries[number - 1].kind {
            EntryKind::Relation { kind: b'e', .. } => {}
            EntryKind::Relation { .. } => add(how, &mut made.locks),
            EntryKind::Query(query) => {
                add(how, &mut made.locks);
                self.lock_query(how, query)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// All of a query that is locked from outside.
    fn lock_query(&mut self, how: Lock, query: QueryId) -> Result<()> {
        let how = Lock { pushed_down: true, ..how };
        let mut inner = std::mem::take(self.out.query_mut(query));
        let made =
            check(&inner, how.strength).and_then(|()| self.deeper(|b| b.lock_all(how, &mut inner)));
        *self.out.query_mut(query) = inner;
        made
    }

    fn lock_named(&mut self, how: Lock, relation: &ast::Relation, made: &mut Query) -> Result<()> {
        let lock = name(how.strength);
        let refuse = |state, text: String| Err(Error::new(state, text).at(relation.place));
        let [wanted] = &relation.name[..] else {
            return refuse("42601", format!("{lock} must specify unqualified relation names"));
        };
        let is_it = |entry: &Entry| {
            let name = match (&entry.alias, &entry.kind) {
                (None, EntryKind::Join { using, .. }) => using.as_ref().map(|using| &using.0),
                (None, EntryKind::Query(_) | EntryKind::Values(_)) => None,
                _ => Some(&entry.name),
            };
            entry.in_from && name == Some(wanted)
        };
        let Some(at) = made.entries.iter().position(is_it) else {
            let text = format!("relation \"{wanted}\" in {lock} clause not found in FROM clause");
            return refuse("42P01", text);
        };
        let what = match made.entries[at].kind {
            EntryKind::Relation { kind: b'e', .. } => "a named tuplestore",
            EntryKind::Relation { .. } | EntryKind::Query(_) => {
                return self.lock_entry(how, at + 1, made);
            }
            EntryKind::Join { .. } => "a join",
            EntryKind::Functions { .. } => "a function",
            EntryKind::Values(_) => "VALUES",
            EntryKind::Cte { .. } => "a WITH query",
        };
        refuse("0A000", format!("{lock} cannot be applied to {what}"))
    }
}

/// Only rows of tables are locked, none that were made of them.
///
/// # Errors
/// `0A000`: those of the query are none.
pub fn check(query: &Query, strength: LockStrength) -> Result<()> {
    let found = [
        (query.set.is_some(), "with UNION/INTERSECT/EXCEPT"),
        (!query.distinct.is_empty(), "with DISTINCT clause"),
        (!query.groups.is_empty() || !query.sets.is_empty(), "with GROUP BY clause"),
        (query.having.is_some(), "with HAVING clause"),
        (query.has_aggregates, "with aggregate functions"),
        (query.has_windows, "with window functions"),
        (query.has_sets, "with set-returning functions in the target list"),
    ];
    match found.into_iter().find(|(is, _)| *is) {
        Some((_, what)) => {
            let text = format!("{} is not allowed {what}", name(strength));
            Err(Error::new("0A000", text))
        }
        None => Ok(()),
    }
}

/// A lock of an entry that has one takes the stronger of both.
fn add(lock: Lock, locks: &mut Vec<Lock>) {
    let Some(before) = locks.iter_mut().find(|other| other.entry == lock.entry) else {
        locks.push(lock);
        return;
    };
    before.strength = before.strength.max(lock.strength);
    before.wait = before.wait.max(lock.wait);
    before.pushed_down &= lock.pushed_down;
}
