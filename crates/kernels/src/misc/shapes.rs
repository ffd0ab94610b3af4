//! How are points, lines, boxes, paths, polygons and circles compared?
//!
//! As PostgreSQL 15 compares them: coordinates that differ by no more than a millionth are one; boxes and circles are as large
//! as their areas, segments as they are long, paths as their points are many.
//!
//! Thread safety: pure functions.

use onlap_pg::{Error, Oid, Result};

use super::geometric::{BOX, CIRCLE, LINE, LSEG, PATH, POINT, POLYGON, floats};
use crate::{Bool, Bytes, Cx, Entry, Float8, two};

/// Two numbers that differ by no more are one.
const EPSILON: f64 = 1.0e-6;

type Point = (f64, f64);
type Sizes = fn(&[u8]) -> Result<f64>;
type Compare = fn(f64, f64) -> bool;

macro_rules! sized {
    ($($name:literal $size:ident $compare:ident,)*) => {
        &[$(($name, |_| two::<Bytes, Bytes, Bool>(|a, b, _| sized($size, $compare, a, b))),)*]
    };
}

/// Comparisons by size.
pub(super) const SIZES: &[Entry] = sized![
    "box_lt(box,box)" area_of_box less,
    "box_le(box,box)" area_of_box at_most,
    "box_eq(box,box)" area_of_box equal,
    "box_gt(box,box)" area_of_box more,
    "box_ge(box,box)" area_of_box at_least,
    "circle_lt(circle,circle)" area_of_circle less,
    "circle_le(circle,circle)" area_of_circle at_most,
    "circle_eq(circle,circle)" area_of_circle equal,
    "circle_ne(circle,circle)" area_of_circle differ,
    "circle_gt(circle,circle)" area_of_circle more,
    "circle_ge(circle,circle)" area_of_circle at_least,
    "lseg_lt(lseg,lseg)" length less,
    "lseg_le(lseg,lseg)" length at_most,
    "lseg_gt(lseg,lseg)" length more,
    "lseg_ge(lseg,lseg)" length at_least,
    "path_n_lt(path,path)" points_of_path less,
    "path_n_le(path,path)" points_of_path at_most,
    "path_n_eq(path,path)" points_of_path equal,
    "path_n_gt(path,path)" points_of_path more,
    "path_n_ge(path,path)" points_of_path at_least,
];

