//! TRUNCATE.

use onlap::{LockMode, Table};
use onlap_pg::ast::Relation as Named;

use super::change::{notice, of_waiting};
use super::naming::Relation;
use super::{kin, sequence};
use crate::catalog::Name;
use crate::change::fires::{has_any, truncated};
use crate::error::{Result, SqlError, state};
use crate::rights::Action;
use crate::rights::ask::of_table;
use crate::session::Session;
use crate::session::lent::Using;
use crate::source::strings;
use crate::view::View;
use crate::wire::Client;

/// TRUNCATE.
///
/// # Errors
/// There is no such table; another table refers to it.
pub fn truncate(
    session: &mut Session,
    view: &View,
    tables: &[Named],
    restart: bool,
    cascade: bool,
    client: &mut dyn Client,
) -> Result<&'static str> {
    let mut found: Vec<Table> = Vec::new();
    for target in tables {
        let (name, table) = view.table_to("truncate", &strings(&target.name))?;
        view.scope.tx()?.await_form(&table)?;
        super::materialized::must_be_none(view, &name, &table)?;
        view.must(&[of_table(Action::Truncate, &table.schema(), Vec::new())])?;
        if target.only && view.objects.families().divided(table.schema().id).is_some() {
            let text = "cannot truncate only a partitioned table";
            let hint = "Do not specify the ONLY keyword, or use TRUNCATE ONLY on the partitions \
                        directly.";
            return Err(SqlError::new("42809", text).hint(hint));
        }
        let below = match target.only {
            true => Vec::new(),
            false => kin::all_below(view, table.schema().id)?,
        };
        let own = |table: &Table| !view.is_other_temporary(&kin::name_of(table).schema);
        for table in std::iter::once(table).chain(below.into_iter().filter(own)) {
            add(&mut found, table);
        }
    }
    view.scope.await_tables(&found, LockMode::AccessExclusive)?;
    let several = found.len() > tables.len();
    let refers = complete(view, &mut found, cascade, client)?;
    for table in &found {
        super::index::must_be_unused(view, table, "TRUNCATE")?;
    }
    let _using = Using::of(view, || found.iter().map(|table| table.schema().id).collect());
    let fires = found.iter().any(|table| has_any(view, table.schema().id));
    if fires {
        truncated(view, &found, true)?;
    }
    // Rows that refer to each other go together.
    view.scope.tx()?.hold_rules(true);
    let at_once =
        !several && !fires && !session.is_in_block() && !session.current()?.changed && !refers;
    let emptied = found.iter().try_for_each(|table| empty(session, view, table, at_once));
    match emptied {
        Ok(()) => view.scope.tx()?.judge_held()?,
        Err(e) => {
            view.scope.tx()?.forget_held();
            return Err(e);
        }
    }
    // Nothing was put off of them before, and deferred keys find no row left that refers to a lost one.
    view.scope.tx()?.judge_put_off(&found)?;
    if restart {
        for table in &found {
            restart_of(session, view, table)?;
        }
    }
    if fires {
        truncated(view, &found, false)?;
    }
    Ok("TRUNCATE TABLE")
}

/// Adds a table that is to be emptied, once.
fn add(found: &mut Vec<Table>, table: Table) {
    if !found.iter().any(|other| other.schema().id == table.schema().id) {
        found.push(table);
    }
}

/// Adds the tables that refer to those that are emptied; whether any refers to another.
///
/// # Errors
/// `0A000`: there is one, and CASCADE was not said.
fn complete(
    view: &View,
    found: &mut Vec<Table>,
    cascade: bool,
    client: &mut dyn Client,
) -> Result<bool> {
    let (all, mut refers, mut at) = (view.scope.tx()?.tables(), false, 0);
    while let Some(parent) = found.get(at).map(Table::schema) {
        at += 1;
        for child in &all {
            let schema = child.schema();
            let is_child = schema.foreign_keys.iter().any(|key| key.parent == parent.id);
            if !is_child || schema.id == parent.id {
                continue;
            }
            refers = true;
            if found.iter().any(|other| other.schema().id == schema.id) {
                continue;
            }
            let name = Name::of_engine(&schema.name).1.name;
            if !cascade {
                let text = "cannot truncate a table referenced in a foreign key constraint";
                let of = Name::of_engine(&parent.name).1.name;
                let hint = format!(
                    "Truncate table \"{name}\" at the same time, or use TRUNCATE ... CASCADE."
                );
                return Err(SqlError::new(state::UNSUPPORTED, text)
                    .detail(format!("Table \"{name}\" references \"{of}\"."))
                    .hint(hint));
            }
            notice(client, "00000", format!("truncate cascades to table \"{name}\""));
            view.must(&[of_table(Action::Truncate, &schema, Vec::new())])?;
            add(found, child.clone());
        }
    }
    Ok(refers)
}

fn empty(session: &mut Session, view: &View, table: &Table, at_once: bool) -> Result<()> {
    // Of an empty table only the counters change.
    if at_once && view.scope.tx()?.count(table)? > 0 {
        view.scope.tx()?.await_form(table)?;
        let emptied = session.instance.db.truncate_table(table);
        return emptied.map_err(|e| of_waiting(view, table, e));
    }
    view.scope.tx()?.truncate(table)?;
    session.current()?.changed = true;
    Ok(())
}

/// RESTART IDENTITY.
fn restart_of(session: &mut Session, view: &View, table: &Table) -> Result<()> {
    for name in sequence::owned_by(view, table.schema().id, None) {
        let (_, of_engine) = Name::of_engine(&name);
        view.must_own(Action::Alter, &of_engine, Relation::Sequence)?;
        let old = view.scope.tx()?.sequence(&name)?;
        let spec = sequence::Options::default().spec(&name, Some(&old))?;
        sequence::replace(session, view, &old, &spec, Some(old.schema().start))?;
    }
    Ok(())
}
