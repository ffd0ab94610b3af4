//! ON CONFLICT.
//!
//! The row that has one of the unique keys concerned is looked up in the newest committed state and locked; a
//! new row is inserted where there is none. A row that comes between the two, of another transaction, shows as
//! a duplicate key: the insert is undone, and the row looked up again. What is locked is what is changed: that
//! it could not be changed is an error and never a count of zero.

use std::slice;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use onlap::{DerivedSchema, ErrorKind, IndexSchema, Row, RowId, TableSchema, Time, Value};
use onlap_pg::bound::{Bound, CheckKind, Expr, ExprId, Modify, QueryId};
use onlap_pg::catalog::Catalog;
use onlap_query::{Change, Derived, RowExprs, Source, Update, implies};

use super::called;
use super::fires::Event;
use super::members::Leafed;
use super::returning::Asks;
use super::update::lock_mode;
use super::{Statement, array_of, default_of, is_same, places, returning, value_at};
use crate::catalog::{Name, oids};
use crate::ddl::generated;
use crate::error::{Result, SqlError, state};
use crate::formulas;
use crate::plan::{Held, TableHandle};

/// What to do with a row that is there already.
pub struct Conflict<'a> {
    statement: &'a Statement<'a>,
    /// The unique indexes of the table that the statement names.
    arbiters: Vec<IndexSchema>,
    update: Option<&'a Update>,
    /// What is asked of rows.
    asked: Asks<'a>,
    /// The places of the columns that are set.
    set: Vec<usize>,
    /// Whether generated columns are asked for.
    asks: bool,
    /// What rows that it has changed are charged by.
    held: &'a Held,
    /// Whose functions may be called.
    called: called::Once,
}

/// A row that was written.
pub struct Put {
    /// The row as it is then.
    pub row: Row,
    /// Whether it was there before.
    pub was_there: bool,
}

/// Tries until another transaction's row is seen.
const TRIES: usize = 1000;

