//! What do the catalogs say of relations: their columns, indexes, constraints, defaults?

use std::collections::HashSet;

use onlap::{Action, ColumnSchema, IndexSchema, TableSchema, Time};
use onlap_kernels::gin::Class;
use onlap_pg::print::Look;
use onlap_pg::{Oid, TypeRef};

use super::model::{Model, Relation, What};
use super::rows::{Datum, Rows};
use super::sight::Sight;
use super::{
    depends, extensions, functions, grants, made_types, monitored, policies, row_types, rules,
    text, triggers,
};
use crate::catalog::extensions::PLPGSQL;
use crate::catalog::families::Inherited;
use crate::catalog::policies::Security;
use crate::catalog::storage::{DeclaredPart, Storage};
use crate::catalog::view_options::Options as ViewOptions;
use crate::catalog::{Kind, oids, rules as kept};
use crate::columns::Types;
use crate::ddl::view::ViewColumn;
use crate::error::Result;
use crate::formulas::{self, Program, Shown};
use crate::query::{Printed, Reader, catalogs};
use crate::row;
use crate::types::{PgType, oid};
use crate::view::View;

/// OID of pg_class.
pub const PG_CLASS: u32 = 1259;
/// OID of pg_attrdef, where the same column names a default.
pub(super) const PG_ATTRDEF: u32 = 2604;
/// pg_rewrite
pub(super) const PG_REWRITE: u32 = 2618;
/// OID of pg_constraint.
pub const PG_CONSTRAINT: u32 = 2606;
/// OID of pg_namespace.
pub const PG_NAMESPACE: u32 = 2615;
/// OID of the access method btree.
const BTREE: u32 = 403;
/// OID of the access method gin.
const GIN: u32 = 2742;
const GIST: u32 = 783;
const HASH: u32 = 405;

/// The rows of a table of this module.
///
/// # Errors
/// The transaction has ended.
pub fn rows(view: &View, table: &str) -> Result<Option<Rows>> {
    let make = match table {
        "pg_class" => classes,
        "pg_attribute" => attributes,
        "pg_attrdef" => defaults,
        "pg_index" => indexes,
        "pg_constraint" => constraints,
        "pg_inherits" => super::partitions::inherits,
        "pg_partitioned_table" => super::partitions::partitioned,
        "pg_sequence" => sequences,
        "pg_depend" => depends::rows,
        "pg_description" => descriptions,
        "pg_rewrite" => rewrites,
        "pg_init_privs" => super::grants::initial,
        "pg_enum" => row_types::labels,
        "pg_trigger" => triggers::triggers,
        "pg_policy" => policies::policies,
        _ => return Ok(None),
    };
    Ok(Some(make(view, &Model::of(view)?)))
}

/// The OID of a relation's owner.
pub fn owner_of(view: &View, relation: &Relation) -> u32 {
    match relation.what {
        What::Composite(_, owner, _) => owner,
        _ => view.judge.rights().owner(Sight::place(relation).1),
    }
}

/// The columns of a view, as they were when it was made: what it reads keeps their types.
fn view_described(view: &View, oid: u32) -> Vec<ViewColumn> {
    let mut views = view.objects.of_kind(Kind::View);
    let found = views.find(|(_, object)| oids::of_object(object.number) == oid);
    found.map_or_else(Vec::new, |(_, object)| ViewColumn::all(&object.body))
}

/// The columns of a view: name and type.
pub fn view_columns(view: &View, oid: u32) -> Vec<(String, PgType)> {
    let columns = view_described(view, oid).into_iter();
    columns.map(|column| (column.name, column.ty)).collect()
}

/// The places of an index's columns in its table, in the order in which they were declared.
fn places<'a>(
    table: &'a TableSchema,
    index: &'a IndexSchema,
    storage: &Storage,
) -> impl Iterator<Item = usize> + 'a {
    let key = storage.order(index.key.len()).into_iter().map(|at| index.key[at].column);
    key.chain(index.include.iter().copied()).filter_map(|id| table.position(id))
}

