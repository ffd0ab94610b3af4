//! Where would actions of foreign keys change rows of partitions that triggers should see?
//!
//! What stands above a partition in the tree, and below a partitioned table, has the same rows, and each partition a foreign key
//! of its own: an action would be a statement for each of them, where PostgreSQL has one of the whole table. So triggers and
//! such foreign keys do not go together there.

use onlap::{Action, ForeignKeySchema, TableId, TableSchema};

use super::inherited;
use crate::catalog::triggers::{self as kept, Trigger};
use crate::catalog::{Name, oids};
use crate::error::{Result, SqlError};
use crate::query::family::by_id;
use crate::view::View;

/// Whether the action of a foreign key changes rows that a trigger should see.
fn hides((deleted, updated): (Action, Action), trigger: &Trigger) -> bool {
    let sets = |action| matches!(action, Action::SetNull | Action::SetDefault);
    let deletes = deleted == Action::Cascade;
    let updates = sets(deleted) || sets(updated) || updated == Action::Cascade;
    trigger.delete && deletes || trigger.update && updates
}

fn actions(key: &ForeignKeySchema) -> (Action, Action) {
    (key.on_delete, key.on_update)
}

/// A table with those that it has rows in common with, as parts of one partitioned table.
pub(super) fn kin(view: &View, table: TableId) -> Vec<TableId> {
    let families = view.objects.families();
    let is_divided = |id: &TableId| families.divided(*id).is_some();
    let mut all = vec![table];
    all.extend(families.all_above(table).into_iter().filter(is_divided));
    if is_divided(&table) {
        all.extend(families.all_below(table));
    }
    all
}

pub(super) fn triggers_of(view: &View, table: TableId) -> Vec<Trigger> {
    kept::of_relation(&view.objects, oids::of_table(table))
}

/// Fails where actions of foreign keys would change rows of partitions without the trigger.
///
/// # Errors
/// `0A000`
pub fn must_be_told(view: &View, table: &TableSchema, trigger: &Trigger) -> Result<()> {
    let kin = kin(view, table.id);
    if kin.len() == 1 {
        return Ok(());
    }
    let tables = by_id(view)?;
    let mut schemas = kin.iter().filter_map(|id| tables.get(id)).map(onlap::Table::schema);
    let hidden = schemas.any(|schema| {
        let mut keys = schema.foreign_keys.iter();
        keys.any(|key| hides(actions(key), trigger))
    });
    match hidden {
        true => Err(SqlError::unsupported(
            "a trigger for rows of partitions that an action of a foreign key changes or deletes",
        )),
        false => Ok(()),
    }
}

/// Fails where the action of a new foreign key would change rows of partitions that triggers should see.
///
/// # Errors
/// `0A000`
pub fn must_see(view: &View, table: &Name, actions: (Action, Action)) -> Result<()> {
    let Ok(table) = view.scope.tx()?.table(&table.engine(&view.database)) else { return Ok(()) };
    let kin = kin(view, table.schema().id);
    let is_alone = kin.len() == 1;
    let mut own = kin.into_iter().filter(|_| !is_alone).flat_map(|id| triggers_of(view, id));
    match own.any(|trigger| hides(actions, &trigger)) {
        true => Err(SqlError::unsupported(
            "an action of a foreign key that changes or deletes rows of partitions that have triggers",
        )),
        false => Ok(()),
    }
}

/// Fails where a table that has become a partition, or one below it, and those above it do not go together.
///
/// # Errors
/// `0A000`; `42710`: two triggers have one name.
pub fn must_go_together(view: &View, partition: TableId) -> Result<()> {
    if view.objects.of_kind(crate::catalog::Kind::Trigger).next().is_none() {
        return Ok(());
    }
    let tables = by_id(view)?;
    for id in kin(view, partition) {
        let Some(schema) = tables.get(&id).map(onlap::Table::schema) else { continue };
        for trigger in triggers_of(view, id) {
            must_be_told(view, &schema, &trigger)?;
            inherited::must_be_new(view, id, &trigger)?;
        }
    }
    Ok(())
}
