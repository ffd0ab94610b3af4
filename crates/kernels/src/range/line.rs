//! Where do ends of ranges lie to each other, and which range do two ends make?
//!
//! A [`Line`] is what ranges of one type lie on: values in their order. Of whole numbers and dates there are *steps* between
//! values, and a range has one form only, with its lower bound and without its upper one. Pure functions.

use std::cmp::Ordering;

use onlap_pg::catalog::Catalog;
use onlap_pg::value::datetime::END_DATE;
use onlap_pg::{Error, Oid, Result};

use super::form::{Bound, Range};
use crate::key::Comparer;
use crate::number::decimal;
use crate::{Datum, Repr, Types, repr};

/// The kind of values that ranges of a type consist of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    /// Their type.
    pub(crate) element: Oid,
    /// How they are represented.
    pub(crate) repr: Repr,
    comparer: Comparer,
}

/// What the ranges or multiranges of a type are of; `None` for another type.
pub(crate) fn element(catalog: &Catalog, oid: Oid) -> Option<Oid> {
    let base = catalog.base_type(oid);
    let range = catalog.multirange_range(base).unwrap_or(base);
    catalog.range_element(range)
}

impl Line {
    /// Of a type of ranges or multiranges; `None` for another, or where there are no values of what they are of.
    pub(crate) fn of(catalog: &Catalog, oid: Oid) -> Option<Line> {
        let element = element(catalog, oid)?;
        let repr = repr(catalog, element)?;
        Some(Line { element, repr, comparer: Comparer::new(catalog, element) })
    }

    /// Of an argument of a call.
    ///
    /// # Errors
    /// `0A000`: there are no values of its type.
    pub(crate) fn of_call(types: &Types, oid: Oid) -> Result<Line> {
        Line::of(&types.catalog, oid).ok_or_else(|| {
            let shown = types.catalog.shown(oid);
            Error::unserved(format!("values of type {shown} are not supported"))
        })
    }

    /// Compares two values.
    pub(crate) fn compare(&self, catalog: &Catalog, a: &Datum<'_>, b: &Datum<'_>) -> Ordering {
        match (a, b) {
            (Datum::Int4(a), Datum::Int4(b)) => a.cmp(b),
            (Datum::Int8(a), Datum::Int8(b)) => a.cmp(b),
            (Datum::Bytes(a), Datum::Bytes(b)) if self.element == NUMERIC => {
                decimal::compare(decimal::Decimal::load(a), decimal::Decimal::load(b))
            }
            (a, b) => self.comparer.compare(catalog, a, b),
        }
    }
}

const NUMERIC: Oid = 1700;

/// A line with what its order is asked of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct On<'c> {
    pub(crate) line: Line,
    pub(crate) catalog: &'c Catalog,
}

