//! CREATE, ALTER and DROP RULE.
//!
//! What a rule says is bound when it is made, to find what is wrong with it, and kept as texts ([`crate::catalog::rules`]);
//! what it does is in [`crate::query::rules`].

use std::sync::Arc;

use onlap_pg::ast::{CreateRule, RuleEvent, RuleState, Statement};
use onlap_pg::bind::{self, Relation, Schema};
use onlap_pg::bound::{Bound, ExprId, QueryId};

use super::naming::{Dropped, OnRelation, Relation as Found};
use crate::catalog::called;
use crate::catalog::rules::{self as kept, Rule};
use crate::catalog::{Kind, Name, bound, frozen};
use crate::error::{Result, SqlError, state};
use crate::query::{Names, sql_error};
use crate::rights::Action;
use crate::session::Session;
use crate::source::{Source, strings};
use crate::view::View;
use crate::wire::Client;

mod check;

/// The name of the rule that a view is in PostgreSQL.
pub const OF_VIEW: &str = "_RETURN";

/// A table or view that has rules.
struct Ruled(OnRelation);

impl Ruled {
    /// By its name; `None` where there is none.
    fn find(view: &View, parts: &[String]) -> Result<Option<Ruled>> {
        Ok(OnRelation::find(view, parts, "rules")?.map(Ruled))
    }

    fn must(view: &View, parts: &[String]) -> Result<Ruled> {
        Ruled::find(view, parts)?.ok_or_else(|| crate::view::no_table(parts))
    }

    fn rule<'a>(&self, view: &'a View, name: &str) -> Result<Rule<'a>> {
        let all = kept::of_relation(&view.objects, self.0.oid);
        all.into_iter().find(|rule| rule.name == name).ok_or_else(|| self.missing(name))
    }

    fn missing(&self, rule: &str) -> SqlError {
        let text = format!("rule \"{rule}\" for relation \"{}\" does not exist", self.0.name.name);
        SqlError::new(state::NO_OBJECT, text)
    }

    /// Keeps others from changing the relation, and fails where one has changed the rule since the statement began.
    fn hold(&self, session: &mut Session, view: &View, key: &str) -> Result<()> {
        let engine = self.0.name.engine(&view.database);
        view.scope.tx()?.hold_name(&engine)?;
        let newest = view.newest_objects();
        let pending = &session.current()?.pending;
        let same = |kind, name: &str| {
            pending.has(kind, name) || newest.get(kind, name) == view.objects.get(kind, name)
        };
        let there =
            match self.0.found {
                Found::View => same(Kind::View, &engine),
                _ => view.scope.tx()?.table(&engine).is_ok_and(|table| {
                    crate::catalog::oids::of_table(table.schema().id) == self.0.oid
                }),
            };
        match there && same(Kind::Rule, key) {
            true => Ok(()),
            false => Err(super::change::anew(view)),
        }
    }
}

/// CREATE RULE.
///
/// # Errors
/// What is wrong with it; `0A000`: what Onlap does not do; the name is taken.
pub fn create(
    session: &mut Session,
    view: &View,
    source: Source<'_>,
    create: &CreateRule,
) -> Result<&'static str> {
    let parts = strings(&create.on.name);
    let ruled = Ruled::find(view, &parts)?;
    let missing = || source.at(crate::view::no_table(&parts), create.on.place);
    let ruled = ruled.ok_or_else(missing)?;
    let event = match create.event {
        RuleEvent::Select => return Err(SqlError::unsupported("a rule ON SELECT")),
        RuleEvent::Insert => "INSERT",
        RuleEvent::Update => "UPDATE",
        RuleEvent::Delete => "DELETE",
    };
    let names = Names::new(view);
    if view.judge.rights().materialized(ruled.0.oid).is_some() {
        return Err(SqlError::new("0A000", "rules on materialized views are not supported"));
    }
    let failed = |e: onlap_pg::Error| sql_error(&e, source.text);
    let relation = names.relation(&create.on.name).map_err(failed)?.ok_or_else(missing)?;
    let said = read(&names, source, create, &relation)?;
    view.must_own(Action::Alter, &ruled.0.name, ruled.0.found)?;
    said.check(create, &relation, names.catalog())?;
    if create.name.as_ref() == OF_VIEW {
        let text =
            format!("non-view rule for \"{}\" must not be named \"{OF_VIEW}\"", ruled.0.name.name);
        return Err(SqlError::new("42P17", text));
    }
    let mut new = texts(view, source, create, (&ruled, &said), event)?;
    said.note_columns(&names, &mut new.uses, ruled.0.oid);
    let key = kept::key(ruled.0.oid, &create.name);
    let old = view.objects.get(Kind::Rule, &key);
    if old.is_some() && !create.replace {
        return Err(taken(&create.name, &ruled));
    }
    ruled.hold(session, view, &key)?;
    bound::keep(view, &new.uses)?;
    // One that is replaced is asked when it was.
    let state = old.and_then(|old| old.body["state"].as_str()).unwrap_or("O").to_string();
    session.temporary.is_private = false;
    session.catalog_changed()?;
    session.put(Kind::Rule, &key, Some(new.body(&state)))?;
    Ok("CREATE RULE")
}

