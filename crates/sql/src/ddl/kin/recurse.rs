//! Which changes of a table reach the tables below it?
//!
//! A change is made at the table that the statement names, and then at each below it that has what is changed from it alone;
//! one that has it from elsewhere too, or of its own, only forgets where it came from. What a table has from above is changed
//! there and not here.

use onlap::{Table, TableChanges, TableId, TableSchema};
use onlap_pg::ast::{ColumnChange, ColumnRule, Constraint, TableChange, TableRule};

use super::super::alter::{self, Step};
use super::super::change::notice;
use super::super::checks;
use super::super::naming::Relation;
use super::attach::{attach, detach, inherit, leave};
use super::columns::{checks_of, inherited_by};
use super::keys::must_cover;
use super::parts::{complete, index_below};
use super::{FROM_ONE, Parent, kin_of, name_of, put, tables_below};
use crate::catalog::families::{Inherited, Key, Kin};
use crate::catalog::{Kind, Name};
use crate::columns::Types;
use crate::error::{Result, SqlError, state};
use crate::rights::Action;
use crate::session::Session;
use crate::source::{Source, strings};
use crate::view::View;
use crate::wire::Client;

fn bad(text: impl Into<String>) -> SqlError {
    SqlError::new(state::BAD_DEFINITION, text)
}

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
    alter::one(session, &view, source, (name, &table), change, client)?;
    if matches!(change, TableChange::Rename(_) | TableChange::Schema(_)) {
        return Ok(());
    }
    let mut tree = view.objects.families().all_below(before.id);
    tree.push(before.id);
    let changed = Changed { before: &before, change, only, source, tree: &tree };
    changed.reach_below(session, &own, client)
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
    let find = |name: &str| schema.position_by_name(name).map(|at| types[at]);
    let condition = checks::condition(view, source, said, &find)?;
    let own = checks_of(view, &schema);
    if !own.iter().any(|(known, of)| **known == **name && *of == condition) {
        return Ok(false);
    }
    kin.rules.insert(name.to_string(), Inherited { local: true, ..rule });
    put(session, schema.id, &kin)?;
    let text = format!("merging constraint \"{name}\" with inherited definition");
    notice(client, "00000", text);
    Ok(true)
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
    let no_only = |text: &str| Err(bad(text).hint("Do not specify the ONLY keyword."));
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
            refuse_key(view, own, name, "drop")?;
            match only && is_divided {
                true => no_only(
                    "cannot drop column from only the partitioned table when partitions exist",
                ),
                false => Ok(()),
            }
        }
        TableChange::RenameColumn(name, _) => {
            if came(name) == Some(true) {
                return Err(bad(format!("cannot rename inherited column \"{name}\"")));
            }
            refuse_named(view, own, name)?;
            match only {
                true => Err(bad(format!(
                    "inherited column \"{name}\" must be renamed in child tables too"
                ))),
                false => Ok(()),
            }
        }
        TableChange::Column(name, change) => {
            column_change(view, own, name, change, only && is_divided, only)
        }
        TableChange::AddConstraint(constraint) => match &constraint.rule {
            TableRule::Check(_) if only && !constraint.judged.no_inherit => {
                Err(bad("constraint must be added to child tables too"))
            }
            TableRule::Check(_) if is_divided && constraint.judged.no_inherit => {
                let table = &own.name.name;
                let text =
                    format!("cannot add NO INHERIT constraint to partitioned table \"{table}\"");
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
            TableRule::UniqueIndex(_) | TableRule::PrimaryIndex(_) if is_divided => {
                let text = "ALTER TABLE / ADD CONSTRAINT USING INDEX is not supported on \
                            partitioned tables";
                Err(SqlError::new(state::UNSUPPORTED, text))
            }
            _ => Ok(()),
        },
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
            match only && is_check && !kin.alone.contains(&**name) {
                true => Err(bad(format!(
                    "inherited constraint \"{name}\" must be renamed in child tables too"
                ))),
                false => Ok(()),
            }
        }
        _ => Ok(()),
    }
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

/// Fails where a column is what the table's rows, or those of a table below it, are divided by.
fn refuse_key(view: &View, own: &Parent, name: &str, verb: &str) -> Result<()> {
    let mut tables = vec![own.table.clone()];
    tables.extend(super::all_below(view, own.table.schema().id)?);
    for table in tables {
        let schema = table.schema();
        let Some(divided) = view.objects.families().divided(schema.id) else { continue };
        let id = schema.position_by_name(name).map(|at| schema.columns[at].id);
        let has = divided.keys.iter().any(|key| match key {
            Key::Column(column) => Some(*column) == id,
            Key::Expr(sql, _) => names_column(sql, name),
        });
        if !has {
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

/// Whether a text may name a column: it has the word.
fn names_column(sql: &str, name: &str) -> bool {
    let mut words = sql.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'));
    words.any(|word| word.eq_ignore_ascii_case(name))
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
                | ColumnChange::Type(..)
                    if !self.only =>
                {
                    self.same(session, below, client)
                }
                _ => Ok(()),
            },
            TableChange::AddConstraint(_) => self.add_checks(session, above, below, client),
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

    /// The same change, and so on below.
    fn same(&self, session: &mut Session, below: &Parent, client: &mut dyn Client) -> Result<()> {
        let view = session.view()?;
        let before = below.table.schema();
        let of = (&below.name, &below.table);
        alter::one(session, &view, self.source, of, self.change, client)?;
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
            let own = Types::of(&view.objects, &schema)[place];
            if own != types[at] {
                let text = format!(
                    "child table \"{}\" has different type for column \"{name}\"",
                    below.name.name
                );
                return Err(SqlError::new(state::MISMATCH, text));
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
        alter::add_declared(session, &view, self.source, (&below.name, &below.table), &column)?;
        let table = view.scope.tx()?.table(&below.table.name())?;
        let now = table.schema();
        let place = now.position_by_name(name);
        let place =
            place.ok_or_else(|| SqlError::new("XX000", "a column was added and is not there"))?;
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
        let new: Vec<_> =
            checks_of(&view, above).into_iter().filter(|(name, _)| is_new(name)).collect();
        if new.is_empty() {
            return Ok(());
        }
        let before = below.table.schema();
        let mut kin = kin_of(&view, before.id);
        let own = checks_of(&view, &before);
        for (name, condition) in new {
            if kin.alone.contains(&name) {
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
                    let step = Step::AddCheck(name.clone(), condition);
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
