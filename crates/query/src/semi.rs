//! How is EXISTS answered for many rows?
//!
//! Once per distinct set of the outer values that it uses ([`crate::apply`]), which reads its tables each time. Where its WHERE
//! asks that something of its own is equal to something from outside, it can be run once without the conditions that look
//! outside: a row's answer is whether its values are among the keys of what that gives, and, where other conditions look
//! outside, whether one of the rows with its key meets them. That is a semi join by hash, and with NOT an anti join.
//!
//! It is for speed alone. It begins where the other way has been gone some times, so that a few rows read what an index
//! has for them; where the keys and rows take too much memory, or anything has an error that the other way might not meet,
//! the other way is gone on.
//!
//! Thread safety: the keys are behind a lock, which is held while they are made; outer values are in slots, as of any query in an
//! expression, which one thread at a time fills.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::{ArrayRef, BooleanArray};
use datafusion_execution::TaskContext;
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion_physical_plan::execution_plan::reset_plan_states;
use datafusion_physical_plan::{ExecutionPlan, execute_stream};
use futures::StreamExt;
use onlap_kernels::Col;
use onlap_pg::bound::{EntryKind, Expr, ExprId, JoinTree, QueryId};
use onlap_pg::catalog::oids;
use onlap_pg::{Oid, Result, TypeRef};
use parking_lot::Mutex;

use crate::apply::Results;
use crate::build::Rel;
use crate::compile::{Boundary, Compiler, Frame};
use crate::env::{Env, Read};
use crate::error::ours;
use crate::keys::{KeySet, key_bytes, keys, wide};
use crate::layout::{Layout, Var};
use crate::matched::{Matched, Matches};
use crate::node::{Node, Rows, Slots, Spread, truth};
use crate::within::{Told, gives_its_rows};

/// Bytes of keys above which the other way is gone on.
const KEYS_BYTES: usize = 8 << 20;
/// Runs of the other way before this one, where each reads all rows.
const FEW_RUNS: u64 = 3;
/// Rows whose keys are made in the time of one look into an index, about.
const ROWS_PER_LOOKUP: f64 = 200.0;

/// Bytes of rows above which the other way is gone on, where conditions are asked of them.
const ROWS_BYTES: usize = 32 << 20;
/// Rows of which conditions are asked at once, at first and at most.
const FIRST_ROWS: usize = 64;
const ROWS_AT_ONCE: usize = 8192;
/// Bytes of answers above which they are forgotten, and what each takes with its values.
const ANSWERS_BYTES: usize = 4 << 20;
const ANSWER_BYTES: usize = 48;

/// The keys of all rows that EXISTS can find.
pub struct Semi {
    plan: Arc<dyn ExecutionPlan>,
    slots: Slots,
    /// The outer values that it uses.
    pub params: Vec<Node>,
    /// What is looked up.
    sides: Vec<Side>,
    /// What is asked of the rows with a key, over the columns that they have behind it.
    rest: Option<Node>,
    /// Runs of the other way that come before, in each round.
    after: u64,
    /// The rounds of recursive queries around it: in each it may give something else.
    rounds: Vec<Arc<AtomicU64>>,
    known: Mutex<Known>,
    /// The round under way, and how often the other way had been gone when it began.
    began: Mutex<(u64, u64)>,
    /// Answers by outer values, where a row is asked more than its key.
    answers: Mutex<Answers>,
}

/// What is known of outer values.
#[derive(Default)]
struct Answers {
    of: HashMap<Box<[u8]>, bool>,
    bytes: usize,
    memory: Option<MemoryReservation>,
    round: u64,
}

/// What is looked up, of outer values.
struct Side {
    node: Node,
    /// Its place among the outer values, where it is one of them as it stands.
    at: Option<usize>,
    ty: Oid,
    /// Whether the other side may be an integer of another width.
    widens: bool,
}

enum Known {
    Nothing,
    /// In this round, of all rounds around it.
    Found(u64, Arc<Found>),
    /// It takes too much, or has an error.
    GivenUp,
}

/// What it gives, and what that takes of the statement's memory.
struct Found {
    given: Keyed,
    memory: MemoryReservation,
}

enum Keyed {
    Keys(KeySet),
    /// Where conditions are asked of rows.
    Rows(Matched),
}

/// An equality of something from outside with what a query has of its own.
#[derive(Clone)]
pub struct Link {
    /// The condition.
    pub condition: ExprId,
    /// The query's own side.
    pub key: ExprId,
    /// The other side.
    from: ExprId,
    /// The other side's type.
    ty: TypeRef,
    widens: bool,
}

/// What a query looks for outside by.
struct Outside {
    links: Vec<Link>,
    /// Other conditions that name something from outside.
    rest: Vec<ExprId>,
}

