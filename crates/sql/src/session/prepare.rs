//! What is known of a statement before it runs?
//!
//! Types of its parameters, and the columns of its answer: both come from planning it once.

use std::sync::{Arc, OnceLock};

use onlap_pg::ast::{Span, Statement, Utility};
use onlap_pg::grammar::{Kind, Token, Tokens};
use parking_lot::Mutex;

use crate::ddl;
use crate::deep;
use crate::error::{Result, SqlError, state};
use crate::fast::Fast;
use crate::parse::{self, Body, Parsed};
use crate::plan::room::Kept;
use crate::query::Bound;
use crate::session::run;
use crate::types::{PgType, oid};
use crate::view::View;

use super::Session;
use super::answer::AnswerColumn;

/// A prepared statement.
#[derive(Debug)]
pub struct Prepared {
    /// The statement; `None` for an empty one.
    pub parsed: Option<Parsed>,
    /// Types of its parameters.
    pub parameters: Vec<PgType>,
    /// Columns of its answer, if it gives rows.
    pub columns: Option<Arc<[AnswerColumn]>>,
    /// What it means as it was bound when it was prepared, and when that was.
    pub first: Option<(Stamp, Arc<Meaning>)>,
    /// The same, where it was bound when it ran.
    pub late: Mutex<Option<(Stamp, Arc<Meaning>)>>,
    /// When it was found last to give the columns that it gave first, and in which transaction's own catalog, if in one.
    pub same: Mutex<Option<(Stamp, u64)>>,
    /// What it takes of the room for long texts.
    pub kept: Option<Kept>,
}

/// What a statement means, and how it is carried out.
#[derive(Debug)]
pub struct Meaning {
    /// The statement as PostgreSQL binds it.
    pub bound: Bound,
    /// How it runs without a planner, once its role was found to be allowed what it needs and that has been looked for.
    native: OnceLock<Option<Fast>>,
}

impl Meaning {
    /// Of a statement that was bound.
    pub fn of(bound: Bound) -> Arc<Meaning> {
        Arc::new(Meaning { bound, native: OnceLock::new() })
    }

    /// How it runs without a planner, where that is known.
    pub fn native(&self) -> Option<&Fast> {
        self.native.get()?.as_ref()
    }

    /// How it runs without a planner, if it may run and does.
    ///
    /// # Errors
    /// `42501`
    pub fn find_native(&self, view: &View) -> Result<Option<&Fast>> {
        if self.native.get().is_none() {
            view.must(self.bound.needs())?;
        }
        Ok(self.native.get_or_init(|| Fast::of(view, &self.bound)).as_ref())
    }
}

/// What a statement was bound with: it counts for as long as none of it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The catalog's version, which grows with every grant too.
    pub version: u64,
    /// The role whose rights count.
    pub role: u32,
    /// A hash of the schemas that are looked at.
    pub path: u64,
    /// The session's temporary tables, where it has made their schema.
    pub temporary: Option<u64>,
    /// Whether policies of tables hide rows, and not whole statements.
    pub hides: bool,
}

impl Prepared {
    /// Fails where the statement gives other columns by now than the client was told of.
    ///
    /// # Errors
    /// `0A000`
    pub(super) fn must_still_give(&self, columns: Option<&[AnswerColumn]>) -> Result<()> {
        let Some(told) = &self.columns else { return Ok(()) };
        let now = columns.unwrap_or_default();
        let same = |(a, b): (&AnswerColumn, &AnswerColumn)| a.name == b.name && a.sent == b.sent;
        match told.len() == now.len() && told.iter().zip(now).all(same) {
            true => Ok(()),
            false => {
                let text = "cached plan must not change result type";
                // Drivers prepare it again where it has this routine.
                Err(SqlError::new(state::UNSUPPORTED, text).routine("RevalidateCachedQuery"))
            }
        }
    }

    /// What it means, if it was bound with this and the tables that it reads are what they were. What runs without a planner
    /// looks at its table itself.
    pub(super) fn known_at(&self, stamp: Stamp) -> Option<Arc<Meaning>> {
        let native = self.first.as_ref().filter(|(at, of)| *at == stamp && of.native().is_some());
        match native {
            Some((_, first)) => Some(Arc::clone(first)),
            None => self.planned_at(stamp),
        }
    }

