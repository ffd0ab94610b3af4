//! Which privileges are there, and which does each kind of object have?
//!
//! Letters, words and order are those of PostgreSQL 15's access control lists.

use std::ops::{BitAnd, BitOr, BitOrAssign, Not};

/// A set of privileges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Privileges(u16);

/// A privilege: its bit, its letter in access control lists, its word in GRANT.
const ALL: &[(Privileges, char, &str)] = &[
    (Privileges::INSERT, 'a', "insert"),
    (Privileges::SELECT, 'r', "select"),
    (Privileges::UPDATE, 'w', "update"),
    (Privileges::DELETE, 'd', "delete"),
    (Privileges::TRUNCATE, 'D', "truncate"),
    (Privileges::REFERENCES, 'x', "references"),
    (Privileges::TRIGGER, 't', "trigger"),
    (Privileges::EXECUTE, 'X', "execute"),
    (Privileges::USAGE, 'U', "usage"),
    (Privileges::CREATE, 'C', "create"),
    (Privileges::TEMPORARY, 'T', "temporary"),
    (Privileges::CONNECT, 'c', "connect"),
];

impl Privileges {
    /// None.
    pub const NONE: Privileges = Privileges(0);
    /// New rows.
    pub const INSERT: Privileges = Privileges(1);
    /// Reading rows, or a sequence.
    pub const SELECT: Privileges = Privileges(1 << 1);
    /// Changing rows, or a sequence.
    pub const UPDATE: Privileges = Privileges(1 << 2);
    /// Deleting rows.
    pub const DELETE: Privileges = Privileges(1 << 3);
    /// Deleting all rows.
    pub const TRUNCATE: Privileges = Privileges(1 << 4);
    /// Being a foreign key's parent.
    pub const REFERENCES: Privileges = Privileges(1 << 5);
    /// Triggers, which there are none of.
    pub const TRIGGER: Privileges = Privileges(1 << 6);
    /// Functions.
    pub const EXECUTE: Privileges = Privileges(1 << 7);
    /// Names in a schema; the next value of a sequence.
    pub const USAGE: Privileges = Privileges(1 << 8);
    /// New objects in a schema, new schemas in a database.
    pub const CREATE: Privileges = Privileges(1 << 9);
    /// Temporary tables in a database.
    pub const TEMPORARY: Privileges = Privileges(1 << 10);
    /// Sessions in a database.
    pub const CONNECT: Privileges = Privileges(1 << 11);

    /// Both sets, where constants are made.
    pub const fn and(self, other: Privileges) -> Privileges {
        Privileges(self.0 | other.0)
    }
    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
    /// Whether all of these are in it.
    pub fn has(self, all: Privileges) -> bool {
        self & all == all
    }
    /// One by one, in the order of access control lists.
    pub fn each(self) -> impl Iterator<Item = Privileges> {
        ALL.iter().map(|p| p.0).filter(move |p| self.has(*p))
    }
    /// The letter of a single privilege.
    pub fn letter(self) -> char {
        ALL.iter().find(|p| p.0 == self).map_or('?', |p| p.1)
    }
    /// The word of a single privilege, in small letters.
    pub fn word(self) -> &'static str {
        ALL.iter().find(|p| p.0 == self).map_or("", |p| p.2)
    }
    /// A privilege by its word, in small letters.
    pub fn by_word(word: &str) -> Option<Privileges> {
        let word = if word == "temp" { "temporary" } else { word };
        ALL.iter().find(|p| p.2 == word).map(|p| p.0)
    }
    /// A privilege by its letter.
    pub fn by_letter(letter: char) -> Option<Privileges> {
        ALL.iter().find(|p| p.1 == letter).map(|p| p.0)
    }
}

impl BitOr for Privileges {
    type Output = Privileges;
    fn bitor(self, other: Privileges) -> Privileges {
        self.and(other)
    }
}
impl BitOrAssign for Privileges {
    fn bitor_assign(&mut self, other: Privileges) {
        *self = *self | other;
    }
}
impl BitAnd for Privileges {
    type Output = Privileges;
    fn bitand(self, other: Privileges) -> Privileges {
        Privileges(self.0 & other.0)
    }
}
impl Not for Privileges {
    type Output = Privileges;
    fn not(self) -> Privileges {
        Privileges(!self.0)
    }
}

/// What kind of thing has rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// A database.
    Database,
    /// A schema.
    Schema,
    /// A table.
    Table,
    /// A view.
    View,
    /// A sequence.
    Sequence,
    /// An index, which belongs to the owner of its table.
    Index,
    /// A role.
    Role,
    /// A function.
    Function,
    /// A procedure.
    Procedure,
}

/// A class: its word in messages and in what is kept, what may be granted on it.
const CLASSES: &[(Class, &str, Privileges)] = &[
    (
        Class::Database,
        "database",
        Privileges::CREATE.and(Privileges::TEMPORARY).and(Privileges::CONNECT),
    ),
    (Class::Schema, "schema", Privileges::USAGE.and(Privileges::CREATE)),
    (Class::Table, "table", OF_TABLES),
    (Class::View, "view", OF_TABLES),
    (
        Class::Sequence,
        "sequence",
        Privileges::USAGE.and(Privileges::SELECT).and(Privileges::UPDATE),
    ),
    (Class::Index, "index", Privileges::NONE),
    (Class::Role, "role", Privileges::NONE),
    (Class::Function, "function", Privileges::EXECUTE),
    (Class::Procedure, "procedure", Privileges::EXECUTE),
];

const OF_TABLES: Privileges = Privileges::INSERT
    .and(Privileges::SELECT)
    .and(Privileges::UPDATE)
    .and(Privileges::DELETE)
    .and(Privileges::TRUNCATE)
    .and(Privileges::REFERENCES)
    .and(Privileges::TRIGGER);

/// What may be granted on columns.
pub const OF_COLUMNS: Privileges =
    Privileges::INSERT.and(Privileges::SELECT).and(Privileges::UPDATE).and(Privileges::REFERENCES);

impl Class {
    fn row(self) -> &'static (Class, &'static str, Privileges) {
        CLASSES.iter().find(|c| c.0 == self).expect("every class has a row")
    }
    /// Its word.
    pub fn word(self) -> &'static str {
        self.row().1
    }
    /// What may be granted on it.
    pub fn grantable(self) -> Privileges {
        self.row().2
    }
    /// A class by its word.
    pub fn by_word(word: &str) -> Option<Class> {
        CLASSES.iter().find(|c| c.1 == word).map(|c| c.0)
    }
}
