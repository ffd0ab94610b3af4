//! Which triggers does a change of rows fire?
//!
//! Of the table that the statement names those for each statement; of the table that a row is of those for each row, which a
//! partition has from the tables above it, too. Those that come before are called as rows are changed, and say what becomes of
//! them; calls of those that come after are noted ([`Queue`]) and made when the whole statement has changed its rows.
//!
//! Thread safety: belongs to its statement's thread.

use std::cell::RefCell;
use std::collections::HashMap;
use std::slice;
use std::sync::Arc;

use datafusion_execution::memory_pool::{MemoryConsumer, MemoryReservation};
use onlap::{Row, TableId};
use onlap_kernels::Datum;

use super::routes::not_of;
use crate::catalog::triggers::{self, Trigger};
use crate::catalog::{Kind, Name, oids};
use crate::ddl::generated::{fill, hide, with_generated};
use crate::error::{Result, SqlError};
use crate::fast::bytes_of;
use crate::plan::TableHandle;
use crate::query::family::by_id;
use crate::routine::{Conditioned, Firing, fire};
use crate::view::View;

/// What happens to rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// INSERT
    Insert,
    /// UPDATE
    Update,
    /// DELETE
    Delete,
    /// TRUNCATE
    Truncate,
}

impl Event {
    /// TG_OP.
    pub fn word(self) -> &'static str {
        match self {
            Event::Insert => "INSERT",
            Event::Update => "UPDATE",
            Event::Delete => "DELETE",
            Event::Truncate => "TRUNCATE",
        }
    }

    fn is_of(self, trigger: &Trigger) -> bool {
        match self {
            Event::Insert => trigger.insert,
            Event::Update => trigger.update,
            Event::Delete => trigger.delete,
            Event::Truncate => trigger.truncate,
        }
    }
}

/// A trigger with the names of the columns that UPDATE has to be of.
struct Known {
    trigger: Conditioned,
    columns: Vec<String>,
}

/// The triggers of a table.
struct OfTable {
    table: TableHandle,
    all: Vec<Known>,
    /// Whether one may change rows of UPDATE; PostgreSQL counts those that are disabled, too.
    sets: bool,
}

/// What is called after the statement.
struct Due {
    of: Arc<OfTable>,
    event: Event,
    /// Of a row; otherwise of the statement.
    row: bool,
    old: Option<Row>,
    new: Option<Row>,
    set: Arc<[String]>,
}

/// Calls that are due when the statement has changed its rows.
#[derive(Default)]
pub struct Queue {
    due: RefCell<Vec<Due>>,
    memory: RefCell<Option<MemoryReservation>>,
}

/// Bytes of a call that is due, next to its rows.
const DUE_BYTES: usize = 96;

impl Queue {
    fn push(&self, view: &View, due: Due) -> Result<()> {
        let bytes = due.old.iter().chain(&due.new).map(bytes_of).sum::<usize>() + DUE_BYTES;
        let mut memory = self.memory.borrow_mut();
        let pool = view.instance.runner.memory();
        let memory =
            memory.get_or_insert_with(|| MemoryConsumer::new("rows of triggers").register(&pool));
        memory.try_grow(bytes)?;
        self.due.borrow_mut().push(due);
        Ok(())
    }

    /// Makes the calls.
    ///
    /// # Errors
    /// Those of the functions.
    pub fn run(&self, view: &View) -> Result<()> {
        let due = self.due.take();
        for one in due {
            view.scope.go_on()?;
            let rows = (one.old.as_ref(), one.new.as_ref());
            let fired = one.of.all.iter().filter(|known| {
                let of = &known.trigger.trigger;
                of.time == 'A' && of.row == one.row && known.is_of(one.event, &one.set)
            });
            for known in fired {
                one.of.call(view, known, one.event, rows)?;
            }
        }
        self.memory.take();
        Ok(())
    }
}

impl Known {
    fn is_of(&self, event: Event, set: &[String]) -> bool {
        event.is_of(&self.trigger.trigger)
            && (event != Event::Update
                || self.columns.is_empty()
                || self.columns.iter().any(|column| set.contains(column)))
    }
}

impl OfTable {
    fn new(view: &View, table: TableHandle) -> Result<OfTable> {
        let families = view.objects.families();
        let (mut all, mut sets) = (Vec::new(), false);
        let own = table.schema.id;
        let tables = if families.above(own).is_some() { by_id(view)? } else { HashMap::new() };
        let above = families.all_above(own);
        let above = above.into_iter().filter(|id| families.divided(*id).is_some());
        for id in std::iter::once(own).chain(above) {
            let schema = match id == own {
                true => Some(Arc::clone(&table.schema)),
                false => tables.get(&id).map(onlap::Table::schema),
            };
            let Some(schema) = schema else { continue };
            let relation = oids::of_table(id);
            for trigger in triggers::of_relation(&view.objects, relation) {
                sets |= trigger.row && trigger.time == 'B' && trigger.update;
                if !trigger.is_enabled() || id != own && !trigger.row {
                    continue;
                }
                let name = |number: &u32| {
                    let found = schema.columns.iter().find(|column| column.id.0 + 1 == *number);
                    found.map(|column| column.name.clone()).unwrap_or_default()
                };
                let columns = trigger.columns.iter().map(name).collect();
                let row = oids::of_row(oids::of_table(own));
                all.push(Known { trigger: Conditioned::new(view, trigger, row)?, columns });
            }
        }
        all.sort_by(|a, b| a.trigger.trigger.name.cmp(&b.trigger.trigger.name));
        Ok(OfTable { table, all, sets })
    }

