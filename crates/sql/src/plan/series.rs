//! How does generate_series give rows without holding all of them?
//!
//! The planner sees `generate_series(a, b)` as a list that is taken apart again. [`Series`] puts [`SeriesExec`]
//! in the place of such a pair of steps over integers: it counts, a batch at a time, for as long as batches are
//! asked for. Lists of moments, and those of several functions side by side, stay lists, whose size is bounded
//! (`crate::functions::bounded`).

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch, UInt32Array};
use datafusion::arrow::compute::{cast, take};
use datafusion::arrow::datatypes::{DataType, Int64Type, SchemaRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{NullHandling, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::{EmissionType, ReplaceChildrenOptions};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::unnest::UnnestExec;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
};
use futures::{StreamExt, TryStreamExt};

use super::scan::{external, scope_of};
use crate::error::SqlError;

/// Puts [`SeriesExec`] where a list of generate_series is taken apart.
#[derive(Debug)]
pub struct Series;

impl PhysicalOptimizerRule for Series {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let rewritten = plan.transform_up(|plan| {
            Ok(match SeriesExec::of(&plan) {
                Some(series) => Transformed::yes(Arc::new(series) as _),
                None => Transformed::no(plan),
            })
        })?;
        Ok(rewritten.data)
    }
    fn name(&self) -> &'static str {
        "series"
    }
    fn schema_check(&self) -> bool {
        true
    }
}

/// Rows of an input, each as often as a series of integers has values, with these.
#[derive(Debug)]
struct SeriesExec {
    input: Arc<dyn ExecutionPlan>,
    /// The columns beside the series, in order.
    beside: Vec<Arc<dyn PhysicalExpr>>,
    /// Where and how long the series is: start, stop, step; start and step may be missing.
    series: Vec<Arc<dyn PhysicalExpr>>,
    /// Its place among the columns.
    place: usize,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
}

impl SeriesExec {
    fn of(plan: &Arc<dyn ExecutionPlan>) -> Option<SeriesExec> {
        let unnest = (plan.as_ref() as &dyn Any).downcast_ref::<UnnestExec>()?;
        let [list] = unnest.list_column_indices() else { return None };
        let plain = list.depth == 1
            && unnest.struct_column_indices().is_empty()
            && unnest.options().null_handling == NullHandling::Drop;
        let projection = unnest.input().as_ref() as &dyn Any;
        let projection = projection.downcast_ref::<ProjectionExec>()?;
        let place = list.index_in_input_schema;
        let call = projection.expr().get(place)?.expr.as_ref() as &dyn Any;
        let call = call.downcast_ref::<ScalarFunctionExpr>()?;
        let schema = unnest.schema();
        let of_integers = call.name() == "generate_series"
            && *schema.fields().get(place)?.data_type() == DataType::Int64
            && schema.fields().len() == projection.expr().len();
        if !plain || !of_integers {
            return None;
        }
        let others = projection.expr().iter().enumerate().filter(|(at, _)| *at != place);
        SeriesExec::new(
            Arc::clone(projection.input()),
            others.map(|(_, e)| Arc::clone(&e.expr)).collect(),
            call.args().to_vec(),
            place,
            schema,
        )
        .into()
    }

    fn new(
        input: Arc<dyn ExecutionPlan>,
        beside: Vec<Arc<dyn PhysicalExpr>>,
        series: Vec<Arc<dyn PhysicalExpr>>,
        place: usize,
        schema: SchemaRef,
    ) -> SeriesExec {
        let partitions = input.output_partitioning().partition_count();
        let properties = Arc::new(PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            datafusion::physical_expr::Partitioning::UnknownPartitioning(partitions),
            EmissionType::Incremental,
            input.boundedness(),
        ));
        SeriesExec { input, beside, series, place, schema, properties }
    }

    fn over(&self, input: Arc<dyn ExecutionPlan>) -> SeriesExec {
        let (beside, series) = (self.beside.clone(), self.series.clone());
        SeriesExec::new(input, beside, series, self.place, Arc::clone(&self.schema))
    }
}

impl DisplayAs for SeriesExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Series")
    }
}

