//! How is SQL within a routine carried out?
//!
//! A text is bound with the types that variables have then, and bound again where these, or the catalog, have changed. A plain
//! expression is calculated without steps. The rows of a query are read to the end, or as far as they are wanted, before the
//! next statement begins: so they are what they were when it began.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion_execution::memory_pool::{MemoryConsumer, MemoryReservation};
use onlap::Value;
use onlap_kernels::{Datum, repr};
use onlap_pg::catalog::{Catalog, oids};
use onlap_pg::{Oid, TypeRef};
use parking_lot::Mutex;

use super::body::{Body, Query, Role, Slot, Sql};
use super::host::{Host, Seal};
use super::values::{Held, Seen, Shape, of_batch, values};
use crate::change;
use crate::columns::print_kept;
use crate::deep;
use crate::error::{Result, SqlError, state};
use crate::parse::{self, Body as Kind, Parsed};
use crate::plan::Held as Kept;
use crate::plan::texts::expected_bytes;
use crate::query::Bound;
use crate::query::family::type_ref;
use crate::session::answer::RowsAnswer;
use crate::session::{Parameter, is_gone, of_text};
use crate::types::{PgType, oid};

/// A body that is being carried out.
pub struct Machine<'a, 'h> {
    /// In what its statements run.
    pub(super) host: Host<'h>,
    /// What it is.
    pub(super) body: &'a Body,
    /// Its name in the context of errors.
    pub(super) name: &'a str,
    /// What variables hold.
    pub(super) held: Vec<Held>,
    /// How many rows the last statement has read or changed.
    pub(super) rows: u64,
    /// Errors that are being handled, the innermost last.
    pub(super) handled: Vec<SqlError>,
    /// Whether the error under way says where it was met.
    pub(super) is_noted: bool,
    /// The line under way, and what is done there.
    pub(super) here: (usize, &'static str),
    pub(super) bound: BoundTexts,
    pub(super) casts: HashMap<(Oid, TypeRef), Arc<super::assign::Cast>>,
    /// What conversions were made with.
    pub(super) casts_of: Option<Seal>,
    /// What variables take, and what was asked for.
    bytes: usize,
    memory: MemoryReservation,
    /// What it has given back: a value, or rows of a set.
    pub(super) given: super::give::Returned,
}

/// Texts that are bound, by their numbers.
pub type BoundTexts = HashMap<usize, Arc<Ready>>;

/// A text that is bound.
pub struct Ready {
    bound: Bound,
    used: Vec<(Slot, Option<usize>, TypeRef)>,
    /// The fields of records that it names.
    shapes: Vec<(Slot, Shape)>,
    seal: Seal,
}

/// What a statement has given.
pub struct Given {
    /// Names and types of columns; none where it gives no rows.
    pub shape: Option<Shape>,
    /// Rows that were kept.
    pub kept: Option<Kept>,
    /// How many rows it has given or changed.
    pub count: u64,
    /// Whether it has changed rows.
    pub changed: bool,
    /// Whether it is a query or changes rows.
    pub is_plannable: bool,
    /// Types of its columns.
    pub catalog: Arc<Catalog>,
}

/// What a cursor is opened with: its query, its rows, and the tables that it reads.
pub type ForCursor = (Parsed, RowsAnswer, Arc<[onlap::TableId]>);

/// Stands for the fields of a row that is NULL: no field has such a name.
const NULL_ROW: &str = "\0";
/// Texts whose bound form is kept.
const MOST_BOUND: usize = 256;
/// Bytes of variables that may change before memory is asked for.
const SMALL: usize = 64 << 10;

impl<'a, 'h> Machine<'a, 'h> {
    /// Ready to run.
    pub fn new(host: Host<'h>, body: &'a Body, name: &'a str) -> Machine<'a, 'h> {
        let memory = MemoryConsumer::new("variables of a routine").register(&host.memory());
        Machine {
            host,
            body,
            name,
            held: body.slots.iter().map(|slot| Held::of(&slot.kind)).collect(),
            rows: 0,
            handled: Vec::new(),
            is_noted: false,
            here: (0, ""),
            bound: BoundTexts::default(),
            casts: HashMap::new(),
            casts_of: None,
            bytes: 0,
            memory,
            given: super::give::Returned::default(),
        }
    }

