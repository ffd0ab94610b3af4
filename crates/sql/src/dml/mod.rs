//! How do rows come, change and go?
//!
//! The planner does not change rows: it answers the query part of a statement (which rows, which new
//! values), and this module writes through the transaction. RETURNING is answered from what was written.

mod ask;
mod computed;
mod conflict;
mod delete;
mod insert;
mod returning;
pub mod target;
mod update;

pub use insert::{fill, placeholder};

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::Statement;

use crate::error::{Result, SqlError};
use crate::parse::Overriding;
use crate::rights::Need;
use crate::session::answer::{Answer, AnswerColumn};
use crate::session::{Parameter, Session};
use crate::types::PgType;
use crate::view::View;
use crate::wire::Client;

/// What is known of a statement before it runs: types of its parameters, columns that it returns.
pub type Described = (Vec<Option<PgType>>, Option<Arc<[AnswerColumn]>>);

/// Carries out INSERT, UPDATE or DELETE.
pub fn run(
    session: &mut Session,
    view: &View,
    statement: &Statement,
    overriding: Option<Overriding>,
    values: &[Parameter],
    _client: &mut dyn Client,
) -> Result<Answer> {
    match statement {
        Statement::Insert(insert) => insert::run(session, view, insert, overriding, values),
        Statement::Update(update) => update::run(session, view, update, values),
        Statement::Delete(delete) => delete::run(session, view, delete, values),
        other => Err(SqlError::unsupported(other)),
    }
}

/// Carries out UPSERT INTO.
pub fn upsert(
    session: &mut Session,
    view: &View,
    statement: &Statement,
    values: &[Parameter],
    _client: &mut dyn Client,
) -> Result<Answer> {
    match statement {
        Statement::Insert(insert) => insert::upsert(session, view, insert, values),
        other => Err(SqlError::unsupported(other)),
    }
}

/// What a statement needs, for one that is not run.
pub fn needs(session: &Session, view: &View, statement: &Statement) -> Result<Vec<Need>> {
    match statement {
        Statement::Insert(insert) => insert::needs_of(view, insert),
        Statement::Update(update) => update::needs(session, view, update),
        Statement::Delete(delete) => delete::needs(session, view, delete),
        other => Err(SqlError::unsupported(other)),
    }
}

/// What is known of a statement before it runs.
pub fn describe(
    session: &Session,
    view: &View,
    statement: &Statement,
    given: &[Option<PgType>],
) -> Result<Described> {
    match statement {
        Statement::Insert(insert) => insert::describe(session, view, insert, given),
        Statement::Update(update) => update::describe(session, view, update, given),
        Statement::Delete(delete) => delete::describe(session, view, delete, given),
        other => Err(SqlError::unsupported(other)),
    }
}
