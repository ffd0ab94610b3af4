//! UNION and its like, DISTINCT, recursive queries, functions that give sets.

use std::sync::Arc;

use datafusion_physical_plan::ExecutionPlan;
use onlap_pg::Result;
use onlap_pg::bound::{Cte, Function, Query, QueryId};

use crate::build::{Fetch, Rel};
use crate::compile::{Compiler, unsupported};

/// The rows of the step before, in a recursive query.
#[derive(Clone, Default)]
pub struct Working {}

impl Compiler<'_> {
    /// Looks at the queries of WITH before any is used.
    pub fn with_queries(&mut self, _: QueryId) -> Result<()> {
        Ok(())
    }

    /// UNION, INTERSECT, EXCEPT.
    pub fn set_query(&mut self, _: QueryId) -> Result<Rel> {
        Err(unsupported("UNION"))
    }

    /// Targets that give sets.
    pub fn sets_in_targets(
        &mut self,
        _: QueryId,
        _: Arc<dyn ExecutionPlan>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Err(unsupported("a set in a target"))
    }

    /// Functions in FROM.
    pub fn functions(&mut self, _: usize, _: &[Function], _: bool) -> Result<Rel> {
        Err(unsupported("a function in FROM"))
    }

    /// DISTINCT.
    pub fn distinct(
        &mut self,
        _: &Query,
        _: Arc<dyn ExecutionPlan>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Err(unsupported("DISTINCT"))
    }

    /// FETCH … WITH TIES.
    pub fn ties(
        &mut self,
        _: &Query,
        _: Arc<dyn ExecutionPlan>,
        _: &Fetch,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Err(unsupported("WITH TIES"))
    }

    /// The rows of the step before.
    pub fn working(&mut self, _: &str, _: usize) -> Result<Rel> {
        Err(unsupported("a recursive query"))
    }

    /// The rows of a query of WITH.
    pub fn cte_rows(&mut self, _: usize, _: &Cte) -> Result<Rel> {
        Err(unsupported("WITH"))
    }
}
