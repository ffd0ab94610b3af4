//! Which operator classes are there, and for which types?
//!
//! An index of another kind than gin is one of btree here, ordered as its type is. A class that is named says nothing to it, and
//! must be there nevertheless, for PostgreSQL refuses one that is not. Thread safety: pure, except for the statement's view.

use onlap_pg::Oid;
use onlap_pg::ast::Path;
use onlap_pg::catalog::extensions::Part;
use onlap_pg::catalog::{Cast, CastContext, CastMethod, Kind};

use crate::catalog::extensions::{self, Created};
use crate::error::{Result, SqlError, state};
use crate::system::definitions;
use crate::system::fixed;
use crate::system::rows::Datum;
use crate::view::{PG_CATALOG, View};

/// The access methods that indexes are made as btree of, by their OIDs.
const METHODS: [(&str, i64); 3] = [("btree", 403), ("hash", 405), ("brin", BRIN)];
const BRIN: i64 = 3580;

/// anyarray, anyenum, anyrange, anymultirange, record.
const ANY_ARRAY: Oid = 2277;
const ANY_ENUM: Oid = 3500;
const ANY_RANGE: Oid = 3831;
const ANY_MULTIRANGE: Oid = 4537;
const RECORD: Oid = 2249;

/// Fails unless an operator class of an access method is there and takes values of a type.
///
/// # Errors
/// `42704`: there is none; `42804`: it is one of another type; `3F000`.
pub fn check(view: &View, path: &Path, method: &str, ty: Oid) -> Result<()> {
    let missing = || {
        let name = path.join(".");
        let text =
            format!("operator class \"{name}\" does not exist for access method \"{method}\"");
        SqlError::new(state::NO_OBJECT, text)
    };
    let (schema, name) = match &path[..] {
        [name] => (None, &**name),
        [schema, name] => (Some(&**schema), &**name),
        _ => return Err(missing()),
    };
    if let Some(schema) = schema.filter(|of| *of != PG_CATALOG && !view.has_schema(of)) {
        return Err(crate::view::no_schema(schema));
    }
    let Some((_, method)) = METHODS.iter().find(|(known, _)| *known == method) else {
        return Err(missing());
    };
    let mut types = match schema.is_none_or(|schema| schema == PG_CATALOG) {
        true => own(*method, name),
        false => Vec::new(),
    };
    types.extend(of_extensions(view, schema, name, *method));
    if types.is_empty() {
        return Err(missing());
    }
    if types.iter().any(|of| takes(view, *of, ty)) {
        return Ok(());
    }
    let shown = view.objects.made_types().catalog().shown(ty).to_string();
    let text = format!("operator class \"{}\" does not accept data type {shown}", path.join("."));
    Err(SqlError::new(state::MISMATCH, text))
}

/// What the names of classes of brin end with, in the place of those of btree.
const SUMMARIES: [&str; 4] = ["_minmax_ops", "_minmax_multi_ops", "_bloom_ops", "_inclusion_ops"];

/// The types of PostgreSQL's own classes of a name. Rows of `pg_opclass` are those of btree here; classes of the other methods
/// are named like them and take the same types.
fn own(method: i64, name: &str) -> Vec<Oid> {
    let stem = |end: &str| name.strip_suffix(end).map(|stem| format!("{stem}_ops"));
    let name = match method {
        BRIN => match SUMMARIES.iter().find_map(|end| stem(end)) {
            Some(name) => name,
            None => return Vec::new(),
        },
        _ => name.to_string(),
    };
    let definition = definitions::find(PG_CATALOG, "pg_opclass");
    let Some(rows) = definition.and_then(|of| fixed::rows(&of)) else { return Vec::new() };
    let all = rows.column("opcname").zip(rows.column("opcintype"));
    let is_it = |(known, ty): (&Datum, &Datum)| {
        (known.text() == name).then(|| ty.int().and_then(|oid| Oid::try_from(oid).ok())).flatten()
    };
    all.filter_map(is_it).collect()
}

/// The same of the extensions that are seen, or in a schema.
fn of_extensions(view: &View, schema: Option<&str>, name: &str, method: i64) -> Vec<Oid> {
    let is_meant = |created: &Created| match schema {
        Some(schema) => schema == created.schema,
        None => extensions::is_seen(view, &created.schema),
    };
    let created = extensions::all(view).filter(is_meant);
    let rows = created.flat_map(|created| created.extension.rows(Part::Class));
    let found = rows.filter(|row| row.number::<i64>(1) == method && row.text(2) == name);
    found.map(|row| row.number(4)).collect()
}

/// Whether values of a type are of a class's type as they are.
fn takes(view: &View, of: Oid, ty: Oid) -> bool {
    let catalog = view.objects.made_types().catalog();
    let (base, _) = catalog.base(ty, -1);
    let is_same =
        |cast: &Cast| cast.method == CastMethod::Binary && cast.context == CastContext::Implicit;
    base == of
        || catalog.cast(base, of).is_some_and(is_same)
        || match of {
            ANY_ARRAY => catalog.element(base).is_some(),
            ANY_ENUM => catalog.is_enum(base),
            ANY_RANGE => catalog.range_element(base).is_some(),
            ANY_MULTIRANGE => catalog.multirange_range(base).is_some(),
            RECORD => catalog.get_type(base).is_some_and(|ty| ty.kind == Kind::Composite),
            _ => false,
        }
}
