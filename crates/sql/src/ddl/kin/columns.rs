//! Which columns and checks does a table get from those above it?
//!
//! Columns come in the order of the tables that were named, then the table's own; columns of one name are one, if their types
//! are the same. A check of one name is one, if its condition is the same.

use std::collections::BTreeMap;

use onlap::{CheckSpec, ColumnDefault, Expr, Table, TableSchema};
use onlap_pg::bound::collation_name;

use super::super::change::notice;
use super::super::checks::{by_names, same};
use super::super::columns::{Declared, Default};
use super::super::constraints::Constraint;
use super::super::defaults;
use super::super::generated::{self, Generation};
use super::Parent;
use crate::catalog::families::Inherited;
use crate::columns::Types;
use crate::error::{Result, SqlError, state};
use crate::view::View;
use crate::wire::Client;

/// What a new table gets from those above it, together with its own.
pub struct Merged<'a> {
    /// All columns.
    pub columns: Vec<Declared<'a>>,
    /// How those came that are not the table's alone.
    pub of_columns: BTreeMap<String, Inherited>,
    /// Checks of the tables above.
    pub checks: Vec<(String, Expr<String>)>,
    /// How they came.
    pub of_checks: BTreeMap<String, Inherited>,
}

/// A column as a table below gets it.
pub fn inherited_by(
    view: &View,
    schema: &TableSchema,
    types: &Types,
    at: usize,
) -> Declared<'static> {
    let column = &schema.columns[at];
    let is_identity = defaults::identity(view, schema.id, column.id).is_some();
    let default = match &column.default {
        // What fills an identity column is the table's own.
        _ if is_identity => Default::None,
        Some(ColumnDefault::Constant(value)) => {
            Default::Constant(value.clone(), defaults::written(view, schema.id, column.id))
        }
        Some(ColumnDefault::NextVal(id)) => {
            let sequences = view.scope.tx().map(|tx| tx.sequences()).unwrap_or_default();
            let found = sequences.iter().find(|s| s.schema().id == *id);
            found.map_or(Default::None, |s| Default::Sequence(s.name().to_string()))
        }
        None => defaults::expression(view, schema.id, column.id)
            .map_or(Default::None, Default::Computed),
    };
    let mut made = Declared::plain(column.name.clone(), types[at]);
    made.not_null = !column.nullable;
    made.collation = types.own_collation(at);
    made.default = default;
    made.generated = generated::passed_on(schema, column.id).unwrap_or_default();
    made
}

/// Fails where two columns that are to be one have different collations.
fn same_collation(view: &View, what: &str, one: &Declared<'_>, other: &Declared<'_>) -> Result<()> {
    if one.collation == other.collation {
        return Ok(());
    }
    let catalog = view.objects.made_types().catalog();
    let shown = |of: &Declared<'_>| {
        collation_name(of.collation.unwrap_or_else(|| catalog.collation(of.ty.pg.oid)))
    };
    let text = format!("{what} \"{}\" has a collation conflict", one.name);
    let detail = format!("\"{}\" versus \"{}\"", shown(one), shown(other));
    Err(SqlError::new("42P21", text).detail(detail))
}

/// That a column of a table below has another collation than that above.
pub fn other_collation(table: &str, column: &str) -> SqlError {
    let text = format!("child table \"{table}\" has different collation for column \"{column}\"");
    SqlError::new("42P21", text)
}

/// Fails where columns of two tables above are not generated alike.
fn same_generation(one: &Declared<'_>, other: &Declared<'_>) -> Result<()> {
    let name = &one.name;
    match (&one.generated, &other.generated) {
        (None, None) => Ok(()),
        (Some(Generation::Of(a)), Some(Generation::Of(b))) if a == b => Ok(()),
        (Some(_), Some(_)) => {
            let text = format!("column \"{name}\" inherits conflicting generation expressions");
            Err(SqlError::new("42611", text))
        }
        _ => {
            let text = format!("inherited column \"{name}\" has a generation conflict");
            Err(SqlError::new(state::MISMATCH, text))
        }
    }
}

fn same_default(one: &Default, other: &Default) -> bool {
    match (one, other) {
        (Default::None, Default::None) => true,
        (Default::Constant(a, x), Default::Constant(b, y)) => a == b && x == y,
        (Default::Sequence(a), Default::Sequence(b)) => a == b,
        // Blanks between words are no difference.
        (Default::Computed(a), Default::Computed(b)) => {
            a == b || !a.contains(['\'', '"']) && words(a).eq(words(b))
        }
        _ => false,
    }
}

fn words(sql: &str) -> impl Iterator<Item = char> + '_ {
    sql.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase)
}

