//! What do the templates of to_char, to_date and to_timestamp mean?
//!
//! A template is a list of fields with text between. Fields of moments are in [`moments`], those of numbers
//! in [`numbers`]. What is no field is text, as in PostgreSQL.

use crate::error::{Result, SqlError};
use crate::system::rows::Datum;
use crate::types::oid;

use super::rowwise::Rowwise;

mod moments;
mod numbers;
#[cfg(test)]
mod tests;

const DAY_US: i64 = 86_400_000_000;

/// All of them.
pub fn all() -> Vec<Rowwise> {
    vec![
        Rowwise::strict("to_char", oid::TEXT, |_| Err(no_such())).by_type(to_char),
        Rowwise::strict("to_date", oid::DATE, |a| {
            let us = moments::read(&text(a, 0), &text(a, 1))?;
            Ok(us.div_euclid(DAY_US).into())
        }),
        Rowwise::strict("to_timestamp", oid::TIMESTAMPTZ, |a| match a {
            [Datum::Text(_), _] => Ok(moments::read(&text(a, 0), &text(a, 1))?.into()),
            [seconds] => {
                let seconds: f64 = match seconds {
                    Datum::Int(v) => *v as f64,
                    Datum::Float(f) => *f,
                    other => other.text().parse().map_err(|_| no_such())?,
                };
                Ok(((seconds * 1e6).round() as i64).into())
            }
            _ => Err(no_such()),
        }),
    ]
}

fn no_such() -> SqlError {
    SqlError::new("42883", "there is no such function for these types")
        .hint("Give a time or a number and a template of text.")
}

fn text(arguments: &[Datum], at: usize) -> String {
    arguments.get(at).map(Datum::text).unwrap_or_default()
}

fn to_char(ty: u32, arguments: &[Datum]) -> Result<Datum> {
    let [value, template] = arguments else { return Err(no_such()) };
    let template = template.text();
    Ok(match ty {
        oid::TIMESTAMP | oid::TIMESTAMPTZ => {
            let us = value.int().ok_or_else(no_such)?;
            moments::write(us, &template)?.into()
        }
        oid::DATE => {
            let us = moments::read(&value.text(), "YYYY-MM-DD")?;
            moments::write(us, &template)?.into()
        }
        oid::INT2 | oid::INT4 | oid::INT8 | oid::NUMERIC | oid::FLOAT4 | oid::FLOAT8 => {
            numbers::write(&value.text(), &template)?.into()
        }
        _ => return Err(no_such()),
    })
}
