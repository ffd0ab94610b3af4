//! Who gets which number of a sequence?
//!
//! A block of values is recorded in the manifest before the first of it is handed out; after a crash
//! the sequence goes on behind the block. So no value is handed out twice, whatever becomes of the
//! transaction that asked, and values may be skipped. Closing records where the sequence stands.
//!
//! Who finds the block empty records the next one, without a lock: others wait for an event (I9).
//! Readers of tables never come here.
//!
//! Thread safety: any number of threads.

use std::collections::BTreeMap;
use std::sync::Arc;

use onlap_base::tasks::Event;
use onlap_base::{Error, ErrorKind, Result, SequenceId, limits};
use onlap_format::manifest::Edit;
use onlap_format::{ColumnDefault, SequenceSchema, TableSchema};
use parking_lot::{Mutex, RwLock};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::database::Shared;
use crate::locks::RowLock;
use crate::schema_change::hold_names;
use crate::spec::SequenceSpec;

mod counter;
#[cfg(test)]
mod tests;
mod unborn;

use counter::Block;
pub(crate) use unborn::{Dropping, NewSequence};

/// The sequences of a database.
#[derive(Default)]
pub(crate) struct Sequences {
    known: RwLock<Known>,
}

#[derive(Default)]
struct Known {
    by_name: BTreeMap<String, SequenceId>,
    by_id: BTreeMap<SequenceId, Arc<SequenceState>>,
}

impl Sequences {
    pub(crate) fn insert(&self, state: SequenceState) -> Arc<SequenceState> {
        let state = Arc::new(state);
        let mut known = self.known.write();
        known.by_name.insert(state.name.clone(), state.id);
        known.by_id.insert(state.id, Arc::clone(&state));
        state
    }

    /// Lets a sequence be found by its id alone.
    fn note(&self, state: &Arc<SequenceState>) {
        self.known.write().by_id.insert(state.id, Arc::clone(state));
    }

    fn name(&self, state: &SequenceState) {
        self.known.write().by_name.insert(state.name.clone(), state.id);
    }

    fn remove(&self, state: &SequenceState) {
        let mut known = self.known.write();
        if known.by_name.get(&state.name) == Some(&state.id) {
            known.by_name.remove(&state.name);
        }
        known.by_id.remove(&state.id);
    }

    pub(crate) fn by_name(&self, name: &str) -> Option<Arc<SequenceState>> {
        let known = self.known.read();
        known.by_name.get(name).and_then(|id| known.by_id.get(id)).cloned()
    }

    pub(crate) fn by_id(&self, id: SequenceId) -> Option<Arc<SequenceState>> {
        self.known.read().by_id.get(&id).cloned()
    }

    /// All sequences, by name.
    pub(crate) fn all(&self) -> Vec<Arc<SequenceState>> {
        let known = self.known.read();
        known.by_name.values().filter_map(|id| known.by_id.get(id)).cloned().collect()
    }
}

/// One sequence of an open database.
pub(crate) struct SequenceState {
    id: SequenceId,
    name: String,
    /// Created by a transaction that has not committed: nothing of it is recorded.
    unborn: AtomicBool,
    standing: Mutex<Standing>,
    /// A block was recorded, or could not be.
    recorded: Arc<Event>,
}

/// Where a sequence stands.
struct Standing {
    schema: SequenceSchema,
    /// Values that may be handed out.
    block: Block,
    /// Somebody is recording what comes behind the block.
    recording: bool,
    /// The last value handed out since the database was opened.
    last: Option<i64>,
    /// Size of the last block, and when it was made.
    made: (u32, u64),
    /// No value is handed out any more, for this reason.
    ended: Option<ErrorKind>,
}

