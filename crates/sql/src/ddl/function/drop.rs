//! DROP FUNCTION, and what else drops functions.

use std::sync::Arc;

use onlap_pg::ast::{DropFunction, RoutineKind, Signature};

use super::find::word;
use super::{find, hold, members, must_own};
use crate::catalog::Kind;
use crate::catalog::functions::Function;
use crate::ddl::cascade::{Closure, Object};
use crate::ddl::change::notice;
use crate::error::{Result, SqlError, state};
use crate::rights::{Action, Need};
use crate::session::Session;
use crate::source::{Source, strings};
use crate::view::View;
use crate::wire::Client;

/// DROP FUNCTION, PROCEDURE, ROUTINE.
///
/// # Errors
/// There is no such function; others depend on it.
pub fn drop(
    session: &mut Session,
    view: &View,
    source: Source<'_>,
    drop: &DropFunction,
    client: &mut dyn Client,
) -> Result<String> {
    let mut all: Vec<Arc<Function>> = Vec::new();
    for signature in &drop.all {
        let found = find::find(view, source, drop.kind, signature);
        if found.is_err()
            && let Some((created, proc)) = members::find(view, source, drop.kind, signature)?
        {
            return Err(match view.judge.is_superuser() {
                true => members::required(view, &created, proc),
                false => members::must_own(proc),
            });
        }
        let found = match found {
            Ok(found) => found,
            Err(e) if drop.skip && matches!(e.state(), "42883" | state::NO_SCHEMA | "42704") => {
                let text = match &signature.parameters {
                    Some(parameters) if e.state() == "42883" => {
                        let types: Vec<String> = parameters.iter().map(|p| said(&p.ty)).collect();
                        let name = strings(&signature.name).join(".");
                        format!("{} {name}({}) does not exist", word(drop.kind), types.join(","))
                    }
                    _ => e.message().to_string(),
                };
                let text = match text.strip_prefix("could not find a ") {
                    Some(rest) => {
                        let (word, name) = rest.split_once(" named ").unwrap_or((rest, ""));
                        format!("{word} {}() does not exist", name.trim_matches('"'))
                    }
                    None => text,
                };
                notice(client, "00000", format!("{text}, skipping"));
                continue;
            }
            Err(e) => return Err(e),
        };
        must_may(view, drop.kind, signature, &found)?;
        if !all.iter().any(|known| known.oid == found.oid) {
            all.push(found);
        }
    }
    // What others are making with them is there, or they wait.
    session.catalog_changed()?;
    all.iter().try_for_each(|function| hold(view, &function.key()))?;
    let roots = all.iter().map(|function| Object::Function(function.oid)).collect();
    Closure::of(view, roots)?.drop(session, drop.cascade, client)?;
    let word = match drop.kind {
        RoutineKind::Procedure => "PROCEDURE",
        RoutineKind::Routine => "ROUTINE",
        RoutineKind::Aggregate => "AGGREGATE",
        RoutineKind::Function => "FUNCTION",
    };
    Ok(format!("DROP {word}"))
}

/// Fails where a role may not drop a function, or where it is one that is dropped otherwise.
fn must_may(
    view: &View,
    kind: RoutineKind,
    signature: &Signature,
    found: &Arc<Function>,
) -> Result<()> {
    if found.aggregate.is_some() && kind == RoutineKind::Function {
        let text = format!("\"{}\" is an aggregate function", strings(&signature.name).join("."));
        let hint = "Use DROP AGGREGATE to drop aggregate functions.";
        return Err(SqlError::new("42809", text).hint(hint));
    }
    let schema = view.schema_key(&found.name.schema);
    let mut need = Need::new(Action::Drop, found.class(), found.rights(), found.name.name.as_str());
    need.schema = schema;
    if !view.judge.may(&need) {
        must_own(view, found).map_err(|e| match found.aggregate {
            Some(_) if kind == RoutineKind::Aggregate => {
                let text = format!("must be owner of aggregate {}", found.name.name);
                SqlError::new(e.state(), text)
            }
            _ => e,
        })?;
    }
    Ok(())
}

/// A type as it was written.
fn said(ty: &onlap_pg::ast::TypeName) -> String {
    format!("{}{}", strings(&ty.name).join("."), "[]".repeat(ty.bounds.len()))
}

/// Forgets a function.
///
/// # Errors
/// Those of the engine.
pub fn forget(session: &mut Session, view: &View, function: &Function) -> Result<()> {
    session.catalog_changed()?;
    view.scope.tx()?.hold_name(&function.key())?;
    session.put(Kind::Comment, &format!("{}:0", function.oid), None)?;
    session.forget_rights(view, function.rights())?;
    session.put(Kind::Function, &function.key(), None)
}

/// The functions of some roles.
pub fn of_roles(view: &View, roles: &[u32]) -> Vec<Arc<Function>> {
    let rights = view.judge.rights();
    let own = |function: &&Arc<Function>| {
        let key = function.rights();
        rights.entry(key).is_some() && roles.contains(&rights.owner(key))
    };
    view.objects.functions().of_database(&view.database).filter(own).cloned().collect()
}
