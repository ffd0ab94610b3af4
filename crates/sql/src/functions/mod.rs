//! Which functions does the session answer?
//!
//! Those that know the session, the catalogs or sequences; they are called with values alone. All others are kernels
//! (`onlap_kernels`). Which arguments and types a function has is known from PostgreSQL's catalog; a strict one is not
//! called with NULL.

mod advisory;
pub mod catalogs;
mod counted;
pub mod privileges;
pub mod sequences;
mod server;
pub mod set_config;

use std::sync::Arc;

use crate::error::Result;
use crate::system::rows::Datum;

/// What a function makes of its arguments.
type Call = dyn Fn(&[Datum]) -> Result<Datum> + Send + Sync;

/// A function of the session.
#[derive(Clone)]
pub struct Function(Arc<Call>);

impl Function {
    /// A function that is this.
    pub fn new(call: impl Fn(&[Datum]) -> Result<Datum> + Send + Sync + 'static) -> Function {
        Function(Arc::new(call))
    }

    /// A function whose value is known.
    fn value(value: impl Into<Datum>) -> Function {
        let value = value.into();
        Function::new(move |_| Ok(value.clone()))
    }

    /// What it makes of arguments.
    ///
    /// # Errors
    /// PostgreSQL's.
    pub fn call(&self, arguments: &[Datum]) -> Result<Datum> {
        (self.0)(arguments)
    }
}

/// The function of a name, for a statement.
pub fn find(seen: &Arc<catalogs::Seen>, name: &str) -> Option<Function> {
    let view = &seen.view;
    let made = match name {
        "set_config" => set_config::of_session(view),
        "version" => Function::value(crate::version().as_str()),
        "current_database" | "current_catalog" => Function::value(view.database.as_str()),
        "current_user" | "user" | "current_role" => Function::value(view.user.as_str()),
        "session_user" => Function::value(view.session_user.as_str()),
        "current_schema" => Function::value(view.creation_schema().ok()),
        "pg_trigger_depth" => {
            let scope = Arc::clone(&view.scope);
            Function::new(move |_| Ok(i64::from(scope.lent().depth_of_triggers()).into()))
        }
        "pg_backend_pid" => Function::value(i64::from(view.pid)),
        _ => {
            return sequences::find(view, name)
                .or_else(|| advisory::find(view, name))
                .or_else(|| server::find(view, name))
                .or_else(|| counted::find(seen, name))
                .or_else(|| catalogs::find(seen, name));
        }
    };
    Some(made)
}