impl<'a> Conflict<'a> {
    /// Of a statement's clause.
    ///
    /// # Errors
    /// No unique index matches.
    pub fn new(
        statement: &'a Statement<'a>,
        change: &'a Change,
        held: &'a Held,
    ) -> Result<Conflict<'a>> {
        let (tree, _) = statement.bound.tree();
        let schema = &statement.target.schema;
        let catalog = statement.view.objects.made_types().catalog();
        let target = statement.target.table.schema();
        let arbiters = arbiters(tree, statement.modify, &target, catalog)?;
        let set = statement.modify.conflict.as_ref().map_or(&[][..], |conflict| &conflict.set);
        let set = places(set).collect();
        let (update, asked) = (change.update.as_ref(), Asks::of(statement, change));
        let asks = returning::asks_generated(schema, change);
        let called = called::Once::default();
        Ok(Conflict { statement, arbiters, update, asked, set, asks, held, called })
    }

    /// Inserts a row or changes the one that is there; the row as it is then, `None` where nothing was
    /// done.
    ///
    /// # Errors
    /// Those of the insert and the update.
    pub fn put(&self, row: Row) -> Result<Option<Put>> {
        let Some(fires) = &self.statement.fires else { return self.put_one(row) };
        let to = self.to(&row)?;
        let mut now = |row: &Row| Ok(self.to(&to.unfit(row.clone()))?.table.schema.id);
        match fires.before_insert(&to.table, to.fit(&row), Some(&mut now))? {
            Some(row) => self.put_one(to.unfit(row)),
            None => Ok(None),
        }
    }

    fn put_one(&self, row: Row) -> Result<Option<Put>> {
        if let Some(index) = self.arbiters.iter().find(|index| index.time() != Time::Statement) {
            let text = "ON CONFLICT does not support deferrable unique constraints/exclusion \
                        constraints as arbiters";
            let name = Name::of_engine(&self.statement.target.schema.name).1;
            return Err(SqlError::new("55000", text).about_constraint(name, &index.name));
        }
        // As in PostgreSQL, also where a row is there already.
        self.asked.check_rows(CheckKind::Insert, slice::from_ref(&row))?;
        let to = self.to(&row)?;
        let view = self.statement.view;
        self.called.of_rows(view, &to.table.schema)?;
        self.called.of(view, &to.table.schema, &to.arbiters)?;
        // What may not be inserted is refused also where a row is there already.
        self.statement.view.scope.tx()?.judge_new(&to.table.table, &to.fit(&row))?;
        for _ in 0..TRIES {
            let Some(update) = self.update else {
                if self.is_there(&to, &row)? {
                    return Ok(None);
                }
                match self.insert(&to, &row)? {
                    true => return self.checked(row, false),
                    false => continue,
                }
            };
            let Some((id, old)) = self.lock(&to, &row)? else {
                match self.insert(&to, &row)? {
                    true => return self.checked(row, false),
                    false => continue,
                }
            };
            let table = &to.table.table;
            if self.statement.shared.has_touched(table, id)? {
                let text = "ON CONFLICT DO UPDATE command cannot affect row a second time";
                let hint = "Ensure that no rows proposed for insertion within the same command \
                            have duplicate constrained values.";
                return Err(SqlError::new(state::CARDINALITY, text).hint(hint));
            }
            return match self.change(&to, update, id, old, &row)? {
                Some(changed) => {
                    self.statement.shared.touch(table, [id].into_iter(), self.held)?;
                    self.checked(changed, true)
                }
                None => Ok(None),
            };
        }
        Err(SqlError::concurrent_update())
    }

    /// The table that a row goes to, with its indexes that find what is there.
    fn to(&self, row: &Row) -> Result<To> {
        let statement = self.statement;
        let Some(routes) = &statement.routes else {
            let table = statement.target.clone();
            return Ok(To { table, leaf: None, arbiters: self.arbiters.clone() });
        };
        let leaf = routes.borrow_mut().leaf_of(row)?;
        let table = leaf.table.clone();
        let families = statement.view.objects.families();
        let is_of = |index: &IndexSchema, above: &IndexSchema| {
            let mut at = Some(index.id);
            while let Some(id) = at {
                if id == above.id {
                    return true;
                }
                at = families.index_above(id);
            }
            false
        };
        // Invisible ones keep keys apart, too.
        let schema = table.table.schema();
        let unique = schema.indexes.iter().filter(|index| index.is_rule() && index.ready);
        let conflict = statement.modify.conflict.as_ref();
        let any = conflict.is_none_or(|c| c.constraint == 0 && c.elements.is_empty());
        let arbiters: Vec<IndexSchema> = unique
            .filter(|index| any || self.arbiters.iter().any(|above| is_of(index, above)))
            .cloned()
            .collect();
        if !any && arbiters.len() < self.arbiters.len() {
            // An index of a partitioned table alone keeps no partition's keys apart.
            return Err(no_index());
        }
        Ok(To { table, leaf: Some(leaf), arbiters })
    }

    /// A row that was written, if the views that it went through show it.
    fn checked(&self, row: Row, was_there: bool) -> Result<Option<Put>> {
        self.asked.check_rows(CheckKind::View, slice::from_ref(&row))?;
        Ok(Some(Put { row, was_there }))
    }

    /// Fails where a changed row belongs to another partition.
    fn must_stay(&self, to: &To, row: &Row) -> Result<()> {
        let Some(routes) = &self.statement.routes else { return Ok(()) };
        let leaf = routes.borrow_mut().leaf_of(row)?;
        if leaf.table.schema.id == to.table.schema.id {
            return Ok(());
        }
        let detail = "The result tuple would appear in a different partition than the original \
                      tuple.";
        Err(SqlError::new(state::UNSUPPORTED, "invalid ON UPDATE specification").detail(detail))
    }

    /// The key of a row in an index, if the index has the row.
    fn key_of(&self, to: &To, index: &IndexSchema, row: &Row) -> Result<Option<Vec<Value>>> {
        let table = &to.table.table;
        Ok(self.statement.view.scope.tx()?.key_of(table, &index.name, &to.fit(row))?)
    }

    /// Whether a row with one of the keys is there.
    fn is_there(&self, to: &To, row: &Row) -> Result<bool> {
        let table = &to.table.table;
        for index in &to.arbiters {
            if index.excludes().is_some() {
                let mut tx = self.statement.view.scope.tx()?;
                if tx.is_excluded(table, &index.name, &to.fit(row))? {
                    return Ok(true);
                }
                continue;
            }
            let Some(key) = self.key_of(to, index, row)? else { continue };
            if self.statement.view.scope.tx()?.has_key(table, &index.name, &key)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The row with one of the keys, locked.
    fn lock(&self, to: &To, row: &Row) -> Result<Option<(RowId, Row)>> {
        let (table, schema) = (&to.table.table, &to.table.schema);
        let name = |at: &usize| &self.statement.target.schema.columns[*at].name;
        let set = self.set.iter().filter_map(|at| schema.position_by_name(name(at)));
        let mode = lock_mode(schema, set);
        for index in &to.arbiters {
            let Some(key) = self.key_of(to, index, row)? else { continue };
            let mut tx = self.statement.view.scope.tx()?;
            if let Some((id, found)) = tx.lock_by(table, &index.name, &key, mode)? {
                return Ok(Some((id, to.unfit(found))));
            }
        }
        Ok(None)
    }

    /// Whether the row went in.
    fn insert(&self, to: &To, row: &Row) -> Result<bool> {
        self.called.of_indexes(self.statement.view, &to.table.schema)?;
        let inserted = {
            let mut tx = self.statement.view.scope.tx()?;
            let before = tx.savepoint();
            match tx.insert(&to.table.table, &to.fit(row)) {
                Err(e) if matches!(e.kind(), ErrorKind::DuplicateKey | ErrorKind::Excluded) => {
                    tx.rollback_to(&before)?;
                    Err(e)
                }
                result => Ok(result?),
            }
        };
        if let Err(e) = inserted {
            // Unless the clause is about the key, or another of its keys has come as well.
            let constraint = e.subject().and_then(|s| s.constraint.as_deref());
            let is_arbiter = to.arbiters.iter().any(|i| Some(i.name.as_str()) == constraint);
            return if is_arbiter || self.is_there(to, row)? { Ok(false) } else { Err(e.into()) };
        }
        if let Some(fires) = &self.statement.fires {
            let event = (Event::Insert, false);
            fires.after_row(&to.table, event, (None, Some(to.fit(row))), &[])?;
        }
        Ok(true)
    }

    fn change(
        &self,
        to: &To,
        update: &Update,
        id: RowId,
        old: Row,
        new: &Row,
    ) -> Result<Option<Row>> {
        let schema = &self.statement.target.schema;
        let of = |exprs: &RowExprs| {
            returning::values(exprs, 1, |source| match source {
                Source::Excluded(number) => {
                    array_of(self.statement.target, number, [&new[number - 1]].into_iter())
                }
                of_old => self.statement.of_written(of_old, slice::from_ref(&old), &[]),
            })
        };
        if let Some(filter) = &update.filter {
            let holds = of(filter)?;
            let holds = holds.column(0).as_boolean();
            if holds.iter().next().flatten() != Some(true) {
                return Ok(None);
            }
        }
        // The row that is there must be one that the role may change: it is no secret that it is there.
        self.asked.check_rows(CheckKind::Conflict, slice::from_ref(&old))?;
        let made = of(&update.values)?;
        let mut values = Vec::with_capacity(update.written.len());
        for (number, at) in &update.written {
            values.push(match at {
                Some(at) => value_at(self.statement.target, *number, made.column(*at), 0)?,
                None => default_of(self.statement, &self.statement.target.table, *number)?,
            });
        }
        let mut row = old;
        let (mut columns, mut others) = (Vec::with_capacity(values.len()), Vec::new());
        for ((number, _), value) in update.written.iter().zip(&values) {
            let name = schema.columns[number - 1].name.as_str();
            columns.push(name);
            if !is_same(&row[number - 1], value) {
                others.push(name);
            }
            row[number - 1] = value.clone();
        }
        self.must_stay(to, &row)?;
        if self.statement.fires.is_some() {
            return self.statement.change_one_fired(&to.table, id, (&columns, &values), self.asked);
        }
        called::must_of_rows(self.statement.view, &to.table.schema, Some(&columns))?;
        if self.asks {
            let table = &self.statement.target.table;
            generated::fill(self.statement.view, table, slice::from_mut(&mut row))?;
        }
        self.asked.check_rows(CheckKind::Update, slice::from_ref(&row))?;
        called::must_of_indexes(self.statement.view, &to.table.schema, Some(&others))?;
        let mut values = |_: RowId| Ok(values.clone());
        let mut tx = self.statement.view.scope.tx()?;
        tx.change_each(&to.table.table, &[id], &columns, &mut values)?;
        Ok(Some(row))
    }
}

/// Where a row goes.
struct To {
    table: TableHandle,
    /// The partition, where it is one.
    leaf: Option<Leafed>,
    /// The table's indexes that the clause is about.
    arbiters: Vec<IndexSchema>,
}

impl To {
    fn fit(&self, row: &Row) -> Row {
        self.leaf.as_ref().map_or_else(|| row.clone(), |leaf| leaf.fit(row))
    }

    fn unfit(&self, row: Row) -> Row {
        match &self.leaf {
            Some(leaf) => leaf.unfit(row),
            None => row,
        }
    }
}

/// The unique indexes that a clause is about, of a table as the engine has it: an invisible one is none less. Types are found in
/// the catalog by their OIDs.
///
/// # Errors
/// `42P10`: none has these columns.
pub fn arbiters(
    tree: &Bound,
    modify: &Modify,
    schema: &TableSchema,
    catalog: &Arc<Catalog>,
) -> Result<Vec<IndexSchema>> {
    let rules = schema.indexes.iter().filter(|index| index.is_rule() && index.ready);
    let Some(conflict) = &modify.conflict else { return Ok(Vec::new()) };
    if conflict.constraint != 0 {
        let is_it =
            |index: &&IndexSchema| oids::of_index_constraint(index.id) == conflict.constraint;
        let found: Vec<IndexSchema> = rules.filter(is_it).cloned().collect();
        if conflict.update && found.iter().any(|index| index.excludes().is_some()) {
            let text = "ON CONFLICT DO UPDATE not supported with exclusion constraints";
            return Err(SqlError::new("42809", text));
        }
        return Ok(found);
    }
    if conflict.elements.is_empty() {
        return Ok(rules.cloned().collect());
    }
    let unique = rules.filter(|index| index.is_unique());
    let (mut wanted, mut calculated) = (Vec::new(), Vec::new());
    for element in &conflict.elements {
        match tree.expr(element.value) {
            Expr::Var { column, .. } if *column > 0 => {
                // An index of a type without collations has none.
                let ty = catalog.get_type(tree.ty(element.value).oid);
                if element.collation != 0 && ty.is_none_or(|ty| ty.collation == 0) {
                    return Err(no_index());
                }
                wanted.push(*column as usize - 1);
            }
            _ => calculated.push(element.value),
        }
    }
    wanted.sort_unstable();
    wanted.dedup();
    let of = Inferred { tree, modify, schema, catalog, entry: modify.entry };
    let is_of = |index: &&IndexSchema| {
        let places = index.key.iter().filter_map(|part| schema.position(part.column));
        let (derived, mut places): (Vec<usize>, Vec<usize>) =
            places.partition(|at| *at >= schema.columns.len());
        places.sort_unstable();
        places == wanted
            && of.are_all(&derived, &calculated)
            && of.is_implied(index, conflict.index_filter)
    };
    let found: Vec<IndexSchema> = unique.filter(is_of).cloned().collect();
    if found.is_empty() { Err(no_index()) } else { Ok(found) }
}

fn no_index() -> SqlError {
    let text = "there is no unique or exclusion constraint matching the ON CONFLICT specification";
    SqlError::new("42P10", text)
}

/// Compares what a clause names with what indexes calculate.
struct Inferred<'a> {
    tree: &'a Bound,
    modify: &'a Modify,
    schema: &'a TableSchema,
    catalog: &'a Arc<Catalog>,
    /// The entry of the table that rows are inserted into.
    entry: usize,
}

