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

use onlap::{ForeignKeyOf, Row, TableId};
use onlap_kernels::Datum;

use super::actions;
use super::deferred::Call;
use super::queue::{Due, Queue};
use super::routes::not_of;
use crate::catalog::triggers::{self, Trigger};
use crate::catalog::{Kind, Name, oids};
use crate::ddl::generated::{fill, hide, with_generated};
use crate::error::{Result, SqlError};
use crate::plan::TableHandle;
use crate::query::family::by_id;
use crate::query::transition::Transition;
use crate::routine::{Conditioned, Fired, Firing, fire, judge};
use crate::view::View;

/// What happens to rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
pub(super) struct Known {
    pub trigger: Conditioned,
    columns: Vec<String>,
}

/// The triggers of a table or view.
pub(super) struct Of {
    pub relation: u32,
    name: Name,
    /// The table, if it is one.
    table: Option<TableHandle>,
    pub all: Vec<Known>,
    /// Whether one may change rows of UPDATE; PostgreSQL counts those that are disabled, too.
    sets: bool,
    /// Foreign keys whose actions are carried out here, as triggers of rows that other rows name.
    left: Arc<[ForeignKeyOf]>,
}

impl Known {
    pub fn is_of(&self, event: Event, set: &[String]) -> bool {
        event.is_of(&self.trigger.trigger)
            && (event != Event::Update
                || self.columns.is_empty()
                || self.columns.iter().any(|column| set.contains(column)))
    }
}

impl Of {
    /// Those of a view, which has these columns.
    ///
    /// # Errors
    /// A condition that cannot be read any more.
    pub(super) fn of_view(view: &View, relation: u32, name: Name, columns: &[&str]) -> Result<Of> {
        let mut all = Vec::new();
        for trigger in triggers::of_relation(&view.objects, relation) {
            if !trigger.is_enabled() {
                continue;
            }
            let name = |number: &u32| columns[*number as usize - 1].to_string();
            let set = trigger.columns.iter().map(name).collect();
            let row = oids::of_row(relation);
            all.push(Known { trigger: Conditioned::new(view, trigger, row)?, columns: set });
        }
        Ok(Of { relation, name, table: None, all, sets: false, left: Arc::from([]) })
    }

    fn new(view: &View, table: TableHandle) -> Result<Of> {
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
        let name = Name::of_engine(&table.schema.name).1;
        let left = actions::left_of(view, own);
        Ok(Of { relation: oids::of_table(own), name, table: Some(table), all, sets, left })
    }

    /// Foreign keys whose actions are carried out here.
    pub(super) fn left(&self) -> &Arc<[ForeignKeyOf]> {
        &self.left
    }

    pub(super) fn table(&self) -> Result<&TableHandle> {
        self.table.as_ref().ok_or_else(|| SqlError::defect("a view has no rows of its own"))
    }

