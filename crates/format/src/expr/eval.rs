//! What does an expression come to for a row?
//!
//! Three-valued logic: NULL is neither true nor false; AND and OR look at their parts from left to
//! right and stop where the rest cannot matter, so that a part may guard those behind it.

use std::borrow::Cow;
use std::cmp::Ordering;

use onlap_base::{Error, Result};

use super::bind::{Condition, Kind};
use super::cell::{BatchRow, Cell, Cells};
use super::like::Pattern;
use super::{Comparison, Function, Operation, number};
use crate::batch::Batch;
use crate::convert::{DAY_US, order_f64};
use crate::schema::TableSchema;
use crate::value::Value;

/// A part of a bound expression.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Column(usize),
    Constant(Value),
    Compare(Comparison, Meeting, Box<Node>, Box<Node>),
    /// The value, and its two ends.
    Between(Box<(Node, [(Meeting, Node); 2])>),
    In(Box<Node>, Vec<(Meeting, Node)>),
    And(Vec<Node>),
    Or(Vec<Node>),
    Not(Box<Node>),
    IsNull(Box<Node>),
    Arithmetic(Operation, Kind, Box<Node>, Box<Node>),
    Negate(Kind, Box<Node>),
    Like(Box<Node>, Pattern),
    Call(Function, Kind, Vec<Node>),
}

/// How two values are compared: in which type, and which of them without trailing blanks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meeting {
    pub(super) kind: Kind,
    pub(super) trim: (bool, bool),
}

impl Condition {
    /// True, false, or `None` for NULL.
    ///
    /// # Errors
    /// A number out of range, a division by zero.
    pub fn evaluate(&self, row: &(impl Cells + ?Sized)) -> Result<Option<bool>> {
        self.node.truth(row)
    }

