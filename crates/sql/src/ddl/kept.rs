//! What has texts that are kept, and which of them name something?
//!
//! Views, rules, defaults of columns, of domains and of parameters, conditions of triggers and of domains. Texts are bound as what
//! they are, with the rights of a superuser: what uses something does so whatever the role that asks may look at. Only what is of the
//! view's database counts: functions of two databases may have one name, and what an extension has is the same in all of them.

use std::collections::HashSet;
use std::sync::Arc;

use onlap::TableId;
use onlap_pg::TypeRef;
use onlap_pg::bind::{self, Schema};
use onlap_pg::bound::Part;

use super::cascade::Object;
use super::trigger;
use crate::catalog::column_types::ids;
use crate::catalog::functions::Function;
use crate::catalog::made_types::{Domain, Made};
use crate::catalog::policies::{self, Policy};
use crate::catalog::rules::{self, Rule};
use crate::catalog::triggers::{self, Trigger};
use crate::catalog::{Kind, Name, oids};
use crate::error::{Result, SqlError};
use crate::parse;
use crate::query::{Bound, Names, domains, named_in};
use crate::view::View;

/// What texts are asked for.
pub struct Wanted<'a> {
    /// Whether a text, which is an expression or a statement, may name it: judged by the text alone.
    pub may: &'a dyn Fn(&str, bool) -> bool,
    /// Whether an OID is that of it.
    pub is: &'a dyn Fn(u32) -> bool,
}

/// What has a text.
pub struct Used {
    /// What it is.
    pub user: Object,
    /// Its place among objects: what was made later has a greater one.
    pub order: u32,
    /// What it names that is wanted. There is none of a text that cannot be bound any more, which may name it.
    pub oids: Vec<u32>,
    /// Such texts, and whether they are expressions.
    pub unbound: Vec<(String, bool)>,
}

/// The OIDs of the tables and views of the view's database.
///
/// # Errors
/// The transaction has ended.
pub fn relations(view: &View) -> Result<HashSet<u32>> {
    let tables = view.tables()?.into_iter().map(|(_, table)| oids::of_table(table.schema().id));
    let views = view.objects.of_kind(Kind::View);
    let views = views.filter(|(engine, _)| Name::of_engine(engine).0 == view.database);
    Ok(tables.chain(views.map(|(_, object)| oids::of_object(object.number))).collect())
}

/// What of the view's database has texts that name something that is wanted.
///
/// # Errors
/// The transaction has ended; `57014`.
pub fn users(view: &View, wanted: &Wanted<'_>) -> Result<Vec<Used>> {
    let view = &View { judge: view.judge.of(oids::POSTGRES), ..view.clone() };
    let objects = &view.objects;
    let mut walk = Walk { view, wanted, found: Vec::new() };
    walk.views()?;
    walk.defaults()?;
    let here = relations(view)?;
    for rule in rules::all(objects).filter(|rule| here.contains(&rule.relation)) {
        view.scope.go_on()?;
        walk.rule(&rule);
    }
    for trigger in triggers::all(objects).filter(|trigger| here.contains(&trigger.relation)) {
        walk.trigger(&trigger);
    }
    for policy in policies::all(objects).filter(|policy| here.contains(&policy.relation)) {
        view.scope.go_on()?;
        walk.policy(&policy);
    }
    for made in objects.made_types().of_database(&view.database) {
        if let Some(domain) = made.domain() {
            walk.domain(made, domain);
        }
    }
    for function in objects.functions().of_database(&view.database) {
        walk.function(function);
    }
    Ok(walk.found)
}

struct Walk<'a> {
    /// A superuser's.
    view: &'a View,
    wanted: &'a Wanted<'a>,
    found: Vec<Used>,
}

