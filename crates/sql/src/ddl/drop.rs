//! DROP of tables, indexes, views, sequences and schemas.

use onlap::{LockMode, Table, TableId};
use onlap_pg::ast::{Drop, DropKind};

use super::change::notice;
use super::naming::Relation;
use super::privileges::class_of;
use super::{alter, function, index, materialized, rule, schema, sequence, view as views};
use crate::catalog::functions::Function;
use crate::catalog::rules::Rule;
use crate::catalog::{Kind, Name, oids};
use crate::error::{Result, SqlError, state};
use crate::rights::ask::sequence_key;
use crate::rights::{Action, Class, Key};
use crate::session::Session;
use crate::source::strings;
use crate::view::View;
use crate::wire::Client;

/// What is dropped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Table,
    Index,
    View,
    Materialized,
    Sequence,
    Schema,
}

impl What {
    fn word(self) -> &'static str {
        match self {
            What::Table => "table",
            What::Index => "index",
            What::View => "view",
            What::Materialized => "materialized view",
            What::Sequence => "sequence",
            What::Schema => "schema",
        }
    }
    fn relation(self) -> Option<Relation> {
        Some(match self {
            What::Table | What::Materialized => Relation::Table,
            What::Index => Relation::Index,
            What::View => Relation::View,
            What::Sequence => Relation::Sequence,
            What::Schema => return None,
        })
    }
}

/// DROP.
///
/// # Errors
/// There is none; something depends on it.
pub fn drop(
    session: &mut Session,
    view: &View,
    drop: &Drop,
    client: &mut dyn Client,
) -> Result<String> {
    let what = match drop.kind {
        DropKind::Table => What::Table,
        DropKind::Index => What::Index,
        DropKind::View => What::View,
        DropKind::Sequence => What::Sequence,
        DropKind::Schema => What::Schema,
        DropKind::MaterializedView => What::Materialized,
        DropKind::Type | DropKind::Domain => {
            return super::made::drop(session, view, drop, client);
        }
    };
    let names: Vec<Vec<String>> = drop.names.iter().map(|name| strings(name)).collect();
    if let Some(name) = names.iter().find(|name| name.len() > 3) {
        let text = format!("improper qualified name (too many dotted names): {}", name.join("."));
        return Err(SqlError::new(state::SYNTAX, text));
    }
    if drop.concurrently {
        let refuse = |state, text: &str| Err(SqlError::new(state, text));
        if names.len() > 1 {
            return refuse(
                "0A000",
                "DROP INDEX CONCURRENTLY does not support dropping multiple objects",
            );
        }
        if drop.cascade {
            return refuse("0A000", "DROP INDEX CONCURRENTLY does not support CASCADE");
        }
        if session.is_in_block() {
            let text = "DROP INDEX CONCURRENTLY cannot run inside a transaction block";
            return refuse(state::ACTIVE_TRANSACTION, text);
        }
    }
    // All are looked up before the first goes.
    let mut found = Vec::new();
    for parts in &names {
        match locate(view, what, parts) {
            Err(e) if drop.skip && is_missing(&e) => {
                notice(client, "00000", format!("{}, skipping", e.message()));
            }
            located => found.push(located?),
        }
    }
    carry_out(session, view, what, found, (drop.cascade, drop.concurrently))?;
    Ok(format!("DROP {}", what.word().to_uppercase()))
}

fn is_missing(e: &SqlError) -> bool {
    matches!(e.state(), state::NO_TABLE | state::NO_OBJECT | state::NO_SCHEMA)
}

fn locate(view: &View, what: What, parts: &[String]) -> Result<Name> {
    if what == What::Schema {
        let name = parts.last().cloned().unwrap_or_default();
        return match view.has_schema(&name) {
            true => Ok(Name::new(&name, "")),
            false => Err(crate::view::no_schema(&name)),
        };
    }
    if let [schema, _] = parts
        && !view.has_schema(schema)
    {
        return Err(crate::view::no_schema(schema));
    }
    let missing = || {
        let state = if what == What::Index { state::NO_OBJECT } else { state::NO_TABLE };
        let name = parts.last().map_or("", String::as_str);
        SqlError::new(state, format!("{} \"{name}\" does not exist", what.word()))
    };
    let (name, relation) = alter::relation(view, parts)?.ok_or_else(missing)?;
    let word = match relation {
        Relation::Table => materialized::word(view, &name.engine(&view.database)),
        relation => class_of(relation).word(),
    };
    if word != what.word() {
        let article = |word: &str| if word == "index" { "an" } else { "a" };
        let text = format!("\"{}\" is not {} {}", name.name, article(what.word()), what.word());
        let upper = word.to_uppercase();
        let hint = format!("Use DROP {upper} to remove {} {word}.", article(word));
        return Err(SqlError::new("42809", text).hint(hint));
    }
    Ok(name)
}

