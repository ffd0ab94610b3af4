//! How do states of groups become an aggregate whose loop has no calls through pointers?
//!
//! A [`Step`] is a state that takes a row of an [`Input`]; results are given by a function per aggregate, so that sum and avg
//! share a state. What DISTINCT, FILTER and ORDER BY ask for is the caller's, as everywhere.

mod any;
mod bits;
mod extremes;
mod moments;
mod ordered;
mod regression;
mod sums;

use std::marker::PhantomData;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use onlap_pg::Result;

use crate::adapt::{LOOK_EVERY, Results};
use crate::aggregate::{Aggregate, AggregateEntry, State};
use crate::{Bytes, Col, Cx, Ty};

const PARTS: &[&[AggregateEntry]] = &[
    any::ENTRIES,
    sums::ENTRIES,
    extremes::ENTRIES,
    extremes::NUMERICS,
    bits::ENTRIES,
    bits::BOOLEANS,
    moments::ENTRIES,
    moments::AVERAGES,
    regression::ENTRIES,
    regression::COUNT,
    ordered::ENTRIES,
];

/// All of them.
pub const ENTRIES: &[AggregateEntry] = &joined();

const fn joined() -> [AggregateEntry; count()] {
    let mut all = [PARTS[0][0]; count()];
    let (mut part, mut to) = (0, 0);
    while part < PARTS.len() {
        let mut at = 0;
        while at < PARTS[part].len() {
            all[to] = PARTS[part][at];
            (at, to) = (at + 1, to + 1);
        }
        part += 1;
    }
    all
}

const fn count() -> usize {
    let (mut part, mut sum) = (0, 0);
    while part < PARTS.len() {
        sum += PARTS[part].len();
        part += 1;
    }
    sum
}

/// What a row brings.
trait Input: 'static {
    type Columns<'a>;
    type Value<'a>;
    fn columns(args: &[Col]) -> Self::Columns<'_>;
    /// The values of a row; `None` if one is NULL.
    fn get<'a>(columns: &Self::Columns<'a>, args: &'a [Col], row: usize)
    -> Option<Self::Value<'a>>;
}

/// One argument.
struct One<A>(PhantomData<A>);

impl<A: Ty> Input for One<A> {
    type Columns<'a> = (A::Column<'a>, bool);
    type Value<'a> = A::Value<'a>;
    fn columns(args: &[Col]) -> Self::Columns<'_> {
        (A::column(&args[0].array), args[0].array.null_count() > 0)
    }
    #[inline(always)]
    fn get<'a>(columns: &Self::Columns<'a>, args: &'a [Col], row: usize) -> Option<A::Value<'a>> {
        if columns.1 && args[0].is_null(row) {
            return None;
        }
        Some(A::get(&columns.0, args[0].at(row)))
    }
}

/// Two arguments.
struct Two<A, B>(PhantomData<(A, B)>);

impl<A: Ty, B: Ty> Input for Two<A, B> {
    type Columns<'a> = (A::Column<'a>, B::Column<'a>);
    type Value<'a> = (A::Value<'a>, B::Value<'a>);
    fn columns(args: &[Col]) -> Self::Columns<'_> {
        (A::column(&args[0].array), B::column(&args[1].array))
    }
    #[inline(always)]
    fn get<'a>(
        columns: &Self::Columns<'a>,
        args: &'a [Col],
        row: usize,
    ) -> Option<Self::Value<'a>> {
        if args[0].is_null(row) || args[1].is_null(row) {
            return None;
        }
        let (a, b) = (args[0].at(row), args[1].at(row));
        Some((A::get(&columns.0, a), B::get(&columns.1, b)))
    }
}

/// A state that takes rows.
trait Step<I: Input>: State {
    fn step(&mut self, value: I::Value<'_>) -> Result<()>;
}

struct Folded<S, I, R: Ty> {
    states: Vec<S>,
    /// Bytes outside of the states.
    outside: usize,
    give: fn(&S) -> Result<Option<R::Owned>>,
    input: PhantomData<fn() -> I>,
}

/// An aggregate whose state is `S`; `give` makes the result, `None` for NULL.
fn folded<S: Step<I>, I: Input, R: Ty>(
    give: fn(&S) -> Result<Option<R::Owned>>,
) -> Box<dyn Aggregate> {
    Box::new(Folded::<S, I, R> { states: Vec::new(), outside: 0, give, input: PhantomData })
}

impl<S: Step<I>, I: Input, R: Ty> Aggregate for Folded<S, I, R> {
    fn grow(&mut self, groups: usize) {
        self.states.resize_with(groups.max(self.states.len()), S::default);
    }

    fn update(&mut self, args: &[Col], groups: &[usize], cx: &mut Cx<'_>) -> Result<()> {
        let columns = I::columns(args);
        for (from, stretch) in groups.chunks(LOOK_EVERY).enumerate() {
            cx.go_on()?;
            for (row, group) in stretch.iter().enumerate() {
                let Some(value) = I::get(&columns, args, from * LOOK_EVERY + row) else { continue };
                let state = &mut self.states[*group];
                let before = state.size();
                state.step(value)?;
                self.outside = (self.outside + state.size()).saturating_sub(before);
            }
        }
        Ok(())
    }

    fn finish(&self, groups: usize, cx: &mut Cx<'_>) -> Result<ArrayRef> {
        let mut out = Results::<R>::new(groups, cx);
        for (at, state) in self.states[..groups].iter().enumerate() {
            if at % LOOK_EVERY == 0 {
                cx.go_on()?;
            }
            match (self.give)(state)? {
                Some(value) => out.push(value, cx)?,
                None => out.push_null(),
            }
        }
        Ok(out.finish())
    }

    fn save(&self, groups: usize) -> ArrayRef {
        save(&self.states[..groups], State::save)
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

/// States as a column of bytes.
fn save<S>(states: &[S], write: impl Fn(&S, &mut Vec<u8>)) -> ArrayRef {
    let mut out = Bytes::builder(states.len());
    for state in states {
        let mut bytes = Vec::new();
        write(state, &mut bytes);
        Bytes::push(&mut out, bytes).expect("states of a batch fit a column");
    }
    Bytes::finish(out)
}

/// The numbers of 8 bytes that a state was saved as.
fn words<const N: usize>(bytes: &[u8]) -> [[u8; 8]; N] {
    let (words, _) = bytes.as_chunks::<8>();
    std::array::from_fn(|at| words[at])
}
