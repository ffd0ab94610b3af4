//! Which changes of a table are refused because of those above and below it?
//!
//! What a table has from above is changed there; what tables below would miss is not changed here alone. Thread safety: pure
//! questions about what a statement sees.

use onlap::{ColumnId, ColumnSchema, Table, TableSchema};
use onlap_pg::ast::{ColumnChange, ColumnRule, Constraint, TableChange, TableRule};

use super::columns::is_alone;
use super::keys::must_cover;
use super::{Parent, kin_of, name_of};
use crate::catalog::Name;
use crate::catalog::families::Key;
use crate::error::{Result, SqlError, state};
use crate::source::strings;
use crate::view::View;

/// What cannot be changed so.
pub(super) fn bad(text: impl Into<String>) -> SqlError {
    SqlError::new(state::BAD_DEFINITION, text)
}

/// Fails where something came from above, or where tables below would miss it.
///
/// # Errors
/// `42P16`, `42809`.
pub fn refuse_inherited(view: &View, own: &Parent, change: &TableChange, only: bool) -> Result<()> {
    let families = view.objects.families();
    let schema = own.table.schema();
    let has_below = !families.below(schema.id).is_empty();
    let is_divided = families.divided(schema.id).is_some();
    let kin = kin_of(view, schema.id);
    let came = |name: &str| {
        schema.position_by_name(name).map(|at| kin.column(schema.columns[at].id).count > 0)
    };
    let only = only && has_below;
    match change {
        TableChange::AddColumn(..) if kin.bound.is_some() => {
            Err(SqlError::new("42809", "cannot add column to a partition"))
        }
        TableChange::AddColumn(_, column) if is_divided => {
            let is_key = |rule: &ColumnRule| match rule {
                ColumnRule::Primary(_) => Some("PRIMARY KEY"),
                ColumnRule::Unique(..) => Some("UNIQUE"),
                _ => None,
            };
            let divided = families.divided(schema.id);
            match (column.rules.iter().find_map(|rule| is_key(&rule.rule)), divided) {
                (Some(word), Some(divided)) => {
                    must_cover(&schema, divided, &[column.name.to_string()], word)
                }
                _ if only => Err(bad("column must be added to child tables too")),
                _ => Ok(()),
            }
        }
        TableChange::AddColumn(..) if only => Err(bad("column must be added to child tables too")),
        TableChange::DropColumn(_, name, _) => {
            if came(name) == Some(true) {
                return Err(bad(format!("cannot drop inherited column \"{name}\"")));
            }
            if only && is_divided {
                return no_only(
                    "cannot drop column from only the partitioned table when partitions exist",
                );
            }
            refuse_key(view, own, name, "drop")
        }
        TableChange::RenameColumn(name, _) => {
            if only {
                let text =
                    format!("inherited column \"{name}\" must be renamed in child tables too");
                return Err(bad(text));
            }
            if came(name) == Some(true) {
                return Err(bad(format!("cannot rename inherited column \"{name}\"")));
            }
            refuse_named(view, own, name)
        }
        TableChange::Column(name, change) => {
            column_change(view, own, name, change, only && is_divided, only)
        }
        TableChange::AddConstraint(_)
        | TableChange::DropConstraint(..)
        | TableChange::RenameConstraint(..) => rule_change(view, own, change, only),
        _ => Ok(()),
    }
}

