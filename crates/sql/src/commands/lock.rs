//! LOCK TABLE.
//!
//! Tables are locked in the order in which they are named, each with those below it. A view stands for the tables that its query
//! reads, with the rights of its owner. What each mode keeps others from is the engine's (`onlap::LockMode`).

use onlap::{ErrorKind, LockMode, LockWait, Table};
use onlap_pg::ast::LockTable;

use crate::ddl::{self, RelationKind};
use crate::deep::Depth;
use crate::error::{Result, SqlError, state};
use crate::query::Bound;
use crate::rights::{Action, Class, Need};
use crate::session::Session;
use crate::source::strings;
use crate::view::{View, no_table};

/// Carries LOCK TABLE out.
///
/// # Errors
/// `25P01`: there is no transaction block; `42501`; `42809`: it is no table; `40P01`, `55P03`, `57014`.
pub fn run(session: &mut Session, view: &View, lock: &LockTable) -> Result<()> {
    if !session.is_in_block() {
        let text = "LOCK TABLE can only be used in transaction blocks";
        return Err(SqlError::new(state::NO_TRANSACTION, text));
    }
    for named in &lock.tables {
        let parts = strings(&named.name);
        for table in tables(view, &parts, named.only, lock.mode)? {
            let name = table.name();
            one(view, &table, lock).map_err(|e| {
                // Where the statement may be run again it looks the name up again.
                let gone = e.state() == "40001" && !session.must_run_again();
                let gone = gone && view.instance.db.table(&name).is_err();
                if gone { no_table(&parts) } else { e }
            })?;
        }
    }
    Ok(())
}

/// The tables that a name stands for, which the role may lock.
fn tables(view: &View, parts: &[String], only: bool, mode: LockMode) -> Result<Vec<Table>> {
    let Some((name, relation)) = ddl::relation(view, parts)? else { return Err(no_table(parts)) };
    if name.schema == crate::view::PG_CATALOG || name.schema == crate::view::INFORMATION_SCHEMA {
        return Err(SqlError::unsupported("LOCK TABLE of a catalog"));
    }
    let key = ddl::key_of(view, &name, relation)?;
    match relation {
        RelationKind::Table => {
            let (_, table) = view.table_to("lock", parts)?;
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
            let below = bound.needs().iter().filter(|need| need.by.is_some());
            for need in below.filter(|need| matches!(need.class, Class::Table | Class::View)) {
                may(view, need, mode)?;
            }
            Ok(bound.all_tables())
        }
        other => {
            let kind = if other == RelationKind::Index { "indexes" } else { "sequences" };
            let text = format!("cannot lock relation \"{}\"", name.name);
            let detail = format!("This operation is not supported for {kind}.");
            Err(SqlError::new("42809", text).detail(detail))
        }
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
