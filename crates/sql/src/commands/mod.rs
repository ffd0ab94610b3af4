//! What do statements do that are neither queries nor change rows?
//!
//! They are carried out here or in the part that they concern.

mod anew;
mod explain;
pub mod lock;
mod maintenance;

use std::sync::Arc;

use onlap_pg::ast::{Statement, Transaction, Utility};

use crate::error::{Result, SqlError};
use crate::session::answer::{Answer, AnswerColumn};
use crate::session::{Parameter, Session};
use crate::source::Source;
use crate::view::View;
use crate::wire::Client;
use crate::{copy, ddl, settings_sql};

/// Carries a statement out.
///
/// # Errors
/// Those of the statement.
pub fn run(
    session: &mut Session,
    view: &View,
    source: Source<'_>,
    values: &[Parameter],
    client: &mut dyn Client,
) -> Result<Answer> {
    let Some(one) = source.tree.statements.first() else {
        return Err(ddl::other(source.text));
    };
    if anew::takes_relations(&one.statement) {
        return anew::until_settled(session, view, |session, view| {
            carry_out(session, view, source, values, client)
        });
    }
    carry_out(session, view, source, values, client)
}

fn carry_out(
    session: &mut Session,
    view: &View,
    source: Source<'_>,
    values: &[Parameter],
    client: &mut dyn Client,
) -> Result<Answer> {
    match &source.tree.statements[0].statement {
        Statement::Utility(utility) => utilities(session, view, source, utility, values, client),
        statement => ddl::run(session, view, source, (statement, values), client),
    }
}

fn utilities(
    session: &mut Session,
    view: &View,
    source: Source<'_>,
    utility: &Utility,
    values: &[Parameter],
    client: &mut dyn Client,
) -> Result<Answer> {
    let unsupported = |what: &str| Err(SqlError::unsupported(what));
    match utility {
        Utility::Transaction(Transaction::CommitPrepared(_)) => unsupported("COMMIT PREPARED"),
        Utility::Transaction(Transaction::RollbackPrepared(_)) => unsupported("ROLLBACK PREPARED"),
        Utility::Transaction(_) => unsupported("PREPARE TRANSACTION"),
        Utility::Set(set) => settings_sql::run(session, view, set, client),
        Utility::Declare(declare) => session.declare_cursor(view, source, declare, values),
        Utility::Fetch(fetch) => session.fetch(fetch, client),
        Utility::Close(name) => session.close_cursor(name.as_deref()),
        Utility::Prepare(prepare) => session.prepare_by_name(source, prepare),
        Utility::Execute(execute) => session.execute_by_name(view, source, execute, client),
        Utility::Deallocate(name) => session.deallocate(name.as_deref()),
        Utility::Explain(explain) => explain::run(session, (view, values), source, explain, client),
        Utility::Copy(said) => copy::run(session, view, source, said, client),
        Utility::Truncate(tables, restart, cascade) => {
            let tag = ddl::truncate(session, view, tables, *restart, *cascade, client)?;
            Ok(Answer::Done(tag.to_string()))
        }
        Utility::Do(block) => crate::routine::run_block(session, view, block, client),
        Utility::Discard(what) => settings_sql::discard(session, view, *what),
        Utility::Listen(channel) => {
            session.must_be_unrestricted("execute LISTEN")?;
            session.between.channels().listen(&view.scope, channel)?;
            Ok(Answer::Done("LISTEN".into()))
        }
        Utility::Unlisten(channel) => {
            session.must_be_unrestricted("execute UNLISTEN")?;
            session.between.channels().unlisten(&view.scope, channel.as_deref())?;
            Ok(Answer::Done("UNLISTEN".into()))
        }
        Utility::Notify(channel, payload) => {
            let payload = payload.as_deref().unwrap_or("");
            session.between.channels().notify(&view.scope, channel, payload)?;
            Ok(Answer::Done("NOTIFY".into()))
        }
        Utility::Lock(tables) => {
            lock::run(session, view, tables)?;
            Ok(Answer::Done("LOCK TABLE".into()))
        }
        upkeep => maintenance::run(session, view, upkeep, client),
    }
}

/// Columns of what a statement gives, if that are rows.
pub fn columns_of(session: &Session, source: Source<'_>) -> Option<Arc<[AnswerColumn]>> {
    let Statement::Utility(utility) = &source.tree.statements.first()?.statement else {
        return None;
    };
    match &**utility {
        Utility::Fetch(fetch) if !fetch.moves => session.columns_of_fetch(&fetch.name),
        Utility::Execute(execute) => session.columns_of_execute(&execute.name),
        Utility::Set(onlap_pg::ast::SetStatement::Show(name)) => {
            Some(settings_sql::columns(name.as_deref()))
        }
        Utility::Explain(explain) => Some(explain::columns(explain)),
        _ => None,
    }
}
