//! Which indexes and foreign keys does a partition have because its table has them?
//!
//! A partitioned table has no rows, and its indexes no entries: what they say is kept by an index of each partition. One that
//! a partition has already is taken for it; otherwise it is made. Foreign keys are the partitions' likewise.

use onlap::{
    Action, ForeignKeySchema, ForeignKeySpec, IndexSchema, IndexSpec, Table, TableChanges,
    TableSchema,
};
use serde_json::json;

use super::super::{naming, storage};
use super::keys::must_cover;
use super::{FROM_ONE, kin_of, name_of, put, tables_below};
use crate::catalog::families::Key;
use crate::catalog::storage::Storage;
use crate::catalog::{Kind, Name, oids};
use crate::error::{Result, SqlError};
use crate::session::Session;
use crate::system::classes::is_constraint;
use crate::view::View;

fn names(schema: &TableSchema, ids: impl Iterator<Item = onlap::ColumnId>) -> Vec<String> {
    let places = ids.filter_map(|id| schema.position(id));
    places.filter_map(|at| schema.columns.get(at)).map(|column| column.name.clone()).collect()
}

fn key_of(schema: &TableSchema, index: &IndexSchema) -> Vec<String> {
    names(schema, index.key.iter().map(|part| part.column))
}

/// An index like that of another table, under a name.
pub fn spec_like(schema: &TableSchema, index: &IndexSchema, name: &str) -> IndexSpec {
    let include = names(schema, index.include.iter().copied());
    let mut spec = IndexSpec::new(name, key_of(schema, index)).include(include).keys(index.keys);
    for part in index.key.iter().filter(|part| part.descending) {
        if let Some(at) = schema.position(part.column) {
            spec = spec.descending(&schema.columns[at].name);
        }
    }
    match index.judged {
        Some(judged) => spec.judged(judged),
        None if index.unique => spec.unique(),
        None => spec,
    }
}

/// Whether an index of one table is as one of another.
pub fn matching(
    view: &View,
    above: (&TableSchema, &IndexSchema),
    own: (&TableSchema, &IndexSchema),
) -> bool {
    let descending = |index: &IndexSchema| -> Vec<bool> {
        index.key.iter().map(|part| part.descending).collect()
    };
    let included = |(schema, index): (&TableSchema, &IndexSchema)| {
        names(schema, index.include.iter().copied())
    };
    // Indexes of partitioned tables are of whole columns and of all rows.
    let calculates = |(schema, index): (&TableSchema, &IndexSchema)| {
        index.filter.is_some() || index.key.iter().any(|part| schema.derived(part.column).is_some())
    };
    if calculates(above) || calculates(own) {
        return false;
    }
    key_of(above.0, above.1) == key_of(own.0, own.1)
        && descending(above.1) == descending(own.1)
        && included(above) == included(own)
        && (above.1.unique, above.1.judged) == (own.1.unique, own.1.judged)
        && (!is_constraint(view, above.1) || is_constraint(view, own.1))
        && (!above.1.primary || own.1.primary)
}

/// Gives a partition what its table has.
///
/// # Errors
/// Rows that do not keep to it; names that are taken.
pub fn complete(session: &mut Session, parent: &Table, child: &Table) -> Result<()> {
    let schema = parent.schema();
    for index in &schema.indexes {
        index_of(session, parent, index, child)?;
    }
    for key in &schema.foreign_keys {
        foreign_of(session, &schema, key, child)?;
    }
    let view = session.view()?;
    refuse_moving(&view, &child_now(&view, child)?.schema())
}

