//! How does it go?
//!
//! Kind after kind: what hangs on relations, views, parts of tables, tables, and what these were made with. Nothing is asked any
//! more about what depends on it; each takes only its own notes along.

use std::collections::HashMap;
use std::sync::Arc;

use onlap::{ColumnDefault, ColumnId, LockMode, Table, TableChanges, TableId, TableSchema};
use onlap_pg::ast::{TableChange, Tree};

use super::Object;
use super::members::must_be;
use crate::catalog::made_types::What;
use crate::catalog::{Kind, Name, oids, policies, rules, triggers};
use crate::columns::Types;
use crate::ddl::{
    alter, defaults, extension, function, index, kin, made, policy, rule, schema, sequence,
    storage, trigger,
};
use crate::deep::Depth;
use crate::error::{Result, SqlError};
use crate::rights::Key;
use crate::session::Session;
use crate::session::lent::Told;
use crate::source::Source;
use crate::view::View;

/// The statement's view with what it has changed so far.
fn now(session: &mut Session, view: &View) -> Result<View> {
    let objects = view.instance.objects().with(&session.current()?.pending);
    Ok(View { objects: Arc::new(objects), ..view.clone() })
}

/// Where tables and views are found by their numbers.
struct Known<'a> {
    view: &'a View,
    tables: HashMap<TableId, Name>,
    /// The engine's forms of the names of views.
    views: HashMap<u32, &'a str>,
}