/// Comparisons of places, and a point of its coordinates.
pub(super) const ENTRIES: &[Entry] = &[
    ("point_eq(point,point)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(meet(POINT, a, b)))),
    ("point_ne(point,point)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(!meet(POINT, a, b)))),
    ("lseg_eq(lseg,lseg)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(meet(LSEG, a, b)))),
    ("lseg_ne(lseg,lseg)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(!meet(LSEG, a, b)))),
    ("box_same(box,box)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(meet(BOX, a, b)))),
    ("circle_same(circle,circle)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(same_circle(a, b)))),
    ("line_eq(line,line)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| same_line(a, b))),
    ("poly_same(polygon,polygon)", |_| two::<Bytes, Bytes, Bool>(same_polygon)),
    ("point(float8,float8)", |_| {
        two::<Float8, Float8, Bytes>(|x, y, _| {
            Ok([x, y].iter().flat_map(|value| value.to_be_bytes()).collect::<Vec<u8>>())
        })
    }),
];

fn sized(size: Sizes, compare: Compare, a: &[u8], b: &[u8]) -> Result<bool> {
    Ok(compare(size(a)?, size(b)?))
}

fn equal(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= EPSILON
}

fn differ(a: f64, b: f64) -> bool {
    a != b && (a - b).abs() > EPSILON
}

fn less(a: f64, b: f64) -> bool {
    a + EPSILON < b
}

fn at_most(a: f64, b: f64) -> bool {
    a <= b + EPSILON
}

fn more(a: f64, b: f64) -> bool {
    a > b + EPSILON
}

fn at_least(a: f64, b: f64) -> bool {
    a + EPSILON >= b
}

fn values<const N: usize>(oid: Oid, bytes: &[u8]) -> [f64; N] {
    let mut out = [0.0; N];
    floats(oid, bytes).zip(&mut out).for_each(|(value, place)| *place = value);
    out
}

fn points(oid: Oid, bytes: &[u8]) -> Vec<Point> {
    let all: Vec<f64> = floats(oid, bytes).collect();
    all.as_chunks::<2>().0.iter().map(|[x, y]| (*x, *y)).collect()
}

/// A product that is a number if its factors are.
fn product(a: f64, b: f64) -> Result<f64> {
    let made = a * b;
    let wrong = |text| Err(Error::new("22003", text));
    match made {
        _ if made.is_infinite() && a.is_finite() && b.is_finite() => {
            wrong("value out of range: overflow")
        }
        0.0 if a != 0.0 && b != 0.0 => wrong("value out of range: underflow"),
        _ => Ok(made),
    }
}

fn finite(made: f64, of: [f64; 2]) -> Result<f64> {
    match made.is_infinite() && of.iter().all(|value| value.is_finite()) {
        true => Err(Error::new("22003", "value out of range: overflow")),
        false => Ok(made),
    }
}

fn difference(a: f64, b: f64) -> Result<f64> {
    finite(a - b, [a, b])
}

fn area_of_box(bytes: &[u8]) -> Result<f64> {
    let [right, top, left, bottom] = values(BOX, bytes);
    product(difference(right, left)?, difference(top, bottom)?)
}

fn area_of_circle(bytes: &[u8]) -> Result<f64> {
    let [_, _, radius] = values(CIRCLE, bytes);
    product(product(radius, radius)?, std::f64::consts::PI)
}

fn length(bytes: &[u8]) -> Result<f64> {
    let [a, b, c, d] = values(LSEG, bytes);
    let (across, up) = (difference(a, c)?, difference(b, d)?);
    finite(across.hypot(up), [across, up])
}

fn points_of_path(bytes: &[u8]) -> Result<f64> {
    Ok((floats(PATH, bytes).count() / 2) as f64)
}

/// Whether two numbers are the same, of which one may be no number.
fn agree(a: f64, b: f64) -> bool {
    a == b || a.is_nan() && b.is_nan()
}

fn same_point(a: Point, b: Point) -> bool {
    let all = [a.0, a.1, b.0, b.1];
    let one = if all.iter().any(|value| value.is_nan()) { agree } else { equal };
    one(a.0, b.0) && one(a.1, b.1)
}

/// Whether the points of two values are the same, each in its place.
fn meet(oid: Oid, a: &[u8], b: &[u8]) -> bool {
    points(oid, a).into_iter().zip(points(oid, b)).all(|(a, b)| same_point(a, b))
}

fn same_circle(a: &[u8], b: &[u8]) -> bool {
    let ([x, y, radius], [u, v, other]) = (values(CIRCLE, a), values(CIRCLE, b));
    let as_large = radius.is_nan() && other.is_nan() || equal(radius, other);
    as_large && same_point((x, y), (u, v))
}

/// Lines whose numbers are in proportion are one.
fn same_line(a: &[u8], b: &[u8]) -> Result<bool> {
    let (one, other): ([f64; 3], [f64; 3]) = (values(LINE, a), values(LINE, b));
    let mut pairs = one.into_iter().zip(other);
    if one.iter().chain(&other).any(|value| value.is_nan()) {
        return Ok(pairs.all(|(a, b)| agree(a, b)));
    }
    let ratio = match pairs.clone().find(|(_, b)| !equal(*b, 0.0)) {
        Some((a, b)) => finite(a / b, [a, b])?,
        None => 1.0,
    };
    for (a, b) in pairs {
        if !equal(a, product(ratio, b)?) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Polygons are the same from whichever point they begin, and in either direction.
fn same_polygon(a: &[u8], b: &[u8], cx: &mut Cx<'_>) -> Result<bool> {
    let (one, other) = (points(POLYGON, a), points(POLYGON, b));
    let count = one.len();
    if count != other.len() {
        return Ok(false);
    }
    for start in 0..count {
        cx.go_on()?;
        if !same_point(other[start], one[0]) {
            continue;
        }
        let forward = (1..count).all(|at| same_point(other[(start + at) % count], one[at]));
        if forward || (1..count).all(|at| same_point(other[(start + count - at) % count], one[at]))
        {
            return Ok(true);
        }
    }
    Ok(false)
}
