//! What may the condition of a trigger say, and which columns is a trigger about?
//!
//! A condition is kept as a text in which functions and types have their schemas. It names columns by OLD and NEW alone, so that a column
//! that gets another name gets it there, too.

use onlap::{ColumnId, TableSchema};
use onlap_pg::ast::CreateTrigger;
use onlap_pg::bind::{self, Schema};
use onlap_pg::bound::{Bound, Expr, ExprId, NEW, OLD, Part};
use onlap_pg::grammar;

use crate::catalog::bound::renamed_in_rows;
use crate::catalog::triggers::{self as kept, Trigger};
use crate::catalog::{Name, frozen, oids};
use crate::ddl::columns;
use crate::error::{Result, SqlError};
use crate::query::{Names, named_in, sql_error};
use crate::routine::must_be_served;
use crate::source::Source;
use crate::view::{View, no_table};

/// The condition of a new trigger of a table, as it is kept.
///
/// # Errors
/// Those of the condition; `42P17`: it names rows that there are none of.
pub fn kept_text(
    view: &View,
    source: Source<'_>,
    create: &CreateTrigger,
    (trigger, table, schema): (&Trigger, &Name, Option<&TableSchema>),
) -> Result<Option<String>> {
    let Some(said) = &create.when else { return Ok(None) };
    let names = Names::new(view);
    let failed = |e: onlap_pg::Error| sql_error(&e, source.text);
    let path = [table.schema.as_str().into(), table.name.as_str().into()];
    let relation = names.relation(&path).map_err(failed)?;
    let parts = [table.schema.clone(), table.name.clone()];
    let relation = relation.ok_or_else(|| no_table(&parts))?;
    let within = (&names as &dyn Schema, names.catalog());
    let made = bind::trigger_condition(source.tree, said.expr, &relation, within);
    let (bound, _, value) = made.map_err(failed)?;
    check(&bound, value, trigger)?;
    if let Some(schema) = schema {
        must_be_there(&bound, value, trigger, schema)?;
    }
    let edits = frozen::literals(view, &bound, source.text);
    let text = columns::kept(view, source, said.span, edits);
    must_be_served(view, trigger.relation, &text)?;
    Ok(Some(text))
}

fn check(bound: &Bound, value: ExprId, trigger: &Trigger) -> Result<()> {
    let mut wrong = None;
    rows_named(bound, value, &mut |entry, column| {
        let found = match entry {
            _ if !trigger.row => {
                ("42P17", "statement trigger's WHEN condition cannot reference column values")
            }
            OLD if trigger.insert => {
                ("42P17", "INSERT trigger's WHEN condition cannot reference OLD values")
            }
            NEW if trigger.delete => {
                ("42P17", "DELETE trigger's WHEN condition cannot reference NEW values")
            }
            NEW if trigger.time == 'B' && column < 0 => {
                ("0A000", "BEFORE trigger's WHEN condition cannot reference NEW system columns")
            }
            _ if column < 0 => ("0A000", "system columns of OLD and NEW are not supported"),
            _ => return,
        };
        wrong.get_or_insert(found);
    });
    match wrong {
        Some((state, text)) => Err(SqlError::new(state, text)),
        None => Ok(()),
    }
}

/// Fails where a condition that is judged before generated columns are calculated names one of NEW.
fn must_be_there(bound: &Bound, value: ExprId, trigger: &Trigger, of: &TableSchema) -> Result<()> {
    let mut named = None;
    rows_named(bound, value, &mut |entry, column| {
        let missing = match usize::try_from(column) {
            Ok(0) if !of.generated.is_empty() => Some(
                "A whole-row reference is used and the table contains generated columns.".into(),
            ),
            Ok(number) if number > 0 && of.is_generated(number - 1) => {
                Some(format!("Column \"{}\" is a generated column.", of.columns[number - 1].name))
            }
            _ => None,
        };
        if entry == NEW && trigger.time == 'B' && named.is_none() {
            named = missing;
        }
    });
    let Some(detail) = named else { return Ok(()) };
    let text = "BEFORE trigger's WHEN condition cannot reference NEW generated columns";
    Err(SqlError::new("42P17", text).detail(detail))
}

