//! ON CONFLICT.
//!
//! The row that has one of the unique keys concerned is looked up in the newest committed state and locked; a
//! new row is inserted where there is none. A row that comes between the two, of another transaction, shows as
//! a duplicate key: the insert is undone, and the row looked up again. What is locked is what is changed: that
//! it could not be changed is an error and never a count of zero.

use std::collections::HashSet;

use datafusion::arrow::array::RecordBatch;
use datafusion::sql::sqlparser::ast::{Assignment, ConflictTarget, OnConflict, OnConflictAction};
use onlap::{ErrorKind, IndexSchema, Row, RowId, RowLock, Value};

use super::ask;
use super::computed::Computed;
use super::target::Target;
use super::update::{assignments, lock_mode};
use crate::catalog::names::{fold, parts, quote};
use crate::ddl::defaults;
use crate::error::{Result, SqlError, state};
use crate::parse;
use crate::plan::scan::arrow_schema;
use crate::plan::{Known, KnownRows, reads_of_table};
use crate::rights::{Action, Need};
use crate::session::values::fields_of;
use crate::session::{Parameter, Session};
use crate::types::{PgType, batch_of_rows, value_of_array};
use crate::view::View;

/// What to do with a row that is there already.
pub struct Conflict<'a> {
    session: &'a Session,
    view: &'a View,
    target: &'a Target,
    values: &'a [Parameter],
    arbiters: Vec<IndexSchema>,
    update: Option<Update>,
    /// Keys that this statement inserted or changed.
    touched: HashSet<String>,
}

struct Update {
    /// Columns by position, and the expression each is set to; `None` for DEFAULT.
    set: Vec<(usize, Option<String>)>,
    condition: Option<String>,
    /// How the row is locked.
    mode: RowLock,
    /// What is set, where no planner is needed to say it.
    computed: Option<Computed>,
}

/// Tries until another transaction's row is seen.
const TRIES: usize = 1000;

