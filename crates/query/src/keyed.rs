//! Which conditions say something of the keys that indexes have of rows?
//!
//! An index of gin has keys of each row, and a condition with a value that is known when the scan starts needs some of them
//! ([`onlap_kernels::gin`]). OR of such conditions, and of those that other indexes answer, needs what any of them needs. The
//! conditions are asked of the rows all the same: keys only leave rows out.
//!
//! Thread safety: as of the compiler.

use std::sync::Arc;

use onlap_kernels::Datum;
use onlap_kernels::gin::{Class, Tree};
use onlap_pg::bound::{Expr, ExprId, Op};
use onlap_pg::catalog::oids;
use onlap_pg::{Oid, Result};

use crate::compile::{Compiler, MORE_STACK, RED_ZONE};
use crate::env::{Derived, Facts, Keyed};
use crate::restrictions::one;

/// About the share of rows that a condition on keys leaves.
pub const SHARE_OF_KEYS: f64 = 0.01;

impl Compiler<'_> {
    /// What a condition says of keys of an entry's rows; `None` where that is nothing.
    ///
    /// # Errors
    /// Those of constants.
    pub fn said_of_keys(
        &mut self,
        entry: usize,
        id: ExprId,
        facts: &Facts,
    ) -> Result<Option<Keyed>> {
        if facts.derived.iter().all(|derived| derived.class.is_none()) {
            return Ok(None);
        }
        let found = self.keyed_part(entry, id, facts)?;
        // What says nothing of keys is a restriction already.
        Ok(found.filter(Keyed::has_keys))
    }

    fn keyed_part(&mut self, entry: usize, id: ExprId, facts: &Facts) -> Result<Option<Keyed>> {
        stacker::maybe_grow(RED_ZONE, MORE_STACK, || {
            let bound = self.bound;
            match bound.expr(id) {
                Expr::And(all) => {
                    let mut parts = Vec::new();
                    for part in all {
                        parts.extend(self.keyed_part(entry, *part, facts)?);
                    }
                    Ok((!parts.is_empty()).then_some(Keyed::All(parts)))
                }
                Expr::Or(arms) => {
                    let mut parts = Vec::with_capacity(arms.len());
                    for arm in arms {
                        let Some(part) = self.keyed_part(entry, *arm, facts)? else {
                            return Ok(None);
                        };
                        parts.push(part);
                    }
                    Ok(Some(Keyed::Any(parts)))
                }
                Expr::Op(op) => match self.keys_of(entry, op, facts)? {
                    None => self.restricted(entry, id, facts),
                    found => Ok(found),
                },
                _ => self.restricted(entry, id, facts),
            }
        })
    }

    /// A condition that an index of whole columns answers.
    fn restricted(&mut self, entry: usize, id: ExprId, facts: &Facts) -> Result<Option<Keyed>> {
        let restriction = self.restriction(entry, id, facts)?;
        let usable = restriction.filter(|r| !r.runs && facts.indexed.contains(&r.column));
        Ok(usable.map(Keyed::Column))
    }

    fn keys_of(&mut self, entry: usize, op: &Op, facts: &Facts) -> Result<Option<Keyed>> {
        let [left, right] = op.args[..] else { return Ok(None) };
        let Some(operator) = self.env.catalog.operator(op.operator) else { return Ok(None) };
        let sides = [(left, right, operator.oid), (right, left, operator.commutator)];
        for (value, with, operator) in sides {
            let mut parts = Vec::new();
            for derived in facts.derived.iter() {
                let Some(class) = derived.class else { continue };
                let Some(question) = class.question(operator) else { continue };
                if !self.is_indexed(entry, value, derived, class) {
                    continue;
                }
                let ty = self.bound.ty(with).oid;
                let Some(tree) =
                    self.tree_of(with, move |value, cx| class.asked(question, ty, value, cx))?
                else {
                    continue;
                };
                parts.push(Keyed::Keys { column: derived.column, tree });
            }
            // Indexes of one class say the same; those of different ones leave fewer rows together.
            match parts.len() {
                0 => {}
                1 => return Ok(parts.pop()),
                _ => return Ok(Some(Keyed::All(parts))),
            }
        }
        Ok(None)
    }

    /// What is needed for a value that is known when the scan starts; `None` where it is not, or needs nothing.
    fn tree_of(
        &mut self,
        with: ExprId,
        asked: impl Fn(&Datum<'_>, &onlap_kernels::Cx<'_>) -> Result<Tree> + Send + Sync + 'static,
    ) -> Result<Option<crate::env::Trees>> {
        let repr = self.repr(self.bound.ty(with).oid)?;
        if let Some(array) = self.fixed_value(with)? {
            let tree = asked(&Datum::at(&array, repr, 0), &self.env.cx())?;
            return Ok((tree != Tree::All).then(|| {
                let trees: crate::env::Trees = Arc::new(move || Ok(tree.clone()));
                trees
            }));
        }
        if !self.is_known(with) || self.is_volatile(with) {
            return Ok(None);
        }
        let (node, env) = (self.known_node(with)?, Arc::clone(&self.env));
        Ok(Some(Arc::new(move || asked(&Datum::at(&one(&node, &env)?, repr, 0), &env.cx()))))
    }

    /// Whether an expression is what an index has the keys of, perhaps as another type whose values have the same.
    fn is_indexed(&self, entry: usize, id: ExprId, derived: &Derived, class: Class) -> bool {
        if self.is_derived(entry, id, derived, derived.root()) {
            return true;
        }
        match self.bound.expr(id) {
            Expr::Relabel(one) => {
                let (from, to) = (self.bound.ty(*one).oid, self.bound.ty(id).oid);
                let is_same = self.env.catalog.base_type(from) == to
                    || has_same_keys(class, self.env.catalog.base_type(from), to);
                is_same && self.is_indexed(entry, *one, derived, class)
            }
            _ => false,
        }
    }
}

/// Whether values of two types have the same keys.
fn has_same_keys(class: Class, from: Oid, to: Oid) -> bool {
    let texts = |ty: Oid| matches!(ty, oids::TEXT | 1043);
    match class {
        Class::Arrays => [from, to].iter().all(|ty| matches!(*ty, oids::TEXT_ARRAY | 1015)),
        Class::Trigrams => texts(to) && (texts(from) || from == oids::CITEXT),
        Class::Documents | Class::Paths | Class::Words => false,
    }
}
