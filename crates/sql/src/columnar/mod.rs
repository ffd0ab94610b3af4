//! What are rows to a program that wants columns?
//!
//! A program in this process reads and writes Arrow's record batches in the place of messages. [`Shape`] says what the
//! columns of an answer are to Arrow, [`out`] makes them of what steps and the engine give, [`input`] makes the engine's
//! columns of what a program brings. What Arrow has no type for goes as PostgreSQL's text (decision 0096).
//!
//! Thread safety: pure functions; a shape is read only.

pub mod input;
mod kept;
pub mod out;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use onlap_kernels::{Repr, repr};
use onlap_pg::Oid;
use onlap_pg::catalog::Catalog;
use onlap_pg::value::numeric;

use crate::session::answer::AnswerColumn;
use crate::types::{PgType, names, oid};

/// The key under which a field says what its column is to PostgreSQL.
pub const TYPE_KEY: &str = "onlap.type";
/// Arrow's keys for types beyond its own.
const EXTENSION_NAME: &str = "ARROW:extension:name";
const EXTENSION_METADATA: &str = "ARROW:extension:metadata";

/// Digits of Arrow's decimals of 128 bits, and decimals that a short numeric has.
const DECIMAL_DIGITS: i32 = 38;
const DECIMAL_SCALE: i32 = 36;

/// Days and microseconds from 1970, where Arrow begins to count, to 2000, where PostgreSQL does.
const EPOCH_DAYS: i32 = 10_957;
const EPOCH_US: i64 = 946_684_800_000_000;

/// What the columns of an answer are to Arrow.
#[derive(Clone)]
pub struct Shape {
    schema: SchemaRef,
    columns: Vec<Column>,
    /// What their types are found in.
    catalog: Arc<Catalog>,
}

/// One of them.
#[derive(Clone, Debug)]
struct Column {
    ty: PgType,
    form: Form,
}

/// How a column becomes Arrow's.
#[derive(Clone, Debug, PartialEq)]
enum Form {
    /// It is already.
    Same,
    /// Days from 2000.
    Date,
    /// Microseconds of a day.
    Time,
    /// Microseconds from 2000, with or without a zone.
    Moment(bool),
    /// A number of fixed decimals: digits and decimals.
    Decimal(u8, u8),
    /// Elements of a type, and their form.
    List(Oid, Repr, Box<Form>),
    /// As PostgreSQL prints it.
    Printed,
}

impl Shape {
    /// Of these columns.
    pub fn new(catalog: &Arc<Catalog>, columns: &[AnswerColumn]) -> Shape {
        let one = |column: &AnswerColumn| {
            let ty = column.sent;
            let form = form(catalog, ty);
            (field(catalog, &column.name, ty, &form), Column { ty, form })
        };
        let (fields, columns): (Vec<Field>, Vec<Column>) = columns.iter().map(one).unzip();
        Shape { schema: Arc::new(Schema::new(fields)), columns, catalog: Arc::clone(catalog) }
    }

    /// As Arrow describes it.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }
}

/// How values of a type go.
fn form(catalog: &Catalog, ty: PgType) -> Form {
    match ty.oid {
        // bool, int2, int4, int8, float4, float8, text, varchar, char(n), name, json, bytea, uuid, oid, xid, cid
        16 | 21 | 23 | 20 | 700 | 701 | 25 | 1043 | 1042 | 19 | 114 | 17 | 2950 | 26 | 28 | 29 => {
            Form::Same
        }
        oid::CITEXT => Form::Same,
        oid::DATE => Form::Date,
        oid::TIME => Form::Time,
        oid::TIMESTAMP => Form::Moment(false),
        oid::TIMESTAMPTZ => Form::Moment(true),
        oid::NUMERIC => match numeric::precision_and_scale(ty.modifier) {
            Some((digits @ 1..=DECIMAL_DIGITS, decimals @ 0..=DECIMAL_SCALE)) => {
                Form::Decimal(digits as u8, decimals as u8)
            }
            _ => Form::Printed,
        },
        other => match catalog.element(other) {
            Some(element) if catalog.base_type(other) == other => list(catalog, element),
            _ => Form::Printed,
        },
    }
}

/// An array of a type whose values are plain.
fn list(catalog: &Catalog, element: Oid) -> Form {
    match (form(catalog, PgType::new(element)), repr(catalog, element)) {
        (Form::Printed | Form::List(..) | Form::Decimal(..), _) | (_, None) => Form::Printed,
        (form, Some(own)) => Form::List(element, own, Box::new(form)),
    }
}

/// The type that a column has to Arrow.
fn data_type(catalog: &Catalog, ty: Oid, form: &Form) -> DataType {
    match form {
        Form::Same => repr(catalog, ty).map_or(DataType::Utf8, onlap_kernels::arrow_type),
        Form::Date => DataType::Date32,
        Form::Time => DataType::Time64(TimeUnit::Microsecond),
        Form::Moment(zoned) => {
            DataType::Timestamp(TimeUnit::Microsecond, zoned.then(|| "UTC".into()))
        }
        Form::Decimal(digits, decimals) => DataType::Decimal128(*digits, *decimals as i8),
        Form::List(element, _, form) => DataType::List(Arc::new(item(catalog, *element, form))),
        Form::Printed => DataType::Utf8,
    }
}

/// The element of a list.
fn item(catalog: &Catalog, element: Oid, form: &Form) -> Field {
    Field::new_list_field(data_type(catalog, element, form), true)
}

fn field(catalog: &Catalog, name: &str, ty: PgType, form: &Form) -> Field {
    let mut metadata = HashMap::from([(TYPE_KEY.to_owned(), names::format_type(ty))]);
    let extension = match ty.oid {
        2950 => Some("arrow.uuid"),
        114 | oid::JSONB => Some("arrow.json"),
        _ => None,
    };
    if let Some(extension) = extension {
        metadata.insert(EXTENSION_NAME.to_owned(), extension.to_owned());
        metadata.insert(EXTENSION_METADATA.to_owned(), String::new());
    }
    Field::new(name, data_type(catalog, ty.oid, form), true).with_metadata(metadata)
}
