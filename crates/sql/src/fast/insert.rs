//! INSERT of literals and parameters.

use std::sync::Arc;

use onlap::{Batch, ColumnDefault, DataType, Row, Value, convert};
use onlap_pg::ast::{self, Body, Call, Column, Expr, ExprId, Query, SqlValue, Target, Tree};
use parking_lot::Mutex;

use super::change::assigned;
use super::conditions::Operand;
use super::literals::is_distinct;
use super::{Source, answer_column};
use crate::ddl::defaults;
use crate::error::Result;
use crate::functions::sequences::Taken;
use crate::rights::ask::sequences;
use crate::rights::{Action, Need};
use crate::scope::Scope;
use crate::session::Parameter;
use crate::session::answer::{Answer, AnswerColumn, Chunk, Ready, RowsAnswer};
use crate::types::PgType;
use crate::view::View;

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
    fn of(tree: &Tree, expr: ExprId, ty: DataType) -> Option<Given> {
        match tree.expr(expr) {
            Expr::Default => Some(Given::Default),
            now if is_now(now) => {
                matches!(ty, DataType::Timestamp | DataType::Timestamptz).then_some(Given::Now)
            }
            _ => Operand::of(tree, expr).map(Given::Operand),
        }
    }
}

/// Whether an expression gives the transaction's time.
fn is_now(expr: &Expr) -> bool {
    let call = match expr {
        Expr::SqlValue(value, None) => return *value == SqlValue::CurrentTimestamp,
        Expr::Call(call) => call,
        _ => return false,
    };
    let Call {
        name,
        args,
        variadic: false,
        distinct: false,
        star: false,
        order,
        within_group: false,
        filter: None,
        over: None,
        sql_syntax: false,
    } = &**call
    else {
        return false;
    };
    let [name] = &name[..] else { return false };
    args.is_empty() && order.is_empty() && matches!(&**name, "now" | "transaction_timestamp")
}

/// Binds an INSERT; `None` for one that needs more.
pub(super) fn bind(view: &View, tree: &Tree, insert: &ast::Insert) -> Option<Insert> {
    if insert.conflict.is_some() { None } else { bind_rows(view, tree, insert) }
}

/// Binds what an INSERT is to insert, whatever it does about rows that are there.
pub(super) fn bind_rows(view: &View, tree: &Tree, insert: &ast::Insert) -> Option<Insert> {
    let ast::Insert {
        with: None,
        into,
        columns: named,
        overriding: None,
        source: Some(query),
        conflict: _,
        returning: wanted,
    } = insert
    else {
        return None;
    };
    let Query {
        with: None,
        body: Body::Values(values),
        order,
        limit: None,
        ties: false,
        offset: None,
        locks,
    } = tree.query(*query)
    else {
        return None;
    };
    if !order.is_empty() || !locks.is_empty() {
        return None;
    }
    let source = Source::changed(view, into)?;
    let schema = &source.schema;
    if view.objects.families().bound(schema.id).is_some() {
        return None;
    }
    let given: Vec<usize> = match named.is_empty() {
        true => (0..schema.columns.len()).collect(),
        false => {
            let position = |Column { name, steps, place: _ }: &Column| {
                steps.is_empty().then(|| schema.position_by_name(name)).flatten()
            };
            named.iter().map(position).collect::<Option<_>>()?
        }
    };
    // What is wrong with a list of columns or a row, the statement's binding says.
    let width = values.first()?.len();
    let is_whole = match named.is_empty() {
        true => width <= given.len(),
        false => width == given.len() && is_distinct(&given),
    };
    if !is_whole || values.iter().any(|row| row.len() != width) {
        return None;
    }
    let (mut rows, mut parameters) = (Vec::with_capacity(values.len()), Vec::new());
    for row in values {
        let mut cells = vec![Given::Default; schema.columns.len()];
        for (expr, &at) in row.iter().zip(&given) {
            let ty = schema.columns[at].ty;
            let cell = Given::of(tree, *expr, ty)?;
            if !source.types[at].is_native() && !matches!(cell, Given::Default) {
                return None;
            }
            if let Given::Operand(Operand::Parameter(n)) = cell {
                parameters.push((n, PgType::of_engine(ty)));
            }
            cells[at] = cell;
        }
        let special = |(cell, column): (&Given, &onlap::ColumnSchema)| match cell {
            Given::Default => defaults::computed(view, schema.id, column).is_some(),
            Given::Operand(_) | Given::Now => {
                defaults::is_always(view, schema.id, column.id)
                    || schema.generated(column.id).is_some()
            }
        };
        if cells.iter().zip(&schema.columns).any(special) {
            return None;
        }
        rows.push(cells);
    }
    let mut needs = vec![source.need(Action::Insert, given[..width].iter().copied())];
    needs.extend(sequences(view, schema, &given[..width]).ok()?);
    let (columns, returned) = match wanted.is_empty() {
        true => (None, Vec::new()),
        false => {
            let (columns, returned) = returning(&source, tree, wanted)?;
            (Some(columns), returned)
        }
    };
    if !returned.is_empty() {
        needs.push(source.need(Action::Read, returned.iter().copied()));
    }
    let taken = Arc::clone(&view.taken);
    Some(Insert { source, parameters, needs, columns, returned, rows, taken })
}

