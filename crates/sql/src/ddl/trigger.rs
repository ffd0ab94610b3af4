//! Triggers: CREATE, ALTER, DROP, ENABLE and DISABLE.
//!
//! They are kept as [`Trigger`]s and fire in [`crate::change`].

use std::sync::Arc;

use onlap::Action as KeyAction;
use onlap_pg::ast::{CreateTrigger, RuleState, TriggerEvent, TriggerTime};

use super::change::notice;
use super::function;
use super::naming::Relation as Found;
use crate::catalog::functions::Function;
use crate::catalog::rules::state_word;
use crate::catalog::triggers::{self as kept, Trigger};
use crate::catalog::{Kind, Name, oids};
use crate::error::{Result, SqlError, state};
use crate::rights::{Action, Class, Key, Privileges};
use crate::session::Session;
use crate::source::{Source, strings};
use crate::view::{Relation, View, no_table};
use crate::wire::Client;

/// A table or view that has triggers, or may have.
struct On {
    name: Name,
    found: Found,
    oid: u32,
    /// Names of its columns, and their numbers.
    columns: Vec<(String, u32)>,
}

impl On {
    fn find(view: &View, parts: &[String]) -> Result<On> {
        let system = match parts {
            [name] => crate::system::definitions::find(crate::view::PG_CATALOG, name),
            [.., schema, name] => crate::system::definitions::find(schema, name),
            [] => None,
        };
        if system.is_some() && view.find_before_system(parts)?.is_none() {
            let name = parts.last().map_or("", String::as_str);
            let text = format!("permission denied: \"{name}\" is a system catalog");
            return Err(SqlError::new(state::NO_PRIVILEGE, text));
        }
        match view.find(parts)? {
            Some(Relation::Table(name, table)) => {
                let schema = table.schema();
                let columns = schema.columns.iter().map(|c| (c.name.clone(), c.id.0 + 1)).collect();
                Ok(On { name, found: Found::Table, oid: oids::of_table(schema.id), columns })
            }
            Some(Relation::View(name)) => {
                let oid = view.view_key(&name).oid;
                let columns = crate::system::classes::view_columns(view, oid).into_iter();
                let columns = columns.enumerate().map(|(at, (name, _))| (name, at as u32 + 1));
                Ok(On { name, found: Found::View, oid, columns: columns.collect() })
            }
            None => match super::alter::relation(view, parts)? {
                Some((name, Found::Index)) => {
                    Err(SqlError::new("42809", format!("\"{}\" is an index", name.name)))
                }
                Some((name, _)) => {
                    let text = format!("relation \"{}\" cannot have triggers", name.name);
                    let detail = "This operation is not supported for sequences.";
                    Err(SqlError::new("42809", text).detail(detail))
                }
                None => Err(no_table(parts)),
            },
        }
    }

    fn trigger(&self, view: &View, name: &str) -> Result<Trigger> {
        let all = kept::of_relation(&view.objects, self.oid);
        all.into_iter().find(|trigger| trigger.name == name).ok_or_else(|| {
            let text =
                format!("trigger \"{name}\" for table \"{}\" does not exist", self.name.name);
            SqlError::new(state::NO_OBJECT, text)
        })
    }

    /// Keeps others from changing triggers of the table, and rows of it, until the transaction ends.
    fn hold(&self, session: &mut Session, view: &View) -> Result<()> {
        view.scope.tx()?.hold_name(&self.name.engine(&view.database))?;
        session.temporary.is_private = false;
        session.catalog_changed()
    }

    fn must_own(&self, view: &View) -> Result<()> {
        view.must_own(Action::Alter, &self.name, self.found)
    }
}

/// CREATE TRIGGER.
///
/// # Errors
/// `42710`: there is one of the name; what of it is wrong.
pub fn create(
    session: &mut Session,
    view: &View,
    source: Source<'_>,
    create: &CreateTrigger,
) -> Result<&'static str> {
    let on = On::find(view, &strings(&create.on.name))?;
    must_suit(create, &on)?;
    if on.found == Found::View {
        return Err(SqlError::unsupported("a trigger on a view"));
    }
    let class = if on.found == Found::View { Class::View } else { Class::Table };
    let key = Key::of(on.oid);
    let held = view.judge.on(class, key, Privileges::TRIGGER);
    if held.is_empty() && !view.judge.owns(key) {
        let word = if on.found == Found::View { "view" } else { "table" };
        let text = format!("permission denied for {word} {}", on.name.name);
        return Err(SqlError::new(state::NO_PRIVILEGE, text));
    }
    let function = function_of(view, create)?;
    let mut trigger = said(source, create, &on, &function)?;
    if let Some(text) = &trigger.when {
        crate::routine::check_when(view, &trigger, text)?;
    }
    must_be_told(view, &on, &trigger)?;
    let table = view.scope.tx()?.table(&on.name.engine(&view.database))?;
    if trigger.row && !table.schema().generated.is_empty() {
        return Err(SqlError::unsupported("a trigger for rows of a table with generated columns"));
    }
    let known = kept::of_relation(&view.objects, on.oid);
    let known = known.into_iter().find(|known| known.name == trigger.name);
    match known {
        Some(_) if !create.replace => {
            let text = format!(
                "trigger \"{}\" for relation \"{}\" already exists",
                trigger.name, on.name.name
            );
            return Err(SqlError::new(state::DUPLICATE_OBJECT, text));
        }
        Some(known) => trigger.state = known.state,
        None => {}
    }
    on.hold(session, view)?;
    session.put(Kind::Trigger, &trigger.key(), Some(trigger.body()))?;
    Ok("CREATE TRIGGER")
}