    /// The values of a row.
    fn values(&self, row: &Row) -> Result<Vec<Datum<'static>>> {
        let TableHandle { schema, types, .. } = self.table()?;
        let mut made = Vec::with_capacity(row.len());
        for (at, value) in row.iter().enumerate() {
            let name = &schema.columns[at].name;
            let array = types.decode_values(at, name, std::iter::once(value))?;
            made.push(Datum::at(&array, types.repr(at), 0).into_owned());
        }
        Ok(made)
    }

    /// Calls a trigger; the row that it gives, if it gives one.
    pub(super) fn call(
        &self,
        view: &View,
        known: &Known,
        (event, tables): (Event, Arc<[Transition]>),
        (old, new): (Option<&Row>, Option<&Row>),
    ) -> Result<Option<Option<Row>>> {
        let old = old.map(|row| self.values(row)).transpose()?;
        let new = new.map(|row| self.values(row)).transpose()?;
        let Some(given) = self.call_with(view, known, (event, tables), (old, new))? else {
            return Ok(None);
        };
        let Some(values) = given else { return Ok(Some(None)) };
        let types = &self.table()?.types;
        let mut row = Vec::with_capacity(values.len());
        for (at, value) in values.iter().enumerate() {
            row.push(types.value_of_datum(at, value)?);
        }
        Ok(Some(Some(row)))
    }

    /// The same with values.
    fn call_with(
        &self,
        view: &View,
        known: &Known,
        (event, tables): (Event, Arc<[Transition]>),
        (old, new): (Option<Values>, Option<Values>),
    ) -> Result<Fired> {
        fire(view, self.firing(known, event, (old, new), tables))
    }

    fn firing<'f>(
        &'f self,
        known: &'f Known,
        event: Event,
        (old, new): (Option<Values>, Option<Values>),
        tables: Arc<[Transition]>,
    ) -> Firing<'f> {
        let (of, op, relation) = (&known.trigger, event.word(), self.relation);
        Firing { of, op, relation, name: &self.name, old, new, tables, is_judged: false }
    }

    /// Notes a call for the end of the transaction, if the trigger's condition holds.
    pub(super) fn put_off(self: &Arc<Self>, view: &View, known: &Known, due: &Due) -> Result<()> {
        let old = due.old.as_ref().map(|row| self.values(row)).transpose()?;
        let new = due.new.as_ref().map(|row| self.values(row)).transpose()?;
        if !judge(view, &self.firing(known, due.event, (old, new), none()))? {
            return Ok(());
        }
        let (of, trigger) = (Arc::clone(self), known.trigger.trigger.oid);
        let (old, new) = (due.old.clone(), due.new.clone());
        view.scope.deferred().note(view, Call { of, trigger, event: due.event, old, new })
    }

    /// Makes a call that was put off.
    ///
    /// # Errors
    /// Those of the function.
    pub(super) fn call_late(
        &self,
        view: &View,
        trigger: u32,
        event: Event,
        (old, new): (Option<&Row>, Option<&Row>),
    ) -> Result<()> {
        // One that was dropped meanwhile is called no more.
        let is_there = |known: &&Known| {
            let own = triggers::of_relation(&view.objects, known.trigger.trigger.relation);
            own.iter().any(|of| of.oid == trigger)
        };
        let Some(known) = self.known(trigger).filter(is_there) else { return Ok(()) };
        let old = old.map(|row| self.values(row)).transpose()?;
        let new = new.map(|row| self.values(row)).transpose()?;
        let firing = self.firing(known, event, (old, new), none());
        fire(view, Firing { is_judged: true, ..firing }).map(drop)
    }

    fn known(&self, trigger: u32) -> Option<&Known> {
        self.all.iter().find(|known| known.trigger.trigger.oid == trigger)
    }

    /// One of them, by its OID.
    pub(super) fn trigger(&self, oid: u32) -> Option<&Trigger> {
        self.known(oid).map(|known| &known.trigger.trigger)
    }

    /// Whether others are the same triggers of the same table.
    pub(super) fn is_as(self: &Arc<Of>, other: &Arc<Of>) -> bool {
        let schema = |of: &Of| of.table.as_ref().map(|table| Arc::as_ptr(&table.schema));
        let pairs = || self.all.iter().zip(&other.all);
        let is_one = |(a, b): (&Known, &Known)| a.trigger.trigger == b.trigger.trigger;
        Arc::ptr_eq(self, other)
            || self.relation == other.relation
                && schema(self) == schema(other)
                && self.all.len() == other.all.len()
                && pairs().all(is_one)
    }

    /// Whether they are those of a table.
    pub(super) fn is_of(&self, table: TableId) -> bool {
        self.relation == oids::of_table(table)
    }

    /// Fires those that stand in the place of a change of a row of a view: what becomes of the row, of DELETE as it was; `None`
    /// where it stays as it is.
    ///
    /// # Errors
    /// Those of the functions; `42804`: one gives a row of another form.
    pub(super) fn instead(
        &self,
        view: &View,
        event: Event,
        (old, new): (Option<Values>, Option<Values>),
    ) -> Result<Option<Values>> {
        let mut row = new;
        for known in &self.all {
            if known.trigger.trigger.time != 'I' || !event.is_of(&known.trigger.trigger) {
                continue;
            }
            let given = self.call_with(view, known, (event, none()), (old.clone(), row.clone()))?;
            match given {
                None => {}
                Some(None) => return Ok(None),
                Some(Some(_)) if event == Event::Delete => {}
                Some(Some(given)) => row = Some(given),
            }
        }
        Ok(row.or(old))
    }

    /// Fires those that come before a statement.
    ///
    /// # Errors
    /// Those of the functions.
    pub(super) fn before_statement(
        &self,
        (view, queue): (&View, &Queue),
        event: Event,
        set: &[String],
    ) -> Result<()> {
        if !queue.begins(self.relation, event) {
            return Ok(());
        }
        for known in &self.all {
            let of = &known.trigger.trigger;
            if of.time == 'B' && !of.row && known.is_of(event, set) {
                self.call_with(view, known, (event, none()), (None, None))?;
            }
        }
        Ok(())
    }

    /// Notes that those are due that come after a statement.
    ///
    /// # Errors
    /// `53200`.
    pub(super) fn after_statement(
        self: &Arc<Self>,
        (view, queue): (&View, &Queue),
        event: Event,
        set: &[String],
    ) -> Result<()> {
        let is_due = |known: &Known| {
            let of = &known.trigger.trigger;
            of.time == 'A' && !of.row && known.is_of(event, set)
        };
        if !self.all.iter().any(is_due) {
            return Ok(());
        }
        queue.forget_statement(self.relation, event);
        let (of, set) = (Arc::clone(self), Arc::from(set));
        let round = queue.round(self.relation, event);
        queue.push(view, Due { of, event, row: false, old: None, new: None, set, round })
    }
}

/// The values of a row.
pub(super) type Values = Vec<Datum<'static>>;

