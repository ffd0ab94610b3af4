//! Which names do rows, commits and schema objects carry?
//!
//! Ids are never reused (rule I1 for rows; the manifest keeps those of columns and files).

use std::fmt;

/// Position of a row version in its table: dense, assigned at commit in commit order, never reused
/// and never changed (I1, I2).
pub type RowId = u64;

/// Commit sequence number. A snapshot is a CSN: it sees every commit up to and including it.
pub type Csn = u64;

/// Rows of an uncommitted transaction carry `PROVISIONAL_BASE + ordinal`.
pub const PROVISIONAL_BASE: RowId = 1 << 63;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub $inner);
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

id!(
    /// A table's storage. TRUNCATE gives a table a new one.
    TableId(u32)
);
id!(
    /// A column of one table; never reused within the table.
    ColumnId(u32)
);
id!(
    /// An index; unique within the database.
    IndexId(u32)
);
id!(
    /// A foreign key of one table; never reused within it while the database is open.
    ForeignKeyId(u32)
);
id!(
    /// A sequence; unique within the database.
    SequenceId(u32)
);
id!(
    /// A segment, run or mark file; unique within the database.
    FileId(u64)
);
