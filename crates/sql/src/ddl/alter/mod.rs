//! ALTER TABLE.
//!
//! Each action becomes a step ([`actions`]), and the engine carries them out one after the other in the
//! statement's transaction ([`steps`]).

mod actions;
mod columns;
mod moves;
mod passes;
mod remade;
mod retype;
mod steps;

use onlap_pg::ast::{AlterTable, ColumnChange, RelationKind, Role, TableChange};

use crate::catalog::storage::Storage;
use crate::catalog::{Name, oids};
use crate::error::{Result, SqlError, state};
use crate::rights::Action;
use crate::session::Session;
use crate::source::{Source, role_word, strings};
use crate::system::text;
use crate::view::View;
use crate::wire::Client;

use super::change::notice;
use super::columns::Declared;
use super::kin;
use super::materialized;
use super::naming::{self, Relation};
use super::{policy, sequence, storage, trigger, view_options};
use actions::Actions;
pub use moves::check_free;
pub use remade::{Again, make as make_again};
pub use steps::{Step, run as carry_out};

/// ALTER TABLE, INDEX, SEQUENCE and VIEW.
///
/// # Errors
/// There is no such table; what Onlap does not do; rows that do not fit.
pub fn run(
    session: &mut Session,
    view: &View,
    source: Source<'_>,
    alter: &AlterTable,
    client: &mut dyn Client,
) -> Result<&'static str> {
    let parts = strings(&alter.table.name);
    let only = alter.table.only;
    let of = Named { session, view, parts: &parts, skip: alter.skip, only, client };
    if let [change @ (TableChange::Rename(_) | TableChange::Schema(_))] = &alter.actions[..] {
        return of.moved(source, alter.kind, change);
    }
    if let [change @ TableChange::RenameColumn(from, to)] = &alter.actions[..] {
        return of.renamed_column(source, alter.kind, (change, from, to));
    }
    match alter.kind {
        RelationKind::Table => of.table(source, &alter.actions),
        RelationKind::View => of.of_view(&alter.actions),
        RelationKind::Index => of.of_index(&alter.actions),
        RelationKind::Sequence => of.of_sequence(&alter.actions),
        RelationKind::MaterializedView => of.of_materialized(source, &alter.actions),
    }
}

/// One change of a table.
///
/// # Errors
/// Those of the change.
pub fn one<'a>(
    session: &mut Session,
    view: &'a View,
    source: Source<'a>,
    (name, table): (&'a Name, &'a onlap::Table),
    change: &'a TableChange,
    client: &mut dyn Client,
) -> Result<()> {
    let mut actions = Actions::new(view, source, name, table);
    actions.read(session, change, client)?;
    let steps = actions.finish()?;
    if steps.is_empty() { Ok(()) } else { steps::run(session, view, table.clone(), steps) }
}

/// Adds a column that another table has.
///
/// # Errors
/// As of ADD COLUMN.
pub fn add_declared<'a>(
    session: &mut Session,
    view: &'a View,
    source: Source<'a>,
    (name, table): (&'a Name, &'a onlap::Table),
    column: Declared<'a>,
) -> Result<()> {
    let mut actions = Actions::new(view, source, name, table);
    actions.add_declared(column)?;
    let steps = actions.finish()?;
    steps::run(session, view, table.clone(), steps)
}

/// What ALTER names.
struct Named<'a> {
    session: &'a mut Session,
    view: &'a View,
    parts: &'a [String],
    /// IF EXISTS.
    skip: bool,
    only: bool,
    client: &'a mut dyn Client,
}

