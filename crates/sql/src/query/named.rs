//! How are names of a database's objects read and written, and access control lists taken apart?
//!
//! The input and output functions of regclass and its like, which kernels ask the session for, since they look at the
//! catalogs. Thread safety: pure functions of what a statement sees.

use onlap_kernels::array::{Array, Builder, record};
use onlap_kernels::{Datum, Repr};
use onlap_pg::catalog::Proc;
use onlap_pg::{Error, Oid, Result};

use super::catalog;
use super::views::of_sql;
use crate::catalog::extensions;
use crate::functions::catalogs::{Seen, name_type, oid_named, print};
use crate::parse::identifiers;
use crate::rights::Acl;
use crate::system::grants::{printed, read_item};
use crate::system::{partitions, row_types};
use crate::types::oid;

/// Calls a function of this module; `None` for others.
pub fn call(seen: &Seen, name: &str, args: &[Datum<'_>]) -> Result<Option<Datum<'static>>> {
    Ok(Some(match (name, args) {
        ("aclitemin", [Datum::Text(text)]) => {
            let item = read_item(&seen.view, text).map_err(|e| of_sql(&e))?;
            Datum::text(printed(&seen.view, &Acl(vec![item])).pop().unwrap_or_default())
        }
        ("aclexplode", [Datum::Bytes(items)]) => exploded(seen, items)?,
        ("pg_listening_channels", []) => {
            let mut made = Builder::new(Repr::Text);
            for channel in seen.view.scope.between().listening() {
                made.push(&Datum::text(channel))?;
            }
            Datum::bytes(made.finish())
        }
        ("get_current_ts_config", []) => {
            let setting = (seen.view.settings)("default_text_search_config").unwrap_or_default();
            match onlap_kernels::search::configuration(&setting) {
                Some(oid) => Datum::Oid(oid),
                None => {
                    let text = format!("text search configuration \"{setting}\" does not exist");
                    return Err(Error::new("42704", text));
                }
            }
        }
        (name, [Datum::Text(text)]) => match kind(name, "in") {
            Some(kind) => Datum::Oid(read(seen, kind, text)?),
            None => return Ok(None),
        },
        ("pg_partition_ancestors", [Datum::Oid(oid)]) => {
            let model = seen.model().map_err(|e| of_sql(&e))?;
            let line = partitions::line(&seen.view, model, *oid);
            numbers(line.into_iter().map(i64::from))?
        }
        ("pg_partition_tree", [Datum::Oid(oid)]) => {
            let model = seen.model().map_err(|e| of_sql(&e))?;
            let nodes = partitions::tree(&seen.view, model, *oid).into_iter();
            numbers(nodes.flat_map(|node| {
                let above = node.above.map_or(0, i64::from);
                [i64::from(node.oid), above, node.is_leaf.into(), node.level.into()]
            }))?
        }
        (name, [Datum::Oid(value)]) => match kind(name, "out") {
            Some(kind) => Datum::text(written(seen, kind, *value)?),
            None => return Ok(None),
        },
        _ => return Ok(None),
    }))
}

/// An array of numbers.
fn numbers(all: impl Iterator<Item = i64>) -> Result<Datum<'static>> {
    let mut made = Builder::new(Repr::Int8);
    for number in all {
        made.push(&Datum::Int8(number))?;
    }
    Ok(Datum::bytes(made.finish()))
}

/// The type whose input or output function it is.
fn kind(name: &str, way: &str) -> Option<Oid> {
    name_type(name.strip_suffix(way)?)
}

fn read(seen: &Seen, kind: Oid, text: &str) -> Result<Oid> {
    match kind {
        oid::REGPROC => function(seen, text),
        oid::REGPROCEDURE => procedure(seen, text),
        _ => oid_named(seen, kind, text).map_err(|e| of_sql(&e)),
    }
}

fn written(seen: &Seen, kind: Oid, value: Oid) -> Result<String> {
    if kind == oid::REGTYPE
        && let Some(shown) = seen.view.objects.made_types().shown_to(&seen.view, value)
    {
        return Ok(shown);
    }
    if kind == oid::REGTYPE
        && let Ok(model) = seen.model()
    {
        for relation in &model.relations {
            match value.checked_sub(row_types::of(relation)) {
                Some(0) => return Ok(model.display(relation)),
                Some(1) if value > 1 => return Ok(format!("{}[]", model.display(relation))),
                _ => {}
            }
        }
    }
    print(seen, kind, value).map_err(|e| of_sql(&e))
}

/// The name of a function without its schema, which is PostgreSQL's.
fn plain(text: &str) -> String {
    match &identifiers(text)[..] {
        [schema, name] if schema == "pg_catalog" => name.clone(),
        [name] => name.clone(),
        _ => text.to_string(),
    }
}

/// regprocin
///
/// # Errors
/// `42883`: there is none; `42725`: there are several.
pub fn function(seen: &Seen, text: &str) -> Result<Oid> {
    let name = plain(text);
    let parts = identifiers(text);
    let own = crate::ddl::functions_named(&seen.view, &parts).map_err(|e| of_sql(&e))?;
    let known = catalog().system_procs(&name).chain(extensions::procs_named(&seen.view, &parts));
    let mut found = known.map(|proc| proc.oid).chain(own.iter().map(|of| of.oid));
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one),
        (Some(_), Some(_)) => {
            Err(Error::new("42725", format!("more than one function named \"{text}\"")))
        }
        _ => Err(Error::new("42883", format!("function \"{text}\" does not exist"))),
    }
}

/// regprocedurein: the function of a name and types.
///
/// # Errors
/// There is none.
pub fn procedure(seen: &Seen, text: &str) -> Result<Oid> {
    let missing = || Error::new("42883", format!("function \"{text}\" does not exist"));
    let Some((name, arguments)) = text.split_once('(') else {
        return Err(Error::new("22P02", "expected a left parenthesis"));
    };
    let Some(arguments) = arguments.trim_end().strip_suffix(')') else {
        return Err(Error::new("22P02", "expected a right parenthesis"));
    };
    let mut types = Vec::new();
    for argument in arguments.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        types.push(read(seen, oid::REGTYPE, argument)?);
    }
    let parts = identifiers(name.trim());
    let own = crate::ddl::functions_named(&seen.view, &parts).map_err(|e| of_sql(&e))?;
    let name = plain(name.trim());
    let is = |proc: &&'static Proc| *proc.arguments == *types;
    let mut known =
        catalog().system_procs(&name).chain(extensions::procs_named(&seen.view, &parts));
    let found = known.find(is).map(|proc| proc.oid);
    let made = || own.iter().find(|of| of.arguments() == types).map(|of| of.oid);
    found.or_else(made).ok_or_else(missing)
}

/// The rows of aclexplode as an array.
fn exploded(seen: &Seen, items: &[u8]) -> Result<Datum<'static>> {
    let mut rows = Builder::new(Repr::Bytes);
    for item in Array::load(items, Repr::Text).iter() {
        let Datum::Text(text) = item else { continue };
        let item = read_item(&seen.view, &text).map_err(|e| of_sql(&e))?;
        for privilege in item.privileges.each() {
            let fields = [
                (oid::OID, Datum::Oid(item.grantor)),
                (oid::OID, Datum::Oid(item.grantee)),
                (oid::TEXT, Datum::text(privilege.word().to_uppercase())),
                (oid::BOOL, Datum::Bool(item.options.has(privilege))),
            ];
            rows.push(&Datum::bytes(record::build(&fields)?))?;
        }
    }
    Ok(Datum::bytes(rows.finish()))
}
