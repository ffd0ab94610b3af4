//! Which two bound expressions mean the same?

use super::{Bound, Expr, ExprId};

impl Bound {
    /// Whether two expressions of one query mean the same; places do not count.
    pub fn same(&self, one: ExprId, other: ExprId) -> bool {
        self.same_shifted(one, 0, other)
    }

    /// The same, where columns of the first are so many levels further in.
    pub fn same_shifted(&self, one: ExprId, shift: u32, other: ExprId) -> bool {
        if one == other && shift == 0 {
            return true;
        }
        if self.ty(one) != self.ty(other) {
            return false;
        }
        let (a, b) = (self.expr(one), self.expr(other));
        let alike = match (a, b) {
            (
                Expr::Var { entry, column, up },
                Expr::Var { entry: entry2, column: column2, up: up2 },
            ) => return entry == entry2 && column == column2 && *up == up2 + shift,
            (Expr::Literal(a), Expr::Literal(b)) => return a == b,
            (Expr::Call(a), Expr::Call(b)) => {
                let places = a.args.iter().map(|arg| arg.0).eq(b.args.iter().map(|arg| arg.0));
                a.proc == b.proc && a.variadic == b.variadic && places
            }
            (Expr::Op(a), Expr::Op(b))
            | (Expr::Distinct(a), Expr::Distinct(b))
            | (Expr::NullIf(a), Expr::NullIf(b)) => a.operator == b.operator,
            (Expr::ArrayOp(a, all), Expr::ArrayOp(b, all2)) => {
                a.operator == b.operator && all == all2
            }
            (Expr::Field(_, a), Expr::Field(_, b)) => a == b,
            (Expr::NullTest(a), Expr::NullTest(b)) => a.not == b.not && a.row == b.row,
            (Expr::BoolTest(_, a, not), Expr::BoolTest(_, b, not2)) => a == b && not == not2,
            (Expr::Greatest(_, a), Expr::Greatest(_, b)) => a == b,
            (Expr::Array(_, a), Expr::Array(_, b)) => a == b,
            (Expr::Row(_, a), Expr::Row(_, b)) => a == b,
            (Expr::Collate(_, a), Expr::Collate(_, b)) => a == b,
            (Expr::RowCompare(a, ops, ..), Expr::RowCompare(b, ops2, ..)) => a == b && ops == ops2,
            (Expr::Grouping(_, a, up), Expr::Grouping(_, b, up2)) => a == b && *up == up2 + shift,
            (Expr::Aggregate(a), Expr::Aggregate(b)) => {
                let parts = |call: &super::Aggregate| {
                    (call.proc, call.star, call.variadic, call.direct.len())
                };
                parts(a) == parts(b)
                    && a.order == b.order
                    && a.distinct == b.distinct
                    && a.filter.is_some() == b.filter.is_some()
                    && a.up == b.up + shift
            }
            (Expr::WindowCall(a), Expr::WindowCall(b)) => {
                (a.proc, a.window, a.star, a.filter.is_some())
                    == (b.proc, b.window, b.star, b.filter.is_some())
            }
            (Expr::Subscript(a), Expr::Subscript(b)) => {
                let shape = |part: &super::Subscript| {
                    let shape = |of: &[Option<ExprId>]| -> Vec<bool> {
                        of.iter().map(Option::is_some).collect()
                    };
                    (part.container_type, shape(&part.upper), shape(&part.lower))
                };
                shape(a) == shape(b)
            }
            (Expr::Case(a, arms, _), Expr::Case(b, arms2, _)) => {
                a.is_some() == b.is_some() && arms.len() == arms2.len()
            }
            // Queries are the same only where they are one.
            (Expr::SubQuery(a), Expr::SubQuery(b)) => a.query == b.query && a.kind == b.kind,
            (a, b) if self.children(one).is_empty() => return a == b,
            (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
        };
        if !alike {
            return false;
        }
        let (a, b) = (self.children(one), self.children(other));
        a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| self.same_shifted(*a, shift, *b))
    }
}
