//! Do the conditions of a query say that all its rows are those of a partial index?
//!
//! A partial index has the rows for which its condition is true. It may be read where a conjunction of the query's
//! conditions is true for no other rows. What is asked is sufficient, never necessary: the same condition; another
//! constant on the right side of a comparison; members of a list; what cannot be NULL because it is compared; a boolean
//! column in its different words; and what AND and OR make of these on either side.
//!
//! Constants are those of the execution, parameters among them. Thread safety: pure, but for the compiler that makes
//! constants.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use onlap_kernels::{Comparer, Datum};
use onlap_pg::ast::Is;
use onlap_pg::bound::{Bound, Expr, ExprId, Op, QueryId};
use onlap_pg::{Oid, Result};

use crate::compile::{Compiler, Frame, MORE_STACK, RED_ZONE};
use crate::condition::over_entries;
use crate::env::{Derived, Env, Facts};
use crate::node::Node;
use crate::restrictions::elements;

/// How two sides are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Kind {
    fn of(name: &str) -> Option<Kind> {
        Some(match name {
            "=" => Kind::Equal,
            "<>" => Kind::NotEqual,
            "<" => Kind::Less,
            "<=" => Kind::LessOrEqual,
            ">" => Kind::Greater,
            ">=" => Kind::GreaterOrEqual,
            _ => return None,
        })
    }

    /// With its sides exchanged.
    fn turned(self) -> Kind {
        match self {
            Kind::Less => Kind::Greater,
            Kind::LessOrEqual => Kind::GreaterOrEqual,
            Kind::Greater => Kind::Less,
            Kind::GreaterOrEqual => Kind::LessOrEqual,
            same => same,
        }
    }

    /// Whether `x kind a` says that `x wanted b`, given how a compares with b.
    fn implies(self, wanted: Kind, order: Ordering) -> bool {
        use Kind::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
        match (self, wanted) {
            (Equal, Equal) | (NotEqual, NotEqual) => order.is_eq(),
            (Equal, NotEqual) => order.is_ne(),
            (Equal, Less) | (LessOrEqual, Less | NotEqual) => order.is_lt(),
            (Equal | Less | LessOrEqual, LessOrEqual) | (Less, Less | NotEqual) => order.is_le(),
            (Equal, Greater) | (GreaterOrEqual, Greater | NotEqual) => order.is_gt(),
            (Equal | Greater | GreaterOrEqual, GreaterOrEqual) | (Greater, Greater | NotEqual) => {
                order.is_ge()
            }
            _ => false,
        }
    }
}

/// Something that is compared with constants: one, or any of several.
struct Comparison {
    value: ExprId,
    kind: Kind,
    /// None of them is NULL.
    with: Vec<Datum<'static>>,
    /// The type of these.
    ty: Oid,
}

/// Whether a condition on an entry of a query is true for no other rows than a derived condition, as far as constants tell.
///
/// # Errors
/// Those of constants.
pub fn implies(
    (bound, query): (&Bound, QueryId),
    (entry, condition): (usize, ExprId),
    derived: &Derived,
    env: &Arc<Env>,
) -> Result<bool> {
    let mut compiler = over_entries(bound, query, env);
    compiler.prove(entry, &[condition], derived, derived.root())
}