/// The collations of a relation's columns, where those are not their types'.
pub fn own_collations(view: &View, relation: &Relation) -> Vec<Option<Oid>> {
    let of_table = |table: &TableSchema| {
        let types = Types::of(&view.objects, table);
        move |at: usize| types.own_collation(at)
    };
    match &relation.what {
        What::Table(table) => (0..table.columns.len()).map(of_table(table)).collect(),
        What::Index(table, at) => {
            let index = &table.indexes[*at];
            let storage = Storage::of(&view.objects, oids::of_index(index.id));
            let kept = |part: usize| storage.collation(part).map(|part| part.oid);
            let of_column = of_table(table);
            let order = storage.order(index.key.len());
            let place = |at: usize| order.get(at).copied().unwrap_or(at);
            let parts = places(table, index, &storage).enumerate();
            parts.map(|(part, at)| kept(place(part)).or_else(|| of_column(at))).collect()
        }
        What::View => {
            let columns = view_described(view, relation.oid).into_iter();
            columns.map(|column| column.collation).collect()
        }
        What::Composite(oid, ..) => {
            let of = view.objects.made_types().composite(*oid);
            let own = |(name, _): &(String, PgType)| of?.collations.get(name).copied();
            of.map_or_else(Vec::new, |of| of.fields.iter().map(own).collect())
        }
        What::System(definition) => {
            let own = |ty: &TypeRef| Some(catalogs::collation(*ty, definition.is_view));
            definition.types.iter().map(own).collect()
        }
        What::Sequence(_) => Vec::new(),
    }
}

/// The columns of a relation: name and type.
pub fn columns(view: &View, relation: &Relation) -> Vec<(String, PgType)> {
    match &relation.what {
        What::Table(table) => {
            let types = Types::of(&view.objects, table);
            let names = table.columns.iter().map(|c| c.name.clone());
            names.zip(types.iter().map(|ty| ty.pg)).collect()
        }
        What::Index(table, at) => {
            let index = &table.indexes[*at];
            let types = Types::of(&view.objects, table);
            let name = |at: usize| match at.checked_sub(table.columns.len()) {
                None => table.columns[at].name.clone(),
                Some(at) => formulas::program_of(&table.derived[at])
                    .map_or_else(|_| "expr".to_string(), |program| program.name),
            };
            let storage = Storage::of(&view.objects, oids::of_index(index.id));
            let class = text::gin(table, index).and_then(|of| of.gin).map(|gin| gin.class);
            let stored = |ty: PgType| class.map_or(ty, |class| stored_of(class, ty));
            let (mut names, types): (Vec<String>, Vec<PgType>) =
                places(table, index, &storage).map(|at| (name(at), stored(types[at].pg))).unzip();
            crate::ddl::number_twins(&mut names);
            names.into_iter().zip(types).collect()
        }
        What::Sequence(_) => vec![
            ("last_value".into(), PgType::new(oid::INT8)),
            ("log_cnt".into(), PgType::new(oid::INT8)),
            ("is_called".into(), PgType::new(oid::BOOL)),
        ],
        What::View => view_columns(view, relation.oid),
        What::Composite(_, _, fields) => fields.clone(),
        What::System(definition) => {
            definition.columns.iter().map(|(name, ty)| ((*name).to_string(), *ty)).collect()
        }
    }
}

/// What WITH says of a relation.
fn options_of(view: &View, relation: &Relation) -> Datum {
    if matches!(relation.what, What::View) {
        return view_options(view, relation.oid);
    }
    let options = Storage::of(&view.objects, relation.oid).options;
    if !options.is_empty() {
        return Datum::Texts(options);
    }
    let gin = relation.index().and_then(|(table, index)| text::gin(table, index)?.gin);
    match gin.map(|gin| gin.options).filter(|options| !options.is_empty()) {
        Some(all) => {
            Datum::Texts(all.iter().map(|(name, value)| format!("{name}={value}")).collect())
        }
        None => Datum::Null,
    }
}

fn view_options(view: &View, oid: u32) -> Datum {
    let mut views = view.objects.of_kind(Kind::View);
    let Some((_, object)) = views.find(|(_, object)| oids::of_object(object.number) == oid) else {
        return Datum::Null;
    };
    let options = ViewOptions::kept(&object.body).texts();
    if options.is_empty() { Datum::Null } else { Datum::Texts(options) }
}

/// The type of the keys that PostgreSQL's index of gin has of values of a type.
fn stored_of(class: Class, ty: PgType) -> PgType {
    let catalog = crate::query::catalog();
    match class {
        Class::Arrays => PgType {
            oid: catalog.element(catalog.base_type(ty.oid)).unwrap_or(ty.oid),
            modifier: ty.modifier,
        },
        Class::Documents | Class::Words => PgType::new(oid::TEXT),
        Class::Paths | Class::Trigrams => PgType::new(oid::INT4),
    }
}

