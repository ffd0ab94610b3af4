//! How are DISTINCT, DISTINCT ON and FETCH … WITH TIES carried out?
//!
//! DISTINCT groups by the keys of its targets and shows the first row's. DISTINCT ON sorts, and keeps the first of rows with
//! equal keys. WITH TIES goes on behind its last row for as long as the keys of the order are equal to that row's.
//!
//! Thread safety: a stream belongs to one thread.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::limit::GlobalLimitExec;
use futures::StreamExt;
use onlap_pg::Result;
use onlap_pg::bound::{Expr, ExprId, Query, SortItem};

use crate::build::Fetch;
use crate::compile::Compiler;
use crate::error::external;
use crate::group_parts::Parts;
use crate::keys::compare_keys;
use crate::layout::Layout;
use crate::node::Node;
use crate::sets::kept;
use crate::step::{Step, stream_of};

type Plan = Arc<dyn ExecutionPlan>;

impl Compiler<'_> {
    /// DISTINCT.
    ///
    /// # Errors
    /// `0A000`: the values of a type have no order here.
    pub fn distinct(&mut self, query: &Query, plan: Plan) -> Result<Plan> {
        if query.distinct_on {
            return self.distinct_on(query, plan);
        }
        let mut parts = Parts::default();
        let mut found = Vec::with_capacity(query.distinct.len());
        for item in &query.distinct {
            let value = self.target_of(query, item).value;
            let ty = self.bound.ty(value);
            let node = self.node(value)?;
            if matches!(node, Node::Const(_)) && !self.has_columns(value) {
                continue;
            }
            let again = self.node(value)?;
            found.push((value, ty, self.keyed(&mut parts, node, again, ty)?));
        }
        if found.is_empty() {
            return Ok(Arc::new(GlobalLimitExec::new(plan, 0, Some(1))));
        }
        let (plan, _) = self.grouped(plan, &parts, None, query)?;
        let keys = parts.keys.len();
        let types = vec![onlap_pg::TypeRef::new(0); keys + parts.calls.len()];
        let mut layout = Layout { types, ..Layout::default() };
        for (value, ty, place) in found {
            layout.types[place.at(keys)] = ty;
            layout.exprs.push((value, place.at(keys)));
        }
        self.frame().layout = layout;
        Ok(plan)
    }

    /// Whether columns stand in an expression, though it may be a constant: what is distinct no longer has them.
    fn has_columns(&self, value: ExprId) -> bool {
        let mut found = false;
        self.bound.visit(value, 0, &mut |id, _| {
            let expr = self.bound.expr(id);
            found |= matches!(expr, Expr::Var { .. } | Expr::Aggregate(_) | Expr::WindowCall(_));
            true
        });
        found
    }

    fn distinct_on(&mut self, query: &Query, plan: Plan) -> Result<Plan> {
        let mut order = query.order.clone();
        let is_new = |item: &&SortItem| !query.order.iter().any(|o| o.reference == item.reference);
        order.extend(query.distinct.iter().filter(is_new));
        let plan = self.sort(query, plan, &order, None)?;
        let (plan, keys) = self.key_columns(query, plan, &query.distinct)?;
        if keys.is_empty() {
            return Ok(Arc::new(GlobalLimitExec::new(plan, 0, Some(1))));
        }
        let schema = plan.schema();
        let out = Arc::clone(&schema);
        let run = move |inputs: Vec<Plan>, context: Arc<TaskContext>| {
            let (keys, mut last) = (keys.clone(), None);
            let input = inputs[0].execute(0, context)?;
            let batches = input.map(move |batch| first_of_each(&batch?, &keys, &mut last));
            Ok(stream_of(Arc::clone(&out), batches))
        };
        Ok(Step::make("Unique", "", vec![plan], schema, Arc::new(run)))
    }

    /// The columns of the keys of items, without constants.
    fn key_columns(
        &mut self,
        query: &Query,
        plan: Plan,
        items: &[SortItem],
    ) -> Result<(Plan, Vec<usize>)> {
        let mut nodes = Vec::new();
        for item in items {
            let value = self.target_of(query, item).value;
            let ty = self.bound.ty(value);
            let node = self.node(value)?;
            if !matches!(node, Node::Const(_)) {
                nodes.push((self.key_node(node, ty)?.0, ty));
            }
        }
        self.extend_keys(plan, nodes)
    }

    /// FETCH … WITH TIES.
    ///
    /// # Errors
    /// `0A000`: the values of a type have no order here.
    pub fn ties(&mut self, query: &Query, plan: Plan, fetch: &Fetch) -> Result<Plan> {
        if fetch.late.is_none() && fetch.fetch.is_none() {
            return Ok(fetch.apply(plan));
        }
        let (plan, keys) = self.key_columns(query, plan, &query.order)?;
        let (schema, late) = (plan.schema(), fetch.late.clone());
        let known = (fetch.skip, fetch.fetch);
        let out = Arc::clone(&schema);
        let run = move |inputs: Vec<Plan>, context: Arc<TaskContext>| {
            let input = inputs[0].execute(0, context)?;
            let (skip, fetch) = match &late {
                Some(counts) => counts.values().map_err(external)?,
                None => known,
            };
            let left = fetch.unwrap_or(usize::MAX);
            let ties = Ties { input, keys: keys.clone(), skip, left, last: None };
            let batches = futures::stream::unfold(Some(ties), |ties| async {
                let mut ties = ties?;
                match ties.next().await {
                    Some(Ok(batch)) => Some((Ok(batch), Some(ties))),
                    Some(Err(e)) => Some((Err(e), None)),
                    None => None,
                }
            });
            Ok(stream_of(Arc::clone(&out), batches))
        };
        Ok(Step::make("Limit With Ties", "", vec![plan], schema, Arc::new(run)))
    }
}