impl<'a> Conflict<'a> {
    /// Binds a clause.
    ///
    /// # Errors
    /// No unique index matches; an unknown column.
    pub fn new(
        session: &'a Session,
        view: &'a View,
        target: &'a Target,
        values: &'a [Parameter],
        clause: &OnConflict,
    ) -> Result<Conflict<'a>> {
        let arbiters = arbiters(target, clause.conflict_target.as_ref())?;
        view.must(&needs(session, view, target, clause, &arbiters, values)?)?;
        let update = match &clause.action {
            OnConflictAction::DoNothing => None,
            OnConflictAction::DoUpdate(update) => {
                if clause.conflict_target.is_none() {
                    let text = "ON CONFLICT DO UPDATE requires inference specification or \
                                constraint name";
                    return Err(SqlError::new(state::SYNTAX, text));
                }
                let condition = update.selection.as_ref().map(ToString::to_string);
                Some(bind(view, target, &update.assignments, condition.as_deref())?)
            }
        };
        let touched = HashSet::new();
        Ok(Conflict { session, view, target, values, arbiters, update, touched })
    }

    /// Inserts a row or changes the one that is there; the row as it is then, `None` where nothing was
    /// done.
    ///
    /// # Errors
    /// Those of the insert and the update.
    pub fn put(&mut self, row: Row) -> Result<Option<Row>> {
        for _ in 0..TRIES {
            let Some(update) = &self.update else {
                if self.is_there(&row)? {
                    return Ok(None);
                }
                match self.insert(&row)? {
                    true => return Ok(Some(row)),
                    false => continue,
                }
            };
            let Some((touched, id, old)) = self.lock(update, &row)? else {
                match self.insert(&row)? {
                    true => return Ok(Some(row)),
                    false => continue,
                }
            };
            if self.touched.contains(&touched) {
                let text = "ON CONFLICT DO UPDATE command cannot affect row a second time";
                return Err(SqlError::new(state::CARDINALITY, text));
            }
            let changed = self.change(update, id, old, &row)?;
            self.touched.insert(touched);
            return Ok(changed);
        }
        Err(SqlError::concurrent_update())
    }

    /// The key of a row in an index.
    fn key_of(&self, index: &IndexSchema, row: &Row) -> Vec<Value> {
        let at = index.key.iter().filter_map(|k| self.target.schema.position(k.column));
        at.map(|at| row[at].clone()).collect()
    }

    /// Whether a row with one of the keys is there.
    fn is_there(&self, row: &Row) -> Result<bool> {
        for index in &self.arbiters {
            let key = self.key_of(index, row);
            if self.view.scope.tx()?.has_key(&self.target.table, &index.name, &key)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The row with one of the keys, locked, and what it is known by as touched.
    fn lock(&self, update: &Update, row: &Row) -> Result<Option<(String, RowId, Row)>> {
        for index in &self.arbiters {
            let key = self.key_of(index, row);
            let mut tx = self.view.scope.tx()?;
            let found = tx.lock_by(&self.target.table, &index.name, &key, update.mode)?;
            if let Some((id, old)) = found {
                return Ok(Some((touch(index, &key), id, old)));
            }
        }
        Ok(None)
    }

    /// Whether the row went in.
    fn insert(&mut self, row: &Row) -> Result<bool> {
        let inserted = {
            let mut tx = self.view.scope.tx()?;
            let before = tx.savepoint();
            match tx.insert(&self.target.table, row) {
                Err(e) if e.kind() == ErrorKind::DuplicateKey => {
                    tx.rollback_to(&before)?;
                    Err(e)
                }
                result => Ok(result?),
            }
        };
        if let Err(e) = inserted {
            // Unless the clause is about the key, or another of its keys has come as well.
            let constraint = e.subject().and_then(|s| s.constraint.as_deref());
            let is_arbiter = self.arbiters.iter().any(|i| Some(i.name.as_str()) == constraint);
            return if is_arbiter || self.is_there(row)? { Ok(false) } else { Err(e.into()) };
        }
        for index in &self.arbiters {
            let key = self.key_of(index, row);
            self.touched.insert(touch(index, &key));
        }
        Ok(true)
    }

    fn change(&self, update: &Update, id: RowId, old: Row, new: &Row) -> Result<Option<Row>> {
        let computed = match &update.computed {
            Some(computed) => computed.values(&old, new, self.values)?,
            None => None,
        };
        let values = match computed {
            Some(values) => values,
            None => match self.planned(update, &old, new)? {
                Some(values) => values,
                None => return Ok(None),
            },
        };
        let mut row = old;
        let mut columns = Vec::with_capacity(update.set.len());
        for ((at, _), value) in update.set.iter().zip(&values) {
            row[*at] = value.clone();
            columns.push(self.target.schema.columns[*at].name.as_str());
        }
        let mut values = |_: RowId| Ok(values.clone());
        let mut tx = self.view.scope.tx()?;
        tx.change_each(&self.target.table, &[id], &columns, &mut values)?;
        Ok(Some(row))
    }

    /// The new values, by the planner; `None` where WHERE does not hold.
    fn planned(&self, update: &Update, old: &Row, new: &Row) -> Result<Option<Vec<Value>>> {
        let schema = arrow_schema(&self.target.schema, false);
        let known = Known {
            rows: both(
                self.target,
                batch_of_rows(&schema, std::slice::from_ref(old))?,
                batch_of_rows(&schema, std::slice::from_ref(new))?,
            ),
            ..Known::default()
        };
        let query = query(self.target, update)?;
        let batches = ask::rows(self.session, self.view, &query, self.values, &known)?;
        let Some(batch) = batches.first() else { return Ok(None) };
        let mut values = Vec::with_capacity(update.set.len());
        for (i, (at, set)) in update.set.iter().enumerate() {
            values.push(match set {
                None => defaults::value(self.session, self.view, &self.target.table, *at)?,
                Some(_) => value_of_array(batch.column(i), 0, self.target.schema.columns[*at].ty)?,
            });
        }
        Ok(Some(values))
    }
}

/// What the clause needs: to read the keys that it names and what it computes with, to change what it sets.
fn needs(
    session: &Session,
    view: &View,
    target: &Target,
    clause: &OnConflict,
    arbiters: &[IndexSchema],
    values: &[Parameter],
) -> Result<Vec<Need>> {
    let mut needs = Vec::new();
    if clause.conflict_target.is_some() {
        let keys = arbiters.iter().flat_map(|index| &index.key);
        let places = keys.filter_map(|key| target.schema.position(key.column));
        needs.push(target.need(Action::Read, places));
    }
    if let OnConflictAction::DoUpdate(update) = &clause.action {
        let condition = update.selection.as_ref().map(ToString::to_string);
        let update = bind(view, target, &update.assignments, condition.as_deref())?;
        needs.push(target.need(Action::Update, update.set.iter().map(|s| s.0)));
        match &update.computed {
            Some(computed) => needs.extend(computed.reads(target)),
            None => {
                let none = batch_of_rows(&arrow_schema(&target.schema, false), &[])?;
                let rows = both(target, none.clone(), none);
                let known = Known { rows, ..Known::default() };
                let types: Vec<_> = values.iter().map(|p| Some(p.ty)).collect();
                let statement = parse::one(&query(target, &update)?)?;
                let planner = &session.instance.planner;
                let query = planner.plan(view, statement, fields_of(&types), &known)?;
                needs.extend(query.needs);
            }
        }
    }
    Ok(needs)
}

/// Types of a statement's parameters, those in DO UPDATE among them.
///
/// # Errors
/// An unknown column; what the planner does not do.
pub fn parameters(
    session: &Session,
    view: &View,
    target: &Target,
    clause: &OnConflict,
    given: &[Option<PgType>],
) -> Result<Vec<Option<PgType>>> {
    let OnConflictAction::DoUpdate(update) = &clause.action else { return Ok(given.to_vec()) };
    let condition = update.selection.as_ref().map(ToString::to_string);
    let update = bind(view, target, &update.assignments, condition.as_deref())?;
    let none = batch_of_rows(&arrow_schema(&target.schema, false), &[])?;
    let rows = both(target, none.clone(), none);
    let known = Known { rows, ..Known::default() };
    let statement = parse::one(&query(target, &update)?)?;
    let query = session.instance.planner.plan(view, statement, fields_of(given), &known)?;
    let mut types = super::delete::parameters(&query, given.len())?;
    types.iter_mut().zip(given).for_each(|(ty, given)| *ty = given.or(*ty));
    Ok(types)
}

/// Names under which the planner finds the two rows.
const OLD: &str = "onlap old row";
const NEW: &str = "onlap new row";

/// The two rows as the planner finds them: reading either is reading the table's columns, as in PostgreSQL.
fn both(target: &Target, old: RecordBatch, new: RecordBatch) -> Vec<KnownRows> {
    let reads = Some(reads_of_table(&target.schema));
    vec![
        KnownRows { name: OLD.to_string(), rows: old, reads: reads.clone() },
        KnownRows { name: NEW.to_string(), rows: new, reads },
    ]
}

fn touch(index: &IndexSchema, key: &[Value]) -> String {
    format!("{}:{key:?}", index.name)
}

fn bind(
    view: &View,
    target: &Target,
    assigned: &[Assignment],
    condition: Option<&str>,
) -> Result<Update> {
    let set = assignments(view, target, assigned)?;
    let computed = match condition {
        Some(_) => None,
        None => Computed::of(target, assigned),
    };
    let mode = lock_mode(target, &set);
    Ok(Update { set, condition: condition.map(str::to_owned), mode, computed })
}

/// Computes the new values, where WHERE holds, of the old row and the excluded one.
fn query(target: &Target, update: &Update) -> Result<String> {
    let items = update.set.iter().map(|(_, e)| e.as_deref().unwrap_or("NULL"));
    let items: Vec<String> =
        items.enumerate().map(|(i, e)| format!("{e} AS \"set {i}\"")).collect();
    let mut query = format!(
        "SELECT {} FROM {} AS {} CROSS JOIN {} AS excluded",
        items.join(", "),
        quote(OLD),
        quote(&target.alias),
        quote(NEW),
    );
    if let Some(condition) = &update.condition {
        query += &format!(" WHERE {condition}");
    }
    qualify(target, &query)
}

/// Gives bare columns the table's name, since `excluded` has columns of the same names; and takes
/// schemas off.
fn qualify(target: &Target, query: &str) -> Result<String> {
    use datafusion::sql::sqlparser::ast::{Expr, Ident, visit_expressions_mut};
    use std::ops::ControlFlow;
    let mut statement = parse::one(query)?;
    let alias = Ident::with_quote('"', &target.alias);
    let flow = visit_expressions_mut(&mut *statement, |expr| {
        match expr {
            Expr::Identifier(ident) if target.schema.position_by_name(&fold(ident)).is_some() => {
                *expr = Expr::CompoundIdentifier(vec![alias.clone(), ident.clone()]);
            }
            Expr::CompoundIdentifier(idents) if idents.len() > 2 => {
                idents.drain(..idents.len() - 2);
            }
            _ => {}
        }
        ControlFlow::<()>::Continue(())
    });
    debug_assert!(flow.is_continue());
    Ok(statement.to_string())
}

/// The unique indexes that a clause is about.
fn arbiters(target: &Target, clause: Option<&ConflictTarget>) -> Result<Vec<IndexSchema>> {
    let unique = target.schema.indexes.iter().filter(|index| index.unique && index.ready);
    match clause {
        None => Ok(unique.cloned().collect()),
        Some(ConflictTarget::OnConstraint(name)) => {
            let name = parts(name)?.pop().unwrap_or_default();
            let found: Vec<_> = unique.filter(|index| index.name == name).cloned().collect();
            match found.is_empty() {
                false => Ok(found),
                true => {
                    let table = &target.name.name;
                    let text =
                        format!("constraint \"{name}\" for table \"{table}\" does not exist");
                    Err(SqlError::new(state::NO_OBJECT, text))
                }
            }
        }
        Some(ConflictTarget::Columns(columns)) => {
            let mut wanted: Vec<String> = columns.iter().map(fold).collect();
            wanted.sort();
            let names = |index: &IndexSchema| {
                let at = index.key.iter().filter_map(|k| target.schema.position(k.column));
                let mut names: Vec<String> =
                    at.map(|at| target.schema.columns[at].name.clone()).collect();
                names.sort();
                names
            };
            let found: Vec<_> = unique.filter(|index| names(index) == wanted).cloned().collect();
            match found.is_empty() {
                false => Ok(found),
                true => Err(SqlError::new(
                    "42P10",
                    "there is no unique or exclusion constraint matching the ON CONFLICT \
                     specification",
                )),
            }
        }
    }
}