/// Fails where an action of a foreign key would write a column that tables above divide their rows by: the row would stay in a
/// partition that is not its own.
///
/// # Errors
/// `0A000`.
pub fn refuse_moving(view: &View, schema: &TableSchema) -> Result<()> {
    let families = view.objects.families();
    let mut divides: Vec<String> = Vec::new();
    let mut calculates = false;
    for id in families.all_above(schema.id).into_iter().chain([schema.id]) {
        let Some(divided) = families.divided(id) else { continue };
        let tables = view.scope.tx()?.tables();
        let Some(table) = tables.iter().find(|table| table.schema().id == id) else { continue };
        for key in &divided.keys {
            match key {
                Key::Column(column) => {
                    divides.extend(names(&table.schema(), [*column].into_iter()))
                }
                Key::Expr(..) => calculates = true,
            }
        }
    }
    if families.divided(schema.id).is_some() && schema.foreign_keys.iter().any(|key| key.unproven) {
        let text = "cannot add NOT VALID foreign key on partitioned table";
        return Err(SqlError::new("42809", text)
            .detail("This feature is not yet supported on partitioned tables."));
    }
    let sets = |action| matches!(action, Action::SetNull | Action::SetDefault);
    for key in &schema.foreign_keys {
        let updates = sets(key.on_update) || key.on_update == Action::Cascade;
        let mut written = Vec::new();
        if updates || sets(key.on_delete) && key.set_columns.is_empty() {
            written = names(schema, key.columns.iter().copied());
        } else if sets(key.on_delete) {
            written = names(schema, key.set_columns.iter().copied());
        }
        if !written.is_empty() && (calculates || written.iter().any(|name| divides.contains(name)))
        {
            let what = format!(
                "a foreign key whose action sets a column of the partition key (\"{}\")",
                key.name
            );
            return Err(SqlError::unsupported(what));
        }
    }
    Ok(())
}

/// Gives all partitions of a table an index that it has got.
///
/// # Errors
/// As of [`complete`].
pub fn index_below(session: &mut Session, parent: &Table, name: &str) -> Result<()> {
    let view = session.view()?;
    let schema = parent.schema();
    let Some(index) = schema.index_by_name(name) else { return Ok(()) };
    for child in tables_below(&view, schema.id)? {
        index_of(session, parent, index, &child)?;
    }
    Ok(())
}

fn index_of(
    session: &mut Session,
    parent: &Table,
    index: &IndexSchema,
    child: &Table,
) -> Result<()> {
    let (above, own) = (parent.schema(), child.schema());
    // As it is now: the statement may have made others.
    let view = &session.view()?;
    let families = view.objects.families();
    if own.indexes.iter().any(|of| families.index_above(of.id) == Some(index.id)) {
        return Ok(());
    }
    let free = |of: &&IndexSchema| families.index_above(of.id).is_none();
    let is_like = |of: &&IndexSchema| matching(view, (&above, index), (&own, of));
    let found = own.indexes.iter().filter(free).find(is_like);
    let name = match found {
        Some(found) => found.name.clone(),
        None => {
            super::super::index::must_be_unused(view, child, "CREATE INDEX")?;
            make(session, view, (&above, index), child)?
        }
    };
    let own = child_now(view, child)?;
    let schema = own.schema();
    let Some(made) = schema.index_by_name(&name) else {
        return Err(SqlError::defect("an index was made and is not there"));
    };
    let body = json!({ "parent": index.id.0 });
    session.put(Kind::IndexKin, &made.id.0.to_string(), Some(body))?;
    session.catalog_changed()?;
    if found.is_some() {
        // What is below one that was there is its own business, as in PostgreSQL.
        return Ok(());
    }
    for below in tables_below(view, schema.id)? {
        index_of(session, &own, made, &below)?;
    }
    Ok(())
}

fn child_now(view: &View, child: &Table) -> Result<Table> {
    Ok(view.scope.tx()?.table(&child.name())?)
}

/// Makes an index of a partition as its table has one.
fn make(
    session: &mut Session,
    view: &View,
    (above, index): (&TableSchema, &IndexSchema),
    child: &Table,
) -> Result<String> {
    let own = name_of(child);
    let is_taken =
        |name: &str| !matches!(naming::find(view, &Name::new(&own.schema, name)), Ok(None));
    let columns = key_of(above, index);
    let included = names(above, index.include.iter().copied());
    let joined = columns.iter().chain(&included).cloned().collect::<Vec<_>>().join("_");
    let is_key = is_constraint(view, index);
    let name = match (index.is_primary(), is_key) {
        (true, _) => naming::choose(&own.name, "", "pkey", &is_taken),
        (_, true) => naming::choose(&own.name, &columns.join("_"), "key", &is_taken),
        _ => naming::choose(&own.name, &joined, "idx", &is_taken),
    };
    if index.is_primary() && child.schema().indexes.iter().any(IndexSchema::is_primary) {
        let text = format!("multiple primary keys for table \"{}\" are not allowed", own.name);
        return Err(SqlError::new("42P16", text));
    }
    naming::check_free(view, &Name::new(&own.schema, &name))?;
    if let (true, Some(divided)) =
        (index.is_unique(), view.objects.families().divided(child.schema().id))
    {
        let word = if index.is_primary() { "PRIMARY KEY" } else { "UNIQUE" };
        must_cover(&child.schema(), divided, &columns, word)?;
    }
    let made = view.scope.tx()?.create_index(child, spec_like(above, index, &name));
    made.map_err(SqlError::of_rows)?;
    let said = Storage::of(&view.objects, oids::of_index(index.id));
    if let Some(made) = child_now(view, child)?.schema().index_by_name(&name) {
        storage::note(session, oids::of_index(made.id), &said)?;
    }
    if index.primary {
        let changes = TableChanges::new().make_primary(&name);
        view.scope.tx()?.alter_table(child, &changes)?;
    }
    if index.is_primary() && !index.primary {
        let set = |changes: TableChanges, column: &String| changes.set_not_null(column);
        let changes = columns.iter().fold(TableChanges::new(), set);
        view.scope.tx()?.alter_table(child, &changes)?;
    }
    if is_key && !index.is_primary() {
        let schema = child_now(view, child)?.schema();
        if let Some(made) = schema.index_by_name(&name) {
            session.put(Kind::Unique, &made.id.0.to_string(), Some(json!({})))?;
        }
    }
    Ok(name)
}

