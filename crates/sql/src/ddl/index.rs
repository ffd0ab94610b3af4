//! CREATE INDEX.

use onlap::{ErrorKind, IndexSpec, Judged, KeysKept, LockMode, Table, TableSchema};
use onlap_pg::ast::{CreateIndex, Expr, ExprId, IndexElement, Literal, SortOrder};
use onlap_pg::bind::is_system_column;
use onlap_pg::bound::collation_named;

use super::change::{notice, of_waiting};
use super::columns::collation;
use super::index_parts::{Part, Parts};
use super::{classes, kin, naming, storage};
use crate::catalog::families::Divided;
use crate::catalog::storage::{PartCollation, Storage};
use crate::catalog::{Kind, Name, oids};
use crate::columns::Types;
use crate::error::{Result, SqlError, state};
use crate::progress;
use crate::rights::Action;
use crate::session::Session;
use crate::source::{Source, strings};
use crate::view::View;
use crate::wire::Client;

/// CREATE INDEX.
///
/// # Errors
/// The name is taken; what Onlap does not have; equal keys.
pub fn create(
    session: &mut Session,
    view: &View,
    source: Source<'_>,
    create: &CreateIndex,
    client: &mut dyn Client,
) -> Result<&'static str> {
    let (table_name, table) = view.table_to("create indexes on", &strings(&create.table.name))?;
    view.must_own(Action::Alter, &table_name, naming::Relation::Table)?;
    view.scope.tx()?.await_form(&table)?;
    session.temporary.is_private = view.is_own_temporary(&table_name.schema);
    view.must_create_in(&table_name.schema)?;
    if create.concurrently && session.is_in_block() {
        let text = "CREATE INDEX CONCURRENTLY cannot run inside a transaction block";
        return Err(SqlError::new(state::ACTIVE_TRANSACTION, text));
    }
    let (mut spec, mut columns) = described(view, source, create, &table_name, &table)?;
    let name = match &create.name {
        Some(name) => name.to_string(),
        None => {
            let all: Result<Vec<String>> = create.include.iter().map(included).collect();
            columns.extend(all?);
            number_twins(&mut columns);
            free_name(view, &table_name, &columns)
        }
    };
    if let Err(e) = naming::check_free(view, &Name::new(&table_name.schema, &name)) {
        if create.skip && e.state() == state::DUPLICATE_TABLE {
            notice(client, state::DUPLICATE_TABLE, format!("{}, skipping", e.message()));
            return Ok("CREATE INDEX");
        }
        return Err(e);
    }
    spec = spec.named(&name);
    let storage = storage_of(view, source, (&table_name, &table), create)?;
    must_be_unused(view, &table, "CREATE INDEX")?;
    let _shown = shown(session, &table, create);
    if let Some(divided) = view.objects.families().divided(table.schema().id).cloned() {
        refuse_divided(create)?;
        return on_partitioned(session, view, create, (&table, spec, &name), &divided, &storage);
    }
    tell_method(create, &name, client);
    view.scope.await_tables(std::slice::from_ref(&table), LockMode::Share)?;
    // What is judged by a look at the rows is built by a transaction that has the table alone.
    let alone = create.unique && create.nulls_not_distinct;
    if alone || session.is_in_block() || session.current()?.changed {
        view.scope.tx()?.create_index(&table, spec).map_err(SqlError::of_rows)?;
        session.catalog_changed()?;
        let made = view.scope.tx()?.table(&table.name())?;
        note_storage(session, &made, &name, &storage)?;
    } else {
        session.catalog_changes()?;
        view.scope.tx()?.await_form(&table)?;
        let made = session.instance.db.create_index(&table, spec);
        made.map_err(|e| match e.kind() {
            ErrorKind::Conflict => of_waiting(view, &table, e),
            _ => SqlError::of_rows(e),
        })?;
        let made = session.instance.db.table(&table.name())?;
        note_storage(session, &made, &name, &storage)?;
    }
    Ok("CREATE INDEX")
}

