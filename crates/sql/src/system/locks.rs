//! What does the catalog say of locks?
//!
//! pg_locks has advisory locks, and tables that LOCK TABLE or those who met it have locked. Locks of rows, keys and names are shown while
//! a transaction waits for them, as PostgreSQL shows them: the one waits for the end of the other. What writers share without being asked is
//! not shown.

use std::collections::{HashMap, HashSet};
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
    /// The end of a transaction.
    End(u64),
}

/// A lock that a session has, or waits for.
struct Lock {
    what: What,
    pid: i64,
    mode: LockMode,
    granted: bool,
}

/// Sessions by what the engine calls them: owners of locks, and transactions.
struct Sessions {
    owners: HashMap<u64, i64>,
    transactions: HashMap<u64, i64>,
}

impl Sessions {
    fn of(view: &View) -> Sessions {
        let (mut owners, mut transactions) = (HashMap::new(), HashMap::new());
        for session in view.instance.sessions() {
            let pid = i64::from(session.key.pid);
            owners.insert(session.locks, pid);
            transactions.insert(session.tx.load(Ordering::Relaxed), pid);
        }
        Sessions { owners, transactions }
    }

    fn pid_of(&self, id: u64) -> Option<i64> {
        self.transactions.get(&id).or_else(|| self.owners.get(&id)).copied()
    }
}

fn all(view: &View) -> Vec<Lock> {
    let sessions = Sessions::of(view);
    let Sessions { owners, transactions } = &sessions;
    let db = &view.instance.db;
    let numbers = db.advisory_locks().into_iter().filter_map(|lock| {
        let pid = *owners.get(&lock.owner)?;
        Some(Lock { what: What::Number(lock.key), pid, mode: lock.mode, granted: lock.granted })
    });
    let tables = db.table_locks().into_iter().filter_map(|lock| {
        let pid = *transactions.get(&lock.transaction)?;
        Some(Lock { what: What::Table(lock.table), pid, mode: lock.mode, granted: lock.granted })
    });
    let mut found: Vec<Lock> = tables.chain(numbers).collect();
    let mut waiting: HashSet<i64> =
        found.iter().filter(|lock| !lock.granted).map(|lock| lock.pid).collect();
    let mut held = HashSet::new();
    for (waiter, blockers) in db.lock_waits() {
        let pid = sessions.pid_of(waiter).filter(|pid| !waiting.contains(pid));
        let Some(pid) = pid else { continue };
        let mut holders = blockers.iter().filter_map(|id| Some((*id, sessions.pid_of(*id)?)));
        // As in PostgreSQL it waits for one of them at a time.
        let Some((id, holder)) = holders.find(|(_, holder)| *holder != pid) else { continue };
        waiting.insert(pid);
        found.push(Lock { what: What::End(id), pid, mode: LockMode::Share, granted: false });
        if held.insert(id) {
            let (what, mode) = (What::End(id), LockMode::Exclusive);
            found.push(Lock { what, pid: holder, mode, granted: true });
        }
    }
    found
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
        let mut end = Datum::Null;
        let (kind, database, relation, numbers) = match lock.what {
            What::End(id) => {
                end = Datum::Text((id as u32).to_string());
                ("transactionid", Datum::Null, null(), [null(), null(), null()])
            }
            What::Table(id) => {
                let database = of_table(id).unwrap_or_else(|| own_database(view));
                (
                    "relation",
                    Datum::from(database),
                    Datum::from(oids::of_table(id)),
                    [null(), null(), null()],
                )
            }
            What::Number(key) => {
                let sub = if key.pair { 2 } else { 1 };
                let numbers = [Datum::from(key.high), Datum::from(key.low), Datum::from(sub)];
                ("advisory", Datum::from(key.database), null(), numbers)
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
            end,
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

/// Which sessions wait for a lock, and what PostgreSQL calls what they wait for.
pub fn waiting(view: &View) -> Vec<(i64, &'static str)> {
    let wanted = all(view).into_iter().filter(|lock| !lock.granted);
    let named = wanted.map(|lock| match lock.what {
        What::Number(_) => (lock.pid, "advisory"),
        What::Table(_) => (lock.pid, "relation"),
        What::End(_) => (lock.pid, "transactionid"),
    });
    named.collect()
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
    let sessions = Sessions::of(view);
    for (waiter, blockers) in view.instance.db.lock_waits() {
        if sessions.pid_of(waiter) == Some(pid) {
            pids.extend(blockers.iter().filter_map(|id| sessions.pid_of(*id)));
        }
    }
    pids.retain(|other| *other != pid);
    pids.sort_unstable();
    pids.dedup();
    pids
}