/// A foreign key of a table, of another that has the same columns.
fn foreign_like(
    view: &View,
    above: &TableSchema,
    key: &ForeignKeySchema,
    name: &str,
) -> Result<ForeignKeySpec> {
    let missing = || SqlError::new("XX001", "the parent of a foreign key is not there");
    let tables = view.scope.tx()?.tables();
    let parent = tables.iter().find(|table| table.schema().id == key.parent).ok_or_else(missing)?;
    let schema = parent.schema();
    let index = schema.indexes.iter().find(|index| index.id == key.parent_index);
    let referred = key_of(&schema, index.ok_or_else(missing)?);
    let columns = names(above, key.columns.iter().copied());
    Ok(ForeignKeySpec::new(name, columns, parent.name())
        .parent_columns(referred)
        .on_delete(key.on_delete)
        .on_update(key.on_update)
        .set_columns(names(above, key.set_columns.iter().copied()))
        .full(key.full)
        .time(key.time)
        .unproven(key.unproven))
}

fn foreign_of(
    session: &mut Session,
    above: &TableSchema,
    key: &ForeignKeySchema,
    child: &Table,
) -> Result<()> {
    let view = &session.view()?;
    let own = child.schema();
    let wanted = names(above, key.columns.iter().copied());
    let is_like = |of: &&ForeignKeySchema| {
        names(&own, of.columns.iter().copied()) == wanted
            && (!of.unproven || key.unproven)
            && (of.parent, of.parent_index) == (key.parent, key.parent_index)
            && (of.on_delete, of.on_update, of.full, of.time)
                == (key.on_delete, key.on_update, key.full, key.time)
            && names(&own, of.set_columns.iter().copied())
                == names(above, key.set_columns.iter().copied())
    };
    let mut kin = kin_of(view, own.id);
    let name = match own.foreign_keys.iter().find(is_like) {
        Some(found) => {
            let mut rule = kin.rule(&found.name);
            if rule.count > 0 {
                return Ok(());
            }
            rule.count = 1;
            kin.rules.insert(found.name.clone(), rule);
            found.name.clone()
        }
        None => {
            let taken: Vec<&str> = own
                .checks
                .iter()
                .map(|check| check.name.as_str())
                .chain(own.foreign_keys.iter().map(|key| key.name.as_str()))
                .chain(own.indexes.iter().map(|index| index.name.as_str()))
                .collect();
            let name = match taken.contains(&key.name.as_str()) {
                false => key.name.clone(),
                true => naming::choose(&name_of(child).name, &wanted.join("_"), "fkey", &|name| {
                    taken.contains(&name)
                }),
            };
            let spec = foreign_like(view, above, key, &name)?;
            view.scope.tx()?.add_foreign_key(child, &spec)?;
            kin.rules.insert(name.clone(), FROM_ONE);
            name
        }
    };
    put(session, own.id, &kin)?;
    let own = child_now(view, child)?;
    let schema = own.schema();
    let Some(made) = schema.foreign_keys.iter().find(|of| of.name == name) else { return Ok(()) };
    for below in tables_below(view, schema.id)? {
        foreign_of(session, &schema, made, &below)?;
    }
    Ok(())
}
