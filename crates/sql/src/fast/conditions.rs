//! Which rows does a WHERE clause mean, as comparisons of columns with values?

use onlap::{DataType, Row, TableSchema, Value, convert};
use onlap_pg::bound::{Expr, ExprId, NullTest};

use super::Source;
use super::statement::Statement;
use super::values::Operand;
use crate::error::Result;
use crate::plan::access::{self, Bound, BoundOp};
use crate::query::catalog;
use crate::session::Parameter;

/// A conjunction of conditions on single columns.
#[derive(Clone, Debug, Default)]
pub struct Conditions {
    all: Vec<Condition>,
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

impl Conditions {
    /// Whether times are compared that the session's time zone decides.
    pub fn reads_moments(&self, schema: &TableSchema) -> bool {
        let of_column = |at: usize| schema.columns[at].ty == DataType::Timestamptz;
        self.all
            .iter()
            .any(|of| of_column(of.column) || of.test.operands().iter().any(Operand::is_moment))
    }
}

impl Test {
    fn operands(&self) -> &[Operand] {
        match self {
            Test::Compare(_, operand) => std::slice::from_ref(operand),
            Test::In(operands) => operands,
            Test::IsNull(_) => &[],
        }
    }
}

/// A whole key of a unique index, which conditions name and nothing else: one row, or none.
#[derive(Clone, Debug)]
pub struct WholeKey {
    /// The index.
    pub index: String,
    /// Whether it is the primary key's.
    pub primary: bool,
    /// Types and values of its columns, in their order.
    columns: Vec<(DataType, Operand)>,
}

impl WholeKey {
    /// Its values; `None` where one is NULL, which no key is equal to, or needs the planner: [`Conditions::resolve`] tells.
    ///
    /// # Errors
    /// Text that is no value of its column's type.
    pub fn values(&self, values: &[Parameter]) -> Result<Option<Vec<Value>>> {
        let mut key = Vec::with_capacity(self.columns.len());
        for (ty, operand) in &self.columns {
            match operand.value(*ty, values)? {
                None | Some(Value::Null) => return Ok(None),
                Some(value) => key.push(value),
            }
        }
        Ok(Some(key))
    }
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
    /// The conditions of a statement's WHERE clause; `None` where one is of another kind.
    pub(super) fn of(statement: &Statement<'_>, source: &Source) -> Option<Conditions> {
        let mut conditions = Conditions::default();
        if let Some(expr) = statement.query.filter {
            conditions.add(statement, source, expr)?;
        }
        Some(conditions)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The key that they name, if they do nothing else. Which index that is needs no values: it is found once.
    pub fn whole_key(&self, schema: &TableSchema) -> Option<WholeKey> {
        let (mut bounds, mut operands) = (Vec::new(), Vec::new());
        for Condition { column, test } in &self.all {
            let Test::Compare(Op::Bound(op @ BoundOp::Equal), operand) = test else { return None };
            bounds.push(Bound { column: *column, op: *op, value: Value::Null });
            operands.push(operand);
        }
        let (index, choice) = access::best(schema, &bounds)?;
        if !choice.is_one_row() || choice.used.len() < bounds.len() {
            return None;
        }
        let type_of = |at: usize| schema.columns[bounds[at].column].ty;
        Some(WholeKey {
            index: index.name.clone(),
            primary: index.primary,
            columns: choice.used.iter().map(|at| (type_of(*at), operands[*at].clone())).collect(),
        })
    }

    fn add(&mut self, of: &Statement<'_>, source: &Source, expr: ExprId) -> Option<()> {
        match of.tree.expr(expr) {
            Expr::And(all) => all.iter().try_for_each(|expr| self.add(of, source, *expr)),
            Expr::Op(op) => {
                let [left, right] = op.args[..] else { return None };
                let op = op_of(op.operator)?;
                match of.compared(left) {
                    Some(column) => {
                        self.push(source, column, Test::Compare(op, of.operand(right)?))
                    }
                    None => {
                        let column = of.compared(right)?;
                        self.push(source, column, Test::Compare(turned(op), of.operand(left)?))
                    }
                }
            }
            Expr::ArrayOp(op, false) if op_of(op.operator)? == Op::Bound(BoundOp::Equal) => {
                let [value, list] = op.args[..] else { return None };
                let Expr::Array(list, false) = of.tree.expr(list) else { return None };
                let operands = list.iter().map(|item| of.operand(*item));
                let test = match <[_; 1]>::try_from(operands.collect::<Option<Vec<_>>>()?) {
                    Ok([only]) => Test::Compare(Op::Bound(BoundOp::Equal), only),
                    Err(operands) => Test::In(operands),
                };
                self.push(source, of.compared(value)?, test)
            }
            Expr::NullTest(NullTest { value, not, row: false }) => {
                self.push(source, of.compared(*value)?, Test::IsNull(!not))
            }
            _ => None,
        }
    }

    fn push(&mut self, source: &Source, column: usize, test: Test) -> Option<()> {
        let ty = source.schema.columns.get(column)?.ty;
        let is_compared = !matches!(test, Test::IsNull(_));
        if !source.types[column].takes_conditions() && is_compared {
            return None;
        }
        // Floats of four bytes are compared as what they are rounded to, JSON not at all.
        if matches!(ty, DataType::Float4 | DataType::Json | DataType::Folded) && is_compared {
            return None;
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

/// A comparison by its row of pg_operator: of the types that columns have here each name has one meaning.
fn op_of(operator: u32) -> Option<Op> {
    Some(match catalog().operator(operator)?.name {
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
