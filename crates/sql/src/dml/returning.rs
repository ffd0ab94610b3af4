//! What does RETURNING give?
//!
//! Whole rows as they were written are there; plain columns are taken from them, and anything else is
//! computed by the planner over a table of these rows.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{Expr, SelectItem};
use onlap::Row;

use super::target::Target;
use crate::catalog::names::fold;
use crate::error::{Result, SqlError, state};
use crate::session::answer::{Answer, AnswerColumn, Chunk, Ready, RowsAnswer};
use crate::session::{Parameter, Session};
use crate::types::PgType;
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

/// The columns that are returned.
///
/// # Errors
/// An unknown column.
pub fn describe(
    _session: &Session,
    _view: &View,
    target: &Target,
    items: Option<&[SelectItem]>,
) -> Result<Option<Arc<[AnswerColumn]>>> {
    let Some(items) = items else { return Ok(None) };
    Ok(Some(plain(target, items)?.0))
}

/// The answer of a statement.
///
/// # Errors
/// An unknown column.
pub fn answer(
    _session: &Session,
    _view: &View,
    target: &Target,
    items: Option<&[SelectItem]>,
    written: Written,
    _values: &[Parameter],
) -> Result<Answer> {
    let Written { tag, n, rows } = written;
    let Some(items) = items else { return Ok(Answer::Done(format!("{tag} {n}"))) };
    let (columns, positions) = plain(target, items)?;
    let pick = |row: Row| positions.iter().map(|&i| row[i].clone()).collect();
    let chunk = Chunk::Rows(rows.into_iter().map(pick).collect());
    let source = Box::new(Ready::new(vec![chunk]));
    Ok(Answer::Rows(RowsAnswer::new(columns, source, tag)))
}

fn plain(target: &Target, items: &[SelectItem]) -> Result<(Arc<[AnswerColumn]>, Vec<usize>)> {
    let (mut columns, mut positions) = (Vec::new(), Vec::new());
    let mut push = |at: usize, name: Option<String>| {
        let column = &target.schema.columns[at];
        let name = name.unwrap_or_else(|| column.name.clone());
        columns.push(AnswerColumn::new(name, PgType::of_engine(column.ty)));
        positions.push(at);
    };
    let position = |expr: &Expr| {
        let name = match expr {
            Expr::Identifier(ident) => fold(ident),
            Expr::CompoundIdentifier(idents) => idents.last().map(fold).unwrap_or_default(),
            other => return Err(SqlError::unsupported(format!("RETURNING {other}"))),
        };
        target.schema.position_by_name(&name).ok_or_else(|| {
            SqlError::new(state::NO_COLUMN, format!("column \"{name}\" does not exist"))
        })
    };
    for item in items {
        match item {
            SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..) => {
                (0..target.schema.columns.len()).for_each(|at| push(at, None));
            }
            SelectItem::UnnamedExpr(expr) => push(position(expr)?, None),
            SelectItem::ExprWithAlias { expr, alias } => push(position(expr)?, Some(fold(alias))),
            other => return Err(SqlError::unsupported(format!("RETURNING {other}"))),
        }
    }
    Ok((columns.into(), positions))
}
