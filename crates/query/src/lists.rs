//! How are lists of constants made into nodes and steps?
//!
//! A list may be as long as a text is, so nothing here takes a column or a kernel per constant: an array of constants is one
//! value, equalities of one column that AND or OR connects are one lookup. Rows of VALUES: [`crate::values`].

use std::sync::Arc;

use arrow_array::ArrayRef;
use onlap_kernels::array::Builder;
use onlap_kernels::{Datum, Repr};
use onlap_pg::bound::{Expr, ExprId, Op};
use onlap_pg::catalog::oids;
use onlap_pg::{Oid, Result, TypeRef};

use crate::compile::{Compiler, constant_bool, refusing_where};
use crate::containers::ArrayOf;
use crate::membership::{AnyOf, FEW};
use crate::node::Node;

impl Compiler<'_> {
    /// The value of an expression that is the same for all rows and known now.
    pub fn constant_of(&mut self, id: ExprId) -> Result<Option<Datum<'static>>> {
        let ty = self.bound.ty(id);
        match self.bound.expr(id) {
            // What is grouped by may be a literal, too.
            Expr::Literal(literal) if self.layout().exprs.is_empty() => {
                self.literal_value(literal, ty, self.bound.place(id)).map(Some)
            }
            _ if !self.is_constant(id) => Ok(None),
            _ => Ok(match self.node(id)? {
                Node::Const(array) => Some(Datum::at(&array, self.repr(ty.oid)?, 0).into_owned()),
                _ => None,
            }),
        }
    }

    /// Whether an expression is of literals and parameters alone.
    pub fn is_constant(&self, id: ExprId) -> bool {
        let mut constant = true;
        self.bound.visit(id, 0, &mut |id, _| {
            constant &= !matches!(
                self.bound.expr(id),
                Expr::Var { .. }
                    | Expr::SubColumn(_)
                    | Expr::RowColumn(..)
                    | Expr::Placeholder
                    | Expr::SubQuery(_)
                    | Expr::Aggregate(_)
                    | Expr::WindowCall(_)
                    | Expr::Grouping(..)
            );
            constant
        });
        constant
    }

    /// ARRAY[…], which is one value where all elements are constants.
    pub fn array(&mut self, id: ExprId, ids: &[ExprId], nested: bool, ty: TypeRef) -> Result<Node> {
        let element = self.element(ty.oid)?;
        let repr = self.repr(element)?;
        if !nested && let Some(array) = self.constant_array(id, ids, repr)? {
            return Ok(Node::Const(array));
        }
        let values = self.nodes(ids)?;
        Ok(Node::Array(Box::new(ArrayOf { values, nested, element, repr })))
    }

    /// Expressions as one array, where all are constants: an array as it lies in a column. It is made once for an
    /// expression that has them, which may be asked for in several places.
    fn constant_array(
        &mut self,
        id: ExprId,
        ids: &[ExprId],
        repr: Repr,
    ) -> Result<Option<ArrayRef>> {
        let is_long = ids.len() > FEW && self.layout().exprs.is_empty();
        if is_long && let Some((_, array)) = self.frame().lists.iter().find(|list| list.0 == id) {
            return Ok(Some(Arc::clone(array)));
        }
        let mut builder = Builder::new(repr);
        for id in ids {
            let Some(value) = self.constant_of(*id)? else { return Ok(None) };
            builder.push(&value)?;
        }
        let array = Datum::column(Repr::Bytes, [Datum::bytes(builder.finish())].iter())?;
        if is_long {
            self.frame().lists.push((id, Arc::clone(&array)));
        }
        Ok(Some(array))
    }

    /// `op ANY (array)`, `op ALL (array)`.
    pub fn array_op(&mut self, id: ExprId, op: &Op, all: bool) -> Result<Node> {
        let array = self.bound.ty(op.args[1]).oid;
        let element = self.element(array)?;
        let left = self.bound.ty(op.args[0]);
        let nodes = self.nodes(&op.args)?;
        let types = vec![left, TypeRef::new(element)];
        let call = self.call(op.proc, nodes, types, TypeRef::new(oids::BOOL))?;
        let what = self.undetermined(id, op.proc);
        let call = refusing_where(what, call);
        let keyed = self.types_of_keys(op.operator, !all, left.oid, element);
        let keyed = keyed.filter(|_| what.is_none());
        Ok(Node::AnyOf(Box::new(AnyOf::new(call, all, self.repr(element)?, keyed))))
    }

    /// Both types, where an operator is `=` of keys, or `<>` of keys if `equal` is false.
    fn types_of_keys(
        &self,
        operator: Oid,
        equal: bool,
        left: Oid,
        right: Oid,
    ) -> Option<(Oid, Oid)> {
        let catalog = &self.env.catalog;
        let operator = catalog.operator(operator)?;
        let equality = match (operator.name, equal) {
            ("=", true) => operator,
            ("<>", false) => catalog.operator_exact("=", operator.left, operator.right)?,
            _ => return None,
        };
        let (a, b) = (catalog.base_type(left), catalog.base_type(right));
        let ints = [a, b].iter().all(|oid| matches!(oid, 20 | 21 | 23));
        let same = a == b && equality.left == equality.right;
        // Rows of different columns are an error to compare.
        let is_row = onlap_kernels::is_record(catalog, a);
        let is_served = onlap_kernels::key_repr(catalog, a).is_some();
        (equality.can_hash && (ints || same) && !is_row && is_served).then_some((left, right))
    }

    /// AND or OR; equalities in a row that ask for one column are one lookup. What comes after a constant that decides is not
    /// looked at, as in PostgreSQL.
    pub fn connected(&mut self, id: ExprId, ids: &[ExprId], or: bool) -> Result<Node> {
        let mut arms = Vec::new();
        let mut at = 0;
        while at < ids.len() {
            let run = self.alike(&ids[at..], or);
            match self.lookup(id, &ids[at..at + run], or)? {
                Some(node) => arms.push(node.into_arm()),
                None => {
                    for id in &ids[at..at + run] {
                        let node = self.node(*id)?;
                        match constant_bool(&node) {
                            Some(value) if value == or => return Ok(node),
                            Some(_) => {}
                            None => arms.push(node.into_arm()),
                        }
                    }
                }
            }
            at += run;
        }
        Ok(match arms.len() {
            0 => self.constant(oids::BOOL, &Datum::Bool(!or))?,
            1 => arms.remove(0).node,
            _ if or => Node::Or(arms),
            _ => Node::And(arms),
        })
    }

    /// How many of the first terms compare the same column with a constant by the same operator; at least 1.
    fn alike(&self, ids: &[ExprId], or: bool) -> usize {
        let Some((first, column, value)) = self.equality(ids[0], or) else { return 1 };
        let ty = self.bound.ty(value).oid;
        let more = ids[1..].iter().take_while(|id| match self.equality(**id, or) {
            Some((operator, other, value)) => {
                operator == first
                    && self.bound.ty(value).oid == ty
                    && self.bound.same(column, other)
            }
            None => false,
        });
        1 + more.count()
    }

    /// A column that is compared with a constant: the operator, the column, the constant.
    pub fn equality(&self, id: ExprId, equal: bool) -> Option<(Oid, ExprId, ExprId)> {
        let Expr::Op(op) = self.bound.expr(id) else { return None };
        let [left, right] = op.args[..] else { return None };
        let (of_left, of_right) = (self.bound.ty(left).oid, self.bound.ty(right).oid);
        self.types_of_keys(op.operator, equal, of_left, of_right)?;
        let is_column = |id: ExprId| match self.bound.expr(id) {
            Expr::Relabel(one) => matches!(self.bound.expr(*one), Expr::Var { .. }),
            expr => matches!(expr, Expr::Var { .. }),
        };
        let pairs = [(left, right), (right, left)];
        let found = pairs.into_iter().find(|(a, b)| is_column(*a) && self.is_constant(*b));
        found.map(|(column, value)| (op.operator, column, value))
    }

    /// Terms of AND or OR that are alike as one lookup, if they are more than a few.
    fn lookup(&mut self, id: ExprId, ids: &[ExprId], or: bool) -> Result<Option<Node>> {
        if ids.len() <= FEW {
            return Ok(None);
        }
        let Some((operator, column, value)) = self.equality(ids[0], or) else { return Ok(None) };
        let (left, right) = (self.bound.ty(column), self.bound.ty(value));
        // Where the column is not there, the terms themselves are what was grouped by.
        let Ok(column) = self.node(column) else { return Ok(None) };
        let Some((array, repr)) = self.terms(id, ids, or)? else { return Ok(None) };
        let proc = self.env.catalog.operator(operator).expect("it was found").proc;
        let args = vec![column, Node::Const(array)];
        let call = self.call(proc, args, vec![left, right], TypeRef::new(oids::BOOL))?;
        let keyed = Some((left.oid, right.oid));
        Ok(Some(Node::AnyOf(Box::new(AnyOf::new(call, !or, repr, keyed)))))
    }

    /// The constants of terms that are alike as one array, with their representation.
    fn terms(&mut self, id: ExprId, ids: &[ExprId], or: bool) -> Result<Option<(ArrayRef, Repr)>> {
        let values: Vec<ExprId> =
            ids.iter().filter_map(|id| self.equality(*id, or).map(|found| found.2)).collect();
        let repr = self.repr(self.bound.ty(values[0]).oid)?;
        // All terms have a list of their own, some of them may be one of several.
        let of = if self.is_all(id, ids) { id } else { ids[0] };
        Ok(self.constant_array(of, &values, repr)?.map(|array| (array, repr)))
    }

    fn is_all(&self, id: ExprId, ids: &[ExprId]) -> bool {
        matches!(self.bound.expr(id), Expr::And(all) | Expr::Or(all) if all.len() == ids.len())
    }

    /// Where a condition asks whether a column has one of some constants: the column and the constants, as an array of
    /// values of this type.
    pub fn one_of(&mut self, id: ExprId) -> Result<Option<(ExprId, ArrayRef, TypeRef)>> {
        let Expr::Or(all) = self.bound.expr(id) else { return Ok(None) };
        if self.alike(all, true) != all.len() {
            return Ok(None);
        }
        let Some((_, column, value)) = self.equality(all[0], true) else { return Ok(None) };
        let ty = self.bound.ty(value);
        Ok(self.terms(id, all, true)?.map(|(array, _)| (column, array, ty)))
    }
}
