//! Which operators mean something else than the planner thinks?
//!
//! Integers that overflow are errors; days and integers make days; a quotient of numerics keeps enough
//! digits to be compared; a date and an interval make a timestamp.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, TimeUnit};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::Placeholder;
use datafusion::logical_expr::planner::{
    ExprPlanner, PlannerResult, RawBinaryExpr, RawFieldAccessExpr,
};
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprSchemable, GetFieldAccess, Operator, cast, lit,
};
use datafusion::sql::sqlparser::ast::BinaryOperator as Op;

use super::scan::external;
use crate::functions::intervals::{self, Kind};
use crate::functions::joined;
use crate::functions::json;
use crate::functions::operators::{self as calculations, Operation, chained, wider};
use crate::rewrite::LIST_LIKE;
use crate::session::list_of;
use crate::types::{PgType, names, oid};

/// Plans operators by the types of their operands.
#[derive(Debug)]
pub struct Operators;

/// Digits after the point that a dividend gets, so that a quotient has sixteen and more.
pub const DIVIDEND: DataType = DataType::Decimal256(60, 16);

const MOMENT: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);

impl ExprPlanner for Operators {
    /// The elements of int2vector and oidvector are counted from zero.
    fn plan_field_access(
        &self,
        mut expr: RawFieldAccessExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawFieldAccessExpr>> {
        if let GetFieldAccess::ListIndex { key } = &mut expr.field_access
            && let Ok((_, field)) = expr.expr.to_field(schema)
            && matches!(PgType::of_field(&field).oid, oid::INT2VECTOR | oid::OIDVECTOR)
        {
            **key = cast((**key).clone(), DataType::Int64) + lit(1i64);
        }
        Ok(PlannerResult::Original(expr))
    }
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        if matches!(&expr.op, Op::Custom(name) if name == LIST_LIKE) {
            let left = expr.left.to_field(schema)?.1;
            return Ok(PlannerResult::Planned(list_like(&left, expr.right)?));
        }
        let type_of = |expr: &Expr| match calculations::type_of(expr).or(joined::type_of(expr)) {
            Some(known) => Ok(known.clone()),
            None => expr.get_type(schema),
        };
        let (Ok(left), Ok(right)) = (type_of(&expr.left), type_of(&expr.right)) else {
            return Ok(PlannerResult::Original(expr));
        };
        let RawBinaryExpr { op, left: l, right: r } = expr;
        let access = match op {
            Op::Arrow => Some((false, false)),
            Op::LongArrow => Some((false, true)),
            Op::HashArrow => Some((true, false)),
            Op::HashLongArrow => Some((true, true)),
            _ => None,
        };
        if let Some((path, as_text)) = access {
            let field = l.to_field(schema)?.1;
            return Ok(PlannerResult::Planned(json::access((l, &field), r, path, as_text)));
        }
        Ok(match planned(&op, (l, left), (r, right)) {
            Ok(planned) => PlannerResult::Planned(planned),
            Err(operands) => {
                let (left, right) = *operands;
                PlannerResult::Original(RawBinaryExpr { op, left, right })
            }
        })
    }
}

/// What stands for an array in `x = ANY (…)`, with the type that x gives it.
fn list_like(one: &Field, list: Expr) -> Result<Expr> {
    let oid = match PgType::of_field(one).oid {
        oid::VARCHAR | oid::UNKNOWN => oid::TEXT,
        other => other,
    };
    Ok(match list {
        Expr::Placeholder(Placeholder { id, field: None }) => {
            let field = PgType::new(names::array_of(oid)).field("", true);
            Expr::Placeholder(Placeholder::new_with_field(id, Some(Arc::new(field))))
        }
        Expr::Literal(ScalarValue::Utf8(Some(text)), _) => {
            Expr::Literal(list_of(PgType::new(oid), &text).map_err(external)?, None)
        }
        other => other,
    })
}

type Operand = (Expr, DataType);

