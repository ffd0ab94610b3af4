//! What does a client's connection remember?
//!
//! Its transaction ([`block`]), settings, prepared statements, portals and cursors. The methods of
//! [`Session`] are the messages of the PostgreSQL protocol; statements run in [`run`].
//!
//! Thread safety: a session belongs to one thread; others end its statements through [`Instance`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hashbrown::HashMap;
use onlap_base::clock::{Clock, SystemClock};
use parking_lot::Mutex;

use crate::between::Between;
use crate::calls::{Call, Fingerprint, values_end};
use crate::catalog::oids;
use crate::error::{Result, SqlError, state};
use crate::fast::literals;
use crate::functions::sequences::Taken;
use crate::functions::set_config::Asked;
use crate::instance::{Instance, Presence, SessionKey, Since};
use crate::parse;
use crate::plan::room::{Kept, Running};
use crate::progress::Progress;
use crate::query::transition::Transition;
use crate::rights::ask::database_oid;
use crate::rights::{Action, Class, Judge, Key, Need};
use crate::settings::{Id, Settings, Value};
use crate::types::TOO_LONG;
use crate::view::{Listed, ListedCursor};
use crate::wire::{Client, format_of, send_if_large};

pub mod answer;
mod block;
mod columnar;
mod cursors;
mod defects;
mod exclusion;
pub(crate) mod lent;
mod modes;
mod prepare;
mod prepared;
mod reading;
mod room;
mod run;
mod scroll;
mod strings;
pub(crate) mod temporary;
pub(crate) mod texts;
mod transactions;
pub mod values;

use answer::{Answer, AnswerColumn};
use block::Block;
pub(crate) use block::Place;
pub use columnar::{Columns, Fetched};
pub(crate) use cursors::Opened;
use cursors::cannot_run;
pub use modes::level_name;
pub use prepare::{Prepared, Stamp, missing_parameter};
pub(crate) use prepared::no_role_here;
use scroll::{Keeps, Scroll};
use temporary::Temporary;
pub use values::Parameter;
pub(crate) use values::of_text;

/// Who connects.
#[derive(Clone, Debug, Default)]
pub struct SessionInfo {
    /// The role.
    pub user: String,
    /// The database; empty for the role's name.
    pub database: String,
    /// Settings that the client gave at its start: application_name, client_encoding, `-c` options.
    pub settings: Vec<(String, String)>,
    /// The client's address, for pg_stat_activity and the log.
    pub peer: String,
    /// Wakes the session's thread out of its wait for the client; called by the task that ends the session
    /// after [`Session::is_terminated`] has become true.
    pub waker: Option<Waker>,
    /// Wakes the session's thread out of its wait for the client, to call [`Session::deliver`].
    pub bell: Option<Waker>,
}

/// What wakes a thread that waits for its client.
#[derive(Clone)]
pub struct Waker(pub Arc<dyn Fn() + Send + Sync>);

impl std::fmt::Debug for Waker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Waker")
    }
}

/// One client's state: transaction, settings, prepared statements, portals.
pub struct Session {
    pub(crate) instance: Arc<Instance>,
    presence: Arc<Presence>,
    /// Whether the role that connected was a superuser then: it may go by others, as in PostgreSQL.
    began_superuser: bool,
    /// The roles that it goes by.
    pub(crate) roles: Roles,
    /// What they were before the transaction, where the transaction has changed them.
    roles_before: Option<Roles>,
    /// What they are after it, where that is something else: SET LOCAL ends with it.
    roles_after: Option<Roles>,
    /// Whether its role is that of an owner, which nothing changes: [`Session::apart`].
    confined: bool,
    /// Whether nothing of what runs may outlive it: [`Session::restricted_to`].
    restricted: bool,
    /// The modes of a transaction that the settings show.
    shown_modes: modes::Modes,
    pub(crate) database: String,
    pub(crate) settings: Settings,
    /// What the client is told of settings at the start.
    at_start: Vec<(String, String)>,
    block: Option<Block>,
    cancel: Arc<AtomicBool>,
    statements: HashMap<String, Arc<Prepared>>,
    /// Those with names, as the catalog lists them.
    listed: Arc<Mutex<Listed>>,
    /// In boxes: each is put in twice for a statement.
    portals: HashMap<String, Box<Portal>>,
    /// Names of those that run, each within the one before it.
    running: Vec<String>,
    /// What they are numbered by.
    numbers: Arc<cursors::Numbers>,
    /// The text under way has several statements, which are one transaction.
    several: bool,
    /// Routines that run, one within the other.
    depth: usize,
    /// Values of sequences that it took.
    taken: Arc<Mutex<Taken>>,
    /// What it knows of its temporary relations.
    pub(crate) temporary: Temporary,
    /// Settings that functions ask for, which are set with the next statement.
    asked: Asked,
    /// What the text under way has of the room for long ones.
    room: Option<Arc<Running>>,
    /// Its advisory locks, and the channels that it listens to.
    pub(crate) between: Arc<Between>,
    /// The version of what is lent to routines that it knows.
    lent: u64,
    /// Whether it is one of a routine, within another.
    within: bool,
    /// Tables of changed rows, of the trigger whose function runs in it.
    pub(crate) transitions: Arc<[Transition]>,
    /// Bodies of routines that it has read.
    pub(crate) bodies: crate::routine::Bodies,
    /// When the statement under way began, by the monotonic clock.
    begun_ns: u64,
    /// Whether it took the native way.
    native: bool,
    /// Whether what the transaction says that it read is this statement's.
    measured: bool,
    /// The beginning of the last INSERT of literals, and which statement that is.
    insert: Option<(String, Arc<Fingerprint>)>,
}

