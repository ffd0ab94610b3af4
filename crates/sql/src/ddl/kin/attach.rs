//! ALTER TABLE … INHERIT, NO INHERIT, ATTACH PARTITION, DETACH PARTITION; ALTER INDEX … ATTACH PARTITION.

use std::collections::BTreeMap;

use onlap::{ColumnId, Table, TableSchema};
use onlap_pg::ast::{Detach, PartitionBound, Path};
use onlap_pg::print::Look;
use serde_json::json;

use super::bounds::{check_overlap, judge_default, read, stranger};
use super::columns::{checks_of, is_alone, other_collation};
use super::parts::{complete, matching};
use super::{Parent, all_below, is_below, kin_of, name_of, put, table_to_inherit, take};
use crate::catalog::families::{Inherited, Kin};
use crate::catalog::{Kind, Name};
use crate::columns::Types;
use crate::ddl::checks::same;
use crate::ddl::generated;
use crate::ddl::naming::Relation;
use crate::error::{Result, SqlError, state};
use crate::rights::Action;
use crate::session::Session;
use crate::source::{Source, strings};
use crate::view::View;

fn wrong(text: String) -> SqlError {
    SqlError::new("42809", text)
}

fn mismatch(text: String) -> SqlError {
    SqlError::new(state::MISMATCH, text)
}

/// Fails where a table would stand below itself.
fn refuse_circle(view: &View, parent: &Parent, child: &Parent) -> Result<()> {
    let (above, below) = (parent.table.schema().id, child.table.schema().id);
    if !is_below(view.objects.families(), above, below) {
        return Ok(());
    }
    let detail = format!("\"{}\" is already a child of \"{}\".", parent.name.name, child.name.name);
    Err(SqlError::new(state::DUPLICATE_TABLE, "circular inheritance not allowed").detail(detail))
}

/// What a table has from one that it comes to stand below: all columns and checks must be there.
fn adopt(view: &View, parent: &Parent, child: &Parent, partition: bool) -> Result<Kin> {
    let (above, own) = (parent.table.schema(), child.table.schema());
    let (types, own_types) = (Types::of(&view.objects, &above), Types::of(&view.objects, &own));
    let mut kin = kin_of(view, own.id);
    for (at, column) in above.columns.iter().enumerate() {
        let name = &column.name;
        let Some(place) = own.position_by_name(name) else {
            return Err(mismatch(format!("child table is missing column \"{name}\"")));
        };
        if types[at] != own_types[place] {
            let text = format!(
                "child table \"{}\" has different type for column \"{name}\"",
                child.name.name
            );
            return Err(mismatch(text));
        }
        if types.collation(at) != own_types.collation(place) {
            return Err(other_collation(&child.name.name, name));
        }
        if !column.nullable && own.columns[place].nullable {
            let text = format!("column \"{name}\" in child table must be marked NOT NULL");
            return Err(mismatch(text));
        }
        let id = own.columns[place].id;
        must_be_generated_alike(name, (&above, column.id), (&own, id))?;
        let mut one = kin.column(id);
        one.count += 1;
        // A partition has no column of its own.
        one.local &= !partition;
        kin.columns.insert(id, one);
    }
    for (name, condition) in checks_of(&above) {
        let Some((_, known)) = checks_of(&own).into_iter().find(|(known, _)| *known == name) else {
            if is_alone(&own, &name) {
                let text = format!(
                    "constraint \"{name}\" conflicts with non-inherited constraint on child \
                     table \"{}\"",
                    child.name.name
                );
                return Err(SqlError::new("42P17", text));
            }
            return Err(mismatch(format!("child table is missing constraint \"{name}\"")));
        };
        let unproven = |schema: &onlap::TableSchema| {
            schema.checks.iter().any(|check| check.name == name && check.unproven)
        };
        if unproven(&own) && !unproven(&above) {
            let text = format!(
                "constraint \"{name}\" conflicts with NOT VALID constraint on child table \"{}\"",
                child.name.name
            );
            return Err(SqlError::new("42P17", text));
        }
        if !same(&known, &condition) {
            let text = format!(
                "child table \"{}\" has different definition for check constraint \"{name}\"",
                child.name.name
            );
            return Err(mismatch(text));
        }
        let mut one = kin.rule(&name);
        one.count += 1;
        one.local &= !partition;
        kin.rules.insert(name, one);
    }
    kin.parents.push(above.id);
    Ok(kin)
}

