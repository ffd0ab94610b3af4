//! What does a query in FROM, or a view's, get from the query around it?
//!
//! Conditions on its columns, as far as they restrict what its own tables read: [`Restriction`]s, which are a hint, since the
//! condition is asked above. And which of its columns nothing asks for, so that they are not calculated and its tables
//! do not read what they are made of.
//!
//! A row that a restriction leaves out must be one that the condition above would not let pass, and must not change others:
//! so nothing goes through LIMIT, windows, DISTINCT ON or sets of GROUP BY.

use onlap_kernels::Datum;
use onlap_pg::ast::SetKind;
use onlap_pg::bound::{Expr, ExprId, Lock, Query, QueryId, SetNode, Target};
use onlap_pg::{Result, TypeRef};

use crate::build::{Rel, visible};
use crate::compile::{Compiler, Frame};
use crate::env::{Facts, Restriction};
use crate::node::Node;

/// What a query is told.
#[derive(Clone, Default)]
pub struct Told {
    /// Restrictions of its columns, by number from 1.
    given: Vec<Restriction>,
    /// Positions of its columns that nothing asks for, if some are known.
    unused: Vec<usize>,
    /// Whether only that it has rows is asked.
    rows_only: bool,
    /// Whether it is a part of a set operation.
    of_set: bool,
}

impl Told {
    /// That only whether it has rows is asked.
    pub fn rows_only() -> Told {
        Told { rows_only: true, ..Told::default() }
    }

    /// Whether only that it has rows is asked.
    pub fn is_rows_only(&self) -> bool {
        self.rows_only
    }

    /// Whether it is told so as a part of a set operation.
    pub fn of_set(&self) -> bool {
        self.of_set
    }
}

/// Whether a query has the rows of FROM and WHERE, whatever its targets are: as PostgreSQL's simplify_EXISTS_query asks.
pub fn gives_its_rows(query: &Query) -> bool {
    let grouped = query.has_aggregates || !query.sets.is_empty();
    let shaped = query.set.is_some() || query.having.is_some() || query.modify.is_some();
    let more = query.has_windows || query.has_sets || !query.locks.is_empty();
    let limited = query.limit.is_some() || query.offset.is_some() || query.ties;
    !(grouped || shaped || more || limited)
}

/// Whether rows can be left out by a column of the result before the query is carried out.
fn passes(query: &Query) -> bool {
    query.limit.is_none()
        && query.offset.is_none()
        && query.sets.is_empty()
        && !query.has_windows
        && !query.distinct_on
        && query.modify.is_none()
}

/// Whether a set operation gives all rows of its parts, in any order.
fn keeps_all(query: &Query) -> bool {
    let mut open: Vec<&SetNode> = query.set.iter().collect();
    let mut keeps_all = passes(query) && query.order.is_empty();
    while let Some(SetNode::Both { kind, all, left, right, .. }) = open.pop() {
        keeps_all &= *all && *kind == SetKind::Union;
        open.extend([&**left, &**right].into_iter().filter(|side| is_both(side)));
    }
    keeps_all
}

fn is_both(node: &SetNode) -> bool {
    matches!(node, SetNode::Both { .. })
}

