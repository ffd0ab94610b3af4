//! How do ranges and multiranges lie in a column?
//!
//! | bytes | what |
//! |---|---|
//! | 1 | the sum of 1: empty, 2: the lower bound belongs to it, 4: the upper one does, 8: there is no lower bound, 16: no upper one |
//! | … | the lower bound, if there is one: a value of fixed width as [`packed`] has it, another with its length before it (32 bits, little-endian) |
//! | … | the upper bound, likewise |
//!
//! A multirange is its ranges, one after the other, none of them empty, in rising order with room between neighbours; without
//! ranges it has no bytes. So both are read alike: as ranges that are not empty ([`Ranges`]).
//!
//! ```text
//! '[1,4]'::int4range           02 01 00 00 00 05 00 00 00
//! 'empty'::int4range           01
//! '{(,3),[7,)}'::int4multirange 08 03 00 00 00 12 07 00 00 00
//! ```
//!
//! Thread safety: plain data.

use std::borrow::Cow;

use onlap_pg::value::MAX_BYTES;
use onlap_pg::{Error, Result};

use crate::array::packed::{self, u32_at};
use crate::{Datum, Repr};

/// Flags, which PostgreSQL's binary form has, too.
pub(crate) const EMPTY: u8 = 1;
pub(crate) const LOWER_IN: u8 = 2;
pub(crate) const UPPER_IN: u8 = 4;
pub(crate) const NO_LOWER: u8 = 8;
pub(crate) const NO_UPPER: u8 = 16;

/// One end of a range.
#[derive(Clone, Debug)]
pub(crate) struct Bound<'a> {
    /// `None` where the range has no end there.
    pub(crate) value: Option<Datum<'a>>,
    /// Whether the value belongs to the range.
    pub(crate) inclusive: bool,
    /// Whether it is the lower end.
    pub(crate) lower: bool,
}

impl<'a> Bound<'a> {
    /// The other side of the same place: where a neighbour ends.
    pub(crate) fn turned(&self) -> Bound<'a> {
        Bound { value: self.value.clone(), inclusive: !self.inclusive, lower: !self.lower }
    }

    pub(crate) fn into_owned(self) -> Bound<'static> {
        let Bound { value, inclusive, lower } = self;
        Bound { value: value.map(Datum::into_owned), inclusive, lower }
    }
}

/// A range that is not empty.
#[derive(Clone, Debug)]
pub(crate) struct Range<'a> {
    pub(crate) lower: Bound<'a>,
    pub(crate) upper: Bound<'a>,
}

impl<'a> Range<'a> {
    /// A range of bounds that are in order.
    pub(crate) fn of(lower: Bound<'a>, upper: Bound<'a>) -> Range<'a> {
        Range { lower, upper }
    }

    pub(crate) fn into_owned(self) -> Range<'static> {
        Range { lower: self.lower.into_owned(), upper: self.upper.into_owned() }
    }

    /// Its flags.
    pub(crate) fn flags(&self) -> u8 {
        let end = |bound: &Bound<'_>, none: u8, inclusive: u8| match bound.value {
            None => none,
            Some(_) if bound.inclusive => inclusive,
            Some(_) => 0,
        };
        end(&self.lower, NO_LOWER, LOWER_IN) | end(&self.upper, NO_UPPER, UPPER_IN)
    }

    /// Appends its form.
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        out.push(self.flags());
        for bound in [&self.lower, &self.upper] {
            if let Some(value) = &bound.value {
                put_value(value, out);
            }
        }
    }
}

fn put_value(value: &Datum<'_>, out: &mut Vec<u8>) {
    if let Datum::Text(_) | Datum::Bytes(_) = value {
        out.extend_from_slice(&(value.size() as u32).to_le_bytes());
    }
    packed::put(value, out);
}

/// The form of a range, `None` for the empty one.
pub(crate) fn store(range: Option<&Range<'_>>) -> Datum<'static> {
    let mut out = Vec::new();
    match range {
        Some(range) => range.put(&mut out),
        None => out.push(EMPTY),
    }
    Datum::bytes(out)
}

/// The form of a multirange of ranges in order.
///
/// # Errors
/// `54000`: it would be too large.
pub(crate) fn store_all(ranges: &[Range<'_>]) -> Result<Datum<'static>> {
    let mut out = Vec::new();
    for range in ranges {
        range.put(&mut out);
        if out.len() > MAX_BYTES {
            return Err(Error::new("54000", "multirange size exceeds the maximum allowed"));
        }
    }
    Ok(Datum::bytes(out))
}

/// The ranges of a form that are not empty, in order.
#[derive(Clone, Debug)]
pub(crate) struct Ranges<'a> {
    rest: &'a [u8],
    repr: Repr,
}

impl<'a> Ranges<'a> {
    /// Of a range or a multirange whose bounds have a representation.
    pub(crate) fn load(bytes: &'a [u8], repr: Repr) -> Ranges<'a> {
        Ranges { rest: bytes, repr }
    }

    fn value(&mut self) -> Datum<'a> {
        let (bytes, rest) = match self.repr {
            Repr::Text | Repr::Bytes => {
                let length = u32_at(self.rest, 0) as usize;
                self.rest[4..].split_at(length)
            }
            repr => self.rest.split_at(packed::width(repr).expect("it has a width")),
        };
        self.rest = rest;
        packed::get(self.repr, bytes)
    }
}

impl<'a> Iterator for Ranges<'a> {
    type Item = Range<'a>;

    /// # Panics
    /// The bytes are none that were stored for this representation.
    fn next(&mut self) -> Option<Range<'a>> {
        let (flags, rest) = self.rest.split_first()?;
        self.rest = rest;
        if flags & EMPTY != 0 {
            return None;
        }
        let mut end = |none: u8, inclusive: u8, lower: bool| {
            let value = (flags & none == 0).then(|| self.value());
            Bound { value, inclusive: flags & inclusive != 0, lower }
        };
        let lower = end(NO_LOWER, LOWER_IN, true);
        let upper = end(NO_UPPER, UPPER_IN, false);
        Some(Range { lower, upper })
    }
}

/// A bound from nothing but a value, for comparisons with bounds.
pub(crate) fn at<'a>(value: &'a Datum<'_>, lower: bool) -> Bound<'a> {
    let value = match value {
        Datum::Text(text) => Datum::Text(Cow::Borrowed(text)),
        Datum::Bytes(bytes) => Datum::Bytes(Cow::Borrowed(bytes)),
        value => value.clone().into_owned(),
    };
    Bound { value: Some(value), inclusive: true, lower }
}