    /// The same of what is to be planned.
    pub(super) fn planned_at(&self, stamp: Stamp) -> Option<Arc<Meaning>> {
        if let Some((at, first)) = &self.first
            && *at == stamp
            && first.bound.is_current()
        {
            return Some(Arc::clone(first));
        }
        let late = self.late.lock();
        let (_, late) = late.as_ref().filter(|(at, of)| *at == stamp && of.bound.is_current())?;
        Some(Arc::clone(late))
    }

    /// What it meant when it was prepared.
    pub(super) fn first_meaning(&self) -> Option<Arc<Meaning>> {
        self.first.as_ref().map(|(_, first)| Arc::clone(first))
    }

    /// Whether it was found to run without a planner.
    pub(super) fn is_native(&self) -> bool {
        self.first.as_ref().is_some_and(|(_, meaning)| meaning.native().is_some())
    }

    /// A statement without parameters that runs once.
    pub fn simple(parsed: Parsed) -> Prepared {
        Prepared {
            parsed: Some(parsed),
            parameters: Vec::new(),
            columns: None,
            first: None,
            late: Mutex::default(),
            same: Mutex::default(),
            kept: None,
        }
    }
}

impl Session {
    /// Prepares a statement: finds out the types of its parameters and its columns.
    pub(super) fn prepare(&mut self, parsed: Option<Parsed>, types: &[u32]) -> Result<Prepared> {
        let Some(parsed) = parsed else {
            return Ok(Prepared {
                parsed: None,
                parameters: types.iter().map(|oid| PgType::new(*oid)).collect(),
                columns: None,
                first: None,
                late: Mutex::default(),
                same: Mutex::default(),
                kept: None,
            });
        };
        let given: Vec<Option<PgType>> = types
            .iter()
            .map(|oid| (*oid != 0 && *oid != oid::UNKNOWN).then(|| PgType::new(*oid)))
            .collect();
        let count = parameter_count(&parsed).max(given.len());
        let mut prepared = Prepared::simple(parsed);
        prepared.parameters = (0..count)
            .map(|i| given.get(i).copied().flatten().unwrap_or(PgType::new(oid::TEXT)))
            .collect();
        let depth = prepared.parsed.as_ref().map(|parsed| parsed.depth).unwrap_or_default();
        let before = prepared.parsed.as_ref().map_or(0, |parsed| parsed.before);
        deep::run(depth, || self.look_at(prepared, &given)).map_err(|e| e.after(before))
    }

    /// Fails where a statement gives other columns by now than its client was told of, as the messages that ask for its rows
    /// do: it is bound again where the catalog has changed since.
    ///
    /// # Errors
    /// `0A000`; what the statement means nothing without is gone.
    pub(super) fn must_still_give(&mut self, prepared: &Prepared) -> Result<()> {
        let Some(parsed) = &prepared.parsed else { return Ok(()) };
        let block = self.block.as_ref();
        let own = block.filter(|b| b.changed_catalog || !b.pending.is_empty());
        let own = own.map_or(0, |block| block.own_catalog);
        let failed = block.is_some_and(|block| block.failed);
        let stamp = self.stamp();
        let late = prepared.late.lock().as_ref().map(|(at, _)| *at);
        let first = prepared.first.as_ref().map(|(at, _)| *at);
        let is_known = own == 0 && [late, first].contains(&Some(stamp))
            || *prepared.same.lock() == Some((stamp, own));
        if is_known || failed || matches!(parsed.body, Body::Defined | Body::Other) {
            return Ok(());
        }
        let types: Vec<_> = prepared.parameters.iter().map(|ty| Some(*ty)).collect();
        deep::run(parsed.depth, || {
            self.in_view(|session, view| {
                let _stop = session.limited(view);
                let bound = Bound::of(view, parsed, &types)?;
                prepared.must_still_give(bound.returns().as_deref())?;
                if own == 0 {
                    *prepared.late.lock() = Some((stamp, Meaning::of(bound)));
                }
                Ok(())
            })
        })
        .map_err(|e| e.after(parsed.before))?;
        *prepared.same.lock() = Some((stamp, own));
        Ok(())
    }

