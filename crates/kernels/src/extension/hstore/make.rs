//! Which hstore is made of texts, arrays and rows?

use onlap_pg::{Error, Result};

use super::form::{Pair, store};
use crate::array::{Array, Record};
use crate::misc::rows::{called, strict, text};
use crate::{Cx, Datum, Kernel, Repr, Types, output};

fn wrong_subscripts() -> Error {
    Error::new("2202E", "wrong number of array subscripts")
}

fn null_key() -> Error {
    Error::new("22004", "null value not allowed for hstore key")
}

/// The text that an element is, if it is not NULL.
fn element<'a>(value: &'a Datum<'_>) -> Option<&'a str> {
    if value.is_null() { None } else { Some(text(value)) }
}

/// Of one key and its value.
pub fn of_two(types: &Types) -> Box<dyn Kernel> {
    called(types, |args, _| {
        let Some(key) = element(&args[0]) else { return Ok(Datum::Null) };
        Ok(Datum::bytes(store(vec![(key, element(&args[1]))])))
    })
}

/// Of keys and their values.
pub fn of_arrays(types: &Types) -> Box<dyn Kernel> {
    called(types, |args, _| {
        let Datum::Bytes(keys) = &args[0] else { return Ok(Datum::Null) };
        let keys = Array::load(keys, Repr::Text);
        let values = match &args[1] {
            Datum::Bytes(values) => Some(Array::load(values, Repr::Text)),
            _ => None,
        };
        if keys.ndims() > 1 || values.is_some_and(|values| values.ndims() > 1) {
            return Err(wrong_subscripts());
        }
        if values.is_some_and(|values| values.dims() != keys.dims()) {
            return Err(Error::new("2202E", "arrays must have same bounds"));
        }
        let keys: Vec<Datum<'_>> = keys.iter().collect();
        let values: Vec<Datum<'_>> = match values {
            Some(values) => values.iter().collect(),
            None => vec![Datum::Null; keys.len()],
        };
        let pair = |(key, value)| Ok((element(key).ok_or_else(null_key)?, element(value)));
        let pairs: Vec<Pair<'_>> = keys.iter().zip(&values).map(pair).collect::<Result<_>>()?;
        Ok(Datum::bytes(store(pairs)))
    })
}

/// Of keys and values in turn, or in rows of two.
pub fn of_array(types: &Types) -> Box<dyn Kernel> {
    strict(types, |args, _| {
        let Datum::Bytes(bytes) = &args[0] else { return Ok(Datum::Null) };
        let array = Array::load(bytes, Repr::Text);
        match array.ndims() {
            0 => {}
            1 if array.len() % 2 == 1 => {
                let message = "array must have even number of elements";
                return Err(Error::new("2202E", message));
            }
            2 if array.dim(1).length != 2 => {
                return Err(Error::new("2202E", "array must have two columns"));
            }
            1 | 2 => {}
            _ => return Err(wrong_subscripts()),
        }
        let all: Vec<Datum<'_>> = array.iter().collect();
        let pair = |pair: &'_ [Datum<'_>]| -> Result<(String, Option<String>)> {
            let key = element(&pair[0]).ok_or_else(null_key)?;
            Ok((key.to_string(), element(&pair[1]).map(str::to_string)))
        };
        let owned: Vec<_> = all.chunks_exact(2).map(pair).collect::<Result<_>>()?;
        Ok(Datum::bytes(store(borrowed(&owned))))
    })
}

fn borrowed(pairs: &[(String, Option<String>)]) -> Vec<Pair<'_>> {
    pairs.iter().map(|(key, value)| (key.as_str(), value.as_deref())).collect()
}

/// Of the fields of a row.
pub fn of_record(types: &Types) -> Box<dyn Kernel> {
    let row = types.args[0].oid;
    called(types, move |args, cx| {
        let known = cx.session.fields(row);
        let Datum::Bytes(bytes) = &args[0] else {
            // Of a row that is NULL all fields are.
            let names = known.unwrap_or_default();
            let pairs = names.iter().map(|(name, _)| (name.as_str(), None)).collect();
            return Ok(if names.is_empty() { Datum::Null } else { Datum::bytes(store(pairs)) });
        };
        let record = Record::load(bytes);
        let names: Vec<String> = match known {
            Some(fields) => fields.into_iter().map(|(name, _)| name).collect(),
            None => record.names().into_iter().map(String::from).collect(),
        };
        let mut pairs = Vec::with_capacity(names.len());
        for (name, (oid, value)) in names.into_iter().zip(record.fields(cx.catalog)) {
            pairs.push((name, shown(cx, oid, &value)?));
        }
        Ok(Datum::bytes(store(borrowed(&pairs))))
    })
}

fn shown(cx: &mut Cx<'_>, oid: u32, value: &Datum<'_>) -> Result<Option<String>> {
    if value.is_null() {
        return Ok(None);
    }
    let mut out = String::new();
    output(cx, oid, value, &mut out)?;
    Ok(Some(out))
}
