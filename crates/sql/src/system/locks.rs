//! What does the catalog say of locks?
//!
//! pg_locks has advisory locks, and tables that LOCK TABLE or those who met it have locked; locks of rows, keys and names, and what
//! writers share without being asked, are not shown.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use onlap::{AdvisoryKey, LockMode, TableId};

use super::rows::{Datum, Rows};
use crate::catalog::oids;
use crate::row;
use crate::system::cluster::{database_oids, own_database};
use crate::view::View;

/// What is locked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Number(AdvisoryKey),
    Table(TableId),
}

/// A lock that a session has, or waits for.
struct Lock {
    what: What,
    pid: i64,
    mode: LockMode,
    granted: bool,
}

fn all(view: &View) -> Vec<Lock> {
    let (mut owners, mut transactions) = (HashMap::new(), HashMap::new());
    for session in view.instance.sessions() {
        let pid = i64::from(session.key.pid);
        owners.insert(session.locks, pid);
        transactions.insert(session.tx.load(Ordering::Relaxed), pid);
    }
    let db = &view.instance.db;
    let numbers = db.advisory_locks().into_iter().filter_map(|lock| {
        let pid = *owners.get(&lock.owner)?;
        Some(Lock { what: What::Number(lock.key), pid, mode: lock.mode, granted: lock.granted })
    });
    let tables = db.table_locks().into_iter().filter_map(|lock| {
        let pid = *transactions.get(&lock.transaction)?;
        Some(Lock { what: What::Table(lock.table), pid, mode: lock.mode, granted: lock.granted })
    });
    tables.chain(numbers).collect()
}

/// The rows of pg_locks.
pub fn rows(view: &View) -> Rows {
    let mut rows = Rows::of(
        "locktype database relation page tuple virtualxid transactionid classid objid objsubid \
         virtualtransaction pid mode granted fastpath waitstart",
    );
    let databases: HashMap<String, u32> =
        database_oids(view).into_iter().map(|(oid, name)| (name, oid)).collect();
    let of_table = |id: TableId| {
        let tables = view.instance.db.tables();
        let table = tables.iter().find(|table| table.schema().id == id)?;
        databases.get(&crate::catalog::Name::of_engine(&table.name()).0).copied()
    };
    for lock in all(view) {
        let null = || Datum::Null;
        let (kind, database, relation, numbers) = match lock.what {
            What::Table(id) => {
                let database = of_table(id).unwrap_or_else(|| own_database(view));
                ("relation", database, Datum::from(oids::of_table(id)), [null(), null(), null()])
            }
            What::Number(key) => {
                let sub = if key.pair { 2 } else { 1 };
                let numbers = [Datum::from(key.high), Datum::from(key.low), Datum::from(sub)];
                ("advisory", key.database, null(), numbers)
            }
        };
        let [class, object, sub] = numbers;
        rows.push(row![
            kind,
            database,
            relation,
            null(),
            null(),
            null(),
            null(),
            class,
            object,
            sub,
            format!("{}/1", lock.pid).as_str(),
            lock.pid,
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
    let all = all(view);
    let mut pids: Vec<i64> = Vec::new();
    for wanted in all.iter().filter(|lock| lock.pid == pid && !lock.granted) {
        let blocks = |lock: &&Lock| {
            let is_its = lock.what == wanted.what && lock.pid != pid && lock.granted;
            is_its && lock.mode.conflicts_with(wanted.mode)
        };
        pids.extend(all.iter().filter(blocks).map(|lock| lock.pid));
    }
    pids.sort_unstable();
    pids.dedup();
    pids
}
