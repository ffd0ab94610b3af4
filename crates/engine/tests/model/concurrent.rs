//! Several transactions open at once, call by call, and what must come of each call.
//!
//! Nobody waits: with a lock timeout of zero, a call that would have to wait is refused, and the model
//! foretells which ones are. What it cannot know in advance it accepts either way: keys that rise are
//! reserved as intervals, so an insert of a free key may be refused next to others that insert; and a
//! row that came and went between a transaction's snapshot and its commit may have left no trace.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use onlap::{
    ErrorKind, Isolation, KeyRange, Result, Row, Savepoint, Scan, Table, Transaction,
    TransactionOptions, Value,
};

use crate::{Run, apply, int, shown};

/// How a row of others is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
enum Held {
    Changed,
    Deleted,
}

/// What a rollback to a savepoint takes back.
#[derive(Clone, Debug, Default)]
struct Done {
    /// Own rows that are alive. One may stand next to a row of the snapshot with the same key, where
    /// that was deleted by another transaction since.
    own: BTreeMap<i64, Row>,
    /// Rows of others that are deleted or replaced.
    held: BTreeMap<i64, Held>,
    /// Keys that were to be inserted, which others must not bring.
    reserved: BTreeSet<i64>,
    /// Keys that may be reserved: their insert ended at some lock.
    perhaps_reserved: BTreeSet<i64>,
    /// Rows that had been changed when it locked them.
    too_late: BTreeSet<i64>,
    /// Something was changed, even if nothing is left of it.
    touched: bool,
}

/// What a transaction at SERIALIZABLE relies on.
#[derive(Debug, Default)]
struct Reads {
    keys: BTreeSet<i64>,
    whole: bool,
    /// Intervals of the index on `a`.
    ranges: Vec<(i64, i64)>,
}

struct Open {
    tx: Transaction,
    level: Isolation,
    /// How many commits of the phase it sees, but at READ COMMITTED.
    began: usize,
    done: Done,
    savepoints: Vec<(Savepoint, Done)>,
    reads: Reads,
}

/// A committed change of a row: the key, and the row before and after.
type Change = (i64, Option<Row>, Option<Row>);

/// What the transactions of one phase share.
struct Phase<'a> {
    run: &'a mut Run,
    table: Table,
    open: Vec<Open>,
    commits: Vec<Vec<Change>>,
}

/// What is expected of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Done,
    /// Done, or refused because somebody may be in the way.
    Perhaps,
    Refused(ErrorKind),
    /// Refused because the key is taken, or may be by somebody.
    Taken,
    /// Refused because the row was changed, or because somebody else keeps that version locked.
    TooLate,
}

impl Run {
    /// Opens transactions, mixes their calls, and ends them.
    pub(crate) fn concurrent(&mut self) {
        let table = self.table();
        let mut phase = Phase { run: self, table, open: Vec::new(), commits: Vec::new() };
        for _ in 0..40 {
            match phase.run.rng.below(40) {
                0..6 if phase.open.len() < 4 => phase.begin(),
                6..9 => phase.end_one(),
                9 => phase.run.db().flush().unwrap(),
                10 if phase.run.rng.chance(0.3) => phase.run.db().settle().unwrap(),
                _ => phase.call(),
            }
        }
        while !phase.open.is_empty() {
            phase.end_one();
        }
    }
}

fn a_of(row: &Row) -> Option<i64> {
    match row[1] {
        Value::Int(a) => Some(a),
        _ => None,
    }
}

