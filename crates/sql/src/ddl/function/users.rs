//! What uses a function, and which functions use types?
//!
//! Views, rules, defaults, defaults of parameters and conditions of triggers use it, whose texts name it, and triggers that call
//! it, by its OID. A function uses the types of its parameters and of its result.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::catalog::functions::Function;
use crate::catalog::names::quote;
use crate::catalog::rules;
use crate::catalog::triggers::{self, Trigger};
use crate::catalog::{Kind, Name, called, oids};
use crate::ddl::{drop as dropping, rule, trigger};
use crate::error::{Result, SqlError};
use crate::parse;
use crate::query::Bound;
use crate::session::Session;
use crate::view::View;

/// Something that uses a function.
pub enum User {
    /// A view, by the engine's form of its name.
    View(String),
    /// A default, by the name that it is kept by.
    Default(String),
    /// A rule: its relation, its name.
    Rule(u32, String),
    /// A domain, whose default calls it, by its name.
    Domain(Name),
    /// A trigger.
    Trigger(Trigger),
    /// Another function.
    Function(Arc<Function>),
}

/// The functions that have a parameter or a result of one of some types.
pub fn with_types(view: &View, types: &[u32]) -> Vec<Arc<Function>> {
    let all = view.objects.functions().of_database(&view.database);
    let has = |of: &&Arc<Function>| {
        types.contains(&of.result) || of.parameters.iter().any(|of| types.contains(&of.ty))
    };
    all.filter(has).cloned().collect()
}

/// What uses a function.
///
/// # Errors
/// The transaction has ended.
pub fn users(view: &View, of: &Function) -> Result<Vec<User>> {
    let mut found = Vec::new();
    let sql = |body: &Json| body["sql"].as_str().map(str::to_string);
    for (name, object) in view.objects.of_kind(Kind::View) {
        let named = Name::of_engine(name);
        let read = || {
            let Name { schema, name } = &named.1;
            format!("SELECT * FROM {}.{}", quote(schema), quote(name))
        };
        if sql(&object.body).is_some_and(|text| called::calls(&text, false, of))
            && named.0 == view.database
            && means(view, &read(), of)
        {
            found.push(User::View(name.to_string()));
        }
    }
    for (id, object) in view.objects.of_kind(Kind::Materialized) {
        let Some(text) = sql(&object.body).filter(|text| called::calls(text, false, of)) else {
            continue;
        };
        let tables = view.scope.tx()?.tables();
        let found_of = tables.iter().find(|table| table.schema().id.0.to_string() == id);
        let Some(table) = found_of.filter(|t| Name::of_engine(&t.name()).0 == view.database) else {
            continue;
        };
        if Bound::kept(view, &text, &object.body).map_or(true, |bound| bound.calls(of.oid)) {
            found.push(User::View(table.name()));
        }
    }
    for (name, object) in view.objects.of_kind(Kind::Default) {
        let text = sql(&object.body).filter(|text| called::calls(text, true, of));
        if text.is_some_and(|text| means(view, &format!("SELECT {text}"), of)) {
            found.push(User::Default(name.to_string()));
        }
    }
    for rule in rules::all(&view.objects) {
        let of_condition = rule.condition.is_some_and(|text| called::calls(text, true, of));
        if of_condition || rule.commands().any(|text| called::calls(text, false, of)) {
            found.push(User::Rule(rule.relation, rule.name.to_string()));
        }
    }
    let fires = |trigger: &Trigger| {
        let when = trigger.when.as_deref();
        trigger.function == of.oid || when.is_some_and(|text| called::calls(text, true, of))
    };
    found.extend(triggers::all(&view.objects).filter(fires).map(User::Trigger));
    for made in view.objects.made_types().of_database(&view.database) {
        let default = made.domain().and_then(|domain| domain.default.as_deref());
        if default.is_some_and(|text| called::calls(text, true, of)) {
            found.push(User::Domain(made.name.clone()));
        }
    }
    let has_default = |other: &&Arc<Function>| {
        let mut defaults = other.parameters.iter().filter_map(|of| of.default.as_deref());
        other.oid != of.oid && defaults.any(|text| called::calls(text, true, of))
    };
    let others = view.objects.functions().of_database(&view.database).filter(has_default);
    found.extend(others.cloned().map(User::Function));
    Ok(found)
}

/// Whether a text that is kept names a function: a trigger alone calls it by its OID.
///
/// # Errors
/// The transaction has ended.
pub fn is_named(view: &View, of: &Function) -> Result<bool> {
    let by_oid = |user: &User| match user {
        User::Trigger(trigger) => {
            trigger.when.as_deref().is_none_or(|text| !called::calls(text, true, of))
        }
        _ => false,
    };
    Ok(!users(view, of)?.iter().all(by_oid))
}

/// Whether a text calls the function, and not another one of its name; what cannot be bound may.
fn means(view: &View, text: &str, of: &Function) -> bool {
    match Bound::must(view, text, parse::depth_of(text), &[]) {
        Ok(bound) => bound.calls(of.oid),
        Err(_) => true,
    }
}

impl User {
    /// As messages call it.
    ///
    /// # Errors
    /// The transaction has ended.
    pub fn shown(&self, view: &View) -> Result<String> {
        Ok(match self {
            User::View(engine) => {
                let name = Name::of_engine(engine).1;
                match view.objects.get(Kind::View, engine) {
                    Some(_) => rule::shown_relation(view, view.view_key(&name).oid)?,
                    None => format!("materialized view {}", display(view, &name)),
                }
            }
            User::Rule(relation, name) => {
                format!("rule {name} on {}", rule::shown_relation(view, *relation)?)
            }
            User::Domain(name) => format!("type {}", display(view, name)),
            User::Trigger(of) => {
                format!("trigger {} on {}", of.name, rule::shown_relation(view, of.relation)?)
            }
            User::Function(of) => format!("{} {}", of.word(), of.shown(view)),
            User::Default(key) => {
                let (table, column) = key.split_once(':').unwrap_or_default();
                let number = |text: &str| text.parse::<u32>().unwrap_or_default();
                let tables = view.scope.tx()?.tables();
                let found = tables.iter().find(|t| t.schema().id.0 == number(table));
                let schema = found.map(onlap::Table::schema);
                let column = schema.as_ref().and_then(|schema| {
                    let of = schema.columns.iter().find(|c| c.id.0 == number(column));
                    of.map(|column| column.name.clone())
                });
                let oid = schema.map_or(0, |schema| oids::of_table(schema.id));
                let on = rule::shown_relation(view, oid)?;
                format!("default value for column {} of {on}", column.unwrap_or_default())
            }
        })
    }

    /// Drops it, without what uses it.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn drop(self, session: &mut Session, view: &View) -> Result<()> {
        match self {
            User::View(engine) => dropping::one_view(session, view, &engine, &[], true),
            User::Default(key) => session.put(Kind::Default, &key, None),
            User::Rule(relation, name) => {
                rule::forget_one(session, view, &rules::key(relation, &name))
            }
            User::Domain(_) => Err(SqlError::unsupported(
                "DROP … CASCADE of a function that a domain's default calls",
            )),
            User::Trigger(of) => trigger::forget_one(session, &of),
            User::Function(of) => super::drop::forget(session, view, &of),
        }
    }
}

/// A relation's name, with its schema where the name alone would not find it.
fn display(view: &View, name: &Name) -> String {
    match view.path().any(|schema| *schema == name.schema) {
        true => quote(&name.name),
        false => format!("{}.{}", quote(&name.schema), quote(&name.name)),
    }
}
