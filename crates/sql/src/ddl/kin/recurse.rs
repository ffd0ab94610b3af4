//! Which changes of a table reach the tables below it?
//!
//! A change is made at the table that the statement names, and then at each below it that has what is changed from it alone;
//! one that has it from elsewhere too, or of its own, only forgets where it came from. What a table has from above is changed
//! there and not here.

use onlap::{CheckSpec, Table, TableChanges, TableId, TableSchema};
use onlap_pg::ast::{ColumnChange, TableChange, TableRule};
use onlap_pg::bound::collation_name;

use super::super::alter::{self, Step};
use super::super::cascade::{self, Closure, Object};
use super::super::change::notice;
use super::super::checks::{self, Checked};
use super::super::naming::Relation;
use super::attach::{attach, detach, inherit, leave};
use super::columns::{checks_of, inherited_by, is_alone, other_collation};
use super::parts::{complete, index_below};
use super::refusals::{bad, refuse_inherited};
use super::{FROM_ONE, Parent, kin_of, name_of, put, tables_below};
use crate::catalog::families::{Inherited, Kin};
use crate::catalog::{Kind, Name};
use crate::columns::Types;
use crate::error::{Result, SqlError, state};
use crate::rights::Action;
use crate::session::Session;
use crate::session::lent::Told;
use crate::source::Source;
use crate::view::View;
use crate::wire::Client;

/// ALTER TABLE of a table with others above or below it: one change.
///
/// # Errors
/// Those of the change, at any of the tables; what it has from above, or what those below would miss.
pub fn below_alter(
    session: &mut Session,
    source: Source<'_>,
    of: (&Name, bool),
    change: &TableChange,
    client: &mut dyn Client,
) -> Result<()> {
    let (name, only) = of;
    let view = session.view()?;
    session.catalog_changed()?;
    let table = view.scope.tx()?.table(&name.engine(&view.database))?;
    let own = Parent { name: name.clone(), table: table.clone() };
    match change {
        TableChange::Inherit(path) => return inherit(session, &view, &own, path),
        TableChange::NoInherit(path) => return leave(session, &view, &own, path),
        TableChange::Attach(path, Some(bound)) => {
            return attach(session, &view, source, &own, path, bound);
        }
        TableChange::Detach(path, how) => return detach(session, &view, &own, path, *how),
        _ => {}
    }
    refuse_inherited(&view, &own, change, only)?;
    if becomes_local(session, &view, source, &own, change, client)? {
        return Ok(());
    }
    if !view.objects.families().below(table.schema().id).is_empty() {
        super::take(session, &view, &table)?;
    }
    let before = table.schema();
    let mut told = Told::new(&view);
    let all = TableChange::clone(change);
    let (change, client) = match all {
        TableChange::DropColumn(skip, column, cascade)
            if !only && before.position_by_name(&column).is_some() =>
        {
            drop_users(session, &view, &own, (&column, cascade), client)?;
            // They are told, and gone.
            (&TableChange::DropColumn(skip, column, true), &mut told as &mut dyn Client)
        }
        _ => (change, client),
    };
    let view = session.view()?;
    let table = view.scope.tx()?.table(&name.engine(&view.database))?;
    alter::one(session, &view, source, (name, &table), change, client)?;
    if matches!(change, TableChange::Rename(_) | TableChange::Schema(_)) {
        return Ok(());
    }
    tidy(session, &own, &before)?;
    let mut tree = view.objects.families().all_below(before.id);
    tree.push(before.id);
    let changed = Changed { before: &before, change, only, source, tree: &tree };
    changed.reach_below(session, &own, client)
}

/// Drops what depends on a column of a table and on those of tables below that go with it; generated columns go with it.
fn drop_users(
    session: &mut Session,
    view: &View,
    own: &Parent,
    (column, cascade): (&str, bool),
    client: &mut dyn Client,
) -> Result<()> {
    let mut roots = Vec::new();
    let mut open = vec![own.table.clone()];
    while let Some(table) = open.pop() {
        let schema = table.schema();
        let Some(at) = schema.position_by_name(column) else { continue };
        let id = schema.columns[at].id;
        let known = kin_of(view, schema.id).column(id);
        if roots.is_empty() || known.count == 1 && !known.local {
            roots.insert(0, Object::Column(schema.id, id));
            open.extend(tables_below(view, schema.id)?);
        }
    }
    let family: Vec<TableId> = roots
        .iter()
        .filter_map(|root| if let Object::Column(id, _) = root { Some(*id) } else { None })
        .collect();
    let closure = Closure::of(view, roots)?;
    closure.tell(cascade, client)?;
    let mut others = closure.others();
    others.retain(|of| !matches!(of, Object::Column(table, _) if family.contains(table)));
    cascade::out(session, view, others)
}

