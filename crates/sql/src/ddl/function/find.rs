//! Which function does a statement name?

use std::sync::Arc;

use onlap_pg::ast::{ParameterMode, RoutineKind, Signature};

use super::said::type_of;
use crate::catalog::Name;
use crate::catalog::functions::Function;
use crate::error::{Result, SqlError, state};
use crate::query::Names;
use crate::source::{Source, strings};
use crate::view::View;

/// The word of a kind.
pub fn word(kind: RoutineKind) -> &'static str {
    match kind {
        RoutineKind::Function => "function",
        RoutineKind::Procedure => "procedure",
        RoutineKind::Routine => "routine",
        RoutineKind::Aggregate => "aggregate",
    }
}

fn is_of(kind: RoutineKind, function: &Function) -> bool {
    match kind {
        RoutineKind::Function => !function.procedure,
        RoutineKind::Procedure => function.procedure,
        RoutineKind::Routine => true,
        RoutineKind::Aggregate => function.aggregate.is_some(),
    }
}

/// Functions of a name: those of the schema that is named, or of the path. A temporary one is found by its schema alone.
pub fn named(view: &View, parts: &[String]) -> Result<Vec<Arc<Function>>> {
    let mut found: Vec<Arc<Function>> = Vec::new();
    let is_sought = |name: &Name| parts.len() > 1 || !name.is_temporary();
    for name in view.candidates(parts)?.into_iter().filter(is_sought) {
        for function in view.objects.functions().of_database(&view.database) {
            let hidden = |known: &Arc<Function>| known.arguments() == function.arguments();
            if function.name == name && !found.iter().any(hidden) {
                found.push(Arc::clone(function));
            }
        }
    }
    Ok(found)
}

/// The function of a signature.
///
/// # Errors
/// `42883`: there is none; `42725`: there are several; `42809`: it is of another kind.
pub fn find(
    view: &View,
    source: Source<'_>,
    kind: RoutineKind,
    signature: &Signature,
) -> Result<Arc<Function>> {
    let parts = strings(&signature.name);
    let shown = parts.join(".");
    if let [schema, _] = &parts[..]
        && !view.has_schema(schema)
    {
        let text = format!("schema \"{schema}\" does not exist");
        return Err(SqlError::new(state::NO_SCHEMA, text));
    }
    let found = named(view, &parts)?;
    let Some(parameters) = &signature.parameters else {
        let mut own = found.into_iter().filter(|function| is_of(kind, function));
        return match (own.next(), own.next()) {
            (Some(one), None) => Ok(one),
            (Some(_), Some(_)) => {
                let text = format!("{} name \"{shown}\" is not unique", word(kind));
                let hint = format!(
                    "Specify the argument list to select the {} unambiguously.",
                    word(kind)
                );
                Err(SqlError::new("42725", text).hint(hint))
            }
            (None, _) => {
                let text = format!("could not find a {} named \"{shown}\"", word(kind));
                Err(SqlError::new("42883", text))
            }
        };
    };
    let mut given = Vec::with_capacity(parameters.len());
    let mut all = Vec::with_capacity(parameters.len());
    for parameter in parameters {
        let ty = type_of(view, source, &parameter.ty)?;
        all.push(ty);
        if parameter.mode != ParameterMode::Out && parameter.mode != ParameterMode::Table {
            given.push(ty);
        }
    }
    let whole =
        |function: &Function| -> Vec<u32> { function.parameters.iter().map(|of| of.ty).collect() };
    let exact = found.iter().find(|function| function.arguments() == given);
    let of_procedure = || found.iter().find(|f| f.procedure && whole(f) == all);
    match exact.or_else(of_procedure) {
        Some(function) if is_of(kind, function) => Ok(Arc::clone(function)),
        Some(_) => {
            let names = Names::new(view);
            let types: Vec<String> = given.iter().map(|oid| names.catalog().shown(*oid)).collect();
            let types = types.join(", ");
            let text = match kind {
                RoutineKind::Aggregate => format!("function {shown}({types}) is not an aggregate"),
                _ => format!("{shown}({types}) is not a {}", word(kind)),
            };
            Err(SqlError::new("42809", text))
        }
        None => {
            let names = Names::new(view);
            let types: Vec<String> = given.iter().map(|oid| names.catalog().shown(*oid)).collect();
            let types = match kind == RoutineKind::Aggregate && types.is_empty() {
                true => "*".into(),
                false => types.join(", "),
            };
            let text = format!("{} {shown}({types}) does not exist", word(kind));
            Err(SqlError::new("42883", text))
        }
    }
}
