//! USING gist.
//!
//! There are no such indexes: what is declared as one is an ordinary one, in the order of its types, which serves equality and order. It is
//! shown as it was declared ([`Declared`]), so that a PostgreSQL that gets the definition makes what was meant. What has no order here
//! (points, boxes, tsvector) has no index, and long texts of `gist_trgm_ops` are no keys of an ordinary one.
//!
//! Thread safety: runs in the session's thread.

use onlap::{IndexSchema, IndexSpec, TableSchema};
use onlap_pg::Oid;
use onlap_pg::ast::{CreateIndex, IndexElement};
use onlap_pg::catalog::Row;
use onlap_pg::catalog::extensions as known;

use super::index;
use super::index_parts::{Part, Parts};
use crate::catalog::names::quote;
use crate::catalog::storage::{Declared, DeclaredPart, Storage};
use crate::catalog::{Name, extensions, oids};
use crate::columns::{ColumnType, Types};
use crate::error::{Result, SqlError, state};
use crate::source::Source;
use crate::types::{PgType, oid};
use crate::view::{PG_CATALOG, View};

/// anyenum
const ANY_ENUM: Oid = 3500;
/// inet, cidr
const NETWORKS: [Oid; 2] = [869, 650];
/// The class of networks that has `&&`.
pub const NETWORK_CLASS: &str = "inet_ops";
/// PostgreSQL's own classes.
const OWN: [&str; 3] = [NETWORK_CLASS, "range_ops", "multirange_ops"];
/// Classes of PostgreSQL and its extensions that are not there.
const MISSING: [&str; 8] = [
    "box_ops",
    "point_ops",
    "poly_ops",
    "circle_ops",
    "tsvector_ops",
    "tsquery_ops",
    "gist_trgm_ops",
    "gist_hstore_ops",
];
/// OIDs of PostgreSQL's own classes: of networks, ranges and multiranges.
const OWN_CLASSES: [i64; 3] = [10_017, 10_078, 10_082];

/// Of an index that is declared so: what the engine is asked for, and what the columns of its key are called.
///
/// # Errors
/// Those of PostgreSQL; `0A000` for what is not there.
pub fn described(
    view: &View,
    source: Source<'_>,
    create: &CreateIndex,
    name: &Name,
    schema: &TableSchema,
) -> Result<(IndexSpec, Vec<String>)> {
    let ordered = in_order(create);
    // Columns that are not there are told before their types.
    let described = index::described_in_order(view, source, &ordered, name, schema);
    let classes = classes_of(view, source, create, (name, schema));
    match described {
        Err(e) if e.state() == state::NO_COLUMN => Err(e),
        described => classes.and(described),
    }
}

/// What is kept of how it was declared.
///
/// # Errors
/// As [`described`].
pub fn declared(
    view: &View,
    source: Source<'_>,
    create: &CreateIndex,
    table: (&Name, &TableSchema),
) -> Result<Declared> {
    let classes = classes_of(view, source, create, table)?;
    let part = |(at, class)| DeclaredPart { at, operator: 0, class };
    Ok(Declared {
        method: "gist".into(),
        parts: classes.into_iter().enumerate().map(part).collect(),
    })
}

/// The index as one in order.
fn in_order(create: &CreateIndex) -> CreateIndex {
    let elements = create.elements.iter().map(without_class).collect();
    CreateIndex { method: None, elements, settings: Vec::new(), ..create.clone() }
}

/// A part, whose class is another method's.
pub fn without_class(element: &IndexElement) -> IndexElement {
    IndexElement { class: None, class_options: Vec::new(), ..element.clone() }
}

/// The operator classes of the parts that are not their types' default ones.
fn classes_of(
    view: &View,
    source: Source<'_>,
    create: &CreateIndex,
    (name, schema): (&Name, &TableSchema),
) -> Result<Vec<Option<String>>> {
    let parts = Parts::of(view, source, name, schema)?;
    let types = Types::of(&view.objects, schema);
    let class = |element: &IndexElement| {
        let ty = match (&element.column, element.value) {
            (None, Some(value)) => match parts.expression(value)? {
                Part::Expression(made) => Some(made.2),
                Part::Column(column) => schema.position_by_name(&column).map(|at| types[at]),
            },
            (column, _) => {
                let column = column.iter().map(|name| name.to_string()).collect::<String>();
                schema.position_by_name(&column).map(|at| types[at])
            }
        };
        ty.map_or(Ok(None), |ty| class_of(view, element, ty))
    };
    create.elements.iter().map(class).collect()
}

