//! INSERT of literals and parameters.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArguments, Insert as Statement, ObjectNamePart, SelectItem, SetExpr,
    TableObject,
};
use onlap::{Batch, ColumnDefault, DataType, Row, Value, convert};
use parking_lot::Mutex;

use super::change::assigned;
use super::conditions::Operand;
use super::literals::is_distinct;
use super::{Source, answer_column};
use crate::catalog::names::{fold, parts};
use crate::ddl::defaults;
use crate::error::Result;
use crate::functions::sequences::Taken;
use crate::rights::ask::sequences;
use crate::rights::{Action, Need};
use crate::scope::Scope;
use crate::session::Parameter;
use crate::session::answer::{Answer, AnswerColumn, Chunk, Ready, RowsAnswer};
use crate::types::PgType;
use crate::view::{Relation, View};

/// A bound INSERT.
#[derive(Debug)]
pub struct Insert {
    /// The table.
    pub source: Source,
    /// Types of parameters by number.
    pub parameters: Vec<(usize, PgType)>,
    /// What it does.
    pub needs: Vec<Need>,
    /// Columns that are returned, if any are.
    pub columns: Option<Arc<[AnswerColumn]>>,
    returned: Vec<usize>,
    /// Per row, a value per column of the table.
    rows: Vec<Vec<Given>>,
    /// Values of sequences that the session took.
    taken: Arc<Mutex<Taken>>,
}

/// A value as the statement gives it.
#[derive(Clone, Debug)]
enum Given {
    /// The column's default.
    Default,
    /// A literal or a parameter.
    Operand(Operand),
    /// now(), CURRENT_TIMESTAMP and the like: when the transaction began.
    Now,
}

impl Given {
    fn of(expr: &Expr, ty: DataType) -> Option<Given> {
        match expr {
            Expr::Identifier(i) if i.quote_style.is_none() && fold(i) == "default" => {
                Some(Given::Default)
            }
            Expr::Function(function) if is_now(function) => {
                matches!(ty, DataType::Timestamp | DataType::Timestamptz).then_some(Given::Now)
            }
            _ => Operand::of(expr).map(Given::Operand),
        }
    }
}

/// Whether a function gives the transaction's time.
fn is_now(function: &Function) -> bool {
    let ObjectNamePart::Identifier(name) = &function.name.0[0] else { return false };
    let called = match &function.args {
        FunctionArguments::None => fold(name) == "current_timestamp",
        FunctionArguments::List(list) => {
            list.args.is_empty()
                && list.clauses.is_empty()
                && matches!(fold(name).as_str(), "now" | "transaction_timestamp")
        }
        FunctionArguments::Subquery(_) => false,
    };
    called && function.name.0.len() == 1 && function.filter.is_none() && function.over.is_none()
}

/// Binds an INSERT; `None` for one that needs more.
pub(super) fn bind(view: &View, insert: &Statement) -> Option<Insert> {
    let TableObject::TableName(name) = &insert.table else { return None };
    if insert.on.is_some() || insert.overwrite || !insert.assignments.is_empty() {
        return None;
    }
    let Relation::Table(found, table) = view.find(&parts(name).ok()?).ok()?? else { return None };
    let alias = insert.table_alias.as_ref().map_or(found.name, |a| fold(&a.alias));
    let source = Source { schema: table.schema(), table, alias };
    let query = insert.source.as_ref()?;
    let SetExpr::Values(values) = &*query.body else { return None };
    if query.order_by.is_some() || query.limit_clause.is_some() || query.with.is_some() {
        return None;
    }
    let schema = &source.schema;
    let given: Vec<usize> = match insert.columns.is_empty() {
        true => (0..schema.columns.len()).collect(),
        false => {
            let position = |name| schema.position_by_name(parts(name).ok()?.last()?);
            insert.columns.iter().map(position).collect::<Option<_>>()?
        }
    };
    // What is wrong with a list of columns or a row, the statement's binding says.
    let width = values.rows.first()?.content.len();
    let is_whole = match insert.columns.is_empty() {
        true => width <= given.len(),
        false => width == given.len() && is_distinct(&given),
    };
    if !is_whole || values.rows.iter().any(|row| row.content.len() != width) {
        return None;
    }
    let (mut rows, mut parameters) = (Vec::with_capacity(values.rows.len()), Vec::new());
    for row in &values.rows {
        let mut cells = vec![Given::Default; schema.columns.len()];
        for (expr, &at) in row.content.iter().zip(&given) {
            let ty = schema.columns[at].ty;
            let cell = Given::of(expr, ty)?;
            if let Given::Operand(Operand::Parameter(n)) = cell {
                parameters.push((n, PgType::of_engine(ty)));
            }
            cells[at] = cell;
        }
        let special = |(cell, column): (&Given, &onlap::ColumnSchema)| match cell {
            Given::Default => defaults::expression(view, schema.id, column.id).is_some(),
            Given::Operand(_) | Given::Now => defaults::is_always(view, schema.id, column.id),
        };
        if cells.iter().zip(&schema.columns).any(special) {
            return None;
        }
        rows.push(cells);
    }
    let mut needs = vec![source.need(Action::Insert, given[..width].iter().copied())];
    needs.extend(sequences(view, schema, &given[..width]).ok()?);
    let (columns, returned) = match &insert.returning {
        None => (None, Vec::new()),
        Some(items) => {
            let (columns, returned) = returning(&source, items)?;
            (Some(columns), returned)
        }
    };
    if !returned.is_empty() {
        needs.push(source.need(Action::Read, returned.iter().copied()));
    }
    let taken = Arc::clone(&view.taken);
    Some(Insert { source, parameters, needs, columns, returned, rows, taken })
}

