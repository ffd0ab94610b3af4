//! Definitions of tables, indexes, views and sequences as they were written.

use super::{ExprId, IndexElement, Name, Path, QueryId, Relation, Role, Said, Span, TypeName};

/// What becomes of a relation beyond the session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lasting {
    /// It stays.
    #[default]
    Permanent,
    /// TEMPORARY
    Temporary,
    /// UNLOGGED
    Unlogged,
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionValue {
    /// A word, or a type's name.
    Word(Name),
    /// A literal.
    Text(Box<str>),
    /// A number with its sign.
    Number(Box<str>),
    /// An interval's text, and its modifier.
    Interval(Box<str>, i32),
    /// `*`
    Star,
    /// Words or literals in parentheses.
    List(Vec<Name>),
}

impl OptionValue {
    /// What it says, in one text.
    pub fn text(&self) -> &str {
        match self {
            OptionValue::Word(text) | OptionValue::Text(text) | OptionValue::Number(text) => text,
            OptionValue::Interval(text, _) => text,
            OptionValue::Star => "*",
            OptionValue::List(_) => "",
        }
    }
}

/// An option in parentheses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// What is before its name, as in `toast.fillfactor`.
    pub space: Option<Name>,
    /// Its name.
    pub name: Name,
    /// Its value.
    pub value: Option<OptionValue>,
    /// Where it stands.
    pub place: u32,
}

/// What is said of when a constraint is judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// DEFERRABLE (true) or NOT DEFERRABLE.
    pub deferrable: Option<bool>,
    /// INITIALLY DEFERRED (true) or IMMEDIATE.
    pub deferred: Option<bool>,
    /// NOT VALID
    pub not_valid: bool,
    /// NO INHERIT
    pub no_inherit: bool,
}

/// MATCH of a foreign key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// SIMPLE
    Simple,
    /// FULL
    Full,
}

/// What a foreign key does about a change of the row that it refers to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KeyAction {
    /// NO ACTION
    #[default]
    Nothing,
    /// RESTRICT
    Restrict,
    /// CASCADE
    Cascade,
    /// SET NULL, of these columns or all.
    SetNull(Vec<Name>),
    /// SET DEFAULT, of these columns or all.
    SetDefault(Vec<Name>),
}

/// REFERENCES.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct References {
    /// The table.
    pub table: Path,
    /// Where it stands.
    pub place: u32,
    /// Its columns.
    pub columns: Vec<Name>,
    /// MATCH.
    pub matching: Option<Match>,
    /// ON DELETE.
    pub on_delete: KeyAction,
    /// ON UPDATE.
    pub on_update: KeyAction,
}

/// A sequence's option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SequenceOption {
    /// AS
    Type(TypeName),
    /// CACHE
    Cache(Box<str>),
    /// CYCLE, NO CYCLE
    Cycle(bool),
    /// INCREMENT BY
    Increment(Box<str>),
    /// MAXVALUE, NO MAXVALUE
    Max(Option<Box<str>>),
    /// MINVALUE, NO MINVALUE
    Min(Option<Box<str>>),
    /// OWNED BY
    OwnedBy(Path),
    /// SEQUENCE NAME
    Name(Path),
    /// START WITH
    Start(Box<str>),
    /// RESTART WITH
    Restart(Option<Box<str>>),
    /// LOGGED (true), UNLOGGED
    Logged(bool),
    /// SET GENERATED of an identity column; ALWAYS where it is true.
    Generated(bool),
}

/// What is said of a column behind its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnRule {
    /// NULL
    Null,
    /// NOT NULL
    NotNull,
    /// DEFAULT
    Default(Said),
    /// CHECK; NO INHERIT where the flag is set.
    Check(Said, bool),
    /// PRIMARY KEY
    Primary(Vec<Setting>),
    /// UNIQUE; NULLS NOT DISTINCT where the first is true.
    Unique(bool, Vec<Setting>),
    /// REFERENCES
    References(Box<References>),
    /// GENERATED AS IDENTITY; ALWAYS where the first is true.
    Identity(bool, Vec<SequenceOption>),
    /// GENERATED ALWAYS AS … STORED
    Generated(Said),
    /// COLLATE
    Collate(Path),
    /// DEFERRABLE and its like, of the constraint before.
    When(When),
}

