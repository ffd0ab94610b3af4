//! Which rows does COPY FROM … WHERE take?
//!
//! The condition is bound as that of a query over one row, whose values are its parameters; it is asked of each row when its
//! defaults are there, before any trigger.

use onlap::{Row, TableSchema, Value};
use onlap_kernels::Datum;
use onlap_pg::TypeRef;
use onlap_pg::grammar::{Kind, Tokens};

use crate::catalog::Name;
use crate::catalog::names::quote;
use crate::columns::{Types, print_kept};
use crate::error::{Result, SqlError, state};
use crate::parse;
use crate::query::Bound;
use crate::session::Parameter;
use crate::session::answer::Answer;
use crate::source::Source;
use crate::types::{PgType, oid};
use crate::view::View;

/// A condition on rows.
pub struct Filter {
    text: String,
    bound: Bound,
    types: Types,
    names: Vec<String>,
}

/// The text of the condition, which is the last part of the statement, and the bytes before it.
fn condition<'a>(source: Source<'a>) -> Result<(&'a str, usize)> {
    let tokens = Tokens::of(source.text);
    let word = |at: usize| {
        let token = &tokens.all[at];
        source.text.get(token.start as usize..token.end as usize).unwrap_or_default()
    };
    let mut depth = 0usize;
    let mut found = None;
    for (at, token) in tokens.all.iter().enumerate() {
        match word(at) {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            text if text.eq_ignore_ascii_case("where") && depth == 0 && found.is_none() => {
                found = Some(token.end as usize);
            }
            text if found.is_some()
                && matches!(token.kind, Kind::Word(_))
                && text.eq_ignore_ascii_case("select") =>
            {
                let text = "cannot use subquery in COPY FROM WHERE condition";
                let place = tokens.all[at.saturating_sub(1)].start;
                return Err(source.at(SqlError::new(state::UNSUPPORTED, text), place));
            }
            _ => {}
        }
    }
    let from = found.unwrap_or(source.text.len());
    Ok((source.text.get(from..).unwrap_or_default(), from))
}

/// An error of the condition, with PostgreSQL's name of the clause, at its place in the statement: `before`
/// characters are before the condition there, `within` in the query that asks it.
fn of_copy(error: SqlError, (before, within): (usize, usize)) -> SqlError {
    let text = error
        .message()
        .strip_suffix("are not allowed in WHERE")
        .map(|what| format!("{what}are not allowed in COPY FROM WHERE conditions"));
    let error = match text {
        Some(text) => error.with_message(text),
        None => error,
    };
    error.moved(|position| (position + before).saturating_sub(within))
}

impl Filter {
    /// Of a statement's condition.
    ///
    /// # Errors
    /// It is none; `0A000`: it has a subquery.
    pub fn of(
        view: &View,
        source: Source<'_>,
        name: &Name,
        schema: &TableSchema,
    ) -> Result<Filter> {
        let (condition, before) = condition(source)?;
        let (types, made) = (Types::of(&view.objects, schema), view.objects.made_types());
        let names: Vec<String> = schema.columns.iter().map(|c| c.name.clone()).collect();
        let item = |(at, name): (usize, &String)| {
            let plain = PgType { modifier: -1, ..types[at].pg };
            format!("${}::pg_catalog.text::{} AS {}", at + 1, made.written(plain), quote(name))
        };
        let items: Vec<String> = names.iter().enumerate().map(item).collect();
        let head =
            format!("SELECT 1 FROM (SELECT {}) AS {} WHERE (", items.join(", "), quote(&name.name));
        let text = format!("{head}{condition}\n)");
        let given = vec![Some(PgType::new(oid::TEXT)); names.len()];
        let before = source.text.get(..before).unwrap_or_default().chars().count();
        let places = (before, head.chars().count());
        let bound = Bound::must(view, &text, parse::depth_of(&text), &given);
        let bound = bound.map_err(|e| of_copy(e, places))?;
        view.must(bound.needs())?;
        Ok(Filter { text, bound, types, names })
    }

    /// Whether a row is taken.
    ///
    /// # Errors
    /// Those of the condition.
    pub fn takes(&self, view: &View, row: &Row) -> Result<bool> {
        let mut values = Vec::with_capacity(row.len());
        for (at, value) in row.iter().enumerate() {
            let array = self.types.decode_values(at, &self.names[at], std::iter::once(value))?;
            let value = match Datum::at(&array, self.types.repr(at), 0) {
                Datum::Null => Value::Null,
                datum => {
                    let ty = TypeRef::new(self.types[at].pg.oid);
                    Value::Text(print_kept(self.types.catalog(), ty, &datum)?)
                }
            };
            values.push(Parameter { ty: PgType::new(oid::TEXT), value });
        }
        match self.bound.run(view, &values, &self.text).map_err(SqlError::nowhere)? {
            Answer::Rows(mut rows) => Ok(rows.take(1)?.iter().any(|chunk| chunk.len() > 0)),
            Answer::Done(_) => Ok(false),
        }
    }
}