/// Shows the columns of OLD and NEW that are named: the entry, and the place, which is 0 for the whole row.
fn rows_named(bound: &Bound, value: ExprId, see: &mut dyn FnMut(usize, i32)) {
    bound.visit_part(Part::Expr(value), 0, &mut |id, inside| match bound.expr(id) {
        Expr::Var { entry, column, up } if *up == inside => {
            see(*entry, *column);
            true
        }
        Expr::Field(row, number) => match bound.expr(*row) {
            Expr::Var { entry, column: 0, up } if *up == inside => {
                see(*entry, *number);
                false
            }
            _ => true,
        },
        _ => true,
    });
}

/// Binds the condition of a trigger of a table; `None` where that is not there.
fn bound(view: &View, table: &Name, text: &str) -> onlap_pg::Result<Option<(Bound, ExprId)>> {
    let tree = grammar::parse(&format!("SELECT {text}"))?;
    let Some(expr) = tree.only_target() else { return Ok(None) };
    let names = Names::new(view);
    let path = [table.schema.as_str().into(), table.name.as_str().into()];
    let Some(relation) = names.relation(&path)? else { return Ok(None) };
    let within = (&names as &dyn Schema, names.catalog());
    let (bound, _, value) = bind::trigger_condition(&tree, expr, &relation, within)?;
    Ok(Some((bound, value)))
}

/// Whether the condition of a trigger reads a column of its table, as that is now. One that cannot be bound may.
fn reads(view: &View, table: &TableSchema, text: &str, column: ColumnId) -> bool {
    let Ok(Some((bound, value))) = bound(view, &Name::of_engine(&table.name).1, text) else {
        return true;
    };
    let mut found = false;
    rows_named(&bound, value, &mut |_, place| {
        let at = usize::try_from(place).ok().and_then(|place| place.checked_sub(1));
        found |= at.and_then(|at| table.columns.get(at)).is_some_and(|of| of.id == column);
    });
    found
}

/// The types, functions and operators that are wanted and that the condition of a trigger of a table names.
///
/// # Errors
/// The condition cannot be bound.
pub fn names(
    view: &View,
    relation: u32,
    text: &str,
    wanted: &dyn Fn(u32) -> bool,
) -> Result<Vec<u32>> {
    let tables = view.tables()?;
    let is = |of: &&(Name, onlap::Table)| oids::of_table(of.1.schema().id) == relation;
    let table = tables.iter().find(is).map(|(name, _)| name);
    let missing = || SqlError::defect(format!("the relation {relation} is not there"));
    let found = bound(view, table.ok_or_else(missing)?, text).map_err(|e| sql_error(&e, text))?;
    let (bound, value) = found.ok_or_else(missing)?;
    Ok(named_in(&bound, Part::Expr(value), wanted))
}

/// The triggers of a table that are about one of its columns: UPDATE OF it, or their condition reads it. The oldest come first.
pub fn of_column(view: &View, table: &TableSchema, column: ColumnId) -> Vec<Trigger> {
    let mut all = kept::of_relation(&view.objects, oids::of_table(table.id));
    all.retain(|trigger| {
        let when = trigger.when.as_deref();
        trigger.columns.contains(&(column.0 + 1))
            || when.is_some_and(|text| reads(view, table, text, column))
    });
    all.sort_by_key(|trigger| trigger.oid);
    all
}

/// The triggers of a table whose conditions read a column that gets another name, with that.
///
/// # Errors
/// `0A000`: one reads it as a field of a whole row.
pub fn renamed(
    view: &View,
    table: &TableSchema,
    column: ColumnId,
    (from, to): (&str, &str),
) -> Result<Vec<Trigger>> {
    let mut all = Vec::new();
    for trigger in kept::of_relation(&view.objects, oids::of_table(table.id)) {
        let Some(text) = trigger.when.as_deref() else { continue };
        if !reads(view, table, text, column) {
            continue;
        }
        let Some(text) = renamed_in_rows(text, from, to) else {
            let what = "renaming a column that the condition of a trigger names as a field";
            return Err(SqlError::unsupported(what).hint("Drop the trigger, and make it again."));
        };
        all.push(Trigger { when: Some(text), ..trigger });
    }
    Ok(all)
}
