//! What could have been meant by a name that is not there?

use super::{Binder, EntryKind};
use crate::ast::Name;
use crate::bound::Entry;
use crate::{Error, Result};

/// Names that differ in more letters are not proposed.
const MAX_DISTANCE: usize = 3;

/// The nearest columns so far.
struct Nearest<'a> {
    distance: usize,
    first: Option<(&'a Entry, usize)>,
    second: Option<(&'a Entry, usize)>,
}

impl Binder<'_> {
    /// The error of a column that is not there, with what it may have been.
    pub(super) fn missing_column(&self, relation: Option<&str>, column: &str) -> Result<Error> {
        let text = match relation {
            Some(relation) => format!("column {relation}.{column} does not exist"),
            None => format!("column \"{column}\" does not exist"),
        };
        let error = Error::new("42703", text);
        let mut nearest = Nearest { distance: MAX_DISTANCE + 1, first: None, second: None };
        for level in self.levels.iter().rev() {
            for entry in &level.entries {
                if matches!(entry.kind, EntryKind::Join { .. }) {
                    continue;
                }
                let penalty = match relation {
                    Some(relation) => distance(relation, &entry.name, MAX_DISTANCE + 1),
                    None => 0,
                };
                let found = nearest.look(entry, column, penalty)?;
                if (found || self.is_system_column(entry, column)) && penalty == 0 {
                    return Ok(error.hint(format!(
                        "There is a column named \"{column}\" in table \"{}\", but it cannot be \
                         referenced from this part of the query.",
                        entry.name
                    )));
                }
            }
        }
        let shown =
            |(entry, at): (&Entry, usize)| format!("\"{}.{}\"", entry.name, entry.names[at]);
        Ok(match (nearest.first, nearest.second) {
            (Some(first), Some(second)) => error.hint(format!(
                "Perhaps you meant to reference the column {} or the column {}.",
                shown(first),
                shown(second)
            )),
            (Some(first), None) => {
                error.hint(format!("Perhaps you meant to reference the column {}.", shown(first)))
            }
            _ => error,
        })
    }

    /// The error of a relation that is not in FROM, or not seen from there.
    pub(super) fn missing_relation(&self, qualifier: &[Name]) -> Error {
        let name = qualifier.last().expect("a name");
        let Some((entry, at, up)) = self.hidden_entry(qualifier) else {
            let text = format!("missing FROM-clause entry for table \"{name}\"");
            return Error::new("42P01", text);
        };
        let text = format!("invalid reference to FROM-clause entry for table \"{name}\"");
        let error = Error::new("42P01", text);
        if entry.alias.is_some() && entry.name != *name {
            let is_it = |(seen_up, seen): (usize, usize)| {
                let items = &self.levels[self.levels.len() - 1 - up].items;
                seen_up == up && items[seen].entry == at + 1
            };
            match self.item_named(std::slice::from_ref(&entry.name), None) {
                Err(error) => return error,
                Ok(Some(found)) if is_it(found) => {
                    let text = format!(
                        "Perhaps you meant to reference the table alias \"{}\".",
                        entry.name
                    );
                    return error.hint(text);
                }
                Ok(_) => {}
            }
        }
        error.hint(format!(
            "There is an entry for table \"{}\", but it cannot be referenced from this part of the \
             query.",
            entry.name
        ))
    }

    /// An entry that a name could mean were it seen: the entry, its number from 0, levels up.
    fn hidden_entry(&self, qualifier: &[Name]) -> Option<(&Entry, usize, usize)> {
        let name = qualifier.last()?;
        let cte = match qualifier.len() {
            1 => self.cte_named(name).map(|(up, _)| up),
            _ => None,
        };
        let relation = if cte.is_none() { self.oid_of(qualifier) } else { None };
        for (up, level) in self.levels.iter().rev().enumerate() {
            for (at, entry) in level.entries.iter().enumerate() {
                let is_it = match &entry.kind {
                    EntryKind::Relation { oid, .. } if Some(*oid) == relation => true,
                    EntryKind::Cte { name: of, up: own, .. } => {
                        cte == Some(up + *own as usize) && of == name
                    }
                    _ => false,
                };
                if is_it || entry.name == *name {
                    return Some((entry, at, up));
                }
            }
        }
        None
    }
}

impl<'a> Nearest<'a> {
    /// Looks at an entry's columns. Says whether one has the very name.
    fn look(&mut self, entry: &'a Entry, column: &str, penalty: usize) -> Result<bool> {
        let mut exact = false;
        for (at, name) in entry.names.iter().enumerate() {
            if **name == *column {
                if exact {
                    let text = format!("column reference \"{column}\" is ambiguous");
                    return Err(Error::new("42702", text));
                }
                exact = true;
            }
            self.consider(entry, at, column, penalty);
        }
        Ok(exact)
    }

    fn consider(&mut self, entry: &'a Entry, at: usize, column: &str, penalty: usize) {
        let name = &entry.names[at];
        if penalty > self.distance || name.is_empty() {
            return;
        }
        let own = distance(name, column, self.distance + 1 - penalty);
        if own > column.len() / 2 {
            return;
        }
        let all = own + penalty;
        if all < self.distance {
            *self = Nearest { distance: all, first: Some((entry, at)), second: None };
        } else if all == self.distance {
            if self.second.is_some() {
                // Too many are as near: none is proposed, nor another that is no nearer.
                *self = Nearest { distance: all.saturating_sub(1), first: None, second: None };
            } else if self.first.is_some() {
                self.second = Some((entry, at));
            } else if self.distance <= MAX_DISTANCE {
                self.first = Some((entry, at));
            }
        }
    }
}

/// How many letters must be put in, taken out or changed (Levenshtein); one more than `most` where that is exceeded.
fn distance(one: &str, other: &str, most: usize) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let changed = before + usize::from(a != *b);
            before = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(before + 1);
        }
    }
    row[other.len()].min(most + 1)
}
