//! What does ON CONFLICT DO UPDATE set, where no planner is needed to say it?
//!
//! Values, columns of the old row and the new one, and sums and differences of two integers, each of the type of the
//! column that is set. Anything else is the planner's, and so is a sum that its type cannot hold.

use datafusion::sql::sqlparser::ast::{Assignment, AssignmentTarget, BinaryOperator, Expr, Ident};
use onlap::{DataType, Row, Value};

use super::target::Target;
use crate::catalog::names::{fold, parts};
use crate::error::Result;
use crate::fast::{Operand, assigned};
use crate::rights::{Action, Need};
use crate::session::Parameter;

/// Assignments that need no planner.
pub struct Computed(Vec<Assigned>);

struct Assigned {
    /// Type of the column that is set.
    ty: DataType,
    what: What,
}

enum What {
    Part(Part),
    /// `a + b`, or `a - b` where the sign is -1.
    Sum(Part, i64, Part),
}

enum Part {
    /// A column of the row that was there.
    Old(usize),
    /// One of the row that was to be inserted.
    New(usize),
    Value(Operand),
}

impl Computed {
    /// The assignments, if all of them are of this kind.
    pub fn of(target: &Target, assignments: &[Assignment]) -> Option<Computed> {
        assignments.iter().map(|a| assigned_by(target, a)).collect::<Option<_>>().map(Computed)
    }

    /// Reading the columns of either row; `None` where there are none.
    pub fn reads(&self, target: &Target) -> Option<Need> {
        let parts = self.0.iter().flat_map(|assigned| match &assigned.what {
            What::Part(part) => [Some(part), None],
            What::Sum(a, _, b) => [Some(a), Some(b)],
        });
        let place = |part: &Part| match part {
            Part::Old(at) | Part::New(at) => Some(*at),
            Part::Value(_) => None,
        };
        let columns: Vec<usize> = parts.flatten().filter_map(place).collect();
        (!columns.is_empty()).then(|| target.need(Action::Read, columns))
    }

    /// The new values in the order of the assignments; `None` where the planner has to say what they are, or what
    /// is wrong with them.
    ///
    /// # Errors
    /// A value that its column cannot take.
    pub fn values(
        &self,
        old: &Row,
        new: &Row,
        parameters: &[Parameter],
    ) -> Result<Option<Vec<Value>>> {
        let mut values = Vec::with_capacity(self.0.len());
        for Assigned { ty, what } in &self.0 {
            let value = |part: &Part| match part {
                Part::Old(at) => Ok(Some(old[*at].clone())),
                Part::New(at) => Ok(Some(new[*at].clone())),
                Part::Value(operand) => assigned(operand, *ty, parameters),
            };
            let value = match what {
                What::Part(part) => value(part)?,
                What::Sum(a, sign, b) => match (value(a)?, value(b)?) {
                    (Some(Value::Int(a)), Some(Value::Int(b))) => {
                        let sum = b.checked_mul(*sign).and_then(|b| a.checked_add(b));
                        sum.filter(|n| is_in(*ty, *n)).map(Value::Int)
                    }
                    // A sum with NULL is NULL.
                    (Some(_), Some(_)) => Some(Value::Null),
                    _ => None,
                },
            };
            let Some(value) = value else { return Ok(None) };
            values.push(value);
        }
        Ok(Some(values))
    }
}

/// Whether an integer is one of a type.
fn is_in(ty: DataType, n: i64) -> bool {
    match ty {
        DataType::Int2 => i16::try_from(n).is_ok(),
        DataType::Int4 => i32::try_from(n).is_ok(),
        _ => true,
    }
}

fn assigned_by(target: &Target, Assignment { target: to, value }: &Assignment) -> Option<Assigned> {
    let AssignmentTarget::ColumnName(name) = to else { return None };
    let schema = &target.schema;
    let ty = schema.columns[schema.position_by_name(&parts(name).ok()?.pop()?)?].ty;
    let Expr::BinaryOp { left, op, right } = value else {
        return Some(Assigned { ty, what: What::Part(part(target, ty, value)?) });
    };
    let sign = match op {
        BinaryOperator::Plus => 1,
        BinaryOperator::Minus => -1,
        _ => return None,
    };
    if !matches!(ty, DataType::Int2 | DataType::Int4 | DataType::Int8) {
        return None;
    }
    let integer = |expr: &Expr| match part(target, ty, expr)? {
        // Others would be rounded before they are added.
        Part::Value(value) if value.as_integer().is_none_or(|n| !is_in(ty, n)) => None,
        part => Some(part),
    };
    Some(Assigned { ty, what: What::Sum(integer(left)?, sign, integer(right)?) })
}

/// A column of the old row or the new one that has this type, or a value.
fn part(target: &Target, ty: DataType, expr: &Expr) -> Option<Part> {
    let schema = &target.schema;
    let of = |name: &Ident| {
        let at = schema.position_by_name(&fold(name))?;
        (schema.columns[at].ty == ty).then_some(at)
    };
    match expr {
        Expr::Nested(inner) => part(target, ty, inner),
        Expr::Identifier(name) if name.quote_style.is_none() && fold(name) == "default" => None,
        Expr::Identifier(name) => of(name).map(Part::Old),
        Expr::CompoundIdentifier(names) => match &names[..] {
            [_, _] if target.alias == "excluded" => None,
            [row, name] if fold(row) == "excluded" => of(name).map(Part::New),
            [row, name] if fold(row) == target.alias => of(name).map(Part::Old),
            _ => None,
        },
        other => Operand::of(other).map(Part::Value),
    }
}
