//! Statements that change rows, as far as they are more than queries.

use super::{ExprId, Target};
use crate::Oid;
use crate::ast::{Name, Overriding};

/// How rows are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModifyKind {
    /// INSERT
    Insert,
    /// UPDATE
    Update,
    /// DELETE
    Delete,
    /// MERGE, whose actions say what is done
    Merge,
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
    /// What rows must be like that are written: WITH CHECK OPTION of the views that it goes through, and policies.
    pub checks: Vec<Check>,
    /// What MERGE does: of each row the first that is for it.
    pub actions: Vec<Action>,
}

/// WHEN of MERGE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// Whether it is for rows that match one of the table, and not for others.
    pub matched: bool,
    /// AND.
    pub condition: Option<ExprId>,
    /// What is done.
    pub kind: ActionKind,
    /// OVERRIDING.
    pub overriding: Option<Overriding>,
    /// What columns become.
    pub set: Vec<Target>,
}

/// What an action of MERGE does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionKind {
    /// Nothing.
    Nothing,
    /// Inserts a row.
    Insert,
    /// Changes the row.
    Update,
    /// Deletes it.
    Delete,
}

/// What asks something of rows that are written, and of which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckKind {
    /// WITH CHECK OPTION of a view: of the row that was written.
    View,
    /// A policy: of a row before it is inserted.
    Insert,
    /// A policy: of what a row is to become.
    Update,
    /// A policy: of the row that ON CONFLICT has found.
    Conflict,
    /// A policy: of the row that MERGE updates, as it was.
    MergeUpdate,
    /// A policy: of the row that MERGE deletes.
    MergeDelete,
}

/// What rows must be like that are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Of which rows.
    pub kind: CheckKind,
    /// The view, or the table of a policy.
    pub relation: Name,
    /// The policy, where it is one by itself.
    pub policy: Option<Name>,
    /// The condition, of the table's columns.
    pub value: ExprId,
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
