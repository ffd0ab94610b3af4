//! What is an aggregate, and how does a function of Rust become one?
//!
//! An [`Aggregate`] keeps the states of all groups. Rows come in columns with the number of each row's group; rows that FILTER
//! leaves out, duplicates that DISTINCT leaves out, and the order of ORDER BY are the caller's. States can be saved and
//! merged, so that groups that outgrow memory may be written to disk.

use std::marker::PhantomData;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use onlap_pg::Result;

use crate::adapt::Results;
use crate::{Col, Cx, Ty, Types};

/// The states of groups, numbered from 0.
pub trait Aggregate: Send {
    /// Lets there be so many groups.
    fn grow(&mut self, groups: usize);

    /// Takes rows: `groups` has each row's group.
    ///
    /// # Errors
    /// Those of the function; `53200`, `57014`.
    fn update(&mut self, args: &[Col], groups: &[usize], cx: &mut Cx<'_>) -> Result<()>;

    /// The results of the first groups.
    ///
    /// # Errors
    /// Those of the function.
    fn finish(&self, groups: usize, cx: &mut Cx<'_>) -> Result<ArrayRef>;

    /// The states of the first groups, as bytes.
    fn save(&self, groups: usize) -> ArrayRef;

    /// Merges states that were saved into those of the groups that `groups` names.
    ///
    /// # Errors
    /// Those of the function; `53200`.
    fn merge(&mut self, saved: &ArrayRef, groups: &[usize], cx: &mut Cx<'_>) -> Result<()>;

    /// Forgets the first groups; the others are numbered from 0 again.
    fn forget(&mut self, groups: usize);

    /// Bytes that the states take.
    fn size(&self) -> usize;
}

/// Makes the aggregate of a call.
pub type MakeAggregate = fn(&Types) -> Box<dyn Aggregate>;

/// An aggregate's signature, as `name(type,type)`, and how it is made.
pub type AggregateEntry = (&'static str, MakeAggregate);

/// What is kept of a group.
pub trait State: Default + Send + 'static {
    /// Writes it.
    fn save(&self, out: &mut Vec<u8>);
    /// Reads what was written.
    fn load(bytes: &[u8]) -> Self;
    /// Takes another one of the same group, whose rows came later.
    ///
    /// # Errors
    /// Those of the function.
    fn merge(&mut self, other: Self) -> Result<()>;
    /// Bytes that it takes outside of itself.
    fn size(&self) -> usize {
        0
    }
}

/// An aggregate of one argument whose state is `S`.
struct Fold<S, A: Ty, R: Ty> {
    states: Vec<S>,
    /// Bytes outside of the states, as far as they were counted.
    outside: usize,
    step: for<'x, 'c> fn(&mut S, A::Value<'x>, &mut Cx<'c>) -> Result<()>,
    give: for<'c> fn(&S, &mut Cx<'c>) -> Result<Option<R::Owned>>,
    types: PhantomData<fn() -> (A, R)>,
}

/// An aggregate of one argument: `step` takes a row into the state, `give` makes the result, `None` for NULL. Rows with NULL
/// are left out unless the argument is a [`crate::Null`].
pub fn fold<S: State, A: Ty, R: Ty>(
    step: for<'x, 'c> fn(&mut S, A::Value<'x>, &mut Cx<'c>) -> Result<()>,
    give: for<'c> fn(&S, &mut Cx<'c>) -> Result<Option<R::Owned>>,
) -> Box<dyn Aggregate> {
    Box::new(Fold::<S, A, R> { states: Vec::new(), outside: 0, step, give, types: PhantomData })
}

/// After so many rows a loop asks whether it is still wanted.
const LOOK_EVERY: usize = 1024;

impl<S: State, A: Ty, R: Ty> Aggregate for Fold<S, A, R> {
    fn grow(&mut self, groups: usize) {
        self.states.resize_with(groups.max(self.states.len()), S::default);
    }

    fn update(&mut self, args: &[Col], groups: &[usize], cx: &mut Cx<'_>) -> Result<()> {
        let column = A::column(&args[0].array);
        let skips = !A::NULLS && args[0].array.null_count() > 0;
        for (row, group) in groups.iter().enumerate() {
            if row % LOOK_EVERY == 0 {
                cx.go_on()?;
            }
            if skips && args[0].is_null(row) {
                continue;
            }
            let state = &mut self.states[*group];
            let before = state.size();
            (self.step)(state, A::get(&column, args[0].at(row)), cx)?;
            self.outside = (self.outside + state.size()).saturating_sub(before);
        }
        Ok(())
    }

    fn finish(&self, groups: usize, cx: &mut Cx<'_>) -> Result<ArrayRef> {
        let mut out = Results::<R>::new(groups, cx);
        for state in &self.states[..groups] {
            match (self.give)(state, cx)? {
                Some(value) => out.push(value, cx)?,
                None => out.push_null(),
            }
        }
        Ok(out.finish())
    }

    fn save(&self, groups: usize) -> ArrayRef {
        let mut out = crate::Bytes::builder(groups);
        for state in &self.states[..groups] {
            let mut bytes = Vec::new();
            state.save(&mut bytes);
            crate::Bytes::push(&mut out, bytes).expect("states of a batch fit a column");
        }
        crate::Bytes::finish(out)
    }

    fn merge(&mut self, saved: &ArrayRef, groups: &[usize], _: &mut Cx<'_>) -> Result<()> {
        let saved = saved.as_binary::<i32>();
        for (row, group) in groups.iter().enumerate() {
            let state = &mut self.states[*group];
            let before = state.size();
            state.merge(S::load(saved.value(row)))?;
            self.outside = (self.outside + state.size()).saturating_sub(before);
        }
        Ok(())
    }

    fn forget(&mut self, groups: usize) {
        let gone: usize = self.states.drain(..groups).map(|state| state.size()).sum();
        self.outside = self.outside.saturating_sub(gone);
    }

    fn size(&self) -> usize {
        self.states.capacity() * size_of::<S>() + self.outside
    }
}
