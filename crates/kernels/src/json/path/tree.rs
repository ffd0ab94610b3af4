//! What does a jsonpath ask for?
//!
//! Thread safety: plain data.

use std::rc::Rc;

use onlap_pg::value::numeric::Numeric;
use onlap_pg::{Error, Result};

use crate::text::regex::{Flags, Regex, Syntax};

/// A whole path.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    /// Whether what does not fit the structure is an error.
    pub(super) strict: bool,
    pub(super) expr: Expr,
}

/// A binary operator, or a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    StartsWith,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

impl Operator {
    /// As it is written.
    pub(super) fn sign(self) -> &'static str {
        match self {
            Operator::Or => "||",
            Operator::And => "&&",
            Operator::Equal => "==",
            Operator::NotEqual => "!=",
            Operator::Less => "<",
            Operator::LessOrEqual => "<=",
            Operator::Greater => ">",
            Operator::GreaterOrEqual => ">=",
            Operator::StartsWith => "starts with",
            Operator::Add => "+",
            Operator::Subtract => "-",
            Operator::Multiply => "*",
            Operator::Divide => "/",
            Operator::Modulo => "%",
        }
    }

    /// How strongly it binds.
    pub(super) fn priority(self) -> u8 {
        match self {
            Operator::Or => 0,
            Operator::And => 1,
            Operator::Add | Operator::Subtract => 3,
            Operator::Multiply | Operator::Divide | Operator::Modulo => 4,
            _ => 2,
        }
    }
}

/// An expression, and what is done to its items.
#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub(super) head: Head,
    pub(super) steps: Vec<Step>,
}

/// What an expression begins with.
#[derive(Clone, Debug)]
pub(super) enum Head {
    Null,
    Bool(bool),
    Number(Numeric),
    Text(String),
    Variable(String),
    /// `$`
    Root,
    /// `@`
    Current,
    /// `last`
    Last,
    Binary(Operator, Box<Expr>, Box<Expr>),
    /// `-` if true, else `+`
    Sign(bool, Box<Expr>),
    Not(Box<Expr>),
    IsUnknown(Box<Expr>),
    Exists(Box<Expr>),
    LikeRegex(Box<Expr>, Pattern),
}

/// What like_regex looks for.
#[derive(Clone)]
pub(super) struct Pattern {
    pub(super) text: String,
    pub(super) flags: String,
    pub(super) regex: Rc<Regex>,
}

impl std::fmt::Debug for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {:?}", self.text, self.flags)
    }
}

impl Pattern {
    /// Reads a regular expression with flags of XQuery.
    ///
    /// # Errors
    /// `2201B`; `0A000`: flag `x`.
    pub(super) fn new(text: String, flags: String) -> Result<Pattern> {
        let has = |flag| flags.contains(flag);
        let mut of = Flags { any_case: has('i'), ..Flags::PLAIN };
        if has('q') {
            of.syntax = Syntax::Literal;
        } else {
            of.stops_at_lines = !has('s');
            of.anchors_at_lines = has('m');
            if has('x') {
                let message = "XQuery \"x\" flag (expanded regular expressions) is not implemented";
                return Err(Error::new("0A000", message));
            }
        }
        let regex = Rc::new(Regex::new(&text, of)?);
        Ok(Pattern { text, flags, regex })
    }
}

/// What is done to each item.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Key(String),
    /// `.*`
    AnyKey,
    /// `[*]`
    AnyElement,
    /// Subscripts, each perhaps with a last one.
    Elements(Vec<(Expr, Option<Expr>)>),
    /// `.**` between two levels, `u32::MAX` for the last.
    Any(u32, u32),
    Filter(Box<Expr>),
    Method(Method),
    /// `.datetime()`, with its template.
    DateTime(Option<String>),
}

/// `.name()`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Type,
    Size,
    Abs,
    Floor,
    Ceiling,
    Double,
    KeyValue,
}

impl Method {
    /// Its name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Method::Type => "type",
            Method::Size => "size",
            Method::Abs => "abs",
            Method::Floor => "floor",
            Method::Ceiling => "ceiling",
            Method::Double => "double",
            Method::KeyValue => "keyvalue",
        }
    }
}

impl Expr {
    /// One without steps.
    pub(super) fn of(head: Head) -> Expr {
        Expr { head, steps: Vec::new() }
    }

    /// Whether it is a condition: what is done to a condition's result makes an expression of it.
    pub(super) fn is_predicate(&self) -> bool {
        self.steps.is_empty()
            && match &self.head {
                Head::Binary(operator, _, _) => operator.priority() < 3,
                Head::Not(_) | Head::IsUnknown(_) | Head::Exists(_) | Head::LikeRegex(..) => true,
                _ => false,
            }
    }
}
