//! CREATE and DROP VIEW.

use datafusion::sql::sqlparser::ast::{CreateView, Statement};
use serde_json::json;

use super::naming::{self, Relation};
use crate::catalog::names::{fold, parts, quote};
use crate::catalog::{Kind, oids};
use crate::error::{Result, SqlError, state};
use crate::plan::Known;
use crate::rewrite;
use crate::session::Session;
use crate::types::{PgType, names};
use crate::view::View;

/// CREATE VIEW.
///
/// # Errors
/// The name is taken; the query is wrong; a replaced view loses columns.
pub fn create(session: &mut Session, view: &View, create: &CreateView) -> Result<&'static str> {
    if create.materialized {
        return Err(SqlError::unsupported("a materialized view").hint("Use CREATE TABLE … AS."));
    }
    if create.temporary {
        return Err(SqlError::unsupported("a temporary view"));
    }
    let name = view.new_name(&parts(&create.name)?)?;
    let engine = name.engine(&view.database);
    match naming::find(view, &name)? {
        None => {}
        Some(Relation::View) if create.or_replace => {}
        Some(_) if create.or_replace => {
            let text = format!("\"{}\" is not a view", name.name);
            return Err(SqlError::new("42809", text));
        }
        Some(_) => return Err(naming::taken(&name.name)),
    }
    let statement = Statement::Query(create.query.clone());
    let plan = session.instance.planner.plan(view, statement, Vec::new(), &Known::default())?;
    let schema = plan.schema();
    let found: Vec<String> =
        schema.fields().iter().map(|f| rewrite::shown(f.name()).to_string()).collect();
    if create.columns.len() > found.len() {
        let text = "CREATE VIEW specifies more column names than columns";
        return Err(SqlError::new(state::SYNTAX, text));
    }
    let named: Vec<String> = create.columns.iter().map(|c| fold(&c.name)).collect();
    let columns: Vec<String> =
        named.iter().cloned().chain(found.iter().skip(named.len()).cloned()).collect();
    for (i, column) in columns.iter().enumerate() {
        if columns[..i].contains(column) {
            let text = format!("column \"{column}\" specified more than once");
            return Err(SqlError::new("42701", text));
        }
    }
    if let Some(old) = view.objects.get(Kind::View, &engine) {
        check_replaced(&old.body, &columns)?;
    }
    let query = create.query.to_string();
    let sql = if named.is_empty() {
        query.clone()
    } else {
        let all: Vec<String> = columns.iter().map(|c| quote(c)).collect();
        let inner: Vec<String> = (0..columns.len()).map(|i| format!("c{i}")).collect();
        let renamed: Vec<String> =
            inner.iter().zip(&all).map(|(inner, outer)| format!("v.{inner} AS {outer}")).collect();
        format!("SELECT {} FROM ({query}) AS v({})", renamed.join(", "), inner.join(", "))
    };
    let described: Vec<_> = schema
        .fields()
        .iter()
        .zip(&columns)
        .map(|(field, name)| json!({ "name": name, "type": names::format_type(PgType::of_field(field)) }))
        .collect();
    let body = json!({ "sql": sql, "columns": described, "tables": sources(view, &query)? });
    session.catalog_changed()?;
    session.put(Kind::View, &engine, Some(body))?;
    let number = session.view_number(&engine)?;
    session.own(view, oids::of_object(number))?;
    Ok("CREATE VIEW")
}

fn check_replaced(old: &serde_json::Value, columns: &[String]) -> Result<()> {
    let before: Vec<&str> = old["columns"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|c| c["name"].as_str())
        .collect();
    if columns.len() < before.len() {
        return Err(SqlError::new("42P16", "cannot drop columns from view"));
    }
    for (old, new) in before.iter().zip(columns) {
        if old != new {
            let text = format!("cannot change name of view column \"{old}\" to \"{new}\"");
            let hint =
                "Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead.";
            return Err(SqlError::new("42P16", text).hint(hint));
        }
    }
    Ok(())
}

/// Tables and views that a query names, by the engine's form of their names.
fn sources(view: &View, query: &str) -> Result<Vec<String>> {
    use datafusion::sql::sqlparser::ast::visit_relations;
    let statement = crate::parse::one(query)?;
    let mut found = Vec::new();
    let _ = visit_relations(&*statement, |name| {
        if let Ok(parts) = parts(name)
            && let Ok(Some((name, _))) = super::alter::relation(view, &parts)
        {
            found.push(name.engine(&view.database));
        }
        std::ops::ControlFlow::<()>::Continue(())
    });
    found.sort();
    found.dedup();
    Ok(found)
}

/// Views that name a table or view, by the engine's form of their names.
pub fn users(view: &View, engine: &str) -> Vec<String> {
    let uses = |body: &serde_json::Value| {
        body["tables"].as_array().is_some_and(|t| t.iter().any(|t| t.as_str() == Some(engine)))
    };
    let all = view.objects.of_kind(Kind::View);
    all.filter(|(_, object)| uses(&object.body)).map(|(name, _)| name.to_string()).collect()
}

impl Session {
    /// The number of a view that was just made.
    fn view_number(&mut self, engine: &str) -> Result<u32> {
        let instance = std::sync::Arc::clone(&self.instance);
        let objects = instance.objects().with(&self.current()?.pending);
        Ok(objects.get(Kind::View, engine).map_or(0, |o| o.number))
    }
}
