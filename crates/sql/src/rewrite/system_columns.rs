//! What is `tableoid` of a table of the system?
//!
//! A number, known from the table's name.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Select, TableFactor, TableWithJoins, Value, visit_expressions_mut,
};

use crate::catalog::names::fold;
use crate::system::definitions;
use crate::view::PG_CATALOG;

/// Puts numbers in the place of `alias.tableoid`.
pub fn replace(select: &mut Select) {
    let mut tables = Vec::new();
    select.from.iter().for_each(|from| collect(from, &mut tables));
    if tables.is_empty() {
        return;
    }
    let _ = visit_expressions_mut(select, |expr| {
        if let Expr::CompoundIdentifier(parts) = expr
            && let [table, column] = &parts[..]
            && fold(column) == "tableoid"
            && let Some((_, oid)) = tables.iter().find(|(alias, _)| *alias == fold(table))
        {
            *expr = Expr::Value(Value::Number(oid.to_string(), false).into());
        }
        ControlFlow::<()>::Continue(())
    });
}

fn collect(from: &TableWithJoins, tables: &mut Vec<(String, u32)>) {
    let factors = std::iter::once(&from.relation).chain(from.joins.iter().map(|j| &j.relation));
    for factor in factors {
        match factor {
            TableFactor::Table { name, alias, args: None, .. } => {
                let Some(ident) = name.0.last().and_then(|part| part.as_ident()) else { continue };
                let name = fold(ident);
                if let Some(definition) = definitions::find(PG_CATALOG, &name) {
                    let alias = alias.as_ref().map_or(name, |a| fold(&a.name));
                    tables.push((alias, definition.oid));
                }
            }
            TableFactor::NestedJoin { table_with_joins, .. } => collect(table_with_joins, tables),
            _ => {}
        }
    }
}