/// The roles that a session goes by, as OIDs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Roles {
    /// That connected, or was set by SET SESSION AUTHORIZATION: session_user.
    pub session: u32,
    /// Whose rights count: current_user.
    pub current: u32,
}

/// A statement with its values, and how much of its answer was sent.
pub(crate) struct Portal {
    prepared: Arc<Prepared>,
    /// Columns of its answer, if it gives rows: those of FETCH and EXECUTE are known when it is made.
    columns: Option<Arc<[AnswerColumn]>>,
    values: Vec<Parameter>,
    formats: Vec<i16>,
    answer: Option<Answer>,
    /// Made by DECLARE, and found by FETCH.
    cursor: bool,
    /// Declared BINARY.
    binary: bool,
    /// Lives on after its transaction.
    hold: bool,
    /// Rises with what is made or begun: savepoints that are undone take those with them that came later.
    number: u64,
    /// Made in the transaction under way.
    fresh: bool,
    /// Where a cursor stands.
    scroll: Scroll,
    /// What it takes of the room.
    kept: Option<Kept>,
    /// As the catalog lists it, if it has a name.
    listed: Option<ListedCursor>,
    /// While its query is under way.
    open: Option<lent::Open>,
}

impl Session {
    /// Begins a session.
    ///
    /// # Errors
    /// No such role or database, a setting that is none, too many sessions.
    pub fn new(instance: &Arc<Instance>, info: SessionInfo) -> Result<Session> {
        let database = if info.database.is_empty() { &info.user } else { &info.database };
        let role = instance.role(&info.user).filter(|r| r.login).ok_or_else(|| {
            let text = format!("role \"{}\" does not exist", info.user);
            SqlError::new("28000", text)
        })?;
        let objects = instance.objects();
        let known = database == crate::catalog::DEFAULT_DATABASE
            || objects.get(crate::catalog::Kind::Database, database).is_some();
        if !known {
            let text = format!("database \"{database}\" does not exist");
            return Err(SqlError::new(state::NO_DATABASE, text));
        }
        let rights = objects.rights();
        let oid = database_oid(&objects, database);
        let connect = Need::new(Action::Connect, Class::Database, Key::of(oid), database);
        if !Judge::new(rights, role.oid, oid).may(&connect) {
            let text = format!("permission denied for database \"{database}\"");
            return Err(SqlError::new(state::NO_PRIVILEGE, text)
                .detail("User does not have CONNECT privilege."));
        }
        let mut settings = Settings::new(&instance.defaults);
        // Some settings are a superuser's to set.
        settings.put(Id::IsSuperuser, Value::Flag(role.superuser));
        crate::ddl::role_settings::begin(&objects, &mut settings, role.oid, oid);
        for (name, value) in &info.settings {
            settings.start_with(name, value)?;
        }
        settings.put(Id::SessionAuthorization, Value::Text(role.name.clone()));
        Ok(Session::of_role(instance, info, role.oid, role.superuser, settings))
    }