/// The expression, or its operands as they were.
fn planned(op: &Op, (l, left): Operand, (r, right): Operand) -> Result<Expr, Box<(Expr, Expr)>> {
    let is_day = |ty: &DataType| *ty == DataType::Date32;
    let is_integer =
        |ty: &DataType| matches!(ty, DataType::Int16 | DataType::Int32 | DataType::Int64);
    let is_interval = |ty: &DataType| matches!(ty, DataType::Interval(_));
    let is_zoned = |ty: &DataType| match ty {
        DataType::Timestamp(_, zone) => Some(zone.is_some()),
        _ => None,
    };
    let is_time = |ty: &DataType| matches!(ty, DataType::Time64(_));
    let call = |operation: Operation, l, r| operation.udf().call(vec![l, r]);
    let days = |e| cast(e, DataType::Int32);
    let binary =
        |l, op, r| Expr::BinaryExpr(BinaryExpr { left: Box::new(l), op, right: Box::new(r) });
    if let Some(wide) = wider(&left, &right) {
        return match op {
            Op::Plus => Ok(chained(Operation::Add, l, r, wide)),
            Op::Minus => Ok(chained(Operation::Subtract, l, r, wide)),
            Op::Multiply => Ok(chained(Operation::Multiply, l, r, wide)),
            _ => Err(Box::new((l, r))),
        };
    }
    if *op == Op::StringConcat && is_joined(&left, &right) {
        let text =
            |e, ty: &DataType| if *ty == DataType::Utf8 { e } else { cast(e, DataType::Utf8) };
        return Ok(joined::chained(text(l, &left), text(r, &right)));
    }
    if is_interval(&left) && is_interval(&right) {
        let Some(op) = comparison(op) else { return Err(Box::new((l, r))) };
        let span = |e| intervals::call(Kind::Span, vec![e]);
        return Ok(binary(span(l), op, span(r)));
    }
    let integers = |l, r, operation| cast(call(operation, l, r), DataType::Date32);
    match op {
        Op::Plus if is_day(&left) && is_integer(&right) => {
            Ok(integers(days(l), days(r), Operation::Add))
        }
        Op::Plus if is_integer(&left) && is_day(&right) => {
            Ok(integers(days(l), days(r), Operation::Add))
        }
        Op::Minus if is_day(&left) && is_integer(&right) => {
            Ok(integers(days(l), days(r), Operation::Subtract))
        }
        Op::Minus if is_day(&left) && is_day(&right) => {
            Ok(call(Operation::Subtract, days(l), days(r)))
        }
        Op::Plus if is_day(&left) && is_interval(&right) => {
            Ok(binary(cast(l, MOMENT), Operator::Plus, r))
        }
        Op::Plus if is_interval(&left) && is_day(&right) => {
            Ok(binary(cast(r, MOMENT), Operator::Plus, l))
        }
        Op::Minus if is_day(&left) && is_interval(&right) => {
            Ok(binary(cast(l, MOMENT), Operator::Minus, r))
        }
        Op::Plus if is_day(&left) && is_time(&right) => Ok(at_time(l, r)),
        Op::Plus if is_time(&left) && is_day(&right) => Ok(at_time(r, l)),
        Op::Minus if is_zoned(&left).is_some() && is_zoned(&left) == is_zoned(&right) => {
            Ok(call(Operation::Between, cast(l, MOMENT), cast(r, MOMENT)))
        }
        Op::Multiply if is_interval(&left) && right.is_numeric() => {
            Ok(intervals::call(Kind::Times, vec![l, r]))
        }
        Op::Multiply if left.is_numeric() && is_interval(&right) => {
            Ok(intervals::call(Kind::Times, vec![r, l]))
        }
        Op::Divide if is_interval(&left) && right.is_numeric() => {
            Ok(intervals::call(Kind::Over, vec![l, r]))
        }
        Op::Divide if divides(&left, &right) => Ok(binary(cast(l, DIVIDEND), Operator::Divide, r)),
        _ => Err(Box::new((l, r))),
    }
}

/// Whether `||` is that of texts: one is a text, the other a text or a value that has one.
fn is_joined(left: &DataType, right: &DataType) -> bool {
    let has_text = |ty: &DataType| {
        ty.is_numeric() || ty.is_temporal() || matches!(ty, DataType::Utf8 | DataType::Boolean)
    };
    (*left == DataType::Utf8 || *right == DataType::Utf8) && has_text(left) && has_text(right)
}

fn comparison(op: &Op) -> Option<Operator> {
    Some(match op {
        Op::Eq => Operator::Eq,
        Op::NotEq => Operator::NotEq,
        Op::Lt => Operator::Lt,
        Op::LtEq => Operator::LtEq,
        Op::Gt => Operator::Gt,
        Op::GtEq => Operator::GtEq,
        _ => return None,
    })
}

fn at_time(day: Expr, time: Expr) -> Expr {
    let us = |e| cast(e, DataType::Int64);
    let sum = Operation::Add.udf().call(vec![us(cast(day, MOMENT)), us(time)]);
    cast(sum, MOMENT)
}

/// Whether a quotient is one of numerics.
fn divides(left: &DataType, right: &DataType) -> bool {
    let exact = |ty: &DataType| ty.is_decimal() || ty.is_integer();
    exact(left) && exact(right) && (left.is_decimal() || right.is_decimal())
}

/// The planners that know operators before those of the planner's own library.
pub fn first(planners: &mut Option<Vec<Arc<dyn ExprPlanner>>>) {
    planners.get_or_insert_default().insert(0, Arc::new(Operators));
}