fn taken(rule: &str, ruled: &Ruled) -> SqlError {
    let text = format!("rule \"{rule}\" for relation \"{}\" already exists", ruled.0.name.name);
    SqlError::new(state::DUPLICATE_OBJECT, text)
}

/// What a rule says, bound.
struct Said {
    condition: Option<(Bound, ExprId)>,
    commands: Vec<(Bound, QueryId)>,
}

fn read(
    names: &Names<'_>,
    source: Source<'_>,
    create: &CreateRule,
    relation: &Arc<Relation>,
) -> Result<Said> {
    let failed = |e: onlap_pg::Error| sql_error(&e, source.text);
    let within = (names as &dyn Schema, names.catalog());
    let of = (relation, create.event);
    let condition = match &create.filter {
        None => None,
        Some(said) => {
            let made = bind::rule_condition(source.tree, said.expr, of, within, false);
            let (bound, _, value) = made.map_err(failed)?;
            Some((bound, value))
        }
    };
    let mut commands = Vec::new();
    for (command, _) in &create.commands {
        match command {
            Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) => {}
            Statement::Query(_) => {
                return Err(SqlError::unsupported("a rule whose command is a query"));
            }
            _ if create.filter.is_some() => {
                let text = "rules with WHERE conditions can only have SELECT, INSERT, UPDATE, or \
                            DELETE actions";
                return Err(SqlError::new("42P17", text));
            }
            _ => return Err(SqlError::unsupported("a rule whose command is NOTIFY")),
        }
        let made = bind::rule_command(source.tree, command, relation, within, false);
        let (mut bound, query) = made.map_err(failed)?;
        bound.merge_parts().map_err(failed)?;
        commands.push((bound, query));
    }
    Ok(Said { condition, commands })
}

/// The texts of a rule with their names bound, and what it names: its own table or view first.
fn texts(
    view: &View,
    source: Source<'_>,
    create: &CreateRule,
    (ruled, said): (&Ruled, &Said),
    event: &'static str,
) -> Result<kept::New> {
    let parts = [ruled.0.name.schema.clone(), ruled.0.name.name.clone()];
    let own = super::view::stands_for(view, &parts).ok_or_else(|| crate::view::no_table(&parts))?;
    let mut uses = vec![own];
    let mut resolve = |parts: &[String]| super::view::stands_for(view, parts);
    let mut add = |(text, more): (String, Vec<bound::Use>)| {
        for used in more {
            if !uses.iter().any(|known| known.oid == used.oid) {
                uses.push(used);
            }
        }
        text
    };
    let edits = |bound: &Bound| frozen::literals(view, bound, source.text);
    let condition = create.filter.as_ref().zip(said.condition.as_ref());
    let condition = condition.map(|(said, (bound, _))| {
        let text = (source.text, edits(bound));
        called::qualified(
            view,
            &add(bound::bind_expr(source.tree, text, *said, &mut resolve)),
            true,
        )
    });
    let mut commands = Vec::new();
    for ((command, span), (bound, _)) in create.commands.iter().zip(&said.commands) {
        let text = (source.text, edits(bound));
        let made = bound::bind_statement((source.tree, command), text, *span, &mut resolve);
        commands.push(called::qualified(view, &add(made), false));
    }
    Ok(kept::New { event, instead: create.instead, condition, commands, uses })
}

/// ALTER RULE … RENAME TO.
///
/// # Errors
/// There is none; the name is taken.
pub fn rename(
    session: &mut Session,
    view: &View,
    (name, on, to): (&str, &[onlap_pg::ast::Name], &str),
) -> Result<&'static str> {
    let ruled = Ruled::must(view, &strings(on))?;
    view.must_own(Action::Alter, &ruled.0.name, ruled.0.found)?;
    if ruled.0.found == Found::View && name == OF_VIEW {
        return Err(SqlError::new("42P17", "renaming an ON SELECT rule is not allowed"));
    }
    let rule = ruled.rule(view, name)?;
    let new = kept::key(ruled.0.oid, to);
    if view.objects.get(Kind::Rule, &new).is_some() || is_of_view(&ruled, to) {
        return Err(taken(to, &ruled));
    }
    ruled.hold(session, view, &rule.key())?;
    session.temporary.is_private = false;
    session.catalog_changed()?;
    session.rename(Kind::Rule, &rule.key(), &new)?;
    Ok("ALTER RULE")
}

