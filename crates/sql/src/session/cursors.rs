//! Which cursors does a session have?
//!
//! DECLARE makes a portal of a query; FETCH and MOVE take rows from it ([`super::scroll`]). A cursor WITH HOLD
//! has its rows from the start, so that it outlives the transaction.

use std::sync::Arc;

use onlap_pg::ast::{Declare, Fetch};

use super::answer::{Answer, AnswerColumn, Chunk, Ready, RowsAnswer};
use super::prepare::Prepared;
use super::scroll::{Keeps, Scroll};
use super::{Parameter, Portal, Session};
use crate::error::{Result, SqlError, state};
use crate::parse::{self, Body};
use crate::source::Source;
use crate::view::View;

impl Session {
    /// Forgets portals that end with their transaction; one that it made WITH HOLD stays where it
    /// commits.
    pub(super) fn end_portals(&mut self, commits: bool) {
        self.portals.retain(|_, portal| portal.hold && (commits || !portal.fresh));
        self.portals.values_mut().for_each(|portal| portal.fresh = false);
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
        if declare.binary {
            return Err(SqlError::unsupported("a cursor that is BINARY"));
        }
        if !hold && !self.is_in_block() {
            let text = "DECLARE CURSOR can only be used in transaction blocks";
            return Err(SqlError::new(state::NO_TRANSACTION, text));
        }
        if self.portals.contains_key(&name) {
            let text = format!("cursor \"{name}\" already exists");
            return Err(SqlError::new(state::DUPLICATE_CURSOR, text));
        }
        let text = declare.span.of(source.written);
        let mut all = parse::statements(text)?;
        let (Some(parsed), true) = (all.pop(), all.is_empty()) else {
            return Err(SqlError::new(state::SYNTAX, "a cursor needs one query"));
        };
        if parsed.body != Body::Query {
            return Err(SqlError::new(state::SYNTAX, "a cursor needs a query"));
        }
        if hold && parsed.is_locking() {
            let text = "DECLARE CURSOR WITH HOLD ... FOR UPDATE is not supported";
            return Err(SqlError::new(state::UNSUPPORTED, text)
                .detail("Holdable cursors must be READ ONLY."));
        }
        if declare.scroll == Some(true) && parsed.is_locking() {
            let text = "DECLARE SCROLL CURSOR ... FOR UPDATE is not supported";
            return Err(SqlError::new(state::UNSUPPORTED, text)
                .detail("Scrollable cursors must be READ ONLY."));
        }
        let keeps = match declare.scroll {
            Some(false) => Keeps::None,
            Some(true) => Keeps::All,
            None if hold => Keeps::All,
            None => Keeps::Few,
        };
        let rows = self.bound_text(view, text, values)?;
        let mut rows = RowsAnswer::new(rows.columns, rows.source, "FETCH");
        let mut bytes = 0;
        if hold {
            let chunks = rows.take(usize::MAX)?;
            bytes = chunks.iter().map(Chunk::bytes).sum();
            let columns = Arc::clone(&rows.columns);
            rows = RowsAnswer::new(columns, Box::new(Ready::new(chunks)), "FETCH");
        }
        let kept = self.keep_portal(&name, bytes)?;
        let portal = Portal {
            prepared: Arc::new(Prepared {
                columns: Some(Arc::clone(&rows.columns)),
                ..Prepared::simple(parsed)
            }),
            values: Vec::new(),
            formats: Vec::new(),
            answer: Some(Answer::Rows(rows)),
            cursor: true,
            hold,
            fresh: true,
            scroll: Scroll::new(keeps),
            kept: kept.into_iter().collect(),
        };
        self.portals.insert(name, portal);
        Ok(Answer::Done("DECLARE CURSOR".into()))
    }

    fn cursor(&mut self, name: &str) -> Result<&mut Portal> {
        let found = self.portals.get_mut(name).filter(|p| p.cursor);
        found.ok_or_else(|| {
            SqlError::new(state::NO_CURSOR, format!("cursor \"{name}\" does not exist"))
        })
    }

    /// FETCH or MOVE.
    ///
    /// # Errors
    /// There is no such cursor; a way that cursors do not go; those of the query.
    pub(crate) fn fetch(&mut self, fetch: &Fetch) -> Result<Answer> {
        let name = &*fetch.name;
        let portal = self.cursor(name)?;
        let Some(Answer::Rows(rows)) = &mut portal.answer else {
            return Err(SqlError::new(
                state::NO_CURSOR,
                format!("cursor \"{name}\" is at its end"),
            ));
        };
        let before = portal.scroll.bytes();
        let found = portal.scroll.fetch(rows, fetch.way)?;
        let columns = Arc::clone(&rows.columns);
        // Those of a cursor WITH HOLD were counted when it was declared.
        let more = portal.scroll.bytes().saturating_sub(before);
        if more > 0 && !portal.hold && portal.scroll.keeps_all() {
            let kept = self.keep_portal(name, more)?;
            self.cursor(name)?.kept.extend(kept);
        }
        if fetch.moves {
            return Ok(Answer::Done(format!("MOVE {}", found.count)));
        }
        let source = Box::new(Ready::new(found.chunks));
        Ok(Answer::Rows(RowsAnswer::new(columns, source, "FETCH")))
    }

    /// Columns of what FETCH gives.
    pub(crate) fn columns_of_fetch(&self, name: &str) -> Option<Arc<[AnswerColumn]>> {
        self.portals.get(name)?.prepared.columns.clone()
    }

    /// CLOSE; of all cursors where none is named.
    ///
    /// # Errors
    /// There is no such cursor.
    pub(crate) fn close_cursor(&mut self, name: Option<&str>) -> Result<Answer> {
        let Some(name) = name else {
            self.portals.retain(|_, portal| !portal.cursor);
            return Ok(Answer::Done("CLOSE CURSOR ALL".into()));
        };
        self.cursor(name)?;
        self.portals.remove(name);
        Ok(Answer::Done("CLOSE CURSOR".into()))
    }
}
