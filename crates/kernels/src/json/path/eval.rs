//! Which items does a jsonpath find in a value?
//!
//! What does not fit is an error that a caller may ask to be silent about, and that makes a condition unknown; errors of
//! the statement end it all ([`Halt`]). In lax mode arrays are opened, and scalars taken as arrays of one, where a step
//! needs it; in strict mode that is an error.
//! Thread safety: pure functions.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::collections::HashMap;

use onlap_pg::value::numeric::Numeric;
use onlap_pg::{Error, Result};

use super::place;
use super::scalar::{Halt, Item, Walk, date_time, double, encoded, holds, number, soft, variable};
use super::tree::{Expr, Head, Method, Operator, Path, Pattern, Step};
use crate::Cx;
use crate::json::form::{Node, node};
use crate::misc::growth::Growth;
use crate::time::format::standard::Moment;

/// The number of the variables among the values that ids tell apart; the root is 0, what is made comes after.
const VARIABLES: i64 = 1;
const FIRST_MADE: i64 = 2;

/// What takes items.
struct Sink<'a> {
    items: Vec<Item<'a>>,
    /// Whether the first is enough.
    first: bool,
    /// Bytes that the items take.
    size: usize,
    growth: Growth,
}

impl<'a> Sink<'a> {
    fn new(first: bool) -> Sink<'a> {
        Sink { items: Vec::new(), first, size: 0, growth: Growth::new() }
    }

    fn put(&mut self, item: Item<'a>, cx: &Cx<'_>) -> Walk<()> {
        let own = if let Cow::Owned(bytes) = &item.bytes { bytes.len() } else { 0 };
        self.size += size_of::<Item<'_>>() + own;
        self.growth.memory(cx, self.size).map_err(Halt::Hard)?;
        self.items.push(item);
        if self.first { Err(Halt::Done) } else { Ok(()) }
    }
}

/// What holds during a walk.
struct Walker<'a, 'c> {
    strict: bool,
    /// Whether what does not fit the structure finds nothing: in lax mode, and behind `**`.
    lenient: Cell<bool>,
    root: &'a [u8],
    vars: Option<&'a [u8]>,
    /// Where the containers of the root and of the variables lie, once it was asked.
    places: OnceCell<[HashMap<usize, i64>; 2]>,
    /// How many items were made that have ids of their own.
    made: Cell<i64>,
    /// Whether the session's zone may stand for one that a moment has not.
    zoned: bool,
    cx: &'c Cx<'c>,
}

/// What an expression is evaluated for.
#[derive(Clone, Copy)]
struct Place<'a, 'b> {
    /// `@`
    current: &'b Item<'a>,
    /// The last subscript of the array whose subscripts are evaluated.
    last: i64,
}

/// The items that a path finds, or only the first in lax mode; whether moments without a zone are of the session's; and what did not fit the path after them.
///
/// # Errors
/// The statement's.
pub(super) fn find<'a>(
    path: &Path,
    root: &'a [u8],
    vars: Option<&'a [u8]>,
    (first, zoned): (bool, bool),
    cx: &Cx<'_>,
) -> Result<(Vec<Item<'a>>, Option<Error>)> {
    let lenient = Cell::new(!path.strict);
    let (places, made) = (OnceCell::new(), Cell::new(FIRST_MADE));
    let walker = Walker { strict: path.strict, lenient, root, vars, places, made, zoned, cx };
    let mut sink = Sink::new(first && !path.strict);
    let current = Item::from(root);
    let place = Place { current: &current, last: -1 };
    match walker.expr(&path.expr, place, &mut sink) {
        Ok(()) | Err(Halt::Done) => Ok((sink.items, None)),
        Err(Halt::Soft(e)) => Ok((sink.items, Some(e))),
        Err(Halt::Hard(e)) => Err(e),
    }
}

/// A part of an item that was made.
fn copied<'a>(item: &Item<'_>, value: &[u8], part: &[u8]) -> Item<'a> {
    let id = match node(part) {
        Node::Array(_) | Node::Object(_) => item.id + place::within(value, part),
        _ => 0,
    };
    Item { id, ..part.to_vec().into() }
}

