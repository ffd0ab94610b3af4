//! Which row triggers does a partition have from the partitioned tables above it?
//!
//! In PostgreSQL a row trigger of a partitioned table is made for each partition, too; here it is one, which fires for the rows of all.
//! So two of one name would both fire for a row, and none can be set for some of the tables alone.

use onlap::TableId;

use super::hidden::{kin, triggers_of};
use crate::catalog::Name;
use crate::catalog::triggers::Trigger;
use crate::error::{Result, SqlError, state};
use crate::query::family::by_id;
use crate::view::View;

fn is_of_rows(view: &View, table: TableId, name: &str) -> bool {
    triggers_of(view, table).iter().any(|trigger| trigger.row && trigger.name == name)
}

fn taken(view: &View, table: TableId, name: &str) -> Result<()> {
    let tables = by_id(view)?;
    let shown = tables.get(&table).map(|table| Name::of_engine(&table.name()).1.name);
    let shown = shown.unwrap_or_default();
    let text = format!("trigger \"{name}\" for relation \"{shown}\" already exists");
    Err(SqlError::new(state::DUPLICATE_OBJECT, text))
}

/// Fails where a row trigger of this name would be there twice for rows of a partition: that of a partitioned table is one of its
/// partitions, too.
///
/// # Errors
/// `42710`
pub fn must_be_single(view: &View, table: TableId, name: &str) -> Result<()> {
    let above = view.objects.families().all_above(table);
    let mut others = kin(view, table).into_iter().skip(1);
    match others.find(|other| is_of_rows(view, *other, name)) {
        Some(other) => taken(view, if above.contains(&other) { table } else { other }, name),
        None => Ok(()),
    }
}

/// Fails where row triggers would be set to fire, or not to, for some of the tables alone of which they are: for a partitioned table
/// without its partitions, or for a partition without those above it. `name` is `None` where all triggers are set.
///
/// # Errors
/// `0A000`
pub fn must_reach_all(view: &View, table: TableId, name: Option<&str>, only: bool) -> Result<()> {
    let families = view.objects.families();
    let is_set = |trigger: &Trigger| trigger.row && name.is_none_or(|name| trigger.name == name);
    let has = |table: TableId| triggers_of(view, table).iter().any(is_set);
    if only && families.divided(table).is_some() && has(table) {
        return Err(SqlError::unsupported("ALTER TABLE ONLY … TRIGGER of a partitioned table"));
    }
    let is_of_others = name.is_none() && families.all_above(table).into_iter().any(has);
    match is_of_others {
        true => Err(SqlError::unsupported(
            "ALTER TABLE … TRIGGER ALL of a partition whose partitioned table has row triggers",
        )),
        false => Ok(()),
    }
}

/// Fails where a trigger of a partition has the name of one of a partitioned table above it.
///
/// # Errors
/// `42710`
pub fn must_be_new(view: &View, table: TableId, trigger: &Trigger) -> Result<()> {
    let mut above = view.objects.families().all_above(table).into_iter();
    match trigger.row && above.any(|above| is_of_rows(view, above, &trigger.name)) {
        true => taken(view, table, &trigger.name),
        false => Ok(()),
    }
}
