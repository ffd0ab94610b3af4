//! What is a jsonb value with a change at the end of a path?
//!
//! The path is walked from the top, and the value is written anew on the way. Functions change what is there; an
//! assignment to a part also makes what its path leads through. Thread safety: pure functions.

use onlap_pg::{Error, Result};

use super::access::index;
use super::form::{Encoder, Node, node};
use crate::array::{Array, ELEMENT};
use crate::misc::rows::{bytes, text};
use crate::{Cx, Datum, Repr};

/// How many nulls are written before the statement is asked whether it is still wanted.
const NULLS_AT_ONCE: i64 = 1024;
/// What a null takes in an array: its byte, and where it ends.
const NULL_BYTES: usize = 5;

pub(super) fn refused(message: &str) -> Error {
    Error::new("22023", message)
}

/// What is done at the end of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Replace,
    /// Replace, or add what is missing.
    Create,
    /// Likewise, with all that the path leads through: a place in an array is kept, also beyond its end.
    Assign,
    Delete,
    Before,
    After,
}

impl Change {
    fn adds(self) -> bool {
        matches!(self, Change::Create | Change::Assign | Change::Before | Change::After)
    }
}

/// A value with a change at a path.
pub(super) fn at_path(
    value: &[u8],
    path: &Datum<'_>,
    new: &[u8],
    change: Change,
    cx: &Cx<'_>,
) -> Result<Datum<'static>> {
    let path = Array::load(bytes(path), Repr::Text);
    let mut steps: Vec<Option<String>> = Vec::new();
    for step in path.iter() {
        cx.worked(ELEMENT + step.size())?;
        steps.push((!step.is_null()).then(|| text(&step).to_owned()));
    }
    let empty = match node(value) {
        Node::Array(items) => items.is_empty(),
        Node::Object(pairs) => pairs.is_empty(),
        _ => true,
    };
    if steps.is_empty() || (empty && !change.adds()) {
        return Ok(Datum::bytes(value));
    }
    let mut out = Encoder::new();
    Walk { steps: &steps, new, change, cx }.step(value, 0, &mut out)?;
    Ok(Datum::bytes(out.finish()))
}

/// What a jsonb value becomes by an assignment to a part of it: the container, the path's steps as texts, whether the first
/// of them is an index, and the new part.
///
/// What is NULL becomes an array where the first step is an index and an object otherwise; a part that is NULL is null.
///
/// # Errors
/// `22004`: a step is NULL; `22023`: the path leads through a scalar, or before the beginning of an array; `22P02`: a
/// step in an array is no index; `54000`, `54001`: the value would be too large or too deep; `53200`, `57014`.
pub fn store_part(
    container: Option<&[u8]>,
    steps: &[Option<String>],
    from_index: bool,
    new: Option<&[u8]>,
    cx: &Cx<'_>,
) -> Result<Vec<u8>> {
    if steps.iter().any(Option::is_none) {
        return Err(Error::new("22004", "jsonb subscript in assignment must not be null"));
    }
    let mut empty = Encoder::new();
    match from_index {
        true => empty.begin_array(),
        false => empty.begin_object(),
    }
    empty.end()?;
    let (empty, mut null) = (empty.finish(), Encoder::new());
    null.null()?;
    let null = null.finish();
    let (container, new) = (container.unwrap_or(&empty), new.unwrap_or(&null));
    cx.room(container.len().saturating_add(new.len()))?;
    let mut out = Encoder::new();
    Walk { steps, new, change: Change::Assign, cx }.step(container, 0, &mut out)?;
    Ok(out.finish())
}

struct Walk<'a> {
    steps: &'a [Option<String>],
    new: &'a [u8],
    change: Change,
    cx: &'a Cx<'a>,
}

