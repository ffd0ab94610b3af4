//! Materialized views.
//!
//! A materialized view is a table of the engine and a query beside it, kept by the table's number with its names bound as
//! those of a view are. Nothing but CREATE and REFRESH writes its rows. REFRESH takes all rows away and brings the query's, in
//! the statement's transaction: readers go on reading what was there until the commit, whether it is CONCURRENTLY or not, and one
//! REFRESH waits for another. The query runs with the rights of the view's owner.

use onlap::{Predicate, Table, TableSpec};
use onlap_pg::ast::{CreateTableAs, Lasting, Path};
use serde_json::json;

use super::query::declared_of;
use super::table::{Making, at_name, is_free, refuse_kept, with_options};
use super::temporary::{self, Place};
use super::{kin, naming, storage, view as views};
use crate::catalog::objects::Object;
use crate::catalog::{Kind, Name, bound, frozen, oids};
use crate::change;
use crate::error::{Result, SqlError, state};
use crate::plan::TableHandle;
use crate::query::Bound;
use crate::rights::{Action, Key, Need};
use crate::session::Session;
use crate::source::{Source, strings};
use crate::view::{Relation, View, no_table};
use crate::wire::Client;

const TAG: &str = "CREATE MATERIALIZED VIEW";

/// Whether a table is a materialized view.
pub fn is(view: &View, table: &Table) -> bool {
    populated(view, table).is_some()
}

/// Whether a materialized view may be read; `None` for other tables.
pub fn populated(view: &View, table: &Table) -> Option<bool> {
    view.judge.rights().materialized(oids::of_table(table.schema().id))
}

/// The materialized view of a table.
pub fn object(view: &View, id: onlap::TableId) -> Option<&Object> {
    view.objects.get(Kind::Materialized, &id.0.to_string())
}

/// What a table or view is called in messages, by the engine's form of its name.
pub fn word(view: &View, engine: &str) -> &'static str {
    if view.objects.get(Kind::View, engine).is_some() {
        return "view";
    }
    let table = view.scope.tx().ok().and_then(|tx| tx.table(engine).ok());
    match table.is_some_and(|table| is(view, &table)) {
        true => "materialized view",
        false => "table",
    }
}

/// Fails for a materialized view where a table is meant.
///
/// # Errors
/// `42809`.
pub fn must_be_none(view: &View, name: &Name, table: &Table) -> Result<()> {
    match is(view, table) {
        true => Err(SqlError::new("42809", format!("\"{}\" is not a table", name.name))),
        false => Ok(()),
    }
}

/// Fails for a materialized view that a foreign key would refer to.
///
/// # Errors
/// `42809`.
pub fn check_reference(view: &View, name: &Name, table: &Table) -> Result<()> {
    match is(view, table) {
        true => {
            let text = format!("referenced relation \"{}\" is not a table", name.name);
            Err(SqlError::new("42809", text))
        }
        false => Ok(()),
    }
}

/// CREATE MATERIALIZED VIEW; the tag.
///
/// # Errors
/// Those of the query; what it may not read.
pub fn create(
    session: &mut Session,
    view: &View,
    source: Source<'_>,
    create: &CreateTableAs,
    client: &mut dyn Client,
) -> Result<String> {
    let refuse = |text: &str| Err(SqlError::new(state::UNSUPPORTED, text));
    if create.lasting == Lasting::Unlogged {
        return refuse("materialized views cannot be unlogged");
    }
    refuse_kept(&create.kept)?;
    let Some(query) = create.query else { return Err(SqlError::unsupported("this query")) };
    let text = source.alone(create.span);
    let made = Bound::must(view, &text, source.depth, &[])?;
    if made.changes_rows() {
        return refuse("materialized views must not use data-modifying statements in WITH");
    }
    if made.reads_sequence() {
        return Err(SqlError::unsupported("a view that reads the row of a sequence"));
    }
    let written = bound::Written { tree: source.tree, query, text: source.text };
    let edits = source.edits_of(create.span, frozen::literals(view, made.tree().0, &text));
    let (sql, mut uses) =
        bound::bind(written, create.span, edits, &mut |parts| views::stands_for(view, parts));
    bound::keep(view, &uses)?;
    let sql = crate::catalog::called::qualified(view, &sql, false);
    if uses.iter().any(|used| Name::of_engine(&used.name).1.is_temporary()) {
        return refuse("materialized views must not use temporary tables or views");
    }
    let place = temporary::place_of_relation(session, view, &strings(&create.name), create.lasting)
        .map_err(|e| at_name(source, e, create.place))?;
    let Place { view, name } = &place;
    if !is_free(view, name, create.skip, client)? {
        return Ok(TAG.into());
    }
    view.must(made.needs())?;
    for used in &mut uses {
        let needs = made.needs().iter();
        let read = needs.filter(|need| need.by.is_none() && need.key.oid == used.oid);
        used.reads = read.flat_map(|need| need.columns.iter().copied()).collect();
    }
    let columns = declared_of(view, &made, &strings(&create.columns))?;
    for (at, column) in columns.iter().enumerate() {
        if columns[..at].iter().any(|before| before.name == column.name) {
            let text = format!("column \"{}\" specified more than once", column.name);
            return Err(SqlError::new("42701", text));
        }
    }
    let spec = TableSpec::new(name.engine(&view.database));
    let spec = with_options(spec, &create.kept.settings)?;
    let options = storage::options(storage::Of::Table, &create.kept.settings)?;
    Making { session, view, name, columns, constraints: Vec::new(), options }.run(spec)?;
    let table = view.scope.tx()?.table(&name.engine(&view.database))?;
    let uses: Vec<_> = uses.iter().map(bound::Use::body).collect();
    let body = json!({ "sql": sql, "uses": uses, "populated": !create.no_data });
    session.put(Kind::Materialized, &table.schema().id.0.to_string(), Some(body))?;
    if create.no_data {
        return Ok(TAG.into());
    }
    let n = session.restricted_to(session.roles.current, |view| {
        let batches = made.batches(view, &text)?;
        change::fill(view, &TableHandle::new(view, table), batches)
    })?;
    session.current()?.changed = true;
    Ok(format!("SELECT {n}"))
}