/// What is known of a table's columns and rules follows a change of them: a column may have another id, a rule another name.
fn tidy(session: &mut Session, of: &Parent, before: &TableSchema) -> Result<()> {
    let view = session.view()?;
    let schema = of.now(&view)?.table.schema();
    let known = kin_of(&view, schema.id);
    let mut kin = known.clone();
    for (id, inherited) in &known.columns {
        if schema.position(*id).is_none() {
            kin.columns.remove(id);
            let name = before.position(*id).map(|at| &before.columns[at].name);
            let at = name.and_then(|name| schema.position_by_name(name));
            if let Some(at) = at {
                kin.columns.insert(schema.columns[at].id, *inherited);
            }
        }
    }
    let is_check = |name: &str| schema.checks.iter().any(|check| check.name == name);
    let is_key = |name: &str| schema.foreign_keys.iter().any(|key| key.name == name);
    kin.rules.retain(|name, _| is_check(name) || is_key(name));
    if kin == known { Ok(()) } else { put(session, schema.id, &kin) }
}

/// A check that is added where the table has the same from above is the table's own, too, from now on.
fn becomes_local(
    session: &mut Session,
    view: &View,
    source: Source<'_>,
    own: &Parent,
    change: &TableChange,
    client: &mut dyn Client,
) -> Result<bool> {
    let TableChange::AddConstraint(constraint) = change else { return Ok(false) };
    let (TableRule::Check(said), Some(name)) = (&constraint.rule, &constraint.name) else {
        return Ok(false);
    };
    let schema = own.table.schema();
    let mut kin = kin_of(view, schema.id);
    let rule = kin.rule(name);
    if rule.count == 0 || constraint.judged.no_inherit {
        return Ok(false);
    }
    let types = Types::of(&view.objects, &schema);
    let columns = schema.columns.iter().map(|column| column.name.clone());
    let columns: Vec<_> = columns.zip(types.iter().copied()).collect();
    let table = Checked { name: &own.name.name, columns: &columns };
    let condition = checks::condition(view, source, said, &table)?;
    let own = checks_of(&schema);
    if !own.iter().any(|(known, of)| **known == **name && checks::same(of, &condition)) {
        return Ok(false);
    }
    kin.rules.insert(name.to_string(), Inherited { local: true, ..rule });
    put(session, schema.id, &kin)?;
    let text = format!("merging constraint \"{name}\" with inherited definition");
    notice(client, "00000", text);
    Ok(true)
}

/// A change that was made at a table.
struct Changed<'a> {
    before: &'a TableSchema,
    change: &'a TableChange,
    only: bool,
    source: Source<'a>,
    /// The table that the statement names, with all below it.
    tree: &'a [TableId],
}

