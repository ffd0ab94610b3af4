//! What is known of a query while it is bound?

use crate::ast::{Name, Window};
use crate::bound::{self, Entry, ExprId};
use crate::{Oid, TypeRef};

/// A clause of a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clause {
    /// Outside of clauses.
    #[default]
    None,
    /// A query's targets.
    Targets,
    /// A function in FROM.
    FromFunction,
    /// A query in FROM.
    FromQuery,
    /// JOIN … ON
    JoinOn,
    /// JOIN … USING
    JoinUsing,
    /// WHERE
    Where,
    /// HAVING
    Having,
    /// FILTER
    Filter,
    /// PARTITION BY of a window
    WindowPartition,
    /// ORDER BY of a window
    WindowOrder,
    /// The distance of ROWS
    FrameRows,
    /// The distance of RANGE
    FrameRange,
    /// The distance of GROUPS
    FrameGroups,
    /// GROUP BY
    GroupBy,
    /// ORDER BY
    OrderBy,
    /// DISTINCT ON
    DistinctOn,
    /// LIMIT
    Limit,
    /// OFFSET
    Offset,
    /// VALUES of several rows
    Values,
    /// VALUES of one row of INSERT
    ValuesRow,
    /// What INSERT puts into columns
    InsertTarget,
    /// What UPDATE sets columns to
    UpdateSource,
    /// Parts of columns that UPDATE sets
    UpdateTarget,
    /// RETURNING
    Returning,
    /// What ON CONFLICT names
    IndexExpression,
    /// The condition of the index that ON CONFLICT names
    IndexFilter,
    /// CHECK
    Check,
    /// DEFAULT
    Default,
    /// GENERATED ALWAYS AS
    Generation,
    /// USING of a column's other type
    Transform,
    /// The condition of an action of MERGE
    MergeWhen,
    /// The condition of a trigger
    TriggerWhen,
    /// The condition of COPY FROM
    CopyWhere,
    /// A condition of a policy
    Policy,
}

impl Clause {
    /// How messages call it.
    pub fn name(self) -> &'static str {
        match self {
            Clause::None => "invalid expression context",
            Clause::Targets => "SELECT",
            Clause::FromFunction => "function in FROM",
            Clause::FromQuery => "sub-SELECT in FROM",
            Clause::JoinOn => "JOIN/ON",
            Clause::JoinUsing => "JOIN/USING",
            Clause::Where | Clause::CopyWhere => "WHERE",
            Clause::Having => "HAVING",
            Clause::Filter => "FILTER",
            Clause::WindowPartition => "window PARTITION BY",
            Clause::WindowOrder => "window ORDER BY",
            Clause::FrameRows => "window ROWS",
            Clause::FrameRange => "window RANGE",
            Clause::FrameGroups => "window GROUPS",
            Clause::GroupBy => "GROUP BY",
            Clause::OrderBy => "ORDER BY",
            Clause::DistinctOn => "DISTINCT ON",
            Clause::Limit => "LIMIT",
            Clause::Offset => "OFFSET",
            Clause::Values | Clause::ValuesRow => "VALUES",
            Clause::InsertTarget => "INSERT",
            Clause::UpdateSource | Clause::UpdateTarget => "UPDATE",
            Clause::Returning => "RETURNING",
            Clause::IndexExpression => "index expression",
            Clause::IndexFilter => "index predicate",
            Clause::Check => "CHECK",
            Clause::Default => "DEFAULT",
            Clause::Generation => "GENERATED AS",
            Clause::Transform => "USING",
            Clause::MergeWhen | Clause::TriggerWhen => "WHEN",
            Clause::Policy => "POLICY",
        }
    }
}

/// A column that a name may stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The entry whose column it is; 0 for one that is there no more.
    pub entry: usize,
    /// The column.
    pub column: i32,
    /// Its type.
    pub ty: TypeRef,
    /// The entry and the column by which it is called: of a join with a name its own.
    pub called: (usize, i32),
}

/// A name of FROM.
#[derive(Clone, Debug)]
pub struct Item {
    /// The entry.
    pub entry: usize,
    /// The name that it goes by.
    pub name: Name,
    /// The names of its columns.
    pub names: Vec<Name>,
    /// What they stand for.
    pub columns: Vec<Seen>,
    /// Whether the name is seen.
    pub name_seen: bool,
    /// Whether names of columns are seen without it.
    pub columns_seen: bool,
    /// Only LATERAL sees it.
    pub lateral_only: bool,
    /// LATERAL may use it.
    pub lateral_ok: bool,
    /// Whether it is the name of a join's merged columns.
    pub merged: bool,
    /// Whether it is the table that a statement changes.
    pub target: bool,
}

/// A query that WITH names, as far as it is known.
#[derive(Clone, Debug)]
pub struct KnownCte {
    /// What it is, or will be.
    pub cte: bound::Cte,
    /// Whether the query that is being bound is its own.
    pub under_way: bool,
    /// The collations of its columns.
    pub collations: Vec<Oid>,
    /// The columns of SEARCH and CYCLE, which it sees by their names alone while it is under way.
    pub added: Vec<(Name, TypeRef)>,
    /// Whether it changes rows and gives none.
    pub gives_nothing: bool,
    /// Where it stands.
    pub place: u32,
}

/// A query that is being bound.
#[derive(Debug, Default)]
pub struct Level {
    /// What columns come from.
    pub entries: Vec<Entry>,
    /// The names that are seen.
    pub items: Vec<Item>,
    /// Queries of WITH.
    pub ctes: Vec<KnownCte>,
    /// Names that WITH has behind the one that is being bound.
    pub later: Vec<Name>,
    /// The clause.
    pub clause: Clause,
    /// Whether LATERAL's names are seen.
    pub lateral: bool,
    /// Windows as they were written.
    pub windows: Vec<(Option<Name>, Window)>,
    /// Whether an aggregate belongs to it.
    pub has_aggregates: bool,
    /// Whether a call over a window does.
    pub has_windows: bool,
    /// Whether a target gives a set.
    pub has_sets: bool,
    /// Whether it has queries in expressions.
    pub has_subqueries: bool,
    /// The next target's number.
    pub targets: usize,
    /// The call that gave a set last.
    pub last_set: Option<ExprId>,
    /// Types of the rows of relations, by entry.
    pub rows: Vec<Oid>,
    /// The collations of columns, by entry, where they do not follow from what it is.
    pub collations: Vec<Option<Box<[Oid]>>>,
    /// The relations' keys, by entry.
    pub keys: Vec<Vec<i32>>,
    /// The entry of the table that a statement changes, or 0.
    pub target: usize,
    /// Queries that give rows to several columns of UPDATE.
    pub row_queries: Vec<ExprId>,
}

impl Level {
    /// Whether the entry's rows are of a relation's type.
    pub fn row_of(&self, entry: usize) -> Oid {
        self.rows[entry - 1]
    }
}