fn classes(view: &View, model: &Model) -> Rows {
    let mut rows = Rows::of(
        "oid relname relnamespace reltype reloftype relowner relam relfilenode reltablespace \
         relpages reltuples relallvisible reltoastrelid relhasindex relisshared relpersistence \
         relkind relnatts relchecks relhasrules relhastriggers relhassubclass relrowsecurity \
         relforcerowsecurity relispopulated relreplident relispartition relrewrite relfrozenxid \
         relminmxid relacl relpartbound reloptions",
    );
    let tables = model.relations.iter().filter_map(Relation::table);
    let parents: HashSet<_> =
        tables.flat_map(|t| t.foreign_keys.iter().map(|k| k.parent)).collect();
    let families = view.objects.families();
    let above: HashSet<_> = families.indexes().map(|(_, above)| above).collect();
    for relation in &model.relations {
        let kind = relation.kind();
        let (natts, checks, indexed, keys) = match relation.table() {
            Some(t) => {
                (last_number(t), t.checks.len(), !t.indexes.is_empty(), t.foreign_keys.len())
            }
            None => (columns(view, relation).len() as u32, 0, false, 0),
        };
        // PostgreSQL keeps foreign keys by triggers at both ends, and psql asks for those.
        let named = relation.table().is_some_and(|t| parents.contains(&t.id));
        let method = match kind {
            "r" | "m" => 2,
            "i" | "I" if relation.index().is_some_and(|(_, index)| index.multi_entry) => GIN,
            "i" | "I" => match text::method_of(&Storage::of(&view.objects, relation.oid)) {
                "gist" => GIST,
                "hash" => HASH,
                _ => BTREE,
            },
            _ => 0,
        };
        let security = Security::of(&view.objects, relation.oid);
        let has_rules = matches!(kind, "v" | "m") || kept::has_any(&view.objects, relation.oid);
        let (below, is_partition) = match (relation.table(), relation.index()) {
            (Some(table), _) => {
                (!families.below(table.id).is_empty(), families.bound(table.id).is_some())
            }
            (_, Some((_, index))) => {
                (above.contains(&index.id), families.index_above(index.id).is_some())
            }
            _ => (false, false),
        };
        rows.push(row![
            relation.oid,
            &relation.name.name,
            model.schema_oid(&relation.name.schema),
            row_types::shown_of(relation),
            0,
            owner_of(view, relation),
            method,
            if matches!(kind, "v" | "c" | "p" | "I") { 0 } else { relation.oid },
            0,
            0,
            -1.0,
            0,
            0,
            indexed,
            false,
            if relation.name.is_temporary() { "t" } else { "p" },
            kind,
            natts,
            checks,
            has_rules,
            keys > 0 || named || crate::catalog::triggers::has_any(&view.objects, relation.oid),
            below,
            security.enabled,
            security.forced,
            view.judge.rights().materialized(relation.oid) != Some(false),
            if matches!(kind, "r" | "p" | "m") { "d" } else { "n" },
            is_partition,
            0,
            frozen(kind),
            frozen(kind),
            Datum::from(grants::shown_of(view, relation)),
            relation.table().and_then(|table| super::partitions::bound(view, model, table)),
            options_of(view, relation),
        ]);
    }
    rows
}

/// relfrozenxid and relminmxid: relations that have rows of their own are frozen up to now.
fn frozen(kind: &str) -> String {
    match kind {
        "r" | "m" | "t" => monitored::frozen().to_string(),
        _ => "0".to_string(),
    }
}

/// The type's collation in pg_collation; 0 where it has none.
pub fn collation_of(view: &View, ty: PgType) -> u32 {
    view.objects.made_types().catalog().collation(ty.oid)
}

/// What is known of a column beside its name and type.
#[derive(Default)]
struct More {
    collation: Option<Oid>,
    not_null: bool,
    has_default: bool,
    identity: &'static str,
    generated: bool,
    acl: Datum,
    /// How it came from tables above.
    came: Option<Inherited>,
}

/// The row of pg_attribute of a column, by the relation's OID and the number.
fn attribute(view: &View, place: (u32, u32), name: String, ty: PgType, more: More) -> Vec<Datum> {
    let made = view.objects.made_types().catalog();
    let size = match ty.oid < oids::FIRST_OWN {
        true => ty.size(),
        false => made.get_type(ty.oid).map_or(-1, |ty| ty.length),
    };
    let is_array = made.element(ty.oid).is_some();
    let align = match size {
        1 => "c",
        2 => "s",
        8 | 16 => "d",
        _ if made.is_composite(ty.oid) => "d",
        // Ranges of what has eight bytes, their multiranges and arrays.
        _ if matches!(ty.oid, 3908..=3911 | 3926 | 3927 | 4533 | 4534 | 4536) => "d",
        _ if matches!(ty.oid, 6152 | 6153 | 6157) => "d",
        _ => "i",
    };
    let storage = match made.base_type(ty.oid) {
        oid::NUMERIC => "m",
        _ if size > 0 => "p",
        _ => "x",
    };
    let mut row = row![place.0, name, ty.oid, -1, i32::from(size), place.1, i32::from(is_array)];
    row.extend(row![-1, ty.modifier, (1..=8).contains(&size), align, storage, "", more.not_null]);
    let (local, count) = more.came.map_or((true, 0), |came| (came.local, came.count));
    let generated = if more.generated { "s" } else { "" };
    row.extend(row![more.has_default, false, more.identity, generated, false, local, count]);
    row.extend(row![more.collation.unwrap_or_else(|| collation_of(view, ty)), more.acl]);
    row
}

