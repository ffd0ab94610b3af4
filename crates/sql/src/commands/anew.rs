//! When does a statement about relations begin anew?
//!
//! It looks its names up, waits until it has what they stand for, and then another transaction may have given the name to
//! another relation, or the relation another form. As in PostgreSQL the names are looked up again then, until what was waited
//! for is what they stand for. What the statement has done by that time, and the locks that it has taken, are given back.

use onlap_pg::ast::{Object, Statement, Utility};

use crate::error::Result;
use crate::session::Session;
use crate::view::View;

/// How often a statement begins anew: each time another transaction has changed what it waited for.
const ROUNDS: usize = 1000;

/// Whether a statement takes relations by their names and keeps others from them.
pub fn takes_relations(statement: &Statement) -> bool {
    match statement {
        Statement::Utility(utility) => {
            matches!(**utility, Utility::Truncate(..) | Utility::Lock(_))
        }
        Statement::Object(object) => !matches!(
            **object,
            Object::CreateDatabase(_) | Object::AlterDatabase(..) | Object::DropDatabase(..)
        ),
        _ => true,
    }
}

/// Carries a statement out as often as names that it waited for have come to stand for something else.
///
/// # Errors
/// Those of the statement; `57014`.
pub fn until_settled<T>(
    session: &mut Session,
    view: &View,
    mut run: impl FnMut(&mut Session, &View) -> Result<T>,
) -> Result<T> {
    let place = session.mark()?;
    let mut done = run(session, view);
    for _ in 0..ROUNDS {
        if done.is_ok() || !session.wants_anew() {
            break;
        }
        view.scope.go_on()?;
        session.between.undo_statement();
        session.back_to(&place)?;
        // What the catalog says is there when the commit has ended that changed it.
        drop(session.instance.newest_objects());
        session.begin_within()?;
        let view = session.view()?;
        done = run(session, &view);
    }
    done
}
