//! Which rows does a WHERE clause mean, as comparisons of columns with values?

use std::cmp::Ordering;

use onlap::{DataType, Row, TableSchema, Value, convert};
use onlap_pg::ast::{self, Expr, ExprId, Is, OpName, Tree};

use super::Source;
use crate::assign::assign;
use crate::error::Result;
use crate::plan::access::{Bound, BoundOp};
use crate::session::Parameter;
use crate::types::{Cell, PgType};

/// A conjunction of conditions on single columns.
#[derive(Clone, Debug, Default)]
pub struct Conditions {
    all: Vec<Condition>,
    /// Types of parameters by number.
    pub parameters: Vec<(usize, PgType)>,
}

#[derive(Clone, Debug)]
struct Condition {
    column: usize,
    test: Test,
}

#[derive(Clone, Debug)]
enum Test {
    Compare(Op, Operand),
    In(Vec<Operand>),
    IsNull(bool),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Bound(BoundOp),
    NotEqual,
}

/// A value that is known when the statement runs.
#[derive(Clone, Debug)]
pub enum Operand {
    /// A literal.
    Literal(Literal),
    /// A parameter, from 1.
    Parameter(usize),
}

/// A literal, as far as its text tells its type.
#[derive(Clone, Debug)]
pub enum Literal {
    /// NULL
    Null,
    /// true, false
    Bool(bool),
    /// a number
    Number(String),
    /// text of a type that what it meets decides
    Text(String),
}

impl Conditions {
    /// The columns that are compared, by their places.
    pub fn columns(&self) -> impl Iterator<Item = usize> {
        self.all.iter().map(|condition| condition.column)
    }
}

impl Operand {
    /// A literal or a parameter; a number's sign is part of it.
    pub fn of(tree: &Tree, expr: ExprId) -> Option<Operand> {
        let literal = match tree.expr(expr) {
            Expr::Param(n) => {
                let n = usize::try_from(*n).ok().filter(|n| *n > 0);
                return n.map(Operand::Parameter);
            }
            Expr::Literal(literal) => literal,
            _ => return None,
        };
        Some(Operand::Literal(match literal {
            ast::Literal::Null => Literal::Null,
            ast::Literal::Bool(b) => Literal::Bool(*b),
            ast::Literal::Int(n) => Literal::Number(n.to_string()),
            ast::Literal::Number(n) => Literal::Number(n.to_string()),
            ast::Literal::Text(text) => Literal::Text(text.to_string()),
            ast::Literal::Bits(_) | ast::Literal::Hex(_) => return None,
        }))
    }

    /// A literal's value in the type that its text tells; `None` for a parameter.
    pub fn as_value(&self) -> Result<Option<Value>> {
        Ok(Some(match self {
            Operand::Parameter(_) => return Ok(None),
            Operand::Literal(Literal::Null) => Value::Null,
            Operand::Literal(Literal::Bool(b)) => Value::Bool(*b),
            Operand::Literal(Literal::Text(s)) => Value::Text(s.clone()),
            Operand::Literal(Literal::Number(n)) => match n.parse::<i64>() {
                Ok(v) => Value::Int(v),
                // One that the engine's numbers end before is the planner's.
                Err(_) => {
                    let numeric = PgType::new(crate::types::oid::NUMERIC);
                    return Ok(crate::types::text_value(numeric, n).ok());
                }
            },
        }))
    }

