//! How are calls over windows calculated?

use std::sync::Arc;

use datafusion_physical_plan::ExecutionPlan;
use onlap_pg::Result;
use onlap_pg::bound::QueryId;

use crate::compile::{Compiler, unsupported};

impl Compiler<'_> {
    /// The windows of a query.
    pub fn windows(
        &mut self,
        _: QueryId,
        _: Arc<dyn ExecutionPlan>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Err(unsupported("a window"))
    }
}
