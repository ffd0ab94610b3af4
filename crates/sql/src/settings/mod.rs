//! What can be set, where, and what does it mean?
//!
//! One entry per setting ([`registry`]) gives its flag of `onlap serve`, its environment variable
//! (`ONLAP_` and the name in capitals), its key in the configuration file, SET, SHOW and RESET, its row
//! of pg_settings, what clients are told of it (ParameterStatus), and its line of `docs/settings.md`.
//!
//! Two users:
//!
//! * The server reads a [`Configuration`]: defaults, then the file, then the environment, then flags. Its
//!   [`Configuration::defaults`] are what sessions begin with.
//! * A session has [`Settings`]: [`Settings::new`] with those defaults, [`Settings::start_with`] what the
//!   client sent at its start, then [`Settings::set`] for SET and SET LOCAL, [`Settings::reset`],
//!   [`Settings::show`]; [`Settings::commit`] and [`Settings::rollback`] at the end of a transaction
//!   (PostgreSQL undoes SET with it), [`Settings::mark`] and [`Settings::back_to`] for savepoints. What
//!   the session itself decides (is_superuser, transaction_isolation) is [`Settings::put`]. Before each
//!   ReadyForQuery it sends [`Settings::take_reported`]: everything that is reported the first time, what
//!   changed later. [`Settings::flag`], [`Settings::int`], [`Settings::time`] and [`Settings::text`] read
//!   by [`Id`] at no cost.
//!
//! Pure: files and variables are handed in. Knows nothing of what a setting does.

mod check;
mod configuration;
mod page;
pub mod registry;
mod rows;
mod session;
mod value;

#[cfg(test)]
mod tests;

pub use configuration::{Configuration, Origin};
pub use page::{default_file, page};
pub use registry::{Id, SETTINGS};
pub use rows::{SettingRow, hidden, is_secret};
pub use session::{Mark, Settings, checked, may_be};
pub use value::{Unit, Value};

use std::borrow::Cow;

pub use check::names;
use onlap_pg::ast::OptionValue;
use onlap_pg::value::interval::Interval;

use crate::catalog::names::quote;
use crate::error::{Result, SqlError, state};

/// When a setting may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    /// Never: it says what the server is.
    Fixed,
    /// When the server starts.
    Start,
    /// In a session, by SET.
    Session,
    /// In a session of a superuser, by SET.
    Superuser,
}

/// What a setting's values are.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// on or off.
    Flag,
    /// A whole number in a unit, from the least to the greatest.
    Number(Unit, i64, i64),
    /// Any number.
    Real(f64, f64),
    /// One of some words.
    Word(&'static [&'static str]),
    /// Any text.
    Text,
    /// Text that a function brings into its usual form, or refuses with a detail, which may be empty.
    Checked(fn(&str) -> Result<String, String>),
}

/// A setting.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// For programs.
    pub id: Id,
    /// For people; case does not matter.
    pub name: &'static str,
    /// What its values are.
    pub kind: Kind,
    /// Its value where nobody gives one.
    pub default: &'static str,
    /// When it may change.
    pub context: Context,
    /// The flag of `onlap serve`, without dashes.
    pub flag: Option<&'static str>,
    /// Whether clients are told of it at once.
    pub reported: bool,
    /// What it belongs to.
    pub category: &'static str,
    /// What it does.
    pub text: &'static str,
}

impl Setting {
    /// Reads a value.
    ///
    /// # Errors
    /// It is none of this setting's (22023).
    pub fn parse(&self, text: &str) -> Result<Value> {
        // As in PostgreSQL only what checks a text calls the setting by its own name.
        let name = match self.kind {
            Kind::Text | Kind::Checked(_) => Cow::Borrowed(self.name),
            _ => Cow::Owned(self.name.to_ascii_lowercase()),
        };
        value::parse(self.kind, text).map_err(|wrong| wrong.error(&name, text))
    }
    /// Fails for a value that would change what statements mean in a way that is not there.
    ///
    /// # Errors
    /// `0A000`.
    fn must_be_served(&self, value: &Value) -> Result<()> {
        let is_served = match (self.id, value) {
            (Id::TransformNullEquals | Id::QuoteAllIdentifiers, Value::Flag(on)) => !on,
            (Id::ArrayNulls, Value::Flag(on)) => *on,
            (Id::SessionReplicationRole, Value::Text(role)) => role != "replica",
            _ => true,
        };
        match is_served {
            true => Ok(()),
            false => {
                let shown = value::show(self.kind, value);
                Err(SqlError::unsupported(format!("{} = {shown}", self.name)))
            }
        }
    }
    /// The value where nobody gives one.
    pub fn default_value(&self) -> Value {
        value::parse(self.kind, self.default).expect("a test reads every default")
    }
    /// The variable that sets it.
    pub fn environment(&self) -> String {
        format!("ONLAP_{}", self.name.to_ascii_uppercase())
    }
}

