//! CREATE and DROP VIEW.

use onlap_pg::ast::{CreateView, Lasting, Statement};
use onlap_pg::bound::collation_name;
use onlap_pg::catalog::{Catalog, Kind as TypeKind, oids as types};
use onlap_pg::{Oid, TypeRef};
use serde_json::{Value as Json, json};

use super::change::notice;
use super::naming::{self, Relation};
use super::table::at_name;
use super::temporary::{self, Place};
use crate::catalog::names::quote;
use crate::catalog::view_options::Options;
use crate::catalog::{Kind, Name, bound, frozen, oids};
use crate::error::{Result, SqlError, state};
use crate::parse;
use crate::query::Bound;
use crate::rights::{Action, Class};
use crate::session::Session;
use crate::source::{Source, no_parameters, strings};
use crate::system::definitions;
use crate::types::{PgType, names};
use crate::view::{PG_CATALOG, Relation as Found, View};
use crate::wire::Client;

/// What helps where no collation follows.
pub const CHOOSE_COLLATION: &str = "Use the COLLATE clause to set the collation explicitly.";

/// CREATE VIEW.
///
/// # Errors
/// The name is taken; the query is wrong; a replaced view loses columns.
pub fn create(
    session: &mut Session,
    view: &View,
    source: Source<'_>,
    create: &CreateView,
    client: &mut dyn Client,
) -> Result<&'static str> {
    if create.recursive {
        return recursive(session, view, source, create, client);
    }
    let options = said(create)?;
    let bound = read(view, source, create)?;
    let needs = bound.needs();
    let found: Vec<(String, PgType)> =
        bound.columns().iter().map(|column| (column.name.clone(), column.ty)).collect();
    let columns = column_names(create, &found)?;
    if let Some(name) = bound.undetermined().and_then(|at| columns.get(at)) {
        let text = format!("could not determine which collation to use for view column \"{name}\"");
        return Err(SqlError::new(state::NO_COLLATION, text).hint(CHOOSE_COLLATION));
    }
    for (name, (_, ty)) in columns.iter().zip(&found) {
        no_pseudo_type(name, *ty)?;
    }
    let written = bound::Written { tree: source.tree, query: create.query, text: source.text };
    let text = source.alone(create.span);
    let edits = source.edits_of(create.span, frozen::literals(view, bound.tree().0, &text));
    let (query, mut uses) =
        bound::bind(written, create.span, edits, &mut |parts| stands_for(view, parts));
    bound::keep(view, &uses)?;
    let query = crate::catalog::called::qualified(view, &query, false);
    let catalog = view.objects.made_types().catalog();
    let column = |(at, (name, (_, ty))): (usize, (&String, &(String, PgType)))| {
        let own = catalog.collation(ty.oid);
        let collation = bound.collation(at).filter(|collation| *collation != own);
        ViewColumn { name: name.clone(), ty: *ty, collation }
    };
    let described: Vec<ViewColumn> = columns.iter().zip(&found).enumerate().map(column).collect();
    let place = place(session, view, source, create, &uses, client)?;
    let Place { view, name } = &place;
    let engine = name.engine(&view.database);
    if let Some(old) = view.objects.get(Kind::View, &engine) {
        check_replaced(view, &ViewColumn::all(&old.body), &described)?;
    }
    for used in &mut uses {
        let read = needs.iter().filter(|need| need.by.is_none() && need.key.oid == used.oid);
        used.reads = read.flat_map(|need| need.columns.iter().copied()).collect();
    }
    let described: Vec<_> = described.iter().map(ViewColumn::body).collect();
    let uses: Vec<_> = uses.iter().map(bound::Use::body).collect();
    if options.is_checked()
        && let Err(e) = bound.is_changed_through()
    {
        let text = "WITH CHECK OPTION is supported only on automatically updatable views";
        return Err(SqlError::new(state::UNSUPPORTED, text).hint(e));
    }
    let mut body = json!({ "sql": query, "columns": described, "uses": uses });
    options.put(&mut body);
    session.catalog_changed()?;
    session.put(Kind::View, &engine, Some(body))?;
    // One that is replaced keeps its owner and what was granted on it.
    if view.objects.get(Kind::View, &engine).is_none() {
        let number = session.number_of(Kind::View, &engine)?;
        session.own(view, Class::View, oids::of_object(number), &name.schema)?;
    }
    Ok("CREATE VIEW")
}

/// The query of a new view.
fn read(view: &View, source: Source<'_>, create: &CreateView) -> Result<Bound> {
    let text = source.alone(create.span);
    let bound = Bound::must(view, &text, source.depth, &[]);
    // A parameter whose type cannot be told is none either.
    let bound = bound.map_err(|e| match e.state() {
        "42P18" => no_parameters(&text).err().unwrap_or(e),
        _ => e,
    })?;
    no_parameters(&text)?;
    if bound.changes_rows() {
        let text = "views must not contain data-modifying statements in WITH";
        return Err(SqlError::new(state::UNSUPPORTED, text));
    }
    if bound.reads_sequence() {
        return Err(SqlError::unsupported("a view that reads the row of a sequence"));
    }
    Ok(bound)
}

