//! What is something called that has no name?
//!
//! As in PostgreSQL: table, columns and what it is, joined by underscores, shortened to 63 bytes, with a
//! number behind where the name is taken.

use onlap_pg::ast;

use super::change::notice;
use crate::catalog::made_types::Made;
use crate::catalog::{Kind, Name, oids};
use crate::error::{Result, SqlError, state};
use crate::rights::Action;
use crate::source::strings;
use crate::view::{Relation as Seen, View};
use crate::wire::Client;

/// Bytes of a name, as in PostgreSQL.
const NAME_BYTES: usize = 63;

/// A name of table, columns and label that is free.
pub fn choose(table: &str, columns: &str, label: &str, is_taken: &dyn Fn(&str) -> bool) -> String {
    let mut pass = 0;
    loop {
        let label = if pass == 0 { label.to_string() } else { format!("{label}{pass}") };
        let name = join(table, columns, &label);
        if !is_taken(&name) {
            return name;
        }
        pass += 1;
    }
}

fn join(table: &str, columns: &str, label: &str) -> String {
    let mut fixed = label.len() + 1;
    if !columns.is_empty() {
        fixed += 1;
    }
    let room = NAME_BYTES - fixed;
    let (mut a, mut b) = (table.len(), columns.len());
    while a + b > room {
        if a > b { a -= 1 } else { b -= 1 }
    }
    let table = cut(table, a);
    match columns {
        "" => format!("{table}_{label}"),
        columns => format!("{table}_{}_{label}", cut(columns, b)),
    }
}

fn cut(text: &str, mut at: usize) -> &str {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    &text[..at]
}

/// What has a name in a schema: tables, indexes, views and sequences share one space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// A table.
    Table,
    /// An index.
    Index,
    /// A view.
    View,
    /// A sequence.
    Sequence,
}

/// What has this name.
///
/// # Errors
/// The transaction has ended.
pub fn find(view: &View, name: &Name) -> Result<Option<Relation>> {
    let engine = name.engine(&view.database);
    if view.scope.tx()?.table(&engine).is_ok() {
        return Ok(Some(Relation::Table));
    }
    if view.objects.get(Kind::View, &engine).is_some() {
        return Ok(Some(Relation::View));
    }
    if view.scope.tx()?.sequence(&engine).is_ok() {
        return Ok(Some(Relation::Sequence));
    }
    let of_schema = |other: &Name| other.schema == name.schema;
    let tables = view.tables()?;
    let index = tables.iter().any(|(other, table)| {
        of_schema(other) && table.schema().index_by_name(&name.name).is_some()
    });
    Ok(index.then_some(Relation::Index))
}

/// All tables, views and sequences of the database.
///
/// # Errors
/// The transaction has ended.
pub fn all(view: &View) -> Result<Vec<(Name, Relation)>> {
    let here = |engine: &str| {
        let (database, name) = Name::of_engine(engine);
        (database == view.database).then_some(name)
    };
    let tables = view.tables()?.into_iter().map(|(name, _)| (name, Relation::Table));
    let views = view.objects.of_kind(Kind::View);
    let views = views.filter_map(|(engine, _)| Some((here(engine)?, Relation::View)));
    let sequences = view.scope.tx()?.sequences();
    let sequences = sequences.iter().filter_map(|s| Some((here(s.name())?, Relation::Sequence)));
    Ok(tables.chain(views).chain(sequences).collect())
}

/// What has this name. Where nothing has it, no other transaction gives it to anything until the end of this
/// one; one that has given it and not committed is waited for.
///
/// # Errors
/// Those of waits for locks.
pub fn claim(view: &View, name: &Name) -> Result<Option<Relation>> {
    if let Some(found) = find(view, name)? {
        return Ok(Some(found));
    }
    if super::extension::has_view(view, name) {
        return Ok(Some(Relation::View));
    }
    let engine = name.engine(&view.database);
    view.scope.tx()?.hold_name(&engine)?;
    // Another transaction may have ended meanwhile; the objects of the view are those of the statement's begin.
    match view.newest_objects().get(Kind::View, &engine) {
        Some(_) => Ok(Some(Relation::View)),
        None => find(view, name),
    }
}

/// Fails when a name is taken, and keeps it.
///
/// # Errors
/// `42P07`; those of [`claim`].
pub fn check_free(view: &View, name: &Name) -> Result<()> {
    if made_type(view, name).is_some_and(|made| made.composite().is_some()) {
        return Err(taken(&name.name));
    }
    match claim(view, name)? {
        Some(_) => Err(taken(&name.name)),
        None => Ok(()),
    }
}

/// The type of a name.
fn made_type<'a>(view: &'a View, name: &Name) -> Option<&'a Made> {
    let parts = [name.schema.clone(), name.name.clone()];
    view.objects.made_types().named(view, &parts)
}

