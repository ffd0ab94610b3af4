//! Which columns does UPDATE change beside those that it names?
//!
//! Those that are generated are columns that it sets to DEFAULT, so that RETURNING and WITH CHECK OPTION ask for the new row's.
//! Where there are triggers, both see the row as the triggers leave it anyway, and UPDATE OF is of what the statement names.

use onlap_pg::bound::{Bound, EntryKind, ModifyKind, QueryId, Target};

use super::tables::Known;
use crate::change::fires::has_any;
use crate::view::View;

/// Adds them to what statements set.
pub fn note(view: &View, bound: &mut Bound, known: &Known) {
    let queries: Vec<QueryId> = bound.query_ids().collect();
    for id in queries {
        let query = bound.query(id);
        let Some(modify) = query.modify.as_deref() else { continue };
        if modify.kind != ModifyKind::Update
            || modify.returning.is_empty() && modify.checks.is_empty()
        {
            continue;
        }
        let entry = &query.entries[modify.entry - 1];
        let EntryKind::Relation { oid, .. } = entry.kind else { continue };
        let Some(schema) = known.schema(oid) else { continue };
        if schema.generated.is_empty() || has_any(view, schema.id) {
            continue;
        }
        let set = |at: &usize| {
            let is_it = |target: &Target| !target.hidden && target.number == at + 1;
            query.targets.iter().any(is_it)
        };
        let columns = 0..schema.columns.len();
        let missing = columns.filter(|at| schema.is_generated(*at) && !set(at));
        let missing: Vec<_> = missing.map(|at| (at + 1, entry.types[at])).collect();
        for (number, ty) in missing {
            bound.set_to_default(id, number, ty);
        }
    }
}