impl SequenceState {
    /// A sequence whose next value has not been handed out.
    pub(crate) fn new(shared: &Shared, schema: SequenceSchema, next: Option<i64>) -> SequenceState {
        let block = Block { first: schema.start, count: 0, after: next };
        SequenceState {
            id: schema.id,
            name: schema.name.clone(),
            unborn: AtomicBool::new(false),
            standing: Mutex::new(Standing {
                schema,
                block,
                recording: false,
                last: None,
                made: (0, 0),
                ended: None,
            }),
            recorded: shared.tasks.event(),
        }
    }

    pub(crate) fn id(&self) -> SequenceId {
        self.id
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Takes up to `wanted` neighbouring values, one at least: the first, how many, their distance.
    pub(crate) fn take(&self, shared: &Shared, wanted: u32) -> Result<(i64, u32, i64)> {
        loop {
            let seen = self.recorded.epoch();
            let plan = {
                let mut standing = self.standing.lock();
                if let Some(taken) = standing.take(&self.name, wanted)? {
                    return Ok(taken);
                }
                if standing.recording { None } else { Some(standing.plan(shared, wanted)?) }
            };
            match plan {
                None => {
                    self.recorded.wait(seen, None);
                }
                Some(block) => self.record(shared, block.after, |standing| {
                    standing.made = (block.count, shared.clock.monotonic_ns());
                    standing.block = block;
                })?,
            }
        }
    }

    /// Makes what comes after all values handed out durable, then takes over. Whoever calls has set
    /// `recording`.
    fn record(
        &self,
        shared: &Shared,
        next: Option<i64>,
        then: impl FnOnce(&mut Standing),
    ) -> Result<()> {
        let recorded = match self.unborn.load(Ordering::Acquire) {
            true => Ok(()),
            false => shared.commit_edits(&[Edit::SequenceNext(self.id, next)], |_| ()),
        };
        let mut standing = self.standing.lock();
        assert!(standing.recording, "one caller records at a time");
        standing.recording = false;
        if recorded.is_ok() {
            then(&mut standing);
        }
        drop(standing);
        self.recorded.notify();
        recorded
    }

    /// Waits until nobody records, and keeps others from it.
    fn begin_recording(&self) -> Result<()> {
        loop {
            let seen = self.recorded.epoch();
            {
                let mut standing = self.standing.lock();
                standing.check(&self.name)?;
                if !standing.recording {
                    standing.recording = true;
                    return Ok(());
                }
            }
            self.recorded.wait(seen, None);
        }
    }

    /// Hands no value out any more.
    fn end(&self, why: ErrorKind) {
        self.standing.lock().ended = Some(why);
    }
}

impl Standing {
    fn check(&self, name: &str) -> Result<()> {
        match self.ended {
            None => Ok(()),
            Some(ErrorKind::Closed) => {
                Err(Error::new(ErrorKind::Closed, "the database was closed"))
            }
            Some(_) => Err(unknown_sequence(name)),
        }
    }

    /// What is handed out next.
    fn next(&self) -> Option<i64> {
        match self.block.count {
            0 => self.block.after,
            _ => Some(self.block.first),
        }
    }

    fn take(&mut self, name: &str, wanted: u32) -> Result<Option<(i64, u32, i64)>> {
        self.check(name)?;
        let (n, step) = (wanted.min(self.block.count), self.schema.increment);
        if n == 0 {
            return Ok(None);
        }
        let first = self.block.first;
        // The last value fits its type; what leads there, and what lies behind it, need not.
        let last = first.wrapping_add(step.wrapping_mul(i64::from(n - 1)));
        self.block.count -= n;
        self.block.first = last.wrapping_add(step);
        self.last = Some(last);
        Ok(Some((first, n, step)))
    }

    fn plan(&mut self, shared: &Shared, wanted: u32) -> Result<Block> {
        let next = self.block.after.ok_or_else(|| {
            let text = format!("sequence {} has no values left", self.schema.name);
            Error::new(ErrorKind::SequenceExhausted, text)
        })?;
        let (last, began) = self.made;
        let now = shared.clock.monotonic_ns();
        let size = counter::block_size(&self.schema, last, began, now).max(wanted);
        self.recording = true;
        Ok(counter::plan(&self.schema, next, size))
    }
}

/// A sequence: a handle to clone and share.
#[derive(Clone)]
pub struct Sequence {
    shared: Arc<Shared>,
    state: Arc<SequenceState>,
}

impl Sequence {
    pub(crate) fn new(shared: &Arc<Shared>, state: Arc<SequenceState>) -> Sequence {
        Sequence { shared: Arc::clone(shared), state }
    }

