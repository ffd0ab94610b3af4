//! In which modes is a table locked, or a number by which programs agree on something?
//!
//! The eight modes of PostgreSQL's locks of tables, two of which are those of advisory locks, and its table of conflicts. They
//! do not follow one another in strength. Pure values; who has which lock is the engine's.

/// How a table is locked, or a number by which programs agree on something: PostgreSQL's modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LockMode {
    /// ACCESS SHARE: to read.
    AccessShare,
    /// ROW SHARE: to lock rows.
    RowShare,
    /// ROW EXCLUSIVE: to write rows.
    RowExclusive,
    /// SHARE UPDATE EXCLUSIVE: for upkeep next to readers and writers, one at a time.
    ShareUpdateExclusive,
    /// SHARE: no other writes; shared.
    Share,
    /// SHARE ROW EXCLUSIVE: no other writes, or locks like this.
    ShareRowExclusive,
    /// EXCLUSIVE: others only read.
    Exclusive,
    /// ACCESS EXCLUSIVE: no other does anything.
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

    /// Its place among a set's bits.
    pub const fn bit(self) -> u8 {
        1 << self as u8
    }

    /// The bits of the modes that two owners cannot have at once, one of them in this mode.
    pub const fn conflicting(self) -> u8 {
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

    /// Whether two owners cannot have these at once.
    pub const fn conflicts_with(self, other: LockMode) -> bool {
        self.conflicting() & other.bit() != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_are_mutual() {
        for one in LockMode::ALL {
            for other in LockMode::ALL {
                assert_eq!(
                    one.conflicts_with(other),
                    other.conflicts_with(one),
                    "{one:?}, {other:?}"
                );
            }
        }
    }
}