/// When a constraint is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// DEFERRABLE
    Deferrable,
    /// NOT DEFERRABLE
    NotDeferrable,
    /// INITIALLY DEFERRED
    Deferred,
    /// INITIALLY IMMEDIATE
    Immediate,
}

/// What is said of a column, with the name that was given to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedRule {
    /// CONSTRAINT.
    pub name: Option<Name>,
    /// What it says.
    pub rule: ColumnRule,
    /// Where it stands.
    pub place: u32,
}

/// A column's declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewColumn {
    /// Its name.
    pub name: Name,
    /// Its type; none in a table OF a type.
    pub ty: Option<TypeName>,
    /// COMPRESSION.
    pub compression: Option<Name>,
    /// What else is said.
    pub rules: Vec<NamedRule>,
    /// Where it stands.
    pub place: u32,
}

/// A constraint of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableRule {
    /// CHECK
    Check(Said),
    /// UNIQUE: NULLS NOT DISTINCT, columns, INCLUDE, WITH.
    Unique(bool, Vec<Name>, Vec<Name>, Vec<Setting>),
    /// PRIMARY KEY: columns, INCLUDE, WITH.
    Primary(Vec<Name>, Vec<Name>, Vec<Setting>),
    /// UNIQUE USING INDEX
    UniqueIndex(Name),
    /// PRIMARY KEY USING INDEX
    PrimaryIndex(Name),
    /// EXCLUDE
    Exclude(Box<Exclusion>),
    /// FOREIGN KEY
    Foreign(Vec<Name>, Box<References>),
}

/// What EXCLUDE says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exclusion {
    /// USING.
    pub method: Option<Name>,
    /// Columns and expressions, each with the path of its operator.
    pub elements: Vec<(IndexElement, Path)>,
    /// INCLUDE.
    pub include: Vec<Name>,
    /// WITH.
    pub settings: Vec<Setting>,
    /// WHERE.
    pub filter: Option<ExprId>,
}

/// A constraint of a table, with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constraint {
    /// CONSTRAINT.
    pub name: Option<Name>,
    /// What it says.
    pub rule: TableRule,
    /// When it is judged.
    pub judged: Judged,
    /// Where it stands.
    pub place: u32,
}

/// A part of a table's definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableElement {
    /// A column.
    Column(NewColumn),
    /// A constraint.
    Constraint(Constraint),
    /// LIKE a table: what is INCLUDING (true) and EXCLUDING, in order.
    Like(Path, Vec<(bool, Name)>),
}

/// What a table is made after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableKind {
    /// Its own columns.
    Plain,
    /// OF a type.
    Of(Path),
    /// PARTITION OF a table.
    PartitionOf(Path, PartitionBound),
}

/// Which rows a partition has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartitionBound {
    /// DEFAULT: those of no other.
    Default,
    /// FOR VALUES IN
    List(Vec<Said>),
    /// FOR VALUES FROM TO
    Range(Vec<Said>, Vec<Said>),
    /// FOR VALUES WITH (MODULUS, REMAINDER)
    Hash(i32, i32),
}

/// PARTITION BY.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionBy {
    /// LIST, RANGE or HASH, as it was written.
    pub strategy: Name,
    /// By what.
    pub elements: Vec<PartitionElement>,
    /// Where it stands.
    pub place: u32,
}

/// What rows are divided by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionElement {
    /// A column; an expression where there is none.
    pub column: Option<Name>,
    /// The expression.
    pub said: Option<Said>,
    /// COLLATE.
    pub collation: Option<Path>,
    /// The operator class.
    pub class: Option<Path>,
    /// Where it stands.
    pub place: u32,
}