/// A row's keys.
type Keys = Vec<ArrayRef>;

fn keys_of(batch: &RecordBatch, keys: &[usize]) -> Keys {
    keys.iter().map(|at| Arc::clone(batch.column(*at))).collect()
}

/// Whether two rows have equal keys.
pub fn are_equal(a: &[ArrayRef], row: usize, b: &[ArrayRef], other: usize) -> bool {
    a.iter().zip(b).all(|(a, b)| compare_keys(a, row, b, other).is_eq())
}

/// The rows whose keys are not those of the row before.
fn first_of_each(
    batch: &RecordBatch,
    keys: &[usize],
    last: &mut Option<Keys>,
) -> datafusion_common::Result<RecordBatch> {
    let own = keys_of(batch, keys);
    let is_first = |row: usize| match (row, &*last) {
        (0, None) => true,
        (0, Some(last)) => !are_equal(&own, 0, last, 0),
        (row, _) => !are_equal(&own, row, &own, row - 1),
    };
    let rows = batch.num_rows();
    let keeps: Vec<bool> = (0..rows).map(is_first).collect();
    if rows > 0 {
        *last = Some(own.iter().map(|column| column.slice(rows - 1, 1)).collect());
    }
    kept(batch, keeps).map_err(external)
}

/// FETCH … WITH TIES at work.
struct Ties {
    input: SendableRecordBatchStream,
    keys: Vec<usize>,
    /// Rows that are left out first.
    skip: usize,
    /// Rows that are given then.
    left: usize,
    /// The keys of the last of them.
    last: Option<Keys>,
}

impl Ties {
    async fn next(&mut self) -> Option<datafusion_common::Result<RecordBatch>> {
        loop {
            if self.left == 0 && self.last.is_none() {
                return None;
            }
            let batch = match self.input.next().await? {
                Ok(batch) => batch,
                Err(e) => return Some(Err(e)),
            };
            let skipped = self.skip.min(batch.num_rows());
            self.skip -= skipped;
            let batch = batch.slice(skipped, batch.num_rows() - skipped);
            if batch.num_rows() == 0 {
                continue;
            }
            let keys = keys_of(&batch, &self.keys);
            let mut rows = self.left.min(batch.num_rows());
            self.left -= rows;
            if self.left == 0 {
                if rows > 0 {
                    self.last = Some(keys.iter().map(|key| key.slice(rows - 1, 1)).collect());
                }
                let last = self.last.as_ref().expect("a row was given");
                while rows < batch.num_rows() && are_equal(&keys, rows, last, 0) {
                    rows += 1;
                }
                if rows < batch.num_rows() {
                    self.last = None;
                }
            }
            return (rows > 0).then(|| Ok(batch.slice(0, rows)));
        }
    }
}
