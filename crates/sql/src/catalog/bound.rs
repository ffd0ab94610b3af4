//! What do the names in a view stand for?
//!
//! They are bound once, when the view is made: in the text that is kept, a table or view is written as
//! `"onlap object"."OID" AS name`, and beside it stands which columns it had, by number and name
//! ([`Use`]). Another name of a table, column or schema, or another table of the old name, then changes
//! nothing of what the view reads. [`shown`] writes the text with the names of now.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Ident, ObjectName, ObjectNamePart, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, TableAlias, TableAliasColumnDef, TableFactor, VisitMut,
    VisitorMut,
};
use onlap::Table;
use serde_json::{Value as Json, json};

use super::names::{fold, parts, quote};
use super::objects::{Kind, Object};
use super::{Name, oids};
use crate::deep;
use crate::error::Result;
use crate::view::View;

/// The schema under which bound names stand; in a statement of a client it is an ordinary name.
const SCHEMA: &str = "onlap object";

/// A table or view that a view reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// Its OID.
    pub oid: u32,
    /// The engine's form of its name then, where it is looked for first.
    pub name: String,
    /// Ids and names of its columns then; none for a view.
    pub columns: Vec<(u32, String)>,
    /// Numbers (from 1) of those that the view reads.
    pub reads: Vec<u32>,
}

impl Use {
    /// A table.
    pub fn of_table(table: &Table) -> Use {
        let schema = table.schema();
        let columns = schema.columns.iter().map(|c| (c.id.0, c.name.clone())).collect();
        Use {
            oid: oids::of_table(schema.id),
            name: schema.name.clone(),
            columns,
            reads: Vec::new(),
        }
    }

    /// A view.
    pub fn of_view(engine: &str, object: &Object) -> Use {
        let oid = oids::of_object(object.number);
        Use { oid, name: engine.into(), columns: Vec::new(), reads: Vec::new() }
    }

    /// As it is kept.
    pub fn body(&self) -> Json {
        let columns: Vec<Json> = self.columns.iter().map(|(id, name)| json!([id, name])).collect();
        json!({ "oid": self.oid, "name": self.name, "columns": columns, "reads": self.reads })
    }

    fn read(body: &Json) -> Option<Use> {
        let number = |json: &Json| u32::try_from(json.as_u64()?).ok();
        let columns = body["columns"].as_array().into_iter().flatten();
        let column = |c: &Json| Some((number(&c[0])?, c[1].as_str()?.to_string()));
        Some(Use {
            oid: number(&body["oid"])?,
            name: body["name"].as_str()?.to_string(),
            columns: columns.map(column).collect::<Option<_>>()?,
            reads: body["reads"].as_array().into_iter().flatten().filter_map(number).collect(),
        })
    }
}

/// What a view reads.
pub fn uses(body: &Json) -> Vec<Use> {
    body["uses"].as_array().into_iter().flatten().filter_map(Use::read).collect()
}

/// One of them.
pub fn use_of(body: &Json, oid: u32) -> Option<Use> {
    uses(body).into_iter().find(|used| used.oid == oid)
}

/// The OID that a bound name says.
pub fn oid_of(parts: &[String]) -> Option<u32> {
    match parts {
        [schema, oid] if schema == SCHEMA => oid.parse().ok(),
        _ => None,
    }
}

/// What a [`Use`] is now.
pub enum Found<'a> {
    /// A table.
    Table(Table),
    /// A view.
    View(Name, &'a Object),
}

/// Finds what a view reads, whatever it is called now; `None` where it is gone.
///
/// # Errors
/// The transaction has ended.
pub fn find<'a>(view: &'a View, used: &Use) -> Result<Option<Found<'a>>> {
    let tx = view.scope.tx()?;
    let is = |table: &Table| oids::of_table(table.schema().id) == used.oid;
    if let Some(table) = tx.table(&used.name).ok().filter(is) {
        return Ok(Some(Found::Table(table)));
    }
    let mut views = view.objects.of_kind(Kind::View);
    if let Some((engine, object)) = views.find(|(_, o)| oids::of_object(o.number) == used.oid) {
        return Ok(Some(Found::View(Name::of_engine(engine).1, object)));
    }
    Ok(tx.tables().into_iter().find(is).map(Found::Table))
}

/// Binds the names of a query; `resolve` says what a name stands for, `None` for one of the system or of
/// nothing.
pub fn bind(query: &mut Query, resolve: &mut dyn FnMut(&[String]) -> Option<Use>) -> Vec<Use> {
    let mut binder = Binder { within: Vec::new(), resolve, found: Vec::new() };
    let _ = VisitMut::visit(query, &mut binder);
    binder.found
}

struct Binder<'a> {
    /// Names of WITH, for each query that the visitor is in.
    within: Vec<Vec<String>>,
    resolve: &'a mut dyn FnMut(&[String]) -> Option<Use>,
    found: Vec<Use>,
}