    /// The values of a row.
    fn values(&self, row: &Row) -> Result<Vec<Datum<'static>>> {
        let schema = &self.table.schema;
        let mut made = Vec::with_capacity(row.len());
        for (at, value) in row.iter().enumerate() {
            let array = self.table.types.decode_values(
                at,
                &schema.columns[at].name,
                std::iter::once(value),
            )?;
            made.push(Datum::at(&array, self.table.types.repr(at), 0).into_owned());
        }
        Ok(made)
    }

    /// Calls a trigger; the row that it gives, if it gives one.
    fn call(
        &self,
        view: &View,
        known: &Known,
        event: Event,
        (old, new): (Option<&Row>, Option<&Row>),
    ) -> Result<Option<Option<Row>>> {
        let name = Name::of_engine(&self.table.schema.name).1;
        let firing = Firing {
            of: &known.trigger,
            op: event.word(),
            relation: oids::of_table(self.table.schema.id),
            name: &name,
            old: old.map(|row| self.values(row)).transpose()?,
            new: new.map(|row| self.values(row)).transpose()?,
        };
        let Some(given) = fire(view, firing)? else { return Ok(None) };
        let Some(values) = given else { return Ok(Some(None)) };
        let mut row = Vec::with_capacity(values.len());
        for (at, value) in values.iter().enumerate() {
            row.push(self.table.types.value_of_datum(at, value)?);
        }
        Ok(Some(Some(row)))
    }
}

/// The triggers that a change of rows may fire.
pub struct Fires<'a> {
    view: &'a View,
    queue: &'a Queue,
    /// Of the table that the statement names.
    own: Arc<OfTable>,
    known: RefCell<HashMap<TableId, Arc<OfTable>>>,
}

