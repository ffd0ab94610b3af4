//! What uses a type, and DROP TYPE and DOMAIN.

use std::sync::Arc;

use onlap_pg::ast::{Drop, DropKind, Path, Statement};
use onlap_pg::grammar;

use super::texts::{domain_names, names};
use super::{find, hold, must_own, shown};
use crate::catalog::functions::Function;
use crate::catalog::made_types::{Made, What};
use crate::catalog::names::quote;
use crate::catalog::triggers::{self, Trigger};
use crate::catalog::{Kind, Name, Objects, oids};
use crate::columns::Types;
use crate::ddl::change::{notice, tell_cascades};
use crate::ddl::drop::{self as dropping, shown_name};
use crate::ddl::{RelationKind, function, materialized, rule, trigger};
use crate::deep::Depth;
use crate::error::{Result, SqlError, state};
use crate::session::Session;
use crate::source::{Source, strings};
use crate::view::View;
use crate::wire::Client;

/// What uses a type.
pub enum User {
    /// A column of a table.
    Column(Name, String),
    /// A view, by the engine's form of its name.
    View(String),
    /// A materialized view.
    Materialized(Name),
    /// A field of a composite type.
    Field(Made, String),
    /// A domain over it, or with a text that names it.
    Domain(Made),
    /// A function that has a parameter or a result of it.
    Function(Arc<Function>),
    /// A trigger whose condition names it.
    Trigger(Trigger, String),
    /// What uses such a function, as messages name it.
    OfFunction(String),
}

impl User {
    /// As messages call it.
    pub fn shown(&self, view: &View) -> String {
        match self {
            User::Column(table, column) => {
                format!("column {column} of table {}", shown_name(view, table))
            }
            User::Materialized(name) => format!("materialized view {}", shown_name(view, name)),
            User::View(engine) => format!("view {}", Name::of_engine(engine).1.name),
            User::Field(made, field) => {
                format!("column {field} of composite type {}", shown(view, made))
            }
            User::Domain(made) => format!("type {}", shown(view, made)),
            User::Function(of) => format!("{} {}", of.word(), of.shown(view)),
            User::Trigger(of, on) => format!("trigger {} on {on}", of.name),
            User::OfFunction(shown) => shown.clone(),
        }
    }
}

/// What uses a type, or arrays of it where `oid` is that of arrays: the newest first, of one object the first part.
fn users(view: &View, objects: &Objects, made: Option<&Made>, oid: u32) -> Result<Vec<User>> {
    let mut found: Vec<(u32, User)> = Vec::new();
    for (name, table) in view.tables()? {
        let schema = table.schema();
        let types = Types::of(objects, &schema);
        let has = types.iter().any(|ty| ty.pg.oid == oid);
        if has && materialized::is(view, &table) {
            found.push((oids::of_table(schema.id), User::Materialized(name)));
            continue;
        }
        for (at, _) in types.iter().enumerate().filter(|(_, ty)| ty.pg.oid == oid) {
            let column = schema.columns[at].name.clone();
            found.push((oids::of_table(schema.id), User::Column(name.clone(), column)));
        }
    }
    for (engine, object) in objects.of_kind(Kind::View) {
        let mut columns = object.body["columns"].as_array().into_iter().flatten();
        if columns.any(|column| column["oid"].as_u64() == Some(u64::from(oid))) {
            found.push((oids::of_object(object.number), User::View(engine.to_string())));
        }
    }
    for other in objects.made_types().of_database(&view.database) {
        match &other.what {
            What::Domain(domain) if made.is_none_or(|made| other.oid != made.oid) => {
                let made = made.filter(|made| oid == made.oid);
                let names = made.is_some_and(|made| domain_names(domain, made));
                if domain.base.oid == oid || names {
                    found.push((other.oid, User::Domain(other.clone())));
                }
            }
            What::Composite(of) => {
                let fields = of.fields.iter().filter(|(_, ty)| ty.oid == oid);
                found.extend(
                    fields.map(|(name, _)| (of.relation, User::Field(other.clone(), name.clone()))),
                );
            }
            What::Domain(_) | What::Enum(_) => {}
        }
    }
    for trigger in triggers::all(objects) {
        let Some(made) = made.filter(|made| oid == made.oid) else { break };
        if trigger.when.as_deref().is_some_and(|text| names(text, made)) {
            let on = rule::shown_relation(view, trigger.relation)?;
            found.push((trigger.oid, User::Trigger(trigger, on)));
        }
    }
    let functions = function::with_types(view, &[oid]).into_iter();
    found.extend(functions.map(|of| (of.oid, User::Function(of))));
    found.sort_by_key(|(oid, _)| std::cmp::Reverse(*oid));
    Ok(found.into_iter().map(|(_, user)| user).collect())
}