    /// What was asked for, for what goes on when the machine has ended.
    pub(super) fn take_memory(&mut self) -> MemoryReservation {
        self.bytes = 0;
        self.memory.take()
    }

    /// Asks for the memory of all variables, after one of them has taken some bytes in place of others.
    pub(super) fn charge(&mut self, before: usize, after: usize) -> Result<()> {
        self.bytes = self.bytes.saturating_sub(before) + after;
        match self.bytes.abs_diff(self.memory.size()) < SMALL {
            true => Ok(()),
            false => Ok(self.memory.try_resize(self.bytes)?),
        }
    }

    /// An error of a text: its place is one in that text, or it says which text it was.
    fn failed(&self, sql: &Sql, e: SqlError, when_bound: bool) -> SqlError {
        let e = self.host.whole(e);
        let e = e.within_text(&sql.shown, sql.further);
        let is_calculated = sql.is_plain && sql.role != Role::Statement && !when_bound;
        if e.is_within_text() || is_calculated {
            return e;
        }
        let shown = &sql.shown;
        match sql.role {
            Role::Expression => e.around(&format!("SQL expression \"{shown}\"")),
            Role::Assignment => e.around(&format!("PL/pgSQL assignment \"{shown}\"")),
            Role::Statement => e.around(&format!("SQL statement \"{shown}\"")),
            Role::Condition | Role::Whole => e,
        }
    }

    fn ready(&mut self, sql: &Sql) -> Result<Arc<Ready>> {
        let seal = self.host.seal();
        if let Some(known) = self.bound.get(&sql.number)
            && known.seal == seal
            && known.bound.is_current()
            && known.shapes.iter().all(|(slot, shape)| self.has_shape(*slot, shape))
        {
            return Ok(Arc::clone(known));
        }
        let seen =
            Seen { body: self.body, held: &self.held, scope: sql.scope, used: Mutex::default() };
        let rows = self.body.slots.iter().filter_map(|slot| match slot.kind {
            super::body::Kind::Row(oid, _) => Some(oid),
            _ => None,
        });
        let rows: Vec<Oid> = rows.collect();
        let bound = Bound::within(&self.host.view, &sql.parsed, &[], (&seen, &rows))?;
        if sql.role != Role::Condition {
            bound.must_reach(&self.host.view)?;
        }
        let used = seen.used.into_inner();
        let mut shapes: Vec<(Slot, Shape)> = Vec::new();
        for (slot, field, ty) in &used {
            if shapes.iter().any(|(known, _)| known == slot) {
                continue;
            }
            let shape = match &self.held[*slot] {
                Held::Value(..) => vec![(String::new(), *ty)],
                // A whole row that is NULL is one value.
                Held::Row(_, _, None) | Held::Record(None) if field.is_none() => {
                    vec![(NULL_ROW.to_string(), *ty)]
                }
                held => held.shape("").cloned().unwrap_or_default(),
            };
            shapes.push((*slot, shape));
        }
        let ready = Arc::new(Ready { bound, used, shapes, seal });
        if self.bound.len() >= MOST_BOUND {
            self.bound.clear();
        }
        self.bound.insert(sql.number, Arc::clone(&ready));
        Ok(ready)
    }

    fn has_shape(&self, slot: Slot, shape: &Shape) -> bool {
        match &self.held[slot] {
            Held::Row(_, _, row) | Held::Record(row)
                if shape.first().is_some_and(|field| field.0 == NULL_ROW) =>
            {
                row.is_none()
            }
            Held::Row(_, _, None) => false,
            Held::Value(ty, _) => {
                matches!(&shape[..], [(name, known)] if name.is_empty() && known == ty)
            }
            held => held.shape("").is_ok_and(|now| now == shape),
        }
    }

    /// The value of an expression with its type.
    ///
    /// # Errors
    /// Those of the expression; `42601`, `21000`: it is not one value.
    pub(super) fn value(&mut self, sql: &Sql) -> Result<(TypeRef, Datum<'static>)> {
        deep::run(sql.parsed.depth, || self.value_here(sql))
    }

