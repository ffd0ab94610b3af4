//! Which calls of triggers wait for the end of their transaction?
//!
//! Those of triggers that are constraints and are put off, then. Calls are noted with the rows as they were and are, after
//! their condition was judged, and made in that order: when the transaction commits, or when SET CONSTRAINTS wants them at once.
//! A transaction that goes back to a place forgets what was noted since, and has to make those calls again that it made since.
//! So a call stays noted until the transaction ends, in memory that counts among that of queries.
//!
//! Thread safety: one thread uses a transaction at a time; the lock is never held while a function runs.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion_execution::memory_pool::{MemoryConsumer, MemoryReservation};
use onlap::{DuePlace, Row, TableId};
use parking_lot::Mutex;

use super::fires::{Event, Of};
use crate::catalog::triggers::Trigger;
use crate::error::Result;
use crate::fast::bytes_of;
use crate::view::View;

/// By what name PostgreSQL's own triggers for foreign keys stand among the others of a row.
const RULE: &str = "RI_ConstraintTrigger_";
/// Bytes of a call next to its rows.
const CALL_BYTES: usize = 128;
/// Bytes of the triggers of a table, about.
const OF_BYTES: usize = 4096;

/// A call that waits.
#[derive(Clone)]
pub(super) struct Call {
    /// The triggers of its table.
    pub of: Arc<Of>,
    /// The OID of the trigger.
    pub trigger: u32,
    /// What happened to the row.
    pub event: Event,
    /// The row as it was.
    pub old: Option<Row>,
    /// The row as it is.
    pub new: Option<Row>,
}

/// A call that was noted.
struct Noted {
    call: Call,
    bytes: usize,
    /// When it was made, by a number that rises with each call.
    made: Option<u64>,
    /// What rules of tables had to be judged at the end of the statement that noted it.
    place: Option<Arc<DuePlace>>,
}

/// What SET CONSTRAINTS has said in a transaction: of all triggers, and of some since.
#[derive(Clone, Default)]
struct Times {
    all: Option<bool>,
    some: HashMap<u32, bool>,
}

/// Calls that wait for the end of their transaction.
#[derive(Default)]
pub struct Deferrals(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    noted: Vec<Noted>,
    /// How many calls were made.
    made: u64,
    times: Times,
    memory: Option<MemoryReservation>,
}

/// A place in a transaction to go back to.
#[derive(Clone, Default)]
pub struct Mark {
    noted: usize,
    made: u64,
    times: Times,
}

impl Times {
    fn puts_off(&self, trigger: &Trigger) -> bool {
        let Some(constraint) = trigger.constraint.as_ref().filter(|of| of.deferrable) else {
            return false;
        };
        let said = self.some.get(&trigger.oid).copied().or(self.all);
        said.unwrap_or(constraint.deferred)
    }
}

impl Deferrals {
    /// Whether the calls of a trigger wait.
    pub(super) fn puts_off(&self, trigger: &Trigger) -> bool {
        trigger.constraint.is_some() && self.0.lock().times.puts_off(trigger)
    }

    /// Notes a call.
    ///
    /// # Errors
    /// `53200`.
    pub(super) fn note(&self, view: &View, mut call: Call) -> Result<()> {
        let mut inner = self.0.lock();
        let mut bytes = call.old.iter().chain(&call.new).map(bytes_of).sum::<usize>() + CALL_BYTES;
        // Each statement has read the triggers anew: those that are the same are kept once.
        match inner.noted.last() {
            Some(last) if last.call.of.is_as(&call.of) => call.of = Arc::clone(&last.call.of),
            _ => bytes += OF_BYTES,
        }
        let memory = inner.memory.get_or_insert_with(|| {
            MemoryConsumer::new("calls of triggers").register(&view.instance.runner.memory())
        });
        memory.try_grow(bytes)?;
        inner.noted.push(Noted { call, bytes, made: None, place: None });
        Ok(())
    }

