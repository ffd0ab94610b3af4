//! Which triggers may name tables of the rows that a statement has changed?

use onlap::Table;
use onlap_pg::ast::{CreateTrigger, Transition, TriggerEvent, TriggerTime};

use super::On;
use crate::catalog::triggers as kept;
use crate::catalog::{Name, oids};
use crate::ddl::naming::Relation as Found;
use crate::error::{Result, SqlError, state};
use crate::view::View;

/// The name that a trigger gives the table of rows as they were, or as they are.
pub(super) fn named(create: &CreateTrigger, new: bool) -> Option<String> {
    let found = create.transitions.iter().find(|of| of.new == new);
    found.map(|of| of.name.to_string())
}

/// Fails where a trigger may not have what REFERENCING says.
///
/// # Errors
/// `0A000`, `42809`, `42P17`.
pub(super) fn must_suit(view: &View, create: &CreateTrigger, on: &On) -> Result<()> {
    must_not_be_divided(view, create, on)?;
    let mut seen: [Option<&str>; 2] = [None, None];
    for of in &create.transitions {
        must_suit_relation(view, create, (of, on))?;
        must_suit_events(create)?;
        let (word, other) = if of.new { ("NEW", "INSERT") } else { ("OLD", "DELETE") };
        let suits = create.events.iter().all(|event| match event {
            TriggerEvent::Update(_) => true,
            TriggerEvent::Insert => of.new,
            TriggerEvent::Delete => !of.new,
            TriggerEvent::Truncate => false,
        });
        if !suits {
            let text = match of.new {
                true => format!("NEW TABLE can only be specified for an {other} or UPDATE trigger"),
                false => format!("OLD TABLE can only be specified for a {other} or UPDATE trigger"),
            };
            return bad(&text);
        }
        if seen[usize::from(of.new)].replace(&of.name).is_some() {
            return bad(&format!("{word} TABLE cannot be specified multiple times"));
        }
    }
    match seen {
        [Some(old), Some(new)] if old == new => {
            bad("OLD TABLE name and NEW TABLE name cannot be the same")
        }
        _ => Ok(()),
    }
}

fn bad(text: &str) -> Result<()> {
    Err(SqlError::new("42P17", text))
}

fn refuse(text: &str) -> Result<()> {
    Err(SqlError::new(state::UNSUPPORTED, text))
}

fn must_not_be_divided(view: &View, create: &CreateTrigger, on: &On) -> Result<()> {
    let id = on.of.table.as_ref().map(|table| table.schema().id);
    let is_divided = id.is_some_and(|id| view.objects.families().divided(id).is_some());
    if create.transitions.is_empty() || !create.row || !is_divided {
        return Ok(());
    }
    let text = format!("\"{}\" is a partitioned table", on.of.name.name);
    let detail = "ROW triggers with transition tables are not supported on partitioned tables.";
    Err(SqlError::new(state::UNSUPPORTED, text).detail(detail))
}

fn must_suit_relation(
    view: &View,
    create: &CreateTrigger,
    (of, on): (&Transition, &On),
) -> Result<()> {
    if !of.table {
        let text = "ROW variable naming in the REFERENCING clause is not supported";
        let hint = "Use OLD TABLE or NEW TABLE for naming transition tables.";
        return Err(SqlError::new(state::UNSUPPORTED, text).hint(hint));
    }
    let name = &on.of.name.name;
    if on.of.found == Found::View {
        let detail = "Triggers on views cannot have transition tables.";
        return Err(SqlError::new("42809", format!("\"{name}\" is a view")).detail(detail));
    }
    let Some(id) = on.of.table.as_ref().map(|table| table.schema().id) else { return Ok(()) };
    let families = view.objects.families();
    if create.row && !families.ancestors(id).is_empty() {
        let what = if families.bound(id).is_some() { "partitions" } else { "inheritance children" };
        return refuse(&format!("ROW triggers with transition tables are not supported on {what}"));
    }
    Ok(())
}

fn must_suit_events(create: &CreateTrigger) -> Result<()> {
    if create.time != TriggerTime::After {
        return bad("transition table name can only be specified for an AFTER trigger");
    }
    if create.events.contains(&TriggerEvent::Truncate) {
        return refuse("TRUNCATE triggers with transition tables are not supported");
    }
    if create.events.len() != 1 {
        return refuse(
            "transition tables cannot be specified for triggers with more than one event",
        );
    }
    let listed = |event: &TriggerEvent| matches!(event, TriggerEvent::Update(columns) if !columns.is_empty());
    if create.events.iter().any(listed) {
        return refuse("transition tables cannot be specified for triggers with column lists");
    }
    Ok(())
}

/// Fails where a table that is to be below another has triggers for each row that read tables of changed rows.
///
/// # Errors
/// `0A000`.
pub fn must_not_prevent(view: &View, table: &Table, is_partition: bool) -> Result<()> {
    let schema = table.schema();
    let all = kept::of_relation(&view.objects, oids::of_table(schema.id));
    let Some(trigger) = all.into_iter().find(|trigger| trigger.row && trigger.has_tables()) else {
        return Ok(());
    };
    let (what, detail) = match is_partition {
        true => {
            ("a partition", "ROW triggers with transition tables are not supported on partitions.")
        }
        false => (
            "an inheritance child",
            "ROW triggers with transition tables are not supported in inheritance hierarchies.",
        ),
    };
    let name = Name::of_engine(&schema.name).1.name;
    let text =
        format!("trigger \"{}\" prevents table \"{name}\" from becoming {what}", trigger.name);
    Err(SqlError::new(state::UNSUPPORTED, text).detail(detail))
}