impl Inferred<'_> {
    /// Whether an expression of the statement is one of a derived column.
    fn is_like(&self, id: ExprId, derived: &DerivedSchema, of: &Bound, other: ExprId) -> bool {
        let vars = |(entry, column): (usize, i32), (_, read): (usize, i32)| {
            let read = usize::try_from(read - 1).ok().and_then(|at| derived.reads.get(at));
            let at = read.and_then(|id| self.schema.position(*id));
            entry == self.entry && at.is_some_and(|at| at as i32 + 1 == column)
        };
        self.tree.is_like(id, of, other, &vars)
    }

    /// Whether an index calculates what is named, all of it and nothing else; `derived` are positions in the table.
    fn are_all(&self, derived: &[usize], named: &[ExprId]) -> bool {
        let is_one = |at: usize, id: ExprId| {
            let derived = &self.schema.derived[at - self.schema.columns.len()];
            let tree = formulas::made(&derived.program).and_then(|of| of.tree_now(self.catalog));
            tree.is_ok_and(|tree| {
                let (of, query) = &*tree;
                self.is_like(id, derived, of, of.query(*query).targets[0].value)
            })
        };
        derived.iter().all(|at| named.iter().any(|id| is_one(*at, *id)))
            && named.iter().all(|id| derived.iter().any(|at| is_one(*at, *id)))
    }

    /// Whether the condition of a clause says that an index has the row.
    fn is_implied(&self, index: &IndexSchema, given: Option<ExprId>) -> bool {
        let Some(derived) = index.filter.and_then(|id| self.schema.derived(id)) else {
            return true;
        };
        let (Some(given), Ok(made)) = (given, formulas::made(&derived.program)) else {
            return false;
        };
        let is_own = |id: &QueryId| {
            self.tree.query(*id).modify.as_deref().is_some_and(|of| std::ptr::eq(of, self.modify))
        };
        let Some(query) = self.tree.query_ids().find(is_own) else { return false };
        let number = |id| self.schema.position(id).map(|at| at as i32 + 1);
        let Some(reads) = derived.reads.iter().map(|id| number(*id)).collect() else {
            return false;
        };
        let Ok(tree) = made.tree_now(self.catalog) else { return false };
        let of = Derived { column: 0, made: tree, reads, is_filter: true, class: None };
        // What a constant of it cannot be calculated with, it does not say; what a parameter is, is not known here.
        formulas::env_of(self.catalog)
            .and_then(|env| implies((self.tree, query), (self.entry, given), &of, &env))
            .unwrap_or(false)
    }
}
