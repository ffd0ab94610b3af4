//! SET, SHOW, RESET and DISCARD.

use std::sync::Arc;

use onlap::{TableId, Time, Value};
use onlap_pg::ast::{Discard, Mode, Path, Reach, SetStatement, SetTo};

use crate::catalog::names::TEMPORARY;
use crate::catalog::{oids, triggers};
use crate::encoding::Encoding;
use crate::error::{Result, SqlError, state};
use crate::session::answer::{Answer, AnswerColumn, Chunk, Ready, RowsAnswer};
use crate::session::{Session, level_name};
use crate::settings::{self, Id, SETTINGS, hidden, is_secret, mode};
use crate::source::strings;
use crate::system::classes::is_constraint;
use crate::types::{PgType, oid};
use crate::view::View;
use crate::wire::Client;

fn done(tag: &str) -> Result<Answer> {
    Ok(Answer::Done(tag.to_string()))
}

/// SET, SHOW and RESET.
///
/// # Errors
/// No such setting or value.
pub fn run(
    session: &mut Session,
    view: &View,
    said: &SetStatement,
    client: &mut dyn Client,
) -> Result<Answer> {
    warn_outside_block(session, said, client);
    match said {
        SetStatement::Setting(reach, name, to) => {
            set(session, view, *reach == Reach::Local, name, to)?;
            let encoding = Encoding::named(session.settings.text(Id::ClientEncoding));
            client.reply().set_encoding(encoding);
        }
        SetStatement::Role(reach, role) => {
            session.set_role(&view.judge, role.as_deref(), *reach == Reach::Local)?;
        }
        SetStatement::Authorization(reach, role) => {
            session.set_authorization(&view.judge, role.as_deref(), *reach == Reach::Local)?;
        }
        SetStatement::Transaction(modes) => session.set_modes(modes)?,
        SetStatement::Snapshot(name) => session.see_exported(name)?,
        SetStatement::Characteristics(modes) => characteristics(session, modes)?,
        SetStatement::Constraints(names, put_off) => {
            constraints(view, names, *put_off)?;
            return done("SET CONSTRAINTS");
        }
        SetStatement::Show(name) => return show(session, name.as_deref()),
        SetStatement::Reset(name) => {
            match name.as_deref() {
                None => session.settings.reset_all(),
                Some("role") => session.set_role(&view.judge, None, false)?,
                Some("session_authorization") => {
                    session.set_authorization(&view.judge, None, false)?;
                }
                Some(name) => match mode(name) {
                    Some(mode) => session.set_mode(mode, None)?,
                    None => session.settings.reset(name)?,
                },
            }
            return done("RESET");
        }
    }
    done("SET")
}

/// What is set for a transaction that ends with the statement is of no use.
fn warn_outside_block(session: &Session, said: &SetStatement, client: &mut dyn Client) {
    let what = match said {
        SetStatement::Setting(Reach::Local, ..)
        | SetStatement::Role(Reach::Local, _)
        | SetStatement::Authorization(Reach::Local, _) => "SET LOCAL",
        SetStatement::Transaction(_) | SetStatement::Snapshot(_) => "SET TRANSACTION",
        SetStatement::Constraints(..) => "SET CONSTRAINTS",
        _ => return,
    };
    if !session.is_in_block() {
        let text = format!("{what} can only be used in transaction blocks");
        session.tell_warning(&SqlError::new(state::NO_TRANSACTION, text), client);
    }
}

/// DISCARD.
///
/// # Errors
/// `25001`: ALL in a transaction block.
pub fn discard(session: &mut Session, view: &View, what: Discard) -> Result<Answer> {
    if what == Discard::All {
        if session.is_in_block() {
            let text = "DISCARD ALL cannot run inside a transaction block";
            return Err(SqlError::new(state::ACTIVE_TRANSACTION, text));
        }
        session.settings.reset_all();
        session.set_authorization(&view.judge, None, false)?;
        session.discard_all()?;
    }
    if what == Discard::Sequences {
        session.discard_sequences();
    }
    if matches!(what, Discard::All | Discard::Temporary) {
        session.discard_temporary(view)?;
    }
    done(match what {
        Discard::All => "DISCARD ALL",
        Discard::Plans => "DISCARD PLANS",
        Discard::Sequences => "DISCARD SEQUENCES",
        Discard::Temporary => "DISCARD TEMP",
    })
}

fn set(session: &mut Session, view: &View, local: bool, name: &str, to: &SetTo) -> Result<()> {
    let values = match to {
        SetTo::Values(values) => Some(values),
        SetTo::Default => None,
        SetTo::Current => {
            let now = session.settings.show(name)?;
            return session.settings.set(name, &now, local);
        }
    };
    let text = values.map(|values| settings::joined(name, values)).transpose()?;
    match (name, text) {
        ("role", role) => {
            let role = role.filter(|role| role != "none");
            session.set_role(&view.judge, role.as_deref(), local)
        }
        ("session_authorization", role) => {
            session.set_authorization(&view.judge, role.as_deref(), local)
        }
        (name, text) => match (mode(name), text) {
            (Some(mode), text) => session.set_mode(mode, text.as_deref()),
            (None, None) => session.settings.reset(name),
            (None, Some(text)) => session.settings.set(name, &text, local),
        },
    }
}

