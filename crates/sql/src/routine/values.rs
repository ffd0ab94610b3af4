//! What do variables hold, and how do they take values?

use onlap_kernels::array::Record;
use onlap_kernels::{Datum, repr};
use onlap_pg::ast::Name;
use onlap_pg::bind::{Variable, Variables};
use onlap_pg::catalog::{Catalog, oids};
use onlap_pg::{Error, TypeRef};
use parking_lot::Mutex;

use super::body::{Body, Conflict, Kind, Slot};
use super::read::find;
use crate::error::{Result, SqlError, state};

/// Names and types of a row's fields.
pub type Shape = Vec<(String, TypeRef)>;

/// A row with its fields.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Names and types.
    pub shape: Shape,
    /// Values.
    pub values: Vec<Datum<'static>>,
}

/// What a variable holds.
#[derive(Clone, Debug)]
pub enum Held {
    /// A value of a type.
    Value(TypeRef, Datum<'static>),
    /// A row of a composite type; `None` is NULL.
    Row(u32, Shape, Option<Row>),
    /// Any row; `None` before it has one.
    Record(Option<Row>),
}

impl Held {
    /// Nothing yet.
    pub fn of(kind: &Kind) -> Held {
        match kind {
            Kind::Scalar(ty) => Held::Value(*ty, Datum::Null),
            Kind::Row(oid, fields) => Held::Row(*oid, fields.clone(), None),
            Kind::Record => Held::Record(None),
        }
    }

    /// The same variable with a row of which every field is NULL.
    pub fn without_values(held: &Held) -> Held {
        let none =
            |shape: &Shape| Row { shape: shape.clone(), values: vec![Datum::Null; shape.len()] };
        match held {
            Held::Row(oid, shape, _) => Held::Row(*oid, shape.clone(), Some(none(shape))),
            Held::Record(row) => Held::Record(row.as_ref().map(|row| none(&row.shape))),
            held @ Held::Value(..) => held.clone(),
        }
    }

    /// The bytes that it takes.
    pub fn bytes(&self) -> usize {
        match self {
            Held::Value(_, value) => value.size(),
            Held::Row(_, _, row) | Held::Record(row) => row.as_ref().map_or(0, |row| {
                let values = row.values.iter().map(|value| value.size() + size_of::<Datum<'_>>());
                values.sum::<usize>() + row.shape.len() * 64
            }),
        }
    }

    /// A field by its place; NULL where there is no row.
    pub fn field(&self, at: usize) -> Datum<'static> {
        match self {
            Held::Row(_, _, Some(row)) | Held::Record(Some(row)) => {
                row.values.get(at).cloned().unwrap_or(Datum::Null)
            }
            _ => Datum::Null,
        }
    }

    /// Names and types of its fields.
    ///
    /// # Errors
    /// `55000`: it has none yet.
    pub fn shape(&self, name: &str) -> onlap_pg::Result<&Shape> {
        match self {
            Held::Row(_, shape, _) => Ok(shape),
            Held::Record(Some(row)) => Ok(&row.shape),
            Held::Record(None) => {
                let text = format!("record \"{name}\" is not assigned yet");
                let detail = "The tuple structure of a not-yet-assigned record is indeterminate.";
                Err(Error::new("55000", text).detail(detail))
            }
            Held::Value(..) => Err(Error::new("42703", format!("\"{name}\" has no fields"))),
        }
    }
}

/// The variables that a text sees, and those that it has named.
pub struct Seen<'a> {
    /// The body.
    pub body: &'a Body,
    /// What they hold.
    pub held: &'a [Held],
    /// From where they are seen.
    pub scope: Option<usize>,
    /// Parameters that the text has itself: EXECUTE has no others.
    pub used: Mutex<Vec<(Slot, Option<usize>, TypeRef)>>,
}

impl Seen<'_> {
    fn number(&self, slot: Slot, field: Option<usize>, ty: TypeRef) -> i32 {
        let mut used = self.used.lock();
        let known = used.iter().position(|known| (known.0, known.1) == (slot, field));
        let at = known.unwrap_or_else(|| {
            used.push((slot, field, ty));
            used.len() - 1
        });
        i32::try_from(at + 1).unwrap_or(i32::MAX)
    }
}

