//! DROP of tables, indexes, views, sequences and schemas.

use onlap_pg::ast::{Drop, DropKind};

use super::cascade::{self, Closure, Object};
use super::change::{self, notice};
use super::naming::Relation;
use super::privileges::class_of;
use super::{alter, defaults, index, materialized, schema, sequence};
use crate::catalog::{Kind, Name, oids};
use crate::error::{Result, SqlError, state};
use crate::rights::Action;
use crate::session::Session;
use crate::source::strings;
use crate::view::View;
use crate::wire::Client;

/// What is dropped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Table,
    Index,
    View,
    Materialized,
    Sequence,
    Schema,
}

impl What {
    fn word(self) -> &'static str {
        match self {
            What::Table => "table",
            What::Index => "index",
            What::View => "view",
            What::Materialized => "materialized view",
            What::Sequence => "sequence",
            What::Schema => "schema",
        }
    }
    fn relation(self) -> Option<Relation> {
        Some(match self {
            What::Table | What::Materialized => Relation::Table,
            What::Index => Relation::Index,
            What::View => Relation::View,
            What::Sequence => Relation::Sequence,
            What::Schema => return None,
        })
    }
}

/// DROP.
///
/// # Errors
/// There is none; something depends on it.
pub fn drop(
    session: &mut Session,
    view: &View,
    drop: &Drop,
    client: &mut dyn Client,
) -> Result<String> {
    let what = match drop.kind {
        DropKind::Table => What::Table,
        DropKind::Index => What::Index,
        DropKind::View => What::View,
        DropKind::Sequence => What::Sequence,
        DropKind::Schema => What::Schema,
        DropKind::MaterializedView => What::Materialized,
        DropKind::Type | DropKind::Domain => {
            return super::made::drop(session, view, drop, client);
        }
    };
    let names: Vec<Vec<String>> = drop.names.iter().map(|name| strings(name)).collect();
    if let Some(name) = names.iter().find(|name| name.len() > 3) {
        let text = format!("improper qualified name (too many dotted names): {}", name.join("."));
        return Err(SqlError::new(state::SYNTAX, text));
    }
    if drop.concurrently {
        let refuse = |state, text: &str| Err(SqlError::new(state, text));
        if names.len() > 1 {
            return refuse(
                "0A000",
                "DROP INDEX CONCURRENTLY does not support dropping multiple objects",
            );
        }
        if drop.cascade {
            return refuse("0A000", "DROP INDEX CONCURRENTLY does not support CASCADE");
        }
        if session.is_in_block() {
            let text = "DROP INDEX CONCURRENTLY cannot run inside a transaction block";
            return refuse(state::ACTIVE_TRANSACTION, text);
        }
    }
    // All are looked up before the first goes.
    let mut found = Vec::new();
    for parts in &names {
        match locate(view, what, parts) {
            Err(e) if drop.skip && is_missing(&e) => {
                notice(client, "00000", format!("{}, skipping", e.message()));
            }
            located => found.push(located?),
        }
    }
    carry_out(session, view, what, found, (drop.cascade, drop.concurrently), client)?;
    Ok(format!("DROP {}", what.word().to_uppercase()))
}

fn is_missing(e: &SqlError) -> bool {
    matches!(e.state(), state::NO_TABLE | state::NO_OBJECT | state::NO_SCHEMA)
}

fn locate(view: &View, what: What, parts: &[String]) -> Result<Name> {
    if what == What::Schema {
        let name = parts.last().cloned().unwrap_or_default();
        return match view.has_schema(&name) {
            true => Ok(Name::new(&name, "")),
            false => Err(crate::view::no_schema(&name)),
        };
    }
    if let [schema, _] = parts
        && !view.has_schema(schema)
    {
        return Err(crate::view::no_schema(schema));
    }
    let missing = || {
        let state = if what == What::Index { state::NO_OBJECT } else { state::NO_TABLE };
        let name = parts.last().map_or("", String::as_str);
        SqlError::new(state, format!("{} \"{name}\" does not exist", what.word()))
    };
    let (name, relation) = alter::relation(view, parts)?.ok_or_else(missing)?;
    let word = match relation {
        Relation::Table => materialized::word(view, &name.engine(&view.database)),
        relation => class_of(relation).word(),
    };
    if word != what.word() {
        let article = |word: &str| if word == "index" { "an" } else { "a" };
        let text = format!("\"{}\" is not {} {}", name.name, article(what.word()), what.word());
        let upper = word.to_uppercase();
        let hint = format!("Use DROP {upper} to remove {} {word}.", article(word));
        return Err(SqlError::new("42809", text).hint(hint));
    }
    Ok(name)
}

