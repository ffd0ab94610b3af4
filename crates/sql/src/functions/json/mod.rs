//! How are values made into JSON, and JSON taken apart?
//!
//! json is text as it was written, jsonb is text in one form ([`text::normal`]). What values look like is in
//! [`render`], what texts say in [`text`], aggregates in [`mod@aggregates`].

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, Int32Array, ListBuilder, StringArray, StringBuilder,
};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::logical_expr::{
    AggregateUDF, ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, TypeSignature, Volatility,
};

use crate::error::{Result as SqlResult, SqlError};
use crate::plan::guard;
use crate::plan::scan::external;
use crate::types::{Cell, PgType, array_items, oid};
use text::Kind as Is;

mod aggregates;
mod render;
mod text;

pub use text::tree_bytes;

/// What a function does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    /// Reads a text: a cast.
    Read,
    /// An object of names and values.
    Object,
    /// An array of values.
    Array,
    /// One value.
    Value,
    /// An object of names and values, as row_to_json writes rows.
    Row,
    /// `->` and `->>`
    Get,
    /// `#>` and `#>>`
    Path,
    /// The kind of a value.
    TypeOf,
    /// How many elements an array has.
    Length,
    /// The elements of an array.
    Elements,
    /// The names of an object.
    Keys,
}

/// What it gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Gives {
    Json,
    Jsonb,
    Text,
    Int,
    Jsons,
    Jsonbs,
    Texts,
}

impl Gives {
    fn oid(self) -> u32 {
        match self {
            Gives::Json => oid::JSON,
            Gives::Jsonb => oid::JSONB,
            Gives::Text => oid::TEXT,
            Gives::Int => oid::INT4,
            Gives::Jsons => crate::types::names::array_of(oid::JSON),
            Gives::Jsonbs => crate::types::names::array_of(oid::JSONB),
            Gives::Texts => crate::types::names::array_of(oid::TEXT),
        }
    }
}

const ALL: &[(&str, Kind, Gives)] = &[
    ("onlap_json", Kind::Read, Gives::Json),
    ("onlap_jsonb", Kind::Read, Gives::Jsonb),
    ("onlap_row_json", Kind::Row, Gives::Json),
    ("json_build_object", Kind::Object, Gives::Json),
    ("jsonb_build_object", Kind::Object, Gives::Jsonb),
    ("json_build_array", Kind::Array, Gives::Json),
    ("jsonb_build_array", Kind::Array, Gives::Jsonb),
    ("to_json", Kind::Value, Gives::Json),
    ("to_jsonb", Kind::Value, Gives::Jsonb),
    ("row_to_json", Kind::Value, Gives::Json),
    ("array_to_json", Kind::Value, Gives::Json),
    ("onlap_get", Kind::Get, Gives::Json),
    ("onlap_get_b", Kind::Get, Gives::Jsonb),
    ("onlap_get_text", Kind::Get, Gives::Text),
    ("onlap_path", Kind::Path, Gives::Json),
    ("onlap_path_b", Kind::Path, Gives::Jsonb),
    ("onlap_path_text", Kind::Path, Gives::Text),
    ("json_typeof", Kind::TypeOf, Gives::Text),
    ("jsonb_typeof", Kind::TypeOf, Gives::Text),
    ("json_array_length", Kind::Length, Gives::Int),
    ("jsonb_array_length", Kind::Length, Gives::Int),
    ("json_array_elements", Kind::Elements, Gives::Jsons),
    ("jsonb_array_elements", Kind::Elements, Gives::Jsonbs),
    ("json_array_elements_text", Kind::Elements, Gives::Texts),
    ("jsonb_array_elements_text", Kind::Elements, Gives::Texts),
    ("json_object_keys", Kind::Keys, Gives::Texts),
    ("jsonb_object_keys", Kind::Keys, Gives::Texts),
];

/// All functions.
pub fn all() -> Vec<Arc<ScalarUDF>> {
    let make = |&(name, kind, gives): &(&'static str, Kind, Gives)| {
        let kinds = vec![TypeSignature::VariadicAny, TypeSignature::Nullary];
        let signature = Signature::one_of(kinds, Volatility::Immutable);
        Arc::new(ScalarUDF::new_from_impl(Function { name, kind, gives, signature }))
    };
    ALL.iter().map(make).collect()
}

/// All aggregates.
pub fn aggregates() -> Vec<Arc<AggregateUDF>> {
    aggregates::all()
}

/// What `->` and its like mean: `path` for `#>`, `as_text` for `->>` and `#>>`.
pub fn access(value: (Expr, &Field), key: Expr, path: bool, as_text: bool) -> Expr {
    let (value, field) = value;
    let name = match (path, as_text, PgType::of_field(field).oid == oid::JSONB) {
        (false, true, _) => "onlap_get_text",
        (true, true, _) => "onlap_path_text",
        (false, false, true) => "onlap_get_b",
        (true, false, true) => "onlap_path_b",
        (false, false, false) => "onlap_get",
        (true, false, false) => "onlap_path",
    };
    let found = all().into_iter().filter(|f| f.name() == name).collect();
    let found = super::bounded::all(found).pop();
    found.expect("ALL has it").call(vec![value, key])
}

