//! What does a routine give back?

use std::sync::Arc;

use onlap_kernels::Datum;
use onlap_kernels::array::{Record, record};
use onlap_pg::TypeRef;
use onlap_pg::catalog::{Catalog, oids};

use super::body::{Gives, Query, Slot, Sql};
use super::machine::Machine;
use super::values::{Held, Shape};
use crate::error::{Result, SqlError, state};
use crate::query::sql_error;

/// A row of a set: a value per column.
pub type Row = Vec<Datum<'static>>;

/// What was given back.
#[derive(Debug, Default)]
pub struct Returned {
    /// A value.
    pub value: Option<Datum<'static>>,
    /// Rows of a set.
    pub rows: Vec<Row>,
}

/// Columns and the types that they should have: those of a set.
type Wanted = Shape;

/// What is said of a row of another type.
const MISFIT: &str = "returned record type does not match expected record type";

impl Machine<'_, '_> {
    /// The end was reached without RETURN.
    pub(super) fn must_not_end(&mut self) -> Result<()> {
        match &self.body.gives {
            Gives::Value { set: false, .. } => {
                let text = "control reached end of function without RETURN";
                let e = SqlError::new("2F005", text);
                Err(e.around(&format!("PL/pgSQL function {}", self.name)))
            }
            Gives::Trigger => {
                let text = "control reached end of trigger procedure without RETURN";
                let e = SqlError::new("2F005", text);
                Err(e.around(&format!("PL/pgSQL function {}", self.name)))
            }
            _ => Ok(()),
        }
    }

    /// RETURN.
    pub(super) fn give_back(&mut self, value: Option<&Sql>) -> Result<()> {
        let Some(sql) = value else { return Ok(()) };
        let (ty, value) = self.value(sql)?;
        self.must_be_row(ty, &value)?;
        let before = std::mem::replace(
            &mut self.here,
            (0, "while casting return value to function's return type"),
        );
        let made = match self.body.gives.clone() {
            Gives::Value { ty: wanted, .. } => self.as_given(ty, value, wanted, MISFIT),
            _ => Ok(value),
        };
        let made = made.map_err(|e| {
            self.is_noted = true;
            e.around(&self.context())
        })?;
        self.here = before;
        self.given.value = Some(made);
        Ok(())
    }

    /// Fails where a row is to be given back, and a value is none.
    fn must_be_row(&self, ty: TypeRef, value: &Datum<'_>) -> Result<()> {
        let gives_row = self.body.row.is_some() || matches!(self.body.gives, Gives::Trigger);
        if !gives_row || value.is_null() || is_row(self.host.catalog(), ty.oid) {
            return Ok(());
        }
        let text = "cannot return non-composite value from function returning composite type";
        Err(SqlError::new(state::MISMATCH, text))
    }

    /// A value as one of the type that is given back; a row that was asked for is one already.
    fn as_given(
        &mut self,
        ty: TypeRef,
        value: Datum<'static>,
        wanted: TypeRef,
        misfit: &str,
    ) -> Result<Datum<'static>> {
        let Some(slot) = self.body.row else { return self.convert(value, ty, wanted) };
        let (Datum::Bytes(bytes), Held::Row(_, shape, _)) = (&value, &self.held[slot]) else {
            return Ok(value);
        };
        let (shape, record) = (shape.clone(), Record::load(bytes));
        if ty.oid == wanted.oid && record.is_of(shape.iter().map(|field| field.1.oid)) {
            return Ok(value);
        }
        let catalog = Arc::clone(self.host.catalog());
        must_match(&catalog, &record, &shape, misfit)?;
        let values: Vec<Datum<'static>> =
            record.fields(&catalog).into_iter().map(|(_, value)| value.into_owned()).collect();
        let mut fields = Vec::with_capacity(shape.len());
        for ((_, ty), value) in shape.iter().zip(values) {
            // A row says nothing of lengths.
            fields.push((ty.oid, self.convert(value, TypeRef::new(ty.oid), *ty)?));
        }
        let names: Vec<&str> = shape.iter().map(|field| field.0.as_str()).collect();
        let made = record::build_named(&names, &fields).map_err(|e| sql_error(&e, ""))?;
        Ok(Datum::bytes(made))
    }

    /// What parameters hold that are parts of the result.
    pub(super) fn results(&self) -> Row {
        let results =
            self.body.parameters.iter().filter(|(_, mode)| matches!(mode, b'o' | b'b' | b't'));
        results.map(|(slot, _)| value_of(&self.held[*slot])).collect()
    }

    fn push(&mut self, row: Row) -> Result<()> {
        let bytes: usize = row.iter().map(|value| value.size() + size_of::<Datum<'_>>()).sum();
        self.charge(0, bytes + size_of::<Row>())?;
        self.given.rows.push(row);
        Ok(())
    }

    /// RETURN NEXT.
    pub(super) fn give_next(&mut self, value: Option<&Sql>) -> Result<()> {
        let row = match (value, self.body.gives.clone()) {
            (Some(sql), Gives::Value { ty: wanted, .. }) => {
                let (ty, value) = self.value(sql)?;
                self.must_be_row(ty, &value)?;
                let is_variable = sql.shown.chars().all(|c| c.is_alphanumeric() || c == '_');
                let misfit = match is_variable {
                    true => "wrong record type supplied in RETURN NEXT",
                    false => MISFIT,
                };
                vec![match (&value, self.body.row) {
                    (Datum::Null, Some(slot)) => row_of(&Held::without_values(&self.held[slot]))?,
                    _ => self.as_given(ty, value, wanted, misfit)?,
                }]
            }
            _ => self.results(),
        };
        self.push(row)
    }

    /// The columns that rows of a set should have.
    fn wanted(&self) -> Wanted {
        match (&self.body.gives, self.body.row) {
            (Gives::Results { .. }, _) => {
                let results = self
                    .body
                    .parameters
                    .iter()
                    .filter(|(_, mode)| matches!(mode, b'o' | b'b' | b't'));
                let one = |(slot, _): &(Slot, u8)| {
                    let declared = &self.body.slots[*slot];
                    let ty = match &declared.kind {
                        super::body::Kind::Scalar(ty) => *ty,
                        super::body::Kind::Row(oid, _) => TypeRef::new(*oid),
                        super::body::Kind::Record => TypeRef::new(oids::RECORD),
                    };
                    (declared.name.clone(), ty)
                };
                results.map(one).collect()
            }
            (Gives::Value { .. }, Some(slot)) => match &self.held[slot] {
                Held::Row(_, shape, _) => shape.clone(),
                _ => Vec::new(),
            },
            (Gives::Value { ty, .. }, None) => vec![(String::new(), *ty)],
            _ => Vec::new(),
        }
    }

    /// RETURN QUERY.
    pub(super) fn give_rows(&mut self, query: &Query) -> Result<()> {
        let given = self.query(query, usize::MAX)?;
        let Some(shape) = given.shape.clone() else {
            let word = match query {
                Query::Fixed(sql) => sql.parsed.words(),
                Query::Dynamic(..) => String::new(),
            };
            let word = word.split(' ').next().unwrap_or_default().to_string();
            return Err(SqlError::new("42P11", format!("cannot open {word} query as cursor")));
        };
        let wanted = self.wanted();
        let catalog = Arc::clone(&given.catalog);
        let is_open = matches!(self.body.gives, Gives::Value { ty, .. } if ty.oid == oids::RECORD);
        if !is_open {
            must_fit(&catalog, &shape, &wanted).map_err(|e| match query {
                Query::Fixed(sql) => e.around(&format!("SQL statement \"{}\"", sql.shown)),
                Query::Dynamic(..) => e,
            })?;
        }
        let is_row = self.body.row.is_some();
        let mut count = 0;
        for row in Self::rows_of(&given) {
            self.host.view.scope.go_on()?;
            count += 1;
            let row = match is_row {
                true => {
                    let names: Vec<&str> = match is_open {
                        true => shape.iter().map(|field| field.0.as_str()).collect(),
                        false => wanted.iter().map(|field| field.0.as_str()).collect(),
                    };
                    let types = shape.iter().map(|field| field.1.oid);
                    let fields: Vec<_> = types.zip(row).collect();
                    let made = record::build_named(&names, &fields);
                    vec![Datum::bytes(made.map_err(|e| sql_error(&e, ""))?)]
                }
                false => row,
            };
            self.push(row)?;
        }
        self.rows = count;
        self.set_found(count > 0);
        Ok(())
    }
}

