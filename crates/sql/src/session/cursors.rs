//! Which cursors does a session have?
//!
//! DECLARE makes a portal of a query; FETCH and MOVE take rows from it, forwards only. A cursor WITH HOLD
//! has its rows from the start, so that it outlives the transaction.

use std::sync::Arc;

use onlap_pg::ast::{Declare, Fetch, Way};

use super::answer::{Answer, AnswerColumn, Chunk, Ready, RowsAnswer};
use super::prepare::Prepared;
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
        if declare.binary || declare.scroll == Some(true) {
            return Err(SqlError::unsupported("a cursor that is BINARY or SCROLL"));
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
            _kept: kept,
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
        let limit = limit(fetch.way)?;
        let portal = self.cursor(name)?;
        let Some(Answer::Rows(rows)) = &mut portal.answer else {
            return Err(SqlError::new(
                state::NO_CURSOR,
                format!("cursor \"{name}\" is at its end"),
            ));
        };
        let chunks = rows.take(limit)?;
        if fetch.moves {
            let n: usize = chunks.iter().map(Chunk::len).sum();
            return Ok(Answer::Done(format!("MOVE {n}")));
        }
        let columns = Arc::clone(&rows.columns);
        let source = Box::new(Ready::new(chunks));
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

/// How many rows FETCH wants.
fn limit(way: Way) -> Result<usize> {
    let backward = || {
        SqlError::new("55000", "cursor can only scan forward")
            .hint("Cursors go through their rows once.")
    };
    match way {
        Way::Forward(n) => usize::try_from(n).map_err(|_| backward()),
        Way::ForwardAll => Ok(usize::MAX),
        _ => Err(backward()),
    }
}