    /// The value in a column's type; `None` where comparing it with the column is more than that.
    pub fn value(&self, ty: DataType, values: &[Parameter]) -> Result<Option<Value>> {
        let text;
        let (cell, unknown) = match self {
            Operand::Parameter(n) => match values.get(n - 1) {
                // A number that the engine's end before.
                Some(Parameter { ty, value: Value::Text(_) })
                    if ty.oid == crate::types::oid::NUMERIC =>
                {
                    return Ok(None);
                }
                Some(parameter) => {
                    let untyped = matches!(parameter.value, Value::Text(_))
                        && parameter.ty.oid != crate::types::oid::BPCHAR;
                    (Cell::of_value(&parameter.value), untyped)
                }
                None => return Ok(None),
            },
            Operand::Literal(Literal::Null) => (Cell::Null, false),
            Operand::Literal(Literal::Bool(b)) => (Cell::Bool(*b), false),
            Operand::Literal(Literal::Number(n)) => match n.parse::<i64>() {
                Ok(v) => (Cell::Int(v), false),
                Err(_) => {
                    let numeric = PgType::new(crate::types::oid::NUMERIC);
                    let Ok(number) = crate::types::text_value(numeric, n) else { return Ok(None) };
                    text = number;
                    (Cell::of_value(&text), false)
                }
            },
            Operand::Literal(Literal::Text(s)) => (Cell::Text(s), true),
        };
        same_value(cell, unknown, ty)
    }
}

/// A value in a column's type, if comparing in that type gives what PostgreSQL's comparison gives.
fn same_value(cell: Cell<'_>, unknown: bool, ty: DataType) -> Result<Option<Value>> {
    let numeric =
        |ty| matches!(ty, DataType::Int2 | DataType::Int4 | DataType::Int8 | DataType::Numeric(_));
    let same = match (&cell, ty) {
        (Cell::Null, _) => true,
        // char(n) is kept without the blanks that do not count.
        (Cell::Text(s), DataType::Char(n)) => {
            let s = s.trim_end_matches(' ');
            return Ok((s.chars().count() <= n as usize).then(|| Value::Text(s.to_string())));
        }
        (Cell::Text(s), DataType::Varchar(_) | DataType::Text) => {
            return Ok(Some(Value::Text((*s).to_string())));
        }
        (Cell::Text(_), DataType::Json) => false,
        // A time without zone means the session's.
        (Cell::Text(_), DataType::Timestamptz) => false,
        (Cell::Text(_), _) => unknown,
        (Cell::Int(v), DataType::Int2 | DataType::Int4 | DataType::Int8) => {
            let (min, max) = convert::int_range(ty);
            (min..=max).contains(v)
        }
        (Cell::Int(_), ty) => numeric(ty) || matches!(ty, DataType::Float8),
        (Cell::Numeric(n), ty) => numeric(ty) && is_kept(n, ty),
        (Cell::Float(_), DataType::Float8)
        | (Cell::Bool(_), DataType::Bool)
        | (Cell::Bytes(_), DataType::Bytea)
        | (Cell::Uuid(_), DataType::Uuid)
        | (Cell::Date(_), DataType::Date | DataType::Timestamp)
        | (Cell::Time(_), DataType::Time) => true,
        (Cell::Timestamp(_), DataType::Timestamp | DataType::Timestamptz) => true,
        _ => false,
    };
    if !same {
        return Ok(None);
    }
    match assign(cell, ty) {
        Ok(value) => Ok(Some(value)),
        // A number that the column cannot hold is compared as a number.
        Err(e) if e.state() == "22003" => Ok(None),
        Err(e) => Err(e),
    }
}

fn is_kept(n: &onlap::Numeric, ty: DataType) -> bool {
    let scale = match ty {
        DataType::Numeric(Some((_, scale))) => scale,
        DataType::Numeric(None) => return true,
        _ => 0,
    };
    !n.is_nan() && n.rescale(scale).is_some_and(|r| r.compare(n) == Ordering::Equal)
}

/// Conditions with their values.
pub struct Resolved {
    /// Rows meet all bounds of one of these; no row is in two.
    pub alternatives: Vec<Vec<Bound>>,
    /// What else rows must meet, besides the bounds that an index stands for.
    pub rest: Vec<Rest>,
}

/// A condition that no index stands for.
#[derive(Clone, Debug)]
pub enum Rest {
    /// A comparison.
    Bound(Bound),
    /// `<>`
    NotEqual(usize, Value),
    /// IS NULL, IS NOT NULL
    IsNull(usize, bool),
}