    /// A session of the system in a database, which may do everything.
    pub(crate) fn of_system(instance: &Arc<Instance>, database: &str) -> Session {
        let info = SessionInfo { database: database.to_string(), ..SessionInfo::default() };
        let settings = Settings::new(&instance.defaults);
        Session::of_role(instance, info, oids::POSTGRES, true, settings)
    }

    fn of_role(
        instance: &Arc<Instance>,
        info: SessionInfo,
        role: u32,
        superuser: bool,
        mut settings: Settings,
    ) -> Session {
        let database = if info.database.is_empty() { info.user } else { info.database };
        let cancel = Arc::new(AtomicBool::new(false));
        let between = Between::new(instance, &database, info.bell);
        between.counts().sessions.fetch_add(1, Ordering::Relaxed);
        let presence = instance.enter(|key| Presence {
            locks: between.owner(),
            tx: Arc::clone(&between.tx),
            key,
            role,
            database: database.clone(),
            peer: info.peer,
            began_us: SystemClock.unix_us(),
            application: Mutex::default(),
            statement: Mutex::new("".into()),
            state: Mutex::new("idle"),
            since: Since::default(),
            cancel: Arc::clone(&cancel),
            terminated: AtomicBool::new(false),
            waker: info.waker,
            progress: Arc::default(),
        });
        let at_start = settings.take_reported();
        let at_start =
            at_start.into_iter().map(|(name, value)| (name.to_string(), value)).collect();
        Session {
            instance: Arc::clone(instance),
            presence,
            began_superuser: superuser,
            roles: Roles { session: role, current: role },
            roles_before: None,
            roles_after: None,
            shown_modes: modes::Modes::default(),
            confined: false,
            restricted: false,
            database,
            settings,
            at_start,
            block: None,
            cancel,
            statements: HashMap::new(),
            listed: Arc::default(),
            portals: HashMap::new(),
            running: Vec::new(),
            numbers: Arc::default(),
            taken: Arc::default(),
            temporary: Temporary::default(),
            asked: Asked::default(),
            room: None,
            between,
            several: false,
            depth: 0,
            lent: 0,
            within: false,
            transitions: Arc::from([]),
            bodies: crate::routine::Bodies::default(),
            begun_ns: 0,
            native: false,
            measured: false,
            insert: None,
        }
    }

    /// What BackendKeyData says.
    pub fn key(&self) -> SessionKey {
        self.presence.key
    }

    /// Settings that are reported at the start (ParameterStatus).
    pub fn reported(&self) -> Vec<(String, String)> {
        self.at_start.clone()
    }

    /// Tells the client of settings that have changed.
    fn report(&mut self, client: &mut dyn Client) {
        self.take_asked();
        for (name, value) in self.settings.take_reported() {
            client.reply().parameter(name, &value);
        }
    }

    /// A simple query: runs all statements of the string and collects their answers, an error's too,
    /// everything but ReadyForQuery.
    ///
    /// # Errors
    /// The client is gone, or the session was ended, which the client is to be told of.
    pub fn query(&mut self, sql: &str, client: &mut dyn Client) -> Result<()> {
        self.watched(|| defects::shown(sql), |session| session.query_answered(sql, client))
    }

    fn query_answered(&mut self, sql: &str, client: &mut dyn Client) -> Result<()> {
        self.cancel.store(false, Ordering::Relaxed);
        self.portals.remove("");
        self.statements.remove("");
        let result = self.query_all(sql, client);
        self.room = None;
        self.several = false;
        // The last statement is told of when what it did is committed.
        let result = result.and_then(|tag| self.end_implicit(client).map(|()| tag));
        match result {
            Ok(tag) => tag.iter().for_each(|tag| client.reply().complete(tag)),
            Err(e) if is_gone(&e) || self.is_terminated() => return Err(e),
            Err(e) => {
                self.hand_on(client)?;
                self.warn(client);
                let e = defects::told(self.whole(e), || defects::shown(sql));
                client.error("ERROR", &e);
                self.failed();
                self.end_implicit(client)?;
            }
        }
        self.end_idle_portals();
        self.report(client);
        self.deliver(client)?;
        self.note_state();
        self.instance.runner.room().rest();
        Ok(())
    }

    /// Portals that were made outside of a block end with their message, those too that never ran and so began no transaction.
    fn end_idle_portals(&mut self) {
        if self.block.is_none() {
            self.end_portals(true);
        }
    }

