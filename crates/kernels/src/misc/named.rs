//! How are OIDs written that stand for names: regclass, regtype and their like?
//!
//! What PostgreSQL's own catalogs name is found in [`Catalog`]; relations, schemas, roles and text search objects are asked of
//! the session, with the input or output function of the type. Thread safety: pure functions.

use onlap_pg::catalog::{Catalog, Proc};
use onlap_pg::{Error, Oid, Result};

use crate::{Cx, Datum, search};

/// regproc, regprocedure, regoper, regoperator, regclass, regtype, regrole, regnamespace, regconfig, regdictionary,
/// regcollation
pub(crate) fn is_served(oid: Oid) -> bool {
    matches!(oid, 24 | 2202..=2206 | 4096 | 4089 | 3734 | 3769 | 4191)
}

/// Calls the input or the output function of a type.
pub(super) fn ask(cx: &Cx<'_>, oid: Oid, way: &str, value: Datum<'_>) -> Result<Datum<'static>> {
    let name = cx.catalog.get_type(oid).map_or_else(String::new, |t| format!("{}{way}", t.name));
    match cx.catalog.procs_named(&name).next() {
        Some(function) => cx.session.call(function.oid, &[value]),
        None => Err(Error::unserved(format!("{name} is not supported"))),
    }
}

/// Reads a name, or the number itself; a dash is 0.
pub(crate) fn input(cx: &mut Cx<'_>, oid: Oid, text: &str) -> Result<Datum<'static>> {
    if text == "-" {
        return Ok(Datum::Oid(0));
    }
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return onlap_pg::value::int::parse_oid(text).map(Datum::Oid);
    }
    // The word char is `character`, though another type has that name.
    if oid == 2206 && text != "char" {
        let found = cx.catalog.types().find(|t| t.shown == text || t.name == text);
        if let Some(found) = found {
            return Ok(Datum::Oid(found.oid));
        }
    }
    if oid == REGCONFIG {
        return configuration(text);
    }
    ask(cx, oid, "in", Datum::text(text))
}

const REGCONFIG: Oid = 3734;

/// regconfigin
fn configuration(text: &str) -> Result<Datum<'static>> {
    search::configuration(text).map(Datum::Oid).ok_or_else(|| {
        let text = format!("text search configuration \"{text}\" does not exist");
        Error::new("42704", text)
    })
}

/// Writes the name, or the number where there is none; 0 is a dash.
pub(crate) fn output(cx: &mut Cx<'_>, oid: Oid, value: Oid, out: &mut String) -> Result<()> {
    if value == 0 {
        out.push('-');
        return Ok(());
    }
    let known = match oid {
        2206 => cx.catalog.get_type(value).map(|_| cx.catalog.shown(value)),
        24 => cx.catalog.proc(value).map(|proc| function(cx.catalog, proc)),
        2202 => cx.catalog.proc(value).map(|proc| procedure(cx.catalog, proc)),
        REGCONFIG => search::configuration_name(value).map(String::from),
        _ => None,
    };
    match known {
        Some(name) => out.push_str(&name),
        None if matches!(oid, 24 | 2202 | REGCONFIG) => out.push_str(&value.to_string()),
        None => match ask(cx, oid, "out", Datum::Oid(value))? {
            Datum::Text(name) => out.push_str(&name),
            other => unreachable!("{other:?} is what an output function gives"),
        },
    }
    Ok(())
}

/// The schema of a function.
fn schema<'c>(catalog: &'c Catalog, proc: &'c Proc) -> &'c str {
    match (&proc.made, catalog.created(proc.oid)) {
        (Some(made), _) => &made.schema,
        (None, Some(created)) => &created.schema,
        (None, None) => "pg_catalog",
    }
}

/// regprocout: a name that several functions have is written with its schema.
fn function(catalog: &Catalog, proc: &Proc) -> String {
    let alone = is_seen(catalog, proc) && catalog.procs_named(&proc.name).nth(1).is_none();
    written(schema(catalog, proc), &proc.name, alone)
}

/// Those of the system are seen also where no path is known.
fn is_seen(catalog: &Catalog, proc: &Proc) -> bool {
    proc.made.is_none() && catalog.created(proc.oid).is_none() || catalog.is_seen(proc)
}

/// regprocedureout
fn procedure(catalog: &Catalog, proc: &Proc) -> String {
    let types: Vec<String> = proc.arguments.iter().map(|oid| catalog.shown(*oid)).collect();
    let name = written(schema(catalog, proc), &proc.name, is_seen(catalog, proc));
    format!("{name}({})", types.join(","))
}

/// A name, with its schema where it does not mean the function alone.
fn written(schema: &str, name: &str, alone: bool) -> String {
    let name = onlap_pg::print::name(name);
    if alone { name.into_owned() } else { format!("{}.{name}", onlap_pg::print::name(schema)) }
}
