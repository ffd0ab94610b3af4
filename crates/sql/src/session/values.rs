//! What are the values of a statement's parameters?

use datafusion::sql::sqlparser::ast::Value as AstValue;
use onlap::Value;

use crate::error::Result;
use crate::parse::literal_text;
use crate::types::{PgType, oid, text_value};

/// A parameter's value and type.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its type.
    pub ty: PgType,
    /// Its value, as the engine has it.
    pub value: Value,
}

/// What a literal says; `None` for a placeholder and others that are none.
///
/// # Errors
/// A number that is none.
pub fn value_of_literal(literal: &AstValue) -> Result<Option<Value>> {
    Ok(match literal {
        AstValue::Null => Some(Value::Null),
        AstValue::Boolean(b) => Some(Value::Bool(*b)),
        AstValue::Number(text, _) => Some(match text.parse() {
            Ok(v) => Value::Int(v),
            Err(_) => text_value(PgType::new(oid::NUMERIC), text)?,
        }),
        other => literal_text(other).map(Value::Text),
    })
}
