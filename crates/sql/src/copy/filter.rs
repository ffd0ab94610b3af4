//! Which rows does COPY FROM … WHERE take?
//!
//! The condition is bound as an expression over the table's columns, and calculated for many rows at once, when their defaults
//! are there and before any trigger.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, new_null_array};
use arrow_schema::DataType;
use onlap::{Row, TableSchema};
use onlap_pg::ast::ExprId;
use onlap_pg::bind::{self, Schema};
use onlap_pg::bound::{Bound, Expr, Part};
use onlap_query::{Env, Formula};

use crate::catalog::Name;
use crate::columns::Types;
use crate::error::{Result, SqlError};
use crate::query::domains::env_in;
use crate::query::{Names, needs, sql_error};
use crate::rights::ask::{numbers, of_table};
use crate::rights::{Action, Need};
use crate::source::Source;
use crate::view::{View, no_table};

/// A condition on rows.
pub struct Filter {
    formula: Formula,
    env: Arc<Env>,
    types: Types,
    names: Vec<String>,
    /// Which columns it reads.
    reads: Vec<bool>,
    /// What the role needs for its columns.
    pub needs: Vec<Need>,
    /// What it needs for functions that the condition calls, which is asked later.
    pub calls: Vec<Need>,
    is_volatile: bool,
}

/// Which columns a condition reads; the whole row is all of them.
fn columns_of(
    bound: &Bound,
    value: onlap_pg::bound::ExprId,
    of: &TableSchema,
) -> Result<Vec<bool>> {
    let mut reads = vec![false; of.columns.len()];
    let mut of_system = false;
    bound.visit_part(Part::Expr(value), 0, &mut |id, _| {
        if let Expr::Var { column, .. } = bound.expr(id) {
            match usize::try_from(*column) {
                Ok(0) => reads.fill(true),
                Ok(number) => reads[number - 1] = true,
                Err(_) => of_system = true,
            }
        }
        true
    });
    if of_system {
        return Err(SqlError::unsupported("a system column in COPY FROM WHERE"));
    }
    if let Some(at) = (0..reads.len()).find(|at| reads[*at] && of.is_generated(*at)) {
        let text = "generated columns are not supported in COPY FROM WHERE conditions";
        let detail = format!("Column \"{}\" is a generated column.", of.columns[at].name);
        return Err(SqlError::new("42P10", text).detail(detail));
    }
    Ok(reads)
}

impl Filter {
    /// Whether it is asked of one row after the other, each when those before it are written.
    pub fn is_volatile(&self) -> bool {
        self.is_volatile
    }

    /// Of a statement's condition.
    ///
    /// # Errors
    /// It is none; `0A000`: it has a subquery, or a column of the system; `42P10`: it has a generated column.
    pub fn of(
        view: &View,
        (source, condition): (Source<'_>, ExprId),
        name: &Name,
        schema: &TableSchema,
    ) -> Result<Filter> {
        let names = Names::new(view);
        let failed = |e: onlap_pg::Error| sql_error(&e, source.text);
        let path = [name.schema.as_str().into(), name.name.as_str().into()];
        let relation = names.relation(&path).map_err(failed)?;
        let relation =
            relation.ok_or_else(|| no_table(&[name.schema.clone(), name.name.clone()]))?;
        let within = (&names as &dyn Schema, names.catalog());
        let made = bind::copy_condition(source.tree, condition, &relation, within.0, within.1);
        let (bound, query, value) = made.map_err(failed)?;
        needs::must_reach(view, &bound, query)?;
        let reads = columns_of(&bound, value, schema)?;
        let places = reads.iter().enumerate().filter_map(|(at, read)| read.then_some(at));
        let read = numbers(schema, places);
        let reading = (!read.is_empty()).then(|| of_table(Action::Read, schema, read));
        let calls = needs::of_functions(view, &bound, query);
        let (env, asked) = env_in(view, names.shared_catalog(), 0);
        asked.begin(&view.instance.runner.memory());
        let formula = Formula::new(&bound, query, &env).map_err(failed)?;
        let types = Types::of(&view.objects, schema);
        let is_volatile = bound.calls_volatile(Part::Expr(value), &env.catalog);
        let names = schema.columns.iter().map(|column| column.name.clone()).collect();
        let needs = reading.into_iter().collect();
        Ok(Filter { formula, env, types, names, reads, needs, calls, is_volatile })
    }

    /// Whether each of the rows is taken, up to the first that it cannot be asked of, and why it cannot.
    pub fn takes(&self, rows: &[Row]) -> (Vec<bool>, Option<SqlError>) {
        match self.asked_of(rows) {
            Ok(taken) => (taken, None),
            Err(e) if rows.len() <= 1 => (Vec::new(), Some(e)),
            Err(_) => {
                let (first, second) = rows.split_at(rows.len() / 2);
                let (mut taken, failed) = self.takes(first);
                if failed.is_some() {
                    return (taken, failed);
                }
                let (more, failed) = self.takes(second);
                taken.extend(more);
                (taken, failed)
            }
        }
    }

    fn asked_of(&self, rows: &[Row]) -> Result<Vec<bool>> {
        let column = |(at, read): (usize, &bool)| match read {
            true => {
                let values = rows.iter().map(|row| &row[at]);
                self.types.decode_values(at, &self.names[at], values)
            }
            false => Ok(new_null_array(&DataType::Null, rows.len())),
        };
        let columns = self.reads.iter().enumerate().map(column);
        let columns: Vec<ArrayRef> = columns.collect::<Result<_>>()?;
        let failed = |e: onlap_pg::Error| sql_error(&e, "").nowhere();
        let made = self.formula.values(&columns, rows.len(), &self.env).map_err(failed)?;
        self.env.batch_done().map_err(failed)?;
        let made = made.as_any().downcast_ref::<BooleanArray>();
        let made = made.ok_or_else(|| SqlError::defect("a condition is true or false"))?;
        Ok((0..rows.len()).map(|row| made.is_valid(row) && made.value(row)).collect())
    }
}
