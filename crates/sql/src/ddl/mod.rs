//! How does the catalog change?
//!
//! Statements become descriptions for the engine. They go through its transaction, so that they come and go
//! with it ([`change`]); a statement that is alone in its transaction may go beside it where that is
//! cheaper. What the engine does not need to know (views, roles, computed defaults, comments) are objects of [`crate::catalog`].

mod alter;
mod carried;
mod cascade;
mod change;
mod checks;
mod classes;
mod columns;
mod comment;
mod constraints;
mod default_privileges;
pub mod defaults;
mod dependencies;
mod drop;
mod exclusion;
mod extension;
mod function;
pub mod generated;
pub mod gin;
mod gist;
mod grant;
mod index;
mod index_parts;
mod kept;
mod keys;
mod kin;
mod like;
mod made;
pub mod materialized;
mod members;
mod moved;
mod naming;
mod owned;
mod policy;
mod privileges;
mod query;
pub mod role_settings;
mod roles;
pub mod rule;
mod schema;
mod sequence;
mod storage;
mod table;
pub mod temporary;
pub mod trigger;
mod truncate;
mod types;
pub mod view;
mod view_options;

use onlap_pg::ast::{CreateSchema, Object, Statement};

use crate::error::{Result, SqlError};
use crate::session::answer::Answer;
use crate::session::{Parameter, Session};
use crate::settings::Id;
use crate::source::{Source, no_parameters};
use crate::view::View;
use crate::wire::Client;

pub use alter::relation;
pub use cascade::named as named_by;
pub use change::{anew, notice};
pub use function::named as functions_named;
pub use gist::class_oid as gist_class;
pub use index::{described, free_name as index_name, number_twins};
pub use kin::all_below;
pub use naming::Relation as RelationKind;
pub use privileges::{class_of, key_of};
pub use query::without_into;
pub use types::shown as type_shown;

/// Carries out a statement that defines relations.
///
/// # Errors
/// Those of the statement.
pub fn run(
    session: &mut Session,
    view: &View,
    source: Source<'_>,
    (statement, values): (&Statement, &[Parameter]),
    client: &mut dyn Client,
) -> Result<Answer> {
    client.reply().set_least(session.settings.text(Id::ClientMinMessages));
    let done = carry_out(session, view, source, (statement, values), client);
    client.reply().set_least("notice");
    done
}

fn carry_out(
    s: &mut Session,
    view: &View,
    source: Source<'_>,
    (statement, values): (&Statement, &[Parameter]),
    client: &mut dyn Client,
) -> Result<Answer> {
    if !takes_values(statement) {
        // What is kept is never given values.
        no_parameters(source.text)?;
    }
    let tag = match statement {
        Statement::CreateTable(create) => {
            return table::create(s, view, source, create, client).map(Answer::Done);
        }
        Statement::CreateTableAs(create) => {
            return query::create_table_as(s, view, source, create, values, client)
                .map(Answer::Done);
        }
        Statement::Query(query) => {
            return query::select_into(s, view, source, *query, values, client).map(Answer::Done);
        }
        Statement::CreateIndex(create) => index::create(s, view, source, create, client)?,
        Statement::CreateView(create) => view::create(s, view, source, create, client)?,
        Statement::CreateSequence(create) => sequence::create(s, view, source, create, client)?,
        Statement::AlterSequence(alter) => sequence::alter(s, view, alter, client)?,
        Statement::AlterTable(alter) => alter::run(s, view, source, alter, client)?,
        Statement::Object(object) => return objects(s, view, source, object, client),
        _ => return Err(other(source.text)),
    };
    Ok(Answer::Done(tag.to_string()))
}

/// Whether a statement takes values for parameters: it makes a table of a query's rows.
pub fn takes_values(statement: &Statement) -> bool {
    match statement {
        Statement::CreateTableAs(create) => !create.materialized,
        Statement::Query(_) => true,
        _ => false,
    }
}

