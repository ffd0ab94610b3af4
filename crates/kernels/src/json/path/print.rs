//! How is a jsonpath written?
//!
//! Thread safety: pure functions.

use std::fmt::Write as _;

use onlap_pg::{Result, worked};

use super::tree::{Expr, Head, Path, Step};
use crate::json::write::quote;

/// jsonpath_out.
///
/// # Errors
/// `57014`.
pub(super) fn print(path: &Path) -> Result<String> {
    let mut out = String::new();
    if path.strict {
        out.push_str("strict ");
    }
    expr(&path.expr, true, &mut out)?;
    Ok(out)
}

fn priority(expr: &Expr) -> u8 {
    match &expr.head {
        Head::Binary(operator, _, _) => operator.priority(),
        Head::Sign(..) => 5,
        _ => 6,
    }
}

/// Writes an expression, with brackets around operators if `brackets`.
fn expr(of: &Expr, brackets: bool, out: &mut String) -> Result<()> {
    worked(8)?;
    let inner = |inner: &Expr, out: &mut String| expr(inner, priority(inner) <= priority(of), out);
    let (open, close) = if brackets { ("(", ")") } else { ("", "") };
    match &of.head {
        Head::Null => out.push_str("null"),
        Head::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Head::Number(number) if of.steps.is_empty() => {
            write!(out, "{number}").expect("a String takes all");
        }
        Head::Number(number) => write!(out, "({number})").expect("a String takes all"),
        Head::Text(text) => quote(text, out)?,
        Head::Variable(name) => {
            out.push('$');
            quote(name, out)?;
        }
        Head::Root => out.push('$'),
        Head::Current => out.push('@'),
        Head::Last => out.push_str("last"),
        Head::Binary(operator, left, right) => {
            out.push_str(open);
            inner(left, out)?;
            write!(out, " {} ", operator.sign()).expect("a String takes all");
            inner(right, out)?;
            out.push_str(close);
        }
        Head::Sign(negative, operand) => {
            out.push_str(open);
            out.push(if *negative { '-' } else { '+' });
            inner(operand, out)?;
            out.push_str(close);
        }
        Head::Not(operand) => {
            out.push_str("!(");
            expr(operand, false, out)?;
            out.push(')');
        }
        Head::IsUnknown(operand) => {
            out.push('(');
            expr(operand, false, out)?;
            out.push_str(") is unknown");
        }
        Head::Exists(operand) => {
            out.push_str("exists (");
            expr(operand, false, out)?;
            out.push(')');
        }
        Head::LikeRegex(operand, pattern) => {
            out.push_str(open);
            inner(operand, out)?;
            out.push_str(" like_regex ");
            quote(&pattern.text, out)?;
            if !pattern.flags.is_empty() {
                write!(out, " flag \"{}\"", pattern.flags).expect("a String takes all");
            }
            out.push_str(close);
        }
    }
    of.steps.iter().try_for_each(|found| step(found, out))
}

fn step(of: &Step, out: &mut String) -> Result<()> {
    worked(8)?;
    match of {
        Step::Key(key) => {
            out.push('.');
            quote(key, out)?;
        }
        Step::AnyKey => out.push_str(".*"),
        Step::AnyElement => out.push_str("[*]"),
        Step::Elements(elements) => {
            out.push('[');
            for (at, (from, to)) in elements.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                expr(from, false, out)?;
                if let Some(to) = to {
                    out.push_str(" to ");
                    expr(to, false, out)?;
                }
            }
            out.push(']');
        }
        Step::Any(first, last) => {
            let level = |level: u32| match level {
                u32::MAX => "last".to_owned(),
                level => level.to_string(),
            };
            let text = match (*first, *last) {
                (0, u32::MAX) => ".**".to_owned(),
                (first, last) if first == last => format!(".**{{{}}}", level(first)),
                (first, last) => format!(".**{{{} to {}}}", level(first), level(last)),
            };
            out.push_str(&text);
        }
        Step::Filter(filter) => {
            out.push_str("?(");
            expr(filter, false, out)?;
            out.push(')');
        }
        Step::DateTime(template) => {
            out.push_str(".datetime(");
            if let Some(template) = template {
                quote(template, out)?;
            }
            out.push(')');
        }
        Step::Method(method) => {
            write!(out, ".{}()", method.name()).expect("a String takes all");
        }
    }
    Ok(())
}
