//! How do routines that a statement calls run in its session?
//!
//! A statement's steps cannot reach the session, which waits for them. A session so lends what routines go by to its transaction
//! ([`Lent`]) when a statement begins; who calls a routine makes a session of it that shares the transaction, or takes one that
//! an earlier call has left. What that has changed of settings and of the catalog is lent back, and the session takes it over
//! before it looks at them again.
//!
//! Thread safety: one thread uses a transaction at a time; the lock is never held while a routine runs.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use datafusion_execution::memory_pool::{MemoryConsumer, MemoryReservation};
use hashbrown::HashMap;
use onlap::TableId;
use parking_lot::Mutex;

use super::answer::AnswerColumn;
use super::block::Block;
use super::cursors::Numbers;
use super::modes::Modes;
use super::temporary::Temporary;
use super::{Portal, Roles, Session};
use crate::between::Between;
use crate::catalog::objects::Pending;
use crate::error::{Result, SqlError};
use crate::functions::sequences::Taken;
use crate::functions::set_config::Asked;
use crate::instance::{Instance, Presence};
use crate::scope::Scope;
use crate::settings::Settings;
use crate::view::{Listed, View};
use crate::wire::{Client, CopyData, Reply, send_if_large};

/// What a routine that runs as its owner, or with settings of its own, comes back to.
pub(crate) struct Apart {
    roles: Option<(Roles, Option<Roles>, Option<Roles>)>,
    settings: Option<crate::settings::Mark>,
    confined: bool,
    restricted: bool,
}

/// What a session lends to the routines of a transaction.
#[derive(Default)]
pub struct Lent(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    base: Option<Base>,
    /// Grows with every change of what is lent.
    version: u64,
    /// Sessions that calls have left.
    left: Vec<Session>,
    /// Routines that run, one within the other.
    depth: usize,
    /// Functions of triggers among them.
    fires: u32,
    /// Whether one has run in the statement under way.
    has_run: bool,
    /// What they have told the client, and the memory of it.
    told: Vec<u8>,
    memory: Option<MemoryReservation>,
    /// Whether the statement under way has sent rows.
    sends: bool,
    /// Defects that routines have taken as their handlers do, for the log.
    taken: Vec<SqlError>,
    /// The error of a routine, as it is carried through the steps that have called it.
    failed: Option<SqlError>,
    /// The tables of statements under way.
    used: Vec<Arc<[TableId]>>,
    /// Those of cursors that are open.
    open: Vec<Arc<[TableId]>>,
    /// Cursors, while statements may call routines: each is taken out by the session that goes on in it.
    cursors: HashMap<String, Box<Portal>>,
}

impl Lent {
    /// The version of what is lent.
    pub fn version(&self) -> u64 {
        self.0.lock().version
    }

    /// What a setting shows, where routines have changed what is lent since a version.
    pub fn setting_since(&self, version: u64, name: &str) -> Option<String> {
        let inner = self.0.lock();
        let base = inner.base.as_ref().filter(|_| inner.version > version)?;
        base.settings.show(name).ok()
    }
}

/// What a session of a routine begins with.
#[derive(Clone)]
struct Base {
    instance: Arc<Instance>,
    presence: Arc<Presence>,
    began_superuser: bool,
    roles: Roles,
    roles_after: Option<Roles>,
    database: String,
    settings: Settings,
    cancel: Arc<AtomicBool>,
    listed: Arc<Mutex<Listed>>,
    taken: Arc<Mutex<Taken>>,
    numbers: Arc<Numbers>,
    temporary: Temporary,
    state: State,
    modes: Modes,
    confined: bool,
    restricted: bool,
    shown_modes: Modes,
    between: Arc<Between>,
}

/// What a transaction has changed.
#[derive(Clone)]
struct State {
    pending: Pending,
    changed_catalog: bool,
    own_catalog: u64,
    changed_for_others: bool,
    changed: bool,
}

impl State {
    fn of(block: &Block) -> State {
        State {
            pending: block.pending.clone(),
            changed_catalog: block.changed_catalog,
            own_catalog: block.own_catalog,
            changed_for_others: block.changed_for_others,
            changed: block.changed,
        }
    }

