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
            if self.query(id).modify.is_none() {
                continue;
            }
            let mut targets = std::mem::take(&mut self.query_mut(id).targets);
            self.merge(&mut targets)?;
            self.query_mut(id).targets = targets;
            let Some(modify) = &mut self.query_mut(id).modify else { continue };
            let Some(conflict) = &mut modify.conflict else { continue };
            let mut set = std::mem::take(&mut conflict.set);
            self.merge(&mut set)?;
            let modify = self.query_mut(id).modify.as_mut();
            let conflict = modify.and_then(|modify| modify.conflict.as_mut());
            conflict.expect("it was there just now").set = set;
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
            _ => return Err(Error::unserved("several parts of this column")),
        };
        Ok(self.add(made, ty, place))
    }
}