impl<'a> Known<'a> {
    fn of(view: &'a View) -> Result<Known<'a>> {
        let tables = view.tables()?.into_iter().map(|(name, table)| (table.schema().id, name));
        let views = view.objects.of_kind(Kind::View);
        let views = views.map(|(engine, of)| (oids::of_object(of.number), engine));
        Ok(Known { view, tables: tables.collect(), views: views.collect() })
    }

    /// A table as it is now; `None` where it has gone.
    fn table(&self, id: TableId) -> Result<Option<(&Name, Table)>> {
        let Some(name) = self.tables.get(&id) else { return Ok(None) };
        let table = self.view.scope.tx()?.table(&name.engine(&self.view.database));
        let is = |table: &Table| table.schema().id == id;
        Ok(table.ok().filter(is).map(|table| (name, table)))
    }
}

/// Drops all of it.
///
/// # Errors
/// `0A000`: something has what goes in a way that is not known; those of the engine.
pub fn out(session: &mut Session, view: &View, all: Vec<Object>) -> Result<()> {
    if all.is_empty() {
        return Ok(());
    }
    let view = &now(session, view)?;
    let known = Known::of(view)?;
    let mut tables: Vec<Table> = Vec::new();
    for object in &all {
        if let Object::Table(id) = object {
            tables.extend(known.table(*id)?.map(|(_, table)| table));
        }
    }
    for table in &tables {
        index::must_be_unused(view, table, "DROP TABLE")?;
    }
    must_leave_views(view, &all)?;
    session.catalog_changed()?;
    for object in &all {
        hanging(session, &known, object)?;
    }
    for object in &all {
        view_of(session, &known, object)?;
    }
    parts(session, &known, &all)?;
    forget_tables(session, view, &tables)?;
    for object in &all {
        last(session, &known, object)?;
    }
    for object in &all {
        if let Object::Schema(name) = object {
            schema::forget(session, view, name)?;
        }
    }
    Ok(())
}

/// Fails where a view that stays has columns of a type that goes.
fn must_leave_views(view: &View, all: &[Object]) -> Result<()> {
    let goes = |oid: u64| {
        let types = view.objects.made_types();
        let is = |made: u32| all.contains(&Object::Type(made));
        u32::try_from(oid).ok().and_then(|oid| types.get(oid)).is_some_and(|made| is(made.oid))
    };
    if !all.iter().any(|object| matches!(object, Object::Type(_))) {
        return Ok(());
    }
    for (engine, object) in view.objects.of_kind(Kind::View) {
        let (database, name) = Name::of_engine(engine);
        let mut columns = object.body["columns"].as_array().into_iter().flatten();
        let has = columns.any(|column| column["oid"].as_u64().is_some_and(goes));
        let stays = !all.contains(&Object::View(oids::of_object(object.number)));
        if database == view.database && has && stays {
            return Err(SqlError::unsupported("DROP … CASCADE of a type that this has")
                .detail(format!("view {}", name.name)));
        }
    }
    Ok(())
}

/// What hangs on tables, views and domains.
fn hanging(session: &mut Session, known: &Known<'_>, object: &Object) -> Result<()> {
    let view = known.view;
    match object {
        Object::Rule(of, name) => rule::forget_one(session, view, &rules::key(*of, name)),
        Object::Trigger(of, name) => {
            let all = triggers::of_relation(&view.objects, *of);
            let mut own = all.iter().filter(|trigger| trigger.name == *name);
            own.try_for_each(|trigger| trigger::forget_one(session, trigger))
        }
        Object::Policy(of, name) => {
            let all = policies::of_relation(&view.objects, *of);
            let mut own = all.iter().filter(|policy| policy.name == name);
            own.try_for_each(|policy| policy::forget_one(session, policy))
        }
        Object::Default(table, column) => default(session, known, (*table, *column)),
        Object::Field(..) | Object::Check(..) => part_of_type(session, view, object),
        _ => Ok(()),
    }
}

fn default(
    session: &mut Session,
    known: &Known<'_>,
    (table, column): (TableId, ColumnId),
) -> Result<()> {
    let (view, key) = (known.view, defaults::key(table, column));
    if view.objects.get(Kind::Default, &key).is_some() {
        return session.put(Kind::Default, &key, None);
    }
    let Some((name, table)) = known.table(table)? else { return Ok(()) };
    let schema = table.schema();
    let Some(at) = schema.position(column) else { return Ok(()) };
    let of = &schema.columns[at];
    if matches!(of.default, Some(ColumnDefault::NextVal(_))) {
        session.temporary.is_private &= name.is_temporary();
        let changes = TableChanges::new().drop_default(&of.name);
        view.scope.tx()?.alter_table(&table, &changes)?;
    }
    Ok(())
}

/// Takes a field or a condition from a type.
fn part_of_type(session: &mut Session, view: &View, object: &Object) -> Result<()> {
    let (Object::Field(oid, name) | Object::Check(oid, name)) = object else { return Ok(()) };
    // Others may have gone with the same statement.
    let view = &now(session, view)?;
    let Some(of) = view.objects.made_types().get(*oid) else { return Ok(()) };
    made::hold(session, view, of)?;
    let mut changed = of.clone();
    match &mut changed.what {
        What::Domain(domain) => domain.checks.retain(|check| check.name != *name),
        _ => changed = made::without_field(view, of, name)?,
    }
    made::put(session, &changed)
}

fn view_of(session: &mut Session, known: &Known<'_>, object: &Object) -> Result<()> {
    let (view, Object::View(oid)) = (known.view, object) else { return Ok(()) };
    let Some(engine) = known.views.get(oid) else { return Ok(()) };
    rule::forget(session, view, *oid)?;
    let prefix = format!("{oid}:");
    let comments = view.objects.named_from(Kind::Comment, &prefix);
    for (key, _) in comments.take_while(|(key, _)| key.starts_with(&prefix)) {
        session.put(Kind::Comment, key, None)?;
    }
    // Sessions of superusers may read what is temporary elsewhere by such a view.
    session.temporary.is_private = false;
    session.forget_rights(view, Key::of(*oid))?;
    session.put(Kind::View, engine, None)
}

/// Foreign keys, indexes and columns of tables that stay.
fn parts(session: &mut Session, known: &Known<'_>, all: &[Object]) -> Result<()> {
    let view = known.view;
    let is_column = |object: &&Object| matches!(object, Object::Column(..));
    let (mut columns, others): (Vec<_>, Vec<_>) = all.iter().partition(is_column);
    // What tables below have inherited goes with the column above.
    let families = view.objects.families();
    columns.sort_by_cached_key(|object| match object {
        Object::Column(id, _) => families.ancestors(*id).len(),
        _ => 0,
    });
    for object in others.into_iter().chain(columns) {
        let id = match object {
            Object::Key(id, _)
            | Object::Constraint(id, _)
            | Object::Index(id, _)
            | Object::Column(id, _) => *id,
            _ => continue,
        };
        let Some((name, table)) = known.table(id)? else { continue };
        session.temporary.is_private &= name.is_temporary();
        match object {
            Object::Key(_, key) | Object::Constraint(_, key) => {
                view.scope.tx()?.drop_constraint(&table, key)?;
            }
            Object::Index(_, index) => {
                index::must_be_unused(view, &table, "DROP INDEX")?;
                view.scope.await_tables(std::slice::from_ref(&table), LockMode::AccessExclusive)?;
                storage::forget_index(session, view, &table.schema(), index)?;
                view.scope.tx()?.drop_index(&table, index)?;
            }
            Object::Column(_, column) => {
                let schema = table.schema();
                if let Some(at) = schema.position(*column) {
                    column_of(session, (name, &table), &schema.columns[at].name)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Drops a column of a table whose owner is not asked; what depends on it has gone.
fn column_of(session: &mut Session, of: (&Name, &Table), column: &str) -> Result<()> {
    let view = session.view()?;
    let view = &View { judge: view.judge.of(oids::POSTGRES), ..view };
    view.scope.tx()?.await_form(of.1)?;
    index::must_be_unused(view, of.1, "ALTER TABLE")?;
    let change = TableChange::DropColumn(false, column.into(), true);
    let tree = Tree::default();
    let source = Source { tree: &tree, text: "", written: "", depth: Depth::default() };
    let told = &mut Told::new(view);
    match kin::reaches(view, of.1, std::slice::from_ref(&change)) {
        true => kin::below_alter(session, source, (of.0, false), &change, told),
        false => alter::one(session, view, source, of, &change, told),
    }
}

/// Drops tables with what belongs to them; nothing else refers to them any more.
///
/// # Errors
/// Those of the engine.
pub fn forget_tables(session: &mut Session, view: &View, tables: &[Table]) -> Result<()> {
    if tables.is_empty() {
        return Ok(());
    }
    let ids: Vec<TableId> = tables.iter().map(|table| table.schema().id).collect();
    leave_parents(session, view, &ids)?;
    // Foreign keys between the tables themselves go first too: none outlives its parent.
    for table in tables {
        for key in &table.schema().foreign_keys {
            if ids.contains(&key.parent) && key.parent != table.schema().id {
                view.scope.tx()?.drop_constraint(table, &key.name)?;
            }
        }
    }
    view.scope.await_tables(tables, LockMode::AccessExclusive)?;
    session.catalog_changed()?;
    for table in tables {
        let schema = table.schema();
        view.scope.tx()?.drop_seen_table(table)?;
        for name in sequence::owned_by(view, schema.id, None) {
            session.put(Kind::Owned, &name, None)?;
            sequence::drop_unused(session, view, &name)?;
        }
        forget_notes(session, view, &schema)?;
        rule::forget(session, view, oids::of_table(schema.id))?;
    }
    Ok(())
}

/// What stands above is read without them from now on.
fn leave_parents(session: &mut Session, view: &View, gone: &[TableId]) -> Result<()> {
    let families = view.objects.families();
    if families.is_empty() {
        return Ok(());
    }
    let tables = crate::query::family::by_id(view)?;
    for id in gone {
        for above in families.kin(*id).into_iter().flat_map(|kin| &kin.parents) {
            if let Some(table) = tables.get(above).filter(|_| !gone.contains(above)) {
                kin::take(session, view, table)?;
            }
        }
    }
    Ok(())
}

/// What only SQL knew of a table.
fn forget_notes(session: &mut Session, view: &View, schema: &TableSchema) -> Result<()> {
    let id = schema.id.0.to_string();
    let oid = oids::of_table(schema.id).to_string();
    let own: Vec<String> =
        schema.indexes.iter().map(|index| oids::of_index(index.id).to_string()).collect();
    let mut gone: Vec<(Kind, String)> = Vec::new();
    let of_columns = [
        (Kind::Default, &id),
        (Kind::Identity, &id),
        (Kind::ColumnType, &id),
        (Kind::Comment, &oid),
    ];
    for (kind, of) in of_columns {
        let prefix = format!("{of}:");
        let own = view.objects.named_from(kind, &prefix);
        let own = own.take_while(|(name, _)| name.starts_with(&prefix));
        gone.extend(own.map(|(name, _)| (kind, name.to_string())));
    }
    let whole = [
        (Kind::Privileges, &oid),
        (Kind::Kin, &id),
        (Kind::Divided, &id),
        (Kind::Materialized, &id),
    ];
    let indexes: Vec<String> = schema.indexes.iter().map(|index| index.id.0.to_string()).collect();
    let of_indexes = indexes.iter().flat_map(|id| [(Kind::Unique, id), (Kind::IndexKin, id)]);
    let stored = own.iter().chain([&oid]).map(|oid| (Kind::Storage, oid));
    let there = whole.into_iter().chain(of_indexes).chain(stored);
    let there = there.filter(|(kind, name)| view.objects.get(*kind, name).is_some());
    gone.extend(there.map(|(kind, name)| (kind, name.clone())));
    gone.into_iter().try_for_each(|(kind, name)| session.put(kind, &name, None))
}

/// Sequences, functions, types and extensions.
fn last(session: &mut Session, known: &Known<'_>, object: &Object) -> Result<()> {
    let view = known.view;
    match object {
        Object::Sequence(engine) => {
            let Ok(sequence) = view.scope.tx()?.sequence(engine) else { return Ok(()) };
            let id = sequence.schema().id;
            // The column that it belongs to may go after it.
            if let Some((table, column)) = sequence::owner(view, engine)
                && let Some((_, table)) = known.table(table)?
                && let Some(at) = table.schema().position(column)
                && table.schema().columns[at].default == Some(ColumnDefault::NextVal(id))
            {
                let changes = TableChanges::new().drop_default(&table.schema().columns[at].name);
                view.scope.tx()?.alter_table(&table, &changes)?;
            }
            session.put(Kind::Owned, engine, None)?;
            session.forget_rights(view, crate::rights::ask::sequence_key(id))?;
            session.catalog_changed()?;
            Ok(view.scope.tx()?.drop_sequence(engine)?)
        }
        Object::Function(oid) => match view.objects.functions().by_oid(*oid) {
            Some(function) => function::forget(session, view, function),
            None => Ok(()),
        },
        Object::Type(oid) => {
            let Some(of) = view.objects.made_types().get(*oid) else { return Ok(()) };
            must_be_no_columns(view, of.oid, of.array)?;
            made::hold(session, view, of)?;
            session.put(Kind::Comment, &format!("{oid}:0"), None)?;
            session.put(Kind::Type, &of.name.engine(&view.database), None)
        }
        Object::Extension(name) => {
            extension::hold(session, view, name)?;
            extension::forget(session, view, &must_be(view, name)?)
        }
        _ => Ok(()),
    }
}

/// Fails where a column has a type that goes: it was made while the statement was under way.
fn must_be_no_columns(view: &View, oid: u32, array: u32) -> Result<()> {
    for (_, table) in view.tables()? {
        let schema = table.schema();
        let types = Types::of(&view.objects, &schema);
        if types.iter().any(|ty| ty.pg.oid == oid || ty.pg.oid == array) {
            return Err(SqlError::concurrent_update());
        }
    }
    Ok(())
}
