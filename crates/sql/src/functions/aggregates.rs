//! Which types do sums and averages have?
//!
//! As in PostgreSQL: sums of int8 and averages of integers are numerics. What they are given is widened
//! first; the rest is the planner's.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::functions_aggregate::{average, sum};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF,
    Signature, Volatility,
};

/// All of them.
pub fn all() -> Vec<Arc<AggregateUDF>> {
    let make = |inner: Arc<AggregateUDF>, widen: fn(&DataType) -> Option<DataType>| {
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(AggregateUDF::new_from_impl(Widened { inner, widen: Widen(widen), signature }))
    };
    vec![make(sum::sum_udaf(), for_sum), make(average::avg_udaf(), for_avg)]
}

/// What a sum adds.
fn for_sum(ty: &DataType) -> Option<DataType> {
    Some(match ty {
        // Widened row by row: once they were int8, nobody could tell them from what is one.
        DataType::Int16 | DataType::Int32 => ty.clone(),
        DataType::Int8 | DataType::Null => DataType::Int32,
        DataType::Int64 => DataType::Decimal128(28, 0),
        ty if ty.is_unsigned_integer() => DataType::Decimal128(28, 0),
        DataType::Float16 | DataType::Float32 | DataType::Float64 => DataType::Float64,
        DataType::Decimal128(..) | DataType::Decimal256(..) => ty.clone(),
        DataType::Interval(_) | DataType::Duration(_) => ty.clone(),
        _ => return None,
    })
}

/// What an average adds; it has four digits more behind the point.
fn for_avg(ty: &DataType) -> Option<DataType> {
    const SCALE: i8 = 16;
    Some(match ty {
        ty if ty.is_integer() => DataType::Decimal256(40, SCALE),
        DataType::Null | DataType::Float16 | DataType::Float32 | DataType::Float64 => {
            DataType::Float64
        }
        DataType::Decimal128(p, s) | DataType::Decimal256(p, s) => {
            let scale = (*s).max(SCALE);
            let whole = (i16::from(*p) - i16::from(*s)).max(0) as u8;
            DataType::Decimal256((whole + scale as u8).min(60), scale)
        }
        _ => return None,
    })
}

fn is_narrow(ty: &DataType) -> bool {
    matches!(ty, DataType::Int16 | DataType::Int32)
}

fn widened(values: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
    values.iter().map(|array| Ok(cast(array, &DataType::Int64)?)).collect()
}

/// Adds int2 and int4 as int8.
#[derive(Debug)]
struct Widening(Box<dyn Accumulator>);

impl Accumulator for Widening {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.update_batch(&widened(values)?)
    }
    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.retract_batch(&widened(values)?)
    }
    fn supports_retract_batch(&self) -> bool {
        self.0.supports_retract_batch()
    }
    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.0.merge_batch(states)
    }
    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.0.state()
    }
    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.0.evaluate()
    }
    fn size(&self) -> usize {
        self.0.size()
    }
}

/// The same for many groups.
struct WideningGroups(Box<dyn GroupsAccumulator>);

impl GroupsAccumulator for WideningGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.0.update_batch(&widened(values)?, group_indices, opt_filter, total_num_groups)
    }
    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        self.0.merge_batch(values, group_indices, total_num_groups)
    }
    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        self.0.evaluate(emit_to)
    }
    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        self.0.state(emit_to)
    }
    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        opt_filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        self.0.convert_to_state(&widened(values)?, opt_filter)
    }
    fn size(&self) -> usize {
        self.0.size()
    }
}

#[derive(Clone, Copy, Debug)]
struct Widen(fn(&DataType) -> Option<DataType>);

/// An aggregate of the planner whose arguments are widened.
#[derive(Debug)]
struct Widened {
    inner: Arc<AggregateUDF>,
    widen: Widen,
    signature: Signature,
}

impl PartialEq for Widened {
    fn eq(&self, other: &Widened) -> bool {
        self.inner == other.inner
    }
}
impl Eq for Widened {}
impl std::hash::Hash for Widened {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.inner.name().hash(state);
    }
}

impl AggregateUDFImpl for Widened {
    fn name(&self) -> &str {
        self.inner.name()
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [ty] => match self.widen.0(ty) {
                Some(wide) => Ok(vec![wide]),
                None => plan_err!("Invalid function: {}({ty}) does not exist", self.name()),
            },
            _ => plan_err!("Invalid function: {} takes one argument", self.name()),
        }
    }
    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [ty] if is_narrow(ty) && self.name() == "sum" => Ok(DataType::Int64),
            _ => self.inner.return_type(&self.coerce_types(types)?),
        }
    }
    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let narrow = is_narrow(args.expr_fields[0].data_type());
        let inner = self.inner.accumulator(args)?;
        Ok(if narrow { Box::new(Widening(inner)) } else { inner })
    }
    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        self.inner.state_fields(args)
    }
    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        self.inner.groups_accumulator_supported(args)
    }
    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let narrow = is_narrow(args.expr_fields[0].data_type());
        let inner = self.inner.create_groups_accumulator(args)?;
        Ok(if narrow { Box::new(WideningGroups(inner)) } else { inner })
    }
    fn create_sliding_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn Accumulator>> {
        let narrow = is_narrow(args.expr_fields[0].data_type());
        let inner = self.inner.create_sliding_accumulator(args)?;
        Ok(if narrow { Box::new(Widening(inner)) } else { inner })
    }
    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }
}
