//! Functions and procedures: CREATE, ALTER, DROP.
//!
//! What a statement says becomes a [`Function`] ([`said`]), whose body is checked ([`crate::routine::check`]) before it is kept.

mod alter;
mod drop;
mod find;
mod said;
pub mod users;

use onlap_pg::ast::CreateFunction;
use onlap_pg::catalog::oids;

use crate::catalog::Kind;
use crate::catalog::functions::Function;
use crate::error::{Result, SqlError, state};
use crate::session::Session;
use crate::settings::Id;
use crate::source::{Source, strings};
use crate::view::View;

pub use alter::{alter, give_all};
pub use drop::{dependents, drop, drop_all, drop_in_schema, of_roles, with_users};
pub use find::{find, named};
pub use users::with_types;

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
    let name = view.new_name(&strings(&create.name))?;
    let mut function = said::function(session, view, source, create, name)?;
    let known = view.objects.functions().get(&view.database, &function.name, &function.arguments());
    if let Some(known) = known {
        must_replace(view, create, known, &function)?;
        function.oid = known.oid;
    }
    if session.settings.flag(Id::CheckFunctionBodies) {
        crate::routine::check(view, &function, said::body_at(source, &function.source))?;
    }
    let (key, is_new) = (function.key(), known.is_none());
    session.catalog_changed()?;
    view.scope.tx()?.hold_name(&key)?;
    let newest = view.instance.newest_objects();
    if newest.get(Kind::Function, &key) != view.objects.get(Kind::Function, &key)
        && !session.current()?.pending.has(Kind::Function, &key)
    {
        return Err(SqlError::concurrent_update());
    }
    session.put(Kind::Function, &key, Some(function.body()))?;
    if is_new {
        let number = session.number_of(Kind::Function, &key)?;
        let oid = crate::catalog::oids::of_object(number);
        session.own(view, function.class(), oid, &function.name.schema)?;
    }
    Ok(tag)
}

/// The function's name with its arguments, as hints write it.
fn signature(view: &View, function: &Function) -> String {
    function.signature(view, false)
}

/// Fails unless a function may stand in the place of another.
fn must_replace(
    view: &View,
    create: &CreateFunction,
    known: &Function,
    new: &Function,
) -> Result<()> {
    if !create.replace {
        let text =
            format!("function \"{}\" already exists with same argument types", known.name.name);
        return Err(SqlError::new("42723", text));
    }
    must_own(view, known)?;
    if known.procedure != new.procedure {
        let what = if known.procedure { "procedure" } else { "function" };
        let detail = format!("\"{}\" is a {what}.", known.name.name);
        return Err(SqlError::new("42809", "cannot change routine kind").detail(detail));
    }
    let word = known.word().to_uppercase();
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
    let name = &function.name;
    match view.objects.functions().get(&view.database, name, &function.arguments()) {
        None => Ok(()),
        Some(_) => {
            let text = format!(
                "function {} already exists in schema \"{}\"",
                signature(view, function),
                name.schema
            );
            Err(SqlError::new("42723", text))
        }
    }
}