    fn is(&self, block: &Block) -> bool {
        self.pending.len() == block.pending.len()
            && self.changed_catalog == block.changed_catalog
            && self.own_catalog == block.own_catalog
            && self.changed_for_others == block.changed_for_others
            && self.changed == block.changed
    }
}

/// Bytes that routines tell a client before it hears of them that are not counted.
const TOLD_BYTES: usize = 64 << 10;
/// Defects that routines have taken and that wait for the log: a statement that meets more meets the same ones again.
const TAKEN: usize = 16;

impl Lent {
    /// The transaction has ended.
    pub fn end(&self) {
        let mut inner = self.0.lock();
        let left = std::mem::take(&mut inner.left);
        let cursors = std::mem::take(&mut inner.cursors);
        inner.base = None;
        drop(inner);
        drop((left, cursors));
    }

    /// One routine more runs within others; how many there are.
    pub fn enter(&self) -> usize {
        let mut inner = self.0.lock();
        inner.depth += 1;
        inner.has_run = true;
        inner.depth
    }

    /// One ends.
    pub fn leave(&self) {
        let mut inner = self.0.lock();
        inner.depth = inner.depth.saturating_sub(1);
    }

    /// The function of a trigger runs until what is given is dropped.
    pub fn fires(&self) -> Fires<'_> {
        self.0.lock().fires += 1;
        Fires(self)
    }

    /// How many functions of triggers run, one within the other.
    pub fn depth_of_triggers(&self) -> u32 {
        self.0.lock().fires
    }

    /// A statement of the client begins.
    pub fn begin(&self) {
        let mut inner = self.0.lock();
        (inner.has_run, inner.sends) = (false, false);
    }

    /// Whether a routine has run in the statement under way, which so cannot begin anew.
    pub fn has_run(&self) -> bool {
        self.0.lock().has_run
    }

    /// How many run.
    pub fn depth(&self) -> usize {
        self.0.lock().depth
    }

    /// Keeps an error, which the steps that have called the routine carry on only in part.
    pub fn keep(&self, error: &SqlError) {
        self.0.lock().failed = Some(error.clone());
    }

    /// The whole of an error, if it is that of a routine.
    pub fn whole(&self, error: SqlError) -> SqlError {
        let mut inner = self.0.lock();
        match inner.failed.take() {
            Some(kept) if kept.message() == error.message() => kept.further_out(&error),
            kept => {
                inner.failed = kept;
                error
            }
        }
    }

    /// What a routine has told the client.
    ///
    /// # Errors
    /// `53200`.
    pub fn tell(&self, bytes: &[u8], instance: &Instance) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let mut inner = self.0.lock();
        if inner.told.len() + bytes.len() > TOLD_BYTES {
            let pool = instance.runner.memory();
            let memory = inner
                .memory
                .get_or_insert_with(|| MemoryConsumer::new("what routines tell").register(&pool));
            memory.try_grow(bytes.len())?;
        }
        inner.told.extend_from_slice(bytes);
        Ok(())
    }

    /// What routines have told, which stays in the memory that it was charged to.
    pub fn take_told(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().told)
    }

    /// Has them told it, before all that they tell since.
    pub fn tell_first(&self, mut told: Vec<u8>) {
        let mut inner = self.0.lock();
        told.append(&mut inner.told);
        inner.told = told;
    }

    /// Notes that the statement sends rows from now on, which so cannot begin anew.
    pub fn send(&self) {
        self.0.lock().sends = true;
    }

    /// Whether it has begun to.
    pub fn sends(&self) -> bool {
        self.0.lock().sends
    }

    /// Keeps a defect that a routine has taken for the log.
    pub fn note(&self, error: &SqlError) {
        let mut inner = self.0.lock();
        if error.as_defect().is_some() && inner.taken.len() < TAKEN {
            inner.taken.push(error.clone());
        }
    }

    /// Hands on what routines have told.
    ///
    /// # Errors
    /// The client is gone.
    pub fn hand_on(&self, client: &mut dyn Client) -> Result<()> {
        let mut inner = self.0.lock();
        for error in std::mem::take(&mut inner.taken) {
            client.note(&error);
        }
        if inner.told.is_empty() {
            return Ok(());
        }
        client.reply().bytes().append(&mut inner.told);
        inner.memory = None;
        drop(inner);
        send_if_large(client)
    }

    /// Whether a cursor that is open, or a statement that has called a routine, uses a table.
    pub fn uses(&self, table: TableId) -> bool {
        let inner = self.0.lock();
        let has = |all: &[Arc<[TableId]>]| all.iter().any(|of| of.contains(&table));
        has(&inner.open) || inner.depth > 0 && has(&inner.used)
    }

    /// Whether a statement that has called a routine uses a table.
    pub fn is_called_for(&self, table: TableId) -> bool {
        let inner = self.0.lock();
        inner.depth > 0 && inner.used.iter().any(|of| of.contains(&table))
    }
}

