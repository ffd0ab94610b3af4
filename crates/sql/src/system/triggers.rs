//! What do the catalogs say of triggers, and how do they read as SQL?

use onlap::TableId;
use onlap_pg::print::Look;

use super::classes::view_columns;
use super::model::{Model, Relation};
use super::rows::Rows;
use crate::catalog::names::quote;
use crate::catalog::oids;
use crate::catalog::triggers::{self as kept, Constraint, Trigger};
use crate::query::Printed;
use crate::row;
use crate::view::View;

/// OID of pg_trigger.
pub const PG_TRIGGER: u32 = 2620;

fn of_database<'a>(view: &View, model: &'a Model) -> Vec<(Trigger, &'a Relation)> {
    let with = |trigger: Trigger| {
        let relation = model.relation(trigger.relation)?;
        Some((trigger, relation))
    };
    let mut all: Vec<_> = kept::all(&view.objects).filter_map(with).collect();
    all.sort_by_key(|(trigger, _)| trigger.oid);
    all
}

/// The bits of tgtype.
fn bits(of: &Trigger) -> i64 {
    let all = [
        (of.row, 1),
        (of.time == 'B', 2),
        (of.insert, 4),
        (of.delete, 8),
        (of.update, 16),
        (of.truncate, 32),
        (of.time == 'I', 64),
    ];
    all.iter().filter(|(is, _)| *is).map(|(_, bit)| *bit).sum()
}

/// The rows of pg_trigger.
pub fn triggers(view: &View, model: &Model) -> Rows {
    let mut rows = Rows::of(
        "oid tgrelid tgparentid tgname tgfoid tgtype tgenabled tgisinternal tgconstrrelid \
         tgconstrindid tgconstraint tgdeferrable tginitdeferred tgnargs tgattr tgargs tgqual tgoldtable \
         tgnewtable",
    );
    for (of, relation) in of_database(view, model) {
        let columns: Vec<i64> = of.columns.iter().map(|number| i64::from(*number)).collect();
        let mut arguments = String::from("\\x");
        for argument in &of.arguments {
            argument.bytes().for_each(|byte| arguments += &format!("{byte:02x}"));
            arguments += "00";
        }
        rows.push(row![
            of.oid,
            relation.oid,
            0,
            &of.name,
            of.function,
            bits(&of),
            &of.state,
            false,
            of.constraint.as_ref().map_or(0, |of| of.from),
            0,
            constraint_oid(&of),
            of.constraint.as_ref().is_some_and(|of| of.deferrable),
            of.constraint.as_ref().is_some_and(|of| of.deferred),
            of.arguments.len(),
            columns,
            arguments,
            of.when.as_deref(),
            of.old_table.as_deref(),
            of.new_table.as_deref(),
        ]);
    }
    rows
}

/// The OID of the constraint that a trigger is; 0 where it is none.
pub fn constraint_oid(of: &Trigger) -> u32 {
    match &of.constraint {
        // No table has its number, and its name is that of no other trigger then.
        Some(constraint) => {
            let id = TableId(of.relation);
            oids::of_part(id, "trigger", &format!("{}:{}", of.oid, constraint.name))
        }
        None => 0,
    }
}