/// CREATE RECURSIVE VIEW: a view of a query that is WITH RECURSIVE.
fn recursive(
    session: &mut Session,
    view: &View,
    source: Source<'_>,
    said: &CreateView,
    client: &mut dyn Client,
) -> Result<&'static str> {
    let name = quote(said.name.last().map_or("", |name| name));
    let columns: Vec<String> = said.columns.iter().map(|name| quote(name)).collect();
    let columns = columns.join(", ");
    let before =
        format!("CREATE VIEW {name} ({columns}) AS WITH RECURSIVE {name} ({columns}) AS (");
    let text = format!("{before}{}) SELECT {columns} FROM {name}", source.of(said.span));
    let all = parse::statements(&text)?;
    let broken = || SqlError::defect("a recursive view is not what its text says");
    let [parsed] = &all[..] else { return Err(broken()) };
    let inner = Source { tree: &parsed.tree, text: &text, written: &text, depth: parsed.depth };
    let Some(Statement::CreateView(made)) = inner.tree.statements.first().map(|of| &of.statement)
    else {
        return Err(broken());
    };
    let made = CreateView {
        replace: said.replace,
        lasting: said.lasting,
        name: said.name.clone(),
        settings: said.settings.clone(),
        ..(**made).clone()
    };
    let (was, is) = (source.text.get(..said.span.start as usize), before.chars().count());
    let was = was.unwrap_or_default().chars().count();
    let created = create(session, view, inner, &made, client);
    created.map_err(|e| e.moved(|at| if at > is { at - is + was } else { at }))
}

/// What is kept of a view's column.
#[derive(Clone, Debug)]
pub struct ViewColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: PgType,
    /// Its collation, where that is not its type's.
    pub collation: Option<Oid>,
}

impl ViewColumn {
    /// The columns that the row of a view has.
    pub fn all(body: &Json) -> Vec<ViewColumn> {
        body["columns"].as_array().into_iter().flatten().map(ViewColumn::read).collect()
    }

    fn read(body: &Json) -> ViewColumn {
        let said = body["type"].as_str().unwrap_or_default();
        let number = |json: &Json| json.as_u64().and_then(|oid| u32::try_from(oid).ok());
        let plain = said.split('(').next().unwrap_or(said).trim();
        let oid = number(&body["oid"]).or_else(|| names::by_name(plain)).unwrap_or(types::TEXT);
        let modifier = body["of"].as_i64().and_then(|of| i32::try_from(of).ok()).unwrap_or(-1);
        ViewColumn {
            name: body["name"].as_str().unwrap_or_default().to_string(),
            ty: PgType { oid, modifier },
            collation: number(&body["collation"]),
        }
    }

    fn body(&self) -> Json {
        let ty = self.ty;
        let mut body = json!({
            "name": self.name, "type": names::format_type(ty), "oid": ty.oid, "of": ty.modifier,
        });
        if let Some(collation) = self.collation {
            body["collation"] = collation.into();
        }
        body
    }

    fn collation_in(&self, catalog: &Catalog) -> Oid {
        self.collation.unwrap_or_else(|| catalog.collation(self.ty.oid))
    }
}

/// Fails where a column's type is one that no relation has.
///
/// # Errors
/// `42P16`.
pub fn no_pseudo_type(name: &str, ty: PgType) -> Result<()> {
    let catalog = crate::query::catalog();
    if catalog.get_type(ty.oid).is_none_or(|found| found.kind != TypeKind::Pseudo) {
        return Ok(());
    }
    let shown = catalog.shown(ty.oid);
    Err(SqlError::new(state::BAD_DEFINITION, format!("column \"{name}\" has pseudo-type {shown}")))
}

/// Where the view goes, if the name is free or the view that has it may be replaced. One that reads what is temporary is
/// temporary itself.
fn place(
    session: &mut Session,
    view: &View,
    source: Source<'_>,
    create: &CreateView,
    uses: &[bound::Use],
    client: &mut dyn Client,
) -> Result<Place> {
    let mut lasting = create.lasting;
    let is_temporary = |used: &bound::Use| Name::of_engine(&used.name).1.is_temporary();
    let becomes = lasting != Lasting::Temporary && uses.iter().any(is_temporary);
    if becomes {
        lasting = Lasting::Temporary;
        let name = create.name.last().map_or("", |name| name);
        notice(client, "00000", format!("view \"{name}\" will be a temporary view"));
    }
    let place = temporary::place_of_relation(session, view, &strings(&create.name), lasting);
    // PostgreSQL has no place where it was not said.
    let place = place.map_err(|e| if becomes { e } else { at_name(source, e, create.place) })?;
    match naming::claim(&place.view, &place.name)? {
        None => naming::check_no_type(&place.view, &place.name)?,
        Some(Relation::View) if create.replace => {
            place.view.must_own(Action::Alter, &place.name, Relation::View)?;
            session.temporary.is_private = false;
        }
        Some(_) if create.replace => {
            let text = format!("\"{}\" is not a view", place.name.name);
            return Err(SqlError::new("42809", text));
        }
        Some(_) => return Err(naming::taken(&place.name.name)),
    }
    Ok(place)
}

