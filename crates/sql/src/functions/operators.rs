//! How do operators calculate that the planner would let overflow?
//!
//! Sums, differences and products of integers fail out of range (22003). The difference of two moments is
//! an interval of days and a time.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Datum, IntervalMonthDayNanoArray};
use datafusion::arrow::compute::kernels::numeric;
use datafusion::arrow::datatypes::{
    DataType, IntervalMonthDayNano, IntervalUnit, TimestampMicrosecondType,
};
use datafusion::arrow::error::ArrowError;
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::error::SqlError;
use crate::plan::scan::external;
use crate::types::{PgType, names};

/// What is calculated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// `a + b` of integers
    Add,
    /// `a - b` of integers
    Subtract,
    /// `a * b` of integers
    Multiply,
    /// `a - b` of timestamps
    Between,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Operation::Add => "onlap_add",
            Operation::Subtract => "onlap_subtract",
            Operation::Multiply => "onlap_multiply",
            Operation::Between => "onlap_between",
        }
    }

    /// As the planner has it.
    pub fn udf(self) -> Arc<ScalarUDF> {
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(ScalarUDF::new_from_impl(Calculated { operation: self, signature }))
    }
}

/// An operator as a function.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Calculated {
    operation: Operation,
    signature: Signature,
}

fn rank(ty: &DataType) -> Option<u8> {
    match ty {
        DataType::Int16 => Some(0),
        DataType::Int32 => Some(1),
        DataType::Int64 => Some(2),
        _ => None,
    }
}

/// The wider one of two integer types.
pub fn wider(a: &DataType, b: &DataType) -> Option<DataType> {
    Some(if rank(a)? >= rank(b)? { a.clone() } else { b.clone() })
}

impl ScalarUDFImpl for Calculated {
    fn name(&self) -> &str {
        self.operation.name()
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match (self.operation, types) {
            (Operation::Between, _) => Ok(DataType::Interval(IntervalUnit::MonthDayNano)),
            (_, [a, b]) if wider(a, b).is_some() => Ok(wider(a, b).expect("was just seen")),
            _ => plan_err!("{} of {types:?}", self.name()),
        }
    }
    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match (self.operation, types) {
            (Operation::Between, [_, _]) => Ok(types.to_vec()),
            (_, [a, b]) if wider(a, b).is_some() => {
                Ok(vec![wider(a, b).expect("was just seen"); 2])
            }
            _ => plan_err!("{} of {types:?}", self.name()),
        }
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let constant = args.args.iter().all(|a| matches!(a, ColumnarValue::Scalar(_)));
        let n = if constant { 1 } else { args.number_rows };
        let (a, b) = (args.args[0].to_array(n)?, args.args[1].to_array(n)?);
        let (x, y): (&dyn Datum, &dyn Datum) = (&a, &b);
        let result = match self.operation {
            Operation::Add => numeric::add(x, y),
            Operation::Subtract => numeric::sub(x, y),
            Operation::Multiply => numeric::mul(x, y),
            Operation::Between => Ok(between(&a, &b)),
        };
        let array = result.map_err(|e| match e {
            ArrowError::ArithmeticOverflow(_) => {
                let name = names::format_type(PgType::of_arrow(a.data_type()));
                external(SqlError::new("22003", format!("{name} out of range")))
            }
            other => other.into(),
        })?;
        if constant {
            let value = datafusion::common::ScalarValue::try_from_array(&array, 0)?;
            return Ok(ColumnarValue::Scalar(value));
        }
        Ok(ColumnarValue::Array(array))
    }
}

const DAY_US: i64 = 86_400_000_000;

fn between(a: &ArrayRef, b: &ArrayRef) -> ArrayRef {
    let (a, b) = (
        a.as_primitive::<TimestampMicrosecondType>(),
        b.as_primitive::<TimestampMicrosecondType>(),
    );
    let pairs = a.iter().zip(b.iter());
    let intervals = pairs.map(|(a, b)| {
        let us = a?.saturating_sub(b?);
        let (days, rest) = (us / DAY_US, us % DAY_US);
        Some(IntervalMonthDayNano::new(0, days as i32, rest * 1000))
    });
    Arc::new(intervals.collect::<IntervalMonthDayNanoArray>())
}
