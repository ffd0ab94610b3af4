//! What does RETURNING give?

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use onlap_query::{RowExprs, Source};

use super::Statement;
use crate::error::Result;
use crate::plan::Held;
use crate::query::{Encoder, Sent, sql_error};
use crate::session::answer::{Answer, RowsAnswer};

/// The rows that a statement returns, as they come; they count among the memory of queries until they are sent.
#[derive(Default)]
pub struct Returned(Option<Held>);

impl Returned {
    /// None yet, charged to this.
    pub fn charged(held: Held) -> Returned {
        Returned(Some(held))
    }

    /// Adds what is returned of some rows, whose columns `source` gives.
    ///
    /// # Errors
    /// Those of the expressions; `53200`.
    pub fn add(
        &mut self,
        exprs: Option<&RowExprs>,
        rows: usize,
        source: impl Fn(Source) -> Result<ArrayRef>,
    ) -> Result<()> {
        let (Some(exprs), Some(held)) = (exprs.filter(|_| rows > 0), &mut self.0) else {
            return Ok(());
        };
        held.add(values(exprs, rows, source)?)
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
        let source = Sent::new(self.0, Arc::clone(encoder));
        let columns = Arc::clone(statement.bound.columns());
        Answer::Rows(RowsAnswer::new(columns, Box::new(source), tag))
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
