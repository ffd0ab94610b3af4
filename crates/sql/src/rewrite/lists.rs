//! Which type has an array that is given as text or as a parameter?
//!
//! That of what it is compared with, or cast to: `x = ANY ('{1,2}')`, `x = ANY ($1)`, `$1::int[]`. Also
//! ARRAY(SELECT …), and the fields of rows, `(x).n`.

use std::ops::ControlFlow;

use datafusion::arrow::datatypes::FieldRef;
use datafusion::sql::sqlparser::ast::{
    AccessExpr, ArrayElemTypeDef, BinaryOperator, DataType, Expr, Function, FunctionArguments,
    Ident, OrderBy, OrderByKind, Query, SelectItem, SetExpr, Statement, Value, visit_expressions,
};

use super::series::fields_of;
use super::{expr as parsed, function_name};
use crate::catalog::names::fold;
use crate::types::{PgType, names};

/// An operator that gives its right side as a list of what its left side is (`crate::plan`).
pub const LIST_LIKE: &str = "onlap list like";

/// Rewrites an expression whose parts have been rewritten.
pub fn rewrite(expr: &mut Expr) {
    match expr {
        Expr::AnyOp { left, right, .. } | Expr::AllOp { left, right, .. } => {
            let mut inner = &mut **right;
            while let Expr::Nested(nested) = inner {
                inner = nested;
            }
            if matches!(inner, Expr::Value(_)) {
                let (left, op) = (left.clone(), BinaryOperator::Custom(LIST_LIKE.into()));
                let list = Box::new(inner.clone());
                **right = Expr::BinaryOp { left, op, right: list };
            }
        }
        Expr::Cast { expr: inner, data_type: DataType::Array(element), .. } => {
            let (ArrayElemTypeDef::SquareBracket(element, _)
            | ArrayElemTypeDef::Parenthesis(element)) = element
            else {
                return;
            };
            if let Some(oid) = names::by_name(&element.to_string())
                && let Some(known) = names::all().iter().find(|t| t.0 == oid)
                && let Some(new) = parsed(&format!("onlap_to_list('{}', {inner})", known.2))
            {
                *expr = new;
            }
        }
        Expr::CompoundFieldAccess { root, access_chain } => {
            if let (Expr::Nested(row), [AccessExpr::Dot(Expr::Identifier(field))]) =
                (&**root, access_chain.as_slice())
                && let Some(new) = parsed(&field_of(row, &fold(field)))
            {
                *expr = new;
            }
        }
        Expr::Function(Function { name, args: FunctionArguments::Subquery(query), .. })
            if function_name(name).as_deref() == Some("array") =>
        {
            let query = with_keys(query);
            let order = match query.1.is_empty() {
                true => String::new(),
                false => format!(" ORDER BY {}", query.1.join(", ")),
            };
            let columns = ["item".to_string()].into_iter().chain(query.2).collect::<Vec<_>>();
            let text = format!(
                "onlap_or_empty((SELECT array_agg(item{order}) FROM ({}) AS items ({})))",
                query.0,
                columns.join(", ")
            );
            if let Some(new) = parsed(&text) {
                *expr = new;
            }
        }
        _ => {}
    }
}

/// A field of a row, `(x).n`. A function that gives rows does so beneath it.
fn field_of(row: &Expr, field: &str) -> String {
    let gives_rows = match row {
        Expr::Function(function) => {
            function_name(&function.name).is_some_and(|name| fields_of(&name).is_some())
        }
        _ => false,
    };
    let field = field.replace('\'', "''");
    match gives_rows {
        true => format!("get_field(unnest({row}), '{field}')"),
        false => format!("get_field({row}, '{field}')"),
    }
}

/// The query of ARRAY(SELECT … ORDER BY …) with what it is ordered by as columns of their own, the order
/// by these, and their names: the order of a query in FROM does not reach an aggregate.
fn with_keys(query: &Query) -> (Query, Vec<String>, Vec<String>) {
    let (mut query, mut order, mut keys) = (query.clone(), Vec::new(), Vec::new());
    let Some(OrderBy { kind: OrderByKind::Expressions(by), .. }) = query.order_by.clone() else {
        return (query, order, keys);
    };
    let mut select = match &mut *query.body {
        SetExpr::Select(select) if select.distinct.is_none() => Some(select),
        _ => None,
    };
    for key in by {
        let own = match (&key.expr, select.as_ref().and_then(|s| s.projection.first())) {
            (Expr::Value(_), _) => true,
            (Expr::Identifier(name), Some(SelectItem::ExprWithAlias { alias, .. })) => {
                fold(name) == fold(alias)
            }
            _ => false,
        };
        let name = match &mut select {
            Some(select) if !own => {
                let name = format!("key{}", keys.len());
                let alias = Ident::new(name.clone());
                select.projection.push(SelectItem::ExprWithAlias { expr: key.expr, alias });
                keys.push(name.clone());
                name
            }
            _ => "item".to_string(),
        };
        order.push(format!("{name}{}", key.options));
    }
    (query, order, keys)
}

/// Gives parameters without a type that of the first cast of each.
pub fn parameters(statement: &Statement, types: &mut Vec<Option<FieldRef>>) {
    let _ = visit_expressions(statement, |expr| {
        if let Expr::Cast { expr, data_type, .. } = expr
            && let Some(number) = number_of(expr)
            && let Some(ty) = names::by_name(&data_type.to_string()).map(PgType::new)
            && (ty.engine().is_some() || names::element_of(ty.oid).is_some())
        {
            if types.len() < number {
                types.resize(number, None);
            }
            types[number - 1].get_or_insert_with(|| FieldRef::new(ty.field("", true)));
        }
        ControlFlow::<()>::Continue(())
    });
}

/// The number of a parameter; the protocol counts them in 16 bits.
fn number_of(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Nested(inner) => number_of(inner),
        Expr::Value(value) => match &value.value {
            Value::Placeholder(text) => {
                text.strip_prefix('$')?.parse().ok().filter(|n| (1..=65_535).contains(n))
            }
            _ => None,
        },
        _ => None,
    }
}
