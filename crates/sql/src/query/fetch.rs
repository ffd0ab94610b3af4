//! What does a routine ask a bound statement for?
//!
//! A value, or rows that are held: as many as it wants. Thread safety: as of [`Bound`].

use std::sync::Arc;

use arrow_array::ArrayRef;
use onlap_kernels::Datum;
use onlap_pg::TypeRef;
use onlap_pg::catalog::Catalog;
use onlap_query::Condition;

use super::{Bound, Encoder, Sent, sql_error, until_locked};
use crate::error::{Result, SqlError};
use crate::plan::Held;
use crate::session::answer::RowsAnswer;
use crate::view::View;

/// Why an expression has no value.
pub struct Failed {
    /// The error.
    pub error: SqlError,
    /// Whether it was found before the expression was calculated.
    pub before: bool,
}

/// Rows that a routine has asked for.
pub struct Fetched {
    /// The rows.
    pub held: Held,
    /// How many there were, of which some may not have been kept.
    pub count: u64,
}

impl Bound {
    /// The names and types of its columns.
    pub fn shape(&self) -> Vec<(String, TypeRef)> {
        self.tree.columns(self.query).into_iter().map(|(name, ty)| (name.to_string(), ty)).collect()
    }

    /// The types that it can have.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// Whether it is one expression, which reads nothing.
    pub fn is_expression(&self) -> bool {
        let query = self.tree.query(self.query);
        let calculated = query.has_aggregates || query.has_windows || query.has_sets;
        self.tree.query_ids().count() == 1
            && query.entries.is_empty()
            && query.modify.is_none()
            && query.targets.len() == 1
            && !calculated
    }

    /// The value of one expression.
    ///
    /// # Errors
    /// `42501`; those of the expression.
    pub fn value(
        &self,
        view: &View,
        values: &[Datum<'static>],
        text: &str,
    ) -> std::result::Result<ArrayRef, Failed> {
        let may = view.judge.must(&self.needs);
        may.map_err(|error| Failed { error, before: true })?;
        let (env, asked) = self.env(view, values);
        asked.begin(&view.instance.runner.memory());
        // Constants are calculated before the expression is.
        let made = Condition::new(&self.tree, self.query, &env)
            .map_err(|e| Failed { error: sql_error(&e, text), before: values.is_empty() })?;
        let value = made.alone(&env).and_then(|value| env.batch_done().map(|()| value));
        value.map_err(|e| Failed { error: sql_error(&e, text), before: false })
    }

    /// Rows of a query: it ends when this number has come.
    ///
    /// # Errors
    /// `42501`; those of the query.
    pub fn fetch(
        &self,
        view: &View,
        values: &[Datum<'static>],
        text: &str,
        most: usize,
    ) -> Result<Fetched> {
        view.judge.must(&self.needs)?;
        view.scope.plan_goes_on()?;
        let read = || {
            let (batches, env) = self.begin(view, self.steps(view, values, text)?)?;
            let fetched = batches.first(most)?;
            env.batch_done().map_err(|e| sql_error(&e, text))?;
            Ok(fetched)
        };
        let (held, count) = if self.locks_rows() { until_locked(view, read)? } else { read()? };
        Ok(Fetched { held, count })
    }

    /// All rows of a query, for a cursor of a routine: they are as they were when it was opened.
    ///
    /// # Errors
    /// `42501`; those of the query.
    pub fn cursor_rows(
        &self,
        view: &View,
        values: &[Datum<'static>],
        text: &str,
    ) -> Result<RowsAnswer> {
        view.judge.must(&self.needs)?;
        view.scope.plan_goes_on()?;
        let read = || {
            let (batches, env) = self.begin(view, self.steps(view, values, text)?)?;
            let held = batches.all()?;
            env.batch_done().map_err(|e| sql_error(&e, text))?;
            Ok((held, env))
        };
        let (mut held, env) = if self.locks_rows() { until_locked(view, read)? } else { read()? };
        held.let_others_run();
        let source = Sent::new(Some(held), Arc::new(Encoder::new(env, self.types())));
        Ok(RowsAnswer::new(Arc::clone(&self.columns), Box::new(source), "FETCH"))
    }
}
