//! Which functions of arrays does PostgreSQL have that the planner lacks, or has otherwise?
//!
//! They work on Arrow's lists of any element, which `super::rowwise` does not.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Int32Array, ListArray, StringArray, StructArray, new_empty_array,
};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Fields};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};

use crate::error::SqlError;
use crate::plan::guard;
use crate::plan::scan::external;
use crate::session::list_of;
use crate::types::{Cell, PgType, Style, names, oid};

/// What is made of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    /// `onlap_to_list('int4', x)`: x, a text or a list, as a list of such elements.
    Cast,
    /// An empty list for NULL: what ARRAY(SELECT …) gives for no rows.
    OrEmpty,
    /// `information_schema._pg_expandarray`: the elements x with their numbers n.
    Expand,
    /// `array_length(list, dimension)`, which is `array_upper`, too; NULL for an empty list.
    Length,
    /// `array_lower(list, dimension)`
    Lower,
    /// `cardinality(list)`
    Count,
    /// `array_to_string(list, separator [, text for NULL])`.
    Join,
}

/// All of them.
pub fn all() -> Vec<Arc<ScalarUDF>> {
    let named = [
        ("onlap_to_list", Kind::Cast),
        ("onlap_or_empty", Kind::OrEmpty),
        ("_pg_expandarray", Kind::Expand),
        ("array_length", Kind::Length),
        ("array_upper", Kind::Length),
        ("array_lower", Kind::Lower),
        ("cardinality", Kind::Count),
        ("array_to_string", Kind::Join),
    ];
    let make = |(name, kind)| {
        let signature = Signature::variadic_any(Volatility::Immutable);
        Arc::new(ScalarUDF::new_from_impl(Listwise { name, kind, signature }))
    };
    named.into_iter().map(make).collect()
}

/// A function of lists.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Listwise {
    name: &'static str,
    kind: Kind,
    signature: Signature,
}

fn element(ty: &DataType) -> Option<&FieldRef> {
    match ty {
        DataType::List(item) => Some(item),
        _ => None,
    }
}

/// The fields of what an array expands to.
fn numbered(item: &DataType) -> Fields {
    Fields::from(vec![Field::new("x", item.clone(), true), Field::new("n", DataType::Int32, true)])
}

impl Listwise {
    fn no_such<T>(&self) -> Result<T> {
        plan_err!("Invalid function: {} does not exist for these types", self.name)
    }
}

impl ScalarUDFImpl for Listwise {
    fn name(&self) -> &str {
        self.name
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        self.no_such()
    }
    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        guard::go_on()?;
        let Some(first) = args.arg_fields.first() else { return self.no_such() };
        let item = element(first.data_type());
        Ok(Arc::new(match (self.kind, item) {
            (Kind::Cast, _) => {
                let Some(Some(ScalarValue::Utf8(Some(name)))) = args.scalar_arguments.first()
                else {
                    return self.no_such();
                };
                match names::by_name(name) {
                    Some(oid) => PgType::new(names::array_of(oid)).field(self.name, true),
                    None => return self.no_such(),
                }
            }
            (Kind::OrEmpty, Some(_)) => first.as_ref().clone().with_nullable(true),
            (Kind::Expand, Some(item)) => {
                let pair = DataType::Struct(numbered(item.data_type()));
                Field::new(
                    self.name,
                    DataType::List(Arc::new(Field::new("item", pair, true))),
                    true,
                )
            }
            (Kind::Length | Kind::Lower | Kind::Count, Some(_)) => {
                PgType::new(oid::INT4).field(self.name, true)
            }
            (Kind::Join, _) if item.is_some() || *first.data_type() == DataType::Null => {
                PgType::new(oid::TEXT).field(self.name, true)
            }
            _ => return self.no_such(),
        }))
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let constant = args.args.iter().all(|a| matches!(a, ColumnarValue::Scalar(_)));
        let n = if constant { 1 } else { args.number_rows };
        let columns = args.args.iter().map(|a| a.to_array(n)).collect::<Result<Vec<ArrayRef>>>()?;
        let made = match (self.kind, columns.as_slice()) {
            (Kind::Cast, [_, given]) => to_list(given, args.return_field.data_type())?,
            (Kind::OrEmpty, [list]) => or_empty(list),
            (Kind::Expand, [list]) => expand(list),
            (Kind::Count, [list]) => lengths(list, None, Some),
            (Kind::Length, [list, dimension]) => {
                lengths(list, Some(dimension), |n| (n > 0).then_some(n))
            }
            (Kind::Lower, [list, dimension]) => {
                lengths(list, Some(dimension), |n| (n > 0).then_some(1))
            }
            (Kind::Join, [list, rest @ ..]) if matches!(rest.len(), 1 | 2) => join(list, rest)?,
            _ => return self.no_such(),
        };
        Ok(match constant {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&made, 0)?),
            false => ColumnarValue::Array(made),
        })
    }
}

