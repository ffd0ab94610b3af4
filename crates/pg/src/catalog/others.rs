//! Who knows the types of rows that no statement has named?
//!
//! A value says of which types its fields are, and a function that gives `record` gives any: so the type of a relation's rows
//! may be met before the relation is named. Then it is looked for, once, by its OID.
//!
//! Thread safety: any thread may look.

use std::fmt;
use std::sync::Arc;

use super::Type;
use crate::Oid;

/// Finds the type of a relation's rows, and that of arrays of them, by the OID of either.
pub type Finder = dyn Fn(Oid) -> Option<[Type; 2]> + Send + Sync;

/// What finds types; nothing where there are no relations.
#[derive(Clone, Default)]
pub(super) struct Others(Option<Arc<Finder>>);

impl Others {
    pub(super) fn of(finder: Arc<Finder>) -> Others {
        Others(Some(finder))
    }

    pub(super) fn find(&self, oid: Oid) -> Option<[Type; 2]> {
        self.0.as_ref()?(oid)
    }
}

impl fmt::Debug for Others {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Others(..)" } else { "Others" })
    }
}
