//! What do all sessions of a database share?
//!
//! The engine's database, what runs queries, the objects that the engine does not know, and who is connected.
//!
//! Thread safety: shared freely.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering};

use arc_swap::ArcSwap;
use onlap::{Csn, Database, IndexId, Table, Transaction};
use onlap_base::clock::{Clock, SystemClock};
use parking_lot::Mutex;
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::json;

use crate::between::exchange::Exchange;
use crate::calls::Calls;
use crate::catalog::objects::{Object, Pending};
use crate::catalog::roles::Role;
use crate::catalog::{Kind, Objects};
use crate::counts::AllCounts;
use crate::error::{Result, SqlError, state};
use crate::exported::Exported;
use crate::plan::Runner;
use crate::plan::room::Room;
use crate::progress::Progress;
use crate::session::texts::Texts;
use crate::session::{Waker, temporary};
use crate::settings::Configuration;

/// An open database with what its sessions share.
pub struct Instance {
    pub(crate) db: Database,
    /// What sessions begin with.
    pub(crate) defaults: Arc<Configuration>,
    pub(crate) runner: Runner,
    objects: ArcSwap<Objects>,
    pub(crate) objects_table: Table,
    /// Held from the commit of a change of objects until memory has it.
    changing: Mutex<()>,
    /// Grows with every change of the catalog; plans that were made before are made again.
    catalog_version: AtomicU64,
    /// What texts mean that came before.
    pub(crate) texts: Texts,
    /// Statements that ran.
    pub(crate) calls: Arc<Calls>,
    /// What was done in each database.
    pub(crate) counts: AllCounts,
    /// When the server, or the program, began: microseconds since 1970-01-01 UTC.
    pub(crate) began_us: i64,
    /// The last backups that sessions made, the newest last.
    backups: Mutex<VecDeque<Backup>>,
    /// Held by the session that is given advice.
    pub(crate) advising: Mutex<()>,
    /// Notifications on their way.
    pub(crate) exchange: Exchange,
    /// Snapshots that other sessions may take over.
    pub(crate) exported: Arc<Exported>,
    sessions: Mutex<HashMap<i32, Arc<Presence>>>,
    next_pid: AtomicI32,
    next_object: AtomicU32,
    /// The number that a transaction was given last.
    last_transaction: AtomicU64,
}

/// A session as others see it.
pub struct Presence {
    /// Its key.
    pub key: SessionKey,
    /// The role that connected, as an OID.
    pub role: u32,
    /// Its database.
    pub database: String,
    /// The client's address.
    pub peer: String,
    /// Microseconds since 1970-01-01 UTC.
    pub began_us: i64,
    /// application_name.
    pub application: Mutex<String>,
    /// The statement under way, or the last one.
    pub statement: Mutex<Arc<str>>,
    /// `active`, `idle`, `idle in transaction`, `idle in transaction (aborted)`.
    pub state: Mutex<&'static str>,
    /// When the state, the statement and the transaction began, in microseconds since 1970-01-01 UTC; 0 where there was none yet.
    pub since: Since,
    /// Ends the statement under way.
    pub cancel: Arc<AtomicBool>,
    /// Ends the session.
    pub terminated: AtomicBool,
    /// Whose its advisory locks are: `onlap::AdvisoryOwner::id`.
    pub locks: u64,
    /// The transaction under way, or the last one: `onlap::Transaction::lock_id`.
    pub tx: Arc<AtomicU64>,
    /// Wakes the session's thread.
    pub waker: Option<Waker>,
    /// What it does for long.
    pub progress: Arc<Progress>,
}

/// Since when a session does what it does; see [`Presence::since`].
#[derive(Debug, Default)]
pub struct Since {
    /// The state.
    pub state_us: AtomicI64,
    /// The statement under way, or the last one.
    pub statement_us: AtomicI64,
    /// The transaction under way.
    pub transaction_us: AtomicI64,
}

/// Names a session to those who cancel it: its process id as clients know it, and a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionKey {
    /// Shown in pg_stat_activity.
    pub pid: i32,
    /// Known to the client alone.
    pub secret: i32,
}