/// The function of a trigger runs.
pub struct Fires<'a>(&'a Lent);

impl Drop for Fires<'_> {
    fn drop(&mut self) {
        self.0.0.lock().fires -= 1;
    }
}

/// A statement uses tables, which routines that it calls may not change the form of.
pub struct Using {
    scope: Arc<Scope>,
    tables: Arc<[TableId]>,
}

impl Using {
    /// These, until it is dropped. Without functions there is none that could ask: nothing is noted then.
    pub fn of(view: &View, tables: impl FnOnce() -> Arc<[TableId]>) -> Option<Using> {
        if view.objects.functions().is_empty() {
            return None;
        }
        let (scope, tables) = (Arc::clone(&view.scope), tables());
        scope.lent().0.lock().used.push(Arc::clone(&tables));
        Some(Using { scope, tables })
    }
}

impl Drop for Using {
    fn drop(&mut self) {
        leave_out(&mut self.scope.lent().0.lock().used, &self.tables);
    }
}

/// A cursor is open: no statement of the session may change the form of its tables until this is dropped.
pub struct Open {
    scope: Arc<Scope>,
    tables: Arc<[TableId]>,
}

impl Open {
    /// A cursor that reads these.
    pub fn new(scope: &Arc<Scope>, tables: Arc<[TableId]>) -> Open {
        scope.lent().0.lock().open.push(Arc::clone(&tables));
        Open { scope: Arc::clone(scope), tables }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        leave_out(&mut self.scope.lent().0.lock().open, &self.tables);
    }
}

fn leave_out(all: &mut Vec<Arc<[TableId]>>, tables: &Arc<[TableId]>) {
    if let Some(at) = all.iter().rposition(|of| Arc::ptr_eq(of, tables)) {
        all.swap_remove(at);
    }
}

impl std::fmt::Debug for Lent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Lent")
    }
}

/// A client that takes what a routine tells. It waits with the transaction, in memory that is counted.
pub struct Told {
    reply: Reply,
    scope: Arc<Scope>,
    instance: Arc<Instance>,
}

impl Told {
    /// Nothing was told yet.
    pub fn new(view: &View) -> Told {
        let (scope, instance) = (Arc::clone(&view.scope), Arc::clone(&view.instance));
        Told { reply: Reply::default(), scope, instance }
    }
}

impl Client for Told {
    fn reply(&mut self) -> &mut Reply {
        &mut self.reply
    }
    fn send(&mut self) -> Result<()> {
        let told = std::mem::take(self.reply.bytes());
        self.scope.lent().tell(&told, &self.instance)
    }
    fn note(&mut self, error: &SqlError) {
        self.scope.lent().note(error);
    }
    fn copy_data(&mut self) -> Result<CopyData> {
        Err(SqlError::unsupported("COPY from a client in a routine"))
    }
}

