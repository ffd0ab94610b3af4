//! How are intervals written, and the functions that take or give them?

use datafusion::sql::sqlparser::ast::{
    DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Value,
};

use super::{expr as parsed, function_name};

/// The arguments of make_interval, in their order.
const FIELDS: &[&str] = &["years", "months", "weeks", "days", "hours", "mins", "secs"];

/// Rewrites an expression whose parts have been rewritten.
pub fn rewrite(expr: &mut Expr) {
    let text = match &*expr {
        Expr::Interval(interval) if interval.last_field.is_none() => {
            let unit = interval.leading_field.as_ref().map(|unit| format!(" {unit}"));
            literal(&interval.value).map(|text| read(&(text + unit.as_deref().unwrap_or(""))))
        }
        Expr::Cast { expr: inner, data_type: DataType::Interval { fields: None, .. }, .. } => {
            literal(inner).map(|text| read(&text))
        }
        Expr::Function(function) => call(function),
        _ => None,
    };
    if let Some(new) = text.and_then(|text| parsed(&text)) {
        *expr = new;
    }
}

fn literal(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    }
}

fn read(text: &str) -> String {
    format!("onlap_interval('{}')", text.replace('\'', "''"))
}

fn call(function: &Function) -> Option<String> {
    let name = function_name(&function.name)?;
    let FunctionArguments::List(list) = &function.args else { return None };
    let plain: Vec<&Expr> = list
        .args
        .iter()
        .filter_map(|argument| match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(e)) => Some(e),
            _ => None,
        })
        .collect();
    match (name.as_str(), plain.as_slice()) {
        ("age", [a, b]) => {
            Some(format!("onlap_age(CAST({a} AS TIMESTAMP), CAST({b} AS TIMESTAMP))"))
        }
        ("age", [a]) => {
            Some(format!("onlap_age(CAST(current_date AS TIMESTAMP), CAST({a} AS TIMESTAMP))"))
        }
        ("make_interval", _) => made(&list.args),
        ("date_trunc", [unit, Expr::Function(interval)]) => {
            let of = function_name(&interval.name)?;
            let is_interval =
                matches!(&*of, "onlap_interval" | "onlap_age" | "onlap_make_interval");
            is_interval.then(|| format!("onlap_trunc_interval({unit}, {interval})"))
        }
        _ => None,
    }
}

/// make_interval with all its arguments in their order; `None` where one is unknown.
fn made(arguments: &[FunctionArg]) -> Option<String> {
    let mut fields: Vec<String> = vec!["0".into(); FIELDS.len()];
    for (at, argument) in arguments.iter().enumerate() {
        let (at, value) = match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => (at, value),
            FunctionArg::Named { name, arg: FunctionArgExpr::Expr(value), .. } => {
                let name = crate::catalog::names::fold(name);
                (FIELDS.iter().position(|field| *field == name)?, value)
            }
            FunctionArg::ExprNamed {
                name: Expr::Identifier(name),
                arg: FunctionArgExpr::Expr(value),
                ..
            } => {
                let name = crate::catalog::names::fold(name);
                (FIELDS.iter().position(|field| *field == name)?, value)
            }
            _ => return None,
        };
        *fields.get_mut(at)? = value.to_string();
    }
    Some(format!("onlap_make_interval({})", fields.join(", ")))
}
