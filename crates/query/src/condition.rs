//! Which values meet the condition of a domain?
//!
//! Its text is bound to a query whose only target it is, about the one column of an entry without rows: so it is calculated
//! by the same nodes as all expressions are, for a column of values at once. Thread safety: read only.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use onlap_kernels::Datum;
use onlap_pg::bound::{Bound, ExprId, Literal, QueryId};
use onlap_pg::{Oid, Result, TypeRef};

use crate::compile::{Compiler, Frame, unsupported};
use crate::env::{Env, Facts, Read, Restriction, Scanned, Tables, Wanted};
use crate::node::{Node, Rows, Spread, truth};
use crate::physical::Computed;

/// A condition of one value.
pub struct Condition {
    node: Node,
}

impl Condition {
    /// Of a condition that was bound.
    ///
    /// # Errors
    /// `0A000` for what has no kernel; errors of constants.
    pub fn new(bound: &Bound, query: QueryId, env: &Arc<Env>) -> Result<Condition> {
        node_of(bound, query, env).map(|node| Condition { node })
    }

    /// What it is of values.
    ///
    /// # Errors
    /// The first error that a value meets.
    pub fn of(&self, values: &ArrayRef, env: &Env) -> Result<ArrayRef> {
        let rows = Rows { columns: std::slice::from_ref(values), count: values.len() };
        self.node.eval(&rows, env)?.spread(values.len(), env)
    }

    /// What it is, where it is of no value.
    ///
    /// # Errors
    /// Its error.
    pub fn alone(&self, env: &Env) -> Result<ArrayRef> {
        self.node.eval(&Rows { columns: &[], count: 1 }, env)?.spread(1, env)
    }

    /// The first of the values that does not meet it. NULL meets it: the condition is not false.
    ///
    /// # Errors
    /// The first error that a value meets.
    pub fn first_unmet(&self, values: &ArrayRef, env: &Env) -> Result<Option<usize>> {
        let rows = Rows { columns: std::slice::from_ref(values), count: values.len() };
        let met = self.node.eval(&rows, env)?;
        Ok((0..values.len()).find(|row| truth(&met, *row) == Some(false)))
    }
}

/// Expressions of the columns of one entry.
pub struct Keys {
    exprs: Vec<Computed>,
}

impl Keys {
    /// The targets of a query that was bound.
    ///
    /// # Errors
    /// `0A000` for what has no kernel; errors of constants.
    pub fn new(bound: &Bound, query: QueryId, env: &Arc<Env>) -> Result<Keys> {
        let mut compiler = over_entries(bound, query, env);
        let mut exprs = Vec::with_capacity(bound.query(query).targets.len());
        for target in &bound.query(query).targets {
            let node = Arc::new(compiler.node(target.value)?);
            let ty = compiler.arrow(bound.ty(target.value).oid)?;
            exprs.push(Computed { node, env: Arc::clone(env), ty });
        }
        Ok(Keys { exprs })
    }

    /// Their values for rows with these columns.
    ///
    /// # Errors
    /// The first error that a row meets.
    pub fn of(&self, columns: &[ArrayRef], count: usize) -> Result<Vec<ArrayRef>> {
        let rows = Rows { columns, count };
        self.exprs.iter().map(|expr| expr.of(&rows)).collect()
    }
}

/// An expression over the columns of an entry.
pub struct Formula {
    node: Node,
}

impl Formula {
    /// Of an expression that was bound.
    ///
    /// # Errors
    /// As [`Condition::new`].
    pub fn new(bound: &Bound, query: QueryId, env: &Arc<Env>) -> Result<Formula> {
        node_of(bound, query, env).map(|node| Formula { node })
    }

    /// Its values for rows, of which these are the columns of the entry.
    ///
    /// # Errors
    /// The first error that a row meets.
    pub fn values(&self, columns: &[ArrayRef], count: usize, env: &Env) -> Result<ArrayRef> {
        let made = self.node.eval(&Rows { columns, count }, env)?;
        made.spread(count, env)
    }
}

/// The value of an expression that names no columns.
///
/// # Errors
/// Those of the expression; `0A000` for what has no kernel.
pub fn value(bound: &Bound, query: QueryId, id: ExprId, env: &Arc<Env>) -> Result<Datum<'static>> {
    let mut compiler = alone(bound, env);
    compiler.frames.push(Frame::new(query, None));
    let repr = compiler.repr(bound.ty(id).oid)?;
    let made = compiler.node(id)?.eval(&Rows { columns: &[], count: 1 }, env)?;
    Ok(Datum::at(&made.array, repr, 0).into_owned())
}

/// The value of a literal of a type.
///
/// # Errors
/// It is none of the type.
pub fn literal_value(
    bound: &Bound,
    env: &Arc<Env>,
    literal: &Literal,
    ty: TypeRef,
) -> Result<Datum<'static>> {
    alone(bound, env).literal_value(literal, ty, None)
}

/// What makes expressions that read nothing.
fn alone<'a>(bound: &'a Bound, env: &Arc<Env>) -> Compiler<'a> {
    let (tables, env) = (&Nothing, Arc::clone(env));
    Compiler { bound, env, tables, carried: None, frames: Vec::new() }
}

/// What makes expressions over the columns of a query's entries.
pub(crate) fn over_entries<'a>(bound: &'a Bound, query: QueryId, env: &Arc<Env>) -> Compiler<'a> {
    let mut compiler = alone(bound, env);
    compiler.frames.push(Frame::new(query, None));
    for (n, entry) in bound.query(query).entries.iter().enumerate() {
        for (at, ty) in entry.types.iter().enumerate() {
            compiler.frame().layout.add_var((n + 1, at as i32 + 1), *ty);
        }
    }
    compiler
}

/// The only target of a query, over the columns of its entries.
fn node_of(bound: &Bound, query: QueryId, env: &Arc<Env>) -> Result<Node> {
    over_entries(bound, query, env).node(bound.query(query).targets[0].value)
}

/// A condition reads nothing.
struct Nothing;

impl Tables for Nothing {
    fn facts(&self, _: Read) -> Facts {
        Facts::default()
    }

    fn scan(&self, _: Read, _: &[i32], _: Vec<Restriction>, _: &Wanted) -> Result<Scanned> {
        Err(unsupported("a table in a condition"))
    }

    fn view(&self, _: Oid) -> Result<Option<crate::env::View>> {
        Ok(None)
    }
}