impl Variables for Seen<'_> {
    fn yields(&self) -> bool {
        self.body.conflict == Conflict::Column
    }

    fn hides(&self) -> bool {
        self.body.conflict == Conflict::Variable
    }

    fn find(&self, path: &[Name], star: bool) -> onlap_pg::Result<Option<Variable>> {
        let path: Vec<String> = path.iter().map(|part| part.to_string()).collect();
        let Some((slot, rest)) = find(&self.body.names, self.scope, &path) else { return Ok(None) };
        let (held, name): (&Held, _) = (&self.held[slot], &self.body.slots[slot].name);
        match (held, &path[rest..]) {
            (Held::Value(ty, _), []) => {
                Ok(Some(Variable::Value(self.number(slot, None, *ty), *ty)))
            }
            (Held::Value(..), _) => Ok(None),
            (Held::Row(oid, _, None), []) if !star => {
                let ty = TypeRef::new(*oid);
                Ok(Some(Variable::Value(self.number(slot, None, ty), ty)))
            }
            // What was never assigned is NULL as a whole.
            (Held::Record(None), []) if !star => {
                let ty = TypeRef::new(oids::RECORD);
                Ok(Some(Variable::Value(self.number(slot, None, ty), ty)))
            }
            (held, []) => {
                let shape = held.shape(name)?;
                let field = |(at, (name, ty)): (usize, &(String, TypeRef))| {
                    (Name::from(name.as_str()), self.number(slot, Some(at), *ty), *ty)
                };
                let fields = shape.iter().enumerate().map(field).collect();
                let oid = if let Held::Row(oid, ..) = held { *oid } else { oids::RECORD };
                Ok(Some(Variable::Row(fields, oid)))
            }
            (held, [field]) => {
                let shape = held.shape(name)?;
                match shape.iter().position(|(known, _)| known == field) {
                    Some(at) => {
                        let ty = shape[at].1;
                        Ok(Some(Variable::Value(self.number(slot, Some(at), ty), ty)))
                    }
                    None => {
                        let text = format!("record \"{name}\" has no field \"{field}\"");
                        Err(Error::new("42703", text))
                    }
                }
            }
            _ => Ok(None),
        }
    }

    fn parameter(&self, number: i32) -> onlap_pg::Result<Variable> {
        let path = [Name::from(format!("${number}"))];
        self.find(&path, false)?
            .ok_or_else(|| Error::new("42P02", format!("there is no parameter ${number}")))
    }
}

/// The values of what a text has named.
pub fn values(held: &[Held], used: &[(Slot, Option<usize>, TypeRef)]) -> Vec<Datum<'static>> {
    let value = |(slot, field, _): &(Slot, Option<usize>, TypeRef)| match (&held[*slot], field) {
        (Held::Value(_, value), _) => value.clone(),
        (held, Some(at)) => held.field(*at),
        (_, None) => Datum::Null,
    };
    used.iter().map(value).collect()
}

/// A row out of a value of a row type, whose fields `fields` names where the type does.
///
/// # Errors
/// `42804`: it is none.
pub fn row_of(
    catalog: &Catalog,
    ty: TypeRef,
    value: &Datum<'_>,
    fields: Option<Shape>,
) -> Result<Option<Row>> {
    let bytes = match value {
        Datum::Null => return Ok(None),
        Datum::Bytes(bytes) => bytes,
        _ => return Err(no_row("a record variable")),
    };
    if ty.oid != oids::RECORD && !catalog.is_composite(ty.oid) {
        return Err(no_row("a record variable"));
    }
    let record = Record::load(bytes);
    let own = || {
        let names = record.names().into_iter().map(|name| name.into_owned());
        names.enumerate().map(|(at, name)| (name, TypeRef::new(record.type_of(at)))).collect()
    };
    let shape: Shape = fields.unwrap_or_else(own);
    let values = record.fields(catalog).into_iter().map(|(_, value)| value.into_owned()).collect();
    Ok(Some(Row { shape, values }))
}

/// What is assigned is no row.
pub fn no_row(to: &str) -> SqlError {
    SqlError::new(state::MISMATCH, format!("cannot assign non-composite value to {to}"))
}

/// The values of a row of a batch.
pub fn of_batch(
    catalog: &Catalog,
    shape: &Shape,
    batch: &arrow_array::RecordBatch,
    row: usize,
) -> Vec<Datum<'static>> {
    let value = |(at, (_, ty)): (usize, &(String, TypeRef))| match repr(catalog, ty.oid) {
        Some(repr) => Datum::at(batch.column(at), repr, row).into_owned(),
        None => Datum::Null,
    };
    shape.iter().enumerate().map(value).collect()
}
