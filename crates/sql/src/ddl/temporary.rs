//! Where does a new relation go, which may be a temporary one, and what becomes of those?
//!
//! [`crate::session::temporary`] says what they are.

use onlap::Table;
use onlap_pg::ast::{Lasting, OnCommit};
use serde_json::json;

use super::cascade::{self, Closure, Object};
use super::schema;
use crate::catalog::names::{TEMPORARY, temporary};
use crate::catalog::{Kind, Name};
use crate::error::{Result, SqlError, state};
use crate::session::Session;
use crate::session::lent::Told;
use crate::view::View;

/// The name of a new relation, and a view that knows the schema that it is in.
pub struct Place {
    /// What the statement sees from now on.
    pub view: View,
    /// The name.
    pub name: Name,
}

/// Where a new relation goes. The session's schema of temporary ones is made where it is needed first.
///
/// # Errors
/// There is no such schema or database; the role may make nothing in it; `42P16`: the schema has relations that last
/// otherwise.
pub fn place(
    session: &mut Session,
    view: &View,
    parts: &[String],
    lasting: Lasting,
) -> Result<Place> {
    let own = temporary(view.pid);
    let is_temporary = match parts {
        [.., schema, _] => schema == TEMPORARY || view.temporary && *schema == own,
        _ if lasting == Lasting::Temporary => true,
        _ => view.creation_schema()? == own,
    };
    let refuse = |text: &str| Err(SqlError::new(state::BAD_DEFINITION, text));
    if !is_temporary {
        let name = view.new_name(parts)?;
        return match (lasting, name.is_temporary()) {
            (Lasting::Unlogged, true) => refuse(UNLOGGED),
            (_, true) => refuse("cannot create relations in temporary schemas of other sessions"),
            (Lasting::Temporary, false) => {
                refuse("cannot create temporary relation in non-temporary schema")
            }
            _ => Ok(Place { view: view.clone(), name }),
        };
    }
    session.must_be_unrestricted("create temporary table")?;
    view.check_database(parts)?;
    session.temporary.is_private = true;
    let view = match view.temporary {
        true => view.clone(),
        false => made(session, view, &own)?,
    };
    view.must_create_in(&own)?;
    if lasting == Lasting::Unlogged {
        return refuse(UNLOGGED);
    }
    let name = parts.last().map_or("", String::as_str);
    Ok(Place { view, name: Name::new(own, name) })
}

/// The same for a relation: the system's own are not to be confused with any other.
///
/// # Errors
/// As of [`place`]; `42501`: it is to be among them.
pub fn place_of_relation(
    session: &mut Session,
    view: &View,
    parts: &[String],
    lasting: Lasting,
) -> Result<Place> {
    let place = place(session, view, parts, lasting)?;
    if place.name.schema == "pg_catalog" {
        let text = format!("permission denied to create \"pg_catalog.{}\"", place.name.name);
        return Err(SqlError::new(state::NO_PRIVILEGE, text)
            .detail("System catalog modifications are currently disallowed."));
    }
    Ok(place)
}

const UNLOGGED: &str = "only temporary relations may be created in temporary schemas";

/// Makes the session's schema of temporary relations, which belongs to the system.
fn made(session: &mut Session, view: &View, own: &str) -> Result<View> {
    if !view.may_create_temporary() {
        let database = &view.database;
        let text =
            format!("permission denied to create temporary tables in database \"{database}\"");
        return Err(SqlError::new(state::NO_PRIVILEGE, text));
    }
    session.temporary.is_made = true;
    session.catalog_changed()?;
    session.put(Kind::Schema, &format!("{}/{own}", view.database), Some(json!({})))?;
    session.view()
}

/// Notes what commits do with a new table.
///
/// # Errors
/// The transaction has ended.
pub fn note(session: &mut Session, place: &Place, on_commit: Option<OnCommit>) -> Result<()> {
    let drops = match on_commit {
        None | Some(OnCommit::PreserveRows) => return Ok(()),
        Some(OnCommit::DeleteRows) => false,
        Some(OnCommit::Drop) => true,
    };
    let table = place.view.scope.tx()?.table(&place.name.engine(&place.view.database))?;
    session.temporary.note(&table, drops);
    Ok(())
}

