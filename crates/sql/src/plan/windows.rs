//! What may functions over windows give?
//!
//! They give a value for each row, all of a batch or of a partition at once, of which no budget knows: a list or a
//! text that grows with its window makes the square of what comes in. So each function over a window is put into one
//! that looks at whether the statement goes on, by what it has given ([`Looks`]), and that charges a value which is to
//! stand in all rows of a partition before it does.

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::expr::{AggregateFunctionParams, WindowFunctionParams};
use datafusion::logical_expr::function::{
    AccumulatorArgs, ExpressionArgs, PartitionEvaluatorArgs, StateFieldsArgs, WindowUDFFieldArgs,
};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::window_state::WindowAggState;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Expr, LimitEffect, LogicalPlan,
    PartitionEvaluator, ReversedUDAF, ReversedUDWF, SetMonotonicity, Signature,
    WindowFunctionDefinition, WindowUDF, WindowUDFImpl,
};
use datafusion::physical_expr::PhysicalExpr;

use super::guard;

/// Bytes and values after which a function looks.
const LOOK_BYTES: usize = 1 << 20;
const LOOK_VALUES: u32 = 256;
/// A value that is shorter is not charged for each row that it stands in.
const SHORT_BYTES: usize = 1 << 10;

/// Lets the functions over windows of a node look.
///
/// # Errors
/// An expression that cannot be changed: a defect.
pub fn looking(node: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    node.map_expressions(|expr| {
        expr.transform_up(|expr| {
            let Expr::WindowFunction(mut window) = expr else { return Ok(Transformed::no(expr)) };
            window.fun = match window.fun {
                WindowFunctionDefinition::AggregateUDF(inner) => {
                    WindowFunctionDefinition::AggregateUDF(Arc::new(aggregate(inner)))
                }
                WindowFunctionDefinition::WindowUDF(inner) => {
                    let made = Function { inner };
                    WindowFunctionDefinition::WindowUDF(Arc::new(WindowUDF::new_from_impl(made)))
                }
            };
            Ok(Transformed::yes(Expr::WindowFunction(window)))
        })
    })
}

fn aggregate(inner: Arc<AggregateUDF>) -> AggregateUDF {
    AggregateUDF::new_from_impl(Aggregate { inner })
}

/// What a function has given since it looked.
#[derive(Debug, Default)]
struct Looks {
    bytes: usize,
    values: u32,
}

impl Looks {
    fn gave(&mut self, value: ScalarValue) -> Result<ScalarValue> {
        self.bytes += value.size();
        self.values += 1;
        if self.bytes >= LOOK_BYTES || self.values >= LOOK_VALUES {
            *self = Looks::default();
            guard::plan_goes_on()?;
        }
        Ok(value)
    }
}

/// An aggregate over a window.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Aggregate {
    inner: Arc<AggregateUDF>,
}

impl AggregateUDFImpl for Aggregate {
    fn name(&self) -> &str {
        self.inner.name()
    }
    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }
    fn signature(&self) -> &Signature {
        self.inner.signature()
    }
    fn schema_name(&self, params: &AggregateFunctionParams) -> Result<String> {
        self.inner.schema_name(params)
    }
    fn window_function_schema_name(&self, params: &WindowFunctionParams) -> Result<String> {
        self.inner.window_function_schema_name(params)
    }
    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }
    fn return_field(&self, fields: &[FieldRef]) -> Result<FieldRef> {
        self.inner.return_field(fields)
    }
    fn is_nullable(&self) -> bool {
        self.inner.is_nullable()
    }
    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Running::new(self.inner.accumulator(args)?)))
    }
    fn create_sliding_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Running::new(self.inner.create_sliding_accumulator(args)?)))
    }
    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        self.inner.state_fields(args)
    }
    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.inner.order_sensitivity()
    }
    fn reverse_expr(&self) -> ReversedUDAF {
        match self.inner.reverse_udf() {
            ReversedUDAF::Reversed(other) => ReversedUDAF::Reversed(Arc::new(aggregate(other))),
            other => other,
        }
    }
    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(types)
    }
    fn default_value(&self, ty: &DataType) -> Result<ScalarValue> {
        self.inner.default_value(ty)
    }
    fn supports_null_handling_clause(&self) -> bool {
        self.inner.supports_null_handling_clause()
    }
    fn supports_within_group_clause(&self) -> bool {
        self.inner.supports_within_group_clause()
    }
    fn set_monotonicity(&self, ty: &DataType) -> SetMonotonicity {
        self.inner.inner().set_monotonicity(ty)
    }
}