/// The setting of a name.
///
/// # Errors
/// There is none (42704); the hint names the nearest.
pub fn find(name: &str) -> Result<&'static Setting> {
    known(name).ok_or_else(|| {
        let text = format!("unrecognized configuration parameter \"{name}\"");
        SqlError::new(state::NO_OBJECT, text).hint(format!("Did you mean \"{}\"?", nearest(name)))
    })
}

fn known(name: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.name.eq_ignore_ascii_case(name))
}

/// The mode of the transaction under way that a name stands for, if it does.
pub fn mode(name: &str) -> Option<Id> {
    known(name).map(|setting| setting.id).filter(|id| is_mode(*id))
}

/// Whether a setting's value is a list, for which SET takes several values.
fn is_list(name: &str) -> bool {
    let lists = |id| matches!(id, Id::DateStyle | Id::SearchPath | Id::TempTablespaces);
    known(name).is_some_and(|setting| lists(setting.id))
}

/// What SET is given for a setting, as one text: names in lists of names are quoted where they have to be.
///
/// # Errors
/// `22023`: several values of what is no list; those of an interval's text.
pub fn joined(name: &str, values: &[OptionValue]) -> Result<String> {
    if values.len() > 1 && !is_list(name) {
        let text = format!("SET {name} takes only one argument");
        return Err(SqlError::new(state::BAD_PARAMETER, text));
    }
    let has_names = has_names(name);
    let text = |value: &OptionValue| match value {
        OptionValue::Interval(text, modifier) => interval(text, *modifier),
        value if has_names => Ok(quote(value.text())),
        value => Ok(value.text().to_string()),
    };
    Ok(values.iter().map(text).collect::<Result<Vec<_>>>()?.join(", "))
}

/// An interval with its fields, as the text of a time zone. Without the word it is a zone of POSIX, whose sign is the other one.
fn interval(text: &str, modifier: i32) -> Result<String> {
    let settings = onlap_pg::value::Settings::default();
    let read = Interval::parse_with(text, modifier, &settings);
    let read = read.map_err(|e| crate::query::sql_error(&e, ""))?;
    Ok(format!("INTERVAL '{}'", read.print(&settings)))
}

/// Whether a setting is a list of names.
pub fn has_names(name: &str) -> bool {
    known(name).is_some_and(|of| matches!(of.id, Id::SearchPath | Id::TempTablespaces))
}

/// What was kept of a setting in an older directory, as it is kept now: lists had their names as they are, without quotes.
pub fn requoted(name: &str, text: String) -> String {
    if !has_names(name) || text.contains('"') {
        return text;
    }
    text.split(',').map(|part| quote(part.trim())).collect::<Vec<_>>().join(", ")
}

/// What SHOW gives of a setting, as it is kept.
pub fn kept_of_shown(name: &str, shown: String) -> String {
    match names(&shown) {
        Some(all) if has_names(name) => {
            all.iter().map(|name| quote(name)).collect::<Vec<_>>().join(", ")
        }
        _ => shown,
    }
}

/// What SHOW would give of a setting that had this value; nothing where there is none such.
pub fn shown(name: &str, text: &str) -> Option<String> {
    let setting = find(name).ok()?;
    setting.parse(text).ok().map(|value| value::show(setting.kind, &value))
}

/// A value of DateStyle with the parts of the one before that it leaves out; nothing where it is none.
pub fn date_style_after(before: &str, text: &str) -> Option<String> {
    check::date_style_after(before, text).ok()
}

/// Whether a setting is a mode of the transaction under way.
fn is_mode(id: Id) -> bool {
    matches!(id, Id::TransactionIsolation | Id::TransactionReadOnly | Id::TransactionDeferrable)
}

/// The name with the fewest edits.
fn nearest(name: &str) -> &'static str {
    let given = name.to_lowercase();
    let distance = |s: &&Setting| edits(&given, &s.name.to_lowercase());
    SETTINGS.iter().min_by_key(distance).expect("there are settings").name
}

/// Levenshtein distance, by rows of the dynamic program.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    // A name of any length may be asked for; the first hundred characters say enough.
    for (i, x) in a.chars().take(100).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
