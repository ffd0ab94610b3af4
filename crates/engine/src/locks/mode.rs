//! Which locks go together?
//!
//! The four modes of PostgreSQL's row locks, weakest first, and its table of conflicts: a reader of
//! a key (a child row's foreign key) goes together with a change of other columns, not with a delete.

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
