//! What uses a function?
//!
//! Views, rules and defaults, whose texts name it. Triggers name it by its OID.

use serde_json::Value as Json;

use crate::catalog::functions::Function;
use crate::catalog::names::quote;
use crate::catalog::rules;
use crate::catalog::{Kind, Name, called, oids};
use crate::ddl::{drop as dropping, rule};
use crate::error::Result;
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
    Ok(found)
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
                rule::shown_relation(view, view.view_key(&name).oid)?
            }
            User::Rule(relation, name) => {
                format!("rule {name} on {}", rule::shown_relation(view, *relation)?)
            }
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

    /// Drops it.
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
        }
    }
}
