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
//! | INSERT of literals and parameters | [`insert`]; of many literals, [`literals`]; of one row with ON CONFLICT, [`upsert`] |

use std::sync::Arc;

use onlap::{DataType, LockMode, Table, TableSchema};
use onlap_pg::ast::{
    self, Alias, Distinct, Expr, ExprId, From, Lock, Query, Select as SelectAst, Sort, Statement,
    Target, Tree,
};

use crate::columns::Types;
use crate::error::Result;
use crate::parse::{Body, Parsed};
use crate::plan::access;
use crate::plan::scan::readable;
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
mod upsert;

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
    /// INSERT with ON CONFLICT DO UPDATE.
    Upsert(upsert::Upsert),
}

/// The table of a statement.
#[derive(Clone)]
pub struct Source {
    /// The engine's table.
    pub table: Table,
    /// Its columns and indexes.
    pub schema: Arc<TableSchema>,
    /// What its columns are to PostgreSQL.
    pub types: Types,
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
    fn column(&self, tree: &Tree, expr: ExprId) -> Option<usize> {
        let Expr::Column(path) = tree.expr(expr) else { return None };
        match &path[..] {
            [column] => self.schema.position_by_name(column),
            [table, column] if **table == *self.alias => self.schema.position_by_name(column),
            _ => None,
        }
    }

    /// The places of its columns.
    fn all(&self) -> Box<dyn Iterator<Item = usize>> {
        Box::new(0..self.schema.columns.len())
    }

    /// Something that the statement does with columns, by their places.
    fn need(&self, action: Action, columns: impl IntoIterator<Item = usize>) -> Need {
        of_table(action, &self.schema, numbers(&self.schema, columns))
    }

    /// The table of a name whose rows are changed, if it has no rules.
    fn changed(view: &View, named: &ast::Relation) -> Option<Source> {
        let source = Source::of(view, named)?;
        let oid = crate::catalog::oids::of_table(source.schema.id);
        if view.judge.rights().materialized(oid).is_some() {
            return None;
        }
        let has_rules = crate::catalog::rules::has_any(&view.objects, oid);
        let has_triggers = crate::change::fires::has_any(view, source.schema.id);
        (!has_rules && !has_triggers).then_some(source)
    }

    /// The table of a name, if it is one of the engine without anything else.
    fn of(view: &View, named: &ast::Relation) -> Option<Source> {
        let ast::Relation { name, only: false, alias, place: _ } = named else { return None };
        let alias = match alias {
            None => None,
            Some(Alias { name, columns }) if columns.is_empty() => Some(name.to_string()),
            Some(_) => return None,
        };
        let parts: Vec<String> = name.iter().map(|part| part.to_string()).collect();
        // Names of the system come first; a name of more parts is none of a table.
        if parts.len() > 3 || parts.len() == 1 && parts[0].starts_with("pg_") {
            return None;
        }
        match view.find(&parts).ok()?? {
            Relation::Table(found, table) => {
                let alias = alias.unwrap_or(found.name);
                let schema = readable(view, table.schema());
                let oid = crate::catalog::oids::of_table(schema.id);
                if view.judge.rights().materialized(oid) == Some(false) {
                    return None;
                }
                let families = view.objects.families();
                if !families.below(schema.id).is_empty() || families.divided(schema.id).is_some() {
                    return None;
                }
                let types = Types::of(&view.objects, &schema);
                Some(Source { table, schema, types, alias })
            }
            Relation::View(..) => None,
        }
    }
}

impl Fast {
    /// Binds what a text says; `None` for what the planner is to do: UPSERT and OVERRIDING too.
    pub fn of(view: &View, parsed: &Parsed) -> Option<Fast> {
        match parsed.body {
            Body::Query | Body::Change => Fast::bind(view, &parsed.tree, parsed.statement()),
            Body::Upsert | Body::Defined | Body::Other => None,
        }
    }

