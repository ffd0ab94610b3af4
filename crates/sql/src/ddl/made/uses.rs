//! What uses a type, and DROP TYPE and DOMAIN.

use onlap_pg::ast::{Drop, DropKind, Path};

use super::{find, hold, must_own};
use crate::catalog::made_types::Made;
use crate::catalog::{Name, extensions};
use crate::columns::Types;
use crate::ddl::RelationKind;
use crate::ddl::cascade::{Closure, Object};
use crate::ddl::change::notice;
use crate::error::{Result, SqlError, state};
use crate::session::Session;
use crate::source::strings;
use crate::view::View;
use crate::wire::Client;

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
        // What indexes calculate comes behind the columns.
        let types_of = Types::of(&view.objects, &schema);
        for (column, ty) in schema.columns.iter().zip(types_of.iter()) {
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
                found.push((name.clone(), column.name.clone(), direct));
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
    let roots = found.iter().map(|made| Object::Type(made.oid)).collect();
    Closure::of(view, roots)?.drop(session, drop.cascade, client)?;
    Ok(if drop.kind == DropKind::Domain { "DROP DOMAIN" } else { "DROP TYPE" }.into())
}

/// What is wrong with DROP of a type that is the system's, or that of a relation's rows.
fn is_other(view: &View, name: &Path, kind: DropKind) -> Result<Option<SqlError>> {
    let parts = strings(name);
    let system = parts.last().and_then(|name| crate::query::catalog().type_named(name));
    let relation = crate::ddl::alter::relation(view, &parts)?;
    let member = extensions::meant(view, &parts);
    if let Some(ty) = member.filter(|_| kind == DropKind::Type) {
        let shown = extensions::shown_type(view, ty.oid);
        if !view.judge.is_superuser() {
            return Ok(Some(SqlError::new(
                state::NO_PRIVILEGE,
                format!("must be owner of type {shown}"),
            )));
        }
        let of = extensions::of_type(view, ty.oid).map_or("", |created| created.extension.name);
        let text = format!("cannot drop type {shown} because extension {of} requires it");
        let hint = format!("You can drop extension {of} instead.");
        return Ok(Some(SqlError::new(state::IN_USE, text).hint(hint)));
    }
    if kind == DropKind::Domain {
        let is_there = system.is_some() || relation.is_some() || member.is_some();
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
