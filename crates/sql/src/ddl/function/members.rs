//! What do statements about functions do with those that an extension has?
//!
//! EXECUTE on them is granted as on others. They go with the extension alone, and nothing of them is altered.

use onlap_pg::ast::{ParameterMode, RoutineKind, Signature};
use onlap_pg::catalog::Proc;

use super::find::word;
use super::said::type_of;
use crate::catalog::extensions::{self, Created};
use crate::error::{Result, SqlError, state};
use crate::source::{Source, strings};
use crate::view::View;

/// The function of an extension that a signature names.
///
/// # Errors
/// `42725`: there are several; there is no such type.
pub fn find(
    view: &View,
    source: Source<'_>,
    kind: RoutineKind,
    signature: &Signature,
) -> Result<Option<(Created, &'static Proc)>> {
    if !matches!(kind, RoutineKind::Function | RoutineKind::Routine) {
        return Ok(None);
    }
    let parts = strings(&signature.name);
    let Some(parameters) = &signature.parameters else {
        let mut all = extensions::procs_named(view, &parts);
        return match (all.next(), all.next()) {
            (Some(proc), None) => Ok(extensions::of_proc(view, proc.oid)),
            (Some(_), Some(_)) => {
                let word = word(kind);
                let text = format!("{word} name \"{}\" is not unique", parts.join("."));
                let hint = format!("Specify the argument list to select the {word} unambiguously.");
                Err(SqlError::new("42725", text).hint(hint))
            }
            (None, _) => Ok(None),
        };
    };
    if extensions::procs_named(view, &parts).next().is_none() {
        return Ok(None);
    }
    let mut given = Vec::with_capacity(parameters.len());
    for parameter in parameters {
        if !matches!(parameter.mode, ParameterMode::Out | ParameterMode::Table) {
            given.push(type_of(view, source, &parameter.ty)?);
        }
    }
    let mut all = extensions::procs_named(view, &parts);
    let found = all.find(|proc| *proc.arguments == *given);
    Ok(found.and_then(|proc| extensions::of_proc(view, proc.oid)))
}

/// What is wrong with DROP of one.
pub fn required(view: &View, created: &Created, proc: &Proc) -> SqlError {
    let shown = extensions::shown_proc(view, created, proc);
    let name = created.extension.name;
    let text = format!("cannot drop function {shown} because extension {name} requires it");
    let hint = format!("You can drop extension {name} instead.");
    SqlError::new(state::IN_USE, text).hint(hint)
}

/// What is wrong with another change of one.
pub fn unchanged(view: &View, proc: &Proc) -> SqlError {
    match view.judge.is_superuser() {
        true => SqlError::unsupported("changing a function of an extension"),
        // As in PostgreSQL, what a trusted extension brings is a superuser's.
        false => must_own(proc),
    }
}

/// The role does not own one.
pub fn must_own(proc: &Proc) -> SqlError {
    SqlError::new(state::NO_PRIVILEGE, format!("must be owner of function {}", proc.name))
}
