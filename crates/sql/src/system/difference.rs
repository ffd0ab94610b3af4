//! Which rows of a table did commits change?
//!
//! Rows of `onlap.changes(table, since)`: ranges of `ctid`s, each with what happened to the rows. What the values are is read
//! by statements about the table, with its rights and policies: `… WHERE ctid BETWEEN first AND last`, of rows that are gone with `AS OF
//! COMMIT since`. So this gives no value away; who asks needs SELECT on the whole table all the same.

use std::sync::Arc;

use onlap::{AsOf, ChangedRows, Difference, ErrorKind};
use onlap_kernels::array::{Builder, record};
use onlap_kernels::{Cx, Datum, Repr};
use onlap_pg::catalog::oids as pg;
use onlap_pg::{Oid, Result};

use crate::catalog::oids;
use crate::error::{Result as Found, SqlError, state};
use crate::query::secured::{Secured, state_of};
use crate::query::{ctids, of_sql};
use crate::rights::{Action, ask};
use crate::view::View;

/// Ranges that an answer has, at most: some 250 MB of rows.
const RANGES: usize = 1 << 20;
/// What a row takes of its array: 36 bytes of its form, 55 of the longest values, and as much again while the array grows, with what the
/// values take before.
const ROW_BYTES: usize = 256;

/// The rows, in an array of row values.
///
/// # Errors
/// `42P01`, `42501`; `0A000`: policies of the table count for the role; the past is gone; more ranges than fit an answer; `53200`.
pub fn rows(view: &View, table: Oid, since: i64, cx: &Cx<'_>) -> Result<Datum<'static>> {
    let mut refused = None;
    let mut room = |bytes| {
        cx.room(bytes).map_err(|e| {
            // The engine's error only says that there is one.
            refused = Some(e);
            onlap::Error::new(ErrorKind::LimitExceeded, "no room for ranges of rows")
        })
    };
    let found = ranges(view, table, since, &mut room);
    if let Some(e) = refused {
        return Err(e);
    }
    let (ranges, upto) = found.map_err(|e| of_sql(&e))?;
    cx.room(ranges.len() * ROW_BYTES)?;
    let mut all = Builder::new(Repr::Bytes);
    for some in ranges {
        let what = match some.what {
            Difference::Inserted => "insert",
            Difference::Deleted => "delete",
            Difference::Changed => "update",
        };
        let place = |row| ctids::of_row(row).map_err(|e| of_sql(&e));
        let fields = [
            (pg::TEXT, Datum::text(what)),
            (pg::TID, Datum::bytes(place(some.rows.start)?.to_vec())),
            (pg::TID, Datum::bytes(place(some.rows.end - 1)?.to_vec())),
            (pg::INT8, Datum::Int8(upto)),
        ];
        all.push(&Datum::bytes(record::build(&fields)?))?;
    }
    Ok(Datum::bytes(all.finish()))
}

/// The ranges, and the commit up to which they tell.
fn ranges(
    view: &View,
    table: Oid,
    since: i64,
    room: &mut dyn FnMut(usize) -> onlap::Result<()>,
) -> Found<(Vec<ChangedRows>, i64)> {
    let all = view.tables()?;
    let (_, table) =
        all.iter().find(|(_, of)| oids::of_table(of.schema().id) == table).ok_or_else(|| {
            SqlError::new(state::NO_TABLE, format!("table with OID {table} does not exist"))
        })?;
    let schema = table.schema();
    let columns = ask::numbers(&schema, 0..schema.columns.len());
    view.must(&[ask::of_table(Action::Read, &schema, columns)])?;
    let named = (oids::of_table(schema.id), &*ask::shown(&schema));
    if state_of(view, &view.judge, named)? == Secured::Yes {
        let text = "onlap.changes not supported with row-level security";
        let hint = "Its ranges would tell of rows that policies hide.";
        return Err(SqlError::new(state::UNSUPPORTED, text).hint(hint));
    }
    if view.objects.families().divided(schema.id).is_some() {
        let text = format!("\"{}\" is a partitioned table", ask::shown(&schema));
        return Err(SqlError::new(state::UNSUPPORTED, text).hint("Ask for each partition."));
    }
    let since = u64::try_from(since)
        .map_err(|_| SqlError::new("22023", "the number of a commit must not be negative"))?;
    let now = match view.scope.past() {
        Some(past) => past,
        None => Arc::new(view.scope.tx()?.snapshot()?),
    };
    let then = view.instance.db.snapshot_as_of(AsOf::Csn(since))?;
    let upto = i64::try_from(now.csn()).unwrap_or(i64::MAX);
    Ok((now.changed_rows_within(table, &then, RANGES, room)?, upto))
}
