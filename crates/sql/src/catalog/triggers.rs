//! How is a trigger kept?
//!
//! As a [`Kind::Trigger`] by `OID:name`, the OID that of its table or view. Thread safety: read only.

use serde_json::{Value as Json, json};

use super::objects::{Kind, Object, Objects};
use super::oids;

/// A trigger that is a constraint.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// The constraint's name, which stays when the trigger gets another.
    pub name: String,
    /// The OID of the table that it refers to; 0 for none.
    pub from: u32,
    /// DEFERRABLE.
    pub deferrable: bool,
    /// INITIALLY DEFERRED.
    pub deferred: bool,
}

impl Constraint {
    fn read(body: &Json) -> Option<Constraint> {
        Some(Constraint {
            name: body["name"].as_str()?.to_string(),
            from: u32::try_from(body["from"].as_u64()?).ok()?,
            deferrable: body["deferrable"].as_bool()?,
            deferred: body["deferred"].as_bool()?,
        })
    }

    fn body(&self) -> Json {
        let Constraint { name, from, deferrable, deferred } = self;
        json!({ "name": name, "from": from, "deferrable": deferrable, "deferred": deferred })
    }
}

/// A trigger.
#[derive(Clone, Debug, PartialEq)]
pub struct Trigger {
    /// Its OID; 0 of a new one.
    pub oid: u32,
    /// The OID of its table or view.
    pub relation: u32,
    /// Its name.
    pub name: String,
    /// `B`, `A` or `I`: before, after, instead.
    pub time: char,
    /// FOR EACH ROW.
    pub row: bool,
    /// INSERT.
    pub insert: bool,
    /// DELETE.
    pub delete: bool,
    /// UPDATE.
    pub update: bool,
    /// TRUNCATE.
    pub truncate: bool,
    /// The numbers of columns, from 1, that UPDATE has to be of; none for all.
    pub columns: Vec<u32>,
    /// WHEN, as it was written.
    pub when: Option<String>,
    /// The function.
    pub function: u32,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// CONSTRAINT.
    pub constraint: Option<Constraint>,
    /// REFERENCING OLD TABLE.
    pub old_table: Option<String>,
    /// REFERENCING NEW TABLE.
    pub new_table: Option<String>,
    /// `O`, `A`, `R` or `D`, as `pg_trigger.tgenabled` has it.
    pub state: String,
}

impl Trigger {
    fn read(key: &str, object: &Object) -> Option<Trigger> {
        let (relation, name) = key.split_once(':')?;
        let body = &object.body;
        let events = body["events"].as_str()?;
        let columns = body["columns"].as_array()?.iter();
        let texts = body["arguments"].as_array()?.iter();
        Some(Trigger {
            oid: oids::of_object(object.number),
            relation: relation.parse().ok()?,
            name: name.to_string(),
            time: body["time"].as_str()?.chars().next()?,
            row: body["row"].as_bool()?,
            insert: events.contains('I'),
            delete: events.contains('D'),
            update: events.contains('U'),
            truncate: events.contains('T'),
            columns: columns
                .map(|number| u32::try_from(number.as_u64()?).ok())
                .collect::<Option<_>>()?,
            when: body["when"].as_str().map(str::to_string),
            function: u32::try_from(body["function"].as_u64()?).ok()?,
            arguments: texts.map(|text| Some(text.as_str()?.to_string())).collect::<Option<_>>()?,
            constraint: match &body["constraint"] {
                Json::Null => None,
                said => Some(Constraint::read(said)?),
            },
            old_table: body["old_table"].as_str().map(str::to_string),
            new_table: body["new_table"].as_str().map(str::to_string),
            state: body["state"].as_str()?.to_string(),
        })
    }

    /// As it is kept.
    pub fn body(&self) -> Json {
        let events =
            [('I', self.insert), ('D', self.delete), ('U', self.update), ('T', self.truncate)];
        let events: String =
            events.iter().filter(|(_, is)| *is).map(|(letter, _)| *letter).collect();
        json!({
            "time": self.time.to_string(),
            "row": self.row,
            "events": events,
            "columns": self.columns,
            "when": self.when,
            "function": self.function,
            "arguments": self.arguments,
            "constraint": self.constraint.as_ref().map(Constraint::body),
            "old_table": self.old_table,
            "new_table": self.new_table,
            "state": self.state,
        })
    }

    /// The name that it is kept by.
    pub fn key(&self) -> String {
        key(self.relation, &self.name)
    }

    /// Whether it reads tables of the rows that its statement has changed.
    pub fn has_tables(&self) -> bool {
        self.old_table.is_some() || self.new_table.is_some()
    }

    /// Whether it fires in sessions that are no replicas.
    pub fn is_enabled(&self) -> bool {
        matches!(self.state.as_str(), "O" | "A")
    }
}

/// The name that a trigger is kept by.
pub fn key(relation: u32, name: &str) -> String {
    format!("{relation}:{name}")
}

/// All triggers.
pub fn all(objects: &Objects) -> impl Iterator<Item = Trigger> + '_ {
    objects.of_kind(Kind::Trigger).filter_map(|(key, object)| Trigger::read(key, object))
}

/// The triggers of a table or view, by name, which is the order in which they fire.
pub fn of_relation(objects: &Objects, relation: u32) -> Vec<Trigger> {
    let prefix = format!("{relation}:");
    let all = objects.named_from(Kind::Trigger, &prefix);
    let own = all.take_while(|(key, _)| key.starts_with(&prefix));
    own.filter_map(|(key, object)| Trigger::read(key, object)).collect()
}

/// Whether a table or view has triggers.
pub fn has_any(objects: &Objects, relation: u32) -> bool {
    let prefix = format!("{relation}:");
    let mut all = objects.named_from(Kind::Trigger, &prefix);
    all.next().is_some_and(|(key, _)| key.starts_with(&prefix))
}
