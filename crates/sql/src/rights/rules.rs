//! What does each action of a statement need?
//!
//! One table, [`RULES`]: a new statement is a row here, and a call of [`crate::rights::Judge::must`] with
//! what it is about. Where two demands have to be met, a statement has two needs: a foreign key is an
//! [`Action::Alter`] of the child and an [`Action::Refer`] to the parent.

use super::privilege::{Class, Privileges};

/// What a statement does with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Reads rows: columns that the statement names, or any column where it names none.
    Read,
    /// Makes another table with the same columns.
    Imitate,
    /// Adds rows, with values in columns.
    Insert,
    /// Changes columns of rows, or locks rows.
    Update,
    /// Deletes rows.
    Delete,
    /// Deletes all rows.
    Truncate,
    /// Makes a foreign key that refers to columns.
    Refer,
    /// Takes the next value of a sequence.
    NextValue,
    /// Asks for the value that was taken last.
    CurrentValue,
    /// Sets a sequence.
    SetValue,
    /// Finds something by its name in a schema.
    LookIn,
    /// Makes something in a schema, or a schema in a database.
    CreateIn,
    /// Makes a temporary relation in a database.
    CreateTemporary,
    /// Begins a session in a database.
    Connect,
    /// Changes the definition: ALTER, CREATE INDEX, CREATE OR REPLACE, REINDEX, ANALYZE.
    Alter,
    /// Drops it.
    Drop,
    /// Calls a function or procedure.
    Call,
    /// Notes a comment on it.
    Comment,
    /// Notes a comment on a part of it: a column, a constraint.
    CommentPart,
}

/// What is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// One of these privileges on the object.
    Privilege(Privileges),
    /// The privilege on the object, or on each of the columns.
    OfColumns(Privileges),
    /// To be the owner, or in it.
    Owner,
    /// To be the owner, or that of the schema that it is in.
    OwnerOrOfSchema,
    /// To be a superuser.
    Superuser,
}

use Action::{
    Alter, Call, Comment, CommentPart, Connect, CreateIn, CreateTemporary, CurrentValue, Delete,
    Drop, Imitate, Insert, LookIn, NextValue, Read, Refer, SetValue, Truncate, Update,
};
use Class::{Database, Function, Index, Procedure, Schema, Sequence, Table, View};
use Demand::{OfColumns, Owner, OwnerOrOfSchema, Privilege};

/// What each action needs on each class. What is not here only superusers may.
pub const RULES: &[(Action, &[Class], Demand)] = &[
    (Read, &[Table, View], OfColumns(Privileges::SELECT)),
    (Read, &[Sequence], Privilege(Privileges::SELECT)),
    (Imitate, &[Table], Privilege(Privileges::SELECT)),
    (Insert, &[Table, View], OfColumns(Privileges::INSERT)),
    (Update, &[Table, View], OfColumns(Privileges::UPDATE)),
    (Delete, &[Table, View], Privilege(Privileges::DELETE)),
    (Truncate, &[Table], Privilege(Privileges::TRUNCATE)),
    (Refer, &[Table], OfColumns(Privileges::REFERENCES)),
    (NextValue, &[Sequence], Privilege(Privileges::USAGE.and(Privileges::UPDATE))),
    (CurrentValue, &[Sequence], Privilege(Privileges::USAGE.and(Privileges::SELECT))),
    (SetValue, &[Sequence], Privilege(Privileges::UPDATE)),
    (LookIn, &[Schema], Privilege(Privileges::USAGE)),
    (CreateIn, &[Schema, Database], Privilege(Privileges::CREATE)),
    (CreateTemporary, &[Database], Privilege(Privileges::TEMPORARY)),
    (Connect, &[Database], Privilege(Privileges::CONNECT)),
    (Call, &[Function, Procedure], Privilege(Privileges::EXECUTE)),
    (Alter, &[Database, Schema, Table, View, Sequence, Index, Function, Procedure], Owner),
    (Drop, &[Database, Schema], Owner),
    (Drop, &[Table, View, Sequence, Index, Function, Procedure], OwnerOrOfSchema),
    (Comment, &[Database, Schema, Table, View, Sequence, Index, Function, Procedure], Owner),
    (CommentPart, &[Table, View], Owner),
];

/// What an action on a class needs.
pub fn demand(action: Action, class: Class) -> Demand {
    let found = RULES.iter().find(|rule| rule.0 == action && rule.1.contains(&class));
    found.map_or(Demand::Superuser, |rule| rule.2)
}