impl Named<'_> {
    /// Tells that there is none, where IF EXISTS was said.
    fn missing(&mut self, error: SqlError, tag: &'static str) -> Result<&'static str> {
        if !self.skip {
            return Err(error);
        }
        notice(self.client, "00000", format!("{}, skipping", error.message()));
        Ok(tag)
    }

    fn table(mut self, source: Source<'_>, changes: &[TableChange]) -> Result<&'static str> {
        const TAG: &str = "ALTER TABLE";
        if let [TableChange::Owner(role)] = changes {
            return self.owner(role, TAG);
        }
        let (name, table) = match self.view.table_to("alter", self.parts) {
            Err(e) if e.state() == state::NO_TABLE => return self.missing(e, TAG),
            Err(e) => {
                let of_view = policy::of_view(self.view, self.parts, changes);
                return Err(of_view.ok().flatten().unwrap_or(e));
            }
            Ok(found) => found,
        };
        self.view.must_own(Action::Alter, &name, Relation::Table)?;
        self.view.scope.tx()?.await_form(&table)?;
        if self.view.scope.lent().is_called_for(table.schema().id) || !only_names(changes) {
            super::index::must_be_unused(self.view, &table, TAG)?;
        }
        for change in changes {
            let TableChange::Trigger(name, _) = change else { continue };
            let of = (table.schema().id, name.as_deref(), self.only);
            trigger::must_reach_all(self.view, of.0, of.1, of.2)?;
        }
        if materialized::is(self.view, &table) {
            changes.iter().try_for_each(|change| of_materialized(&name, change))?;
        }
        if kin::reaches(self.view, &table, changes) {
            if !only_here(self.only, changes) {
                let below = kin::all_below(self.view, table.schema().id)?;
                below.iter().try_for_each(|of| super::index::must_be_unused(self.view, of, TAG))?;
            }
            for change in passes::of(changes, false).into_iter().flatten() {
                let of = (&name, self.only);
                kin::below_alter(self.session, source, of, change, self.client)?;
            }
            return Ok(TAG);
        }
        // Of a table with blind writes the engine makes them outside of transactions, in one step.
        match &passes::of(changes, table.schema().blind)[..] {
            [] => {}
            [only] => self.pass(self.view, source, (&name, &table), only)?,
            all => {
                // What the engine does better outside of the transaction would stay where one of the others fails.
                self.session.writes()?;
                for pass in all {
                    let view = self.session.view()?;
                    let table = view.scope.tx()?.table(&table.name())?;
                    self.pass(&view, source, (&name, &table), pass)?;
                }
            }
        }
        Ok(TAG)
    }

    /// Actions that go together.
    fn pass<'b>(
        &mut self,
        view: &'b View,
        source: Source<'b>,
        (name, table): (&'b Name, &'b onlap::Table),
        changes: &[&'b TableChange],
    ) -> Result<()> {
        let mut actions = Actions::new(view, source, name, table);
        for change in changes {
            actions.read(self.session, change, self.client)?;
        }
        let steps = actions.finish()?;
        if steps.is_empty() { Ok(()) } else { steps::run(self.session, view, table.clone(), steps) }
    }

    /// ALTER MATERIALIZED VIEW: what may be changed of a table that is one.
    fn of_materialized(
        mut self,
        source: Source<'_>,
        changes: &[TableChange],
    ) -> Result<&'static str> {
        const TAG: &str = "ALTER MATERIALIZED VIEW";
        let view = self.view;
        let Some((name, found)) = relation(view, self.parts)? else {
            let error = crate::view::no_table(self.parts);
            return self.missing(error, TAG);
        };
        let engine = name.engine(&view.database);
        if found != Relation::Table || materialized::word(view, &engine) == "table" {
            let text = format!("\"{}\" is not a materialized view", name.name);
            return Err(SqlError::new("42809", text));
        }
        self.table(source, changes).map(|_| TAG)
    }

    /// OWNER TO, of anything that has a name in a schema.
    fn owner(mut self, role: &Role, tag: &'static str) -> Result<&'static str> {
        let Some((name, found)) = relation(self.view, self.parts)? else {
            let error = crate::view::no_table(self.parts);
            return self.missing(error, tag);
        };
        if found == Relation::Index {
            let text = format!("cannot change owner of index \"{}\"", name.name);
            return Err(SqlError::new("42809", text)
                .hint("Change the ownership of the index's table, instead."));
        }
        if found == Relation::Table {
            let table = self.view.scope.tx()?.table(&name.engine(&self.view.database))?;
            super::index::must_be_unused(self.view, &table, "ALTER TABLE")?;
        }
        self.session.give_relation(self.view, &name, found, role_word(role))?;
        Ok(tag)
    }

    /// ALTER VIEW: another owner.
    fn of_view(mut self, changes: &[TableChange]) -> Result<&'static str> {
        const TAG: &str = "ALTER VIEW";
        let name = match relation(self.view, self.parts)? {
            Some((name, Relation::View)) => name,
            Some((name, _)) => {
                return Err(SqlError::new("42809", format!("\"{}\" is not a view", name.name)));
            }
            None => {
                let error = crate::view::no_table(self.parts);
                return self.missing(error, TAG);
            }
        };
        match changes {
            [TableChange::Owner(role)] => self.owner(role, TAG),
            [TableChange::Settings(settings, reset)] => {
                self.view.must_own(Action::Alter, &name, Relation::View)?;
                view_options::change(self.session, self.view, &name, (settings, *reset))?;
                Ok(TAG)
            }
            _ => Err(SqlError::unsupported("this form of ALTER VIEW")),
        }
    }

    /// ALTER INDEX: what is said of storage means nothing here.
    fn of_index(mut self, changes: &[TableChange]) -> Result<&'static str> {
        const TAG: &str = "ALTER INDEX";
        let view = self.view;
        let Some((table, index)) = super::index::find(view, self.parts)? else {
            let error = crate::view::no_table(self.parts);
            return self.missing(error, TAG);
        };
        let schema = Name::of_engine(&table.name()).1.schema;
        view.must_own(Action::Alter, &Name::new(&schema, &index), Relation::Index)?;
        for change in changes {
            match change {
                TableChange::Settings(settings, reset) => {
                    let schema = table.schema();
                    // What was said of an index of gin is a part of it.
                    if let Some(of) = schema.index_by_name(&index).filter(|of| !of.multi_entry) {
                        let oid = oids::of_index(of.id);
                        let kept = Storage::of(&view.objects, oid);
                        let of = (oid, storage::Of::method(text::method_of(&kept)));
                        storage::change(self.session, view, of, (settings, *reset))?;
                    }
                }
                TableChange::Storage(_) => {}
                TableChange::Visible(to) => {
                    super::index::show(self.session, view, (&table, &index), *to)?;
                }
                TableChange::Attach(path, _) => {
                    kin::attach_index(self.session, view, (&table, &index), path)?;
                }
                _ => return Err(SqlError::unsupported("this form of ALTER INDEX")),
            }
        }
        Ok(TAG)
    }

    /// ALTER SEQUENCE as a relation: another owner.
    fn of_sequence(mut self, changes: &[TableChange]) -> Result<&'static str> {
        const TAG: &str = "ALTER SEQUENCE";
        let (name, _) = match sequence::find(self.view, self.parts) {
            Err(e) if e.state() == state::NO_TABLE => return self.missing(e, TAG),
            found => found?,
        };
        if let [TableChange::Owner(role)] = changes {
            let (session, relation) = (self.session, Relation::Sequence);
            session.give_relation(self.view, &name, relation, role_word(role))?;
            return Ok(TAG);
        }
        self.view.must_own(Action::Alter, &name, Relation::Sequence)?;
        match changes {
            [TableChange::Storage(_)] => Ok(TAG),
            _ => Err(SqlError::unsupported("this form of ALTER SEQUENCE")),
        }
    }
}

