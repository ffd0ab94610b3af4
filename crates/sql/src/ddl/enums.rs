//! CREATE, ALTER and DROP TYPE: enums.

use onlap::TableId;
use onlap_pg::ast::{AlterEnum, CreateEnum, EnumChange, Role, TypeName};
use serde_json::json;

use super::change::notice;
use super::naming;
use crate::catalog::bound::query_of;
use crate::catalog::column_types::ids;
use crate::catalog::made_types::{Label, Made};
use crate::catalog::objects::Object;
use crate::catalog::{Kind, Name, Objects, oids};
use crate::columns::{Types, rewritten};
use crate::error::{Result, SqlError, state};
use crate::session::Session;
use crate::source::{role_word, strings};
use crate::view::View;
use crate::wire::Client;

/// Bytes of a label, as of any name.
const LABEL_BYTES: usize = 63;

/// CREATE TYPE … AS ENUM.
///
/// # Errors
/// `42710`: the name is taken; `23505`: a label comes twice; `42602`.
pub fn create(session: &mut Session, view: &View, create: &CreateEnum) -> Result<&'static str> {
    let name = view.new_name(&strings(&create.name))?;
    check_free(view, &name)?;
    let mut labels: Vec<Label> = Vec::with_capacity(create.labels.len());
    for text in &create.labels {
        check_label(text)?;
        if labels.iter().any(|label| label.text == **text) {
            let text =
                "duplicate key value violates unique constraint \"pg_enum_typid_label_index\"";
            return Err(SqlError::new("23505", text));
        }
        let oid = oids::of_object(session.instance.take_number());
        labels.push(Label { text: text.to_string(), order: labels.len() as f64 + 1.0, oid });
    }
    let array = oids::of_object(session.instance.take_number());
    let (database, owner) = (view.database.clone(), view.role_named(&view.user)?);
    session.catalog_changed()?;
    put(session, &Made { oid: 0, array, database, name, owner, labels })?;
    Ok("CREATE TYPE")
}

fn put(session: &mut Session, made: &Made) -> Result<()> {
    session.put(Kind::Type, &made.name.engine(&made.database), Some(made.body()))
}

/// Types and relations share names: a relation's rows have its name for their type.
fn check_free(view: &View, name: &Name) -> Result<()> {
    let engine = name.engine(&view.database);
    let is_taken = view.objects.get(Kind::Type, &engine).is_some();
    if is_taken || naming::claim(view, name)?.is_some() {
        let text = format!("type \"{}\" already exists", name.name);
        return Err(SqlError::new(state::DUPLICATE_OBJECT, text));
    }
    match view.instance.newest_objects().get(Kind::Type, &engine) {
        Some(_) => Err(SqlError::concurrent_update()),
        None => Ok(()),
    }
}

fn check_label(text: &str) -> Result<()> {
    if text.len() > LABEL_BYTES {
        let detail = format!("Labels must be {LABEL_BYTES} bytes or less.");
        return Err(SqlError::new("42602", format!("invalid enum label \"{text}\"")).detail(detail));
    }
    Ok(())
}

/// A type of the database by its name.
fn find(view: &View, parts: &[String]) -> Result<Made> {
    if let [.., schema, _] = parts {
        view.must_look_in(schema)?;
    }
    view.objects.made_types().named(view, parts).cloned().ok_or_else(|| {
        SqlError::new(state::NO_OBJECT, format!("type \"{}\" does not exist", parts.join(".")))
    })
}

/// Fails unless the role has the rights of the owner.
fn must_own(view: &View, made: &Made) -> Result<()> {
    match view.judge.is_superuser() || view.judge.has_rights_of(made.owner) {
        true => Ok(()),
        false => {
            let text = format!("must be owner of type {}", made.name.name);
            Err(SqlError::new(state::NO_PRIVILEGE, text))
        }
    }
}

/// Keeps other transactions from changing the type until the end of this one.
///
/// # Errors
/// `40001`: one did since the statement began; those of waits for locks.
fn hold(session: &mut Session, view: &View, made: &Made) -> Result<()> {
    let engine = made.name.engine(&view.database);
    view.scope.tx()?.hold_name(&engine)?;
    // What this transaction has changed, it has held since.
    let is_own = session.current()?.pending.has(Kind::Type, &engine);
    let newest = view.instance.newest_objects();
    match is_own || newest.get(Kind::Type, &engine) == view.objects.get(Kind::Type, &engine) {
        true => Ok(()),
        false => Err(SqlError::concurrent_update()),
    }
}