fn returning(
    source: &Source,
    tree: &Tree,
    targets: &[Target],
) -> Option<(Arc<[AnswerColumn]>, Vec<usize>)> {
    let (mut columns, mut positions) = (Vec::new(), Vec::new());
    for Target { value, name, place: _ } in targets {
        let at = source.column(tree, *value)?;
        // What a counter gives or a program calculates is known to the engine alone.
        let is_calculated = source.schema.is_generated(at);
        if source.schema.columns[at].is_serial()
            || is_calculated
            || !source.types[at].shows_natively()
        {
            return None;
        }
        columns.push(answer_column(source, at, name.as_deref()));
        positions.push(at);
    }
    Some((columns.into(), positions))
}

/// From so many rows on they go to the engine in column form.
const MANY: usize = 4;

impl Insert {
    /// Its rows, with NULL where a sequence fills a column ([`Insert::fill`]); `None` where a value needs the planner.
    pub(super) fn given(&self, scope: &Scope, values: &[Parameter]) -> Result<Option<Vec<Row>>> {
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
                    Given::Default => match &column.default {
                        Some(ColumnDefault::Constant(_)) => {
                            self.source.table.default_value(&column.name)?
                        }
                        None | Some(ColumnDefault::NextVal(_)) => Value::Null,
                    },
                });
            }
            rows.push(row);
        }
        Ok(Some(rows))
    }

    /// Takes the numbers of sequences for rows, once it is sure that they are inserted here.
    pub(super) fn fill(&self, rows: &mut [Row]) -> Result<()> {
        let columns = &self.source.schema.columns;
        for (row, cells) in rows.iter_mut().zip(&self.rows) {
            for (at, cell) in cells.iter().enumerate() {
                let (Given::Default, Some(ColumnDefault::NextVal(id))) =
                    (cell, &columns[at].default)
                else {
                    continue;
                };
                row[at] = self.source.table.default_value(&columns[at].name)?;
                if let Value::Int(taken) = row[at] {
                    self.taken.lock().note(*id, taken);
                }
            }
        }
        Ok(())
    }

    /// Whether the only row is given a value for a column, and not its default.
    pub(super) fn gives(&self, at: usize) -> bool {
        matches!(&self.rows[..], [row] if !matches!(row[at], Given::Default))
    }

    /// How many rows it inserts.
    pub(super) fn count(&self) -> usize {
        self.rows.len()
    }

    /// Runs it; `None` where a value needs the planner.
    pub fn run(&self, scope: &Arc<Scope>, values: &[Parameter]) -> Result<Option<Answer>> {
        let Some(mut rows) = self.given(scope, values)? else { return Ok(None) };
        self.fill(&mut rows)?;
        let columns = &self.source.schema.columns;
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
