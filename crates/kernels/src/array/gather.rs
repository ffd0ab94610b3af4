//! What do aggregates make arrays of, and which array is the largest?
//!
//! Thread safety: as aggregates.

use std::cmp::Ordering;

use onlap_pg::{Error, Oid, Result};

use super::compare::ordering;
use super::form::{Array, Builder, Dim, MAX_DIMENSIONS, count};
use super::packed;
use super::text::too_many;
use super::{Element, element_of};
use crate::aggregate::{Aggregate, AggregateEntry};
use crate::misc::gather::{Gather, gathered};
use crate::misc::rows::representation;
use crate::{Cx, Datum, Repr, Types};

/// Aggregates.
pub(super) const AGGREGATES: &[AggregateEntry] = &[
    ("array_agg(anynonarray)", |types| {
        made(types, |element| Values { element: element.clone() }, element_of(types, types.result))
    }),
    ("array_agg(anyarray)", |types| {
        made(types, |element| Arrays { element: element.clone() }, element_of(types, types.result))
    }),
    ("max(anyarray)", |types| extreme(types, Ordering::Greater)),
    ("min(anyarray)", |types| extreme(types, Ordering::Less)),
];

fn made<G: Gather>(
    types: &Types,
    make: impl Fn(&Result<Element>) -> G,
    element: Result<Element>,
) -> Box<dyn Aggregate> {
    let args = types.args.iter().map(|arg| representation(types, arg.oid)).collect();
    gathered(make(&element), args, representation(types, types.result.oid))
}

/// array_agg of values.
struct Values {
    element: Result<Element>,
}

impl Gather for Values {
    type State = Option<Builder>;

    fn step(&self, state: &mut Self::State, args: &[Datum<'_>], _: &mut Cx<'_>) -> Result<()> {
        let element = self.element.as_ref().map_err(Clone::clone)?;
        state.get_or_insert_with(|| Builder::new(element.repr)).push(&args[0])
    }

    fn give(&self, state: &Self::State, _: &mut Cx<'_>) -> Result<Datum<'static>> {
        Ok(state.as_ref().map_or(Datum::Null, |held| Datum::bytes(held.clone().finish())))
    }

    fn save(&self, state: &Self::State, out: &mut Vec<u8>) {
        if let Some(held) = state {
            out.extend(held.clone().finish());
        }
    }

    fn merge(&self, state: &mut Self::State, saved: &[u8], _: &mut Cx<'_>) -> Result<()> {
        let element = self.element.as_ref().map_err(Clone::clone)?;
        if saved.is_empty() {
            return Ok(());
        }
        let held = state.get_or_insert_with(|| Builder::new(element.repr));
        held.extend(&Array::load(saved, element.repr))
    }

    fn size(&self, state: &Self::State) -> usize {
        state.as_ref().map_or(0, Builder::size)
    }
}

/// array_agg of arrays.
struct Arrays {
    element: Result<Element>,
}

/// The arrays of a group: the dimensions that all have, how many there are, their elements.
type Held = Option<(Vec<Dim>, usize, Builder)>;

impl Arrays {
    fn add(&self, state: &mut Held, array: &Array<'_>, times: usize, inner: &[Dim]) -> Result<()> {
        let make = || (inner.to_vec(), 0, Builder::new(array.repr()));
        let (dims, arrays, builder) = state.get_or_insert_with(make);
        let same = dims.iter().map(|d| d.length).eq(inner.iter().map(|d| d.length));
        if !same {
            let message = "cannot accumulate arrays of different dimensionality";
            return Err(Error::new("2202E", message));
        }
        *arrays += times;
        builder.extend(array)
    }
}

impl Gather for Arrays {
    type State = Held;

    fn step(&self, state: &mut Held, args: &[Datum<'_>], _: &mut Cx<'_>) -> Result<()> {
        let element = self.element.as_ref().map_err(Clone::clone)?;
        let Datum::Bytes(bytes) = &args[0] else {
            return Err(Error::new("22004", "cannot accumulate null arrays"));
        };
        let array = Array::load(bytes, element.repr);
        if array.is_empty() {
            return Err(Error::new("2202E", "cannot accumulate empty arrays"));
        }
        if array.ndims() >= MAX_DIMENSIONS {
            return Err(too_many(array.ndims() + 1));
        }
        self.add(state, &array, 1, &array.dims())
    }

    fn give(&self, state: &Held, _: &mut Cx<'_>) -> Result<Datum<'static>> {
        let Some((inner, arrays, builder)) = state else { return Ok(Datum::Null) };
        let mut dims = vec![Dim::new(*arrays)];
        dims.extend(inner);
        count(&dims)?;
        Ok(Datum::bytes(builder.clone().finish_as(&dims)))
    }

    fn save(&self, state: &Held, out: &mut Vec<u8>) {
        if let Some((inner, arrays, builder)) = state {
            let mut dims = vec![Dim::new(*arrays)];
            dims.extend(inner);
            out.extend(builder.clone().finish_as(&dims));
        }
    }

    fn merge(&self, state: &mut Held, saved: &[u8], _: &mut Cx<'_>) -> Result<()> {
        let element = self.element.as_ref().map_err(Clone::clone)?;
        if saved.is_empty() {
            return Ok(());
        }
        let array = Array::load(saved, element.repr);
        let dims = array.dims();
        self.add(state, &array, dims[0].length as usize, &dims[1..])
    }

    fn size(&self, state: &Held) -> usize {
        state.as_ref().map_or(0, |held| held.2.size() + held.0.len() * size_of::<Dim>())
    }
}

/// max or min of a type by its order.
pub(crate) struct Extreme {
    oid: Oid,
    repr: Result<Repr>,
    wanted: Ordering,
}

/// The largest or the smallest value.
pub(crate) fn extreme(types: &Types, wanted: Ordering) -> Box<dyn Aggregate> {
    let oid = types.args[0].oid;
    let gather = Extreme { oid, repr: representation(types, oid), wanted };
    let args = types.args.iter().map(|arg| representation(types, arg.oid)).collect();
    gathered(gather, args, representation(types, types.result.oid))
}

impl Gather for Extreme {
    type State = Option<Datum<'static>>;

    fn step(&self, state: &mut Self::State, args: &[Datum<'_>], cx: &mut Cx<'_>) -> Result<()> {
        if args[0].is_null() {
            return Ok(());
        }
        let order = match cx.catalog.base_element(self.oid) {
            Some(element) => {
                ordering(cx.catalog, element)?;
                ordering(cx.catalog, self.oid)?
            }
            None => ordering(cx.catalog, self.oid)?,
        };
        let better = match state {
            None => true,
            Some(held) => order.compare(cx.catalog, &args[0], held) == self.wanted,
        };
        if better {
            *state = Some(args[0].clone().into_owned());
        }
        Ok(())
    }

    fn give(&self, state: &Self::State, _: &mut Cx<'_>) -> Result<Datum<'static>> {
        Ok(state.clone().unwrap_or(Datum::Null))
    }

    fn save(&self, state: &Self::State, out: &mut Vec<u8>) {
        if let Some(held) = state {
            out.push(1);
            packed::put(held, out);
        }
    }

    fn merge(&self, state: &mut Self::State, saved: &[u8], cx: &mut Cx<'_>) -> Result<()> {
        match saved.split_first() {
            Some((_, bytes)) => {
                let value = packed::get(self.repr.clone()?, bytes);
                self.step(state, &[value], cx)
            }
            None => Ok(()),
        }
    }

    fn size(&self, state: &Self::State) -> usize {
        state.as_ref().map_or(0, Datum::size)
    }
}
