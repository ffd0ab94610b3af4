//! Which of several candidates is meant?
//!
//! Those that every operand can become stay; of these the ones with most operands of exactly their type; then
//! with most that are exact or of the preferred type of their category. Literals without a type take the
//! category that candidates agree on (strings win), and the preferred type in it. Last, literals take the one type
//! that all other operands have.

use super::coerce::{Context, can_convert_all};
use crate::Oid;
use crate::catalog::{Catalog, oids};

/// Something that is called with operands.
pub(super) trait Candidate: Clone {
    /// Declared types, at least one for each operand.
    fn declared(&self) -> &[Oid];
}

/// What choosing gives.
pub(super) enum Choice<C> {
    /// The one.
    One(C),
    /// None takes the operands.
    Missing,
    /// Several do, and nothing prefers one.
    Ambiguous,
}

/// Chooses.
pub(super) fn choose<C: Candidate>(
    catalog: &Catalog,
    operands: &[Oid],
    candidates: impl IntoIterator<Item = C>,
) -> Choice<C> {
    let fits = |c: &C| {
        can_convert_all(catalog, operands, &c.declared()[..operands.len()], Context::Implicit)
    };
    let mut fitting: Vec<C> = candidates.into_iter().filter(fits).collect();
    match fitting.len() {
        0 => Choice::Missing,
        1 => Choice::One(fitting.remove(0)),
        _ => select(catalog, operands, fitting).map_or(Choice::Ambiguous, Choice::One),
    }
}

fn select<C: Candidate>(catalog: &Catalog, operands: &[Oid], mut left: Vec<C>) -> Option<C> {
    let base = |oid: &Oid| if *oid == oids::UNKNOWN { *oid } else { catalog.base_type(*oid) };
    let mut operands: Vec<Oid> = operands.iter().map(base).collect();
    let exact = |i: usize, declared: Oid| operands[i] != oids::UNKNOWN && operands[i] == declared;
    keep_best(&mut left, operands.len(), &exact);
    let preferred = |i: usize, declared: Oid| {
        let (category, _) = catalog.category(operands[i]);
        exact(i, declared)
            || operands[i] != oids::UNKNOWN && catalog.category(declared) == (category, true)
    };
    if left.len() > 1 {
        keep_best(&mut left, operands.len(), &preferred);
    }
    let unknown: Vec<usize> =
        (0..operands.len()).filter(|i| operands[*i] == oids::UNKNOWN).collect();
    if left.len() == 1 {
        return left.pop();
    }
    if unknown.is_empty() {
        return None;
    }
    let slots: Option<Vec<(u8, bool)>> = unknown.iter().map(|i| slot(catalog, &left, *i)).collect();
    if let Some(slots) = slots {
        let agrees = |c: &&C| {
            unknown.iter().zip(&slots).all(|(i, (category, wants))| {
                let (of, preferred) = catalog.category(c.declared()[*i]);
                of == *category && (!wants || preferred)
            })
        };
        let agreeing: Vec<C> = left.iter().filter(agrees).cloned().collect();
        if !agreeing.is_empty() {
            left = agreeing;
        }
        if left.len() == 1 {
            return left.pop();
        }
    }
    let known = *operands.iter().find(|oid| **oid != oids::UNKNOWN)?;
    if operands.iter().any(|oid| *oid != oids::UNKNOWN && *oid != known) {
        return None;
    }
    operands.fill(known);
    let count = operands.len();
    let mut fitting = left
        .into_iter()
        .filter(|c| can_convert_all(catalog, &operands, &c.declared()[..count], Context::Implicit));
    fitting.next().filter(|_| fitting.next().is_none())
}

/// Keeps those for which `good` holds for most operands.
fn keep_best<C: Candidate>(left: &mut Vec<C>, count: usize, good: &impl Fn(usize, Oid) -> bool) {
    let score = |c: &C| (0..count).filter(|i| good(*i, c.declared()[*i])).count();
    let best = left.iter().map(score).max().unwrap_or(0);
    left.retain(|c| score(c) == best);
}

/// The category that candidates agree on at a place, and whether one of them is preferred in it.
fn slot<C: Candidate>(catalog: &Catalog, left: &[C], place: usize) -> Option<(u8, bool)> {
    let mut found: Option<(u8, bool)> = None;
    let mut conflict = false;
    for candidate in left {
        let (category, preferred) = catalog.category(candidate.declared()[place]);
        found = match found {
            None => Some((category, preferred)),
            Some((same, before)) if same == category => Some((same, before || preferred)),
            Some(_) if category == b'S' => Some((category, preferred)),
            other => {
                conflict = true;
                other
            }
        };
    }
    found.filter(|(category, _)| !conflict || *category == b'S')
}
