//! Queries as they were written.

use super::{ExprId, FromId, Name, OpName, Path, QueryId, Statement, TypeName};

/// A query with the clauses around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// WITH.
    pub with: Option<With>,
    /// What it is of.
    pub body: Body,
    /// ORDER BY.
    pub order: Vec<Sort>,
    /// LIMIT; NULL for ALL.
    pub limit: Option<ExprId>,
    /// WITH TIES.
    pub ties: bool,
    /// OFFSET.
    pub offset: Option<ExprId>,
    /// FOR UPDATE and its like.
    pub locks: Vec<Lock>,
}

/// What a query is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// SELECT.
    Select(Box<Select>),
    /// VALUES.
    Values(Vec<Box<[ExprId]>>),
    /// UNION, INTERSECT, EXCEPT.
    Set(Set),
}

/// Two queries put together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// How.
    pub kind: SetKind,
    /// ALL.
    pub all: bool,
    /// The first.
    pub left: QueryId,
    /// The second.
    pub right: QueryId,
}

/// How two queries are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetKind {
    /// UNION
    Union,
    /// INTERSECT
    Intersect,
    /// EXCEPT
    Except,
}

/// SELECT.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Select {
    /// DISTINCT.
    pub distinct: Option<Distinct>,
    /// What it gives.
    pub targets: Vec<Target>,
    /// INTO.
    pub into: Option<super::Into>,
    /// FROM.
    pub from: Vec<FromId>,
    /// WHERE.
    pub filter: Option<ExprId>,
    /// GROUP BY.
    pub group: Vec<GroupItem>,
    /// GROUP BY DISTINCT.
    pub group_distinct: bool,
    /// HAVING.
    pub having: Option<ExprId>,
    /// WINDOW.
    pub windows: Vec<(Name, Window)>,
}

/// DISTINCT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Distinct {
    /// Of whole rows.
    Rows,
    /// DISTINCT ON.
    On(Box<[ExprId]>),
}

/// A column that a query gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its value.
    pub value: ExprId,
    /// The name that was written.
    pub name: Option<Name>,
    /// Where it stands.
    pub place: u32,
}

/// An item of GROUP BY.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupItem {
    /// An expression; several where it is a row without ROW.
    Expr(ExprId),
    /// `()`
    Empty(u32),
    /// ROLLUP.
    Rollup(Box<[ExprId]>, u32),
    /// CUBE.
    Cube(Box<[ExprId]>, u32),
    /// GROUPING SETS.
    Sets(Vec<GroupItem>, u32),
}

/// How an order goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SortOrder {
    /// None was written.
    Default,
    /// ASC
    Ascending,
    /// DESC
    Descending,
    /// USING an operator, and where.
    Using(Box<OpName>, u32),
}

/// An item of ORDER BY.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sort {
    /// By what.
    pub value: ExprId,
    /// How.
    pub order: SortOrder,
    /// NULLS FIRST (true) or LAST.
    pub nulls_first: Option<bool>,
}

/// How strong a lock is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockStrength {
    /// FOR KEY SHARE
    KeyShare,
    /// FOR SHARE
    Share,
    /// FOR NO KEY UPDATE
    NoKeyUpdate,
    /// FOR UPDATE
    Update,
}

/// What to do about rows that others have locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockWait {
    /// Wait.
    Block,
    /// SKIP LOCKED
    Skip,
    /// NOWAIT
    Error,
}

/// FOR UPDATE and its like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    /// How strong.
    pub strength: LockStrength,
    /// OF these; all where there are none.
    pub of: Vec<Relation>,
    /// What about locked rows.
    pub wait: LockWait,
}

/// A table or view by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    /// Its name, with a schema and a database where they were written.
    pub name: Path,
    /// ONLY.
    pub only: bool,
    /// The name that it goes by.
    pub alias: Option<Alias>,
    /// Where it stands.
    pub place: u32,
}

/// Another name, and names of columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The name.
    pub name: Name,
    /// Names of the first columns.
    pub columns: Vec<Name>,
}

/// A column of a function's rows, as `AS (a int, b text)` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnDef {
    /// Its name.
    pub name: Name,
    /// Its type.
    pub ty: TypeName,
    /// COLLATE, and where it stands.
    pub collation: Option<(Path, u32)>,
    /// Where it stands.
    pub place: u32,
}

/// A call in FROM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionItem {
    /// The call.
    pub call: ExprId,
    /// Its columns, within ROWS FROM.
    pub columns: Vec<ColumnDef>,
}

