//! Which values meet the condition of a domain?
//!
//! Its text is bound to a query whose only target it is, about the one column of an entry without rows: so it is calculated
//! by the same nodes as all expressions are, for a column of values at once. Thread safety: read only.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use onlap_pg::bound::{Bound, QueryId};
use onlap_pg::{Oid, Result};

use crate::compile::{Compiler, Frame, unsupported};
use crate::env::{Env, Facts, Restriction, Scanned, Tables, Wanted};
use crate::node::{Node, Rows, Spread, truth};

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
        let tables = &Nothing;
        let env = Arc::clone(env);
        let mut compiler = Compiler { bound, env, tables, carried: None, frames: Vec::new() };
        compiler.frames.push(Frame::new(query, None));
        let read = bound.query(query);
        for (n, entry) in read.entries.iter().enumerate() {
            for (at, ty) in entry.types.iter().enumerate() {
                compiler.frame().layout.add_var((n + 1, at as i32 + 1), *ty);
            }
        }
        let node = compiler.node(read.targets[0].value)?;
        Ok(Condition { node })
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

/// A condition reads nothing.
struct Nothing;

impl Tables for Nothing {
    fn facts(&self, _: Oid) -> Facts {
        Facts::default()
    }

    fn scan(&self, _: Oid, _: &[i32], _: Vec<Restriction>, _: &Wanted) -> Result<Scanned> {
        Err(unsupported("a table in a condition"))
    }

    fn view(&self, _: Oid) -> Result<Option<crate::env::View>> {
        Ok(None)
    }
}