impl Rest {
    /// The column that it is about.
    pub fn column(&self) -> usize {
        match self {
            Rest::Bound(bound) => bound.column,
            Rest::NotEqual(column, _) | Rest::IsNull(column, _) => *column,
        }
    }

    /// Whether a value meets it.
    pub fn holds(&self, ty: DataType, value: &Value) -> bool {
        match self {
            Rest::IsNull(_, wanted) => (*value == Value::Null) == *wanted,
            _ if *value == Value::Null => false,
            Rest::NotEqual(_, other) => convert::compare_values(ty, value, other).is_ne(),
            Rest::Bound(bound) => {
                let order = convert::compare_values(ty, value, &bound.value);
                match bound.op {
                    BoundOp::Equal => order.is_eq(),
                    BoundOp::Less => order.is_lt(),
                    BoundOp::LessOrEqual => order.is_le(),
                    BoundOp::Greater => order.is_gt(),
                    BoundOp::GreaterOrEqual => order.is_ge(),
                }
            }
        }
    }
}

impl Conditions {
    /// The conditions of a WHERE clause; `None` where one is of another kind.
    pub fn of(source: &Source, tree: &Tree, filter: Option<ExprId>) -> Option<Conditions> {
        let mut conditions = Conditions::default();
        if let Some(expr) = filter {
            conditions.add(source, tree, expr)?;
        }
        Some(conditions)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    fn add(&mut self, source: &Source, tree: &Tree, expr: ExprId) -> Option<()> {
        let operand = |expr| Operand::of(tree, expr);
        match tree.expr(expr) {
            Expr::And(all) => all.iter().try_for_each(|expr| self.add(source, tree, *expr)),
            Expr::Op(op, Some(left), right) => {
                let op = op_of(op)?;
                match source.column(tree, *left) {
                    Some(column) => self.push(source, column, Test::Compare(op, operand(*right)?)),
                    None => {
                        let column = source.column(tree, *right)?;
                        self.push(source, column, Test::Compare(turned(op), operand(*left)?))
                    }
                }
            }
            Expr::Between { not: false, symmetric: false, value, low, high } => {
                let column = source.column(tree, *value)?;
                let from = Test::Compare(Op::Bound(BoundOp::GreaterOrEqual), operand(*low)?);
                let to = Test::Compare(Op::Bound(BoundOp::LessOrEqual), operand(*high)?);
                self.push(source, column, from)?;
                self.push(source, column, to)
            }
            Expr::In(value, list, false) => {
                let operands =
                    list.iter().map(|item| operand(*item)).collect::<Option<Vec<_>>>()?;
                self.push(source, source.column(tree, *value)?, Test::In(operands))
            }
            Expr::Is(value, Is::Null, not) => {
                self.push(source, source.column(tree, *value)?, Test::IsNull(!not))
            }
            _ => None,
        }
    }

    fn push(&mut self, source: &Source, column: usize, test: Test) -> Option<()> {
        let ty = source.schema.columns[column].ty;
        if !source.types[column].takes_conditions() && !matches!(test, Test::IsNull(_)) {
            return None;
        }
        // Floats of four bytes are compared as what they are rounded to, JSON not at all.
        if matches!(ty, DataType::Float4 | DataType::Json | DataType::Folded)
            && !matches!(test, Test::IsNull(_))
        {
            return None;
        }
        let operands = match &test {
            Test::Compare(_, operand) => std::slice::from_ref(operand),
            Test::In(operands) => operands,
            Test::IsNull(_) => &[],
        };
        for operand in operands {
            if let Operand::Parameter(n) = operand {
                self.parameters.push((*n, PgType::of_engine(ty)));
            }
        }
        self.all.push(Condition { column, test });
        Some(())
    }

    /// Puts values in; `None` where one of them needs the planner.
    ///
    /// # Errors
    /// Text that is no value of its column's type.
    pub fn resolve(&self, schema: &TableSchema, values: &[Parameter]) -> Result<Option<Resolved>> {
        let mut bounds = Vec::new();
        let mut rest = Vec::new();
        let mut lists: Vec<Vec<Bound>> = Vec::new();
        for Condition { column, test } in &self.all {
            let (column, ty) = (*column, schema.columns[*column].ty);
            match test {
                Test::IsNull(wanted) => rest.push(Rest::IsNull(column, *wanted)),
                Test::Compare(op, operand) => match (op, operand.value(ty, values)?) {
                    (_, None) => return Ok(None),
                    // A comparison with NULL is true of no row.
                    (_, Some(Value::Null)) => return Ok(Some(Resolved::nothing())),
                    (Op::Bound(op), Some(value)) => bounds.push(Bound { column, op: *op, value }),
                    (Op::NotEqual, Some(value)) => rest.push(Rest::NotEqual(column, value)),
                },
                Test::In(operands) => {
                    let mut list = Vec::with_capacity(operands.len());
                    for operand in operands {
                        match operand.value(ty, values)? {
                            None => return Ok(None),
                            Some(Value::Null) => {}
                            Some(value) => list.push(value),
                        }
                    }
                    list.sort_by(|a, b| convert::compare_values(ty, a, b));
                    list.dedup_by(|a, b| convert::compare_values(ty, a, b).is_eq());
                    let bound = |value| Bound { column, op: BoundOp::Equal, value };
                    lists.push(list.into_iter().map(bound).collect());
                }
            }
        }
        let mut alternatives = vec![bounds];
        for list in lists {
            if alternatives.len() * list.len() > ALTERNATIVES_MAX {
                return Ok(None);
            }
            let with = |bounds: &Vec<Bound>| {
                let bounds = bounds.clone();
                list.iter().map(move |b| {
                    let mut bounds = bounds.clone();
                    bounds.push(b.clone());
                    bounds
                })
            };
            alternatives = alternatives.iter().flat_map(with).collect();
        }
        Ok(Some(Resolved { alternatives, rest }))
    }

    /// Whether a whole row meets all conditions, which have these values.
    pub fn hold(resolved: &Resolved, schema: &TableSchema, row: &Row) -> bool {
        let holds = |rest: &Rest| rest.holds(schema.columns[rest.column()].ty, &row[rest.column()]);
        let bound = |b: &Bound| holds(&Rest::Bound(b.clone()));
        resolved.rest.iter().all(holds)
            && resolved.alternatives.iter().any(|bounds| bounds.iter().all(bound))
    }
}

/// Values of IN lists that are looked up one by one, at most.
const ALTERNATIVES_MAX: usize = 10_000;

impl Resolved {
    fn nothing() -> Resolved {
        Resolved { alternatives: Vec::new(), rest: Vec::new() }
    }
}

fn op_of(op: &OpName) -> Option<Op> {
    if !op.schema.is_empty() {
        return None;
    }
    Some(match &*op.name {
        "=" => Op::Bound(BoundOp::Equal),
        "<" => Op::Bound(BoundOp::Less),
        "<=" => Op::Bound(BoundOp::LessOrEqual),
        ">" => Op::Bound(BoundOp::Greater),
        ">=" => Op::Bound(BoundOp::GreaterOrEqual),
        "<>" => Op::NotEqual,
        _ => return None,
    })
}

fn turned(op: Op) -> Op {
    Op::Bound(match op {
        Op::Bound(BoundOp::Less) => BoundOp::Greater,
        Op::Bound(BoundOp::LessOrEqual) => BoundOp::GreaterOrEqual,
        Op::Bound(BoundOp::Greater) => BoundOp::Less,
        Op::Bound(BoundOp::GreaterOrEqual) => BoundOp::LessOrEqual,
        Op::Bound(BoundOp::Equal) => BoundOp::Equal,
        Op::NotEqual => return op,
    })
}