    fn value_here(&mut self, sql: &Sql) -> Result<(TypeRef, Datum<'static>)> {
        if !sql.is_plain {
            return self.value_of_rows(sql);
        }
        self.host.begin()?;
        let ready = self.ready(sql).map_err(|e| self.failed(sql, e, true))?;
        if !ready.bound.is_expression() {
            return self.value_of_rows(sql);
        }
        let values = values(&self.held, &ready.used);
        let column = ready.bound.value(&self.host.view, &values, &sql.parsed.text);
        let column = column.map_err(|e| self.failed(sql, e.error, e.before))?;
        let ty = ready.bound.shape()[0].1;
        let value = match repr(ready.bound.catalog(), ty.oid) {
            Some(repr) => Datum::at(&column, repr, 0).into_owned(),
            None => Datum::Null,
        };
        Ok((ty, value))
    }

    fn value_of_rows(&mut self, sql: &Sql) -> Result<(TypeRef, Datum<'static>)> {
        let given = self.fixed(sql, 2)?;
        let Some(shape) = given.shape.clone() else {
            return Err(SqlError::new(state::SYNTAX, "query did not return data"));
        };
        if shape.len() != 1 {
            let text = format!("query returned {} columns", shape.len());
            return Err(SqlError::new(state::SYNTAX, text).around(&format!("query: {}", sql.shown)));
        }
        if given.count > 1 {
            let e = SqlError::new(state::CARDINALITY, "query returned more than one row");
            return Err(e.around(&format!("query: {}", sql.shown)));
        }
        let value = given.first().map_or(Datum::Null, |mut row| row.swap_remove(0));
        Ok((shape[0].1, value))
    }

    /// A condition.
    ///
    /// # Errors
    /// As of [`Machine::value`].
    pub(super) fn truth(&mut self, sql: &Sql) -> Result<bool> {
        let (ty, value) = self.value(sql)?;
        let bool = TypeRef::new(oids::BOOL);
        Ok(self.convert(value, ty, bool)? == Datum::Bool(true))
    }

    /// Carries out a query or another statement: as many of its rows as are wanted.
    ///
    /// # Errors
    /// Those of the statement.
    pub(super) fn query(&mut self, query: &Query, most: usize) -> Result<Given> {
        match query {
            Query::Fixed(sql) => deep::run(sql.parsed.depth, || self.fixed(sql, most)),
            Query::Dynamic(text, using) => self.dynamic(text, using, most),
        }
    }

    pub(super) fn fixed(&mut self, sql: &Sql, most: usize) -> Result<Given> {
        let done = self.carry_out(sql, most);
        if done.is_err() && self.host.must_run_again()? {
            return self.carry_out(sql, most);
        }
        done
    }

    fn carry_out(&mut self, sql: &Sql, most: usize) -> Result<Given> {
        self.host.begin()?;
        if matches!(sql.parsed.body, Kind::Defined | Kind::Other) {
            self.host.must_change(&sql.parsed)?;
            return self.utility(&sql.parsed, &[]).map_err(|e| self.failed(sql, e, true));
        }
        let ready = self.ready(sql).map_err(|e| self.failed(sql, e, true))?;
        let values = values(&self.held, &ready.used);
        let given = self.bound(&ready.bound, &sql.parsed, &values, most);
        given.map_err(|e| self.failed(sql, e, false))
    }

    /// The rows of a query for a cursor.
    ///
    /// # Errors
    /// Those of the query; `42P11`: it is none.
    pub(super) fn rows_for_cursor(&mut self, query: &Query) -> Result<ForCursor> {
        match query {
            Query::Fixed(sql) => self.rows_of_cursor(sql),
            Query::Dynamic(text, using) => self.rows_of_dynamic(text, using),
        }
    }

    /// The same of one that is written in the body.
    ///
    /// # Errors
    /// As of [`Machine::rows_for_cursor`].
    pub(super) fn rows_of_cursor(&mut self, sql: &Sql) -> Result<ForCursor> {
        deep::run(sql.parsed.depth, || {
            self.host.begin()?;
            if matches!(sql.parsed.body, Kind::Defined | Kind::Other) {
                return Err(no_query(&sql.parsed));
            }
            let ready = self.ready(sql).map_err(|e| self.failed(sql, e, true))?;
            let values = values(&self.held, &ready.used);
            must_give(&ready.bound, &sql.parsed)?;
            let made = self.kept(&ready.bound, &sql.parsed, &values);
            made.map_err(|e| self.failed(sql, e, false))
        })
    }

