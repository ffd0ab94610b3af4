//! Which statements need no planner?
//!
//! The native tier: reads and changes of one table by its indexes, bound straight from the parsed
//! statement and answered from the engine's blocks. It declines every clause that it does not know, and at
//! run time every value whose comparison with a column is more than that of the column's type; what it
//! declines the planner does. `SET fast_path = off` switches it off, which never changes an answer.
//!
//! | statement | module |
//! |---|---|
//! | SELECT of columns, with conditions on columns, ORDER BY, LIMIT, DISTINCT | [`select`]; with FOR UPDATE, [`locking`] |
//! | count, sum, min, max without GROUP BY | [`aggregate`] |
//! | UPDATE and DELETE by conditions that indexes decide | [`change`] |
//! | INSERT of literals and parameters | [`insert`]; of many literals, [`literals`] |

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    Expr, GroupByExpr, Query, Select as SelectAst, SelectFlavor, SetExpr, Statement, TableFactor,
    TableWithJoins,
};
use onlap::{Table, TableSchema};

use crate::catalog::names::{fold, parts};
use crate::error::Result;
use crate::rights::ask::{numbers, of_table};
use crate::rights::{Action, Need};
use crate::scope::Scope;
use crate::session::Parameter;
use crate::session::answer::{Answer, AnswerColumn};
use crate::types::PgType;
use crate::view::{Relation, View};

mod aggregate;
mod change;
mod conditions;
mod insert;
pub mod literals;
mod locking;
mod select;

pub use select::{Select, answer_column, bytes_of};

/// A statement of the native tier.
#[derive(Debug)]
pub enum Fast {
    /// Rows of a table.
    Select(Select),
    /// One row of aggregates.
    Aggregate(aggregate::Aggregate),
    /// UPDATE or DELETE.
    Change(change::Change),
    /// INSERT.
    Insert(insert::Insert),
}

/// The table of a statement.
#[derive(Clone)]
pub struct Source {
    /// The engine's table.
    pub table: Table,
    /// Its columns and indexes.
    pub schema: Arc<TableSchema>,
    /// What the statement calls it.
    pub alias: String,
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.schema.name)
    }
}

impl Source {
    /// Position of the column that an expression names.
    fn column(&self, expr: &Expr) -> Option<usize> {
        match expr {
            Expr::Identifier(ident) => self.schema.position_by_name(&fold(ident)),
            Expr::CompoundIdentifier(idents) => match &idents[..] {
                [table, column] if fold(table) == self.alias => {
                    self.schema.position_by_name(&fold(column))
                }
                _ => None,
            },
            Expr::Nested(inner) => self.column(inner),
            _ => None,
        }
    }

    /// Something that the statement does with columns, by their places.
    fn need(&self, action: Action, columns: impl IntoIterator<Item = usize>) -> Need {
        of_table(action, &self.schema, numbers(&self.schema, columns))
    }

    /// The table of a FROM clause, if it is one of the engine without anything else.
    fn of(view: &View, from: &[TableWithJoins]) -> Option<Source> {
        let [TableWithJoins { relation, joins }] = from else { return None };
        let TableFactor::Table {
            name,
            alias,
            args: None,
            with_hints,
            version: None,
            with_ordinality: false,
            partitions,
            json_path: None,
            sample: None,
            index_hints,
        } = relation
        else {
            return None;
        };
        if !(joins.is_empty()
            && with_hints.is_empty()
            && partitions.is_empty()
            && index_hints.is_empty())
        {
            return None;
        }
        if alias.as_ref().is_some_and(|a| !a.columns.is_empty() || a.at.is_some()) {
            return None;
        }
        let parts = parts(name).ok()?;
        // Names of the system come first.
        if parts.len() == 1 && parts[0].starts_with("pg_") {
            return None;
        }
        match view.find(&parts).ok()?? {
            Relation::Table(found, table) => {
                let alias = alias.as_ref().map_or(found.name, |a| fold(&a.name));
                Some(Source { schema: table.schema(), table, alias })
            }
            Relation::View(..) => None,
        }
    }
}

