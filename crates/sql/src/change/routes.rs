//! To which tables do new rows go?
//!
//! A row for a partitioned table goes down from level to level to the partition that has rows like it. One for a partition by
//! its own name must be one of its rows: what divides the tables above it is asked, too. Rows come in the columns of the table
//! that the statement names; a partition has the same columns, perhaps in another order.
//!
//! Rows of a batch that go to one partition are written together. Where something is wrong with one of them they are written
//! anew in their order, so that the first that is wrong is the one that is told of.
//!
//! Thread safety: belongs to its statement's thread.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::ArrayRef;
use onlap::{Row, Table, TableId, Value};
use onlap_kernels::{Datum, Repr, repr};
use onlap_query::{Env, Keys};

use super::insert::write;
use crate::catalog::Name;
use crate::catalog::families::{Divided, Key};
use crate::catalog::names::quote;
use crate::error::{Result, SqlError};
use crate::plan::TableHandle;
use crate::query::division::Division;
use crate::query::family::{by_id, division, type_ref};
use crate::query::{Reader, domains, keys, sql_error};
use crate::rights::Action;
use crate::rights::ask::{numbers, of_table, shown};
use crate::types::PgType;
use crate::view::View;

/// Bytes of a key's value that an error shows.
const SHOWN: usize = 64;

/// What divides the rows of a table.
struct Level {
    table: TableHandle,
    divided: Divided,
    division: Arc<Division>,
    /// Where the named table has the columns of this one.
    places: Vec<usize>,
    /// What calculates the keys that are expressions, in their order.
    exprs: Option<(Keys, Arc<Env>)>,
}

/// A table that rows are written to.
pub struct Leaf {
    /// The table.
    pub table: TableHandle,
    /// Where the named table has its columns; none where they are in the same order.
    places: Option<Vec<usize>>,
}

/// Finds the tables that rows go to.
pub struct Router {
    view: View,
    /// The table that the statement names.
    target: TableHandle,
    /// What divides the tables above it, the highest first, with the table that rows must belong to.
    above: Vec<(Level, TableId)>,
    levels: HashMap<TableId, Level>,
    leaves: HashMap<TableId, Arc<Leaf>>,
    tables: HashMap<TableId, Table>,
    /// Whether the named table stays as it is known.
    is_held: bool,
}

/// Keeps what stands above and below a table as the statement knows it, until the end of the transaction.
///
/// # Errors
/// `40001`: it is not so any more, and the statement begins anew; those of waits for locks.
pub fn hold(view: &View, table: &TableHandle) -> Result<()> {
    let alone = view.scope.tx()?.keep_form(&table.table, table.schema.version)?;
    let newest = view.newest_objects();
    if alone || Arc::ptr_eq(&newest, &view.objects) {
        return Ok(());
    }
    let (now, then, id) = (newest.families(), view.objects.families(), table.schema.id);
    let same = now.below(id) == then.below(id)
        && now.kin(id) == then.kin(id)
        && now.divided(id) == then.divided(id);
    match same {
        true => Ok(()),
        false => Err(view.scope.tx()?.begin_anew(&table.table).into()),
    }
}

/// Where rows go, up to the first that cannot be placed.
struct Routed {
    to: Vec<TableId>,
    failed: Option<SqlError>,
}

impl Router {
    /// For rows of a table; `None` where any row can be its own.
    ///
    /// # Errors
    /// `XX001`: what no release wrote; those of key expressions.
    pub fn of(view: &View, target: &TableHandle) -> Result<Option<Router>> {
        let (families, id) = (view.objects.families(), target.schema.id);
        if families.divided(id).is_none() && families.bound(id).is_none() {
            return Ok(None);
        }
        let mut made = Router {
            view: view.clone(),
            target: target.clone(),
            above: Vec::new(),
            levels: HashMap::new(),
            leaves: HashMap::new(),
            tables: by_id(view)?,
            is_held: false,
        };
        let mut child = id;
        for above in families.all_above(id) {
            let level = made.level(above)?;
            made.above.insert(0, (level, child));
            child = above;
        }
        Ok(Some(made))
    }

