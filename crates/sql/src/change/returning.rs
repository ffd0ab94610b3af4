//! What does RETURNING give?

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use onlap_query::{RowExprs, Source};

use super::Statement;
use crate::error::Result;
use crate::query::{Encoder, sql_error};
use crate::session::answer::{Answer, Chunk, Ready, RowsAnswer};

/// The rows that a statement returns, as they come.
#[derive(Default)]
pub struct Returned(Vec<RecordBatch>);

impl Returned {
    /// Adds what is returned of some rows, whose columns `source` gives.
    ///
    /// # Errors
    /// Those of the expressions.
    pub fn add(
        &mut self,
        exprs: Option<&RowExprs>,
        rows: usize,
        source: impl Fn(Source) -> Result<ArrayRef>,
    ) -> Result<()> {
        let Some(exprs) = exprs.filter(|_| rows > 0) else { return Ok(()) };
        self.0.push(values(exprs, rows, source)?);
        Ok(())
    }

    /// The answer of a statement that changed `n` rows; `tag` is the first word of its tag.
    pub fn answer(
        self,
        statement: &Statement<'_>,
        encoder: &Arc<Encoder>,
        tag: &'static str,
        n: u64,
    ) -> Answer {
        if statement.modify.returning.is_empty() {
            return Answer::Done(format!("{tag} {n}"));
        }
        let chunks = self.0.into_iter().map(|batch| Chunk::Bound(batch, Arc::clone(encoder)));
        let source = Box::new(Ready::new(chunks.collect()));
        Answer::Rows(RowsAnswer::new(Arc::clone(statement.bound.columns()), source, tag))
    }
}

/// The values of expressions, of rows whose columns `source` gives.
///
/// # Errors
/// Those of the expressions.
pub fn values(
    exprs: &RowExprs,
    rows: usize,
    source: impl Fn(Source) -> Result<ArrayRef>,
) -> Result<RecordBatch> {
    let columns: Vec<ArrayRef> =
        exprs.sources().iter().map(|of| source(*of)).collect::<Result<_>>()?;
    exprs.of(&columns, rows).map_err(|e| sql_error(&e, ""))
}
