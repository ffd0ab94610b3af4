//! What must a database hold that has the commits up to some number?
//!
//! Clients note the operations of each commit; replayed in the order of commit numbers they give rows and
//! row ids (I1, I2). The side table has one writer, so its states are a list of which one, or the one
//! under way, must be there. Shared by the tasks of a simulation.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use onlap::{Csn, Row, RowId, Value};

use crate::rows::int;

/// What a transaction did to a row.
#[derive(Clone, Debug)]
pub enum Op {
    /// A new row of the first table.
    Insert(Row),
    /// A row went.
    Delete(i64),
    /// A row was replaced.
    Put(Row),
    /// A column of a row was set, and nothing read.
    Set(i64, usize, Value),
    /// A number was added to a column of a row, and nothing read.
    Add(i64, usize, i64),
    /// A row of the blind table, whatever was there.
    Upsert(i64, i64),
    /// No row of the blind table, whatever was there.
    Erase(i64),
}

/// Whether a transaction has taken back all that it did.
pub fn is_nothing(ops: &[Op]) -> bool {
    let mut own = BTreeSet::new();
    for op in ops {
        match op {
            Op::Insert(row) => drop(own.insert(int(&row[0]))),
            Op::Delete(id) if own.remove(id) => {}
            Op::Put(row) if own.contains(&int(&row[0])) => {}
            Op::Set(id, ..) | Op::Add(id, ..) if own.contains(id) => {}
            _ => return false,
        }
    }
    own.is_empty()
}

/// The tables that many write to.
#[derive(Clone, Debug, Default)]
pub struct State {
    pub rows: BTreeMap<RowId, Row>,
    ids: BTreeMap<i64, RowId>,
    next: RowId,
    pub blind: BTreeMap<i64, i64>,
}

/// Rows of a transaction in order; `None` where it took one away again, which gets no id.
type Own = Vec<Option<Row>>;

impl State {
    /// # Panics
    /// When the commit cannot have happened: a key twice, or a row gone that is not there.
    pub fn apply(&mut self, csn: Csn, ops: &[Op]) {
        let mut own: Own = Vec::new();
        for op in ops {
            match op {
                Op::Insert(row) => own.push(Some(row.clone())),
                Op::Delete(id) => drop(self.take(csn, &mut own, *id)),
                Op::Put(row) => {
                    self.take(csn, &mut own, int(&row[0]));
                    own.push(Some(row.clone()));
                }
                Op::Set(id, at, value) => {
                    self.change(csn, &mut own, *id, |row| row[*at] = value.clone())
                }
                Op::Add(id, at, n) => self.change(csn, &mut own, *id, |row| {
                    if let Value::Int(v) = &mut row[*at] {
                        *v += n;
                    }
                }),
                Op::Upsert(id, a) => drop(self.blind.insert(*id, *a)),
                Op::Erase(id) => drop(self.blind.remove(id)),
            }
        }
        for row in own.into_iter().flatten() {
            let id = int(&row[0]);
            assert!(self.ids.insert(id, self.next).is_none(), "commit {csn}: a second row {id}");
            self.rows.insert(self.next, row);
            self.next += 1;
        }
    }

    fn take(&mut self, csn: Csn, own: &mut Own, id: i64) -> Row {
        let mine = own.iter_mut().find(|row| row.as_ref().is_some_and(|r| int(&r[0]) == id));
        if let Some(row) = mine.and_then(Option::take) {
            return row;
        }
        let at =
            self.ids.remove(&id).unwrap_or_else(|| panic!("commit {csn} ends {id}, not there"));
        self.rows.remove(&at).expect("ids and rows go together")
    }

    fn change(&mut self, csn: Csn, own: &mut Own, id: i64, f: impl FnOnce(&mut Row)) {
        if let Some(at) = self.ids.get(&id)
            && !own.iter().flatten().any(|row| int(&row[0]) == id)
        {
            return f(self.rows.get_mut(at).expect("ids and rows go together"));
        }
        let mut row = self.take(csn, own, id);
        f(&mut row);
        own.push(Some(row));
    }
}

/// The side table at one moment; without columns it does not exist.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    pub columns: Vec<String>,
    pub rows: BTreeMap<i64, Row>,
    /// Names of its indexes besides that of the primary key.
    pub indexes: Vec<String>,
}

/// Everything that was noted.
#[derive(Clone, Debug, Default)]
pub struct Noted {
    pub commits: Arc<BTreeMap<Csn, Vec<Op>>>,
    /// Every commit up to this one was acknowledged or seen, so it must survive.
    pub promised: Csn,
    /// The newest commit that a recovery has found.
    pub newest: Csn,
    pub sides: Vec<Side>,
    /// Number of states of the side table that were acknowledged.
    pub sides_promised: usize,
    /// Tables that must be there, of the two that many write to.
    pub tables_promised: usize,
}

impl Noted {
    /// # Panics
    /// When there is a commit of that number.
    pub fn commit(&mut self, csn: Csn, ops: Vec<Op>) {
        let before = Arc::make_mut(&mut self.commits).insert(csn, ops);
        assert!(before.is_none(), "two commits have the number {csn}");
    }

    /// What is there when the newest commit is this one.
    pub fn at(&self, csn: Csn) -> State {
        let mut state = State::default();
        for (number, ops) in self.commits.range(..=csn) {
            state.apply(*number, ops);
        }
        state
    }
}
