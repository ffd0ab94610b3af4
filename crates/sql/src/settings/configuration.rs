//! What did the operator set, and where?
//!
//! Later sources win: defaults, the file, the environment, flags. The origin of every value is kept, for
//! `onlap config print`.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::registry::{Id, SETTINGS};
use super::value::{self, Value};
use super::{Context, find};
use crate::error::{Result, SqlError, state};

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nobody gave one.
    Default,
    /// The configuration file.
    File(String),
    /// An environment variable.
    Environment(String),
    /// A flag, without dashes.
    Flag(&'static str),
    /// The client, when it connected.
    Client,
    /// SET in the session.
    Session,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File(path) => f.write_str(path),
            Origin::Environment(name) => f.write_str(name),
            Origin::Flag(name) => write!(f, "--{name}"),
            Origin::Client => f.write_str("client"),
            Origin::Session => f.write_str("session"),
        }
    }
}

/// All settings of a server with their origins, by id.
#[derive(Clone, Debug)]
pub struct Configuration {
    values: Vec<(Value, Origin)>,
}

impl Default for Configuration {
    fn default() -> Configuration {
        let values = SETTINGS.iter().map(|s| (s.default_value(), Origin::Default)).collect();
        Configuration { values }
    }
}

impl Configuration {
    /// Takes values from a file's text, in TOML: names and values, without tables.
    ///
    /// # Errors
    /// It is no TOML, names no setting, or one that cannot be set, or has a wrong value.
    pub fn read_file(&mut self, path: &str, text: &str) -> Result<()> {
        let wrong = |e: SqlError| {
            let text = format!("{path}: {}", e.message());
            let hint = e.fields().into_iter().find(|(kind, _)| *kind == b'H');
            let error = SqlError::new(e.state(), text);
            hint.map(|(_, hint)| error.clone().hint(hint)).unwrap_or(error)
        };
        let table: toml::Table = text
            .parse()
            .map_err(|e: toml::de::Error| SqlError::new(state::SYNTAX, format!("{path}: {e}")))?;
        for (name, value) in &table {
            let text = text_of(value).ok_or_else(|| {
                let error = SqlError::new(state::BAD_PARAMETER, format!("\"{name}\" is no value"));
                wrong(error.hint("Settings are names and values, without tables."))
            })?;
            self.set_named(name, &text, Origin::File(path.to_string())).map_err(wrong)?;
        }
        Ok(())
    }
    /// Takes values from environment variables.
    ///
    /// # Errors
    /// A wrong value.
    pub fn read_environment(&mut self, variable: impl Fn(&str) -> Option<String>) -> Result<()> {
        for setting in SETTINGS.iter().filter(|s| s.context != Context::Fixed) {
            let name = setting.environment();
            if let Some(text) = variable(&name) {
                self.set_named(setting.name, &text, Origin::Environment(name))?;
            }
        }
        Ok(())
    }
    /// Takes a flag's value.
    ///
    /// # Errors
    /// A wrong value.
    pub fn set_flag(&mut self, id: Id, text: &str) -> Result<()> {
        let setting = id.setting();
        self.set_named(setting.name, text, Origin::Flag(setting.flag.unwrap_or(setting.name)))
    }
    fn set_named(&mut self, name: &str, text: &str, origin: Origin) -> Result<()> {
        let setting = find(name)?;
        if setting.context == Context::Fixed {
            let text = format!("parameter \"{}\" cannot be changed", setting.name);
            return Err(SqlError::new("55P02", text));
        }
        let value = setting.parse(text)?;
        setting.must_be_served(&value)?;
        self.values[setting.id as usize] = (value, origin);
        Ok(())
    }
    /// Says what is so: a setting that no statement sets.
    pub fn put(&mut self, id: Id, value: Value) {
        self.values[id as usize].0 = value;
    }

    /// A value.
    pub fn value(&self, id: Id) -> &Value {
        &self.values[id as usize].0
    }
    /// Where it comes from.
    pub fn origin(&self, id: Id) -> &Origin {
        &self.values[id as usize].1
    }
    /// A text.
    pub fn text(&self, id: Id) -> &str {
        text(self.value(id))
    }
    /// A text that was given.
    pub fn given(&self, id: Id) -> Option<&str> {
        Some(self.text(id)).filter(|text| !text.is_empty())
    }
    /// A number in the setting's unit.
    pub fn int(&self, id: Id) -> i64 {
        int(self.value(id))
    }
    /// On or off.
    pub fn flag(&self, id: Id) -> bool {
        flag(self.value(id))
    }
    /// A time in seconds or milliseconds; `None` for a negative one.
    pub fn time(&self, id: Id) -> Option<Duration> {
        let per = match id.setting().kind {
            super::Kind::Number(super::Unit::S, ..) => 1000,
            _ => 1,
        };
        u64::try_from(self.int(id)).ok().map(|n| Duration::from_millis(n * per))
    }
    /// What sessions begin with.
    pub fn defaults(&self) -> Arc<Configuration> {
        Arc::new(self.clone())
    }
    /// All that can be set, as a file, with where each value comes from.
    pub fn print(&self) -> String {
        let mut out = String::new();
        for setting in SETTINGS.iter().filter(|s| s.context != Context::Fixed) {
            let (value, origin) = &self.values[setting.id as usize];
            let line = format!("{} = {}", setting.name, super::page::toml_value(setting, value));
            out.push_str(&format!("{line:<48} # {origin}\n"));
        }
        out
    }
}

pub(super) fn text(value: &Value) -> &str {
    match value {
        Value::Text(text) => text,
        _ => "",
    }
}

pub(super) fn int(value: &Value) -> i64 {
    match value {
        Value::Int(n) => *n,
        _ => 0,
    }
}

pub(super) fn flag(value: &Value) -> bool {
    matches!(value, Value::Flag(true))
}

/// A TOML value as the text that SET would take.
fn text_of(value: &toml::Value) -> Option<String> {
    Some(match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Integer(n) => n.to_string(),
        toml::Value::Float(x) => x.to_string(),
        toml::Value::Boolean(on) => value::show(super::Kind::Flag, &Value::Flag(*on)),
        toml::Value::Array(parts) => {
            let parts: Option<Vec<String>> = parts.iter().map(text_of).collect();
            parts?.join(",")
        }
        toml::Value::Datetime(_) | toml::Value::Table(_) => return None,
    })
}