fn returning(source: &Source, items: &[SelectItem]) -> Option<(Arc<[AnswerColumn]>, Vec<usize>)> {
    let (mut columns, mut positions) = (Vec::new(), Vec::new());
    for item in items {
        let (at, name) = match item {
            SelectItem::UnnamedExpr(expr) => (source.column(expr)?, None),
            SelectItem::ExprWithAlias { expr, alias } => (source.column(expr)?, Some(fold(alias))),
            _ => return None,
        };
        // What a counter gives is known to the engine alone.
        if source.schema.columns[at].is_serial() {
            return None;
        }
        columns.push(answer_column(source, at, name));
        positions.push(at);
    }
    Some((columns.into(), positions))
}

/// From so many rows on they go to the engine in column form.
const MANY: usize = 4;

impl Insert {
    /// Runs it; `None` where a value needs the planner.
    pub fn run(&self, scope: &Arc<Scope>, values: &[Parameter]) -> Result<Option<Answer>> {
        let columns = &self.source.schema.columns;
        let mut rows: Vec<Row> = Vec::with_capacity(self.rows.len());
        for cells in &self.rows {
            let mut row = Row::with_capacity(columns.len());
            for (cell, column) in cells.iter().zip(columns) {
                row.push(match cell {
                    Given::Operand(operand) => match assigned(operand, column.ty, values)? {
                        Some(value) => value,
                        None => return Ok(None),
                    },
                    Given::Now => match scope.now(column.ty == DataType::Timestamptz) {
                        Some(us) => Value::Timestamp(us),
                        None => return Ok(None),
                    },
                    Given::Default if column.default.is_none() => Value::Null,
                    Given::Default => {
                        let value = self.source.table.default_value(&column.name)?;
                        if let (Some(ColumnDefault::NextVal(id)), Value::Int(v)) =
                            (&column.default, &value)
                        {
                            self.taken.lock().note(*id, *v);
                        }
                        value
                    }
                });
            }
            rows.push(row);
        }
        let table = &self.source.table;
        if rows.len() < MANY {
            let mut tx = scope.tx()?;
            rows.iter().try_for_each(|row| tx.insert(table, row))?;
        } else {
            let mut batch = Batch::new(columns.iter().map(|c| c.ty.physical()));
            for (i, column) in columns.iter().enumerate() {
                let out = &mut batch.columns[i];
                for row in &rows {
                    convert::push_value(column.ty, &row[i], out, &column.name)?;
                }
            }
            batch.rows = rows.len();
            scope.tx()?.insert_batch(table, batch)?;
        }
        let Some(columns) = &self.columns else {
            return Ok(Some(Answer::Done(format!("INSERT 0 {}", rows.len()))));
        };
        let pick = |row: Row| self.returned.iter().map(|at| row[*at].clone()).collect();
        let chunk = Chunk::Rows(rows.into_iter().map(pick).collect());
        let source = Box::new(Ready::new(vec![chunk]));
        let answer = RowsAnswer::new(Arc::clone(columns), source, "INSERT 0");
        Ok(Some(Answer::Rows(answer)))
    }
}
