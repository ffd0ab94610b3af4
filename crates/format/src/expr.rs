//! What does a condition on a row say?
//!
//! [`Expr`] is the tree that a schema stores and a program builds: with column ids in the one, with
//! names in the other ([`Expr::with_columns`] goes from names to ids). It says nothing of types;
//! evaluation follows PostgreSQL, three-valued logic included.
//!
//! Trees from outside are limited in depth and size, so that walking one by recursion never exhausts
//! the stack (I8). Pure functions; thread safety: plain data.

use onlap_base::{ColumnId, Error, ErrorKind, Result, limits};

use crate::value::Value;

mod bind;
mod build;
mod cell;
mod codec;
mod eval;
mod like;
mod number;
#[cfg(test)]
mod tests;

pub use bind::Condition;
pub use cell::{BatchRow, Cell, Cells};
pub use codec::{put_expr, read_expr};

/// An expression over the columns of one row.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr<C = ColumnId> {
    /// The value of a column.
    Column(C),
    /// A value.
    Constant(Value),
    /// Two values of comparable types.
    Compare(Comparison, Box<Expr<C>>, Box<Expr<C>>),
    /// True where all parts are, false where one is.
    And(Vec<Expr<C>>),
    /// True where one part is, false where all are.
    Or(Vec<Expr<C>>),
    /// False for true and true for false.
    Not(Box<Expr<C>>),
    /// Whether a value is NULL; never NULL itself.
    IsNull(Box<Expr<C>>),
    /// Two numbers.
    Arithmetic(Operation, Box<Expr<C>>, Box<Expr<C>>),
    /// The number with the other sign.
    Negate(Box<Expr<C>>),
    /// Whether the first lies between the second and the third, ends included.
    Between(Box<Expr<C>>, Box<Expr<C>>, Box<Expr<C>>),
    /// Whether the first equals one of the others.
    In(Box<Expr<C>>, Vec<Expr<C>>),
    /// Whether text matches a pattern: `%` any characters, `_` one, `\` takes the next as it is.
    Like(Box<Expr<C>>, String),
    /// A function of values.
    Call(Function, Vec<Expr<C>>),
    /// What a program calculates of columns, in its order, as of `TableSchema::generated`: true, false or NULL. It is a whole
    /// condition, and no part of another.
    Formula(String, Vec<C>),
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `IS DISTINCT FROM`: NULL equals NULL and nothing else
    Distinct,
}

/// What is done with two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`, of integers towards zero
    Divide,
    /// `%`, with the sign of the dividend
    Remainder,
}

/// A function; NULL for a NULL argument, except for [`Function::Coalesce`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// Characters of a text, bytes of a bytea
    Length,
    /// Bytes of a text or bytea
    OctetLength,
    /// Text in lower case
    Lower,
    /// Text in upper case
    Upper,
    /// Text without blanks at both ends
    Trim,
    /// A number without its sign
    Abs,
    /// The first argument that is not NULL
    Coalesce,
}

impl<C> Expr<C> {
    /// The parts directly below.
    pub fn children(&self) -> impl Iterator<Item = &Expr<C>> {
        let (fixed, listed): ([Option<&Expr<C>>; 3], &[Expr<C>]) = match self {
            Expr::Column(_) | Expr::Constant(_) | Expr::Formula(..) => ([None; 3], &[]),
            Expr::Compare(_, a, b) | Expr::Arithmetic(_, a, b) => ([Some(a), Some(b), None], &[]),
            Expr::And(parts) | Expr::Or(parts) | Expr::Call(_, parts) => ([None; 3], parts),
            Expr::Not(e) | Expr::IsNull(e) | Expr::Negate(e) | Expr::Like(e, _) => {
                ([Some(e), None, None], &[])
            }
            Expr::Between(e, low, high) => ([Some(e), Some(low), Some(high)], &[]),
            Expr::In(e, items) => ([Some(e), None, None], items),
        };
        fixed.into_iter().flatten().chain(listed)
    }

    /// Refuses a tree above [`limits::EXPR_DEPTH`] or [`limits::EXPR_NODES`], without recursion.
    pub fn check_size(&self) -> Result<()> {
        let mut open = vec![(self, 1)];
        let mut nodes = 0;
        while let Some((expr, depth)) = open.pop() {
            nodes += 1;
            if depth > limits::EXPR_DEPTH || nodes > limits::EXPR_NODES {
                let text = format!(
                    "an expression has at most {} parts in {} levels",
                    limits::EXPR_NODES,
                    limits::EXPR_DEPTH
                );
                return Err(Error::new(ErrorKind::LimitExceeded, text));
            }
            open.extend(expr.children().map(|child| (child, depth + 1)));
        }
        Ok(())
    }

    /// The same expression with other names for the columns. Call [`Expr::check_size`] first on trees
    /// of unknown depth.
    pub fn with_columns<D>(&self, name: &mut dyn FnMut(&C) -> Result<D>) -> Result<Expr<D>> {
        let mut one = |e: &Expr<C>| e.with_columns(name).map(Box::new);
        Ok(match self {
            Expr::Constant(value) => Expr::Constant(value.clone()),
            Expr::Compare(how, a, b) => Expr::Compare(*how, one(a)?, one(b)?),
            Expr::Not(e) => Expr::Not(one(e)?),
            Expr::IsNull(e) => Expr::IsNull(one(e)?),
            Expr::Arithmetic(how, a, b) => Expr::Arithmetic(*how, one(a)?, one(b)?),
            Expr::Negate(e) => Expr::Negate(one(e)?),
            Expr::Between(e, low, high) => Expr::Between(one(e)?, one(low)?, one(high)?),
            Expr::Like(e, pattern) => Expr::Like(one(e)?, pattern.clone()),
            Expr::Column(c) => Expr::Column(name(c)?),
            Expr::And(parts) => Expr::And(all(parts, name)?),
            Expr::Or(parts) => Expr::Or(all(parts, name)?),
            Expr::In(e, items) => {
                let e = one(e)?;
                Expr::In(e, all(items, name)?)
            }
            Expr::Call(f, args) => Expr::Call(*f, all(args, name)?),
            Expr::Formula(program, reads) => {
                let reads = reads.iter().map(name).collect::<Result<_>>()?;
                Expr::Formula(program.clone(), reads)
            }
        })
    }
}

fn all<C, D>(parts: &[Expr<C>], name: &mut dyn FnMut(&C) -> Result<D>) -> Result<Vec<Expr<D>>> {
    parts.iter().map(|e| e.with_columns(name)).collect()
}

impl Expr {
    /// The columns that the expression reads, each once.
    pub fn columns(&self) -> Vec<ColumnId> {
        let mut columns = Vec::new();
        let mut open = vec![self];
        while let Some(expr) = open.pop() {
            match expr {
                Expr::Column(c) => columns.push(*c),
                Expr::Formula(_, reads) => columns.extend_from_slice(reads),
                _ => {}
            }
            open.extend(expr.children());
        }
        columns.sort_unstable();
        columns.dedup();
        columns
    }
}
