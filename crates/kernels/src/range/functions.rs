//! What do functions of ranges and multiranges give?
//!
//! Thread safety: pure functions.

use onlap_pg::{Error, Result};

use super::form::{Bound, Range, Ranges, store, store_all};
use super::line::{Line, On};
use super::relate::around;
use super::sets::{held, in_common, merged, without, without_one};
use crate::array::Array;
use crate::misc::rows::{bytes, called, strict};
use crate::number::hash;
use crate::{Cx, Datum, Entry, Kernel, Repr, Types};

/// Functions that make a range of two values.
macro_rules! makers {
    ($($name:literal $element:literal $range:literal;)*) => { &[$(
        (concat!($name, "(", $element, ",", $element, ")"), ranged),
        (concat!($name, "(", $element, ",", $element, ",text)"), ranged),
        (concat!($range, "()"), |types| strict(types, |_, _| store_all(&[]))),
        (concat!($range, "(", $name, ")"), single),
        (concat!($range, "(_", $name, ")"), collected),
    )*] };
}

/// Constructors.
pub(super) const MAKERS: &[Entry] = makers! {
    "int4range" "int4" "int4multirange";
    "int8range" "int8" "int8multirange";
    "numrange" "numeric" "nummultirange";
    "tsrange" "timestamp" "tsmultirange";
    "tstzrange" "timestamptz" "tstzmultirange";
    "daterange" "date" "datemultirange";
};

/// What a range says of itself, for ranges and multiranges.
macro_rules! said {
    ($($name:literal $give:expr;)*) => { &[$(
        (concat!($name, "(anyrange)"), |types| asked(types, $give)),
        (concat!($name, "(anymultirange)"), |types| asked(types, $give)),
    )*] };
}

/// Questions.
pub(super) const SAID: &[Entry] = said! {
    "lower" |whole| whole.and_then(|range| range.lower.value).map_or(Datum::Null, Datum::into_owned);
    "upper" |whole| whole.and_then(|range| range.upper.value).map_or(Datum::Null, Datum::into_owned);
    "isempty" |whole| Datum::Bool(whole.is_none());
    "lower_inc" |whole| Datum::Bool(whole.is_some_and(|range| range.lower.inclusive));
    "upper_inc" |whole| Datum::Bool(whole.is_some_and(|range| range.upper.inclusive));
    "lower_inf" |whole| Datum::Bool(whole.is_some_and(|range| range.lower.value.is_none()));
    "upper_inf" |whole| Datum::Bool(whole.is_some_and(|range| range.upper.value.is_none()));
};

/// Functions of whole ranges.
pub(super) const SETS: &[Entry] = &[
    ("multirange(anyrange)", single),
    ("range_merge(anymultirange)", |types| asked(types, |whole| store(whole.as_ref()))),
    ("range_merge(anyrange,anyrange)", |types| {
        two(types, |on, a, b| Ok(joined(on, a, b, false)?.map(Range::into_owned)))
    }),
    ("range_union(anyrange,anyrange)", |types| {
        two(types, |on, a, b| Ok(joined(on, a, b, true)?.map(Range::into_owned)))
    }),
    ("range_intersect(anyrange,anyrange)", |types| {
        two(types, |on, a, b| match (a, b) {
            (Some(a), Some(b)) => Ok(on.common(&a, &b)?.map(Range::into_owned)),
            _ => Ok(None),
        })
    }),
    ("range_minus(anyrange,anyrange)", |types| {
        two(types, |on, a, b| match (a, b) {
            (Some(a), Some(b)) => Ok(without_one(*on, &a, &b)?.map(Range::into_owned)),
            (a, _) => Ok(a.map(Range::into_owned)),
        })
    }),
    ("multirange_union(anymultirange,anymultirange)", |types| {
        lists(types, |cx, line, mut a, b| {
            if a.is_empty() || b.is_empty() {
                return store_all(if a.is_empty() { &b } else { &a });
            }
            a.extend(b);
            store_all(&merged(cx, line, a)?)
        })
    }),
    ("multirange_minus(anymultirange,anymultirange)", |types| {
        lists(types, |cx, line, a, b| store_all(&without(cx, line, a, &b)?))
    }),
    ("multirange_intersect(anymultirange,anymultirange)", |types| {
        lists(types, |cx, line, a, b| store_all(&in_common(cx, line, &a, &b)?))
    }),
];

