//! A step of a plan that is ours.
//!
//! What a step does is a function from the streams of its inputs to a stream; what DataFusion's library asks of a step
//! is answered here once.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion_common::Result;
use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion_physical_plan::execution_plan::{Boundedness, EmissionType, ReplaceChildrenOptions};
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use datafusion_physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::Stream;

/// What a step does.
pub type Run = Arc<
    dyn Fn(Vec<Arc<dyn ExecutionPlan>>, Arc<TaskContext>) -> Result<SendableRecordBatchStream>
        + Send
        + Sync,
>;

/// What a step says of itself in addition to its name: a text, or what makes it for those who show plans.
#[derive(Clone)]
pub enum Detail {
    /// It is made already.
    Text(String),
    /// It is made when it is shown.
    Later(Arc<dyn Fn() -> String + Send + Sync>),
}

impl From<&str> for Detail {
    fn from(text: &str) -> Detail {
        Detail::Text(text.to_owned())
    }
}

impl From<String> for Detail {
    fn from(text: String) -> Detail {
        Detail::Text(text)
    }
}

/// A step.
pub struct Step {
    name: &'static str,
    detail: Detail,
    inputs: Vec<Arc<dyn ExecutionPlan>>,
    run: Run,
    properties: Arc<PlanProperties>,
}

impl Step {
    /// A step that reads inputs and gives columns.
    pub fn make(
        name: &'static str,
        detail: impl Into<Detail>,
        inputs: Vec<Arc<dyn ExecutionPlan>>,
        schema: SchemaRef,
        run: Run,
    ) -> Arc<dyn ExecutionPlan> {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        let properties = Arc::new(properties);
        Arc::new(Step { name, detail: detail.into(), inputs, run, properties })
    }
}

impl Step {
    /// What it says of itself beside its name.
    pub fn detail(&self) -> Cow<'_, str> {
        match &self.detail {
            Detail::Text(text) => text.as_str().into(),
            Detail::Later(make) => make().into(),
        }
    }

    fn with_inputs(&self, inputs: Vec<Arc<dyn ExecutionPlan>>) -> Arc<dyn ExecutionPlan> {
        let (run, properties) = (Arc::clone(&self.run), Arc::clone(&self.properties));
        let detail = self.detail.clone();
        Arc::new(Step { name: self.name, detail, inputs, run, properties })
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl DisplayAs for Step {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name, self.detail())
    }
}

impl ExecutionPlan for Step {
    fn name(&self) -> &'static str {
        self.name
    }
    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }
    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.inputs.iter().collect()
    }
    fn maintains_input_order(&self) -> Vec<bool> {
        vec![false; self.inputs.len()]
    }
    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }
    fn replace_children(
        self: Arc<Self>,
        inputs: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self.with_inputs(inputs))
    }
    fn with_new_children(
        self: Arc<Self>,
        inputs: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self.with_inputs(inputs))
    }
    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        (self.run)(self.inputs.clone(), context)
    }
}

/// A stream of batches as steps hand them on.
pub fn stream_of(
    schema: SchemaRef,
    stream: impl Stream<Item = Result<RecordBatch>> + Send + 'static,
) -> SendableRecordBatchStream {
    Box::pin(RecordBatchStreamAdapter::new(schema, stream))
}
