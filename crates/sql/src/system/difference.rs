//! Which rows of a table did commits change?
//!
//! Rows of `onlap.changes(table, since)`: ranges of `ctid`s, each with what happened to the rows. What the values are is read
//! by statements about the table, with its rights and policies: `… WHERE ctid BETWEEN first AND last`, of rows that are gone with `AS OF
//! COMMIT since`. So this gives no value away; who asks needs SELECT on the whole table all the same.

use std::sync::Arc;

use onlap::{AsOf, Difference};
use onlap_pg::Oid;

use super::rows::Rows;
use crate::catalog::oids;
use crate::error::{Result, SqlError, state};
use crate::query::ctids;
use crate::rights::{Action, ask};
use crate::row;
use crate::view::View;

/// Ranges that an answer has, at most: some 100 MB of rows.
const RANGES: usize = 1 << 20;

/// The rows.
///
/// # Errors
/// `42P01`, `42501`; the past is gone; more ranges than fit an answer.
pub fn rows(view: &View, table: Oid, since: i64) -> Result<Rows> {
    let mut rows = Rows::of("change first_ctid last_ctid upto");
    let all = view.tables()?;
    let (_, table) =
        all.iter().find(|(_, of)| oids::of_table(of.schema().id) == table).ok_or_else(|| {
            SqlError::new(state::NO_TABLE, format!("table with OID {table} does not exist"))
        })?;
    let schema = table.schema();
    let columns = ask::numbers(&schema, 0..schema.columns.len());
    view.must(&[ask::of_table(Action::Read, &schema, columns)])?;
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
    for some in now.changed_rows(table, &then, RANGES)? {
        let what = match some.what {
            Difference::Inserted => "insert",
            Difference::Deleted => "delete",
            Difference::Changed => "update",
        };
        let [first, last] = [some.rows.start, some.rows.end - 1].map(ctids::text_of_row);
        rows.push(row![what, first?, last?, upto]);
    }
    Ok(rows)
}
