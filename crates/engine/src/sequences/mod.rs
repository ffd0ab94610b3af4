//! Who gets which number of a sequence?
//!
//! A block of values is recorded in the manifest before the first of it is handed out; after a crash
//! the sequence goes on behind the block. So no value is handed out twice, whatever becomes of the
//! transaction that asked, and values may be skipped. Closing records where the sequence stands.
//!
//! Who finds the block empty records the next one, without a lock: others wait for an event (I9).
//!
//! A sequence stands at the last value handed out, so that another increment counts from there as in PostgreSQL. One that has
//! another name shares the counter of the one that it was: what either hands out counts for both, whatever becomes of the transaction that
//! renames it.
//! Readers of tables never come here.
//!
//! Thread safety: any number of threads.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use onlap_base::tasks::Event;
use onlap_base::{Error, ErrorKind, Result, SequenceId, limits};
use onlap_format::manifest::{Edit, SequencePoint};
use onlap_format::{ColumnDefault, SequenceSchema, TableSchema};
use parking_lot::{Mutex, RwLock};

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

    /// The id that it had before others took its place.
    pub(crate) fn origin(&self, id: SequenceId) -> SequenceId {
        self.known.read().by_id.get(&id).map_or(id, |state| state.origin)
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
    /// The id of the one in whose place it came, and so on; its own, where it came anew.
    origin: SequenceId,
    /// Created by a transaction that has not committed.
    unborn: AtomicBool,
    counter: Arc<Counter>,
    /// No value is handed out any more, for this reason. Set while the counter is locked.
    ended: Mutex<Option<ErrorKind>>,
}

/// What hands out the values of a sequence, and of one that takes its place under another name.
struct Counter {
    standing: Mutex<Standing>,
    /// A block was recorded, or could not be.
    recorded: Arc<Event>,
}

/// Where a sequence stands.
struct Standing {
    schema: SequenceSchema,
    /// The sequence of the manifest for which blocks are recorded; `None` where it has not come to be.
    recorded_as: Option<SequenceId>,
    /// What was handed out.
    at: SequencePoint,
    /// Values that may be handed out.
    block: Block,
    /// Somebody is recording what comes behind the block.
    recording: bool,
    /// Size of the last block, and when it was made.
    made: (u32, u64),
}

impl SequenceState {
    /// A sequence that the manifest knows, or will know.
    pub(crate) fn new(
        shared: &Shared,
        schema: SequenceSchema,
        at: SequencePoint,
        is_known: bool,
    ) -> SequenceState {
        SequenceState {
            id: schema.id,
            name: schema.name.clone(),
            origin: schema.id,
            unborn: AtomicBool::new(!is_known),
            counter: Arc::new(Counter {
                standing: Mutex::new(Standing {
                    recorded_as: is_known.then_some(schema.id),
                    schema,
                    at,
                    block: Block::NONE,
                    recording: false,
                    made: (0, 0),
                }),
                recorded: shared.tasks.event(),
            }),
            ended: Mutex::new(None),
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
            let seen = self.counter.recorded.epoch();
            let plan = {
                let mut standing = self.counter.standing.lock();
                self.check()?;
                if let Some(taken) = standing.take(wanted) {
                    return Ok(taken);
                }
                match standing.recording {
                    true => None,
                    false => Some(standing.plan(shared, &self.name, wanted)?),
                }
            };
            match plan {
                None => {
                    self.counter.recorded.wait(seen, None);
                }
                Some(block) => {
                    self.record(shared, SequencePoint::After(block.last), |standing| {
                        standing.made = (block.count, shared.clock.monotonic_ns());
                        standing.block = block;
                    })?
                }
            }
        }
    }

    /// Makes a point behind all values handed out durable, then takes over. The caller has set
    /// `recording`.
    fn record(
        &self,
        shared: &Shared,
        point: SequencePoint,
        then: impl FnOnce(&mut Standing),
    ) -> Result<()> {
        let recorded_as = self.counter.standing.lock().recorded_as;
        let recorded = match recorded_as {
            None => Ok(()),
            Some(id) => shared.commit_edits(&[point.edit(id)], |_| ()),
        };
        let mut standing = self.counter.standing.lock();
        assert!(standing.recording, "one caller records at a time");
        standing.recording = false;
        if recorded.is_ok() {
            then(&mut standing);
        }
        drop(standing);
        self.counter.recorded.notify();
        recorded
    }

    /// Waits until nobody records, and keeps others from it.
    fn begin_recording(&self) -> Result<()> {
        loop {
            let seen = self.counter.recorded.epoch();
            {
                let mut standing = self.counter.standing.lock();
                self.check()?;
                if !standing.recording {
                    standing.recording = true;
                    return Ok(());
                }
            }
            self.counter.recorded.wait(seen, None);
        }
    }

    /// Where it stands; values that were set aside are not handed out. The caller has set `recording`, so that others wait.
    fn withdraw(&self) -> SequencePoint {
        let mut standing = self.counter.standing.lock();
        assert!(standing.recording, "others would record meanwhile");
        standing.block = Block::NONE;
        standing.at
    }

