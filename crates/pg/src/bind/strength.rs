//! What do expressions say together about their collation?
//!
//! How sure each is decides ([`Strength`]); PostgreSQL's rules of merging. Pure.

use crate::Oid;
use crate::bound::{DEFAULT_COLLATION, ExprId};

/// pg_collation's row of the default.
pub(super) const DEFAULT: Oid = DEFAULT_COLLATION;

/// How sure a collation is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strength {
    /// There is none.
    #[default]
    None,
    /// It follows from a column or a type.
    Implicit,
    /// Two that follow so differ.
    Conflict,
    /// It was written.
    Explicit,
}

/// What errors point to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Spot {
    #[default]
    Nowhere,
    /// Where an expression begins.
    Start(ExprId),
    /// COLLATE.
    Written(ExprId),
    /// A byte of the text.
    At(u32),
}

/// What is known of expressions together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct State {
    pub(super) strength: Strength,
    pub(super) collation: Oid,
    pub(super) spot: Spot,
    /// Of a conflict the other collation.
    pub(super) other: Oid,
    pub(super) other_spot: Spot,
}

impl State {
    pub(super) fn implicit(collation: Oid, spot: Spot) -> State {
        State { strength: Strength::Implicit, collation, spot, ..State::default() }
    }

    /// A leaf's.
    pub(super) fn of(collation: Oid, spot: Spot) -> State {
        match collation {
            0 => State::default(),
            _ => State::implicit(collation, spot),
        }
    }

    /// The collation that a node gets.
    pub(super) fn settled(&self) -> Oid {
        if self.strength == Strength::Conflict { 0 } else { self.collation }
    }

    pub(super) fn mismatch(&self) -> Mismatch {
        let (one, other) = (self.collation, self.other);
        Mismatch { kind: "implicit", one, other, spot: self.other_spot }
    }

    /// Takes another expression's in.
    pub(super) fn merge(&mut self, one: State) -> Derived<()> {
        if one.strength != self.strength {
            if one.strength > self.strength {
                *self = one;
            }
            return Ok(());
        }
        if one.collation == self.collation {
            return Ok(());
        }
        match one.strength {
            Strength::Implicit if self.collation == DEFAULT => *self = one,
            Strength::Implicit if one.collation != DEFAULT => {
                self.strength = Strength::Conflict;
                (self.other, self.other_spot) = (one.collation, one.spot);
            }
            Strength::Explicit => {
                let (kind, spot) = ("explicit", one.spot);
                return Err(Mismatch { kind, one: self.collation, other: one.collation, spot });
            }
            Strength::None | Strength::Implicit | Strength::Conflict => {}
        }
        Ok(())
    }
}

/// Two collations that collide.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mismatch {
    pub(super) kind: &'static str,
    pub(super) one: Oid,
    pub(super) other: Oid,
    pub(super) spot: Spot,
}

pub(super) type Derived<T> = std::result::Result<T, Mismatch>;
