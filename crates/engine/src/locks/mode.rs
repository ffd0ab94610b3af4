//! Which locks go together?
//!
//! The four modes of PostgreSQL's row locks, weakest first, and its table of conflicts: a reader of
//! a key (a child row's foreign key) goes together with a change of other columns, not with a delete.
//! The modes of its locks of tables and of advisory locks ([`LockMode`]) do not follow one another in
//! strength, so an owner has a set of them ([`Modes`]).

use onlap_base::LockMode;

use super::entry::Mode;

/// How a row or key is locked. Each mode conflicts with itself and everything stronger, except that
/// `KeyShare` conflicts with `Update` only, and `Share` goes together with itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowLock {
    /// No other may delete the row or change its key.
    KeyShare,
    /// No other may change the row.
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

/// The modes that an owner has of one thing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Modes(u8);

impl Modes {
    pub(crate) const fn of(mode: LockMode) -> Modes {
        Modes(mode.bit())
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
