//! Composite types: CREATE TYPE … AS and what ALTER TYPE does to attributes.

use std::collections::BTreeMap;

use onlap_pg::ast::{Attribute, AttributeChange, CreateComposite};
use onlap_pg::{Oid, bind};

use super::shape::{contains, must_fit};
use super::uses::columns_with;
use super::{check_free, not_a, put, shown};
use crate::catalog::made_types::{Composite, Made, What};
use crate::catalog::oids;
use crate::columns::ColumnType;
use crate::ddl::change::notice;
use crate::ddl::columns::collation;
use crate::error::{Result, SqlError, state};
use crate::query::{Names, sql_error};
use crate::session::Session;
use crate::source::{Source, strings};
use crate::types::PgType;
use crate::view::View;
use crate::wire::Client;

/// PostgreSQL's MaxHeapAttributeNumber.
const MAX_FIELDS: usize = 1600;

/// CREATE TYPE … AS.
///
/// # Errors
/// `42710`: the name is taken; `42701`: a field comes twice; a type that no field can have.
pub fn create(
    session: &mut Session,
    view: &View,
    source: Source<'_>,
    create: &CreateComposite,
) -> Result<&'static str> {
    let name = view.new_name(&strings(&create.name))?;
    check_free(view, &name)?;
    let fields = Vec::with_capacity(create.fields.len());
    let mut of = Composite { relation: 0, fields, collations: BTreeMap::new() };
    for attribute in &create.fields {
        add(view, source, &mut of, attribute, || {
            format!("column \"{}\" specified more than once", attribute.name)
        })?;
    }
    let parts: Vec<PgType> = of.fields.iter().map(|(_, ty)| *ty).collect();
    must_fit(session, view, 0, &parts)?;
    of.relation = oids::of_object(session.instance.take_number());
    let array = oids::of_object(session.instance.take_number());
    let (database, owner) = (view.database.clone(), view.role_named(&view.user)?);
    session.catalog_changed()?;
    let what = What::Composite(of);
    put(session, &Made { oid: 0, array, database, name, owner, what })?;
    Ok("CREATE TYPE")
}

fn add(
    view: &View,
    source: Source<'_>,
    of: &mut Composite,
    attribute: &Attribute,
    taken: impl FnOnce() -> String,
) -> Result<()> {
    if of.fields.iter().any(|(name, _)| **name == *attribute.name) {
        return Err(SqlError::new("42701", taken()));
    }
    if of.fields.len() >= MAX_FIELDS {
        let text = format!("tables can have at most {MAX_FIELDS} columns");
        return Err(SqlError::new("54011", text));
    }
    let (ty, collation) = field_type(view, source, attribute)?;
    of.fields.push((attribute.name.to_string(), ty));
    of.collations.extend(collation.map(|collation| (attribute.name.to_string(), collation)));
    Ok(())
}

/// The type of a field, and its collation where that is not the type's.
fn field_type(
    view: &View,
    source: Source<'_>,
    attribute: &Attribute,
) -> Result<(PgType, Option<Oid>)> {
    let names = Names::new(view);
    let found = bind::type_named(source.tree, &attribute.ty, &names, names.catalog());
    // PostgreSQL gives no place to what is wrong with a field.
    let found = found.map_err(|e| sql_error(&e, source.text).nowhere())?;
    let pg = PgType { oid: found.oid, modifier: found.modifier };
    crate::ddl::view::no_pseudo_type(&attribute.name, pg)?;
    let written = attribute.collation.as_ref();
    let collation = written.map(|name| collation(names.catalog(), name, pg.oid)).transpose()?;
    if ColumnType::of(names.catalog(), pg).is_none() {
        let shown = names.catalog().shown(pg.oid);
        return Err(SqlError::unsupported(format!("a field of type {shown}")));
    }
    Ok((pg, collation.flatten()))
}

/// A type without a field.
///
/// # Errors
/// `0A000`: a column has the type.
pub fn without(view: &View, made: &Made, name: &str) -> Result<Made> {
    let mut of = fields_of(view, made, false)?;
    of.fields.retain(|(field, _)| field != name);
    of.collations.remove(name);
    Ok(Made { what: What::Composite(of), ..made.clone() })
}

