//! What did older releases keep of rights?
//!
//! They named roles: an object was `{"owner": name, "grants": {name: [word]}}`, schemas and databases
//! `{"owner": name}`, and the sequences of columns belonged to role postgres. [`changes`] says the same in
//! the form of [`super::state`], which names roles by OIDs; it is written when the database is opened,
//! once. What was granted stays granted. What older releases let every role do, as to use any schema, had
//! no grant, and is what PostgreSQL 15 makes of it from then on.

use onlap::Database;
use serde_json::{Value as Json, json};

use super::acl::{Acl, Item, PUBLIC};
use super::privilege::{Class, Privileges};
use super::state::{Entry, Key, Rights};
use crate::catalog::objects::{Kind, Object, Objects};
use crate::catalog::{Name, bound, oids};

/// Whether a row is one of an older release.
pub fn is_old(kind: Kind, object: &Object) -> bool {
    match kind {
        Kind::Privileges => object.body["owner"].as_u64().is_none(),
        Kind::Schema | Kind::Database => object.body["owner"].is_string(),
        _ => false,
    }
}

/// The rows to write instead of old ones, and beside them.
pub fn changes(db: &Database, objects: &Objects) -> Vec<(Kind, String, Object)> {
    let mut next = objects.next_number();
    let mut number = || {
        next += 1;
        next - 1
    };
    let rights = objects.rights();
    let mut changes: Vec<(Kind, String, Object)> = Vec::new();
    for (name, object) in objects.of_kind(Kind::Privileges) {
        if is_old(Kind::Privileges, object)
            && let Ok(oid) = name.parse()
        {
            let body = entry(rights, oid, &object.body).body();
            changes.push((Kind::Privileges, name.into(), Object { number: object.number, body }));
        }
    }
    for kind in [Kind::Schema, Kind::Database] {
        for (name, object) in objects.of_kind(kind).filter(|(_, object)| is_old(kind, object)) {
            let owner = role_of(rights, &object.body["owner"]).unwrap_or(oids::POSTGRES);
            let key = Key::of(oids::of_object(object.number)).to_string();
            let made = Object { number: number(), body: Entry::of(owner).body() };
            changes.push((Kind::Privileges, key, made));
            changes.push((kind, name.into(), Object { number: object.number, body: json!({}) }));
        }
    }
    for (name, object) in objects.of_kind(Kind::Owned) {
        let table = object.body["table"].as_u64().and_then(|id| u32::try_from(id).ok());
        let (Some(table), Ok(sequence)) = (table, db.sequence(name)) else { continue };
        let table = Key::of(oids::of_table(onlap::TableId(table))).to_string();
        let found = changes.iter().find(|c| c.0 == Kind::Privileges && c.1 == table);
        let Some(owner) = found.and_then(|c| c.2.body["owner"].as_u64()) else { continue };
        let key = Key::of(oids::of_sequence(sequence.schema().id.0)).to_string();
        if objects.get(Kind::Privileges, &key).is_none() {
            let body = Entry::of(owner as u32).body();
            changes.push((Kind::Privileges, key, Object { number: number(), body }));
        }
    }
    changes.extend(views(db, objects));
    changes
}

/// Views whose names were looked up at each use: they are bound to what they name now, where that is one of
/// the tables and views that they were made of.
fn views(db: &Database, objects: &Objects) -> Vec<(Kind, String, Object)> {
    let mut changes = Vec::new();
    for (engine, object) in objects.of_kind(Kind::View) {
        let sql = object.body["sql"].as_str().unwrap_or_default();
        let bound = bound_view(db, objects, (engine, object), sql);
        changes.extend(bound.map(|object| (Kind::View, engine.to_string(), object)));
    }
    changes
}

/// One of them, with its query; `None` for one that is bound already.
fn bound_view(
    db: &Database,
    objects: &Objects,
    (engine, object): (&str, &Object),
    sql: &str,
) -> Option<Object> {
    let (database, _) = Name::of_engine(engine);
    let made_of: Vec<&str> =
        object.body["tables"].as_array()?.iter().filter_map(Json::as_str).collect();
    let (tree, query, span) = bound::query_of(sql)?;
    let mut resolve = |parts: &[String]| {
        let name = parts.last()?;
        let fits = |engine: &&&str| {
            let (other, found) = Name::of_engine(engine);
            let schema = parts.len().checked_sub(2).map(|at| &parts[at]);
            other == database && found.name == *name && schema.is_none_or(|s| *s == found.schema)
        };
        let found = *made_of.iter().find(fits)?;
        match db.table(found) {
            Ok(table) => Some(bound::Use::of_table(&table)),
            Err(_) => objects.get(Kind::View, found).map(|o| bound::Use::of_view(found, o)),
        }
    };
    let written = bound::Written { tree: &tree, query, text: sql };
    let (bound_sql, mut uses) = bound::bind(written, span, Vec::new(), &mut resolve);
    // Which columns it reads was not kept: any may be.
    for used in &mut uses {
        used.reads = used.columns.iter().map(|(id, _)| id + 1).collect();
    }
    let mut body = object.body.clone();
    body["sql"] = json!(bound_sql);
    body["uses"] = uses.iter().map(bound::Use::body).collect();
    if let Some(body) = body.as_object_mut() {
        body.remove("tables");
    }
    Some(Object { number: object.number, body })
}

fn role_of(rights: &Rights, name: &Json) -> Option<u32> {
    rights.role_named(name.as_str()?).map(|role| role.oid)
}

/// What was kept of a table, view or sequence.
fn entry(rights: &Rights, oid: u32, body: &Json) -> Entry {
    let class = match oid {
        1_000_000_000..1_100_000_000 => Class::Sequence,
        1_100_000_000..1_200_000_000 => Class::View,
        _ => Class::Table,
    };
    let owner = role_of(rights, &body["owner"]).unwrap_or(oids::POSTGRES);
    let mut entry = Entry::of(owner);
    let mut acl: Acl = Rights::default_acl(class, Key::of(oid), owner);
    let before = acl.0.len();
    for (role, words) in body["grants"].as_object().into_iter().flatten() {
        let grantee = match role.as_str() {
            "public" => Some(PUBLIC),
            _ => role_of(rights, &Json::from(role.as_str())),
        };
        let words: Vec<&str> =
            words.as_array().into_iter().flatten().filter_map(Json::as_str).collect();
        let said = words.iter().filter_map(|word| Privileges::by_word(word));
        let said = said.fold(Privileges::NONE, |all, p| all | p);
        // ALL meant what tables have, whatever it was said of.
        let all = said.has(Class::Table.grantable());
        let privileges = if all { class.grantable() } else { said & class.grantable() };
        if let Some(grantee) = grantee.filter(|g| *g != owner && !privileges.is_empty()) {
            let options = Privileges::NONE;
            acl.0.push(Item { grantee, grantor: owner, privileges, options });
        }
    }
    if acl.0.len() > before {
        entry.acl = Some(acl);
    }
    entry
}