/// The operator class of a part, where that is not its type's default one.
///
/// # Errors
/// `42704`: there is none; `0A000`: it is not there.
pub fn class_of(view: &View, said: &IndexElement, ty: ColumnType) -> Result<Option<String>> {
    let catalog = view.objects.made_types().catalog();
    let base = catalog.base_type(ty.pg.oid);
    let is_multirange = catalog.multirange_range(base).is_some();
    let scalars = extensions::named(view, "btree_gist");
    let path = said.class.as_deref().unwrap_or_default();
    let schema = match path {
        [schema, _] => Some(&**schema),
        _ => None,
    };
    if let Some(schema) = schema.filter(|of| *of != PG_CATALOG && !view.has_schema(of)) {
        return Err(crate::view::no_schema(schema));
    }
    let is_own = schema.is_none_or(|schema| schema == PG_CATALOG);
    // Whether a name alone, or with this schema, can be that of a class of btree_gist.
    let sees_scalars = scalars.as_ref().is_some_and(|of| match schema {
        Some(schema) => *schema == *of.schema,
        None => extensions::is_seen(view, &of.schema),
    });
    match path.last().map(|name| &**name) {
        Some(NETWORK_CLASS) if is_own && NETWORKS.contains(&base) => Ok(Some(NETWORK_CLASS.into())),
        Some("range_ops") if is_own && is_range(view, base) => Ok(None),
        Some("multirange_ops") if is_own && is_multirange => Ok(None),
        Some(name) if sees_scalars && name == scalar_class(view, base) => Ok(None),
        None if is_range(view, base) || is_multirange => Ok(None),
        None if scalars.is_some() && !scalar_class(view, base).is_empty() => Ok(None),
        // box, point, polygon, circle, tsvector, tsquery, hstore
        None if matches!(base, 603 | 600 | 604 | 718 | 3614 | 3615) || has_own(base) => {
            let text = format!("an index of gist of type {}", catalog.shown(ty.pg.oid));
            Err(SqlError::unsupported(text))
        }
        None => Err(no_class(view, ty)),
        Some(name) if MISSING.contains(&name) => {
            Err(SqlError::unsupported(format!("operator class \"{name}\" of gist")))
        }
        Some(name) if sees_scalars && is_scalar_class(name) || is_own && OWN.contains(&name) => {
            let (name, shown) = (path.join("."), catalog.shown(ty.pg.oid));
            let text = format!("operator class \"{name}\" does not accept data type {shown}");
            Err(SqlError::new(state::MISMATCH, text))
        }
        Some(_) => {
            let name = path.join(".");
            let text =
                format!("operator class \"{name}\" does not exist for access method \"gist\"");
            Err(SqlError::new(state::NO_OBJECT, text))
        }
    }
}

fn has_own(base: Oid) -> bool {
    base == onlap_pg::catalog::oids::HSTORE
}

/// Whether a type is one of ranges.
pub fn is_range(view: &View, base: Oid) -> bool {
    view.objects.made_types().catalog().range_element(base).is_some()
}

/// The name of the class that btree_gist has for a type; nothing where it has none.
fn scalar_class(view: &View, base: Oid) -> &'static str {
    scalar_row(view, base).map_or("", |row| row.text(2))
}

fn is_scalar_class(name: &str) -> bool {
    let extension = known::named("btree_gist");
    extension.is_some_and(|of| of.rows(known::Part::Class).any(|row| row.text(2) == name))
}

fn scalar_row(view: &View, base: Oid) -> Option<Row> {
    let catalog = view.objects.made_types().catalog();
    let wanted = match base {
        oid::VARCHAR => oid::TEXT,
        base if catalog.is_enum(base) => ANY_ENUM,
        base => base,
    };
    let mut rows = known::named("btree_gist")?.rows(known::Part::Class);
    rows.find(|row| row.number::<Oid>(4) == wanted)
}

fn no_class(view: &View, ty: ColumnType) -> SqlError {
    let shown = view.objects.made_types().catalog().shown(ty.pg.oid).to_string();
    let text =
        format!("data type {shown} has no default operator class for access method \"gist\"");
    let hint = "You must specify an operator class for the index or define a default operator \
                class for the data type.";
    SqlError::new(state::NO_OBJECT, text).hint(hint)
}

/// The OID of the operator class that a part has: the one that is named, or its type's default one.
pub fn class_oid(view: &View, ty: PgType, named: Option<&str>) -> i64 {
    let catalog = view.objects.made_types().catalog();
    let base = catalog.base_type(ty.oid);
    let [network, range, multirange] = OWN_CLASSES;
    match named {
        Some(NETWORK_CLASS) => network,
        _ if catalog.range_element(base).is_some() => range,
        _ if catalog.multirange_range(base).is_some() => multirange,
        _ => scalar_row(view, base).map_or(0, |row| row.number(0)),
    }
}

/// What a class of btree_gist is called, by its OID.
pub fn class_name(view: &View, oid: u32) -> Option<String> {
    let extension = known::named("btree_gist").filter(|of| of.has(oid))?;
    let row = extension.rows(known::Part::Class).find(|row| row.number::<u32>(0) == oid)?;
    let created = extensions::named(view, "btree_gist")?;
    Some(match extensions::is_seen(view, &created.schema) {
        true => row.text(2).to_string(),
        false => format!("{}.{}", quote(&created.schema), row.text(2)),
    })
}

/// The operator classes of btree_gist that an index needs, by their OIDs.
pub fn needed(view: &View, table: &TableSchema, index: &IndexSchema) -> Vec<u32> {
    let storage = Storage::of(&view.objects, oids::of_index(index.id));
    let Some(declared) = storage.declared.filter(|of| of.method == "gist") else {
        return Vec::new();
    };
    let types = Types::of(&view.objects, table);
    let plain = declared.parts.iter().filter(|part| part.class.is_none());
    let own = plain.filter_map(|part| table.position(index.key.get(part.at)?.column));
    let own = own.filter(|at| !is_range(view, types[*at].base.oid));
    let class = |at| Some(scalar_row(view, types[at].base.oid)?.number(0));
    let mut found: Vec<u32> = own.filter_map(class).collect();
    found.sort_unstable();
    found.dedup();
    found
}
