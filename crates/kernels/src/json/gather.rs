//! What do aggregates make json and jsonb of?
//!
//! Thread safety: as aggregates.

use onlap_pg::catalog::Kind;
use onlap_pg::{Error, Oid, Result};

use super::encode::{key_text, put_json, put_jsonb};
use super::form::{Encoder, Node, node};
use super::write;
use crate::aggregate::{Aggregate, AggregateEntry};
use crate::misc::gather::{Gather, gathered};
use crate::misc::rows::representation;
use crate::{Cx, Datum, Types};

/// Aggregates.
pub(super) const AGGREGATES: &[AggregateEntry] = &[
    ("json_agg(anyelement)", |types| {
        let oid = types.args[0].oid;
        let base = types.catalog.base_type(oid);
        let is_row =
            base == 2249 || types.catalog.get_type(base).is_some_and(|t| t.kind == Kind::Composite);
        let breaks = is_row || types.catalog.element(base).is_some();
        made(types, Items { oid, breaks })
    }),
    ("jsonb_agg(anyelement)", |types| made(types, ItemsB { oid: types.args[0].oid })),
    ("json_object_agg(any,any)", |types| {
        made(types, Pairs { key: types.args[0].oid, value: types.args[1].oid })
    }),
    ("jsonb_object_agg(any,any)", |types| {
        made(types, PairsB { key: types.args[0].oid, value: types.args[1].oid })
    }),
];

fn made<G: Gather>(types: &Types, gather: G) -> Box<dyn Aggregate> {
    let args = types.args.iter().map(|arg| representation(types, arg.oid)).collect();
    gathered(gather, args, representation(types, types.result.oid))
}

/// What stands between the brackets, once there was a row.
type Inside = Option<String>;

/// Makes room for another part, with what is before it.
fn part<'a>(state: &'a mut Inside, between: &str) -> &'a mut String {
    if let Some(held) = state {
        held.push_str(between);
    }
    state.get_or_insert_with(String::new)
}

fn save(state: &Inside, out: &mut Vec<u8>) {
    if let Some(held) = state {
        out.push(1);
        out.extend_from_slice(held.as_bytes());
    }
}

fn merge(state: &mut Inside, saved: &[u8], between: &str) {
    if let Some((_, held)) = saved.split_first() {
        let held = std::str::from_utf8(held).expect("what was saved is UTF-8");
        part(state, between).push_str(held);
    }
}

fn bracketed(state: &Inside, before: &str, after: &str) -> Datum<'static> {
    match state {
        None => Datum::Null,
        Some(held) => Datum::text([before, held, after].concat()),
    }
}

/// json_agg
struct Items {
    oid: Oid,
    /// Whether each value begins a line.
    breaks: bool,
}

impl Items {
    fn between(&self) -> &'static str {
        if self.breaks { ", \n " } else { ", " }
    }
}

impl Gather for Items {
    type State = Inside;

