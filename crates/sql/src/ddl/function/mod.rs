//! Functions and procedures: CREATE, ALTER, DROP.
//!
//! What a statement says becomes a [`Function`] ([`said`]), whose body is checked ([`crate::routine::check`]) before it is kept.

mod aggregate;
mod alter;
mod drop;
mod find;
pub mod members;
mod said;
mod users;

use onlap_pg::ast::{CreateFunction, Lasting};
use onlap_pg::catalog::oids;

use super::temporary;
use crate::catalog::extensions::{self, Created};
use crate::catalog::functions::Function;
use crate::catalog::{Kind, Name};
use crate::error::{Result, SqlError, state};
use crate::session::Session;
use crate::settings::Id;
use crate::source::{Source, strings};
use crate::view::View;

pub use aggregate::create as create_aggregate;
pub use alter::{alter, give_all};
pub use drop::{drop, forget, of_roles};
pub use find::{find, named};
pub use users::{is_named, with_types};

/// CREATE FUNCTION and CREATE PROCEDURE.
///
/// # Errors
/// `42723`: there is one already; what of it is wrong; those of its body.
pub fn create(
    session: &mut Session,
    view: &View,
    source: Source<'_>,
    create: &CreateFunction,
) -> Result<&'static str> {
    let tag = if create.procedure { "CREATE PROCEDURE" } else { "CREATE FUNCTION" };
    let place = temporary::place(session, view, &strings(&create.name), Lasting::Permanent)?;
    let (view, name) = (&place.view, place.name.clone());
    let mut function = said::function(session, view, source, create, name)?;
    let known = view.objects.functions().get(&view.database, &function.name, &function.arguments());
    if known.is_none() {
        must_not_be_of_extension(view, create, &function)?;
    }
    if let Some(known) = known {
        must_replace(view, create.replace, known, &function)?;
        super::carried::must_stay(view, known, &function)?;
        function.oid = known.oid;
    }
    let (key, is_new) = (function.key(), known.is_none());
    session.catalog_changed()?;
    hold(view, &key)?;
    session.put(Kind::Function, &key, Some(function.body()))?;
    if is_new {
        let number = session.number_of(Kind::Function, &key)?;
        let oid = crate::catalog::oids::of_object(number);
        session.own(view, function.class(), oid, &function.name.schema)?;
    }
    // As in PostgreSQL the body is read once the function is there: it may call itself.
    if session.settings.flag(Id::CheckFunctionBodies) {
        let view = session.view()?;
        crate::routine::check(&view, &function, said::body_at(source, &function.source))?;
    }
    Ok(tag)
}

/// Keeps other transactions from changing a function, by its key, or from making something with it until the end of this one.
///
/// # Errors
/// `40001`: one changed it since the statement began, which begins anew; those of waits for locks.
pub fn hold(view: &View, key: &str) -> Result<()> {
    view.scope.tx()?.hold_name(key)?;
    match view.newest_objects().get(Kind::Function, key) == view.objects.get(Kind::Function, key) {
        true => Ok(()),
        false => Err(super::change::anew(view)),
    }
}

/// Fails where an extension has a function of this name and arguments.
fn must_not_be_of_extension(view: &View, create: &CreateFunction, new: &Function) -> Result<()> {
    let Some((_, proc)) = extensions::proc_at(view, &new.name, &new.arguments()) else {
        return Ok(());
    };
    if !create.replace {
        return Err(exists(&new.name.name));
    }
    Err(members::unchanged(view, proc))
}

fn exists(name: &str) -> SqlError {
    SqlError::new("42723", format!("function \"{name}\" already exists with same argument types"))
}

/// Fails where functions of the database stand in the way of those of an extension: where they would be in a schema, or where they
/// are moved there.
///
/// # Errors
/// `42723`
pub fn must_let_in(view: &View, created: &Created, is_moved: bool) -> Result<()> {
    for proc in created.extension.procs() {
        let name = Name::new(&*created.schema, &*proc.name);
        let functions = view.objects.functions();
        match functions.get(&view.database, &name, &proc.arguments) {
            None => {}
            Some(_) if !is_moved => return Err(exists(&proc.name)),
            Some(known) => return Err(is_there(view, known)),
        }
    }
    Ok(())
}

fn is_there(view: &View, function: &Function) -> SqlError {
    // The only message that has spaces between the types.
    let types = function.arguments();
    let types: Vec<String> =
        types.iter().map(|oid| crate::catalog::functions::shown_type(view, *oid)).collect();
    let (name, schema) = (&function.name.name, &function.name.schema);
    let types = types.join(", ");
    let text = format!("function {name}({types}) already exists in schema \"{schema}\"");
    SqlError::new("42723", text)
}

/// The function's name with its arguments, as hints write it.
fn signature(view: &View, function: &Function) -> String {
    function.signature(view, false)
}

/// Fails unless a function may stand in the place of another.
fn must_replace(view: &View, replace: bool, known: &Function, new: &Function) -> Result<()> {
    if !replace {
        return Err(exists(&known.name.name));
    }
    must_own(view, known)?;
    let kind_of = |of: &Function| (of.procedure, of.aggregate.is_some());
    if kind_of(known) != kind_of(new) {
        let what = match kind_of(known) {
            (_, true) => "an aggregate function",
            (true, _) => "a procedure",
            _ => "a function",
        };
        let detail = format!("\"{}\" is {what}.", known.name.name);
        return Err(SqlError::new("42809", "cannot change routine kind").detail(detail));
    }
    let word = match known.aggregate {
        Some(_) => "AGGREGATE".into(),
        None => known.word().to_uppercase(),
    };
    let hint = format!("Use DROP {word} {} first.", signature(view, known));
    let refuse = |text: String| Err(SqlError::new("42P13", text).hint(&*hint));
    if known.result != new.result || known.set != new.set {
        return refuse(match known.procedure {
            true => "cannot change whether a procedure has output parameters".into(),
            false => "cannot change return type of existing function".into(),
        });
    }
    if new.result == oids::RECORD {
        let columns = |of: &Function| -> Vec<(String, u32)> {
            of.results().map(|of| (of.name.clone(), of.ty)).collect()
        };
        if columns(known) != columns(new) {
            let e = SqlError::new("42P13", "cannot change return type of existing function");
            let detail = "Row type defined by OUT parameters is different.";
            return Err(e.detail(detail).hint(&*hint));
        }
    }
    let given = |of: &Function| -> Vec<crate::catalog::functions::Parameter> {
        of.parameters.iter().filter(|of| of.is_given()).cloned().collect()
    };
    for (old, new) in given(known).iter().zip(&given(new)) {
        if !old.name.is_empty() && old.name != new.name {
            return refuse(format!("cannot change name of input parameter \"{}\"", old.name));
        }
        if old.default.is_some() && new.default.is_none() {
            return refuse("cannot remove parameter defaults from existing function".into());
        }
    }
    Ok(())
}

/// Fails unless the role has the rights of the owner.
fn must_own(view: &View, function: &Function) -> Result<()> {
    match view.judge.owns(function.rights()) {
        true => Ok(()),
        false => {
            let text = format!("must be owner of {} {}", function.word(), function.name.name);
            Err(SqlError::new(state::NO_PRIVILEGE, text))
        }
    }
}

/// Fails where a function of this name and arguments is there already.
fn must_be_free(view: &View, function: &Function) -> Result<()> {
    let (name, arguments) = (&function.name, function.arguments());
    let is_taken = view.objects.functions().get(&view.database, name, &arguments).is_some()
        || extensions::proc_at(view, name, &arguments).is_some();
    if is_taken { Err(is_there(view, function)) } else { Ok(()) }
}
