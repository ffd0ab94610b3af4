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
use crate::plan::{Known, Query};
use crate::query::Bound;
use crate::session::run;
use crate::types::{PgType, oid};

use super::Session;
use super::answer::{AnswerColumn, columns_of};
use super::values::fields_of;

use datafusion::sql::sqlparser::ast::Statement;

/// A prepared statement.
#[derive(Debug)]
pub struct Prepared {
    /// The statement; `None` for an empty one.
    pub parsed: Option<Parsed>,
    /// Types of its parameters.
    pub parameters: Vec<PgType>,
    /// Columns of its answer, if it gives rows.
    pub columns: Option<Arc<[AnswerColumn]>>,
    /// Its plan, and when it was made.
    pub query: Option<(Stamp, Query)>,
    /// How it runs without a planner, and when it was bound and judged.
    pub fast: Option<(Stamp, Fast)>,
    /// What it means as PostgreSQL binds it, and when it was bound.
    pub bound: Option<(Stamp, Bound)>,
    /// The same, where it was found out when it ran; none of the class, if there is no [`Bound`].
    pub late: Mutex<Option<(Stamp, Option<Bound>)>>,
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
            query: None,
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
                query: None,
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
        deep::run(depth, || self.look_at(prepared, &given))
    }

    /// Finds out what a statement says of itself, with the types given.
    fn look_at(&mut self, mut prepared: Prepared, given: &[Option<PgType>]) -> Result<Prepared> {
        let count = prepared.parameters.len();
        let parsed = prepared.parsed.as_ref().expect("it has a text");
        let (Body::Sql(statement) | Body::Upsert(statement) | Body::Overriding(statement)) =
            &parsed.body
        else {
            prepared.columns = run::columns_of_other(self, parsed);
            return Ok(prepared);
        };
        if let Some(block) = &self.block
            && block.failed
            && !run::ends_transaction(statement)
        {
            return Err(run::in_failed_transaction());
        }
        let stamp = self.stamp();
        let fast = match self.goes_natively(&parsed.body) {
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
        match &**statement {
            Statement::Query(_)
            | Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
                if let Some(bound) = self.bound(parsed, given)? =>
            {
                for (slot, ty) in prepared.parameters.iter_mut().zip(bound.parameters()) {
                    *slot = ty;
                }
                prepared.columns = bound.returns();
                prepared.bound = Some((stamp, bound));
            }
            Statement::Query(_) => {
                let mut fields = fields_of(given);
                fields.resize(count, None);
                let query = self.in_view(|session, view| {
                    session.instance.planner.plan(
                        view,
                        statement.clone(),
                        fields,
                        &Known::default(),
                    )
                })?;
                let known = query.parameters()?;
                for (i, ty) in prepared.parameters.iter_mut().enumerate() {
                    if given.get(i).copied().flatten().is_none()
                        && let Some(field) = known.get(&(i + 1))
                    {
                        *ty = PgType::of_field(field);
                    }
                }
                prepared.columns = Some(columns_of(&query.schema()));
                if query.lasting {
                    prepared.query = Some((stamp, query));
                }
            }
            Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) => {
                let text = parsed.bindable();
                let bound =
                    self.in_view(|_, view| Bound::must(view, &text, parsed.depth, given))?;
                for (slot, ty) in prepared.parameters.iter_mut().zip(bound.parameters()) {
                    *slot = ty;
                }
                prepared.columns = bound.returns();
            }
            _ => prepared.columns = run::columns_of_statement(self, statement)?,
        }
        Ok(prepared)
    }
}

impl Session {
    /// A query as PostgreSQL binds it, if it is of that class.
    ///
    /// # Errors
    /// PostgreSQL's.
    pub(super) fn bound(
        &mut self,
        parsed: &Parsed,
        given: &[Option<PgType>],
    ) -> Result<Option<Bound>> {
        if !self.binds(parsed) {
            return Ok(None);
        }
        self.in_view(|_, view| Bound::new(view, &parsed.bindable(), parsed.depth, given))
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