/// A backup that a session made, or tried to.
#[derive(Clone, Debug)]
pub(crate) struct Backup {
    /// Its directory.
    pub place: String,
    /// When, in microseconds since 1970-01-01 UTC.
    pub at_us: i64,
    /// The last commit that it has.
    pub csn: Option<Csn>,
    /// Bytes of its files.
    pub bytes: Option<u64>,
    /// Why there is none.
    pub error: Option<String>,
}

/// Bytes of a text that is remembered of a backup.
const TOLD_BYTES: usize = 4096;

fn told(text: &str) -> String {
    text[..text.floor_char_boundary(TOLD_BYTES)].to_string()
}

/// Backups that are remembered.
const BACKUPS: usize = 16;

/// How a role proves who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Secret {
    /// No password is needed: none was ever set.
    Trusted,
    /// A SCRAM-SHA-256 verifier in PostgreSQL's form,
    /// `SCRAM-SHA-256$ITERATIONS:SALT$STORED_KEY:SERVER_KEY`.
    Verifier(String),
    /// There is no such role, or it has no password: the exchange goes on and fails.
    Unknown,
}

/// The option that says that a role had a password once.
pub(crate) const PASSWORDS: &str = "passwords";

/// Bytes that queries may use together where the engine's limit says nothing: a quarter of it is theirs.
const QUERY_SHARE: u64 = 4;

impl Instance {
    /// For tests: a plan of any session meets this, after this number of others.
    #[doc(hidden)]
    pub fn plant(&self, fault: crate::Fault, before: usize) {
        self.runner.planted.plant(fault, before);
    }

    /// Takes over an open database, with default settings.
    ///
    /// # Errors
    /// Its catalog cannot be read.
    pub fn open(db: Database) -> Result<Arc<Instance>> {
        Instance::open_with(db, Configuration::default().defaults())
    }

    /// Takes over an open database; sessions begin with these settings.
    ///
    /// # Errors
    /// Its catalog cannot be read.
    pub fn open_with(db: Database, defaults: Arc<Configuration>) -> Result<Arc<Instance>> {
        crate::formulas::attach(&db);
        let (objects_table, objects) = Objects::load(&db)?;
        let memory: u64 = db.memory().iter().map(|part| part.limit).sum();
        let of_queries = (memory / QUERY_SHARE).max(16 << 20);
        let room = Room::of_process(memory + of_queries);
        let runner = Runner::new(of_queries as usize, Arc::clone(&room))?;
        // The pool knows the room.
        let (known, of_plans) = (db.clone(), Arc::downgrade(&runner.memory()));
        room.keep_within(memory, move || {
            let used: u64 = known.memory().iter().map(|part| part.used).sum();
            used + of_plans.upgrade().map_or(0, |pool| pool.reserved() as u64)
        });
        let next_object = AtomicU32::new(objects.next_number());
        let instance = Arc::new(Instance {
            db,
            defaults,
            runner,
            objects: ArcSwap::from_pointee(objects),
            objects_table,
            changing: Mutex::default(),
            catalog_version: AtomicU64::new(1),
            texts: Texts::default(),
            calls: Arc::default(),
            counts: AllCounts::default(),
            began_us: SystemClock.unix_us(),
            backups: Mutex::default(),
            advising: Mutex::default(),
            exchange: Exchange::new(memory),
            exported: Arc::default(),
            sessions: Mutex::default(),
            next_pid: AtomicI32::new(1),
            next_object,
            last_transaction: AtomicU64::new(0),
        });
        let calls = Arc::clone(&instance.calls);
        instance.db.keep_samples(Box::new(move || calls.counted()));
        let left = temporary::forget_left(&instance);
        // No session gets the number of one whose temporary relations are still there.
        instance.next_pid.store(left + 1, Ordering::Relaxed);
        Ok(instance)
    }

    /// How many sessions there are.
    pub fn session_count(&self) -> usize {
        self.sessions.lock().len()
    }

    /// The database.
    pub fn database(&self) -> &Database {
        &self.db
    }

    /// For each index the median time in nanoseconds of the statements that read by it, within a tenth.
    pub fn statement_medians(&self) -> HashMap<IndexId, u64> {
        self.calls.medians().into_iter().collect()
    }

