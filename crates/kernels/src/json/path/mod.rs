//! What do functions of jsonpath find?
//!
//! A path lies in a column as its text, written as PostgreSQL writes it, and is read for each batch.
//! Thread safety: pure functions.

mod eval;
mod lex;
mod needs;
mod parse;
mod place;
mod print;
mod scalar;
mod tree;

use onlap_pg::{Error, Result};

pub(crate) use self::needs::needs;
use self::scalar::Item;
use self::tree::Path;
use crate::json::form::{Encoder, Node, node};
use crate::misc::rows::{boolean, bytes, strict, text};
use crate::{Cx, Datum, Entry, Kernel, Types};

/// The text of a path as PostgreSQL writes it.
pub(crate) fn canonical(text: &str) -> Result<String> {
    parse::parse(text).and_then(|path| print::print(&path))
}

/// Functions.
pub(super) const ENTRIES: &[Entry] = &[
    ("jsonb_path_exists(jsonb,jsonpath,jsonb,bool)", |types| made(types, exists)),
    ("jsonb_path_exists_tz(jsonb,jsonpath,jsonb,bool)", |types| zoned(types, exists)),
    ("jsonb_path_exists_opr(jsonb,jsonpath)", |types| made(types, exists)),
    ("jsonb_path_match(jsonb,jsonpath,jsonb,bool)", |types| made(types, matches)),
    ("jsonb_path_match_tz(jsonb,jsonpath,jsonb,bool)", |types| zoned(types, matches)),
    ("jsonb_path_match_opr(jsonb,jsonpath)", |types| made(types, matches)),
    ("jsonb_path_query_array(jsonb,jsonpath,jsonb,bool)", |types| made(types, array)),
    ("jsonb_path_query_array_tz(jsonb,jsonpath,jsonb,bool)", |types| zoned(types, array)),
    ("jsonb_path_query_first(jsonb,jsonpath,jsonb,bool)", |types| made(types, first)),
    ("jsonb_path_query_first_tz(jsonb,jsonpath,jsonb,bool)", |types| zoned(types, first)),
];

/// A call: what is asked, and whether errors of the path are silent. Operators have no more arguments, and are silent.
struct Call<'a> {
    value: &'a [u8],
    path: Path,
    vars: Option<&'a [u8]>,
    silent: bool,
    /// Whether moments without a zone are of the session's.
    zoned: bool,
}

impl<'a> Call<'a> {
    fn new(args: &'a [Datum<'_>], zoned: bool) -> Result<Call<'a>> {
        let vars = args.get(2).map(bytes);
        if vars.is_some_and(|vars| !matches!(node(vars), Node::Object(_))) {
            let detail =
                "Jsonpath parameters should be encoded as key-value pairs of \"vars\" object.";
            return Err(Error::new("22023", "\"vars\" argument is not an object").detail(detail));
        }
        Ok(Call {
            value: bytes(&args[0]),
            path: parse::parse(text(&args[1]))?,
            vars,
            silent: args.get(3).is_none_or(boolean),
            zoned,
        })
    }

    /// What is found, and whether a silent error came after it.
    fn find(&self, first: bool, cx: &Cx<'_>) -> Result<(Vec<Item<'a>>, bool)> {
        match eval::find(&self.path, self.value, self.vars, (first, self.zoned), cx)? {
            (_, Some(e)) if !self.silent => Err(e),
            (items, e) => Ok((items, e.is_some())),
        }
    }
}

fn made(types: &Types, f: fn(&Call<'_>, &Cx<'_>) -> Result<Datum<'static>>) -> Box<dyn Kernel> {
    strict(types, move |args, cx| f(&Call::new(args, false)?, cx))
}

fn zoned(types: &Types, f: fn(&Call<'_>, &Cx<'_>) -> Result<Datum<'static>>) -> Box<dyn Kernel> {
    strict(types, move |args, cx| f(&Call::new(args, true)?, cx))
}

fn exists(call: &Call<'_>, cx: &Cx<'_>) -> Result<Datum<'static>> {
    let (found, failed) = call.find(true, cx)?;
    Ok(if failed { Datum::Null } else { Datum::Bool(!found.is_empty()) })
}

fn matches(call: &Call<'_>, cx: &Cx<'_>) -> Result<Datum<'static>> {
    let found = call.find(false, cx)?.0;
    match found.as_slice() {
        [item] if matches!(node(item), Node::Null) => return Ok(Datum::Null),
        [item] => {
            if let Node::Bool(value) = node(item) {
                return Ok(Datum::Bool(value));
            }
        }
        _ => {}
    }
    if call.silent {
        return Ok(Datum::Null);
    }
    Err(Error::new("22038", "single boolean result is expected"))
}

fn array(call: &Call<'_>, cx: &Cx<'_>) -> Result<Datum<'static>> {
    let mut out = Encoder::new();
    out.begin_array();
    for item in call.find(false, cx)?.0 {
        out.raw(&item)?;
    }
    out.end()?;
    Ok(Datum::bytes(out.finish()))
}

fn first(call: &Call<'_>, cx: &Cx<'_>) -> Result<Datum<'static>> {
    let found = call.find(false, cx)?.0;
    Ok(found.into_iter().next().map_or(Datum::Null, |item| Datum::bytes(item.bytes.into_owned())))
}

/// jsonb_path_query
pub(super) fn rows(args: &[Datum<'_>], cx: &mut Cx<'_>) -> Result<Vec<Vec<Datum<'static>>>> {
    found(&Call::new(args, false)?, cx)
}

/// jsonb_path_query_tz
pub(super) fn rows_zoned(args: &[Datum<'_>], cx: &mut Cx<'_>) -> Result<Vec<Vec<Datum<'static>>>> {
    found(&Call::new(args, true)?, cx)
}

fn found(call: &Call<'_>, cx: &Cx<'_>) -> Result<Vec<Vec<Datum<'static>>>> {
    let found = call.find(false, cx)?.0;
    Ok(found.into_iter().map(|item| vec![Datum::bytes(item.bytes.into_owned())]).collect())
}
