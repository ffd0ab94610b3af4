//! pg_advisory_lock and its relatives, and pg_notify.

use std::sync::Arc;

use onlap::{AdvisoryKey, LockMode};

use super::Function;
use crate::between::advisory::Wanted;
use crate::error::SqlError;
use crate::system::cluster::own_database;
use crate::system::rows::Datum;
use crate::view::View;

/// The function of a name, if it is one of them.
pub fn find(view: &View, name: &str) -> Option<Function> {
    if let Some(function) = notifying(view, name) {
        return Some(function);
    }
    let (rest, waits) = match name.strip_prefix("pg_try_advisory_") {
        Some(rest) => (rest, false),
        None => (name.strip_prefix("pg_advisory_")?, true),
    };
    let (rest, mode) = match rest.strip_suffix("_shared") {
        Some(rest) => (rest, LockMode::Share),
        None => (rest, LockMode::Exclusive),
    };
    let of_transaction = match rest {
        "unlock_all" if waits => return Some(unlock_all(view)),
        "unlock" if waits => return Some(unlock(view, mode)),
        "lock" => false,
        "xact_lock" => true,
        _ => return None,
    };
    let (scope, database) = (Arc::clone(&view.scope), own_database(view));
    let wanted = Wanted { mode, of_transaction, waits };
    Some(Function::new(move |arguments| {
        let key = key_of(database, arguments);
        let has = scope.between().advisory().lock(&scope, key, wanted)?;
        Ok(if waits { "".into() } else { has.into() })
    }))
}

/// What the arguments name: one number of 64 bits, or two of 32.
fn key_of(database: u32, arguments: &[Datum]) -> AdvisoryKey {
    let number = |at: usize| arguments.get(at).and_then(Datum::int).unwrap_or(0);
    let whole = number(0) as u64;
    match arguments.len() {
        2 => AdvisoryKey { database, high: whole as u32, low: number(1) as u32, pair: true },
        _ => AdvisoryKey { database, high: (whole >> 32) as u32, low: whole as u32, pair: false },
    }
}

fn unlock(view: &View, mode: LockMode) -> Function {
    let (scope, database) = (Arc::clone(&view.scope), own_database(view));
    Function::new(move |arguments| {
        let had = scope.between().advisory().unlock(key_of(database, arguments), mode);
        if !had {
            let text = format!("you don't own a lock of type {mode:?}Lock");
            scope.between().warn(SqlError::new("01000", text));
        }
        Ok(had.into())
    })
}

fn unlock_all(view: &View) -> Function {
    let scope = Arc::clone(&view.scope);
    Function::new(move |_| {
        scope.between().advisory().unlock_all();
        Ok("".into())
    })
}

fn notifying(view: &View, name: &str) -> Option<Function> {
    let scope = Arc::clone(&view.scope);
    let instance = Arc::clone(&view.instance);
    Some(match name {
        "pg_notify" => Function::new(move |arguments| {
            let text = |at: usize| match arguments.get(at) {
                Some(Datum::Text(text)) => text.as_str(),
                _ => "",
            };
            scope.between().channels().notify(&scope, text(0), text(1))?;
            Ok("".into())
        }),
        "pg_notification_queue_usage" => {
            Function::new(move |_| Ok(Datum::Float(instance.exchange.usage())))
        }
        _ => return None,
    })
}