    /// The sequence's name.
    pub fn name(&self) -> &str {
        &self.state.name
    }

    /// The description.
    pub fn schema(&self) -> SequenceSchema {
        self.state.standing.lock().schema.clone()
    }

    /// Takes the next value. Nobody else gets it, also when this transaction rolls back, and after a
    /// crash.
    ///
    /// # Errors
    /// [`ErrorKind::SequenceExhausted`]; [`ErrorKind::UnknownSequence`] when it was dropped; those of
    /// writing the manifest, now and then.
    pub fn next_value(&self) -> Result<i64> {
        self.shared.check_writable()?;
        self.state.take(&self.shared, 1).map(|(first, ..)| first)
    }

    /// The value handed out last, by any thread, since the database was opened.
    pub fn current(&self) -> Option<i64> {
        self.state.standing.lock().last
    }

    /// Where it stands, as PostgreSQL's relation of a sequence says it: the last value, and true, if a call since the database
    /// was opened took it and the next one follows it; else the next value, and false.
    pub fn standing(&self) -> (i64, bool) {
        let standing = self.state.standing.lock();
        let (next, schema) = (standing.next(), &standing.schema);
        match (standing.last, next) {
            (Some(last), next) if counter::plan(schema, last, 1).after == next => (last, true),
            (_, Some(next)) => (next, false),
            // All were taken before the database was opened.
            (_, None) if schema.increment > 0 => (schema.max, true),
            (_, None) => (schema.min, true),
        }
    }

