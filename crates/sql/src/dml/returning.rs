//! What does RETURNING give?
//!
//! Whole rows as they were written are there; plain columns are taken from them, and anything else is
//! computed by the planner over a table of these rows.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{Expr, SelectItem};
use onlap::Row;

use super::ask;
use super::target::Target;
use crate::catalog::names::{fold, quote};
use crate::error::{Result, SqlError, state};
use crate::fast::answer_column;
use crate::parse;
use crate::plan::scan::arrow_schema;
use crate::plan::{Known, KnownRows, reads_of_table};
use crate::rights::{Action, Need};
use crate::session::answer::{Answer, AnswerColumn, Chunk, Ready, RowsAnswer, columns_of};
use crate::session::{Parameter, Session};
use crate::types::batch_of_rows;
use crate::view::View;

/// What a statement wrote.
pub struct Written {
    /// First word of its tag.
    pub tag: &'static str,
    /// Number of rows.
    pub n: u64,
    /// The rows, where they are to be returned.
    pub rows: Vec<Row>,
}

/// Name under which the planner finds the rows that were written.
const ROWS: &str = "onlap rows";

/// The columns that are returned.
///
/// # Errors
/// An unknown column; those of the planner.
pub fn describe(
    session: &Session,
    view: &View,
    target: &Target,
    items: Option<&[SelectItem]>,
) -> Result<Option<Arc<[AnswerColumn]>>> {
    let Some(items) = items else { return Ok(None) };
    if let Some((columns, _)) = plain(target, items)? {
        return Ok(Some(columns));
    }
    let known = known(target, &[])?;
    let statement = parse::one(&text(target, items))?;
    let query = session.instance.planner.plan(view, statement, Vec::new(), &known)?;
    Ok(Some(columns_of(&query.schema())))
}

/// What returning plain columns needs; what is computed is judged where it is planned.
///
/// # Errors
/// An unknown column.
pub fn needs(target: &Target, items: Option<&[SelectItem]>) -> Result<Option<Need>> {
    let Some(items) = items else { return Ok(None) };
    Ok(plain(target, items)?.map(|(_, columns)| target.need(Action::Read, columns)))
}

/// The answer of a statement.
///
/// # Errors
/// An unknown column; those of the planner.
pub fn answer(
    session: &Session,
    view: &View,
    target: &Target,
    items: Option<&[SelectItem]>,
    written: Written,
    values: &[Parameter],
) -> Result<Answer> {
    let Written { tag, n, rows } = written;
    let Some(items) = items else { return Ok(Answer::Done(format!("{tag} {n}"))) };
    if let Some((columns, positions)) = plain(target, items)? {
        let pick = |row: Row| positions.iter().map(|&i| row[i].clone()).collect();
        let chunk = Chunk::Rows(rows.into_iter().map(pick).collect());
        let source = Box::new(Ready::new(vec![chunk]));
        return Ok(Answer::Rows(RowsAnswer::new(columns, source, tag)));
    }
    let (columns, batches) =
        ask::with_columns(session, view, &text(target, items), values, &known(target, &rows)?)?;
    let chunks = batches.iter().cloned().map(Chunk::Arrow).collect();
    Ok(Answer::Rows(RowsAnswer::new(columns, Box::new(Ready::new(chunks)), tag)))
}

fn known(target: &Target, rows: &[Row]) -> Result<Known> {
    let batch = batch_of_rows(&arrow_schema(&target.schema, false), rows)?;
    let reads = Some(reads_of_table(&target.schema));
    let rows = vec![KnownRows { name: ROWS.to_string(), rows: batch, reads }];
    Ok(Known { rows, ..Known::default() })
}

fn text(target: &Target, items: &[SelectItem]) -> String {
    let items: Vec<String> = items.iter().map(ToString::to_string).collect();
    format!("SELECT {} FROM {} AS {}", items.join(", "), quote(ROWS), quote(&target.alias))
}

/// Columns and their positions, where nothing is to be computed.
fn plain(
    target: &Target,
    items: &[SelectItem],
) -> Result<Option<(Arc<[AnswerColumn]>, Vec<usize>)>> {
    let (mut columns, mut positions) = (Vec::new(), Vec::new());
    let source = target.source();
    let mut push = |at: usize, name: Option<String>| {
        columns.push(answer_column(&source, at, name));
        positions.push(at);
    };
    let position = |expr: &Expr| {
        let name = match expr {
            Expr::Identifier(ident) => fold(ident),
            Expr::CompoundIdentifier(idents) => idents.last().map(fold).unwrap_or_default(),
            _ => return Ok(None),
        };
        target.schema.position_by_name(&name).map(Some).ok_or_else(|| {
            SqlError::new(state::NO_COLUMN, format!("column \"{name}\" does not exist"))
        })
    };
    for item in items {
        match item {
            SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..) => {
                (0..target.schema.columns.len()).for_each(|at| push(at, None));
            }
            SelectItem::UnnamedExpr(expr) => match position(expr)? {
                Some(at) => push(at, None),
                None => return Ok(None),
            },
            SelectItem::ExprWithAlias { expr, alias } => match position(expr)? {
                Some(at) => push(at, Some(fold(alias))),
                None => return Ok(None),
            },
            _ => return Ok(None),
        }
    }
    Ok(Some((columns.into(), positions)))
}
