//! How is a rule kept?
//!
//! As a [`Kind::Rule`] by `OID:name`, the OID that of its table or view. Its condition and its commands are texts whose names
//! are bound ([`super::bound`]), so that another name of a table or column changes nothing of what it does.

use onlap_pg::ast::RuleState;
use onlap_pg::bound::ModifyKind;
use serde_json::{Value as Json, json};

use super::objects::{Kind, Object, Objects};

/// A rule.
#[derive(Clone, Copy, Debug)]
pub struct Rule<'a> {
    /// The OID of its table or view.
    pub relation: u32,
    /// Its name.
    pub name: &'a str,
    /// What it is on.
    pub event: ModifyKind,
    /// INSTEAD.
    pub instead: bool,
    /// When it is asked: `O`, `A`, `R` or `D`, as `pg_rewrite.ev_enabled` has it.
    pub state: &'a str,
    /// WHERE.
    pub condition: Option<&'a str>,
    /// What it is kept as.
    pub object: &'a Object,
}

/// What is kept of a new one.
#[derive(Debug)]
pub struct New {
    /// What it is on.
    pub event: &'static str,
    /// INSTEAD.
    pub instead: bool,
    /// WHERE.
    pub condition: Option<String>,
    /// Its commands.
    pub commands: Vec<String>,
    /// What it names: its own table or view first.
    pub uses: Vec<super::bound::Use>,
}

impl New {
    /// As it is kept.
    pub fn body(&self, state: &str) -> Json {
        let uses: Vec<Json> = self.uses.iter().map(super::bound::Use::body).collect();
        json!({
            "event": self.event,
            "instead": self.instead,
            "state": state,
            "where": self.condition,
            "commands": self.commands,
            "uses": uses,
        })
    }
}

impl<'a> Rule<'a> {
    fn read(key: &'a str, object: &'a Object) -> Option<Rule<'a>> {
        let (relation, name) = key.split_once(':')?;
        let body = &object.body;
        Some(Rule {
            relation: relation.parse().ok()?,
            name,
            event: match body["event"].as_str()? {
                "INSERT" => ModifyKind::Insert,
                "UPDATE" => ModifyKind::Update,
                "DELETE" => ModifyKind::Delete,
                _ => return None,
            },
            instead: body["instead"].as_bool()?,
            state: body["state"].as_str()?,
            condition: body["where"].as_str(),
            object,
        })
    }

    /// Its commands.
    pub fn commands(&self) -> impl Iterator<Item = &'a str> {
        let commands = self.object.body["commands"].as_array();
        commands.into_iter().flatten().filter_map(Json::as_str)
    }

    /// Whether it is asked by sessions that are no replicas.
    pub fn is_enabled(&self) -> bool {
        matches!(self.state, "O" | "A")
    }

    /// The name that it is kept by.
    pub fn key(&self) -> String {
        key(self.relation, self.name)
    }
}

/// The name that a rule is kept by.
pub fn key(relation: u32, name: &str) -> String {
    format!("{relation}:{name}")
}

/// `pg_rewrite.ev_enabled`.
pub fn state_word(state: RuleState) -> &'static str {
    match state {
        RuleState::Enabled => "O",
        RuleState::Always => "A",
        RuleState::Replica => "R",
        RuleState::Disabled => "D",
    }
}

/// All rules.
pub fn all(objects: &Objects) -> impl Iterator<Item = Rule<'_>> {
    objects.of_kind(Kind::Rule).filter_map(|(key, object)| Rule::read(key, object))
}

/// The rules of a table or view, by name.
pub fn of_relation(objects: &Objects, relation: u32) -> Vec<Rule<'_>> {
    let prefix = format!("{relation}:");
    let all = objects.named_from(Kind::Rule, &prefix);
    let own = all.take_while(|(key, _)| key.starts_with(&prefix));
    own.filter_map(|(key, object)| Rule::read(key, object)).collect()
}

/// Whether a table or view has rules.
pub fn has_any(objects: &Objects, relation: u32) -> bool {
    let prefix = format!("{relation}:");
    objects.named_from(Kind::Rule, &prefix).next().is_some_and(|(key, _)| key.starts_with(&prefix))
}
