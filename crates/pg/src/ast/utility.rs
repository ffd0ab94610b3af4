//! Statements about transactions, settings, cursors and upkeep as they were written.

use onlap_base::LockMode;

use super::{ExprId, Name, OptionValue, Path, Relation, Said, Setting, Span, Statement, TypeName};

/// How isolated a transaction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// READ UNCOMMITTED
    ReadUncommitted,
    /// READ COMMITTED
    ReadCommitted,
    /// REPEATABLE READ
    RepeatableRead,
    /// SERIALIZABLE
    Serializable,
}

/// A mode of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// ISOLATION LEVEL
    Isolation(Isolation),
    /// READ ONLY (true), READ WRITE
    ReadOnly(bool),
    /// DEFERRABLE (true), NOT DEFERRABLE
    Deferrable(bool),
}

/// What begins, ends or marks a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transaction {
    /// BEGIN; START TRANSACTION where the first is true.
    Begin(bool, Vec<Mode>),
    /// COMMIT; AND CHAIN where it is true.
    Commit(bool),
    /// ROLLBACK; AND CHAIN where it is true.
    Rollback(bool),
    /// SAVEPOINT
    Savepoint(Name),
    /// RELEASE
    Release(Name),
    /// ROLLBACK TO
    RollbackTo(Name),
    /// PREPARE TRANSACTION
    Prepare(Box<str>),
    /// COMMIT PREPARED
    CommitPrepared(Box<str>),
    /// ROLLBACK PREPARED
    RollbackPrepared(Box<str>),
}

/// What SET says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetTo {
    /// These values.
    Values(Vec<OptionValue>),
    /// DEFAULT, or LOCAL of a time zone.
    Default,
    /// FROM CURRENT
    Current,
}

/// How long SET lasts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// Nothing was said.
    #[default]
    None,
    /// SESSION
    Session,
    /// LOCAL
    Local,
}

/// SET, SHOW, RESET.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Set {
    /// SET of a setting.
    Setting(Reach, Name, SetTo),
    /// SET ROLE; none for NONE.
    Role(Reach, Option<Name>),
    /// SET SESSION AUTHORIZATION; none for DEFAULT.
    Authorization(Reach, Option<Name>),
    /// SET TRANSACTION
    Transaction(Vec<Mode>),
    /// SET TRANSACTION SNAPSHOT
    Snapshot(Box<str>),
    /// SET SESSION CHARACTERISTICS
    Characteristics(Vec<Mode>),
    /// SET CONSTRAINTS: those, or all, are DEFERRED (true) or IMMEDIATE
    Constraints(Vec<Path>, bool),
    /// SHOW; none for ALL.
    Show(Option<Name>),
    /// RESET; none for ALL.
    Reset(Option<Name>),
}

/// How far FETCH goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Forward by a number of rows, or backward where it is negative.
    Forward(i64),
    /// All that are left.
    ForwardAll,
    /// Backward by a number of rows.
    Backward(i64),
    /// All that were before.
    BackwardAll,
    /// To a row by its number.
    Absolute(i64),
    /// By a number of rows, of which the last is given.
    Relative(i64),
}

/// DECLARE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declare {
    /// The cursor.
    pub name: Name,
    /// BINARY.
    pub binary: bool,
    /// SCROLL (true) or NO SCROLL.
    pub scroll: Option<bool>,
    /// INSENSITIVE (true) or ASENSITIVE.
    pub insensitive: Option<bool>,
    /// WITH HOLD.
    pub hold: bool,
    /// The query.
    pub query: super::QueryId,
    /// The query's text.
    pub span: Span,
}

/// FETCH and MOVE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// MOVE.
    pub moves: bool,
    /// How far.
    pub way: Way,
    /// The cursor.
    pub name: Name,
}

