//! How does an expression lie in a record?
//!
//! Each part is one byte of kind, then its fields, then the parts below it, first to last:
//!
//! | kind | part | fields |
//! |---|---|---|
//! | 1 | column | column id (varint) |
//! | 2 | constant | a value, see `value::codec` |
//! | 3 | comparison | 0 `=`, 1 `<>`, 2 `<`, 3 `<=`, 4 `>`, 5 `>=`, 6 distinct; two parts |
//! | 4, 5 | AND, OR | number of parts (varint) |
//! | 6, 7, 9 | NOT, IS NULL, minus sign | one part |
//! | 8 | arithmetic | 0 `+`, 1 `-`, 2 `*`, 3 `/`, 4 `%`; two parts |
//! | 10 | BETWEEN | three parts |
//! | 11 | IN | number of items (varint); the value, then the items |
//! | 12 | LIKE | pattern behind its length; one part |
//! | 13 | call | 0 length, 1 octet_length, 2 lower, 3 upper, 4 trim, 5 abs, 6 coalesce; number of arguments (varint) |
//! | 14 | formula, alone | program behind its length; number of columns (varint), their ids (varint each) |

use onlap_base::{ColumnId, Result, limits};

use super::{Comparison, Expr, Function, Operation};
use crate::value::{put_value, read_value};
use crate::wire::{Reader, put_bytes, put_varint};

const COMPARISONS: [Comparison; 7] = [
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
    Comparison::Distinct,
];
const OPERATIONS: [Operation; 5] = [
    Operation::Add,
    Operation::Subtract,
    Operation::Multiply,
    Operation::Divide,
    Operation::Remainder,
];
const FUNCTIONS: [Function; 7] = [
    Function::Length,
    Function::OctetLength,
    Function::Lower,
    Function::Upper,
    Function::Trim,
    Function::Abs,
    Function::Coalesce,
];

/// Appends an expression.
///
/// ```
/// use onlap_base::ColumnId;
/// use onlap_format::{Expr, Value, expr};
/// let mut out = Vec::new();
/// expr::put_expr(&mut out, &Expr::Column(ColumnId(7)).less(Value::Int(-2)));
/// // A comparison, `<`; column 7; the constant integer -2.
/// assert_eq!(out, [3, 2, 1, 7, 2, 3, 3]);
/// ```
pub fn put_expr(out: &mut Vec<u8>, expr: &Expr) {
    match expr {
        Expr::Column(c) => {
            out.push(1);
            put_varint(out, c.0.into());
        }
        Expr::Constant(value) => {
            out.push(2);
            put_value(out, value);
        }
        Expr::Compare(how, ..) => out.extend([3, code(&COMPARISONS, how)]),
        Expr::And(parts) => put_counted(out, 4, parts),
        Expr::Or(parts) => put_counted(out, 5, parts),
        Expr::Not(_) => out.push(6),
        Expr::IsNull(_) => out.push(7),
        Expr::Arithmetic(how, ..) => out.extend([8, code(&OPERATIONS, how)]),
        Expr::Negate(_) => out.push(9),
        Expr::Between(..) => out.push(10),
        Expr::In(_, items) => put_counted(out, 11, items),
        Expr::Like(_, pattern) => {
            out.push(12);
            put_bytes(out, pattern.as_bytes());
        }
        Expr::Call(function, args) => {
            out.extend([13, code(&FUNCTIONS, function)]);
            put_varint(out, args.len() as u64);
        }
        Expr::Formula(program, reads) => {
            out.push(14);
            put_bytes(out, program.as_bytes());
            put_varint(out, reads.len() as u64);
            reads.iter().for_each(|c| put_varint(out, c.0.into()));
        }
    }
    expr.children().for_each(|child| put_expr(out, child));
}

fn put_counted(out: &mut Vec<u8>, kind: u8, parts: &[Expr]) {
    out.push(kind);
    put_varint(out, parts.len() as u64);
}

fn code<T: PartialEq>(all: &[T], one: &T) -> u8 {
    all.iter().position(|t| t == one).expect("every variant is listed") as u8
}

/// Reads an expression of at most [`limits::EXPR_NODES`] parts, [`limits::EXPR_DEPTH`] levels deep.
pub fn read_expr(r: &mut Reader<'_>) -> Result<Expr> {
    Decoder { r, nodes_left: limits::EXPR_NODES }.expr(limits::EXPR_DEPTH)
}

struct Decoder<'a, 'b> {
    r: &'a mut Reader<'b>,
    nodes_left: usize,
}

impl Decoder<'_, '_> {
    fn expr(&mut self, depth_left: usize) -> Result<Expr> {
        if depth_left == 0 || self.nodes_left == 0 {
            return Err(self.r.error("an expression above the limits on its size"));
        }
        self.nodes_left -= 1;
        let depth = depth_left - 1;
        Ok(match self.r.u8()? {
            1 => Expr::Column(ColumnId(self.r.varint32()?)),
            2 => Expr::Constant(read_value(self.r)?),
            3 => Expr::Compare(self.one_of(&COMPARISONS)?, self.boxed(depth)?, self.boxed(depth)?),
            4 => Expr::And(self.counted(depth)?),
            5 => Expr::Or(self.counted(depth)?),
            6 => Expr::Not(self.boxed(depth)?),
            7 => Expr::IsNull(self.boxed(depth)?),
            8 => {
                Expr::Arithmetic(self.one_of(&OPERATIONS)?, self.boxed(depth)?, self.boxed(depth)?)
            }
            9 => Expr::Negate(self.boxed(depth)?),
            10 => Expr::Between(self.boxed(depth)?, self.boxed(depth)?, self.boxed(depth)?),
            11 => {
                let n = self.count()?;
                Expr::In(self.boxed(depth)?, self.listed(n, depth)?)
            }
            12 => {
                let pattern = self.r.text()?.to_owned();
                Expr::Like(self.boxed(depth)?, pattern)
            }
            13 => Expr::Call(self.one_of(&FUNCTIONS)?, self.counted(depth)?),
            14 if depth_left == limits::EXPR_DEPTH => {
                let program = self.r.text()?.to_owned();
                let n = self.r.varint_max(limits::COLUMNS, "the number of columns of a formula")?;
                let reads = (0..n).map(|_| self.r.varint32().map(ColumnId));
                Expr::Formula(program, reads.collect::<Result<_>>()?)
            }
            _ => return Err(self.r.error("an unknown part of an expression")),
        })
    }

    fn boxed(&mut self, depth: usize) -> Result<Box<Expr>> {
        self.expr(depth).map(Box::new)
    }

    fn counted(&mut self, depth: usize) -> Result<Vec<Expr>> {
        let n = self.count()?;
        self.listed(n, depth)
    }

    fn count(&mut self) -> Result<usize> {
        self.r.varint_max(self.nodes_left, "the number of parts of an expression")
    }

    fn listed(&mut self, n: usize, depth: usize) -> Result<Vec<Expr>> {
        (0..n).map(|_| self.expr(depth)).collect()
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> Result<T> {
        let code = self.r.u8()?;
        all.get(usize::from(code)).copied().ok_or_else(|| self.r.error("an unknown operator"))
    }
}