    /// Whether notifications may come for the client now: it listens, and no transaction is under way.
    pub fn may_deliver(&self) -> bool {
        self.block.is_none() && self.between.listens()
    }

    /// Tells the client of notifications, unless a transaction is under way.
    ///
    /// # Errors
    /// The client is gone.
    pub fn deliver(&mut self, client: &mut dyn Client) -> Result<()> {
        if !self.may_deliver() {
            return Ok(());
        }
        let pid = self.key().pid;
        loop {
            let notes = self.instance.exchange.read(pid);
            if notes.is_empty() {
                return Ok(());
            }
            for note in notes {
                client.reply().notification(note.pid, &note.channel, &note.payload);
                send_if_large(client)?;
            }
        }
    }

    /// The same but for the tag of the last statement, which it gives.
    fn query_all(&mut self, sql: &str, client: &mut dyn Client) -> Result<Option<String>> {
        let marked = self.marked(sql);
        self.warn(client);
        match marked? {
            Some(marked) => {
                let answered = self.query_standard(&marked.text, client);
                answered.map_err(|e| marked.back(e))
            }
            None => self.query_standard(sql, client),
        }
    }

    /// The same of a text whose literals are the standard's.
    fn query_standard(&mut self, sql: &str, client: &mut dyn Client) -> Result<Option<String>> {
        if let Some(control) = texts::control(sql) {
            self.room = None;
            return self.run_simple(&control, client).map(Some);
        }
        if let Some(literals) = self.uses_fast_path().then(|| literals::scan(sql)).flatten()
            && let Some(tag) = self.run_literals(sql, &literals)?
        {
            self.count_literals(sql, &tag);
            return Ok(Some(tag));
        }
        self.make_room(sql)?;
        let key = self.text_key(sql, None);
        if let Some(known) = self.known_text(key.as_ref()) {
            return self.run_simple(&known, client).map(Some);
        }
        let cuts = self.tell_cut_names(sql);
        self.warn(client);
        let key = key.filter(|_| !cuts);
        let mut all = parse::statements(sql)?;
        if all.is_empty() {
            client.reply().empty();
        }
        self.several = all.len() > 1;
        let last = all.pop();
        for parsed in all {
            let tag = self.run_simple(&Arc::new(Prepared::simple(parsed)), client)?;
            client.reply().complete(&tag);
        }
        let Some(parsed) = last else { return Ok(None) };
        let prepared = Arc::new(Prepared::simple(parsed));
        let tag = self.run_simple(&prepared, client)?;
        self.keep_text(key.filter(|_| !self.several), &prepared);
        Ok(Some(tag))
    }

    /// Runs a statement and sends its rows; its tag.
    fn run_simple(&mut self, prepared: &Arc<Prepared>, client: &mut dyn Client) -> Result<String> {
        if let Some(parsed) = &prepared.parsed {
            self.note_statement(parsed.shown());
        }
        let mut answer = self.run(prepared, &[], client)?;
        self.hand_on(client)?;
        let tag = self.send_whole(&mut answer, client)?;
        self.hand_on(client)?;
        prepared.parsed.iter().for_each(|parsed| self.count(parsed.fingerprint(), &tag));
        Ok(tag)
    }

    fn send_whole(&mut self, answer: &mut Answer, client: &mut dyn Client) -> Result<String> {
        match answer {
            Answer::Done(tag) => {
                self.warn(client);
                Ok(std::mem::take(tag))
            }
            Answer::Rows(rows) => {
                let formats: &[i16] = if rows.binary { &[1] } else { &[] };
                let fields = rows.columns.iter().map(AnswerColumn::field);
                client.reply().row_description(fields, formats);
                let sent = rows.send(0, formats, self.style(), client);
                self.warn(client);
                sent?;
                Ok(rows.tag())
            }
        }
    }

    /// Parse: prepares a statement; an empty name for the unnamed one. `types` are OIDs, 0 for unknown.
    ///
    /// # Errors
    /// The statement is wrong; the name is taken; the transaction has failed.
    pub fn parse(&mut self, name: &str, sql: &str, types: &[u32]) -> Result<()> {
        self.watched(|| defects::shown(sql), |session| session.parse_marked(name, sql, types))
    }