/// Fails where a table or view has no such triggers.
fn must_suit(create: &CreateTrigger, on: &On) -> Result<()> {
    let unsuited = |what: &str, detail: &str| {
        let text = format!("\"{}\" is {what}", on.name.name);
        Err(SqlError::new("42809", text).detail(detail))
    };
    let truncates = create.events.contains(&TriggerEvent::Truncate);
    match (on.found, create.time) {
        (Found::Table, TriggerTime::Instead) => {
            return unsuited("a table", "Tables cannot have INSTEAD OF triggers.");
        }
        (Found::View, TriggerTime::Before | TriggerTime::After) if create.row => {
            return unsuited("a view", "Views cannot have row-level BEFORE or AFTER triggers.");
        }
        (Found::View, _) if truncates => {
            return unsuited("a view", "Views cannot have TRUNCATE triggers.");
        }
        _ => {}
    }
    let refuse = |text: &str| Err(SqlError::new(state::UNSUPPORTED, text));
    if truncates && create.row {
        return refuse("TRUNCATE FOR EACH ROW triggers are not supported");
    }
    if create.time == TriggerTime::Instead {
        if !create.row {
            return refuse("INSTEAD OF triggers must be FOR EACH ROW");
        }
        if create.when.is_some() {
            return refuse("INSTEAD OF triggers cannot have WHEN conditions");
        }
        let listed = |event: &TriggerEvent| matches!(event, TriggerEvent::Update(columns) if !columns.is_empty());
        if create.events.iter().any(listed) {
            return refuse("INSTEAD OF triggers cannot have column lists");
        }
    }
    Ok(())
}

/// Fails where actions of foreign keys would change rows without the trigger: they are the engine's, which knows of none.
fn must_be_told(view: &View, on: &On, trigger: &Trigger) -> Result<()> {
    let table = view.scope.tx()?.table(&on.name.engine(&view.database))?;
    let schema = table.schema();
    let of = |key: &onlap::ForeignKeySchema| (key.on_delete, key.on_update);
    let hides = schema.foreign_keys.iter().any(|key| hides(of(key), trigger));
    match hides {
        true => Err(SqlError::unsupported(
            "a trigger for rows that an action of a foreign key changes or deletes",
        )),
        false => Ok(()),
    }
}

/// Whether the action of a foreign key changes rows that a trigger of its table should see.
fn hides((deleted, updated): (KeyAction, KeyAction), trigger: &Trigger) -> bool {
    let sets = |action| matches!(action, KeyAction::SetNull | KeyAction::SetDefault);
    let deletes = deleted == KeyAction::Cascade;
    let updates = sets(deleted) || sets(updated) || updated == KeyAction::Cascade;
    trigger.delete && deletes || trigger.update && updates
}

/// Fails where the action of a new foreign key would change rows that triggers of its table should see.
///
/// # Errors
/// `0A000`
pub fn must_see(view: &View, table: &Name, actions: (KeyAction, KeyAction)) -> Result<()> {
    let Ok(table) = view.scope.tx()?.table(&table.engine(&view.database)) else { return Ok(()) };
    let own = kept::of_relation(&view.objects, oids::of_table(table.schema().id));
    match own.iter().any(|trigger| hides(actions, trigger)) {
        true => Err(SqlError::unsupported(
            "an action of a foreign key that changes or deletes rows that have triggers",
        )),
        false => Ok(()),
    }
}

/// The function that a trigger calls.
fn function_of(view: &View, create: &CreateTrigger) -> Result<Arc<Function>> {
    let parts = strings(&create.function);
    let found = function::named(view, &parts)?;
    let found = found.into_iter().find(|f| f.arguments().is_empty() && !f.procedure);
    let shown = parts.join(".");
    let Some(found) = found else {
        return Err(SqlError::new("42883", format!("function {shown}() does not exist")));
    };
    view.must_one(Action::Call, found.class(), found.rights(), &found.name.name)?;
    if found.result != crate::routine::TRIGGER {
        let text = format!("function {shown} must return type trigger");
        return Err(SqlError::new("42P17", text));
    }
    Ok(found)
}

