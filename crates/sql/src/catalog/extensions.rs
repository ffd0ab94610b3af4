//! Which extensions has a database created?
//!
//! A row of the catalog for each, by `database/name`: its owner, its schema and its version. What an extension has is known to
//! [`onlap_pg::catalog::extensions`]; here is where its names are found. plpgsql has no row: every database has it.
//!
//! Thread safety: read only.

use onlap_pg::catalog::extensions::{self as known, Extension};
use onlap_pg::catalog::{Catalog, Proc, Type};
use serde_json::{Value as Json, json};

use super::names::quote;
use super::objects::{Kind, Object};
use super::oids;
use crate::view::View;

/// The OID of plpgsql.
pub const PLPGSQL: u32 = 13_559;

/// An extension that a database has created.
#[derive(Clone, Debug)]
pub struct Created {
    /// Its OID.
    pub oid: u32,
    /// What it is.
    pub extension: &'static Extension,
    /// The schema of its names.
    pub schema: String,
    /// The role that owns it.
    pub owner: u32,
}

impl Created {
    fn read(name: &str, object: &Object) -> Option<Created> {
        Some(Created {
            oid: oids::of_object(object.number),
            extension: known::named(name)?,
            schema: object.body["schema"].as_str()?.to_string(),
            owner: u32::try_from(object.body["owner"].as_u64()?).ok()?,
        })
    }

    /// As it is kept.
    pub fn body(&self) -> Json {
        json!({ "schema": self.schema, "owner": self.owner, "version": self.extension.version })
    }
}

/// The name that one is kept by.
pub fn key(view: &View, name: &str) -> String {
    format!("{}/{name}", view.database)
}

/// Those of the database, by name.
pub fn all(view: &View) -> impl Iterator<Item = Created> + '_ {
    view.objects.of_kind(Kind::Extension).filter_map(|(key, object)| {
        let (database, name) = key.split_once('/')?;
        if database == view.database { Created::read(name, object) } else { None }
    })
}

/// One by its name.
pub fn named(view: &View, name: &str) -> Option<Created> {
    let object = view.objects.get(Kind::Extension, &key(view, name))?;
    Created::read(name, object)
}

/// Whether names alone are looked up in a schema.
fn is_seen(view: &View, schema: &str) -> bool {
    view.path().any(|of| of == schema) && view.may_look_in(schema)
}

/// The catalog with the extensions that a view's statements find.
pub fn added_to(catalog: Catalog, view: &View) -> Catalog {
    let created: Vec<known::Created> = all(view)
        .map(|of| known::Created {
            extension: of.extension,
            seen: is_seen(view, &of.schema),
            schema: of.schema,
        })
        .collect();
    if created.is_empty() { catalog } else { catalog.with_extensions(created) }
}

/// The created extension that a type is of.
pub fn of_type(view: &View, oid: u32) -> Option<Created> {
    let extension = known::of(oid)?;
    named(view, extension.name)
}

/// The name of a type of an extension with its schema, where its name alone does not mean it.
pub fn shown_to(view: &View, oid: u32) -> Option<String> {
    let created = of_type(view, oid).filter(|created| !is_seen(view, &created.schema))?;
    Some(format!("{}.{}", quote(&created.schema), crate::query::catalog().shown(oid)))
}

/// The schema of a type of an extension that its name alone means.
pub fn schema_of_type(view: &View, name: &str) -> Option<String> {
    let has = |of: &Created| of.extension.types().any(|ty| ty.name == *name);
    let mut seen = all(view).filter(|of| is_seen(view, &of.schema));
    seen.find(has).map(|of| of.schema)
}

/// A type of an extension as a statement names it.
pub fn meant(view: &View, parts: &[String]) -> Option<&'static Type> {
    match parts {
        [name] => {
            let mut seen = all(view).filter(|of| is_seen(view, &of.schema));
            seen.find_map(|of| of.extension.types().find(|ty| ty.name == *name))
        }
        parts => type_named(view, parts, false),
    }
}

/// A type of an extension by its name: in the schema that is said, or, of a text that was bound before, in any.
pub fn type_named(view: &View, parts: &[String], is_kept: bool) -> Option<&'static Type> {
    let (schema, name) = match parts {
        [name] if is_kept => (None, name),
        [.., schema, name] => (Some(schema), name),
        _ => return None,
    };
    let mut created = all(view).filter(|of| schema.is_none_or(|schema| of.schema == *schema));
    created.find_map(|of| of.extension.types().find(|ty| ty.name == *name))
}

/// The functions of extensions that a name means.
pub fn procs_named<'v>(
    view: &'v View,
    parts: &'v [String],
) -> impl Iterator<Item = &'static Proc> + 'v {
    let is_meant = |of: &Created| match parts {
        [_] => is_seen(view, &of.schema),
        [schema, _] => of.schema == *schema,
        _ => false,
    };
    let is = |proc: &&'static Proc| parts.last().is_some_and(|name| *proc.name == **name);
    all(view).filter(is_meant).flat_map(move |of| of.extension.procs().filter(is))
}
