//! Which rows have the keys that conditions need?
//!
//! Indexes of gin, and others that are connected with them by OR, give sets of rows, which the engine joins. The rows of the set
//! are read in the order of their ids, and the conditions are asked of them.

use onlap::{IndexSchema, KeyRange, Predicate, TableSchema, Value};
use onlap_kernels::gin::Tree;
use onlap_pg::Result;
use onlap_query::{Keyed, Restriction, Trees};

use super::ranges::{self, Way};
use crate::plan::TableHandle;
use crate::plan::access::{self, Access};

/// Sets with more rows are cut by what other indexes say; to read fewer costs less than to ask one more index.
pub const MANY_ROWS: u64 = 2048;

/// What says which rows are read.
pub struct ByKeys {
    part: Part,
    /// The names of the indexes.
    pub indexes: Vec<String>,
}

enum Part {
    Keys { index: String, tree: Trees },
    Column(Restriction),
    All(Vec<Part>),
    Any(Vec<Part>),
}

/// What indexes of a table say of the keys of wanted rows; `implied` are derived columns, by position, that are true in all of
/// these.
pub fn by_keys(schema: &TableSchema, keyed: &[Keyed], implied: &[usize]) -> Option<ByKeys> {
    if keyed.is_empty() {
        return None;
    }
    let mut indexes = Vec::new();
    let part = all(schema, keyed, implied, &mut indexes)?;
    Some(ByKeys { part, indexes })
}

fn all(
    schema: &TableSchema,
    keyed: &[Keyed],
    implied: &[usize],
    names: &mut Vec<String>,
) -> Option<Part> {
    let mut parts: Vec<Part> =
        keyed.iter().filter_map(|part| one(schema, part, implied, names)).collect();
    match parts.len() {
        0 => None,
        1 => parts.pop(),
        _ => Some(Part::All(parts)),
    }
}

fn one(
    schema: &TableSchema,
    keyed: &Keyed,
    implied: &[usize],
    names: &mut Vec<String>,
) -> Option<Part> {
    match keyed {
        Keyed::Keys { column, tree } => {
            let at = *column as usize - 1;
            let is_it = |index: &&IndexSchema| {
                index.multi_entry
                    && schema.position(index.key[0].column) == Some(at)
                    && access::has_rows(schema, index, implied)
            };
            let index = schema.indexes.iter().find(is_it)?.name.clone();
            note(names, &index);
            Some(Part::Keys { index, tree: tree.clone() })
        }
        Keyed::Column(restriction) => {
            let way = ranges::way(schema, std::slice::from_ref(restriction), &[], &[]);
            note(names, &way.index?);
            Some(Part::Column(restriction.clone()))
        }
        Keyed::All(parts) => all(schema, parts, implied, names),
        Keyed::Any(parts) => {
            let before = names.len();
            let made: Option<Vec<Part>> =
                parts.iter().map(|part| one(schema, part, implied, names)).collect();
            if made.is_none() {
                names.truncate(before);
            }
            made.map(Part::Any)
        }
    }
}

fn note(names: &mut Vec<String>, name: &str) {
    if names.iter().all(|known| known != name) {
        names.push(name.to_string());
    }
}

impl ByKeys {
    /// What rows are asked for; `None` where the values say nothing.
    ///
    /// # Errors
    /// Those of the values.
    pub fn predicate(&self, table: &TableHandle) -> Result<Option<Predicate>> {
        self.part.predicate(table)
    }
}

impl Part {
    fn predicate(&self, table: &TableHandle) -> Result<Option<Predicate>> {
        Ok(match self {
            Part::Keys { index, tree } => of_tree(index, &tree()?),
            Part::Column(restriction) => {
                let restrictions = std::slice::from_ref(restriction);
                of_parts(ranges::parts(table, restrictions, &Way::default())?)
            }
            Part::All(parts) => {
                let mut all = Vec::with_capacity(parts.len());
                for part in parts {
                    all.extend(part.predicate(table)?);
                }
                (!all.is_empty()).then_some(Predicate::And(all))
            }
            Part::Any(parts) => {
                let mut any = Vec::with_capacity(parts.len());
                for part in parts {
                    let Some(part) = part.predicate(table)? else { return Ok(None) };
                    any.push(part);
                }
                Some(Predicate::Or(any))
            }
        })
    }
}

/// The rows that parts of a table have; `None` where one is the whole.
pub fn of_parts(parts: Vec<Access>) -> Option<Predicate> {
    let mut by_index: Vec<(String, Vec<KeyRange>)> = Vec::new();
    for part in parts {
        let Access::Index { name, range, .. } = part else { return None };
        match by_index.iter_mut().find(|(known, _)| *known == name) {
            Some((_, ranges)) => ranges.push(range),
            None => by_index.push((name, vec![range])),
        }
    }
    let any = by_index.into_iter().map(|(name, ranges)| Predicate::any_of(name, ranges));
    Some(Predicate::Or(any.collect()))
}

/// Keys that begin so.
fn beginning(begin: &[u8]) -> KeyRange {
    let from = KeyRange::from([Value::Bytes(begin.into())]);
    // Behind all of them is the first key in which the last byte that can be is one more.
    let mut behind = begin.to_vec();
    while behind.last() == Some(&u8::MAX) {
        behind.pop();
    }
    match behind.last_mut() {
        Some(last) => *last += 1,
        None => return from,
    }
    from.and(KeyRange::before([Value::Bytes(behind)]))
}

/// The rows whose keys meet a tree; `None` for all.
fn of_tree(index: &str, tree: &Tree) -> Option<Predicate> {
    let range = |key: &[u8]| KeyRange::eq([Value::Bytes(key.into())]);
    Some(match tree {
        Tree::All => return None,
        Tree::None => Predicate::Or(Vec::new()),
        Tree::Key(key) => Predicate::index(index, range(key)),
        Tree::Begins(begin) => Predicate::index(index, beginning(begin)),
        Tree::And(parts) => {
            Predicate::And(parts.iter().filter_map(|part| of_tree(index, part)).collect())
        }
        Tree::Or(parts) => {
            // Keys next to each other are looked up together.
            let (keys, others): (Vec<&Tree>, Vec<&Tree>) =
                parts.iter().partition(|part| matches!(part, Tree::Key(_)));
            let ranges = keys.into_iter().filter_map(|part| match part {
                Tree::Key(key) => Some(range(key)),
                _ => None,
            });
            let ranges: Vec<KeyRange> = ranges.collect();
            let mut any: Vec<Predicate> =
                others.into_iter().map(|part| of_tree(index, part)).collect::<Option<_>>()?;
            if !ranges.is_empty() {
                any.push(Predicate::any_of(index, ranges));
            }
            Predicate::Or(any)
        }
    })
}