/// What uses a type that no database made, with what uses domains over it: what uses something comes behind it.
///
/// # Errors
/// The transaction has ended.
pub fn of_type(view: &View, objects: &Objects, oid: u32) -> Result<Vec<User>> {
    let mut found = Vec::new();
    for user in users(view, objects, None, oid)? {
        if let User::Domain(made) = &user {
            let more = dependents(view, objects, made, &mut vec![made.oid])?;
            found.extend(more.into_iter().rev().map(|dependent| dependent.user));
        }
        found.push(user);
    }
    found.reverse();
    Ok(found)
}

/// Something that would go with a type.
struct Dependent {
    user: User,
    /// What it uses, as messages name it.
    of: String,
}

/// What would go with a type, in the order in which PostgreSQL says so: whatever uses something comes behind it, the oldest
/// first. `known` are types that go anyway.
fn dependents(
    view: &View,
    objects: &Objects,
    made: &Made,
    known: &mut Vec<u32>,
) -> Result<Vec<Dependent>> {
    fn collect(
        view: &View,
        objects: &Objects,
        made: &Made,
        known: &mut Vec<u32>,
        found: &mut Vec<Dependent>,
    ) -> Result<()> {
        let shown = shown(view, made);
        let arrays = (made.array, format!("{shown}[]"));
        for (oid, of) in [(made.oid, shown), arrays] {
            for user in users(view, objects, Some(made), oid)? {
                if let User::Domain(other) = &user {
                    if known.contains(&other.oid) {
                        continue;
                    }
                    known.push(other.oid);
                    collect(view, objects, other, known, found)?;
                }
                if matches!(&user, User::Field(other, _) if known.contains(&other.oid)) {
                    continue;
                }
                if let User::Function(function) = &user {
                    if known.contains(&function.oid) {
                        continue;
                    }
                    known.push(function.oid);
                    let others = function::dependents(view, std::slice::from_ref(function))?;
                    for (other, of) in others.into_iter().rev() {
                        let user = User::OfFunction(other.shown(view)?);
                        found.push(Dependent { user, of });
                    }
                }
                found.push(Dependent { user, of: format!("type {of}") });
            }
        }
        Ok(())
    }
    let mut found = Vec::new();
    collect(view, objects, made, known, &mut found)?;
    found.reverse();
    Ok(found)
}

/// Columns whose values have values of a type in them: the table, the column, and whether they are values of the type or of
/// domains over it.
///
/// # Errors
/// The transaction has ended.
pub fn columns_with(view: &View, made: &Made) -> Result<Vec<(Name, String, bool)>> {
    let types = view.objects.made_types();
    let mut found = Vec::new();
    for (name, table) in view.tables()? {
        let schema = table.schema();
        for (at, ty) in Types::of(&view.objects, &schema).iter().enumerate() {
            let domains = std::iter::successors(Some(ty.pg.oid), |oid| {
                types.domain(*oid).map(|domain| domain.base.oid)
            });
            let direct = domains.into_iter().any(|oid| oid == made.oid);
            let mut open = vec![ty.pg.oid];
            let mut within = false;
            while let Some(oid) = open.pop() {
                let Some(of) = types.get(oid) else { continue };
                within |= of.oid == made.oid;
                open.extend(of.what.parts().iter().map(|ty| ty.oid));
            }
            if within {
                found.push((name.clone(), schema.columns[at].name.clone(), direct));
            }
        }
    }
    Ok(found)
}

