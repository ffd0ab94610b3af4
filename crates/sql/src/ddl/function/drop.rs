//! DROP FUNCTION, and what else drops functions.

use std::sync::Arc;

use onlap_pg::ast::DropFunction;

use super::find::word;
use super::users::users;
use super::{find, must_own};
use crate::catalog::Kind;
use crate::catalog::functions::Function;
use crate::catalog::triggers;
use crate::ddl::change::notice;
use crate::ddl::rule;
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
    let mut lines: Vec<(String, String)> = Vec::new();
    let mut others = Vec::new();
    for function in all {
        let of = format!("{} {}", function.word(), function.shown(view));
        for user in users(view, function)? {
            lines.push((user.shown(view)?, of.clone()));
            others.push(user);
        }
        for trigger in triggers::all(&view.objects).filter(|t| t.function == function.oid) {
            let on = rule::shown_relation(view, trigger.relation)?;
            let what = format!("trigger {} on {on}", trigger.name);
            lines.push((what, of.clone()));
        }
    }
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
    match &lines[..] {
        [] => {}
        [(what, _)] => notice(client, "00000", format!("drop cascades to {what}")),
        many => {
            let e =
                SqlError::new("00000", format!("drop cascades to {} other objects", many.len()));
            let detail: Vec<String> =
                many.iter().map(|(what, _)| format!("drop cascades to {what}")).collect();
            client.reply().notice("NOTICE", &e.detail(detail.join("\n")));
        }
    }
    for user in others {
        user.drop(session, view)?;
    }
    for function in all {
        forget(session, view, function)?;
    }
    Ok(())
}

/// Forgets a function and the triggers that call it.
fn forget(session: &mut Session, view: &View, function: &Function) -> Result<()> {
    session.catalog_changed()?;
    view.scope.tx()?.hold_name(&function.key())?;
    let triggers: Vec<String> = triggers::all(&view.objects)
        .filter(|trigger| trigger.function == function.oid)
        .map(|trigger| trigger.key())
        .collect();
    for key in triggers {
        session.put(Kind::Trigger, &key, None)?;
    }
    session.put(Kind::Comment, &format!("{}:0", function.oid), None)?;
    session.forget_rights(view, function.rights())?;
    session.put(Kind::Function, &function.key(), None)
}

/// Drops the functions of a schema that goes.
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
    all.iter().try_for_each(|function| forget(session, view, function))
}

/// Drops the functions of some roles.
///
/// # Errors
/// Others depend on one.
pub fn drop_all(session: &mut Session, view: &View, roles: &[u32], cascade: bool) -> Result<()> {
    let all = of_roles(view, roles);
    let mut told = crate::session::lent::Told::default();
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