fn attributes(view: &View, model: &Model) -> Rows {
    let mut rows = Rows::of(
        "attrelid attname atttypid attstattarget attlen attnum attndims attcacheoff atttypmod \
         attbyval attalign attstorage attcompression attnotnull atthasdef atthasmissing \
         attidentity attgenerated attisdropped attislocal attinhcount attcollation attacl",
    );
    let families = view.objects.families();
    for relation in &model.relations {
        let collations = own_collations(view, relation);
        for (i, (name, ty)) in columns(view, relation).into_iter().enumerate() {
            let table = relation.table();
            let column = table.map(|t| &t.columns[i]);
            let number = column.map_or(i as u32 + 1, |c| c.id.0 + 1);
            let has_default = match (table, column) {
                (Some(table), Some(column)) => text::default(view, model, table, column).is_some(),
                _ => false,
            };
            let known = table.zip(column).and_then(|(t, c)| identity(view, t, c));
            let identity = match known {
                Some(true) => "a",
                Some(false) => "d",
                None => "",
            };
            let more = More {
                collation: collations.get(i).copied().flatten(),
                not_null: column.is_some_and(|c| !c.nullable),
                has_default,
                identity,
                generated: table.zip(column).is_some_and(|(t, c)| t.generated(c.id).is_some()),
                acl: grants::shown_of_column(view, relation, number).into(),
                came: table.zip(column).and_then(|(t, c)| Some(families.kin(t.id)?.column(c.id))),
            };
            rows.push(attribute(view, (relation.oid, number), name, ty, more));
        }
        if let Some(table) = relation.table() {
            dropped(table).for_each(|number| rows.push(dropped_attribute(relation.oid, number)));
        }
    }
    rows
}

/// The number of a table's last column.
fn last_number(table: &TableSchema) -> u32 {
    table.columns.iter().map(|column| column.id.0 + 1).max().unwrap_or(0)
}

/// Numbers of columns that a table had: those that are left keep theirs.
fn dropped(table: &TableSchema) -> impl Iterator<Item = u32> {
    let is_there = |number: u32| table.columns.iter().any(|column| column.id.0 + 1 == number);
    (1..last_number(table)).filter(move |number| !is_there(*number))
}

/// The row that PostgreSQL keeps of a dropped column, so that numbers have no gaps, which pg_dump counts on.
fn dropped_attribute(table: u32, number: u32) -> Vec<Datum> {
    let name = format!("........pg.dropped.{number}........");
    let mut row = row![table, name, 0, 0, -1, number, 0, -1, -1, false, "i", "x", "", false];
    row.extend(row![false, false, "", "", true, true, 0, 0, Datum::Null]);
    row
}

/// Tables of the engine.
pub(super) fn tables(model: &Model) -> impl Iterator<Item = (&Relation, &TableSchema)> {
    model.relations.iter().filter_map(|r| r.table().map(|t| (r, t.as_ref())))
}

pub(super) fn number(table: &TableSchema, id: onlap::ColumnId) -> i64 {
    // Numbers of columns never change, unlike their places.
    let own = table.columns.iter().any(|column| column.id == id);
    if own { i64::from(id.0) + 1 } else { 0 }
}

fn defaults(view: &View, model: &Model) -> Rows {
    let mut rows = Rows::of("oid adrelid adnum adbin");
    let printed = Printed::new(view, model);
    for (relation, table) in tables(model) {
        for column in &table.columns {
            if let Some(sql) = printed.default(table, column) {
                let oid = oids::of_part(table.id, "default", &column.name);
                rows.push(row![oid, relation.oid, number(table, column.id), sql]);
            }
        }
    }
    rows
}

