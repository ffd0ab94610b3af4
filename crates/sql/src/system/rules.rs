//! What do the catalogs say of rules, and how do they read as SQL?
//!
//! A rule reads as it was written, with the names that its tables have now. One whose tables have got or renamed columns since
//! would not mean the same if it was made again from that text, so it is not shown.

use onlap_pg::bound::ModifyKind;
use onlap_pg::grammar::{Kind as Token, Tokens};

use super::model::{Model, Relation};
use super::rows::Rows;
use crate::catalog::names::quote;
use crate::catalog::rules::{self as kept, Rule};
use crate::catalog::{Name, bound, oids};
use crate::error::{Result, SqlError};
use crate::row;
use crate::view::View;

/// Rules of the database with their relations.
fn of_database<'a>(view: &'a View, model: &'a Model) -> Vec<(Rule<'a>, &'a Relation)> {
    let with = |rule: Rule<'a>| Some((rule, model.relation(rule.relation)?));
    let mut all: Vec<_> = kept::all(&view.objects).filter_map(with).collect();
    all.sort_by_key(|(rule, _)| rule.object.number);
    all
}

/// Adds rules to the rows of pg_rewrite.
pub fn rewrites(view: &View, model: &Model, rows: &mut Rows) {
    for (rule, relation) in of_database(view, model) {
        let event = match rule.event {
            ModifyKind::Update => "2",
            ModifyKind::Delete => "4",
            _ => "3",
        };
        let oid = oids::of_rule(rule.object.number);
        rows.push(row![oid, rule.name, relation.oid, event, rule.state, rule.instead]);
    }
}

/// The rows of pg_rules.
///
/// # Errors
/// The transaction has ended.
pub fn rules(view: &View, model: &Model) -> Rows {
    let mut rows = Rows::of("schemaname tablename rulename definition");
    for (rule, relation) in of_database(view, model) {
        let definition = definition(view, model, (&rule, relation), false).ok();
        rows.push(row![&relation.name.schema, &relation.name.name, rule.name, definition]);
    }
    rows
}

/// CREATE RULE of a rule by its OID; `None` where there is none. `pretty`: tables that the search path finds have no schema.
///
/// # Errors
/// `0A000`: columns have changed since it was made.
pub fn definition_of(view: &View, model: &Model, oid: u32, pretty: bool) -> Result<Option<String>> {
    let mut all = of_database(view, model).into_iter();
    let found = all.find(|(rule, _)| oids::of_rule(rule.object.number) == oid);
    found.map(|(rule, of)| definition(view, model, (&rule, of), pretty)).transpose()
}

fn definition(
    view: &View,
    model: &Model,
    (rule, relation): (&Rule<'_>, &Relation),
    pretty: bool,
) -> Result<String> {
    for used in bound::uses(&rule.object.body) {
        check_columns(view, &used)?;
    }
    let (_, _, event) = rule.event.words();
    let on = match pretty {
        true => model.display(relation),
        false => format!("{}.{}", quote(&relation.name.schema), quote(&relation.name.name)),
    };
    let mut text = format!("CREATE RULE {} AS\n    ON {event} TO {on}", quote(rule.name));
    if let Some(condition) = rule.condition {
        text += &format!("\n  WHERE ({})", named_now(model, condition));
    }
    text += if rule.instead { " DO INSTEAD " } else { " DO " };
    let commands: Vec<String> =
        rule.commands().map(|command| format!(" {}", named_now(model, command))).collect();
    text += &match &commands[..] {
        [] => "NOTHING;".to_string(),
        [one] => format!("{one};"),
        all => format!("({};\n);", all.join(";\n")),
    };
    Ok(text)
}

/// Fails where a table has other columns than it had when the rule was made.
fn check_columns(view: &View, used: &bound::Use) -> Result<()> {
    let Some(bound::Found::Table(table)) = bound::find(view, used)? else { return Ok(()) };
    let schema = table.schema();
    let now = schema.columns.iter().map(|column| (column.id.0, column.name.as_str()));
    let then = used.columns.iter().map(|(id, name)| (*id, name.as_str()));
    match now.eq(then) {
        true => Ok(()),
        false => {
            let name = Name::of_engine(&schema.name).1.name;
            let what = format!("showing a rule of before columns of \"{name}\" changed");
            Err(SqlError::unsupported(what).hint("Make the rule anew with CREATE OR REPLACE RULE."))
        }
    }
}

/// A text of a rule with the names that its tables have now.
fn named_now(model: &Model, text: &str) -> String {
    let tokens = Tokens::of(text);
    let value = |at: usize| tokens.all.get(at).map(|token| tokens.value(*token).to_string());
    let is_dot = |at: usize| tokens.all.get(at).is_some_and(|t| t.kind == Token::Char('.'));
    let is_name = |at: usize| tokens.all.get(at).is_some_and(|t| t.kind == Token::Name);
    let (mut made, mut from, mut at) = (String::new(), 0, 0);
    while at < tokens.all.len() {
        let oid = match is_name(at) && is_dot(at + 1) && is_name(at + 2) {
            true => {
                let parts = [value(at), value(at + 2)].map(Option::unwrap_or_default);
                bound::oid_of(&parts)
            }
            false => None,
        };
        let Some(relation) = oid.and_then(|oid| model.relation(oid)) else {
            at += 1;
            continue;
        };
        let said = if is_dot(at + 3) { value(at + 4) } else { None };
        let last = if said.is_some() { at + 4 } else { at + 2 };
        made.push_str(&text[from..tokens.all[at].start as usize]);
        made.push_str(&model.display(relation));
        // Columns are called by the name that it had.
        if let Some(said) = said.filter(|said| *said != relation.name.name) {
            made.push_str(&format!(" AS {}", quote(&said)));
        }
        from = tokens.all[last].end as usize;
        at = last + 1;
    }
    made.push_str(&text[from..]);
    crate::catalog::called::shown(&made)
}
