//! Which column of which relation is a column of an answer?
//!
//! RowDescription tells clients: drivers show it, and update rows by it. A column that a join, a query in FROM or one of WITH
//! hands on is still the relation's; one that is calculated is none.

use onlap_pg::bound::{Bound, EntryKind, Expr, ExprId, QueryId};

use super::tables::Known;

/// The relation's OID and the column's number there, for each column of an answer; zeros where it is none.
pub fn of_answer(bound: &Bound, query: QueryId, tables: &Known) -> Vec<(u32, i16)> {
    let of = Origins { bound, tables };
    (0..bound.columns(query).len())
        .map(|at| of.within(query, at, DEEPEST).unwrap_or_default())
        .collect()
}

/// Queries within each other that are looked into.
const DEEPEST: usize = 64;

struct Origins<'a> {
    bound: &'a Bound,
    tables: &'a Known,
}

impl Origins<'_> {
    fn origin(&self, query: QueryId, value: ExprId, deepest: usize) -> Option<(u32, i16)> {
        let Expr::Var { entry, column, up: 0 } = self.bound.expr(value) else { return None };
        let (at, deepest) =
            (usize::try_from(*column).ok()?.checked_sub(1)?, deepest.checked_sub(1)?);
        let of = self.bound.query(query);
        match &of.entries.get(entry.checked_sub(1)?)?.kind {
            EntryKind::Relation { oid, .. } => {
                let number = match self.tables.handle(*oid) {
                    Some(table) => i16::try_from(table.schema.columns.get(at)?.id.0).ok()? + 1,
                    None => i16::try_from(*column).ok()?,
                };
                Some((*oid, number))
            }
            EntryKind::Query(inner) => self.within(*inner, at, deepest),
            EntryKind::Join { columns, .. } => self.origin(query, *columns.get(at)?, deepest),
            EntryKind::Cte { name, up: 0, own: false } => {
                let cte = of.ctes.iter().find(|cte| cte.name == *name)?;
                self.within(cte.query, at, deepest)
            }
            _ => None,
        }
    }

    /// Of a query's column.
    fn within(&self, query: QueryId, at: usize, deepest: usize) -> Option<(u32, i16)> {
        let of = self.bound.query(query);
        if of.set.is_some() {
            return None;
        }
        let target = of.output().iter().filter(|target| !target.hidden).nth(at)?;
        self.origin(query, target.value, deepest)
    }
}
