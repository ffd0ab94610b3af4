//! What stands at a place among sorted values, and which is the most frequent?
//!
//! These are the ordered-set aggregates mode, percentile_disc and percentile_cont. Assumed of the caller: rows of a group come
//! in the order of WITHIN GROUP (states are merged in that order, too); direct arguments stand before the sorted one, as in
//! pg_proc, and have one value per group, that of its first row. An array of parts gives an array of the same shape.

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use onlap_pg::value::interval::Interval;
use onlap_pg::{Error, Oid, Result};

use crate::adapt::LOOK_EVERY;
use crate::aggregate::{Aggregate, AggregateEntry};
use crate::array::{Array, Builder};
use crate::number::compare::Order;
use crate::number::decimal::{Decimal, compare};
use crate::time::spans;
use crate::{Col, Cx, Datum, Made, Repr, Types, repr};

/// mode and percentiles.
pub const ENTRIES: &[AggregateEntry] = &[
    ("mode(anyelement)", |types| Ordered::make(Kind::Mode, types)),
    ("percentile_disc(float8,anyelement)", |types| Ordered::make(Kind::Discrete, types)),
    ("percentile_disc(_float8,anyelement)", |types| Ordered::make(Kind::Discrete, types)),
    ("percentile_cont(float8,float8)", |types| Ordered::make(Kind::Continuous, types)),
    ("percentile_cont(_float8,float8)", |types| Ordered::make(Kind::Continuous, types)),
    ("percentile_cont(float8,interval)", |types| Ordered::make(Kind::Continuous, types)),
    ("percentile_cont(_float8,interval)", |types| Ordered::make(Kind::Continuous, types)),
];

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Mode,
    Discrete,
    Continuous,
}

/// The values of a group, and the part of them that is asked for.
#[derive(Default)]
struct Group {
    /// `None` before the first row; NULL, a float8 or an array of them inside.
    asked: Option<Datum<'static>>,
    values: Vec<Datum<'static>>,
}

struct Ordered {
    kind: Kind,
    /// The type of the values.
    ty: Oid,
    repr: Repr,
    /// How the parts are given.
    asked: Repr,
    /// How results are given.
    result: Repr,
    groups: Vec<Group>,
    outside: usize,
}

impl Ordered {
    fn make(kind: Kind, types: &Types) -> Box<dyn Aggregate> {
        let of = |ty: Oid| repr(&types.catalog, ty).expect("an argument's type has values");
        let ty = types.args[usize::from(kind != Kind::Mode)].oid;
        let (repr, asked) = (of(ty), of(types.args[0].oid));
        let (ty, result) = (types.catalog.base_type(ty), of(types.result.oid));
        Box::new(Ordered { kind, ty, repr, asked, result, groups: Vec::new(), outside: 0 })
    }

    fn give(&self, group: &Group) -> Result<Datum<'static>> {
        let parts = match (self.kind, &group.asked) {
            (Kind::Mode, _) => return Ok(self.mode(&group.values).clone()),
            (_, None) => return Ok(Datum::Null),
            (_, Some(Datum::Bytes(parts))) if !group.values.is_empty() => parts,
            (_, Some(Datum::Float8(part))) => return self.at(*part, group),
            _ => return Ok(Datum::Null),
        };
        let parts = Array::load(parts, Repr::Float8);
        let mut made = Builder::new(self.repr);
        for part in parts.iter() {
            made.push(&match part {
                Datum::Float8(part) => self.at(part, group)?,
                _ => Datum::Null,
            })?;
        }
        Ok(Datum::bytes(made.finish_as(&parts.dims())))
    }

    /// What a part of the values ends with.
    fn at(&self, part: f64, group: &Group) -> Result<Datum<'static>> {
        if !(0.0..=1.0).contains(&part) {
            let shown = onlap_pg::value::float::print8(part, -9);
            let message = format!("percentile value {shown} is not between 0 and 1");
            return Err(Error::new("22003", message));
        }
        let Some(last) = group.values.len().checked_sub(1) else { return Ok(Datum::Null) };
        if self.kind == Kind::Discrete {
            let at = (part * group.values.len() as f64).ceil() as usize;
            return Ok(group.values[at.saturating_sub(1)].clone());
        }
        let place = part * last as f64;
        let (low, high) = (place.floor(), place.ceil());
        let ends = (&group.values[low as usize], &group.values[high as usize]);
        match low == high {
            true => Ok(ends.0.clone()),
            false => between(ends.0, ends.1, place - low),
        }
    }

    /// The first of the longest stretch of equal values.
    fn mode<'a>(&self, values: &'a [Datum<'static>]) -> &'a Datum<'static> {
        let (mut best, mut most) = (&Datum::Null, 0);
        let mut rest = values;
        while let Some(first) = rest.first() {
            let times = rest.iter().take_while(|value| same(self.ty, first, value)).count().max(1);
            if times > most {
                (best, most) = (first, times);
            }
            rest = &rest[times..];
        }
        best
    }
}

