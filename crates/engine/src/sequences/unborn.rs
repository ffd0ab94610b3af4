//! How does a sequence come or go with a transaction?
//!
//! One that a transaction creates hands out values as any other, to those who know its id: the
//! transaction alone. Nothing of it is recorded before the commit, whose record brings it with the value
//! where it stands; without a commit it is forgotten. One that a transaction drops is everybody's until
//! the commit; nobody takes a value while that is recorded.
//!
//! Thread safety: as [`super`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use onlap_base::{Error, ErrorKind, Result};
use onlap_format::SequenceSchema;
use onlap_format::manifest::{Edit, SequencePoint};
use parking_lot::Mutex;

use super::{Block, SequenceState, check_point, next_schema};
use crate::database::Shared;
use crate::spec::SequenceSpec;

/// A sequence that a transaction creates. Unless it is born, it goes with this.
pub(crate) struct NewSequence {
    shared: Arc<Shared>,
    state: Arc<SequenceState>,
    /// The one that it goes on for, and where that was.
    goes_on: Option<(Arc<SequenceState>, SequencePoint)>,
}

impl NewSequence {
    /// Takes an id for ever. The caller has the name locked, and knows that it is free.
    pub(crate) fn new(shared: &Arc<Shared>, spec: &SequenceSpec) -> Result<NewSequence> {
        let _ids = shared.schema_lock.lock();
        let schema = next_schema(shared, spec)?;
        shared.commit_edits(&[Edit::NextSequence(schema.id.0 + 1)], |_| ())?;
        let start = SequencePoint::Next(schema.start);
        Ok(NewSequence::noted(shared, SequenceState::new(shared, schema, start, false)))
    }

    fn noted(shared: &Arc<Shared>, state: SequenceState) -> NewSequence {
        let state = Arc::new(state);
        shared.sequences.note(&state);
        NewSequence { shared: Arc::clone(shared), state, goes_on: None }
    }

    pub(crate) fn state(&self) -> &Arc<SequenceState> {
        &self.state
    }

    /// One that begins with a value, or goes on where another one is.
    pub(crate) fn in_place_of(
        shared: &Arc<Shared>,
        spec: &SequenceSpec,
        old: &Arc<SequenceState>,
        next: Option<i64>,
    ) -> Result<NewSequence> {
        let ids = shared.schema_lock.lock();
        let schema = next_schema(shared, spec)?;
        let goes_on = old.counter.standing.lock().at;
        let at = next.map_or(goes_on, SequencePoint::Next);
        check_point(&schema, at)?;
        shared.commit_edits(&[Edit::NextSequence(schema.id.0 + 1)], |_| ())?;
        let state = SequenceState::new(shared, schema, at, false);
        let mut new = NewSequence::noted(shared, SequenceState { origin: old.origin, ..state });
        drop(ids);
        new.goes_on = next.is_none().then(|| (Arc::clone(old), goes_on));
        Ok(new)
    }

    /// One that is another in all but the name: values of either are taken of both.
    pub(crate) fn renamed(
        shared: &Arc<Shared>,
        name: &str,
        old: &Arc<SequenceState>,
    ) -> Result<NewSequence> {
        let _ids = shared.schema_lock.lock();
        let id = next_schema(shared, &SequenceSpec::new(name))?.id;
        shared.commit_edits(&[Edit::NextSequence(id.0 + 1)], |_| ())?;
        let state = SequenceState {
            id,
            name: name.to_owned(),
            origin: old.origin,
            unborn: AtomicBool::new(true),
            counter: Arc::clone(&old.counter),
            ended: Mutex::new(None),
        };
        Ok(NewSequence::noted(shared, state))
    }

    /// Goes on for what one goes on for that the same transaction made and that this is in the place of.
    pub(crate) fn go_on_for(&mut self, before: &NewSequence) {
        if before.goes_on.is_some() {
            self.goes_on.clone_from(&before.goes_on);
        }
    }

    /// Refuses a commit where others took values that this one takes too.
    pub(crate) fn check(&self) -> Result<()> {
        let Some((old, at)) = &self.goes_on else { return Ok(()) };
        if old.counter.standing.lock().at == *at {
            return Ok(());
        }
        let text = format!("values of sequence {} were taken meanwhile; run it again", old.name);
        Err(Error::new(ErrorKind::Conflict, text))
    }

    /// What makes it everybody's. No value is taken of its block any more: of a counter that others know, they wait for the end of
    /// the one that it was ([`Dropping`]).
    pub(crate) fn edits(&self) -> [Edit; 2] {
        let mut standing = self.state.counter.standing.lock();
        standing.block = Block::NONE;
        let (id, name) = (self.state.id, self.state.name.clone());
        let schema = SequenceSchema { id, name, ..standing.schema.clone() };
        [Edit::CreateSequence(schema), standing.at.edit(id)]
    }

    /// After that was recorded.
    pub(crate) fn born(&self) {
        let mut standing = self.state.counter.standing.lock();
        let (id, name) = (self.state.id, self.state.name.clone());
        standing.schema = SequenceSchema { id, name, ..standing.schema.clone() };
        standing.recorded_as = Some(id);
        drop(standing);
        self.state.unborn.store(false, Ordering::Release);
        self.shared.sequences.name(&self.state);
    }
}

impl Drop for NewSequence {
    fn drop(&mut self) {
        if self.state.unborn.load(Ordering::Acquire) {
            self.state.end(ErrorKind::UnknownSequence);
            self.shared.sequences.remove(&self.state);
        }
    }
}

/// A sequence of which no value is handed out, because its end is being recorded.
pub(crate) struct Dropping<'a>(&'a SequenceState);

impl<'a> Dropping<'a> {
    pub(crate) fn new(state: &'a SequenceState) -> Result<Dropping<'a>> {
        state.begin_recording()?;
        state.withdraw();
        Ok(Dropping(state))
    }

    /// After that was recorded.
    pub(crate) fn gone(&self, shared: &Shared) {
        self.0.end(ErrorKind::UnknownSequence);
        shared.sequences.remove(self.0);
    }
}

impl Drop for Dropping<'_> {
    fn drop(&mut self) {
        self.0.end_recording();
    }
}
