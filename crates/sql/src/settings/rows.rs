//! What does pg_settings show?

use super::registry::SETTINGS;
use super::{Context, Kind, Origin, Settings, value};
use crate::error::{SqlError, state};

/// A row of pg_settings; the columns that are not here are NULL (extra_desc, sourceline) or false
/// (pending_restart).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingRow {
    /// name
    pub name: &'static str,
    /// setting: numbers without unit
    pub setting: String,
    /// unit
    pub unit: Option<&'static str>,
    /// category
    pub category: &'static str,
    /// short_desc
    pub short_desc: &'static str,
    /// context: internal, postmaster, user
    pub context: &'static str,
    /// vartype: bool, integer, real, enum, string
    pub vartype: &'static str,
    /// source: default, configuration file, environment variable, command line, client, session
    pub source: &'static str,
    /// min_val
    pub min_val: Option<String>,
    /// max_val
    pub max_val: Option<String>,
    /// enumvals
    pub enumvals: Option<&'static [&'static str]>,
    /// boot_val
    pub boot_val: String,
    /// reset_val
    pub reset_val: String,
    /// sourcefile
    pub sourcefile: Option<String>,
}

/// Settings that tell of the machine, which only those with the rights of pg_read_all_settings may see.
const SECRET: [&str; 3] = ["data_dir", "data_directory", "password_file"];

/// Whether a setting is such a one.
pub fn is_secret(name: &str) -> bool {
    SECRET.iter().any(|secret| secret.eq_ignore_ascii_case(name))
}

/// What is said to who may not see one.
pub fn hidden(name: &str) -> SqlError {
    let text = format!(
        "must be superuser or have privileges of pg_read_all_settings to examine \"{name}\""
    );
    SqlError::new(state::NO_PRIVILEGE, text)
}

impl Settings {
    /// Rows of pg_settings, in the order of the registry.
    pub fn rows(&self) -> Vec<SettingRow> {
        SETTINGS.iter().map(|s| self.row(s)).collect()
    }

    fn row(&self, s: &super::Setting) -> SettingRow {
        let (vartype, unit, limits, enumvals) = match s.kind {
            Kind::Flag => ("bool", None, None, None),
            Kind::Number(unit, least, most) => {
                ("integer", unit.name(), Some((least.to_string(), most.to_string())), None)
            }
            Kind::Real(least, most) => {
                ("real", None, Some((value::general(least), value::general(most))), None)
            }
            Kind::Word(words) => ("enum", None, None, Some(words)),
            Kind::Text | Kind::Checked(_) => ("string", None, None, None),
        };
        let (min_val, max_val) = limits.unzip();
        let origin = self.origin(s.id);
        SettingRow {
            name: s.name,
            setting: value::plain(self.value(s.id)),
            unit,
            category: s.category,
            short_desc: s.text,
            context: match s.context {
                Context::Fixed => "internal",
                Context::Start => "postmaster",
                Context::Session => "user",
                Context::Superuser => "superuser",
            },
            vartype,
            source: match &origin {
                Origin::Default => "default",
                Origin::File(_) => "configuration file",
                Origin::Environment(_) => "environment variable",
                Origin::Flag(_) => "command line",
                Origin::Client => "client",
                Origin::Session => "session",
            },
            min_val,
            max_val,
            enumvals,
            boot_val: value::plain(&s.default_value()),
            reset_val: value::plain(self.reset_value(s.id)),
            sourcefile: match origin {
                Origin::File(path) => Some(path),
                _ => None,
            },
        }
    }
}
