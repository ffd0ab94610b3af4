//! How large may the result of a function become?
//!
//! `repeat`, `lpad`, `replace`, lists of a series and their like make much of little. [`Bounded`] is put around each
//! function of text and lists: before it runs, an upper bound of its result is worked out from the lengths of its
//! arguments ([`Growth`]). A value above the limit is refused with `54000`, as in PostgreSQL, and what a batch of
//! rows takes is charged to the query, which ends with `53200` where it has no memory for that
//! (`crate::plan::guard`). Afterwards the charge is what the result really takes.
//!
//! It is also where planning and long chains of calls learn that the statement is to end.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};
use onlap_base::limits::COMPUTED_BYTES;

use crate::error::{SqlError, state};
use crate::plan::guard;
use crate::plan::scan::external;

mod growth;

pub use growth::Growth;

/// Results of a batch that are smaller are not charged: batches on their way have room set aside.
const SMALL_BYTES: u64 = 256 << 10;
/// A larger constant is calculated while the query runs: the planner's library keeps several copies of constants, in
/// plans, in names of columns and in statistics.
const CONSTANT_BYTES: u64 = 16 << 10;
/// Arrow counts the bytes of a batch's texts in 31 bits.
const BATCH_BYTES: u64 = i32::MAX as u64;

/// Functions of the planner and of ours that make texts and lists.
const KNOWN: &[(&str, Growth)] = &[
    ("array_append", Growth::Sum),
    ("array_concat", Growth::Sum),
    ("array_prepend", Growth::Sum),
    ("array_repeat", Growth::Repeat),
    ("array_replace", Growth::Items),
    ("array_replace_all", Growth::Items),
    ("array_replace_n", Growth::Items),
    ("array_resize", Growth::Resize),
    ("array_to_string", Growth::Joined),
    ("btrim", Growth::Compiled),
    ("concat", Growth::Sum),
    ("concat_ws", Growth::Separated),
    ("decode", Growth::Sum),
    ("encode", Growth::Sum),
    ("format", Growth::Template),
    ("generate_series", Growth::Series),
    ("initcap", Growth::Sum),
    ("json_array_elements", Growth::Tree),
    ("json_array_elements_text", Growth::Tree),
    ("json_array_length", Growth::Tree),
    ("json_build_array", Growth::Sum),
    ("json_build_object", Growth::Sum),
    ("json_object_keys", Growth::Tree),
    ("json_typeof", Growth::Tree),
    ("jsonb_array_elements", Growth::Tree),
    ("jsonb_array_elements_text", Growth::Tree),
    ("jsonb_array_length", Growth::Tree),
    ("jsonb_build_array", Growth::Sum),
    ("jsonb_build_object", Growth::Sum),
    ("jsonb_object_keys", Growth::Tree),
    ("jsonb_typeof", Growth::Tree),
    ("left", Growth::Sum),
    ("lower", Growth::Sum),
    ("lpad", Growth::Pad),
    ("ltrim", Growth::Compiled),
    ("make_array", Growth::Sum),
    ("onlap_get", Growth::Tree),
    ("onlap_get_b", Growth::Tree),
    ("onlap_get_text", Growth::Tree),
    ("onlap_jsonb", Growth::Tree),
    ("onlap_path", Growth::Tree),
    ("onlap_path_b", Growth::Tree),
    ("onlap_path_text", Growth::Tree),
    ("onlap_to_list", Growth::Sum),
    ("overlay", Growth::Sum),
    ("quote_literal", Growth::Sum),
    ("range", Growth::Series),
    ("regexp_count", Growth::Compiled),
    ("regexp_instr", Growth::Compiled),
    ("regexp_like", Growth::Compiled),
    ("regexp_match", Growth::Compiled),
    ("regexp_replace", Growth::Pattern),
    ("repeat", Growth::Repeat),
    ("replace", Growth::Replace),
    ("reverse", Growth::Sum),
    ("right", Growth::Sum),
    ("rpad", Growth::Pad),
    ("rtrim", Growth::Compiled),
    ("split_part", Growth::Sum),
    ("string_to_array", Growth::Sum),
    ("substr", Growth::Sum),
    ("to_json", Growth::Sum),
    ("to_jsonb", Growth::Sum),
    ("translate", Growth::Sum),
    ("upper", Growth::Sum),
];

/// The functions, bounded where they are among [`KNOWN`].
pub fn all(functions: Vec<Arc<ScalarUDF>>) -> Vec<Arc<ScalarUDF>> {
    let bound = |function: Arc<ScalarUDF>| {
        let known = KNOWN.binary_search_by_key(&function.name(), |known| known.0);
        match known {
            Ok(at) => bounded(function, KNOWN[at].1),
            Err(_) => function,
        }
    };
    functions.into_iter().map(bound).collect()
}

/// The function with bounds.
pub fn bounded(inner: Arc<ScalarUDF>, growth: Growth) -> Arc<ScalarUDF> {
    let mut signature = inner.signature().clone();
    if growth == Growth::Series {
        // A list of constants must not be made while the query is planned: it may not fit, and rows come from the
        // series one by one (`crate::plan::series`).
        signature.volatility = datafusion::logical_expr::Volatility::Volatile;
    }
    Arc::new(ScalarUDF::new_from_impl(Bounded { inner, growth, signature }))
}

/// The implementation inside the bounds.
pub fn of<T: ScalarUDFImpl>(function: &ScalarUDF) -> Option<&T> {
    function.inner().downcast_ref::<Bounded>()?.inner.inner().downcast_ref()
}

/// Whether a function makes much of little.
pub fn is_growing(function: &ScalarUDF) -> bool {
    let bounded = function.inner().downcast_ref::<Bounded>();
    bounded.is_some_and(|bounded| {
        !matches!(bounded.growth, Growth::Sum | Growth::Tree | Growth::Compiled | Growth::Lone)
    })
}

/// A function whose result is bounded.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Bounded {
    inner: Arc<ScalarUDF>,
    growth: Growth,
    signature: Signature,
}

impl ScalarUDFImpl for Bounded {
    fn name(&self) -> &str {
        self.inner.name()
    }
    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        self.inner.schema_name(args)
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }
    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        guard::go_on()?;
        self.inner.return_field_from_args(args)
    }
    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(types)
    }
    fn short_circuits(&self) -> bool {
        self.inner.short_circuits()
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        guard::go_on()?;
        let constant = args.args.iter().all(|a| matches!(a, ColumnarValue::Scalar(_)));
        let rows = if constant { 1 } else { args.number_rows };
        let (bytes, longest) = self.growth.bound(&args.args, rows)?;
        if longest > COMPUTED_BYTES as u64 || bytes > BATCH_BYTES {
            let error = SqlError::new(state::TOO_LARGE, "requested length too large");
            return Err(external(error));
        }
        if constant && bytes > CONSTANT_BYTES && guard::is_planning() {
            // The planner leaves a call that fails as it is.
            return exec_err!("left to the running query");
        }
        if bytes < SMALL_BYTES {
            return self.inner.invoke_with_args(args);
        }
        guard::wide(bytes / rows.max(1) as u64);
        let call = Arc::as_ptr(&args.return_field) as usize;
        guard::hold(call, bytes as usize)?;
        let made = self.inner.invoke_with_args(args)?;
        let took = match &made {
            ColumnarValue::Scalar(value) => value.size(),
            ColumnarValue::Array(array) => array.get_array_memory_size(),
        };
        guard::hold(call, took)?;
        Ok(made)
    }
}