impl Session {
    /// Lends what routines go by to the transaction.
    pub(crate) fn lend(&mut self) {
        let Some(block) = &self.block else { return };
        let scope = Arc::clone(&block.scope);
        let mut inner = scope.lent().0.lock();
        if let Some(base) = &inner.base
            && base.state.is(block)
            && base.settings.is(&self.settings)
            && base.roles == self.roles
            && base.modes == block.modes
            && base.confined == self.confined
            && base.restricted == self.restricted
            && base.temporary.is_made == self.temporary.is_made
            && base.temporary.version == self.temporary.version
        {
            return;
        }
        inner.version += 1;
        self.lent = inner.version;
        inner.base = Some(Base {
            instance: Arc::clone(&self.instance),
            presence: Arc::clone(&self.presence),
            began_superuser: self.began_superuser,
            roles: self.roles,
            roles_after: self.roles_after,
            database: self.database.clone(),
            settings: self.settings.clone(),
            cancel: Arc::clone(&self.cancel),
            listed: Arc::clone(&self.listed),
            taken: Arc::clone(&self.taken),
            numbers: Arc::clone(&self.numbers),
            temporary: self.temporary.clone(),
            state: State::of(block),
            modes: block.modes,
            confined: self.confined,
            restricted: self.restricted,
            shown_modes: self.shown_modes,
            between: Arc::clone(&self.between),
        });
    }

    /// Takes over what routines have changed.
    pub(crate) fn take_over(&mut self) {
        let Some(block) = &mut self.block else { return };
        let scope = Arc::clone(&block.scope);
        let inner = scope.lent().0.lock();
        let Some(base) = inner.base.as_ref().filter(|_| inner.version != self.lent) else { return };
        self.lent = inner.version;
        block.pending = base.state.pending.clone();
        block.changed_catalog |= base.state.changed_catalog;
        block.own_catalog = base.state.own_catalog;
        block.changed_for_others |= base.state.changed_for_others;
        block.changed |= base.state.changed;
        let reported = std::mem::replace(&mut self.settings, base.settings.clone());
        self.settings.keep_reported(reported);
        if self.roles != base.roles {
            self.roles_before.get_or_insert(self.roles);
        }
        self.roles = base.roles;
        self.roles_after = base.roles_after;
        self.temporary = base.temporary.clone();
    }

    /// Lends the cursors that are not under way.
    pub(crate) fn lend_cursors(&mut self) {
        let Some(block) = &self.block else { return };
        if self.portals.is_empty() {
            return;
        }
        let own: Vec<_> = self.portals.extract_if(|_, portal| portal.cursor).collect();
        let mut inner = block.scope.lent().0.lock();
        let mut replaced = Vec::new();
        for (name, portal) in own {
            replaced.extend(inner.cursors.insert(name, portal));
        }
        // One that ends notes that, which takes the lock.
        drop(inner);
        drop(replaced);
    }

    /// Takes back the cursors that are lent, with those that routines have opened.
    pub(crate) fn reclaim_cursors(&mut self) {
        let Some(block) = &self.block else { return };
        let lent = std::mem::take(&mut block.scope.lent().0.lock().cursors);
        self.portals.extend(lent);
    }

    /// The columns of a cursor that is lent.
    pub(super) fn columns_lent(&self, name: &str) -> Option<Arc<[AnswerColumn]>> {
        let inner = self.block.as_ref()?.scope.lent().0.lock();
        inner.cursors.get(name)?.columns.clone()
    }

    /// Hands on what routines have told the client.
    ///
    /// # Errors
    /// The client is gone.
    pub(crate) fn hand_on(&self, client: &mut dyn Client) -> Result<()> {
        match &self.block {
            Some(block) => block.scope.lent().hand_on(client),
            None => Ok(()),
        }
    }

    /// The whole of an error that may be one of a routine.
    pub(crate) fn whole(&self, error: SqlError) -> SqlError {
        match &self.block {
            Some(block) => block.scope.lent().whole(error),
            None => error,
        }
    }

    /// Whether it is one of a routine.
    pub(crate) fn is_within(&self) -> bool {
        self.within
    }

    /// The version of what is lent that it knows.
    pub(crate) fn version_lent(&self) -> u64 {
        self.lent
    }

    /// Goes on as another role, where one is given, which nothing changes meanwhile; `sets`: it has settings of its own. What
    /// [`Session::together_again`] comes back to.
    pub(crate) fn apart(&mut self, role: Option<u32>, sets: bool) -> Apart {
        self.take_asked();
        let apart = Apart {
            roles: role.map(|_| (self.roles, self.roles_before, self.roles_after)),
            settings: sets.then(|| self.settings.mark()),
            confined: self.confined,
            restricted: self.restricted,
        };
        if let Some(current) = role {
            self.confined = true;
            self.be(Roles { session: self.roles.session, current });
        }
        apart
    }