/// DROP TYPE and DOMAIN.
///
/// # Errors
/// There is none; something uses it.
pub fn drop(
    session: &mut Session,
    view: &View,
    drop: &Drop,
    client: &mut dyn Client,
) -> Result<String> {
    let mut found: Vec<Made> = Vec::new();
    for name in &drop.names {
        match find(view, &strings(name)) {
            Err(e)
                if e.state() == state::NO_OBJECT && is_other(view, name, drop.kind)?.is_some() =>
            {
                return Err(is_other(view, name, drop.kind)?.unwrap_or(e));
            }
            Err(e) if drop.skip && matches!(e.state(), state::NO_OBJECT | state::NO_SCHEMA) => {
                notice(client, "00000", format!("{}, skipping", e.message()));
            }
            made => {
                let made = made?;
                if drop.kind == DropKind::Domain && made.domain().is_none() {
                    let text = format!("\"{}\" is not a domain", name.join("."));
                    return Err(SqlError::new("42809", text));
                }
                found.push(made);
            }
        }
    }
    for made in &found {
        must_own(view, made)?;
        hold(session, view, made)?;
    }
    let mut known: Vec<u32> = found.iter().map(|made| made.oid).collect();
    let mut others = Vec::new();
    for made in &found {
        let more = dependents(view, &view.objects, made, &mut known)?;
        if !drop.cascade && !more.is_empty() {
            return Err(in_use(view, made, &more));
        }
        others.extend(more);
    }
    tell(view, &others, client);
    for other in others {
        cascade(session, view, other.user, client)?;
    }
    session.catalog_changed()?;
    for made in &found {
        session.put(Kind::Type, &made.name.engine(&view.database), None)?;
    }
    Ok(if drop.kind == DropKind::Domain { "DROP DOMAIN" } else { "DROP TYPE" }.into())
}

/// What is wrong with DROP of a type that is the system's, or that of a relation's rows.
fn is_other(view: &View, name: &Path, kind: DropKind) -> Result<Option<SqlError>> {
    let parts = strings(name);
    let system = parts.last().and_then(|name| crate::query::catalog().type_named(name));
    let relation = crate::ddl::alter::relation(view, &parts)?;
    if kind == DropKind::Domain {
        let is_there = system.is_some() || relation.is_some();
        let text = format!("\"{}\" is not a domain", parts.join("."));
        return Ok(is_there.then(|| SqlError::new("42809", text)));
    }
    if let Some(ty) = system {
        let text =
            format!("cannot drop type {} because it is required by the database system", ty.shown);
        return Ok(Some(SqlError::new(state::IN_USE, text)));
    }
    Ok(relation.map(|(name, kind)| {
        let what = if kind == RelationKind::View { "view" } else { "table" };
        let name = name.name;
        let text = format!("cannot drop type {name} because {what} {name} requires it");
        SqlError::new(state::IN_USE, text).hint(format!("You can drop {what} {name} instead."))
    }))
}

fn in_use(view: &View, made: &Made, users: &[Dependent]) -> SqlError {
    let text = format!("cannot drop type {} because other objects depend on it", shown(view, made));
    let line = |one: &Dependent| format!("{} depends on {}", one.user.shown(view), one.of);
    let lines: Vec<String> = users.iter().map(line).collect();
    SqlError::new(state::IN_USE, text)
        .detail(lines.join("\n"))
        .hint("Use DROP ... CASCADE to drop the dependent objects too.")
}

/// Says what goes with a type.
fn tell(view: &View, others: &[Dependent], client: &mut dyn Client) {
    let line = |one: &Dependent| format!("drop cascades to {}", one.user.shown(view));
    let lines: Vec<String> = others.iter().map(line).collect();
    tell_cascades(client, &lines);
}