/// The names of a view's columns: those that were written first.
fn column_names(create: &CreateView, found: &[(String, PgType)]) -> Result<Vec<String>> {
    if create.columns.len() > found.len() {
        let text = "CREATE VIEW specifies more column names than columns";
        return Err(SqlError::new(state::SYNTAX, text));
    }
    let named = create.columns.iter().map(|name| name.to_string());
    let own = found.iter().skip(create.columns.len()).map(|(name, _)| name.clone());
    let columns: Vec<String> = named.chain(own).collect();
    for (i, column) in columns.iter().enumerate() {
        if columns[..i].contains(column) {
            let text = format!("column \"{column}\" specified more than once");
            return Err(SqlError::new("42701", text));
        }
    }
    Ok(columns)
}

/// What is said of a view; fails with what Onlap does not have.
fn said(create: &CreateView) -> Result<Options> {
    if create.lasting == Lasting::Unlogged {
        let text = "views cannot be unlogged because they do not have storage";
        return Err(SqlError::new(state::SYNTAX, text));
    }
    Options::of(&create.settings, create.checked)
}

/// What a name in a view's query stands for; `None` for one of the system.
pub(super) fn stands_for(view: &View, parts: &[String]) -> Option<bound::Use> {
    let found = match (view.find_before_system(parts).ok()?, parts) {
        (Some(found), _) => found,
        (None, [name]) if definitions::find(PG_CATALOG, name).is_some() => return None,
        _ => view.find(parts).ok()??,
    };
    match found {
        Found::Table(_, table) => Some(bound::Use::of_table(&table)),
        Found::View(name) => {
            let engine = name.engine(&view.database);
            view.objects.get(Kind::View, &engine).map(|o| bound::Use::of_view(&engine, o))
        }
    }
}

fn check_replaced(view: &View, before: &[ViewColumn], columns: &[ViewColumn]) -> Result<()> {
    let fail = |text: String| SqlError::new(state::BAD_DEFINITION, text);
    if columns.len() < before.len() {
        return Err(fail("cannot drop columns from view".into()));
    }
    let catalog = view.objects.made_types().catalog();
    for (old, new) in before.iter().zip(columns) {
        let name = &old.name;
        if *name != new.name {
            let text = format!("cannot change name of view column \"{name}\" to \"{}\"", new.name);
            let hint =
                "Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead.";
            return Err(fail(text).hint(hint));
        }
        let what = format!("of view column \"{name}\" from");
        if old.ty != new.ty {
            let shown =
                |ty: PgType| catalog.shown_with(TypeRef { oid: ty.oid, modifier: ty.modifier });
            let (old, new) = (shown(old.ty), shown(new.ty));
            return Err(fail(format!("cannot change data type {what} {old} to {new}")));
        }
        let (old, new) = (old.collation_in(catalog), new.collation_in(catalog));
        if old != new {
            let (old, new) = (collation_name(old), collation_name(new));
            return Err(fail(format!("cannot change collation {what} \"{old}\" to \"{new}\"")));
        }
    }
    Ok(())
}

/// Views and materialized views that read a table or view, by the engine's form of their names.
pub fn users(view: &View, oid: u32) -> Vec<String> {
    readers(view, &|body| bound::use_of(body, oid).is_some())
}

/// Those that read a column of a table, by its number from 1.
pub fn users_of_column(view: &View, oid: u32, column: u32) -> Vec<String> {
    let reads = |body: &serde_json::Value| {
        bound::use_of(body, oid).is_some_and(|used| used.reads.contains(&column))
    };
    readers(view, &reads)
}

/// In the order in which they were made, as far as numbers tell.
fn readers(view: &View, reads: &dyn Fn(&serde_json::Value) -> bool) -> Vec<String> {
    let all = view.objects.of_kind(Kind::View).filter(|(_, object)| reads(&object.body));
    let mut found: Vec<(u32, String)> =
        all.map(|(name, object)| (oids::of_object(object.number), name.to_string())).collect();
    let all = view.objects.of_kind(Kind::Materialized);
    let ids: Vec<&str> = all.filter(|(_, o)| reads(&o.body)).map(|(id, _)| id).collect();
    if !ids.is_empty()
        && let Ok(tx) = view.scope.tx()
    {
        let tables = tx.tables();
        let of = |table: &&onlap::Table| ids.contains(&&*table.schema().id.0.to_string());
        let named = |table: &onlap::Table| (oids::of_table(table.schema().id), table.name());
        found.extend(tables.iter().filter(of).map(named));
    }
    found.sort();
    found.into_iter().map(|(_, name)| name).collect()
}
