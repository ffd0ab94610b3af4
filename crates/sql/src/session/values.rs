//! What are the values of a statement's parameters?

use std::borrow::Cow;

use onlap::Value;

use super::Session;
use crate::encoding::{Encoding, Form};
use crate::error::{Result, SqlError, state};
use crate::query::Reader;
use crate::routine::VOID;
use crate::settings::Id;
use crate::types::{PgType, binary_value, oid, plain_value, sent_text, whole};
use crate::view::View;

/// A parameter's value and type.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its type.
    pub ty: PgType,
    /// Its value, as the engine has it.
    pub value: Value,
}

/// Formats are none, one for all, or one each.
pub(super) fn check_formats(
    (values, given): (usize, &[i16]),
    (columns, wanted): (Option<usize>, &[i16]),
) -> Result<()> {
    let text = match columns {
        _ if given.len() > 1 && given.len() != values => {
            let given = given.len();
            format!("bind message has {given} parameter formats but {values} parameters")
        }
        Some(columns) if wanted.len() > 1 && wanted.len() != columns => {
            let wanted = wanted.len();
            format!("bind message has {wanted} result formats but query has {columns} columns")
        }
        _ => return Ok(()),
    };
    Err(SqlError::new(state::PROTOCOL, text))
}

impl Session {
    /// A parameter as a client sent it, with texts in UTF-8.
    pub(super) fn decoded<'v>(
        &self,
        ty: PgType,
        value: &'v [u8],
        format: i16,
    ) -> Result<Cow<'v, [u8]>> {
        if value.is_ascii() {
            return Ok(Cow::Borrowed(value));
        }
        let encoding = Encoding::named(self.settings.text(Id::ClientEncoding));
        if encoding.is_plain() {
            return Ok(Cow::Borrowed(value));
        }
        let is_enum = || {
            let objects = self.instance.objects();
            objects.made_types().get(ty.oid).is_some_and(|made| !made.labels().is_empty())
        };
        let form = match Form::of(ty.oid) {
            _ if format == 0 => Form::Text,
            Form::Bytes if is_enum() => Form::Text,
            form => form,
        };
        form.turned(value, |text| encoding.decoded(text))
    }

    /// A parameter that a client gives. What a text does not say plainly is read as the same text in a statement.
    pub(super) fn parameter(
        &mut self,
        ty: PgType,
        value: Option<&[u8]>,
        format: i16,
    ) -> Result<Parameter> {
        if ty.oid == VOID {
            // It has no values, and is of no argument: drivers send it in the place of an OUT parameter.
            return Ok(Parameter { ty, value: Value::Null });
        }
        match value.filter(|_| format == 0) {
            Some(bytes) => {
                let text = sent_text(bytes)?;
                let utc = self.settings.text(Id::TimeZone) == "UTC";
                let value = match plain_parameter(ty, text, utc) {
                    Some(value) => value,
                    None => self.in_view(|_, view| Reader::new(view).parameter(ty, text))?,
                };
                Ok(Parameter { ty, value })
            }
            _ => match value.filter(|bytes| format == 1 && is_sent(ty, bytes)) {
                Some(bytes) => {
                    // It travels on as its text.
                    let text = self.in_view(|_, view| Reader::new(view).sent_text(ty, bytes))?;
                    Ok(Parameter { ty, value: Value::Text(text) })
                }
                None => parameter(ty, value, format),
            },
        }
    }
}

/// Whether the binary form of a type's values is none of the engine's.
fn is_sent(ty: PgType, bytes: &[u8]) -> bool {
    let may_be_long = matches!(ty.oid, oid::NUMERIC | oid::TIMESTAMP | oid::TIMESTAMPTZ);
    let is_long = may_be_long && binary_value(ty, bytes).is_err();
    is_long || ty.oid != 0 && (ty.engine().is_none() || ty.oid == oid::CHAR)
}

fn parameter(ty: PgType, value: Option<&[u8]>, format: i16) -> Result<Parameter> {
    let Some(bytes) = value else { return Ok(Parameter { ty, value: Value::Null }) };
    if format != 1 {
        let text = format!("unsupported format code: {format}");
        return Err(SqlError::new(state::BAD_PARAMETER, text));
    }
    Ok(Parameter { ty, value: binary_value(ty, bytes)? })
}

/// The value of a parameter that is given as PostgreSQL prints values of its type.
///
/// # Errors
/// It is none of the type.
pub(crate) fn of_text(view: &View, ty: PgType, text: &str) -> Result<Value> {
    match plain_parameter(ty, text, false) {
        Some(value) => Ok(value),
        None => Reader::new(view).parameter(ty, text),
    }
}

/// The value of a parameter whose text says it plainly.
fn plain_parameter(ty: PgType, text: &str, utc: bool) -> Option<Value> {
    match ty.oid {
        0 | oid::TEXT | oid::UNKNOWN | oid::VARCHAR | oid::BPCHAR | oid::CHAR => {
            Some(Value::Text(text.to_string()))
        }
        oid::OID => {
            let n = whole(text.as_bytes()).filter(|n| u32::try_from(*n).is_ok());
            n.map(Value::Int)
        }
        oid::NAME | oid::REGCLASS | oid::REGTYPE | oid::REGPROC => None,
        oid::REGPROCEDURE | oid::REGROLE | oid::REGNAMESPACE | oid::XML => None,
        _ => match ty.engine() {
            Some(engine) => plain_value(engine, text, utc),
            None => Some(Value::Text(text.to_string())),
        },
    }
}

/// What was under way when a parameter could not be read.
pub(super) fn within_bind(
    e: SqlError,
    portal: &str,
    number: usize,
    text: Option<&[u8]>,
) -> SqlError {
    let mut place = match portal {
        "" => format!("unnamed portal parameter ${number}"),
        name => format!("portal \"{name}\" parameter ${number}"),
    };
    // PostgreSQL shows as much of the value as log_parameter_max_length_on_error says: nothing.
    match text {
        Some([]) => place += " = ''",
        Some(_) => place += " = '...'",
        None => {}
    }
    if e.has_context() { e.around(&place) } else { e.context(place) }
}