fn carry_out(
    session: &mut Session,
    view: &View,
    what: What,
    names: Vec<Name>,
    (cascade, concurrently): (bool, bool),
) -> Result<()> {
    // All are judged before the first goes.
    for name in &names {
        match what.relation() {
            Some(relation) => view.must_own(Action::Drop, name, relation)?,
            None => {
                let key = view.schema_key(&name.schema).unwrap_or(Key::of(0));
                view.must_one(Action::Drop, Class::Schema, key, &name.schema)?;
            }
        }
    }
    match what {
        What::Table | What::Materialized => {
            let own = |name: &Name| view.is_own_temporary(&name.schema);
            session.temporary.is_private = names.iter().all(own);
            let mut found: Vec<Table> = Vec::new();
            for name in &names {
                let table = view.scope.tx()?.table(&name.engine(&view.database))?;
                if !found.iter().any(|t| t.schema().id == table.schema().id) {
                    found.push(table);
                }
            }
            tables(session, view, found, cascade)
        }
        What::Index => {
            names.iter().try_for_each(|name| one_index(session, view, name, concurrently))
        }
        What::View => {
            let engines: Vec<String> = names.iter().map(|n| n.engine(&view.database)).collect();
            engines.iter().try_for_each(|engine| one_view(session, view, engine, &engines, cascade))
        }
        What::Sequence => {
            names.iter().try_for_each(|name| one_sequence(session, view, name, cascade))
        }
        What::Schema => {
            names.iter().try_for_each(|n| schema::drop_one(session, view, &n.schema, cascade))
        }
    }
}

/// A name, with its schema where it would not be found without.
pub fn shown_name(view: &View, name: &Name) -> String {
    match view.path().any(|schema| schema == name.schema) {
        true => name.name.clone(),
        false => format!("{}.{}", name.schema, name.name),
    }
}

fn in_use(view: &View, what: &str, name: &Name, detail: Option<String>) -> SqlError {
    let name = shown_name(view, name);
    let text = format!("cannot drop {what} {name} because other objects depend on it");
    let error = SqlError::new(state::IN_USE, text)
        .hint("Use DROP ... CASCADE to drop the dependent objects too.");
    match detail {
        Some(detail) => error.detail(detail),
        None => error,
    }
}

/// Drops tables with what belongs to them.
///
/// # Errors
/// Others refer to them, and `cascade` is not said.
pub fn tables(
    session: &mut Session,
    view: &View,
    mut tables: Vec<Table>,
    cascade: bool,
) -> Result<()> {
    // A materialized view may have gone with what it reads.
    retain_known(view, &mut tables)?;
    let named: Vec<Name> = tables.iter().map(super::kin::name_of).collect();
    // What goes along with a table is not what the statement names.
    let called = |table: &Name| match named.contains(table) {
        true => table.clone(),
        false => named.first().unwrap_or(table).clone(),
    };
    let mut tables = with_below(session, view, tables, cascade)?;
    for table in &tables {
        index::must_be_unused(view, table, "DROP TABLE")?;
    }
    let ids: Vec<TableId> = tables.iter().map(|t| t.schema().id).collect();
    let all: Vec<String> = tables.iter().map(Table::name).collect();
    let mut broken: Vec<(Table, String)> = Vec::new();
    for other in view.scope.tx()?.tables() {
        let schema = other.schema();
        if ids.contains(&schema.id) {
            continue;
        }
        for key in schema.foreign_keys.iter().filter(|k| ids.contains(&k.parent)) {
            if !cascade {
                let parent = tables.iter().find(|t| t.schema().id == key.parent);
                let parent = parent.map_or(Name::new("", ""), |t| Name::of_engine(&t.name()).1);
                let child = Name::of_engine(&schema.name).1.name;
                let detail = format!(
                    "constraint {} on table {child} depends on table {}",
                    key.name, parent.name
                );
                return Err(in_use(view, "table", &called(&parent), Some(detail)));
            }
            broken.push((other.clone(), key.name.clone()));
        }
    }
    let together: Vec<u32> = ids.iter().map(|id| oids::of_table(*id)).collect();
    for (table, engine) in tables.iter().zip(&all) {
        let oid = oids::of_table(table.schema().id);
        readers_of(session, view, (oid, engine), &all, &called, cascade)?;
        rules_of_others(session, view, ("table", oid), (engine, &together), cascade)?;
        functions_of(session, view, (oid, engine), cascade)?;
    }
    // One may have gone with what stands between it and another.
    retain_known(view, &mut tables)?;
    // Foreign keys between the tables themselves go first too: none outlives its parent.
    for table in &tables {
        for key in &table.schema().foreign_keys {
            if ids.contains(&key.parent) && key.parent != table.schema().id {
                broken.push((table.clone(), key.name.clone()));
            }
        }
    }
    for (table, key) in broken {
        view.scope.tx()?.drop_constraint(&table, &key)?;
    }
    view.scope.await_tables(&tables, LockMode::AccessExclusive)?;
    session.catalog_changed()?;
    for table in &tables {
        let schema = table.schema();
        view.scope.tx()?.drop_table(&table.name())?;
        let owned = sequence::owned_by(view, schema.id, None);
        for name in owned {
            session.put(Kind::Owned, &name, None)?;
            sequence::drop_unused(session, view, &name)?;
        }
        forget_notes(session, view, &schema)?;
        rule::forget(session, view, oids::of_table(schema.id))?;
    }
    Ok(())
}