/// Whether two values of a type are equal.
fn same(ty: Oid, a: &Datum<'_>, b: &Datum<'_>) -> bool {
    match (ty, a, b) {
        (_, Datum::Float4(a), Datum::Float4(b)) => Order::same(*a, *b),
        (_, Datum::Float8(a), Datum::Float8(b)) => Order::same(*a, *b),
        (1700, Datum::Bytes(a), Datum::Bytes(b)) => {
            compare(Decimal::load(a), Decimal::load(b)).is_eq()
        }
        (1042, Datum::Text(a), Datum::Text(b)) => {
            a.trim_end_matches(' ') == b.trim_end_matches(' ')
        }
        (1186, Datum::Bytes(a), Datum::Bytes(b)) => {
            let key = |bytes: &[u8]| Interval::recv(bytes).map(|interval| interval.key()).ok();
            key(a) == key(b)
        }
        _ => a == b,
    }
}

/// The value at a share of the way from one to another.
fn between(low: &Datum<'_>, high: &Datum<'_>, share: f64) -> Result<Datum<'static>> {
    match (low, high) {
        (Datum::Float8(low), Datum::Float8(high)) => Ok(Datum::Float8(low + share * (high - low))),
        (Datum::Bytes(low), Datum::Bytes(high)) => {
            let low = Interval::recv(low)?;
            let way = spans::minus(Interval::recv(high)?, low)?;
            Ok(Datum::bytes(spans::sum(low, spans::times(way, share)?)?.send()))
        }
        other => unreachable!("{other:?} among floats or intervals"),
    }
}

impl Aggregate for Ordered {
    fn grow(&mut self, groups: usize) {
        self.groups.resize_with(groups.max(self.groups.len()), Group::default);
    }

    fn update(&mut self, args: &[Col], groups: &[usize], cx: &mut Cx<'_>) -> Result<()> {
        let (last, direct) = args.split_last().expect("there is a sorted argument");
        for (row, group) in groups.iter().enumerate() {
            if row % LOOK_EVERY == 0 {
                cx.go_on()?;
            }
            let group = &mut self.groups[*group];
            if let Some(col) = direct.first().filter(|_| group.asked.is_none()) {
                let asked = Datum::at(&col.array, self.asked, col.at(row)).into_owned();
                self.outside += asked.size();
                group.asked = Some(asked);
            }
            if !last.is_null(row) {
                let value = Datum::at(&last.array, self.repr, last.at(row)).into_owned();
                self.outside += size_of::<Datum<'_>>() + value.size();
                group.values.push(value);
            }
        }
        Ok(())
    }

    fn finish(&self, groups: usize, cx: &mut Cx<'_>) -> Result<ArrayRef> {
        let mut out = Made::new(groups, cx);
        for group in &self.groups[..groups] {
            out.push(self.give(group)?, cx)?;
        }
        out.column(self.result)
    }

