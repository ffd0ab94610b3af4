//! What do functions of enums give?
//!
//! A value is the number that its label's place in the order has; numbers have gaps, where labels went in between.
//! Labels are the catalog's. Thread safety: pure functions.

use std::cmp::Ordering;

use onlap_pg::catalog::{Catalog, Label};
use onlap_pg::{Error, Oid, Result};

use super::rows::{called, strict};
use crate::aggregate::AggregateEntry;
use crate::array::{Builder, extreme};
use crate::{Datum, Entry, Kernel, Repr, Types};

/// Functions.
pub(super) const ENTRIES: &[Entry] = &[
    ("enum_eq(anyenum,anyenum)", |types| compared(types, Ordering::is_eq)),
    ("enum_ne(anyenum,anyenum)", |types| compared(types, Ordering::is_ne)),
    ("enum_lt(anyenum,anyenum)", |types| compared(types, Ordering::is_lt)),
    ("enum_le(anyenum,anyenum)", |types| compared(types, Ordering::is_le)),
    ("enum_gt(anyenum,anyenum)", |types| compared(types, Ordering::is_gt)),
    ("enum_ge(anyenum,anyenum)", |types| compared(types, Ordering::is_ge)),
    ("enum_smaller(anyenum,anyenum)", |types| chosen(types, Ordering::is_lt)),
    ("enum_larger(anyenum,anyenum)", |types| chosen(types, Ordering::is_gt)),
    ("enum_first(anyenum)", |types| end(types, |labels| labels.first())),
    ("enum_last(anyenum)", |types| end(types, |labels| labels.last())),
    ("enum_range(anyenum)", |types| range(types)),
    ("enum_range(anyenum,anyenum)", |types| range(types)),
];

/// Aggregates.
pub(super) const AGGREGATES: &[AggregateEntry] = &[
    ("max(anyenum)", |types| extreme(types, Ordering::Greater)),
    ("min(anyenum)", |types| extreme(types, Ordering::Less)),
];

/// The labels of an enum, in their order; none of another type.
fn labels(catalog: &Catalog, oid: Oid) -> &[Label] {
    catalog.get_type(oid).map_or(&[], |ty| &ty.labels)
}

/// The value of a label; `None` where the type is no enum.
///
/// # Errors
/// `22P02`: there is no such label.
pub(crate) fn read(catalog: &Catalog, oid: Oid, text: &str) -> Result<Option<Datum<'static>>> {
    if !catalog.is_enum(oid) {
        return Ok(None);
    }
    match labels(catalog, oid).iter().find(|label| *label.text == *text) {
        Some(label) => Ok(Some(Datum::Float8(label.order))),
        None => {
            let shown = catalog.shown(oid);
            let message = format!("invalid input value for enum {shown}: \"{text}\"");
            Err(Error::new("22P02", message))
        }
    }
}

/// The label of a value; `None` where the type is no enum.
///
/// # Errors
/// `22P03`: it is none of the type's.
pub(crate) fn label(catalog: &Catalog, oid: Oid, order: f64) -> Result<Option<&str>> {
    if !catalog.is_enum(oid) {
        return Ok(None);
    }
    let found = labels(catalog, oid).iter().find(|label| label.order == order);
    let none = || Error::new("22P03", format!("invalid internal value for enum: {order}"));
    found.map(|label| Some(&*label.text)).ok_or_else(none)
}

fn order(a: &Datum<'_>, b: &Datum<'_>) -> Ordering {
    match (a, b) {
        (Datum::Float8(a), Datum::Float8(b)) => a.total_cmp(b),
        _ => unreachable!("an enum is a number"),
    }
}

fn compared(types: &Types, test: fn(Ordering) -> bool) -> Box<dyn Kernel> {
    strict(types, move |args, _| Ok(Datum::Bool(test(order(&args[0], &args[1])))))
}

fn chosen(types: &Types, first: fn(Ordering) -> bool) -> Box<dyn Kernel> {
    strict(types, move |args, _| {
        let at = usize::from(!first(order(&args[0], &args[1])));
        Ok(args[at].clone().into_owned())
    })
}

fn end(types: &Types, which: fn(&[Label]) -> Option<&Label>) -> Box<dyn Kernel> {
    let oid = types.args[0].oid;
    called(types, move |_, cx| {
        let found = which(labels(cx.catalog, oid));
        Ok(found.map_or(Datum::Null, |label| Datum::Float8(label.order)))
    })
}

/// The labels between two, each of which may be left open by NULL.
fn range(types: &Types) -> Box<dyn Kernel> {
    let oid = types.args[0].oid;
    let two = types.args.len() == 2;
    called(types, move |args, cx| {
        let mut builder = Builder::new(Repr::Float8);
        for label in labels(cx.catalog, oid) {
            let value = Datum::Float8(label.order);
            let above = !two || args[0].is_null() || order(&args[0], &value).is_le();
            let below = !two || args[1].is_null() || order(&value, &args[1]).is_le();
            if above && below {
                builder.push(&value)?;
            }
        }
        Ok(Datum::bytes(builder.finish()))
    })
}
