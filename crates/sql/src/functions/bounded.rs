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

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::compute::kernels::length::length;
use datafusion::arrow::datatypes::{DataType, FieldRef, Int64Type};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};
use onlap_base::limits::COMPUTED_BYTES;

use crate::error::{SqlError, state};
use crate::plan::guard;
use crate::plan::scan::external;

/// Results of a batch that are smaller are not charged: batches on their way have room set aside.
const SMALL_BYTES: u64 = 256 << 10;
/// A larger constant is calculated while the query runs: the planner's library keeps several copies of constants, in
/// plans, in names of columns and in statistics.
const CONSTANT_BYTES: u64 = 16 << 10;
/// Arrow counts the bytes of a batch's texts in 31 bits.
const BATCH_BYTES: u64 = i32::MAX as u64;

/// How long a result is at most, by the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Growth {
    /// All arguments together.
    Sum,
    /// `repeat(text, n)` and `array_repeat(value, n)`.
    Repeat,
    /// `lpad(text, n, fill)`.
    Pad,
    /// `replace(text, from, to)`.
    Replace,
    /// `regexp_replace(text, pattern, to, flags)`.
    Pattern,
    /// `generate_series(start, stop, step)` as a list.
    Series,
    /// `array_resize(list, n, value)`.
    Resize,
}

