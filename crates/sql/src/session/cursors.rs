//! Which cursors does a session have?
//!
//! DECLARE makes a portal of a query; FETCH and MOVE take rows from it, forwards only. A cursor WITH HOLD
//! has its rows from the start, so that it outlives the transaction.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::Statement;

use super::answer::{Answer, AnswerColumn, Chunk, Ready, RowsAnswer};
use super::prepare::Prepared;
use super::run::is_locking;
use super::{Parameter, Portal, Session};
use crate::error::{Result, SqlError, state};
use crate::parse::{self, Body};
use crate::view::View;
use crate::words::Words;

impl Session {
    /// Forgets portals that end with their transaction; one that it made WITH HOLD stays where it
    /// commits.
    pub(super) fn end_portals(&mut self, commits: bool) {
        self.portals.retain(|_, portal| portal.hold && (commits || !portal.fresh));
        self.portals.values_mut().for_each(|portal| portal.fresh = false);
    }

    /// DECLARE, after this word.
    ///
    /// # Errors
    /// The name is taken; no transaction for it; the query is wrong.
    pub(crate) fn declare_cursor(
        &mut self,
        view: &View,
        words: &mut Words<'_>,
        values: &[Parameter],
    ) -> Result<Answer> {
        let name = words.ident()?;
        loop {
            if words.one_of(&["binary", "scroll"]).is_some() {
                return Err(SqlError::unsupported("a cursor that is BINARY or SCROLL"));
            }
            let plain = words.one_of(&["insensitive", "asensitive"]).is_some();
            if !plain && !words.accept(&["no", "scroll"]) {
                break;
            }
        }
        words.expect(&["cursor"])?;
        let hold = words.accept(&["with", "hold"]);
        words.accept(&["without", "hold"]);
        words.expect(&["for"])?;
        if !hold && !self.is_in_block() {
            let text = "DECLARE CURSOR can only be used in transaction blocks";
            return Err(SqlError::new(state::NO_TRANSACTION, text));
        }
        if self.portals.contains_key(&name) {
            let text = format!("cursor \"{name}\" already exists");
            return Err(SqlError::new(state::DUPLICATE_CURSOR, text));
        }
        let mut all = parse::statements(words.rest())?;
        let (Some(parsed), true) = (all.pop(), all.is_empty()) else {
            return Err(SqlError::new(state::SYNTAX, "a cursor needs one query"));
        };
        let locks = match &parsed.body {
            Body::Sql(statement) if matches!(**statement, Statement::Query(_)) => {
                is_locking(statement)
            }
            _ => return Err(SqlError::new(state::SYNTAX, "a cursor needs a query")),
        };
        if hold && locks {
            let text = "DECLARE CURSOR WITH HOLD ... FOR UPDATE is not supported";
            return Err(SqlError::new(state::UNSUPPORTED, text)
                .detail("Holdable cursors must be READ ONLY."));
        }
        let rows = self.bound_text(view, words.rest(), values)?;
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

    /// FETCH or MOVE, after this word.
    ///
    /// # Errors
    /// There is no such cursor; a way that cursors do not go; those of the query.
    pub(crate) fn fetch(&mut self, words: &mut Words<'_>, moves: bool) -> Result<Answer> {
        let (limit, name) = direction(words)?;
        let portal = self.cursor(&name)?;
        let Some(Answer::Rows(rows)) = &mut portal.answer else {
            return Err(SqlError::new(
                state::NO_CURSOR,
                format!("cursor \"{name}\" is at its end"),
            ));
        };
        let chunks = rows.take(limit)?;
        if moves {
            let n: usize = chunks.iter().map(Chunk::len).sum();
            return Ok(Answer::Done(format!("MOVE {n}")));
        }
        let columns = Arc::clone(&rows.columns);
        let source = Box::new(Ready::new(chunks));
        Ok(Answer::Rows(RowsAnswer::new(columns, source, "FETCH")))
    }

    /// Columns of what FETCH gives, after this word.
    pub(crate) fn columns_of_fetch(&self, words: &mut Words<'_>) -> Option<Arc<[AnswerColumn]>> {
        let (_, name) = direction(words).ok()?;
        self.portals.get(&name)?.prepared.columns.clone()
    }

    /// CLOSE, after this word.
    ///
    /// # Errors
    /// There is no such cursor.
    pub(crate) fn close_cursor(&mut self, words: &mut Words<'_>) -> Result<Answer> {
        if words.accept(&["all"]) {
            self.portals.retain(|_, portal| !portal.cursor);
            return Ok(Answer::Done("CLOSE CURSOR ALL".into()));
        }
        let name = words.ident()?;
        words.end()?;
        self.cursor(&name)?;
        self.portals.remove(&name);
        Ok(Answer::Done("CLOSE CURSOR".into()))
    }
}

/// How many rows FETCH wants, and the cursor's name.
fn direction(words: &mut Words<'_>) -> Result<(usize, String)> {
    let backward = || {
        SqlError::new("55000", "cursor can only scan forward")
            .hint("Cursors go through their rows once.")
    };
    let count = |n: i64| usize::try_from(n).map_err(|_| backward());
    let back = ["prior", "first", "last", "absolute", "relative", "backward"];
    let mut limit = 1;
    if words.one_of(&back).is_some() {
        return Err(backward());
    } else if let Some(n) = words.integer() {
        limit = count(n)?;
    } else if words.accept(&["all"]) {
        limit = usize::MAX;
    } else if words.accept(&["forward"]) {
        if words.accept(&["all"]) {
            limit = usize::MAX;
        } else if let Some(n) = words.integer() {
            limit = count(n)?;
        }
    } else {
        words.accept(&["next"]);
    }
    words.one_of(&["from", "in"]);
    let name = words.ident()?;
    words.end()?;
    Ok((limit, name))
}