/// The operator class of btree that orders a type, by the numbers of rows of `pg_opclass`.
pub fn operator_class(ty: PgType) -> i64 {
    match ty.oid {
        oid::BOOL => 10003,
        oid::INT2 => 1979,
        oid::INT4 => 1978,
        oid::INT8 => 3124,
        oid::OID => 1981,
        oid::FLOAT4 => 10012,
        oid::FLOAT8 => 3123,
        oid::NUMERIC => 3125,
        oid::BPCHAR => 10004,
        oid::BYTEA => 10006,
        oid::UUID => 10065,
        oid::DATE => 3122,
        oid::TIME => 10038,
        oid::TIMETZ => 10041,
        oid::TIMESTAMP => 3128,
        oid::TIMESTAMPTZ => 3127,
        oid::INTERVAL => 10022,
        // inet, macaddr and macaddr8.
        869 => 10015,
        829 => 10024,
        774 => 10026,
        oid::BIT => 10002,
        oid::VARBIT => 10043,
        oid::NAME => 10028,
        oid::CHAR => 10007,
        // money, pg_lsn.
        790 => 10047,
        3220 => 10067,
        oid::JSONB => 10088,
        oid if crate::query::catalog().range_element(oid).is_some() => 10076,
        oid if crate::query::catalog().element(oid).is_some() => 10000,
        oid => extensions::class_of(oid).unwrap_or(3126),
    }
}

fn indexes(view: &View, model: &Model) -> Rows {
    let mut rows = Rows::of(
        "indexrelid indrelid indnatts indnkeyatts indisunique indnullsnotdistinct indisprimary \
         indisexclusion indimmediate indisclustered indisvalid indcheckxmin indisready indislive \
         indisreplident indkey indcollation indclass indoption indexprs indpred",
    );
    let (catalog, reader) = (formulas::catalog_of(view), Reader::new(view));
    let shown = Shown { catalog: &catalog, reader: Some(&reader) };
    for relation in &model.relations {
        let Some((table, index)) = relation.index() else { continue };
        let storage = Storage::of(&view.objects, relation.oid);
        let order = storage.order(index.key.len());
        let parts: Vec<onlap::KeyPart> = order.iter().map(|at| index.key[*at]).collect();
        let ids: Vec<_> =
            parts.iter().map(|k| k.column).chain(index.include.iter().copied()).collect();
        let keys: Vec<usize> = parts.iter().filter_map(|k| table.position(k.column)).collect();
        let all = Types::of(&view.objects, table);
        let types: Vec<_> = keys.iter().map(|at| all[*at].pg).collect();
        rows.push(row![
            relation.oid,
            oids::of_table(table.id),
            ids.len(),
            index.key.len(),
            index.is_unique(),
            index.nulls_equal(),
            index.is_primary(),
            index.excludes().is_some(),
            index.time() == Time::Statement,
            false,
            index.ready && super::partitions::is_valid(view, model, table, index),
            false,
            true,
            true,
            false,
            ids.iter().map(|id| number(table, whole_of(table, *id))).collect::<Vec<_>>(),
            collations_of(&all, (&keys, &order), &storage),
            match text::gin(table, index).and_then(|of| of.gin) {
                Some(gin) => vec![i64::from(gin.class.oid())],
                None => classes_of(view, &types, &storage),
            },
            order_flags(&parts, (&order, &storage)),
            expressions(table, index, &parts, shown),
            index.filter.and_then(|id| text::derived(table, id, Look::PLAIN, shown)),
        ]);
    }
    rows
}

/// The collation of each part of an index's key.
fn collations_of(all: &Types, (keys, order): (&[usize], &[usize]), storage: &Storage) -> Vec<i64> {
    let own = |(part, at): (&usize, &usize)| {
        let kept = storage.collation(*part).map(|part| part.oid);
        i64::from(kept.unwrap_or_else(|| all.collation(*at)))
    };
    order.iter().zip(keys).map(own).collect()
}

/// The operator class of each part of an index's key that has an order.
fn classes_of(view: &View, types: &[PgType], storage: &Storage) -> Vec<i64> {
    let method = text::method_of(storage);
    let named = storage.declared.iter().flat_map(|of| &of.parts).map(|part| part.class.as_deref());
    let mut named = named.collect::<Vec<_>>().into_iter();
    let class = |ty: &PgType| {
        let named = named.next().flatten();
        match method {
            "gist" => crate::ddl::gist_class(view, *ty, named),
            _ => operator_class(*ty),
        }
    };
    types.iter().map(class).collect()
}

/// What an index says of the order of each part: 1 descending, 2 NULL first.
fn order_flags(parts: &[onlap::KeyPart], (order, storage): (&[usize], &Storage)) -> Vec<i64> {
    let flags = |(at, part): (&usize, &onlap::KeyPart)| {
        let nulls_first = storage.nulls_first(*at, part.descending) && method_sorts(storage);
        i64::from(part.descending) + 2 * i64::from(nulls_first)
    };
    order.iter().zip(parts).map(flags).collect()
}

/// Whether PostgreSQL's index of this kind has an order.
fn method_sorts(storage: &Storage) -> bool {
    text::method_of(storage) == "btree"
}

