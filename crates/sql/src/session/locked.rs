//! Which rows does a query lock, and which do queries inside a statement?
//!
//! The planner locks no rows: the native tier does (`crate::fast`), whose ids the planner sorts where they are
//! many. A query with FOR UPDATE or its like that stands inside a statement, in an
//! expression, in FROM or in WITH, is therefore answered first, by the native tier, which locks its rows;
//! what it gave takes its place. Such a query cannot look at columns outside of itself.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Query, Statement, TableFactor, Value as AstValue, Visit, VisitMut, Visitor, VisitorMut,
};

use super::answer::{Answer, AnswerColumn, RowsAnswer};
use super::target::{Target, ids_of};
use super::{Parameter, Session};
use crate::error::{Result, SqlError, state};
use crate::fast::{Fast, Select};
use crate::parse::{self, Tree};
use crate::types::{Cell, Style, names, oid};
use crate::view::View;

/// A row of an answer, each value as an expression that says it.
type Texts = Vec<String>;

/// Bytes of such texts that become part of a statement, at most: understanding them takes a hundred times as much.
const TEXT_BYTES: usize = 1 << 20;

/// Whether a query inside a statement is to lock rows.
pub(super) fn has_locks_inside(statement: &Statement) -> bool {
    struct Inside(usize);
    impl Visitor for Inside {
        type Break = ();
        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
            let inside = self.0 > 0;
            self.0 += 1;
            if inside && !query.locks.is_empty() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        }
    }
    let outer = match statement {
        Statement::Query(_) => 0,
        _ => 1,
    };
    Visit::visit(statement, &mut Inside(outer)).is_break()
}

impl Session {
    /// Answers a query that locks the rows it gives.
    ///
    /// # Errors
    /// Those of the query; `0A000` for one that locks more than columns of one table.
    pub(super) fn lock_rows(
        &self,
        view: &View,
        statement: &Tree,
        values: &[Parameter],
    ) -> Result<RowsAnswer> {
        let Some(Fast::Select(select)) = natively(view, statement) else {
            return Err(no_rows_of_a_table());
        };
        view.must(&select.needs)?;
        let answer = match select.run(&view.scope, values)? {
            Some(answer) => Some(answer),
            None => self.lock_in_order(view, &select, statement, values)?,
        };
        match answer {
            Some(Answer::Rows(rows)) => Ok(rows),
            _ => Err(no_rows_of_a_table()),
        }
    }

    /// The same where the planner has to sort the rows: it gives their ids alone. They are held while rows are
    /// locked, for the query must have ended before the statement waits: what it waits for may wait to run.
    fn lock_in_order(
        &self,
        view: &View,
        select: &Select,
        statement: &Tree,
        values: &[Parameter],
    ) -> Result<Option<Answer>> {
        let Statement::Query(query) = &**statement else { return Ok(None) };
        let Some(body) = query.body.as_select() else { return Ok(None) };
        let [table] = &body.from[..] else { return Ok(None) };
        let target = Target::of(view, table)?;
        let order = select.order_text();
        let asked = target.query(&[], false, "", body.selection.as_ref(), &order);
        let types: Vec<_> = values.iter().map(|value| Some(value.ty)).collect();
        let query = target.plan(self, view, &asked, &types)?.with_values(values)?;
        let planner = &self.instance.planner;
        let mut batches = planner.run(planner.physical(view, &query)?, &view.scope)?;
        let mut ids = Vec::new();
        while let Some(batch) = batches.next()? {
            ids.extend(ids_of(std::slice::from_ref(&batch)));
        }
        drop(batches);
        select.lock_found(&view.scope, values, ids)
    }
}

/// A statement of the native tier.
fn natively(view: &View, statement: &Statement) -> Option<Fast> {
    let tree = onlap_pg::grammar::parse(&statement.to_string()).ok()?;
    let [written] = &tree.statements[..] else { return None };
    Fast::bind(view, &tree, &written.statement)
}

fn no_rows_of_a_table() -> SqlError {
    SqlError::unsupported("FOR UPDATE or FOR SHARE of more than columns of one table")
        .hint("Lock the rows by a query of their table's columns first.")
}

/// The statement with what its locking queries gave in their places.
///
/// # Errors
/// Those of the queries; `0A000` for one that locks more than rows of one table.
pub(super) fn answered(view: &View, statement: &Tree, values: &[Parameter]) -> Result<Tree> {
    let mut statement = statement.clone();
    match VisitMut::visit(&mut *statement, &mut Answering { view, values }) {
        ControlFlow::Break(e) => Err(e),
        ControlFlow::Continue(()) => Ok(statement),
    }
}

struct Answering<'a> {
    view: &'a View,
    values: &'a [Parameter],
}