    fn step(&self, state: &mut Inside, args: &[Datum<'_>], cx: &mut Cx<'_>) -> Result<()> {
        let between = if args[0].is_null() { ", " } else { self.between() };
        put_json(cx, self.oid, &args[0], false, part(state, between))
    }

    fn give(&self, state: &Inside, _: &mut Cx<'_>) -> Result<Datum<'static>> {
        Ok(bracketed(state, "[", "]"))
    }

    fn save(&self, state: &Inside, out: &mut Vec<u8>) {
        save(state, out);
    }

    fn merge(&self, state: &mut Inside, saved: &[u8], _: &mut Cx<'_>) -> Result<()> {
        let is_null = saved.get(1..5) == Some(b"null");
        merge(state, saved, if is_null { ", " } else { self.between() });
        Ok(())
    }

    fn size(&self, state: &Inside) -> usize {
        state.as_ref().map_or(0, String::capacity)
    }
}

/// json_object_agg
struct Pairs {
    key: Oid,
    value: Oid,
}

fn no_null_name(key: &Datum<'_>) -> Result<()> {
    if key.is_null() {
        return Err(Error::new("22023", "field name must not be null"));
    }
    Ok(())
}

impl Gather for Pairs {
    type State = Inside;

    fn step(&self, state: &mut Inside, args: &[Datum<'_>], cx: &mut Cx<'_>) -> Result<()> {
        no_null_name(&args[0])?;
        let key = key_text(cx, self.key, &args[0])?;
        let out = part(state, ", ");
        write::quote(&key, out)?;
        out.push_str(" : ");
        put_json(cx, self.value, &args[1], false, out)
    }

    fn give(&self, state: &Inside, _: &mut Cx<'_>) -> Result<Datum<'static>> {
        Ok(bracketed(state, "{ ", " }"))
    }

    fn save(&self, state: &Inside, out: &mut Vec<u8>) {
        save(state, out);
    }

    fn merge(&self, state: &mut Inside, saved: &[u8], _: &mut Cx<'_>) -> Result<()> {
        merge(state, saved, ", ");
        Ok(())
    }

    fn size(&self, state: &Inside) -> usize {
        state.as_ref().map_or(0, String::capacity)
    }
}

/// A container that is open until the group ends.
type Open = Option<Encoder>;

fn closed(state: &Open) -> Option<Vec<u8>> {
    let close = |held: &Encoder| {
        let mut held = held.clone();
        held.end().expect("what was added was checked to fit with the end");
        held.finish()
    };
    state.as_ref().map(close)
}

fn save_b(state: &Open, out: &mut Vec<u8>) {
    out.extend(closed(state).unwrap_or_default());
}

/// jsonb_agg
struct ItemsB {
    oid: Oid,
}

fn array(state: &mut Open) -> &mut Encoder {
    state.get_or_insert_with(|| {
        let mut out = Encoder::new();
        out.begin_array();
        out
    })
}

fn object(state: &mut Open) -> &mut Encoder {
    state.get_or_insert_with(|| {
        let mut out = Encoder::new();
        out.begin_object();
        out
    })
}

impl Gather for ItemsB {
    type State = Open;

    fn step(&self, state: &mut Open, args: &[Datum<'_>], cx: &mut Cx<'_>) -> Result<()> {
        put_jsonb(cx, self.oid, &args[0], array(state))
    }

    fn give(&self, state: &Open, _: &mut Cx<'_>) -> Result<Datum<'static>> {
        Ok(closed(state).map_or(Datum::Null, Datum::bytes))
    }

    fn save(&self, state: &Open, out: &mut Vec<u8>) {
        save_b(state, out);
    }

    fn merge(&self, state: &mut Open, saved: &[u8], _: &mut Cx<'_>) -> Result<()> {
        if saved.is_empty() {
            return Ok(());
        }
        let Node::Array(items) = node(saved) else { unreachable!("an array was saved") };
        let out = array(state);
        items.iter().try_for_each(|item| out.raw(item))
    }

    fn size(&self, state: &Open) -> usize {
        state.as_ref().map_or(0, Encoder::size)
    }
}

/// jsonb_object_agg
struct PairsB {
    key: Oid,
    value: Oid,
}

impl Gather for PairsB {
    type State = Open;

    fn step(&self, state: &mut Open, args: &[Datum<'_>], cx: &mut Cx<'_>) -> Result<()> {
        no_null_name(&args[0])?;
        let key = key_text(cx, self.key, &args[0])?;
        let out = object(state);
        out.key(&key)?;
        put_jsonb(cx, self.value, &args[1], out)
    }

    fn give(&self, state: &Open, _: &mut Cx<'_>) -> Result<Datum<'static>> {
        Ok(closed(state).map_or(Datum::Null, Datum::bytes))
    }

    fn save(&self, state: &Open, out: &mut Vec<u8>) {
        save_b(state, out);
    }

    fn merge(&self, state: &mut Open, saved: &[u8], _: &mut Cx<'_>) -> Result<()> {
        if saved.is_empty() {
            return Ok(());
        }
        let Node::Object(pairs) = node(saved) else { unreachable!("an object was saved") };
        let out = object(state);
        for (key, value) in pairs.iter() {
            out.key(key)?;
            out.raw(value)?;
        }
        Ok(())
    }

    fn size(&self, state: &Open) -> usize {
        state.as_ref().map_or(0, Encoder::size)
    }
}
