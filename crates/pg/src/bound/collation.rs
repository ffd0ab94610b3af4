//! Which collation has an expression, and which one do its functions compare by?
//!
//! Both are noted when a query is bound ([`crate::bind`]); what is added to a tree later has none noted. A collation is an OID of
//! pg_collation; 0 says that there is none: the type has none, or several collide. Pure.

use std::collections::HashMap;

use super::{Bound, ExprId};
use crate::Oid;

/// Of every type that has collations, unless it says otherwise.
pub const DEFAULT: Oid = 100;
/// "C"
pub const C: Oid = 950;

/// The collations there are, by name.
const NAMED: [(&str, Oid); 4] =
    [("default", DEFAULT), ("C", C), ("POSIX", 951), ("ucs_basic", 12_340)];

/// What is not noted.
const OPEN: Oid = Oid::MAX;

/// The OID of a collation.
pub fn collation_named(name: &str) -> Option<Oid> {
    NAMED.iter().find(|(known, _)| *known == name).map(|(_, oid)| *oid)
}

/// The name of a collation; that of none as errors of PostgreSQL write it.
pub fn collation_name(oid: Oid) -> &'static str {
    NAMED.iter().find(|(_, known)| *known == oid).map_or("(null)", |(name, _)| name)
}

/// What is noted of an expression: its collation, and that of what it is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Noted {
    pub(crate) own: Oid,
    pub(crate) input: Oid,
}

/// What is noted of expressions, by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Collations {
    noted: Vec<Noted>,
    /// Of rows that are compared column by column: the collation of each.
    rows: HashMap<usize, Box<[Oid]>>,
}

impl Collations {
    pub(crate) fn own(&self, id: ExprId) -> Option<Oid> {
        self.noted.get(id.index()).map(|noted| noted.own).filter(|own| *own != OPEN)
    }

    pub(crate) fn note(&mut self, id: ExprId, noted: Noted) {
        if self.noted.len() <= id.index() {
            self.noted.resize(id.index() + 1, Noted { own: OPEN, input: OPEN });
        }
        self.noted[id.index()] = noted;
    }

    pub(crate) fn note_row(&mut self, id: ExprId, all: Vec<Oid>) {
        self.rows.insert(id.index(), all.into());
    }

    pub(crate) fn end(&mut self) {
        self.noted.shrink_to_fit();
    }
}

impl Bound {
    /// The collation of an expression, where it is noted.
    pub fn collation(&self, id: ExprId) -> Option<Oid> {
        self.collations.own(id)
    }

    /// The collation by which the function of an expression compares, where it is noted.
    pub fn input_collation(&self, id: ExprId) -> Option<Oid> {
        let noted = self.collations.noted.get(id.index());
        noted.map(|noted| noted.input).filter(|input| *input != OPEN)
    }

    /// The collations by which rows are compared column by column, where they are noted.
    pub fn row_collations(&self, id: ExprId) -> Option<&[Oid]> {
        self.collations.rows.get(&id.index()).map(|all| &**all)
    }

    /// Notes the collation of an expression that is made of no others.
    pub(crate) fn set_collation(&mut self, id: ExprId, own: Oid) {
        self.collations.note(id, Noted { own, input: 0 });
    }

    /// Lets an expression have what is noted of another one of the tree.
    pub(crate) fn note_like(&mut self, id: ExprId, copy: ExprId) {
        if let Some(noted) = self.collations.noted.get(id.index()).copied() {
            self.collations.note(copy, noted);
        }
        if let Some(all) = self.collations.rows.get(&id.index()).cloned() {
            self.collations.rows.insert(copy.index(), all);
        }
    }

    /// Lets a copy have what is noted of an expression.
    pub(crate) fn copy_collation(&mut self, from: &Bound, id: ExprId, copy: ExprId) {
        if let Some(noted) = from.collations.noted.get(id.index()) {
            self.collations.note(copy, *noted);
        }
        if let Some(all) = from.row_collations(id) {
            self.collations.note_row(copy, all.to_vec());
        }
    }
}
