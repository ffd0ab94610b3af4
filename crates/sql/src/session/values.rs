//! What are the values of a statement's parameters?

use datafusion::arrow::datatypes::FieldRef;
use datafusion::common::ScalarValue;
use onlap::{Column, DataType, Value, convert};

use crate::error::Result;
use crate::types::{PgType, array_items, column_to_arrow, names, text_value};

/// A parameter's value and type.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its type.
    pub ty: PgType,
    /// Its value, as the engine has it.
    pub value: Value,
}

impl Parameter {
    /// As the planner has it.
    ///
    /// # Errors
    /// The value is none of its type.
    pub fn scalar(&self) -> Result<ScalarValue> {
        let ty = self.ty.engine().unwrap_or(DataType::Text);
        match (names::element_of(self.ty.oid), &self.value) {
            (Some(element), Value::Text(text)) => list_of(PgType::new(element), text),
            // Long ones are not copied more often than they must be.
            (None, Value::Text(text)) if ty == DataType::Text => {
                Ok(ScalarValue::Utf8(Some(text.to_string())))
            }
            _ => scalar_of(ty, &self.value),
        }
    }
}

/// An array's text as the planner has the array.
///
/// # Errors
/// It is no such array, or its elements are none of their type.
pub fn list_of(element: PgType, text: &str) -> Result<ScalarValue> {
    let engine = element.engine().unwrap_or(DataType::Text);
    let item = |item: Option<String>| match item {
        Some(item) => scalar_of(engine, &text_value(element, &item)?),
        None => scalar_of(engine, &Value::Null),
    };
    let items = array_items(text)?.into_iter().map(item).collect::<Result<Vec<_>>>()?;
    let ty = element.arrow().unwrap_or(datafusion::arrow::datatypes::DataType::Utf8);
    Ok(ScalarValue::List(ScalarValue::new_list(&items, &ty, true)))
}

/// A value as the planner has it.
///
/// # Errors
/// The value is none of the type.
pub fn scalar_of(ty: DataType, value: &Value) -> Result<ScalarValue> {
    let mut column = Column::new(ty.physical());
    convert::push_value(ty, value, &mut column, "parameter")?;
    Ok(ScalarValue::try_from_array(&column_to_arrow(ty, &column), 0)?)
}

/// Types of parameters as the planner takes them.
pub fn fields_of(types: &[Option<PgType>]) -> Vec<Option<FieldRef>> {
    types.iter().map(|ty| ty.map(|ty| FieldRef::new(ty.field("", true)))).collect()
}