impl Side {
    /// The key column of values.
    fn keys(&self, env: &Env, values: &ArrayRef) -> Result<ArrayRef> {
        let keyed = keys(env, self.ty, values)?;
        Ok(if self.widens { wide(&keyed) } else { keyed })
    }
}

impl Semi {
    /// The answers for rows, where this way is gone; `other` is the other one.
    ///
    /// # Errors
    /// What ends the statement.
    pub fn eval(&self, other: &Results, rows: &Rows<'_>, env: &Env) -> Result<Option<Col>> {
        let round = self.rounds.iter().map(|round| round.load(Ordering::Relaxed)).sum();
        if other.runs() < self.runs_before_round(round, other) + self.after {
            return Ok(None);
        }
        let Some(found) = self.found(round, env)? else { return Ok(None) };
        let answers = self.answers(&found, round, rows, env);
        // What ends the statement is no error of the query's rows.
        env.session.go_on()?;
        Ok(match answers {
            Ok(answers) => Some(Col::new(Arc::new(BooleanArray::from(answers)))),
            Err(_) => {
                *self.known.lock() = Known::GivenUp;
                None
            }
        })
    }

    /// How often the other way had been gone when a round began.
    fn runs_before_round(&self, round: u64, other: &Results) -> u64 {
        let mut began = self.began.lock();
        if began.0 != round {
            *began = (round, other.runs());
        }
        began.1
    }

    fn answers(&self, found: &Found, round: u64, rows: &Rows<'_>, env: &Env) -> Result<Vec<bool>> {
        let mut params = Vec::with_capacity(self.params.len());
        for param in &self.params {
            params.push(param.eval(rows, env)?);
        }
        let mut plain = Vec::with_capacity(self.sides.len());
        for side in &self.sides {
            let Some(at) = side.at else { break };
            let values = Col { array: Arc::clone(&params[at].array), ..params[at] };
            plain.push(side.keys(env, &values.spread(rows.count, env)?)?);
        }
        let are_plain = plain.len() == self.sides.len();
        let by_values = !are_plain || self.rest.is_some();
        let (mut answers, mut bytes) = (Vec::with_capacity(rows.count), Vec::new());
        let mut values = Vec::new();
        for row in 0..rows.count {
            if by_values {
                values.clear();
                params.iter().for_each(|param| key_bytes(&param.array, param.at(row), &mut values));
                if let Some(known) = self.known_of(round, &values) {
                    answers.push(known);
                    continue;
                }
                *self.slots.lock() =
                    params.iter().map(|param| param.array.slice(param.at(row), 1)).collect();
            }
            let calculated = if are_plain { Vec::new() } else { self.calculated(env)? };
            let (left, at) = if are_plain { (&plain, row) } else { (&calculated, 0) };
            let answer = match &found.given {
                _ if left.iter().any(|column| column.is_null(at)) => false,
                Keyed::Keys(keys) => keys.contains_row(left, at, &mut bytes),
                Keyed::Rows(matched) => self.meets(matched, left, at, &mut bytes, env)?,
            };
            if by_values {
                self.note(&values, answer, found);
            }
            answers.push(answer);
        }
        Ok(answers)
    }

    fn known_of(&self, round: u64, values: &[u8]) -> Option<bool> {
        let mut answers = self.answers.lock();
        if answers.round != round {
            *answers = Answers { round, ..Answers::default() };
        }
        answers.of.get(values).copied()
    }

    /// Remembers an answer, where the statement has memory for it.
    fn note(&self, values: &[u8], answer: bool, found: &Found) {
        let mut answers = self.answers.lock();
        let bytes = values.len() + ANSWER_BYTES;
        if answers.bytes + bytes > ANSWERS_BYTES {
            *answers = Answers { round: answers.round, ..Answers::default() };
        }
        if answers.memory.is_none() {
            answers.memory = Some(found.memory.new_empty());
        }
        let grown = answers.memory.as_ref().is_some_and(|memory| memory.try_grow(bytes).is_ok());
        if grown {
            answers.bytes += bytes;
            answers.of.insert(values.into(), answer);
        }
    }

    /// The key of the row whose values are in the slots.
    fn calculated(&self, env: &Env) -> Result<Vec<ArrayRef>> {
        let none = Rows { columns: &[], count: 1 };
        let key = |side: &Side| side.keys(env, &side.node.eval(&none, env)?.spread(1, env)?);
        self.sides.iter().map(key).collect()
    }