impl Changed<'_> {
    /// From how many tables a table has what is changed, if it has it from none that the change does not reach.
    fn expected(&self, kin: &Kin) -> u32 {
        kin.parents.iter().filter(|parent| self.tree.contains(parent)).count() as u32
    }

    /// Makes it at the tables right below one, and so on.
    fn reach_below(
        &self,
        session: &mut Session,
        own: &Parent,
        client: &mut dyn Client,
    ) -> Result<()> {
        let view = session.view()?;
        let table = view.scope.tx()?.table(&own.name.engine(&view.database))?;
        let now = table.schema();
        let is_divided = view.objects.families().divided(now.id).is_some();
        let adds =
            matches!(self.change, TableChange::AddConstraint(_) | TableChange::AddColumn(..));
        if adds && is_divided {
            self.new_indexes(session, &view, &table)?;
        }
        if let TableChange::DropConstraint(_, name, _) = self.change
            && let Some(index) = self.before.index_by_name(name)
        {
            return drop_parts(session, index.id);
        }
        for child in tables_below(&view, now.id)? {
            let below = Parent { name: name_of(&child), table: child };
            self.at(session, &now, &below, client)?;
        }
        Ok(())
    }

    /// Indexes and foreign keys that a partitioned table has got.
    fn new_indexes(&self, session: &mut Session, view: &View, table: &Table) -> Result<()> {
        let now = table.schema();
        let is_new = |name: &String| self.before.index_by_name(name).is_none();
        let indexes = now.indexes.iter().map(|index| &index.name).filter(|name| is_new(name));
        if !self.only {
            for name in indexes {
                index_below(session, table, name)?;
            }
        }
        if now.foreign_keys.len() > self.before.foreign_keys.len() {
            for child in tables_below(view, now.id)? {
                complete(session, table, &child)?;
            }
        }
        Ok(())
    }

    /// The change at one table below.
    fn at(
        &self,
        session: &mut Session,
        above: &TableSchema,
        below: &Parent,
        client: &mut dyn Client,
    ) -> Result<()> {
        let view = session.view()?;
        // As it is now: the change may have reached it another way.
        let below = &below.now(&view)?;
        let schema = below.table.schema();
        view.must_own(Action::Alter, &below.name, Relation::Table)?;
        match self.change {
            TableChange::AddColumn(..) => {
                let new = above.columns.iter().filter(|c| self.before.position(c.id).is_none());
                for column in new {
                    self.add_column(session, above, &column.name, below, client)?;
                }
                self.add_checks(session, above, below, client)
            }
            TableChange::DropColumn(_, name, _) => self.drop_column(session, below, name, client),
            TableChange::RenameColumn(from, _) => {
                let Some(at) = schema.position_by_name(from) else { return Ok(()) };
                let kin = kin_of(&view, schema.id);
                if kin.column(schema.columns[at].id).count > self.expected(&kin) {
                    return Err(bad(format!("cannot rename inherited column \"{from}\"")));
                }
                self.same(session, below, client)
            }
            TableChange::Column(name, change) => match &**change {
                ColumnChange::Type(..) if self.is_from_elsewhere(&view, &schema, name) => {
                    let text = format!(
                        "cannot alter inherited column \"{name}\" of relation \"{}\"",
                        below.name.name
                    );
                    Err(bad(text))
                }
                ColumnChange::SetDefault(_)
                | ColumnChange::DropDefault
                | ColumnChange::SetNotNull
                | ColumnChange::DropNotNull
                | ColumnChange::DropExpression(_)
                | ColumnChange::Type(..)
                    if !self.only =>
                {
                    self.same(session, below, client)
                }
                _ => Ok(()),
            },
            TableChange::AddConstraint(_) => self.add_checks(session, above, below, client),
            TableChange::Validate(name) => self.validate(session, &schema, name, below, client),
            TableChange::DropConstraint(_, name, _) => self.drop_rule(session, below, name, client),
            TableChange::RenameConstraint(from, to) => {
                self.rename_rule(session, below, from, to, client)
            }
            _ => Ok(()),
        }
    }

    /// Whether a table has a column from tables, too, that the change does not reach.
    fn is_from_elsewhere(&self, view: &View, schema: &TableSchema, name: &str) -> bool {
        let kin = kin_of(view, schema.id);
        let at = schema.position_by_name(name);
        at.is_some_and(|at| kin.column(schema.columns[at].id).count > self.expected(&kin))
    }

    /// Judges the rows of a table below by a check that was not valid above.
    fn validate(
        &self,
        session: &mut Session,
        schema: &TableSchema,
        name: &str,
        below: &Parent,
        client: &mut dyn Client,
    ) -> Result<()> {
        let was = |check: &&onlap::CheckSchema| check.name == name && check.unproven && !check.own;
        if !self.before.checks.iter().any(|check| was(&check)) {
            return Ok(());
        }
        if self.only {
            return Err(bad("constraint must be validated on child tables too"));
        }
        if !schema.checks.iter().any(|check| check.name == name) {
            return Ok(());
        }
        let view = session.view()?;
        let of = (&below.name, &below.table);
        alter::one(session, &view, self.source, of, self.change, client)?;
        // Those below it are judged whatever was known of the one between.
        Changed { ..*self }.reach_below(session, below, client)
    }

    /// The same change, and so on below.
    fn same(&self, session: &mut Session, below: &Parent, client: &mut dyn Client) -> Result<()> {
        let view = session.view()?;
        let before = below.table.schema();
        let of = (&below.name, &below.table);
        alter::one(session, &view, self.source, of, self.change, client)?;
        tidy(session, below, &before)?;
        Changed { before: &before, ..*self }.reach_below(session, below, client)
    }

    fn add_column(
        &self,
        session: &mut Session,
        above: &TableSchema,
        name: &str,
        below: &Parent,
        client: &mut dyn Client,
    ) -> Result<()> {
        let view = session.view()?;
        let schema = below.table.schema();
        let types = Types::of(&view.objects, above);
        let Some(at) = above.position_by_name(name) else { return Ok(()) };
        let mut kin = kin_of(&view, schema.id);
        if let Some(place) = schema.position_by_name(name) {
            let own = Types::of(&view.objects, &schema);
            if own[place] != types[at] {
                let text = format!(
                    "child table \"{}\" has different type for column \"{name}\"",
                    below.name.name
                );
                return Err(SqlError::new(state::MISMATCH, text));
            }
            let collations = (own.collation(place), types.collation(at));
            if collations.0 != collations.1 {
                let detail = format!(
                    "\"{}\" versus \"{}\"",
                    collation_name(collations.1),
                    collation_name(collations.0)
                );
                return Err(other_collation(&below.name.name, name).detail(detail));
            }
            let id = schema.columns[place].id;
            let known = kin.column(id);
            kin.columns.insert(id, Inherited { count: known.count + 1, ..known });
            let text = format!(
                "merging definition of column \"{name}\" for child \"{}\"",
                below.name.name
            );
            notice(client, "00000", text);
            return put(session, schema.id, &kin);
        }
        let column = inherited_by(&view, above, &types, at);
        alter::add_declared(session, &view, self.source, (&below.name, &below.table), column)?;
        let table = view.scope.tx()?.table(&below.table.name())?;
        let now = table.schema();
        let place = now.position_by_name(name);
        let place = place.ok_or_else(|| SqlError::defect("a column was added and is not there"))?;
        kin.columns.insert(now.columns[place].id, FROM_ONE);
        put(session, now.id, &kin)?;
        let view = session.view()?;
        for child in tables_below(&view, now.id)? {
            let next = Parent { name: name_of(&child), table: child }.now(&session.view()?)?;
            self.add_column(session, &now, name, &next, client)?;
        }
        Ok(())
    }

    /// Checks that a table has got, at one below it.
    fn add_checks(
        &self,
        session: &mut Session,
        above: &TableSchema,
        below: &Parent,
        client: &mut dyn Client,
    ) -> Result<()> {
        let view = session.view()?;
        let is_new = |name: &str| !self.before.checks.iter().any(|check| check.name == name);
        let new: Vec<_> = checks_of(above).into_iter().filter(|(name, _)| is_new(name)).collect();
        if new.is_empty() {
            return Ok(());
        }
        let before = below.table.schema();
        let mut kin = kin_of(&view, before.id);
        let own = checks_of(&before);
        for (name, condition) in new {
            if is_alone(&before, &name) {
                let text = format!(
                    "constraint \"{name}\" conflicts with non-inherited constraint on relation \
                     \"{}\"",
                    below.name.name
                );
                return Err(SqlError::new("42P17", text));
            }
            match own.iter().find(|(known, _)| *known == name) {
                Some((_, known)) if *known == condition => {
                    let rule = kin.rule(&name);
                    kin.rules.insert(name.clone(), Inherited { count: rule.count + 1, ..rule });
                    let text = format!("merging constraint \"{name}\" with inherited definition");
                    notice(client, "00000", text);
                }
                Some(_) => {
                    let text = format!(
                        "constraint \"{name}\" for relation \"{}\" already exists",
                        below.name.name
                    );
                    return Err(SqlError::new(state::DUPLICATE_OBJECT, text));
                }
                None => {
                    let unproven = above.checks.iter().any(|c| c.name == name && c.unproven);
                    let check = CheckSpec::new(name.clone(), condition).unproven(unproven);
                    let step = Step::AddCheck(check);
                    alter::carry_out(session, &view, below.table.clone(), vec![step])?;
                    kin.rules.insert(name, FROM_ONE);
                }
            }
        }
        put(session, before.id, &kin)?;
        let view = session.view()?;
        let now = below.now(&view)?.table.schema();
        for child in tables_below(&view, now.id)? {
            let next = Parent { name: name_of(&child), table: child }.now(&session.view()?)?;
            Changed { before: &before, ..*self }.add_checks(session, &now, &next, client)?;
        }
        Ok(())
    }

    fn drop_column(
        &self,
        session: &mut Session,
        below: &Parent,
        name: &str,
        client: &mut dyn Client,
    ) -> Result<()> {
        let view = session.view()?;
        let schema = below.table.schema();
        let Some(at) = schema.position_by_name(name) else { return Ok(()) };
        let id = schema.columns[at].id;
        let mut kin = kin_of(&view, schema.id);
        let mut known = kin.column(id);
        if known.count == 0 {
            return Ok(());
        }
        known.count -= 1;
        if known.count == 0 && !known.local && !self.only {
            kin.columns.remove(&id);
            put(session, schema.id, &kin)?;
            return self.same(session, below, client);
        }
        known.local |= self.only;
        match known.count {
            0 => drop(kin.columns.remove(&id)),
            _ => drop(kin.columns.insert(id, known)),
        }
        put(session, schema.id, &kin)
    }

    fn drop_rule(
        &self,
        session: &mut Session,
        below: &Parent,
        name: &str,
        client: &mut dyn Client,
    ) -> Result<()> {
        let view = session.view()?;
        let schema = below.table.schema();
        let mut kin = kin_of(&view, schema.id);
        let mut known = kin.rule(name);
        if known.count == 0 {
            return Ok(());
        }
        known.count -= 1;
        if known.count == 0 && !known.local && !self.only {
            kin.rules.remove(name);
            put(session, schema.id, &kin)?;
            return self.same(session, below, client);
        }
        known.local |= self.only;
        match known.count {
            0 => drop(kin.rules.remove(name)),
            _ => drop(kin.rules.insert(name.to_string(), known)),
        }
        put(session, schema.id, &kin)
    }

    fn rename_rule(
        &self,
        session: &mut Session,
        below: &Parent,
        from: &str,
        to: &str,
        client: &mut dyn Client,
    ) -> Result<()> {
        let view = session.view()?;
        let schema = below.table.schema();
        if !schema.checks.iter().any(|check| check.name == from) {
            return Ok(());
        }
        let mut kin = kin_of(&view, schema.id);
        let Some(known) = kin.rules.remove(from) else { return Ok(()) };
        if known.count > self.expected(&kin) {
            return Err(bad(format!("cannot rename inherited constraint \"{from}\"")));
        }
        kin.rules.insert(to.to_string(), known);
        put(session, schema.id, &kin)?;
        self.same(session, below, client)
    }
}