/// Leaves out those that are gone.
fn retain_known(view: &View, tables: &mut Vec<Table>) -> Result<()> {
    let there = view.scope.tx()?.tables();
    tables.retain(|table| there.iter().any(|known| known.schema().id == table.schema().id));
    Ok(())
}

/// Drops the views that read a table that goes, except those that go with it anyway.
fn readers_of(
    session: &mut Session,
    view: &View,
    (oid, engine): (u32, &str),
    all: &[String],
    called: &dyn Fn(&Name) -> Name,
    cascade: bool,
) -> Result<()> {
    for user in views::users(view, oid).into_iter().filter(|user| !all.contains(user)) {
        if !cascade {
            let (word, table) = (materialized::word(view, engine), Name::of_engine(engine).1);
            let detail = dependents(view, engine, all).join("\n");
            return Err(in_use(view, word, &called(&table), Some(detail)));
        }
        one_view(session, view, &user, all, cascade)?;
    }
    Ok(())
}

/// The views that read a relation, and those that read them, a line each.
fn dependents(view: &View, engine: &str, together: &[String]) -> Vec<String> {
    enum Next {
        Reader(Option<String>, String),
        Line(String),
    }
    let (mut seen, mut lines) = (together.to_vec(), Vec::new());
    // The newest readers are gone through first, each before what it reads, and told last: one that reads several is told
    // with the newest of them.
    let mut open = vec![Next::Reader(None, engine.to_string())];
    while let Some(next) = open.pop() {
        let (on, of) = match next {
            Next::Reader(on, of) => (on, of),
            Next::Line(line) => {
                lines.push(line);
                continue;
            }
        };
        let name = shown_name(view, &Name::of_engine(&of).1);
        let shown = format!("{} {name}", materialized::word(view, &of));
        if let Some(on) = on {
            if seen.contains(&of) {
                continue;
            }
            open.push(Next::Line(format!("{shown} depends on {on}")));
            seen.push(of.clone());
        }
        let Some(oid) = oid_of(view, &of) else { continue };
        let mut users = views::users(view, oid);
        users.sort_by_key(|user| oid_of(view, user));
        open.extend(users.into_iter().map(|user| Next::Reader(Some(shown.clone()), user)));
    }
    lines.reverse();
    lines
}

/// The OID of a table or view, by the engine's form of its name.
fn oid_of(view: &View, engine: &str) -> Option<u32> {
    if let Some(object) = view.objects.get(Kind::View, engine) {
        return Some(oids::of_object(object.number));
    }
    let table = view.scope.tx().ok()?.table(engine).ok()?;
    Some(oids::of_table(table.schema().id))
}

/// Drops rules of other relations that name one that goes; those of tables that go with it, go anyway.
fn rules_of_others(
    session: &mut Session,
    view: &View,
    (what, oid): (&str, u32),
    (engine, together): (&str, &[u32]),
    cascade: bool,
) -> Result<()> {
    let goes = |rule: &Rule<'_>| together.contains(&rule.relation);
    let rules: Vec<Rule<'_>> = rule::users(view, oid).into_iter().filter(|r| !goes(r)).collect();
    if !cascade && !rules.is_empty() {
        let on = rule::shown_relation(view, oid)?;
        let detail = rule::dependents(view, &rules, &on)?;
        return Err(in_use(view, what, &Name::of_engine(engine).1, Some(detail)));
    }
    for rule in rules {
        rule::forget_one(session, view, &rule.key())?;
    }
    Ok(())
}

