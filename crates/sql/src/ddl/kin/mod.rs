//! How does a table come to stand below others, and what does it get from them?
//!
//! Every table of a family is a table of the engine. What CREATE TABLE … INHERITS, PARTITION OF and ALTER TABLE … INHERIT,
//! ATTACH and DETACH make are rows of the SQL catalog ([`crate::catalog::families`]), beside the columns, checks, indexes and
//! foreign keys that the table gets of its own.
//!
//! A statement that changes what stands below a table takes that table alone first ([`take`]), as for a change of its columns: who
//! writes to it by its name waits, and finds its tables anew.

mod attach;
mod bounds;
mod columns;
mod keys;
mod parts;
mod recurse;
mod refusals;

use onlap::{Table, TableChanges, TableId};
use onlap_pg::ast::{Path, TableChange};

use crate::catalog::families::{Families, Inherited, Kin};
use crate::catalog::{Kind, Name};
use crate::error::{Result, SqlError, state};
use crate::query::family::by_id;
use crate::rights::Action;
use crate::session::Session;
use crate::source::strings;
use crate::view::View;

pub use attach::{attach_index, take_default};
pub use bounds::{check_overlap, judge_default, read as read_bound};
pub use columns::Merged;
pub use keys::{divided, must_cover, prepare as prepare_keys};
pub use parts::{complete, index_below, refuse_moving};
pub use recurse::{below_alter, below_index};
pub use refusals::{divides_by, no_exclusion};

use super::naming::Relation;

/// A table above another.
pub struct Parent {
    /// Its name.
    pub name: Name,
    /// The table.
    pub table: Table,
}

impl Parent {
    /// The same table as a statement sees it now.
    fn now(&self, view: &View) -> Result<Parent> {
        let table = view.scope.tx()?.table(&self.table.name())?;
        Ok(Parent { name: self.name.clone(), table })
    }
}

/// Keeps others from changing a table, and what stands above and below it, until the end of the transaction.
///
/// # Errors
/// `40001`: another transaction did since the statement began; those of waits for locks.
pub fn take(session: &mut Session, view: &View, table: &Table) -> Result<()> {
    view.scope.tx()?.alter_table(table, &TableChanges::new())?;
    session.catalog_changed()?;
    let newest = view.instance.newest_objects().with(&session.current()?.pending);
    let (now, then, id) = (newest.families(), view.objects.families(), table.schema().id);
    let same = now.below(id) == then.below(id)
        && now.kin(id) == then.kin(id)
        && now.divided(id) == then.divided(id);
    if same { Ok(()) } else { Err(super::change::anew(view)) }
}

/// Notes what a table has from those above it.
///
/// # Errors
/// Those of the engine.
pub fn put(session: &mut Session, table: TableId, kin: &Kin) -> Result<()> {
    session.put(Kind::Kin, &table.0.to_string(), kin.body())
}

/// What is known of a table's kin.
pub fn kin_of(view: &View, table: TableId) -> Kin {
    view.objects.families().kin(table).cloned().unwrap_or_default()
}

/// The tables right below one.
///
/// # Errors
/// The transaction has ended.
pub fn tables_below(view: &View, table: TableId) -> Result<Vec<Table>> {
    let below = view.objects.families().below(table).to_vec();
    if below.is_empty() {
        return Ok(Vec::new());
    }
    let all = by_id(view)?;
    Ok(below.iter().filter_map(|id| all.get(id).cloned()).collect())
}

/// All tables below one, a level after the other.
///
/// # Errors
/// The transaction has ended.
pub fn all_below(view: &View, table: TableId) -> Result<Vec<Table>> {
    let below = view.objects.families().all_below(table);
    if below.is_empty() {
        return Ok(Vec::new());
    }
    let all = by_id(view)?;
    Ok(below.iter().filter_map(|id| all.get(id).cloned()).collect())
}

/// The name of a table in its database.
pub fn name_of(table: &Table) -> Name {
    Name::of_engine(&table.name()).1
}

