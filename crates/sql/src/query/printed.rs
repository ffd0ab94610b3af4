//! What do the views of a database look like as SQL?
//!
//! A view's text is bound as it is for a statement that reads it, and printed from the tree ([`onlap_pg::print`]): with the
//! names of now, and so that it means the same in the session's search path.
//!
//! Thread safety: belongs to the statement that asks.

use std::cell::OnceCell;
use std::sync::Arc;

use onlap::{ColumnSchema, DataType, Expr, TableSchema};
use onlap_pg::ast::Name as Word;
use onlap_pg::bind::{self, Schema};
use onlap_pg::bound::{Bound, QueryId};
use onlap_pg::catalog::Catalog;
use onlap_pg::print::{self, Called, Facts, Look, Source};
use onlap_pg::{Oid, Result, TypeRef, grammar};
use serde_json::json;

use super::domains::upper_value;
use super::schema::Names;
use super::views::of_sql;
use super::{Reader, domains, sql_error};
use crate::catalog::names::TEMPORARY;
use crate::catalog::policies::{Policy, Text};
use crate::catalog::{Kind, Name, bound};
use crate::columns::Types;
use crate::ddl::{defaults, materialized};
use crate::error::{SqlError, state};
use crate::formulas;
use crate::system::classes::{columns, view_columns};
use crate::system::model::{Model, Relation, What};
use crate::system::text;
use crate::types::PgType;
use crate::view::View;

/// What prints the views of a database.
pub struct Printed<'a> {
    view: &'a View,
    model: &'a Model,
    names: Names<'a>,
    reader: Reader,
    /// What programs are shown by, once one is.
    catalog: OnceCell<Arc<Catalog>>,
}

impl<'a> Printed<'a> {
    /// Nothing is bound yet.
    pub fn new(view: &'a View, model: &'a Model) -> Printed<'a> {
        let names = Names { printing: true, ..Names::new(view) };
        Printed { view, model, names, reader: Reader::new(view), catalog: OnceCell::new() }
    }

    /// The query of a view; `None` for what is none.
    ///
    /// # Errors
    /// What it reads is not there any more; `57014`, `53200`.
    pub fn view(&self, relation: &Relation, look: Look) -> crate::error::Result<Option<String>> {
        let object = match &relation.what {
            What::View => {
                let engine = relation.name.engine(&self.view.database);
                self.view.objects.get(Kind::View, &engine)
            }
            What::Table(table) if relation.materialized => {
                materialized::object(self.view, table.id)
            }
            _ => None,
        };
        let Some(object) = object else { return Ok(None) };
        let sql = object.body["sql"].as_str().unwrap_or_default();
        let columns = match relation.table() {
            Some(_) => columns(self.view, relation),
            None => view_columns(self.view, relation.oid),
        };
        let columns: Vec<Word> = columns.into_iter().map(|(name, _)| name.into()).collect();
        let names = Names { body: Some(&object.body), ..self.names.clone() };
        let printed = self.printed(sql, &names, &columns, look);
        printed.map(|text| Some(text + ";")).map_err(|e| sql_error(&e, "").nowhere())
    }

    /// The same in a list of them: one that cannot be bound is none.
    ///
    /// # Errors
    /// `57014`, `53200`.
    pub fn listed(&self, relation: &Relation) -> crate::error::Result<Option<String>> {
        match self.view(relation, Look::PLAIN) {
            Err(e) if !matches!(e.state(), state::CANCELLED | state::OUT_OF_MEMORY) => Ok(None),
            made => made,
        }
    }

    /// A condition of a table's rows.
    pub fn condition(&self, table: &TableSchema, condition: &Expr, look: Look) -> String {
        let sql = text::condition(table, condition);
        let carries =
            |program| formulas::program(program).is_ok_and(|program| !program.carried.is_empty());
        if let Expr::Formula(program, reads) = condition
            && (carries(program) || self.bound_expression(table, None, &sql, look).is_err())
        {
            // It names what the search path has not, or what is called otherwise now.
            let catalog = self.catalog.get_or_init(|| formulas::catalog_of(self.view));
            let shown = formulas::Shown { catalog, reader: Some(&self.reader) };
            return text::formula(table, (program, reads), (look, shown));
        }
        self.expression(table, None, &sql, look)
    }

    /// A column's default.
    pub fn default(&self, table: &TableSchema, column: &ColumnSchema) -> Option<String> {
        let sql = text::default(self.view, self.model, table, column)?;
        if table.generated(column.id).is_some() {
            return Some(self.expression(table, None, &sql, Look::PLAIN));
        }
        let key = defaults::key(table.id, column.id);
        match self.view.objects.get(Kind::Default, &key) {
            Some(_) => Some(self.expression(table, Some(column), &sql, Look::PLAIN)),
            // The engine's own are printed already, moments as all sessions read them.
            None => match column.ty {
                DataType::Date | DataType::Time | DataType::Timestamp | DataType::Timestamptz => {
                    Some(self.expression(table, Some(column), &sql, Look::PLAIN))
                }
                _ => Some(sql),
            },
        }
    }

    /// An expression over a table, for a column's default or as it is; one that cannot be bound stays what it is.
    pub fn expression(
        &self,
        table: &TableSchema,
        column: Option<&ColumnSchema>,
        sql: &str,
        look: Look,
    ) -> String {
        self.bound_expression(table, column, sql, look).unwrap_or_else(|_| sql.to_string())
    }

    fn bound_expression(
        &self,
        table: &TableSchema,
        column: Option<&ColumnSchema>,
        sql: &str,
        look: Look,
    ) -> Result<String> {
        let assigned = column.and_then(|column| {
            let at = table.position(column.id)?;
            let ty = Types::of(&self.view.objects, table)[at].pg;
            Some(TypeRef { oid: ty.oid, modifier: ty.modifier })
        });
        let used = bound::Use::of_schema(table);
        let from = bound::named(used.oid, &Name::of_engine(&table.name).1.name);
        let body = json!({ "uses": [used.body()] });
        let names = Names { body: Some(&body), ..self.names.clone() };
        let (bound, query) =
            bound_to_print(&format!("SELECT {sql} FROM {from}"), &names, assigned)?;
        let [target] = &bound.query(query).targets[..] else {
            return Err(onlap_pg::Error::unserved("one expression"));
        };
        let source = Source { bound: &bound, catalog: names.catalog(), facts: self };
        print::expression(source, query, target.value, look)
    }

    /// A condition of a domain over a type; one that cannot be bound stays what it is.
    pub fn domain_condition(&self, base: PgType, sql: &str, look: Look) -> String {
        let print = || {
            let (tree, value) = domains::expression(&format!("({sql})"))?;
            let (oid, modifier) = self.names.catalog().base(base.oid, base.modifier);
            let of = TypeRef { oid, modifier };
            let (bound, query) = bind::check(&tree, value, of, &self.names, self.names.catalog())?;
            let source = Source { bound: &bound, catalog: self.names.catalog(), facts: self };
            print::expression(source, query, bound.query(query).targets[0].value, look)
        };
        print().map_or_else(|_: onlap_pg::Error| sql.to_string(), upper_value)
    }

    /// The condition of a trigger of a relation; one that cannot be bound stays what it is.
    pub fn when(&self, relation: &Relation, sql: &str, look: Look) -> String {
        let print = || {
            let tree = grammar::parse(&format!("SELECT {sql}"))?;
            let unserved = || onlap_pg::Error::unserved("one condition");
            let expr = tree.only_target().ok_or_else(unserved)?;
            let path = [relation.name.schema.as_str().into(), relation.name.name.as_str().into()];
            let of = self.names.relation(&path)?.ok_or_else(unserved)?;
            let within = (&self.names as &dyn Schema, self.names.catalog());
            let (bound, query, value) = bind::trigger_condition(&tree, expr, &of, within)?;
            let source = Source { bound: &bound, catalog: self.names.catalog(), facts: self };
            print::of_rows(source, query, value, look)
        };
        print().unwrap_or_else(|_: onlap_pg::Error| sql.to_string())
    }

    /// A condition of a policy; one that cannot be bound stays what it is.
    pub fn policy(&self, policy: &Policy<'_>, text: Text<'_>, look: Look) -> String {
        let print = || {
            let (bound, query) = self.names.policy(policy, text)?;
            let source = Source { bound: &bound, catalog: self.names.catalog(), facts: self };
            let value = bound.query(query).targets[0].value;
            print::expression(source, query, value, look).map_err(|e| sql_error(&e, ""))
        };
        print().unwrap_or_else(|_| text.sql.to_string())
    }

    fn printed(
        &self,
        sql: &str,
        names: &Names<'_>,
        columns: &[Word],
        look: Look,
    ) -> Result<String> {
        let (bound, query) = bound_to_print(sql, names, None)?;
        let source = Source { bound: &bound, catalog: names.catalog(), facts: self };
        print::query(source, query, columns, look)
    }
}