impl Compiler<'_> {
    /// The derived columns, by number, that are true in all rows of an entry that meet all conditions.
    ///
    /// # Errors
    /// Those of constants.
    pub fn implied(
        &mut self,
        entry: usize,
        conditions: &[ExprId],
        facts: &Facts,
    ) -> Result<Vec<i32>> {
        let mut out = Vec::new();
        for derived in facts.derived.iter().filter(|derived| derived.is_filter) {
            let root = derived.root();
            if self.prove(entry, conditions, derived, root)? {
                out.push(derived.column);
            }
        }
        Ok(out)
    }

    /// Whether conditions prove a part of a derived condition.
    fn prove(
        &mut self,
        entry: usize,
        conditions: &[ExprId],
        derived: &Derived,
        wanted: ExprId,
    ) -> Result<bool> {
        stacker::maybe_grow(RED_ZONE, MORE_STACK, || {
            if let Expr::And(all) = derived.tree().expr(wanted) {
                for part in all {
                    if !self.prove(entry, conditions, derived, *part)? {
                        return Ok(false);
                    }
                }
                return Ok(true);
            }
            for condition in conditions {
                if self.proves(entry, *condition, derived, wanted)? {
                    return Ok(true);
                }
            }
            Ok(false)
        })
    }

    /// Whether one condition proves a part of a derived condition.
    fn proves(
        &mut self,
        entry: usize,
        condition: ExprId,
        derived: &Derived,
        wanted: ExprId,
    ) -> Result<bool> {
        stacker::maybe_grow(RED_ZONE, MORE_STACK, || {
            if self.is_derived(entry, condition, derived, wanted) {
                return Ok(true);
            }
            let bound = self.bound;
            match bound.expr(condition) {
                Expr::And(all) => return self.prove(entry, all, derived, wanted),
                Expr::Or(arms) => {
                    for arm in arms {
                        if !self.prove(entry, &[*arm], derived, wanted)? {
                            return Ok(false);
                        }
                    }
                    return Ok(true);
                }
                _ => {}
            }
            let tree = derived.tree();
            match tree.expr(wanted) {
                Expr::Or(arms) => {
                    for arm in arms {
                        if self.prove(entry, &[condition], derived, *arm)? {
                            return Ok(true);
                        }
                    }
                    Ok(false)
                }
                Expr::NullTest(test) if test.not && !test.row => {
                    Ok(self.needs_value(entry, condition, derived, test.value))
                }
                Expr::BoolTest(value, Is::True, false) => {
                    self.says(entry, condition, derived, *value, true)
                }
                Expr::BoolTest(value, Is::False, false) | Expr::Not(value) => {
                    self.says(entry, condition, derived, *value, false)
                }
                Expr::Op(_) | Expr::ArrayOp(_, false) => {
                    self.compares(entry, condition, derived, wanted)
                }
                _ => self.says(entry, condition, derived, wanted, true),
            }
        })
    }

    /// Whether an expression of the query is one of a derived column.
    pub fn is_derived(&self, entry: usize, id: ExprId, derived: &Derived, of: ExprId) -> bool {
        let bound = self.bound;
        let vars = |(own, column): (usize, i32), (_, read): (usize, i32)| {
            let read = usize::try_from(read - 1).ok().and_then(|at| derived.reads.get(at));
            own == entry && Some(&column) == read
        };
        bound.is_like(id, derived.tree(), of, &vars)
    }

    /// Whether a condition is true only where an expression is not NULL.
    fn needs_value(&self, entry: usize, condition: ExprId, of: &Derived, value: ExprId) -> bool {
        let is_it = |id: ExprId| self.is_derived(entry, id, of, value);
        let is_strict = |op: &Op| self.env.catalog.proc(op.proc).is_some_and(|proc| proc.strict);
        match self.bound.expr(condition) {
            _ if is_it(condition) => true,
            Expr::Op(op) => is_strict(op) && op.args.iter().any(|arg| is_it(*arg)),
            Expr::ArrayOp(op, false) => is_strict(op) && is_it(op.args[0]),
            // Of what is not true only operators say so: an empty list is compared with nothing.
            Expr::Not(one) => match self.bound.expr(*one) {
                Expr::Op(op) => is_strict(op) && op.args.iter().any(|arg| is_it(*arg)),
                _ => is_it(*one),
            },
            Expr::BoolTest(one, Is::True | Is::False, false) => is_it(*one),
            _ => false,
        }
    }

    /// Whether a condition says that a boolean expression is this.
    fn says(
        &mut self,
        entry: usize,
        condition: ExprId,
        of: &Derived,
        value: ExprId,
        truth: bool,
    ) -> Result<bool> {
        let bound = self.bound;
        Ok(match bound.expr(condition) {
            Expr::BoolTest(one, Is::True, false) => {
                truth && self.is_derived(entry, *one, of, value)
            }
            Expr::BoolTest(one, Is::False, false) | Expr::Not(one) => {
                !truth && self.is_derived(entry, *one, of, value)
            }
            Expr::Op(_) => {
                let Some(found) = self.comparison(condition)? else { return Ok(false) };
                found.kind == Kind::Equal
                    && found.with.iter().all(|with| *with == Datum::Bool(truth))
                    && self.is_derived(entry, found.value, of, value)
            }
            _ => truth && self.is_derived(entry, condition, of, value),
        })
    }

    /// Whether a comparison with constants proves another.
    fn compares(
        &mut self,
        entry: usize,
        condition: ExprId,
        derived: &Derived,
        wanted: ExprId,
    ) -> Result<bool> {
        let Some(given) = self.comparison(condition)? else { return Ok(false) };
        let mut inner = Compiler {
            bound: derived.tree(),
            env: Arc::clone(&self.env),
            tables: self.tables,
            carried: None,
            frames: vec![Frame::new(derived.query(), None)],
        };
        let Some(asked) = inner.comparison(wanted)? else { return Ok(false) };
        if !self.is_derived(entry, given.value, derived, asked.value) {
            return Ok(false);
        }
        let catalog = &self.env.catalog;
        let (own, other) = (catalog.base_type(given.ty), catalog.base_type(asked.ty));
        let ints = |ty: Oid| matches!(ty, 20 | 21 | 23);
        let texts = |ty: Oid| matches!(ty, 25 | 1043);
        let fits = own == other && (is_compared(own) || catalog.is_enum(own))
            || ints(own) && ints(other)
            || texts(own) && texts(other);
        if !fits {
            return Ok(false);
        }
        let comparer = Comparer::new(catalog, own);
        let compare = |a: &Datum<'_>, b: &Datum<'_>| match (int(a), int(b)) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => comparer.compare(catalog, a, b),
        };
        let proves = |a: &Datum<'_>| {
            asked.with.iter().any(|b| given.kind.implies(asked.kind, compare(a, b)))
        };
        Ok(given.with.iter().all(proves))
    }

    /// A comparison of something with constants.
    fn comparison(&mut self, id: ExprId) -> Result<Option<Comparison>> {
        let bound = self.bound;
        let (op, list) = match bound.expr(id) {
            Expr::Op(op) => (op, false),
            Expr::ArrayOp(op, false) => (op, true),
            _ => return Ok(None),
        };
        let name = self.env.catalog.operator(op.operator).map(|operator| operator.name);
        let [left, right] = op.args[..] else { return Ok(None) };
        let Some(kind) = name.and_then(Kind::of) else { return Ok(None) };
        if list {
            let element = self.element(bound.ty(right).oid)?;
            if kind != Kind::Equal {
                return Ok(None);
            }
            let Some(array) = self.fixed_value(right)? else { return Ok(None) };
            let mut with = elements(&array, self.repr(element)?);
            with.retain(|value| !value.is_null());
            return Ok(Some(Comparison { value: left, kind, with, ty: element }));
        }
        for (value, constant, kind) in [(left, right, kind), (right, left, kind.turned())] {
            let Some(array) = self.fixed_value(constant)? else { continue };
            let ty = bound.ty(constant).oid;
            let with = Datum::at(&array, self.repr(ty)?, 0).into_owned();
            if with.is_null() {
                return Ok(None);
            }
            return Ok(Some(Comparison { value, kind, with: vec![with], ty }));
        }
        Ok(None)
    }

    /// The value of an expression that names no column, where it has one before it runs.
    pub fn fixed_value(&mut self, id: ExprId) -> Result<Option<ArrayRef>> {
        if !self.entries_of(id).is_empty() || !self.is_plain(id) || self.is_volatile(id) {
            return Ok(None);
        }
        // Where a condition is judged without them, parameters have no values.
        let mut is_there = true;
        self.bound.visit(id, 0, &mut |id, _| {
            is_there &= !matches!(self.bound.expr(id), Expr::Param(n)
                if usize::try_from(*n).is_ok_and(|n| n > self.env.params.len()));
            is_there
        });
        if !is_there {
            return Ok(None);
        }
        Ok(match self.known_node(id)? {
            Node::Const(array) if array.len() == 1 => Some(array),
            _ => None,
        })
    }
}

/// Types whose comparisons go by the order that [`Comparer`] has.
fn is_compared(ty: Oid) -> bool {
    matches!(
        ty,
        16..=18
            | 20
            | 21
            | 23
            | 25
            | 26
            | 700
            | 701
            | 1043
            | 1082
            | 1083
            | 1114
            | 1184
            | 1700
            | 2950
    )
}

fn int(value: &Datum<'_>) -> Option<i64> {
    match value {
        Datum::Int2(v) => Some(i64::from(*v)),
        Datum::Int4(v) => Some(i64::from(*v)),
        Datum::Int8(v) => Some(*v),
        _ => None,
    }
}

impl Derived {
    /// The tree of its expression.
    pub fn tree(&self) -> &Bound {
        &self.made.0
    }

    /// The query whose target the expression is.
    pub fn query(&self) -> onlap_pg::bound::QueryId {
        self.made.1
    }

    /// The expression.
    pub fn root(&self) -> ExprId {
        self.tree().query(self.query()).targets[0].value
    }
}
