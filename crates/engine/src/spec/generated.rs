//! How does a program describe a column that follows from others?

use onlap_base::{Error, ErrorKind, Result};
use onlap_format::{GeneratedSchema, TableSchema};

use super::TableSpec;

/// What a generated column is calculated from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedSpec {
    /// The column.
    pub column: String,
    /// Names of the columns that the program reads, in its order.
    pub reads: Vec<String>,
    /// What to calculate, for [`crate::Formulas`]. Its values are of the column's type.
    pub program: String,
}

impl TableSpec {
    /// Has a column that was named before calculated from others, none of which is calculated itself or filled by a counter:
    /// what a row brings for it is replaced, and it changes with them.
    #[must_use]
    pub fn generated(mut self, generated: GeneratedSpec) -> TableSpec {
        self.generated.push(generated);
        self
    }
}

impl GeneratedSpec {
    /// Adds it to a table that has the columns.
    pub(crate) fn add(&self, schema: &mut TableSchema) -> Result<()> {
        let refuse = |why: &str| {
            let text = format!(
                "column {} of table {} cannot be generated: {why}",
                self.column, schema.name
            );
            Err(Error::new(ErrorKind::Unsupported, text))
        };
        let position = |name: &String| {
            schema.position_by_name(name).ok_or_else(|| {
                let text = format!("table {} has no column {name}", schema.name);
                Error::new(ErrorKind::UnknownColumn, text)
            })
        };
        let at = position(&self.column)?;
        let reads = self.reads.iter().map(position).collect::<Result<Vec<_>>>()?;
        let column = &schema.columns[at];
        if schema.blind {
            return refuse("the table takes blind writes");
        }
        if column.is_serial() || column.default.is_some() {
            return refuse("it has a default");
        }
        let is_read = schema.generated_from(column.id).next().is_some();
        if is_read || schema.is_generated(at) {
            return refuse("it is generated, or read by a column that is");
        }
        let is_base = |at: &usize| !schema.columns[*at].is_serial() && !schema.is_generated(*at);
        if reads.contains(&at) || !reads.iter().all(is_base) {
            return refuse("it reads a column that is calculated");
        }
        let reads = reads.iter().map(|at| schema.columns[*at].id).collect();
        let generated = GeneratedSchema { column: column.id, reads, program: self.program.clone() };
        schema.generated.push(generated);
        schema.generated.sort_by_key(|of| of.column);
        Ok(())
    }
}
