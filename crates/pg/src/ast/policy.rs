//! Statements about the security of rows.

use super::{Name, Path, Relation, Role, Said};

/// Which statements a policy is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyCommand {
    /// ALL
    All,
    /// SELECT
    Select,
    /// INSERT
    Insert,
    /// UPDATE
    Update,
    /// DELETE
    Delete,
}

/// CREATE POLICY.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatePolicy {
    /// Its name.
    pub name: Name,
    /// The table.
    pub on: Relation,
    /// PERMISSIVE, and not RESTRICTIVE.
    pub permissive: bool,
    /// FOR.
    pub command: PolicyCommand,
    /// TO.
    pub roles: Vec<Role>,
    /// USING.
    pub using: Option<Said>,
    /// WITH CHECK.
    pub check: Option<Said>,
}

/// ALTER POLICY, but RENAME.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterPolicy {
    /// Its name.
    pub name: Name,
    /// The table.
    pub on: Relation,
    /// TO.
    pub roles: Option<Vec<Role>>,
    /// USING.
    pub using: Option<Said>,
    /// WITH CHECK.
    pub check: Option<Said>,
}

/// A statement about a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Policy {
    /// CREATE POLICY
    Create(CreatePolicy),
    /// ALTER POLICY
    Alter(AlterPolicy),
    /// ALTER POLICY … ON … RENAME TO
    Rename(Name, Path, Name),
    /// DROP POLICY
    Drop {
        /// IF EXISTS.
        skip: bool,
        /// Its name.
        name: Name,
        /// The table.
        on: Path,
    },
}

/// ENABLE, DISABLE, FORCE and NO FORCE ROW LEVEL SECURITY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowSecurity {
    /// ENABLE, and DISABLE where false.
    Enabled(bool),
    /// FORCE, and NO FORCE where false.
    Forced(bool),
}
