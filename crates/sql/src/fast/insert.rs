//! INSERT of literals and parameters.

use std::sync::Arc;

use onlap::{Batch, ColumnDefault, DataType, Row, Value, convert};
use onlap_pg::ast::SqlValue;
use onlap_pg::bound::{Expr, ExprId, Modify, ModifyKind, Target};
use parking_lot::Mutex;

use super::Source;
use super::statement::Statement;
use super::values::Operand;
use crate::ddl::defaults;
use crate::error::Result;
use crate::functions::sequences::Taken;
use crate::scope::Scope;
use crate::session::Parameter;
use crate::session::answer::{Answer, AnswerColumn, Chunk, Ready, RowsAnswer};

/// A bound INSERT.
#[derive(Debug)]
pub struct Insert {
    /// The table.
    pub source: Source,
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
    fn of(of: &Statement<'_>, id: ExprId, ty: DataType, rows: usize) -> Option<Given> {
        if matches!(of.tree.expr(id), Expr::Default) {
            return Some(Given::Default);
        }
        let is_time = matches!(ty, DataType::Timestamp | DataType::Timestamptz);
        match is_time && is_now(of, id) {
            true => Some(Given::Now),
            false => of.given(id, ty, rows).map(Given::Operand),
        }
    }
}

/// now()
const NOW: u32 = 1299;
/// transaction_timestamp()
const TRANSACTION_TIMESTAMP: u32 = 2647;

/// Whether an expression gives the transaction's time, or what it is without a time zone.
fn is_now(of: &Statement<'_>, id: ExprId) -> bool {
    match of.tree.expr(of.converted(id).unwrap_or(id)) {
        Expr::SqlValue(value, None) => *value == SqlValue::CurrentTimestamp,
        Expr::Call(call) => matches!(call.proc, NOW | TRANSACTION_TIMESTAMP),
        _ => false,
    }
}

/// Matches an INSERT; `None` for one that needs more.
pub(super) fn matched(of: &Statement<'_>, source: Source) -> Option<Insert> {
    let Modify {
        kind: ModifyKind::Insert,
        entry: _,
        overriding: None,
        conflict: _,
        returning: wanted,
        checks,
        actions: _,
    } = of.modify()?
    else {
        return None;
    };
    let (view, schema) = (of.view, &source.schema);
    let is_partition = view.objects.families().bound(schema.id).is_some();
    if !checks.is_empty() || is_partition || !of.changes_plainly(&source) {
        return None;
    }
    let written = of.rows(schema.columns.len())?;
    let mut rows = Vec::with_capacity(written.len());
    for row in &written {
        let mut cells = vec![Given::Default; schema.columns.len()];
        for (at, id) in row.iter().enumerate().filter_map(|(at, id)| Some((at, (*id)?))) {
            let cell = Given::of(of, id, schema.columns[at].ty, written.len())?;
            if !source.types[at].is_native() && !matches!(cell, Given::Default) {
                return None;
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
    let returned = wanted.iter().map(|target| returning(of, &source, target));
    let returned = returned.collect::<Option<Vec<usize>>>()?;
    let columns = of.bound.returns();
    Some(Insert { source, columns, returned, rows, taken: Arc::clone(&view.taken) })
}

/// The column that RETURNING gives, where the row that is inserted has it.
fn returning(of: &Statement<'_>, source: &Source, target: &Target) -> Option<usize> {
    let at = of.column(target.value).filter(|_| !target.hidden)?;
    let column = source.schema.columns.get(at)?;
    // What a counter gives or a program calculates is known to the engine alone.
    let is_known = !column.is_serial() && !source.schema.is_generated(at);
    (is_known && source.types[at].shows_natively()).then_some(at)
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
                    Given::Operand(operand) => match operand.assigned(column.ty, values) {
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
                    self.taken.lock().note(self.source.table.sequence_origin(*id), taken);
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
            scope.tx()?.insert_rows(table, &rows)?;
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
