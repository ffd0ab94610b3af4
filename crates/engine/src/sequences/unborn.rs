//! How does a sequence come or go with a transaction?
//!
//! One that a transaction creates hands out values as any other, to those who know its id: the
//! transaction alone. Nothing of it is recorded before the commit, whose record brings it with the value
//! that comes next; without a commit it is forgotten. One that a transaction drops is everybody's until
//! the commit; nobody takes a value while that is recorded.
//!
//! Thread safety: as [`super`].

use std::sync::Arc;
use std::sync::atomic::Ordering;

use onlap_base::{Error, ErrorKind, Result};
use onlap_format::manifest::Edit;

use super::{Block, SequenceState, next_schema};
use crate::database::Shared;
use crate::spec::SequenceSpec;

/// A sequence that a transaction creates. Unless it is born, it goes with this.
pub(crate) struct NewSequence {
    shared: Arc<Shared>,
    state: Arc<SequenceState>,
    /// The one that it goes on for, and where that was.
    goes_on: Option<(Arc<SequenceState>, Option<i64>)>,
}

impl NewSequence {
    /// Takes an id for ever. The caller has the name locked, and knows that it is free.
    pub(crate) fn new(shared: &Arc<Shared>, spec: &SequenceSpec) -> Result<NewSequence> {
        let _ids = shared.schema_lock.lock();
        let schema = next_schema(shared, spec)?;
        shared.commit_edits(&[Edit::NextSequence(schema.id.0 + 1)], |_| ())?;
        let start = Some(schema.start);
        let state = Arc::new(SequenceState::new(shared, schema, start));
        state.unborn.store(true, Ordering::Release);
        shared.sequences.note(&state);
        Ok(NewSequence { shared: Arc::clone(shared), state, goes_on: None })
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
        let mut new = NewSequence::new(shared, spec)?;
        let mut standing = new.state.standing.lock();
        let goes_on = old.standing.lock().next();
        let begin = next.or(goes_on);
        let (min, max) = (standing.schema.min, standing.schema.max);
        if let Some(value) = begin.filter(|v| !(min..=max).contains(v)) {
            let name = &standing.schema.name;
            let text = format!(
                "sequence {name} goes on with {value}, which is outside {min} to {max}; set another \
                 value first"
            );
            return Err(Error::new(ErrorKind::OutOfRange, text));
        }
        standing.block = Block { first: standing.schema.start, count: 0, after: begin };
        drop(standing);
        new.goes_on = next.is_none().then(|| (Arc::clone(old), goes_on));
        Ok(new)
    }

    /// Refuses a commit where others took values that this one takes too.
    pub(crate) fn check(&self) -> Result<()> {
        let Some((old, at)) = &self.goes_on else { return Ok(()) };
        if old.standing.lock().next() == *at {
            return Ok(());
        }
        let text = format!("values of sequence {} were taken meanwhile; run it again", old.name);
        Err(Error::new(ErrorKind::Conflict, text))
    }

    /// What makes it everybody's. The values of its block are as good as taken.
    pub(crate) fn edits(&self) -> [Edit; 2] {
        let standing = self.state.standing.lock();
        let next = Edit::SequenceNext(self.state.id, standing.next());
        [Edit::CreateSequence(standing.schema.clone()), next]
    }

    /// After that was recorded.
    pub(crate) fn born(&self) {
        let mut standing = self.state.standing.lock();
        let next = standing.next();
        standing.block = Block { first: standing.schema.start, count: 0, after: next };
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
        self.0.standing.lock().recording = false;
        self.0.recorded.notify();
    }
}
