//! `row_to_json(t)`, `to_json(t)`, `json_agg(t)` of a table in FROM
//!
//! The planner has no values of whole rows. Where a function of JSON is given the name of a table, a view or a
//! subquery instead of a column, its columns are listed there.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, Select, SelectItem,
    SetExpr, Statement, TableFactor, VisitMut, VisitorMut, visit_expressions_mut,
};

use super::tuples::expression;
use crate::catalog::names::{fold, parts, quote};
use crate::error::{Result, SqlError};
use crate::view::{Relation, View};

/// Functions that take rows, and what they are called for them.
const OF_ROWS: &[(&str, &str)] = &[
    ("row_to_json", "row_to_json"),
    ("to_json", "to_json"),
    ("to_jsonb", "to_jsonb"),
    ("json_agg", "onlap_rows_agg"),
    ("jsonb_agg", "jsonb_agg"),
];

/// Rewrites all such calls of a statement.
///
/// # Errors
/// The columns of a row cannot be told.
pub fn rewrite(view: &View, statement: &mut Statement) -> Result<()> {
    match VisitMut::visit(statement, &mut Rows { view }) {
        ControlFlow::Break(e) => Err(e),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Rows<'a> {
    view: &'a View,
}

impl VisitorMut for Rows<'_> {
    type Break = SqlError;

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<SqlError> {
        let mut tables = Vec::new();
        for from in &select.from {
            let joined = from.joins.iter().map(|join| &join.relation);
            for factor in std::iter::once(&from.relation).chain(joined) {
                tables.extend(self.table(factor));
            }
        }
        visit_expressions_mut(&mut select.projection, |expr| match of_row(expr, &tables) {
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => ControlFlow::Break(e),
        })
    }
}

type Table = (String, Option<Vec<String>>);

impl Rows<'_> {
    /// The name of a table in FROM, and its columns where they can be told.
    fn table(&self, factor: &TableFactor) -> Option<Table> {
        match factor {
            TableFactor::Table { name, alias, args: None, .. } => {
                let parts = parts(name).ok()?;
                let shown = alias
                    .as_ref()
                    .map_or_else(|| parts.last().cloned(), |a| Some(fold(&a.name)))?;
                let renamed = alias.as_ref().is_some_and(|a| !a.columns.is_empty());
                let columns = match self.view.find(&parts) {
                    Ok(Some(Relation::Table(_, table))) if !renamed => Some(
                        table.schema().columns.iter().map(|c| c.name.clone()).collect::<Vec<_>>(),
                    ),
                    _ => None,
                };
                Some((shown, columns))
            }
            TableFactor::Derived { subquery, alias: Some(alias), .. } => {
                let columns = match alias.columns.is_empty() {
                    false => Some(alias.columns.iter().map(|c| fold(&c.name)).collect()),
                    true => match &*subquery.body {
                        SetExpr::Select(select) => {
                            select.projection.iter().map(name_of).collect::<Option<Vec<_>>>()
                        }
                        _ => None,
                    },
                };
                Some((fold(&alias.name), columns))
            }
            _ => None,
        }
    }
}

fn name_of(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(fold(alias)),
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => Some(fold(name)),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(names)) => names.last().map(fold),
        _ => None,
    }
}

fn of_row(expr: &mut Expr, tables: &[Table]) -> Result<()> {
    let Expr::Function(function) = expr else { return Ok(()) };
    let Some(name) = function.name.0.last().and_then(|part| part.as_ident()).map(fold) else {
        return Ok(());
    };
    let Some((_, called)) = OF_ROWS.iter().find(|(known, _)| *known == name) else {
        return Ok(());
    };
    let FunctionArguments::List(list) = &mut function.args else { return Ok(()) };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))] = list.args.as_mut_slice() else {
        return Ok(());
    };
    let Expr::Identifier(row) = &*argument else { return Ok(()) };
    let row = fold(row);
    let is_column = |(_, columns): &Table| columns.as_ref().is_some_and(|c| c.contains(&row));
    if tables.iter().any(is_column) {
        return Ok(());
    }
    let Some((_, columns)) = tables.iter().find(|(table, _)| *table == row) else { return Ok(()) };
    let Some(columns) = columns else {
        return Err(SqlError::unsupported(format!("a whole row of \"{row}\" as a value"))
            .hint("List its columns: json_build_object('a', a, …)."));
    };
    let pairs: Vec<String> = columns
        .iter()
        .map(|c| format!("'{}', {}.{}", c.replace('\'', "''"), quote(&row), quote(c)))
        .collect();
    *argument = expression(&format!("SELECT onlap_row_json({})", pairs.join(", ")))?;
    function.name = ObjectName::from(vec![Ident::new(*called)]);
    Ok(())
}
