//! LOCK TABLE.
//!
//! Tables are locked in the order in which they are named, each with those below it. A view stands for the tables that its query
//! reads, with the rights of its owner. What each mode keeps others from is the engine's (`onlap::LockMode`).

use std::sync::Arc;

use onlap::{ErrorKind, LockMode, LockWait, Table};
use onlap_pg::ast::LockTable;

use crate::ddl::{self, RelationKind};
use crate::deep::Depth;
use crate::error::{Result, SqlError, state};
use crate::query::Bound;
use crate::rights::{Action, Class, Need};
use crate::session::Session;
use crate::source::strings;
use crate::system;
use crate::system::definitions::{self, Definition};
use crate::view::{View, no_table};

/// Carries LOCK TABLE out.
///
/// # Errors
/// `25P01`: there is no transaction block; `42501`; `42809`: it is no table; `40P01`, `55P03`, `57014`.
pub fn run(session: &Session, view: &View, lock: &LockTable) -> Result<()> {
    if !session.is_in_block() {
        let text = "LOCK TABLE can only be used in transaction blocks";
        return Err(SqlError::new(state::NO_TRANSACTION, text));
    }
    for named in &lock.tables {
        let parts = strings(&named.name);
        for table in tables(view, &parts, named.only, lock.mode)? {
            one(view, &table, lock)?;
        }
    }
    Ok(())
}

/// The tables that a name stands for, which the role may lock.
fn tables(view: &View, parts: &[String], only: bool, mode: LockMode) -> Result<Vec<Table>> {
    if let Some(definition) = catalog(view, parts)? {
        return of_catalog(view, &definition, mode).map(|()| Vec::new());
    }
    let Some((name, relation)) = ddl::relation(view, parts)? else { return Err(no_table(parts)) };
    let key = ddl::key_of(view, &name, relation)?;
    match relation {
        RelationKind::Table => {
            let (_, table) = view.table_to("lock", parts)?;
            if ddl::materialized::is(view, &table) {
                return Err(none_to_lock(&name.name, "materialized views"));
            }
            may(view, &Need::new(Action::Read, Class::Table, key, &name.name), mode)?;
            let mut all = vec![table];
            if !only {
                let below = ddl::all_below(view, all[0].schema().id)?;
                let own = |table: &Table| {
                    let (_, name) = crate::catalog::Name::of_engine(&table.name());
                    !view.is_other_temporary(&name.schema)
                };
                all.extend(below.into_iter().filter(own));
            }
            Ok(all)
        }
        RelationKind::View => {
            may(view, &Need::new(Action::Read, Class::View, key, &name.name), mode)?;
            let quote = crate::catalog::names::quote;
            let text = format!("SELECT FROM {}.{}", quote(&name.schema), quote(&name.name));
            let bound = Bound::must(view, &text, Depth::default(), &[])?;
            let own = |need: &&Need| need.by.is_none() && need.key == key;
            let below = bound.needs().iter().filter(|need| !own(need));
            for need in below.filter(|need| matches!(need.class, Class::Table | Class::View)) {
                may(view, need, mode)?;
            }
            let all = bound.all_tables().into_iter();
            Ok(all.filter(|table| !ddl::materialized::is(view, table)).collect())
        }
        other => {
            let kind = if other == RelationKind::Index { "indexes" } else { "sequences" };
            Err(none_to_lock(&name.name, kind))
        }
    }
}

fn none_to_lock(name: &str, kind: &str) -> SqlError {
    let detail = format!("This operation is not supported for {kind}.");
    SqlError::new("42809", format!("cannot lock relation \"{name}\"")).detail(detail)
}

/// The table or view of the system that a name stands for.
fn catalog(view: &View, parts: &[String]) -> Result<Option<Arc<Definition>>> {
    if let [.., schema, name] = parts {
        view.check_database(parts)?;
        return Ok(definitions::find(schema, name));
    }
    let [name] = parts else { return Ok(None) };
    for schema in view.whole_path() {
        if let Some(definition) = definitions::find(&schema, name) {
            return Ok(Some(definition));
        }
        if view.may_look_in(&schema) && view.find(&[schema, name.clone()])?.is_some() {
            return Ok(None);
        }
    }
    Ok(None)
}

/// Locks a table or view of the system. The modes that statements take by themselves keep no other of them away, so that there
/// is nothing to do; the others are refused, since changes of the catalog do not wait for them.
fn of_catalog(view: &View, definition: &Definition, mode: LockMode) -> Result<()> {
    let (name, is_view) = (definition.name, definition.is_view);
    let secret = system::with_secrets(definition.schema, name);
    if let (LockMode::AccessShare, Some((class, key))) = (mode, secret) {
        may(view, &Need::new(Action::Read, class, key, name), mode)?;
    } else if mode != LockMode::AccessShare && !view.judge.is_superuser() {
        let text =
            format!("permission denied for {} {name}", if is_view { "view" } else { "table" });
        return Err(SqlError::new(state::NO_PRIVILEGE, text));
    }
    match mode {
        LockMode::AccessShare | LockMode::RowShare | LockMode::RowExclusive => Ok(()),
        _ => Err(SqlError::unsupported("LOCK TABLE of a catalog in a mode above ROW EXCLUSIVE")),
    }
}

/// Fails unless the role of a need may lock what it is about: one of several rights is enough.
fn may(view: &View, need: &Need, mode: LockMode) -> Result<()> {
    let actions: &[Action] = match mode {
        LockMode::AccessShare => &[Action::Read],
        LockMode::RowExclusive => {
            &[Action::Update, Action::Delete, Action::Truncate, Action::Insert]
        }
        _ => &[Action::Update, Action::Delete, Action::Truncate],
    };
    // No column has this number: rights on columns alone are not enough.
    let columns = || vec![u32::MAX];
    let with = |action: &Action| Need { action: *action, columns: columns(), ..need.clone() };
    match actions.iter().any(|action| view.judge.may(&with(action))) {
        true => Ok(()),
        false => view.must(&[with(&actions[0])]),
    }
}

fn one(view: &View, table: &Table, lock: &LockTable) -> Result<()> {
    let wait = if lock.nowait { LockWait::NoWait } else { LockWait::Block };
    let locked = view.scope.tx()?.lock_table_as(table, lock.mode, wait);
    locked.map_err(|e| match e.kind() {
        ErrorKind::LockNotAvailable if lock.nowait => {
            let name = crate::catalog::Name::of_engine(&table.name()).1.name;
            let text = format!("could not obtain lock on relation \"{name}\"");
            SqlError::new("55P03", text)
        }
        ErrorKind::LockNotAvailable => {
            SqlError::new("55P03", "canceling statement due to lock timeout")
        }
        _ => e.into(),
    })
}