    fn parse_marked(&mut self, name: &str, sql: &str, types: &[u32]) -> Result<()> {
        // A cancel means a statement that runs.
        self.cancel.store(false, Ordering::Relaxed);
        if name.is_empty() {
            // It goes whatever becomes of this one.
            self.statements.remove("");
        }
        let parsed = match self.marked(sql) {
            Ok(Some(marked)) => {
                let parsed = self.parse_in_room(name, &marked.text, types);
                parsed.map_err(|e| marked.back(e))
            }
            Ok(None) => self.parse_in_room(name, sql, types),
            Err(e) => Err(e),
        };
        self.room = None;
        parsed
    }

    fn parse_in_room(&mut self, name: &str, sql: &str, types: &[u32]) -> Result<()> {
        self.make_room(sql)?;
        // Those with names have room of their own.
        let key = if name.is_empty() { self.text_key(sql, Some(types)) } else { None };
        if let Some(known) = self.known_text(key.as_ref()) {
            self.statements.insert(String::new(), known);
            return Ok(());
        }
        let cuts = self.tell_cut_names(sql);
        let key = key.filter(|_| !cuts);
        let mut all = parse::statements(sql)?;
        if all.len() > 1 {
            let text = "cannot insert multiple commands into a prepared statement";
            return Err(SqlError::new(state::SYNTAX, text));
        }
        let mut prepared = self.prepare(all.pop(), types)?;
        if !name.is_empty() && self.statements.contains_key(name) {
            let text = format!("prepared statement \"{name}\" already exists");
            return Err(SqlError::new(state::DUPLICATE_STATEMENT, text));
        }
        if !name.is_empty() {
            prepared = self.with_literals_of_now(prepared, types)?;
        }
        prepared.kept = self.keep_room(name, sql)?;
        let prepared = Arc::new(prepared);
        self.list(name, sql, &prepared, false);
        self.keep_text(key, &prepared);
        self.statements.insert(name.to_string(), prepared);
        Ok(())
    }

    fn statement(&self, name: &str) -> Result<Arc<Prepared>> {
        self.statements.get(name).cloned().ok_or_else(|| {
            let text = match name {
                "" => "unnamed prepared statement does not exist".to_string(),
                name => format!("prepared statement \"{name}\" does not exist"),
            };
            SqlError::new(state::NO_STATEMENT, text)
        })
    }

    /// Describe of a statement: collects ParameterDescription and RowDescription or NoData.
    ///
    /// # Errors
    /// There is no such statement; `25P02`.
    pub fn describe_statement(&mut self, name: &str, client: &mut dyn Client) -> Result<()> {
        let prepared = self.statement(name)?;
        // A cancel that came between statements ends none.
        self.cancel.store(false, Ordering::Relaxed);
        if prepared.columns.is_some() {
            self.must_answer(&prepared)?;
        }
        let oids: Vec<u32> = prepared.parameters.iter().map(|p| p.oid).collect();
        client.reply().parameters(&oids);
        if prepared.columns.is_some() {
            let text = defects::of_prepared(Some(Arc::clone(&prepared)));
            self.watched(text, |session| session.must_still_give(&prepared))?;
        }
        describe(prepared.columns.as_deref(), &[], client);
        Ok(())
    }

    /// Bind: makes a portal of a statement and values, in the formats given (none: text; one for all;
    /// or one each).
    ///
    /// # Errors
    /// There is no such statement; a value is not of its type; `25P02`.
    pub fn bind(
        &mut self,
        portal: &str,
        statement: &str,
        formats: &[i16],
        values: &[Option<&[u8]>],
        result_formats: &[i16],
    ) -> Result<()> {
        let prepared = self.statement(statement)?;
        self.cancel.store(false, Ordering::Relaxed);
        if values.len() != prepared.parameters.len() {
            let text = format!(
                "bind message supplies {} parameters, but prepared statement \"{statement}\" \
                 requires {}",
                values.len(),
                prepared.parameters.len()
            );
            return Err(SqlError::new(state::PROTOCOL, text));
        }
        let text = defects::of_prepared(Some(Arc::clone(&prepared)));
        let formats = (formats, result_formats);
        self.watched(text, |session| session.bound_portal(portal, prepared, values, formats))
    }

