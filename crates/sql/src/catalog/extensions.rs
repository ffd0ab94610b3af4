//! Which extensions has a database created?
//!
//! A row of the catalog for each, by `database/name`: its owner, its schema and its version. What an extension has is known to
//! [`onlap_pg::catalog::extensions`]; here is where its names are found. plpgsql has no row: every database has it.
//!
//! Thread safety: read only.

use std::sync::Arc;

use onlap_pg::catalog::extensions::{self as known, Extension};
use onlap_pg::catalog::{Catalog, Proc, Type};
use serde_json::{Value as Json, json};

use super::names::{Name, quote};
use super::objects::{Kind, Object};
use super::oids;
use crate::rights::Key;
use crate::system::definitions::{self, Definition};
use crate::system::row_types;
use crate::types::PgType;
use crate::view::{ONLAP, View};

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
pub fn is_seen(view: &View, schema: &str) -> bool {
    view.path().any(|of| of == schema) && view.may_look_in(schema)
}

/// The catalog with the extensions that a view's statements find.
pub fn added_to(catalog: Catalog, view: &View) -> Catalog {
    let created = all(view).map(|of| known::Created {
        extension: of.extension,
        seen: is_seen(view, &of.schema),
        schema: of.schema,
    });
    let own = known::Created {
        extension: &known::OWN,
        seen: view.path().any(|schema| schema == ONLAP),
        schema: ONLAP.into(),
    };
    catalog.with_extensions(created.chain([own]).collect())
}

/// The extension whose view has an OID, and the view's name.
pub fn view_of(view: &View, oid: u32) -> Option<(Created, &'static str)> {
    let created = of_type(view, oid)?;
    let mut views = definitions::of_extensions(created.extension.name);
    let name = views.find(|definition| definition.oid == oid)?.name;
    Some((created, name))
}

/// The view of an extension that a name means.
pub fn view_named(view: &View, parts: &[String]) -> Option<(Created, Arc<Definition>)> {
    let name = parts.last()?;
    let of = |created: Created| {
        let definition = definitions::of_extension(created.extension.name, name)?;
        Some((created, definition))
    };
    match parts {
        [_] => all(view).filter(|created| is_seen(view, &created.schema)).find_map(of),
        [.., schema, _] => all(view).filter(|created| created.schema == *schema).find_map(of),
        [] => None,
    }
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

/// The function of an extension that has these arguments, by its name with its schema.
pub fn proc_at(view: &View, name: &Name, arguments: &[u32]) -> Option<(Created, &'static Proc)> {
    let mut created = all(view).filter(|of| of.schema == name.schema);
    created.find_map(|of| {
        let is = |proc: &&'static Proc| *proc.name == *name.name && *proc.arguments == *arguments;
        let proc = of.extension.procs().find(is)?;
        Some((of, proc))
    })
}

/// The extension that a function of the database belongs to, by the function's OID.
pub fn of_proc(view: &View, oid: u32) -> Option<(Created, &'static Proc)> {
    let created = of_type(view, oid)?;
    let proc = created.extension.procs().find(|proc| proc.oid == oid)?;
    Some((created, proc))
}

/// Which it is, for rights.
pub fn proc_key(view: &View, oid: u32) -> Key {
    Key::of_member(oid, view.database_key().oid)
}

/// Whether an OID is that of something that an extension has.
pub fn is_member(oid: u32) -> bool {
    known::of(oid).is_some()
}

/// Functions of extensions of the view's database of whose rights something is kept.
pub fn granted(view: &View) -> Vec<(Created, &'static Proc)> {
    let rights = view.judge.rights();
    let mut found = Vec::new();
    for created in all(view) {
        let kept = |proc: &&'static Proc| rights.entry(proc_key(view, proc.oid)).is_some();
        found.extend(created.extension.procs().filter(kept).map(|proc| (created.clone(), proc)));
    }
    found
}

/// A function of an extension with the types of its arguments, as messages write it.
pub fn shown_proc(view: &View, created: &Created, proc: &Proc) -> String {
    let types: Vec<String> = proc.arguments.iter().map(|oid| shown_type(view, *oid)).collect();
    let name = quote(&proc.name);
    match is_seen(view, &created.schema) {
        true => format!("{name}({})", types.join(",")),
        false => format!("{}.{name}({})", quote(&created.schema), types.join(",")),
    }
}

/// The name of a type in SQL that is kept, or that is run by itself: it means the type in each search path.
pub fn written(view: &View, ty: PgType) -> String {
    match of_type(view, ty.oid) {
        Some(created) => {
            format!("{}.{}", quote(&created.schema), crate::query::catalog().shown(ty.oid))
        }
        None => {
            let row = oids::is_of_rows(ty.oid).then(|| row_types::written(view, ty.oid)).flatten();
            row.unwrap_or_else(|| view.objects.made_types().written(ty))
        }
    }
}

/// A type as messages write it.
pub fn shown_type(view: &View, oid: u32) -> String {
    let shown = view.objects.made_types().shown_to(view, oid);
    shown.unwrap_or_else(|| crate::query::catalog().shown(oid))
}
