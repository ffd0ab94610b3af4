//! Which indexes does EXPLAIN suppose that are not there?
//!
//! `onlap.hypothetical` has CREATE INDEX statements. EXPLAIN plans with a view in which the tables have these indexes, so that it
//! says what the planner would choose; no statement runs in such a view. Their names begin with a number in angle brackets, as no
//! index that was made without quotes does.
//!
//! Thread safety: plain data.

use std::sync::Arc;

use onlap::{IndexSpec, TableId, TableSchema};
use onlap_pg::ast::{CreateIndex, Statement};

use crate::error::{Result, SqlError, state};
use crate::parse::{self, Parsed};
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

/// The view with the indexes that the setting supposes. A statement about what is not there (any more) is left out, and `told`
/// gets to know it: the setting outlives tables.
///
/// # Errors
/// The setting is no list of CREATE INDEX statements; what else such statements fail with.
pub fn supposing(view: &View, told: &mut dyn FnMut(String)) -> Result<View> {
    let text = (view.settings)(SETTING).unwrap_or_default();
    let mut supposed = Vec::new();
    if text.trim().is_empty() {
        return Ok(view.clone());
    }
    let all = parse::statements(&text);
    let all = all.map_err(|e| invalid(format!("{SETTING} cannot be read: {}", e.message())))?;
    for (at, parsed) in all.iter().enumerate() {
        if at == MOST {
            return Err(invalid(format!("{SETTING} has more than {MOST} statements")));
        }
        let Statement::CreateIndex(create) = parsed.statement() else {
            return Err(invalid(format!("{SETTING} has a statement that is no CREATE INDEX")));
        };
        match one(view, at + 1, parsed, create) {
            Ok(index) => supposed.push(index),
            Err(e) if MISSING.contains(&e.state()) => {
                told(format!("statement {} of {SETTING} is left out: {}", at + 1, e.message()));
            }
            Err(e) => return Err(e),
        }
    }
    Ok(View { supposed: supposed.into(), ..view.clone() })
}

/// What is said of something that is not there.
const MISSING: [&str; 5] =
    [state::NO_TABLE, state::NO_COLUMN, state::NO_OBJECT, state::NO_FUNCTION, "3F000"];

fn one(view: &View, number: usize, parsed: &Parsed, create: &CreateIndex) -> Result<Supposed> {
    let (name, table) = view.table(&strings(&create.table.name))?;
    let source = parsed.bindable();
    let (spec, columns) =
        crate::ddl::described(view, parsed.source(&source), create, &name, &table)?;
    let own = match &create.name {
        Some(own) => own.to_string(),
        None => format!("{}_{}_idx", name.name, columns.join("_")),
    };
    let spec = spec.named(format!("<{number}>{own}"));
    // It fails now where it would.
    spec.suppose(&table.schema())?;
    Ok(Supposed { table: table.schema().id, spec })
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