/// What Onlap does not have of an index of a partitioned table.
fn refuse_divided(create: &CreateIndex) -> Result<()> {
    if let Some(method @ ("gin" | "gist")) = create.method.as_deref() {
        let text = format!("an index of {method} of a partitioned table");
        return Err(SqlError::unsupported(text));
    }
    if create.filter.is_some() || create.elements.iter().any(is_expression) {
        return Err(SqlError::unsupported(
            "an index of a partitioned table on an expression or with a predicate",
        ));
    }
    Ok(())
}

/// Lets other sessions see that an index of a table is built.
fn shown(session: &Session, table: &Table, create: &CreateIndex) -> progress::Shown {
    let kind = progress::Kind::Build { concurrently: create.concurrently };
    let work = progress::Work::new(kind, oids::of_table(table.schema().id));
    session.progress().show(&work)
}

/// The name that an index gets that is given none.
pub fn free_name(view: &View, table: &Name, columns: &[String]) -> String {
    let is_taken = |name: &str| {
        let name = Name::new(&table.schema, name);
        !matches!(naming::find(view, &name), Ok(None))
    };
    naming::choose(&table.name, &columns.join("_"), "idx", &is_taken)
}

/// What is kept next to an index: parameters, and parts of its key whose NULLs are declared to stand at the other end than in
/// its keys, where NULL is above all.
fn storage_of(
    view: &View,
    source: Source<'_>,
    (name, table): (&Name, &Table),
    create: &CreateIndex,
) -> Result<Storage> {
    must_have_rows(view, &table.schema(), !create.invisible)?;
    let options = match create.method.as_deref() {
        // A part of the index itself.
        Some("gin") => Vec::new(),
        // What is said of another kind of index means nothing to one of btree.
        Some("brin") => Vec::new(),
        Some("gist") => storage::options(storage::Of::Gist, &create.settings)?,
        _ => storage::options(storage::Of::Index, &create.settings)?,
    };
    let order = order_of(view, source, (name, &table.schema()), create)?;
    let declared = match create.method.as_deref() {
        Some("gist") => Some(super::gist::declared(view, source, create, (name, &table.schema()))?),
        _ => None,
    };
    Ok(Storage { options, invisible: create.invisible, declared, ..order })
}

/// What is kept of the order of an index's key.
///
/// # Errors
/// `42P22`: a part has no collation.
pub fn order_of(
    view: &View,
    source: Source<'_>,
    table: (&Name, &TableSchema),
    create: &CreateIndex,
) -> Result<Storage> {
    let is_swapped = |element: &IndexElement| {
        let descending = element.order == SortOrder::Descending;
        element.nulls_first.is_some_and(|first| first != descending)
    };
    let elements = create.elements.iter().enumerate();
    let nulls = elements.filter(|(_, of)| is_swapped(of)).map(|(at, _)| at).collect();
    let collations = match create.method.as_deref() {
        Some("gin") => Vec::new(),
        _ => collations_of(view, source, table, create)?,
    };
    Ok(Storage { nulls, collations, ..Storage::default() })
}

/// The collations of an index's key that are to be kept.
fn collations_of(
    view: &View,
    source: Source<'_>,
    (name, schema): (&Name, &TableSchema),
    create: &CreateIndex,
) -> Result<Vec<PartCollation>> {
    let types = Types::of(&view.objects, schema);
    let catalog = view.objects.made_types().catalog();
    let parts = Parts::of(view, source, name, schema)?;
    let mut kept = Vec::new();
    for (at, element) in create.elements.iter().enumerate() {
        let said = element.collation.as_ref().and_then(|name| collation_named(name.last()?));
        // The collation that goes without saying, and that of the part itself.
        let (silent, own) = match (&element.column, element.value) {
            (None, Some(value)) => {
                let (ty, own) = parts.collation(value)?;
                (catalog.collation(ty), own)
            }
            (column, _) => {
                let column = column.iter().map(|name| name.to_string()).collect::<String>();
                let Some(column) = schema.position_by_name(&column) else { continue };
                (types.collation(column), types.collation(column))
            }
        };
        if own == 0 && silent != 0 && said.is_none() {
            let text = "could not determine which collation to use for index expression";
            let hint = "Use the COLLATE clause to set the collation explicitly.";
            return Err(SqlError::new("42P22", text).hint(hint));
        }
        let oid = said.unwrap_or(own);
        if oid != silent {
            kept.push(PartCollation { at, oid, said: oid != own });
        }
    }
    Ok(kept)
}

