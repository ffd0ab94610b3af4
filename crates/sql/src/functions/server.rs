//! Which functions say something of the session and the server?

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use onlap::Isolation;
use onlap_base::clock::{Clock, SystemClock};
use onlap_base::tasks::{Tasks, ThreadTasks};

use super::{Function, set_config};
use crate::catalog::names::temporary;
use crate::catalog::{Kind, oids};
use crate::error::{Result, SqlError, state};
use crate::exported::Known;
use crate::instance::Instance;
use crate::rights::Judge;
use crate::scope::Scope;
use crate::settings::{hidden, is_secret};
use crate::system::figures::statements;
use crate::system::rows::Datum;
use crate::system::{locks, monitored};
use crate::view::View;

/// A function by name; `None` where there is none.
pub fn find(view: &View, name: &str) -> Option<Function> {
    let constant = |value: Datum| Function::value(value);
    let function = match name {
        "current_setting" => setting(view),
        "current_schemas" => {
            let known = |schema: &String| view.has_schema(schema);
            let whole: Vec<String> = view.whole_path().into_iter().filter(known).collect();
            let said = view.path().skip(view.search_path.is_temporary_first.into());
            let said: Vec<String> = said.map(str::to_string).filter(known).collect();
            Function::new(move |a| match a.first() == Some(&Datum::Bool(true)) {
                true => Ok(Datum::Texts(whole.clone())),
                false => Ok(Datum::Texts(said.clone())),
            })
        }
        "pg_cancel_backend" => signal(view, false),
        "pg_terminate_backend" => signal(view, true),
        "txid_current" | "pg_current_xact_id" => {
            let (scope, instance) = (Arc::clone(&view.scope), Arc::clone(&view.instance));
            Function::new(move |_| {
                Ok(i64::try_from(scope.number(&instance)).unwrap_or(i64::MAX).into())
            })
        }
        "pg_current_wal_lsn" | "pg_current_wal_insert_lsn" | "pg_current_wal_flush_lsn" => {
            let view = view.clone();
            Function::new(move |_| Ok(place(view.instance.db.snapshot()?.csn()).as_str().into()))
        }
        "pg_export_snapshot" => {
            let view = view.clone();
            Function::new(move |_| Ok(export(&view)?.as_str().into()))
        }
        "inet_client_addr" => constant(client(view).map(|a| a.ip().to_string()).into()),
        "inet_client_port" => constant(client(view).map(|a| i64::from(a.port())).into()),
        "inet_server_addr" | "inet_server_port" => constant(Datum::Null),
        // There is no server that this one follows.
        "pg_last_wal_receive_lsn" | "pg_last_wal_replay_lsn" | "pg_last_xact_replay_timestamp" => {
            constant(Datum::Null)
        }
        "pg_is_in_recovery" | "pg_is_wal_replay_paused" => constant(false.into()),
        "pg_my_temp_schema" => {
            let own = view.temporary.then(|| view.schema_key(&temporary(view.pid))).flatten();
            constant(own.map_or(0, |key| key.oid).into())
        }
        "pg_is_other_temp_schema" => {
            let schemas = view.objects.of_kind(Kind::Schema).filter_map(|(key, object)| {
                let (database, name) = key.split_once('/')?;
                let is_other = database == view.database && view.is_other_temporary(name);
                is_other.then(|| i64::from(oids::of_object(object.number)))
            });
            let others: Vec<i64> = schemas.collect();
            Function::new(move |a| {
                Ok(a.first().and_then(Datum::int).map(|oid| others.contains(&oid)).into())
            })
        }
        "pg_stat_statements_reset" => reset_statements(view),
        "pg_blocking_pids" => blocking(view),
        "pg_client_encoding" => {
            let name = (view.settings)("client_encoding");
            constant(name.unwrap_or_else(|| "UTF8".to_owned()).as_str().into())
        }
        "getdatabaseencoding" => constant("UTF8".into()),
        "pg_postmaster_start_time" | "pg_conf_load_time" => constant(view.instance.began_us.into()),
        "age" | "mxid_age" => Function::new(|a| {
            let xid = a.first().and_then(Datum::int).unwrap_or(0) as u32;
            Ok(i64::from(monitored::age(xid)).into())
        }),
        _ => return None,
    };
    Some(function)
}

/// Where the session's client is, where it came over a network.
fn client(view: &View) -> Option<SocketAddr> {
    let sessions = view.instance.sessions();
    let own = sessions.iter().find(|session| session.key.pid == view.pid);
    own.and_then(|session| session.peer.parse().ok())
}

/// The place in the log of a commit, as a `pg_lsn`: 16 for each, so that it rises for ever, whatever becomes of files.
fn place(csn: u64) -> String {
    let at = csn.saturating_mul(16);
    format!("{:X}/{:X}", at >> 32, at as u32)
}

/// Forgets statements that ran.
fn reset_statements(view: &View) -> Function {
    let view = view.clone();
    Function::new(move |a| {
        let number = |at: usize| a.get(at).and_then(Datum::int).unwrap_or(0);
        statements::reset(&view, number(0), number(1), number(2));
        Ok("".into())
    })
}

