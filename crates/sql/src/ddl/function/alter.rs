//! ALTER FUNCTION.

use onlap_pg::ast::{AlterFunction, FunctionChange, RoutineKind};

use super::said::Options;
use super::{find, hold, members, must_be_free, must_own, temporary};
use crate::catalog::functions::Function;
use crate::catalog::{Kind, Name};
use crate::error::{Result, SqlError};
use crate::rights::{Action, Class, Key, Need};
use crate::session::Session;
use crate::source::{Source, role_word};
use crate::view::{View, no_schema};

/// ALTER FUNCTION, PROCEDURE, ROUTINE.
///
/// # Errors
/// There is no such function; the role may not; a value that is none.
pub fn alter(
    session: &mut Session,
    view: &View,
    source: Source<'_>,
    alter: &AlterFunction,
) -> Result<&'static str> {
    let tag = tag_of(alter.kind);
    let known = match find::find(view, source, alter.kind, &alter.signature) {
        Ok(known) => known,
        Err(e) => {
            let member = members::find(view, source, alter.kind, &alter.signature)?;
            return Err(member.map_or(e, |(_, proc)| members::unchanged(view, proc)));
        }
    };
    must_own(view, &known)?;
    let mut function = (*known).clone();
    hold(view, &known.key())?;
    let moves = matches!(alter.change, FunctionChange::Rename(_) | FunctionChange::Schema(_));
    if moves && super::users::is_named(view, &known)? {
        return Err(SqlError::unsupported("another name of a function that others use"));
    }
    if moves {
        crate::ddl::carried::must_keep_name(view, &known)?;
    }
    match &alter.change {
        FunctionChange::Rename(to) => {
            let schema = function.name.schema.clone();
            view.must_create_in(&schema)?;
            function.name = Name::new(schema, &**to);
            must_be_free(view, &function)?;
            moved(session, &known, &function)?;
        }
        FunctionChange::Schema(schema) => {
            temporary::check_move(&function.name.schema, schema)?;
            if !view.has_schema(schema) {
                return Err(no_schema(schema));
            }
            if **schema == *function.name.schema {
                return Ok(tag);
            }
            view.must_create_in(schema)?;
            function.name = Name::new(&**schema, &function.name.name);
            must_be_free(view, &function)?;
            moved(session, &known, &function)?;
        }
        FunctionChange::Owner(role) => {
            let to = new_owner(view, &known, role_word(role))?;
            session.catalog_changed()?;
            session.give(view, known.class(), known.rights(), to)?;
        }
        FunctionChange::Options(_) if known.aggregate.is_some() => {
            let text = format!("\"{}\" is an aggregate function", known.name.name);
            return Err(SqlError::new("42809", text));
        }
        FunctionChange::Options(options) => {
            let options = Options::of(source, options, known.procedure)?;
            options.apply(session, view, &mut function)?;
            crate::ddl::carried::must_stay(view, &known, &function)?;
            session.catalog_changed()?;
            session.put(Kind::Function, &function.key(), Some(function.body()))?;
        }
        FunctionChange::Depends => {
            return Err(SqlError::unsupported("DEPENDS ON EXTENSION"));
        }
    }
    Ok(tag)
}

fn tag_of(kind: RoutineKind) -> &'static str {
    match kind {
        RoutineKind::Procedure => "ALTER PROCEDURE",
        RoutineKind::Routine => "ALTER ROUTINE",
        RoutineKind::Aggregate => "ALTER AGGREGATE",
        RoutineKind::Function => "ALTER FUNCTION",
    }
}

/// The role that is to own a function, which may create in its schema.
fn new_owner(view: &View, known: &Function, word: &str) -> Result<u32> {
    let to = view.role_named(word)?;
    if !view.judge.is_superuser() && view.judge.rights().owner(known.rights()) != to {
        let to = view.new_owner(word)?;
        let schema = &known.name.schema;
        let key = view.schema_key(schema).unwrap_or(Key::of(0));
        let create = Need::new(Action::CreateIn, Class::Schema, key, schema);
        view.must(&[Need { by: Some(to), ..create }])?;
    }
    Ok(to)
}

fn moved(session: &mut Session, from: &Function, to: &Function) -> Result<()> {
    session.catalog_changed()?;
    session.rename(Kind::Function, &from.key(), &to.key())
}

/// Gives the functions of some roles to another.
///
/// # Errors
/// Those of the engine.
pub fn give_all(session: &mut Session, view: &View, from: &[u32], to: u32) -> Result<()> {
    for function in super::of_roles(view, from) {
        session.catalog_changed()?;
        session.give(view, function.class(), function.rights(), to)?;
    }
    Ok(())
}