/// REFRESH MATERIALIZED VIEW.
///
/// # Errors
/// There is none; the role does not own it; those of the query, with its owner's rights; rows that are not unique.
pub fn refresh(
    session: &mut Session,
    view: &View,
    (path, concurrently, no_data): (&Path, bool, bool),
) -> Result<&'static str> {
    const TAG: &str = "REFRESH MATERIALIZED VIEW";
    let parts = strings(path);
    let (name, table) = match view.find(&parts)? {
        Some(Relation::Table(name, table)) => (name, table),
        Some(Relation::View(name)) => {
            let text = format!("\"{}\" is not a table or materialized view", name.name);
            return Err(SqlError::new("42809", text));
        }
        None => return Err(no_table(&parts)),
    };
    view.must_own(Action::Alter, &name, naming::Relation::Table)?;
    let refuse = |state, text: String| Err(SqlError::new(state, text));
    let Some(populated) = populated(view, &table) else {
        return refuse("0A000", format!("\"{}\" is not a materialized view", name.name));
    };
    if concurrently && !populated {
        let text = "CONCURRENTLY cannot be used when the materialized view is not populated";
        return refuse("0A000", text.into());
    }
    if concurrently && no_data {
        let text = "CONCURRENTLY and WITH NO DATA options cannot be used together";
        return refuse(state::SYNTAX, text.into());
    }
    super::index::must_be_unused(view, &table, TAG)?;
    if concurrently && !has_whole_key(&table) {
        let shown = format!(
            "{}.{}",
            crate::catalog::names::quote(&name.schema),
            crate::catalog::names::quote(&name.name)
        );
        let text = format!("cannot refresh materialized view \"{shown}\" concurrently");
        let hint = "Create a unique index with no WHERE clause on one or more columns of the \
                    materialized view.";
        return Err(SqlError::new("55000", text).hint(hint));
    }
    // Another REFRESH is waited for, and what it brought is taken away, too: above READ COMMITTED the change of what is kept
    // is a conflict.
    kin::take(session, view, &table)?;
    let id = table.schema().id;
    let now = session.view()?;
    let kept = now.instance.newest_objects().with(&session.current()?.pending);
    let Some(kept) = kept.get(Kind::Materialized, &id.0.to_string()) else {
        return Err(super::change::anew(view));
    };
    let mut body = kept.body.clone();
    body["populated"] = json!(!no_data);
    session.put(Kind::Materialized, &id.0.to_string(), Some(body.clone()))?;
    now.scope.tx()?.begin_statement()?;
    // As its owner, who may not be the role that asks for it: functions that the query calls, too.
    let owner = view.judge.rights().owner(Key::of(oids::of_table(id)));
    session.restricted_to(owner, |now| fill(now, &name, &table, &body, (concurrently, no_data)))?;
    session.current()?.changed = true;
    Ok(TAG)
}

/// Whether a unique index has all rows, by columns alone.
fn has_whole_key(table: &Table) -> bool {
    let schema = table.schema();
    let own = |id| schema.derived(id).is_none();
    schema.indexes.iter().any(|index| {
        let plain = index.filter.is_none() && index.key.iter().all(|part| own(part.column));
        index.is_unique() && index.ready && plain
    })
}

/// Puts the rows of the query in the place of those that are there.
fn fill(
    view: &View,
    name: &Name,
    table: &Table,
    body: &serde_json::Value,
    (concurrently, no_data): (bool, bool),
) -> Result<()> {
    let table = view.scope.tx()?.table(&table.name())?;
    if no_data {
        view.scope.tx()?.truncate(&table)?;
        return Ok(());
    }
    let sql = body["sql"].as_str().unwrap_or_default();
    let made = Bound::kept(view, sql, body)?;
    let owner = view.judge.rights().owner(Key::of(oids::of_table(table.schema().id)));
    let needs = made.needs().iter();
    let needs: Vec<Need> =
        needs.map(|need| Need { by: need.by.or(Some(owner)), ..need.clone() }).collect();
    view.must(&needs)?;
    let batches = made.batches(view, sql)?;
    match concurrently {
        true => view.scope.tx()?.delete_where(&table, &Predicate::All)?,
        false => view.scope.tx()?.truncate(&table)?,
    };
    let filled = change::fill(view, &TableHandle::new(view, table), batches);
    filled.map(drop).map_err(|e| match e.state() {
        "23505" if concurrently => twice(name),
        _ => e.of_all_rows(),
    })
}

/// Two rows of a query have one key.
fn twice(name: &Name) -> SqlError {
    let text = format!(
        "new data for materialized view \"{}\" contains duplicate rows without any null columns",
        name.name
    );
    SqlError::new(state::CARDINALITY, text)
}