    /// Binds a statement; `None` for one that the planner is to do.
    pub fn bind(view: &View, tree: &Tree, statement: &Statement) -> Option<Fast> {
        match statement {
            Statement::Query(query) => {
                let parts = SelectParts::of(tree, tree.query(*query))?;
                match aggregate::bind(view, &parts) {
                    Some(aggregate) => Some(Fast::Aggregate(aggregate)),
                    None => select::bind(view, &parts).map(Fast::Select),
                }
            }
            Statement::Insert(insert) => match &insert.conflict {
                None => insert::bind(view, tree, insert).map(Fast::Insert),
                Some(conflict) => upsert::bind(view, tree, insert, conflict).map(Fast::Upsert),
            },
            Statement::Update(update) => change::bind_update(view, tree, update).map(Fast::Change),
            Statement::Delete(delete) => change::bind_delete(view, tree, delete).map(Fast::Change),
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
            Fast::Upsert(upsert) => &upsert.needs,
        }
    }

    /// Columns of its answer, if it gives rows.
    pub fn columns(&self) -> Option<&Arc<[AnswerColumn]>> {
        match self {
            Fast::Select(select) => Some(&select.columns),
            Fast::Aggregate(aggregate) => Some(&aggregate.columns),
            Fast::Insert(insert) => insert.columns.as_ref(),
            Fast::Change(_) | Fast::Upsert(_) => None,
        }
    }

    /// Types of its parameters by number, as far as the statement tells.
    pub fn parameters(&self) -> &[(usize, PgType)] {
        match self {
            Fast::Select(select) => &select.parameters,
            Fast::Aggregate(aggregate) => &aggregate.parameters,
            Fast::Change(change) => &change.parameters,
            Fast::Insert(insert) => &insert.parameters,
            Fast::Upsert(upsert) => &upsert.parameters,
        }
    }

    /// Runs it; `None` where its values need the planner.
    ///
    /// # Errors
    /// Those of the statement.
    pub fn run(&self, scope: &Arc<Scope>, values: &[Parameter]) -> Result<Option<Answer>> {
        if scope.is_away() && self.reads_moments() || self.is_better_planned(values)? {
            return Ok(None);
        }
        match self {
            Fast::Select(select) => select.run(scope, values),
            Fast::Aggregate(aggregate) => aggregate.run(scope, values),
            Fast::Change(change) => change.run(scope, values),
            Fast::Insert(insert) => insert.run(scope, values),
            Fast::Upsert(upsert) => upsert.run(scope, values),
        }
    }

    /// The engine's name of its table.
    pub fn table(&self) -> String {
        let source = match self {
            Fast::Select(select) => &select.source,
            Fast::Aggregate(aggregate) => &aggregate.source,
            Fast::Change(change) => &change.source,
            Fast::Insert(insert) => &insert.source,
            Fast::Upsert(upsert) => upsert.source(),
        };
        source.schema.name.clone()
    }

    /// Waits for transactions that have locked its table against what it does.
    ///
    /// # Errors
    /// Those of waits for locks.
    pub fn await_table(&self, scope: &Scope) -> Result<()> {
        let (source, mode) = match self {
            Fast::Select(select) => (&select.source, LockMode::AccessShare),
            Fast::Aggregate(aggregate) => (&aggregate.source, LockMode::AccessShare),
            Fast::Change(change) => (&change.source, LockMode::RowExclusive),
            Fast::Insert(insert) => (&insert.source, LockMode::RowExclusive),
            Fast::Upsert(upsert) => (upsert.source(), LockMode::RowExclusive),
        };
        scope.await_tables(std::slice::from_ref(&source.table), mode)
    }

