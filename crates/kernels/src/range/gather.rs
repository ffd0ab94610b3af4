//! What do ranges of many rows make together, and which ranges is a multirange made of?
//!
//! Thread safety: as aggregates.

use onlap_pg::value::MAX_BYTES;
use onlap_pg::{Error, Result};

use super::form::{Ranges, store, store_all};
use super::line::{Line, On};
use super::sets::{held, in_common, merged};
use crate::aggregate::{Aggregate, AggregateEntry};
use crate::misc::gather::{Gather, gathered};
use crate::misc::rows::{bytes, representation};
use crate::series::{Rows, Series, SeriesEntry};
use crate::{Cx, Datum, Types};

/// Aggregates.
pub(super) const AGGREGATES: &[AggregateEntry] = &[
    ("range_agg(anyrange)", |types| made(types, All { line: line(types) })),
    ("range_agg(anymultirange)", |types| made(types, All { line: line(types) })),
    ("range_intersect_agg(anyrange)", |types| {
        made(types, Common { line: line(types), is_multi: false })
    }),
    ("range_intersect_agg(anymultirange)", |types| {
        made(types, Common { line: line(types), is_multi: true })
    }),
];

/// Functions that give sets.
pub(super) const SERIES: &[SeriesEntry] = &[("unnest(anymultirange)", unnest)];

fn line(types: &Types) -> Result<Line> {
    Line::of_call(types, types.args[0].oid)
}

fn made<G: Gather>(types: &Types, gather: G) -> Box<dyn Aggregate> {
    let args = types.args.iter().map(|arg| representation(types, arg.oid)).collect();
    gathered(gather, args, representation(types, types.result.oid))
}

/// All ranges as one multirange.
struct All {
    line: Result<Line>,
}

impl All {
    fn add(&self, state: &mut Option<Vec<u8>>, ranges: Ranges<'_>, cx: &Cx<'_>) -> Result<()> {
        let held = state.get_or_insert_default();
        for (at, range) in ranges.enumerate() {
            if at % 1024 == 1023 {
                cx.go_on()?;
            }
            range.put(held);
        }
        match held.len() <= MAX_BYTES {
            true => Ok(()),
            false => Err(Error::new("54000", "multirange size exceeds the maximum allowed")),
        }
    }
}

impl Gather for All {
    /// The forms of ranges, as they came; `None` where all were NULL.
    type State = Option<Vec<u8>>;

    fn step(&self, state: &mut Self::State, args: &[Datum<'_>], cx: &mut Cx<'_>) -> Result<()> {
        if args[0].is_null() {
            return Ok(());
        }
        let ranges = Ranges::load(bytes(&args[0]), self.line.clone()?.repr);
        self.add(state, ranges, cx)
    }

    fn give(&self, state: &Self::State, cx: &mut Cx<'_>) -> Result<Datum<'static>> {
        let Some(state) = state else { return Ok(Datum::Null) };
        let line = self.line.clone()?;
        store_all(&merged(cx, line, held(cx, line, state)?)?)
    }

    fn save(&self, state: &Self::State, out: &mut Vec<u8>) {
        if let Some(held) = state {
            out.push(1);
            out.extend_from_slice(held);
        }
    }

    fn merge(&self, state: &mut Self::State, saved: &[u8], cx: &mut Cx<'_>) -> Result<()> {
        match saved.split_first() {
            Some((_, held)) => self.add(state, Ranges::load(held, self.line.clone()?.repr), cx),
            None => Ok(()),
        }
    }

    fn size(&self, state: &Self::State) -> usize {
        state.as_ref().map_or(0, Vec::capacity)
    }
}

/// What all have in common.
struct Common {
    line: Result<Line>,
    is_multi: bool,
}

impl Gather for Common {
    /// The form of what was in common so far; `None` where all were NULL.
    type State = Option<Vec<u8>>;

    fn step(&self, state: &mut Self::State, args: &[Datum<'_>], cx: &mut Cx<'_>) -> Result<()> {
        if args[0].is_null() {
            return Ok(());
        }
        let (line, value) = (self.line.clone()?, bytes(&args[0]));
        let common = match state.as_deref() {
            None => {
                *state = Some(value.to_vec());
                return Ok(());
            }
            Some(before) if self.is_multi => {
                let (a, b) = (held(cx, line, before)?, held(cx, line, value)?);
                store_all(&in_common(cx, line, &a, &b)?)?
            }
            Some(before) => {
                let of = |form| Ranges::load(form, line.repr).next();
                match (of(before), of(value)) {
                    (Some(a), Some(b)) => {
                        store(On { line, catalog: cx.catalog }.common(&a, &b)?.as_ref())
                    }
                    _ => store(None),
                }
            }
        };
        *state = Some(bytes(&common).to_vec());
        Ok(())
    }

    fn give(&self, state: &Self::State, _: &mut Cx<'_>) -> Result<Datum<'static>> {
        Ok(state.as_ref().map_or(Datum::Null, |held| Datum::bytes(held.as_slice())))
    }

    fn save(&self, state: &Self::State, out: &mut Vec<u8>) {
        if let Some(held) = state {
            out.push(1);
            out.extend_from_slice(held);
        }
    }

    fn merge(&self, state: &mut Self::State, saved: &[u8], cx: &mut Cx<'_>) -> Result<()> {
        match saved.split_first() {
            Some((_, held)) => self.step(state, &[Datum::bytes(held)], cx),
            None => Ok(()),
        }
    }

    fn size(&self, state: &Self::State) -> usize {
        state.as_ref().map_or(0, Vec::capacity)
    }
}

/// The ranges of a multirange, as rows.
fn unnest(types: &Types) -> Box<dyn Series> {
    let line = line(types);
    Box::new(move |args: &[Datum<'_>], _: &mut Cx<'_>| -> Result<Rows> {
        let line = line.clone()?;
        let Datum::Bytes(form) = &args[0] else { return Ok(Box::new(std::iter::empty())) };
        let (form, mut at) = (form.to_vec(), 0);
        Ok(Box::new(std::iter::from_fn(move || {
            let range = Ranges::load(&form[at..], line.repr).next()?;
            let made = store(Some(&range));
            at += made.size();
            Some(Ok(vec![made]))
        })))
    })
}
