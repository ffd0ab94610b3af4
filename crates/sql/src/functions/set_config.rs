//! set_config().
//!
//! A function cannot change its session, for plans run on other threads: what it asks for is noted
//! ([`Asked`]), and the session does it after the statement.

use std::sync::Arc;

use parking_lot::Mutex;

use super::Function;
use crate::error::{Result, SqlError, state};
use crate::rights::Judge;
use crate::session::no_role_here;
use crate::settings::{self, Value};
use crate::system::rows::Datum;
use crate::view::View;

/// Settings that functions ask for: name, value, and whether for the transaction alone.
pub type Asked = Arc<Mutex<Vec<(String, String, bool)>>>;

/// Settings that one statement may ask for.
const MOST_ASKED: usize = 1000;

struct SetConfig {
    asked: Asked,
    judge: Judge,
    session_role: u32,
    /// The role that connected.
    connected: u32,
    /// What the role stays the same in.
    confined: Option<&'static str>,
    /// The settings by name.
    now: Arc<dyn Fn(&str) -> Option<String> + Send + Sync>,
}

/// What a setting shows since a function of the statement asked for it; `now`: what it showed before.
pub fn asked_for(asked: &Asked, name: &str, now: &dyn Fn() -> Option<String>) -> Option<String> {
    let asked = asked.lock();
    let (_, value, _) = asked.iter().rev().find(|(other, ..)| other == name)?;
    Some(shown(name, value, now).unwrap_or_else(|| value.clone()))
}

/// What a setting shows with a value, where that is not the value itself.
fn shown(name: &str, value: &str, now: &dyn Fn() -> Option<String>) -> Option<String> {
    match name {
        "datestyle" => settings::shown(name, &settings::date_style_after(&now()?, value)?),
        name => settings::shown(name, value),
    }
}

/// The function, for a session.
pub fn of_session(view: &View) -> Function {
    let (asked, judge) = (Arc::clone(&view.asked), view.judge.clone());
    let sessions = view.instance.sessions();
    let session_role = view.session_role;
    let own = sessions.iter().find(|session| session.key.pid == view.pid);
    let connected = own.map_or(session_role, |session| session.role);
    let (confined, now) = (view.confined, Arc::clone(&view.settings));
    let made = SetConfig { asked, judge, session_role, connected, confined, now };
    Function::new(move |arguments| made.call(arguments))
}

impl SetConfig {
    /// Fails for what the session will not do: become a role, or set what its role may not.
    fn must_set(&self, setting: &str, name: &str) -> Result<()> {
        if let (Some(within), "role" | "session_authorization") = (self.confined, setting) {
            return Err(no_role_here(setting, within));
        }
        let what = match setting {
            "role" if name == "none" => return Ok(()),
            "role" => "role",
            "session_authorization" => "session authorization",
            mode if settings::mode(mode).is_some() => return self.must_be_mode(mode, name),
            _ => return settings::may_be(setting, name, self.judge.is_superuser()),
        };
        let rights = self.judge.rights();
        let Some(role) = rights.role_named(name).map(|role| role.oid) else {
            let text = format!("role \"{name}\" does not exist");
            return Err(SqlError::new(state::BAD_PARAMETER, text));
        };
        let may = match setting {
            "role" => self.judge.of(self.session_role).is_member(role),
            _ => role == self.connected || rights.is_superuser(self.connected),
        };
        match may {
            true => Ok(()),
            false => {
                let text = format!("permission denied to set {what} \"{name}\"");
                Err(SqlError::new(state::NO_PRIVILEGE, text))
            }
        }
    }

    /// Fails for another mode of the transaction, whose query this is, than it has: it may only become one that reads.
    fn must_be_mode(&self, setting: &str, value: &str) -> Result<()> {
        let checked = settings::checked(setting, value)?;
        let now = (self.now)(setting).map(|now| settings::checked(setting, &now)).transpose()?;
        let text = match setting {
            _ if now.as_ref() == Some(&checked) => return Ok(()),
            "transaction_read_only" if checked == Value::Flag(true) => return Ok(()),
            "transaction_isolation" => {
                "SET TRANSACTION ISOLATION LEVEL must be called before any query"
            }
            "transaction_read_only" => "transaction read-write mode must be set before any query",
            _ => "SET TRANSACTION [NOT] DEFERRABLE must be called before any query",
        };
        Err(SqlError::new(state::ACTIVE_TRANSACTION, text))
    }

    fn call(&self, arguments: &[Datum]) -> Result<Datum> {
        let [name, value, local] = arguments else {
            let text = "set_config takes a name, a value, and whether it is local";
            return Err(SqlError::new(state::NO_FUNCTION, text));
        };
        if *name == Datum::Null {
            return Err(SqlError::new("22004", "SET requires parameter name"));
        }
        let (name, value) = (name.text().to_lowercase(), value.text());
        self.must_set(&name, &value)?;
        let local = *local == Datum::Bool(true);
        let mut asked = self.asked.lock();
        // Of several for one setting the last one holds.
        asked.retain(|(other, _, was_local)| (other, *was_local) != (&name, local));
        if asked.len() >= MOST_ASKED {
            return Err(SqlError::new("54000", "a statement sets too many settings"));
        }
        let shown = shown(&name, &value, &|| (self.now)(&name));
        asked.push((name, value.clone(), local));
        Ok(shown.unwrap_or(value).into())
    }
}
