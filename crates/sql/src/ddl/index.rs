//! CREATE INDEX.

use datafusion::sql::sqlparser::ast::{CreateIndex, Expr};
use onlap::IndexSpec;

use crate::catalog::names::{fold, parts};
use crate::error::{Result, SqlError, state};
use crate::session::Session;
use crate::view::View;
use crate::wire::Client;

/// CREATE INDEX.
pub fn create(
    session: &mut Session,
    view: &View,
    create: &CreateIndex,
    client: &mut dyn Client,
) -> Result<&'static str> {
    let (table_name, table) = view.table(&parts(&create.table_name)?)?;
    if create.predicate.is_some() {
        return Err(SqlError::unsupported("a partial index"));
    }
    let mut columns = Vec::new();
    let mut descending = Vec::new();
    for part in &create.columns {
        let Expr::Identifier(ident) = &part.column.expr else {
            return Err(SqlError::unsupported("an index on an expression"));
        };
        let column = fold(ident);
        if part.column.options.asc == Some(false) {
            descending.push(column.clone());
        }
        columns.push(column);
    }
    let name = match &create.name {
        Some(name) => parts(name)?.pop().unwrap_or_default(),
        None => format!("{}_{}_idx", table_name.name, columns.join("_")),
    };
    if table.schema().index_by_name(&name).is_some() {
        let text = format!("relation \"{name}\" already exists");
        let error = SqlError::new(state::DUPLICATE_TABLE, text);
        if create.if_not_exists {
            client.reply().notice("NOTICE", &error);
            return Ok("CREATE INDEX");
        }
        return Err(error);
    }
    let mut spec = IndexSpec::new(name, columns).include(create.include.iter().map(fold));
    for column in &descending {
        spec = spec.descending(column);
    }
    if create.unique {
        spec = spec.unique();
    }
    match session.is_in_block() {
        true => view.scope.tx()?.create_index(&table, spec)?,
        false => session.instance.db.create_index(&table.name(), spec)?,
    }
    session.current()?.changed_catalog = true;
    Ok("CREATE INDEX")
}
