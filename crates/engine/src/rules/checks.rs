//! Does a row pass the checks of its table?
//!
//! Conditions are bound to a schema version once and kept with the table.

use std::ops::Range;

use onlap_base::{Error, ErrorKind, Result, Subject};
use onlap_format::expr::Condition;
use onlap_format::{Batch, CheckSchema, TableSchema, Value, convert};

/// The checks of one schema version of a table.
#[derive(Debug)]
pub(crate) struct Checks {
    pub version: u32,
    /// Which of the table's checks each is: they are judged in the order of their names, as in PostgreSQL.
    conditions: Vec<(usize, Condition)>,
}

impl Checks {
    pub(crate) fn of(schema: &TableSchema) -> Result<Checks> {
        let mut order: Vec<usize> = (0..schema.checks.len()).collect();
        order.sort_by(|a, b| schema.checks[*a].name.cmp(&schema.checks[*b].name));
        let bound = |at: usize| Ok((at, schema.checks[at].expr.bind(schema)?));
        let conditions = order.into_iter().map(bound).collect::<Result<_>>()?;
        Ok(Checks { version: schema.version, conditions })
    }

    /// Refuses rows of a batch for which a check is false; the batch has the columns of `schema`.
    pub(crate) fn judge(
        &self,
        schema: &TableSchema,
        batch: &Batch,
        rows: Range<usize>,
    ) -> Result<()> {
        for (at, condition) in &self.conditions {
            let check = &schema.checks[*at];
            match condition.first_false(schema, batch, rows.clone()) {
                Ok(None) => {}
                Ok(Some(row)) => return Err(violated(schema, check, batch, row)),
                Err(e) => {
                    let text =
                        format!("check {} of table {}: {}", check.name, schema.name, e.message());
                    return Err(Error::new(e.kind(), text));
                }
            }
        }
        Ok(())
    }
}

fn violated(schema: &TableSchema, check: &CheckSchema, batch: &Batch, row: usize) -> Error {
    let shown = |id| {
        let at = schema.position(id)?;
        let column = &schema.columns[at];
        let value = convert::read_value(column.ty, &batch.columns[at], row);
        let mut text = String::new();
        match value {
            Value::Null => text.push_str("NULL"),
            value => convert::format_text(column.ty, &value, &mut text),
        }
        Some(format!("{} = {}", column.name, short(text.trim_end())))
    };
    let values: Vec<String> = check.expr.columns().into_iter().filter_map(shown).collect();
    let text = format!(
        "a row of table {} violates check {}: {}",
        schema.name,
        check.name,
        values.join(", ")
    );
    Error::new(ErrorKind::CheckViolation, text).about(Subject {
        table: schema.name.clone(),
        constraint: Some(check.name.clone()),
        row: convert::row_texts(schema, |at| {
            convert::read_value(schema.columns[at].ty, &batch.columns[at], row)
        }),
        ..Subject::default()
    })
}

/// The beginning of a text, for messages.
fn short(text: &str) -> &str {
    text.char_indices().nth(40).map_or(text, |(at, _)| &text[..at])
}
