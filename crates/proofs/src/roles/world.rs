//! Which names are there?
//!
//! The rig's guess at the world, so that statements are mostly about what exists: names are noted when PostgreSQL
//! says that a statement was carried out. It knows no rights. A transaction's names go when it is rolled back.
//! Invariant: what is noted need not be so; a name that is wrong costs a statement, nothing else.

use super::statements::{Drawn, Effect};

/// A table that belongs to postgres and is in no statement, for a planted fault.
pub const UNSPENT: &str = "public.unspent";

/// Kinds of relations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Of three columns, `a`, `b` and `c`.
    Table,
    /// Of one column, `a`.
    View,
    /// Numbers.
    Sequence,
    /// Of a table's column.
    Index,
}

/// Names by kind.
#[derive(Clone, Debug, Default)]
struct Names {
    roles: Vec<String>,
    schemas: Vec<String>,
    /// Whole names.
    relations: Vec<(Kind, String)>,
}

/// What is there, and the transaction under way.
#[derive(Debug, Default)]
pub struct World {
    now: Names,
    /// Who has a transaction under way, what was there before, and how many statements it still has.
    block: Option<(String, Names, usize)>,
}

impl World {
    /// Roles that may act.
    pub fn roles(&self) -> &[String] {
        &self.now.roles
    }

    /// Schemas next to `public`.
    pub fn schemas(&self) -> &[String] {
        &self.now.schemas
    }

    /// Whole names of a kind.
    pub fn relations(&self, kind: Kind) -> Vec<&String> {
        self.now.relations.iter().filter(|r| r.0 == kind).map(|r| &r.1).collect()
    }

    /// Whole names of everything.
    pub fn all_relations(&self) -> &[(Kind, String)] {
        &self.now.relations
    }

    /// Whether a transaction is under way.
    pub fn in_block(&self) -> bool {
        self.block.is_some()
    }

    /// Who has a transaction under way, and whether it is to end now.
    pub fn turn(&mut self) -> Option<(String, bool)> {
        let (role, _, left) = self.block.as_mut()?;
        *left = left.saturating_sub(1);
        Some((role.clone(), *left == 0))
    }

    /// Notes what a statement did, or that it was not done.
    pub fn note(&mut self, drawn: &Drawn, done: bool) {
        match &drawn.effect {
            Effect::Begin(statements) if done => {
                self.block = Some((drawn.role.clone(), self.now.clone(), *statements));
            }
            Effect::End { commit } => {
                let block = self.block.take();
                if let (Some((_, before, _)), true) = (block, !(*commit && done)) {
                    self.now = before;
                }
            }
            Effect::Begin(_) | Effect::None => {}
            effect if done => self.now.apply(effect),
            _ => {}
        }
    }
}

impl Names {
    fn apply(&mut self, effect: &Effect) {
        match effect {
            Effect::Role(name) => add(&mut self.roles, name.clone()),
            Effect::NoRole(name) => self.roles.retain(|r| r != name),
            Effect::RoleNamed(from, to) => rename(&mut self.roles, from, to),
            Effect::Schema(name) => add(&mut self.schemas, name.clone()),
            Effect::NoSchema(name) => {
                self.schemas.retain(|s| s != name);
                self.relations.retain(|r| schema_of(&r.1) != name);
            }
            Effect::Relation(kind, name) => add(&mut self.relations, (*kind, name.clone())),
            Effect::NoRelation(name) => self.relations.retain(|r| r.1 != *name),
            Effect::RelationNamed(from, to) => {
                for (_, name) in self.relations.iter_mut().filter(|r| r.1 == *from) {
                    name.clone_from(to);
                }
            }
            Effect::None | Effect::Begin(_) | Effect::End { .. } => {}
        }
    }
}

fn add<T: PartialEq>(names: &mut Vec<T>, name: T) {
    if !names.contains(&name) {
        names.push(name);
    }
}

fn rename(names: &mut [String], from: &str, to: &str) {
    for name in names.iter_mut().filter(|n| *n == from) {
        *name = to.to_string();
    }
}

/// The schema of a whole name.
pub fn schema_of(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// A whole name without its schema.
pub fn bare(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}
