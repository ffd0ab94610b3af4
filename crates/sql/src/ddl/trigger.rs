//! Triggers: CREATE, ALTER, DROP, ENABLE and DISABLE.
//!
//! They are kept as [`Trigger`]s and fire in [`crate::change`].

mod hidden;
mod inherited;
mod tables;
mod when;

use std::sync::Arc;

use onlap_pg::ast::{CreateTrigger, RuleState, TriggerEvent, TriggerTime};

use super::function;
use super::naming::{Dropped, OnRelation, Relation as Found};
use crate::catalog::functions::Function;
use crate::catalog::rules::state_word;
use crate::catalog::triggers::{self as kept, Constraint, Trigger};
use crate::catalog::{Kind, Name};
use crate::error::{Result, SqlError, state};
use crate::rights::{Action, Class, Key, Privileges};
use crate::session::Session;
use crate::source::{Source, strings};
use crate::view::{View, no_table};
use crate::wire::Client;
pub use hidden::{must_go_together, must_see};
pub use inherited::must_reach_all;
pub use tables::must_not_prevent;
pub use when::{names, of_column, renamed};

/// A table or view that has triggers, or may have.
struct On {
    of: OnRelation,
    /// Names of its columns, and their numbers.
    columns: Vec<(String, u32)>,
}

impl On {
    fn find(view: &View, parts: &[String]) -> Result<On> {
        let of = OnRelation::find(view, parts, "triggers")?.ok_or_else(|| no_table(parts))?;
        let columns = match &of.table {
            Some(table) => {
                let schema = table.schema();
                schema.columns.iter().map(|c| (c.name.clone(), c.id.0 + 1)).collect()
            }
            None => {
                let columns = crate::system::classes::view_columns(view, of.oid).into_iter();
                columns.enumerate().map(|(at, (name, _))| (name, at as u32 + 1)).collect()
            }
        };
        Ok(On { of, columns })
    }

    fn trigger(&self, view: &View, name: &str) -> Result<Trigger> {
        let all = kept::of_relation(&view.objects, self.of.oid);
        all.into_iter().find(|trigger| trigger.name == name).ok_or_else(|| {
            let text =
                format!("trigger \"{name}\" for table \"{}\" does not exist", self.of.name.name);
            SqlError::new(state::NO_OBJECT, text)
        })
    }

    /// Keeps others from changing triggers of the table, and rows of it, until the transaction ends.
    fn hold(&self, session: &mut Session, view: &View) -> Result<()> {
        view.scope.tx()?.hold_name(&self.of.name.engine(&view.database))?;
        if let Some(table) = &self.of.table {
            view.scope.tx()?.await_form(table)?;
        }
        session.temporary.is_private = false;
        session.catalog_changed()
    }