impl Walk<'_> {
    fn step(&self, value: &[u8], level: usize, out: &mut Encoder) -> Result<()> {
        let step = self.steps[level].as_deref().ok_or_else(|| {
            Error::new("22004", format!("path element at position {} is null", level + 1))
        })?;
        let last = level + 1 == self.steps.len();
        match node(value) {
            Node::Object(_) => self.object(value, step, level, last, out),
            Node::Array(_) => self.array(value, step, level, last, out),
            _ if self.change == Change::Assign => Err(refused("cannot replace existing key")
                .detail("The path assumes key is a composite object, but it is a scalar value.")),
            _ => out.raw(value),
        }
    }

    fn object(
        &self,
        value: &[u8],
        step: &str,
        level: usize,
        last: bool,
        out: &mut Encoder,
    ) -> Result<()> {
        let Node::Object(pairs) = node(value) else { unreachable!("it is an object") };
        out.begin_object();
        let mut found = false;
        for (key, value) in pairs.iter() {
            if key != step {
                out.key(key)?;
                out.raw(value)?;
                continue;
            }
            found = true;
            match (last, self.change) {
                (false, _) => {
                    out.key(key)?;
                    self.step(value, level + 1, out)?;
                }
                (true, Change::Before | Change::After) => {
                    return Err(refused("cannot replace existing key")
                        .hint("Try using the function jsonb_set to replace key value."));
                }
                (true, Change::Delete) => {}
                (true, _) => {
                    out.key(key)?;
                    out.raw(self.new)?;
                }
            }
        }
        if !found && (self.change == Change::Assign || (last && self.change.adds())) {
            out.key(step)?;
            self.missing(level, out)?;
        }
        out.end()
    }

    fn array(
        &self,
        value: &[u8],
        step: &str,
        level: usize,
        last: bool,
        out: &mut Encoder,
    ) -> Result<()> {
        let Node::Array(items) = node(value) else { unreachable!("it is an array") };
        let given = index(step).ok_or_else(|| {
            let message =
                format!("path element at position {} is not an integer: \"{step}\"", level + 1);
            Error::new("22P02", message)
        })?;
        let count = items.len() as i64;
        let place = if given < 0 { given + count } else { given };
        if place < 0 && self.change == Change::Assign {
            let at = level + 1;
            let message = format!("path element at position {at} is out of range: {given}");
            return Err(refused(&message));
        }
        out.begin_array();
        let adds = self.change == Change::Assign || (last && self.change.adds());
        // Before the beginning is the beginning.
        if adds && place < 0 {
            out.raw(self.new)?;
        }
        for (at, item) in items.iter().enumerate() {
            if at as i64 != place {
                out.raw(item)?;
            } else if !last {
                self.step(item, level + 1, out)?;
            } else {
                let (before, stays, after) = match self.change {
                    Change::Replace | Change::Create | Change::Assign => (true, false, false),
                    Change::Delete => (false, false, false),
                    Change::Before => (true, true, false),
                    Change::After => (false, true, true),
                };
                let parts = [(before, self.new), (stays, item), (after, self.new)];
                parts.iter().filter(|part| part.0).try_for_each(|part| out.raw(part.1))?;
            }
        }
        // Beyond the end is the end, but for an assignment.
        if adds && place >= count {
            if self.change == Change::Assign {
                self.nulls(place - count, out)?;
            }
            self.missing(level, out)?;
        }
        out.end()
    }

    /// What is not there yet at a step of a path: the rest of the path, and the new value at its end.
    fn missing(&self, level: usize, out: &mut Encoder) -> Result<()> {
        let rest = &self.steps[level + 1..];
        for step in rest.iter().flatten() {
            match index(step) {
                Some(place) => {
                    out.begin_array();
                    self.nulls(place, out)?;
                }
                None => {
                    out.begin_object();
                    out.key(step)?;
                }
            }
        }
        out.raw(self.new)?;
        rest.iter().try_for_each(|_| out.end())
    }

    fn nulls(&self, count: i64, out: &mut Encoder) -> Result<()> {
        let count = count.max(0);
        self.cx.room(usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(NULL_BYTES))?;
        for at in 0..count {
            if at % NULLS_AT_ONCE == 0 {
                self.cx.go_on()?;
            }
            out.null()?;
        }
        Ok(())
    }
}