/// The modes of transactions from now on.
fn characteristics(session: &mut Session, modes: &[Mode]) -> Result<()> {
    for mode in modes {
        let (name, value) = match mode {
            Mode::Isolation(level) => ("default_transaction_isolation", level_name(*level)),
            Mode::ReadOnly(only) => {
                ("default_transaction_read_only", if *only { "on" } else { "off" })
            }
            Mode::Deferrable(deferrable) => {
                ("default_transaction_deferrable", if *deferrable { "on" } else { "off" })
            }
        };
        session.settings.set(name, value, false)?;
    }
    Ok(())
}

/// SET CONSTRAINTS: those, or all where none is named, are judged at the end of the transaction, or now and with each
/// statement.
fn constraints(view: &View, names: &[Path], put_off: bool) -> Result<()> {
    let deferred = view.scope.deferred();
    if names.is_empty() {
        deferred.set_all(put_off);
        if !put_off {
            deferred.run(view, true)?;
        }
        view.scope.tx()?.set_all_constraints(put_off)?;
    } else {
        let mut found = Found::default();
        for path in names {
            let more = deferrable(view, &strings(path), put_off)?;
            found.own.extend(more.own);
            found.triggers.extend(more.triggers);
        }
        view.scope.tx()?.set_constraints(&found.own, put_off)?;
        deferred.set(&found.triggers, put_off);
        if !put_off {
            deferred.run(view, false)?;
        }
    }
    Ok(())
}

/// Constraints that can be put off.
#[derive(Default)]
struct Found {
    /// The tables' own.
    own: Vec<(TableId, String)>,
    /// The OIDs of triggers.
    triggers: Vec<u32>,
}

/// The constraints of a name that can be put off: those of the first schema that has any.
fn deferrable(view: &View, parts: &[String], put_off: bool) -> Result<Found> {
    let name = parts.last().map_or("", String::as_str);
    if let [.., schema, _] = parts
        && !view.has_schema(schema)
        && schema != TEMPORARY
    {
        return Err(crate::view::no_schema(schema));
    }
    let tables = view.tables()?;
    for candidate in view.candidates(parts)? {
        let of_schema = tables.iter().filter(|(table, _)| table.schema == candidate.schema);
        let (mut times, mut triggers) = (Vec::new(), Vec::new());
        for (_, table) in of_schema {
            let schema = table.schema();
            let check = schema.checks.iter().any(|check| check.name == name);
            let key = schema.foreign_keys.iter().find(|key| key.name == name).map(|key| key.time);
            let index = schema.index_by_name(name).filter(|index| is_constraint(view, index));
            let time = key.or(index.map(onlap::IndexSchema::time));
            times.extend(time.or(check.then_some(Time::Statement)).map(|time| (schema.id, time)));
            let all = triggers::of_relation(&view.objects, oids::of_table(schema.id)).into_iter();
            triggers.extend(all.filter_map(|trigger| {
                let constraint = trigger.constraint.filter(|of| of.name == name)?;
                Some((trigger.oid, constraint.deferrable))
            }));
        }
        if times.is_empty() && triggers.is_empty() {
            continue;
        }
        let fixed = triggers.iter().any(|(_, deferrable)| !deferrable)
            || times.iter().any(|(_, time)| *time == Time::Statement);
        if put_off && fixed {
            let text = format!("constraint \"{name}\" is not deferrable");
            return Err(SqlError::new("42809", text));
        }
        let deferrable = times.into_iter().filter(|(_, time)| *time != Time::Statement);
        let own = deferrable.map(|(table, _)| (table, name.to_string())).collect();
        let triggers = triggers.into_iter().filter(|(_, deferrable)| *deferrable);
        return Ok(Found { own, triggers: triggers.map(|(oid, _)| oid).collect() });
    }
    Err(SqlError::new(state::NO_OBJECT, format!("constraint \"{name}\" does not exist")))
}

/// Columns of what SHOW gives; of all settings where none is named.
pub fn columns(name: Option<&str>) -> Arc<[AnswerColumn]> {
    let text = |name: &str| AnswerColumn::new(name, PgType::new(oid::TEXT));
    let Some(name) = name else {
        return Arc::from([text("name"), text("setting"), text("description")]);
    };
    let known = SETTINGS.iter().find(|s| s.name.eq_ignore_ascii_case(name));
    Arc::from([text(known.map_or(name, |s| s.name))])
}

fn show(session: &mut Session, name: Option<&str>) -> Result<Answer> {
    let text = |s: &str| Value::Text(s.to_string());
    let may_see_all = |session: &mut Session| {
        session.in_view(|_, view| Ok(view.judge.has_rights_of(oids::PG_READ_ALL_SETTINGS)))
    };
    let rows = match name {
        None => {
            let sees_all = may_see_all(session)?;
            let row = |s: &crate::settings::Setting| {
                vec![text(s.name), text(&session.settings.show_id(s.id)), text(s.text)]
            };
            SETTINGS.iter().filter(|s| sees_all || !is_secret(s.name)).map(row).collect()
        }
        Some(name) => {
            if is_secret(name) && !may_see_all(session)? {
                return Err(hidden(name));
            }
            // The transaction's modes are those of one that is under way.
            session.current()?;
            vec![vec![text(&session.settings.show(name)?)]]
        }
    };
    let source = Box::new(Ready::new(vec![Chunk::Rows(rows)]));
    Ok(Answer::Rows(RowsAnswer::new(columns(name), source, "SHOW")))
}