/// ALTER INDEX … VISIBLE and INVISIBLE: whether statements use it.
///
/// # Errors
/// `0A000`: it is that of a primary key, or of a partitioned table.
pub fn show(
    session: &mut Session,
    view: &View,
    (table, index): (&Table, &str),
    visible: bool,
) -> Result<()> {
    let schema = table.schema();
    let Some(of) = schema.index_by_name(index) else { return Ok(()) };
    if of.is_primary() && !visible {
        return Err(SqlError::unsupported("an invisible primary key"));
    }
    must_have_rows(view, &schema, visible)?;
    let before = Storage::of(&view.objects, oids::of_index(of.id));
    if before.invisible != visible {
        return Ok(());
    }
    let after = Storage { invisible: !visible, ..before };
    // Plans of other sessions use it, or do not know it.
    session.catalog_changed()?;
    session.put(Kind::Storage, &oids::of_index(of.id).to_string(), after.body())
}

/// Fails for an invisible index of what has no rows of its own: each partition has another index.
fn must_have_rows(view: &View, schema: &TableSchema, visible: bool) -> Result<()> {
    match !visible && view.objects.families().divided(schema.id).is_some() {
        true => Err(SqlError::unsupported("an invisible index of a partitioned table")),
        false => Ok(()),
    }
}

fn note_storage(
    session: &mut Session,
    table: &Table,
    index: &str,
    storage: &Storage,
) -> Result<()> {
    match table.schema().index_by_name(index) {
        Some(made) => storage::note(session, oids::of_index(made.id), storage),
        None => Ok(()),
    }
}

/// Tells what an index is made as that is another one in PostgreSQL.
fn tell_method(create: &CreateIndex, name: &str, client: &mut dyn Client) {
    let text = match create.method.as_deref() {
        Some("brin") => "is made as one of btree, which answers the same",
        Some("gist") => "is made as one of btree, which serves equality and order alone",
        _ => return,
    };
    notice(client, "00000", format!("index \"{name}\" {text}"));
}

/// Fails where a statement that has called a routine uses a table, or where rules of it are still to be judged.
///
/// # Errors
/// `55006`.
pub fn must_be_unused(view: &View, table: &Table, what: &str) -> Result<()> {
    let because = match () {
        () if view.scope.lent().uses(table.schema().id) => {
            "it is being used by active queries in this session"
        }
        () if view.scope.tx()?.has_due(table) || view.scope.deferred().has(table.schema().id) => {
            "it has pending trigger events"
        }
        () => return Ok(()),
    };
    let name = Name::of_engine(&table.name()).1.name;
    Err(SqlError::new("55006", format!("cannot {what} \"{name}\" because {because}")))
}

/// An index of a partitioned table, and of its partitions.
fn on_partitioned(
    session: &mut Session,
    view: &View,
    create: &CreateIndex,
    (table, spec, name): (&Table, IndexSpec, &str),
    divided: &Divided,
    storage: &Storage,
) -> Result<&'static str> {
    let table_name = Name::of_engine(&table.name()).1;
    if create.concurrently {
        let text = format!(
            "cannot create index on partitioned table \"{}\" concurrently",
            table_name.name
        );
        return Err(SqlError::new(state::UNSUPPORTED, text));
    }
    let schema = table.schema();
    if create.unique {
        let key = create.elements.iter().map(included).collect::<Result<Vec<_>>>()?;
        kin::must_cover(&schema, divided, &key, "UNIQUE")?;
    }
    kin::take(session, view, table)?;
    view.scope.tx()?.create_index(table, spec).map_err(SqlError::of_rows)?;
    session.catalog_changed()?;
    let made = view.scope.tx()?.table(&table.name())?;
    note_storage(session, &made, name, storage)?;
    if !create.table.only {
        let now = view.scope.tx()?.table(&table.name())?;
        kin::index_below(session, &now, name)?;
    }
    Ok("CREATE INDEX")
}

fn is_expression(element: &IndexElement) -> bool {
    element.column.is_none()
}