/// The value that a variable holds.
pub fn value_of(held: &Held) -> Datum<'static> {
    match held {
        Held::Value(_, value) => value.clone(),
        held => row_of(held).unwrap_or(Datum::Null),
    }
}

fn row_of(held: &Held) -> Result<Datum<'static>> {
    let row = match held {
        Held::Value(_, value) => return Ok(value.clone()),
        Held::Row(_, _, Some(row)) | Held::Record(Some(row)) => row,
        Held::Row(..) | Held::Record(None) => return Ok(Datum::Null),
    };
    let names: Vec<&str> = row.shape.iter().map(|field| field.0.as_str()).collect();
    let types = row.shape.iter().map(|field| field.1.oid);
    let fields: Vec<_> = types.zip(row.values.iter().cloned()).collect();
    let made = record::build_named(&names, &fields).map_err(|e| sql_error(&e, ""))?;
    Ok(Datum::bytes(made))
}

/// Whether values of a type are rows.
pub fn is_row(catalog: &Catalog, oid: u32) -> bool {
    oid == oids::RECORD || catalog.is_composite(oid)
}

/// Fails unless a row has fields of these types.
///
/// # Errors
/// `42804`
pub fn must_match(
    catalog: &Catalog,
    record: &Record<'_>,
    wanted: &Shape,
    misfit: &str,
) -> Result<()> {
    let refuse = |detail: String| Err(SqlError::new(state::MISMATCH, misfit).detail(detail));
    for (at, (_, wanted)) in wanted.iter().enumerate().take(record.len()) {
        let given = record.type_of(at);
        if given != wanted.oid {
            return refuse(format!(
                "Returned type {} does not match expected type {} in column {}.",
                catalog.shown(given),
                catalog.shown_with(*wanted),
                at + 1
            ));
        }
    }
    if record.len() != wanted.len() {
        return refuse(format!(
            "Number of returned columns ({}) does not match expected column count ({}).",
            record.len(),
            wanted.len()
        ));
    }
    Ok(())
}

/// Fails unless the columns of a query are those of the result.
fn must_fit(catalog: &Catalog, given: &Wanted, wanted: &Wanted) -> Result<()> {
    let text = "structure of query does not match function result type";
    let refuse = |detail: String| Err(SqlError::new(state::MISMATCH, text).detail(detail));
    if given.len() != wanted.len() {
        return refuse(format!(
            "Number of returned columns ({}) does not match expected column count ({}).",
            given.len(),
            wanted.len()
        ));
    }
    for (at, ((_, given), (_, wanted))) in given.iter().zip(wanted).enumerate() {
        if given.oid != wanted.oid && !(given.oid == oids::UNKNOWN && wanted.oid == oids::TEXT) {
            return refuse(format!(
                "Returned type {} does not match expected type {} in column {}.",
                catalog.shown_with(*given),
                catalog.shown(wanted.oid),
                at + 1
            ));
        }
    }
    Ok(())
}