impl On<'_> {
    /// Compares the values of two ends, whether or not they belong to the ranges.
    pub(crate) fn values(&self, a: &Bound<'_>, b: &Bound<'_>) -> Ordering {
        let outside = |lower: bool| if lower { Ordering::Less } else { Ordering::Greater };
        match (&a.value, &b.value) {
            (None, None) => b.lower.cmp(&a.lower),
            (None, Some(_)) => outside(a.lower),
            (Some(_), None) => outside(b.lower).reverse(),
            (Some(x), Some(y)) => self.line.compare(self.catalog, x, y),
        }
    }

    /// Compares two ends as places on the line: a lower end without its value comes after the value, an upper one before it.
    pub(crate) fn ends(&self, a: &Bound<'_>, b: &Bound<'_>) -> Ordering {
        let side = |bound: &Bound<'_>| match (bound.value.is_none() || bound.inclusive, bound.lower)
        {
            (true, _) => 0,
            (false, true) => 1,
            (false, false) => -1,
        };
        self.values(a, b).then_with(|| side(a).cmp(&side(b)))
    }

    /// Compares two ranges.
    pub(crate) fn ranges(&self, a: &Range<'_>, b: &Range<'_>) -> Ordering {
        self.ends(&a.lower, &b.lower).then_with(|| self.ends(&a.upper, &b.upper))
    }

    /// The range between two ends, in its one form; `None` where nothing lies between them.
    ///
    /// # Errors
    /// `22000`: they are in the wrong order; `22003`, `22008`: a step leads out of the type.
    pub(crate) fn make<'a>(&self, lower: Bound<'a>, upper: Bound<'a>) -> Result<Option<Range<'a>>> {
        let order = self.values(&lower, &upper);
        if order.is_gt() {
            let message = "range lower bound must be less than or equal to range upper bound";
            return Err(Error::new("22000", message));
        }
        if order.is_eq() && !(lower.inclusive && upper.inclusive) {
            return Ok(None);
        }
        let (lower, upper) = self.stepped(lower, upper)?;
        // What lies between two neighbours, without both, is nothing.
        if self.values(&lower, &upper).is_eq() && !(lower.inclusive && upper.inclusive) {
            return Ok(None);
        }
        Ok(Some(Range::of(lower, upper)))
    }

    /// Ends in their one form.
    fn stepped<'a>(&self, lower: Bound<'a>, upper: Bound<'a>) -> Result<(Bound<'a>, Bound<'a>)> {
        let moves = |bound: &Bound<'_>| bound.inclusive != bound.lower;
        let mut ends = [lower, upper];
        for end in &mut ends {
            end.inclusive &= end.value.is_some();
            if let Some(value) = &end.value
                && moves(end)
                && let Some(next) = self.next(value)?
            {
                end.value = Some(next);
                end.inclusive = end.lower;
            }
        }
        let [lower, upper] = ends;
        Ok((lower, upper))
    }

    /// The value that follows one; `None` where there are no steps.
    fn next(&self, value: &Datum<'_>) -> Result<Option<Datum<'static>>> {
        let beyond = |state, name: &str| Error::new(state, format!("{name} out of range"));
        Ok(match (self.line.element, value) {
            (23, Datum::Int4(v)) => {
                Some(Datum::Int4(v.checked_add(1).ok_or_else(|| beyond("22003", "integer"))?))
            }
            (20, Datum::Int8(v)) => {
                Some(Datum::Int8(v.checked_add(1).ok_or_else(|| beyond("22003", "bigint"))?))
            }
            (1082, Datum::Int4(i32::MIN | i32::MAX)) => None,
            (1082, Datum::Int4(v)) => match v.checked_add(1) {
                Some(day) if day < END_DATE => Some(Datum::Int4(day)),
                _ => return Err(beyond("22008", "date")),
            },
            _ => None,
        })
    }

    /// Whether an upper end meets a lower one, with nothing between them and nothing in both.
    ///
    /// # Errors
    /// As [`On::make`].
    pub(crate) fn meet(&self, upper: &Bound<'_>, lower: &Bound<'_>) -> Result<bool> {
        match self.values(upper, lower) {
            Ordering::Less if matches!(self.line.element, 20 | 23 | 1082) => {
                Ok(self.make(upper.turned(), lower.turned())?.is_none())
            }
            Ordering::Equal => Ok(upper.inclusive != lower.inclusive),
            _ => Ok(false),
        }
    }

    /// Whether ranges have something in common.
    pub(crate) fn overlap(&self, a: &Range<'_>, b: &Range<'_>) -> bool {
        self.ends(&a.lower, &b.upper).is_le() && self.ends(&b.lower, &a.upper).is_le()
    }

    /// What two ranges have in common.
    pub(crate) fn common<'a>(&self, a: &Range<'a>, b: &Range<'a>) -> Result<Option<Range<'a>>> {
        if !self.overlap(a, b) {
            return Ok(None);
        }
        let lower = if self.ends(&a.lower, &b.lower).is_ge() { &a.lower } else { &b.lower };
        let upper = if self.ends(&a.upper, &b.upper).is_le() { &a.upper } else { &b.upper };
        self.make(lower.clone(), upper.clone())
    }

    /// The smallest range with all of two ranges.
    pub(crate) fn around<'a>(&self, a: &Range<'a>, b: &Range<'a>) -> Range<'a> {
        let lower = if self.ends(&a.lower, &b.lower).is_lt() { &a.lower } else { &b.lower };
        let upper = if self.ends(&a.upper, &b.upper).is_gt() { &a.upper } else { &b.upper };
        Range::of(lower.clone(), upper.clone())
    }
}
