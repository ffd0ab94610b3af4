//! How much becomes of a statement when its views and WITH queries are written out?
//!
//! The planner puts the query of a view, and that of a name of WITH, in each place where it is named. Ten names,
//! each of which joins the one before with itself, are a thousand tables; thirty are a billion. So what a statement
//! will come to is counted before it is planned, and how deep it will be.

use std::collections::HashMap;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{ObjectName, Query, Statement, Visit, Visitor};
use onlap_base::limits::STATEMENT_RELATIONS;
use serde_json::Value as Json;

use super::context::VIEW_DEPTH;
use crate::catalog::names::{fold, parts};
use crate::catalog::{Kind, bound};
use crate::deep::{self, Depth, too_deep};
use crate::error::{Result, SqlError};
use crate::parse;
use crate::view::{Relation, View};

/// What views add to a statement's depth, where the statement is not too much for the planner.
///
/// # Errors
/// `54001`.
pub fn weigh(view: &View, statement: &Statement) -> Result<Depth> {
    Ok(Weighing { view, known: HashMap::new(), within: Vec::new() }.weigh(statement)?.depth)
}

/// Tables that something reads, and how deep it is.
#[derive(Clone, Copy, Default)]
struct Weight {
    relations: usize,
    depth: Depth,
}

struct Weighing<'a> {
    view: &'a View,
    /// Views by their text.
    known: HashMap<String, Weight>,
    /// Bodies of the views within each other.
    within: Vec<Json>,
}

impl Weighing<'_> {
    fn weigh(&mut self, statement: &Statement) -> Result<Weight> {
        let mut counting =
            Counting { weighing: self, open: vec![Open::default()], depth: Depth::default() };
        if let ControlFlow::Break(e) = statement.visit(&mut counting) {
            return Err(e);
        }
        let (depth, relations) = (counting.depth, counting.open.iter().map(|o| o.relations).sum());
        if relations > STATEMENT_RELATIONS {
            let detail = format!(
                "It reads more than {STATEMENT_RELATIONS} tables, each as often as it is named."
            );
            return Err(too_deep().detail(detail));
        }
        Ok(Weight { relations, depth })
    }

    fn of_view(&mut self, body: Json) -> Result<Weight> {
        let sql = body["sql"].as_str().unwrap_or_default().to_string();
        if let Some(known) = self.known.get(&sql) {
            return Ok(*known);
        }
        if self.within.contains(&body) {
            // It reads itself, which the planner refuses.
            return Ok(Weight { relations: 1, depth: Depth::default() });
        }
        if self.within.len() >= VIEW_DEPTH {
            return Err(too_deep().detail("Views refer to each other too deeply."));
        }
        let query = parse::one(&sql)?;
        self.within.push(body);
        let inner = deep::run(query.depth(), || self.weigh(&query))?;
        self.within.pop();
        let weight = Weight { depth: query.depth().plus(inner.depth), ..inner };
        weight.depth.check()?;
        self.known.insert(sql, weight);
        Ok(weight)
    }
}

/// A query whose parts are visited.
#[derive(Default)]
struct Open {
    /// Where its queries of WITH are, and their names.
    with: Vec<(*const Query, String)>,
    /// What the names are that were visited.
    names: HashMap<String, usize>,
    relations: usize,
}

struct Counting<'a, 'b> {
    weighing: &'a mut Weighing<'b>,
    /// The last is the innermost.
    open: Vec<Open>,
    /// The deepest of the views.
    depth: Depth,
}

impl Counting<'_, '_> {
    fn add(&mut self, relations: usize) -> ControlFlow<SqlError> {
        if let Some(open) = self.open.last_mut() {
            open.relations = open.relations.saturating_add(relations);
        }
        ControlFlow::Continue(())
    }

    fn relation(&mut self, name: &ObjectName) -> Result<usize> {
        let Ok(parts) = parts(name) else { return Ok(1) };
        if let [name] = &parts[..]
            && let Some(known) = self.open.iter().rev().find_map(|open| open.names.get(name))
        {
            return Ok(*known);
        }
        // What is missing, the planner says.
        let Some(body) = self.view_named(&parts) else { return Ok(1) };
        let weight = self.weighing.of_view(body)?;
        self.depth = self.depth.max(weight.depth);
        Ok(weight.relations)
    }

    /// The body of the view that a name stands for, in a statement or in a view's text.
    fn view_named(&self, parts: &[String]) -> Option<Json> {
        let view = self.weighing.view;
        if let (Some(within), Some(oid)) = (self.weighing.within.last(), bound::oid_of(parts)) {
            return match bound::find(view, &bound::use_of(within, oid)?).ok()?? {
                bound::Found::View(_, object) => Some(object.body.clone()),
                bound::Found::Table(_) => None,
            };
        }
        match view.find(parts).ok()?? {
            Relation::View(name) => {
                let object = view.objects.get(Kind::View, &name.engine(&view.database));
                object.map(|object| object.body.clone())
            }
            Relation::Table(..) => None,
        }
    }
}

impl Visitor for Counting<'_, '_> {
    type Break = SqlError;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<SqlError> {
        let tables = query.with.iter().flat_map(|with| &with.cte_tables);
        let with = tables.map(|cte| (&raw const *cte.query, fold(&cte.alias.name))).collect();
        self.open.push(Open { with, ..Open::default() });
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &Query) -> ControlFlow<SqlError> {
        let closed = self.open.pop().unwrap_or_default();
        if let Some(outer) = self.open.last_mut() {
            let name = outer.with.iter().find(|(at, _)| std::ptr::eq(*at, query));
            if let Some((_, name)) = name.cloned() {
                // One without tables is planned as often, too.
                outer.names.insert(name, closed.relations.max(1));
                return ControlFlow::Continue(());
            }
        }
        self.add(closed.relations)
    }

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<SqlError> {
        match self.relation(name) {
            Ok(relations) => self.add(relations),
            Err(e) => ControlFlow::Break(e),
        }
    }
}
