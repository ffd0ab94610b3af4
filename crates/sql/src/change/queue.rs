//! Which calls of triggers are due when a statement has changed its rows?
//!
//! Calls for rows and for the statement, in the order in which PostgreSQL makes them: as they came. Actions of foreign keys are
//! carried out among those of the row that other rows name ([`super::actions`]), and what they change brings calls to the end of
//! the queue, of the same statement: triggers that come before or after a statement fire once for all actions that change rows
//! of a table in one way, until one of them has read the table of changed rows, which then is closed, as in PostgreSQL. What is
//! changed from then on has another round.
//!
//! Thread safety: belongs to its statement's thread.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use datafusion_execution::memory_pool::{MemoryConsumer, MemoryReservation};
use onlap::Row;

use super::actions;
use super::fires::{Event, Known, Of, none};
use crate::catalog::oids;
use crate::error::Result;
use crate::fast::bytes_of;
use crate::query::transition::{Rows, Transition};
use crate::view::View;

/// What is called after the statement.
pub(super) struct Due {
    pub of: Arc<Of>,
    pub event: Event,
    /// Of a row; otherwise of the statement.
    pub row: bool,
    pub old: Option<Row>,
    pub new: Option<Row>,
    pub set: Arc<[String]>,
    /// Which of the rounds of its event it belongs to.
    pub round: u32,
}

/// A relation, and what happens to its rows.
type Changes = (u32, Event);

/// Calls that are due when the statement has changed its rows.
#[derive(Default)]
pub struct Queue {
    due: RefCell<VecDeque<Due>>,
    memory: RefCell<Option<MemoryReservation>>,
    /// The rounds that have come, of those with more than the first.
    rounds: RefCell<HashMap<Changes, u32>>,
    /// For what triggers have come before the statement.
    begun: RefCell<HashSet<(Changes, u32)>>,
    /// The rows that were changed, where triggers read them whole.
    caught: RefCell<HashMap<(Changes, u32), Caught>>,
}

/// The rows that a statement has changed in one way: as they were, and as they are.
#[derive(Clone)]
pub(super) struct Caught {
    pub old: Arc<Rows>,
    pub new: Arc<Rows>,
}

/// Bytes of a call that is due, next to its rows.
const DUE_BYTES: usize = 96;

/// By what name PostgreSQL's own triggers for the actions of foreign keys stand among the others; a number follows.
const ACTION: &str = "RI_ConstraintTrigger_a_";

impl Due {
    fn bytes(&self) -> usize {
        self.old.iter().chain(&self.new).map(bytes_of).sum::<usize>() + DUE_BYTES
    }
}

impl Queue {
    pub(super) fn push(&self, view: &View, due: Due) -> Result<()> {
        let mut memory = self.memory.borrow_mut();
        let pool = view.instance.runner.memory();
        let memory =
            memory.get_or_insert_with(|| MemoryConsumer::new("rows of triggers").register(&pool));
        memory.try_grow(due.bytes())?;
        self.due.borrow_mut().push_back(due);
        Ok(())
    }

    fn next(&self) -> Option<Due> {
        let next = self.due.borrow_mut().pop_front();
        if let (Some(due), Some(memory)) = (&next, self.memory.borrow_mut().as_mut()) {
            memory.shrink(due.bytes());
        }
        next
    }

    /// Makes the calls.
    ///
    /// # Errors
    /// Those of the functions and of actions of foreign keys.
    pub fn run(&self, view: &View) -> Result<()> {
        while let Some(one) = self.next() {
            view.scope.go_on()?;
            self.call(view, &one, |name| name < ACTION)?;
            if let (true, Some(old)) = (one.row, &one.old) {
                for key in one.of.left().iter() {
                    actions::act((view, self), &one.of, *key, (old, one.new.as_ref()))?;
                }
            }
            self.call(view, &one, |name| name >= ACTION)?;
        }
        self.memory.take();
        self.caught.take();
        Ok(())
    }

    /// Makes those of triggers with such names.
    fn call(&self, view: &View, one: &Due, is_named: impl Fn(&str) -> bool) -> Result<()> {
        let fired = one.of.all.iter().filter(|known| {
            let of = &known.trigger.trigger;
            of.time == 'A'
                && of.row == one.row
                && is_named(&of.name)
                && known.is_of(one.event, &one.set)
        });
        for known in fired {
            if view.scope.deferred().puts_off(&known.trigger.trigger) {
                one.of.put_off(view, known, one)?;
                continue;
            }
            let tables = self.tables(view, known, one)?;
            one.of.call(view, known, (one.event, tables), (one.old.as_ref(), one.new.as_ref()))?;
        }
        Ok(())
    }

    /// In which round changes of a table are.
    pub(super) fn round(&self, relation: u32, event: Event) -> u32 {
        self.rounds.borrow().get(&(relation, event)).copied().unwrap_or_default()
    }

    /// The rows of a table that an event was about.
    pub(super) fn caught(
        &self,
        view: &View,
        of: &Of,
        (event, round): (Event, u32),
    ) -> Result<Caught> {
        let table = of.table()?;
        let mut caught = self.caught.borrow_mut();
        let none = || Arc::new(Rows::new(view, table.clone()));
        let made = || Caught { old: none(), new: none() };
        Ok(caught.entry(((of.relation, event), round)).or_insert_with(made).clone())
    }

    /// The tables of changed rows that a trigger names.
    fn tables(&self, view: &View, known: &Known, due: &Due) -> Result<Arc<[Transition]>> {
        let (trigger, of) = (&known.trigger.trigger, &due.of);
        if !trigger.has_tables() {
            return Ok(none());
        }
        let Caught { old, new } = self.caught(view, of, (due.event, due.round))?;
        // What is changed from now on, the trigger does not see.
        let mut rounds = self.rounds.borrow_mut();
        let round = rounds.entry((of.relation, due.event)).or_default();
        *round = (*round).max(due.round + 1);
        let of = [(&trigger.old_table, old), (&trigger.new_table, new)].into_iter();
        let named = of.zip(oids::TRANSITIONS).filter_map(|((name, rows), oid)| {
            name.as_ref().map(|name| Transition { name: name.clone(), oid, rows })
        });
        Ok(named.collect())
    }

    /// Whether those that come before a statement are still to be fired; of one that has several parts, that is once.
    pub(super) fn begins(&self, relation: u32, event: Event) -> bool {
        let round = self.round(relation, event);
        self.begun.borrow_mut().insert(((relation, event), round))
    }

    /// Leaves out those that come after a statement where a later part has them again.
    pub(super) fn forget_statement(&self, relation: u32, event: Event) {
        let round = self.round(relation, event);
        let is = |due: &Due| {
            !due.row && due.event == event && due.of.relation == relation && due.round == round
        };
        self.due.borrow_mut().retain(|due| !is(due));
    }
}
