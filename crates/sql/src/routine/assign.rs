//! How do variables take values?
//!
//! A value is converted as an assignment to a column converts it, or by its text where there is no such conversion. Rows are
//! assigned field by field.

use std::sync::Arc;

use onlap_kernels::array::{Array, Record, record, store_element};
use onlap_kernels::json::store_part;
use onlap_kernels::{Datum, output, repr};
use onlap_pg::catalog::oids;
use onlap_pg::resolve::{Context, can_convert};
use onlap_pg::{TypeRef, bind};
use onlap_query::{Condition, Env};

use super::body::{Slot, Sql, Target};
use super::give::is_row;
use super::machine::{Given, Machine};
use super::values::{Held, Row, Shape, no_row, of_batch, row_of};
use crate::error::{Result, SqlError, state};
use crate::query::domains::env_in;
use crate::query::{Asked, Names, sql_error};

/// The type that subscripts lead into by keys.
const JSONB: u32 = 3802;

/// A conversion, and what calculates it.
pub struct Cast {
    condition: Condition,
    env: Arc<Env>,
    asked: Arc<Asked>,
}

impl Machine<'_, '_> {
    fn cast(&mut self, from: TypeRef, to: TypeRef) -> Result<Arc<Cast>> {
        // Conditions of domains, and settings, may have changed.
        let seal = self.host.seal();
        if self.casts_of.replace(seal) != Some(seal) {
            self.casts.clear();
        }
        if let Some(known) = self.casts.get(&(from.oid, to)) {
            return Ok(Arc::clone(known));
        }
        let view = &self.host.view;
        let names = Names::new(view);
        let failed = |e: onlap_pg::Error| sql_error(&e, "").nowhere();
        for row in [from.oid, to.oid] {
            names.name_row(row).map_err(failed)?;
        }
        let (bound, query) = bind::assignment(TypeRef::new(from.oid), to, &names, names.catalog())
            .map_err(failed)?;
        let (env, asked) = env_in(view, self.host.catalog(), 0);
        let condition = Condition::new(&bound, query, &env).map_err(failed)?;
        let cast = Arc::new(Cast { condition, env, asked });
        self.casts.insert((from.oid, to), Arc::clone(&cast));
        Ok(cast)
    }

