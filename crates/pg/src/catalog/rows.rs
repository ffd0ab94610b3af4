//! What does resolution know of a type, an operator, a function, a cast?
//!
//! Plain rows; what else PostgreSQL's catalogs show is in [`super::rows()`].

use std::borrow::Cow;
use std::sync::Arc;

use crate::{Oid, TypeRef};

/// What kind of type it is (typtype).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Of values as they are, arrays included.
    Base,
    /// A row's.
    Composite,
    /// A base type with conditions.
    Domain,
    /// Labels in an order.
    Enum,
    /// Stands for others: polymorphic, void, internal, …
    Pseudo,
    /// From one value to another.
    Range,
    /// Several ranges.
    Multirange,
}

/// A type.
#[derive(Clone, Debug)]
pub struct Type {
    /// Its number.
    pub oid: Oid,
    /// typname.
    pub name: Cow<'static, str>,
    /// How messages write it: quoted and with its schema where that is needed.
    pub shown: Cow<'static, str>,
    /// What kind it is.
    pub kind: Kind,
    /// Its category, `S` for strings.
    pub category: u8,
    /// Whether it is preferred in its category.
    pub preferred: bool,
    /// Whether it is an array, with the standard subscripts.
    pub is_array: bool,
    /// What subscripting gives, for arrays and a few others; or 0.
    pub element: Oid,
    /// Its array type, or 0.
    pub array: Oid,
    /// For a domain what it is over, or 0.
    pub base: Oid,
    /// For a domain the modifier of that.
    pub base_modifier: i32,
    /// Its collation, or 0: of a domain one of its own alone, of arrays that a database made none.
    pub collation: Oid,
    /// For a range what it is of, for a multirange the range, or 0.
    pub range: Oid,
    /// The function that reads its texts; 0 for a type of a database.
    pub input: Oid,
    /// Bytes of a value, -1 if that varies, -2 for a C string.
    pub length: i16,
    /// The labels of an enum, in their order.
    pub labels: Vec<Label>,
    /// The fields of a composite type that a database made, in their order.
    pub fields: Vec<(String, TypeRef)>,
}

/// A label of an enum.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    /// Its place among the others, which have gaps between them.
    pub order: f64,
    /// What it is.
    pub text: Cow<'static, str>,
}

impl Type {
    /// An enum, composite or domain of a database with category and array type as PostgreSQL gives them.
    pub fn made(oid: Oid, name: &str, kind: Kind, category: u8, array: Oid) -> Type {
        Type {
            oid,
            name: Cow::Owned(name.to_owned()),
            shown: Cow::Owned(name.to_owned()),
            kind,
            category,
            preferred: false,
            is_array: false,
            element: 0,
            array,
            base: 0,
            base_modifier: -1,
            collation: 0,
            range: 0,
            input: 0,
            length: if kind == Kind::Enum { 4 } else { -1 },
            labels: Vec::new(),
            fields: Vec::new(),
        }
    }

    /// The array type of a type of a database.
    pub fn array_of(of: &Type) -> Type {
        let mut array = Type::made(of.array, &format!("_{}", of.name), Kind::Base, b'A', 0);
        array.shown = Cow::Owned(format!("{}[]", of.shown));
        array.is_array = true;
        array.element = of.oid;
        array
    }
}

/// An operator.
#[derive(Clone, Copy, Debug)]
pub struct Operator {
    /// Its number.
    pub oid: Oid,
    /// Its name.
    pub name: &'static str,
    /// The declared left operand, 0 for none.
    pub left: Oid,
    /// The declared right operand.
    pub right: Oid,
    /// The declared result.
    pub result: Oid,
    /// Its function; 0 if it has none yet.
    pub proc: Oid,
    /// The one that gives the same with operands exchanged, or 0.
    pub commutator: Oid,
    /// The one that gives the opposite, or 0.
    pub negator: Oid,
    /// Whether equal operands have equal hashes.
    pub can_hash: bool,
    /// Whether it is equality in some order.
    pub can_merge: bool,
}

/// What kind of function it is (prokind).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcKind {
    /// An ordinary one.
    Function,
    /// Of many rows.
    Aggregate,
    /// Of a window's rows.
    Window,
    /// For CALL.
    Procedure,
}

