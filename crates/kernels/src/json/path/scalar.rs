//! What do single items of a jsonpath become: numbers, comparisons, variables?
//!
//! Thread safety: pure functions.

use std::borrow::Cow;
use std::cmp::Ordering;

use onlap_pg::value::numeric::Numeric;
use onlap_pg::value::{Settings, float};
use onlap_pg::{Error, Result};

use super::tree::Operator;
use crate::json::form::{Encoder, Node, node};
use crate::time::format::standard::{self, Moment};

/// A value in the form of jsonb. A moment has its text as its form.
#[derive(Clone)]
pub(super) struct Item<'a> {
    pub(super) bytes: Cow<'a, [u8]>,
    pub(super) moment: Option<Moment>,
    /// Where one that was made lies, as `.keyvalue()` tells it.
    pub(super) id: i64,
}

impl<'a> From<&'a [u8]> for Item<'a> {
    fn from(bytes: &'a [u8]) -> Item<'a> {
        Item { bytes: Cow::Borrowed(bytes), moment: None, id: 0 }
    }
}

impl From<Vec<u8>> for Item<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Item { bytes: Cow::Owned(bytes), moment: None, id: 0 }
    }
}

impl std::ops::Deref for Item<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Why a walk ends before its end.
pub(super) enum Halt {
    /// Something does not fit the path.
    Soft(Error),
    /// The statement ends.
    Hard(Error),
    /// What was looked for is found.
    Done,
}

/// The outcome of a part of a walk.
pub(super) type Walk<T> = std::result::Result<T, Halt>;

/// An error of the path.
pub(super) fn soft<T>(state: &'static str, message: impl Into<String>) -> Walk<T> {
    Err(Halt::Soft(Error::new(state, message)))
}

/// An item that is made.
pub(super) fn encoded(write: impl FnOnce(&mut Encoder) -> Result<()>) -> Walk<Item<'static>> {
    let mut out = Encoder::new();
    write(&mut out).map_err(Halt::Hard)?;
    Ok(out.finish().into())
}

/// The value of a variable.
pub(super) fn variable<'a>(vars: &'a [u8], name: &str) -> Walk<&'a [u8]> {
    let found = match node(vars) {
        Node::Object(pairs) => pairs.raw(name),
        _ => None,
    };
    found.ok_or_else(|| {
        let message = format!("could not find jsonpath variable \"{name}\"");
        Halt::Hard(Error::new("42704", message))
    })
}

/// The one number that the items of an operand are.
pub(super) fn number(operator: Operator, side: &str, items: &[Item<'_>]) -> Walk<Numeric> {
    if let [item] = items
        && let Node::Number(number) = node(item)
    {
        return Ok(Numeric::load(number));
    }
    let sign = operator.sign();
    let message =
        format!("{side} operand of jsonpath operator {sign} is not a single numeric value");
    soft("22038", message)
}

/// What `.datetime()` gives.
pub(super) fn date_time(item: &Item<'_>, template: Option<&str>) -> Walk<Item<'static>> {
    let (Node::Text(text), None) = (node(item), item.moment) else {
        return soft("22031", "jsonpath item method .datetime() can only be applied to a string");
    };
    let moment = match template {
        Some(template) => standard::read(text, template).map_err(Halt::Soft)?,
        None => match standard::read_any(text) {
            Some(moment) => moment,
            None => {
                let message = format!("datetime format is not recognized: \"{text}\"");
                let hint = "Use a datetime template argument to specify the input data format.";
                return Err(Halt::Soft(Error::new("22031", message).hint(hint)));
            }
        },
    };
    let made = encoded(|out| out.text(&moment.shown()))?;
    Ok(Item { moment: Some(moment), ..made })
}

/// What `.double()` gives.
pub(super) fn double(value: Node<'_>) -> Walk<Item<'static>> {
    let number = match value {
        Node::Number(number) => {
            let number = Numeric::load(number);
            if number.to_float8().is_err() {
                let message = "numeric argument of jsonpath item method .double() is out of range for type double precision";
                return soft("22036", message);
            }
            number
        }
        Node::Text(text) => match float::parse8(text) {
            Ok(value) if value.is_finite() => Numeric::from_float8(value),
            Ok(_) | Err(_) => {
                let message = "string argument of jsonpath item method .double() is not a valid representation of a double precision number";
                return soft("22036", message);
            }
        },
        _ => {
            let message =
                "jsonpath item method .double() can only be applied to a string or numeric value";
            return soft("22036", message);
        }
    };
    encoded(|out| out.number(&number))
}

/// Whether a comparison of two items holds; `None` if that is unknown. The session's settings are there if its zone may
/// stand for a zone that a moment has not.
///
/// # Errors
/// `0A000`: it may not.
pub(super) fn holds(
    operator: Operator,
    one: &Item<'_>,
    other: &Item<'_>,
    zone: Option<&Settings>,
) -> Result<Option<bool>> {
    let (a, b) = (&node(one), &node(other));
    match (one.moment, other.moment) {
        (None, None) => Ok(holds_of(operator, a, b)),
        _ if operator == Operator::StartsWith => Ok(None),
        (Some(one), Some(other)) => {
            Ok(one.compare(other, zone)?.map(|order| is_so(operator, order)))
        }
        _ if matches!((a, b), (Node::Null, _) | (_, Node::Null)) => {
            Ok(Some(operator == Operator::NotEqual))
        }
        _ => Ok(None),
    }
}

fn holds_of(operator: Operator, a: &Node<'_>, b: &Node<'_>) -> Option<bool> {
    let order = match (a, b) {
        (Node::Text(a), Node::Text(b)) if operator == Operator::StartsWith => {
            return Some(a.starts_with(b));
        }
        _ if operator == Operator::StartsWith => return None,
        (Node::Null, Node::Null) => Ordering::Equal,
        (Node::Null, _) | (_, Node::Null) => return Some(operator == Operator::NotEqual),
        (Node::Bool(a), Node::Bool(b)) => a.cmp(b),
        (Node::Number(a), Node::Number(b)) => Numeric::load(a).cmp(&Numeric::load(b)),
        (Node::Text(a), Node::Text(b)) => a.cmp(b),
        _ => return None,
    };
    Some(is_so(operator, order))
}

fn is_so(operator: Operator, order: Ordering) -> bool {
    match operator {
        Operator::Equal => order.is_eq(),
        Operator::NotEqual => order.is_ne(),
        Operator::Less => order.is_lt(),
        Operator::LessOrEqual => order.is_le(),
        Operator::Greater => order.is_gt(),
        _ => order.is_ge(),
    }
}