impl ExecutionPlan for SeriesExec {
    fn name(&self) -> &'static str {
        "SeriesExec"
    }
    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }
    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }
    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        for expr in self.beside.iter().chain(&self.series) {
            if f(expr)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }
    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(self.over(children.swap_remove(0))))
    }
    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(self.over(children.swap_remove(0))))
    }
    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let scope = scope_of(&context)?;
        let rows = context.session_config().batch_size();
        let input = self.input.execute(partition, context)?;
        let (beside, series) = (self.beside.clone(), self.series.clone());
        let (place, schema) = (self.place, Arc::clone(&self.schema));
        let batches = input.map(move |batch| {
            let counted = Counted::new(&batch?, &beside, &series, rows)?;
            let (scope, schema) = (Arc::clone(&scope), Arc::clone(&schema));
            let batches = counted.map(move |batch| {
                scope.plan_goes_on().map_err(external)?;
                let (mut columns, values) = batch?;
                columns.insert(place, values);
                Ok(RecordBatch::try_new(Arc::clone(&schema), columns)?)
            });
            Ok::<_, datafusion::error::DataFusionError>(futures::stream::iter(batches))
        });
        let batches = batches.try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), batches)))
    }
}

/// The rows that come of one batch.
struct Counted {
    beside: Vec<ArrayRef>,
    start: Option<Int64Array>,
    stop: Int64Array,
    step: Option<Int64Array>,
    /// The row under way, and its next value; none before its first.
    row: usize,
    next: Option<i64>,
    /// Rows of a batch at most.
    rows: usize,
}

impl Counted {
    fn new(
        batch: &RecordBatch,
        beside: &[Arc<dyn PhysicalExpr>],
        series: &[Arc<dyn PhysicalExpr>],
        rows: usize,
    ) -> Result<Counted> {
        let n = batch.num_rows();
        let all = |exprs: &[Arc<dyn PhysicalExpr>]| -> Result<Vec<ArrayRef>> {
            exprs.iter().map(|e| e.evaluate(batch)?.into_array(n)).collect()
        };
        let numbers = |array: &ArrayRef| -> Result<Int64Array> {
            Ok(cast(array, &DataType::Int64)?.as_primitive::<Int64Type>().clone())
        };
        let mut bounds = all(series)?.iter().map(numbers).collect::<Result<Vec<_>>>()?.into_iter();
        let (first, second, step) = (bounds.next(), bounds.next(), bounds.next());
        let (start, stop) = match second {
            Some(stop) => (first, Some(stop)),
            None => (None, first),
        };
        let stop = stop.unwrap_or_else(|| Int64Array::new_null(n));
        Ok(Counted { beside: all(beside)?, start, stop, step, row: 0, next: None, rows })
    }

    /// Start, stop and step of a row; none where one of them is NULL.
    fn bounds(&self, row: usize) -> Option<(i64, i64, i64)> {
        let value = |all: &Int64Array| all.is_valid(row).then(|| all.value(row));
        let or = |all: &Option<Int64Array>, otherwise| match all {
            Some(all) => value(all),
            None => Some(otherwise),
        };
        Some((or(&self.start, 0)?, value(&self.stop)?, or(&self.step, 1)?))
    }

    fn batch(&mut self) -> Result<Option<(Vec<ArrayRef>, ArrayRef)>> {
        let (mut of, mut values) = (Vec::new(), Vec::new());
        while self.row < self.stop.len() && values.len() < self.rows {
            let Some((start, stop, step)) = self.bounds(self.row) else {
                self.row += 1;
                continue;
            };
            if step == 0 {
                let error = SqlError::new("22023", "step size cannot equal zero");
                return Err(external(error));
            }
            let next = self.next.take().unwrap_or(start);
            if if step > 0 { next > stop } else { next < stop } {
                self.row += 1;
                continue;
            }
            of.push(self.row as u32);
            values.push(next);
            match next.checked_add(step) {
                Some(next) => self.next = Some(next),
                None => self.row += 1,
            }
        }
        if values.is_empty() {
            return Ok(None);
        }
        let of = UInt32Array::from(of);
        let beside = self.beside.iter().map(|column| take(column, &of, None));
        let beside = beside.collect::<Result<Vec<_>, _>>()?;
        Ok(Some((beside, Arc::new(Int64Array::from(values)))))
    }
}

impl Iterator for Counted {
    type Item = Result<(Vec<ArrayRef>, ArrayRef)>;
    fn next(&mut self) -> Option<Self::Item> {
        self.batch().transpose()
    }
}
