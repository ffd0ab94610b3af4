//! How does a query run whose rows keys lead to, and which has nothing else to do?
//!
//! On the session's thread, as the native tier does: rows are found by the keys, read, and asked. Of a document or two that
//! match, making and running steps would take most of the time. Many rows are read by steps, which wait for their turn.
//!
//! Thread safety: belongs to the session.

use std::sync::Arc;

use onlap::Value;
use onlap_base::stop;
use onlap_kernels::Datum;
use onlap_query::Sifted;

use super::tables::Reader;
use super::{Bound, Encoder, sql_error};
use crate::error::{Result, SqlError};
use crate::scope::Scope;
use crate::session::answer::{Answer, Chunk, Ready, RowsAnswer, Source};
use crate::view::View;

impl Bound {
    /// Its answer; `None` where it takes steps.
    ///
    /// # Errors
    /// Those of the query, where they come before its rows.
    pub(super) fn sifted(
        &self,
        view: &View,
        values: &[Datum<'static>],
        text: &str,
    ) -> Result<Option<Answer>> {
        // A view's query, one within another, and one that is deep are made into steps.
        if self.tree.queries() != 1 || !self.depth.is_shallow() || self.is_call {
            return Ok(None);
        }
        let (env, asked) = self.env(view, values);
        let failed = |e: onlap_pg::Error| sql_error(&e, text);
        let sifted = Sifted::of(&self.tree, self.query, &self.sources(view), &env);
        let Some(sifted) = sifted.map_err(failed)? else { return Ok(None) };
        asked.begin(&view.instance.runner.memory_of(&view.scope));
        let _stop = stop::within(view.scope.stop());
        let Some(reader) = self.tables.sifted(&sifted, &view.scope)? else { return Ok(None) };
        let encoder = Arc::new(Encoder::new(env, self.types()));
        let (counts, scope) = (sifted.counts(), Arc::clone(&view.scope));
        let mut sifting = Sifting { reader, sifted, encoder, scope };
        let source: Box<dyn Source> = match counts {
            None => Box::new(sifting),
            Some(columns) => {
                let row = vec![Value::Int(sifting.count()? as i64); columns];
                Box::new(Ready::new(vec![Chunk::Rows(vec![row])]))
            }
        };
        let answer = RowsAnswer::new(Arc::clone(&self.columns), source, "SELECT");
        Ok(Some(Answer::Rows(answer.telling(view))))
    }
}

/// Such a query at work.
struct Sifting {
    reader: Reader,
    sifted: Sifted,
    encoder: Arc<Encoder>,
    scope: Arc<Scope>,
}

impl Sifting {
    fn count(&mut self) -> Result<u64> {
        let mut all = 0;
        while let Some(batch) = self.reader.next()? {
            let counted = self.sifted.count(batch.columns(), batch.num_rows());
            all += counted.map_err(|e| sql_error(&e, ""))?;
        }
        Ok(all)
    }
}

impl Source for Sifting {
    fn next(&mut self) -> Result<Option<Chunk>> {
        let scope = Arc::clone(&self.scope);
        let _stop = stop::within(scope.stop());
        while let Some(batch) = self.reader.next().map_err(SqlError::from)? {
            let given = self.sifted.values(batch.columns(), batch.num_rows());
            let given = given.map_err(|e| sql_error(&e, ""))?;
            if given.num_rows() > 0 {
                return Ok(Some(Chunk::Bound(given, Arc::clone(&self.encoder))));
            }
        }
        Ok(None)
    }
}