impl VisitorMut for Binder<'_> {
    type Break = ();

    /// A name of WITH stands for its query from the next one on, and in itself where it is recursive; so
    /// the queries of WITH are bound here, in order, and what the visitor meets of them later is bound.
    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.within.push(Vec::new());
        let Some(with) = &mut query.with else { return ControlFlow::Continue(()) };
        let last = self.within.len() - 1;
        for cte in &mut with.cte_tables {
            let name = fold(&cte.alias.name);
            if with.recursive {
                self.within[last].push(name.clone());
            }
            let _ = VisitMut::visit(&mut cte.query, self);
            if !with.recursive {
                self.within[last].push(name);
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.within.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        let TableFactor::Table { name, alias, args: None, .. } = factor else {
            return ControlFlow::Continue(());
        };
        let Ok(said) = parts(name) else { return ControlFlow::Continue(()) };
        let of_with =
            said.len() == 1 && self.within.iter().flatten().any(|known| *known == said[0]);
        if of_with || oid_of(&said).is_some() {
            return ControlFlow::Continue(());
        }
        if let Some(used) = (self.resolve)(&said) {
            let last = said.last().cloned().unwrap_or_default();
            alias.get_or_insert_with(|| plain_alias(&last));
            *name = bound_name(used.oid);
            if !self.found.iter().any(|known| known.oid == used.oid) {
                self.found.push(used);
            }
        }
        ControlFlow::Continue(())
    }

    /// A column's table has no schema any more.
    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(idents) = expr
            && idents.len() > 2
        {
            idents.drain(..idents.len() - 2);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for item in &mut select.projection {
            if let SelectItem::QualifiedWildcard(kind, _) = item
                && let SelectItemQualifiedWildcardKind::ObjectName(name) = kind
                && name.0.len() > 1
            {
                name.0.drain(..name.0.len() - 1);
            }
        }
        ControlFlow::Continue(())
    }
}

fn plain_alias(name: &str) -> TableAlias {
    TableAlias { explicit: true, name: ident(name), columns: Vec::new(), at: None }
}

fn ident(name: &str) -> Ident {
    match quote(name) == name {
        true => Ident::new(name),
        false => Ident::with_quote('"', name),
    }
}

fn bound_name(oid: u32) -> ObjectName {
    ObjectName::from(vec![Ident::with_quote('"', SCHEMA), Ident::with_quote('"', oid.to_string())])
}

/// The text of a view with the names of now: `name` prints a table or view, `columns` gives the names that
/// its columns have now, by id.
pub fn shown(
    body: &Json,
    name: &dyn Fn(u32) -> Option<String>,
    columns: &dyn Fn(u32) -> Vec<(u32, String)>,
) -> String {
    let sql = body["sql"].as_str().unwrap_or_default();
    let Ok(mut statement) = crate::parse::one(sql) else { return sql.to_string() };
    let mut printer = Printer { uses: uses(body), name, columns };
    deep::run(statement.depth(), || {
        let _ = VisitMut::visit(&mut *statement, &mut printer);
        statement.to_string()
    })
}

struct Printer<'a> {
    uses: Vec<Use>,
    name: &'a dyn Fn(u32) -> Option<String>,
    columns: &'a dyn Fn(u32) -> Vec<(u32, String)>,
}

impl VisitorMut for Printer<'_> {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        let TableFactor::Table { name, alias, .. } = factor else {
            return ControlFlow::Continue(());
        };
        let Some(oid) = parts(name).ok().and_then(|parts| oid_of(&parts)) else {
            return ControlFlow::Continue(());
        };
        let Some(now) = (self.name)(oid) else { return ControlFlow::Continue(()) };
        let said = crate::parse::identifiers(&now);
        let last = said.last().cloned().unwrap_or_default();
        *name = ObjectName(said.iter().map(|p| ObjectNamePart::Identifier(ident(p))).collect());
        let used = self.uses.iter().find(|used| used.oid == oid);
        let Some(alias_now) = alias else { return ControlFlow::Continue(()) };
        // Columns that have other names now go by those that the text knows.
        let now = (self.columns)(oid);
        let then: Vec<(u32, String)> = used.map(|used| used.columns.clone()).unwrap_or_default();
        let renamed =
            then.iter().any(|(id, name)| now.iter().any(|(other, now)| other == id && now != name));
        if renamed && alias_now.columns.is_empty() {
            let name_of = |(id, now): &(u32, String)| {
                let known = then.iter().find(|(other, _)| other == id);
                ident(known.map_or(now, |(_, name)| name))
            };
            let column = |c| TableAliasColumnDef { name: name_of(c), data_type: None };
            alias_now.columns = now.iter().map(column).collect();
        } else if alias_now.columns.is_empty() && fold(&alias_now.name) == last {
            *alias = None;
        }
        ControlFlow::Continue(())
    }
}