    /// Lets the sequence go on behind this value, or with it. Takes effect at once and is never
    /// rolled back.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`]; as [`Sequence::next_value`].
    pub fn set_value(&self, value: i64, is_taken: bool) -> Result<()> {
        self.shared.check_writable()?;
        let schema = self.schema();
        if !(schema.min..=schema.max).contains(&value) {
            let text = format!(
                "{value} is outside {} to {}, the range of sequence {}",
                schema.min, schema.max, schema.name
            );
            return Err(Error::new(ErrorKind::OutOfRange, text));
        }
        let next = match is_taken {
            true => counter::plan(&schema, value, 1).after,
            false => Some(value),
        };
        self.state.begin_recording()?;
        self.state.record(&self.shared, next, |standing| {
            standing.block = Block { first: value, count: 0, after: next };
            standing.last = if is_taken { Some(value) } else { standing.last };
        })
    }
}

pub(crate) fn create(shared: &Arc<Shared>, spec: &SequenceSpec) -> Result<Arc<SequenceState>> {
    let _names = hold_names(shared, [(spec.name(), RowLock::Update)])?;
    let _ids = shared.schema_lock.lock();
    if shared.sequences.by_name(spec.name()).is_some() {
        return Err(exists(spec.name()));
    }
    let schema = next_schema(shared, spec)?;
    let edits = [Edit::CreateSequence(schema.clone())];
    shared.commit_edits(&edits, |_| {
        let start = Some(schema.start);
        shared.sequences.insert(SequenceState::new(shared, schema.clone(), start))
    })
}

fn exists(name: &str) -> Error {
    let text = format!("there is a sequence named {name} already");
    Error::new(ErrorKind::AlreadyExists, text)
}

/// The description of a sequence that is about to come. The caller holds `schema_lock`.
fn next_schema(shared: &Shared, spec: &SequenceSpec) -> Result<SequenceSchema> {
    if shared.sequences.known.read().by_id.len() >= limits::SEQUENCES {
        let text = format!("there are {} sequences, the most of a database", limits::SEQUENCES);
        return Err(Error::new(ErrorKind::LimitExceeded, text));
    }
    spec.build(SequenceId(shared.versions.state(|s| s.next_sequence)))
}

/// Gives a sequence another description; it goes on where it is.
pub(crate) fn change(shared: &Arc<Shared>, spec: &SequenceSpec) -> Result<()> {
    let _names = hold_names(shared, [(spec.name(), RowLock::Update)])?;
    let state = shared.sequences.by_name(spec.name());
    let state = state.ok_or_else(|| unknown_sequence(spec.name()))?;
    let schema = spec.build(state.id)?;
    state.begin_recording()?;
    let next = state.standing.lock().next();
    let fits = next.is_none_or(|v| (schema.min..=schema.max).contains(&v));
    let changed = if fits {
        let edits = [Edit::ChangeSequence(schema.clone()), Edit::SequenceNext(state.id, next)];
        shared.commit_edits(&edits, |_| ())
    } else {
        let text = format!(
            "sequence {} goes on with {}, which is outside {} to {}; set another value first",
            schema.name,
            next.expect("None fits"),
            schema.min,
            schema.max
        );
        Err(Error::new(ErrorKind::OutOfRange, text))
    };
    let mut standing = state.standing.lock();
    standing.recording = false;
    if changed.is_ok() {
        standing.block = Block { first: schema.start, count: 0, after: next };
        standing.schema = schema;
    }
    drop(standing);
    state.recorded.notify();
    changed
}

pub(crate) fn drop_sequence(shared: &Arc<Shared>, name: &str) -> Result<()> {
    let _names = hold_names(shared, [(name, RowLock::Update)])?;
    let state = shared.sequences.by_name(name).ok_or_else(|| unknown_sequence(name))?;
    check_unused(&state, shared.catalog.all().iter().map(|table| table.schema()))?;
    state.begin_recording()?;
    let dropped = shared.commit_edits(&[Edit::DropSequence(state.id)], |_| {
        state.end(ErrorKind::UnknownSequence);
        shared.sequences.remove(&state);
    });
    state.standing.lock().recording = false;
    state.recorded.notify();
    dropped
}

/// Refuses that a sequence goes from which a column takes its default.
pub(crate) fn check_unused(
    state: &SequenceState,
    tables: impl Iterator<Item = Arc<TableSchema>>,
) -> Result<()> {
    let uses = Some(ColumnDefault::NextVal(state.id));
    for schema in tables {
        if let Some(column) = schema.columns.iter().find(|c| c.default == uses) {
            let text = format!(
                "column {} of table {} takes its default from sequence {}",
                column.name, schema.name, state.name
            );
            return Err(Error::new(ErrorKind::InUse, text));
        }
    }
    Ok(())
}

/// Lets the sequences that the manifest knows go on.
pub(crate) fn load(shared: &Shared) {
    let known = shared.versions.state(|s| s.sequences.clone());
    for (_, sequence) in known {
        shared.sequences.insert(SequenceState::new(shared, sequence.schema, sequence.next));
    }
}

/// Records where the sequences stand, so that closing skips no values; none is handed out any more.
pub(crate) fn close(shared: &Shared) -> Result<()> {
    let mut edits = Vec::new();
    for state in shared.sequences.all() {
        if state.begin_recording().is_err() {
            continue;
        }
        let mut standing = state.standing.lock();
        if standing.block.count > 0 {
            edits.push(Edit::SequenceNext(state.id, Some(standing.block.first)));
        }
        standing.ended = Some(ErrorKind::Closed);
        standing.recording = false;
        drop(standing);
        state.recorded.notify();
    }
    if edits.is_empty() { Ok(()) } else { shared.commit_edits(&edits, |_| ()) }
}

pub(crate) fn unknown_sequence(name: &str) -> Error {
    Error::new(ErrorKind::UnknownSequence, format!("there is no sequence named {name}"))
}