    /// The first row of a batch, whose columns are the table's, for which the condition is false.
    ///
    /// # Errors
    /// As for [`Condition::evaluate`].
    pub fn first_false(
        &self,
        schema: &TableSchema,
        batch: &Batch,
        rows: std::ops::Range<usize>,
    ) -> Result<Option<usize>> {
        for row in rows {
            if self.evaluate(&BatchRow { schema, batch, row })? == Some(false) {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }
}

impl Node {
    fn truth(&self, row: &(impl Cells + ?Sized)) -> Result<Option<bool>> {
        Ok(match self {
            Node::And(parts) => chain(parts, false, |part| part.truth(row))?,
            Node::Or(parts) => chain(parts, true, |part| part.truth(row))?,
            Node::Between(parts) => {
                let (value, [low, high]) = (parts.0.value(row)?, &parts.1);
                let ends = [(Comparison::GreaterOrEqual, low), (Comparison::LessOrEqual, high)];
                chain(&ends, false, |(how, end)| compare(*how, end.0, &value, &end.1.value(row)?))?
            }
            Node::In(value, items) => {
                let value = value.value(row)?;
                chain(items, true, |item| {
                    compare(Comparison::Equal, item.0, &value, &item.1.value(row)?)
                })?
            }
            Node::Not(part) => part.truth(row)?.map(|b| !b),
            Node::IsNull(part) => Some(part.value(row)? == Cell::Null),
            Node::Compare(how, meeting, a, b) => {
                compare(*how, *meeting, &a.value(row)?, &b.value(row)?)?
            }
            Node::Like(text, pattern) => match text.value(row)? {
                Cell::Text(s) => Some(pattern.matches(&s)),
                _ => None,
            },
            _ => match self.value(row)? {
                Cell::Bool(b) => Some(b),
                _ => None,
            },
        })
    }

    fn value<'a>(&'a self, row: &'a (impl Cells + ?Sized)) -> Result<Cell<'a>> {
        Ok(match self {
            Node::Column(at) => row.cell(*at),
            Node::Constant(value) => Cell::from(value),
            Node::Arithmetic(how, kind, a, b) => match (a.value(row)?, b.value(row)?) {
                (Cell::Null, _) | (_, Cell::Null) => Cell::Null,
                (a, b) => number::calculate(*how, *kind, &a, &b)?,
            },
            Node::Negate(kind, part) => match part.value(row)? {
                Cell::Null => Cell::Null,
                v => number::calculate(Operation::Subtract, *kind, &Cell::Int(0), &v)?,
            },
            Node::Call(Function::Coalesce, _, args) => {
                for arg in args {
                    let v = arg.value(row)?;
                    if v != Cell::Null {
                        return Ok(v);
                    }
                }
                Cell::Null
            }
            Node::Call(function, kind, args) => call(*function, *kind, args[0].value(row)?)?,
            _ => self.truth(row)?.map_or(Cell::Null, Cell::Bool),
        })
    }
}

/// AND (`decides` is false) or OR (true).
fn chain<T>(
    parts: &[T],
    decides: bool,
    truth: impl Fn(&T) -> Result<Option<bool>>,
) -> Result<Option<bool>> {
    let mut result = Some(!decides);
    for part in parts {
        match truth(part)? {
            Some(b) if b == decides => return Ok(Some(decides)),
            Some(_) => {}
            None => result = None,
        }
    }
    Ok(result)
}

fn compare(how: Comparison, m: Meeting, a: &Cell<'_>, b: &Cell<'_>) -> Result<Option<bool>> {
    let nulls = (*a == Cell::Null, *b == Cell::Null);
    if nulls.0 || nulls.1 {
        return Ok((how == Comparison::Distinct).then_some(nulls.0 != nulls.1));
    }
    let order = order(m, a, b)?;
    Ok(Some(match how {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual | Comparison::Distinct => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
    }))
}

fn order(m: Meeting, a: &Cell<'_>, b: &Cell<'_>) -> Result<Ordering> {
    let trimmed = |s: &'_ str, trim: bool| {
        if trim { s.trim_end_matches(' ').len() } else { s.len() }
    };
    Ok(match (a, b) {
        (Cell::Int(a), Cell::Int(b)) if m.kind < Kind::Numeric => a.cmp(b),
        (Cell::Bool(a), Cell::Bool(b)) => a.cmp(b),
        (Cell::Text(a), Cell::Text(b)) => a[..trimmed(a, m.trim.0)].cmp(&b[..trimmed(b, m.trim.1)]),
        (Cell::Bytes(a), Cell::Bytes(b)) => a.cmp(b),
        (Cell::Uuid(a), Cell::Uuid(b)) => a.cmp(b),
        (Cell::Date(a), Cell::Date(b)) => a.cmp(b),
        (Cell::Time(a), Cell::Time(b)) | (Cell::Timestamp(a), Cell::Timestamp(b)) => a.cmp(b),
        (Cell::Date(a), Cell::Timestamp(b)) => midnight(*a).cmp(&i128::from(*b)),
        (Cell::Timestamp(a), Cell::Date(b)) => i128::from(*a).cmp(&midnight(*b)),
        _ if m.kind == Kind::Float4 || m.kind == Kind::Float8 => {
            let float = |c| Ok::<i64, Error>(order_f64(number::float(c)? + 0.0));
            float(a)?.cmp(&float(b)?)
        }
        _ => number::numeric(a)?.compare(&number::numeric(b)?),
    })
}

/// In microseconds; dates reach further than timestamps.
fn midnight(days: i32) -> i128 {
    i128::from(days) * i128::from(DAY_US)
}

fn call<'a>(function: Function, kind: Kind, arg: Cell<'a>) -> Result<Cell<'a>> {
    let length = |n: usize| Cell::Int(n as i64);
    Ok(match (function, arg) {
        (_, Cell::Null) => Cell::Null,
        (Function::Length, Cell::Text(s)) if kind == Kind::Char => {
            length(s.trim_end_matches(' ').chars().count())
        }
        (Function::Length, Cell::Text(s)) => length(s.chars().count()),
        (Function::OctetLength, Cell::Text(s)) => length(s.len()),
        (Function::Length | Function::OctetLength, Cell::Bytes(b)) => length(b.len()),
        // The C collation knows the case of ASCII letters only.
        (Function::Lower, Cell::Text(s)) => Cell::Text(Cow::Owned(s.to_ascii_lowercase())),
        (Function::Upper, Cell::Text(s)) => Cell::Text(Cow::Owned(s.to_ascii_uppercase())),
        (Function::Trim, Cell::Text(s)) => Cell::Text(Cow::Owned(s.trim_matches(' ').to_owned())),
        (_, arg) => number::magnitude(kind, arg)?,
    })
}
