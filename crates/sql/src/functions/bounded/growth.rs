//! How large may a function's result be, by the lengths of its arguments?
//!
//! An upper bound for each row, worked out without making the result ([`Growth::bound`]).

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::compute::kernels::length::length;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::ColumnarValue;

use crate::functions::format;
use crate::functions::json::tree_bytes;
use crate::system::rows::Datum;
use crate::types::Cell;

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
    /// `concat_ws(separator, …)`.
    Separated,
    /// `array_to_string(list, separator, text for NULL)`.
    Joined,
    /// `array_replace(list, from, to)`.
    Items,
    /// `format(template, …)`: a template names arguments as often as it likes, and widths.
    Template,
    /// JSON that is taken apart, the first argument.
    Tree,
    /// A pattern or a set of letters, the second argument: what is made of it takes many times its length.
    Compiled,
    /// A pattern by itself, as operators have it.
    Lone,
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
    pub fn bound(self, args: &[ColumnarValue], rows: usize) -> Result<(u64, u64)> {
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
            Growth::Pattern => pattern(args, rows),
            Growth::Series => series(args, rows),
            Growth::Separated => {
                let (all, one) = sum(args, rows);
                let (separator, between) = (text(0, 0)?, args.len().saturating_sub(2) as u64);
                let (between, longest) = each(rows, |row| Some(separator.at(row)? * between));
                Ok((all.saturating_add(between), one.saturating_add(longest)))
            }
            Growth::Joined => {
                let (separator, blank) = (text(1, 0)?, text(2, 0)?);
                items(args, rows, |row| {
                    Some(separator.at(row)?.saturating_add(blank.at(row).unwrap_or(0)))
                })
            }
            Growth::Items => {
                let to = text(2, 0)?;
                items(args, rows, |row| Some(to.at(row).unwrap_or(0)))
            }
            Growth::Template => template(args, rows),
            Growth::Tree => tree(args, rows),
            Growth::Compiled => Ok(compiled(sum(args, rows), &text(1, 0)?, rows)),
            Growth::Lone => Ok(compiled(sum(args, rows), &text(0, 0)?, rows)),
        }
    }
}

/// What `regexp_replace` makes.
fn pattern(args: &[ColumnarValue], rows: usize) -> Result<(u64, u64)> {
    let (text, to) = (Numbers::lengths(args.first(), 0)?, Numbers::lengths(args.get(2), 0)?);
    // Each match is replaced by the text, in which each backslash may stand for all of the match.
    let slashes = match args.get(2) {
        Some(ColumnarValue::Scalar(ScalarValue::Utf8(Some(to)))) => {
            Some(to.matches('\\').count() as u64)
        }
        _ => None,
    };
    let every = args.len() > 3;
    let pattern = Numbers::lengths(args.get(1), 0)?;
    let made = each(rows, |row| {
        let (text, to) = (text.at(row)?, to.at(row)?);
        let matches = if every { text + 1 } else { 1 };
        let copies = slashes.unwrap_or(to / 2) + 1;
        Some(matches.saturating_mul(to).saturating_add(text.saturating_mul(copies)))
    });
    Ok(compiled(made, &pattern, rows))
}

/// What an item's own text takes at most beside the bytes that it has in a list: numbers and moments.
const ITEM_BYTES: u64 = 40;

/// A list, the first argument, with so many bytes more for each of its items.
fn items(
    args: &[ColumnarValue],
    rows: usize,
    more: impl Fn(usize) -> Option<u64>,
) -> Result<(u64, u64)> {
    let (all, one) = sum(args, rows);
    let Some(list) = args.first() else { return Ok((all, one)) };
    let constant = matches!(list, ColumnarValue::Scalar(_));
    let list = list.to_array(1)?;
    let (grown, longest) = each(rows, |row| {
        let items = leaves(&list, if constant { 0 } else { row });
        Some(items.saturating_mul(more(row)?.saturating_add(ITEM_BYTES)))
    });
    Ok((all.saturating_add(grown), one.saturating_add(longest)))
}

/// Items of a row's list, and of the lists in it.
fn leaves(list: &ArrayRef, row: usize) -> u64 {
    match list.data_type() {
        DataType::List(_) if list.is_valid(row) => {
            let items = list.as_list::<i32>().value(row);
            match items.data_type() {
                DataType::List(_) => (0..items.len()).map(|row| leaves(&items, row)).sum(),
                _ => items.len() as u64,
            }
        }
        _ => 0,
    }
}

/// What a letter of a pattern takes when it is understood, at most.
const LETTER_BYTES: u64 = 100;

/// One pattern at a time is understood.
fn compiled((all, one): (u64, u64), pattern: &Numbers, rows: usize) -> (u64, u64) {
    let (_, longest) = each(rows, |row| pattern.at(row));
    (all.saturating_add(longest.saturating_mul(LETTER_BYTES)), one)
}

/// What is read of the texts that are JSON.
fn tree(args: &[ColumnarValue], rows: usize) -> Result<(u64, u64)> {
    let all = sum(args, rows);
    let Some(json) = args.first() else { return Ok(all) };
    let constant = matches!(json, ColumnarValue::Scalar(_));
    let array = json.to_array(1)?;
    // One is taken apart after another.
    let (_, longest) =
        each(rows, |row| match Cell::of_array(&array, if constant { 0 } else { row }) {
            Cell::Text(text) => Some(tree_bytes(text)),
            _ => None,
        });
    Ok((all.0.saturating_add(longest), all.1))
}

/// What templates come to, each with its row's arguments.
fn template(args: &[ColumnarValue], rows: usize) -> Result<(u64, u64)> {
    let columns = args.iter().map(|a| match a {
        ColumnarValue::Scalar(value) => Ok((value.to_array()?, true)),
        ColumnarValue::Array(array) => Ok((Arc::clone(array), false)),
    });
    let columns: Vec<(ArrayRef, bool)> = columns.collect::<Result<_>>()?;
    Ok(each(rows, |row| {
        let value = |(column, constant): &(ArrayRef, bool)| {
            Datum::of_array(column.as_ref(), if *constant { 0 } else { row })
        };
        let arguments: Vec<Datum> = columns.iter().map(value).collect();
        // What is wrong with it the function says.
        format::length(&arguments).ok()
    }))
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