    fn must_own(&self, view: &View) -> Result<()> {
        view.must_own(Action::Alter, &self.of.name, self.of.found)
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
    if create.replace && create.constraint.is_some() {
        let text = "CREATE OR REPLACE CONSTRAINT TRIGGER is not supported";
        return Err(SqlError::new(state::UNSUPPORTED, text));
    }
    let on = On::find(view, &strings(&create.on.name))?;
    must_suit(create, &on)?;
    must_be_granted(view, &on.of)?;
    tables::must_suit(view, create, &on)?;
    let function = function_of(view, create)?;
    let mut trigger = said(create, &on, &function)?;
    trigger.constraint = constraint_of(view, create)?;
    let schema = on.of.table.as_ref().map(onlap::Table::schema);
    let schema = schema.as_deref();
    trigger.when = when::kept_text(view, source, create, (&trigger, &on.of.name, schema))?;
    if let Some(schema) = schema {
        hidden::must_be_told(view, schema, &trigger)?;
        if trigger.row {
            inherited::must_be_single(view, schema.id, &trigger.name)?;
        }
    }
    let known = kept::of_relation(&view.objects, on.of.oid);
    let known = known.into_iter().find(|known| known.name == trigger.name);
    match known {
        Some(_) if !create.replace => {
            let text = format!(
                "trigger \"{}\" for relation \"{}\" already exists",
                trigger.name, on.of.name.name
            );
            return Err(SqlError::new(state::DUPLICATE_OBJECT, text));
        }
        Some(known) if known.constraint.is_some() => {
            let text = format!(
                "trigger \"{}\" for relation \"{}\" is a constraint trigger",
                trigger.name, on.of.name.name
            );
            return Err(SqlError::new(state::DUPLICATE_OBJECT, text));
        }
        // One that was disabled fires again.
        _ => {}
    }
    on.hold(session, view)?;
    session.put(Kind::Trigger, &trigger.key(), Some(trigger.body()))?;
    Ok("CREATE TRIGGER")
}

/// Fails where a table or view has no such triggers.
fn must_suit(create: &CreateTrigger, on: &On) -> Result<()> {
    let unsuited = |what: &str, detail: &str| {
        let text = format!("\"{}\" is {what}", on.of.name.name);
        Err(SqlError::new("42809", text).detail(detail))
    };
    let truncates = create.events.contains(&TriggerEvent::Truncate);
    match (on.of.found, create.time) {
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

/// Fails where the role has neither the right to make triggers of a relation nor the relation.
fn must_be_granted(view: &View, of: &OnRelation) -> Result<()> {
    let (class, word) = match of.found == Found::View {
        true => (Class::View, "view"),
        false => (Class::Table, "table"),
    };
    let key = Key::of(of.oid);
    if view.judge.on(class, key, Privileges::TRIGGER).is_empty() && !view.judge.owns(key) {
        let text = format!("permission denied for {word} {}", of.name.name);
        return Err(SqlError::new(state::NO_PRIVILEGE, text));
    }
    Ok(())
}

/// What CONSTRAINT says of a trigger.
fn constraint_of(view: &View, create: &CreateTrigger) -> Result<Option<Constraint>> {
    let Some(said) = &create.constraint else { return Ok(None) };
    let from = match &said.from {
        None => 0,
        Some(from) => {
            let parts = strings(&from.name);
            let of = OnRelation::find(view, &parts, "triggers")?;
            let of = of.ok_or_else(|| no_table(&parts))?;
            must_be_granted(view, &of)?;
            of.oid
        }
    };
    let (deferrable, deferred) = (said.deferrable, said.deferred);
    Ok(Some(Constraint { name: create.name.to_string(), from, deferrable, deferred }))
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

fn said(create: &CreateTrigger, on: &On, function: &Function) -> Result<Trigger> {
    let mut columns: Vec<u32> = Vec::new();
    for event in &create.events {
        let TriggerEvent::Update(names) = event else { continue };
        for name in names {
            let found = on.columns.iter().find(|(known, _)| **known == **name);
            let Some((_, number)) = found else {
                let text =
                    format!("column \"{name}\" of relation \"{}\" does not exist", on.of.name.name);
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
        relation: on.of.oid,
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
        when: None,
        function: function.oid,
        arguments: create.arguments.iter().map(|text| text.to_string()).collect(),
        constraint: None,
        old_table: tables::named(create, false),
        new_table: tables::named(create, true),
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
    let new = kept::key(on.of.oid, to);
    if name != to && view.objects.get(Kind::Trigger, &new).is_some() {
        let text = format!("trigger \"{to}\" for relation \"{}\" already exists", on.of.name.name);
        return Err(SqlError::new(state::DUPLICATE_OBJECT, text));
    }
    if let Some(table) = on.of.table.as_ref().filter(|_| name != to && trigger.row) {
        inherited::must_be_single(view, table.schema().id, to)?;
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
    let of = On::find(view, &strings(on));
    let found = match &of {
        Ok(of) => of.trigger(view, name).map(|trigger| ((of, trigger), &of.of)),
        Err(e) => Err(e.clone()),
    };
    let dropped = Dropped { skip, what: "trigger", name, on };
    let Some((on, trigger)) = dropped.found(view, client, found)? else { return Ok(TAG) };
    on.hold(session, view)?;
    forget_one(session, &trigger)?;
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
        None => kept::of_relation(&view.objects, on.of.oid),
    };
    on.hold(session, view)?;
    for trigger in all {
        let trigger = Trigger { state: state_word(to).into(), ..trigger };
        session.put(Kind::Trigger, &trigger.key(), Some(trigger.body()))?;
    }
    Ok(())
}

/// Drops the triggers of a table or view that goes, and those that refer to it.
///
/// # Errors
/// The transaction has ended.
pub fn forget(session: &mut Session, view: &View, relation: u32) -> Result<()> {
    let mut own = kept::of_relation(&view.objects, relation);
    // Those that refer to it go with it.
    let refers = |of: &Trigger| of.constraint.as_ref().is_some_and(|of| of.from == relation);
    own.extend(kept::all(&view.objects).filter(|of| refers(of) && of.relation != relation));
    own.iter().try_for_each(|trigger| forget_one(session, trigger))
}

/// Drops a trigger.
///
/// # Errors
/// The transaction has ended.
pub fn forget_one(session: &mut Session, trigger: &Trigger) -> Result<()> {
    session.temporary.is_private = false;
    session.catalog_changed()?;
    session.put(Kind::Comment, &format!("{}:0", trigger.oid), None)?;
    session.put(Kind::Trigger, &trigger.key(), None)
}

/// The OID of a trigger that a comment is on.
///
/// # Errors
/// There is none; the role may not.
pub fn commented(view: &View, name: &str, on: &[onlap_pg::ast::Name]) -> Result<u32> {
    let on = On::find(view, &strings(on))?;
    view.must_own(Action::CommentPart, &on.of.name, on.of.found)?;
    Ok(on.trigger(view, name)?.oid)
}
