//! How is `count(DISTINCT value)` carried out where nothing else is calculated for the groups?
//!
//! As groups of groups: rows are grouped by the keys and the value, and what that leaves is counted. What another aggregate
//! of distinct rows holds grows with the rows ([`crate::aggregates::Collected`]); groups are written to files where there is no
//! memory for them.

use std::sync::Arc;

use datafusion_physical_plan::ExecutionPlan;
use onlap_kernels::{Types, find_aggregate};
use onlap_pg::bound::{Aggregate, Expr, ExprId, Query};
use onlap_pg::{Oid, Result};

use crate::compile::Compiler;
use crate::group::{Found, Grouped};
use crate::group_parts::Parts;
use crate::node::Node;

type Plan = Arc<dyn ExecutionPlan>;

/// count("any") in pg_proc.
const COUNT: Oid = 2147;

impl<'a> Compiler<'a> {
    /// The one aggregate of a query, if it counts distinct values of all its rows.
    pub fn distinct_count(&self, query: &Query, aggregates: &[ExprId]) -> Option<&'a Aggregate> {
        let [id] = aggregates else { return None };
        let Expr::Aggregate(call) = self.bound.expr(*id) else { return None };
        let is_plain = query.sets.is_empty() && !query.depends_on_keys && call.up == 0;
        let counts = call.proc == COUNT && call.distinct.len() == 1 && call.filter.is_none();
        (is_plain && counts).then_some(call)
    }

    /// Groups of a query whose one aggregate, `id`, counts the distinct values of `call`.
    ///
    /// # Errors
    /// `0A000`: the values of a type have no order here.
    pub fn count_distinct(
        &mut self,
        query: &Query,
        id: ExprId,
        call: &Aggregate,
        plan: Plan,
    ) -> Result<Grouped> {
        let bound = self.bound;
        let (mut inner, mut shown) = (Parts::default(), Vec::new());
        for item in &query.groups {
            let value = self.target_of(query, item).value;
            let ty = bound.ty(value);
            let (node, again) = (self.node(value)?, self.node(value)?);
            shown.push((value, ty, self.keyed(&mut inner, node, again, ty)?));
        }
        let counted = call.args.iter().find(|target| !target.hidden);
        let counted = counted.expect("count(\"any\") has an argument").value;
        let node = self.node(counted)?;
        let (key, key_ty) = self.key_node(node, bound.ty(counted))?;
        let at = inner.add(key, key_ty.clone());
        inner.keys.push(at);
        let (plan, _) = self.grouped(plan, &inner, None, query)?;

        let keys = inner.keys.len();
        let (mut outer, mut found) = (Parts::default(), Vec::new());
        for key in &inner.keys[..keys - 1] {
            let at = outer.add(Node::Column(outer.keys.len()), inner.input[*key].1.clone());
            outer.keys.push(at);
        }
        for (value, ty, place) in shown {
            let place = match place {
                Found::Key(at) => Found::Key(at),
                Found::Call(at) => {
                    let own = self.arrow(ty.oid)?;
                    Found::Call(outer.first(Node::Column(keys + at), own))
                }
            };
            found.push((value, ty, place));
        }
        let result = bound.ty(id);
        let of =
            Types { args: vec![bound.ty(counted)], result, catalog: Arc::clone(&self.env.catalog) };
        let make = find_aggregate(call.proc).expect("count is served");
        let at = outer.add(Node::Column(keys - 1), key_ty);
        let states = Arc::new(move || make(&of));
        outer.calls.push((states, vec![at], None, self.arrow(result.oid)?));
        found.push((id, result, Found::Call(outer.calls.len() - 1)));
        let (plan, _) = self.grouped(plan, &outer, None, query)?;
        Ok(Grouped { plan, parts: outer, found })
    }
}