impl<'a> Fires<'a> {
    /// Those of a table and of those that stand above and below it; `None` where there are none.
    ///
    /// # Errors
    /// A condition that cannot be read any more.
    pub fn of(view: &'a View, table: &TableHandle, queue: &'a Queue) -> Result<Option<Fires<'a>>> {
        if !has_any(view, table.schema.id) {
            return Ok(None);
        }
        let own = Arc::new(OfTable::new(view, table.clone())?);
        let known = RefCell::new(HashMap::from([(table.schema.id, Arc::clone(&own))]));
        Ok(Some(Fires { view, queue, own, known }))
    }

    fn of_table(&self, table: &TableHandle) -> Result<Arc<OfTable>> {
        let id = table.schema.id;
        if let Some(known) = self.known.borrow().get(&id) {
            return Ok(Arc::clone(known));
        }
        let made = Arc::new(OfTable::new(self.view, table.clone())?);
        self.known.borrow_mut().insert(id, Arc::clone(&made));
        Ok(made)
    }

    /// The columns that count as set where a statement sets some; `inserts`: it is an INSERT with ON CONFLICT, of which PostgreSQL
    /// calculates all that are generated.
    ///
    /// # Errors
    /// A condition that cannot be read any more.
    pub fn changed(
        &self,
        table: &TableHandle,
        set: Vec<String>,
        inserts: bool,
    ) -> Result<Vec<String>> {
        let any = !set.is_empty() && (inserts || self.of_table(table)?.sets);
        Ok(with_generated(&table.schema, set, any))
    }

    /// Fires those that come before the statement.
    ///
    /// # Errors
    /// Those of the functions.
    pub fn before_statement(&self, event: Event, set: &[String]) -> Result<()> {
        for known in &self.own.all {
            let of = &known.trigger.trigger;
            if of.time == 'B' && !of.row && known.is_of(event, set) {
                self.own.call(self.view, known, event, (None, None))?;
            }
        }
        Ok(())
    }

    /// Notes that those are due that come after the statement.
    ///
    /// # Errors
    /// `53200`.
    pub fn after_statement(&self, event: Event, set: &[String]) -> Result<()> {
        let is_due = |known: &Known| {
            let of = &known.trigger.trigger;
            of.time == 'A' && !of.row && known.is_of(event, set)
        };
        if !self.own.all.iter().any(is_due) {
            return Ok(());
        }
        let (of, set) = (Arc::clone(&self.own), Arc::from(set));
        self.queue.push(self.view, Due { of, event, row: false, old: None, new: None, set })
    }

    /// Fires those that come before a row is changed: what becomes of it, with its generated columns, which they do not see;
    /// `None` where it stays as it is. Of DELETE the row that is given back says nothing but that it goes.
    ///
    /// # Errors
    /// Those of the functions; `42804`: one gives a row of another form.
    pub fn before_row(
        &self,
        table: &TableHandle,
        event: Event,
        (old, new): (Option<&Row>, Option<Row>),
        set: &[String],
    ) -> Result<Option<Row>> {
        let of = self.of_table(table)?;
        let mut row = new;
        hide(&table.schema, row.as_mut());
        for known in &of.all {
            let trigger = &known.trigger.trigger;
            if trigger.time != 'B' || !trigger.row || !known.is_of(event, set) {
                continue;
            }
            match of.call(self.view, known, event, (old, row.as_ref()))? {
                // Its condition does not hold.
                None => {}
                Some(None) => return Ok(None),
                Some(Some(_)) if event == Event::Delete => {}
                Some(Some(given)) => row = Some(given),
            }
            if event == Event::Update {
                hide(&table.schema, row.as_mut());
            }
        }
        let mut row = row.unwrap_or_default();
        if event != Event::Delete {
            fill(self.view, &table.table, slice::from_mut(&mut row))?;
        }
        Ok(Some(row))
    }

    /// The same before a row is inserted into a table: `leaf` says which table a row goes to, where that depends on it.
    ///
    /// # Errors
    /// `0A000`: a trigger of a table above gives it another partition; `23514`: one of the partition itself does.
    pub fn before_insert(
        &self,
        table: &TableHandle,
        row: Row,
        leaf: Option<Leaf<'_>>,
    ) -> Result<Option<Row>> {
        let Some(leaf) = leaf else {
            return self.before_row(table, Event::Insert, (None, Some(row)), &[]);
        };
        let of = self.of_table(table)?;
        let own = oids::of_table(table.schema.id);
        let (mut row, mut stays) = (row, true);
        for known in &of.all {
            let trigger = &known.trigger.trigger;
            if trigger.time != 'B' || !trigger.row || !known.is_of(Event::Insert, &[]) {
                continue;
            }
            let Some(given) = of.call(self.view, known, Event::Insert, (None, Some(&row)))? else {
                continue;
            };
            let Some(given) = given else { return Ok(None) };
            if given != row {
                stays = match leaf(&given) {
                    Ok(id) => id == table.schema.id,
                    // It goes nowhere.
                    Err(e) if e.state() == "23514" => false,
                    Err(e) => return Err(e),
                };
                row = given;
            }
            if !stays && trigger.relation != own {
                return Err(moved(table, &trigger.name));
            }
        }
        if !stays {
            return Err(not_of(table, &row));
        }
        fill(self.view, &table.table, slice::from_mut(&mut row))?;
        Ok(Some(row))
    }

    /// Notes that those are due that come after a row was changed.
    ///
    /// # Errors
    /// `53200`.
    pub fn after_row(
        &self,
        table: &TableHandle,
        event: Event,
        (old, new): (Option<Row>, Option<Row>),
        set: &[String],
    ) -> Result<()> {
        let of = self.of_table(table)?;
        let is_due = |known: &Known| {
            let trigger = &known.trigger.trigger;
            trigger.time == 'A' && trigger.row && known.is_of(event, set)
        };
        if !of.all.iter().any(is_due) {
            return Ok(());
        }
        self.queue.push(self.view, Due { of, event, row: true, old, new, set: Arc::from(set) })
    }
}

/// Says which table a row goes to.
pub type Leaf<'a> = &'a mut dyn FnMut(&Row) -> Result<TableId>;

/// A function has given the row another partition.
fn moved(from: &TableHandle, trigger: &str) -> SqlError {
    let name = Name::of_engine(&from.schema.name).1;
    let text = "moving row to another partition during a BEFORE FOR EACH ROW trigger is not \
                supported";
    let detail = format!(
        "Before executing trigger \"{trigger}\", the row was to be in partition \"{}.{}\".",
        name.schema, name.name
    );
    SqlError::new("0A000", text).detail(detail)
}

/// Whether a table, or one above or below it, has triggers.
pub fn has_any(view: &View, table: TableId) -> bool {
    if view.objects.of_kind(Kind::Trigger).next().is_none() {
        return false;
    }
    let families = view.objects.families();
    let mut all = vec![table];
    all.extend(families.all_above(table));
    all.extend(families.all_below(table));
    all.into_iter().any(|id| triggers::has_any(&view.objects, oids::of_table(id)))
}

/// Fires the triggers for TRUNCATE of tables, before it or after it.
///
/// # Errors
/// Those of the functions.
pub fn truncated(view: &View, tables: &[onlap::Table], before: bool) -> Result<()> {
    for table in tables {
        let queue = Queue::default();
        let handle = TableHandle::new(view, table.clone());
        let Some(fires) = Fires::of(view, &handle, &queue)? else { continue };
        match before {
            true => fires.before_statement(Event::Truncate, &[])?,
            false => {
                fires.after_statement(Event::Truncate, &[])?;
                queue.run(view)?;
            }
        }
    }
    Ok(())
}