/// Whether a check is of its table alone: tables below do not get it.
pub fn is_alone(schema: &TableSchema, name: &str) -> bool {
    schema.checks.iter().any(|check| check.name == name && check.own)
}

/// The checks that tables below one get.
pub fn checks_of(schema: &TableSchema) -> Vec<(String, Expr<String>)> {
    let named = schema.checks.iter().filter(|check| !check.own);
    let named = named.filter_map(|check| Some((check.name.clone(), by_names(schema, check)?)));
    named.collect()
}

/// What a table may not say of a column that is generated above.
fn refuse_own(own: &Declared<'_>, partition: bool) -> Result<()> {
    let name = &own.name;
    let wrong = |text: String| SqlError::new("42611", text);
    let says = |what: &str| {
        Err(wrong(format!("column \"{name}\" inherits from generated column but specifies {what}")))
    };
    match &own.generated {
        Some(_) if partition => {
            let text = "generated columns are not supported on partitions";
            Err(SqlError::new(state::UNSUPPORTED, text))
        }
        Some(_) => Err(wrong(format!("child column \"{name}\" specifies generation expression"))
            .hint(
                "Omit the generation expression in the definition of the child table column to \
                 inherit the generation expression from the parent table.",
            )),
        None if own.sequence.as_ref().is_some_and(|own| own.identity.is_some()) => says("identity"),
        None if own.sequence.is_some() || !matches!(own.default, Default::None) => says("default"),
        None => Ok(()),
    }
}

impl<'a> Merged<'a> {
    /// Of what the statement declares alone.
    pub fn alone(columns: Vec<Declared<'a>>) -> Merged<'a> {
        let (of_columns, of_checks) = (BTreeMap::new(), BTreeMap::new());
        Merged { columns, of_columns, checks: Vec::new(), of_checks }
    }

    /// Of the tables above and of what the statement declares. `partition`: what it declares are the columns that there are.
    ///
    /// # Errors
    /// Types or defaults that do not go together; a check of one name that is another.
    pub fn of(
        view: &View,
        parents: &[Parent],
        own: Vec<Declared<'a>>,
        partition: bool,
        client: &mut dyn Client,
    ) -> Result<Merged<'a>> {
        let mut merged = Merged {
            columns: Vec::new(),
            of_columns: BTreeMap::new(),
            checks: Vec::new(),
            of_checks: BTreeMap::new(),
        };
        let mut bad_defaults: Vec<String> = Vec::new();
        for parent in parents {
            merged.add_parent(view, &parent.table, &mut bad_defaults, client)?;
        }
        let inherited = merged.columns.len();
        for (n, column) in own.into_iter().enumerate() {
            let known = merged.columns.iter().position(|known| known.name == column.name);
            match known {
                Some(at) if at >= inherited => {
                    let text = format!("column \"{}\" specified more than once", column.name);
                    return Err(SqlError::new("42701", text));
                }
                Some(at) => {
                    if !partition {
                        let name = &column.name;
                        let text = match at == n {
                            true => {
                                format!("merging column \"{name}\" with inherited definition")
                            }
                            false => format!(
                                "moving and merging column \"{name}\" with inherited definition"
                            ),
                        };
                        let moved =
                            "User-specified column moved to the position of the inherited column.";
                        match at == n {
                            true => notice(client, "00000", text),
                            false => {
                                let told = SqlError::new("00000", text).detail(moved);
                                client.reply().notice("NOTICE", &told);
                            }
                        }
                    }
                    bad_defaults.retain(|name| {
                        *name != column.name || matches!(column.default, Default::None)
                    });
                    merged.merge_own(view, at, column, partition)?;
                }
                None => merged.columns.push(column),
            }
        }
        if let Some(name) = bad_defaults.first() {
            let text = format!("column \"{name}\" inherits conflicting default values");
            return Err(SqlError::new("42611", text)
                .hint("To resolve the conflict, specify a default explicitly."));
        }
        Ok(merged)
    }