    /// A value as one of another type.
    ///
    /// # Errors
    /// Those of the conversion.
    pub(super) fn convert(
        &mut self,
        value: Datum<'static>,
        from: TypeRef,
        to: TypeRef,
    ) -> Result<Datum<'static>> {
        // A literal of an open type is a text.
        let from = if from.oid == oids::UNKNOWN { TypeRef::new(oids::TEXT) } else { from };
        let catalog = Arc::clone(self.host.catalog());
        let is_domain =
            catalog.get_type(to.oid).is_some_and(|ty| ty.kind == onlap_pg::catalog::Kind::Domain);
        let same = from.oid == to.oid && (to.modifier < 0 || to.modifier == from.modifier);
        if same || value.is_null() && !is_domain {
            return Ok(value);
        }
        if from.oid == oids::RECORD
            && let (Datum::Bytes(bytes), Some(shape)) = (&value, self.columns_of(to))
        {
            return self.record_as(bytes, to, &shape);
        }
        let cast = self.cast(from, to)?;
        let Cast { condition, env, asked } = &*cast;
        let (Some(given), Some(wanted)) = (repr(&catalog, from.oid), repr(&catalog, to.oid)) else {
            return Err(SqlError::unsupported("a variable of this type"));
        };
        asked.begin(&self.host.memory());
        let failed = |e: onlap_pg::Error| sql_error(&e, "").nowhere();
        let column = Datum::column(given, [&value].into_iter()).map_err(failed)?;
        let made = condition.of(&column, env).map_err(failed)?;
        env.batch_done().map_err(failed)?;
        Ok(Datum::at(&made, wanted, 0).into_owned())
    }

    /// A record as a row of a type with a name: field by field.
    fn record_as(&mut self, bytes: &[u8], to: TypeRef, shape: &Shape) -> Result<Datum<'static>> {
        let catalog = Arc::clone(self.host.catalog());
        let record = Record::load(bytes);
        if record.len() != shape.len() {
            let text = format!("cannot cast type record to {}", catalog.shown(to.oid));
            let detail = match record.len() < shape.len() {
                true => "Input has too few columns.",
                false => "Input has too many columns.",
            };
            return Err(SqlError::new("42846", text).detail(detail));
        }
        let mut fields = Vec::with_capacity(shape.len());
        for ((from, value), (_, to)) in record.fields(&catalog).into_iter().zip(shape) {
            let value = self.convert(value.into_owned(), TypeRef::new(from), *to)?;
            fields.push((to.oid, value));
        }
        let names: Vec<&str> = shape.iter().map(|field| field.0.as_str()).collect();
        let made = record::build_named(&names, &fields).map_err(|e| sql_error(&e, ""))?;
        Ok(Datum::bytes(made))
    }

    /// A value as its type prints it; `None` for NULL.
    ///
    /// # Errors
    /// `54000`.
    pub(super) fn text_of(&self, ty: TypeRef, value: &Datum<'_>) -> Result<Option<String>> {
        if value.is_null() {
            return Ok(None);
        }
        let view = &self.host.view;
        let asked = Asked::new(view);
        asked.begin(&self.host.memory());
        let names = Names::new(view);
        names.name_row(ty.oid).map_err(|e| sql_error(&e, "").nowhere())?;
        let settings = crate::query::settings_of(view);
        let mut cx =
            onlap_kernels::Cx { catalog: names.catalog(), settings: &settings, session: &asked };
        let mut text = String::new();
        let written = output(&mut cx, ty.oid, value, &mut text);
        written.map_err(|e| sql_error(&e, "").nowhere())?;
        Ok(Some(text))
    }

    /// The columns of a row type.
    fn columns_of(&self, ty: TypeRef) -> Option<Shape> {
        match super::types::kind_of(&self.host.view, ty).ok()? {
            super::body::Kind::Row(_, fields) => Some(fields),
            _ => None,
        }
    }

    /// Assigns a value.
    ///
    /// # Errors
    /// Those of the conversion; `22004`: it is NULL, and must not be.
    pub(super) fn assign(
        &mut self,
        target: &Target,
        ty: TypeRef,
        value: Datum<'static>,
    ) -> Result<()> {
        if let Some(field) = &target.field {
            return self.assign_field(target.slot, field, ty, value);
        }
        match &self.held[target.slot] {
            Held::Value(wanted, _) => {
                let wanted = *wanted;
                let value = self.convert(value, ty, wanted)?;
                self.put(target.slot, Held::Value(wanted, value))
            }
            held => {
                let row_type = if let Held::Row(oid, ..) = held { Some(*oid) } else { None };
                let catalog = Arc::clone(self.host.catalog());
                let composite = ty.oid == oids::RECORD || self.columns_of(ty).is_some();
                let (ty, value) = match row_type {
                    Some(oid) if !composite => {
                        let wanted = TypeRef::new(oid);
                        (wanted, self.convert(value, ty, wanted)?)
                    }
                    _ if !composite && !value.is_null() => {
                        return Err(no_row("a record variable"));
                    }
                    _ => (ty, value),
                };
                let as_record = TypeRef::new(oids::RECORD);
                let row = row_of(&catalog, as_record, &value, self.columns_of(ty))?;
                self.assign_row(target.slot, row)
            }
        }
    }

    /// Assigns a value to an element of an array, or to a part of a jsonb value.
    ///
    /// # Errors
    /// `42804`: it is neither; those of subscripts and of the conversion.
    pub(super) fn assign_element(
        &mut self,
        target: &Target,
        subscripts: &[Sql],
        ty: TypeRef,
        value: Datum<'static>,
    ) -> Result<()> {
        let (of, held) = self.whole_of(target)?;
        let catalog = Arc::clone(self.host.catalog());
        let base = catalog.base(of.oid, of.modifier);
        if base.0 == JSONB {
            return self.assign_json_part(target, (&held, subscripts), ty, value);
        }
        let mut places = Vec::with_capacity(subscripts.len());
        for sql in subscripts {
            let (ty, place) = self.value(sql)?;
            places.push(match self.convert(place, ty, TypeRef::new(oids::INT4))? {
                Datum::Int4(place) => Some(place),
                _ => None,
            });
        }
        let (Some(element), Some(_)) = (catalog.element(base.0), repr(&catalog, base.0)) else {
            let shown = catalog.shown(of.oid);
            let text =
                format!("cannot subscript type {shown} because it does not support subscripting");
            return Err(SqlError::new(state::MISMATCH, text));
        };
        let Some(kind) = repr(&catalog, element) else {
            return Err(SqlError::unsupported("an array of this type"));
        };
        let value = self.convert(value, ty, TypeRef { oid: element, modifier: base.1 })?;
        let asked = Asked::new(&self.host.view);
        asked.begin(&self.host.memory());
        let settings = crate::query::settings_of(&self.host.view);
        let cx = onlap_kernels::Cx { catalog: &catalog, settings: &settings, session: &asked };
        let array = match &held {
            Datum::Bytes(bytes) => Some(Array::load(bytes, kind)),
            _ => None,
        };
        let stored = store_element(array.as_ref(), kind, &places, &value, &cx);
        let stored = Datum::bytes(stored.map_err(|e| sql_error(&e, ""))?);
        self.assign(target, TypeRef { oid: base.0, modifier: base.1 }, stored)
    }

    /// The type and the value of a target.
    fn whole_of(&self, target: &Target) -> Result<(TypeRef, Datum<'static>)> {
        let name = &self.body.slots[target.slot].name;
        match (&self.held[target.slot], &target.field) {
            (Held::Value(ty, value), _) => Ok((*ty, value.clone())),
            (held, Some(field)) => {
                let shape = held.shape(name).map_err(|e| sql_error(&e, ""))?;
                match shape.iter().position(|(known, _)| known == field) {
                    Some(at) => Ok((shape[at].1, held.field(at))),
                    None => {
                        let text = format!("record \"{name}\" has no field \"{field}\"");
                        Err(SqlError::new(state::NO_COLUMN, text))
                    }
                }
            }
            (_, None) => Err(SqlError::unsupported("a subscript of a row")),
        }
    }

    /// Assigns to the part of a jsonb value that keys and indexes lead to.
    fn assign_json_part(
        &mut self,
        target: &Target,
        (held, subscripts): (&Datum<'_>, &[Sql]),
        ty: TypeRef,
        value: Datum<'static>,
    ) -> Result<()> {
        let mut steps = Vec::with_capacity(subscripts.len());
        let mut from_index = false;
        for (at, sql) in subscripts.iter().enumerate() {
            let (ty, step) = self.value(sql)?;
            let wanted = self.type_of_step(ty)?;
            from_index |= at == 0 && wanted == oids::INT4;
            steps.push(match self.convert(step, ty, TypeRef::new(wanted))? {
                Datum::Int4(index) => Some(index.to_string()),
                Datum::Text(key) => Some(key.into_owned()),
                _ => None,
            });
        }
        let value = self.convert(value, ty, TypeRef::new(JSONB))?;
        let catalog = Arc::clone(self.host.catalog());
        let asked = Asked::new(&self.host.view);
        asked.begin(&self.host.memory());
        let settings = crate::query::settings_of(&self.host.view);
        let cx = onlap_kernels::Cx { catalog: &catalog, settings: &settings, session: &asked };
        let stored = store_part(bytes_of(held), &steps, from_index, bytes_of(&value), &cx);
        let stored = Datum::bytes(stored.map_err(|e| sql_error(&e, ""))?);
        self.assign(target, TypeRef::new(JSONB), stored)
    }

    /// What a subscript of jsonb is taken as: int4 or text.
    fn type_of_step(&self, ty: TypeRef) -> Result<u32> {
        let catalog = self.host.catalog();
        let can = |to| can_convert(catalog, ty.oid, to, Context::Implicit);
        match (ty.oid, can(oids::INT4), can(oids::TEXT)) {
            (oids::UNKNOWN, ..) | (_, false, true) => Ok(oids::TEXT),
            (_, true, false) => Ok(oids::INT4),
            (_, both, _) => {
                let text = format!("subscript type {} is not supported", catalog.shown(ty.oid));
                Err(SqlError::new(state::MISMATCH, text).hint(match both {
                    true => "jsonb subscript must be coercible to only one type, integer or text.",
                    false => "jsonb subscript must be coercible to either integer or text.",
                }))
            }
        }
    }

    fn assign_field(
        &mut self,
        slot: Slot,
        field: &str,
        ty: TypeRef,
        value: Datum<'static>,
    ) -> Result<()> {
        let name = &self.body.slots[slot].name;
        let shape = self.held[slot].shape(name).map_err(|e| sql_error(&e, ""))?.clone();
        let Some(at) = shape.iter().position(|(known, _)| known == field) else {
            let text = format!("record \"{name}\" has no field \"{field}\"");
            return Err(SqlError::new(state::NO_COLUMN, text));
        };
        let value = self.convert(value, ty, shape[at].1)?;
        let mut held = self.held[slot].clone();
        let row = match &mut held {
            Held::Row(_, _, row) | Held::Record(row) => row,
            Held::Value(..) => return Err(no_row("a record variable")),
        };
        let row = row.get_or_insert_with(|| Row {
            values: vec![Datum::Null; shape.len()],
            shape: shape.clone(),
        });
        row.values[at] = value;
        self.put(slot, held)
    }

    /// Assigns a row to a variable of rows.
    ///
    /// # Errors
    /// Those of the conversions.
    pub(super) fn assign_row(&mut self, slot: Slot, row: Option<Row>) -> Result<()> {
        match self.held[slot].clone() {
            Held::Row(oid, shape, _) => {
                let Some(row) = row else { return self.put(slot, Held::Row(oid, shape, None)) };
                let mut given = row.shape.into_iter().zip(row.values);
                let mut values = Vec::with_capacity(shape.len());
                for (_, ty) in &shape {
                    values.push(match given.next() {
                        Some(((_, from), value)) => self.convert(value, from, *ty)?,
                        None => self.convert(Datum::Null, TypeRef::new(oids::UNKNOWN), *ty)?,
                    });
                }
                let row = Row { shape: shape.clone(), values };
                self.put(slot, Held::Row(oid, shape, Some(row)))
            }
            Held::Record(before) => {
                let row = row.or_else(|| {
                    let shape = before?.shape;
                    Some(Row { values: vec![Datum::Null; shape.len()], shape })
                });
                // A literal of an open type is a text.
                let row = row.map(|mut row| {
                    let open = row.shape.iter_mut().filter(|(_, ty)| ty.oid == oids::UNKNOWN);
                    open.for_each(|(_, ty)| *ty = TypeRef::new(oids::TEXT));
                    row
                });
                self.put(slot, Held::Record(row))
            }
            Held::Value(..) => Err(no_row("a record variable")),
        }
    }

    pub(super) fn put(&mut self, slot: Slot, held: Held) -> Result<()> {
        let declared = &self.body.slots[slot];
        let is_null = match &held {
            Held::Value(_, value) => value.is_null(),
            Held::Row(_, _, row) | Held::Record(row) => row.is_none(),
        };
        if declared.not_null && is_null {
            let name = &declared.name;
            let text =
                format!("null value cannot be assigned to variable \"{name}\" declared NOT NULL");
            return Err(SqlError::new("22004", text));
        }
        self.charge(self.held[slot].bytes(), held.bytes())?;
        self.held[slot] = held;
        Ok(())
    }

    /// A variable that has no value yet.
    pub(super) fn begin_variable(&mut self, slot: Slot) -> Result<()> {
        let declared = &self.body.slots[slot];
        let held = Held::of(&declared.kind);
        self.charge(self.held[slot].bytes(), 0)?;
        self.held[slot] = held;
        match &declared.default {
            Some(sql) => {
                let (ty, value) = self.value(sql)?;
                let is_scalar = matches!(self.held[slot], Held::Value(..));
                if !is_scalar && !value.is_null() && !is_row(self.host.catalog(), ty.oid) {
                    return Err(no_row("a record variable"));
                }
                self.assign(&Target { slot, field: None }, ty, value)
            }
            None => match &self.held[slot] {
                // A domain may have no NULL.
                Held::Value(ty, _) => {
                    let ty = *ty;
                    let catalog = self.host.catalog();
                    let base = TypeRef::new(catalog.base_type(ty.oid));
                    self.convert(Datum::Null, base, ty)?;
                    Ok(())
                }
                _ => Ok(()),
            },
        }
    }

    /// Assigns the columns of a row to variables; what there is no column for is NULL.
    ///
    /// # Errors
    /// Those of the conversions.
    pub(super) fn assign_columns(
        &mut self,
        targets: &[Target],
        shape: &Shape,
        values: Option<Vec<Datum<'static>>>,
    ) -> Result<()> {
        if let [Target { slot, field: None }] = targets
            && !matches!(self.held[*slot], Held::Value(..))
        {
            let is_none = values.is_none();
            let values = values.unwrap_or_else(|| vec![Datum::Null; shape.len()]);
            let row = Row { shape: shape.clone(), values };
            let row = match (&self.held[*slot], is_none) {
                (Held::Row(..), true) => None,
                _ => Some(row),
            };
            return self.assign_row(*slot, row);
        }
        let mut given = shape.iter().map(|(_, ty)| *ty).zip(values.unwrap_or_default());
        for target in targets {
            let (ty, value) = given.next().unwrap_or((TypeRef::new(oids::TEXT), Datum::Null));
            self.assign(target, ty, value)?;
        }
        Ok(())
    }

    /// The rows of a statement, one by one.
    pub(super) fn rows_of(given: &Given) -> impl Iterator<Item = Vec<Datum<'static>>> + '_ {
        let batches = given.kept.iter().flat_map(|kept| kept.iter());
        batches.flat_map(move |batch| {
            let shape = given.shape.as_ref();
            (0..batch.num_rows())
                .filter_map(move |row| Some(of_batch(&given.catalog, shape?, batch, row)))
        })
    }
}

fn bytes_of<'a>(value: &'a Datum<'_>) -> Option<&'a [u8]> {
    match value {
        Datum::Bytes(bytes) => Some(bytes),
        _ => None,
    }
}