/// An index of a partitioned table is gone, and those of its partitions go with it.
fn drop_parts(session: &mut Session, gone: onlap::IndexId) -> Result<()> {
    let view = session.view()?;
    let families = view.objects.families();
    let parts: Vec<onlap::IndexId> =
        families.indexes().filter(|(_, above)| *above == gone).map(|(index, _)| index).collect();
    for part in parts {
        let tables = view.scope.tx()?.tables();
        let found = tables.iter().find(|table| table.schema().index(part).is_some());
        session.put(Kind::IndexKin, &part.0.to_string(), None)?;
        if view.objects.get(Kind::Unique, &part.0.to_string()).is_some() {
            session.put(Kind::Unique, &part.0.to_string(), None)?;
        }
        let Some(table) = found else { continue };
        let schema = table.schema();
        let Some(index) = schema.index(part) else { continue };
        if index.primary {
            let changes = TableChanges::new().make_secondary(&index.name);
            view.scope.tx()?.alter_table(table, &changes)?;
        }
        view.scope.tx()?.drop_index(table, &index.name)?;
        drop_parts(session, part)?;
    }
    Ok(())
}

/// DROP INDEX of an index of a partitioned table, or of a partition.
///
/// # Errors
/// `2BP01`: it belongs to one of the table above.
pub fn below_index(session: &mut Session, view: &View, table: &Table, index: &str) -> Result<()> {
    let schema = table.schema();
    let Some(found) = schema.index_by_name(index) else { return Ok(()) };
    let families = view.objects.families();
    if let Some(above) = families.index_above(found.id) {
        let tables = view.scope.tx()?.tables();
        let name = tables
            .iter()
            .find_map(|table| table.schema().index(above).map(|index| index.name.clone()));
        let name = name.unwrap_or_default();
        let text = format!("cannot drop index {index} because index {name} requires it");
        return Err(
            SqlError::new(state::IN_USE, text).hint(format!("You can drop index {name} instead."))
        );
    }
    if families.divided(schema.id).is_some() {
        session.catalog_changed()?;
        drop_parts(session, found.id)?;
    }
    Ok(())
}