fn included(element: &IndexElement) -> Result<String> {
    match &element.column {
        Some(column) => Ok(column.to_string()),
        None => {
            let text = "expressions are not supported in included columns";
            Err(SqlError::new(state::UNSUPPORTED, text))
        }
    }
}

/// Gives names that stand before them already a number.
pub fn number_twins(names: &mut [String]) {
    for at in 1..names.len() {
        let mut number = 0;
        let mut name = names[at].clone();
        while names[..at].contains(&name) {
            number += 1;
            name = format!("{}{number}", names[at]);
        }
        names[at] = name;
    }
}

/// Ways of access that PostgreSQL has and Onlap does not.
const MISSING: &[&str] = &["spgist"];

/// What else than btree there is, and whether it has several columns.
const METHODS: &[(&str, bool)] = &[("hash", false), ("brin", true), ("gin", true), ("gist", true)];

/// Columns of an index, as in PostgreSQL.
const KEY_COLUMNS: usize = 32;

/// Fails on what Onlap does not have of an index.
fn refuse(create: &CreateIndex) -> Result<()> {
    if create.elements.len() + create.include.len() > KEY_COLUMNS {
        let text = format!("cannot use more than {KEY_COLUMNS} columns in an index");
        return Err(SqlError::new("54011", text));
    }
    let method = create.method.as_deref().unwrap_or("btree");
    if MISSING.contains(&method) {
        return Err(SqlError::unsupported(format!("access method \"{method}\"")));
    }
    if method != "btree" {
        let Some((_, several)) = METHODS.iter().find(|(known, _)| *known == method) else {
            let text = format!("access method \"{method}\" does not exist");
            return Err(SqlError::new(state::NO_OBJECT, text));
        };
        let what = match () {
            () if create.unique => "unique indexes",
            () if !create.include.is_empty() && method != "gist" => "included columns",
            () if create.elements.len() > 1 && !several => "multicolumn indexes",
            () => "",
        };
        if !what.is_empty() {
            let text = format!("access method \"{method}\" does not support {what}");
            return Err(SqlError::new(state::UNSUPPORTED, text));
        }
    }
    create.elements.iter().try_for_each(|element| refuse_order(create, element))?;
    let calculates = create.filter.is_some() || create.elements.iter().any(is_expression);
    if create.nulls_not_distinct && calculates {
        return Err(SqlError::unsupported(
            "UNIQUE NULLS NOT DISTINCT of an expression or with a predicate",
        ));
    }
    Ok(())
}

/// Fails for an order of what has none in PostgreSQL. Here these are indexes like any other.
fn refuse_order(create: &CreateIndex, element: &IndexElement) -> Result<()> {
    let Some(method @ ("hash" | "brin" | "gist")) = create.method.as_deref() else {
        return Ok(());
    };
    let what = match (&element.order, element.nulls_first) {
        (SortOrder::Default, None) => return Ok(()),
        (SortOrder::Default, Some(_)) => "NULLS FIRST/LAST",
        _ => "ASC/DESC",
    };
    let text = format!("access method \"{method}\" does not support {what} options");
    Err(SqlError::new(state::UNSUPPORTED, text))
}

/// What the engine is asked for, and what the key's columns are called.
///
/// # Errors
/// What Onlap does not have; there are no such columns.
pub fn described(
    view: &View,
    source: Source<'_>,
    create: &CreateIndex,
    name: &Name,
    table: &Table,
) -> Result<(IndexSpec, Vec<String>)> {
    refuse(create)?;
    match create.method.as_deref() {
        Some("gin") => super::gin::described(view, source, create, name, &table.schema()),
        Some("gist") => super::gist::described(view, source, create, name, &table.schema()),
        _ => described_in_order(view, source, create, name, &table.schema()),
    }
}

/// How much of its keys an index is to keep.
fn keys_kept(create: &CreateIndex) -> Result<KeysKept> {
    let kept = storage::keys_of(&create.settings);
    let has_whole = create.unique || create.filter.is_some() || !create.include.is_empty();
    if kept == KeysKept::Short && has_whole {
        let text = "short keys of an index that is unique, partial or has included columns";
        return Err(SqlError::unsupported(text));
    }
    Ok(kept)
}