    /// Copies the database to a directory, and remembers it.
    ///
    /// # Errors
    /// Those of `onlap::Database::backup`.
    pub(crate) fn back_up(&self, place: &str) -> Result<()> {
        let made = self.db.backup(place);
        let report = made.as_ref().ok();
        let backup = Backup {
            place: told(place),
            at_us: report.map_or_else(|| SystemClock.unix_us(), |report| report.unix_us),
            csn: report.map(|report| report.csn),
            bytes: report.map(|report| report.linked_bytes + report.copied_bytes),
            error: made.as_ref().err().map(|e| told(&e.to_string())),
        };
        let mut all = self.backups.lock();
        all.push_back(backup);
        if all.len() > BACKUPS {
            all.pop_front();
        }
        drop(all);
        made?;
        Ok(())
    }

    /// The last backups of this process, the newest last.
    pub(crate) fn backups(&self) -> Vec<Backup> {
        self.backups.lock().iter().cloned().collect()
    }

    /// How a role proves who it is.
    pub fn secret(&self, role: &str) -> Secret {
        if !self.has_passwords() {
            return Secret::Trusted;
        }
        match self.role(role).filter(|r| r.login).and_then(|r| r.verifier) {
            Some(verifier) => Secret::Verifier(verifier),
            None => Secret::Unknown,
        }
    }

    /// Whether a role may use the connections that are kept for superusers.
    pub fn is_superuser(&self, role: &str) -> bool {
        self.objects().rights().role_named(role).is_some_and(|r| r.superuser)
    }

    /// Whether any role ever had a password: from then on no client connects without one, even where all
    /// passwords were taken away since.
    pub fn has_passwords(&self) -> bool {
        let objects = self.objects();
        objects.get(Kind::Option, PASSWORDS).is_some()
            || objects.rights().roles().iter().any(|role| role.verifier.is_some())
    }

    /// A role.
    pub fn role(&self, name: &str) -> Option<Role> {
        self.objects().rights().role_named(name).cloned()
    }

    /// Gives a role a password, as a verifier of [`crate::scram`].
    ///
    /// # Errors
    /// There is no such role; it cannot be written.
    pub fn set_password(&self, role: &str, verifier: &str) -> Result<()> {
        let mut role = self.role(role).ok_or_else(|| {
            SqlError::new(state::NO_OBJECT, format!("role \"{role}\" does not exist"))
        })?;
        role.verifier = Some(verifier.to_string());
        let objects = self.objects();
        let number =
            objects.get(Kind::Role, &role.name).map_or_else(|| self.take_number(), |o| o.number);
        self.put(Kind::Option, PASSWORDS, Some(Object { number: 0, body: json!({}) }))?;
        self.put(Kind::Role, &role.name, Some(Object { number, body: role.body() }))
    }

    /// Makes, replaces or removes an object in a transaction of its own.
    ///
    /// # Errors
    /// Those of the engine.
    pub(crate) fn put(&self, kind: Kind, name: &str, object: Option<Object>) -> Result<()> {
        let mut tx = self.db.begin()?;
        let mut pending = Pending::default();
        pending.put(&mut tx, &self.objects_table, kind, name, object)?;
        self.commit(tx, &pending)?;
        self.catalog_changed();
        Ok(())
    }

    /// A secret of this database that never changes: salts for roles that do not exist are made of it,
    /// so that they are the same at every try.
    pub fn mock_key(&self) -> [u8; 32] {
        let known = |objects: &Objects| {
            let object = objects.get(Kind::Option, "mock_key")?;
            let bytes: Vec<u8> = serde_json::from_value(object.body["key"].clone()).ok()?;
            <[u8; 32]>::try_from(bytes).ok()
        };
        if let Some(key) = known(&self.objects()) {
            return key;
        }
        let mut key = [0; 32];
        // Without randomness the salts of unknown roles can be told apart; nothing else fails.
        let _ = SystemRandom::new().fill(&mut key);
        let number = self.take_number();
        let object = Object { number, body: json!({ "key": key.to_vec() }) };
        let _ = self.put(Kind::Option, "mock_key", Some(object));
        key
    }