/// Fails where ON COMMIT is said of a table that stays.
///
/// # Errors
/// `42P16`.
pub fn check_on_commit(on_commit: Option<OnCommit>, is_temporary: bool) -> Result<()> {
    match on_commit {
        Some(_) if !is_temporary => Err(SqlError::new(
            state::BAD_DEFINITION,
            "ON COMMIT can only be used on temporary tables",
        )),
        _ => Ok(()),
    }
}

/// Fails where a foreign key is between a table that stays and one that does not, or one of another session.
///
/// # Errors
/// `42P16`.
pub fn check_reference(child: &Name, parent: &Name) -> Result<()> {
    let refuse = |text| Err(SqlError::new(state::BAD_DEFINITION, text));
    match (child.is_temporary(), parent.is_temporary()) {
        (false, true) => {
            refuse("constraints on permanent tables may reference only permanent tables")
        }
        (true, false) => {
            refuse("constraints on temporary tables may reference only temporary tables")
        }
        (true, true) if child.schema != parent.schema => {
            refuse("constraints on temporary tables must involve temporary tables of this session")
        }
        _ => Ok(()),
    }
}

/// Fails where something would become temporary, or would stay.
///
/// # Errors
/// `0A000`.
pub fn check_move(from: &str, to: &str) -> Result<()> {
    let is_temporary = |schema: &str| schema == TEMPORARY || Name::new(schema, "").is_temporary();
    match is_temporary(from) || is_temporary(to) {
        true => Err(SqlError::new(
            state::UNSUPPORTED,
            "cannot move objects into or out of temporary schemas",
        )),
        false => Ok(()),
    }
}

/// Drops tables with all that reads them.
///
/// # Errors
/// Those of the engine.
pub fn drop_tables(session: &mut Session, view: &View, tables: Vec<Table>) -> Result<()> {
    let roots = tables.iter().map(|table| Object::Table(table.schema().id)).collect();
    Closure::of(view, roots)?.drop(session, true, &mut Told::new(view))
}

/// Drops all that is in a schema.
///
/// # Errors
/// Those of the engine.
pub fn drop_all(session: &mut Session, view: &View, schema: &str) -> Result<()> {
    let roots = cascade::content(view, schema)?;
    Closure::of(view, roots)?.drop(session, true, &mut Told::new(view))
}

/// Drops a schema that is empty.
///
/// # Errors
/// Those of the engine.
pub fn drop_schema(session: &mut Session, view: &View, schema: &str) -> Result<()> {
    schema::forget(session, view, schema)
}

/// Deletes all rows of tables, those first that refer to others; `judged`: foreign keys may have changed.
///
/// # Errors
/// `0A000`: a table that stays as it is refers to one of them.
pub fn empty(view: &View, mut tables: Vec<Table>, judged: bool) -> Result<()> {
    if judged {
        check_children(view, &tables)?;
    }
    while !tables.is_empty() {
        let is_parent = |table: &Table| {
            let id = table.schema().id;
            let others = tables.iter().filter(|other| other.schema().id != id);
            others.flat_map(|other| other.schema().foreign_keys.clone()).any(|k| k.parent == id)
        };
        let next = tables.iter().position(|table| !is_parent(table)).unwrap_or(0);
        let table = tables.swap_remove(next);
        let mut tx = view.scope.tx()?;
        if tx.count(&table)? > 0 {
            // As in PostgreSQL.
            tx.delete_uncounted(&table)?;
        }
    }
    Ok(())
}

fn check_children(view: &View, parents: &[Table]) -> Result<()> {
    let is_one = |id| parents.iter().any(|parent| parent.schema().id == id);
    for (name, child) in view.tables()? {
        let schema = child.schema();
        let refers = schema.foreign_keys.iter().find(|key| is_one(key.parent));
        let Some(key) = refers.filter(|_| !is_one(schema.id)) else { continue };
        let parent = parents.iter().find(|parent| parent.schema().id == key.parent);
        let parent = parent.map_or_else(String::new, |p| Name::of_engine(&p.name()).1.name);
        let text = "unsupported ON COMMIT and foreign key combination";
        let detail = format!(
            "Table \"{}\" references \"{parent}\", but they do not have the same ON COMMIT setting.",
            name.name
        );
        return Err(SqlError::new(state::UNSUPPORTED, text).detail(detail));
    }
    Ok(())
}
