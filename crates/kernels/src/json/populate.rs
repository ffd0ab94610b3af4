//! How do json and jsonb become rows of given fields?
//!
//! For json_to_record, json_populate_record and their like: which fields there are the statement says, so that an executor
//! calls this with them. Thread safety: pure functions.

use std::borrow::Cow;

use onlap_pg::{Error, Result, TypeRef};

use super::form::{Encoder, Node, node};
use super::{walk, write};
use crate::array::record::build_named;
use crate::array::text::element_repr;
use crate::array::{Builder, Dim, MAX_DIMENSIONS, Record};
use crate::{Cx, Datum};

/// A value of json or jsonb.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// Of json: its text.
    Text(&'a str),
    /// Of jsonb: its form.
    Tree(&'a [u8]),
}

/// A field that is wanted: its name and type, and what it is if the object does not have it.
#[derive(Clone, Debug)]
pub struct Field<'a> {
    /// The key that is looked up.
    pub name: &'a str,
    /// What its value becomes.
    pub ty: TypeRef,
    /// What it is otherwise.
    pub default: Datum<'a>,
}

/// What a value is to a field.
enum Held<'a> {
    Null,
    /// A string, without quotes.
    Text(Cow<'a, str>),
    /// Another scalar, as it is written.
    Scalar(Cow<'a, str>),
    Array,
    Object,
}

impl<'a> Source<'a> {
    fn held(self, cx: &Cx<'_>) -> Result<Held<'a>> {
        match self {
            Source::Tree(value) => Ok(match node(value) {
                Node::Null => Held::Null,
                Node::Text(text) => Held::Text(Cow::Borrowed(text)),
                Node::Array(_) => Held::Array,
                Node::Object(_) => Held::Object,
                _ => Held::Scalar(Cow::Owned(self.shown()?.into_owned())),
            }),
            Source::Text(text) => Ok(match walk::kind(text) {
                b'[' => Held::Array,
                b'{' => Held::Object,
                first => match walk::find(text, &[], cx)?.and_then(|part| part.meaning) {
                    None => Held::Null,
                    Some(meaning) if first == b'"' => Held::Text(meaning),
                    Some(meaning) => Held::Scalar(meaning),
                },
            }),
        }
    }

    /// As json is written.
    fn shown(self) -> Result<Cow<'a, str>> {
        match self {
            Source::Text(text) => Ok(Cow::Borrowed(text)),
            Source::Tree(value) => {
                let mut out = String::new();
                write::print(value, &mut out)?;
                Ok(Cow::Owned(out))
            }
        }
    }

    fn elements(self, cx: &Cx<'_>) -> Result<Vec<Source<'a>>> {
        Ok(match self {
            Source::Tree(value) => match node(value) {
                Node::Array(items) => items.iter().map(Source::Tree).collect(),
                _ => Vec::new(),
            },
            Source::Text(text) => {
                let parts = walk::parts(text, true, cx)?;
                parts.into_iter().map(|part| Source::Text(part.1.text)).collect()
            }
        })
    }
}

fn refused(message: String) -> Error {
    Error::new("22023", message)
}

/// The fields of the row that an object becomes.
///
/// # Errors
/// `22023`: the value is no object; those of the types' input functions.
pub fn populate(
    cx: &mut Cx<'_>,
    source: Source<'_>,
    fields: &[Field<'_>],
) -> Result<Vec<Datum<'static>>> {
    // PostgreSQL names a function of its own here.
    match source.held(cx)? {
        Held::Object => {}
        Held::Array => return Err(refused("cannot call populate_composite on an array".into())),
        _ => return Err(refused("cannot call populate_composite on a scalar".into())),
    }
    match source {
        Source::Tree(value) => {
            let Node::Object(pairs) = node(value) else { unreachable!("it is an object") };
            let value = |name: &str| pairs.raw(name).map(Source::Tree);
            fields.iter().map(|field| one(cx, field, value(field.name))).collect()
        }
        Source::Text(text) => {
            let parts = walk::parts(text, true, cx)?;
            let value = |name: &str| {
                let found = parts.iter().rfind(|part| part.0.as_deref() == Some(name));
                found.map(|part| Source::Text(part.1.text))
            };
            fields.iter().map(|field| one(cx, field, value(field.name))).collect()
        }
    }
}

/// The rows that an array of objects becomes; `function` is named in errors.
///
/// # Errors
/// `22023`: the value is no array of objects; those of the types' input functions.
pub fn populate_set(
    cx: &mut Cx<'_>,
    function: &str,
    source: Source<'_>,
    fields: &[Field<'_>],
) -> Result<Vec<Vec<Datum<'static>>>> {
    match (source, source.held(cx)?) {
        (_, Held::Array) => {}
        (Source::Tree(_), _) => {
            return Err(refused(format!("cannot call {function} on a non-array")));
        }
        (_, Held::Object) => return Err(refused(format!("cannot call {function} on an object"))),
        _ => return Err(refused(format!("cannot call {function} on a scalar"))),
    }
    let mut rows = Vec::new();
    for element in source.elements(cx)? {
        cx.go_on()?;
        if !matches!(element.held(cx)?, Held::Object) {
            let message = format!("argument of {function} must be an array of objects");
            return Err(refused(message));
        }
        rows.push(populate(cx, element, fields)?);
    }
    Ok(rows)
}

fn one(cx: &mut Cx<'_>, field: &Field<'_>, found: Option<Source<'_>>) -> Result<Datum<'static>> {
    match found {
        Some(source) => value(cx, field.ty, source, field.name, &field.default),
        None => {
            let default = field.default.clone().into_owned();
            if default.is_null() {
                cx.keep_to(field.ty.oid, &default)?;
            }
            Ok(default)
        }
    }
}

/// What a value becomes as a type; a row keeps the fields of the old one that it does not have.
fn value(
    cx: &mut Cx<'_>,
    ty: TypeRef,
    source: Source<'_>,
    name: &str,
    old: &Datum<'_>,
) -> Result<Datum<'static>> {
    let (oid, modifier) = cx.catalog.base(ty.oid, ty.modifier);
    let made = base_value(cx, TypeRef { oid, modifier }, source, name, old)?;
    cx.keep_to(ty.oid, &made)?;
    Ok(made)
}

/// What a value becomes as a type that is no domain.
fn base_value(
    cx: &mut Cx<'_>,
    ty: TypeRef,
    source: Source<'_>,
    name: &str,
    old: &Datum<'_>,
) -> Result<Datum<'static>> {
    let base = ty.oid;
    let held = source.held(cx)?;
    if matches!(held, Held::Null) && !matches!(base, 114 | 3802) {
        return Ok(Datum::Null);
    }
    match (base, held) {
        (114 | 3802, Held::Null) => Ok(Datum::Null),
        (114, _) => source.shown().map(|text| Datum::text(text.into_owned())),
        (3802, _) => match source {
            Source::Tree(value) => Ok(Datum::bytes(value)),
            Source::Text(text) => {
                let mut out = Encoder::new();
                write::put_text(text, &mut out, cx)?;
                Ok(Datum::bytes(out.finish()))
            }
        },
        (_, Held::Text(text)) => crate::input(cx, ty, &text),
        (base, held) => match (cx.catalog.element(base), held) {
            (Some(oid), _) => {
                let element = TypeRef { oid, modifier: ty.modifier };
                array(cx, element, source, name).map(Datum::bytes)
            }
            (None, _) if cx.catalog.is_composite(base) => row(cx, ty, source, old),
            (None, Held::Scalar(text)) => crate::input(cx, ty, &text),
            (None, _) => crate::input(cx, ty, &source.shown()?),
        },
    }
}

/// A row of a type with a name.
fn row(
    cx: &mut Cx<'_>,
    ty: TypeRef,
    source: Source<'_>,
    old: &Datum<'_>,
) -> Result<Datum<'static>> {
    let Some(known) = cx.session.fields(ty.oid) else {
        return Err(Error::unserved("a row of this type is not supported here"));
    };
    let names: Vec<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
    let old = match old {
        Datum::Bytes(bytes) => Record::load(bytes).fields(cx.catalog),
        _ => Vec::new(),
    };
    let default = |at: usize| match old.len() == known.len() {
        true => old[at].1.clone(),
        false => Datum::Null,
    };
    let fields: Vec<Field<'_>> = known
        .iter()
        .enumerate()
        .map(|(at, (name, ty))| Field { name, ty: *ty, default: default(at) })
        .collect();
    let values = populate(cx, source, &fields)?;
    let typed: Vec<(u32, Datum<'_>)> = fields.iter().map(|f| f.ty.oid).zip(values).collect();
    build_named(&names, &typed).map(Datum::bytes)
}

/// An array that is being made.
struct Making<'a> {
    element: TypeRef,
    builder: Builder,
    /// How many dimensions there are, once that is known.
    ndims: Option<usize>,
    /// How long each dimension is, once one of its arrays has ended.
    lengths: Vec<Option<usize>>,
    /// Which element of each dimension is looked at.
    path: Vec<usize>,
    name: &'a str,
}