/// How a partition leaves its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detach {
    /// At once.
    Plain,
    /// CONCURRENTLY
    Concurrently,
    /// FINALIZE
    Finalize,
}

/// ON COMMIT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnCommit {
    /// DROP
    Drop,
    /// DELETE ROWS
    DeleteRows,
    /// PRESERVE ROWS
    PreserveRows,
}

/// What is said of how a table's rows are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// USING.
    pub method: Option<Name>,
    /// WITH.
    pub settings: Vec<Setting>,
    /// ON COMMIT.
    pub on_commit: Option<OnCommit>,
    /// TABLESPACE.
    pub tablespace: Option<Name>,
}

/// CREATE TABLE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateTable {
    /// TEMPORARY, UNLOGGED.
    pub lasting: Lasting,
    /// IF NOT EXISTS.
    pub skip: bool,
    /// Its name.
    pub name: Path,
    /// Where that stands.
    pub place: u32,
    /// What it is made after.
    pub kind: TableKind,
    /// Columns and constraints.
    pub elements: Vec<TableElement>,
    /// INHERITS.
    pub inherits: Vec<Path>,
    /// PARTITION BY.
    pub partition_by: Option<PartitionBy>,
    /// How its rows are kept.
    pub kept: Kept,
}

/// CREATE TABLE AS, CREATE MATERIALIZED VIEW.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateTableAs {
    /// TEMPORARY, UNLOGGED.
    pub lasting: Lasting,
    /// IF NOT EXISTS.
    pub skip: bool,
    /// MATERIALIZED VIEW.
    pub materialized: bool,
    /// Its name.
    pub name: Path,
    /// Where that stands.
    pub place: u32,
    /// Names of its columns.
    pub columns: Vec<Name>,
    /// How its rows are kept.
    pub kept: Kept,
    /// The query; a prepared statement that is executed where there is none.
    pub query: Option<QueryId>,
    /// The query's text.
    pub span: Span,
    /// WITH NO DATA.
    pub no_data: bool,
}

/// CREATE INDEX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateIndex {
    /// UNIQUE.
    pub unique: bool,
    /// CONCURRENTLY.
    pub concurrently: bool,
    /// IF NOT EXISTS.
    pub skip: bool,
    /// Its name.
    pub name: Option<Name>,
    /// ON.
    pub table: Relation,
    /// USING.
    pub method: Option<Name>,
    /// Columns and expressions.
    pub elements: Vec<IndexElement>,
    /// INCLUDE.
    pub include: Vec<IndexElement>,
    /// NULLS NOT DISTINCT.
    pub nulls_not_distinct: bool,
    /// WITH.
    pub settings: Vec<Setting>,
    /// TABLESPACE.
    pub tablespace: Option<Name>,
    /// WHERE.
    pub filter: Option<ExprId>,
    /// INVISIBLE, which PostgreSQL has not.
    pub invisible: bool,
}

/// CREATE VIEW.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateView {
    /// OR REPLACE.
    pub replace: bool,
    /// TEMPORARY.
    pub lasting: Lasting,
    /// RECURSIVE.
    pub recursive: bool,
    /// Its name.
    pub name: Path,
    /// Where that stands.
    pub place: u32,
    /// Names of its columns.
    pub columns: Vec<Name>,
    /// WITH (…).
    pub settings: Vec<Setting>,
    /// The query.
    pub query: QueryId,
    /// The query's text.
    pub span: Span,
    /// WITH CHECK OPTION.
    pub checked: Option<Checked>,
}

/// Whose conditions rows must meet that are written through a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checked {
    /// The view's own.
    Local,
    /// Those of the views that it reads, too.
    Cascaded,
}

/// CREATE SEQUENCE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateSequence {
    /// TEMPORARY, UNLOGGED.
    pub lasting: Lasting,
    /// IF NOT EXISTS.
    pub skip: bool,
    /// Its name.
    pub name: Path,
    /// Where that stands.
    pub place: u32,
    /// Its options.
    pub options: Vec<SequenceOption>,
}