/// Fails where a column is generated above, and not in the same way below.
fn must_be_generated_alike(
    name: &str,
    (above, column): (&TableSchema, ColumnId),
    (own, id): (&TableSchema, ColumnId),
) -> Result<()> {
    let Some(above) = generated::expression(above, column, Look::PLAIN)? else { return Ok(()) };
    match generated::expression(own, id, Look::PLAIN)? {
        None => {
            Err(mismatch(format!("column \"{name}\" in child table must be a generated column")))
        }
        Some(own) if own != above => {
            let text =
                format!("column \"{name}\" in child table has a conflicting generation expression");
            Err(mismatch(text))
        }
        Some(_) => Ok(()),
    }
}

/// INHERIT.
///
/// # Errors
/// The tables do not go together.
pub fn inherit(session: &mut Session, view: &View, child: &Parent, path: &Path) -> Result<()> {
    let families = view.objects.families();
    let own = child.table.schema().id;
    if families.bound(own).is_some() {
        return Err(wrong("cannot change inheritance of a partition".into()));
    }
    if families.divided(own).is_some() {
        return Err(wrong("cannot change inheritance of partitioned table".into()));
    }
    let (name, table) = table_to_inherit(view, path)?;
    let parent = Parent { name, table };
    view.must_own(Action::Alter, &parent.name, Relation::Table)?;
    let id = parent.table.schema().id;
    if parent.name.is_temporary() && !child.name.is_temporary() {
        let text = format!("cannot inherit from temporary relation \"{}\"", parent.name.name);
        return Err(wrong(text));
    }
    if families.divided(id).is_some() {
        let text = format!("cannot inherit from partitioned table \"{}\"", parent.name.name);
        return Err(wrong(text));
    }
    if families.bound(id).is_some() {
        return Err(wrong("cannot inherit from a partition".into()));
    }
    if kin_of(view, own).parents.contains(&id) {
        let text =
            format!("relation \"{}\" would be inherited from more than once", parent.name.name);
        return Err(SqlError::new(state::DUPLICATE_TABLE, text));
    }
    refuse_circle(view, &parent, child)?;
    take(session, view, &parent.table)?;
    take(session, view, &child.table)?;
    crate::ddl::trigger::must_not_prevent(view, &child.table, false)?;
    let kin = adopt(view, &parent, child, false)?;
    put(session, own, &kin)
}

/// NO INHERIT.
///
/// # Errors
/// `42P01`: it does not stand below that table.
pub fn leave(session: &mut Session, view: &View, child: &Parent, path: &Path) -> Result<()> {
    let own = child.table.schema().id;
    if view.objects.families().bound(own).is_some() {
        return Err(wrong("cannot change inheritance of a partition".into()));
    }
    let (name, table) = view.table(&strings(path))?;
    let parent = Parent { name, table };
    let kin = kin_of(view, own);
    if !kin.parents.contains(&parent.table.schema().id) {
        let text = format!(
            "relation \"{}\" is not a parent of relation \"{}\"",
            parent.name.name, child.name.name
        );
        return Err(SqlError::new(state::NO_TABLE, text));
    }
    take(session, view, &parent.table)?;
    take(session, view, &child.table)?;
    let kin = left(kin, &parent, child);
    put(session, own, &kin)
}

/// What is left of a table's kin without one above.
fn left(mut kin: Kin, parent: &Parent, child: &Parent) -> Kin {
    let (above, own) = (parent.table.schema(), child.table.schema());
    kin.parents.retain(|id| *id != above.id);
    for column in &above.columns {
        if let Some(at) = own.position_by_name(&column.name) {
            lessen(&mut kin.columns, own.columns[at].id);
        }
    }
    for (name, _) in checks_of(&above) {
        lessen_rule(&mut kin.rules, &name);
    }
    kin
}

fn lessened(one: &mut Inherited) -> bool {
    one.count = one.count.saturating_sub(1);
    one.local |= one.count == 0;
    one.count == 0
}

fn lessen(columns: &mut BTreeMap<ColumnId, Inherited>, id: ColumnId) {
    if columns.get_mut(&id).is_some_and(lessened) {
        columns.remove(&id);
    }
}

fn lessen_rule(rules: &mut BTreeMap<String, Inherited>, name: &str) {
    if rules.get_mut(name).is_some_and(lessened) {
        rules.remove(name);
    }
}