    fn handle(&self, table: TableId) -> Result<TableHandle> {
        if table == self.target.schema.id {
            return Ok(self.target.clone());
        }
        let found = self.tables.get(&table).cloned();
        let found = found.ok_or_else(|| SqlError::new("XX001", "a partition is not there"))?;
        Ok(TableHandle::new(&self.view, found))
    }

    /// Where the named table has the columns of another.
    fn places(&self, of: &TableHandle) -> Result<Vec<usize>> {
        let place = |column: &onlap::ColumnSchema| {
            let at = self.target.schema.position_by_name(&column.name);
            at.ok_or_else(|| {
                let text = format!("partition {} has a column of its own", of.schema.name);
                SqlError::new("XX001", text)
            })
        };
        of.schema.columns.iter().map(place).collect()
    }

    fn level(&self, table: TableId) -> Result<Level> {
        let table = self.handle(table)?;
        let families = self.view.objects.families();
        let divided = families.divided(table.schema.id).cloned();
        let made = division(&self.view, &table)?;
        let (Some(divided), Some(division)) = (divided, made) else {
            return Err(SqlError::new("XX001", "a partition of a table that is not partitioned"));
        };
        let places = self.places(&table)?;
        let texts = divided.keys.iter().filter_map(|key| match key {
            Key::Expr(sql, _) => Some(format!("({sql})")),
            Key::Column(_) => None,
        });
        let texts: Vec<String> = texts.collect();
        let exprs = match texts.is_empty() {
            true => None,
            false => {
                let (env, _) = domains::env(&self.view, 1);
                Some((keys::of(&self.view, &table, &texts, &env)?, env))
            }
        };
        Ok(Level { table, divided, division, places, exprs })
    }

    /// The table that a row's place is.
    fn leaf(&mut self, table: TableId) -> Result<Arc<Leaf>> {
        if let Some(known) = self.leaves.get(&table) {
            return Ok(Arc::clone(known));
        }
        let handle = self.handle(table)?;
        let places = self.places(&handle)?;
        let same = places.len() == self.target.schema.columns.len()
            && places.iter().copied().eq(0..places.len());
        let leaf = Arc::new(Leaf { table: handle, places: (!same).then_some(places) });
        self.leaves.insert(table, Arc::clone(&leaf));
        Ok(leaf)
    }