/// What a part of a key is to PostgreSQL: a column where an index has the keys, or the span, of one.
fn whole_of(table: &TableSchema, id: onlap::ColumnId) -> onlap::ColumnId {
    let program = table.derived(id).and_then(|of| formulas::program_of(of).ok());
    match program.filter(is_whole) {
        Some(program) => onlap::ColumnId(program.columns[0].0),
        None => id,
    }
}

fn is_whole(program: &Program) -> bool {
    program.span.is_some_and(|span| span.whole) || program.gin.as_ref().is_some_and(|gin| gin.whole)
}

/// What an index calculates for its key, as a list.
fn expressions(
    table: &TableSchema,
    index: &onlap::IndexSchema,
    parts: &[onlap::KeyPart],
    shown: Shown<'_>,
) -> Option<String> {
    let calculated = parts.iter().filter(|part| whole_of(table, part.column) == part.column);
    let derived = calculated.filter_map(|k| text::derived(table, k.column, Look::PLAIN, shown));
    let all: Vec<String> = derived.collect();
    debug_assert!(parts.len() == index.key.len(), "each part is declared once");
    (!all.is_empty()).then(|| all.join(", "))
}

/// Whether an index stands for a constraint: primary keys, and unique ones that were not made by
/// CREATE INDEX.
pub fn is_constraint(view: &View, index: &onlap::IndexSchema) -> bool {
    index.is_primary() || view.objects.get(Kind::Unique, &index.id.0.to_string()).is_some()
}

fn action(action: Action) -> &'static str {
    match action {
        Action::NoAction => "a",
        Action::Restrict => "r",
        Action::Cascade => "c",
        Action::SetNull => "n",
        Action::SetDefault => "d",
    }
}