/// ATTACH PARTITION.
///
/// # Errors
/// The tables do not go together; another partition has such rows; rows that are none of the partition's.
pub fn attach(
    session: &mut Session,
    view: &View,
    source: Source<'_>,
    parent: &Parent,
    path: &Path,
    said: &PartitionBound,
) -> Result<()> {
    if view.scope.tx()?.isolation() != onlap::Isolation::ReadCommitted {
        // Rows that came after the transaction's snapshot would not be judged.
        return Err(SqlError::unsupported(
            "ATTACH PARTITION in a transaction that keeps its snapshot",
        )
        .hint("Use READ COMMITTED."));
    }
    let families = view.objects.families();
    let id = parent.table.schema().id;
    if families.divided(id).is_none() {
        let text = format!("table \"{}\" is not partitioned", parent.name.name);
        return Err(SqlError::new("42P17", text));
    }
    let (name, table) = view.table_to("attach", &strings(path))?;
    let child = Parent { name, table };
    view.must_own(Action::Alter, &child.name, Relation::Table)?;
    refuse_attach(view, parent, &child)?;
    let bound = read(view, source, said, parent, &child.name.name)?;
    take(session, view, &parent.table)?;
    take(session, view, &child.table)?;
    for below in all_below(view, child.table.schema().id)? {
        take(session, view, &below)?;
    }
    take_default(session, view, parent)?;
    refuse_more_columns(&parent.table.schema(), &child)?;
    crate::ddl::trigger::must_not_prevent(view, &child.table, true)?;
    let mut kin = adopt(view, parent, &child, true)?;
    check_overlap(view, parent, &bound, &child.name.name)?;
    kin.bound = Some(bound);
    put(session, child.table.schema().id, &kin)?;
    let now = session.view()?;
    if let Some(table) = stranger(&now, &child.table)? {
        let name = name_of(&table);
        let text =
            format!("partition constraint of relation \"{}\" is violated by some row", name.name);
        return Err(SqlError::new("23514", text).about_table(&name.schema, &name.name));
    }
    judge_default(&now, parent, false)?;
    complete(session, &parent.table, &child.table)?;
    crate::ddl::trigger::must_go_together(&session.view()?, child.table.schema().id)
}

/// Keeps others from writing to a table's default partition: its rows are judged.
///
/// # Errors
/// As of [`take`].
pub fn take_default(session: &mut Session, view: &View, parent: &Parent) -> Result<()> {
    let handle = crate::plan::TableHandle::new(view, parent.table.clone());
    let Some(division) = crate::query::family::division(view, &handle)? else { return Ok(()) };
    let Some(default) = division.default() else { return Ok(()) };
    let tables = crate::query::family::by_id(view)?;
    let Some(table) = tables.get(&default) else { return Ok(()) };
    take(session, view, table)?;
    all_below(view, default)?.iter().try_for_each(|table| take(session, view, table))
}

fn refuse_attach(view: &View, parent: &Parent, child: &Parent) -> Result<()> {
    let families = view.objects.families();
    let own = child.table.schema().id;
    if families.bound(own).is_some() {
        return Err(wrong(format!("\"{}\" is already a partition", child.name.name)));
    }
    if !kin_of(view, own).parents.is_empty() {
        return Err(wrong("cannot attach inheritance child as partition".into()));
    }
    if !families.below(own).is_empty() && families.divided(own).is_none() {
        return Err(wrong("cannot attach inheritance parent as partition".into()));
    }
    refuse_circle(view, parent, child)?;
    let kind = |is_temporary| if is_temporary { "temporary" } else { "permanent" };
    let (above, below) = (parent.name.is_temporary(), child.name.is_temporary());
    if above != below {
        let text = format!(
            "cannot attach a {} relation as partition of {} relation \"{}\"",
            kind(below),
            kind(above),
            parent.name.name
        );
        return Err(wrong(text));
    }
    Ok(())
}

fn refuse_more_columns(above: &TableSchema, child: &Parent) -> Result<()> {
    let schema = child.table.schema();
    let more = schema.columns.iter().find(|c| above.position_by_name(&c.name).is_none());
    let Some(column) = more else { return Ok(()) };
    let text = format!(
        "table \"{}\" contains column \"{}\" not found in parent \"{}\"",
        child.name.name,
        column.name,
        crate::rights::ask::shown(above)
    );
    let detail = "The new partition may contain only the columns present in parent.";
    Err(mismatch(text).detail(detail))
}

