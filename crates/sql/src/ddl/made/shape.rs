//! How deep may types be made of types, and of how many?
//!
//! What reads, writes or compares a value walks its type, fields within fields. So a type is of few levels and of a bounded
//! number of parts, each counted as often as it comes, and never of itself. Transactions that give types parts take turns:
//! two that look at once would both find room, or close a circle.

use std::collections::{HashMap, HashSet};

use crate::catalog::made_types::MadeTypes;
use crate::catalog::{Kind, Name};
use crate::error::{Result, SqlError};
use crate::session::Session;
use crate::types::PgType;
use crate::view::View;

/// Levels of types.
pub const MAX_DEPTH: usize = 64;
/// Parts of parts, all together.
const MAX_PARTS: usize = 4096;

/// A type whose parts are given; `oid` is 0 for a new one.
struct Given<'a> {
    oid: u32,
    parts: &'a [PgType],
}

impl Given<'_> {
    fn parts_of(&self, types: &MadeTypes, oid: u32) -> Option<Vec<u32>> {
        if oid == self.oid {
            return Some(self.parts.iter().map(|ty| ty.oid).collect());
        }
        let made = types.get(oid)?;
        match made.oid == self.oid {
            true => Some(self.parts.iter().map(|ty| ty.oid).collect()),
            false => Some(made.what.parts().iter().map(|ty| ty.oid).collect()),
        }
    }

    /// Levels and parts of a type; nothing where it is too deep, perhaps made of itself.
    fn measure(
        &self,
        types: &MadeTypes,
        oid: u32,
        level: usize,
        known: &mut HashMap<u32, (usize, usize)>,
    ) -> Option<(usize, usize)> {
        if let Some(known) = known.get(&oid) {
            return Some(*known);
        }
        let Some(parts) = self.parts_of(types, oid) else { return Some((0, 1)) };
        if level > MAX_DEPTH {
            return None;
        }
        let (mut depth, mut all) = (0, 1_usize);
        for part in parts {
            let (below, count) = self.measure(types, part, level + 1, known)?;
            depth = depth.max(below);
            all = all.saturating_add(count);
        }
        known.insert(oid, (depth + 1, all));
        Some((depth + 1, all))
    }
}

/// Fails where types would be made of types too deeply, or of too many, once one has these parts; `oid` is 0 for a new one.
/// Until this transaction has ended, no other gives parts to a type.
///
/// # Errors
/// `0A000`; `40001`: another transaction has changed types since the statement began.
pub fn must_fit(session: &mut Session, view: &View, oid: u32, parts: &[PgType]) -> Result<()> {
    view.scope.tx()?.hold_name(&format!("types of types in {}", view.database))?;
    let newest = view.newest_objects();
    let here = |name: &str| Name::of_engine(name).0 == view.database;
    for (name, object) in newest.of_kind(Kind::Type).filter(|(name, _)| here(name)) {
        let is_own = session.current()?.pending.has(Kind::Type, name);
        if !is_own && view.objects.get(Kind::Type, name) != Some(object) {
            return Err(crate::ddl::change::anew(view));
        }
    }
    let (types, given) = (view.objects.made_types(), Given { oid, parts });
    let mut known = HashMap::new();
    let all = types.of_database(&view.database).map(|made| made.oid);
    for oid in std::iter::once(oid).chain(all) {
        let fits = given.measure(types, oid, 1, &mut known);
        if fits.is_none_or(|(depth, parts)| depth > MAX_DEPTH || parts > MAX_PARTS) {
            let text = "a type of this depth or size";
            return Err(SqlError::unsupported(text));
        }
    }
    Ok(())
}

/// Whether a type is another, or is made of it.
pub fn contains(view: &View, oid: u32, other: u32) -> bool {
    let (mut seen, mut open) = (HashSet::new(), vec![oid]);
    while let Some(oid) = open.pop() {
        let Some(made) = view.objects.made_types().get(oid) else { continue };
        if made.oid == other {
            return true;
        }
        if seen.insert(made.oid) {
            open.extend(made.what.parts().iter().map(|ty| ty.oid));
        }
    }
    false
}