fn carry_out(
    session: &mut Session,
    view: &View,
    what: What,
    names: Vec<Name>,
    (cascade, concurrently): (bool, bool),
    client: &mut dyn Client,
) -> Result<()> {
    // All are judged before the first goes.
    for name in &names {
        match what.relation() {
            Some(relation) => view.must_own(Action::Drop, name, relation)?,
            None => schema::must_drop(view, &name.schema)?,
        }
    }
    if what == What::Index {
        let mut all = names.iter();
        return all.try_for_each(|name| one_index(session, view, name, concurrently));
    }
    if matches!(what, What::Table | What::Materialized) {
        let own = |name: &Name| view.is_own_temporary(&name.schema);
        session.temporary.is_private = names.iter().all(own);
    }
    let mut roots: Vec<Object> = Vec::new();
    for name in &names {
        let engine = name.engine(&view.database);
        if matches!(what, What::Table | What::Materialized) {
            // What depends on it is asked for when it is the statement's to change.
            let table = view.scope.tx()?.table(&engine)?;
            view.scope.tx()?.await_form(&table)?;
        }
        let object = match what {
            What::Schema => Object::Schema(name.schema.clone()),
            What::Sequence => {
                let sequence = view.scope.tx()?.sequence(&engine)?;
                view.scope.tx()?.hold_sequence(&sequence)?;
                must_be_no_identity(view, name)?;
                Object::Sequence(engine)
            }
            _ => cascade::relation(view, &engine)?,
        };
        if !roots.contains(&object) {
            roots.push(object);
        }
    }
    Closure::of(view, roots)?.drop(session, cascade, client)
}

/// Fails where a sequence is an identity column's.
fn must_be_no_identity(view: &View, name: &Name) -> Result<()> {
    let owner = sequence::owner(view, &name.engine(&view.database));
    let is_identity = |(table, column): &_| defaults::identity(view, *table, *column).is_some();
    let Some((table, column)) = owner.filter(is_identity) else { return Ok(()) };
    let column = Object::Column(table, column);
    let of = cascade::shown(view, &column)?;
    let what = cascade::shown(view, &Object::Sequence(name.engine(&view.database)))?;
    let text = format!("cannot drop {what} because {of} requires it");
    Err(SqlError::new(state::IN_USE, text).hint(format!("You can drop {of} instead.")))
}

fn one_index(session: &mut Session, view: &View, name: &Name, concurrently: bool) -> Result<()> {
    let parts = [name.schema.clone(), name.name.clone()];
    let Some((table, found)) = index::find(view, &parts)? else {
        return Err(SqlError::new(
            state::NO_OBJECT,
            format!("index \"{}\" does not exist", name.name),
        ));
    };
    view.scope.tx()?.await_form(&table)?;
    let schema = table.schema();
    if view.scope.lent().is_called_for(schema.id) {
        let text = format!(
            "cannot DROP INDEX \"{found}\" because it is being used by active queries in this session"
        );
        return Err(SqlError::new("55006", text));
    }
    let index = schema.index_by_name(&found).expect("was just found");
    let unique = view.objects.get(Kind::Unique, &index.id.0.to_string()).is_some();
    if index.is_primary() || unique {
        let table = Name::of_engine(&table.name()).1.name;
        let text = format!(
            "cannot drop index {found} because constraint {found} on table {table} requires it"
        );
        return Err(SqlError::new(state::IN_USE, text)
            .hint(format!("You can drop constraint {found} on table {table} instead.")));
    }
    if concurrently && view.objects.families().divided(schema.id).is_some() {
        let text = format!("cannot drop partitioned index \"{found}\" concurrently");
        return Err(SqlError::new(state::UNSUPPORTED, text));
    }
    super::kin::below_index(session, view, &table, &found)?;
    let oid = oids::of_index(index.id);
    let is_noted = view.objects.get(Kind::Storage, &oid.to_string()).is_some();
    match is_noted || session.is_in_block() || session.current()?.changed {
        true => {
            super::storage::forget(session, view, oid)?;
            view.scope.tx()?.drop_index(&table, &found)?;
        }
        false => {
            session.catalog_changes()?;
            view.scope.tx()?.await_form(&table)?;
            let dropped = session.instance.db.drop_index(&table, &found);
            return dropped.map_err(|e| change::of_waiting(view, &table, e));
        }
    }
    session.catalog_changed()
}
