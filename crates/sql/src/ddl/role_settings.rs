//! ALTER ROLE and ALTER DATABASE … SET: what do sessions begin with?
//!
//! A row of the catalog per role and database, 0 standing for any of them, with settings in the order in which they were
//! made. A session takes them when it begins: those for all first, then the database's, the role's, and those of both; what the
//! client says itself comes after that.

use onlap_pg::ast::{Name, SetStatement, SetTo};
use serde_json::{Value as Json, json};

use super::roles;
use crate::catalog::{Kind, Objects};
use crate::error::{Result, SqlError, state};
use crate::rights::{Action, Class, Key};
use crate::session::Session;
use crate::settings::{self, Settings, find, joined, may_be};
use crate::view::View;

/// Whose settings they are: OIDs, 0 for any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Of {
    /// The role.
    pub role: u32,
    /// The database.
    pub database: u32,
}

impl Of {
    fn key(self) -> String {
        format!("{}:{}", self.role, self.database)
    }

    fn read(key: &str) -> Option<Of> {
        let (role, database) = key.split_once(':')?;
        Some(Of { role: role.parse().ok()?, database: database.parse().ok()? })
    }
}

/// What a role, a database or both have.
pub fn of(objects: &Objects, of: Of) -> Vec<String> {
    objects.get(Kind::Settings, &of.key()).map_or_else(Vec::new, |object| texts(&object.body))
}

fn texts(body: &Json) -> Vec<String> {
    let all = body.as_array().into_iter().flatten();
    let requoted = |text: &str| match text.split_once('=') {
        Some((name, value)) => format!("{name}={}", settings::requoted(name, value.to_string())),
        None => text.to_string(),
    };
    all.filter_map(|one| one.as_str().map(requoted)).collect()
}

/// All that there are.
pub fn all(objects: &Objects) -> Vec<(Of, Vec<String>)> {
    let rows = objects.of_kind(Kind::Settings);
    let mut all: Vec<_> =
        rows.filter_map(|(key, object)| Some((Of::read(key)?, texts(&object.body)))).collect();
    all.sort_by_key(|(of, _)| (of.database, of.role));
    all
}

/// Gives a session what it begins with. What is no setting any more is left out.
pub fn begin(objects: &Objects, settings: &mut Settings, role: u32, database: u32) {
    for (role, database) in [(0, 0), (0, database), (role, 0), (role, database)] {
        for text in self::of(objects, Of { role, database }) {
            if let Some((name, value)) = text.split_once('=') {
                settings.begin_with(name, value);
            }
        }
    }
}

/// ALTER ROLE … SET and RESET; of all roles where none is named.
///
/// # Errors
/// There is none; the role may not; no such setting or value.
pub fn of_role(
    session: &mut Session,
    view: &View,
    role: Option<&str>,
    (database, said): (Option<&Name>, &SetStatement),
) -> Result<&'static str> {
    let role = match role {
        Some(name) => {
            let oid = view.role_named(name)?;
            if oid != view.judge.role {
                let superuser = view.judge.rights().is_superuser(oid);
                let text =
                    "must be superuser to alter superuser roles or change superuser attribute";
                roles::must_change(view, superuser, "permission denied", text)?;
            }
            oid
        }
        None => 0,
    };
    let database = match database {
        Some(name) => database_of(view, name)?,
        None => 0,
    };
    if role == 0 {
        let key = Key::of(database);
        if database == 0 && !view.judge.is_superuser() {
            let text = "must be superuser to alter settings globally";
            return Err(SqlError::new(state::NO_PRIVILEGE, text));
        } else if database != 0 {
            let name = view.database.clone();
            view.must_one(Action::Alter, Class::Database, key, &name)?;
        }
    }
    change(session, view, Of { role, database }, said)?;
    Ok("ALTER ROLE")
}

/// ALTER DATABASE … SET and RESET.
///
/// # Errors
/// As of [`of_role`].
pub fn of_database(
    session: &mut Session,
    view: &View,
    name: &str,
    said: &SetStatement,
) -> Result<&'static str> {
    let database = database_of(view, name)?;
    view.must_one(Action::Alter, Class::Database, Key::of(database), name)?;
    change(session, view, Of { role: 0, database }, said)?;
    Ok("ALTER DATABASE")
}

fn database_of(view: &View, name: &str) -> Result<u32> {
    roles::oid_of_object(view, Kind::Database, name).ok_or_else(|| {
        SqlError::new(state::NO_DATABASE, format!("database \"{name}\" does not exist"))
    })
}

fn change(session: &mut Session, view: &View, of: Of, said: &SetStatement) -> Result<()> {
    let mut now = self::of(&view.objects, of);
    let is_of = |text: &String, name: &str| {
        text.split_once('=').is_some_and(|(known, _)| known.eq_ignore_ascii_case(name))
    };
    let superuser = view.judge.is_superuser();
    match said {
        SetStatement::Setting(_, name, SetTo::Default) => {
            must_be_one(session, name)?;
            now.retain(|text| !is_of(text, name));
        }
        SetStatement::Setting(_, name, to) => {
            let value = match to {
                SetTo::Values(values) => joined(name, values)?,
                _ => settings::kept_of_shown(name, session.settings.show(name)?),
            };
            if matches!(&**name, "role" | "session_authorization") {
                return Err(SqlError::unsupported(format!("{name} among settings of a role")));
            }
            may_be(name, &value, superuser)?;
            // As PostgreSQL writes it.
            let name = find(name).map_or(&**name, |setting| setting.name);
            let text = format!("{name}={value}");
            match now.iter_mut().find(|text| is_of(text, name)) {
                Some(known) => *known = text,
                None => now.push(text),
            }
        }
        SetStatement::Reset(Some(name)) => {
            must_be_one(session, name)?;
            now.retain(|text| !is_of(text, name));
        }
        // What a superuser alone may set stays.
        SetStatement::Reset(None) => {
            now.retain(|text| match text.split_once('=') {
                Some((name, value)) => may_be(name, value, superuser).is_err(),
                None => false,
            });
        }
        _ => return Err(SqlError::unsupported("this among settings of a role or a database")),
    }
    let body = (!now.is_empty()).then(|| json!(now));
    session.put(Kind::Settings, &of.key(), body)?;
    session.current()?.changed = true;
    Ok(())
}

fn must_be_one(session: &Session, name: &str) -> Result<()> {
    match name.contains('.') {
        true => Ok(()),
        false => session.settings.show(name).map(drop),
    }
}

/// Forgets what a role or a database had that goes.
///
/// # Errors
/// Those of the engine.
pub fn forget(session: &mut Session, view: &View, goes: &dyn Fn(Of) -> bool) -> Result<()> {
    for (of, _) in all(&view.objects).into_iter().filter(|(of, _)| goes(*of)) {
        session.put(Kind::Settings, &of.key(), None)?;
    }
    Ok(())
}