    /// Others may record again.
    fn end_recording(&self) {
        self.counter.standing.lock().recording = false;
        self.counter.recorded.notify();
    }

    /// Hands no value out any more.
    fn end(&self, why: ErrorKind) {
        let _standing = self.counter.standing.lock();
        *self.ended.lock() = Some(why);
    }

    fn check(&self) -> Result<()> {
        match *self.ended.lock() {
            None => Ok(()),
            Some(ErrorKind::Closed) => {
                Err(Error::new(ErrorKind::Closed, "the database was closed"))
            }
            Some(_) => Err(unknown_sequence(&self.name)),
        }
    }
}

impl Standing {
    fn take(&mut self, wanted: u32) -> Option<(i64, u32, i64)> {
        let (n, step) = (wanted.min(self.block.count), self.schema.increment);
        if n == 0 {
            return None;
        }
        let first = self.block.first;
        // The last value fits its type; what leads there, and what lies behind it, need not.
        let last = first.wrapping_add(step.wrapping_mul(i64::from(n - 1)));
        self.block.count -= n;
        self.block.first = last.wrapping_add(step);
        self.at = SequencePoint::After(last);
        Some((first, n, step))
    }

    fn plan(&mut self, shared: &Shared, name: &str, wanted: u32) -> Result<Block> {
        let next = counter::next(&self.schema, self.at).ok_or_else(|| {
            let text = format!("sequence {name} has no values left");
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
        let schema = self.state.counter.standing.lock().schema.clone();
        // The counter may be that of another name.
        SequenceSchema { id: self.state.id, name: self.state.name.clone(), ..schema }
    }

    /// The id of the sequence in whose place this one came, with another description or name, since the database was opened; its
    /// own, where it came anew. What callers remember of a sequence is known by it.
    pub fn origin(&self) -> SequenceId {
        self.state.origin
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

    /// The value handed out last, by any thread; of values that a crash skipped the last. `None` where none was, and after
    /// [`Sequence::set_value`] to one that is not taken.
    pub fn current(&self) -> Option<i64> {
        match self.standing() {
            (last, true) => Some(last),
            _ => None,
        }
    }

    /// Where it stands, as PostgreSQL's relation of a sequence says it: the last value, and true, if it was taken; else the
    /// next value, and false.
    pub fn standing(&self) -> (i64, bool) {
        match self.state.counter.standing.lock().at {
            SequencePoint::After(last) => (last, true),
            SequencePoint::Next(next) => (next, false),
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
        let point = match is_taken {
            true => SequencePoint::After(value),
            false => SequencePoint::Next(value),
        };
        self.state.begin_recording()?;
        self.state.record(&self.shared, point, |standing| {
            (standing.at, standing.block) = (point, Block::NONE);
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
        let at = SequencePoint::Next(schema.start);
        shared.sequences.insert(SequenceState::new(shared, schema.clone(), at, true))
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

/// Refuses that a sequence goes on at a place that another description does not have.
fn check_point(schema: &SequenceSchema, at: SequencePoint) -> Result<()> {
    let (SequencePoint::Next(value) | SequencePoint::After(value)) = at;
    if (schema.min..=schema.max).contains(&value) {
        return Ok(());
    }
    let SequenceSchema { name, min, max, .. } = schema;
    let text = format!(
        "sequence {name} stands at {value}, which is outside {min} to {max}; set another value first"
    );
    Err(Error::new(ErrorKind::OutOfRange, text))
}

/// Gives a sequence another description; it goes on where it is.
pub(crate) fn change(shared: &Arc<Shared>, spec: &SequenceSpec) -> Result<()> {
    let _names = hold_names(shared, [(spec.name(), RowLock::Update)])?;
    let state = shared.sequences.by_name(spec.name());
    let state = state.ok_or_else(|| unknown_sequence(spec.name()))?;
    let schema = spec.build(state.id)?;
    state.begin_recording()?;
    let at = state.withdraw();
    let changed = check_point(&schema, at).and_then(|()| {
        let edits = [Edit::ChangeSequence(schema.clone()), at.edit(state.id)];
        shared.commit_edits(&edits, |_| ())
    });
    if changed.is_ok() {
        state.counter.standing.lock().schema = schema;
    }
    state.end_recording();
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
    state.end_recording();
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
        shared.sequences.insert(SequenceState::new(shared, sequence.schema, sequence.at, true));
    }
}

/// Records where the sequences stand, so that closing skips no values; none is handed out any more.
pub(crate) fn close(shared: &Shared) -> Result<()> {
    let mut edits = Vec::new();
    for state in shared.sequences.all() {
        if state.begin_recording().is_err() {
            continue;
        }
        let standing = state.counter.standing.lock();
        if standing.block.count > 0 {
            edits.push(standing.at.edit(state.id));
        }
        *state.ended.lock() = Some(ErrorKind::Closed);
        drop(standing);
        state.end_recording();
    }
    if edits.is_empty() { Ok(()) } else { shared.commit_edits(&edits, |_| ()) }
}

pub(crate) fn unknown_sequence(name: &str) -> Error {
    Error::new(ErrorKind::UnknownSequence, format!("there is no sequence named {name}"))
}