    /// A statement ends that began at a place: what rules of tables have to judge by then comes before its calls.
    pub fn end_statement(&self, began: &Mark, place: impl FnOnce() -> DuePlace) {
        let mut inner = self.0.lock();
        let from = began.noted.min(inner.noted.len());
        let mut own =
            inner.noted[from..].iter_mut().filter(|noted| noted.place.is_none()).peekable();
        if own.peek().is_none() {
            return;
        }
        let place = Arc::new(place());
        own.for_each(|noted| noted.place = Some(Arc::clone(&place)));
    }

    /// Where the transaction is.
    pub fn mark(&self) -> Mark {
        let inner = self.0.lock();
        Mark { noted: inner.noted.len(), made: inner.made, times: inner.times.clone() }
    }

    /// Goes back to a place.
    pub fn back_to(&self, mark: &Mark) {
        let mut inner = self.0.lock();
        let kept = mark.noted.min(inner.noted.len());
        let bytes = inner.noted.drain(kept..).map(|noted| noted.bytes).sum();
        if let Some(memory) = &mut inner.memory {
            memory.shrink(bytes);
        }
        for noted in &mut inner.noted {
            if noted.made.is_some_and(|made| made > mark.made) {
                noted.made = None;
            }
        }
        inner.times = mark.times.clone();
    }

    /// The transaction has ended.
    pub fn end(&self) {
        *self.0.lock() = Inner::default();
    }

    /// Whether a call waits.
    pub fn is_due(&self) -> bool {
        self.0.lock().noted.iter().any(|noted| noted.made.is_none())
    }

    /// Whether one waits that is about rows of a table.
    pub fn has(&self, table: TableId) -> bool {
        let inner = self.0.lock();
        let mut due = inner.noted.iter().filter(|noted| noted.made.is_none());
        due.any(|noted| noted.call.of.is_of(table))
    }

    /// Puts off all calls of triggers that can be put off, or makes them as they come.
    pub fn set_all(&self, put_off: bool) {
        self.0.lock().times = Times { all: Some(put_off), some: HashMap::new() };
    }

    /// The same of some triggers, by OID.
    pub fn set(&self, triggers: &[u32], put_off: bool) {
        let mut inner = self.0.lock();
        inner.times.some.extend(triggers.iter().map(|oid| (*oid, put_off)));
    }

    /// The first call that waits, from a place on, which goes behind it; `all`: also where its trigger is put off.
    fn next(&self, from: &mut usize, all: bool) -> Option<(Call, Option<Arc<DuePlace>>)> {
        let mut inner = self.0.lock();
        let Inner { noted, made, times, .. } = &mut *inner;
        let is_wanted = |noted: &Noted| {
            let trigger = noted.call.of.trigger(noted.call.trigger);
            noted.made.is_none() && (all || trigger.is_none_or(|of| !times.puts_off(of)))
        };
        let found = noted.get(*from..)?.iter().position(is_wanted)? + *from;
        *from = found + 1;
        *made += 1;
        noted[found].made = Some(*made);
        Some((noted[found].call.clone(), noted[found].place.clone()))
    }

    /// Makes the calls that wait; `all`: also those of triggers that are put off. As in PostgreSQL, where constraints of tables are
    /// triggers too, those that have something to judge for the same rows or earlier ones come first, if their names do.
    ///
    /// # Errors
    /// Those of the functions; what is judged is broken.
    pub fn run(&self, view: &View, all: bool) -> Result<()> {
        // What the functions note comes behind.
        let mut from = 0;
        while let Some((call, place)) = self.next(&mut from, all) {
            view.scope.go_on()?;
            let Call { of, trigger, event, old, new } = &call;
            let is_after = of.trigger(*trigger).is_some_and(|of| *of.name > *RULE);
            if let Some(place) = place.filter(|_| all && is_after) {
                view.scope.tx()?.judge_due_to(&place)?;
            }
            of.call_late(view, *trigger, *event, (old.as_ref(), new.as_ref()))?;
        }
        Ok(())
    }
}
