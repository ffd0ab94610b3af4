//! Where do texts that are kept name a type, and what becomes of them when it changes?
//!
//! Defaults of columns and domains, and conditions of domains and triggers, name made types with their schemas.

use onlap::TableId;
use onlap_pg::ast::TypeName;
use serde_json::json;

use super::put;
use super::shape::contains;
use crate::catalog::bound::query_of;
use crate::catalog::column_types::ids;
use crate::catalog::made_types::{Made, What};
use crate::catalog::objects::Object;
use crate::catalog::triggers::{self, Trigger};
use crate::catalog::{Kind, Name};
use crate::columns::rewritten;
use crate::ddl::kept;
use crate::error::{Result, SqlError};
use crate::session::Session;
use crate::view::View;

/// Defaults of the database: their keys and texts.
fn defaults(view: &View) -> Result<Vec<(String, String)>> {
    let tables: Vec<TableId> = view.tables()?.iter().map(|(_, table)| table.schema().id).collect();
    let all = view.objects.of_kind(Kind::Default);
    let own = all.filter(|(key, _)| ids(key).is_some_and(|(table, _)| tables.contains(&table)));
    let text = |(key, object): (&str, &Object)| {
        Some((key.to_string(), object.body["sql"].as_str()?.to_string()))
    };
    Ok(own.filter_map(text).collect())
}

/// Triggers of the database.
fn triggers_of(view: &View) -> Result<Vec<Trigger>> {
    let here = kept::relations(view)?;
    let all = triggers::all(&view.objects);
    Ok(all.filter(|trigger| here.contains(&trigger.relation)).collect())
}

/// The places of a type's name in the casts of a text that is kept, the last first.
fn places(text: &str, made: &Made) -> Vec<usize> {
    let Some((tree, ..)) = query_of(text) else { return Vec::new() };
    let is_it = |ty: &&TypeName| match &ty.name[..] {
        [name] => **name == *made.name.name,
        [.., schema, name] => **schema == *made.name.schema && **name == *made.name.name,
        [] => false,
    };
    let mut found: Vec<usize> = tree.casts().filter(is_it).map(|ty| ty.place as usize).collect();
    found.sort_unstable_by(|a, b| b.cmp(a));
    found.dedup();
    found
}

/// What is read as a query, of which a default's text is what follows.
const SELECT: &str = "SELECT ";

/// What a text says that is a literal of a type and no more.
fn literal(sql: &str, ty: &str) -> Option<String> {
    let inner = sql.strip_suffix(ty)?.strip_suffix("'::")?.strip_prefix('\'')?;
    (!inner.replace("''", "").contains('\'')).then(|| inner.replace("''", "'"))
}

/// Defaults that are values of the type, or arrays of them, have the new label from now on.
///
/// # Errors
/// `0A000`: an expression may have the label.
pub fn rename_in_defaults(
    session: &mut Session,
    view: &View,
    (before, after): (&Made, &Made),
    from: &str,
) -> Result<()> {
    let (old, new) = (before.catalog(), after.catalog());
    let label = from.replace('\'', "''");
    for made in view.objects.made_types().of_database(&view.database) {
        let Some(domain) = made.domain().filter(|_| contains(view, made.oid, before.oid)) else {
            continue;
        };
        let checks = domain.checks.iter().map(|check| &check.sql);
        if let Some(text) = checks.chain(&domain.default).find(|text| text.contains(&label)) {
            let text = format!("RENAME VALUE of a label that {text} of a domain names");
            return Err(SqlError::unsupported(text));
        }
    }
    for trigger in triggers_of(view)? {
        let Some(text) = trigger.when.as_deref() else { continue };
        if text.contains(&format!("'{label}'")) {
            let text = format!("RENAME VALUE of a label that the condition {text} may name");
            return Err(SqlError::unsupported(text));
        }
    }
    for (key, sql) in defaults(view)? {
        let own = view.objects.column_types().of_key(&key).map(|ty| ty.oid);
        let own = own.filter(|oid| *oid == before.oid || *oid == before.array);
        let value = own.and_then(|oid| Some((oid, literal(&sql, &before.written(oid))?)));
        if let Some((oid, text)) = value {
            let text = rewritten(&old, &new, oid, &text)?.replace('\'', "''");
            let now = format!("'{text}'::{}", after.written(oid));
            if now != sql {
                session.put(Kind::Default, &key, Some(json!({ "sql": now })))?;
            }
            continue;
        }
        let key_type = view.objects.column_types().of_key(&key).map(|ty| ty.oid);
        let is_made_of = key_type.is_some_and(|oid| contains(view, oid, before.oid));
        let is_of = is_made_of || !places(&format!("{SELECT}{sql}"), before).is_empty();
        if is_of && sql.contains(&label) {
            let text = format!("RENAME VALUE of a label that the default {sql} names");
            return Err(SqlError::unsupported(text));
        }
    }
    Ok(())
}

/// Defaults that name the type do so by its new name.
///
/// # Errors
/// `0A000`: what is kept names it in another way.
pub fn move_in_texts(session: &mut Session, view: &View, made: &Made, to: &Name) -> Result<()> {
    let old = made.shown(true);
    let new = Made { name: to.clone(), ..made.clone() }.shown(true);
    let refuse = |what: String| {
        let text = format!("another name or schema of a type that {what} names");
        Err::<(), SqlError>(SqlError::unsupported(text))
    };
    for (engine, object) in view.objects.of_kind(Kind::View) {
        let (database, name) = Name::of_engine(engine);
        let sql = object.body["sql"].as_str().unwrap_or_default();
        if database == view.database && !places(sql, made).is_empty() {
            return refuse(format!("view {}", name.name));
        }
    }
    let moved = |sql: &str| -> Result<Option<String>> {
        let mut text = format!("{SELECT}{sql}");
        let found = places(&text, made);
        for at in &found {
            if !text[*at..].starts_with(&old) {
                refuse(format!("the expression {sql}"))?;
            }
            text.replace_range(*at..*at + old.len(), &new);
        }
        Ok((!found.is_empty()).then(|| text[SELECT.len()..].to_string()))
    };
    for (key, sql) in defaults(view)? {
        if let Some(sql) = moved(&sql)? {
            session.put(Kind::Default, &key, Some(json!({ "sql": sql })))?;
        }
    }
    for trigger in triggers_of(view)? {
        let when = trigger.when.as_deref().map(moved).transpose()?.flatten();
        if when.is_some() {
            let trigger = Trigger { when, ..trigger };
            session.put(Kind::Trigger, &trigger.key(), Some(trigger.body()))?;
        }
    }
    for other in view.objects.made_types().of_database(&view.database) {
        let mut other = other.clone();
        let What::Domain(domain) = &mut other.what else { continue };
        let default = domain.default.iter_mut();
        let mut changed = false;
        for sql in default.chain(domain.checks.iter_mut().map(|check| &mut check.sql)) {
            if let Some(now) = moved(sql)? {
                (*sql, changed) = (now, true);
            }
        }
        if changed {
            put(session, &other)?;
        }
    }
    Ok(())
}
