//! What does a call do, and what does it see?
//!
//! PostgreSQL calculates the expressions of a row from left to right, and then those of the next row. Here an expression is
//! calculated over many rows at once. The difference shows where one call may see what another has done: such expressions of a
//! step are calculated row by row here, too.

use std::sync::Arc;

use arrow_array::ArrayRef;
use datafusion_physical_expr::PhysicalExpr;
use onlap_pg::bound::{Bound, Expr, ExprId};
use onlap_pg::catalog::{Catalog, Proc, Volatility};
use onlap_pg::{Oid, Result};

use crate::compile::Compiler;
use crate::env::bytes_of;
use crate::node::{Call, Node, Rows};
use crate::physical::Computed;

/// gen_random_uuid(): each value is another one, whatever was done before.
const HARMLESS: [Oid; 1] = [3432];
/// random(), which sees setseed(); clock_timestamp() and timeofday(), which see that others take time.
const SEES: [Oid; 3] = [1598, 2649, 274];
const NEXTVAL: Oid = 1574;
const SET_CONFIG: Oid = 2078;
/// Both forms of current_setting().
const SETTINGS: [Oid; 2] = [2077, 3294];

/// What a call does in addition to giving a value, and what that depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The same arguments give the same value in a statement.
    None,
    /// Each call may give another value, whatever others do.
    Varies,
    /// It does nothing; its value may depend on what other calls of the statement have done.
    Sees,
    /// It takes the next number of a sequence.
    Takes,
    /// It may do anything.
    Acts,
}

impl Effect {
    /// Of a function.
    pub fn of(proc: &Proc) -> Effect {
        match proc.volatility {
            Volatility::Volatile if HARMLESS.contains(&proc.oid) => Effect::Varies,
            Volatility::Volatile if SEES.contains(&proc.oid) => Effect::Sees,
            Volatility::Volatile if proc.oid == NEXTVAL => Effect::Takes,
            Volatility::Volatile => Effect::Acts,
            _ => Effect::None,
        }
    }

    /// Of a function that a database made; it is called when the query runs and never before.
    pub fn of_made(proc: &Proc) -> Effect {
        match proc.volatility {
            Volatility::Volatile => Effect::Acts,
            // It may ask for settings.
            Volatility::Stable => Effect::Sees,
            Volatility::Immutable => Effect::Varies,
        }
    }

    /// Whether a call does something.
    pub fn acts(self) -> bool {
        matches!(self, Effect::Takes | Effect::Acts)
    }
}

impl Compiler<'_> {
    /// The effect of a function of the system, where it is called.
    pub fn effect_of(&self, proc: &Proc) -> Effect {
        match self.sees_settings(proc.oid) {
            true => Effect::Sees,
            false => Effect::of(proc),
        }
    }

    /// Whether an expression calls a volatile function of the database.
    pub fn calls_made(&self, id: ExprId) -> bool {
        let mut found = false;
        self.bound.visit(id, 0, &mut |id, _| {
            found |= is_made_call(self.bound.expr(id), &self.env.catalog);
            !found
        });
        found
    }

    /// Whether a function asks for a setting, which the statement may change.
    pub fn sees_settings(&self, proc: Oid) -> bool {
        SETTINGS.contains(&proc) && self.env.sets.get().is_some_and(|sets| *sets)
    }
}

/// Whether a statement calls what may change settings.
pub fn may_set(bound: &Bound, catalog: &Catalog) -> bool {
    let sets = |expr: &Expr| matches!(expr, Expr::Call(call) if call.proc == SET_CONFIG);
    bound.has(|expr| sets(expr) || is_made_call(expr, catalog))
}

/// Whether an expression itself calls a volatile function of the database: one that may ask for the rows of a table, as others
/// in the statement have left them.
pub fn is_made_call(expr: &Expr, catalog: &Catalog) -> bool {
    let Expr::Call(call) = expr else { return false };
    let is_made = |proc: &Proc| proc.made.is_some() && proc.volatility == Volatility::Volatile;
    catalog.proc(call.proc).is_some_and(is_made)
}

/// Which calls expressions have.
#[derive(Default)]
struct Calls<'a> {
    acts: usize,
    sees: bool,
    /// Those of nextval(), by the sequence where it is a constant.
    takes: Vec<Option<&'a ArrayRef>>,
}

impl<'a> Calls<'a> {
    fn add(&mut self, node: &'a Node) {
        let call: Option<&'a Call> = match node {
            Node::Call(call) => Some(call),
            Node::Distinct(call) | Node::NullIf(call) => Some(call),
            Node::AnyOf(any) => Some(&any.call),
            Node::Query(query) if query.results.is_volatile() => {
                self.acts += 1;
                None
            }
            _ => None,
        };
        let Some(call) = call else { return };
        match call.effect {
            Effect::None | Effect::Varies => {}
            Effect::Sees => self.sees = true,
            Effect::Acts => self.acts += 1,
            Effect::Takes => self.takes.push(match call.args.first() {
                Some(Node::Const(sequence)) => Some(sequence),
                _ => None,
            }),
        }
    }

    fn order_shows(&self) -> bool {
        let is_other = |at: usize| match self.takes[at] {
            Some(one) => !self.takes[..at].iter().flatten().any(|other| one == *other),
            None => false,
        };
        match self.acts {
            0 => !(0..self.takes.len()).all(|at| at == 0 || is_other(at)),
            1 => self.sees || !self.takes.is_empty(),
            _ => true,
        }
    }
}

/// Which of some expressions must be calculated row by row: those with calls, where one may see what another has done. Queries
/// in expressions are not looked into.
pub fn by_row<'a>(nodes: impl Iterator<Item = Option<&'a Node>> + Clone) -> Vec<bool> {
    let mut calls = Calls::default();
    let mut open: Vec<&Node> = nodes.clone().flatten().collect();
    while let Some(node) = open.pop() {
        calls.add(node);
        open.extend(node.children());
    }
    match calls.order_shows() {
        true => nodes.map(|node| node.is_some_and(|node| !node.is_repeatable())).collect(),
        false => Vec::new(),
    }
}

/// The same of expressions of a step.
pub fn by_row_of(exprs: &[Arc<dyn PhysicalExpr>]) -> Vec<bool> {
    by_row(exprs.iter().map(|expr| expr.downcast_ref::<Computed>().map(|computed| &*computed.node)))
}

/// The values of expressions, all of a row before those of the next.
///
/// # Errors
/// The first error that a row meets; there is no memory for the values.
pub fn row_by_row(exprs: &[&Computed], rows: &Rows<'_>) -> Result<Vec<ArrayRef>> {
    let mut made: Vec<(Vec<ArrayRef>, usize)> = vec![(Vec::new(), 0); exprs.len()];
    for at in 0..rows.count {
        let columns: Vec<_> = rows.columns.iter().map(|column| column.slice(at, 1)).collect();
        let row = Rows { columns: &columns, count: 1 };
        for (expr, (pieces, bytes)) in exprs.iter().zip(&mut made) {
            let value = expr.after(&row, *bytes)?;
            *bytes = bytes.saturating_add(bytes_of(&value));
            pieces.push(value);
        }
    }
    exprs.iter().zip(&made).map(|(expr, (pieces, _))| expr.joined(pieces, 0)).collect()
}
