//! Which functions may ask for rows that their own statement has written?
//!
//! PostgreSQL lets a volatile function see what its statement did before it was called. A statement that calls such a function
//! writes each row before it calculates the next one; others write many at once.

use onlap::{ColumnSchema, TableSchema};
use onlap_pg::bound::{Bound, Expr};

use crate::catalog::functions::Function;
use crate::catalog::names::quote;
use crate::ddl::defaults;
use crate::view::View;

/// Words without which no body reads a table.
const WORDS: [&str; 5] = ["from", "table", "perform", "execute", "call"];

/// Whether a function is volatile and its body may read tables, or call a function that may.
fn may_read(view: &View, function: &Function) -> bool {
    if function.volatility != 'v' || function.procedure || function.aggregate.is_some() {
        return false;
    }
    let body = function.source.to_ascii_lowercase();
    let functions = view.objects.functions();
    let mut others =
        functions.of_database(&view.database).filter(|other| other.oid != function.oid);
    WORDS.iter().any(|word| body.contains(word))
        || others.any(|other| body.contains(&other.name.name.to_ascii_lowercase()))
}

/// Whether a statement calls a function that may ask for rows.
pub fn asks(view: &View, tree: &Bound) -> bool {
    let functions = view.objects.functions();
    functions.has_any(&view.database)
        && tree.has(|expr| match expr {
            Expr::Call(call) => {
                functions.by_oid(call.proc).is_some_and(|function| may_read(view, function))
            }
            _ => false,
        })
}

/// Whether the default of a table's column calls a function that may ask for rows.
pub fn default_asks(view: &View, schema: &TableSchema) -> bool {
    let functions = view.objects.functions();
    if !functions.has_any(&view.database) {
        return false;
    }
    let asks = |sql: String| {
        // Kept texts name functions with their schemas.
        let is_called = |of: &&std::sync::Arc<Function>| {
            sql.contains(&format!("{}.{}(", quote(&of.name.schema), quote(&of.name.name)))
        };
        let mut called = functions.of_database(&view.database).filter(is_called);
        called.any(|function| may_read(view, function))
    };
    let computed = |column: &ColumnSchema| defaults::computed(view, schema.id, column);
    schema.columns.iter().filter_map(computed).any(asks)
}