/// The same of an index whose keys are in an order.
///
/// # Errors
/// As [`described`].
pub fn described_in_order(
    view: &View,
    source: Source<'_>,
    create: &CreateIndex,
    name: &Name,
    schema: &TableSchema,
) -> Result<(IndexSpec, Vec<String>)> {
    let types = Types::of(&view.objects, schema);
    let known = schema.columns.iter().map(|c| c.name.clone()).zip(types.iter().copied());
    let known: Vec<_> = known.collect();
    let parts = Parts::of(view, source, name, schema)?;
    // A condition that is always true is none.
    let is_true =
        |filter: &ExprId| matches!(source.tree.expr(*filter), Expr::Literal(Literal::Bool(true)));
    let filter = create.filter.filter(|filter| !is_true(filter));
    let filter = filter.map(|filter| parts.condition(filter)).transpose()?;
    let part = |element: &IndexElement| match (&element.column, element.value) {
        (None, Some(value)) => parts.expression(value),
        (column, _) => Ok(Part::Column(column.iter().map(|name| name.to_string()).collect())),
    };
    let key = create.elements.iter().map(part).collect::<Result<Vec<_>>>()?;
    let include = create.include.iter().map(included).collect::<Result<Vec<_>>>()?;
    let plain = |part: &Part| match part {
        Part::Column(name) => Some(name.clone()),
        Part::Expression(_) => None,
    };
    let columns: Vec<String> = key.iter().filter_map(plain).collect();
    for column in columns.iter().chain(&include) {
        if schema.position_by_name(column).is_none() {
            if is_system_column(column) {
                return Err(of_system(column));
            }
            let text = format!("column \"{column}\" does not exist");
            return Err(SqlError::new(state::NO_COLUMN, text));
        }
    }
    let method = create.method.as_deref();
    super::keys::must_be_ordered(&known, &columns, method)?;
    let mut spec = IndexSpec::new("", Vec::<String>::new()).include(include);
    if let Some(filter) = filter {
        spec = spec.only_where(filter);
    }
    for (element, part) in create.elements.iter().zip(&key) {
        if let Part::Expression(made) = part {
            super::keys::must_have_order(made.2, method)?;
        }
        let ty = match part {
            Part::Column(column) => known.iter().find(|(own, _)| own == column).map(|of| of.1),
            Part::Expression(made) => Some(made.2),
        };
        let ty = ty.map_or(0, |ty| ty.pg.oid);
        if let Some(name) = &element.collation {
            collation(view.objects.made_types().catalog(), name, ty)?;
        }
        if let Some(class) = &element.class {
            classes::check(view, class, create.method.as_deref().unwrap_or("btree"), ty)?;
        }
        let descending = element.order == SortOrder::Descending;
        spec = spec.part(part.of_engine(), descending);
    }
    spec = spec.keys(keys_kept(create)?);
    // Where keys are not unique, it says nothing.
    let spec = match (create.unique, create.nulls_not_distinct) {
        (true, true) => spec.judged(Judged { nulls_equal: true, ..Judged::default() }),
        (true, false) => spec.unique(),
        (false, _) => spec,
    };
    let names = key.iter().map(|part| part.name().to_string()).collect();
    Ok((spec, names))
}

/// An index by name, with its table.
///
/// # Errors
/// The transaction has ended.
pub fn find(view: &View, parts: &[String]) -> Result<Option<(Table, String)>> {
    let tables = view.tables()?;
    for name in view.candidates(parts)? {
        let found = tables.iter().find(|(table, t)| {
            table.schema == name.schema && t.schema().index_by_name(&name.name).is_some()
        });
        if let Some((_, table)) = found {
            return Ok(Some((table.clone(), name.name)));
        }
    }
    Ok(None)
}

/// A key of a column that every table has without saying so: the numbers of transactions and commands have no order.
fn of_system(column: &str) -> SqlError {
    let ty = match column {
        "xmin" | "xmax" => "xid",
        "cmin" | "cmax" => "cid",
        _ => {
            let text = "index creation on system columns is not supported";
            return SqlError::new(state::UNSUPPORTED, text);
        }
    };
    let text = format!("data type {ty} has no default operator class for access method \"btree\"");
    let hint = "You must specify an operator class for the index or define a default operator \
                class for the data type.";
    SqlError::new("42704", text).hint(hint)
}