/// The tables that INHERITS names.
///
/// # Errors
/// There is none; it is no table to inherit from; the role does not own it.
pub fn parents(view: &View, child: &Name, paths: &[Path]) -> Result<Vec<Parent>> {
    let mut made: Vec<Parent> = Vec::with_capacity(paths.len());
    for path in paths {
        let (name, table) = table_to_inherit(view, path)?;
        let families = view.objects.families();
        let id = table.schema().id;
        let wrong = |text: String| Err(SqlError::new("42809", text));
        if families.divided(id).is_some() {
            return wrong(format!("cannot inherit from partitioned table \"{}\"", name.name));
        }
        if families.bound(id).is_some() {
            return wrong(format!("cannot inherit from partition \"{}\"", name.name));
        }
        must_last(child, &name)?;
        view.must_own(Action::Alter, &name, Relation::Table)?;
        if made.iter().any(|parent| parent.name == name) {
            let text = format!("relation \"{}\" would be inherited from more than once", name.name);
            return Err(SqlError::new(state::DUPLICATE_TABLE, text));
        }
        made.push(Parent { name, table });
    }
    Ok(made)
}

fn table_to_inherit(view: &View, path: &Path) -> Result<(Name, Table)> {
    match view.table_to("inherit from", &strings(path)) {
        Err(e) if e.state() == "42809" => {
            let name = path.last().map_or("", |name| name);
            let text = format!("inherited relation \"{name}\" is not a table or foreign table");
            Err(SqlError::new("42809", text))
        }
        Ok((name, table)) if super::materialized::is(view, &table) => {
            let text =
                format!("inherited relation \"{}\" is not a table or foreign table", name.name);
            Err(SqlError::new("42809", text))
        }
        found => found,
    }
}

/// Fails where a table that stays would stand below one that does not.
fn must_last(child: &Name, parent: &Name) -> Result<()> {
    if parent.is_temporary() && !child.is_temporary() {
        let text = format!("cannot inherit from temporary relation \"{}\"", parent.name);
        return Err(SqlError::new("42809", text));
    }
    Ok(())
}

/// The table that PARTITION OF names.
///
/// # Errors
/// There is none; it is not partitioned; the role does not own it.
pub fn parent_of_partition(view: &View, child: &Name, path: &Path) -> Result<Parent> {
    let (name, table) = table_to_inherit(view, path)?;
    if view.objects.families().divided(table.schema().id).is_none() {
        let text = format!("\"{}\" is not partitioned", name.name);
        return Err(SqlError::new("42P17", text));
    }
    let wrong = |what: &str| {
        let text = format!("cannot create a {what} relation as partition of ");
        Err(SqlError::new(
            "42809",
            text + &match what {
                "permanent" => format!("temporary relation \"{}\"", name.name),
                _ => format!("permanent relation \"{}\"", name.name),
            },
        ))
    };
    match (child.is_temporary(), name.is_temporary()) {
        (false, true) => return wrong("permanent"),
        (true, false) => return wrong("temporary"),
        _ => {}
    }
    view.must_own(Action::Alter, &name, Relation::Table)?;
    Ok(Parent { name, table })
}

/// Whether a table stands below another, or is it.
pub fn is_below(families: &Families, table: TableId, above: TableId) -> bool {
    table == above || families.all_below(above).contains(&table)
}

/// What a table is known as that came to stand below others.
pub fn new_kin(parents: &[Parent], merged: &Merged<'_>, schema: &onlap::TableSchema) -> Kin {
    let mut kin = Kin {
        parents: parents.iter().map(|parent| parent.table.schema().id).collect(),
        ..Kin::default()
    };
    for (name, inherited) in &merged.of_columns {
        if let Some(at) = schema.position_by_name(name) {
            kin.columns.insert(schema.columns[at].id, *inherited);
        }
    }
    for (name, inherited) in &merged.of_checks {
        kin.rules.insert(name.clone(), *inherited);
    }
    kin
}

/// A constraint that came from one table above.
pub const FROM_ONE: Inherited = Inherited { count: 1, local: false };

/// Whether changes of a table are more than its own: others stand above or below it, or come to.
pub fn reaches(view: &View, table: &Table, changes: &[TableChange]) -> bool {
    let (families, id) = (view.objects.families(), table.schema().id);
    let is_of_kin = |change: &TableChange| {
        matches!(
            change,
            TableChange::Inherit(_)
                | TableChange::NoInherit(_)
                | TableChange::Attach(..)
                | TableChange::Detach(..)
        )
    };
    families.kin(id).is_some()
        || !families.below(id).is_empty()
        || families.divided(id).is_some()
        || changes.iter().any(is_of_kin)
}
