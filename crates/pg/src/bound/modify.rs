//! Statements that change rows, as far as they are more than queries.

use super::{ExprId, Target};
use crate::Oid;
use crate::ast::Overriding;

/// How rows are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModifyKind {
    /// INSERT
    Insert,
    /// UPDATE
    Update,
    /// DELETE
    Delete,
}

/// What a statement changes. What columns become are the targets of its query: the number of each is the column's.
/// Columns that INSERT does not name get their defaults, in whatever order; rows of INSERT … VALUES with several rows come
/// from an entry of the query, with [`super::Expr::Default`] where DEFAULT was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Modify {
    /// How.
    pub kind: ModifyKind,
    /// The table's entry, from 1.
    pub entry: usize,
    /// OVERRIDING.
    pub overriding: Option<Overriding>,
    /// ON CONFLICT.
    pub conflict: Option<OnConflict>,
    /// RETURNING.
    pub returning: Vec<Target>,
}

/// ON CONFLICT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnConflict {
    /// Whether rows in the way are updated, and not left.
    pub update: bool,
    /// The columns and expressions of the index; empty for any, or for a constraint.
    pub elements: Vec<ConflictElement>,
    /// The condition of the index.
    pub index_filter: Option<ExprId>,
    /// ON CONSTRAINT.
    pub constraint: Oid,
    /// What columns become.
    pub set: Vec<Target>,
    /// WHERE.
    pub filter: Option<ExprId>,
    /// The entry of the row that was to be inserted; 0 where there is none.
    pub excluded: usize,
}

/// A column or expression of an index that finds conflicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConflictElement {
    /// The value.
    pub value: ExprId,
    /// The collation that was written, or 0.
    pub collation: Oid,
    /// The operator class that was written, or 0.
    pub class: Oid,
}
