//! Which aggregates take one of their values by its place in an order?
//!
//! `percentile_disc(f) WITHIN GROUP (ORDER BY x)`, the first value that is not below so great a part of all,
//! and `mode()`, the first of those that are there most often. Both keep all values.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::compute::{SortOptions, sort};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::common::{Result, ScalarValue, not_impl_err, plan_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, Signature, Volatility,
};
use datafusion::physical_plan::PhysicalExpr;

use crate::error::SqlError;
use crate::plan::scan::external;

/// All of them.
pub fn all() -> Vec<Arc<AggregateUDF>> {
    let make = |name, is_mode| {
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(AggregateUDF::new_from_impl(Ranked { name, is_mode, signature }))
    };
    vec![make("percentile_disc", false), make("mode", true)]
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Ranked {
    name: &'static str,
    is_mode: bool,
    signature: Signature,
}

impl AggregateUDFImpl for Ranked {
    fn name(&self) -> &str {
        self.name
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn supports_within_group_clause(&self) -> bool {
        true
    }
    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match (self.is_mode, types) {
            (true, [value]) => Ok(vec![value.clone()]),
            (false, [value, part]) if part.is_numeric() || part.is_null() => {
                Ok(vec![value.clone(), DataType::Float64])
            }
            _ => plan_err!("Invalid function: {} of {types:?} does not exist", self.name),
        }
    }
    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types.first() {
            Some(ty) => Ok(ty.clone()),
            None => plan_err!("Invalid function: {} needs WITHIN GROUP", self.name),
        }
    }
    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let part = match (self.is_mode, args.exprs.get(1)) {
            (false, Some(part)) => part_of(part.as_ref())?,
            _ => None,
        };
        let order = args.order_bys.first().map_or_else(SortOptions::default, |by| by.options);
        Ok(Box::new(Values {
            ty: args.expr_fields[0].data_type().clone(),
            is_mode: self.is_mode,
            order: SortOptions { descending: order.descending, nulls_first: false },
            part,
            values: Vec::new(),
        }))
    }
    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let item = Field::new_list_field(args.input_fields[0].data_type().clone(), true);
        Ok(vec![Arc::new(Field::new_list(format!("{}[values]", args.name), item, true))])
    }
}

/// The part that percentile_disc was given; `None` for NULL.
fn part_of(part: &dyn PhysicalExpr) -> Result<Option<f64>> {
    let empty = RecordBatch::new_empty(Arc::new(Schema::empty()));
    match part.evaluate(&empty) {
        Ok(ColumnarValue::Scalar(value)) => match value.cast_to(&DataType::Float64)? {
            ScalarValue::Float64(part) => Ok(part),
            _ => plan_err!("a fraction was expected"),
        },
        _ => not_impl_err!("percentile_disc of a fraction that is no constant"),
    }
}

/// The values so far, as they came.
#[derive(Debug)]
struct Values {
    ty: DataType,
    is_mode: bool,
    order: SortOptions,
    part: Option<f64>,
    values: Vec<ArrayRef>,
}

impl Values {
    fn all(&self) -> Result<ArrayRef> {
        let parts: Vec<&dyn Array> = self.values.iter().map(AsRef::as_ref).collect();
        if parts.is_empty() {
            return Ok(datafusion::arrow::array::new_empty_array(&self.ty));
        }
        Ok(datafusion::arrow::compute::concat(&parts)?)
    }
}

impl Accumulator for Values {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.values.push(Arc::clone(&values[0]));
        Ok(())
    }
    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.values.extend(states[0].as_list::<i32>().iter().flatten());
        Ok(())
    }
    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let all = self.all()?;
        let items = (0..all.len())
            .map(|i| ScalarValue::try_from_array(&all, i))
            .collect::<Result<Vec<_>>>()?;
        Ok(vec![ScalarValue::List(ScalarValue::new_list(&items, &self.ty, true))])
    }
    fn evaluate(&mut self) -> Result<ScalarValue> {
        let all = self.all()?;
        let sorted = sort(&all, Some(self.order))?;
        let n = sorted.len() - sorted.null_count();
        if n == 0 {
            return ScalarValue::try_new_null(&self.ty);
        }
        if self.is_mode {
            let ranges = datafusion::arrow::compute::partition(&[sorted.slice(0, n)])?.ranges();
            let most = ranges.iter().map(ExactSizeIterator::len).max().unwrap_or(0);
            let first = ranges.iter().find(|range| range.len() == most);
            return ScalarValue::try_from_array(&sorted, first.map_or(0, |range| range.start));
        }
        let Some(part) = self.part else { return ScalarValue::try_new_null(&self.ty) };
        if !(0.0..=1.0).contains(&part) {
            let text = format!("percentile value {part} is not between 0 and 1");
            return Err(external(SqlError::new("22003", text)));
        }
        let at = (part * n as f64).ceil() as usize;
        ScalarValue::try_from_array(&sorted, at.saturating_sub(1))
    }
    fn size(&self) -> usize {
        let values = self.values.iter().map(|v| v.get_array_memory_size()).sum::<usize>();
        size_of::<Values>() + values
    }
}