/// The triggers that a change of rows may fire.
pub struct Fires<'a> {
    view: &'a View,
    queue: &'a Queue,
    /// Of the table that the statement names.
    own: Arc<Of>,
    known: RefCell<HashMap<TableId, Arc<Of>>>,
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
        let own = Arc::new(Of::new(view, table.clone())?);
        let known = RefCell::new(HashMap::from([(table.schema.id, Arc::clone(&own))]));
        Ok(Some(Fires { view, queue, own, known }))
    }

    fn of_table(&self, table: &TableHandle) -> Result<Arc<Of>> {
        let id = table.schema.id;
        if let Some(known) = self.known.borrow().get(&id) {
            return Ok(Arc::clone(known));
        }
        let made = Arc::new(Of::new(self.view, table.clone())?);
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

    /// Foreign keys that refer to a table, of which the actions are carried out as rows were changed.
    ///
    /// # Errors
    /// A condition that cannot be read any more.
    pub fn left(&self, table: &TableHandle) -> Result<Arc<[ForeignKeyOf]>> {
        Ok(Arc::clone(&self.of_table(table)?.left))
    }

    /// Fires those that come before the statement.
    ///
    /// # Errors
    /// Those of the functions.
    pub fn before_statement(&self, event: Event, set: &[String]) -> Result<()> {
        self.own.before_statement((self.view, self.queue), event, set)
    }

    /// Notes that those are due that come after the statement.
    ///
    /// # Errors
    /// `53200`.
    pub fn after_statement(&self, event: Event, set: &[String]) -> Result<()> {
        self.own.after_statement((self.view, self.queue), event, set)
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
            match of.call(self.view, known, (event, none()), (old, row.as_ref()))? {
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
            let rows = (None, Some(&row));
            let given = of.call(self.view, known, (Event::Insert, none()), rows)?;
            let Some(given) = given else { continue };
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

    /// Keeps a row for the triggers that read all rows that the statement has changed.
    fn catch(
        &self,
        table: &TableHandle,
        event: Event,
        (old, new): (Option<&Row>, Option<&Row>),
    ) -> Result<()> {
        let reads = |name: fn(&Trigger) -> &Option<String>| {
            let mut all = self.own.all.iter().map(|known| &known.trigger.trigger);
            all.any(|trigger| event.is_of(trigger) && name(trigger).is_some())
        };
        let old = old.filter(|_| reads(|trigger| &trigger.old_table));
        let new = new.filter(|_| reads(|trigger| &trigger.new_table));
        if old.is_none() && new.is_none() {
            return Ok(());
        }
        let round = self.queue.round(self.own.relation, event);
        let caught = self.queue.caught(self.view, &self.own, (event, round))?;
        for (row, rows) in [(old, &caught.old), (new, &caught.new)] {
            row.map_or(Ok(()), |row| rows.push(in_columns(row, table, &rows.table)))?;
        }
        Ok(())
    }

    /// Notes that those are due that come after a row was changed. Where an update `moves` it to another table, tables of
    /// changed rows have it as updated.
    ///
    /// # Errors
    /// `53200`.
    pub fn after_row(
        &self,
        table: &TableHandle,
        (event, moves): (Event, bool),
        (old, new): (Option<Row>, Option<Row>),
        set: &[String],
    ) -> Result<()> {
        let caught = if moves { Event::Update } else { event };
        self.catch(table, caught, (old.as_ref(), new.as_ref()))?;
        let of = self.of_table(table)?;
        let is_due = |known: &Known| {
            let trigger = &known.trigger.trigger;
            trigger.time == 'A' && trigger.row && known.is_of(event, set)
        };
        let acts = old.is_some() && !of.left.is_empty();
        if !acts && !of.all.iter().any(is_due) {
            return Ok(());
        }
        let (set, round) = (Arc::from(set), self.queue.round(self.own.relation, caught));
        self.queue.push(self.view, Due { of, event, row: true, old, new, set, round })
    }
}

/// No tables of changed rows: those that come before see none.
pub(super) fn none() -> Arc<[Transition]> {
    Arc::from([])
}

/// A table's row in the columns of another table, by their names.
pub fn in_columns(row: &Row, from: &TableHandle, to: &TableHandle) -> Row {
    if from.schema.id == to.schema.id {
        return row.clone();
    }
    let value = |column: &onlap::ColumnSchema| match from.schema.position_by_name(&column.name) {
        Some(at) => row[at].clone(),
        None => onlap::Value::Null,
    };
    to.schema.columns.iter().map(value).collect()
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

/// Whether a table, or one above or below it, has triggers, or actions of foreign keys change rows that have some.
pub fn has_any(view: &View, table: TableId) -> bool {
    if view.objects.of_kind(Kind::Trigger).next().is_none() {
        return false;
    }
    let families = view.objects.families();
    let mut all = vec![table];
    all.extend(families.all_above(table));
    all.extend(families.all_below(table));
    all.iter().any(|id| triggers::has_any(&view.objects, oids::of_table(*id)))
        || all.into_iter().any(|id| actions::has_left(view, id))
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