/// ALTER SEQUENCE with options of a sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterSequence {
    /// IF EXISTS.
    pub skip: bool,
    /// Its name.
    pub name: Path,
    /// Its options.
    pub options: Vec<SequenceOption>,
}

/// What ALTER names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelationKind {
    /// TABLE
    Table,
    /// INDEX
    Index,
    /// SEQUENCE
    Sequence,
    /// VIEW
    View,
    /// MATERIALIZED VIEW
    MaterializedView,
}

/// What ALTER COLUMN does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnChange {
    /// SET DEFAULT
    SetDefault(Said),
    /// DROP DEFAULT
    DropDefault,
    /// SET NOT NULL
    SetNotNull,
    /// DROP NOT NULL
    DropNotNull,
    /// DROP EXPRESSION; IF EXISTS where it is true.
    DropExpression(bool),
    /// TYPE, COLLATE, USING
    Type(Box<TypeName>, Option<Path>, Option<Said>),
    /// ADD GENERATED AS IDENTITY; ALWAYS where the first is true.
    AddIdentity(bool, Vec<SequenceOption>),
    /// SET GENERATED, SET options of the sequence, RESTART
    SetIdentity(Vec<SequenceOption>),
    /// DROP IDENTITY; IF EXISTS where it is true.
    DropIdentity(bool),
    /// STATISTICS, STORAGE, COMPRESSION, options: how values are kept.
    Storage,
}

/// An action of ALTER TABLE and its like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableChange {
    /// ADD COLUMN; IF NOT EXISTS where the first is true.
    AddColumn(bool, Box<NewColumn>),
    /// ADD CONSTRAINT
    AddConstraint(Box<Constraint>),
    /// ALTER COLUMN
    Column(Name, Box<ColumnChange>),
    /// DROP COLUMN: IF EXISTS, the column, CASCADE
    DropColumn(bool, Name, bool),
    /// DROP CONSTRAINT: IF EXISTS, the constraint, CASCADE
    DropConstraint(bool, Name, bool),
    /// ALTER CONSTRAINT
    AlterConstraint(Name, Judged),
    /// VALIDATE CONSTRAINT
    Validate(Name),
    /// OWNER TO
    Owner(Role),
    /// SET or RESET of options
    Settings(Vec<Setting>, bool),
    /// RENAME TO
    Rename(Name),
    /// RENAME COLUMN
    RenameColumn(Name, Name),
    /// RENAME CONSTRAINT
    RenameConstraint(Name, Name),
    /// SET SCHEMA
    Schema(Name),
    /// ENABLE and DISABLE RULE: the rule, and how it is asked.
    Rule(Name, RuleState),
    /// ENABLE and DISABLE TRIGGER: the trigger, or all, and when it fires.
    Trigger(Option<Name>, RuleState),
    /// ROW LEVEL SECURITY
    RowSecurity(super::RowSecurity),
    /// What is said of storage: its words.
    Storage(Box<str>),
    /// VISIBLE or INVISIBLE, of an index, which PostgreSQL has not.
    Visible(bool),
    /// INHERIT
    Inherit(Path),
    /// NO INHERIT
    NoInherit(Path),
    /// ATTACH PARTITION; of an index without a bound.
    Attach(Path, Option<PartitionBound>),
    /// DETACH PARTITION
    Detach(Path, Detach),
    /// Types: its words.
    Other(Box<str>),
}

/// When a rule is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleState {
    /// ENABLE
    Enabled,
    /// ENABLE ALWAYS
    Always,
    /// ENABLE REPLICA
    Replica,
    /// DISABLE
    Disabled,
}

/// ALTER TABLE, INDEX, SEQUENCE, VIEW.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterTable {
    /// What it names.
    pub kind: RelationKind,
    /// IF EXISTS.
    pub skip: bool,
    /// The table or its like.
    pub table: Relation,
    /// What it does.
    pub actions: Vec<TableChange>,
}