    fn add_parent(
        &mut self,
        view: &View,
        table: &Table,
        bad_defaults: &mut Vec<String>,
        client: &mut dyn Client,
    ) -> Result<()> {
        let schema = table.schema();
        let types = Types::of(&view.objects, &schema);
        types.must_be_known(&schema)?;
        for at in 0..schema.columns.len() {
            let column = inherited_by(view, &schema, &types, at);
            let Some(known) = self.columns.iter_mut().find(|known| known.name == column.name)
            else {
                self.of_columns.insert(column.name.clone(), Inherited { count: 1, local: false });
                self.columns.push(column);
                continue;
            };
            let name = &column.name;
            notice(
                client,
                "00000",
                format!("merging multiple inherited definitions of column \"{name}\""),
            );
            if known.ty != column.ty {
                let catalog = view.objects.made_types().catalog();
                let text = format!("inherited column \"{name}\" has a type conflict");
                let (a, b) = (known.ty.shown_in(catalog), column.ty.shown_in(catalog));
                return Err(SqlError::new(state::MISMATCH, text).detail(format!("{a} versus {b}")));
            }
            same_collation(view, "inherited column", known, &column)?;
            same_generation(known, &column)?;
            known.not_null |= column.not_null;
            match (&known.default, &column.default) {
                (_, Default::None) => {}
                (Default::None, _) => known.default = column.default.clone(),
                (a, b) if same_default(a, b) => {}
                _ => bad_defaults.push(name.clone()),
            }
            if let Some(one) = self.of_columns.get_mut(name) {
                one.count += 1;
            }
        }
        for (name, condition) in checks_of(&schema) {
            match self.checks.iter().find(|(known, _)| *known == name) {
                None => {
                    self.of_checks.insert(name.clone(), Inherited { count: 1, local: false });
                    self.checks.push((name, condition));
                }
                Some((_, known)) if same(known, &condition) => {
                    if let Some(one) = self.of_checks.get_mut(&name) {
                        one.count += 1;
                    }
                }
                Some(_) => {
                    let text = format!(
                        "check constraint name \"{name}\" appears multiple times but with \
                         different expressions"
                    );
                    return Err(SqlError::new(state::DUPLICATE_OBJECT, text));
                }
            }
        }
        Ok(())
    }

    /// The table's own declaration of a column that it inherits.
    fn merge_own(
        &mut self,
        view: &View,
        at: usize,
        own: Declared<'a>,
        partition: bool,
    ) -> Result<()> {
        let known = &mut self.columns[at];
        if !partition && known.ty != own.ty {
            let catalog = view.objects.made_types().catalog();
            let text = format!("column \"{}\" has a type conflict", own.name);
            let (a, b) = (known.ty.shown_in(catalog), own.ty.shown_in(catalog));
            return Err(SqlError::new(state::MISMATCH, text).detail(format!("{a} versus {b}")));
        }
        if !partition {
            same_collation(view, "column", known, &own)?;
        }
        if known.generated.is_some() {
            refuse_own(&own, partition)?;
        } else if own.generated.is_some() {
            if partition {
                let text = "generated columns are not supported on partitions";
                return Err(SqlError::new(state::UNSUPPORTED, text));
            }
            known.default = Default::None;
            known.generated = own.generated.clone();
        }
        if !partition && let Some(one) = self.of_columns.get_mut(&own.name) {
            one.local = true;
        }
        known.not_null |= own.not_null;
        if own.sequence.is_some() || !matches!(own.default, Default::None) {
            known.default = own.default;
            known.sequence = own.sequence;
        }
        known.constraints = own.constraints;
        Ok(())
    }

    /// Puts the checks of the tables above beside the table's own, which may be the same.
    ///
    /// # Errors
    /// `42710`: one of the same name is another; `42P17`: one that tables below do not get is one of them.
    pub fn join(
        &mut self,
        own: Vec<Constraint>,
        table: &str,
        client: &mut dyn Client,
    ) -> Result<Vec<Constraint>> {
        let mut all = Vec::with_capacity(own.len() + self.checks.len());
        for constraint in own {
            let Constraint::Check(check) = &constraint else {
                all.push(constraint);
                continue;
            };
            let (name, condition) = (check.name(), check.condition());
            match self.checks.iter().find(|(known, _)| known == name) {
                None => all.push(constraint),
                Some(_) if check.is_own() => {
                    let text = format!(
                        "constraint \"{name}\" conflicts with inherited constraint on relation \
                         \"{table}\""
                    );
                    return Err(SqlError::new("42P17", text));
                }
                Some((_, known)) if same(known, condition) => {
                    let text = format!("merging constraint \"{name}\" with inherited definition");
                    notice(client, "00000", text);
                    if let Some(one) = self.of_checks.get_mut(name) {
                        one.local = true;
                    }
                }
                Some(_) => {
                    let text =
                        format!("constraint \"{name}\" for relation \"{table}\" already exists");
                    return Err(SqlError::new(state::DUPLICATE_OBJECT, text));
                }
            }
        }
        let above = self.checks.iter().cloned();
        all.extend(
            above.map(|(name, condition)| Constraint::Check(CheckSpec::new(name, condition))),
        );
        Ok(all)
    }
}