/// Functions behind types: their one form, how far values lie from each other, hashes.
pub(super) const BEHIND: &[Entry] = &[
    ("int4range_canonical(int4range)", |types| asked(types, |whole| store(whole.as_ref()))),
    ("int8range_canonical(int8range)", |types| asked(types, |whole| store(whole.as_ref()))),
    ("daterange_canonical(daterange)", |types| asked(types, |whole| store(whole.as_ref()))),
    ("int4range_subdiff(int4,int4)", |types| distance(types, 1.0)),
    ("int8range_subdiff(int8,int8)", |types| distance(types, 1.0)),
    ("daterange_subdiff(date,date)", |types| distance(types, 1.0)),
    ("tsrange_subdiff(timestamp,timestamp)", |types| distance(types, 1e6)),
    ("tstzrange_subdiff(timestamptz,timestamptz)", |types| distance(types, 1e6)),
    ("hash_range(anyrange)", |types| hashed(types, false)),
    ("hash_range_extended(anyrange,int8)", |types| hashed(types, false)),
    ("hash_multirange(anymultirange)", |types| hashed(types, true)),
    ("hash_multirange_extended(anymultirange,int8)", |types| hashed(types, true)),
];

/// A range of two values that may be NULL, for no end, and what says which of them belong to it.
fn ranged(types: &Types) -> Box<dyn Kernel> {
    let line = Line::of_call(types, types.result.oid);
    called(types, move |args, cx| {
        let on = On { line: line.clone()?, catalog: cx.catalog };
        let (lower_in, upper_in) = match args.get(2) {
            None => (true, false),
            Some(Datum::Text(text)) => inclusions(text)?,
            Some(_) => {
                let message = "range constructor flags argument must not be null";
                return Err(Error::new("22000", message));
            }
        };
        let value = |at: usize| Some(args[at].clone()).filter(|value| !value.is_null());
        let lower = Bound { value: value(0), inclusive: lower_in, lower: true };
        let upper = Bound { value: value(1), inclusive: upper_in, lower: false };
        Ok(store(on.make(lower, upper)?.as_ref()))
    })
}

fn inclusions(text: &str) -> Result<(bool, bool)> {
    match text {
        "[]" => Ok((true, true)),
        "[)" => Ok((true, false)),
        "(]" => Ok((false, true)),
        "()" => Ok((false, false)),
        _ => Err(Error::new("42601", "invalid range bound flags")
            .hint("Valid values are \"[]\", \"[)\", \"(]\", and \"()\".")),
    }
}

/// A multirange of one range.
fn single(types: &Types) -> Box<dyn Kernel> {
    let line = Line::of_call(types, types.args[0].oid);
    strict(types, move |args, _| {
        let range = Ranges::load(bytes(&args[0]), line.clone()?.repr).next();
        store_all(range.as_slice())
    })
}

/// A multirange of an array of ranges.
fn collected(types: &Types) -> Box<dyn Kernel> {
    let line = Line::of_call(types, types.result.oid);
    strict(types, move |args, cx| {
        let line = line.clone()?;
        let array = Array::load(bytes(&args[0]), Repr::Bytes);
        if array.ndims() > 1 {
            let message = "multiranges cannot be constructed from multidimensional arrays";
            return Err(Error::new("21000", message));
        }
        if array.has_nulls() {
            return Err(Error::new("22004", "multirange values cannot contain null members"));
        }
        let values: Vec<Datum<'_>> = array.iter().collect();
        let mut ranges = Vec::new();
        for value in &values {
            ranges.extend(held(cx, line, bytes(value))?);
        }
        store_all(&merged(cx, line, ranges)?)
    })
}

/// What is asked of the smallest range around a range or multirange.
fn asked(types: &Types, give: fn(Option<Range<'_>>) -> Datum<'static>) -> Box<dyn Kernel> {
    let line = Line::of_call(types, types.args[0].oid);
    strict(types, move |args, _| {
        Ok(give(around(Ranges::load(bytes(&args[0]), line.clone()?.repr))))
    })
}

/// A range made of two, each `None` where it is empty.
type Pair =
    for<'a> fn(&On<'_>, Option<Range<'a>>, Option<Range<'a>>) -> Result<Option<Range<'static>>>;

