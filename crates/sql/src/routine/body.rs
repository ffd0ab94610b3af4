//! What is a PL/pgSQL body once it was read?
//!
//! Variables have numbers ([`Body::slots`]); statements name them by those. SQL is kept as text with the names that are known at
//! its place ([`Sql`]): it is bound when it is first carried out, since the types of records are known no earlier.
//!
//! Thread safety: read only.

use std::sync::Arc;

use onlap_pg::TypeRef;

use crate::parse::Parsed;

/// A variable, by its place in [`Body::slots`].
pub type Slot = usize;

/// A body.
#[derive(Debug)]
pub struct Body {
    /// All variables of all blocks.
    pub slots: Vec<Declared>,
    /// Names, as they came.
    pub names: Vec<Named>,
    /// FOUND.
    pub found: Slot,
    /// Parameters, in their order, with their modes.
    pub parameters: Vec<(Slot, u8)>,
    /// Where a row is put that is given back.
    pub row: Option<Slot>,
    /// What it gives.
    pub gives: Gives,
    /// What a trigger's function is told.
    pub told: Vec<Slot>,
    /// What a name means that is a variable and a column.
    pub conflict: Conflict,
    /// The outermost block.
    pub root: Block,
}

/// What a name means in SQL that is one of a variable and of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Conflict {
    /// It is ambiguous.
    #[default]
    Error,
    /// The variable.
    Variable,
    /// The column, as in functions of SQL.
    Column,
}

/// What a routine gives back.
#[derive(Clone, Debug, PartialEq)]
pub enum Gives {
    /// Nothing: a block, a function that returns void.
    Nothing,
    /// What parameters hold in the end: those of a procedure, too.
    Results {
        /// Whether there are several.
        several: bool,
        /// Whether it gives a set of them.
        set: bool,
    },
    /// A value of a type, or a set of them.
    Value {
        /// The type.
        ty: TypeRef,
        /// Whether it gives a set of them.
        set: bool,
    },
    /// The row that goes on, of a trigger's function.
    Trigger,
    /// Nothing, of a procedure.
    Procedure,
}

impl Gives {
    /// Whether it gives a set.
    pub fn is_set(&self) -> bool {
        matches!(self, Gives::Results { set: true, .. } | Gives::Value { set: true, .. })
    }
}

/// A variable as it was declared.
#[derive(Debug)]
pub struct Declared {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: Kind,
    /// CONSTANT, and what the system sets.
    pub constant: bool,
    /// NOT NULL.
    pub not_null: bool,
    /// Its first value.
    pub default: Option<Sql>,
    /// What it is a cursor of.
    pub cursor: Option<Box<Cursor>>,
    /// The line of its name.
    pub line: usize,
}

/// What a variable is a cursor of.
#[derive(Debug)]
pub struct Cursor {
    /// Its query.
    pub query: Sql,
    /// Its parameters.
    pub parameters: Vec<Slot>,
    /// SCROLL (true) or NO SCROLL.
    pub scroll: Option<bool>,
}

/// Which row FETCH and MOVE go to.
#[derive(Debug)]
pub enum Direction {
    /// By a number of rows, or, without one, all.
    Forward(Option<i64>),
    /// The same backwards.
    Backward(Option<i64>),
    /// The row of this number.
    Absolute(i64),
    /// By a number of rows that an expression gives.
    ForwardBy(Sql),
    /// The same backwards.
    BackwardBy(Sql),
    /// The row whose number an expression says.
    AbsoluteOf(Sql),
    /// The row at a distance that an expression gives.
    RelativeOf(Sql),
}

/// What a variable holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A value of a type.
    Scalar(TypeRef),
    /// A row of a composite type, with these fields.
    Row(u32, Vec<(String, TypeRef)>),
    /// Any row.
    Record,
}

/// A name, and the one before it that is seen from here.
#[derive(Debug)]
pub struct Named {
    /// The one before.
    pub before: Option<usize>,
    /// The name.
    pub name: String,
    /// The variable; `None` for a block's label, which ends what the block declares.
    pub slot: Option<Slot>,
}

/// What a text of SQL is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// An expression.
    Expression,
    /// What is assigned.
    Assignment,
    /// A statement.
    Statement,
    /// The condition of a trigger, whose functions were looked for when it was made.
    Condition,
    /// A statement of a function of SQL, which says itself where it was.
    Whole,
}

