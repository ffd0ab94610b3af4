//! A function without arguments whose value is known when a statement is planned.

use std::fmt;
use std::hash::{Hash, Hasher};

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use crate::plan::guard;

/// The function.
#[derive(PartialEq, Eq)]
pub struct Constant {
    name: String,
    value: ScalarValue,
    signature: Signature,
    late: bool,
}

impl Constant {
    /// A function of this name and value.
    pub fn new(name: &str, value: ScalarValue) -> Constant {
        let signature = Signature::nullary(Volatility::Stable);
        Constant { name: name.into(), value, signature, late: false }
    }

    /// One that the planner leaves to the running query. No other has its name.
    pub fn left_to_run(name: String, value: ScalarValue) -> Constant {
        let signature = Signature::nullary(Volatility::Immutable);
        Constant { name, value, signature, late: true }
    }
}

// Without the value, which may be large.
impl fmt::Debug for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Hash for Constant {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for Constant {
    fn name(&self) -> &str {
        &self.name
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.value.data_type())
    }
    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if self.late && guard::is_planning() {
            // The planner leaves a call that fails as it is.
            return exec_err!("left to the running query");
        }
        Ok(ColumnarValue::Scalar(self.value.clone()))
    }
}