/// ALTER TYPE of an enum.
///
/// # Errors
/// There is no such type or label; a label that is there.
pub fn alter(
    session: &mut Session,
    view: &View,
    alter: &AlterEnum,
    client: &mut dyn Client,
) -> Result<&'static str> {
    const TAG: &str = "ALTER TYPE";
    let mut made = find(view, &strings(&alter.name))?;
    must_own(view, &made)?;
    hold(session, view, &made)?;
    let taken = |text: &str| {
        let text = format!("enum label \"{text}\" already exists");
        SqlError::new(state::DUPLICATE_OBJECT, text)
    };
    match &alter.change {
        EnumChange::Add { skip, label, beside } => {
            check_label(label)?;
            if made.labels.iter().any(|known| known.text == **label) {
                let error = taken(label);
                if *skip {
                    notice(client, error.state(), format!("{}, skipping", error.message()));
                    return Ok(TAG);
                }
                return Err(error);
            }
            let at = match beside {
                None => made.labels.len(),
                Some((before, text)) => place(&made, text)? + usize::from(!before),
            };
            let order = between(&made.labels, at)?;
            let oid = oids::of_object(session.instance.take_number());
            made.labels.insert(at, Label { text: label.to_string(), order, oid });
        }
        EnumChange::RenameLabel(from, to) => {
            check_label(to)?;
            let at = place(&made, from)?;
            if made.labels.iter().any(|known| known.text == **to) {
                return Err(taken(to));
            }
            let before = made.clone();
            made.labels[at].text = to.to_string();
            rename_in_defaults(session, view, (&before, &made), from)?;
        }
        EnumChange::Rename(to) => {
            let to = Name::new(&made.name.schema, &**to);
            return move_to(session, view, &made, &to).map(|()| TAG);
        }
        EnumChange::Schema(schema) => {
            if !view.has_schema(schema) {
                return Err(crate::view::no_schema(schema));
            }
            if **schema == *made.name.schema {
                return Ok(TAG);
            }
            let to = Name::new(&**schema, &made.name.name);
            return move_to(session, view, &made, &to).map(|()| TAG);
        }
        EnumChange::Owner(role) => {
            let owner = match role {
                Role::Named(name) => view.role_named(name)?,
                Role::Session => view.session_role,
                Role::Current | Role::Public => view.role_named(&view.user)?,
            };
            if !view.judge.is_member(owner) {
                let text = format!("must be member of role \"{}\"", role_word(role));
                return Err(SqlError::new(state::NO_PRIVILEGE, text));
            }
            made.owner = owner;
        }
    }
    session.catalog_changed()?;
    put(session, &made)?;
    Ok(TAG)
}

