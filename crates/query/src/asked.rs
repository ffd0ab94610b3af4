//! In which order are conditions asked, and which are asked once?
//!
//! What costs least is asked first, so that the rest is asked of fewer rows: a comparison before a cast of a text, a query
//! within or a function of a user's. It is PostgreSQL's `order_qual_clauses`: by procost, and as they were written where that is
//! the same. A condition that names no column of the query's FROM is asked once, before anything is read.
//!
//! Thread safety: pure, except for the steps.

use std::sync::Arc;

use datafusion_common::Result as Run;
use datafusion_execution::TaskContext;
use datafusion_physical_plan::ExecutionPlan;
use futures::TryStreamExt;
use onlap_pg::bound::{Expr, ExprId, SubKind};
use onlap_pg::{Oid, Result};

use crate::compile::{Compiler, constant_bool};
use crate::error::external;
use crate::node::{Rows, truth};
use crate::step::{Step, stream_of};

type Plan = Arc<dyn ExecutionPlan>;

/// What an operator costs, in the unit of [`onlap_pg::catalog::Proc::cost`].
const OPERATOR: u64 = 100;
/// What a query costs that may run for each row: more than what conditions call otherwise.
const QUERY: u64 = 100_000_000;
/// Elements of an array of which nothing is known, as PostgreSQL takes them.
const ELEMENTS: u64 = 10;

impl Compiler<'_> {
    /// Puts the conditions first that cost least; of those that cost the same none is put before another.
    pub fn cheapest_first(&self, ids: &mut [ExprId]) {
        if ids.len() > 1 {
            ids.sort_by_cached_key(|id| self.cost(*id));
        }
    }

    fn cost(&self, id: ExprId) -> u64 {
        let of = |proc: Oid| {
            let proc = self.env.catalog.proc(proc);
            proc.map_or(OPERATOR, |proc| u64::from(proc.cost))
        };
        let mut cost = 0_u64;
        self.bound.visit(id, 0, &mut |id, _| {
            cost = cost.saturating_add(match self.bound.expr(id) {
                Expr::Call(call) => of(call.proc),
                Expr::Op(op) | Expr::Distinct(op) | Expr::NullIf(op) => of(op.proc),
                Expr::ArrayOp(op, _) => {
                    let elements = match self.bound.expr(op.args[1]) {
                        Expr::Array(all, _) => all.len() as u64,
                        _ => ELEMENTS,
                    };
                    of(op.proc).saturating_mul(elements) / 2
                }
                // Written, and read.
                Expr::ViaText(_) => 2 * OPERATOR,
                Expr::Greatest(..) | Expr::SqlValue(..) | Expr::Elements(..) | Expr::Xml(_) => {
                    OPERATOR
                }
                Expr::RowCompare(_, operators, ..) => OPERATOR * operators.len() as u64,
                Expr::SubQuery(sub) => {
                    let is_value = matches!(sub.kind, SubKind::Value | SubKind::Array);
                    let runs_once = is_value && !self.is_correlated(sub.query);
                    if runs_once { 0 } else { QUERY }
                }
                _ => 0,
            });
            !matches!(self.bound.expr(id), Expr::SubQuery(_))
        });
        cost
    }

    /// A step that gives the rows of another one if conditions hold that are the same for all of them, and does not begin it
    /// otherwise.
    ///
    /// # Errors
    /// `0A000` for what has no kernel; errors of constants.
    pub fn asked_once(&mut self, plan: Plan, mut ids: Vec<ExprId>) -> Result<Plan> {
        if ids.is_empty() {
            return Ok(plan);
        }
        self.cheapest_first(&mut ids);
        // What is constant is known before a query is asked.
        ids.sort_by_key(|id| !self.is_plain(*id));
        let layout = std::mem::take(&mut self.frame().layout);
        let node = self.conjunction(&ids);
        self.frame().layout = layout;
        let node = node?;
        if constant_bool(&node) == Some(true) {
            return Ok(plan);
        }
        let (schema, node, env) = (plan.schema(), Arc::new(node), Arc::clone(&self.env));
        let out = Arc::clone(&schema);
        let run = move |inputs: Vec<Plan>, context: Arc<TaskContext>| {
            let (input, schema) = (Arc::clone(&inputs[0]), Arc::clone(&out));
            let (node, env) = (Arc::clone(&node), Arc::clone(&env));
            let begun = async move {
                let holds = node.eval(&Rows { columns: &[], count: 1 }, &env).map_err(external)?;
                env.batch_done().map_err(external)?;
                match truth(&holds, 0) {
                    Some(true) => input.execute(0, context),
                    _ => Ok(stream_of(schema, futures::stream::empty())),
                }
            };
            let rows = futures::stream::once(Box::pin(begun) as Begun).try_flatten();
            Ok(stream_of(Arc::clone(&out), rows))
        };
        Ok(Step::make("Result", "One-Time Filter", vec![plan], schema, Arc::new(run)))
    }
}

type Begun = std::pin::Pin<
    Box<dyn Future<Output = Run<datafusion_execution::SendableRecordBatchStream>> + Send>,
>;
