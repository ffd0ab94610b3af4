//! Queries that are bound.

use super::{ExprId, Modify, QueryId, Window};
use crate::ast::{Cycle, JoinKind, LockStrength, LockWait, Name, Search, SetKind};
use crate::{Oid, TypeRef};

/// A column that a query gives, or calculates for its clauses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The value.
    pub value: ExprId,
    /// Its number, from 1.
    pub number: usize,
    /// The name; none where only clauses need it.
    pub name: Option<Name>,
    /// By which clauses name it; 0 for none.
    pub reference: u32,
    /// Whether it is left out of the result.
    pub hidden: bool,
}

/// An item of ORDER BY, GROUP BY or DISTINCT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortItem {
    /// The target.
    pub reference: u32,
    /// The operator of equality; 0 where none is needed.
    pub equal: Oid,
    /// The operator of the order, or 0.
    pub less: Oid,
    /// NULLs come first.
    pub nulls_first: bool,
}

/// A set of GROUP BY.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupSet {
    /// `()`
    Empty,
    /// Of these references.
    Simple(Vec<u32>),
    /// ROLLUP.
    Rollup(Vec<GroupSet>),
    /// CUBE.
    Cube(Vec<GroupSet>),
    /// GROUPING SETS.
    Sets(Vec<GroupSet>),
}

/// A function in FROM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// The name that it is called by.
    pub name: Name,
    /// The call.
    pub call: ExprId,
    /// How many columns it gives.
    pub columns: usize,
    /// Their names and types, where a list of definitions was written.
    pub defined: Vec<(Name, TypeRef)>,
}

/// What an entry is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A table or view.
    Relation {
        /// Its OID.
        oid: Oid,
        /// What kind (relkind).
        kind: u8,
        /// Whether tables below it count.
        inherited: bool,
        /// The names of its own columns, which its rows keep whatever names are given here.
        own: Vec<Name>,
        /// TABLESAMPLE: the handler, its arguments, REPEATABLE.
        sample: Option<Box<(Oid, Vec<ExprId>, Option<ExprId>)>>,
    },
    /// A query.
    Query(QueryId),
    /// A join.
    Join {
        /// How.
        kind: JoinKind,
        /// How many columns are merged ones, which are the first.
        merged: usize,
        /// What each column is.
        columns: Vec<ExprId>,
        /// The columns of the left side: merged ones first, then the others.
        left: Vec<i32>,
        /// The columns of the right side likewise.
        right: Vec<i32>,
        /// The name of the merged columns together.
        using: Option<(Name, Vec<Name>)>,
    },
    /// Functions.
    Functions {
        /// The calls.
        calls: Vec<Function>,
        /// WITH ORDINALITY.
        ordinality: bool,
    },
    /// VALUES.
    Values(Vec<Vec<ExprId>>),
    /// A query that WITH names.
    Cte {
        /// Its name.
        name: Name,
        /// How many queries up.
        up: u32,
        /// Whether that is the query that is being defined.
        own: bool,
    },
}

/// What columns come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it is.
    pub kind: EntryKind,
    /// The name that was given to it, with names of columns.
    pub alias: Option<(Name, Vec<Name>)>,
    /// The name that it goes by.
    pub name: Name,
    /// The names of its columns.
    pub names: Vec<Name>,
    /// Their types; of a join those of what the columns are.
    pub types: Vec<TypeRef>,
    /// LATERAL.
    pub lateral: bool,
    /// Whether it stands in FROM.
    pub in_from: bool,
    /// What its rows must be like before anything else of the query sees them: policies of its table.
    pub guards: Vec<ExprId>,
}

/// A join in FROM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinNode {
    /// How.
    pub kind: JoinKind,
    /// NATURAL.
    pub natural: bool,
    /// The first.
    pub left: JoinTree,
    /// The second.
    pub right: JoinTree,
    /// USING.
    pub using: Vec<Name>,
    /// ON, or what USING means.
    pub condition: Option<ExprId>,
    /// The join's entry.
    pub entry: usize,
}

