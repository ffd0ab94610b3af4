//! Which functions does a query have besides the planner's?
//!
//! Those of the session, whose value is known when a statement is planned; PostgreSQL's own; functions
//! that give tables.

pub mod bounded;
pub mod intervals;
pub mod joined;
pub mod json;
pub mod large_values;
mod names;
pub mod numerics;
pub mod operators;
pub mod patterns;
pub mod sequences;
pub mod set_config;

use std::sync::Arc;

use datafusion::arrow::datatypes::{Field, FieldRef};
use datafusion::catalog::TableProvider;
use datafusion::common::{Column, Result, ScalarValue, TableReference, plan_err};
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, ScalarUDF};

use constant::Constant;

use crate::types::{PgType, oid};
use crate::view::View;

mod aggregates;
pub mod catalogs;
mod constant;
mod format;
mod formats;
mod interval_text;
mod lists;
mod moments;
pub mod privileges;
mod ranked;
mod rowwise;
mod server;
mod texts;

/// Functions of the planner's library that PostgreSQL does not have, and that take the product of the lengths of what
/// they are given, without a look at the time.
const LEFT_OUT: &[&str] = &["levenshtein"];

/// Adds functions that are the same for all sessions.
pub fn register(builder: &mut SessionStateBuilder) {
    let functions = builder.scalar_functions().get_or_insert_default();
    functions.extend(texts::all().into_iter().map(rowwise::Rowwise::udf));
    functions.extend(formats::all().into_iter().map(rowwise::Rowwise::udf));
    functions.extend(lists::all());
    functions.extend(json::all());
    functions.extend(intervals::all());
    functions.extend(moments::all().into_iter().map(rowwise::Rowwise::udf));
    functions.retain(|function| !LEFT_OUT.contains(&function.name()));
    *functions = bounded::all(std::mem::take(functions));
    builder.aggregate_functions().get_or_insert_default().extend(aggregates::all());
    builder.aggregate_functions().get_or_insert_default().extend(json::aggregates());
    builder.aggregate_functions().get_or_insert_default().extend(ranked::all());
}

/// Types whose values are OIDs that are printed as names.
const NAMED: &[u32] = &[
    oid::REGCLASS,
    oid::REGTYPE,
    oid::REGPROC,
    oid::REGPROCEDURE,
    oid::REGNAMESPACE,
    oid::REGROLE,
];

/// Lets a query's columns of regclass and its like come out as names.
///
/// # Errors
/// A column that is not there: a defect.
pub fn print_names(view: &View, plan: LogicalPlan) -> Result<LogicalPlan> {
    let schema = plan.schema();
    let kind = |field: &Field| Some(PgType::of_field(field).oid).filter(|oid| NAMED.contains(oid));
    if !schema.fields().iter().any(|field| kind(field).is_some()) {
        return Ok(plan);
    }
    let column = |(table, field): (Option<&TableReference>, &FieldRef)| {
        let column = Expr::Column(Column::from((table, field)));
        match kind(field) {
            Some(oid) => {
                let printed = catalogs::printer(view, oid).call(vec![column]);
                printed.alias_qualified(table.cloned(), field.name())
            }
            None => column,
        }
    };
    let columns: Vec<Expr> = schema.iter().map(column).collect();
    LogicalPlanBuilder::from(plan).project(columns)?.build()
}

/// A function of the session: its value, or what it makes of its arguments, is known now.
pub fn of_session(view: &View, name: &str) -> Option<Arc<ScalarUDF>> {
    of_seen(&catalogs::Seen::new(view), name)
}

/// The same, with a list of relations that other functions use too.
pub fn of_seen(seen: &Arc<catalogs::Seen>, name: &str) -> Option<Arc<ScalarUDF>> {
    let view = &seen.view;
    if let Some(function) = sequences::of_session(view, name) {
        return Some(function);
    }
    if name == "set_config" {
        return Some(set_config::of_session(view));
    }
    let text = |s: &str| ScalarValue::Utf8(Some(s.to_string()));
    let utc = || Some(Arc::from("+00:00"));
    let value = match name {
        "version" => text(&crate::version()),
        "current_database" | "current_catalog" => text(&view.database),
        "current_user" | "user" | "current_role" => text(&view.user),
        "session_user" => text(&view.session_user),
        "current_schema" => match view.creation_schema() {
            Ok(schema) => text(schema),
            Err(_) => ScalarValue::Utf8(None),
        },
        "pg_backend_pid" => ScalarValue::Int32(Some(view.pid)),
        "now" | "transaction_timestamp" | "statement_timestamp" | "current_timestamp" => {
            ScalarValue::TimestampMicrosecond(Some(view.began_us), utc())
        }
        "localtimestamp" => ScalarValue::TimestampMicrosecond(Some(view.began_us), None),
        "current_date" => {
            ScalarValue::Date32(Some(view.began_us.div_euclid(86_400_000_000) as i32))
        }
        _ => return server::find(view, name).or_else(|| catalogs::find(seen, name)),
    };
    Some(Arc::new(ScalarUDF::new_from_impl(Constant::new(name, value))))
}

/// A function that gives a table.
///
/// # Errors
/// There is none of that name; its arguments are wrong.
pub fn table_function(
    _view: &View,
    _state: &SessionState,
    name: &str,
    _args: Vec<Expr>,
) -> Result<Arc<dyn TableProvider>> {
    plan_err!("function {name} does not exist")
}
