//! What do the condition and the commands of a rule mean?
//!
//! They name the row that there was OLD and the row that is to be NEW. Both are entries of a query around the command
//! ([`OLD`], [`NEW`]), which is no query of the statement that is carried out: columns of it become what the statement that
//! the rule is asked for says of them ([`crate::bound::Bound::fire`]).

use std::sync::Arc;

use super::level::{Clause, Level};
use super::{Binder, Relation, Schema};
use crate::ast::{self, Alias, Name, RuleEvent, Statement, Tree};
use crate::bound::{Bound, ExprId, NEW, OLD, QueryId};
use crate::catalog::Catalog;
use crate::{Error, Result};

/// Binds a command of a rule on a relation. `printed`: to be printed.
///
/// # Errors
/// As of [`super::bind()`]; `0A000`: an aggregate of OLD and NEW alone.
pub fn rule_command(
    tree: &Tree,
    command: &Statement,
    of: &Arc<Relation>,
    (schema, catalog): (&dyn Schema, &Catalog),
    printed: bool,
) -> Result<(Bound, QueryId)> {
    let mut binder = Binder::new(tree, schema, catalog, &[]);
    if printed {
        binder.out.keep_written();
    }
    binder.around_rule(of, None)?;
    let query = binder.statement(command)?;
    if binder.level_ref().has_aggregates {
        return Err(Error::new("0A000", "aggregates of OLD and NEW alone are not supported"));
    }
    binder.check_parameters(query)?;
    Ok((binder.out.end(), query))
}

/// Binds the condition of a rule on a relation, as the only target of a query that has its rows.
///
/// # Errors
/// As of [`super::bind()`].
pub fn rule_condition(
    tree: &Tree,
    condition: ast::ExprId,
    (of, event): (&Arc<Relation>, RuleEvent),
    (schema, catalog): (&dyn Schema, &Catalog),
    printed: bool,
) -> Result<(Bound, QueryId, ExprId)> {
    let mut binder = Binder::new(tree, schema, catalog, &[]);
    if printed {
        binder.out.keep_written();
    }
    binder.around_rule(of, Some(event))?;
    let value = binder.condition(Some(condition), Clause::Where, "WHERE")?.expect("it is there");
    let entries = std::mem::take(&mut binder.level().entries);
    let (bound, query) = binder.alone(value, entries)?;
    Ok((bound, query, value))
}

/// Binds the condition of a trigger of a relation, likewise; it is to be printed, too. [`OLD`] and [`NEW`] are its entries.
///
/// # Errors
/// As of [`super::bind()`].
pub fn trigger_condition(
    tree: &Tree,
    condition: ast::ExprId,
    of: &Arc<Relation>,
    (schema, catalog): (&dyn Schema, &Catalog),
) -> Result<(Bound, QueryId, ExprId)> {
    let mut binder = Binder::new(tree, schema, catalog, &[]);
    binder.out.keep_written();
    binder.around_rule(of, Some(RuleEvent::Update))?;
    let value = binder.condition(Some(condition), Clause::TriggerWhen, "WHEN")?;
    let value = value.expect("it is there");
    let entries = std::mem::take(&mut binder.level().entries);
    let (bound, query) = binder.alone(value, entries)?;
    Ok((bound, query, value))
}

/// Binds a condition of a policy, as the only target of a query that has the rows of its table.
///
/// # Errors
/// As of [`super::bind()`]; `42804`: it is no condition.
pub fn policy_condition(
    tree: &Tree,
    condition: ast::ExprId,
    of: &Relation,
    (schema, catalog): (&dyn Schema, &Catalog),
) -> Result<(Bound, QueryId)> {
    let mut binder = Binder::over(tree, of, schema, catalog)?;
    let value = binder.condition(Some(condition), Clause::Policy, "POLICY")?;
    let entries = std::mem::take(&mut binder.level().entries);
    binder.alone(value.expect("it is there"), entries)
}

impl Binder<'_> {
    /// OLD and NEW. A condition sees those that the event has, and their columns by their names alone; a command sees both.
    fn around_rule(&mut self, of: &Relation, event: Option<RuleEvent>) -> Result<()> {
        self.levels.push(Level { targets: 1, ..Level::default() });
        self.around = 1;
        for (entry, name) in [(OLD, "old"), (NEW, "new")] {
            let relation = ast::Relation {
                name: [Name::from(name)].into(),
                only: false,
                alias: Some(Alias { name: name.into(), columns: Vec::new() }),
                place: 0,
            };
            let number = self.relation_entry(of, &relation, false)?;
            debug_assert_eq!(number, entry);
            let seen = match event {
                Some(RuleEvent::Insert) => entry == NEW,
                Some(RuleEvent::Delete | RuleEvent::Select) => entry == OLD,
                Some(RuleEvent::Update) | None => true,
            };
            if seen {
                let mut item = self.item_of(number);
                item.columns_seen = event.is_some();
                self.level().items.push(item);
            }
        }
        Ok(())
    }
}
