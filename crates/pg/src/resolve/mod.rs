//! Which operator, function or cast does a call mean?
//!
//! PostgreSQL's rules, as pure functions of a [`Catalog`] and of the operands' types:
//! [`operator()`], [`any_operator`] and [`in_list`], [`function()`], [`convert`], and [`common_type`] for UNION, CASE, COALESCE,
//! VALUES, ARRAY, IN, GREATEST. What they give names OIDs, and for each operand the steps that convert it
//! ([`Conversion`]); nothing below has to guess, and nothing below converts.
//!
//! A rule is followed from the facts alone: no type or function is treated by name, except those that
//! PostgreSQL's own rules name. Errors have PostgreSQL's words, without a position, which the caller knows.
//! Thread safety: nothing is kept.

mod candidates;
mod coerce;
mod common;
mod functions;
mod named;
mod operators;
mod outputs;
mod polymorphic;

use crate::catalog::{Catalog, oids};
use crate::{Oid, Result, TypeRef};

pub use coerce::{Context, assignment_error, can_convert, cast_error, convert, is_same, to_text};
pub use common::{array_type, common_modifier, common_type, to_common, try_common_type};
pub use functions::{Call, Called, Collected, Form, function};
pub use named::parameter_name;
pub use operators::{InList, OperatorCall, any_operator, in_list, operator};
pub use outputs::{outputs, result_name};
pub use polymorphic::{says, settled};

/// Where an operand's type comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// It has one.
    Typed,
    /// A literal in quotes, or NULL: it will be read as what it is used as.
    Literal,
    /// A parameter without a type: it gets that of its first use.
    Parameter,
    /// ROW(…) of known fields, or a table's whole row: of type record.
    Row,
}

/// An operand as resolution sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Operand {
    /// Its type; unknown for literals and parameters whose type is open.
    pub ty: TypeRef,
    /// Where that comes from.
    pub origin: Origin,
}

impl Operand {
    /// A value of a type.
    pub const fn typed(ty: TypeRef) -> Operand {
        Operand { ty, origin: Origin::Typed }
    }

    /// A literal in quotes, or NULL.
    pub const fn literal() -> Operand {
        Operand { ty: TypeRef::new(oids::UNKNOWN), origin: Origin::Literal }
    }

    /// A parameter without a type.
    pub const fn parameter() -> Operand {
        Operand { ty: TypeRef::new(oids::UNKNOWN), origin: Origin::Parameter }
    }
}

/// One step of a conversion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The literal is read by the input function of this type, with this modifier.
    Read(TypeRef),
    /// The parameter gets this type.
    Assume(Oid),
    /// The same bits are of this type.
    Relabel(TypeRef),
    /// A cast's function is called.
    Function {
        /// Which.
        function: Oid,
        /// Its result.
        result: Oid,
        /// The second argument, if it has one: the modifier.
        modifier: Option<i32>,
        /// The third, if it has one: whether the cast was written.
        explicit: Option<bool>,
    },
    /// The text is written and read as this type.
    Text(Oid),
    /// Each element is converted; the result is this array.
    Elements(Vec<Step>, TypeRef),
    /// The value must keep to the domain's conditions.
    Domain(Oid),
    /// The fields of a record are converted to those of this composite type.
    Fields(Oid),
}

/// How an operand becomes what is wanted: steps in order, none if it is that already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversion {
    /// What is done.
    pub steps: Vec<Step>,
    /// What it then is.
    pub ty: TypeRef,
}

impl Conversion {
    /// Nothing is to be done.
    fn none(operand: Operand) -> Conversion {
        Conversion { steps: Vec::new(), ty: operand.ty }
    }

    fn then(mut self, step: Step, ty: TypeRef) -> Conversion {
        self.steps.push(step);
        self.ty = ty;
        self
    }
}

/// The conversion of each operand to what is declared.
fn arguments(catalog: &Catalog, operands: &[Operand], declared: &[Oid]) -> Result<Vec<Conversion>> {
    let pairs = operands.iter().zip(declared);
    pairs.map(|(operand, to)| coerce::implicit(catalog, *operand, *to)).collect()
}

#[cfg(test)]
mod tests;