/// Functions of the planner and of ours that make texts and lists.
const KNOWN: &[(&str, Growth)] = &[
    ("array_append", Growth::Sum),
    ("array_concat", Growth::Sum),
    ("array_prepend", Growth::Sum),
    ("array_repeat", Growth::Repeat),
    ("array_replace_all", Growth::Sum),
    ("array_resize", Growth::Resize),
    ("array_to_string", Growth::Sum),
    ("concat", Growth::Sum),
    ("concat_ws", Growth::Sum),
    ("decode", Growth::Sum),
    ("encode", Growth::Sum),
    ("format", Growth::Sum),
    ("generate_series", Growth::Series),
    ("initcap", Growth::Sum),
    ("json_build_array", Growth::Sum),
    ("json_build_object", Growth::Sum),
    ("jsonb_build_array", Growth::Sum),
    ("jsonb_build_object", Growth::Sum),
    ("left", Growth::Sum),
    ("lower", Growth::Sum),
    ("lpad", Growth::Pad),
    ("make_array", Growth::Sum),
    ("onlap_to_list", Growth::Sum),
    ("overlay", Growth::Sum),
    ("quote_literal", Growth::Sum),
    ("range", Growth::Series),
    ("regexp_match", Growth::Sum),
    ("regexp_replace", Growth::Pattern),
    ("repeat", Growth::Repeat),
    ("replace", Growth::Replace),
    ("reverse", Growth::Sum),
    ("right", Growth::Sum),
    ("rpad", Growth::Pad),
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
    bounded.is_some_and(|bounded| bounded.growth != Growth::Sum)
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

/// A number for each row.
enum Numbers {
    Same(Option<u64>),
    Each(Int64Array),
}

impl Numbers {
    /// None for NULL; a negative one is 0.
    fn at(&self, row: usize) -> Option<u64> {
        match self {
            Numbers::Same(n) => *n,
            Numbers::Each(all) => all.is_valid(row).then(|| all.value(row).max(0) as u64),
        }
    }

    fn counts(argument: Option<&ColumnarValue>, otherwise: u64) -> Result<Numbers> {
        Ok(match argument {
            None => Numbers::Same(Some(otherwise)),
            Some(ColumnarValue::Scalar(value)) => match value.cast_to(&DataType::Int64)? {
                ScalarValue::Int64(n) => Numbers::Same(n.map(|n| n.max(0) as u64)),
                _ => Numbers::Same(None),
            },
            Some(ColumnarValue::Array(array)) => {
                let array = cast(array, &DataType::Int64)?;
                Numbers::Each(array.as_primitive::<Int64Type>().clone())
            }
        })
    }

    /// Bytes of texts; of other values, what one takes on average.
    fn lengths(argument: Option<&ColumnarValue>, otherwise: u64) -> Result<Numbers> {
        Ok(match argument {
            None => Numbers::Same(Some(otherwise)),
            Some(ColumnarValue::Scalar(value)) => Numbers::Same(length_of(value)),
            Some(ColumnarValue::Array(array)) => match is_text(array.data_type()) {
                true => {
                    let all = cast(&length(array)?, &DataType::Int64)?;
                    Numbers::Each(all.as_primitive::<Int64Type>().clone())
                }
                false => Numbers::Same(Some(bytes_of(array) / array.len().max(1) as u64 + 1)),
            },
        })
    }
}

fn is_text(ty: &DataType) -> bool {
    ty.is_string() || matches!(ty, DataType::Binary | DataType::LargeBinary)
}

fn length_of(value: &ScalarValue) -> Option<u64> {
    match value {
        ScalarValue::Utf8(text) | ScalarValue::LargeUtf8(text) | ScalarValue::Utf8View(text) => {
            text.as_ref().map(|text| text.len() as u64)
        }
        ScalarValue::Binary(bytes) | ScalarValue::LargeBinary(bytes) => {
            bytes.as_ref().map(|bytes| bytes.len() as u64)
        }
        ScalarValue::List(list) => Some(bytes_of(&(Arc::clone(list) as ArrayRef))),
        other => (!other.is_null()).then_some(16),
    }
}

fn bytes_of(array: &ArrayRef) -> u64 {
    let data = array.to_data();
    data.get_slice_memory_size().unwrap_or_else(|_| array.get_array_memory_size()) as u64
}

impl Growth {
    /// An upper bound of all results of a batch together, and of the longest.
    fn bound(self, args: &[ColumnarValue], rows: usize) -> Result<(u64, u64)> {
        let text = |at: usize, otherwise| Numbers::lengths(args.get(at), otherwise);
        let count = |at: usize, otherwise| Numbers::counts(args.get(at), otherwise);
        match self {
            Growth::Sum => Ok(sum(args, rows)),
            Growth::Repeat => {
                let (one, n) = (text(0, 0)?, count(1, 0)?);
                Ok(each(rows, |row| Some(one.at(row)?.max(1).saturating_mul(n.at(row)?))))
            }
            Growth::Resize => {
                let (list, n, one) = (text(0, 0)?, count(1, 0)?, text(2, 16)?);
                let grown = |row| n.at(row).map(|n| n.saturating_mul(one.at(row).unwrap_or(16)));
                Ok(each(rows, |row| Some(list.at(row)?.saturating_add(grown(row)?))))
            }
            Growth::Pad => {
                let (text, n, fill) = (text(0, 0)?, count(1, 0)?, text(2, 1)?);
                let width = |row| fill.at(row).map(|bytes| bytes.min(4));
                Ok(each(rows, |row| {
                    let n = n.at(row)?;
                    let kept = text.at(row)?.min(n.saturating_mul(4));
                    Some(kept.saturating_add(n.saturating_mul(width(row)?)))
                }))
            }
            Growth::Replace => {
                let (text, from, to) = (text(0, 0)?, text(1, 1)?, text(2, 0)?);
                Ok(each(rows, |row| {
                    let (text, from) = (text.at(row)?, from.at(row)?.max(1));
                    Some(text.saturating_add((text / from + 1).saturating_mul(to.at(row)?)))
                }))
            }
            Growth::Pattern => {
                let (text, to) = (text(0, 0)?, text(2, 0)?);
                // Each match is replaced by the text, in which each backslash may stand for all of the match.
                let slashes = match args.get(2) {
                    Some(ColumnarValue::Scalar(ScalarValue::Utf8(Some(to)))) => {
                        Some(to.matches('\\').count() as u64)
                    }
                    _ => None,
                };
                let every = args.len() > 3;
                Ok(each(rows, |row| {
                    let (text, to) = (text.at(row)?, to.at(row)?);
                    let matches = if every { text + 1 } else { 1 };
                    let copies = slashes.unwrap_or(to / 2) + 1;
                    Some(matches.saturating_mul(to).saturating_add(text.saturating_mul(copies)))
                }))
            }
            Growth::Series => series(args, rows),
        }
    }
}

/// All arguments together: a constant is part of each row's result.
fn sum(args: &[ColumnarValue], rows: usize) -> (u64, u64) {
    let (mut all, mut one) = (0u64, 0u64);
    for argument in args {
        match argument {
            ColumnarValue::Scalar(value) => one = one.saturating_add(length_of(value).unwrap_or(0)),
            ColumnarValue::Array(array) => all = all.saturating_add(bytes_of(array)),
        }
    }
    (all.saturating_add(one.saturating_mul(rows as u64)), one)
}

fn each(rows: usize, bytes: impl Fn(usize) -> Option<u64>) -> (u64, u64) {
    let all = (0..rows).filter_map(bytes);
    all.fold((0, 0), |(sum, longest), one| (sum.saturating_add(one), longest.max(one)))
}

/// Eight bytes for each value of a series of numbers, days or moments.
fn series(args: &[ColumnarValue], rows: usize) -> Result<(u64, u64)> {
    let number = |at: usize| -> Result<Option<Numbers>> {
        let Some(argument) = args.get(at) else { return Ok(None) };
        let ty = argument.data_type();
        if !ty.is_integer() && !matches!(ty, DataType::Date32 | DataType::Timestamp(..)) {
            return Ok(None);
        }
        Ok(Some(match argument {
            ColumnarValue::Scalar(value) => {
                let array = cast(&value.to_array()?, &DataType::Int64)?;
                match array.is_valid(0) {
                    true => Numbers::Each(Int64Array::from(vec![
                        array
                            .as_primitive::<Int64Type>()
                            .value(0);
                        rows
                    ])),
                    false => Numbers::Same(None),
                }
            }
            ColumnarValue::Array(array) => {
                Numbers::Each(cast(array, &DataType::Int64)?.as_primitive::<Int64Type>().clone())
            }
        }))
    };
    let value = |numbers: &Numbers, row: usize| match numbers {
        Numbers::Each(all) => all.is_valid(row).then(|| i128::from(all.value(row))),
        Numbers::Same(_) => None,
    };
    let (Some(first), Some(second)) = (number(0)?, number(1)?) else { return Ok(sum(args, rows)) };
    let step = number(2)?;
    let shortest = shortest_step(args);
    Ok(each(rows, |row| {
        let (from, to) = (value(&first, row)?, value(&second, row)?);
        let step = match &step {
            Some(step) => value(step, row)?.abs(),
            None => shortest,
        };
        let values = (to - from).abs() / step.max(1) + 1;
        u64::try_from(values.saturating_mul(8)).ok().or(Some(u64::MAX))
    }))
}

/// The least that a step of days or moments is long, in what these count; 1 where there is none.
fn shortest_step(args: &[ColumnarValue]) -> i128 {
    let Some(ColumnarValue::Scalar(ScalarValue::IntervalMonthDayNano(Some(step)))) = args.get(2)
    else {
        return 1;
    };
    let days = i128::from(step.months).abs() * 28 + i128::from(step.days).abs();
    let nanos = days * 86_400_000_000_000 + i128::from(step.nanoseconds).abs();
    match args[0].data_type() {
        DataType::Date32 => days,
        DataType::Timestamp(unit, _) => {
            use datafusion::arrow::datatypes::TimeUnit;
            nanos
                / match unit {
                    TimeUnit::Second => 1_000_000_000,
                    TimeUnit::Millisecond => 1_000_000,
                    TimeUnit::Microsecond => 1000,
                    TimeUnit::Nanosecond => 1,
                }
        }
        _ => 1,
    }
}
