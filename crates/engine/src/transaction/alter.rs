//! How does a transaction change the form of a table?
//!
//! A statement takes the table alone ([`super::table_lock`]), lays another schema over it
//! ([`super::altered`]), and judges all rows, committed and own, by the new rules. Nobody brings others
//! until the commit, so nothing is left for that to judge. Own rows that are in memory go to files
//! before columns change, so that a savepoint finds them in their old form.
//!
//! Where values need another form, each row is replaced by one that has it, as an update does: rows and
//! savepoints behave as ever, at the price of new entries in all indexes.
//!
//! A foreign key takes its parent alone too, so that no parent goes before its children are known.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use onlap_base::{ColumnId, Error, ErrorKind, LockMode, PROVISIONAL_BASE, Result, RowId, stop};
use onlap_format::{
    Batch, CheckSchema, ColumnSchema, DataType, Expr, ForeignKeySchema, IndexSchema, Row,
    TableSchema, Time, Value,
};

use super::change::SetRow;
use super::due::check_nothing_due;
use super::parents::{Parent, no_parent};
use super::{Isolation, Transaction};
use crate::database::Table;
use crate::index_build::{NOT_YET, changed_before};
use crate::read::{Reader, Scan};
use crate::rules::alter::judge_check;
use crate::rules::has_null;
use crate::schema_change::{Plan, Reads, cast};
use crate::spec::{CheckSpec, ForeignKeySpec, TableChanges};

/// Rows that are replaced at once where values change their form.
const ROWS_AT_ONCE: usize = 1024;

/// A value that takes another form: places before and after, types, name.
struct Cast {
    from: usize,
    to: usize,
    types: (DataType, DataType),
    name: String,
    /// What calculates it, and the places and types of what it reads.
    by: Option<(Reads, Vec<(usize, DataType)>)>,
}

impl Cast {
    fn value(&self, row: &Row) -> Result<Value> {
        match &self.by {
            Some((reads, places)) => reads.value(row, places, self.types.1),
            None => cast(&row[self.from], self.types.0, self.types.1, &self.name),
        }
    }
}

impl Transaction {
    /// Changes columns, names and rules of a table, all of it or nothing; others see it with the
    /// commit. Statements of this transaction see it from then on. Others go on reading the table as
    /// it was, and wait with changes of its rows until the end of this transaction.
    ///
    /// ```
    /// use onlap::{Database, DataType, Options, TableChanges, TableSpec, Value};
    /// let dir = tempfile::tempdir().unwrap();
    /// let db = Database::open(dir.path(), Options::default())?;
    /// let table = db.create_table(TableSpec::new("t").column("id", DataType::Int8))?;
    /// table.insert(&[Value::Int(1)])?;
    /// let mut tx = db.begin()?;
    /// tx.alter_table(&table, &TableChanges::new().add_column("n", DataType::Int4, None))?;
    /// tx.insert(&table, &[Value::Int(2), Value::Int(7)])?;
    /// assert_eq!(db.table("t")?.schema().columns.len(), 1);
    /// tx.commit()?;
    /// assert_eq!(db.table("t")?.schema().columns.len(), 2);
    /// # Ok::<(), onlap::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`crate::Database::alter_table`]; [`ErrorKind::Unsupported`] for tables with blind writes;
    /// those of waits for locks. The transaction goes on as if the statement had not been.
    pub fn alter_table(&mut self, table: &Table, changes: &TableChanges) -> Result<()> {
        self.changing()?;
        self.all_or_nothing(|tx| tx.alter(table, changes))
    }

    /// Adds a condition on each row to a table, as [`Transaction::alter_table`] changes it.
    ///
    /// # Errors
    /// As [`crate::Database::add_check`] and [`Transaction::alter_table`].
    pub fn add_check(&mut self, table: &Table, name: &str, condition: &Expr<String>) -> Result<()> {
        self.add_check_spec(table, &CheckSpec::new(name, condition.clone()))
    }