impl Fast {
    /// Binds a statement; `None` for one that the planner is to do.
    pub fn bind(view: &View, statement: &Statement) -> Option<Fast> {
        match statement {
            Statement::Query(query) => {
                let parts = SelectParts::of(query)?;
                match aggregate::bind(view, &parts) {
                    Some(aggregate) => Some(Fast::Aggregate(aggregate)),
                    None => select::bind(view, &parts).map(Fast::Select),
                }
            }
            Statement::Insert(insert) => insert::bind(view, insert).map(Fast::Insert),
            Statement::Update(update) => change::bind_update(view, update).map(Fast::Change),
            Statement::Delete(delete) => change::bind_delete(view, delete).map(Fast::Change),
            _ => None,
        }
    }

    /// What it does with its table: judged before it runs for a role, and again when catalog or role are
    /// others.
    pub fn needs(&self) -> &[Need] {
        match self {
            Fast::Select(select) => &select.needs,
            Fast::Aggregate(aggregate) => &aggregate.needs,
            Fast::Change(change) => &change.needs,
            Fast::Insert(insert) => &insert.needs,
        }
    }

    /// Columns of its answer, if it gives rows.
    pub fn columns(&self) -> Option<&Arc<[AnswerColumn]>> {
        match self {
            Fast::Select(select) => Some(&select.columns),
            Fast::Aggregate(aggregate) => Some(&aggregate.columns),
            Fast::Insert(insert) => insert.columns.as_ref(),
            Fast::Change(_) => None,
        }
    }

    /// Types of its parameters by number, as far as the statement tells.
    pub fn parameters(&self) -> &[(usize, PgType)] {
        match self {
            Fast::Select(select) => &select.parameters,
            Fast::Aggregate(aggregate) => &aggregate.parameters,
            Fast::Change(change) => &change.parameters,
            Fast::Insert(insert) => &insert.parameters,
        }
    }

    /// Runs it; `None` where its values need the planner.
    ///
    /// # Errors
    /// Those of the statement.
    pub fn run(&self, scope: &Arc<Scope>, values: &[Parameter]) -> Result<Option<Answer>> {
        match self {
            Fast::Select(select) => select.run(scope, values),
            Fast::Aggregate(aggregate) => aggregate.run(scope, values),
            Fast::Change(change) => change.run(scope, values),
            Fast::Insert(insert) => insert.run(scope, values),
        }
    }

    /// The index that it would read, for EXPLAIN; `None` for the whole table, or where it is not known
    /// before the values are.
    pub fn index(&self, values: &[Parameter]) -> Option<String> {
        let (source, conditions) = match self {
            Fast::Select(select) => (&select.source, &select.conditions),
            Fast::Aggregate(aggregate) => (&aggregate.source, &aggregate.conditions),
            Fast::Change(change) => (&change.source, &change.conditions),
            Fast::Insert(_) => return None,
        };
        let bounds = conditions.resolve(&source.schema, values).ok()??;
        let first = bounds.alternatives.first()?;
        let (index, _) = crate::plan::access::best(&source.schema, first)?;
        Some(index.name.clone())
    }
}

/// A query that is one plain SELECT.
struct SelectParts<'a> {
    query: &'a Query,
    select: &'a SelectAst,
}

impl<'a> SelectParts<'a> {
    /// Takes a query apart. Every field is named, so that a clause of a later parser is not overlooked.
    fn of(query: &'a Query) -> Option<SelectParts<'a>> {
        let Query {
            with: None,
            body,
            order_by: _,
            limit_clause: _,
            fetch: None,
            locks: _,
            for_clause: None,
            settings: None,
            format_clause: None,
            pipe_operators,
        } = query
        else {
            return None;
        };
        let SetExpr::Select(select) = &**body else { return None };
        let SelectAst {
            select_token: _,
            optimizer_hints,
            distinct: _,
            select_modifiers: None,
            top: None,
            top_before_distinct: _,
            projection: _,
            exclude: None,
            into: None,
            from: _,
            lateral_views,
            prewhere: None,
            selection: _,
            connect_by,
            group_by: GroupByExpr::Expressions(groups, modifiers),
            cluster_by,
            distribute_by,
            sort_by,
            having: None,
            named_window,
            qualify: None,
            window_before_qualify: _,
            value_table_mode: None,
            flavor: SelectFlavor::Standard,
        } = &**select
        else {
            return None;
        };
        let plain = pipe_operators.is_empty()
            && optimizer_hints.is_empty()
            && lateral_views.is_empty()
            && connect_by.is_empty()
            && groups.is_empty()
            && modifiers.is_empty()
            && cluster_by.is_empty()
            && distribute_by.is_empty()
            && sort_by.is_empty()
            && named_window.is_empty();
        plain.then_some(SelectParts { query, select })
    }
}