    /// Whether a row with a key meets the conditions that look outside, whose values are in the slots.
    fn meets(
        &self,
        matched: &Matched,
        left: &[ArrayRef],
        at: usize,
        bytes: &mut Vec<u8>,
        env: &Env,
    ) -> Result<bool> {
        let rest = self.rest.as_ref().expect("rows are kept for it");
        let Some(of_key) = matched.rows(left, at, bytes) else { return Ok(false) };
        // One of the first may be enough.
        let (mut from, mut most) = (of_key.start, FIRST_ROWS);
        while from < of_key.end {
            let count = (of_key.end - from).min(most);
            most = (most * 4).min(ROWS_AT_ONCE);
            let columns = matched.columns(from, count);
            let holds = rest.eval(&Rows { columns: &columns, count }, env)?;
            if (0..count).any(|row| truth(&holds, row) == Some(true)) {
                return Ok(true);
            }
            if count == ROWS_AT_ONCE {
                env.session.go_on()?;
            }
            from += count;
        }
        Ok(false)
    }

    fn found(&self, round: u64, env: &Env) -> Result<Option<Arc<Found>>> {
        let mut known = self.known.lock();
        match &*known {
            Known::GivenUp => return Ok(None),
            Known::Found(of, found) if *of == round => return Ok(Some(Arc::clone(found))),
            _ => {}
        }
        let made = self.run(env);
        // What ends the statement is no error of the query's rows.
        env.session.go_on()?;
        let found = made.unwrap_or(None).map(Arc::new);
        *known = match &found {
            Some(found) => Known::Found(round, Arc::clone(found)),
            None => Known::GivenUp,
        };
        Ok(found)
    }

    fn run(&self, env: &Env) -> Result<Option<Found>> {
        let context = env.context.lock().clone();
        let context: Arc<TaskContext> = context.expect("a plan runs with a context");
        let memory = MemoryConsumer::new("keys of EXISTS").register(context.memory_pool());
        let plan = reset_plan_states(Arc::clone(&self.plan)).map_err(ours)?;
        tokio::task::block_in_place(|| {
            env.handle.block_on(async {
                let mut stream = execute_stream(plan, context).map_err(ours)?;
                let (mut set, mut matches) = (KeySet::default(), Matches::default());
                while let Some(batch) = stream.next().await {
                    let batch = batch.map_err(ours)?;
                    let sides = self.sides.iter().zip(batch.columns());
                    let keyed = sides.map(|(side, column)| side.keys(env, column));
                    let keyed = keyed.collect::<Result<Vec<ArrayRef>>>()?;
                    let before = set.bytes() + matches.bytes();
                    match self.rest {
                        None => set.add_rows(&keyed),
                        Some(_) => matches.add(&keyed, &batch.columns()[keyed.len()..]),
                    }
                    let more = set.bytes() + matches.bytes() - before;
                    let is_much = set.bytes() > KEYS_BYTES || matches.bytes() > ROWS_BYTES;
                    if is_much || memory.try_grow(more).is_err() {
                        return Ok(None);
                    }
                }
                let given = match self.rest {
                    None => Keyed::Keys(set),
                    Some(_) => Keyed::Rows(matches.sorted()?),
                };
                Ok(Some(Found { given, memory }))
            })
        })
    }
}

/// Steps, what is looked up in what they give, and what is asked of the rows then.
type Made = (Arc<dyn ExecutionPlan>, Vec<Side>, Option<Node>);

/// What an expression of a query names.
#[derive(Default)]
struct Named {
    /// Columns of the query.
    own: bool,
    /// Something of queries around it.
    outer: bool,
    /// A query, a calculated value or a whole row.
    more: bool,
}

impl Named {
    fn is_own(&self) -> bool {
        self.own && !self.outer && !self.more
    }

    fn is_outer(&self) -> bool {
        self.outer && !self.own && !self.more
    }
}

