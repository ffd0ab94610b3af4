//! Statements as they were written.

use super::{
    AlterSequence, AlterTable, CreateIndex, CreateSequence, CreateTable, CreateTableAs, CreateView,
    ExprId, FromId, Name, Object, OpName, Path, QueryId, Relation, SortOrder, Step, Target,
    Utility, With,
};

/// A statement and its place in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// What it is.
    pub statement: Statement,
    /// Where it begins, in bytes.
    pub start: u32,
    /// Where it ends.
    pub end: u32,
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// SELECT, VALUES, TABLE.
    Query(QueryId),
    /// INSERT.
    Insert(Box<Insert>),
    /// UPDATE.
    Update(Box<Update>),
    /// DELETE.
    Delete(Box<Delete>),
    /// MERGE.
    Merge(Box<Merge>),
    /// CREATE TABLE.
    CreateTable(Box<CreateTable>),
    /// CREATE TABLE AS, CREATE MATERIALIZED VIEW.
    CreateTableAs(Box<CreateTableAs>),
    /// CREATE INDEX.
    CreateIndex(Box<CreateIndex>),
    /// CREATE VIEW.
    CreateView(Box<CreateView>),
    /// CREATE SEQUENCE.
    CreateSequence(Box<CreateSequence>),
    /// ALTER SEQUENCE with options of a sequence.
    AlterSequence(Box<AlterSequence>),
    /// ALTER TABLE, INDEX, SEQUENCE, VIEW.
    AlterTable(Box<AlterTable>),
    /// Objects that are no relations, and rights.
    Object(Box<Object>),
    /// Transactions, settings, cursors, upkeep.
    Utility(Box<Utility>),
    /// Any other, which is not read: its first word.
    Other(Name),
}

/// INTO: a table that a query makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Into {
    /// Its name.
    pub name: Path,
    /// TEMPORARY.
    pub temporary: bool,
    /// UNLOGGED.
    pub unlogged: bool,
    /// Where its name stands.
    pub place: u32,
    /// The whole clause.
    pub span: super::Span,
}

/// A column that is written to, and the part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The column.
    pub name: Name,
    /// The part.
    pub steps: Box<[Step]>,
    /// Where it stands.
    pub place: u32,
}

/// OVERRIDING.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overriding {
    /// USER VALUE
    User,
    /// SYSTEM VALUE
    System,
}

/// INSERT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Insert {
    /// WITH.
    pub with: Option<With>,
    /// INTO.
    pub into: Relation,
    /// The columns that were named.
    pub columns: Vec<Column>,
    /// OVERRIDING.
    pub overriding: Option<Overriding>,
    /// What is inserted; DEFAULT VALUES where there is none.
    pub source: Option<QueryId>,
    /// ON CONFLICT.
    pub conflict: Option<Conflict>,
    /// RETURNING.
    pub returning: Vec<Target>,
}

/// ON CONFLICT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// With what.
    pub target: Option<ConflictTarget>,
    /// Where that stands.
    pub target_place: u32,
    /// What then.
    pub action: ConflictAction,
    /// Where it stands.
    pub place: u32,
}

/// What a row may be in conflict with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConflictTarget {
    /// An index of these, of the rows that fulfil a condition.
    Index(Vec<IndexElement>, Option<ExprId>),
    /// ON CONSTRAINT.
    Constraint(Name),
}

/// What is done about a conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConflictAction {
    /// DO NOTHING
    Nothing,
    /// DO UPDATE SET, WHERE
    Update(Vec<Assigned>, Option<ExprId>),
}

/// A column or expression of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexElement {
    /// The column, where it is one.
    pub column: Option<Name>,
    /// The expression otherwise.
    pub value: Option<ExprId>,
    /// COLLATE.
    pub collation: Option<Path>,
    /// The operator class.
    pub class: Option<Path>,
    /// Options of the operator class.
    pub class_options: Vec<(OpName, Option<Name>)>,
    /// How it is ordered.
    pub order: SortOrder,
    /// NULLS FIRST (true) or LAST.
    pub nulls_first: Option<bool>,
}

/// An assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assigned {
    /// `column = value`
    One(Column, ExprId),
    /// `(columns) = row`
    Row(Vec<Column>, ExprId),
}

/// UPDATE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// WITH.
    pub with: Option<With>,
    /// The table.
    pub table: Relation,
    /// SET.
    pub set: Vec<Assigned>,
    /// FROM.
    pub from: Vec<FromId>,
    /// WHERE.
    pub filter: Option<ExprId>,
    /// RETURNING.
    pub returning: Vec<Target>,
}

/// DELETE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delete {
    /// WITH.
    pub with: Option<With>,
    /// The table.
    pub table: Relation,
    /// USING.
    pub using: Vec<FromId>,
    /// WHERE.
    pub filter: Option<ExprId>,
    /// RETURNING.
    pub returning: Vec<Target>,
}

/// MERGE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merge {
    /// WITH.
    pub with: Option<With>,
    /// INTO.
    pub into: Relation,
    /// USING.
    pub source: FromId,
    /// ON.
    pub on: ExprId,
    /// WHEN.
    pub when: Vec<MergeWhen>,
}

/// WHEN of MERGE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeWhen {
    /// MATCHED, and not NOT MATCHED.
    pub matched: bool,
    /// AND.
    pub condition: Option<ExprId>,
    /// THEN.
    pub action: MergeAction,
}

/// What MERGE does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeAction {
    /// DO NOTHING
    Nothing,
    /// DELETE
    Delete,
    /// UPDATE SET
    Update(Vec<Assigned>),
    /// INSERT: columns, OVERRIDING, values; DEFAULT VALUES where there are none.
    Insert(Vec<Column>, Option<Overriding>, Option<Box<[ExprId]>>),
}