impl Phase<'_> {
    fn begin(&mut self) {
        use Isolation::{ReadCommitted, RepeatableRead, Serializable};
        let level = *self.run.rng.pick(&[ReadCommitted, RepeatableRead, Serializable]);
        let options = TransactionOptions::at(level).lock_timeout(Duration::ZERO);
        self.open.push(Open {
            tx: self.run.db().begin_with(options).unwrap(),
            level,
            began: self.commits.len(),
            done: Done::default(),
            savepoints: Vec::new(),
            reads: Reads::default(),
        });
    }

    /// The row of others with a key that a transaction sees.
    fn committed(&self, at: usize, id: i64) -> Option<&Row> {
        let first = match self.open[at].level {
            Isolation::ReadCommitted => None,
            _ => self.since(at).find(|change| change.0 == id),
        };
        match first {
            Some((_, before, _)) => before.as_ref(),
            None => self.run.model.get(&id),
        }
    }

    /// The row with a key that a transaction sees.
    fn visible(&self, at: usize, id: i64) -> Option<&Row> {
        let Done { own, held, .. } = &self.open[at].done;
        own.get(&id).or_else(|| self.committed(at, id).filter(|_| !held.contains_key(&id)))
    }

    /// All rows that a transaction sees.
    fn all_visible(&self, at: usize) -> Vec<Row> {
        let Done { own, held, .. } = &self.open[at].done;
        let mut ids: BTreeSet<i64> = self.run.model.keys().copied().collect();
        ids.extend(self.since(at).map(|change| change.0));
        let others = ids.into_iter().filter(|id| !held.contains_key(id));
        let others = others.filter_map(|id| self.committed(at, id));
        others.chain(own.values()).cloned().collect()
    }

    /// Changes committed since a transaction began.
    fn since(&self, at: usize) -> impl Iterator<Item = &Change> {
        self.commits[self.open[at].began..].iter().flatten()
    }

    fn others(&self, at: usize) -> impl Iterator<Item = &Open> {
        let others = self.open.iter().enumerate().filter(move |(i, _)| *i != at);
        others.map(|(_, open)| open)
    }

    fn some_id(&mut self, at: usize) -> i64 {
        // Few keys that everybody wants, and own ones.
        let own: Vec<i64> = self.open[at].done.own.keys().copied().collect();
        if !own.is_empty() && self.run.rng.chance(0.3) {
            return *self.run.rng.pick(&own);
        }
        let few: Vec<i64> = self.run.model.keys().take(6).copied().collect();
        if few.is_empty() || self.run.rng.chance(0.1) {
            return self.run.some_id();
        }
        *self.run.rng.pick(&few)
    }

    fn call(&mut self) {
        if self.open.is_empty() {
            return self.begin();
        }
        let at = self.run.rng.index(self.open.len());
        match self.run.rng.below(12) {
            0..3 => self.change(at, true),
            3..5 => self.change(at, false),
            5..7 => self.insert(at),
            7 => self.read_key(at),
            8 => self.read_all(at),
            9 => self.read_range(at),
            10 => {
                let open = &mut self.open[at];
                let savepoint = open.tx.savepoint();
                open.savepoints.push((savepoint, open.done.clone()));
            }
            _ => self.go_back(at),
        }
    }

    fn go_back(&mut self, at: usize) {
        let open = &mut self.open[at];
        if !open.savepoints.is_empty() {
            let to = self.run.rng.index(open.savepoints.len());
            open.savepoints.truncate(to + 1);
            let (savepoint, done) = &open.savepoints[to];
            open.tx.rollback_to(savepoint).unwrap();
            open.done = done.clone();
        }
    }

    /// What must come of locking a row that the transaction sees.
    fn expect_lock(&self, at: usize, id: i64) -> Expect {
        let open = &self.open[at];
        if open.level != Isolation::ReadCommitted && self.since(at).any(|change| change.0 == id) {
            return match self.others(at).any(|o| o.done.too_late.contains(&id)) {
                true => Expect::TooLate,
                false => Expect::Refused(ErrorKind::Conflict),
            };
        }
        match self.others(at).any(|o| o.done.held.contains_key(&id)) {
            true => Expect::Refused(ErrorKind::LockNotAvailable),
            false => Expect::Done,
        }
    }

    /// Updates or deletes the row with some key.
    fn change(&mut self, at: usize, update: bool) {
        let id = self.some_id(at);
        let row = self.visible(at, id).cloned();
        let is_own = self.open[at].done.own.contains_key(&id);
        let expected = match &row {
            Some(_) if !is_own => self.expect_lock(at, id),
            _ => Expect::Done,
        };
        let changes = self.run.changes();
        let open = &mut self.open[at];
        open.reads.keys.extend((!is_own).then_some(id));
        let key = [Value::Int(id)];
        let found = if update {
            open.tx.update(&self.table, &key, &changes)
        } else {
            open.tx.delete(&self.table, &key)
        };
        if !met(expected, &found, "change", id) {
            open.done.too_late.insert(id);
            return;
        }
        assert_eq!(found.unwrap(), row.is_some(), "row {id}");
        let Some(mut row) = row else { return };
        let Done { own, held, touched, .. } = &mut open.done;
        *touched = true;
        let strength = if update { Held::Changed } else { Held::Deleted };
        match held.get_mut(&id) {
            Some(before) if strength > *before => *before = strength,
            None if !is_own => drop(held.insert(id, strength)),
            _ => {}
        }
        apply(&mut row, &changes);
        if update {
            own.insert(id, row);
        } else {
            own.remove(&id);
        }
    }

    fn insert(&mut self, at: usize) {
        let id = if self.run.rng.chance(0.5) { self.some_id(at) } else { self.run.new_id() };
        let row = self.run.row(id);
        let expected = self.expect_insert(at, id);
        let open = &mut self.open[at];
        let inserted = open.tx.insert(&self.table, &row);
        // The key stays reserved where it was found taken.
        match &inserted {
            Err(e) if e.kind() == ErrorKind::LockNotAvailable => {
                open.done.perhaps_reserved.insert(id);
            }
            _ => drop(open.done.reserved.insert(id)),
        }
        if met(expected, &inserted, "insert", id) {
            open.done.own.insert(id, row);
            open.done.touched = true;
        }
    }

    fn expect_insert(&self, at: usize, id: i64) -> Expect {
        let Done { own, held, .. } = &self.open[at].done;
        if self.others(at).any(|o| o.done.reserved.contains(&id)) {
            return Expect::Refused(ErrorKind::LockNotAvailable);
        }
        let taken = match self.others(at).any(|o| o.done.perhaps_reserved.contains(&id)) {
            true => Expect::Taken,
            false => Expect::Refused(ErrorKind::DuplicateKey),
        };
        if own.contains_key(&id) {
            return taken;
        }
        // Its own delete made the key free.
        if held.contains_key(&id) || !self.run.model.contains_key(&id) {
            let may_reserve =
                |o: &Open| !o.done.reserved.is_empty() || !o.done.perhaps_reserved.is_empty();
            return match self.others(at).any(may_reserve) {
                true => Expect::Perhaps,
                false => Expect::Done,
            };
        }
        match self.others(at).any(|o| o.done.held.get(&id) == Some(&Held::Deleted)) {
            true => Expect::Refused(ErrorKind::LockNotAvailable),
            false => taken,
        }
    }

    fn read_key(&mut self, at: usize) {
        let id = self.some_id(at);
        let expected = self.visible(at, id).cloned();
        let open = &mut self.open[at];
        let got = open.tx.get(&self.table, &[Value::Int(id)]).unwrap();
        assert_eq!(shown(got), shown(expected), "row {id} at {:?}", open.level);
        let is_own = open.done.own.contains_key(&id);
        open.reads.keys.extend((!is_own).then_some(id));
    }

    fn read_all(&mut self, at: usize) {
        let expected = shown(self.all_visible(at));
        let open = &mut self.open[at];
        open.reads.whole = true;
        let rows = open.tx.scan(&self.table, Scan::all()).unwrap().rows().unwrap();
        assert_eq!(shown(rows), expected, "a scan at {:?}", open.level);
        assert_eq!(open.tx.count(&self.table).unwrap() as usize, expected.len());
    }

    fn read_range(&mut self, at: usize) {
        let from = self.run.rng.range(-10..10);
        let to = from + self.run.rng.range(0..4);
        let mut rows = self.all_visible(at);
        rows.retain(|row| a_of(row).is_some_and(|a| (from..=to).contains(&a)));
        let open = &mut self.open[at];
        open.reads.ranges.push((from, to));
        let range = KeyRange::between([Value::Int(from)], [Value::Int(to)]);
        let scan = if self.run.rng.chance(0.5) { Scan::all() } else { Scan::all().reverse() };
        let got = open.tx.index_scan(&self.table, "by_a", range.clone(), scan).unwrap();
        let got = got.rows().unwrap();
        assert!(got.is_sorted_by_key(a_of) || got.iter().rev().is_sorted_by_key(a_of));
        assert_eq!(shown(got), shown(rows), "a in {from}..={to} at {:?}", open.level);
        let ids = open.tx.index_row_ids(&self.table, "by_a", range).unwrap();
        let batch = open.tx.fetch(&self.table, &ids, Some(&["a"])).unwrap();
        assert!((0..batch.len()).all(|i| (from..=to).contains(&int(&batch.value(i, 0)))));
    }

    fn end_one(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let at = self.run.rng.index(self.open.len());
        let expected = self.expect_commit(at);
        let Open { tx, done, .. } = self.open.swap_remove(at);
        if self.run.rng.chance(0.25) {
            return tx.rollback();
        }
        let ended = tx.commit();
        if !met(expected, &ended, "commit", 0) {
            return;
        }
        let Done { mut own, held, touched, .. } = done;
        let mut changes = Vec::new();
        for id in held.into_keys() {
            changes.push((id, self.run.model.remove(&id), own.remove(&id)));
        }
        changes.extend(own.into_iter().map(|(id, row)| (id, None, Some(row))));
        for (id, _, after) in &changes {
            if let Some(row) = after {
                let other = self.run.model.insert(*id, row.clone());
                assert!(other.is_none(), "{id} is there twice");
            }
        }
        if touched {
            self.commits.push(changes);
        }
    }

    /// SERIALIZABLE fails if anything that was read has changed.
    fn expect_commit(&self, at: usize) -> Expect {
        let Open { level, reads, done, began, .. } = &self.open[at];
        if *level != Isolation::Serializable || !done.touched {
            return Expect::Done;
        }
        let is_read = |id: i64, row: Option<&Row>| {
            let a = row.and_then(a_of);
            let in_range = |a| reads.ranges.iter().any(|(from, to)| (*from..=*to).contains(&a));
            row.is_some() && (reads.keys.contains(&id) || a.is_some_and(in_range))
        };
        let changed = |row: fn(&Phase<'_>, usize, i64) -> Option<Row>| {
            self.since(at).any(|(id, _, _)| is_read(*id, row(self, at, *id).as_ref()))
        };
        let lost = changed(|phase, at, id| phase.committed(at, id).cloned());
        let new = changed(|phase, _, id| phase.run.model.get(&id).cloned());
        let whole = reads.whole && self.since(at).next().is_some();
        // A commit of which nothing is left may count as a change of the table.
        let traces = reads.whole && self.commits.len() > *began;
        let passing = traces
            || self.since(at).any(|(id, before, after)| {
                is_read(*id, before.as_ref()) || is_read(*id, after.as_ref())
            });
        match lost || new || whole {
            true => Expect::Refused(ErrorKind::Conflict),
            false if passing => Expect::Perhaps,
            false => Expect::Done,
        }
    }
}

/// Compares with what was foretold; whether the call was done.
fn met<T>(expected: Expect, got: &Result<T>, what: &str, id: i64) -> bool {
    use ErrorKind::{Conflict, DuplicateKey, LockNotAvailable};
    let allowed = match expected {
        Expect::Done => vec![],
        Expect::Perhaps | Expect::TooLate => vec![LockNotAvailable, Conflict],
        Expect::Taken => vec![LockNotAvailable, DuplicateKey],
        Expect::Refused(kind) => vec![kind],
    };
    match got {
        Ok(_) => {
            let may_be_done = matches!(expected, Expect::Done | Expect::Perhaps);
            assert!(may_be_done, "{what} {id} was done; {expected:?} was foretold");
            true
        }
        Err(e) => {
            assert!(allowed.contains(&e.kind()), "{what} {id}: {e}; {expected:?} was foretold");
            false
        }
    }
}
