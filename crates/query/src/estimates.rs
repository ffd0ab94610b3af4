//! How many rows are there, about?
//!
//! What a plan goes by before it has read anything: the rows of a table, the conditions on it, and the numbers that a query
//! says itself. They decide in which order tables are joined, and whether rows are looked up.

use std::sync::Arc;

use onlap_pg::bound::{Bound, EntryKind, Expr, ExprId, JoinTree, Literal, QueryId};

use crate::compile::{Compiler, Frame, MORE_STACK, RED_ZONE};
use crate::env::{Env, Read, Tables};

/// Rows of a query in FROM, where nothing is known of it.
pub const OF_A_QUERY: f64 = 1000.0;

/// What a query gives and reads, about: what EXPLAIN tells, for planners of others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Rows that it gives.
    pub rows: f64,
    /// Rows of tables that it reads for them.
    pub read: f64,
}

/// What a query gives and reads, about.
pub fn estimate(bound: &Bound, query: QueryId, tables: &dyn Tables, env: &Arc<Env>) -> Estimate {
    let frames = vec![Frame::new(query, None)];
    let compiler = Compiler { bound, env: Arc::clone(env), tables, carried: None, frames };
    let rows = compiler.rows_of_query(query);
    Estimate { rows, read: compiler.rows_read(query).max(rows) }
}

impl Compiler<'_> {
    /// How many rows of the tables in FROM a query reads, about: those that meet its conditions where an index begins with one of
    /// their columns, and else all.
    fn rows_read(&self, id: QueryId) -> f64 {
        let query = self.bound.query(id);
        let mut asked = Vec::new();
        query.filter.iter().for_each(|filter| self.conjuncts(*filter, &mut asked));
        let read = |(at, kind): (usize, &EntryKind)| match kind {
            EntryKind::Relation { oid, inherited, .. }
                if matches!(self.tables.view(*oid), Ok(None)) =>
            {
                let read = Read { relation: *oid, inherited: *inherited };
                let facts = self.tables.facts(read);
                let is_indexed = |id: &ExprId| match self.bound.expr(*id) {
                    Expr::Op(op) => {
                        let mut columns =
                            op.args.iter().filter_map(|arg| self.column_of(at + 1, *arg));
                        columns.any(|column| facts.indexed.contains(&column))
                    }
                    _ => false,
                };
                match asked.iter().any(is_indexed) {
                    true => self.rows_left(at + 1, read, &asked),
                    false => facts.rows,
                }
            }
            EntryKind::Query(inner) => {
                stacker::maybe_grow(RED_ZONE, MORE_STACK, || self.rows_read(*inner))
            }
            _ => 0.0,
        };
        query.entries.iter().map(|entry| &entry.kind).enumerate().map(read).sum()
    }

    /// How many rows of a table meet conditions, about.
    pub fn rows_left(&self, entry: usize, read: Read, conditions: &[ExprId]) -> f64 {
        let facts = self.tables.facts(read);
        let mut rows = facts.rows;
        for id in conditions {
            let column = match self.bound.expr(*id) {
                Expr::Op(op) if self.is_equality(*id) => {
                    op.args.iter().find_map(|arg| self.column_of(entry, *arg))
                }
                _ => None,
            };
            rows *= match column {
                Some(column) if facts.unique.contains(&column) => 0.0,
                Some(_) => 0.01,
                None => 0.4,
            };
        }
        rows.max(1.0)
    }

    /// How many rows a query in FROM gives, about: where little is known of it, more than a few.
    pub fn rows_of_query(&self, id: QueryId) -> f64 {
        let query = self.bound.query(id);
        let most = match query.limit.map(|limit| self.bound.expr(limit)) {
            Some(Expr::Literal(Literal::Int8(most))) => *most as f64,
            Some(Expr::Literal(Literal::Int(most))) => f64::from(*most),
            _ => f64::INFINITY,
        };
        let rows = match (&query.from[..], &query.set) {
            _ if query.modify.is_some() || query.has_sets => OF_A_QUERY,
            _ if query.has_aggregates && query.groups.is_empty() && query.sets.is_empty() => 1.0,
            ([], None) => 1.0,
            ([JoinTree::Entry(entry)], None) => match &query.entries[*entry - 1].kind {
                EntryKind::Values(rows) => rows.len() as f64,
                EntryKind::Query(inner) => self.rows_of_query(*inner),
                EntryKind::Relation { oid, inherited, sample: None, .. }
                    if matches!(self.tables.view(*oid), Ok(None)) =>
                {
                    let mut asked = Vec::new();
                    query.filter.iter().for_each(|filter| self.conjuncts(*filter, &mut asked));
                    let read = Read { relation: *oid, inherited: *inherited };
                    self.rows_left(*entry, read, &asked)
                }
                _ => OF_A_QUERY,
            },
            _ => OF_A_QUERY,
        };
        rows.min(most).max(1.0)
    }

    /// The same of a query that WITH names, some levels up.
    pub fn rows_of_cte(&self, name: &str, up: u32) -> f64 {
        let definer = (self.frames.len() - 1).checked_sub(up as usize);
        let query = definer.map(|definer| self.bound.query(self.frames[definer].query));
        let cte = query.and_then(|query| query.ctes.iter().find(|cte| *cte.name == *name));
        match cte {
            Some(cte) if !cte.recursive => self.rows_of_query(cte.query),
            _ => OF_A_QUERY,
        }
    }

    /// The expressions that a conjunction is of.
    fn conjuncts(&self, id: ExprId, out: &mut Vec<ExprId>) {
        match self.bound.expr(id) {
            Expr::And(all) => all.iter().for_each(|part| self.conjuncts(*part, out)),
            _ => out.push(id),
        }
    }
}
