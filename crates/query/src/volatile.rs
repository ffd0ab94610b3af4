//! What may give something else each time, or do something?

use onlap_pg::Oid;
use onlap_pg::bound::{Bound, EntryKind, Expr, ExprId, Part, QueryId};
use onlap_pg::catalog::{Catalog, Volatility};

use crate::compile::Compiler;
use crate::effects::Effect;
use crate::env::Tables;

/// Views within each other that are looked into; deeper ones count as volatile.
const DEEPEST: usize = 64;

impl Compiler<'_> {
    /// Whether an expression calls a function that is volatile, with the queries in it and the views that these read.
    pub fn is_volatile(&self, id: ExprId) -> bool {
        self.is_part_volatile(Part::Expr(id))
    }

    /// Whether a query does.
    pub fn is_query_volatile(&self, query: QueryId) -> bool {
        self.is_part_volatile(Part::Query(query))
    }

    /// Whether calculating an expression may do something: it calls a function that gives something else each time, and is not
    /// known to do no more than that.
    pub fn acts(&self, id: ExprId) -> bool {
        let mut acts = false;
        self.bound.visit(id, 0, &mut |id, _| {
            acts |= called(self.bound, id).is_some_and(|proc| {
                let proc = self.env.catalog.proc(proc);
                proc.is_some_and(|proc| Effect::of(proc).acts())
            });
            !acts
        });
        acts
    }

    fn is_part_volatile(&self, part: Part) -> bool {
        is_volatile(self.bound, part, &self.env.catalog, self.tables, DEEPEST)
    }
}

fn is_volatile(
    bound: &Bound,
    part: Part,
    catalog: &Catalog,
    tables: &dyn Tables,
    deeper: usize,
) -> bool {
    let (mut found, mut queries) = (false, Vec::new());
    bound.visit_part(part, 0, &mut |id, _| {
        found |= is_volatile_call(bound, id, catalog);
        if let Expr::SubQuery(sub) = bound.expr(id) {
            queries.push(sub.query);
        }
        !found
    });
    if let Part::Query(query) = part {
        queries.push(query);
    }
    while let Some(query) = queries.pop().filter(|_| !found) {
        for entry in &bound.query(query).entries {
            let EntryKind::Relation { oid, .. } = &entry.kind else { continue };
            found |= match tables.view(*oid) {
                Ok(Some(view)) if deeper > 0 => {
                    is_volatile(&view.0, Part::Query(view.1), catalog, tables, deeper - 1)
                }
                Ok(None) => false,
                // What is wrong with it is said where it is read.
                Ok(Some(_)) | Err(_) => true,
            };
        }
        let inner = bound.parts(query).into_iter();
        queries.extend(inner.filter_map(|part| match part {
            Part::Query(query) => Some(query),
            Part::Expr(_) => None,
        }));
    }
    found
}

/// Whether an expression itself is a call that may give something else each time.
fn is_volatile_call(bound: &Bound, id: ExprId, catalog: &Catalog) -> bool {
    let proc = called(bound, id).and_then(|proc| catalog.proc(proc));
    proc.is_some_and(|proc| proc.volatility == Volatility::Volatile)
}

fn called(bound: &Bound, id: ExprId) -> Option<Oid> {
    match bound.expr(id) {
        Expr::Call(call) => Some(call.proc),
        Expr::Op(op) | Expr::Distinct(op) | Expr::NullIf(op) | Expr::ArrayOp(op, _) => {
            Some(op.proc)
        }
        _ => None,
    }
}