fn is_of_view(ruled: &Ruled, name: &str) -> bool {
    ruled.0.found == Found::View && name == OF_VIEW
}

/// DROP RULE.
///
/// # Errors
/// There is none.
pub fn drop(
    session: &mut Session,
    view: &View,
    (skip, name, on): (bool, &str, &[onlap_pg::ast::Name]),
    client: &mut dyn Client,
) -> Result<&'static str> {
    const TAG: &str = "DROP RULE";
    let of = Ruled::must(view, &strings(on));
    let found = match &of {
        Ok(of) if is_of_view(of, name) || of.rule(view, name).is_ok() => Ok((of, &of.0)),
        Ok(of) => Err(of.missing(name)),
        Err(e) => Err(e.clone()),
    };
    let dropped = Dropped { skip, what: "rule", name, on };
    let Some(ruled) = dropped.found(view, client, found)? else { return Ok(TAG) };
    if is_of_view(ruled, name) {
        let of = &ruled.0.name.name;
        let text = format!("cannot drop rule {name} on view {of} because view {of} requires it");
        let hint = format!("You can drop view {of} instead.");
        return Err(SqlError::new(state::IN_USE, text).hint(hint));
    }
    let key = kept::key(ruled.0.oid, name);
    ruled.hold(session, view, &key)?;
    forget_one(session, view, &key)?;
    Ok(TAG)
}

/// ENABLE and DISABLE RULE of a table whose owner asks.
///
/// # Errors
/// There is none.
pub fn set_state(
    session: &mut Session,
    view: &View,
    table: &Name,
    (name, to): (&str, RuleState),
) -> Result<()> {
    let ruled = Ruled::must(view, &[table.schema.clone(), table.name.clone()])?;
    let rule = ruled.rule(view, name)?;
    ruled.hold(session, view, &rule.key())?;
    let mut body = rule.object.body.clone();
    body["state"] = kept::state_word(to).into();
    session.temporary.is_private = false;
    session.catalog_changed()?;
    session.put(Kind::Rule, &rule.key(), Some(body))
}

/// Drops a rule by the name that it is kept by.
///
/// # Errors
/// The transaction has ended.
pub fn forget_one(session: &mut Session, view: &View, key: &str) -> Result<()> {
    if view.objects.get(Kind::Rule, key).is_none() {
        return Ok(());
    }
    session.temporary.is_private = false;
    session.catalog_changed()?;
    session.put(Kind::Rule, key, None)
}

/// Drops the rules, triggers and policies of a table or view that goes.
///
/// # Errors
/// The transaction has ended.
pub fn forget(session: &mut Session, view: &View, relation: u32) -> Result<()> {
    super::trigger::forget(session, view, relation)?;
    super::policy::forget(session, view, relation)?;
    let rules = kept::of_relation(&view.objects, relation);
    rules.iter().try_for_each(|rule| session.put(Kind::Rule, &rule.key(), None))
}

/// Rules of other relations that name a table or view.
pub fn users(view: &View, oid: u32) -> Vec<Rule<'_>> {
    let uses =
        |rule: &Rule<'_>| rule.relation != oid && bound::use_of(&rule.object.body, oid).is_some();
    by_age(kept::all(&view.objects).filter(uses).collect())
}

fn by_age(mut rules: Vec<Rule<'_>>) -> Vec<Rule<'_>> {
    rules.sort_by_key(|rule| rule.object.number);
    rules
}

/// Rules that name a column of a table, by its number from 1.
pub fn users_of_column(view: &View, oid: u32, column: u32) -> Vec<Rule<'_>> {
    let uses = |rule: &Rule<'_>| {
        let used = bound::use_of(&rule.object.body, oid);
        used.is_some_and(|used| used.reads.contains(&column))
    };
    by_age(kept::all(&view.objects).filter(uses).collect())
}

/// A table or view as messages name it.
///
/// # Errors
/// The transaction has ended.
pub fn shown_relation(view: &View, oid: u32) -> Result<String> {
    let model = crate::system::model::Model::of(view)?;
    Ok(model.relation(oid).map_or_else(String::new, |relation| {
        let word = if relation.kind() == "v" { "view" } else { "table" };
        format!("{word} {}", model.display(relation))
    }))
}