/// Drops functions that have a parameter or a result of the rows of a relation that goes.
fn functions_of(
    session: &mut Session,
    view: &View,
    (oid, engine): (u32, &str),
    cascade: bool,
) -> Result<()> {
    let row = oids::of_row(oid);
    let arrays = function::with_types(view, &[row + 1]);
    let mut all = function::with_types(view, &[row, row + 1]);
    all.sort_by_key(|of| std::cmp::Reverse(of.oid));
    if !cascade && !all.is_empty() {
        let ty = &Name::of_engine(engine).1.name;
        let line = |of: &std::sync::Arc<Function>| {
            let array = if arrays.iter().any(|with| with.oid == of.oid) { "[]" } else { "" };
            format!("{} {} depends on type {ty}{array}", of.word(), of.shown(view))
        };
        let detail: Vec<String> = all.iter().map(line).collect();
        let (what, name) = (materialized::word(view, engine), Name::of_engine(engine).1);
        return Err(in_use(view, what, &name, Some(detail.join("\n"))));
    }
    all.iter().try_for_each(|of| function::with_users(session, view, of))
}

/// Tables with those that go with them: partitions, and where CASCADE is said all that stand below.
fn with_below(
    session: &mut Session,
    view: &View,
    tables: Vec<Table>,
    cascade: bool,
) -> Result<Vec<Table>> {
    let families = view.objects.families();
    if families.is_empty() {
        return Ok(tables);
    }
    let named: Vec<TableId> = tables.iter().map(|t| t.schema().id).collect();
    let (mut all, mut depend) = (tables, Vec::new());
    let mut at = 0;
    while at < all.len() {
        let table = all[at].clone();
        at += 1;
        let id = table.schema().id;
        for child in super::kin::tables_below(view, id)? {
            let below = child.schema().id;
            if all.iter().any(|known| known.schema().id == below) {
                continue;
            }
            if families.bound(below).is_none() && !cascade {
                let (name, child) = (super::kin::name_of(&table), super::kin::name_of(&child));
                depend.push(format!("table {} depends on table {}", child.name, name.name));
            }
            all.push(child);
        }
    }
    if !depend.is_empty() {
        let detail = depend.join("\n");
        if named.len() == 1 {
            return Err(in_use(view, "table", &super::kin::name_of(&all[0]), Some(detail)));
        }
        let text = "cannot drop desired object(s) because other objects depend on them";
        let hint = "Use DROP ... CASCADE to drop the dependent objects too.";
        return Err(SqlError::new(state::IN_USE, text).detail(detail).hint(hint));
    }
    // What stands above is read without them from now on.
    let dropped: Vec<TableId> = all.iter().map(|t| t.schema().id).collect();
    let tables = crate::query::family::by_id(view)?;
    for id in &dropped {
        for above in families.kin(*id).into_iter().flat_map(|kin| &kin.parents) {
            if let Some(table) = tables.get(above).filter(|_| !dropped.contains(above)) {
                super::kin::take(session, view, table)?;
            }
        }
    }
    Ok(all)
}

/// What only SQL knew of a table.
fn forget_notes(session: &mut Session, view: &View, schema: &onlap::TableSchema) -> Result<()> {
    let columns = format!("{}:", schema.id.0);
    let comments = format!("{}:", oids::of_table(schema.id));
    let oid = oids::of_table(schema.id).to_string();
    let id = schema.id.0.to_string();
    let mut gone: Vec<(Kind, String)> = Vec::new();
    let kinds = [
        Kind::Default,
        Kind::Identity,
        Kind::ColumnType,
        Kind::Comment,
        Kind::Privileges,
        Kind::Unique,
        Kind::Kin,
        Kind::Divided,
        Kind::IndexKin,
        Kind::Materialized,
    ];
    for kind in kinds {
        for (name, _) in view.objects.of_kind(kind) {
            let own = match kind {
                Kind::Default | Kind::Identity | Kind::ColumnType => name.starts_with(&columns),
                Kind::Comment => name.starts_with(&comments),
                Kind::Privileges => name == oid,
                Kind::Kin | Kind::Divided | Kind::Materialized => name == id,
                _ => schema.indexes.iter().any(|i| i.id.0.to_string() == name),
            };
            if own {
                gone.push((kind, name.to_string()));
            }
        }
    }
    gone.into_iter().try_for_each(|(kind, name)| session.put(kind, &name, None))
}