fn two(types: &Types, give: Pair) -> Box<dyn Kernel> {
    let line = Line::of_call(types, types.args[0].oid);
    strict(types, move |args, cx| {
        let line = line.clone()?;
        let range = |at: usize| Ranges::load(bytes(&args[at]), line.repr).next();
        Ok(store(give(&On { line, catalog: cx.catalog }, range(0), range(1))?.as_ref()))
    })
}

/// Two ranges as one, which may be asked to have no gap.
fn joined<'a>(
    on: &On<'_>,
    a: Option<Range<'a>>,
    b: Option<Range<'a>>,
    strictly: bool,
) -> Result<Option<Range<'a>>> {
    let (Some(x), Some(y)) = (&a, &b) else { return Ok(a.or(b)) };
    let touch = || -> Result<bool> {
        Ok(on.overlap(x, y) || on.meet(&x.upper, &y.lower)? || on.meet(&y.upper, &x.lower)?)
    };
    if strictly && !touch()? {
        return Err(Error::new("22000", "result of range union would not be contiguous"));
    }
    Ok(Some(on.around(x, y)))
}

/// A multirange made of the ranges of two.
type Lists = for<'a> fn(&Cx<'_>, Line, Vec<Range<'a>>, Vec<Range<'a>>) -> Result<Datum<'static>>;

fn lists(types: &Types, give: Lists) -> Box<dyn Kernel> {
    let line = Line::of_call(types, types.args[0].oid);
    strict(types, move |args, cx| {
        let line = line.clone()?;
        let (a, b) = (held(cx, line, bytes(&args[0]))?, held(cx, line, bytes(&args[1]))?);
        give(cx, line, a, b)
    })
}

/// How far one value lies above another, as a float8.
fn distance(types: &Types, unit: f64) -> Box<dyn Kernel> {
    strict(types, move |args, _| {
        Ok(Datum::Float8(match (&args[0], &args[1]) {
            (Datum::Int4(a), Datum::Int4(b)) => f64::from(*a) - f64::from(*b),
            (Datum::Int8(a), Datum::Int8(b)) => (*a as f64 - *b as f64) / unit,
            (a, b) => unreachable!("{a:?} and {b:?} are whole numbers"),
        }))
    })
}

/// The hash of a range or multirange; of 64 bits where a seed is given.
fn hashed(types: &Types, is_multi: bool) -> Box<dyn Kernel> {
    let line = Line::of_call(types, types.args[0].oid);
    strict(types, move |args, cx| {
        let line = line.clone()?;
        let on = On { line, catalog: cx.catalog };
        let mut list = Ranges::load(bytes(&args[0]), line.repr);
        let one = |range: Option<&Range<'_>>, seed| hash_of(on, range, seed);
        Ok(match args.get(1) {
            Some(Datum::Int8(seed)) => {
                let seed = *seed as u64;
                Datum::Int8(match is_multi {
                    false => one(list.next().as_ref(), Some(seed)),
                    true => list.fold(1_u64, |all, range| {
                        all.wrapping_mul(31).wrapping_add(one(Some(&range), Some(seed)))
                    }),
                } as i64)
            }
            _ => Datum::Int4(match is_multi {
                false => one(list.next().as_ref(), None) as i32,
                true => list.fold(1_u32, |all, range| {
                    all.wrapping_mul(31).wrapping_add(one(Some(&range), None) as u32)
                }) as i32,
            }),
        })
    })
}

/// The hash of a range, of 64 bits with a seed and of 32 without.
fn hash_of(on: On<'_>, range: Option<&Range<'_>>, seed: Option<u64>) -> u64 {
    let flags = range.map_or(super::form::EMPTY, Range::flags);
    let flags = hash::of(on.catalog, 23, &Datum::Int4(i32::from(flags)), seed.unwrap_or(0));
    let end = |value: Option<&Datum<'_>>| {
        let found = value.and_then(|v| hash::of(on.catalog, on.line.element, v, seed.unwrap_or(0)));
        found.unwrap_or(0)
    };
    let lower = end(range.and_then(|range| range.lower.value.as_ref()));
    let upper = end(range.and_then(|range| range.upper.value.as_ref()));
    let all = flags.unwrap_or(0) ^ lower;
    match seed {
        None => u64::from((all as u32).rotate_left(1) ^ upper as u32),
        // Both halves by themselves.
        Some(_) => {
            let (high, low) = ((all >> 32) as u32, all as u32);
            (u64::from(high.rotate_left(1)) << 32 | u64::from(low.rotate_left(1))) ^ upper
        }
    }
}
