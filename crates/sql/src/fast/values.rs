//! What are the values of a statement that no row decides, in the types of the columns that they meet?
//!
//! A constant's value is known when the statement is bound, a parameter's when it runs. Both have the type that the binder
//! gave them. What is more than a value of a column's type is the planner's: `None`.

use std::cmp::Ordering;

use onlap::{DataType, Value, convert};

use crate::assign::assign;
use crate::error::Result;
use crate::session;
use crate::types::{Cell, oid};

/// A value that is known when the statement runs.
#[derive(Clone, Debug)]
pub enum Operand {
    /// What expressions without parameters and columns come to.
    Constant(session::Parameter),
    /// A parameter.
    Parameter(Parameter),
}

/// A parameter of a statement.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its number, from 1.
    pub number: usize,
    /// The type that it was bound with.
    pub oid: u32,
}

impl Operand {
    /// Whether it is NULL, whatever the parameters are.
    pub fn is_null(&self) -> bool {
        matches!(self, Operand::Constant(constant) if constant.value == Value::Null)
    }

    /// Whether it is a moment, which the session's time zone makes a time of.
    pub fn is_moment(&self) -> bool {
        oid::TIMESTAMPTZ
            == match self {
                Operand::Constant(constant) => constant.ty.oid,
                Operand::Parameter(parameter) => parameter.oid,
            }
    }

    /// Its value as the engine has it; `None` for a parameter that is none of the bound type's values.
    fn known<'a>(&'a self, values: &'a [session::Parameter]) -> Option<&'a session::Parameter> {
        let (value, oid) = match self {
            Operand::Constant(constant) => return Some(constant),
            Operand::Parameter(parameter) => (values.get(parameter.number - 1)?, parameter.oid),
        };
        // A number that the engine's end before comes as its text.
        let is_text = matches!(value.value, Value::Text(_));
        let is_like = value.ty.oid == oid && !(is_text && oid == oid::NUMERIC);
        (is_like || value.value == Value::Null).then_some(value)
    }

    /// The value in a column's type, with which comparing gives what PostgreSQL's comparison gives.
    ///
    /// # Errors
    /// It is none of the type.
    pub fn value(&self, ty: DataType, values: &[session::Parameter]) -> Result<Option<Value>> {
        let Some(known) = self.known(values) else { return Ok(None) };
        same_value(Cell::of_value(&known.value), ty)
    }

    /// The value as assignment makes it, which may round where a comparison may not; `None` for one that the column
    /// cannot have: what is wrong with it, the statement's steps say.
    pub fn assigned(&self, ty: DataType, values: &[session::Parameter]) -> Option<Value> {
        assign(Cell::of_value(&self.known(values)?.value), ty).ok()
    }
}

/// A value in a column's type, if comparing in that type gives what PostgreSQL's comparison gives.
fn same_value(cell: Cell<'_>, ty: DataType) -> Result<Option<Value>> {
    let numeric =
        |ty| matches!(ty, DataType::Int2 | DataType::Int4 | DataType::Int8 | DataType::Numeric(_));
    let same = match (&cell, ty) {
        (Cell::Null, _) => true,
        // char(n) is kept without the blanks that do not count.
        (Cell::Text(s), DataType::Char(n)) => {
            let s = s.trim_end_matches(' ');
            return Ok((s.chars().count() <= n as usize).then(|| Value::Text(s.to_string())));
        }
        (Cell::Text(s), DataType::Varchar(_) | DataType::Text) => {
            return Ok(Some(Value::Text((*s).to_string())));
        }
        (Cell::Int(v), DataType::Int2 | DataType::Int4 | DataType::Int8) => {
            let (min, max) = convert::int_range(ty);
            (min..=max).contains(v)
        }
        (Cell::Int(_), ty) => numeric(ty),
        (Cell::Numeric(n), ty) => numeric(ty) && is_kept(n, ty),
        (Cell::Float(_), DataType::Float8)
        | (Cell::Bool(_), DataType::Bool)
        | (Cell::Bytes(_), DataType::Bytea)
        | (Cell::Uuid(_), DataType::Uuid)
        | (Cell::Date(_), DataType::Date | DataType::Timestamp)
        | (Cell::Time(_), DataType::Time)
        | (Cell::Timestamp(_), DataType::Timestamp | DataType::Timestamptz) => true,
        _ => false,
    };
    if !same {
        return Ok(None);
    }
    match assign(cell, ty) {
        Ok(value) => Ok(Some(value)),
        // A number that the column cannot hold is compared as a number.
        Err(e) if e.state() == "22003" => Ok(None),
        Err(e) => Err(e),
    }
}

fn is_kept(n: &onlap::Numeric, ty: DataType) -> bool {
    let scale = match ty {
        DataType::Numeric(Some((_, scale))) => scale,
        DataType::Numeric(None) => return true,
        _ => 0,
    };
    !n.is_nan() && n.rescale(scale).is_some_and(|r| r.compare(n) == Ordering::Equal)
}
