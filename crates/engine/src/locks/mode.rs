//! Which locks go together?
//!
//! The four modes of PostgreSQL's row locks, weakest first, and its table of conflicts: a reader of
//! a key (a child row's foreign key) goes together with a change of other columns, not with a delete.
//! And the eight modes of its locks of tables, two of which are those of advisory locks. They do not
//! follow one another in strength, so an owner has a set of them ([`Modes`]).

use super::entry::Mode;

/// How a row or key is locked. Each mode conflicts with itself and everything stronger, except that
/// `KeyShare` conflicts with `Update` only, and `Share` goes together with itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowLock {
    /// Nobody may delete the row or change its key.
    KeyShare,
    /// Nobody may change the row.
    Share,
    /// To change columns outside every unique key.
    NoKeyUpdate,
    /// To delete the row or to change its key.
    Update,
}

impl RowLock {
    /// Whether two transactions cannot hold these at once.
    pub(crate) fn conflicts(self, other: RowLock) -> bool {
        use RowLock::{KeyShare, NoKeyUpdate, Share, Update};
        match (self.min(other), self.max(other)) {
            (KeyShare, strongest) => strongest == Update,
            (Share, strongest) => strongest >= NoKeyUpdate,
            (NoKeyUpdate | Update, _) => true,
        }
    }
}

/// What to do where a lock is held by another transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LockWait {
    /// Wait for its end, at most for the transaction's lock timeout.
    #[default]
    Block,
    /// Fail with [`crate::ErrorKind::LockNotAvailable`].
    NoWait,
    /// Leave the row out.
    SkipLocked,
}

/// How a table is locked, or a number by which programs agree on something: PostgreSQL's modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LockMode {
    /// To read.
    AccessShare,
    /// To lock rows.
    RowShare,
    /// To write rows.
    RowExclusive,
    /// For upkeep next to readers and writers, one at a time.
    ShareUpdateExclusive,
    /// No other writes; shared.
    Share,
    /// No other writes, or locks like this.
    ShareRowExclusive,
    /// Others only read.
    Exclusive,
    /// No other does anything.
    AccessExclusive,
}

impl LockMode {
    /// All of them, weakest first.
    pub const ALL: [LockMode; 8] = [
        LockMode::AccessShare,
        LockMode::RowShare,
        LockMode::RowExclusive,
        LockMode::ShareUpdateExclusive,
        LockMode::Share,
        LockMode::ShareRowExclusive,
        LockMode::Exclusive,
        LockMode::AccessExclusive,
    ];

    /// Whether two owners cannot have these at once.
    pub fn conflicts_with(self, other: LockMode) -> bool {
        Modes::of(self).conflicts(Modes::of(other))
    }

    /// The modes that two owners cannot have at once, one of them in this mode: a bit each.
    const fn conflicting(self) -> u8 {
        match self {
            LockMode::AccessShare => 0b1000_0000,
            LockMode::RowShare => 0b1100_0000,
            LockMode::RowExclusive => 0b1111_0000,
            LockMode::ShareUpdateExclusive => 0b1111_1000,
            LockMode::Share => 0b1110_1100,
            LockMode::ShareRowExclusive => 0b1111_1100,
            LockMode::Exclusive => 0b1111_1110,
            LockMode::AccessExclusive => 0b1111_1111,
        }
    }
}

/// The modes that an owner has of one thing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Modes(u8);

impl Modes {
    pub(crate) const fn of(mode: LockMode) -> Modes {
        Modes(1 << mode as u8)
    }

    pub(crate) fn each(self) -> impl Iterator<Item = LockMode> {
        LockMode::ALL.into_iter().filter(move |mode| self.covers(Modes::of(*mode)))
    }

    /// Those that stay when some go.
    pub(crate) fn without(self, gone: Modes) -> Option<Modes> {
        Some(Modes(self.0 & !gone.0)).filter(|left| left.0 != 0)
    }
}

impl std::fmt::Debug for Modes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.each()).finish()
    }
}

impl Mode for Modes {
    const OVERTAKES: bool = true;

    fn conflicts(self, other: Modes) -> bool {
        self.each().any(|mode| mode.conflicting() & other.0 != 0)
    }

    fn covers(self, other: Modes) -> bool {
        self.0 & other.0 == other.0
    }

    fn with(self, other: Modes) -> Modes {
        Modes(self.0 | other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_are_mutual() {
        for (a, one) in LockMode::ALL.into_iter().enumerate() {
            for (b, other) in LockMode::ALL.into_iter().enumerate() {
                let there = one.conflicting() >> b & 1 == 1;
                assert_eq!(there, other.conflicting() >> a & 1 == 1, "{one:?}, {other:?}");
                assert_eq!(there, Modes::of(one).conflicts(Modes::of(other)));
            }
        }
    }
}
