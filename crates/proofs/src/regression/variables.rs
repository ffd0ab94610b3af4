//! Which variables has a script, and what do they make of its texts?

use std::collections::HashMap;

use onlap_testkit::simple::Outcome;

use super::script::{Part, Quoting};

/// Variables of one system's session.
#[derive(Clone, Debug, Default)]
pub struct Variables(HashMap<String, String>);

impl Variables {
    /// Sets one.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// Removes one.
    pub fn unset(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// Sets those that a row names, as `\gset` does; a NULL removes its variable.
    pub fn gather(&mut self, prefix: &str, outcome: &Outcome) {
        let [row] = &outcome.rows[..] else { return };
        for ((name, _), value) in outcome.columns.iter().zip(row) {
            let name = format!("{prefix}{name}");
            match value {
                Some(value) => self.set(&name, value.as_str()),
                None => self.unset(&name),
            }
        }
    }

    /// A text with the values of its variables; what is no variable stays as it was written.
    pub fn expand(&self, parts: &[Part]) -> String {
        parts.iter().map(|part| self.part(part)).collect()
    }

    fn part(&self, part: &Part) -> String {
        let (name, quoting) = match part {
            Part::Text(text) => return text.clone(),
            Part::Variable { name, quoting } => (name, *quoting),
        };
        let value = self.0.get(name);
        match (quoting, value) {
            (Quoting::Test, value) => if value.is_some() { "TRUE" } else { "FALSE" }.into(),
            (Quoting::Plain, Some(value)) => value.clone(),
            (Quoting::Literal, Some(value)) => match value.contains('\\') {
                true => format!(" E'{}'", value.replace('\\', "\\\\").replace('\'', "''")),
                false => format!("'{}'", value.replace('\'', "''")),
            },
            (Quoting::Identifier, Some(value)) => format!("\"{}\"", value.replace('"', "\"\"")),
            (Quoting::Plain, None) => format!(":{name}"),
            (Quoting::Literal, None) => format!(":'{name}'"),
            (Quoting::Identifier, None) => format!(":\"{name}\""),
        }
    }
}
