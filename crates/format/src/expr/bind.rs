//! Does an expression make sense for a table?
//!
//! Binding finds the columns and the types, as PostgreSQL would, and refuses what it would: numbers
//! meet in the widest of their types, a date meets a timestamp at midnight, char meets others without
//! its trailing blanks. What comes out is evaluated without another look at types. timestamp and
//! timestamptz are one type here: both count from 1970 in UTC.

use onlap_base::{Error, ErrorKind, Result};

use super::eval::{Meeting, Node};
use super::like::Pattern;
use super::{Expr, Function};
use crate::schema::TableSchema;
use crate::types::DataType;
use crate::value::Value;

/// A condition on the rows of one schema version of a table.
#[derive(Clone, Debug)]
pub struct Condition {
    pub(super) node: Node,
}

/// What type a part of an expression has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// NULL, which goes with everything.
    Unknown,
    // Numbers, each wider than those before.
    Int2,
    Int4,
    Int8,
    Numeric,
    Float4,
    Float8,
    Bool,
    Text,
    Char,
    Bytes,
    Uuid,
    Date,
    Time,
    Timestamp,
    Json,
}

impl Kind {
    fn of(ty: DataType) -> Kind {
        match ty {
            DataType::Bool => Kind::Bool,
            DataType::Int2 => Kind::Int2,
            DataType::Int4 => Kind::Int4,
            DataType::Int8 => Kind::Int8,
            DataType::Float4 => Kind::Float4,
            DataType::Float8 => Kind::Float8,
            DataType::Numeric(_) => Kind::Numeric,
            DataType::Text | DataType::Varchar(_) => Kind::Text,
            DataType::Char(_) => Kind::Char,
            DataType::Bytea => Kind::Bytes,
            DataType::Uuid => Kind::Uuid,
            DataType::Date => Kind::Date,
            DataType::Time => Kind::Time,
            DataType::Timestamp | DataType::Timestamptz => Kind::Timestamp,
            // Conditions of the engine know no order in which case does not count.
            DataType::Json | DataType::Folded => Kind::Json,
        }
    }

    fn of_value(value: &Value) -> Kind {
        match value {
            Value::Null => Kind::Unknown,
            Value::Bool(_) => Kind::Bool,
            Value::Int(v) if i32::try_from(*v).is_ok() => Kind::Int4,
            Value::Int(_) => Kind::Int8,
            Value::Float(_) => Kind::Float8,
            Value::Numeric(_) => Kind::Numeric,
            Value::Text(_) => Kind::Text,
            Value::Bytes(_) => Kind::Bytes,
            Value::Uuid(_) => Kind::Uuid,
            Value::Date(_) => Kind::Date,
            Value::Time(_) => Kind::Time,
            Value::Timestamp(_) => Kind::Timestamp,
        }
    }

    fn is_number(self) -> bool {
        (Kind::Int2..=Kind::Float8).contains(&self)
    }

    fn is_text(self) -> bool {
        matches!(self, Kind::Text | Kind::Char)
    }

    /// The type in which values of two types meet.
    fn meet(self, other: Kind) -> Option<Kind> {
        let (low, high) = (self.min(other), self.max(other));
        match (low, high) {
            (Kind::Unknown, kind) => Some(kind),
            // float4 keeps its precision among its own only.
            (low, Kind::Float4) if low.is_number() && low != high => Some(Kind::Float8),
            (low, high) if low == high || low.is_number() && high.is_number() => Some(high),
            (Kind::Text, Kind::Char) => Some(Kind::Text),
            (Kind::Date, Kind::Timestamp) => Some(Kind::Timestamp),
            _ => None,
        }
    }
}

impl Expr {
    /// Makes the expression ready for rows of a table.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownColumn`]; [`ErrorKind::WrongType`] where types do not go together, or where
    /// the whole is no condition; [`ErrorKind::LimitExceeded`]; a pattern that ends in its escape.
    pub fn bind(&self, schema: &TableSchema) -> Result<Condition> {
        self.check_size()?;
        let node = Binder { schema }.condition(self)?;
        Ok(Condition { node })
    }
}

/// One side of a comparison.
struct Part {
    node: Node,
    kind: Kind,
    literal: bool,
}

struct Binder<'a> {
    schema: &'a TableSchema,
}

