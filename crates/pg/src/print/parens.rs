//! Which expressions need no parentheses where they stand?
//!
//! Asked for the pretty form alone: in the other one each operation has its own.

use super::Printer;
use crate::bound::{Expr, ExprId, Form};

impl Printer<'_> {
    /// Whether an expression stands in another one without parentheses.
    pub(super) fn is_simple(&self, id: ExprId, within: ExprId) -> bool {
        let outer = self.bound.expr(within);
        match self.bound.expr(id) {
            Expr::Var { .. }
            | Expr::Literal(_)
            | Expr::Param(_)
            | Expr::Default
            | Expr::CurrentOf(..)
            | Expr::Subscript(_)
            | Expr::Array(..)
            | Expr::Row(..)
            | Expr::Coalesce(_)
            | Expr::Greatest(..)
            | Expr::SqlValue(..)
            | Expr::Xml(_)
            | Expr::NullIf(_)
            | Expr::Aggregate(_)
            | Expr::Grouping(..)
            | Expr::WindowCall(_)
            | Expr::Call(_)
            | Expr::Case(..) => true,
            Expr::Field(..) => !matches!(outer, Expr::Field(..)),
            Expr::StoreFields(..) => !matches!(outer, Expr::StoreFields(..)),
            Expr::Domain(one)
            | Expr::Relabel(one)
            | Expr::ViaText(one)
            | Expr::Elements(one, _)
            | Expr::ConvertRow(one) => self.is_simple(*one, id),
            Expr::Op(_) if matches!(outer, Expr::Op(_)) => self.binds_tighter(id, within),
            Expr::Op(_)
            | Expr::SubQuery(_)
            | Expr::NullTest(_)
            | Expr::BoolTest(..)
            | Expr::Distinct(_) => {
                matches!(outer, Expr::And(_) | Expr::Or(_) | Expr::Not(_)) || self.separates(within)
            }
            Expr::And(_) | Expr::Not(_) => match outer {
                Expr::And(_) | Expr::Or(_) => true,
                Expr::Not(_) => false,
                _ => self.separates(within),
            },
            Expr::Or(_) => match outer {
                Expr::Or(_) => true,
                Expr::And(_) | Expr::Not(_) => false,
                _ => self.separates(within),
            },
            _ => false,
        }
    }

    /// Whether what an expression is made of stands in parentheses of its own, or between commas.
    fn separates(&self, within: ExprId) -> bool {
        match self.bound.expr(within) {
            Expr::Call(_) => self.bound.form(within) == Form::Call,
            Expr::Subscript(_)
            | Expr::Array(..)
            | Expr::Row(..)
            | Expr::Coalesce(_)
            | Expr::Greatest(..)
            | Expr::NullIf(_)
            | Expr::Aggregate(_)
            | Expr::Grouping(..)
            | Expr::WindowCall(_)
            | Expr::Case(..) => true,
            _ => false,
        }
    }

    /// Of `+ -` and `* / %`: whether an operation within another one comes first anyway.
    fn binds_tighter(&self, id: ExprId, within: ExprId) -> bool {
        let (Some(inner), Some(outer)) = (self.strength(id), self.strength(within)) else {
            return false;
        };
        let first = match self.bound.expr(within) {
            Expr::Op(op) => op.args.first() == Some(&id),
            _ => false,
        };
        inner > outer || inner == outer && first
    }

    fn strength(&self, id: ExprId) -> Option<u8> {
        let Expr::Op(op) = self.bound.expr(id) else { return None };
        match (op.args.len(), self.catalog.operator(op.operator)?.name) {
            (2, "+" | "-") => Some(0),
            (2, "*" | "/" | "%") => Some(1),
            _ => None,
        }
    }
}
