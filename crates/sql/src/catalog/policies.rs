//! How are policies kept, and whether they count?
//!
//! A policy as a [`Kind::Policy`] by `OID:name`, the OID that of its table. Its conditions are texts whose names are bound
//! ([`super::bound`]), so that another name of a table or column changes nothing of what it asks. Whether policies of a table
//! count at all is a [`Kind::RowSecurity`] by the table's OID, which is there where anything was said of it.
//!
//! Thread safety: read only.

use onlap_pg::ast::PolicyCommand;
use serde_json::{Value as Json, json};

use super::bound::Use;
use super::objects::{Kind, Object, Objects};
use super::oids;

/// The role that stands for all.
pub const PUBLIC: u32 = 0;

/// A policy.
#[derive(Clone, Copy, Debug)]
pub struct Policy<'a> {
    /// The OID of its table.
    pub relation: u32,
    /// Its name.
    pub name: &'a str,
    /// `*`, `r`, `a`, `w` or `d`, as `pg_policy.polcmd` has it.
    pub command: &'a str,
    /// PERMISSIVE.
    pub permissive: bool,
    /// USING.
    pub using: Option<Text<'a>>,
    /// WITH CHECK.
    pub check: Option<Text<'a>>,
    /// What it is kept as.
    pub object: &'a Object,
}

/// A condition of a policy.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    /// As it was written, with its names bound.
    pub sql: &'a str,
    /// What is kept of it: what it names, its own table first.
    pub body: &'a Json,
}

impl<'a> Text<'a> {
    fn of(body: &'a Json) -> Option<Text<'a>> {
        Some(Text { sql: body["sql"].as_str()?, body })
    }
}

/// What is kept of a condition.
pub fn text_body(sql: &str, uses: &[Use]) -> Json {
    let uses: Vec<Json> = uses.iter().map(Use::body).collect();
    json!({ "sql": sql, "uses": uses })
}

/// What is kept of a new one.
#[derive(Debug)]
pub struct New {
    /// Which statements it is for.
    pub command: PolicyCommand,
    /// PERMISSIVE.
    pub permissive: bool,
    /// The roles that it is for.
    pub roles: Vec<u32>,
    /// USING.
    pub using: Option<Json>,
    /// WITH CHECK.
    pub check: Option<Json>,
}

impl New {
    /// As it is kept.
    pub fn body(&self) -> Json {
        json!({
            "command": letter(self.command),
            "permissive": self.permissive,
            "roles": self.roles,
            "using": self.using,
            "check": self.check,
        })
    }
}

impl<'a> Policy<'a> {
    fn read(key: &'a str, object: &'a Object) -> Option<Policy<'a>> {
        let (relation, name) = key.split_once(':')?;
        let body = &object.body;
        Some(Policy {
            relation: relation.parse().ok()?,
            name,
            command: body["command"].as_str()?,
            permissive: body["permissive"].as_bool()?,
            using: Text::of(&body["using"]),
            check: Text::of(&body["check"]),
            object,
        })
    }

    /// The roles that it is for.
    pub fn roles(&self) -> Vec<u32> {
        let roles = self.object.body["roles"].as_array();
        let number = |json: &Json| u32::try_from(json.as_u64()?).ok();
        roles.into_iter().flatten().filter_map(number).collect()
    }

    /// Its conditions.
    pub fn texts(&self) -> impl Iterator<Item = Text<'a>> + use<'a> {
        self.using.into_iter().chain(self.check)
    }

    /// What its conditions say of a table or view that they name.
    pub fn uses_of(&self, oid: u32) -> Vec<Use> {
        self.texts().filter_map(|text| super::bound::use_of(text.body, oid)).collect()
    }

    /// Its OID.
    pub fn oid(&self) -> u32 {
        oids::of_object(self.object.number)
    }

    /// The name that it is kept by.
    pub fn key(&self) -> String {
        key(self.relation, self.name)
    }
}

/// `pg_policy.polcmd`.
pub fn letter(command: PolicyCommand) -> &'static str {
    match command {
        PolicyCommand::All => "*",
        PolicyCommand::Select => "r",
        PolicyCommand::Insert => "a",
        PolicyCommand::Update => "w",
        PolicyCommand::Delete => "d",
    }
}

/// The name that a policy is kept by.
pub fn key(relation: u32, name: &str) -> String {
    format!("{relation}:{name}")
}

/// All policies.
pub fn all(objects: &Objects) -> impl Iterator<Item = Policy<'_>> {
    objects.of_kind(Kind::Policy).filter_map(|(key, object)| Policy::read(key, object))
}

/// The policies of a table, by name.
pub fn of_relation(objects: &Objects, relation: u32) -> Vec<Policy<'_>> {
    let prefix = format!("{relation}:");
    let all = objects.named_from(Kind::Policy, &prefix);
    let own = all.take_while(|(key, _)| key.starts_with(&prefix));
    own.filter_map(|(key, object)| Policy::read(key, object)).collect()
}

/// What was said of the row security of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Security {
    /// ENABLE.
    pub enabled: bool,
    /// FORCE.
    pub forced: bool,
}

impl Security {
    /// Of a table, by its OID.
    pub fn of(objects: &Objects, relation: u32) -> Security {
        let Some(object) = objects.get(Kind::RowSecurity, &relation.to_string()) else {
            return Security::default();
        };
        // What cannot be read is taken for the stricter.
        let flag = |word: &str| object.body[word].as_bool().unwrap_or(true);
        Security { enabled: flag("enabled"), forced: flag("forced") }
    }

    /// As it is kept.
    pub fn body(self) -> Json {
        json!({ "enabled": self.enabled, "forced": self.forced })
    }
}

/// Whether policies of a table count for anyone.
pub fn are_enabled(objects: &Objects, relation: u32) -> bool {
    Security::of(objects, relation).enabled
}