impl Compiler<'_> {
    /// A query within, with what it is told and how its tables are locked from outside.
    ///
    /// # Errors
    /// As of any query.
    pub fn told_query(&mut self, query: QueryId, told: Told, lock: Option<Lock>) -> Result<Rel> {
        self.frames.push(Frame { told, lock, ..Frame::new(query, None) });
        let made = self.query(query);
        self.frames.pop();
        made
    }

    /// What an entry of FROM is told by the conditions that its rows must meet, and by what is used of it.
    ///
    /// # Errors
    /// `0A000`.
    pub fn told(&mut self, entry: usize, used: &[i32], conditions: &[ExprId]) -> Result<Told> {
        let mut given = self.given(entry);
        for id in conditions {
            given.extend(self.restriction(entry, *id, &Facts::default())?);
        }
        let query = self.bound.query(self.frame().query);
        let width = query.entries[entry - 1].types.len();
        let is_used = |at: &usize| used.contains(&(*at as i32 + 1));
        let unused = (0..width).filter(|at| !is_used(at)).collect();
        Ok(Told { given, unused, rows_only: false, of_set: false })
    }

    /// The restrictions that an entry has from the query around this one.
    pub fn given(&self, entry: usize) -> Vec<Restriction> {
        let frame = self.frames.last().expect("a query is being made");
        let query = self.bound.query(frame.query);
        if !passes(query) || query.set.is_some() {
            return Vec::new();
        }
        let mut given = Vec::new();
        for restriction in &frame.told.given {
            let target = visible(query).nth(restriction.column as usize - 1);
            let column = target.and_then(|target| self.column_of(entry, target.value));
            given.extend(column.map(|column| Restriction { column, ..restriction.clone() }));
        }
        given
    }

    /// What a query of a set operation is told.
    pub fn told_part(&self, part: QueryId) -> Told {
        let frame = self.frames.last().expect("a query is being made");
        let query = self.bound.query(frame.query);
        if !passes(query) {
            return Told::default();
        }
        let own = self.bound.columns(part);
        let whole = self.bound.columns(frame.query);
        let same = |at: usize| {
            let of = |columns: &[(&str, TypeRef)]| columns.get(at).map(|column| column.1.oid);
            of(&own) == of(&whole)
        };
        let is_same = |restriction: &&Restriction| same(restriction.column as usize - 1);
        let given = frame.told.given.iter().filter(is_same).cloned().collect();
        let unused = frame.told.unused.iter().copied().filter(|at| same(*at)).collect();
        let rows_only = frame.told.rows_only && keeps_all(query);
        Told { given, unused, rows_only, of_set: true }
    }

    /// Forgets which columns nothing asks for, except where all parts of a set operation keep all their rows in any order: those
    /// need not know the columns either.
    pub fn ask_for_all_parts(&mut self, query: &Query) {
        if !keeps_all(query) {
            self.frame().told.unused.clear();
        }
    }

    /// Whether nothing is asked of a query but whether FROM and WHERE have rows: it is not grouped or sorted then, and its targets
    /// are not calculated.
    pub fn is_bare(&self, query: &Query) -> bool {
        let frame = self.frames.last().expect("a query is being made");
        frame.told.rows_only && gives_its_rows(query)
    }

    /// Whether a target is a column that nothing asks for.
    pub fn is_unused(&self, query: &Query, value: ExprId) -> bool {
        let frame = self.frames.last().expect("a query is being made");
        if self.is_bare(query) {
            return query.targets.iter().any(|target| target.value == value);
        }
        let all_count = query.set.is_some() || !query.distinct.is_empty() && !query.distinct_on;
        if frame.told.unused.is_empty() || all_count {
            return false;
        }
        // The same expression may stand in several places.
        let places = visible(query).enumerate().filter(|(_, target)| target.value == value);
        let mut places = places.peekable();
        if places.peek().is_none() {
            // It is no target.
            return false;
        }
        let is_told = |(at, target): (usize, &Target)| {
            target.reference == 0 && frame.told.unused.contains(&at)
        };
        // What does something, or gives several rows, counts even so.
        places.all(is_told) && !self.gives_sets(value) && !self.is_volatile(value)
    }

    fn gives_sets(&self, value: ExprId) -> bool {
        let mut gives = false;
        self.bound.visit(value, 0, &mut |id, inside| {
            gives |= match self.bound.expr(id) {
                Expr::Call(call) => inside == 0 && call.set,
                Expr::Op(op) => inside == 0 && op.set,
                _ => false,
            };
            !gives && inside == 0
        });
        gives
    }

    /// What stands in the place of a column that nothing asks for.
    ///
    /// # Errors
    /// `0A000`: its type has no values.
    pub fn nothing(&self, ty: TypeRef) -> Result<Node> {
        self.constant(ty.oid, &Datum::Null)
    }
}