/// Whether changes reach no table below the one that is named.
fn only_here(only: bool, changes: &[TableChange]) -> bool {
    let is_own = |change: &TableChange| {
        matches!(
            change,
            TableChange::Rename(_)
                | TableChange::Schema(_)
                | TableChange::Attach(..)
                | TableChange::Detach(..)
                | TableChange::Inherit(_)
                | TableChange::NoInherit(_)
                | TableChange::RowSecurity(_)
        )
    };
    only || changes.iter().all(is_own)
}

/// Whether changes give other names alone, which open cursors and what is still to be judged do not mind.
fn only_names(changes: &[TableChange]) -> bool {
    let names = |change: &TableChange| {
        matches!(
            change,
            TableChange::Rename(_)
                | TableChange::RenameColumn(..)
                | TableChange::RenameConstraint(..)
                | TableChange::Schema(_)
        )
    };
    changes.iter().all(names)
}

/// Fails with what may not be changed of a materialized view.
fn of_materialized(name: &Name, change: &TableChange) -> Result<()> {
    let action = match change {
        TableChange::Owner(_)
        | TableChange::Rename(_)
        | TableChange::RenameColumn(..)
        | TableChange::Schema(_)
        | TableChange::Settings(..)
        | TableChange::Storage(_) => return Ok(()),
        TableChange::RowSecurity(to) => policy::action(*to),
        TableChange::AddColumn(..) => "ADD COLUMN",
        TableChange::DropColumn(..) => "DROP COLUMN",
        TableChange::AddConstraint(_) => "ADD CONSTRAINT",
        TableChange::DropConstraint(..) => "DROP CONSTRAINT",
        TableChange::Column(_, change) => match &**change {
            ColumnChange::Storage => return Ok(()),
            ColumnChange::SetDefault(_) | ColumnChange::DropDefault => {
                "ALTER COLUMN ... SET DEFAULT"
            }
            ColumnChange::SetNotNull => "ALTER COLUMN ... SET NOT NULL",
            ColumnChange::DropNotNull => "ALTER COLUMN ... DROP NOT NULL",
            ColumnChange::Type(..) => "ALTER COLUMN ... SET DATA TYPE",
            ColumnChange::AddIdentity(..) => "ALTER COLUMN ... ADD IDENTITY",
            ColumnChange::SetIdentity(_) => "ALTER COLUMN ... SET",
            ColumnChange::DropIdentity(_) => "ALTER COLUMN ... DROP IDENTITY",
            ColumnChange::DropExpression(_) => "ALTER COLUMN ... DROP EXPRESSION",
        },
        _ => {
            let text = format!("\"{}\" is not a table", name.name);
            return Err(SqlError::new("42809", text));
        }
    };
    let text = format!("ALTER action {action} cannot be performed on relation \"{}\"", name.name);
    let detail = "This operation is not supported for materialized views.";
    Err(SqlError::new("42809", text).detail(detail))
}

/// What a name stands for, wherever it is in the search path.
pub fn relation(view: &View, parts: &[String]) -> Result<Option<(Name, Relation)>> {
    for name in view.candidates(parts)? {
        if let Some(found) = naming::find(view, &name)? {
            return Ok(Some((name, found)));
        }
    }
    Ok(None)
}
