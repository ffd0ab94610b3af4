//! Which types do variables have?

use onlap_pg::ast::{Body, Expr, Statement};
use onlap_pg::bind::{self, Schema};
use onlap_pg::catalog::oids;
use onlap_pg::{TypeRef, grammar};

use super::body::Kind;
use crate::error::{Result, SqlError, state};
use crate::query::{Names, sql_error};
use crate::view::View;

/// What a variable of a type holds.
///
/// # Errors
/// The type has no values.
pub fn kind_of(view: &View, ty: TypeRef) -> Result<Kind> {
    let names = Names::new(view);
    names.name_row(ty.oid).map_err(|e| sql_error(&e, ""))?;
    kind_in(&names, ty)
}

fn kind_in(names: &Names<'_>, ty: TypeRef) -> Result<Kind> {
    let catalog = names.catalog();
    if ty.oid == oids::RECORD {
        return Ok(Kind::Record);
    }
    let known = catalog.get_type(ty.oid);
    if known.is_some_and(|known| known.kind == onlap_pg::catalog::Kind::Pseudo) {
        let text = format!("variable has pseudo-type {}", catalog.shown(ty.oid));
        return Err(SqlError::new(state::UNSUPPORTED, text));
    }
    // A domain over a row keeps its conditions where it is a value.
    if known.is_some_and(|known| known.kind == onlap_pg::catalog::Kind::Composite)
        && let Some(row) = names.composite(ty.oid)
    {
        let fields = row.columns.iter().filter(|column| !column.dropped);
        let fields = fields.map(|column| (column.name.to_string(), column.ty)).collect();
        return Ok(Kind::Row(ty.oid, fields));
    }
    Ok(Kind::Scalar(ty))
}

/// A type by what was written.
///
/// # Errors
/// `42704`: there is none; `42601`.
pub fn named(view: &View, text: &str) -> Result<Kind> {
    if text.eq_ignore_ascii_case("record") {
        return Ok(Kind::Record);
    }
    let names = Names::new(view);
    kind_in(&names, type_of(&names, text)?)
}

/// The type of a text.
fn type_of(names: &Names<'_>, text: &str) -> Result<TypeRef> {
    let invalid = || SqlError::new(state::SYNTAX, format!("invalid type name \"{}\"", text.trim()));
    let cast = format!("SELECT CAST(NULL AS {text})");
    let tree = grammar::parse(&cast).map_err(|_| invalid())?;
    let [one] = &tree.statements[..] else { return Err(invalid()) };
    let Statement::Query(query) = one.statement else { return Err(invalid()) };
    let Body::Select(select) = &tree.query(query).body else { return Err(invalid()) };
    let [target] = &select.targets[..] else { return Err(invalid()) };
    let Expr::Cast(_, name) = tree.expr(target.value) else { return Err(invalid()) };
    let ty = bind::type_named(&tree, name, names, names.catalog());
    ty.map_err(|e| sql_error(&e, "").nowhere())
}

/// The rows of a relation.
///
/// # Errors
/// `42P01`
pub fn row_of(view: &View, path: &[String]) -> Result<Kind> {
    let names = Names::new(view);
    let parts: Vec<Box<str>> = path.iter().map(|part| part.as_str().into()).collect();
    let row = names.row_type(&parts).map_err(|e| sql_error(&e, "").nowhere())?;
    match row {
        Some(row) => kind_in(&names, TypeRef::new(row)),
        None => Err(no_relation(path)),
    }
}

/// The type of a column; `None` where there is none.
///
/// # Errors
/// Those of the relation.
pub fn column_of(view: &View, path: &[String]) -> Result<Option<Kind>> {
    let Some((column, relation)) = path.split_last().filter(|(_, rest)| !rest.is_empty()) else {
        return Ok(None);
    };
    let names = Names::new(view);
    let parts: Vec<Box<str>> = relation.iter().map(|part| part.as_str().into()).collect();
    let found = names.relation(&parts).map_err(|e| sql_error(&e, "").nowhere())?;
    let columns = found.iter().flat_map(|found| &found.columns);
    let known = columns.into_iter().find(|c| !c.dropped && *c.name == **column);
    known.map(|known| kind_in(&names, known.ty)).transpose()
}

fn no_relation(path: &[String]) -> SqlError {
    let text = format!("relation \"{}\" does not exist", path.join("."));
    SqlError::new(state::NO_TABLE, text)
}
