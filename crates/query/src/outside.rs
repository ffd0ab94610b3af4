//! How does a query get what those around it have?
//!
//! Values come in slots, one set of them per run of the query. Columns are named by their entry, aggregates and GROUPING that a
//! query around has calculated by their number ([`CALCULATED`]). An aggregate may be written in a deeper query than the one that it
//! is of: it is made there, and what stands in it counts its levels from where it is written.

use std::sync::Arc;

use onlap_pg::bound::ExprId;
use onlap_pg::{Result, TypeRef};

use crate::compile::{Compiler, unsupported};
use crate::layout::{CALCULATED, Var};
use crate::node::Node;

impl Compiler<'_> {
    /// How many queries up something is, seen from the query that is being made: an aggregate of this query or of one around
    /// it may be written in a deeper one, and counts from there.
    pub fn seen_from_here(&self, up: u32) -> u32 {
        let at = self.frames.len() - 1;
        let written = self.frames.iter().rposition(|frame| frame.deeper > 0);
        match written {
            Some(of) if up >= (at - of) as u32 + self.frames[of].deeper => {
                up - self.frames[of].deeper
            }
            _ => up,
        }
    }

    /// An aggregate or GROUPING of a query around this one, where that has calculated it.
    pub fn calculated(&mut self, id: ExprId, up: u32, ty: TypeRef, what: &str) -> Result<Node> {
        let up = self.seen_from_here(up);
        let owner = self.frames.len() - 1 - up as usize;
        let known = &self.frames[owner].layout.exprs;
        let found = known.iter().find(|(known, _)| self.bound.same(*known, id));
        match found.and_then(|(known, _)| i32::try_from(known.index()).ok()) {
            Some(number) if up > 0 => self.calculated_outside((CALCULATED, number), up, ty),
            _ => Err(unsupported(what)),
        }
    }

    /// What a query around this one has calculated, by its number.
    pub fn calculated_outside(&mut self, var: Var, up: u32, ty: TypeRef) -> Result<Node> {
        let at = self.frames.len() - 1;
        let owner = at - up as usize;
        if up == 0 {
            let known = &self.frames[owner].layout.exprs;
            let found = known.iter().find(|(known, _)| known.index() as i32 == var.1);
            let found = found.map(|(_, column)| Node::Column(*column));
            return found.ok_or_else(|| unsupported("an aggregate here"));
        }
        self.note_outer(owner, var, ty);
        let inner = (owner + 1..=at).rev().find(|n| self.frames[*n].boundary.is_some());
        match inner {
            Some(inner) => Ok(self.told_from_outside(inner, var, up, ty)),
            None => Err(unsupported("a reference to an outer query here")),
        }
    }

    /// A value that a query is told by those around it.
    pub fn told_from_outside(&mut self, inner: usize, var: Var, up: u32, ty: TypeRef) -> Node {
        let at = self.frames.len() - 1;
        let levels = up - (at - inner) as u32;
        let boundary = self.frames[inner].boundary.as_mut().expect("it was looked for");
        let wanted = (levels, var, ty);
        let position = boundary.wanted.iter().position(|known| known.0 == levels && known.1 == var);
        let position = position.unwrap_or_else(|| {
            boundary.wanted.push(wanted);
            boundary.wanted.len() - 1
        });
        Node::Outer(Arc::clone(&boundary.slots), position)
    }
}
