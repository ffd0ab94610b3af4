//! How does a function of values become a kernel, where types are known only when the call is made?
//!
//! Row by row, arguments and result as [`Datum`]s: for arrays, records, json and functions that take anything.
//! Thread safety: what a kernel holds is shared and read only.

use onlap_pg::{Error, Oid, Result};

use crate::{Col, Cx, Datum, Kernel, Made, Repr, Types, each, repr};

/// After this number of rows a loop asks whether it is still wanted.
const LOOK_EVERY: usize = 256;

/// How the arguments and the result of a call are represented; `0A000` if a type has no values.
pub(crate) fn representation(types: &Types, oid: Oid) -> Result<Repr> {
    repr(&types.catalog, oid).ok_or_else(|| {
        let shown = types.catalog.shown(oid);
        Error::unserved(format!("values of type {shown} are not supported"))
    })
}

/// A kernel that is not called for NULL.
pub(crate) fn strict<F>(types: &Types, f: F) -> Box<dyn Kernel>
where
    F: Fn(&[Datum<'_>], &mut Cx<'_>) -> Result<Datum<'static>> + Send + Sync + 'static,
{
    made(types, true, f)
}

/// A kernel that is called for NULL, too.
pub(crate) fn called<F>(types: &Types, f: F) -> Box<dyn Kernel>
where
    F: Fn(&[Datum<'_>], &mut Cx<'_>) -> Result<Datum<'static>> + Send + Sync + 'static,
{
    made(types, false, f)
}

fn made<F>(types: &Types, strict: bool, f: F) -> Box<dyn Kernel>
where
    F: Fn(&[Datum<'_>], &mut Cx<'_>) -> Result<Datum<'static>> + Send + Sync + 'static,
{
    let args: Result<Vec<Repr>> =
        types.args.iter().map(|arg| representation(types, arg.oid)).collect();
    let result = representation(types, types.result.oid);
    each(move |cols: &[Col], rows, cx| {
        let (reprs, result) = (args.as_ref().map_err(Clone::clone)?, result.clone()?);
        let mut out = Made::new(rows, cx);
        let mut args = Vec::with_capacity(cols.len());
        for row in 0..rows {
            if row % LOOK_EVERY == 0 {
                cx.go_on()?;
            }
            if strict && cols.iter().any(|col| col.is_null(row)) {
                out.push(Datum::Null, cx)?;
                continue;
            }
            args.clear();
            args.extend(
                cols.iter().zip(reprs).map(|(col, repr)| Datum::at(&col.array, *repr, col.at(row))),
            );
            let value = f(&args, cx)?;
            out.push(value, cx)?;
        }
        out.column(result)
    })
}

/// The text that an argument is.
///
/// # Panics
/// It is none.
pub(crate) fn text<'a>(value: &'a Datum<'_>) -> &'a str {
    match value {
        Datum::Text(text) => text,
        other => unreachable!("{other:?} is a text"),
    }
}

/// The bytes that an argument is.
///
/// # Panics
/// It has none.
pub(crate) fn bytes<'a>(value: &'a Datum<'_>) -> &'a [u8] {
    match value {
        Datum::Bytes(bytes) => bytes,
        other => unreachable!("{other:?} are bytes"),
    }
}

/// The int4 that an argument is.
///
/// # Panics
/// It is none.
pub(crate) fn int4(value: &Datum<'_>) -> i32 {
    match value {
        Datum::Int4(value) => *value,
        other => unreachable!("{other:?} is an int4"),
    }
}

/// The boolean that an argument is.
///
/// # Panics
/// It is none.
pub(crate) fn boolean(value: &Datum<'_>) -> bool {
    match value {
        Datum::Bool(value) => *value,
        other => unreachable!("{other:?} is a boolean"),
    }
}