    fn rows_of_dynamic(&mut self, text: &Sql, using: &[Sql]) -> Result<ForCursor> {
        let (query, types, values) = self.text_and_values(text, using)?;
        let scope = Arc::clone(&self.host.view.scope);
        let failed = |e: SqlError| match scope.lent().whole(e).within_text(&query, 0) {
            e if e.is_within_text() => e,
            e => e.around(&format!("SQL statement \"{query}\"")),
        };
        let _memory = super::memory_of(&self.host.view, expected_bytes(&query))?;
        let all = parse::statements(&query).map_err(failed)?;
        let [parsed] = &all[..] else {
            let text = "cannot open multi-query plan as cursor";
            return Err(SqlError::new("42P11", text));
        };
        super::texts::no_past(parsed)?;
        if matches!(parsed.body, Kind::Defined | Kind::Other) {
            return Err(no_query(parsed));
        }
        deep::run(parsed.depth, || {
            self.host.begin().map_err(failed)?;
            let bound = Bound::parsed(&self.host.view, parsed, &types).map_err(failed)?;
            must_give(&bound, parsed)?;
            self.kept(&bound, parsed, &values).map_err(failed)
        })
    }

    fn kept(&self, bound: &Bound, parsed: &Parsed, values: &[Datum<'static>]) -> Result<ForCursor> {
        bound.await_tables(&self.host.view)?;
        let rows = bound.cursor_rows(&self.host.view, values, &parsed.bindable())?;
        Ok((parsed.clone(), rows, bound.table_ids()))
    }

    /// Values of USING as those that a client would send.
    fn parameters(
        &self,
        types: &[Option<PgType>],
        values: &[Datum<'static>],
    ) -> Result<Vec<Parameter>> {
        let view = &self.host.view;
        let catalog = self.host.catalog();
        let one = |(ty, value): (&Option<PgType>, &Datum<'static>)| {
            let ty = ty.unwrap_or(PgType::new(oid::TEXT));
            let value = match value {
                Datum::Null => Value::Null,
                value => of_text(view, ty, &print_kept(catalog, type_ref(ty), value)?)?,
            };
            Ok(Parameter { ty, value })
        };
        types.iter().zip(values).map(one).collect()
    }

    fn utility(&mut self, parsed: &Parsed, values: &[Parameter]) -> Result<Given> {
        if parsed.body == Kind::Other {
            return Err(crate::ddl::other(&parsed.words()));
        }
        let count = self.host.utility(parsed, values)?;
        let catalog = Arc::clone(self.host.catalog());
        Ok(Given { shape: None, kept: None, count, changed: false, is_plannable: false, catalog })
    }

    fn bound(
        &mut self,
        bound: &Bound,
        parsed: &Parsed,
        values: &[Datum<'static>],
        most: usize,
    ) -> Result<Given> {
        bound.await_tables(&self.host.view)?;
        let text = parsed.bindable();
        let catalog = Arc::clone(bound.catalog());
        let shape = bound.returns().map(|_| bound.shape());
        if !bound.changes_rows() {
            let fetched = bound.fetch(&self.host.view, values, &text, most)?;
            let (kept, count) = (Some(fetched.held), fetched.count);
            return Ok(Given { shape, kept, count, changed: false, is_plannable: true, catalog });
        }
        self.host.must_change(parsed)?;
        self.host.writes()?;
        let blind = parsed.body == Kind::Upsert;
        let done = change::run_within(&self.host.view, bound, values, &text, blind)?;
        let kept = done.given.and_then(|given| given.0);
        let changed = done.tag != "SELECT";
        Ok(Given { shape, kept, count: done.rows, changed, is_plannable: true, catalog })
    }

    /// The text of EXECUTE, and the types and values of its parameters.
    fn text_and_values(
        &mut self,
        text: &Sql,
        using: &[Sql],
    ) -> Result<(String, Vec<Option<PgType>>, Vec<Datum<'static>>)> {
        let (ty, value) = self.value(text)?;
        let value = self.text_of(ty, &value)?;
        let Some(query) = value else {
            let text = "query string argument of EXECUTE is null";
            return Err(SqlError::new("22004", text));
        };
        let (mut types, mut values) = (Vec::new(), Vec::new());
        for sql in using {
            let (ty, value) = self.value(sql)?;
            types.push(Some(PgType { oid: ty.oid, modifier: ty.modifier }));
            values.push(value);
        }
        Ok((query, types, values))
    }

    fn dynamic(&mut self, text: &Sql, using: &[Sql], most: usize) -> Result<Given> {
        let (query, types, values) = self.text_and_values(text, using)?;
        let scope = Arc::clone(&self.host.view.scope);
        let whole = |e: SqlError| scope.lent().whole(e);
        let failed = |e: SqlError| match whole(e).within_text(&query, 0) {
            e if e.is_within_text() => e,
            e => e.around(&format!("SQL statement \"{query}\"")),
        };
        let _memory = super::memory_of(&self.host.view, expected_bytes(&query))?;
        let all = parse::statements(&query).map_err(failed)?;
        let mut last = None;
        for parsed in &all {
            super::texts::no_past(parsed)?;
            let mut run = || {
                let done = self.dynamic_one(parsed, &types, &values, most);
                match done.is_err() && self.host.must_run_again()? {
                    true => self.dynamic_one(parsed, &types, &values, most),
                    false => done,
                }
            };
            last = Some(deep::run(parsed.depth, &mut run).map_err(failed)?);
        }
        match last {
            Some(given) => Ok(given),
            None => {
                let catalog = Arc::clone(self.host.catalog());
                let (shape, kept) = (None, None);
                Ok(Given { shape, kept, count: 0, changed: false, is_plannable: false, catalog })
            }
        }
    }

    fn dynamic_one(
        &mut self,
        parsed: &Parsed,
        types: &[Option<PgType>],
        values: &[Datum<'static>],
        most: usize,
    ) -> Result<Given> {
        self.host.begin()?;
        if matches!(parsed.body, Kind::Defined | Kind::Other) {
            self.host.must_change(parsed)?;
            if parsed.tree.into_of_first() {
                return Err(SqlError::new(
                    state::UNSUPPORTED,
                    "EXECUTE of SELECT ... INTO is not implemented",
                )
                .hint(
                    "You might want to use EXECUTE ... INTO or EXECUTE CREATE TABLE ... AS instead.",
                ));
            }
            let given = match crate::ddl::takes_values(parsed.statement()) {
                true => self.parameters(types, values)?,
                false => Vec::new(),
            };
            return self.utility(parsed, &given);
        }
        let bound = Bound::parsed(&self.host.view, parsed, types)?;
        self.bound(&bound, parsed, values, most)
    }
}

impl Given {
    /// The first row.
    pub fn first(&self) -> Option<Vec<Datum<'static>>> {
        let batch = self.kept.as_ref()?.iter().find(|batch| batch.num_rows() > 0)?;
        Some(of_batch(&self.catalog, self.shape.as_ref()?, batch, 0))
    }
}

/// Fails where a cursor has no query, or one that changes rows.
fn must_give(bound: &Bound, parsed: &Parsed) -> Result<()> {
    match (bound.changes_rows(), bound.returns()) {
        (false, _) => Ok(()),
        (true, None) => Err(no_query(parsed)),
        (true, Some(_)) => Err(SqlError::unsupported("a cursor of a query that changes rows")),
    }
}

/// A cursor has no query.
fn no_query(parsed: &Parsed) -> SqlError {
    let words = parsed.words();
    let word = words.split(' ').next().unwrap_or_default();
    SqlError::new("42P11", format!("cannot open {word} query as cursor"))
}

/// Whether a handler of OTHERS may have the error.
pub fn is_trapped_by_others(e: &SqlError) -> bool {
    !matches!(e.sqlstate(), state::CANCELLED | "P0004") && !is_gone(e)
}

/// An error with any SQLSTATE. Within the session it is one of a routine, whatever that says: none that means something to it, as
/// the loss of a client does.
pub fn with_any_state(state: &str, message: String) -> SqlError {
    const RAISED: &str = "P0001";
    let error = SqlError::new(RAISED, message);
    if state == RAISED { error } else { error.with_state(state) }
}
