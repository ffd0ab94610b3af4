//! What does the catalog say of locks?
//!
//! pg_locks has advisory locks; locks of rows, keys and names, which PostgreSQL shows in part, are not shown.

use std::collections::HashMap;

use onlap::{AdvisoryLock, LockMode};

use super::rows::{Datum, Rows};
use crate::row;
use crate::view::View;

/// Process ids of sessions by whose their locks are.
fn sessions(view: &View) -> HashMap<u64, i64> {
    let sessions = view.instance.sessions();
    sessions.iter().map(|session| (session.locks, i64::from(session.key.pid))).collect()
}

/// The rows of pg_locks.
pub fn rows(view: &View) -> Rows {
    let mut rows = Rows::of(
        "locktype database relation page tuple virtualxid transactionid classid objid objsubid \
         virtualtransaction pid mode granted fastpath waitstart",
    );
    let sessions = sessions(view);
    for lock in view.instance.db.advisory_locks() {
        let Some(&pid) = sessions.get(&lock.owner) else { continue };
        let null = || Datum::Null;
        rows.push(row![
            "advisory",
            lock.key.database,
            null(),
            null(),
            null(),
            null(),
            null(),
            lock.key.high,
            lock.key.low,
            if lock.key.pair { 2 } else { 1 },
            format!("{pid}/1").as_str(),
            pid,
            format!("{:?}Lock", lock.mode).as_str(),
            lock.granted,
            false,
            null(),
        ]);
    }
    rows
}

/// Process ids of the sessions that one waits for.
pub fn blockers(view: &View, pid: i64) -> Vec<i64> {
    let sessions = sessions(view);
    let all = view.instance.db.advisory_locks();
    let is_its = |lock: &&AdvisoryLock| sessions.get(&lock.owner) == Some(&pid);
    let mut pids: Vec<i64> = Vec::new();
    for wanted in all.iter().filter(is_its).filter(|lock| !lock.granted) {
        let blocks = |lock: &&AdvisoryLock| {
            let shared = lock.mode == LockMode::Share && wanted.mode == LockMode::Share;
            lock.key == wanted.key && lock.owner != wanted.owner && lock.granted && !shared
        };
        pids.extend(all.iter().filter(blocks).filter_map(|lock| sessions.get(&lock.owner)));
    }
    pids.sort_unstable();
    pids.dedup();
    pids
}
