//! Which operators, casts and calls are said otherwise?

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
    Ident, ObjectName, SelectItem, SetExpr, UnaryOperator, Value,
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
            // PostgreSQL lets no operator of these signs end with a minus.
            if let BinaryOperator::Custom(name) = op
                && let Some(arrow) = arrow(name)
            {
                *op = arrow;
                let number = right.clone();
                **right = Expr::UnaryOp { op: UnaryOperator::Minus, expr: number };
            }
            if matches!(op, BinaryOperator::Eq | BinaryOperator::NotEq) {
                compare_arrays(left, right);
            }
        }
        // The planner forgets what a subquery's text is.
        Expr::Subquery(_) => {
            if let Some(cast) = json_cast(expr) {
                replace(expr, &format!("{cast}({expr})"));
            }
        }
        Expr::Collate { expr: inner, .. } => *expr = (**inner).clone(),
        Expr::Function(function) => {
            strip_schema(function);
            rename(function);
            match wrapping(function) {
                Some("onlap_text") => replace(expr, &format!("CAST({expr} AS TEXT)")),
                Some(cast) => replace(expr, &format!("{cast}({expr})")),
                None => {}
            }
        }
        Expr::Cast { expr: inner, data_type, .. } => {
            let target = type_word(data_type);
            if target == "bytea"
                && let Some(text) = bytes_of_literal(inner)
            {
                return replace(expr, &text);
            }
            if matches!(target.as_str(), "json" | "jsonb") {
                let text = format!("onlap_{target}({inner})");
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

/// Functions under the planner's names.
fn rename(function: &mut Function) {
    match function_name(&function.name).as_deref() {
        Some("every") => function.name = ObjectName::from(vec![Ident::new("bool_and")]),
        Some("array_remove") => {
            function.name = ObjectName::from(vec![Ident::new("array_remove_all")]);
        }
        _ => {}
    }
}

/// The cast that a call needs: string_agg gives the planner's own kind of text, and coalesce forgets that it
/// is given JSON.
fn wrapping(function: &Function) -> Option<&'static str> {
    match function_name(&function.name).as_deref()? {
        "string_agg" => Some("onlap_text"),
        "coalesce" => {
            let FunctionArguments::List(list) = &function.args else { return None };
            list.args.iter().find_map(|argument| match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(e)) => json_cast(e),
                _ => None,
            })
        }
        _ => None,
    }
}

/// The cast to the kind of JSON that an expression plainly gives.
fn json_cast(expr: &Expr) -> Option<&'static str> {
    match expr {
        Expr::Nested(inner) => json_cast(inner),
        Expr::Subquery(query) => match &*query.body {
            SetExpr::Select(select) => match select.projection.as_slice() {
                [SelectItem::UnnamedExpr(e) | SelectItem::ExprWithAlias { expr: e, .. }] => {
                    json_cast(e)
                }
                _ => None,
            },
            _ => None,
        },
        Expr::Function(function) => match function_name(&function.name).as_deref()? {
            "onlap_jsonb" | "jsonb_agg" | "jsonb_object_agg" | "jsonb_build_object"
            | "jsonb_build_array" | "to_jsonb" => Some("onlap_jsonb"),
            "onlap_json" | "json_agg" | "onlap_rows_agg" | "json_object_agg"
            | "json_build_object" | "json_build_array" | "to_json" | "row_to_json" => {
                Some("onlap_json")
            }
            _ => None,
        },
        _ => None,
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

fn arrow(name: &str) -> Option<BinaryOperator> {
    match name {
        "->-" => Some(BinaryOperator::Arrow),
        "->>-" => Some(BinaryOperator::LongArrow),
        _ => None,
    }
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
