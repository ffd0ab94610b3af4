//! How are texts put together by `||`?
//!
//! A chain, `a || b || c`, is one call with all its operands, as in `super::operators`. NULL in gives NULL out.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringBuilder};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::bounded::{self, Growth};
use crate::plan::guard;

static TEXT: DataType = DataType::Utf8;

/// `||` of texts.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Joined {
    signature: Signature,
}

fn is_call(expr: &Expr) -> bool {
    match expr {
        Expr::ScalarFunction(call) => bounded::of::<Joined>(&call.func).is_some(),
        _ => false,
    }
}

/// The type of a call of [`chained`].
pub fn type_of(expr: &Expr) -> Option<&DataType> {
    is_call(expr).then_some(&TEXT)
}

/// `left || right` of texts: one call with that of `left`, if it is one.
pub fn chained(left: Expr, right: Expr) -> Expr {
    match left {
        Expr::ScalarFunction(mut call) if bounded::of::<Joined>(&call.func).is_some() => {
            call.args.push(right);
            Expr::ScalarFunction(call)
        }
        left => {
            let joined = Joined { signature: Signature::user_defined(Volatility::Immutable) };
            let joined = Arc::new(ScalarUDF::new_from_impl(joined));
            bounded::bounded(joined, Growth::Sum).call(vec![left, right])
        }
    }
}

impl ScalarUDFImpl for Joined {
    fn name(&self) -> &str {
        "onlap_join"
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        guard::go_on()?;
        Ok(DataType::Utf8)
    }
    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types.iter().all(|ty| *ty == DataType::Utf8) {
            true => Ok(types.to_vec()),
            false => plan_err!("|| of {types:?}"),
        }
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let Some(texts) = args.args.iter().map(constant).collect::<Option<Vec<_>>>() {
            // Long ones are copied once.
            let joined = texts.into_iter().collect::<Option<Vec<&str>>>().map(|all| all.concat());
            return Ok(ColumnarValue::Scalar(ScalarValue::Utf8(joined)));
        }
        let n = args.number_rows;
        // A constant is read once, not once for each row.
        let columns: Vec<(ArrayRef, bool)> = args
            .args
            .iter()
            .map(|a| match a {
                ColumnarValue::Scalar(value) => Ok((value.to_array()?, true)),
                ColumnarValue::Array(array) => Ok((Arc::clone(array), false)),
            })
            .collect::<Result<_>>()?;
        let mut joined = StringBuilder::new();
        let mut text = String::new();
        for row in 0..n {
            text.clear();
            let whole = columns.iter().all(|(column, constant)| {
                let row = if *constant { 0 } else { row };
                let column = column.as_string::<i32>();
                let is = column.is_valid(row);
                if is {
                    text.push_str(column.value(row));
                }
                is
            });
            joined.append_option(whole.then_some(text.as_str()));
        }
        Ok(ColumnarValue::Array(Arc::new(joined.finish())))
    }
}

/// The text of a constant, `None` within for NULL.
fn constant(argument: &ColumnarValue) -> Option<Option<&str>> {
    match argument {
        ColumnarValue::Scalar(ScalarValue::Utf8(text)) => Some(text.as_deref()),
        _ => None,
    }
}
