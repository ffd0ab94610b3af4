//! Which rows do arrays make?
//!
//! Thread safety: pure functions.

use onlap_pg::Result;

use super::form::{Array, ELEMENT};
use super::join::parts;
use super::{of_element, own_array};
use crate::misc::rows::{boolean, int4};
use crate::series::{Rows, Series, SeriesEntry};
use crate::{Datum, Repr, Types};

/// Functions that give sets.
pub(super) const SERIES: &[SeriesEntry] = &[
    ("unnest(anyarray)", |types| {
        let element = of_element(types, 0);
        Box::new(move |args: &[Datum<'_>], _: &mut crate::Cx<'_>| -> Result<Rows> {
            let element = element.clone()?;
            let Datum::Bytes(bytes) = &args[0] else { return Ok(none()) };
            let held = bytes.to_vec();
            let length = Array::load(&held, element.repr).len();
            Ok(Box::new(
                (0..length)
                    .map(move |at| Ok(vec![Array::load(&held, element.repr).get(at).into_owned()])),
            ))
        })
    }),
    ("information_schema._pg_expandarray(anyarray)", |types| {
        let element = of_element(types, 0);
        Box::new(move |args: &[Datum<'_>], _: &mut crate::Cx<'_>| -> Result<Rows> {
            let element = element.clone()?;
            let Datum::Bytes(bytes) = &args[0] else { return Ok(none()) };
            let held = bytes.to_vec();
            let array = Array::load(&held, element.repr);
            let (dims, length) = (array.ndims(), array.len());
            let length = if dims == 0 { 0 } else { length.min(array.dim(0).length as usize) };
            Ok(Box::new((0..length).map(move |at| {
                // One subscript finds nothing where there are several dimensions.
                let value = match dims {
                    1 => Array::load(&held, element.repr).get(at).into_owned(),
                    _ => Datum::Null,
                };
                Ok(vec![value, Datum::Int4(at as i32 + 1)])
            })))
        })
    }),
    ("generate_subscripts(anyarray,int4)", subscripts),
    ("generate_subscripts(anyarray,int4,bool)", subscripts),
    ("pg_options_to_table(_text)", |_| Box::new(options)),
    ("string_to_table(text,text)", table),
    ("string_to_table(text,text,text)", table),
];

fn none() -> Rows {
    Box::new(std::iter::empty())
}

fn subscripts(types: &Types) -> Box<dyn Series> {
    let element = of_element(types, 0);
    Box::new(move |args: &[Datum<'_>], _: &mut crate::Cx<'_>| -> Result<Rows> {
        if args.iter().any(Datum::is_null) {
            return Ok(none());
        }
        let array = own_array(&element, &args[0])?;
        let wanted = int4(&args[1]);
        let dim = match usize::try_from(wanted) {
            Ok(wanted @ 1..) if wanted <= array.ndims() => array.dim(wanted - 1),
            _ => return Ok(none()),
        };
        let row = |at: i32| Ok(vec![Datum::Int4(at)]);
        let all = dim.lower..=dim.upper();
        Ok(match args.get(2).is_some_and(boolean) {
            true => Box::new(all.rev().map(row)),
            false => Box::new(all.map(row)),
        })
    })
}

/// Names and values of options that are written `name=value`.
fn options(args: &[Datum<'_>], cx: &mut crate::Cx<'_>) -> Result<Rows> {
    let Datum::Bytes(held) = &args[0] else { return Ok(none()) };
    cx.room(held.len())?;
    let mut rows = Vec::new();
    for option in Array::load(held, Repr::Text).iter() {
        let Datum::Text(option) = &option else { continue };
        rows.push(match option.split_once('=') {
            Some((name, value)) => vec![Datum::text(name), Datum::text(value)],
            None => vec![Datum::text(&**option), Datum::Null],
        });
    }
    Ok(Box::new(rows.into_iter().map(Ok)))
}

fn table(_: &Types) -> Box<dyn Series> {
    Box::new(|args: &[Datum<'_>], cx: &mut crate::Cx<'_>| -> Result<Rows> {
        let Datum::Text(whole) = &args[0] else { return Ok(none()) };
        cx.room(whole.len())?;
        let mut rows = Vec::new();
        for part in parts(args) {
            cx.worked(ELEMENT + part.size())?;
            rows.push(part.into_owned());
        }
        Ok(Box::new(rows.into_iter().map(|part| Ok(vec![part]))))
    })
}