    /// Does something with the rights of a role, and of no other: functions that it calls may be another's, so what they set is
    /// set back, and they cannot leave temporary tables or become another role.
    ///
    /// # Errors
    /// Its own.
    pub(crate) fn restricted_to<T>(
        &mut self,
        role: u32,
        f: impl FnOnce(&View) -> Result<T>,
    ) -> Result<T> {
        let apart = self.apart(Some(role), true);
        (self.confined, self.restricted) = (apart.confined, true);
        let done = self.in_view(|session, view| {
            session.lend();
            f(view)
        });
        self.together_again(apart, None);
        self.lend();
        done
    }

    /// Fails where a statement would outlive an operation that is restricted to a role.
    ///
    /// # Errors
    /// `42501`.
    pub(crate) fn must_be_unrestricted(&self, what: &str) -> Result<()> {
        if !self.restricted {
            return Ok(());
        }
        let text = format!("cannot {what} within security-restricted operation");
        Err(SqlError::new(crate::error::state::NO_PRIVILEGE, text))
    }

    /// Comes back to the role of before, and gives back the settings that were the routine's `own`, or all where none are given.
    pub(crate) fn together_again(&mut self, apart: Apart, own: Option<&[(String, String)]>) {
        self.take_asked();
        (self.confined, self.restricted) = (apart.confined, apart.restricted);
        match (&apart.settings, own) {
            (None, _) => {}
            (Some(settings), None) => self.settings.back_to(settings),
            (Some(settings), Some(own)) => {
                self.settings.give_back(own.iter().map(|(name, _)| name.as_str()), settings);
            }
        }
        if let Some((roles, before, after)) = apart.roles {
            (self.roles_before, self.roles_after) = (before, after);
            self.be(roles);
        }
    }

    /// A session for a routine.
    ///
    /// # Errors
    /// The session has lent nothing: no statement of it runs.
    pub(crate) fn of_routine(scope: &Arc<Scope>) -> Result<Session> {
        let mut inner = scope.lent().0.lock();
        let version = inner.version;
        if let Some(mut left) = inner.left.pop() {
            drop(inner);
            left.take_over();
            return Ok(left);
        }
        let Some(base) = inner.base.clone() else {
            return Err(SqlError::unsupported("a function of the database here"));
        };
        drop(inner);
        let mut block = Block::within(scope, base.modes);
        block.pending = base.state.pending;
        block.changed_catalog = base.state.changed_catalog;
        block.own_catalog = base.state.own_catalog;
        block.changed_for_others = base.state.changed_for_others;
        block.changed = base.state.changed;
        Ok(Session {
            instance: base.instance,
            presence: base.presence,
            began_superuser: base.began_superuser,
            roles: base.roles,
            roles_before: None,
            roles_after: base.roles_after,
            shown_modes: base.shown_modes,
            confined: base.confined,
            restricted: base.restricted,
            between: base.between,
            database: base.database,
            settings: base.settings,
            at_start: Vec::new(),
            block: Some(block),
            cancel: base.cancel,
            statements: HashMap::new(),
            listed: base.listed,
            portals: HashMap::new(),
            running: Vec::new(),
            numbers: base.numbers,
            several: true,
            depth: 0,
            taken: base.taken,
            temporary: base.temporary,
            asked: Asked::default(),
            room: None,
            lent: version,
            within: true,
            transitions: Arc::from([]),
            bodies: crate::routine::Bodies::default(),
            begun_ns: 0,
            native: false,
            measured: false,
            insert: None,
        })
    }

    /// Leaves the session of a routine to the next call.
    pub(crate) fn leave_to_next(mut self) {
        /// More are not kept.
        const MOST: usize = 8;
        self.take_asked();
        self.lend();
        self.lend_cursors();
        let Some(block) = &self.block else { return };
        let scope = Arc::clone(&block.scope);
        let mut inner = scope.lent().0.lock();
        if inner.left.len() < MOST && inner.base.is_some() {
            inner.left.push(self);
            return;
        }
        drop(inner);
    }
}
