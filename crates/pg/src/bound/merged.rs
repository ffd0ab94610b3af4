//! What becomes of several parts of one column that a statement writes to?
//!
//! The binder gives a target for each, as PostgreSQL's analysis does; they become one value before the statement is
//! carried out, as in PostgreSQL's rewriter. Pure.

use super::{Bound, Expr, ExprId, QueryId, Target};
use crate::{Error, Result};

impl Bound {
    /// Makes one target of those of one column: each part is stored into what the one before it gives.
    ///
    /// # Errors
    /// `0A000`: parts that are not stored so.
    pub fn merge_parts(&mut self) -> Result<()> {
        for at in 0..self.queries() {
            let id = QueryId(at as u32);
            let Some(mut modify) = self.query_mut(id).modify.take() else { continue };
            let mut targets = std::mem::take(&mut self.query_mut(id).targets);
            self.merge(&mut targets)?;
            if let Some(conflict) = &mut modify.conflict {
                self.merge(&mut conflict.set)?;
            }
            for action in &mut modify.actions {
                self.merge(&mut action.set)?;
            }
            let query = self.query_mut(id);
            (query.targets, query.modify) = (targets, Some(modify));
        }
        Ok(())
    }

    fn merge(&mut self, targets: &mut Vec<Target>) -> Result<()> {
        let mut at = 0;
        while at < targets.len() {
            let is_same = |other: &Target| {
                !other.hidden && !targets[at].hidden && other.number == targets[at].number
            };
            match targets[..at].iter().position(is_same) {
                None => at += 1,
                Some(first) => {
                    let later = targets.remove(at).value;
                    targets[first].value = self.stored_into(later, targets[first].value)?;
                }
            }
        }
        Ok(())
    }

    fn stored_into(&mut self, value: ExprId, base: ExprId) -> Result<ExprId> {
        let (ty, place) = (self.ty(value), self.place(value));
        let made = match self.expr(value).clone() {
            Expr::Subscript(mut part) => {
                part.container = base;
                Expr::Subscript(part)
            }
            Expr::StoreFields(_, values, numbers) => Expr::StoreFields(base, values, numbers),
            // What both make together keeps to the conditions, not what the first makes alone.
            Expr::Domain(value) => {
                let base = match *self.expr(base) {
                    Expr::Domain(base) => base,
                    _ => base,
                };
                Expr::Domain(self.stored_into(value, base)?)
            }
            _ => return Err(Error::unserved("several parts of this column")),
        };
        Ok(self.add(made, ty, place))
    }
}