fn array(cx: &mut Cx<'_>, element: TypeRef, source: Source<'_>, name: &str) -> Result<Vec<u8>> {
    let builder = Builder::new(element_repr(cx, element.oid)?);
    let lengths = vec![None; MAX_DIMENSIONS];
    let mut making = Making { element, builder, ndims: None, lengths, path: Vec::new(), name };
    making.dimension(cx, source, 0)?;
    let known = making.lengths.iter().map_while(|length| *length);
    let dims: Vec<Dim> = known.take(making.ndims.unwrap_or(0)).map(Dim::new).collect();
    Ok(making.builder.finish_as(&dims))
}

impl Making<'_> {
    fn dimension(&mut self, cx: &mut Cx<'_>, source: Source<'_>, at: usize) -> Result<()> {
        if !matches!(source.held(cx)?, Held::Array) {
            let indices: String = self.path.iter().map(|at| format!("[{at}]")).collect();
            let hint = match self.path.is_empty() {
                true => format!("See the value of key \"{}\".", self.name),
                false => format!("See the array element {indices} of key \"{}\".", self.name),
            };
            return Err(Error::new("22P02", "expected JSON array").hint(hint));
        }
        let elements = source.elements(cx)?;
        if self.ndims.is_none() {
            let inner = match elements.first() {
                Some(first) => matches!(first.held(cx)?, Held::Array),
                None => false,
            };
            if !inner {
                self.ndims = Some(at + 1);
            } else if at + 1 >= MAX_DIMENSIONS {
                return Err(crate::array::text::too_many(at + 2));
            }
        }
        self.path.push(0);
        for (n, element) in elements.iter().enumerate() {
            cx.go_on()?;
            self.path[at] = n;
            if self.ndims == Some(at + 1) {
                let value = value(cx, self.element, *element, self.name, &Datum::Null)?;
                self.builder.push(&value)?;
            } else {
                self.dimension(cx, *element, at + 1)?;
            }
        }
        self.path.pop();
        if *self.lengths[at].get_or_insert(elements.len()) != elements.len() {
            let detail = "Multidimensional arrays must have sub-arrays with matching dimensions.";
            return Err(Error::new("22P02", "malformed JSON array").detail(detail));
        }
        Ok(())
    }
}
