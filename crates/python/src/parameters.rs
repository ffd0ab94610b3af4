//! What does a Python value say to a statement?
//!
//! Parameters travel as PostgreSQL's text, with the type that Python's value has by itself; strings, lists and dicts
//! without one, so that the statement says what they mean, as a literal in quotes.

use std::fmt::Write as _;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

/// A type's OID, 0 where the statement says it, and the value as text.
pub type Parameter = (u32, Option<String>);

/// Values of a statement's parameters.
pub struct Parameters(pub Vec<Parameter>);

impl<'a, 'py> FromPyObject<'a, 'py> for Parameters {
    type Error = PyErr;

    fn extract(values: Borrowed<'a, 'py, PyAny>) -> PyResult<Parameters> {
        let mut all = Vec::new();
        for value in values.try_iter()? {
            all.push(parameter(&value?)?);
        }
        Ok(Parameters(all))
    }
}

fn parameter(value: &Bound<'_, PyAny>) -> PyResult<Parameter> {
    if value.is_none() {
        return Ok((0, None));
    }
    let (oid, mut text) = (oid(value)?, String::new());
    write_value(value, &mut text)?;
    Ok((oid, Some(text)))
}

/// The type that a value has by itself.
fn oid(value: &Bound<'_, PyAny>) -> PyResult<u32> {
    if value.is_instance_of::<PyBool>() {
        return Ok(16);
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(match value.extract::<i64>() {
            Ok(number) if i32::try_from(number).is_ok() => 23,
            Ok(_) => 20,
            Err(_) => 1700,
        });
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(701);
    }
    if value.is_instance_of::<PyBytes>() {
        return Ok(17);
    }
    Ok(match &class_of(value)?[..] {
        "datetime.datetime" | "pandas._libs.tslibs.timestamps.Timestamp" => {
            if value.getattr("tzinfo")?.is_none() { 1114 } else { 1184 }
        }
        "datetime.date" => 1082,
        "datetime.time" => 1083,
        "datetime.timedelta" => 1186,
        "decimal.Decimal" => 1700,
        "uuid.UUID" => 2950,
        _ => 0,
    })
}

fn class_of(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let class = value.get_type();
    Ok(format!("{}.{}", class.module()?, class.qualname()?))
}

/// Writes a value as PostgreSQL reads it.
fn write_value(value: &Bound<'_, PyAny>, out: &mut String) -> PyResult<()> {
    if let Ok(text) = value.cast::<PyString>() {
        out.push_str(text.to_cow()?.as_ref());
    } else if value.is_instance_of::<PyBool>() {
        out.push(if value.extract()? { 't' } else { 'f' });
    } else if let Ok(bytes) = value.cast::<PyBytes>() {
        out.push_str("\\x");
        for byte in bytes.as_bytes() {
            write!(out, "{byte:02x}").expect("strings take any text");
        }
    } else if value.is_instance_of::<PyDict>() {
        let text = value.py().import("json")?.call_method1("dumps", (value,))?;
        out.push_str(text.cast::<PyString>()?.to_cow()?.as_ref());
    } else if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        write_array(value, out)?;
    } else {
        out.push_str(plain(value)?.cast::<PyString>()?.to_cow()?.as_ref());
    }
    Ok(())
}

/// A value whose own text is PostgreSQL's.
fn plain<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>() {
        return value.str().map(Bound::into_any);
    }
    match &class_of(value)?[..] {
        "datetime.datetime"
        | "datetime.date"
        | "datetime.time"
        | "pandas._libs.tslibs.timestamps.Timestamp" => value.call_method0("isoformat"),
        "datetime.timedelta" => {
            let days: i64 = value.getattr("days")?.extract()?;
            let seconds: i64 = value.getattr("seconds")?.extract()?;
            let micros: i64 = value.getattr("microseconds")?.extract()?;
            let text = format!("{days} days {seconds}.{micros:06} seconds");
            Ok(PyString::new(value.py(), &text).into_any())
        }
        "decimal.Decimal" | "uuid.UUID" => value.str().map(Bound::into_any),
        class if class.starts_with("numpy.") => value.call_method0("item").and_then(|item| {
            // What has no value of Python's is given back as it is.
            match item.get_type().is(value.get_type()) {
                true => Err(refused(class)),
                false => plain(&item),
            }
        }),
        class => Err(refused(class)),
    }
}

fn refused(class: &str) -> PyErr {
    PyTypeError::new_err(format!("{class} is no value of SQL; give its text"))
}

/// An array's text: elements in quotes, so that none is taken for NULL.
fn write_array(items: &Bound<'_, PyAny>, out: &mut String) -> PyResult<()> {
    out.push('{');
    for (at, item) in items.try_iter()?.enumerate() {
        let item = item?;
        if at > 0 {
            out.push(',');
        }
        if item.is_none() {
            out.push_str("NULL");
        } else if item.is_instance_of::<PyList>() || item.is_instance_of::<PyTuple>() {
            write_array(&item, out)?;
        } else {
            let mut text = String::new();
            write_value(&item, &mut text)?;
            out.push('"');
            for character in text.chars() {
                if matches!(character, '"' | '\\') {
                    out.push('\\');
                }
                out.push(character);
            }
            out.push('"');
        }
    }
    out.push('}');
    Ok(())
}
