//! Which conditions on a table's columns may an index answer?
//!
//! Comparisons of a column with what is known when the scan starts: constants, parameters, columns of outer queries and of the
//! left side of a lateral join; lists of such values; and what a query gives that uses nothing of the queries around it. It is
//! run by the first who asks, the scan or the filter above, and its rows are shared.

use std::sync::Arc;

use arrow_array::ArrayRef;
use onlap_kernels::{Datum, Repr};
use onlap_pg::bound::{EntryKind, Expr, ExprId, Op, QueryId, SubKind, SubQuery};
use onlap_pg::catalog::{Volatility, oids};
use onlap_pg::{Oid, Result, TypeRef};

use crate::apply::{Ask, Quantor, Results};
use crate::compile::Compiler;
use crate::env::{CTID, Env, Facts, Restriction, RestrictionKind, Values};
use crate::node::{Node, Rows};

impl Compiler<'_> {
    /// A condition that compares a column with what is known when the scan starts.
    pub fn restriction(
        &mut self,
        entry: usize,
        id: ExprId,
        facts: &Facts,
    ) -> Result<Option<Restriction>> {
        match self.bound.expr(id) {
            Expr::Op(op) => self.of_operator(entry, op, facts),
            Expr::ArrayOp(op, false) => self.of_array(entry, op, facts),
            Expr::SubQuery(sub) => self.of_query(entry, sub, facts),
            Expr::Or(_) => self.of_terms(entry, id, facts),
            _ => Ok(None),
        }
    }

    fn of_operator(&mut self, entry: usize, op: &Op, facts: &Facts) -> Result<Option<Restriction>> {
        let [left, right] = op.args[..] else { return Ok(None) };
        let Some(operator) = self.env.catalog.operator(op.operator) else { return Ok(None) };
        let kind = match operator.name {
            "=" => RestrictionKind::Equal,
            "<" => RestrictionKind::Less,
            "<=" => RestrictionKind::LessOrEqual,
            ">" => RestrictionKind::Greater,
            ">=" => RestrictionKind::GreaterOrEqual,
            _ => return Ok(None),
        };
        let turned = match kind {
            RestrictionKind::Less => RestrictionKind::Greater,
            RestrictionKind::LessOrEqual => RestrictionKind::GreaterOrEqual,
            RestrictionKind::Greater => RestrictionKind::Less,
            RestrictionKind::GreaterOrEqual => RestrictionKind::LessOrEqual,
            other => other,
        };
        for (column, value, kind) in [(left, right, kind), (right, left, turned)] {
            let Some(number) = self.key_of(entry, column, facts) else { continue };
            let ty = self.bound.ty(value);
            let runs = facts.indexed.contains(&number) && self.is_query_of_one_value(value);
            if !(runs || self.is_known(value)) || !self.is_of_order(column, ty.oid) {
                continue;
            }
            let (node, env) = (self.known_node(value)?, Arc::clone(&self.env));
            let repr = self.repr(ty.oid)?;
            let values = move || -> Result<Vec<Datum<'static>>> {
                let value = one(&node, &env)?;
                Ok(vec![Datum::at(&value, repr, 0).into_owned()])
            };
            let (values, is_constant): (Values, _) = (Arc::new(values), self.is_known_now(value));
            return Ok(Some(Restriction { column: number, kind, values, runs, is_constant }));
        }
        Ok(None)
    }

    /// `= ANY (array)`.
    fn of_array(&mut self, entry: usize, op: &Op, facts: &Facts) -> Result<Option<Restriction>> {
        let (column, array) = (op.args[0], op.args[1]);
        let Some(number) = self.key_of(entry, column, facts) else { return Ok(None) };
        let element = self.element(self.bound.ty(array).oid)?;
        let operator = self.env.catalog.operator(op.operator);
        let is_equal = operator.is_some_and(|operator| operator.name == "=");
        if !is_equal || !self.is_known(array) || !self.is_of_order(column, element) {
            return Ok(None);
        }
        let (node, env) = (self.known_node(array)?, Arc::clone(&self.env));
        let repr = self.repr(element)?;
        let values = move || Ok(elements(&one(&node, &env)?, repr));
        let is_constant = self.is_known_now(array);
        Ok(Some(Restriction { is_constant, ..one_of(number, Arc::new(values), false) }))
    }

    /// Equalities of one column that OR connects.
    fn of_terms(&mut self, entry: usize, id: ExprId, facts: &Facts) -> Result<Option<Restriction>> {
        let before = std::mem::take(&mut self.frame().layout);
        let found = self.one_of(id);
        self.frame().layout = before;
        let Some((column, array, ty)) = found? else { return Ok(None) };
        let Some(number) = self.key_of(entry, column, facts) else { return Ok(None) };
        if !self.is_of_order(column, ty.oid) {
            return Ok(None);
        }
        let repr = self.repr(ty.oid)?;
        let values = move || Ok(elements(&array, repr));
        let restriction = one_of(number, Arc::new(values), false);
        Ok(Some(Restriction { is_constant: true, ..restriction }))
    }

    /// `IN (query)`, where the query uses nothing of those around it and an index begins with the column.
    fn of_query(
        &mut self,
        entry: usize,
        sub: &SubQuery,
        facts: &Facts,
    ) -> Result<Option<Restriction>> {
        let (SubKind::Any(_), Some(test)) = (&sub.kind, sub.test) else { return Ok(None) };
        let Expr::Op(op) = self.bound.expr(test) else { return Ok(None) };
        let [left, right] = op.args[..] else { return Ok(None) };
        let operator = self.env.catalog.operator(op.operator);
        let is_equal = operator.is_some_and(|o| o.name == "=" && o.can_hash && o.left == o.right);
        let is_column = matches!(self.bound.expr(right), Expr::SubColumn(1));
        let number = self.column_of(entry, left).filter(|at| facts.indexed.contains(at));
        let Some(number) = number.filter(|_| is_equal && is_column) else { return Ok(None) };
        let of = self.bound.ty(left);
        if !self.is_of_order(left, self.bound.ty(right).oid) || self.is_correlated(sub.query) {
            return Ok(None);
        }
        let before = std::mem::take(&mut self.frame().layout);
        let made = self.keyed_results(sub.query, of);
        self.frame().layout = before;
        let Some(results) = made? else { return Ok(None) };
        let env = Arc::clone(&self.env);
        let values = move || {
            let given = results.given(Vec::new(), &env)?;
            let (column, repr) = (&given.columns[0], results.column(0));
            Ok((0..column.len()).map(|row| Datum::at(column, repr, row).into_owned()).collect())
        };
        Ok(Some(one_of(number, Arc::new(values), true)))
    }

    /// What a query gives that is asked for one column's value, if it uses no outer values.
    fn keyed_results(&mut self, query: QueryId, of: TypeRef) -> Result<Option<Arc<Results>>> {
        let none = self.constant(oids::BOOL, &Datum::Null)?;
        let side = self.constant(of.oid, &Datum::Null)?;
        let ask = Ask::Test(Quantor::Any, Box::new(none), 0, Some(vec![(side, of.oid)]));
        let (results, params) = self.results(query, &ask)?;
        Ok(params.is_empty().then_some(results))
    }

    /// Whether a query uses columns of those around it.
    pub fn is_correlated(&self, query: QueryId) -> bool {
        let mut found = false;
        self.bound.visit_query(query, 1, &mut |id, inside| {
            found |= matches!(self.bound.expr(id), Expr::Var { up, .. } if *up >= inside);
            !found
        });
        found
    }

    /// Whether an expression is a query that uses nothing of those around it.
    fn is_query_of_one_value(&self, id: ExprId) -> bool {
        match self.bound.expr(id) {
            Expr::SubQuery(sub) => {
                matches!(sub.kind, SubKind::Value) && !self.is_correlated(sub.query)
            }
            _ => false,
        }
    }

    /// A value that is known when the scan starts.
    pub fn known_node(&mut self, id: ExprId) -> Result<Node> {
        let before = std::mem::take(&mut self.frame().layout);
        let node = self.node(id);
        self.frame().layout = before;
        node
    }

    /// Whether a value of a type stands in the order of a column's values as the column's own do.
    fn is_of_order(&self, column: ExprId, value: Oid) -> bool {
        let of = self.bound.ty(column).oid;
        of == value
            || (is_text(of) && is_text(value))
            || [of, value].iter().all(|oid| matches!(oid, 20 | 21 | 23))
    }

    /// The number of the column, derived ones included, that an expression is to indexes of a table.
    pub fn key_of(&self, entry: usize, id: ExprId, facts: &Facts) -> Option<i32> {
        let is_place = matches!(self.bound.expr(id), Expr::Var { entry: of, column: CTID, up: 0 } if *of == entry);
        if is_place {
            return Some(CTID);
        }
        self.column_of(entry, id).or_else(|| {
            let mut keys = facts.derived.iter().filter(|of| of.class.is_none());
            keys.find(|of| self.is_derived(entry, id, of, of.root())).map(|of| of.column)
        })
    }

    /// The number of the entry's column that an expression is, perhaps as another text type.
    pub fn column_of(&self, entry: usize, id: ExprId) -> Option<i32> {
        match self.bound.expr(id) {
            Expr::Var { entry: of, column, up: 0 } if *of == entry && *column > 0 => Some(*column),
            Expr::Var { entry: of, column, up: 0 } if *column > 0 => {
                let query = self.frames.last()?.query;
                match &self.bound.query(query).entries[*of - 1].kind {
                    EntryKind::Join { columns, .. } => {
                        self.column_of(entry, columns[*column as usize - 1])
                    }
                    _ => None,
                }
            }
            // Of bpchar and citext other values are equal.
            Expr::Relabel(one) if [*one, id].iter().all(|id| is_text(self.bound.ty(*id).oid)) => {
                self.column_of(entry, *one)
            }
            // What a domain is over.
            Expr::Relabel(one) if self.is_below(self.bound.ty(id).oid, self.bound.ty(*one).oid) => {
                self.column_of(entry, *one)
            }
            _ => None,
        }
    }

    /// Whether a type is what a domain is over.
    fn is_below(&self, oid: Oid, domain: Oid) -> bool {
        oid != domain && self.env.catalog.base_type(domain) == oid
    }

    /// Whether an expression is known when the scan starts: its columns are those of outer queries, and of the left side of
    /// a lateral join, and it has no query of its own.
    pub fn is_known(&self, id: ExprId) -> bool {
        let lateral = &self.frames.last().expect("a query is being made").lateral;
        let of_left = |entry: usize| lateral.iter().any(|left| left.layout.has_entry(entry));
        self.entries_of(id).iter().all(of_left) && !self.has_subquery(id)
    }

    /// Whether an expression has a value while the plan is made: it has no columns, parameters or queries, and calls nothing
    /// that may give another value each time.
    fn is_known_now(&self, id: ExprId) -> bool {
        let mut constant = true;
        self.bound.visit(id, 0, &mut |id, _| {
            constant &= match self.bound.expr(id) {
                Expr::Var { .. } | Expr::Param(_) | Expr::SubQuery(_) => false,
                Expr::Call(call) => {
                    self.env
                        .catalog
                        .proc(call.proc)
                        .is_some_and(|proc| proc.volatility != Volatility::Volatile)
                        && !self.sees_settings(call.proc)
                }
                _ => true,
            };
            constant
        });
        constant
    }

    fn has_subquery(&self, id: ExprId) -> bool {
        let mut found = false;
        self.bound.visit(id, 0, &mut |id, _| {
            found |= matches!(self.bound.expr(id), Expr::SubQuery(_));
            !found
        });
        found
    }
}

/// text and varchar, which are compared as one.
fn is_text(oid: Oid) -> bool {
    matches!(oid, 25 | 1043)
}

fn one_of(column: i32, values: Values, runs: bool) -> Restriction {
    Restriction { column, kind: RestrictionKind::OneOf, values, runs, is_constant: false }
}

/// The value of what no row changes.
pub fn one(node: &Node, env: &Env) -> Result<ArrayRef> {
    Ok(node.eval(&Rows { columns: &[], count: 1 }, env)?.array)
}

/// The elements of an array; none where it is NULL.
pub fn elements(array: &ArrayRef, repr: Repr) -> Vec<Datum<'static>> {
    match Datum::at(array, Repr::Bytes, 0) {
        Datum::Bytes(bytes) => {
            let array = onlap_kernels::array::Array::load(&bytes, repr);
            array.iter().map(Datum::into_owned).collect()
        }
        _ => Vec::new(),
    }
}
