//! How do many rows become one value of JSON?
//!
//! Elements are kept as text, with what they are ordered by.

use std::cmp::Ordering;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue, not_impl_err, plan_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility,
};

use super::{Input, normalized, render, text};
use crate::error::SqlError;
use crate::plan::guard;
use crate::plan::scan::external;
use crate::types::{PgType, oid};

/// Bytes of elements after which it is asked whether the statement goes on.
const LOOK_BYTES: usize = 1 << 20;

/// What comes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    /// `[1, 2]`
    Array,
    /// The same of rows, each on a line of its own.
    Rows,
    /// `{ "a" : 1 }`
    Object,
}

/// All of them.
pub fn all() -> Vec<Arc<AggregateUDF>> {
    let named = [
        ("json_agg", Kind::Array, oid::JSON),
        ("jsonb_agg", Kind::Array, oid::JSONB),
        ("onlap_rows_agg", Kind::Rows, oid::JSON),
        ("json_object_agg", Kind::Object, oid::JSON),
        ("jsonb_object_agg", Kind::Object, oid::JSONB),
    ];
    let make = |(name, kind, gives)| {
        let signature = Signature::variadic_any(Volatility::Immutable);
        Arc::new(AggregateUDF::new_from_impl(Aggregate { name, kind, gives, signature }))
    };
    named.into_iter().map(make).collect()
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Aggregate {
    name: &'static str,
    kind: Kind,
    gives: u32,
    signature: Signature,
}

impl AggregateUDFImpl for Aggregate {
    fn name(&self) -> &str {
        self.name
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }
    fn return_field(&self, fields: &[FieldRef]) -> Result<FieldRef> {
        let wanted = if self.kind == Kind::Object { 2 } else { 1 };
        if fields.len() != wanted {
            return plan_err!("Invalid function: {} takes {wanted} arguments", self.name);
        }
        Ok(Arc::new(PgType::new(self.gives).field(self.name, true)))
    }
    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        if args.is_distinct {
            return not_impl_err!("{} with DISTINCT", self.name);
        }
        let fields = args.expr_fields.to_vec();
        let long = self.kind == Kind::Rows || render::is_long(fields[0].data_type());
        let comma = if long && self.kind != Kind::Object { ", \n " } else { ", " };
        let normal = self.gives == oid::JSONB;
        let order = args.order_bys.iter().map(|by| by.options).collect();
        let kind = self.kind;
        Ok(Box::new(Elements { fields, kind, comma, normal, order, elements: None, bytes: 0 }))
    }
    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        // What it is ordered by comes with the values.
        AggregateOrderSensitivity::SoftRequirement
    }
    fn with_beneficial_ordering(
        self: Arc<Self>,
        _: bool,
    ) -> Result<Option<Arc<dyn AggregateUDFImpl>>> {
        Ok(Some(self))
    }
    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        Ok(vec![Arc::new(Field::new(format!("{}[body]", args.name), DataType::Utf8, true))])
    }
}

/// The elements so far, each with what it is ordered by.
#[derive(Debug)]
struct Elements {
    fields: Vec<FieldRef>,
    kind: Kind,
    comma: &'static str,
    normal: bool,
    order: Vec<SortOptions>,
    /// `None` before the first row.
    elements: Option<Vec<(Vec<ScalarValue>, String)>>,
    bytes: usize,
}

impl Elements {
    fn compare(&self, a: &[ScalarValue], b: &[ScalarValue]) -> Ordering {
        for (options, (a, b)) in self.order.iter().zip(a.iter().zip(b)) {
            let ordering = match (a.is_null(), b.is_null()) {
                (true, true) => Ordering::Equal,
                (true, false) if options.nulls_first => Ordering::Less,
                (true, false) => Ordering::Greater,
                (false, true) if options.nulls_first => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) => {
                    let ordering = a.partial_cmp(b).unwrap_or(Ordering::Equal);
                    if options.descending { ordering.reverse() } else { ordering }
                }
            };
            if ordering != Ordering::Equal {
                return ordering;
            }
        }
        Ordering::Equal
    }
    /// The elements in order; `None` for no rows.
    fn body(&mut self) -> Option<String> {
        let mut elements = self.elements.take()?;
        elements.sort_by(|(a, _), (b, _)| self.compare(a, b));
        let texts: Vec<&str> = elements.iter().map(|(_, text)| text.as_str()).collect();
        let body = texts.join(self.comma);
        self.elements = Some(elements);
        Some(body)
    }
}

impl Accumulator for Elements {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let (values, keys) = values.split_at(self.fields.len());
        let input = Input { fields: &self.fields, columns: values };
        for row in 0..values[0].len() {
            let mut text = String::new();
            if self.kind == Kind::Object {
                let name = input.text(0, row).ok_or_else(|| {
                    external(SqlError::new("22023", "field name must not be null"))
                })?;
                text::push_string(&name, &mut text);
                text.push_str(" : ");
                input.push(1, row, &mut text);
            } else {
                input.push(0, row, &mut text);
            }
            let mut at = Vec::with_capacity(self.order.len());
            for key in keys.iter().take(self.order.len()) {
                at.push(ScalarValue::try_from_array(key, row)?);
            }
            let bytes = text.capacity() + at.iter().map(ScalarValue::size).sum::<usize>();
            // A window's rows come all at once.
            if (self.bytes + bytes) / LOOK_BYTES > self.bytes / LOOK_BYTES {
                guard::plan_goes_on()?;
            }
            self.bytes += bytes;
            self.elements.get_or_insert_default().push((at, text));
        }
        Ok(())
    }
    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for body in states[0].as_string::<i32>().iter().flatten() {
            // Parts that were ordered apart cannot be put in order again.
            if !self.order.is_empty() && self.elements.is_some() {
                return not_impl_err!("aggregates of JSON with ORDER BY that need more memory");
            }
            self.bytes += body.len();
            self.elements.get_or_insert_default().push((Vec::new(), body.to_string()));
        }
        Ok(())
    }
    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![ScalarValue::Utf8(self.body())])
    }
    fn evaluate(&mut self) -> Result<ScalarValue> {
        let Some(body) = self.body() else { return Ok(ScalarValue::Utf8(None)) };
        let json = match self.kind {
            Kind::Object => format!("{{ {body} }}"),
            Kind::Array | Kind::Rows => format!("[{body}]"),
        };
        Ok(ScalarValue::Utf8(Some(match self.normal {
            true => normalized(&json).map_err(external)?,
            false => json,
        })))
    }
    fn size(&self) -> usize {
        size_of::<Elements>() + self.bytes
    }
}