/// The parts of a container that an item is: elements, or values of pairs.
fn parts<'a>(item: &Item<'a>) -> Vec<Item<'a>> {
    fn raw(value: &[u8]) -> Vec<&[u8]> {
        match node(value) {
            Node::Array(items) => items.iter().collect(),
            Node::Object(pairs) => pairs.iter().map(|pair| pair.1).collect(),
            _ => Vec::new(),
        }
    }
    match &item.bytes {
        Cow::Borrowed(value) => raw(value).into_iter().map(Item::from).collect(),
        Cow::Owned(value) => {
            let places = place::all(value);
            let copy = |part: &[u8]| {
                let at = places.get(&place::end_of(part)).copied().unwrap_or(0);
                Item { id: item.id + at, ..part.to_vec().into() }
            };
            raw(value).into_iter().map(copy).collect()
        }
    }
}

fn is_array(item: &Item<'_>) -> bool {
    matches!(node(item), Node::Array(_))
}

impl<'a> Walker<'a, '_> {
    /// The items of an expression.
    fn expr(&self, expr: &Expr, place: Place<'a, '_>, sink: &mut Sink<'a>) -> Walk<()> {
        self.cx.go_on().map_err(Halt::Hard)?;
        let item: Item<'a> = match &expr.head {
            Head::Null => encoded(|out| out.null())?,
            Head::Bool(value) => encoded(|out| out.bool(*value))?,
            Head::Number(number) => encoded(|out| out.number(number))?,
            Head::Text(text) => encoded(|out| out.text(text))?,
            Head::Variable(name) => match self.vars {
                Some(vars) => variable(vars, name)?.into(),
                // Operators have none.
                None => encoded(|out| out.null())?,
            },
            Head::Root => self.root.into(),
            Head::Current => place.current.clone(),
            Head::Last => encoded(|out| out.number(&Numeric::from(place.last)))?,
            Head::Binary(operator, left, right) if operator.priority() >= 3 => {
                let result = self.arithmetic(*operator, left, right, place)?;
                encoded(|out| out.number(&result))?
            }
            Head::Sign(negative, operand) => {
                return self.signed(*negative, operand, &expr.steps, place, sink);
            }
            _ => match self.condition(expr, place)? {
                Some(value) => encoded(|out| out.bool(value))?,
                None => encoded(|out| out.null())?,
            },
        };
        self.steps(&expr.steps, item, true, sink)
    }

    /// The items of an expression; in lax mode the elements of those that are arrays.
    fn opened(&self, expr: &Expr, place: Place<'a, '_>, open: bool) -> Walk<Vec<Item<'a>>> {
        let mut sink = Sink::new(false);
        self.expr(expr, place, &mut sink)?;
        if self.strict || !open {
            return Ok(sink.items);
        }
        let mut out = Vec::with_capacity(sink.items.len());
        for item in sink.items {
            if is_array(&item) { out.extend(parts(&item)) } else { out.push(item) }
        }
        Ok(out)
    }

    fn arithmetic(
        &self,
        operator: Operator,
        left: &Expr,
        right: &Expr,
        place: Place<'a, '_>,
    ) -> Walk<Numeric> {
        let left = self.opened(left, place, true)?;
        let right = self.opened(right, place, true)?;
        let (a, b) = (number(operator, "left", &left)?, number(operator, "right", &right)?);
        let result = match operator {
            Operator::Add => a.add(&b),
            Operator::Subtract => a.sub(&b),
            Operator::Multiply => a.mul(&b),
            Operator::Divide => a.div(&b),
            _ => a.rem(&b),
        };
        result.map_err(Halt::Soft)
    }

    fn signed(
        &self,
        negative: bool,
        operand: &Expr,
        steps: &[Step],
        place: Place<'a, '_>,
        sink: &mut Sink<'a>,
    ) -> Walk<()> {
        for item in self.opened(operand, place, true)? {
            let Node::Number(number) = node(&item) else {
                if sink.first && steps.is_empty() {
                    continue;
                }
                let sign = if negative { '-' } else { '+' };
                let message =
                    format!("operand of unary jsonpath operator {sign} is not a numeric value");
                return soft("2203B", message);
            };
            let number = Numeric::load(number);
            let number = if negative { number.negate() } else { number };
            let item = encoded(|out| out.number(&number))?;
            self.steps(steps, item, true, sink)?;
        }
        Ok(())
    }

    /// What steps find in an item.
    fn steps(&self, steps: &[Step], item: Item<'a>, open: bool, sink: &mut Sink<'a>) -> Walk<()> {
        let Some((step, rest)) = steps.split_first() else { return sink.put(item, self.cx) };
        self.cx.go_on().map_err(Halt::Hard)?;
        let opens = match step {
            Step::Key(_) | Step::AnyKey | Step::Filter(_) | Step::DateTime(_) => true,
            Step::Method(method) => !matches!(method, Method::Type | Method::Size),
            _ => false,
        };
        if opens && open && !self.strict && is_array(&item) {
            // An array inside of the array is taken as it is.
            return parts(&item)
                .into_iter()
                .try_for_each(|part| self.steps(steps, part, false, sink));
        }
        match step {
            Step::Key(key) => self.key(key, rest, &item, sink),
            Step::AnyKey => match node(&item) {
                Node::Object(_) => self.each(parts(&item), rest, sink),
                _ if !self.lenient.get() => soft(
                    "2203C",
                    "jsonpath wildcard member accessor can only be applied to an object",
                ),
                _ => Ok(()),
            },
            Step::AnyElement => match node(&item) {
                Node::Array(_) => self.each(parts(&item), rest, sink),
                _ if !self.strict => self.steps(rest, item, true, sink),
                _ if self.lenient.get() => Ok(()),
                _ => soft(
                    "22039",
                    "jsonpath wildcard array accessor can only be applied to an array",
                ),
            },
            Step::Elements(elements) => self.elements(elements, rest, &item, sink),
            Step::Any(first, last) => self.any((*first, *last), 0, rest, item, sink),
            Step::Filter(filter) => {
                let place = Place { current: &item, last: -1 };
                match self.condition(filter, place)? {
                    Some(true) => self.steps(rest, item.clone(), true, sink),
                    _ => Ok(()),
                }
            }
            Step::Method(method) => self.method(*method, rest, item, sink),
            Step::DateTime(template) => {
                let made = date_time(&item, template.as_deref())?;
                self.steps(rest, made, true, sink)
            }
        }
    }

    fn each(&self, items: Vec<Item<'a>>, rest: &[Step], sink: &mut Sink<'a>) -> Walk<()> {
        items.into_iter().try_for_each(|item| self.steps(rest, item, true, sink))
    }

    fn key(&self, key: &str, rest: &[Step], item: &Item<'a>, sink: &mut Sink<'a>) -> Walk<()> {
        fn of<'x>(value: &'x [u8], key: &str) -> Option<Option<&'x [u8]>> {
            match node(value) {
                Node::Object(pairs) => Some(pairs.raw(key)),
                _ => None,
            }
        }
        let found: Option<Option<Item<'a>>> = match &item.bytes {
            Cow::Borrowed(value) => of(value, key).map(|found| found.map(Item::from)),
            Cow::Owned(value) => {
                of(value, key).map(|found| found.map(|part| copied(item, value, part)))
            }
        };
        match found {
            Some(Some(part)) => self.steps(rest, part, true, sink),
            _ if self.lenient.get() => Ok(()),
            Some(None) => soft("2203A", format!("JSON object does not contain key \"{key}\"")),
            None => soft("2203A", "jsonpath member accessor can only be applied to an object"),
        }
    }

    fn elements(
        &self,
        elements: &[(Expr, Option<Expr>)],
        rest: &[Step],
        item: &Item<'a>,
        sink: &mut Sink<'a>,
    ) -> Walk<()> {
        if self.strict && !is_array(item) {
            if self.lenient.get() {
                return Ok(());
            }
            return soft("22039", "jsonpath array accessor can only be applied to an array");
        }
        let items = if is_array(item) { parts(item) } else { vec![item.clone()] };
        let length = items.len() as i64;
        let place = Place { current: item, last: length - 1 };
        for (from, to) in elements {
            let from = self.subscript(from, place)?;
            let to = match to {
                Some(to) => self.subscript(to, place)?,
                None => from,
            };
            if !self.lenient.get() && (from < 0 || from > to || to >= length) {
                return soft("22033", "jsonpath array subscript is out of bounds");
            }
            for at in from.max(0)..=to.min(length - 1) {
                self.steps(rest, items[at as usize].clone(), true, sink)?;
            }
        }
        Ok(())
    }

    fn subscript(&self, expr: &Expr, place: Place<'a, '_>) -> Walk<i64> {
        let mut sink = Sink::new(false);
        self.expr(expr, place, &mut sink)?;
        let number = match sink.items.as_slice() {
            [item] => match node(item) {
                Node::Number(number) => Some(Numeric::load(number)),
                _ => None,
            },
            _ => None,
        };
        let Some(number) = number else {
            return soft("22033", "jsonpath array subscript is not a single numeric value");
        };
        let whole = number.trunc(0).and_then(|number| number.to_int4());
        match whole {
            Ok(at) => Ok(at.into()),
            Err(_) => soft("22033", "jsonpath array subscript is out of integer range"),
        }
    }

    /// The item itself, its parts, theirs and so on, between two levels.
    fn any(
        &self,
        (first, last): (u32, u32),
        level: u32,
        rest: &[Step],
        item: Item<'a>,
        sink: &mut Sink<'a>,
    ) -> Walk<()> {
        let inner = parts(&item);
        let is_leaf = !matches!(node(&item), Node::Array(_) | Node::Object(_));
        let taken = match (level, first, last) {
            (0, first, _) => first == 0,
            (_, u32::MAX, u32::MAX) => is_leaf,
            (level, first, _) => level >= first,
        };
        if taken {
            let before = self.lenient.replace(true);
            let walked = self.steps(rest, item, true, sink);
            self.lenient.set(before);
            walked?;
        }
        if level < last {
            for part in inner {
                self.any((first, last), level + 1, rest, part, sink)?;
            }
        }
        Ok(())
    }

    fn method(
        &self,
        method: Method,
        rest: &[Step],
        item: Item<'a>,
        sink: &mut Sink<'a>,
    ) -> Walk<()> {
        let name = method.name();
        let only =
            |what: &str| format!("jsonpath item method .{name}() can only be applied to {what}");
        let made = match (method, node(&item)) {
            (Method::Type, node) => {
                let name = match node {
                    _ if item.moment.is_some() => item.moment.map_or("", Moment::type_name),
                    Node::Null => "null",
                    Node::Bool(_) => "boolean",
                    Node::Number(_) => "number",
                    Node::Text(_) => "string",
                    Node::Array(_) => "array",
                    Node::Object(_) => "object",
                };
                encoded(|out| out.text(name))?
            }
            (Method::Size, Node::Array(items)) => {
                let length = items.len() as i64;
                encoded(|out| out.number(&Numeric::from(length)))?
            }
            (Method::Size, _) if self.strict && self.lenient.get() => return Ok(()),
            (Method::Size, _) if self.strict => return soft("22039", only("an array")),
            (Method::Size, _) => encoded(|out| out.number(&Numeric::from(1)))?,
            (Method::Abs | Method::Floor | Method::Ceiling, Node::Number(number)) => {
                let number = Numeric::load(number);
                let number = match method {
                    Method::Abs => Ok(number.abs()),
                    Method::Floor => number.floor(),
                    _ => number.ceil(),
                };
                let number = number.map_err(Halt::Soft)?;
                encoded(|out| out.number(&number))?
            }
            (Method::Abs | Method::Floor | Method::Ceiling, _) => {
                return soft("22036", only("a numeric value"));
            }
            (Method::Double, _) if item.moment.is_some() => double(Node::Null)?,
            (Method::Double, node) => double(node)?,
            (Method::KeyValue, Node::Object(_)) => {
                return self.key_values(&item, rest, sink);
            }
            (Method::KeyValue, _) => return soft("2203C", only("an object")),
        };
        self.steps(rest, made, true, sink)
    }

    /// An object per pair. The id is where the object lies, and in which value.
    fn key_values(&self, item: &Item<'a>, rest: &[Step], sink: &mut Sink<'a>) -> Walk<()> {
        let Node::Object(pairs) = node(item) else { unreachable!("it is an object") };
        let id = match &item.bytes {
            Cow::Borrowed(value) => self.place_of(value),
            Cow::Owned(_) => item.id,
        };
        for (key, value) in pairs.iter() {
            let made = encoded(|out| {
                out.begin_object();
                out.key("key")?;
                out.text(key)?;
                out.key("value")?;
                out.raw(value)?;
                out.key("id")?;
                out.number(&Numeric::from(id))?;
                out.end()
            })?;
            let number = self.made.replace(self.made.get() + 1);
            let made = Item { id: number.saturating_mul(place::VALUE), ..made };
            self.steps(rest, made, true, sink)?;
        }
        Ok(())
    }

    /// The id of a part of the root or of the variables.
    fn place_of(&self, value: &[u8]) -> i64 {
        let of = |value: Option<&[u8]>| value.map(place::all).unwrap_or_default();
        let [root, vars] = self.places.get_or_init(|| [of(Some(self.root)), of(self.vars)]);
        let end = place::end_of(value);
        match (root.get(&end), vars.get(&end)) {
            (Some(at), _) => *at,
            (None, at) => VARIABLES * place::VALUE + at.copied().unwrap_or(0),
        }
    }

    /// Whether a condition holds; `None` if that is unknown.
    fn condition(&self, expr: &Expr, place: Place<'a, '_>) -> Walk<Option<bool>> {
        match &expr.head {
            Head::Binary(Operator::And, left, right) => match self.condition(left, place)? {
                Some(false) => Ok(Some(false)),
                left => Ok(match (left, self.condition(right, place)?) {
                    (_, Some(false)) => Some(false),
                    (Some(true), right) => right,
                    _ => None,
                }),
            },
            Head::Binary(Operator::Or, left, right) => match self.condition(left, place)? {
                Some(true) => Ok(Some(true)),
                left => Ok(match (left, self.condition(right, place)?) {
                    (_, Some(true)) => Some(true),
                    (Some(false), right) => right,
                    _ => None,
                }),
            },
            Head::Not(operand) => Ok(self.condition(operand, place)?.map(|value| !value)),
            Head::IsUnknown(operand) => Ok(Some(self.condition(operand, place)?.is_none())),
            Head::Exists(operand) => self.exists(operand, place),
            Head::Binary(operator, left, right) => self.compared(*operator, left, right, place),
            Head::LikeRegex(operand, pattern) => self.like(operand, pattern, place),
            _ => unreachable!("the parser takes conditions alone here"),
        }
    }

    fn exists(&self, operand: &Expr, place: Place<'a, '_>) -> Walk<Option<bool>> {
        let mut sink = Sink::new(!self.strict);
        match self.expr(operand, place, &mut sink) {
            Ok(()) | Err(Halt::Done) => Ok(Some(!sink.items.is_empty())),
            Err(Halt::Soft(_)) => Ok(None),
            Err(hard) => Err(hard),
        }
    }

    fn like(&self, operand: &Expr, pattern: &Pattern, place: Place<'a, '_>) -> Walk<Option<bool>> {
        let items = match self.opened(operand, place, true) {
            Err(Halt::Soft(_)) => return Ok(None),
            items => items?,
        };
        self.any_of(items.iter(), |item| match (node(item), item.moment) {
            (Node::Text(text), None) => pattern.regex.is_in(text, self.cx).map(Some),
            _ => Ok(None),
        })
    }

    /// Whether something holds for one of many. In strict mode all are looked at, and none may be unknown.
    fn any_of<T>(
        &self,
        all: impl Iterator<Item = T>,
        holds: impl Fn(T) -> Result<Option<bool>>,
    ) -> Walk<Option<bool>> {
        let (mut found, mut unknown) = (false, false);
        for (n, one) in all.enumerate() {
            if n % 1024 == 0 {
                self.cx.go_on().map_err(Halt::Hard)?;
            }
            match holds(one).map_err(Halt::Hard)? {
                None if self.strict => return Ok(None),
                None => unknown = true,
                Some(true) if !self.strict => return Ok(Some(true)),
                Some(value) => found |= value,
            }
        }
        Ok(match (found, unknown) {
            (true, _) => Some(true),
            (false, true) => None,
            (false, false) => Some(false),
        })
    }

    fn compared(
        &self,
        operator: Operator,
        left: &Expr,
        right: &Expr,
        place: Place<'a, '_>,
    ) -> Walk<Option<bool>> {
        let quiet = |found: Walk<Vec<Item<'a>>>| match found {
            Ok(items) => Ok(Some(items)),
            Err(Halt::Soft(_)) => Ok(None),
            Err(other) => Err(other),
        };
        let Some(a) = quiet(self.opened(left, place, true))? else { return Ok(None) };
        let open = operator != Operator::StartsWith;
        let Some(b) = quiet(self.opened(right, place, open))? else { return Ok(None) };
        let zone = self.zoned.then_some(self.cx.settings);
        let pairs = a.iter().flat_map(|x| b.iter().map(move |y| (x, y)));
        self.any_of(pairs, |(x, y)| holds(operator, x, y, zone))
    }
}