    /// Whether a partial index may have the rows that its conditions leave: what they imply, the planner finds out.
    ///
    /// # Errors
    /// Values that are none of their columns' types.
    pub fn is_better_planned(&self, values: &[Parameter]) -> Result<bool> {
        let (source, conditions) = match self {
            Fast::Select(select) => (&select.source, &select.conditions),
            Fast::Aggregate(aggregate) => (&aggregate.source, &aggregate.conditions),
            Fast::Change(change) => (&change.source, &change.conditions),
            Fast::Insert(_) | Fast::Upsert(_) => return Ok(false),
        };
        if !access::has_partial(&source.schema) || conditions.is_empty() {
            return Ok(false);
        }
        let Some(resolved) = conditions.resolve(&source.schema, values)? else { return Ok(true) };
        let one = |bounds: &Vec<access::Bound>| {
            access::best(&source.schema, bounds).is_some_and(|(_, choice)| choice.is_one_row())
        };
        Ok(!resolved.alternatives.iter().all(one))
    }

    /// Whether it reads values for columns of timestamptz, which mean what the session's time zone makes of them.
    fn reads_moments(&self) -> bool {
        let any = |source: &Source, mut columns: Box<dyn Iterator<Item = usize> + '_>| {
            columns.any(|at| source.schema.columns[at].ty == DataType::Timestamptz)
        };
        match self {
            Fast::Select(select) => any(&select.source, Box::new(select.conditions.columns())),
            Fast::Aggregate(all) => any(&all.source, Box::new(all.conditions.columns())),
            Fast::Change(change) => {
                any(&change.source, Box::new(change.conditions.columns().chain(change.written())))
            }
            Fast::Insert(insert) => any(&insert.source, insert.source.all()),
            Fast::Upsert(upsert) => any(upsert.source(), upsert.source().all()),
        }
    }

    /// The index that it would read, for EXPLAIN; `None` for the whole table, or where it is not known
    /// before the values are.
    pub fn index(&self, values: &[Parameter]) -> Option<String> {
        let (source, conditions) = match self {
            Fast::Select(select) => (&select.source, &select.conditions),
            Fast::Aggregate(aggregate) => (&aggregate.source, &aggregate.conditions),
            Fast::Change(change) => (&change.source, &change.conditions),
            Fast::Insert(_) | Fast::Upsert(_) => return None,
        };
        let bounds = conditions.resolve(&source.schema, values).ok()??;
        let first = bounds.alternatives.first()?;
        let (index, _) = access::best(&source.schema, first)?;
        Some(index.name.clone())
    }
}

/// A query that is one plain SELECT of one table.
struct SelectParts<'a> {
    tree: &'a Tree,
    targets: &'a [Target],
    distinct: bool,
    from: &'a ast::Relation,
    filter: Option<ExprId>,
    order: &'a [Sort],
    limit: Option<ExprId>,
    offset: Option<ExprId>,
    locks: &'a [Lock],
}

impl<'a> SelectParts<'a> {
    /// Takes a query apart. Every field is named, so that a clause of a later grammar is not overlooked.
    fn of(tree: &'a Tree, query: &'a Query) -> Option<SelectParts<'a>> {
        let Query {
            with: None,
            body: ast::Body::Select(select),
            order,
            limit,
            ties: false,
            offset,
            locks,
        } = query
        else {
            return None;
        };
        let SelectAst {
            distinct,
            targets,
            into: None,
            from,
            filter,
            group,
            group_distinct: false,
            having: None,
            windows,
        } = &**select
        else {
            return None;
        };
        let distinct = match distinct {
            None => false,
            Some(Distinct::Rows) => true,
            Some(Distinct::On(_)) => return None,
        };
        let [from] = from[..] else { return None };
        let From::Relation(from) = tree.from(from) else { return None };
        // Rows without columns are the planner's.
        if targets.is_empty() || !group.is_empty() || !windows.is_empty() {
            return None;
        }
        let (filter, limit, offset) = (*filter, *limit, *offset);
        Some(SelectParts { tree, targets, distinct, from, filter, order, limit, offset, locks })
    }
}
