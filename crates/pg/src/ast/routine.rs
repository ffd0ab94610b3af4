//! Functions, procedures and triggers.

use super::{Name, Path, Relation, Role, Said, SetStatement, TypeName};

/// Of what a statement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutineKind {
    /// FUNCTION
    Function,
    /// PROCEDURE
    Procedure,
    /// ROUTINE: either.
    Routine,
    /// AGGREGATE
    Aggregate,
}

/// Which way a parameter goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterMode {
    /// IN, or nothing.
    In,
    /// OUT
    Out,
    /// INOUT
    InOut,
    /// VARIADIC
    Variadic,
    /// A column of RETURNS TABLE.
    Table,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Which way it goes.
    pub mode: ParameterMode,
    /// Its name.
    pub name: Option<Name>,
    /// Its type.
    pub ty: TypeName,
    /// DEFAULT.
    pub default: Option<Said>,
}

/// A function by its name and, where they are said, its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Its name.
    pub name: Path,
    /// The parameters.
    pub parameters: Option<Vec<Parameter>>,
}

/// What is said of a function in addition to its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FunctionOption {
    /// LANGUAGE
    Language(Name),
    /// AS: a body, or a file and a name in it.
    As(Vec<Box<str>>),
    /// IMMUTABLE, STABLE, VOLATILE: `i`, `s`, `v`.
    Volatility(char),
    /// STRICT, CALLED ON NULL INPUT
    Strict(bool),
    /// SECURITY DEFINER, INVOKER
    Definer(bool),
    /// LEAKPROOF, NOT LEAKPROOF
    Leakproof(bool),
    /// PARALLEL
    Parallel(Name),
    /// COST
    Cost(Box<str>),
    /// ROWS
    Rows(Box<str>),
    /// SET
    Set(SetStatement),
    /// RESET; none for ALL.
    Reset(Option<Name>),
    /// WINDOW, TRANSFORM, SUPPORT: what is not served.
    Other(&'static str),
}

/// CREATE FUNCTION and CREATE PROCEDURE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateFunction {
    /// OR REPLACE.
    pub replace: bool,
    /// PROCEDURE.
    pub procedure: bool,
    /// Its name.
    pub name: Path,
    /// The parameters, with the columns of RETURNS TABLE.
    pub parameters: Vec<Parameter>,
    /// RETURNS.
    pub returns: Option<TypeName>,
    /// RETURNS TABLE.
    pub table: bool,
    /// What else was said, with its place.
    pub options: Vec<(FunctionOption, u32)>,
}

/// What an item of a definition is said to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefinitionValue {
    /// A type, or the name of something.
    Type(TypeName),
    /// An operator.
    Operator(Path),
    /// A reserved word, NONE, or a text.
    Word(Name),
    /// A number, as it was written.
    Number(Box<str>),
}

/// An item of a definition: `name = value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinitionItem {
    /// What it is about.
    pub name: Name,
    /// What that is.
    pub value: Option<DefinitionValue>,
    /// Where it stands.
    pub place: u32,
}

/// CREATE AGGREGATE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateAggregate {
    /// OR REPLACE.
    pub replace: bool,
    /// Its name.
    pub name: Path,
    /// Its parameters; none in the old form, whose definition says them.
    pub parameters: Option<Vec<Parameter>>,
    /// Whether there is an ORDER BY among them.
    pub ordered: bool,
    /// What was said of it.
    pub items: Vec<DefinitionItem>,
}

/// What ALTER FUNCTION does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FunctionChange {
    /// RENAME TO
    Rename(Name),
    /// OWNER TO
    Owner(Role),
    /// SET SCHEMA
    Schema(Name),
    /// What CREATE FUNCTION says.
    Options(Vec<(FunctionOption, u32)>),
    /// DEPENDS ON EXTENSION
    Depends,
}

/// ALTER FUNCTION.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterFunction {
    /// Of what.
    pub kind: RoutineKind,
    /// Which.
    pub signature: Signature,
    /// What it does.
    pub change: FunctionChange,
}

/// DROP FUNCTION.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropFunction {
    /// Of what.
    pub kind: RoutineKind,
    /// IF EXISTS.
    pub skip: bool,
    /// Which.
    pub all: Vec<Signature>,
    /// CASCADE.
    pub cascade: bool,
}

/// When a trigger fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerTime {
    /// BEFORE
    Before,
    /// AFTER
    After,
    /// INSTEAD OF
    Instead,
}

/// What a trigger fires on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TriggerEvent {
    /// INSERT
    Insert,
    /// DELETE
    Delete,
    /// UPDATE, of these columns where there are any.
    Update(Vec<Name>),
    /// TRUNCATE
    Truncate,
}

/// What REFERENCING names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// NEW, or else OLD.
    pub new: bool,
    /// TABLE, or else ROW.
    pub table: bool,
    /// The name.
    pub name: Name,
}

/// What CONSTRAINT says of a trigger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriggerConstraint {
    /// FROM: the table that it refers to.
    pub from: Option<Relation>,
    /// DEFERRABLE.
    pub deferrable: bool,
    /// INITIALLY DEFERRED.
    pub deferred: bool,
}

/// CREATE TRIGGER.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateTrigger {
    /// OR REPLACE.
    pub replace: bool,
    /// Its name.
    pub name: Name,
    /// When.
    pub time: TriggerTime,
    /// On what.
    pub events: Vec<TriggerEvent>,
    /// The table or view.
    pub on: Relation,
    /// CONSTRAINT.
    pub constraint: Option<TriggerConstraint>,
    /// REFERENCING.
    pub transitions: Vec<Transition>,
    /// FOR EACH ROW.
    pub row: bool,
    /// WHEN.
    pub when: Option<Said>,
    /// The function.
    pub function: Path,
    /// Its arguments.
    pub arguments: Vec<Box<str>>,
}
