//! How do ranges and multiranges lie to each other?
//!
//! Each is its ranges that are not empty, in order, so that one function serves all four pairs of the two. Nothing is before,
//! after or next to what is empty, and everything contains it. Thread safety: pure functions.

use std::cmp::Ordering;

use onlap_pg::Result;

use super::form::{Bound, Range, Ranges, at};
use super::line::{Line, On};
use crate::misc::rows::{bytes, strict};
use crate::{Cx, Datum, Entry, Kernel, Types};

/// A relation of two lists of ranges.
type Relation = for<'a> fn(&On<'_>, Ranges<'a>, Ranges<'a>, &Cx<'_>) -> Result<bool>;

/// The four functions of a relation: of two ranges, of a range and a multirange, the other way round, of two multiranges.
macro_rules! pairs {
    ($($one:literal $left:literal $right:literal $both:literal $relation:expr;)*) => { &[$(
        (concat!($one, "(anyrange,anyrange)"), |types| related(types, $relation)),
        (concat!($left, "(anyrange,anymultirange)"), |types| related(types, $relation)),
        (concat!($right, "(anymultirange,anyrange)"), |types| related(types, $relation)),
        (concat!($both, "(anymultirange,anymultirange)"), |types| related(types, $relation)),
    )*] };
}

/// Relations of all pairs.
pub(super) const PAIRS: &[Entry] = pairs! {
    "range_overlaps" "range_overlaps_multirange" "multirange_overlaps_range" "multirange_overlaps_multirange" overlap;
    "range_contains" "range_contains_multirange" "multirange_contains_range" "multirange_contains_multirange" contains;
    "range_contained_by" "range_contained_by_multirange" "multirange_contained_by_range" "multirange_contained_by_multirange"
        |on, a, b, cx| contains(on, b, a, cx);
    "range_adjacent" "range_adjacent_multirange" "multirange_adjacent_range" "multirange_adjacent_multirange" meet;
    "range_before" "range_before_multirange" "multirange_before_range" "multirange_before_multirange"
        |on, a, b, _| Ok(whole(a, b, |a, b| on.ends(&a.upper, &b.lower).is_lt()));
    "range_after" "range_after_multirange" "multirange_after_range" "multirange_after_multirange"
        |on, a, b, _| Ok(whole(a, b, |a, b| on.ends(&a.lower, &b.upper).is_gt()));
    "range_overleft" "range_overleft_multirange" "multirange_overleft_range" "multirange_overleft_multirange"
        |on, a, b, _| Ok(whole(a, b, |a, b| on.ends(&a.upper, &b.upper).is_le()));
    "range_overright" "range_overright_multirange" "multirange_overright_range" "multirange_overright_multirange"
        |on, a, b, _| Ok(whole(a, b, |a, b| on.ends(&a.lower, &b.lower).is_ge()));
};

/// Comparisons, and what contains a value.
pub(super) const OTHERS: &[Entry] = &[
    ("range_eq(anyrange,anyrange)", |types| compared(types, Ordering::is_eq)),
    ("range_ne(anyrange,anyrange)", |types| compared(types, Ordering::is_ne)),
    ("range_lt(anyrange,anyrange)", |types| compared(types, Ordering::is_lt)),
    ("range_le(anyrange,anyrange)", |types| compared(types, Ordering::is_le)),
    ("range_gt(anyrange,anyrange)", |types| compared(types, Ordering::is_gt)),
    ("range_ge(anyrange,anyrange)", |types| compared(types, Ordering::is_ge)),
    ("range_cmp(anyrange,anyrange)", ordered),
    ("multirange_eq(anymultirange,anymultirange)", |types| compared(types, Ordering::is_eq)),
    ("multirange_ne(anymultirange,anymultirange)", |types| compared(types, Ordering::is_ne)),
    ("multirange_lt(anymultirange,anymultirange)", |types| compared(types, Ordering::is_lt)),
    ("multirange_le(anymultirange,anymultirange)", |types| compared(types, Ordering::is_le)),
    ("multirange_gt(anymultirange,anymultirange)", |types| compared(types, Ordering::is_gt)),
    ("multirange_ge(anymultirange,anymultirange)", |types| compared(types, Ordering::is_ge)),
    ("multirange_cmp(anymultirange,anymultirange)", ordered),
    ("range_contains_elem(anyrange,anyelement)", |types| holding(types, 0)),
    ("multirange_contains_elem(anymultirange,anyelement)", |types| holding(types, 0)),
    ("elem_contained_by_range(anyelement,anyrange)", |types| holding(types, 1)),
    ("elem_contained_by_multirange(anyelement,anymultirange)", |types| holding(types, 1)),
];