/// Fails where a type has the name of a new table or view: their rows get a type of that name.
///
/// # Errors
/// `42710`; `42P07`: it is a composite type, which is a relation.
pub fn check_no_type(view: &View, name: &Name) -> Result<()> {
    match made_type(view, name) {
        None if !super::extension::has_type(view, name) => Ok(()),
        Some(made) if made.composite().is_some() => Err(taken(&name.name)),
        _ => {
            let hint = "A relation has an associated type of the same name, so you must use a \
                        name that doesn't conflict with any existing type.";
            let text = format!("type \"{}\" already exists", name.name);
            Err(SqlError::new(state::DUPLICATE_OBJECT, text).hint(hint))
        }
    }
}

/// The name is taken.
pub fn taken(name: &str) -> SqlError {
    SqlError::new(state::DUPLICATE_TABLE, format!("relation \"{name}\" already exists"))
}

/// Fails where a name is one of the system's own relations.
///
/// # Errors
/// `42501`
pub fn refuse_system(parts: &[String]) -> Result<()> {
    let system = match parts {
        [name] => crate::system::definitions::find(crate::view::PG_CATALOG, name),
        [.., schema, name] => crate::system::definitions::find(schema, name),
        [] => None,
    };
    match system {
        Some(system) => {
            let text = format!("permission denied: \"{}\" is a system catalog", system.name);
            Err(SqlError::new(state::NO_PRIVILEGE, text))
        }
        None => Ok(()),
    }
}

/// What DROP names that is on a relation: a rule, a trigger, a policy.
#[derive(Clone, Copy)]
pub struct Dropped<'a> {
    /// Whether it need not be there.
    pub skip: bool,
    /// What kind of thing it is.
    pub what: &'static str,
    /// Its name.
    pub name: &'a str,
    /// The relation's name, as it was written.
    pub on: &'a [ast::Name],
}

impl Dropped<'_> {
    /// What was found of it, with its relation, which the role owns; `None` where it is not there and need not be.
    ///
    /// # Errors
    /// It is not there; `42501`.
    pub fn found<T>(
        self,
        view: &View,
        client: &mut dyn Client,
        found: Result<(T, &OnRelation)>,
    ) -> Result<Option<T>> {
        let (found, on) = match found {
            Err(e) if self.skip && matches!(e.state(), state::NO_OBJECT | state::NO_TABLE) => {
                let text = match e.state() {
                    state::NO_TABLE => e.message().to_string(),
                    _ => {
                        let (what, name, on) = (self.what, self.name, strings(self.on).join("."));
                        format!("{what} \"{name}\" for relation \"{on}\" does not exist")
                    }
                };
                notice(client, "00000", format!("{text}, skipping"));
                return Ok(None);
            }
            found => found?,
        };
        if view.must_own(Action::Drop, &on.name, on.found).is_err() {
            let text = format!("must be owner of relation {}", on.name.name);
            return Err(SqlError::new(state::NO_PRIVILEGE, text));
        }
        Ok(Some(found))
    }
}

/// A table or view that rules or triggers are on.
pub struct OnRelation {
    /// Its name.
    pub name: Name,
    /// What it is.
    pub found: Relation,
    /// Its OID.
    pub oid: u32,
    /// The table, if it is one.
    pub table: Option<onlap::Table>,
}

impl OnRelation {
    /// By its name; `None` where there is none. `what`: rules or triggers.
    ///
    /// # Errors
    /// It is the system's; `42809`: it is none that has such.
    pub fn find(view: &View, parts: &[String], what: &str) -> Result<Option<OnRelation>> {
        let before = view.find_before_system(parts)?;
        if parts.len() > 1 || before.is_none() {
            refuse_system(parts)?;
        }
        let found = match before {
            Some(found) => Some(found),
            None => view.find(parts)?,
        };
        Ok(match found {
            Some(Seen::Table(name, table)) => {
                let oid = oids::of_table(table.schema().id);
                Some(OnRelation { name, found: Relation::Table, oid, table: Some(table) })
            }
            Some(Seen::View(name)) => {
                let oid = view.view_key(&name).oid;
                Some(OnRelation { name, found: Relation::View, oid, table: None })
            }
            None => match super::alter::relation(view, parts)? {
                Some((name, Relation::Index)) => {
                    return Err(SqlError::new("42809", format!("\"{}\" is an index", name.name)));
                }
                Some((name, _)) => {
                    let text = format!("relation \"{}\" cannot have {what}", name.name);
                    let detail = "This operation is not supported for sequences.";
                    return Err(SqlError::new("42809", text).detail(detail));
                }
                None => None,
            },
        })
    }
}