/// What a function's result depends on (provolatile).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Volatility {
    /// On arguments alone.
    Immutable,
    /// On the statement too.
    Stable,
    /// It may differ at each call.
    Volatile,
}

/// A function, aggregate or procedure.
#[derive(Clone, Debug)]
pub struct Proc {
    /// Its number.
    pub oid: Oid,
    /// Its name.
    pub name: Cow<'static, str>,
    /// Declared types of the arguments that a call gives.
    pub arguments: Box<[Oid]>,
    /// How many of the last have defaults.
    pub defaults: usize,
    /// What elements the last collects, or 0.
    pub variadic: Oid,
    /// The declared result.
    pub result: Oid,
    /// What kind it is.
    pub kind: ProcKind,
    /// Whether a NULL among the arguments makes NULL.
    pub strict: bool,
    /// Whether it gives a set.
    pub retset: bool,
    /// What its result depends on.
    pub volatility: Volatility,
    /// What a call costs (procost), in hundredths of an operator's.
    pub cost: u32,
    /// proallargtypes, OUT arguments included, as an array's text; or `\N`.
    pub all_types: &'static str,
    /// proargmodes as an array's text; or `\N`.
    pub modes: &'static str,
    /// proargnames as an array's text; or `\N`.
    pub names: &'static str,
    /// The defaults' expressions in SQL; or `\N`.
    pub default_texts: &'static str,
    /// What is known of one that a database made.
    pub made: Option<Arc<MadeProc>>,
}

/// A function or procedure of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeProc {
    /// Its schema.
    pub schema: String,
    /// Its name behind the schema's.
    pub qualified: String,
    /// All parameters in their order.
    pub parameters: Vec<MadeParameter>,
    /// What is known of an aggregate.
    pub aggregate: Option<MadeAggregate>,
}

/// What an aggregate of a database is made of: functions by their OIDs, 0 for none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeAggregate {
    /// What makes the next state of a state and a row's arguments.
    pub transition: Oid,
    /// The declared type of states.
    pub state: Oid,
    /// What makes the result of the last state.
    pub finish: Oid,
    /// Whether that is given NULLs in the place of the arguments, too.
    pub finish_extra: bool,
    /// What makes a state of two.
    pub combine: Oid,
    /// The first state, as text.
    pub initial: Option<String>,
}

/// A parameter of such a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeParameter {
    /// Its name; empty for none.
    pub name: String,
    /// Its type.
    pub ty: TypeRef,
    /// Its mode, as in proargmodes.
    pub mode: u8,
}

impl MadeParameter {
    /// Whether a call gives it.
    pub fn is_given(&self) -> bool {
        matches!(self.mode, b'i' | b'b' | b'v')
    }

    /// Whether it is a column of the result.
    pub fn is_result(&self) -> bool {
        matches!(self.mode, b'o' | b'b' | b't')
    }
}

impl Proc {
    /// The text of the value that a parameter has where none is given: the defaults of PostgreSQL's functions are literals.
    pub fn default_of(&self, parameter: usize) -> Option<&'static str> {
        let at = parameter.checked_sub(self.arguments.len() - self.defaults)?;
        let literal = self.default_texts.split(", ").nth(at)?;
        match literal.strip_prefix('\'').and_then(|rest| rest.rsplit_once("'::")) {
            Some((text, _)) => Some(text),
            None => Some(literal),
        }
    }
}

/// From which contexts on a cast is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CastContext {
    /// In every expression.
    Implicit,
    /// Into a column.
    Assignment,
    /// Only where it is written.
    Explicit,
}

/// How a cast is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CastMethod {
    /// By a function.
    Function,
    /// By writing and reading its text.
    Io,
    /// Not at all: the same bits.
    Binary,
}

/// A cast.
#[derive(Clone, Copy, Debug)]
pub struct Cast {
    /// From.
    pub source: Oid,
    /// To.
    pub target: Oid,
    /// By which function, or 0.
    pub function: Oid,
    /// From where on.
    pub context: CastContext,
    /// How.
    pub method: CastMethod,
}

/// An aggregate.
#[derive(Clone, Copy, Debug)]
pub struct Aggregate {
    /// Its function.
    pub proc: Oid,
    /// `n` ordinary, `o` of an ordered set, `h` of a hypothetical one.
    pub kind: u8,
    /// Arguments before WITHIN GROUP.
    pub direct: usize,
}
