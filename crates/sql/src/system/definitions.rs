//! Which tables do PostgreSQL's catalogs have, with which columns?
//!
//! As PostgreSQL 15 says: `pg15/tables.txt` was made by `pg15/tables.sql`. A table without a meaning here
//! is there all the same, and empty. The views of schema `onlap_stat`, which PostgreSQL has not, stand in
//! `onlap/tables.txt`, in the same form, and those of extensions in `onlap/extensions.txt`.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use onlap_pg::TypeRef;

use crate::types::{PgType, names, oid};

/// A table or view of the system.
#[derive(Debug)]
pub struct Definition {
    /// Its OID.
    pub oid: u32,
    /// Whether PostgreSQL has a view of this name.
    pub is_view: bool,
    /// Its schema.
    pub schema: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Its columns.
    pub columns: Vec<(&'static str, PgType)>,
    /// Their types in PostgreSQL, also those that the engine has as texts.
    pub types: Vec<TypeRef>,
}

static ALL: LazyLock<Vec<Arc<Definition>>> = LazyLock::new(|| {
    let theirs = include_str!("pg15/tables.txt").lines();
    let all = theirs.chain(include_str!("onlap/tables.txt").lines());
    all.filter_map(parse).map(Arc::new).collect()
});

/// Views of extensions; the extension stands where the schema of others does.
static OF_EXTENSIONS: LazyLock<Vec<Arc<Definition>>> = LazyLock::new(|| {
    include_str!("onlap/extensions.txt").lines().filter_map(parse).map(Arc::new).collect()
});

/// The views of an extension.
pub fn of_extensions(extension: &str) -> impl Iterator<Item = &'static Arc<Definition>> {
    OF_EXTENSIONS.iter().filter(move |definition| definition.schema == extension)
}

/// A view of an extension.
pub fn of_extension(extension: &str, name: &str) -> Option<Arc<Definition>> {
    of_extensions(extension).find(|definition| definition.name == name).cloned()
}

static BY_NAME: LazyLock<HashMap<(&str, &str), Arc<Definition>>> =
    LazyLock::new(|| ALL.iter().map(|d| ((d.schema, d.name), Arc::clone(d))).collect());

/// All of them, by schema and name.
pub fn all() -> &'static [Arc<Definition>] {
    &ALL
}

/// One of them.
pub fn find(schema: &str, name: &str) -> Option<Arc<Definition>> {
    BY_NAME.get(&(schema, name)).cloned()
}

/// Reads `OID kind schema.name: column type, …`, where types have `_` for blanks.
fn parse(line: &'static str) -> Option<Definition> {
    let (head, columns) = line.split_once(": ")?;
    let mut head = head.split(' ');
    let (oid, kind, name) = (head.next()?.parse().ok()?, head.next()?, head.next()?);
    let (schema, name) = name.split_once('.')?;
    let said_columns = columns;
    let columns: Vec<_> = said_columns
        .split(", ")
        .filter_map(|column| column.split_once(' ').map(|(name, ty)| (name, type_of(ty))))
        .collect();
    let said = said_columns.split(", ").filter_map(|column| column.split_once(' '));
    let types = said.map(|(_, ty)| true_type(ty)).collect();
    Some(Definition { oid, is_view: kind == "v", schema, name, columns, types })
}

/// Types by the names that format_type writes, with `_` for blanks.
static TYPES: LazyLock<HashMap<String, u32>> = LazyLock::new(|| {
    let catalog = onlap_pg::catalog::Catalog::new();
    catalog.types().map(|ty| (ty.shown.replace(' ', "_"), ty.oid)).collect()
});

fn true_type(text: &str) -> TypeRef {
    let (name, modifier) = match text.split_once('(').and_then(|(name, rest)| {
        let (modifier, tail) = rest.split_once(')')?;
        Some((format!("{name}{tail}"), modifier.parse::<i32>().ok()?))
    }) {
        Some((name, modifier)) => (name, modifier),
        None => (text.to_string(), -1),
    };
    let oid = TYPES.get(&name).copied().unwrap_or(oid::TEXT);
    let modifier = if oid == oid::VARCHAR && modifier >= 0 { modifier + 4 } else { modifier };
    TypeRef { oid, modifier }
}

fn type_of(text: &str) -> PgType {
    if text.starts_with("pg_") {
        return PgType::new(names::by_name(text).unwrap_or(oid::TEXT));
    }
    let text = text.replace('_', " ");
    let length = text.strip_prefix("character varying(").and_then(|t| t.strip_suffix(')'));
    if let Some(length) = length.and_then(|n| n.parse::<i32>().ok()) {
        return PgType { oid: oid::VARCHAR, modifier: length + 4 };
    }
    let known = names::by_name(&text.replace("(2)", ""));
    PgType::new(known.unwrap_or(oid::TEXT))
}