impl Compiler<'_> {
    /// EXISTS by keys, where that is possible.
    ///
    /// # Errors
    /// Those of constants.
    pub fn semi(&mut self, id: QueryId) -> Result<Option<Semi>> {
        let Some(outside) = self.outside(id) else { return Ok(None) };
        let (after, rounds) = (self.runs_before(id, &outside.links), self.rounds());
        let before = self.frames.len();
        let boundary = Some(Boundary::default());
        let told = Told::rows_only();
        let Outside { links, rest } = outside;
        let frame = Frame { told, links: links.clone(), rest, ..Frame::new(id, boundary) };
        self.frames.push(frame);
        let made = self.looking_outside(id, &links);
        let frame = self.frames.pop().expect("it was pushed");
        debug_assert_eq!(self.frames.len(), before, "queries within are done");
        // What the other way can do, this one may not: then the other is gone.
        let Ok(Some((plan, sides, rest))) = made else { return Ok(None) };
        let boundary = frame.boundary.expect("it has one");
        let mut params = Vec::with_capacity(boundary.wanted.len());
        for (levels, var, ty) in boundary.wanted {
            params.push(self.var(var, levels - 1, ty)?);
        }
        let (slots, known) = (boundary.slots, Mutex::new(Known::Nothing));
        let (began, answers) = (Mutex::default(), Mutex::default());
        Ok(Some(Semi { plan, slots, params, sides, rest, after, rounds, known, began, answers }))
    }

    /// The steps of the query that is being made, without what looks outside; what is looked up in it, and what is asked then.
    fn looking_outside(&mut self, id: QueryId, links: &[Link]) -> Result<Option<Made>> {
        let Rel { plan, .. } = self.query(id)?;
        let told = |frame: &Frame| frame.boundary.as_ref().is_some_and(|of| !of.wanted.is_empty());
        if told(self.frame()) {
            // Something else in it looks outside.
            return Ok(None);
        }
        // Of the rows that are kept, without their keys.
        let mut kept = Layout::default();
        self.asked_outside().into_iter().for_each(|(var, ty)| kept.add_var(var, ty));
        self.frame().layout = kept;
        let mut sides = Vec::with_capacity(links.len());
        for Link { from, ty, widens, .. } in links {
            let node = self.node(*from)?;
            let at = match &node {
                Node::Outer(_, at) => Some(*at),
                _ => None,
            };
            sides.push(Side { node, at, ty: ty.oid, widens: *widens });
        }
        let rest = self.frame().rest.clone();
        let rest = if rest.is_empty() { None } else { Some(self.conjunction(&rest)?) };
        Ok(Some((plan, sides, rest)))
    }

    /// The columns of its own that conditions name which look outside.
    pub fn asked_outside(&self) -> Vec<(Var, TypeRef)> {
        let mut named: Vec<(Var, TypeRef)> = Vec::new();
        let frame = self.frames.last().expect("a query is being made");
        for condition in &frame.rest {
            self.bound.visit(*condition, 0, &mut |id, _| {
                if let Expr::Var { entry, column, up: 0 } = self.bound.expr(id)
                    && named.iter().all(|(known, _)| *known != (*entry, *column))
                {
                    named.push(((*entry, *column), self.bound.ty(id)));
                }
                true
            });
        }
        named
    }

    /// The conditions in a query's WHERE that look outside; `None` where none is an equality, or the query is not of this kind.
    fn outside(&self, id: QueryId) -> Option<Outside> {
        let query = self.bound.query(id);
        let filter = query.filter?;
        if query.from.is_empty() || !gives_its_rows(query) || self.is_query_volatile(id) {
            return None;
        }
        let mut parts = Vec::new();
        self.conditions_in(filter, &mut parts);
        let mut outside = Outside { links: Vec::new(), rest: Vec::new() };
        for part in parts {
            let named = self.named(part);
            match self.link(part) {
                Some(link) => outside.links.push(link),
                None if !named.outer => {}
                None if named.more => return None,
                None => outside.rest.push(part),
            }
        }
        (!outside.links.is_empty()).then_some(outside)
    }

    fn link(&self, condition: ExprId) -> Option<Link> {
        let Expr::Op(op) = self.bound.expr(condition) else { return None };
        let operator = self.env.catalog.operator(op.operator)?;
        let [left, right] = op.args[..] else { return None };
        let is_equal = operator.name == "=" && operator.can_hash;
        if !is_equal || op.set || self.undetermined(condition, op.proc).is_some() {
            return None;
        }
        let (of_left, of_right) = (self.named(left), self.named(right));
        let (key, from) = match (of_left.is_own(), of_right.is_own()) {
            (false, true) if of_left.is_outer() => (right, left),
            (true, false) if of_right.is_outer() => (left, right),
            _ => return None,
        };
        let (key_ty, ty) = (self.bound.ty(key), self.bound.ty(from));
        let is_int = |oid: Oid| matches!(oid, oids::INT2 | oids::INT4 | oids::INT8);
        let widens = operator.left != operator.right;
        let fits = match widens {
            true => is_int(key_ty.oid) && is_int(ty.oid),
            false => key_ty.oid == ty.oid,
        };
        fits.then_some(Link { condition, key, from, ty, widens })
    }

    /// What an expression names.
    fn named(&self, id: ExprId) -> Named {
        let mut named = Named::default();
        self.bound.visit(id, 0, &mut |id, inside| {
            match self.bound.expr(id) {
                Expr::Var { column, up, .. } if *up == inside => {
                    named.own = true;
                    named.more |= *column == 0;
                }
                Expr::Var { column, up, .. } if *up > inside => {
                    named.outer = true;
                    named.more |= *column == 0;
                }
                Expr::SubQuery(_) => named.more = true,
                // It may be one of a query around this one.
                Expr::Aggregate(_) | Expr::Grouping(..) => {
                    (named.outer, named.more) = (true, true);
                }
                _ => {}
            }
            true
        });
        named
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
