//! How many rows are there, about?
//!
//! What a plan goes by before it has read anything: the rows of a table, the conditions on it, and the numbers that a query
//! says itself. They decide in which order tables are joined, and whether rows are looked up.

use std::sync::Arc;

use onlap_pg::bound::{
    Bound, Call, EntryKind, Expr, ExprId, JoinTree, Literal, ModifyKind, Query, QueryId,
};

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
    let Some(modify) = &bound.query(query).modify else {
        let (all, rows) = (compiler.rows_unlimited(query), compiler.rows_of_query(query));
        let read = compiler.rows_read(query).max(all);
        let share = if rows < all { rows / all * OF_A_LIMIT } else { 1.0 };
        return Estimate { rows, read: read * share };
    };
    let changed = compiler.rows_changed(query);
    let rows = if modify.returning.is_empty() { 0.0 } else { changed };
    Estimate { rows, read: compiler.rows_read(query).max(changed) }
}

/// What LIMIT makes less of its share of the cost, as in postgres_fdw's own estimates: planners of others are to prefer a LIMIT over
/// there to rows that come and are not wanted.
const OF_A_LIMIT: f64 = 0.95;

/// PostgreSQL's function that makes int8 of int4.
const TO_INT8: onlap_pg::Oid = 481;

impl Compiler<'_> {
    /// How many rows of the tables in FROM a query reads, about: those that meet its conditions where an index begins with one of
    /// their columns, and else all.
    fn rows_read(&self, id: QueryId) -> f64 {
        let query = self.bound.query(id);
        let mut asked = Vec::new();
        query.filter.iter().for_each(|filter| self.conjuncts(*filter, &mut asked));
        // INSERT reads nothing of its table.
        let into = query.modify.as_ref().filter(|of| of.kind == ModifyKind::Insert);
        let into = into.map(|of| of.entry);
        let read = |(at, kind): (usize, &EntryKind)| match kind {
            _ if into == Some(at + 1) => 0.0,
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
        let limit = self.bound.query(id).limit.and_then(|limit| self.number(limit));
        self.rows_unlimited(id).min(limit.unwrap_or(f64::INFINITY)).max(1.0)
    }

    fn rows_unlimited(&self, id: QueryId) -> f64 {
        let query = self.bound.query(id);
        let rows = match (&query.from[..], &query.set) {
            _ if query.modify.is_some() || query.has_sets => OF_A_QUERY,
            _ if query.has_aggregates && query.groups.is_empty() && query.sets.is_empty() => 1.0,
            _ => self.rows_joined(query),
        };
        rows.max(1.0)
    }

    /// How many rows FROM and WHERE give, about.
    fn rows_joined(&self, query: &Query) -> f64 {
        match (&query.from[..], &query.set) {
            ([], None) => 1.0,
            ([JoinTree::Entry(entry)], None) => match &query.entries[*entry - 1].kind {
                EntryKind::Values(rows) => rows.len() as f64,
                EntryKind::Query(inner) => {
                    stacker::maybe_grow(RED_ZONE, MORE_STACK, || self.rows_of_query(*inner))
                }
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
        }
    }

    /// How many rows a statement inserts, changes or deletes, about.
    fn rows_changed(&self, id: QueryId) -> f64 {
        let query = self.bound.query(id);
        match query.has_sets {
            true => OF_A_QUERY,
            false => self.rows_joined(query).max(1.0),
        }
    }

    /// A number that is known before anything runs. LIMIT makes int8 of what it is given.
    fn number(&self, id: ExprId) -> Option<f64> {
        match self.bound.expr(id) {
            Expr::Literal(Literal::Int8(number)) => Some(*number as f64),
            Expr::Literal(Literal::Int(number)) => Some(f64::from(*number)),
            Expr::Literal(Literal::Text(text)) => text.trim().parse::<i64>().ok().map(|n| n as f64),
            Expr::Call(Call { proc, args, .. }) if *proc == TO_INT8 => match args[..] {
                [(_, arg)] => self.number(arg),
                _ => None,
            },
            _ => None,
        }
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
