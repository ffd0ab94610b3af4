//! Which operators, casts and calls are said otherwise?

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DataType, Expr, Function, FunctionArguments, Value,
};

use onlap::convert;

use super::{expr as parsed, function_name};
use crate::view::{INFORMATION_SCHEMA, PG_CATALOG};

/// Types whose values are OIDs that are printed as names.
const REG: &[&str] = &["regclass", "regtype", "regproc", "regprocedure", "regnamespace", "regrole"];

/// Rewrites an expression whose parts have been rewritten.
pub fn rewrite(expr: &mut Expr) {
    match expr {
        Expr::BinaryOp { left, op, right } => {
            if let BinaryOperator::PGCustomBinaryOperator(parts) = op
                && let Some(known) = parts.last().and_then(|name| operator(name))
            {
                *op = known;
            }
            if matches!(op, BinaryOperator::Eq | BinaryOperator::NotEq) {
                compare_arrays(left, right);
            }
        }
        Expr::Collate { expr: inner, .. } => *expr = (**inner).clone(),
        Expr::Function(function) => {
            strip_schema(function);
            if let FunctionArguments::Subquery(query) = &function.args
                && function_name(&function.name).as_deref() == Some("array")
            {
                let order = match query.order_by.as_ref().map(ToString::to_string) {
                    Some(by) if by.trim() == "ORDER BY 1" => " ORDER BY item",
                    _ => "",
                };
                let text = format!(
                    "onlap_or_empty((SELECT array_agg(item{order}) FROM ({query}) AS items (item)))"
                );
                replace(expr, &text);
            }
        }
        Expr::Cast { expr: inner, data_type, .. } => {
            let target = type_word(data_type);
            if target == "bytea"
                && let Some(text) = bytes_of_literal(inner)
            {
                return replace(expr, &text);
            }
            if REG.contains(&target.as_str()) {
                let text = format!("{target}({inner})");
                replace(expr, &text);
            } else if matches!(target.as_str(), "text" | "varchar" | "name" | "character varying")
                && let Expr::Function(function) = &**inner
                && let Some(name) = function_name(&function.name)
                && REG.contains(&name.as_str())
            {
                let text = format!("onlap_name_of({inner})");
                replace(expr, &text);
            }
        }
        _ => {}
    }
}

fn replace(expr: &mut Expr, text: &str) {
    if let Some(new) = parsed(text) {
        *expr = new;
    }
}

/// A literal of bytes: the planner takes the text's own bytes, and not what it says.
fn bytes_of_literal(expr: &Expr) -> Option<String> {
    let Expr::Value(value) = expr else { return None };
    let text = match &value.value {
        Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => text,
        _ => return None,
    };
    match convert::parse_text(onlap::DataType::Bytea, text) {
        Ok(onlap::Value::Bytes(bytes)) => {
            let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
            Some(format!("X'{hex}'"))
        }
        _ => Some(format!("onlap_bad_bytes('{}')", text.replace('\'', "''"))),
    }
}

fn type_word(ty: &DataType) -> String {
    let text = ty.to_string().to_lowercase();
    text.strip_prefix("pg_catalog.").unwrap_or(&text).to_string()
}

fn strip_schema(function: &mut Function) {
    let schema = function.name.0.first().and_then(|part| part.as_ident());
    let system = schema.is_some_and(|s| matches!(&*s.value, PG_CATALOG | INFORMATION_SCHEMA));
    if system && function.name.0.len() == 2 {
        function.name.0.remove(0);
    }
}

/// A literal of an array beside something else: both as text.
fn compare_arrays(left: &mut Expr, right: &mut Expr) {
    let is_array = |e: &Expr| match e {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(s) => s.starts_with('{') && s.ends_with('}'),
            _ => false,
        },
        _ => false,
    };
    let side = match (is_array(left), is_array(right)) {
        (true, false) => right,
        (false, true) => left,
        _ => return,
    };
    let text = format!("onlap_text({side})");
    replace(side, &text);
}

fn operator(name: &str) -> Option<BinaryOperator> {
    Some(match name {
        "~" => BinaryOperator::PGRegexMatch,
        "~*" => BinaryOperator::PGRegexIMatch,
        "!~" => BinaryOperator::PGRegexNotMatch,
        "!~*" => BinaryOperator::PGRegexNotIMatch,
        "~~" => BinaryOperator::PGLikeMatch,
        "~~*" => BinaryOperator::PGILikeMatch,
        "!~~" => BinaryOperator::PGNotLikeMatch,
        "!~~*" => BinaryOperator::PGNotILikeMatch,
        "=" => BinaryOperator::Eq,
        "<>" => BinaryOperator::NotEq,
        "<" => BinaryOperator::Lt,
        "<=" => BinaryOperator::LtEq,
        ">" => BinaryOperator::Gt,
        ">=" => BinaryOperator::GtEq,
        "+" => BinaryOperator::Plus,
        "-" => BinaryOperator::Minus,
        "*" => BinaryOperator::Multiply,
        "/" => BinaryOperator::Divide,
        "||" => BinaryOperator::StringConcat,
        _ => return None,
    })
}
