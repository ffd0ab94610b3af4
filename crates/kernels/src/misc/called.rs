//! How are functions called that a database made?
//!
//! The session carries them out, one call for each row. Thread safety: as the session's.

use std::sync::Arc;

use onlap_pg::{Oid, Result, TypeRef};

use super::rows::representation;
use crate::series::{Rows, Series};
use crate::{Col, Cx, Datum, Kernel, Made, Repr, Types, each};

/// A call of such a function, as the session is asked for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeCall {
    /// The function.
    pub proc: Oid,
    /// The parameters that are given, from 0; others keep their defaults.
    pub places: Vec<usize>,
    /// The types of what is given.
    pub args: Vec<TypeRef>,
    /// The type of the result.
    pub result: TypeRef,
    /// The columns that the query defines for a result of no certain row type.
    pub defined: Vec<(Box<str>, TypeRef)>,
}

/// What calls it for each row.
pub fn made_kernel(call: MadeCall, strict: bool, types: &Types) -> Box<dyn Kernel> {
    let args: Result<Vec<Repr>> =
        types.args.iter().map(|arg| representation(types, arg.oid)).collect();
    let result = representation(types, types.result.oid);
    each(move |cols: &[Col], rows, cx| {
        let (reprs, result) = (args.as_ref().map_err(Clone::clone)?, result.clone()?);
        let mut out = Made::new(rows, cx);
        for row in 0..rows {
            cx.go_on()?;
            let value = match strict && cols.iter().any(|col| col.is_null(row)) {
                true => Datum::Null,
                false => {
                    let both = cols.iter().zip(reprs);
                    let values: Vec<Datum<'_>> =
                        both.map(|(col, repr)| Datum::at(&col.array, *repr, col.at(row))).collect();
                    cx.session.call_made(&call, &values)?
                }
            };
            out.push(value, cx)?;
        }
        out.column(result)
    })
}

/// The same for one that gives a set.
pub fn made_series(call: MadeCall) -> Box<dyn Series> {
    let call = Arc::new(call);
    Box::new(move |args: &[Datum<'_>], cx: &mut Cx<'_>| -> Result<Rows> {
        cx.session.rows_made(&call, args)
    })
}
