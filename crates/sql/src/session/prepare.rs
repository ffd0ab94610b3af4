//! What is known of a statement before it runs?
//!
//! Types of its parameters, and the columns of its answer: both come from planning it once.

use std::sync::Arc;

use onlap_pg::grammar::{Kind, Token, Tokens};
use parking_lot::Mutex;

use crate::deep;
use crate::error::{Result, SqlError};
use crate::fast::Fast;
use crate::parse::{Body, Parsed};
use crate::plan::room::Kept;
use crate::query::Bound;
use crate::session::run;
use crate::types::{PgType, oid};

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
    /// How it runs without a planner, and when it was bound and judged.
    pub fast: Option<(Stamp, Fast)>,
    /// What it means as PostgreSQL binds it, and when it was bound.
    pub bound: Option<(Stamp, Bound)>,
    /// The same, where it was found out when it ran.
    pub late: Mutex<Option<(Stamp, Bound)>>,
    /// What it takes of the room for long texts.
    pub kept: Option<Kept>,
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
}

impl Prepared {
    /// A statement without parameters that runs once.
    pub fn simple(parsed: Parsed) -> Prepared {
        Prepared {
            parsed: Some(parsed),
            parameters: Vec::new(),
            columns: None,
            fast: None,
            bound: None,
            late: Mutex::default(),
            kept: None,
        }
    }
}

impl Session {
    /// Prepares a statement: finds out the types of its parameters and its columns.
    pub(super) fn prepare(&mut self, parsed: Option<Parsed>, types: &[u32]) -> Result<Prepared> {
        let Some(parsed) = parsed else {
            let empty = Vec::new();
            return Ok(Prepared {
                parsed: None,
                parameters: empty,
                columns: None,
                fast: None,
                bound: None,
                late: Mutex::default(),
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

    /// Finds out what a statement says of itself, with the types given.
    fn look_at(&mut self, mut prepared: Prepared, given: &[Option<PgType>]) -> Result<Prepared> {
        let parsed = prepared.parsed.as_ref().expect("it has a text");
        if matches!(parsed.body, Body::Defined | Body::Other) {
            prepared.columns = run::columns_of_other(self, parsed)?;
            return Ok(prepared);
        };
        if let Some(block) = &self.block
            && block.failed
        {
            return Err(run::in_failed_transaction());
        }
        let stamp = self.stamp();
        let fast = match self.uses_fast_path() {
            true => self.in_view(|_, view| {
                let fast = Fast::of(view, parsed);
                Ok(fast.map(|fast| (view.must(fast.needs()).is_ok(), fast)))
            })?,
            false => None,
        };
        if let Some((judged, fast)) = fast {
            for (n, ty) in fast.parameters() {
                if let (Some(slot), None) =
                    (prepared.parameters.get_mut(n - 1), given.get(n - 1).copied().flatten())
                {
                    *slot = *ty;
                }
            }
            prepared.columns = fast.columns().cloned();
            // What the role may not is bound again when it is asked for: it may be allowed then.
            prepared.fast = judged.then_some((stamp, fast));
            return Ok(prepared);
        }
        let bound = self.in_view(|_, view| Bound::of(view, parsed, given))?;
        for (slot, ty) in prepared.parameters.iter_mut().zip(bound.parameters()) {
            *slot = ty;
        }
        prepared.columns = bound.returns();
        prepared.bound = Some((stamp, bound));
        Ok(prepared)
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