fn said(
    source: Source<'_>,
    create: &CreateTrigger,
    on: &On,
    function: &Function,
) -> Result<Trigger> {
    let mut columns: Vec<u32> = Vec::new();
    for event in &create.events {
        let TriggerEvent::Update(names) = event else { continue };
        for name in names {
            let found = on.columns.iter().find(|(known, _)| **known == **name);
            let Some((_, number)) = found else {
                let text =
                    format!("column \"{name}\" of relation \"{}\" does not exist", on.name.name);
                return Err(SqlError::new(state::NO_COLUMN, text));
            };
            if columns.contains(number) {
                let text = format!("column \"{name}\" specified more than once");
                return Err(SqlError::new("42701", text));
            }
            columns.push(*number);
        }
    }
    let has = |wanted: &TriggerEvent| {
        let same =
            |event: &TriggerEvent| std::mem::discriminant(event) == std::mem::discriminant(wanted);
        create.events.iter().any(same)
    };
    Ok(Trigger {
        oid: 0,
        relation: on.oid,
        name: create.name.to_string(),
        time: match create.time {
            TriggerTime::Before => 'B',
            TriggerTime::After => 'A',
            TriggerTime::Instead => 'I',
        },
        row: create.row,
        insert: has(&TriggerEvent::Insert),
        delete: has(&TriggerEvent::Delete),
        update: has(&TriggerEvent::Update(Vec::new())),
        truncate: has(&TriggerEvent::Truncate),
        columns,
        when: create.when.as_ref().map(|said| said.span.of(source.text).to_string()),
        function: function.oid,
        arguments: create.arguments.iter().map(|text| text.to_string()).collect(),
        state: "O".into(),
    })
}

/// ALTER TRIGGER … RENAME TO.
///
/// # Errors
/// There is none; the name is taken.
pub fn rename(
    session: &mut Session,
    view: &View,
    (name, on, to): (&str, &[onlap_pg::ast::Name], &str),
) -> Result<&'static str> {
    let on = On::find(view, &strings(on))?;
    on.must_own(view)?;
    let trigger = on.trigger(view, name)?;
    let new = kept::key(on.oid, to);
    if name != to && view.objects.get(Kind::Trigger, &new).is_some() {
        let text = format!("trigger \"{to}\" for relation \"{}\" already exists", on.name.name);
        return Err(SqlError::new(state::DUPLICATE_OBJECT, text));
    }
    if name != to {
        on.hold(session, view)?;
        session.rename(Kind::Trigger, &trigger.key(), &new)?;
    }
    Ok("ALTER TRIGGER")
}

/// DROP TRIGGER.
///
/// # Errors
/// There is none.
pub fn drop(
    session: &mut Session,
    view: &View,
    (skip, name, on): (bool, &str, &[onlap_pg::ast::Name]),
    client: &mut dyn Client,
) -> Result<&'static str> {
    const TAG: &str = "DROP TRIGGER";
    let found = On::find(view, &strings(on)).and_then(|on| {
        let trigger = on.trigger(view, name)?;
        Ok((on, trigger))
    });
    let (on, trigger) = match found {
        Err(e) if skip && matches!(e.state(), state::NO_OBJECT | state::NO_TABLE) => {
            let text = match e.state() {
                state::NO_TABLE => e.message().to_string(),
                _ => format!(
                    "trigger \"{name}\" for relation \"{}\" does not exist",
                    on.iter().map(|part| &**part).collect::<Vec<_>>().join(".")
                ),
            };
            notice(client, "00000", format!("{text}, skipping"));
            return Ok(TAG);
        }
        found => found?,
    };
    on.must_own(view)?;
    on.hold(session, view)?;
    session.put(Kind::Comment, &format!("{}:0", trigger.oid), None)?;
    session.put(Kind::Trigger, &trigger.key(), None)?;
    Ok(TAG)
}

/// ENABLE and DISABLE TRIGGER of a table whose owner asks; of all where no name is given.
///
/// # Errors
/// There is none.
pub fn set_state(
    session: &mut Session,
    view: &View,
    table: &Name,
    (name, to): (Option<&str>, RuleState),
) -> Result<()> {
    let on = On::find(view, &[table.schema.clone(), table.name.clone()])?;
    let all = match name {
        Some(name) => vec![on.trigger(view, name)?],
        None => kept::of_relation(&view.objects, on.oid),
    };
    on.hold(session, view)?;
    for trigger in all {
        let trigger = Trigger { state: state_word(to).into(), ..trigger };
        session.put(Kind::Trigger, &trigger.key(), Some(trigger.body()))?;
    }
    Ok(())
}

/// Drops the triggers of a table or view that goes.
///
/// # Errors
/// The transaction has ended.
pub fn forget(session: &mut Session, view: &View, relation: u32) -> Result<()> {
    for trigger in kept::of_relation(&view.objects, relation) {
        session.put(Kind::Comment, &format!("{}:0", trigger.oid), None)?;
        session.put(Kind::Trigger, &trigger.key(), None)?;
    }
    Ok(())
}

/// The OID of a trigger that a comment is on.
///
/// # Errors
/// There is none; the role may not.
pub fn commented(view: &View, name: &str, on: &[onlap_pg::ast::Name]) -> Result<u32> {
    let on = On::find(view, &strings(on))?;
    view.must_own(Action::CommentPart, &on.name, on.found)?;
    Ok(on.trigger(view, name)?.oid)
}