/// Its state.
#[derive(Debug)]
struct Running {
    inner: Box<dyn Accumulator>,
    looks: Looks,
    /// Rows so far, until it has given its first value.
    rows: Option<usize>,
}

impl Running {
    fn new(inner: Box<dyn Accumulator>) -> Running {
        Running { inner, looks: Looks::default(), rows: Some(0) }
    }
}

impl Accumulator for Running {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        if let (Some(rows), Some(first)) = (&mut self.rows, values.first()) {
            *rows += first.len();
        }
        self.inner.update_batch(values)
    }
    fn evaluate(&mut self) -> Result<ScalarValue> {
        let value = self.looks.gave(self.inner.evaluate()?)?;
        // The window that is a whole partition has its one value in each row.
        let rows = self.rows.take().unwrap_or(0);
        if rows > 1 && value.size() > SHORT_BYTES {
            let call = std::ptr::from_ref(&*self.inner).addr();
            guard::hold(call, value.size().saturating_mul(rows))?;
        }
        Ok(value)
    }
    fn size(&self) -> usize {
        self.inner.size() + size_of::<Running>()
    }
    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.inner.state()
    }
    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.inner.merge_batch(states)
    }
    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.retract_batch(values)
    }
    fn supports_retract_batch(&self) -> bool {
        self.inner.supports_retract_batch()
    }
}

/// A function over a window that is no aggregate.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Function {
    inner: Arc<WindowUDF>,
}

impl WindowUDFImpl for Function {
    fn name(&self) -> &str {
        self.inner.name()
    }
    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }
    fn signature(&self) -> &Signature {
        self.inner.signature()
    }
    fn expressions(&self, args: ExpressionArgs<'_>) -> Vec<Arc<dyn PhysicalExpr>> {
        self.inner.expressions(args)
    }
    fn partition_evaluator(
        &self,
        args: PartitionEvaluatorArgs<'_>,
    ) -> Result<Box<dyn PartitionEvaluator>> {
        let inner = self.inner.partition_evaluator_factory(args)?;
        Ok(Box::new(Evaluator { inner, looks: Looks::default() }))
    }
    fn field(&self, args: WindowUDFFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.field(args)
    }
    fn sort_options(&self) -> Option<SortOptions> {
        self.inner.sort_options()
    }
    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(types)
    }
    fn reverse_expr(&self) -> ReversedUDWF {
        match self.inner.reverse_expr() {
            ReversedUDWF::Reversed(inner) => {
                let made = Function { inner };
                ReversedUDWF::Reversed(Arc::new(WindowUDF::new_from_impl(made)))
            }
            other => other,
        }
    }
    fn limit_effect(&self, args: &[Arc<dyn PhysicalExpr>]) -> LimitEffect {
        self.inner.inner().limit_effect(args)
    }
}

#[derive(Debug)]
struct Evaluator {
    inner: Box<dyn PartitionEvaluator>,
    looks: Looks,
}

impl PartitionEvaluator for Evaluator {
    fn memoize(&mut self, state: &mut WindowAggState) -> Result<()> {
        self.inner.memoize(state)
    }
    fn get_range(&self, at: usize, rows: usize) -> Result<Range<usize>> {
        self.inner.get_range(at, rows)
    }
    fn is_causal(&self) -> bool {
        self.inner.is_causal()
    }
    fn evaluate_all(&mut self, values: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        self.inner.evaluate_all(values, rows)
    }
    fn evaluate(&mut self, values: &[ArrayRef], range: &Range<usize>) -> Result<ScalarValue> {
        self.looks.gave(self.inner.evaluate(values, range)?)
    }
    fn evaluate_all_with_rank(&self, rows: usize, ranks: &[Range<usize>]) -> Result<ArrayRef> {
        self.inner.evaluate_all_with_rank(rows, ranks)
    }
    fn supports_bounded_execution(&self) -> bool {
        self.inner.supports_bounded_execution()
    }
    fn uses_window_frame(&self) -> bool {
        self.inner.uses_window_frame()
    }
    fn include_rank(&self) -> bool {
        self.inner.include_rank()
    }
}