/// Drops a view with those that read it.
///
/// # Errors
/// Others read it, and `cascade` is not said.
pub fn one_view(
    session: &mut Session,
    view: &View,
    engine: &str,
    together: &[String],
    cascade: bool,
) -> Result<()> {
    let Some(object) = view.objects.get(Kind::View, engine) else {
        // It may be a materialized view, which is a table, and may have gone with another.
        let table = view.scope.tx()?.table(engine);
        return match table {
            Ok(table) if materialized::is(view, &table) => {
                tables(session, view, vec![table], cascade)
            }
            _ => Ok(()),
        };
    };
    let oid = oids::of_object(object.number);
    for user in views::users(view, oid) {
        if together.contains(&user) {
            continue;
        }
        if !cascade {
            let detail = dependents(view, engine, together).join("\n");
            return Err(in_use(view, "view", &Name::of_engine(engine).1, Some(detail)));
        }
        one_view(session, view, &user, together, true)?;
    }
    let object = |engine: &String| view.objects.get(Kind::View, engine);
    let goes: Vec<u32> =
        together.iter().filter_map(object).map(|object| oids::of_object(object.number)).collect();
    rules_of_others(session, view, ("view", oid), (engine, &goes), cascade)?;
    functions_of(session, view, (oid, engine), cascade)?;
    rule::forget(session, view, oid)?;
    // Sessions of superusers may read what is temporary elsewhere by such a view.
    session.temporary.is_private = false;
    session.catalog_changed()?;
    session.forget_rights(view, Key::of(oid))?;
    session.put(Kind::View, engine, None)
}

fn one_index(session: &mut Session, view: &View, name: &Name, concurrently: bool) -> Result<()> {
    let parts = [name.schema.clone(), name.name.clone()];
    let Some((table, found)) = index::find(view, &parts)? else {
        return Err(SqlError::new(
            state::NO_OBJECT,
            format!("index \"{}\" does not exist", name.name),
        ));
    };
    let schema = table.schema();
    if view.scope.lent().uses(schema.id) {
        let text = format!(
            "cannot DROP INDEX \"{found}\" because it is being used by active queries in this session"
        );
        return Err(SqlError::new("55006", text));
    }
    let index = schema.index_by_name(&found).expect("was just found");
    let unique = view.objects.get(Kind::Unique, &index.id.0.to_string()).is_some();
    if index.is_primary() || unique {
        let table = Name::of_engine(&table.name()).1.name;
        let text = format!(
            "cannot drop index {found} because constraint {found} on table {table} requires it"
        );
        return Err(SqlError::new(state::IN_USE, text)
            .hint(format!("You can drop constraint {found} on table {table} instead.")));
    }
    if concurrently && view.objects.families().divided(schema.id).is_some() {
        let text = format!("cannot drop partitioned index \"{found}\" concurrently");
        return Err(SqlError::new(state::UNSUPPORTED, text));
    }
    super::kin::below_index(session, view, &table, &found)?;
    match session.is_in_block() || session.current()?.changed {
        true => view.scope.tx()?.drop_index(&table, &found)?,
        false => {
            session.catalog_changes()?;
            return Ok(session.instance.db.drop_index(&table.name(), &found)?);
        }
    }
    session.catalog_changed()
}

/// Drops a sequence; with `cascade` from the columns that it fills.
///
/// # Errors
/// Columns take values from it, and `cascade` is not said.
pub fn one_sequence(session: &mut Session, view: &View, name: &Name, cascade: bool) -> Result<()> {
    let engine = name.engine(&view.database);
    let id = view.scope.tx()?.sequence(&engine)?.schema().id;
    for (table_name, table) in view.tables()? {
        for column in &table.schema().columns {
            if column.default == Some(onlap::ColumnDefault::NextVal(id)) {
                let detail = format!(
                    "default value for column {} of table {} depends on sequence {}",
                    column.name, table_name.name, name.name
                );
                if !cascade {
                    return Err(in_use(view, "sequence", name, Some(detail)));
                }
                session.temporary.is_private &= table_name.is_temporary();
                let changes = onlap::TableChanges::new().drop_default(&column.name);
                view.scope.tx()?.alter_table(&table, &changes)?;
            }
        }
    }
    session.put(Kind::Owned, &engine, None)?;
    session.forget_rights(view, sequence_key(id))?;
    session.catalog_changed()?;
    Ok(view.scope.tx()?.drop_sequence(&engine)?)
}
