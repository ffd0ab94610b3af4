//! How do statements of PL/pgSQL run?
//!
//! A text is read to a [`body`], which a machine carries out statement by statement ([`run`]). SQL in it is bound by the same
//! binder as a client's, with variables for names that are no columns ([`values::Seen`]), and carried out in the session's transaction:
//! each text is a statement with a snapshot of its own. What variables hold counts among the memory of queries; loops look at
//! timeouts and cancellation.
//!
//! An error that EXCEPTION handles undoes what was done since its block began, as ROLLBACK TO SAVEPOINT does.
//!
//! Thread safety: a machine belongs to its session's thread.

mod assign;
mod body;
mod called;
mod conditions;
mod cursors;
mod declare;
mod define;
mod give;
mod host;
mod machine;
mod raise;
mod read;
mod run;
mod sql;
mod statements;
mod texts;
mod trigger;
mod types;
mod values;
mod words;

pub use called::{Bodies, Given as Called, TRIGGER, VOID, call as call_made, is_polymorphic};
pub use define::check;
pub use texts::is_plain;
pub use trigger::{Conditioned, Fired, Firing, fire, judge, must_be_served};

use datafusion_execution::memory_pool::{MemoryConsumer, MemoryReservation};
use onlap_pg::ast::Do;

use crate::deep::too_deep;
use crate::error::{Result, SqlError, state};
use crate::plan::texts::expected_bytes;
use crate::session::Session;
use crate::session::answer::Answer;
use crate::view::View;
use crate::wire::Client;
use host::Host;
use machine::Machine;
use read::{Around, Form, MORE_STACK, RED_ZONE};

/// Blocks that carry each other out.
const MAX_DEPTH: usize = 32;

/// DO.
///
/// # Errors
/// `42601` and others of its grammar; those of its statements; `42704`: there is no such language.
pub fn run_block(
    session: &mut Session,
    view: &View,
    block: &Do,
    client: &mut dyn Client,
) -> Result<Answer> {
    const NAME: &str = "inline_code_block";
    let language = block.language.as_deref().unwrap_or("plpgsql");
    match language {
        "plpgsql" => {}
        "sql" | "internal" | "c" => {
            let text = format!("language \"{language}\" does not support inline code execution");
            return Err(SqlError::new(state::UNSUPPORTED, text));
        }
        _ => {
            let text = format!("language \"{language}\" does not exist");
            return Err(SqlError::new(state::NO_OBJECT, text));
        }
    }
    if session.depth() >= MAX_DEPTH {
        return Err(too_deep().hint("Blocks carry each other out too deeply."));
    }
    // What a text is read to is there for as long as it runs.
    let _memory = memory_of(view, expected_bytes(&block.body) / 4)?;
    let form = Form::of_block();
    let body = read::read(&block.body, &Around { view, name: NAME, form: &form })?;
    let done = session.together(|session| {
        let host = Host::new(session, client, view.clone());
        let run = || Machine::new(host, &body, NAME).run();
        stacker::maybe_grow(RED_ZONE, MORE_STACK, run)
    });
    // What has failed is not run again from its beginning, whatever its last statement met.
    if done.is_err()
        && let Err(e) = session.begin_within()
    {
        return done.and(Err(e));
    }
    done.map(|()| Answer::Done("DO".into()))
}

/// Memory for what is made of a text.
///
/// # Errors
/// `53200`.
fn memory_of(view: &View, bytes: u64) -> Result<MemoryReservation> {
    let pool = view.instance.runner.memory();
    let memory = MemoryConsumer::new("texts of a routine").register(&pool);
    memory.try_grow(usize::try_from(bytes).unwrap_or(usize::MAX))?;
    Ok(memory)
}