    /// The same of which more is to be said.
    ///
    /// # Errors
    /// As [`Transaction::add_check`].
    pub fn add_check_spec(&mut self, table: &Table, check: &CheckSpec) -> Result<()> {
        self.changing()?;
        self.all_or_nothing(|tx| {
            tx.take_judged(table)?;
            let mut schema = (*tx.buffer(table)?.schema).clone();
            let check = check.build(&schema)?;
            schema.checks.push(check.clone());
            tx.set_schema(table, schema)?;
            if check.unproven { Ok(()) } else { tx.prove_check(table, &check) }
        })
    }

    /// Adds a foreign key to a table, as [`Transaction::alter_table`] changes it. Others wait with
    /// changes of the parent's rows too.
    ///
    /// # Errors
    /// As [`crate::Database::add_foreign_key`] and [`Transaction::alter_table`].
    pub fn add_foreign_key(&mut self, table: &Table, key: &ForeignKeySpec) -> Result<()> {
        self.changing()?;
        self.all_or_nothing(|tx| {
            tx.take_judged(table)?;
            let mut schema = (*tx.buffer(table)?.schema).clone();
            let key = if key.parent() == schema.name {
                key.build(&schema, &schema)?
            } else {
                let parent = tx.table(key.parent())?;
                tx.take_alone(&parent)?;
                key.build(&schema, &tx.buffer(&parent)?.schema)?
            };
            schema.add_foreign_key(key.clone());
            tx.set_schema(table, schema)?;
            if key.unproven { Ok(()) } else { tx.prove_key(table, &key) }
        })
    }

    /// Judges the rows that were there before a check or a foreign key (VALIDATE CONSTRAINT). Nothing happens
    /// where they were judged.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownConstraint`]; a row that breaks the rule; as [`Transaction::alter_table`].
    pub fn validate_constraint(&mut self, table: &Table, name: &str) -> Result<()> {
        self.changing()?;
        self.all_or_nothing(|tx| {
            tx.take_judged(table)?;
            let mut schema = (*tx.buffer(table)?.schema).clone();
            let check = schema.checks.iter_mut().find(|check| check.name == name);
            let check = check.map(|c| (std::mem::take(&mut c.unproven), c.clone()));
            let key = schema.foreign_keys.iter_mut().find(|key| key.name == name);
            let key = key.map(|k| (std::mem::take(&mut k.unproven), k.clone()));
            match (check, key) {
                (Some((true, check)), _) => {
                    tx.set_schema(table, schema)?;
                    tx.prove_check(table, &check)
                }
                (_, Some((true, key))) => {
                    if key.parent != table.state.id {
                        let parent = Parent::of(tx, &key)?.table;
                        tx.take_alone(&parent)?;
                    }
                    tx.set_schema(table, schema)?;
                    tx.prove_key(table, &key)
                }
                (None, None) => Err(unknown_constraint(&schema, name)),
                _ => Ok(()),
            }
        })
    }

    /// Says when a foreign key is judged.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownConstraint`]; as [`Transaction::alter_table`].
    pub fn set_constraint_time(&mut self, table: &Table, name: &str, time: Time) -> Result<()> {
        self.changing()?;
        self.all_or_nothing(|tx| {
            tx.take_judged(table)?;
            let mut schema = (*tx.buffer(table)?.schema).clone();
            let Some(key) = schema.foreign_keys.iter_mut().find(|key| key.name == name) else {
                return Err(unknown_constraint(&schema, name));
            };
            key.time = time;
            tx.set_schema(table, schema)
        })
    }

    fn prove_check(&mut self, table: &Table, check: &CheckSchema) -> Result<()> {
        self.each_batch(table, &check.expr.columns(), &mut |tx, schema, batch| {
            judge_check(&tx.shared.calculator, check, schema, batch).map(|_| ())
        })
    }

    fn prove_key(&mut self, table: &Table, key: &ForeignKeySchema) -> Result<()> {
        let parent = Parent::of(self, key)?;
        self.cover(&parent.table)?;
        self.each_batch(table, &key.columns, &mut |tx, schema, batch| {
            tx.judge_key(&parent, key, schema, batch)
        })
    }

