//! Which sequences does a transaction create and drop?
//!
//! They come and go as tables do, with the commit. Values that were taken from a sequence that others
//! know are taken for ever; one that the transaction created goes with all of them when it rolls back.

use std::sync::Arc;

use onlap_base::{Error, ErrorKind, Result, SequenceId};
use onlap_format::ColumnDefault;

use super::Transaction;
use super::schema::{SchemaSteps, Step};
use crate::database::Shared;
use crate::locks::RowLock;
use crate::sequences::{self, NewSequence, Sequence, SequenceState};
use crate::spec::{SequenceSpec, TableChanges, check_name};

impl SchemaSteps {
    fn has_dropped_sequence(&self, id: SequenceId) -> bool {
        self.dropped_sequences().any(|state| state.id() == id)
    }

    /// Sequences that were dropped, own ones too.
    fn dropped_sequences(&self) -> impl Iterator<Item = &Arc<SequenceState>> {
        self.steps.iter().filter_map(|step| match step {
            Step::DroppedSequence(state) => Some(state),
            _ => None,
        })
    }

    fn is_own_sequence(&self, id: SequenceId) -> bool {
        let is = |s: &Step| matches!(s, Step::CreatedSequence(new) if new.state().id() == id);
        self.steps.iter().any(is)
    }

    /// Sequences that were created and not dropped again.
    pub(super) fn new_sequences(&self) -> impl Iterator<Item = &NewSequence> {
        self.steps.iter().filter_map(|step| match step {
            Step::CreatedSequence(new) if !self.has_dropped_sequence(new.state().id()) => Some(new),
            _ => None,
        })
    }

    /// Sequences that others know and that were dropped.
    pub(super) fn gone_sequences(&self) -> impl Iterator<Item = &Arc<SequenceState>> {
        self.dropped_sequences().filter(|state| !self.is_own_sequence(state.id()))
    }

    fn find_sequence(&self, shared: &Shared, name: &str) -> Option<Arc<SequenceState>> {
        let own = self.new_sequences().map(NewSequence::state).find(|s| s.name() == name);
        own.cloned().or_else(|| {
            let known = shared.sequences.by_name(name);
            known.filter(|state| !self.has_dropped_sequence(state.id()))
        })
    }
}

impl Transaction {
    /// The sequence of a name, as this transaction sees the catalog.
    ///
    /// # Errors
    /// There is none, or this transaction dropped it.
    pub fn sequence(&self, name: &str) -> Result<Sequence> {
        self.shared.check_open()?;
        let state = self.find_sequence(name)?;
        Ok(Sequence::new(&self.shared, state))
    }

    pub(super) fn find_sequence(&self, name: &str) -> Result<Arc<SequenceState>> {
        let found = self.schema.find_sequence(&self.shared, name);
        found.ok_or_else(|| sequences::unknown_sequence(name))
    }

    /// All sequences, as this transaction sees the catalog, by name.
    pub fn sequences(&self) -> Vec<Sequence> {
        let known = self.shared.sequences.all();
        let left = known.into_iter().filter(|s| !self.schema.has_dropped_sequence(s.id()));
        let own = self.schema.new_sequences().map(|new| Arc::clone(new.state()));
        let mut all: Vec<Arc<SequenceState>> = left.chain(own).collect();
        all.sort_by(|a, b| a.name().cmp(b.name()));
        all.into_iter().map(|state| Sequence::new(&self.shared, state)).collect()
    }

    /// Creates a sequence, which no other transaction sees before the commit.
    ///
    /// # Errors
    /// As [`crate::Database::create_sequence`]; [`ErrorKind::LockNotAvailable`] when another schema
    /// change takes too long.
    pub fn create_sequence(&mut self, spec: &SequenceSpec) -> Result<Sequence> {
        self.changing()?;
        self.lock_name(spec.name(), RowLock::Update)?;
        if self.find_sequence(spec.name()).is_ok() {
            let text = format!("there is a sequence named {} already", spec.name());
            return Err(Error::new(ErrorKind::AlreadyExists, text));
        }
        let new = NewSequence::new(&self.shared, spec)?;
        let state = Arc::clone(new.state());
        self.schema.steps.push(Step::CreatedSequence(new));
        Ok(Sequence::new(&self.shared, state))
    }