/// A text of SQL.
#[derive(Clone, Debug)]
pub struct Sql {
    /// The statement.
    pub parsed: Arc<Parsed>,
    /// How messages show it.
    pub shown: String,
    /// How many characters further on a place of the statement is there.
    pub further: i64,
    /// What it is part of.
    pub role: Role,
    /// Whether it is an expression that reads nothing but variables.
    pub is_plain: bool,
    /// The last name that is seen from it.
    pub scope: Option<usize>,
    /// Its number in the body.
    pub number: usize,
}

/// DECLARE … BEGIN … EXCEPTION … END
#[derive(Debug)]
pub struct Block {
    /// Its label.
    pub label: Option<String>,
    /// Variables that are made anew when it begins.
    pub declared: Vec<Slot>,
    /// Its statements.
    pub body: Vec<Statement>,
    /// EXCEPTION: conditions and what is done then, with SQLSTATE and SQLERRM.
    pub handlers: Option<Handlers>,
}

/// EXCEPTION.
#[derive(Debug)]
pub struct Handlers {
    /// SQLSTATE.
    pub state: Slot,
    /// SQLERRM.
    pub message: Slot,
    /// WHEN.
    pub all: Vec<Handler>,
}

/// WHEN … THEN
#[derive(Debug)]
pub struct Handler {
    /// SQLSTATEs; empty for OTHERS.
    pub states: Vec<Condition>,
    /// What is done.
    pub body: Vec<Statement>,
}

/// What a handler handles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// OTHERS
    Others,
    /// A SQLSTATE; one that ends in 000 is its whole class.
    State(String),
}

/// A statement with its line, from 1.
#[derive(Debug)]
pub struct Statement {
    /// The line.
    pub line: usize,
    /// What it does.
    pub act: Act,
}

/// Where a value goes.
#[derive(Clone, Debug)]
pub struct Target {
    /// The variable.
    pub slot: Slot,
    /// The field of it.
    pub field: Option<String>,
}

/// What a statement does.
#[derive(Debug)]
pub enum Act {
    /// A block.
    Block(Block),
    /// `a := b`
    Assign(Target, Sql),
    /// `a[b] := c`: subscripts and value.
    AssignElement(Target, Vec<Sql>, Sql),
    /// IF: conditions with statements, and ELSE.
    If(Vec<(Sql, Vec<Statement>)>, Vec<Statement>),
    /// CASE: the value that is compared, what it is compared with, ELSE.
    Case(Option<(Slot, Sql)>, Vec<(Sql, Vec<Statement>)>, Option<Vec<Statement>>),
    /// LOOP, WHILE, FOR, FOREACH.
    Loop(Box<Loop>),
    /// EXIT or CONTINUE.
    Leave {
        /// EXIT.
        exit: bool,
        /// Of which loop.
        label: Option<String>,
        /// WHEN.
        when: Option<Sql>,
    },
    /// RETURN.
    Return(Option<Sql>),
    /// RETURN NEXT.
    ReturnNext(Option<Sql>),
    /// RETURN QUERY.
    ReturnQuery(Query),
    /// RAISE.
    Raise(Box<Raise>),
    /// ASSERT.
    Assert(Sql, Option<Sql>),
    /// A statement of SQL.
    Execute(Query, Option<Into>),
    /// PERFORM.
    Perform(Sql),
    /// CALL.
    Call(Sql),
    /// GET DIAGNOSTICS; of the error that is handled where the flag is set.
    Diagnostics(bool, Vec<(Target, Item)>),
    /// OPEN … FOR: the variable, SCROLL, the query.
    OpenFor(Slot, Option<bool>, Query),
    /// OPEN of a variable that is a cursor of a query, with values of its parameters.
    Open(Slot, Vec<(Slot, Sql)>),
    /// FETCH: which cursor and row, and where it goes; MOVE where it goes nowhere.
    Fetch(Slot, Direction, Option<Into>),
    /// CLOSE.
    Close(Slot),
    /// NULL
    Nothing,
}

/// What is carried out: a text, or a text that is calculated, with values.
#[derive(Debug)]
pub enum Query {
    /// As it is written.
    Fixed(Sql),
    /// EXECUTE … USING …
    Dynamic(Sql, Vec<Sql>),
}

/// INTO.
#[derive(Debug)]
pub struct Into {
    /// STRICT.
    pub strict: bool,
    /// Where the row goes: to one record, or field by field.
    pub targets: Vec<Target>,
}

/// A loop.
#[derive(Debug)]
pub struct Loop {
    /// Its label.
    pub label: Option<String>,
    /// How often it goes round.
    pub kind: LoopKind,
    /// What it does.
    pub body: Vec<Statement>,
}

