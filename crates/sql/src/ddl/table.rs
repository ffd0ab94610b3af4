//! CREATE TABLE and TRUNCATE.

use datafusion::sql::sqlparser::ast::{
    ColumnOption, CreateTable, Expr, TableConstraint, Truncate, UnaryOperator,
};
use onlap::{DataType, IndexSpec, SequenceSpec, TableSpec, Value};

use super::types::column_type;
use crate::assign::assign;
use crate::catalog::Name;
use crate::catalog::names::{fold, parts};
use crate::error::{Result, SqlError, state};
use crate::parse::literal_text;
use crate::session::Session;
use crate::types::Cell;
use crate::view::View;
use crate::wire::Client;

/// CREATE TABLE.
pub fn create(
    session: &mut Session,
    view: &View,
    create: &CreateTable,
    client: &mut dyn Client,
) -> Result<&'static str> {
    let name = view.new_name(&parts(&create.name)?)?;
    if view.find(&[name.schema.clone(), name.name.clone()])?.is_some() {
        let error = SqlError::new(
            state::DUPLICATE_TABLE,
            format!("relation \"{}\" already exists", name.name),
        );
        if create.if_not_exists {
            let text = format!("relation \"{}\" already exists, skipping", name.name);
            client.reply().notice("NOTICE", &SqlError::new(state::DUPLICATE_TABLE, text));
            return Ok("CREATE TABLE");
        }
        return Err(error);
    }
    let mut spec = TableSpec::new(name.engine(&view.database));
    let mut primary: Vec<String> = Vec::new();
    for column in &create.columns {
        let column_name = fold(&column.name);
        let (ty, serial) = column_type(&column.data_type)?;
        let has =
            |wanted: fn(&ColumnOption) -> bool| column.options.iter().any(|o| wanted(&o.option));
        let not_null =
            serial || has(|o| matches!(o, ColumnOption::NotNull | ColumnOption::PrimaryKey(_)));
        spec = match not_null {
            true => spec.column(&column_name, ty),
            false => spec.nullable_column(&column_name, ty),
        };
        if serial {
            let sequence = Name::new(&name.schema, format!("{}_{column_name}_seq", name.name));
            let sequence = sequence.engine(&view.database);
            let max = onlap::convert::int_range(ty).1;
            session.instance.db.create_sequence(SequenceSpec::new(&sequence).max(max))?;
            spec = spec.default_sequence(&column_name, sequence);
        }
        for option in &column.options {
            match &option.option {
                ColumnOption::PrimaryKey(_) => primary = vec![column_name.clone()],
                ColumnOption::Unique(_) => {
                    let index = format!("{}_{column_name}_key", name.name);
                    spec = spec.index(IndexSpec::new(index, [&column_name]).unique());
                }
                ColumnOption::Default(expr) => {
                    if let Some(value) = constant(expr, ty)? {
                        spec = spec.default(&column_name, value);
                    }
                }
                _ => {}
            }
        }
    }
    for constraint in &create.constraints {
        if let TableConstraint::PrimaryKey(key) = constraint {
            primary = key.columns.iter().map(|c| c.column.expr.to_string()).collect();
        }
    }
    if !primary.is_empty() {
        spec = spec.primary_key(primary);
    }
    view.scope.tx()?.create_table(spec)?;
    session.current()?.changed_catalog = true;
    Ok("CREATE TABLE")
}

/// A default that is a constant.
fn constant(expr: &Expr, ty: DataType) -> Result<Option<Value>> {
    let text = match expr {
        Expr::Value(v) => literal_text(&v.value),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match &**expr {
            Expr::Value(v) => literal_text(&v.value).map(|t| format!("-{t}")),
            _ => None,
        },
        Expr::Cast { expr, .. } => return constant(expr, ty),
        Expr::Nested(expr) => return constant(expr, ty),
        _ => None,
    };
    text.map(|text| assign(Cell::Text(&text), ty)).transpose()
}

/// TRUNCATE.
pub fn truncate(session: &mut Session, view: &View, truncate: &Truncate) -> Result<&'static str> {
    for target in &truncate.table_names {
        let (_, table) = view.table(&parts(&target.name)?)?;
        let empty = view.scope.tx()?.count(&table)? == 0;
        match (empty, session.is_in_block()) {
            (true, _) => {}
            (false, true) => {
                view.scope.tx()?.delete_where(&table, &onlap::Predicate::All)?;
            }
            (false, false) => session.instance.db.truncate_table(&table.name())?,
        }
    }
    Ok("TRUNCATE TABLE")
}
