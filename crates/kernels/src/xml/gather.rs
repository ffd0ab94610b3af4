//! What does xmlagg give?
//!
//! Thread safety: as aggregates.

use onlap_pg::Result;

use super::express::joined;
use crate::aggregate::AggregateEntry;
use crate::misc::gather::{Gather, gathered};
use crate::misc::growth::fits;
use crate::misc::rows::{representation, text};
use crate::{Cx, Datum};

/// Aggregates.
pub(super) const AGGREGATES: &[AggregateEntry] = &[("xmlagg(xml)", |types| {
    let args = types.args.iter().map(|arg| representation(types, arg.oid)).collect();
    gathered(Joined, args, representation(types, types.result.oid))
})];

/// xmlagg
struct Joined;

/// The texts so far, each with its length before it, so that they are put together once.
type Held = Vec<u8>;

fn hold(state: &mut Held, text: &str) -> Result<()> {
    fits(state.len().saturating_add(text.len()))?;
    state.extend_from_slice(&(text.len() as u64).to_le_bytes());
    state.extend_from_slice(text.as_bytes());
    Ok(())
}

/// The texts that are held.
fn held(mut state: &[u8]) -> Vec<&str> {
    let mut all = Vec::new();
    while let Some((length, rest)) = state.split_first_chunk() {
        let (text, rest) = rest.split_at(u64::from_le_bytes(*length) as usize);
        all.push(std::str::from_utf8(text).expect("what is held is UTF-8"));
        state = rest;
    }
    all
}

impl Gather for Joined {
    type State = Held;

    fn step(&self, state: &mut Held, args: &[Datum<'_>], _: &mut Cx<'_>) -> Result<()> {
        match &args[0] {
            Datum::Null => Ok(()),
            value => hold(state, text(value)),
        }
    }

    fn give(&self, state: &Held, cx: &mut Cx<'_>) -> Result<Datum<'static>> {
        let mut parts = held(state).into_iter();
        let Some(first) = parts.next() else { return Ok(Datum::Null) };
        let (mut all, rest): (Vec<&str>, Vec<&str>) = (vec![first], parts.collect());
        if rest.is_empty() {
            return Ok(Datum::text(first));
        }
        all.extend(rest);
        Ok(Datum::text(joined(all, cx)?))
    }

    fn save(&self, state: &Held, out: &mut Vec<u8>) {
        out.extend_from_slice(state);
    }

    fn merge(&self, state: &mut Held, saved: &[u8], _: &mut Cx<'_>) -> Result<()> {
        fits(state.len().saturating_add(saved.len()))?;
        state.extend_from_slice(saved);
        Ok(())
    }

    fn size(&self, state: &Held) -> usize {
        state.capacity()
    }
}