    /// Drops a check or a foreign key.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownConstraint`]; as [`Transaction::alter_table`].
    pub fn drop_constraint(&mut self, table: &Table, name: &str) -> Result<()> {
        self.changing()?;
        self.all_or_nothing(|tx| {
            // What it has still to judge goes with it.
            tx.take_alone(table)?;
            let mut schema = (*tx.buffer(table)?.schema).clone();
            let before = schema.checks.len() + schema.foreign_keys.len();
            schema.checks.retain(|c| c.name != name);
            schema.foreign_keys.retain(|k| k.name != name);
            if schema.checks.len() + schema.foreign_keys.len() == before {
                return Err(unknown_constraint(&schema, name));
            }
            tx.set_schema(table, schema)
        })
    }

    /// Keeps others from changing the table, its rows or its form, until the end.
    pub(super) fn take_alone(&mut self, table: &Table) -> Result<()> {
        if self.buffer(table)?.schema.blind {
            let text = format!(
                "table {} takes blind writes; change it outside of transactions",
                table.name()
            );
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        self.shut(table)?;
        self.hold_schema(table)
    }

    /// The same, where nothing is left to judge for rows of the table: what is about to change is more than names.
    pub(super) fn take_judged(&mut self, table: &Table) -> Result<()> {
        check_nothing_due(self, table)?;
        self.take_alone(table)
    }

    fn alter(&mut self, table: &Table, changes: &TableChanges) -> Result<()> {
        // Who has locked it shares its name.
        self.await_table(table, LockMode::AccessExclusive)?;
        for (name, mode) in changes.names(&table.name()) {
            self.lock_name(name, mode)?;
        }
        match changes.only_names() {
            true => self.take_alone(table)?,
            false => self.take_judged(table)?,
        }
        let before = Arc::clone(&self.buffer(table)?.schema);
        let mut plan = self.plan(table, &before, changes)?;
        if plan.schema.name != before.name && self.table(&plan.schema.name).is_ok() {
            let text = format!("there is a table named {} already", plan.schema.name);
            return Err(Error::new(ErrorKind::AlreadyExists, text));
        }
        table.state.columns_taken.fetch_max(plan.schema.next_column, Ordering::AcqRel);
        if plan.columns {
            self.replace_changed(table, &|_| true)?;
        }
        if !plan.convert.is_empty() {
            self.convert(table, &before, &plan)?;
        }
        let mut built: Vec<IndexSchema> = Vec::new();
        for index in plan.schema.indexes.iter_mut().filter(|i| plan.rebuild.contains(&i.id)) {
            // The name of the table is locked: no other transaction changes it.
            let stale = changed_before(&table.state.view(), std::slice::from_ref(index));
            index.only_since |= !stale.is_empty();
            index.id = self.take_index_id()?;
            index.since = NOT_YET;
            built.push(index.clone());
        }
        let not_null: Vec<ColumnId> = plan.not_null.iter().copied().collect();
        if plan.generates {
            self.set_schema(table, without_unproven(&plan.schema))?;
            self.regenerate(table, &before)?;
        }
        self.set_schema(table, plan.schema)?;
        for index in &built {
            self.build_index(table, index)?;
            if index.is_rule() {
                self.judge_index(table, index)?;
            }
        }
        if not_null.is_empty() {
            return Ok(());
        }
        self.each_batch(table, &not_null, &mut |_, schema, batch| judge_not_null(schema, batch))
    }

    fn plan(&self, table: &Table, before: &TableSchema, changes: &TableChanges) -> Result<Plan> {
        let sequence = |name: &str| self.find_sequence(name).map(|s| s.id());
        let taken = table.state.columns_taken.load(Ordering::Acquire);
        let mut plan = Plan::new(before, taken, &changes.0, &self.references(), &sequence)?;
        // Others have the schema of this version until the commit.
        plan.schema.version = before.version;
        Ok(plan)
    }

    /// Replaces all rows by such that have values of columns in another form too, in columns of their
    /// own next to them.
    fn convert(&mut self, table: &Table, before: &TableSchema, plan: &Plan) -> Result<()> {
        self.check_unchanged(table, before)?;
        let mut both = without_unproven(before);
        both.next_column = plan.schema.next_column;
        let mut casts = Vec::new();
        for &(from, to) in &plan.convert {
            let (from, name) = (before.position(from), format!("{to} of {from}"));
            let from = from.expect("a column that was there is converted");
            let at = plan.schema.position(to).expect("a plan knows its columns");
            let column = &plan.schema.columns[at];
            let types = (before.columns[from].ty, column.ty);
            let place = |id: &ColumnId| {
                let at = before.position(*id).expect("a plan reads what was there");
                (at, before.columns[at].ty)
            };
            let by = plan.conversions.iter().find(|c| c.0 == to).map(|c| {
                let places = c.1.columns.iter().map(place).collect();
                (c.1.clone(), places)
            });
            let (to_at, name_of) = (both.columns.len(), column.name.clone());
            casts.push(Cast { from, to: to_at, types, name: name_of, by });
            both.columns.push(ColumnSchema::new(to, &name, column.ty, true));
        }
        let names: Vec<String> =
            both.columns[before.columns.len()..].iter().map(|c| c.name.clone()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        self.set_schema(table, both)?;
        let set = &mut |_: RowId, row: &mut Row, _: &TableSchema| {
            casts.iter().try_for_each(|c| {
                row[c.to] = c.value(row)?;
                Ok(())
            })
        };
        self.replace_all(table, &names, set)
    }

    /// Replaces all rows, so that columns are calculated of them.
    fn regenerate(&mut self, table: &Table, before: &TableSchema) -> Result<()> {
        self.check_unchanged(table, before)?;
        let schema = Arc::clone(&self.buffer(table)?.schema);
        let last = schema.columns.last().expect("a column was added");
        self.replace_all(table, &[&last.name], &mut |_: RowId, _: &mut Row, _: &TableSchema| Ok(()))
    }

    fn check_unchanged(&self, table: &Table, before: &TableSchema) -> Result<()> {
        let committed = table.state.writer.lock().last_csn;
        if self.options.isolation != Isolation::ReadCommitted && committed > self.snapshot.csn() {
            let text = format!(
                "table {} was changed by another transaction since this one began; run it again",
                before.name
            );
            return Err(Error::new(ErrorKind::Conflict, text));
        }
        Ok(())
    }

    /// Replaces all rows, of which these columns are set.
    fn replace_all(&mut self, table: &Table, names: &[&str], set: SetRow<'_>) -> Result<()> {
        let ids = self.all_rows(table, Some(names[0].to_owned()))?;
        for part in ids.chunks(ROWS_AT_ONCE) {
            self.shared.check_open()?;
            stop::check()?;
            let (own, committed) = part.iter().partition(|row| **row >= PROVISIONAL_BASE);
            self.uncounted(table, |tx| {
                tx.update_seen(table, committed, own, names, &mut *set, &mut |_, _| Ok(true))
            })?;
        }
        Ok(())
    }

    /// All rows that there are, committed and own, for [`Transaction::fill_rows`].
    ///
    /// # Errors
    /// As [`Transaction::alter_table`].
    pub fn rows_to_fill(&mut self, table: &Table) -> Result<Vec<RowId>> {
        self.changing()?;
        self.take_judged(table)?;
        let schema = Arc::clone(&self.buffer(table)?.schema);
        self.check_unchanged(table, &schema)?;
        let first = schema.columns.first().map(|column| column.name.clone());
        self.all_rows(table, first)
    }

    /// Gives a column of rows values, one each, as a part of what [`Transaction::alter_table`] does with the table: checks that
    /// rows may break which were there before do not judge them.
    ///
    /// # Errors
    /// As [`Transaction::alter_table`]; those of other rules.
    pub fn fill_rows(
        &mut self,
        table: &Table,
        column: &str,
        rows: &[RowId],
        values: &[Value],
    ) -> Result<()> {
        assert_eq!(rows.len(), values.len(), "a value for each row");
        self.changing()?;
        let whole = Arc::clone(&self.buffer(table)?.schema);
        let at = whole.position_by_name(column).ok_or_else(|| {
            let text = format!("table {} has no column {column}", whole.name);
            Error::new(ErrorKind::UnknownColumn, text)
        })?;
        let values: HashMap<RowId, &Value> = rows.iter().copied().zip(values).collect();
        let eases = whole.checks.iter().any(|check| check.unproven);
        self.all_or_nothing(|tx| {
            if eases {
                tx.set_schema(table, without_unproven(&whole))?;
            }
            let (own, committed) = rows.iter().partition(|row| **row >= PROVISIONAL_BASE);
            let set = &mut |id: RowId, row: &mut Row, _: &TableSchema| {
                row[at] = values[&id].clone();
                Ok(())
            };
            tx.uncounted(table, |tx| {
                tx.update_seen(table, committed, own, &[column], set, &mut |_, _| Ok(true))
            })?;
            if eases { tx.set_schema(table, (*whole).clone()) } else { Ok(()) }
        })
    }

    fn all_rows(&mut self, table: &Table, column: Option<String>) -> Result<Vec<RowId>> {
        let (view, now) = self.newest(table)?;
        let mut ids: Vec<RowId> = Vec::new();
        for batch in
            Reader::new(view, now).scan(&Scan::all().columns(Vec::from_iter(column.clone())))?
        {
            ids.extend_from_slice(&batch?.row_ids);
        }
        Ok(ids)
    }

    /// All rows that there are, committed and own, some columns of them; the schema has these alone.
    pub(super) fn each_batch(
        &mut self,
        table: &Table,
        columns: &[ColumnId],
        judge: &mut dyn FnMut(&mut Transaction, &TableSchema, &Batch) -> Result<()>,
    ) -> Result<()> {
        let (view, now) = self.newest(table)?;
        let schema = Arc::clone(&view.view.schema);
        let wanted = schema.columns.iter().filter(|c| columns.contains(&c.id));
        let described = TableSchema {
            columns: wanted.cloned().collect(),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            indexes: Vec::new(),
            ..(*schema).clone()
        };
        let names: Vec<&str> = described.columns.iter().map(|c| c.name.as_str()).collect();
        for batch in Reader::new(view, now).scan(&Scan::all().columns(names))? {
            self.shared.check_open()?;
            judge(self, &described, &batch?.columns)?;
        }
        Ok(())
    }

    /// Refuses rows without a parent, of which all are this transaction's to look at.
    fn judge_key(
        &mut self,
        parent: &Parent,
        key: &ForeignKeySchema,
        schema: &TableSchema,
        rows: &Batch,
    ) -> Result<()> {
        for (bytes, values) in &parent.wanted_by(schema, key, rows)? {
            let found = self.own_row_with_key(parent, bytes)?
                || self.committed_row_with_key(parent, bytes)?.is_some();
            if !found {
                return Err(no_parent(parent, schema, key, values));
            }
        }
        Ok(())
    }
}

/// The schema without the checks that old rows may break: rows that only get another form are none that come in.
fn without_unproven(schema: &TableSchema) -> TableSchema {
    let mut schema = schema.clone();
    schema.checks.retain(|check| !check.unproven);
    schema
}

fn unknown_constraint(schema: &TableSchema, name: &str) -> Error {
    let text = format!("table {} has no check or foreign key named {name}", schema.name);
    Error::new(ErrorKind::UnknownConstraint, text)
}

fn judge_not_null(schema: &TableSchema, batch: &Batch) -> Result<()> {
    for (described, column) in schema.columns.iter().zip(&batch.columns) {
        if (0..batch.rows).any(|row| column.is_null(row)) {
            return Err(has_null(schema, &described.name));
        }
    }
    Ok(())
}
