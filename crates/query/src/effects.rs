//! What does a call do, in addition to giving a value?
//!
//! PostgreSQL calculates the expressions of a row from left to right, and then those of the next row. Here an expression is
//! calculated over many rows at once. The difference shows where one call may see what another has done: such expressions are
//! calculated row by row here, too.

use arrow_array::{Array, ArrayRef, RecordBatch};
use datafusion_common::Result;
use datafusion_physical_expr::PhysicalExpr;
use onlap_pg::Oid;
use onlap_pg::bound::{Bound, Expr};
use onlap_pg::catalog::{Proc, Volatility};
use std::sync::Arc;

use crate::node::{Node, Rows};
use crate::physical::Computed;

/// random(), clock_timestamp(), timeofday(), gen_random_uuid(): they give something else each time, and that is all.
const HARMLESS: [Oid; 4] = [1598, 2649, 274, 3432];
const NEXTVAL: Oid = 1574;
const SET_CONFIG: Oid = 2078;
/// Both forms of current_setting().
const SEE_SETTINGS: [Oid; 2] = [2077, 3294];

/// What a call does, in addition to giving a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing; the same arguments give the same value in a statement.
    None,
    /// Nothing; each call may give another value.
    Varies,
    /// Nothing; it sees settings, of which the statement changes some.
    Sees,
    /// It takes the next number of a sequence.
    Takes,
    /// It may do anything.
    Acts,
}

impl Effect {
    /// Of a function of the catalog.
    pub fn of(proc: &Proc) -> Effect {
        match proc.volatility {
            Volatility::Volatile if HARMLESS.contains(&proc.oid) => Effect::Varies,
            Volatility::Volatile if proc.oid == NEXTVAL => Effect::Takes,
            Volatility::Volatile => Effect::Acts,
            _ => Effect::None,
        }
    }

    /// Of a function of the catalog, in a statement.
    pub fn within(bound: &Bound, proc: &Proc) -> Effect {
        let sets = |call: &Expr| matches!(call, Expr::Call(call) if call.proc == SET_CONFIG);
        match SEE_SETTINGS.contains(&proc.oid) && bound.has(sets) {
            true => Effect::Sees,
            false => Effect::of(proc),
        }
    }

    /// Whether a call does something.
    pub fn acts(self) -> bool {
        matches!(self, Effect::Takes | Effect::Acts)
    }
}

/// Whether the order shows in which expressions are calculated over several rows: there are two calls at least of which one may
/// see what the other did. Queries in expressions are not looked into.
pub fn order_shows<'a>(nodes: impl IntoIterator<Item = &'a Node>) -> bool {
    let mut open: Vec<&Node> = nodes.into_iter().collect();
    let (mut calls, mut sees) = (0, false);
    let mut sequences: Vec<Option<&ArrayRef>> = Vec::new();
    while let Some(node) = open.pop() {
        if let Node::Call(call) = node {
            calls += usize::from(call.effect.acts());
            sees |= call.effect == Effect::Sees;
            if call.effect == Effect::Takes {
                sequences.push(match call.args.first() {
                    Some(Node::Const(sequence)) => Some(sequence),
                    _ => None,
                });
            }
        }
        open.extend(node.children());
    }
    let is_other = |at: usize| match sequences[at] {
        Some(one) => !sequences[..at].iter().flatten().any(|other| one == *other),
        None => false,
    };
    let alone = calls == sequences.len() && (0..calls).all(is_other);
    calls > 0 && sees || calls > 1 && !alone
}

/// Whether it shows in which order expressions of steps are calculated.
pub fn order_of_steps_shows(exprs: &[Arc<dyn PhysicalExpr>]) -> bool {
    let computed = exprs.iter().filter_map(|expr| expr.downcast_ref::<Computed>());
    order_shows(computed.map(|computed| &*computed.node))
}

/// The values of expressions, calculated for one row after the other.
///
/// # Errors
/// The first error that a row meets.
pub fn row_by_row(exprs: &[Arc<dyn PhysicalExpr>], batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
    let rows = (0..batch.num_rows()).map(|at| {
        let row = batch.slice(at, 1);
        exprs.iter().map(|expr| expr.evaluate(&row)?.into_array(1)).collect::<Result<Vec<_>>>()
    });
    let rows = rows.collect::<Result<Vec<_>>>()?;
    let whole = |at: usize| {
        let pieces: Vec<&dyn Array> = rows.iter().map(|row| &*row[at]).collect();
        Ok(arrow_select::concat::concat(&pieces)?)
    };
    (0..exprs.len()).map(whole).collect()
}

/// The values of expressions for rows that are there, as [`row_by_row`].
///
/// # Errors
/// The first error that a row meets.
pub fn rows_one_by_one(exprs: &[Computed], rows: &Rows<'_>) -> onlap_pg::Result<Vec<ArrayRef>> {
    let made = (0..rows.count).map(|at| {
        let columns: Vec<_> = rows.columns.iter().map(|column| column.slice(at, 1)).collect();
        let row = Rows { columns: &columns, count: 1 };
        exprs.iter().map(|expr| expr.of(&row)).collect::<onlap_pg::Result<Vec<_>>>()
    });
    let made = made.collect::<onlap_pg::Result<Vec<_>>>()?;
    let whole = |at: usize| {
        let pieces: Vec<&dyn Array> = made.iter().map(|row| &*row[at]).collect();
        arrow_select::concat::concat(&pieces).map_err(crate::node::arrow)
    };
    (0..exprs.len()).map(whole).collect()
}