/// How rows are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// JOIN, CROSS JOIN
    Inner,
    /// LEFT
    Left,
    /// RIGHT
    Right,
    /// FULL
    Full,
}

/// USING.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Using {
    /// The columns.
    pub columns: Vec<Name>,
    /// The name that they go by together.
    pub alias: Option<Name>,
}

/// Which rows are joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum On {
    /// All: CROSS JOIN.
    Cross,
    /// NATURAL.
    Natural,
    /// USING.
    Using(Using),
    /// ON.
    Condition(ExprId),
}

/// A join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Join {
    /// How.
    pub kind: JoinKind,
    /// The first.
    pub left: FromId,
    /// The second.
    pub right: FromId,
    /// Which.
    pub on: On,
    /// The name that it goes by, in parentheses.
    pub alias: Option<Alias>,
}

/// TABLESAMPLE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The method.
    pub method: Path,
    /// Its arguments.
    pub args: Box<[ExprId]>,
    /// REPEATABLE.
    pub repeatable: Option<ExprId>,
    /// Where the method stands.
    pub place: u32,
}

/// An item of FROM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum From {
    /// A table or view.
    Relation(Relation),
    /// One of which only some rows are read.
    Sample(Relation, Sample),
    /// A query.
    Query {
        /// LATERAL.
        lateral: bool,
        /// The query.
        query: QueryId,
        /// The name that it goes by.
        alias: Alias,
    },
    /// Calls of functions.
    Functions {
        /// LATERAL.
        lateral: bool,
        /// ROWS FROM.
        rows_from: bool,
        /// The calls.
        calls: Vec<FunctionItem>,
        /// WITH ORDINALITY.
        ordinality: bool,
        /// The name that they go by.
        alias: Option<Alias>,
        /// Their columns.
        columns: Vec<ColumnDef>,
    },
    /// A join.
    Join(Box<Join>),
}

/// WITH.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct With {
    /// RECURSIVE.
    pub recursive: bool,
    /// The queries.
    pub ctes: Vec<Cte>,
    /// Where it stands.
    pub place: u32,
}

/// What WITH names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CteBody {
    /// A query.
    Query(QueryId),
    /// INSERT, UPDATE, DELETE, MERGE.
    Statement(Box<Statement>),
}

/// SEARCH.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// BREADTH FIRST.
    pub breadth: bool,
    /// BY.
    pub by: Vec<Name>,
    /// SET.
    pub set: Name,
    /// Where it stands.
    pub place: u32,
}

/// CYCLE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// The columns.
    pub columns: Vec<Name>,
    /// SET.
    pub mark: Name,
    /// TO and DEFAULT.
    pub values: Option<(ExprId, ExprId)>,
    /// USING.
    pub path: Name,
    /// Where it stands.
    pub place: u32,
}

/// A query that WITH names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cte {
    /// The name.
    pub name: Name,
    /// Names of its columns.
    pub columns: Vec<Name>,
    /// MATERIALIZED (true) or NOT MATERIALIZED.
    pub materialized: Option<bool>,
    /// What it is.
    pub body: CteBody,
    /// SEARCH.
    pub search: Option<Search>,
    /// CYCLE.
    pub cycle: Option<Cycle>,
    /// Where it stands.
    pub place: u32,
}

/// What a frame counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameUnit {
    /// RANGE
    Range,
    /// ROWS
    Rows,
    /// GROUPS
    Groups,
}

/// An end of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameEdge {
    /// UNBOUNDED PRECEDING
    First,
    /// n PRECEDING
    Before(ExprId),
    /// CURRENT ROW
    Current,
    /// n FOLLOWING
    After(ExprId),
    /// UNBOUNDED FOLLOWING
    Last,
}

/// What a frame leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exclude {
    /// CURRENT ROW
    Current,
    /// GROUP
    Group,
    /// TIES
    Ties,
}

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// What it counts.
    pub unit: FrameUnit,
    /// From here.
    pub from: FrameEdge,
    /// To here; the current row where none was written.
    pub to: Option<FrameEdge>,
    /// EXCLUDE.
    pub exclude: Option<Exclude>,
}

/// A window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// The window that it begins with.
    pub base: Option<Name>,
    /// PARTITION BY.
    pub partition: Vec<ExprId>,
    /// ORDER BY.
    pub order: Vec<Sort>,
    /// The frame.
    pub frame: Option<Frame>,
    /// Where it stands.
    pub place: u32,
}
