//! Where does what was written begin?

use super::Binder;
use crate::ast::{Expr, ExprId, Tree};

/// The place that an error about an expression points to: the leftmost of its operator and its first operand.
pub(super) fn start(tree: &Tree, id: ExprId) -> Option<u32> {
    let (mut id, mut least) = (id, tree.place(id));
    loop {
        let first = match tree.expr(id) {
            Expr::Op(_, Some(left), _)
            | Expr::OpArray(_, left, ..)
            | Expr::In(left, ..)
            | Expr::Like(_, _, left, ..)
            | Expr::Between { value: left, .. }
            | Expr::Distinct(left, ..)
            | Expr::NullIf(left, _)
            | Expr::Is(left, ..)
            | Expr::OpQuery(_, left, ..)
            | Expr::InQuery(left, _) => *left,
            Expr::Cast(left, ty) => {
                least = earlier(least, Some(ty.place));
                *left
            }
            Expr::Collate(left, _) | Expr::Steps(left, _) => {
                least = None;
                *left
            }
            Expr::And(all) | Expr::Or(all) if !all.is_empty() => all[0],
            Expr::Call(call) if !call.args.is_empty() => call.args[0].value,
            _ => return least,
        };
        least = earlier(least, tree.place(first));
        id = first;
    }
}

fn earlier(one: Option<u32>, other: Option<u32>) -> Option<u32> {
    one.into_iter().chain(other).min()
}

impl Binder<'_> {
    /// Where an expression begins that was written.
    pub(super) fn raw_start(&self, id: ExprId) -> Option<u32> {
        start(self.tree, id)
    }
}
