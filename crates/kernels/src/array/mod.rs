//! What do functions of arrays and rows give?
//!
//! The forms of arrays and records as bytes, their texts, their order and operators; unnest, array_agg. What an executor
//! needs for `ARRAY[…]`, `ROW(…)`, subscripts or `= ANY` is here, too: `collect`, `record::build`, `element`, `slice`,
//! `store_element`, `any`.
//!
//! The type of the elements of an array is known from the call (`crate::Types`). Thread safety: pure functions.

mod compare;
mod edit;
mod form;
mod gather;
pub(crate) mod item;
mod join;
mod make;
pub mod packed;
pub mod record;
pub(crate) mod row_text;
mod search;
mod series;
mod shape;
mod store;
pub(crate) mod text;

pub use compare::{compare_records, ordering};
pub(crate) use form::ELEMENT;
pub use form::{Array, Builder, Dim, MAX_DIMENSIONS, MAX_ITEMS};
pub(crate) use gather::extreme;
pub use make::{any, collect};
pub use record::Record;
pub use row_text::null_test;
pub use shape::{element, empty, slice};
pub use store::{null_subscript, store_element, store_slice};

use onlap_pg::{Error, Oid, Result, TypeRef};

use crate::aggregate::AggregateEntry;
use crate::series::SeriesEntry;
use crate::{Datum, Entry, Repr, Types, repr};

/// Functions.
pub const ENTRIES: &[&[Entry]] =
    &[shape::ENTRIES, edit::ENTRIES, search::ENTRIES, compare::ENTRIES, join::ENTRIES];
/// Aggregates.
pub const AGGREGATES: &[AggregateEntry] = gather::AGGREGATES;
/// Functions that give sets.
pub const SERIES: &[SeriesEntry] = series::SERIES;

/// The elements of an array of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Element {
    pub(crate) oid: Oid,
    pub(crate) repr: Repr,
}

/// What the elements of a type are; `0A000` if it is no array, or there are no values of them.
pub(crate) fn element_of(types: &Types, ty: TypeRef) -> Result<Element> {
    let refused = |oid: Oid| {
        let shown = types.catalog.shown(oid);
        Error::unserved(format!("values of type {shown} are not supported"))
    };
    let oid = types.catalog.base_element(ty.oid).ok_or_else(|| refused(ty.oid))?;
    Ok(Element { oid, repr: repr(&types.catalog, oid).ok_or_else(|| refused(oid))? })
}

/// What the elements of an argument are.
pub(crate) fn of_element(types: &Types, at: usize) -> Result<Element> {
    element_of(types, types.args[at])
}

/// The array that an argument is.
///
/// # Panics
/// It is none.
pub(crate) fn own_array<'a>(element: &Result<Element>, value: &'a Datum<'_>) -> Result<Array<'a>> {
    let element = element.as_ref().map_err(Clone::clone)?;
    match value {
        Datum::Bytes(bytes) => Ok(Array::load(bytes, element.repr)),
        other => unreachable!("{other:?} is an array"),
    }
}