/// DETACH PARTITION.
///
/// # Errors
/// It is none of the table's partitions; `0A000`.
pub fn detach(
    session: &mut Session,
    view: &View,
    parent: &Parent,
    path: &Path,
    how: Detach,
) -> Result<()> {
    let families = view.objects.families();
    let id = parent.table.schema().id;
    if families.divided(id).is_none() {
        let text = format!("table \"{}\" is not partitioned", parent.name.name);
        return Err(SqlError::new("42P17", text));
    }
    if how == Detach::Concurrently && session.is_in_block() {
        let text = "ALTER TABLE ... DETACH CONCURRENTLY cannot run inside a transaction block";
        return Err(SqlError::new(state::ACTIVE_TRANSACTION, text));
    }
    let (name, table) = view.table(&strings(path))?;
    let child = Parent { name, table };
    let schema = child.table.schema();
    let kin = kin_of(view, schema.id);
    if !kin.parents.contains(&id) {
        let text = format!(
            "relation \"{}\" is not a partition of relation \"{}\"",
            child.name.name, parent.name.name
        );
        return Err(SqlError::new(state::NO_TABLE, text));
    }
    match how {
        Detach::Plain => {}
        Detach::Finalize => {
            let text = format!("cannot complete detaching partition \"{}\"", child.name.name);
            let detail = "There's no pending concurrent detach.";
            return Err(SqlError::new("55000", text).detail(detail));
        }
        Detach::Concurrently => {
            return Err(SqlError::unsupported("DETACH PARTITION … CONCURRENTLY").hint(
                "Without the word it waits for those who write to the table, and lets others read.",
            ));
        }
    }
    take(session, view, &parent.table)?;
    take(session, view, &child.table)?;
    let mut kin = left(kin, parent, &child);
    kin.bound = None;
    // Its foreign keys are its own from now on.
    for key in &schema.foreign_keys {
        lessen_rule(&mut kin.rules, &key.name);
    }
    put(session, schema.id, &kin)?;
    for index in &schema.indexes {
        if families.index_above(index.id).is_some() {
            session.put(Kind::IndexKin, &index.id.0.to_string(), None)?;
        }
    }
    Ok(())
}

/// ALTER INDEX … ATTACH PARTITION.
///
/// # Errors
/// The indexes do not go together.
pub fn attach_index(
    session: &mut Session,
    view: &View,
    above: (&Table, &str),
    path: &Path,
) -> Result<()> {
    let parts = strings(path);
    let Some((child, found)) = crate::ddl::index::find(view, &parts)? else {
        return Err(crate::view::no_table(&parts));
    };
    let (own, schema) = (child.schema(), above.0.schema());
    let own_name = Name::new(&name_of(&child).schema, &found);
    view.must_own(Action::Alter, &own_name, Relation::Index)?;
    let families = view.objects.families();
    let (Some(index), Some(parent)) = (own.index_by_name(&found), schema.index_by_name(above.1))
    else {
        return Err(SqlError::concurrent_update());
    };
    if families.index_above(index.id) == Some(parent.id) {
        return Ok(());
    }
    let refuse = |state: &'static str, detail: String| {
        let text =
            format!("cannot attach index \"{found}\" as a partition of index \"{}\"", above.1);
        Err(SqlError::new(state, text).detail(detail))
    };
    if families.index_above(index.id).is_some() {
        return refuse("55000", format!("Index \"{found}\" is already attached to another index."));
    }
    if families.above(own.id) != Some(schema.id) {
        let detail = format!(
            "Index \"{found}\" is not an index on any partition of table \"{}\".",
            name_of(above.0).name
        );
        return refuse("55000", detail);
    }
    if own.indexes.iter().any(|of| families.index_above(of.id) == Some(parent.id)) {
        let detail = format!(
            "Another index is already attached for partition \"{}\".",
            name_of(&child).name
        );
        return refuse("55000", detail);
    }
    if !matching(view, (&schema, parent), (&own, index)) {
        return refuse("42P17", "The index definitions do not match.".into());
    }
    take(session, view, above.0)?;
    take(session, view, &child)?;
    let body = json!({ "parent": parent.id.0 });
    session.put(Kind::IndexKin, &index.id.0.to_string(), Some(body))
}