/// An item of FROM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JoinTree {
    /// An entry, from 1.
    Entry(usize),
    /// A join.
    Join(Box<JoinNode>),
}

/// Queries put together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetNode {
    /// The query of an entry.
    Entry(usize),
    /// Two.
    Both {
        /// How.
        kind: SetKind,
        /// ALL.
        all: bool,
        /// The first.
        left: Box<SetNode>,
        /// The second.
        right: Box<SetNode>,
        /// The types of the columns.
        types: Vec<TypeRef>,
        /// How rows are found equal; none for UNION ALL.
        groups: Vec<SortItem>,
    },
}

/// What kind of statement WITH names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CteKind {
    /// MATERIALIZED or not was not written.
    Default,
    /// MATERIALIZED
    Materialized,
    /// NOT MATERIALIZED
    Inline,
}

/// A query that WITH names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cte {
    /// Its name.
    pub name: Name,
    /// Names of columns as they were written.
    pub aliases: Vec<Name>,
    /// MATERIALIZED.
    pub kind: CteKind,
    /// The query.
    pub query: QueryId,
    /// Whether it names itself.
    pub recursive: bool,
    /// How often it is named, but by itself.
    pub references: usize,
    /// The names of its columns.
    pub names: Vec<Name>,
    /// Their types.
    pub types: Vec<TypeRef>,
    /// SEARCH, where it is kept as it was written and not carried out by the query.
    pub search: Option<Search>,
    /// CYCLE likewise, with TO and DEFAULT.
    pub cycle: Option<(Cycle, [ExprId; 2])>,
}

/// FOR UPDATE and its like, of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lock {
    /// The entry.
    pub entry: usize,
    /// How strong.
    pub strength: LockStrength,
    /// What about rows that others have locked.
    pub wait: LockWait,
    /// Whether it is there for a query around it.
    pub pushed_down: bool,
}

/// A query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// WITH.
    pub ctes: Vec<Cte>,
    /// WITH RECURSIVE.
    pub recursive: bool,
    /// Whether a statement of WITH changes rows.
    pub changes_within: bool,
    /// What it changes; none where it only reads.
    pub modify: Option<Box<Modify>>,
    /// What columns come from.
    pub entries: Vec<Entry>,
    /// FROM.
    pub from: Vec<JoinTree>,
    /// WHERE.
    pub filter: Option<ExprId>,
    /// What it gives; of a statement that changes rows what columns become, by their numbers.
    pub targets: Vec<Target>,
    /// GROUP BY.
    pub groups: Vec<SortItem>,
    /// GROUP BY DISTINCT.
    pub groups_distinct: bool,
    /// ROLLUP and its like.
    pub sets: Vec<GroupSet>,
    /// HAVING.
    pub having: Option<ExprId>,
    /// Windows.
    pub windows: Vec<Window>,
    /// DISTINCT.
    pub distinct: Vec<SortItem>,
    /// DISTINCT ON.
    pub distinct_on: bool,
    /// ORDER BY.
    pub order: Vec<SortItem>,
    /// OFFSET.
    pub offset: Option<ExprId>,
    /// LIMIT.
    pub limit: Option<ExprId>,
    /// WITH TIES.
    pub ties: bool,
    /// FOR UPDATE and its like.
    pub locks: Vec<Lock>,
    /// UNION and its like.
    pub set: Option<SetNode>,
    /// Whether it has aggregates.
    pub has_aggregates: bool,
    /// Whether it has calls over windows.
    pub has_windows: bool,
    /// Whether a target gives a set.
    pub has_sets: bool,
    /// Whether it has queries in expressions.
    pub has_subqueries: bool,
    /// Columns that are grouped by keys of these entries: the whole row follows from them.
    pub depends_on_keys: bool,
}

impl Query {
    /// The columns of its result, hidden ones included.
    pub fn output(&self) -> &[Target] {
        match &self.modify {
            Some(modify) => &modify.returning,
            None => &self.targets,
        }
    }
}
