//! How is EXISTS answered for many rows?
//!
//! Once per distinct set of the outer values that it uses ([`crate::apply`]), which reads its tables each time. Where its WHERE
//! asks that columns are equal to outer ones, and nothing else in it is from outside, it can be run once without these
//! conditions: a row's answer is whether its values are among the keys of what that gives. That is a semi join by hash, and
//! with NOT an anti join.
//!
//! It is for speed alone. It begins where the other way has been gone some times, so that a few rows read what an index
//! has for them; where the keys take too much memory, or a row that no outer one asks for has an error, the other way is
//! gone on.
//!
//! Thread safety: the keys are behind a lock, which is held while they are made.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::{ArrayRef, BooleanArray};
use datafusion_execution::TaskContext;
use datafusion_physical_plan::execution_plan::reset_plan_states;
use datafusion_physical_plan::{ExecutionPlan, execute_stream};
use futures::StreamExt;
use onlap_kernels::Col;
use onlap_pg::bound::{EntryKind, Expr, ExprId, JoinTree, QueryId};
use onlap_pg::{Oid, Result, TypeRef};
use parking_lot::Mutex;

use crate::apply::Results;
use crate::compile::Compiler;
use crate::env::{Env, Read};
use crate::error::ours;
use crate::keys::{KeySet, keys};
use crate::node::{Node, Rows, Spread};
use crate::within::gives_its_rows;

/// Bytes of keys above which the other way is gone on.
const KEYS_BYTES: usize = 8 << 20;
/// Runs of the other way before this one, where each reads all rows.
const FEW_RUNS: u64 = 3;
/// Rows whose keys are made in the time of one look into an index, about.
const ROWS_PER_LOOKUP: f64 = 200.0;

/// The keys of all rows that EXISTS can find.
pub struct Semi {
    plan: Arc<dyn ExecutionPlan>,
    /// What is looked up, with its types.
    pub sides: Vec<(Node, Oid)>,
    /// Runs of the other way that come before.
    after: u64,
    /// The rounds of recursive queries around it: in each it may give something else.
    rounds: Vec<Arc<AtomicU64>>,
    known: Mutex<Known>,
}

enum Known {
    Nothing,
    /// In this round, of all rounds around it.
    Keys(u64, Arc<KeySet>),
    /// It takes too much, or has an error.
    GivenUp,
}

/// An equality of an outer column with what a query has of its own.
pub struct Link {
    /// The condition.
    pub condition: ExprId,
    /// The query's own side.
    pub key: ExprId,
    /// The outer column: its entry, its number, and levels up from the query.
    outer: (usize, i32, u32),
    ty: TypeRef,
}

impl Semi {
    /// The answers for rows, where this way is gone; `other` is the other one.
    pub fn eval(&self, other: &Results, rows: &Rows<'_>, env: &Env) -> Result<Option<Col>> {
        if other.runs() < self.after {
            return Ok(None);
        }
        let Some(known) = self.keys(env)? else { return Ok(None) };
        let mut left: Vec<ArrayRef> = Vec::with_capacity(self.sides.len());
        for (side, ty) in &self.sides {
            let array = side.eval(rows, env)?.spread(rows.count, env)?;
            left.push(keys(env, *ty, &array)?);
        }
        let mut key = Vec::new();
        let found = (0..rows.count).map(|row| {
            let is_null = left.iter().any(|column| column.is_null(row));
            !is_null && known.contains_row(&left, row, &mut key)
        });
        Ok(Some(Col::new(Arc::new(BooleanArray::from(found.collect::<Vec<bool>>())))))
    }

    fn keys(&self, env: &Env) -> Result<Option<Arc<KeySet>>> {
        let round = self.rounds.iter().map(|round| round.load(Ordering::Relaxed)).sum();
        let mut known = self.known.lock();
        match &*known {
            Known::GivenUp => return Ok(None),
            Known::Keys(of, keys) if *of == round => return Ok(Some(Arc::clone(keys))),
            _ => {}
        }
        let made = self.run(env);
        // What ends the statement is no error of the query's rows.
        env.session.go_on()?;
        let keys = made.unwrap_or(None).map(Arc::new);
        *known = match &keys {
            Some(keys) => Known::Keys(round, Arc::clone(keys)),
            None => Known::GivenUp,
        };
        Ok(keys)
    }