    /// A portal of a statement and as many values as it has parameters; their formats, and those of its columns.
    fn bound_portal(
        &mut self,
        portal: &str,
        prepared: Arc<Prepared>,
        values: &[Option<&[u8]>],
        (formats, result_formats): (&[i16], &[i16]),
    ) -> Result<()> {
        self.must_answer(&prepared)?;
        self.must_still_give(&prepared)?;
        self.reclaim_cursors();
        if !portal.is_empty() && self.portals.contains_key(portal) {
            let text = format!("cursor \"{portal}\" already exists");
            return Err(SqlError::new(state::DUPLICATE_CURSOR, text));
        }
        let columns = run::columns_when_bound(self, &prepared);
        let wanted = (columns.as_deref().map(<[_]>::len), result_formats);
        values::check_formats((values.len(), formats), wanted)?;
        let bytes = values.iter().flatten().map(|value| value.len()).sum();
        if !prepared.is_native() {
            self.check_values(bytes)?;
        }
        let kept = self.keep_portal(portal, bytes)?;
        let mut given = Vec::with_capacity(values.len());
        for (i, (value, ty)) in values.iter().zip(&prepared.parameters).enumerate() {
            let format = format_of(formats, i);
            let value = value.map(|value| self.decoded(*ty, value, format)).transpose()?;
            let parameter = self.parameter(*ty, value.as_deref(), format);
            given.push(parameter.map_err(|e| {
                let e = match e.message() == TOO_LONG {
                    true => e.with_message(format!("{TOO_LONG} in bind parameter {}", i + 1)),
                    false => e,
                };
                values::within_bind(e, portal, i + 1, value.as_deref().filter(|_| format == 0))
            })?);
        }
        let listed = (!portal.is_empty()).then(|| ListedCursor {
            name: portal.to_owned(),
            text: prepared.parsed.as_ref().map_or_else(String::new, |p| p.text.clone()),
            hold: false,
            binary: false,
            scrolls: false,
            made_us: SystemClock.unix_us(),
        });
        let made = Portal {
            prepared,
            columns,
            listed,
            values: given,
            formats: result_formats.to_vec(),
            answer: None,
            cursor: false,
            binary: false,
            hold: false,
            number: self.next_portal(),
            fresh: true,
            scroll: Scroll::new(Keeps::None),
            kept,
            open: None,
        };
        self.portals.insert(portal.to_string(), Box::new(made));
        Ok(())
    }

    /// Fails where the transaction has failed and the statement does not end it, as each message that asks for its rows does.
    fn must_answer(&self, prepared: &Prepared) -> Result<()> {
        let failed = self.block.as_ref().is_some_and(|block| block.failed);
        let ends = prepared.parsed.as_ref().is_some_and(|p| run::ends_transaction(&p.tree));
        match failed && !ends {
            true => Err(run::in_failed_transaction()),
            false => Ok(()),
        }
    }

    /// Describe of a portal: collects RowDescription or NoData.
    ///
    /// # Errors
    /// There is no such portal; `25P02`.
    pub fn describe_portal(&mut self, name: &str, client: &mut dyn Client) -> Result<()> {
        self.reclaim_cursors();
        let portal = self.portals.get(name).ok_or_else(|| no_portal(name))?;
        if portal.columns.is_some() {
            self.must_answer(&portal.prepared)?;
        }
        describe(portal.columns.as_deref(), &portal.formats, client);
        Ok(())
    }

    /// Execute: collects rows, at most so many (0: all), and CommandComplete or PortalSuspended.
    ///
    /// # Errors
    /// Those of the statement.
    pub fn execute(&mut self, name: &str, rows: usize, client: &mut dyn Client) -> Result<()> {
        self.reclaim_cursors();
        let text = defects::of_portal(self.portals.get(name).map(|portal| &**portal));
        self.watched(text, |session| session.execute_named(name, rows, client))
    }

    fn execute_named(&mut self, name: &str, rows: usize, client: &mut dyn Client) -> Result<()> {
        let portal = self.portals.get(name).ok_or_else(|| no_portal(name))?;
        if portal.prepared.parsed.is_some() {
            self.must_answer(&portal.prepared)?;
        }
        let mut portal = self.start_portal(name)?;
        let result = match portal.cursor {
            true => self.execute_cursor(name, &mut portal, rows, client),
            false if portal.is_done() => Err(cannot_run(name)),
            false => self.execute_portal(&mut portal, rows, client),
        };
        let told = self.hand_on(client);
        let result = result.map_err(|e| self.whole(e));
        // Rows that are still to come keep it for as long as they do.
        self.room = None;
        self.stop_portal(portal);
        told.and(result)
    }