/// PREPARE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepare {
    /// The statement's name.
    pub name: Name,
    /// Types of its parameters.
    pub types: Vec<TypeName>,
    /// The statement.
    pub statement: Statement,
    /// Its text.
    pub span: Span,
}

/// EXECUTE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execute {
    /// The statement's name.
    pub name: Name,
    /// Values of its parameters.
    pub values: Vec<Said>,
}

/// EXPLAIN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explain {
    /// Options, also those that were written without parentheses.
    pub options: Vec<Setting>,
    /// The statement.
    pub statement: Statement,
    /// Its text.
    pub span: Span,
}

/// What COPY copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyOf {
    /// A table, and its columns.
    Table(Path, Vec<Name>),
    /// What a statement gives: its text.
    Query(Statement, Span),
}

/// Where COPY reads or writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyWith {
    /// STDIN, STDOUT
    Client,
    /// A file of the server's.
    File(Box<str>),
    /// A program of the server's.
    Program(Box<str>),
}

/// COPY.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    /// What.
    pub of: CopyOf,
    /// FROM, and not TO.
    pub from: bool,
    /// Where.
    pub with: CopyWith,
    /// Options, of either syntax.
    pub options: Vec<Setting>,
    /// WHERE.
    pub filter: Option<ExprId>,
}

/// VACUUM and ANALYZE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vacuum {
    /// VACUUM, and not ANALYZE.
    pub vacuum: bool,
    /// Options.
    pub options: Vec<Setting>,
    /// Tables, with columns.
    pub tables: Vec<(Path, Vec<Name>)>,
}

/// What REINDEX is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reindex {
    /// INDEX
    Index(Path),
    /// TABLE
    Table(Path),
    /// SCHEMA
    Schema(Name),
    /// DATABASE
    Database(Name),
    /// SYSTEM
    System(Name),
}

/// What DISCARD forgets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discard {
    /// ALL
    All,
    /// PLANS
    Plans,
    /// SEQUENCES
    Sequences,
    /// TEMPORARY, TEMP
    Temporary,
}

/// A statement that neither reads rows by itself nor defines anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Utility {
    /// BEGIN and its like
    Transaction(Transaction),
    /// SET, SHOW, RESET
    Set(Set),
    /// DECLARE
    Declare(Declare),
    /// FETCH, MOVE
    Fetch(Fetch),
    /// CLOSE; none for ALL.
    Close(Option<Name>),
    /// PREPARE
    Prepare(Prepare),
    /// EXECUTE
    Execute(Execute),
    /// DEALLOCATE; none for ALL.
    Deallocate(Option<Name>),
    /// EXPLAIN
    Explain(Explain),
    /// COPY
    Copy(Copy),
    /// TRUNCATE: tables, RESTART IDENTITY, CASCADE
    Truncate(Vec<Relation>, bool, bool),
    /// VACUUM, ANALYZE
    Vacuum(Vacuum),
    /// REINDEX
    Reindex(Reindex),
    /// CLUSTER
    Cluster,
    /// LOCK
    Lock(LockTable),
    /// CHECKPOINT
    Checkpoint,
    /// DISCARD
    Discard(Discard),
    /// LISTEN
    Listen(Name),
    /// UNLISTEN; none for all.
    Unlisten(Option<Name>),
    /// NOTIFY, with what is told in addition to the channel's name.
    Notify(Name, Option<Box<str>>),
    /// DO
    Do(Do),
    /// `CHECK TABLE`, which is Onlap's own
    CheckTable(Path),
    /// `BACKUP TO`, which is Onlap's own
    Backup(Box<str>),
}

/// DO: statements of another language that are carried out once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Do {
    /// The language.
    pub language: Option<Name>,
    /// What they are.
    pub body: Box<str>,
}

/// LOCK TABLE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockTable {
    /// The tables.
    pub tables: Vec<Relation>,
    /// The mode.
    pub mode: LockMode,
    /// Whether it fails instead of waiting.
    pub nowait: bool,
}