impl Walk<'_> {
    fn note<'t, E>(
        &mut self,
        (user, order): (Object, u32),
        texts: impl IntoIterator<Item = (&'t str, bool)>,
        used: std::result::Result<Vec<u32>, E>,
    ) {
        let (oids, unbound) = match used {
            Ok(oids) if oids.is_empty() => return,
            Ok(oids) => (oids, Vec::new()),
            Err(_) => {
                let texts = texts.into_iter().map(|(text, is_expr)| (text.to_string(), is_expr));
                (Vec::new(), texts.collect())
            }
        };
        self.found.push(Used { user, order, oids, unbound });
    }

    /// What an expression names that stands alone.
    fn alone(&self, text: &str) -> Result<Vec<u32>> {
        if !(self.wanted.may)(text, true) {
            return Ok(Vec::new());
        }
        let text = format!("SELECT {text}");
        let bound = Bound::must(self.view, &text, parse::depth_of(&text), &[])?;
        Ok(bound.names(self.wanted.is))
    }

    fn views(&mut self) -> Result<()> {
        let view = self.view;
        for (engine, object) in view.objects.of_kind(Kind::View) {
            let (database, _) = Name::of_engine(engine);
            let may = |text: &str| (self.wanted.may)(text, false);
            let text = object.body["sql"].as_str().filter(|text| may(text));
            if let Some(text) = text.filter(|_| database == view.database) {
                let bound = Bound::kept(view, text, &object.body);
                let used = bound.map(|bound| bound.names(self.wanted.is));
                let oid = oids::of_object(object.number);
                self.note((Object::View(oid), oid), [(text, false)], used);
            }
            view.scope.go_on()?;
        }
        let tables = view.tables()?;
        for (id, object) in view.objects.of_kind(Kind::Materialized) {
            let text = object.body["sql"].as_str().filter(|text| (self.wanted.may)(text, false));
            let is = |of: &&(Name, onlap::Table)| of.1.schema().id.0.to_string() == id;
            if let (Some(text), Some((_, table))) = (text, tables.iter().find(is)) {
                let bound = Bound::kept(view, text, &object.body);
                let used = bound.map(|bound| bound.names(self.wanted.is));
                let id = table.schema().id;
                self.note((Object::Table(id), oids::of_table(id)), [(text, false)], used);
            }
        }
        Ok(())
    }

    fn defaults(&mut self) -> Result<()> {
        let tables: HashSet<TableId> =
            self.view.tables()?.iter().map(|(_, table)| table.schema().id).collect();
        for (key, object) in self.view.objects.of_kind(Kind::Default) {
            let of = ids(key).filter(|(table, _)| tables.contains(table));
            if let (Some((table, column)), Some(text)) = (of, object.body["sql"].as_str()) {
                let order = oids::of_object(object.number);
                let used = self.alone(text);
                self.note((Object::Default(table, column), order), [(text, true)], used);
            }
        }
        Ok(())
    }

    fn rule(&mut self, rule: &Rule<'_>) {
        let may_condition = rule.condition.is_some_and(|text| (self.wanted.may)(text, true));
        if !may_condition && !rule.commands().any(|text| (self.wanted.may)(text, false)) {
            return;
        }
        let bound = Names::new(self.view).rule(rule);
        let used = bound.map(|bodied| {
            let condition = bodied.condition.as_ref();
            let condition = condition.map(|(bound, value)| (bound, Part::Expr(*value)));
            let commands = bodied.commands.iter();
            let commands = commands.map(|(bound, query)| (bound, Part::Query(*query)));
            let parts = condition.into_iter().chain(commands);
            parts.flat_map(|(bound, part)| named_in(bound, part, self.wanted.is)).collect()
        });
        let of = Object::Rule(rule.relation, rule.name.to_string());
        let texts = rule.condition.into_iter().map(|text| (text, true));
        let texts = texts.chain(rule.commands().map(|text| (text, false)));
        self.note((of, oids::of_object(rule.object.number)), texts, used);
    }

    fn policy(&mut self, of: &Policy<'_>) {
        let texts: Vec<_> = of.texts().collect();
        if !texts.iter().any(|text| (self.wanted.may)(text.sql, true)) {
            return;
        }
        let names = Names::new(self.view);
        let used = texts.iter().map(|text| {
            let (bound, query) = names.policy(of, *text)?;
            Ok::<_, SqlError>(named_in(&bound, Part::Query(query), self.wanted.is))
        });
        let used = used.collect::<Result<Vec<_>>>().map(|all| all.concat());
        let user = Object::Policy(of.relation, of.name.to_string());
        self.note((user, of.oid()), texts.into_iter().map(|text| (text.sql, true)), used);
    }

    fn trigger(&mut self, of: &Trigger) {
        let used = match of.when.as_deref().filter(|text| (self.wanted.may)(text, true)) {
            None => Ok(Vec::new()),
            Some(text) => trigger::names(self.view, of.relation, text, self.wanted.is),
        };
        if (self.wanted.is)(of.function) {
            let user = Object::Trigger(of.relation, of.name.clone());
            self.note((user, of.oid), [], Ok::<_, SqlError>(vec![of.function]));
        }
        let texts = of.when.as_deref().map(|text| (text, true));
        self.note((Object::Trigger(of.relation, of.name.clone()), of.oid), texts, used);
    }

    fn domain(&mut self, of: &Made, domain: &Domain) {
        if let Some(text) = &domain.default {
            let used = self.alone(text);
            self.note((Object::Type(of.oid), of.oid), [(text.as_str(), true)], used);
        }
        let names = Names::new(self.view);
        let base = TypeRef { oid: domain.base.oid, modifier: domain.base.modifier };
        for check in domain.checks.iter().filter(|check| (self.wanted.may)(&check.sql, true)) {
            let bound =
                domains::expression(&format!("({})", check.sql)).and_then(|(tree, value)| {
                    let within = (&names as &dyn Schema, names.catalog());
                    bind::check(&tree, value, base, within.0, within.1)
                });
            let named =
                |(bound, query): (_, _)| named_in(&bound, Part::Query(query), self.wanted.is);
            let user = Object::Check(of.oid, check.name.clone());
            self.note((user, of.oid), [(check.sql.as_str(), true)], bound.map(named));
        }
    }

    /// Defaults of parameters.
    fn function(&mut self, of: &Arc<Function>) {
        let defaults = of.parameters.iter().filter_map(|of| of.default.as_deref());
        let used: Result<Vec<Vec<u32>>> = defaults.clone().map(|text| self.alone(text)).collect();
        let texts = defaults.map(|text| (text, true));
        self.note((Object::Function(of.oid), of.oid), texts, used.map(|all| all.concat()));
    }
}