/// The fields of a type that is no column's, or whose rows just get more of them.
fn fields_of(view: &View, made: &Made, adds: bool) -> Result<Composite> {
    let of = made.composite().ok_or_else(|| not_a(view, made, "composite type"))?;
    if adds {
        return Ok(of.clone());
    }
    must_be_unnamed(view, made)?;
    if let Some((table, column, _)) = columns_with(view, made)?.first() {
        let text = format!(
            "cannot alter type \"{}\" because column \"{}.{column}\" uses it",
            made.name.name, table.name
        );
        return Err(SqlError::new(state::UNSUPPORTED, text));
    }
    Ok(of.clone())
}

/// Fails where the condition or default of a domain may name a field, which it would not find any more.
fn must_be_unnamed(view: &View, made: &Made) -> Result<()> {
    for other in view.objects.made_types().of_database(&view.database) {
        let named = other.domain().is_some_and(|d| !d.checks.is_empty() || d.default.is_some());
        if named && contains(view, other.oid, made.oid) {
            let text = format!(
                "another name or type of a field that domain {} may name",
                shown(view, other)
            );
            return Err(SqlError::unsupported(text));
        }
    }
    Ok(())
}

fn missing(made: &Made, field: &str) -> String {
    format!("column \"{field}\" of relation \"{}\" does not exist", made.name.name)
}

/// ADD, DROP and ALTER ATTRIBUTE.
///
/// # Errors
/// `0A000`: a column has the type; a field that is there, or is not.
pub fn change(
    session: &mut Session,
    view: &View,
    source: Source<'_>,
    (made, changes): (&Made, &[AttributeChange]),
    client: &mut dyn Client,
) -> Result<Option<Made>> {
    let adds = changes.iter().all(|change| matches!(change, AttributeChange::Add(_)));
    let mut of = fields_of(view, made, adds)?;
    for change in changes {
        match change {
            AttributeChange::Add(attribute) => {
                let taken = || {
                    let (field, name) = (&attribute.name, &made.name.name);
                    format!("column \"{field}\" of relation \"{name}\" already exists")
                };
                add(view, source, &mut of, attribute, taken)?;
                let (_, ty) = of.fields.last().expect("it was added");
                if contains(view, ty.oid, made.oid) {
                    let text = format!(
                        "composite type {} cannot be made a member of itself",
                        shown(view, made)
                    );
                    return Err(SqlError::new("42P16", text));
                }
            }
            AttributeChange::Drop(skip, name) => {
                match of.fields.iter().position(|(field, _)| **field == **name) {
                    Some(at) => {
                        of.fields.remove(at);
                        of.collations.remove(&**name);
                    }
                    None if *skip => {
                        notice(client, "00000", format!("{}, skipping", missing(made, name)));
                    }
                    None => return Err(SqlError::new(state::NO_COLUMN, missing(made, name))),
                }
            }
            AttributeChange::Type(attribute) => {
                let (ty, collation) = field_type(view, source, attribute)?;
                let field = of.fields.iter_mut().find(|(field, _)| **field == *attribute.name);
                let none = || SqlError::new(state::NO_COLUMN, missing(made, &attribute.name));
                field.ok_or_else(none)?.1 = ty;
                of.collations.remove(&*attribute.name);
                let own = collation.map(|collation| (attribute.name.to_string(), collation));
                of.collations.extend(own);
                if contains(view, ty.oid, made.oid) {
                    let text = format!(
                        "composite type {} cannot be made a member of itself",
                        shown(view, made)
                    );
                    return Err(SqlError::new("42P16", text));
                }
            }
        }
    }
    let parts: Vec<PgType> = of.fields.iter().map(|(_, ty)| *ty).collect();
    must_fit(session, view, made.oid, &parts)?;
    Ok(Some(Made { what: What::Composite(of), ..made.clone() }))
}

/// RENAME ATTRIBUTE.
///
/// # Errors
/// `42703`, `42701`.
pub fn rename(view: &View, made: &Made, (from, to): (&str, &str)) -> Result<Made> {
    let of = made.composite().ok_or_else(|| not_a(view, made, "composite type"))?;
    let mut of = of.clone();
    let at = of.fields.iter().position(|(field, _)| *field == *from);
    let none = || SqlError::new(state::NO_COLUMN, format!("column \"{from}\" does not exist"));
    let at = at.ok_or_else(none)?;
    if of.fields.iter().any(|(field, _)| *field == *to) {
        let text = format!("column \"{to}\" of relation \"{}\" already exists", made.name.name);
        return Err(SqlError::new("42701", text));
    }
    must_be_unnamed(view, made)?;
    of.fields[at].0 = to.to_string();
    let own = of.collations.remove(from);
    of.collations.extend(own.map(|collation| (to.to_string(), collation)));
    Ok(Made { what: What::Composite(of), ..made.clone() })
}