/// A function of JSON.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Function {
    name: &'static str,
    kind: Kind,
    gives: Gives,
    signature: Signature,
}

impl ScalarUDFImpl for Function {
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        Ok(crate::functions::names::short(self.name(), args))
    }
    fn name(&self) -> &str {
        self.name
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(PgType::new(self.gives.oid()).arrow().unwrap_or(DataType::Utf8))
    }
    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        guard::go_on()?;
        let n = args.arg_fields.len();
        let fits = match self.kind {
            Kind::Object | Kind::Row => n.is_multiple_of(2),
            Kind::Array => true,
            Kind::Get | Kind::Path => n == 2,
            _ => n == 1,
        };
        if !fits {
            return plan_err!("Invalid function: {} does not exist for {n} arguments", self.name);
        }
        if self.name == "row_to_json"
            && !matches!(args.arg_fields[0].data_type(), DataType::Struct(_))
            // What the planner makes of a table's name (`crate::plan::whole_rows`).
            && PgType::of_field(&args.arg_fields[0]).oid != oid::JSON
        {
            return plan_err!("Invalid function: row_to_json takes a row");
        }
        Ok(Arc::new(PgType::new(self.gives.oid()).field(self.name, true)))
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let constant = args.args.iter().all(|a| matches!(a, ColumnarValue::Scalar(_)));
        let n = if constant { 1 } else { args.number_rows };
        let columns = args.args.iter().map(|a| a.to_array(n)).collect::<Result<Vec<ArrayRef>>>()?;
        let input = Input { fields: &args.arg_fields, columns: &columns };
        let made = self.run(&input, n, args.return_field.data_type()).map_err(external)?;
        Ok(match constant {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&made, 0)?),
            false => ColumnarValue::Array(made),
        })
    }
}

struct Input<'a> {
    fields: &'a [FieldRef],
    columns: &'a [ArrayRef],
}

impl Input<'_> {
    fn push(&self, at: usize, row: usize, out: &mut String) {
        render::push(&self.fields[at], &self.columns[at], row, out);
    }
    /// A value as text, not as JSON; `None` for NULL.
    fn text(&self, at: usize, row: usize) -> Option<String> {
        let column = self.columns.get(at)?;
        if column.is_null(row) {
            return None;
        }
        let mut out = Vec::new();
        let ty = PgType::of_field(&self.fields[at]);
        Cell::of_array(column, row).write_text(ty, Default::default(), &mut out);
        Some(String::from_utf8_lossy(&out).into_owned())
    }
    /// Names and values, between these signs.
    fn object(&self, row: usize, comma: &str, colon: &str) -> SqlResult<String> {
        let mut out = String::from("{");
        for at in (0..self.columns.len()).step_by(2) {
            let name = self.text(at, row).ok_or_else(|| {
                SqlError::new("22023", format!("argument {} cannot be null", at + 1))
            })?;
            out.push_str(if at > 0 { comma } else { "" });
            text::push_string(&name, &mut out);
            out.push_str(colon);
            self.push(at + 1, row, &mut out);
        }
        out.push('}');
        Ok(out)
    }
}

impl Function {
    fn run(&self, input: &Input<'_>, n: usize, ty: &DataType) -> SqlResult<ArrayRef> {
        match self.gives {
            Gives::Json | Gives::Jsonb | Gives::Text => {
                let mut made = Vec::with_capacity(n);
                for row in 0..n {
                    let json = self.one(input, row)?;
                    made.push(match (self.gives, json) {
                        (Gives::Jsonb, Some(json)) => Some(normalized(&json)?),
                        (_, json) => json,
                    });
                }
                Ok(Arc::new(StringArray::from(made)))
            }
            Gives::Int => {
                let length = |row| -> SqlResult<Option<i32>> {
                    let Some(json) = input.text(0, row) else { return Ok(None) };
                    match text::read(&json)?.kind {
                        Is::Array(items) => Ok(Some(items.len() as i32)),
                        Is::Object(_) => Err(of_other("get array length of a non-array")),
                        _ => Err(of_other("get array length of a scalar")),
                    }
                };
                let lengths = (0..n).map(length).collect::<SqlResult<Vec<_>>>()?;
                Ok(Arc::new(Int32Array::from(lengths)))
            }
            Gives::Jsons | Gives::Jsonbs | Gives::Texts => {
                let DataType::List(item) = ty else { return Err(of_other("make no list")) };
                let mut lists = ListBuilder::new(StringBuilder::new()).with_field(Arc::clone(item));
                for row in 0..n {
                    let Some(json) = input.text(0, row) else {
                        lists.append(false);
                        continue;
                    };
                    for item in self.many(&json)? {
                        lists.values().append_option(match (self.gives, item) {
                            (Gives::Jsonbs, Some(item)) => Some(normalized(&item)?),
                            (_, item) => item,
                        });
                    }
                    lists.append(true);
                }
                Ok(Arc::new(lists.finish()))
            }
        }
    }