fn move_to(session: &mut Session, view: &View, made: &Made, to: &Name) -> Result<()> {
    view.must_create_in(&to.schema)?;
    check_free(view, to)?;
    session.catalog_changed()?;
    move_in_texts(session, view, made, to)?;
    let from = made.name.engine(&view.database);
    session.rename(Kind::Type, &from, &to.engine(&view.database))
}

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
fn rename_in_defaults(
    session: &mut Session,
    view: &View,
    (before, after): (&Made, &Made),
    from: &str,
) -> Result<()> {
    let (old, new) = (before.catalog(), after.catalog());
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
        let is_of = own.is_some() || !places(&format!("{SELECT}{sql}"), before).is_empty();
        if is_of && sql.contains(&from.replace('\'', "''")) {
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
fn move_in_texts(session: &mut Session, view: &View, made: &Made, to: &Name) -> Result<()> {
    let old = made.shown(true);
    let new = Made { name: to.clone(), ..made.clone() }.shown(true);
    let refuse = |what: String| {
        Err(SqlError::unsupported(format!("another name or schema of a type that {what} names")))
    };
    for (engine, object) in view.objects.of_kind(Kind::View) {
        let (database, name) = Name::of_engine(engine);
        let sql = object.body["sql"].as_str().unwrap_or_default();
        if database == view.database && !places(sql, made).is_empty() {
            return refuse(format!("view {}", name.name));
        }
    }
    for (key, sql) in defaults(view)? {
        let mut text = format!("{SELECT}{sql}");
        let found = places(&text, made);
        for at in &found {
            if !text[*at..].starts_with(&old) {
                return refuse(format!("the default {sql}"));
            }
            text.replace_range(*at..*at + old.len(), &new);
        }
        if !found.is_empty() {
            let body = json!({ "sql": &text[SELECT.len()..] });
            session.put(Kind::Default, &key, Some(body))?;
        }
    }
    Ok(())
}

fn place(made: &Made, text: &str) -> Result<usize> {
    made.labels
        .iter()
        .position(|label| label.text == text)
        .ok_or_else(|| SqlError::new("22023", format!("\"{text}\" is not an existing enum label")))
}

/// A number between those of two neighbours.
fn between(labels: &[Label], at: usize) -> Result<f64> {
    let before = at.checked_sub(1).map(|at| labels[at].order);
    let after = labels.get(at).map(|label| label.order);
    let order = match (before, after) {
        (None, None) => 1.0,
        (Some(before), None) => before + 1.0,
        (None, Some(after)) => after - 1.0,
        (Some(before), Some(after)) => f64::midpoint(before, after),
    };
    let is_new = before.is_none_or(|b| b < order) && after.is_none_or(|a| order < a);
    match is_new {
        true => Ok(order),
        false => Err(SqlError::unsupported("another label between these two")),
    }
}

/// DROP TYPE.
///
/// # Errors
/// There is none; a column has it.
pub fn drop(
    session: &mut Session,
    view: &View,
    drop: &onlap_pg::ast::Drop,
    client: &mut dyn Client,
) -> Result<String> {
    let mut found = Vec::new();
    for name in &drop.names {
        match find(view, &strings(name)) {
            Err(e) if drop.skip && matches!(e.state(), state::NO_OBJECT | state::NO_SCHEMA) => {
                notice(client, "00000", format!("{}, skipping", e.message()));
            }
            made => found.push(made?),
        }
    }
    for made in &found {
        must_own(view, made)?;
        hold(session, view, made)?;
        if let Some(user) = user_of(view, &view.objects, made)? {
            if drop.cascade {
                return Err(used(&user));
            }
            let seen = view.objects.made_types();
            let seen = seen.named(view, std::slice::from_ref(&made.name.name));
            let shown = made.shown(seen.is_none_or(|seen| seen.oid != made.oid));
            let text = format!("cannot drop type {shown} because other objects depend on it");
            return Err(SqlError::new(state::IN_USE, text)
                .detail(format!("{user} depends on type {shown}"))
                .hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
    }
    session.catalog_changed()?;
    for made in &found {
        session.put(Kind::Type, &made.name.engine(&view.database), None)?;
    }
    Ok("DROP TYPE".into())
}

fn used(user: &str) -> SqlError {
    SqlError::unsupported("DROP … CASCADE of a type that columns have")
        .detail(format!("{user} depends on it"))
}

/// A column of a table or view that has the type, or arrays of it.
fn user_of(view: &View, objects: &Objects, made: &Made) -> Result<Option<String>> {
    let is_it = |oid: u32| oid == made.oid || oid == made.array;
    for (name, table) in view.tables()? {
        let schema = table.schema();
        let types = Types::of(objects, &schema);
        if let Some(at) = types.iter().position(|ty| is_it(ty.pg.oid)) {
            let column = &schema.columns[at].name;
            return Ok(Some(format!("column {column} of table {}", name.name)));
        }
    }
    for (engine, object) in objects.of_kind(Kind::View) {
        let mut columns = object.body["columns"].as_array().into_iter().flatten();
        let is_of = |oid: u64| u32::try_from(oid).is_ok_and(is_it);
        if columns.any(|column| column["oid"].as_u64().is_some_and(is_of)) {
            return Ok(Some(format!("view {}", Name::of_engine(engine).1.name)));
        }
    }
    Ok(None)
}

/// Drops the types of a schema that goes with all that is in it: its tables and views are gone already.
///
/// # Errors
/// `0A000`: something else has one; those of the catalog.
pub fn drop_in_schema(session: &mut Session, view: &View, schema: &str) -> Result<()> {
    let made = view.objects.made_types().of_database(&view.database);
    let own: Vec<&Made> = made.filter(|made| made.name.schema == schema).collect();
    let objects = view.instance.objects().with(&session.current()?.pending);
    for made in own {
        hold(session, view, made)?;
        if let Some(user) = user_of(view, &objects, made)? {
            return Err(used(&user));
        }
        session.put(Kind::Type, &made.name.engine(&view.database), None)?;
    }
    Ok(())
}
