//! Which cursors does a session have?
//!
//! DECLARE makes a portal of a query; FETCH and MOVE take rows from it ([`super::scroll`]). A cursor WITH HOLD
//! has its rows from the start, so that it outlives the transaction.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use onlap::TableId;
use onlap_base::clock::{Clock, SystemClock};
use onlap_pg::ast::{Declare, Fetch, Statement, Way};

use super::answer::{Answer, AnswerColumn, Chunk, Ready, RowsAnswer};
use super::lent::Open;
use super::prepare::Prepared;
use super::scroll::{Act, Fetched, Keeps, STEP_ROWS, Scroll};
use super::{Parameter, Portal, Session, no_portal};
use crate::deep;
use crate::error::{Result, SqlError, state};
use crate::parse::{self, Body, Parsed};
use crate::plan::room::{Kept, Room};
use crate::source::Source;
use crate::view::{ListedCursor, View};
use crate::wire::Client;

/// What portals are numbered by, in a session and the routines that it calls.
#[derive(Default)]
pub(crate) struct Numbers {
    last: AtomicU64,
    unnamed: AtomicU64,
}

impl Numbers {
    /// The number of the last that was made or begun.
    pub(super) fn last(&self) -> u64 {
        self.last.load(Ordering::Relaxed)
    }