fn to_list(given: &ArrayRef, target: &DataType) -> Result<ArrayRef> {
    if !matches!(given.data_type(), DataType::Utf8 | DataType::Utf8View) {
        return Ok(cast(given, target)?);
    }
    if given.is_empty() {
        return Ok(new_empty_array(target));
    }
    let Some(item) = element(target) else { return plan_err!("a list was expected") };
    let ty = PgType::of_field(item);
    let value = |row| match Cell::of_array(given, row) {
        Cell::Text(text) => list_of(ty, text).map_err(external),
        _ => ScalarValue::try_new_null(target),
    };
    let values = (0..given.len()).map(value).collect::<Result<Vec<_>>>()?;
    ScalarValue::iter_to_array(values)
}

fn or_empty(list: &ArrayRef) -> ArrayRef {
    match list.data_type() {
        DataType::List(item) if list.null_count() > 0 => {
            let list = list.as_list::<i32>();
            // A NULL may stand over elements, which have to be left out.
            let lengths = (0..list.len())
                .map(|row| if list.is_null(row) { 0 } else { list.value_length(row) as usize });
            let offsets = OffsetBuffer::from_lengths(lengths);
            let kept: Vec<ArrayRef> =
                (0..list.len()).filter(|row| !list.is_null(*row)).map(|r| list.value(r)).collect();
            let kept: Vec<&dyn Array> = kept.iter().map(AsRef::as_ref).collect();
            let values = match kept.is_empty() {
                true => new_empty_array(item.data_type()),
                false => datafusion::arrow::compute::concat(&kept)
                    .expect("elements of one list have one type"),
            };
            Arc::new(ListArray::new(Arc::clone(item), offsets, values, None))
        }
        _ => Arc::clone(list),
    }
}

/// Something of the length of each list, where the dimension, if there is one, is the first.
fn lengths(
    list: &ArrayRef,
    dimension: Option<&ArrayRef>,
    of: impl Fn(i32) -> Option<i32>,
) -> ArrayRef {
    let value = |row| {
        let Cell::List(items) = Cell::of_array(list, row) else { return None };
        match dimension.map(|d| Cell::of_array(d, row)) {
            None | Some(Cell::Int(1)) => of(items.len() as i32),
            Some(_) => None,
        }
    };
    Arc::new((0..list.len()).map(value).collect::<Int32Array>())
}

fn expand(list: &ArrayRef) -> ArrayRef {
    let list = list.as_list::<i32>();
    let first = list.value_offsets()[0];
    let last = list.value_offsets()[list.len()];
    let values = list.values().slice(first as usize, (last - first) as usize);
    let numbers = list.offsets().windows(2).flat_map(|pair| 1..=pair[1] - pair[0]);
    let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(numbers));
    let fields = numbered(values.data_type());
    let pairs = StructArray::new(fields.clone(), vec![values, numbers], None);
    let item = Arc::new(Field::new("item", DataType::Struct(fields), true));
    let offsets = list.offsets().iter().map(|o| o - first).collect::<Vec<_>>();
    let nulls: Option<NullBuffer> = list.nulls().cloned();
    Arc::new(ListArray::new(item, OffsetBuffer::new(offsets.into()), Arc::new(pairs), nulls))
}

fn join(list: &ArrayRef, rest: &[ArrayRef]) -> Result<ArrayRef> {
    let mut texts: Vec<Option<String>> = Vec::with_capacity(list.len());
    for row in 0..list.len() {
        let (Cell::List(items), Cell::Text(separator)) =
            (Cell::of_array(list, row), Cell::of_array(&rest[0], row))
        else {
            texts.push(None);
            continue;
        };
        let blank = match rest.get(1).map(|blank| Cell::of_array(blank, row)) {
            Some(Cell::Text(text)) => Some(text),
            _ => None,
        };
        let ty = PgType::of_arrow(items.data_type());
        let mut out: Vec<u8> = Vec::new();
        let mut begun = false;
        for at in 0..items.len() {
            let cell = Cell::of_array(&items, at);
            if matches!(cell, Cell::Null) && blank.is_none() {
                continue;
            }
            if begun {
                out.extend_from_slice(separator.as_bytes());
            }
            begun = true;
            match (cell, blank) {
                (Cell::Null, Some(text)) => out.extend_from_slice(text.as_bytes()),
                (cell, _) => cell.write_text(ty, Style::default(), &mut out),
            }
        }
        let text = String::from_utf8(out)
            .map_err(|_| external(SqlError::new("22021", "an element is no text")))?;
        texts.push(Some(text));
    }
    Ok(Arc::new(StringArray::from(texts)))
}
