//! Which type has a whole number that is written in a query?
//!
//! int4 where it fits, then int8, then numeric. The planner reads all as int8, so those that a calculation
//! or a function sees are said to be what they are. Numbers that stand alone (in LIMIT, ORDER BY 1) stay
//! as they are.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Query, Select,
    SelectItem, SetExpr, UnaryOperator, Value,
};

use super::{expr as parsed, function_name};

/// Functions whose type is that of their arguments.
const POLYMORPHIC: &[&str] = &[
    "abs",
    "array_agg",
    "array_append",
    "array_position",
    "array_positions",
    "array_prepend",
    "array_remove",
    "array_replace",
    "avg",
    "coalesce",
    "gcd",
    "generate_series",
    "greatest",
    "json_agg",
    "json_build_array",
    "json_build_object",
    "json_object_agg",
    "jsonb_agg",
    "jsonb_build_array",
    "jsonb_build_object",
    "jsonb_object_agg",
    "lcm",
    "least",
    "max",
    "min",
    "mod",
    "nullif",
    "pg_typeof",
    "stddev",
    "sum",
    "variance",
];

/// Types the numbers that an expression calculates with.
pub fn type_operands(expr: &mut Expr) {
    match expr {
        Expr::BinaryOp { left, op, right } if calculates(op) => {
            type_number(left);
            type_number(right);
        }
        Expr::BinaryOp { left, op: BinaryOperator::StringConcat, right }
            if matches!((&**left, &**right), (Expr::Array(_), _) | (_, Expr::Array(_))) =>
        {
            type_number(left);
            type_number(right);
        }
        Expr::Case { conditions, else_result, .. } => {
            conditions.iter_mut().for_each(|when| type_number(&mut when.result));
            else_result.iter_mut().for_each(|e| type_number(e));
        }
        Expr::Array(array) => array.elem.iter_mut().for_each(type_number),
        Expr::Function(function) => {
            let Some(name) = function_name(&function.name) else { return };
            let FunctionArguments::List(list) = &mut function.args else { return };
            if !POLYMORPHIC.contains(&name.as_str()) {
                return;
            }
            for argument in &mut list.args {
                if let FunctionArg::Unnamed(FunctionArgExpr::Expr(e)) = argument {
                    type_number(e);
                }
            }
        }
        _ => {}
    }
}

/// Types the numbers that are columns of their own.
pub fn type_columns(select: &mut Select) {
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
            type_number(expr);
        }
    }
}

/// Types the numbers of VALUES.
pub fn type_values(query: &mut Query) {
    if let SetExpr::Values(values) = &mut *query.body {
        values.rows.iter_mut().flat_map(|row| &mut row.content).for_each(type_number);
    }
}

fn calculates(op: &BinaryOperator) -> bool {
    matches!(
        op,
        BinaryOperator::Plus
            | BinaryOperator::Minus
            | BinaryOperator::Multiply
            | BinaryOperator::Divide
            | BinaryOperator::Modulo
            | BinaryOperator::BitwiseAnd
            | BinaryOperator::BitwiseOr
            | BinaryOperator::BitwiseXor
            | BinaryOperator::PGBitwiseXor
            | BinaryOperator::PGBitwiseShiftLeft
            | BinaryOperator::PGBitwiseShiftRight
    )
}

/// A number with its type, where it is one.
pub fn type_number(expr: &mut Expr) {
    let number = match &*expr {
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) => number.clone(),
            _ => return,
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr: inner } => match &**inner {
            Expr::Value(value) => match &value.value {
                Value::Number(number, _) => format!("-{number}"),
                _ => return,
            },
            _ => return,
        },
        _ => return,
    };
    let is_whole = number.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    let ty = match (number.parse::<i32>(), number.parse::<i64>()) {
        (Ok(_), _) => "INT",
        (_, Ok(_)) => "BIGINT",
        _ if is_whole && number.len() <= 38 => "NUMERIC(38, 0)",
        _ => return,
    };
    if let Some(new) = parsed(&format!("CAST({number} AS {ty})")) {
        *expr = new;
    }
}
