//! How does an aggregate of any types become an [`Aggregate`]?
//!
//! A [`Gather`] says what a row does to the state of its group, with values as [`Datum`]s.
//! Thread safety: as an aggregate's.

use arrow_array::cast::AsArray;
use arrow_array::{Array as _, ArrayRef};
use onlap_pg::Result;

use crate::aggregate::Aggregate;
use crate::{Bytes, Col, Cx, Datum, Made, Repr, Ty};

/// An aggregate over values.
pub(crate) trait Gather: Send + 'static {
    /// What is kept of a group.
    type State: Default + Send;
    /// Takes a row.
    fn step(&self, state: &mut Self::State, args: &[Datum<'_>], cx: &mut Cx<'_>) -> Result<()>;
    /// The result of a group.
    fn give(&self, state: &Self::State, cx: &mut Cx<'_>) -> Result<Datum<'static>>;
    /// Writes a state.
    fn save(&self, state: &Self::State, out: &mut Vec<u8>);
    /// Takes a state that was written, of rows that came later.
    fn merge(&self, state: &mut Self::State, saved: &[u8], cx: &mut Cx<'_>) -> Result<()>;
    /// Bytes that a state takes outside of itself.
    fn size(&self, state: &Self::State) -> usize;
}

/// The states of groups.
struct Gathered<G: Gather> {
    gather: G,
    args: Result<Vec<Repr>>,
    result: Result<Repr>,
    states: Vec<G::State>,
    outside: usize,
}

/// The aggregate that a [`Gather`] is, for arguments and a result of these representations.
pub(crate) fn gathered<G: Gather>(
    gather: G,
    args: Result<Vec<Repr>>,
    result: Result<Repr>,
) -> Box<dyn Aggregate> {
    Box::new(Gathered { gather, args, result, states: Vec::new(), outside: 0 })
}

/// After this number of rows a loop asks whether it is still wanted.
const LOOK_EVERY: usize = 256;

impl<G: Gather> Aggregate for Gathered<G> {
    fn grow(&mut self, groups: usize) {
        self.states.resize_with(groups.max(self.states.len()), G::State::default);
    }

    fn update(&mut self, args: &[Col], groups: &[usize], cx: &mut Cx<'_>) -> Result<()> {
        let reprs = self.args.as_ref().map_err(Clone::clone)?;
        let mut values = Vec::with_capacity(args.len());
        for (row, group) in groups.iter().enumerate() {
            if row % LOOK_EVERY == 0 {
                cx.go_on()?;
            }
            values.clear();
            let both = args.iter().zip(reprs);
            values.extend(both.map(|(col, repr)| Datum::at(&col.array, *repr, col.at(row))));
            let state = &mut self.states[*group];
            let before = self.gather.size(state);
            self.gather.step(state, &values, cx)?;
            self.outside = (self.outside + self.gather.size(state)).saturating_sub(before);
        }
        Ok(())
    }

    fn finish(&self, groups: usize, cx: &mut Cx<'_>) -> Result<ArrayRef> {
        let result = self.result.clone()?;
        let mut out = Made::new(groups, cx);
        for state in &self.states[..groups] {
            let value = self.gather.give(state, cx)?;
            out.push(value, cx)?;
        }
        out.column(result)
    }

    fn save(&self, groups: usize) -> ArrayRef {
        let mut out = Bytes::builder(groups);
        for state in &self.states[..groups] {
            let mut bytes = Vec::new();
            self.gather.save(state, &mut bytes);
            Bytes::push(&mut out, bytes).expect("states of a batch fit a column");
        }
        Bytes::finish(out)
    }

    fn merge(&mut self, saved: &ArrayRef, groups: &[usize], cx: &mut Cx<'_>) -> Result<()> {
        let saved = saved.as_binary::<i32>();
        assert_eq!(saved.len(), groups.len(), "a state per group");
        for (row, group) in groups.iter().enumerate() {
            let state = &mut self.states[*group];
            let before = self.gather.size(state);
            self.gather.merge(state, saved.value(row), cx)?;
            self.outside = (self.outside + self.gather.size(state)).saturating_sub(before);
        }
        Ok(())
    }

    fn forget(&mut self, groups: usize) {
        let gone: usize = self.states.drain(..groups).map(|state| self.gather.size(&state)).sum();
        self.outside = self.outside.saturating_sub(gone);
    }

    fn size(&self) -> usize {
        self.states.capacity() * size_of::<G::State>() + self.outside
    }
}
