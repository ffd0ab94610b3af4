//! CREATE INDEX.

use onlap::{IndexSpec, Judged, Table};
use onlap_pg::ast::{CreateIndex, IndexElement, SortOrder};

use super::change::notice;
use super::columns::collation;
use super::{kin, naming};
use crate::catalog::Name;
use crate::catalog::families::Divided;
use crate::columns::Types;
use crate::error::{Result, SqlError, state};
use crate::rights::Action;
use crate::session::Session;
use crate::source::strings;
use crate::view::View;
use crate::wire::Client;

/// CREATE INDEX.
///
/// # Errors
/// The name is taken; what Onlap does not have; equal keys.
pub fn create(
    session: &mut Session,
    view: &View,
    create: &CreateIndex,
    client: &mut dyn Client,
) -> Result<&'static str> {
    let (table_name, table) = view.table_to("create indexes on", &strings(&create.table.name))?;
    view.must_own(Action::Alter, &table_name, naming::Relation::Table)?;
    session.temporary.is_private = view.is_own_temporary(&table_name.schema);
    view.must_create_in(&table_name.schema)?;
    if create.concurrently && session.is_in_block() {
        let text = "CREATE INDEX CONCURRENTLY cannot run inside a transaction block";
        return Err(SqlError::new(state::ACTIVE_TRANSACTION, text));
    }
    let mut spec = described(view, create, &table)?;
    let name = match &create.name {
        Some(name) => name.to_string(),
        None => {
            let is_taken = |name: &str| {
                let name = Name::new(&table_name.schema, name);
                !matches!(naming::find(view, &name), Ok(None))
            };
            let all = create.elements.iter().chain(&create.include);
            let columns = all.map(column_of).collect::<Result<Vec<_>>>()?;
            naming::choose(&table_name.name, &columns.join("_"), "idx", &is_taken)
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
    must_have_nothing_due(view, &table, "CREATE INDEX")?;
    let families = view.objects.families();
    if let Some(divided) = families.divided(table.schema().id).cloned() {
        return on_partitioned(session, view, create, (&table, spec, &name), &divided);
    }
    // What is judged by a look at the rows is built by a transaction that has the table alone.
    let alone = create.unique && create.nulls_not_distinct;
    if alone || session.is_in_block() || session.current()?.changed {
        view.scope.tx()?.create_index(&table, spec).map_err(SqlError::of_rows)?;
        session.catalog_changed()?;
    } else {
        session.catalog_changes()?;
        let made = session.instance.db.create_index(&table.name(), spec);
        made.map_err(SqlError::of_rows)?;
    }
    Ok("CREATE INDEX")
}

/// Fails where rules of a table are still to be judged.
///
/// # Errors
/// `55006`.
pub fn must_have_nothing_due(view: &View, table: &Table, what: &str) -> Result<()> {
    match view.scope.tx()?.has_due(table) {
        true => {
            let name = Name::of_engine(&table.name()).1.name;
            let text = format!("cannot {what} \"{name}\" because it has pending trigger events");
            Err(SqlError::new("55006", text))
        }
        false => Ok(()),
    }
}

/// An index of a partitioned table, and of its partitions.
fn on_partitioned(
    session: &mut Session,
    view: &View,
    create: &CreateIndex,
    (table, spec, name): (&Table, IndexSpec, &str),
    divided: &Divided,
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
        let key = create.elements.iter().map(column_of).collect::<Result<Vec<_>>>()?;
        kin::must_cover(&schema, divided, &key, "UNIQUE")?;
    }
    kin::take(session, view, table)?;
    view.scope.tx()?.create_index(table, spec).map_err(SqlError::of_rows)?;
    session.catalog_changed()?;
    if !create.table.only {
        let now = view.scope.tx()?.table(&table.name())?;
        kin::index_below(session, &now, name)?;
    }
    Ok("CREATE INDEX")
}

fn column_of(element: &IndexElement) -> Result<String> {
    match &element.column {
        Some(column) => Ok(column.to_string()),
        None => Err(SqlError::unsupported("an index on an expression")
            .hint("Keep the value in a column of its own.")),
    }
}

/// Ways of access that PostgreSQL has and Onlap does not.
const METHODS: &[&str] = &["gin", "gist", "spgist", "brin"];

/// Fails on what Onlap does not have of an index.
fn refuse(create: &CreateIndex) -> Result<()> {
    match create.method.as_deref() {
        // What PostgreSQL's hash index answers, ours do.
        None | Some("btree" | "hash") => {}
        Some(method) if METHODS.contains(&method) => {
            return Err(SqlError::unsupported(format!("access method \"{method}\"")));
        }
        Some(method) => {
            let text = format!("access method \"{method}\" does not exist");
            return Err(SqlError::new(state::NO_OBJECT, text));
        }
    }
    if create.filter.is_some() {
        return Err(SqlError::unsupported("a partial index"));
    }
    Ok(())
}

fn described(view: &View, create: &CreateIndex, table: &Table) -> Result<IndexSpec> {
    refuse(create)?;
    let schema = table.schema();
    let types = Types::of(&view.objects, &schema);
    let known = schema.columns.iter().map(|c| c.name.clone()).zip(types.iter().copied());
    let known: Vec<_> = known.collect();
    let columns = create.elements.iter().map(column_of).collect::<Result<Vec<_>>>()?;
    let include = create.include.iter().map(column_of).collect::<Result<Vec<_>>>()?;
    for column in columns.iter().chain(&include) {
        if schema.position_by_name(column).is_none() {
            let text = format!("column \"{column}\" does not exist");
            return Err(SqlError::new(state::NO_COLUMN, text));
        }
    }
    super::keys::must_be_ordered(&known, &columns)?;
    let mut spec = IndexSpec::new("", columns.clone()).include(include);
    for (element, column) in create.elements.iter().zip(&columns) {
        if let Some(name) = &element.collation {
            collation(name)?;
        }
        if let Some(class) = &element.class
            && class.last().is_none_or(|name| !name.ends_with("_ops"))
        {
            let text = format!(
                "operator class \"{}\" does not exist for access method \"btree\"",
                class.join(".")
            );
            return Err(SqlError::new(state::NO_OBJECT, text));
        }
        let descending = element.order == SortOrder::Descending;
        if descending {
            spec = spec.descending(column);
        }
        // NULL is above all: last where the order rises, first where it falls.
        if element.nulls_first.is_some_and(|first| first != descending) {
            return Err(SqlError::unsupported("this place of NULL in an index")
                .hint("NULLS LAST goes with ASC, NULLS FIRST with DESC."));
        }
    }
    // Where keys are not unique, it says nothing.
    Ok(match (create.unique, create.nulls_not_distinct) {
        (true, true) => spec.judged(Judged { nulls_equal: true, ..Judged::default() }),
        (true, false) => spec.unique(),
        (false, _) => spec,
    })
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
