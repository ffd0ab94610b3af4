//! DROP FUNCTION, and what else drops functions.

use std::sync::Arc;

use onlap_pg::ast::DropFunction;

use super::find::word;
use super::users::{User, users};
use super::{find, must_own};
use crate::catalog::Kind;
use crate::catalog::functions::Function;
use crate::ddl::change::{notice, tell_cascades};
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
        let found = match find::find(view, source, drop.kind, signature) {
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
        let schema = view.schema_key(&found.name.schema);
        let mut need =
            Need::new(Action::Drop, found.class(), found.rights(), found.name.name.as_str());
        need.schema = schema;
        if !view.judge.may(&need) {
            must_own(view, &found)?;
        }
        if !all.iter().any(|known| known.oid == found.oid) {
            all.push(found);
        }
    }
    drop_these(session, view, &all, drop.cascade, client)?;
    let word = match drop.kind {
        onlap_pg::ast::RoutineKind::Procedure => "PROCEDURE",
        onlap_pg::ast::RoutineKind::Routine => "ROUTINE",
        _ => "FUNCTION",
    };
    Ok(format!("DROP {word}"))
}

/// A type as it was written.
fn said(ty: &onlap_pg::ast::TypeName) -> String {
    format!("{}{}", strings(&ty.name).join("."), "[]".repeat(ty.bounds.len()))
}

/// Drops functions, with what hangs on them where CASCADE was said.
fn drop_these(
    session: &mut Session,
    view: &View,
    all: &[Arc<Function>],
    cascade: bool,
    client: &mut dyn Client,
) -> Result<()> {
    let others = dependents(view, all)?;
    let lines = others.iter().map(|(user, of)| Ok((user.shown(view)?, of.clone())));
    let lines: Vec<(String, String)> = lines.collect::<Result<_>>()?;
    if !lines.is_empty() && !cascade {
        let text = match all {
            [one] => format!(
                "cannot drop {} {} because other objects depend on it",
                one.word(),
                one.shown(view)
            ),
            _ => "cannot drop desired object(s) because other objects depend on them".into(),
        };
        let detail: Vec<String> =
            lines.iter().map(|(what, of)| format!("{what} depends on {of}")).collect();
        let hint = "Use DROP ... CASCADE to drop the dependent objects too.";
        return Err(SqlError::new("2BP01", text).detail(detail.join("\n")).hint(hint));
    }
    let gone = lines.iter().map(|(what, _)| format!("drop cascades to {what}"));
    tell_cascades(client, &gone.collect::<Vec<_>>());
    others.into_iter().try_for_each(|(user, _)| user.drop(session, view))?;
    all.iter().try_for_each(|function| forget(session, view, function))
}

/// What would go with functions, each with what it uses; what uses something comes behind it.
///
/// # Errors
/// The transaction has ended.
pub fn dependents(view: &View, all: &[Arc<Function>]) -> Result<Vec<(User, String)>> {
    let mut known: Vec<u32> = all.iter().map(|function| function.oid).collect();
    let (mut found, mut left) = (Vec::new(), Vec::new());
    let add = |function: &Function, left: &mut Vec<(User, String)>| -> Result<()> {
        let of = format!("{} {}", function.word(), function.shown(view));
        left.extend(users(view, function)?.into_iter().rev().map(|user| (user, of.clone())));
        Ok(())
    };
    all.iter().rev().try_for_each(|function| add(function, &mut left))?;
    while let Some((user, of)) = left.pop() {
        if let User::Function(function) = &user {
            if known.contains(&function.oid) {
                continue;
            }
            known.push(function.oid);
            add(function, &mut left)?;
        }
        found.push((user, of));
    }
    Ok(found)
}

/// Drops a function with what uses it.
///
/// # Errors
/// Those of the engine.
pub fn with_users(session: &mut Session, view: &View, function: &Arc<Function>) -> Result<()> {
    let others = dependents(view, std::slice::from_ref(function))?;
    others.into_iter().try_for_each(|(user, _)| user.drop(session, view))?;
    forget(session, view, function)
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

/// Drops the functions of a schema that goes, and what uses them elsewhere.
///
/// # Errors
/// Those of the engine.
pub fn drop_in_schema(session: &mut Session, view: &View, schema: &str) -> Result<()> {
    let all: Vec<Arc<Function>> = view
        .objects
        .functions()
        .of_database(&view.database)
        .filter(|function| function.name.schema == schema)
        .cloned()
        .collect();
    all.iter().try_for_each(|function| with_users(session, view, function))
}

/// Drops the functions of some roles.
///
/// # Errors
/// Others depend on one.
pub fn drop_all(session: &mut Session, view: &View, roles: &[u32], cascade: bool) -> Result<()> {
    let all = of_roles(view, roles);
    let mut told = crate::session::lent::Told::new(view);
    drop_these(session, view, &all, cascade, &mut told)
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