/// Carries out a statement about objects that are no relations, and about rights.
fn objects(
    s: &mut Session,
    view: &View,
    source: Source<'_>,
    object: &Object,
    client: &mut dyn Client,
) -> Result<Answer> {
    let tag = match object {
        Object::CreateSchema(create) => {
            let made = schema::create(s, view, create, client)?;
            schema_elements(s, view, source, create, client)?;
            made
        }
        Object::AlterSchema(name, change) => schema::alter(s, view, name, change)?,
        Object::CreateDatabase(create) => schema::create_database(s, view, create)?,
        Object::AlterDatabase(name, change) => schema::alter_database(s, view, name, change)?,
        Object::DropDatabase(name, skip) => schema::drop_database(s, view, name, *skip, client)?,
        Object::CreateEnum(create) => made::create_enum(s, view, create)?,
        Object::CreateDomain(create) => made::create_domain(s, view, source, create)?,
        Object::CreateComposite(create) => made::create_composite(s, view, source, create)?,
        Object::AlterType(alter) => made::alter(s, view, source, alter, client)?,
        Object::Drop(drop) => return drop::drop(s, view, drop, client).map(Answer::Done),
        Object::CreateRole(create) => roles::create(s, view, create, client)?,
        Object::AlterRole(alter) => roles::alter(s, view, alter, client)?,
        Object::DropRole(roles, skip) => roles::drop(s, view, roles, *skip, client)?,
        Object::Grant(grant) => grant::run(s, view, source, grant, client)?,
        Object::GrantRole(grant) => members::run(s, view, grant, client)?,
        Object::DefaultPrivileges(alter) => default_privileges::run(s, view, alter)?,
        Object::Reassign(from, to) => owned::reassign(s, view, from, to)?,
        Object::DropOwned(from, cascade) => owned::drop(s, view, from, *cascade, client)?,
        Object::CreateRule(create) => rule::create(s, view, source, create)?,
        Object::DropRule { skip, name, on, cascade: _ } => {
            rule::drop(s, view, (*skip, name, on), client)?
        }
        Object::RenameRule(name, on, to) => rule::rename(s, view, (name, on, to))?,
        Object::Refresh { concurrently, name, no_data } => {
            materialized::refresh(s, view, (name, *concurrently, *no_data))?
        }
        Object::CreateFunction(create) => function::create(s, view, source, create)?,
        Object::CreateAggregate(create) => {
            function::create_aggregate(s, view, source, create, client)?
        }
        Object::AlterFunction(alter) => function::alter(s, view, source, alter)?,
        Object::DropFunction(drop) => {
            return function::drop(s, view, source, drop, client).map(Answer::Done);
        }
        Object::CreateExtension(create) => extension::create(s, view, create, client)?,
        Object::AlterExtension(alter) => extension::alter(s, view, alter, client)?,
        Object::DropExtension(drop) => extension::drop(s, view, drop, client)?,
        Object::CreateTrigger(create) => trigger::create(s, view, source, create)?,
        Object::RenameTrigger(name, on, to) => trigger::rename(s, view, (name, on, to))?,
        Object::DropTrigger { skip, name, on, cascade: _ } => {
            trigger::drop(s, view, (*skip, name, on), client)?
        }
        Object::Policy(said) => policy::run(s, view, source, said, client)?,
        Object::Comment(on, text) => comment::run(s, view, source, on, text.as_deref())?,
    };
    Ok(Answer::Done(tag.to_string()))
}

/// What CREATE SCHEMA makes in the schema: sequences, tables, views, indexes, triggers, rights, as in PostgreSQL.
fn schema_elements(
    s: &mut Session,
    view: &View,
    source: Source<'_>,
    create: &CreateSchema,
    client: &mut dyn Client,
) -> Result<()> {
    let rank = |statement: &&Statement| match statement {
        Statement::CreateSequence(_) => 0,
        Statement::CreateTable(_) => 1,
        Statement::CreateView(_) => 2,
        Statement::CreateIndex(_) => 3,
        Statement::Object(object) if matches!(**object, Object::CreateTrigger(_)) => 4,
        _ => 5,
    };
    let mut elements: Vec<&Statement> = create.elements.iter().collect();
    if elements.is_empty() {
        return Ok(());
    }
    let owner = schema::owner_of(view, create)?;
    let name = schema::name_of(view, create)?;
    for element in &elements {
        schema::must_be_within(element, &name)?;
    }
    elements.sort_by_key(rank);
    for element in elements {
        s.catalog_changed()?;
        let mut view = s.view()?;
        view.judge = view.judge.of(owner);
        let at = usize::from(view.search_path.is_temporary_first);
        view.search_path.schemas.insert(at, name.clone());
        carry_out(s, &view, source, (element, &[]), client)?;
    }
    Ok(())
}

/// TRUNCATE.
pub use truncate::truncate;

/// A statement that is not served, by its first words.
pub fn other(text: &str) -> SqlError {
    let words: Vec<&str> = text.split_whitespace().take(2).collect();
    let words = words.join(" ").to_uppercase();
    SqlError::unsupported(words.trim_end_matches([';', '(']).to_string())
}
