//! How do operators calculate that the planner would let overflow?
//!
//! Sums, differences and products of integers fail out of range (22003). The difference of two moments is
//! an interval of days and a time.
//!
//! A chain, `a + b - c`, is one call with all its operands: the planner asks for the type and the name of each
//! call anew at every level of a tree, which takes the third power of its depth.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Datum, IntervalMonthDayNanoArray};
use datafusion::arrow::compute::{cast, kernels::numeric};
use datafusion::arrow::datatypes::{
    DataType, IntervalMonthDayNano, IntervalUnit, TimestampMicrosecondType,
};
use datafusion::arrow::error::ArrowError;
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::error::SqlError;
use crate::plan::guard;
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
        Calculated::udf(vec![self], None)
    }
}

/// Operators as a function: the first operand, and what is done with each of the others in turn.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Calculated {
    steps: Vec<Operation>,
    /// What it gives, where that was known when it was made.
    gives: Option<DataType>,
    signature: Signature,
}

impl Calculated {
    fn udf(steps: Vec<Operation>, gives: Option<DataType>) -> Arc<ScalarUDF> {
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(ScalarUDF::new_from_impl(Calculated { steps, gives, signature }))
    }

    fn of(expr: &Expr) -> Option<&Calculated> {
        let Expr::ScalarFunction(call) = expr else { return None };
        call.func.inner().downcast_ref::<Calculated>()
    }
}

/// The type of a call of [`chained`].
pub fn type_of(expr: &Expr) -> Option<&DataType> {
    Calculated::of(expr)?.gives.as_ref()
}

/// `left operation right` of integers, whose wider type is `gives`: one call with that of `left`, if it is one.
pub fn chained(operation: Operation, left: Expr, right: Expr, gives: DataType) -> Expr {
    let known = Calculated::of(&left).filter(|call| call.gives.is_some());
    let known = known.map(|call| call.steps.clone());
    let (mut steps, mut arguments) = match (known, left) {
        (Some(steps), Expr::ScalarFunction(call)) => (steps, call.args),
        (_, left) => (Vec::new(), vec![left]),
    };
    steps.push(operation);
    arguments.push(right);
    Calculated::udf(steps, Some(gives)).call(arguments)
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
        match self.steps[..] {
            [step] => step.name(),
            _ => "onlap_calculate",
        }
    }
    fn schema_name(&self, arguments: &[Expr]) -> Result<String> {
        // The steps tell `a + b - c` from `a - b + c`.
        let mut name = format!("{}(", self.name());
        for (at, argument) in arguments.iter().enumerate() {
            if let Some(step) = at.checked_sub(1).and_then(|at| self.steps.get(at)) {
                name += step.sign();
            }
            name += &argument.schema_name().to_string();
        }
        Ok(name + ")")
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        guard::go_on()?;
        if self.steps == [Operation::Between] {
            return Ok(DataType::Interval(IntervalUnit::MonthDayNano));
        }
        let mut rest = types.iter();
        let first = rest.next().filter(|ty| rank(ty).is_some()).cloned();
        let gives = rest.try_fold(first, |ty, next| Some(Some(wider(&ty?, next)?))).flatten();
        match gives {
            Some(gives) => Ok(gives),
            None => plan_err!("{} of {types:?}", self.name()),
        }
    }
    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.return_type(types)?;
        Ok(types.to_vec())
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let constant = args.args.iter().all(|a| matches!(a, ColumnarValue::Scalar(_)));
        let n = if constant { 1 } else { args.number_rows };
        let mut operands = args.args.iter();
        let Some(first) = operands.next() else { return plan_err!("{} of nothing", self.name()) };
        let mut array = first.to_array(n)?;
        for (step, operand) in self.steps.iter().zip(operands) {
            array = step.of(array, operand.to_array(n)?)?;
        }
        if constant {
            let value = datafusion::common::ScalarValue::try_from_array(&array, 0)?;
            return Ok(ColumnarValue::Scalar(value));
        }
        Ok(ColumnarValue::Array(array))
    }
}

impl Operation {
    fn sign(self) -> &'static str {
        match self {
            Operation::Add => " + ",
            Operation::Subtract => " - ",
            Operation::Multiply => " * ",
            Operation::Between => ", ",
        }
    }

    fn of(self, mut a: ArrayRef, mut b: ArrayRef) -> Result<ArrayRef> {
        if let Some(wide) = wider(a.data_type(), b.data_type()) {
            (a, b) = (cast(&a, &wide)?, cast(&b, &wide)?);
        }
        let (x, y): (&dyn Datum, &dyn Datum) = (&a, &b);
        let result = match self {
            Operation::Add => numeric::add(x, y),
            Operation::Subtract => numeric::sub(x, y),
            Operation::Multiply => numeric::mul(x, y),
            Operation::Between => Ok(between(&a, &b)),
        };
        result.map_err(|e| match e {
            ArrowError::ArithmeticOverflow(_) => {
                let name = names::format_type(PgType::of_arrow(a.data_type()));
                external(SqlError::new("22003", format!("{name} out of range")))
            }
            other => other.into(),
        })
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
