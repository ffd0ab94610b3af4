//! What stands at a place among sorted values, and which is the most frequent?
//!
//! These are the ordered-set aggregates mode, percentile_disc and percentile_cont. Assumed of the caller: rows of a group come
//! in the order of WITHIN GROUP (states are merged in that order, too); direct arguments stand before the sorted one, as in
//! pg_proc, and have one value per group, that of its first row.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, Float64Array};
use onlap_pg::value::interval::Interval;
use onlap_pg::{Error, Oid, Result};

use crate::adapt::LOOK_EVERY;
use crate::aggregate::{Aggregate, AggregateEntry};
use crate::number::compare::Order;
use crate::number::decimal::{Decimal, compare};
use crate::{Col, Cx, Datum, Repr, Types, repr};

/// mode and percentiles.
pub const ENTRIES: &[AggregateEntry] = &[
    ("mode(anyelement)", |types| Ordered::make(Kind::Mode, types)),
    ("percentile_disc(float8,anyelement)", |types| Ordered::make(Kind::Discrete, types)),
    ("percentile_cont(float8,float8)", |types| Ordered::make(Kind::Continuous, types)),
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
    /// `None` before the first row; NULL inside.
    part: Option<Option<f64>>,
    values: Vec<Datum<'static>>,
}

struct Ordered {
    kind: Kind,
    /// The type of the values.
    ty: Oid,
    repr: Repr,
    groups: Vec<Group>,
    outside: usize,
}

impl Ordered {
    fn make(kind: Kind, types: &Types) -> Box<dyn Aggregate> {
        let ty = types.args[usize::from(kind != Kind::Mode)].oid;
        let repr = repr(&types.catalog, ty).expect("an argument's type has values");
        let ty = types.catalog.base_type(ty);
        Box::new(Ordered { kind, ty, repr, groups: Vec::new(), outside: 0 })
    }

    fn give<'a>(&self, group: &'a Group) -> Result<&'a Datum<'static>> {
        match self.kind {
            Kind::Mode => Ok(self.mode(&group.values)),
            _ => {
                let Some(part) = group.part()? else { return Ok(&Datum::Null) };
                let at = (part * group.values.len() as f64).ceil() as usize;
                Ok(group.values.get(at.saturating_sub(1)).unwrap_or(&Datum::Null))
            }
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

impl Group {
    /// The part that is asked for; `None` for NULL or if there are no values.
    fn part(&self) -> Result<Option<f64>> {
        let Some(part) = self.part.flatten() else { return Ok(None) };
        if !(0.0..=1.0).contains(&part) {
            let shown = onlap_pg::value::float::print8(part, -9);
            let message = format!("percentile value {shown} is not between 0 and 1");
            return Err(Error::new("22003", message));
        }
        Ok((!self.values.is_empty()).then_some(part))
    }

    /// A value between the two that a part lies between.
    fn between(&self) -> Result<Option<f64>> {
        let Some(part) = self.part()? else { return Ok(None) };
        let number = |at: f64| match self.values.get(at as usize) {
            Some(Datum::Float8(value)) => *value,
            other => unreachable!("{other:?} among floats"),
        };
        let place = part * (self.values.len() - 1) as f64;
        let (low, high) = (number(place.floor()), number(place.ceil()));
        Ok(Some(if place.floor() == place.ceil() {
            low
        } else {
            low + (place - place.floor()) * (high - low)
        }))
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
            if let Some(col) = direct.first().filter(|_| group.part.is_none()) {
                let part = Datum::at(&col.array, Repr::Float8, col.at(row));
                group.part = Some(if let Datum::Float8(part) = part { Some(part) } else { None });
            }
            if !last.is_null(row) {
                let value = Datum::at(&last.array, self.repr, last.at(row)).into_owned();
                self.outside += size_of::<Datum<'_>>() + value.size();
                group.values.push(value);
            }
        }
        Ok(())
    }

    fn finish(&self, groups: usize, _: &mut Cx<'_>) -> Result<ArrayRef> {
        let groups = &self.groups[..groups];
        if self.kind == Kind::Continuous {
            let values = groups.iter().map(Group::between).collect::<Result<Vec<_>>>()?;
            return Ok(Arc::new(Float64Array::from(values)));
        }
        let values = groups.iter().map(|group| self.give(group)).collect::<Result<Vec<_>>>()?;
        Datum::column(self.repr, values.into_iter())
    }

    fn save(&self, groups: usize) -> ArrayRef {
        super::save(&self.groups[..groups], |group, out| {
            let part = group.part.map(|part| part.unwrap_or(f64::NAN).to_le_bytes());
            let flags = u8::from(part.is_some()) | u8::from(group.part == Some(None)) << 1;
            out.push(flags);
            out.extend(part.unwrap_or_default());
            group.values.iter().for_each(|value| write(value, out));
        })
    }

    fn merge(&mut self, saved: &ArrayRef, groups: &[usize], cx: &mut Cx<'_>) -> Result<()> {
        let saved = saved.as_binary::<i32>();
        for (row, group) in groups.iter().enumerate() {
            cx.go_on()?;
            let (head, mut rest) = saved.value(row).split_at(9);
            let group = &mut self.groups[*group];
            if head[0] & 1 > 0 && group.part.is_none() {
                let [part] = super::words(&head[1..]);
                group.part = Some((head[0] & 2 == 0).then_some(f64::from_le_bytes(part)));
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
            self.outside = self.outside.saturating_sub(group.values.iter().map(size).sum());
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