fn related(types: &Types, relation: Relation) -> Box<dyn Kernel> {
    let line = Line::of_call(types, types.args[0].oid);
    strict(types, move |args, cx| {
        let line = line.clone()?;
        let on = On { line, catalog: cx.catalog };
        let list = |at: usize| Ranges::load(bytes(&args[at]), line.repr);
        relation(&on, list(0), list(1), cx).map(Datum::Bool)
    })
}

/// Whether what lies between the first and the last end of both has a relation.
fn whole<'a>(
    a: Ranges<'a>,
    b: Ranges<'a>,
    relation: impl FnOnce(&Range<'_>, &Range<'_>) -> bool,
) -> bool {
    matches!((around(a), around(b)), (Some(a), Some(b)) if relation(&a, &b))
}

/// The smallest range around a list; `None` around an empty one.
pub(super) fn around(mut list: Ranges<'_>) -> Option<Range<'_>> {
    let first = list.next()?;
    match list.last() {
        Some(last) => Some(Range::of(first.lower, last.upper)),
        None => Some(first),
    }
}

fn meet(on: &On<'_>, a: Ranges<'_>, b: Ranges<'_>, _: &Cx<'_>) -> Result<bool> {
    let (Some(a), Some(b)) = (around(a), around(b)) else { return Ok(false) };
    Ok(on.meet(&a.upper, &b.lower)? || on.meet(&b.upper, &a.lower)?)
}

/// Goes over two lists side by side until ranges of both overlap.
fn overlap(on: &On<'_>, mut a: Ranges<'_>, mut b: Ranges<'_>, cx: &Cx<'_>) -> Result<bool> {
    let (mut left, mut right, mut steps) = (a.next(), b.next(), 0_usize);
    while let (Some(x), Some(y)) = (&left, &right) {
        if on.overlap(x, y) {
            return Ok(true);
        }
        steps += 1;
        if steps.is_multiple_of(1024) {
            cx.go_on()?;
        }
        match on.ends(&x.upper, &y.lower).is_lt() {
            true => left = a.next(),
            false => right = b.next(),
        }
    }
    Ok(false)
}

/// Whether each range of the second list lies in one of the first.
fn contains(on: &On<'_>, mut a: Ranges<'_>, b: Ranges<'_>, cx: &Cx<'_>) -> Result<bool> {
    let mut held = a.next();
    for (step, inner) in b.enumerate() {
        if step % 1024 == 1023 {
            cx.go_on()?;
        }
        loop {
            match &held {
                None => return Ok(false),
                Some(outer) if on.ends(&outer.upper, &inner.upper).is_lt() => held = a.next(),
                Some(outer) if on.ends(&outer.lower, &inner.lower).is_le() => break,
                Some(_) => return Ok(false),
            }
        }
    }
    Ok(true)
}

/// Whether a value lies in a list, which is one of the two arguments.
fn holding(types: &Types, list: usize) -> Box<dyn Kernel> {
    let line = Line::of_call(types, types.args[list].oid);
    strict(types, move |args, cx| {
        let line = line.clone()?;
        let on = On { line, catalog: cx.catalog };
        let (low, high): (Bound<'_>, Bound<'_>) =
            (at(&args[1 - list], true), at(&args[1 - list], false));
        for range in Ranges::load(bytes(&args[list]), line.repr) {
            if on.ends(&range.upper, &high).is_lt() {
                continue;
            }
            return Ok(Datum::Bool(on.ends(&range.lower, &low).is_le()));
        }
        Ok(Datum::Bool(false))
    })
}

/// The order of two lists: that of the first ranges that differ; a shorter list is first.
fn order(on: &On<'_>, mut a: Ranges<'_>, mut b: Ranges<'_>) -> Ordering {
    loop {
        return match (a.next(), b.next()) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(x), Some(y)) => match on.ranges(&x, &y) {
                Ordering::Equal => continue,
                order => order,
            },
        };
    }
}

fn comparing(
    types: &Types,
    give: impl Fn(Ordering) -> Datum<'static> + Send + Sync + 'static,
) -> Box<dyn Kernel> {
    let line = Line::of_call(types, types.args[0].oid);
    strict(types, move |args, cx| {
        let line = line.clone()?;
        let list = |at: usize| Ranges::load(bytes(&args[at]), line.repr);
        Ok(give(order(&On { line, catalog: cx.catalog }, list(0), list(1))))
    })
}

fn compared(types: &Types, test: fn(Ordering) -> bool) -> Box<dyn Kernel> {
    comparing(types, move |order| Datum::Bool(test(order)))
}

fn ordered(types: &Types) -> Box<dyn Kernel> {
    comparing(types, |order| Datum::Int4(order as i32))
}