impl Binder<'_> {
    fn condition(&self, expr: &Expr) -> Result<Node> {
        let (node, kind) = self.bind(expr)?;
        match kind {
            Kind::Bool | Kind::Unknown => Ok(node),
            _ => Err(wrong_type(format!("{kind:?} stands where a condition is expected"))),
        }
    }

    fn bind(&self, expr: &Expr) -> Result<(Node, Kind)> {
        Ok(match expr {
            Expr::Column(id) => {
                let at = self.schema.position(*id).ok_or_else(|| {
                    let text = format!("table {} has no column of id {id}", self.schema.name);
                    Error::new(ErrorKind::UnknownColumn, text)
                })?;
                (Node::Column(at), Kind::of(self.schema.columns[at].ty))
            }
            Expr::Constant(value) => (Node::Constant(value.clone()), Kind::of_value(value)),
            Expr::Compare(how, a, b) => {
                let part = self.part(a)?;
                let (meeting, b) = self.meet(&part, b)?;
                (Node::Compare(*how, meeting, Box::new(part.node), Box::new(b)), Kind::Bool)
            }
            Expr::And(parts) => (Node::And(self.conditions(parts)?), Kind::Bool),
            Expr::Or(parts) => (Node::Or(self.conditions(parts)?), Kind::Bool),
            Expr::Not(e) => (Node::Not(Box::new(self.condition(e)?)), Kind::Bool),
            Expr::IsNull(e) => (Node::IsNull(Box::new(self.bind(e)?.0)), Kind::Bool),
            Expr::Between(e, low, high) => {
                let part = self.part(e)?;
                let ends = [self.meet(&part, low)?, self.meet(&part, high)?];
                (Node::Between(Box::new((part.node, ends))), Kind::Bool)
            }
            Expr::In(e, items) => {
                let part = self.part(e)?;
                let items = items.iter().map(|item| self.meet(&part, item));
                let items = items.collect::<Result<_>>()?;
                (Node::In(Box::new(part.node), items), Kind::Bool)
            }
            Expr::Like(e, pattern) => {
                let (node, kind) = self.bind(e)?;
                if !kind.is_text() && kind != Kind::Unknown {
                    return Err(wrong_type(format!("LIKE takes text, not {kind:?}")));
                }
                (Node::Like(Box::new(node), Pattern::parse(pattern)?), Kind::Bool)
            }
            Expr::Arithmetic(how, a, b) => {
                let ((a, a_kind), (b, b_kind)) = (self.bind(a)?, self.bind(b)?);
                let kind = number(a_kind.meet(b_kind), a_kind, b_kind)?;
                let float = matches!(kind, Kind::Float4 | Kind::Float8);
                if float && *how == super::Operation::Remainder {
                    return Err(wrong_type("% takes integers and numerics, not floats".into()));
                }
                (Node::Arithmetic(*how, kind, Box::new(a), Box::new(b)), kind)
            }
            Expr::Negate(e) => {
                let (node, kind) = self.bind(e)?;
                let kind = number(Some(kind), kind, kind)?;
                (Node::Negate(kind, Box::new(node)), kind)
            }
            Expr::Call(function, args) => self.call(*function, args)?,
            Expr::Formula(..) => {
                return Err(wrong_type("a formula is judged by who calculates it".into()));
            }
        })
    }

    fn conditions(&self, parts: &[Expr]) -> Result<Vec<Node>> {
        parts.iter().map(|p| self.condition(p)).collect()
    }

    fn part(&self, expr: &Expr) -> Result<Part> {
        let (node, kind) = self.bind(expr)?;
        Ok(Part { node, kind, literal: matches!(expr, Expr::Constant(_)) })
    }

    /// What a part is compared with, and how the two meet. Each expression is bound once: twice on
    /// every level would take for ever.
    fn meet(&self, a: &Part, b: &Expr) -> Result<(Meeting, Node)> {
        let b = self.part(b)?;
        let kind = a.kind.meet(b.kind).filter(|kind| *kind != Kind::Json);
        let kind = kind.ok_or_else(|| {
            wrong_type(format!("{:?} and {:?} cannot be compared with each other", a.kind, b.kind))
        })?;
        let char_a = a.kind == Kind::Char || b.kind == Kind::Char && a.literal;
        let char_b = b.kind == Kind::Char || a.kind == Kind::Char && b.literal;
        Ok((Meeting { kind, trim: (char_a, char_b) }, b.node))
    }

    fn call(&self, function: Function, args: &[Expr]) -> Result<(Node, Kind)> {
        let bound: Vec<(Node, Kind)> = args.iter().map(|a| self.bind(a)).collect::<Result<_>>()?;
        let mut kind = Kind::Unknown;
        for (_, other) in &bound {
            kind = kind.meet(*other).ok_or_else(|| {
                wrong_type(format!("coalesce of {kind:?} and {other:?}, which have no common type"))
            })?;
        }
        let many = function == Function::Coalesce && !args.is_empty();
        if args.len() != 1 && !many {
            let text = format!("{function:?} of {} arguments", args.len());
            return Err(Error::new(ErrorKind::InvalidInput, text));
        }
        let fits = kind == Kind::Unknown
            || match function {
                Function::Length | Function::OctetLength => kind.is_text() || kind == Kind::Bytes,
                Function::Lower | Function::Upper | Function::Trim => kind.is_text(),
                Function::Abs => kind.is_number(),
                Function::Coalesce => true,
            };
        if !fits {
            return Err(wrong_type(format!("{function:?} does not take {kind:?}")));
        }
        let result = match function {
            Function::Length | Function::OctetLength => Kind::Int4,
            Function::Lower | Function::Upper | Function::Trim => Kind::Text,
            Function::Abs | Function::Coalesce => kind,
        };
        let nodes = bound.into_iter().map(|(node, _)| node).collect();
        Ok((Node::Call(function, kind, nodes), result))
    }
}

/// The type of a calculation; NULL calculates as an integer.
fn number(met: Option<Kind>, a: Kind, b: Kind) -> Result<Kind> {
    match met {
        Some(Kind::Unknown) => Ok(Kind::Int4),
        Some(kind) if kind.is_number() => Ok(kind),
        _ => Err(wrong_type(format!("there is no arithmetic of {a:?} and {b:?}"))),
    }
}

fn wrong_type(text: String) -> Error {
    Error::new(ErrorKind::WrongType, text)
}