/// Ends the statement of a session, or the session.
fn signal(view: &View, terminate: bool) -> Function {
    let (instance, scope) = (Arc::clone(&view.instance), Arc::clone(&view.scope));
    let (judge, own) = (view.judge.clone(), view.pid);
    Function::new(move |a| {
        let patience_ms = a.get(1).and_then(Datum::int).unwrap_or(0);
        if patience_ms < 0 {
            return Err(SqlError::new("22003", "\"timeout\" must not be negative"));
        }
        let pid = a.first().and_then(Datum::int).unwrap_or(0);
        let all = instance.sessions();
        let Some(session) = all.iter().find(|session| i64::from(session.key.pid) == pid) else {
            let text = format!("PID {pid} is not a PostgreSQL backend process");
            scope.between().warn(SqlError::new("01000", text));
            return Ok(false.into());
        };
        must_signal(&judge, session.role, terminate)?;
        let signalled = instance.signal(session.key.pid, terminate);
        // Its own session's is the very statement that asks.
        let (state, text) = match (session.key.pid == own, terminate) {
            (false, true) if signalled && patience_ms > 0 => {
                return Ok(has_ended(&instance, &scope, session.key.pid, patience_ms)?.into());
            }
            (false, _) => return Ok(signalled.into()),
            (true, true) => ("57P01", "terminating connection due to administrator command"),
            (true, false) => (state::CANCELLED, "canceling statement due to user request"),
        };
        Err(SqlError::new(state, text))
    })
}

/// Waits for the end of a session; whether it came in time.
fn has_ended(instance: &Instance, scope: &Scope, pid: i32, patience_ms: i64) -> Result<bool> {
    /// How often it is looked for.
    const SLICE: Duration = Duration::from_millis(10);
    let began = SystemClock.monotonic_ns();
    let patience_ns = u64::try_from(patience_ms).unwrap_or(0).saturating_mul(1_000_000);
    while instance.sessions().iter().any(|session| session.key.pid == pid) {
        if SystemClock.monotonic_ns() - began >= patience_ns {
            let text = format!(
                "backend with PID {pid} did not terminate within {patience_ms} milliseconds"
            );
            scope.between().warn(SqlError::new("01000", text));
            return Ok(false);
        }
        scope.go_on()?;
        ThreadTasks::new().sleep(SLICE);
    }
    Ok(true)
}

fn blocking(view: &View) -> Function {
    let view = view.clone();
    Function::new(move |a| {
        let pid = a.first().and_then(Datum::int).unwrap_or(0);
        Ok(Datum::Ints(locks::blockers(&view, pid)))
    })
}

/// Fails unless the role may end statements, or the session, of another.
fn must_signal(judge: &Judge, other: u32, terminate: bool) -> Result<()> {
    let text = match (judge.rights().is_superuser(other), terminate) {
        _ if judge.is_superuser() => return Ok(()),
        (true, false) => "must be a superuser to cancel superuser query",
        (true, true) => "must be a superuser to terminate superuser process",
        (false, _)
            if judge.has_rights_of(other) || judge.has_rights_of(oids::PG_SIGNAL_BACKEND) =>
        {
            return Ok(());
        }
        (false, false) => {
            "must be a member of the role whose query is being canceled or member of \
             pg_signal_backend"
        }
        (false, true) => {
            "must be a member of the role whose process is being terminated or member of \
             pg_signal_backend"
        }
    };
    Err(SqlError::new(state::NO_PRIVILEGE, text))
}

fn setting(view: &View) -> Function {
    let (asked, scope, lent) = (Arc::clone(&view.asked), Arc::clone(&view.scope), view.lent);
    let settings = Arc::clone(&view.settings);
    let sees_all = view.judge.has_rights_of(oids::PG_READ_ALL_SETTINGS);
    Function::new(move |a| {
        let wanted = a.first().map(Datum::text).unwrap_or_default();
        if is_secret(&wanted) && !sees_all {
            return Err(hidden(&wanted));
        }
        let optional = a.get(1) == Some(&Datum::Bool(true));
        let name = wanted.to_lowercase();
        let now = || scope.lent().setting_since(lent, &name).or_else(|| settings(&name));
        let newer = set_config::asked_for(&asked, &name, &now);
        match newer.or_else(now) {
            Some(value) => Ok(value.into()),
            None if optional => Ok(Datum::Null),
            None => {
                let text = format!("unrecognized configuration parameter \"{wanted}\"");
                Err(SqlError::new(state::NO_OBJECT, text))
            }
        }
    })
}

/// Gives what the transaction sees a name by which other sessions take it over until it ends.
fn export(view: &View) -> Result<String> {
    let known = {
        let tx = view.scope.tx()?;
        let serializable = tx.isolation() == Isolation::Serializable;
        Known { snapshot: tx.snapshot()?, database: view.database.clone(), serializable }
    };
    view.instance.exported.add(view.pid, known, &mut view.scope.exported())
}