/// The same of a constraint; `only`: tables below are left out.
fn rule_change(view: &View, own: &Parent, change: &TableChange, only: bool) -> Result<()> {
    let families = view.objects.families();
    let schema = own.table.schema();
    let is_divided = families.divided(schema.id).is_some();
    let kin = kin_of(view, schema.id);
    match change {
        TableChange::AddConstraint(constraint) => added_rule(view, own, constraint, only),
        TableChange::DropConstraint(_, name, _) => {
            let of_index = schema.index_by_name(name);
            let is_part = of_index.is_some_and(|index| families.index_above(index.id).is_some());
            if kin.rule(name).count > 0 || is_part {
                let text = format!(
                    "cannot drop inherited constraint \"{name}\" of relation \"{}\"",
                    own.name.name
                );
                return Err(bad(text));
            }
            match only && is_divided {
                true => no_only(
                    "cannot remove constraint from only the partitioned table when partitions exist",
                ),
                false => Ok(()),
            }
        }
        TableChange::RenameConstraint(name, _) => {
            if kin.rule(name).count > 0 {
                return Err(bad(format!("cannot rename inherited constraint \"{name}\"")));
            }
            let is_check = schema.checks.iter().any(|check| check.name == **name);
            match only && is_check && !is_alone(&schema, name) {
                true => Err(bad(format!(
                    "inherited constraint \"{name}\" must be renamed in child tables too"
                ))),
                false => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

/// The same of a constraint that is added.
fn added_rule(view: &View, own: &Parent, constraint: &Constraint, only: bool) -> Result<()> {
    let families = view.objects.families();
    let schema = own.table.schema();
    let is_divided = families.divided(schema.id).is_some();
    match &constraint.rule {
        TableRule::Check(_) if only && !constraint.judged.no_inherit => {
            Err(bad("constraint must be added to child tables too"))
        }
        TableRule::Check(_) if is_divided && constraint.judged.no_inherit => {
            let table = &own.name.name;
            let text = format!("cannot add NO INHERIT constraint to partitioned table \"{table}\"");
            Err(bad(text))
        }
        TableRule::Primary(columns, ..) | TableRule::Unique(_, columns, ..) if is_divided => {
            let word = match &constraint.rule {
                TableRule::Primary(..) => "PRIMARY KEY",
                _ => "UNIQUE",
            };
            let Some(divided) = families.divided(schema.id) else { return Ok(()) };
            must_cover(&schema, divided, &strings(columns), word)
        }
        TableRule::Foreign(..) if only && is_divided => {
            let text = format!(
                "cannot use ONLY for foreign key on partitioned table \"{}\" referencing \
                     relation \"{}\"",
                own.name.name,
                referred(constraint)
            );
            Err(SqlError::new("42809", text))
        }
        TableRule::Exclude(_) if is_divided => Err(no_exclusion()),
        TableRule::UniqueIndex(_) | TableRule::PrimaryIndex(_) if is_divided => {
            let text = "ALTER TABLE / ADD CONSTRAINT USING INDEX is not supported on \
                            partitioned tables";
            Err(SqlError::new(state::UNSUPPORTED, text))
        }
        _ => Ok(()),
    }
}

/// A partitioned table has no exclusion constraints.
pub fn no_exclusion() -> SqlError {
    let text = "exclusion constraints are not supported on partitioned tables";
    SqlError::new(state::UNSUPPORTED, text)
}

fn referred(constraint: &Constraint) -> String {
    match &constraint.rule {
        TableRule::Foreign(_, key) => key.table.last().map_or("", |name| name).to_string(),
        _ => String::new(),
    }
}

fn column_change(
    view: &View,
    own: &Parent,
    name: &str,
    change: &ColumnChange,
    only_divided: bool,
    only: bool,
) -> Result<()> {
    let families = view.objects.families();
    let schema = own.table.schema();
    let Some(at) = schema.position_by_name(name) else { return Ok(()) };
    let kin = kin_of(view, schema.id);
    match change {
        ColumnChange::Type(..) => {
            if kin.column(schema.columns[at].id).count > 0 {
                return Err(bad(format!("cannot alter inherited column \"{name}\"")));
            }
            refuse_key(view, own, name, "alter")?;
            match only {
                true => Err(bad(format!(
                    "type of inherited column \"{name}\" must be changed in child tables too"
                ))),
                false => Ok(()),
            }
        }
        ColumnChange::DropExpression(_) => {
            if kin.column(schema.columns[at].id).count > 0 {
                return Err(bad("cannot drop generation expression from inherited column"));
            }
            match only {
                true => {
                    let text = "ALTER TABLE / DROP EXPRESSION must be applied to child tables too";
                    Err(SqlError::new(state::UNSUPPORTED, text))
                }
                false => Ok(()),
            }
        }
        ColumnChange::SetNotNull if only_divided => {
            Err(bad("constraint must be added to child tables too")
                .hint("Do not specify the ONLY keyword."))
        }
        ColumnChange::DropNotNull => {
            if only_divided {
                let text = "cannot remove constraint from only the partitioned table when \
                            partitions exist";
                return Err(bad(text).hint("Do not specify the ONLY keyword."));
            }
            let Some(above) = families.above(schema.id) else { return Ok(()) };
            let tables = crate::query::family::by_id(view)?;
            let marked = tables.get(&above).is_some_and(|table| {
                let schema = table.schema();
                schema.position_by_name(name).is_some_and(|at| !schema.columns[at].nullable)
            });
            match marked {
                true => Err(bad(format!("column \"{name}\" is marked NOT NULL in parent table"))),
                false => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

fn no_only(text: &str) -> Result<()> {
    Err(bad(text).hint("Do not specify the ONLY keyword."))
}

/// Fails where a column is what the table's rows, or those of a table below it, are divided by.
fn refuse_key(view: &View, own: &Parent, name: &str, verb: &str) -> Result<()> {
    let mut tables = vec![own.table.clone()];
    tables.extend(super::all_below(view, own.table.schema().id)?);
    for table in tables {
        let schema = table.schema();
        if !schema.columns.iter().any(|of| of.name == name && has_key(view, &schema, of)) {
            continue;
        }
        let text = format!(
            "cannot {verb} column \"{name}\" because it is part of the partition key of relation \
             \"{}\"",
            name_of(&table).name
        );
        return Err(bad(text));
    }
    Ok(())
}

/// The text of a key names columns as they are called.
fn refuse_named(view: &View, own: &Parent, name: &str) -> Result<()> {
    let mut tables = vec![own.table.clone()];
    tables.extend(super::all_below(view, own.table.schema().id)?);
    for table in tables {
        let Some(divided) = view.objects.families().divided(table.schema().id) else { continue };
        let names = |key: &Key| matches!(key, Key::Expr(sql, _) if names_column(sql, name));
        if divided.keys.iter().any(names) {
            let text = "renaming a column that the expression of a partition key names";
            return Err(SqlError::unsupported(text));
        }
    }
    Ok(())
}

/// Whether a table divides its rows by a column.
pub fn divides_by(view: &View, of: Option<&(Name, Table)>, column: ColumnId) -> bool {
    of.is_some_and(|(_, table)| {
        let schema = table.schema();
        schema.columns.iter().any(|of| of.id == column && has_key(view, &schema, of))
    })
}

fn has_key(view: &View, schema: &TableSchema, column: &ColumnSchema) -> bool {
    let Some(divided) = view.objects.families().divided(schema.id) else { return false };
    divided.keys.iter().any(|key| match key {
        Key::Column(own) => *own == column.id,
        Key::Expr(sql, _) => names_column(sql, &column.name),
    })
}

/// Whether a text may name a column: it has the word.
fn names_column(sql: &str, name: &str) -> bool {
    let mut words = sql.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'));
    words.any(|word| word.eq_ignore_ascii_case(name))
}