    /// Finds out what a statement says of itself, with the types given.
    fn look_at(&mut self, mut prepared: Prepared, given: &[Option<PgType>]) -> Result<Prepared> {
        let parsed = prepared.parsed.as_ref().expect("it has a text");
        if matches!(parsed.body, Body::Defined | Body::Other) {
            prepared.columns = run::columns_of_other(self, parsed)?;
            if !takes_values(parsed) {
                // It has no parameters, whatever its text says.
                prepared.parameters.truncate(given.len());
                return Ok(prepared);
            }
            if !prepared.parameters.is_empty()
                && let Some(inner) = self.prepare_inner(parsed, given)?
            {
                prepared.parameters = inner.parameters;
            }
            return Ok(prepared);
        };
        if let Some(block) = &self.block
            && block.failed
        {
            return Err(run::in_failed_transaction());
        }
        let stamp = self.stamp();
        let native = self.uses_fast_path();
        let meaning = self.in_view(|session, view| {
            let _stop = session.limited(view);
            let meaning = Meaning::of(Bound::parsed(view, parsed, given)?);
            // What the role may not is refused when it runs: it may be allowed then.
            if native && matches!(meaning.find_native(view), Ok(Some(_))) {
                return Ok(meaning);
            }
            meaning.bound.must_be_served(view, &parsed.bindable())?;
            Ok(meaning)
        })?;
        let bound = &meaning.bound;
        for (slot, ty) in prepared.parameters.iter_mut().zip(bound.parameters()) {
            *slot = ty;
        }
        prepared.columns = bound.returns();
        prepared.first = Some((stamp, meaning));
        Ok(prepared)
    }
}

impl Session {
    /// The query that a statement carries out, whose parameters are those of the whole: of EXPLAIN, DECLARE, CREATE TABLE AS
    /// and SELECT INTO.
    fn prepare_inner(
        &mut self,
        parsed: &Parsed,
        given: &[Option<PgType>],
    ) -> Result<Option<Prepared>> {
        let text = parsed.bindable();
        let source = parsed.source(&text);
        let into;
        let (span, inner) = match parsed.statement() {
            Statement::Utility(utility) => match &**utility {
                Utility::Explain(explain) => (explain.span, explain.span.of(source.written)),
                Utility::Declare(declare) => (declare.span, declare.span.of(source.written)),
                _ => return Ok(None),
            },
            Statement::CreateTableAs(create) => (create.span, create.span.of(source.written)),
            Statement::Query(query) => {
                let Some(of) = source.tree.into_of(*query) else { return Ok(None) };
                into = ddl::without_into(source, of.span);
                (Span { start: 0, end: text.len() as u32 }, into.as_str())
            }
            _ => return Ok(None),
        };
        let inner = parse::statements(inner).map(|mut all| all.pop());
        let types: Vec<u32> = given.iter().map(|ty| ty.map_or(0, |ty| ty.oid)).collect();
        let made = inner.and_then(|inner| self.prepare(inner, &types));
        made.map(Some).map_err(|e| source.within(span, e))
    }
}

/// Whether a statement that is no query takes values for parameters: it has a query that is carried out with it.
fn takes_values(parsed: &Parsed) -> bool {
    match parsed.statement() {
        Statement::Utility(utility) => {
            matches!(**utility, Utility::Explain(_) | Utility::Declare(_))
        }
        statement => ddl::takes_values(statement),
    }
}

/// The highest number of a placeholder.
fn parameter_count(parsed: &Parsed) -> usize {
    let number = |token: &Token| match token.kind {
        Kind::Param(n) => usize::try_from(n).ok(),
        _ => None,
    };
    // The protocol counts parameters in 16 bits.
    let tokens = Tokens::of(&parsed.text);
    tokens.all.iter().filter_map(number).filter(|n| *n <= 65_535).max().unwrap_or(0)
}

/// A statement whose parameter has no value.
pub fn missing_parameter(n: usize) -> SqlError {
    SqlError::new("42P02", format!("there is no parameter ${n}"))
}
