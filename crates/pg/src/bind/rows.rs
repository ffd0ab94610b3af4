//! Rows that are compared column by column.

use super::{At, Binder};
use crate::ast;
use crate::bound::{Expr, ExprId, Op, RowOrder};
use crate::catalog::oids;
use crate::{Error, Oid, Result, TypeRef};

impl Binder<'_> {
    /// The values of ROW(…), in which `t.*` stands for all of t's columns.
    pub(super) fn row_values(&mut self, ids: &[ast::ExprId]) -> Result<Vec<ExprId>> {
        let mut made = Vec::new();
        for id in ids {
            match self.stars(*id)? {
                Some(columns) => made.extend(columns.into_iter().map(|column| column.1)),
                None => made.push(self.expr(*id)?),
            }
        }
        Ok(made)
    }

    fn row_fields(&self, id: ExprId) -> Vec<ExprId> {
        match self.out.expr(id) {
            Expr::Row(fields, _) => fields.clone(),
            _ => vec![id],
        }
    }

    /// ROW(…) op ROW(…).
    pub(super) fn compare_rows(
        &mut self,
        name: &str,
        left: ExprId,
        right: ExprId,
        place: Option<u32>,
    ) -> Result<ExprId> {
        let (left, right) = (self.row_fields(left), self.row_fields(right));
        self.compare_lists(name, &left, &right, place)
    }

    /// The comparison of two lists of values as rows.
    pub(super) fn compare_lists(
        &mut self,
        name: &str,
        left: &[ExprId],
        right: &[ExprId],
        place: Option<u32>,
    ) -> Result<ExprId> {
        if left.len() != right.len() {
            return Err(Error::new("42601", "unequal number of entries in row expressions"))
                .at(place);
        }
        if left.is_empty() {
            return Err(Error::new("0A000", "cannot compare rows of zero length")).at(place);
        }
        let mut ops: Vec<Op> = Vec::new();
        for (left, right) in left.iter().zip(right) {
            let (op, result) = self.operator_call(name, Some(*left), *right, place)?;
            if result != oids::BOOL {
                let shown = self.catalog.shown(result);
                let text =
                    format!("row comparison operator must yield type boolean, not type {shown}");
                return Err(Error::new("42804", text)).at(place);
            }
            if op.set {
                let text = "row comparison operator must not return a set";
                return Err(Error::new("42804", text)).at(place);
            }
            ops.push(op);
        }
        let bool = TypeRef::new(oids::BOOL);
        if let [op] = &ops[..] {
            return Ok(self.out.add(Expr::Op(op.clone()), bool, place));
        }
        let mut singles = |ops: Vec<Op>| -> Vec<ExprId> {
            ops.into_iter().map(|op| self.out.add(Expr::Op(op), bool, place)).collect()
        };
        let order = match name {
            "=" => {
                let all = singles(ops);
                return Ok(self.out.add(Expr::And(all), bool, place));
            }
            "<>" => {
                let all = singles(ops);
                return Ok(self.out.add(Expr::Or(all), bool, place));
            }
            "<" | "~<~" => RowOrder::Less,
            "<=" | "~<=~" => RowOrder::LessEqual,
            ">=" | "~>=~" => RowOrder::GreaterEqual,
            ">" | "~>~" => RowOrder::Greater,
            _ => {
                let text =
                    format!("could not determine interpretation of row comparison operator {name}");
                let hint =
                    "Row comparison operators must be associated with btree operator families.";
                return Err(Error::new("0A000", text).hint(hint)).at(place);
            }
        };
        let operators: Vec<Oid> = ops.iter().map(|op| op.operator).collect();
        let left = ops.iter().map(|op| op.args[0]).collect();
        let right = ops.iter().map(|op| op.args[1]).collect();
        Ok(self.out.add(Expr::RowCompare(order, operators, left, right), bool, place))
    }

    /// ROW(…) IS DISTINCT FROM ROW(…).
    pub(super) fn rows_distinct(
        &mut self,
        left: ExprId,
        right: ExprId,
        place: Option<u32>,
    ) -> Result<ExprId> {
        let (left, right) = (self.row_fields(left), self.row_fields(right));
        if left.len() != right.len() {
            return Err(Error::new("42601", "unequal number of entries in row expressions"))
                .at(place);
        }
        let bool = TypeRef::new(oids::BOOL);
        let mut made: Option<ExprId> = None;
        for (left, right) in left.into_iter().zip(right) {
            let one = self.pair_distinct(left, right, place)?;
            made = Some(match made {
                None => one,
                Some(before) => self.out.add(Expr::Or(vec![before, one]), bool, place),
            });
        }
        Ok(match made {
            Some(made) => made,
            None => self.literal(crate::bound::Literal::Bool(false), oids::BOOL, place),
        })
    }
}
