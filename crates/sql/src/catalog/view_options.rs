//! What is said of a view by WITH and SET?
//!
//! Parameters are judged as in PostgreSQL and kept in the view's body as `name=value`, for the catalogs and for pg_dump. With
//! `check_option` rows that are written must be seen; what a view with `security_invoker` reads is read by the role of the
//! statement and not by the view's owner; the condition of a view with `security_barrier` is asked before all that a statement
//! asks of its rows.
//!
//! Thread safety: plain data.

use onlap_pg::ast::{Checked, Setting};
use onlap_pg::value::boolean;
use serde_json::{Value as Json, json};

use crate::error::{Result, SqlError, state};

/// What is said of a view, in the order in which it is said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    all: Vec<(String, String)>,
}

fn bad(text: String) -> SqlError {
    SqlError::new(state::BAD_PARAMETER, text)
}

impl Options {
    /// What WITH says, and WITH CHECK OPTION behind it.
    ///
    /// # Errors
    /// `22023`: there is no such parameter, it does not take the value, or it comes twice.
    pub fn of(settings: &[Setting], checked: Option<Checked>) -> Result<Options> {
        let mut options = Options::default();
        for setting in settings {
            match setting.space.as_deref() {
                None => {}
                // What is said of a table's TOAST says nothing of a view.
                Some("toast") => continue,
                Some(space) => {
                    return Err(bad(format!("unrecognized parameter namespace \"{space}\"")));
                }
            }
            let value = setting.value.as_ref().map_or("true", |value| value.text());
            options.add(&setting.name, value)?;
        }
        match checked {
            Some(Checked::Local) => options.add("check_option", "local")?,
            Some(Checked::Cascaded) => options.add("check_option", "cascaded")?,
            None => {}
        }
        Ok(options)
    }

    /// As a view's body has them.
    pub fn kept(body: &Json) -> Options {
        let pair = |text: &str| {
            let (name, value) = text.split_once('=')?;
            Some((name.to_string(), value.to_string()))
        };
        let all: Vec<_> = match body["options"].as_array() {
            Some(all) => all.iter().filter_map(|option| pair(option.as_str()?)).collect(),
            // Of an older release.
            None => {
                let checked = body["checked"].as_str().into_iter();
                checked.map(|checked| ("check_option".into(), checked.into())).collect()
            }
        };
        Options { all }
    }

    fn add(&mut self, name: &str, value: &str) -> Result<()> {
        let is_flag = match name {
            "security_barrier" | "security_invoker" => true,
            "check_option" => false,
            _ => return Err(bad(format!("unrecognized parameter \"{name}\""))),
        };
        if self.get(name).is_some() {
            return Err(bad(format!("parameter \"{name}\" specified more than once")));
        }
        if is_flag && boolean::parse(value).is_err() {
            return Err(bad(format!("invalid value for boolean option \"{name}\": {value}")));
        }
        if !is_flag && !matches!(value, "local" | "cascaded") {
            let text = format!("invalid value for enum option \"{name}\": {value}");
            let detail = "Valid values are \"local\" and \"cascaded\".";
            return Err(bad(text).detail(detail));
        }
        self.all.push((name.to_string(), value.to_string()));
        Ok(())
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.all.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Whether rows that are written through the view must be seen in it.
    pub fn is_checked(&self) -> bool {
        self.get("check_option").is_some()
    }

    /// With others in the place of what is named, or without what is named.
    ///
    /// # Errors
    /// `42601`: RESET with a value; those of [`Options::of`].
    pub fn changed(mut self, settings: &[Setting], reset: bool) -> Result<Options> {
        if reset && settings.iter().any(|setting| setting.value.is_some()) {
            let text = "RESET must not include values for parameters";
            return Err(SqlError::new(state::SYNTAX, text));
        }
        let said = |name: &str| settings.iter().any(|of| of.space.is_none() && *of.name == *name);
        self.all.retain(|(known, _)| !said(known));
        if !reset {
            self.all.extend(Options::of(settings, None)?.all);
        }
        Ok(self)
    }

    /// As `pg_class.reloptions` has them.
    pub fn texts(&self) -> Vec<String> {
        self.all.iter().map(|(name, value)| format!("{name}={value}")).collect()
    }

    /// Puts them into a view's body.
    pub fn put(&self, body: &mut Json) {
        body["options"] = json!(self.texts());
        body["checked"] = json!(self.get("check_option"));
    }
}

/// Whether what a view reads is read by the role of the statement.
pub fn is_of_invoker(body: &Json) -> bool {
    is_on(body, "security_invoker")
}

/// Whether a view's conditions come before all that is asked of its rows.
pub fn is_barrier(body: &Json) -> bool {
    is_on(body, "security_barrier")
}

fn is_on(body: &Json, option: &str) -> bool {
    Options::kept(body).get(option).is_some_and(|value| boolean::parse(value) == Ok(true))
}