    /// Keeps others from changing a sequence that a statement knows, until the end of this transaction.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`]: another transaction has changed or dropped it, see [`Transaction::wants_anew`]; those of
    /// waits for locks.
    pub fn hold_sequence(&mut self, known: &Sequence) -> Result<()> {
        self.changing()?;
        self.lock_name(known.name(), RowLock::Update)?;
        let id = known.schema().id;
        if self.find_sequence(known.name()).is_ok_and(|found| found.id() == id) {
            return Ok(());
        }
        self.note_outdated();
        let text = format!("sequence {} was changed; run the transaction again", known.name());
        Err(Error::new(ErrorKind::Conflict, text))
    }

    /// Puts a new sequence in the place of the one of its name, for columns too that take their
    /// defaults from it. It begins with a value, or goes on where the other one is; others take values
    /// of that one until the commit, which fails in the latter case if they did.
    ///
    /// # Errors
    /// As [`Transaction::create_sequence`] and [`Transaction::alter_table`]; [`ErrorKind::OutOfRange`].
    pub fn replace_sequence(&mut self, spec: &SequenceSpec, next: Option<i64>) -> Result<Sequence> {
        self.changing()?;
        self.lock_name(spec.name(), RowLock::Update)?;
        let old = self.find_sequence(spec.name())?;
        self.put_in_place(old, (spec.name(), next.is_none()), |shared, old| {
            NewSequence::in_place_of(shared, spec, old, next)
        })
    }

    /// Gives a sequence another name, which nothing has. Values that are taken meanwhile, of either name, are taken for ever.
    ///
    /// # Errors
    /// As [`Transaction::create_sequence`] and [`Transaction::alter_table`].
    pub fn rename_sequence(&mut self, name: &str, to: &str) -> Result<Sequence> {
        self.changing()?;
        check_name("sequence", to)?;
        self.lock_name(name, RowLock::Update)?;
        self.lock_name(to, RowLock::Update)?;
        if self.find_sequence(to).is_ok() {
            let text = format!("there is a sequence named {to} already");
            return Err(Error::new(ErrorKind::AlreadyExists, text));
        }
        let old = self.find_sequence(name)?;
        self.put_in_place(old, (to, true), |shared, old| NewSequence::renamed(shared, to, old))
    }

    fn put_in_place(
        &mut self,
        old: Arc<SequenceState>,
        (name, goes_on): (&str, bool),
        make: impl FnOnce(&Arc<Shared>, &Arc<SequenceState>) -> Result<NewSequence>,
    ) -> Result<Sequence> {
        self.all_or_nothing(|tx| {
            let mut new = make(&tx.shared, &old)?;
            let state = Arc::clone(new.state());
            let before = tx.schema.steps.iter().find_map(|step| match step {
                Step::CreatedSequence(own) if Arc::ptr_eq(own.state(), &old) => Some(own),
                _ => None,
            });
            if let Some(before) = before.filter(|_| goes_on) {
                new.go_on_for(before);
            }
            tx.schema.steps.push(Step::DroppedSequence(Arc::clone(&old)));
            tx.schema.steps.push(Step::CreatedSequence(new));
            let uses = Some(ColumnDefault::NextVal(old.id()));
            for table in tx.tables() {
                let schema = table.schema();
                for column in schema.columns.iter().filter(|c| c.default == uses) {
                    let changes = TableChanges::new().set_default_sequence(&column.name, name);
                    tx.alter_table(&table, &changes)?;
                }
            }
            Ok(Sequence::new(&tx.shared, state))
        })
    }

    /// Drops a sequence. Others go on taking values of it until the commit.
    ///
    /// # Errors
    /// As [`crate::Database::drop_sequence`]; [`ErrorKind::LockNotAvailable`] when another schema change
    /// takes too long.
    pub fn drop_sequence(&mut self, name: &str) -> Result<()> {
        self.changing()?;
        self.lock_name(name, RowLock::Update)?;
        let state = self.find_sequence(name)?;
        sequences::check_unused(&state, self.tables().iter().map(|table| table.schema()))?;
        self.schema.steps.push(Step::DroppedSequence(state));
        Ok(())
    }
}