/// What uses a type that goes, goes too.
///
/// # Errors
/// `0A000`: a view does.
pub fn cascade(
    session: &mut Session,
    view: &View,
    user: User,
    client: &mut dyn Client,
) -> Result<()> {
    match user {
        User::Column(table, column) => {
            let text = format!(
                "ALTER TABLE {}.{} DROP COLUMN {} CASCADE",
                quote(&table.schema),
                quote(&table.name),
                quote(&column)
            );
            let tree = grammar::parse(&text).map_err(|e| crate::query::sql_error(&e, &text))?;
            let source =
                Source { tree: &tree, text: &text, written: &text, depth: Depth::default() };
            if let [one] = &tree.statements[..]
                && let Statement::AlterTable(alter) = &one.statement
            {
                crate::ddl::alter::run(session, view, source, alter, client)?;
            }
            Ok(())
        }
        User::Materialized(name) => {
            dropping::one_view(session, view, &name.engine(&view.database), &[], true)
        }
        User::Domain(made) => {
            hold(session, view, &made)?;
            session.put(Kind::Type, &made.name.engine(&view.database), None)
        }
        User::Field(made, name) => {
            hold(session, view, &made)?;
            // Other fields may have gone with the same statement.
            let objects = view.instance.objects().with(&session.current()?.pending);
            let Some(now) = objects.made_types().get(made.oid) else { return Ok(()) };
            let made = super::composites::without(view, now, &name)?;
            super::put(session, &made)
        }
        User::Function(of) => function::with_users(session, view, &of),
        User::Trigger(of, _) => trigger::forget_one(session, &of),
        // It goes with the function.
        User::OfFunction(_) => Ok(()),
        User::View(_) => {
            let shown = user.shown(view);
            Err(SqlError::unsupported("DROP … CASCADE of a type that this has").detail(shown))
        }
    }
}

/// Drops the types of some roles.
///
/// # Errors
/// Others use one.
pub fn drop_all(session: &mut Session, view: &View, from: &[u32], cascade: bool) -> Result<()> {
    let all = view.objects.made_types().of_database(&view.database);
    let own: Vec<&Made> = all.filter(|made| from.contains(&made.owner)).collect();
    let mut known: Vec<u32> = own.iter().map(|made| made.oid).collect();
    known.extend(function::of_roles(view, from).iter().map(|function| function.oid));
    for made in &own {
        hold(session, view, made)?;
        let others = dependents(view, &view.objects, made, &mut known)?;
        if !others.is_empty() && !cascade {
            return Err(in_use(view, made, &others));
        }
        others.into_iter().try_for_each(|other| let_go(session, view, other.user))?;
    }
    for made in own {
        session.catalog_changed()?;
        session.put(Kind::Type, &made.name.engine(&view.database), None)?;
    }
    Ok(())
}

/// Drops a function or trigger that has a type which goes with others.
///
/// # Errors
/// `0A000`: it is something else.
fn let_go(session: &mut Session, view: &View, user: User) -> Result<()> {
    match user {
        User::Function(of) => function::with_users(session, view, &of),
        User::Trigger(of, _) => trigger::forget_one(session, &of),
        // It goes with the function.
        User::OfFunction(_) => Ok(()),
        other => Err(SqlError::unsupported("DROP … CASCADE of a type that this has")
            .detail(other.shown(view))),
    }
}

/// Drops the types of a schema that goes with all that is in it: its tables, views and functions are gone already.
///
/// # Errors
/// `0A000`: something else has one; those of the catalog.
pub fn drop_in_schema(session: &mut Session, view: &View, schema: &str) -> Result<()> {
    let made = view.objects.made_types().of_database(&view.database);
    let own: Vec<&Made> = made.filter(|made| made.name.schema == schema).collect();
    let objects = view.instance.objects().with(&session.current()?.pending);
    let functions = view.objects.functions().of_database(&view.database);
    let functions = functions.filter(|function| function.name.schema == schema);
    let mut known: Vec<u32> = own.iter().map(|made| made.oid).collect();
    known.extend(functions.map(|function| function.oid));
    for made in &own {
        hold(session, view, made)?;
        let others = dependents(view, &objects, made, &mut known)?;
        others.into_iter().try_for_each(|other| let_go(session, view, other.user))?;
        session.put(Kind::Type, &made.name.engine(&view.database), None)?;
    }
    Ok(())
}