    fn run(&self, env: &Env) -> Result<Option<KeySet>> {
        let context = env.context.lock().clone();
        let context: Arc<TaskContext> = context.expect("a plan runs with a context");
        let plan = reset_plan_states(Arc::clone(&self.plan)).map_err(ours)?;
        tokio::task::block_in_place(|| {
            env.handle.block_on(async {
                let mut stream = execute_stream(plan, context).map_err(ours)?;
                let mut found = KeySet::default();
                while let Some(batch) = stream.next().await {
                    let batch = batch.map_err(ours)?;
                    let sides = self.sides.iter().zip(batch.columns());
                    let keyed = sides.map(|((_, ty), column)| keys(env, *ty, column));
                    let before = found.bytes();
                    found.add_rows(&keyed.collect::<Result<Vec<ArrayRef>>>()?);
                    if found.bytes() > KEYS_BYTES {
                        return Ok(None);
                    }
                    env.session.room(found.bytes() - before)?;
                }
                Ok(Some(found))
            })
        })
    }
}

impl Compiler<'_> {
    /// EXISTS by keys, where that is possible.
    ///
    /// # Errors
    /// Those of constants.
    pub fn semi(&mut self, id: QueryId) -> Result<Option<Semi>> {
        let Some(links) = self.links(id) else { return Ok(None) };
        let mut sides = Vec::with_capacity(links.len());
        let after = self.runs_before(id, &links);
        for Link { outer: (entry, column, up), ty, .. } in &links {
            sides.push((self.var((*entry, *column), up - 1, *ty)?, ty.oid));
        }
        let rounds = self.rounds();
        // What the other way can do, this one may not: then the other is gone.
        let Ok((rel, _, params)) = self.keyed_by(id, links) else { return Ok(None) };
        if !params.is_empty() {
            return Ok(None);
        }
        let known = Mutex::new(Known::Nothing);
        Ok(Some(Semi { plan: rel.plan, sides, after, rounds, known }))
    }

    /// The equalities with outer columns in a query's WHERE; `None` where there are none, or the query is not of this kind.
    fn links(&self, id: QueryId) -> Option<Vec<Link>> {
        let query = self.bound.query(id);
        let filter = query.filter?;
        if query.from.is_empty() || !gives_its_rows(query) || self.is_query_volatile(id) {
            return None;
        }
        let parts = match self.bound.expr(filter) {
            Expr::And(all) => &all[..],
            _ => &[filter],
        };
        let links: Vec<Link> = parts.iter().filter_map(|part| self.link(*part)).collect();
        (!links.is_empty()).then_some(links)
    }

    fn link(&self, condition: ExprId) -> Option<Link> {
        let Expr::Op(op) = self.bound.expr(condition) else { return None };
        let operator = self.env.catalog.operator(op.operator)?;
        let is_equal = operator.name == "=" && operator.can_hash && operator.left == operator.right;
        let [left, right] = op.args[..] else { return None };
        if !is_equal || op.set || self.undetermined(condition, op.proc).is_some() {
            return None;
        }
        let outer = |id: ExprId| match self.bound.expr(id) {
            Expr::Var { entry, column, up } if *up > 0 && *column > 0 => {
                Some((*entry, *column, *up))
            }
            _ => None,
        };
        let (key, from, outer) = match (outer(left), outer(right)) {
            (Some(of), None) => (right, left, of),
            (None, Some(of)) => (left, right, of),
            _ => return None,
        };
        let (key_ty, ty) = (self.bound.ty(key), self.bound.ty(from));
        (self.is_own(key) && key_ty.oid == ty.oid).then_some(Link { condition, key, outer, ty })
    }

    /// Whether an expression is of its query's own columns alone.
    fn is_own(&self, id: ExprId) -> bool {
        let (mut own, mut named) = (true, false);
        self.bound.visit(id, 0, &mut |id, _| {
            match self.bound.expr(id) {
                Expr::Var { up, .. } => (own, named) = (own && *up == 0, true),
                Expr::SubQuery(_) => own = false,
                _ => {}
            }
            own
        });
        own && named
    }

    /// How often the other way is worth going: it looks into an index, or reads all rows each time.
    fn runs_before(&self, id: QueryId, links: &[Link]) -> u64 {
        let query = self.bound.query(id);
        let [JoinTree::Entry(entry)] = query.from[..] else { return FEW_RUNS };
        let EntryKind::Relation { oid, inherited, .. } = query.entries[entry - 1].kind else {
            return FEW_RUNS;
        };
        let facts = self.tables.facts(Read { relation: oid, inherited });
        let is_indexed = |link: &Link| {
            matches!(self.bound.expr(link.key), Expr::Var { entry: of, column, up: 0 }
                if *of == entry && facts.indexed.contains(column))
        };
        match links.iter().any(is_indexed) {
            true => (facts.rows / ROWS_PER_LOOKUP) as u64 + FEW_RUNS,
            false => FEW_RUNS,
        }
    }
}
