//! CREATE INDEX.

use datafusion::sql::sqlparser::ast::{CreateIndex, Expr, IndexType};
use onlap::{IndexSpec, Table};

use super::change::notice;
use super::naming;
use crate::catalog::Name;
use crate::catalog::names::{fold, parts};
use crate::error::{Result, SqlError, state};
use crate::rights::Action;
use crate::session::Session;
use crate::view::View;
use crate::wire::Client;

/// CREATE INDEX.
///
/// # Errors
/// The name is taken; what Onlap does not have; equal keys.
pub fn create(
    session: &mut Session,
    view: &View,
    create: &CreateIndex,
    client: &mut dyn Client,
) -> Result<&'static str> {
    let (table_name, table) = view.table(&parts(&create.table_name)?)?;
    view.must_own(Action::Alter, &table_name, naming::Relation::Table)?;
    view.must_create_in(&table_name.schema)?;
    if create.concurrently && session.is_in_block() {
        let text = "CREATE INDEX CONCURRENTLY cannot run inside a transaction block";
        return Err(SqlError::new(state::ACTIVE_TRANSACTION, text));
    }
    let mut spec = described(create, &table)?;
    let name = match &create.name {
        Some(name) => parts(name)?.pop().unwrap_or_default(),
        None => {
            let is_taken = |name: &str| {
                let name = Name::new(&table_name.schema, name);
                !matches!(naming::find(view, &name), Ok(None))
            };
            let columns: Vec<String> = columns_of(create)?;
            let columns: Vec<String> =
                columns.into_iter().chain(create.include.iter().map(fold)).collect();
            naming::choose(&table_name.name, &columns.join("_"), "idx", &is_taken)
        }
    };
    if let Err(e) = naming::check_free(view, &Name::new(&table_name.schema, &name)) {
        if create.if_not_exists && e.state() == state::DUPLICATE_TABLE {
            notice(client, state::DUPLICATE_TABLE, format!("{}, skipping", e.message()));
            return Ok("CREATE INDEX");
        }
        return Err(e);
    }
    spec = spec.named(name);
    if session.is_in_block() || session.current()?.changed {
        view.scope.tx()?.create_index(&table, spec)?;
        session.catalog_changed()?;
    } else {
        session.current()?.changed_catalog = true;
        session.instance.db.create_index(&table.name(), spec)?;
    }
    Ok("CREATE INDEX")
}

fn columns_of(create: &CreateIndex) -> Result<Vec<String>> {
    let name = |part: &datafusion::sql::sqlparser::ast::IndexColumn| match &part.column.expr {
        Expr::Identifier(ident) => Ok(fold(ident)),
        _ => Err(SqlError::unsupported("an index on an expression")
            .hint("Keep the value in a column of its own.")),
    };
    create.columns.iter().map(name).collect()
}

fn described(create: &CreateIndex, table: &Table) -> Result<IndexSpec> {
    match &create.using {
        None | Some(IndexType::BTree) => {}
        Some(IndexType::Custom(name)) if fold(name) == "btree" => {}
        // What PostgreSQL's hash index answers, ours do.
        Some(IndexType::Hash) => {}
        Some(other) => {
            return Err(SqlError::unsupported(format!("access method \"{other}\"")));
        }
    }
    if create.predicate.is_some() {
        return Err(SqlError::unsupported("a partial index"));
    }
    if create.nulls_distinct == Some(false) {
        return Err(SqlError::unsupported("UNIQUE NULLS NOT DISTINCT"));
    }
    let schema = table.schema();
    let columns = columns_of(create)?;
    for column in columns.iter().cloned().chain(create.include.iter().map(fold)) {
        if schema.position_by_name(&column).is_none() {
            let text = format!("column \"{column}\" does not exist");
            return Err(SqlError::new(state::NO_COLUMN, text));
        }
    }
    let mut spec = IndexSpec::new("", columns.clone()).include(create.include.iter().map(fold));
    for (part, column) in create.columns.iter().zip(&columns) {
        let options = &part.column.options;
        let descending = options.asc == Some(false);
        if descending {
            spec = spec.descending(column);
        }
        // NULL is above all: last where the order rises, first where it falls.
        if options.nulls_first.is_some_and(|first| first != descending) {
            return Err(SqlError::unsupported("this place of NULL in an index")
                .hint("NULLS LAST goes with ASC, NULLS FIRST with DESC."));
        }
    }
    Ok(if create.unique { spec.unique() } else { spec })
}

/// An index by name, with its table.
///
/// # Errors
/// The transaction has ended.
pub fn find(view: &View, parts: &[String]) -> Result<Option<(Table, String)>> {
    let tables = view.tables()?;
    for name in view.candidates(parts)? {
        let found = tables.iter().find(|(table, t)| {
            table.schema == name.schema && t.schema().index_by_name(&name.name).is_some()
        });
        if let Some((_, table)) = found {
            return Ok(Some((table.clone(), name.name)));
        }
    }
    Ok(None)
}
