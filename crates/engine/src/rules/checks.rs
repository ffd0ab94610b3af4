//! Does a row pass the checks of its table?
//!
//! Conditions are bound to a schema version once and kept with the table; those that are formulas are calculated by who
//! calculates columns ([`crate::derive`]). As in PostgreSQL the first row that is wrong is refused, for the first of its checks by
//! name that it breaks.

use std::ops::Range;

use onlap_base::{ColumnId, Error, ErrorKind, Result, Subject};
use onlap_format::expr::Condition;
use onlap_format::{
    Batch, CheckSchema, ColumnSchema, DataType, Expr, Identity, TableSchema, Value, Vector, convert,
};

use crate::derive::{Calculator, Formula};

/// The checks of one schema version of a table.
#[derive(Debug)]
pub(crate) struct Checks {
    pub version: u32,
    /// Which of the table's checks each is, in the order of their names.
    rules: Vec<(usize, Rule)>,
}

#[derive(Debug)]
enum Rule {
    Condition(Condition),
    /// What the values of a formula are kept in: truths.
    Formula(ColumnSchema),
}

impl Rule {
    fn of(schema: &TableSchema, check: &CheckSchema) -> Result<Rule> {
        let is_gone = |id: &ColumnId| schema.position(*id).is_none();
        Ok(match &check.expr {
            Expr::Formula(_, reads) if reads.iter().any(is_gone) => {
                let text = format!("check {} of table {} reads no column", check.name, schema.name);
                return Err(Error::new(ErrorKind::Corruption, text));
            }
            Expr::Formula(_, _) => Rule::Formula(ColumnSchema {
                id: ColumnId(u32::MAX),
                name: check.name.clone(),
                ty: DataType::Bool,
                nullable: true,
                identity: Identity::None,
                default: None,
                missing: None,
            }),
            expr => Rule::Condition(expr.bind(schema)?),
        })
    }
}

impl Checks {
    pub(crate) fn of(schema: &TableSchema) -> Result<Checks> {
        let mut order: Vec<usize> = (0..schema.checks.len()).collect();
        order.sort_by(|a, b| schema.checks[*a].name.cmp(&schema.checks[*b].name));
        let rule = |at: usize| Ok((at, Rule::of(schema, &schema.checks[at])?));
        let rules = order.into_iter().map(rule).collect::<Result<_>>()?;
        Ok(Checks { version: schema.version, rules })
    }

    /// Refuses rows of a batch for which a check is false; the batch has the columns of `schema`.
    pub(crate) fn judge(
        &self,
        calculator: &Calculator,
        schema: &TableSchema,
        batch: &Batch,
        mut rows: Range<usize>,
    ) -> Result<()> {
        let mut refused = None;
        for (at, rule) in &self.rules {
            let check = &schema.checks[*at];
            let found = match rule {
                Rule::Condition(condition) => {
                    let found = condition.first_false(schema, batch, rows.clone());
                    let found = found.map_err(|e| {
                        let (name, text) = (&check.name, e.message());
                        let text = format!("check {name} of table {}: {text}", schema.name);
                        Error::new(e.kind(), text)
                    })?;
                    found.map(|row| (row, None))
                }
                Rule::Formula(kept) => {
                    let judged = Judged { calculator, schema, check, kept, batch };
                    judged.first_false(rows.clone())
                }
            };
            if let Some((row, error)) = found {
                assert!(rows.contains(&row), "a row that is judged is refused");
                refused = Some(error.unwrap_or_else(|| violated(schema, check, batch, row)));
                // Rows before it may break one of the others.
                rows.end = row;
            }
        }
        refused.map_or(Ok(()), Err)
    }
}

/// Rows that a formula judges.
struct Judged<'a> {
    calculator: &'a Calculator,
    schema: &'a TableSchema,
    check: &'a CheckSchema,
    kept: &'a ColumnSchema,
    batch: &'a Batch,
}

impl Judged<'_> {
    /// The first row for which it is false, or cannot be calculated: then with what is wrong.
    fn first_false(&self, rows: Range<usize>) -> Option<(usize, Option<Error>)> {
        match self.first_false_of(rows.clone()) {
            // Which of the rows it is, and whether one before it is refused, only each by itself tells.
            Err(_) if rows.len() > 1 => {
                let mut each = rows;
                each.find_map(|row| match self.first_false_of(row..row + 1) {
                    Ok(found) => found.map(|row| (row, None)),
                    Err(e) => Some((row, Some(e))),
                })
            }
            Err(e) => Some((rows.start, Some(e))),
            Ok(found) => found.map(|row| (row, None)),
        }
    }

    fn first_false_of(&self, rows: Range<usize>) -> Result<Option<usize>> {
        let Expr::Formula(program, reads) = &self.check.expr else {
            unreachable!("a rule is what its check is")
        };
        if rows.is_empty() {
            return Ok(None);
        }
        let formula = (Formula { column: self.kept, program }, &reads[..]);
        let made = self.calculator.condition(self.schema, formula, self.batch, rows.clone())?;
        assert_eq!(made.len(), rows.len(), "a truth for each row");
        let Vector::Int(truths) = &made.data else { unreachable!("truths are kept as numbers") };
        let is_false = |(at, truth): (usize, &i64)| *truth == 0 && !made.is_null(at);
        Ok(truths.iter().enumerate().position(is_false).map(|at| rows.start + at))
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
