//! Queries within expressions.

use std::borrow::Cow;

use super::{Printer, unserved};
use crate::Result;
use crate::bound::{Expr, ExprId, SubKind, SubQuery};

impl Printer<'_> {
    pub(super) fn subquery(&mut self, sub: &SubQuery) -> Result<()> {
        self.put(if sub.kind == SubKind::Array { "ARRAY(" } else { "(" });
        let mut name = Cow::Borrowed("");
        if let Some(test) = sub.test {
            name = self.tested(test)?;
        }
        let parens = match &sub.kind {
            SubKind::Exists => {
                self.put("EXISTS ");
                true
            }
            SubKind::Any(_) if name == "=" => {
                self.put(" IN ");
                true
            }
            SubKind::Any(_) => {
                self.put(&format!(" {name} ANY "));
                true
            }
            SubKind::All(_) => {
                self.put(&format!(" {name} ALL "));
                true
            }
            SubKind::Row(_) => {
                self.put(&format!(" {name} "));
                true
            }
            SubKind::Value | SubKind::Array | SubKind::Several(_) => false,
        };
        self.put(if parens { "(" } else { "" });
        self.query(sub.query, None, false)?;
        self.put(if parens { "))" } else { ")" });
        Ok(())
    }

    /// What a query's rows are compared with; the operator.
    fn tested(&mut self, test: ExprId) -> Result<Cow<'static, str>> {
        match self.bound.expr(test) {
            Expr::Op(op) => {
                self.expr(*op.args.first().ok_or_else(unserved)?, true)?;
                Ok(self.operator_name(op.operator))
            }
            Expr::And(all) | Expr::Or(all) => {
                let (mut name, mut left) = (Cow::Borrowed(""), Vec::new());
                for one in all {
                    let Expr::Op(op) = self.bound.expr(*one) else { return Err(unserved()) };
                    left.push(*op.args.first().ok_or_else(unserved)?);
                    name = if name.is_empty() { self.operator_name(op.operator) } else { name };
                }
                self.called("", &left)?;
                Ok(name)
            }
            Expr::RowCompare(_, operators, left, _) => {
                let name = self.operator_name(*operators.first().ok_or_else(unserved)?);
                self.called("", left)?;
                Ok(name)
            }
            _ => Err(unserved()),
        }
    }
}
