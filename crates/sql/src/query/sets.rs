//! Which functions give rows that the session makes?
//!
//! Rows of the system's, whose columns a function declares as its OUT arguments: a row value of each, in an array where the function
//! gives a set. Thread safety: pure functions of what a statement sees.

use onlap_kernels::array::{Builder, record};
use onlap_kernels::{Cx, Datum, Repr, repr};
use onlap_pg::catalog::Proc;
use onlap_pg::{Error, Oid, Result, TypeRef};

use super::catalogs::datum;
use super::views::of_sql;
use crate::system::rows::Rows;
use crate::system::{advise, difference, figures, monitored};
use crate::view::View;

/// pg_stat_statements_info().
const INFO: Oid = 1_090_005_001;
/// pg_stat_statements(showtext).
const STATEMENTS: Oid = 1_090_005_002;
/// onlap.advise().
const ADVISE: Oid = 1_090_999_000;
/// onlap.changes(regclass, int8).
const CHANGES: Oid = 1_090_999_001;

/// pg_control_system().
const SYSTEM: Oid = 3441;
/// pg_ls_waldir().
const LOG_FILES: Oid = 3354;
/// pg_ls_tmpdir(), pg_ls_tmpdir(oid), pg_ls_archive_statusdir().
const NO_FILES: [Oid; 3] = [5029, 5030, 5031];

/// pg_default and pg_global.
const TABLESPACES: [Oid; 2] = [1663, 1664];

/// Whether a function is one of them.
pub fn has(proc: Oid) -> bool {
    matches!(proc, INFO | STATEMENTS | ADVISE | CHANGES | SYSTEM | LOG_FILES)
        || NO_FILES.contains(&proc)
}

/// What such a function gives; `None` of others.
///
/// # Errors
/// The database is closed.
pub fn call(
    view: &View,
    proc: &Proc,
    args: &[Datum<'_>],
    cx: &mut Cx<'_>,
) -> Result<Option<Datum<'static>>> {
    if let (CHANGES, [Datum::Oid(table), Datum::Int8(since)]) = (proc.oid, args) {
        return difference::rows(view, *table, *since, cx).map(Some);
    }
    let rows = match (proc.oid, args) {
        (INFO, []) => figures::statements::info(view),
        (STATEMENTS, [Datum::Bool(texts)]) => figures::statements::listed(view, *texts),
        (ADVISE, []) => advise::rows(view).map_err(|e| of_sql(&e))?,
        (SYSTEM, []) => monitored::system(view),
        (LOG_FILES, []) => monitored::log_files(view).map_err(|e| of_sql(&e))?,
        (function, args) if NO_FILES.contains(&function) => {
            let rows = monitored::no_files(view, &proc.name).map_err(|e| of_sql(&e))?;
            match args {
                [Datum::Oid(space)] if !TABLESPACES.contains(space) => {
                    let text = format!("tablespace with OID {space} does not exist");
                    return Err(onlap_pg::Error::new("42704", text));
                }
                _ => rows,
            }
        }
        _ => return Ok(None),
    };
    let columns = columns_of(proc);
    let mut made = Vec::with_capacity(rows.len());
    for at in 0..rows.len() {
        made.push(row(&rows, at, &columns, cx)?);
    }
    if !proc.retset {
        return Ok(Some(made.pop().map_or(Datum::Null, Datum::bytes)));
    }
    let mut all = Builder::new(Repr::Bytes);
    for row in made {
        all.push(&Datum::bytes(row))?;
    }
    Ok(Some(Datum::bytes(all.finish())))
}

/// Names and types of a function's OUT arguments.
fn columns_of(proc: &Proc) -> Vec<(&'static str, Oid)> {
    let list = |text: &'static str| text.trim_matches(['{', '}']).split(',');
    let all = list(proc.names).zip(list(proc.all_types)).zip(list(proc.modes));
    all.filter(|(_, mode)| *mode == "o")
        .map(|((name, ty), _)| (name, ty.parse().unwrap_or_default()))
        .collect()
}

fn row(rows: &Rows, at: usize, columns: &[(&str, Oid)], cx: &mut Cx<'_>) -> Result<Vec<u8>> {
    let mut fields = Vec::with_capacity(columns.len());
    for (name, ty) in columns {
        let kind = repr(cx.catalog, *ty)
            .ok_or_else(|| Error::unserved(format!("values of type {ty} are not supported yet")))?;
        let value = match rows.value(at, name) {
            Some(value) => datum(cx, TypeRef::new(*ty), kind, value)?.into_owned(),
            None => Datum::Null,
        };
        fields.push((*ty, value));
    }
    record::build(&fields)
}