    fn next(&self) -> u64 {
        self.last.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The name of a cursor that was given none.
    pub(crate) fn name(&self) -> String {
        format!("<unnamed portal {}>", self.unnamed.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

/// A cursor that a routine opens.
pub(crate) struct Opened<'a> {
    /// Its name.
    pub name: String,
    /// Its query.
    pub parsed: &'a Parsed,
    /// SCROLL (true) or NO SCROLL.
    pub scroll: Option<bool>,
    /// Its rows.
    pub rows: RowsAnswer,
    /// The tables that it reads.
    pub tables: Arc<[TableId]>,
}

/// Portals that run, one within the other: each is one that FETCH begins.
const MOST_WITHIN: usize = 32;

/// `55000`
pub(super) fn cannot_run(name: &str) -> SqlError {
    SqlError::new("55000", format!("portal \"{name}\" cannot be run"))
}

/// The one query of a cursor.
fn query_of(text: &str) -> Result<Parsed> {
    let mut all = parse::statements(text)?;
    let (Some(parsed), true) = (all.pop(), all.is_empty()) else {
        return Err(SqlError::new(state::SYNTAX, "a cursor needs one query"));
    };
    match (parsed.body, parsed.statement()) {
        (Body::Query, _) => Ok(parsed),
        (Body::Change, Statement::Query(_)) => {
            let text = "DECLARE CURSOR must not contain data-modifying statements in WITH";
            Err(SqlError::new(state::UNSUPPORTED, text))
        }
        _ => Err(SqlError::new(state::SYNTAX, "a cursor needs a query")),
    }
}

/// Fails where a cursor locks rows that it may give later or again.
fn may_lock(declare: &Declare, parsed: &Parsed) -> Result<()> {
    let (what, detail) = match parsed.is_locking() {
        true if declare.hold => ("DECLARE CURSOR WITH HOLD", "Holdable"),
        true if declare.scroll == Some(true) => ("DECLARE SCROLL CURSOR", "Scrollable"),
        _ => return Ok(()),
    };
    let text = format!("{what} ... FOR UPDATE is not supported");
    let detail = format!("{detail} cursors must be READ ONLY.");
    Err(SqlError::new(state::UNSUPPORTED, text).detail(detail))
}

impl Session {
    /// Notes that a cursor reads tables. Of partitioned tables it reads the partitions alone.
    pub(super) fn open(&self, tables: Arc<[TableId]>) -> Option<Open> {
        let (block, objects) = (self.block.as_ref()?, self.instance.objects());
        let families = objects.families();
        let tables = match tables.iter().any(|table| families.divided(*table).is_some()) {
            true => tables.iter().copied().filter(|t| families.divided(*t).is_none()).collect(),
            false => tables,
        };
        Some(Open::new(&block.scope, tables))
    }

    /// The tables of a query that was run.
    pub(super) fn tables_of(&self, prepared: &Prepared) -> Arc<[TableId]> {
        let late = prepared.late.lock();
        let known = prepared.first.as_ref().or(late.as_ref());
        known.map_or_else(Arc::default, |(_, meaning)| meaning.bound.table_ids())
    }

    /// Forgets portals that end with their transaction; one that it made WITH HOLD stays where it
    /// commits.
    pub(super) fn end_portals(&mut self, commits: bool) {
        self.reclaim_cursors();
        self.portals.retain(|_, portal| portal.hold && (commits || !portal.fresh));
        for portal in self.portals.values_mut() {
            // Its rows were taken when it was declared.
            (portal.fresh, portal.open) = (false, None);
        }
    }

    /// DECLARE.
    ///
    /// # Errors
    /// The name is taken; no transaction for it; the query is wrong.
    pub(crate) fn declare_cursor(
        &mut self,
        view: &View,
        source: Source<'_>,
        declare: &Declare,
        values: &[Parameter],
    ) -> Result<Answer> {
        let (name, hold) = (declare.name.to_string(), declare.hold);
        if !hold && !self.is_in_block() {
            let text = "DECLARE CURSOR can only be used in transaction blocks";
            return Err(SqlError::new(state::NO_TRANSACTION, text));
        }
        if self.has_portal(&name) {
            let text = format!("cursor \"{name}\" already exists");
            return Err(SqlError::new(state::DUPLICATE_CURSOR, text));
        }
        let text = declare.span.of(source.written);
        let parsed = query_of(text)?;
        may_lock(declare, &parsed)?;
        let keeps = match declare.scroll {
            Some(false) => Keeps::None,
            Some(true) => Keeps::All,
            None if hold => Keeps::All,
            None => Keeps::Few,
        };
        let rows = self.bound_text(view, text, values);
        let (rows, tables) = rows.map_err(|e| source.within(declare.span, e))?;
        let mut rows = rows.of_cursor();
        let mut bytes = 0;
        if hold {
            let chunks = rows.take(usize::MAX)?;
            bytes = chunks.iter().map(Chunk::bytes).sum();
            let columns = Arc::clone(&rows.columns);
            rows = RowsAnswer::new(columns, Box::new(Ready::new(chunks)), "FETCH");
        }
        let kept = self.keep_portal(&name, bytes)?;
        let listed = ListedCursor {
            name,
            text: source.written.to_owned(),
            hold,
            binary: declare.binary,
            scrolls: declare.scroll.unwrap_or(!parsed.is_locking()),
            made_us: SystemClock.unix_us(),
        };
        let open = self.open(tables);
        self.add_cursor(listed, parsed, rows, (keeps, kept, open));
        Ok(Answer::Done("DECLARE CURSOR".into()))
    }

    /// Opens a cursor for a routine.
    ///
    /// # Errors
    /// There is no room for it.
    pub(crate) fn open_cursor(&mut self, opened: Opened<'_>) -> Result<()> {
        let Opened { name, parsed, scroll, rows, tables } = opened;
        let kept = self.keep_portal(&name, 0)?;
        let listed = ListedCursor {
            name,
            text: parsed.text.clone(),
            hold: false,
            binary: false,
            scrolls: scroll.unwrap_or(!parsed.is_locking()),
            made_us: SystemClock.unix_us(),
        };
        let keeps = if scroll == Some(false) { Keeps::None } else { Keeps::All };
        let open = self.open(tables);
        self.add_cursor(listed, parsed.clone(), rows, (keeps, kept, open));
        self.lend_cursors();
        Ok(())
    }

    /// Adds the portal of a cursor: what it keeps of its rows, the room that it takes, and what it has open.
    fn add_cursor(
        &mut self,
        listed: ListedCursor,
        parsed: Parsed,
        rows: RowsAnswer,
        (keeps, kept, open): (Keeps, Option<Kept>, Option<Open>),
    ) {
        let columns = Some(Arc::clone(&rows.columns));
        let (name, binary, hold) = (listed.name.clone(), listed.binary, listed.hold);
        let portal = Portal {
            prepared: Arc::new(Prepared::simple(parsed)),
            columns,
            listed: Some(listed),
            values: Vec::new(),
            formats: Vec::new(),
            answer: Some(Answer::Rows(rows)),
            cursor: true,
            binary,
            hold,
            number: self.next_portal(),
            fresh: true,
            scroll: Scroll::new(keeps),
            kept,
            open,
        };
        self.portals.insert(name, Box::new(portal));
    }

    /// Goes some way in a cursor for a routine: rows, how many, and their columns; `moves`: they are passed over.
    ///
    /// # Errors
    /// As of [`Session::fetch`].
    pub(crate) fn go_in_cursor(
        &mut self,
        name: &str,
        (way, moves): (Way, bool),
    ) -> Result<(Vec<Chunk>, usize, Arc<[AnswerColumn]>)> {
        let room = Arc::clone(self.instance.runner.room());
        let act = if moves { Act::Pass } else { Act::Give };
        let went = self.cursor(name).and_then(|portal| portal.go(name, way, act, &room));
        self.lend_cursors();
        let (found, columns) = went?;
        Ok((found.chunks, found.count, columns))
    }

    /// A name for a cursor that was given none.
    pub(crate) fn unnamed_cursor(&self) -> String {
        self.numbers.name()
    }

    /// Whether a routine finds a cursor of this name.
    pub(crate) fn has_cursor(&mut self, name: &str) -> bool {
        let has = self.has_portal(name);
        self.lend_cursors();
        has
    }

    /// Closes a cursor for a routine.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn close_within(&mut self, name: &str) -> Result<()> {
        let done = self.close_cursor(Some(name));
        self.lend_cursors();
        done.map(drop)
    }

    fn cursor(&mut self, name: &str) -> Result<&mut Portal> {
        self.reclaim_cursors();
        if self.runs_portal(name) {
            return Err(cannot_run(name));
        }
        let found = self.portals.get_mut(name).filter(|_| !name.is_empty());
        found.map(|portal| &mut **portal).ok_or_else(|| {
            SqlError::new(state::NO_CURSOR, format!("cursor \"{name}\" does not exist"))
        })
    }

    /// FETCH or MOVE.
    ///
    /// # Errors
    /// There is no such cursor; a way that cursors do not go; those of the query.
    pub(crate) fn fetch(&mut self, fetch: &Fetch, client: &mut dyn Client) -> Result<Answer> {
        let name = &*fetch.name;
        self.begin_portal(name, client)?;
        let room = Arc::clone(self.instance.runner.room());
        let portal = self.cursor(name)?;
        if fetch.moves {
            let (found, _) = portal.go(name, fetch.way, Act::Pass, &room)?;
            return Ok(Answer::Done(format!("MOVE {}", found.count)));
        }
        let (found, columns) = portal.go(name, fetch.way, Act::Give, &room)?;
        let source = Box::new(Ready::new(found.chunks));
        let mut rows = RowsAnswer::new(columns, source, "FETCH");
        rows.binary = portal.binary;
        Ok(Answer::Rows(rows))
    }

    /// Takes a portal out to run it: what runs within it finds only that it runs.
    ///
    /// # Errors
    /// There is none; `55000`: it runs.
    pub(super) fn start_portal(&mut self, name: &str) -> Result<Box<Portal>> {
        if self.runs_portal(name) {
            return Err(cannot_run(name));
        }
        let number = self.next_portal();
        let mut portal = self.portals.remove(name).ok_or_else(|| no_portal(name))?;
        if portal.answer.is_none() {
            // It sees what was done until now, and goes where that is undone.
            portal.number = number;
        }
        self.running.push(name.to_string());
        Ok(portal)
    }

    /// Puts a portal back, unless its statement has ended the transaction, and so its portals.
    pub(super) fn stop_portal(&mut self, portal: Box<Portal>) {
        let Some(name) = self.running.pop() else { return };
        if self.block.is_some() || portal.hold {
            self.portals.insert(name, portal);
        }
    }

    fn runs_portal(&self, name: &str) -> bool {
        self.running.iter().any(|running| running == name)
    }

    /// Whether a name is a portal's.
    pub(super) fn has_portal(&mut self, name: &str) -> bool {
        self.reclaim_cursors();
        self.portals.contains_key(name) || self.runs_portal(name)
    }

    /// Numbers rise with the portals that are made or begun.
    pub(super) fn next_portal(&self) -> u64 {
        self.numbers.next()
    }

    /// Forgets portals that were made or begun since a place to which the transaction goes back.
    pub(super) fn forget_portals(&mut self, last: u64) {
        self.reclaim_cursors();
        self.portals.retain(|_, portal| portal.number <= last);
    }

    /// Begins to run the statement of a portal that Bind made, for FETCH to go on in it from where it stands.
    fn begin_portal(&mut self, name: &str, client: &mut dyn Client) -> Result<()> {
        let is_bound = |portal: &&mut Box<Portal>| !portal.cursor;
        let Some(portal) = self.portals.get_mut(name).filter(is_bound) else { return Ok(()) };
        if portal.answer.is_none() {
            let (prepared, values) = (Arc::clone(&portal.prepared), portal.values.clone());
            if portal.columns.is_none() {
                return Err(cannot_run(name));
            }
            if self.running.len() >= MOST_WITHIN {
                return Err(deep::too_deep());
            }
            let mut portal = self.start_portal(name)?;
            let answer = self.run(&prepared, &values, client);
            let answer = answer.map(|answer| portal.answer = Some(answer));
            self.stop_portal(portal);
            answer?;
        }
        let portal = self.cursor(name)?;
        if let Some(Answer::Rows(rows)) = &portal.answer {
            portal.scroll.is_behind(usize::try_from(rows.sent()).unwrap_or(usize::MAX));
        }
        Ok(())
    }

    /// Execute of a cursor: sends the rows that come next, at most `limit` (0: all), which it goes past as FETCH does.
    pub(super) fn execute_cursor(
        &mut self,
        name: &str,
        portal: &mut Portal,
        limit: usize,
        client: &mut dyn Client,
    ) -> Result<()> {
        self.limit_time();
        let most = if limit == 0 { usize::MAX } else { limit };
        let mut sent = 0;
        while sent < most {
            let step = STEP_ROWS.min(most - sent);
            let way = Way::Forward(step as i64);
            let (found, columns) = portal.go(name, way, Act::Give, self.instance.runner.room())?;
            let mut rows = RowsAnswer::new(columns, Box::new(Ready::new(found.chunks)), "SELECT");
            rows.send(0, &portal.formats, self.style(), client)?;
            sent += found.count;
            if found.count < step {
                self.hand_on(client)?;
                self.warn(client);
                client.reply().complete(&format!("SELECT {sent}"));
                return Ok(());
            }
        }
        self.hand_on(client)?;
        self.warn(client);
        client.reply().suspended();
        Ok(())
    }

    /// Columns of what FETCH gives.
    pub(crate) fn columns_of_fetch(&self, name: &str) -> Option<Arc<[AnswerColumn]>> {
        match self.portals.get(name) {
            Some(portal) => portal.columns.clone(),
            None => self.columns_lent(name),
        }
    }

    /// CLOSE; of all cursors where none is named.
    ///
    /// # Errors
    /// There is no such cursor.
    pub(crate) fn close_cursor(&mut self, name: Option<&str>) -> Result<Answer> {
        let Some(name) = name else {
            self.reclaim_cursors();
            self.portals.clear();
            return Ok(Answer::Done("CLOSE CURSOR ALL".into()));
        };
        if self.runs_portal(name) {
            let text = format!("cannot drop active portal \"{name}\"");
            return Err(SqlError::new("24000", text));
        }
        self.cursor(name)?;
        self.portals.remove(name);
        Ok(Answer::Done("CLOSE CURSOR".into()))
    }
}

impl Portal {
    /// Goes some way in a cursor; also the columns of its rows. What it keeps of them is counted, except for a cursor
    /// WITH HOLD: its rows were counted when it was declared.
    ///
    /// # Errors
    /// A way that cursors do not go; there is no room for more; those of the query.
    fn go(
        &mut self,
        name: &str,
        way: Way,
        act: Act,
        room: &Arc<Room>,
    ) -> Result<(Fetched, Arc<[AnswerColumn]>)> {
        let Some(Answer::Rows(rows)) = &mut self.answer else {
            let text = format!("cursor \"{name}\" is at its end");
            return Err(SqlError::new(state::NO_CURSOR, text));
        };
        let before = self.scroll.bytes();
        let found = self.scroll.fetch(rows, way, act)?;
        if !self.cursor {
            rows.went(found.count);
        }
        let more = self.scroll.bytes().saturating_sub(before) as u64;
        if more > 0 && !self.hold && self.scroll.keeps_all() {
            match &mut self.kept {
                Some(kept) => kept.grow(more)?,
                kept => *kept = Some(room.keep(more)?),
            }
        }
        Ok((found, Arc::clone(&rows.columns)))
    }
}
