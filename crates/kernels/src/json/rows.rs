//! Which row values do json_populate_record, json_to_record and their like give?
//!
//! Which fields there are says the row that a call is given, or the list of definitions in FROM, which the executor has.
//! Thread safety: pure functions.

use onlap_pg::catalog::oids;
use onlap_pg::{Error, Oid, Result, TypeRef};

use super::populate::{Field, Source, populate, populate_set};
use crate::array::Record;
use crate::array::record::build_named;
use crate::misc::rows::{called, representation};
use crate::series::{Rows, Series, SeriesEntry};
use crate::{Cx, Datum, Entry, Types};

/// Functions.
pub(super) const ENTRIES: &[Entry] = &[
    ("json_populate_record(anyelement,json,bool)", |types| {
        let (own, row) = (types.args[0].oid, row_type(types));
        called(types, move |args, cx| one("json_populate_record", (own, row), args, cx))
    }),
    ("jsonb_populate_record(anyelement,jsonb)", |types| {
        let (own, row) = (types.args[0].oid, row_type(types));
        called(types, move |args, cx| one("jsonb_populate_record", (own, row), args, cx))
    }),
];

/// Functions that give sets.
pub(super) const SERIES: &[SeriesEntry] = &[
    ("json_populate_recordset(anyelement,json,bool)", |types| {
        several("json_populate_recordset", types)
    }),
    ("jsonb_populate_recordset(anyelement,jsonb)", |types| {
        several("jsonb_populate_recordset", types)
    }),
];

/// The type of the row that a call is given, below domains; `None` where it is no row.
fn row_type(types: &Types) -> Option<Oid> {
    let oid = types.catalog.base_type(types.args[0].oid);
    (oid == oids::RECORD || types.catalog.is_composite(oid)).then_some(oid)
}

/// The fields of rows of a type, as far as it has a name.
fn fields_of(cx: &Cx<'_>, row: Oid) -> Vec<(Box<str>, TypeRef)> {
    let known = if row == oids::RECORD { None } else { cx.session.fields(row) };
    known.into_iter().flatten().map(|(name, ty)| (name.into(), ty)).collect()
}

fn no_row(function: &str) -> Error {
    Error::new("42804", format!("first argument of {function} must be a row type"))
}

fn one(
    function: &str,
    (own, row): (Oid, Option<Oid>),
    args: &[Datum<'_>],
    cx: &mut Cx<'_>,
) -> Result<Datum<'static>> {
    let row = row.ok_or_else(|| no_row(function))?;
    let defined = fields_of(cx, row);
    let made = rows_of(cx, function, args, &defined)?.pop().unwrap_or(Datum::Null);
    cx.keep_to(own, &made)?;
    Ok(made)
}

fn several(function: &'static str, types: &Types) -> Box<dyn Series> {
    let (own, row) = (types.args[0].oid, row_type(types));
    let served = representation(types, types.args[0].oid).map(drop);
    Box::new(move |args: &[Datum<'_>], cx: &mut Cx<'_>| -> Result<Rows> {
        served.clone()?;
        let row = row.ok_or_else(|| no_row(function))?;
        let defined = fields_of(cx, row);
        let rows = rows_of(cx, function, args, &defined)?;
        rows.iter().try_for_each(|row| cx.keep_to(own, row))?;
        Ok(Box::new(rows.into_iter().map(|row| Ok(vec![row]))))
    })
}

/// The row values of a call, one where the function gives no set. `defined` are the fields where no row says so.
///
/// # Errors
/// `0A000`: nothing says which fields there are; those of [`populate`].
pub fn rows_of(
    cx: &mut Cx<'_>,
    function: &str,
    args: &[Datum<'_>],
    defined: &[(Box<str>, TypeRef)],
) -> Result<Vec<Datum<'static>>> {
    let is_set = function.ends_with("set");
    let (base, value) = match (function.contains("populate"), args) {
        (true, [base, value, ..]) => (base.clone(), value),
        (_, args) => (Datum::Null, &args[0]),
    };
    let source = match value {
        Datum::Text(text) => Source::Text(text),
        Datum::Bytes(bytes) => Source::Tree(bytes),
        _ if is_set => return Ok(Vec::new()),
        _ => return Ok(vec![base.into_owned()]),
    };
    let record = match &base {
        Datum::Bytes(bytes) => Some(Record::load(bytes)),
        _ => None,
    };
    let mut names: Vec<String> = defined.iter().map(|(name, _)| name.to_string()).collect();
    let mut known: Vec<(TypeRef, Datum<'_>)> =
        defined.iter().map(|(_, ty)| (*ty, Datum::Null)).collect();
    if let Some(record) = &record {
        let values = record.fields(cx.catalog);
        if known.len() == values.len() {
            // The names and modifiers of a type that has a name.
            known.iter_mut().zip(values).for_each(|(known, (_, value))| known.1 = value);
        } else {
            names = record.names().into_iter().map(String::from).collect();
            known = values.into_iter().map(|(o, v)| (TypeRef::new(o), v)).collect();
        }
    } else if defined.is_empty() {
        let text = format!("could not determine row type for result of {function}");
        let hint = "Provide a non-null record argument, or call the function in the FROM clause \
                    using a column definition list.";
        return Err(Error::new("0A000", text).hint(hint));
    }
    let mut fields: Vec<Field<'_>> = Vec::with_capacity(names.len());
    for (name, (ty, default)) in names.iter().zip(&known) {
        fields.push(Field { name, ty: *ty, default: default.clone() });
    }
    let rows = match is_set {
        true => populate_set(cx, function, source, &fields)?,
        false => vec![populate(cx, source, &fields)?],
    };
    let is_own = |(n, name): (usize, &String)| *name == format!("f{}", n + 1);
    let shown: Vec<&str> = match names.iter().enumerate().all(is_own) {
        true => Vec::new(),
        false => names.iter().map(String::as_str).collect(),
    };
    let row = |values: Vec<Datum<'static>>| {
        let typed: Vec<_> = fields.iter().map(|field| field.ty.oid).zip(values).collect();
        build_named(&shown, &typed).map(Datum::bytes)
    };
    rows.into_iter().map(row).collect()
}