/// CREATE TRIGGER of a trigger by its OID; `None` where there is none. `pretty`: a table that the search path finds has no
/// schema.
pub fn definition_of(view: &View, model: &Model, oid: u32, pretty: bool) -> Option<String> {
    let (of, relation) = of_database(view, model).into_iter().find(|(of, _)| of.oid == oid)?;
    let time = match of.time {
        'B' => "BEFORE",
        'A' => "AFTER",
        _ => "INSTEAD OF",
    };
    let of_view = match relation.table() {
        Some(_) => Vec::new(),
        None => view_columns(view, relation.oid),
    };
    let column = |number: &u32| match relation.table() {
        Some(table) => {
            let found = table.columns.iter().find(|column| column.id.0 + 1 == *number)?;
            Some(quote(&found.name))
        }
        None => of_view.get(*number as usize - 1).map(|(name, _)| quote(name)),
    };
    let columns: Vec<String> = of.columns.iter().filter_map(column).collect();
    let mut events = Vec::new();
    for (is, word) in [
        (of.insert, "INSERT"),
        (of.delete, "DELETE"),
        (of.update, "UPDATE"),
        (of.truncate, "TRUNCATE"),
    ] {
        if is {
            events.push(match word == "UPDATE" && !columns.is_empty() {
                true => format!("UPDATE OF {}", columns.join(", ")),
                false => word.to_string(),
            });
        }
    }
    let on = match pretty {
        true => model.display(relation),
        false => format!("{}.{}", quote(&relation.name.schema), quote(&relation.name.name)),
    };
    let each = if of.row { "ROW" } else { "STATEMENT" };
    let look = if pretty { Look::PRETTY } else { Look::PLAIN };
    let when = of.when.as_ref().map_or(String::new(), |text| {
        format!(" WHEN ({})", Printed::new(view, model).when(relation, text, look))
    });
    let tables = referencing(&of);
    let (constraint, judged) = match &of.constraint {
        None => ("", String::new()),
        Some(Constraint { from, deferrable, deferred, .. }) => {
            let from = model.relation(*from).map(|of| format!("FROM {} ", model.display(of)));
            let not = if *deferrable { "" } else { "NOT " };
            let when = if *deferred { "DEFERRED" } else { "IMMEDIATE" };
            let from = from.unwrap_or_default();
            ("CONSTRAINT ", format!("{from}{not}DEFERRABLE INITIALLY {when} "))
        }
    };
    Some(format!(
        "CREATE {constraint}TRIGGER {} {time} {} ON {on} {judged}{tables}FOR EACH {each}{when} EXECUTE FUNCTION {}",
        quote(&of.name),
        events.join(" OR "),
        call(view, &of)
    ))
}

/// What it says of tables of changed rows, with a space behind.
fn referencing(of: &Trigger) -> String {
    if !of.has_tables() {
        return String::new();
    }
    let named = |word: &str, name: &Option<String>| {
        name.as_ref().map_or(String::new(), |name| format!("{word} TABLE AS {} ", quote(name)))
    };
    format!("REFERENCING {}{}", named("OLD", &of.old_table), named("NEW", &of.new_table))
}

fn call(view: &View, of: &Trigger) -> String {
    let function = view.objects.functions().by_oid(of.function);
    let name = function.map_or(String::new(), |function| {
        let name = quote(&function.name.name);
        match function.is_seen(view) {
            true => name,
            false => format!("{}.{name}", quote(&function.name.schema)),
        }
    });
    let arguments: Vec<String> =
        of.arguments.iter().map(|text| format!("'{}'", text.replace('\'', "''"))).collect();
    format!("{name}({})", arguments.join(", "))
}

/// information_schema.triggers: a row for each event.
pub fn standard(view: &View, model: &Model) -> Rows {
    let mut rows = Rows::of(
        "trigger_catalog trigger_schema trigger_name event_manipulation event_object_catalog \
         event_object_schema event_object_table action_order action_condition action_statement \
         action_orientation action_timing action_reference_old_table action_reference_new_table",
    );
    let all = of_database(view, model);
    let printed = Printed::new(view, model);
    for (of, relation) in &all {
        for (is, word) in [(of.insert, "INSERT"), (of.delete, "DELETE"), (of.update, "UPDATE")] {
            if !is {
                continue;
            }
            let before = all.iter().filter(|(other, _)| {
                other.relation == of.relation
                    && other.time == of.time
                    && other.row == of.row
                    && other.name < of.name
                    && match word {
                        "INSERT" => other.insert,
                        "DELETE" => other.delete,
                        _ => other.update,
                    }
            });
            rows.push(row![
                &view.database,
                &relation.name.schema,
                &of.name,
                word,
                &view.database,
                &relation.name.schema,
                &relation.name.name,
                before.count() + 1,
                of.when.as_ref().map(|text| printed.when(relation, text, Look::PLAIN)),
                format!("EXECUTE FUNCTION {}", call(view, of)),
                if of.row { "ROW" } else { "STATEMENT" },
                match of.time {
                    'B' => "BEFORE",
                    'A' => "AFTER",
                    _ => "INSTEAD OF",
                },
                of.old_table.as_deref(),
                of.new_table.as_deref(),
            ]);
        }
    }
    rows
}