    /// Keeps the tables that divide rows as they are known, before any row is written.
    ///
    /// # Errors
    /// As of [`hold`].
    pub fn hold(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.is_held, true) {
            return Ok(());
        }
        hold(&self.view, &self.target)?;
        let families = self.view.objects.families();
        let below = families.all_below(self.target.schema.id).into_iter();
        for table in below.filter(|table| families.divided(*table).is_some()) {
            hold(&self.view, &self.handle(table)?)?;
        }
        Ok(())
    }

    /// The keys of rows, of those that can be placed.
    fn route(&mut self, rows: &[&Row]) -> Result<Routed> {
        self.hold()?;
        let (mut failed, mut count) = (None, rows.len());
        for at in 0..self.above.len() {
            let (level, child) = &self.above[at];
            let found = level.children(&self.view, &rows[..count])?;
            let is_other = |part: &Option<TableId>| *part != Some(*child);
            if let Some(row) = found.iter().position(is_other) {
                (failed, count) = (Some(self.not_of(rows[row])?), row);
            }
        }
        let mut to = vec![self.target.schema.id; count];
        let mut open = vec![self.target.schema.id];
        while let Some(table) = open.pop() {
            if self.view.objects.families().divided(table).is_none() {
                continue;
            }
            if !self.levels.contains_key(&table) {
                let level = self.level(table)?;
                self.levels.insert(table, level);
            }
            let level = &self.levels[&table];
            let at: Vec<usize> = (0..to.len()).filter(|row| to[*row] == table).collect();
            let own: Vec<&Row> = at.iter().map(|row| rows[*row]).collect();
            let found = level.children(&self.view, &own)?;
            for (row, part) in at.iter().zip(&found) {
                match part {
                    Some(part) => {
                        to[*row] = *part;
                        if !open.contains(part) {
                            open.push(*part);
                        }
                    }
                    None => {
                        failed = Some(level.none_for(&self.view, rows[*row])?);
                        to.truncate(*row);
                        break;
                    }
                }
            }
        }
        Ok(Routed { to, failed })
    }

    /// The error of a row that is none of the named table's.
    fn not_of(&self, row: &Row) -> Result<SqlError> {
        if self.view.objects.families().divided(self.target.schema.id).is_none() {
            // What else is wrong with it comes first.
            self.view.scope.tx()?.judge_new(&self.target.table, row)?;
        }
        Ok(not_of(&self.target, row))
    }

    /// Whether all rows are such as the named table may have.
    ///
    /// # Errors
    /// Those of key expressions.
    pub fn belong(&mut self, rows: &[Row]) -> Result<bool> {
        let rows: Vec<&Row> = rows.iter().collect();
        for (level, child) in &self.above {
            let found = level.children(&self.view, &rows)?;
            if found.iter().any(|part| *part != Some(*child)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The table that a row goes to.
    ///
    /// # Errors
    /// `23514`: to none.
    pub fn leaf_of(&mut self, row: &Row) -> Result<Arc<Leaf>> {
        Ok(self.leaves_of(&[row])?.remove(0))
    }

    /// The tables that rows go to.
    ///
    /// # Errors
    /// `23514`: one of them to none.
    pub fn leaves_of(&mut self, rows: &[&Row]) -> Result<Vec<Arc<Leaf>>> {
        let Routed { to, failed } = self.route(rows)?;
        match failed {
            Some(e) => Err(e),
            None => to.into_iter().map(|table| self.leaf(table)).collect(),
        }
    }

    /// Inserts rows.
    ///
    /// # Errors
    /// `23514`: one goes nowhere; values that do not fit; keys that are there.
    pub fn put(&mut self, rows: &[Row]) -> Result<()> {
        let given: Vec<&Row> = rows.iter().collect();
        let Routed { to, failed } = self.route(&given)?;
        let mut groups: Vec<(TableId, Vec<usize>)> = Vec::new();
        for (row, table) in to.iter().enumerate() {
            match groups.iter_mut().find(|(known, _)| known == table) {
                Some((_, rows)) => rows.push(row),
                None => groups.push((*table, vec![row])),
            }
        }
        let before = self.view.scope.tx()?.savepoint();
        let written = groups.iter().try_for_each(|(table, at)| self.write(*table, rows, at));
        if let Err(e) = written {
            if groups.len() == 1 {
                return Err(e);
            }
            self.view.scope.tx()?.rollback_to(&before)?;
            for (row, table) in to.iter().enumerate() {
                self.write(*table, rows, &[row])?;
            }
            return Err(e);
        }
        failed.map_or(Ok(()), Err)
    }

    fn write(&mut self, table: TableId, rows: &[Row], at: &[usize]) -> Result<()> {
        let leaf = self.leaf(table)?;
        let rows: Vec<Row> = at.iter().map(|row| leaf.fit(&rows[*row])).collect();
        write(&self.view, &leaf.table, &rows)
    }
}

impl Leaf {
    /// A row of the named table in the columns of this one.
    pub fn fit(&self, row: &Row) -> Row {
        match &self.places {
            None => row.clone(),
            Some(places) => places.iter().map(|at| row[*at].clone()).collect(),
        }
    }

    /// A row of this table in the columns of the named one.
    pub fn unfit(&self, row: Row) -> Row {
        let Some(places) = &self.places else { return row };
        let mut out = vec![Value::Null; places.len()];
        places.iter().zip(row).for_each(|(at, value)| out[*at] = value);
        out
    }
}

impl Level {
    /// The keys of rows.
    fn keys(&self, rows: &[&Row]) -> Result<Vec<(ArrayRef, Repr, PgType)>> {
        let column = |at: usize| {
            let name = &self.table.schema.columns[at].name;
            let values = rows.iter().map(|row| &row[self.places[at]]);
            self.table.types.decode_values(at, name, values)
        };
        let mut calculated = match &self.exprs {
            None => Vec::new(),
            Some((keys, env)) => {
                let all = (0..self.places.len()).map(column).collect::<Result<Vec<_>>>()?;
                let made = keys.of(&all, rows.len()).map_err(|e| sql_error(&e, ""))?;
                env.batch_done().map_err(|e| sql_error(&e, ""))?;
                made
            }
        }
        .into_iter();
        let catalog = self.table.types.catalog();
        let mut made = Vec::with_capacity(self.divided.keys.len());
        for key in &self.divided.keys {
            made.push(match key {
                Key::Column(id) => {
                    let at = self.table.schema.position(*id);
                    let at = at.ok_or_else(|| SqlError::new("XX001", "a partition key is gone"))?;
                    (column(at)?, self.table.types.repr(at), self.table.types[at].pg)
                }
                Key::Expr(_, ty) => {
                    let array = calculated.next().expect("each expression was calculated");
                    let repr = repr(catalog, ty.oid).expect("a key's type has values");
                    (array, repr, *ty)
                }
            });
        }
        Ok(made)
    }

    /// The partitions of rows.
    fn children(&self, view: &View, rows: &[&Row]) -> Result<Vec<Option<TableId>>> {
        let catalog = view.objects.made_types().catalog();
        let keys = self.keys(rows)?;
        let place = |row: usize| {
            let keys: Vec<Datum<'_>> =
                keys.iter().map(|(array, repr, _)| Datum::at(array, *repr, row)).collect();
            self.division.place(catalog, &keys).map(|at| self.division.parts()[at])
        };
        Ok((0..rows.len()).map(place).collect())
    }

    /// The error of a row that no partition has.
    fn none_for(&self, view: &View, row: &Row) -> Result<SqlError> {
        let schema = &self.table.schema;
        let relation = Name::of_engine(&schema.name).1;
        let text = format!("no partition of relation \"{}\" found for row", shown(schema));
        let error = SqlError::new("23514", text).about_table(&relation.schema, &relation.name);
        let places = self.divided.keys.iter().map(|key| match key {
            Key::Column(id) => schema.position(*id),
            Key::Expr(..) => None,
        });
        // A role sees values of columns that it may read; of an expression it must be allowed to read all.
        let read = match places.collect::<Option<Vec<usize>>>() {
            Some(places) => numbers(schema, places),
            None => numbers(schema, 0..schema.columns.len()),
        };
        if !view.judge.may(&of_table(Action::Read, schema, read)) {
            return Ok(error);
        }
        let reader = Reader::new(view);
        let mut values = Vec::new();
        for (array, repr, ty) in self.keys(&[row])? {
            let value = match Datum::at(&array, repr, 0) {
                Datum::Null => "null".to_string(),
                value => reader.print(type_ref(ty), &value)?,
            };
            values.push(clipped(value));
        }
        let name = |key: &Key| match key {
            Key::Column(id) => {
                schema.position(*id).map_or_else(String::new, |at| quote(&schema.columns[at].name))
            }
            Key::Expr(sql, _) => keys::printed(view, schema, sql),
        };
        let names: Vec<String> = self.divided.keys.iter().map(name).collect();
        let (names, values) = (names.join(", "), values.join(", "));
        let detail = format!("Partition key of the failing row contains ({names}) = ({values}).");
        Ok(error.detail(detail))
    }
}

/// The error of a row that is none of a partition's.
pub fn not_of(partition: &TableHandle, row: &Row) -> SqlError {
    let name = Name::of_engine(&partition.schema.name).1;
    let text = format!("new row for relation \"{}\" violates partition constraint", name.name);
    let error = SqlError::new("23514", text).about_table(&name.schema, &name.name);
    error.of_row(&partition.schema, row)
}

/// A value as an error shows it.
fn clipped(value: String) -> String {
    if value.len() <= SHOWN {
        return value;
    }
    let mut at = SHOWN;
    while !value.is_char_boundary(at) {
        at -= 1;
    }
    format!("{}...", &value[..at])
}
