//! COMMENT ON.

use onlap_pg::ast::{CommentOn, Path};
use serde_json::json;

use super::{alter, materialized, privileges, roles};
use crate::catalog::{Kind, oids};
use crate::error::{Result, SqlError, state};
use crate::rights::{Action, Class, Key};
use crate::session::Session;
use crate::source::{Source, strings};
use crate::view::{View, no_table};

/// COMMENT ON.
///
/// # Errors
/// There is no such object; one that has no comments here.
pub fn run(
    session: &mut Session,
    view: &View,
    source: Source<'_>,
    on: &CommentOn,
    text: Option<&str>,
) -> Result<&'static str> {
    let object = |kind, name: &str, what: &str| {
        roles::oid_of_object(view, kind, name).ok_or_else(|| {
            SqlError::new(state::NO_OBJECT, format!("{what} \"{name}\" does not exist"))
        })
    };
    let (oid, column) = match on {
        CommentOn::Schema(name) => {
            let oid = object(Kind::Schema, name, "schema")?;
            let key = Key::of_schema(oid, view.database_key().oid);
            view.must_one(Action::Comment, Class::Schema, key, name)?;
            (oid, 0)
        }
        CommentOn::Database(name) => {
            let oid = object(Kind::Database, name, "database")?;
            view.must_one(Action::Comment, Class::Database, Key::of(oid), name)?;
            (oid, 0)
        }
        CommentOn::Role(name) => {
            let oid = object(Kind::Role, name, "role")?;
            roles::must_comment(view, oid)?;
            (oid, 0)
        }
        CommentOn::Extension(name) => (super::extension::commented(view, name)?, 0),
        CommentOn::Column(name) => column_of(view, name)?,
        CommentOn::Constraint(name, table) => constraint(view, name, table)?,
        CommentOn::Function(kind, signature) => {
            let found = match super::function::find(view, source, *kind, signature) {
                Ok(found) => found,
                Err(e) => {
                    use super::function::members;
                    let member = members::find(view, source, *kind, signature)?;
                    return Err(member.map_or(e, |(_, proc)| members::unchanged(view, proc)));
                }
            };
            let name = found.name.name.as_str();
            view.must_one(Action::Comment, found.class(), found.rights(), name)?;
            (found.oid, 0)
        }
        CommentOn::Trigger(name, on) => (super::trigger::commented(view, name, on)?, 0),
        CommentOn::Policy(name, on) => (super::policy::commented(view, name, on)?, 0),
        CommentOn::Relation(kind, name) => {
            let parts = strings(name);
            let (name, found) = alter::relation(view, &parts)?.ok_or_else(|| no_table(&parts))?;
            let class = privileges::class_of(found);
            let word = match class {
                Class::Table => materialized::word(view, &name.engine(&view.database)),
                class => class.word(),
            };
            if word != *kind {
                let article = if *kind == "index" { "an" } else { "a" };
                let text = format!("\"{}\" is not {article} {kind}", name.name);
                return Err(SqlError::new("42809", text));
            }
            view.must_own(Action::Comment, &name, found)?;
            (privileges::oid_of(view, &name, found)?, 0)
        }
    };
    let body = text.filter(|text| !text.is_empty()).map(|text| json!({ "text": text }));
    session.put(Kind::Comment, &format!("{oid}:{column}"), body)?;
    Ok("COMMENT")
}

fn column_of(view: &View, name: &Path) -> Result<(u32, usize)> {
    let mut parts = strings(name);
    let column = parts.pop().unwrap_or_default();
    if parts.is_empty() {
        return Err(SqlError::new(state::SYNTAX, "column name must be qualified"));
    }
    let (name, found) = alter::relation(view, &parts)?.ok_or_else(|| no_table(&parts))?;
    view.must_own(Action::CommentPart, &name, found)?;
    let oid = privileges::oid_of(view, &name, found)?;
    let engine = name.engine(&view.database);
    let missing = || {
        let text = format!("column \"{column}\" of relation \"{}\" does not exist", name.name);
        SqlError::new(state::NO_COLUMN, text)
    };
    if let Some(object) = view.objects.get(Kind::View, &engine) {
        let columns = object.body["columns"].as_array();
        let named = |c: &serde_json::Value| c["name"].as_str() == Some(&column);
        let at = columns.and_then(|all| all.iter().position(named));
        return Ok((oid, at.ok_or_else(missing)? + 1));
    }
    let schema = view.scope.tx()?.table(&engine)?.schema();
    let at = schema.position_by_name(&column).ok_or_else(missing)?;
    // Numbers of columns never change, unlike their places.
    Ok((oid, schema.columns[at].id.0 as usize + 1))
}

fn constraint(view: &View, name: &str, table: &Path) -> Result<(u32, usize)> {
    let (table_name, table) = view.table(&strings(table))?;
    view.must_own(Action::CommentPart, &table_name, super::naming::Relation::Table)?;
    let schema = table.schema();
    if let Some(index) = schema.index_by_name(name) {
        return Ok((oids::of_index_constraint(index.id), 0));
    }
    let check = schema.checks.iter().any(|c| c.name == name);
    let foreign = schema.foreign_keys.iter().any(|k| k.name == name);
    let kind = match (check, foreign) {
        (true, _) => "check",
        (_, true) => "foreign key",
        _ => {
            let table = table_name.name;
            let text = format!("constraint \"{name}\" for table \"{table}\" does not exist");
            return Err(SqlError::new(state::NO_OBJECT, text));
        }
    };
    Ok((oids::of_part(schema.id, kind, name), 0))
}