    /// The value of a row; `None` for NULL.
    fn one(&self, input: &Input<'_>, row: usize) -> SqlResult<Option<String>> {
        let mut out = String::new();
        match self.kind {
            Kind::Object => out = input.object(row, ", ", " : ")?,
            Kind::Row => out = input.object(row, ",", ":")?,
            Kind::Array => {
                out.push('[');
                for at in 0..input.columns.len() {
                    out.push_str(if at > 0 { ", " } else { "" });
                    input.push(at, row, &mut out);
                }
                out.push(']');
            }
            Kind::Value if input.columns[0].is_null(row) => return Ok(None),
            Kind::Value => input.push(0, row, &mut out),
            Kind::Read => {
                let Some(json) = input.text(0, row) else { return Ok(None) };
                text::check(&json)?;
                out = json;
            }
            Kind::TypeOf => {
                let Some(json) = input.text(0, row) else { return Ok(None) };
                out.push_str(match text::read(&json)?.kind {
                    Is::Null => "null",
                    Is::Bool => "boolean",
                    Is::Number => "number",
                    Is::Text(_) => "string",
                    Is::Array(_) => "array",
                    Is::Object(_) => "object",
                });
            }
            Kind::Get | Kind::Path => {
                let Some(json) = input.text(0, row) else { return Ok(None) };
                let Some(key) = input.text(1, row) else { return Ok(None) };
                let keys = match self.kind {
                    Kind::Path => array_items(&key)?,
                    _ => vec![Some(key)],
                };
                let by_number =
                    self.kind == Kind::Path || input.columns[1].data_type().is_integer();
                let by_name = self.kind == Kind::Path || !by_number;
                let mut at = text::read(&json)?;
                for key in keys {
                    let Some(key) = key else { return Ok(None) };
                    match step(at, &key, by_name, by_number) {
                        Some(next) => at = next,
                        None => return Ok(None),
                    }
                }
                return Ok(match (self.gives, at.kind) {
                    (Gives::Text, Is::Null) => None,
                    (Gives::Text, Is::Text(text)) => Some(text),
                    _ => Some(at.source.to_string()),
                });
            }
            Kind::Length | Kind::Elements | Kind::Keys => return Ok(None),
        }
        Ok(Some(out))
    }

    /// The values of a row's list.
    fn many(&self, json: &str) -> SqlResult<Vec<Option<String>>> {
        let value = text::read(json)?;
        match (self.kind, value.kind) {
            (Kind::Keys, Is::Object(fields)) => {
                let mut names: Vec<String> = fields.into_iter().map(|(name, _)| name).collect();
                if self.name.starts_with("jsonb") {
                    names.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
                    names.dedup();
                }
                Ok(names.into_iter().map(Some).collect())
            }
            (Kind::Keys, _) => Err(of_other("call json_object_keys on a value that is no object")),
            (_, Is::Array(items)) => Ok(items
                .into_iter()
                .map(|item| match (self.gives, item.kind) {
                    (Gives::Texts, Is::Null) => None,
                    (Gives::Texts, Is::Text(text)) => Some(text),
                    _ => Some(item.source.to_string()),
                })
                .collect()),
            (_, Is::Object(_)) => Err(of_other("extract elements from an object")),
            _ => Err(of_other("extract elements from a scalar")),
        }
    }
}

fn of_other(what: &str) -> SqlError {
    SqlError::new("22023", format!("cannot {what}"))
}

/// The form of jsonb.
fn normalized(json: &str) -> SqlResult<String> {
    let mut out = String::with_capacity(json.len());
    text::normal(&text::read(json)?, &mut out);
    Ok(out)
}

/// The part of a value that a name or a number names; a negative number counts from the end.
fn step<'a>(
    value: text::Json<'a>,
    key: &str,
    by_name: bool,
    by_number: bool,
) -> Option<text::Json<'a>> {
    match value.kind {
        Is::Object(fields) if by_name => {
            fields.into_iter().rev().find(|(name, _)| name == key).map(|(_, value)| value)
        }
        Is::Array(mut items) if by_number => {
            let at: i64 = key.trim().parse().ok()?;
            let at = if at < 0 { at.checked_add(items.len() as i64)? } else { at };
            let at = usize::try_from(at).ok().filter(|at| *at < items.len())?;
            Some(items.swap_remove(at))
        }
        _ => None,
    }
}
