//! What do the parts of a statement share whose WITH changes rows?
//!
//! Each statement of WITH that changes rows is a part of its own, with steps of its own, and so is the statement that has
//! the WITH. The caller carries the parts out one after the other and puts down here what RETURNING gave; the steps of later
//! parts read it as the rows of WITH. Other queries of WITH run once for all parts: their rows are kept here, and so are the
//! same for each.
//!
//! Thread safety: shared by the steps of all parts.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::DataType;
use datafusion_common::DataFusionError;
use datafusion_execution::TaskContext;
use datafusion_physical_plan::ExecutionPlan;
use onlap_pg::Result;
use onlap_pg::bound::{Bound, Cte, Part, Query, QueryId};
use parking_lot::Mutex;

use crate::build::Rel;
use crate::columns::schema_of;
use crate::compile::Compiler;
use crate::recursion::Shared;
use crate::step::{Step, stream_of};

/// Rows that parts gave, by the query of the part.
type Given = Arc<Mutex<HashMap<QueryId, Vec<RecordBatch>>>>;

/// What the parts of a statement have given so far.
#[derive(Default)]
pub struct Carried {
    given: Given,
    /// Queries of WITH that several parts may read, by query.
    pub(crate) kept: Mutex<HashMap<QueryId, Shared>>,
}

impl Carried {
    /// Puts down what RETURNING of a part gave. The caller charges for it.
    pub fn give(&self, part: QueryId, rows: Vec<RecordBatch>) {
        self.given.lock().insert(part, rows);
    }
}

/// The parts of a statement in the order in which they are carried out: first those whose rows the statement itself reads,
/// each behind those that it reads itself; then the statement; then those that it does not read, the last first. That is the
/// order of PostgreSQL's, which shows where two parts change the same row.
pub fn parts(bound: &Bound, statement: QueryId) -> Vec<QueryId> {
    let query = bound.query(statement);
    if !query.changes_within {
        return vec![statement];
    }
    let mut order = Order { bound, query, seen: vec![false; query.ctes.len()], parts: Vec::new() };
    order.visit_all(&used(bound, statement, query));
    order.parts.push(statement);
    for at in (0..query.ctes.len()).rev() {
        if bound.query(query.ctes[at].query).modify.is_some() {
            order.visit(at);
        }
    }
    order.parts
}

struct Order<'a> {
    bound: &'a Bound,
    query: &'a Query,
    seen: Vec<bool>,
    parts: Vec<QueryId>,
}

impl Order<'_> {
    fn visit_all(&mut self, all: &[usize]) {
        all.iter().for_each(|at| self.visit(*at));
    }

    fn visit(&mut self, at: usize) {
        if std::mem::replace(&mut self.seen[at], true) {
            return;
        }
        let query = self.query.ctes[at].query;
        self.visit_all(&used(self.bound, query, self.query));
        if self.bound.query(query).modify.is_some() {
            self.parts.push(query);
        }
    }
}

/// Which queries of a statement's WITH a query of it reads, by place.
fn used(bound: &Bound, query: QueryId, statement: &Query) -> Vec<usize> {
    let mut found = Vec::new();
    let is_whole = std::ptr::eq(bound.query(query), statement);
    let mut open = vec![(Part::Query(query), u32::from(!is_whole))];
    while let Some((part, up)) = open.pop() {
        let Part::Query(id) = part else {
            if let Part::Expr(id) = part {
                let inner = bound.expr(id).parts().into_iter();
                open.extend(
                    inner.map(|part| (part, up + u32::from(matches!(part, Part::Query(_))))),
                );
            }
            continue;
        };
        for entry in &bound.query(id).entries {
            if let onlap_pg::bound::EntryKind::Cte { name, up: of, .. } = &entry.kind
                && *of == up
            {
                found.extend(statement.ctes.iter().position(|cte| cte.name == *name));
            }
        }
        let own = |part: &Part| {
            let of_with = |cte: &Cte| *part == Part::Query(cte.query);
            !(is_whole && up == 0 && statement.ctes.iter().any(of_with))
        };
        let inner = bound.parts(id).into_iter().rev().filter(own);
        open.extend(inner.map(|part| (part, up + u32::from(matches!(part, Part::Query(_))))));
    }
    found
}

impl Compiler<'_> {
    /// The rows that a part gave.
    ///
    /// # Errors
    /// A type without a representation.
    pub fn given_rows(&self, cte: &Cte, carried: &Carried) -> Result<Rel> {
        let types: Vec<DataType> =
            cte.types.iter().map(|ty| self.arrow(ty.oid)).collect::<Result<_>>()?;
        let schema = schema_of(&types);
        let (given, query, out) = (Arc::clone(&carried.given), cte.query, Arc::clone(&schema));
        let run = move |_: Vec<Arc<dyn ExecutionPlan>>, _: Arc<TaskContext>| {
            let rows = given.lock().get(&query).cloned().unwrap_or_default();
            let schema = Arc::clone(&out);
            let rows = rows.into_iter().map(move |batch| {
                RecordBatch::try_new(Arc::clone(&schema), batch.columns().to_vec())
                    .map_err(DataFusionError::from)
            });
            Ok(stream_of(Arc::clone(&out), futures::stream::iter(rows)))
        };
        let step = Step::make("CTE Scan", "", Vec::new(), schema, Arc::new(run));
        Ok(Rel { plan: step, types: cte.types.clone() })
    }
}