impl VisitorMut for Answering<'_> {
    type Break = SqlError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<SqlError> {
        let tables = query.with.iter_mut().flat_map(|with| &mut with.cte_tables);
        for cte in tables.filter(|cte| !cte.query.locks.is_empty()) {
            match self.as_values(&cte.query) {
                Ok(values) => *cte.query = values,
                Err(e) => return ControlFlow::Break(e),
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<SqlError> {
        if let TableFactor::Derived { subquery, .. } = factor
            && !subquery.locks.is_empty()
        {
            match self.as_values(subquery) {
                Ok(values) => **subquery = values,
                Err(e) => return ControlFlow::Break(e),
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<SqlError> {
        match self.expression(expr) {
            Ok(Some(answered)) => *expr = answered,
            Ok(None) => {}
            Err(e) => return ControlFlow::Break(e),
        }
        ControlFlow::Continue(())
    }
}

impl Answering<'_> {
    /// What an expression over a locking query comes to; `None` for any other.
    fn expression(&self, expr: &Expr) -> Result<Option<Expr>> {
        let text = match expr {
            Expr::Subquery(query) if !query.locks.is_empty() => {
                let (columns, mut rows) = self.rows(query)?;
                if columns.len() != 1 {
                    return Err(SqlError::new("42601", "subquery must return only one column"));
                }
                if rows.len() > 1 {
                    let text = "more than one row returned by a subquery used as an expression";
                    return Err(SqlError::new("21000", text));
                }
                rows.pop().map_or_else(|| null_of(&columns[0]), |mut row| row.remove(0))
            }
            Expr::InSubquery { expr, subquery, negated } if !subquery.locks.is_empty() => {
                let (columns, rows) = self.rows(subquery)?;
                if columns.len() != 1 {
                    return Err(SqlError::new("42601", "subquery has too many columns"));
                }
                if rows.is_empty() {
                    return Ok(Some(truth(*negated)));
                }
                let items: Vec<String> = rows.into_iter().flatten().collect();
                let not = if *negated { "NOT " } else { "" };
                format!("{expr} {not}IN ({})", items.join(", "))
            }
            Expr::Exists { subquery, negated } if !subquery.locks.is_empty() => {
                let (_, rows) = self.rows(subquery)?;
                return Ok(Some(truth(rows.is_empty() == *negated)));
            }
            _ => return Ok(None),
        };
        parse_expression(&text).map(Some)
    }

    /// A query that gives the rows of one that locks them.
    fn as_values(&self, query: &Query) -> Result<Query> {
        let (columns, rows) = self.rows(query)?;
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let named = |row: &Texts| {
            let items = row.iter().zip(columns.iter());
            let items = items.map(|(value, column)| format!("{value} AS {}", quoted(&column.name)));
            items.collect::<Vec<_>>().join(", ")
        };
        let text = match rows.is_empty() {
            true => {
                let row: Texts = columns.iter().map(null_of).collect();
                format!("SELECT {} WHERE FALSE", named(&row))
            }
            false => {
                let rows: Vec<String> =
                    rows.iter().map(|row| format!("SELECT {}", named(row))).collect();
                rows.join(" UNION ALL ")
            }
        };
        match parse::by_parser(&text)?.into_inner() {
            Statement::Query(query) => Ok(*query),
            other => Err(SqlError::unsupported(other)),
        }
    }

    /// Answers a query, which locks the rows.
    fn rows(&self, query: &Query) -> Result<(Vec<AnswerColumn>, Vec<Texts>)> {
        let statement = Statement::Query(Box::new(query.clone()));
        let answer = match natively(self.view, &statement) {
            Some(fast) => {
                self.view.must(fast.needs())?;
                fast.run(&self.view.scope, self.values)?
            }
            None => None,
        };
        let Some(Answer::Rows(mut answer)) = answer else {
            return Err(SqlError::unsupported(
                "FOR UPDATE or FOR SHARE in a subquery of more than columns of one table",
            )
            .hint("Lock the rows by a query of their table's columns alone."));
        };
        let columns: Vec<AnswerColumn> = answer.columns.to_vec();
        let (mut rows, mut bytes) = (Vec::<Texts>::new(), 0);
        while let Some(chunk) = answer.source.next()? {
            if bytes > TEXT_BYTES {
                let text = "a subquery with FOR UPDATE or FOR SHARE gives too many rows";
                return Err(SqlError::new(state::TOO_LARGE, text)
                    .hint("Lock the rows by a query of their table's columns first."));
            }
            for row in 0..chunk.len() {
                let value = |(at, column): (usize, &AnswerColumn)| {
                    let cell = chunk.cell(row, at);
                    match cell {
                        Cell::Null => return null_of(column),
                        Cell::Int(v) if column.ty.oid != oid::OID => return format!("({v})"),
                        _ => {}
                    }
                    let mut text = Vec::new();
                    cell.write_text(column.ty, Style::default(), &mut text);
                    let text = String::from_utf8_lossy(&text).replace('\'', "''");
                    format!("'{text}'::{}", names::format_type(column.ty))
                };
                let texts: Texts = columns.iter().enumerate().map(value).collect();
                bytes += texts.iter().map(|text| size_of::<String>() + text.len()).sum::<usize>();
                rows.push(texts);
            }
        }
        Ok((columns, rows))
    }
}

fn null_of(column: &AnswerColumn) -> String {
    format!("NULL::{}", names::format_type(column.ty))
}

fn truth(is: bool) -> Expr {
    Expr::Value(AstValue::Boolean(is).into())
}

fn parse_expression(text: &str) -> Result<Expr> {
    let unexpected = || SqlError::new("XX000", format!("{text} is no expression"));
    let Statement::Query(query) = parse::by_parser(&format!("SELECT {text}"))?.into_inner() else {
        return Err(unexpected());
    };
    let select = query.body.as_select().ok_or_else(unexpected)?;
    match &select.projection[..] {
        [datafusion::sql::sqlparser::ast::SelectItem::UnnamedExpr(expr)] => {
            Ok(Expr::Nested(Box::new(expr.clone())))
        }
        _ => Err(unexpected()),
    }
}