    fn execute_portal(
        &mut self,
        portal: &mut Portal,
        rows: usize,
        client: &mut dyn Client,
    ) -> Result<()> {
        let prepared = Arc::clone(&portal.prepared);
        let Some(parsed) = &prepared.parsed else {
            client.reply().empty();
            return Ok(());
        };
        self.start_answer(portal, client)?;
        self.hand_on(client)?;
        let style = self.style();
        match portal.answer.as_mut().expect("was just made") {
            Answer::Done(tag) => {
                self.warn(client);
                client.reply().complete(tag);
                self.count(parsed.fingerprint(), tag);
            }
            Answer::Rows(answer) => {
                let sent = answer.send(rows, &portal.formats, style, client);
                self.warn(client);
                let is_whole = sent?;
                self.hand_on(client)?;
                match is_whole {
                    true => {
                        let tag = answer.tag();
                        client.reply().complete(&tag);
                        self.count(parsed.fingerprint(), &tag);
                    }
                    false => {
                        client.reply().suspended();
                        // Others may read before it goes on.
                        self.measured = false;
                        if portal.open.is_none() {
                            portal.open = self.open(self.tables_of(&portal.prepared));
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Runs a portal's statement, unless it has begun.
    fn start_answer(&mut self, portal: &mut Portal, client: &mut dyn Client) -> Result<()> {
        self.limit_time();
        let Some(parsed) = portal.prepared.parsed.as_ref().filter(|_| portal.answer.is_none())
        else {
            return Ok(());
        };
        self.cancel.store(false, Ordering::Relaxed);
        self.note_statement(parsed.shown());
        let prepared = Arc::clone(&portal.prepared);
        self.make_room(&parsed.text)?;
        portal.answer = Some(self.run(&prepared, &portal.values, client)?);
        Ok(())
    }

    /// Close of a statement; nothing happens where there is none.
    pub fn close_statement(&mut self, name: &str) {
        self.statements.remove(name);
        self.listed.lock().remove(name);
    }

    /// Close of a portal; nothing happens where there is none.
    pub fn close_portal(&mut self, name: &str) {
        self.reclaim_cursors();
        self.portals.remove(name);
    }

    /// After an error of the extended protocol: the transaction has failed. Messages up to Sync are the
    /// caller's to skip.
    pub fn failed(&mut self) {
        if let Some(block) = self.block.as_mut().filter(|block| !block.failed) {
            block.fail();
        }
    }

    /// Tells the client what functions of a statement had to say.
    pub fn warn(&self, client: &mut dyn Client) {
        for warning in self.between.take_warnings() {
            let severity = if warning.state() == texts::CUT_NAME { "NOTICE" } else { "WARNING" };
            match (self.settings.text(Id::ClientMinMessages), severity) {
                ("error", _) | ("warning", "NOTICE") => {}
                _ => client.reply().notice(severity, &warning),
            }
        }
    }

    /// Sync: ends the implicit transaction, which commits unless it failed.
    ///
    /// # Errors
    /// Those of the commit.
    pub fn sync(&mut self, client: &mut dyn Client) -> Result<()> {
        let presence = Arc::clone(&self.presence);
        let last = move || presence.statement.lock().to_string();
        self.watched(last, |session| session.synced(client))
    }

    fn synced(&mut self, client: &mut dyn Client) -> Result<()> {
        let ended = self.end_implicit(client);
        self.end_idle_portals();
        self.report(client);
        self.deliver(client)?;
        self.note_state();
        self.instance.runner.room().rest();
        ended
    }

    /// Status for ReadyForQuery: `I`, `T` or `E`.
    pub fn status(&self) -> u8 {
        match &self.block {
            Some(block) if block.explicit && block.failed => b'E',
            Some(block) if block.explicit => b'T',
            _ => b'I',
        }
    }

    /// Where what it does for long is shown.
    pub fn progress(&self) -> &Arc<Progress> {
        &self.presence.progress
    }

    /// Whether somebody asked for the session's end (pg_terminate_backend, shutdown, a timeout while
    /// idle).
    pub fn is_terminated(&self) -> bool {
        self.presence.terminated.load(Ordering::Relaxed)
    }

    /// How long the client may now stay silent before the session ends, and the error it ends with:
    /// idle_in_transaction_session_timeout inside a transaction, idle_session_timeout outside.
    pub fn idle_limit(&self) -> Option<(Duration, SqlError)> {
        let (id, state, what) = match self.status() {
            b'I' => (Id::IdleSessionTimeout, "57P05", "idle-session"),
            _ => (Id::IdleInTransactionSessionTimeout, "25P03", "idle-in-transaction"),
        };
        let time = self.settings.time(id)?;
        let text = format!("terminating connection due to {what} timeout");
        Some((time, SqlError::new(state, text)))
    }

    /// The text of a portal's statement, for the log of slow ones.
    pub fn portal_text(&self, portal: &str) -> Option<&str> {
        let portal = self.portals.get(portal)?;
        portal.prepared.parsed.as_ref().map(|p| p.text.as_str())
    }

    fn note_statement(&mut self, shown: &Arc<str>) {
        (self.begun_ns, self.native) = (SystemClock.monotonic_ns(), false);
        self.measured = false;
        *self.presence.statement.lock() = Arc::clone(shown);
        *self.presence.state.lock() = "active";
        let (since, now) = (&self.presence.since, SystemClock.unix_us());
        since.state_us.store(now, Ordering::Relaxed);
        since.statement_us.store(now, Ordering::Relaxed);
        if since.transaction_us.load(Ordering::Relaxed) == 0 {
            since.transaction_us.store(now, Ordering::Relaxed);
        }
    }

    /// Counts a statement that has ended, by what its tag says of rows.
    fn count(&self, fingerprint: &Arc<Fingerprint>, tag: &str) {
        self.between.counts().changed(tag, &fingerprint.text);
        let mut call = Call::default();
        if let Some(block) = self.block.as_ref().filter(|_| self.measured) {
            block.scope.measure(&mut call);
            self.between.counts().read(&call);
        }
        if self.settings.text(Id::TrackStatements) == "none" {
            return;
        }
        let digits = tag.bytes().rev().take_while(u8::is_ascii_digit).count();
        call.rows = tag[tag.len() - digits..].parse().unwrap_or(0);
        call.ns = SystemClock.monotonic_ns().saturating_sub(self.begun_ns);
        (call.native, call.path) = (self.native, self.settings.path());
        self.instance.calls.add(fingerprint, self.roles.current, &self.database, &call);
    }

    /// The same of an INSERT of literals, which may be long: all that begin alike are one.
    fn count_literals(&mut self, sql: &str, tag: &str) {
        if !self.insert.as_ref().is_some_and(|(head, _)| sql.starts_with(head.as_str())) {
            let head = sql[..values_end(sql)].to_owned();
            self.insert = Some((head, Arc::new(Fingerprint::of(sql))));
        }
        if let Some((_, fingerprint)) = self.insert.clone() {
            self.native = true;
            self.count(&fingerprint, tag);
        }
    }

    fn note_state(&self) {
        *self.presence.state.lock() = match self.status() {
            b'T' => "idle in transaction",
            b'E' => "idle in transaction (aborted)",
            _ => "idle",
        };
        let since = &self.presence.since;
        since.state_us.store(SystemClock.unix_us(), Ordering::Relaxed);
        if self.status() == b'I' {
            since.transaction_us.store(0, Ordering::Relaxed);
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.within {
            return;
        }
        self.portals.clear();
        if let Some(block) = self.block.take() {
            block.rollback(&self.instance);
        }
        self.forget_temporary();
        self.between.leave(&self.instance, self.presence.key.pid);
        self.instance.leave(self.presence.key.pid);
    }
}

fn describe(columns: Option<&[AnswerColumn]>, formats: &[i16], client: &mut dyn Client) {
    match columns {
        Some(columns) => {
            let fields = columns.iter().map(AnswerColumn::field);
            client.reply().row_description(fields, formats);
        }
        None => client.reply().no_data(),
    }
}

impl Portal {
    /// Whether it has run and gave no rows: it does not run again.
    fn is_done(&self) -> bool {
        matches!(self.answer, Some(Answer::Done(_)))
    }
}

fn no_portal(name: &str) -> SqlError {
    SqlError::new(state::NO_CURSOR, format!("portal \"{name}\" does not exist"))
}

/// Whether an error says that the client is gone, so that nobody reads an answer.
pub(crate) fn is_gone(e: &SqlError) -> bool {
    e.state().starts_with("08") && e.state() != state::PROTOCOL
}