/// What pg_constraint says of a constraint beside its name and kind.
struct Said {
    index: u32,
    /// The parent, and its columns.
    parent: (u32, Option<Vec<i64>>),
    /// On update, on delete, and how it matches.
    acts: (&'static str, &'static str, &'static str),
    keys: Vec<i64>,
    bin: Option<String>,
    time: Time,
    proven: bool,
    set: Option<Vec<i64>>,
    /// Of an exclusion constraint.
    operators: Option<Vec<i64>>,
}

impl Default for Said {
    fn default() -> Said {
        Said {
            index: 0,
            parent: (0, None),
            acts: (" ", " ", " "),
            keys: Vec::new(),
            bin: None,
            time: Time::Statement,
            proven: true,
            set: None,
            operators: None,
        }
    }
}

fn constraints(view: &View, model: &Model) -> Rows {
    let mut rows = Rows::of(
        "oid conname connamespace contype condeferrable condeferred convalidated conrelid contypid \
         conindid conparentid confrelid confupdtype confdeltype confmatchtype conislocal \
         coninhcount connoinherit conkey confkey confdelsetcols conexclop conbin",
    );
    let printed = Printed::new(view, model);
    for (relation, table) in tables(model) {
        let schema = model.schema_oid(&relation.name.schema);
        let mut push = |oid: u32, name: &str, kind: &str, said: Said| {
            let Said { index, parent, acts, keys, bin, time, proven, set, operators } = said;
            let (update, delete, matching) = acts;
            let (parent, parent_keys) = parent;
            let came = came_of(view, model, table, name, kind);
            rows.push(row![
                oid,
                name,
                schema,
                kind,
                time != Time::Statement,
                time == Time::Deferred,
                proven,
                relation.oid,
                0,
                index,
                came.above,
                parent,
                update,
                delete,
                matching,
                came.local,
                came.count,
                came.stays,
                (kind != "t").then_some(keys),
                parent_keys,
                set,
                operators,
                bin,
            ]);
        };
        for index in table.indexes.iter().filter(|index| is_constraint(view, index)) {
            let kind = match index.excludes() {
                Some(_) => "x",
                None if index.is_primary() => "p",
                None => "u",
            };
            let (oid, index_oid) = (oids::of_index_constraint(index.id), oids::of_index(index.id));
            let storage = Storage::of(&view.objects, index_oid);
            let places = storage.order(index.key.len()).into_iter();
            let ids = places.map(|at| whole_of(table, index.key[at].column));
            let keys = ids.map(|id| number(table, id)).collect();
            let name = super::model::index_name(table, index);
            let operator = |part: &DeclaredPart| i64::from(part.operator);
            let declared = storage.declared.filter(|_| index.excludes().is_some());
            let operators = declared.map(|of| of.parts.iter().map(operator).collect());
            let said =
                Said { index: index_oid, keys, time: index.time(), operators, ..Said::default() };
            push(oid, &name, kind, said);
        }
        for key in &table.foreign_keys {
            let parent_oid = oids::of_table(key.parent);
            let parent = model.relation(parent_oid).and_then(Relation::table);
            let index = parent.and_then(|p| p.indexes.iter().find(|i| i.id == key.parent_index));
            let parent_keys = match (parent, index) {
                (Some(p), Some(i)) => i.key.iter().map(|k| number(p, k.column)).collect(),
                _ => Vec::new(),
            };
            let keys = key.columns.iter().map(|id| number(table, *id)).collect();
            let oid = oids::of_part(table.id, "foreign key", &key.name);
            let matching = if key.full { "f" } else { "s" };
            let acts = (action(key.on_update), action(key.on_delete), matching);
            let index = oids::of_index(key.parent_index);
            let parent = (parent_oid, Some(parent_keys));
            let set = key.set_columns.iter().map(|id| number(table, *id)).collect();
            let set = Some(set).filter(|set: &Vec<i64>| !set.is_empty());
            let (time, proven) = (key.time, !key.unproven);
            let said = Said { index, parent, acts, keys, time, proven, set, ..Said::default() };
            push(oid, &key.name, "f", said);
        }
        for check in &table.checks {
            let oid = oids::of_part(table.id, "check", &check.name);
            let bin = printed.condition(table, &check.expr, Look::PLAIN);
            let mut keys = Vec::new();
            columns_in(table, &check.expr, &mut keys);
            let (bin, proven) = (Some(bin), !check.unproven);
            push(oid, &check.name, "c", Said { keys, bin, proven, ..Said::default() });
        }
        for (oid, name, time) in of_triggers(view, relation.oid) {
            push(oid, &name, "t", Said { time, ..Said::default() });
        }
    }
    made_types::constraints(view, model, &mut rows);
    rows
}

/// The constraints that triggers of a table are: their OIDs and names, and when they are judged.
fn of_triggers(view: &View, relation: u32) -> Vec<(u32, String, Time)> {
    let all = crate::catalog::triggers::of_relation(&view.objects, relation).into_iter();
    let constraint = |trigger: crate::catalog::triggers::Trigger| {
        let constraint = trigger.constraint.as_ref()?;
        let time = match (constraint.deferrable, constraint.deferred) {
            (false, _) => Time::Statement,
            (true, false) => Time::Deferrable,
            (true, true) => Time::Deferred,
        };
        Some((super::triggers::constraint_oid(&trigger), constraint.name.clone(), time))
    };
    all.filter_map(constraint).collect()
}

/// How a constraint came to a table.
struct Came {
    /// The constraint of the table above that it belongs to; 0 for none.
    above: u32,
    local: bool,
    count: u32,
    /// Whether tables below do not get it.
    stays: bool,
}

fn came_of(view: &View, model: &Model, table: &TableSchema, name: &str, kind: &str) -> Came {
    let families = view.objects.families();
    let kin = families.kin(table.id);
    if matches!(kind, "p" | "u") {
        let index = table.indexes.iter().find(|i| super::model::index_name(table, i) == name);
        let above = index.and_then(|index| families.index_above(index.id));
        // An index above may be no constraint.
        let of_above = families.above(table.id).map(oids::of_table);
        let of_above = of_above.and_then(|oid| model.relation(oid)).and_then(Relation::table);
        let above = above.filter(|above| {
            let found = of_above.and_then(|of| of.indexes.iter().find(|i| i.id == *above));
            found.is_none_or(|index| is_constraint(view, index))
        });
        return Came {
            above: above.map_or(0, oids::of_index_constraint),
            local: above.is_none(),
            count: u32::from(above.is_some()),
            stays: above.is_none(),
        };
    }
    let rule = kin.map_or(Inherited { count: 0, local: true }, |kin| kin.rule(name));
    let stays = match kind {
        "c" => table.checks.iter().any(|check| check.name == name && check.own),
        _ => families.divided(table.id).is_none() && rule.count == 0,
    };
    let above = match kind {
        "f" if rule.count > 0 => foreign_above(view, model, table, name),
        _ => 0,
    };
    Came { above, local: rule.local, count: rule.count, stays }
}

/// The foreign key of the partitioned table above that one belongs to.
fn foreign_above(view: &View, model: &Model, table: &TableSchema, name: &str) -> u32 {
    let Some(above) = view.objects.families().above(table.id) else { return 0 };
    let of = |table: &TableSchema, key: &onlap::ForeignKeySchema| -> Vec<String> {
        let places = key.columns.iter().filter_map(|id| table.position(*id));
        places.map(|at| table.columns[at].name.clone()).collect()
    };
    let own = table.foreign_keys.iter().find(|key| key.name == name);
    let above = model.relation(oids::of_table(above)).and_then(Relation::table);
    let found = own.zip(above).and_then(|(own, above)| {
        let is_it = |key: &&onlap::ForeignKeySchema| {
            key.parent_index == own.parent_index && of(above, key) == of(table, own)
        };
        above.foreign_keys.iter().find(is_it).map(|key| (above.id, key.name.clone()))
    });
    found.map_or(0, |(id, name)| oids::of_part(id, "foreign key", &name))
}

fn columns_in(table: &TableSchema, expr: &onlap::Expr, found: &mut Vec<i64>) {
    let read = match expr {
        onlap::Expr::Column(id) => std::slice::from_ref(id),
        onlap::Expr::Formula(_, reads) => reads,
        _ => &[],
    };
    for id in read {
        let number = number(table, *id);
        if !found.contains(&number) {
            found.push(number);
        }
    }
    expr.children().for_each(|part| columns_in(table, part, found));
}

fn sequences(_: &View, model: &Model) -> Rows {
    let mut rows =
        Rows::of("seqrelid seqtypid seqstart seqincrement seqmax seqmin seqcache seqcycle");
    for relation in &model.relations {
        let What::Sequence(s) = &relation.what else { continue };
        rows.push(row![
            relation.oid,
            sequence_type(s.max),
            s.start,
            s.increment,
            s.max,
            s.min,
            s.cache.max(1),
            s.cycle,
        ]);
    }
    rows
}

/// The type of a sequence's values: the engine keeps the limits alone.
pub fn sequence_type(max: i64) -> u32 {
    match max {
        m if m == i64::from(i16::MAX) => oid::INT2,
        m if m == i64::from(i32::MAX) => oid::INT4,
        _ => oid::INT8,
    }
}

/// Sequences that belong to a column: OIDs of sequence and table, the column's number, and whether the
/// column is an identity.
pub fn owned_sequences(view: &View, model: &Model) -> Vec<(u32, u32, i64, bool)> {
    let mut owned = Vec::new();
    for relation in &model.relations {
        let What::Sequence(sequence) = &relation.what else { continue };
        let Some(object) = view.objects.get(Kind::Owned, &sequence.name) else { continue };
        let id = |word: &str| object.body[word].as_u64().unwrap_or(0) as u32;
        let (table, column) = (onlap::TableId(id("table")), id("column"));
        let key = format!("{}:{column}", table.0);
        let identity = view.objects.get(Kind::Identity, &key).is_some();
        owned.push((relation.oid, oids::of_table(table), i64::from(column) + 1, identity));
    }
    owned
}

/// attidentity of a column.
pub fn identity(view: &View, table: &TableSchema, column: &ColumnSchema) -> Option<bool> {
    let object = view.objects.get(Kind::Identity, &format!("{}:{}", table.id.0, column.id.0));
    object.map(|object| object.body["always"].as_bool().unwrap_or(false))
}

/// The OID of the rule that is a view's query.
pub(super) fn rule_of(relation: &Relation) -> u32 {
    relation.oid + 1
}

fn descriptions(view: &View, model: &Model) -> Rows {
    let mut rows = Rows::of("objoid classoid objsubid description");
    for (name, object) in view.objects.of_kind(Kind::Comment) {
        let Some((oid, column)) = name.split_once(':') else { continue };
        let (Ok(oid), Ok(column)) = (oid.parse::<u32>(), column.parse::<i64>()) else { continue };
        let class = match model.relation(oid) {
            Some(_) => PG_CLASS,
            None if model.schemas.iter().any(|s| s.0 == oid) => PG_NAMESPACE,
            None if view.objects.functions().by_oid(oid).is_some() => functions::PG_PROC,
            None if crate::catalog::triggers::all(&view.objects).any(|t| t.oid == oid) => {
                triggers::PG_TRIGGER
            }
            None if crate::catalog::policies::all(&view.objects).any(|p| p.oid() == oid) => {
                policies::PG_POLICY
            }
            None if extensions::is_one(view, oid) => extensions::PG_EXTENSION,
            None => PG_CONSTRAINT,
        };
        rows.push(row![oid, class, column, object.body["text"].as_str()]);
    }
    if let Some(text) = extensions::own_comment(view) {
        rows.push(row![PLPGSQL, extensions::PG_EXTENSION, 0, text]);
    }
    rows
}

fn rewrites(view: &View, model: &Model) -> Rows {
    let mut rows = Rows::of("oid rulename ev_class ev_type ev_enabled is_instead");
    for relation in model.relations.iter().filter(|r| matches!(r.kind(), "v" | "m")) {
        rows.push(row![rule_of(relation), "_RETURN", relation.oid, "1", "O", true]);
    }
    rules::rewrites(view, model, &mut rows);
    rows
}