    /// Ends what runs inside, and closes the database; sessions are gone by then.
    ///
    /// # Errors
    /// A flush that failed; what was acknowledged is in the log all the same.
    pub fn close(&self) -> Result<()> {
        Ok(self.db.clone().close()?)
    }

    /// Ends the statement of another session; nothing happens where the key is wrong.
    pub fn cancel(&self, key: SessionKey) {
        let found = self.sessions.lock().get(&key.pid).cloned();
        if let Some(session) = found.filter(|s| s.key == key) {
            session.cancel.store(true, Ordering::Relaxed);
        }
    }

    /// A number for a new object, which nobody else gets.
    pub(crate) fn take_number(&self) -> u32 {
        self.next_object.fetch_add(1, Ordering::Relaxed)
    }

    /// A number for a transaction, above those given before, by this process or another: it is the time where that is more than
    /// the next.
    pub(crate) fn next_transaction(&self) -> u64 {
        let now = u64::try_from(SystemClock.unix_us()).unwrap_or_default();
        let next = |last: u64| Some(now.max(last + 1));
        let (set, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
        let last = self.last_transaction.fetch_update(set, fetch, next).unwrap_or_else(|last| last);
        now.max(last + 1)
    }

    /// Objects that the engine does not know, as committed.
    pub(crate) fn objects(&self) -> Arc<Objects> {
        self.objects.load_full()
    }

    /// The same, with those of a transaction whose locks are given up already.
    pub(crate) fn newest_objects(&self) -> Arc<Objects> {
        let _changing = self.changing.lock();
        self.objects()
    }

    /// Commits a transaction and shows everybody what it did to objects: in the order of the commits, since
    /// a role or grant that was taken away would come back in memory otherwise. That plans are outdated is the
    /// caller's to say.
    ///
    /// # Errors
    /// Those of the engine's commit.
    pub(crate) fn commit(&self, tx: Transaction, pending: &Pending) -> Result<Csn> {
        if pending.is_empty() {
            return Ok(tx.commit()?);
        }
        let _changing = self.changing.lock();
        let csn = tx.commit()?;
        self.objects.store(Arc::new(self.objects.load().with(pending)));
        Ok(csn)
    }

    /// Plans that were made before are made again.
    pub(crate) fn catalog_changed(&self) {
        self.catalog_version.fetch_add(1, Ordering::AcqRel);
    }

    /// Grows with every change of the catalog.
    pub(crate) fn catalog_version(&self) -> u64 {
        self.catalog_version.load(Ordering::Acquire)
    }

    /// Lets others see a session.
    pub(crate) fn enter(&self, make: impl FnOnce(SessionKey) -> Presence) -> Arc<Presence> {
        let pid = self.next_pid.fetch_add(1, Ordering::Relaxed);
        let mut secret = [0; 4];
        // A predictable secret lets others cancel statements, which is no reason to refuse a session.
        let _ = SystemRandom::new().fill(&mut secret);
        let presence = Arc::new(make(SessionKey { pid, secret: i32::from_be_bytes(secret) }));
        self.sessions.lock().insert(pid, Arc::clone(&presence));
        presence
    }

    pub(crate) fn leave(&self, pid: i32) {
        self.sessions.lock().remove(&pid);
    }

    /// The sessions, by process id.
    pub(crate) fn sessions(&self) -> Vec<Arc<Presence>> {
        let mut all: Vec<_> = self.sessions.lock().values().cloned().collect();
        all.sort_by_key(|s| s.key.pid);
        all
    }

    /// Ends a session's statement, or the session; false where there is none of this process id.
    pub(crate) fn signal(&self, pid: i32, terminate: bool) -> bool {
        let found = self.sessions.lock().get(&pid).cloned();
        let Some(session) = found else { return false };
        if terminate {
            session.terminated.store(true, Ordering::Relaxed);
        }
        session.cancel.store(true, Ordering::Relaxed);
        if let (true, Some(waker)) = (terminate, &session.waker) {
            (waker.0)();
        }
        true
    }
}