    fn save(&self, groups: usize) -> ArrayRef {
        super::save(&self.groups[..groups], |group, out| {
            let is_there = |asked: &&Datum<'_>| !matches!(asked, Datum::Null);
            let asked = group.asked.as_ref().filter(is_there);
            out.push(u8::from(group.asked.is_some()) | u8::from(asked.is_some()) << 1);
            asked.into_iter().chain(&group.values).for_each(|value| write(value, out));
        })
    }

    fn merge(&mut self, saved: &ArrayRef, groups: &[usize], cx: &mut Cx<'_>) -> Result<()> {
        let saved = saved.as_binary::<i32>();
        for (row, group) in groups.iter().enumerate() {
            cx.go_on()?;
            let (head, mut rest) = saved.value(row).split_at(1);
            let group = &mut self.groups[*group];
            let mut asked = (head[0] & 1 > 0).then_some(Datum::Null);
            if head[0] & 2 > 0 {
                let (value, after) = read(self.asked, rest);
                (asked, rest) = (Some(value), after);
            }
            if group.asked.is_none() {
                self.outside += asked.as_ref().map_or(0, Datum::size);
                group.asked = asked;
            }
            while !rest.is_empty() {
                let (value, after) = read(self.repr, rest);
                self.outside += size_of::<Datum<'_>>() + value.size();
                group.values.push(value);
                rest = after;
            }
        }
        Ok(())
    }

    fn forget(&mut self, groups: usize) {
        for group in self.groups.drain(..groups) {
            let size = |value: &Datum<'_>| size_of::<Datum<'_>>() + value.size();
            let asked = group.asked.as_ref().map_or(0, Datum::size);
            let values = group.values.iter().map(size).sum::<usize>();
            self.outside = self.outside.saturating_sub(asked + values);
        }
    }

    fn size(&self) -> usize {
        self.groups.capacity() * size_of::<Group>() + self.outside
    }
}

/// A value behind its length.
fn write(value: &Datum<'_>, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend([0; 4]);
    match value {
        Datum::Null => unreachable!("NULL is left out"),
        Datum::Bool(v) => out.push(u8::from(*v)),
        Datum::Int2(v) => out.extend(v.to_le_bytes()),
        Datum::Int4(v) => out.extend(v.to_le_bytes()),
        Datum::Int8(v) => out.extend(v.to_le_bytes()),
        Datum::Oid(v) => out.extend(v.to_le_bytes()),
        Datum::Char(v) => out.push(*v),
        Datum::Float4(v) => out.extend(v.to_le_bytes()),
        Datum::Float8(v) => out.extend(v.to_le_bytes()),
        Datum::Text(v) => out.extend(v.as_bytes()),
        Datum::Bytes(v) => out.extend(v.iter()),
    }
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

/// A value that `write` wrote, and what follows it.
fn read(repr: Repr, bytes: &[u8]) -> (Datum<'static>, &[u8]) {
    let (length, rest) = bytes.split_at(4);
    let length = u32::from_le_bytes(length.try_into().expect("a length has 4 bytes")) as usize;
    let (value, rest) = rest.split_at(length);
    macro_rules! number {
        ($kind:path, $number:ident) => {
            $kind($number::from_le_bytes(value.try_into().expect("a number has its width")))
        };
    }
    let value = match repr {
        Repr::Bool => Datum::Bool(value == [1]),
        Repr::Int2 => number!(Datum::Int2, i16),
        Repr::Int4 => number!(Datum::Int4, i32),
        Repr::Int8 => number!(Datum::Int8, i64),
        Repr::Oid => number!(Datum::Oid, u32),
        Repr::Char => number!(Datum::Char, u8),
        Repr::Float4 => number!(Datum::Float4, f32),
        Repr::Float8 => number!(Datum::Float8, f64),
        Repr::Text => Datum::text(String::from_utf8_lossy(value)),
        Repr::Bytes | Repr::Fixed(_) => Datum::bytes(value),
    };
    (value, rest)
}
