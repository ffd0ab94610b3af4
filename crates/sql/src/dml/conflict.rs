//! ON CONFLICT.
//!
//! A row is looked up by the unique keys concerned, and inserted where there is none. A row that comes
//! between the two, of another transaction, shows as a duplicate key: the insert is undone, and the row
//! looked up again in what is committed by then. The row that is found is locked before it is changed.

use std::collections::HashSet;

use datafusion::sql::sqlparser::ast::{Assignment, ConflictTarget, OnConflict, OnConflictAction};
use onlap::{
    Change, ErrorKind, IndexSchema, Isolation, KeyRange, LockWait, Row, RowId, RowLock, Value,
};

use super::ask;
use super::computed::Computed;
use super::target::Target;
use super::update::assignments;
use crate::catalog::names::{fold, parts, quote};
use crate::ddl::defaults;
use crate::error::{Result, SqlError, state};
use crate::parse;
use crate::plan::Known;
use crate::plan::scan::arrow_schema;
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
    /// The same where no planner is needed.
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
            let Some((index, key)) = self.existing(&row)? else {
                match self.insert(&row)? {
                    true => return Ok(Some(row)),
                    false => continue,
                }
            };
            let Some(update) = &self.update else { return Ok(None) };
            if self.touched.contains(&touch(&index, &key)) {
                let text = "ON CONFLICT DO UPDATE command cannot affect row a second time";
                return Err(SqlError::new(state::CARDINALITY, text));
            }
            let Some((id, old)) = self.lock(&index, &key)? else {
                self.refresh()?;
                continue;
            };
            let changed = self.change(update, id, old, &row)?;
            self.touched.insert(touch(&index, &key));
            return Ok(changed);
        }
        Err(SqlError::new("40001", "could not insert or update: other transactions were faster")
            .hint("Run the transaction again."))
    }

    fn existing(&self, row: &Row) -> Result<Option<(IndexSchema, Vec<Value>)>> {
        for index in &self.arbiters {
            let key: Vec<Value> = index
                .key
                .iter()
                .filter_map(|k| self.target.schema.position(k.column))
                .map(|at| row[at].clone())
                .collect();
            if key.contains(&Value::Null) {
                continue;
            }
            let mut tx = self.view.scope.tx()?;
            let range = KeyRange::eq(key.clone());
            if tx.index_count(&self.target.table, &index.name, range)? > 0 {
                return Ok(Some((index.clone(), key)));
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
            // Not by a key that the clause is about, or not to be seen by this transaction.
            if self.existing(row)?.is_none() {
                self.refresh()?;
                if self.existing(row)?.is_none() {
                    return Err(e.into());
                }
            }
            return Ok(false);
        }
        for index in &self.arbiters {
            let at = index.key.iter().filter_map(|k| self.target.schema.position(k.column));
            let key: Vec<Value> = at.map(|at| row[at].clone()).collect();
            self.touched.insert(touch(index, &key));
        }
        Ok(true)
    }

    /// Sees what others committed meanwhile.
    fn refresh(&self) -> Result<()> {
        let mut tx = self.view.scope.tx()?;
        if tx.isolation() != Isolation::ReadCommitted {
            return Err(SqlError::new(
                "40001",
                "could not serialize access due to concurrent update",
            )
            .hint("Run the transaction again."));
        }
        Ok(tx.begin_statement()?)
    }

    fn lock(&self, index: &IndexSchema, key: &[Value]) -> Result<Option<(RowId, Row)>> {
        let table = &self.target.table;
        let mut tx = self.view.scope.tx()?;
        let range = KeyRange::eq(key.to_vec());
        let ids = tx.index_row_ids(table, &index.name, range)?;
        let mut newest = None;
        let locked = {
            let mut recheck = |_: RowId, row: &Row| {
                newest = Some(row.clone());
                Ok(true)
            };
            tx.lock_rows(table, &ids, RowLock::Update, LockWait::Block, &mut recheck)?
        };
        let Some(id) = locked.first().copied() else { return Ok(None) };
        if let Some(row) = newest {
            return Ok(Some((id, row)));
        }
        let batch = tx.fetch(table, &[id], None)?;
        Ok((!batch.is_empty()).then(|| (id, batch.row(0))))
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
        let mut changes = Vec::with_capacity(update.set.len());
        for ((at, _), value) in update.set.iter().zip(values) {
            row[*at] = value.clone();
            changes.push((self.target.schema.columns[*at].name.as_str(), Change::Set(value)));
        }
        self.view.scope.tx()?.change_rows(&self.target.table, &[id], &changes)?;
        Ok(Some(row))
    }

    /// The new values, by the planner; `None` where WHERE does not hold.
    fn planned(&self, update: &Update, old: &Row, new: &Row) -> Result<Option<Vec<Value>>> {
        let schema = arrow_schema(&self.target.schema, false);
        let known = Known {
            rows: vec![
                (OLD.to_string(), batch_of_rows(&schema, std::slice::from_ref(old))?),
                (NEW.to_string(), batch_of_rows(&schema, std::slice::from_ref(new))?),
            ],
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
    let rows = vec![(OLD.to_string(), none.clone()), (NEW.to_string(), none)];
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
    Ok(Update { set, condition: condition.map(str::to_owned), computed })
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
