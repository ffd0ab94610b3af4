//! What does a statement mean, name by name and type by type?
//!
//! The tree that binding gives: columns are numbers of an entry and of a column in it, operators and functions are OIDs, each
//! conversion is a node, each expression has a type. It says what PostgreSQL 15's own analysis says, so the two can be
//! compared word by word. Nothing below it looks up a name, and nothing below it converts.
//!
//! Nodes lie in lists and name each other by number, as those of [`crate::ast`]: a tree is freed without recursion.

mod collation;
mod expr;
mod guards;
mod import;
mod literals;
mod merged;
mod modify;
mod query;
mod rules;
mod same;
mod simple;
mod walk;
mod written;

pub(crate) use collation::Noted;
pub use collation::{DEFAULT as DEFAULT_COLLATION, collation_name, collation_named};
pub use expr::{
    Aggregate, Arm, Call, Expr, Frame, FrameEdge, Literal, NullTest, Op, RowOrder, SubKind,
    SubQuery, Subscript, Window, WindowCall, Xml,
};
pub use guards::{Condition, Guards};
pub use modify::{
    Action, ActionKind, Check, CheckKind, ConflictElement, Modify, ModifyKind, OnConflict,
};
pub use query::{
    Cte, CteKind, Entry, EntryKind, Function, GroupSet, JoinNode, JoinTree, Lock, Query, SetNode,
    SortItem, Target,
};
pub use rules::{Event, Fired, NEW, OLD, selected};
pub use simple::{Seen, Simple};
pub use walk::Part;
pub(crate) use walk::parts_of;
pub use written::Form;

use crate::{Oid, TypeRef};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        $($(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub(crate) u32);

        impl $name {
            /// Its place among those of a statement, from 0.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        })*
    };
}

ids! {
    /// The number of an expression.
    ExprId,
    /// The number of a query.
    QueryId,
}

impl QueryId {
    /// A query that is not bound yet.
    pub(crate) const PENDING: QueryId = QueryId(u32::MAX);
}

#[derive(Clone, Debug)]
struct Node {
    expr: Expr,
    ty: TypeRef,
    place: Option<u32>,
}

/// A statement's nodes.
#[derive(Clone, Debug, Default)]
pub struct Bound {
    nodes: Vec<Node>,
    queries: Vec<Query>,
    /// What collations expressions have.
    pub(crate) collations: collation::Collations,
    /// The types of parameters, by number from 0; 0 for one that the statement does not use.
    pub parameters: Vec<Oid>,
    /// How it was written, for those who print it.
    written: Option<Box<written::Written>>,
}

impl Bound {
    pub(crate) fn new(parameters: &[Oid]) -> Bound {
        Bound { parameters: parameters.to_vec(), ..Bound::default() }
    }

    /// Gives back what nodes that were expected would have taken.
    pub(crate) fn end(mut self) -> Bound {
        self.nodes.shrink_to_fit();
        self.collations.end();
        self
    }

    /// An expression.
    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.nodes[id.0 as usize].expr
    }

    /// The type of an expression.
    pub fn ty(&self, id: ExprId) -> TypeRef {
        self.nodes[id.0 as usize].ty
    }

    /// The byte of the text that an error about an expression points to.
    pub fn place(&self, id: ExprId) -> Option<u32> {
        self.nodes[id.0 as usize].place
    }

    /// The texts of literals: what each is read as, what it says, and its place.
    pub fn texts(&self) -> impl Iterator<Item = (TypeRef, &str, Option<u32>)> {
        self.nodes.iter().filter_map(|node| match &node.expr {
            Expr::Literal(Literal::Text(text)) => Some((node.ty, &**text, node.place)),
            _ => None,
        })
    }

    /// Writes the texts of literals anew; `None` leaves one as it is.
    ///
    /// # Errors
    /// The first of `change`.
    pub fn change_texts(
        &mut self,
        change: &mut dyn FnMut(TypeRef, &str) -> crate::Result<Option<Box<str>>>,
    ) -> crate::Result<()> {
        for node in &mut self.nodes {
            if let Expr::Literal(Literal::Text(text)) = &mut node.expr
                && let Some(now) = change(node.ty, text)?
            {
                *text = now;
            }
        }
        Ok(())
    }

    /// A query.
    pub fn query(&self, id: QueryId) -> &Query {
        &self.queries[id.0 as usize]
    }

    pub(crate) fn add(&mut self, expr: Expr, ty: TypeRef, place: Option<u32>) -> ExprId {
        self.nodes.push(Node { expr, ty, place });
        ExprId(self.nodes.len() as u32 - 1)
    }

    pub(crate) fn add_query(&mut self, query: Query) -> QueryId {
        self.queries.push(query);
        QueryId(self.queries.len() as u32 - 1)
    }

    /// Has a query that changes rows set a column of its table, by number and of a type, to DEFAULT.
    pub fn set_to_default(&mut self, query: QueryId, number: usize, ty: TypeRef) {
        let value = self.add(Expr::Default, ty, None);
        let target = Target { value, number, name: None, reference: 0, hidden: false };
        self.query_mut(query).targets.push(target);
    }

    pub(crate) fn query_mut(&mut self, id: QueryId) -> &mut Query {
        &mut self.queries[id.0 as usize]
    }

    pub(crate) fn set_type(&mut self, id: ExprId, ty: TypeRef) {
        self.nodes[id.0 as usize].ty = ty;
    }

    pub(crate) fn set_expr(&mut self, id: ExprId, expr: Expr) {
        self.nodes[id.0 as usize].expr = expr;
    }

    /// How many expressions there are; [`ExprId::index`] is below it.
    pub fn exprs(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is an expression of which this is true, wherever it stands.
    pub fn has(&self, is: impl Fn(&Expr) -> bool) -> bool {
        self.nodes.iter().any(|node| is(&node.expr))
    }

    /// How many queries there are; [`QueryId::index`] is below it.
    pub fn queries(&self) -> usize {
        self.queries.len()
    }

    /// All queries.
    pub fn query_ids(&self) -> impl Iterator<Item = QueryId> + use<> {
        (0..self.queries.len() as u32).map(QueryId)
    }

    /// The names and types of the columns that a query gives.
    pub fn columns(&self, query: QueryId) -> Vec<(&str, TypeRef)> {
        let seen = self.query(query).output().iter().filter(|target| !target.hidden);
        seen.map(|t| (t.name.as_deref().unwrap_or_default(), self.ty(t.value))).collect()
    }
}