fn bound_to_print(
    sql: &str,
    names: &Names<'_>,
    column: Option<TypeRef>,
) -> Result<(Bound, QueryId)> {
    let tree = grammar::parse(sql)?;
    let [written] = &tree.statements[..] else {
        return Err(onlap_pg::Error::unserved("one query"));
    };
    bind::bind_to_print(&tree, &written.statement, names, names.catalog(), column)
}

/// Words by which a moment is named that passes: the value they mean now is not the text's.
const PASSING: [&str; 4] = ["now", "today", "tomorrow", "yesterday"];

impl Facts for Printed<'_> {
    fn relation(&self, oid: Oid) -> Result<Option<Called>> {
        let Some(relation) = self.model.relation(oid) else { return Ok(None) };
        let columns: Vec<Option<Word>> = match &relation.what {
            What::Table(table) => {
                table.columns.iter().map(|column| Some(column.name.as_str().into())).collect()
            }
            What::System(definition) => {
                definition.columns.iter().map(|(name, _)| Some((*name).into())).collect()
            }
            _ => {
                let columns = view_columns(self.view, oid).into_iter();
                columns.map(|(name, _)| Some(name.into())).collect()
            }
        };
        let schema = match self.view.is_own_temporary(&relation.name.schema) {
            true => TEMPORARY,
            false => &relation.name.schema,
        };
        Ok(Some(Called {
            schema: schema.into(),
            name: relation.name.name.as_str().into(),
            visible: self.model.is_visible(relation),
            columns,
        }))
    }

    fn composite(&self, row: Oid) -> Option<Vec<Word>> {
        let of = self.names.composite(row)?;
        Some(of.columns.iter().map(|column| column.name.clone()).collect())
    }

    fn shown(&self, ty: TypeRef, text: &str) -> Result<String> {
        let is_time = matches!(ty.oid, 1082 | 1083 | 1114 | 1184 | 1266);
        let lower = text.to_ascii_lowercase();
        if is_time && PASSING.iter().any(|word| lower.contains(word)) {
            return Ok(text.to_string());
        }
        let of = PgType { oid: ty.oid, modifier: ty.modifier };
        // What names something that is there no more stays as it was written.
        Ok(self.reader.shown_text(of, text).unwrap_or_else(|_| text.to_string()))
    }

    fn room(&self, _: usize) -> Result<()> {
        self.view.scope.plan_goes_on().map_err(|e: SqlError| of_sql(&e))
    }
}