/// How often a loop goes round.
#[derive(Debug)]
pub enum LoopKind {
    /// For ever.
    Ever,
    /// WHILE.
    While(Sql),
    /// FOR with an integer.
    Range {
        /// The variable.
        slot: Slot,
        /// From the greater to the lesser.
        reverse: bool,
        /// The first.
        from: Sql,
        /// The last.
        to: Sql,
        /// BY.
        by: Option<Sql>,
    },
    /// FOR over rows.
    Rows(Vec<Target>, Query),
    /// FOR over a cursor: the record, the variable, values of its parameters.
    Cursor(Slot, Slot, Vec<(Slot, Sql)>),
    /// FOREACH; with SLICE.
    Items(Target, i32, Sql),
}

/// RAISE.
#[derive(Debug)]
pub struct Raise {
    /// DEBUG to EXCEPTION.
    pub level: Level,
    /// The SQLSTATE or the name of a condition; for a name the message, too, where there is no other.
    pub condition: Option<(String, Option<String>)>,
    /// The message with places for values.
    pub format: Option<String>,
    /// The values.
    pub values: Vec<Sql>,
    /// USING.
    pub options: Vec<(RaiseOption, Sql)>,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// DEBUG
    Debug,
    /// LOG
    Log,
    /// INFO
    Info,
    /// NOTICE
    Notice,
    /// WARNING
    Warning,
    /// EXCEPTION
    Exception,
}

/// What USING sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaiseOption {
    /// MESSAGE
    Message,
    /// DETAIL
    Detail,
    /// HINT
    Hint,
    /// ERRCODE
    State,
    /// COLUMN
    Column,
    /// CONSTRAINT
    Constraint,
    /// DATATYPE
    DataType,
    /// TABLE
    Table,
    /// SCHEMA
    Schema,
}

/// What GET DIAGNOSTICS asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// ROW_COUNT
    RowCount,
    /// PG_CONTEXT
    Context,
    /// PG_EXCEPTION_CONTEXT
    ErrorContext,
    /// PG_EXCEPTION_DETAIL
    Detail,
    /// PG_EXCEPTION_HINT
    Hint,
    /// RETURNED_SQLSTATE
    State,
    /// COLUMN_NAME
    Column,
    /// CONSTRAINT_NAME
    Constraint,
    /// PG_DATATYPE_NAME
    DataType,
    /// MESSAGE_TEXT
    Message,
    /// TABLE_NAME
    Table,
    /// SCHEMA_NAME
    Schema,
}

impl Act {
    /// What it is called in the context of errors.
    pub fn name(&self) -> &'static str {
        match self {
            Act::Block(_) => "at statement block",
            Act::Assign(..) | Act::AssignElement(..) => "at assignment",
            Act::If(..) => "at IF",
            Act::Case(..) => "at CASE",
            Act::Loop(of) => match &of.kind {
                LoopKind::Ever => "at LOOP",
                LoopKind::While(_) => "at WHILE",
                LoopKind::Range { .. } => "at FOR with integer loop variable",
                LoopKind::Rows(_, Query::Fixed(_)) => "at FOR over SELECT rows",
                LoopKind::Rows(_, Query::Dynamic(..)) => "at FOR over EXECUTE statement",
                LoopKind::Cursor(..) => "at FOR over cursor",
                LoopKind::Items(..) => "at FOREACH over array",
            },
            Act::Leave { exit: true, .. } => "at EXIT",
            Act::Leave { exit: false, .. } => "at CONTINUE",
            Act::Return(_) => "at RETURN",
            Act::ReturnNext(_) => "at RETURN NEXT",
            Act::ReturnQuery(_) => "at RETURN QUERY",
            Act::Raise(_) => "at RAISE",
            Act::Assert(..) => "at ASSERT",
            Act::Execute(Query::Fixed(_), _) => "at SQL statement",
            Act::Execute(Query::Dynamic(..), _) => "at EXECUTE",
            Act::Perform(_) => "at PERFORM",
            Act::Call(_) => "at CALL",
            Act::Diagnostics(false, _) => "at GET DIAGNOSTICS",
            Act::Diagnostics(true, _) => "at GET STACKED DIAGNOSTICS",
            Act::OpenFor(..) | Act::Open(..) => "at OPEN",
            Act::Fetch(_, _, Some(_)) => "at FETCH",
            Act::Fetch(_, _, None) => "at MOVE",
            Act::Close(_) => "at CLOSE",
            Act::Nothing => "at NULL",
        }
    }
}
