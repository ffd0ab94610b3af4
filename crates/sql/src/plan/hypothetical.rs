//! Which indexes does EXPLAIN suppose that are not there?
//!
//! `onlap.hypothetical` has CREATE INDEX statements. EXPLAIN plans with a view in which the tables have these indexes, so that it
//! says what the planner would choose; no statement runs in such a view. Their names begin with a number in angle brackets, as no
//! index that was made without quotes does.
//!
//! Thread safety: plain data.

use std::sync::Arc;

use onlap::{IndexSpec, TableId, TableSchema};
use onlap_pg::ast::Statement;

use crate::error::{Result, SqlError};
use crate::parse;
use crate::source::strings;
use crate::view::View;

/// The setting.
pub const SETTING: &str = "onlap.hypothetical";

/// Statements that are read, at most: each makes plans longer.
const MOST: usize = 64;

/// An index that is supposed to be there.
#[derive(Clone, Debug)]
pub struct Supposed {
    /// The table.
    pub table: TableId,
    /// The index, with its name.
    pub spec: IndexSpec,
}

/// The view with the indexes that the setting supposes.
///
/// # Errors
/// The setting is no list of CREATE INDEX statements; those of such statements.
pub fn supposing(view: &View) -> Result<View> {
    let text = (view.settings)(SETTING).unwrap_or_default();
    let mut supposed = Vec::new();
    if text.trim().is_empty() {
        return Ok(view.clone());
    }
    for (at, parsed) in parse::statements(&text)?.iter().enumerate() {
        if at == MOST {
            return Err(invalid(format!("{SETTING} has more than {MOST} statements")));
        }
        let Statement::CreateIndex(create) = parsed.statement() else {
            return Err(invalid(format!("{SETTING} has a statement that is no CREATE INDEX")));
        };
        let (name, table) = view.table(&strings(&create.table.name))?;
        let source = parsed.bindable();
        let (spec, columns) =
            crate::ddl::described(view, parsed.source(&source), create, &name, &table)?;
        let own = match &create.name {
            Some(own) => own.to_string(),
            None => format!("{}_{}_idx", name.name, columns.join("_")),
        };
        let spec = spec.named(format!("<{}>{own}", at + 1));
        // It fails now where it would.
        spec.suppose(&table.schema())?;
        supposed.push(Supposed { table: table.schema().id, spec });
    }
    Ok(View { supposed: supposed.into(), ..view.clone() })
}

fn invalid(text: String) -> SqlError {
    SqlError::new("22023", text).hint("Write CREATE INDEX statements with semicolons between them.")
}

/// A table's form with the indexes that a view supposes.
pub fn with(view: &View, schema: Arc<TableSchema>) -> Arc<TableSchema> {
    let id = schema.id;
    let own = view.supposed.iter().filter(|of| of.table == id);
    own.fold(schema, |schema, of| match of.spec.suppose(&schema) {
        Ok(supposed) => Arc::new(supposed),
        // The table has changed since; the plan is of what there is.
        Err(_) => schema,
    })
}
