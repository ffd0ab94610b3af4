//! What are the values of a statement's parameters?

use onlap::Value;

use crate::types::PgType;

/// A parameter's value and type.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its type.
    pub ty: PgType,
    /// Its value, as the engine has it.
    pub value: Value,
}
