//! Which relations and columns does the role that asks have to do with?
//!
//! `information_schema` shows what a role may do something with. The conditions are those of PostgreSQL's
//! views, in terms of the statement's [`Judge`].

use super::classes::columns;
use super::model::{Relation, What};
use crate::catalog::oids;
use crate::rights::{Class, Judge, Key, OF_COLUMNS, Privileges};
use crate::view::View;

/// Every privilege of a table but SELECT: what constraints are shown for.
const CHANGES: Privileges = Privileges::INSERT
    .and(Privileges::UPDATE)
    .and(Privileges::DELETE)
    .and(Privileges::TRUNCATE)
    .and(Privileges::REFERENCES)
    .and(Privileges::TRIGGER);

/// What the role of a statement may see.
pub struct Sight<'a> {
    judge: &'a Judge,
}

impl<'a> Sight<'a> {
    /// That of a statement.
    pub fn of(view: &'a View) -> Sight<'a> {
        Sight { judge: &view.judge }
    }

    /// A relation's class and key. An index is its table's.
    pub fn place(relation: &Relation) -> (Class, Key) {
        let key = Key::of(relation.oid);
        match &relation.what {
            What::Table(_) => (Class::Table, key),
            What::Index(table, _) => (Class::Index, Key::of(oids::of_table(table.id))),
            What::Sequence(_) => (Class::Sequence, key),
            What::View | What::Composite(..) => (Class::View, key),
            What::System(definition) if definition.is_view => (Class::View, key),
            What::System(_) => (Class::Table, key),
        }
    }

    /// The columns of a relation: their numbers and names.
    pub fn numbered(view: &View, relation: &Relation) -> Vec<(u32, String)> {
        match relation.table() {
            Some(table) => table.columns.iter().map(|c| (c.id.0 + 1, c.name.clone())).collect(),
            None => (1..).zip(columns(view, relation).into_iter().map(|c| c.0)).collect(),
        }
    }

    /// Whether it is the role's own.
    pub fn owns(&self, relation: &Relation) -> bool {
        self.judge.owns(Sight::place(relation).1)
    }

    fn has(&self, relation: &Relation, any: Privileges) -> bool {
        let (class, key) = Sight::place(relation);
        !self.judge.on(class, key, any).is_empty()
    }

    /// Whether the role may do anything with a table or view.
    pub fn sees(&self, relation: &Relation) -> bool {
        self.owns(relation)
            || self.has(relation, Class::Table.grantable())
            || self.judge.on_any_column(Sight::place(relation).1, OF_COLUMNS)
    }

    /// Whether the role may do anything with a column.
    pub fn sees_column(&self, relation: &Relation, number: u32) -> bool {
        let key = Sight::place(relation).1;
        self.owns(relation)
            || self.has(relation, OF_COLUMNS)
            || !self.judge.on_column(key, number, OF_COLUMNS).is_empty()
    }

    /// Whether the role may do more than read a table, and so sees its constraints.
    pub fn sees_constraints(&self, relation: &Relation) -> bool {
        let changes = OF_COLUMNS & !Privileges::SELECT;
        self.owns(relation)
            || self.has(relation, CHANGES)
            || self.judge.on_any_column(Sight::place(relation).1, changes)
    }

    /// Whether the role may do anything with a sequence.
    pub fn sees_sequence(&self, relation: &Relation) -> bool {
        self.owns(relation) || self.has(relation, Class::Sequence.grantable())
    }

    /// Whether the role may read a sequence's last value.
    pub fn reads_sequence(&self, relation: &Relation) -> bool {
        self.has(relation, Privileges::SELECT | Privileges::USAGE)
    }

    /// Whether the role may do anything with a schema.
    pub fn sees_schema(&self, key: Key) -> bool {
        self.judge.owns(key)
            || !self.judge.on(Class::Schema, key, Class::Schema.grantable()).is_empty()
    }

    /// Whether the role has a role's rights; PUBLIC's all have.
    pub fn is(&self, role: u32) -> bool {
        role == crate::rights::PUBLIC || self.judge.has_rights_of(role)
    }
}
